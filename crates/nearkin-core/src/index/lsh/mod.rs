//! The index of locality-sensitive hashes: bucket tables with multi-probe, or a scan of binary codes, then true distances.
//!
//! A family of hash functions (outside this crate) gives H hashes per vector. The index keeps the vectors and a
//! *filter*:
//!
//! - *buckets*: L tables of k hashes each (`keys`, `buckets`); a query looks up T buckets per table, those that near
//!   vectors are most likely in (`probe`). For a vector whose hash equals the query's with probability p, one table
//!   finds it with p^k at T = 1, and the index with 1 - (1 - p^k)^L (Indyk & Motwani 1998; Datar et al. 2004).
//! - *rotation*: one bit for each coordinate of a random rotation, an estimate of the distance and its bound; ranking stops by
//!   the bound (`rotation`).
//! - *codes*: all bits of each vector, scanned for the m nearest by Hamming or spherical Hamming distance, ties by row.
//!
//! What the filter gives, each row once and dead rows never, is ranked by the true distance (`rerank`), ties by id. There is
//! no other source of results: where the filter gives less than k rows, the result has less than k.
//!
//! **Cost.** Buckets: L T look-ups, then d steps per candidate; memory in `buckets`. Codes: n H / 64 word comparisons,
//! then d steps for each of m candidates; n H / 8 bytes. **Limits.** 2^32 - 2 rows over the life of an index. The
//! vector of a removed row keeps its memory until the index is rebuilt.

pub mod buckets;
mod bytes;
mod codes;
mod file;
mod kernels;
pub mod keys;
pub mod probe;
mod rabitq;
pub mod rerank;
mod spherical;
mod stored;

use std::borrow::Cow;

use rayon::prelude::*;

use crate::alloc;
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::popcount::Kernel;
use crate::index::rows::{Batch, Existing, Keys, NewIds, Rows};
use crate::segment::{Column, Segment};
use crate::{Error, Result};
use buckets::BucketRun;
use codes::Codes;
use keys::mix;
pub use keys::{HashKind, Hashes, TableLayout};
use probe::{Alternative, Change, Prober};
pub use rabitq::Drawn;
use rabitq::Rotated;
pub use rerank::{Metric, Store, Vectors};
pub use stored::Owned;

/// Most probes of a table.
pub const MAX_PROBES: usize = 1 << 20;
/// Most standard deviations that a bound lies below its estimate.
pub const MAX_DEVIATIONS: f64 = 40.0;
/// Queries of one task of a code scan: enough that a tile of rows is read for many.
const CHUNK: usize = 64;
/// Candidates that are scored between two looks at the stop.
const SCORED: usize = 1 << 14;

/// How rows are found.
#[derive(Debug)]
enum Filter {
    /// Bucket tables, in runs; rows of a run are lower than those of the next.
    Buckets { layout: TableLayout, runs: Vec<BucketRun> },
    /// Scanned codes.
    Codes(Codes),
    /// Rotation codes.
    Rotation(Box<Rotated>),
}

/// Other values of each hash of a batch of queries, `per_hash` for each, in any order.
#[derive(Debug, Clone, Copy)]
pub struct Alternatives<'a> {
    /// How many each hash has.
    pub per_hash: usize,
    /// Integers: the other values. Bits: empty, the other value is the flipped bit.
    pub values: &'a [i64],
    /// What each costs, 0 or more; infinite for none.
    pub costs: &'a [f64],
}

/// How much work a query does.
#[derive(Debug, Clone, Copy)]
pub enum Effort {
    /// This many buckets per table, the query's own first.
    Probes(usize),
    /// This many rows with the nearest codes by Hamming distance.
    Codes(usize),
    /// This many rows with the nearest codes by spherical Hamming distance.
    Spherical(usize),
    /// Rows whose bound on the distance, this many standard deviations below the estimate, can't be ruled out.
    Estimate {
        /// ε, 0 or more.
        deviations: f64,
        /// Cells that are visited, where there are cells.
        probes: usize,
    },
}

