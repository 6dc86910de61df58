//! Construction of an index: contents, grams, shared grams, own parts, weights, table.

use crate::parallel::prelude::*;

use super::plain::Plain;
use super::table::GramTable;
use super::words::{self, WordReader};
use super::{
    DIRECTORY, EIGHTH, KAPPA, MAX_ITEMS, MAX_POSITIONS, MU, PRIOR, PRIOR_IDEOGRAPH, ROTATION, SHORT, SuiteIndex,
    TEMPLATE, gram,
};
use crate::alloc::{self, as_bytes};
use crate::cancel::CancelToken;
use crate::hash::xxh3;
use crate::text::tokenizer::{Scratch, TextSource};
use crate::{Error, Result};

/// Items that one task reads.
const CHUNK: usize = 1 << 10;
/// Shared grams of templates of which one is an anchor; a power of two.
const SAMPLE: u64 = 4;
/// Bins of a content's sketch.
const BINS: usize = 16;

/// Hashes and priors of the words of items, and the number of each item's words.
#[derive(Default)]
struct Read {
    words: Vec<u64>,
    priors: Vec<u8>,
    counts: Vec<usize>,
}

/// Words of contents, and the items that have them.
#[derive(Default)]
struct Contents {
    words: Vec<u64>,
    priors: Vec<u8>,
    starts: Vec<u32>,
    of_item: Vec<u32>,
}

impl SuiteIndex {
    /// Build the index of items, read as words or as tokens of source code; suite s has the items
    /// `suites[s]..suites[s + 1]`. Null texts are items without words.
    ///
    /// # Errors
    /// `n` or `window` out of range; suites that don't cover the texts; 2^32 words or more; the call is cancelled, or
    /// memory runs out.
    pub fn build(
        texts: &dyn TextSource,
        suites: &[u64],
        (n, window, code): (usize, usize, bool),
        about: &[u8],
    ) -> Result<Self> {
        check_shape(n, window)?;
        if suites.first() != Some(&0) || suites.last() != Some(&(texts.len() as u64)) || !suites.is_sorted() {
            return Err(Error::parameter(
                "suites",
                suites.len(),
                format!("bounds from 0 to {}, ascending", texts.len()),
            ));
        }
        let cancel = &CancelToken::current();
        let Contents { mut words, priors, starts, of_item } = read_contents(texts, code, cancel)?;
        let of_word = content_of_each_word(&starts, words.len())?;
        let mut grams = all_grams(&words, &of_word, n, cancel)?;
        cancel.sort(&mut grams);
        cancel.check()?;
        let suite_of = suites_of(&of_item, suites, starts.len() - 1)?;
        let distinct = find_distinct(&grams, &of_word, &suite_of, cancel)?;
        let own = find_own(&starts, n, &distinct)?;
        let (first, next) = weights(&words, &priors, &starts, &grams, &own)?;
        cancel.check()?;
        for (word, &own) in words.iter_mut().zip(&own) {
            *word |= u64::from(own);
        }
        let length = |content: u32| starts[content as usize + 1] - starts[content as usize];
        let is_short = |&(_, at): &(u64, u32)| length(of_word[at as usize]) <= SHORT;
        // The first of the contents that share a template stands for all, in one of SAMPLE grams: they are the most
        // frequent ones of documents.
        let anchors = |group: &'_ [(u64, u32)]| {
            let is_template = |&(_, at): &(u64, u32)| !own[at as usize] && !own[at as usize + n - 1];
            if distinct[group[0].1 as usize] {
                return 0..group.len();
            }
            let at = if group[0].0 >> 40 & (SAMPLE - 1) == 0 { group.iter().position(is_template) } else { None };
            at.map_or(0..0, |at| at..at + 1)
        };
        let table = GramTable::new(
            || grams.chunk_by(|a, b| a.0 == b.0).map(|group| &group[anchors(group)]).filter(|group| !group.is_empty()),
            |group| group.iter().any(is_short),
        )?;
        let (owner_starts, owners) = owners(&of_item, starts.len() - 1)?;
        let (text_ends, texts) = copy_texts(texts)?;
        let directory: Vec<u32> = alloc::try_collect(of_word.chunks(DIRECTORY).map(|words| words[0]))?;
        cancel.check()?;
        Ok(Self {
            n,
            window,
            code,
            about: alloc::try_copy(about)?.into(),
            suites: alloc::try_copy(suites)?.into(),
            texts: texts.into(),
            text_ends: text_ends.into(),
            starts: starts.into(),
            directory: directory.into(),
            words: words.into(),
            first: first.into(),
            next: next.into(),
            owners: owners.into(),
            owner_starts: owner_starts.into(),
            contents: of_item.into(),
            table,
            segment: None,
        })
    }
}

