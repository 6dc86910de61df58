//! Keep or absorb: selects the documents of a batch that survive.
//!
//! Documents are visited in keep order. A document that no kept document has absorbed is kept, and absorbs every later
//! document within `radius` whose verified similarity reaches the threshold. Therefore matches do not chain, no two
//! survivors match, and a second run removes nothing.
//!
//! The order is split into batches. For each batch the caller has searched the kept documents of earlier batches. Then
//!
//! 1. [`first_matches`] compares every document with those candidates in keep order, until the first match (in
//!    parallel);
//! 2. [`absorb`] visits the rest of the batch in order: each kept document scans the later documents of the batch and
//!    absorbs its matches.
//!
//! Cost: only kept documents are verified against; b²/2 distances for b documents of a batch. Memory: the features of
//! the documents that are compared, never quadratic in the size of a cluster. After cancellation each function returns
//! promptly with an unspecified result. Test: `batches_equal_the_definition`.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::parallel::prelude::*;

use crate::Result;
use crate::alloc;
use crate::cancel::CancelToken;
use crate::cpu::features::{Avx512Bits, Popcnt};
use crate::cpu::popcount::Kernel;
use crate::dedup::verify::{Allowance, Cache, Subject};
use crate::index::hamming::scan::{scan, tile::Sink};

/// The first match of each document, and counts of verified pairs.
pub struct Matches {
    /// The document that absorbed document d, as an index with a meaning for the caller; -1 if d was kept.
    pub by: Vec<i64>,
    /// Similarity to the absorbing document; NaN for kept documents.
    pub similarity: Vec<f64>,
    /// Number of verified pairs.
    pub verified: u64,
    /// Number of pairs within the radius.
    pub candidates: u64,
    /// Number of pairs within the radius that were skipped because they exceed their document's allowance.
    pub skipped: u64,
}

impl Matches {
    /// Create the result in which none of `n` documents is absorbed.
    fn none(n: usize) -> Result<Self> {
        Ok(Self {
            by: alloc::try_filled(-1, n)?,
            similarity: alloc::try_filled(f64::NAN, n)?,
            verified: 0,
            candidates: 0,
            skipped: 0,
        })
    }
}

/// Remove from `others` the documents whose comparison with `subject` exceeds an allowance; return how many were
/// removed. `row` returns the row of a document's text.
fn within_allowance(
    texts: &Cache,
    subject: &Subject,
    threshold: f64,
    max_comparisons: usize,
    others: &mut Vec<usize>,
    row: impl Fn(usize) -> u32,
) -> Result<u64> {
    let (before, mut allowance, mut kept) = (others.len(), Allowance::new(max_comparisons), 0);
    for at in 0..before {
        others[kept] = others[at];
        kept += usize::from(texts.allows(row(others[at]), subject, threshold, &mut allowance)?);
    }
    others.truncate(kept);
    Ok((before - kept) as u64)
}

/// Compare document d, row `documents[d]`, with the rows `candidates[offsets[d]..offsets[d + 1]]`, in this order, until
/// one matches or the allowance of `max_comparisons` comparisons is used up; `by` contains the matching row. All rows are in
/// `texts`.
///
/// # Errors
/// Memory runs out.
///
/// # Panics
/// If the offsets do not fit the documents and candidates.
pub fn first_matches(
    texts: &Cache,
    threshold: f64,
    documents: &[u32],
    offsets: &[i64],
    candidates: &[u32],
    max_comparisons: usize,
) -> Result<Matches> {
    assert_eq!(documents.len() + 1, offsets.len(), "one offset per document and one more");
    let cancel = &CancelToken::current();
    let first_match = |subject: &mut Subject, d: usize| -> Result<_> {
        let candidates = &candidates[offsets[d] as usize..offsets[d + 1] as usize];
        let (mut tried, mut skipped) = (0_u64, 0_u64);
        if candidates.is_empty() || cancel.is_set() {
            return Ok((None, tried, skipped));
        }
        texts.subject(documents[d], subject)?;
        let mut allowance = Allowance::new(max_comparisons);
        for (at, &row) in candidates.iter().enumerate().take_while(|_| !cancel.is_set()) {
            if allowance.is_spent() {
                skipped += (candidates.len() - at) as u64;
                break;
            }
            if !texts.allows(row, subject, threshold, &mut allowance)? {
                skipped += 1;
                continue;
            }
            tried += 1;
            if let Some(similarity) = texts.matches(row, subject, threshold, cancel)? {
                // A match makes pairs skipped before it irrelevant.
                return Ok((Some((row, similarity)), tried, 0));
            }
        }
        Ok((None, tried, skipped))
    };
    let tasks = (0..documents.len()).into_par_iter().with_min_len(16).map_init(Subject::default, first_match);
    let found = alloc::try_map_parallel(tasks)?;
    let mut result = Matches::none(documents.len())?;
    result.candidates = candidates.len() as u64;
    for (d, (first, tried, skipped)) in found.into_iter().enumerate() {
        if let Some((row, similarity)) = first {
            (result.by[d], result.similarity[d]) = (row.into(), similarity);
        }
        result.verified += tried;
        result.skipped += skipped;
    }
    Ok(result)
}

