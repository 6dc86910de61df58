//! Weighting of a text's features, and selection of the heaviest.
//!
//! | weight | of a feature that occurs c times in a text of T features |
//! |---|---|
//! | `count`, `binary`, `log` | c, 1, 1 + ln c |
//! | `idf` | c · (idf / T), T after stop words; c · idf with `cut:cppjieba`; see [`crate::text::idf`] |
//! | `textrank` | its rank; see [`crate::text::textrank`]; word 1-grams only |
//!
//! Features are sorted by descending weight; equal ones by first occurrence (for `textrank`, by their first neighbour).
//! `top` keeps the first N, or the first N percent, rounded up. With `cut:cppjieba` ties, including those at the
//! cut-off, are in the order of the C++ library, which sorts the words by their bytes and then selects the first N by
//! weight ([`crate::text::partial_sort`]).
//!
//! Where texts are compared by their weights ([`Keywords::weights`]), `idf` is c · idf in every case, because shares would
//! change with every word that one of two texts adds. Such weights are whole numbers of a unit, rounded, at least one:
//!
//! | weight | unit |
//! |---|---|
//! | `count`, `binary` | 1 |
//! | `log`, `idf` | 1/2 |
//! | `textrank`, and given weights | 1/1024 |
//!
//! So sums do not depend on their order, and signatures of weighted sets follow their law without an error of rounding.
//!
//! Cost: one hash per feature and sorting the distinct ones. A feature is identified by XXH3-64.

use crate::cancel::CancelToken;
use crate::error::check_length;
use crate::hash::idset::IdSet;
use crate::hash::{FeatureHash, WordHash, xxh3};
use crate::text::idf::Idf;
use crate::text::partial_sort;
use crate::text::textrank;
use crate::text::tokenizer::{Scratch, Tokenizer};
use crate::{Error, Result, alloc};
use std::sync::Arc;

/// The weight of a feature.
#[derive(Clone)]
pub enum Weighting {
    /// The number of occurrences.
    Count,
    /// One.
    Binary,
    /// One plus the logarithm of the number of occurrences.
    Log,
    /// Inverse document frequency.
    Idf(IdfTable),
    /// `TextRank`.
    TextRank,
}

/// A table of inverse document frequencies.
#[derive(Clone)]
pub enum IdfTable {
    /// jieba's.
    Jieba,
    /// jieba's, with cppjieba's weight for unknown words.
    CppJieba,
    /// A fitted table.
    Own(Arc<Idf>),
}

impl IdfTable {
    /// Return the built-in table `jieba` or `cppjieba`.
    ///
    /// # Errors
    /// Any other name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "jieba" => Ok(Self::Jieba),
            "cppjieba" => Ok(Self::CppJieba),
            other => Err(Error::parameter("idf", other, "jieba, cppjieba, or a digest with its table")),
        }
    }

    /// Build a table of `features` and their `values`; others have the weight `unknown`.
    ///
    /// # Errors
    /// Different numbers of features and values; memory runs out.
    pub fn fitted(features: &[impl AsRef<[u8]>], values: &[f64], unknown: f64) -> Result<Self> {
        check_length("values", values.len(), features.len())?;
        let entries = features.iter().map(AsRef::as_ref).zip(values.iter().copied());
        Ok(Self::Own(Arc::new(Idf::new(features.len(), entries, unknown)?)))
    }

    /// Return the table itself.
    ///
    /// # Errors
    /// Memory runs out for jieba's table, which is unpacked on first use.
    pub fn get(&self) -> Result<&Idf> {
        match self {
            Self::Jieba => Idf::jieba(false),
            Self::CppJieba => Idf::jieba(true),
            Self::Own(idf) => Ok(idf),
        }
    }
}

/// Features whose IDF is loaded in advance: large tables are not in the cache.
const AHEAD: usize = 16;

/// Units of a given weight of 1.
pub const GIVEN_UNITS: f64 = 1024.0;

