//! The dictionary: words with their frequencies and tags, jieba's and the user's.
//!
//! A word of frequency f has the weight `ln f − ln N`, N the sum of all frequencies. jieba 0.42.1's 349,045 words are
//! packed in `data/jieba-words.bin` (by `tools/pack_jieba.py`) and unpacked on first use, once per process, in about a
//! tenth of a second. A user's words form another dictionary together with them, by jieba's rules:
//!
//! - a line is `word`, `word frequency`, `word tag` or `word frequency tag`; a later line replaces an earlier one;
//! - N grows by each frequency; a frequency of 0 removes the word and splits it where the model of unknown words finds
//!   it;
//! - without a frequency a word gets the smallest one that wins against its segmentation, `max(⌊N · Π f(part) / N⌋ + 1,
//!   f(word))`.
//!
//! Logarithms are libm's, so that no tie depends on the platform.

use std::collections::{HashMap, HashSet};

use super::models::{FIRST, LAST};
use super::trie::{self, Trie, UNKNOWN, WordList};
use crate::alloc::TryOnce;
use crate::{Error, Result, alloc};

static PACKED: &[u8] = include_bytes!("../../../data/jieba-words.bin");

/// The words of cppjieba's dictionary that contain characters other than ideographs.
const CPPJIEBA_MIXED: [&str; 7] = ["AT&T", "B超", "C#", "C++", "T恤", "c#", "c++"];
/// The words of cppjieba's dictionary that are not in jieba's.
const CPPJIEBA_NAMES: [(&str, u64); 2] = [("张力", 160), ("张华", 140)];

/// Maximum length of a word in characters.
pub const MAX_WORD: usize = 64;
/// Maximum frequency of a user's word: sums of 10^4 frequencies are exact in `f64`.
const MAX_FREQUENCY: u64 = 1 << 39;

/// One of the user's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserWord {
    /// The word itself.
    pub word: String,
    /// Its frequency; computed if None.
    pub frequency: Option<u64>,
    /// Its part of speech, such as `n` or `nr`.
    pub tag: Option<String>,
}

/// Parse a dictionary in jieba's format: a word per line, with an optional frequency and tag.
///
/// # Errors
/// A word or a frequency that is too long; memory runs out.
pub fn parse_user_words(text: &str) -> Result<Vec<UserWord>> {
    let mut found = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}').trim_start();
        if line.is_empty() {
            continue;
        }
        let (rest, tag) = split_last(line, |part| part.bytes().all(|b| b.is_ascii_lowercase()));
        let (word, frequency) = split_last(rest, |part| part.bytes().all(|b| b.is_ascii_digit()));
        let index = || format!("user words, line {}", number + 1);
        let frequency = match frequency.map(str::parse::<u64>) {
            None => None,
            Some(Ok(value)) if value <= MAX_FREQUENCY => Some(value),
            Some(_) => {
                return Err(Error::input(index(), format!("frequency above {MAX_FREQUENCY}; use a smaller one")));
            }
        };
        let length = word.chars().count();
        if length > MAX_WORD {
            return Err(Error::input(index(), format!("word of {length} characters; use at most {MAX_WORD}")));
        }
        alloc::try_reserve(&mut found, 1)?;
        found.push(UserWord {
            word: alloc::try_string(word)?,
            frequency,
            tag: tag.map(alloc::try_string).transpose()?,
        });
    }
    Ok(found)
}

/// Return the field after the last space, if it passes `test` and is not the first.
fn split_last(line: &str, test: impl Fn(&str) -> bool) -> (&str, Option<&str>) {
    match line.rsplit_once(' ') {
        Some((rest, last)) if !rest.is_empty() && !last.is_empty() && test(last) => (rest, Some(last)),
        _ => (line, None),
    }
}

