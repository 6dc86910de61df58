//! The scan of documents: winnowed lookups, candidates, verified matches.
//!
//! Grams are looked up in blocks, in three passes, so that the memory of a filter word, a slot and an item's words is
//! prefetched a block before it is read. Documents are scanned in parallel; no result depends on another document.

use std::collections::HashMap;
use std::ops::Range;

use crate::parallel::prelude::*;

use super::plain::Plain;
use super::table::Entry;
use super::words::WordReader;
use super::{OWN_WORDS, ROTATION, SuiteIndex, align, gram};
use crate::cancel::CancelToken;
use crate::cpu::prefetch::prefetch_at;
use crate::text::tokenizer::{Scratch, TextSource};
use crate::{Error, Result, alloc};

/// Grams of a document that are looked up together.
const BLOCK: usize = if cfg!(test) { 16 } else { 512 };
/// Words of a block of an item that are compared with the document around an anchor first; the last block is longer.
const ITEM_BLOCK: usize = 32;
/// Words by which a match may leave the anchor's diagonal, in addition to a sixth of the item, and their limit.
const SLACK: usize = 2;
const MAX_SLACK: usize = 64;
/// Slots for the words of a document around an anchor, which are compared by a few bits of their hash first.
const MARKS: usize = 1 << 11;
/// Number of candidates without a match that are remembered, so that other anchors on their diagonal are skipped.
const TESTED: usize = 16;

/// Conditions of a match.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Smallest share of the own words.
    pub threshold: f64,
    /// Largest expected number of matches by chance.
    pub max_chance: f64,
}

/// Matches as columns; document i owns the range `offsets[i]..offsets[i + 1]` of the others.
#[derive(Default)]
pub struct Columns {
    /// Start of each document's matches; one more entry than documents.
    pub offsets: Vec<i64>,
    /// Items.
    pub items: Vec<u32>,
    /// Start and end (exclusive) of the match in characters of the document.
    pub starts: Vec<i64>,
    /// See `starts`.
    pub ends: Vec<i64>,
    /// Share of the item's own words.
    pub similarity: Vec<f64>,
    /// Expected number of such matches by chance.
    pub chance: Vec<f64>,
    /// 0 for an item, 1 for a part, 2 for a template.
    pub levels: Vec<u8>,
    /// Number of words of each document.
    pub words: Vec<i64>,
}

/// A match: words `start..end` of the document.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Match {
    content: u32,
    start: usize,
    end: usize,
    similarity: f64,
    chance: f64,
    level: u8,
}

/// An anchor: a word of the items, and of the document.
type Anchor = (u32, u32);

/// An anchor of an item: its content, the word of the item, and of the document.
#[derive(Clone, Copy)]
struct Candidate {
    content: usize,
    word: usize,
    at: usize,
}

/// Buffers of a thread.
#[derive(Default)]
struct Buffers {
    text: Scratch,
    words: Vec<u64>,
    grams: Vec<u64>,
    selected: Vec<(u64, u32)>,
    entries: Vec<(Entry, u32)>,
    anchors: Vec<Anchor>,
    candidates: Vec<Candidate>,
    align: align::Scratch,
    /// The stretch that last marked each slot.
    marks: Vec<u32>,
    stretch: u32,
    /// Content, block and diagonal of the last candidates without a match.
    tested: Vec<(usize, usize, isize)>,
    next_tested: usize,
    /// End of the last match of each content.
    ends: HashMap<usize, usize>,
    matches: Vec<Match>,
}

/// The words of a document, and its matches with the characters of their start and end.
type Scanned = (usize, Vec<(Match, i64, i64)>);

