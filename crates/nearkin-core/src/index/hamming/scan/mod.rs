//! The exhaustive scan: every query against every row, tiled.
//!
//! Rows are taken in tiles that fit the first-level cache (16 KiB), transposed so that a vector holds one word of
//! neighbouring rows. Every query of the batch is compared with the tile before the next is read: memory is read once
//! per batch instead of once per query. Cost: n * queries * words / lanes vector steps of load, xor, popcount, add,
//! compare.
//!
//! **Prefix test.** The distance of a prefix is at most the full distance, so a group of rows is dropped as soon as
//! every row's prefix is beyond the limit. For random rows the distance of b bits is binomial with mean b/2 and
//! deviation sqrt(b)/2, so the first prefix worth a test is the first with `b/2 - 2.6 sqrt(b)/2 > limit`
//! ([`first_test`]). Data with equal prefixes lose the saving only, never a result: rows that pass are counted in full.
//! In vectors, prefixes are counted in 16-bit pieces (`quarters.rs`).

pub(crate) mod costs;
mod quarters;
pub(crate) mod tile;

use crate::cancel::CancelToken;
use crate::cpu::popcount::{GROUP, Kernel, LaneWork, Lanes, counting, distance};
use crate::cpu::prefetch::prefetch_at;
use tile::{Sink, TILE_WORDS, emit, first_test, transpose};

/// Queries below which rows are not transposed: a few queries do not earn it back.
pub(crate) const FEW: usize = 4;
/// Words that are fetched ahead of a scan without transposing: 512 bytes, which halve its time beyond the caches.
const AHEAD: usize = 64;

/// Call `sink` with every (query, row, distance) with distance at most `limits[query]`; row numbers start at
/// `first_row`.
///
/// The order is by tile, then query, then row. If `cancel` is set, the scan ends after the tile.
#[allow(clippy::too_many_arguments, reason = "both sides of the comparison, and what hears of it")]
pub(crate) fn scan(
    kernel: Kernel,
    words: usize,
    rows: &[u64],
    first_row: u32,
    queries: &[u64],
    limits: &mut [u32],
    cancel: &CancelToken,
    sink: &mut dyn Sink,
) {
    let job = ScanJob { words, rows, first_row, queries, cancel };
    if kernel != Kernel::Scalar
        && let Some(pieces) = job.pieces(limits)
    {
        return quarters::scan((kernel, pieces), words, rows, first_row, queries, limits, cancel, sink);
    }
    kernel.run(ScanWork(job, limits, sink));
}

/// `ScanJob::run` as work for lanes of any width.
struct ScanWork<'a>(ScanJob<'a>, &'a mut [u32], &'a mut dyn Sink);

impl LaneWork for ScanWork<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: the caller guarantees the instructions of `L`.
        unsafe { self.0.run::<L>(self.1, self.2) }
    }
}

struct ScanJob<'a> {
    words: usize,
    rows: &'a [u64],
    first_row: u32,
    queries: &'a [u64],
    cancel: &'a CancelToken,
}