/// A batch of queries.
#[derive(Debug, Clone, Copy)]
pub struct Queries<'a> {
    /// Their hashes.
    pub hashes: Hashes<'a>,
    /// What further probes are made of.
    pub alternatives: Option<Alternatives<'a>>,
    /// The work for each.
    pub effort: Effort,
}

/// What is wanted of the candidates.
#[derive(Debug, Clone, Copy)]
pub enum Want {
    /// The k nearest.
    Nearest(usize),
    /// All within a distance, inclusive.
    Within(f64),
}

/// Matches of a batch of queries: query q owns `offsets[q]..offsets[q + 1]`, nearest first, ties by id.
#[derive(Debug, Default, PartialEq)]
pub struct Hits {
    /// One more than queries.
    pub offsets: Vec<i64>,
    /// Row of each match.
    pub rows: Vec<u32>,
    /// Distance of each match.
    pub distances: Vec<f64>,
}

/// Rows that the filter gives a batch of queries, ascending for each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// One more than queries.
    pub offsets: Vec<i64>,
    /// Row of each candidate.
    pub rows: Vec<u32>,
    /// Rows under all keys of each query before duplicates were dropped.
    pub met: Vec<u64>,
}

/// The index.
#[derive(Debug)]
pub struct Index {
    metric: Metric,
    filter: Filter,
    store: Store,
    rows: Rows,
    /// What the caller keeps with the index.
    note: Column<u8>,
    segment: Option<Segment>,
}

/// Hashes of the chosen of a batch.
enum Gathered<'a> {
    Bits(Cow<'a, [u64]>),
    Ints(Cow<'a, [i64]>),
}

impl Gathered<'_> {
    fn view(&self) -> Hashes<'_> {
        match self {
            Self::Bits(words) => Hashes::Bits(words),
            Self::Ints(values) => Hashes::Ints(values),
        }
    }
}

/// Memory that the queries of one task share.
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

impl Hits {
    /// Of each query its matches in order.
    fn of(found: Vec<Vec<(f64, u32)>>) -> Result<Self> {
        let total = found.iter().map(Vec::len).sum();
        let mut hits = Self {
            offsets: alloc::try_with_capacity(found.len() + 1)?,
            rows: alloc::try_with_capacity(total)?,
            distances: alloc::try_with_capacity(total)?,
        };
        hits.offsets.push(0);
        for scored in found {
            hits.rows.extend(scored.iter().map(|&(_, row)| row));
            hits.distances.extend(scored.iter().map(|&(distance, _)| distance));
            hits.offsets.push(hits.rows.len() as i64);
        }
        Ok(hits)
    }
}

impl Index {
    /// An empty index of bucket tables.
    pub fn with_buckets(metric: Metric, layout: TableLayout, store: Store) -> Self {
        Self::of(metric, Filter::Buckets { layout, runs: Vec::new() }, store)
    }

    /// An empty index of codes of `bits` bits.
    ///
    /// # Errors
    /// No bit, or more than 2^20.
    pub fn with_codes(metric: Metric, bits: usize, store: Store) -> Result<Self> {
        if bits == 0 || bits > crate::cpu::popcount::MAX_BITS {
            return Err(Error::parameter("bits", bits, format!("1 to {}", crate::cpu::popcount::MAX_BITS)));
        }
        Ok(Self::of(metric, Filter::Codes(Codes::new(bits)), store))
    }

    /// An empty index of rotation codes, in the space of the vectors that are to be added first: of about `cells` cells, or flat.
    ///
    /// # Errors
    /// A metric without a bound; more than 2^16 dimensions; bad vectors; the call is stopped, or there is no memory.
    pub fn with_rotation(
        metric: Metric,
        drawn: Drawn,
        cells: Option<usize>,
        store: Store,
        vectors: Vectors<'_>,
    ) -> Result<Self> {
        let count = store.check(metric, vectors)?;
        let rotated = Rotated::new(metric, drawn, cells, store.dim(), vectors, count)?;
        Ok(Self::of(metric, Filter::Rotation(Box::new(rotated)), store))
    }

    /// Coordinates and cells of rotation codes; none of a flat scan.
    pub fn rotation(&self) -> Option<(usize, usize)> {
        match &self.filter {
            Filter::Rotation(rotated) => Some((rotated.size(), rotated.num_cells())),
            _ => None,
        }
    }

