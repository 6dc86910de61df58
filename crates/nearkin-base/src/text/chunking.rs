//! Chunking of texts: paragraphs, lines, windows of words, with their positions in the original text.
//!
//! | unit | definition of a chunk |
//! |---|---|
//! | line | the text between two line breaks: U+000A to U+000D, CR LF as one, U+0085, U+2028, U+2029 |
//! | paragraph | consecutive non-blank lines; U+2029 also ends a paragraph |
//! | function | a function, or a type without functions ([`crate::text::code`]) |
//! | window:N | N words on average, with content-defined boundaries |
//! | document | the text |
//!
//! A chunk begins and ends with a character other than white space (`White_Space`). Chunks of one unit never overlap;
//! white space alone never forms a chunk.
//!
//! **Windows.** The words w(1), w(2), … of the text are those of UAX #29, so that an ideograph is a word; h(i) is a
//! hash of w(i) and w(i + 1), both in lower case. With r = N / 2, a window begins at the text's first word, at each i
//! whose h(i) is the minimum of h(i − r) to h(i + r) (the first of equals), and 4 N words after the last boundary if
//! there was no such i. A boundary thus depends only on r words to either side: two texts with a common passage have
//! the same boundaries within it, at any position (content-defined chunks: Muthitacharoen, Chen and Mazières, SOSP
//! 2001).
//!
//! **Frequent lines** are lines whose hash (XXH3-128, its low word) is in a list. They are removed: a paragraph or a
//! window ends before such a line. A document becomes its other lines, joined by line feeds, unless there are none.
//!
//! Cost: one pass over the text, and for windows over its words; texts in parallel.

use std::collections::VecDeque;
use std::ops::Range;

use crate::parallel::prelude::*;
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_128;

use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::hash::xxh3;
use crate::text::tokenizer::TextSource;
use crate::text::{ascii_words, code};
use crate::{Error, Result};

/// Maximum window size in words.
const LONGEST: usize = 1 << 20;

/// A chunking unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The complete text.
    Document,
    /// Lines up to a blank one.
    Paragraph,
    /// The text between line breaks.
    Line,
    /// Functions of source code.
    Function,
    /// Windows of this many words on average.
    Window(usize),
}

impl Unit {
    /// Parse the name of a unit: document, paragraph, line, function, window:N.
    ///
    /// # Errors
    /// The unit does not exist.
    pub fn new(name: &str) -> Result<Self> {
        let words = |count: &str| count.parse().ok().filter(|words| (2..=LONGEST).contains(words));
        match name {
            "document" => Ok(Self::Document),
            "paragraph" => Ok(Self::Paragraph),
            "line" => Ok(Self::Line),
            "function" => Ok(Self::Function),
            _ => name.strip_prefix("window:").and_then(words).map(Self::Window).ok_or_else(|| {
                let allowed = format!("document, paragraph, line, function, or window:N with N from 2 to {LONGEST}");
                Error::parameter("unit", format!("{name:?}"), allowed)
            }),
        }
    }
}

/// The chunks of a batch of texts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// Number of chunks up to the end of each text, beginning with 0.
    pub ends: Vec<i64>,
    /// For each text the number of characters, and of those that are neither white space nor in a frequent line.
    pub sizes: Vec<[i64; 2]>,
    /// Start and end (exclusive) of each chunk, in characters of its text.
    pub spans: Vec<[i64; 2]>,
    /// Number of characters of each chunk that count in `sizes`.
    pub visible: Vec<i64>,
    /// End of each chunk in `data`, beginning with 0.
    pub offsets: Vec<i64>,
    /// The chunks concatenated, in UTF-8.
    pub data: Vec<u8>,
}

/// Return the chunks of each text with at least `min_chars` characters; documents are never too short.
///
/// `frequent` contains the hashes of frequent lines, ascending. `chosen` selects chunks by their index among all,
/// ascending; `ends` counts all of them.
///
/// # Errors
/// Memory runs out; the call is cancelled.
pub fn split(
    texts: &dyn TextSource,
    unit: Unit,
    min_chars: usize,
    frequent: &[u64],
    chosen: Option<&[i64]>,
) -> Result<Chunks> {
    let cancel = &CancelToken::current();
    let text_chunks = |i: usize| {
        cancel.check()?;
        texts.prefetch(i + 1);
        TextChunks::text(texts.get(i).unwrap_or_default(), unit, min_chars, frequent, cancel)
    };
    let results = alloc::try_map_parallel((0..texts.len()).into_par_iter().with_min_len(16).map(text_chunks))?;
    cancel.check()?;
    gather(&results, chosen)
}

