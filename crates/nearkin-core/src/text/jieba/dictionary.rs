//! The dictionary: words with their frequencies and tags, jieba's own and the user's.
//!
//! A word of frequency f has the weight `ln f − ln N`, N the sum of all frequencies. jieba 0.42.1's 349,045 words are
//! packed in `data/jieba-words.bin` (`tools/pack_jieba.py` says how) and unpacked on first use, once in a process, in
//! about a tenth of a second. A user's words make another dictionary of both, by jieba's rules:
//!
//! - a line is `word`, `word frequency`, `word tag` or `word frequency tag`; a later line takes the place of an earlier one;
//! - N grows by each frequency; a frequency of 0 takes the word out and splits it where the model of unknown words finds it;
//! - without a frequency a word gets the smallest one that wins against its parts, `max(⌊N · Π f(part) / N⌋ + 1,
//!   f(word))`.
//!
//! Logarithms are libm's, so that no tie depends on the platform.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

use super::trie::{self, Trie, UNKNOWN, WordList};
use crate::{Error, Result};

static PACKED: &[u8] = include_bytes!("../../../data/jieba-words.bin");

/// Longest word, in characters.
pub const MAX_WORD: usize = 64;
/// Largest frequency that a user may give: sums of 10^4 of these are exact in `f64`.
const MAX_FREQUENCY: u64 = 1 << 39;

/// One of the user's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserWord {
    /// The word itself.
    pub word: String,
    /// How often it is supposed to occur; none to be computed.
    pub frequency: Option<u64>,
    /// Its part of speech, such as `n` or `nr`.
    pub tag: Option<String>,
}

/// Reads a dictionary in jieba's format: a word per line, with a frequency and a tag if wanted.
///
/// # Errors
/// A word or a frequency that is too long.
pub fn parse_user_words(text: &str) -> Result<Vec<UserWord>> {
    let mut found = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}').trim_start();
        if line.is_empty() {
            continue;
        }
        let (rest, tag) = split_last(line, |part| part.bytes().all(|b| b.is_ascii_lowercase()));
        let (word, frequency) = split_last(rest, |part| part.bytes().all(|b| b.is_ascii_digit()));
        let place = || format!("user words, line {}", number + 1);
        let frequency = match frequency.map(str::parse::<u64>) {
            None => None,
            Some(Ok(value)) if value <= MAX_FREQUENCY => Some(value),
            Some(_) => {
                return Err(Error::input(place(), format!("frequency above {MAX_FREQUENCY}; use a smaller one")));
            }
        };
        let length = word.chars().count();
        if length > MAX_WORD {
            return Err(Error::input(place(), format!("word of {length} characters; use at most {MAX_WORD}")));
        }
        found.push(UserWord { word: word.to_owned(), frequency, tag: tag.map(str::to_owned) });
    }
    Ok(found)
}

/// The part after the last space, if it passes `test` and something is before it.
fn split_last(line: &str, test: impl Fn(&str) -> bool) -> (&str, Option<&str>) {
    match line.rsplit_once(' ') {
        Some((rest, last)) if !rest.is_empty() && !last.is_empty() && test(last) => (rest, Some(last)),
        _ => (line, None),
    }
}

/// Words, ready to be looked up.
pub struct Dictionary {
    /// Number of each character up to U+FFFF, `UNKNOWN` for those of no word.
    numbers: Box<[u16]>,
    /// Numbers of the characters above.
    high: HashMap<char, u16>,
    pub(super) trie: Trie,
    /// Frequency and weight of each class; class 0 is no word.
    frequencies: Vec<u64>,
    pub(super) weights: Vec<f64>,
    /// Weight of a character that starts no word: that of frequency 1.
    pub(super) unknown: f64,
    total: u64,
    /// Place in `tag_names` of the tag of the word that ends at a node, or `NO_TAG`.
    tags: Vec<u16>,
    tag_names: Vec<Box<str>>,
    /// Words that are split where the model of unknown words finds them.
    pub(super) split: HashSet<Box<str>>,
}

const NO_TAG: u16 = u16::MAX;
/// Words whose characters are counted one by one.
const FEW: usize = 1 << 12;

