//! Candidate → match: the true similarity of two texts.
//!
//! With A and B the sets of distinct features of the two texts, unweighted:
//!
//! | measure | similarity |
//! |---|---|
//! | `jaccard` | \|A ∩ B\| / \|A ∪ B\| |
//! | `containment` | \|A ∩ B\| / min(\|A\|, \|B\|) |
//! | `indel` | 1 − d / (characters of both texts), d the least number of insertions and deletions of characters |
//!
//! Indel compares the texts as they are given, by the `rapidfuzz` crate. A text without features is similar to nothing: 0.
//! Thresholds are inclusive. Features are compared by 64-bit identifiers (see [`crate::text`]).
//!
//! Cost: one pass over each text for its set, one look-up a feature of the smaller side for a pair; a pair that can no longer
//! reach the threshold is left early. Indel takes O(characters² / 64) a pair.

use rayon::prelude::*;

use crate::idset::IdSet;
use crate::text::{Scratch, TextSource, Tokenizer};
use crate::{Error, Result};

/// How similarity is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Shared features among all features of the two.
    Jaccard,
    /// Shared features among those of the smaller one.
    Containment,
    /// Normalised Indel similarity of the characters.
    Indel,
}

impl Measure {
    /// The measure called `name`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn new(name: &str) -> Result<Self> {
        match name {
            "jaccard" => Ok(Self::Jaccard),
            "containment" => Ok(Self::Containment),
            "indel" => Ok(Self::Indel),
            other => Err(Error::parameter("verify", other, "jaccard, containment, indel or none")),
        }
    }

    /// The similarity of two sets of sizes `a` and `b` that share `shared` features.
    #[inline]
    fn of_sets(self, shared: usize, a: usize, b: usize) -> f64 {
        let whole = if self == Self::Containment { a.min(b) } else { a + b - shared };
        if whole == 0 { 0.0 } else { shared as f64 / whole as f64 }
    }
}

/// Texts made ready to be compared many times.
pub struct Prepared<'a, T: TextSource + ?Sized> {
    measure: Measure,
    texts: &'a T,
    /// Distinct features of each text; empty where the measure does not need them.
    sets: Vec<Vec<u64>>,
}

/// One text to which others are compared.
#[derive(Default)]
pub struct Subject {
    set: IdSet,
    characters: Vec<char>,
}

impl<'a, T: TextSource + ?Sized> Prepared<'a, T> {
    /// Makes the texts ready whose place in `needed` is true, in parallel.
    pub fn new(tokenizer: &Tokenizer, measure: Measure, texts: &'a T, needed: &[bool]) -> Self {
        let sets = if measure == Measure::Indel {
            Vec::new()
        } else {
            (0..texts.len())
                .into_par_iter()
                .with_min_len(16)
                .map_init(Scratch::default, |scratch, i| {
                    let mut ids = Vec::new();
                    if let (true, Some(text)) = (needed[i], texts.get(i)) {
                        tokenizer.distinct(text, scratch, &mut ids);
                    }
                    ids
                })
                .collect()
        };
        Self { measure, texts, sets }
    }

    /// Makes text `i` the one that others are compared to.
    pub fn subject(&self, i: usize, subject: &mut Subject) {
        if self.measure == Measure::Indel {
            subject.characters.clear();
            subject.characters.extend(self.texts.get(i).unwrap_or_default().chars());
        } else {
            let ids = &self.sets[i];
            subject.set.clear(ids.len());
            for &id in ids {
                subject.set.insert(id);
            }
        }
    }

    /// The similarity of text `i` and the subject, if it reaches `threshold`.
    pub fn at_least(&self, i: usize, subject: &Subject, threshold: f64) -> Option<f64> {
        if self.measure == Measure::Indel {
            let text = self.texts.get(i).unwrap_or_default();
            if text.is_empty() || subject.characters.is_empty() {
                return None;
            }
            let args = rapidfuzz::distance::indel::Args::default().score_cutoff(threshold);
            return rapidfuzz::distance::indel::normalized_similarity_with_args(
                text.chars(),
                subject.characters.iter().copied(),
                &args,
            );
        }
        let ids = &self.sets[i];
        let (a, b) = (ids.len(), subject.set.len());
        if a == 0 || b == 0 || self.measure.of_sets(a.min(b), a, b) < threshold {
            return None;
        }
        let mut shared = 0;
        let mut left = a;
        for block in ids.chunks(64) {
            shared += block.iter().filter(|&&id| subject.set.contains(id)).count();
            left -= block.len();
            if self.measure.of_sets((shared + left).min(a.min(b)), a, b) < threshold {
                return None;
            }
        }
        Some(self.measure.of_sets(shared, a, b))
    }
}

