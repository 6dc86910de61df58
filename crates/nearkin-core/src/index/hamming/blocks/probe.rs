//! Reading buckets: searches, and the join of a table with itself.

use super::spec::Key;
use super::table::{Table, sketch_word};
use super::{Layout, Search};
use crate::Result;
use crate::alloc::{self, BestEffortVec};
use crate::cpu::popcount::{Kernel, LaneWork, Lanes, distance};
use crate::cpu::prefetch::prefetch_at;
use crate::index::hamming::scan::tile::Sink;

/// Bytes of a part of a table, half of a second-level cache.
const PART_BYTES: usize = 1 << 19;
/// Minimum mean number of keys of a part within the radius of a key.
const PART_PROBES: usize = 4;
/// Probes that are sorted together.
const ASKED: usize = 1 << 19;
/// Probes that are prefetched together.
const PROBES: usize = 64;
/// Entries collected before they are reported.
const HELD: usize = 1024;
/// Cache lines of a bucket that are prefetched; the hardware follows from there.
const LINES: usize = 24;

/// Memory for probes in the order of their buckets.
struct BucketOrder {
    /// End of each bucket in `queries`, and one more.
    ends: Vec<u32>,
    /// Queries of bucket 0, of bucket 1, ...; few enough for the second-level cache.
    queries_by_bucket: Vec<u32>,
    /// Queries that are ordered together.
    step: usize,
}

impl BucketOrder {
    fn new(table: TableView<'_>, queries: usize, flips: usize) -> Result<Self> {
        let step = (ASKED / flips).max(1);
        Ok(Self {
            ends: alloc::try_zeroed(table.starts.len())?,
            queries_by_bucket: alloc::try_with_capacity(step.min(queries) * flips)?,
            step,
        })
    }
}

pub(super) struct ProbeJob<'a> {
    layout: &'a Layout,
    tables: Vec<TableView<'a>>,
    search: Search<'a>,
    /// Table and buckets of a join; None for a search.
    buckets: Option<(usize, u32, u32)>,
    /// Differences of all keys within the radius of each table.
    flips: Vec<Vec<u32>>,
}

/// Return all words of at most `radius` ones in `len` bits, ascending, so that adjacent buckets are visited together;
/// empty for a radius of -1.
fn ball(len: u32, radius: i32) -> Result<Vec<u32>> {
    let mut words = BestEffortVec::default();
    let mut word: u32 = if radius < 0 { 1 << len } else { 0 };
    while word >> len == 0 {
        words.push(word);
        word += 1;
        // All words up to the carry from the lowest one have at least as many ones.
        while word.count_ones() as i32 > radius && word >> len == 0 {
            word += word & word.wrapping_neg();
        }
    }
    words.into_vec()
}

/// Memory that the batches of probes use in turn.
#[derive(Default)]
struct Scratch {
    /// Entries whose sketch has passed, with their query.
    passed: Vec<(u32, u32)>,
    /// Matches: query, slot and distance.
    matches: Vec<(u32, u32, u32)>,
}

/// A table as the probes read it.
#[derive(Clone, Copy)]
struct TableView<'a> {
    key: &'a Key,
    starts: &'a [u32],
    slots: &'a [u32],
    /// The sketches of the entries, in their order; empty if the table has slot numbers only.
    entries: &'a [u64],
    /// Words that an entry carries.
    stride: usize,
    /// The run itself?
    own: bool,
}

impl<'a> TableView<'a> {
    fn new(layout: &'a Layout, table: &'a Table, search: &Search<'a>) -> Self {
        let Table { key, starts, slots, fps, own } = table;
        let (entries, stride) = if *own { (search.fps, search.words) } else { (&**fps, layout.spec.sketch) };
        Self { key, starts, slots, entries, stride, own: *own }
    }
}

/// A bucket that a query looks into: first the key, then the entries.
#[derive(Clone, Copy, Default)]
struct Probe {
    query: u32,
    from: u32,
    to: u32,
}

/// `ProbeJob::run` as work for lanes of any width.
struct ProbeWork<'a>(&'a ProbeJob<'a>, &'a mut dyn Sink);