/// Check the words of a gram and the grams of a window.
pub(super) fn check_shape(n: usize, window: usize) -> Result<()> {
    if !(2..=16).contains(&n) {
        return Err(Error::parameter("n", n, "2 to 16"));
    }
    if !(1..=64).contains(&window) {
        return Err(Error::parameter("window", window, "1 to 64"));
    }
    Ok(())
}

/// Read the words of all items, and number those with equal words as one content, in the order of the items.
fn read_contents(texts: &dyn TextSource, code: bool, cancel: &CancelToken) -> Result<Contents> {
    let reader = WordReader::new(code)?;
    let read = |scratch: &mut Scratch, chunk: usize| -> Result<Read> {
        let mut read = Read::default();
        for item in chunk * CHUNK..((chunk + 1) * CHUNK).min(texts.len()) {
            cancel.check()?;
            let before = read.words.len();
            let text = texts.get(item).unwrap_or_default();
            reader.each(Plain::read(text)?.text(text), scratch, |word, text, start| {
                alloc::try_reserve(&mut read.words, 1)?;
                alloc::try_reserve(&mut read.priors, 1)?;
                read.words.push(words::hash(word, text, start));
                read.priors.push(prior(word));
                Ok(())
            })?;
            alloc::try_reserve(&mut read.counts, 1)?;
            read.counts.push(read.words.len() - before);
        }
        Ok(read)
    };
    let chunks = (0..texts.len().div_ceil(CHUNK)).into_par_iter();
    let chunks = alloc::try_map_parallel(chunks.map_init(|| Scratch::with_cancel(cancel), read))?;
    let (mut words, mut priors, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for chunk in chunks {
        alloc::try_extend(&mut words, &chunk.words)?;
        alloc::try_extend(&mut priors, &chunk.priors)?;
        alloc::try_extend(&mut counts, &chunk.counts)?;
    }
    let mut item_starts: Vec<usize> = alloc::try_with_capacity(counts.len() + 1)?;
    item_starts.push(0);
    for count in counts {
        item_starts.push(item_starts[item_starts.len() - 1] + count);
    }
    let of = |item: usize| item_starts[item]..item_starts[item + 1];
    let mut hashes: Vec<(u64, u32)> = alloc::try_with_capacity(texts.len())?;
    hashes.extend((0..texts.len()).map(|item| (xxh3::hash(as_bytes(&words[of(item)]), 0), item as u32)));
    cancel.sort(&mut hashes);
    cancel.check()?;
    // The first item with the same words.
    let mut leaders: Vec<u32> = alloc::try_zeroed(texts.len())?;
    for group in hashes.chunk_by(|a, b| a.0 == b.0) {
        let leader = group[0].1;
        for &(_, item) in group {
            leaders[item as usize] = if words[of(item as usize)] == words[of(leader as usize)] { leader } else { item };
        }
    }
    let mut contents = Contents { of_item: alloc::try_zeroed(texts.len())?, ..Contents::default() };
    contents.starts = alloc::try_with_capacity(texts.len() + 1)?;
    contents.starts.push(0);
    for item in 0..texts.len() {
        let leader = leaders[item] as usize;
        if leader != item {
            contents.of_item[item] = contents.of_item[leader];
            continue;
        }
        contents.of_item[item] = contents.starts.len() as u32 - 1;
        alloc::try_extend(&mut contents.words, &words[of(item)])?;
        alloc::try_extend(&mut contents.priors, &priors[of(item)])?;
        let end = u32::try_from(contents.words.len())
            .map_err(|_| Error::parameter("items", format!("{} words", contents.words.len()), "fewer than 2^32"))?;
        contents.starts.push(end);
    }
    Ok(contents)
}

/// Return the prior of a word in bits.
fn prior(word: &[u8]) -> u8 {
    let characters = word.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    if characters == 1 && word.len() >= 3 { PRIOR_IDEOGRAPH } else { PRIOR[characters.min(PRIOR.len() - 1)] }
}

fn content_of_each_word(starts: &[u32], words: usize) -> Result<Vec<u32>> {
    let mut of_word = alloc::try_with_capacity(words)?;
    for (content, range) in (0..).zip(starts.windows(2)) {
        of_word.extend(std::iter::repeat_n(content, (range[1] - range[0]) as usize));
    }
    Ok(of_word)
}

/// Return the hash and the first word of each gram within a content.
fn all_grams(words: &[u64], of_word: &[u32], n: usize, cancel: &CancelToken) -> Result<Vec<(u64, u32)>> {
    let mut grams = alloc::try_with_capacity(words.len())?;
    for range in cancel.ranges(0..(words.len() + 1).saturating_sub(n)) {
        for at in range {
            if of_word[at] == of_word[at + n - 1] {
                grams.push((gram(&words[at..at + n]), at as u32));
            }
        }
    }
    cancel.check()?;
    Ok(grams)
}

/// Smallest hash of each bin of a content's grams.
type Sketch = [u32; BINS];

/// Return the suite of each content, by its first item.
fn suites_of(of_item: &[u32], suites: &[u64], contents: usize) -> Result<Vec<u32>> {
    let mut result = alloc::try_with_capacity(contents)?;
    for (suite, bounds) in (0..).zip(suites.windows(2)) {
        for &content in &of_item[bounds[0] as usize..bounds[1] as usize] {
            if content as usize == result.len() {
                result.push(suite);
            }
        }
    }
    Ok(result)
}

/// Return for each word whether the gram that begins with it is in a content, and not shared.
fn find_distinct(grams: &[(u64, u32)], of_word: &[u32], suite_of: &[u32], cancel: &CancelToken) -> Result<Vec<bool>> {
    let groups = || grams.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() <= MAX_POSITIONS);
    let suite_at = |&(_, at): &(u64, u32)| suite_of[of_word[at as usize] as usize];
    let mut sketches: Vec<Sketch> = alloc::try_filled([u32::MAX; BINS], suite_of.len())?;
    for group in groups() {
        let (bin, value) = ((group[0].0 >> 60) as usize, (group[0].0 >> 28) as u32);
        for gram in group {
            let is_many =
                || group.iter().filter(|other| suite_at(other) == suite_at(gram)).nth(MAX_ITEMS - 1).is_some();
            if group.len() < MAX_ITEMS || !is_many() {
                let smallest = &mut sketches[of_word[gram.1 as usize] as usize][bin];
                *smallest = value.min(*smallest);
            }
        }
    }
    cancel.check()?;
    let mut result = alloc::try_filled(false, of_word.len())?;
    let mut counted: Vec<u32> = Vec::with_capacity(MAX_ITEMS);
    for group in groups() {
        counted.clear();
        for gram in group {
            let content = of_word[gram.1 as usize];
            let (suite, sketch) = (suite_of[content as usize], &sketches[content as usize]);
            let is_copy = |&other: &u32| {
                let other = other as usize;
                other == content as usize || suite_of[other] != suite && are_similar(sketch, &sketches[other])
            };
            if !counted.iter().any(is_copy) {
                counted.push(content);
                if counted.len() == MAX_ITEMS {
                    break;
                }
            }
        }
        if counted.len() < MAX_ITEMS {
            for &(_, at) in group {
                result[at as usize] = true;
            }
        }
    }
    Ok(result)
}