/// The chunks of one text.
struct TextChunks<'a> {
    text: &'a str,
    sizes: [i64; 2],
    /// Byte offsets.
    ranges: Vec<Range<usize>>,
    /// Character counts.
    spans: Vec<[i64; 2]>,
    visible: Vec<i64>,
    /// The text of the only chunk if it differs from the text at its position.
    rest: Option<Vec<u8>>,
}

impl<'a> TextChunks<'a> {
    fn text(text: &'a str, unit: Unit, min_chars: usize, frequent: &[u64], cancel: &CancelToken) -> Result<Self> {
        let mut ranges = BestEffortVec::default();
        let mut rest = None;
        match unit {
            Unit::Document => {
                ranges.extend(trimmed(text, 0..text.len()));
                rest = without(text, frequent, cancel)?;
            }
            Unit::Line => lines(text, cancel)
                .filter(|line| !is_frequent(&text[line.range.clone()], frequent))
                .for_each(|line| ranges.push(line.range)),
            Unit::Function => code::functions(text, cancel, |range| ranges.push(range)),
            Unit::Paragraph => blocks(text, frequent, true, cancel, |range| ranges.push(range)),
            Unit::Window(words) if frequent.is_empty() => windows(text, 0..text.len(), words, cancel, &mut ranges)?,
            Unit::Window(words) => {
                let mut between = BestEffortVec::default();
                blocks(text, frequent, false, cancel, |range| between.push(range));
                for range in between.into_vec()? {
                    windows(text, range, words, cancel, &mut ranges)?;
                }
            }
        }
        let frequent = if frequent.is_empty() {
            0
        } else {
            lines(text, cancel)
                .map(|line| &text[line.range])
                .filter(|line| is_frequent(line, frequent))
                .map(visible)
                .sum()
        };
        let mut results =
            Self::measured(text, ranges.into_vec()?, rest, if unit == Unit::Document { 0 } else { min_chars })?;
        results.sizes[1] -= frequent;
        if unit == Unit::Document {
            results.visible.fill(results.sizes[1]);
        }
        Ok(results)
    }

    /// Convert positions to characters and drop chunks shorter than `min_chars`.
    fn measured(text: &'a str, ranges: Vec<Range<usize>>, rest: Option<Vec<u8>>, min_chars: usize) -> Result<Self> {
        let sizes = [characters(text), visible(text)];
        let (mut spans, mut seen) = (alloc::try_with_capacity(ranges.len())?, alloc::try_with_capacity(ranges.len())?);
        let mut long = alloc::try_with_capacity(ranges.len())?;
        let (mut byte, mut character) = (0, 0);
        for range in ranges {
            let start = character + characters(&text[byte..range.start]);
            let end = start + characters(&text[range.clone()]);
            (byte, character) = (range.end, end);
            if (end - start) as usize >= min_chars {
                spans.push([start, end]);
                seen.push(visible(&text[range.clone()]));
                long.push(range);
            }
        }
        Ok(Self { text, sizes, ranges: long, spans, visible: seen, rest })
    }

    fn chunk(&self, number: usize) -> &[u8] {
        self.rest.as_deref().unwrap_or_else(|| self.text[self.ranges[number].clone()].as_bytes())
    }
}

