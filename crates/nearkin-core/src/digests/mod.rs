//! Fuzzy digests of files: strings that stay similar when a file changes a little.

pub mod ssdeep;
