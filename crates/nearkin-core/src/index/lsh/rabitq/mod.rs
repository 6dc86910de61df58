//! RaBitQ: one bit per rotated coordinate, an unbiased estimate of the distance, and a re-ranking that stops by its bound.
//!
//! | symbol | meaning | in the code |
//! |---|---|---|
//! | q, x | query, data vector (row) | `vectors` |
//! | c | centroid: the mean of all rows, or `c_j` of partition j | `VectorTransform::mean`, `Centroids::values` |
//! | P | random rotation of D coordinates (the paper's P⁻¹) | `Rotation` |
//! | r = P(x - c) | residual, rotated | `residual`, `point` |
//! | y = P(q - c) | residual of the query | `Scratch::point` |
//! | n = ‖r‖ | norm of a residual | `square` is n² |
//! | o = r / n | unit residual; its code is ō = sign(r) / √D | `CodeTable::codes` |
//! | a = ⟨ō, o⟩ = s / (n √D), s = Σ \|r\| | alignment of a unit residual with its code | `factor_and_width` |
//! | S = Σ ±y | sum of the query's coordinates with the signs of a row | sums in `kernels` |
//! | f = n² / s, w = √((1 - a²) D / (D - 1)) | factor of the estimate f S of r·y, width of its error | `Correction` |
//! | ε | standard deviations between the estimate and the bound | `deviations` |
//! | nprobe | number of partitions to search | `num_probes` |
//!
//! Source: J. Gao and C. Long, "`RaBitQ`: Quantizing High-Dimensional Vectors with a Theoretical Error Bound for Approximate
//! Nearest Neighbor Search", SIGMOD 2024, sections 3 and 4, lemmas B.1 to B.3. We differ in these points:
//!
//! - Residuals are not normalised: f S equals the paper's ⟨ō, y⟩ ‖r‖ / ⟨ō, o⟩.
//! - The query is not quantised to 4 bits per coordinate. Sums of four coordinates are tabulated and looked up by byte shuffles,
//!   after F. André, A.-M. Kermarrec and N. Le Scouarnec, "Quicker ADC", 2019; the rounding error enters the bound (`estimate`).
//! - The rotation is structured (Hadamard) or uniform; the bound holds for cosine and inner product, too (`quantizer`).
//! - One table per query serves all partitions, because the centroid's share of S is stored in the correction (`ivf`).
//! - Partitions beyond the reach of the current k-th distance are pruned (`ivf`).
//!
//! **Law.** A row is missed only if its bound exceeds its own distance, because the limit is never below the k-th distance. For
//! a random rotation that has at most the probability P(ε) (`estimate`): for any rows and any query a flat search finds each
//! true neighbour with probability at least 1 - P(ε). Searches of partitions have no such law; their recall is measured.
//!
//! **Cost.** Flat: n D / 4 look-ups, 16 to 64 per instruction, then d steps per ranked row.

mod centroids;
mod estimate;
mod file;
mod ivf;
mod kernels;
mod quantizer;
mod rerank;

use std::sync::{Mutex, PoisonError};

use crate::parallel::prelude::*;

use super::Hits;
use super::kernels::Metric;
use super::vectors::Vectors;
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::vectors::rotation::Rotation;
use crate::{Error, Result, alloc};
use centroids::Centroids;
pub(super) use estimate::EstimateParams;
use ivf::{BatchScratch, Ivf, LARGE};
use kernels::{BLOCK, Kernel};
use quantizer::{CodeTable, Correction, EncodedRows, Transformed, VectorTransform, encode_flat};
pub(super) use rerank::QueryContext;
use rerank::{FIRST_ROUND, Probe, Rerank, Scratch, num_first_ranked};

/// Rows that one task encodes.
const CHUNK: usize = 256;
/// Maximum number of queries in a batch over partitions, and maximum bytes of their tables.
const MAX_BATCH: (usize, usize) = (1024, 1 << 24);
/// Maximum bytes of scratch buffers that are kept for the next query.
const MAX_SCRATCH: usize = 1 << 24;

/// The seed of a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationSeed {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Stream of the random numbers: the kind of rotation.
    pub stream: u64,
}

/// How codes are stored.
#[derive(Debug)]
enum Layout {
    /// In order of rows; all are scanned.
    Flat(CodeTable),
    /// In partitions; a query scans the nearest.
    Ivf(Box<Ivf>),
}

/// The codes of the rows of an index.
#[derive(Debug)]
pub(crate) struct RaBitQIndex {
    seed: RotationSeed,
    transform: VectorTransform,
    layout: Layout,
    scratch_pool: Mutex<Vec<BatchScratch>>,
}

