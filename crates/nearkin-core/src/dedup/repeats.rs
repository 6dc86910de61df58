//! Exact long repeats: runs of N or more symbols that occur twice.
//!
//! A *window* is N consecutive symbols of one text; symbols are bytes, or hashes of words. Texts are visited in a given
//! order, and a window is *repeated* if one that begins earlier, in an earlier text or in the same one, has the same
//! symbols. The result is every maximal range of repeated windows, with the position of an earlier occurrence: the
//! union of the ranges is exactly the union of the repeated windows.
//!
//! **Anchors.** One of every W = N − k + 1 runs of k symbols is selected: the run with the minimum hash, the first of
//! equals (winnowing: Schleimer, Wilkerson and Aiken, SIGMOD 2003). Equal windows select the same run, so a repeated
//! window is found at its anchor: a table maps hashes to the positions of earlier anchors, each is compared symbol by
//! symbol, and the match is extended to both sides. 2 / (W + 1) of n random symbols are anchors. A run with a period of
//! at most four symbols, such as a rule of dashes, occurs in very many contexts: it gets the maximum hash, so that
//! another one is selected if the window has one.
//!
//! An anchor represents the windows that select it. If all its windows are repeated, it is neither looked up nor stored,
//! because earlier anchors represent them. Therefore a text that is copied a thousand times is in the table once.
//!
//! Memory: 16 bytes and at most 16 of the table per stored anchor; the symbols are read in place, sequentially except
//! for compared positions. Time: linear except for anchors with many positions, `max_positions` of which are compared. Hashes of
//! runs are polynomial, modulo 2^64, mixed; equal hashes are always verified.

use std::collections::VecDeque;

use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::{Error, Result};

/// A symbol of a text.
pub trait Symbol: Copy + Eq + Sync {
    /// Return a number that identifies the symbol.
    fn number(self) -> u64;
}

impl Symbol for u8 {
    fn number(self) -> u64 {
        self.into()
    }
}

impl Symbol for u64 {
    fn number(self) -> u64 {
        self
    }
}

/// Repeats, in the order of visits.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Start and end (exclusive) of each, and the start of an earlier occurrence.
    pub positions: Vec<[u64; 3]>,
    /// Number of anchors with more earlier positions than were compared.
    pub skipped: u64,
    /// Number of stored anchors.
    pub stored: u64,
}

/// Find the repeats of at least `min_symbols` symbols.
///
/// `texts` are the start and end of each text in `symbols`, in the order of visits. `max_positions` limits the earlier positions
/// that an anchor is compared with.
///
/// # Errors
/// Positions out of range; fewer than two symbols; memory runs out; cancellation.
pub fn repeats<S: Symbol>(
    symbols: &[S],
    texts: &[[u64; 2]],
    min_symbols: usize,
    max_positions: usize,
) -> Result<Repeats> {
    if min_symbols < 2 {
        return Err(Error::parameter("min_length", min_symbols, "2 or more"));
    }
    if let Some(text) = texts.iter().find(|text| text[0] > text[1] || text[1] > symbols.len() as u64) {
        return Err(Error::parameter("texts", format!("{text:?}"), format!("places within 0 to {}", symbols.len())));
    }
    let cancel = CancelToken::current();
    let mut search = Search::new(symbols, texts, min_symbols, max_positions)?;
    for text in 0..texts.len() {
        cancel.check()?;
        search.visit(text, &cancel)?;
    }
    cancel.check()?;
    Ok(Repeats {
        positions: search.found.into_vec()?,
        skipped: search.skipped,
        stored: search.table.entries.len() as u64,
    })
}

/// A range of repeated windows, and the distance to the earlier occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RepeatRange {
    start: usize,
    end: usize,
    other: usize,
}

struct Search<'a, S> {
    symbols: &'a [S],
    texts: &'a [[u64; 2]],
    /// Indices of the texts by their start.
    by_start: Vec<u32>,
    /// Length of a window, and of a hashed run, in symbols.
    min_symbols: usize,
    run: usize,
    max_positions: usize,
    table: Table,
    found: BestEffortVec<[u64; 3]>,
    skipped: u64,
}

