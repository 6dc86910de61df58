//! Chinese words by the algorithm and the data of jieba 0.42.1 (Sun, MIT licence), equal to it token by token.
//!
//! 1. A text is split into *blocks* (ideographs U+4E00 to U+9FD5, ASCII letters and digits, and `+#&._%-`) and the
//!    rest, where every character is a token, CR LF being one.
//! 2. In a block, the path of greatest probability through the dictionary's words is taken, from the right, with the weight w of each
//!    word its log frequency and ties to the longer word:
//!    ```text
//!    r(n) = 0        r(i) = max over words [i, j) of w(i, j) + r(j)
//!    ```
//! 3. Consecutive single characters are joined and segmented by a hidden Markov model ([`models`]), Latin words and
//!    numbers separately.
//!
//! With parts of speech, `%` and `-` belong to no block and the model has tags, as in `jieba.posseg`. The rules of the
//! C++ library cppjieba are in [`cppjieba`].
//!
//! Cost: linear, a walk through the trie from every character. A block of more than 2^18 characters is split into
//! pieces of that size, each ended at a word of several characters; jieba could then differ in that word's right
//! context of about a hundred characters. Memory: 19 bytes per character of a block, at most 5 MB; the dictionary takes
//! 9 MB. Tests: against jieba itself in `tests/text/test_words.py`.

mod cppjieba;
mod dictionary;
mod models;
mod trie;

use std::sync::Arc;

pub use cppjieba::cut_as_cppjieba;
pub(crate) use dictionary::Packed;
pub use dictionary::{Base, Dictionary, MAX_WORD, UserWord, parse_user_words};
use models::{FIRST, LAST, Places, Tagged};
use trie::{ROOT, UNKNOWN};

use crate::cancel::CancelToken;
use crate::{Result, alloc};

/// Maximum number of characters of a block processed together.
const MAX_BLOCK: usize = 1 << 18;
/// In the last characters of a full block, a word of several characters ends the piece.
const OVERLAP: usize = 1 << 10;
/// Number of characters of a run of unknown ones that the models process together.
const MAX_RUN: usize = 1 << 14;
/// Prefetch distance in characters for nodes of the trie.
const AHEAD: usize = 6;

/// Segments Chinese texts into words.
#[derive(Clone, Default)]
pub struct Jieba {
    /// None for jieba's own, which is unpacked on first use.
    dictionary: Option<Arc<Dictionary>>,
}

/// Buffers reused for every text of a thread.
#[derive(Default)]
pub struct Scratch {
    /// Number of each character of a block, or `UNKNOWN`.
    numbers: Vec<u16>,
    /// Start of each character, and end of the last one.
    offsets: Vec<u32>,
    route: Vec<f64>,
    /// Length of the best path's word at each character, and the node where it ends (the root for none).
    lengths: Vec<u8>,
    nodes: Vec<u32>,
    run: Vec<u16>,
    models: models::Scratch,
    /// The cancellation token for long texts.
    pub(crate) cancel: CancelToken,
}

/// True if a character belongs to blocks of words.
pub(crate) fn in_block(c: char) -> bool {
    matches!(u32::from(c), FIRST..=LAST) || c.is_ascii_alphanumeric() || "+#&._%-".contains(c)
}

const ASCII_BLOCK: [bool; 128] = {
    let mut block = [false; 128];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        block[byte] = b.is_ascii_alphanumeric() || matches!(b, b'+' | b'#' | b'&' | b'.' | b'_' | b'%' | b'-');
        byte += 1;
    }
    block
};

/// Return the code point and length of the first character of valid UTF-8.
#[inline(always)]
fn decode(bytes: &[u8]) -> (u32, usize) {
    let continued = |i: usize| u32::from(bytes[i] & 0x3f);
    match bytes[0] {
        b @ 0..0x80 => (b.into(), 1),
        b @ 0x80..0xe0 => (u32::from(b & 0x1f) << 6 | continued(1), 2),
        b @ 0xe0..0xf0 => (u32::from(b & 0x0f) << 12 | continued(1) << 6 | continued(2), 3),
        b => (u32::from(b & 0x07) << 18 | continued(1) << 12 | continued(2) << 6 | continued(3), 4),
    }
}

