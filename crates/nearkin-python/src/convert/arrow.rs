//! Arrow strings, validated and read in place: data from the Arrow C data interface is checked as far as possible.
//!
//! | type | checked |
//! |---|---|
//! | `utf8`, `large_utf8` | offsets are not negative and never descend; each value is UTF-8 |
//! | string view | lengths, buffer numbers and positions are within the buffers; each value is UTF-8 |
//! | dictionary of strings | keys are within the dictionary; each value that a key references is UTF-8 |
//! | struct of one column | the column has the rows of the struct |
//!
//! Producers of Arrow data do not validate it: `pyarrow.parquet.read_table` does not check UTF-8, and IPC readers do
//! not check offsets. The C interface does not give the length of the data of `utf8` and `large_utf8`. pyarrow knows
//! it, so this module calls `validate()` on its arrays, which checks each buffer's size. For other producers the last
//! offset is the only information about that length.
//!
//! [`nearkin_core::text::columns`] checks layouts and UTF-8 of slices; this module converts pointers to slices, with
//! the lengths from the C interface and pyarrow.
//!
//! **Concurrent writes.** Arrow's buffers are immutable by its specification. Code that writes to one (through a NumPy
//! array over the same buffer) during a call invalidates the check of UTF-8, and with it memory safety; it is
//! impossible to detect this here, or to prevent it without copying all texts.

use std::ops::Range;

use nearkin_core::Error;
use nearkin_core::text::columns::{self, Checked, Fault, Integer, Nulls, Read, View};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString};

use crate::convert::cdata::{Array, Owned, Refused, Schema, Stream, TextColumn, TextType};
use crate::convert::readable::check_readable;
use crate::errors::to_python;
use crate::threads::detached_if;

/// Strings of Arrow arrays, and the arrays that own them.
pub(crate) struct Strings {
    /// Borrowed from `owners`: the lifetime is that of this struct.
    pub(crate) items: Vec<columns::Item<'static>>,
    /// Released with the struct.
    pub(crate) owners: Vec<Owned<Array>>,
}

/// Minimum number of rows for which the pool is used.
pub(super) const SHARED: usize = 1 << 12;

impl Strings {
    /// Return the strings of an object with `__arrow_c_stream__` or `__arrow_c_array__`; None for other objects.
    pub(crate) fn of(source: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let owners = if is_of(source, "pyarrow")? && source.hasattr("read_next_batch")? {
            // The stream of a reader would pass on what pyarrow knows about the lengths of buffers to nobody.
            let batches = source.try_iter()?;
            let chunks = batches.map(|batch| {
                let batch = batch.map_err(|error| failed("reading the stream", error))?;
                validate(&batch)?;
                array_chunk(&batch.call_method0("__arrow_c_array__")?)
            });
            chunks.collect::<PyResult<Vec<Chunk>>>()?
        } else if source.hasattr("__arrow_c_stream__")? {
            validate(source)?;
            stream_chunks(&source.call_method0("__arrow_c_stream__")?)?
        } else if source.hasattr("__arrow_c_array__")? {
            validate(source)?;
            vec![array_chunk(&source.call_method0("__arrow_c_array__")?)?]
        } else {
            return Ok(None);
        };
        let mut rows = owners.iter().map(|chunk| rows_of(&chunk.array).map(|rows| rows.len()));
        let rows = rows.try_fold(0, |sum, rows| Ok(rows?.saturating_add(sum)));
        let rows = rows.map_err(|fault: Fault| to_python(fault.error(0)))?;
        let items = detached_if(source.py(), rows >= SHARED, || {
            let mut items = Vec::new();
            items.try_reserve_exact(rows).map_err(|_| too_long(rows))?;
            for chunk in &owners {
                let first = items.len();
                let (mut result, bad) = chunk.read().map_err(|error| error.error(first))?;
                if let Some(bad) = bad.first() {
                    return Err(bad.error(first));
                }
                items.append(&mut result);
            }
            Ok(items)
        })?;
        Ok(Some(Self { items, owners: owners.into_iter().map(|chunk| chunk.array).collect() }))
    }
}

