//! Words and inverse document frequencies.

pub(crate) mod idf;
pub(crate) mod words;

use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    idf::register(module)
}
