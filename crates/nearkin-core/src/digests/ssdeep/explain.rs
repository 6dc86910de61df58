//! Explanations: each step from an input to its digest ([`super::hash`]), and each step of the comparison of two digests
//! ([`super::compare`]), recorded.

use super::compare::{PartPairs, cap, check_gram, common_subsequence, compare_with, part_pairs, rate};
use super::hash::{Piece, find, hash_pieces};
use super::parse::{Digest, Part};
use super::rolling::sum;
use super::{ENOUGH_PIECES, MAX_INPUT, Options, PIECES, block_size, character, check_length, first_level, write};
use crate::error::Result;

/// A piece of an input, and the character that represents it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedPiece {
    /// Its range of bytes, the end exclusive.
    pub range: (u64, u64),
    /// S at its last byte; for the tail S at the end of the input.
    pub sum: u32,
    /// True for the piece after the last counted reset point.
    pub tail: bool,
    /// The hash of its bytes, 0 to 63.
    pub state: u8,
    /// The character of the hash.
    pub character: char,
}

/// One part of a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedPart {
    /// Its block size.
    pub block_size: u64,
    /// The number of reset points of this block size.
    pub points: u64,
    /// The maximum number of them that end a piece.
    pub counted: usize,
    /// Its pieces in order, the tail last.
    pub pieces: Vec<TracedPiece>,
}

/// The steps from an input to its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The digest.
    pub digest: String,
    /// The block sizes in the order in which they are tried, and their numbers of reset points; the last is chosen.
    pub tried: Vec<(u64, u64)>,
    /// Both parts.
    pub parts: [TracedPart; 2],
}

/// Return every step from `data` to its digest, in two passes.
///
/// # Errors
/// If it is longer than [`super::MAX_INPUT`].
pub fn trace(data: &[u8], options: Options) -> Result<Trace> {
    let length = data.len() as u64;
    check_length(length, MAX_INPUT)?;
    let top = first_level(length);
    let (resets, end) = find(&mut &*data, 0, top + 1)?;
    let enough = |level: &u32| *level == 0 || resets.count(*level) >= ENOUGH_PIECES as u64;
    let level = (0..=top).rev().find(enough).unwrap_or(0);
    let tried = (level..=top).rev().map(|level| (block_size(level), resets.count(level))).collect();
    let part = |level: u32, counted: usize| -> Result<TracedPart> {
        let mut pieces = resets.pieces(level, counted, length, end);
        hash_pieces(&mut &*data, &mut pieces)?;
        let points = resets.count(level);
        let cuts = points.min(counted as u64) as usize;
        let traced = |(at, piece): (usize, &Piece)| {
            let before = &data[..piece.end as usize];
            let window = std::array::from_fn(|i| (before.len() + i).checked_sub(7).map_or(0, |at| before[at]));
            let tail = at == cuts;
            let (range, sum) = ((piece.start, piece.end), if tail { end } else { sum(window) });
            TracedPiece { range, sum, tail, state: piece.state, character: character(piece.state).into() }
        };
        let pieces = pieces.iter().enumerate().map(traced).collect();
        Ok(TracedPart { block_size: block_size(level), points, counted, pieces })
    };
    let parts = [part(level, PIECES)?, part(level + 1, options.half_pieces())?];
    let text = |part: &TracedPart| part.pieces.iter().map(|piece| character(piece.state)).collect::<Vec<u8>>();
    Ok(Trace { digest: write(level, &text(&parts[0]), &text(&parts[1]), options), tried, parts })
}

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
        fn the_steps_lead_to_the_digest(
            data in prop::collection::vec(any::<u8>(), 0..3000),
            zeros in 0usize..9,
            eliminate_runs: bool,
            no_truncation: bool,
        ) {
            let data = [data, vec![0; zeros]].concat();
            let options = Options { eliminate_runs, no_truncation };
            let steps = trace(&data, options).unwrap();
            prop_assert_eq!(super::super::hash(&data, options).unwrap(), steps.digest);
            let ends = steps.parts.iter().flat_map(|part| part.pieces.iter().map(move |piece| (part.block_size, piece)));
            for (size, piece) in ends.filter(|(_, piece)| !piece.tail) {
                prop_assert_eq!(size - 1, u64::from(piece.sum) % size);
            }
        }

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
