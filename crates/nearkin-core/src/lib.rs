//! Kernels of nearkin: locality-sensitive hashing without a Python in sight.
//!
//! Modules build on the ones above them in this list only:
//! `error` · `records` · `jsonl` · `csv`.

pub mod csv;
pub mod error;
pub mod jsonl;
pub mod records;

pub use error::{Error, Result};
