//! An exact index of digests: everything that scores above 0, and no comparison with the rest.
//!
//! A score above 0 needs seven successive characters that two parts of one block size share (or equal digests). So the
//! postings are
//!
//! ```text
//! key(B, g)  -> row      for each 7-gram g of part 1;      key(2B, g) -> row      for each of part 2
//! key(whole) -> row      for digests without a 7-gram, which match nothing but themselves
//! ```
//!
//! Keys are 32-bit hashes: two that collide only add a candidate, and every candidate is compared in full. Recall and
//! precision are therefore 1 at every threshold from 1 to 100.
//!
//! # Layout and cost
//!
//! A posting is one u64, key above row. Postings are in sorted *runs*; a batch of additions is a new run, and runs of
//! similar length merge, so there are at most log2(n) of them and each posting is moved log2(n) times. A directory over
//! the key's leading bits finds a key in one step. About 80 postings per digest: 650 bytes, with a digest of 144. A
//! removed row is a cleared bit; its postings are dropped when they are half of all.
//!
//! A *hub* is a key that very many digests share (common headers, padding). Hubs make searches long, and are reported
//! on request ([`Index::hubs`]); they are skipped only if [`Limit::skip_hubs`] says so, and the result then counts the
//! skipped keys.

pub mod file;

use crate::parallel::prelude::*;

use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::digests::ssdeep::GRAM;
use crate::digests::ssdeep::compare::Query;
use crate::digests::ssdeep::parse::Digest;
use crate::error::{Error, Result};
use crate::index::components::Forest;
use crate::index::hamming::Linkage;
use crate::index::hits;
use crate::index::rows::{Existing, Keys, NewIds, Rows, merged_size};
use crate::segment::Segment;

/// Postings that are merged between two cancellation points.
const MERGED: usize = 1 << 14;
/// Digests of a task that makes postings.
const BLOCK: usize = 256;
/// Queries of a task.
const TASK: usize = 16;
/// Rows of a task that looks for pairs.
const ROWS: usize = 64;
/// Postings that one thread sorts and merges in a few hundred microseconds.
const QUICK: usize = 1 << 15;
/// Postings of a query that one thread searches, with a comparison each, in a few hundred microseconds.
const QUICK_QUERY: usize = 1 << 10;
/// Postings of the longest digest.
const MAX_GRAMS: usize = 2 * crate::digests::ssdeep::MAX_PART;
/// Keys that are counted between two cancellation points.
const COUNTED: usize = 1 << 14;

/// Which digests match.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Smallest score that counts, 1 to 100.
    pub threshold: u32,
    /// Keys with more postings than this are not followed; None follows all and is exact.
    pub skip_hubs: Option<usize>,
}

impl Limit {
    /// Create the limit of all scores of at least `threshold`, exactly.
    ///
    /// # Errors
    /// If `threshold` is not from 1 to 100.
    pub fn exact(threshold: u32) -> Result<Self> {
        Self { threshold, skip_hubs: None }.checked()
    }

    /// Check that the values are in range.
    ///
    /// # Errors
    /// If `threshold` is not from 1 to 100.
    pub fn checked(self) -> Result<Self> {
        if !(1..=100).contains(&self.threshold) {
            return Err(Error::parameter(
                "threshold",
                self.threshold,
                "1 to 100, inclusive: digests that share nothing score 0",
            ));
        }
        Ok(self)
    }
}

/// A key with many postings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Block size of the part that holds the characters.
    pub block_size: u64,
    /// The seven characters.
    pub gram: [u8; GRAM],
    /// Digests that hold them at this block size.
    pub count: usize,
}

/// Hits with scores, highest first.
pub type Hits = hits::Hits<u8>;
/// Pairs with scores.
pub type Pairs = hits::Pairs<u8>;
/// Clusters with scores: each member's with the representative, and 100 of the representative.
pub type Clusters = hits::Clusters<u8>;

/// The index.
#[derive(Debug, Default)]
pub struct Index {
    rows: Rows,
    /// Digest of each row; a removed one keeps its position.
    digests: Vec<Digest>,
    /// Removed rows whose postings are not in the runs.
    purged: usize,
    /// From long to short.
    runs: Vec<GramRun>,
    segment: Option<Segment>,
}