impl<'a, S: Symbol> Search<'a, S> {
    fn new(symbols: &'a [S], texts: &'a [[u64; 2]], min_symbols: usize, max_positions: usize) -> Result<Self> {
        let mut by_start = alloc::try_collect(0..texts.len() as u32)?;
        by_start.sort_unstable_by_key(|&text| texts[text as usize]);
        let run = min_symbols - (min_symbols - 1) / 3;
        let table = Table::new()?;
        Ok(Self {
            symbols,
            texts,
            by_start,
            min_symbols,
            run,
            max_positions,
            table,
            found: BestEffortVec::default(),
            skipped: 0,
        })
    }

    /// Return the bounds of the text that contains a position.
    fn text_of(&self, position: usize) -> (usize, usize) {
        let after = self.by_start.partition_point(|&text| self.texts[text as usize][0] <= position as u64);
        // An empty text may begin where a longer one does; it comes before it.
        let [start, end] = self.texts[self.by_start[after - 1] as usize];
        (start as usize, end as usize)
    }

    /// Find the repeats of a text, and store its anchors.
    fn visit(&mut self, text: usize, cancel: &CancelToken) -> Result<()> {
        let [start, end] = self.texts[text].map(|position| position as usize);
        if end - start < self.min_symbols {
            return Ok(());
        }
        let mut ranges = BestEffortVec::default();
        let mut covered = Covered::default();
        for anchor in cancel.often(anchors(&self.symbols[start..end], self.run, self.min_symbols - self.run + 1)) {
            let (at, hash) = (start + anchor.at, anchor.hash);
            let (first, last) = (start + anchor.first, start + anchor.last);
            covered.forget(first);
            if covered.has(first, last) {
                continue;
            }
            let mut compared = 0;
            let mut next = self.table.first(hash);
            while let Some(entry) = next {
                next = self.table.next(entry);
                let Entry { position, key, .. } = self.table.entries[entry as usize];
                if key != hash as u32 {
                    continue;
                }
                if compared == self.max_positions {
                    self.skipped += 1;
                    break;
                }
                compared += 1;
                if compared.is_multiple_of(1 << 10) && cancel.is_set() {
                    return Err(Error::Cancelled);
                }
                let Some(range) = self.extended(at, position as usize, (start, end), &covered) else { continue };
                covered.add(range, self.min_symbols);
                ranges.push(range);
                if covered.has(first, last) {
                    break;
                }
            }
            if !covered.has(first, last) {
                self.table.push(at as u64, hash)?;
            }
        }
        self.give(ranges.into_vec()?);
        Ok(())
    }

    /// Return the match of an anchor with an earlier position, extended within both texts, if it covers a new window.
    fn extended(&self, at: usize, other: usize, text: (usize, usize), covered: &Covered) -> Option<RepeatRange> {
        if covered.knows(at, other) {
            return None;
        }
        let (first, last) = self.text_of(other);
        let alike = |a: &[S], b: &[S]| a.iter().zip(b).take_while(|(one, two)| one == two).count();
        let ahead = alike(&self.symbols[at..text.1], &self.symbols[other..last]);
        if ahead < self.run {
            return None;
        }
        let (mine, its) = (&self.symbols[text.0..at], &self.symbols[first..other]);
        let behind = mine.iter().rev().zip(its.iter().rev()).take_while(|(one, two)| one == two).count();
        let range = RepeatRange { start: at - behind, end: at + ahead, other: other - behind };
        (behind + ahead >= self.min_symbols).then_some(range)
    }

    /// Reduce the ranges to a minimum set with the same union.
    fn give(&mut self, mut ranges: Vec<RepeatRange>) {
        ranges.sort_unstable();
        let mut rest = ranges.into_iter().peekable();
        let mut reached = 0;
        while let Some(first) = rest.next() {
            // Of those that start before the last one ends, or together, take the one with the largest end.
            let limit = if first.start > reached || reached == 0 { first.start } else { reached };
            let mut best = first;
            while let Some(other) = rest.next_if(|other| other.start <= limit) {
                if other.end > best.end {
                    best = other;
                }
            }
            if best.end > reached {
                reached = best.end;
                self.found.push([best.start as u64, best.end as u64, best.other as u64]);
            }
        }
    }
}

/// The windows of a text that are known to be repeated, as far back as needed.
#[derive(Default)]
struct Covered {
    /// First and last window of each range, disjoint and ascending.
    windows: VecDeque<(usize, usize)>,
    /// The last ranges, each on one diagonal.
    ranges: VecDeque<RepeatRange>,
}