/// Rows that are encoded but not yet committed.
#[derive(Debug)]
pub(crate) struct PreparedRows {
    encoded: EncodedRows,
    /// Partitions merged with the new rows.
    merged: Option<Box<Ivf>>,
}

impl RaBitQIndex {
    /// Create an index without rows, with a transform fitted to the vectors that will be added first, and about `partitions`
    /// partitions trained on them; None for a flat index.
    ///
    /// # Errors
    /// The metric has no bound; there are more than 2^16 dimensions; vectors are out of range; the call is cancelled; memory
    /// runs out.
    pub(super) fn new(
        metric: Metric,
        seed: RotationSeed,
        partitions: Option<usize>,
        dim: usize,
        vectors: Vectors<'_>,
        count: usize,
    ) -> Result<Self> {
        check(metric)?;
        let rotation = Rotation::new(seed.seed, seed.stream, 0, dim)?;
        let size = rotation.size();
        let transform = VectorTransform::fit(metric, rotation, dim, vectors, count)?;
        let layout = match partitions {
            None => Layout::Flat(CodeTable::new(size)),
            Some(num_centroids) => {
                let centroids = Centroids::train(&transform, seed.seed, num_centroids, vectors, count)?;
                Layout::Ivf(Box::new(Ivf::new(centroids, size)?))
            }
        };
        Ok(Self { seed, transform, layout, scratch_pool: Mutex::default() })
    }

    /// Number of coordinates of a code.
    pub(super) fn size(&self) -> usize {
        self.transform.rotation.size()
    }

    /// Number of partitions; 0 for a flat index.
    pub(super) fn num_partitions(&self) -> usize {
        match &self.layout {
            Layout::Flat(_) => 0,
            Layout::Ivf(ivf) => ivf.len(),
        }
    }

