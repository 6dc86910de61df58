//! `nearkin._core`: thin conversions around `nearkin-core`.
//!
//! Each function converts its arguments, releases the GIL, calls the core in the process's thread pool, and converts
//! the result. No rule about hashing or searching lives here.

mod bands;
mod corpus;
mod errors;
mod hamming;
mod idf;
mod lsh;
mod minhash;
mod recipe;
mod ssdeep;
mod texts;
mod threads;
mod vectors;
mod words;

use pyo3::prelude::*;

/// The compiled kernels. Private: the names that users call are in `nearkin`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("DEBUG_BUILD", cfg!(debug_assertions))?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    threads::register(module)?;
    bands::register(module)?;
    corpus::register(module)?;
    hamming::register(module)?;
    idf::register(module)?;
    lsh::register(module)?;
    minhash::register(module)?;
    recipe::register(module)?;
    ssdeep::register(module)?;
    vectors::register(module)?;
    Ok(())
}
