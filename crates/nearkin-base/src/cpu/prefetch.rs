//! Prefetch hints: the memory that they name may already be in the cache when it is read. No hint changes a result.

/// Prefetch the cache line at `address`, which need not be valid; it is not read.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults; SSE is part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetch the cache line of `values[at]`, which need not exist.
#[inline(always)]
pub fn prefetch_at<T>(values: &[T], at: usize) {
    prefetch(values.as_ptr().wrapping_add(at).cast());
}