impl SuiteIndex {
    /// Find the items in each document, in parallel. Matches are in order of start and item.
    ///
    /// # Errors
    /// Limits out of range; the call is cancelled, or memory runs out.
    pub fn scan(&self, documents: &dyn TextSource, limits: Limits) -> Result<Columns> {
        if !(limits.threshold > 0.0 && limits.threshold <= 1.0) {
            return Err(Error::parameter("threshold", limits.threshold, "above 0, up to 1"));
        }
        if !(limits.max_chance > 0.0 && limits.max_chance <= 1.0) {
            return Err(Error::parameter("max_chance", limits.max_chance, "above 0, up to 1"));
        }
        let (cancel, reader) = (&CancelToken::current(), &WordReader::new(self.code)?);
        let buffers = || Buffers { text: Scratch::with_cancel(cancel), ..Buffers::default() };
        let scan = |buffers: &mut Buffers, i: usize| -> Result<Scanned> {
            cancel.check()?;
            documents.prefetch(i + 1);
            let stored = documents.get(i).unwrap_or_default();
            let plain = Plain::read(stored)?;
            let text = plain.text(stored);
            reader.hashes(text, &mut buffers.text, &mut buffers.words)?;
            self.scan_words(buffers, limits, cancel)?;
            let mut matches = alloc::try_with_capacity(buffers.matches.len())?;
            if !buffers.matches.is_empty() {
                let spans = reader.spans(text, &mut buffers.text)?;
                let place = |found: &Match| {
                    let (start, end) = (spans[found.start].0, spans[found.end - 1].1);
                    (*found, plain.place(start).0 as i64, plain.place(end - 1).1 as i64)
                };
                matches.extend(buffers.matches.iter().map(place));
            }
            Ok((buffers.words.len(), matches))
        };
        let documents = (0..documents.len()).into_par_iter().map_init(buffers, scan);
        let documents = alloc::try_map_parallel(documents)?;
        cancel.check()?;
        self.columns(&documents)
    }

    /// Write a row for each item of each match.
    fn columns(&self, documents: &[Scanned]) -> Result<Columns> {
        let mut columns = Columns { offsets: alloc::try_with_capacity(documents.len() + 1)?, ..Columns::default() };
        columns.words = alloc::try_with_capacity(documents.len())?;
        columns.offsets.push(0);
        for (words, matches) in documents {
            columns.words.push(*words as i64);
            for &(Match { content, similarity, chance, level, .. }, start, end) in matches {
                let content = content as usize;
                let owners = self.owner_starts[content] as usize..self.owner_starts[content + 1] as usize;
                let owners = &self.owners[owners];
                alloc::try_extend(&mut columns.items, owners)?;
                let count = columns.items.len();
                alloc::try_resize(&mut columns.starts, count, start)?;
                alloc::try_resize(&mut columns.ends, count, end)?;
                alloc::try_resize(&mut columns.similarity, count, similarity)?;
                alloc::try_resize(&mut columns.chance, count, chance)?;
                alloc::try_resize(&mut columns.levels, count, level)?;
            }
            columns.offsets.push(columns.items.len() as i64);
        }
        Ok(columns)
    }

    /// Find the matches of the document whose words are in the buffers.
    fn scan_words(&self, buffers: &mut Buffers, limits: Limits, cancel: &CancelToken) -> Result<()> {
        let words = std::mem::take(&mut buffers.words);
        buffers.matches.clear();
        buffers.ends.clear();
        buffers.tested.clear();
        buffers.next_tested = 0;
        alloc::try_resize(&mut buffers.marks, MARKS, 0)?;
        let count = (words.len() + 1).saturating_sub(self.n);
        let mut last = usize::MAX;
        for start in (0..count).step_by(BLOCK) {
            cancel.check()?;
            let end = count.min(start + BLOCK);
            last = self.look_up(&words, start..end, count, last, buffers)?;
            self.locate(buffers)?;
            let candidates = std::mem::take(&mut buffers.candidates);
            for &candidate in &candidates {
                self.extend(&words, candidate, limits, buffers)?;
            }
            buffers.candidates = candidates;
        }
        drop_covered(&mut buffers.matches);
        buffers.matches.sort_by_key(|found| (found.start, found.content, found.end));
        buffers.words = words;
        Ok(())
    }

