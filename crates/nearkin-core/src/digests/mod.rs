//! Fuzzy digests of files: strings that stay similar when a file changes a little.

pub mod input;
pub mod ssdeep;
pub mod tlsh;

use crate::error::{Error, Result};

/// Check that an input is no longer than `most` bytes.
pub(crate) fn check_length(length: u64, most: u64) -> Result<()> {
    if length > most {
        return Err(Error::parameter("length", length, format!("at most {most} bytes, the most a digest can span")));
    }
    Ok(())
}
