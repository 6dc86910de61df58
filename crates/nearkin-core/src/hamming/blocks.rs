//! Block tables: the pigeonhole, with a small radius in every block.
//!
//! Cut the bits into m blocks and give block i a radius `r_i >= -1` with `sum of (r_i + 1) = radius + 1`. If a and b
//! differ in at most `radius` bits, some block i has `d_i(a, b) <= r_i`: otherwise every block differs in at least
//! `r_i + 1` bits, in all radius + 1 (`r_i = -1` leaves the block out). With m = radius + 1 and all `r_i = 0` this is the
//! plain pigeonhole of k + 1 blocks; with fewer blocks it is multi-index hashing. The same holds for any part of a block,
//! so a table is keyed by the first p <= 26 bits of its block, where p is about log2 of the slots and a directory of
//! 2^p + 1 starts is worth its memory.
//!
//! A query looks into the buckets of all keys within `r_i` of its own, `sum over j <= r_i of C(p, j)` of them, and counts
//! every entry in full. Random data put n / 2^p entries in a bucket. An entry that several tables propose is reported by
//! the first alone: by the table i for which no earlier table j has `d_j <= r_j`.
//!
//! Cost of a query: `sum of probes_i * (PROBE + ENTRY * n / 2^p)` ([`Layout::plan`] spreads the radius over the blocks by
//! least marginal cost, which is optimal as the marginal cost of a block grows with its radius). Memory: per table and
//! slot 4 bytes, and 8 * words more where words <= 2 (entries beside each other in memory instead of a look-up each),
//! and 2^p * 4 bytes of directory.
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
const COPIED_WORDS: usize = 2;
/// Nanoseconds to look into a bucket: a miss of the directory and one of the entries, partly overlapped (measured by
/// `bench/hamming.py`).
pub(crate) const PROBE: f64 = 8.0;
/// Nanoseconds to count one copied entry of one or two words (measured likewise).
pub(crate) const ENTRY: f64 = 0.4;
/// Nanoseconds to count one entry by its slot number.
pub(crate) const FAR_ENTRY: f64 = 6.0;

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
    /// Slot of each entry.
    slots: Vec<u32>,
    /// Fingerprint of each entry where words <= 2, with a vector's length of zeros behind.
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
            Block { start: start as u32, len: ((end - start) as u32).min(wanted) }
        })
        .collect()
}

