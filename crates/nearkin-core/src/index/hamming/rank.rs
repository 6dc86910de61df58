//! Rankings by the bits that two fingerprints have in common: Jaccard and spherical Hamming distance, by a scan.
//!
//! With `x = |a xor b|` and `c = |a and b|`, where `|a|` counts set bits and 1 stands for "inside" (of a set, of a
//! sphere):
//!
//! ```text
//! spherical  x / c             J.-P. Heo et al., "Spherical Hashing", CVPR 2012, section 3.4 (who write it |a xor b| / |a and b|)
//! Jaccard    x / (x + c)       1 - |a and b| / |a or b|
//! ```
//!
//! Where no bit is in common (`c = 0`) spherical distance is infinite and Jaccard distance 1, unless both are empty,
//! which are equal: 0. Jaccard is `s / (1 + s)` of spherical, so both give the same order and differ in their values
//! alone.
//!
//! **Exactness.** Rows are compared by cross multiplication, `x * c' <= x' * c`, in integers below 2^21. Distances are
//! the quotients rounded to the nearest double: quotients of whole numbers up to 1024 that differ, differ by more than
//! 2^-21, so equal doubles mean equal quotients, and ties are broken by id.
//!
//! Cost: n rows, two popcounts per word; a row whose quotient is beyond the k-th best so far is dropped in the vector.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::Index;
use super::search::{Source, chunk_of};
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::cpu::popcount::{LaneWork, Lanes};
use crate::{Error, Result};

/// A ranking by common bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranking {
    /// `|a xor b| / |a or b|`.
    Jaccard,
    /// `|a xor b| / |a and b|`.
    Spherical,
}

impl Ranking {
    /// The ranking of a name.
    ///
    /// # Errors
    /// No such ranking.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "jaccard" => Ok(Self::Jaccard),
            "spherical" => Ok(Self::Spherical),
            _ => Err(Error::parameter("rank", format!("{name:?}"), "\"hamming\", \"jaccard\" or \"spherical\"")),
        }
    }
}

/// Matches of a batch of queries by a ranking: query q owns `offsets[q]..offsets[q + 1]`, nearest first, ties by id.
#[derive(Debug, Default, PartialEq)]
pub struct Ranked {
    /// One more than queries.
    pub offsets: Vec<i64>,
    /// Row of each match.
    pub rows: Vec<u32>,
    /// Distance of each match.
    pub distances: Vec<f64>,
}

/// How many bits differ and how many are common: the quotient of the two, `1 / 0` being infinite and `0 / 0` none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quotient {
    pub(crate) differ: u32,
    pub(crate) common: u32,
}

impl Quotient {
    /// Everything is at most this.
    pub(crate) const MOST: Self = Self { differ: 1, common: 0 };

    fn of(a: &[u64], b: &[u64]) -> Self {
        let (mut differ, mut common) = (0, 0);
        for (x, y) in a.iter().zip(b) {
            differ += (x ^ y).count_ones();
            common += (x & y).count_ones();
        }
        Self { differ, common }
    }

    /// As a fraction: two empty fingerprints are equal, and everything else without a common bit is equally far.
    pub(crate) fn reduced(self) -> (u32, u32) {
        match self {
            Self { differ: 0, .. } => (0, 1),
            Self { common: 0, .. } => (1, 0),
            Self { differ, common } => (differ, common),
        }
    }

    pub(crate) fn compare(self, other: Self) -> Ordering {
        let ((x, c), (y, d)) = (self.reduced(), other.reduced());
        (x * d).cmp(&(y * c))
    }

    fn value(self, ranking: Ranking) -> f64 {
        let (differ, common) = self.reduced();
        match ranking {
            Ranking::Spherical => f64::from(differ) / f64::from(common),
            Ranking::Jaccard => f64::from(differ) / f64::from(differ + common),
        }
    }
}

/// The `k` best rows of one query so far, in a list that is cut when it reaches twice that.
struct Best<'a> {
    index: &'a Index,
    k: usize,
    limit: Quotient,
    rows: BestEffortVec<(Quotient, u32)>,
}

/// Nearest first, ties by id.
fn order(index: &Index, a: &(Quotient, u32), b: &(Quotient, u32)) -> Ordering {
    a.0.compare(b.0).then_with(|| index.rows.compare(a.1, b.1))
}