/// A word and what is known of it, while a dictionary is built.
#[derive(Clone, Copy)]
struct WordEntry {
    frequency: u64,
    tag: u16,
}

impl Dictionary {
    /// jieba's dictionary, unpacked on first use.
    pub fn standard() -> &'static Self {
        static STANDARD: OnceLock<Dictionary> = OnceLock::new();
        STANDARD.get_or_init(|| {
            let packed = Packed::new();
            let mut words: Vec<u16> = Vec::with_capacity(1 << 20);
            let mut entries: Vec<(u32, WordEntry)> = Vec::with_capacity(1 << 19);
            let (total, names) = (packed.total, packed.tags.clone());
            packed.each(|word, frequency, tag, _| {
                if frequency > 0 {
                    words.extend_from_slice(word);
                    entries.push((words.len() as u32, WordEntry { frequency, tag: tag.into() }));
                }
            });
            let mut start = 0;
            let list: Vec<(&[u16], WordEntry)> = entries
                .iter()
                .map(|&(end, entry)| {
                    let word = &words[start..end as usize];
                    start = end as usize;
                    (word, entry)
                })
                .collect();
            // Characters outside the basic plane are in no word of this dictionary.
            let characters = |word: &[u16]| word.iter().map(|&unit| u32::from(unit)).collect::<Vec<u32>>();
            let list: Vec<(Vec<u32>, WordEntry)> =
                list.into_iter().map(|(word, entry)| (characters(word), entry)).collect();
            // It fails on too many characters or frequencies alone, of which these words have 12,045 and 5,087.
            Self::build(&list, total, names, HashSet::new()).unwrap_or_else(|_| Self::empty())
        })
    }

    /// A dictionary without words.
    fn empty() -> Self {
        Self {
            numbers: vec![UNKNOWN; 1 << 16].into(),
            high: HashMap::new(),
            trie: Trie::new(&WordList::default()),
            frequencies: vec![0],
            weights: vec![0.0],
            unknown: 0.0,
            total: 1,
            tags: Vec::new(),
            tag_names: Vec::new(),
            split: HashSet::new(),
        }
    }

    /// jieba's words and those of `user`, of which later ones take the place of earlier ones.
    ///
    /// # Errors
    /// More than 65,534 distinct characters, frequencies or tags.
    pub fn with(user: &[UserWord]) -> Result<Self> {
        let mut entries: BTreeMap<Vec<u32>, WordEntry> = BTreeMap::new();
        Packed::new().each(|word, frequency, tag, _| {
            if frequency > 0 {
                entries
                    .insert(word.iter().map(|&unit| unit.into()).collect(), WordEntry { frequency, tag: tag.into() });
            }
        });
        Self::standard().join(&mut entries, user)
    }

    /// The words of this dictionary, which are `entries`, and those of `user`; all of them are `entries` then.
    fn join(&self, entries: &mut BTreeMap<Vec<u32>, WordEntry>, user: &[UserWord]) -> Result<Self> {
        let base = self;
        let mut added = UserWords { base, words: HashMap::new(), total: base.total };
        let mut split = base.split.clone();
        let mut tags: BTreeMap<&str, &str> = BTreeMap::new();
        for entry in user {
            let word: Vec<char> = entry.word.chars().collect();
            let frequency = entry.frequency.unwrap_or_else(|| added.suggest(&word));
            added.total += frequency;
            for length in 1..word.len() {
                let prefix = &word[..length];
                if added.get(prefix).is_none() {
                    added.words.insert(prefix.into(), 0);
                }
            }
            added.words.insert(word.into(), frequency);
            if frequency == 0 {
                split.insert(entry.word.as_str().into());
            }
            if let Some(tag) = &entry.tag {
                tags.insert(&entry.word, tag);
            }
        }
        let mut names = base.tag_names.clone();
        let mut name_places: HashMap<Box<str>, u16> =
            names.iter().enumerate().map(|(place, name)| (name.clone(), place as u16)).collect();
        for (word, &frequency) in &added.words {
            let key: Vec<u32> = word.iter().map(|&c| c.into()).collect();
            let text: String = word.iter().collect();
            let old = entries.get(&key).map_or(NO_TAG, |entry| entry.tag);
            let tag = match tags.get(text.as_str()) {
                None => old,
                Some(&name) => *name_places.entry(name.into()).or_insert_with(|| {
                    names.push(name.into());
                    (names.len() - 1) as u16
                }),
            };
            entries.insert(key, WordEntry { frequency, tag });
        }
        trie::check_numbers("tags", names.len())?;
        let entries: Vec<(&[u32], WordEntry)> = entries.iter().map(|(word, &entry)| (word.as_slice(), entry)).collect();
        Self::build(&entries, added.total, names, split)
    }

    /// The dictionary of `entries`, sorted by their words.
    fn build(
        entries: &[(impl AsRef<[u32]>, WordEntry)],
        total: u64,
        tag_names: Vec<Box<str>>,
        split: HashSet<Box<str>>,
    ) -> Result<Self> {
        // How often each character occurs in texts, as far as the words tell: the commonest get the smallest numbers.
        let mut counts: HashMap<u32, u64> = HashMap::new();
        // A table for the basic plane is faster, but takes longer to make than to count the characters of few words.
        let mut low_counts = vec![0_u64; if entries.len() < FEW { 0 } else { 1 << 16 }];
        for (word, entry) in entries {
            for &c in word.as_ref() {
                match low_counts.get_mut(c as usize) {
                    Some(count) => *count += entry.frequency + 1,
                    None => *counts.entry(c).or_default() += entry.frequency + 1,
                }
            }
        }
        let low = low_counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.extend(low.map(|(c, &count)| (c as u32, count)));
        trie::check_numbers("distinct characters", counts.len())?;
        let mut order: Vec<(u32, u64)> = counts.into_iter().collect();
        order.sort_unstable_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
        let mut numbers = vec![UNKNOWN; 1 << 16];
        let mut high = HashMap::new();
        for (number, &(c, _)) in (1..).zip(&order) {
            match numbers.get_mut(c as usize) {
                Some(place) => *place = number,
                None => drop(char::from_u32(c).map(|c| high.insert(c, number))),
            }
        }
        let mut frequencies: Vec<u64> = entries.iter().map(|(_, entry)| entry.frequency).chain([0]).collect();
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
            words.push(word.as_ref().iter().map(|&c| number(c)), class);
        }
        let trie = Trie::new(&words);
        let mut tags = vec![NO_TAG; trie.len()];
        for (word, entry) in entries {
            if let Some(node) = trie.walk(word.as_ref().iter().map(|&c| number(c))) {
                tags[node as usize] = entry.tag;
            }
        }
        let logarithm = libm::log(total as f64);
        let weights = frequencies.iter().map(|&f| libm::log(f as f64) - logarithm).collect();
        Ok(Self {
            numbers: numbers.into(),
            high,
            trie,
            frequencies,
            weights,
            unknown: 0.0 - logarithm,
            total,
            tags,
            tag_names,
            split,
        })
    }

    /// The number of a character of the basic plane.
    #[inline(always)]
    pub(super) fn number(&self, code_point: u32) -> u16 {
        self.numbers.get(code_point as usize).copied().unwrap_or(UNKNOWN)
    }

    /// The frequency of a word: 0 if it is only the beginning of one, none if it is not even that.
    fn frequency(&self, word: &[char]) -> Option<u64> {
        let number = |&c: &char| match self.numbers.get(c as usize) {
            Some(&number) => number,
            None => self.high.get(&c).copied().unwrap_or(UNKNOWN),
        };
        let node = self.trie.walk(word.iter().map(number))?;
        Some(self.frequencies[usize::from(self.trie.class(node))])
    }

    /// The tag of the word that ends at `node`, if it has one.
    #[inline]
    pub(super) fn tag(&self, node: u32) -> Option<&str> {
        let name = self.tag_names.get(usize::from(self.tags[node as usize]))?;
        Some(name)
    }
}

