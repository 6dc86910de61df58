//! Whole numbers: the points, signs and slashes of a text that belong to its numbers.
//!
//! | character | belongs to a number |
//! |---|---|
//! | `.` `,` `٫` `٬` and the fraction slash `⁄` | directly between two decimal digits |
//! | `+` `-` `−` | directly before a decimal digit, unless directly after a letter, mark, digit or connector |
//!
//! The minus sign `−` is normalized to `-`. Decimal digits are those of any script (Nd), letters those of
//! `letters:word`. The rules apply to the text after normalization, folds and case, before anything is removed. NFKC
//! writes ½ as `1⁄2`.
//!
//! For character n-grams, characters of numbers are kept in addition to the letters ([`Whole`]). For word n-grams,
//! words that touch such a character are joined with it ([`Joined`]): `-5`, `1.5`, `1,000`, `1⁄2`, with any segmenter.
//! Cost: one pass over the text.

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

use crate::cancel::CancelToken;
use crate::text::unicode::{CharMap, Letters, Origin, SLACK};
use crate::{Error, Result, alloc};

/// The rule for reading numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Only their digits.
    Split,
    /// Also points, signs and fraction slashes.
    Whole,
}

impl Numbers {
    /// Return the rule called `name`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn new(name: &str) -> Result<Self> {
        match name {
            "split" => Ok(Self::Split),
            "whole" => Ok(Self::Whole),
            other => Err(Error::parameter("numbers", other, "split or whole")),
        }
    }
}

/// A character that belongs to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Its byte offset in the text, and that of the digit after it.
    start: usize,
    end: usize,
    /// True if there is also a digit before it.
    links: bool,
}

/// A reader of texts with whole numbers.
#[derive(Clone, Copy)]
pub(crate) struct Whole {
    /// The other characters to keep; everything if words are read.
    pub(crate) letters: Option<&'static CharMap>,
}

impl Whole {
    /// Copy the letters and the characters of numbers from `text` to `out` (cleared first), with capacity for `SLACK`
    /// more bytes; `marks` receives the positions of the latter in `out`. The copy of a long text may be incomplete
    /// after cancellation.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn keep(self, text: &str, out: &mut String, marks: &mut Vec<Mark>, cancel: &CancelToken) -> Result<()> {
        out.clear();
        marks.clear();
        // The output is never longer than the input.
        alloc::try_reserve_str(out, text.len() + SLACK)?;
        let mut fits = Ok(());
        self.each(text, cancel, |_, c, links| {
            let start = out.len();
            out.push(c);
            if let Some(links) = links
                && fits.is_ok()
            {
                fits = alloc::try_extend(marks, &[Mark { start, end: out.len(), links }]);
            }
        });
        fits
    }

    /// Map the origins of `text` to those of the output of [`Whole::keep`]; ranges without kept characters become
    /// empty.
    pub(crate) fn shorten(self, text: &str, origins: &mut [Origin], cancel: &CancelToken) {
        let (mut next, mut written) = (0, 0);
        self.each(text, cancel, |at, c, _| {
            while origins[next].end <= at {
                origins[next].end = written;
                next += 1;
            }
            written += c.len_utf8();
        });
        origins[next..].iter_mut().for_each(|origin| origin.end = written);
    }

    /// Call `each(at, c, links)` with each kept character: its offset in `text`, its normalized form and, for
    /// characters of numbers, whether there is also a digit before it.
    #[inline]
    fn each(self, text: &str, cancel: &CancelToken, mut each: impl FnMut(usize, char, Option<bool>)) {
        let mut before = None;
        for (at, c) in cancel.often(text.char_indices()) {
            let links = match c {
                '.' | ',' | '\u{66b}' | '\u{66c}' | '\u{2044}' => before.is_some_and(is_digit).then_some(true),
                '+' | '-' | '\u{2212}' => (!before.is_some_and(|c| Letters::Word.contains(c))).then_some(false),
                _ => None,
            };
            before = Some(c);
            let links = links.filter(|_| text[at + c.len_utf8()..].chars().next().is_some_and(is_digit));
            if links.is_some() {
                each(at, if c == '\u{2212}' { '-' } else { c }, links);
            } else if self.letters.is_none_or(|letters| letters.keeps(c)) {
                each(at, c, None);
            }
        }
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
        || !c.is_ascii() && CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::DecimalNumber
}

/// Words of a text, joined with the marks they touch; a joined word is kept if its last component is.
pub(crate) struct Joined<'a> {
    marks: std::slice::Iter<'a, Mark>,
    /// The word that may be continued.
    word: Option<(usize, usize, bool)>,
    /// True if the next word belongs to it, because its last character is a mark.
    open: bool,
}

impl<'a> Joined<'a> {
    pub(crate) fn new(marks: &'a [Mark]) -> Self {
        Self { marks: marks.iter(), word: None, open: false }
    }

    /// Add the next word of the text; return a completed one.
    pub(crate) fn add(&mut self, mut start: usize, end: usize, kept: bool) -> Option<(usize, usize, bool)> {
        let mut joins = std::mem::take(&mut self.open);
        while let Some(mark) = self.marks.as_slice().first().filter(|mark| mark.start < end) {
            self.marks.next();
            joins |= mark.links && self.word.is_some_and(|(_, before, _)| before == mark.start);
            // A mark between words belongs to the digit after it.
            start = start.min(mark.start);
            self.open = mark.end == end;
        }
        match &mut self.word {
            Some(word) if joins => {
                (word.1, word.2) = (end, kept);
                None
            }
            word => word.replace((start, end, kept)),
        }
    }

    /// Return the last word.
    pub(crate) fn last(&mut self) -> Option<(usize, usize, bool)> {
        self.word.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::unicode::{Case, Form};

    fn kept(text: &str) -> (String, usize) {
        let (mut out, mut marks) = (String::new(), Vec::new());
        let letters = CharMap::get(Form::None, Case::Keep, Letters::Word).expect("room");
        Whole { letters: Some(letters) }.keep(text, &mut out, &mut marks, &CancelToken::default()).expect("room");
        for mark in &marks {
            assert!(out[mark.end..].starts_with(is_digit), "{text:?}");
        }
        (out, marks.len())
    }

    #[test]
    fn points_signs_and_slashes_of_numbers_stay() {
        for (text, expected, marks) in [
            ("1.5 percent", "1.5percent", 1),
            ("15 percent.", "15percent", 0),
            ("1,000,000.50", "1,000,000.50", 3),
            ("-5 +5 \u{2212}5", "-5+5-5", 3),
            ("a-5 10-5 _-5 (-5)", "a5105_5-5", 1),
            ("- 5, 6; 7", "567", 0),
            ("1\u{2044}2 cup", "1\u{2044}2cup", 1),
            ("--5 .5 5.", "-555", 1),
            ("٣٫٥", "٣٫٥", 1),
            ("", "", 0),
        ] {
            assert_eq!((expected.to_owned(), marks), kept(text), "{text:?}");
        }
    }
}
