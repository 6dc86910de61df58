//! A table: the slots of a run in the order of one key, by a counting sort.

use super::spec::Key;
use crate::Result;
use crate::alloc;
use crate::cancel::CancelToken;
use crate::segment::Column;

/// The slots of a run by one key.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) key: Key,
    /// First entry of each key, and the end.
    pub(super) starts: Column<u32>,
    /// Slot of each entry; empty in the run's own table, and if complete fingerprints identify the slot.
    pub(super) slots: Column<u32>,
    /// Sketch of each entry; empty in the run's own table, and if sketches have no words.
    pub(super) fps: Column<u64>,
    /// The run itself?
    pub(super) own: bool,
}

/// Return word `word` of the sketch of a fingerprint: the words after that of the key.
#[inline(always)]
pub(super) fn sketch_word(key: &Key, fp: &[u64], sketch: usize, word: usize) -> u64 {
    if sketch == fp.len() {
        return fp[word];
    }
    let at = key.pieces[0].start as usize / 64 + 1 + word;
    fp[if at >= fp.len() { at - fp.len() } else { at }]
}

impl Table {
    /// Count the first entry of each key, and the end.
    fn directory(key: Key, words: usize, fps: &[u64], cancel: &CancelToken) -> Result<Vec<u32>> {
        let mut starts = alloc::try_zeroed::<u32>((1 << key.len) + 1)?;
        for fps in fps.chunks(BLOCK * words) {
            cancel.check()?;
            for fp in fps.chunks_exact(words) {
                starts[key.of(fp) as usize + 1] += 1;
            }
        }
        alloc::prefix_sums(&mut starts);
        Ok(starts)
    }

    /// Build the run's own table: its directory only.
    pub(super) fn own(key: Key, words: usize, fps: &[u64], cancel: &CancelToken) -> Result<Self> {
        let starts = Self::directory(key, words, fps, cancel)?;
        Ok(Self { key, starts: starts.into(), slots: Column::default(), fps: Column::default(), own: true })
    }

    /// Sort the slots by key, with sketches of `sketch` words, numbered or not.
    pub(super) fn build(
        key: Key,
        words: usize,
        fps: &[u64],
        (sketch, numbered): (usize, bool),
        cancel: &CancelToken,
    ) -> Result<Self> {
        let slots = fps.len() / words;
        let starts = Self::directory(key, words, fps, cancel)?;
        let mut sorted = Entries::new(slots, sketch, numbered)?;
        // Scattering into 2^len positions at once would miss every cache: sort by the high bits first, then within each
        // part.
        let low = key.len.saturating_sub(PART_BITS);
        let mut next: Vec<u32> = starts.iter().step_by(1 << low).copied().collect();
        let mut keys = alloc::try_zeroed::<u32>(if low > 0 { slots } else { 0 })?;
        for (block, fps) in fps.chunks(BLOCK * words).enumerate() {
            cancel.check()?;
            for (slot, fp) in fps.chunks_exact(words).enumerate() {
                let value = key.of(fp);
                let at = next[(value >> low) as usize] as usize;
                next[(value >> low) as usize] += 1;
                if let Some(entry) = keys.get_mut(at) {
                    *entry = value;
                }
                if let Some(entry) = sorted.slots.get_mut(at) {
                    *entry = (block * BLOCK + slot) as u32;
                }
                for word in 0..sketch {
                    sorted.fps[at * sketch + word] = sketch_word(&key, fp, sketch, word);
                }
            }
        }
        let mut part = Entries::new(0, sketch, numbered)?;
        for begin in (0..1usize << key.len).step_by(1 << low).take(if low == 0 { 0 } else { usize::MAX }) {
            cancel.check()?;
            let range = starts[begin] as usize..starts[begin + (1 << low)] as usize;
            part.slots.clear();
            alloc::try_reserve(&mut part.slots, if numbered { range.len() } else { 0 })?;
            part.slots.extend_from_slice(sorted.slots.get(range.clone()).unwrap_or_default());
            part.fps.clear();
            alloc::try_reserve(&mut part.fps, range.len() * sketch)?;
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
        Ok(Self { key, starts: starts.into(), slots: sorted.slots.into(), fps: sorted.fps.into(), own: false })
    }
}

/// Entries of a table while it is sorted.
struct Entries {
    slots: Vec<u32>,
    fps: Vec<u64>,
}

impl Entries {
    fn new(slots: usize, sketch: usize, numbered: bool) -> Result<Self> {
        Ok(Self {
            slots: alloc::try_zeroed(if numbered { slots } else { 0 })?,
            fps: alloc::try_zeroed(slots * sketch)?,
        })
    }
}

/// Slots that are sorted between two cancellation points.
const BLOCK: usize = 1 << 16;
/// Bits of the first pass of a table's sort: 256 positions are written at once.
const PART_BITS: u32 = 8;
