//! The recipe: its slots, their rules, and the batch functions that follow from them.
//!
//! A recipe is compiled once from plain slots ([`Slots`]) and then hashes any number of batches, in parallel. The slots
//! decide, from the text to the values:
//!
//! | slots | decide |
//! |---|---|
//! | `norm`, `fold`, `case`, `letters`, `numbers` | the characters that are read ([`crate::text::unicode`]) |
//! | `cut`, `user_words`, `stop`, `stop_words`, `min_length`, `tags` | which words are kept ([`crate::text::tokenizer`]) |
//! | `features`, `n` | what a feature is: `char` or `word` n-grams; `given` for features from outside, without a tokenizer |
//! | `weight`, `idf`, `top` | what a feature weighs, and how many are kept ([`crate::text::keywords`]) |
//! | `hash`, `seed` | the hash of a feature ([`crate::hash`]) |
//! | `family` | `simhash`: bits; `minhash`: values, scheme, bits per value |
//!
//! Rules between slots: features and weights are both `given`, and then all are kept; the weight `textrank` ranks
//! single words; a table of inverse document frequencies belongs to the weight `idf`; `minhash` compares full sets, so
//! it requires the weight `binary` (or given features) and `top` all, unless its scheme is `weighted`, which compares the kept
//! features by their weights.
//!
//! If all features are kept and weigh their count or one, a fingerprint is summed in integers, bit by bit ([`Weight`]);
//! any other recipe uses [`Keywords`] and sums in `f64`. For the same weights both give the same bits.
//!
//! A null text has no feature: fingerprint 0, signature of largest values, no word, no keyword. Results depend on the slots and the
//! texts alone, not on the number of threads.
//!
//! ```
//! use nearkin_core::families::recipe::{Family, Recipe, Slots};
//!
//! let family = Family::SimHash { bits: 64 };
//! let recipe = Recipe::new(&Slots { features: "word", n: 3, family, ..Slots::default() })?;
//! let (fingerprints, counts) = recipe.fingerprints(&["One, two, three, FOUR", ""].as_slice())?;
//! assert_eq!((2, vec![2, 0]), (fingerprints.len(), counts));
//! # Ok::<(), nearkin_core::Error>(())
//! ```
//!
//! Tests: each slot against a plain definition, and the committed golden values, in `tests`.

use std::ops::Range;

use crate::parallel::prelude::*;

use crate::cancel::CancelToken;
use crate::error::{check_length, check_offsets};
use crate::families::minhash::{MinHash, Scheme, Value};
use crate::families::simhash::{SimHash, Weight};
use crate::hash::FeatureHash;
use crate::text::cut::Cut;
use crate::text::fold::Folds;
use crate::text::idf::DocumentFrequencies;
use crate::text::jieba::parse_user_words;
use crate::text::keywords::{Distinct, GIVEN_UNITS, IdfTable, KeywordScratch, Keywords, Top, Weighting, units};
use crate::text::numbers::Numbers;
use crate::text::stopwords;
use crate::text::tokenizer::{FeatureKind, Reading, Scratch, TextSource, Tokenizer};
use crate::text::unicode::{Case, Form, Letters};
use crate::text::words::Words;
use crate::{Error, Result, alloc};

#[cfg(test)]
mod tests;

