//! Locality-sensitive hashing of vectors: bucket tables with multi-probe, RaBitQ, or a scan of binary codes; then true distances.
//!
//! A family of hash functions (outside this crate) computes H hashes per vector. The index stores the vectors and a
//! *filter*:
//!
//! - *buckets*: L tables of k hashes each (`keys`, `buckets`); a query looks up T buckets per table, the most likely ones
//!   first (`probe`). If a hash of a vector equals the query's with probability p, one table finds the vector with
//!   probability p^k at T = 1, and the index with 1 - (1 - p^k)^L (Indyk & Motwani 1998; Datar et al. 2004).
//! - *`RaBitQ`*: one bit per coordinate of a random rotation, an estimate of the distance and a bound that ends the ranking
//!   (`rabitq`).
//! - *codes*: all bits of each vector, scanned for the m nearest by Hamming or spherical Hamming distance, ties by row.
//!
//! Candidates, each live row at most once, are ranked by the true distance (`vectors`), ties by id. There is no other source
//! of results: if the filter returns fewer than k rows, so does the index.
//!
//! **Cost.** Buckets: L T look-ups, then d steps per candidate; memory in `buckets`. Codes: n H / 64 word comparisons,
//! then d steps for each of m candidates; n H / 8 bytes. **Limits.** 2^32 - 2 rows over the life of an index. The
//! vector of a removed row occupies memory until the index is rebuilt.

pub mod buckets;
mod codes;
mod file;
pub mod join;
mod kernels;
pub mod keys;
pub mod probe;
mod rabitq;
mod spherical;
pub mod vectors;

use crate::parallel::prelude::*;

use crate::alloc;
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::popcount::Kernel;
use crate::index::rows::{Batch, Existing, Keys, NewIds, Rows};
use crate::segment::{Column, Segment};
use crate::{Error, Result};
use buckets::BucketRun;
use codes::Codes;
pub use kernels::Metric;
use keys::mix;
pub use keys::{HashKind, Hashes, TableLayout};
use probe::{Alternative, Change, Prober};
pub use rabitq::RotationSeed;
use rabitq::{EstimateParams, QueryContext, RaBitQIndex};
pub use vectors::{OwnedVectors, VectorStore, Vectors};

/// Maximum number of probes per table.
pub const MAX_PROBES: usize = 1 << 20;
/// Maximum number of standard deviations between an estimate and its bound.
pub const MAX_DEVIATIONS: f64 = 40.0;
/// Queries of one task of a code scan: enough to amortise reading a tile of rows.
const CHUNK: usize = 64;
/// Candidates scored between two cancellation points.
const SCORE_BLOCK: usize = 1 << 14;

/// How candidates are found.
#[derive(Debug)]
enum Filter {
    /// Bucket tables, in runs; rows of a run are lower than those of the next.
    Buckets { layout: TableLayout, runs: Vec<BucketRun> },
    /// Scanned codes.
    Codes(Codes),
    /// `RaBitQ` codes.
    RaBitQ(Box<RaBitQIndex>),
}

/// Alternative values of each hash of a batch of queries, `per_hash` per hash, in any order.
#[derive(Debug, Clone, Copy)]
pub struct Alternatives<'a> {
    /// Number of alternatives per hash.
    pub per_hash: usize,
    /// Integers: the other values. Bits: empty, the other value is the flipped bit.
    pub values: &'a [i64],
    /// Cost of each, 0 or more; infinite for no alternative.
    pub costs: &'a [f64],
}

/// The work per query, by filter.
#[derive(Debug, Clone, Copy)]
pub enum SearchParams {
    /// This many buckets per table, the query's own first.
    Probes(usize),
    /// This many rows with the nearest codes by Hamming distance.
    Codes(usize),
    /// This many rows with the nearest codes by spherical Hamming distance.
    Spherical(usize),
    /// Rows whose bound, this many standard deviations below the estimate, does not rule them out.
    Estimate {
        /// ε, 0 or more.
        deviations: f64,
        /// Number of partitions to search (nprobe); ignored without partitions.
        num_probes: usize,
        /// Partitions whose centroid is farther than the nearest one by more than this share of the radius or of the k-th
        /// distance are not searched. None is the default for nearest neighbours, and no limit for a radius.
        reach: Option<f32>,
    },
}

