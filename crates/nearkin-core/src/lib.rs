//! Kernels of nearkin: locality-sensitive hashing, independent of Python.
//!
//! *Hash*: a text becomes weighted features (`text`), these a fingerprint or signature (`families`); a vector becomes a
//! code (`vectors`, `families`); a file becomes a digest (`digests`). *Search*: an index finds near values (`index`),
//! over arrays in memory or in a mapped file (`segment`). *Verify*: texts of candidates are compared, and documents
//! absorb others in keep order (`dedup`). *Store*: documents on disk by row, id and content (`store`). `records` reads
//! the lines of a corpus. Modules up to `text` are those of nearkin-base.
//!
//! A module uses only modules to its left: `error` · `parallel` · `alloc` · `cancel` · `cpu` · `hash` · `records` · `text` ·
//! `segment` · `vectors` · `families` · `digests` · `index` · `dedup` · `store`.

pub mod dedup;
pub mod digests;
pub mod families;
pub mod index;
pub mod segment;
pub mod store;
pub mod vectors;

pub use nearkin_base::{Error, Result, alloc, cancel, cpu, error, hash, parallel, records, text};
