//! Block tables: the pigeonhole, with a small radius in every block.
//!
//! Cut the bits into m blocks and give block i a radius `r_i >= -1` with `sum of (r_i + 1) = radius + 1`. If a and b
//! differ in at most `radius` bits, some block i has `d_i(a, b) <= r_i`: otherwise every block differs in at least
//! `r_i + 1` bits, in all radius + 1 (`r_i = -1` leaves the block out). With m = radius + 1 and all `r_i = 0` this is the
//! plain pigeonhole of k + 1 blocks; with fewer blocks it is multi-index hashing. The same holds for any part of a
//! block, so a table is keyed by the highest p <= 26 bits of its block, where p is about log2 of the slots and a
//! directory of 2^p + 1 starts is worth its memory. The run itself is in numeric order, so it is the table of the
//! highest block and requires memory for its directory only.
//!
//! A query reads the buckets of all keys within `r_i` of its own, `sum over j <= r_i of C(p, j)` buckets, and counts
//! every entry in full. Random data put n / 2^p entries in a bucket. If several tables propose an entry, only the first
//! reports it: the table i for which no earlier table j has `d_j <= r_j`.
//!
//! Cost of a query: `sum of probes_i * (PROBE + ENTRY * n / 2^p)` ([`Spec::plan`] spreads the radius over the blocks by
//! lowest marginal cost, which is optimal as the marginal cost of a block grows with its radius). Memory: for each
//! table except the run itself, 4 bytes per slot for its number and 8 bytes for each word of its sketch; for every
//! table 2^p * 4 bytes of directory.
//!
//! **Sketches.** An entry carries some words of its fingerprint, those after the word of the key: just enough for a
//! random fingerprint to fail (`first_test`). Entries that pass are counted in full. If the sketch is the complete
//! fingerprint, a binary search in its bucket of the run finds the slot; so the later half of the tables, which report
//! only entries that no earlier table has, store no slot numbers.
//!
//! **Parts.** A batch visits a table part by part. A part consists of the buckets whose keys share their highest bits;
//! the flips that lead from a key into a part are a range. So buckets that are read again are still in the cache.
//!
//! If the probes of a batch cover a quarter of the buckets or more, they are first sorted by bucket with a counting
//! sort, and each bucket is read once for all its queries: a search of some blocks of all queries, at the speed of a
//! scan.
//!
//! **Combinations** (Manku et al.): cut the bits into m > radius blocks; at least m - radius of them agree, so one
//! table for every choice of m - radius blocks, keyed by all their bits, finds all by equality: `C(m, radius)` tables
//! of fewer candidates. Their keys are cut to about log2 n bits as well, evenly over the chosen blocks: a directory of
//! that many starts does in one read what interpolation search does in O(log log n).
//!
//! **All pairs** are found inside the tables: for every bucket and every key within `r_i` of its key, the entries of
//! both are compared, each pair of buckets once, in memory order.
//!
//! **Skew.** The expected number of entries in a bucket is the mean over entries of the data: `sum of c^2 / n` over
//! buckets of c entries once a table is built, and the share of equal keys in a sample before. A block of constant bits
//! is left out (`r_i = -1`) because of its cost.
//!
//! Memory latency is hidden: probes are gathered, their directory entries prefetched, then their buckets, then they are
//! counted, one vector of fingerprints at a time.
//!
//! Sources: G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3;
//! M. Norouzi, A. Punjani, D. J. Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012, section 2.
//! Unlike Norouzi's, the radii of the blocks are chosen by cost and need not be equal.
mod probe;
mod spec;
mod table;

use super::scan::tile::Sink;
use crate::Result;
use crate::cancel::CancelToken;
use crate::cpu::popcount::{Kernel, words_of};
use crate::segment::numbers::Reader;
use crate::segment::{Segment, Writer};
use probe::ProbeJob;
pub(crate) use spec::{Aim, Probing, Sample, Spec};
use spec::{Key, KeyPiece, MAX_COMBINED, MAX_KEY_BITS, MAX_PIECES};
use table::{Table, sketch_word};

/// Sections of table `number`: starts, slots, fingerprints.
const TABLE: u32 = 20;

/// The tables of a run.
#[derive(Debug)]
pub(crate) struct Layout {
    spec: Spec,
    tables: Vec<Table>,
}

/// A search in a layout.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    /// Words of a fingerprint.
    pub(crate) words: usize,
    /// Fingerprints of the slots.
    pub(crate) fps: &'a [u64],
    /// The queries of `Layout::search`.
    pub(crate) queries: &'a [u64],
    /// Largest distance.
    pub(crate) radius: u32,
    /// Radius of each table.
    pub(crate) radii: &'a [i32],
    /// Ends it early once it is set.
    pub(crate) cancel: &'a CancelToken,
}

