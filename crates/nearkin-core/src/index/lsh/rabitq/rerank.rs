//! Re-ranking with early termination: rows whose lower bound exceeds the current k-th distance are skipped.
//!
//! The rows with the smallest bounds are ranked first; the k-th of their distances is the limit. From then on a row is ranked
//! if its bound is at most the limit, which is renewed after 8, 16, 32, … blocks and fixed in between. So the set of ranked
//! rows does not depend on the batch, the register width or the number of threads.

use super::estimate::{EstimateParams, LookupTables, PartitionQuery};
use super::kernels::{BLOCK, Kernel};
use super::quantizer::VectorTransform;
use crate::cpu::features::Instructions;
use crate::index::lsh::Query;
use crate::index::lsh::kernels::Metric;
use crate::index::lsh::vectors::{VectorStore, Vectors};
use crate::index::rows::Rows;
use crate::{Result, alloc};

/// Groups per block if there are few blocks.
const GROUPS: usize = 8;
/// Blocks before the limit is renewed for the first time.
pub(super) const FIRST_ROUND: usize = 8;
/// Largest k for which neighbours are kept sorted; for a larger k they are selected after each round.
const MAX_SORTED: usize = 256;

/// Number of rows to rank before there is a limit.
pub(super) fn num_first_ranked(k: usize) -> usize {
    k.saturating_mul(2).saturating_add(4)
}

/// A centroid near a query, whose partition is to be searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// Probes are ordered by this, ascending.
    pub(super) order: f32,
    /// Squared distance of the query from the centroid.
    pub(super) square: f32,
    /// Added to the bounds of the partition's rows.
    pub(super) base: f32,
    pub(super) partition: u32,
}

impl Probe {
    /// A probe ordered by distance.
    pub(super) fn by_distance(square: f32, partition: u32) -> Self {
        Self { order: square, square, base: square, partition }
    }

    pub(super) fn key(&self) -> i64 {
        sort_key(self.order, self.partition)
    }

    /// The probe by distance that has this key.
    pub(super) fn of_key(key: i64) -> Self {
        Self::by_distance(unordered((key >> 32) as i32), key as u32)
    }
}

/// How partitions are chosen for a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ProbeMetric {
    /// By the distance of their centroids.
    L2,
    /// By the product with their centroids. Holds the base of a bound for residuals from the mean.
    Product(f32),
}

/// Blocks of a partition that are scanned in a round.
#[derive(Debug)]
pub(super) struct BlockRange {
    /// Index of the probe.
    pub(super) probe: usize,
    pub(super) is_appended: bool,
    pub(super) from: usize,
    pub(super) until: usize,
    /// Where its bounds begin, in blocks.
    pub(super) at: usize,
}

impl BlockRange {
    /// Where its bounds end, in blocks.
    pub(super) fn end(&self) -> usize {
        self.at + self.until - self.from
    }
}

/// Scratch buffers, reused across queries.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) point: Vec<f32>,
    pub(super) tables: LookupTables,
    pub(super) bounds: Bounds,
    pub(super) selection: Selection,
    pub(super) probes: Vec<Probe>,
    /// Probes of the coarse centroids.
    pub(super) coarse_probes: Vec<Probe>,
    /// Rows to rank.
    pub(super) rows: Vec<u32>,
    /// The blocks of a round.
    pub(super) ranges: Vec<BlockRange>,
    /// Index of the next probe, and the blocks of the next round.
    pub(super) next: usize,
    pub(super) round: usize,
    pub(super) scored: Vec<(f64, u32)>,
}

impl Scratch {
    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.bounds.values.capacity() + self.bounds.minima.capacity() + self.point.capacity())
    }
}

/// Bounds of the rows of some blocks, and the minimum of each block.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    values: Vec<f32>,
    minima: Vec<f32>,
}

impl Bounds {
    /// Borrow the arrays for this many blocks.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn resize(&mut self, blocks: usize) -> Result<(&mut [f32], &mut [f32])> {
        let (values, minima) = (self.values.len().max(blocks * BLOCK), self.minima.len().max(blocks));
        alloc::try_resize(&mut self.values, values, 0.0)?;
        alloc::try_resize(&mut self.minima, minima, 0.0)?;
        Ok(self.get(blocks))
    }

    /// Borrow the arrays for this many blocks, which `resize` has made.
    pub(super) fn get(&mut self, blocks: usize) -> (&mut [f32], &mut [f32]) {
        (&mut self.values[..blocks * BLOCK], &mut self.minima[..blocks])
    }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

