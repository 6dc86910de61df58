//! Text to features: tokens and n-grams as byte strings, and their hashes.
//!
//! | kind | feature | shorter texts |
//! |---|---|---|
//! | `char:n` | n letters in a row, over code points, of the text with everything but letters removed | all letters as one |
//! | `word:n` | n words in a row, joined by one space | all words as one |
//! | `char:m-n`, `word:m-n` | those of each length from m to n, by where they end, the shorter first | all as one below m |
//!
//! Words are, by the recipe's `letters`: `word` the words of UAX #29 that hold a letter or digit; `python` the maximal
//! runs of Python's `\w`; `all` what white space separates. With a dictionary ([`crate::text::cut`]) they are its
//! tokens that hold such a letter, for `all` those that hold anything but white space. No word holds a space, so joined
//! words are never ambiguous. CancelToken words, words shorter than the recipe's minimum length, and words of other parts of
//! speech than the recipe's are taken out before n-grams are built. A text without letters or words has no feature.
//!
//! The text is normalised, folded and its case mapped first; segmentation sees the result. With whole numbers
//! ([`crate::text::numbers`]) points and signs of numbers are read with their digits.
//!
//! A feature is identified by XXH3-64 (seed 0) of its bytes: two features of one pair of documents with 10^6 features
//! each collide with probability of about 10^-7.
//!
//! Cost: ASCII letters are selected 64 at a time and hashed in vectors, distinct 4-grams of them are found before they are
//! hashed ([`crate::hash::grams`]); words of ASCII texts are found by bit masks ([`crate::text::ascii_words`]), those of
//! other texts by the `unicode-segmentation` crate.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use unicode_segmentation::UnicodeSegmentation;

use crate::cancel::CancelToken;
use crate::cpu::prefetch::prefetch;
use crate::hash::grams::{self, Grams};
use crate::hash::idset::IdSet;
use crate::hash::{FeatureHash, WordHash, xxh3};
use crate::text::ascii_words;
use crate::text::cut::{self, Cut};
use crate::text::fold::Folds;
use crate::text::jieba;
use crate::text::numbers::{Joined, Mark, Numbers, Whole};
use crate::text::unicode::{Case, CharMap, Form, Letters, Origin, SLACK};
use crate::{Error, Result, alloc};

/// Texts that a batch function reads: random access to strings, some of them missing.
pub trait TextSource: Sync {
    /// How many texts there are.
    fn len(&self) -> usize;
    /// Text `i`, or nothing for a null.
    fn get(&self, i: usize) -> Option<&str>;
    /// Whether there is no text.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Asks the processor for the beginning of text `i`, which need not exist. Texts lie scattered over memory, and its own
    /// prefetcher has not got going before the end of a short one.
    #[inline]
    fn prefetch(&self, i: usize) {
        if let Some(text) = (i < self.len()).then(|| self.get(i)).flatten() {
            text.as_bytes().chunks(64).take(AHEAD).for_each(|line| prefetch(line.as_ptr()));
        }
    }
}

/// Cache lines of a text that are prefetched while the one before is read: 2 KB.
const AHEAD: usize = 32;

impl<S: AsRef<str> + Sync> TextSource for [S] {
    fn len(&self) -> usize {
        <[S]>::len(self)
    }
    fn get(&self, i: usize) -> Option<&str> {
        Some(self[i].as_ref())
    }
}

/// What a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureKind {
    /// Character n-grams.
    Char(usize),
    /// Word n-grams.
    Word(usize),
}

/// Which characters of a text are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Normalisation form.
    pub form: Form,
    /// What characters are taken for one another.
    pub folds: Folds,
    /// What happens to case.
    pub case: Case,
    /// What counts as a letter.
    pub letters: Letters,
    /// What is read of numbers.
    pub numbers: Numbers,
}

/// Largest n of an n-gram.
pub const MAX_N: usize = 64;
/// Most words of a feature's hash.
pub const MAX_WORDS: usize = 16;

/// Text to features, as a recipe says.
pub struct Tokenizer {
    /// The longest n-grams.
    kind: FeatureKind,
    /// The shortest ones.
    least: usize,
    letters: Letters,
    map: &'static CharMap,
    /// None where numbers are split.
    whole_numbers: Option<Whole>,
    /// Words that are left out, as they are after normalisation and case.
    stop_words: HashSet<Box<[u8]>>,
    cut: Cut,
    /// Smallest number of characters of a word.
    min_length: usize,
    /// Parts of speech that are kept; all where none is named.
    tags: Vec<Box<str>>,
}

/// Buffers that one thread uses again for every text.
#[derive(Default)]
pub struct Scratch {
    /// The normalised text, with `SLACK` zeros after it.
    text: String,
    /// With whole numbers: the normalised text with everything in it, and what belongs to numbers in `text`.
    read: String,
    marks: Vec<Mark>,
    /// Words joined by spaces, with `SLACK` zeros after them.
    words: Vec<u8>,
    hashes: Vec<u64>,
    queues: Queues,
    /// Where the words of an ASCII text end in `words`.
    ends: Vec<u32>,
    grams: Grams,
    seen: IdSet,
    /// Which of some hashes are those of new features, and the new ones of another word.
    fresh: Vec<bool>,
    kept: Vec<u64>,
    cut: jieba::Scratch,
}

impl Scratch {
    /// Buffers of a thread that works for a call which `stop` ends: of a long text the rest is then left out.
    pub fn stopped_by(stop: &CancelToken) -> Self {
        let mut scratch = Self::default();
        scratch.cut.stop = stop.clone();
        scratch
    }

    /// The text that [`Tokenizer::words`] has read last, normalised.
    pub(crate) fn normalised(&self) -> &str {
        &self.text
    }

    /// What ends the call.
    pub(crate) fn stop(&self) -> &CancelToken {
        &self.cut.stop
    }
}

/// A text as the recipe reads it, whether all of it is ASCII, and what belongs to its numbers.
type Normalised<'a> = (&'a str, bool, &'a [Mark]);

/// Bytes of a text between two looks at the stop.
const PART: usize = if cfg!(test) { 32 } else { 1 << 18 };

/// Hashes that are computed before they are handed on: whole blocks of the bit sums, whole steps of the window hashes.
pub(crate) const CHUNK: usize = 7 * crate::cpu::bitsum::BLOCK;

