//! `nearkin._core`: the shared library that Python imports. Its content is that of `nearkin-python`.

use pyo3::prelude::*;

/// The compiled kernels. Private: the public names are in `nearkin`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    nearkin_python::fill(module)
}
