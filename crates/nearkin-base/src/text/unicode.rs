//! Normalization, case and selection of letters as one table lookup per character.
//!
//! The text of a recipe is `filter(case(fold(normalise(text))))`:
//!
//! - *normalise*: NFKC, NFC (UAX #15) or nothing;
//! - *fold*: the recipe's folds ([`crate::text::fold`]), most often none;
//! - *case*: full case folding, lower case (with the final sigma rule), or nothing, character by character, not
//!   normalized again;
//! - *filter*: keeps what counts as a letter: `word` (UTS #18 annex C `\w`, alphabetic, marks, decimal digits and
//!   connector punctuation, without invisible characters: joiners, variation selectors, fillers), `python` (`\w` of
//!   Python's `re`: letters, numbers and `_`), or `all`.
//!
//! All four work on single characters, except those that combine with the previous one. Therefore [`CharMap`] stores,
//! for each code point, its result in isolation, and marks the few that depend on the previous text: nonzero combining
//! class, second halves of canonical compositions, Hangul vowels and finals, the sigma of lower case, marks that a fold
//! removes. A text without marked characters is the concatenation of lookups; any other takes the slow path through
//! string normalization, with the same result (test `table_equals_whole_string_rules`).
//!
//! Memory: 70 KB per combination in use, and 1 KB for each 256 code points that its texts have, built when one of them is
//! first looked up: a table of all takes 50 ms, a tenth of the run of a small job. Unicode version: that of the ICU4X data
//! this crate is locked to; a test pins the tables' digest, so that an update that changes a value is detected.

use std::fmt::{self, Write};
use std::sync::OnceLock;

use icu_casemap::CaseMapper;
use icu_locale_core::LanguageIdentifier;
use icu_normalizer::properties::{CanonicalCombiningClassMapBorrowed, CanonicalDecompositionBorrowed, Decomposed};
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::{Alphabetic, DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};
use writeable::Writeable;

use crate::cancel::CancelToken;
use crate::cpu::simd::{BYTES, Simd, with_simd};
use crate::text::fold::Folds;
use crate::{Error, Result, alloc};

/// Number of bytes of a text between two cancellation points.
const PART: usize = if cfg!(test) { 32 } else { 1 << 18 };

/// Unicode normalization form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Compatibility composition.
    Nfkc,
    /// Canonical composition.
    Nfc,
    /// The text is unchanged.
    None,
}

/// Case rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Full case folding (`ß` and `SS` become `ss`).
    Fold,
    /// Lower case of the root locale.
    Lower,
    /// Case is kept.
    Keep,
}

/// The set of characters that count as letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// UTS #18 word characters that are visible.
    Word,
    /// Python's `\w`.
    Python,
    /// Every character.
    All,
}

impl Form {
    /// Return the form called `name`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn new(name: &str) -> Result<Self> {
        match name {
            "nfkc" => Ok(Self::Nfkc),
            "nfc" => Ok(Self::Nfc),
            "none" => Ok(Self::None),
            other => Err(Error::parameter("norm", other, "nfkc, nfc or none")),
        }
    }
}

impl Case {
    /// Return the case rule called `name`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn new(name: &str) -> Result<Self> {
        match name {
            "fold" => Ok(Self::Fold),
            "lower" => Ok(Self::Lower),
            "keep" => Ok(Self::Keep),
            other => Err(Error::parameter("case", other, "fold, lower or keep")),
        }
    }
}