/// Spreads `radius` over blocks of `lens` bits by least marginal cost; None if some block would have to be searched whole.
pub(crate) fn spread(blocks: &[Block], slots: usize, words: usize, radius: u32) -> Option<Probing> {
    let entry = if words <= COPIED_WORDS { ENTRY } else { FAR_ENTRY };
    let mut radii = vec![-1; blocks.len()];
    // Buckets at exactly the next distance from the key, of each block.
    let mut next: Vec<f64> = vec![1.0; blocks.len()];
    let mut probing = Probing { radii: Vec::new(), cost: 0.0, probes: 0.0, candidates: 0.0 };
    for _ in 0..=radius {
        let load = |i: usize| slots as f64 / f64::from(1u32 << blocks[i].len);
        let marginal = |i: usize| next[i] * (PROBE + load(i) * entry);
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
    blocks.iter().map(|block| slots * entry + (4 << block.len)).sum()
}

impl Layout {
    /// Tables of `fps` by `blocks`, built one at a time.
    pub(crate) fn build(blocks: &[Block], words: usize, fps: &[u64]) -> Self {
        let tables = blocks.iter().map(|&block| Table::build(block, words, fps)).collect();
        Self { tables }
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
    /// A counting sort of the slots by key.
    fn build(block: Block, words: usize, fps: &[u64]) -> Self {
        let slots = fps.len() / words;
        let mut starts = vec![0u32; (1 << block.len) + 1];
        for fp in fps.chunks_exact(words) {
            starts[block.key(fp) as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let copied = words <= COPIED_WORDS;
        let mut order = vec![0u32; slots];
        let mut copies = vec![0u64; if copied { slots * words + PADDING } else { 0 }];
        let mut next = starts.clone();
        for (slot, fp) in fps.chunks_exact(words).enumerate() {
            let at = &mut next[block.key(fp) as usize];
            order[*at as usize] = slot as u32;
            if copied {
                copies[*at as usize * words..(*at as usize + 1) * words].copy_from_slice(fp);
            }
            *at += 1;
        }
        Self { block, starts, slots: order, fps: copies }
    }
}

/// Words behind the copies, so that a vector may be read at the last entry.
const PADDING: usize = 8;

struct Job<'a> {
    layout: &'a Layout,
    words: usize,
    fps: &'a [u64],
    queries: &'a [u64],
    radius: u32,
    radii: &'a [i32],
}

impl Job<'_> {
    /// # Safety
    /// The processor has the instructions of `L`, and the caller enables them.
    #[inline(always)]
    unsafe fn run<L: Lanes, S: Sink>(&self, sink: &mut S) {
        for (number, query) in self.queries.chunks_exact(self.words).enumerate() {
            for (t, table) in self.layout.tables.iter().enumerate() {
                let key = table.block.key(query);
                for weight in 0..=self.radii[t] {
                    // All words of `weight` ones in `len` bits, in ascending order.
                    let len = table.block.len;
                    let mut flips: u32 = (1 << weight) - 1;
                    loop {
                        let bucket = (key ^ flips) as usize;
                        let (from, to) = (table.starts[bucket] as usize, table.starts[bucket + 1] as usize);
                        // SAFETY: the caller vouches for `L`.
                        unsafe { self.bucket::<L, S>(t, table, from, to, number as u32, query, sink) };
                        if weight == 0 {
                            break;
                        }
                        let low = flips & flips.wrapping_neg();
                        let ripple = flips + low;
                        flips = ripple | (((flips ^ ripple) >> 2) / low);
                        if flips >> len != 0 {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Counts entries `from..to` of a table.
    ///
    /// # Safety
    /// As for `run`.
    #[allow(clippy::too_many_arguments, reason = "the state of the loop that it is a part of")]
    #[inline(always)]
    unsafe fn bucket<L: Lanes, S: Sink>(
        &self,
        t: usize,
        table: &Table,
        from: usize,
        to: usize,
        number: u32,
        query: &[u64],
        sink: &mut S,
    ) {
        match self.words {
            1 => {
                // SAFETY: the caller vouches for `L`; the copies end with a vector's length of zeros.
                let (value, bound) = unsafe { (L::splat(query[0]), L::splat(u64::from(self.radius))) };
                let mut at = from;
                while at < to {
                    debug_assert!(at + L::N <= table.fps.len());
                    // SAFETY: as above.
                    let mut mask =
                        unsafe { L::at_most(L::count_xor(L::load(table.fps.as_ptr().add(at)), value), bound) };
                    if at + L::N > to {
                        mask &= (1 << (to - at)) - 1;
                    }
                    while mask != 0 {
                        let entry = at + mask.trailing_zeros() as usize;
                        mask &= mask - 1;
                        self.propose(t, table, entry, &table.fps[entry..=entry], number, query, sink);
                    }
                    at += L::N;
                }
            }
            2 => {
                for (i, fp) in table.fps[2 * from..2 * to].chunks_exact(2).enumerate() {
                    if distance(fp, query) <= self.radius {
                        self.propose(t, table, from + i, fp, number, query, sink);
                    }
                }
            }
            words => {
                for (i, &slot) in table.slots[from..to].iter().enumerate() {
                    let fp = &self.fps[slot as usize * words..(slot as usize + 1) * words];
                    if distance(fp, query) <= self.radius {
                        self.propose(t, table, from + i, fp, number, query, sink);
                    }
                }
            }
        }
    }

    /// Reports an entry within the radius unless an earlier table has.
    #[allow(clippy::too_many_arguments, reason = "the state of the loop that it is a part of")]
    #[inline]
    fn propose<S: Sink>(
        &self,
        t: usize,
        table: &Table,
        entry: usize,
        fp: &[u64],
        number: u32,
        query: &[u64],
        sink: &mut S,
    ) {
        let earlier = self.layout.tables[..t]
            .iter()
            .zip(self.radii)
            .any(|(table, &radius)| (table.block.key(fp) ^ table.block.key(query)).count_ones() as i32 <= radius);
        if !earlier {
            sink.hit(number, table.slots[entry], distance(fp, query));
        }
    }
}