    /// Write the anchors of the winnowed grams of the windows that begin at grams `part`, of `count`, to the buffers;
    /// `last` is the gram selected last, which is returned.
    fn look_up(
        &self,
        words: &[u64],
        part: Range<usize>,
        count: usize,
        last: usize,
        buffers: &mut Buffers,
    ) -> Result<usize> {
        let Buffers { grams, selected, entries, anchors, .. } = buffers;
        let end = count.min(part.end + self.window - 1);
        self.hash_grams(&words[part.start..end + self.n - 1], grams)?;
        selected.clear();
        alloc::try_reserve(selected, part.len())?;
        // A document with fewer grams than a window has one window.
        let windows =
            if count < self.window { 1 } else { part.len().min((grams.len() + 1).saturating_sub(self.window)) };
        let last = select(grams, windows, self.window.min(count), part.start, last, |gram, at| {
            self.table.filter.prefetch(gram);
            selected.push((gram, at as u32));
        });
        selected.retain(|&(gram, _)| self.table.filter.may_have(gram));
        if !self.table.short.0.is_empty() {
            let of_short = |&(at, &gram): &(usize, &u64)| self.table.short.may_have(gram) && at < part.len();
            let before = selected.len();
            alloc::try_reserve(selected, part.len())?;
            let all = grams.iter().enumerate().filter(of_short);
            selected.extend(all.map(|(at, &gram)| (gram, (part.start + at) as u32)));
            if selected.len() > before {
                selected.sort_unstable_by_key(|&(_, at)| at);
                selected.dedup();
            }
        }
        for &(gram, _) in selected.iter() {
            self.table.prefetch_slot(gram);
        }
        entries.clear();
        for &(gram, at) in &*selected {
            let mut fits = Ok(());
            self.table.entries(gram, |entry| {
                if fits.is_ok() {
                    fits = alloc::try_reserve(entries, 1);
                }
                if fits.is_ok() {
                    entries.push((entry, at));
                }
            });
            fits?;
        }
        anchors.clear();
        for (entry, at) in &*entries {
            for position in self.table.positions(entry) {
                alloc::try_reserve(anchors, 1)?;
                prefetch_at(&self.directory, position as usize / super::DIRECTORY);
                anchors.push((position, *at));
            }
        }
        Ok(last)
    }

    /// Write the hashes of all grams of `words` to `grams`.
    #[inline]
    fn hash_grams(&self, words: &[u64], grams: &mut Vec<u64>) -> Result<()> {
        let n = self.n;
        grams.clear();
        alloc::try_reserve(grams, words.len() + 1 - n)?;
        if n == 4 {
            // The same in one pass that the compiler can turn into vectors.
            let hash = |four: &[u64]| {
                four[0].rotate_left(3 * ROTATION)
                    ^ four[1].rotate_left(2 * ROTATION)
                    ^ four[2].rotate_left(ROTATION)
                    ^ four[3]
            };
            grams.extend(words.windows(4).map(hash));
        } else {
            grams.extend(words.windows(n).map(gram));
        }
        Ok(())
    }

    /// Find the items of the anchors, and prefetch their words.
    fn locate(&self, buffers: &mut Buffers) -> Result<()> {
        buffers.candidates.clear();
        alloc::try_reserve(&mut buffers.candidates, buffers.anchors.len())?;
        for &(position, at) in &buffers.anchors {
            let content = self.content_of(position as usize);
            let word = position as usize - self.words_of(content).start;
            // The words around the anchor, by which most candidates are left.
            for line in [position.saturating_sub(8), position, position + 8] {
                prefetch_at(&self.words, line as usize);
            }
            buffers.candidates.push(Candidate { content, word, at: at as usize });
        }
        Ok(())
    }

