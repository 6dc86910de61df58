//! Pairs of rows within a radius: of one index, of two, and as a stream.
//!
//! **All pairs** of one index are found slot by slot: by joining the tables (`blocks`), or by a scan of every slot
//! against the later ones. Then every row that has a partner, in order of id, lists the later rows of its own slot,
//! which are its copies, and those of near slots. Pairs are written once, in their order, 10 bytes each; only pairs of
//! different slots are also stored (24 bytes per pair of slots). **A join** of two indexes searches one for the slots
//! of the other, and sorts the pairs (16 bytes each).
//!
//! **A stream** ([`PairStream`]) returns the same pairs in the same order with little memory: it takes the left rows in
//! order of id, block by block, searches their neighbours of larger id, and halves a block that exceeds its budget; the
//! smallest block is one row. Cost: one search per row, whereas the join compares each pair of buckets once; memory 4
//! bytes per row, 8 if ids do not ascend, and the pairs of a block.

use std::cmp::Ordering;

use crate::parallel::prelude::*;

use super::Index;
use super::blocks::{Probing, Search};
use super::scan::scan;
use super::scan::tile::{Collector, Sink};
use super::search::{CHUNK, Source, Way, chunk_of};
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::{Error, Result};

/// Entries of the buckets that one task joins.
const JOIN: usize = 1 << 16;
/// Maximum number of left rows in a block of a stream.
const BLOCK: usize = 8192;
/// Pairs that a block of a stream may find whatever the batch; few in tests, which must reach it.
const BUDGET: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// Pairs of rows within a radius, sorted by ids.
pub type Pairs = crate::index::hits::Pairs<u16>;

fn unpacked(pairs: &[(u64, u16)]) -> Result<Pairs> {
    Pairs::new(pairs.iter().map(|&(rows, distance)| ((rows >> 32) as u32, rows as u32, distance)))
}

fn packed(left: u32, right: u32, distance: u32) -> (u64, u16) {
    (u64::from(left) << 32 | u64::from(right), distance as u16)
}

impl Index {
    /// Merge the index into one run without dead rows.
    pub(super) fn unite(&mut self) -> Result<()> {
        let num_stored: usize = self.runs.iter().map(|run| run.rows.len()).sum();
        if !self.tail_rows.is_empty() || self.runs.len() > 1 || num_stored != self.len() {
            self.compact()?;
        }
        Ok(())
    }

