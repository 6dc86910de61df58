//! Dense vectors: random parameters drawn by counter, and projections decided exactly.

pub mod hadamard;
pub mod projection;
pub mod random;
pub mod rotation;
