//! Readers of records: JSON Lines, CSV and plain lines, from blocks of bytes to columns.

use std::fs::File;

use nearkin_core::parallel::prelude::*;
use nearkin_core::records::csv;
use nearkin_core::records::jsonl;
use nearkin_core::records::{self, Column};
use nearkin_core::{Error, alloc};
use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::convert::Slice;
use crate::errors::IntoPython;
use crate::threads::detached;

type Scalars = (Py<PyArray1<u8>>, Py<PyArray1<i64>>, Py<PyArray1<i64>>, Py<PyArray1<u8>>);

/// The records that end inside one block of bytes, as columns; see the core's `records`.
#[pyclass(frozen, get_all, module = "nearkin._core")]
struct Records {
    /// `(n_rows + 1,)` int64: text i is `data[offsets[i]:offsets[i + 1]]`.
    offsets: Py<PyArray1<i64>>,
    /// uint8: the texts in UTF-8, concatenated.
    data: Py<PyArray1<u8>>,
    /// uint32, ascending: rows whose text is null.
    nulls: Py<PyArray1<u32>>,
    /// `(n_rows,)` uint32: offset of each record in the block.
    starts: Py<PyArray1<u32>>,
    /// `(n_rows,)` uint32: length of each record in bytes, line end included.
    lengths: Py<PyArray1<u32>>,
    /// A tuple (kinds, values, offsets, data) for each scalar column.
    columns: Vec<Scalars>,
    /// A tuple (line from 0, reason) for the first malformed records.
    malformed: Vec<(u64, String)>,
    /// Number of malformed records.
    malformed_count: u64,
    /// Number of bytes before the first incomplete record.
    consumed: usize,
    /// Number of line ends in those bytes.
    lines: u64,
}

impl Records {
    fn new(py: Python<'_>, records: records::Records) -> Self {
        let column = |column: Column| {
            let Column { kinds, values, offsets, data } = column;
            (array(py, kinds), array(py, values), array(py, offsets), array(py, data))
        };
        Self {
            offsets: fixed(records.offsets.into_pyarray(py)),
            data: fixed(records.data.into_pyarray(py)),
            nulls: array(py, records.nulls),
            starts: array(py, records.starts),
            lengths: array(py, records.lengths),
            columns: records.columns.into_iter().map(column).collect(),
            malformed: records.malformed.into_iter().map(|m| (m.line, m.reason)).collect(),
            malformed_count: records.malformed_count,
            consumed: records.consumed,
            lines: records.lines,
        }
    }
}

fn array<T: Element>(py: Python<'_>, values: Vec<T>) -> Py<PyArray1<T>> {
    values.into_pyarray(py).unbind()
}

/// Return a read-only array, so that texts are read in place ([`crate::convert::texts`]).
fn fixed<T: Element>(array: Bound<'_, PyArray1<T>>) -> Py<PyArray1<T>> {
    array.readwrite().make_nonwriteable();
    array.unbind()
}

/// Run `read` without the GIL and convert its records for Python.
fn run(py: Python<'_>, read: impl FnOnce() -> nearkin_core::Result<records::Records> + Send) -> PyResult<Records> {
    Ok(Records::new(py, detached(py, read)?))
}

/// Read JSON Lines. With `lengths` the records are contiguous with these lengths, and `end` is ignored.
#[pyfunction]
#[pyo3(signature = (block, text, id=None, extra=Vec::new(), *, text_optional=false, end=true, lengths=None))]
fn read_jsonl(
    py: Python<'_>,
    block: Slice<u8>,
    text: String,
    id: Option<String>,
    extra: Vec<String>,
    text_optional: bool,
    end: bool,
    lengths: Option<Slice<u32>>,
) -> PyResult<Records> {
    let columns = jsonl::JsonColumns { text, text_optional, id, extra };
    let lengths = lengths.as_deref();
    run(py, || match lengths {
        None => jsonl::read(&block, end, &columns),
        Some(lengths) => jsonl::read_spans(&block, lengths, &columns),
    })
}

/// Read CSV whose records have `fields` fields; `text` and `scalars` are the requested ones, numbered from 0.
#[pyfunction]
#[pyo3(signature = (block, delimiter, fields, text, scalars, *, end=true, lengths=None))]
fn read_csv(
    py: Python<'_>,
    block: Slice<u8>,
    delimiter: u8,
    fields: usize,
    text: usize,
    scalars: Vec<usize>,
    end: bool,
    lengths: Option<Slice<u32>>,
) -> PyResult<Records> {
    let layout = csv::RecordLayout { delimiter, fields, text, scalars };
    let lengths = lengths.as_deref();
    run(py, || match lengths {
        None => csv::read(&block, end, &layout),
        Some(lengths) => csv::read_spans(&block, lengths, &layout),
    })
}

/// Return the names in a CSV header and its length in bytes, or None if the block contains only a part of it.
#[pyfunction]
#[pyo3(signature = (block, delimiter, *, end=true))]
fn read_csv_header(block: Slice<u8>, delimiter: u8, end: bool) -> PyResult<Option<(Vec<String>, usize)>> {
    csv::read_header(&block, end, delimiter).into_python()
}