/// Words that stand in place of jieba's, and that a user's words join as they would join those.
///
/// A dictionary of few words is joined in a fraction of the time that jieba's takes.
pub struct Base {
    dictionary: Dictionary,
    entries: BTreeMap<Vec<u32>, WordEntry>,
}

impl Base {
    /// The dictionary of `words` alone, by the rules of a user's words; N starts at 1.
    ///
    /// # Errors
    /// More than 65,534 distinct characters, frequencies or tags.
    pub fn new(words: &[UserWord]) -> Result<Self> {
        let mut entries = BTreeMap::new();
        let dictionary = Dictionary::empty().join(&mut entries, words)?;
        Ok(Self { dictionary, entries })
    }

    /// These words and those of `user`.
    pub(super) fn with(&self, user: &[UserWord]) -> Result<Dictionary> {
        self.dictionary.join(&mut self.entries.clone(), user)
    }
}

/// The words that a user added so far.
struct UserWords<'a> {
    base: &'a Dictionary,
    words: HashMap<Box<[char]>, u64>,
    total: u64,
}

impl UserWords<'_> {
    fn get(&self, word: &[char]) -> Option<u64> {
        self.words.get(word).copied().or_else(|| self.base.frequency(word))
    }

    /// The smallest frequency that makes `word` win against its best cut into parts.
    fn suggest(&self, word: &[char]) -> u64 {
        let total = self.total as f64;
        let logarithm = libm::log(total);
        let mut product = 1.0;
        // Parts as without a model of unknown words: blocks, in them the best path, Latin letters and digits joined.
        for block in word.chunk_by(|&a, &b| super::in_block(a) == super::in_block(b)) {
            if !super::in_block(block[0]) {
                for character in block {
                    product *= self.get(&[*character]).unwrap_or(1) as f64 / total;
                }
                continue;
            }
            let n = block.len();
            let mut route = vec![(0.0, 0); n + 1];
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
        least.max(self.get(word).unwrap_or(1))
    }
}

