//! Arrow strings, read in place and checked: what the Arrow C data interface hands over is trusted with nothing that can
//! be checked.
//!
//! | type | checked |
//! |---|---|
//! | `utf8`, `large_utf8` | offsets are not negative and never descend; each value is UTF-8 |
//! | string view | lengths, buffer numbers and places lie within the buffers; each value is UTF-8 |
//! | dictionary of these | keys lie within the dictionary; each value that a key names is UTF-8 |
//! | struct of one column | the column has the rows of the struct |
//!
//! Arrow's producers do not do it for us: `pyarrow.parquet.read_table` leaves bytes as they lie in the file, and readers of
//! IPC leave offsets. The C interface does not say how long the data of `utf8` and `large_utf8` is; pyarrow does, so its
//! arrays are asked to check their ends (`validate()`, a look at each buffer's size). For other producers the last offset is
//! the only statement about that length.
//!
//! UTF-8 is checked a piece of rows at a time: if the bytes of the piece are UTF-8 as a whole, a value is too where it begins
//! and ends at a character; only else is each value looked at. Cost: one pass over offsets and bytes at the speed of
//! memory, in parallel. A null's bytes are nobody's, and not looked at.
//!
//! **Memory that is written meanwhile.** Arrow's buffers are immutable by its specification. Who writes to one (through
//! a NumPy array that he made a buffer of) while a call runs breaks the check of UTF-8 under the reader, and with it the
//! safety of memory; that can't be found out here, nor mended without a copy of all texts.

use std::ops::Range;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::DataType;
use nearkin_core::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString};
use rayon::prelude::*;

use crate::errors::{IntoPython, to_python};
use crate::threads::detached_if;

/// A string, borrowed from the arrays that its [`Strings`] holds; None for a null.
pub(super) type Item = Option<&'static str>;

/// Strings of Arrow arrays, and those arrays.
pub(crate) struct Strings {
    /// Borrowed from `owners`: the lifetime is that of this struct.
    pub(crate) items: Vec<Item>,
    /// What is released with the struct.
    pub(crate) owners: Vec<FFI_ArrowArray>,
}

/// Rows that one task checks.
const PIECE: usize = 1 << 10;

/// Rows from which on the pool is asked to help.
pub(super) const SHARED: usize = 1 << 12;

impl Strings {
    /// Those of an object with `__arrow_c_stream__` or `__arrow_c_array__`, if `source` is one.
    pub(crate) fn of(source: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let owners = if source.hasattr("__arrow_c_stream__")? {
            validate(source)?;
            stream_chunks(&source.call_method0("__arrow_c_stream__")?)?
        } else if source.hasattr("__arrow_c_array__")? {
            validate(source)?;
            vec![array_chunk(&source.call_method0("__arrow_c_array__")?)?]
        } else {
            return Ok(None);
        };
        let rows = owners.iter().map(|chunk| chunk.array.len()).fold(0, usize::saturating_add);
        let items = detached_if(source.py(), rows >= SHARED, || {
            let mut items = Vec::new();
            items.try_reserve_exact(rows).map_err(|_| too_long(rows))?;
            for chunk in &owners {
                let first = items.len();
                let (mut found, bad) = chunk.read().map_err(|error| error.after(first))?;
                if let Some(bad) = bad.first() {
                    return Err(bad.error(first));
                }
                items.append(&mut found);
            }
            Ok(items)
        })?
        .into_python()?;
        Ok(Some(Self { items, owners: owners.into_iter().map(|chunk| chunk.array).collect() }))
    }
}

/// One array and the type that its schema states.
struct Chunk {
    array: FFI_ArrowArray,
    kind: DataType,
}

/// A value whose bytes are not UTF-8.
#[derive(Clone, Copy)]
pub(super) struct Bad {
    row: usize,
    /// The first byte that does not fit, and its place in the value.
    byte: u8,
    at: usize,
}

impl Bad {
    /// The error for an array that `first` rows come before.
    pub(super) fn error(self, first: usize) -> Error {
        let reason = format!(
            "is not UTF-8: byte 0x{:02x} at byte {} of the value; decode the column's bytes with errors='replace', or drop the row",
            self.byte,
            self.at + 1
        );
        Error::input(format!("text {}", first + self.row), reason)
    }
}

