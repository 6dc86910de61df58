//! The similarity score of two digests, 0 to 100, equal to the program's.
//!
//! ```text
//! B_x == B_y, equal parts:   100, whatever their length
//! B_x == B_y:                max(score(x1, y1, B), score(x2, y2, 2 B))
//! B_x == 2 B_y:              score(x1, y2, B_x)          and the other way round
//! otherwise:                 0
//!
//! score(s, t, B):   0 if s and t share no seven successive characters, else
//!     d = |s| + |t| - 2 LCS(s, t)                              insert and delete cost 1, replace 2
//!     r = 100 - (100 (64 d div (|s| + |t|))) div 64            both divisions round down, in this order
//!     r = min(r, (B div 3) min(|s|, |t|))  if B < 45           touches block sizes 3 to 24 only
//! ```
//!
//! The longest common subsequence takes one addition per character (Hyyrö 2004, "Bit-parallel LCS-length computation
//! revisited"): with mask[c] the positions of c in s and h all ones, `p = h & mask[c]; h = (h + p) | (h - p)`; its
//! length is the number of zeros of h. The common 7-gram is searched backwards from each possible end (as in BNDM), so
//! that unrelated parts are rejected after about two fifths of their characters.
//!
//! [`compare_with`] requires another number of consecutive common characters than seven.
//!
//! A [`Query`] stores the masks of one digest for many comparisons. It rejects texts that share no pair of characters
//! at the offsets that a common 7-gram would contain, and measures the rest in lanes ([`super::lanes`]).

use super::lanes::{LANES, MaskTable, Texts};
use super::parse::{Digest, Part, lenient_block_size};
use super::{GRAM, MAX_GRAM, MIN_GRAM};
use crate::error::{Error, Result};

/// The positions of each character of one part: of 128 characters if both sides are ASCII, as valid digests are,
/// otherwise of 256.
#[derive(Clone)]
struct Pattern<const CHARACTERS: usize = 256> {
    masks: [u64; CHARACTERS],
    length: usize,
}

impl<const CHARACTERS: usize> Pattern<CHARACTERS> {
    #[inline]
    fn new(part: &Part) -> Self {
        let mut masks = [0; CHARACTERS];
        for (i, &c) in part.as_bytes().iter().enumerate() {
            masks[usize::from(c) % CHARACTERS] |= 1 << i;
        }
        Self { masks, length: part.as_bytes().len() }
    }

    /// True if `text` shares `gram` consecutive characters with this part.
    #[inline]
    fn shares_gram(&self, text: &[u8], gram: usize) -> bool {
        if self.length < gram {
            return false;
        }
        let mut end = gram - 1;
        while end < text.len() {
            // Bit j of `at`: the last k characters up to `end` are in the part at j.
            let mut at = self.masks[usize::from(text[end]) % CHARACTERS];
            let mut k = 1;
            while at != 0 && k < gram {
                at = (at >> 1) & self.masks[usize::from(text[end - k]) % CHARACTERS];
                k += 1;
            }
            if at != 0 {
                return true;
            }
            // These k characters do not occur in the part: no common run contains them.
            end += gram + 1 - k;
        }
        false
    }

    /// Return the length of the longest common subsequence with `text`.
    #[inline]
    fn common(&self, text: &[u8]) -> u32 {
        let mut h = u64::MAX;
        for &c in text {
            let p = h & self.masks[usize::from(c) % CHARACTERS];
            h = h.wrapping_add(p) | (h - p);
        }
        h.count_zeros()
    }

    #[inline]
    fn score(&self, text: &[u8], block_size: u64, gram: usize) -> u32 {
        if self.shares_gram(text, gram) { rate(self.length, text.len(), self.common(text), block_size) } else { 0 }
    }
}

/// Return the length of the longest common subsequence of two parts.
pub(super) fn common_subsequence(left: &Part, right: &Part) -> u32 {
    Pattern::<256>::new(left).common(right.as_bytes())
}

/// Return the score of parts of lengths `a` and `b` that share a long enough run.
#[inline]
pub(super) fn rate(a: usize, b: usize, common: u32, block_size: u64) -> u32 {
    let total = (a + b) as u32;
    let distance = total - 2 * common;
    let score = 100 - (100 * ((distance * 64) / total)) / 64;
    score.min(cap(block_size, a.min(b)))
}