impl Tokenizer {
    /// A tokenizer for n-grams of `kind`, without folds and with split numbers.
    ///
    /// # Errors
    /// As of [`Tokenizer::of`].
    pub fn new(kind: FeatureKind, form: Form, case: Case, letters: Letters, stop_words: &[String]) -> Result<Self> {
        Self::of(kind, Reading { form, folds: Folds::default(), case, letters, numbers: Numbers::Split }, stop_words)
    }

    /// A tokenizer for n-grams of `kind`.
    ///
    /// # Errors
    /// n out of 1 to 64, or stop words with characters; there is no memory.
    pub fn of(kind: FeatureKind, reading: Reading, stop_words: &[String]) -> Result<Self> {
        let Reading { form, folds, case, letters, numbers } = reading;
        let (FeatureKind::Char(n) | FeatureKind::Word(n)) = kind;
        if !(1..=MAX_N).contains(&n) {
            return Err(Error::parameter("n", n, format!("1 to {MAX_N}")));
        }
        let chars = matches!(kind, FeatureKind::Char(_));
        if chars && !stop_words.is_empty() {
            return Err(Error::parameter(
                "stop_words",
                format!("{} words", stop_words.len()),
                "none with char n-grams",
            ));
        }
        let mut whole_numbers = None;
        if numbers == Numbers::Whole {
            let letters = if chars { Some(CharMap::get(Form::None, Case::Keep, letters)?) } else { None };
            whole_numbers = Some(Whole { letters });
        }
        let kept = if chars && whole_numbers.is_none() { letters } else { Letters::All };
        let map = CharMap::get_folded(form, folds, case, kept)?;
        let (cut, tags) = (Cut::Uax29, Vec::new());
        let stop_set = HashSet::new();
        let mut made =
            Self { kind, least: n, letters, map, whole_numbers, stop_words: stop_set, cut, min_length: 1, tags };
        let (mut scratch, mut normalised) = (Scratch::default(), HashSet::new());
        alloc::try_reserve_set(&mut normalised, stop_words.len())?;
        for word in stop_words {
            made.read(word, &mut scratch)?;
            normalised.insert(alloc::try_copy(scratch.text.as_bytes())?.into());
        }
        made.stop_words = normalised;
        Ok(made)
    }

    /// The tokenizer with the n-grams of `least` characters or words, too, and of every length between.
    ///
    /// # Errors
    /// `least` is not from 1 to n.
    pub fn mixed(mut self, least: usize) -> Result<Self> {
        let (FeatureKind::Char(n) | FeatureKind::Word(n)) = self.kind;
        if !(1..=n).contains(&least) {
            return Err(Error::parameter("min_n", least, format!("1 to n, which is {n}")));
        }
        self.least = least;
        Ok(self)
    }

    /// The lengths of the n-grams of a text of `count` characters or words; one where the whole text is its only feature.
    fn lengths(&self, count: usize) -> RangeInclusive<usize> {
        let (FeatureKind::Char(n) | FeatureKind::Word(n)) = self.kind;
        self.least..=n.min(count.max(self.least))
    }

    /// Puts the text of the recipe into `scratch`, and tells whether all of it is ASCII.
    #[inline]
    fn read(&self, text: &str, scratch: &mut Scratch) -> Result<bool> {
        let Scratch { text: out, read, marks, cut, .. } = scratch;
        marks.clear();
        let Some(whole) = self.whole_numbers else { return self.map.apply(text, out, &cut.stop) };
        self.map.apply(text, read, &cut.stop)?;
        whole.keep(read, out, marks, &cut.stop)?;
        Ok(out.is_ascii())
    }

    /// The tokenizer with another segmenter, whose words it keeps if they have at least `min_length` characters and one of the
    /// parts of speech `tags` (any where none is named).
    ///
    /// # Errors
    /// A segmenter, a minimum length or tags with characters in place of words; tags without jieba; script with letters
    /// other than `word`.
    pub fn with_words(mut self, cut: Cut, min_length: usize, tags: &[String]) -> Result<Self> {
        if matches!(self.kind, FeatureKind::Char(_))
            && !(matches!(cut, Cut::Uax29) && min_length == 1 && tags.is_empty())
        {
            return Err(Error::parameter("cut", "a rule for words", "word:n with cut, min_length and tags"));
        }
        if !tags.is_empty() && !matches!(cut, Cut::Jieba(_)) {
            return Err(Error::parameter("tags", tags.join(","), "none without cut:jieba"));
        }
        if matches!(cut, Cut::Script(_)) && self.letters != Letters::Word {
            return Err(Error::parameter("letters", "python or all", "word with cut:script"));
        }
        if !(1..=MAX_N).contains(&min_length) {
            return Err(Error::parameter("min_length", min_length, format!("1 to {MAX_N}")));
        }
        (self.cut, self.min_length) = (cut, min_length);
        self.tags = tags.iter().map(|tag| tag.as_str().into()).collect();
        Ok(self)
    }

