//! An exact index of TLSH digests: everything within a distance, and no comparison with most of the rest.
//!
//! The distance is a sum ([`crate::digests::tlsh`]), so each of its terms is a lower bound:
//!
//! ```text
//! distance = cost(length) + cost(ratio 1) + cost(ratio 2) + checksum + body,      body >= Hamming distance
//! ```
//!
//! Digests are therefore sorted by *header*, length first and then the ratios. A query visits the headers whose costs
//! are within the distance: costs are 12 a step, so for a distance of 40 these are 231 headers, of seven lengths with
//! 256 headers each. In each of them only the rest of the distance remains for the body, and 32 bodies are compared at
//! once ([`crate::digests::tlsh::tiles`]), which stops at half of the buckets if all are too far by then. The full
//! distance decides on what passes. Results are those of comparing all pairs at every distance.
//!
//! # Layout and cost
//!
//! Sorted *runs*, each with the header and row of every digest and with the bodies in tiles; a batch of additions is a
//! new run, and runs of similar length merge, so there are at most log2(n) and each digest is moved log2(n) times. 80
//! bytes for a digest of 128 buckets. Queries of a batch are sorted by header and visit a block of tiles one after
//! another, so that blocks are read from memory once for several queries.

pub mod file;

use crate::parallel::prelude::*;

use crate::alloc;
use crate::cancel::CancelToken;
use crate::digests::tlsh::compare::{length_cost, max_distance, ratio_cost};
use crate::digests::tlsh::tiles::{Body, TILE, Tiles};
use crate::digests::tlsh::{Digest, Form};
use crate::error::{Error, Result};
use crate::index::components::{Forest, centred};
use crate::index::hamming::Linkage;
use crate::index::hits;
use crate::index::rows::{Existing, Keys, NewIds, Rows, merged_size};
use crate::segment::Segment;

/// Hits with distances.
pub type Hits = hits::Hits<u16>;
/// Pairs with distances.
pub type Pairs = hits::Pairs<u16>;
/// Clusters, with the distance of each member to the representative.
pub type Clusters = hits::Clusters<u16>;

/// Distances and rows of the digests near to a query.
type Near = Vec<(u16, u32)>;

/// Queries of a task.
const TASK: usize = 32;
/// Tiles that the queries of a task visit together: 32 KB for 128 buckets.
const BLOCK: usize = 32;
/// Tiles of a run that are visited without looking at headers.
const FEW_TILES: usize = 4;
/// Digests that one thread adds or searches in a few hundred microseconds.
const QUICK: usize = 1 << 13;
/// The first distance at which the nearest digests are looked for; it doubles.
const FIRST_DISTANCE: u16 = 24;

/// Some consecutive tiles, and the largest distance that headers in them leave to a body.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
    limit: u16,
}

/// A digest that is looked for.
struct Query {
    digest: Digest,
    body: Body,
    /// Rows before this one do not match.
    from: u32,
    hits: Near,
}

/// Digests in order of header and row.
#[derive(Clone, Debug, Default)]
struct Run {
    headers: Vec<u16>,
    /// The first position of each length.
    starts: Vec<u32>,
    rows: Vec<u32>,
    tiles: Tiles,
}

/// Return length and ratios, the length first.
fn header(digest: &Digest) -> u16 {
    let [first, second] = digest.ratios();
    u16::from(digest.length()) << 8 | u16::from(first) << 4 | u16::from(second)
}

impl Run {
    /// Build the run of entries, header above row, in order.
    fn new(form: Form, entries: &[u64], digest: impl Fn(u32) -> Digest, cancel: &CancelToken) -> Result<Self> {
        let headers: Vec<u16> = alloc::try_collect(entries.iter().map(|entry| (entry >> 32) as u16))?;
        let rows: Vec<u32> = alloc::try_collect(entries.iter().map(|&entry| entry as u32))?;
        let mut starts = alloc::try_zeroed::<u32>(257)?;
        for header in &headers {
            starts[usize::from(header >> 8) + 1] += 1;
        }
        alloc::prefix_sums(&mut starts);
        let tiles = Tiles::new(form, rows.iter().map(|&row| digest(row)), cancel)?;
        Ok(Self { headers, starts, rows, tiles })
    }