impl Index {
    /// Create an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Return the ids, row numbers and tombstones.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Return the digest of a row, if it is not removed.
    pub fn get(&self, row: u32) -> Option<&Digest> {
        self.digests.get(row as usize).filter(|_| self.rows.is_alive(row))
    }

    /// Number of postings, those of removed digests included.
    pub fn postings(&self) -> usize {
        self.runs.iter().map(|run| run.postings.len()).sum()
    }

    /// Return the bytes of digests, postings, directories and rows.
    pub fn bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(|run| 8 * (run.postings.capacity() + run.starts.capacity())).sum();
        runs + self.digests.capacity() * size_of::<Digest>() + self.rows.bytes()
    }

    /// Build the index of a file's rows and their digests.
    fn from_rows(rows: Rows, digests: &[Digest]) -> Result<Self> {
        let purged = rows.num_dead();
        let mut index = Self { purged, ..Self::default() };
        let new_run = index.prepare(digests, |row| rows.is_alive(row))?;
        index.reserve(digests.len())?;
        index.rows = rows;
        index.commit(digests, new_run);
        Ok(index)
    }

    /// Add digests; return the number added. A call that fails changes nothing.
    ///
    /// # Errors
    /// Counts differ; ids are of another kind than before; with `Existing::Error` an id exists or occurs twice; there
    /// would be more than 2^32 - 2 rows; the call is cancelled, or memory runs out.
    pub fn add(&mut self, ids: NewIds<'_>, digests: &[Digest], existing: Existing) -> Result<usize> {
        let batch = self.rows.prepare(ids, digests.len(), "digests", existing)?;
        let (count, digests) = (batch.count, batch.of(digests, 1)?);
        let new_run = self.prepare(&digests, |_| true)?;
        self.reserve(digests.len())?;
        self.rows.commit(batch);
        self.commit(&digests, new_run);
        Ok(count)
    }

    /// Return true if the calling thread can add this many digests in a few hundred microseconds.
    pub fn adds_quickly(&self, count: usize) -> bool {
        merged_size(count.saturating_mul(MAX_GRAMS), self.runs.iter().map(|run| run.postings.len())) <= QUICK
    }

    /// Return true if the calling thread can search for these in a few hundred microseconds.
    pub fn is_quick(&self, queries: &[Digest]) -> bool {
        let [query] = queries else { return queries.is_empty() };
        let mut postings = 0;
        for key in keys(query) {
            postings += self.runs.iter().map(|run| run.of_key(key, 0).len()).sum::<usize>();
            if postings > QUICK_QUERY {
                return false;
            }
        }
        true
    }

    /// Reserve capacity for this many digests and their run.
    fn reserve(&mut self, digests: usize) -> Result<()> {
        alloc::try_reserve(&mut self.digests, digests)?;
        alloc::try_reserve(&mut self.runs, 1)
    }

    /// Append digests as the next rows, in a short step.
    fn commit(&mut self, digests: &[Digest], new_run: Option<(usize, GramRun)>) {
        self.digests.extend_from_slice(digests);
        if let Some((keep, run)) = new_run {
            self.runs.truncate(keep);
            self.runs.push(run);
        }
    }

    /// Build the run of the postings of the next digests that are alive, and return the number of runs to keep: the
    /// others are merged into it. None if there are no postings.
    fn prepare(&self, digests: &[Digest], alive: impl Fn(u32) -> bool + Sync) -> Result<Option<(usize, GramRun)>> {
        let cancel = &CancelToken::current();
        let first = self.digests.len();
        let task = |(block, digests): (usize, &[Digest])| {
            cancel.check()?;
            let mut results = BestEffortVec::default();
            for (row, digest) in (first + block * BLOCK..).zip(digests).filter(|&(row, _)| alive(row as u32)) {
                results.extend(keys(digest).map(|key| u64::from(key) << 32 | row as u64));
            }
            results.into_vec()
        };
        let parts = alloc::try_map_parallel(digests.par_chunks(BLOCK).enumerate().map(task))?;
        let mut postings: Vec<u64> = alloc::try_concat(parts)?;
        if postings.is_empty() {
            return Ok(None);
        }
        sort(&mut postings, cancel);
        cancel.check()?;
        postings.dedup();
        // Merge while the last run is not shorter than half of the one before.
        let mut keep = self.runs.len();
        while let Some(last) = self.runs[..keep].last().filter(|run| run.postings.len() < 2 * postings.len()) {
            postings = merge(&last.postings, &postings, cancel)?;
            keep -= 1;
        }
        Ok(Some((keep, GramRun::new(postings, cancel)?)))
    }

    /// Remove ids (or row numbers); return the number removed. A call that fails changes nothing.
    ///
    /// # Errors
    /// An id does not exist, unless `missing_ok`.
    pub fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> Result<usize> {
        let removed = self.rows.remove(ids, missing_ok)?;
        if self.rows.num_dead() - self.purged > self.rows.len() {
            // The rows are gone whatever becomes of this; a later call tries again.
            match self.purge(&CancelToken::current()) {
                Ok(()) | Err(Error::Cancelled | Error::Memory { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }

    /// Remove the postings of dead rows from the runs.
    fn purge(&mut self, cancel: &CancelToken) -> Result<()> {
        let mut runs = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let mut postings = BestEffortVec::default();
            for chunk in cancel.blocks(&run.postings) {
                postings.extend(chunk.iter().copied().filter(|&posting| self.rows.is_alive(posting as u32)));
            }
            cancel.check()?;
            let postings = postings.into_vec()?;
            if !postings.is_empty() {
                runs.push(GramRun::new(postings, cancel)?);
            }
        }
        self.runs = runs;
        self.purged = self.rows.num_dead();
        Ok(())
    }

    /// Return the rows that score at least `limit.threshold` with a query, and their scores.
    fn scored(&self, query: &Query, rows: &[u32], limit: Limit, cancel: &CancelToken) -> Result<Vec<(u8, u32)>> {
        let mut hits = BestEffortVec::default();
        for rows in cancel.blocks(rows) {
            let scores = query.scores(rows.iter().map(|&row| &self.digests[row as usize]));
            let scored = scores.into_iter().zip(rows.iter().copied());
            hits.extend(scored.filter(|&(score, _)| u32::from(score) >= limit.threshold));
        }
        cancel.check()?;
        hits.into_vec()
    }

    /// Return the digests that score at least `limit.threshold` with `query`, highest score first, ties by id; and the
    /// number of skipped keys.
    fn search(
        &self,
        query: &Digest,
        limit: Limit,
        cancel: &CancelToken,
        scratch: &mut Scratch,
    ) -> Result<(Vec<(u8, u32)>, usize)> {
        let prepared = Query::new(query);
        let skipped = self.candidates(query, 0, limit.skip_hubs, cancel, scratch)?;
        let mut hits = self.scored(&prepared, &scratch.candidates, limit, cancel)?;
        hits.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| self.rows.compare(a.1, b.1)));
        Ok((hits, skipped))
    }

    /// Search for each of `queries`, in parallel; also return the number of skipped keys.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub fn search_many(&self, queries: &[Digest], limit: Limit) -> Result<(Hits, usize)> {
        let cancel = &CancelToken::current();
        let tasks = queries.par_chunks(TASK).map_init(Scratch::default, |scratch, queries| {
            queries.iter().map(|query| self.search(query, limit, cancel, scratch)).collect::<Result<Vec<_>>>()
        });
        let results = alloc::try_concat(alloc::try_map_parallel(tasks)?)?;
        cancel.check()?;
        let mut hits = Hits::with_capacity(results.len(), results.iter().map(|(hits, _)| hits.len()).sum())?;
        for (found, _) in &results {
            hits.push(found.iter().copied());
        }
        Ok((hits, results.iter().map(|(_, skipped)| skipped).sum()))
    }

    /// Collect in `scratch.candidates` the live rows from `from` on that share a key with `digest`, each once; stop early if
    /// the call is cancelled.
    fn candidates(
        &self,
        digest: &Digest,
        from: u32,
        skip_hubs: Option<usize>,
        cancel: &CancelToken,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        scratch.begin(self.digests.len())?;
        let mut skipped = 0;
        for key in keys(digest) {
            if cancel.is_set() {
                break;
            }
            if let Some(max_postings) = skip_hubs
                && self.runs.iter().map(|run| run.of_key(key, 0).len()).sum::<usize>() > max_postings
            {
                skipped += 1;
                continue;
            }
            for run in &self.runs {
                let postings = run.of_key(key, from);
                scratch.make_room(postings.len())?;
                for &posting in postings {
                    let row = posting as u32;
                    if scratch.is_new(row) && self.rows.is_alive(row) {
                        scratch.candidates.push(row);
                    }
                }
            }
        }
        Ok(skipped)
    }

    /// Return all pairs of live digests that score at least `limit.threshold`, each once, the smaller id left, sorted
    /// by ids; and the number of skipped keys.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub fn pairs(&self, limit: Limit) -> Result<(Pairs, usize)> {
        let cancel = &CancelToken::current();
        let task = |scratch: &mut Scratch, first: usize| {
            let (mut pairs, mut skipped) = (Vec::new(), 0);
            for left in first as u32..self.digests.len().min(first + ROWS) as u32 {
                skipped += self.pairs_of(left, limit, cancel, scratch, &mut pairs)?;
            }
            Ok((pairs, skipped))
        };
        let tasks = (0..self.digests.len()).into_par_iter().step_by(ROWS).map_init(Scratch::default, task);
        let results = alloc::try_map_parallel(tasks)?;
        cancel.check()?;
        let skipped = results.iter().map(|(_, skipped)| skipped).sum();
        let pairs = alloc::try_collect(results.into_iter().map(|(pairs, _)| pairs))?;
        Ok((Pairs::sorted(alloc::try_concat(pairs)?, &self.rows, cancel)?, skipped))
    }

    /// Append the pairs of a row and later ones; return the number of skipped keys.
    fn pairs_of(
        &self,
        left: u32,
        limit: Limit,
        cancel: &CancelToken,
        scratch: &mut Scratch,
        pairs: &mut Vec<(u32, u32, u8)>,
    ) -> Result<usize> {
        let Some(digest) = self.get(left) else { return Ok(0) };
        let skipped = self.candidates(digest, left + 1, limit.skip_hubs, cancel, scratch)?;
        if scratch.candidates.is_empty() {
            return Ok(skipped);
        }
        let hits = self.scored(&Query::new(digest), &scratch.candidates, limit, cancel)?;
        let begin = pairs.len();
        alloc::try_reserve(pairs, hits.len())?;
        pairs.extend(hits.iter().map(|&(score, right)| (left, right, score)));
        pairs[begin..].sort_unstable();
        Ok(skipped)
    }

    /// Return groups of digests that score at least `limit.threshold`, and the number of skipped keys; digests without a
    /// match are left out.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub fn clusters(&self, limit: Limit, linkage: Linkage) -> Result<(Clusters, usize)> {
        let cancel = &CancelToken::current();
        let (firsts, skipped) = match linkage {
            Linkage::Connected => self.connected(limit, cancel)?,
            Linkage::Centred => self.centred(limit, cancel)?,
        };
        let clusters = Clusters::of_firsts(&firsts, 100, cancel, |first, others, scores| {
            let query = Query::new(&self.digests[first as usize]);
            for rows in cancel.blocks(others) {
                scores.extend(query.scores(rows.iter().map(|&row| &self.digests[row as usize])));
            }
        })?;
        Ok((clusters, skipped))
    }

    fn connected(&self, limit: Limit, cancel: &CancelToken) -> Result<(Vec<u32>, usize)> {
        let forest = Forest::new(self.digests.len())?;
        let (mut scratch, mut skipped) = (Scratch::default(), 0);
        for left in 0..self.digests.len() as u32 {
            let Some(digest) = self.get(left) else { continue };
            skipped += self.candidates(digest, left + 1, limit.skip_hubs, cancel, &mut scratch)?;
            cancel.check()?;
            let mut query = None;
            for &right in cancel.blocks(&scratch.candidates).flatten() {
                // Digests that are already connected require no comparison.
                if forest.root(left) != forest.root(right) {
                    let query = query.get_or_insert_with(|| Query::new(digest));
                    if query.score(&self.digests[right as usize]) >= limit.threshold {
                        forest.join(left, right);
                    }
                }
            }
        }
        cancel.check()?;
        Ok((forest.roots()?, skipped))
    }

    fn centred(&self, limit: Limit, cancel: &CancelToken) -> Result<(Vec<u32>, usize)> {
        let none = u32::MAX;
        let mut centres = alloc::try_filled(none, self.digests.len())?;
        let (mut scratch, mut skipped) = (Scratch::default(), 0);
        for left in 0..self.digests.len() as u32 {
            if centres[left as usize] != none {
                continue;
            }
            centres[left as usize] = left;
            let Some(digest) = self.get(left) else { continue };
            skipped += self.candidates(digest, left + 1, limit.skip_hubs, cancel, &mut scratch)?;
            cancel.check()?;
            let query = Query::new(digest);
            for &right in cancel.blocks(&scratch.candidates).flatten() {
                if centres[right as usize] == none && query.score(&self.digests[right as usize]) >= limit.threshold {
                    centres[right as usize] = left;
                }
            }
        }
        cancel.check()?;
        Ok((centres, skipped))
    }

    /// Return the 7-grams of at least `min_count` live digests, most frequent first, at most `max_hubs` of them.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub fn hubs(&self, min_count: usize, max_hubs: usize) -> Result<Vec<Hub>> {
        let cancel = &CancelToken::current();
        let mut counts: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
        for run in &self.runs {
            for (number, group) in run.postings.chunk_by(|a, b| a >> 32 == b >> 32).enumerate() {
                if number.is_multiple_of(COUNTED) {
                    cancel.check()?;
                }
                let live = group.iter().filter(|&&posting| self.rows.is_alive(posting as u32)).count();
                alloc::try_reserve_map(&mut counts, 1)?;
                *counts.entry((group[0] >> 32) as u32).or_default() += live;
            }
        }
        let mut keys = BestEffortVec::default();
        keys.extend(counts.into_iter().filter(|&(_, count)| count >= min_count).map(|(key, _)| key));
        let mut hubs: BestEffortVec<Hub> = BestEffortVec::default();
        for key in keys.into_vec()? {
            cancel.check()?;
            hubs.extend(self.grams_of(key).into_iter().filter(|hub| hub.count >= min_count));
        }
        let mut hubs = hubs.into_vec()?;
        hubs.sort_unstable_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| (a.block_size, a.gram).cmp(&(b.block_size, b.gram)))
        });
        hubs.truncate(max_hubs);
        Ok(hubs)
    }

    /// Return the grams of a key (more than one if they collide) and the number of live digests with each.
    fn grams_of(&self, key: u32) -> Vec<Hub> {
        let mut hubs: Vec<Hub> = Vec::new();
        for posting in self.runs.iter().flat_map(|run| run.of_key(key, 0)) {
            let Some(digest) = self.get(*posting as u32) else { continue };
            let mut own: Vec<(u64, [u8; GRAM])> =
                grams(digest).filter(|&(size, gram)| key_of(size, gram) == key).collect();
            own.sort_unstable();
            own.dedup();
            for (block_size, gram) in own {
                match hubs.iter_mut().find(|hub| hub.block_size == block_size && hub.gram == gram) {
                    Some(hub) => hub.count += 1,
                    None => hubs.push(Hub { block_size, gram, count: 1 }),
                }
            }
        }
        hubs
    }
}