/// What does not hold in an array as a whole, or in one of its rows.
pub(super) struct Fault {
    pub(super) row: Option<usize>,
    pub(super) reason: String,
}

impl Fault {
    fn array(reason: impl Into<String>) -> Self {
        Self { row: None, reason: reason.into() }
    }

    fn row(row: usize, reason: impl Into<String>) -> Self {
        Self { row: Some(row), reason: reason.into() }
    }

    /// The error for an array that `first` rows come before.
    fn after(self, first: usize) -> Error {
        match self.row {
            None => Error::input("Arrow data", self.reason),
            Some(row) => Error::input(format!("text {}", first + row), self.reason),
        }
    }
}

pub(super) type Read<T> = Result<T, Fault>;
/// Items, and the rows among them that are not UTF-8 (None in the items), ascending.
pub(super) type Checked = (Vec<Item>, Vec<Bad>);

fn too_long(rows: usize) -> Error {
    Error::input("Arrow data", format!("it claims {rows} rows, for which there is no memory"))
}

impl Chunk {
    fn new(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<Self> {
        if array.is_released() {
            return Err(failed("reading an array", "it is released already; pass it once"));
        }
        let kind = DataType::try_from(schema).map_err(|error| failed("reading the schema", error))?;
        if let DataType::Struct(fields) = &kind
            && fields.len() != 1
        {
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            return Err(PyTypeError::new_err(format!(
                "the table has the columns {}; pass the one that holds the texts",
                names.join(", ")
            )));
        }
        let column = if let DataType::Struct(fields) = &kind { fields[0].data_type() } else { &kind };
        if !is_text(column) {
            return Err(PyTypeError::new_err(format!(
                "the Arrow array holds {column}; texts are utf8, large_utf8, string_view or dictionaries of these: cast the column"
            )));
        }
        Ok(Self { array, kind })
    }

    fn read(&self) -> Read<Checked> {
        let rows = rows_of(&self.array)?;
        match &self.kind {
            // A table of one column is that column.
            DataType::Struct(fields) => {
                if self.array.num_children() != 1 {
                    return Err(Fault::array(format!(
                        "a table of one column has {} arrays",
                        self.array.num_children()
                    )));
                }
                let column = self.array.child(0);
                if column.is_released() || column.len() < rows.end {
                    return Err(Fault::array(format!("the column is shorter than its table of {} rows", rows.end)));
                }
                strings(column, fields[0].data_type(), rows)
            }
            kind => strings(&self.array, kind, 0..rows.len()),
        }
    }
}

fn is_string(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Null => true,
        DataType::Dictionary(_, values) => is_string(values) || matches!(**values, DataType::Null),
        kind => is_string(kind),
    }
}

/// The rows of an array as places in its buffers: from its offset on.
fn rows_of(array: &FFI_ArrowArray) -> Read<Range<usize>> {
    let (start, end) = (array.offset(), array.offset().checked_add(array.len()));
    // Numbers below 0 are huge ones here. No buffer has 2^59 values: their bytes can be counted.
    match end.filter(|&end| end < 1 << 59 && start <= end) {
        Some(end) => Ok(start..end),
        None => Err(Fault::array("its length or offset is negative or beyond all memory")),
    }
}

/// `count` values from `start` on of buffer `index`.
///
/// # Safety
/// The buffer holds `start + count` values of type `T`, for all of whose bits `T` is valid, and nobody writes to it while
/// the array lives.
unsafe fn values<T>(array: &FFI_ArrowArray, index: usize, start: usize, count: usize) -> Read<&'static [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    let pointer = if index < array.num_buffers() { array.buffer(index) } else { std::ptr::null() };
    if pointer.is_null() {
        return Err(Fault::array(format!("buffer {index} of {} is missing", array.num_buffers())));
    }
    let pointer = pointer.cast::<T>();
    if !pointer.is_aligned() {
        let reason = format!("buffer {index} is not aligned to {} bytes; copy the column", align_of::<T>());
        return Err(Fault::array(reason));
    }
    // SAFETY: not null and aligned; the caller answers for the rest. `rows_of` bounds the bytes by isize::MAX.
    Ok(unsafe { std::slice::from_raw_parts(pointer.add(start), count) })
}

/// Which rows are null.
#[derive(Clone, Copy)]
struct Nulls {
    /// A bit per value, set where there is one; empty where all are there.
    bits: &'static [u8],
    first: usize,
}

