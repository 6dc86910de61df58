//! Binary codes, scanned for the m nearest by Hamming distance, ties by row.
//!
//! Codes are stored in blocks of eight rows, word by word: word w of row r is at `((r / 8) * words + w) * 8 + r % 8`,
//! so that one vector has the same word of eight rows and distances need no sums across a vector. Rows after the last
//! are zero.
//!
//! Every eight sums are compared with the query's limit at once; rows within it are kept. When 2 m rows are kept, they
//! are cut to the m nearest, and the limit falls to the distance of the m-th, so that about m (1 + ln(n / m)) rows are
//! kept in all. The next query of the batch reads the tile while it is in the cache.
//!
//! For many rows a sample predicts the limit, so that about m (1 + ln(s / m)) rows are kept, where s is the number of
//! rows within it. The prediction is several standard errors too high; if it is too low nevertheless, the query is
//! scanned again without it.
//!
//! Cost: n * words / lanes steps of load, xor, popcount, add; 8 n words bytes.

use std::cmp::Ordering;

use crate::Result;
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::cpu::popcount::{Kernel, LaneWork, Lanes};
use crate::segment::Column;

/// Rows of a block.
pub(crate) const BLOCK: usize = 8;
/// Maximum number of rows between two updates of the limit.
const TILE: usize = 512;

/// Rows of the sample: 128 blocks.
const SAMPLE: usize = if cfg!(test) { 128 } else { 1024 };
/// Minimum number of rows per row of the sample; below that there is no sample.
const WORTH: usize = 8;

/// Return the rows of the first tile, which are all kept: about the requested number; each further tile is twice as
/// large.
fn first_tile(k: usize) -> usize {
    k.next_multiple_of(BLOCK).clamp(8 * BLOCK, TILE)
}

/// Codes of all rows.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    pub(crate) bits: usize,
    pub(crate) words: usize,
    pub(crate) rows: usize,
    /// Whole blocks.
    pub(crate) values: Column<u64>,
}

/// A distance of codes.
pub(crate) trait CodeDistance: Copy {
    /// Return the rows of a vector that are at most `limit` from `query`, one bit each; also rows without a common bit.
    ///
    /// # Safety
    /// The processor has the instructions of `L`, and the caller enables them; word w of the rows is at `w * BLOCK` from
    /// `column`.
    unsafe fn within<L: Lanes>(column: *const u64, query: &[u64], limit: Self) -> u32;

    /// Return the distance of a row of a block.
    fn of_row(block: &[u64], row: usize, query: &[u64]) -> Self;

    /// Compare with another distance.
    fn compare(self, other: Self) -> Ordering;
}

/// The Hamming distance.
impl CodeDistance for u32 {
    #[inline(always)]
    unsafe fn within<L: Lanes>(column: *const u64, query: &[u64], limit: Self) -> u32 {
        // SAFETY: as for this function.
        unsafe {
            let mut sum = L::count_xor(L::load(column), L::splat(query[0]));
            for (word, &value) in query.iter().enumerate().skip(1) {
                sum = L::add(sum, L::count_xor(L::load(column.add(word * BLOCK)), L::splat(value)));
            }
            L::at_most(sum, L::splat(u64::from(limit)))
        }
    }

    #[inline(always)]
    fn of_row(block: &[u64], row: usize, query: &[u64]) -> Self {
        let mut distance = 0;
        for (word, &value) in query.iter().enumerate() {
            distance += (block[word * BLOCK + row] ^ value).count_ones();
        }
        distance
    }

    #[inline(always)]
    fn compare(self, other: Self) -> Ordering {
        self.cmp(&other)
    }
}

/// Calls `within` with the positions and distances of the rows of `blocks` that are at most `limit` from `query`.
struct Tile<'a, D, F> {
    blocks: &'a [u64],
    query: &'a [u64],
    limit: D,
    within: F,
}

impl<D: CodeDistance, F: FnMut(usize, D)> LaneWork for Tile<'_, D, F> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        const { assert!(BLOCK.is_multiple_of(L::N), "whole vectors in a block") };
        for (number, block) in self.blocks.chunks_exact(BLOCK * self.query.len()).enumerate() {
            for lane in (0..BLOCK).step_by(L::N) {
                // SAFETY: the caller guarantees the instructions of `L`, whose lanes divide a block.
                let mut mask = unsafe { D::within::<L>(block.as_ptr().add(lane), self.query, self.limit) };
                while mask != 0 {
                    let row = lane + mask.trailing_zeros() as usize;
                    mask &= mask - 1;
                    let distance = D::of_row(block, row, self.query);
                    if distance.compare(self.limit).is_le() {
                        (self.within)(number * BLOCK + row, distance);
                    }
                }
            }
        }
    }
}

/// The nearest rows so far of one query, cut when there are more than twice the requested number.
pub(crate) struct Best<D> {
    limit: D,
    kept: BestEffortVec<(D, u32)>,
    cut: bool,
}

impl<D: CodeDistance> Best<D> {
    /// Create the state of a query without rows, for rows within `limit`.
    pub(crate) fn new(limit: D) -> Self {
        Self { limit, kept: BestEffortVec::default(), cut: false }
    }

