//! The m nearest codes by spherical Hamming distance, |a xor b| / |a and b|, ties by row: the scan of `codes` with two counts.
//!
//! A set bit says "inside of this ball": two rows inside of many common balls are near, two that are outside the same
//! ones need not be (Heo et al., CVPR 2012, section 3.4). Rows are compared by cross multiplication, as in
//! `hamming::rank`, so the order is exact.
//!
//! Cost: about twice that of the Hamming scan.

use std::cmp::Ordering;

use super::codes::{BLOCK, Best, CodeDistance, Codes};
use crate::Result;
use crate::cancel::CancelToken;
use crate::cpu::popcount::{Kernel, Lanes};
use crate::index::hamming::rank::Quotient;

impl CodeDistance for Quotient {
    #[inline(always)]
    unsafe fn within<L: Lanes>(column: *const u64, query: &[u64], limit: Self) -> u32 {
        // SAFETY: as for this function.
        unsafe { Self::within::<L>(column, BLOCK, query, limit) }
    }

    #[inline(always)]
    fn of_row(block: &[u64], row: usize, query: &[u64]) -> Self {
        let mut quotient = Self { differ: 0, common: 0 };
        for (word, &value) in query.iter().enumerate() {
            quotient.differ += (block[word * BLOCK + row] ^ value).count_ones();
            quotient.common += (block[word * BLOCK + row] & value).count_ones();
        }
        quotient
    }

    #[inline(always)]
    fn compare(self, other: Self) -> Ordering {
        Self::compare(self, other)
    }
}

impl Codes {
    /// Return for each query the `k` rows that are `alive` at the smallest spherical distance, in no order; fewer
    /// if there are fewer.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn nearest_spherical(
        &self,
        kernel: Kernel,
        queries: &[u64],
        k: usize,
        alive: impl Fn(u32) -> bool,
        cancel: &CancelToken,
    ) -> Result<Vec<Vec<u32>>> {
        let mut best: Vec<Best<Quotient>> =
            queries.chunks_exact(self.words).map(|_| Best::new(Quotient::MAX)).collect();
        self.scan(kernel, queries, &mut best, k, alive, cancel);
        best.into_iter().map(|best| best.rows(k)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_nearest_codes_are_those_of_sorting(
            seed: u64, rows in 0usize..1800, words in 1usize..5, k in 1usize..90, sparse in 0u32..6,
        ) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state ^ state >> 29
            };
            // Few set bits produce ties, rows without a common bit and empty ones.
            let mut word = || (0..=sparse).fold(u64::MAX, |word, _| word & next());
            let values: Vec<u64> = (0..rows * words).map(|_| word()).collect();
            let queries: Vec<u64> = (0..3 * words).map(|_| word()).collect();
            let mut codes = Codes::new(64 * words);
            codes.push(&values);
            let alive = |row: u32| row % 7 != 3;
            for kernel in Kernel::available() {
                let results = codes.nearest_spherical(kernel, &queries, k, alive, &CancelToken::default()).expect("room");
                for (mut results, query) in results.into_iter().zip(queries.chunks_exact(words)) {
                    results.sort_unstable();
                    let quotient = |code: &[u64]| {
                        let pairs = || code.iter().zip(query);
                        let differ: u32 = pairs().map(|(a, b)| (a ^ b).count_ones()).sum();
                        let common: u32 = pairs().map(|(a, b)| (a & b).count_ones()).sum();
                        if differ == 0 { 0.0 } else { f64::from(differ) / f64::from(common) }
                    };
                    let mut all: Vec<(f64, u32)> = values.chunks_exact(words).enumerate()
                        .map(|(row, code)| (quotient(code), row as u32)).filter(|&(_, row)| alive(row)).collect();
                    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                    let mut expected: Vec<u32> = all.iter().take(k).map(|&(_, row)| row).collect();
                    expected.sort_unstable();
                    prop_assert_eq!(expected, results, "{:?}", kernel);
                }
            }
        }
    }
}
