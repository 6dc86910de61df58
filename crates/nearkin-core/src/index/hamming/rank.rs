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
//! If no bit is in common (`c = 0`), the spherical distance is infinite and the Jaccard distance 1, unless both are
//! empty and therefore equal: 0. Jaccard is `s / (1 + s)` of spherical, so both give the same order and differ in their
//! values only.
//!
//! **Exactness.** Rows are compared by cross multiplication, `x * c' <= x' * c`, in integers below 2^21. Distances are
//! the quotients rounded to the nearest double: different quotients of integers up to 1024 differ by more than 2^-21,
//! so equal doubles mean equal quotients, and ties are broken by id.
//!
//! Cost: n rows, two popcounts per word; a row whose quotient is beyond the k-th best so far is dropped in the vector.

use std::cmp::Ordering;

use crate::parallel::prelude::*;

use super::Index;
use super::scan::tile::{TILE_WORDS, transpose};
use super::search::{Source, chunk_of};
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::cpu::popcount::{LaneWork, Lanes};
use crate::index::hits::Hits;
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
    /// Return the ranking with a name.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "jaccard" => Ok(Self::Jaccard),
            "spherical" => Ok(Self::Spherical),
            _ => Err(Error::parameter("rank", format!("{name:?}"), "\"hamming\", \"jaccard\" or \"spherical\"")),
        }
    }
}

/// Number of differing and of common bits: their quotient, where `1 / 0` is infinite and `0 / 0` undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quotient {
    pub(crate) differ: u32,
    pub(crate) common: u32,
}

impl Quotient {
    /// The largest quotient.
    pub(crate) const MAX: Self = Self { differ: 1, common: 0 };

    fn of(a: &[u64], b: &[u64]) -> Self {
        let (mut differ, mut common) = (0, 0);
        for (x, y) in a.iter().zip(b) {
            differ += (x ^ y).count_ones();
            common += (x & y).count_ones();
        }
        Self { differ, common }
    }

    /// Return a fraction: two empty fingerprints are equal, and all others without a common bit are equally far.
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

    /// Return the rows of a vector that are at most `limit` from `query`, one bit each; also rows without a common bit.
    ///
    /// # Safety
    /// The processor has the instructions of `L`, and the caller enables them; word w of the rows is at `w * stride` from
    /// `column`.
    #[inline(always)]
    pub(crate) unsafe fn within<L: Lanes>(column: *const u64, stride: usize, query: &[u64], limit: Self) -> u32 {
        let (x, c) = limit.reduced();
        // SAFETY: as for this function.
        unsafe {
            let (mut differ, mut common) = (L::splat(0), L::splat(0));
            for (word, &value) in query.iter().enumerate() {
                let (column, value) = (L::load(column.add(word * stride)), L::splat(value));
                differ = L::add(differ, L::count_xor(column, value));
                common = L::add(common, L::count_and(column, value));
            }
            L::at_most(L::multiply(differ, L::splat(c.into())), L::multiply(common, L::splat(x.into())))
        }
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

/// Order by distance, ties by id.
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
    /// Return the `k` rows of each query that a ranking puts first, or all if there are fewer; ties by id. Always a
    /// scan.
    ///
    /// # Errors
    /// `k` of 0; queries of another width.
    pub fn ranked(&self, queries: &[u64], k: usize, ranking: Ranking) -> Result<Hits<f64>> {
        let count = self.check_rows(queries)?;
        if k == 0 {
            return Err(Error::parameter("k", k, "1 or more"));
        }
        let k = k.min(self.len().max(1));
        let sources = self.sources();
        let cancel = &CancelToken::current();
        let parts = queries
            .par_chunks(chunk_of(count) * self.words)
            .map(|queries| {
                let new_best = || Best { index: self, k, limit: Quotient::MAX, rows: BestEffortVec::default() };
                let mut best = alloc::try_with_capacity(queries.len() / self.words)?;
                best.resize_with(queries.len() / self.words, new_best);
                for source in &sources {
                    self.kernel.run(RankJob { words: self.words, source, queries, cancel, best: &mut best });
                }
                cancel.check()?;
                let mut lists = alloc::try_with_capacity(best.len())?;
                for mut best in best {
                    best.cut();
                    let mut rows = best.rows.into_vec()?;
                    rows.sort_unstable_by(|a, b| order(self, a, b));
                    lists.push(rows);
                }
                Ok(lists)
            })
            .collect::<Result<Vec<_>>>()?;
        let lists = || parts.iter().flatten();
        let mut ranked = Hits::with_capacity(count, lists().map(Vec::len).sum())?;
        lists().for_each(|list| ranked.push(list.iter().map(|hit| (hit.0.value(ranking), hit.1))));
        Ok(ranked)
    }
}

struct RankJob<'a, 'b> {
    words: usize,
    source: &'a Source<'a>,
    queries: &'a [u64],
    cancel: &'a CancelToken,
    best: &'a mut [Best<'b>],
}

impl LaneWork for RankJob<'_, '_> {
    type Output = ();

    /// Compare every query with tiles of rows, transposed so that a vector holds one word of neighbouring rows.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let words = self.words;
        let tile_rows = (TILE_WORDS / words).next_multiple_of(L::N);
        let mut tile = vec![0u64; tile_rows * words];
        let tiles = self.source.fps.chunks(tile_rows * words).enumerate();
        for (number, rows) in tiles.take_while(|_| !self.cancel.is_set()) {
            let count = rows.len() / words;
            transpose(rows, &mut tile, words, tile_rows);
            for (query, best) in self.queries.chunks_exact(words).zip(&mut *self.best) {
                for at in (0..count).step_by(L::N) {
                    // SAFETY: the caller guarantees the instructions of `L`; each of the `words` columns holds `L::N`
                    // words from `at`.
                    let mut mask =
                        unsafe { Quotient::within::<L>(tile.as_ptr().add(at), tile_rows, query, best.limit) };
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
