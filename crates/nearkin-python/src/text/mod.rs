//! Words, chunks, edits and inverse document frequencies.

mod chunking;
mod edits;
pub(crate) mod idf;
pub(crate) mod words;

use pyo3::prelude::*;

register! {
    mod chunking, edits, idf
}
