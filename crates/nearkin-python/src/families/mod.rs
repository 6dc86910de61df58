//! Signatures of families that are not a recipe's own.

pub(crate) mod minhash;

use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    minhash::register(module)
}