    /// Merge the index into one run without dead rows, with the tables in which all pairs within `radius` cost least.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn prepare_pairs(&mut self, radius: u32) -> Result<()> {
        self.check_radius(radius)?;
        self.unite()?;
        // A join compares each pair once.
        self.build(radius, self.len() / 2, true)
    }

    /// Like `prepare_pairs`, with the tables in which searches of all rows cost least.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn prepare_blocks(&mut self, radius: u32) -> Result<()> {
        self.check_radius(radius)?;
        self.unite()?;
        self.build(radius, self.len(), false)
    }

    /// Return all pairs of rows within `radius` (inclusive), each once, the smaller id left.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn pairs(&self, radius: u32) -> Result<Pairs> {
        self.check_radius(radius)?;
        let sources = self.sources();
        // Slots of all sources are numbered on.
        let mut bases = vec![0];
        for source in &sources {
            bases.push(bases[bases.len() - 1] + (source.fps.len() / self.words) as u32);
        }
        let cancel = &CancelToken::current();
        let mut block_pairs = Vec::new();
        for (i, left) in sources.iter().enumerate() {
            for (j, right) in sources.iter().enumerate().skip(i) {
                // `later` is true if both sides are the same source, so that each pair is met twice.
                let (left_base, right_base) = (bases[i], bases[j]);
                let sink = |start: usize, later: bool| {
                    let pairs = BestEffortVec::<(u32, u32, u16)>::default();
                    Collector::new(pairs, radius, move |pairs, query, slot, distance| {
                        let (left, right) = (left_base + start as u32 + query, right_base + slot);
                        if !later || right > left {
                            pairs.push((left, right, distance as u16));
                        }
                    })
                };
                let sinks = if i == j {
                    self.join_slots(left, radius, cancel, sink)?
                } else {
                    self.join_sources(left, right, radius, cancel, |start| sink(start, false))?
                };
                cancel.check()?;
                for sink in sinks {
                    let pairs = sink.value.into_vec()?;
                    if !pairs.is_empty() {
                        block_pairs.push(pairs);
                    }
                }
            }
        }
        let near = NearSlots::new(&block_pairs, bases[sources.len()] as usize, cancel)?;
        drop(block_pairs);
        let rows_of = |slot: u32| {
            let source = bases.partition_point(|&base| base <= slot) - 1;
            sources[source].rows_of(slot - bases[source])
        };
        self.spread(&near, rows_of, cancel)
    }

    /// Return the pairs of rows that are in one slot or in near slots.
    fn spread<'a>(
        &self,
        near: &NearSlots,
        rows_of: impl Fn(u32) -> &'a [u32] + Sync,
        cancel: &CancelToken,
    ) -> Result<Pairs> {
        let order = &Order::of(self, cancel)?;
        let living = |rows: &'a [u32]| rows.iter().copied().filter(|&row| self.rows.is_alive(row));
        // Ordinal and slot of every row that may have a partner, in order of id.
        let blocks = (0..near.len().div_ceil(BLOCK)).into_par_iter().map(|block| {
            cancel.check()?;
            let slots = (block * BLOCK) as u32..near.len().min((block + 1) * BLOCK) as u32;
            let mut block_pairs = BestEffortVec::default();
            for slot in slots.filter(|&slot| near.has_any(slot) || rows_of(slot).len() > 1) {
                block_pairs.extend(living(rows_of(slot)).map(|row| (order.ordinal(row), slot)));
            }
            block_pairs.into_vec()
        });
        let blocks = blocks.collect::<Result<Vec<Vec<(u32, u32)>>>>()?;
        let mut lefts = alloc::try_concat(blocks)?;
        cancel.sort(&mut lefts);
        cancel.check()?;
        // Later rows of a slot: rows of a slot are in order of id.
        let later = |ordinal: u32, slot: u32| {
            let rows = rows_of(slot);
            &rows[rows.partition_point(|&row| order.ordinal(row) <= ordinal)..]
        };
        let parts = lefts
            .par_chunks(BLOCK)
            .map(|lefts| {
                let of = |&(ordinal, slot): &(u32, u32)| {
                    let copies = living(later(ordinal, slot)).count();
                    copies + near.of(slot).map(|(other, _)| living(later(ordinal, other)).count()).sum::<usize>()
                };
                cancel.check()?;
                Ok((lefts, lefts.iter().map(of).sum()))
            })
            .collect::<Result<Vec<(&[(u32, u32)], usize)>>>()?;
        let total = parts.iter().map(|part| part.1).sum();
        let mut pairs = Pairs {
            left: alloc::try_zeroed(total)?,
            right: alloc::try_zeroed(total)?,
            distances: alloc::try_zeroed(total)?,
        };
        let (mut left, mut right, mut distances) =
            (&mut pairs.left[..], &mut pairs.right[..], &mut pairs.distances[..]);
        let mut tasks = Vec::with_capacity(parts.len());
        for (lefts, count) in parts {
            let (first, second, third);
            (first, left) = left.split_at_mut(count);
            (second, right) = right.split_at_mut(count);
            (third, distances) = distances.split_at_mut(count);
            tasks.push((lefts, first, second, third));
        }
        tasks.into_par_iter().try_for_each(|(lefts, left, right, distances)| {
            let mut at = 0;
            let mut partners: Vec<(u32, u16)> = Vec::new();
            for &(ordinal, slot) in lefts {
                cancel.check()?;
                partners.clear();
                alloc::try_reserve(&mut partners, later(ordinal, slot).len())?;
                partners.extend(living(later(ordinal, slot)).map(|row| (order.ordinal(row), 0)));
                let copies = partners.len();
                for (other, distance) in near.of(slot) {
                    alloc::try_reserve(&mut partners, later(ordinal, other).len())?;
                    partners.extend(living(later(ordinal, other)).map(|row| (order.ordinal(row), distance)));
                }
                if partners.len() > copies {
                    partners.sort_unstable();
                }
                left[at..at + partners.len()].fill(order.row(ordinal));
                for &(partner, distance) in &partners {
                    right[at] = order.row(partner);
                    distances[at] = distance;
                    at += 1;
                }
            }
            Ok::<(), Error>(())
        })?;
        Ok(pairs)
    }

    /// Return all pairs of a row of `fps`, by its number, and a row of this index within `radius` (inclusive).
    ///
    /// # Errors
    /// `radius` above `bits`; fingerprints of another width.
    pub fn join_rows(&self, fps: &[u64], radius: u32) -> Result<Pairs> {
        let mut other = Self::new(self.bits, super::Method::Scan, None, None)?;
        other.add(crate::index::rows::NewIds::Rows, fps, crate::index::rows::Existing::Error)?;
        // Sorted, so that neighbours in order are neighbours in memory, and equal rows are searched once.
        other.unite()?;
        self.join(&other, radius)
    }

    /// Return all pairs of a row of `other` and a row of this index within `radius` (inclusive), the row of `other`
    /// left.
    ///
    /// # Errors
    /// `radius` above `bits`; an index of another width.
    pub fn join(&self, other: &Self, radius: u32) -> Result<Pairs> {
        self.check_radius(radius)?;
        if self.bits != other.bits {
            return Err(Error::mismatch("bits", other.bits, self.bits));
        }
        let cancel = &CancelToken::current();
        let mut all: Vec<(u64, u16)> = Vec::new();
        for left in &other.sources() {
            for right in &self.sources() {
                let sink = |start: usize| {
                    let pairs = BestEffortVec::<(u64, u16)>::default();
                    Collector::new(pairs, radius, move |pairs, query, slot, distance| {
                        for &a in left.rows_of(start as u32 + query).iter().filter(|&&row| other.rows.is_alive(row)) {
                            let rows = right.rows_of(slot).iter().filter(|&&row| self.rows.is_alive(row));
                            pairs.extend(rows.map(|&b| packed(a, b, distance)));
                        }
                    })
                };
                let sinks = self.join_sources(left, right, radius, cancel, sink)?;
                cancel.check()?;
                gather(&mut all, sinks.into_iter().map(|sink| sink.value))?;
            }
        }
        other.sort_pairs(self, &mut all, cancel);
        cancel.check()?;
        unpacked(&all)
    }

    /// Sort pairs by the ids of their left rows, in this index, and of their right rows, in `right`.
    fn sort_pairs(&self, right: &Self, pairs: &mut [(u64, u16)], cancel: &CancelToken) {
        if self.rows.ascending() && right.rows.ascending() {
            cancel.sort(pairs);
        } else {
            cancel.sort_by(pairs, |a, b| {
                let first = self.rows.compare((a.0 >> 32) as u32, (b.0 >> 32) as u32);
                first.then_with(|| right.rows.compare(a.0 as u32, b.0 as u32))
            });
        }
    }

    /// Call sinks with the pairs of different slots of one source. `sink` gets the slot of its query 0, and true if it
    /// meets each pair twice, so that it must skip slots up to its query's.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn join_slots<S: Sink + Send>(
        &self,
        source: &Source<'_>,
        radius: u32,
        cancel: &CancelToken,
        sink: impl Fn(usize, bool) -> S + Sync,
    ) -> Result<Vec<S>> {
        let slots = source.fps.len() / self.words;
        if let (Way::Tables(layout, Probing { radii, .. }), _) = self.way(source, radius, slots, true) {
            let search = Search { words: self.words, fps: source.fps, queries: &[], radius, radii: &radii, cancel };
            let ranges = layout.bucket_ranges(&radii, JOIN);
            return ranges
                .into_par_iter()
                .map(|buckets| {
                    let mut sink = sink(0, false);
                    layout.join(self.kernel, search, buckets, &mut sink)?;
                    Ok(sink)
                })
                .collect();
        }
        let sinks = (0..slots)
            .into_par_iter()
            .step_by(CHUNK)
            .map(|start| {
                let count = CHUNK.min(slots - start);
                let mut sink = sink(start, true);
                let queries = &source.fps[start * self.words..][..count * self.words];
                let fps = &source.fps[start * self.words..];
                scan(self.kernel, self.words, fps, start as u32, queries, &mut vec![radius; count], cancel, &mut sink);
                sink
            })
            .collect();
        Ok(sinks)
    }

    /// Call sinks with the pairs of a slot of `left` and a slot of `right`, which is a source of this index.
    ///
    /// # Errors
    /// Memory runs out.
    fn join_sources<S: Sink + Send>(
        &self,
        left: &Source<'_>,
        right: &Source<'_>,
        radius: u32,
        cancel: &CancelToken,
        sink: impl Fn(usize) -> S + Sync,
    ) -> Result<Vec<S>> {
        let slots = left.fps.len() / self.words;
        let sinks = (0..slots)
            .into_par_iter()
            .step_by(CHUNK)
            .map(|start| {
                let count = CHUNK.min(slots - start);
                let queries = &left.fps[start * self.words..][..count * self.words];
                self.each_hit(right, queries, radius, cancel, || sink(start))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(sinks.into_iter().flatten().collect())
    }
}

/// Move the pairs of all sinks into one list.
fn gather(all: &mut Vec<(u64, u16)>, parts: impl Iterator<Item = BestEffortVec<(u64, u16)>>) -> Result<()> {
    for pairs in parts {
        let mut pairs = pairs.into_vec()?;
        alloc::try_reserve(all, pairs.len())?;
        all.append(&mut pairs);
    }
    Ok(())
}

/// The slots near to each slot.
struct NearSlots {
    /// First position of each slot, and the end.
    starts: Vec<usize>,
    slots: Vec<u32>,
    distances: Vec<u16>,
}

impl NearSlots {
    /// Store both directions of all pairs.
    fn new(pairs: &[Vec<(u32, u32, u16)>], slots: usize, cancel: &CancelToken) -> Result<Self> {
        let mut starts = alloc::try_zeroed::<usize>(slots + 2)?;
        let parts = || pairs.iter().flat_map(|pairs| pairs.chunks(BLOCK));
        for pairs in parts() {
            cancel.check()?;
            for &(a, b, _) in pairs {
                starts[a as usize + 2] += 1;
                starts[b as usize + 2] += 1;
            }
        }
        alloc::prefix_sums(&mut starts);
        let total = starts[slots + 1];
        let mut near = Self { starts, slots: alloc::try_zeroed(total)?, distances: alloc::try_zeroed(total)? };
        // Positions advance from the start of each slot to its end, which is the start of the next.
        for pairs in parts() {
            cancel.check()?;
            for &(a, b, distance) in pairs {
                for (slot, other) in [(a, b), (b, a)] {
                    let ordinal = &mut near.starts[slot as usize + 1];
                    near.slots[*ordinal] = other;
                    near.distances[*ordinal] = distance;
                    *ordinal += 1;
                }
            }
        }
        Ok(near)
    }

    /// Number of slots.
    fn len(&self) -> usize {
        self.starts.len() - 2
    }

    fn has_any(&self, slot: u32) -> bool {
        self.starts[slot as usize] < self.starts[slot as usize + 1]
    }

    /// Iterate over the slots near to one, and their distances.
    fn of(&self, slot: u32) -> impl Iterator<Item = (u32, u16)> + '_ {
        let range = self.starts[slot as usize]..self.starts[slot as usize + 1];
        self.slots[range.clone()].iter().copied().zip(self.distances[range].iter().copied())
    }
}

