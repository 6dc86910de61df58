//! Centroids of partitions: training, and the search for those nearest to a point.
//!
//! C rows are sampled with the seed, and each moves to the mean of the rows nearest to it, out of a sample of 48 C rows (one
//! step of k-means).
//!
//! Many centroids are grouped around √C coarse ones: every √C-th centroid, moved to the mean of the centroids nearest
//! to it. A centroid is encoded as its residual from the coarse one, as rows are in their partition. A search computes
//! estimates for all centroids of the groups nearest to a point, then distances to 1.25 times the requested number and 9. So
//! a centroid may be returned that is almost among the nearest. Few centroids form one group around the mean.
//!
//! For inner products the requested centroids are those with the largest product with the query. With z = P c,
//!
//! ```text
//! 2 c_j·q = const + 2 C_j·(y + z) = const - (‖y - C_j‖² - w_j)        C_j = P(c_j - c), y = P(q - c), w_j = ‖C_j‖² + 2 C_j·z
//! ```
//! so the same estimates apply, over all groups, minus the weights w.
//!
//! Cost: √C + (centroids of the visited groups) D / 4 look-ups, and D steps per distance. Memory: 4 D + D/8 + 13 bytes per
//! centroid.

use crate::parallel::prelude::*;

use super::estimate::PartitionQuery;
use super::kernels::{BLOCK, Kernel};
use super::quantizer::{CodeTable, VectorTransform, encode_residual, product, rounded_down, square, squared_distance};
use super::rerank::{Probe, ProbeMetric, Scratch, Selection, sort_key};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::prefetch::prefetch_at;
use crate::index::lsh::kernels::Metric;
use crate::index::lsh::vectors::Vectors;
use crate::segment::Column;
use crate::vectors::random;
use crate::{Result, alloc};

/// The centroid of a position that has none.
const NONE: u32 = u32::MAX;
/// Streams of the seed: rows at which centroids start, rows that train them.
const INITIAL: u64 = 0x63_656c_6c73;
const TRAINING: u64 = 0x6d_6f76_6573;
/// Training rows per centroid: more change a mean little.
const ROWS_PER_CENTROID: usize = 48;
/// Number of centroids from which on they are grouped: fewer are scanned as fast. Tests have fewer.
const MIN_GROUPED: usize = if cfg!(test) { 8 } else { 1024 };
/// Minimum number of groups to visit, and groups per group-sized share of requested centroids. Measured on a million
/// descriptors: recall is that of a search without groups.
const GROUPS_VISITED: (usize, usize) = (16, 16);
/// Groups to visit for a training row: means tolerate a row at the second nearest centroid.
const TRAINING_GROUPS_VISITED: usize = 4;
/// Number of distances to compute for `num_centroids` centroids: 5/4 of them and 9 more. A query computes at least those of
/// a row, so that it visits the partition of an equal row. With 8 groups and 4 more, one in 40 of 200,000 rows of 384
/// coordinates was in another partition than the nearest, and most of these far from it; now one in 300.
const OVERSAMPLING: (usize, usize, usize) = (5, 4, 9);
/// Cache lines to prefetch of a centroid, and number of centroids to prefetch ahead.
const LINES: usize = 64;
const AHEAD: usize = 4;
/// Rows that one task assigns.
const CHUNK: usize = 512;

/// Centroids, and their codes in groups.
#[derive(Debug)]
pub(super) struct Centroids {
    size: usize,
    /// `P(c_j - c)`, row-major.
    pub(super) values: Column<f32>,
    /// Centroids of the groups; None if all centroids are one group around c.
    groups: Option<Box<Self>>,
    /// First block of each group, and the end of the last.
    starts: Vec<u32>,
    codes: CodeTable,
    /// Centroid at each position.
    ids: Vec<u32>,
    /// w of each centroid, for inner products; empty for other metrics.
    weights: Vec<f32>,
}

