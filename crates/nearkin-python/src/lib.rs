//! `nearkin._core`: thin conversions around `nearkin-core`.
//!
//! Each function converts its arguments, releases the GIL, calls the core in the process's thread pool, and converts
//! the result. It contains no rules of hashing or searching.
//!
//! A module uses only modules to its left: `errors` · `locks` · `threads` · `convert` · `records` · `vectors` · `text`
//! · `recipe` · `families` · `digests` · `index` · `dedup` · `patterns` · `store`.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned by the call")]
#![allow(clippy::too_many_arguments, clippy::type_complexity, reason = "signatures are those of the stub")]

/// Define `register`, which adds the classes in brackets and the functions, or those of submodules, to the module.
macro_rules! register {
    ($([$($class:ident),+])? mod $($submodule:ident),+) => {
        pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $($(module.add_class::<$class>()?;)+)?
            $($submodule::register(module)?;)+
            Ok(())
        }
    };
    ($([$($class:ident),+])? $($function:ident),*) => {
        pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $($(module.add_class::<$class>()?;)+)?
            $(module.add_function(wrap_pyfunction!($function, module)?)?;)*
            Ok(())
        }
    };
}

/// Set the items of a dictionary named like these variables.
macro_rules! set_items {
    ($dict:expr, $($name:ident),+) => {
        $($dict.set_item(stringify!($name), $name)?;)+
    };
}

mod convert;
mod dedup;
mod digests;
mod errors;
mod families;
mod index;
mod locks;
#[cfg(feature = "patterns")]
mod patterns;
mod recipe;
mod records;
mod store;
mod text;
mod threads;
mod vectors;

use pyo3::prelude::*;

use crate::errors::IntoPython;

/// Add all classes and functions to the module.
///
/// # Errors
/// What Python raises.
pub fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    locks::count_forks().into_python()?;
    module.add("DEBUG_BUILD", cfg!(debug_assertions))?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    register(module)?;
    #[cfg(feature = "patterns")]
    patterns::register(module)?;
    // The stub lists all names; `python -m mypy.stubtest nearkin._core` compares it with this module.
    module.delattr("__all__")
}

register! {
    mod threads, convert, records, vectors, text, recipe, families, digests, index, dedup, store
}
