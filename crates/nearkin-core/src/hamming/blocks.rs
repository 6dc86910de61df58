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
//! but the run itself, 4 bytes a slot for its number and 8 bytes for each word of its sketch; for every table 2^p * 4
//! bytes of directory.
//!
//! **Sketches.** An entry carries some words of its fingerprint, those behind the word of the key: as many as a random
//! fingerprint needs to fail on them (`first_test`). What passes is counted in full. Where the sketch is the whole
//! fingerprint, a slot can be found from it by a binary search in its bucket of the run; so the later half of the tables,
//! which report only what no earlier table has, keep no slot numbers.
//!
//! **Parts.** A batch visits a table part by part, a part being the buckets whose keys share their highest bits: the keys
//! within a radius, ascending, that lead from a key into a part are a range. So what is read again is still in the cache.
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
use super::scan::{Sink, first_test};
use crate::Result;
use crate::popcount::{Kernel, Lanes, ScalarLanes, distance};
use crate::segment::{Column, Segment, Writer};

/// Widest key: a directory of 2^26 starts takes 256 MiB.
const MAX_KEY_BITS: u32 = 26;
/// Most words of a sketch.
const SKETCH_WORDS: usize = 4;
/// Bytes of a part of a table, half of a second-level cache.
const PART_BYTES: usize = 1 << 19;
/// Keys within the radius of a key that a part holds on average, at least.
const PART_PROBES: usize = 4;
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
    /// Words of a fingerprint that an entry carries; 0 where tables hold slot numbers alone.
    sketch: usize,
}

