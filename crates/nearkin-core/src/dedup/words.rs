//! Similarity of short texts, such as titles and names, by their words.
//!
//! Words are those of UAX #29 after NFKC and case folding, without apostrophes; a run of ideographs, kana or Hangul is
//! one word. Equal words of the two texts are *partners*, in any order. Of the others, words that are equal up to typing
//! errors are partners, and a word and two neighbours that are written separately:
//!
//! | word | typing errors: insertions, deletions, substitutions, transpositions of neighbours (OSA) |
//! |---|---|
//! | of 5 letters or more; of 8 | 1; 2 |
//! | of 5 ideographs, kana or syllables of Hangul or more | 1 |
//! | a *code*: with a digit, a Roman numeral from II on, a single letter other than a, i and s, a negation | none |
//!
//! With w the weight of the words that have partners and u that of the others,
//!
//! ```text
//! similarity = w / (w + u)
//! ```
//!
//! and 0 for two texts with other numbers or `MARKS`, or the same in another order; if a code has no partner; if each
//! of them has a word without a partner that is no stop word: a word in place of another makes another title, however
//! long it is.
//!
//! The weight of a word is its number of letters, up to 8; of an ideograph 2 each; of a stop word a quarter.
//!
//! Cost: linear in the texts, and at most `MAX_LEFT`² distances of words of up to `MAX_LENGTH` characters. Longer words,
//! and texts with more words that the other lacks, have only equal partners.

use std::collections::HashMap;

use crate::text::tokenizer::{FeatureKind, Scratch, Tokenizer};
use crate::text::unicode::{Case, Form, Letters};
use crate::{Result, alloc};

/// Maximum number of words without an equal one whose typing errors are forgiven.
const MAX_LEFT: usize = 32;
/// Maximum length, in characters, of a word whose typing errors are forgiven.
const MAX_LENGTH: usize = 64;
/// Words that hardly distinguish titles, ascending.
const STOP_WORDS: [&str; 28] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "her", "his", "in", "into", "is", "it", "its",
    "my", "of", "on", "or", "our", "the", "their", "this", "to", "with", "your",
];
/// The first letter of a run of ideographs, kana or Hangul.
const SYLLABLES: fn(char) -> bool = |c| c >= '\u{2e80}';
/// Words without which a title says the opposite.
const NEGATIONS: [&str; 5] = ["never", "no", "non", "not", "without"];
/// Numerals and negations among ideographs.
const MARKS: &str = "〇零一二三四五六七八九十百千不没沒非无無未";

/// Return the tokenizer of the words.
///
/// # Errors
/// Memory runs out.
pub(super) fn tokenizer() -> Result<Tokenizer> {
    Tokenizer::new(FeatureKind::Word(1), Form::Nfkc, Case::Fold, Letters::Word, &[])
}

/// Append the words of `text` to `out`, each but the first behind a space.
///
/// # Errors
/// Memory runs out.
pub(super) fn read(tokenizer: &Tokenizer, text: &str, scratch: &mut Scratch, out: &mut String) -> Result<()> {
    let (first, mut run, mut refused) = (out.len(), 0, None);
    tokenizer.words(text, scratch, |text, start, end, _| {
        let word = str::from_utf8(&text[start..end]).unwrap_or_default();
        refused = refused.take().or_else(|| alloc::try_reserve_str(out, word.len() + 1).err());
        if refused.is_none() {
            let cjk = word.starts_with(SYLLABLES);
            if out.len() > first && !(cjk && run == start) {
                out.push(' ');
            }
            out.extend(word.chars().filter(|c| !matches!(c, '\'' | '’')));
            run = if cjk { end } else { 0 };
        }
    })?;
    refused.map_or(Ok(()), Err)
}

#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    length: usize,
    /// The set of its code points modulo 32.
    letters: u32,
}

impl<'a> Word<'a> {
    fn new(text: &'a str) -> Self {
        let add = |(length, letters), c: char| (length + 1, letters | 1 << (c as u32 % 32));
        let (length, letters) = text.chars().fold((0, 0), add);
        Self { text, length, letters }
    }