/// Words, prepared for lookup.
pub struct Dictionary {
    /// Number of each character up to U+FFFF, `UNKNOWN` for those in no word.
    numbers: Vec<u16>,
    /// Numbers of the characters above.
    high: HashMap<char, u16>,
    pub(super) trie: Trie,
    /// Frequency and weight of each class; class 0 is not a word.
    frequencies: Vec<u64>,
    pub(super) weights: Vec<f64>,
    /// Weight of a character that starts no word: that of frequency 1.
    pub(super) unknown: f64,
    total: u64,
    /// Index in `tag_names` of the tag of the word that ends at a node, or `NO_TAG`.
    tags: Vec<u16>,
    tag_names: Vec<String>,
    /// Words that are split where the model of unknown words finds them.
    pub(super) split: HashSet<String>,
}

const NO_TAG: u16 = u16::MAX;
/// Minimum number of words for which a table counts the characters.
const FEW: usize = 1 << 12;

/// A word and its data, while a dictionary is built.
#[derive(Clone, Copy)]
struct WordEntry {
    frequency: u64,
    tag: u16,
}

/// The characters of a word, and the word.
type Entry = (Vec<u32>, WordEntry);

impl Dictionary {
    /// Return jieba's dictionary, unpacked on first use.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn standard() -> Result<&'static Self> {
        static STANDARD: TryOnce<Dictionary> = TryOnce::new();
        STANDARD.get_or_init(|| {
            let mut packed = Packed::new()?;
            let (total, names) = (packed.total, std::mem::take(&mut packed.tags));
            Self::build(&refs(&packed.entries()?)?, total, names, HashSet::new())
        })
    }

    /// Return cppjieba's dictionary, derived from jieba's on first use: without 65 of its words, 64 of them with Latin
    /// or Greek letters or digits, and with 2 others; a word of frequency f has the weight `ln (f / N)`, a character
    /// that is not a word has the weight of the rarest word.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn cppjieba() -> Result<&'static Self> {
        static CPPJIEBA: TryOnce<Dictionary> = TryOnce::new();
        CPPJIEBA.get_or_init(|| {
            let mut packed = Packed::new()?;
            let names = std::mem::take(&mut packed.tags);
            let mut entries = packed.entries()?;
            let is = |word: &[u32], text: &str| text.chars().map(u32::from).eq(word.iter().copied());
            entries.retain(|(word, _)| {
                let mixed = word.iter().any(|c| !(FIRST..=LAST).contains(c));
                !is(word, "吉林") && (!mixed || CPPJIEBA_MIXED.iter().any(|text| is(word, text)))
            });
            alloc::try_reserve(&mut entries, CPPJIEBA_NAMES.len())?;
            for (text, frequency) in CPPJIEBA_NAMES {
                let word = alloc::try_collect(characters(text)?.into_iter().map(u32::from))?;
                let index = entries.partition_point(|(other, _)| *other < word);
                entries.insert(index, (word, WordEntry { frequency, tag: NO_TAG }));
            }
            let total = entries.iter().map(|(_, entry)| entry.frequency).sum();
            let mut result = Self::build(&refs(&entries)?, total, names, HashSet::new())?;
            let of = |&frequency: &u64| libm::log(frequency as f64 / total as f64);
            result.weights.clear();
            result.weights.extend(result.frequencies.iter().map(of));
            // Class 0 is not a word.
            result.unknown = result.weights[1];
            Ok(result)
        })
    }

    /// Create a dictionary without words.
    fn empty() -> Result<Self> {
        Ok(Self {
            numbers: alloc::try_filled(UNKNOWN, 1 << 16)?,
            high: HashMap::new(),
            trie: Trie::new(&WordList::default())?,
            frequencies: vec![0],
            weights: vec![0.0],
            unknown: 0.0,
            total: 1,
            tags: Vec::new(),
            tag_names: Vec::new(),
            split: HashSet::new(),
        })
    }

    /// Return jieba's words and those of `user`, later ones replacing earlier ones.
    ///
    /// # Errors
    /// More than 65,534 distinct characters, frequencies or tags; memory runs out.
    pub fn with(user: &[UserWord]) -> Result<Self> {
        Ok(Self::standard()?.join(&Packed::new()?.entries()?, user)?.0)
    }

    /// Return the dictionary of its words, which are `entries`, and those of `user`; and the entries of the latter.
    fn join(&self, entries: &[Entry], user: &[UserWord]) -> Result<(Self, Vec<Entry>)> {
        let base = self;
        let mut added = UserWords { base, words: HashMap::new(), total: base.total };
        let mut split = HashSet::new();
        alloc::try_reserve_set(&mut split, base.split.len())?;
        for word in &base.split {
            split.insert(alloc::try_string(word)?);
        }
        let mut tags: HashMap<&str, &str> = HashMap::new();
        for entry in user {
            let word: Vec<char> = characters(&entry.word)?;
            let frequency = match entry.frequency {
                Some(frequency) => frequency,
                None => added.suggest(&word)?,
            };
            added.total += frequency;
            for length in 1..word.len() {
                let prefix = &word[..length];
                if added.get(prefix).is_none() {
                    added.insert(alloc::try_copy(prefix)?, 0)?;
                }
            }
            added.insert(word, frequency)?;
            if frequency == 0 {
                alloc::try_reserve_set(&mut split, 1)?;
                split.insert(alloc::try_string(&entry.word)?);
            }
            if let Some(tag) = &entry.tag {
                alloc::try_reserve_map(&mut tags, 1)?;
                tags.insert(&entry.word, tag);
            }
        }
        let mut names = Names::of(&base.tag_names)?;
        let mut new: Vec<Entry> = alloc::try_with_capacity(added.words.len())?;
        let mut text = String::new();
        for (word, &frequency) in &added.words {
            let key: Vec<u32> = alloc::try_collect(word.iter().map(|&c| c.into()))?;
            text.clear();
            alloc::try_reserve_str(&mut text, 4 * word.len())?;
            text.extend(word);
            let old = entries.binary_search_by(|entry| entry.0.cmp(&key));
            let tag = match tags.get(text.as_str()) {
                None => old.map_or(NO_TAG, |index| entries[index].1.tag),
                Some(&name) => names.index(name)?,
            };
            new.push((key, WordEntry { frequency, tag }));
        }
        trie::check_numbers("tags", names.list.len())?;
        new.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let joined = Self::build(&joined(entries, &new)?, added.total, names.list, split)?;
        Ok((joined, new))
    }

    /// Build the dictionary of `entries`, sorted by their words.
    fn build(
        entries: &[(&[u32], WordEntry)],
        total: u64,
        tag_names: Vec<String>,
        split: HashSet<String>,
    ) -> Result<Self> {
        let (numbers, high) = number_characters(entries)?;
        let mut frequencies: Vec<u64> = alloc::try_with_capacity(entries.len() + 1)?;
        frequencies.extend(entries.iter().map(|(_, entry)| entry.frequency).chain([0]));
        frequencies.sort_unstable();
        frequencies.dedup();
        trie::check_numbers("distinct frequencies", frequencies.len())?;
        let number = |c: u32| match numbers.get(c as usize) {
            Some(&number) => number,
            None => char::from_u32(c).and_then(|c| high.get(&c).copied()).unwrap_or(UNKNOWN),
        };
        let mut words = WordList::default();
        for (word, entry) in entries {
            let class = frequencies.partition_point(|&f| f < entry.frequency) as u16;
            words.push(word.iter().map(|&c| number(c)), class)?;
        }
        let trie = Trie::new(&words)?;
        let mut tags = alloc::try_filled(NO_TAG, trie.len())?;
        for (word, entry) in entries {
            if let Some(node) = trie.walk(word.iter().map(|&c| number(c))) {
                tags[node as usize] = entry.tag;
            }
        }
        let logarithm = libm::log(total as f64);
        let weights = alloc::try_collect(frequencies.iter().map(|&f| libm::log(f as f64) - logarithm))?;
        Ok(Self { numbers, high, trie, frequencies, weights, unknown: 0.0 - logarithm, total, tags, tag_names, split })
    }

    /// Return the number of a character of the basic plane.
    #[inline(always)]
    pub(super) fn number(&self, code_point: u32) -> u16 {
        self.numbers.get(code_point as usize).copied().unwrap_or(UNKNOWN)
    }

    /// Return the frequency of a word: 0 if it is only the prefix of one, None if it is not even that.
    fn frequency(&self, word: &[char]) -> Option<u64> {
        let number = |&c: &char| match self.numbers.get(c as usize) {
            Some(&number) => number,
            None => self.high.get(&c).copied().unwrap_or(UNKNOWN),
        };
        let node = self.trie.walk(word.iter().map(number))?;
        Some(self.frequencies[usize::from(self.trie.class(node))])
    }

    /// Return the tag of the word that ends at `node`, if any.
    #[inline]
    pub(super) fn tag(&self, node: u32) -> Option<&str> {
        let name = self.tag_names.get(usize::from(self.tags[node as usize]))?;
        Some(name)
    }
}