    fn bytes(&self) -> usize {
        self.headers.capacity() * 2 + self.starts.capacity() * 4 + self.rows.capacity() * 4 + self.tiles.bytes()
    }

    /// Return the tiles that may hold digests within `limit` of a query, in order, each once.
    fn spans(&self, query: &Digest, limit: u16) -> Vec<Span> {
        let tiles = self.rows.len().div_ceil(TILE);
        if tiles <= FEW_TILES {
            return vec![Span { start: 0, end: tiles, limit }];
        }
        let mut spans: Vec<Span> = Vec::new();
        let mut push = |headers: &[u16], first: usize, low: u16, high: u16, limit: u16| {
            let start = first + headers.partition_point(|&header| header < low);
            let end = first + headers.partition_point(|&header| header <= high);
            if start == end {
                return;
            }
            let span = Span { start: start / TILE, end: end.div_ceil(TILE), limit };
            // Spans come in order of headers, so they share at most one tile with the last.
            match spans.last_mut() {
                Some(last) if span.start < last.end => {
                    last.limit = last.limit.max(limit);
                    let start = last.end;
                    if start < span.end {
                        spans.push(Span { start, ..span });
                    }
                }
                _ => spans.push(span),
            }
        };
        let [first, second] = query.ratios();
        for length in 0..=255_u8 {
            let of_length = length_cost(length, query.length());
            let range = self.starts[usize::from(length)] as usize..self.starts[usize::from(length) + 1] as usize;
            if of_length > limit || range.is_empty() {
                continue;
            }
            for ratio in 0..16_u8 {
                let Some(rest) = (limit - of_length).checked_sub(ratio_cost(ratio, first)) else { continue };
                let headers = &self.headers[range.clone()];
                let base = u16::from(length) << 8 | u16::from(ratio) << 4;
                let near = |ratio: &u16| ratio_cost(*ratio as u8, second) <= rest;
                let mut next = 0;
                while let Some(low) = (next..16).find(near) {
                    let high = (low..16).take_while(near).last().unwrap_or(low);
                    push(headers, range.start, base | low, base | high, rest);
                    next = high + 1;
                }
            }
        }
        spans
    }
}

/// The index.
#[derive(Debug, Default)]
pub struct Index {
    form: Form,
    rows: Rows,
    /// [`Form::bytes`] bytes of each row; a removed one keeps its position.
    digests: Vec<u8>,
    /// Removed rows that are in no run.
    purged: usize,
    /// From long to short.
    runs: Vec<Run>,
    segment: Option<Segment>,
}

impl Index {
    /// Create an empty index of digests of a form.
    pub fn new(form: Form) -> Self {
        Self { form, ..Self::default() }
    }

    /// Return the form of the digests.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Return the ids, row numbers and tombstones.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Return the bytes of digests, runs and rows.
    pub fn bytes(&self) -> usize {
        self.digests.capacity() + self.runs.iter().map(Run::bytes).sum::<usize>() + self.rows.bytes()
    }

    /// Return the digest of a row, if it is not removed.
    pub fn get(&self, row: u32) -> Option<Digest> {
        self.rows.is_alive(row).then(|| self.digest(row))
    }

    fn digest(&self, row: u32) -> Digest {
        let size = self.form.bytes();
        Digest::from_bytes(self.form, &self.digests[row as usize * size..][..size])
    }

    /// Number of rows, those of removed digests included.
    fn total(&self) -> usize {
        self.digests.len() / self.form.bytes()
    }

    /// Build the index of a file's rows and the bytes of their digests.
    fn from_rows(form: Form, rows: Rows, digests: Vec<u8>) -> Result<Self> {
        let mut index = Self { form, rows, digests, ..Self::default() };
        index.rebuild(&CancelToken::current())?;
        Ok(index)
    }