    fn cut(&mut self, k: usize) {
        let kept = self.kept.values();
        if kept.len() >= k {
            let by = |a: &(D, u32), b: &(D, u32)| a.0.compare(b.0).then(a.1.cmp(&b.1));
            self.limit = kept.select_nth_unstable_by(k - 1, by).1.0;
            kept.truncate(k);
            self.cut = true;
        }
    }

    /// Return the `k` nearest rows, in no order.
    pub(crate) fn rows(mut self, k: usize) -> Result<Vec<u32>> {
        self.cut(k);
        alloc::try_collect(self.kept.into_vec()?.into_iter().map(|(_, row)| row))
    }
}

impl Codes {
    /// Create an empty table of `bits` bits.
    pub(crate) fn new(bits: usize) -> Self {
        Self { bits, words: bits.div_ceil(64), ..Self::default() }
    }

    /// Return the number of values that `rows` rows of `words` words take.
    pub(crate) fn size(rows: usize, words: usize) -> usize {
        rows.div_ceil(BLOCK) * BLOCK * words
    }

    /// Reserve capacity for this many more rows: `push` does not fail then.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out; nothing changes.
    pub(crate) fn reserve(&mut self, rows: usize, cancel: &CancelToken) -> Result<()> {
        let more = Self::size(self.rows + rows, self.words).saturating_sub(self.values.len());
        self.values.reserve(more, cancel)
    }

    /// Append rows of `words` words each.
    pub(crate) fn push(&mut self, new: &[u64]) {
        let words = self.words;
        let total = self.rows + new.len() / words;
        let values = self.values.to_mut();
        values.resize(Self::size(total, words), 0);
        for (row, code) in (self.rows..total).zip(new.chunks_exact(words)) {
            for (word, &value) in code.iter().enumerate() {
                values[(row / BLOCK * words + word) * BLOCK + row % BLOCK] = value;
            }
        }
        self.rows = total;
    }

    /// Return true if the code of a row is `code`.
    pub(crate) fn is_code_of(&self, row: u32, code: &[u64]) -> bool {
        let (block, lane) = (row as usize / BLOCK, row as usize % BLOCK);
        (0..self.words).all(|word| self.values.get((block * self.words + word) * BLOCK + lane) == code.get(word))
    }

