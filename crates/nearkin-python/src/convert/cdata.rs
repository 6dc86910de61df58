//! The structs of the Arrow C data interface, read field by field: any contents give a value or an error.
//!
//! arrow-rs has the same layout, ownership and release; but its accessors panic if a pointer is null, a text is not
//! UTF-8 or a number is negative, and follow types to any depth. A column of texts has at most a table above it and a
//! dictionary below it, so nothing deeper is read.
//!
//! The pointers and the counts themselves can't be checked: they are the contract of the interface. Source: Apache
//! Arrow, "The Arrow C data interface", structs `ArrowSchema` and `ArrowArray`.

use std::ffi::{CStr, c_char, c_void};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_schema::DataType;

/// A producer's description of a type.
#[repr(C)]
pub(super) struct Schema {
    format: *const c_char,
    name: *const c_char,
    _metadata: *const c_char,
    _flags: i64,
    n_children: i64,
    children: *const *const Schema,
    dictionary: *const Schema,
    release: *const c_void,
    _private: *const c_void,
}

/// A producer's description of an array.
#[repr(C)]
pub(super) struct Array {
    pub(super) length: i64,
    _null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    pub(super) n_children: i64,
    buffers: *const *const u8,
    children: *const *const Array,
    dictionary: *const Array,
    release: *const c_void,
    _private: *const c_void,
}

const _: () = assert!(size_of::<Schema>() == size_of::<FFI_ArrowSchema>());
const _: () = assert!(size_of::<Array>() == size_of::<FFI_ArrowArray>());

/// A type of strings, or only of nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextType {
    Null,
    Utf8,
    LargeUtf8,
    View,
}

/// The layout of a column of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextColumn {
    Plain(TextType),
    /// Keys, by the letter of their type, and the values that they select.
    Dictionary(u8, TextType),
}

/// The reason why a schema is not a column of texts.
pub(super) enum Refused {
    /// It is inconsistent.
    Broken(String),
    /// It is a table with these columns, possibly more.
    Table(Vec<String>),
    /// It is of this type.
    Other(String),
}

/// Maximum number of a table's names in a message.
const SHOWN: usize = 16;

/// Return child `index` of `children`, unless it is missing or released.
fn child<T: 'static>(children: *const *const T, count: i64, index: usize) -> Option<&'static T> {
    if children.is_null() || i64::try_from(index).is_ok_and(|index| index >= count) {
        return None;
    }
    // SAFETY: by the C data interface `children` has `count` pointers, each null or to a struct that lives with its
    // parent; callers keep the parent alive.
    unsafe { children.add(index).read().as_ref() }
}

impl Schema {
    /// Create a view of a schema, which must outlive it.
    pub(super) fn of(schema: &FFI_ArrowSchema) -> &Self {
        // SAFETY: both are the struct ArrowSchema of the C data interface.
        unsafe { &*std::ptr::from_ref(schema).cast::<Self>() }
    }

    /// Return the layout of the column of texts, and whether it is the only column of a table.
    pub(super) fn column(&self) -> Result<(TextColumn, bool), Refused> {
        if self.release.is_null() {
            return Err(Refused::Broken("it is released already; pass it once".to_owned()));
        }
        if self.format()? != "+s" || !self.dictionary.is_null() {
            return Ok((self.flat()?, false));
        }
        let broken = |index: usize| Refused::Broken(format!("column {index} of {} is missing", self.n_children));
        if self.n_children != 1 {
            let shown = usize::try_from(self.n_children).map_err(|_| broken(0))?.min(SHOWN);
            let name = |index| Ok(child(self.children, self.n_children, index).ok_or_else(|| broken(index))?.name());
            let mut names = (0..shown).map(name).collect::<Result<Vec<String>, Refused>>()?;
            if self.n_children > SHOWN as i64 {
                names.push(format!("… ({} in all)", self.n_children));
            }
            return Err(Refused::Table(names));
        }
        Ok((child(self.children, 1, 0).ok_or_else(|| broken(0))?.flat()?, true))
    }

    /// Return the layout of a column that is not in a table.
    fn flat(&self) -> Result<TextColumn, Refused> {
        let format = self.format()?;
        // SAFETY: by the C data interface a dictionary is null or lives with its schema.
        let Some(values) = (unsafe { self.dictionary.as_ref() }) else {
            return self.kind().map(TextColumn::Plain);
        };
        match format.as_bytes() {
            &[key] if b"csilCSIL".contains(&key) => Ok(TextColumn::Dictionary(key, values.kind()?)),
            _ => Err(Refused::Other(format!("a dictionary with keys of the format {format:?}"))),
        }
    }

