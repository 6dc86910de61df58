//! Suites of items (benchmarks) and their occurrences in documents: decontamination.
//!
//! An *item* is a sequence of words ([`words`]), a *gram* `n` consecutive ones. The index has every gram of every item,
//! and a document is read once:
//!
//! 1. *Winnowing.* Of each `window` consecutive grams of the document the one with the smallest hash is looked up.
//!    **Theorem**: a run of `window + n - 1` equal words of a document and an item gives a lookup of a gram of that item,
//!    because the run contains all grams of one window, hence its minimum, and the index has all grams of the item. Test:
//!    `a_run_of_equal_words_is_always_an_anchor`. `2 / (window + 1)` of the grams are looked up on random text. Grams of
//!    items of up to [`SHORT`] words are looked up in any case: one changed word leaves them no longer run.
//! 2. *Anchors.* A gram of an item at word i and of the document at word j is an anchor on diagonal `j - i`. An item is
//!    a candidate if enough words of the item's block around the anchor occur in the document near it, in any order.
//! 3. *Verification* ([`align`]). The similarity is the share of the item's informative words that occur in the window
//!    around the diagonal in the order of the item. The match is the best chain of words there.
//!
//! **Own part.** Items with equal words are one *content*. A gram is *shared* if [`MAX_ITEMS`] contents have it, where
//! copies count once, or if it is at more than [`MAX_POSITIONS`] positions. Contents of two suites are copies if the
//! grams that few contents of their own suite have are equal: an estimated Jaccard similarity of one half (one
//! permutation hashing with 16 bins: P. Li, A. Owen, C.-H. Zhang, NIPS 2012). Two contents of one suite are never copies:
//! what similar items of a suite share is their template. [`TEMPLATE`] words or more in a row whose grams are all shared
//! are template; all other words are the *own part* of the item. One of four shared grams of a template is an anchor,
//! of one content alone, and other shared grams are none.
//!
//! **Levels.** An *item* matches by its own part. A run of [`PART`] equal words is a *part* if [`OWN_WORDS`] of them are
//! own words, otherwise *template*; so is every match of an item that has a template and fewer own words than these. A
//! match of a template inside of another match is left out.
//!
//! **Chance.** With c the count of a word over the N distinct grams that begin with it, less its own, and p(w) a prior
//! by the word's length ([`PRIOR`]):
//! ```text
//! P(w)     = (c(w) + MU p(w)) / (N + MU)
//! P(w | v) = (c(v w) + KAPPA P(w)) / (c(v) + KAPPA), at least P(w)
//! chance   = W T 2^-score
//! ```
//! W and T are the words of the document and of all contents, and the score is the sum of `-log2 P(w)` of the matched
//! words, of `-log2 P(w | v)` where w follows v in both texts. This is the E-value of sequence alignment: the expected
//! number of such matches in the document if its words were drawn by these laws (S. Karlin, S. F. Altschul, "Methods for
//! assessing the statistical significance of molecular sequence features", PNAS 1990; we take the weights themselves as
//! score, so that λ = ln 2 and K is bounded by 1). Distinct grams are counted so that copies don't look like habit.
//!
//! **Code.** An index of code has the tokens of the recipe segment `cut:code` for words, so that a solution with other
//! names has the same words. Its grams are longer, because a few tokens in a row are in most functions.
//!
//! Memory: about 25 bytes per word of the items and their texts; 24 bytes per word more while the index is built. Cost:
//! one pass over the words of a document, a filter lookup for each winnowed gram, and a hash lookup for those that pass.
//! Sources: S. Schleimer, D. Wilkerson, A. Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003;
//! S. Altschul et al., "Basic local alignment search tool", 1990, for seeds and extension.

mod align;
mod build;
mod file;
mod plain;
mod scan;
mod table;
mod words;

use std::ops::Range;

use crate::segment::{Column, Segment};

pub use scan::{Columns, Limits};

/// Number of items from which a gram is shared.
pub const MAX_ITEMS: usize = 8;
/// Maximum number of positions of a gram that is not shared.
pub const MAX_POSITIONS: usize = 64;
/// Words of shared grams in a row that are a template, and no common phrase.
pub const TEMPLATE: usize = 8;
/// Own words without which an item that has a template is nothing but template.
pub const OWN_WORDS: usize = 5;
/// Equal words in a row that are a part of an item.
pub const PART: usize = 13;
/// Equal tokens of source code in a row that are a part of an item: about three for a word.
pub const CODE_PART: usize = 40;
/// Prior of a word in bits, by its characters: about those of English; unseen words of a large index have more.
const PRIOR: [u8; 8] = [5, 5, 6, 7, 8, 10, 11, 12];
/// Prior of a single character that is not ASCII: an ideograph.
const PRIOR_IDEOGRAPH: u8 = 9;
/// Weight of the prior, in words.
const MU: f64 = 1000.0;
/// Weight of a word's own probability after another word, in occurrences of that word.
const KAPPA: f64 = 4.0;
/// Weights per bit.
const EIGHTH: f64 = 8.0;
/// Items per block of words that one entry of the directory covers.
const DIRECTORY: usize = 16;
/// Words of an item up to which each of its grams is looked up.
const SHORT: u32 = 12;
/// Words of a document of which an item must be told from chance; an item that can't is too short.
const TYPICAL_WORDS: f64 = 1000.0;