    /// Return for each query the `k` nearest rows that are `alive`, in no order; fewer if there are fewer.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn nearest(
        &self,
        kernel: Kernel,
        queries: &[u64],
        k: usize,
        alive: impl Fn(u32) -> bool,
        cancel: &CancelToken,
    ) -> Result<Vec<Vec<u32>>> {
        let each = queries.chunks_exact(self.words);
        let sampled = each.clone().map(|query| Best::new(self.likely(kernel, query, k, &alive)));
        let mut best: Vec<Best<u32>> = sampled.collect();
        self.scan(kernel, queries, &mut best, k, &alive, cancel);
        let max_distance = 64 * self.words as u32;
        for (best, query) in best.iter_mut().zip(each) {
            if best.kept.len() < k && best.limit < max_distance {
                *best = Best::new(max_distance);
                self.scan(kernel, query, std::slice::from_mut(best), k, &alive, cancel);
            }
        }
        best.into_iter().map(|best| best.rows(k)).collect()
    }

    /// Predict a limit that more than `k` rows are likely to be within, by a sample of blocks.
    fn likely(&self, kernel: Kernel, query: &[u64], k: usize, alive: impl Fn(u32) -> bool) -> u32 {
        let (words, max_distance) = (self.words, 64 * self.words as u32);
        let blocks = self.rows / BLOCK;
        if self.rows < WORTH * SAMPLE.max(k) {
            return max_distance;
        }
        let mut counts = vec![0; max_distance as usize + 1];
        for number in 0..SAMPLE / BLOCK {
            let block = number * blocks / (SAMPLE / BLOCK);
            let within = |position: usize, distance: u32| {
                counts[distance as usize] += usize::from(alive((block * BLOCK + position) as u32));
            };
            let blocks = &self.values[block * BLOCK * words..(block + 1) * BLOCK * words];
            kernel.run(Tile { blocks, query, limit: max_distance, within });
        }
        let expected = k as f64 * SAMPLE as f64 / self.rows as f64;
        // Four standard errors of a count, and more for blocks with similar rows.
        let enough = (expected + 4.0 * expected.sqrt() + BLOCK as f64) as usize;
        let mut sum = 0;
        let reached = counts.iter().position(|count| {
            sum += count;
            sum >= enough
        });
        reached.map_or(max_distance, |limit| limit as u32)
    }

    /// Scan all rows for queries, each with its nearest rows so far.
    pub(crate) fn scan<D: CodeDistance>(
        &self,
        kernel: Kernel,
        queries: &[u64],
        best: &mut [Best<D>],
        k: usize,
        alive: impl Fn(u32) -> bool,
        cancel: &CancelToken,
    ) {
        let words = self.words;
        let (mut start, mut size) = (0, first_tile(k));
        while start < self.rows && !cancel.is_set() {
            let count = size.min(self.rows - start);
            let blocks = &self.values[start * words..(start + count.next_multiple_of(BLOCK)) * words];
            for (best, query) in best.iter_mut().zip(queries.chunks_exact(words)) {
                let Best { limit, kept, cut } = best;
                let (limit, cut) = (*limit, *cut);
                let within = |position: usize, distance: D| {
                    let row = (start + position) as u32;
                    // Positions after the last row are padding.
                    if position < count && alive(row) {
                        kept.push((distance, row));
                    }
                };
                kernel.run(Tile { blocks, query, limit, within });
                // The first cut makes a limit; later ones are worth their time when there is much to drop.
                if kept.len() > 2 * k || !cut {
                    best.cut(k);
                }
            }
            start += count;
            size = (2 * size).min(TILE);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu::popcount::distance;
    use crate::index::hamming::rank::Quotient;

    proptest! {
        #[test]
        fn the_nearest_codes_are_those_of_sorting(
            seed: u64, first in 0usize..30, rows in 0usize..2500, words in 1usize..5, k in 1usize..90, sparse in 0u32..4,
            clustered: bool,
        ) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state ^ state >> 29
            };
            // Few set bits produce ties.
            let mut word = || (0..=sparse).fold(u64::MAX, |word, _| word & next());
            let mut values: Vec<u64> = (0..(first + rows) * words).map(|_| word()).collect();
            if clustered {
                // A sample does not represent rows that are sorted.
                values.sort_unstable();
            }
            let queries: Vec<u64> = (0..3 * words).map(|_| word()).collect();
            let mut codes = Codes::new(64 * words);
            codes.push(&values[..first * words]);
            codes.push(&values[first * words..]);
            let alive = |row: u32| row % 7 != 3;
            for kernel in Kernel::available() {
                let results = codes.nearest(kernel, &queries, k, alive, &CancelToken::default()).expect("room");
                for (results, query) in results.into_iter().zip(queries.chunks_exact(words)) {
                    let mut results = results;
                    results.sort_unstable();
                    let mut all: Vec<(u32, u32)> = values.chunks_exact(words).enumerate()
                        .map(|(row, code)| (distance(code, query), row as u32)).filter(|&(_, row)| alive(row)).collect();
                    all.sort_unstable();
                    let mut expected: Vec<u32> = all.iter().take(k).map(|&(_, row)| row).collect();
                    expected.sort_unstable();
                    prop_assert_eq!(expected, results, "{:?}", kernel);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn rows_that_are_pushed_in_parts_lie_where_the_header_says(
            values in proptest::collection::vec(any::<u64>(), 0..120), words in 1usize..4, at in 0usize..40,
        ) {
            let rows = values.len() / words;
            let values = &values[..rows * words];
            let (left, right) = values.split_at(at.min(rows) * words);
            let mut codes = Codes::new(64 * words);
            codes.push(left);
            codes.push(right);
            prop_assert_eq!((rows, Codes::size(rows, words)), (codes.rows, codes.values.len()));
            let mut placed = vec![0; codes.values.len()];
            for row in 0..rows {
                for word in 0..words {
                    placed[((row / 8) * words + word) * 8 + row % 8] = values[row * words + word];
                }
            }
            prop_assert_eq!(&placed[..], &codes.values[..]);
        }
    }

    #[test]
    fn a_sample_that_is_wrong_is_not_believed() {
        // The blocks of the sample are all like the query, others are not; and the other way round.
        let rows = 64 * SAMPLE;
        let step = rows / SAMPLE;
        let sampled = |row: usize| (row / BLOCK).is_multiple_of(step);
        for turned in [false, true] {
            let mut codes = Codes::new(64);
            codes.push(&(0..rows).map(|row| if sampled(row) == turned { 0 } else { u64::MAX }).collect::<Vec<_>>());
            for k in [1, SAMPLE, SAMPLE + 1, 3 * SAMPLE] {
                for kernel in Kernel::available() {
                    let results = codes.nearest(kernel, &[0], k, |_| true, &CancelToken::default()).expect("room");
                    let mut expected: Vec<u32> = (0..rows as u32).collect();
                    expected.sort_by_key(|&row| sampled(row as usize) != turned);
                    let mut results = results[0].clone();
                    results.sort_unstable();
                    expected.truncate(k);
                    expected.sort_unstable();
                    assert_eq!(expected, results);
                }
            }
        }
    }

    #[test]
    fn the_first_tile_is_of_whole_blocks_and_bounded() {
        for (k, rows) in [(1, 64), (64, 64), (65, 72), (500, 504), (512, 512), (10_000, 512)] {
            assert_eq!(rows, first_tile(k));
        }
        assert_eq!((1, 2), (Codes::new(64).words, Codes::new(65).words));
    }

    #[test]
    fn a_cut_keeps_the_least_and_sets_the_limit_to_the_last_of_them() {
        let quotient = |differ, common| Quotient { differ, common };
        let all = [(3, 1), (1, 3), (0, 5), (2, 6), (1, 1)];
        let mut best = Best::new(Quotient::MAX);
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
