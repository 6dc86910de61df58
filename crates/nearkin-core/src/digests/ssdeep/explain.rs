//! Explanation of the score of two digests: each step of [`super::compare`], recorded.

use super::compare::{PartPairs, cap, check_gram, common_subsequence, compare_with, part_pairs, rate};
use super::parse::{Digest, Part};
use crate::error::Result;

/// A comparison of two parts with one block size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// 1 or 2: the part of the left digest and of the right digest.
    pub parts: (u8, u8),
    /// Their block size.
    pub block_size: u64,
    /// Their lengths without runs.
    pub lengths: (usize, usize),
    /// The first run of the left part, of the required length, that also occurs in the right part.
    pub gram: Option<Vec<u8>>,
    /// Length of their longest common subsequence.
    pub common: u32,
    /// The score without the cap; 0 without a common gram.
    pub uncapped: u32,
    /// The maximum score of parts of these lengths at this block size.
    pub cap: u32,
    /// The score.
    pub score: u32,
}

/// The explanation of a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The score of the two digests.
    pub score: u32,
    /// True if the block sizes are equal or differ by a factor of two.
    pub comparable: bool,
    /// True if the digests are equal without their runs.
    pub equal: bool,
    /// The parts that were compared.
    pub compared: Vec<Compared>,
}

/// Explain the score of `left` and `right` if two parts must share `gram` consecutive characters.
///
/// # Errors
/// If `gram` is not 4 to 32.
pub fn explain(left: &Digest, right: &Digest, gram: usize) -> Result<Explanation> {
    check_gram(gram)?;
    let compared = |parts, left: &Part, right: &Part, size| compared(parts, left, right, size, gram);
    let part_pairs = part_pairs(left.block_size, right.block_size);
    let twice = left.block_size.saturating_mul(2);
    let compared = match part_pairs {
        PartPairs::Never => Vec::new(),
        PartPairs::Same => vec![
            compared((1, 1), &left.part1, &right.part1, left.block_size),
            compared((2, 2), &left.part2, &right.part2, twice),
        ],
        PartPairs::FirstSecond => vec![compared((1, 2), &left.part1, &right.part2, left.block_size)],
        PartPairs::SecondFirst => vec![compared((2, 1), &left.part2, &right.part1, right.block_size)],
    };
    let score = compare_with(left, right, gram)?;
    Ok(Explanation { score, comparable: part_pairs != PartPairs::Never, equal: left == right, compared })
}

fn compared(parts: (u8, u8), left: &Part, right: &Part, block_size: u64, gram: usize) -> Compared {
    let (s, t) = (left.as_bytes(), right.as_bytes());
    let gram = s.windows(gram).find(|run| t.windows(gram).any(|other| *run == other)).map(<[u8]>::to_vec);
    let common = common_subsequence(left, right);
    let cap = cap(block_size, s.len().min(t.len()));
    let uncapped = if gram.is_some() { rate(s.len(), t.len(), common, u64::MAX) } else { 0 };
    Compared { parts, block_size, lengths: (s.len(), t.len()), gram, common, uncapped, cap, score: uncapped.min(cap) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_reasons_add_up_to_the_score(
            i in 0u32..6,
            step in 0u32..3,
            gram in 4usize..10,
            parts in prop::collection::vec("(abcdefg|hijklmn|[a-c]){0,8}", 4),
        ) {
            let read = |i: u32, x: &str, y: &str| Digest::parse(format!("{}:{x}:{y}", 3 << i).as_bytes()).unwrap();
            let (a, b) = (read(i, &parts[0], &parts[1]), read(i + step, &parts[2], &parts[3]));
            let why = explain(&a, &b, gram).unwrap();
            let best = why.compared.iter().map(|c| c.score).max().unwrap_or(0);
            prop_assert_eq!(why.score, if why.equal { 100 } else { best });
            prop_assert_eq!(step < 2, why.comparable);
        }
    }
}