/// The slots of a recipe, by the names and values of its text form; the default is the recipe
/// `char:4|binary|xxh3|simhash:128`.
#[derive(Clone)]
pub struct Slots<'a> {
    /// `nfkc`, `nfc` or `none`.
    pub norm: &'a str,
    /// Names of folds: `hans`, `lookalikes`, `accents`.
    pub fold: &'a [String],
    /// `fold`, `lower` or `keep`.
    pub case: &'a str,
    /// `word`, `python` or `all`.
    pub letters: &'a str,
    /// `split` or `whole`.
    pub numbers: &'a str,
    /// `uax29`, `jieba`, `cppjieba`, `script` or `code`.
    pub cut: &'a str,
    /// Words for the dictionary of `jieba` or `script`, one per line: `word`, then optionally a frequency and a tag.
    pub user_words: &'a str,
    /// Names of lists of stop words.
    pub stop: &'a [String],
    /// Further stop words.
    pub stop_words: &'a [String],
    /// Minimum number of characters of a word, 1 to 64.
    pub min_length: usize,
    /// Parts of speech that are kept, all if none is named.
    pub tags: &'a [String],
    /// `char`, `word` or `given`.
    pub features: &'a str,
    /// Length of an n-gram, of mixed ones the longest, 1 to 64; ignored with given features.
    pub n: usize,
    /// Length of the shortest n-gram, 1 to n; 0 if all have length n.
    pub min_n: usize,
    /// `count`, `binary`, `log`, `idf`, `textrank` or `given`.
    pub weight: &'a str,
    /// The table of the weight `idf`.
    pub idf: Option<IdfTable>,
    /// `all`, a number, or a share such as `10%`.
    pub top: &'a str,
    /// Name of a feature hash.
    pub hash: &'a str,
    /// Its seed.
    pub seed: u64,
    /// The family of the hash values.
    pub family: Family<'a>,
}

/// The family of the hash values, with its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family<'a> {
    /// Fingerprints.
    SimHash {
        /// Width, 1 to 1024.
        bits: u32,
    },
    /// Signatures.
    MinHash {
        /// Values of a signature, 1 to 512.
        num_perm: usize,
        /// `one`, `fast`, `classic` or `weighted`.
        scheme: &'a str,
        /// Bits of a value, 32 or 64.
        value_bits: u32,
    },
}

impl Default for Slots<'_> {
    fn default() -> Self {
        Self {
            norm: "nfkc",
            fold: &[],
            case: "fold",
            letters: "word",
            numbers: "split",
            cut: "uax29",
            user_words: "",
            stop: &[],
            stop_words: &[],
            min_length: 1,
            tags: &[],
            features: "char",
            n: 4,
            min_n: 0,
            weight: "binary",
            idf: None,
            top: "all",
            hash: "xxh3",
            seed: 0,
            family: Family::SimHash { bits: 128 },
        }
    }
}

/// A recipe compiled for use.
pub struct Recipe {
    /// None for features from outside.
    tokenizer: Option<Tokenizer>,
    /// How features are summed in integers; none if they are weighed.
    plain: Option<Weight>,
    keywords: Keywords,
    hash: FeatureHash,
    family: CompiledFamily,
}

/// The family, compiled.
enum CompiledFamily {
    SimHash(SimHash),
    MinHash { family: MinHash, wide: bool, weighted: bool },
}

/// Signatures, row by row, in values of the recipe's width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signatures {
    /// Values of 32 bits.
    Narrow(Vec<u32>),
    /// Values of 64 bits.
    Wide(Vec<u64>),
}

/// Weights of given features.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// Whole numbers, summed exactly.
    Integers(&'a [i64]),
    /// Finite numbers, summed in an order of their own.
    Floats(&'a [f64]),
}

impl Weights<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Integers(weights) => weights.len(),
            Self::Floats(weights) => weights.len(),
        }
    }
}

/// The scheme of signatures of weighted sets.
const WEIGHTED: &str = "weighted";

/// Largest sum of given weights in units: a signature takes time in proportion, here about half a second.
const MAX_GIVEN: u64 = 1 << 27;

/// Return the kind of a feature; None for given features.
fn kind(slots: &Slots<'_>) -> Result<Option<FeatureKind>> {
    match slots.features {
        "char" => Ok(Some(FeatureKind::Char(slots.n))),
        "word" => Ok(Some(FeatureKind::Word(slots.n))),
        "given" => Ok(None),
        other => Err(Error::parameter("features", other, "char, word or given")),
    }
}

