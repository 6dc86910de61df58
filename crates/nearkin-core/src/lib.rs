//! Kernels of nearkin: locality-sensitive hashing, independent of Python.
//!
//! *Hash*: a text becomes weighted features (`text`), these a fingerprint or signature (`families`); a vector becomes a
//! code (`vectors`, `families`); a file becomes a digest (`ssdeep`). *Search*: an index finds the values that are near
//! (`search`), over arrays in memory or in a mapped file (`segment`). *Verify*: texts of candidates are compared, and
//! documents absorb one another in keep order (`pipeline`). *Sum up*: items become patterns with typed variables
//! (`patterns`). *Remember*: documents on disk, found by row, id and content (`store`). `records` reads the lines of a
//! corpus.
//!
//! Modules build on the ones to their left only: `error` · `room` · `stop` · `cpu` · `hash` · `segment` · `records` ·
//! `vectors` · `text` · `families` · `ssdeep` · `search` · `pipeline` · `patterns` · `store`.

pub mod cpu;
pub mod error;
pub mod families;
pub mod hash;
pub mod patterns;
pub mod pipeline;
pub mod records;
pub mod room;
pub mod search;
pub mod segment;
pub mod ssdeep;
pub mod stop;
pub mod store;
pub mod text;
pub mod vectors;

pub use error::{Error, Result};