    /// Rows that one query meets at most.
    pub fn most_met(&self, effort: &Effort) -> usize {
        match (&self.filter, effort) {
            (Filter::Rotation(rotated), &Effort::Estimate { probes, .. }) => rotated.most_met(self.len(), probes),
            _ => self.len(),
        }
    }

    fn of(metric: Metric, filter: Filter, store: Store) -> Self {
        Self { metric, filter, store, rows: Rows::default(), note: Column::default(), segment: None }
    }

    /// Ids, row numbers and tombstones.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Vectors that are there.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no vector.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The metric of distances.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The vectors.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Bytes in memory of the filter, the vectors and the rows.
    pub fn bytes(&self) -> (usize, usize, usize) {
        let filter = match &self.filter {
            Filter::Buckets { runs, .. } => runs.iter().map(BucketRun::bytes).sum(),
            Filter::Codes(codes) => codes.values.bytes(),
            Filter::Rotation(rotated) => rotated.bytes(),
        };
        (filter, self.store.bytes(), self.rows.bytes())
    }

    /// What the caller keeps with the index.
    pub fn note(&self) -> &[u8] {
        &self.note
    }

    /// Keeps `note` with the index.
    pub fn set_note(&mut self, note: Vec<u8>) {
        self.note = note.into();
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
            (Filter::Rotation(_), _) => {
                Err(Error::mismatch("filter", "hashes", "none, since codes are made of vectors"))
            }
        }
    }

    /// Adds rows; returns how many were added. Nothing is changed by a call that fails.
    ///
    /// # Errors
    /// Counts that differ, bad vectors, ids of another kind than before, an id that is there or occurs twice (with
    /// `Existing::Error`), more than 2^32 - 2 rows; the call is stopped, or there is no memory.
    pub fn add(
        &mut self,
        ids: NewIds<'_>,
        hashes: Hashes<'_>,
        vectors: Vectors<'_>,
        existing: Existing,
    ) -> Result<usize> {
        let given = self.store.check(self.metric, vectors)?;
        let hashed = if matches!(self.filter, Filter::Rotation(_)) { given } else { self.count(hashes)? };
        if hashed != given {
            return Err(Error::mismatch("number of rows", format!("{given} vectors"), format!("{hashed} hashes")));
        }
        let batch = self.rows.prepare(ids, given, "vectors", existing)?;
        let count = batch.count;
        if count == 0 {
            return Ok(0);
        }
        match &batch.chosen {
            None => self.append(hashes, vectors, batch)?,
            Some(chosen) => {
                let hashes = match hashes {
                    Hashes::Bits(words) => Gathered::Bits(batch.of(words, words.len() / given)?),
                    Hashes::Ints(values) => Gathered::Ints(batch.of(values, values.len() / given)?),
                };
                let dim = self.store.dim();
                match vectors {
                    Vectors::F32(x) => {
                        let vectors = batch.of(x, dim)?;
                        self.append(hashes.view(), Vectors::F32(&vectors), batch)?;
                    }
                    Vectors::F64(x) => {
                        let vectors = batch.of(x, dim)?;
                        self.append(hashes.view(), Vectors::F64(&vectors), batch)?;
                    }
                    Vectors::U8(x) => {
                        let vectors = batch.of(x, dim)?;
                        self.append(hashes.view(), Vectors::U8(&vectors), batch)?;
                    }
                    Vectors::I8(x) => {
                        let vectors = batch.of(x, dim)?;
                        self.append(hashes.view(), Vectors::I8(&vectors), batch)?;
                    }
                    Vectors::F16(x) => {
                        let vectors = batch.of(x, dim)?;
                        self.append(hashes.view(), Vectors::F16(&vectors), batch)?;
                    }
                    Vectors::Sparse(ends, columns, values) => {
                        let (ends, columns, values) = rerank::gather(ends, columns, values, chosen)?;
                        let vectors = Vectors::Sparse(&ends, &columns, &values);
                        self.append(hashes.view(), vectors, batch)?;
                    }
                }
            }
        }
        Ok(count)
    }

    /// Appends what becomes rows: runs are made aside, vectors are appended last, and then everything takes its place.
    fn append(&mut self, hashes: Hashes<'_>, vectors: Vectors<'_>, batch: Batch<'_>) -> Result<()> {
        let stop = &CancelToken::current();
        let rows = &self.rows;
        let first = batch.first;
        let alive = |row| rows.is_alive(row) && !batch.replaces(row);
        let mut prepared = None;
        let made = match &mut self.filter {
            Filter::Rotation(rotated) => {
                prepared = Some(rotated.prepare(vectors, batch.count, first, alive, stop)?);
                None
            }
            Filter::Buckets { layout, runs } => {
                let mut run = BucketRun::build(layout, hashes, batch.count, batch.first as u32, stop)?;
                let mut keep = runs.len();
                while let Some(last) = runs[..keep].last().filter(|last| last.len <= 2 * run.len) {
                    run = last.merge(&run, alive, stop)?;
                    keep -= 1;
                }
                alloc::try_reserve(runs, 1)?;
                Some((keep, run))
            }
            Filter::Codes(codes) => {
                codes.reserve(batch.count, stop)?;
                None
            }
        };
        self.store.push(self.metric, vectors, stop)?;
        self.rows.commit(batch);
        match (&mut self.filter, made, hashes) {
            (Filter::Buckets { runs, .. }, Some((keep, run)), _) => {
                runs.truncate(keep);
                runs.push(run);
            }
            (Filter::Codes(codes), _, Hashes::Bits(new)) => codes.push(new),
            (Filter::Rotation(rotated), ..) => {
                if let Some(prepared) = prepared {
                    rotated.commit(prepared, first);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes ids (or row numbers); returns how many. Nothing is changed by a call that fails.
    ///
    /// # Errors
    /// An id that is not there, unless `missing_ok`.
    pub fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> Result<usize> {
        self.rows.remove(ids, missing_ok)
    }

    /// Merges all runs into one without dead rows. Where it is stopped the index holds what it held, in more runs.
    fn compact(&mut self) -> Result<()> {
        let (rows, stop) = (&self.rows, &CancelToken::current());
        let alive = |row| rows.is_alive(row);
        if let Filter::Rotation(rotated) = &mut self.filter {
            rotated.compact(alive, stop)?;
        }
        if let Filter::Buckets { layout, runs } = &mut self.filter {
            while let [.., before, last] = &runs[..] {
                let merged = before.merge(last, alive, stop)?;
                runs.truncate(runs.len() - 2);
                runs.push(merged);
            }
            if let [run] = &mut runs[..]
                && run.len != rows.len()
            {
                *run = run.merge(&BucketRun::empty(layout.tables()), alive, stop)?;
            }
        }
        Ok(())
    }

    fn check_queries(&self, queries: &Queries<'_>) -> Result<usize> {
        if matches!(self.filter, Filter::Rotation(_)) {
            let allowed = "nearest or search: with rank=\"estimate\" they depend on what is wanted";
            return Err(Error::parameter("candidates", "without k or a radius", allowed));
        }
        let count = self.count(queries.hashes)?;
        match (&self.filter, queries.effort) {
            (Filter::Buckets { layout, .. }, Effort::Probes(probes)) => {
                if probes == 0 || probes > MAX_PROBES {
                    return Err(Error::parameter("num_probes", probes, format!("1 to {MAX_PROBES}")));
                }
                if let Some(other) = queries.alternatives {
                    let wanted = count * layout.hashes() * other.per_hash;
                    let values = if layout.kind() == HashKind::Bits { 0 } else { wanted };
                    let single = layout.kind() == HashKind::Ints || other.per_hash == 1;
                    if other.costs.len() != wanted || other.values.len() != values || !single {
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
            (Filter::Codes(_), Effort::Codes(wanted) | Effort::Spherical(wanted)) if wanted > 0 => {}
            (Filter::Codes(_), Effort::Codes(wanted) | Effort::Spherical(wanted)) => {
                return Err(Error::parameter("num_candidates", wanted, "1 or more"));
            }
            _ => return Err(Error::mismatch("effort", format!("{:?}", queries.effort), "the index's filter")),
        }
        Ok(count)
    }

    /// Calls `work` with each query's candidates (in no order) and gathers what it returns, in order of queries.
    ///
    /// # Errors
    /// Those of `work`; the call is stopped, or there is no memory.
    fn each<T: Send>(
        &self,
        queries: &Queries<'_>,
        count: usize,
        work: impl Fn(&mut Scratch, usize, u64, &CancelToken) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let stop = &CancelToken::current();
        let found = match &self.filter {
            // Its queries have an answer of their own.
            Filter::Rotation(_) => Vec::new(),
            Filter::Buckets { layout, runs } => {
                let one = |scratch: &mut Scratch, number: usize| {
                    let met = self.walk(layout, runs, queries, number, scratch, stop)?;
                    stop.check()?;
                    work(scratch, number, met, stop)
                };
                if count == 1 {
                    // One query is not worth waking a thread.
                    vec![one(&mut Scratch::default(), 0)?]
                } else {
                    alloc::try_map_parallel((0..count).into_par_iter().map_init(Scratch::default, one))?
                }
            }
            Filter::Codes(codes) => {
                let Hashes::Bits(fps) = queries.hashes else { return Ok(Vec::new()) };
                let kernel = Kernel::best();
                let some = |scratch: &mut Scratch, (chunk, fps): (usize, &[u64])| {
                    let alive = |row| self.rows.num_dead() == 0 || self.rows.is_alive(row);
                    let found = match queries.effort {
                        Effort::Codes(wanted) => codes.nearest(kernel, fps, wanted, alive, stop)?,
                        Effort::Spherical(wanted) => codes.nearest_spherical(kernel, fps, wanted, alive, stop)?,
                        Effort::Probes(_) | Effort::Estimate { .. } => Vec::new(),
                    };
                    let each = found.into_iter().enumerate().map(|(place, rows)| {
                        stop.check()?;
                        let met = rows.len() as u64;
                        scratch.rows = rows;
                        work(scratch, chunk * CHUNK + place, met, stop)
                    });
                    each.collect::<Result<Vec<T>>>()
                };
                if count == 1 {
                    some(&mut Scratch::default(), (0, fps))?
                } else {
                    let chunks = fps.par_chunks(CHUNK * codes.words).enumerate();
                    let parts = chunks.map_init(Scratch::default, some).collect::<Result<Vec<Vec<T>>>>()?;
                    let mut all = alloc::try_with_capacity(count)?;
                    for part in parts {
                        all.extend(part);
                    }
                    all
                }
            }
        };
        stop.check()?;
        Ok(found)
    }

    /// Puts the distinct rows alive under the keys of a query into `scratch.rows`; returns how many rows were met.
    fn walk(
        &self,
        layout: &TableLayout,
        runs: &[BucketRun],
        queries: &Queries<'_>,
        number: usize,
        scratch: &mut Scratch,
        stop: &CancelToken,
    ) -> Result<u64> {
        let Effort::Probes(wanted) = queries.effort else { return Ok(0) };
        let Scratch { prober, keys, probes, spans, seen, rows, .. } = scratch;
        let change = if layout.kind() == HashKind::Bits { Change::Flip } else { Change::Add };
        probes.clear();
        for table in 0..layout.tables() {
            stop.check()?;
            keys.clear();
            let key = layout.key(queries.hashes, number, table);
            prober.clear();
            if let (Some(other), true) = (queries.alternatives, wanted > 1) {
                prober.reserve(layout.per_table() * other.per_hash)?;
                for (place, &column) in layout.columns_of(table).iter().enumerate() {
                    let hash = number * layout.hashes() + column as usize;
                    for at in hash * other.per_hash..(hash + 1) * other.per_hash {
                        let delta = match queries.hashes {
                            Hashes::Bits(_) => 1 << place,
                            Hashes::Ints(values) => layout.step(place, other.values[at].wrapping_sub(values[hash])),
                        };
                        prober.offer(Alternative { cost: other.costs[at], place: place as u32, delta });
                    }
                }
            }
            prober.keys(key, change, wanted, keys)?;
            alloc::try_reserve(probes, keys.len())?;
            probes.extend(keys.iter().map(|&key| (table as u32, mix(key))));
        }
        let words = self.rows.total().div_ceil(64);
        alloc::try_reserve(seen, words.saturating_sub(seen.len()))?;
        seen.resize(words, 0);
        spans.clear();
        alloc::try_reserve(spans, probes.len())?;
        rows.clear();
        let (mut met, mut full) = (0, None);
        for run in runs {
            run.look_up(probes, spans, |bucket| {
                met += bucket.len() as u64;
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
        Ok(met)
    }

    /// The rows that the filter gives, without distances.
    ///
    /// # Errors
    /// Queries that do not fit the index.
    pub fn candidates(&self, queries: &Queries<'_>) -> Result<Candidates> {
        let count = self.check_queries(queries)?;
        let found = self.each(queries, count, |scratch, _, met, _| {
            scratch.rows.sort_unstable();
            Ok((alloc::try_copy(&scratch.rows)?, met))
        })?;
        let total = found.iter().map(|(rows, _)| rows.len()).sum();
        let mut all = Candidates {
            offsets: alloc::try_with_capacity(count + 1)?,
            rows: alloc::try_with_capacity(total)?,
            met: alloc::try_with_capacity(count)?,
        };
        all.offsets.push(0);
        for (rows, met) in found {
            all.rows.extend(rows);
            all.met.push(met);
            all.offsets.push(all.rows.len() as i64);
        }
        Ok(all)
    }

    /// The wanted of each query's candidates by true distance.
    ///
    /// # Errors
    /// Queries that do not fit the index; vectors as for `add`; a radius that is NaN; k = 0.
    pub fn query(&self, queries: &Queries<'_>, vectors: Vectors<'_>, want: Want) -> Result<Hits> {
        match want {
            Want::Nearest(0) => return Err(Error::parameter("k", 0, "1 or more")),
            Want::Within(radius) if radius.is_nan() => {
                return Err(Error::parameter("radius", radius, "a number"));
            }
            _ => {}
        }
        if let (Filter::Rotation(rotated), Effort::Estimate { deviations, probes }) = (&self.filter, queries.effort) {
            return self.estimated(rotated, rabitq::Effort { deviations, probes }, vectors, want);
        }
        let count = self.check_queries(queries)?;
        let given = self.store.check_queries(self.metric, vectors)?;
        if given != count {
            return Err(Error::mismatch("number of rows", format!("{given} vectors"), format!("{count} hashes")));
        }
        let instructions = Instructions::best();
        let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then_with(|| self.rows.compare(a.1, b.1));
        let found = self.each(queries, count, |scratch, number, _, stop| {
            let Scratch { rows, scored, .. } = scratch;
            scored.clear();
            alloc::try_reserve(scored, rows.len())?;
            for rows in rows.chunks(SCORED) {
                stop.check()?;
                self.store.distances(instructions, self.metric, vectors, number, rows, scored);
            }
            match want {
                Want::Nearest(k) if k < scored.len() => {
                    scored.select_nth_unstable_by(k - 1, order);
                    scored.truncate(k);
                }
                Want::Nearest(_) => {}
                Want::Within(radius) => scored.retain(|&(distance, _)| distance <= radius),
            }
            scored.sort_unstable_by(order);
            alloc::try_copy(scored)
        })?;
        Hits::of(found)
    }

    /// What rotation codes answer.
    fn estimated(&self, rotated: &Rotated, effort: rabitq::Effort, vectors: Vectors<'_>, want: Want) -> Result<Hits> {
        if !(effort.deviations >= 0.0 && effort.deviations <= MAX_DEVIATIONS) {
            return Err(Error::parameter("deviations", effort.deviations, format!("0 to {MAX_DEVIATIONS}")));
        }
        let count = self.store.check_queries(self.metric, vectors)?;
        let asked =
            rabitq::Asked { store: &self.store, rows: &self.rows, metric: self.metric, vectors, count, want, effort };
        rotated.answer(&asked)
    }

    /// For each table, how many buckets have 1, 2 to 3, 4 to 7, ... rows, dead ones that were not merged away included; runs
    /// count apart.
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
