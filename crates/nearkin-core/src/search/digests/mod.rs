//! An exact index of digests: everything that scores above 0, and no comparison with the rest.
//!
//! A score above 0 needs seven successive characters that two parts of one block size share (or equal digests). So the
//! postings are
//!
//! ```text
//! key(B, g)  -> slot      for each 7-gram g of part 1;      key(2B, g) -> slot      for each of part 2
//! key(whole) -> slot      for digests without a 7-gram, which match nothing but themselves
//! ```
//!
//! Keys are 32-bit hashes: two that collide only add a candidate, and every candidate is compared in full. Recall and
//! precision are therefore 1 at every threshold from 1 to 100.
//!
//! # Layout and cost
//!
//! A posting is one u64, key above slot. Postings lie in sorted *runs*; a batch of additions is a new run, and runs of
//! similar length merge, so there are at most log2(n) of them and each posting is moved log2(n) times. A directory over
//! the key's leading bits finds a key in one step. About 80 postings per digest: 650 bytes, with a digest of 144. A
//! removed slot is a cleared bit; its postings go when they are half of all.
//!
//! A *hub* is a key that very many digests share (common headers, padding). Hubs make searching long, and are reported
//! on request ([`Index::hubs`]); they are skipped only if [`Limit::skip_hubs`] asks for it, and the result then counts
//! what was skipped.

pub mod file;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::ssdeep::compare::Query;
use crate::ssdeep::parse::Digest;
use crate::ssdeep::{GRAM, compare};

/// What counts as found.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Smallest score that counts, 1 to 100.
    pub threshold: u32,
    /// Keys with more postings than this are not followed; None follows all and is exact.
    pub skip_hubs: Option<usize>,
}

impl Limit {
    /// All scores of at least `threshold`, exactly.
    ///
    /// # Errors
    /// If `threshold` is not from 1 to 100.
    pub fn exact(threshold: u32) -> Result<Self> {
        Self { threshold, skip_hubs: None }.checked()
    }

    /// This, if its values are in range.
    ///
    /// # Errors
    /// If `threshold` is not from 1 to 100.
    pub fn checked(self) -> Result<Self> {
        if !(1..=100).contains(&self.threshold) {
            return Err(Error::parameter(
                "threshold",
                self.threshold,
                "1 to 100, inclusive: digests that share nothing score 0",
            ));
        }
        Ok(self)
    }
}

/// A found digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its number, in order of addition.
    pub slot: u32,
    /// Its score, 1 to 100.
    pub score: u8,
}

/// Two digests of the index that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The earlier slot.
    pub left: u32,
    /// The later slot.
    pub right: u32,
    /// Their score, 1 to 100.
    pub score: u8,
}

/// A key with many postings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Block size of the part that holds the characters.
    pub block_size: u64,
    /// The seven characters.
    pub gram: [u8; GRAM],
    /// Digests that hold them at this block size.
    pub count: usize,
}

/// How clusters are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Chains of matches: members need not match each other.
    Connected,
    /// Each member matches the first one, which is its cluster's earliest slot; no two first ones match.
    Centred,
}

/// The index.
#[derive(Clone, Debug, Default)]
pub struct Index {
    digests: Vec<Digest>,
    /// Bit `slot % 64` of word `slot / 64`: not removed.
    alive: Vec<u64>,
    live: usize,
    /// Removed slots whose postings are still in the runs.
    stale: usize,
    /// From long to short.
    runs: Vec<Run>,
}

impl Index {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// An index of these slots; None stands for a removed one.
    ///
    /// # Errors
    /// If there are more than 2^32 - 1 slots.
    pub(super) fn from_slots(slots: &[Option<Digest>]) -> Result<Self> {
        let mut index = Self::new();
        for group in slots.chunk_by(|a, b| a.is_some() == b.is_some()) {
            let present: Vec<Digest> = group.iter().flatten().copied().collect();
            if present.is_empty() {
                // A removed slot is never read: an empty digest holds its place, without postings.
                let empty = Digest::default();
                index.digests.resize(index.digests.len() + group.len(), empty);
                index.alive.resize(index.digests.len().div_ceil(64), 0);
            } else {
                index.add(&present)?;
            }
        }
        Ok(index)
    }