/// Concatenate all chunks, or the chosen ones.
fn gather(results: &[TextChunks<'_>], chosen: Option<&[i64]>) -> Result<Chunks> {
    let (mut ends, mut sizes) =
        (alloc::try_with_capacity(results.len() + 1)?, alloc::try_with_capacity(results.len())?);
    let mut total = 0;
    ends.push(0);
    for text_chunks in results {
        total += text_chunks.ranges.len() as i64;
        ends.push(total);
        sizes.push(text_chunks.sizes);
    }
    let mut picked = BestEffortVec::default();
    match chosen {
        None => results
            .iter()
            .for_each(|text_chunks| picked.extend((0..text_chunks.ranges.len()).map(|number| (text_chunks, number)))),
        Some(numbers) => {
            let mut text = 0;
            for &number in numbers {
                if !(0..total).contains(&number) {
                    return Err(Error::parameter("chosen", number, format!("0 to {}", total - 1)));
                }
                // Indices ascend; otherwise search from the start.
                text = if number < ends[text] { 0 } else { text };
                text += ends[text + 1..].partition_point(|&end| end <= number);
                picked.push((&results[text], (number - ends[text]) as usize));
            }
        }
    }
    let picked = picked.into_vec()?;
    let mut chunks = Chunks {
        ends,
        sizes,
        spans: alloc::try_collect(picked.iter().map(|(text_chunks, number)| text_chunks.spans[*number]))?,
        visible: alloc::try_collect(picked.iter().map(|(text_chunks, number)| text_chunks.visible[*number]))?,
        offsets: alloc::try_with_capacity(picked.len() + 1)?,
        data: alloc::try_with_capacity(
            picked.iter().map(|(text_chunks, number)| text_chunks.chunk(*number).len()).sum(),
        )?,
    };
    chunks.offsets.push(0);
    for (text_chunks, number) in picked {
        chunks.data.extend_from_slice(text_chunks.chunk(number));
        chunks.offsets.push(chunks.data.len() as i64);
    }
    Ok(chunks)
}

/// A line without surrounding white space.
struct Line {
    range: Range<usize>,
    /// A paragraph separator ends a paragraph unconditionally.
    last: bool,
}

/// Return every line of a text, blank ones as empty ranges.
fn lines<'a>(text: &'a str, cancel: &'a CancelToken) -> impl Iterator<Item = Line> + 'a {
    let bytes = text.as_bytes();
    let mut start = Some(0);
    cancel.often(std::iter::from_fn(move || {
        let begin = start?;
        let (end, next, last) = line_break(bytes, begin);
        start = next;
        Some(Line { range: trimmed(text, begin..end).unwrap_or(begin..begin), last })
    }))
}

/// Return the end of the line that begins at `from`, the start of the next one, and whether a paragraph separator is
/// between them.
fn line_break(bytes: &[u8], from: usize) -> (usize, Option<usize>, bool) {
    let mut at = from;
    while at < bytes.len() {
        let after = |width: usize| (at, Some(at + width), false);
        match bytes[at] {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => return after(2),
            b'\n'..=b'\r' => return after(1),
            0xC2 if bytes[at + 1] == 0x85 => return after(2),
            0xE2 if bytes[at + 1..at + 3] == [0x80, 0xA8] => return after(3),
            0xE2 if bytes[at + 1..at + 3] == [0x80, 0xA9] => return (at, Some(at + 3), true),
            _ => at += 1,
        }
    }
    (bytes.len(), None, false)
}

/// Return a range without the white space around it, if anything remains.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let inner = text[range.clone()].trim_start();
    let start = range.end - inner.len();
    let length = inner.trim_end().len();
    (length > 0).then_some(start..start + length)
}

fn is_frequent(line: &str, frequent: &[u64]) -> bool {
    line.is_empty() || !frequent.is_empty() && frequent.binary_search(&(xxh3_128(line.as_bytes()) as u64)).is_ok()
}

/// Return consecutive lines up to a frequent one and, with `blank`, up to a blank one.
fn blocks(text: &str, frequent: &[u64], blank: bool, cancel: &CancelToken, mut each: impl FnMut(Range<usize>)) {
    let mut open: Option<Range<usize>> = None;
    for line in lines(text, cancel) {
        if line.range.is_empty() && !blank {
            continue;
        }
        if is_frequent(&text[line.range.clone()], frequent) {
            open.take().into_iter().for_each(&mut each);
            continue;
        }
        open = Some(open.map_or(line.range.start, |before| before.start)..line.range.end);
        if blank && line.last {
            open.take().into_iter().for_each(&mut each);
        }
    }
    open.into_iter().for_each(each);
}

/// Return the lines that are not frequent, joined by line feeds; None if none is frequent, or all are.
fn without(text: &str, frequent: &[u64], cancel: &CancelToken) -> Result<Option<Vec<u8>>> {
    if frequent.is_empty() {
        return Ok(None);
    }
    let mut rest = alloc::try_with_capacity(text.len() + 1)?;
    let mut left_out = false;
    for line in lines(text, cancel).filter(|line| !line.range.is_empty()) {
        let line = &text[line.range];
        if is_frequent(line, frequent) {
            left_out = true;
        } else {
            rest.extend_from_slice(line.as_bytes());
            rest.push(b'\n');
        }
    }
    Ok((left_out && !rest.is_empty()).then_some(rest))
}