    /// Build one run of all live digests.
    fn rebuild(&mut self, cancel: &CancelToken) -> Result<()> {
        let live = self.rows.live_rows(0, self.rows.len())?;
        let mut entries: Vec<u64> =
            alloc::try_collect(live.iter().map(|&row| u64::from(header(&self.digest(row))) << 32 | u64::from(row)))?;
        cancel.sort(&mut entries);
        cancel.check()?;
        let run = Run::new(self.form, &entries, |row| self.digest(row), cancel)?;
        self.runs.clear();
        if !run.rows.is_empty() {
            self.runs.push(run);
        }
        self.purged = self.rows.num_dead();
        Ok(())
    }

    /// Add digests; return the number added. A call that fails changes nothing.
    ///
    /// # Errors
    /// A digest has another form; counts differ; ids are of another kind than before; with `Existing::Error` an id
    /// exists or occurs twice; there would be more than 2^32 - 2 rows; the call is cancelled, or memory runs out.
    pub fn add(&mut self, ids: NewIds<'_>, digests: &[Digest], existing: Existing) -> Result<usize> {
        self.check_forms(digests)?;
        let batch = self.rows.prepare(ids, digests.len(), "digests", existing)?;
        let (count, digests) = (batch.count, batch.of(digests, 1)?);
        let prepared = self.prepare(&digests)?;
        alloc::try_reserve(&mut self.digests, digests.len() * self.form.bytes())?;
        alloc::try_reserve(&mut self.runs, 1)?;
        self.rows.commit(batch);
        for digest in digests.iter() {
            self.digests.extend_from_slice(&digest.to_bytes()[..self.form.bytes()]);
        }
        if let Some((keep, run)) = prepared {
            self.runs.truncate(keep);
            self.runs.push(run);
        }
        Ok(count)
    }

    /// Return an error if a digest has another form.
    fn check_forms(&self, digests: &[Digest]) -> Result<()> {
        digests.iter().try_for_each(|digest| self.form.check_same(digest.form()))
    }

    /// Return true if the calling thread can add this many digests in a few hundred microseconds.
    pub fn adds_quickly(&self, count: usize) -> bool {
        merged_size(count, self.runs.iter().map(|run| run.rows.len())) <= QUICK
    }

    /// Return true if the calling thread can search for these in a few hundred microseconds.
    pub fn is_quick(&self, queries: &[Digest]) -> bool {
        queries.len() * self.rows.len() <= 8 * QUICK
    }

    /// Build the run of the next digests, and return the number of runs to keep: the others are merged into it. None if
    /// there are no digests.
    fn prepare(&self, digests: &[Digest]) -> Result<Option<(usize, Run)>> {
        let cancel = &CancelToken::current();
        let first = self.total();
        let new = digests.iter().enumerate();
        let new = new.map(|(number, digest)| u64::from(header(digest)) << 32 | (first + number) as u64);
        let mut entries: Vec<u64> = alloc::try_collect(new)?;
        if entries.is_empty() {
            return Ok(None);
        }
        // Merge while the last run is not shorter than half of the one before.
        let mut keep = self.runs.len();
        while let Some(last) = self.runs[..keep].last().filter(|run| run.rows.len() < 2 * entries.len()) {
            alloc::try_reserve(&mut entries, last.rows.len())?;
            let old = last.headers.iter().zip(&last.rows).filter(|&(_, &row)| self.rows.is_alive(row));
            entries.extend(old.map(|(&header, &row)| u64::from(header) << 32 | u64::from(row)));
            keep -= 1;
        }
        if entries.len() <= QUICK {
            entries.sort_unstable();
        } else {
            cancel.sort(&mut entries);
        }
        cancel.check()?;
        let digest = |row: u32| match (row as usize).checked_sub(first) {
            Some(new) => digests[new],
            None => self.digest(row),
        };
        Ok(Some((keep, Run::new(self.form, &entries, digest, cancel)?)))
    }