/// Read plain lines, a document per line. With `lengths` as in `read_jsonl`.
#[pyfunction]
#[pyo3(signature = (block, *, end=true, lengths=None))]
fn read_lines(py: Python<'_>, block: Slice<u8>, end: bool, lengths: Option<Slice<u32>>) -> PyResult<Records> {
    let lengths = lengths.as_deref();
    run(py, || match lengths {
        None => records::read_lines(&block, end),
        Some(lengths) => records::read_line_spans(&block, lengths),
    })
}

/// Return the rows of `(offsets, data)` whose bytes are not UTF-8, ascending.
#[pyfunction]
fn invalid_utf8(py: Python<'_>, offsets: Slice<i64>, data: Slice<u8>) -> PyResult<Py<PyArray1<u32>>> {
    let rows = detached(py, || records::invalid_utf8(&offsets, &data))?;
    Ok(rows.into_pyarray(py).unbind())
}

/// Return the bytes of an open file at `starts` with `lengths`, concatenated. Starts are ascending.
///
/// The file is passed as its descriptor, on Windows as its handle. Its position does not change, except on Windows,
/// where every read moves it. A file that ends before a span does is an `Input` error.
#[pyfunction]
fn read_spans(py: Python<'_>, descriptor: i64, starts: Slice<i64>, lengths: Slice<u32>) -> PyResult<Py<PyArray1<u8>>> {
    if descriptor < 0 || starts.len() != lengths.len() || starts.iter().any(|&start| start < 0) {
        let error = Error::parameter("spans", "a negative or missing number", "an open file, a start and length each");
        return Err(crate::errors::to_python(error));
    }
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::input("file", "it is shorter than it was when it was read first"),
        std::io::ErrorKind::OutOfMemory => Error::Memory { bytes: lengths.iter().map(|&length| length as usize).sum() },
        _ => Error::Io { action: "reading records again".to_owned(), source },
    };
    let file = duplicated(descriptor).map_err(failed).into_python()?;
    let bytes = detached(py, || gather(&file, &starts, &lengths).map_err(failed))?;
    Ok(fixed(bytes.into_pyarray(py)))
}

/// Duplicate the open file.
#[cfg(unix)]
fn duplicated(descriptor: i64) -> std::io::Result<File> {
    let number = i32::try_from(descriptor).ok().filter(|&number| number >= 0);
    let number = number.ok_or_else(|| std::io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: the descriptor is not -1, and is only borrowed to be duplicated; a closed one gives EBADF.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
    borrowed.try_clone_to_owned().map(File::from)
}

/// Duplicate the open file.
#[cfg(windows)]
fn duplicated(handle: i64) -> std::io::Result<File> {
    // SAFETY: the handle is only borrowed to be duplicated; an invalid one gives an error.
    let borrowed = unsafe { std::os::windows::io::BorrowedHandle::borrow_raw(handle as *mut std::ffi::c_void) };
    borrowed.try_clone_to_owned().map(File::from)
}

/// Fill `buffer` from `start` on.
#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], start: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, start)
}

/// Fill `buffer` from `start` on.
#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut start: u64) -> std::io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, start) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer = &mut buffer[count..];
                start += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Maximum gap between two records that is read and discarded: copying a page costs less than a call.
const GAP: u64 = 2 << 10;
/// Maximum number of bytes per call.
const READ: u64 = 1 << 20;

fn gather(file: &File, starts: &[i64], lengths: &[u32]) -> std::io::Result<Vec<u8>> {
    let total = lengths.iter().map(|&length| length as usize).sum();
    let mut bytes = alloc::try_zeroed(total).map_err(|_| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
    // Records of one group are so close together that a single call reads all of them.
    let mut groups: Vec<(std::ops::Range<usize>, u64, &mut [u8])> = Vec::new();
    let mut rest = bytes.as_mut_slice();
    let mut row = 0;
    while row < starts.len() {
        let (first, start) = (row, starts[row] as u64);
        let (mut end, mut length) = (start + u64::from(lengths[row]), u64::from(lengths[row]));
        row += 1;
        while row < starts.len() {
            let (next, size) = (starts[row] as u64, u64::from(lengths[row]));
            if next < end || next - end > GAP || next + size - start > READ {
                break;
            }
            (end, length) = (next + size, length + size);
            row += 1;
        }
        let (group, after) = rest.split_at_mut(length as usize);
        groups.push((first..row, end - start, group));
        rest = after;
    }
    groups.into_par_iter().try_for_each_init(Vec::new, |scratch, (rows, span, group)| {
        let start = starts[rows.start] as u64;
        if rows.len() == 1 {
            return read_exact_at(file, group, start);
        }
        scratch.resize(span as usize, 0);
        read_exact_at(file, scratch, start)?;
        let mut group = group;
        for row in rows {
            let (from, length) = ((starts[row] as u64 - start) as usize, lengths[row] as usize);
            let (record, after) = group.split_at_mut(length);
            record.copy_from_slice(&scratch[from..from + length]);
            group = after;
        }
        Ok(())
    })?;
    Ok(bytes)
}

register! {
    [Records] read_jsonl, read_csv, read_csv_header, read_lines, invalid_utf8, read_spans
}