    /// A user's words as they occur in texts, after normalisation and case.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn normalise(&self, mut words: Vec<jieba::UserWord>) -> Result<Vec<jieba::UserWord>> {
        let mut scratch = Scratch::default();
        for word in &mut words {
            self.read(&word.word, &mut scratch)?;
            word.word = alloc::try_string(&scratch.text)?;
        }
        words.retain(|word| !word.word.is_empty());
        Ok(words)
    }

    /// Whether texts are cut as the C++ library cppjieba does.
    pub(crate) fn cuts_as_cppjieba(&self) -> bool {
        matches!(self.cut, Cut::CppJieba)
    }

    /// Whether features are of words, not of characters.
    pub fn has_words(&self) -> bool {
        matches!(self.kind, FeatureKind::Word(_))
    }

    /// The text that features are taken from: normalised, folded, without the characters that the recipe leaves out.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn normalised(&self, text: &str) -> Result<String> {
        let mut scratch = Scratch::default();
        self.read(text, &mut scratch)?;
        Ok(scratch.text)
    }

    /// Calls `each(text, start, end, kept)` with the words of `text` in order, those that are left out too; with jieba, white space
    /// and punctuation are such words.
    ///
    /// # Errors
    /// There is no memory for its buffers.
    pub fn words(
        &self,
        text: &str,
        scratch: &mut Scratch,
        mut each: impl FnMut(&[u8], usize, usize, bool),
    ) -> Result<()> {
        let ascii = self.read(text, scratch)?;
        let Scratch { text, marks, cut, .. } = scratch;
        self.each_token((text, ascii, marks), cut, |start, end, kept| each(text.as_bytes(), start, end, kept))
    }

    /// Calls `each` with the bytes of every feature of `text`, in order, repeated ones repeatedly.
    ///
    /// # Errors
    /// There is no memory for its buffers.
    pub fn features(&self, text: &str, scratch: &mut Scratch, mut each: impl FnMut(&[u8])) -> Result<()> {
        let ascii = self.read(text, scratch)?;
        let Scratch { text, marks, words, cut, .. } = scratch;
        self.emit((text, ascii, marks), words, cut, |buffer, start, end| each(&buffer[start..end]))
    }

    /// Calls `each(buffer, start, end)` with every feature of the normalised text; at least `SLACK` bytes of the buffer
    /// lie after each feature.
    fn emit(
        &self,
        (text, ascii, marks): (&mut String, bool, &[Mark]),
        words: &mut Vec<u8>,
        cut: &mut jieba::Scratch,
        mut each: impl FnMut(&[u8], usize, usize),
    ) -> Result<()> {
        let length = text.len();
        // `CharMap::apply` has left room.
        text.push_str(ZEROS);
        let bytes = text.as_bytes();
        match self.kind {
            FeatureKind::Char(n) => {
                char_grams(bytes, length, (self.least, n), &cut.stop, each);
                Ok(())
            }
            FeatureKind::Word(1) => {
                self.each_word((&text[..length], ascii, marks), cut, |start, end| each(bytes, start, end))
            }
            FeatureKind::Word(n) => {
                // A word of one byte and its space make the joined words at most twice the text.
                words.clear();
                alloc::try_resize(words, 2 * length + SLACK, 0)?;
                // The last n words start at these places of `words`; word w at starts[w % n].
                let mut starts = [0_usize; MAX_N];
                let mut used = 0;
                let mut count = 0;
                self.each_word((&text[..length], ascii, marks), cut, |start, end| {
                    if count > 0 {
                        words[used] = b' ';
                        used += 1;
                    }
                    starts[count % n] = used;
                    words[used..used + end - start].copy_from_slice(&bytes[start..end]);
                    used += end - start;
                    count += 1;
                    for length in self.least..=n.min(count) {
                        each(words, starts[(count - length) % n], used);
                    }
                })?;
                if (1..self.least).contains(&count) {
                    each(words, 0, used);
                }
                Ok(())
            }
        }
    }

    /// Gives `each` the hashes of all features of `text`, chunk by chunk and in no particular order: for each chunk one call
    /// a word of the fingerprint, `each(word, hashes)`, features in the same order in each. Returns how many features the
    /// text has.
    ///
    /// # Errors
    /// There is no memory for its buffers.
    pub fn hashes(
        &self,
        text: &str,
        words: &[WordHash],
        scratch: &mut Scratch,
        each: impl FnMut(usize, &[u64]),
    ) -> Result<u64> {
        let ascii = self.read(text, scratch)?;
        self.mapped_hashes(ascii, words, scratch, each)
    }

    /// As [`Tokenizer::hashes`], of the normalised text in `scratch`.
    fn mapped_hashes(
        &self,
        ascii: bool,
        words: &[WordHash],
        scratch: &mut Scratch,
        mut each: impl FnMut(usize, &[u64]),
    ) -> Result<u64> {
        let vectors = in_vectors(words);
        if let (FeatureKind::Char(_), true, true) = (self.kind, ascii, vectors) {
            let lengths = self.lengths(scratch.text.len());
            return Ok(lengths.map(|n| ascii_window_hashes(n, words, scratch, &mut each)).sum());
        }
        let Scratch { text: buffer, marks, words: joined, hashes, queues, cut, ends, .. } = scratch;
        let all_words = ascii && marks.is_empty() && self.takes_all_words();
        if let (FeatureKind::Word(_), true, true) = (self.kind, all_words, vectors)
            && ascii_words::join(buffer.as_bytes(), joined, ends)?
        {
            hashes.resize(CHUNK, 0);
            // `ascii_words::join` has left room.
            joined.resize(joined.len() + SLACK, 0);
            let of = |n| ascii_word_hashes(n, words, (&joined[..], &ends[..]), queues, hashes, &cut.stop, &mut each);
            return Ok(self.lengths(ends.len()).map(of).sum());
        }
        hashes.clear();
        alloc::try_resize(hashes, words.len() * CHUNK, 0)?;
        let mut total = 0;
        let mut filled = 0;
        self.emit((buffer, ascii, marks), joined, cut, |buffer, start, end| {
            total += 1;
            if vectors && end - start <= 16 {
                queues.push(buffer, start, end, words, &mut each);
                return;
            }
            for (j, word) in words.iter().enumerate() {
                hashes[j * CHUNK + filled] = word.hash(&buffer[start..end]);
            }
            filled += 1;
            if filled == CHUNK {
                for j in 0..words.len() {
                    each(j, &hashes[j * CHUNK..][..CHUNK]);
                }
                filled = 0;
            }
        })?;
        for j in 0..words.len() {
            each(j, &hashes[j * CHUNK..][..filled]);
        }
        queues.flush(words, &mut each);
        Ok(total)
    }

    /// Whether the words are those of UAX #29, none left out.
    fn takes_all_words(&self) -> bool {
        let plain = self.letters == Letters::Word && matches!(self.cut, Cut::Uax29);
        plain && self.min_length == 1 && self.stop_words.is_empty()
    }

    /// As [`Tokenizer::hashes`], of each distinct feature once.
    ///
    /// # Errors
    /// There is no memory for its buffers.
    ///
    /// # Panics
    /// If there are more than [`MAX_WORDS`] words.
    pub fn distinct_hashes(
        &self,
        text: &str,
        words: &[WordHash],
        scratch: &mut Scratch,
        mut each: impl FnMut(usize, &[u64]),
    ) -> Result<u64> {
        let ascii = self.read(text, scratch)?;
        let long = scratch.text.len() >= grams::WIDTH;
        let fours = self.kind == FeatureKind::Char(grams::WIDTH) && self.least == grams::WIDTH;
        if fours && ascii && long && in_vectors(words) {
            return ascii_gram_hashes(words, scratch, each);
        }
        // A hash that identifies features, and then the words, of which the first may be that one.
        let given = usize::from(!words.first().is_some_and(|word| matches!(word.hash, FeatureHash::Xxh3(0))));
        let mut all = [FeatureHash::Xxh3(0).word(0); MAX_WORDS + 1];
        all[given..given + words.len()].copy_from_slice(words);
        let mut seen = std::mem::take(&mut scratch.seen);
        let (mut fresh, mut kept) = (std::mem::take(&mut scratch.fresh), std::mem::take(&mut scratch.kept));
        seen.clear(text.len().min(1024));
        self.mapped_hashes(ascii, &all[..given + words.len()], scratch, |word, hashes| {
            if word == 0 {
                fresh.clear();
                let new = seen.insert_all(hashes, |new| fresh.push(new));
                if given == 0 {
                    each(0, &seen.ids()[seen.len() - new..]);
                }
            } else {
                // Every hash is written and only new ones advance, so that nothing has to be guessed.
                kept.resize(hashes.len(), 0);
                let mut count = 0;
                for (&hash, &fresh) in hashes.iter().zip(&*fresh) {
                    kept[count] = hash;
                    count += usize::from(fresh);
                }
                each(word - given, &kept[..count]);
            }
        })?;
        seen.check()?;
        let count = seen.len() as u64;
        (scratch.seen, scratch.fresh, scratch.kept) = (seen, fresh, kept);
        Ok(count)
    }

    /// Appends the identifiers of the distinct features of `text` to `ids`, each once, in no particular order.
    ///
    /// # Errors
    /// There is no memory for them; `ids` is as it was.
    pub fn distinct(&self, text: &str, scratch: &mut Scratch, ids: &mut Vec<u64>) -> Result<()> {
        let before = ids.len();
        let mut fits = Ok(());
        let found = self.distinct_hashes(text, &[FeatureHash::Xxh3(0).word(0)], scratch, |_, hashes| {
            if fits.is_ok() {
                fits = alloc::try_extend(ids, hashes);
            }
        });
        if found.is_err() || fits.is_err() {
            ids.truncate(before);
        }
        found.and(fits)
    }

    /// Calls `each(id, first, after)` with the identifier of every feature of `text`, in order, repeated ones repeatedly, and the numbers
    /// of its first character in `text` and of the one after its last.
    ///
    /// # Errors
    /// There is no memory for its buffers.
    pub fn places(&self, text: &str, scratch: &mut Scratch, mut each: impl FnMut(u64, usize, usize)) -> Result<()> {
        let mut origins = Vec::new();
        self.map.origins(text, &mut origins)?;
        if let Some(whole) = self.whole_numbers {
            self.map.apply(text, &mut scratch.read, &scratch.cut.stop)?;
            whole.shorten(&scratch.read, &mut origins, &scratch.cut.stop);
        }
        let characters = |start: usize, end: usize| {
            let at = |byte: usize| origins[origins.partition_point(|origin: &Origin| origin.end <= byte)];
            (at(start).first, at(end - 1).after)
        };
        let mut spans = Vec::new();
        if let FeatureKind::Word(_) = self.kind {
            let ascii = self.read(text, scratch)?;
            let mut fits = Ok(());
            let Scratch { text, marks, cut, .. } = &mut *scratch;
            self.each_word((text, ascii, marks), cut, |start, end| {
                if fits.is_ok() {
                    fits = alloc::try_reserve(&mut spans, 1);
                }
                if fits.is_ok() {
                    spans.push((start, end));
                }
            })?;
            fits?;
        }
        let hash = FeatureHash::Xxh3(0).word(0);
        // The first and the last word of each feature, as they are emitted.
        let count = spans.len();
        let short = (1..self.least).contains(&count).then_some((1, count));
        let grams = (1..=count).flat_map(|last| self.lengths(last).map(move |length| (length, last)));
        let mut grams = grams.filter(|&(length, last)| length <= last).map(|(length, last)| (last - length + 1, last));
        let ascii = self.read(text, scratch)?;
        let Scratch { text, marks, words, cut, .. } = scratch;
        self.emit((text, ascii, marks), words, cut, |buffer, start, end| {
            let id = hash.hash(&buffer[start..end]);
            let (first, after) = match self.kind {
                FeatureKind::Char(_) => characters(start, end),
                FeatureKind::Word(_) => {
                    let (first, last) = grams.next().or(short).unwrap_or((1, 1));
                    characters(spans[first - 1].0, spans[last - 1].1)
                }
            };
            each(id, first, after);
        })
    }

    /// Calls `each` with every word of a normalised text that is kept.
    #[inline]
    fn each_word(
        &self,
        text: Normalised<'_>,
        cut: &mut jieba::Scratch,
        mut each: impl FnMut(usize, usize),
    ) -> Result<()> {
        self.each_token(text, cut, |start, end, kept| {
            if kept {
                each(start, end);
            }
        })
    }

    /// Calls `each` with every word of a normalised text, and whether it is kept.
    #[inline]
    fn each_token(
        &self,
        (text, ascii, marks): Normalised<'_>,
        cut: &mut jieba::Scratch,
        mut each: impl FnMut(usize, usize, bool),
    ) -> Result<()> {
        let mut each = |start: usize, end: usize, is_word: bool| {
            let word = &text.as_bytes()[start..end];
            let kept = is_word
                && (self.min_length == 1 || is_long(word, self.min_length))
                && (self.stop_words.is_empty() || !self.stop_words.contains(word));
            each(start, end, kept);
        };
        if marks.is_empty() {
            return self.each_part(text, ascii, cut, each);
        }
        let mut joined = Joined::new(marks);
        self.each_part(text, ascii, cut, |start, end, is_word| {
            if let Some((start, end, is_word)) = joined.add(start, end, is_word) {
                each(start, end, is_word);
            }
        })?;
        if let Some((start, end, is_word)) = joined.last() {
            each(start, end, is_word);
        }
        Ok(())
    }

    /// Calls `each` with every part into which normalised `text` is cut, and whether it is a word of one of the parts of speech.
    #[inline]
    fn each_part(
        &self,
        text: &str,
        ascii: bool,
        cut: &mut jieba::Scratch,
        mut each: impl FnMut(usize, usize, bool),
    ) -> Result<()> {
        match &self.cut {
            Cut::Uax29 => {
                self.each_plain(text, ascii, &cut.stop, |start, end| each(start, end, true));
                Ok(())
            }
            Cut::Script(jieba) => cut::by_script(text, jieba, cut, |start, end| {
                each(start, end, self.has_letter(&text[start..end]));
            }),
            Cut::CppJieba => jieba::cut_as_cppjieba(text, cut, |start, end| {
                each(start, end, self.has_letter(&text[start..end]));
            }),
            Cut::Jieba(jieba) if self.tags.is_empty() => jieba.cut(text, cut, |start, end| {
                each(start, end, self.has_letter(&text[start..end]));
            }),
            Cut::Jieba(jieba) => jieba.cut_tagged(text, cut, |start, end, tag| {
                let tagged = self.tags.iter().any(|wanted| **wanted == *tag);
                each(start, end, tagged && self.has_letter(&text[start..end]));
            }),
        }
    }

    /// Whether a token is a word: it holds one of the recipe's letters, or, if all characters are, anything but white space.
    #[inline]
    fn has_letter(&self, token: &str) -> bool {
        // Most tokens begin with an ideograph: U+4E00 to U+9FBF begin with the bytes E4 B8 to E9 BE.
        if matches!(token.as_bytes(), [0xe5..=0xe8, ..] | [0xe4, 0xb8..=0xff, ..] | [0xe9, 0..=0xbe, ..]) {
            return true;
        }
        match self.letters {
            Letters::All => token.chars().any(|c| !c.is_whitespace()),
            letters => token.chars().any(|c| letters.contains(c)),
        }
    }

    /// Calls `each` with every word by the rules of `letters`.
    #[inline]
    fn each_plain(&self, string: &str, ascii: bool, stop: &CancelToken, mut each: impl FnMut(usize, usize)) {
        if ascii && self.letters == Letters::Word {
            return ascii_words::each(string.as_bytes(), stop, each);
        }
        let mut each_part = |word: &str| {
            let start = word.as_ptr() as usize - string.as_ptr() as usize;
            each(start, start + word.len());
        };
        match self.letters {
            Letters::Word => stop.often(string.unicode_words()).for_each(each_part),
            Letters::All => stop.often(string.split_whitespace()).for_each(each_part),
            Letters::Python => {
                let words = string.split(|c| !Letters::Python.contains(c));
                stop.often(words).filter(|word| !word.is_empty()).for_each(&mut each_part);
            }
        }
    }
}