/// The similarity of text `left[i]` of `texts` and text `right[i]` of `texts`, for all i, in parallel.
///
/// # Panics
/// If the two lists differ in length or name a text that is not there.
pub fn similarities(
    tokenizer: &Tokenizer,
    measure: Measure,
    texts: &(impl TextSource + ?Sized),
    left: &[u32],
    right: &[u32],
) -> Vec<f64> {
    assert_eq!(left.len(), right.len(), "one left and one right text a pair");
    let mut needed = vec![false; texts.len()];
    for &i in left.iter().chain(right) {
        needed[i as usize] = true;
    }
    let prepared = Prepared::new(tokenizer, measure, texts, &needed);
    // Pairs with the same left text stand together, so that its set is built once.
    let mut order: Vec<u32> = (0..left.len() as u32).collect();
    order.sort_unstable_by_key(|&pair| left[pair as usize]);
    let groups: Vec<&[u32]> = order.chunk_by(|&a, &b| left[a as usize] == left[b as usize]).collect();
    let found: Vec<Vec<f64>> = groups
        .par_iter()
        .map_init(Subject::default, |subject, group| {
            prepared.subject(left[group[0] as usize] as usize, subject);
            let similarity =
                |&pair: &u32| prepared.at_least(right[pair as usize] as usize, subject, 0.0).unwrap_or(0.0);
            group.iter().map(similarity).collect()
        })
        .collect();
    let mut result = vec![0.0; left.len()];
    for (&pair, value) in order.iter().zip(found.into_iter().flatten()) {
        result[pair as usize] = value;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Kind;
    use crate::unicode::{Case, Form, Letters};
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn tokenizer() -> Tokenizer {
        Tokenizer::new(Kind::Char(2), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid")
    }

    fn features(text: &str) -> HashSet<Vec<u8>> {
        let mut set = HashSet::new();
        tokenizer().features(text, &mut Scratch::default(), |feature| {
            set.insert(feature.to_vec());
        });
        set
    }

    proptest! {
        #[test]
        fn similarities_are_those_of_the_sets(texts in prop::collection::vec("[a-d ]{0,30}|\\PC{0,9}", 2..8)) {
            let pairs: Vec<(u32, u32)> =
                (0..texts.len() as u32).flat_map(|i| (0..texts.len() as u32).map(move |j| (j, i))).collect();
            let (left, right): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            let jaccard = similarities(&tokenizer(), Measure::Jaccard, texts.as_slice(), &left, &right);
            let containment = similarities(&tokenizer(), Measure::Containment, texts.as_slice(), &left, &right);
            for (pair, (&i, &j)) in left.iter().zip(&right).enumerate() {
                let (a, b) = (features(&texts[i as usize]), features(&texts[j as usize]));
                let shared = a.intersection(&b).count() as f64;
                let ratio = |whole: usize| if whole == 0 { 0.0 } else { shared / whole as f64 };
                prop_assert_eq!(ratio(a.union(&b).count()), jaccard[pair]);
                prop_assert_eq!(ratio(a.len().min(b.len())), containment[pair]);
            }
        }

        #[test]
        fn a_threshold_is_inclusive(one in "[a-d]{2,40}", other in "[a-d]{2,40}", containment: bool) {
            let measure = if containment { Measure::Containment } else { Measure::Jaccard };
            let texts = [one, other];
            let prepared = Prepared::new(&tokenizer(), measure, texts.as_slice(), &[true, true]);
            let mut subject = Subject::default();
            prepared.subject(0, &mut subject);
            let value = prepared.at_least(1, &subject, 0.0).expect("no threshold");
            prop_assert_eq!(Some(value), prepared.at_least(1, &subject, value));
            prop_assert_eq!(None, prepared.at_least(1, &subject, value + 1e-9));
        }
    }

    #[test]
    fn indel_similarity_is_that_of_the_articles_texts() {
        let texts = ["how are u?", "how are you?", ""];
        let found = similarities(&tokenizer(), Measure::Indel, texts.as_slice(), &[0, 0], &[1, 2]);
        assert!((found[0] - (1.0 - 2.0 / 22.0)).abs() < 1e-12);
        assert_eq!(0.0, found[1]);
    }
}