/// Return for each word whether it is of the own part of its content; contents without a gram have none.
fn find_own(starts: &[u32], n: usize, distinct: &[bool]) -> Result<Vec<bool>> {
    let mut own = alloc::try_filled(true, distinct.len())?;
    for range in starts.windows(2) {
        let (start, end) = (range[0] as usize, range[1] as usize);
        if end - start < n {
            own[start..end].fill(false);
            continue;
        }
        let mut at = start;
        for run in distinct[start..=end - n].chunk_by(|a, b| a == b) {
            if !run[0] && run.len() + n > TEMPLATE {
                own[at..at + run.len() + n - 1].fill(false);
            }
            at += run.len();
        }
    }
    Ok(own)
}

/// True if the estimated Jaccard similarity is at least one half.
fn are_similar(a: &Sketch, b: &Sketch) -> bool {
    let (mut equal, mut either) = (0, 0);
    for (a, b) in a.iter().zip(b) {
        let any = *a != u32::MAX || *b != u32::MAX;
        either += usize::from(any);
        equal += usize::from(any && a == b);
    }
    2 * equal >= either
}

/// Counts by hash; hashes of one slot are counted together, which makes them look more frequent.
struct Counts {
    slots: Vec<u32>,
}

impl Counts {
    fn new(count: usize) -> Result<Self> {
        Ok(Self { slots: alloc::try_zeroed((2 * count).next_power_of_two())? })
    }