impl LaneWork for ProbeWork<'_> {
    type Output = Result<()>;

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> Result<()> {
        // SAFETY: the caller guarantees the instructions of `L`.
        unsafe { self.0.run::<L>(self.1) }
    }
}

impl<'a> ProbeJob<'a> {
    pub(super) fn new(layout: &'a Layout, search: Search<'a>, buckets: Option<(usize, u32, u32)>) -> Result<Self> {
        let is_used = |t: usize| buckets.is_none_or(|(only, _, _)| only == t);
        let numbered = layout.tables.iter().zip(search.radii).enumerate();
        let flips = numbered.map(|(t, (table, &radius))| ball(table.key.len, if is_used(t) { radius } else { -1 }));
        let flips = flips.collect::<Result<_>>()?;
        let tables = layout.tables.iter().map(|table| TableView::new(layout, table, &search)).collect();
        Ok(Self { layout, tables, search, buckets, flips })
    }

    pub(super) fn dispatch(&self, kernel: Kernel, sink: &mut dyn Sink) -> Result<()> {
        kernel.run(ProbeWork(self, sink))
    }

    /// # Safety
    /// The processor has the instructions of `L`, and the caller enables them.
    #[inline(always)]
    unsafe fn run<L: Lanes>(&self, sink: &mut dyn Sink) -> Result<()> {
        if let Some((t, first, end)) = self.buckets {
            // SAFETY: the caller guarantees the instructions of `L`.
            unsafe { self.run_join::<L>(t, first, end, sink) };
            return Ok(());
        }
        let words = self.search.words;
        let (mut probes, scratch) = ([Probe::default(); PROBES], &mut Scratch::default());
        let (mut keys, mut bounds, mut sketches) = (Vec::new(), Vec::new(), Vec::new());
        for (t, &table) in self.tables.iter().enumerate() {
            let flips = &self.flips[t];
            let queries = || self.search.queries.chunks_exact(words);
            keys.clear();
            alloc::try_reserve(&mut keys, self.search.queries.len() / words)?;
            keys.extend(queries().map(|query| table.key.of(query)));
            sketches.clear();
            alloc::try_reserve(&mut sketches, keys.len())?;
            sketches.extend(queries().map(|query| Self::sketch(table, query)));
            let many = 4 * keys.len() * flips.len() >= table.starts.len() && !table.entries.is_empty();
            // If memory runs out for the order, the unordered search finds the same.
            if let Some(order) = many.then(|| BucketOrder::new(table, keys.len(), flips.len()).ok()).flatten() {
                // SAFETY: the caller guarantees the instructions of `L`.
                unsafe { self.run_ordered::<L>(t, &keys, &sketches, order, sink) };
                continue;
            }
            let parts = (table.entries.len() * 8 / PART_BYTES).min(flips.len() / PART_PROBES).max(1);
            let bits = parts.ilog2().min(table.key.len);
            let low = table.key.len - bits;
            bounds.clear();
            alloc::try_reserve(&mut bounds, (1 << bits) + 1)?;
            bounds.extend((0..=1u32 << bits).map(|part| flips.partition_point(|&flip| flip >> low < part)));
            let mut gathered = 0;
            for part in 0..1u32 << bits {
                for (number, &key) in keys.iter().enumerate() {
                    let high = (part ^ key >> low) as usize;
                    for flip in &flips[bounds[high]..bounds[high + 1]] {
                        let bucket = key ^ flip;
                        prefetch_at(table.starts, bucket as usize);
                        probes[gathered] = Probe { query: number as u32, from: bucket, to: 0 };
                        gathered += 1;
                        if gathered == PROBES {
                            if self.search.cancel.is_set() {
                                return Ok(());
                            }
                            Self::resolve(table, &mut probes[..gathered]);
                            let probes = &probes[..gathered];
                            // SAFETY: the caller guarantees the instructions of `L`.
                            unsafe { self.count::<L>(t, self.search.queries, &sketches, probes, scratch, sink) };
                            gathered = 0;
                        }
                    }
                }
            }
            Self::resolve(table, &mut probes[..gathered]);
            // SAFETY: the caller guarantees the instructions of `L`.
            unsafe { self.count::<L>(t, self.search.queries, &sketches, &probes[..gathered], scratch, sink) };
        }
        Ok(())
    }

