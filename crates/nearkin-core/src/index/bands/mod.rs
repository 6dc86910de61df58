//! Banding (MinHash LSH): find signatures that agree in all values of some band.
//!
//! A signature of k values is cut into b *bands* of r *rows* (values) each, b · r <= k. Two signatures are *candidates*
//! if they agree in all values of some band: with probability 1 − (1 − s^r)^b if each value agrees with probability s
//! independently (`python/nearkin/theory/banding.py` solves this for b and r).
//!
//! **Guarantee.** [`Index::search`] returns the rows that are candidates of the query and agree with it in at least
//! `min_equal` of the k values, and no others; [`Index::pairs`] likewise all pairs. Signatures of sets without features
//! never match.
//!
//! **Structure.** Equal signatures are one *item*, so copies cost one entry; a row points to its item and to the
//! previous row of the same item. Items are in sorted runs (`run`): for every band the 32-bit keys of all items in
//! order, with the item numbers. A key only proposes an item: the band's values are compared before it counts. Runs are
//! merged so that each is more than twice as long as the next. Removal marks a row dead; dead rows are dropped when
//! they outnumber the others.
//!
//! **Cost.** A query reads one directory entry per band and run and compares each candidate item once, k values; a
//! search for all pairs keeps the candidates of one item at a time. Memory: 8 b bytes per item and its signature, 4
//! bytes per row. **Limits.** 2^32 − 2 rows over the life of an index. Sources: Broder (SEQUENCES 1997); Gionis, Indyk
//! and Motwani (VLDB 1999); Leskovec, Rajaraman and Ullman, *Mining of Massive Datasets*, section 3.4. Tests: `tests`
//! against brute force.

mod file;
mod run;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use crate::parallel::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use crate::alloc;
use crate::cancel::CancelToken;
use crate::families::minhash::{MAX_PERM, Value, different};
use crate::index::components::Forest;
use crate::index::hamming::{Clusters, Hits, Linkage, Pairs};
use crate::index::rows::{Existing, Keys, NewIds, Rows};
use crate::segment::{Column, Plain, Segment, as_bytes};
use crate::{Error, Result};
pub use file::describe;
use run::BandRun;

/// Queries of a task.
const TASK: usize = 16;
/// Items of a task that looks for pairs.
const ITEMS: usize = 64;
/// Entries of bands that one thread sorts and merges in a few hundred microseconds.
const QUICK: usize = 1 << 15;
/// The item of a row without features, which never matches.
const NO_ITEM: u32 = u32::MAX;

/// An addition that was prepared.
struct New<V> {
    /// All items by the hash of their signature, the new ones too.
    by_hash: HashMap<u64, u32>,
    /// New items.
    items: Vec<V>,
    /// Item of each new row.
    of: Vec<u32>,
    /// Number of runs to keep; the rest is merged into `run`.
    keep: usize,
    run: Option<BandRun>,
}

/// Banding index of signatures with values of type `V`.
pub struct Index<V: Value + Plain> {
    num_perm: usize,
    bands: usize,
    num_rows: usize,
    rows: Rows,
    /// Different signatures, `num_perm` values each.
    items: Column<V>,
    /// Item of each row.
    of: Column<u32>,
    /// The row of the same item that was added before, or the row itself if there is none.
    before: Column<u32>,
    /// The last row of each item.
    last: Column<u32>,
    /// Items by the hash of their signature; None until an opened index is added to, and after an addition that failed.
    by_hash: Option<HashMap<u64, u32>>,
    runs: Vec<BandRun>,
    segment: Option<Segment>,
}

impl<V: Value + Plain> Index<V> {
    /// Create an empty index of signatures of `num_perm` values in `bands` bands of `num_rows` values.
    ///
    /// # Errors
    /// A number out of its range, or bands that hold more values than a signature.
    pub fn new(num_perm: usize, bands: usize, num_rows: usize) -> Result<Self> {
        if !(1..=MAX_PERM).contains(&num_perm) {
            return Err(Error::parameter("num_perm", num_perm, format!("1 to {MAX_PERM}")));
        }
        if bands == 0 || num_rows == 0 || bands.checked_mul(num_rows).is_none_or(|values| values > num_perm) {
            let allowed = format!("at least one band and row, and num_bands * num_rows up to num_perm={num_perm}");
            return Err(Error::parameter("num_bands, num_rows", format!("{bands}, {num_rows}"), allowed));
        }
        Ok(Self {
            num_perm,
            bands,
            num_rows,
            rows: Rows::default(),
            items: Column::default(),
            of: Column::default(),
            before: Column::default(),
            last: Column::default(),
            by_hash: Some(HashMap::new()),
            runs: Vec::new(),
            segment: None,
        })
    }