    /// Extend an anchor; if its item matches, add it to the matches of the document.
    #[inline]
    fn extend(&self, document: &[u64], candidate: Candidate, limits: Limits, buffers: &mut Buffers) -> Result<()> {
        let Candidate { content, word, at } = candidate;
        let item = &self.words[self.words_of(content)];
        let diagonal = at as isize - word as isize;
        let slack = (SLACK + item.len() / 6).min(MAX_SLACK);
        let (block, part) = block_of(word, item.len());
        let near = around(document, diagonal + part.start as isize, part.len(), slack);
        let run = || run_around(item, word, document, at);
        if !buffers.has_most(&item[part.clone()], word - part.start, near, limits.threshold)
            && run().len() < self.part()
        {
            return Ok(());
        }
        // Anchors of an item that was matched here belong to that match.
        if !buffers.ends.is_empty() && buffers.ends.get(&content).is_some_and(|&end| at < end) {
            return Ok(());
        }
        if buffers.tested.contains(&(content, block, diagonal)) {
            return Ok(());
        }
        let found = self.match_item(document, content, (diagonal, slack, run()), limits, &mut buffers.align)?;
        let Some(found) = found else {
            let tested = (content, block, diagonal);
            if buffers.tested.len() < TESTED {
                alloc::try_reserve(&mut buffers.tested, 1)?;
                buffers.tested.push(tested);
            } else {
                buffers.tested[buffers.next_tested % TESTED] = tested;
            }
            buffers.next_tested += 1;
            return Ok(());
        };
        alloc::try_reserve_map(&mut buffers.ends, 1)?;
        buffers.ends.insert(content, found.end);
        alloc::try_reserve(&mut buffers.matches, 1)?;
        buffers.matches.push(found);
        Ok(())
    }

    /// Return the match of an item on a diagonal of the document, or of the run of equal words there; None if it is no match.
    fn match_item(
        &self,
        document: &[u64],
        content: usize,
        (diagonal, slack, run): (isize, usize, Range<usize>),
        limits: Limits,
        align: &mut align::Scratch,
    ) -> Result<Option<Match>> {
        let range = self.words_of(content);
        let item = &self.words[range.clone()];
        let (common, own) = align.common(item, around(document, diagonal, item.len(), slack))?;
        let similarity = common as f64 / own.max(1) as f64;
        let chance = |score| self.chance(document.len() as f64, score);
        let [start, end] = [run.start, run.end].map(|word| (diagonal + word as isize) as usize);
        let place = start..end;
        let new = |start, end, score, level| Match {
            content: content as u32,
            start,
            end,
            similarity,
            chance: chance(score),
            level,
        };
        if similarity >= limits.threshold {
            let weights = (&self.first[range.clone()], &self.next[range.clone()]);
            let mut chain = align.chain(item, weights, document, (diagonal, slack))?;
            // Words that were inserted move the rest of the item off the diagonal. Another copy there is another match.
            let wider = align.chain(item, weights, document, (diagonal, (item.len() + slack).min(MAX_SLACK)))?;
            if wider.score > chain.score && wider.start <= chain.start && wider.end >= chain.end {
                chain = wider;
            }
            if chance(chain.score) <= limits.max_chance && !self.is_template(range.clone()) {
                // The chain has own words alone, the run template as well.
                let overlap = place.start < chain.end && chain.start < place.end;
                let run = if overlap { place } else { chain.start..chain.end };
                return Ok(Some(new(chain.start.min(run.start), chain.end.max(run.end), chain.score, 0)));
            }
        }
        if run.len() < self.part() {
            return Ok(None);
        }
        let own = item[run.clone()].iter().filter(|&word| word & 1 == 1).count();
        let score = self.score(range.start + run.start..range.start + run.end);
        Ok(Some(new(place.start, place.end, score, if own < OWN_WORDS { 2 } else { 1 })))
    }
}

/// Return the words of an item around `word` that are equal to those of the document around `at`.
#[inline]
fn run_around(item: &[u64], word: usize, document: &[u64], at: usize) -> Range<usize> {
    let is_equal = |&(a, b): &(&u64, &u64)| a & !1 == *b;
    let after = item[word..].iter().zip(&document[at..]).take_while(is_equal).count();
    let before = item[..word].iter().rev().zip(document[..at].iter().rev()).take_while(is_equal).count();
    word - before..word + after
}

