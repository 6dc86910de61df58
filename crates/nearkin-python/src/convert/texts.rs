//! Texts from Python, read in place: lists of `str`, Arrow strings, and `(offsets, data)` buffers.
//!
//! | given | read through |
//! |---|---|
//! | an object with `__arrow_c_stream__` or `__arrow_c_array__` | the Arrow C data interface: `utf8`, `large_utf8`, string view, dictionaries of these, null |
//! | an object with `offsets`, `data` and `nulls` arrays | the arrays, checked to be UTF-8 |
//! | any other sequence of `str` and None | the interpreter's own UTF-8 form of each string |
//!
//! The strings are borrowed from their owners, which [`Texts`] keeps alive while the GIL is released.

use std::os::raw::c_int;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::DataType;
use nearkin_core::Error;
use nearkin_core::cpu::prefetch::prefetch;
use nearkin_core::text::tokenizer::TextSource;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString};

use crate::errors::to_python;

/// Strings of Python or Arrow objects, and those objects.
pub(crate) struct Texts {
    /// Borrowed from `_owner`: the lifetime is that of this struct.
    items: Vec<Option<&'static str>>,
    _owner: Owner,
}

enum Owner {
    Python { _strings: Strings },
    Arrow { _chunks: Vec<ArrayRef> },
}

/// References to Python strings, let go in order, each asked for before its turn.
struct Strings(Vec<Py<PyAny>>);

impl Drop for Strings {
    fn drop(&mut self) {
        let ahead: Vec<*const u8> =
            self.0.iter().skip(AHEAD).map(|string| string.as_ptr().cast_const().cast()).collect();
        let mut ahead = ahead.into_iter();
        for string in self.0.drain(..) {
            if let Some(address) = ahead.next() {
                prefetch(address);
            }
            drop(string);
        }
    }
}

/// Strings between the one that is read and the one that is asked for: a read from memory takes as long as a few of them.
const AHEAD: usize = 8;

impl TextSource for Texts {
    fn len(&self) -> usize {
        self.items.len()
    }
    fn get(&self, i: usize) -> Option<&str> {
        self.items[i]
    }
}

