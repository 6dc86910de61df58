//! A hash table from grams to the positions of their words, and a filter before it.
//!
//! With `m = K g` for a gram's hash g (modulo 2^64):
//!
//! - the *filter* is a blocked Bloom filter: a word of 64 bits by the upper bits of m, four bits in it by the lower bits of
//!   `m ^ m >> 32`; with [`FILTER_BITS`] bits per gram, two of a hundred other grams pass;
//! - the *table* has open addressing: a slot holds 31 bits of the hash, one bit for a list, and the position or the start
//!   of a list (its length, then positions); 0 is a free slot. It is three quarters full.
//!
//! A gram that is not in the table is taken for one with a probability of about 2^-30; verification compares words.

use crate::alloc;
use crate::cpu::prefetch::prefetch_at;
use crate::segment::Column;
use crate::{Error, Result};

const K: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bits of the filter per gram.
const FILTER_BITS: usize = 12;
/// The bit of an entry that has a list.
const LIST: u64 = 1 << 32;

/// A blocked Bloom filter of grams.
#[derive(Default)]
pub(super) struct Filter(pub(super) Column<u64>);

impl Filter {
    /// Build the filter of `count` grams; empty for none.
    fn new(count: usize, grams: impl Iterator<Item = u64>) -> Result<Self> {
        let mut blocks = alloc::try_zeroed::<u64>((count * FILTER_BITS).div_ceil(64))?;
        for gram in grams {
            let m = gram.wrapping_mul(K);
            let block = scale(m, blocks.len());
            blocks[block] |= filter_bits(m);
        }
        Ok(Self(blocks.into()))
    }

    /// Prefetch the filter for a gram.
    #[inline(always)]
    pub(super) fn prefetch(&self, gram: u64) {
        prefetch_at(&self.0, scale(gram.wrapping_mul(K), self.0.len()));
    }

    /// Return false if the gram is not one of the filter's.
    #[inline(always)]
    pub(super) fn may_have(&self, gram: u64) -> bool {
        let m = gram.wrapping_mul(K);
        let bits = filter_bits(m);
        !self.0.is_empty() && self.0[scale(m, self.0.len())] & bits == bits
    }
}

/// An entry of the table: a position, or the start of a list.
#[derive(Clone, Copy)]
pub(super) struct Entry(u64);

/// Grams and their positions.
#[derive(Default)]
pub(super) struct GramTable {
    pub(super) filter: Filter,
    /// Grams of short items alone, which are looked up whether winnowing selects them or not.
    pub(super) short: Filter,
    pub(super) slots: Column<u64>,
    /// Positions of grams that have several, after their number.
    pub(super) lists: Column<u32>,
}

/// Return the place of `m` among `count`.
#[inline(always)]
fn scale(m: u64, count: usize) -> usize {
    ((u128::from(m) * count as u128) >> 64) as usize
}

#[inline(always)]
fn filter_bits(m: u64) -> u64 {
    let low = m ^ m >> 32;
    1 << (low & 63) | 1 << (low >> 6 & 63) | 1 << (low >> 12 & 63) | 1 << (low >> 18 & 63)
}

/// Return the tag of `m`: 31 bits, not 0.
#[inline(always)]
fn tag(m: u64) -> u64 {
    (m & 0x7fff_ffff).max(1)
}

impl GramTable {
    /// Build the table of the grams and positions that `grams` yields, positions ascending and at least one each;
    /// `is_short` tells whether one belongs to a short item.
    ///
    /// # Errors
    /// Memory runs out; more than 2^32 positions.
    pub(super) fn new<'a, I: Iterator<Item = &'a [(u64, u32)]>>(
        grams: impl Fn() -> I,
        is_short: impl Fn(&[(u64, u32)]) -> bool,
    ) -> Result<Self> {
        let count = grams().count();
        let short = || grams().filter(|group| is_short(group)).map(|group| group[0].0);
        let short = Filter::new(short().count(), short())?;
        let filter = Filter::new(count, grams().map(|group| group[0].0))?;
        let mut slots = alloc::try_zeroed::<u64>((count + count / 3).max(count + 1))?;
        let mut lists: Vec<u32> = Vec::new();
        for group in grams() {
            let m = group[0].0.wrapping_mul(K);
            let entry = if let [(_, position)] = group {
                tag(m) << 33 | u64::from(*position)
            } else {
                let start = u32::try_from(lists.len())
                    .map_err(|_| Error::parameter("items", "more than 2^32 words", "fewer"))?;
                alloc::try_reserve(&mut lists, group.len() + 1)?;
                lists.push(group.len() as u32);
                lists.extend(group.iter().map(|&(_, position)| position));
                tag(m) << 33 | LIST | u64::from(start)
            };
            let mut slot = scale(m, slots.len());
            while slots[slot] != 0 {
                slot = if slot + 1 == slots.len() { 0 } else { slot + 1 };
            }
            slots[slot] = entry;
        }
        Ok(Self { filter, short, slots: slots.into(), lists: lists.into() })
    }

    pub(super) fn num_bytes(&self) -> usize {
        8 * (self.filter.0.len() + self.short.0.len() + self.slots.len()) + 4 * self.lists.len()
    }

    /// Prefetch the slot of a gram.
    #[inline(always)]
    pub(super) fn prefetch_slot(&self, gram: u64) {
        prefetch_at(&self.slots, scale(gram.wrapping_mul(K), self.slots.len()));
    }

    /// Call `each` with the entries of a gram, and prefetch their lists.
    #[inline(always)]
    pub(super) fn entries(&self, gram: u64, mut each: impl FnMut(Entry)) {
        let m = gram.wrapping_mul(K);
        let mut slot = scale(m, self.slots.len());
        // A table in a file may be full.
        for _ in 0..self.slots.len() {
            let entry = self.slots[slot];
            if entry == 0 {
                return;
            }
            if entry >> 33 == tag(m) {
                if entry & LIST != 0 {
                    prefetch_at(&self.lists, entry as u32 as usize);
                }
                each(Entry(entry));
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
        }
    }

    /// Return the positions of an entry.
    #[inline(always)]
    pub(super) fn positions<'a>(&'a self, entry: &'a Entry) -> impl Iterator<Item = u32> + 'a {
        let (single, list): (Option<u32>, &[u32]) = if entry.0 & LIST == 0 {
            (Some(entry.0 as u32), &[])
        } else {
            let start = entry.0 as u32 as usize + 1;
            (None, &self.lists[start..start + self.lists[start - 1] as usize])
        };
        single.into_iter().chain(list.iter().copied())
    }
}