/// Visit documents in order, document d with fingerprint d and row `documents[d]` of `texts`. A document that was not
/// absorbed is kept and absorbs all later ones within `radius` whose similarity reaches `threshold`. `by` contains the
/// index of the document that absorbed d. Without texts only distance decides, and similarity is NaN. A kept document
/// makes at most `max_comparisons` comparisons.
///
/// # Errors
/// Memory runs out.
pub fn absorb(
    texts: Option<&Cache>,
    threshold: f64,
    fingerprints: &Fingerprints,
    radius: u32,
    documents: &[u32],
    max_comparisons: usize,
) -> Result<Matches> {
    let find = |d: usize, found: &mut Vec<usize>| fingerprints.within(d, d + 1, radius, found);
    let result = Matches::none(fingerprints.n)?;
    absorb_candidates(result, texts, threshold, documents, max_comparisons, find, |other| other, |_| f64::NAN)
}

/// Keep or absorb as [`absorb`] does, with precomputed candidates: document d has the later documents
/// `later[offsets[d]..offsets[d + 1]]`. Without texts every candidate is a match, with its similarity from `similarity`
/// (NaN if missing).
///
/// # Errors
/// Memory runs out.
///
/// # Panics
/// If the offsets do not fit the documents and candidates.
pub fn absorb_listed(
    texts: Option<&Cache>,
    threshold: f64,
    documents: &[u32],
    offsets: &[i64],
    later: &[u32],
    similarity: Option<&[f64]>,
    max_comparisons: usize,
) -> Result<Matches> {
    assert_eq!(documents.len() + 1, offsets.len(), "one offset per document and one more");
    let find = |d: usize, found: &mut Vec<usize>| {
        let candidates = offsets[d] as usize..offsets[d + 1] as usize;
        found.clear();
        alloc::try_reserve(found, candidates.len())?;
        found.extend(candidates);
        Ok(())
    };
    let result = Matches::none(documents.len())?;
    let given = |at: usize| similarity.map_or(f64::NAN, |similarity| similarity[at]);
    absorb_candidates(result, texts, threshold, documents, max_comparisons, find, |at| later[at] as usize, given)
}

/// Visit documents in order: one that was not absorbed absorbs its candidates, which `find` numbers, `document` is the
/// document of a number, and `similarity` its similarity without texts.
#[expect(clippy::too_many_arguments, reason = "three of them describe the candidates")]
fn absorb_candidates(
    mut result: Matches,
    texts: Option<&Cache>,
    threshold: f64,
    documents: &[u32],
    max_comparisons: usize,
    find: impl Fn(usize, &mut Vec<usize>) -> Result<()>,
    document: impl Fn(usize) -> usize + Sync,
    similarity: impl Fn(usize) -> f64,
) -> Result<Matches> {
    let cancel = &CancelToken::current();
    let row = |candidate: usize| documents[document(candidate)];
    let mut subject = Subject::default();
    let mut open = Vec::new();
    for d in (0..result.by.len()).take_while(|_| !cancel.is_set()) {
        if result.by[d] >= 0 {
            continue;
        }
        find(d, &mut open)?;
        open.retain(|&candidate| result.by[document(candidate)] < 0);
        if open.is_empty() {
            continue;
        }
        result.candidates += open.len() as u64;
        let similarities: Vec<Option<f64>> = if let Some(texts) = texts {
            texts.subject(documents[d], &mut subject)?;
            let subject = &subject;
            result.skipped += within_allowance(texts, subject, threshold, max_comparisons, &mut open, row)?;
            result.verified += open.len() as u64;
            let similarity = |&candidate: &usize| texts.matches(row(candidate), subject, threshold, cancel);
            alloc::try_map_parallel(open.par_iter().with_min_len(8).map(similarity))?
        } else {
            alloc::try_collect(open.iter().map(|&candidate| Some(similarity(candidate))))?
        };
        for (&candidate, similarity) in open.iter().zip(similarities) {
            if let Some(similarity) = similarity {
                result.by[document(candidate)] = d as i64;
                result.similarity[document(candidate)] = similarity;
            }
        }
    }
    Ok(result)
}

