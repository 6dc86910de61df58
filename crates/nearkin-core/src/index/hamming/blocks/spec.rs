//! The choice of tables: their keys, their memory, and the expected cost of a search in them.

use crate::index::hamming::scan::costs::ScanCosts;
use crate::index::hamming::scan::tile::first_test;

/// Widest key: a directory of 2^26 starts takes 256 MiB.
pub(super) const MAX_KEY_BITS: u32 = 26;
/// Queries from which a batch may take buckets in the order of memory.
const ORDERED: usize = 64;
/// Maximum number of words of a sketch.
const SKETCH_WORDS: usize = 4;
/// Nanoseconds to count one entry by its slot number (measured likewise).
const FAR_ENTRY: f64 = 12.0;

/// Nanoseconds to prepare a table for a call, whatever the number of queries (fitted to single queries of 256 bits).
const TABLE: f64 = 400.0;
/// Nanoseconds to start a bucket in a join, which runs in memory order.
const JOIN_PROBE: f64 = 6.0;
/// Nanoseconds to count one word of an entry in a join: buckets fit the first-level cache.
const JOIN_ENTRY: f64 = 0.25;
/// Nanoseconds to put one word of a slot into one table, and to count it.
const BUILD: f64 = 8.0;
/// Key bits whose directory fits the second-level cache; each further bit makes building dearer by the same amount.
const NEAR_KEY: u32 = 18;
/// Nanoseconds to sort and take up one probe of a batch in the order of memory (fitted to 256 bits, radius 40, 14 to 20 tables).
const BATCH_PROBE: f64 = 35.0;
/// Nanoseconds to count one word of an entry in that order.
const BATCH_ENTRY: f64 = 0.06;
/// Nanoseconds to read a byte of a table from memory, once per batch.
const STREAM: f64 = 0.05;

/// Return the nanoseconds to probe one bucket of tables that take `bytes` in all: 15 if they fit the second-level
/// cache, up to 60 if each probe reads memory, and 1.75 times as many if its entries have several words (fitted to
/// single queries of 64 to 256 bits with AVX2).
fn probe_cost(bytes: usize, sketch: usize) -> f64 {
    (30.0 + 7.5 * (bytes as f64 / 50e6).log2()).clamp(15.0, 60.0) * if sketch > 1 { 1.75 } else { 1.0 }
}

/// Return the nanoseconds to count one word of a bucket's entry, which is read from where the tables are (fitted to single
/// queries of 64 to 256 bits with AVX2).
fn entry_cost(bytes: usize) -> f64 {
    (1.4 + 0.4 * (bytes as f64 / 20e6).log2()).clamp(0.7, 3.0)
}

/// Bits `start..start + len` of a fingerprint, at most 26 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct KeyPiece {
    pub(super) start: u32,
    pub(super) len: u32,
}

impl KeyPiece {
    /// Return the highest `len` bits before bit `end`.
    fn ending(end: usize, len: u32) -> Self {
        Self { start: end as u32 - len, len }
    }

    /// Return the bits as a number.
    #[inline(always)]
    pub(super) fn value(self, fp: &[u64]) -> u32 {
        let (word, shift) = ((self.start / 64) as usize, self.start % 64);
        let mut value = fp[word] >> shift;
        if shift + self.len > 64 {
            value |= fp[word + 1] << (64 - shift);
        }
        (value & ((1 << self.len) - 1)) as u32
    }
}

/// Maximum number of blocks whose bits form one key.
pub(super) const MAX_PIECES: usize = 4;

/// The key of a table: one piece or several, at most 26 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) pieces: [KeyPiece; MAX_PIECES],
    pub(super) count: usize,
    pub(super) len: u32,
}

impl Key {
    pub(super) fn new(pieces: &[KeyPiece]) -> Self {
        let mut key = Self { pieces: [KeyPiece::default(); MAX_PIECES], count: pieces.len(), len: 0 };
        for (into, piece) in key.pieces.iter_mut().zip(pieces) {
            *into = *piece;
            key.len += piece.len;
        }
        key
    }

    #[inline(always)]
    pub(super) fn of(&self, fp: &[u64]) -> u32 {
        let mut key = self.pieces[0].value(fp);
        for piece in &self.pieces[1..self.count] {
            key = key << piece.len | piece.value(fp);
        }
        key
    }
}

/// Specification of the tables of a run; the last key is that of the run's own order.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(super) keys: Vec<Key>,
    /// Expected entries in the bucket of each key.
    pub(super) loads: Vec<f64>,
    /// The radius of tables by combinations of blocks; None if the blocks are disjoint, so that any radius can be
    /// spread.
    pub(super) combined: Option<u32>,
    /// Words of a fingerprint that an entry carries; 0 if tables store slot numbers only.
    pub(super) sketch: usize,
}

/// Return the share of random fingerprints whose first `bits` bits differ in at most `radius`.
fn passes(bits: usize, radius: u32) -> f64 {
    let mut term = 0.5_f64.powi(bits as i32);
    let mut sum = 0.0;
    for differing in 0..=(radius as usize).min(bits) {
        sum += term;
        term *= (bits - differing) as f64 / (differing + 1) as f64;
    }
    sum.min(1.0)
}

