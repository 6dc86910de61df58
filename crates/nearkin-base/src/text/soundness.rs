//! How much of a text is sound: its words, and those that are damaged, repeated or part of a menu.
//!
//! A *word* is a run of letters and digits, or one ideograph. One pass over the text counts, by `Count`:
//!
//! | count | words |
//! |---|---|
//! | `Words` | all |
//! | `Damaged` | with U+FFFD, a control character, or UTF-8 that was read as Latin-1 or Windows-1252 (`Ã©`, `â€™`) |
//! | `Noisy` | with a digit or one of `!$^\|~` where a letter belongs (`w0rd`, `1ittle`, `he\|p`) |
//! | `Repeated` | in a sentence or line that the text had before |
//! | `Menu` | in a bar (`Home \| News \| Sport`), or in three or more lines of a few capitalized words at the begin or end; zero if they are most of the text |
//! | `Distinct` | that are the first of their kind: misspelt words are seldom seen twice |
//! | `Breaks` | none: the number of lines with a sound word, and the number that follow a line without |
//!
//! Each word has one fault at most. French (`été »`) and code (`utf8`, `a|b`) may look damaged; such a word counts less
//! in every copy of the text, so that copies are compared without it. Cost: one pass, and one bit per bit of the text
//! to recognize words.

use std::ops::RangeInclusive;

use crate::cancel::CancelToken;
use crate::parallel::prelude::*;
use crate::text::tokenizer::TextSource;
use crate::{Result, alloc};

/// Index of each number of a text.
#[derive(Clone, Copy)]
enum Count {
    Words,
    Damaged,
    Noisy,
    Repeated,
    Menu,
    Distinct,
    Breaks,
}
use Count::{Breaks, Damaged, Distinct, Menu, Noisy, Repeated, Words};

/// Numbers of a text.
pub const COUNTS: usize = 7;

/// Bytes of a line of a menu, and the least number of such lines.
const MENU_BYTES: usize = 32;
const MENU_LINES: u32 = 3;
/// The least number of words of a repetition is this, and one more for so many bytes of the text: by chance long texts,
/// such as code, repeat some lines.
const REPEATED_WORDS: u32 = 2;
const REPEATED_SHARE: usize = 500;
/// Words of 64 bits by which words are recognized.
const MAX_SEEN: usize = 1 << 22;
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Count the words of each text; a null has none.
///
/// # Errors
/// The call is cancelled, or memory runs out.
pub fn soundness(texts: &dyn TextSource) -> Result<Vec<[u32; COUNTS]>> {
    let cancel = &CancelToken::current();
    let mut counts = alloc::try_filled([0; COUNTS], texts.len())?;
    counts.par_iter_mut().enumerate().with_min_len(64).try_for_each_init(Vec::new, |seen, (i, counts)| {
        if !cancel.is_set() {
            *counts = Reader::read(texts.get(i).unwrap_or_default(), seen)?;
        }
        Ok(())
    })?;
    cancel.check()?;
    Ok(counts)
}

/// What a character is; words have the kinds up to `Digit`, in four bits each.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Kind {
    Lower = 1,
    Upper,
    Digit,
    Broken,
    Symbol,
    Ideograph,
    Space,
    Break,
    End,
    /// Separates the entries of a bar.
    Bar,
    Other,
}

const fn kind_of_ascii(byte: u8) -> Kind {
    match byte {
        b'a'..=b'z' => Kind::Lower,
        b'A'..=b'Z' => Kind::Upper,
        b'0'..=b'9' => Kind::Digit,
        b'\n' => Kind::Break,
        // Menus have punctuation within their entries.
        b' ' | b'\t' | b'\r' | 0x0b | 0x0c | b'&' | b'\'' | b'-' | b'/' => Kind::Space,
        b'.' | b'?' => Kind::End,
        b'!' | b'$' | b'^' | b'|' | b'~' => Kind::Symbol,
        b'>' => Kind::Bar,
        0..0x20 | 0x7f => Kind::Broken,
        _ => Kind::Other,
    }
}

