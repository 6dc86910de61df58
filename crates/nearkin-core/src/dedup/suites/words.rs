//! Words of a text as 64-bit hashes.
//!
//! Words are those of UAX #29 after NFKC, the fold of look-alike letters (UTS #39) and case folding; an ideograph is a
//! word. Apostrophes, other signs that link letters or digits (`_ . , : ;`), and invisible characters are left out of a
//! word of up to [`MAX_COMPACT`] bytes, so that `don't` with any apostrophe is `dont`, and `_word_` in Markdown `word`.
//! With little-endian `lo` and `hi` the first 16 bytes of a word of `len` bytes, padded with zeros, and `mix(a, b)` the
//! xor of the two halves of the product of a and b:
//! ```text
//! hash = mix(mix(lo ^ K0, hi ^ K1) ^ len, K2)        up to 16 bytes
//! hash = XXH3-64 of the word, seed 0                 longer
//! ```
//! Bit 0 is cleared; an index stores there whether a word is informative.
//!
//! The short form is a folded multiplication, as in wyhash. A collision of two words of 10^8 has a probability of about
//! 10^-3.

use crate::Result;
use crate::alloc;
use crate::hash::xxh3;
use crate::text::cut::Cut;
use crate::text::fold::Folds;
use crate::text::numbers::Numbers;
use crate::text::tokenizer::{FeatureKind, Reading, Scratch, Tokenizer};
use crate::text::unicode::{Case, Form, Letters};

/// Digits of pi: nothing up the sleeve.
const K0: u64 = 0x243f_6a88_85a3_08d3;
const K1: u64 = 0x1319_8a2e_0370_7344;
const K2: u64 = 0xa409_3822_299f_31d1;

/// Longest word from which links are left out.
const MAX_COMPACT: usize = 128;

/// Reads the words of texts.
pub(super) struct WordReader {
    tokenizer: Tokenizer,
}

impl WordReader {
    /// Create a reader of words, or of the tokens of source code.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn new(code: bool) -> Result<Self> {
        let reading = Reading {
            form: Form::Nfkc,
            folds: Folds::new(&["lookalikes"])?,
            case: Case::Fold,
            letters: Letters::Word,
            numbers: Numbers::Split,
        };
        let tokenizer = Tokenizer::of(FeatureKind::Word(1), reading, &[])?;
        let cut = if code { Cut::Code(false) } else { Cut::Uax29 };
        Ok(Self { tokenizer: tokenizer.with_words(cut, 1, &[])? })
    }

    /// Write the hashes of the words of `text` to `out`.
    ///
    /// # Errors
    /// Memory runs out.
    #[inline]
    pub(super) fn hashes(&self, text: &str, scratch: &mut Scratch, out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        self.each(text, scratch, |word, text, start| {
            if out.len() == out.capacity() {
                alloc::try_reserve(out, out.len().max(256))?;
            }
            out.push(hash(word, text, start));
            Ok(())
        })
    }

    /// Call `each(word, text, start)` with the words of `text` and their place in its normalized form.
    #[inline]
    pub(super) fn each(
        &self,
        text: &str,
        scratch: &mut Scratch,
        mut each: impl FnMut(&[u8], &[u8], usize) -> Result<()>,
    ) -> Result<()> {
        let mut fits = Ok(());
        self.tokenizer.words(text, scratch, |text, start, end, _| {
            if fits.is_ok() {
                fits = each(&text[start..end], text, start);
            }
        })?;
        fits
    }

    /// Return the start and end of each word in characters of `text`.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn spans(&self, text: &str, scratch: &mut Scratch) -> Result<Vec<(usize, usize)>> {
        let (mut spans, mut fits) = (Vec::new(), Ok(()));
        self.tokenizer.places(text, scratch, |_, start, end| {
            if fits.is_ok() {
                fits = alloc::try_reserve(&mut spans, 1);
            }
            if fits.is_ok() {
                spans.push((start, end));
            }
        })?;
        fits.map(|()| spans)
    }
}

