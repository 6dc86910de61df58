//! The scheme `weighted`: sets of features with weights; the share of equal values estimates weighted Jaccard.
//!
//! With `a_f` and `b_f` the weights of feature f in two texts, whole numbers of units, 0 where it does not occur:
//!
//! ```text
//! P[value i of A = value i of B] = J_w(A, B) = Σ_f min(a_f, b_f) / Σ_f max(a_f, b_f)
//! ```
//!
//! Feature f with the weight w stands for w different elements, `h_f + j c mod 2^64` for j = 0 … w − 1, with its hash `h_f` and
//! an odd constant c. Two sets of such elements share Σ min of Σ max, so that their Jaccard similarity is `J_w`, and [`fast`](super::fast)
//! hashes them: its law and its variance, at most `J_w (1 − J_w)/k`, hold with Σ max in place of the size of the union.
//! The merged signature of two sets is that of the larger of the two weights of each feature.
//!
//! Verification compares the same whole numbers ([`crate::dedup::verify`]), so that no rounding is between a similarity
//! and the law of its signatures. [`Keywords::units`] has the unit of each weight.
//!
//! Cost: O(Σ w) for Σ w units, with the vectors of `fast`. Sources: M. Charikar, "Similarity estimation techniques from
//! rounding algorithms", STOC 2002, and M. Manasse et al., "Consistent weighted sampling", 2010, for weights as repeated
//! elements. Other families take real weights: S. Ioffe (ICWS, ICDM 2010) in O(n k); `DartMinHash` (T. Christiani 2020) and
//! `BagMinHash` (O. Ertl 2018) by Poisson processes. For the 600 character 4-grams of 1 KB, 128 values and weights by idf,
//! such processes took three times the CPU time of elements, and more with counts, because each of their points is a branch.
//! `ProbMinHash` (O. Ertl 2020) estimates another similarity, of weights divided by their sum. Tests: law, definition and
//! golden values in `tests/families/test_minhash.py`.

use crate::parallel::prelude::*;

use super::{CHUNK, MinHash, Sketch, Value};
use crate::cancel::CancelToken;
use crate::hash::WordHash;
use crate::text::keywords::{KeywordScratch, Keywords};
use crate::text::tokenizer::{TextSource, Tokenizer};
use crate::{Result, alloc};

/// Difference of the elements of one feature: the increment of `SplitMix64`.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl MinHash {
    /// Write the signature of features with these hashes and weights; the largest values if all weights are 0.
    pub fn weighted<V: Value>(&self, features: &[(u64, u32)], sketch: &mut Sketch, out: &mut [V]) {
        self.begin(sketch);
        let mut elements = [0; CHUNK];
        let mut filled = 0;
        for &(hash, weight) in features {
            let (mut next, mut left) = (hash, weight as usize);
            while left > 0 {
                let taken = left.min(CHUNK - filled);
                for element in &mut elements[filled..filled + taken] {
                    *element = next;
                    next = next.wrapping_add(STEP);
                }
                (filled, left) = (filled + taken, left - taken);
                if filled == CHUNK {
                    self.add(&elements, sketch);
                    filled = 0;
                }
            }
        }
        self.add(&elements[..filled], sketch);
        self.finish(sketch, out);
    }

    /// Write signatures of many texts with the weights of `keywords`, and the number of their features, in parallel.
    ///
    /// # Errors
    /// A weight out of range; memory runs out for the buffers of a text.
    ///
    /// # Panics
    /// If `out` or `counts` have other lengths.
    pub fn weighted_texts<V: Value>(
        &self,
        tokenizer: &Tokenizer,
        keywords: &Keywords,
        hash: WordHash,
        texts: &dyn TextSource,
        out: &mut [V],
        counts: &mut [u64],
    ) -> Result<()> {
        assert_eq!((texts.len() * self.num_perm, texts.len()), (out.len(), counts.len()), "one place per text");
        let cancel = &CancelToken::current();
        out.par_chunks_mut(self.num_perm).zip(counts).enumerate().with_min_len(16).try_for_each_init(
            || (KeywordScratch::with_cancel(cancel), Vec::new(), Sketch::default()),
            |(scratch, features, sketch), (i, (out, count))| {
                if cancel.is_set() {
                    return Ok(());
                }
                texts.prefetch(i + 1);
                features.clear();
                if let Some(text) = texts.get(i) {
                    keywords.weights(tokenizer, hash, text, scratch, features)?;
                }
                *count = features.len() as u64;
                self.weighted(features, sketch, out);
                Ok(())
            },
        )
    }

    /// Write signatures of weighted sets: set d has `features[offsets[d]..offsets[d + 1]]`, hashes and weights.
    ///
    /// # Errors
    /// Memory runs out.
    ///
    /// # Panics
    /// If the offsets do not belong to the features, or `out` has another length.
    pub fn weighted_sets<V: Value>(&self, offsets: &[i64], features: &[(u64, u32)], out: &mut [V]) -> Result<()> {
        assert_eq!((offsets.len() - 1) * self.num_perm, out.len(), "one place per set");
        let cancel = &CancelToken::current();
        out.par_chunks_mut(self.num_perm).enumerate().with_min_len(16).try_for_each_init(
            || (Vec::new(), Sketch::default()),
            |(set, sketch), (d, out)| {
                if cancel.is_set() {
                    return Ok(());
                }
                set.clear();
                alloc::try_extend(set, &features[offsets[d] as usize..offsets[d + 1] as usize])?;
                // The weights of a repeated feature are added.
                set.sort_unstable();
                set.dedup_by(|next, sum| {
                    let same = next.0 == sum.0;
                    sum.1 = sum.1.saturating_add(if same { next.1 } else { 0 });
                    same
                });
                self.weighted(set, sketch, out);
                Ok(())
            },
        )
    }
}
