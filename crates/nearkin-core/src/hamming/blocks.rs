//! Block tables: the pigeonhole, with a small radius in every block.
//!
//! Cut the bits into m blocks and give block i a radius `r_i >= -1` with `sum of (r_i + 1) = radius + 1`. If a and b
//! differ in at most `radius` bits, some block i has `d_i(a, b) <= r_i`: otherwise every block differs in at least
//! `r_i + 1` bits, in all radius + 1 (`r_i = -1` leaves the block out). With m = radius + 1 and all `r_i = 0` this is the
//! plain pigeonhole of k + 1 blocks; with fewer blocks it is multi-index hashing. The same holds for any part of a block,
//! so a table is keyed by the highest p <= 26 bits of its block, where p is about log2 of the slots and a directory of
//! 2^p + 1 starts is worth its memory. The run itself is in numeric order, so it is the table of the highest block and
//! takes no memory but its directory.
//!
//! A query looks into the buckets of all keys within `r_i` of its own, `sum over j <= r_i of C(p, j)` of them, and counts
//! every entry in full. Random data put n / 2^p entries in a bucket. An entry that several tables propose is reported by
//! the first alone: by the table i for which no earlier table j has `d_j <= r_j`.
//!
//! Cost of a query: `sum of probes_i * (PROBE + ENTRY * n / 2^p)` ([`Spec::plan`] spreads the radius over the blocks by
//! least marginal cost, which is optimal as the marginal cost of a block grows with its radius). Memory: for each table
//! but the run itself, 4 bytes a slot, and 8 * words more where words <= 4 (entries beside each other in memory instead of a
//! look-up each); for every table 2^p * 4 bytes of directory.
//!
//! **Combinations** (Manku et al.): cut the bits into m > radius blocks; at least m - radius of them agree, so one table for
//! every choice of m - radius blocks, keyed by all their bits, finds all by equality: `C(m, radius)` tables of fewer
//! candidates. Their keys are cut to about log2 n bits as well, evenly over the chosen blocks: a directory of that many
//! starts does in one read what interpolation search does in O(log log n).
//!
//! **All pairs** are found inside the tables: for every bucket and every key within `r_i` of its key, the entries of
//! both are compared, each pair of buckets once, in the order of memory.
//!
//! **Skew.** Expected entries of a bucket are those met by an entry drawn from the data: `sum of c^2 / n` over buckets of c
//! entries once a table is built, and the share of equal keys in a sample before. A block of constant bits is left out
//! (`r_i = -1`) by its cost.
//!
//! Memory latency is hidden: probes are gathered, their directory entries prefetched, then their buckets, then they are
//! counted, a vector of whole fingerprints at a time.
//!
//! Sources: G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3;
//! M. Norouzi, A. Punjani, D. J. Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012, section 2.
//! Unlike Norouzi's, the radii of the blocks are chosen by cost and need not be equal.

#![allow(clippy::inline_always, reason = "lanes are inlined into the functions that enable their instructions")]

use super::file::{Reader, TABLE};
use super::scan::Sink;
use crate::Result;
use crate::popcount::{Kernel, Lanes, ScalarLanes, distance};
use crate::segment::{Column, Segment, Writer};

/// Widest key: a directory of 2^26 starts takes 256 MiB.
const MAX_KEY_BITS: u32 = 26;
/// Words up to which a table keeps its own copies of the fingerprints.
const COPIED_WORDS: usize = 4;
/// Probes that are prefetched together.
const PROBES: usize = 64;
/// Cache lines of a bucket that are prefetched; the hardware follows from there.
const LINES: usize = 24;
/// Nanoseconds to count one word of a bucket's entry (fitted to timings on an AVX-512 machine).
const ENTRY: f64 = 0.7;
/// Nanoseconds to count one entry by its slot number (measured likewise).
const FAR_ENTRY: f64 = 12.0;

/// Nanoseconds to take up one bucket in a join, whose order is that of memory.
const JOIN_PROBE: f64 = 6.0;
/// Nanoseconds to count one word of an entry in a join: buckets stay in the first-level cache.
const JOIN_ENTRY: f64 = 0.1;