/// Rows in order of id, and the ordinal of each; None if rows are in order of id.
struct Order(Option<(Vec<u32>, Vec<u32>)>);

impl Order {
    /// Order all rows, also dead ones, whose ids may be reused: equal ids in order of addition.
    fn of(index: &Index, cancel: &CancelToken) -> Result<Self> {
        if index.rows.ascending() {
            return Ok(Self(None));
        }
        let mut rows: Vec<u32> = alloc::try_collect(0..index.rows.total() as u32)?;
        cancel.sort_by(&mut rows, |&a, &b| index.rows.compare(a, b).then(a.cmp(&b)));
        cancel.check()?;
        let mut ordinals = alloc::try_zeroed(rows.len())?;
        for (ordinal, &row) in rows.iter().enumerate() {
            ordinals[row as usize] = ordinal as u32;
        }
        Ok(Self(Some((rows, ordinals))))
    }

    #[inline]
    fn row(&self, ordinal: u32) -> u32 {
        self.0.as_ref().map_or(ordinal, |(rows, _)| rows[ordinal as usize])
    }

    #[inline]
    fn ordinal(&self, row: u32) -> u32 {
        self.0.as_ref().map_or(row, |(_, ordinals)| ordinals[row as usize])
    }
}

/// All pairs of an index within a radius, in the order of [`Index::pairs`], a batch at a time.
#[derive(Debug)]
pub struct PairStream {
    radius: u32,
    batch: usize,
    /// Rows in order of id; None if rows are in that order.
    order: Option<Vec<u32>>,
    /// Slot of each row in the index's one run; `DEAD` for a dead row.
    slots: Vec<u32>,
    /// Rows that were left rows already, in order of id.
    at: usize,
    block: usize,
    /// Version of the index when the stream began.
    version: u64,
    /// Pairs found and not yet returned.
    ready: Vec<(u64, u16)>,
    returned: usize,
}

