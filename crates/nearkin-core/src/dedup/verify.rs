//! Verification: the true similarity of two candidate texts.
//!
//! With A and B the sets of distinct features of the two texts, unweighted:
//!
//! | measure | similarity |
//! |---|---|
//! | `jaccard` | \|A ∩ B\| / \|A ∪ B\| |
//! | `containment` | \|A ∩ B\| / min(\|A\|, \|B\|) |
//! | `indel` | 1 − d / (characters of both texts), d the smallest number of insertions and deletions of characters |
//! | `words` | share of the words that have a partner up to typing errors (`words`) |
//!
//! Two texts that *differ* in their distinguishers (`text::distinguishers`: numbers, days, …) are not a match, whatever
//! their similarity, if the cache was built with rules.
//!
//! Features of a weighted recipe have weights, whole numbers of a unit ([`Keywords::weights`]): sums of the smaller weights take
//! the place of \|A ∩ B\|, of the larger ones of \|A ∪ B\|, of all weights of a text of its size.
//!
//! Indel compares the original texts (`indel`), `words` their words. A set without features, and the empty text, have a similarity of 0 to
//! everything. Thresholds are inclusive. Features are compared by 64-bit identifiers (see [`crate::text::tokenizer`]).
//!
//! Cost: one pass over each text for its set, one lookup per feature of the smaller set for a pair; a pair that can't
//! reach the threshold is abandoned early, most pairs of boilerplate by their sketches (`add_sketch`). Indel takes
//! O(characters² / 64) per pair, so [`Cache::similarities`] limits a pair, and an [`Allowance`] the comparisons of one
//! document.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::parallel::prelude::*;

use crate::alloc;
use crate::cancel::CancelToken;
use crate::cpu::popcount::counting;
use crate::dedup::{indel, words};
use crate::hash::idset::IdSet;
use crate::hash::{FeatureHash, NumberState};
use crate::text::distinguishers::{Distinguishers, differ};
use crate::text::keywords::{KeywordScratch, Keywords};
use crate::text::tokenizer::{Scratch, TextSource, Tokenizer};
use crate::{Error, Result};

/// A similarity measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Shared features divided by all features of the two.
    Jaccard,
    /// Shared features divided by those of the smaller set.
    Containment,
    /// Normalized Indel similarity of the characters.
    Indel,
    /// Share of words with a partner, for short texts.
    Words,
}

impl Measure {
    /// Return the measure called `name`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn new(name: &str) -> Result<Self> {
        match name {
            "jaccard" => Ok(Self::Jaccard),
            "containment" => Ok(Self::Containment),
            "indel" => Ok(Self::Indel),
            "words" => Ok(Self::Words),
            other => Err(Error::parameter("verify", other, "jaccard, containment, indel, words or none")),
        }
    }

    /// True if texts are kept and compared, not sets of features.
    fn reads_texts(self) -> bool {
        matches!(self, Self::Indel | Self::Words)
    }

    /// Return the similarity of two sets of sizes `a` and `b` that share `shared` features.
    #[inline]
    fn of_sets(self, shared: usize, a: usize, b: usize) -> f64 {
        let whole = if self == Self::Containment { a.min(b) } else { a + b - shared };
        if whole == 0 { 0.0 } else { shared as f64 / whole as f64 }
    }
}

/// Consecutive texts of the cache: distinct features or, for Indel, the texts themselves; for words the words.
#[derive(Default)]
struct Chunk {
    ids: Vec<u64>,
    /// Weights of the features; empty if all are 1.
    weights: Vec<u32>,
    /// The sketches of the sets, one after another; empty if they have weights.
    sketches: Vec<u64>,
    text: String,
    /// Hashes of the distinguishers, ascending for each row; empty without rules.
    distinguishers: Vec<u64>,
    rows: Vec<Row>,
    /// The time of the last use of a row.
    needed: u64,
}

impl Chunk {
    /// Return the allocated bytes, with those of the entries in the maps of the cache.
    fn bytes(&self) -> usize {
        let rows = self.rows.capacity() * size_of::<Row>() + self.rows.len() * size_of::<(u32, u32)>();
        let hashes = 8 * (self.ids.capacity() + self.sketches.capacity() + self.distinguishers.capacity());
        size_of::<Self>() + hashes + 4 * self.weights.capacity() + self.text.capacity() + rows
    }

    /// Free buffers of which less than half is used: a chunk of one text may have had the buffers of many.
    fn trim(&mut self) {
        self.ids.shrink_to(2 * self.ids.len());
        self.weights.shrink_to(2 * self.weights.len());
        self.sketches.shrink_to(2 * self.sketches.len());
        self.text.shrink_to(2 * self.text.len());
        self.distinguishers.shrink_to(2 * self.distinguishers.len());
        self.rows.shrink_to(2 * self.rows.len());
    }

    /// Clear the chunk and keep its buffers.
    fn clear(&mut self) {
        self.ids.clear();
        self.weights.clear();
        self.sketches.clear();
        self.text.clear();
        self.distinguishers.clear();
        self.rows.clear();
    }
}

/// A row of a chunk, and its ends: in `ids` or `text`, in the sketches and in the distinguishers.
#[derive(Clone, Copy, Default)]
struct Row {
    number: u32,
    end: usize,
    sketch: usize,
    distinguishers: usize,
}