/// Nanoseconds to look into one bucket of tables that take `bytes` in all: 15 where they stay in the second-level cache, up
/// to 60 where each look goes to memory (measured likewise).
fn probe_cost(bytes: usize) -> f64 {
    (30.0 + 7.5 * (bytes as f64 / 50e6).log2()).clamp(15.0, 60.0)
}

/// Bits `start..start + len` of a fingerprint, at most 26 of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Piece {
    start: u32,
    len: u32,
}

impl Piece {
    /// The highest `len` bits before bit `end`.
    fn ending(end: usize, len: u32) -> Self {
        Self { start: end as u32 - len, len }
    }

    /// The bits as a number.
    #[inline(always)]
    fn value(self, fp: &[u64]) -> u32 {
        let (word, shift) = ((self.start / 64) as usize, self.start % 64);
        let mut value = fp[word] >> shift;
        if shift + self.len > 64 {
            value |= fp[word + 1] << (64 - shift);
        }
        (value & ((1 << self.len) - 1)) as u32
    }
}

/// Most blocks whose bits make one key.
const MAX_PIECES: usize = 4;

/// What a table is keyed by: one piece, or several one after another, at most 26 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    pieces: [Piece; MAX_PIECES],
    count: usize,
    len: u32,
}

impl Key {
    fn new(pieces: &[Piece]) -> Self {
        let mut key = Self { pieces: [Piece::default(); MAX_PIECES], count: pieces.len(), len: 0 };
        for (into, piece) in key.pieces.iter_mut().zip(pieces) {
            *into = *piece;
            key.len += piece.len;
        }
        key
    }

    #[inline(always)]
    fn of(&self, fp: &[u64]) -> u32 {
        let mut key = self.pieces[0].value(fp);
        for piece in &self.pieces[1..self.count] {
            key = key << piece.len | piece.value(fp);
        }
        key
    }
}

/// What tables to build: the last key is that of the run's own order.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    keys: Vec<Key>,
    /// Expected entries in the bucket of each key.
    loads: Vec<f64>,
    /// The radius of tables by combinations of blocks; None where the blocks are disjoint and any radius can be spread.
    combined: Option<u32>,
    /// Whether tables keep copies of the fingerprints.
    copies: bool,
}

/// How tables answer a radius: the radius of each (-1: left out) and the expected cost of a query.
#[derive(Debug, Clone)]
pub(crate) struct Probing {
    /// Radius of each table.
    pub(crate) radii: Vec<i32>,
    /// Expected nanoseconds a query.
    pub(crate) cost: f64,
    /// Expected buckets a query looks into.
    pub(crate) probes: f64,
    /// Expected entries a query counts.
    pub(crate) candidates: f64,
}

/// Bits of a key for `slots` slots, less `fewer`: about two slots in three buckets.
fn key_bits(slots: usize, fewer: u32) -> u32 {
    (slots.max(2).ilog2() + 1).min(MAX_KEY_BITS).saturating_sub(fewer).max(1)
}

impl Spec {
    /// Tables of `tables` disjoint blocks in equal shares.
    pub(crate) fn disjoint(bits: usize, tables: usize, sample: &Sample<'_>, fewer: u32, copies: bool) -> Self {
        let wanted = key_bits(sample.slots, fewer);
        let keys = (0..tables).map(|i| {
            let (start, end) = (i * bits / tables, (i + 1) * bits / tables);
            Key::new(&[Piece::ending(end, ((end - start) as u32).min(wanted))])
        });
        Self::new(keys.collect(), None, sample, copies)
    }

    /// Tables of every choice of `blocks - radius` of `blocks` blocks; None where a key would have too many pieces.
    pub(crate) fn combined(bits: usize, blocks: usize, radius: u32, sample: &Sample<'_>, copies: bool) -> Option<Self> {
        let chosen = blocks.checked_sub(radius as usize).filter(|chosen| (1..=MAX_PIECES).contains(chosen))?;
        if blocks > bits || binomial(blocks, chosen) > MAX_COMBINED {
            return None;
        }
        let wanted = key_bits(sample.slots, 0).max(chosen as u32);
        let end = |block: usize| (block + 1) * bits / blocks;
        let keys = choices(blocks, chosen).into_iter().map(|choice| {
            if choice >> (blocks - chosen) == (1 << chosen) - 1 {
                // The highest blocks: a leading part of the run's own order.
                return Key::new(&[Piece::ending(
                    bits,
                    ((bits - (blocks - chosen) * bits / blocks) as u32).min(wanted),
                )]);
            }
            let mut pieces = Vec::with_capacity(chosen);
            for block in (0..blocks).filter(|block| choice >> block & 1 == 1) {
                let width = (end(block) - block * bits / blocks) as u32;
                let share = (wanted + pieces.len() as u32) / chosen as u32;
                pieces.push(Piece::ending(end(block), width.min(share.max(1))));
            }
            Key::new(&pieces)
        });
        Some(Self::new(keys.collect(), Some(radius), sample, copies))
    }