/// Whether UTF-8 `word` has at least `length` characters.
fn is_long(word: &[u8], length: usize) -> bool {
    // Bytes that continue a character are 10xxxxxx.
    word.len() >= length && word.iter().filter(|&&b| b & 0xc0 != 0x80).count() >= length
}

/// Whether hashes of these words are computed in vectors.
fn in_vectors(words: &[WordHash]) -> bool {
    words.iter().all(|word| matches!(word.hash, FeatureHash::Xxh3(_)))
}

/// What follows a text.
const ZEROS: &str = match std::str::from_utf8(&[0; SLACK]) {
    Ok(zeros) => zeros,
    Err(_) => panic!("zeros are ASCII"),
};

/// The hashes of ASCII windows in `scratch.text`, in vectors.
fn ascii_window_hashes(
    n: usize,
    words: &[WordHash],
    scratch: &mut Scratch,
    mut each: impl FnMut(usize, &[u64]),
) -> u64 {
    let letters = scratch.text.len();
    if letters == 0 {
        return 0;
    }
    let n = n.min(letters);
    let windows = letters - n + 1;
    // `CharMap::apply` has left room. Zeros after the text let the vector kernel run over its end; what it makes of them is cut off below.
    scratch.text.push_str(ZEROS);
    scratch.hashes.resize(CHUNK, 0);
    let mut start = 0;
    while start < windows && !scratch.cut.stop.is_set() {
        let count = (windows - start).min(CHUNK);
        // Whole steps of 56 windows, as far as the zeros allow.
        let padded = count.next_multiple_of(56).min(scratch.text.len() - start - n + 1).min(CHUNK);
        for (j, word) in words.iter().enumerate() {
            let FeatureHash::Xxh3(seed) = word.hash else { continue };
            xxh3::hash_windows(&scratch.text.as_bytes()[start..], n, seed, &mut scratch.hashes[..padded]);
            each(j, &scratch.hashes[..count]);
        }
        start += count;
    }
    scratch.text.truncate(letters);
    windows as u64
}