/// An array and its schema.
struct Chunk {
    array: Owned<Array>,
    column: TextColumn,
    /// True if the array is a table with the column as its only child.
    table: bool,
}

fn too_long(rows: usize) -> Error {
    Error::input("Arrow data", format!("it claims {rows} rows, for which there is no memory"))
}

impl Chunk {
    fn new(array: Owned<Array>, schema: &Schema) -> PyResult<Self> {
        if array.is_released() {
            return Err(failed("reading an array", "it is released already; pass it once"));
        }
        let (column, table) = schema.column().map_err(|refused| match refused {
            Refused::Broken(reason) => failed("reading the schema", reason),
            Refused::Table(names) => PyTypeError::new_err(format!(
                "the table has the columns {}; pass the one that holds the texts",
                names.join(", ")
            )),
            Refused::Other(kind) => PyTypeError::new_err(format!(
                "the Arrow array holds {kind}; texts are utf8, large_utf8, string_view or dictionaries of these: cast the column"
            )),
        })?;
        Ok(Self { array, column, table })
    }

    fn read(&self) -> Read<Checked<'static>> {
        let array = &*self.array;
        let rows = rows_of(array)?;
        if !self.table {
            return strings(array, self.column, 0..rows.len());
        }
        // Unwrap a table of one column.
        if array.n_children != 1 {
            return Err(Fault::array(format!("a table of one column has {} arrays", array.n_children)));
        }
        let column = array.child(0).filter(|column| rows_of(column).is_ok_and(|whole| whole.len() >= rows.end));
        let shorter = || Fault::array(format!("the column is shorter than its table of {} rows", rows.end));
        strings(column.ok_or_else(shorter)?, self.column, rows.clone())
    }
}

/// Return the rows of an array as a range of its buffers, starting at its offset.
pub(super) fn rows_of(array: &Array) -> Read<Range<usize>> {
    let (start, end) = (array.offset, array.offset.checked_add(array.length));
    // No buffer has 2^59 values, so byte counts do not overflow.
    match end.filter(|&end| end < 1 << 59 && start >= 0 && array.length >= 0) {
        Some(end) => Ok(start as usize..end as usize),
        None => Err(Fault::array("its length or offset is negative or beyond all memory")),
    }
}

/// Return `count` values from `start` on of buffer `index`.
///
/// # Safety
/// The buffer has `start + count` values of type `T`, every bit pattern of `T` is valid, and nobody writes to it while
/// the array lives.
unsafe fn values<T>(array: &Array, index: usize, start: usize, count: usize) -> Read<&'static [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    let pointer = array.buffer(index);
    if pointer.is_null() {
        return Err(Fault::array(format!("buffer {index} of {} is missing", array.n_buffers)));
    }
    let pointer = pointer.cast::<T>();
    if !pointer.is_aligned() {
        let reason = format!("buffer {index} is not aligned to {} bytes; copy the column", align_of::<T>());
        return Err(Fault::array(reason));
    }
    check_readable(pointer.wrapping_add(start).cast(), count.saturating_mul(size_of::<T>()))
        .map_err(|reason| Fault::array(format!("buffer {index} {reason}")))?;
    // SAFETY: not null and aligned; the caller guarantees the rest. `rows_of` bounds the bytes by isize::MAX.
    Ok(unsafe { std::slice::from_raw_parts(pointer.add(start), count) })
}

/// Return the null rows.
fn nulls(array: &Array, rows: &Range<usize>) -> Read<Nulls<'static>> {
    if array.buffer(0).is_null() || rows.is_empty() {
        return Ok(Nulls::NONE);
    }
    // SAFETY: by the C data interface the buffer has a bit for each value from 0 to the end of the rows.
    Nulls::new(unsafe { values::<u8>(array, 0, 0, rows.end.div_ceil(8))? }, rows)
}

