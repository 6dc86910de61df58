//! Kernels of nearkin: locality-sensitive hashing without a Python in sight.
//!
//! Modules build on the ones above them in this list only:
//! `error` · `hash` · `unicode` · `text` · `simhash`.

pub mod absorb;
mod ascii_words;
pub mod bitsum;
pub mod error;
pub mod hash;
pub mod idset;
pub mod simhash;
pub mod text;
pub mod unicode;
pub mod verify;

pub use error::{Error, Result};