/// The fingerprints of a batch in word-major order, so that the distances from one to many are vectorized.
pub struct Fingerprints {
    n: usize,
    columns: Vec<Vec<u64>>,
}

impl Fingerprints {
    /// Transpose the fingerprints in `rows`, `words` values each.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn new(rows: &[u64], words: usize) -> Result<Self> {
        let column = |word| alloc::try_collect(rows.iter().skip(word).step_by(words).copied());
        Ok(Self { n: rows.len() / words, columns: (0..words).map(column).collect::<Result<_>>()? })
    }

    /// Write the documents from `first` on that are within `radius` of document `d` to `found`.
    fn within(&self, d: usize, first: usize, radius: u32, found: &mut Vec<usize>) -> Result<()> {
        found.clear();
        let mut distances = [0_u64; 256];
        let mut start = first;
        while start < self.n {
            let count = (self.n - start).min(distances.len());
            let distances = &mut distances[..count];
            distances.fill(0);
            for column in &self.columns {
                add_distances(column[d], &column[start..start + count], distances);
            }
            let near = distances.iter().enumerate().filter(|pair| *pair.1 <= u64::from(radius));
            alloc::try_reserve(found, count)?;
            found.extend(near.map(|pair| start + pair.0));
            start += count;
        }
        Ok(())
    }
}

/// Return for each fingerprint in `rows` (`words` values each) whether it is within `radius` of another one;
/// unspecified after cancellation.
///
/// # Errors
/// There is no memory for the answer.
pub fn near(rows: &[u64], words: usize, radius: u32) -> Result<Vec<bool>> {
    let near: Vec<AtomicBool> = alloc::try_collect((0..rows.len() / words).map(|_| AtomicBool::new(false)))?;
    let cancel = &CancelToken::current();
    rows.par_chunks(BLOCK * words).enumerate().for_each(|(number, queries)| {
        let first = number * BLOCK;
        let mut limits = vec![radius; queries.len() / words];
        let mut sink = NearMarks { marks: &near, first, radius };
        // Each pair is visited once, from its earlier document.
        scan(Kernel::best(), words, &rows[first * words..], first as u32, queries, &mut limits, cancel, &mut sink);
    });
    alloc::try_collect(near.into_iter().map(AtomicBool::into_inner))
}

/// Number of queries per step of [`near`].
const BLOCK: usize = 256;

/// Mark both documents of a pair.
struct NearMarks<'a> {
    marks: &'a [AtomicBool],
    first: usize,
    radius: u32,
}

impl Sink for NearMarks<'_> {
    fn hit(&mut self, query: u32, row: u32, _distance: u32) -> u32 {
        let query = self.first + query as usize;
        if query != row as usize {
            self.marks[query].store(true, Ordering::Relaxed);
            self.marks[row as usize].store(true, Ordering::Relaxed);
        }
        self.radius
    }
}

