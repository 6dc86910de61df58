//! Text to features: tokens and n-grams as byte strings, and their hashes.
//!
//! | kind | feature | shorter texts |
//! |---|---|---|
//! | `char:n` | n consecutive letters (code points) of the text without other characters | all letters as one |
//! | `word:n` | n consecutive words, joined by one space | all words as one |
//! | `char:m-n`, `word:m-n` | those of each length from m to n, by their end, the shorter first | all as one below m |
//!
//! Words are, by the recipe's `letters`: `word` the words of UAX #29 that contain a letter or digit; `python` the
//! maximal runs of Python's `\w`; `all` the runs between white space. With a dictionary ([`crate::text::cut`]) they are
//! its tokens that contain such a letter, for `all` those that contain anything but white space. Words of source code are
//! its tokens; names that an author may choose become one word ([`crate::text::code`]). No word contains a space,
//! so joined words are never ambiguous. Stop words, words shorter than the recipe's minimum length, and words of
//! other parts of speech than the recipe's are removed before n-grams are built. A text without letters or words has no
//! feature.
//!
//! The text is normalized, folded and its case mapped before segmentation. With whole numbers
//! ([`crate::text::numbers`]) points and signs of numbers are read with their digits.
//!
//! A feature is identified by XXH3-64 (seed 0) of its bytes: two features of a pair of documents with 10^6 features
//! each collide with a probability of about 10^-7.
//!
//! Cost: ASCII letters are selected 64 at a time and hashed in vectors, and their distinct 4-grams are found before
//! hashing ([`crate::hash::grams`]); words of ASCII texts are found by bit masks ([`crate::text::ascii_words`]), words
//! of other texts by the `unicode-segmentation` crate.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use unicode_segmentation::UnicodeSegmentation;

use crate::cancel::CancelToken;
use crate::cpu::prefetch::prefetch;
use crate::hash::grams::{self, Grams};
use crate::hash::idset::IdSet;
use crate::hash::{FeatureHash, WordHash, xxh3};
use crate::text::ascii_words;
use crate::text::code;
use crate::text::cut::{self, Cut};
use crate::text::fold::Folds;
use crate::text::jieba;
use crate::text::numbers::{Joined, Mark, Numbers, Whole};
use crate::text::unicode::{Case, CharMap, Form, Letters, Origin, SLACK};
use crate::{Error, Result, alloc};

/// The texts of a batch: random access to strings, some of them null.
pub trait TextSource: Sync {
    /// Return the number of texts.
    fn len(&self) -> usize;
    /// Return text `i`, or None for a null.
    fn get(&self, i: usize) -> Option<&str>;
    /// True if there are no texts.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Prefetch the beginning of text `i`, which need not exist. Texts are scattered over memory, and a short one ends
    /// before the hardware prefetcher starts.
    #[inline]
    fn prefetch(&self, i: usize) {
        if let Some(text) = (i < self.len()).then(|| self.get(i)).flatten() {
            text.as_bytes().chunks(64).take(AHEAD).for_each(|line| prefetch(line.as_ptr()));
        }
    }
}

/// Bytes of the next text that are prefetched: 2 KB.
const AHEAD: usize = 32;

impl<S: AsRef<str> + Sync> TextSource for &[S] {
    fn len(&self) -> usize {
        <[S]>::len(self)
    }
    fn get(&self, i: usize) -> Option<&str> {
        Some(self[i].as_ref())
    }
}

/// The kind of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureKind {
    /// Character n-grams.
    Char(usize),
    /// Word n-grams.
    Word(usize),
}

/// The characters of a text that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Normalisation form.
    pub form: Form,
    /// Character folds.
    pub folds: Folds,
    /// Case rule.
    pub case: Case,
    /// The characters that count as letters.
    pub letters: Letters,
    /// The rule for numbers.
    pub numbers: Numbers,
}

/// Maximum n of an n-gram.
pub const MAX_N: usize = 64;
/// Maximum number of words of a feature's hash.
pub const MAX_WORDS: usize = 16;

/// Converts text to features by a recipe.
pub struct Tokenizer {
    /// Maximum length of n-grams.
    kind: FeatureKind,
    /// Minimum length of n-grams.
    min_n: usize,
    letters: Letters,
    map: &'static CharMap,
    /// None if numbers are split.
    whole_numbers: Option<Whole>,
    /// Stop words, after normalization and case.
    stop_words: HashSet<Box<[u8]>>,
    cut: Cut,
    /// Minimum number of characters of a word.
    min_length: usize,
    /// Parts of speech to keep; all if empty.
    tags: Vec<Box<str>>,
}

