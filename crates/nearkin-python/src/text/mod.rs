//! Words, parts, edits and inverse document frequencies.

mod edits;
pub(crate) mod idf;
mod parts;
pub(crate) mod words;

use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    parts::register(module)?;
    edits::register(module)?;
    idf::register(module)
}