const DEAD: u32 = u32::MAX;

impl PairStream {
    /// Create a stream over `index`, prepared by `prepare_blocks`, in batches of `batch` pairs; the last one may be
    /// smaller.
    ///
    /// # Errors
    /// `radius` above `bits`; a batch of 0.
    pub fn new(index: &mut Index, radius: u32, batch: usize) -> Result<Self> {
        if batch == 0 {
            return Err(Error::parameter("batch_size", batch, "1 or more"));
        }
        index.prepare_blocks(radius)?;
        let cancel = CancelToken::current();
        let mut slots = alloc::try_filled(DEAD, index.rows.total())?;
        for run in &index.runs {
            for slot in 0..run.len() {
                for &row in run.rows_of(slot) {
                    slots[row as usize] = slot as u32;
                }
            }
        }
        let order = if index.rows.ascending() {
            None
        } else {
            let mut order: Vec<u32> = alloc::try_with_capacity(index.rows.total())?;
            order.extend((0..index.rows.total() as u32).filter(|&row| slots[row as usize] != DEAD));
            cancel.sort_by(&mut order, |&a, &b| index.rows.compare(a, b));
            Some(order)
        };
        cancel.check()?;
        let version = index.version;
        Ok(Self { radius, batch, order, slots, at: 0, block: 256, version, ready: Vec::new(), returned: 0 })
    }

