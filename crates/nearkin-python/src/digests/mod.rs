//! Fuzzy digests of files: one module per kind of digest.

pub(crate) mod ssdeep;

use pyo3::prelude::*;

/// Registers the functions and classes of all digests.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    ssdeep::register(module)
}