/// Map a number to an integer of the same order, that of `f32::total_cmp`.
#[inline(always)]
fn ordered(value: f32) -> i32 {
    let bits = value.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

/// Return the number that `ordered` maps to this integer.
#[inline(always)]
fn unordered(key: i32) -> f32 {
    f32::from_bits((key ^ ((key >> 31) as u32 >> 1) as i32) as u32)
}

/// Pack a number and a position into an integer that sorts by both.
#[inline(always)]
pub(super) fn sort_key(value: f32, position: u32) -> i64 {
    i64::from(ordered(value)) << 32 | i64::from(position)
}

/// Positions of the smallest bounds.
#[derive(Debug, Default)]
pub(super) struct Selection {
    groups: Vec<f32>,
    ranks: Vec<i32>,
    below: Vec<u32>,
    /// Bounds and positions.
    pub(super) entries: Vec<(f32, u32)>,
    /// Keys of probes to be sorted.
    pub(super) keys: Vec<i64>,
}

impl Selection {
    /// Select the positions of the `count` smallest bounds that are `valid`, or of all, in any order; ties by position.
    pub(super) fn select(
        &mut self,
        kernel: Kernel,
        bounds: &[f32],
        minima: &[f32],
        count: usize,
        valid: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let mut requested = count.max(1);
        loop {
            // Group minima, several times `requested`: the requested-th of them is at least the requested-th bound.
            self.groups.clear();
            if requested.saturating_mul(2) < minima.len() {
                let count = requested.saturating_mul(8).min(minima.len());
                alloc::try_resize(&mut self.groups, count, f32::INFINITY)?;
                for chunk in minima.chunks(count) {
                    self.groups.iter_mut().zip(chunk).for_each(|(group, &low)| *group = smaller(*group, low));
                }
            } else {
                alloc::try_reserve(&mut self.groups, minima.len() * GROUPS)?;
                for block in bounds.as_chunks::<BLOCK>().0 {
                    let mut group = [f32::INFINITY; GROUPS];
                    for chunk in block.as_chunks::<GROUPS>().0 {
                        for i in 0..GROUPS {
                            group[i] = smaller(group[i], chunk[i]);
                        }
                    }
                    self.groups.extend_from_slice(&group);
                }
            }
            let limit = if requested < self.groups.len() {
                self.ranks.clear();
                alloc::try_reserve(&mut self.ranks, self.groups.len())?;
                self.ranks.extend(self.groups.iter().map(|&low| ordered(low)));
                unordered(*self.ranks.select_nth_unstable(requested - 1).1)
            } else {
                f32::INFINITY
            };
            self.below.clear();
            kernel.filter_below(bounds, minima, limit, 0, &mut self.below)?;
            self.entries.clear();
            alloc::try_reserve(&mut self.entries, self.below.len())?;
            let valid = self.below.iter().filter(|&&position| valid(position as usize));
            self.entries.extend(valid.map(|&position| (bounds[position as usize], position)));
            if self.entries.len() >= count || limit == f32::INFINITY {
                break;
            }
            requested = requested.saturating_mul(4);
        }
        if self.entries.len() > count && count > 0 {
            self.entries.select_nth_unstable_by_key(count - 1, |&(bound, position)| sort_key(bound, position));
            self.entries.truncate(count);
        }
        Ok(())
    }
}

/// Arguments shared by all queries of a batch.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct QueryContext<'a> {
    pub(in super::super) store: &'a VectorStore,
    pub(in super::super) rows: &'a Rows,
    pub(in super::super) metric: Metric,
    pub(in super::super) vectors: Vectors<'a>,
    pub(in super::super) count: usize,
    pub(in super::super) query: Query,
    pub(in super::super) params: EstimateParams,
}

/// One query, and how its candidates are ranked.
pub(super) struct Rerank<'a> {
    pub(super) context: QueryContext<'a>,
    pub(super) transform: &'a VectorTransform,
    /// Number of the query in the batch.
    pub(super) number: usize,
    pub(super) instructions: Instructions,
    pub(super) kernel: Kernel,
}