/// Return windows of `words` words on average.
fn windows(
    text: &str,
    range: Range<usize>,
    words: usize,
    cancel: &CancelToken,
    ranges: &mut BestEffortVec<Range<usize>>,
) -> Result<()> {
    let mut results = BestEffortVec::default();
    each_word(&text[range.clone()], cancel, |word| {
        let hash = folded_hash(&text[range.start + word.start..range.start + word.end]);
        results.push((range.start + word.start, hash));
    });
    let results = results.into_vec()?;
    let mut begin = range.start;
    for start in window_starts(&results, words, cancel) {
        ranges.extend(trimmed(text, begin..start));
        begin = start;
    }
    ranges.extend(trimmed(text, begin..range.end));
    Ok(())
}

/// Return the starts of all windows except the first, from the start and the hash of each word.
fn window_starts<'a>(
    results: &'a [(usize, u64)],
    words: usize,
    cancel: &'a CancelToken,
) -> impl Iterator<Item = usize> + 'a {
    let reach = words / 2;
    let pair = |i: usize| mix(results[i].1 ^ mix(results.get(i + 1).map_or(0, |next| next.1)).rotate_left(1));
    // Candidates for the minimum of a window, hashes ascending; the first of equals.
    let mut min_chars: VecDeque<(usize, u64)> = VecDeque::new();
    let mut last = 0;
    cancel.often(0..results.len()).filter_map(move |newest| {
        let hash = pair(newest);
        while min_chars.back().is_some_and(|&(_, other)| other > hash) {
            min_chars.pop_back();
        }
        min_chars.push_back((newest, hash));
        let middle = newest.checked_sub(reach)?;
        while min_chars.front().is_some_and(|&(at, _)| at + reach < middle) {
            min_chars.pop_front();
        }
        let is_min = middle >= reach && min_chars.front().is_some_and(|&(at, _)| at == middle);
        if !is_min && middle - last < 4 * words {
            return None;
        }
        last = middle;
        Some(results[middle].0)
    })
}

/// Return every word of UAX #29.
fn each_word(text: &str, cancel: &CancelToken, mut each: impl FnMut(Range<usize>)) {
    if text.is_ascii() {
        ascii_words::each(text.as_bytes(), cancel, |start, end| each(start..end));
    } else {
        cancel.often(text.unicode_word_indices()).for_each(|(at, word)| each(at..at + word.len()));
    }
}

/// Hash a word in lower case.
fn folded_hash(word: &str) -> u64 {
    let folded = |hash: u64, character: u32| (hash ^ u64::from(character)).wrapping_mul(0x0000_0100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325;
    if word.is_ascii() {
        return word.bytes().fold(start, |hash, byte| folded(hash, byte.to_ascii_lowercase().into()));
    }
    word.chars().flat_map(char::to_lowercase).fold(start, |hash, character| folded(hash, character.into()))
}

/// Permute 64-bit numbers (the finalizer of `SplitMix64`).
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

fn characters(text: &str) -> i64 {
    text.bytes().filter(|&byte| byte as i8 >= -0x40).count() as i64
}

/// Count the characters other than white space.
fn visible(text: &str) -> i64 {
    if text.is_ascii() {
        return text.bytes().filter(|byte| !matches!(byte, b'\t'..=b'\r' | b' ')).count() as i64;
    }
    text.chars().filter(|character| !character.is_whitespace()).count() as i64
}

/// The words of texts: number of words up to the end of each text, beginning with 0; for each word a hash that is never
/// `u64::MAX`, and its start and end in characters.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WordPositions {
    /// Number of words up to the end of each text, beginning with 0.
    pub ends: Vec<i64>,
    /// XXH3-64 of each word as written.
    pub hashes: Vec<u64>,
    /// Start and end (exclusive) of each word, in characters of its text.
    pub spans: Vec<[i64; 2]>,
}