/// Numbers of the characters of words: those up to U+FFFF, and those above.
type Numbers = (Vec<u16>, HashMap<char, u16>);

/// Number the characters of words by their estimated frequency in texts: the most frequent ones get the smallest
/// numbers.
fn number_characters(entries: &[(&[u32], WordEntry)]) -> Result<Numbers> {
    let mut counts: HashMap<u32, u64> = HashMap::new();
    // A table for the basic plane is faster, but building it takes longer than counting the characters of few words.
    let mut low_counts = alloc::try_zeroed::<u64>(if entries.len() < FEW { 0 } else { 1 << 16 })?;
    for (word, entry) in entries {
        for &c in *word {
            if let Some(count) = low_counts.get_mut(c as usize) {
                *count += entry.frequency + 1;
            } else {
                alloc::try_reserve_map(&mut counts, 1)?;
                *counts.entry(c).or_default() += entry.frequency + 1;
            }
        }
    }
    let low = low_counts.iter().enumerate().filter(|(_, count)| **count > 0);
    alloc::try_reserve_map(&mut counts, low.clone().count())?;
    counts.extend(low.map(|(c, &count)| (c as u32, count)));
    trie::check_numbers("distinct characters", counts.len())?;
    let mut order: Vec<(u32, u64)> = alloc::try_collect(counts.into_iter())?;
    order.sort_unstable_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
    let mut numbers = alloc::try_filled(UNKNOWN, 1 << 16)?;
    let mut high = HashMap::new();
    for (number, &(c, _)) in (1..).zip(&order) {
        if let Some(index) = numbers.get_mut(c as usize) {
            *index = number;
        } else if let Some(c) = char::from_u32(c) {
            alloc::try_reserve_map(&mut high, 1)?;
            high.insert(c, number);
        }
    }
    Ok((numbers, high))
}