    /// Return the next batch; empty at the end. After a cancelled call the next one continues.
    ///
    /// # Errors
    /// The index has changed since the stream began.
    pub fn next_batch(&mut self, index: &Index) -> Result<Pairs> {
        if index.version != self.version {
            let allowed = "an index that is left as it is while its pairs are streamed";
            return Err(Error::parameter("index", "changed during the iteration", allowed));
        }
        while self.ready.len() - self.returned < self.batch && self.step(index)? {}
        let count = self.batch.min(self.ready.len() - self.returned);
        let pairs = unpacked(&self.ready[self.returned..self.returned + count])?;
        self.returned += count;
        Ok(pairs)
    }

    /// Find the pairs of the next block of left rows; return true if there was one.
    fn step(&mut self, index: &Index) -> Result<bool> {
        let total = self.order.as_ref().map_or(index.rows.total(), Vec::len);
        let Some(source) = index.sources().into_iter().find(|source| source.run.is_some()) else {
            return Ok(false);
        };
        let row_at = |ordinal: usize| self.order.as_ref().map_or(ordinal as u32, |order| order[ordinal]);
        while self.at < total {
            let end = (self.at + self.block).min(total);
            let rows: Vec<u32> = (self.at..end).map(row_at).filter(|&row| self.slots[row as usize] != DEAD).collect();
            let budget = (2 * self.batch).max(BUDGET);
            let Some(mut block_pairs) = self.block_pairs(index, &source, &rows, budget)? else {
                self.block = (self.block / 2).max(1);
                continue;
            };
            self.ready.drain(..self.returned);
            self.returned = 0;
            alloc::try_reserve(&mut self.ready, block_pairs.len())?;
            self.at = end;
            if block_pairs.len() < budget / 4 {
                self.block = (2 * self.block).min(BLOCK);
            }
            if block_pairs.is_empty() {
                continue;
            }
            self.ready.append(&mut block_pairs);
            return Ok(true);
        }
        Ok(false)
    }