impl Letters {
    /// Return the set of letters called `name`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn new(name: &str) -> Result<Self> {
        match name {
            "word" => Ok(Self::Word),
            "python" => Ok(Self::Python),
            "all" => Ok(Self::All),
            other => Err(Error::parameter("letters", other, "word, python or all")),
        }
    }

    /// True if `c` counts as a letter.
    pub fn contains(self, c: char) -> bool {
        use GeneralCategory as G;
        if self == Self::All {
            return true;
        }
        let category = CodePointMapData::<GeneralCategory>::new().get(c);
        match self {
            Self::Word => {
                let word = matches!(
                    category,
                    G::NonspacingMark | G::SpacingMark | G::EnclosingMark | G::DecimalNumber | G::ConnectorPunctuation
                ) || CodePointSetData::new::<Alphabetic>().contains(c);
                word && !CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
            }
            _ => {
                c == '_'
                    || matches!(
                        category,
                        G::UppercaseLetter
                            | G::LowercaseLetter
                            | G::TitlecaseLetter
                            | G::ModifierLetter
                            | G::OtherLetter
                            | G::DecimalNumber
                            | G::LetterNumber
                            | G::OtherNumber
                    )
            }
        }
    }
}

/// The character is removed.
const DROP: i32 = i32::MAX;
/// The character may act on the previous one: the text takes the slow path.
const BACKWARD: i32 = i32::MAX - 1;
/// Values from here to `BACKWARD` are `SEQUENCE + i`: the character becomes `sequences[i]`.
const SEQUENCE: i32 = 1 << 30;

const PAGE: usize = 256;
/// In the table of ASCII: the character is removed.
const ASCII_DROP: u8 = 0x80;

/// Converts texts to a recipe's form, with one table lookup per character.
pub struct CharMap {
    form: Form,
    folds: Folds,
    case: Case,
    letters: Letters,
    /// ASCII to its result, or `ASCII_DROP`.
    ascii: [u8; 128],
    /// The results of 256 code points, once one of them has been looked up.
    pages: Vec<OnceLock<&'static Page>>,
}

/// Results of `PAGE` code points, whose differences or marks, such as `DROP`, are the entries.
struct Page {
    entries: [i32; PAGE],
    sequences: Vec<Box<str>>,
}

/// The page of characters that all stay what they are, such as most ideographs.
static KEPT: Page = Page { entries: [0; PAGE], sequences: Vec::new() };

