//! Normalized Indel similarity of two long texts, computed in strips with cancellation points.
//!
//! With a and b the characters of the texts and L the length of their longest common subsequence, d = |a| + |b| − 2 L
//! insertions and deletions lead from one to the other, and the similarity is 1 − d / (|a| + |b|).
//!
//! **Computation** (Hyyrö 2004, "Bit-parallel LCS-length computation revisited"). A row of the table of L is a bit
//! vector S, zero where the length grows; for each character c of b, with M the positions of c in a and u = S & M,
//!
//! ```text
//! S' = (S + u) | (S & !M)
//! ```
//!
//! and L is the number of zeros at the end. A word of S depends on lower words only by the carry of the sum. Therefore
//! a is split into strips whose position masks fit the cache, and the carries of a strip, one bit per character of b,
//! are passed to the next. A pair that can't reach its threshold is abandoned after a strip.
//!
//! Cost: |a| |b| / 64 steps of about a nanosecond; memory: 5 bytes per character of b. A common prefix and suffix is
//! skipped. The `rapidfuzz` crate implements the same for short texts. Test: `strips_equal_the_crate`.

use std::collections::HashMap;

use crate::cancel::CancelToken;
use crate::{Error, Result, alloc};

/// Maximum product of lengths for one pair: about ten seconds on one core.
pub(super) const MAX_COST: u128 = 1 << 39;
/// Minimum product of lengths for strips; below it, the crate takes ten milliseconds.
const SHORT: u128 = if cfg!(test) { 1 } else { 1 << 28 };
/// Words per strip: with a hundred different characters its masks take 25 KB.
const WORDS: usize = 32;
/// Number of steps of 64 characters of b between two cancellation points.
const LOOK: usize = 64;

/// Two texts without their common prefix and suffix, and the length of both in characters.
fn trimmed<'a>(mut a: &'a [char], mut b: &'a [char]) -> (&'a [char], &'a [char], usize) {
    let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    (a, b) = (&a[before..], &b[before..]);
    let behind = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (&a[..a.len() - behind], &b[..b.len() - behind], before + behind)
}

/// Return the characters of a text.
fn characters(text: &str) -> Result<Vec<char>> {
    let mut characters = alloc::try_with_capacity(text.chars().count())?;
    characters.extend(text.chars());
    Ok(characters)
}

/// Return the characters as numbers in the order of first occurrence, and the number of each.
fn numbered(characters: &[char]) -> Result<(Vec<u32>, HashMap<char, u32>)> {
    let mut numbers: HashMap<char, u32> = HashMap::new();
    let mut numbered = alloc::try_with_capacity(characters.len())?;
    for &c in characters {
        if numbers.len() == numbers.capacity() {
            alloc::try_reserve_map(&mut numbers, 1)?;
        }
        let next = numbers.len() as u32;
        numbered.push(*numbers.entry(c).or_insert(next));
    }
    Ok((numbered, numbers))
}