/// Create the tokenizer. For given features its slots are checked, but it is not created.
fn tokenizer(slots: &Slots<'_>, kind: Option<FeatureKind>) -> Result<Option<Tokenizer>> {
    let reading = Reading {
        form: Form::new(slots.norm)?,
        folds: Folds::new(slots.fold)?,
        case: Case::new(slots.case)?,
        letters: Letters::new(slots.letters)?,
        numbers: Numbers::new(slots.numbers)?,
    };
    let mut stop_words = alloc::try_with_capacity(slots.stop_words.len())?;
    for word in slots.stop_words {
        stop_words.push(alloc::try_string(word)?);
    }
    for name in slots.stop {
        let list = stopwords::list(name)?;
        alloc::try_reserve(&mut stop_words, list.len())?;
        stop_words.extend(list);
    }
    let user_words = parse_user_words(slots.user_words)?;
    let Some(kind) = kind else { return Ok(None) };
    let mut tokenizer = Tokenizer::of(kind, reading, &stop_words)?;
    if slots.min_n > 0 {
        tokenizer = tokenizer.mixed(slots.min_n)?;
    }
    let user_words = tokenizer.normalise(user_words)?;
    tokenizer.with_words(Cut::new(slots.cut, &user_words)?, slots.min_length, slots.tags).map(Some)
}

/// Return the weight of a feature, and how it is summed in integers if all are kept.
fn weighting(slots: &Slots<'_>, kind: Option<FeatureKind>) -> Result<(Weighting, Option<Weight>)> {
    match (slots.weight, &slots.idf) {
        ("count" | "given", _) => Ok((Weighting::Count, Some(Weight::Count))),
        ("binary", _) => Ok((Weighting::Binary, Some(Weight::Binary))),
        ("log", _) => Ok((Weighting::Log, None)),
        ("idf", Some(table)) => Ok((Weighting::Idf(table.clone()), None)),
        ("textrank", _) if kind == Some(FeatureKind::Word(1)) => Ok((Weighting::TextRank, None)),
        ("textrank", _) => Err(Error::parameter("weight", "textrank", "textrank with word:1 alone")),
        (other, _) => {
            let allowed = "count, binary, log, idf (with a table), textrank or given";
            Err(Error::parameter("weight", other, allowed))
        }
    }
}

/// Check the rules between slots.
fn check_together(slots: &Slots<'_>) -> Result<()> {
    let given = slots.features == "given";
    if given != (slots.weight == "given") {
        let allowed = "given with given features, count, binary, log, idf or textrank with others";
        return Err(Error::parameter("weight", slots.weight, allowed));
    }
    if given && slots.top != "all" {
        return Err(Error::parameter("top", slots.top, "all with given features"));
    }
    if slots.idf.is_some() && slots.weight != "idf" {
        return Err(Error::parameter("idf", "a table", "a table with the weight idf, none with others"));
    }
    if matches!(slots.family, Family::MinHash { scheme, .. } if scheme != WEIGHTED) {
        if !matches!(slots.weight, "binary" | "given") {
            let allowed =
                "binary with minhash, which compares sets, or a scheme for weights, minhash:NUM_PERM:weighted";
            return Err(Error::parameter("weight", slots.weight, allowed));
        }
        if slots.top != "all" {
            let allowed = "all with minhash, which compares whole sets, or minhash:NUM_PERM:weighted";
            return Err(Error::parameter("top", slots.top, allowed));
        }
    }
    Ok(())
}

impl<'a> Family<'a> {
    /// Return the family called `name`, with the slots that belong to it.
    ///
    /// # Errors
    /// Any name but `simhash` and `minhash`.
    pub fn named(name: &str, bits: u32, num_perm: usize, scheme: &'a str, value_bits: u32) -> Result<Self> {
        match name {
            "simhash" => Ok(Self::SimHash { bits }),
            "minhash" => Ok(Self::MinHash { num_perm, scheme, value_bits }),
            other => Err(Error::parameter("family", other, "simhash or minhash")),
        }
    }
}

impl CompiledFamily {
    fn new(family: Family<'_>, hash: FeatureHash) -> Result<Self> {
        match family {
            Family::SimHash { bits } => Ok(Self::SimHash(SimHash::new(bits, hash)?)),
            Family::MinHash { num_perm, scheme, value_bits } => {
                let wide = match value_bits {
                    32 => false,
                    64 => true,
                    other => return Err(Error::parameter("value_bits", other, "32 or 64")),
                };
                let weighted = scheme == WEIGHTED;
                let family = MinHash::new(num_perm, if weighted { Scheme::Fast } else { Scheme::new(scheme)? })?;
                Ok(Self::MinHash { family, wide, weighted })
            }
        }
    }
}

