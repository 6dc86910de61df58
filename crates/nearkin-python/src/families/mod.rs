//! Signatures: comparison, and those of datasketch.

mod datasketch;
pub(crate) mod minhash;

use pyo3::prelude::*;

register! {
    mod datasketch, minhash
}
