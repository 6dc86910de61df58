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
//! Cost of a query: `sum of probes_i * (PROBE + ENTRY * n / 2^p)` ([`Layout::plan`] spreads the radius over the blocks by
//! least marginal cost, which is optimal as the marginal cost of a block grows with its radius). Memory: for each table
//! but the run itself, 4 bytes a slot, and 8 * words more where words <= 4 (entries beside each other in memory instead of a
//! look-up each); for every table 2^p * 4 bytes of directory.
//!
//! Memory latency is hidden: probes are gathered, their directory entries prefetched, then their buckets, then they are
//! counted, a vector of whole fingerprints at a time.
//!
//! Sources: G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3;
//! M. Norouzi, A. Punjani, D. J. Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012, section 2.
//! Unlike Norouzi's, the radii of the blocks are chosen by cost and need not be equal.

#![allow(clippy::inline_always, reason = "lanes are inlined into the functions that enable their instructions")]

use super::scan::Sink;
use crate::popcount::{Kernel, Lanes, ScalarLanes, distance};

/// Widest key: a directory of 2^26 starts takes 256 MiB.
const MAX_KEY_BITS: u32 = 26;
/// Words up to which a table keeps its own copies of the fingerprints.
const COPIED_WORDS: usize = 4;
/// Probes that are prefetched together.
const PROBES: usize = 64;
/// Cache lines of a bucket that are prefetched; the hardware follows from there.
const LINES: usize = 24;
/// Nanoseconds to count one word of a bucket's entry (measured by `bench/hamming.py`).
const ENTRY: f64 = 0.7;
/// Nanoseconds to count one entry by its slot number (measured likewise).
const FAR_ENTRY: f64 = 12.0;

/// Nanoseconds to look into one bucket of tables that take `bytes` in all: 15 where they stay in the second-level cache, up
/// to 60 where each look goes to memory (measured likewise).
fn probe_cost(bytes: usize) -> f64 {
    (30.0 + 7.5 * (bytes as f64 / 50e6).log2()).clamp(15.0, 60.0)
}

/// Bits `start..start + len` of a fingerprint, at most 26 of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first bit.
    pub(crate) start: u32,
    /// How many.
    pub(crate) len: u32,
}

impl Block {
    /// The bits of the block as a number.
    #[inline(always)]
    fn key(self, fp: &[u64]) -> u32 {
        let (word, shift) = ((self.start / 64) as usize, self.start % 64);
        let mut key = fp[word] >> shift;
        if shift + self.len > 64 {
            key |= fp[word + 1] << (64 - shift);
        }
        (key & ((1 << self.len) - 1)) as u32
    }
}

/// The slots of a run by one block.
#[derive(Debug)]
struct Table {
    block: Block,
    /// First entry of each key, and the end.
    starts: Vec<u32>,
    /// Slot of each entry; empty in the table that is the run itself.
    slots: Vec<u32>,
    /// Fingerprint of each entry where words <= `COPIED_WORDS`; empty in the table that is the run itself.
    fps: Vec<u64>,
}

/// The tables of a run.
#[derive(Debug)]
pub(crate) struct Layout {
    tables: Vec<Table>,
}

/// How a layout answers a radius: the radius of each block (-1: left out) and the expected cost of a query.
#[derive(Debug, Clone)]
pub(crate) struct Probing {
    /// Radius of each block.
    pub(crate) radii: Vec<i32>,
    /// Expected nanoseconds a query.
    pub(crate) cost: f64,
    /// Expected buckets a query looks into.
    pub(crate) probes: f64,
    /// Expected entries a query counts.
    pub(crate) candidates: f64,
}

