//! Keep, then absorb: which documents of a batch survive.
//!
//! Documents are visited in keep order. One that no kept document has absorbed is kept, and absorbs every later document
//! within `radius` of it whose verified similarity reaches the threshold. So no chain forms, no two survivors match, and a
//! second run removes nothing.
//!
//! The order is cut into batches. For each batch the caller has searched the kept documents of earlier batches; this module
//!
//! 1. compares every document with those candidates in keep order, until the first match (in parallel), then
//! 2. visits what is left of the batch in order: each kept document scans the rest of the batch and absorbs its matches.
//!
//! Cost: verifications only against kept documents; b²/2 distances for b documents of a batch. Memory: the features of the
//! batch and its candidates; nothing grows with the square of a cluster.
//! Test: `batches_equal_the_definition`.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::text::{TextSource, Tokenizer};
use crate::verify::{Measure, Prepared, Subject};

/// What happened to the documents of a batch.
pub struct Absorbed {
    /// For each document -1 if it is kept, e if candidate text e absorbed it, or texts + d if document d of the batch did,
    /// where texts is the number of candidate texts.
    pub by: Vec<i64>,
    /// For each document its similarity to what absorbed it; NaN if it is kept.
    pub similarity: Vec<f64>,
    /// How many pairs were verified.
    pub verified: u64,
    /// How many pairs were within the radius, those of `candidates` included.
    pub candidates: u64,
}

/// One batch in keep order.
pub struct Batch<'a> {
    /// Fingerprints of the documents, `words` slots each.
    pub fingerprints: &'a [u64],
    /// Slots of a fingerprint.
    pub words: usize,
    /// Largest distance of a candidate, inclusive.
    pub radius: u32,
    /// Smallest similarity of a match, inclusive.
    pub threshold: f64,
    /// Document d has the candidates `candidates[offsets[d]..offsets[d + 1]]`.
    pub offsets: &'a [i64],
    /// Kept documents of earlier batches, as places in the candidate texts, in keep order for each document.
    pub candidates: &'a [u32],
}

/// Decides about one batch. `measure` `None` takes every candidate as a match of unknown similarity (NaN).
///
/// # Panics
/// If the offsets, candidates or texts do not belong together.
pub fn absorb(
    tokenizer: &Tokenizer,
    measure: Option<Measure>,
    batch: &Batch<'_>,
    documents: &(impl TextSource + ?Sized),
    kept: &(impl TextSource + ?Sized),
) -> Absorbed {
    let n = batch.fingerprints.len() / batch.words;
    assert_eq!(n + 1, batch.offsets.len(), "one offset a document and one more");
    let range = |d: usize| batch.offsets[d] as usize..batch.offsets[d + 1] as usize;
    let mut result = Absorbed {
        by: vec![-1; n],
        similarity: vec![f64::NAN; n],
        verified: 0,
        candidates: batch.candidates.len() as u64,
    };
    let columns = Columns::new(batch, n);
    let verified = AtomicU64::new(0);
    let Some(measure) = measure else {
        for d in 0..n {
            if let Some(&first) = batch.candidates[range(d)].first() {
                result.by[d] = first.into();
            }
        }
        visit(batch, &columns, kept.len(), &mut result, |_, later, _| vec![Some(f64::NAN); later.len()]);
        return result;
    };

    let mut needed = vec![false; kept.len()];
    for &candidate in batch.candidates {
        needed[candidate as usize] = true;
    }
    let kept_sets = Prepared::new(tokenizer, measure, kept, &needed);
    let has_candidates: Vec<bool> = (0..n).map(|d| !range(d).is_empty()).collect();
    let document_sets = Prepared::new(tokenizer, measure, documents, &has_candidates);
    let first_matches: Vec<Option<(u32, f64)>> = (0..n)
        .into_par_iter()
        .map_init(Subject::default, |subject, d| {
            let candidates = &batch.candidates[range(d)];
            if candidates.is_empty() {
                return None;
            }
            document_sets.subject(d, subject);
            let found = candidates.iter().enumerate().find_map(|(i, &candidate)| {
                kept_sets.at_least(candidate as usize, subject, batch.threshold).map(|value| (i, candidate, value))
            });
            verified.fetch_add(found.map_or(candidates.len(), |found| found.0 + 1) as u64, Ordering::Relaxed);
            found.map(|(_, candidate, value)| (candidate, value))
        })
        .collect();
    drop((kept_sets, document_sets));
    for (d, found) in first_matches.into_iter().enumerate() {
        if let Some((candidate, value)) = found {
            result.by[d] = candidate.into();
            result.similarity[d] = value;
        }
    }

    // Only documents that are left and lie near another one of the batch need their features.
    let near = columns.near(&result.by, batch.radius);
    let sets = Prepared::new(tokenizer, measure, documents, &near);
    visit(batch, &columns, kept.len(), &mut result, |d, later, subject| {
        verified.fetch_add(later.len() as u64, Ordering::Relaxed);
        sets.subject(d, subject);
        let subject = &*subject;
        later.par_iter().with_min_len(8).map(|&other| sets.at_least(other, subject, batch.threshold)).collect()
    });
    result.verified = verified.into_inner();
    result
}

