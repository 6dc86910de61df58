//! Kernels of nearkin: locality-sensitive hashing, independent of Python.
//!
//! *Hash*: a text becomes weighted features (`text`), these a fingerprint or signature (`families`); a vector becomes a
//! code (`vectors`, `families`); a file becomes a digest (`digests`). *Search*: an index finds near values (`index`),
//! over arrays in memory or in a mapped file (`segment`). *Verify*: texts of candidates are compared, and documents
//! absorb others in keep order (`dedup`). *Store*: documents on disk by row, id and content (`store`). `records` reads
//! the lines of a corpus.
//!
//! A module uses only modules to its left: `error` · `parallel` · `alloc` · `cancel` · `cpu` · `hash` · `segment` · `records` ·
//! `vectors` · `text` · `families` · `digests` · `index` · `dedup` · `store`.

pub mod alloc;
pub mod cancel;
pub mod cpu;
pub mod dedup;
pub mod digests;
pub mod error;
pub mod families;
pub mod hash;
pub mod index;
pub mod parallel;
pub mod records;
pub mod segment;
pub mod store;
pub mod text;
pub mod vectors;

pub use error::{Error, Result};