/// Return the maximum score of parts of `block_size` if the shorter one has `length` characters.
pub(super) fn cap(block_size: u64, length: usize) -> u32 {
    if block_size < 45 { (block_size / 3) as u32 * length as u32 } else { 100 }
}

/// The parts of two digests that have equal block sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartPairs {
    /// Both parts with each other.
    Same,
    /// Part 1 of the left with part 2 of the right.
    FirstSecond,
    /// Part 2 of the left with part 1 of the right.
    SecondFirst,
    /// None: the block sizes differ by more than a factor of two.
    Never,
}

#[inline]
pub(super) fn part_pairs(left: u64, right: u64) -> PartPairs {
    if left == right {
        PartPairs::Same
    } else if right.checked_mul(2) == Some(left) {
        PartPairs::FirstSecond
    } else if left.checked_mul(2) == Some(right) {
        PartPairs::SecondFirst
    } else {
        PartPairs::Never
    }
}

/// Return the score of `left` and `right`, 0 to 100. Symmetric.
#[inline]
pub fn compare(left: &Digest, right: &Digest) -> u32 {
    score_of(left, right, GRAM)
}

/// Return the score if two parts must share `gram` consecutive characters instead of seven.
///
/// # Errors
/// If `gram` is not 4 to 32.
pub fn compare_with(left: &Digest, right: &Digest, gram: usize) -> Result<u32> {
    check_gram(gram)?;
    Ok(score_of(left, right, gram))
}

/// Reject lengths of common substrings at which a score is meaningless: one in 70 pairs of random parts of 64
/// characters shares three, one in 4,500 shares four; and part 2 has at most 32.
///
/// # Errors
/// If it is not 4 to 32.
pub fn check_gram(gram: usize) -> Result<()> {
    if (MIN_GRAM..=MAX_GRAM).contains(&gram) {
        return Ok(());
    }
    Err(Error::parameter("least_common", gram, format!("{MIN_GRAM} to {MAX_GRAM} characters; ssdeep asks for {GRAM}")))
}

#[inline]
fn score_of(left: &Digest, right: &Digest, gram: usize) -> u32 {
    let size = left.block_size;
    match part_pairs(size, right.block_size) {
        PartPairs::Never => 0,
        PartPairs::Same if left == right => 100,
        PartPairs::Same => {
            let first = score(&left.part1, &right.part1, size, gram);
            first.max(score(&left.part2, &right.part2, size.saturating_mul(2), gram))
        }
        PartPairs::FirstSecond => score(&left.part1, &right.part2, size, gram),
        PartPairs::SecondFirst => score(&left.part2, &right.part1, right.block_size, gram),
    }
}

#[inline]
fn score(left: &Part, right: &Part, block_size: u64, gram: usize) -> u32 {
    if left.as_bytes().len().min(right.as_bytes().len()) < gram {
        0
    } else if left.is_ascii() && right.is_ascii() {
        Pattern::<128>::new(left).score(right.as_bytes(), block_size, gram)
    } else {
        Pattern::<256>::new(left).score(right.as_bytes(), block_size, gram)
    }
}

/// Return the score of two digests as the original library parses them; it compares block sizes before the parts.
///
/// # Errors
/// If one is not a digest even in that reading, or `gram` is not 4 to 32.
pub fn compare_lenient(left: &[u8], right: &[u8], gram: usize) -> Result<u32> {
    check_gram(gram)?;
    if part_pairs(lenient_block_size(left)?, lenient_block_size(right)?) == PartPairs::Never {
        return Ok(0);
    }
    Ok(score_of(&Digest::parse_lenient(left)?, &Digest::parse_lenient(right)?, gram))
}

/// A filter of the pairs of consecutive characters in a part, by their low six bits. It has no false negatives; a
/// random pair occurs in a full part with a probability of one in sixty.
#[derive(Clone)]
struct CharacterPairs([u64; 64]);