impl Recipe {
    /// Compile the recipe of the slots.
    ///
    /// # Errors
    /// A slot that is unknown, out of its range, or does not go with another one.
    pub fn new(slots: &Slots<'_>) -> Result<Self> {
        let kind = kind(slots)?;
        check_together(slots)?;
        let tokenizer = tokenizer(slots, kind)?;
        let (weighting, plain) = weighting(slots, kind)?;
        let top = Top::new(slots.top)?;
        let hash = FeatureHash::new(slots.hash, slots.seed)?;
        let family = CompiledFamily::new(slots.family, hash)?;
        let plain = plain.filter(|_| top == Top::All);
        let weighted = matches!(family, CompiledFamily::MinHash { weighted: true, .. });
        Ok(Self { tokenizer, plain, keywords: Keywords::new(weighting, top, weighted), hash, family })
    }

    /// Return the tokenizer.
    ///
    /// # Errors
    /// The recipe is for given features.
    pub fn tokenizer(&self) -> Result<&Tokenizer> {
        self.tokenizer.as_ref().ok_or_else(|| {
            let allowed = "char:n or word:n to read texts; given takes features and weights";
            Error::parameter("features", "given", allowed)
        })
    }

    /// True if texts are compared by the weights of their features.
    pub fn is_weighted(&self) -> bool {
        matches!(self.family, CompiledFamily::MinHash { weighted: true, .. })
    }

    /// Return what reads the features by which texts are compared: their weights too, if the recipe is weighted.
    ///
    /// # Errors
    /// The recipe is for given features.
    pub fn reader(&self) -> Result<(&Tokenizer, Option<&Keywords>)> {
        Ok((self.tokenizer()?, self.is_weighted().then_some(&self.keywords)))
    }

    fn simhash(&self) -> Result<&SimHash> {
        match &self.family {
            CompiledFamily::SimHash(simhash) => Ok(simhash),
            CompiledFamily::MinHash { .. } => Err(Error::parameter("family", "minhash", "simhash for fingerprints")),
        }
    }

    /// Return the family of signatures, and true if a value has 64 bits.
    fn minhash(&self) -> Result<(&MinHash, bool)> {
        match &self.family {
            CompiledFamily::MinHash { family, wide, .. } => Ok((family, *wide)),
            CompiledFamily::SimHash(_) => {
                let allowed = "minhash, as in char:4|binary|xxh3|minhash:128";
                Err(Error::parameter("family", "simhash", allowed))
            }
        }
    }

    /// Return fingerprints of texts, `bits / 64` values each, rounded up, and the number of features of each text: all
    /// occurrences with the weight `count`, distinct ones with `binary`, kept ones if they are weighted.
    ///
    /// # Errors
    /// The recipe is for given features or for signatures; memory runs out.
    pub fn fingerprints(&self, texts: &dyn TextSource) -> Result<(Vec<u64>, Vec<u64>)> {
        let (tokenizer, simhash) = (self.tokenizer()?, self.simhash()?);
        let mut out = alloc::try_zeroed(texts.len().saturating_mul(simhash.words()))?;
        let mut counts = alloc::try_zeroed(texts.len())?;
        match self.plain {
            Some(weight) => simhash.texts(tokenizer, weight, texts, &mut out, &mut counts)?,
            None => simhash.keywords(tokenizer, &self.keywords, texts, &mut out, &mut counts)?,
        }
        Ok((out, counts))
    }

    /// Return fingerprints of documents with given features: document d has the features and weights from `offsets[d]`
    /// to `offsets[d + 1]`; the weights of a repeated feature are added.
    ///
    /// # Errors
    /// Offsets or weights that do not belong to the features; a recipe for signatures; memory runs out.
    pub fn fingerprints_given(
        &self,
        offsets: &[i64],
        features: &[impl AsRef<[u8]> + Sync],
        weights: Weights<'_>,
    ) -> Result<Vec<u64>> {
        let simhash = self.simhash()?;
        check_offsets(offsets, features.len())?;
        check_length("weights", weights.len(), features.len())?;
        each_document(offsets, simhash.words(), |document, out| {
            let names = features[document.clone()].iter().map(AsRef::as_ref);
            match weights {
                Weights::Integers(weights) => simhash.integers(names.zip(weights[document].iter().copied()), out),
                Weights::Floats(weights) => simhash.floats(names.zip(weights[document].iter().copied()), out)?,
            }
            Ok(())
        })
    }

