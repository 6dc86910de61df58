//! IVF: rows in partitions around centroids, as codes of their residuals; a query searches the nearest partitions.
//!
//! A row x of partition j has the code of `P(x - c_j)` (`centroids` has `c_j`). One set of lookup tables per query serves all
//! partitions: with y = P(q - c) and the signs of the row,
//!
//! ```text
//! Σ ± P(q - c_j) = Σ ± y - Σ ± P(c_j - c)        offset = n² + 2 f Σ ± P(c_j - c)        base of a partition: ‖q - c_j‖²
//! ```
//! For inner products see `encode_residual_product` in `quantizer`; their partitions are those with the largest products.
//!
//! Rows are assigned by the search that finds the partitions of a query, so a row may be in a partition that is only almost
//! the nearest.
//!
//! The first rounds of a batch are interleaved over eight queries to hide memory latency. Then each partition is read once
//! for all queries that probe it. Results equal those of single queries.
//!
//! The rows of a partition fill consecutive blocks. Rows added later go to separate blocks of their partition; when
//! they outnumber the main part, all partitions are merged, without removed rows.
//!
//! Cost: the search for the partitions, and (rows in the probed partitions) D / 4 look-ups. Memory: D/8 + 13 bytes per row, that
//! of a centroid per partition, and on average half a block (16 rows of D/8 + 9 bytes) per partition.

use std::ops::Range;
use std::sync::Arc;

use crate::parallel::prelude::*;

use super::centroids::{CentroidQuery, Centroids};
use super::estimate::LookupTables;
use super::kernels::BLOCK;
use super::quantizer::{
    CodeTable, Correction, EncodedRows, Transformed, VectorTransform, encode_residual, encode_residual_product,
};
use super::rerank::{BlockRange, FIRST_ROUND, Probe, ProbeMetric, Rerank, Scratch, num_first_ranked};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::index::lsh::kernels::Metric;
use crate::segment::Column;
use crate::{Result, alloc};

/// The row of a position that has none.
pub(super) const NONE: u32 = u32::MAX;
/// Bytes of codes from which on they may be outside the caches. Tests are small, and reach both sides.
pub(super) const LARGE: usize = if cfg!(test) { 8 << 10 } else { 4 << 20 };
/// Number of queries whose first rounds are interleaved.
const INTERLEAVED: usize = 8;
/// Number of visits, and of rows to rank, to prefetch ahead.
const AHEAD: (usize, usize) = (2, 16);
/// How much farther than the nearest centroid that of a probed partition may be, as a share of the k-th distance.
///
/// If `r_j` is the distance to a centroid and d that to a row, `r_j - r_1 <= 2 d` for rows in the partition of their nearest
/// centroid. In many dimensions hardly any neighbour comes near that bound: measured on descriptors, pictures and texts, 0.5
/// misses one neighbour in a thousand, and prunes two thirds of the partitions of a million descriptors.
const REACH: f32 = 0.5;

/// Rows that were appended to a partition.
#[derive(Debug, Default)]
pub(super) struct AppendedRows {
    pub(super) codes: CodeTable,
    pub(super) rows: Vec<u32>,
}

/// Partitions and the codes of their rows.
#[derive(Debug)]
pub(crate) struct Ivf {
    pub(super) centroids: Arc<Centroids>,
    /// First block of each partition, and the end of the last.
    pub(super) starts: Column<u32>,
    pub(super) codes: CodeTable,
    /// Row at each position.
    pub(super) rows: Column<u32>,
    /// Number of rows in the main part, removed ones included.
    pub(super) num_rows: usize,
    pub(super) appended: Vec<AppendedRows>,
    /// Number of appended rows.
    pub(super) num_appended: usize,
    /// Blocks of the largest partition.
    pub(super) max_blocks: usize,
}

/// Scratch buffers of a batch.
#[derive(Debug, Default)]
pub(super) struct BatchScratch {
    /// For one query at a time.
    pub(super) single: Scratch,
    /// For queries in their first round.
    interleaved: Vec<Scratch>,
    pending: Vec<PendingQuery>,
    /// Partition, query, and the query's probe.
    visits: Vec<(u32, u32, u32)>,
}

impl BatchScratch {
    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let interleaved: usize = self.interleaved.iter().map(Scratch::bytes).sum();
        let pending = self.pending.iter().map(|query| 12 * query.candidates.capacity() + query.tables.bytes());
        self.single.bytes() + interleaved + pending.sum::<usize>()
    }
}