/// Drop the templates inside of other matches.
fn drop_covered(matches: &mut Vec<Match>) {
    matches.sort_by_key(|found| (found.start, found.level));
    let mut end = 0;
    matches.retain(|found| {
        if found.level < 2 {
            end = end.max(found.end);
        }
        found.level < 2 || found.end > end
    });
}

impl Buffers {
    /// Return false if fewer than the threshold's share of the informative words of `part` occur in `near`, in any order:
    /// fewer then occur there in the order of `part`. Words are read from `anchor` on, then those before it.
    #[inline]
    fn has_most(&mut self, part: &[u64], anchor: usize, near: &[u64], threshold: f64) -> bool {
        self.stretch = self.stretch.wrapping_add(1);
        if self.stretch == 0 {
            self.marks.fill(0);
            self.stretch = 1;
        }
        let (marks, stretch) = (&mut self.marks[..MARKS], self.stretch);
        for &word in near {
            marks[(word >> 1) as usize % MARKS] = stretch;
        }
        // Unrelated items are left after a few words: at most all words of the part are informative. One more for rounding.
        let max_missing = ((1.0 - threshold) * part.len() as f64) as usize + 1;
        let (mut missing, mut informative) = (0, 0);
        for &word in part[anchor..].iter().chain(part[..anchor].iter().rev()) {
            let counts = (word & 1) as usize;
            informative += counts;
            missing += counts & usize::from(marks[(word >> 1) as usize % MARKS] != stretch);
            if missing > max_missing {
                return false;
            }
        }
        (informative - missing) as f64 / informative as f64 >= threshold
    }
}

/// Return the block of an item of `length` words that has a word, and its words.
#[inline]
fn block_of(word: usize, length: usize) -> (usize, Range<usize>) {
    let blocks = (length / ITEM_BLOCK).max(1);
    let block = (word / ITEM_BLOCK).min(blocks - 1);
    (block, block * ITEM_BLOCK..if block + 1 == blocks { length } else { (block + 1) * ITEM_BLOCK })
}

/// Return the words of the document from `slack` before `start` to `slack` after `length` words.
#[inline]
fn around(document: &[u64], start: isize, length: usize, slack: usize) -> &[u64] {
    let limit = document.len() as isize;
    let (from, to) = (start - slack as isize, start + (length + slack) as isize);
    &document[from.clamp(0, limit) as usize..to.clamp(0, limit) as usize]
}