    fn kind(&self) -> Result<TextType, Refused> {
        let format = self.format()?;
        match format {
            "n" => Ok(TextType::Null),
            "u" if self.dictionary.is_null() => Ok(TextType::Utf8),
            "U" if self.dictionary.is_null() => Ok(TextType::LargeUtf8),
            "vu" if self.dictionary.is_null() => Ok(TextType::View),
            // Types may be nested to any depth: only the outermost is named.
            _ if format.starts_with('+') => Err(Refused::Other(format!("a nested type (format {format:?})"))),
            _ if !self.dictionary.is_null() => Err(Refused::Other("a dictionary of dictionaries".to_owned())),
            // A flat type is determined by its format, which was checked.
            _ => match DataType::try_from(self.raw()) {
                Ok(other) => Err(Refused::Other(other.to_string())),
                Err(error) => Err(Refused::Broken(error.to_string())),
            },
        }
    }

    fn raw(&self) -> &FFI_ArrowSchema {
        // SAFETY: both are the struct ArrowSchema of the C data interface.
        unsafe { &*std::ptr::from_ref(self).cast::<FFI_ArrowSchema>() }
    }

    /// Return child `index`, unless it is missing or released.
    pub(super) fn child(&self, index: usize) -> Option<&'static Self> {
        child(self.children, self.n_children, index).filter(|child: &&Self| !child.release.is_null())
    }

    pub(super) fn n_children(&self) -> i64 {
        self.n_children
    }

    /// Return the type of the values of a dictionary.
    pub(super) fn dictionary(&self) -> Option<&'static Self> {
        // SAFETY: by the C data interface a dictionary is null or lives with its schema, which callers keep alive.
        unsafe { self.dictionary.as_ref() }
    }

    pub(super) fn is_released(&self) -> bool {
        self.release.is_null()
    }

    pub(super) fn format(&self) -> Result<&str, Refused> {
        if self.format.is_null() {
            return Err(Refused::Broken("it has no format".to_owned()));
        }
        // SAFETY: by the C data interface a format is null or ends with a zero, and lives with its schema.
        let format = unsafe { CStr::from_ptr(self.format) };
        format.to_str().map_err(|_| Refused::Broken(format!("its format {format:?} is not UTF-8")))
    }

    fn name(&self) -> String {
        if self.name.is_null() {
            return String::new();
        }
        // SAFETY: by the C data interface a name is null or ends with a zero, and lives with its schema.
        unsafe { CStr::from_ptr(self.name) }.to_string_lossy().into_owned()
    }
}

impl Array {
    /// Create a view of an array, which must outlive it.
    pub(super) fn of(array: &FFI_ArrowArray) -> &Self {
        // SAFETY: both are the struct ArrowArray of the C data interface.
        unsafe { &*std::ptr::from_ref(array).cast::<Self>() }
    }

    pub(super) fn is_released(&self) -> bool {
        self.release.is_null()
    }

    /// True if the array claims buffers and has no pointers to them.
    pub(super) fn lacks_buffers(&self) -> bool {
        self.n_buffers > 0 && self.buffers.is_null()
    }

    /// Return the address of buffer `index`; null if it is missing.
    pub(super) fn buffer(&self, index: usize) -> *const u8 {
        if self.buffers.is_null() || i64::try_from(index).is_ok_and(|index| index >= self.n_buffers) {
            return std::ptr::null();
        }
        // SAFETY: by the C data interface `buffers` has `n_buffers` pointers.
        unsafe { self.buffers.add(index).read() }
    }

    /// Return child `index`, unless it is missing or released.
    pub(super) fn child(&self, index: usize) -> Option<&'static Self> {
        child(self.children, self.n_children, index).filter(|child: &&Self| !child.is_released())
    }

    /// Return the dictionary, unless it is missing or released.
    pub(super) fn dictionary(&self) -> Option<&'static Self> {
        // SAFETY: by the C data interface a dictionary is null or lives with its array, which callers keep alive.
        unsafe { self.dictionary.as_ref() }.filter(|dictionary| !dictionary.is_released())
    }
}