    /// Number of digests that are not removed.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether no digest is left.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Number of slots ever given; slots are never given twice.
    pub fn slots(&self) -> usize {
        self.digests.len()
    }

    /// The digest of a slot, if it is not removed.
    pub fn get(&self, slot: u32) -> Option<&Digest> {
        self.is_alive(slot).then(|| &self.digests[slot as usize])
    }

    /// Number of postings, those of removed digests included.
    pub fn postings(&self) -> usize {
        self.runs.iter().map(|run| run.postings.len()).sum()
    }

    /// Bytes of digests, postings and directories.
    pub fn bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(|run| 8 * (run.postings.capacity() + run.starts.capacity())).sum();
        runs + self.digests.capacity() * size_of::<Digest>() + 8 * self.alive.capacity()
    }

    #[inline]
    fn is_alive(&self, slot: u32) -> bool {
        self.alive.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// Adds digests; they get the next slots, in order. Returns the first one.
    ///
    /// # Errors
    /// If the index would exceed 2^32 - 1 slots.
    pub fn add(&mut self, digests: &[Digest]) -> Result<u32> {
        let first = self.digests.len();
        let end = first + digests.len();
        if end > u32::MAX as usize {
            return Err(Error::parameter("digests", end, "at most 4294967295 digests in one index"));
        }
        self.digests.extend_from_slice(digests);
        self.alive.resize(end.div_ceil(64), 0);
        for slot in first..end {
            self.alive[slot / 64] |= 1 << (slot % 64);
        }
        self.live += digests.len();
        let mut postings: Vec<u64> = digests
            .par_iter()
            .with_min_len(256)
            .enumerate()
            .flat_map_iter(|(i, digest)| {
                let slot = (first + i) as u64;
                keys(digest).map(move |key| u64::from(key) << 32 | slot)
            })
            .collect();
        if postings.is_empty() {
            return Ok(first as u32);
        }
        sort(&mut postings);
        postings.dedup();
        // Merge while the last run is not shorter than half of the one before.
        while self.runs.last().is_some_and(|run| run.postings.len() < 2 * postings.len()) {
            if let Some(run) = self.runs.pop() {
                postings = merge(&run.postings, &postings);
            }
        }
        self.runs.push(Run::new(postings));
        Ok(first as u32)
    }

    /// Removes a slot. Returns whether it was there.
    pub fn remove(&mut self, slot: u32) -> bool {
        if !self.is_alive(slot) {
            return false;
        }
        self.alive[slot as usize / 64] &= !(1 << (slot % 64));
        self.live -= 1;
        self.stale += 1;
        if self.stale > self.live {
            let runs = std::mem::take(&mut self.runs);
            for run in runs {
                let mut postings = run.postings;
                postings.retain(|&posting| self.is_alive(posting as u32));
                if !postings.is_empty() {
                    self.runs.push(Run::new(postings));
                }
            }
            self.stale = 0;
        }
        true
    }

    /// What scores at least `limit.threshold` with `query`: highest score first, ties by slot; and how many keys were
    /// skipped.
    pub fn search(&self, query: &Digest, limit: Limit, scratch: &mut Scratch) -> (Vec<Hit>, usize) {
        let prepared = Query::new(query);
        let skipped = self.candidates(query, 0, limit.skip_hubs, scratch);
        let scores = prepared.scores(scratch.found.iter().map(|&slot| &self.digests[slot as usize]));
        let mut hits: Vec<Hit> = scratch
            .found
            .iter()
            .zip(scores)
            .map(|(&slot, score)| Hit { slot, score })
            .filter(|hit| u32::from(hit.score) >= limit.threshold)
            .collect();
        hits.sort_unstable_by_key(|hit| (std::cmp::Reverse(hit.score), hit.slot));
        (hits, skipped)
    }

    /// Searches for each of `queries`, in parallel.
    pub fn search_many(&self, queries: &[Digest], limit: Limit) -> Vec<(Vec<Hit>, usize)> {
        queries
            .par_iter()
            .with_min_len(16)
            .map_init(Scratch::default, |scratch, query| self.search(query, limit, scratch))
            .collect()
    }

    /// Collects in `scratch.found` the live slots from `from` on that share a key with `digest`, each once.
    fn candidates(&self, digest: &Digest, from: u32, skip_hubs: Option<usize>, scratch: &mut Scratch) -> usize {
        scratch.begin(self.digests.len());
        let mut skipped = 0;
        for key in keys(digest) {
            if let Some(most) = skip_hubs
                && self.runs.iter().map(|run| run.of_key(key, 0).len()).sum::<usize>() > most
            {
                skipped += 1;
                continue;
            }
            for run in &self.runs {
                for &posting in run.of_key(key, from) {
                    let slot = posting as u32;
                    if scratch.is_new(slot) && self.is_alive(slot) {
                        scratch.found.push(slot);
                    }
                }
            }
        }
        skipped
    }

    /// All pairs of live digests that score at least `limit.threshold`, each once, sorted; and how often a key was
    /// skipped.
    pub fn pairs(&self, limit: Limit) -> (Vec<Pair>, usize) {
        let found: Vec<(Vec<Pair>, usize)> = (0..self.digests.len() as u32)
            .into_par_iter()
            .with_min_len(64)
            .map_init(Scratch::default, |scratch, left| self.pairs_of(left, limit, scratch))
            .collect();
        let skipped = found.iter().map(|(_, skipped)| skipped).sum();
        (found.into_iter().flat_map(|(pairs, _)| pairs).collect(), skipped)
    }

    fn pairs_of(&self, left: u32, limit: Limit, scratch: &mut Scratch) -> (Vec<Pair>, usize) {
        let Some(digest) = self.get(left) else { return (Vec::new(), 0) };
        let skipped = self.candidates(digest, left + 1, limit.skip_hubs, scratch);
        if scratch.found.is_empty() {
            return (Vec::new(), skipped);
        }
        let query = Query::new(digest);
        let scores = query.scores(scratch.found.iter().map(|&slot| &self.digests[slot as usize]));
        let mut pairs: Vec<Pair> = scratch
            .found
            .iter()
            .zip(scores)
            .map(|(&right, score)| Pair { left, right, score })
            .filter(|pair| u32::from(pair.score) >= limit.threshold)
            .collect();
        pairs.sort_unstable();
        (pairs, skipped)
    }

    /// For each slot, the first slot of its cluster (itself if it is alone or removed); and how often a key was
    /// skipped.
    pub fn clusters(&self, limit: Limit, linkage: Linkage) -> (Vec<u32>, usize) {
        match linkage {
            Linkage::Connected => self.connected(limit),
            Linkage::Centred => self.centred(limit),
        }
    }

    fn connected(&self, limit: Limit) -> (Vec<u32>, usize) {
        let mut roots: Vec<u32> = (0..self.digests.len() as u32).collect();
        let (mut scratch, mut skipped) = (Scratch::default(), 0);
        for left in 0..self.digests.len() as u32 {
            let Some(digest) = self.get(left) else { continue };
            skipped += self.candidates(digest, left + 1, limit.skip_hubs, &mut scratch);
            let mut query = None;
            for &right in &scratch.found {
                let (a, b) = (root(&mut roots, left), root(&mut roots, right));
                // What is already connected needs no comparison.
                if a != b {
                    let query = query.get_or_insert_with(|| Query::new(digest));
                    if query.score(&self.digests[right as usize]) >= limit.threshold {
                        roots[a.max(b) as usize] = a.min(b);
                    }
                }
            }
        }
        for slot in 0..roots.len() as u32 {
            roots[slot as usize] = root(&mut roots, slot);
        }
        (roots, skipped)
    }

    fn centred(&self, limit: Limit) -> (Vec<u32>, usize) {
        let none = u32::MAX;
        let mut centres = vec![none; self.digests.len()];
        let (mut scratch, mut skipped) = (Scratch::default(), 0);
        for left in 0..self.digests.len() as u32 {
            if centres[left as usize] != none {
                continue;
            }
            centres[left as usize] = left;
            let Some(digest) = self.get(left) else { continue };
            skipped += self.candidates(digest, left + 1, limit.skip_hubs, &mut scratch);
            let query = Query::new(digest);
            for &right in &scratch.found {
                if centres[right as usize] == none && query.score(&self.digests[right as usize]) >= limit.threshold {
                    centres[right as usize] = left;
                }
            }
        }
        (centres, skipped)
    }

    /// The 7-grams that at least `least` live digests hold, most frequent first, at most `most` of them.
    pub fn hubs(&self, least: usize, most: usize) -> Vec<Hub> {
        let mut counts: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
        for run in &self.runs {
            for group in run.postings.chunk_by(|a, b| a >> 32 == b >> 32) {
                let live = group.iter().filter(|&&posting| self.is_alive(posting as u32)).count();
                *counts.entry((group[0] >> 32) as u32).or_default() += live;
            }
        }
        let keys: Vec<u32> = counts.into_iter().filter(|&(_, count)| count >= least).map(|(key, _)| key).collect();
        let mut hubs: Vec<Hub> =
            keys.into_iter().flat_map(|key| self.grams_of(key)).filter(|hub| hub.count >= least).collect();
        hubs.sort_unstable_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| (a.block_size, a.gram).cmp(&(b.block_size, b.gram)))
        });
        hubs.truncate(most);
        hubs
    }

    /// The grams behind a key (more than one if they collide) and how many live digests hold each.
    fn grams_of(&self, key: u32) -> Vec<Hub> {
        let mut hubs: Vec<Hub> = Vec::new();
        for posting in self.runs.iter().flat_map(|run| run.of_key(key, 0)) {
            let Some(digest) = self.get(*posting as u32) else { continue };
            let mut own: Vec<(u64, [u8; GRAM])> =
                grams(digest).filter(|&(size, gram)| key_of(size, gram) == key).collect();
            own.sort_unstable();
            own.dedup();
            for (block_size, gram) in own {
                match hubs.iter_mut().find(|hub| hub.block_size == block_size && hub.gram == gram) {
                    Some(hub) => hub.count += 1,
                    None => hubs.push(Hub { block_size, gram, count: 1 }),
                }
            }
        }
        hubs
    }
}