impl Jieba {
    /// Create a segmenter with jieba's dictionary and a user's words, if any.
    ///
    /// # Errors
    /// More than 65,534 distinct characters, frequencies or tags; memory runs out.
    pub fn new(user_words: &[UserWord]) -> Result<Self> {
        if user_words.is_empty() {
            return Ok(Self::default());
        }
        Ok(Self { dictionary: Some(Arc::new(Dictionary::with(user_words)?)) })
    }

    /// Create a segmenter with the words of `base` instead of jieba's, and a user's words.
    ///
    /// # Errors
    /// More than 65,534 distinct characters, frequencies or tags; memory runs out.
    pub fn over(base: &Base, user_words: &[UserWord]) -> Result<Self> {
        Ok(Self { dictionary: Some(Arc::new(base.with(user_words)?)) })
    }

    fn dictionary(&self) -> Result<&Dictionary> {
        match &self.dictionary {
            Some(dictionary) => Ok(dictionary),
            None => Dictionary::standard(),
        }
    }

    /// Call `each(start, end)` with every token of `text`, including white space and punctuation: their concatenation
    /// is the text.
    ///
    /// # Errors
    /// Memory runs out for the buffers of a block, or for jieba's dictionary at its first use.
    pub fn cut(&self, text: &str, scratch: &mut Scratch, mut each: impl FnMut(usize, usize)) -> Result<()> {
        let run = Cutter { dictionary: self.dictionary()?, text: text.as_bytes(), rules: Rules::Words };
        run.cut(scratch, &mut |start, end, _| each(start, end))
    }

    /// Call `each(start, end, tag)` with every token of `text` and its part of speech, by the rules of `jieba.posseg`.
    ///
    /// # Errors
    /// Memory runs out for the buffers of a block, or for jieba's dictionary at its first use.
    pub fn cut_tagged(
        &self,
        text: &str,
        scratch: &mut Scratch,
        mut each: impl FnMut(usize, usize, &str),
    ) -> Result<()> {
        let run = Cutter { dictionary: self.dictionary()?, text: text.as_bytes(), rules: Rules::Tagged };
        run.cut(scratch, &mut each)
    }
}

/// The rules of segmentation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// jieba's.
    Words,
    /// The rules of `jieba.posseg`.
    Tagged,
    /// cppjieba's.
    CppJieba,
}

/// Called with the start, the end and the tag of a token. Every caller has a closure of its own, so a generic `Cutter`
/// would be compiled a hundred times, to a megabyte.
type EachToken<'a> = &'a mut dyn FnMut(usize, usize, &str);

/// A text being segmented.
struct Cutter<'a> {
    dictionary: &'a Dictionary,
    text: &'a [u8],
    rules: Rules,
}

