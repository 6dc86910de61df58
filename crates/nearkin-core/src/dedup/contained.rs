//! Containment search: known texts inside a text, with their spans.
//!
//! With K the distinct features of a known text and Q those of a query, the containment of K in Q is |K ∩ Q| / |K|. The
//! *span* is the shortest range of the query that contains at least nine tenths of the features in K ∩ Q, rounded up,
//! each at least once (of equally short ones the first), extended at both ends while the next feature is in K. The
//! missing tenth allows for features that occur elsewhere by chance or were moved.
//!
//! Cost: one pass over each text that is compared; for each pair one lookup per feature of the known text and, if it
//! reaches the threshold, one per feature of the query. Test: `spans_equal_the_definition`.

use std::collections::HashMap;

use crate::parallel::prelude::*;

use crate::cancel::CancelToken;
use crate::hash::idset::IdSet;
use crate::text::tokenizer::{Scratch, TextSource, Tokenizer};
use crate::{Error, Result, alloc};

/// A known text inside a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// Index of the known text.
    pub references: u32,
    /// Containment of the known text in the query.
    pub similarity: f64,
    /// Character offset of the start of the span.
    pub start: usize,
    /// Character offset of the end of the span (exclusive).
    pub end: usize,
}

/// Return for each query the candidates among the known texts `candidates[offsets[i]..offsets[i + 1]]` whose
/// containment reaches the threshold, in order. In parallel. Without `spans`, which take most of the time, a match is
/// from 0 to 0.
///
/// # Errors
/// Offsets or candidates that do not fit the texts; the call is cancelled, or memory runs out.
pub fn contained(
    tokenizer: &Tokenizer,
    queries: &dyn TextSource,
    references: &dyn TextSource,
    offsets: &[i64],
    candidates: &[u32],
    threshold: f64,
    spans: bool,
) -> Result<Matches> {
    crate::error::check_offsets(offsets, candidates.len())?;
    crate::error::check_length("offsets", offsets.len(), queries.len() + 1)?;
    if let Some(&reference) = candidates.iter().find(|&&reference| reference as usize >= references.len()) {
        return Err(Error::parameter("candidates", reference, format!("places of {} known texts", references.len())));
    }
    let cancel = &CancelToken::current();
    let distinct = |scratch: &mut Scratch, i: usize| -> Result<Vec<u64>> {
        cancel.check()?;
        let mut ids = Vec::new();
        tokenizer.distinct(references.get(i).unwrap_or_default(), scratch, &mut ids)?;
        Ok(ids)
    };
    let sets = (0..references.len()).into_par_iter().map_init(|| Scratch::with_cancel(cancel), distinct);
    let sets = alloc::try_map_parallel(sets)?;
    let find_matches = |scratch: &mut (Scratch, IdSet, Vec<u64>), i: usize| -> Result<Vec<Match>> {
        let (scratch, set, ids) = scratch;
        let candidates = &candidates[offsets[i] as usize..offsets[i + 1] as usize];
        let text = queries.get(i).unwrap_or_default();
        let mut matches = Vec::new();
        let mut positions = Vec::new();
        if candidates.is_empty() {
            return Ok(matches);
        }
        ids.clear();
        tokenizer.distinct(text, scratch, ids)?;
        set.clear(ids.len());
        set.insert_all(ids, |_| {});
        set.check()?;
        for &reference in candidates {
            cancel.check()?;
            let ids = &sets[reference as usize];
            let shared = ids.iter().filter(|&&id| set.contains(id)).count();
            let similarity = shared as f64 / ids.len() as f64;
            if shared == 0 || similarity < threshold {
                continue;
            }
            if spans && positions.is_empty() {
                positions = places_of(tokenizer, text, scratch)?;
            }
            let (start, end) = if spans { span(&positions, ids, shared)? } else { (0, 0) };
            alloc::try_reserve(&mut matches, 1)?;
            matches.push(Match { references: reference, similarity, start, end });
        }
        Ok(matches)
    };
    let scratch = || (Scratch::with_cancel(cancel), IdSet::default(), Vec::new());
    let matches = alloc::try_map_parallel((0..queries.len()).into_par_iter().map_init(scratch, find_matches))?;
    cancel.check()?;
    Ok(Matches(matches))
}