/// Return a weight as a whole number of units, `per_one` for 1; 0 for 0 alone.
///
/// # Errors
/// Negative, NaN, or above 2^31 units.
pub fn units(weight: f64, per_one: f64) -> Result<u32> {
    let scaled = libm::rint(weight * per_one);
    if weight == 0.0 || weight > 0.0 && scaled <= f64::from(1_u32 << 31) {
        return Ok(if weight == 0.0 { 0 } else { (scaled as u32).max(1) });
    }
    let most = f64::from(1_u32 << 31) / per_one;
    Err(Error::parameter("weight", weight, format!("finite numbers from 0 to {most} where weights are compared")))
}

/// The number of features to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Top {
    /// All.
    All,
    /// This many.
    Fixed(u32),
    /// This percentage of the distinct ones, rounded up.
    Percent(u32),
}

impl Top {
    /// Parse `all`, a number from 1, or a share from 1% to 100%.
    ///
    /// # Errors
    /// Anything else.
    pub fn new(text: &str) -> Result<Self> {
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
            plain.then(|| digits.parse::<u32>().ok()).flatten()
        };
        let found = match text.strip_suffix('%') {
            _ if text == "all" => Some(Self::All),
            Some(digits) => number(digits).filter(|&share| share <= 100).map(Self::Percent),
            None => number(text).map(Self::Fixed),
        };
        found.ok_or_else(|| Error::parameter("top", text, "all, a number from 1, or a share from 1% to 100%"))
    }

    fn of(self, distinct: usize) -> usize {
        match self {
            Self::All => distinct,
            Self::Fixed(number) => distinct.min(number as usize),
            Self::Percent(share) => (distinct * share as usize).div_ceil(100),
        }
    }
}

/// The distinct features of a text in the order of first occurrence, with their counts.
///
/// If an allocation fails, the set is cleared and ignores further features until the next clear; [`Distinct::check`]
/// returns the error.
#[derive(Default)]
pub struct Distinct {
    arena: Vec<u8>,
    /// End of each feature in the arena, its hash, and its count.
    found: Vec<(u32, u64, u32)>,
    /// Indices into `found`, plus 1, by hash; 0 in a free slot.
    slots: Vec<u32>,
    /// Size in bytes of the failed allocation.
    refused: Option<usize>,
}

/// Slots of an empty table.
const SLOTS: usize = 256;

impl Distinct {
    /// Remove all features.
    pub(crate) fn clear(&mut self) {
        self.arena.clear();
        self.found.clear();
        self.slots.clear();
        self.refused = None;
    }

    /// Return the number of features.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Return an error if the features are incomplete.
    ///
    /// # Errors
    /// An earlier allocation failed.
    pub fn check(&self) -> Result<()> {
        self.refused.map_or(Ok(()), |bytes| Err(Error::Memory { bytes }))
    }

    #[cold]
    fn refuse(&mut self, bytes: usize) {
        self.clear();
        self.refused = Some(bytes);
    }

    /// Quadruple the slots, unless memory runs out.
    #[cold]
    fn grow(&mut self) -> bool {
        let size = (4 * self.slots.len()).max(SLOTS);
        self.slots.clear();
        if self.refused.is_some() {
            return false;
        }
        if alloc::try_resize(&mut self.slots, size, 0).is_err() {
            self.refuse(size * size_of::<u32>());
            return false;
        }
        for (index, &(_, hash, _)) in (1..).zip(&self.found) {
            let mut slot = hash as usize & (size - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = index;
        }
        true
    }

    /// Count a feature and return its index; unspecified if memory runs out.
    #[inline]
    pub fn count(&mut self, feature: &[u8]) -> u32 {
        // This also covers a set without slots, as after a failed allocation.
        if 2 * self.found.len() >= self.slots.len() && !self.grow() {
            return 0;
        }
        let hash = xxh3::hash(feature, 0);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != 0 {
            let index = self.slots[slot] - 1;
            let found = &mut self.found[index as usize];
            if found.1 == hash {
                found.2 += 1;
                return index;
            }
            slot = (slot + 1) & mask;
        }
        // Ends have 32 bits.
        let end = self.arena.len() + feature.len();
        let fits = u32::try_from(end).is_ok() && alloc::try_extend(&mut self.arena, feature).is_ok();
        if !fits || alloc::try_reserve(&mut self.found, 1).is_err() {
            self.refuse(end);
            return 0;
        }
        self.found.push((end as u32, hash, 1));
        self.slots[slot] = self.found.len() as u32;
        self.found.len() as u32 - 1
    }

    fn name(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.found[index - 1].0 };
        &self.arena[start as usize..self.found[index].0 as usize]
    }