impl Layout {
    /// Build the tables of `fps`, one at a time.
    ///
    /// # Errors
    /// The call is cancelled.
    pub(crate) fn build(mut spec: Spec, words: usize, fps: &[u64], cancel: &CancelToken) -> Result<Self> {
        let last = spec.keys.len() - 1;
        let tables = spec
            .keys
            .iter()
            .enumerate()
            .map(|(t, &key)| {
                if t == last {
                    Table::own(key, words, fps, cancel)
                } else {
                    Table::build(key, words, fps, (spec.sketch, spec.has_slots(t, words)), cancel)
                }
            })
            .collect::<Result<Vec<Table>>>()?;
        let slots = (fps.len() / words).max(1) as f64;
        for (load, table) in spec.loads.iter_mut().zip(&tables) {
            let squares = table.starts.windows(2).map(|pair| f64::from(pair[1] - pair[0]).powi(2));
            *load = squares.sum::<f64>() / slots;
        }
        Ok(Self { spec, tables })
    }

    /// Return the specification of the tables.
    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Return the bytes of all tables.
    pub(crate) fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.starts.bytes() + table.slots.bytes() + table.fps.bytes()).sum()
    }

    /// Write the arrays of all tables.
    pub(crate) fn save(&self, writer: &mut Writer) -> Result<()> {
        for (number, table) in (0..).zip(&self.tables) {
            writer.section(TABLE, number, &table.starts)?;
            writer.section(TABLE + 1, number, &table.slots)?;
            writer.section(TABLE + 2, number, &table.fps)?;
        }
        Ok(())
    }

    /// Open the tables of a run of `slots` slots, as `Spec::describe` and `save` wrote them; None if there are no
    /// tables.
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
                pieces.push(KeyPiece { start, len });
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
            let is_complete = own || sketch == words;
            let agree = table.starts.len() == (1 << key.len) + 1
                && (table.slots.len() == if own { 0 } else { slots } || (is_complete && table.slots.is_empty()))
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

    /// Return true if the keys find every distance, and every table holds every slot of a run once, in the bucket of
    /// its key.
    pub(crate) fn is_sound(&self, bits: usize, fps: &[u64]) -> bool {
        let words = words_of(bits);
        let slots = fps.len() / words;
        let sketch = self.spec.sketch;
        let bounds = |table: &Table| {
            table.starts.first() == Some(&0)
                && table.starts.last() == Some(&(slots as u32))
                && table.starts.windows(2).all(|pair| pair[0] <= pair[1])
        };
        let slot_of = |table: &Table, entry: usize| match table.slots.get(entry) {
            Some(&slot) => slot as usize,
            None if table.own => entry,
            None => self.locate(words, fps, &table.fps[entry * words..(entry + 1) * words]) as usize,
        };
        let entry_is_sound = |table: &Table, bucket: usize, entry: usize| {
            let slot = slot_of(table, entry);
            fps.get(slot * words..(slot + 1) * words).is_some_and(|fp| {
                let words = || (0..sketch).map(|word| sketch_word(&table.key, fp, sketch, word));
                table.key.of(fp) as usize == bucket
                    && (table.own || words().eq(table.fps[entry * sketch..(entry + 1) * sketch].iter().copied()))
            })
        };
        // A bucket holds its slots in ascending order, so none twice. The run's own table comes first, because the
        // others are compared with it.
        self.spec.is_complete(bits)
            && self.tables.iter().rev().all(|table| {
                bounds(table)
                    && table.starts.windows(2).enumerate().all(|(bucket, range)| {
                        let entries = range[0] as usize..range[1] as usize;
                        entries.clone().all(|entry| entry_is_sound(table, bucket, entry))
                            && entries.map(|entry| slot_of(table, entry)).is_sorted_by(|a, b| a < b)
                    })
            })
    }

    /// Return the slot of a fingerprint in the run, by a binary search in its bucket.
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

    /// Split the buckets of all tables that take part in a search into ranges of at most `max_entries` entries: (table,
    /// first, end).
    pub(crate) fn bucket_ranges(&self, radii: &[i32], max_entries: usize) -> Vec<(usize, u32, u32)> {
        let mut ranges = Vec::new();
        for (t, table) in self.tables.iter().enumerate().filter(|(t, _)| radii[*t] >= 0) {
            let buckets = table.starts.len() - 1;
            let mut first = 0;
            while first < buckets {
                // Full buckets of about `max_entries` entries.
                let limit = table.starts[first].saturating_add(max_entries as u32);
                let end = table.starts[first + 1..buckets].partition_point(|&start| start <= limit) + first + 1;
                ranges.push((t, first as u32, end as u32));
                first = end;
            }
        }
        ranges
    }

    /// Call `sink` with every (query, slot, distance) within the radius, once.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn search(&self, kernel: Kernel, search: Search<'_>, sink: &mut dyn Sink) -> Result<()> {
        ProbeJob::new(self, search, None)?.dispatch(kernel, sink)
    }

    /// Call `sink` with every (slot, slot, distance) within the radius that `buckets` (table, first, end) propose,
    /// once.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn join(
        &self,
        kernel: Kernel,
        search: Search<'_>,
        buckets: (usize, u32, u32),
        sink: &mut dyn Sink,
    ) -> Result<()> {
        ProbeJob::new(self, search, Some(buckets))?.dispatch(kernel, sink)
    }
}