/// The hashes of the distinct 4-grams of the ASCII text in `scratch.text`, which has at least one.
fn ascii_gram_hashes(words: &[WordHash], scratch: &mut Scratch, mut each: impl FnMut(usize, &[u64])) -> Result<u64> {
    let letters = scratch.text.len();
    let windows = letters - grams::WIDTH + 1;
    scratch.grams.clear(windows)?;
    // `CharMap::apply` has left room.
    scratch.text.push_str(ZEROS);
    scratch.hashes.resize(CHUNK, 0);
    let mut total = 0;
    let mut start = 0;
    while start < windows && !scratch.cut.stop.is_set() {
        let count = (windows - start).min(grams::PART);
        let new = scratch.grams.add(&scratch.text.as_bytes()[start..], count);
        let hashes = &mut scratch.hashes[..new.len()];
        for (j, word) in words.iter().enumerate() {
            let FeatureHash::Xxh3(seed) = word.hash else { continue };
            xxh3::hash_fours(new, seed, hashes);
            each(j, hashes);
        }
        total += new.len() as u64;
        start += count;
    }
    scratch.text.truncate(letters);
    scratch.grams.check()?;
    Ok(total)
}

/// Calls `each` with every `least` to `n` characters in a row of the first `length` bytes of UTF-8 `text`, or with all of them
/// where they are fewer, until the call is stopped.
fn char_grams(
    text: &[u8],
    length: usize,
    (least, n): (usize, usize),
    stop: &CancelToken,
    mut each: impl FnMut(&[u8], usize, usize),
) {
    let mut starts = [0_usize; MAX_N];
    let mut count = 0;
    let mut slot = 0;
    let mut at = 0;
    let mut ending = |starts: &[usize; MAX_N], slot: usize, count: usize, end: usize| {
        for length in least..=n.min(count) {
            each(text, starts[if slot < length { slot + n - length } else { slot - length }], end);
        }
    };
    while at < length && !stop.is_set() {
        let part = length.min(at + PART);
        while at < part {
            if count >= least {
                ending(&starts, slot, count, at);
            }
            starts[slot] = at;
            slot = if slot + 1 == n { 0 } else { slot + 1 };
            count += 1;
            // Length of the character from its first byte: 0xxxxxxx, 110xxxxx, 1110xxxx, 11110xxx.
            at += match text[at] {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
        }
    }
    if count >= least {
        ending(&starts, slot, count, length);
    } else if count > 0 {
        each(text, 0, length);
    }
}

/// The hashes of n-grams of the words of `joined`, which end at `ends` and have `SLACK` bytes after them, until the call is stopped.
fn ascii_word_hashes(
    n: usize,
    words: &[WordHash],
    (joined, ends): (&[u8], &[u32]),
    queues: &mut Queues,
    hashes: &mut [u64],
    stop: &CancelToken,
    mut each: impl FnMut(usize, &[u64]),
) -> u64 {
    if ends.is_empty() {
        return 0;
    }
    let n = n.min(ends.len());
    // Start and length of features of 17 to 32 bytes and of longer ones; without branches, which would often be mispredicted.
    let mut spans = [[(0_u32, 0_u32); CHUNK]; 2];
    let mut start = 0;
    for chunk in ends[n - 1..].chunks(CHUNK).enumerate() {
        let (number, last) = chunk;
        if stop.is_set() {
            break;
        }
        let firsts = &ends[number * CHUNK..][..last.len()];
        let mut counts = [0; 2];
        for (&first, &end) in firsts.iter().zip(last) {
            let length = end - start;
            if length <= 16 {
                queues.push(joined, start as usize, end as usize, words, &mut each);
            }
            spans[0][counts[0]] = (start, length);
            spans[1][counts[1]] = (start, length);
            counts[0] += usize::from((17..=32).contains(&length));
            counts[1] += usize::from(length > 32);
            start = first + 1;
        }
        for (spans, count) in spans.iter().zip(counts) {
            for (j, word) in words.iter().enumerate() {
                let FeatureHash::Xxh3(seed) = word.hash else { continue };
                for (hash, &(start, length)) in hashes.iter_mut().zip(&spans[..count]) {
                    *hash = xxh3::hash(&joined[start as usize..(start + length) as usize], seed);
                }
                each(j, &hashes[..count]);
            }
        }
    }
    queues.flush(words, &mut each);
    (ends.len() - n + 1) as u64
}

/// Features of up to 16 bytes that wait to be hashed in vectors.
#[derive(Default)]
struct Queues {
    short: FeatureQueue,
    medium: FeatureQueue,
    hashes: Vec<u64>,
}

/// First and last eight bytes of features, and their lengths.
#[derive(Default)]
struct FeatureQueue {
    low: Vec<u64>,
    high: Vec<u64>,
    lengths: Vec<u64>,
}

impl Queues {
    #[inline]
    fn push(
        &mut self,
        buffer: &[u8],
        start: usize,
        end: usize,
        words: &[WordHash],
        each: &mut impl FnMut(usize, &[u64]),
    ) {
        let load = |at: usize| {
            let bytes: [u8; 8] = buffer[at..at + 8].try_into().unwrap_or_default();
            u64::from_le_bytes(bytes)
        };
        let length = end - start;
        let queue = if length <= 8 { &mut self.short } else { &mut self.medium };
        queue.low.push(load(start));
        queue.lengths.push(length as u64);
        if length > 8 {
            queue.high.push(load(end - 8));
        }
        if queue.low.len() == CHUNK {
            self.flush(words, each);
        }
    }

    fn flush(&mut self, words: &[WordHash], each: &mut impl FnMut(usize, &[u64])) {
        for medium in [false, true] {
            let queue = if medium { &mut self.medium } else { &mut self.short };
            self.hashes.resize(queue.low.len(), 0);
            for (j, word) in words.iter().enumerate() {
                let FeatureHash::Xxh3(seed) = word.hash else { continue };
                if medium {
                    xxh3::hash_medium(&queue.low, &queue.high, &queue.lengths, seed, &mut self.hashes);
                } else {
                    xxh3::hash_short(&queue.low, &queue.lengths, seed, &mut self.hashes);
                }
                each(j, &self.hashes);
            }
            queue.low.clear();
            queue.high.clear();
            queue.lengths.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokenizer(kind: FeatureKind) -> Tokenizer {
        Tokenizer::new(kind, Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid")
    }

    fn features(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        let each = |feature: &[u8]| all.push(String::from_utf8(feature.to_vec()).expect("UTF-8"));
        tokenizer.features(text, &mut Scratch::default(), each).expect("room");
        all
    }

    #[test]
    fn the_articles_example_gives_its_four_grams() {
        let expected = ["howa", "owar", "ware", "arey", "reyo", "eyou"];
        assert_eq!(expected.to_vec(), features(&tokenizer(FeatureKind::Char(4)), "How are you?"));
    }

    #[test]
    fn short_texts_are_one_feature_and_empty_ones_none() {
        assert_eq!(vec!["abc"], features(&tokenizer(FeatureKind::Char(4)), "a b-c"));
        assert_eq!(vec!["美国"], features(&tokenizer(FeatureKind::Char(4)), "美国。"));
        assert_eq!(vec!["one two"], features(&tokenizer(FeatureKind::Word(3)), "One, two!"));
        for kind in [FeatureKind::Char(4), FeatureKind::Word(1), FeatureKind::Word(3)] {
            assert_eq!(Vec::<String>::new(), features(&tokenizer(kind), " ...\t!\u{3002}"));
        }
    }

    #[test]
    fn mixed_grams_come_by_where_they_end() {
        let mixed = |kind, least| tokenizer(kind).mixed(least).expect("in range");
        let words = mixed(FeatureKind::Word(3), 1);
        assert_eq!(vec!["how", "are", "how are", "you", "are you", "how are you"], features(&words, "How are you?"));
        let chars = mixed(FeatureKind::Char(3), 2);
        assert_eq!(vec!["ho", "ow", "how"], features(&chars, "How"));
        assert_eq!(vec!["ho"], features(&chars, "Ho"));
        assert_eq!(vec!["h"], features(&chars, "H"));
        let message = tokenizer(FeatureKind::Char(2)).mixed(3).err().expect("3 > 2").to_string();
        assert!(message.contains("min_n") && message.contains("1 to n"), "{message}");
    }

    #[test]
    fn word_grams_are_not_ambiguous() {
        let two = tokenizer(FeatureKind::Word(2));
        assert_eq!(vec!["ab c"], features(&two, "ab c"));
        assert_eq!(vec!["a bc"], features(&two, "a bc"));
        assert_eq!(vec!["a b", "b c", "c d"], features(&two, "a b c d"));
    }

    #[test]
    fn stop_words_leave_before_grams_are_built() {
        let stop = ["The".to_owned(), "is".to_owned()];
        let two = Tokenizer::new(FeatureKind::Word(2), Form::Nfkc, Case::Fold, Letters::Word, &stop).expect("valid");
        assert_eq!(vec!["first document"], features(&two, "THE first is the document"));
        assert!(Tokenizer::new(FeatureKind::Char(2), Form::Nfkc, Case::Fold, Letters::Word, &stop).is_err());
    }

    #[test]
    fn letters_choose_the_words() {
        let text = "don't stop_it a-b 3.14";
        let words = |letters| {
            let tokenizer = Tokenizer::new(FeatureKind::Word(1), Form::Nfkc, Case::Fold, letters, &[]).expect("valid");
            features(&tokenizer, text)
        };
        assert_eq!(vec!["don't", "stop_it", "a", "b", "3.14"], words(Letters::Word));
        assert_eq!(vec!["don", "t", "stop_it", "a", "b", "3", "14"], words(Letters::Python));
        assert_eq!(vec!["don't", "stop_it", "a-b", "3.14"], words(Letters::All));
    }

    #[test]
    fn whole_numbers_are_words_whoever_cuts_them() {
        let reading = Reading {
            form: Form::Nfkc,
            folds: Folds::default(),
            case: Case::Fold,
            letters: Letters::Word,
            numbers: Numbers::Whole,
        };
        let text = "At \u{2212}5 to +1.5 \u{b0}C: 1,000 or \u{bd} of 3-4.";
        for name in ["uax29", "jieba", "script"] {
            let tokenizer = Tokenizer::of(FeatureKind::Word(1), reading, &[]).expect("valid");
            let tokenizer = tokenizer.with_words(Cut::new(name, &[]).expect("known"), 1, &[]).expect("valid");
            let expected = ["at", "-5", "to", "+1.5", "c", "1,000", "or", "1\u{2044}2", "of", "3", "4"];
            assert_eq!(expected.to_vec(), features(&tokenizer, text), "{name}");
            let ascii = text.replace('\u{2212}', "-").replace(['\u{b0}', '\u{bd}'], "");
            let expected = ["at", "-5", "to", "+1.5", "c", "1,000", "or", "of", "3", "4"];
            assert_eq!(expected.to_vec(), features(&tokenizer, &ascii), "{name}");
        }
        let chars = Tokenizer::of(FeatureKind::Char(64), reading, &[]).expect("valid");
        assert_eq!(vec!["at-5to+1.5c1,000or1\u{2044}2of34"], features(&chars, text));
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof!["[ -~]{0,1500}", "\\PC{0,200}", "[a-c\u{4e00}-\u{4e03} ]{0,300}", "[a-b1._,;:' ]{0,60}"]
    }

    proptest! {
        #[test]
        fn hashes_are_those_of_the_features(text in any_text(), n in 1_usize..9, chars: bool, name in 0_usize..7) {
            let tokenizer = tokenizer(if chars { FeatureKind::Char(n) } else { FeatureKind::Word(n) });
            let hash = FeatureHash::new(crate::hash::NAMES[name], 0).expect("known");
            let words = [hash.word(0), hash.word(1)];
            let mut found = [Vec::new(), Vec::new()];
            let mut scratch = Scratch::default();
            let each = |j: usize, hashes: &[u64]| found[j].extend_from_slice(hashes);
            let count = tokenizer.hashes(&text, &words, &mut scratch, each).expect("room");
            let features = features(&tokenizer, &text);
            prop_assert_eq!(features.len() as u64, count);
            for j in 0..2 {
                let mut expected: Vec<u64> = features.iter().map(|feature| words[j].hash(feature.as_bytes())).collect();
                let mut hashes = found[j].clone();
                expected.sort_unstable();
                hashes.sort_unstable();
                prop_assert_eq!(expected, hashes);
            }
        }

        #[test]
        fn distinct_hashes_are_those_of_a_set(
            text in any_text(), n in 1_usize..9, chars: bool, name in 0_usize..7, seed in 0_u64..2
        ) {
            let tokenizer = tokenizer(if chars { FeatureKind::Char(n) } else { FeatureKind::Word(n) });
            let hash = FeatureHash::new(crate::hash::NAMES[name], 0).expect("known");
            let hash = if name == 0 { FeatureHash::Xxh3(seed) } else { hash };
            let words = [hash.word(0), hash.word(1)];
            let mut scratch = Scratch::default();
            let features: HashSet<String> = features(&tokenizer, &text).into_iter().collect();
            // The second text finds what the first has left in the buffers.
            for _ in 0..2 {
                let mut found = [Vec::new(), Vec::new()];
                let each = |j: usize, hashes: &[u64]| found[j].extend_from_slice(hashes);
                let count = tokenizer.distinct_hashes(&text, &words, &mut scratch, each).expect("room");
                prop_assert_eq!(features.len() as u64, count);
                for (word, hashes) in words.iter().zip(&mut found) {
                    let mut expected: Vec<u64> = features.iter().map(|feature| word.hash(feature.as_bytes())).collect();
                    expected.sort_unstable();
                    hashes.sort_unstable();
                    prop_assert_eq!(&expected, hashes);
                }
            }
        }

        #[test]
        fn places_are_those_of_the_features(
            text in prop_oneof![any_text(), "[a1.,+\u{2212} \u{bd}-]{0,40}"], n in 1_usize..6, chars: bool, younger: bool
        ) {
            let kind = if chars { FeatureKind::Char(n) } else { FeatureKind::Word(n) };
            let reading = Reading {
                form: Form::Nfkc,
                folds: if younger { Folds::new(&["hans", "lookalikes", "accents"]).expect("known") } else { Folds::default() },
                case: Case::Fold,
                letters: Letters::Word,
                numbers: if younger { Numbers::Whole } else { Numbers::Split },
            };
            let tokenizer = Tokenizer::of(kind, reading, &[]).expect("valid");
            let expected = features(&tokenizer, &text);
            let characters: Vec<char> = text.chars().collect();
            let (mut found, mut before) = (Vec::new(), (0, 0));
            let mut scratch = Scratch::default();
            let mut each = |id, first: usize, after: usize| found.push((id, first, after));
            tokenizer.places(&text, &mut scratch, &mut each).expect("room");
            prop_assert_eq!(expected.len(), found.len());
            for (feature, (id, first, after)) in expected.iter().zip(found) {
                prop_assert_eq!(FeatureHash::Xxh3(0).word(0).hash(feature.as_bytes()), id);
                prop_assert!(first < after && after <= characters.len() && before <= (first, after));
                // The characters alone have this feature, where none before them changes them.
                let part: String = characters[first..after].iter().collect();
                if text.is_ascii() && chars && !younger {
                    prop_assert_eq!(&vec![feature.clone()], &features(&tokenizer, &part));
                }
                before = (first, after);
            }
        }

        #[test]
        fn mixed_grams_are_those_of_each_length(
            text in any_text(), lengths in (1_usize..5, 0_usize..4), chars: bool, younger: bool
        ) {
            let (least, most) = (lengths.0, lengths.0 + lengths.1);
            let kind = |n| if chars { FeatureKind::Char(n) } else { FeatureKind::Word(n) };
            let reading = Reading {
                form: Form::Nfkc,
                folds: Folds::default(),
                case: Case::Fold,
                letters: Letters::Word,
                numbers: if younger { Numbers::Whole } else { Numbers::Split },
            };
            let mixed = Tokenizer::of(kind(most), reading, &[]).expect("valid").mixed(least).expect("in range");
            let found = features(&mixed, &text);
            // A text that is shorter than an n-gram is a feature of its own for the shortest alone.
            let units = features(&Tokenizer::of(kind(1), reading, &[]).expect("valid"), &text).len();
            let mut expected: Vec<String> = (least..=most.min(units.max(least)))
                .flat_map(|n| features(&Tokenizer::of(kind(n), reading, &[]).expect("valid"), &text))
                .collect();
            let mut sorted = found.clone();
            expected.sort_unstable();
            sorted.sort_unstable();
            prop_assert_eq!(&expected, &sorted);

            let words = [FeatureHash::Xxh3(0).word(0), FeatureHash::Xxh3(7).word(1)];
            let mut scratch = Scratch::default();
            let mut hashes = [Vec::new(), Vec::new()];
            let each = |j: usize, some: &[u64]| hashes[j].extend_from_slice(some);
            prop_assert_eq!(found.len() as u64, mixed.hashes(&text, &words, &mut scratch, each).expect("room"));
            let mut distinct = [Vec::new(), Vec::new()];
            let each = |j: usize, some: &[u64]| distinct[j].extend_from_slice(some);
            mixed.distinct_hashes(&text, &words, &mut scratch, each).expect("room");
            for j in 0..2 {
                let mut expected: Vec<u64> = found.iter().map(|feature| words[j].hash(feature.as_bytes())).collect();
                expected.sort_unstable();
                hashes[j].sort_unstable();
                prop_assert_eq!(&expected, &hashes[j]);
                expected.dedup();
                distinct[j].sort_unstable();
                prop_assert_eq!(&expected, &distinct[j]);
            }

            let mut number = 0;
            let characters: Vec<char> = text.chars().collect();
            let each = |id, first: usize, after: usize| {
                assert_eq!(words[0].hash(found[number].as_bytes()), id);
                assert!(first < after && after <= characters.len());
                if text.is_ascii() && chars && !younger {
                    let part: String = characters[first..after].iter().collect();
                    let alone = Tokenizer::of(kind(64), reading, &[]).expect("valid");
                    assert_eq!(vec![found[number].clone()], features(&alone, &part));
                }
                number += 1;
            };
            mixed.places(&text, &mut scratch, each).expect("room");
            prop_assert_eq!(found.len(), number);
        }

        #[test]
        fn char_grams_are_windows_of_characters(text in any_text(), n in 1_usize..6) {
            let tokenizer = tokenizer(FeatureKind::Char(n));
            let mut mapped = String::new();
            tokenizer.map.apply(&text, &mut mapped, &CancelToken::default()).expect("room");
            let letters: Vec<char> = mapped.chars().collect();
            let expected: Vec<String> = match letters.len() {
                0 => vec![],
                length if length < n => vec![letters.iter().collect()],
                _ => letters.windows(n).map(|window| window.iter().collect()).collect(),
            };
            prop_assert_eq!(expected, features(&tokenizer, &text));
        }

        #[test]
        fn word_grams_are_windows_of_the_words_that_are_kept(
            text in any_text(), n in 1_usize..5, least in 1_usize..4, cut in prop::sample::select(vec!["uax29", "jieba", "script"])
        ) {
            let make = |n| {
                let cut = Cut::new(cut, &[]).expect("known");
                let stop = ["b".to_owned()];
                let made = Tokenizer::new(FeatureKind::Word(n), Form::Nfkc, Case::Fold, Letters::Word, &stop);
                made.expect("valid").with_words(cut, least, &[]).expect("valid")
            };
            let mut kept: Vec<String> = Vec::new();
            let each = |text: &[u8], start: usize, end: usize, is_kept: bool| {
                if is_kept {
                    kept.push(String::from_utf8(text[start..end].to_vec()).expect("UTF-8"));
                }
            };
            make(n).words(&text, &mut Scratch::default(), each).expect("room");
            prop_assert!(kept.iter().all(|word| word.chars().count() >= least && word != "b"));
            let expected: Vec<String> = match kept.len() {
                0 => vec![],
                length => kept.windows(n.min(length)).map(|window| window.join(" ")).collect(),
            };
            prop_assert_eq!(expected, features(&make(n), &text));
        }

        #[test]
        fn distinct_features_are_a_set(text in any_text()) {
            let tokenizer = tokenizer(FeatureKind::Char(2));
            let mut ids = Vec::new();
            tokenizer.distinct(&text, &mut Scratch::default(), &mut ids).expect("room");
            let expected: HashSet<String> = features(&tokenizer, &text).into_iter().collect();
            prop_assert_eq!(expected.len(), ids.len());
        }
    }
}
