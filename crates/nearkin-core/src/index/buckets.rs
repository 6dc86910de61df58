//! Buckets of documents that share the key of a band, for keys that are all available from the start.
//!
//! Documents have numbers from 0. A *bucket* is a key of a band that at least two documents have; most documents have
//! few buckets, and only these are stored. A bucket has space for all its documents and contains the added ones, so a
//! look-up reads as many entries as one in an index that documents arrive in.
//!
//! A row may have words of bits behind its keys. A look-up then leaves out, before it sorts what it finds, documents
//! whose bits differ in more than a number of places.
//!
//! Building visits [`GROUP`] bands at a time. It sorts their keys by [`DIGITS`] digits of [`DIGIT`] bits, least
//! significant first (Knuth, *The Art of Computer Programming*, volume 3, section 5.2.5); documents whose digits agree
//! are then sorted by the rest of the key. Keys are hashes, so that such runs are short, except for equal keys, which
//! are sorted already.
//!
//! Cost: two passes over the keys of a band, and one look-up per shared bucket. Memory, with n documents and s shared
//! keys in all: 8 n + 8 s bytes, those of the bits, and at most 6 s for buckets; while building 56 n more for each thread.
//! Test: `candidates_are_those_of_all_pairs`.

use crate::parallel::prelude::*;

use crate::cancel::CancelToken;
use crate::cpu::popcount::{counting, distance};
use crate::{Error, Result, alloc};

/// Bands whose keys are gathered in one pass over the documents, which may be in a mapped file.
const GROUP: usize = 4;

/// Bits of a digit, and digits that are sorted by.
const DIGIT: u32 = 11;
const DIGITS: u32 = 2;

/// Length of runs up to which insertion sorts them.
const SHORT: usize = 32;

/// The key of a document.
type Entry = (u64, u32);

/// Buckets of documents, and their added members.
pub struct Buckets {
    /// Document d has the buckets from `offsets[d]` to `offsets[d + 1]`.
    offsets: Vec<u64>,
    shared: Vec<u32>,
    /// Bucket b has the members from `starts[b]`, of which `added[b]` are present.
    starts: Vec<u64>,
    added: Vec<u32>,
    members: Vec<u32>,
    /// Words of bits of each document, and all of them.
    words: usize,
    bits: Vec<u64>,
}

/// Documents of one band by bucket, from 0, and the size of each bucket.
#[derive(Default)]
struct Band {
    shared: Vec<(u32, u32)>,
    sizes: Vec<u32>,
}

impl Buckets {
    /// Group documents by their keys: document d has `keys[rows[d] * width + band]` for each of `bands` bands, and behind
    /// them its bits.
    ///
    /// # Errors
    /// A row without keys; 2^32 documents or buckets; the call is cancelled; memory runs out.
    pub fn new(keys: &[u64], width: usize, bands: usize, rows: &[i64]) -> Result<Self> {
        let available = keys.len() / width.max(1);
        if bands > width {
            return Err(Error::parameter("bands", bands, format!("at most {width} keys of a row")));
        }
        if let Some(&row) = rows.iter().find(|&&row| usize::try_from(row).map_or(true, |row| row >= available)) {
            return Err(Error::parameter("row", row, format!("0 to {available}, exclusive")));
        }
        let n = rows.len();
        if u32::try_from(n).is_err() {
            return Err(Error::parameter("rows", n, "less than 2^32 documents"));
        }
        let cancel = &CancelToken::current();
        let words = width - bands;
        let mut bits = alloc::try_with_capacity(n * words)?;
        let mut all: Vec<Band> = alloc::try_with_capacity(bands)?;
        for first in (0..bands).step_by(GROUP) {
            let mut columns: Vec<Vec<Entry>> =
                alloc::try_map((0..GROUP.min(bands - first)).map(|_| alloc::try_with_capacity(n)))?;
            for (document, &row) in rows.iter().enumerate() {
                let row = &keys[row as usize * width..][..width];
                for (column, &key) in columns.iter_mut().zip(&row[first..]) {
                    column.push((key, document as u32));
                }
                if first == 0 {
                    bits.extend(&row[bands..]);
                }
            }
            cancel.check()?;
            all.extend(alloc::try_map_parallel(columns.into_par_iter().map(group))?);
            cancel.check()?;
        }
        Ok(Self { words, bits, ..Self::join(n, &all)? })
    }

