//! Fuzzy digests of files, one module per kind.

pub(crate) mod ssdeep;

use pyo3::prelude::*;

register! {
    mod ssdeep
}