    /// Iterate over the features in order, each with its count.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        (0..self.len()).map(|index| (self.name(index), self.found[index].2.into()))
    }
}

/// Buffers reused for every text of a thread.
#[derive(Default)]
pub struct KeywordScratch {
    text: Scratch,
    distinct: Distinct,
    tokens: alloc::BestEffortVec<Option<u32>>,
    /// Of features that are counted by their hashes alone.
    seen: IdSet,
    fresh: Vec<bool>,
    counts: Vec<u32>,
    /// Index, tie-breaking rank and weight of each kept feature.
    weights: Vec<(u32, u32, f64)>,
}

impl KeywordScratch {
    /// Create the buffers of a thread that works for a call with the token `cancel`.
    pub fn with_cancel(cancel: &CancelToken) -> Self {
        Self { text: Scratch::with_cancel(cancel), ..Self::default() }
    }

    /// Return the features of the last text with their weights, the heaviest first.
    pub fn features(&self) -> impl ExactSizeIterator<Item = (&[u8], f64)> + Clone {
        self.weights.iter().map(|&(index, _, weight)| (self.distinct.name(index as usize), weight))
    }
}

/// Weighting and selection of a text's features.
#[derive(Clone)]
pub struct Keywords {
    weighting: Weighting,
    top: Top,
    /// True if `idf` is not divided by the number of features.
    whole: bool,
}

impl Keywords {
    /// Create a selection of the `top` features by weight; `whole` weights do not depend on the length of the text.
    pub fn new(weighting: Weighting, top: Top, whole: bool) -> Self {
        Self { weighting, top, whole }
    }

    /// Return the weight of a feature by its XXH3-64 and its number of occurrences.
    #[inline(always)]
    fn weight(&self, idf: Option<&Idf>, hash: u64, count: u32, share: f64) -> f64 {
        match (&self.weighting, idf) {
            (Weighting::Count, _) => f64::from(count),
            (Weighting::Log, _) => 1.0 + libm::log(f64::from(count)),
            (_, Some(idf)) => f64::from(count) * (idf.of_hash(hash) / share),
            _ => 1.0,
        }
    }

    fn idf(&self) -> Result<Option<&Idf>> {
        if let Weighting::Idf(table) = &self.weighting { table.get().map(Some) } else { Ok(None) }
    }

    /// Return the units of a weight of 1.
    fn units(&self) -> f64 {
        match self.weighting {
            Weighting::Count | Weighting::Binary => 1.0,
            Weighting::Log | Weighting::Idf(_) => 2.0,
            Weighting::TextRank => GIVEN_UNITS,
        }
    }

