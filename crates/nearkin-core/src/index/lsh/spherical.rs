//! The m nearest codes by spherical Hamming distance, |a xor b| / |a and b|, ties by row: the scan of `codes` with two counts.
//!
//! A set bit says "inside of this ball": two rows inside of many common balls are near, two that are outside the same
//! ones need not be (Heo et al., CVPR 2012, section 3.4). Rows are compared by cross multiplication, as in
//! `hamming::rank`, so the order is exact. After each tile of rows the limit falls to the m-th smallest quotient so
//! far.
//!
//! Cost: about twice that of the Hamming scan.

use super::codes::{BLOCK, Codes, TILE, first_tile};
use crate::Result;
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::cpu::popcount::{Kernel, LaneWork, Lanes};
use crate::index::hamming::rank::Quotient;

/// The best rows of one query so far, cut when there are more than twice the requested number.
struct Best {
    limit: Quotient,
    kept: BestEffortVec<(Quotient, u32)>,
}

impl Best {
    fn cut(&mut self, k: usize) {
        let kept = self.kept.values();
        if kept.len() >= k {
            let by = |a: &(Quotient, u32), b: &(Quotient, u32)| a.0.compare(b.0).then(a.1.cmp(&b.1));
            self.limit = kept.select_nth_unstable_by(k - 1, by).1.0;
            kept.truncate(k);
        }
    }
}

/// Call `within` with the positions and quotients of the rows of `blocks` that are at most `limit` from `query`.
///
/// # Safety
/// The processor has the instructions of `L`, and the caller enables them.
#[inline(always)]
unsafe fn tile_body<L: Lanes>(blocks: &[u64], query: &[u64], limit: Quotient, mut within: impl FnMut(usize, Quotient)) {
    let (words, (x, c)) = (query.len(), limit.reduced());
    const { assert!(BLOCK.is_multiple_of(L::N), "whole vectors in a block") };
    for (number, block) in blocks.chunks_exact(BLOCK * words).enumerate() {
        for lane in (0..BLOCK).step_by(L::N) {
            // SAFETY: the caller guarantees the instructions of `L`, whose lanes divide a block; column `word` begins
            // at `word * BLOCK`.
            let mut mask = unsafe {
                let (mut differ, mut common) = (L::splat(0), L::splat(0));
                for (word, &value) in query.iter().enumerate() {
                    let column = L::load(block.as_ptr().add(lane + word * BLOCK));
                    differ = L::add(differ, L::count_xor(column, L::splat(value)));
                    common = L::add(common, L::count_and(column, L::splat(value)));
                }
                let (left, right) = (L::multiply(differ, L::splat(c.into())), L::multiply(common, L::splat(x.into())));
                L::at_most(left, right)
            };
            while mask != 0 {
                let position = lane + mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let mut quotient = Quotient { differ: 0, common: 0 };
                for (word, &value) in query.iter().enumerate() {
                    quotient.differ += (block[word * BLOCK + position] ^ value).count_ones();
                    quotient.common += (block[word * BLOCK + position] & value).count_ones();
                }
                if quotient.compare(limit).is_le() {
                    within(number * BLOCK + position, quotient);
                }
            }
        }
    }
}

/// `tile_body` as work for lanes of any width.
struct Tile<'a, F> {
    blocks: &'a [u64],
    query: &'a [u64],
    limit: Quotient,
    within: F,
}

impl<F: FnMut(usize, Quotient)> LaneWork for Tile<'_, F> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: the caller guarantees the instructions of `L`.
        unsafe { tile_body::<L>(self.blocks, self.query, self.limit, self.within) }
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
        let words = self.words;
        let new_best = || Best { limit: Quotient::MAX, kept: BestEffortVec::default() };
        let mut best: Vec<Best> = (0..queries.len() / words).map(|_| new_best()).collect();
        let (mut start, mut size) = (0, first_tile(k));
        while start < self.rows && !cancel.is_set() {
            let count = size.min(self.rows - start);
            let blocks = &self.values[start * words..(start + count.next_multiple_of(BLOCK)) * words];
            for (best, query) in best.iter_mut().zip(queries.chunks_exact(words)) {
                let Best { limit, kept } = best;
                let within = |position: usize, quotient: Quotient| {
                    let row = (start + position) as u32;
                    // Positions after the last row are padding.
                    if position < count && alive(row) {
                        kept.push((quotient, row));
                    }
                };
                kernel.run(Tile { blocks, query, limit: *limit, within });
                // The first cut makes a limit; later ones are worth their time when there is much to drop.
                if kept.len() > 2 * k || limit.common == 0 {
                    best.cut(k);
                }
            }
            start += count;
            size = (2 * size).min(TILE);
        }
        let rows = |mut best: Best| {
            best.cut(k);
            alloc::try_collect(best.kept.into_vec()?.into_iter().map(|(_, row)| row))
        };
        best.into_iter().map(rows).collect()
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

    #[test]
    fn a_cut_keeps_the_least_and_sets_the_limit_to_the_last_of_them() {
        let quotient = |differ, common| Quotient { differ, common };
        let all = [(3, 1), (1, 3), (0, 5), (2, 6), (1, 1)];
        let mut best = Best { limit: Quotient::MAX, kept: BestEffortVec::default() };
        best.kept.extend(all.iter().zip(0..).map(|(&(differ, common), row)| (quotient(differ, common), row)));
        best.cut(6);
        assert_eq!(5, best.kept.len());
        // 1/3 and 2/6 are equal: the lower row is kept.
        best.cut(2);
        let mut rows: Vec<u32> = best.kept.values().iter().map(|&(_, row)| row).collect();
        rows.sort_unstable();
        assert_eq!(vec![1, 2], rows);
        assert!(best.limit.compare(quotient(2, 6)).is_eq());
    }
}