/// The blocks of `tables` tables over `bits` bits for `slots` slots: equal shares, cut to a key that fits.
pub(crate) fn cut(bits: usize, tables: usize, slots: usize) -> Vec<Block> {
    let wanted = (slots.max(2).ilog2() + 1).min(MAX_KEY_BITS);
    (0..tables)
        .map(|i| {
            let (start, end) = (i * bits / tables, (i + 1) * bits / tables);
            let len = ((end - start) as u32).min(wanted);
            Block { start: end as u32 - len, len }
        })
        .collect()
}

/// Spreads `radius` over blocks of `lens` bits by least marginal cost; None if some block would have to be searched whole.
pub(crate) fn spread(blocks: &[Block], slots: usize, words: usize, radius: u32) -> Option<Probing> {
    let last = blocks.len() - 1;
    let probe = probe_cost(bytes_of(blocks, slots, words) + slots * 8 * words);
    let entry = |i: usize| if i == last || words <= COPIED_WORDS { ENTRY * words as f64 } else { FAR_ENTRY };
    let mut radii = vec![-1; blocks.len()];
    // Buckets at exactly the next distance from the key, of each block.
    let mut next: Vec<f64> = vec![1.0; blocks.len()];
    let mut probing = Probing { radii: Vec::new(), cost: 0.0, probes: 0.0, candidates: 0.0 };
    for _ in 0..=radius {
        let load = |i: usize| slots as f64 / f64::from(1u32 << blocks[i].len);
        let marginal = |i: usize| next[i] * (probe + load(i) * entry(i));
        let best = (0..blocks.len())
            .filter(|&i| radii[i] < blocks[i].len as i32)
            .min_by(|&a, &b| marginal(a).total_cmp(&marginal(b)))?;
        probing.cost += marginal(best);
        probing.probes += next[best];
        probing.candidates += next[best] * load(best);
        radii[best] += 1;
        let (p, j) = (f64::from(blocks[best].len), f64::from(radii[best]));
        next[best] *= (p - j) / (j + 1.0);
    }
    probing.radii = radii;
    Some(probing)
}

/// Bytes that `tables` tables over `slots` slots take.
pub(crate) fn bytes_of(blocks: &[Block], slots: usize, words: usize) -> usize {
    let entry = 4 + if words <= COPIED_WORDS { 8 * words } else { 0 };
    (blocks.len() - 1) * slots * entry + blocks.iter().map(|block| 4 << block.len).sum::<usize>()
}

impl Layout {
    /// Tables of `fps` by `blocks`, built one at a time.
    pub(crate) fn build(blocks: &[Block], words: usize, fps: &[u64]) -> Self {
        let last = blocks.len() - 1;
        let tables = blocks.iter().enumerate().map(|(i, &block)| Table::build(block, words, fps, i == last));
        Self { tables: tables.collect() }
    }

    /// The number of tables.
    pub(crate) fn len(&self) -> usize {
        self.tables.len()
    }

    /// How this layout would answer `radius` over `slots` slots.
    pub(crate) fn plan(&self, slots: usize, words: usize, radius: u32) -> Option<Probing> {
        let blocks: Vec<Block> = self.tables.iter().map(|table| table.block).collect();
        spread(&blocks, slots, words, radius)
    }

    /// Bytes of all tables.
    pub(crate) fn bytes(&self) -> usize {
        self.tables.iter().map(|t| (t.starts.capacity() + t.slots.capacity()) * 4 + t.fps.capacity() * 8).sum()
    }

