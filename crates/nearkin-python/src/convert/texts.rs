//! Texts from Python, read in place: lists of `str`, Arrow strings, and `(offsets, data)` buffers.
//!
//! | source | access |
//! |---|---|
//! | an object with `__arrow_c_stream__` or `__arrow_c_array__` | the Arrow C data interface ([`super::arrow`]): `utf8`, `large_utf8`, string view, dictionaries, null |
//! | an object with `offsets`, `data` and `nulls` arrays | the arrays, validated as UTF-8; writable ones are copied |
//! | any other sequence of `str` and None | the interpreter's cached UTF-8 form of each string |
//!
//! The strings are borrowed from their owners, which [`Texts`] keeps alive while the GIL is released.

use nearkin_core::Error;
use nearkin_core::alloc::{self, BestEffortVec};
use nearkin_core::cpu::prefetch::prefetch;
use nearkin_core::text::columns::{Nulls, packed};
use nearkin_core::text::tokenizer::TextSource;
use numpy::{Element, PyReadonlyArray1, PyUntypedArray};
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::convert::arrow::{SHARED, Strings};
use crate::convert::cdata::{Array, Owned};
use crate::errors::{IntoPython, to_python};
use crate::threads::{detached_if, detached_unless};

/// Strings of Python or Arrow objects, and the objects that own them.
pub(crate) struct Texts {
    /// Borrowed from `_owner`: the lifetime is that of this struct.
    items: Vec<Option<&'static str>>,
    _owner: Owner,
}

enum Owner {
    Python { _strings: Objects },
    Arrow { _arrays: Vec<Owned<Array>> },
    Buffer { _data: Kept },
}

/// References to Python strings, released in order, each prefetched before its turn.
struct Objects(Vec<Py<PyAny>>);

impl Drop for Objects {
    fn drop(&mut self) {
        let mut strings = std::mem::take(&mut self.0).into_iter();
        while let Some(string) = strings.next() {
            if let Some(ahead) = strings.as_slice().get(AHEAD - 1) {
                prefetch(ahead.as_ptr().cast_const().cast());
            }
            drop(string);
        }
    }
}

/// Prefetch distance in strings: a read from memory takes as long as processing a few of them.
const AHEAD: usize = 8;

/// Maximum number of items reserved on a length hint.
pub(crate) const HINT: usize = 1 << 20;

/// Maximum number of texts, or pairs of them, and of their bytes, that one thread processes sooner than it could wake
/// another.
pub(crate) const FEW: usize = 16;
pub(crate) const FEW_BYTES: usize = 1 << 15;

impl TextSource for Texts {
    fn len(&self) -> usize {
        self.items.len()
    }
    fn get(&self, i: usize) -> Option<&str> {
        self.items[i]
    }
}

impl Texts {
    /// True if one thread processes them sooner than it could wake another.
    pub(crate) fn are_few(&self) -> bool {
        self.items.len() <= FEW && self.items.iter().flatten().map(|text| text.len()).sum::<usize>() <= FEW_BYTES
    }

    /// Call `work` with the strings of `source`, without the GIL; in the calling thread if they are few.
    pub(crate) fn process<T: Send>(
        source: &Bound<'_, PyAny>,
        work: impl FnOnce(&dyn TextSource) -> nearkin_core::Result<T> + Send,
    ) -> PyResult<T> {
        let texts = Self::new(source)?;
        detached_unless(source.py(), texts.are_few(), || work(&texts))
    }