    fn is_cjk(self) -> bool {
        self.text.starts_with(SYLLABLES)
    }

    fn is_code(self) -> bool {
        let single = matches!(self.text.as_bytes(), [b'b'..=b'h' | b'j'..=b'r' | b't'..=b'z']);
        let roman = (2..6).contains(&self.length) && self.text.bytes().all(|byte| matches!(byte, b'i' | b'v' | b'x'));
        single || roman || self.has_digit() || NEGATIONS.contains(&self.text)
    }

    fn has_digit(self) -> bool {
        self.text.contains(char::is_numeric)
    }

    fn is_stop(self) -> bool {
        STOP_WORDS.binary_search(&self.text).is_ok()
    }

    /// Return four times the weight.
    fn weight(self) -> usize {
        let (most, each) = if self.is_cjk() { (self.length, 8) } else { (8, if self.is_stop() { 1 } else { 4 }) };
        self.length.min(most) * each
    }

    /// True if the `other` words, written together, are this one up to typing errors.
    fn fits(self, other: &[Self]) -> bool {
        let letters = other.iter().fold(0, |letters, part| letters | part.letters);
        let length: usize = other.iter().map(|part| part.length).sum();
        // A substitution removes a letter and adds another.
        if self.length.abs_diff(length) > 2 || (self.letters ^ letters).count_ones() > 4 {
            return false;
        }
        let written = || other.iter().flat_map(|part| part.text.chars());
        if self.text.chars().eq(written()) {
            return other.len() == 1 || self.has_digit() || !self.is_code();
        }
        let cjk = self.is_cjk();
        let forgiving = self.length.min(length) >= 5 && self.length.max(length) <= MAX_LENGTH;
        if !forgiving || self.is_code() || other.iter().any(|part| part.is_code() || part.is_cjk() != cjk) {
            return false;
        }
        let errors = 1 + usize::from(!cjk && self.length.max(length) >= 8);
        let args = rapidfuzz::distance::osa::Args::default().score_cutoff(errors);
        rapidfuzz::distance::osa::distance_with_args(self.text.chars(), written(), &args).is_some()
    }
}

/// Return the words of each text that have no equal one in the other, in their order.
fn left<'a>(a: &'a str, b: &'a str) -> Result<[Vec<Word<'a>>; 2]> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    alloc::try_reserve_map(&mut counts, b.split(' ').count())?;
    b.split(' ').for_each(|word| *counts.entry(word).or_default() += 1);
    let mut left = |words: &mut dyn Iterator<Item = &'a str>, unequal: bool| {
        let mut left = alloc::BestEffortVec::default();
        for word in words {
            let count = counts.get_mut(word).filter(|count| **count > 0);
            if count.is_none() == unequal {
                left.push(Word::new(word));
            }
            if let Some(count) = count {
                *count -= 1;
            }
        }
        left.into_vec()
    };
    let x = left(&mut a.split(' '), true)?;
    // What a has left of the counts.
    let mut y = left(&mut b.split(' ').rev(), false)?;
    y.reverse();
    Ok([x, y])
}

/// Return the numbers and the marks of a text, in their order.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_numeric() && !MARKS.contains(c)).filter(|number| !number.is_empty())
}