/// A batch of queries.
#[derive(Debug, Clone, Copy)]
pub struct Queries<'a> {
    /// Their hashes.
    pub hashes: Hashes<'a>,
    /// Needed for more than one probe per table.
    pub alternatives: Option<Alternatives<'a>>,
    /// The work per query.
    pub params: SearchParams,
}

/// The kind of a query.
#[derive(Debug, Clone, Copy)]
pub enum Query {
    /// The k nearest.
    Knn(usize),
    /// All within a distance, inclusive.
    Radius(f64),
}

/// Hits with distances.
pub type Hits = crate::index::hits::Hits<f64>;

/// Candidates of a batch of queries, ascending per query.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// One more than the number of queries.
    pub offsets: Vec<i64>,
    /// Row of each candidate.
    pub rows: Vec<u32>,
    /// Number of rows in the buckets of each query, before duplicates are dropped.
    pub num_met: Vec<u64>,
}

/// An index of vectors.
#[derive(Debug)]
pub struct Index {
    metric: Metric,
    filter: Filter,
    store: VectorStore,
    rows: Rows,
    /// Opaque to the index.
    metadata: Column<u8>,
    segment: Option<Segment>,
}

/// Scratch buffers, shared by the queries of one task.
#[derive(Default)]
struct Scratch {
    prober: Prober,
    keys: Vec<u64>,
    probes: Vec<(u32, u64)>,
    spans: Vec<(u32, u32, u32)>,
    /// One bit per row, all zero between queries.
    seen: Vec<u64>,
    rows: Vec<u32>,
    scored: Vec<(f64, u32)>,
}

impl Index {
    /// Create an empty index of bucket tables.
    pub fn with_buckets(metric: Metric, layout: TableLayout, store: VectorStore) -> Self {
        Self::of(metric, Filter::Buckets { layout, runs: Vec::new() }, store)
    }

    /// Create an empty index of codes of `bits` bits.
    ///
    /// # Errors
    /// `bits` is out of range.
    pub fn with_codes(metric: Metric, bits: usize, store: VectorStore) -> Result<Self> {
        if bits == 0 || bits > crate::cpu::popcount::MAX_BITS {
            return Err(Error::parameter("bits", bits, format!("1 to {}", crate::cpu::popcount::MAX_BITS)));
        }
        Ok(Self::of(metric, Filter::Codes(Codes::new(bits)), store))
    }

    /// Create an empty `RaBitQ` index, fitted to the vectors that will be added first: of about `partitions` partitions, or
    /// flat.
    ///
    /// # Errors
    /// The metric has no bound; there are more than 2^16 dimensions; vectors are bad; the call is cancelled; memory runs out.
    pub fn with_rabitq(
        metric: Metric,
        seed: RotationSeed,
        partitions: Option<usize>,
        store: VectorStore,
        vectors: Vectors<'_>,
    ) -> Result<Self> {
        let count = store.check(metric, vectors)?;
        let rabitq = RaBitQIndex::new(metric, seed, partitions, store.dim(), vectors, count)?;
        Ok(Self::of(metric, Filter::RaBitQ(Box::new(rabitq)), store))
    }

    /// Return the coordinates of `RaBitQ` codes and the number of partitions, 0 for a flat index.
    pub fn rabitq_shape(&self) -> Option<(usize, usize)> {
        match &self.filter {
            Filter::RaBitQ(rabitq) => Some((rabitq.size(), rabitq.num_partitions())),
            _ => None,
        }
    }

    /// Maximum number of rows that one query may touch.
    pub fn max_candidates(&self, params: &SearchParams) -> usize {
        match (&self.filter, params) {
            (Filter::RaBitQ(rabitq), &SearchParams::Estimate { num_probes, .. }) => {
                rabitq.max_candidates(self.len(), num_probes)
            }
            _ => self.len(),
        }
    }

    fn of(metric: Metric, filter: Filter, store: VectorStore) -> Self {
        Self { metric, filter, store, rows: Rows::default(), metadata: Column::default(), segment: None }
    }

    /// Return the ids, row numbers and tombstones.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Number of live vectors.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no live vectors.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The vectors.
    pub fn store(&self) -> &VectorStore {
        &self.store
    }