    /// Probe all buckets in memory order, each for all of its queries.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn run_ordered<L: Lanes>(
        &self,
        t: usize,
        keys: &[u32],
        sketches: &[Sketch],
        order: BucketOrder,
        sink: &mut dyn Sink,
    ) {
        let (table, flips) = (self.tables[t], &self.flips[t]);
        let buckets = table.starts.len() - 1;
        let (mut probes, scratch) = ([Probe::default(); PROBES], &mut Scratch::default());
        let BucketOrder { mut ends, mut queries_by_bucket, step } = order;
        for first in (0..keys.len()).step_by(step) {
            let keys = &keys[first..keys.len().min(first + step)];
            ends.fill(0);
            for key in keys {
                for flip in flips {
                    ends[(key ^ flip) as usize + 1] += 1;
                }
            }
            alloc::prefix_sums(&mut ends);
            queries_by_bucket.resize(keys.len() * flips.len(), 0);
            for (number, key) in keys.iter().enumerate() {
                for flip in flips {
                    // The start of a bucket moves on to its end.
                    let place = &mut ends[(key ^ flip) as usize];
                    queries_by_bucket[*place as usize] = (first + number) as u32;
                    *place += 1;
                }
            }
            let (mut at, mut gathered) = (0, 0);
            for (bucket, &end) in ends[..buckets].iter().enumerate() {
                let (from, to) = (table.starts[bucket], table.starts[bucket + 1]);
                let queries = &queries_by_bucket[at..end as usize];
                at = end as usize;
                for &query in queries.iter().filter(|_| from < to) {
                    probes[gathered] = Probe { query, from, to };
                    gathered += 1;
                    if gathered == PROBES {
                        if self.search.cancel.is_set() {
                            return;
                        }
                        // SAFETY: the caller guarantees the instructions of `L`.
                        unsafe { self.count::<L>(t, self.search.queries, sketches, &probes, scratch, sink) };
                        gathered = 0;
                    }
                }
            }
            // SAFETY: the caller guarantees the instructions of `L`.
            unsafe { self.count::<L>(t, self.search.queries, sketches, &probes[..gathered], scratch, sink) };
        }
    }

    /// Compare the entries of buckets with those of all buckets within the radius of the table, each pair of buckets
    /// once.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn run_join<L: Lanes>(&self, t: usize, first: u32, end: u32, sink: &mut dyn Sink) {
        let table = self.tables[t];
        let entries = table.entries;
        // Compare entries by position if they have complete fingerprints, otherwise slots.
        let complete = table.stride == self.search.words;
        let left = if complete { entries } else { self.search.fps };
        let (mut probes, scratch) = ([Probe::default(); PROBES], &mut Scratch::default());
        let mut gathered = 0;
        for bucket in first..end {
            let (from, to) = (table.starts[bucket as usize], table.starts[bucket as usize + 1]);
            if from == to {
                continue;
            }
            for flip in &self.flips[t] {
                let other = bucket ^ flip;
                if other < bucket {
                    continue;
                }
                let (begin, until) = (table.starts[other as usize], table.starts[other as usize + 1]);
                for entry in from..to {
                    let begin = if other == bucket { entry + 1 } else { begin };
                    if begin == until {
                        continue;
                    }
                    prefetch_at(entries, begin as usize * table.stride);
                    let query = if complete { entry } else { table.slots[entry as usize] };
                    probes[gathered] = Probe { query, from: begin, to: until };
                    gathered += 1;
                    if gathered == PROBES {
                        if self.search.cancel.is_set() {
                            return;
                        }
                        // SAFETY: the caller guarantees the instructions of `L`.
                        unsafe { self.count::<L>(t, left, &[], &probes[..gathered], scratch, sink) };
                        gathered = 0;
                    }
                }
            }
        }
        // SAFETY: the caller guarantees the instructions of `L`.
        unsafe { self.count::<L>(t, left, &[], &probes[..gathered], scratch, sink) };
    }

    /// Return the sketch of a query, or its complete fingerprint, repeated to fill a vector.
    #[inline]
    fn sketch(table: TableView<'_>, query: &[u64]) -> Sketch {
        let stride = table.stride;
        let mut sketch = [0; MAX_SKETCH];
        for word in 0..stride {
            sketch[word] = if table.own { query[word] } else { sketch_word(table.key, query, stride, word) };
        }
        for word in stride..if stride == 0 { 0 } else { MAX_LANES } {
            sketch[word] = sketch[word - stride];
        }
        sketch
    }

    /// Return the slot of an entry.
    #[inline]
    fn slot(&self, table: TableView<'_>, entry: usize) -> u32 {
        let words = self.search.words;
        match table.slots.get(entry) {
            Some(&slot) => slot,
            None if table.own => entry as u32,
            None => self.layout.locate(words, self.search.fps, &table.entries[entry * words..][..words]),
        }
    }

    /// Replace keys by entry ranges, and prefetch the entries.
    #[inline(always)]
    fn resolve(table: TableView<'_>, probes: &mut [Probe]) {
        let words = table.stride;
        let entries = table.entries;
        for probe in probes {
            let bucket = probe.from as usize;
            (probe.from, probe.to) = (table.starts[bucket], table.starts[bucket + 1]);
            if entries.is_empty() {
                prefetch_at(table.slots, probe.from as usize);
                continue;
            }
            let (from, to) = (probe.from as usize * words, probe.to as usize * words);
            (from..to).step_by(8).take(LINES).for_each(|at| prefetch_at(entries, at));
        }
    }

    /// Count the entries of all probes; `queries` are the fingerprints that probes refer to.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn count<L: Lanes>(
        &self,
        t: usize,
        queries: &[u64],
        sketches: &[Sketch],
        probes: &[Probe],
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) {
        let Search { words, fps, radius, .. } = self.search;
        let table = self.tables[t];
        let TableView { entries, stride, .. } = table;
        if entries.is_empty() {
            for probe in probes {
                for &slot in &table.slots[probe.from as usize..probe.to as usize] {
                    prefetch_at(fps, slot as usize * words);
                }
            }
        }
        for probe in probes {
            let query = &queries[probe.query as usize * words..][..words];
            let (from, to) = (probe.from as usize, probe.to as usize);
            let mut propose = |entry: usize| {
                prefetch_at(table.slots, entry);
                scratch.passed.push((probe.query, entry as u32));
                if scratch.passed.len() == HELD {
                    self.report(t, queries, scratch, sink);
                }
            };
            if entries.is_empty() {
                (from..to).for_each(propose);
                continue;
            }
            let computed;
            let sketch = if let Some(sketch) = sketches.get(probe.query as usize) {
                sketch
            } else {
                computed = Self::sketch(table, query);
                &computed
            };
            // SAFETY: the caller guarantees the instructions of `L`; a sketch fills a vector.
            let at = unsafe {
                match stride {
                    1 => sweep::<L, 1>(entries, from, to, sketch, radius, &mut propose),
                    2 if L::N >= 2 => sweep::<L, 2>(entries, from, to, sketch, radius, &mut propose),
                    4 if L::N >= 4 => sweep::<L, 4>(entries, from, to, sketch, radius, &mut propose),
                    8 if L::N >= 8 => sweep::<L, 8>(entries, from, to, sketch, radius, &mut propose),
                    _ => from,
                }
            };
            // The end of the array, and widths that no vector holds.
            for entry in at..to {
                let distance = match &entries[entry * stride..][..stride] {
                    // The most frequent of them, in a row.
                    [a, b, c] => [a ^ sketch[0], b ^ sketch[1], c ^ sketch[2]].map(u64::count_ones).iter().sum(),
                    entry => distance(entry, &sketch[..stride]),
                };
                if distance <= radius {
                    propose(entry);
                }
            }
        }
        self.report(t, queries, scratch, sink);
    }

    /// Report the passed entries whose fingerprint is within the radius, unless an earlier table does. Each step
    /// prefetches the data of the next.
    fn report(&self, t: usize, queries: &[u64], scratch: &mut Scratch, sink: &mut dyn Sink) {
        let Search { words, fps, radius, .. } = self.search;
        let table = self.tables[t];
        let complete = table.stride == words;
        let Scratch { passed, matches } = scratch;
        if !complete {
            for &(_, entry) in passed.iter() {
                prefetch_at(fps, table.slots[entry as usize] as usize * words);
            }
        }
        for &(number, entry) in passed.iter() {
            let at = if complete { entry } else { table.slots[entry as usize] } as usize;
            let fp = &if complete { table.entries } else { fps }[at * words..][..words];
            let query = &queries[number as usize * words..][..words];
            let distance = distance(fp, query);
            if distance <= radius && !self.reported_earlier(t, fp, query) {
                // In a join of complete fingerprints the number is a position in the table; the sink expects its slot.
                let number =
                    if self.buckets.is_some() && complete { self.slot(table, number as usize) } else { number };
                let slot = self.slot(table, entry as usize);
                sink.expect(slot);
                matches.push((number, slot, distance));
            }
        }
        for (number, slot, distance) in matches.drain(..) {
            sink.hit(number, slot, distance);
        }
        passed.clear();
    }

    /// Return true if a table before `t` also proposes this fingerprint.
    #[inline]
    fn reported_earlier(&self, t: usize, fp: &[u64], query: &[u64]) -> bool {
        self.layout.tables[..t]
            .iter()
            .zip(self.search.radii)
            .any(|(table, &radius)| (table.key.of(fp) ^ table.key.of(query)).count_ones() as i32 <= radius)
    }
}