impl Best<'_> {
    fn take(&mut self, quotient: Quotient, rows: &[u32]) {
        for &row in rows.iter().filter(|&&row| self.index.rows.is_alive(row)).take(self.k) {
            self.rows.push((quotient, row));
            if self.rows.len() >= 2 * self.k + 32 {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if self.rows.len() < self.k {
            return;
        }
        let (index, k) = (self.index, self.k);
        let rows = self.rows.values();
        self.limit = rows.select_nth_unstable_by(k - 1, |a, b| order(index, a, b)).1.0;
        rows.truncate(k);
    }
}

impl Index {
    /// The `k` rows of each query that a ranking puts first, or all where there are fewer; ties by id. Always a scan.
    ///
    /// # Errors
    /// `k` of 0; queries of another width.
    pub fn ranked(&self, queries: &[u64], k: usize, ranking: Ranking) -> Result<Ranked> {
        let count = self.check_rows(queries)?;
        if k == 0 {
            return Err(Error::parameter("k", k, "1 or more"));
        }
        let k = k.min(self.len().max(1));
        let sources = self.sources();
        let stop = &CancelToken::current();
        let parts = queries
            .par_chunks(chunk_of(count) * self.words)
            .map(|queries| {
                let one = || Best { index: self, k, limit: Quotient::MOST, rows: BestEffortVec::default() };
                let mut best = alloc::try_with_capacity(queries.len() / self.words)?;
                best.resize_with(queries.len() / self.words, one);
                for source in &sources {
                    self.kernel.run(RankJob { words: self.words, source, queries, stop, best: &mut best });
                }
                stop.check()?;
                let mut lists = alloc::try_with_capacity(best.len())?;
                for mut best in best {
                    best.cut();
                    let mut rows = best.rows.whole()?;
                    rows.sort_unstable_by(|a, b| order(self, a, b));
                    lists.push(rows);
                }
                Ok(lists)
            })
            .collect::<Result<Vec<_>>>()?;
        let lists = || parts.iter().flatten();
        let total = lists().map(Vec::len).sum();
        let mut ranked = Ranked {
            offsets: alloc::try_with_capacity(count + 1)?,
            rows: alloc::try_with_capacity(total)?,
            distances: alloc::try_with_capacity(total)?,
        };
        ranked.offsets.push(0);
        for list in lists() {
            ranked.rows.extend(list.iter().map(|found| found.1));
            ranked.distances.extend(list.iter().map(|found| found.0.value(ranking)));
            ranked.offsets.push(ranked.rows.len() as i64);
        }
        Ok(ranked)
    }
}

/// Words of a tile, which stays in the first-level cache.
const TILE_WORDS: usize = 2048;

struct RankJob<'a, 'b> {
    words: usize,
    source: &'a Source<'a>,
    queries: &'a [u64],
    stop: &'a CancelToken,
    best: &'a mut [Best<'b>],
}

impl LaneWork for RankJob<'_, '_> {
    type Output = ();

    /// Every query against tiles of rows, transposed so that a vector holds one word of neighbouring rows.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let words = self.words;
        let tile_rows = (TILE_WORDS / words).next_multiple_of(L::N);
        let mut tile = vec![0u64; tile_rows * words];
        let tiles = self.source.fps.chunks(tile_rows * words).enumerate();
        for (number, rows) in tiles.take_while(|_| !self.stop.is_set()) {
            let count = rows.len() / words;
            for (i, row) in rows.chunks_exact(words).enumerate() {
                for (j, &word) in row.iter().enumerate() {
                    tile[j * tile_rows + i] = word;
                }
            }
            for (query, best) in self.queries.chunks_exact(words).zip(&mut *self.best) {
                for at in (0..count).step_by(L::N) {
                    let (x, c) = (u64::from(best.limit.reduced().0), u64::from(best.limit.reduced().1));
                    // SAFETY: the caller vouches for `L`; each of the `words` columns holds `L::N` words from `at`.
                    let mut mask = unsafe {
                        let (mut differ, mut common) = (L::splat(0), L::splat(0));
                        for (word, &value) in query.iter().enumerate() {
                            let column = L::load(tile.as_ptr().add(word * tile_rows + at));
                            let value = L::splat(value);
                            differ = L::add(differ, L::count_xor(column, value));
                            common = L::add(common, L::count_and(column, value));
                        }
                        // Two empty rows have 0 <= 0, and are looked at again below.
                        L::at_most(L::multiply(differ, L::splat(c)), L::multiply(common, L::splat(x)))
                    };
                    while mask != 0 {
                        let row = at + mask.trailing_zeros() as usize;
                        mask &= mask - 1;
                        if row < count {
                            let quotient = Quotient::of(&rows[row * words..][..words], query);
                            if quotient.compare(best.limit).is_le() {
                                best.take(quotient, self.source.rows_of((number * tile_rows + row) as u32));
                            }
                        }
                    }
                }
            }
        }
    }
}
