//! Search: an index for each kind of value under one contract, over shared rows (`rows`: ids, row numbers, tombstones).

pub mod bands;
pub mod components;
pub mod digests;
pub mod hamming;
pub mod lsh;
pub mod rows;
pub mod sketches;
