//! The processor: population counts, bit-sliced sums, prefetches, and the one place that asks for its features.

pub mod bitsum;
pub mod popcount;
pub mod prefetch;