/// The matches of each query.
pub struct Matches(pub Vec<Vec<Match>>);

/// Matches as columns; query i owns the range `offsets[i]..offsets[i + 1]` of the others.
#[derive(Default)]
pub struct Columns {
    /// Start of each query's matches; one more entry than queries.
    pub offsets: Vec<i64>,
    /// Indices of known texts.
    pub references: Vec<u32>,
    /// Containment of each in the query.
    pub similarity: Vec<f64>,
    /// Start of each span in characters.
    pub starts: Vec<i64>,
    /// End of each span (exclusive).
    pub ends: Vec<i64>,
}

impl Matches {
    /// Convert the matches to columns.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn columns(&self) -> Result<Columns> {
        let count = self.0.iter().map(Vec::len).sum();
        let mut columns = Columns {
            offsets: alloc::try_with_capacity(self.0.len() + 1)?,
            references: alloc::try_with_capacity(count)?,
            similarity: alloc::try_with_capacity(count)?,
            starts: alloc::try_with_capacity(count)?,
            ends: alloc::try_with_capacity(count)?,
        };
        columns.offsets.push(0);
        for list in &self.0 {
            for find_matches in list {
                columns.references.push(find_matches.references);
                columns.similarity.push(find_matches.similarity);
                columns.starts.push(find_matches.start as i64);
                columns.ends.push(find_matches.end as i64);
            }
            columns.offsets.push(columns.references.len() as i64);
        }
        Ok(columns)
    }
}

/// Identifier, start and end (exclusive, in characters) of each feature.
type Placed = (u64, usize, usize);

fn places_of(tokenizer: &Tokenizer, text: &str, scratch: &mut Scratch) -> Result<Vec<Placed>> {
    let mut positions = Vec::new();
    let mut fits = Ok(());
    tokenizer.places(text, scratch, |id, start, end| {
        if fits.is_ok() {
            fits = alloc::try_reserve(&mut positions, 1);
        }
        if fits.is_ok() {
            positions.push((id, start, end));
        }
    })?;
    fits.map(|()| positions)
}