/// Call `each(gram, at)` with the smallest gram of each of the first `windows` windows of `size` grams, the last of
/// equal ones, unless it was that of the window before; `first` is the number of gram 0, and `last` that of the gram
/// selected before. Return the number of the last gram selected.
#[inline(always)]
fn select(
    grams: &[u64],
    windows: usize,
    size: usize,
    first: usize,
    mut last: usize,
    mut each: impl FnMut(u64, usize),
) -> usize {
    if size == 2 {
        for start in 0..windows {
            let at = start + usize::from(grams[start + 1] <= grams[start]);
            if first + at != last {
                last = first + at;
                each(grams[at], last);
            }
        }
        return last;
    }
    for start in 0..windows {
        let (mut at, mut smallest) = (start, grams[start]);
        for (offset, &gram) in grams[start..start + size].iter().enumerate().skip(1) {
            if gram <= smallest {
                (at, smallest) = (start + offset, gram);
            }
        }
        if first + at != last {
            last = first + at;
            each(smallest, last);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Limits that any anchor passes.
    const ANY: Limits = Limits { threshold: 1e-9, max_chance: 1.0 };

    fn index(items: &[String], n: usize, window: usize) -> SuiteIndex {
        SuiteIndex::build(&items, &[0, items.len() as u64], (n, window, false), b"").expect("valid")
    }

    fn rows(columns: &Columns) -> Vec<(u32, i64, i64, f64)> {
        (0..columns.items.len())
            .map(|row| (columns.items[row], columns.starts[row], columns.ends[row], columns.similarity[row]))
            .collect()
    }

    fn sentence(words: &[u32]) -> String {
        words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
    }

    /// Anchors of a document, as the scan sees them.
    fn anchors(index: &SuiteIndex, document: &str) -> Vec<Anchor> {
        let mut buffers = Buffers::default();
        let mut words = Vec::new();
        WordReader::new(false).and_then(|reader| reader.hashes(document, &mut buffers.text, &mut words)).expect("room");
        let count = (words.len() + 1).saturating_sub(index.n);
        let (mut all, mut last) = (Vec::new(), usize::MAX);
        for start in (0..count).step_by(BLOCK) {
            let part = start..count.min(start + BLOCK);
            last = index.look_up(&words, part, count, last, &mut buffers).expect("room");
            all.append(&mut buffers.anchors);
        }
        all
    }

    proptest! {
        #[test]
        fn a_run_of_equal_words_is_always_an_anchor(
            item in prop::collection::vec(0_u32..60, 10..30), document in prop::collection::vec(0_u32..60, 0..80),
            start in 0_usize..30, at in 0_usize..80, n in 2_usize..6, window in 1_usize..6
        ) {
            // Copy a run of `window + n - 1` words of the item into the document.
            let run = window + n - 1;
            let start = start % (item.len() - run + 1);
            let mut words = document;
            let at = at % (words.len() + 1);
            words.splice(at..at, item[start..start + run].iter().copied());
            let index = index(&[sentence(&item)], n, window);
            let found = anchors(&index, &sentence(&words));
            let is_inside = |&(position, word): &Anchor| {
                let (position, word) = (position as usize, word as usize);
                (at..=at + run - n).contains(&word) && item[position..position + n] == words[word..word + n]
            };
            prop_assert!(found.iter().any(is_inside));
            // Every anchor is a gram of both.
            for (position, word) in found {
                let (position, word) = (position as usize, word as usize);
                prop_assert_eq!(&item[position..position + n], &words[word..word + n]);
            }
        }

        #[test]
        fn winnowing_in_blocks_is_winnowing(grams in prop::collection::vec(0_u64..50, 1..100), size in 1_usize..8) {
            let mut expected = Vec::new();
            for start in 0..(grams.len() + 1).saturating_sub(size).max(1) {
                let window = &grams[start..grams.len().min(start + size)];
                let smallest = window.iter().min().expect("one");
                let at = start + window.iter().rposition(|gram| gram == smallest).expect("one");
                if expected.last() != Some(&at) {
                    expected.push(at);
                }
            }
            let (mut found, mut last, count) = (Vec::new(), usize::MAX, grams.len());
            for start in (0..count).step_by(BLOCK) {
                let end = count.min(start + BLOCK + size - 1);
                let part = &grams[start..end];
                let windows = if count < size { 1 } else { BLOCK.min((part.len() + 1).saturating_sub(size)).min(count - start) };
                last = select(part, windows, size.min(count), start, last, |_, at| found.push(at));
            }
            prop_assert_eq!(expected, found);
        }

        #[test]
        fn copies_are_found_where_they_are(
            item in prop::collection::vec(0_u32..1000, 12..40), before in prop::collection::vec(1000_u32..1100, 0..40),
            after in prop::collection::vec(1000_u32..1100, 0..40)
        ) {
            let index = index(&[sentence(&item), "another item of other words".to_owned()], 4, 2);
            let document = [&before[..], &item, &after].concat();
            let (text, start) = (sentence(&document), sentence(&before).len() + usize::from(!before.is_empty()));
            let columns = index.scan(&[text].as_slice(), Limits { threshold: 0.8, max_chance: 1e-6 }).expect("room");
            let end = start + sentence(&item).len();
            prop_assert_eq!(vec![(0, start as i64, end as i64, 1.0)], rows(&columns));
        }
    }

    #[test]
    fn items_with_equal_words_are_found_together() {
        let items = ["The quick brown fox jumps over the lazy dog today", "Another item of several other words, long"];
        let items = [items[0].to_owned(), items[1].to_owned(), items[0].to_uppercase()];
        let index = SuiteIndex::build(&items.as_slice(), &[0, 2, 3], (4, 2, false), b"").expect("valid");
        let columns = index.scan(&[items[0].as_str(), ""].as_slice(), ANY).expect("room");
        assert_eq!(vec![(0, 0, 49, 1.0), (2, 0, 49, 1.0)], rows(&columns));
        assert_eq!((vec![0, 2, 2], vec![10, 0]), (columns.offsets, columns.words));
    }

    #[test]
    fn a_template_is_no_evidence_of_an_item() {
        let template = "answer the following question with one of the choices given below and explain your answer";
        let own = |i: usize| sentence(&(0..20).map(|word| (100 * i + word) as u32).collect::<Vec<_>>());
        let items: Vec<String> = (0..10).map(|i| format!("{template} {}", own(i))).collect();
        let index = index(&items, 4, 2);
        let limits = Limits { threshold: 0.75, max_chance: 1e-6 };
        // One item stands for all that have it.
        let columns = index.scan(&[template].as_slice(), ANY).expect("room");
        assert_eq!((vec![0], vec![2]), (columns.items, columns.levels));
        // The own part alone is the complete evidence.
        let found = rows(&index.scan(&[own(3)].as_slice(), limits).expect("room"));
        assert_eq!(1, found.len());
        assert_eq!((3, 1.0), (found[0].0, found[0].3));
    }

    #[test]
    fn a_match_spans_words_that_were_inserted() {
        // Four fifths of the item are on the anchor's diagonal, the rest beyond its slack.
        let item = sentence(&(0..30).collect::<Vec<_>>());
        let index = index(&[item], 4, 2);
        let limits = Limits { threshold: 0.75, max_chance: 1e-6 };
        for inserted in [0, 8, 20, 36] {
            for at in [6, 24] {
                let mut words: Vec<u32> = (0..30).collect();
                words.splice(at..at, 100..100 + inserted);
                let (before, after) = (sentence(&[200; 70]), sentence(&[300; 70]));
                let text = format!("{before} {} {after}", sentence(&words));
                let found = rows(&index.scan(&[text.as_str()].as_slice(), limits).expect("room"));
                let start = before.len() as i64 + 1;
                let expected = (0, start, start + sentence(&words).len() as i64);
                assert_eq!(vec![expected], found.iter().map(|&(item, a, b, _)| (item, a, b)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn copies_next_to_one_another_are_matches_of_their_own() {
        let item = sentence(&(0..30).collect::<Vec<_>>());
        let changed = sentence(&(0..26).chain(400..404).collect::<Vec<_>>());
        let index = index(std::slice::from_ref(&item), 4, 2);
        let limits = Limits { threshold: 0.75, max_chance: 1e-6 };
        let found = rows(&index.scan(&[format!("{changed} {item} {item}")].as_slice(), limits).expect("room"));
        let (first, length) = (changed.len() as i64, item.len() as i64);
        let expected = [(0, first - 20), (first + 1, first + 1 + length), (first + length + 2, first + 2 * length + 2)];
        assert_eq!(expected.to_vec(), found.iter().map(|&(_, a, b, _)| (a, b)).collect::<Vec<_>>());
    }

    #[test]
    fn limits_out_of_range_are_refused() {
        let index = index(&["one two three four five".to_owned()], 4, 2);
        for limits in
            [Limits { threshold: 0.0, ..ANY }, Limits { threshold: 1.5, ..ANY }, Limits { max_chance: 0.0, ..ANY }]
        {
            assert!(index.scan(&[""].as_slice(), limits).is_err());
        }
        assert!(SuiteIndex::build(&[""].as_slice(), &[0, 1], (1, 2, false), b"").is_err());
        assert!(SuiteIndex::build(&[""].as_slice(), &[0, 1], (4, 0, false), b"").is_err());
        assert!(SuiteIndex::build(&[""].as_slice(), &[0, 2], (4, 2, false), b"").is_err());
    }
}