impl Cutter<'_> {
    fn cut(&self, scratch: &mut Scratch, each: EachToken<'_>) -> Result<()> {
        let text = self.text;
        let mut at = 0;
        while at < text.len() {
            let end = self.read_block(at, scratch)?;
            if end > at {
                if scratch.cancel.is_set() {
                    return Ok(());
                }
                at = self.cut_block(at, scratch, each)?;
                continue;
            }
            let length = if text[at..].starts_with(b"\r\n") { 2 } else { decode(&text[at..]).1 };
            each(at, at + length, "x");
            at += length;
        }
        Ok(())
    }

    /// Read the block that starts at `start`; return its end.
    fn read_block(&self, start: usize, scratch: &mut Scratch) -> Result<usize> {
        let Scratch { numbers, offsets, .. } = scratch;
        numbers.clear();
        offsets.clear();
        let text = self.text;
        let tagged = self.rules == Rules::Tagged;
        // A character has at least one byte.
        let max_chars = (text.len() - start).min(MAX_BLOCK);
        alloc::try_reserve(numbers, max_chars)?;
        alloc::try_reserve(offsets, max_chars + 1)?;
        let mut at = start;
        while at < text.len() && numbers.len() < MAX_BLOCK {
            let (code_point, length) = decode(&text[at..]);
            let belongs = match text[at] {
                _ if self.rules == Rules::CppJieba => !cppjieba::is_separator(code_point),
                first @ 0..128 => ASCII_BLOCK[usize::from(first)] && !(tagged && matches!(first, b'%' | b'-')),
                _ => (FIRST..=LAST).contains(&code_point),
            };
            if !belongs {
                break;
            }
            numbers.push(self.dictionary.number(code_point));
            offsets.push((at - start) as u32);
            at += length;
        }
        offsets.push((at - start) as u32);
        Ok(at)
    }

    /// Segment the block; return the start of the next one.
    fn cut_block(&self, start: usize, scratch: &mut Scratch, each: EachToken<'_>) -> Result<usize> {
        let n = scratch.numbers.len();
        if self.rules == Rules::CppJieba {
            self.find_route::<true>(scratch)?;
        } else {
            self.find_route::<false>(scratch)?;
        }
        let position = |scratch: &Scratch, i: usize| start + scratch.offsets[i] as usize;
        let limit = if n == MAX_BLOCK { n - OVERLAP } else { n };
        // Single characters from `single` to `at` are pending.
        let (mut single, mut at) = (0, 0);
        while at < n {
            let length = usize::from(scratch.lengths[at]);
            if length == 1 {
                at += 1;
                continue;
            }
            self.cut_singles(single, at, start, scratch, each)?;
            let tag = self.word_tag(scratch.nodes[at]);
            each(position(scratch, at), position(scratch, at + length), tag);
            at += length;
            single = at;
            if at >= limit {
                return Ok(position(scratch, at));
            }
        }
        self.cut_singles(single, n, start, scratch, each)?;
        Ok(position(scratch, n))
    }

    /// Compute the length in characters of the best path's word at each position. With `ALONE`, every character can be
    /// a token, and ties are resolved in favour of the shorter word.
    fn find_route<const ALONE: bool>(&self, scratch: &mut Scratch) -> Result<()> {
        let Scratch { numbers, route, lengths, nodes, .. } = scratch;
        let (trie, weights) = (&self.dictionary.trie, &self.dictionary.weights);
        let n = numbers.len();
        route.clear();
        alloc::try_resize(route, n + 1, 0.0)?;
        lengths.clear();
        alloc::try_resize(lengths, n, 1)?;
        nodes.clear();
        alloc::try_resize(nodes, n, ROOT)?;
        for i in (0..n).rev() {
            if i >= AHEAD
                && let Some(first) = trie.child(ROOT, numbers[i - AHEAD])
            {
                trie.prefetch(first, numbers[i - AHEAD + 1]);
            }
            let by_itself = self.dictionary.unknown + route[i + 1];
            let (mut best, mut length) = if ALONE { (by_itself, 1) } else { (f64::NEG_INFINITY, 0) };
            let (mut node, mut last) = (ROOT, ROOT);
            for (j, &number) in numbers[i..].iter().enumerate() {
                let Some(next) = trie.child(node, number) else { break };
                node = next;
                let class = trie.class(node);
                if class != 0 {
                    let value = weights[usize::from(class)] + route[i + j + 1];
                    let wins = if ALONE { j == 0 || value > best } else { value >= best };
                    if wins {
                        best = value;
                        (length, last) = (j + 1, node);
                    }
                }
            }
            if length == 0 {
                (best, length) = (by_itself, 1);
            }
            route[i] = best;
            lengths[i] = length as u8;
            nodes[i] = last;
        }
        Ok(())
    }

    fn word_tag(&self, node: u32) -> &str {
        if self.rules == Rules::Tagged { self.dictionary.tag(node).unwrap_or("x") } else { "" }
    }

    /// Segment consecutive single characters, from character `first` to `last` of the block.
    fn cut_singles(
        &self,
        first: usize,
        last: usize,
        start: usize,
        scratch: &mut Scratch,
        each: EachToken<'_>,
    ) -> Result<()> {
        if self.rules == Rules::CppJieba {
            return self.cut_singles_as_cppjieba(first, last, start, scratch, each);
        }
        let tagged = self.rules == Rules::Tagged;
        let Scratch { numbers, offsets, nodes, run, models, .. } = scratch;
        let position = |i: usize| start + offsets[i] as usize;
        if last - first < 2 || self.is_word(&numbers[first..last]) {
            for (i, &node) in (first..).zip(&nodes[first..last]) {
                each(position(i), position(i + 1), self.word_tag(node));
            }
            return Ok(());
        }
        // Ideographs have three bytes, all other characters of a block one.
        let ideograph = |i: usize| offsets[i + 1] - offsets[i] == 3;
        let mut at = first;
        while at < last {
            let mut end = at + 1;
            if ideograph(at) {
                run.clear();
                end = at;
                while end < last && ideograph(end) && end - at < MAX_RUN {
                    run.push((decode(&self.text[position(end)..]).0 - FIRST) as u16);
                    end += 1;
                }
                let mut emit = |from: usize, to: usize, tag: &str| {
                    if !self.dictionary.split.is_empty()
                        && !tagged
                        && self.is_split(position(at + from), position(at + to))
                    {
                        (at + from..at + to).for_each(|i| each(position(i), position(i + 1), tag));
                    } else {
                        each(position(at + from), position(at + to), tag);
                    }
                };
                if tagged {
                    Tagged::get()?.cut(run, models, emit)?;
                } else {
                    Places::get()?.cut(run, models, |from, to| emit(from, to, ""))?;
                }
            } else {
                while end < last && !ideograph(end) {
                    end += 1;
                }
                if tagged {
                    self.cut_latin_tagged(position(at), position(end), each);
                } else {
                    self.cut_latin(position(at), position(end), each);
                }
            }
            at = end;
        }
        Ok(())
    }

    fn is_word(&self, numbers: &[u16]) -> bool {
        !numbers.contains(&UNKNOWN)
            && self
                .dictionary
                .trie
                .walk(numbers.iter().copied())
                .is_some_and(|node| self.dictionary.trie.class(node) != 0)
    }

    fn is_split(&self, start: usize, end: usize) -> bool {
        std::str::from_utf8(&self.text[start..end]).is_ok_and(|word| self.dictionary.split.contains(word))
    }

    /// Letters and digits, with an optional decimal part and percent sign; the text between is one token.
    fn cut_latin(&self, start: usize, end: usize, each: EachToken<'_>) {
        let text = &self.text[..end];
        let run_end = |mut at: usize, test: fn(&u8) -> bool| {
            while at < end && test(&text[at]) {
                at += 1;
            }
            at
        };
        let mut at = start;
        while at < end {
            let mut next = run_end(at, |b| !b.is_ascii_alphanumeric());
            if next == at {
                next = run_end(at, u8::is_ascii_alphanumeric);
                if text.get(next) == Some(&b'.') {
                    let decimals = run_end(next + 1, u8::is_ascii_digit);
                    if decimals > next + 1 {
                        next = decimals;
                    }
                }
                next += usize::from(text.get(next) == Some(&b'%'));
            }
            each(at, next, "");
            at = next;
        }
    }

    /// Segment Latin text by the rules of `jieba.posseg`: numbers are digits and points, words letters and digits.
    fn cut_latin_tagged(&self, start: usize, end: usize, each: EachToken<'_>) {
        let number = |b: &u8| b.is_ascii_digit() || *b == b'.';
        let mut at = start;
        while at < end {
            let (tag, test): (&str, &dyn Fn(&u8) -> bool) = match self.text[at] {
                b if number(&b) => ("m", &number),
                b if b.is_ascii_alphanumeric() => ("eng", &u8::is_ascii_alphanumeric),
                _ => ("x", &|b: &u8| !b.is_ascii_alphanumeric() && *b != b'.'),
            };
            let next = self.text[at..end].iter().position(|b| !test(b)).map_or(end, |length| at + length);
            each(at, next, tag);
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn cut(jieba: &Jieba, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        jieba.cut(text, &mut Scratch::default(), |start, end| words.push(text[start..end].to_owned())).expect("room");
        words
    }

    #[test]
    fn words_are_those_of_jiebas_own_examples() {
        let jieba = Jieba::default();
        assert_eq!(vec!["我", "来到", "北京", "清华大学"], cut(&jieba, "我来到北京清华大学"));
        assert_eq!(vec!["他", "来到", "了", "网易", "杭研", "大厦"], cut(&jieba, "他来到了网易杭研大厦"));
        assert_eq!(Vec::<String>::new(), cut(&jieba, ""));
        assert_eq!(vec!["圆周率", "3.14", "，", "利率", "5.5%", "\r\n", "x"], cut(&jieba, "圆周率3.14，利率5.5%\r\nx"));
    }

    #[test]
    fn user_words_change_the_cut() {
        let text = "李小福是创新办主任也是云计算方面的专家";
        assert_eq!(
            vec!["李小福", "是", "创新", "办", "主任", "也", "是", "云", "计算", "方面", "的", "专家"],
            cut(&Jieba::default(), text)
        );
        let words = parse_user_words("云计算 5\n李小福 2 nr\n创新办 3 i").expect("valid");
        let jieba = Jieba::new(&words).expect("valid");
        assert_eq!(
            vec!["李小福", "是", "创新办", "主任", "也", "是", "云计算", "方面", "的", "专家"],
            cut(&jieba, text)
        );
    }

    #[test]
    fn a_long_block_is_cut_as_its_parts_are() {
        let part = "我来到北京清华大学他来到了网易杭研大厦";
        let count = 3 * MAX_BLOCK / part.chars().count();
        let expected: Vec<String> = cut(&Jieba::default(), part).into_iter().cycle().take(count * 10).collect();
        assert!(expected == cut(&Jieba::default(), &part.repeat(count)));
    }

    proptest! {
        #[test]
        fn words_of_a_base_and_of_a_user_are_one_dictionary(
            base in prop::collection::btree_map("[一二三a𠮷]{1,3}", 1_u64..100, 0..6),
            user in prop::collection::btree_map("[一二四a𠮷]{1,3}", 1_u64..100, 0..6),
            text in "[一二三四五a𠮷]{0,20}"
        ) {
            let lines = |words: &BTreeMap<String, u64>| {
                let lines: Vec<String> = words.iter().map(|(word, frequency)| format!("{word} {frequency} n")).collect();
                parse_user_words(&lines.join("\n")).expect("valid")
            };
            let joined = Jieba::over(&Base::new(&lines(&base)).expect("few words"), &lines(&user)).expect("few words");
            let all = [lines(&base), lines(&user)].concat();
            let whole = Jieba::over(&Base::new(&all).expect("few words"), &[]).expect("few words");
            prop_assert_eq!(cut(&whole, &text), cut(&joined, &text));
        }

        #[test]
        fn tokens_are_the_text(text in "[一-龥a-z0-9 ,.%。\\r\\n-]{0,60}|\\PC{0,40}|[的一是了我不人在他有這]{0,50}", tagged: bool) {
            let mut at = 0;
            let mut check = |start: usize, end: usize| {
                assert_eq!(at, start);
                assert!(start < end && text.is_char_boundary(end));
                at = end;
            };
            if tagged {
                Jieba::default()
                    .cut_tagged(&text, &mut Scratch::default(), |start, end, _| check(start, end))
                    .expect("room");
            } else {
                Jieba::default().cut(&text, &mut Scratch::default(), check).expect("room");
            }
            prop_assert_eq!(text.len(), at);
        }
    }
}
