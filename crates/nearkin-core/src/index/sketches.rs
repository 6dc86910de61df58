//! Which documents are contained in others: sketches of the smaller ones, counted in all features of the larger one.
//!
//! Document A is proposed for document B if B has at least `min_shared` of the features of A's sketch
//! ([`crate::families::sketch`]), where `min_shared` follows from the sizes, a threshold and a recall, and A has no more
//! features than B. All features of B are read and counted, so that the difference in size does not matter.
//!
//! **Rare features first.** Of the m hashes of a sketch any `m - min_shared + h` contain at least h hashes of B, if B has
//! `min_shared` of all m. So lists of documents are stored for the `m - min_shared + HITS` rarest hashes of each sketch. B's
//! features are looked up, each document of their lists is counted, and documents that reach `HITS` are compared with
//! the full sketch. The choice of rare hashes affects cost only: no document that has `min_shared` is missed. A sketch with
//! `min_shared` below `HITS` is listed more than once in each list.
//!
//! **Order of visits.** Each list has kept documents first, then free positions, then documents that are not visited
//! yet. [`Index::settle`] advances; a document that is not kept is removed from the lists.
//!
//! Cost: one look-up per feature of B, and a count for each document in the lists of its hashes: `(m - min_shared + HITS) f`
//! of the documents, where f is the mean share of documents with a listed hash. So it grows with the square of their
//! number. Memory: the sketches, and eight bytes per listed hash; a byte per document and thread during a scan.
//! Sources: S. Chaudhuri, V. Ganti, R. Kaushik, "A primitive operator for similarity joins in data cleaning", ICDE
//! 2006, for the prefix of rare elements; Broder 1997 for containment by samples. Test:
//! `scans_find_what_the_definition_says`.

use std::ops::Range;

use crate::parallel::prelude::*;

use crate::cancel::CancelToken;
use crate::families::sketch::{HashedTexts, check_size};
use crate::{Error, Result, alloc};

/// Counts that a document needs before its full sketch is compared.
const HITS: u8 = 3;
/// Minimum and maximum number of slots for counting hashes, to find the rare ones.
const SLOTS: (usize, usize) = (1 << 10, 1 << 22);
/// Documents that one task takes.
const CHUNK: usize = 1 << 10;

/// Which documents a scan considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Those that were kept.
    Kept,
    /// Those that were not visited yet.
    Later,
}

/// Hash table from hashes to lists.
#[derive(Default)]
struct Table {
    /// Hash, and number of its list plus one; 0 is an empty slot.
    slots: Vec<(u32, u32)>,
    shift: u32,
}

impl Table {
    /// Create a table for `count` hashes.
    fn new(count: usize) -> Result<Self> {
        let slots = (2 * count).next_power_of_two().max(64);
        Ok(Self { slots: alloc::try_filled((0, 0), slots)?, shift: 32 - slots.trailing_zeros().min(32) })
    }

    #[inline]
    fn slot(&self, hash: u32) -> usize {
        // Hashes of sketches are small numbers: their lower bits decide.
        (hash.wrapping_mul(0x9e37_79b1) >> self.shift) as usize & (self.slots.len() - 1)
    }

