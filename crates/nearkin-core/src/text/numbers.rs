//! Numbers kept whole: which points, signs and slashes of a text belong to its numbers.
//!
//! | character | belongs to a number |
//! |---|---|
//! | `.` `,` `٫` `٬` and the fraction slash `⁄` | directly between two decimal digits |
//! | `+` `-` `−` | directly before a decimal digit, unless directly behind a letter, mark, digit or connector |
//!
//! The minus sign `−` is then written `-`. Decimal digits are those of any script (Nd), letters those of `letters:word`. All of it
//! is judged in the text after normalisation, folds and case, before anything is removed. NFKC writes ½ as `1⁄2`.
//!
//! Of characters, those that belong to numbers stay beside the letters ([`Whole`]). Of words, those that touch such a character
//! become one word with it ([`Joined`]): `-5`, `1.5`, `1,000`, `1⁄2`, whoever cuts the words. Cost: one pass over the text.

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

use crate::cancel::CancelToken;
use crate::text::unicode::{CharMap, Letters, Origin, SLACK};
use crate::{Error, Result, alloc};

/// What is read of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Their digits.
    Split,
    /// Points, signs and fraction slashes, too.
    Whole,
}

impl Numbers {
    /// The rule called `name`.
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
    /// Where it is in the text, in bytes, and where the digit behind it is.
    start: usize,
    end: usize,
    /// Whether there is a digit before it, too.
    links: bool,
}

/// What is read of a text with whole numbers.
#[derive(Clone, Copy)]
pub(crate) struct Whole {
    /// What else of characters is kept; everything where words are read.
    pub(crate) letters: Option<&'static CharMap>,
}

impl Whole {
    /// Copies `text` into `out` (cleared first), of it only what the letters keep and what belongs to numbers; `marks` become the
    /// places of these in `out`. There is room for `SLACK` bytes more. Of a long text the rest may be left out once the call is
    /// stopped.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn keep(self, text: &str, out: &mut String, marks: &mut Vec<Mark>, stop: &CancelToken) -> Result<()> {
        out.clear();
        marks.clear();
        // What is written is never longer than what is read.
        alloc::try_reserve_str(out, text.len() + SLACK)?;
        let mut fits = Ok(());
        self.each(text, stop, |_, c, links| {
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

    /// Turns the origins of `text` into those of what [`Whole::keep`] makes of it; stretches of which nothing is kept have no length.
    pub(crate) fn shorten(self, text: &str, origins: &mut [Origin], stop: &CancelToken) {
        let (mut next, mut made) = (0, 0);
        self.each(text, stop, |at, c, _| {
            while origins[next].end <= at {
                origins[next].end = made;
                next += 1;
            }
            made += c.len_utf8();
        });
        origins[next..].iter_mut().for_each(|origin| origin.end = made);
    }

    /// Calls `each(at, c, links)` with each character that is kept: where it is in `text`, how it is written, and of those that belong
    /// to numbers whether there is a digit before it, too.
    #[inline]
    fn each(self, text: &str, stop: &CancelToken, mut each: impl FnMut(usize, char, Option<bool>)) {
        let mut before = None;
        for (at, c) in stop.often(text.char_indices()) {
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

/// Words of a text, those that touch a mark joined with it; a joined word is kept if its last part is.
pub(crate) struct Joined<'a> {
    marks: std::slice::Iter<'a, Mark>,
    /// The word that may go on.
    word: Option<(usize, usize, bool)>,
    /// Whether the next word belongs to it: its last character is a mark.
    open: bool,
}

impl<'a> Joined<'a> {
    pub(crate) fn new(marks: &'a [Mark]) -> Self {
        Self { marks: marks.iter(), word: None, open: false }
    }

    /// Takes the next word of the text; gives one that is complete.
    pub(crate) fn add(&mut self, mut start: usize, end: usize, kept: bool) -> Option<(usize, usize, bool)> {
        let mut joins = std::mem::take(&mut self.open);
        while let Some(mark) = self.marks.as_slice().first().filter(|mark| mark.start < end) {
            self.marks.next();
            joins |= mark.links && self.word.is_some_and(|(_, before, _)| before == mark.start);
            // A mark between words belongs to the digit behind it.
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

    /// The last word.
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
