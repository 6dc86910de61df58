//! Fuzzy digests of files: context-triggered piecewise hashing, bit for bit as the program `ssdeep` 2.14.1 prints it.
//!
//! # The idea
//!
//! Cut a file where a sum over the last seven bytes has a chosen value, and write one character for each piece. A
//! changed byte moves at most the cuts within seven bytes of it, so all other pieces keep their characters, even if
//! they moved:
//!
//! ```text
//! digest = B ":" part(B, 63 pieces) ":" part(2B, 31 pieces)           B = 3 * 2^i, the block size
//! ```
//!
//! A position is a *reset point* of block size B if `S mod B == B - 1`, for the rolling sum S ([`rolling`]); random
//! bytes have one in B. B is the largest block size with at least 32 pieces, starting from `64 B >= n`. A piece's
//! character is a 6-bit hash of its bytes ([`piece`]). Part 2 is computed with twice the block size, so that digests
//! whose B differ by a factor of two still have comparable parts.
//!
//! # Comparing
//!
//! Two parts of one block size are similar if they share seven consecutive characters; the score from 0 to 100 then
//! depends on their longest common subsequence ([`compare`]). Therefore an inverted list of 7-grams is an exact index
//! ([`index`]).
//!
//! # Cost
//!
//! Hashing is linear for every input, including adversarial ones: one pass of SIMD sums over all positions, a rescan
//! (at most four) if fewer than 32 pieces were found, and one pass of piece hashes, 64 bytes of several pieces at once
//! ([`blocks`]). Streams of unknown length track all block sizes that can still be chosen, at most 31 ([`stream`]). A
//! comparison takes at most 128 steps on one word.
//!
//! # Limits
//!
//! Digests of block sizes that differ by more than a factor of two are not comparable and score 0; so do digests that
//! share no seven characters. 0 means "no similarity found", never "different"; scores are not fractions of common
//! bytes. Below about 4 KB a digest has too few pieces to be meaningful. The digest is not robust against an adversary:
//! a few edits in the right positions prevent a match.
//!
//! # Sources
//!
//! Kornblum 2006, "Identifying almost identical files using context triggered piecewise hashing", Digital Investigation
//! 3S: the method. The exact values were derived from observing the program's output, without its source.

mod blocks;
pub mod compare;
pub mod explain;
pub mod hash;
mod lanes;
pub mod list;
pub mod parse;
mod piece;
mod rolling;
pub mod stream;
mod words;

pub use compare::{Query, check_gram, compare, compare_lenient, compare_with};
pub use explain::{explain, trace};
pub use hash::{hash, hash_file, hash_file_and_content, hash_input};
pub use parse::Digest;
pub use stream::Hasher;

use super::check_length;

/// Number of block sizes: 3 * 2^0 to 3 * 2^30.
pub const LEVELS: u32 = 31;

/// The longest input: 64 pieces of the largest block size.
pub const MAX_INPUT: u64 = 64 * block_size(LEVELS - 1);

/// Maximum length of a part: 63 pieces and the tail.
pub const MAX_PART: usize = 64;

/// Pieces of part 1, and of part 2 if it is not truncated, without the tail.
pub(crate) const PIECES: usize = 63;

/// Pieces of a truncated part 2, without the tail.
pub(crate) const HALF_PIECES: usize = 31;

/// Minimum number of pieces in part 1; with fewer the block size is halved.
pub(crate) const ENOUGH_PIECES: usize = 32;

/// Length of the common run that two parts must share for a score above 0.
pub const GRAM: usize = 7;

/// The minimum length that can be chosen instead.
pub const MIN_GRAM: usize = 4;

/// The maximum: a truncated part 2 has no more characters.
pub const MAX_GRAM: usize = HALF_PIECES + 1;

/// State before the first byte of a piece.
const INITIAL_STATE: u8 = 0x27;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Return the character of a state.
#[inline]
fn character(state: u8) -> u8 {
    ALPHABET[usize::from(state & 63)]
}

/// Return the block size of level `i`.
pub const fn block_size(level: u32) -> u64 {
    3 << level
}

/// Options for writing a digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Cut runs of more than three equal characters to three.
    pub eliminate_runs: bool,
    /// Let part 2 have up to 64 characters instead of 32.
    pub no_truncation: bool,
}

impl Options {
    pub(crate) fn half_pieces(self) -> usize {
        if self.no_truncation { PIECES } else { HALF_PIECES }
    }
}

/// Return the level at which the search starts for an input of `length` bytes: the smallest with `64 B >= length`.
pub(crate) fn first_level(length: u64) -> u32 {
    (0..LEVELS - 1).find(|&level| 64 * block_size(level) >= length).unwrap_or(LEVELS - 1)
}

/// Return the text of a digest.
pub(crate) fn write(level: u32, part1: &[u8], part2: &[u8], options: Options) -> String {
    // The block size has at most ten digits.
    let mut text = String::with_capacity(10 + 2 * (1 + MAX_PART));
    let mut digits = [b'0'; 10];
    let (mut rest, mut first) = (block_size(level), digits.len());
    while rest != 0 {
        first -= 1;
        digits[first] += (rest % 10) as u8;
        rest /= 10;
    }
    let mut push = |ascii: &[u8]| text.push_str(&String::from_utf8_lossy(ascii));
    push(&digits[first..]);
    for part in [part1, part2] {
        push(b":");
        if options.eliminate_runs {
            let mut kept = Vec::with_capacity(part.len());
            parse::push_without_runs(part, &mut kept);
            push(&kept);
        } else {
            push(part);
        }
    }
    text
}