/// Return the strings of `rows`, counted from the array's offset.
fn strings(array: &Array, column: TextColumn, rows: Range<usize>) -> Read<Checked<'static>> {
    let whole = rows_of(array)?;
    let places = whole.start + rows.start..whole.start + rows.end;
    match column {
        TextColumn::Plain(TextType::Null) => {
            let mut items = Vec::new();
            items.try_reserve_exact(rows.len()).map_err(|_| Fault::array(format!("it claims {} rows", rows.len())))?;
            items.resize(rows.len(), None);
            Ok((items, Vec::new()))
        }
        TextColumn::Plain(TextType::Utf8) => packed::<i32>(array, &places),
        TextColumn::Plain(TextType::LargeUtf8) => packed::<i64>(array, &places),
        TextColumn::Plain(TextType::View) => views(array, &places),
        TextColumn::Dictionary(key, values) => match key {
            b'c' => dictionary_values::<i8>(array, values, &places),
            b's' => dictionary_values::<i16>(array, values, &places),
            b'i' => dictionary_values::<i32>(array, values, &places),
            b'l' => dictionary_values::<i64>(array, values, &places),
            b'C' => dictionary_values::<u8>(array, values, &places),
            b'S' => dictionary_values::<u16>(array, values, &places),
            b'I' => dictionary_values::<u32>(array, values, &places),
            _ => dictionary_values::<u64>(array, values, &places),
        },
    }
}

/// Return concatenated strings, value i from `offsets[i]` to `offsets[i + 1]`.
fn packed<O: Integer + 'static>(array: &Array, rows: &Range<usize>) -> Read<Checked<'static>> {
    if rows.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let nulls = nulls(array, rows)?;
    // SAFETY: by the C data interface there is an offset for each value, and one more; any bits are an integer.
    let offsets: &[O] = unsafe { values(array, 1, rows.start, rows.len() + 1)? };
    let last = offsets[rows.len()];
    let end: usize = last.try_into().unwrap_or(usize::MAX);
    if end > isize::MAX as usize {
        return Err(Fault::row(rows.len() - 1, format!("ends at the offset {last}; offsets are 0 or more")));
    }
    // Nothing before a slice's own bytes is read or checked, otherwise all slices of a column would take quadratic time.
    let start = offsets[0].try_into().unwrap_or(0).min(end);
    // SAFETY: the data extends to the last offset, the only information about its length. pyarrow's `validate` has
    // checked it, and no later byte is read.
    let data: &'static [u8] = unsafe { values(array, 2, start, end - start)? };
    columns::packed_from(start, offsets, data, nulls)
}

fn views(array: &Array, rows: &Range<usize>) -> Read<Checked<'static>> {
    if rows.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let nulls = nulls(array, rows)?;
    // SAFETY: by the C data interface there is a view for each value; every bit pattern is valid.
    let views: &'static [View] = unsafe { values(array, 1, rows.start, rows.len())? };
    // Nulls, views, any number of data buffers, and their lengths.
    let count = usize::try_from(array.n_buffers).ok().and_then(|buffers| buffers.checked_sub(3));
    let count = count.ok_or_else(|| Fault::array("a string view has too few buffers"))?;
    // SAFETY: the last buffer contains the length of each data buffer.
    let lengths: &[i64] = unsafe { values(array, 2 + count, 0, count)? };
    // A slice of a column need not read the buffers of other rows.
    let mut is_used = vec![false; count];
    for buffer in views.iter().filter_map(columns::buffer_of) {
        is_used.get_mut(buffer).into_iter().for_each(|used| *used = true);
    }
    let mut buffers: Vec<&'static [u8]> = Vec::with_capacity(count);
    for (i, &length) in lengths.iter().enumerate() {
        if !is_used[i] {
            buffers.push(&[]);
            continue;
        }
        let length = usize::try_from(length).ok().filter(|&length| isize::try_from(length).is_ok());
        let length = length.ok_or_else(|| Fault::array(format!("data buffer {i} has a negative length")))?;
        // SAFETY: the producer declares this length.
        buffers.push(unsafe { values(array, 2 + i, 0, length)? });
    }
    columns::views(views, &buffers, nulls)
}