    fn new(keys: Vec<Key>, combined: Option<u32>, sample: &Sample<'_>, copies: bool) -> Self {
        let loads = keys.iter().map(|key| sample.load(key)).collect();
        Self { keys, loads, combined, copies }
    }

    /// Tables.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether the tables are keyed by combinations of blocks.
    pub(crate) fn is_combined(&self) -> bool {
        self.combined.is_some()
    }

    /// Appends the numbers by which a file describes the tables.
    pub(crate) fn describe(&self, about: &mut Vec<u64>) {
        about.push(self.keys.len() as u64);
        about.push(self.combined.map_or(0, |radius| u64::from(radius) + 1));
        about.push(u64::from(self.copies));
        for (key, load) in self.keys.iter().zip(&self.loads) {
            about.push(load.to_bits());
            about.push(key.count as u64);
            for piece in &key.pieces[..key.count] {
                about.extend([u64::from(piece.start), u64::from(piece.len)]);
            }
        }
    }

    /// Bytes that the tables take over `slots` slots.
    pub(crate) fn bytes(&self, slots: usize, words: usize) -> usize {
        let entry = 4 + if self.copies && words <= COPIED_WORDS { 8 * words } else { 0 };
        (self.keys.len() - 1) * slots * entry + self.keys.iter().map(|key| 4 << key.len).sum::<usize>()
    }

    /// How these tables would answer `radius`: by equality for combinations, else the radius is spread by least marginal
    /// cost. None if they can't.
    pub(crate) fn plan(&self, slots: usize, words: usize, radius: u32, join: bool) -> Option<Probing> {
        let last = self.keys.len() - 1;
        let probe = if join { JOIN_PROBE } else { probe_cost(self.bytes(slots, words) + slots * 8 * words) };
        let near = |i: usize| i == last || (self.copies && words <= COPIED_WORDS);
        let entry = if join { JOIN_ENTRY } else { ENTRY } * words as f64;
        let look = |i: usize| probe + self.loads[i] * if near(i) { entry } else { FAR_ENTRY };
        let mut probing = Probing { radii: Vec::new(), cost: 0.0, probes: 0.0, candidates: 0.0 };
        if let Some(most) = self.combined {
            probing.radii = vec![0; self.keys.len()];
            probing.cost = (0..self.keys.len()).map(look).sum();
            probing.probes = self.keys.len() as f64;
            probing.candidates = self.loads.iter().sum();
            return (radius <= most).then_some(probing);
        }
        let mut radii = vec![-1; self.keys.len()];
        // Buckets at exactly the next distance from the key, of each block.
        let mut next: Vec<f64> = vec![1.0; self.keys.len()];
        for _ in 0..=radius {
            let marginal = |i: usize| next[i] * look(i);
            let best = (0..self.keys.len())
                .filter(|&i| radii[i] < self.keys[i].len as i32)
                .min_by(|&a, &b| marginal(a).total_cmp(&marginal(b)))?;
            probing.cost += marginal(best);
            probing.probes += next[best];
            probing.candidates += next[best] * self.loads[best];
            radii[best] += 1;
            let (p, j) = (f64::from(self.keys[best].len), f64::from(radii[best]));
            next[best] *= (p - j) / (j + 1.0);
        }
        probing.radii = radii;
        Some(probing)
    }
}

/// Most tables by combinations.
const MAX_COMBINED: usize = 64;

/// Every choice of `chosen` of `blocks` <= 64 blocks as a set of bits, ascending.
fn choices(blocks: usize, chosen: usize) -> Vec<u128> {
    let mut all = Vec::new();
    let mut choice: u128 = (1 << chosen) - 1;
    while choice >> blocks == 0 {
        all.push(choice);
        let low = choice & choice.wrapping_neg();
        let ripple = choice + low;
        choice = ripple | (((choice ^ ripple) >> 2) >> low.trailing_zeros());
    }
    all
}

