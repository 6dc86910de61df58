//! SimHash: weighted features → a fingerprint; the smaller the angle between two sources, the more of their bits agree.
//!
//! With the weight `w_f` of feature f and its hash bits `b_i(f)` in {0, 1}:
//! ```text
//! V_i = Σ_f w_f · (2 b_i(f) − 1)          bit i of the fingerprint = 1 if V_i > 0, else 0 (ties are 0)
//! ```
//! For independent hash bits and no dominant feature, two sources at angle θ between their weight vectors agree in each
//! bit with probability 1 − θ/π. Bit i < 64·words comes from word i / 64 of the feature hash (see [`crate::hash`]).
//!
//! Counts are bit-sliced ([`crate::cpu::bitsum`]): `V_i > 0` is `2 · count_i > total`. Given weights are summed as
//! `i128` if all are integers, otherwise as `f64` in the order of (hash, weight), so that the order of features never
//! matters; keywords by `cut:cppjieba` in their own order, like the C++ library. Widths 1 to 1024; bits above the width
//! are 0.
//!
//! Cost: O(features · words). Sources: Charikar (STOC 2002), section 3; Manku, Jain and Das Sarma (WWW 2007), section 2.
//! Tests: against plain signed counters here, the law 1 − θ/π in `tests/families/test_simhash.py`.

use crate::parallel::prelude::*;

use crate::cancel::CancelToken;
use crate::cpu::bitsum::BitSum;
use crate::hash::{FeatureHash, WordHash};
use crate::text::keywords::{KeywordScratch, Keywords};
use crate::text::tokenizer::{MAX_WORDS, Scratch, TextSource, Tokenizer};
use crate::{Error, Result, alloc};

/// Largest width of a fingerprint, in bits.
pub const MAX_BITS: u32 = 64 * MAX_WORDS as u32;

/// The count of a repeated feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Each occurrence.
    Count,
    /// Once.
    Binary,
}

/// The family: sums of signs as fingerprints of `bits` bits.
pub struct SimHash {
    bits: u32,
    words: Vec<WordHash>,
}

impl SimHash {
    /// Create a family of `bits` bits over the feature hash `hash`.
    ///
    /// # Errors
    /// A width out of 1 to 1024, or one that the hash is too narrow for.
    pub fn new(bits: u32, hash: FeatureHash) -> Result<Self> {
        if !(1..=MAX_BITS).contains(&bits) {
            return Err(Error::parameter("bits", bits, format!("1 to {MAX_BITS}")));
        }
        if hash.width() < bits.min(64) {
            return Err(Error::parameter(
                "bits",
                bits,
                format!("1 to {}: the hash has {} bits per word; or a hash of 64 bits", hash.width(), hash.width()),
            ));
        }
        Ok(Self { bits, words: (0..bits.div_ceil(64)).map(|word| hash.word(word)).collect() })
    }