/// An index of the items of suites.
pub struct SuiteIndex {
    n: usize,
    window: usize,
    /// Words are tokens of source code.
    code: bool,
    /// Description by the caller.
    about: Column<u8>,
    /// First item of each suite; one more at the end.
    suites: Column<u64>,
    /// Texts of all items, and their ends; one more at the start.
    texts: Column<u8>,
    text_ends: Column<u64>,
    /// First word of each content; one more at the end.
    starts: Column<u32>,
    /// Content of the word with number `DIRECTORY * i`.
    directory: Column<u32>,
    /// Hashes of the words of all contents; bit 0 is set for an own word.
    words: Column<u64>,
    /// Weight of each word in eighths of a bit, 0 for template; and of the word after the previous one.
    first: Column<u8>,
    next: Column<u8>,
    /// Items by content, and the start of each content's; one more at the end.
    owners: Column<u32>,
    owner_starts: Column<u32>,
    /// Content of each item.
    contents: Column<u32>,
    /// Anchors and their positions.
    table: table::GramTable,
    segment: Option<Segment>,
}

impl SuiteIndex {
    /// Return the number of items.
    pub fn len(&self) -> usize {
        self.contents.len()
    }

    /// True if there is no item.
    pub fn is_empty(&self) -> bool {
        self.contents.is_empty()
    }

    /// Return the words of a gram, and the grams of a window.
    pub fn shape(&self) -> (usize, usize) {
        (self.n, self.window)
    }

    /// Return the number of words of all contents.
    pub fn num_words(&self) -> usize {
        self.words.len()
    }

    /// Return the description that the caller gave.
    pub fn about(&self) -> &[u8] {
        &self.about
    }

    /// Return the file that the index was opened from.
    pub fn segment(&self) -> Option<&Segment> {
        self.segment.as_ref()
    }

    /// Return the text of item `item`.
    pub fn text(&self, item: usize) -> &[u8] {
        &self.texts[self.text_ends[item] as usize..self.text_ends[item + 1] as usize]
    }

    /// Return the number of bytes of the index without the texts.
    pub fn num_bytes(&self) -> usize {
        let words = self.words.len() * (size_of::<u64>() + 2);
        let items = 4 * (self.owners.len() + self.owner_starts.len() + self.contents.len() + self.starts.len());
        words + items + 4 * self.directory.len() + self.table.num_bytes()
    }

    /// Return for each item whether even a complete copy in a document of a thousand words has a larger chance than
    /// `max_chance`.
    pub fn too_short(&self, max_chance: f64) -> Vec<bool> {
        let score = |&content: &u32| self.score(self.words_of(content as usize));
        self.contents.iter().map(|content| self.chance(TYPICAL_WORDS, score(content)) > max_chance).collect()
    }

    /// Return for each item whether it has a template and fewer than [`OWN_WORDS`] own words.
    pub fn all_template(&self) -> Vec<bool> {
        self.contents.iter().map(|&content| self.is_template(self.words_of(content as usize))).collect()
    }

    /// True for words of an item of which some are template, and fewer than [`OWN_WORDS`] are not.
    fn is_template(&self, range: Range<usize>) -> bool {
        let own = self.words[range.clone()].iter().filter(|&word| word & 1 == 1).count();
        own < OWN_WORDS && own < range.len() && range.len() >= self.n
    }

    /// Return the equal words in a row that are a part.
    #[inline]
    fn part(&self) -> usize {
        if self.code { CODE_PART } else { PART }
    }

    /// Return the positions of the words of a content.
    #[inline]
    fn words_of(&self, content: usize) -> Range<usize> {
        self.starts[content] as usize..self.starts[content + 1] as usize
    }

    /// Return the weight of own words that follow one another.
    fn score(&self, range: Range<usize>) -> u32 {
        range.clone().map(|at| u32::from(if at == range.start { self.first[at] } else { self.next[at] })).sum()
    }

    /// Return the expected number of matches with this score in a document of `words` words.
    fn chance(&self, words: f64, score: u32) -> f64 {
        words * self.words.len() as f64 * libm::exp2(-f64::from(score) / EIGHTH)
    }

    /// Return the content of a word.
    #[inline]
    fn content_of(&self, word: usize) -> usize {
        let mut content = self.directory[word / DIRECTORY] as usize;
        while self.starts[content + 1] as usize <= word {
            content += 1;
        }
        content
    }
}

/// Rotation of a gram's hash from one word to the next.
const ROTATION: u32 = 13;

/// Return the hash of a gram: the xor of the rotated hashes of its words, which are random.
#[inline(always)]
fn gram(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum: u64, word| sum.rotate_left(ROTATION) ^ word)
}