    /// List the buckets of all bands by document.
    fn join(n: usize, bands: &[Band]) -> Result<Self> {
        let num_buckets: usize = bands.iter().map(|band| band.sizes.len()).sum();
        if u32::try_from(num_buckets).is_err() {
            return Err(Error::parameter("keys", num_buckets, "less than 2^32 that documents share"));
        }
        let mut offsets: Vec<u64> = alloc::try_zeroed(n + 1)?;
        for &(document, _) in bands.iter().flat_map(|band| &band.shared) {
            offsets[document as usize + 1] += 1;
        }
        for document in 0..n {
            offsets[document + 1] += offsets[document];
        }
        let shared = offsets[n] as usize;
        let mut buckets: Vec<u32> = alloc::try_zeroed(shared)?;
        let mut starts: Vec<u64> = alloc::try_with_capacity(num_buckets)?;
        let mut end = 0;
        let mut base = 0;
        for band in bands {
            for &(document, bucket) in &band.shared {
                let place = &mut offsets[document as usize];
                buckets[*place as usize] = base + bucket;
                *place += 1;
            }
            base += band.sizes.len() as u32;
            for &size in &band.sizes {
                starts.push(end);
                end += u64::from(size);
            }
        }
        // Each offset is now the end of its list, which is the begin of the next one.
        offsets.copy_within(0..n, 1);
        offsets[0] = 0;
        Ok(Self {
            offsets,
            shared: buckets,
            starts,
            added: alloc::try_zeroed(num_buckets)?,
            members: alloc::try_zeroed(shared)?,
            words: 0,
            bits: Vec::new(),
        })
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn of(&self, document: u32) -> &[u32] {
        let document = document as usize;
        &self.shared[self.offsets[document] as usize..self.offsets[document + 1] as usize]
    }

    fn present(&self, bucket: u32) -> &[u32] {
        let start = self.starts[bucket as usize] as usize;
        &self.members[start..start + self.added[bucket as usize] as usize]
    }

    /// Return a test of whether the bits of a document differ from those of `document` in at most `max_distance` places.
    fn near(&self, document: u32, max_distance: Option<u32>) -> impl Fn(u32) -> bool {
        let bits = |document: u32| &self.bits[document as usize * self.words..][..self.words];
        move |other| max_distance.is_none_or(|most| distance(bits(document), bits(other)) <= most)
    }

    /// Add these documents, each of them once.
    ///
    /// # Panics
    /// If a document is out of range.
    pub fn add(&mut self, documents: &[u32]) {
        for &document in documents {
            for at in self.offsets[document as usize] as usize..self.offsets[document as usize + 1] as usize {
                let bucket = self.shared[at] as usize;
                self.members[self.starts[bucket] as usize + self.added[bucket] as usize] = document;
                self.added[bucket] += 1;
            }
        }
    }

    /// Return offsets, and for each of `documents` the added ones that share a bucket with it and whose bits differ in at
    /// most `max_distance` places, ascending; a document that shares a bucket and was added is its own candidate.
    ///
    /// # Errors
    /// The call is cancelled; memory runs out.
    ///
    /// # Panics
    /// If a document is out of range.
    pub fn find(&self, documents: &[u32], max_distance: Option<u32>) -> Result<(Vec<i64>, Vec<i64>)> {
        let cancel = &CancelToken::current();
        lists(documents.len(), |at, found| {
            cancel.check()?;
            let near = self.near(documents[at], max_distance);
            for &bucket in self.of(documents[at]) {
                let present = self.present(bucket);
                alloc::try_reserve(found, present.len())?;
                found.extend(present.iter().copied().filter(|&other| near(other)));
            }
            Ok(())
        })
    }

    /// Return offsets, and for each of `documents` the positions of later ones that share a bucket with it and whose bits
    /// differ in at most `max_distance` places, ascending.
    ///
    /// # Errors
    /// The call is cancelled; memory runs out.
    ///
    /// # Panics
    /// If a document is out of range.
    pub fn within(&self, documents: &[u32], max_distance: Option<u32>) -> Result<(Vec<i64>, Vec<i64>)> {
        let cancel = &CancelToken::current();
        let count = documents.iter().map(|&document| self.of(document).len()).sum();
        let mut entries: Vec<(u32, u32)> = alloc::try_with_capacity(count)?;
        for (at, &document) in (0..).zip(documents) {
            entries.extend(self.of(document).iter().map(|&bucket| (bucket, at)));
        }
        entries.sort_unstable();
        lists(documents.len(), |at, found| {
            cancel.check()?;
            let near = self.near(documents[at], max_distance);
            for &bucket in self.of(documents[at]) {
                let after = entries.partition_point(|entry| *entry <= (bucket, at as u32));
                for &(_, other) in entries[after..].iter().take_while(|entry| entry.0 == bucket) {
                    if near(documents[other as usize]) {
                        alloc::try_reserve(found, 1)?;
                        found.push(other);
                    }
                }
            }
            Ok(())
        })
    }
}

/// Concatenate the lists that `fill` writes, each ascending and without repetitions, in parallel.
fn lists(count: usize, fill: impl Fn(usize, &mut Vec<u32>) -> Result<()> + Sync) -> Result<(Vec<i64>, Vec<i64>)> {
    const CHUNK: usize = 256;
    let chunk = |number: usize| -> Result<(Vec<usize>, Vec<i64>)> {
        let (mut ends, mut all) = (alloc::try_with_capacity(CHUNK)?, Vec::new());
        let (mut found, mut table) = (Vec::new(), Vec::new());
        for at in number * CHUNK..count.min((number + 1) * CHUNK) {
            found.clear();
            counting(
                #[inline(always)]
                || fill(at, &mut found),
            )?;
            sort_distinct(&mut found, &mut table)?;
            alloc::try_reserve(&mut all, found.len())?;
            all.extend(found.iter().map(|&member| i64::from(member)));
            ends.push(all.len());
        }
        Ok((ends, all))
    };
    let chunks = alloc::try_map_parallel((0..count.div_ceil(CHUNK)).into_par_iter().map(chunk))?;
    let mut offsets = alloc::try_with_capacity(count + 1)?;
    offsets.push(0);
    let mut before = 0;
    for (ends, all) in &chunks {
        offsets.extend(ends.iter().map(|end| (before + end) as i64));
        before += all.len();
    }
    Ok((offsets, alloc::try_concat(chunks.into_iter().map(|(_, all)| all).collect())?))
}

/// Sort numbers and drop repetitions: by a bit for each number, in `table`, if there are many.
fn sort_distinct(numbers: &mut Vec<u32>, table: &mut Vec<u64>) -> Result<()> {
    let words = numbers.iter().max().map_or(0, |&most| most as usize / 64 + 1);
    if words > 2 * numbers.len() {
        numbers.sort_unstable();
        numbers.dedup();
        return Ok(());
    }
    table.clear();
    alloc::try_resize(table, words, 0)?;
    for number in numbers.drain(..) {
        table[number as usize / 64] |= 1 << (number % 64);
    }
    for (first, mut word) in (0..).step_by(64).zip(table.iter().copied()) {
        while word != 0 {
            numbers.push(first + word.trailing_zeros());
            word &= word - 1;
        }
    }
    Ok(())
}

/// Group the documents of one band by key.
fn group(mut entries: Vec<Entry>) -> Result<Band> {
    let mut other: Vec<Entry> = alloc::try_filled((0, 0), entries.len())?;
    for digit in 0..DIGITS {
        let digit = |key: u64| (key >> (digit * DIGIT)) as usize & ((1 << DIGIT) - 1);
        let mut places = vec![0_usize; 1 << DIGIT];
        for &(key, _) in &entries {
            places[digit(key)] += 1;
        }
        let mut before = 0;
        for place in &mut places {
            (*place, before) = (before, before + *place);
        }
        for &entry in &entries {
            let place = &mut places[digit(entry.0)];
            other[*place] = entry;
            *place += 1;
        }
        std::mem::swap(&mut entries, &mut other);
    }
    drop(other);
    let mut band = Band::default();
    for run in entries.chunk_by_mut(|a, b| (a.0 ^ b.0) << (64 - DIGIT * DIGITS) == 0) {
        if run.len() == 1 {
            continue;
        }
        sort_run(run);
        for equal in run.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
            let bucket = band.sizes.len() as u32;
            alloc::try_reserve(&mut band.shared, equal.len())?;
            band.shared.extend(equal.iter().map(|&(_, document)| (document, bucket)));
            alloc::try_reserve(&mut band.sizes, 1)?;
            band.sizes.push(equal.len() as u32);
        }
    }
    Ok(band)
}