    /// Append the hash and the weight in units of each kept feature of `text` to `out`, in no particular order;
    /// features of the weight 0 are omitted.
    ///
    /// # Errors
    /// A weight out of range, as an IDF table of the user may have; memory runs out.
    pub fn weights(
        &self,
        tokenizer: &Tokenizer,
        hash: WordHash,
        text: &str,
        scratch: &mut KeywordScratch,
        out: &mut Vec<(u64, u32)>,
    ) -> Result<()> {
        let by_hash = hash.hash == FeatureHash::Xxh3(0) && self.whole;
        if !by_hash || self.top != Top::All || matches!(self.weighting, Weighting::TextRank) {
            self.find(tokenizer, text, scratch)?;
            alloc::try_reserve(out, scratch.weights.len())?;
            for (name, weight) in scratch.features() {
                out.push((hash.hash(name), units(weight, self.units())?));
            }
        } else {
            let KeywordScratch { text: buffers, seen, fresh, counts, .. } = scratch;
            seen.clear(text.len().min(1024));
            counts.clear();
            let mut fits = Ok(());
            tokenizer.hashes(text, &[hash], buffers, |_, hashes| {
                fresh.clear();
                seen.insert_all(hashes, |new| fresh.push(new));
                if fits.is_ok() {
                    fits = seen.check().and_then(|()| alloc::try_reserve(counts, hashes.len()));
                }
                for (&hash, &new) in hashes.iter().zip(&*fresh).take_while(|_| fits.is_ok()) {
                    match seen.position(hash) {
                        Some(known) if !new => counts[known] += 1,
                        _ => counts.push(1),
                    }
                }
            })?;
            fits?;
            let (idf, per_one) = (self.idf()?, self.units());
            alloc::try_reserve(out, counts.len())?;
            let ids = seen.ids();
            for (at, (&hash, &count)) in ids.iter().zip(&*counts).enumerate() {
                if let (Some(idf), Some(&later)) = (idf, ids.get(at + AHEAD)) {
                    idf.prefetch(later);
                }
                out.push((hash, units(self.weight(idf, hash, count, 1.0), per_one)?));
            }
        }
        out.retain(|&(_, weight)| weight > 0);
        Ok(())
    }