    fn insert(&mut self, hash: u32, list: usize) {
        let mut slot = self.slot(hash);
        while self.slots[slot].1 != 0 {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = (hash, list as u32 + 1);
    }

    #[inline]
    fn get(&self, hash: u32) -> Option<usize> {
        let mut slot = self.slot(hash);
        loop {
            let (owner, list) = self.slots[slot];
            if list == 0 {
                return None;
            }
            if owner == hash {
                return Some(list as usize - 1);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}

/// Sketches of documents by ordinal, and lists of the documents that have a rare hash.
pub struct Index {
    width: usize,
    /// `width` numbers for each document.
    rows: Vec<u32>,
    /// Minimum number of shared hashes of each sketch; 0 for a document that is never proposed.
    min_shared: Vec<u16>,
    table: Table,
    /// Start of each list, and the end.
    starts: Vec<usize>,
    /// Number of kept documents at the front of each list, and the index of the first unvisited one.
    kept: Vec<u32>,
    next: Vec<u32>,
    listed: Vec<u32>,
    /// The lists of each document, and their starts; one more at the end.
    lists: Vec<u32>,
    lists_at: Vec<usize>,
    /// Documents before this ordinal were visited.
    visited: usize,
}

impl Index {
    /// Build the index of the sketches `rows` of `size` hashes each, with the minimum numbers of shared hashes `min_shared`;
    /// no document is visited yet.
    ///
    /// # Errors
    /// A size is out of range; rows are not of this size or have fewer hashes than `min_shared`; the call is cancelled, or
    /// memory runs out.
    pub fn new(rows: &[u32], size: usize, min_shared: &[u16]) -> Result<Self> {
        check_size(size)?;
        let width = size + 1;
        if rows.len() != min_shared.len().saturating_mul(width) || u32::try_from(min_shared.len()).is_err() {
            return Err(Error::parameter(
                "rows",
                rows.len(),
                format!("{width} numbers for each of {}", min_shared.len()),
            ));
        }
        if let Some(ordinal) =
            (0..min_shared.len()).find(|&i| usize::from(min_shared[i]) > (rows[i * width] as usize).min(size))
        {
            let allowed = "at most the hashes of its sketch";
            return Err(Error::parameter("least", format!("{} in row {ordinal}", min_shared[ordinal]), allowed));
        }
        let (rows, min_shared) = (alloc::try_copy(rows)?, alloc::try_copy(min_shared)?);
        let mut index = Self {
            width,
            rows,
            min_shared,
            table: Table::default(),
            starts: Vec::new(),
            kept: Vec::new(),
            next: Vec::new(),
            listed: Vec::new(),
            lists: Vec::new(),
            lists_at: Vec::new(),
            visited: 0,
        };
        let pairs = index.rare()?;
        index.fill(&pairs)?;
        Ok(index)
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.min_shared.len()
    }

    /// True if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.min_shared.is_empty()
    }

    /// Return the hashes of the sketch of a document.
    fn sketch(&self, ordinal: usize) -> &[u32] {
        let row = &self.rows[ordinal * self.width..][..self.width];
        &row[1..=(row[0] as usize).min(self.width - 1)]
    }

    /// Return the listed hashes of all documents, each with the document in its lower half, sorted.
    fn rare(&self) -> Result<Vec<u64>> {
        let cancel = &CancelToken::current();
        let frequencies = Frequencies::new(self)?;
        let chunk = |number: usize| -> Result<Vec<u64>> {
            let (mut pairs, mut order) = (Vec::new(), Vec::new());
            for ordinal in number * CHUNK..self.len().min((number + 1) * CHUNK) {
                cancel.check()?;
                let (sketch, min_shared) = (self.sketch(ordinal), usize::from(self.min_shared[ordinal]));
                if min_shared == 0 {
                    continue;
                }
                let hits = min_shared.min(usize::from(HITS));
                let (count, copies) = (sketch.len() - min_shared + hits, usize::from(HITS).div_ceil(hits));
                order.clear();
                alloc::try_reserve(&mut order, sketch.len())?;
                order.extend(sketch.iter().map(|&hash| (frequencies.share(hash), hash)));
                if count < order.len() {
                    order.select_nth_unstable(count);
                }
                alloc::try_reserve(&mut pairs, count * copies)?;
                for &(_, hash) in &order[..count] {
                    pairs.extend(std::iter::repeat_n(u64::from(hash) << 32 | ordinal as u64, copies));
                }
            }
            Ok(pairs)
        };
        let chunks = alloc::try_map_parallel((0..self.len().div_ceil(CHUNK)).into_par_iter().map(chunk))?;
        let mut pairs = alloc::try_with_capacity(chunks.iter().map(Vec::len).sum())?;
        for chunk in chunks {
            pairs.extend(chunk);
        }
        cancel.sort(&mut pairs);
        cancel.check()?;
        Ok(pairs)
    }

    /// Fill the lists from sorted pairs.
    fn fill(&mut self, pairs: &[u64]) -> Result<()> {
        let cancel = &CancelToken::current();
        let same = |a: &u64, b: &u64| a >> 32 == b >> 32;
        let count = cancel.often(pairs.chunk_by(same)).count();
        self.table = Table::new(count)?;
        self.starts = alloc::try_with_capacity(count + 1)?;
        (self.kept, self.next) = (alloc::try_zeroed(count)?, alloc::try_zeroed(count)?);
        self.listed = alloc::try_collect(pairs.iter().map(|&pair| pair as u32))?;
        self.lists = alloc::try_zeroed(pairs.len())?;
        self.lists_at = alloc::try_zeroed(self.len() + 1)?;
        for &ordinal in &self.listed {
            self.lists_at[ordinal as usize + 1] += 1;
        }
        for ordinal in 0..self.len() {
            self.lists_at[ordinal + 1] += self.lists_at[ordinal];
        }
        let mut at: Vec<usize> = alloc::try_copy(&self.lists_at)?;
        let mut start = 0;
        for (list, group) in cancel.often(pairs.chunk_by(same)).enumerate() {
            self.table.insert((group[0] >> 32) as u32, list);
            self.starts.push(start);
            start += group.len();
            for &pair in group {
                let at = &mut at[pair as u32 as usize];
                self.lists[*at] = list as u32;
                *at += 1;
            }
        }
        self.starts.push(start);
        cancel.check()
    }

    /// Mark these documents, the next ones in order, as visited; those that are not kept are no longer found.
    ///
    /// # Errors
    /// The documents are not in order, or not the next ones; nothing changes.
    pub fn settle(&mut self, ordinals: &[u32], kept: &[bool]) -> Result<()> {
        let end = ordinals.last().map_or(self.visited, |&ordinal| ordinal as usize + 1);
        let fits = ordinals.is_sorted_by(|a, b| a < b)
            && ordinals.len() == kept.len()
            && end <= self.len()
            && ordinals.first().is_none_or(|&ordinal| ordinal as usize >= self.visited);
        // Nobody who waits in a list is passed over.
        let waiting = |range: Range<usize>| self.lists_at[range.end] > self.lists_at[range.start];
        let mut before = self.visited;
        let complete = fits
            && ordinals.iter().all(|&ordinal| {
                let passed = before..ordinal as usize;
                before = ordinal as usize + 1;
                !waiting(passed)
            });
        if !complete {
            let results = format!("{} of them, of which {} are kept", ordinals.len(), kept.len());
            return Err(Error::parameter(
                "places",
                results,
                "the next documents, in order, and which of them are kept",
            ));
        }
        self.visited = end;
        for (&ordinal, &stays) in ordinals.iter().zip(kept) {
            for at in self.lists_at[ordinal as usize]..self.lists_at[ordinal as usize + 1] {
                let list = self.lists[at] as usize;
                self.next[list] += 1;
                if stays {
                    self.listed[self.starts[list] + self.kept[list] as usize] = ordinal;
                    self.kept[list] += 1;
                }
            }
        }
        Ok(())
    }

    /// Return for each of `documents`, numbers of `texts`, the ordinals in one part whose sketches it contains: the
    /// start of each list, and the lists, ascending. `any_size` also proposes larger documents. In parallel.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    ///
    /// # Panics
    /// If a text number is out of range.
    pub fn scan(
        &self,
        texts: &HashedTexts,
        documents: &[u32],
        part: Part,
        any_size: bool,
    ) -> Result<(Vec<i64>, Vec<u32>)> {
        let cancel = &CancelToken::current();
        let scan_one = |counter: &mut Counter, &document: &u32| -> Result<Vec<u32>> {
            cancel.check()?;
            let hashes = texts.of(document as usize);
            self.count(hashes, part, counter)?;
            counter.filter.fill(hashes)?;
            let fits = |&ordinal: &u32| self.fits(ordinal as usize, hashes, &counter.filter, any_size);
            let mut results = alloc::try_with_capacity(counter.hot.len())?;
            results.extend(counter.hot.iter().copied().filter(fits));
            results.sort_unstable();
            results.shrink_to_fit();
            Ok(results)
        };
        let results = alloc::try_map_parallel(documents.par_iter().map_init(Counter::default, scan_one))?;
        let mut offsets = alloc::try_with_capacity(results.len() + 1)?;
        offsets.push(0);
        let mut ordinals = alloc::try_with_capacity(results.iter().map(Vec::len).sum())?;
        for list in results {
            ordinals.extend(list);
            offsets.push(ordinals.len() as i64);
        }
        Ok((offsets, ordinals))
    }

    /// Append the documents of one part with [`HITS`] counts to `counter.hot`.
    fn count(&self, hashes: &[u32], part: Part, counter: &mut Counter) -> Result<()> {
        if counter.counts.len() < self.len() {
            counter.counts = alloc::try_zeroed(self.len())?;
        }
        counter.spans.clear();
        counter.hot.clear();
        let mut total = 0;
        for list in hashes.iter().filter_map(|&hash| self.table.get(hash)) {
            let start = self.starts[list];
            let span = match part {
                Part::Kept => (start, start + self.kept[list] as usize),
                Part::Later => (start + self.next[list] as usize, self.starts[list + 1]),
            };
            if span.0 < span.1 {
                total += span.1 - span.0;
                alloc::try_reserve(&mut counter.spans, 1)?;
                counter.spans.push(span);
            }
        }
        for &(start, end) in &counter.spans {
            for &ordinal in &self.listed[start..end] {
                let count = &mut counter.counts[ordinal as usize];
                if *count == HITS - 1 {
                    alloc::try_reserve(&mut counter.hot, 1)?;
                    counter.hot.push(ordinal);
                }
                *count = (*count + 1).min(HITS);
            }
        }
        // Clear all counts at once, or those that were changed.
        if total > self.len() / 8 {
            counter.counts.fill(0);
        } else {
            for &(start, end) in &counter.spans {
                self.listed[start..end].iter().for_each(|&ordinal| counter.counts[ordinal as usize] = 0);
            }
        }
        Ok(())
    }

    /// Return true if a text with these hashes has enough of the sketch of a document.
    fn fits(&self, ordinal: usize, hashes: &[u32], filter: &Filter, any_size: bool) -> bool {
        if !any_size && self.rows[ordinal * self.width] as usize > hashes.len() {
            return false;
        }
        let (sketch, min_shared) = (self.sketch(ordinal), usize::from(self.min_shared[ordinal]));
        let mut spare = sketch.len() - min_shared;
        for &hash in sketch {
            if !filter.may_have(hash) {
                if spare == 0 {
                    return false;
                }
                spare -= 1;
            }
        }
        let (mut shared, mut rest) = (0, hashes);
        for &hash in sketch {
            rest = &rest[rest.partition_point(|&other| other < hash)..];
            shared += usize::from(rest.first() == Some(&hash));
        }
        shared >= min_shared
    }
}

/// Estimate how often hashes occur in sketches: hashes that share a slot are counted together.
struct Frequencies {
    counts: Vec<u32>,
    shift: u32,
    /// The largest hash that each sketch could have, ascending.
    bounds: Vec<u32>,
}

impl Frequencies {
    fn new(index: &Index) -> Result<Self> {
        let cancel = &CancelToken::current();
        let slots = (8 * index.len()).next_power_of_two().clamp(SLOTS.0, SLOTS.1);
        let mut results = Self {
            counts: alloc::try_zeroed(slots)?,
            shift: 32 - slots.trailing_zeros(),
            bounds: alloc::try_with_capacity(index.len())?,
        };
        for ordinals in cancel.ranges(0..index.len()) {
            for ordinal in ordinals.filter(|&ordinal| index.min_shared[ordinal] > 0) {
                let sketch = index.sketch(ordinal);
                for &hash in sketch {
                    let slot = results.slot(hash);
                    results.counts[slot] += 1;
                }
                let full = sketch.len() + 1 == index.width;
                results.bounds.push(if full { sketch[sketch.len() - 1] } else { u32::MAX });
            }
        }
        cancel.sort(&mut results.bounds);
        cancel.check()?;
        Ok(results)
    }

    fn slot(&self, hash: u32) -> usize {
        (hash.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    /// Return the share of the sketches that reach a hash and contain it, times 2^32.
    fn share(&self, hash: u32) -> u64 {
        let reach = self.bounds.len() - self.bounds.partition_point(|&bound| bound < hash);
        (u64::from(self.counts[self.slot(hash)]) << 32) / reach.max(1) as u64
    }
}

/// Scratch buffers of a thread.
#[derive(Default)]
struct Counter {
    counts: Vec<u8>,
    spans: Vec<(usize, usize)>,
    hot: Vec<u32>,
    filter: Filter,
}

/// Bits for each hash of a text, a filter that rules out most other hashes.
#[derive(Default)]
struct Filter {
    bits: Vec<u64>,
    mask: u32,
}

impl Filter {
    fn fill(&mut self, hashes: &[u32]) -> Result<()> {
        let words = (hashes.len() / 4).next_power_of_two().clamp(1, 1 << 25);
        self.bits.clear();
        alloc::try_resize(&mut self.bits, words, 0)?;
        self.mask = (64 * words - 1) as u32;
        for &hash in hashes {
            let bit = hash & self.mask;
            self.bits[bit as usize / 64] |= 1 << (bit % 64);
        }
        Ok(())
    }

    #[inline]
    fn may_have(&self, hash: u32) -> bool {
        let bit = hash & self.mask;
        self.bits[bit as usize / 64] >> (bit % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn row(hashes: &BTreeSet<u32>, size: usize) -> Vec<u32> {
        let mut row = vec![hashes.len() as u32];
        row.extend(hashes.iter().copied().chain(std::iter::repeat(u32::MAX)).take(size));
        row
    }

    proptest! {
        #[test]
        fn scans_find_what_the_definition_says(
            // A small universe makes many pairs; hashes in it are frequent and rare.
            ids in prop::collection::vec(prop::collection::vec((0_u64..60, 0_u64..3), 0..60), 1..60),
            size in 1_usize..20,
            requested in 1_usize..20,
            cut in 0_usize..60,
            every in 2_usize..5,
            any_size: bool,
        ) {
            let sets: Vec<Vec<u64>> = ids
                .iter()
                .map(|ids| ids.iter().map(|&(id, power)| id / (1 << (2 * power))).collect::<BTreeSet<_>>().into_iter().collect())
                .collect();
            let mut texts = HashedTexts::default();
            for ids in &sets {
                texts.push(ids, 7).expect("room");
            }
            let hashes: Vec<BTreeSet<u32>> = (0..sets.len()).map(|i| texts.of(i).iter().copied().collect()).collect();
            let rows: Vec<u32> = hashes.iter().flat_map(|hashes| row(hashes, size)).collect();
            let min_shared: Vec<u16> = hashes.iter().map(|hashes| requested.min(size).min(hashes.len()) as u16).collect();
            let mut index = Index::new(&rows, size, &min_shared).expect("valid");
            prop_assert_eq!((sets.len(), false), (index.len(), index.is_empty()));
            let is_found = |b: usize, a: usize| {
                let sketch: Vec<u32> = hashes[a].iter().copied().take(size).collect();
                let shared = sketch.iter().filter(|hash| hashes[b].contains(hash)).count();
                min_shared[a] > 0 && shared >= usize::from(min_shared[a]) && (any_size || hashes[a].len() <= hashes[b].len())
            };
            let documents: Vec<u32> = (0..sets.len() as u32).collect();
            let expect = |ordinals: &[u32]| {
                let mut offsets = vec![0];
                let mut results = Vec::new();
                for b in 0..sets.len() {
                    results.extend(ordinals.iter().copied().filter(|&a| is_found(b, a as usize)));
                    offsets.push(results.len() as i64);
                }
                (offsets, results)
            };
            prop_assert_eq!(expect(&documents), index.scan(&texts, &documents, Part::Later, any_size).expect("room"));
            prop_assert_eq!(expect(&[]), index.scan(&texts, &documents, Part::Kept, any_size).expect("room"));
            let cut = cut.min(sets.len());
            let (first, later) = documents.split_at(cut);
            let kept: Vec<bool> = first.iter().map(|&ordinal| (ordinal as usize).is_multiple_of(every)).collect();
            for (ordinals, kept) in first.chunks(7).zip(kept.chunks(7)) {
                index.settle(ordinals, kept).expect("in order");
            }
            let stay: Vec<u32> = first.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(&ordinal, _)| ordinal).collect();
            prop_assert_eq!(expect(&stay), index.scan(&texts, &documents, Part::Kept, any_size).expect("room"));
            prop_assert_eq!(expect(later), index.scan(&texts, &documents, Part::Later, any_size).expect("room"));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Index::new(&[1, 2, 3], 1, &[1, 1]).is_err());
        assert!(Index::new(&[1, 2], 1, &[2]).is_err());
        assert!(Index::new(&[1, 2], 0, &[1]).is_err());
        let mut index = Index::new(&[1, 2, 1, 2], 1, &[1, 1]).expect("valid");
        assert!(index.settle(&[1, 0], &[true, true]).is_err());
        assert!(index.settle(&[0], &[]).is_err() && index.settle(&[2], &[true]).is_err());
        index.settle(&[0, 1], &[true, false]).expect("in order");
        assert!(index.settle(&[0], &[true]).is_err());
    }

    #[test]
    fn a_stopped_call_ends() {
        let rows: Vec<u32> = (0..4000_u32).flat_map(|i| [2, i, i + 1]).collect();
        let cancel = CancelToken::new();
        cancel.set();
        assert!(matches!(cancel.within(|| Index::new(&rows, 2, &vec![1; 4000])), Err(Error::Cancelled)));
    }
}
