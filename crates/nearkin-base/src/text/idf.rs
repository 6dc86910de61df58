//! Inverse document frequency: a weight that is high for features in few texts.
//!
//! With N documents, df(f) of them with feature f, smoothed as if one more document had every feature:
//! ```text
//! idf(f) = ln((1 + N) / (1 + df(f))) + 1
//! ```
//! An unseen feature, or one in fewer than `min_df` documents, has df = 0. External tables have their own values and
//! one for other features: the median in jieba's table, a mean (that of its older table) in the C++ library cppjieba.
//!
//! Features are identified by XXH3-64. Memory: 16 bytes per slot, at most twice as many slots as features. The
//! logarithm is libm's, so that no bit depends on the platform.
//!
//! Counts can be bounded: after every [`STEP`] texts, if there are more than `most` features, those are dropped whose
//! document frequency is at most t, the smallest t that leaves half of `most`. A dropped feature that comes again starts
//! from 0, so that a frequency is too low by at most the sum of all t. Steps are counted from the first text, so that
//! batches do not matter. The idea is that of lossy counting (Manku and Motwani, VLDB 2002), with the error that the
//! data need instead of a given one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use crate::parallel::prelude::*;

use crate::alloc::TryOnce;
use crate::cancel::CancelToken;
use crate::cpu::prefetch::prefetch_at;
use crate::hash::idset::IdSet;
use crate::hash::{NumberState, xxh3};
use crate::text::jieba::Packed;
use crate::text::tokenizer::{Scratch, TextSource, Tokenizer};
use crate::{Error, Result, alloc};

/// cppjieba's weight of a word that is not in its table: the mean of that table's 258,826 values.
const CPPJIEBA_UNKNOWN: f64 = 11.739204307083542;

/// Weights of features.
pub struct Idf {
    /// Hash of a feature, 0 in a free slot, and its value: one cache line for both.
    slots: Vec<(u64, f64)>,
    unknown: f64,
}

impl Idf {
    /// Build a table of `len` features and their values; others have the weight `unknown`.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn new<'a>(len: usize, features: impl Iterator<Item = (&'a [u8], f64)>, unknown: f64) -> Result<Self> {
        let slots = (2 * len).next_power_of_two().max(2);
        let mut idf = Self { slots: alloc::try_filled((0, 0.0), slots)?, unknown };
        for (feature, value) in features {
            let slot = idf.slot(key(feature));
            idf.slots[slot] = (key(feature), value);
        }
        Ok(idf)
    }

    /// Return jieba's own table, optionally with cppjieba's weight for unknown words.
    ///
    /// # Errors
    /// Memory runs out for the table, which is unpacked on first use.
    pub fn jieba(cppjieba: bool) -> Result<&'static Self> {
        static TABLES: [TryOnce<Idf>; 2] = [const { TryOnce::new() }; 2];
        TABLES[usize::from(cppjieba)].get_or_init(|| {
            let mut packed = Packed::new()?;
            let values = std::mem::take(&mut packed.idf);
            let median = values.get(packed.median).copied().unwrap_or_default();
            let unknown = if cppjieba { CPPJIEBA_UNKNOWN } else { median };
            let mut text = String::new();
            let mut words: Vec<(usize, f64)> = Vec::new();
            packed.each(|word, _, _, place| {
                if place > 0 {
                    alloc::try_reserve_str(&mut text, 3 * word.len())?;
                    alloc::try_reserve(&mut words, 1)?;
                    text.extend(char::decode_utf16(word.iter().copied()).flatten());
                    words.push((text.len(), values[place - 1]));
                }
                Ok(())
            })?;
            let mut start = 0;
            let features = words.iter().map(|&(end, value)| {
                let word = &text.as_bytes()[start..end];
                start = end;
                (word, value)
            });
            Self::new(words.len(), features, unknown)
        })
    }

    /// Return the slot of `key`, or the free slot where it belongs.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        while self.slots[slot].0 != key && self.slots[slot].0 != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Return the weight of the feature with hash `hash` (XXH3-64, seed 0).
    #[inline]
    pub fn of_hash(&self, hash: u64) -> f64 {
        let (key, value) = self.slots[self.slot(hash.max(1))];
        if key == 0 { self.unknown } else { value }
    }

    /// Load the slot of a hash that is looked up soon.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch_at(&self.slots, hash as usize & (self.slots.len() - 1));
    }

    /// Return the weight of a feature.
    pub fn get(&self, feature: &[u8]) -> f64 {
        self.of_hash(key(feature))
    }
}

