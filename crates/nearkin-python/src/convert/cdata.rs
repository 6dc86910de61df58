//! The structs of the Arrow C data interface, read field by field: any contents give a value or an error.
//!
//! A column of texts has at most a table above it and a dictionary below it, so nothing deeper is read. The owner of a
//! struct releases it once, when it is dropped.
//!
//! The pointers and the counts themselves can't be checked: they are the contract of the interface. Source: Apache
//! Arrow, "The Arrow C data interface", structs `ArrowSchema` and `ArrowArray`, and
//! "The Arrow C stream interface".

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Deref;

/// A producer's description of a type.
#[repr(C)]
pub(crate) struct Schema {
    format: *const c_char,
    name: *const c_char,
    _metadata: *const c_char,
    _flags: i64,
    n_children: i64,
    children: *const *const Schema,
    dictionary: *const Schema,
    release: Release<Self>,
    _private: *const c_void,
}

/// A producer's description of an array.
#[repr(C)]
pub(crate) struct Array {
    pub(super) length: i64,
    _null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    pub(super) n_children: i64,
    buffers: *const *const u8,
    children: *const *const Array,
    dictionary: *const Array,
    release: Release<Self>,
    _private: *const c_void,
}

/// A producer's arrays of one type, one after the other.
#[repr(C)]
pub(crate) struct Stream {
    pub(super) get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    pub(super) get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    _get_last_error: *const c_void,
    pub(super) release: Release<Self>,
    _private: *const c_void,
}

/// The function that frees what a struct owns and sets itself to null.
type Release<T> = Option<unsafe extern "C" fn(*mut T)>;

/// A struct of the interface, which is all zeros when nothing is in it.
///
/// # Safety
/// `release` is the struct's own field, and all zeros are a released struct.
pub(crate) unsafe trait Releasable {
    fn release(&self) -> Release<Self>;
}

macro_rules! releasable {
    ($($kind:ty),+) => {$(
        // SAFETY: as the interface declares it: null pointers and zero counts.
        unsafe impl Releasable for $kind {
            fn release(&self) -> Release<Self> {
                self.release
            }
        }
    )+};
}
releasable!(Schema, Array, Stream);

/// A struct that is released when it is dropped.
pub(crate) struct Owned<T: Releasable>(T);

// SAFETY: the interface lets a consumer use and release a struct on any thread.
unsafe impl<T: Releasable> Send for Owned<T> {}
// SAFETY: as above; shared references only read.
unsafe impl<T: Releasable> Sync for Owned<T> {}

impl<T: Releasable> Owned<T> {
    /// Return a released struct, for a producer to fill.
    pub(super) fn empty() -> Self {
        // SAFETY: all zeros are a released struct.
        Self(unsafe { std::mem::zeroed() })
    }

    /// Move a struct out of its place, which is released afterwards.
    ///
    /// # Safety
    /// The pointer is to a valid struct that nobody else uses.
    pub(super) unsafe fn take(from: *mut T) -> Self {
        // SAFETY: the caller's; all zeros are a released struct.
        Self(unsafe { std::ptr::replace(from, std::mem::zeroed()) })
    }

    /// Return the address of the struct, for a callback of its producer.
    pub(super) fn as_mut_ptr(&mut self) -> *mut T {
        &raw mut self.0
    }
}

impl<T: Releasable> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Releasable> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = self.0.release() {
            // SAFETY: it is not released yet, and is not used afterwards.
            unsafe { release(&raw mut self.0) };
        }
    }
}

/// Names of flat types that hold no texts, by the start of their format.
const TYPES: [(&str, &str); 25] = [
    ("b", "Boolean"),
    ("c", "Int8"),
    ("C", "UInt8"),
    ("s", "Int16"),
    ("S", "UInt16"),
    ("i", "Int32"),
    ("I", "UInt32"),
    ("l", "Int64"),
    ("L", "UInt64"),
    ("e", "Float16"),
    ("f", "Float32"),
    ("g", "Float64"),
    ("z", "Binary"),
    ("Z", "LargeBinary"),
    ("vz", "BinaryView"),
    ("tdD", "Date32"),
    ("tdm", "Date64"),
    ("tts", "Time32"),
    ("ttm", "Time32"),
    ("tt", "Time64"),
    ("ts", "Timestamp"),
    ("tD", "Duration"),
    ("ti", "Interval"),
    ("w:", "FixedSizeBinary"),
    ("d:", "Decimal"),
];

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
    /// Return the layout of the column of texts, and whether it is the only column of a table.
    pub(super) fn column(&self) -> Result<(TextColumn, bool), Refused> {
        if self.release.is_none() {
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
            _ => {
                match TYPES.iter().find(|(start, _)| format == *start || (start.len() > 1 && format.starts_with(start)))
                {
                    Some((_, name)) => Err(Refused::Other((*name).to_owned())),
                    None => Err(Refused::Broken(format!("its format {format:?} is no type of Arrow"))),
                }
            }
        }
    }

    /// Return child `index`, unless it is missing or released.
    pub(super) fn child(&self, index: usize) -> Option<&'static Self> {
        child(self.children, self.n_children, index).filter(|child: &&Self| child.release.is_some())
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
        self.release.is_none()
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
    pub(super) fn is_released(&self) -> bool {
        self.release.is_none()
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