#[inline(always)]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Return the hash of `word`, which begins at byte `start` of `text`.
#[inline(always)]
pub(super) fn hash(word: &[u8], text: &[u8], start: usize) -> u64 {
    if word.len() > 16 {
        return compact_hash(word);
    }
    let mut block = [0; 16];
    if let Some(bytes) = text.get(start..start + 16) {
        block.copy_from_slice(bytes);
    } else {
        block[..word.len()].copy_from_slice(word);
    }
    // A shift by 128, for no bytes, does not occur: words are not empty.
    let value = u128::from_le_bytes(block) & (u128::MAX >> (128 - 8 * word.len().max(1)));
    // Lower-case letters of ASCII have both of these bits, links have not; digits and other letters take the slow path.
    let letters = LETTER_BITS & (u128::MAX >> (128 - 8 * word.len().max(1)));
    if value & letters != letters {
        return compact_hash(word);
    }
    short_hash(value, word.len())
}

const LETTER_BITS: u128 = u128::from_le_bytes([0x60; 16]);

#[inline(always)]
fn short_hash(value: u128, length: usize) -> u64 {
    mix(mix(value as u64 ^ K0, (value >> 64) as u64 ^ K1) ^ length as u64, K2) & !1
}

/// Return the hash of a word without links and invisible characters.
fn compact_hash(word: &[u8]) -> u64 {
    let mut compact = [0; MAX_COMPACT];
    let (mut length, mut rest) = (0, word);
    if word.len() <= MAX_COMPACT {
        while let Some((&byte, after)) = rest.split_first() {
            match rest {
                [b'\'' | b'.' | b',' | b':' | b';' | b'_', ..] => rest = after,
                // Soft hyphen and middle dot; joiners and marks of direction, quotation marks, hyphenation point; word joiner.
                [0xc2, 0xad | 0xb7, after @ ..]
                | [0xe2, 0x80, 0x8c..=0x8f | 0x98 | 0x99 | 0xa7, after @ ..]
                | [0xe2, 0x81, 0xa0, after @ ..] => rest = after,
                _ => {
                    compact[length] = byte;
                    length += 1;
                    rest = after;
                }
            }
        }
    }
    let word = if length > 0 { &compact[..length] } else { word };
    if word.len() > 16 {
        return xxh3::hash(word, 0) & !1;
    }
    let mut block = [0; 16];
    block[..word.len()].copy_from_slice(word);
    short_hash(u128::from_le_bytes(block), word.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hashes(text: &str) -> Vec<u64> {
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        WordReader::new(false).and_then(|reader| reader.hashes(text, &mut scratch, &mut out)).expect("room");
        out
    }

    #[test]
    fn equal_words_have_equal_hashes_wherever_they_stand() {
        assert_eq!(hashes("the cat"), hashes("The CAT, which sat")[..2]);
        assert_eq!(hashes("a long pneumonoultramicroscopic word"), hashes("A _long_ pneumonoultramicroscopic (word)"));
        // Cyrillic а and о.
        assert_eq!(hashes("the cat sat on"), hashes("the c\u{430}t sat \u{43e}n"));
        assert_eq!(hashes("\u{6c34} \u{706b}"), hashes("\u{6c34}\u{706b}"));
        assert_eq!(hashes("dont us 3000 exampl\u{e9}"), hashes("don\u{2019}t U.S 3,000 exam\u{ad}pl\u{e9}"));
        assert_eq!(hashes("don't"), hashes("DON\u{2019}T"));
        let all = hashes("a b ab ba aa 1 11 abcdefgh abcdefghi bcdefghi");
        assert_eq!(10, all.iter().collect::<std::collections::HashSet<_>>().len());
    }

    proptest! {
        #[test]
        fn each_word_has_a_span(text in "[a-c_ .,'\u{430}\u{6c34}\u{301}\u{fb01}-]{0,60}|\\PC{0,40}") {
            let reader = WordReader::new(false).expect("room");
            let spans = reader.spans(&text, &mut Scratch::default()).expect("room");
            prop_assert_eq!(hashes(&text).len(), spans.len());
        }
    }
}