/// A search for the centroids nearest to the point in a scratch buffer, whose lookup tables are filled.
#[derive(Debug, Clone, Copy)]
pub(super) struct CentroidQuery {
    pub(super) kernel: Kernel,
    pub(super) instructions: Instructions,
    /// ‖y‖².
    pub(super) square: f32,
    pub(super) metric: ProbeMetric,
    /// Number of centroids to return.
    pub(super) count: usize,
}

/// Sample `num_centroids` different numbers below `count`, or all there are, ascending.
fn sample(seed: u64, stream: u64, num_centroids: usize, count: usize) -> Result<Vec<u32>> {
    let base = random::base(seed, stream, 0);
    let mut keys: Vec<(u64, u32)> =
        alloc::try_collect((0..count).map(|row| (random::word(base, row as u64), row as u32)))?;
    if num_centroids < keys.len() {
        keys.select_nth_unstable(num_centroids);
        keys.truncate(num_centroids);
    }
    let mut rows: Vec<u32> = alloc::try_collect(keys.into_iter().map(|(_, row)| row))?;
    rows.sort_unstable();
    Ok(rows)
}

impl Centroids {
    /// Train about `num_centroids` centroids on these vectors.
    ///
    /// # Errors
    /// A vector is out of range; the call is cancelled; memory runs out.
    pub(super) fn train(
        transform: &VectorTransform,
        seed: u64,
        num_centroids: usize,
        vectors: Vectors<'_>,
        count: usize,
    ) -> Result<Self> {
        let size = transform.rotation.size();
        let initial = sample(seed, INITIAL, num_centroids.max(1), count)?;
        let point_of =
            |row: u32, point: &mut Vec<f32>| transform.apply(Instructions::best(), vectors, row as usize, point);
        let mut values = alloc::try_with_capacity(initial.len().max(1) * size)?;
        let mut point = Vec::new();
        for &row in &initial {
            point_of(row, &mut point)?;
            values.extend_from_slice(&point);
        }
        if initial.is_empty() {
            values.resize(size, 0.0);
        }
        let first = Self::new(values.into(), size)?;
        let training = sample(seed, TRAINING, initial.len().saturating_mul(ROWS_PER_CENTROID), count)?;
        let moved = first.means(training.len(), |position, point| Ok(point_of(training[position], point)?.square))?;
        drop(first);
        Self::new(moved.into(), size)?.weighted(transform)
    }