impl Nulls {
    fn of(array: &FFI_ArrowArray, rows: &Range<usize>) -> Read<Self> {
        let there = array.num_buffers() > 0 && !array.buffer(0).is_null() && !rows.is_empty();
        // SAFETY: by the C data interface the buffer has a bit for each value from 0 to the end of the rows.
        let bits = if there { unsafe { values::<u8>(array, 0, 0, rows.end.div_ceil(8))? } } else { &[] };
        Ok(Self { bits, first: rows.start })
    }

    fn is_null(self, row: usize) -> bool {
        let at = self.first + row;
        !self.bits.is_empty() && self.bits[at / 8] >> (at % 8) & 1 == 0
    }
}

/// The strings of `rows`, counted from the array's offset.
fn strings(array: &FFI_ArrowArray, kind: &DataType, rows: Range<usize>) -> Read<Checked> {
    let whole = rows_of(array)?;
    let places = whole.start + rows.start..whole.start + rows.end;
    match kind {
        DataType::Null => {
            let mut items = Vec::new();
            items.try_reserve_exact(rows.len()).map_err(|_| Fault::array(format!("it claims {} rows", rows.len())))?;
            items.resize(rows.len(), None);
            Ok((items, Vec::new()))
        }
        DataType::Utf8 => packed::<i32>(array, &places),
        DataType::LargeUtf8 => packed::<i64>(array, &places),
        DataType::Utf8View => views(array, &places),
        DataType::Dictionary(keys, values) => match **keys {
            DataType::Int8 => chosen::<i8>(array, values, &places),
            DataType::Int16 => chosen::<i16>(array, values, &places),
            DataType::Int32 => chosen::<i32>(array, values, &places),
            DataType::Int64 => chosen::<i64>(array, values, &places),
            DataType::UInt8 => chosen::<u8>(array, values, &places),
            DataType::UInt16 => chosen::<u16>(array, values, &places),
            DataType::UInt32 => chosen::<u32>(array, values, &places),
            DataType::UInt64 => chosen::<u64>(array, values, &places),
            ref other => Err(Fault::array(format!("a dictionary has keys of {other}; cast the column"))),
        },
        other => Err(Fault::array(format!("it holds {other}, which is no text"))),
    }
}

/// Calls `piece` for rows that lie together, in parallel, and joins what it finds in order.
fn in_pieces(rows: usize, piece: impl Fn(Range<usize>) -> Read<Checked> + Sync) -> Read<Checked> {
    if rows <= PIECE {
        return piece(0..rows);
    }
    let pieces: Vec<Read<Checked>> =
        (0..rows.div_ceil(PIECE)).into_par_iter().map(|i| piece(i * PIECE..rows.min((i + 1) * PIECE))).collect();
    let (mut items, mut bad) = (Vec::new(), Vec::new());
    items
        .try_reserve_exact(rows)
        .map_err(|_| Fault::array(format!("it has {rows} rows, for which there is no memory")))?;
    for piece in pieces {
        let (mut some_items, mut some_bad) = piece?;
        items.append(&mut some_items);
        bad.append(&mut some_bad);
    }
    Ok((items, bad))
}