    /// Return the pairs of some left rows, sorted; None if they exceed `budget` and there is more than one left row.
    fn block_pairs(
        &self,
        index: &Index,
        source: &Source<'_>,
        rows: &[u32],
        budget: usize,
    ) -> Result<Option<Vec<(u64, u16)>>> {
        let words = index.words;
        let cancel = &CancelToken::current();
        let parts = rows
            .par_chunks(chunk_of(rows.len()))
            .map(|rows| {
                let mut queries = alloc::try_with_capacity(rows.len() * words)?;
                for &row in rows {
                    queries.extend_from_slice(&source.fps[self.slots[row as usize] as usize * words..][..words]);
                }
                let max_pairs = if rows.len() == 1 { usize::MAX } else { budget };
                // Rows of larger id, up to one more than `max_pairs`.
                let sink = || {
                    let pairs = BestEffortVec::<(u64, u16)>::default();
                    Collector::new(pairs, self.radius, |pairs, query, slot, distance| {
                        let left = rows[query as usize];
                        let remaining = max_pairs.saturating_add(1).saturating_sub(pairs.len());
                        let later = |&&row: &&u32| index.rows.compare(left, row) == Ordering::Less;
                        let rows = source.rows_of(slot).iter().filter(later).take(remaining);
                        pairs.extend(rows.map(|&row| packed(left, row, distance)));
                    })
                };
                let mut pairs = Vec::new();
                let sinks = index.each_hit(source, &queries, self.radius, cancel, sink)?;
                gather(&mut pairs, sinks.into_iter().map(|sink| sink.value))?;
                if pairs.len() > max_pairs {
                    return Ok(None);
                }
                index.sort_pairs(index, &mut pairs, cancel);
                Ok(Some(pairs))
            })
            .collect::<Result<Vec<Option<Vec<(u64, u16)>>>>>()?;
        // Chunks are in order of their left rows.
        cancel.check()?;
        let mut all = Vec::new();
        for part in parts {
            let Some(mut part) = part else { return Ok(None) };
            alloc::try_reserve(&mut all, part.len())?;
            all.append(&mut part);
        }
        Ok((rows.len() == 1 || all.len() <= budget).then_some(all))
    }
}