/// The smallest slot that `slot` is connected with; paths are halved on the way.
fn root(roots: &mut [u32], mut slot: u32) -> u32 {
    while roots[slot as usize] != slot {
        roots[slot as usize] = roots[roots[slot as usize] as usize];
        slot = roots[slot as usize];
    }
    slot
}

/// Which slots a search has met; kept from one search to the next.
#[derive(Default)]
pub struct Scratch {
    seen: Vec<u64>,
    touched: Vec<u32>,
    found: Vec<u32>,
}

impl Scratch {
    fn begin(&mut self, slots: usize) {
        for word in self.touched.drain(..) {
            self.seen[word as usize] = 0;
        }
        self.found.clear();
        let words = slots.div_ceil(64);
        if self.seen.len() < words {
            self.seen = vec![0; words];
        }
    }

    #[inline]
    fn is_new(&mut self, slot: u32) -> bool {
        let word = &mut self.seen[slot as usize / 64];
        let bit = 1 << (slot % 64);
        if *word & bit != 0 {
            return false;
        }
        if *word == 0 {
            self.touched.push(slot / 64);
        }
        *word |= bit;
        true
    }
}

/// Sorted postings, and where each prefix of the key begins.
#[derive(Clone, Debug)]
struct Run {
    postings: Vec<u64>,
    starts: Vec<usize>,
    shift: u32,
}