/// The value's string, or where it is none.
fn checked(value: &'static [u8], row: usize) -> Result<&'static str, Bad> {
    match simdutf8::basic::from_utf8(value) {
        Ok(text) => Ok(text),
        // The slower check says where.
        Err(_) => std::str::from_utf8(value).map_err(|error| {
            let at = error.valid_up_to();
            Bad { row, byte: value[at], at }
        }),
    }
}

/// A number that offsets or keys are of.
pub(super) trait Whole: Copy + Sync + TryInto<usize> + std::fmt::Display + 'static {}
impl<T: Copy + Sync + TryInto<usize> + std::fmt::Display + 'static> Whole for T {}

/// Strings back to back, value i from `offsets[i]` to `offsets[i + 1]`.
fn packed<O: Whole>(array: &FFI_ArrowArray, rows: &Range<usize>) -> Read<Checked> {
    if rows.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let nulls = Nulls::of(array, rows)?;
    // SAFETY: by the C data interface there is an offset for each value, and one more; any bits are an integer.
    let offsets: &[O] = unsafe { values(array, 1, rows.start, rows.len() + 1)? };
    let last = offsets[rows.len()];
    let end: usize = last.try_into().unwrap_or(usize::MAX);
    if end > isize::MAX as usize {
        return Err(Fault::row(rows.len() - 1, format!("ends at the offset {last}; offsets are 0 or more")));
    }
    // SAFETY: the data reaches to the last offset: nothing else states its length. `validate` has asked pyarrow, and
    // `back_to_back` reads no place behind it.
    let data: &'static [u8] = unsafe { values(array, 2, 0, end)? };
    back_to_back(offsets, data, |row| nulls.is_null(row))
}

/// The strings of `data` from `offsets[i]` to `offsets[i + 1]`, None where `is_null` says so.
pub(super) fn back_to_back<O: Whole>(
    offsets: &[O],
    data: &'static [u8],
    is_null: impl Fn(usize) -> bool + Sync,
) -> Read<Checked> {
    let span = |row: usize| -> Read<Range<usize>> {
        let (from, to) = (offsets[row], offsets[row + 1]);
        match (from.try_into(), to.try_into()) {
            (Ok(start), Ok(stop)) if start <= stop && stop <= data.len() => Ok(start..stop),
            _ => {
                let reason = format!("lies from {from} to {to}; offsets ascend from 0 to {}", data.len());
                Err(Fault::row(row, reason))
            }
        }
    };
    in_pieces(offsets.len().saturating_sub(1), |piece| {
        let (mut items, mut bad) = (Vec::with_capacity(piece.len()), Vec::new());
        if piece.is_empty() {
            return Ok((items, bad));
        }
        let begin = span(piece.start)?.start;
        let stop = span(piece.end - 1).map_or(begin, |last| last.end);
        let whole = data.get(begin..stop).and_then(|bytes| simdutf8::basic::from_utf8(bytes).ok());
        for row in piece {
            let place = span(row)?;
            if is_null(row) {
                items.push(None);
                continue;
            }
            // A value of a piece that is UTF-8 is UTF-8 where it begins and ends at a character.
            let inside = place.start.checked_sub(begin).zip(place.end.checked_sub(begin));
            let text = whole.zip(inside).and_then(|(whole, (start, stop))| whole.get(start..stop));
            match text.map_or_else(|| checked(&data[place], row), Ok) {
                Ok(text) => items.push(Some(text)),
                Err(fault) => {
                    items.push(None);
                    bad.push(fault);
                }
            }
        }
        Ok((items, bad))
    })
}

/// One value of a string view: its length, then its bytes, or its first four, a buffer and a place in that.
#[repr(C)]
#[derive(Clone, Copy)]
struct View {
    length: i32,
    inline: [u8; 4],
    buffer: [u8; 4],
    place: [u8; 4],
}

/// Bytes of a value that lies in its view.
const INLINE: usize = 12;

fn views(array: &FFI_ArrowArray, rows: &Range<usize>) -> Read<Checked> {
    if rows.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let nulls = Nulls::of(array, rows)?;
    // SAFETY: by the C data interface there is a view for each value; any bits are one.
    let views: &'static [View] = unsafe { values(array, 1, rows.start, rows.len())? };
    // Nulls, views, data in any number of buffers, the lengths of these.
    let count = array.num_buffers().checked_sub(3).ok_or_else(|| Fault::array("a string view has too few buffers"))?;
    // SAFETY: the last buffer has the length of each data buffer.
    let lengths: &[i64] = unsafe { values(array, array.num_buffers() - 1, 0, count)? };
    let mut buffers: Vec<&'static [u8]> = Vec::with_capacity(count);
    for (i, &length) in lengths.iter().enumerate() {
        let length = usize::try_from(length).ok().filter(|&length| isize::try_from(length).is_ok());
        let length = length.ok_or_else(|| Fault::array(format!("data buffer {i} has a negative length")))?;
        // SAFETY: the producer says that the buffer has this length.
        buffers.push(unsafe { values(array, 2 + i, 0, length)? });
    }
    let value = |row: usize| -> Read<&'static [u8]> {
        let view = &views[row];
        let length = usize::try_from(view.length)
            .map_err(|_| Fault::row(row, format!("has the length {}; lengths are 0 or more", view.length)))?;
        if length <= INLINE {
            // SAFETY: a view has 16 bytes, of which the last 12 are the value's; `views` borrows all of them.
            return Ok(unsafe { std::slice::from_raw_parts((&raw const *view).cast::<u8>().add(4), length) });
        }
        let (buffer, place) = (i32::from_ne_bytes(view.buffer), i32::from_ne_bytes(view.place));
        let bytes = usize::try_from(buffer).ok().and_then(|buffer| buffers.get(buffer));
        let start = usize::try_from(place).ok();
        bytes.zip(start).and_then(|(bytes, start)| bytes.get(start..start.checked_add(length)?)).ok_or_else(|| {
            let reason = format!("is {length} bytes at {place} of data buffer {buffer}, beyond its end");
            Fault::row(row, reason)
        })
    };
    in_pieces(rows.len(), |piece| {
        let (mut items, mut bad) = (Vec::with_capacity(piece.len()), Vec::new());
        for row in piece {
            if nulls.is_null(row) {
                items.push(None);
                continue;
            }
            match checked(value(row)?, row) {
                Ok(text) => items.push(Some(text)),
                Err(fault) => {
                    items.push(None);
                    bad.push(fault);
                }
            }
        }
        Ok((items, bad))
    })
}