impl CharMap {
    /// Return the table of a combination without folds, one per process.
    ///
    /// # Errors
    /// Memory runs out for the table.
    pub fn get(form: Form, case: Case, letters: Letters) -> Result<&'static Self> {
        Self::get_folded(form, Folds::default(), case, letters)
    }

    /// Return the table of a combination, one per process.
    ///
    /// # Errors
    /// Memory runs out for the table.
    pub fn get_folded(form: Form, folds: Folds, case: Case, letters: Letters) -> Result<&'static Self> {
        const COUNT: usize = 27 * Folds::COUNT;
        static MAPS: [OnceLock<CharMap>; COUNT] = [const { OnceLock::new() }; COUNT];
        let slot = &MAPS[folds.number() * 27 + form as usize * 9 + case as usize * 3 + letters as usize];
        if let Some(map) = slot.get() {
            return Ok(map);
        }
        let mut pages = alloc::try_with_capacity(0x11_0000 / PAGE)?;
        pages.resize_with(0x11_0000 / PAGE, OnceLock::new);
        let mut map = Self { form, folds, case, letters, ascii: [ASCII_DROP; 128], pages };
        let mut result = String::new();
        for byte in 0..128_u8 {
            result.clear();
            map.whole(char::from(byte).encode_utf8(&mut [0; 4]), &mut result)?;
            debug_assert!(result.len() <= 1, "an ASCII character becomes one or none");
            map.ascii[usize::from(byte)] = result.bytes().next().unwrap_or(ASCII_DROP);
        }
        Ok(slot.get_or_init(|| map))
    }

    /// Return the page of a code point, which is built at the first call.
    #[inline(always)]
    fn page(&self, code_point: u32) -> Result<&'static Page> {
        match self.pages[code_point as usize / PAGE].get() {
            Some(page) => Ok(page),
            None => self.build_page(code_point),
        }
    }

    #[cold]
    fn build_page(&self, code_point: u32) -> Result<&'static Page> {
        let number = code_point as usize / PAGE;
        let mut page = Page { entries: [DROP; PAGE], sequences: Vec::new() };
        let backward = Backward::new(self.form, self.folds, self.case);
        for (code_point, i) in ((number * PAGE) as u32..).zip(0..PAGE) {
            page.entries[i] = self.build_entry(code_point, &backward, &mut page.sequences)?;
        }
        let mut room = alloc::try_with_capacity(1)?;
        // As long as the process: only the first of several threads stores its page.
        Ok(self.pages[number].get_or_init(|| {
            if page.entries == KEPT.entries {
                return &KEPT;
            }
            room.push(page);
            &room.leak()[0]
        }))
    }

    fn build_entry(&self, code_point: u32, backward: &Backward, sequences: &mut Vec<Box<str>>) -> Result<i32> {
        let Some(c) = char::from_u32(code_point) else { return Ok(DROP) };
        let keep = |kept| Ok(if kept { 0 } else { DROP });
        match code_point {
            // Planes 4 to 13 are unassigned, 15 and 16 private: no normalization, no case, no letters.
            0x4_0000..0xe_0000 | 0xf_0000.. => return keep(self.letters == Letters::All),
            _ if is_whole(code_point) && !self.folds.simplifies(c)? => return keep(self.letters.contains(c)),
            _ => {}
        }
        if backward.contains(c)? {
            return Ok(BACKWARD);
        }
        let mut result = String::new();
        self.whole(c.encode_utf8(&mut [0; 4]), &mut result)?;
        let mut characters = result.chars();
        Ok(match (characters.next(), characters.next()) {
            (None, _) => DROP,
            (Some(only), None) => only as i32 - c as i32,
            _ => {
                alloc::try_reserve(sequences, 1)?;
                sequences.push(result.into());
                SEQUENCE + sequences.len() as i32 - 1
            }
        })
    }

    /// True if a character that maps to itself is kept; with `Form::None` and `Case::Keep` this applies to every
    /// character.
    #[inline]
    pub(crate) fn keeps(&self, c: char) -> bool {
        match c {
            '\0'..='\x7f' => self.ascii[c as usize] != ASCII_DROP,
            // Without memory for the page, the rule itself.
            _ => self.entry(c).map_or_else(|_| self.letters.contains(c), |entry| entry != DROP),
        }
    }

    fn entry(&self, c: char) -> Result<i32> {
        Ok(self.page(c.into())?.entries[c as usize % PAGE])
    }

    /// Append the text in the recipe's form to `out` by the rules on strings.
    fn whole(&self, text: &str, out: &mut String) -> Result<()> {
        let mut composed = String::new();
        let normaliser = match self.form {
            Form::Nfkc => Some(ComposingNormalizerBorrowed::new_nfkc()),
            Form::Nfc => Some(ComposingNormalizerBorrowed::new_nfc()),
            Form::None => None,
        };
        let mut normalised = text;
        if let Some(normaliser) = normaliser {
            let (done, rest) = normaliser.split_normalized(text);
            if !rest.is_empty() {
                Pieces::write(&mut composed, Letters::All, text.len(), |pieces| {
                    pieces.write_str(done)?;
                    normaliser.normalize_to(rest, pieces)
                })?;
                normalised = &composed;
            }
        }
        let mut folded = String::new();
        if !self.folds.is_empty() {
            self.folds.apply(normalised, &mut folded)?;
            normalised = &folded;
        }
        Pieces::write(out, self.letters, normalised.len(), |pieces| match self.case {
            Case::Fold => CaseMapper::new().fold(normalised).write_to(pieces),
            Case::Lower => CaseMapper::new().lowercase(normalised, &LanguageIdentifier::UNKNOWN).write_to(pieces),
            Case::Keep => pieces.write_str(normalised),
        })
    }

    /// Write the text in the recipe's form to `out` (cleared first), with capacity for `SLACK` more bytes; return
    /// whether all of it is ASCII. A long text may be incomplete after cancellation.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn apply(&self, text: &str, out: &mut String, cancel: &CancelToken) -> Result<bool> {
        out.clear();
        // SAFETY: `forward` appends only complete characters: copies from a `str`, encoded ones, and ASCII.
        if let Some(ascii) = self.forward(text, unsafe { out.as_mut_vec() }, cancel)? {
            return Ok(ascii);
        }
        out.clear();
        self.whole(text, out)?;
        alloc::try_reserve_str(out, SLACK)?;
        Ok(out.is_ascii())
    }

    /// Return the origin of the output: for each range of the output that depends only on certain characters of `text`,
    /// the end of the range and the end of these characters; empty ranges are omitted. A range is one character and the
    /// following ones whose result depends on the text before.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn origins(&self, text: &str, origins: &mut Vec<Origin>) -> Result<()> {
        origins.clear();
        let (mut written, mut first, mut buffer) = (0, 0, String::new());
        let mut characters = text.char_indices().peekable();
        while let Some((start, c)) = characters.next() {
            let mut after = first + 1;
            while characters.peek().map_or(Ok(0), |&(_, c)| self.entry(c))? == BACKWARD {
                characters.next();
                after += 1;
            }
            let end = characters.peek().map_or(text.len(), |&(at, _)| at);
            let length = match self.entry(c)? {
                DROP if after == first + 1 => 0,
                0 if after == first + 1 => end - start,
                _ => {
                    buffer.clear();
                    self.whole(&text[start..end], &mut buffer)?;
                    buffer.len()
                }
            };
            if length > 0 {
                written += length;
                alloc::try_reserve(origins, 1)?;
                origins.push(Origin { end: written, first, after });
            }
            first = after;
        }
        Ok(())
    }

    /// Append the text in the recipe's form in complete characters, and return whether all of it is ASCII; None if a
    /// character's result depends on the text before it. There is always capacity for the rest of the text at its own
    /// length and `SLACK` more, so only characters that become longer need a reservation.
    fn forward(&self, text: &str, out: &mut Vec<u8>, cancel: &CancelToken) -> Result<Option<bool>> {
        alloc::try_reserve(out, text.len() + SLACK)?;
        let mut rest = text;
        let mut ascii = true;
        let mut look = PART;
        loop {
            rest = &rest[self.ascii_run(rest.as_bytes(), out)..];
            if rest.is_empty() {
                return Ok(Some(ascii));
            }
            let done = text.len() - rest.len();
            if done >= look {
                if cancel.is_set() {
                    return Ok(Some(ascii));
                }
                look = done + PART;
            }
            // A run that is not ASCII: character by character, until 16 consecutive ASCII characters make the fast path
            // worthwhile.
            let bytes = rest.as_bytes();
            let mut plain = 0;
            let mut at = 0;
            let part = bytes.len().min(PART);
            while at < part && plain < 16 {
                let first = bytes[at];
                if first < 128 {
                    plain += 1;
                    at += 1;
                    let mapped = self.ascii[usize::from(first)];
                    if mapped != ASCII_DROP {
                        out.push(mapped);
                    }
                    continue;
                }
                plain = 0;
                let (code_point, length) = decode(&bytes[at..]);
                let page = self.page(code_point)?;
                let entry = page.entries[code_point as usize % PAGE];
                match (entry, length) {
                    // Copies: most letters of other scripts map to themselves.
                    (0, 3) => {
                        ascii = false;
                        let run = 3 + self.kept_run(&bytes[at + 3..part.max(at + 3)]);
                        out.extend_from_slice(&bytes[at..at + run]);
                        at += run;
                        continue;
                    }
                    (0, 2) => {
                        ascii = false;
                        out.extend_from_slice(&[first, bytes[at + 1]]);
                    }
                    (DROP, _) => {}
                    (BACKWARD, _) => return Ok(None),
                    (SEQUENCE.., _) => {
                        let sequence = page.sequences[(entry - SEQUENCE) as usize].as_bytes();
                        ascii &= sequence.is_ascii();
                        alloc::try_reserve(out, sequence.len() + bytes.len() - at - length + SLACK)?;
                        out.extend_from_slice(sequence);
                    }
                    (distance, _) => {
                        let mapped = char::from_u32((code_point as i32 + distance) as u32);
                        let mapped = mapped.unwrap_or(char::REPLACEMENT_CHARACTER);
                        ascii &= mapped.is_ascii();
                        if mapped.len_utf8() > length {
                            alloc::try_reserve(out, mapped.len_utf8() + bytes.len() - at - length + SLACK)?;
                        }
                        match u32::from(mapped) {
                            // Also of a fixed size: capital letters of Greek, Cyrillic and Latin.
                            code @ 0x80..0x800 => {
                                out.extend_from_slice(&[0xc0 | (code >> 6) as u8, 0x80 | code as u8 & 0x3f]);
                            }
                            _ => out.extend_from_slice(mapped.encode_utf8(&mut [0; 4]).as_bytes()),
                        }
                    }
                }
                at += length;
            }
            let taken = at;
            rest = &rest[taken..];
        }
    }

    /// Return the number of bytes of characters of three bytes at the front of `bytes` that map to themselves as all of
    /// their page do.
    fn kept_run(&self, bytes: &[u8]) -> usize {
        let (characters, _) = bytes.as_chunks::<3>();
        let is_kept = |&&[first, second, _]: &&[u8; 3]| {
            let page = usize::from(first & 0x0f) << 4 | usize::from(second & 0x3f) >> 2;
            first >> 4 == 0xe && self.pages[page].get().is_some_and(|&page| std::ptr::eq(page, &raw const KEPT))
        };
        3 * characters.iter().take_while(is_kept).count()
    }

    /// Map ASCII from the front of `bytes` into `out`; return the number of bytes consumed, at most up to the first
    /// non-ASCII one.
    fn ascii_run(&self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        out.reserve(bytes.len() + BYTES);
        // SAFETY: the form is compiled for the instructions of `S`, and the capacity was reserved above.
        with_simd!(S => unsafe { self.map_ascii::<S>(bytes, out) })
    }

    /// As [`CharMap::ascii_run`].
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the caller enables them. `out` has capacity for 64 bytes more than
    /// `bytes`.
    #[inline(always)]
    unsafe fn map_ascii<S: Simd>(&self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let mut length = out.len();
        let mut taken = 0;
        for block in bytes.chunks(BYTES) {
            // SAFETY: the caller guarantees the instructions. Loads read the block; `length` grows by at most the bytes
            // consumed, so that 64 more bytes fit the capacity.
            unsafe {
                let count = block.len();
                let v = if count == BYTES { S::load(block.as_ptr()) } else { S::load_first(block.as_ptr(), count) };
                let foreign = S::top_bits(v);
                let ascii = (foreign.trailing_zeros() as usize).min(count);
                let mapped = S::lookup128(&self.ascii, v);
                let within = if ascii == BYTES { u64::MAX } else { (1 << ascii) - 1 };
                let kept = !S::top_bits(mapped) & within;
                S::compress(out.as_mut_ptr().add(length), mapped, kept);
                length += kept.count_ones() as usize;
                taken += ascii;
                if foreign != 0 {
                    break;
                }
            }
        }
        // SAFETY: the bytes up to `length` were written above.
        unsafe { out.set_len(length) };
        taken
    }
}

