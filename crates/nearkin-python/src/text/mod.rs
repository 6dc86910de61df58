//! Words, parts and inverse document frequencies.

pub(crate) mod idf;
mod parts;
pub(crate) mod words;

use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    parts::register(module)?;
    idf::register(module)
}