/// The data by which a row is compared.
enum Comparand<'a> {
    Set(Set<'a>),
    Text(&'a str),
}

/// Distinct features and, unless all are 1, their weights.
#[derive(Clone, Copy)]
struct Set<'a> {
    ids: &'a [u64],
    weights: &'a [u32],
    sketch: &'a [u64],
}

impl Set<'_> {
    /// Return the sum of the weights.
    fn size(self) -> usize {
        if self.weights.is_empty() { self.ids.len() } else { self.weights.iter().map(|&weight| weight as usize).sum() }
    }
}

/// Return the words of the sketch of a set: about a bit for each feature, so that two sets of `n` features, `d` of them
/// in one set alone, have sketches that differ in `n / 2 (1 - exp(-2 d / n))` bits.
fn sketch_words(features: usize) -> usize {
    features.div_ceil(64).next_power_of_two()
}

/// Append the sketch of a set: bit i is the parity of the number of features whose hash, its upper half, is i modulo the
/// number of bits (odd sketches: M. Mitzenmacher, R. Pagh, N. Pham, "Efficient Estimation for High Similarities Using Odd Sketches",
/// WWW 2014, of whole sets).
fn add_sketch(ids: &[u64], sketches: &mut Vec<u64>) -> Result<()> {
    let (start, words) = (sketches.len(), sketch_words(ids.len()));
    alloc::try_reserve(sketches, words)?;
    sketches.resize(start + words, 0);
    let sketch = &mut sketches[start..];
    for id in ids {
        let bit = (id >> 32) as usize;
        sketch[(bit / 64) & (words - 1)] ^= 1 << (bit % 64);
    }
    Ok(())
}

/// Return a lower bound of the number of features that one of two sets has alone, by their sketches: each of these
/// changes one bit. Half of the longer one, added to the other half, is the sketch of half as many bits.
fn least_apart(a: &[u64], b: &[u64]) -> usize {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    counting(
        #[inline(always)]
        || {
            let word = |(i, &word): (usize, &u64)| {
                long[i..].iter().step_by(short.len()).fold(word, |word, part| word ^ part).count_ones() as usize
            };
            short.iter().enumerate().map(word).sum()
        },
    )
}

/// Remaining cost budget for comparing one document with others. It makes a run linear in the number of documents:
/// without it, n different texts with similar hashes take n² / 2 comparisons.
#[derive(Debug)]
pub struct Allowance {
    comparisons: usize,
    /// Pairs of characters, for Indel.
    characters: u128,
}

impl Allowance {
    /// Create the allowance of one document: `max_comparisons` comparisons and, for Indel, 2^39 pairs of characters in total.
    pub fn new(max_comparisons: usize) -> Self {
        Self { comparisons: max_comparisons, characters: indel::MAX_COST }
    }

    /// True if no comparison remains.
    pub fn is_spent(&self) -> bool {
        self.comparisons == 0
    }
}

/// Number of texts per chunk.
const CHUNK: usize = 64;

/// Features that are compared before a pair is checked again.
const BLOCK: usize = 64;

/// Number of cleared chunks that are kept.
const MAX_SPARE: usize = 64;

/// Limits on rows and features for which a call is short: adding to a set and looking up take a few nanoseconds each.
const FEW: usize = 32;
const FEW_FEATURES: usize = 1 << 15;

/// A cache of texts prepared for comparison, by row number.
///
/// Texts are stored in chunks, evicted in least recently used order: [`Cache::shrink`] clears chunks until `budget`
/// bytes remain. Up to `MAX_SPARE` cleared chunks are reused to avoid allocating again, if all of them fit the budget.
pub struct Cache {
    measure: Measure,
    distinguishers: Option<Distinguishers>,
    /// Number of pairs that were similar enough but differ in their distinguishers.
    differing: AtomicU64,
    budget: usize,
    bytes: usize,
    clock: u64,
    /// Chunks; those of `free` have no rows.
    chunks: Vec<Chunk>,
    free: Vec<usize>,
    spare: Vec<Chunk>,
    /// The place of a row: `CHUNK` times its chunk, and its position there.
    places: HashMap<u32, u32, NumberState>,
}

/// A text prepared for comparison with others.
#[derive(Default)]
pub struct Subject {
    set: IdSet,
    weights: Vec<u32>,
    sketch: Vec<u64>,
    /// Sum of the weights of the set.
    size: usize,
    characters: Vec<char>,
    words: String,
    distinguishers: Vec<u64>,
}

impl Cache {
    /// Create a cache that shrinks to `budget` bytes. With rules for distinguishers, texts that differ in them do not
    /// match.
    pub fn new(measure: Measure, distinguishers: Option<Distinguishers>, budget: usize) -> Self {
        let (places, differing) = (HashMap::default(), AtomicU64::new(0));
        let (chunks, free, spare) = (Vec::new(), Vec::new(), Vec::new());
        Self { measure, distinguishers, differing, budget, bytes: 0, clock: 0, chunks, free, spare, places }
    }

    /// Return the number of pairs that were similar enough but differ in their distinguishers.
    pub fn differing(&self) -> u64 {
        self.differing.load(Ordering::Relaxed)
    }

