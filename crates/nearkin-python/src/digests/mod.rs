//! Fuzzy digests of files, one module per kind.

pub(crate) mod ssdeep;

use pyo3::prelude::*;

/// Register the functions and classes of all digests.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    ssdeep::register(module)
}