/// Return the similarity of two texts of words; 0 if one is empty.
///
/// # Errors
/// Memory runs out.
pub(super) fn similarity(a: &str, b: &str) -> Result<f64> {
    if a.is_empty() || b.is_empty() || !numbers(a).eq(numbers(b)) {
        return Ok(0.0);
    }
    // Which partner is first depends on the order of the texts.
    let (a, b) = (a.min(b), a.max(b));
    let [mut x, mut y] = left(a, b)?;
    if x.len().max(y.len()) <= MAX_LEFT {
        for (count, swapped) in [(1, false), (2, false), (2, true)] {
            let (one, other) = if swapped { (&mut y, &mut x) } else { (&mut x, &mut y) };
            one.retain(|word| {
                let found = other.windows(count).position(|words| word.fits(words));
                found.map(|at| other.drain(at..at + count)).is_none()
            });
        }
    }
    let differs = [&x, &y].map(|words| !words.iter().all(|word| word.is_stop()));
    if differs == [true; 2] || x.iter().chain(&y).any(|word| word.is_code()) {
        return Ok(0.0);
    }
    let total: usize = [a, b].into_iter().flat_map(|text| text.split(' ')).map(|word| Word::new(word).weight()).sum();
    let without: usize = x.iter().chain(&y).map(|word| word.weight()).sum();
    Ok((total - without) as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(a: &str, b: &str) -> f64 {
        let tokenizer = tokenizer().expect("valid");
        let [a, b] = [a, b].map(|text| {
            let mut words = String::new();
            read(&tokenizer, text, &mut Scratch::default(), &mut words).expect("room");
            words
        });
        let found = similarity(&a, &b).expect("room");
        assert!((found - similarity(&b, &a).expect("room")).abs() < 1e-12, "{a} | {b}");
        found
    }

    #[test]
    fn order_typing_errors_spaces_and_marks_are_forgiven() {
        for (a, b) in [
            ("Dark mode, editor", "editor: DARK MODE"),
            ("retrieval of documents", "retreival of documnts"),
            ("an online database", "an on-line data base"),
            ("a disk of 256GB", "a disk of 256 GB"),
            ("women's world", "womens world"),
            ("在圖書館的同學", "在圖書館的童學"),
            ("論語 學而第一", "論語學而第一"),
        ] {
            assert!((of(a, b) - 1.0).abs() < 1e-9, "{a} | {b}");
        }
        assert!(of("dark mode in the editor", "dark mode in their editor") > 0.9);
        // 2 · 12 letters of both, 5 of one more word.
        assert!((of("theory of sets", "naive theory of sets") - 21.0 / 26.0).abs() < 1e-9);
    }

    #[test]
    fn another_number_code_or_word_makes_another_title() {
        for (a, b) in [
            ("SR-2023-052", "SR-2023-053"),
            ("Amendment 16", "Amendment 17"),
            ("Amendment", "Amendment 17"),
            ("2023-01-02", "2023-02-01"),
            ("part 1 2", "part 12"),
            ("model lds4821ww", "model lds4821wh"),
            ("World War I", "World War II"),
            ("volume vi i", "volume vii"),
            ("vitamin b in food", "vitamin c in food"),
            ("introduction to algebra", "introduction to topology"),
            ("the north gate", "the south gate"),
            ("山居詩之一", "山居詩之二"),
            ("南京市公園", "北京市公路"),
            ("允许在公园里吸烟", "不允许在公园里吸烟"),
            ("the user wants daily reports by mail", "the user wants no daily reports by mail"),
            ("", ""),
            ("...", "..."),
        ] {
            assert!(0.0 >= of(a, b), "{a} | {b}");
        }
    }

    #[test]
    fn many_and_long_words_have_equal_partners_only() {
        let many = |word: &str| (0..=MAX_LEFT).map(|i| word.to_owned() + &"x".repeat(i)).collect::<Vec<_>>().join(" ");
        assert!(0.0 >= of(&many("abcde"), &many("abdce")));
        let long = "abcdefgh".repeat(MAX_LENGTH / 8);
        assert!(0.0 >= of(&format!("{long}i"), &format!("{long}j")));
        assert!(of(&long, &long[1..]) > 0.99);
    }

    proptest! {
        #[test]
        fn every_pair_has_a_similarity(a in "[a-cx1一二甲 ]{0,30}", b in "[a-cx1一二甲 ]{0,30}") {
            prop_assert!((0.0..=1.0).contains(&of(&a, &b)));
            prop_assert!((of(&a, &a) - 1.0).abs() < 1e-9 || a.trim().is_empty());
        }
    }
}