/// A range of the output, and the characters that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// End of the range in bytes; it begins at the end of the previous one.
    pub end: usize,
    /// Index of the first character in the text.
    pub first: usize,
    /// Index of the character after the last.
    pub after: usize,
}

/// A string builder that keeps only letters and reports failed allocations.
struct Pieces<'a> {
    text: &'a mut String,
    letters: Letters,
    refused: Option<Error>,
}

impl Pieces<'_> {
    /// Append the letters of the output of `fill`, about `length` bytes, to `text`.
    fn write(
        text: &mut String,
        letters: Letters,
        length: usize,
        fill: impl FnOnce(&mut Pieces<'_>) -> fmt::Result,
    ) -> Result<()> {
        alloc::try_reserve_str(text, length)?;
        let mut pieces = Pieces { text, letters, refused: None };
        let written = fill(&mut pieces);
        debug_assert!(written.is_ok() || pieces.refused.is_some(), "writing fails where memory does");
        pieces.refused.map_or(Ok(()), Err)
    }
}

impl Write for Pieces<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.refused.is_none() {
            self.refused = alloc::try_reserve_str(self.text, piece.len()).err();
        }
        if self.refused.is_some() {
            return Err(fmt::Error);
        }
        if self.letters == Letters::All {
            self.text.push_str(piece);
        } else {
            self.text.extend(piece.chars().filter(|&c| self.letters.contains(c)));
        }
        Ok(())
    }
}