    /// Select the features of `text`, which [`KeywordScratch::features`] returns. Return their number.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn find(&self, tokenizer: &Tokenizer, text: &str, scratch: &mut KeywordScratch) -> Result<usize> {
        let KeywordScratch { text: buffers, distinct, tokens, weights, .. } = scratch;
        distinct.clear();
        weights.clear();
        if matches!(self.weighting, Weighting::TextRank) {
            tokens.clear();
            tokenizer.words(text, buffers, |text, start, end, kept| {
                tokens.push(kept.then(|| distinct.count(&text[start..end])));
            })?;
            distinct.check()?;
            let mut names = alloc::try_with_capacity(distinct.len())?;
            names.extend(distinct.counts().map(|(name, _)| name));
            let ranks = textrank::rank(tokens.all()?, &names, buffers.cancel())?;
            alloc::try_reserve(weights, ranks.len())?;
            weights.extend((0..).zip(ranks).map(|(number, (index, rank))| (index, number, rank)));
        } else {
            let mut total = 0_u64;
            tokenizer.features(text, buffers, |feature| {
                total += 1;
                distinct.count(feature);
            })?;
            distinct.check()?;
            let idf = self.idf()?;
            let share = if self.whole || tokenizer.cuts_as_cppjieba() { 1.0 } else { total as f64 };
            let of = |&(_, hash, count): &(u32, u64, u32)| self.weight(idf, hash, count, share);
            alloc::try_reserve(weights, distinct.len())?;
            weights.extend((0..).zip(distinct.found.iter().map(of)).map(|(index, weight)| (index, index, weight)));
        }
        let kept = self.top.of(weights.len());
        if tokenizer.cuts_as_cppjieba() && !matches!(self.weighting, Weighting::TextRank) {
            let name = |entry: &(u32, u32, f64)| distinct.name(entry.0 as usize);
            weights.sort_unstable_by(|a, b| name(a).cmp(name(b)));
            partial_sort::first(weights, kept, |a, b| a.2 > b.2);
        } else {
            // A stable sort would allocate.
            weights.sort_unstable_by(|a, b| b.2.total_cmp(&a.2).then(a.1.cmp(&b.1)));
        }
        weights.truncate(kept);
        Ok(weights.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::FeatureKind;
    use crate::text::unicode::{Case, Form, Letters};
    use proptest::prelude::*;

    fn find(weighting: Weighting, top: &str, text: &str) -> Vec<(String, f64)> {
        let tokenizer =
            Tokenizer::new(FeatureKind::Word(1), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid");
        let mut scratch = KeywordScratch::default();
        Keywords::new(weighting, Top::new(top).expect("valid"), false)
            .find(&tokenizer, text, &mut scratch)
            .expect("room");
        scratch.features().map(|(name, weight)| (String::from_utf8_lossy(name).into_owned(), weight)).collect()
    }

    #[test]
    fn weights_are_those_of_the_table_above() {
        let pairs =
            |list: &[(&str, f64)]| list.iter().map(|&(name, weight)| (name.to_owned(), weight)).collect::<Vec<_>>();
        assert_eq!(pairs(&[("b", 2.0), ("a", 1.0), ("c", 1.0)]), find(Weighting::Count, "all", "a b c b"));
        assert_eq!(pairs(&[("a", 1.0), ("b", 1.0)]), find(Weighting::Binary, "2", "a b c b"));
        assert_eq!(pairs(&[("b", 1.0 + libm::log(2.0))]), find(Weighting::Log, "34%", "a b c b")[..1].to_vec());
        assert_eq!(2, find(Weighting::Log, "34%", "a b c b").len());
        let table: [(&[u8], f64); 1] = [(b"b", 3.0)];
        let idf = IdfTable::Own(Arc::new(Idf::new(1, table.into_iter(), 8.0).expect("room")));
        assert_eq!(pairs(&[("a", 2.0), ("c", 2.0), ("b", 1.5)]), find(Weighting::Idf(idf), "all", "a b c b"));
        assert_eq!(pairs(&[]), find(Weighting::Count, "all", "?!"));
    }

    #[test]
    fn tops_out_of_range_are_errors() {
        for text in ["", "0", "-1", "01", "0%", "101%", "5 %", "%", "99999999999", "five"] {
            assert!(Top::new(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn top_is_a_number_or_a_share_rounded_up(distinct in 0_usize..10_000, number in 1_u32..10_000, share in 1_u32..=100) {
            prop_assert_eq!(distinct, Top::All.of(distinct));
            let fixed = Top::new(&number.to_string()).expect("a number");
            prop_assert_eq!((Top::Fixed(number), distinct.min(number as usize)), (fixed, fixed.of(distinct)));
            let percent = Top::new(&format!("{share}%")).expect("a share");
            let expected = (0..=distinct).find(|kept| 100 * kept >= distinct * share as usize).expect("at most all");
            prop_assert_eq!((Top::Percent(share), expected), (percent, percent.of(distinct)));
        }

        #[test]
        fn equal_weights_stand_in_the_order_of_first_occurrence(words in prop::collection::vec("[a-f]{1,2}", 0..60)) {
            let mut expected: Vec<&String> = Vec::new();
            for word in &words {
                if !expected.contains(&word) {
                    expected.push(word);
                }
            }
            let text = words.join(" ");
            let found: Vec<String> = find(Weighting::Binary, "all", &text).into_iter().map(|pair| pair.0).collect();
            prop_assert_eq!(expected, found.iter().collect::<Vec<_>>());
            let counted = find(Weighting::Count, "all", &text);
            let index = |name: &str| words.iter().position(|word| word == name);
            for pair in counted.windows(2) {
                prop_assert!(pair[0].1 > pair[1].1 || index(&pair[0].0) < index(&pair[1].0));
            }
        }

        #[test]
        fn counts_are_plain_counts(words in prop::collection::vec("[a-e]{1,4}", 0..900)) {
            let mut expected = std::collections::BTreeMap::<String, f64>::new();
            for word in &words {
                *expected.entry(word.clone()).or_default() += 1.0;
            }
            let found = find(Weighting::Count, "all", &words.join(" "));
            prop_assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            prop_assert_eq!(expected, found.into_iter().collect());
        }
    }
}