/// Add to each distance the number of bits in which `query` and its value differ.
fn add_distances(query: u64, values: &[u64], distances: &mut [u64]) {
    match (Avx512Bits::detect(), Popcnt::detect()) {
        (Some(avx512), _) => avx512.run(
            #[inline(always)]
            || plain(query, values, distances),
        ),
        (None, Some(popcnt)) => popcnt.run(
            #[inline(always)]
            || plain(query, values, distances),
        ),
        (None, None) => plain(query, values, distances),
    }
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
    use crate::dedup::verify::Measure;
    use crate::text::tokenizer::{FeatureKind, Tokenizer};
    use crate::text::unicode::{Case, Form, Letters};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn near_ones_are_those_with_another_within_the_radius(
            bits in prop::collection::vec(0_u64..4096, 0..900), words in 1_usize..3, radius in 0_u32..40
        ) {
            let rows: Vec<u64> = bits.iter().map(|value| value.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let rows = &rows[..rows.len() / words * words];
            let all: Vec<&[u64]> = rows.chunks_exact(words).collect();
            let near_another = |d: usize| {
                (0..all.len()).any(|e| d != e && crate::cpu::popcount::distance(all[d], all[e]) <= radius)
            };
            let expected: Vec<bool> = (0..all.len()).map(near_another).collect();
            prop_assert_eq!(expected, near(rows, words, radius).expect("room"));
        }

        #[test]
        fn batches_equal_the_definition(
            texts in prop::collection::vec("[ab]{4,9}", 1..40), bits in prop::collection::vec(0_u64..256, 80), size in 1_usize..20,
            radius in 0_u32..6, threshold in 0.3_f64..0.9, measured: bool
        ) {
            let tokenizer = Tokenizer::new(FeatureKind::Char(2), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid");
            let n = texts.len();
            let fingerprints = &bits[..2 * n];
            let distance = |a: usize, b: usize| {
                (0..2).map(|word| (fingerprints[2 * a + word] ^ fingerprints[2 * b + word]).count_ones()).sum::<u32>()
            };
            let mut cache = Cache::new(Measure::Jaccard, None, usize::MAX);
            let rows: Vec<u32> = (0..n as u32).collect();
            cache.add(&tokenizer, &rows, &texts.as_slice()).expect("nothing stops it");
            let similarity = |a: usize, b: usize| cache.similarities(&[a as u32], &[b as u32], false, 0.0).expect("a similarity")[0];
            let mut expected: Vec<Option<usize>> = vec![None; n];
            for d in 0..n {
                expected[d] = (0..d).find(|&e| {
                    expected[e].is_none() && distance(d, e) <= radius && (!measured || similarity(d, e) >= threshold)
                });
            }

            let mut found: Vec<Option<usize>> = Vec::new();
            for start in (0..n).step_by(size) {
                let end = (start + size).min(n);
                let kept: Vec<u32> = (0..start as u32).filter(|&e| found[e as usize].is_none()).collect();
                found.resize(end, None);
                if measured {
                    let (mut offsets, mut candidates) = (vec![0_i64], Vec::new());
                    for d in start..end {
                        candidates.extend(kept.iter().filter(|&&e| distance(d, e as usize) <= radius));
                        offsets.push(candidates.len() as i64);
                    }
                    let result = first_matches(&cache, threshold, &rows[start..end], &offsets, &candidates, usize::MAX)
                        .expect("room");
                    for (d, (&by, &value)) in (start..end).zip(result.by.iter().zip(&result.similarity)) {
                        found[d] = usize::try_from(by).ok();
                        if let Some(by) = found[d] {
                            prop_assert_eq!(similarity(d, by), value);
                        }
                    }
                } else {
                    for (d, by) in found.iter_mut().enumerate().skip(start) {
                        *by = kept.iter().map(|&e| e as usize).find(|&e| distance(d, e) <= radius);
                    }
                }
                let left: Vec<usize> = (start..end).filter(|&d| found[d].is_none()).collect();
                let slots: Vec<u64> = left.iter().flat_map(|&d| [fingerprints[2 * d], fingerprints[2 * d + 1]]).collect();
                let documents: Vec<u32> = left.iter().map(|&d| d as u32).collect();
                let batch = Fingerprints::new(&slots, 2).expect("room");
                let result = absorb(measured.then_some(&cache), threshold, &batch, radius, &documents, usize::MAX)
                    .expect("room");
                let (mut offsets, mut later) = (vec![0_i64], Vec::new());
                for (d, &position) in left.iter().enumerate() {
                    later.extend((d + 1..left.len()).filter(|&e| distance(position, left[e]) <= radius).map(|e| e as u32));
                    offsets.push(later.len() as i64);
                }
                let listed = absorb_listed(
                    measured.then_some(&cache), threshold, &documents, &offsets, &later, None, usize::MAX,
                ).expect("room");
                prop_assert_eq!((&result.by, result.verified), (&listed.by, listed.verified));
                prop_assert_eq!(result.candidates, listed.candidates);
                for (&d, (&by, &value)) in left.iter().zip(result.by.iter().zip(&result.similarity)) {
                    found[d] = usize::try_from(by).ok().map(|by| left[by]);
                    if let (Some(by), true) = (found[d], measured) {
                        prop_assert_eq!(similarity(d, by), value);
                    }
                }
            }
            prop_assert_eq!(expected, found);
        }
    }
}
