//! Binary codes, scanned for the m nearest by Hamming distance, ties by row.
//!
//! Codes are stored in blocks of eight rows, word by word: word w of row r is at `((r / 8) * words + w) * 8 + r % 8`,
//! so that one vector has the same word of eight rows and distances need no sums across a vector. Rows after the last
//! are zero.
//!
//! Every eight sums are compared with the query's limit at once; rows within it are kept. After each tile of rows the
//! limit falls to the distance of the m-th nearest so far, so that about m (1 + ln(n / m)) rows are kept in all. The
//! next query of the batch reads the tile while it is in the cache.
//!
//! For many rows a sample predicts the limit, so that about m (1 + ln(s / m)) rows are kept, where s is the number of
//! rows within it. The prediction is several standard errors too high; if it is too low nevertheless, the query is
//! scanned again without it.
//!
//! Cost: n * words / lanes steps of load, xor, popcount, add; 8 n words bytes.

use crate::Result;
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::cpu::popcount::{Kernel, LaneWork, Lanes};
use crate::segment::Column;

/// Rows of a block.
pub(crate) const BLOCK: usize = 8;
/// Maximum number of rows between two updates of the limit.
pub(crate) const TILE: usize = 512;

/// Rows of the sample: 128 blocks.
const SAMPLE: usize = if cfg!(test) { 128 } else { 1024 };
/// Minimum number of rows per row of the sample; below that there is no sample.
const WORTH: usize = 8;

/// Return the rows of the first tile, which are all kept: about the requested number; each further tile is twice as
/// large.
pub(crate) fn first_tile(k: usize) -> usize {
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

/// The nearest rows so far of one query.
struct Nearest {
    limit: u32,
    /// Kept rows at each distance up to the limit.
    counts: Vec<u32>,
    /// Distance and row.
    kept: BestEffortVec<(u32, u32)>,
    within: usize,
}

/// Call `within` with the positions and distances of the rows of `blocks` that are at most `limit` from `query`.
///
/// # Safety
/// The processor has the instructions of `L`, and the caller enables them.
#[inline(always)]
unsafe fn tile_body<L: Lanes>(blocks: &[u64], query: &[u64], limit: u32, mut within: impl FnMut(usize, u32)) {
    let words = query.len();
    // SAFETY: the caller guarantees the instructions of `L`.
    let bound = unsafe { L::splat(u64::from(limit)) };
    const { assert!(BLOCK.is_multiple_of(L::N), "whole vectors in a block") };
    for (number, block) in blocks.chunks_exact(BLOCK * words).enumerate() {
        for lane in (0..BLOCK).step_by(L::N) {
            // SAFETY: the caller guarantees the instructions of `L`, whose lanes divide a block; column `word` begins
            // at `word * BLOCK`.
            let (sum, mut mask) = unsafe {
                let column = block.as_ptr().add(lane);
                let mut sum = L::count_xor(L::load(column), L::splat(query[0]));
                for (word, &value) in query.iter().enumerate().skip(1) {
                    sum = L::add(sum, L::count_xor(L::load(column.add(word * BLOCK)), L::splat(value)));
                }
                (sum, L::at_most(sum, bound))
            };
            while mask != 0 {
                let position = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                // SAFETY: a mask has a bit for each lane.
                let distance = unsafe { L::lane(sum, position) };
                within(number * BLOCK + lane + position, distance as u32);
            }
        }
    }
}

/// `tile_body` as work for lanes of any width.
struct Tile<'a, F> {
    blocks: &'a [u64],
    query: &'a [u64],
    limit: u32,
    within: F,
}

impl<F: FnMut(usize, u32)> LaneWork for Tile<'_, F> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: the caller guarantees the instructions of `L`.
        unsafe { tile_body::<L>(self.blocks, self.query, self.limit, self.within) }
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
        let sampled = each.clone().map(|query| Nearest::new(self.likely(kernel, query, k, &alive), self.words));
        let mut states: Vec<Nearest> = sampled.collect();
        self.scan(kernel, queries, &mut states, k, &alive, cancel);
        for (state, query) in states.iter_mut().zip(each) {
            let max_distance = 64 * self.words as u32;
            if state.within < k && state.limit < max_distance {
                *state = Nearest::new(max_distance, self.words);
                self.scan(kernel, query, std::slice::from_mut(state), k, &alive, cancel);
            }
        }
        states.into_iter().map(|state| state.rows(k)).collect()
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

    /// Scan all rows for queries, each with its state.
    fn scan(
        &self,
        kernel: Kernel,
        queries: &[u64],
        states: &mut [Nearest],
        k: usize,
        alive: impl Fn(u32) -> bool,
        cancel: &CancelToken,
    ) {
        let words = self.words;
        let (mut start, mut size) = (0, first_tile(k));
        while start < self.rows && !cancel.is_set() {
            let count = size.min(self.rows - start);
            let blocks = &self.values[start * words..(start + count.next_multiple_of(BLOCK)) * words];
            for (state, query) in states.iter_mut().zip(queries.chunks_exact(words)) {
                let Nearest { limit, counts, kept, within } = state;
                let bound = *limit;
                let each = |position: usize, distance: u32| {
                    let row = (start + position) as u32;
                    // Positions after the last row are padding.
                    if position < count && alive(row) {
                        kept.push((distance, row));
                        counts[distance as usize] += 1;
                        *within += 1;
                    }
                };
                kernel.run(Tile { blocks, query, limit: bound, within: each });
                // A row beyond the wanted-th nearest so far cannot be in the result.
                while *limit > 0 && *within - counts[*limit as usize] as usize >= k {
                    *within -= counts[*limit as usize] as usize;
                    *limit -= 1;
                }
            }
            start += count;
            size = (2 * size).min(TILE);
        }
    }
}

impl Nearest {
    /// Create the state of a query without rows, for rows within `limit`, of codes of `words` words.
    fn new(limit: u32, words: usize) -> Self {
        Self { limit, counts: vec![0; 64 * words + 1], kept: BestEffortVec::default(), within: 0 }
    }

    /// Return the requested rows: those below the limit, and of those at it the lowest.
    fn rows(self, k: usize) -> Result<Vec<u32>> {
        let kept = self.kept.into_vec()?;
        let mut rows = alloc::try_with_capacity(kept.len().min(k))?;
        rows.extend(kept.iter().filter(|hit| hit.0 < self.limit).map(|hit| hit.1));
        // Kept rows ascend.
        let more = k.saturating_sub(rows.len());
        rows.extend(kept.iter().filter(|hit| hit.0 == self.limit).take(more).map(|hit| hit.1));
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu::popcount::distance;

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
}