static ASCII: [Kind; 128] = {
    let mut kinds = [Kind::Other; 128];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = kind_of_ascii(byte as u8);
        byte += 1;
    }
    kinds
};

fn kind_of(c: char) -> Kind {
    match c {
        '\u{4e00}'..='\u{9fff}' => Kind::Ideograph,
        '。' | '！' | '？' => Kind::End,
        '·' | '•' | '»' | '›' | '｜' => Kind::Bar,
        '\u{fffd}' | '\u{80}'..='\u{9f}' => Kind::Broken,
        '\u{2e80}'.. if c.is_alphanumeric() => Kind::Ideograph,
        _ if c.is_uppercase() => Kind::Upper,
        _ if c.is_alphabetic() => Kind::Lower,
        _ if c.is_numeric() => Kind::Digit,
        _ if c.is_whitespace() => Kind::Space,
        _ => Kind::Other,
    }
}

/// Leading bytes of UTF-8 as characters.
const MISREAD: RangeInclusive<char> = '\u{c2}'..='\u{f4}';

/// Return the bytes of a character that was read as several, and whether it is certain without another one beside it.
fn misread(text: &str) -> Option<(usize, bool)> {
    const WINDOWS: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";
    let mut chars = text.chars();
    let first = u32::from(chars.next()?);
    let more = match first {
        0xc2..=0xdf => 1,
        0xe0..=0xef => 2,
        0xf0..=0xf4 => 3,
        _ => return None,
    };
    let mut second = 0;
    for at in 0..more {
        let byte = match chars.next()? {
            c @ '\u{80}'..='\u{bf}' => u32::from(c),
            c => 0x80 + WINDOWS.chars().position(|special| special == c)? as u32,
        };
        second = if at == 0 { byte } else { second };
    }
    // Ã and Â; the characters from U+2000, such as quotation marks.
    let certain = first <= 0xc3 || more == 3 || (first == 0xe2 && second <= 0x84);
    Some((text.len() - chars.as_str().len(), certain))
}

#[derive(Clone, Copy, Default)]
struct Word {
    hash: u64,
    /// Kinds of its characters, the last one lowest.
    shape: u64,
    fault: Option<Count>,
}

impl Word {
    #[inline]
    fn push(&mut self, kind: Kind, c: u32) {
        const WITHIN: u64 = (Kind::Lower as u64) << 8 | (Kind::Digit as u64) << 4 | Kind::Lower as u64;
        const FIRST: u64 = ((Kind::Digit as u64) << 12) | (0x111 * Kind::Lower as u64);
        self.hash = (self.hash ^ u64::from(c)).wrapping_mul(MULTIPLIER).rotate_left(29);
        self.shape = self.shape << 4 | kind as u64;
        if kind == Kind::Broken {
            self.fault = Some(Damaged);
        } else if kind == Kind::Symbol || self.shape & 0xfff == WITHIN || self.shape == FIRST {
            self.fault = self.fault.or(Some(Noisy));
        }
    }
}

/// State of the current line and of its current sentence.
#[derive(Default)]
struct Line {
    start: usize,
    words: u32,
    sentence: u64,
    sentence_words: u32,
    bars: u32,
    /// There is nothing but words, and bars between them.
    is_plain: bool,
    is_capitalized: bool,
}

struct Reader<'a> {
    counts: [u32; COUNTS],
    /// Bits of the hashes of words and sentences that were read.
    seen: &'a mut Vec<u64>,
    word: Word,
    line: Line,
    blank: u32,
    previous: u64,
    /// Words of consecutive sentences that were read before, and the least number that is a repetition.
    again: u32,
    least: u32,
    /// Lines and words of consecutive lines of a menu, words of such lines at the start; the same for bars.
    run: [u32; 2],
    top: Option<u32>,
    bars: [u32; 2],
}