/// The use of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    /// All pairs of the run.
    Join,
    /// Batches of this many queries.
    Search(usize),
}

/// How tables answer a radius: the radius of each (-1: left out) and the expected cost of a query.
#[derive(Debug, Clone)]
pub(crate) struct Probing {
    /// Radius of each table.
    pub(crate) radii: Vec<i32>,
    /// Expected nanoseconds per query.
    pub(crate) cost: f64,
    /// Expected buckets a query looks into.
    pub(crate) probes: f64,
    /// Expected entries a query counts, by the sampled loads of the buckets.
    pub(crate) candidates: f64,
    /// The same if all bits were fair and independent; skew accounts for the difference from `candidates`.
    pub(crate) fair_candidates: f64,
}

/// Return the bits of a key for `slots` slots, minus `fewer`: about two slots in three buckets.
fn key_bits(slots: usize, fewer: u32) -> u32 {
    (slots.max(2).ilog2() + 1).min(MAX_KEY_BITS).saturating_sub(fewer).max(1)
}

impl Spec {
    /// Create tables of `tables` disjoint blocks in equal shares.
    pub(crate) fn disjoint(bits: usize, tables: usize, sample: &Sample<'_>, fewer: u32, sketch: usize) -> Self {
        let key_len = key_bits(sample.slots, fewer);
        let keys = (0..tables).map(|i| {
            let (start, end) = (i * bits / tables, (i + 1) * bits / tables);
            Key::new(&[KeyPiece::ending(end, ((end - start) as u32).min(key_len))])
        });
        Self::new(keys.collect(), None, sample, sketch)
    }