/// Buffers reused for every text of a thread.
#[derive(Default)]
pub struct Scratch {
    /// The normalized text, with `SLACK` zeros after it.
    text: String,
    /// With whole numbers: the complete normalized text, and the characters of `text` that belong to numbers.
    read: String,
    marks: Vec<Mark>,
    /// Words joined by spaces, with `SLACK` zeros after them.
    words: Vec<u8>,
    hashes: Vec<u64>,
    queues: Queues,
    /// Ends of the words of an ASCII text in `words`.
    ends: Vec<u32>,
    grams: Grams,
    /// Distinct 4-grams that are not hashed yet.
    keys: Vec<u32>,
    seen: IdSet,
    /// Selection of new features' hashes, and the new hashes of another word.
    fresh: Vec<bool>,
    kept: Vec<u64>,
    cut: jieba::Scratch,
}

impl Scratch {
    /// Create the buffers of a thread that works for a call with the token `cancel`; after cancellation a long text is
    /// incomplete.
    pub fn with_cancel(cancel: &CancelToken) -> Self {
        let mut scratch = Self::default();
        scratch.cut.cancel = cancel.clone();
        scratch
    }

    /// Return the normalized text that [`Tokenizer::words`] read last.
    pub fn normalised(&self) -> &str {
        &self.text
    }

    /// Return the cancellation token of the call.
    pub(crate) fn cancel(&self) -> &CancelToken {
        &self.cut.cancel
    }
}

/// A text in the recipe's form, whether all of it is ASCII, and the characters of its numbers.
type Normalised<'a> = (&'a str, bool, &'a [Mark]);

/// Number of bytes of a text between two cancellation points.
const PART: usize = if cfg!(test) { 32 } else { 1 << 18 };

/// Number of hashes per call of the consumer: complete blocks of the bit sums, complete steps of the window hashes.
pub(crate) const CHUNK: usize = 7 * crate::cpu::bitsum::BLOCK;

impl Tokenizer {
    /// Create a tokenizer for n-grams of `kind`, without folds and with split numbers.
    ///
    /// # Errors
    /// See [`Tokenizer::of`].
    pub fn new(kind: FeatureKind, form: Form, case: Case, letters: Letters, stop_words: &[String]) -> Result<Self> {
        Self::of(kind, Reading { form, folds: Folds::default(), case, letters, numbers: Numbers::Split }, stop_words)
    }