    /// Bytes in memory of the filter, the vectors and the rows.
    pub fn bytes(&self) -> (usize, usize, usize) {
        let filter = match &self.filter {
            Filter::Buckets { runs, .. } => runs.iter().map(BucketRun::bytes).sum(),
            Filter::Codes(codes) => codes.values.bytes(),
            Filter::RaBitQ(rabitq) => rabitq.bytes(),
        };
        (filter, self.store.bytes(), self.rows.bytes())
    }

    /// Return the metadata that the caller has attached.
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// Attach metadata, which is saved with the index.
    pub fn set_metadata(&mut self, metadata: Vec<u8>) {
        self.metadata = metadata.into();
    }

    fn count(&self, hashes: Hashes<'_>) -> Result<usize> {
        match (&self.filter, hashes) {
            (Filter::Buckets { layout, .. }, _) => layout.rows(hashes),
            (Filter::Codes(Codes { bits, words, .. }), Hashes::Bits(fps)) => {
                if !fps.len().is_multiple_of(*words) {
                    let allowed = format!("{words} words per row for bits={bits}");
                    return Err(Error::parameter("hashes", format!("{} words", fps.len()), allowed));
                }
                crate::cpu::popcount::check_fingerprints(fps, *bits)?;
                Ok(fps.len() / words)
            }
            (Filter::Codes(_), Hashes::Ints(_)) => Err(Error::mismatch("kind of hashes", "Ints", "Bits")),
            (Filter::RaBitQ(_), _) => Err(Error::mismatch("filter", "hashes", "none, since codes are made of vectors")),
        }
    }

    /// Add rows; return the number added. A call that fails changes nothing.
    ///
    /// # Errors
    /// Counts differ; vectors are bad; ids are of another kind than before; with `Existing::Error` an id exists or occurs twice;
    /// there would be more than 2^32 - 2 rows; the call is cancelled; memory runs out.
    pub fn add(
        &mut self,
        ids: NewIds<'_>,
        hashes: Hashes<'_>,
        vectors: Vectors<'_>,
        existing: Existing,
    ) -> Result<usize> {
        let num_vectors = self.store.check(self.metric, vectors)?;
        let num_hashed = if matches!(self.filter, Filter::RaBitQ(_)) { num_vectors } else { self.count(hashes)? };
        if num_hashed != num_vectors {
            return Err(Error::mismatch(
                "number of rows",
                format!("{num_vectors} vectors"),
                format!("{num_hashed} hashes"),
            ));
        }
        let batch = self.rows.prepare(ids, num_vectors, "vectors", existing)?;
        let count = batch.count;
        if count == 0 {
            return Ok(0);
        }
        let Some(chosen) = &batch.chosen else {
            self.append(hashes, vectors, batch)?;
            return Ok(count);
        };
        let vectors = vectors.select(self.store.dim(), chosen)?;
        match hashes {
            Hashes::Bits(words) => {
                let words = batch.of(words, words.len() / num_vectors)?;
                self.append(Hashes::Bits(&words), vectors.view(), batch)?;
            }
            Hashes::Ints(values) => {
                let values = batch.of(values, values.len() / num_vectors)?;
                self.append(Hashes::Ints(&values), vectors.view(), batch)?;
            }
        }
        Ok(count)
    }