    /// Maximum number of rows and centroids that a query may touch in an index of `rows` rows.
    pub(super) fn max_candidates(&self, rows: usize, num_probes: usize) -> usize {
        match &self.layout {
            Layout::Flat(_) => rows,
            Layout::Ivf(ivf) => ivf.max_candidates(num_probes).min(rows + ivf.len()),
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let layout = match &self.layout {
            Layout::Flat(codes) => codes.bytes(),
            Layout::Ivf(ivf) => ivf.bytes(),
        };
        layout + self.transform.rotation.bytes() + 4 * self.transform.mean.len()
    }

    /// Encode rows for `commit`.
    ///
    /// # Errors
    /// A vector is out of range; the call is cancelled; memory runs out.
    pub(super) fn prepare(
        &mut self,
        vectors: Vectors<'_>,
        count: usize,
        first: usize,
        alive: impl Fn(u32) -> bool,
        cancel: &CancelToken,
    ) -> Result<PreparedRows> {
        let encoded = self.encode(vectors, count, cancel)?;
        let merged = match &mut self.layout {
            Layout::Flat(codes) => {
                codes.reserve(count, cancel)?;
                None
            }
            Layout::Ivf(ivf) => ivf.prepare(&encoded, first, alive, cancel)?.map(Box::new),
        };
        Ok(PreparedRows { encoded, merged })
    }

    /// Append prepared rows, numbered from `first` on.
    pub(super) fn commit(&mut self, prepared: PreparedRows, first: usize) {
        let PreparedRows { encoded, merged } = prepared;
        match (&mut self.layout, merged) {
            (Layout::Flat(codes), _) => {
                let words = codes.size / 64;
                for (signs, correction) in encoded.signs.chunks_exact(words).zip(&encoded.corrections) {
                    codes.push(signs, *correction);
                }
            }
            (Layout::Ivf(ivf), Some(merged)) => *ivf = merged,
            (Layout::Ivf(ivf), None) => ivf.push(&encoded, first),
        }
    }

    /// Merge appended rows into the partitions, without dead rows.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out; nothing changes.
    pub(super) fn compact(&mut self, alive: impl Fn(u32) -> bool, cancel: &CancelToken) -> Result<()> {
        if let Layout::Ivf(ivf) = &mut self.layout {
            **ivf = ivf.merged(&EncodedRows::default(), 0, alive, cancel)?;
        }
        Ok(())
    }

    fn encode(&self, vectors: Vectors<'_>, count: usize, cancel: &CancelToken) -> Result<EncodedRows> {
        let words = self.size() / 64;
        let instructions = Instructions::best();
        let parts = alloc::try_map_parallel((0..count.div_ceil(CHUNK)).into_par_iter().map(|chunk| {
            cancel.check()?;
            let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(count);
            let mut encoded = EncodedRows {
                signs: alloc::try_zeroed::<u64>(rows.len() * words)?,
                corrections: alloc::try_with_capacity(rows.len())?,
                partitions: alloc::try_with_capacity(if self.num_partitions() > 0 { rows.len() } else { 0 })?,
            };
            let mut scratch = Scratch::default();
            for (row, signs) in rows.zip(encoded.signs.chunks_exact_mut(words)) {
                let transformed = self.transform.apply(instructions, vectors, row, &mut scratch.point)?;
                let partition = match &self.layout {
                    Layout::Flat(_) => 0,
                    Layout::Ivf(ivf) => {
                        let partition = ivf.centroids.nearest(transformed.square, &mut scratch)?;
                        encoded.partitions.push(partition);
                        partition
                    }
                };
                let point = &mut scratch.point;
                encoded.corrections.push(self.encode_in(partition, transformed, point, instructions, signs));
            }
            Ok(encoded)
        }))?;
        cancel.check()?;
        let mut all = EncodedRows {
            signs: alloc::try_with_capacity(count * words)?,
            corrections: alloc::try_with_capacity(count)?,
            partitions: alloc::try_with_capacity(if self.num_partitions() > 0 { count } else { 0 })?,
        };
        for part in parts {
            all.signs.extend(part.signs);
            all.corrections.extend(part.corrections);
            all.partitions.extend(part.partitions);
        }
        Ok(all)
    }

    /// Encode a rotated residual in a partition, 0 for a flat index; it becomes the residual from the centroid.
    fn encode_in(
        &self,
        partition: u32,
        transformed: Transformed,
        point: &mut [f32],
        instructions: Instructions,
        signs: &mut [u64],
    ) -> Correction {
        match &self.layout {
            Layout::Flat(_) => encode_flat(self.transform.metric, transformed, point, instructions, signs),
            Layout::Ivf(ivf) => ivf.encode(&self.transform, partition, transformed, point, instructions, signs),
        }
    }

    /// Answer all queries of a batch.
    ///
    /// # Errors
    /// A vector is out of range; the call is cancelled; memory runs out.
    pub(super) fn search(&self, context: QueryContext<'_>) -> Result<Hits> {
        let cancel = &CancelToken::current();
        let single = |pooled: &mut PooledScratch<'_>, number: usize| {
            cancel.check()?;
            self.search_one(context, number, &mut pooled.scratch.single)
        };
        let results = match &self.layout {
            _ if context.count == 1 => vec![single(&mut self.pooled_scratch(), 0)?],
            Layout::Ivf(ivf) if ivf.bytes() >= LARGE => {
                // The larger the batch, the more queries share a partition; results do not depend on it.
                let threads = rayon::current_num_threads();
                let tasks = if threads > 1 { 2 * threads } else { 1 };
                let size = context.count.div_ceil(tasks).min(MAX_BATCH.0).min(MAX_BATCH.1 / (4 * self.size())).max(1);
                let tasks = (0..context.count.div_ceil(size)).into_par_iter();
                alloc::try_concat(alloc::try_map_parallel(tasks.map_init(
                    || self.pooled_scratch(),
                    |pooled, task| {
                        let begin = |number: usize, scratch: &mut Scratch| {
                            cancel.check()?;
                            self.begin(context, number, scratch)
                        };
                        let numbers = task * size..((task + 1) * size).min(context.count);
                        ivf.search_batch(numbers, begin, &mut pooled.scratch)
                    },
                ))?)?
            }
            _ => {
                let numbers = (0..context.count).into_par_iter();
                alloc::try_map_parallel(numbers.map_init(|| self.pooled_scratch(), single))?
            }
        };
        cancel.check()?;
        Hits::new(&results)
    }

    /// Answer a radius search whose queries are live rows of the index; `context` has all vectors of the index.
    ///
    /// # Errors
    /// The call is cancelled; memory runs out.
    pub(super) fn search_rows(&self, context: QueryContext<'_>, rows: &[u32]) -> Result<Hits> {
        let cancel = &CancelToken::current();
        let results = match &self.layout {
            Layout::Flat(_) => alloc::try_map_parallel(rows.par_iter().map_init(
                || self.pooled_scratch(),
                |pooled, &row| {
                    cancel.check()?;
                    self.search_one(context, row as usize, &mut pooled.scratch.single)
                },
            ))?,
            Layout::Ivf(ivf) => ivf.search_rows(rows, |row, scratch| {
                cancel.check()?;
                self.begin(context, row as usize, scratch)
            })?,
        };
        cancel.check()?;
        Hits::new(&results)
    }