/// Return the words of each text by UAX #29, with their positions.
///
/// # Errors
/// Memory runs out; the call is cancelled.
pub fn word_positions(texts: &dyn TextSource) -> Result<WordPositions> {
    let cancel = &CancelToken::current();
    let text_chunks = |i: usize| -> Result<Vec<(u64, [i64; 2])>> {
        cancel.check()?;
        let text = texts.get(i).unwrap_or_default();
        let (mut byte, mut character) = (0, 0);
        let mut results = BestEffortVec::default();
        each_word(text, cancel, |word| {
            let start = character + characters(&text[byte..word.start]);
            let end = start + characters(&text[word.clone()]);
            (byte, character) = (word.end, end);
            results.push((xxh3::hash(text[word].as_bytes(), 0).min(u64::MAX - 1), [start, end]));
        });
        results.into_vec()
    };
    let results = alloc::try_map_parallel((0..texts.len()).into_par_iter().with_min_len(16).map(text_chunks))?;
    cancel.check()?;
    let total = results.iter().map(Vec::len).sum();
    let mut words = WordPositions {
        ends: alloc::try_with_capacity(results.len() + 1)?,
        hashes: alloc::try_with_capacity(total)?,
        spans: alloc::try_with_capacity(total)?,
    };
    words.ends.push(0);
    for (hash, span) in results.iter().flat_map(|of_text| of_text.iter().copied()) {
        words.hashes.push(hash);
        words.spans.push(span);
    }
    let mut end = 0;
    words.ends.extend(results.iter().map(|of_text| {
        end += of_text.len() as i64;
        end
    }));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::at_every_check;
    use proptest::prelude::*;

    fn chunks_of(text: &str, unit: &str, frequent: &[&str]) -> Vec<String> {
        let mut hashes: Vec<u64> = frequent.iter().map(|line| xxh3_128(line.as_bytes()) as u64).collect();
        hashes.sort_unstable();
        let unit = Unit::new(unit).expect("a unit");
        let chunks = split(&[text].as_slice(), unit, 1, &hashes, None).expect("room");
        let characters: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = chunks
            .offsets
            .windows(2)
            .map(|pair| String::from_utf8(chunks.data[pair[0] as usize..pair[1] as usize].to_vec()).expect("UTF-8"))
            .collect();
        for (piece, span) in pieces.iter().zip(&chunks.spans) {
            let there: String = characters[span[0] as usize..span[1] as usize].iter().collect();
            assert!(unit == Unit::Document && !frequent.is_empty() || *piece == there);
            assert_eq!(there.trim(), there);
        }
        pieces
    }

    #[test]
    fn lines_end_at_every_break() {
        let text = "a\nb\r\nc\rd\u{b}e\u{c}f\u{85}g\u{2028}h\u{2029} i \n\n";
        assert_eq!(vec!["a", "b", "c", "d", "e", "f", "g", "h", "i"], chunks_of(text, "line", &[]));
        assert!(chunks_of("", "line", &[]).is_empty());
        assert!(chunks_of(" \u{3000}\r\n", "paragraph", &[]).is_empty());
        assert_eq!(vec!["né", "â€¨"], chunks_of("né\nâ€¨", "line", &[]));
    }

    #[test]
    fn paragraphs_end_at_blank_lines() {
        let text = "\r\n一\r\n二\r\n \t\r\n三\u{2029}四\n\n\n五";
        assert_eq!(vec!["一\r\n二", "三", "四", "五"], chunks_of(text, "paragraph", &[]));
        assert_eq!(vec!["a\nb"], chunks_of("a\nb", "paragraph", &[]));
    }

    #[test]
    fn frequent_lines_are_left_out() {
        let text = "Menu\none\n\ntwo\nMenu\nthree";
        assert_eq!(vec!["one", "two", "three"], chunks_of(text, "paragraph", &["Menu"]));
        assert_eq!(vec!["one", "two", "three"], chunks_of(text, "line", &["Menu"]));
        assert_eq!(vec!["one\n\ntwo", "three"], chunks_of(text, "window:4", &["Menu"]));
        assert_eq!(vec!["one\ntwo\nthree\n"], chunks_of(text, "document", &["Menu"]));
        assert_eq!(vec!["Menu"], chunks_of("Menu\n", "document", &["Menu"]));
        assert_eq!(vec!["Menu"], chunks_of("Menu\n", "document", &[]));
    }

    #[test]
    fn short_parts_are_left_out_and_parts_can_be_chosen() {
        let texts = ["one\nthree", "", "four\nsix\nseven"];
        let chunks = split(&texts.as_slice(), Unit::Line, 4, &[], None).expect("room");
        assert_eq!((vec![0, 1, 1, 3], vec![5, 4, 5]), (chunks.ends.clone(), chunks.visible.clone()));
        assert_eq!(vec![[4, 9], [0, 4], [9, 14]], chunks.spans);
        assert_eq!(vec![[9, 8], [0, 0], [14, 12]], chunks.sizes);
        let selected = split(&texts.as_slice(), Unit::Line, 4, &[], Some(&[0, 2])).expect("room");
        assert_eq!((b"threeseven".to_vec(), vec![0, 5, 10]), (selected.data, selected.offsets));
        assert_eq!((vec![[4, 9], [9, 14]], chunks.ends), (selected.spans, selected.ends));
        assert!(split(&texts.as_slice(), Unit::Line, 4, &[], Some(&[3])).is_err());
    }

    #[test]
    fn units_that_there_are_not_are_refused() {
        for name in ["", "lines", "window", "window:", "window:0", "window:1", "window:-3", "window:99999999"] {
            assert!(matches!(Unit::new(name), Err(Error::Parameter { name: "unit", .. })), "{name}");
        }
    }

    #[test]
    fn a_window_depends_on_the_words_around_it() {
        let words = |seed: u64, count: u64| -> Vec<String> {
            (0..count).map(|i| format!("w{}", mix(seed << 32 | i) % 5000)).collect()
        };
        let passage = words(1, 400).join(" ");
        let cut = |before: u64, after: u64| {
            let text = format!("{} {passage} {}", words(2, before).join(" "), words(3, after).join(" "));
            chunks_of(&text, "window:20", &[])
        };
        let (text_chunks, other) = (cut(333, 77), cut(5, 120));
        let common: Vec<&String> = text_chunks.iter().filter(|chunk| other.contains(chunk)).collect();
        let length: usize = common.iter().map(|chunk| chunk.split(' ').count()).sum();
        assert!(length > 340, "{length}");
        let mean = text_chunks.join(" ").split(' ').count() as f64 / text_chunks.len() as f64;
        assert!((15.0..28.0).contains(&mean), "{mean}");
        // Equal words have no unique minimum: each window except the last has the maximum size.
        let equal = chunks_of(&"la ".repeat(1000), "window:20", &[]);
        assert!(equal.iter().all(|chunk| chunk.split(' ').count() <= 80 + 20), "{equal:?}");
    }

    #[test]
    fn a_stopped_split_is_an_error() {
        let texts = vec!["word ".repeat(50); 20];
        for unit in [Unit::Document, Unit::Line, Unit::Window(4)] {
            at_every_check(&mut (), |()| split(&texts.as_slice(), unit, 0, &[], None), |()| ());
        }
        at_every_check(&mut (), |()| word_positions(&texts.as_slice()), |()| ());
    }

    /// Return the minima of the surrounding hashes, by the definition.
    fn slow_beginnings(results: &[(usize, u64)], words: usize) -> Vec<usize> {
        let reach = words / 2;
        let pair = |i: usize| mix(results[i].1 ^ mix(results.get(i + 1).map_or(0, |next| next.1)).rotate_left(1));
        let (mut result, mut last) = (Vec::new(), 0);
        for (i, &(range, _)) in results.iter().enumerate().take(results.len().saturating_sub(reach)) {
            let around = if i < reach { None } else { (i - reach..=i + reach).min_by_key(|&j| (pair(j), j)) };
            if around == Some(i) || i - last >= 4 * words {
                last = i;
                result.push(range);
            }
        }
        result
    }

    proptest! {
        #[test]
        fn windows_begin_where_the_definition_says(hashes in prop::collection::vec(0_u64..6, 0..200), words in 2_usize..9) {
            let results: Vec<(usize, u64)> = hashes.into_iter().enumerate().collect();
            let expected = slow_beginnings(&results, words);
            prop_assert_eq!(expected, window_starts(&results, words, &CancelToken::default()).collect::<Vec<_>>());
        }

        #[test]
        fn parts_are_all_there_is_but_white_space(text in "[ab 一\\n\\r\u{2029}\u{85}]{0,60}", words in 2_usize..5) {
            for unit in ["line", "paragraph", &format!("window:{words}")] {
                let seen: String = chunks_of(&text, unit, &[]).concat().split_whitespace().collect();
                prop_assert_eq!(text.split_whitespace().collect::<String>(), seen);
            }
            let words = word_positions(&[text.as_str()].as_slice()).expect("room");
            let characters: Vec<char> = text.chars().collect();
            let results: Vec<String> =
                words.spans.iter().map(|span| characters[span[0] as usize..span[1] as usize].iter().collect()).collect();
            prop_assert_eq!(text.unicode_words().map(str::to_owned).collect::<Vec<_>>(), results);
        }
    }
}