/// Return the characters of a word.
fn characters(word: &str) -> Result<Vec<char>> {
    let mut characters = alloc::try_with_capacity(word.chars().count())?;
    characters.extend(word.chars());
    Ok(characters)
}

/// Return the words of entries and their data.
fn refs(entries: &[Entry]) -> Result<Vec<(&[u32], WordEntry)>> {
    alloc::try_collect(entries.iter().map(|(word, entry)| (word.as_slice(), *entry)))
}

/// Merge two lists, sorted by word; those of `new` replace equal ones.
fn joined<'a>(old: &'a [Entry], new: &'a [Entry]) -> Result<Vec<(&'a [u32], WordEntry)>> {
    let mut joined = alloc::try_with_capacity(old.len() + new.len())?;
    let mut rest = old;
    for (word, entry) in new {
        let (before, after) = rest.split_at(rest.partition_point(|other| other.0 < *word));
        joined.extend(before.iter().map(|(word, entry)| (word.as_slice(), *entry)));
        joined.push((word.as_slice(), *entry));
        rest = if after.first().is_some_and(|other| other.0 == *word) { &after[1..] } else { after };
    }
    joined.extend(rest.iter().map(|(word, entry)| (word.as_slice(), *entry)));
    Ok(joined)
}

/// Names of tags and their indices.
struct Names {
    list: Vec<String>,
    places: HashMap<String, u16>,
}