/// Return the shortest range of the positions, in order, with at least nine tenths of the `shared` distinct ids,
/// extended by the adjacent ones on either side.
fn span(positions: &[Placed], ids: &[u64], shared: usize) -> Result<(usize, usize)> {
    let required = shared - shared / 10;
    let mut inside: HashMap<u64, u32> = HashMap::new();
    alloc::try_reserve_map(&mut inside, ids.len())?;
    inside.extend(ids.iter().map(|&id| (id, 0)));
    let is_shared = |at: usize, inside: &HashMap<u64, u32>| inside.contains_key(&positions[at].0);
    let mut those: Vec<usize> = alloc::try_with_capacity(positions.len())?;
    those.extend((0..positions.len()).filter(|&at| is_shared(at, &inside)));
    let (mut first, mut distinct) = (0, 0);
    let mut best: Option<(usize, usize)> = None;
    let length = |(from, to): (usize, usize)| positions[to].2 - positions[from].1;
    for &last in &those {
        let count = inside.entry(positions[last].0).or_default();
        distinct += usize::from(*count == 0);
        *count += 1;
        while distinct >= required {
            let stretch = (those[first], last);
            if best.is_none_or(|best| length(stretch) < length(best)) {
                best = Some(stretch);
            }
            let count = inside.entry(positions[those[first]].0).or_default();
            *count -= 1;
            distinct -= usize::from(*count == 0);
            first += 1;
        }
    }
    let Some((mut from, mut to)) = best else { return Ok((0, 0)) };
    while from > 0 && is_shared(from - 1, &inside) {
        from -= 1;
    }
    while to + 1 < positions.len() && is_shared(to + 1, &inside) {
        to += 1;
    }
    // With mixed n-grams, a feature that ends later may begin earlier.
    let first = positions[from..=to].iter().map(|reference| reference.1).min().unwrap_or_default();
    Ok((first, positions[to].2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::FeatureKind;
    use crate::text::unicode::{Case, Form, Letters};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn tokenizer(n: usize) -> Tokenizer {
        Tokenizer::new(FeatureKind::Char(n), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid")
    }

    proptest! {
        #[test]
        fn spans_equal_the_definition(query in "[abc .]{0,60}", references in "[abc]{1,20}", n in 1_usize..4, threshold in 0.1_f64..1.0) {
            let tokenizer = tokenizer(n);
            let grams = |text: &str| -> Vec<String> {
                let letters: Vec<char> = text.chars().filter(|c| c.is_alphabetic()).collect();
                let n = n.min(letters.len()).max(1);
                letters.windows(n).map(|gram| gram.iter().collect()).collect()
            };
            let set: BTreeSet<String> = grams(&references).into_iter().collect();
            let both: BTreeSet<String> = grams(&query).into_iter().filter(|gram| set.contains(gram)).collect();
            let similarity = both.len() as f64 / set.len() as f64;
            let matches = contained(&tokenizer, &[query.as_str()].as_slice(), &[references.as_str()].as_slice(), &[0, 1], &[0], threshold, true);
            let matches = matches.expect("room").0.remove(0);
            if both.is_empty() || similarity < threshold {
                prop_assert_eq!(Vec::<Match>::new(), matches);
                return Ok(());
            }
            let required = (both.len() * 9).div_ceil(10);
            let mut best = (usize::MAX, 0, 0);
            for start in 0..query.len() {
                for end in start + 1..=query.len() {
                    // A text with fewer letters than an n-gram is a single feature, which may occur in the query by
                    // chance.
                    let part = &query[start..end];
                    let whole = grams(part).into_iter().filter(|gram| gram.len() == n.min(grams(&query)[0].len()));
                    let inside: BTreeSet<String> = whole.filter(|gram| both.contains(gram)).collect();
                    if inside.len() >= required && end - start < best.0 {
                        best = (end - start, start, end);
                    }
                }
            }
            // N-grams of letters: the span begins and ends with a letter.
            let letters: Vec<usize> = (0..query.len()).filter(|&at| query.as_bytes()[at].is_ascii_alphabetic()).collect();
            let list = grams(&query);
            let n = n.min(letters.len());
            let mut from = letters.iter().position(|&at| at == best.1).expect("a letter");
            let mut to = letters.iter().position(|&at| at + 1 == best.2).expect("a letter") + 1 - n;
            while from > 0 && both.contains(&list[from - 1]) {
                from -= 1;
            }
            while to + 1 < list.len() && both.contains(&list[to + 1]) {
                to += 1;
            }
            let (start, end) = (letters[from], letters[to + n - 1] + 1);
            prop_assert_eq!(vec![Match { references: 0, similarity, start, end }], matches);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (queries, references) = (["abc"], ["abc"]);
        let call = |offsets: &[i64], candidates: &[u32]| {
            contained(&tokenizer(2), &queries.as_slice(), &references.as_slice(), offsets, candidates, 0.5, true)
        };
        assert!(call(&[0, 1], &[1]).is_err() && call(&[0], &[]).is_err() && call(&[0, 2], &[0]).is_err());
        assert_eq!(
            (0, 3),
            call(&[0, 1], &[0]).map(|matches| (matches.0[0][0].start, matches.0[0][0].end)).expect("valid")
        );
        let columns = call(&[0, 1], &[0]).and_then(|matches| matches.columns()).expect("room");
        assert_eq!((vec![0, 1], vec![0], vec![1.0]), (columns.offsets, columns.references, columns.similarity));
        assert_eq!((vec![0], vec![3]), (columns.starts, columns.ends));
    }
}