    fn slot(&self, hash: u64) -> usize {
        hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 20 & (self.slots.len() - 1)
    }

    fn add(&mut self, hash: u64) {
        let slot = self.slot(hash);
        self.slots[slot] = self.slots[slot].saturating_add(1);
    }

    /// Return the count without the occurrence that asks.
    fn others(&self, hash: u64) -> f64 {
        f64::from(self.slots[self.slot(hash)].saturating_sub(1))
    }
}

/// Return the weight of each own word, and of it after the previous word, in eighths of a bit: see the header.
fn weights(
    words: &[u64],
    priors: &[u8],
    starts: &[u32],
    grams: &[(u64, u32)],
    own: &[bool],
) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut single, mut pairs) = (Counts::new(words.len())?, Counts::new(words.len())?);
    let pair = |at: usize| words[at].rotate_left(ROTATION) ^ words[at + 1];
    let mut total = 0.0;
    for group in grams.chunk_by(|a, b| a.0 == b.0) {
        let at = group[0].1 as usize;
        single.add(words[at]);
        pairs.add(pair(at));
        total += 1.0;
    }
    let probability = |at: usize| (single.others(words[at]) + MU * libm::exp2(-f64::from(priors[at]))) / (total + MU);
    let eighths = |probability: f64| (-EIGHTH * libm::log2(probability)).clamp(1.0, 255.0) as u8;
    let (mut first, mut next) = (alloc::try_zeroed(words.len())?, alloc::try_zeroed(words.len())?);
    for range in starts.windows(2) {
        for at in (range[0] as usize..range[1] as usize).filter(|&at| own[at]) {
            let alone = probability(at);
            first[at] = eighths(alone);
            next[at] = first[at];
            if at > range[0] as usize {
                let before = single.others(words[at - 1]);
                let together = pairs.others(pair(at - 1)).min(before);
                next[at] = first[at].min(eighths((together + KAPPA * alone) / (before + KAPPA)));
            }
        }
    }
    Ok((first, next))
}

/// Return the items of each content, and the starts of their lists.
fn owners(of_item: &[u32], contents: usize) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut starts: Vec<u32> = alloc::try_zeroed(contents + 1)?;
    for &content in of_item {
        starts[content as usize + 1] += 1;
    }
    alloc::prefix_sums(&mut starts);
    let (mut next, mut owners) = (alloc::try_copy(&starts)?, alloc::try_zeroed(of_item.len())?);
    for (item, &content) in (0..).zip(of_item) {
        owners[next[content as usize] as usize] = item;
        next[content as usize] += 1;
    }
    Ok((starts, owners))
}

fn copy_texts(texts: &dyn TextSource) -> Result<(Vec<u64>, Vec<u8>)> {
    let (mut ends, mut bytes) = (alloc::try_with_capacity(texts.len() + 1)?, Vec::new());
    ends.push(0);
    for item in 0..texts.len() {
        alloc::try_extend(&mut bytes, texts.get(item).unwrap_or_default().as_bytes())?;
        ends.push(bytes.len() as u64);
    }
    Ok((ends, bytes))
}