    /// Return the values of a signature, the bands, and the rows of a band.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.num_perm, self.bands, self.num_rows)
    }

    /// Return the ids, row numbers and tombstones.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Number of different signatures, those of dead rows included.
    pub fn num_items(&self) -> usize {
        self.last.len()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let rows = self.of.bytes() + self.before.bytes() + self.last.bytes();
        let by_hash = self.by_hash.as_ref().map_or(0, |by_hash| by_hash.capacity() * 17);
        self.items.bytes() + rows + by_hash + self.rows.bytes() + self.runs.iter().map(BandRun::bytes).sum::<usize>()
    }

    fn check(&self, signatures: &[V]) -> Result<usize> {
        if signatures.len().is_multiple_of(self.num_perm) {
            return Ok(signatures.len() / self.num_perm);
        }
        let allowed = format!("{} values per signature", self.num_perm);
        Err(Error::parameter("signatures", format!("{} values", signatures.len()), allowed))
    }

    fn item(&self, item: u32) -> &[V] {
        &self.items[item as usize * self.num_perm..][..self.num_perm]
    }

    /// Add rows; return the number added. A call that fails changes nothing.
    ///
    /// # Errors
    /// Counts differ; ids are of another kind than before; with `Existing::Error` an id exists or occurs twice; there
    /// would be more than 2^32 - 2 rows; the call is cancelled, or memory runs out.
    pub fn add(&mut self, ids: NewIds<'_>, signatures: &[V], existing: Existing) -> Result<usize> {
        let count = self.check(signatures)?;
        let batch = self.rows.prepare(ids, count, "signatures", existing)?;
        let count = batch.count;
        if count > 0 {
            let new = self.prepare(&batch.of(signatures, self.num_perm)?)?;
            self.reserve(&new)?;
            self.rows.commit(batch);
            self.commit(new);
        }
        Ok(count)
    }

    /// Return true if the calling thread can add this many signatures in a few hundred microseconds.
    pub fn adds_quickly(&self, count: usize) -> bool {
        // A run of twice the length is merged, too.
        let mut merged = count;
        for run in self.runs.iter().rev().map(BandRun::len) {
            if run > 2 * merged {
                break;
            }
            merged += run;
        }
        self.by_hash.is_some() && merged.saturating_mul(self.bands) <= QUICK
    }

    /// Take the items by the hash of their signature; if the addition fails, they are computed again.
    fn take_by_hash(&mut self, cancel: &CancelToken) -> Result<HashMap<u64, u32>> {
        if let Some(by_hash) = self.by_hash.take() {
            return Ok(by_hash);
        }
        let hash = |item: &[V]| if cancel.is_set() { 0 } else { xxh3_64(as_bytes(item)) };
        let hashes = alloc::try_collect_parallel(self.items.par_chunks(self.num_perm).map(hash))?;
        let mut by_hash = HashMap::new();
        alloc::try_reserve_map(&mut by_hash, hashes.len())?;
        // Among items with one hash the first counts, as if they had been added in turn.
        for item in cancel.ranges(0..hashes.len()).flatten() {
            by_hash.entry(hashes[item]).or_insert(item as u32);
        }
        cancel.check()?;
        Ok(by_hash)
    }

    /// Prepare an addition, with new items sorted into a run; search results do not change.
    fn prepare(&mut self, signatures: &[V]) -> Result<New<V>> {
        let (k, cancel) = (self.num_perm, &CancelToken::current());
        self.items.own(cancel)?;
        for column in [&mut self.of, &mut self.before, &mut self.last] {
            column.own(cancel)?;
        }
        let first = self.last.len();
        let mut new = New {
            by_hash: self.take_by_hash(cancel)?,
            items: Vec::new(),
            of: alloc::try_with_capacity(signatures.len() / k)?,
            keep: self.runs.len(),
            run: None,
        };
        for rows in cancel.ranges(0..signatures.len() / k) {
            alloc::try_reserve_map(&mut new.by_hash, rows.len())?;
            for signature in signatures[rows.start * k..rows.end * k].chunks_exact(k) {
                if signature.iter().all(|value| *value == V::NONE) {
                    new.of.push(NO_ITEM);
                    continue;
                }
                let next = first + new.items.len() / k;
                let results = *new.by_hash.entry(xxh3_64(as_bytes(signature))).or_insert(next as u32) as usize;
                let is_found = |at: usize, items: &[V]| items[at * k..][..k] == *signature;
                // Another signature with the same hash becomes a separate item.
                let by_hash = results < next
                    && if results < first {
                        is_found(results, &self.items)
                    } else {
                        is_found(results - first, &new.items)
                    };
                if !by_hash {
                    alloc::try_extend(&mut new.items, signature)?;
                }
                new.of.push(if by_hash { results } else { next } as u32);
            }
        }
        cancel.check()?;
        if !new.items.is_empty() {
            let mut run = BandRun::new(&new.items, first, k, self.bands, self.num_rows, cancel)?;
            while let Some(last) = self.runs[..new.keep].last().filter(|last| last.len() <= 2 * run.len()) {
                run = BandRun::merge(last, &run, self.bands, cancel)?;
                new.keep -= 1;
            }
            new.run = Some(run);
        }
        Ok(new)
    }

    /// Reserve capacity for a prepared addition.
    fn reserve(&mut self, new: &New<V>) -> Result<()> {
        let cancel = &CancelToken::current();
        let items = new.items.len() / self.num_perm;
        self.items.reserve(new.items.len(), cancel)?;
        self.last.reserve(items, cancel)?;
        self.of.reserve(new.of.len(), cancel)?;
        self.before.reserve(new.of.len(), cancel)?;
        alloc::try_reserve(&mut self.runs, 1)
    }

    /// Commit a prepared addition, in a short step.
    fn commit(&mut self, new: New<V>) {
        let (before, last) = (self.before.to_mut(), self.last.to_mut());
        for &item in &new.of {
            let row = before.len() as u32;
            if item == NO_ITEM {
                before.push(row);
            } else if let Some(last) = last.get_mut(item as usize) {
                before.push(std::mem::replace(last, row));
            } else {
                before.push(row);
                last.push(row);
            }
        }
        self.items.to_mut().extend_from_slice(&new.items);
        self.of.to_mut().extend_from_slice(&new.of);
        self.by_hash = Some(new.by_hash);
        if let Some(run) = new.run {
            self.runs.truncate(new.keep);
            self.runs.push(run);
        }
    }

    /// Remove ids (or row numbers); return the number removed. A call that fails changes nothing.
    ///
    /// # Errors
    /// An id does not exist, unless `missing_ok`.
    pub fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> Result<usize> {
        self.rows.remove(ids, missing_ok)
    }

    /// Append the live rows of an item to `results`.
    fn members(&self, item: u32, results: &mut Vec<u32>) -> Result<()> {
        let mut row = self.last[item as usize];
        loop {
            if self.rows.is_alive(row) {
                alloc::try_reserve(results, 1)?;
                results.push(row);
            }
            let before = self.before[row as usize];
            // Rows only ever point to earlier ones.
            if before >= row {
                return Ok(());
            }
            row = before;
        }
    }

    /// Write the items above `above` that share a band with `signature` and agree with it in at least `min_equal` values to
    /// `results`, with the number of values in which they differ.
    fn candidates(
        &self,
        signature: &[V],
        min_equal: usize,
        above: Option<u32>,
        results: &mut Vec<(u32, u16)>,
    ) -> Result<()> {
        results.clear();
        for band in 0..self.bands {
            let values = &signature[band * self.num_rows..][..self.num_rows];
            let key = run::key(values, band);
            for run in &self.runs {
                let items = run.with_key(band, key);
                alloc::try_reserve(results, items.len())?;
                for &item in items {
                    if above.is_none_or(|above| item > above)
                        && self.item(item)[band * self.num_rows..][..self.num_rows] == *values
                    {
                        results.push((item, 0));
                    }
                }
            }
        }
        results.sort_unstable();
        results.dedup();
        results.retain_mut(|(item, distance)| {
            *distance = different(signature, self.item(*item));
            self.num_perm - usize::from(*distance) >= min_equal
        });
        Ok(())
    }

    /// Return the rows that share a band with each query and agree with it in at least `min_equal` values, nearest first,
    /// ties by id; a distance is the number of values that differ.
    ///
    /// # Errors
    /// Queries are not full signatures.
    pub fn search(&self, queries: &[V], min_equal: usize) -> Result<Hits> {
        self.check(queries)?;
        let cancel = &CancelToken::current();
        let search_chunk = |queries: &[V]| {
            let (mut candidates, mut members) = (Vec::new(), Vec::new());
            let (mut ends, mut hits): (Vec<usize>, Vec<(u16, u32)>) = (Vec::new(), Vec::new());
            for query in queries.chunks_exact(self.num_perm) {
                cancel.check()?;
                let begin = hits.len();
                if !query.iter().all(|value| *value == V::NONE) {
                    self.candidates(query, min_equal, None, &mut candidates)?;
                    for &(item, distance) in &candidates {
                        members.clear();
                        self.members(item, &mut members)?;
                        alloc::try_reserve(&mut hits, members.len())?;
                        hits.extend(members.iter().map(|&row| (distance, row)));
                    }
                    hits[begin..].sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.rows.compare(a.1, b.1)));
                }
                ends.push(hits.len());
            }
            Ok((ends, hits))
        };
        let results = alloc::try_map_parallel(queries.par_chunks(TASK * self.num_perm).map(search_chunk))?;
        let total = results.iter().map(|(_, hits)| hits.len()).sum();
        let mut all = Hits::with_capacity(queries.len() / self.num_perm, total)?;
        for (ends, hits) in results {
            let base = all.rows.len();
            all.offsets.extend(ends.iter().map(|end| (base + end) as i64));
            all.rows.extend(hits.iter().map(|hit| hit.1));
            all.distances.extend(hits.iter().map(|hit| hit.0));
        }
        Ok(all)
    }

    /// Return all pairs of rows that share a band and agree in at least `min_equal` values, each once, the smaller id left,
    /// sorted by ids; only pairs whose earlier item is in `part`.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn pairs(&self, min_equal: usize, part: Range<usize>) -> Result<Pairs> {
        let cancel = &CancelToken::current();
        let part = part.start.min(self.num_items())..part.end.min(self.num_items());
        let search_chunk = |first: usize| {
            let (mut candidates, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
            let mut pairs: Vec<(u32, u32, u16)> = Vec::new();
            for item in first as u32..part.end.min(first + ITEMS) as u32 {
                cancel.check()?;
                left.clear();
                self.members(item, &mut left)?;
                for (i, &a) in left.iter().enumerate() {
                    cancel.check()?;
                    alloc::try_reserve(&mut pairs, i)?;
                    pairs.extend(left[..i].iter().map(|&b| (a, b, 0)));
                }
                if left.is_empty() {
                    continue;
                }
                self.candidates(self.item(item), min_equal, Some(item), &mut candidates)?;
                for &(other, distance) in &candidates {
                    right.clear();
                    self.members(other, &mut right)?;
                    for &a in &left {
                        cancel.check()?;
                        alloc::try_reserve(&mut pairs, right.len())?;
                        pairs.extend(right.iter().map(|&b| (a, b, distance)));
                    }
                }
            }
            Ok(pairs)
        };
        let results = alloc::try_map_parallel(part.clone().into_par_iter().step_by(ITEMS).map(search_chunk))?;
        Pairs::sorted(alloc::try_concat(results)?, &self.rows, cancel)
    }

    /// Return groups of rows in which every member shares a band with another one and agrees with it in at least
    /// `min_equal` values; rows without a match are left out. Pairs are never stored. A distance is the number of values
    /// that differ from the first member's.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn clusters(&self, min_equal: usize, linkage: Linkage) -> Result<Clusters> {
        let cancel = &CancelToken::current();
        let firsts = match linkage {
            Linkage::Centred => self.centred(min_equal, cancel)?,
            Linkage::Connected => self.connected(min_equal, cancel)?,
        };
        let signature = |row: u32| self.item(self.of[row as usize]);
        Clusters::of_firsts(&firsts, 0, cancel, |first, others, distances| {
            distances.extend(others.iter().map(|&row| different(signature(first), signature(row))));
        })
    }

    /// Return for each row the one that absorbed it, or itself: rows are visited in order, and a free row absorbs its
    /// matches.
    fn centred(&self, min_equal: usize, cancel: &CancelToken) -> Result<Vec<u32>> {
        let free = u32::MAX;
        let mut centres = alloc::try_filled(free, self.rows.total())?;
        let (mut items, mut members) = (Vec::new(), Vec::new());
        for row in 0..centres.len() as u32 {
            cancel.check()?;
            if centres[row as usize] != free {
                continue;
            }
            centres[row as usize] = row;
            let item = self.of[row as usize];
            if item == NO_ITEM || !self.rows.is_alive(row) {
                continue;
            }
            self.candidates(self.item(item), min_equal, None, &mut items)?;
            for &(other, _) in &items {
                members.clear();
                self.members(other, &mut members)?;
                for &member in members.iter().filter(|&&member| member > row) {
                    if centres[member as usize] == free {
                        centres[member as usize] = row;
                    }
                }
            }
        }
        Ok(centres)
    }

    /// Return for each row the first row of its connected component.
    fn connected(&self, min_equal: usize, cancel: &CancelToken) -> Result<Vec<u32>> {
        let forest = Forest::new(self.rows.total())?;
        (0..self.num_items() as u32).into_par_iter().with_min_len(64).try_for_each_init(
            Default::default,
            |(items, members): &mut (Vec<_>, Vec<u32>), item| {
                cancel.check()?;
                members.clear();
                self.members(item, members)?;
                let Some(&first) = members.first() else { return Ok(()) };
                self.candidates(self.item(item), min_equal, Some(item), items)?;
                for &(other, _) in &*items {
                    self.members(other, members)?;
                }
                for &member in &members[1..] {
                    forest.join(first, member);
                }
                Ok::<(), Error>(())
            },
        )?;
        forest.roots()
    }

    /// Sort all live rows into one run, in order of addition; row numbers do not change.
    ///
    /// # Errors
    /// The call is cancelled; the rows are the same.
    pub fn compact(&mut self) -> Result<()> {
        let cancel = &CancelToken::current();
        if self.rows.num_dead() > 0 {
            let mut is_live = alloc::try_filled(false, self.num_items())?;
            let rows = cancel.ranges(0..self.rows.total()).flatten().map(|row| row as u32);
            for row in rows.filter(|&row| self.rows.is_alive(row)) {
                if let Some(is_live) = is_live.get_mut(self.of[row as usize] as usize) {
                    *is_live = true;
                }
            }
            cancel.check()?;
            if is_live.iter().any(|is_live| !is_live) {
                self.drop_items(&is_live, cancel)?;
            }
        }
        while self.runs.len() > 1 {
            let merged = match &self.runs[..] {
                [.., a, b] => BandRun::merge(a, b, self.bands, cancel)?,
                _ => break,
            };
            self.runs.truncate(self.runs.len() - 2);
            self.runs.push(merged);
        }
        Ok(())
    }

    /// Drop the items that are not `is_live`; their rows are dead.
    fn drop_items(&mut self, is_live: &[bool], cancel: &CancelToken) -> Result<()> {
        let k = self.num_perm;
        let mut number = alloc::try_filled(NO_ITEM, is_live.len())?;
        let count = is_live.iter().filter(|is_live| **is_live).count();
        let (mut items, mut last) = (alloc::try_with_capacity(count * k)?, alloc::try_with_capacity(count)?);
        for item in cancel.ranges(0..is_live.len()).flatten().filter(|&item| is_live[item]) {
            number[item] = last.len() as u32;
            items.extend_from_slice(self.item(item as u32));
            last.push(self.last[item]);
        }
        let mut of = alloc::try_with_capacity(self.of.len())?;
        for items in cancel.blocks(&self.of) {
            of.extend(items.iter().map(|&item| number.get(item as usize).copied().unwrap_or(NO_ITEM)));
        }
        cancel.check()?;
        let runs =
            if last.is_empty() { vec![] } else { vec![BandRun::new(&items, 0, k, self.bands, self.num_rows, cancel)?] };
        self.of = of.into();
        self.runs = runs;
        self.items = items.into();
        self.last = last.into();
        self.by_hash = None;
        Ok(())
    }
}
