//! Arrow data of other producers, checked before pyarrow imports it.
//!
//! pyarrow trusts the structs of the C data interface: a missing buffer of offsets, an offset beyond mapped memory or a
//! type that is nested too deeply ends the process. Here each buffer that the type requires is present and can be read
//! up to the length that the struct implies. pyarrow then imports the data, and `nearkin.io.arrow` validates values.
//!
//! The bytes of a buffer of `utf8` end at its last offset, because the interface does not give their number. Whether
//! they belong to the producer cannot be checked.

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::convert::arrow::{failed, rows_of};
use crate::convert::cdata::{Array, Owned, Refused, Schema, Stream};
use crate::convert::readable::check_readable;

/// Maximum depth of a type.
const DEPTH: usize = 32;
/// Maximum number of children of a type, and of buffers of a view.
const CHILDREN: i64 = 1 << 20;

/// Return the schema of a stream, for pyarrow to import.
#[pyfunction]
fn stream_schema<'py>(stream: &Bound<'py, PyCapsule>) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = next_schema(stream)?;
    check_schema(&schema, 0).map_err(|reason| failed("reading the schema", reason))?;
    PyCapsule::new_with_value(stream.py(), schema, c"arrow_schema")
}

/// Return the next array of a stream with its schema, checked; None at the end.
#[pyfunction]
fn next_arrow<'py>(stream: &Bound<'py, PyCapsule>) -> PyResult<Option<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)>> {
    let schema = next_schema(stream)?;
    let pointer = stream_pointer(stream)?;
    let mut array = Owned::<Array>::empty();
    // SAFETY: `stream_pointer` returned a stream that is not released; the callback gets it and an empty struct to fill.
    let code = unsafe {
        let get_next = (*pointer).get_next.ok_or_else(|| failed("reading the stream", RELEASED))?;
        get_next(pointer, array.as_mut_ptr())
    };
    if code != 0 {
        return Err(failed("reading the stream", format!("code {code}")));
    }
    if array.is_released() {
        return Ok(None);
    }
    check_pair(&schema, &array)?;
    Ok(Some((
        PyCapsule::new_with_value(stream.py(), schema, c"arrow_schema")?,
        PyCapsule::new_with_value(stream.py(), array, c"arrow_array")?,
    )))
}