fn binomial(n: usize, k: usize) -> usize {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

/// Fingerprints at even steps of a run, from which the load of a key is estimated before its table is built.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    slots: usize,
    fps: Vec<&'a [u64]>,
}

/// Fingerprints of a sample: 130,000 pairs.
const SAMPLE: usize = 512;

impl<'a> Sample<'a> {
    pub(crate) fn new(words: usize, fps: &'a [u64]) -> Self {
        let slots = fps.len() / words;
        let step = slots.div_ceil(SAMPLE).max(1);
        Self { slots, fps: fps.chunks_exact(words).step_by(step).collect() }
    }

    /// Entries in the bucket of an entry: n / 2^p, or n times the share of equal pairs where that is more by two deviations.
    fn load(&self, key: &Key) -> f64 {
        let mut keys: Vec<u32> = self.fps.iter().map(|fp| key.of(fp)).collect();
        keys.sort_unstable();
        let equal: usize = keys.chunk_by(|a, b| a == b).map(|same| same.len() * (same.len() - 1) / 2).sum();
        let pairs = (self.fps.len() * self.fps.len().saturating_sub(1) / 2).max(1) as f64;
        let equal = equal as f64;
        let sure = (equal - 2.0 * (equal + 1.0).sqrt()).max(0.0) / pairs;
        self.slots as f64 * sure.max(0.5_f64.powi(key.len as i32))
    }
}

/// The slots of a run by one key.
#[derive(Debug)]
struct Table {
    key: Key,
    /// First entry of each key, and the end.
    starts: Column<u32>,
    /// Slot of each entry; empty in the table that is the run itself.
    slots: Column<u32>,
    /// Fingerprint of each entry, where copies are kept; empty in the table that is the run itself.
    fps: Column<u64>,
}

/// The tables of a run.
#[derive(Debug)]
pub(crate) struct Layout {
    spec: Spec,
    tables: Vec<Table>,
}

/// A search in a layout: what is sought and where.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    /// Words of a fingerprint.
    pub(crate) words: usize,
    /// Fingerprints of the slots.
    pub(crate) fps: &'a [u64],
    /// What is sought, by `Layout::search`.
    pub(crate) queries: &'a [u64],
    /// Largest distance.
    pub(crate) radius: u32,
    /// Radius of each table.
    pub(crate) radii: &'a [i32],
}

impl Layout {
    /// Tables of `fps`, built one at a time.
    pub(crate) fn build(mut spec: Spec, words: usize, fps: &[u64]) -> Self {
        let last = spec.keys.len() - 1;
        let copies = spec.copies && words <= COPIED_WORDS;
        let tables: Vec<Table> =
            spec.keys.iter().enumerate().map(|(i, &key)| Table::build(key, words, fps, i == last, copies)).collect();
        let slots = (fps.len() / words).max(1) as f64;
        for (load, table) in spec.loads.iter_mut().zip(&tables) {
            let squares = table.starts.windows(2).map(|pair| f64::from(pair[1] - pair[0]).powi(2));
            *load = squares.sum::<f64>() / slots;
        }
        Self { spec, tables }
    }