impl CharacterPairs {
    fn new(part: &Part) -> Self {
        let mut rows = [0; 64];
        // A part without a 7-gram shares none.
        if part.as_bytes().len() >= GRAM {
            for two in part.as_bytes().windows(2) {
                rows[usize::from(two[0] & 63)] |= 1 << (two[1] & 63);
            }
        }
        Self(rows)
    }

    /// Return false only if the part and `text` share no seven consecutive characters: any seven of `text` contain the
    /// pair that ends at one of every six positions.
    #[inline]
    fn may_share(&self, text: &Part) -> bool {
        let text = text.as_bytes();
        let mut end = GRAM - 1;
        while end < text.len() {
            if self.0[usize::from(text[end - 1] & 63)] >> (text[end] & 63) & 1 == 1 {
                return true;
            }
            end += GRAM - 1;
        }
        false
    }
}

/// Parts pending measurement against one part of the query.
struct PartQueue<'a> {
    own: &'a Part,
    table: &'a MaskTable,
    texts: Texts,
    /// Index, length and block size of each.
    waiting: [(usize, usize, u64); LANES],
    count: usize,
}

impl<'a> PartQueue<'a> {
    fn new(own: &'a Part, table: &'a MaskTable) -> Self {
        Self { own, table, texts: Texts::new(), waiting: [(0, 0, 0); LANES], count: 0 }
    }

    /// Add a text; return false and do nothing if lanes do not support it.
    #[inline]
    fn push(&mut self, text: &Part, block_size: u64, index: usize, scores: &mut [u8]) -> bool {
        if !self.texts.set(self.count, text) {
            return false;
        }
        self.waiting[self.count] = (index, text.as_bytes().len(), block_size);
        self.count += 1;
        if self.count == LANES {
            self.measure(scores);
        }
        true
    }

    /// Raise the scores of all pending texts.
    #[inline]
    fn measure(&mut self, scores: &mut [u8]) {
        if self.count == 0 {
            return;
        }
        let common = self.texts.measure(self.table);
        for (lane, &(index, length, block_size)) in self.waiting[..self.count].iter().enumerate() {
            if common.gram[lane] {
                let score = rate(self.own.as_bytes().len(), length, common.subsequence[lane], block_size) as u8;
                scores[index] = scores[index].max(score);
            }
        }
        self.count = 0;
    }
}

/// Number of digests buffered between parsing and scoring: 36 KB, which fit the first-level cache.
const HELD: usize = 256;

/// A digest prepared for many comparisons. 6 KB.
#[derive(Clone)]
pub struct Query {
    digest: Digest,
    pairs: [CharacterPairs; 2],
    /// None if a part can't be measured in lanes.
    tables: Option<[MaskTable; 2]>,
    part1: Pattern,
    part2: Pattern,
}

impl Query {
    /// Prepare the masks of `digest`.
    pub fn new(digest: &Digest) -> Self {
        let pairs = [CharacterPairs::new(&digest.part1), CharacterPairs::new(&digest.part2)];
        let tables =
            MaskTable::new(&digest.part1).zip(MaskTable::new(&digest.part2)).map(|(first, second)| [first, second]);
        Self { digest: *digest, pairs, tables, part1: Pattern::new(&digest.part1), part2: Pattern::new(&digest.part2) }
    }