/// Visits the documents that are left in order; `compare(d, later, …)` gives the similarities of d to later ones that match.
fn visit(
    batch: &Batch<'_>,
    columns: &Columns,
    texts: usize,
    result: &mut Absorbed,
    mut compare: impl FnMut(usize, &[usize], &mut Subject) -> Vec<Option<f64>>,
) {
    let mut subject = Subject::default();
    let mut later = Vec::new();
    for d in 0..result.by.len() {
        if result.by[d] >= 0 {
            continue;
        }
        columns.within(d, d + 1, batch.radius, &mut later);
        later.retain(|&other| result.by[other] < 0);
        if later.is_empty() {
            continue;
        }
        result.candidates += later.len() as u64;
        for (&other, similarity) in later.iter().zip(compare(d, &later, &mut subject)) {
            if let Some(similarity) = similarity {
                result.by[other] = (texts + d) as i64;
                result.similarity[other] = similarity;
            }
        }
    }
}

/// The fingerprints of a batch, word by word, so that distances from one to many run in vectors.
struct Columns {
    n: usize,
    words: Vec<Vec<u64>>,
}

impl Columns {
    fn new(batch: &Batch<'_>, n: usize) -> Self {
        let column = |word| batch.fingerprints.iter().skip(word).step_by(batch.words).copied().collect();
        Self { n, words: (0..batch.words).map(column).collect() }
    }

    /// Puts the documents from `first` on that lie within `radius` of document `d` into `found`.
    fn within(&self, d: usize, first: usize, radius: u32, found: &mut Vec<usize>) {
        found.clear();
        let mut distances = [0_u64; 256];
        let mut start = first;
        while start < self.n {
            let count = (self.n - start).min(distances.len());
            let distances = &mut distances[..count];
            distances.fill(0);
            for column in &self.words {
                add_distances(column[d], &column[start..start + count], distances);
            }
            let near = distances.iter().enumerate().filter(|pair| *pair.1 <= u64::from(radius));
            found.extend(near.map(|pair| start + pair.0));
            start += count;
        }
    }

    /// Which of the documents with `by` < 0 lie within `radius` of another such one.
    fn near(&self, by: &[i64], radius: u32) -> Vec<bool> {
        let rows: Vec<Vec<usize>> = (0..self.n)
            .into_par_iter()
            .with_min_len(16)
            .map(|d| {
                let mut found = Vec::new();
                if by[d] < 0 {
                    self.within(d, d + 1, radius, &mut found);
                    found.retain(|&other| by[other] < 0);
                    // One neighbour is enough to need this document; the others are marked from here as well.
                    if !found.is_empty() {
                        found.push(d);
                    }
                }
                found
            })
            .collect();
        let mut near = vec![false; self.n];
        for d in rows.into_iter().flatten() {
            near[d] = true;
        }
        near
    }
}