    /// What was built.
    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Bytes of all tables.
    pub(crate) fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.starts.bytes() + table.slots.bytes() + table.fps.bytes()).sum()
    }

    /// Writes the arrays of all tables.
    pub(crate) fn save(&self, writer: &mut Writer) -> Result<()> {
        for (number, table) in (0..).zip(&self.tables) {
            writer.section(TABLE, number, &table.starts)?;
            writer.section(TABLE + 1, number, &table.slots)?;
            writer.section(TABLE + 2, number, &table.fps)?;
        }
        Ok(())
    }

    /// The tables of a run of `slots` slots in a file, as `Spec::describe` and `save` wrote them; None where it has none.
    pub(crate) fn open(
        segment: &Segment,
        reader: &mut Reader<'_>,
        bits: usize,
        words: usize,
        slots: usize,
    ) -> Result<Option<Self>> {
        let count = reader.up_to(bits.max(MAX_COMBINED) as u64)? as usize;
        if count == 0 {
            return Ok(None);
        }
        let combined = reader.optional(bits as u64)?.map(|radius| radius as u32);
        let copies = reader.up_to(1)? == 1;
        let mut spec = Spec { keys: Vec::new(), loads: Vec::new(), combined, copies };
        let mut tables = Vec::new();
        for number in 0..count {
            let load = f64::from_bits(reader.next()?);
            let mut pieces = Vec::new();
            for _ in 0..reader.up_to(MAX_PIECES as u64)? {
                let start = reader.up_to(bits as u64)? as u32;
                let len = reader.up_to(u64::from(MAX_KEY_BITS))? as u32;
                if len == 0 || (start + len) as usize > bits {
                    return Err(reader.corrupt("a table is keyed by bits that do not exist"));
                }
                pieces.push(Piece { start, len });
            }
            let key = Key::new(&pieces);
            let own = number + 1 == count;
            let leading = pieces.len() == 1 && (pieces[0].start + pieces[0].len) as usize == bits;
            if pieces.is_empty() || key.len > MAX_KEY_BITS || !load.is_finite() || (own && !leading) {
                return Err(reader.corrupt("a table is keyed in a way that no index has"));
            }
            let table = Table {
                key,
                starts: segment.column(TABLE, number as u32)?,
                slots: segment.column(TABLE + 1, number as u32)?,
                fps: segment.column(TABLE + 2, number as u32)?,
            };
            let copied = if own || !copies || words > COPIED_WORDS { 0 } else { slots * words };
            let agree = table.starts.len() == (1 << key.len) + 1
                && table.slots.len() == if own { 0 } else { slots }
                && table.fps.len() == copied;
            if !agree {
                return Err(reader.corrupt("the arrays of a table are not of its size"));
            }
            spec.keys.push(key);
            spec.loads.push(load);
            tables.push(table);
        }
        Ok(Some(Self { spec, tables }))
    }

    /// Whether every table holds every slot of a run in the bucket of its key.
    pub(crate) fn is_sound(&self, words: usize, fps: &[u64]) -> bool {
        let slots = fps.len() / words;
        self.tables.iter().all(|table| {
            let bounds = table.starts.first() == Some(&0)
                && table.starts.last() == Some(&(slots as u32))
                && table.starts.windows(2).all(|pair| pair[0] <= pair[1]);
            bounds
                && (0..table.starts.len() - 1).all(|bucket| {
                    (table.starts[bucket] as usize..table.starts[bucket + 1] as usize).all(|entry| {
                        let slot = table.slots.get(entry).map_or(entry, |&slot| slot as usize);
                        fps.get(slot * words..(slot + 1) * words).is_some_and(|fp| {
                            table.key.of(fp) as usize == bucket
                                && table.fps.get(entry * words..(entry + 1) * words).is_none_or(|copy| copy == fp)
                        })
                    })
                })
        })
    }

    /// Buckets of all tables that take part in a search, in parts of at most `most`: (table, first, end).
    pub(crate) fn bucket_ranges(&self, radii: &[i32], most: usize) -> Vec<(usize, u32, u32)> {
        let mut ranges = Vec::new();
        for (t, table) in self.tables.iter().enumerate().filter(|(t, _)| radii[*t] >= 0) {
            let buckets = table.starts.len() - 1;
            let mut first = 0;
            while first < buckets {
                // Whole buckets of about `most` entries.
                let limit = table.starts[first].saturating_add(most as u32);
                let end = table.starts[first + 1..buckets].partition_point(|&start| start <= limit) + first + 1;
                ranges.push((t, first as u32, end as u32));
                first = end;
            }
        }
        ranges
    }

    /// Gives `sink` every (query, slot, distance) within the radius, once.
    pub(crate) fn search<S: Sink>(&self, kernel: Kernel, search: Search<'_>, sink: &mut S) {
        Job::new(self, search, None).dispatch(kernel, sink);
    }

    /// Gives `sink` every (slot, slot, distance) within the radius, once, that `buckets` (table, first, end) propose.
    pub(crate) fn join<S: Sink>(&self, kernel: Kernel, search: Search<'_>, buckets: (usize, u32, u32), sink: &mut S) {
        Job::new(self, search, Some(buckets)).dispatch(kernel, sink);
    }
}