    /// Add the weights that a search by products needs.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn weighted(mut self, transform: &VectorTransform) -> Result<Self> {
        if transform.metric == Metric::InnerProduct {
            let mut mean = alloc::try_copy(&transform.mean)?;
            transform.rotation.rotate(Instructions::best(), &mut mean);
            let weights = self.values.chunks_exact(self.size).map(|value| square(value) + 2.0 * product(value, &mean));
            self.weights = alloc::try_collect(weights)?;
        }
        Ok(self)
    }

    /// Group centroids of `size` values each.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(super) fn new(values: Column<f32>, size: usize) -> Result<Self> {
        let count = values.len() / size;
        if count < MIN_GROUPED {
            return Self::grouped(values, size, None);
        }
        let groups = count.isqrt();
        let mut first = alloc::try_with_capacity(groups * size)?;
        for group in 0..groups {
            let start = group * count / groups * size;
            first.extend_from_slice(&values[start..start + size]);
        }
        let moved = Self::new(first.into(), size)?
            .means(count, |position, point| copy_point(&values, size, position, point))?;
        let groups = Box::new(Self::new(moved.into(), size)?);
        Self::grouped(values, size, Some(groups))
    }

    fn grouped(values: Column<f32>, size: usize, groups: Option<Box<Self>>) -> Result<Self> {
        let (count, cancel) = (values.len() / size, CancelToken::current());
        let mut assigned = alloc::try_with_capacity(count)?;
        match &groups {
            None => assigned.resize(count, 0),
            Some(groups) => {
                let point_of = |position, point: &mut Vec<f32>| copy_point(&values, size, position, point);
                groups.assign(count, GROUPS_VISITED.0, point_of, |_, nearest| assigned.extend_from_slice(nearest))?;
            }
        }
        let mut counts = alloc::try_zeroed::<usize>(groups.as_ref().map_or(1, |groups| groups.len()))?;
        for &group in &assigned {
            counts[group as usize] += 1;
        }
        let mut starts = alloc::try_with_capacity(counts.len() + 1)?;
        let mut ends = alloc::try_with_capacity(counts.len())?;
        starts.push(0);
        for count in counts {
            ends.push(starts[ends.len()] as usize * BLOCK);
            starts.push(starts[starts.len() - 1] + count.div_ceil(BLOCK) as u32);
        }
        let blocks = starts[starts.len() - 1] as usize;
        let mut codes = CodeTable::empty(size, blocks)?;
        let mut ids = alloc::try_filled(NONE, blocks * BLOCK)?;
        let (mut signs, mut point) = (alloc::try_zeroed::<u64>(size / 64)?, Vec::new());
        let (instructions, origin) = (Instructions::best(), alloc::try_zeroed::<f32>(size)?);
        for (id, &group) in assigned.iter().enumerate() {
            if id % CHUNK == 0 {
                cancel.check()?;
            }
            copy_point(&values, size, id, &mut point)?;
            let centroid = groups.as_ref().map_or(&origin[..], |groups| groups.get(group));
            let correction = encode_residual(&mut point, centroid, instructions, &mut signs);
            let at = &mut ends[group as usize];
            codes.put(*at, &signs, correction);
            ids[*at] = id as u32;
            *at += 1;
        }
        Ok(Self { size, values, groups, starts, codes, ids, weights: Vec::new() })
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / self.size
    }

    fn num_groups(&self) -> usize {
        self.groups.as_ref().map_or(1, |groups| groups.len())
    }

    pub(super) fn bytes(&self) -> usize {
        let ids = 4 * (self.starts.capacity() + self.ids.capacity() + self.weights.capacity());
        self.values.bytes() + self.codes.bytes() + ids + self.groups.as_ref().map_or(0, |groups| groups.bytes())
    }

    /// Return `P(c_j - c)`.
    pub(super) fn get(&self, id: u32) -> &[f32] {
        &self.values[id as usize * self.size..(id as usize + 1) * self.size]
    }

    /// Call `put` with chunks of points in their order: rotated values, row-major, and the centroid nearest to each. `point_of`
    /// writes a point and returns its square.
    fn assign(
        &self,
        count: usize,
        num_groups: usize,
        point_of: impl Fn(usize, &mut Vec<f32>) -> Result<f32> + Sync,
        mut put: impl FnMut(&[f32], &[u32]),
    ) -> Result<()> {
        let cancel = &CancelToken::current();
        // A limited number of chunks at a time, so that memory does not grow with the number of points.
        for first in (0..count).step_by(64 * CHUNK) {
            let end = (first + 64 * CHUNK).min(count);
            let parts = alloc::try_map_parallel((0..(end - first).div_ceil(CHUNK)).into_par_iter().map(|chunk| {
                cancel.check()?;
                let positions = first + chunk * CHUNK..(first + (chunk + 1) * CHUNK).min(end);
                let mut points = alloc::try_with_capacity(positions.len() * self.size)?;
                let mut nearest = alloc::try_with_capacity(positions.len())?;
                let mut scratch = Scratch::default();
                for position in positions {
                    let square = point_of(position, &mut scratch.point)?;
                    nearest.push(self.nearest_in(num_groups, square, &mut scratch)?);
                    points.extend_from_slice(&scratch.point);
                }
                Ok((points, nearest))
            }))?;
            for (points, nearest) in &parts {
                put(points, nearest);
            }
        }
        cancel.check()
    }

    /// Return the mean of the points nearest to each centroid; a centroid without points does not move.
    fn means(&self, count: usize, point_of: impl Fn(usize, &mut Vec<f32>) -> Result<f32> + Sync) -> Result<Vec<f32>> {
        let size = self.size;
        let mut sums = alloc::try_zeroed::<f64>(self.values.len())?;
        let mut counts = alloc::try_zeroed::<u32>(self.len())?;
        self.assign(count, TRAINING_GROUPS_VISITED, point_of, |points, nearest| {
            for (point, &id) in points.chunks_exact(size).zip(nearest) {
                let sum = &mut sums[id as usize * size..(id as usize + 1) * size];
                sum.iter_mut().zip(point).for_each(|(sum, &value)| *sum += f64::from(value));
                counts[id as usize] += 1;
            }
        })?;
        let mut moved = alloc::try_copy(&self.values)?;
        for ((centroid, sum), count) in moved.chunks_exact_mut(size).zip(sums.chunks_exact(size)).zip(counts) {
            if count > 0 {
                centroid.iter_mut().zip(sum).for_each(|(value, sum)| *value = (sum / f64::from(count)) as f32);
            }
        }
        Ok(moved)
    }

    /// Write the requested centroids, or all, into `scratch.probes`, nearest first.
    pub(super) fn search(&self, query: CentroidQuery, scratch: &mut Scratch) -> Result<()> {
        let all = self.num_groups();
        let enough = GROUPS_VISITED.0.saturating_add((GROUPS_VISITED.1 * all).saturating_mul(query.count) / self.len());
        let num_groups = if query.metric == ProbeMetric::L2 { enough } else { all };
        self.search_in(num_groups, query, scratch)
    }

    /// Search this many groups, or all if those have too few centroids.
    fn search_in(&self, num_groups: usize, query: CentroidQuery, scratch: &mut Scratch) -> Result<()> {
        let all = self.num_groups();
        self.search_groups(num_groups.min(all), query, scratch)?;
        if num_groups < all && scratch.probes.len() < query.count.min(self.len()) {
            self.search_groups(all, query, scratch)?;
        }
        Ok(())
    }

    /// Search exactly this many groups.
    fn search_groups(&self, num_groups: usize, query: CentroidQuery, scratch: &mut Scratch) -> Result<()> {
        let CentroidQuery { kernel, instructions, square, metric, count } = query;
        if let Some(groups) = &self.groups {
            groups.search(CentroidQuery { metric: ProbeMetric::L2, count: num_groups, ..query }, scratch)?;
            std::mem::swap(&mut scratch.probes, &mut scratch.coarse_probes);
        } else {
            scratch.coarse_probes.clear();
            alloc::try_reserve(&mut scratch.coarse_probes, 1)?;
            scratch.coarse_probes.push(Probe::by_distance(square, 0));
        }
        let Scratch { point, tables, bounds, selection, probes, coarse_probes, rows: ids, .. } = scratch;
        let blocks_of = |group: u32| self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize;
        let blocks: usize = coarse_probes.iter().map(|group| blocks_of(group.partition).len()).sum();
        let (bounds, minima) = bounds.resize(blocks)?;
        // The centroid of each position that has a bound.
        ids.clear();
        alloc::try_reserve(ids, blocks * BLOCK)?;
        let mut at = 0;
        for &Probe { square, partition, .. } in coarse_probes.iter() {
            let (range, begin) = (blocks_of(partition), at);
            at += range.len();
            ids.extend_from_slice(&self.ids[range.start * BLOCK..range.end * BLOCK]);
            let query = PartitionQuery { tables, square, base: square, deviations: 0.0 };
            self.codes.bounds(kernel, range, &query, &mut bounds[begin * BLOCK..at * BLOCK], &mut minima[begin..at]);
        }
        if metric != ProbeMetric::L2 {
            for (bound, &id) in bounds.iter_mut().zip(&*ids) {
                *bound -= self.weights.get(id as usize).copied().unwrap_or(0.0);
            }
            for (bounds, minimum) in bounds.as_chunks::<BLOCK>().0.iter().zip(minima.iter_mut()) {
                *minimum = bounds.iter().copied().fold(f32::INFINITY, f32::min);
            }
        }
        let num_distances = count.saturating_mul(OVERSAMPLING.0) / OVERSAMPLING.1 + OVERSAMPLING.2;
        selection.select(kernel, bounds, minima, num_distances, |_| true)?;
        probes.clear();
        alloc::try_reserve(probes, selection.entries.len())?;
        let prefetch = |position: u32| {
            let first = ids[position as usize] as usize * self.size;
            let values: &[f32] = &self.values;
            (0..self.size).step_by(16).take(LINES).for_each(|line| prefetch_at(values, first + line));
        };
        let Selection { entries, keys, .. } = selection;
        keys.clear();
        alloc::try_reserve(keys, entries.len())?;
        entries.iter().take(AHEAD).for_each(|&(_, position)| prefetch(position));
        for (order, &(_, position)) in entries.iter().enumerate() {
            if let Some(&(_, next)) = entries.get(order + AHEAD) {
                prefetch(next);
            }
            let id = ids[position as usize];
            let centroid = self.get(id);
            let square = instructions.run(
                #[inline(always)]
                || squared_distance(point, centroid),
            );
            match metric {
                ProbeMetric::L2 => keys.push(sort_key(square, id)),
                ProbeMetric::Product(of_mean) => {
                    let along = product(point, centroid);
                    let base = rounded_down(of_mean - along, of_mean.abs() + along.abs());
                    probes.push(Probe { order: square - self.weights[id as usize], square, base, partition: id });
                }
            }
        }
        if metric == ProbeMetric::L2 {
            // A probe by distance is its key, and integers are sorted faster.
            if count < keys.len() {
                keys.select_nth_unstable(count - 1);
                keys.truncate(count);
            }
            keys.sort_unstable();
            probes.extend(keys.iter().map(|&key| Probe::of_key(key)));
        } else {
            probes.sort_unstable_by_key(Probe::key);
            probes.truncate(count);
        }
        Ok(())
    }

    /// Return the centroid nearest to the point in `scratch.point`, or almost: the partition of a row.
    pub(super) fn nearest(&self, square: f32, scratch: &mut Scratch) -> Result<u32> {
        self.nearest_in(GROUPS_VISITED.0, square, scratch)
    }

    fn nearest_in(&self, num_groups: usize, square: f32, scratch: &mut Scratch) -> Result<u32> {
        let (kernel, instructions) = (Kernel::best(), Instructions::best());
        scratch.tables.fill(instructions, &scratch.point)?;
        let query = CentroidQuery { kernel, instructions, square, metric: ProbeMetric::L2, count: 1 };
        self.search_in(num_groups, query, scratch)?;
        Ok(scratch.probes.first().map_or(0, |probe| probe.partition))
    }
}