/// Number of ranges remembered so that they are not extended again.
const REMEMBERED: usize = 8;

impl Covered {
    /// Forget windows before this one.
    fn forget(&mut self, first: usize) {
        while self.windows.front().is_some_and(|&(_, last)| last < first) {
            self.windows.pop_front();
        }
    }

    /// True if all windows from the first to the last are covered.
    fn has(&self, first: usize, last: usize) -> bool {
        let at = self.windows.partition_point(|&(_, end)| end < first);
        self.windows.get(at).is_some_and(|&(start, end)| start <= first && last <= end)
    }

    /// True if a range aligns a position with the earlier position.
    fn knows(&self, at: usize, other: usize) -> bool {
        let there = |one: &RepeatRange| (one.start..one.end).contains(&at) && one.other + (at - one.start) == other;
        self.ranges.iter().any(there)
    }

    fn add(&mut self, range: RepeatRange, min_symbols: usize) {
        if self.ranges.len() == REMEMBERED {
            self.ranges.pop_front();
        }
        self.ranges.push_back(range);
        let (mut first, mut last) = (range.start, range.end - min_symbols);
        let from = self.windows.partition_point(|&(_, end)| end + 1 < first);
        let to = from + self.windows.range(from..).take_while(|&&(start, _)| start <= last + 1).count();
        for &(start, end) in self.windows.range(from..to) {
            (first, last) = (first.min(start), last.max(end));
        }
        self.windows.drain(from..to);
        self.windows.insert(from, (first, last));
    }
}

/// Multiplier of the polynomial: odd, without a pattern.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Maximum period of a run that is selected last.
const PERIODS: usize = 4;

/// A run selected by windows.
#[derive(Clone, Copy)]
struct Anchor {
    at: usize,
    hash: u64,
    /// The first and the last window that select it.
    first: usize,
    last: usize,
}

/// Iterator over the anchors: of `width` consecutive runs of `run` symbols the one with the minimum hash, the first of
/// equals.
fn anchors<S: Symbol>(symbols: &[S], run: usize, width: usize) -> impl Iterator<Item = Anchor> + '_ {
    let leading = (1..run).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let value = |at: usize| symbols[at].number().wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mut rolling = (0..run - 1).fold(0_u64, |hash, at| hash.wrapping_mul(BASE).wrapping_add(value(at)));
    // Runs that can still be the minimum of a window, their hashes ascending; the first of equals.
    let mut min_symbols: VecDeque<(usize, u64)> = VecDeque::new();
    let mut open: Option<Anchor> = None;
    let runs = symbols.len() + 1 - run;
    // For each period, the number of last symbols that continue it.
    let mut alike = [0; PERIODS];
    let mut count = move |at: usize| {
        for (period, alike) in (1..).zip(&mut alike) {
            *alike = if at >= period && symbols[at] == symbols[at - period] { *alike + 1 } else { 0 };
        }
        (1..).zip(&alike).any(|(period, &alike)| 2 * period <= run && alike + period >= run)
    };
    (0..run - 1).for_each(|at| {
        count(at);
    });
    (0..=runs).filter_map(move |newest| {
        if newest == runs {
            return open.take();
        }
        rolling = rolling.wrapping_mul(BASE).wrapping_add(value(newest + run - 1));
        let hash = if count(newest + run - 1) { u64::MAX } else { mixed(rolling) };
        rolling = rolling.wrapping_sub(value(newest).wrapping_mul(leading));
        while min_symbols.back().is_some_and(|&(_, other)| other > hash) {
            min_symbols.pop_back();
        }
        min_symbols.push_back((newest, hash));
        let first = (newest + 1).checked_sub(width)?;
        if min_symbols.front().is_some_and(|&(at, _)| at < first) {
            min_symbols.pop_front();
        }
        let &(at, hash) = min_symbols.front()?;
        match &mut open {
            Some(anchor) if anchor.at == at => {
                anchor.last = first;
                None
            }
            _ => open.replace(Anchor { at, hash, first, last: first }),
        }
    })
}

fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^ hash >> 29
}