impl Table {
    /// A counting sort of the slots by key; the table of the run's own order (`own`) is its directory alone.
    fn build(key: Key, words: usize, fps: &[u64], own: bool, copied: bool) -> Self {
        let slots = fps.len() / words;
        let mut starts = vec![0u32; (1 << key.len) + 1];
        for fp in fps.chunks_exact(words) {
            starts[key.of(fp) as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        if own {
            return Self { key, starts: starts.into(), slots: Column::default(), fps: Column::default() };
        }
        let mut order = vec![0u32; slots];
        let mut copies = vec![0u64; if copied { slots * words } else { 0 }];
        let put = |order: &mut [u32], copies: &mut [u64], at: usize, slot: u32, fp: &[u64]| {
            order[at] = slot;
            if copied {
                copies[at * words..(at + 1) * words].copy_from_slice(fp);
            }
        };
        // Scattering into 2^len places at once would miss every cache: first by the high bits, then within each part.
        let low = key.len.saturating_sub(PART_BITS);
        let mut parts: Vec<u32> = starts.iter().step_by(1 << low).copied().collect();
        for (slot, fp) in fps.chunks_exact(words).enumerate() {
            let at = &mut parts[(key.of(fp) >> low) as usize];
            put(&mut order, &mut copies, *at as usize, slot as u32, fp);
            *at += 1;
        }
        if low == 0 {
            return Self { key, starts: starts.into(), slots: order.into(), fps: copies.into() };
        }
        let (mut part, mut part_fps) = (Vec::new(), Vec::new());
        let mut next = Vec::new();
        for first in (0..1usize << key.len).step_by(1 << low) {
            let range = starts[first] as usize..starts[first + (1 << low)] as usize;
            part.clear();
            part.extend_from_slice(&order[range.clone()]);
            part_fps.clear();
            part_fps.extend_from_slice(if copied { &copies[range.start * words..range.end * words] } else { &[] });
            next.clear();
            next.extend_from_slice(&starts[first..first + (1 << low)]);
            for (i, &slot) in part.iter().enumerate() {
                let fp = if copied { &part_fps[i * words..][..words] } else { &fps[slot as usize * words..][..words] };
                let at = &mut next[key.of(fp) as usize - first];
                put(&mut order, &mut copies, *at as usize, slot, fp);
                *at += 1;
            }
        }
        Self { key, starts: starts.into(), slots: order.into(), fps: copies.into() }
    }
}

/// Bits of the first pass of a table's sort: 256 places are written at once.
const PART_BITS: u32 = 8;

struct Job<'a> {
    layout: &'a Layout,
    search: Search<'a>,
    /// Table and buckets of a join; None for a search.
    buckets: Option<(usize, u32, u32)>,
    /// Differences of all keys within the radius of each table.
    flips: Vec<Vec<u32>>,
}

/// All words of at most `radius` ones in `len` bits, ascending, so that buckets beside each other in memory are visited
/// together; none for a radius of -1.
fn ball(len: u32, radius: i32) -> Vec<u32> {
    let mut words = Vec::new();
    for weight in 0..=radius {
        let mut word: u32 = (1 << weight) - 1;
        while word >> len == 0 {
            words.push(word);
            if weight == 0 {
                break;
            }
            // The next larger word with as many ones.
            let low = word & word.wrapping_neg();
            let ripple = word + low;
            word = ripple | (((word ^ ripple) >> 2) >> low.trailing_zeros());
        }
    }
    words.sort_unstable();
    words
}

/// A bucket that a query looks into: first the key, then the entries.
#[derive(Clone, Copy, Default)]
struct Probe {
    query: u32,
    from: u32,
    to: u32,
}

/// Asks for the cache line of an element soon to be read.
#[inline(always)]
fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of an address within a slice; SSE is part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, at);
}

impl<'a> Job<'a> {
    fn new(layout: &'a Layout, search: Search<'a>, buckets: Option<(usize, u32, u32)>) -> Self {
        let wanted = |t: usize| buckets.is_none_or(|(only, _, _)| only == t);
        let tables = layout.tables.iter().zip(search.radii).enumerate();
        let flips = tables.map(|(t, (table, &radius))| ball(table.key.len, if wanted(t) { radius } else { -1 }));
        Self { layout, search, buckets, flips: flips.collect() }
    }