    /// Return the strings of `source`.
    pub(crate) fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(Strings { items, owners }) = Strings::of(source)? {
            Ok(Self { items, _owner: Owner::Arrow { _arrays: owners } })
        } else if source.hasattr("offsets")? && source.hasattr("data")? {
            Self::buffers(source)
        } else {
            Self::sequence(source)
        }
    }

    fn sequence(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("one str is not a list of texts; write [text]"));
        }
        if source.is_instance_of::<PyDict>() {
            let kind = source.get_type().name()?;
            return Err(PyTypeError::new_err(format!("one {kind} is not a list of texts; write list(texts.values())")));
        }
        // The length reported by an object is only a hint.
        let hint = source.len().unwrap_or(0).min(HINT);
        let (mut items, mut strings) = (
            BestEffortVec::try_with_capacity(hint).into_python()?,
            BestEffortVec::try_with_capacity(hint).into_python()?,
        );
        let list = source.cast_exact::<PyList>().ok();
        let iterator = source.try_iter().map_err(|fault| match source.get_type().name() {
            Ok(kind) if fault.is_instance_of::<PyTypeError>(source.py()) => PyTypeError::new_err(format!(
                "{kind} is no list of texts; pass a list, a generator or a column of str or None"
            )),
            _ => fault,
        })?;
        for (row, item) in iterator.enumerate() {
            let item = item?;
            // Strings are scattered over memory, so a later one is prefetched while this one is read.
            if let Some(list) = list.filter(|list| row + AHEAD < list.len()) {
                // SAFETY: the list has this element; the borrowed pointer is not dereferenced, only its address is
                // used.
                prefetch(unsafe { pyo3::ffi::PyList_GetItem(list.as_ptr(), (row + AHEAD) as isize) }.cast());
            }
            if item.is_none() {
                items.push(None);
                continue;
            }
            let Ok(string) = item.cast::<PyString>() else {
                let result = item.get_type().name()?;
                let remedy = if item.is_instance_of::<PyBytes>() { ", which bytes.decode() makes of them" } else { "" };
                return Err(PyTypeError::new_err(format!(
                    "text {row} is of type {result}; texts are str or None{remedy}"
                )));
            };
            let text = string.to_str().map_err(|fault| {
                // CPython allocates the UTF-8 form of a non-ASCII string.
                if fault.is_instance_of::<PyMemoryError>(string.py()) {
                    return fault;
                }
                let reason = "holds a lone surrogate, which is no character; \
                              decode with errors='replace' or drop it with text.encode('utf-8', 'ignore').decode()";
                to_python(Error::input(format!("text {row}"), reason))
            })?;
            // SAFETY: the bytes belong to the string object, which is immutable and kept in `strings`.
            items.push(Some(unsafe { std::mem::transmute::<&str, &'static str>(text) }));
            strings.push(item.unbind());
        }
        let strings = Objects(strings.into_vec().into_python()?);
        Ok(Self { items: items.into_vec().into_python()?, _owner: Owner::Python { _strings: strings } })
    }

    /// Return the strings of `offsets` and `data`. Writable memory is copied first, because a change after the check
    /// would bypass it.
    fn buffers(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let offsets = Fixed::<i64>::of(&source.getattr("offsets")?)?;
        let data = Fixed::<u8>::of(&source.getattr("data")?)?;
        let bytes = data.slice()?;
        // SAFETY: the bytes are a copy of ours, or belong to an array that nobody can write to; the owner is kept, and
        // neither moves.
        let bytes = unsafe { std::mem::transmute::<&[u8], &'static [u8]>(bytes) };
        let places = offsets.slice()?;
        let result = detached_if(source.py(), places.len() > SHARED, || Ok(packed(places, bytes, Nulls::NONE)))?;
        let (mut items, bad) = result.map_err(|fault| {
            let row = fault.row.unwrap_or(0);
            let allowed = format!("ascending numbers within 0 to {}", bytes.len());
            to_python(Error::parameter("offsets", format!("{} to {}", places[row], places[row + 1]), allowed))
        })?;
        if let Some(bad) = bad.first() {
            return Err(to_python(bad.error(0)));
        }
        if let Ok(nulls) = source.getattr("nulls") {
            let nulls: PyReadonlyArray1<'_, i64> = nulls.extract()?;
            for &row in nulls.as_slice()? {
                if let Some(item) = usize::try_from(row).ok().and_then(|row| items.get_mut(row)) {
                    *item = None;
                }
            }
        }
        Ok(Self { items, _owner: Owner::Buffer { _data: data.unbind() } })
    }
}

/// The values of a read-only array without copying, or a copy of a writable one.
enum Fixed<'py, T: Element> {
    Borrowed(PyReadonlyArray1<'py, T>),
    Copied(Vec<T>),
}

/// A form of the values that is kept without the GIL.
#[allow(dead_code, reason = "held for what is borrowed from it")]
enum Kept {
    Array(Py<PyAny>),
    Bytes(Vec<u8>),
}

impl<'py, T: Element + Copy> Fixed<'py, T> {
    fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        let values: PyReadonlyArray1<'py, T> = array.extract()?;
        if is_fixed(array)? && values.as_slice().is_ok() {
            return Ok(Self::Borrowed(values));
        }
        // NumPy copies strided or misaligned arrays: references must be aligned.
        let copy: PyReadonlyArray1<'py, T> = array.call_method0("copy")?.extract()?;
        Ok(Self::Copied(alloc::try_copy(copy.as_slice()?).into_python()?))
    }

    fn slice(&self) -> PyResult<&[T]> {
        match self {
            Self::Borrowed(values) => Ok(values.as_slice()?),
            Self::Copied(values) => Ok(values),
        }
    }
}

impl Fixed<'_, u8> {
    fn unbind(self) -> Kept {
        match self {
            Self::Borrowed(values) => Kept::Array(values.as_any().clone().unbind()),
            Self::Copied(values) => Kept::Bytes(values),
        }
    }
}

/// True if neither an array nor any array that it views is writable, and the memory belongs to an array, this module or
/// `bytes`: a read-only view of another object does not make that object read-only.
fn is_fixed(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut array = array.clone();
    while array.is_instance_of::<PyUntypedArray>() {
        if array.getattr("flags")?.getattr("writeable")?.is_truthy()? {
            return Ok(false);
        }
        array = array.getattr("base")?;
    }
    let ours = || Ok::<_, PyErr>(array.get_type().name()?.to_string_lossy() == "PySliceContainer");
    Ok(array.is_none() || array.is_instance_of::<PyBytes>() || ours()?)
}
