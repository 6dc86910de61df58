//! The processor: the one place that asks for its features, and the kernels that more than one stage uses,
//! population counts, bit-sliced sums and prefetches.

pub mod bitsum;
pub mod features;
pub mod popcount;
pub mod prefetch;