    /// Return fingerprints of the rows of a CSR matrix: column c is the feature of its eight little-endian bytes.
    ///
    /// # Errors
    /// Offsets or weights that do not belong to the columns; a recipe for signatures; memory runs out.
    pub fn fingerprints_csr(&self, offsets: &[i64], columns: &[i64], weights: &[f64]) -> Result<Vec<u64>> {
        let simhash = self.simhash()?;
        check_offsets(offsets, columns.len())?;
        check_length("weights", weights.len(), columns.len())?;
        each_document(offsets, simhash.words(), |row, out| {
            let names: Vec<[u8; 8]> =
                alloc::try_collect(columns[row.clone()].iter().map(|column| column.to_le_bytes()))?;
            simhash.floats(names.iter().map(<[u8; 8]>::as_slice).zip(weights[row].iter().copied()), out)
        })
    }

    /// Return signatures of texts, and the number of features of each text: all occurrences, or those that are kept if they
    /// have weights.
    ///
    /// # Errors
    /// The recipe is for given features or for fingerprints; memory runs out.
    pub fn signatures(&self, texts: &dyn TextSource) -> Result<(Signatures, Vec<u64>)> {
        fn of<V: Value>(recipe: &Recipe, family: &MinHash, texts: &dyn TextSource) -> Result<(Vec<V>, Vec<u64>)> {
            let (tokenizer, hash) = (recipe.reader()?, recipe.hash.word(0));
            let mut out = alloc::try_filled(V::NONE, texts.len().saturating_mul(family.num_perm()))?;
            let mut counts = alloc::try_zeroed(texts.len())?;
            match tokenizer {
                (tokenizer, None) => family.texts(tokenizer, hash, texts, &mut out, &mut counts)?,
                (tokenizer, Some(keywords)) => {
                    family.weighted_texts(tokenizer, keywords, hash, texts, &mut out, &mut counts)?;
                }
            }
            Ok((out, counts))
        }
        let (family, wide) = self.minhash()?;
        if wide {
            of(self, family, texts).map(|(values, counts)| (Signatures::Wide(values), counts))
        } else {
            of(self, family, texts).map(|(values, counts)| (Signatures::Narrow(values), counts))
        }
    }

    /// Return signatures of documents with given features: document d has the features from `offsets[d]`
    /// to `offsets[d + 1]`; repeated ones count once, or their weights are added.
    ///
    /// # Errors
    /// As [`Recipe::signatures_hashed`].
    pub fn signatures_given(
        &self,
        offsets: &[i64],
        features: &[impl AsRef<[u8]> + Sync],
        weights: Option<&[f64]>,
    ) -> Result<Signatures> {
        self.minhash()?;
        check_offsets(offsets, features.len())?;
        let hash = self.hash.word(0);
        let hashes: Vec<u64> = alloc::try_collect(features.iter().map(|feature| hash.hash(feature.as_ref())))?;
        self.signatures_hashed(offsets, &hashes, weights)
    }