/// Return the values of a dictionary that keys select.
fn dictionary_values<K: Integer + 'static>(
    array: &Array,
    values_kind: TextType,
    rows: &Range<usize>,
) -> Read<Checked<'static>> {
    if rows.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let nulls = nulls(array, rows)?;
    // SAFETY: by the C data interface there is a key for each value; any bits are an integer.
    let keys: &[K] = unsafe { values(array, 1, rows.start, rows.len())? };
    let dictionary = array.dictionary().ok_or_else(|| Fault::array("a dictionary column has no dictionary"))?;
    let entries = rows_of(dictionary)?.len();
    // A fault of an entry is attributed to the dictionary, because entries are not rows.
    let result = strings(dictionary, TextColumn::Plain(values_kind), 0..entries).map_err(|fault| match fault.row {
        None => fault,
        Some(entry) => Fault::array(format!("entry {entry} of the dictionary {}", fault.reason)),
    })?;
    columns::dictionary_values(keys, &result, nulls)
}

pub(super) fn failed(action: &str, error: impl std::fmt::Display) -> PyErr {
    to_python(Error::input("Arrow data", format!("{action}: {error}")))
}

/// Let pyarrow check that the buffers of its object, or of the one that pandas wraps, are long enough.
fn validate(source: &Bound<'_, PyAny>) -> PyResult<()> {
    let array =
        if is_of(source, "pandas")? && source.hasattr("array")? { source.getattr("array")? } else { source.clone() };
    let array = if is_of(&array, "pandas")? && array.get_type().name()?.to_string_lossy().starts_with("Arrow") {
        array.call_method0("__arrow_array__")?
    } else {
        array
    };
    if !is_of(&array, "pyarrow")? || !array.hasattr("validate")? {
        return Ok(());
    }
    array.call_method0("validate").map_err(|error| failed("its buffers do not hold together", error))?;
    Ok(())
}

/// True if the object's type belongs to this package.
fn is_of(object: &Bound<'_, PyAny>, package: &str) -> PyResult<bool> {
    let module = object.get_type().getattr("__module__")?;
    let Ok(module) = module.cast::<PyString>() else { return Ok(false) };
    Ok(module.to_string_lossy().split('.').next() == Some(package))
}

fn stream_chunks(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<Chunk>> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<Stream>();
    // SAFETY: the capsule's name determines the type it points to; moving out marks the original as released.
    let mut stream = unsafe { Owned::take(pointer.as_ptr()) };
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(failed("reading the stream", "it is released already; pass it once"));
    };
    let check = |code: std::os::raw::c_int| {
        if code == 0 { Ok(()) } else { Err(failed("reading the stream", format!("code {code}"))) }
    };
    let mut schema = Owned::<Schema>::empty();
    // SAFETY: the callbacks get their stream and empty structs to fill, as the C stream interface requires.
    check(unsafe { get_schema(stream.as_mut_ptr(), schema.as_mut_ptr()) })?;
    let mut chunks = Vec::new();
    loop {
        let mut array = Owned::<Array>::empty();
        // SAFETY: as above.
        check(unsafe { get_next(stream.as_mut_ptr(), array.as_mut_ptr()) })?;
        if array.is_released() {
            return Ok(chunks);
        }
        chunks.push(Chunk::new(array, &schema)?);
    }
}

fn array_chunk(pair: &Bound<'_, PyAny>) -> PyResult<Chunk> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<Schema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<Array>();
    // SAFETY: the capsules' names determine the types they point to; the array is moved out, the producer keeps the
    // schema.
    let (array, schema) = unsafe { (Owned::take(array.as_ptr()), schema.as_ref()) };
    Chunk::new(array, schema)
}