    /// Create a tokenizer for n-grams of `kind`.
    ///
    /// # Errors
    /// n is not in 1 to 64, or stop words with characters; memory runs out.
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
        let mut result =
            Self { kind, min_n: n, letters, map, whole_numbers, stop_words: stop_set, cut, min_length: 1, tags };
        let (mut scratch, mut normalised) = (Scratch::default(), HashSet::new());
        alloc::try_reserve_set(&mut normalised, stop_words.len())?;
        for word in stop_words {
            result.read(word, &mut scratch)?;
            normalised.insert(alloc::try_copy(scratch.text.as_bytes())?.into());
        }
        result.stop_words = normalised;
        Ok(result)
    }

    /// Set the minimum length of n-grams to `min_n` characters or words.
    ///
    /// # Errors
    /// `min_n` is not in 1 to n.
    pub fn mixed(mut self, min_n: usize) -> Result<Self> {
        let (FeatureKind::Char(n) | FeatureKind::Word(n)) = self.kind;
        if !(1..=n).contains(&min_n) {
            return Err(Error::parameter("min_n", min_n, format!("1 to n, which is {n}")));
        }
        self.min_n = min_n;
        Ok(self)
    }

    /// Return the lengths of the n-grams of a text of `count` characters or words; a single one if the complete text is
    /// its only feature.
    fn lengths(&self, count: usize) -> RangeInclusive<usize> {
        let (FeatureKind::Char(n) | FeatureKind::Word(n)) = self.kind;
        self.min_n..=n.min(count.max(self.min_n))
    }

    /// Write the text in the recipe's form to `scratch`; return whether all of it is ASCII.
    #[inline]
    fn read(&self, text: &str, scratch: &mut Scratch) -> Result<bool> {
        let Scratch { text: out, read, marks, cut, .. } = scratch;
        marks.clear();
        if let Cut::Code(joined) = self.cut {
            self.map.apply(text, read, &cut.cancel)?;
            code::fold(read, joined, out, &cut.cancel, |_, _| {})?;
            return Ok(out.is_ascii());
        }
        let Some(whole) = self.whole_numbers else { return self.map.apply(text, out, &cut.cancel) };
        self.map.apply(text, read, &cut.cancel)?;
        whole.keep(read, out, marks, &cut.cancel)?;
        Ok(out.is_ascii())
    }

    /// Set the segmenter; its words are kept if they have at least `min_length` characters and one of the parts of
    /// speech `tags` (any if empty).
    ///
    /// # Errors
    /// A segmenter, a minimum length or tags with characters instead of words; tags without jieba; script with letters
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
        if matches!(cut, Cut::Script(_) | Cut::Code(_)) && self.letters != Letters::Word {
            return Err(Error::parameter("letters", "python or all", "word with cut:script and cut:code"));
        }
        if matches!(cut, Cut::Code(_)) && self.whole_numbers.is_some() {
            return Err(Error::parameter("numbers", "whole", "split with cut:code, in which all numbers are one word"));
        }
        if !(1..=MAX_N).contains(&min_length) {
            return Err(Error::parameter("min_length", min_length, format!("1 to {MAX_N}")));
        }
        (self.cut, self.min_length) = (cut, min_length);
        self.tags = tags.iter().map(|tag| tag.as_str().into()).collect();
        Ok(self)
    }

    /// Return a user's words as they occur in texts, after normalization and case.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn normalise(&self, mut words: Vec<jieba::UserWord>) -> Result<Vec<jieba::UserWord>> {
        let mut scratch = Scratch::default();
        for word in &mut words {
            self.read(&word.word, &mut scratch)?;
            word.word = alloc::try_string(&scratch.text)?;
        }
        words.retain(|word| !word.word.is_empty());
        Ok(words)
    }

    /// True if texts are segmented like the C++ library cppjieba.
    pub fn cuts_as_cppjieba(&self) -> bool {
        matches!(self.cut, Cut::CppJieba)
    }

    /// True if features are of words, false if of characters.
    pub fn has_words(&self) -> bool {
        matches!(self.kind, FeatureKind::Word(_))
    }

    /// Return the text that features are taken from: normalized, folded, without the characters that the recipe
    /// removes.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn normalised(&self, text: &str) -> Result<String> {
        let mut scratch = Scratch::default();
        self.read(text, &mut scratch)?;
        Ok(scratch.text)
    }

    /// Call `each(text, start, end, kept)` with the words of `text` in order, including removed ones; with jieba, white
    /// space and punctuation are such words.
    ///
    /// # Errors
    /// Memory runs out.
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

    /// Call `each` with the bytes of every feature of `text`, in order, with repetitions.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn features(&self, text: &str, scratch: &mut Scratch, mut each: impl FnMut(&[u8])) -> Result<()> {
        let ascii = self.read(text, scratch)?;
        let Scratch { text, marks, words, cut, .. } = scratch;
        self.emit((text, ascii, marks), words, cut, |buffer, start, end| each(&buffer[start..end]))
    }

    /// Call `each(buffer, start, end)` with every feature of the normalized text; the buffer has at least `SLACK` bytes
    /// after each feature.
    fn emit(
        &self,
        (text, ascii, marks): (&mut String, bool, &[Mark]),
        words: &mut Vec<u8>,
        cut: &mut jieba::Scratch,
        mut each: impl FnMut(&[u8], usize, usize),
    ) -> Result<()> {
        let length = text.len();
        // `CharMap::apply` has reserved the capacity.
        text.push_str(ZEROS);
        let bytes = text.as_bytes();
        match self.kind {
            FeatureKind::Char(n) => {
                char_grams(bytes, length, (self.min_n, n), &cut.cancel, each);
                Ok(())
            }
            FeatureKind::Word(1) => {
                self.each_word((&text[..length], ascii, marks), cut, |start, end| each(bytes, start, end))
            }
            FeatureKind::Word(n) => {
                // A word of one byte and its space make the joined words at most twice as long as the text.
                words.clear();
                alloc::try_resize(words, 2 * length + SLACK, 0)?;
                // Starts of the last n words in `words`; word w at starts[w % n].
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
                    for length in self.min_n..=n.min(count) {
                        each(words, starts[(count - length) % n], used);
                    }
                })?;
                if (1..self.min_n).contains(&count) {
                    each(words, 0, used);
                }
                Ok(())
            }
        }
    }

    /// Pass the hashes of all features of `text` to `each`, in chunks and in no particular order: per chunk one call
    /// for each word of the fingerprint, `each(word, hashes)`, with the features in the same order. Return the number
    /// of features.
    ///
    /// # Errors
    /// Memory runs out.
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

    /// Pass the hashes of the normalized text in `scratch`; see [`Tokenizer::hashes`].
    fn mapped_hashes(
        &self,
        ascii: bool,
        words: &[WordHash],
        scratch: &mut Scratch,
        mut each: impl FnMut(usize, &[u64]),
    ) -> Result<u64> {
        let vectors = in_vectors(words);
        if let (FeatureKind::Char(n), true) = (self.kind, vectors && !scratch.text.is_empty()) {
            // Four characters have at most 16 bytes.
            if ascii || n <= 4 && scratch.text.chars().nth(n - 1).is_some() {
                let mut total = 0;
                for n in self.lengths(scratch.text.len()) {
                    let n = n.min(scratch.text.len());
                    total += ascii_window_hashes(n, words, scratch, &mut each)?;
                    if !ascii {
                        total += other_gram_hashes(n, words, scratch, &mut each);
                    }
                }
                return Ok(total);
            }
        }
        let Scratch { text: buffer, marks, words: joined, hashes, queues, cut, ends, .. } = scratch;
        let all_words = ascii && marks.is_empty() && self.takes_all_words();
        if let (FeatureKind::Word(_), true, true) = (self.kind, all_words, vectors)
            && ascii_words::join(buffer.as_bytes(), joined, ends)?
        {
            hashes.resize(CHUNK, 0);
            // `ascii_words::join` has reserved the capacity.
            joined.resize(joined.len() + SLACK, 0);
            let of = |n| ascii_word_hashes(n, words, (&joined[..], &ends[..]), queues, hashes, &cut.cancel, &mut each);
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

    /// True if the words are those of UAX #29 without filters.
    fn takes_all_words(&self) -> bool {
        let plain = self.letters == Letters::Word && matches!(self.cut, Cut::Uax29);
        plain && self.min_length == 1 && self.stop_words.is_empty()
    }

    /// Pass the hashes of each distinct feature once; see [`Tokenizer::hashes`].
    ///
    /// # Errors
    /// Memory runs out.
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
        let long = scratch.text.chars().nth(grams::WIDTH - 1).is_some();
        let fours = self.kind == FeatureKind::Char(grams::WIDTH) && self.min_n == grams::WIDTH;
        let split = fours && long && in_vectors(words);
        // Features with other characters than ASCII have more bytes than those without.
        let plain = if split { ascii_gram_hashes(words, scratch, &mut each)? } else { 0 };
        if split && ascii {
            return Ok(plain);
        }
        // A hash that identifies features, followed by the words, the first of which may be that hash.
        let skipped = usize::from(!words.first().is_some_and(|word| matches!(word.hash, FeatureHash::Xxh3(0))));
        let mut all = [FeatureHash::Xxh3(0).word(0); MAX_WORDS + 1];
        all[skipped..skipped + words.len()].copy_from_slice(words);
        let mut seen = std::mem::take(&mut scratch.seen);
        let (mut fresh, mut kept) = (std::mem::take(&mut scratch.fresh), std::mem::take(&mut scratch.kept));
        seen.clear(text.len().min(1024));
        let all = &all[..skipped + words.len()];
        let mut each_hashed = |word: usize, hashes: &[u64]| {
            if word == 0 {
                fresh.clear();
                let new = seen.insert_all(hashes, |new| fresh.push(new));
                if skipped == 0 {
                    each(0, &seen.ids()[seen.len() - new..]);
                }
            } else {
                // Every hash is written and only new ones advance the end, which avoids branches.
                kept.resize(hashes.len(), 0);
                let mut count = 0;
                for (&hash, &fresh) in hashes.iter().zip(&*fresh) {
                    kept[count] = hash;
                    count += usize::from(fresh);
                }
                each(word - skipped, &kept[..count]);
            }
        };
        if split {
            other_gram_hashes(grams::WIDTH, all, scratch, each_hashed);
        } else {
            self.mapped_hashes(ascii, all, scratch, &mut each_hashed)?;
        }
        seen.check()?;
        let count = plain + seen.len() as u64;
        (scratch.seen, scratch.fresh, scratch.kept) = (seen, fresh, kept);
        Ok(count)
    }

    /// Append the identifiers of the distinct features of `text` to `ids`, each once, in no particular order.
    ///
    /// # Errors
    /// Memory runs out; `ids` is unchanged.
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

    /// Call `each(id, first, after)` with the identifier of every feature of `text`, in order, with repetitions, and
    /// its start and end (exclusive) in characters of `text`.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn places(&self, text: &str, scratch: &mut Scratch, mut each: impl FnMut(u64, usize, usize)) -> Result<()> {
        let mut origins = Vec::new();
        self.map.origins(text, &mut origins)?;
        if let Some(whole) = self.whole_numbers {
            self.map.apply(text, &mut scratch.read, &scratch.cut.cancel)?;
            whole.shorten(&scratch.read, &mut origins, &scratch.cut.cancel);
        }
        let characters = |origins: &[Origin], start: usize, end: usize| {
            let at = |byte: usize| origins[origins.partition_point(|origin| origin.end <= byte)];
            (at(start).first, at(end - 1).after)
        };
        if let Cut::Code(joined) = self.cut {
            self.map.apply(text, &mut scratch.read, &scratch.cut.cancel)?;
            let mut of_words = alloc::BestEffortVec::default();
            code::fold(&scratch.read, joined, &mut scratch.text, &scratch.cut.cancel, |range, end| {
                let (first, after) = characters(&origins, range.start, range.end);
                of_words.push(Origin { end, first, after });
            })?;
            origins = of_words.into_vec()?;
        }
        let characters = |start: usize, end: usize| characters(&origins, start, end);
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
        let short = (1..self.min_n).contains(&count).then_some((1, count));
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

    /// Call `each` with every kept word of a normalized text.
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

    /// Call `each` with every word of a normalized text, and whether it is kept.
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
        // Plain words of ASCII are found at gigabytes per second; for others a call through a pointer is no cost.
        if marks.is_empty() && ascii && matches!(self.cut, Cut::Uax29) && self.letters == Letters::Word {
            ascii_words::each(text.as_bytes(), &cut.cancel, |start, end| each(start, end, true));
            return Ok(());
        }
        if marks.is_empty() {
            return self.each_part(text, ascii, cut, &mut each);
        }
        let mut joined = Joined::new(marks);
        self.each_part(text, ascii, cut, &mut |start, end, is_word| {
            if let Some((start, end, is_word)) = joined.add(start, end, is_word) {
                each(start, end, is_word);
            }
        })?;
        if let Some((start, end, is_word)) = joined.last() {
            each(start, end, is_word);
        }
        Ok(())
    }

    /// Call `each` with every segment of normalized `text`, and whether it is a word of one of the parts of speech.
    fn each_part(
        &self,
        text: &str,
        ascii: bool,
        cut: &mut jieba::Scratch,
        each: &mut dyn FnMut(usize, usize, bool),
    ) -> Result<()> {
        match &self.cut {
            Cut::Uax29 => {
                self.each_plain(text, ascii, &cut.cancel, |start, end| each(start, end, true));
                Ok(())
            }
            Cut::Code(_) => {
                let mut start = 0;
                for word in cut.cancel.often(text.split(' ')).filter(|word| !word.is_empty()) {
                    each(start, start + word.len(), true);
                    start += word.len() + 1;
                }
                Ok(())
            }
            Cut::Script(jieba) => cut::by_script(text, jieba, cut, &mut |start, end| {
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

    /// True if a token is a word: it contains one of the recipe's letters or, if all characters are letters, anything
    /// but white space.
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

    /// Call `each` with every word by the rules of `letters`.
    #[inline]
    fn each_plain(&self, string: &str, ascii: bool, cancel: &CancelToken, mut each: impl FnMut(usize, usize)) {
        if ascii && self.letters == Letters::Word {
            return ascii_words::each(string.as_bytes(), cancel, each);
        }
        if self.letters == Letters::Word {
            return mixed_words(string, cancel, each);
        }
        let mut each_part = |word: &str| {
            let start = word.as_ptr() as usize - string.as_ptr() as usize;
            each(start, start + word.len());
        };
        match self.letters {
            Letters::Word => {}
            Letters::All => cancel.often(string.split_whitespace()).for_each(each_part),
            Letters::Python => {
                let words = string.split(|c| !Letters::Python.contains(c));
                cancel.often(words).filter(|word| !word.is_empty()).for_each(&mut each_part);
            }
        }
    }
}

/// Call `each(start, end)` with every word of UAX #29 of a text with other characters than ASCII.
///
/// There is a boundary between a space and another ASCII character, and no rule looks beyond it. So the text is cut there,
/// and only the pieces with other characters take the general path. A run of spaces is not cut: with a joiner and a symbol
/// after it, it is one word.
fn mixed_words(string: &str, cancel: &CancelToken, mut each: impl FnMut(usize, usize)) {
    let bytes = string.as_bytes();
    let is_cut = |at: usize| bytes[at - 1] == b' ' && bytes[at].is_ascii() && bytes[at] != b' ';
    let mut start = 0;
    while start < bytes.len() && !cancel.is_set() {
        let other = run(&bytes[start..], true) + start;
        // The piece before the last cut is ASCII.
        let mut plain = other.min(bytes.len() - 1);
        while plain > start && !is_cut(plain) {
            plain -= 1;
        }
        if other == bytes.len() {
            plain = other;
        }
        if plain > start {
            ascii_words::each(&bytes[start..plain], cancel, |from, to| each(start + from, start + to));
        }
        let mut end = other;
        while end < bytes.len() && !(end > plain && is_cut(end)) {
            end += 1;
        }
        for word in cancel.often(string[plain..end].unicode_words()) {
            let from = word.as_ptr() as usize - string.as_ptr() as usize;
            each(from, from + word.len());
        }
        start = end;
    }
}

/// Return the length of the run of ASCII bytes, or of other bytes, at the front.
fn run(bytes: &[u8], ascii: bool) -> usize {
    const BITS: u64 = 0x8080_8080_8080_8080;
    let alike = if ascii { 0 } else { BITS };
    let (words, _) = bytes.as_chunks::<8>();
    let whole = words.iter().take_while(|word| u64::from_le_bytes(**word) & BITS == alike).count();
    let rest = &bytes[8 * whole..];
    8 * whole + rest.iter().position(|byte| byte.is_ascii() != ascii).unwrap_or(rest.len())
}

/// True if UTF-8 `word` has at least `length` characters.
fn is_long(word: &[u8], length: usize) -> bool {
    // Continuation bytes are 10xxxxxx.
    word.len() >= length && word.iter().filter(|&&b| b & 0xc0 != 0x80).count() >= length
}

/// True if hashes of such words are computed in vectors.
fn in_vectors(words: &[WordHash]) -> bool {
    words.iter().all(|word| matches!(word.hash, FeatureHash::Xxh3(_)))
}

/// The padding after a text.
const ZEROS: &str = match std::str::from_utf8(&[0; SLACK]) {
    Ok(zeros) => zeros,
    Err(_) => panic!("zeros are ASCII"),
};

/// Compute the hashes of the ASCII windows of `n` characters of the text in `scratch.text`, in vectors; return their
/// number.
fn ascii_window_hashes(
    n: usize,
    words: &[WordHash],
    scratch: &mut Scratch,
    mut each: impl FnMut(usize, &[u64]),
) -> Result<u64> {
    let letters = scratch.text.len();
    // `CharMap::apply` has reserved the capacity. Zeros after the text let the vector kernel read past its end; the
    // surplus hashes are overwritten or cut off.
    scratch.text.push_str(ZEROS);
    let Scratch { text, hashes, cut, .. } = scratch;
    alloc::try_resize(hashes, hashes.len().max(words.len() * CHUNK), 0)?;
    let (mut total, mut filled) = (0, 0);
    let mut pass = |hashes: &[u64], filled: usize| {
        for j in 0..words.len() {
            each(j, &hashes[j * CHUNK..][..filled]);
        }
    };
    for [plain, _] in stretches(&text.as_bytes()[..letters], n) {
        let mut start = plain.start;
        let end = (plain.end + 1).saturating_sub(n);
        while start < end && !cut.cancel.is_set() {
            let count = (end - start).min(CHUNK - filled);
            // Complete steps of eight windows, as far as the zeros allow.
            let padded = count.next_multiple_of(8).min(text.len() - start - n + 1).min(CHUNK - filled);
            for (j, word) in words.iter().enumerate() {
                let FeatureHash::Xxh3(seed) = word.hash else { continue };
                let hashes = &mut hashes[j * CHUNK + filled..][..padded];
                xxh3::hash_windows(&text.as_bytes()[start..], n, seed, hashes);
            }
            (start, filled, total) = (start + count, filled + count, total + count as u64);
            if filled == CHUNK {
                pass(hashes, filled);
                filled = 0;
            }
        }
    }
    pass(hashes, filled);
    text.truncate(letters);
    Ok(total)
}

/// Compute the hashes of the distinct ASCII 4-grams of the text in `scratch.text`, which has at least four characters.
fn ascii_gram_hashes(words: &[WordHash], scratch: &mut Scratch, mut each: impl FnMut(usize, &[u64])) -> Result<u64> {
    let letters = scratch.text.len();
    // `CharMap::apply` has reserved the capacity.
    scratch.text.push_str(ZEROS);
    let Scratch { text, grams, keys, hashes, cut, .. } = scratch;
    grams.clear(letters - grams::WIDTH + 1)?;
    alloc::try_reserve(keys, CHUNK)?;
    hashes.resize(CHUNK, 0);
    let mut hash_all = |keys: &mut Vec<u32>| {
        let hashes = &mut hashes[..keys.len()];
        for (j, word) in words.iter().enumerate() {
            let FeatureHash::Xxh3(seed) = word.hash else { continue };
            xxh3::hash_fours(keys, seed, hashes);
            each(j, hashes);
        }
        keys.clear();
        hashes.len() as u64
    };
    let mut total = 0;
    for [plain, _] in stretches(&text.as_bytes()[..letters], grams::WIDTH) {
        let windows = (plain.len() + 1).saturating_sub(grams::WIDTH);
        for start in cut.cancel.often((0..windows).step_by(grams::PART)) {
            let new = grams.add(&text.as_bytes()[plain.start + start..], (windows - start).min(grams::PART));
            if keys.len() + new.len() > CHUNK {
                total += hash_all(keys);
            }
            keys.extend_from_slice(new);
        }
    }
    total += hash_all(keys);
    text.truncate(letters);
    grams.check()?;
    Ok(total)
}

/// Compute the hashes of the `n`-grams, of up to four characters, of the text in `scratch.text` that are not ASCII;
/// return their number.
fn other_gram_hashes(n: usize, words: &[WordHash], scratch: &mut Scratch, mut each: impl FnMut(usize, &[u64])) -> u64 {
    let letters = scratch.text.len();
    // `CharMap::apply` has reserved the capacity.
    scratch.text.push_str(ZEROS);
    let Scratch { text, queues, cut, .. } = scratch;
    let mut total = 0;
    for [_, other] in stretches(&text.as_bytes()[..letters], n) {
        let bytes = &text.as_bytes()[other.start..];
        char_grams(bytes, other.len(), (n, n), &cut.cancel, |bytes, start, end| {
            total += 1;
            queues.push(bytes, start, end, words, &mut each);
        });
    }
    queues.flush(words, &mut each);
    text.truncate(letters);
    total
}

/// Iterate over the stretches of a text: a range of ASCII bytes, and the range whose windows of `n` characters are those
/// with another character that begin in the stretch.
fn stretches(text: &[u8], n: usize) -> impl Iterator<Item = [Range<usize>; 2]> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start == text.len() {
            return None;
        }
        let plain = start..start + run(&text[start..], true);
        let first = if plain.end == text.len() { plain.end } else { plain.end.saturating_sub(n - 1).max(start) };
        let mut end = plain.end;
        start = end;
        while end < text.len() {
            start = end + run(&text[end..], false);
            end = start + run(&text[start..text.len().min(start + n - 1)], true);
            if end - start == n - 1 {
                break;
            }
        }
        Some([plain, first..end])
    })
}