    /// Gives `sink` every (query, slot, distance) within `radius`; `fps` are the fingerprints of the slots.
    #[allow(clippy::too_many_arguments, reason = "the whole of a search; there is one caller a kind of search")]
    pub(crate) fn search<S: Sink>(
        &self,
        kernel: Kernel,
        words: usize,
        fps: &[u64],
        queries: &[u64],
        radius: u32,
        radii: &[i32],
        sink: &mut S,
    ) {
        let job = Job { layout: self, words, fps, queries, radius, radii };
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt,bmi1")]
                fn run<S: Sink>(job: &Job<'_>, sink: &mut S) {
                    // SAFETY: the AVX-512 extensions are enabled for this function.
                    unsafe { job.run::<crate::popcount::x86::Avx512Lanes, S>(sink) }
                }
                assert!(Kernel::available().contains(&kernel) && std::arch::is_x86_feature_detected!("bmi1"));
                // SAFETY: the line above has asked the processor.
                unsafe { run(&job, sink) }
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
                unsafe { run(&job, sink) }
            }
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => {
                // SAFETY: NEON is part of every 64-bit ARM.
                unsafe { job.run::<crate::popcount::arm::NeonLanes, S>(sink) }
            }
            _ => {
                // SAFETY: the scalar lanes need no special instructions.
                unsafe { job.run::<ScalarLanes, S>(sink) }
            }
        }
    }
}

impl Table {
    /// A counting sort of the slots by key; the table of the run's own order (`own`) is its directory alone.
    fn build(block: Block, words: usize, fps: &[u64], own: bool) -> Self {
        let slots = fps.len() / words;
        let mut starts = vec![0u32; (1 << block.len) + 1];
        for fp in fps.chunks_exact(words) {
            starts[block.key(fp) as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        if own {
            return Self { block, starts, slots: Vec::new(), fps: Vec::new() };
        }
        let copied = words <= COPIED_WORDS;
        let mut order = vec![0u32; slots];
        let mut copies = vec![0u64; if copied { slots * words } else { 0 }];
        let put = |order: &mut [u32], copies: &mut [u64], at: usize, slot: u32, fp: &[u64]| {
            order[at] = slot;
            if copied {
                copies[at * words..(at + 1) * words].copy_from_slice(fp);
            }
        };
        // Scattering into 2^len places at once would miss every cache: first by the high bits, then within each part.
        let low = block.len.saturating_sub(PART_BITS);
        let mut parts: Vec<u32> = starts.iter().step_by(1 << low).copied().collect();
        for (slot, fp) in fps.chunks_exact(words).enumerate() {
            let at = &mut parts[(block.key(fp) >> low) as usize];
            put(&mut order, &mut copies, *at as usize, slot as u32, fp);
            *at += 1;
        }
        if low == 0 {
            return Self { block, starts, slots: order, fps: copies };
        }
        let (mut part, mut part_fps) = (Vec::new(), Vec::new());
        let mut next = Vec::new();
        for first in (0..1usize << block.len).step_by(1 << low) {
            let range = starts[first] as usize..starts[first + (1 << low)] as usize;
            part.clear();
            part.extend_from_slice(&order[range.clone()]);
            part_fps.clear();
            part_fps.extend_from_slice(if copied { &copies[range.start * words..range.end * words] } else { &[] });
            next.clear();
            next.extend_from_slice(&starts[first..first + (1 << low)]);
            for (i, &slot) in part.iter().enumerate() {
                let fp = if copied { &part_fps[i * words..][..words] } else { &fps[slot as usize * words..][..words] };
                let at = &mut next[block.key(fp) as usize - first];
                put(&mut order, &mut copies, *at as usize, slot, fp);
                *at += 1;
            }
        }
        Self { block, starts, slots: order, fps: copies }
    }
}

/// Bits of the first pass of a table's sort: 256 places are written at once.
const PART_BITS: u32 = 8;

struct Job<'a> {
    layout: &'a Layout,
    words: usize,
    fps: &'a [u64],
    queries: &'a [u64],
    radius: u32,
    radii: &'a [i32],
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
    if let Some(_element) = slice.get(at) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch of an address within a slice; SSE is part of every x86-64.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(_element).cast());
        }
    }
}