    fn dispatch<S: Sink>(&self, kernel: Kernel, sink: &mut S) {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt,bmi1")]
                fn run<S: Sink>(job: &Job<'_>, sink: &mut S) {
                    // SAFETY: the AVX-512 extensions are enabled for this function.
                    unsafe { job.run::<crate::popcount::x86::Avx512Lanes, S>(sink) }
                }
                assert!(Kernel::available().contains(&kernel));
                // SAFETY: the line above has asked the processor.
                unsafe { run(self, sink) }
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => {
                #[target_feature(enable = "avx2,popcnt")]
                fn run<S: Sink>(job: &Job<'_>, sink: &mut S) {
                    // SAFETY: AVX2 is enabled for this function.
                    unsafe { job.run::<crate::popcount::x86::Avx2Lanes, S>(sink) }
                }
                assert!(Kernel::available().contains(&kernel));
                // SAFETY: the line above has asked the processor.
                unsafe { run(self, sink) }
            }
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => {
                // SAFETY: NEON is part of every 64-bit ARM.
                unsafe { self.run::<crate::popcount::arm::NeonLanes, S>(sink) }
            }
            _ => {
                // SAFETY: the scalar lanes need no special instructions.
                unsafe { self.run::<ScalarLanes, S>(sink) }
            }
        }
    }

    /// # Safety
    /// The processor has the instructions of `L`, and the caller enables them.
    #[inline(always)]
    unsafe fn run<L: Lanes, S: Sink>(&self, sink: &mut S) {
        if let Some((t, first, end)) = self.buckets {
            // SAFETY: the caller vouches for `L`.
            unsafe { self.run_join::<L, S>(t, first, end, sink) };
            return;
        }
        let mut probes = [Probe::default(); PROBES];
        for (t, table) in self.layout.tables.iter().enumerate() {
            let mut gathered = 0;
            for (number, query) in self.search.queries.chunks_exact(self.search.words).enumerate() {
                let key = table.key.of(query);
                for flip in &self.flips[t] {
                    let bucket = key ^ flip;
                    prefetch(&table.starts, bucket as usize);
                    probes[gathered] = Probe { query: number as u32, from: bucket, to: 0 };
                    gathered += 1;
                    if gathered == PROBES {
                        self.resolve(table, &mut probes[..gathered]);
                        // SAFETY: the caller vouches for `L`.
                        unsafe { self.count::<L, S>(t, self.search.queries, &probes[..gathered], sink) };
                        gathered = 0;
                    }
                }
            }
            self.resolve(table, &mut probes[..gathered]);
            // SAFETY: the caller vouches for `L`.
            unsafe { self.count::<L, S>(t, self.search.queries, &probes[..gathered], sink) };
        }
    }

    /// Compares the entries of buckets with those of all buckets within the radius of the table, each pair of buckets once.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn run_join<L: Lanes, S: Sink>(&self, t: usize, first: u32, end: u32, sink: &mut S) {
        let table = &self.layout.tables[t];
        let entries = self.entries(table);
        // What is compared: entries by their place, or slots where the table has no fingerprints.
        let left = if entries.is_empty() { self.search.fps } else { entries };
        let mut probes = [Probe::default(); PROBES];
        let mut gathered = 0;
        for bucket in first..end {
            let (from, to) = (table.starts[bucket as usize], table.starts[bucket as usize + 1]);
            if from == to {
                continue;
            }
            for flip in &self.flips[t] {
                let other = bucket ^ flip;
                if other < bucket {
                    continue;
                }
                let (begin, stop) = (table.starts[other as usize], table.starts[other as usize + 1]);
                for entry in from..to {
                    let begin = if other == bucket { entry + 1 } else { begin };
                    if begin == stop {
                        continue;
                    }
                    prefetch(entries, begin as usize * self.search.words);
                    let query = if entries.is_empty() { table.slots[entry as usize] } else { entry };
                    probes[gathered] = Probe { query, from: begin, to: stop };
                    gathered += 1;
                    if gathered == PROBES {
                        // SAFETY: the caller vouches for `L`.
                        unsafe { self.count::<L, S>(t, left, &probes[..gathered], sink) };
                        gathered = 0;
                    }
                }
            }
        }
        // SAFETY: the caller vouches for `L`.
        unsafe { self.count::<L, S>(t, left, &probes[..gathered], sink) };
    }

    /// The fingerprints of a table's entries in their order; empty where it has slot numbers alone.
    #[inline(always)]
    fn entries(&self, table: &'a Table) -> &'a [u64] {
        if table.slots.is_empty() { self.search.fps } else { &table.fps }
    }

    /// Turns keys into places of entries, and asks for those.
    #[inline(always)]
    fn resolve(&self, table: &'a Table, probes: &mut [Probe]) {
        let words = self.search.words;
        let entries = self.entries(table);
        for probe in probes {
            let bucket = probe.from as usize;
            (probe.from, probe.to) = (table.starts[bucket], table.starts[bucket + 1]);
            if entries.is_empty() {
                prefetch(&table.slots, probe.from as usize);
                continue;
            }
            let (from, to) = (probe.from as usize * words, probe.to as usize * words);
            for line in 0..LINES {
                if from + 8 * line < to {
                    prefetch(entries, from + 8 * line);
                }
            }
        }
    }

    /// Counts the entries that probes point to; `queries` are what their numbers mean.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn count<L: Lanes, S: Sink>(&self, t: usize, queries: &[u64], probes: &[Probe], sink: &mut S) {
        let Search { words, fps, radius, .. } = self.search;
        let table = &self.layout.tables[t];
        let own = table.slots.is_empty();
        let entries = self.entries(table);
        if entries.is_empty() {
            for probe in probes {
                for &slot in &table.slots[probe.from as usize..probe.to as usize] {
                    prefetch(fps, slot as usize * words);
                }
            }
        }
        for probe in probes {
            let query = &queries[probe.query as usize * words..][..words];
            // In a join the number is a place in the table: its slot is what the sink knows.
            let number = if self.buckets.is_none() || own || entries.is_empty() {
                probe.query
            } else {
                table.slots[probe.query as usize]
            };
            let (from, to) = (probe.from as usize, probe.to as usize);
            if entries.is_empty() {
                for &slot in &table.slots[from..to] {
                    let fp = &fps[slot as usize * words..][..words];
                    if distance(fp, query) <= radius {
                        self.propose(t, slot, fp, number, query, sink);
                    }
                }
                continue;
            }
            let mut propose = |entry: usize| {
                let fp = &entries[entry * words..][..words];
                let slot = if own { entry as u32 } else { table.slots[entry] };
                self.propose(t, slot, fp, number, query, sink);
            };
            let mut at = from;
            if words.is_power_of_two() && words <= L::N {
                let step = L::N / words;
                let mut pattern = [0; MAX_LANES];
                for (lane, word) in pattern[..L::N].iter_mut().enumerate() {
                    *word = query[lane % words];
                }
                // SAFETY: the caller vouches for `L`; `pattern` holds `L::N` words.
                let (pattern, bound) = unsafe { (L::load(pattern.as_ptr()), L::splat(u64::from(radius))) };
                while at < to && (at + step) * words <= entries.len() {
                    // SAFETY: the caller vouches for `L`; `L::N` words from the entry are there.
                    let mut mask = unsafe {
                        let counts = L::count_xor(L::load(entries.as_ptr().add(at * words)), pattern);
                        L::at_most(L::fold(counts, words), bound)
                    };
                    if at + step > to {
                        mask &= (1 << ((to - at) * words)) - 1;
                    }
                    while mask != 0 {
                        let lane = mask.trailing_zeros() as usize;
                        propose(at + lane / words);
                        mask &= !(((1 << words) - 1) << lane);
                    }
                    at += step;
                }
            }
            // The end of the array, and widths that no vector holds.
            for entry in at..to {
                if distance(&entries[entry * words..][..words], query) <= radius {
                    propose(entry);
                }
            }
        }
    }

    /// Reports an entry within the radius unless an earlier table has.
    #[inline]
    fn propose<S: Sink>(&self, t: usize, slot: u32, fp: &[u64], number: u32, query: &[u64], sink: &mut S) {
        let earlier = self.layout.tables[..t]
            .iter()
            .zip(self.search.radii)
            .any(|(table, &radius)| (table.key.of(fp) ^ table.key.of(query)).count_ones() as i32 <= radius);
        if !earlier {
            sink.hit(number, slot, distance(fp, query));
        }
    }
}

/// Lanes of the widest vector.
const MAX_LANES: usize = 8;