/// An anchor of an earlier position.
#[derive(Clone, Copy)]
struct Entry {
    position: u64,
    /// The low half of its hash.
    key: u32,
    /// Index of the next entry of its chain, or `NONE`.
    next: u32,
}

const NONE: u32 = u32::MAX;

/// Entries by hash, in chains, each in the order of visits.
struct Table {
    entries: Vec<Entry>,
    /// First and last entry of each chain.
    chains: Vec<[u32; 2]>,
}

impl Table {
    fn new() -> Result<Self> {
        Ok(Self { entries: Vec::new(), chains: alloc::try_filled([NONE; 2], 1 << 10)? })
    }

    fn chain(&self, key: u32) -> usize {
        key as usize & (self.chains.len() - 1)
    }

    fn first(&self, hash: u64) -> Option<u32> {
        Some(self.chains[self.chain(hash as u32)][0]).filter(|&entry| entry != NONE)
    }

    fn next(&self, entry: u32) -> Option<u32> {
        Some(self.entries[entry as usize].next).filter(|&entry| entry != NONE)
    }

    fn push(&mut self, position: u64, hash: u64) -> Result<()> {
        if self.entries.len() >= NONE as usize {
            return Err(Error::parameter(
                "texts",
                "more than 4,294,967,295 anchors",
                "fewer texts, or a larger min_length",
            ));
        }
        alloc::try_reserve(&mut self.entries, 1)?;
        if self.entries.len() == self.chains.len() && self.chains.len() < 1 << 32 {
            self.grow()?;
        }
        self.entries.push(Entry { position, key: hash as u32, next: NONE });
        self.link(self.entries.len() as u32 - 1);
        Ok(())
    }

    /// Append an entry to its chain.
    fn link(&mut self, entry: u32) {
        let chain = self.chain(self.entries[entry as usize].key);
        let [first, last] = self.chains[chain];
        if first == NONE {
            self.chains[chain] = [entry; 2];
        } else {
            self.entries[last as usize].next = entry;
            self.chains[chain][1] = entry;
        }
    }