impl Names {
    fn of(list: &[String]) -> Result<Self> {
        let mut names = Self { list: Vec::new(), places: HashMap::new() };
        for name in list {
            names.push(name)?;
        }
        Ok(names)
    }

    fn push(&mut self, name: &str) -> Result<u16> {
        let index = self.list.len() as u16;
        alloc::try_reserve(&mut self.list, 1)?;
        alloc::try_reserve_map(&mut self.places, 1)?;
        self.places.insert(alloc::try_string(name)?, index);
        self.list.push(alloc::try_string(name)?);
        Ok(index)
    }

    /// Return the index of a name, added if it is new.
    fn index(&mut self, name: &str) -> Result<u16> {
        match self.places.get(name) {
            Some(&index) => Ok(index),
            None => self.push(name),
        }
    }
}

/// A dictionary that replaces jieba's and can be extended by a user's words like that one.
///
/// Extending a dictionary of few words takes a fraction of the time that jieba's takes.
pub struct Base {
    dictionary: Dictionary,
    entries: Vec<Entry>,
}

impl Base {
    /// Build the dictionary of `words` only, by the rules of a user's words; N starts at 1.
    ///
    /// # Errors
    /// More than 65,534 distinct characters, frequencies or tags; memory runs out.
    pub fn new(words: &[UserWord]) -> Result<Self> {
        let (dictionary, entries) = Dictionary::empty()?.join(&[], words)?;
        Ok(Self { dictionary, entries })
    }

    /// Return these words and those of `user`.
    pub(super) fn with(&self, user: &[UserWord]) -> Result<Dictionary> {
        Ok(self.dictionary.join(&self.entries, user)?.0)
    }
}

/// The words that a user has added so far.
struct UserWords<'a> {
    base: &'a Dictionary,
    words: HashMap<Vec<char>, u64>,
    total: u64,
}

impl UserWords<'_> {
    fn insert(&mut self, word: Vec<char>, frequency: u64) -> Result<()> {
        alloc::try_reserve_map(&mut self.words, 1)?;
        self.words.insert(word, frequency);
        Ok(())
    }

    fn get(&self, word: &[char]) -> Option<u64> {
        self.words.get(word).copied().or_else(|| self.base.frequency(word))
    }

    /// Return the smallest frequency that makes `word` win against its best segmentation.
    fn suggest(&self, word: &[char]) -> Result<u64> {
        let total = self.total as f64;
        let logarithm = libm::log(total);
        let mut product = 1.0;
        // Segments without a model of unknown words: blocks, in them the best path, Latin letters and digits joined.
        for block in word.chunk_by(|&a, &b| super::in_block(a) == super::in_block(b)) {
            if !super::in_block(block[0]) {
                for character in block {
                    product *= self.get(&[*character]).unwrap_or(1) as f64 / total;
                }
                continue;
            }
            let n = block.len();
            let mut route = alloc::try_filled((0.0, 0), n + 1)?;
            for i in (0..n).rev() {
                let mut best: Option<(f64, usize)> = None;
                for end in i + 1..=n {
                    let Some(frequency) = self.get(&block[i..end]) else { break };
                    let value = libm::log(frequency as f64) - logarithm + route[end].0;
                    if frequency > 0 && best.is_none_or(|(least, _)| value >= least) {
                        best = Some((value, end));
                    }
                }
                route[i] = best.unwrap_or((0.0 - logarithm + route[i + 1].0, i + 1));
            }
            let (mut at, mut latin) = (0, 0);
            let part = |start: usize, end: usize| self.get(&block[start..end]).unwrap_or(1) as f64 / total;
            while at < n {
                let end = route[at].1;
                if end == at + 1 && block[at].is_ascii_alphanumeric() {
                    at = end;
                    continue;
                }
                if latin < at {
                    product *= part(latin, at);
                }
                product *= part(at, end);
                (at, latin) = (end, end);
            }
            if latin < at {
                product *= part(latin, at);
            }
        }
        let least = (product * total) as u64 + 1;
        Ok(least.max(self.get(word).unwrap_or(1)))
    }
}