impl Job<'_> {
    /// # Safety
    /// The processor has the instructions of `L`, and the caller enables them.
    #[inline(always)]
    unsafe fn run<L: Lanes, S: Sink>(&self, sink: &mut S) {
        let mut probes = [Probe::default(); PROBES];
        for (t, table) in self.layout.tables.iter().enumerate() {
            let mut gathered = 0;
            for (number, query) in self.queries.chunks_exact(self.words).enumerate() {
                let key = table.block.key(query);
                let len = table.block.len;
                for weight in 0..=self.radii[t] {
                    // All words of `weight` ones in `len` bits, in ascending order.
                    let mut flips: u32 = (1 << weight) - 1;
                    loop {
                        let bucket = key ^ flips;
                        prefetch(&table.starts, bucket as usize);
                        probes[gathered] = Probe { query: number as u32, from: bucket, to: 0 };
                        gathered += 1;
                        if gathered == PROBES {
                            // SAFETY: the caller vouches for `L`.
                            unsafe { self.look::<L, S>(t, table, &mut probes[..gathered], sink) };
                            gathered = 0;
                        }
                        if weight == 0 {
                            break;
                        }
                        let low = flips & flips.wrapping_neg();
                        let ripple = flips + low;
                        flips = ripple | (((flips ^ ripple) >> 2) >> low.trailing_zeros());
                        if flips >> len != 0 {
                            break;
                        }
                    }
                }
            }
            // SAFETY: the caller vouches for `L`.
            unsafe { self.look::<L, S>(t, table, &mut probes[..gathered], sink) };
        }
    }

    /// Looks into gathered buckets.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn look<L: Lanes, S: Sink>(&self, t: usize, table: &Table, probes: &mut [Probe], sink: &mut S) {
        let words = self.words;
        let own = table.slots.is_empty();
        let entries: &[u64] = if own { self.fps } else { &table.fps };
        for probe in &mut *probes {
            let bucket = probe.from as usize;
            (probe.from, probe.to) = (table.starts[bucket], table.starts[bucket + 1]);
            if probe.from == probe.to {
                continue;
            }
            if entries.is_empty() {
                prefetch(&table.slots, probe.from as usize);
            } else {
                let (from, to) = (probe.from as usize * words, probe.to as usize * words);
                for line in 0..LINES {
                    if from + 8 * line < to {
                        prefetch(entries, from + 8 * line);
                    }
                }
            }
        }
        if entries.is_empty() {
            for probe in &*probes {
                for &slot in &table.slots[probe.from as usize..probe.to as usize] {
                    prefetch(self.fps, slot as usize * words);
                }
            }
        }
        for probe in &*probes {
            let query = &self.queries[probe.query as usize * words..][..words];
            let (from, to) = (probe.from as usize, probe.to as usize);
            if entries.is_empty() {
                for &slot in &table.slots[from..to] {
                    let fp = &self.fps[slot as usize * words..][..words];
                    if distance(fp, query) <= self.radius {
                        self.propose(t, slot, fp, probe.query, query, sink);
                    }
                }
                continue;
            }
            let mut propose = |entry: usize| {
                let fp = &entries[entry * words..][..words];
                let slot = if own { entry as u32 } else { table.slots[entry] };
                self.propose(t, slot, fp, probe.query, query, sink);
            };
            let mut at = from;
            if words.is_power_of_two() && words <= L::N {
                let step = L::N / words;
                let mut pattern = [0; MAX_LANES];
                for (lane, word) in pattern[..L::N].iter_mut().enumerate() {
                    *word = query[lane % words];
                }
                // SAFETY: the caller vouches for `L`; `pattern` holds `L::N` words.
                let (pattern, bound) = unsafe { (L::load(pattern.as_ptr()), L::splat(u64::from(self.radius))) };
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
                if distance(&entries[entry * words..][..words], query) <= self.radius {
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
            .zip(self.radii)
            .any(|(table, &radius)| (table.block.key(fp) ^ table.block.key(query)).count_ones() as i32 <= radius);
        if !earlier {
            sink.hit(number, slot, distance(fp, query));
        }
    }
}

/// Lanes of the widest vector.
const MAX_LANES: usize = 8;