/// Check an array and its schema, which pyarrow imports afterwards.
#[pyfunction]
fn check_arrow(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<()> {
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<Schema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<Array>();
    // SAFETY: the capsules' names determine the types they point to, and they are alive during the call.
    let (schema, array) = unsafe { (schema.as_ref(), array.as_ref()) };
    if array.is_released() {
        return Err(failed("reading an array", RELEASED));
    }
    check_pair(schema, array)
}

const RELEASED: &str = "it is released already; pass it once";

fn stream_pointer(stream: &Bound<'_, PyCapsule>) -> PyResult<*mut Stream> {
    Ok(stream.pointer_checked(Some(c"arrow_array_stream"))?.cast::<Stream>().as_ptr())
}

fn next_schema(stream: &Bound<'_, PyCapsule>) -> PyResult<Owned<Schema>> {
    let pointer = stream_pointer(stream)?;
    let mut schema = Owned::<Schema>::empty();
    // SAFETY: the capsule's name determines the type; a released stream has no callbacks; the callback gets its stream
    // and an empty struct to fill.
    let code = unsafe {
        let stream = &*pointer;
        if stream.release.is_none() {
            return Err(failed("reading the stream", RELEASED));
        }
        let get_schema = stream.get_schema.ok_or_else(|| failed("reading the stream", RELEASED))?;
        get_schema(pointer, schema.as_mut_ptr())
    };
    if code == 0 { Ok(schema) } else { Err(failed("reading the stream", format!("code {code}"))) }
}

fn check_pair(schema: &Schema, array: &Array) -> PyResult<()> {
    check_schema(schema, 0).map_err(|reason| failed("reading the schema", reason))?;
    check_array(schema, array).map_err(|reason| failed("reading an array", reason))
}

fn format_of(schema: &Schema) -> Result<&str, String> {
    schema.format().map_err(|refused| match refused {
        Refused::Broken(reason) | Refused::Other(reason) => reason,
        Refused::Table(names) => names.join(", "),
    })
}

/// Check that a type is not nested too deeply and has all its children.
fn check_schema(schema: &Schema, depth: usize) -> Result<(), String> {
    if schema.is_released() {
        return Err(RELEASED.to_owned());
    }
    if depth > DEPTH {
        return Err(format!("its type is nested more than {DEPTH} levels deep; pass the column that holds the values"));
    }
    format_of(schema)?;
    if !(0..=CHILDREN).contains(&schema.n_children()) {
        return Err(format!("it has {} columns", schema.n_children()));
    }
    for index in 0..schema.n_children() as usize {
        let child = schema.child(index);
        check_schema(child.ok_or_else(|| format!("column {index} of {} is missing", schema.n_children()))?, depth + 1)?;
    }
    schema.dictionary().map_or(Ok(()), |values| check_schema(values, depth + 1))
}

/// Layout of the buffers of a type.
enum Layout {
    /// Neither validity nor values.
    None,
    /// Validity only.
    Validity,
    /// Values of this many bits.
    Fixed(usize),
    /// Offsets of this many bytes, and then bytes if it is a type of strings.
    Offsets(usize, bool),
    /// Offsets and lengths of this many bytes each.
    Ranges(usize),
    Views,
}

fn layout_of(format: &str) -> Option<Layout> {
    let bits = |bytes: usize| Some(Layout::Fixed(8 * bytes));
    Some(match format.as_bytes() {
        b"n" => Layout::None,
        b"b" => Layout::Fixed(1),
        b"c" | b"C" => return bits(1),
        b"s" | b"S" | b"e" => return bits(2),
        b"i" | b"I" | b"f" | b"tdD" | b"tts" | b"ttm" | b"tiM" => return bits(4),
        b"l" | b"L" | b"g" | b"tdm" | b"ttu" | b"ttn" | b"tiD" | [b't', b's' | b'D', ..] => return bits(8),
        b"tin" => return bits(16),
        b"u" | b"z" => Layout::Offsets(4, true),
        b"U" | b"Z" => Layout::Offsets(8, true),
        b"vu" | b"vz" => Layout::Views,
        b"+l" | b"+m" => Layout::Offsets(4, false),
        b"+L" => Layout::Offsets(8, false),
        b"+vl" => Layout::Ranges(4),
        b"+vL" => Layout::Ranges(8),
        b"+s" | [b'+', b'w', b':', ..] => Layout::Validity,
        [b'w', b':', ..] => return format[2..].parse::<usize>().ok().filter(|&n| n < 1 << 31).and_then(bits),
        [b'd', b':', ..] => {
            let width = format[2..].split(',').nth(2).map_or(Some(128), |width| width.parse().ok());
            Layout::Fixed(width.filter(|width| [32, 64, 128, 256].contains(width))?)
        }
        _ => return None,
    })
}

/// Check that the buffers of an array, and of the arrays below it, exist and can be read.
fn check_array(schema: &Schema, array: &Array) -> Result<(), String> {
    let end = rows_of(array).map_err(|fault| fault.reason)?.end;
    let format = format_of(schema)?;
    let layout =
        layout_of(format).ok_or_else(|| format!("its type (format {format:?}) is not read; cast the column"))?;
    let buffer = |index: usize, bytes: usize| {
        if bytes == 0 {
            return Ok(array.buffer(index));
        }
        let pointer = array.buffer(index);
        if pointer.is_null() {
            return Err(format!("buffer {index} of {} is missing", array.n_buffers));
        }
        check_readable(pointer, bytes).map_err(|reason| format!("buffer {index} {reason}"))?;
        Ok(pointer)
    };
    let count = match layout {
        // Before version 1.0 of the format, arrays of nulls had a buffer; polars still exports it.
        Layout::None => array.n_buffers.clamp(0, 1),
        Layout::Validity => 1,
        Layout::Fixed(_) | Layout::Offsets(_, false) => 2,
        Layout::Offsets(_, true) | Layout::Ranges(_) => 3,
        Layout::Views => array.n_buffers.clamp(3, CHILDREN),
    };
    if array.n_buffers != count {
        return Err(format!("it has {} buffers; its type (format {format:?}) has {count}", array.n_buffers));
    }
    if array.lacks_buffers() {
        return Err("its buffers are missing".to_owned());
    }
    if !matches!(layout, Layout::None) && !array.buffer(0).is_null() {
        buffer(0, end.div_ceil(8))?;
    }
    match layout {
        Layout::None | Layout::Validity => {}
        Layout::Fixed(bits) => {
            buffer(1, end.checked_mul(bits).ok_or("its length is beyond all memory")?.div_ceil(8))?;
        }
        Layout::Ranges(width) => {
            buffer(1, end * width)?;
            buffer(2, end * width)?;
        }
        Layout::Offsets(width, has_bytes) => {
            // An empty array needs no offsets.
            if end > 0 {
                let offsets = buffer(1, (end + 1) * width)?;
                // SAFETY: the offsets from 0 to `end` were checked above.
                let last = unsafe { read_signed(offsets, end, width) };
                let last =
                    usize::try_from(last).map_err(|_| format!("its last offset is {last}; offsets are 0 or more"))?;
                if has_bytes {
                    buffer(2, last)?;
                }
            }
        }
        Layout::Views => {
            let data = array.n_buffers as usize - 3;
            buffer(1, end * 16)?;
            let lengths = buffer(2 + data, data * 8)?;
            for index in 0..data {
                // SAFETY: there is a length for each data buffer, checked above.
                let length = unsafe { read_signed(lengths, index, 8) };
                let length =
                    usize::try_from(length).map_err(|_| format!("data buffer {index} has a negative length"))?;
                buffer(2 + index, length)?;
            }
        }
    }
    if array.n_children != schema.n_children() {
        return Err(format!("it has {} arrays for {} columns", array.n_children, schema.n_children()));
    }
    for index in 0..schema.n_children() as usize {
        let missing = || format!("column {index} of {} is missing", array.n_children);
        check_array(schema.child(index).ok_or_else(missing)?, array.child(index).ok_or_else(missing)?)?;
    }
    match schema.dictionary() {
        Some(values) => check_array(values, array.dictionary().ok_or("a dictionary column has no dictionary")?),
        None => Ok(()),
    }
}

/// Return integer `index` of a buffer of integers of 4 or 8 bytes.
///
/// # Safety
/// The buffer has this integer.
unsafe fn read_signed(buffer: *const u8, index: usize, width: usize) -> i64 {
    // SAFETY: the caller guarantees the bytes; they need not be aligned.
    unsafe {
        if width == 4 {
            i64::from(i32::from_ne_bytes(buffer.cast::<[u8; 4]>().add(index).read()))
        } else {
            i64::from_ne_bytes(buffer.cast::<[u8; 8]>().add(index).read())
        }
    }
}

register! { stream_schema, next_arrow, check_arrow }
