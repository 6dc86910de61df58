//! Deduplication kernels: verification of candidates, absorption in keep order, containment, exact repeats, and items
//! of suites in documents.

pub mod absorb;
pub mod contained;
mod indel;
pub mod repeats;
pub mod suites;
pub mod verify;
mod words;