    /// Remove ids (or row numbers); return the number removed. A call that fails changes nothing.
    ///
    /// # Errors
    /// An id does not exist, unless `missing_ok`.
    pub fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> Result<usize> {
        let removed = self.rows.remove(ids, missing_ok)?;
        if self.rows.num_dead() - self.purged > self.rows.len() {
            // The rows are gone whatever becomes of this; a later call tries again.
            match self.rebuild(&CancelToken::current()) {
                Ok(()) | Err(Error::Cancelled | Error::Memory { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }

    /// Collect the hits of some queries, in no order.
    fn collect(&self, queries: &mut [Query], limit: u16, cancel: &CancelToken) -> Result<()> {
        for run in &self.runs {
            // Block, query and span: the queries of a block one after another.
            let mut visits: Vec<(usize, usize, Span)> = Vec::new();
            for (number, query) in queries.iter().enumerate() {
                for Span { mut start, end, limit } in run.spans(&query.digest, limit) {
                    while start < end {
                        let next = end.min((start / BLOCK + 1) * BLOCK);
                        visits.push((start / BLOCK, number, Span { start, end: next, limit }));
                        start = next;
                    }
                }
            }
            if queries.len() > 1 {
                visits.sort_unstable_by_key(|&(block, query, span)| (block, query, span.start));
            }
            for visits in cancel.blocks(&visits) {
                for &(_, number, span) in visits {
                    let query = &mut queries[number];
                    let (digest, from, hits) = (&query.digest, query.from, &mut query.hits);
                    let mut full = Ok(());
                    run.tiles.within(&query.body, span.start..span.end, span.limit, |position| {
                        let row = run.rows[position];
                        if row < from || !self.rows.is_alive(row) {
                            return;
                        }
                        let distance = digest.distance(&self.digest(row), true);
                        if distance <= limit && full.is_ok() {
                            full = alloc::try_reserve(hits, 1).map(|()| hits.push((distance, row)));
                        }
                    });
                    full?;
                }
            }
        }
        cancel.check()
    }

    /// Collect the hits of queries in parallel, and pass those of each query to `each`.
    fn search_each<T: Send>(
        &self,
        queries: &[(Digest, u32)],
        limit: u16,
        cancel: &CancelToken,
        each: impl Fn(usize, Near) -> Result<T> + Sync,
    ) -> Result<Vec<Vec<T>>> {
        let task = |chunk: &[(usize, Digest, u32)]| {
            cancel.check()?;
            let prepare = |&(_, digest, from): &(usize, Digest, u32)| Query {
                digest,
                body: Body::new(&digest),
                from,
                hits: Vec::new(),
            };
            let mut prepared: Vec<Query> = chunk.iter().map(prepare).collect();
            self.collect(&mut prepared, limit, cancel)?;
            chunk.iter().zip(prepared).map(|(&(number, ..), query)| each(number, query.hits)).collect()
        };
        let mut sorted = alloc::try_with_capacity(queries.len())?;
        sorted.extend(queries.iter().enumerate().map(|(number, &(digest, from))| (number, digest, from)));
        sorted.sort_by_key(|(_, digest, _)| header(digest));
        let results = alloc::try_map_parallel(sorted.par_chunks(TASK).map(task))?;
        cancel.check()?;
        Ok(results)
    }

    /// Return the digests within `limit` of each query, nearest first, ties by id.
    ///
    /// # Errors
    /// A query has another form; the call is cancelled, or memory runs out.
    pub fn search_many(&self, queries: &[Digest], limit: u16) -> Result<Hits> {
        Hits::new(&self.near(queries, limit)?)
    }

    /// Return the digests within `limit` of each query, nearest first.
    fn near(&self, queries: &[Digest], limit: u16) -> Result<Vec<Near>> {
        self.check_forms(queries)?;
        let cancel = &CancelToken::current();
        let queries: Vec<(Digest, u32)> = alloc::try_collect(queries.iter().map(|&digest| (digest, 0)))?;
        let found = self.search_each(&queries, limit, cancel, |number, mut hits| {
            hits.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.rows.compare(a.1, b.1)));
            Ok((number, hits))
        })?;
        let mut results = alloc::try_filled(Vec::new(), queries.len())?;
        for (number, hits) in found.into_iter().flatten() {
            results[number] = hits;
        }
        Ok(results)
    }

    /// Return the `k` nearest digests within `limit` of each query, nearest first, ties by id.
    ///
    /// # Errors
    /// As [`Index::search_many`].
    pub fn nearest_many(&self, queries: &[Digest], k: usize, limit: u16) -> Result<Hits> {
        let limit = limit.min(max_distance(self.form));
        let mut results = alloc::try_filled(Vec::new(), queries.len())?;
        let mut open: Vec<usize> = alloc::try_collect(0..queries.len())?;
        let mut radius = FIRST_DISTANCE.min(limit);
        // All digests within a radius are found, so k of them are the nearest ones.
        while !open.is_empty() {
            let some: Vec<Digest> = alloc::try_collect(open.iter().map(|&number| queries[number]))?;
            for (&number, mut hits) in open.iter().zip(self.near(&some, radius)?) {
                hits.truncate(k);
                results[number] = hits;
            }
            open.retain(|&number| results[number].len() < k.min(self.rows.len()));
            if radius == limit {
                break;
            }
            radius = radius.saturating_mul(2).min(limit);
        }
        Hits::new(&results)
    }

    /// Pass each live digest's later matches to `each`, in parallel.
    fn each_row<T: Send>(
        &self,
        limit: u16,
        cancel: &CancelToken,
        each: impl Fn(u32, Near) -> Result<T> + Sync,
    ) -> Result<Vec<Vec<T>>> {
        let live = self.rows.live_rows(0, self.rows.len())?;
        let queries: Vec<(Digest, u32)> = alloc::try_collect(live.iter().map(|&row| (self.digest(row), row + 1)))?;
        self.search_each(&queries, limit, cancel, |number, hits| each(live[number], hits))
    }

    /// Return all pairs of live digests within `limit`, in order of rows.
    fn pairs_of_rows(&self, limit: u16, cancel: &CancelToken) -> Result<Vec<(u32, u32, u16)>> {
        let found = self.each_row(limit, cancel, |left, hits| {
            alloc::try_collect(hits.iter().map(|&(distance, right)| (left, right, distance)))
        })?;
        let mut pairs = alloc::try_concat(alloc::try_concat(found)?)?;
        cancel.sort(&mut pairs);
        cancel.check()?;
        Ok(pairs)
    }

    /// Return all pairs of live digests within `limit`, each once, the smaller id left, sorted by ids.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub fn pairs(&self, limit: u16) -> Result<Pairs> {
        let cancel = &CancelToken::current();
        Pairs::sorted(self.pairs_of_rows(limit, cancel)?, &self.rows, cancel)
    }

    /// Return groups of digests within `limit`; digests without a match are left out.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub fn clusters(&self, limit: u16, linkage: Linkage) -> Result<Clusters> {
        let cancel = &CancelToken::current();
        let firsts = match linkage {
            Linkage::Connected => {
                let forest = Forest::new(self.total())?;
                self.each_row(limit, cancel, |left, hits| {
                    for &(_, right) in &hits {
                        forest.join(left, right);
                    }
                    Ok(())
                })?;
                forest.roots()?
            }
            Linkage::Centred => {
                let Pairs { left, right, .. } = Pairs::new(self.pairs_of_rows(limit, cancel)?.iter().copied())?;
                centred(self.total(), &left, &right)?
            }
        };
        Clusters::of_firsts(&firsts, 0, cancel, |first, others, distances| {
            let first = self.digest(first);
            for rows in cancel.blocks(others) {
                distances.extend(rows.iter().map(|&row| first.distance(&self.digest(row), true)));
            }
        })
    }
}

#[cfg(test)]
mod tests;