/// The packed words.
pub(crate) struct Packed {
    words: u64,
    total: u64,
    tags: Vec<String>,
    /// Values of the IDF table, and the index of their median.
    pub(crate) idf: Vec<f64>,
    pub(crate) median: usize,
    /// Characters of words, the most frequent first.
    characters: Vec<u16>,
    /// Lengths, characters, frequencies, tags and indices of IDF values, each read from the front.
    columns: [PackedBytes; 5],
}

/// Packed bytes, read from the front.
#[derive(Clone, Copy)]
struct PackedBytes(&'static [u8]);

impl Packed {
    pub(crate) fn new() -> Result<Self> {
        let mut bytes = PackedBytes(PACKED);
        let (words, total) = (bytes.number(), bytes.number());
        let mut tags = Vec::new();
        for _ in 0..bytes.number() {
            let end = bytes.0.iter().position(|&b| b == b'\n').unwrap_or_default();
            let name = bytes.take(end + 1);
            tags.push(String::from_utf8_lossy(&name[..end]).into());
        }
        let count = bytes.number() as usize;
        let values = bytes.take(8 * count).chunks_exact(8);
        let idf = alloc::try_collect(values.map(|value| f64::from_le_bytes(value.try_into().unwrap_or_default())))?;
        let median = bytes.number() as usize;
        let count = bytes.number() as usize;
        let units = bytes.take(2 * count).chunks_exact(2);
        let characters = alloc::try_collect(units.map(|unit| u16::from_le_bytes([unit[0], unit[1]])))?;
        let columns = std::array::from_fn(|_| {
            let length = bytes.number() as usize;
            PackedBytes(bytes.take(length))
        });
        Ok(Self { words, total, tags, idf, median, characters, columns })
    }

    /// Words that have a frequency, sorted.
    fn entries(self) -> Result<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        self.each(|word, frequency, tag, _| {
            if frequency > 0 {
                alloc::try_reserve(&mut entries, 1)?;
                // Characters outside the basic plane are in no word of this dictionary.
                let word = alloc::try_collect(word.iter().map(|&unit| unit.into()))?;
                entries.push((word, WordEntry { frequency, tag: tag.into() }));
            }
            Ok(())
        })?;
        Ok(entries)
    }

    /// Call `each(word, frequency, tag, index of its IDF value + 1)` with every word, sorted by code points.
    ///
    /// # Errors
    /// The error of `each`.
    pub(crate) fn each(mut self, mut each: impl FnMut(&[u16], u64, u8, usize) -> Result<()>) -> Result<()> {
        let mut word: Vec<u16> = Vec::new();
        let [lengths, characters, frequencies, tags, idf] = &mut self.columns;
        for _ in 0..self.words {
            let length = lengths.byte();
            word.truncate(usize::from(length >> 4));
            for _ in 0..=length & 15 {
                word.push(self.characters.get(characters.number() as usize).copied().unwrap_or_default());
            }
            let frequency = frequencies.number();
            let tag = if frequency > 0 { tags.byte() } else { 0 };
            each(&word, frequency, tag, idf.number() as usize)?;
        }
        Ok(())
    }
}

