//! Deduplication kernels: verification of candidates, absorption in keep order, containment and exact repeats.

pub mod absorb;
pub mod contained;
mod indel;
pub mod repeats;
pub mod verify;