    /// Return signatures of sets of hashes: set d has those from `offsets[d]` to `offsets[d + 1]`, with their weights if
    /// and only if the recipe is weighted.
    ///
    /// # Errors
    /// Offsets that do not belong to the hashes; weights that are missing, too many, out of range, or all 0 in a set; a
    /// recipe for fingerprints; memory runs out.
    pub fn signatures_hashed(&self, offsets: &[i64], hashes: &[u64], weights: Option<&[f64]>) -> Result<Signatures> {
        fn of<V: Value>(
            family: &MinHash,
            offsets: &[i64],
            hashes: &[u64],
            weighted: Option<&[(u64, u32)]>,
        ) -> Result<Vec<V>> {
            let mut out = alloc::try_filled(V::NONE, (offsets.len() - 1).saturating_mul(family.num_perm()))?;
            match weighted {
                Some(features) => family.weighted_sets(offsets, features, &mut out)?,
                None => family.sets(offsets, hashes, &mut out),
            }
            Ok(out)
        }
        let (family, wide) = self.minhash()?;
        check_offsets(offsets, hashes.len())?;
        let weighted = match (self.is_weighted(), weights) {
            (false, None) => None,
            (true, Some(weights)) => Some(weighted_features(offsets, hashes, weights)?),
            (false, Some(_)) => {
                return Err(Error::parameter("weights", "given", "minhash:NUM_PERM:weighted, or no weights"));
            }
            (true, None) => {
                let allowed = "a weight for each feature with minhash:NUM_PERM:weighted, or the scheme fast for sets";
                return Err(Error::parameter("weights", "none", allowed));
            }
        };
        let weighted = weighted.as_deref();
        Ok(if wide {
            Signatures::Wide(of(family, offsets, hashes, weighted)?)
        } else {
            Signatures::Narrow(of(family, offsets, hashes, weighted)?)
        })
    }

    /// Return signatures of the unions of the sets of `left` and `right`, row by row.
    ///
    /// # Errors
    /// Values have another width than the recipe's; sides have different lengths, or partial rows; the recipe is for
    /// fingerprints.
    pub fn merge(&self, left: Signatures, right: &Signatures) -> Result<Signatures> {
        fn of<V: Value>(family: &MinHash, mut left: Vec<V>, right: &[V]) -> Result<Vec<V>> {
            if left.len() != right.len() || !left.len().is_multiple_of(family.num_perm()) {
                return Err(Error::mismatch("number of values", left.len(), right.len()));
            }
            family.merge(&mut left, right);
            Ok(left)
        }
        let (family, wide) = self.minhash()?;
        match (left, right) {
            (Signatures::Narrow(left), Signatures::Narrow(right)) if !wide => {
                of(family, left, right).map(Signatures::Narrow)
            }
            (Signatures::Wide(left), Signatures::Wide(right)) if wide => of(family, left, right).map(Signatures::Wide),
            (left, right) => Err(Error::mismatch(
                "type of values",
                format!("{} and {}", left.type_name(), right.type_name()),
                if wide { "uint64" } else { "uint32" },
            )),
        }
    }

    /// Return the kept words of each text, in order.
    ///
    /// # Errors
    /// The recipe is for given features; memory runs out.
    pub fn words(&self, texts: &dyn TextSource) -> Result<Vec<Words>> {
        let tokenizer = self.tokenizer()?;
        let cancel = &CancelToken::current();
        let find = |scratch: &mut Scratch, i| {
            if cancel.is_set() {
                return Ok(Words::default());
            }
            let mut spans = alloc::BestEffortVec::default();
            tokenizer.words(texts.get(i).unwrap_or_default(), scratch, |_, start, end, kept| {
                if kept {
                    spans.push((start, end));
                }
            })?;
            Words::of_text(scratch.normalised(), spans.into_vec()?)
        };
        let tasks = (0..texts.len()).into_par_iter().with_min_len(16);
        alloc::try_map_parallel(tasks.map_init(|| Scratch::with_cancel(cancel), find))
    }

    /// Return the kept features of each text and their weights, the heaviest first.
    ///
    /// # Errors
    /// The recipe is for given features; memory runs out.
    pub fn keywords(&self, texts: &dyn TextSource) -> Result<Vec<(Words, Vec<f64>)>> {
        let tokenizer = self.tokenizer()?;
        let cancel = &CancelToken::current();
        let find = |scratch: &mut KeywordScratch, i| {
            if cancel.is_set() {
                return Ok((Words::default(), Vec::new()));
            }
            self.keywords.find(tokenizer, texts.get(i).unwrap_or_default(), scratch)?;
            let weights = alloc::try_collect(scratch.features().map(|(_, weight)| weight))?;
            Ok((Words::of(scratch.features().map(|(name, _)| name))?, weights))
        };
        let tasks = (0..texts.len()).into_par_iter().with_min_len(16);
        alloc::try_map_parallel(tasks.map_init(|| KeywordScratch::with_cancel(cancel), find))
    }