impl Run {
    fn new(postings: Vec<u64>) -> Self {
        // About eight postings a prefix: one byte of directory each.
        let bits = (postings.len() / 8).max(2).ilog2().min(31);
        let shift = 64 - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        for posting in &postings {
            starts[(posting >> shift) as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        Self { postings, starts, shift }
    }

    /// Postings of `key` with slots from `from` on.
    #[inline]
    fn of_key(&self, key: u32, from: u32) -> &[u64] {
        let first = u64::from(key) << 32 | u64::from(from);
        let prefix = (first >> self.shift) as usize;
        let range = &self.postings[self.starts[prefix]..self.starts[prefix + 1]];
        let start = if range.len() <= 16 {
            range.iter().take_while(|&&posting| posting < first).count()
        } else {
            range.partition_point(|&posting| posting < first)
        };
        let rest = &range[start..];
        let of_key = |posting: u64| (posting >> 32) as u32 == key;
        if rest.last().is_none_or(|&last| of_key(last)) {
            return rest;
        }
        let length = if rest.len() <= 16 {
            rest.iter().take_while(|&&posting| of_key(posting)).count()
        } else {
            rest.partition_point(|&posting| of_key(posting))
        };
        &rest[..length]
    }
}

fn sort(postings: &mut [u64]) {
    if postings.len() < 1 << 14 { postings.sort_unstable() } else { postings.par_sort_unstable() }
}

fn merge(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let left = a[i] <= b[j];
        merged.push(if left { a[i] } else { b[j] });
        i += usize::from(left);
        j += usize::from(!left);
    }
    merged.extend_from_slice(&a[i..]);
    merged.extend_from_slice(&b[j..]);
    merged
}

/// The 7-grams of both parts with the block size of their part.
fn grams(digest: &Digest) -> impl Iterator<Item = (u64, [u8; GRAM])> + '_ {
    let of_part = |part: &'_ crate::ssdeep::parse::Part, size: u64| {
        let bytes = *part;
        (GRAM..=part.as_bytes().len()).map(move |end| {
            let mut gram = [0; GRAM];
            gram.copy_from_slice(&bytes.as_bytes()[end - GRAM..end]);
            (size, gram)
        })
    };
    of_part(&digest.part1, digest.block_size).chain(of_part(&digest.part2, digest.block_size.wrapping_mul(2)))
}