/// The share of random fingerprints whose first `bits` bits differ in at most `radius`.
fn passes(bits: usize, radius: u32) -> f64 {
    let mut term = 0.5_f64.powi(bits as i32);
    let mut sum = 0.0;
    for differing in 0..=(radius as usize).min(bits) {
        sum += term;
        term *= (bits - differing) as f64 / (differing + 1) as f64;
    }
    sum.min(1.0)
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
    pub(crate) fn disjoint(bits: usize, tables: usize, sample: &Sample<'_>, fewer: u32, sketch: usize) -> Self {
        let wanted = key_bits(sample.slots, fewer);
        let keys = (0..tables).map(|i| {
            let (start, end) = (i * bits / tables, (i + 1) * bits / tables);
            Key::new(&[Piece::ending(end, ((end - start) as u32).min(wanted))])
        });
        Self::new(keys.collect(), None, sample, sketch)
    }

    /// Tables of every choice of `blocks - radius` of `blocks` blocks; None where a key would have too many pieces.
    pub(crate) fn combined(
        bits: usize,
        blocks: usize,
        radius: u32,
        sample: &Sample<'_>,
        sketch: usize,
    ) -> Option<Self> {
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
        Some(Self::new(keys.collect(), Some(radius), sample, sketch))
    }

    fn new(keys: Vec<Key>, combined: Option<u32>, sample: &Sample<'_>, sketch: usize) -> Self {
        let loads = keys.iter().map(|key| sample.load(key)).collect();
        Self { keys, loads, combined, sketch }
    }

    /// Words of a sketch that random fingerprints fail at `radius`.
    pub(crate) fn sketch_for(words: usize, radius: u32) -> usize {
        first_test(words, radius).min(SKETCH_WORDS)
    }

    /// Whether table `t` holds slot numbers: all but the last, which is the run, and the later half of tables of whole fingerprints.
    fn has_slots(&self, t: usize, words: usize) -> bool {
        t + 1 < self.keys.len() && (self.sketch < words || 2 * t < self.keys.len())
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
        about.push(self.sketch as u64);
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
        let copied = self.keys.len() - 1;
        let numbered = (0..copied).filter(|&t| self.has_slots(t, words)).count();
        let directories: usize = self.keys.iter().map(|key| 4 * ((1 << key.len) + 1)).sum();
        slots * (4 * numbered + 8 * self.sketch * copied) + directories
    }

    /// How these tables would answer `radius`: by equality for combinations, else the radius is spread by least marginal
    /// cost. None if they can't.
    pub(crate) fn plan(&self, slots: usize, words: usize, radius: u32, join: bool) -> Option<Probing> {
        let last = self.keys.len() - 1;
        let probe = if join { JOIN_PROBE } else { probe_cost(self.bytes(slots, words) + slots * 8 * words) };
        let word = if join { JOIN_ENTRY } else { ENTRY };
        let sketched = word * self.sketch as f64 + FAR_ENTRY * passes(64 * self.sketch, radius);
        let entry = |i: usize| match self.sketch {
            _ if i == last => word * words as f64,
            0 => FAR_ENTRY,
            sketch if sketch == words => word * words as f64,
            _ => sketched,
        };
        let look = |i: usize| probe + self.loads[i] * entry(i);
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

    /// A sample that stands for another number of slots than its own.
    #[cfg(test)]
    pub(crate) fn standing_for(words: usize, fps: &'a [u64], slots: usize) -> Self {
        Self { slots, ..Self::new(words, fps) }
    }

    /// Slots that the sample stands for.
    pub(crate) fn slots(&self) -> usize {
        self.slots
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
    /// Slot of each entry; empty in the table that is the run itself, and where whole fingerprints lead to it.
    slots: Column<u32>,
    /// Sketch of each entry; empty in the table that is the run itself, and where sketches have no words.
    fps: Column<u64>,
    /// The run itself?
    own: bool,
}

/// Words `0..sketch` of the sketch of a fingerprint in a table of this key: those behind the word of the key.
#[inline(always)]
fn sketch_word(key: &Key, fp: &[u64], sketch: usize, word: usize) -> u64 {
    if sketch == fp.len() {
        return fp[word];
    }
    let at = key.pieces[0].start as usize / 64 + 1 + word;
    fp[if at >= fp.len() { at - fp.len() } else { at }]
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
        let tables: Vec<Table> = spec
            .keys
            .iter()
            .enumerate()
            .map(|(t, &key)| {
                if t == last {
                    Table::own(key, words, fps)
                } else {
                    Table::build(key, words, fps, spec.sketch, spec.has_slots(t, words))
                }
            })
            .collect();
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
        let sketch = reader.up_to(words as u64)? as usize;
        let mut spec = Spec { keys: Vec::new(), loads: Vec::new(), combined, sketch };
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
                own,
            };
            let whole = own || sketch == words;
            let agree = table.starts.len() == (1 << key.len) + 1
                && (table.slots.len() == if own { 0 } else { slots } || (whole && table.slots.is_empty()))
                && table.fps.len() == if own { 0 } else { slots * sketch };
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
        let sketch = self.spec.sketch;
        let bounds = |table: &Table| {
            table.starts.first() == Some(&0)
                && table.starts.last() == Some(&(slots as u32))
                && table.starts.windows(2).all(|pair| pair[0] <= pair[1])
        };
        let entry_is_sound = |table: &Table, bucket: usize, entry: usize| {
            let slot = match table.slots.get(entry) {
                Some(&slot) => slot as usize,
                None if table.own => entry,
                None => self.locate(words, fps, &table.fps[entry * words..(entry + 1) * words]) as usize,
            };
            fps.get(slot * words..(slot + 1) * words).is_some_and(|fp| {
                let words = || (0..sketch).map(|word| sketch_word(&table.key, fp, sketch, word));
                table.key.of(fp) as usize == bucket
                    && (table.own || words().eq(table.fps[entry * sketch..(entry + 1) * sketch].iter().copied()))
            })
        };
        // The run's own table first: the others are held against it.
        self.tables.iter().rev().all(|table| {
            bounds(table)
                && table.starts.windows(2).enumerate().all(|(bucket, range)| {
                    (range[0] as usize..range[1] as usize).all(|entry| entry_is_sound(table, bucket, entry))
                })
        })
    }

    /// The slot of a fingerprint that the run holds, by a binary search in its bucket.
    fn locate(&self, words: usize, fps: &[u64], fp: &[u64]) -> u32 {
        let own = &self.tables[self.tables.len() - 1];
        let bucket = own.key.of(fp) as usize;
        let (mut low, mut high) = (own.starts[bucket] as usize, own.starts[bucket + 1] as usize);
        while low < high {
            let middle = low.midpoint(high);
            if fps[middle * words..(middle + 1) * words].iter().rev().lt(fp.iter().rev()) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low as u32
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
    /// First entry of each key, and the end.
    fn directory(key: Key, words: usize, fps: &[u64]) -> Vec<u32> {
        let mut starts = vec![0u32; (1 << key.len) + 1];
        for fp in fps.chunks_exact(words) {
            starts[key.of(fp) as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        starts
    }

    /// The table that is the run: its directory alone.
    fn own(key: Key, words: usize, fps: &[u64]) -> Self {
        let starts = Self::directory(key, words, fps);
        Self { key, starts: starts.into(), slots: Column::default(), fps: Column::default(), own: true }
    }

    /// A counting sort of the slots by key.
    fn build(key: Key, words: usize, fps: &[u64], sketch: usize, numbered: bool) -> Self {
        let slots = fps.len() / words;
        let starts = Self::directory(key, words, fps);
        let mut sorted = Entries::new(slots, sketch, numbered);
        // Scattering into 2^len places at once would miss every cache: first by the high bits, then within each part.
        let low = key.len.saturating_sub(PART_BITS);
        let mut next: Vec<u32> = starts.iter().step_by(1 << low).copied().collect();
        let mut keys = vec![0u32; if low > 0 { slots } else { 0 }];
        for (slot, fp) in fps.chunks_exact(words).enumerate() {
            let value = key.of(fp);
            let at = next[(value >> low) as usize] as usize;
            next[(value >> low) as usize] += 1;
            if let Some(place) = keys.get_mut(at) {
                *place = value;
            }
            if let Some(place) = sorted.slots.get_mut(at) {
                *place = slot as u32;
            }
            for word in 0..sketch {
                sorted.fps[at * sketch + word] = sketch_word(&key, fp, sketch, word);
            }
        }
        let mut part = Entries::new(0, sketch, numbered);
        for begin in (0..1usize << key.len).step_by(1 << low).take(if low == 0 { 0 } else { usize::MAX }) {
            let range = starts[begin] as usize..starts[begin + (1 << low)] as usize;
            part.slots.clear();
            part.slots.extend_from_slice(sorted.slots.get(range.clone()).unwrap_or_default());
            part.fps.clear();
            part.fps.extend_from_slice(&sorted.fps[range.start * sketch..range.end * sketch]);
            next.clear();
            next.extend_from_slice(&starts[begin..begin + (1 << low)]);
            for (i, &value) in keys[range].iter().enumerate() {
                let at = next[value as usize - begin] as usize;
                next[value as usize - begin] += 1;
                if let Some(&slot) = part.slots.get(i) {
                    sorted.slots[at] = slot;
                }
                sorted.fps[at * sketch..(at + 1) * sketch].copy_from_slice(&part.fps[i * sketch..(i + 1) * sketch]);
            }
        }
        Self { key, starts: starts.into(), slots: sorted.slots.into(), fps: sorted.fps.into(), own: false }
    }
}

/// Entries of a table while it is sorted.
struct Entries {
    slots: Vec<u32>,
    fps: Vec<u64>,
}

impl Entries {
    fn new(slots: usize, sketch: usize, numbered: bool) -> Self {
        Self { slots: vec![0; if numbered { slots } else { 0 }], fps: vec![0; slots * sketch] }
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
    if let Some(element) = slice.get(at) {
        crate::memory::prefetch(std::ptr::from_ref(element).cast());
    }
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
        let words = self.search.words;
        let mut probes = [Probe::default(); PROBES];
        let (mut keys, mut bounds, mut sketches) = (Vec::new(), Vec::new(), Vec::new());
        for (t, table) in self.layout.tables.iter().enumerate() {
            let flips = &self.flips[t];
            let queries = || self.search.queries.chunks_exact(words);
            keys.clear();
            keys.extend(queries().map(|query| table.key.of(query)));
            sketches.clear();
            sketches.extend(queries().map(|query| self.sketch(table, query)));
            let parts = (self.entries(table).len() * 8 / PART_BYTES).min(flips.len() / PART_PROBES).max(1);
            let bits = parts.ilog2().min(table.key.len);
            let low = table.key.len - bits;
            bounds.clear();
            bounds.extend((0..=1u32 << bits).map(|part| flips.partition_point(|&flip| flip >> low < part)));
            let mut gathered = 0;
            for part in 0..1u32 << bits {
                for (number, &key) in keys.iter().enumerate() {
                    let high = (part ^ key >> low) as usize;
                    for flip in &flips[bounds[high]..bounds[high + 1]] {
                        let bucket = key ^ flip;
                        prefetch(&table.starts, bucket as usize);
                        probes[gathered] = Probe { query: number as u32, from: bucket, to: 0 };
                        gathered += 1;
                        if gathered == PROBES {
                            self.resolve(table, &mut probes[..gathered]);
                            // SAFETY: the caller vouches for `L`.
                            unsafe { self.count::<L, S>(t, self.search.queries, &sketches, &probes[..gathered], sink) };
                            gathered = 0;
                        }
                    }
                }
            }
            self.resolve(table, &mut probes[..gathered]);
            // SAFETY: the caller vouches for `L`.
            unsafe { self.count::<L, S>(t, self.search.queries, &sketches, &probes[..gathered], sink) };
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
        // What is compared: entries by their place where they hold whole fingerprints, else slots.
        let whole = self.stride(table) == self.search.words;
        let left = if whole { entries } else { self.search.fps };
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
                    prefetch(entries, begin as usize * self.stride(table));
                    let query = if whole { entry } else { table.slots[entry as usize] };
                    probes[gathered] = Probe { query, from: begin, to: stop };
                    gathered += 1;
                    if gathered == PROBES {
                        // SAFETY: the caller vouches for `L`.
                        unsafe { self.count::<L, S>(t, left, &[], &probes[..gathered], sink) };
                        gathered = 0;
                    }
                }
            }
        }
        // SAFETY: the caller vouches for `L`.
        unsafe { self.count::<L, S>(t, left, &[], &probes[..gathered], sink) };
    }

    /// What a table's entries carry of their fingerprints, in their order; empty where it has slot numbers alone.
    #[inline(always)]
    fn entries(&self, table: &'a Table) -> &'a [u64] {
        if table.own { self.search.fps } else { &table.fps }
    }

    /// Words that an entry carries.
    #[inline(always)]
    fn stride(&self, table: &Table) -> usize {
        if table.own { self.search.words } else { self.layout.spec.sketch }
    }

    /// What entries of a table are compared with: the sketch of a query, or the whole, again and again for a whole vector.
    #[inline]
    fn sketch(&self, table: &Table, query: &[u64]) -> Sketch {
        let stride = self.stride(table);
        let mut sketch = [0; MAX_SKETCH];
        for word in 0..stride {
            sketch[word] = if table.own { query[word] } else { sketch_word(&table.key, query, stride, word) };
        }
        for word in stride..if stride == 0 { 0 } else { MAX_LANES } {
            sketch[word] = sketch[word - stride];
        }
        sketch
    }

    /// The slot of an entry.
    #[inline]
    fn slot(&self, table: &Table, entry: usize) -> u32 {
        let words = self.search.words;
        match table.slots.get(entry) {
            Some(&slot) => slot,
            None if table.own => entry as u32,
            None => self.layout.locate(words, self.search.fps, &table.fps[entry * words..][..words]),
        }
    }

    /// Turns keys into places of entries, and asks for those.
    #[inline(always)]
    fn resolve(&self, table: &'a Table, probes: &mut [Probe]) {
        let words = self.stride(table);
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
    unsafe fn count<L: Lanes, S: Sink>(
        &self,
        t: usize,
        queries: &[u64],
        sketches: &[Sketch],
        probes: &[Probe],
        sink: &mut S,
    ) {
        let Search { words, fps, radius, .. } = self.search;
        let table = &self.layout.tables[t];
        let entries = self.entries(table);
        let stride = self.stride(table);
        if entries.is_empty() {
            for probe in probes {
                for &slot in &table.slots[probe.from as usize..probe.to as usize] {
                    prefetch(fps, slot as usize * words);
                }
            }
        }
        for probe in probes {
            let query = &queries[probe.query as usize * words..][..words];
            let (from, to) = (probe.from as usize, probe.to as usize);
            // Counts a slot in full, unless that has been done.
            let mut propose = |entry: usize, counted: bool| {
                let fp = if counted {
                    &entries[entry * words..][..words]
                } else {
                    let slot = table.slots[entry] as usize;
                    &fps[slot * words..][..words]
                };
                let distance = distance(fp, query);
                if distance <= radius && !self.reported_earlier(t, fp, query) {
                    // In a join of whole fingerprints the number is a place in the table, and its slot is what the sink knows.
                    let number = if self.buckets.is_some() && stride == words {
                        self.slot(table, probe.query as usize)
                    } else {
                        probe.query
                    };
                    sink.hit(number, self.slot(table, entry), distance);
                }
            };
            if entries.is_empty() {
                (from..to).for_each(|entry| propose(entry, false));
                continue;
            }
            let whole = stride == words;
            let made;
            let sketch = if let Some(sketch) = sketches.get(probe.query as usize) {
                sketch
            } else {
                made = self.sketch(table, query);
                &made
            };
            let mut at = from;
            if stride.is_power_of_two() && stride <= L::N {
                let step = L::N / stride;
                // SAFETY: the caller vouches for `L`, which has at most eight lanes.
                let (pattern, bound) = unsafe { (L::load(sketch.as_ptr()), L::splat(u64::from(radius))) };
                while at < to && (at + step) * stride <= entries.len() {
                    // SAFETY: the caller vouches for `L`; `L::N` words from the entry are there.
                    let mut mask = unsafe {
                        let counts = L::count_xor(L::load(entries.as_ptr().add(at * stride)), pattern);
                        L::at_most(L::fold(counts, stride), bound)
                    };
                    if at + step > to {
                        mask &= (1 << ((to - at) * stride)) - 1;
                    }
                    while mask != 0 {
                        let lane = mask.trailing_zeros() as usize;
                        propose(at + lane / stride, whole);
                        mask &= !(((1 << stride) - 1) << lane);
                    }
                    at += step;
                }
            }
            // The end of the array, and widths that no vector holds.
            for entry in at..to {
                if distance(&entries[entry * stride..][..stride], &sketch[..stride]) <= radius {
                    propose(entry, whole);
                }
            }
        }
    }

    /// Whether a table before `t` proposes this fingerprint, too.
    #[inline]
    fn reported_earlier(&self, t: usize, fp: &[u64], query: &[u64]) -> bool {
        self.layout.tables[..t]
            .iter()
            .zip(self.search.radii)
            .any(|(table, &radius)| (table.key.of(fp) ^ table.key.of(query)).count_ones() as i32 <= radius)
    }
}

/// Lanes of the widest vector.
const MAX_LANES: usize = 8;
/// Words of the longest sketch, or of a whole fingerprint.
const MAX_SKETCH: usize = 16;
/// A sketch, repeated.
type Sketch = [u64; MAX_SKETCH];