    /// Return the source of the features of one text: the normalised text, and its words in order with true for each
    /// kept one; without words for character features.
    ///
    /// # Errors
    /// The recipe is for given features; memory runs out.
    pub fn reading(&self, text: &str) -> Result<(String, Vec<(String, bool)>)> {
        let tokenizer = self.tokenizer()?;
        let normalised = tokenizer.normalised(text)?;
        let mut words = alloc::BestEffortVec::default();
        if tokenizer.has_words() {
            let mut failed = Ok(());
            tokenizer.words(text, &mut Scratch::default(), |text, start, end, kept| {
                // Words are complete characters of normalised UTF-8.
                match alloc::try_string(std::str::from_utf8(&text[start..end]).unwrap_or_default()) {
                    Ok(word) => words.push((word, kept)),
                    Err(error) => failed = Err(error),
                }
            })?;
            failed?;
        }
        Ok((normalised, words.into_vec()?))
    }

    /// Return the features of one text and the number of occurrences of each, in order of first occurrence.
    ///
    /// # Errors
    /// The recipe is for given features; memory runs out.
    pub fn features(&self, text: &str) -> Result<Vec<(String, u64)>> {
        let mut found = Distinct::default();
        self.tokenizer()?.features(text, &mut Scratch::default(), |feature| {
            found.count(feature);
        })?;
        found.check()?;
        let mut features = alloc::try_with_capacity(found.len())?;
        for (name, count) in found.counts() {
            // Features are complete characters of normalised UTF-8.
            features.push((alloc::try_string(std::str::from_utf8(name).unwrap_or_default())?, count));
        }
        Ok(features)
    }

    /// Count the number of texts with each feature. A text without features counts as a document, a null does not. A
    /// call that fails counts nothing.
    ///
    /// # Errors
    /// The recipe is for given features; the call is cancelled; memory runs out.
    pub fn count_documents(&self, counted: &mut DocumentFrequencies, texts: &dyn TextSource) -> Result<()> {
        counted.add(self.tokenizer()?, texts)
    }
}

impl Signatures {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Narrow(_) => "uint32",
            Self::Wide(_) => "uint64",
        }
    }
}

/// Return hashes with their weights in units.
fn weighted_features(offsets: &[i64], hashes: &[u64], weights: &[f64]) -> Result<Vec<(u64, u32)>> {
    check_length("weights", weights.len(), hashes.len())?;
    let mut features = alloc::try_with_capacity(hashes.len())?;
    for (&hash, &weight) in hashes.iter().zip(weights) {
        features.push((hash, units(weight, GIVEN_UNITS)?));
    }
    let sums = offsets.windows(2).map(|ends| &features[ends[0] as usize..ends[1] as usize]);
    for (document, set) in sums.enumerate().filter(|(_, set)| !set.is_empty()) {
        let sum = set.iter().map(|&(_, weight)| u64::from(weight)).sum::<u64>();
        if sum == 0 || sum > MAX_GIVEN {
            let most = MAX_GIVEN as f64 / GIVEN_UNITS;
            let (found, allowed) =
                (sum as f64 / GIVEN_UNITS, format!("more than 0 and at most {most}; scale all weights"));
            return Err(Error::parameter("sum of weights", format!("{found} of document {document}"), allowed));
        }
    }
    Ok(features)
}

/// Compute `words` values per document, which `fill(document, out)` writes in parallel; the document is the range of
/// its features.
fn each_document(
    offsets: &[i64],
    words: usize,
    fill: impl Fn(Range<usize>, &mut [u64]) -> Result<()> + Sync,
) -> Result<Vec<u64>> {
    let cancel = &CancelToken::current();
    let mut out = alloc::try_zeroed((offsets.len() - 1).saturating_mul(words))?;
    if let [start, end] = *offsets {
        // Starting another thread takes longer than a few hundred features.
        fill(start as usize..end as usize, &mut out)?;
        return Ok(out);
    }
    out.par_chunks_mut(words).zip(offsets.par_windows(2)).try_for_each(|(out, ends)| {
        if cancel.is_set() {
            return Ok(());
        }
        fill(ends[0] as usize..ends[1] as usize, out)
    })?;
    Ok(out)
}
