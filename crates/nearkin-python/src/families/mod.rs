//! Signatures: how they are compared.

pub(crate) mod minhash;

use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    minhash::register(module)
}