/// The rows that a search has seen; reused by the next search.
#[derive(Default)]
struct Scratch {
    seen: Vec<u64>,
    touched: Vec<u32>,
    candidates: Vec<u32>,
}

impl Scratch {
    fn begin(&mut self, rows: usize) -> Result<()> {
        for word in self.touched.drain(..) {
            self.seen[word as usize] = 0;
        }
        self.candidates.clear();
        let words = rows.div_ceil(64);
        if self.seen.len() < words {
            self.seen = alloc::try_zeroed(words)?;
        }
        Ok(())
    }

    /// Reserve capacity for as many new rows.
    fn make_room(&mut self, rows: usize) -> Result<()> {
        alloc::try_reserve(&mut self.touched, rows)?;
        alloc::try_reserve(&mut self.candidates, rows)
    }

    #[inline]
    fn is_new(&mut self, row: u32) -> bool {
        let word = &mut self.seen[row as usize / 64];
        let bit = 1 << (row % 64);
        if *word & bit != 0 {
            return false;
        }
        if *word == 0 {
            self.touched.push(row / 64);
        }
        *word |= bit;
        true
    }
}

/// Sorted postings, and the start of each prefix of the key.
#[derive(Clone, Debug)]
struct GramRun {
    postings: Vec<u64>,
    starts: Vec<usize>,
    shift: u32,
}