/// A query after its first round.
#[derive(Debug, Default)]
struct PendingQuery {
    tables: LookupTables,
    probes: Vec<Probe>,
    scored: Vec<(f64, u32)>,
    next: usize,
    round: usize,
    limit: f32,
    /// Of the partitions it probes later: index of the probe, a bound below the limit, its row.
    candidates: Vec<(u32, f32, u32)>,
}

impl Ivf {
    /// Create partitions without rows.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn new(centroids: Centroids, size: usize) -> Result<Self> {
        let count = centroids.len();
        Ok(Self {
            centroids: Arc::new(centroids),
            starts: alloc::try_zeroed::<u32>(count + 1)?.into(),
            codes: CodeTable::new(size),
            rows: Column::default(),
            num_rows: 0,
            appended: no_appended_rows(size, count)?,
            num_appended: 0,
            max_blocks: 0,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Blocks of a partition.
    fn blocks(&self, partition: u32) -> Range<usize> {
        self.starts[partition as usize] as usize..self.starts[partition as usize + 1] as usize
    }

    /// Maximum number of rows and centroids that a query may touch.
    pub(super) fn max_candidates(&self, num_probes: usize) -> usize {
        self.len() + num_probes.clamp(1, self.len()).saturating_mul(self.max_blocks * BLOCK)
    }

    pub(super) fn bytes(&self) -> usize {
        let appended: usize = self.appended.iter().map(|rows| rows.codes.bytes() + 4 * rows.rows.capacity()).sum();
        self.centroids.bytes() + self.codes.bytes() + self.starts.bytes() + self.rows.bytes() + appended
    }

    /// Encode a point of a partition; the point becomes its residual.
    pub(super) fn encode(
        &self,
        transform: &VectorTransform,
        partition: u32,
        transformed: Transformed,
        point: &mut [f32],
        instructions: Instructions,
        signs: &mut [u64],
    ) -> Correction {
        let centroid = self.centroids.get(partition);
        if transform.metric == Metric::InnerProduct {
            encode_residual_product(point, transformed.along, centroid, instructions, signs)
        } else {
            encode_residual(point, centroid, instructions, signs)
        }
    }

    /// Search the nearest partitions, in rounds of blocks.
    pub(super) fn search(&self, query: &Rerank<'_>, transformed: Transformed, scratch: &mut Scratch) -> Result<()> {
        self.find_partitions(query, transformed, scratch)?;
        if let Some(k) = query.k() {
            self.select_first(query, k, scratch)?;
            self.rank_first(query, scratch)?;
            query.rank_live(&mut scratch.rows, &mut scratch.scored)?;
        }
        while scratch.next < scratch.probes.len() {
            self.search_round(query, scratch)?;
        }
        Ok(())
    }

    /// Find the nearest partitions; for nearest neighbours, start the first round and prefetch its blocks.
    fn find_partitions(&self, query: &Rerank<'_>, transformed: Transformed, scratch: &mut Scratch) -> Result<()> {
        let metric = match query.context.metric {
            Metric::InnerProduct => ProbeMetric::Product(query.transform.base(transformed)),
            _ => ProbeMetric::L2,
        };
        let (kernel, instructions, square) = (query.kernel, query.instructions, transformed.square);
        let count = query.context.params.num_probes.clamp(1, self.len());
        self.centroids.search(CentroidQuery { kernel, instructions, square, metric, count }, scratch)?;
        (scratch.next, scratch.round) = (0, FIRST_ROUND);
        if query.k().is_some() {
            self.begin_round(scratch)?;
            scratch.ranges.iter().for_each(|range| self.prefetch(Some(range), &scratch.probes));
        }
        Ok(())
    }

    /// Run the first rounds of several queries, interleaved.
    fn first_rounds(&self, queries: &[Rerank<'_>], interleaved: &mut [Scratch]) -> Result<()> {
        let Some(k) = queries.first().and_then(Rerank::k) else { return Ok(()) };
        for (query, scratch) in queries.iter().zip(&mut *interleaved) {
            self.select_first(query, k, scratch)?;
            query.context.store.prefetch(scratch.rows.iter().copied());
        }
        for (query, scratch) in queries.iter().zip(&mut *interleaved) {
            self.rank_first(query, scratch)?;
            query.context.store.prefetch(scratch.rows.iter().copied().take(AHEAD.1));
        }
        for (query, scratch) in queries.iter().zip(interleaved) {
            query.rank_live(&mut scratch.rows, &mut scratch.scored)?;
        }
        Ok(())
    }

    /// Answer several queries, each as `search` does. After its first round a query waits for the others; then each partition
    /// is read once for all queries that probe it, and each query ranks the rows below its limit in rounds.
    pub(super) fn search_batch<'a>(
        &self,
        numbers: Range<usize>,
        begin: impl Fn(usize, &mut Scratch) -> Result<(Rerank<'a>, Transformed)>,
        scratch: &mut BatchScratch,
    ) -> Result<Vec<Vec<(f64, u32)>>> {
        let mut queries = alloc::try_with_capacity(numbers.len())?;
        let BatchScratch { single, interleaved, pending, visits } = scratch;
        alloc::try_reserve(interleaved, INTERLEAVED)?;
        interleaved.resize_with(INTERLEAVED, Scratch::default);
        alloc::try_reserve(pending, numbers.len())?;
        pending.resize_with(pending.len().max(numbers.len()), PendingQuery::default);
        visits.clear();
        for chunk in numbers.clone().step_by(INTERLEAVED).map(|first| first..(first + INTERLEAVED).min(numbers.end)) {
            let (first, interleaved) = (queries.len(), &mut interleaved[..chunk.len()]);
            for (number, scratch) in chunk.zip(&mut *interleaved) {
                let (query, transformed) = begin(number, scratch)?;
                self.find_partitions(&query, transformed, scratch)?;
                queries.push(query);
            }
            self.first_rounds(&queries[first..], interleaved)?;
            for (position, scratch) in (first..).zip(interleaved) {
                let (query, state) = (&queries[position], &mut pending[position]);
                state.limit = query.limit(&scratch.scored);
                while scratch.next < scratch.probes.len() && state.limit == f32::INFINITY {
                    self.search_round(query, scratch)?;
                    state.limit = query.limit(&scratch.scored);
                }
                self.prune(query, state.limit, &mut scratch.probes, scratch.next);
                (state.next, state.round) = (scratch.next, scratch.round);
                state.candidates.clear();
                std::mem::swap(&mut state.tables, &mut scratch.tables);
                std::mem::swap(&mut state.probes, &mut scratch.probes);
                std::mem::swap(&mut state.scored, &mut scratch.scored);
                alloc::try_reserve(visits, state.probes.len() - state.next)?;
                let own = state.next..state.probes.len();
                visits.extend(own.map(|probe| (state.probes[probe].partition, position as u32, probe as u32)));
            }
        }
        visits.sort_unstable();
        for (at, &(partition, position, probe)) in visits.iter().enumerate() {
            if let Some(&(next, ..)) = visits.get(at + AHEAD.0).filter(|next| next.0 != visits[at + AHEAD.0 - 1].0) {
                self.codes.prefetch(self.blocks(next));
            }
            self.collect_candidates(
                (partition, probe),
                &queries[position as usize],
                &mut pending[position as usize],
                single,
            )?;
        }
        let mut results = alloc::try_with_capacity(queries.len())?;
        for (position, query) in queries.iter().enumerate() {
            let (state, rest) = pending[position..].split_first_mut().expect("a state per query");
            state.candidates.sort_unstable_by_key(|&(probe, _, row)| (probe, row));
            if let Some(next) = rest.first() {
                query.context.store.prefetch(next.candidates.iter().take(AHEAD.1).map(|&(_, _, row)| row));
            }
            self.rank_candidates(query, state, single)?;
            results.push(query.finish(&mut state.scored)?);
            state.scored.clear();
        }
        Ok(results)
    }

    /// Search for the rows within a radius of each of some rows, which `begin` prepares as queries. Rows of a partition are
    /// searched for one after another, because they visit the same partitions.
    pub(super) fn search_rows<'a>(
        &self,
        rows: &[u32],
        begin: impl Fn(u32, &mut Scratch) -> Result<(Rerank<'a>, Transformed)> + Sync,
    ) -> Result<Vec<Vec<(f64, u32)>>> {
        // Rows with their positions in the result, by partition.
        let mut order: Vec<(u32, u32)> = alloc::try_with_capacity(rows.len())?;
        let partitions = self.partitions_of_rows(rows.iter().max().map_or(0, |&row| row as usize + 1))?;
        order.extend((0..).zip(rows).map(|(position, &row)| (partitions[row as usize], position)));
        order.sort_unstable();
        let found = alloc::try_map_parallel(order.par_iter().map_init(Scratch::default, |scratch, &(_, position)| {
            let (query, transformed) = begin(rows[position as usize], scratch)?;
            self.find_partitions(&query, transformed, scratch)?;
            self.prune(&query, query.limit(&[]), &mut scratch.probes, 0);
            while scratch.next < scratch.probes.len() {
                self.search_round(&query, scratch)?;
            }
            query.finish(&mut scratch.scored)
        }))?;
        let mut results = alloc::try_with_capacity(rows.len())?;
        results.resize_with(rows.len(), Vec::new);
        for (found, (_, position)) in found.into_iter().zip(order) {
            results[position as usize] = found;
        }
        Ok(results)
    }

    /// Return for each query and each of its rows how many partitions are nearer to the query than that of the row.
    pub(super) fn partition_ranks<'a>(
        &self,
        rows: &[u32],
        rows_per_query: usize,
        begin: impl Fn(usize, &mut Scratch) -> Result<(Rerank<'a>, Transformed)> + Sync,
    ) -> Result<Vec<u32>> {
        let partitions = self.partitions_of_rows(rows.iter().max().map_or(0, |&row| row as usize + 1))?;
        let queries = rows.par_chunks(rows_per_query).enumerate();
        let parts = alloc::try_map_parallel(queries.map_init(Scratch::default, |scratch, (number, rows)| {
            let (query, transformed) = begin(number, scratch)?;
            self.find_partitions(&query, transformed, scratch)?;
            let mut ranks = alloc::try_filled(u32::MAX, self.len())?;
            for (rank, probe) in (0..).zip(&scratch.probes) {
                ranks[probe.partition as usize] = rank;
            }
            alloc::try_collect(rows.iter().map(|&row| ranks[partitions[row as usize] as usize]))
        }))?;
        alloc::try_concat(parts)
    }

    /// Return the partition of each row below `total`; 0 for removed ones.
    fn partitions_of_rows(&self, total: usize) -> Result<Vec<u32>> {
        let mut partitions = alloc::try_zeroed::<u32>(total)?;
        for (partition, appended) in (0..).zip(&self.appended) {
            let blocks = self.blocks(partition);
            for &row in self.rows[blocks.start * BLOCK..blocks.end * BLOCK].iter().chain(&appended.rows) {
                if let Some(own) = partitions.get_mut(row as usize) {
                    *own = partition;
                }
            }
        }
        Ok(partitions)
    }

    /// Append the rows of a partition whose bounds are at most the limit of a query to its candidates.
    fn collect_candidates(
        &self,
        (partition, probe): (u32, u32),
        query: &Rerank<'_>,
        state: &mut PendingQuery,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { bounds, rows: positions, .. } = scratch;
        let partition_query = query.query_at(&state.tables, &state.probes[probe as usize]);
        let appended = &self.appended[partition as usize];
        for (codes, rows, range) in [
            (&self.codes, &self.rows[..], self.blocks(partition)),
            (&appended.codes, &appended.rows[..], 0..appended.codes.blocks()),
        ] {
            let (blocks, first) = (range.len(), range.start * BLOCK);
            if blocks == 0 {
                continue;
            }
            let (bounds, minima) = bounds.resize(blocks)?;
            codes.bounds(query.kernel, range, &partition_query, bounds, minima);
            positions.clear();
            query.kernel.filter_below(bounds, minima, state.limit, 0, positions)?;
            alloc::try_reserve(&mut state.candidates, positions.len())?;
            let candidates = positions.iter().map(|&at| (probe, bounds[at as usize], rows[first + at as usize]));
            state.candidates.extend(candidates.filter(|&(_, _, row)| query.is_alive(row)));
        }
        Ok(())
    }

    /// Rank the candidates of a query, round by round.
    fn rank_candidates(&self, query: &Rerank<'_>, state: &mut PendingQuery, scratch: &mut Scratch) -> Result<()> {
        let Scratch { rows, ranges, .. } = scratch;
        let mut at = 0;
        while state.next < state.probes.len() {
            let limit = query.limit(&state.scored);
            self.prune(query, limit, &mut state.probes, state.next);
            self.ranges_of_round(&state.probes, &mut state.next, state.round, ranges)?;
            state.round *= 2;
            let end = at + state.candidates[at..].partition_point(|&(probe, ..)| (probe as usize) < state.next);
            rows.clear();
            alloc::try_reserve(rows, end - at)?;
            rows.extend(state.candidates[at..end].iter().filter(|hit| hit.1 <= limit).map(|hit| hit.2));
            at = end;
            if !rows.is_empty() {
                query.rank(rows, &mut state.scored)?;
            }
        }
        Ok(())
    }

    /// Collect the blocks of a round: those of whole partitions from probe `next` on.
    fn ranges_of_round(
        &self,
        probes: &[Probe],
        next: &mut usize,
        round: usize,
        ranges: &mut Vec<BlockRange>,
    ) -> Result<()> {
        let (mut blocks, first) = (0, *next);
        ranges.clear();
        while *next < probes.len() && (blocks < round || *next == first) {
            let partition = probes[*next].partition;
            let main = self.blocks(partition);
            let appended = if self.num_appended == 0 { 0 } else { self.appended[partition as usize].codes.blocks() };
            for (is_appended, from, until) in [(false, main.start, main.end), (true, 0, appended)] {
                if from < until {
                    alloc::try_reserve(ranges, 1)?;
                    ranges.push(BlockRange { probe: *next, is_appended, from, until, at: blocks });
                    blocks += until - from;
                }
            }
            *next += 1;
        }
        Ok(())
    }

    /// Prune partitions from probe `next` on beyond reach of the limit. Without a given reach, nearest neighbours have
    /// `REACH` unless all partitions are requested, and a radius none: it would miss one row in a hundred. Product probes
    /// have no such order.
    fn prune(&self, query: &Rerank<'_>, limit: f32, probes: &mut Vec<Probe>, next: usize) {
        let params = &query.context.params;
        let default = if query.k().is_some() && params.num_probes < self.len() { Some(REACH) } else { None };
        if let Some(reach) = params.reach.or(default)
            && query.context.metric != Metric::InnerProduct
            && next < probes.len()
        {
            probes.truncate(num_within_reach(probes, limit, reach).max(next));
        }
    }

    /// Collect the blocks of a query's next round.
    fn begin_round(&self, scratch: &mut Scratch) -> Result<()> {
        self.ranges_of_round(&scratch.probes, &mut scratch.next, scratch.round, &mut scratch.ranges)?;
        scratch.round *= 2;
        Ok(())
    }

    /// Run a round of a query that has a limit: rank the rows with bounds below it.
    fn search_round(&self, query: &Rerank<'_>, scratch: &mut Scratch) -> Result<()> {
        let limit = query.limit(&scratch.scored);
        self.prune(query, limit, &mut scratch.probes, scratch.next);
        self.begin_round(scratch)?;
        let Scratch { tables, probes, rows: picked, ranges, scored, .. } = scratch;
        picked.clear();
        self.prefetch(ranges.first(), probes);
        for (number, range) in ranges.iter().enumerate() {
            self.prefetch(ranges.get(number + 1), probes);
            let ((codes, rows), begin) = (self.codes_of(range, probes), picked.len());
            let partition_query = query.query_at(tables, &probes[range.probe]);
            codes.scan_below(query.kernel, range.from..range.until, &partition_query, limit, picked)?;
            picked[begin..].iter_mut().for_each(|position| *position = rows[*position as usize]);
        }
        query.rank_live(picked, scored)
    }

    /// First round: select the rows with the smallest bounds.
    fn select_first(&self, query: &Rerank<'_>, k: usize, scratch: &mut Scratch) -> Result<()> {
        let Scratch { tables, bounds, selection, probes, rows, ranges, .. } = scratch;
        let (bounds, minima) = bounds.resize(ranges.last().map_or(0, BlockRange::end))?;
        for range in ranges.iter() {
            let partition_query = query.query_at(tables, &probes[range.probe]);
            let (bounds, minima) =
                (&mut bounds[range.at * BLOCK..range.end() * BLOCK], &mut minima[range.at..range.end()]);
            let codes = self.codes_of(range, probes).0;
            codes.bounds(query.kernel, range.from..range.until, &partition_query, bounds, minima);
        }
        let row_at = |position: usize| {
            let range = &ranges[ranges.partition_point(|range| range.at * BLOCK <= position) - 1];
            self.codes_of(range, probes).1[position - range.at * BLOCK + range.from * BLOCK]
        };
        let all_alive = query.context.rows.num_dead() == 0;
        let valid = |position| all_alive || query.is_alive(row_at(position));
        selection.select(query.kernel, bounds, minima, num_first_ranked(k), valid)?;
        rows.clear();
        alloc::try_reserve(rows, selection.entries.len())?;
        for &(_, position) in &selection.entries {
            bounds[position as usize] = f32::INFINITY;
            rows.push(row_at(position as usize));
        }
        Ok(())
    }

    /// Rank the selected rows, then collect the rows of the first round below the new limit.
    fn rank_first(&self, query: &Rerank<'_>, scratch: &mut Scratch) -> Result<()> {
        let Scratch { bounds, probes, rows: picked, scored, ranges, .. } = scratch;
        query.rank(picked, scored)?;
        let limit = query.limit(scored);
        picked.clear();
        let (bounds, minima) = bounds.get(ranges.last().map_or(0, BlockRange::end));
        for range in ranges.iter() {
            let (rows, begin) = (self.codes_of(range, probes).1, picked.len());
            let first = (range.from * BLOCK) as u32;
            let minima = &minima[range.at..range.end()];
            query.kernel.filter_below(&bounds[range.at * BLOCK..], minima, limit, first, picked)?;
            picked[begin..].iter_mut().for_each(|position| *position = rows[*position as usize]);
        }
        Ok(())
    }

    /// Prefetch blocks that are scanned next, if they may be outside the caches.
    fn prefetch(&self, range: Option<&BlockRange>, probes: &[Probe]) {
        if let Some(range) = range.filter(|_| self.codes.bytes() >= LARGE) {
            self.codes_of(range, probes).0.prefetch(range.from..range.until);
        }
    }

    /// Return the codes that a range belongs to, and the rows at their positions.
    fn codes_of(&self, range: &BlockRange, probes: &[Probe]) -> (&CodeTable, &[u32]) {
        if range.is_appended {
            let appended = &self.appended[probes[range.probe].partition as usize];
            (&appended.codes, &appended.rows)
        } else {
            (&self.codes, &self.rows)
        }
    }

    /// Reserve capacity for what `push` appends, or return merged partitions if there are many new rows.
    pub(super) fn prepare(
        &mut self,
        encoded: &EncodedRows,
        first: usize,
        alive: impl Fn(u32) -> bool,
        cancel: &CancelToken,
    ) -> Result<Option<Self>> {
        if self.num_appended + encoded.corrections.len() > self.num_rows {
            return self.merged(encoded, first, alive, cancel).map(Some);
        }
        let mut counts = alloc::try_zeroed::<u32>(self.len())?;
        encoded.partitions.iter().for_each(|&partition| counts[partition as usize] += 1);
        for (appended, count) in self.appended.iter_mut().zip(counts).filter(|(_, count)| *count > 0) {
            appended.codes.reserve(count as usize, cancel)?;
            alloc::try_reserve(&mut appended.rows, (count as usize).next_multiple_of(BLOCK) + BLOCK)?;
        }
        Ok(None)
    }

    /// Append rows, numbered from `first` on.
    pub(super) fn push(&mut self, encoded: &EncodedRows, first: usize) {
        let words = self.codes.size / 64;
        for (number, (&partition, correction)) in encoded.partitions.iter().zip(&encoded.corrections).enumerate() {
            let main = self.blocks(partition).len();
            let appended = &mut self.appended[partition as usize];
            let at = appended.codes.used;
            appended.codes.push(&encoded.signs[number * words..(number + 1) * words], *correction);
            if at == appended.rows.len() {
                appended.rows.resize(at + BLOCK, NONE);
            }
            appended.rows[at] = (first + number) as u32;
            self.max_blocks = self.max_blocks.max(main + appended.codes.blocks());
        }
        self.num_appended += encoded.corrections.len();
    }

    /// Merge all live rows and those of `encoded`, which are numbered from `first` on, into new partitions.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(super) fn merged(
        &self,
        encoded: &EncodedRows,
        first: usize,
        alive: impl Fn(u32) -> bool,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let (size, words) = (self.codes.size, self.codes.size / 64);
        // New rows by partition.
        let mut new_starts = alloc::try_zeroed::<u32>(self.len() + 1)?;
        encoded.partitions.iter().for_each(|&partition| new_starts[partition as usize + 1] += 1);
        alloc::prefix_sums(&mut new_starts);
        let mut new_rows = alloc::try_zeroed::<u32>(encoded.partitions.len())?;
        let mut ends = alloc::try_copy(&new_starts)?;
        for (number, &partition) in encoded.partitions.iter().enumerate() {
            new_rows[ends[partition as usize] as usize] = number as u32;
            ends[partition as usize] += 1;
        }
        let is_kept = |row: u32| row != NONE && alive(row);
        let positions = |partition: usize| {
            let blocks = self.blocks(partition as u32);
            blocks.start * BLOCK..blocks.end * BLOCK
        };
        let mut starts = alloc::try_with_capacity(self.len() + 1)?;
        starts.push(0_u32);
        for partition in cancel.ranges(0..self.len()).flatten() {
            let count = self.rows[positions(partition)].iter().filter(|&&row| is_kept(row)).count()
                + self.appended[partition].rows.iter().filter(|&&row| is_kept(row)).count()
                + (new_starts[partition + 1] - new_starts[partition]) as usize;
            starts.push(starts[partition] + count.div_ceil(BLOCK) as u32);
        }
        cancel.check()?;
        let (blocks, max_blocks) = (starts.last().copied().unwrap_or(0) as usize, max_blocks(&starts));
        let mut codes = CodeTable::empty(size, blocks)?;
        let mut rows = alloc::try_filled(NONE, blocks * BLOCK)?;
        let (mut signs, mut num_rows) = (alloc::try_zeroed::<u64>(words)?, 0);
        for partition in cancel.ranges(0..self.len()).flatten() {
            let mut at = starts[partition] as usize * BLOCK;
            let appended = &self.appended[partition];
            let main = positions(partition).map(|position| (&self.codes, position, self.rows[position]));
            let appended = appended.rows.iter().enumerate().map(|(at, &row)| (&appended.codes, at, row));
            for (from, position, row) in main.chain(appended).filter(|&(_, _, row)| is_kept(row)) {
                let correction = from.get(position, &mut signs);
                codes.put(at, &signs, correction);
                rows[at] = row;
                at += 1;
            }
            for &number in &new_rows[new_starts[partition] as usize..new_starts[partition + 1] as usize] {
                let number = number as usize;
                codes.put(at, &encoded.signs[number * words..(number + 1) * words], encoded.corrections[number]);
                rows[at] = (first + number) as u32;
                at += 1;
            }
            num_rows += at - starts[partition] as usize * BLOCK;
        }
        cancel.check()?;
        Ok(Self {
            centroids: Arc::clone(&self.centroids),
            starts: starts.into(),
            codes,
            rows: rows.into(),
            num_rows,
            appended: no_appended_rows(size, self.len())?,
            num_appended: 0,
            max_blocks,
        })
    }
}

/// Return how many probes, nearest first, are within reach of a limit.
fn num_within_reach(probes: &[Probe], limit: f32, reach: f32) -> usize {
    let farthest = probes[0].square.sqrt() + reach * limit.max(0.0).sqrt();
    probes.partition_point(|probe| probe.square.sqrt() <= farthest)
}

/// Return the blocks of the largest partition.
pub(super) fn max_blocks(starts: &[u32]) -> usize {
    starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
}

/// Create an empty list of appended rows per partition.
pub(super) fn no_appended_rows(size: usize, count: usize) -> Result<Vec<AppendedRows>> {
    alloc::try_collect((0..count).map(|_| AppendedRows { codes: CodeTable::new(size), rows: Vec::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_farther_by_half_the_distance_of_a_row_are_out_of_reach() {
        // Distances 2, 3, 3.5, 4 and 9 to the centroids.
        let probes = [4.0, 9.0, 12.25, 16.0, 81.0].map(|square| Probe::by_distance(square, 0));
        let cases = [
            (f32::INFINITY, 5),
            (196.0, 5),
            (195.0, 4),
            (9.0, 3),
            (4.0, 2),
            (1.0, 1),
            (0.0, 1),
            (f32::NEG_INFINITY, 1),
        ];
        for (limit, count) in cases {
            assert_eq!(count, num_within_reach(&probes, limit, REACH), "{limit}");
        }
    }
}