    /// Append rows: first build the run, then append the vectors, then commit; the last step cannot fail.
    fn append(&mut self, hashes: Hashes<'_>, vectors: Vectors<'_>, batch: Batch<'_>) -> Result<()> {
        let cancel = &CancelToken::current();
        let rows = &self.rows;
        let first = batch.first;
        let alive = |row| rows.is_alive(row) && !batch.replaces(row);
        let mut prepared = None;
        let new_run = match &mut self.filter {
            Filter::RaBitQ(rabitq) => {
                prepared = Some(rabitq.prepare(vectors, batch.count, first, alive, cancel)?);
                None
            }
            Filter::Buckets { layout, runs } => {
                let mut run = BucketRun::build(layout, hashes, batch.count, batch.first as u32, cancel)?;
                let mut keep = runs.len();
                while let Some(last) = runs[..keep].last().filter(|last| last.len <= 2 * run.len) {
                    run = last.merge(&run, alive, cancel)?;
                    keep -= 1;
                }
                alloc::try_reserve(runs, 1)?;
                Some((keep, run))
            }
            Filter::Codes(codes) => {
                codes.reserve(batch.count, cancel)?;
                None
            }
        };
        self.store.push(self.metric, vectors, cancel)?;
        self.rows.commit(batch);
        match (&mut self.filter, new_run, hashes) {
            (Filter::Buckets { runs, .. }, Some((keep, run)), _) => {
                runs.truncate(keep);
                runs.push(run);
            }
            (Filter::Codes(codes), _, Hashes::Bits(new)) => codes.push(new),
            (Filter::RaBitQ(rabitq), ..) => {
                if let Some(prepared) = prepared {
                    rabitq.commit(prepared, first);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Remove ids (or row numbers); return the number removed. A call that fails changes nothing.
    ///
    /// # Errors
    /// An id does not exist, unless `missing_ok`.
    pub fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> Result<usize> {
        self.rows.remove(ids, missing_ok)
    }

    /// Merge all runs into one without dead rows. If it is cancelled, the rows are the same, in more runs.
    fn compact(&mut self) -> Result<()> {
        let (rows, cancel) = (&self.rows, &CancelToken::current());
        let alive = |row| rows.is_alive(row);
        if let Filter::RaBitQ(rabitq) = &mut self.filter {
            rabitq.compact(alive, cancel)?;
        }
        if let Filter::Buckets { layout, runs } = &mut self.filter {
            while let [.., before, last] = &runs[..] {
                let merged = before.merge(last, alive, cancel)?;
                runs.truncate(runs.len() - 2);
                runs.push(merged);
            }
            if let [run] = &mut runs[..]
                && run.len != rows.len()
            {
                *run = run.merge(&BucketRun::empty(layout.tables()), alive, cancel)?;
            }
        }
        Ok(())
    }

    fn check_queries(&self, queries: &Queries<'_>) -> Result<usize> {
        if matches!(self.filter, Filter::RaBitQ(_)) {
            let allowed = "nearest or search: with rank=\"estimate\" they depend on what is wanted";
            return Err(Error::parameter("candidates", "without k or a radius", allowed));
        }
        let count = self.count(queries.hashes)?;
        match (&self.filter, queries.params) {
            (Filter::Buckets { layout, .. }, SearchParams::Probes(probes)) => {
                if probes == 0 || probes > MAX_PROBES {
                    return Err(Error::parameter("num_probes", probes, format!("1 to {MAX_PROBES}")));
                }
                if let Some(other) = queries.alternatives {
                    let num_costs = count * layout.hashes() * other.per_hash;
                    let values = if layout.kind() == HashKind::Bits { 0 } else { num_costs };
                    let single = layout.kind() == HashKind::Ints || other.per_hash == 1;
                    if other.costs.len() != num_costs || other.values.len() != values || !single {
                        return Err(Error::parameter(
                            "alternatives",
                            format!("{} costs", other.costs.len()),
                            format!("{} for each hash of each query", other.per_hash),
                        ));
                    }
                    if let Some(cost) = other.costs.iter().find(|cost| cost.is_nan() || **cost < 0.0) {
                        return Err(Error::parameter("costs", cost, "numbers of 0 or more"));
                    }
                } else if probes > 1 {
                    return Err(Error::parameter("num_probes", probes, "1 for a family without alternatives"));
                }
            }
            (Filter::Codes(_), SearchParams::Codes(num) | SearchParams::Spherical(num)) if num > 0 => {}
            (Filter::Codes(_), SearchParams::Codes(num) | SearchParams::Spherical(num)) => {
                return Err(Error::parameter("num_candidates", num, "1 or more"));
            }
            _ => return Err(Error::mismatch("effort", format!("{:?}", queries.params), "the index's filter")),
        }
        Ok(count)
    }

    /// Call `work` with each query's candidates (in no order) and collect its results in order of queries.
    ///
    /// # Errors
    /// Those of `work`; the call is cancelled; memory runs out.
    fn each<T: Send>(
        &self,
        queries: &Queries<'_>,
        count: usize,
        work: impl Fn(&mut Scratch, usize, u64, &CancelToken) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let cancel = &CancelToken::current();
        let results = match &self.filter {
            // `RaBitQIndex::search` answers these.
            Filter::RaBitQ(_) => Vec::new(),
            Filter::Buckets { layout, runs } => {
                let answer = |scratch: &mut Scratch, number: usize| {
                    let num_met = self.walk(layout, runs, queries, number, scratch, cancel)?;
                    cancel.check()?;
                    work(scratch, number, num_met, cancel)
                };
                if count == 1 {
                    // One query does not justify waking a thread.
                    vec![answer(&mut Scratch::default(), 0)?]
                } else {
                    alloc::try_map_parallel((0..count).into_par_iter().map_init(Scratch::default, answer))?
                }
            }
            Filter::Codes(codes) => {
                let Hashes::Bits(fps) = queries.hashes else { return Ok(Vec::new()) };
                let kernel = Kernel::best();
                let scan_chunk = |scratch: &mut Scratch, (chunk, fps): (usize, &[u64])| {
                    let alive = |row| self.rows.num_dead() == 0 || self.rows.is_alive(row);
                    let results = match queries.params {
                        SearchParams::Codes(num_candidates) => {
                            codes.nearest(kernel, fps, num_candidates, alive, cancel)?
                        }
                        SearchParams::Spherical(num_candidates) => {
                            codes.nearest_spherical(kernel, fps, num_candidates, alive, cancel)?
                        }
                        SearchParams::Probes(_) | SearchParams::Estimate { .. } => Vec::new(),
                    };
                    let each = results.into_iter().enumerate().map(|(position, rows)| {
                        cancel.check()?;
                        let num_met = rows.len() as u64;
                        scratch.rows = rows;
                        work(scratch, chunk * CHUNK + position, num_met, cancel)
                    });
                    each.collect::<Result<Vec<T>>>()
                };
                if count == 1 {
                    scan_chunk(&mut Scratch::default(), (0, fps))?
                } else {
                    let chunks = fps.par_chunks(CHUNK * codes.words).enumerate();
                    let parts = chunks.map_init(Scratch::default, scan_chunk).collect::<Result<Vec<Vec<T>>>>()?;
                    alloc::try_concat(parts)?
                }
            }
        };
        cancel.check()?;
        Ok(results)
    }

    /// Write the distinct live rows in the buckets of a query to `scratch.rows`; return the number of rows in those buckets.
    fn walk(
        &self,
        layout: &TableLayout,
        runs: &[BucketRun],
        queries: &Queries<'_>,
        number: usize,
        scratch: &mut Scratch,
        cancel: &CancelToken,
    ) -> Result<u64> {
        let SearchParams::Probes(num_probes) = queries.params else { return Ok(0) };
        let Scratch { prober, keys, probes, spans, seen, rows, .. } = scratch;
        let change = if layout.kind() == HashKind::Bits { Change::Flip } else { Change::Add };
        probes.clear();
        for table in 0..layout.tables() {
            cancel.check()?;
            keys.clear();
            let key = layout.key(queries.hashes, number, table);
            prober.clear();
            if let (Some(other), true) = (queries.alternatives, num_probes > 1) {
                prober.reserve(layout.per_table() * other.per_hash)?;
                for (position, &column) in layout.columns_of(table).iter().enumerate() {
                    let hash = number * layout.hashes() + column as usize;
                    for at in hash * other.per_hash..(hash + 1) * other.per_hash {
                        let delta = match queries.hashes {
                            Hashes::Bits(_) => 1 << position,
                            Hashes::Ints(values) => layout.step(position, other.values[at].wrapping_sub(values[hash])),
                        };
                        prober.offer(Alternative { cost: other.costs[at], position: position as u32, delta });
                    }
                }
            }
            prober.keys(key, change, num_probes, keys)?;
            alloc::try_reserve(probes, keys.len())?;
            probes.extend(keys.iter().map(|&key| (table as u32, mix(key))));
        }
        let words = self.rows.total().div_ceil(64);
        alloc::try_reserve(seen, words.saturating_sub(seen.len()))?;
        seen.resize(words, 0);
        spans.clear();
        alloc::try_reserve(spans, probes.len())?;
        rows.clear();
        let (mut num_met, mut full) = (0, None);
        for run in runs {
            run.look_up(probes, spans, |bucket| {
                num_met += bucket.len() as u64;
                full = full.take().or_else(|| alloc::try_reserve(rows, bucket.len()).err());
                if full.is_some() {
                    return;
                }
                for &row in bucket {
                    let (word, bit) = (row as usize / 64, 1 << (row % 64));
                    if seen[word] & bit == 0 {
                        seen[word] |= bit;
                        rows.push(row);
                    }
                }
            });
        }
        for &row in rows.iter() {
            seen[row as usize / 64] = 0;
        }
        if let Some(error) = full {
            return Err(error);
        }
        if self.rows.num_dead() > 0 {
            rows.retain(|&row| self.rows.is_alive(row));
        }
        Ok(num_met)
    }

    /// Return the candidates of each query, without distances.
    ///
    /// # Errors
    /// Queries that do not fit the index.
    pub fn candidates(&self, queries: &Queries<'_>) -> Result<Candidates> {
        let count = self.check_queries(queries)?;
        let results = self.each(queries, count, |scratch, _, num_met, _| {
            scratch.rows.sort_unstable();
            Ok((alloc::try_copy(&scratch.rows)?, num_met))
        })?;
        let total = results.iter().map(|(rows, _)| rows.len()).sum();
        let mut all = Candidates {
            offsets: alloc::try_with_capacity(count + 1)?,
            rows: alloc::try_with_capacity(total)?,
            num_met: alloc::try_with_capacity(count)?,
        };
        all.offsets.push(0);
        for (rows, num_met) in results {
            all.rows.extend(rows);
            all.num_met.push(num_met);
            all.offsets.push(all.rows.len() as i64);
        }
        Ok(all)
    }

    /// Return the nearest candidates of each query, or those within a radius, by true distance.
    ///
    /// # Errors
    /// Queries do not fit the index; vectors are bad; the radius is NaN; k is 0.
    pub fn query(&self, queries: &Queries<'_>, vectors: Vectors<'_>, query: Query) -> Result<Hits> {
        match query {
            Query::Knn(0) => return Err(Error::parameter("k", 0, "1 or more")),
            Query::Radius(radius) if radius.is_nan() => {
                return Err(Error::parameter("radius", radius, "a number"));
            }
            _ => {}
        }
        if let (Filter::RaBitQ(rabitq), SearchParams::Estimate { deviations, num_probes, reach }) =
            (&self.filter, queries.params)
        {
            return self.estimated(rabitq, EstimateParams { deviations, num_probes, reach }, vectors, query);
        }
        let count = self.check_queries(queries)?;
        let num_vectors = self.store.check_queries(self.metric, vectors)?;
        if num_vectors != count {
            return Err(Error::mismatch("number of rows", format!("{num_vectors} vectors"), format!("{count} hashes")));
        }
        let results = self.each(queries, count, |scratch, number, _, cancel| {
            let Scratch { rows, scored, .. } = scratch;
            self.rank(rows, vectors, number, query, scored, cancel)
        })?;
        Hits::new(&results)
    }

    /// Return the k nearest of all rows to each query, by true distance. Cost: n d steps per query.
    ///
    /// # Errors
    /// Vectors are bad; k is 0; the call is cancelled; memory runs out.
    pub fn exact(&self, vectors: Vectors<'_>, k: usize) -> Result<Hits> {
        if k == 0 {
            return Err(Error::parameter("k", 0, "1 or more"));
        }
        let count = self.store.check_queries(self.metric, vectors)?;
        let rows = self.rows.live_rows(0, self.rows.total())?;
        let cancel = &CancelToken::current();
        let queries = (0..count).into_par_iter();
        let results =
            alloc::try_map_parallel(queries.map_init(Vec::new, |scored, number| {
                self.rank(&rows, vectors, number, Query::Knn(k), scored, cancel)
            }))?;
        cancel.check()?;
        Hits::new(&results)
    }

    /// Return those of `rows` that answer a query, nearest first, ties by id; `scored` is scratch.
    fn rank(
        &self,
        rows: &[u32],
        vectors: Vectors<'_>,
        number: usize,
        query: Query,
        scored: &mut Vec<(f64, u32)>,
        cancel: &CancelToken,
    ) -> Result<Vec<(f64, u32)>> {
        let instructions = Instructions::best();
        let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then_with(|| self.rows.compare(a.1, b.1));
        scored.clear();
        alloc::try_reserve(scored, rows.len())?;
        for rows in rows.chunks(SCORE_BLOCK) {
            cancel.check()?;
            self.store.distances(instructions, self.metric, vectors, number, rows, scored);
        }
        match query {
            Query::Knn(k) if k < scored.len() => {
                scored.select_nth_unstable_by(k - 1, order);
                scored.truncate(k);
            }
            Query::Knn(_) => {}
            Query::Radius(radius) => scored.retain(|&(distance, _)| distance <= radius),
        }
        scored.sort_unstable_by(order);
        alloc::try_copy(scored)
    }

    /// Answer queries by estimates.
    fn estimated(
        &self,
        rabitq: &RaBitQIndex,
        params: EstimateParams,
        vectors: Vectors<'_>,
        query: Query,
    ) -> Result<Hits> {
        let params = params.checked()?;
        let count = self.store.check_queries(self.metric, vectors)?;
        let (store, rows, metric) = (&self.store, &self.rows, self.metric);
        rabitq.search(QueryContext { store, rows, metric, vectors, count, query, params })
    }

    /// Return the rows within a radius of each of some live rows, including itself, by estimates.
    ///
    /// # Errors
    /// Another filter; inner products; a row that is not live; parameters out of range; the call is cancelled; memory runs out.
    pub fn near_rows(&self, rows: &[u32], radius: f64, params: &SearchParams) -> Result<Hits> {
        let (Filter::RaBitQ(rabitq), &SearchParams::Estimate { deviations, num_probes, reach }) =
            (&self.filter, params)
        else {
            return Err(Error::parameter("filter", "an index of hashes", "an index with estimates"));
        };
        if self.metric == Metric::InnerProduct {
            return Err(Error::parameter("metric", "\"inner_product\"", "\"l2\" or \"cosine\""));
        }
        if radius.is_nan() {
            return Err(Error::parameter("radius", radius, "a number"));
        }
        self.check_live(rows)?;
        let params = EstimateParams { deviations, num_probes, reach }.checked()?;
        let (store, metric, vectors) = (&self.store, self.metric, self.store.view());
        let query = Query::Radius(radius);
        let context = QueryContext { store, rows: &self.rows, metric, vectors, count: rows.len(), query, params };
        rabitq.search_rows(context, rows)
    }

    /// Return for each query and each of its live rows, the same number for each query, how many partitions are nearer to the
    /// query than that of the row; 0 without partitions.
    ///
    /// # Errors
    /// Another filter; vectors are bad; rows that are not live or not as many for each query; memory runs out.
    pub fn partition_ranks(&self, vectors: Vectors<'_>, rows: &[u32]) -> Result<Vec<u32>> {
        let Filter::RaBitQ(rabitq) = &self.filter else {
            return Err(Error::parameter("filter", "an index of hashes", "an index with estimates"));
        };
        let count = self.store.check_queries(self.metric, vectors)?;
        if count == 0 || !rows.len().is_multiple_of(count) {
            return Err(Error::mismatch("number of rows", rows.len(), format!("a multiple of {count} queries")));
        }
        self.check_live(rows)?;
        let params = EstimateParams { deviations: 0.0, num_probes: usize::MAX, reach: None };
        let (store, metric, query) = (&self.store, self.metric, Query::Radius(0.0));
        rabitq.partition_ranks(QueryContext { store, rows: &self.rows, metric, vectors, count, query, params }, rows)
    }

    /// Return an error that names a row that is not live.
    fn check_live(&self, rows: &[u32]) -> Result<()> {
        let total = self.rows.total();
        match rows.iter().find(|&&row| row as usize >= total || !self.rows.is_alive(row)) {
            Some(row) => Err(Error::parameter("rows", row, "live rows")),
            None => Ok(()),
        }
    }

    /// Return the live rows, ascending.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn live_rows(&self) -> Result<Vec<u32>> {
        self.rows.live_rows(0, self.rows.total())
    }

    /// Return for each table the number of buckets with 1, 2 to 3, 4 to 7, ... rows, counted per run and including dead rows
    /// that are not yet merged away.
    pub fn histogram(&self) -> Vec<Vec<u64>> {
        let Filter::Buckets { layout, runs } = &self.filter else { return Vec::new() };
        (0..layout.tables())
            .map(|table| {
                let mut counts = vec![0; 33];
                for size in runs.iter().flat_map(|run| run.sizes(table)) {
                    counts[size.max(1).ilog2() as usize] += 1;
                }
                while counts.len() > 1 && counts.last() == Some(&0) {
                    counts.pop();
                }
                counts
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