impl Rerank<'_> {
    /// k of a nearest-neighbour query; None for a radius.
    pub(super) fn k(&self) -> Option<usize> {
        match self.context.query {
            Query::Knn(k) => Some(k),
            Query::Radius(_) => None,
        }
    }

    /// Return the query as the partition of a probe sees it.
    pub(super) fn query_at<'a>(&self, tables: &'a LookupTables, probe: &Probe) -> PartitionQuery<'a> {
        let deviations = self.context.params.deviations as f32;
        PartitionQuery { tables, square: probe.square, base: probe.base, deviations }
    }

    #[inline]
    pub(super) fn is_alive(&self, row: u32) -> bool {
        self.context.rows.num_dead() == 0 || self.context.rows.is_alive(row)
    }

    /// Rank rows that are live and were not ranked before; drop those that cannot be in the result.
    pub(super) fn rank(&self, rows: &[u32], scored: &mut Vec<(f64, u32)>) -> Result<()> {
        let QueryContext { store, metric, vectors, query, .. } = self.context;
        let before = scored.len();
        alloc::try_reserve(scored, rows.len())?;
        store.distances(self.instructions, metric, vectors, self.number, rows, scored);
        match query {
            Query::Knn(k) if k <= MAX_SORTED => self.insert_sorted(scored, before, k),
            Query::Knn(k) if k < scored.len() => {
                scored.select_nth_unstable_by(k - 1, |a, b| self.order(a, b));
                scored.truncate(k);
            }
            Query::Knn(_) => {}
            Query::Radius(radius) => scored.retain(|&(distance, _)| distance <= radius),
        }
        Ok(())
    }

    /// Rank the live ones of `rows`.
    pub(super) fn rank_live(&self, rows: &mut Vec<u32>, scored: &mut Vec<(f64, u32)>) -> Result<()> {
        if self.context.rows.num_dead() > 0 {
            rows.retain(|&row| self.context.rows.is_alive(row));
        }
        if rows.is_empty() { Ok(()) } else { self.rank(rows, scored) }
    }

    /// Insert the entries after the first `sorted` ones in order; keep the k nearest.
    fn insert_sorted(&self, scored: &mut Vec<(f64, u32)>, sorted: usize, k: usize) {
        let mut kept = sorted;
        for at in sorted..scored.len() {
            let hit = scored[at];
            if kept == k && (hit.0 > scored[k - 1].0 || self.order(&hit, &scored[k - 1]).is_ge()) {
                continue;
            }
            let mut position = kept.min(k - 1);
            kept = position + 1;
            while position > 0 && self.order(&hit, &scored[position - 1]).is_lt() {
                scored[position] = scored[position - 1];
                position -= 1;
            }
            scored[position] = hit;
        }
        scored.truncate(kept);
    }

    fn order(&self, a: &(f64, u32), b: &(f64, u32)) -> std::cmp::Ordering {
        a.0.total_cmp(&b.0).then_with(|| self.context.rows.compare(a.1, b.1))
    }

    /// Return the largest bound of a row that must be ranked.
    pub(super) fn limit(&self, scored: &[(f64, u32)]) -> f32 {
        match self.context.query {
            Query::Knn(k) if scored.len() < k => f32::INFINITY,
            // After `rank` the last of k entries is the farthest.
            Query::Knn(k) => {
                let farthest = if scored.len() == k {
                    scored.iter().map(|hit| hit.0).fold(f64::NEG_INFINITY, f64::max)
                } else {
                    scored[k - 1].0
                };
                self.transform.limit(farthest)
            }
            Query::Radius(radius) => self.transform.limit(radius),
        }
    }

    /// Return the result, nearest first, ties by id.
    pub(super) fn finish(&self, scored: &mut [(f64, u32)]) -> Result<Vec<(f64, u32)>> {
        scored.sort_unstable_by(|a, b| self.order(a, b));
        alloc::try_copy(scored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_distances_and_give_back_their_probes() {
        let squares = [f32::NEG_INFINITY, -2.5, -0.0, 0.0, f32::MIN_POSITIVE, 1.0, 1.0000001, 3e38, f32::INFINITY];
        let mut keys = Vec::new();
        for square in squares {
            for partition in [0, 1, 1 << 31, u32::MAX] {
                let probe = Probe::by_distance(square, partition);
                let again = Probe::of_key(probe.key());
                assert_eq!((square.to_bits(), partition), (again.order.to_bits(), again.partition));
                assert_eq!([again.order; 2], [again.square, again.base]);
                keys.push(probe.key());
            }
        }
        assert!(keys.is_sorted() && keys.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
