//! Words, chunks, edits and inverse document frequencies.

mod chunking;
mod edits;
pub(crate) mod idf;
pub(crate) mod words;

use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    chunking::register(module)?;
    edits::register(module)?;
    idf::register(module)
}