    /// Return the digest.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Return the scores with `others`, equal to those of [`compare`].
    pub fn scores<'a>(&self, others: impl ExactSizeIterator<Item = &'a Digest>) -> Vec<u8> {
        let mut scores = vec![0u8; others.len()];
        let Some(tables) = &self.tables else {
            // A leniently parsed digest may contain any characters, and one with 64 distinct characters fills the
            // table.
            for (score, other) in scores.iter_mut().zip(others) {
                *score = self.score(other) as u8;
            }
            return scores;
        };
        let size = self.digest.block_size;
        let twice = size.saturating_mul(2);
        let (part1, part2) = (&self.digest.part1, &self.digest.part2);
        // Texts are grouped by part, so that those measured together have similar lengths.
        let mut queues: [PartQueue; 4] = std::array::from_fn(|kind| {
            let (own, table) = if kind < 2 { (part1, &tables[0]) } else { (part2, &tables[1]) };
            PartQueue::new(own, table)
        });
        let mut consider = |own: usize, of: usize, index: usize, text: &Part, block_size: u64, scores: &mut [u8]| {
            if self.pairs[own].may_share(text) && !queues[2 * own + of].push(text, block_size, index, scores) {
                let score = [&self.part1, &self.part2][own].score(text.as_bytes(), block_size, GRAM) as u8;
                scores[index] = scores[index].max(score);
            }
        };
        for (index, other) in others.enumerate() {
            match part_pairs(size, other.block_size) {
                PartPairs::Never => {}
                PartPairs::Same if part1.is(&other.part1) && part2.is(&other.part2) => scores[index] = 100,
                PartPairs::Same => {
                    consider(0, 0, index, &other.part1, size, &mut scores);
                    consider(1, 1, index, &other.part2, twice, &mut scores);
                }
                PartPairs::FirstSecond => consider(0, 1, index, &other.part2, size, &mut scores),
                PartPairs::SecondFirst => consider(1, 0, index, &other.part1, other.block_size, &mut scores),
            }
        }
        for queue in &mut queues {
            queue.measure(&mut scores);
        }
        scores
    }

    /// Return the scores with the digests in `texts`, as [`Self::scores`] does, parsing a few at a time.
    ///
    /// # Errors
    /// The first text that is not a digest, and its index.
    pub fn scores_of_texts(
        &self,
        texts: &[&[u8]],
        strict: bool,
    ) -> std::result::Result<Vec<u8>, (usize, crate::Error)> {
        let mut scores = Vec::with_capacity(texts.len());
        let mut digests = vec![Digest::default(); HELD.min(texts.len())];
        for texts in texts.chunks(HELD) {
            for (at, (text, digest)) in texts.iter().zip(&mut digests).enumerate() {
                let read =
                    if strict { digest.read(text) } else { Digest::parse_lenient(text).map(|found| *digest = found) };
                read.map_err(|error| (scores.len() + at, error))?;
            }
            scores.extend(self.scores(digests[..texts.len()].iter()));
        }
        Ok(scores)
    }

    /// Return the score with `other`, equal to that of [`compare`].
    #[inline]
    pub fn score(&self, other: &Digest) -> u32 {
        let size = self.digest.block_size;
        match part_pairs(size, other.block_size) {
            PartPairs::Never => 0,
            PartPairs::Same if self.digest.part1 == other.part1 && self.digest.part2 == other.part2 => 100,
            PartPairs::Same => {
                let first = self.part1.score(other.part1.as_bytes(), size, GRAM);
                first.max(self.part2.score(other.part2.as_bytes(), size.saturating_mul(2), GRAM))
            }
            PartPairs::FirstSecond => self.part1.score(other.part2.as_bytes(), size, GRAM),
            PartPairs::SecondFirst => self.part2.score(other.part1.as_bytes(), other.block_size, GRAM),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in super::super) fn lcs(s: &[u8], t: &[u8]) -> u32 {
        let mut row = vec![0u32; t.len() + 1];
        for &a in s {
            let mut corner = 0;
            for (j, &b) in t.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if a == b { corner + 1 } else { above.max(row[j]) };
                corner = above;
            }
        }
        row[t.len()]
    }

    fn slow(s: &[u8], t: &[u8], block_size: u64, gram: usize) -> u32 {
        if !s.windows(gram).any(|one| t.windows(gram).any(|other| one == other)) {
            return 0;
        }
        rate(s.len(), t.len(), lcs(s, t), block_size)
    }

    fn by_definition(s: &Digest, t: &Digest, gram: usize) -> u32 {
        match part_pairs(s.block_size, t.block_size) {
            PartPairs::Same if s == t => 100,
            PartPairs::Same => slow(s.part1.as_bytes(), t.part1.as_bytes(), s.block_size, gram).max(slow(
                s.part2.as_bytes(),
                t.part2.as_bytes(),
                2 * s.block_size,
                gram,
            )),
            PartPairs::FirstSecond => slow(s.part1.as_bytes(), t.part2.as_bytes(), s.block_size, gram),
            PartPairs::SecondFirst => slow(s.part2.as_bytes(), t.part1.as_bytes(), t.block_size, gram),
            PartPairs::Never => 0,
        }
    }

    fn digests() -> impl Strategy<Value = (Digest, Digest)> {
        let part = || prop_oneof!["[a-c]{0,64}", "[A-Za-z]{0,10}"];
        (0u32..6, part(), part(), 0u32..3, part(), part(), 0usize..60, 0usize..60).prop_map(
            |(i, a, b, step, c, d, from, to)| {
                let splice = |target: &str, source: &str| {
                    let cut = &source[from.min(source.len())..(from + 12).min(source.len())];
                    let at = to.min(target.len());
                    let mut text = format!("{}{cut}{}", &target[..at], &target[at..]);
                    text.truncate(64);
                    text
                };
                let read = |i: u32, x: &str, y: &str| Digest::parse(format!("{}:{x}:{y}", 3 << i).as_bytes()).unwrap();
                (read(i, &a, &b), read(i + step, &splice(&c, &a), &splice(&d, &b)))
            },
        )
    }

    #[test]
    fn a_zero_ends_a_lenient_digest_as_it_does_in_c() {
        let read = |text: &[u8]| Digest::parse_lenient(text);
        assert_eq!(read(b"96:abcdefgh:ab").unwrap(), read(b"96:abcdefgh:ab\0c").unwrap());
        assert!(read(b"96:abc\0defgh:ab").is_err());
    }

    #[test]
    fn what_stands_between_the_number_and_the_colon_does_not_count() {
        for (left, right) in [("96:abcdefgh:", "96x:abcdefgh:"), ("9.6:abc:", "9:abc:"), ("0x60:abc:", "0:abc:")] {
            assert_eq!(100, compare_lenient(left.as_bytes(), right.as_bytes(), GRAM).unwrap(), "{left} {right}");
        }
        // Incomparable block sizes return 0 before the colons are checked.
        assert_eq!(0, compare_lenient(b"24", b"3:abc:de", GRAM).unwrap());
        assert!(compare_lenient(b"24", b"24:abc:de", GRAM).is_err());
        assert!(compare_lenient(b":a:b", b"24:abc:de", GRAM).is_err());
    }

    #[test]
    fn lengths_outside_their_range_are_refused() {
        let empty = Digest::parse(b"3::").unwrap();
        for gram in [0, 3, 33] {
            let error = compare_with(&empty, &empty, gram).unwrap_err().to_string();
            assert_eq!(format!("least_common={gram} is not allowed; use 4 to 32 characters; ssdeep asks for 7"), error);
            assert!(compare_lenient(b"3::", b"3::", gram).is_err());
        }
        assert_eq!(100, compare_with(&empty, &empty, 32).unwrap());
    }

    #[test]
    fn equal_digests_score_100_even_when_empty() {
        let empty = Digest::parse(b"3::").unwrap();
        assert_eq!(100, compare(&empty, &empty));
        assert_eq!(0, compare(&empty, &Digest::parse(b"6::").unwrap()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn scores_follow_the_definition((x, y) in digests()) {
            let expected = by_definition(&x, &y, GRAM);
            prop_assert_eq!(expected, compare(&x, &y));
            prop_assert_eq!(expected, compare(&y, &x));
            prop_assert_eq!(expected, Query::new(&x).score(&y));
        }

        #[test]
        fn scores_of_other_lengths_follow_the_definition((x, y) in digests(), gram in 4usize..14) {
            prop_assert_eq!(by_definition(&x, &y, gram), compare_with(&x, &y, gram).unwrap());
            prop_assert_eq!(by_definition(&x, &y, gram), compare_with(&y, &x, gram).unwrap());
            let texts = [x.to_text(), y.to_text()];
            prop_assert_eq!(by_definition(&x, &y, gram), compare_lenient(&texts[0], &texts[1], gram).unwrap());
        }

        #[test]
        fn scores_together_are_scores_one_by_one(pairs in prop::collection::vec(digests(), 1..12)) {
            let others: Vec<Digest> = pairs.iter().flat_map(|(x, y)| [*x, *y]).collect();
            for query in &others {
                let expected: Vec<u8> = others.iter().map(|other| compare(query, other) as u8).collect();
                prop_assert_eq!(expected, Query::new(query).scores(others.iter()));
            }
        }
    }
}