    /// Double the number of chains.
    fn grow(&mut self) -> Result<()> {
        self.chains = alloc::try_filled([NONE; 2], self.chains.len() * 2)?;
        for entry in 0..self.entries.len() {
            self.entries[entry].next = NONE;
            self.link(entry as u32);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::at_every_check;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Concatenate texts, visited in that order.
    fn joined(texts: &[Vec<u8>]) -> (Vec<u8>, Vec<[u64; 2]>) {
        let (mut symbols, mut positions) = (Vec::new(), Vec::new());
        for text in texts {
            positions.push([symbols.len() as u64, (symbols.len() + text.len()) as u64]);
            symbols.extend_from_slice(text);
        }
        (symbols, positions)
    }

    /// Mark the symbols in repeated windows by the definition.
    fn slow(symbols: &[u8], texts: &[[u64; 2]], min_symbols: usize) -> Vec<bool> {
        let (mut seen, mut covered) = (HashMap::new(), vec![false; symbols.len()]);
        for &[start, end] in texts {
            for at in start as usize..(end as usize + 1).saturating_sub(min_symbols) {
                if at as u64 + min_symbols as u64 <= end && seen.insert(&symbols[at..at + min_symbols], at).is_some() {
                    covered[at..at + min_symbols].fill(true);
                }
            }
        }
        covered
    }

    fn check(symbols: &[u8], texts: &[[u64; 2]], min_symbols: usize) -> Repeats {
        let found = repeats(symbols, texts, min_symbols, usize::MAX).expect("room");
        let mut covered = vec![false; symbols.len()];
        for &[start, end, other] in &found.positions {
            let (start, end, other) = (start as usize, end as usize, other as usize);
            assert!(end - start >= min_symbols);
            assert_eq!(symbols[start..end], symbols[other..other + end - start]);
            covered[start..end].fill(true);
        }
        assert_eq!(slow(symbols, texts, min_symbols), covered);
        found
    }

    #[test]
    fn a_repeat_is_found_with_its_place() {
        let texts = [b"one two three four five".to_vec(), b"xx two three fourteen".to_vec()];
        let (symbols, positions) = joined(&texts);
        let found = check(&symbols, &positions, 8);
        assert_eq!((vec![[25, 40, 3]], 0), (found.positions, found.skipped));
        assert!(repeats(&symbols, &positions, 16, 9).expect("room").positions.is_empty());
        // In the reverse order of visits the other text is the repeat.
        let turned = [positions[1], positions[0]];
        assert_eq!(vec![[3, 18, 25]], check(&symbols, &turned, 8).positions);
        assert_eq!(Repeats::default(), check(b"", &[[0, 0], [0, 0]], 2));
    }

    #[test]
    fn copies_are_stored_once_and_words_are_symbols() {
        let text: Vec<u8> = (0..4000_u64).map(|i| mixed(i.wrapping_mul(BASE)) as u8).collect();
        let (symbols, positions) = joined(&vec![text.clone(); 50]);
        let found = check(&symbols, &positions, 40);
        assert_eq!(49, found.positions.len());
        assert_eq!(repeats(&text, &[[0, 4000]], 40, 9).expect("room").stored, found.stored);
        let words = [1_u64, 2, 3, 9, 1, 2, 3];
        assert_eq!(vec![[4, 7, 0]], repeats(&words, &[[0, 4], [4, 7]], 3, 9).expect("room").positions);
    }

    #[test]
    fn one_symbol_again_and_again_is_linear() {
        let symbols = vec![b'a'; 1 << 20];
        let found = repeats(&symbols, &[[0, 1 << 20]], 50, 100).expect("room");
        assert_eq!((vec![[1, 1 << 20, 0]], 0), (found.positions, found.skipped));
    }

    #[test]
    fn rules_of_dashes_are_no_anchors_of_what_stands_beside_them() {
        let texts: Vec<Vec<u8>> = (0..2000_u64)
            .map(|i| {
                let word = format!("{:x}", mixed(i.wrapping_mul(BASE)));
                [word.as_bytes(), &vec![b'-'; 30 + i as usize % 40], word.as_bytes(), b"=-=-=-=-=-=-=-=-=-=-=-=-=-="]
                    .concat()
            })
            .collect();
        let (symbols, positions) = joined(&texts);
        assert_eq!(0, repeats(&symbols, &positions, 30, 1000).expect("room").skipped);
        check(&symbols, &positions, 30);
    }

    #[test]
    fn places_beyond_the_most_are_counted() {
        let texts: Vec<Vec<u8>> =
            (0..30_u8).map(|i| [vec![i; 4], b"the same run in all".to_vec(), vec![i; 4]].concat()).collect();
        let (symbols, positions) = joined(&texts);
        assert_eq!(0, repeats(&symbols, &positions, 24, 1000).expect("room").skipped);
        assert!(repeats(&symbols, &positions, 24, 3).expect("room").skipped > 0);
    }

    #[test]
    fn arguments_are_checked_and_calls_stopped() {
        assert!(matches!(repeats(b"abc", &[[0, 4]], 2, 1), Err(Error::Parameter { name: "texts", .. })));
        assert!(matches!(repeats(b"abc", &[[2, 1]], 2, 1), Err(Error::Parameter { name: "texts", .. })));
        assert!(matches!(repeats(b"abc", &[[0, 3]], 1, 1), Err(Error::Parameter { name: "min_length", .. })));
        let (symbols, positions) = joined(&vec![b"some text that is repeated".to_vec(); 9]);
        at_every_check(&mut (), |()| repeats(&symbols, &positions, 8, 9), |()| ());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn what_is_found_is_what_the_definition_says(
            texts in prop::collection::vec(prop::collection::vec(0_u8..3, 0..60), 0..8), min_symbols in 2_usize..14, turned: bool,
        ) {
            let (symbols, mut positions) = joined(&texts);
            if turned {
                positions.reverse();
            }
            check(&symbols, &positions, min_symbols);
        }

        #[test]
        fn long_texts_of_few_blocks_too(
            blocks in prop::collection::vec(prop::collection::vec(0_u8..4, 1..25), 1..6),
            picks in prop::collection::vec(prop::collection::vec(0_usize..6, 0..20), 1..5), min_symbols in 2_usize..60,
        ) {
            let texts: Vec<Vec<u8>> =
                picks.iter().map(|list| list.iter().flat_map(|&i| blocks[i % blocks.len()].clone()).collect()).collect();
            let (symbols, positions) = joined(&texts);
            check(&symbols, &positions, min_symbols);
        }
    }
}