/// 0 marks a free slot, so hashes 0 and 1 are identified.
fn key(feature: &[u8]) -> u64 {
    xxh3::hash(feature, 0).max(1)
}

/// Return the weight of a feature that occurs in `df` of `documents`.
pub fn smoothed(documents: u64, df: u64) -> f64 {
    libm::log((1 + documents) as f64 / (1 + df) as f64) + 1.0
}

/// Features by hash: the feature and its document frequency.
type Counts = HashMap<u64, (Box<[u8]>, u32), NumberState>;

/// Document frequencies, counted in one pass over any number of texts.
pub struct DocumentFrequencies {
    documents: u64,
    counts: Counts,
    /// Largest number of features between two steps.
    most: usize,
    /// Number of texts in the current step.
    texts: usize,
    max_error: u32,
}

/// Texts between two times that features are dropped.
const STEP: usize = 1 << 13;

/// Number of texts that one thread counts before its counts are merged.
const CHUNK: usize = 1 << 10;

/// Count the texts that are not null, and the document frequency of each feature; incomplete after cancellation.
fn count(
    tokenizer: &Tokenizer,
    texts: &dyn TextSource,
    chunk: Range<usize>,
    scratch: &mut Scratch,
    seen: &mut IdSet,
) -> Result<(u64, Counts)> {
    let (mut counts, mut documents) = (Counts::default(), 0);
    let mut fits = Ok(());
    for i in chunk {
        if scratch.cancel().is_set() {
            break;
        }
        texts.prefetch(i + 1);
        let Some(text) = texts.get(i) else { continue };
        documents += 1;
        seen.clear(text.len().min(1024));
        tokenizer.features(text, scratch, |feature| {
            let hash = xxh3::hash(feature, 0);
            if seen.insert(hash) && fits.is_ok() {
                fits = count_one(&mut counts, hash, feature);
            }
        })?;
        seen.check()?;
    }
    fits.map(|()| (documents, counts))
}

/// Count a feature.
#[inline]
fn count_one(counts: &mut Counts, hash: u64, feature: &[u8]) -> Result<()> {
    if counts.len() == counts.capacity() {
        alloc::try_reserve_map(counts, 1)?;
    }
    match counts.entry(hash) {
        Entry::Occupied(mut entry) => entry.get_mut().1 += 1,
        Entry::Vacant(entry) => {
            entry.insert((alloc::try_copy(feature)?.into_boxed_slice(), 1));
        }
    }
    Ok(())
}

/// Reserve capacity for the features that only `new` has, so that merging can't fail.
fn make_room(all: &mut Counts, new: &Counts) -> Result<()> {
    if all.is_empty() || all.capacity() - all.len() >= new.len() {
        return Ok(());
    }
    let missing = new.keys().filter(|hash| !all.contains_key(hash)).count();
    alloc::try_reserve_map(all, missing)
}

/// Add the counts `new` to `all`, which has the capacity.
fn add_up(all: &mut Counts, new: Counts) {
    if all.is_empty() {
        *all = new;
        return;
    }
    for (hash, (feature, count)) in new {
        all.entry(hash).or_insert((feature, 0)).1 += count;
    }
}

impl Default for DocumentFrequencies {
    fn default() -> Self {
        Self { documents: 0, counts: Counts::default(), most: usize::MAX, texts: 0, max_error: 0 }
    }
}

impl DocumentFrequencies {
    /// Create counts of any number of features, or of at most `most`, 2 or more.
    ///
    /// # Errors
    /// `most` is below 2.
    pub fn new(most: Option<usize>) -> Result<Self> {
        let most = most.unwrap_or(usize::MAX);
        if most < 2 {
            return Err(Error::parameter("max_features", most, "2 or more"));
        }
        Ok(Self { most, ..Self::default() })
    }

    /// Count the features of more texts, in parallel. A text without features counts as a document, a null does not.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out: nothing is counted or, with a bound, some of the texts.
    pub fn add(&mut self, tokenizer: &Tokenizer, texts: &dyn TextSource) -> Result<()> {
        let mut start = 0;
        while start < texts.len() {
            let step = if self.most == usize::MAX { usize::MAX } else { STEP - self.texts };
            let end = start + step.min(texts.len() - start);
            self.add_range(tokenizer, texts, start..end)?;
            self.texts += end - start;
            if self.most < usize::MAX && self.texts == STEP {
                self.drop_rare()?;
                self.texts = 0;
            }
            start = end;
        }
        Ok(())
    }