impl GramRun {
    fn new(postings: Vec<u64>, cancel: &CancelToken) -> Result<Self> {
        // About eight postings a prefix: one byte of directory each.
        let bits = (postings.len() / 8).max(2).ilog2().min(31);
        let shift = 64 - bits;
        let mut starts = alloc::try_zeroed::<usize>((1 << bits) + 1)?;
        for posting in cancel.blocks(&postings).flatten() {
            starts[(posting >> shift) as usize + 1] += 1;
        }
        alloc::prefix_sums(&mut starts);
        cancel.check()?;
        Ok(Self { postings, starts, shift })
    }

    /// Return the postings of `key` with rows from `from` on.
    #[inline]
    fn of_key(&self, key: u32, from: u32) -> &[u64] {
        let first = u64::from(key) << 32 | u64::from(from);
        let prefix = (first >> self.shift) as usize;
        let range = &self.postings[self.starts[prefix]..self.starts[prefix + 1]];
        let start = if range.len() <= 16 {
            range.iter().take_while(|&&posting| posting < first).count()
        } else {
            range.partition_point(|&posting| posting < first)
        };
        let rest = &range[start..];
        let of_key = |posting: u64| (posting >> 32) as u32 == key;
        if rest.last().is_none_or(|&last| of_key(last)) {
            return rest;
        }
        let length = if rest.len() <= 16 {
            rest.iter().take_while(|&&posting| of_key(posting)).count()
        } else {
            rest.partition_point(|&posting| of_key(posting))
        };
        &rest[..length]
    }
}

