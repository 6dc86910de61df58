//! The processor: feature detection, and kernels that several stages share (population counts, bit-sliced sums,
//! prefetches).

pub mod bitsum;
pub mod features;
pub mod popcount;
pub mod prefetch;
pub mod simd;