impl Reader<'_> {
    fn read(text: &str, seen: &mut Vec<u64>) -> Result<[u32; COUNTS]> {
        seen.clear();
        alloc::try_resize(seen, (text.len() / 8).next_power_of_two().min(MAX_SEEN), 0)?;
        let least = REPEATED_WORDS + (text.len() / REPEATED_SHARE) as u32;
        let line = Line { is_plain: true, ..Line::default() };
        let (word, counts, run, bars) = (Word::default(), [0; COUNTS], [0; 2], [0; 2]);
        let mut reader =
            Reader { counts, seen, word, line, blank: 0, previous: 0, again: 0, least, run, top: None, bars };
        let (bytes, mut at, mut after_misread) = (text.as_bytes(), 0, false);
        while at < bytes.len() {
            let mut word = reader.word;
            while let Some(&byte) = bytes.get(at)
                && byte < 128
                && ASCII[usize::from(byte)] <= Kind::Digit
            {
                word.push(ASCII[usize::from(byte)], u32::from(byte));
                at += 1;
            }
            reader.word = word;
            if bytes.get(at) == Some(&b' ') {
                reader.end_word();
                (at, after_misread) = (at + 1, false);
                continue;
            }
            let Some(c) = text[at..].chars().next() else { break };
            let (mut kind, mut next) = match ASCII.get(c as usize) {
                Some(&kind) => (kind, at + 1),
                None => (kind_of(c), at + c.len_utf8()),
            };
            let found = if MISREAD.contains(&c) { misread(&text[at..]) } else { None };
            // A word in capitals may end before a quotation mark.
            let ends_upper = reader.word.shape & 15 == Kind::Upper as u64;
            let is_misread = found.is_some_and(|(width, certain)| {
                (certain && !(ends_upper && width == 4)) || after_misread || misread(&text[at + width..]).is_some()
            });
            if let Some((width, _)) = found
                && is_misread
            {
                (kind, next) = (Kind::Broken, at + width);
            }
            after_misread = is_misread;
            let follower = bytes.get(next).copied().unwrap_or(b'\n');
            reader.push(kind, c, at, follower);
            at = next;
        }
        reader.push(Kind::Break, '\n', at, b'\n');
        reader.end_repetition();
        reader.end_bars();
        for words in [if reader.run[0] >= MENU_LINES { reader.run[1] } else { 0 }, reader.top.unwrap_or(0)] {
            reader.counts[Menu as usize] += words;
        }
        if reader.counts[Menu as usize] * 2 > reader.counts[Words as usize] {
            reader.counts[Menu as usize] = 0;
        }
        Ok(reader.counts)
    }

    #[inline]
    fn push(&mut self, kind: Kind, c: char, at: usize, follower: u8) {
        let after_lower = self.word.shape & 15 == Kind::Lower as u64;
        if kind <= Kind::Broken || (kind == Kind::Symbol && after_lower && follower.is_ascii_lowercase()) {
            self.word.push(kind, u32::from(c));
            return;
        }
        self.end_word();
        match kind {
            Kind::Space => {}
            Kind::Ideograph => {
                self.word.push(kind, u32::from(c));
                self.end_word();
            }
            Kind::Break => self.end_line(at),
            Kind::Bar => self.line.bars += 1,
            _ if c == '|' && follower == b' ' => self.line.bars += 1,
            _ => {
                self.line.is_plain = false;
                if kind != Kind::Other && (!c.is_ascii() || follower.is_ascii_whitespace()) {
                    self.end_sentence();
                }
            }
        }
    }

    #[inline]
    fn end_word(&mut self) {
        let Word { hash, shape, fault } = std::mem::take(&mut self.word);
        if shape == 0 {
            return;
        }
        self.counts[Words as usize] += 1;
        let line = &mut self.line;
        if line.words + line.sentence_words == 0 {
            let first = shape >> (60 - shape.leading_zeros() / 4 * 4);
            line.is_capitalized = first == Kind::Upper as u64 || first == Kind::Ideograph as u64;
        }
        line.sentence = (line.sentence ^ hash).wrapping_mul(MULTIPLIER).rotate_left(31);
        if let Some(fault) = fault {
            self.counts[fault as usize] += 1;
            return;
        }
        line.sentence_words += 1;
        self.counts[Distinct as usize] += u32::from(!self.is_known(hash));
    }

    /// Return whether this was called with the hash before.
    #[inline]
    fn is_known(&mut self, hash: u64) -> bool {
        let (hash, mask) = (hash.wrapping_mul(MULTIPLIER), self.seen.len() - 1);
        let bits = 1_u64 << (hash >> 58) | 1 << (hash >> 52 & 63) | 1 << (hash >> 46 & 63);
        let word = &mut self.seen[(hash >> 20) as usize & mask];
        let is_known = *word & bits == bits;
        *word |= bits;
        is_known
    }

    fn end_sentence(&mut self) {
        let (hash, words) = (std::mem::take(&mut self.line.sentence), std::mem::take(&mut self.line.sentence_words));
        if hash == 0 {
            return;
        }
        self.line.words += words;
        let pair = hash.wrapping_add(std::mem::replace(&mut self.previous, hash).rotate_left(7));
        if !self.is_known(pair) {
            self.end_repetition();
        }
        if self.is_known(hash.rotate_left(17)) {
            self.again += words;
        } else {
            self.end_repetition();
        }
    }

    fn end_repetition(&mut self) {
        let words = std::mem::take(&mut self.again);
        self.counts[Repeated as usize] += if words >= self.least { words } else { 0 };
    }

    fn end_line(&mut self, at: usize) {
        self.end_sentence();
        let line = std::mem::replace(&mut self.line, Line { start: at + 1, is_plain: true, ..Line::default() });
        if line.words + line.bars == 0 && line.is_plain {
            self.blank = 1;
            return;
        }
        self.counts[Breaks as usize] += 1 + std::mem::take(&mut self.blank);
        let is_bar = line.bars >= 2 && (line.bars + 1..=5 * line.bars + 5).contains(&line.words);
        if line.is_plain && is_bar {
            self.bars = [self.bars[0] + 1, line.words];
        } else {
            self.end_bars();
        }
        if line.is_plain && line.bars == 0 && line.is_capitalized && at - line.start <= MENU_BYTES {
            self.run = [self.run[0] + 1, self.run[1] + line.words];
        } else if line.bars == 0 || !line.is_plain {
            let [lines, words] = std::mem::take(&mut self.run);
            self.top.get_or_insert(if lines >= MENU_LINES { words } else { 0 });
        }
    }

    /// Take a bar as a menu; several are a table.
    fn end_bars(&mut self) {
        let [lines, words] = std::mem::take(&mut self.bars);
        self.counts[Menu as usize] += if lines == 1 { words } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_one_fault_at_most() {
        let count = |text: &str| soundness(&[text].as_slice()).expect("room")[0];
        assert_eq!([6, 0, 0, 0, 0, 5, 1], count("The cat and the dog, the"));
        assert_eq!([4, 2, 0, 0, 0, 2, 1], count("a caf\u{c3}\u{a9} don\u{e2}\u{20ac}\u{2122}t b"));
        assert_eq!([3, 1, 0, 0, 0, 2, 1], count("a\u{fffd}b 中国"));
        assert_eq!([4, 0, 4, 0, 0, 0, 0], count("w0rd 1ittle he|p y3t"));
        assert_eq!([6, 0, 0, 0, 0, 6, 1], count("été » CAFÉ” utf8 «à\u{a0}» é…” 2nd"));
        assert_eq!([10, 0, 0, 5, 0, 5, 3], count("one two three four five.\n\none two three four five."));
        let body = "this is a line that is far too long for any menu, and it ends with a stop.";
        assert_eq!(4, count(&format!("Home | News | Sport | Login\n{body}"))[4]);
        assert_eq!(4, count(&format!("{body}\n\nHome\nNews\nContact us"))[4]);
        assert_eq!(0, count(&format!("{body}\na | b | c\nd | e | f\n{body}"))[4]);
        assert_eq!(0, count("Home\nNews\nContact us")[4]);
    }
}