fn sort(postings: &mut [u64], cancel: &CancelToken) {
    if postings.len() < 1 << 14 { postings.sort_unstable() } else { cancel.sort(postings) }
}

fn merge(a: &[u64], b: &[u64], cancel: &CancelToken) -> Result<Vec<u64>> {
    let mut merged = alloc::try_with_capacity(a.len() + b.len())?;
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() && !cancel.is_set() {
        // This many items are available on both sides, whichever they are taken from.
        for _ in 0..MERGED.min(a.len() - i).min(b.len() - j) {
            let left = a[i] <= b[j];
            merged.push(if left { a[i] } else { b[j] });
            i += usize::from(left);
            j += usize::from(!left);
        }
    }
    merged.extend_from_slice(&a[i..]);
    merged.extend_from_slice(&b[j..]);
    cancel.check()?;
    Ok(merged)
}

/// Iterate over the 7-grams of both parts with the block size of their part.
fn grams(digest: &Digest) -> impl Iterator<Item = (u64, [u8; GRAM])> + '_ {
    let of_part = |part: &'_ crate::digests::ssdeep::parse::Part, size: u64| {
        let bytes = *part;
        (GRAM..=part.as_bytes().len()).map(move |end| {
            let mut gram = [0; GRAM];
            gram.copy_from_slice(&bytes.as_bytes()[end - GRAM..end]);
            (size, gram)
        })
    };
    of_part(&digest.part1, digest.block_size).chain(of_part(&digest.part2, digest.block_size.wrapping_mul(2)))
}