    /// Return the `rows` that must be added before they can be compared, and mark the others as used.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn missing(&mut self, rows: &[u32]) -> Result<Vec<u32>> {
        let mut missing = alloc::BestEffortVec::default();
        self.clock += 1;
        let Self { clock, chunks, places, .. } = self;
        let mut is_missing = |row: &u32| match places.get(row) {
            Some(&place) => {
                chunks[place as usize / CHUNK].needed = *clock;
                false
            }
            None => true,
        };
        missing.extend(rows.iter().copied().filter(|row| is_missing(row)));
        missing.into_vec()
    }

    /// Prepare text i of `texts` as row `rows[i]`, in parallel.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out: no row is added.
    ///
    /// # Panics
    /// If there are more rows than texts.
    pub fn add(&mut self, tokenizer: &Tokenizer, rows: &[u32], texts: &dyn TextSource) -> Result<()> {
        self.add_texts((tokenizer, None), rows, texts)
    }

    /// Prepare text i of `texts` as row `rows[i]`, by the weights of its features if there are keywords: all rows of a
    /// cache, or none.
    ///
    /// # Errors
    /// As [`Cache::add`]; a weight out of range.
    ///
    /// # Panics
    /// As [`Cache::add`].
    pub fn add_texts(
        &mut self,
        (tokenizer, keywords): (&Tokenizer, Option<&Keywords>),
        rows: &[u32],
        texts: &dyn TextSource,
    ) -> Result<()> {
        assert!(rows.len() <= texts.len(), "one text per row");
        let mut chunks = self.emptied(rows.len().div_ceil(CHUNK))?;
        let (measure, distinguishers, clock) = (self.measure, self.distinguishers.as_ref(), self.clock);
        let cancel = &CancelToken::current();
        let words = words::tokenizer()?;
        chunks.par_iter_mut().zip(rows.par_chunks(CHUNK)).enumerate().try_for_each_init(
            || (Scratch::with_cancel(cancel), KeywordScratch::with_cancel(cancel), Vec::new()),
            |(scratch, keyword_scratch, features), (number, (chunk, rows))| -> Result<()> {
                chunk.needed = clock;
                alloc::try_reserve(&mut chunk.rows, rows.len())?;
                for (i, &row) in rows.iter().enumerate().take_while(|_| !cancel.is_set()) {
                    texts.prefetch(number * CHUNK + i + 1);
                    let text = texts.get(number * CHUNK + i).unwrap_or_default();
                    let end = if measure == Measure::Indel {
                        alloc::try_reserve_str(&mut chunk.text, text.len())?;
                        chunk.text.push_str(text);
                        chunk.text.len()
                    } else if measure == Measure::Words {
                        words::read(&words, text, scratch, &mut chunk.text)?;
                        chunk.text.len()
                    } else if let Some(keywords) = keywords {
                        features.clear();
                        keywords.weights(tokenizer, FeatureHash::Xxh3(0).word(0), text, keyword_scratch, features)?;
                        alloc::try_reserve(&mut chunk.ids, features.len())?;
                        alloc::try_reserve(&mut chunk.weights, features.len())?;
                        chunk.ids.extend(features.iter().map(|feature| feature.0));
                        chunk.weights.extend(features.iter().map(|feature| feature.1));
                        chunk.ids.len()
                    } else {
                        let start = chunk.ids.len();
                        tokenizer.distinct(text, scratch, &mut chunk.ids)?;
                        add_sketch(&chunk.ids[start..], &mut chunk.sketches)?;
                        chunk.ids.len()
                    };
                    if let Some(distinguishers) = distinguishers {
                        distinguishers.hashes(text, &mut chunk.distinguishers)?;
                    }
                    let (sketch, distinguishers) = (chunk.sketches.len(), chunk.distinguishers.len());
                    chunk.rows.push(Row { number: row, end, sketch, distinguishers });
                }
                Ok(())
            },
        )?;
        cancel.check()?;
        self.take(chunks, rows.len())
    }

    /// Return `count` empty chunks, those cleared first.
    fn emptied(&mut self, count: usize) -> Result<Vec<Chunk>> {
        let mut chunks = alloc::try_with_capacity(count)?;
        chunks.extend(self.spare.drain(self.spare.len().saturating_sub(count)..));
        chunks.resize_with(count, Chunk::default);
        Ok(chunks)
    }

    /// Store chunks of `rows` rows in total, or none if memory runs out.
    fn take(&mut self, chunks: Vec<Chunk>, rows: usize) -> Result<()> {
        alloc::try_reserve_map(&mut self.places, rows)?;
        alloc::try_reserve(&mut self.chunks, chunks.len())?;
        for mut chunk in chunks {
            chunk.trim();
            let number = self.free.pop().unwrap_or(self.chunks.len());
            self.places
                .extend(chunk.rows.iter().zip((number * CHUNK) as u32..).map(|(row, place)| (row.number, place)));
            self.bytes += chunk.bytes();
            if number == self.chunks.len() {
                self.chunks.push(chunk);
            } else {
                self.chunks[number] = chunk;
            }
        }
        Ok(())
    }

    /// Prepare row `rows[i]` from its distinct features, `ids[offsets[i]..offsets[i + 1]]`.
    ///
    /// # Errors
    /// Indel or distinguishers, which need texts; inconsistent offsets; memory runs out: no row is added.
    pub fn add_sets(&mut self, rows: &[u32], offsets: &[i64], ids: &[u64]) -> Result<()> {
        if self.measure.reads_texts() {
            let name = format!("{:?}", self.measure).to_lowercase();
            return Err(Error::parameter("verify", name, "jaccard or containment, which compare sets of features"));
        }
        if self.distinguishers.is_some() {
            return Err(Error::parameter("differ", "rules", "none where features alone are kept, not texts"));
        }
        let fit = offsets.len() == rows.len() + 1
            && offsets.is_sorted()
            && offsets.first() == Some(&0)
            && offsets.last() == Some(&(ids.len() as i64));
        if !fit {
            let allowed = format!("{} that ascend from 0 to {}", rows.len() + 1, ids.len());
            return Err(Error::parameter("offsets", format!("{} numbers", offsets.len()), allowed));
        }
        let mut chunks = self.emptied(rows.len().div_ceil(CHUNK))?;
        for (number, (chunk, rows)) in chunks.iter_mut().zip(rows.chunks(CHUNK)).enumerate() {
            chunk.needed = self.clock;
            let ends = &offsets[number * CHUNK..][..=rows.len()];
            let first = ends[0] as usize;
            alloc::try_extend(&mut chunk.ids, &ids[first..ends[rows.len()] as usize])?;
            alloc::try_reserve(&mut chunk.rows, rows.len())?;
            for (&row, ends) in rows.iter().zip(ends.windows(2)) {
                add_sketch(&ids[ends[0] as usize..ends[1] as usize], &mut chunk.sketches)?;
                let (end, sketch) = (ends[1] as usize - first, chunk.sketches.len());
                chunk.rows.push(Row { number: row, end, sketch, distinguishers: 0 });
            }
        }
        self.take(chunks, rows.len())
    }

    /// True if comparing these rows takes less than a few hundred microseconds: few small sets.
    pub fn are_few(&self, rows: &[u32]) -> bool {
        let size = |row: &u32| self.place(*row).map_or(0, |(_, start, end)| end.end - start.end);
        !self.measure.reads_texts() && rows.len() <= FEW && rows.iter().map(size).sum::<usize>() <= FEW_FEATURES
    }

    /// Return the first of `rows` that was not added.
    pub fn first_missing(&self, rows: &[u32]) -> Option<u32> {
        rows.iter().copied().find(|row| !self.places.contains_key(row))
    }

    /// Clear the least recently used chunks until the cache is within its budget, except those with rows of the last
    /// call of [`Cache::missing`].
    ///
    /// # Errors
    /// Memory runs out for the list of chunks: nothing is cleared.
    pub fn shrink(&mut self) -> Result<()> {
        if self.bytes <= self.budget {
            return Ok(());
        }
        let ages = self.chunks.iter().enumerate().map(|(number, chunk)| (chunk.needed, number));
        let mut ages: Vec<(u64, usize)> = alloc::try_collect(ages)?;
        alloc::try_reserve(&mut self.spare, MAX_SPARE)?;
        alloc::try_reserve(&mut self.free, ages.len())?;
        ages.retain(|&(_, number)| !self.chunks[number].rows.is_empty());
        ages.sort_unstable();
        for (needed, number) in ages {
            if self.bytes <= self.budget || needed == self.clock {
                break;
            }
            let mut chunk = std::mem::take(&mut self.chunks[number]);
            self.free.push(number);
            self.bytes -= chunk.bytes();
            for Row { number: row, .. } in &chunk.rows {
                // A row that was added again is in another chunk.
                if self.places.get(row).is_some_and(|&place| place as usize / CHUNK == number) {
                    self.places.remove(row);
                }
            }
            if self.spare.len() < MAX_SPARE && chunk.bytes() <= self.budget / MAX_SPARE {
                chunk.clear();
                self.spare.push(chunk);
            }
        }
        Ok(())
    }

    /// Return the chunk of a row, the ends of the row before it there, and its own.
    fn place(&self, row: u32) -> Option<(&Chunk, Row, Row)> {
        let place = *self.places.get(&row)? as usize;
        let (chunk, at) = (&self.chunks[place / CHUNK], place % CHUNK);
        Some((chunk, if at == 0 { Row::default() } else { chunk.rows[at - 1] }, chunk.rows[at]))
    }

    fn entry(&self, row: u32) -> Option<Comparand<'_>> {
        let (chunk, before, own) = self.place(row)?;
        let range = before.end..own.end;
        Some(if self.measure.reads_texts() {
            Comparand::Text(&chunk.text[range])
        } else {
            let weights = if chunk.weights.is_empty() { &[][..] } else { &chunk.weights[range.clone()] };
            Comparand::Set(Set { ids: &chunk.ids[range], weights, sketch: &chunk.sketches[before.sketch..own.sketch] })
        })
    }

    /// Return the distinguishers of a row; empty if it was not added.
    fn particulars_of(&self, row: u32) -> &[u64] {
        let Some((chunk, before, own)) = self.place(row) else { return &[] };
        &chunk.distinguishers[before.distinguishers..own.distinguishers]
    }

    /// Prepare `row` for comparison with others; a row that was not added has no features.
    ///
    /// # Errors
    /// There is no memory for its characters or its set.
    pub fn subject(&self, row: u32, subject: &mut Subject) -> Result<()> {
        subject.characters.clear();
        subject.words.clear();
        subject.set.clear(0);
        subject.weights.clear();
        subject.sketch.clear();
        subject.distinguishers.clear();
        alloc::try_extend(&mut subject.distinguishers, self.particulars_of(row))?;
        match self.entry(row) {
            Some(Comparand::Text(text)) if self.measure == Measure::Words => {
                alloc::try_reserve_str(&mut subject.words, text.len())?;
                subject.words.push_str(text);
            }
            Some(Comparand::Text(text)) => {
                alloc::try_reserve(&mut subject.characters, text.chars().count())?;
                subject.characters.extend(text.chars());
            }
            Some(Comparand::Set(set)) => {
                subject.set.clear(set.ids.len());
                subject.set.insert_all(set.ids, |_| {});
                subject.size = set.size();
                alloc::try_extend(&mut subject.weights, set.weights)?;
                alloc::try_extend(&mut subject.sketch, set.sketch)?;
            }
            None => {}
        }
        subject.set.check()
    }

    /// True if the comparison of `row` with the subject is within the allowance; its cost is then deducted.
    ///
    /// # Errors
    /// There is no memory for the characters of `row`.
    pub fn allows(&self, row: u32, subject: &Subject, threshold: f64, allowance: &mut Allowance) -> Result<bool> {
        let entry = if self.measure == Measure::Indel { self.entry(row) } else { None };
        let cost = match entry {
            Some(Comparand::Text(text)) => indel::cost(text, &subject.characters, threshold)?,
            _ => 0,
        };
        let within = allowance.comparisons > 0 && cost <= allowance.characters;
        if within {
            allowance.comparisons -= 1;
            allowance.characters -= cost;
        }
        Ok(within)
    }

    /// Return the similarity of `row` and the subject if it reaches `threshold`; None for long texts after
    /// cancellation.
    ///
    /// # Errors
    /// Memory runs out for long texts.
    fn at_least(&self, row: u32, subject: &Subject, threshold: f64, cancel: &CancelToken) -> Result<Option<f64>> {
        match self.entry(row) {
            Some(Comparand::Text(text)) if self.measure == Measure::Words => {
                Ok(Some(words::similarity(text, &subject.words)?).filter(|&found| found > 0.0 && found >= threshold))
            }
            Some(Comparand::Text(text)) if !text.is_empty() && !subject.characters.is_empty() => {
                indel::at_least(text, &subject.characters, threshold, cancel)
            }
            Some(Comparand::Set(set)) => Ok(self.sets_at_least(set, subject, threshold)),
            Some(Comparand::Text(_)) | None => Ok(None),
        }
    }

    /// Return the similarity of `row` and the subject if they match: it reaches `threshold`, and their distinguishers
    /// agree.
    ///
    /// # Errors
    /// As [`Cache::at_least`].
    pub fn matches(&self, row: u32, subject: &Subject, threshold: f64, cancel: &CancelToken) -> Result<Option<f64>> {
        let found = self.at_least(row, subject, threshold, cancel)?;
        if found.is_some() && self.distinguishers.is_some() && differ(self.particulars_of(row), &subject.distinguishers)
        {
            self.differing.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        Ok(found)
    }

    /// Return whether rows `left[i]` and `right[i]` differ in their distinguishers.
    ///
    /// # Errors
    /// There is no memory for the answers.
    pub fn which_differ(&self, left: &[u32], right: &[u32]) -> Result<Vec<bool>> {
        let pair = |(&a, &b): (&u32, &u32)| differ(self.particulars_of(a), self.particulars_of(b));
        alloc::try_collect(left.iter().zip(right).map(pair))
    }

    fn sets_at_least(&self, set: Set<'_>, subject: &Subject, threshold: f64) -> Option<f64> {
        let (a, b) = (set.size(), subject.size);
        if set.ids.is_empty() || subject.set.is_empty() || self.measure.of_sets(a.min(b), a, b) < threshold {
            return None;
        }
        if threshold > 0.0 && !set.sketch.is_empty() && !subject.sketch.is_empty() {
            let most_shared = (a + b - least_apart(set.sketch, &subject.sketch)) / 2;
            if self.measure.of_sets(most_shared.min(a).min(b), a, b) < threshold {
                return None;
            }
        }
        let mut shared = 0;
        let mut left = a;
        for (number, ids) in set.ids.chunks(BLOCK).enumerate() {
            if set.weights.is_empty() {
                shared += ids.iter().filter(|&&id| subject.set.contains(id)).count();
                left -= ids.len();
            } else {
                for (&id, &weight) in ids.iter().zip(&set.weights[number * BLOCK..]) {
                    let other = subject.set.position(id).map_or(0, |at| subject.weights[at]);
                    shared += weight.min(other) as usize;
                    left -= weight as usize;
                }
            }
            if self.measure.of_sets((shared + left).min(a.min(b)), a, b) < threshold {
                return None;
            }
        }
        Some(self.measure.of_sets(shared, a, b))
    }

    /// Return the similarities of rows `left[i]` and `right[i]`, 0 for rows that were not added and those below
    /// `threshold`, in parallel. For Indel, more than 2^39 pairs of characters are an error, or NaN with `left_out`.
    ///
    /// # Errors
    /// Such a pair; the call is cancelled, or memory runs out.
    ///
    /// # Panics
    /// If the two lists differ in length.
    pub fn similarities(&self, left: &[u32], right: &[u32], left_out: bool, threshold: f64) -> Result<Vec<f64>> {
        assert_eq!(left.len(), right.len(), "one left and one right text a pair");
        let cancel = &CancelToken::current();
        for (&a, &b) in left.iter().zip(right).filter(|_| !left_out && self.measure == Measure::Indel) {
            if let (Some(Comparand::Text(a)), Some(Comparand::Text(b))) = (self.entry(a), self.entry(b)) {
                indel::check_budget(a, b, indel::MAX_COST)?;
            }
        }
        // Similarity of sets is symmetric: the side of longer runs is the left one.
        let runs = |side: &[u32]| side.chunk_by(|a, b| a == b).count();
        let swapped = !self.measure.reads_texts() && runs(right) < runs(left);
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        // Pairs with the same left text are adjacent, so that its set is built once.
        let mut order: Vec<u32> = alloc::try_collect(0..left.len() as u32)?;
        order.sort_unstable_by_key(|&pair| left[pair as usize]);
        let same = || order.chunk_by(|&a, &b| left[a as usize] == left[b as usize]);
        let mut groups: Vec<&[u32]> = alloc::try_with_capacity(same().count())?;
        groups.extend(same());
        let found = alloc::try_map_parallel(groups.par_iter().map_init(Subject::default, |subject, group| {
            self.subject(left[group[0] as usize], subject)?;
            let mut similarities = alloc::try_with_capacity(group.len())?;
            for &pair in *group {
                cancel.check()?;
                let row = right[pair as usize];
                let fits = !left_out || self.allows(row, subject, 0.0, &mut Allowance::new(1))?;
                let found =
                    if fits { self.at_least(row, subject, threshold, cancel)?.unwrap_or(0.0) } else { f64::NAN };
                similarities.push(found);
            }
            Ok(similarities)
        }))?;
        cancel.check()?;
        let mut result = alloc::try_zeroed(left.len())?;
        for (&pair, value) in order.iter().zip(found.into_iter().flatten()) {
            result[pair as usize] = value;
        }
        Ok(result)
    }
}