    /// Create tables of every choice of `blocks - radius` of `blocks` blocks; None if a key would have too many pieces.
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
        let key_len = key_bits(sample.slots, 0).max(chosen as u32);
        let end = |block: usize| (block + 1) * bits / blocks;
        let keys = choices(blocks, chosen).into_iter().map(|choice| {
            if choice >> (blocks - chosen) == (1 << chosen) - 1 {
                // The highest blocks: a leading part of the run's own order.
                return Key::new(&[KeyPiece::ending(
                    bits,
                    ((bits - (blocks - chosen) * bits / blocks) as u32).min(key_len),
                )]);
            }
            let mut pieces = Vec::with_capacity(chosen);
            for block in (0..blocks).filter(|block| choice >> block & 1 == 1) {
                let width = (end(block) - block * bits / blocks) as u32;
                let share = (key_len + pieces.len() as u32) / chosen as u32;
                pieces.push(KeyPiece::ending(end(block), width.min(share.max(1))));
            }
            Key::new(&pieces)
        });
        Some(Self::new(keys.collect(), Some(radius), sample, sketch))
    }

    fn new(keys: Vec<Key>, combined: Option<u32>, sample: &Sample<'_>, sketch: usize) -> Self {
        let loads = keys.iter().map(|key| sample.load(key)).collect();
        Self { keys, loads, combined, sketch }
    }

    /// Return the number of sketch words that random fingerprints fail at `radius`.
    pub(crate) fn sketch_for(words: usize, radius: u32) -> usize {
        first_test(words, radius).min(SKETCH_WORDS)
    }

    /// Return true if table `t` stores slot numbers: all but the last, which is the run, and the later half of tables
    /// of complete fingerprints.
    pub(super) fn has_slots(&self, t: usize, words: usize) -> bool {
        t + 1 < self.keys.len() && (self.sketch < words || 2 * t < self.keys.len())
    }

    /// Number of tables.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Return true if the tables are keyed by combinations of blocks.
    pub(crate) fn is_combined(&self) -> bool {
        self.combined.is_some()
    }

    /// Return true if fingerprints of `bits` bits within the radius of a plan meet in a table: no two keys of disjoint
    /// blocks share a bit, and those of combinations read the bits of their blocks only.
    pub(super) fn is_complete(&self, bits: usize) -> bool {
        let bits_of = |key: &Key| {
            let pieces = key.pieces;
            pieces.into_iter().take(key.count).flat_map(|piece| piece.start..piece.start + piece.len)
        };
        let Some(radius) = self.combined else {
            let mut seen = vec![false; bits];
            return self.keys.iter().flat_map(bits_of).all(|bit| !std::mem::replace(&mut seen[bit as usize], true));
        };
        (1..=MAX_PIECES).any(|chosen| {
            let blocks = radius as usize + chosen;
            let block_of = |bit: u32| (0..blocks).find(|block| (bit as usize) < (block + 1) * bits / blocks);
            blocks <= bits
                && binomial(blocks, chosen) == self.keys.len()
                && self.keys.len() <= MAX_COMBINED
                && choices(blocks, chosen).iter().zip(&self.keys).all(|(choice, key)| {
                    bits_of(key).all(|bit| block_of(bit).is_some_and(|block| choice >> block & 1 == 1))
                })
        })
    }

    /// Append the numbers by which a file describes the tables.
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

    /// Return the expected nanoseconds to build the tables over `slots` slots.
    pub(crate) fn build_cost(&self, slots: usize, words: usize) -> f64 {
        let dearer: u32 = self.keys.iter().map(|key| 1 + key.len.saturating_sub(NEAR_KEY)).sum();
        (slots * (words.min(4) + 1)) as f64 * BUILD * f64::from(dearer)
    }

    /// Plan how these tables answer `radius`: by equality for combinations; otherwise the radius is spread by lowest
    /// marginal cost. None if they cannot.
    pub(crate) fn plan(&self, slots: usize, words: usize, radius: u32, aim: Aim) -> Option<Probing> {
        let bytes = self.bytes(slots, words) + slots * 8 * words;
        let far = |queries| (probe_cost(bytes, self.sketch), entry_cost(bytes), 0.0, TABLE / queries as f64);
        // Where entries are read in order, counting is most of their cost.
        let slowdown = ScanCosts::get().slowdown();
        match aim {
            Aim::Join => self.plan_at(slots, words, radius, (JOIN_PROBE, JOIN_ENTRY * slowdown, 0.0, 0.0)),
            // A sketch of no words leads to fingerprints all over the memory, in whatever order.
            Aim::Search(queries) if queries < ORDERED || self.sketch == 0 => {
                self.plan_at(slots, words, radius, far(queries.max(1)))
            }
            Aim::Search(queries) => {
                let ordered = (BATCH_PROBE, BATCH_ENTRY * slowdown, STREAM / queries as f64, TABLE / queries as f64);
                let (a, b) =
                    (self.plan_at(slots, words, radius, far(queries))?, self.plan_at(slots, words, radius, ordered)?);
                Some(if b.cost < a.cost { b } else { a })
            }
        }
    }

    /// Plan with the costs of a probe, of a word of an entry, and of a byte and the preparation of a table that is used.
    fn plan_at(&self, slots: usize, words: usize, radius: u32, costs: (f64, f64, f64, f64)) -> Option<Probing> {
        let (probe, word, byte, table) = costs;
        let last = self.keys.len() - 1;
        let once = |i: usize| table + byte * (8 * slots * if i == last { words } else { self.sketch }) as f64;
        let sketched = word * self.sketch as f64 + FAR_ENTRY * passes(64 * self.sketch, radius);
        let entry = |i: usize| match self.sketch {
            _ if i == last => word * words as f64,
            0 => FAR_ENTRY,
            sketch if sketch == words => word * words as f64,
            _ => sketched,
        };
        let look = |i: usize| probe + self.loads[i] * entry(i);
        let mut probing = Probing { radii: Vec::new(), cost: 0.0, probes: 0.0, candidates: 0.0, fair_candidates: 0.0 };
        let fair = |i: usize| slots as f64 * 0.5_f64.powi(self.keys[i].len as i32);
        if let Some(max_radius) = self.combined {
            probing.radii = vec![0; self.keys.len()];
            probing.cost = (0..self.keys.len()).map(|i| look(i) + once(i)).sum();
            probing.probes = self.keys.len() as f64;
            probing.candidates = self.loads.iter().sum();
            probing.fair_candidates = (0..self.keys.len()).map(fair).sum();
            return (radius <= max_radius).then_some(probing);
        }
        // Every query is planned, so what does not depend on the radius is computed once for each table.
        let looks: Vec<f64> = (0..self.keys.len()).map(look).collect();
        let mut radii = vec![-1; self.keys.len()];
        // Buckets at exactly the next distance from the key, of each block, and what it costs to read them.
        let mut next: Vec<f64> = vec![1.0; self.keys.len()];
        let mut marginal: Vec<f64> = (0..self.keys.len()).map(|i| looks[i] + once(i)).collect();
        for _ in 0..=radius {
            let (best, cost) = marginal.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
            if cost == f64::INFINITY {
                return None;
            }
            probing.cost += cost;
            probing.probes += next[best];
            probing.candidates += next[best] * self.loads[best];
            probing.fair_candidates += next[best] * fair(best);
            radii[best] += 1;
            let (p, j) = (f64::from(self.keys[best].len), f64::from(radii[best]));
            next[best] *= (p - j) / (j + 1.0);
            marginal[best] = if j < p { next[best] * looks[best] } else { f64::INFINITY };
        }
        probing.radii = radii;
        Some(probing)
    }
}

/// Maximum number of tables by combinations.
pub(super) const MAX_COMBINED: usize = 64;

/// Return every choice of `chosen` of `blocks` <= 64 blocks as a set of bits, ascending.
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

    /// Create a sample that stands for another number of slots than its own.
    #[cfg(test)]
    pub(crate) fn standing_for(words: usize, fps: &'a [u64], slots: usize) -> Self {
        Self { slots, ..Self::new(words, fps) }
    }

    /// Number of slots that the sample stands for.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Return the expected entries in the bucket of an entry: n / 2^p, or n times the share of equal pairs if that is
    /// larger by two deviations.
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
