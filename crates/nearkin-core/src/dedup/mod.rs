//! The end of a deduplication: candidates verified by their texts, and the order in which documents absorb one another.

pub mod absorb;
pub mod contained;
mod indel;
pub mod repeats;
pub mod verify;