impl PackedBytes {
    fn take(&mut self, count: usize) -> &'static [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    #[inline]
    fn byte(&mut self) -> u8 {
        let (&byte, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        byte
    }

    #[inline]
    fn number(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            value |= u64::from(byte & 127) << shift;
            if byte < 128 || shift > 56 {
                return value;
            }
            shift += 7;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequency(dictionary: &Dictionary, word: &str) -> Option<u64> {
        dictionary.frequency(&word.chars().collect::<Vec<_>>())
    }

    #[test]
    fn the_packed_dictionary_is_jiebas() {
        let dictionary = Dictionary::standard().expect("room");
        assert_eq!(60_101_967, dictionary.total);
        assert_eq!(Some(3), frequency(dictionary, "AT&T"));
        assert_eq!(Some(883_634), dictionary.frequencies.last().copied());
        assert_eq!(Some(0), frequency(dictionary, "AT"));
        assert_eq!(None, frequency(dictionary, "zz"));
        let mut count = 0;
        let packed = Packed::new().expect("room");
        let counting = packed.each(|_, frequency, _, _| {
            count += u32::from(frequency > 0);
            Ok(())
        });
        counting.expect("room");
        assert_eq!(349_045, count);
    }

    #[test]
    fn cppjiebas_dictionary_differs_from_jiebas_in_its_words() {
        let (ours, theirs) = (Dictionary::standard().expect("room"), Dictionary::cppjieba().expect("room"));
        assert_eq!(60_101_983, theirs.total);
        assert_eq!((Some(160), Some(140)), (frequency(theirs, "张力"), frequency(theirs, "张华")));
        assert_eq!((Some(89), Some(0)), (frequency(ours, "吉林"), frequency(theirs, "吉林")));
        assert_eq!((Some(3), None), (frequency(ours, "4s店"), frequency(theirs, "4s店")));
        assert_eq!((Some(3), Some(3)), (frequency(ours, "AT&T"), frequency(theirs, "AT&T")));
        assert_eq!((Some(3), None), (frequency(ours, "γ射线"), frequency(theirs, "γ射线")));
        assert_eq!(libm::log(2.0 / 60_101_983.0), theirs.unknown);
    }

    #[test]
    fn lines_are_read_as_jieba_reads_them() {
        let word = |word: &str, frequency, tag: Option<&str>| UserWord {
            word: word.to_owned(),
            frequency,
            tag: tag.map(str::to_owned),
        };
        let text = "\u{feff}云计算 5\r\n李小福 2 nr\n创新办 3 i\n\n  easy_install 3 eng \n好用\n韩玉赏鉴 nz\nNew York 9\n台中 0\n5\n";
        let expected = vec![
            word("云计算", Some(5), None),
            word("李小福", Some(2), Some("nr")),
            word("创新办", Some(3), Some("i")),
            word("easy_install", Some(3), Some("eng")),
            word("好用", None, None),
            word("韩玉赏鉴", None, Some("nz")),
            word("New York", Some(9), None),
            word("台中", Some(0), None),
            word("5", None, None),
        ];
        assert_eq!(expected, parse_user_words(text).expect("valid"));
        assert!(parse_user_words("词 99999999999999999999").is_err());
        assert!(parse_user_words(&"词".repeat(65)).is_err());
    }

    #[test]
    fn user_words_join_and_leave_the_dictionary() {
        let words = parse_user_words("石墨烯 7 n\n中国 0\n𠮷野家 4").expect("valid");
        let dictionary = Dictionary::with(&words).expect("valid");
        assert_eq!(Some(7), frequency(&dictionary, "石墨烯"));
        assert_eq!(Some(0), frequency(&dictionary, "中国"));
        assert_eq!(Some(4), frequency(&dictionary, "𠮷野家"));
        assert_eq!(60_101_967 + 11, dictionary.total);
    }
}