/// Decode the first character of UTF-8 `bytes`, which is not ASCII, and its length.
#[inline(always)]
fn decode(bytes: &[u8]) -> (u32, usize) {
    let first = u32::from(bytes[0]);
    let next = |i: usize| u32::from(bytes[i] & 0x3f);
    match bytes[0] {
        0xe0..=0xef => ((first & 0x0f) << 12 | next(1) << 6 | next(2), 3),
        0xf0.. => ((first & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3), 4),
        _ => ((first & 0x1f) << 6 | next(1), 2),
    }
}

/// True for ideographs and Hangul syllables, which are already normalized and without case.
fn is_whole(code_point: u32) -> bool {
    matches!(
        code_point,
        0x3400..0x4dc0 | 0x4e00..0xa000 | 0xac00..0xd7a4 | 0x2_0000..0x2_f800 | 0x3_0000..0x3_2400
    )
}

/// Padding after the text, which kernels may read or write in full vectors.
pub const SLACK: usize = 128;

/// Characters whose result depends on the text before them.
struct Backward {
    form: Form,
    folds: Folds,
    case: Case,
    /// Second characters of canonical compositions, sorted.
    seconds: &'static [char],
}

impl Backward {
    fn new(form: Form, folds: Folds, case: Case) -> Self {
        static SECONDS: OnceLock<Vec<char>> = OnceLock::new();
        // Folds compose in any form.
        let form = if form == Form::None && folds.composes() { Form::Nfc } else { form };
        let seconds = if form == Form::None { &[][..] } else { SECONDS.get_or_init(Self::seconds) };
        Self { form, folds, case, seconds }
    }

