//! Kernels of nearkin: locality-sensitive hashing without a Python in sight.
//!
//! Modules build on the ones to their left only: `error` · `memory` · `segment` · `arrays` · `random` · `project` · `polytope` ·
//! `sparse_simhash` · `popcount` · `hash` · `bitsum` · `idset` · `cluster` · `unicode` · `ascii_words` · `jieba` · `cut` ·
//! `stopwords` · `text` · `idf` · `textrank` · `keywords` · `simhash` · `minhash` · `hamming` · `bands` · `lsh` · `verify` · `absorb` ·
//! `records` · `jsonl` · `csv` · `ssdeep`.

pub mod absorb;
pub mod arrays;
mod ascii_words;
pub mod bands;
pub mod bitsum;
pub mod cluster;
pub mod csv;
pub mod cut;
pub mod error;
pub mod hamming;
pub mod hash;
pub mod idf;
pub mod idset;
pub mod jieba;
pub mod jsonl;
pub mod keywords;
pub mod lsh;
pub mod memory;
pub mod minhash;
pub mod polytope;
pub mod popcount;
pub mod project;
pub mod random;
pub mod records;
pub mod segment;
pub mod simhash;
pub mod sparse_simhash;
pub mod ssdeep;
pub mod stopwords;
pub mod text;
pub mod textrank;
pub mod unicode;
pub mod verify;

pub use error::{Error, Result};