/// Return the distinct features of each text, ascending: offsets, and the XXH3-64 of the features with seed 0. In
/// parallel.
///
/// # Errors
/// The call is cancelled, or memory runs out.
pub fn feature_sets(tokenizer: &Tokenizer, texts: &dyn TextSource) -> Result<(Vec<i64>, Vec<u64>)> {
    let cancel = &CancelToken::current();
    let collect_features = |scratch: &mut Scratch, i| -> Result<Vec<u64>> {
        let mut ids = Vec::new();
        if !cancel.is_set() {
            tokenizer.distinct(texts.get(i).unwrap_or_default(), scratch, &mut ids)?;
            ids.sort_unstable();
        }
        Ok(ids)
    };
    let sets = alloc::try_map_parallel(
        (0..texts.len()).into_par_iter().map_init(|| Scratch::with_cancel(cancel), collect_features),
    )?;
    cancel.check()?;
    let mut offsets = alloc::try_with_capacity(sets.len() + 1)?;
    offsets.push(0);
    let mut all = alloc::try_with_capacity(sets.iter().map(Vec::len).sum())?;
    for ids in sets {
        all.extend(ids);
        offsets.push(all.len() as i64);
    }
    Ok((offsets, all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::FeatureKind;
    use crate::text::unicode::{Case, Form, Letters};
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn tokenizer() -> Tokenizer {
        Tokenizer::new(FeatureKind::Char(2), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid")
    }

    fn cache(measure: Measure, texts: &[String]) -> Cache {
        let mut cache = Cache::new(measure, None, 1 << 20);
        let rows: Vec<u32> = (0..texts.len() as u32).collect();
        assert_eq!(rows, cache.missing(&rows).expect("room"));
        cache.add(&tokenizer(), &rows, &texts).expect("nothing stops it");
        cache
    }

    fn features(text: &str) -> HashSet<Vec<u8>> {
        let mut set = HashSet::new();
        let each = |feature: &[u8]| {
            set.insert(feature.to_vec());
        };
        tokenizer().features(text, &mut Scratch::default(), each).expect("room");
        set
    }

    proptest! {
        #[test]
        fn similarities_are_those_of_the_sets(texts in prop::collection::vec("[a-d ]{0,30}|\\PC{0,9}", 2..8)) {
            let pairs: Vec<(u32, u32)> =
                (0..texts.len() as u32).flat_map(|i| (0..texts.len() as u32).map(move |j| (j, i))).collect();
            let (left, right): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            let jaccard = cache(Measure::Jaccard, &texts).similarities(&left, &right, false, 0.0).expect("similarities");
            let containment = cache(Measure::Containment, &texts).similarities(&left, &right, false, 0.0).expect("similarities");
            // The sides change places, and what is below a threshold is 0.
            let bounded = cache(Measure::Jaccard, &texts).similarities(&right, &left, false, 0.5).expect("similarities");
            for (pair, (&i, &j)) in left.iter().zip(&right).enumerate() {
                let (a, b) = (features(&texts[i as usize]), features(&texts[j as usize]));
                let shared = a.intersection(&b).count() as f64;
                let ratio = |whole: usize| if whole == 0 { 0.0 } else { shared / whole as f64 };
                prop_assert_eq!(ratio(a.union(&b).count()), jaccard[pair]);
                prop_assert_eq!(if jaccard[pair] < 0.5 { 0.0 } else { jaccard[pair] }, bounded[pair]);
                prop_assert_eq!(ratio(a.len().min(b.len())), containment[pair]);
            }
        }

        #[test]
        fn sets_compare_as_their_texts_do(texts in prop::collection::vec("[a-d ]{0,30}|\\PC{0,9}", 1..150)) {
            let rows: Vec<u32> = (0..texts.len() as u32).collect();
            let (offsets, ids) = feature_sets(&tokenizer(), &texts.as_slice()).expect("nothing stops it");
            prop_assert!(offsets.windows(2).all(|ends| ids[ends[0] as usize..ends[1] as usize].is_sorted_by(|a, b| a < b)));
            let other: Vec<u32> = rows.iter().rev().copied().collect();
            for measure in [Measure::Jaccard, Measure::Containment] {
                let mut sets = Cache::new(measure, None, 1 << 20);
                sets.add_sets(&rows, &offsets, &ids).expect("sets");
                let expected = cache(measure, &texts).similarities(&rows, &other, false, 0.0).expect("similarities");
                prop_assert_eq!(expected, sets.similarities(&rows, &other, false, 0.0).expect("similarities"));
            }
        }

        #[test]
        fn sketches_bound_what_sets_have_alone(
            shared in prop::collection::hash_set(any::<u64>(), 0..300), apart in 0_usize..300, longer in 0_usize..700
        ) {
            let of = |count: usize, salt: u64| (1..=count as u64).map(move |i| (i ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let side = |count: usize, salt: u64| -> HashSet<u64> { shared.iter().copied().chain(of(count, salt)).collect() };
            let (a, b) = (side(apart, 1 << 40), side(longer, 2 << 40));
            let sketch = |set: &HashSet<u64>| {
                let mut sketch = Vec::new();
                add_sketch(&set.iter().copied().collect::<Vec<_>>(), &mut sketch).expect("room");
                sketch
            };
            let bound = least_apart(&sketch(&a), &sketch(&b));
            prop_assert!(bound <= a.symmetric_difference(&b).count());
            prop_assert_eq!(bound, least_apart(&sketch(&b), &sketch(&a)));
            prop_assert_eq!(0, least_apart(&sketch(&a), &sketch(&a)));
            // The similarity that a threshold lets pass is the exact one, whatever the sketches say.
            let mut sets = Cache::new(Measure::Jaccard, None, 1 << 20);
            let ids: Vec<u64> = a.iter().chain(&b).copied().collect();
            sets.add_sets(&[0, 1], &[0, a.len() as i64, ids.len() as i64], &ids).expect("sets");
            let mut subject = Subject::default();
            sets.subject(0, &mut subject).expect("room");
            let union = a.union(&b).count();
            let exact = if a.is_empty() || b.is_empty() { 0.0 } else { a.intersection(&b).count() as f64 / union as f64 };
            for threshold in [exact, 0.8] {
                let found = sets.at_least(1, &subject, threshold, &CancelToken::default()).expect("room");
                prop_assert_eq!((exact > 0.0 && exact >= threshold).then_some(exact), found.filter(|&found| found > 0.0));
            }
        }

        #[test]
        fn a_threshold_is_inclusive(collect_features in "[a-d]{2,40}", other in "[a-d]{2,40}", containment: bool) {
            let measure = if containment { Measure::Containment } else { Measure::Jaccard };
            let texts = [collect_features, other];
            let prepared = cache(measure, &texts);
            let mut subject = Subject::default();
            prepared.subject(0, &mut subject).expect("room");
            let found = |threshold| prepared.at_least(1, &subject, threshold, &CancelToken::default()).expect("room");
            let value = found(0.0).expect("no threshold");
            prop_assert_eq!(Some(value), found(value));
            prop_assert_eq!(None, found(value + 1e-9));
        }
    }

    #[test]
    fn indel_similarity_is_that_of_the_articles_texts() {
        let texts = ["how are u?".to_owned(), "how are you?".to_owned(), String::new()];
        let found = cache(Measure::Indel, &texts).similarities(&[0, 0], &[1, 2], true, 0.0).expect("similarities");
        assert!((found[0] - (1.0 - 2.0 / 22.0)).abs() < 1e-12);
        assert_eq!(0.0, found[1]);
    }

    #[test]
    fn texts_that_differ_are_no_match_and_are_counted() {
        let texts =
            ["A dividend of 1.5 percent", "A dividend of 15 percent", "A dividend of percent"].map(str::to_owned);
        let numbers = || Distinguishers::new(&["numbers".to_owned()]).expect("known");
        for measure in [Measure::Jaccard, Measure::Containment, Measure::Indel] {
            let mut cache = Cache::new(measure, Some(numbers()), 1 << 20);
            cache.add(&tokenizer(), &[0, 1, 2], &texts.as_slice()).expect("room");
            let (mut subject, cancel) = (Subject::default(), CancelToken::default());
            cache.subject(0, &mut subject).expect("room");
            let found = |row| cache.matches(row, &subject, 0.5, &cancel).expect("room");
            assert!(found(0).is_some() && found(1).is_none() && found(2).is_some());
            assert!(cache.at_least(1, &subject, 0.5, &cancel).expect("room").is_some());
            assert_eq!(1, cache.differing());
            assert_eq!(vec![true, false, false], cache.which_differ(&[0, 0, 1], &[1, 2, 2]).expect("room"));
        }
    }

    #[test]
    fn few_rows_are_few_sets_of_few_features() {
        let texts = ["a text".to_owned(), "another".to_owned()];
        let mut sets = cache(Measure::Jaccard, &texts);
        let ids: Vec<u64> = (0..=FEW_FEATURES as u64).collect();
        sets.add_sets(&[7], &[0, ids.len() as i64], &ids).expect("they fit");
        assert!(sets.are_few(&[0, 1]) && sets.are_few(&[]) && sets.are_few(&[0; FEW]));
        assert!(!sets.are_few(&[7]) && !sets.are_few(&[0; FEW + 1]));
        assert!(!cache(Measure::Indel, &texts).are_few(&[0, 1]));
    }

    #[test]
    fn sets_that_do_not_fit_are_refused() {
        let mut sets = Cache::new(Measure::Jaccard, None, 0);
        for offsets in [&[0, 2][..], &[1, 2, 3], &[0, 3, 2], &[0, -1, 3], &[0, 1, 2], &[]] {
            assert!(sets.add_sets(&[4, 5], offsets, &[7, 8, 9]).is_err());
        }
        assert!(Cache::new(Measure::Indel, None, 0).add_sets(&[], &[0], &[]).is_err());
        let numbers = Distinguishers::new(&["numbers".to_owned()]).expect("known");
        assert!(Cache::new(Measure::Jaccard, Some(numbers), 0).add_sets(&[], &[0], &[]).is_err());
        sets.add_sets(&[4, 5], &[0, 1, 3], &[7, 8, 9]).expect("they fit");
        assert_eq!(None, sets.first_missing(&[4, 5]));
    }

    #[test]
    fn chunks_of_many_texts_and_of_one_stay_within_the_budget() {
        let texts: Vec<String> = (0..40 * CHUNK).map(|i| format!("text number {i} with some features")).collect();
        let mut cache = cache(Measure::Jaccard, &[]);
        cache.budget = 1 << 17;
        let mut next = 0;
        while next < texts.len() {
            let count = if next.is_multiple_of(3) { CHUNK } else { 1 }.min(texts.len() - next);
            let rows: Vec<u32> = (next as u32..).take(count).collect();
            let few: Vec<&String> = texts[next..].iter().take(count).collect();
            assert_eq!(rows, cache.missing(&rows).expect("room"));
            cache.add(&tokenizer(), &rows, &few.as_slice()).expect("nothing stops it");
            cache.shrink().expect("room");
            next += count;
        }
        let live: usize = cache.chunks.iter().filter(|chunk| !chunk.rows.is_empty()).map(Chunk::bytes).sum();
        let spare: usize = cache.spare.iter().map(Chunk::bytes).sum();
        let used: usize = cache.chunks.iter().map(|chunk| 8 * chunk.ids.len()).sum();
        assert_eq!(live, cache.bytes);
        assert!(live <= cache.budget && spare <= cache.budget, "{live} bytes live, {spare} spare");
        assert!(used > cache.budget / 4, "{used} bytes of features");
    }

    #[test]
    fn a_cache_over_its_budget_drops_what_was_not_needed() {
        let texts: Vec<String> = (0..9 * CHUNK).map(|i| format!("text number {i} with some features")).collect();
        let mut cache = cache(Measure::Jaccard, &texts);
        let whole = cache.similarities(&[4], &[7], false, 0.0).expect("a similarity");
        cache.budget = cache.bytes / 2;
        assert_eq!(Vec::<u32>::new(), cache.missing(&[4, 7]).expect("room"));
        cache.shrink().expect("room");
        assert!(cache.bytes <= cache.budget && cache.bytes > 0);
        assert_eq!(Vec::<u32>::new(), cache.missing(&[4, 7]).expect("room"));
        assert_eq!(whole, cache.similarities(&[4], &[7], false, 0.0).expect("a similarity"));
        let rows: Vec<u32> = (0..texts.len() as u32).collect();
        let missing = cache.missing(&rows).expect("room");
        assert!(!missing.is_empty() && Some(missing[0]) == cache.first_missing(&rows));
        // Cleared chunks are reused.
        let again: Vec<&String> = missing.iter().map(|&row| &texts[row as usize]).collect();
        cache.add(&tokenizer(), &missing, &again.as_slice()).expect("nothing stops it");
        assert_eq!(None, cache.first_missing(&rows));
        let last = rows.len() as u32 - 1;
        assert_eq!(vec![1.0], cache.similarities(&[last], &[last], false, 0.0).expect("a similarity"));
        assert!(cache.similarities(&[missing[0]], &[missing[1]], false, 0.0).expect("a similarity")[0] > 0.8);
    }
}