    fn seconds() -> Vec<char> {
        let decompositions = CanonicalDecompositionBorrowed::new();
        let mut seconds: Vec<char> = ('\u{1161}'..='\u{1175}').chain('\u{11a8}'..='\u{11c2}').collect();
        for c in (0..=0x2_ffff_u32).filter(|&code_point| !is_whole(code_point)).filter_map(char::from_u32) {
            if let Decomposed::Expansion(_, second) = decompositions.decompose(c) {
                seconds.push(second);
            }
        }
        seconds.sort_unstable();
        seconds.dedup();
        seconds
    }

    fn contains(&self, c: char) -> Result<bool> {
        if c.is_ascii() {
            return Ok(false);
        }
        let mut bytes = [0; 4];
        let text: &str = c.encode_utf8(&mut bytes);
        let decomposed = match self.form {
            Form::Nfkc => DecomposingNormalizerBorrowed::new_nfkd().normalize(text),
            Form::Nfc => DecomposingNormalizerBorrowed::new_nfd().normalize(text),
            Form::None => text.into(),
        };
        if self.looks_back(&decomposed) {
            return Ok(true);
        }
        let mut folded = String::new();
        if self.folds.composes() {
            self.folds.apply(&decomposed, &mut folded)?;
        }
        Ok(self.looks_back(&DecomposingNormalizerBorrowed::new_nfd().normalize(&folded)))
    }