/// The values of a dictionary that keys choose.
fn chosen<K: Whole>(array: &FFI_ArrowArray, kind: &DataType, rows: &Range<usize>) -> Read<Checked> {
    if rows.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let nulls = Nulls::of(array, rows)?;
    // SAFETY: by the C data interface there is a key for each value; any bits are an integer.
    let keys: &[K] = unsafe { values(array, 1, rows.start, rows.len())? };
    let dictionary = array.dictionary().filter(|dictionary| !dictionary.is_released());
    let dictionary = dictionary.ok_or_else(|| Fault::array("a dictionary column has no dictionary"))?;
    let entries = rows_of(dictionary)?.len();
    // A fault of an entry is no fault of a row: it stands for the dictionary.
    let (found, faulty) = strings(dictionary, kind, 0..entries).map_err(|fault| match fault.row {
        None => fault,
        Some(entry) => Fault::array(format!("entry {entry} of the dictionary {}", fault.reason)),
    })?;
    let (mut items, mut bad) = (Vec::with_capacity(rows.len()), Vec::new());
    for (row, &key) in keys.iter().enumerate() {
        if nulls.is_null(row) {
            items.push(None);
            continue;
        }
        let entry = key.try_into().ok().filter(|&entry| entry < entries);
        let entry = entry.ok_or_else(|| {
            Fault::row(row, format!("has the key {key}; the dictionary has {entries} entries, counted from 0"))
        })?;
        if found[entry].is_none()
            && let Ok(at) = faulty.binary_search_by_key(&entry, |bad| bad.row)
        {
            bad.push(Bad { row, ..faulty[at] });
        }
        items.push(found[entry]);
    }
    Ok((items, bad))
}

fn failed(action: &str, error: impl std::fmt::Display) -> PyErr {
    to_python(Error::input("Arrow data", format!("{action}: {error}")))
}

/// Asks pyarrow whether the buffers of its object, or of the one that pandas keeps, are as long as they must be.
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

/// Whether the object's type is of this package.
fn is_of(object: &Bound<'_, PyAny>, package: &str) -> PyResult<bool> {
    let module = object.get_type().getattr("__module__")?;
    let Ok(module) = module.cast::<PyString>() else { return Ok(false) };
    Ok(module.to_string_lossy().split('.').next() == Some(package))
}

fn stream_chunks(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<Chunk>> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule's name says what it points at; moving out marks the original as released.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let (Some(get_schema), Some(get_next)) = (stream.get_schema(), stream.get_next()) else {
        return Err(failed("reading the stream", "it is released already; pass it once"));
    };
    let check = |code: std::os::raw::c_int| {
        if code == 0 { Ok(()) } else { Err(failed("reading the stream", format!("code {code}"))) }
    };
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
        chunks.push(Chunk::new(array, &schema)?);
    }
}

fn array_chunk(pair: &Bound<'_, PyAny>) -> PyResult<Chunk> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: the capsules' names say what they point at; the array is moved out, the schema stays theirs.
    let (array, schema) = unsafe { (FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    Chunk::new(array, schema)
}