    /// Drop the rarest features if there are too many.
    ///
    /// # Errors
    /// Memory runs out: nothing is dropped.
    pub fn drop_rare(&mut self) -> Result<()> {
        if self.counts.len() <= self.most {
            return Ok(());
        }
        let mut frequencies: Vec<u32> = alloc::try_collect(self.counts.values().map(|feature| feature.1))?;
        let last = frequencies.len() - self.most / 2 - 1;
        let least = *frequencies.select_nth_unstable(last).1;
        self.counts.retain(|_, feature| feature.1 > least);
        self.max_error = self.max_error.saturating_add(least);
        Ok(())
    }

    /// Return by how much a document frequency may be too low, because features were dropped.
    pub fn max_error(&self) -> u32 {
        self.max_error
    }

    fn add_range(&mut self, tokenizer: &Tokenizer, texts: &dyn TextSource, range: Range<usize>) -> Result<()> {
        let cancel = &CancelToken::current();
        let chunk = |(scratch, seen): &mut (Scratch, IdSet), chunk: usize| {
            let first = range.start + chunk * CHUNK;
            count(tokenizer, texts, first..(first + CHUNK).min(range.end), scratch, seen)
        };
        let buffers = || (Scratch::with_cancel(cancel), IdSet::default());
        let chunks =
            alloc::try_map_parallel((0..range.len().div_ceil(CHUNK)).into_par_iter().map_init(buffers, chunk))?;
        cancel.check()?;
        // All chunks are merged separately, so that the counts change in one step that can't fail.
        let (mut documents, mut new) = (0, Counts::default());
        for (num_documents, counts) in chunks {
            documents += num_documents;
            make_room(&mut new, &counts)?;
            add_up(&mut new, counts);
        }
        make_room(&mut self.counts, &new)?;
        cancel.check()?;
        self.documents += documents;
        add_up(&mut self.counts, new);
        Ok(())
    }