    /// Number of words of a fingerprint.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Return the width of a fingerprint in bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    fn mask(&self, word: usize) -> u64 {
        match self.bits - 64 * word as u32 {
            64.. => u64::MAX,
            rest => (1 << rest) - 1,
        }
    }

    /// Write the fingerprint of `text` into `out` (one slot per word); return its number of features, each occurrence
    /// or each distinct one by `weight`. Without features the fingerprint is 0.
    ///
    /// # Errors
    /// Memory runs out for its buffers.
    pub fn text(
        &self,
        tokenizer: &Tokenizer,
        weight: Weight,
        text: &str,
        scratch: &mut SimHashScratch,
        out: &mut [u64],
    ) -> Result<u64> {
        let SimHashScratch { text: buffers, sums } = scratch;
        sums.resize_with(self.words.len(), BitSum::default);
        sums.iter_mut().for_each(BitSum::clear);
        let count = match weight {
            Weight::Count => tokenizer.hashes(text, &self.words, buffers, |word, hashes| sums[word].add(hashes))?,
            Weight::Binary => {
                tokenizer.distinct_hashes(text, &self.words, buffers, |word, hashes| sums[word].add(hashes))?
            }
        };
        for (word, (value, sum)) in out.iter_mut().zip(sums).enumerate() {
            *value = sum.majority() & self.mask(word);
        }
        Ok(count)
    }

    /// Write fingerprints of many texts, in parallel: `out` has [`SimHash::words`] slots per text, `counts` one. If it
    /// is cancelled, the rest is unchanged.
    ///
    /// # Errors
    /// Memory runs out for the buffers of a text.
    ///
    /// # Panics
    /// If `out` or `counts` have other lengths.
    pub fn texts(
        &self,
        tokenizer: &Tokenizer,
        weight: Weight,
        texts: &dyn TextSource,
        out: &mut [u64],
        counts: &mut [u64],
    ) -> Result<()> {
        let cancel = &CancelToken::current();
        let scratch = || SimHashScratch { text: Scratch::with_cancel(cancel), ..SimHashScratch::default() };
        self.each_text(cancel, texts, out, counts, scratch, |text, scratch, out| {
            self.text(tokenizer, weight, text, scratch, out)
        })
    }

    /// Like [`SimHash::texts`], for the features that `keywords` keeps, by their weights.
    ///
    /// # Errors
    /// Memory runs out for the buffers of a text.
    ///
    /// # Panics
    /// If `out` or `counts` have other lengths.
    pub fn keywords(
        &self,
        tokenizer: &Tokenizer,
        keywords: &Keywords,
        texts: &dyn TextSource,
        out: &mut [u64],
        counts: &mut [u64],
    ) -> Result<()> {
        let cancel = &CancelToken::current();
        let scratch = || KeywordScratch::with_cancel(cancel);
        self.each_text(cancel, texts, out, counts, scratch, |text, scratch, out| {
            let count = keywords.find(tokenizer, text, scratch)? as u64;
            self.sum_floats(scratch.features(), !tokenizer.cuts_as_cppjieba(), out)?;
            Ok(count)
        })
    }

    /// Write the fingerprint and count of each text that is not null by `write`, in parallel.
    fn each_text<S>(
        &self,
        cancel: &CancelToken,
        texts: &dyn TextSource,
        out: &mut [u64],
        counts: &mut [u64],
        scratch: impl Fn() -> S + Sync + Send,
        write: impl Fn(&str, &mut S, &mut [u64]) -> Result<u64> + Sync + Send,
    ) -> Result<()> {
        assert_eq!((texts.len() * self.words(), texts.len()), (out.len(), counts.len()), "one slot per text");
        let tasks = out.par_chunks_mut(self.words()).zip(counts).enumerate().with_min_len(16);
        tasks.try_for_each_init(scratch, |scratch, (i, (out, count))| {
            if cancel.is_set() {
                return Ok(());
            }
            texts.prefetch(i + 1);
            if let Some(text) = texts.get(i) {
                *count = write(text, scratch, out)?;
            }
            Ok(())
        })
    }

    /// Write the fingerprint of features with given integer weights; the weights of a repeated feature are added.
    pub fn integers<'a>(&self, features: impl Iterator<Item = (&'a [u8], i64)>, out: &mut [u64]) {
        // |V_i| <= 2^63 · 2^64 features: no sum leaves 128 bits.
        let mut sums = vec![0_i128; 64 * self.words()];
        for (feature, weight) in features {
            for (word, sums) in self.words.iter().zip(sums.chunks_exact_mut(64)) {
                let hash = word.hash(feature);
                for (bit, sum) in sums.iter_mut().enumerate() {
                    *sum += if hash >> bit & 1 == 1 { i128::from(weight) } else { -i128::from(weight) };
                }
            }
        }
        self.signs(&sums, |&sum| sum > 0, out);
    }

    /// Write the fingerprint of features with given weights, finite `f64` numbers.
    ///
    /// # Errors
    /// Memory runs out for their hashes.
    pub fn floats<'a>(&self, features: impl ExactSizeIterator<Item = (&'a [u8], f64)>, out: &mut [u64]) -> Result<()> {
        self.sum_floats(features, true, out)
    }

    /// Like [`SimHash::floats`]; in the order of the features unless `sorted`.
    fn sum_floats<'a>(
        &self,
        features: impl ExactSizeIterator<Item = (&'a [u8], f64)>,
        sorted: bool,
        out: &mut [u64],
    ) -> Result<()> {
        let words = self.words();
        let mut hashes: Vec<u64> = alloc::try_with_capacity(words.saturating_mul(features.len()))?;
        let mut weights: Vec<f64> = alloc::try_with_capacity(features.len())?;
        for (feature, weight) in features {
            hashes.extend(self.words.iter().map(|word| word.hash(feature)));
            weights.push(weight);
        }
        let row = |i: u32| &hashes[i as usize * words..][..words];
        // Addition of floats depends on order; sorted, the sum depends on the set of features alone.
        let mut order: Vec<u32> = alloc::try_collect(0..weights.len() as u32)?;
        if sorted {
            let weight = |i: u32| weights[i as usize];
            order.sort_unstable_by(|&a, &b| row(a).cmp(row(b)).then(weight(a).total_cmp(&weight(b))));
        }
        let mut sums = vec![0.0_f64; 64 * words];
        for &i in &order {
            let weight = weights[i as usize].to_bits();
            for (hash, sums) in row(i).iter().zip(sums.chunks_exact_mut(64)) {
                for (bit, sum) in sums.iter_mut().enumerate() {
                    // The sign bit is flipped if the hash bit is 0.
                    *sum += f64::from_bits(weight ^ (!hash >> bit & 1) << 63);
                }
            }
        }
        self.signs(&sums, |&sum| sum > 0.0, out);
        Ok(())
    }

    fn signs<T>(&self, sums: &[T], positive: impl Fn(&T) -> bool, out: &mut [u64]) {
        for (word, (value, sums)) in out.iter_mut().zip(sums.chunks_exact(64)).enumerate() {
            *value = sums.iter().rev().fold(0, |bits, sum| bits << 1 | u64::from(positive(sum))) & self.mask(word);
        }
    }
}