/// The packed words, read from the front.
pub(crate) struct Packed {
    rest: &'static [u8],
    words: u64,
    total: u64,
    tags: Vec<Box<str>>,
    /// Values of the IDF table, and the place of their median.
    pub(crate) idf: Vec<f64>,
    pub(crate) median: usize,
}

impl Packed {
    pub(crate) fn new() -> Self {
        let mut packed = Self { rest: PACKED, words: 0, total: 0, tags: Vec::new(), idf: Vec::new(), median: 0 };
        packed.words = packed.number();
        packed.total = packed.number();
        for _ in 0..packed.number() {
            let end = packed.rest.iter().position(|&b| b == b'\n').unwrap_or_default();
            let name = packed.take(end + 1);
            packed.tags.push(String::from_utf8_lossy(&name[..end]).into());
        }
        for _ in 0..packed.number() {
            let value = packed.take(8);
            packed.idf.push(f64::from_le_bytes(value.try_into().unwrap_or_default()));
        }
        packed.median = packed.number() as usize;
        packed
    }

    fn take(&mut self, count: usize) -> &'static [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    #[inline]
    fn byte(&mut self) -> u8 {
        let (&byte, rest) = self.rest.split_first().unwrap_or((&0, &[]));
        self.rest = rest;
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

    /// Calls `each(word, frequency, tag, place of its IDF value + 1)` with every word, sorted by code points.
    pub(crate) fn each(mut self, mut each: impl FnMut(&[u16], u64, u8, usize)) {
        let mut word: Vec<u16> = Vec::new();
        for _ in 0..self.words {
            let lengths = self.byte();
            word.truncate(usize::from(lengths >> 4));
            for _ in 0..=lengths & 15 {
                let unit = [self.byte(), self.byte()];
                word.push(u16::from_le_bytes(unit));
            }
            let frequency = self.number();
            let tag = if frequency > 0 { self.byte() } else { 0 };
            let idf = self.number() as usize;
            each(&word, frequency, tag, idf);
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
        let dictionary = Dictionary::standard();
        assert_eq!(60_101_967, dictionary.total);
        assert_eq!(Some(3), frequency(dictionary, "AT&T"));
        assert_eq!(Some(883_634), dictionary.frequencies.last().copied());
        assert_eq!(Some(0), frequency(dictionary, "AT"));
        assert_eq!(None, frequency(dictionary, "zz"));
        let mut count = 0;
        Packed::new().each(|_, frequency, _, _| count += u32::from(frequency > 0));
        assert_eq!(349_045, count);
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