    /// True if the beginning of a decomposed text combines with the text before it, or its case depends on it.
    fn looks_back(&self, decomposed: &str) -> bool {
        let sigma = self.case == Case::Lower && decomposed.contains('\u{3a3}');
        let combines = self.form != Form::None
            && decomposed.chars().next().is_some_and(|first| {
                CanonicalCombiningClassMapBorrowed::new().get_u8(first) != 0
                    || self.seconds.binary_search(&first).is_ok()
                    || self.folds.removes_marks() && is_mark(first)
            });
        sigma || combines
    }
}

/// True if the text after `c` belongs to the character before it.
fn is_mark(c: char) -> bool {
    use GeneralCategory as G;
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    matches!(category, G::NonspacingMark | G::SpacingMark | G::EnclosingMark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::with_each_simd;
    use proptest::prelude::*;

    fn apply(map: &CharMap, text: &str) -> String {
        let mut out = String::new();
        let ascii = map.apply(text, &mut out, &CancelToken::default()).expect("room");
        assert!(std::str::from_utf8(out.as_bytes()).is_ok(), "{text:?}");
        assert_eq!(out.is_ascii(), ascii, "{text:?}");
        out
    }

    fn text() -> impl Strategy<Value = String> {
        const ALPHABETS: [&str; 7] = [
            "[ -~]{0,200}",
            "[a-zA-Z .,\u{e0}-\u{ff}\u{300}-\u{345}]{0,90}",
            "[\u{4e00}-\u{4eff}，。！ａ-ｚ０-９]{0,60}",
            "[\u{ac00}-\u{ac40}\u{1100}-\u{11ff}]{0,30}",
            "[ΑΣσς ας.]{0,30}",
            "[\u{3040}-\u{30ff}\u{ff60}-\u{ffa0}]{0,30}",
            "\\PC{0,80}",
        ];
        prop::collection::vec(prop::sample::select(&ALPHABETS[..]).prop_flat_map(|pattern| pattern), 0..4)
            .prop_map(|parts| parts.concat())
    }

    const FORMS: [Form; 3] = [Form::Nfkc, Form::Nfc, Form::None];
    const CASES: [Case; 3] = [Case::Fold, Case::Lower, Case::Keep];
    const FOLDS: [&str; 3] = ["hans", "lookalikes", "accents"];
    const LETTERS: [Letters; 3] = [Letters::Word, Letters::Python, Letters::All];

    proptest! {
        #[test]
        fn table_equals_whole_string_rules(
            text in text(), f in 0_usize..3, c in 0_usize..3, l in 0_usize..3, names in prop::sample::subsequence(&FOLDS[..], 0..=3)
        ) {
            let folds = Folds::new(&names).expect("known");
            let map = CharMap::get_folded(FORMS[f], folds, CASES[c], LETTERS[l]).expect("room");
            let mut whole = String::new();
            map.whole(&text, &mut whole).expect("room");
            prop_assert_eq!(&whole, &apply(map, &text));
        }

        #[test]
        fn origins_cover_the_text(text in text(), f in 0_usize..3, c in 0_usize..3, l in 0_usize..3) {
            let (form, case, letters) = (FORMS[f], CASES[c], LETTERS[l]);
            let map = CharMap::get(form, case, letters).expect("room");
            let mut origins = Vec::new();
            map.origins(&text, &mut origins).expect("room");
            let written = apply(map, &text);
            prop_assert_eq!(written.len(), origins.last().map_or(0, |origin| origin.end));
            let characters: Vec<char> = text.chars().collect();
            let (mut start, mut first) = (0, 0);
            for origin in origins {
                prop_assert!(first <= origin.first && origin.first < origin.after && origin.after <= characters.len());
                let part: String = characters[origin.first..origin.after].iter().collect();
                // A final sigma depends on the text after it; it has the same length as another one.
                prop_assert_eq!(written[start..origin.end].len(), apply(map, &part).len());
                if case != Case::Lower {
                    prop_assert_eq!(&written[start..origin.end], &apply(map, &part));
                }
                (start, first) = (origin.end, origin.after);
            }
        }

        #[test]
        fn every_form_maps_ascii_alike(text in "[\\x00-\\x7f]{0,300}|[ -~]{0,70}é[ -~]{0,9}") {
            let map = CharMap::get(Form::Nfkc, Case::Fold, Letters::Word).expect("room");
            let ascii = text.bytes().take_while(u8::is_ascii).count();
            let mapped = |b: u8| map.ascii[usize::from(b)];
            let expected: Vec<u8> = text.bytes().take(ascii).map(mapped).filter(|&b| b != ASCII_DROP).collect();
            with_each_simd!(S => {
                let mut out = Vec::with_capacity(text.len() + BYTES);
                // SAFETY: the form is compiled for the instructions of `S`, and there is capacity.
                let taken = unsafe { map.map_ascii::<S>(text.as_bytes(), &mut out) };
                assert_eq!((ascii, &expected), (taken, &out));
            });
        }
    }

    #[test]
    fn every_pair_of_a_letter_and_any_character_equals_the_rules() {
        for (form, folds) in [(Form::Nfkc, &FOLDS[..0]), (Form::None, &FOLDS)] {
            let folds = Folds::new(folds).expect("known");
            let map = CharMap::get_folded(form, folds, Case::Fold, Letters::Word).expect("room");
            let mut whole = String::new();
            for c in (0..0x11_0000_u32).filter_map(char::from_u32) {
                for base in ['a', '\u{1100}', '\u{ac00}', '\u{9c7}'] {
                    let text = String::from_iter([base, c]);
                    whole.clear();
                    map.whole(&text, &mut whole).expect("room");
                    assert_eq!(whole, apply(map, &text), "U+{:04X} after {base:?}", c as u32);
                }
            }
        }
    }

    #[test]
    fn tables_are_pinned() {
        // Digest of every code point's result: a changed value changes the recipe.
        let mut digests = Vec::new();
        for (form, folds, case, letters) in [
            (Form::Nfkc, &FOLDS[..0], Case::Fold, Letters::Word),
            (Form::None, &FOLDS[..0], Case::Lower, Letters::Python),
            (Form::Nfc, &FOLDS[..0], Case::Keep, Letters::All),
            (Form::Nfc, &FOLDS[..1], Case::Keep, Letters::All),
            (Form::Nfc, &FOLDS[1..2], Case::Keep, Letters::All),
            (Form::Nfc, &FOLDS[2..], Case::Keep, Letters::All),
        ] {
            let folds = Folds::new(folds).expect("known");
            let map = CharMap::get_folded(form, folds, case, letters).expect("room");
            let all: String = (0..0x11_0000_u32)
                .filter_map(char::from_u32)
                .map(|c| apply(map, &String::from_iter([c])) + "\u{0}")
                .collect();
            digests.push(xxhash_rust::xxh3::xxh3_64(all.as_bytes()));
        }
        let unfolded = [4228554639664463839, 14341083281170484699, 13174324152682973848];
        let folded = [9714440609705645203, 17931003406229834779, 17114042008936806971];
        assert_eq!([unfolded, folded].concat(), digests);
    }

    #[test]
    fn known_texts_become_what_the_rules_say() {
        let map = CharMap::get(Form::Nfkc, Case::Fold, Letters::Word).expect("room");
        assert_eq!("howareyou", apply(map, "How are you?"));
        assert_eq!("strasse２".replace('２', "2"), apply(map, "Straße２！"));
        assert_eq!("é", apply(map, "e\u{301}"));
        assert_eq!("美国51区", apply(map, "“美国”“51区”，"));
        assert_eq!("", apply(map, "❤\u{fe0f} 👨\u{200d}👩\u{200d}👧"));
        let python = CharMap::get(Form::None, Case::Lower, Letters::Python).expect("room");
        assert_eq!("ὀδυσσεύς", apply(python, "ὈΔΥΣΣΕΎΣ"));
    }
}