/// Buffers that one thread uses again for every text.
#[derive(Default)]
pub struct SimHashScratch {
    text: Scratch,
    sums: Vec<BitSum>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::FeatureKind;
    use crate::text::unicode::{Case, Form, Letters};
    use proptest::prelude::*;

    fn tokenizer() -> Tokenizer {
        Tokenizer::new(FeatureKind::Char(4), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid")
    }

    fn of_text(simhash: &SimHash, weight: Weight, text: &str) -> (Vec<u64>, u64) {
        let mut out = vec![0; simhash.words()];
        let count = simhash.text(&tokenizer(), weight, text, &mut SimHashScratch::default(), &mut out);
        (out, count.expect("room"))
    }

    #[test]
    fn the_articles_fingerprints_come_out() {
        let simhash = SimHash::new(64, FeatureHash::Md5).expect("valid");
        let value = |text| of_text(&simhash, Weight::Count, text).0[0];
        assert_eq!(3626955193319686290, value("how are u?"));
        assert_eq!(3891612042386514056, value("how are you?"));
        assert_eq!(9323510848711591832, value("how are u? and u? and u? and u? and u?"));
        let long = "How are you? I Am fine. ablar ablar xyz blar blar blar blar blar blar blar Thanks.";
        assert_eq!(17591554865737636986, value(long));
        let other = "How are you i am fine.ablar ablar xyz blar blar blar blar blar blar blar than";
        assert_eq!(17591554797152377978, value(other));
    }

    #[test]
    fn widths_and_hashes_that_do_not_fit_are_errors() {
        assert!(SimHash::new(0, FeatureHash::Md5).is_err());
        assert!(SimHash::new(1025, FeatureHash::Md5).is_err());
        assert!(SimHash::new(33, FeatureHash::OneAtATime).is_err());
        assert!(SimHash::new(32, FeatureHash::OneAtATime).is_ok());
    }

    proptest! {
        #[test]
        fn texts_equal_plain_signed_counters(text in "[a-d ]{0,80}|\\PC{0,60}", bits in 1_u32..300, binary: bool) {
            let weight = if binary { Weight::Binary } else { Weight::Count };
            let simhash = SimHash::new(bits, FeatureHash::Xxh3(5)).expect("valid");
            let (found, count) = of_text(&simhash, weight, &text);
            let mut features: Vec<Vec<u8>> = Vec::new();
            let each = |feature: &[u8]| features.push(feature.to_vec());
            tokenizer().features(&text, &mut Scratch::default(), each).expect("room");
            if binary {
                features.sort();
                features.dedup();
            }
            prop_assert_eq!(features.len() as u64, count);
            let mut expected = vec![0; simhash.words()];
            simhash.integers(features.iter().map(|feature| (feature.as_slice(), 1)), &mut expected);
            prop_assert_eq!(&expected, &found);
            simhash.floats(features.iter().map(|feature| (feature.as_slice(), 0.25)), &mut expected).expect("room");
            prop_assert_eq!(&expected, &found);
        }

        #[test]
        fn float_sums_do_not_depend_on_order(weights in prop::collection::vec(-1e9_f64..1e9, 1..40)) {
            let simhash = SimHash::new(64, FeatureHash::Xxh3(0)).expect("valid");
            let names: Vec<String> = (0..weights.len()).map(|i| format!("f{}", i % 7)).collect();
            let mut features: Vec<(&[u8], f64)> = names.iter().map(String::as_bytes).zip(weights.iter().copied()).collect();
            let (mut forward, mut backward) = ([0], [0]);
            simhash.floats(features.iter().copied(), &mut forward).expect("room");
            features.reverse();
            simhash.floats(features.into_iter(), &mut backward).expect("room");
            prop_assert_eq!(forward, backward);
        }
    }
}
