//! Kernels of nearkin: locality-sensitive hashing without a Python in sight.
//!
//! Modules build on the ones above them in this list only:
//! `error` · `popcount` · `hamming`.

pub mod error;
pub mod hamming;
pub mod popcount;

pub use error::{Error, Result};