#[inline]
fn key_of(block_size: u64, gram: [u8; GRAM]) -> u32 {
    let mut word = [0; 8];
    word[..GRAM].copy_from_slice(&gram);
    mix(u64::from_le_bytes(word) ^ block_size.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Mix by two rounds of multiply and fold (the finaliser of splitmix64); return the upper half.
#[inline]
fn mix(mut x: u64) -> u32 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 32) as u32
}

/// Iterate over the keys of one digest, sorted, each once.
fn keys(digest: &Digest) -> impl Iterator<Item = u32> {
    let mut keys = [0; MAX_GRAMS];
    let mut length = 0;
    for (size, gram) in grams(digest) {
        keys[length] = key_of(size, gram);
        length += 1;
    }
    if length == 0 {
        let hash = digest.to_text().iter().fold(1u64, |h, &c| (h ^ u64::from(c)).wrapping_mul(0x100_0000_01b3));
        keys[0] = mix(hash);
        length = 1;
    }
    keys[..length].sort_unstable();
    let mut last = None;
    keys.into_iter().take(length).filter(move |&key| last.replace(key) != Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digests::ssdeep::compare;
    use proptest::prelude::*;

    fn brute_force_pairs(digests: &[Digest], threshold: u32) -> Vec<(u32, u32, u8)> {
        let rows = 0..digests.len();
        let pairs = rows.clone().flat_map(|i| rows.clone().skip(i + 1).map(move |j| (i, j)));
        pairs
            .map(|(i, j)| (i as u32, j as u32, compare::compare(&digests[i], &digests[j]) as u8))
            .filter(|pair| u32::from(pair.2) >= threshold)
            .collect()
    }

    /// Generate few block sizes and mutated copies, so that many pairs match.
    fn corpus() -> impl Strategy<Value = Vec<Digest>> {
        let part = || prop_oneof!["[A-D]{0,12}", "[a-f]{20,64}", "(abcdefg|hijklmn|opqrstu){1,6}", "a{0,20}"];
        prop::collection::vec((0u32..4, part(), part()), 0..60).prop_map(|parts| {
            parts
                .into_iter()
                .map(|(level, a, b)| Digest::parse(format!("{}:{a}:{b}", 3 << level).as_bytes()).unwrap())
                .collect()
        })
    }

    fn filled(digests: &[Digest], batch: usize) -> Index {
        let mut index = Index::new();
        for digests in digests.chunks(batch) {
            index.add(NewIds::Rows, digests, Existing::Error).unwrap();
        }
        index
    }

    #[test]
    fn what_is_quick_merges_and_compares_little() {
        let digest = |text: String| Digest::parse(text.as_bytes()).unwrap();
        let similar = |i: u32| digest(format!("3:ABCDEFGHIJ{}:", char::from_u32(i % 20 + 97).unwrap()));
        let mut index = filled(&(0..1000).map(similar).collect::<Vec<_>>(), 1000);
        assert!(index.adds_quickly(1) && !index.adds_quickly(1000));
        let (hub, other) = (similar(0), digest("3:KLMNOPQRST:".to_owned()));
        // 1,000 rows share four 7-grams.
        assert!(
            !index.is_quick(&[hub]) && index.is_quick(&[other]) && index.is_quick(&[]) && !index.is_quick(&[other; 2])
        );
        index.remove(Keys::Ints(&(10..1000).collect::<Vec<_>>()), false).unwrap();
        assert!(index.is_quick(&[hub]));
    }

    proptest! {
        #[test]
        fn all_pairs_equal_brute_force(digests in corpus(), batch in 1usize..70, threshold in 1u32..=100) {
            let (pairs, skipped) = filled(&digests, batch).pairs(Limit::exact(threshold).unwrap()).unwrap();
            prop_assert_eq!(Pairs::new(brute_force_pairs(&digests, threshold).into_iter()).unwrap(), pairs);
            prop_assert_eq!(0, skipped);
        }

        #[test]
        fn a_search_equals_brute_force_after_removals(digests in corpus(), batch in 1usize..9, is_removed in prop::collection::vec(any::<bool>(), 60)) {
            let mut index = filled(&digests, batch);
            for (row, _) in digests.iter().enumerate().filter(|&(row, _)| is_removed[row]) {
                prop_assert_eq!(1, index.remove(Keys::Ints(&[row as i64]), false).unwrap());
                prop_assert!(index.remove(Keys::Ints(&[row as i64]), false).is_err());
            }
            let left: Vec<usize> = (0..digests.len()).filter(|&row| !is_removed[row]).collect();
            prop_assert_eq!(left.len(), index.rows().len());
            let (results, _) = index.search_many(&digests, Limit::exact(1).unwrap()).unwrap();
            let mut lists = Vec::new();
            for query in &digests {
                let mut expected: Vec<(u8, u32)> = left
                    .iter()
                    .map(|&row| (compare::compare(query, &digests[row]) as u8, row as u32))
                    .filter(|&(score, _)| score > 0)
                    .collect();
                expected.sort_by_key(|&(score, row)| (std::cmp::Reverse(score), row));
                lists.push(expected);
            }
            prop_assert_eq!(Hits::new(&lists).unwrap(), results);
        }

        #[test]
        fn connected_clusters_are_the_components_of_the_pairs(digests in corpus(), threshold in 1u32..=100) {
            let (results, _) = filled(&digests, 7).connected(Limit::exact(threshold).unwrap(), &CancelToken::default()).unwrap();
            let mut expected: Vec<u32> = (0..digests.len() as u32).collect();
            for (left, right, _) in brute_force_pairs(&digests, threshold) {
                let (a, b) = (expected[left as usize], expected[right as usize]);
                for label in &mut expected {
                    if *label == a.max(b) {
                        *label = a.min(b);
                    }
                }
            }
            prop_assert_eq!(expected, results);
        }

        #[test]
        fn centred_clusters_match_their_centre_and_no_two_centres_match(digests in corpus(), threshold in 1u32..=100) {
            let (centres, _) = filled(&digests, 7).centred(Limit::exact(threshold).unwrap(), &CancelToken::default()).unwrap();
            let is_centre = |row: usize| centres[row] as usize == row;
            for row in 0..digests.len() {
                let centre = centres[row] as usize;
                prop_assert!(is_centre(centre));
                prop_assert!(row == centre || compare::compare(&digests[row], &digests[centre]) >= threshold);
                for other in 0..row {
                    prop_assert!(!(is_centre(row) && is_centre(other)) || compare::compare(&digests[row], &digests[other]) < threshold);
                }
            }
        }

        #[test]
        fn hubs_are_counted_exactly(digests in corpus()) {
            let mut expected: std::collections::HashMap<(u64, [u8; GRAM]), usize> = std::collections::HashMap::new();
            for digest in &digests {
                let mut own: Vec<_> = grams(digest).collect();
                own.sort_unstable();
                own.dedup();
                for gram in own {
                    *expected.entry(gram).or_default() += 1;
                }
            }
            let hubs = filled(&digests, 5).hubs(2, usize::MAX).unwrap();
            prop_assert_eq!(expected.values().filter(|&&count| count >= 2).count(), hubs.len());
            for hub in hubs {
                prop_assert_eq!(expected[&(hub.block_size, hub.gram)], hub.count);
            }
        }
    }

    #[test]
    fn skipped_hubs_are_counted() {
        let digests: Vec<Digest> = (0..20)
            .map(|i| Digest::parse(format!("96:abcdefg{}:", char::from(b'A' + i)).as_bytes()).unwrap())
            .collect();
        let index = filled(&digests, 20);
        let limit = Limit { threshold: 1, skip_hubs: Some(19) };
        let search =
            |limit| index.search(&digests[0], limit, &CancelToken::default(), &mut Scratch::default()).expect("room");
        let (hits, skipped) = search(limit);
        assert_eq!((1, 1), (hits.len(), skipped));
        let limit = Limit { skip_hubs: Some(20), ..limit };
        let (hits, skipped) = search(limit);
        assert_eq!((20, 0), (hits.len(), skipped));
    }

    #[test]
    fn an_addition_that_is_stopped_at_any_look_changes_nothing() {
        let digest = |i: u32| Digest::parse(format!("96:abcdefg{}xyz{}:", i % 9, 7 * i + 11).as_bytes()).unwrap();
        let digests: Vec<Digest> = (0..120).map(digest).collect();
        let ids: Vec<i64> = (0..120).map(|i| (i * 37) % 100).collect();
        let filled = || {
            let mut index = Index::new();
            index.add(NewIds::Ints(&ids[..40]), &digests[..40], Existing::Error).unwrap();
            index
        };
        let state = |index: &Index| {
            let results = index.search_many(&digests, Limit::exact(1).unwrap()).unwrap();
            (index.rows().len(), index.rows().total(), index.rows().find_int(37), results)
        };
        let before = state(&filled());
        let mut index = filled();
        let add = |index: &mut Index| index.add(NewIds::Ints(&ids[20..]), &digests[20..], Existing::Update);
        let added = crate::cancel::at_every_check(&mut index, add, |index| assert_eq!(before, state(index)));
        assert_eq!(100, added);
        let mut other = filled();
        add(&mut other).unwrap();
        assert_eq!(state(&other), state(&index));
        let limit = Limit::exact(1).unwrap();
        let pairs = crate::cancel::at_every_check(&mut index, |index| index.pairs(limit), |_| {});
        assert_eq!(other.pairs(limit).unwrap(), pairs);
    }
}