impl Texts {
    /// The strings of `source`.
    pub(crate) fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source.hasattr("__arrow_c_stream__")? {
            Self::arrow(stream_chunks(&source.call_method0("__arrow_c_stream__")?)?)
        } else if source.hasattr("__arrow_c_array__")? {
            Self::arrow(vec![array_chunk(&source.call_method0("__arrow_c_array__")?)?])
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
        let mut items = Vec::with_capacity(source.len().unwrap_or(0));
        let mut strings = Vec::with_capacity(items.capacity());
        let list = source.cast_exact::<PyList>().ok();
        for (row, item) in source.try_iter()?.enumerate() {
            let item = item?;
            // Strings lie scattered over memory: one further on is asked for while this one is read.
            if let Some(list) = list.filter(|list| row + AHEAD < list.len()) {
                // SAFETY: the list has this element; the borrowed pointer is not read, only its address is used.
                prefetch(unsafe { pyo3::ffi::PyList_GetItem(list.as_ptr(), (row + AHEAD) as isize) }.cast());
            }
            if item.is_none() {
                items.push(None);
                continue;
            }
            let Ok(string) = item.cast::<PyString>() else {
                let found = item.get_type().name()?;
                return Err(PyTypeError::new_err(format!("text {row} is of type {found}; texts are str or None")));
            };
            let text = string.to_str().map_err(|_| {
                let reason = "holds a lone surrogate, which is no character; \
                              decode with errors='replace' or drop it with text.encode('utf-8', 'ignore').decode()";
                to_python(Error::input(format!("text {row}"), reason))
            })?;
            // SAFETY: the bytes belong to the string object, which is immutable and kept in `strings`.
            items.push(Some(unsafe { std::mem::transmute::<&str, &'static str>(text) }));
            strings.push(item.unbind());
        }
        Ok(Self { items, _owner: Owner::Python { _strings: Strings(strings) } })
    }

    fn buffers(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let offsets: PyReadonlyArray1<'_, i64> = source.getattr("offsets")?.extract()?;
        let data: PyReadonlyArray1<'_, u8> = source.getattr("data")?.extract()?;
        let (offsets, bytes) = (offsets.as_slice()?, data.as_slice()?);
        let mut items = Vec::with_capacity(offsets.len().saturating_sub(1));
        for (row, pair) in offsets.windows(2).enumerate() {
            let text = usize::try_from(pair[0]).ok().zip(usize::try_from(pair[1]).ok());
            let text = text.and_then(|(start, end)| bytes.get(start..end)).ok_or_else(|| {
                let found = format!("{} to {}", pair[0], pair[1]);
                to_python(Error::parameter("offsets", found, format!("ascending numbers within 0 to {}", bytes.len())))
            })?;
            let text = std::str::from_utf8(text)
                .map_err(|error| to_python(Error::input(format!("text {row}"), format!("is not UTF-8: {error}"))))?;
            // SAFETY: the bytes belong to the array `data`, which is kept as owner; nobody writes to it meanwhile, by
            // the contract of the batch calls.
            items.push(Some(unsafe { std::mem::transmute::<&str, &'static str>(text) }));
        }
        if let Ok(nulls) = source.getattr("nulls") {
            let nulls: PyReadonlyArray1<'_, i64> = nulls.extract()?;
            for &row in nulls.as_slice()? {
                if let Some(item) = usize::try_from(row).ok().and_then(|row| items.get_mut(row)) {
                    *item = None;
                }
            }
        }
        let strings = Strings(vec![source.getattr("data")?.unbind()]);
        Ok(Self { items, _owner: Owner::Python { _strings: strings } })
    }

    fn arrow(chunks: Vec<ArrayRef>) -> PyResult<Self> {
        let mut items = Vec::with_capacity(chunks.iter().map(Array::len).sum());
        for chunk in &chunks {
            push_strings(chunk, &mut items)?;
        }
        Ok(Self { items, _owner: Owner::Arrow { _chunks: chunks } })
    }
}

/// Appends the strings of `chunk`, borrowed from its buffers.
fn push_strings(chunk: &ArrayRef, items: &mut Vec<Option<&'static str>>) -> PyResult<()> {
    // SAFETY: the bytes belong to buffers that the array, kept as owner, holds alive and that are immutable.
    let keep = |text: Option<&str>| text.map(|text| unsafe { std::mem::transmute::<&str, &'static str>(text) });
    match chunk.data_type() {
        DataType::Utf8 => items.extend(chunk.as_string::<i32>().iter().map(keep)),
        DataType::LargeUtf8 => items.extend(chunk.as_string::<i64>().iter().map(keep)),
        DataType::Utf8View => items.extend(chunk.as_string_view().iter().map(keep)),
        DataType::Null => items.extend(std::iter::repeat_n(None, chunk.len())),
        DataType::Dictionary(_, _) => {
            let dictionary = chunk.as_any_dictionary();
            let mut values = Vec::with_capacity(dictionary.values().len());
            push_strings(dictionary.values(), &mut values)?;
            let keys = dictionary.normalized_keys();
            items.extend(keys.into_iter().enumerate().map(|(row, key)| {
                if dictionary.keys().is_null(row) { None } else { values.get(key).copied().flatten() }
            }));
        }
        other => {
            return Err(PyTypeError::new_err(format!(
                "the Arrow array holds {other}; texts are utf8, large_utf8, string_view or dictionaries of these: cast the column"
            )));
        }
    }
    Ok(())
}

fn failed(action: &str, error: impl std::fmt::Display) -> PyErr {
    to_python(Error::input("Arrow data", format!("{action}: {error}")))
}

fn stream_chunks(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule's name says what it points at; moving out marks the original as released.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let (Some(get_schema), Some(get_next)) = (stream.get_schema(), stream.get_next()) else {
        return Err(failed("reading the stream", "it is released already; pass it once"));
    };
    let check =
        |code: c_int| if code == 0 { Ok(()) } else { Err(failed("reading the stream", format!("code {code}"))) };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the callbacks get the stream they belong to and empty structs to fill, as the C stream interface asks.
    check(unsafe { get_schema(&raw mut stream, &raw mut schema) })?;
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        check(unsafe { get_next(&raw mut stream, &raw mut array) })?;
        if array.is_released() {
            return Ok(chunks);
        }
        // SAFETY: the producer filled array and schema to belong together.
        let data = unsafe { from_ffi(array, &schema) }.map_err(|error| failed("reading an array", error))?;
        chunks.push(single_column(make_array(data))?);
    }
}

fn array_chunk(pair: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: the capsules' names say what they point at; the array is moved out, the schema stays theirs.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    single_column(make_array(data.map_err(|error| failed("reading an array", error))?))
}

/// A table of one column is that column.
fn single_column(array: ArrayRef) -> PyResult<ArrayRef> {
    match array.as_struct_opt() {
        None => Ok(array),
        Some(table) if table.num_columns() == 1 => Ok(Arc::clone(table.column(0))),
        Some(table) => Err(PyTypeError::new_err(format!(
            "the table has the columns {}; pass the one that holds the texts",
            table.column_names().join(", ")
        ))),
    }
}