#[inline]
fn key_of(block_size: u64, gram: [u8; GRAM]) -> u32 {
    let mut word = [0; 8];
    word[..GRAM].copy_from_slice(&gram);
    mix(u64::from_le_bytes(word) ^ block_size.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Two rounds of multiply and fold (the finisher of splitmix64), upper half.
#[inline]
fn mix(mut x: u64) -> u32 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 32) as u32
}

/// The keys of one digest, sorted, each once.
fn keys(digest: &Digest) -> impl Iterator<Item = u32> {
    let mut keys = [0; 2 * crate::ssdeep::MAX_PART];
    let mut length = 0;
    for (size, gram) in grams(digest) {
        keys[length] = key_of(size, gram);
        length += 1;
    }
    if length == 0 {
        let whole = digest.to_text().iter().fold(1u64, |h, &c| (h ^ u64::from(c)).wrapping_mul(0x100_0000_01b3));
        keys[0] = mix(whole);
        length = 1;
    }
    keys[..length].sort_unstable();
    let mut last = None;
    keys.into_iter().take(length).filter(move |&key| last.replace(key) != Some(key))
}

/// All pairs by comparing each with each: what [`Index::pairs`] must equal.
pub fn brute_force_pairs(digests: &[Digest], threshold: u32) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (i, left) in digests.iter().enumerate() {
        for (j, right) in digests.iter().enumerate().skip(i + 1) {
            let score = compare::compare(left, right);
            if score >= threshold {
                pairs.push(Pair { left: i as u32, right: j as u32, score: score as u8 });
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Few block sizes and mutated copies, so that many pairs match.
    fn corpus() -> impl Strategy<Value = Vec<Digest>> {
        let part = || prop_oneof!["[A-D]{0,12}", "[a-f]{20,64}", "(abcdefg|hijklmn|opqrstu){1,6}", "a{0,20}"];
        prop::collection::vec((0u32..4, part(), part()), 0..60).prop_map(|parts| {
            parts
                .into_iter()
                .map(|(level, a, b)| Digest::parse(format!("{}:{a}:{b}", 3 << level).as_bytes()).unwrap())
                .collect()
        })
    }

    fn filled(digests: &[Digest], batch: usize) -> Index {
        let mut index = Index::new();
        for digests in digests.chunks(batch) {
            index.add(digests).unwrap();
        }
        index
    }

    proptest! {
        #[test]
        fn all_pairs_equal_brute_force(digests in corpus(), batch in 1usize..70, threshold in 1u32..=100) {
            let (pairs, skipped) = filled(&digests, batch).pairs(Limit::exact(threshold).unwrap());
            prop_assert_eq!(brute_force_pairs(&digests, threshold), pairs);
            prop_assert_eq!(0, skipped);
        }

        #[test]
        fn a_search_equals_brute_force_after_removals(digests in corpus(), batch in 1usize..9, gone in prop::collection::vec(any::<bool>(), 60)) {
            let mut index = filled(&digests, batch);
            for (slot, _) in digests.iter().enumerate().filter(|&(slot, _)| gone[slot]) {
                prop_assert!(index.remove(slot as u32));
                prop_assert!(!index.remove(slot as u32));
            }
            let left: Vec<usize> = (0..digests.len()).filter(|&slot| !gone[slot]).collect();
            prop_assert_eq!(left.len(), index.len());
            let found = index.search_many(&digests, Limit::exact(1).unwrap());
            for (query, (hits, _)) in digests.iter().zip(found) {
                let mut expected: Vec<Hit> = left
                    .iter()
                    .map(|&slot| Hit { slot: slot as u32, score: compare::compare(query, &digests[slot]) as u8 })
                    .filter(|hit| hit.score > 0)
                    .collect();
                expected.sort_by_key(|hit| (std::cmp::Reverse(hit.score), hit.slot));
                prop_assert_eq!(expected, hits);
            }
        }

        #[test]
        fn connected_clusters_are_the_components_of_the_pairs(digests in corpus(), threshold in 1u32..=100) {
            let (found, _) = filled(&digests, 7).clusters(Limit::exact(threshold).unwrap(), Linkage::Connected);
            let mut expected: Vec<u32> = (0..digests.len() as u32).collect();
            for pair in brute_force_pairs(&digests, threshold) {
                let (a, b) = (expected[pair.left as usize], expected[pair.right as usize]);
                for label in &mut expected {
                    if *label == a.max(b) {
                        *label = a.min(b);
                    }
                }
            }
            prop_assert_eq!(expected, found);
        }

        #[test]
        fn centred_clusters_match_their_centre_and_no_two_centres_match(digests in corpus(), threshold in 1u32..=100) {
            let (centres, _) = filled(&digests, 7).clusters(Limit::exact(threshold).unwrap(), Linkage::Centred);
            let is_centre = |slot: usize| centres[slot] as usize == slot;
            for slot in 0..digests.len() {
                let centre = centres[slot] as usize;
                prop_assert!(is_centre(centre));
                prop_assert!(slot == centre || compare::compare(&digests[slot], &digests[centre]) >= threshold);
                for other in 0..slot {
                    prop_assert!(!(is_centre(slot) && is_centre(other)) || compare::compare(&digests[slot], &digests[other]) < threshold);
                }
            }
        }

        #[test]
        fn hubs_are_counted_exactly(digests in corpus()) {
            let mut expected: std::collections::HashMap<(u64, [u8; GRAM]), usize> = std::collections::HashMap::new();
            for digest in &digests {
                let mut own: Vec<_> = grams(digest).collect();
                own.sort_unstable();
                own.dedup();
                for gram in own {
                    *expected.entry(gram).or_default() += 1;
                }
            }
            let hubs = filled(&digests, 5).hubs(2, usize::MAX);
            prop_assert_eq!(expected.values().filter(|&&count| count >= 2).count(), hubs.len());
            for hub in hubs {
                prop_assert_eq!(expected[&(hub.block_size, hub.gram)], hub.count);
            }
        }
    }

    #[test]
    fn skipped_hubs_are_counted() {
        let digests: Vec<Digest> = (0..20)
            .map(|i| Digest::parse(format!("96:abcdefg{}:", char::from(b'A' + i)).as_bytes()).unwrap())
            .collect();
        let index = filled(&digests, 20);
        let limit = Limit { threshold: 1, skip_hubs: Some(19) };
        let (hits, skipped) = index.search(&digests[0], limit, &mut Scratch::default());
        assert_eq!((1, 1), (hits.len(), skipped));
        let (hits, skipped) =
            index.search(&digests[0], Limit { threshold: 1, skip_hubs: Some(20) }, &mut Scratch::default());
        assert_eq!((20, 0), (hits.len(), skipped));
    }
}