/// Sort a run by key and document; documents of equal keys are in order already.
fn sort_run(run: &mut [Entry]) {
    if run.is_sorted_by_key(|entry| entry.0) {
        return;
    }
    if run.len() > SHORT {
        return run.sort_unstable();
    }
    for end in 1..run.len() {
        let (mut at, entry) = (end, run[end]);
        while at > 0 && run[at - 1].0 > entry.0 {
            run[at] = run[at - 1];
            at -= 1;
        }
        run[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn candidates_are_those_of_all_pairs(
            table in prop::collection::vec(prop::collection::vec(0_u64..12, 6), 0..90), bands in 1_usize..7, high: bool,
            step in 1_usize..4, narrow: bool, most in prop::option::of(0_u32..6)
        ) {
            // Keys that agree in the sorted digits, or in all others.
            let spread = |key: u64| if narrow { key % 2 } else { key };
            let keys: Vec<u64> =
                table.iter().flatten().map(|&key| if high { spread(key) << 40 } else { spread(key) }).collect();
            let rows: Vec<i64> = (0..table.len() as i64).rev().step_by(step).collect();
            let mut buckets = Buckets::new(&keys, 6, bands, &rows).expect("room");
            prop_assert_eq!((rows.len(), rows.is_empty()), (buckets.len(), buckets.is_empty()));
            let key = |document: usize, band: usize| keys[rows[document] as usize * 6 + band];
            let shares = |a: usize, b: usize| (0..bands).any(|band| key(a, band) == key(b, band));
            let bits = |a: usize, b: usize| (bands..6).map(|word| (key(a, word) ^ key(b, word)).count_ones()).sum::<u32>();
            let share = |a: usize, b: usize| shares(a, b) && most.is_none_or(|most| bits(a, b) <= most);
            let added: Vec<u32> = (0..rows.len() as u32).filter(|document| document % 3 != 1).collect();
            let (first, second) = added.split_at(added.len() / 2);
            buckets.add(first);
            buckets.add(second);
            let asked: Vec<u32> = (0..rows.len() as u32).rev().collect();
            let (offsets, found) = buckets.find(&asked, most).expect("room");
            let (begins, later) = buckets.within(&asked, most).expect("room");
            prop_assert_eq!((asked.len() + 1, asked.len() + 1), (offsets.len(), begins.len()));
            for (at, &document) in asked.iter().enumerate() {
                let document = document as usize;
                let alone = !(0..rows.len()).any(|other| other != document && shares(document, other));
                let expected: Vec<i64> = added
                    .iter()
                    .filter(|&&other| !alone && share(document, other as usize))
                    .map(|&other| i64::from(other))
                    .collect();
                prop_assert_eq!(&expected[..], &found[offsets[at] as usize..offsets[at + 1] as usize]);
                let expected: Vec<i64> = (at + 1..asked.len())
                    .filter(|&other| share(document, asked[other] as usize))
                    .map(|other| other as i64)
                    .collect();
                prop_assert_eq!(&expected[..], &later[begins[at] as usize..begins[at + 1] as usize]);
            }
        }
    }

    proptest! {
        #[test]
        fn few_numbers_and_many_are_sorted(numbers in prop::collection::vec(0_u32..4000, 0..90), table: Vec<u64>) {
            let mut distinct = numbers.clone();
            sort_distinct(&mut distinct, &mut table.clone()).expect("room");
            prop_assert_eq!(std::collections::BTreeSet::from_iter(numbers).into_iter().collect::<Vec<u32>>(), distinct);
        }
    }

    #[test]
    fn long_runs_of_different_keys_are_sorted() {
        let keys: Vec<u64> = (0..200_u64).map(|number| (number * 7 % 50) << 40).collect();
        let rows: Vec<i64> = (0..200).collect();
        let buckets = Buckets::new(&keys, 1, 1, &rows).expect("room");
        let (offsets, later) = buckets.within(&(0..200).collect::<Vec<u32>>(), None).expect("room");
        assert_eq!([50, 100, 150], later[..offsets[1] as usize]);
    }

    #[test]
    fn rows_without_keys_are_refused() {
        for rows in [[0, 2], [-1, 0]] {
            assert!(Buckets::new(&[1, 2, 3, 4], 2, 2, &rows).is_err());
        }
        assert!(Buckets::new(&[1, 2, 3, 4], 2, 3, &[0]).is_err());
    }
}