impl ScanJob<'_> {
    /// Return the number of 16-bit pieces in a prefix; None if another form is better: for few queries, or if no prefix
    /// decides.
    fn pieces(&self, limits: &[u32]) -> Option<usize> {
        let max_limit = limits.iter().copied().max()?;
        let few = self.queries.len() < FEW * self.words;
        if few { None } else { tile::enough_pieces(self.words, max_limit) }
    }

    /// # Safety
    /// The processor has the instructions of `L`, and the caller enables them.
    #[inline(always)]
    unsafe fn run<L: Lanes>(&self, limits: &mut [u32], sink: &mut dyn Sink) {
        let words = self.words;
        let group = GROUP * L::N;
        let tile_rows = (TILE_WORDS / words).next_multiple_of(group);
        let mut scratch = vec![0u64; tile_rows * words];
        let total = self.rows.len() / words;
        if self.queries.len() < FEW * words && words > 1 && words.is_power_of_two() {
            // SAFETY: the caller guarantees the instructions of `L`.
            return unsafe {
                match words {
                    2 => self.direct::<L, 2>(limits, sink),
                    4 => self.direct::<L, 4>(limits, sink),
                    8 => self.direct::<L, 8>(limits, sink),
                    _ => self.direct::<L, 16>(limits, sink),
                }
            };
        }
        let mut start = 0;
        while start < total && !self.cancel.is_set() {
            let count = tile_rows.min(total - start);
            let rows = &self.rows[start * words..(start + count) * words];
            let padded = count.next_multiple_of(group);
            let first = self.first_row + start as u32;
            // One word per row requires no transposing.
            let (tile, stride) = if words == 1 && padded == count {
                (rows, count)
            } else {
                transpose(rows, &mut scratch, words, padded);
                (&scratch[..padded * words], padded)
            };
            // SAFETY: the caller guarantees the instructions of `L`.
            unsafe {
                match words {
                    1 => self.tile::<L, 1>(rows, tile, stride, first, limits, sink),
                    2 => self.tile::<L, 2>(rows, tile, stride, first, limits, sink),
                    4 => self.tile::<L, 4>(rows, tile, stride, first, limits, sink),
                    _ => self.tile::<L, 0>(rows, tile, stride, first, limits, sink),
                }
            }
            start += count;
        }
    }

    /// Compare every query with a transposed tile: column j has word j of `stride` rows.
    ///
    /// `WORDS` is the number of words of a row, or 0 for any number: a constant leaves no branch in the inner loop.
    ///
    /// # Safety
    /// As for `run`.
    ///
    /// # Panics
    /// Unless `tile` holds `words` columns of `stride` words, and `stride` is a multiple of `GROUP * L::N`.
    #[inline(always)]
    unsafe fn tile<L: Lanes, const WORDS: usize>(
        &self,
        rows: &[u64],
        tile: &[u64],
        stride: usize,
        first: u32,
        limits: &mut [u32],
        sink: &mut dyn Sink,
    ) {
        let words = if WORDS == 0 { self.words } else { WORDS };
        assert!(tile.len() == stride * words && stride.is_multiple_of(GROUP * L::N), "whole columns of whole groups");
        for (number, query) in self.queries.chunks_exact(words).enumerate() {
            let limit = &mut limits[number];
            let tested = first_test(words, *limit);
            // SAFETY: the caller guarantees the instructions of `L`.
            let mut bound = unsafe { L::splat(u64::from(*limit)) };
            'groups: for at in (0..stride).step_by(GROUP * L::N) {
                // SAFETY: the caller guarantees the instructions of `L`; each of the `words` columns holds `GROUP *
                // L::N` words from `at`.
                let masks = unsafe {
                    let column = tile.as_ptr().add(at);
                    let value = L::splat(query[0]);
                    let mut sums = [value; GROUP];
                    for (lane, sum) in sums.iter_mut().enumerate() {
                        *sum = L::count_xor(L::load(column.add(lane * L::N)), value);
                    }
                    for (word, &value) in query.iter().enumerate().skip(1) {
                        if word >= tested && L::at_most(L::min_of(sums), bound) == 0 {
                            continue 'groups;
                        }
                        let column = column.add(word * stride);
                        let value = L::splat(value);
                        for (lane, sum) in sums.iter_mut().enumerate() {
                            *sum = L::add(*sum, L::count_xor(L::load(column.add(lane * L::N)), value));
                        }
                    }
                    if L::at_most(L::min_of(sums), bound) == 0 {
                        continue 'groups;
                    }
                    sums.map(|sum| L::at_most(sum, bound))
                };
                *limit = emit(&masks, L::N, at, rows, words, query, number, first, *limit, sink);
                // SAFETY: the caller guarantees the instructions of `L`.
                bound = unsafe { L::splat(u64::from(*limit)) };
            }
        }
    }

    /// Compare few queries with untransposed rows of `WORDS` words, a power of two: a vector holds full rows, or parts of
    /// one, whose counts are folded. The number is a constant, so that the loops over parts and folds leave no branch.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn direct<L: Lanes, const WORDS: usize>(&self, limits: &mut [u32], sink: &mut dyn Sink) {
        const { assert!(WORDS.is_power_of_two(), "a vector holds whole rows, or a row whole vectors") };
        // Lanes that a row takes in its vector, vectors that it takes, words that a group takes.
        let (width, parts) = (WORDS.min(L::N), WORDS.div_ceil(L::N));
        let span = GROUP * L::N * parts;
        for (number, query) in self.queries.chunks_exact(WORDS).enumerate().take_while(|_| !self.cancel.is_set()) {
            let limit = &mut limits[number];
            let mut pattern = [0; 16];
            for (value, &word) in pattern.iter_mut().zip(query.iter().cycle()) {
                *value = word;
            }
            let whole = self.rows.len() - self.rows.len() % span;
            for at in (0..whole).step_by(span) {
                // SAFETY: the caller guarantees the instructions of `L`; `span` words from `at` exist, and `parts *
                // L::N` of the pattern.
                let none = unsafe {
                    let (from, pattern) = (self.rows.as_ptr().add(at), pattern.as_ptr());
                    let least = if parts == 1 {
                        let mut rows = [L::splat(0); GROUP];
                        for (vector, row) in rows.iter_mut().enumerate() {
                            *row = L::load(from.add(vector * L::N));
                            prefetch_at(self.rows, at + vector * L::N + AHEAD);
                        }
                        L::least(rows, L::load(pattern), width)
                    } else {
                        let mut sums = [L::splat(0); GROUP];
                        for (vector, sum) in sums.iter_mut().enumerate() {
                            for part in 0..parts {
                                let row = L::load(from.add((vector * parts + part) * L::N));
                                *sum = L::add(*sum, L::count_xor(row, L::load(pattern.add(part * L::N))));
                            }
                            *sum = L::fold(*sum, width);
                        }
                        L::min_of(sums)
                    };
                    L::at_most(least, L::splat(u64::from(*limit))) == 0
                };
                if !none {
                    *limit = self.count(at, span, number, query, *limit, sink);
                }
            }
            *limit = self.count(whole, self.rows.len() - whole, number, query, *limit, sink);
        }
    }

    /// Count the rows of `length` words from `at` in full; return the new limit. Its variables are not those of the loop
    /// that calls it rarely.
    #[inline(never)]
    fn count(
        &self,
        at: usize,
        length: usize,
        number: usize,
        query: &[u64],
        mut limit: u32,
        sink: &mut dyn Sink,
    ) -> u32 {
        counting(
            #[inline(always)]
            || {
                for (row, value) in self.rows[at..at + length].chunks_exact(self.words).enumerate() {
                    let distance = distance(value, query);
                    if distance <= limit {
                        limit = sink.hit(number as u32, self.first_row + (at / self.words + row) as u32, distance);
                    }
                }
            },
        );
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::tile::enough_pieces;
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct All {
        hits: Vec<(u32, u32, u32)>,
        limit: u32,
    }

    impl Sink for All {
        fn hit(&mut self, query: u32, row: u32, distance: u32) -> u32 {
            self.hits.push((query, row, distance));
            self.limit
        }
    }

    fn brute(words: usize, rows: &[u64], queries: &[u64], limit: u32) -> Vec<(u32, u32, u32)> {
        let mut hits = Vec::new();
        for (q, query) in queries.chunks_exact(words).enumerate() {
            for (r, row) in rows.chunks_exact(words).enumerate() {
                let d = distance(query, row);
                if d <= limit {
                    hits.push((q as u32, r as u32, d));
                }
            }
        }
        hits
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn kernels_equal_the_definition(
            words in 1usize..=16,
            rows in 0usize..700,
            queries in 1usize..7,
            seed in any::<u64>(),
            density in 0u32..4,
            limit in 0u32..1030,
        ) {
            let mut state = seed | 1;
            let mut next = || {
                // A sparse generator makes near neighbours; a dense one makes misses.
                let mut value = u64::MAX;
                for _ in 0..=density * 2 {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    value &= state ^ (state >> 29);
                }
                value
            };
            let limit = limit % (64 * words as u32 + 2);
            let rows: Vec<u64> = (0..rows * words).map(|_| next()).collect();
            let queries: Vec<u64> = (0..queries * words).map(|_| next()).collect();
            for limit in [limit, limit % 10, limit % 45] {
                let expected = brute(words, &rows, &queries, limit);
                for kernel in Kernel::available() {
                    let mut all = All { hits: Vec::new(), limit };
                    scan(kernel, words, &rows, 0, &queries, &mut vec![limit; queries.len() / words], &CancelToken::default(), &mut all);
                    all.hits.sort_unstable();
                    prop_assert_eq!(&expected, &all.hits, "{}", kernel.name());
                }
            }
        }
    }

    #[test]
    fn the_prefix_is_the_shortest_that_decides() {
        // 0.44 b - 1.45 sqrt(b): 11.1 for 48 bits, 16.6 for 64, 22.2 for 80, 28.0 for 96, 33.9 for 112.
        assert_eq!(Some(6), enough_pieces(2, 25));
        assert_eq!(Some(5), enough_pieces(2, 22));
        assert_eq!(Some(3), enough_pieces(1, 11));
        assert_eq!(None, enough_pieces(1, 12));
        assert_eq!(Some(7), enough_pieces(4, 33));
        // 46.0 for 144 bits, 64.4 for 192.
        assert_eq!(Some(9), enough_pieces(4, 40));
        assert_eq!(Some(12), enough_pieces(4, 64));
        assert_eq!(None, enough_pieces(4, 65));
    }

    #[test]
    fn a_falling_limit_is_obeyed_at_once() {
        struct Best(Vec<(u32, u32)>);
        impl Sink for Best {
            fn hit(&mut self, _query: u32, row: u32, distance: u32) -> u32 {
                self.0.push((row, distance));
                distance
            }
        }
        let rows: Vec<u64> = (0..64).map(|i| (1u64 << i) - 1).rev().collect();
        for kernel in Kernel::available() {
            let mut best = Best(Vec::new());
            scan(kernel, 1, &rows, 0, &[0], &mut [64], &CancelToken::default(), &mut best);
            assert!(best.0.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            assert_eq!(Some(&(63, 0)), best.0.last());
        }
    }
}