/// Call `each` with every run of `min_n` to `n` characters of the first `length` bytes of UTF-8 `text`, or with all of
/// them if they are fewer, until the call is cancelled.
fn char_grams(
    text: &[u8],
    length: usize,
    (min_n, n): (usize, usize),
    cancel: &CancelToken,
    mut each: impl FnMut(&[u8], usize, usize),
) {
    let mut starts = [0_usize; MAX_N];
    let mut count = 0;
    let mut slot = 0;
    let mut at = 0;
    let mut ending = |starts: &[usize; MAX_N], slot: usize, count: usize, end: usize| {
        for length in min_n..=n.min(count) {
            each(text, starts[if slot < length { slot + n - length } else { slot - length }], end);
        }
    };
    while at < length && !cancel.is_set() {
        let part = length.min(at + PART);
        while at < part {
            if count >= min_n {
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
    if count >= min_n {
        ending(&starts, slot, count, length);
    } else if count > 0 {
        each(text, 0, length);
    }
}

/// Compute the hashes of n-grams of the words of `joined`, which end at `ends` and are followed by `SLACK` bytes, until
/// the call is cancelled.
fn ascii_word_hashes(
    n: usize,
    words: &[WordHash],
    (joined, ends): (&[u8], &[u32]),
    queues: &mut Queues,
    hashes: &mut [u64],
    cancel: &CancelToken,
    mut each: impl FnMut(usize, &[u64]),
) -> u64 {
    if ends.is_empty() {
        return 0;
    }
    let n = n.min(ends.len());
    // Start and length of features of 17 to 32 bytes and of longer ones, without branches, which would often be
    // mispredicted.
    let mut spans = [[(0_u32, 0_u32); CHUNK]; 2];
    let mut start = 0;
    for chunk in ends[n - 1..].chunks(CHUNK).enumerate() {
        let (number, last) = chunk;
        if cancel.is_set() {
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

/// Features of up to 16 bytes, pending for vector hashing.
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
        let mixed = |kind, min_n| tokenizer(kind).mixed(min_n).expect("in range");
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
        let stop_words = ["The".to_owned(), "is".to_owned()];
        let two =
            Tokenizer::new(FeatureKind::Word(2), Form::Nfkc, Case::Fold, Letters::Word, &stop_words).expect("valid");
        assert_eq!(vec!["first document"], features(&two, "THE first is the document"));
        assert!(Tokenizer::new(FeatureKind::Char(2), Form::Nfkc, Case::Fold, Letters::Word, &stop_words).is_err());
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
        let mixed = "([ -~]{0,40}[\u{e9}\u{2019}\u{6c34}\u{1f600}]{0,3}){0,40}";
        prop_oneof!["[ -~]{0,1500}", mixed, "\\PC{0,200}", "[a-c\u{4e00}-\u{4e03} ]{0,300}", "[a-b1._,;:' ]{0,60}"]
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
            // The second text reuses the buffers of the first.
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
                // Only the characters themselves have this feature, because nothing before them changes them.
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
            let (min_n, max_n) = (lengths.0, lengths.0 + lengths.1);
            let kind = |n| if chars { FeatureKind::Char(n) } else { FeatureKind::Word(n) };
            let reading = Reading {
                form: Form::Nfkc,
                folds: Folds::default(),
                case: Case::Fold,
                letters: Letters::Word,
                numbers: if younger { Numbers::Whole } else { Numbers::Split },
            };
            let mixed = Tokenizer::of(kind(max_n), reading, &[]).expect("valid").mixed(min_n).expect("in range");
            let found = features(&mixed, &text);
            // A text shorter than an n-gram is a feature of its own only for the shortest length.
            let units = features(&Tokenizer::of(kind(1), reading, &[]).expect("valid"), &text).len();
            let mut expected: Vec<String> = (min_n..=max_n.min(units.max(min_n)))
                .flat_map(|n| features(&Tokenizer::of(kind(n), reading, &[]).expect("valid"), &text))
                .collect();
            let mut sorted = found.clone();
            expected.sort_unstable();
            sorted.sort_unstable();
            prop_assert_eq!(&expected, &sorted);

            let words = [FeatureHash::Xxh3(0).word(0), FeatureHash::Xxh3(7).word(1)];
            let mut scratch = Scratch::default();
            let mut hashes = [Vec::new(), Vec::new()];
            let each = |j: usize, values: &[u64]| hashes[j].extend_from_slice(values);
            prop_assert_eq!(found.len() as u64, mixed.hashes(&text, &words, &mut scratch, each).expect("room"));
            let mut distinct = [Vec::new(), Vec::new()];
            let each = |j: usize, values: &[u64]| distinct[j].extend_from_slice(values);
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
        fn words_of_mixed_texts_are_those_of_the_segmenter(
            text in "[a1 ,.'_\u{301}\u{200d}\u{2019}\u{6c34}\u{1f1e6}\u{2139}\u{e9}\n-]{0,40}( [ -~]{0,30}\u{2019}?){0,4}"
        ) {
            let mut words = Vec::new();
            mixed_words(&text, &CancelToken::default(), |start, end| words.push(text[start..end].to_owned()));
            let expected: Vec<&str> = text.unicode_words().collect();
            prop_assert_eq!(expected, words);
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
            text in any_text(), n in 1_usize..5, min_n in 1_usize..4, cut in prop::sample::select(vec!["uax29", "jieba", "script"])
        ) {
            let make = |n| {
                let cut = Cut::new(cut, &[]).expect("known");
                let stop_words = ["b".to_owned()];
                let result = Tokenizer::new(FeatureKind::Word(n), Form::Nfkc, Case::Fold, Letters::Word, &stop_words);
                result.expect("valid").with_words(cut, min_n, &[]).expect("valid")
            };
            let mut kept: Vec<String> = Vec::new();
            let each = |text: &[u8], start: usize, end: usize, is_kept: bool| {
                if is_kept {
                    kept.push(String::from_utf8(text[start..end].to_vec()).expect("UTF-8"));
                }
            };
            make(n).words(&text, &mut Scratch::default(), each).expect("room");
            prop_assert!(kept.iter().all(|word| word.chars().count() >= min_n && word != "b"));
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
