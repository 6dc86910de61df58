//! Kernels of nearkin: locality-sensitive hashing without a Python in sight.
//!
//! Modules build on the ones above them in this list only:
//! `error` · `ssdeep`.

pub mod error;
pub mod ssdeep;

pub use error::{Error, Result};
