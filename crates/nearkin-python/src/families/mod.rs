//! Signatures: comparison, and those of datasketch.

mod datasketch;
pub(crate) mod minhash;

use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    datasketch::register(module)?;
    minhash::register(module)
}