/// Return the length of the longest common subsequence if it reaches `needed`; None after cancellation.
fn common<const WORDS: usize>(a: &[char], b: &[char], needed: usize, cancel: &CancelToken) -> Result<Option<usize>> {
    let (numbered, numbers) = numbered(b)?;
    let mut carries = alloc::try_zeroed::<u64>(b.len().div_ceil(64))?;
    let (mut rows, mut row_of) = (Vec::new(), Vec::new());
    let (mut found, mut left) = (0, a.len());
    for strip in a.chunks(64 * WORDS) {
        // Position mask of each character of b in the strip; row 0 is for characters that do not occur.
        rows.clear();
        alloc::try_resize(&mut rows, 1, [0_u64; WORDS])?;
        row_of.clear();
        alloc::try_resize(&mut row_of, numbers.len(), 0_u32)?;
        for (position, c) in strip.iter().enumerate() {
            let Some(&number) = numbers.get(c) else { continue };
            let row = &mut row_of[number as usize];
            if *row == 0 {
                *row = rows.len() as u32;
                let count = rows.len() + 1;
                alloc::try_resize(&mut rows, count, [0; WORDS])?;
            }
            rows[*row as usize][position / 64] |= 1 << (position % 64);
        }
        let mut state = [u64::MAX; WORDS];
        for (step, (numbers, carries)) in numbered.chunks(64).zip(&mut carries).enumerate() {
            if step.is_multiple_of(LOOK) && cancel.is_set() {
                return Ok(None);
            }
            let mut out = 0;
            for (bit, &number) in numbers.iter().enumerate() {
                let mut carry = *carries >> bit & 1 == 1;
                for (word, &positions) in state.iter_mut().zip(&rows[row_of[number as usize] as usize]) {
                    let (sum, first) = word.overflowing_add(*word & positions);
                    let (sum, second) = sum.overflowing_add(u64::from(carry));
                    carry = first || second;
                    *word = sum | *word & !positions;
                }
                out |= u64::from(carry) << bit;
            }
            *carries = out;
        }
        // The padding of the last strip never becomes zero.
        found += state.iter().map(|word| word.count_zeros() as usize).sum::<usize>();
        left -= strip.len();
        if found + left < needed {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// Return the similarity of two nonempty texts if it reaches `threshold`; None for long texts after cancellation.
///
/// # Errors
/// Memory runs out for long texts.
pub(super) fn at_least(a: &str, b: &[char], threshold: f64, cancel: &CancelToken) -> Result<Option<f64>> {
    // There are at least as many bytes as characters.
    if a.len() as u128 * (b.len() as u128) < SHORT {
        let args = rapidfuzz::distance::indel::Args::default().score_cutoff(threshold);
        return Ok(rapidfuzz::distance::indel::normalized_similarity_with_args(a.chars(), b.iter().copied(), &args));
    }
    let a = characters(a)?;
    let total = a.len() + b.len();
    let similarity = |common: usize| 1.0 - (total - 2 * common) as f64 / total as f64;
    if similarity(a.len().min(b.len())) < threshold {
        return Ok(None);
    }
    let (a, b, same) = trimmed(&a, b);
    // One less than the threshold requires, because the quotient's rounding decides the last unit.
    let needed = ((threshold * total as f64 / 2.0) as usize).saturating_sub(same + 1);
    let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let found = common::<WORDS>(a, b, needed, cancel)?.map(|common| similarity(same + common));
    Ok(found.filter(|&found| found >= threshold))
}

/// Return the maximum number of character pairs that `at_least` compares.
///
/// # Errors
/// There is no memory for the characters of a long text.
pub(super) fn cost(a: &str, b: &[char], threshold: f64) -> Result<u128> {
    // There are at least as many bytes as characters.
    let max_cost = a.len() as u128 * (b.len() as u128);
    if max_cost < SHORT {
        return Ok(max_cost);
    }
    let a = characters(a)?;
    let (total, shorter) = (a.len() + b.len(), a.len().min(b.len()));
    if 1.0 - (total - 2 * shorter) as f64 / (total as f64) < threshold {
        return Ok(0);
    }
    let (a, b, _) = trimmed(&a, b);
    Ok(a.len() as u128 * (b.len() as u128))
}

/// Check that the comparison of two texts is within `max_cost` (see [`MAX_COST`]).
///
/// # Errors
/// It is not; memory runs out.
pub(super) fn check_budget(a: &str, b: &str, max_cost: u128) -> Result<()> {
    // There are at least as many bytes as characters.
    if a.len() as u128 * b.len() as u128 <= max_cost {
        return Ok(());
    }
    let (a, b) = (characters(a)?, characters(b)?);
    let (a, b, _) = trimmed(&a, &b);
    if a.len() as u128 * b.len() as u128 <= max_cost {
        return Ok(());
    }
    let found = format!("texts that differ over {} and {} characters", a.len(), b.len());
    let allowed = format!("at most {max_cost} pairs of characters for \"indel\"; use \"jaccard\", or compare parts");
    Err(Error::parameter("texts", found, allowed))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_crate(a: &[char], b: &[char]) -> f64 {
        rapidfuzz::distance::indel::normalized_similarity(a.iter().copied(), b.iter().copied())
    }

    proptest! {
        #[test]
        fn strips_equal_the_crate(
            a in proptest::collection::vec(proptest::char::range('a', 'f'), 1..400),
            b in proptest::collection::vec(proptest::char::range('b', 'h'), 1..400),
            threshold in 0.0_f64..1.0,
        ) {
            let never = CancelToken::default();
            let expected = by_crate(&a, &b);
            let text: String = a.iter().collect();
            let found = |threshold| at_least(&text, &b, threshold, &never).expect("room");
            prop_assert_eq!(Some(expected), found(0.0));
            prop_assert_eq!((expected >= threshold).then_some(expected), found(threshold));
            let one = common::<1>(&a, &b, 0, &never).expect("room");
            prop_assert_eq!(one, common::<3>(&b, &a, 0, &never).expect("room"));
            let total = a.len() + b.len();
            let common = one.expect("nothing is needed");
            prop_assert_eq!(expected, 1.0 - (total - 2 * common) as f64 / total as f64);
        }
    }

    #[test]
    fn what_is_stopped_finds_nothing() {
        let cancel = CancelToken::new();
        cancel.set();
        let other: Vec<char> = "xab".repeat(90).chars().collect();
        assert_eq!(None, at_least(&"abc".repeat(100), &other, 0.0, &cancel).expect("room"));
    }

    #[test]
    fn the_cost_is_that_of_what_differs_and_may_match() {
        let same = "x".repeat(100);
        let other: Vec<char> = format!("{same}12345").chars().collect();
        let cost = |text: &str, threshold| cost(text, &other, threshold).expect("room");
        assert_eq!(50, cost(&format!("{same}abcdefghij"), 0.5));
        assert_eq!(0, cost(&same.repeat(9), 0.5));
        assert_eq!(800 * 5, cost(&same.repeat(9), 0.0));
    }

    #[test]
    fn the_budget_counts_what_differs() {
        let same = "x".repeat(1000);
        assert!(check_budget(&same, &same, 100).is_ok());
        assert!(check_budget(&format!("{same}abcdefghij"), &format!("{same}klmnopqrst"), 100).is_ok());
        let error = check_budget(&format!("{same}abcdefghijk"), &format!("{same}lmnopqrstuv"), 100).expect_err("121");
        assert!(error.to_string().contains("11 and 11 characters"), "{error}");
    }
}
