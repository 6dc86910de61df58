//! Tables of templates and scanners that fill them: [`nearkin_patterns`]. One file per kind of item.

mod lines;
mod payloads;
mod table;
mod urls;

use nearkin_patterns::batch::{self, Batch, BatchMetadata, Packed};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::convert::Slice;
use crate::errors::IntoPython;
use crate::patterns::table::FormTable;
use crate::threads::writing;

/// Byte strings from Python: offsets and data.
pub(crate) type Strings<'py> = (Slice<'py, i64>, Slice<'py, u8>);

/// Items to be scanned, their times in ticks, and their sources.
pub(crate) type Items<'py> = (Strings<'py>, Option<Slice<'py, i64>>, Option<Strings<'py>>);

/// Return the byte strings of offsets and data.
pub(crate) fn packed<'a>(strings: &'a Strings<'_>) -> PyResult<Packed<'a>> {
    Packed::new(&strings.0, &strings.1).into_python()
}

/// Scan items on all threads and add them to a table: all, or none if the call is cancelled. Return the number of
/// skipped items by the scanner's reasons; `profiled` adds profiles of the values.
pub(crate) fn add_scanned(
    py: Python<'_>,
    table: &FormTable,
    (items, times, sources): &Items<'_>,
    profiled: bool,
    scan: impl Fn(&mut Batch, usize, &[u8]) + Sync + Send,
) -> PyResult<Vec<u64>> {
    let items = packed(items)?;
    let sources = sources.as_ref().map(packed).transpose()?;
    let metadata = BatchMetadata { times: times.as_deref(), sources, profiled };
    metadata.check(items.len()).into_python()?;
    writing(py, &table.table, false, |table| {
        let batches = batch::scan(items, scan)?;
        batch::add(table, &batches, items, metadata)?;
        Ok(batch::skipped(&batches).to_vec())
    })
}

/// Return bytes as text, with invalid UTF-8 as `\\xNN`.
pub(crate) fn decode<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "backslashreplace")),
    }
}

register! {
    mod lines, payloads, table, urls
}