    /// Return for each query of `context` and each of its rows how many partitions are nearer than that of the row.
    ///
    /// # Errors
    /// The call is cancelled; memory runs out.
    pub(super) fn partition_ranks(&self, context: QueryContext<'_>, rows: &[u32]) -> Result<Vec<u32>> {
        match &self.layout {
            Layout::Flat(_) => alloc::try_zeroed(rows.len()),
            Layout::Ivf(ivf) => {
                ivf.partition_ranks(rows, (rows.len() / context.count.max(1)).max(1), |number, scratch| {
                    self.begin(context, number, scratch)
                })
            }
        }
    }

    /// Transform a query and fill its lookup tables.
    fn begin<'a>(
        &'a self,
        context: QueryContext<'a>,
        number: usize,
        scratch: &mut Scratch,
    ) -> Result<(Rerank<'a>, Transformed)> {
        let (instructions, kernel) = (Instructions::best(), Kernel::best());
        let transformed = self.transform.apply(instructions, context.vectors, number, &mut scratch.point)?;
        scratch.tables.fill(instructions, &scratch.point)?;
        scratch.scored.clear();
        Ok((Rerank { context, transform: &self.transform, number, instructions, kernel }, transformed))
    }

    fn search_one(&self, context: QueryContext<'_>, number: usize, scratch: &mut Scratch) -> Result<Vec<(f64, u32)>> {
        let (query, transformed) = self.begin(context, number, scratch)?;
        match &self.layout {
            Layout::Flat(codes) => scan(codes, &query, transformed, scratch)?,
            Layout::Ivf(ivf) => ivf.search(&query, transformed, scratch)?,
        }
        query.finish(&mut scratch.scored)
    }

    fn pooled_scratch(&self) -> PooledScratch<'_> {
        let scratch = self.scratch_pool.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        PooledScratch { scratch, pool: &self.scratch_pool }
    }
}

/// Scratch buffers that return to their pool when dropped.
struct PooledScratch<'a> {
    scratch: BatchScratch,
    pool: &'a Mutex<Vec<BatchScratch>>,
}

impl Drop for PooledScratch<'_> {
    fn drop(&mut self) {
        if self.scratch.bytes() <= MAX_SCRATCH {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            if pool.len() < pool.capacity() || pool.try_reserve(1).is_ok() {
                pool.push(std::mem::take(&mut self.scratch));
            }
        }
    }
}

/// Check that a metric has a bound.
pub(super) fn check(metric: Metric) -> Result<()> {
    if metric == Metric::L1 {
        let allowed = "\"l2\", \"cosine\" or \"inner_product\" with rank=\"estimate\"";
        return Err(Error::parameter("metric", "\"l1\"", allowed));
    }
    Ok(())
}

/// Search all codes: compute all bounds, rank the rows with the smallest, then those below the limit.
fn scan(codes: &CodeTable, query: &Rerank<'_>, transformed: Transformed, scratch: &mut Scratch) -> Result<()> {
    let Scratch { tables, bounds, selection, rows, scored, .. } = scratch;
    let base = query.transform.base(transformed);
    let probe = Probe { base, ..Probe::by_distance(transformed.square, 0) };
    let blocks = codes.blocks();
    let (bounds, minima) = bounds.resize(blocks)?;
    let kernel = query.kernel;
    codes.bounds(kernel, 0..blocks, &query.query_at(tables, &probe), bounds, minima);
    if let Some(k) = query.k() {
        selection.select(kernel, bounds, minima, num_first_ranked(k), |row| query.is_alive(row as u32))?;
        rows.clear();
        alloc::try_reserve(rows, selection.entries.len())?;
        rows.extend(selection.entries.iter().map(|&(_, row)| row));
        for &row in rows.iter() {
            bounds[row as usize] = f32::INFINITY;
        }
        query.rank(rows, scored)?;
    }
    let (mut from, mut round) = (0, FIRST_ROUND);
    while from < blocks {
        let until = (from + round).min(blocks);
        let limit = query.limit(scored);
        rows.clear();
        kernel.filter_below(&bounds[from * BLOCK..], &minima[from..until], limit, (from * BLOCK) as u32, rows)?;
        query.rank_live(rows, scored)?;
        (from, round) = (until, round * 2);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
