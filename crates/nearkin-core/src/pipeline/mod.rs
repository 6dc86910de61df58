//! The end of a deduplication: candidates verified by their texts, and the order in which documents absorb one another.

pub mod absorb;
mod indel;
pub mod verify;