/// Adds to each distance the bits in which `query` and its value differ.
fn add_distances(query: u64, values: &[u64], distances: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vpopcntdq")]
        fn avx512(query: u64, values: &[u64], distances: &mut [u64]) {
            plain(query, values, distances);
        }
        #[target_feature(enable = "popcnt")]
        fn popcnt(query: u64, values: &[u64], distances: &mut [u64]) {
            plain(query, values, distances);
        }
        if is_x86_feature_detected!("avx512vpopcntdq") && is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU features were found just now.
            return unsafe { avx512(query, values, distances) };
        }
        if is_x86_feature_detected!("popcnt") {
            // SAFETY: the CPU feature was found just now.
            return unsafe { popcnt(query, values, distances) };
        }
    }
    plain(query, values, distances);
}

#[inline(always)]
fn plain(query: u64, values: &[u64], distances: &mut [u64]) {
    for (distance, &value) in distances.iter_mut().zip(values) {
        *distance += u64::from((query ^ value).count_ones());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Kind;
    use crate::unicode::{Case, Form, Letters};
    use crate::verify::similarities;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn batches_equal_the_definition(
            texts in prop::collection::vec("[ab]{4,9}", 1..40), bits in prop::collection::vec(0_u64..256, 80), size in 1_usize..20,
            radius in 0_u32..6, threshold in 0.3_f64..0.9, measured: bool
        ) {
            let tokenizer = Tokenizer::new(Kind::Char(2), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid");
            let n = texts.len();
            let fingerprints = &bits[..2 * n];
            let distance = |a: usize, b: usize| {
                (0..2).map(|word| (fingerprints[2 * a + word] ^ fingerprints[2 * b + word]).count_ones()).sum::<u32>()
            };
            let similarity = |a: usize, b: usize| {
                similarities(&tokenizer, Measure::Jaccard, texts.as_slice(), &[a as u32], &[b as u32])[0]
            };
            let mut expected: Vec<Option<usize>> = vec![None; n];
            for d in 0..n {
                expected[d] = (0..d).find(|&e| {
                    expected[e].is_none() && distance(d, e) <= radius && (!measured || similarity(d, e) >= threshold)
                });
            }

            let mut found: Vec<Option<usize>> = Vec::new();
            for start in (0..n).step_by(size) {
                let end = (start + size).min(n);
                let kept: Vec<usize> = (0..start).filter(|&e| found[e].is_none()).collect();
                let kept_texts: Vec<&str> = kept.iter().map(|&e| texts[e].as_str()).collect();
                let (mut offsets, mut candidates) = (vec![0_i64], Vec::new());
                for d in start..end {
                    candidates.extend((0..kept.len() as u32).filter(|&e| distance(d, kept[e as usize]) <= radius));
                    offsets.push(candidates.len() as i64);
                }
                let batch = Batch {
                    fingerprints: &fingerprints[2 * start..2 * end],
                    words: 2,
                    radius,
                    threshold,
                    offsets: &offsets,
                    candidates: &candidates,
                };
                let measure = measured.then_some(Measure::Jaccard);
                let result = absorb(&tokenizer, measure, &batch, &texts[start..end], kept_texts.as_slice());
                for (d, &by) in result.by.iter().enumerate() {
                    let by = usize::try_from(by).ok().map(|by| {
                        if by < kept.len() { kept[by] } else { start + by - kept.len() }
                    });
                    if let (Some(by), true) = (by, measured) {
                        prop_assert_eq!(similarity(start + d, by), result.similarity[d]);
                    }
                    found.push(by);
                }
            }
            prop_assert_eq!(expected, found);
        }
    }
}