    /// Return the number of documents.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Return the features that occur in at least `min_df` documents, sorted by their bytes, with their document
    /// frequencies.
    ///
    /// # Errors
    /// `min_df` is 0; memory runs out.
    pub fn features(&self, min_df: u32) -> Result<Vec<(&[u8], u32)>> {
        if min_df == 0 {
            return Err(Error::parameter("min_df", min_df, "1 or more"));
        }
        let kept = || self.counts.values().filter(|(_, count)| *count >= min_df);
        let mut found: Vec<(&[u8], u32)> = alloc::try_with_capacity(kept().count())?;
        found.extend(kept().map(|(feature, count)| (&**feature, *count)));
        found.sort_unstable();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::FeatureKind;
    use crate::text::unicode::{Case, Form, Letters};
    use proptest::prelude::*;

    #[test]
    fn jiebas_table_has_its_values() {
        let idf = Idf::jieba(false).expect("room");
        assert_eq!(13.900677652, idf.get("劳动防护".as_bytes()));
        assert_eq!(10.8561552143, idf.get("升职".as_bytes()));
        assert_eq!(11.9547675029, idf.get(b"CEO"));
        assert_eq!(CPPJIEBA_UNKNOWN, Idf::jieba(true).expect("room").get(b"CEO"));
    }

    proptest! {
        #[test]
        fn a_table_gives_each_feature_its_value(
            entries in prop::collection::btree_map("[a-d]{0,4}|\\PC{1,3}", -9.0_f64..9.0, 0..80),
            others in prop::collection::vec("[a-d]{0,4}", 20),
        ) {
            let table = entries.iter().map(|(feature, &value)| (feature.as_bytes(), value));
            let idf = Idf::new(entries.len(), table, 10.0).expect("room");
            for feature in entries.keys().chain(&others) {
                prop_assert_eq!(entries.get(feature).copied().unwrap_or(10.0), idf.get(feature.as_bytes()));
            }
        }

        #[test]
        fn frequencies_are_plain_counts_in_batches_of_any_size(
            texts in prop::collection::vec("([a-e]{1,2} ){0,6}", 0..40), batch in 1_usize..50, min_df in 1_u32..4
        ) {
            let tokenizer = Tokenizer::new(FeatureKind::Word(1), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid");
            let mut expected = std::collections::BTreeMap::<&str, u32>::new();
            for text in &texts {
                for word in text.split_whitespace().collect::<std::collections::BTreeSet<_>>() {
                    *expected.entry(word).or_default() += 1;
                }
            }
            let mut counted = DocumentFrequencies::default();
            texts.chunks(batch).for_each(|batch| counted.add(&tokenizer, &batch).expect("nothing stops it"));
            let kept: Vec<(&[u8], u32)> =
                expected.iter().filter(|count| *count.1 >= min_df).map(|(word, &df)| (word.as_bytes(), df)).collect();
            prop_assert_eq!(texts.len() as u64, counted.documents());
            prop_assert_eq!(kept, counted.features(min_df).expect("valid"));
        }

        #[test]
        fn bounded_frequencies_are_too_low_by_the_stated_error(
            words in prop::collection::vec(0_u32..4000, 1..60), most in 2_usize..300, batch in 1_usize..9000
        ) {
            let tokenizer = Tokenizer::new(FeatureKind::Word(1), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid");
            // Few words are frequent, and each text has one that no other has.
            let texts: Vec<String> =
                (0..2 * STEP + 100).map(|i| format!("w{} v{} only{i}", words[i % words.len()], i % 97)).collect();
            let (mut exact, mut alone) = (DocumentFrequencies::default(), DocumentFrequencies::new(Some(most)).expect("valid"));
            exact.add(&tokenizer, &texts.as_slice()).expect("nothing stops it");
            alone.add(&tokenizer, &texts.as_slice()).expect("nothing stops it");
            let mut batches = DocumentFrequencies::new(Some(most)).expect("valid");
            texts.chunks(batch).for_each(|batch| batches.add(&tokenizer, &batch).expect("nothing stops it"));
            let bounded = [&mut alone, &mut batches].map(|counts| {
                counts.drop_rare().expect("room");
                (counts.documents(), counts.max_error(), counts.features(1).expect("valid").into_iter().map(|(name, df)| (name.to_vec(), df)).collect::<Vec<_>>())
            });
            prop_assert_eq!(&bounded[0], &bounded[1]);
            let (documents, error, features) = &bounded[0];
            prop_assert_eq!(texts.len() as u64, *documents);
            prop_assert!(features.len() <= most && *error > 0);
            let features: std::collections::BTreeMap<&[u8], u32> = features.iter().map(|(name, df)| (&name[..], *df)).collect();
            for (name, df) in exact.features(1).expect("valid") {
                let found = features.get(name).copied().unwrap_or(0);
                prop_assert!(found <= df && df <= found + error);
            }
        }

        #[test]
        fn rarer_features_weigh_more(documents in 1_u64..1_000_000, df in 0_u64..1_000_000) {
            let df = df % (documents + 1);
            let expected = ((1.0 + documents as f64) / (1.0 + df as f64)).ln() + 1.0;
            prop_assert!((expected - smoothed(documents, df)).abs() < 1e-12);
            prop_assert!(df == documents || smoothed(documents, df) > smoothed(documents, df + 1));
        }
    }

    #[test]
    fn many_chunks_count_as_one() {
        let tokenizer =
            Tokenizer::new(FeatureKind::Word(1), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid");
        let texts: Vec<String> = (0..3 * CHUNK + 7).map(|i| format!("all w{}", i % 10)).collect();
        let mut counted = DocumentFrequencies::default();
        counted.add(&tokenizer, &texts.as_slice()).expect("nothing stops it");
        let found = counted.features(1).expect("valid");
        assert_eq!(
            (texts.len() as u64, Some(&(&b"all"[..], texts.len() as u32))),
            (counted.documents(), found.first())
        );
        assert_eq!(texts.len() as u32, found[1..].iter().map(|feature| feature.1).sum::<u32>());
    }

    #[test]
    fn each_document_counts_once() {
        let tokenizer =
            Tokenizer::new(FeatureKind::Word(1), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid");
        let mut counted = DocumentFrequencies::default();
        counted.add(&tokenizer, &["a a b", "b c", ""].as_slice()).expect("nothing stops it");
        counted.add(&tokenizer, &["B"].as_slice()).expect("nothing stops it");
        assert_eq!(4, counted.documents());
        let expected: Vec<(&[u8], u32)> = vec![(b"a", 1), (b"b", 3), (b"c", 1)];
        assert_eq!(expected, counted.features(1).expect("valid"));
        assert_eq!(expected[1..2], counted.features(2).expect("valid"));
        assert!(counted.features(0).is_err());
        // ln(5 / 4) + 1
        assert!((smoothed(4, 3) - 1.2231435513142097).abs() < 1e-15);
    }
}