/// Copy one of some rotated points; return its square.
fn copy_point(values: &[f32], size: usize, position: usize, point: &mut Vec<f32>) -> Result<f32> {
    point.clear();
    alloc::try_extend(point, &values[position * size..(position + 1) * size])?;
    Ok(square(point))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::random::{base, gaussian, word};

    const SIZE: usize = 64;

    /// Points near an eight-dimensional subspace, like neighbours among real vectors.
    fn grouped(seed: u64, count: usize) -> Vec<f32> {
        let value = |seed: u64, stream: u64, at: usize| gaussian(word(base(seed, stream, 0), at as u64)) as f32;
        let point = |at: usize| {
            let inner: f32 =
                (0..8).map(|i| value(seed, 1, at / SIZE * 8 + i) * value(0, 2, i * SIZE + at % SIZE)).sum();
            inner + 0.3 * value(seed, 3, at)
        };
        (0..count * SIZE).map(point).collect()
    }

    /// A point with filled tables, and a query for the centroids nearest to it.
    fn prepare(point: &[f32], count: usize) -> (Scratch, CentroidQuery) {
        let (kernel, instructions) = (Kernel::best(), Instructions::best());
        let mut scratch = Scratch { point: point.to_vec(), ..Scratch::default() };
        scratch.tables.fill(instructions, point).expect("memory");
        (scratch, CentroidQuery { kernel, instructions, square: square(point), metric: ProbeMetric::L2, count })
    }

    fn nearest(centroids: &Centroids, point: &[f32], count: usize) -> Vec<(f32, u32)> {
        let (mut scratch, query) = prepare(point, count);
        centroids.search(query, &mut scratch).expect("a result");
        scratch.probes.iter().map(|probe| (probe.square, probe.partition)).collect()
    }

    fn brute_force(centroids: &Centroids, point: &[f32]) -> Vec<(f32, u32)> {
        let mut all: Vec<(f32, u32)> =
            (0..centroids.len() as u32).map(|id| (squared_distance(point, centroids.get(id)), id)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all
    }

    #[test]
    fn each_centroid_has_a_position_and_all_are_returned_in_order() {
        for count in [1, 7, 8, 9, 70, 700] {
            let centroids = Centroids::new(grouped(count as u64, count).into(), SIZE).expect("centroids");
            assert_eq!((count, count >= 8), (centroids.len(), centroids.groups.is_some()));
            let mut ids: Vec<u32> = centroids.ids.iter().copied().filter(|&id| id != NONE).collect();
            ids.sort_unstable();
            assert!(ids.iter().copied().eq(0..count as u32), "{ids:?}");
            for point in grouped(99, 3).chunks_exact(SIZE) {
                assert_eq!(brute_force(&centroids, point), nearest(&centroids, point, count));
            }
        }
    }

    #[test]
    fn groups_miss_few_centroids_that_a_scan_finds() {
        let values = grouped(3, 4000);
        let centroids = Centroids::new(values.clone().into(), SIZE).expect("centroids");
        let scanned = Centroids::grouped(values.into(), SIZE, None).expect("centroids");
        assert_eq!(63, centroids.groups.as_ref().expect("groups").len());
        for count in [1, 16, 64] {
            let num_right = |centroids: &Centroids| -> usize {
                let of_point = |point: &[f32]| {
                    let limit = brute_force(centroids, point)[count - 1].0;
                    nearest(centroids, point, count).iter().filter(|hit| hit.0 <= limit).count()
                };
                grouped(4, 100).chunks_exact(SIZE).map(of_point).sum()
            };
            let (with_groups, without) = (num_right(&centroids), num_right(&scanned));
            // Codes of groups are finer, so they may find centroids that a scan misses.
            assert!(20 * with_groups >= 19 * without, "{with_groups} and {without} of {}", 100 * count);
        }
    }

    #[test]
    fn a_search_returns_the_requested_number_whatever_the_distribution() {
        // Most are one point, which is in one group; the others are scattered.
        let mut values = grouped(6, 900);
        let point = values[..SIZE].to_vec();
        values.chunks_exact_mut(SIZE).filter(|value| value[0] > -4.0).for_each(|value| value.copy_from_slice(&point));
        let centroids = Centroids::new(values.into(), SIZE).expect("centroids");
        for point in grouped(7, 20).chunks_exact(SIZE) {
            for count in [1, 5, 40, 200, 899, 900, 2000] {
                assert_eq!(count.min(900), nearest(&centroids, point, count).len());
            }
            // One group alone has fewer.
            let (mut scratch, query) = prepare(point, 900);
            centroids.search_groups(1, query, &mut scratch).expect("a result");
            assert!(scratch.probes.len() < 900);
        }
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let values = grouped(5, 1500);
        let build = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| Centroids::new(values.clone().into(), SIZE).expect("centroids"))
        };
        let (single, other) = (build(1), build(3));
        assert_eq!(
            (&single.starts, &single.ids, &single.codes.codes[..]),
            (&other.starts, &other.ids, &other.codes.codes[..])
        );
    }
}
