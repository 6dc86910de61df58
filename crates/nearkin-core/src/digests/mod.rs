//! Fuzzy digests of files: strings that stay similar when a file changes a little.

pub mod input;
pub mod ssdeep;
pub mod tlsh;