/// Vectors of entries that share one branch.
const GROUP: usize = 4;

/// Call `propose` with the entries of `STRIDE` words in `from..to` within `radius` of a sketch; return the first
/// remaining entry, at which a vector would reach past the array.
///
/// # Safety
/// The processor has the instructions of `L`, and the caller enables them; `STRIDE` divides `L::N`.
#[inline(always)]
unsafe fn sweep<L: Lanes, const STRIDE: usize>(
    entries: &[u64],
    from: usize,
    to: usize,
    sketch: &Sketch,
    radius: u32,
    mut propose: impl FnMut(usize),
) -> usize {
    let step = L::N / STRIDE;
    // SAFETY: a sketch has more words than any vector.
    let (pattern, bound) = unsafe { (L::load(sketch.as_ptr()), L::splat(u64::from(radius))) };
    let mut each = |at: usize, mut mask: u32| {
        while mask != 0 {
            let lane = mask.trailing_zeros() as usize;
            propose(at + lane / STRIDE);
            mask &= !(((1 << STRIDE) - 1) << lane);
        }
    };
    // Bounds of buckets may come from a file: a wrong one is a panic, never a read outside the array.
    assert!(from <= to && to <= entries.len() / STRIDE);
    let mut at = from;
    while at + GROUP * step <= to {
        // SAFETY: the caller guarantees the instructions of `L`; the entries from `at` to `to` exist.
        unsafe {
            let begin = entries.as_ptr().add(at * STRIDE);
            let mut sums = [bound; GROUP];
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = L::fold(L::count_xor(L::load(begin.add(i * L::N)), pattern), STRIDE);
            }
            let minimum = L::min(L::min(sums[0], sums[1]), L::min(sums[2], sums[3]));
            if L::at_most(minimum, bound) != 0 {
                for (i, &sum) in sums.iter().enumerate() {
                    each(at + i * step, L::at_most(sum, bound));
                }
            }
        }
        at += GROUP * step;
    }
    while at < to && (at + step) * STRIDE <= entries.len() {
        // SAFETY: the caller guarantees the instructions of `L`; `L::N` words from the entry exist.
        let mut mask = unsafe {
            let counts = L::count_xor(L::load(entries.as_ptr().add(at * STRIDE)), pattern);
            L::at_most(L::fold(counts, STRIDE), bound)
        };
        if at + step > to {
            mask &= (1 << ((to - at) * STRIDE)) - 1;
        }
        each(at, mask);
        at += step;
    }
    at.min(to)
}

/// Lanes of the widest vector.
const MAX_LANES: usize = 8;
/// Maximum number of words of a sketch, or of a complete fingerprint.
const MAX_SKETCH: usize = 16;
/// A sketch, repeated.
type Sketch = [u64; MAX_SKETCH];
