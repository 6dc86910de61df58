//! A sorted run: for every band, the keys of all its items in ascending order, with the item numbers.
//!
//! A directory stores, for the upper p bits of the keys of a band, where they begin: with p about log2 n − 2 a look-up
//! reads four keys on average.

use crate::parallel::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Result;
use crate::alloc;
use crate::cancel::CancelToken;
use crate::segment::{Column, Plain, as_bytes};

/// Items in order of their keys, band after band.
pub(super) struct BandRun {
    /// Items.
    pub(super) len: usize,
    /// `len` keys per band.
    pub(super) keys: Column<u32>,
    /// The item of each key.
    pub(super) items: Column<u32>,
    /// `2^bits + 1` starts a band.
    pub(super) starts: Column<u32>,
}

/// Return the key of a band's values.
#[inline]
pub(super) fn key<V: Plain>(values: &[V], band: usize) -> u32 {
    (xxh3_64_with_seed(as_bytes(values), band as u64) >> 32) as u32
}

/// Return the number of upper bits of a key that index the directory of a run of `len` items.
pub(super) fn directory_bits(len: usize) -> u32 {
    (len.max(1).ilog2()).saturating_sub(2)
}

fn directory(keys: &[u32]) -> Result<Vec<u32>> {
    let bits = directory_bits(keys.len());
    let mut starts = alloc::try_with_capacity((1 << bits) + 1)?;
    let mut at = 0;
    for prefix in 0..1_u64 << bits {
        while keys.get(at).is_some_and(|&key| (u64::from(key) << bits) >> 32 < prefix) {
            at += 1;
        }
        starts.push(at as u32);
    }
    starts.push(keys.len() as u32);
    Ok(starts)
}

/// Keys, items and starts of one band.
type Band = (Vec<u32>, Vec<u32>, Vec<u32>);

impl BandRun {
    /// Build the run of `items`, `num_perm` values each, numbered from `first` on.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(super) fn new<V: Plain + Sync>(
        items: &[V],
        first: usize,
        num_perm: usize,
        bands: usize,
        rows: usize,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let count = items.len() / num_perm;
        let sorted = (0..bands).into_par_iter().map(|band| {
            let mut entries = alloc::try_with_capacity(count)?;
            for chunk in cancel.ranges(0..count) {
                entries.extend(chunk.map(|item| {
                    let values = &items[item * num_perm + band * rows..][..rows];
                    u64::from(key(values, band)) << 32 | (first + item) as u64
                }));
            }
            cancel.sort(&mut entries);
            cancel.check()?;
            let keys = alloc::try_collect(entries.iter().map(|entry| (entry >> 32) as u32))?;
            let items = alloc::try_collect(entries.iter().map(|entry| *entry as u32))?;
            let starts = directory(&keys)?;
            Ok((keys, items, starts))
        });
        Self::joined(count, sorted.collect::<Result<_>>()?, cancel)
    }

    fn joined(len: usize, bands: Vec<Band>, cancel: &CancelToken) -> Result<Self> {
        let mut keys = alloc::try_with_capacity(len * bands.len())?;
        let mut items = alloc::try_with_capacity(len * bands.len())?;
        let mut starts = alloc::try_with_capacity(bands.iter().map(|band| band.2.len()).sum())?;
        for band in bands {
            cancel.check()?;
            keys.extend(band.0);
            items.extend(band.1);
            starts.extend(band.2);
        }
        cancel.check()?;
        Ok(Self { len, keys: keys.into(), items: items.into(), starts: starts.into() })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        self.keys.bytes() + self.items.bytes() + self.starts.bytes()
    }

    /// Merge two runs; the items of `b` come after those of `a`.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(super) fn merge(a: &Self, b: &Self, bands: usize, cancel: &CancelToken) -> Result<Self> {
        let len = a.len + b.len;
        let merged = (0..bands).into_par_iter().map(|band| {
            let (mut keys, mut items) = (alloc::try_with_capacity(len)?, alloc::try_with_capacity(len)?);
            let (a_keys, a_items) = (a.keys(band), &a.items[band * a.len..][..a.len]);
            let (b_keys, b_items) = (b.keys(band), &b.items[band * b.len..][..b.len]);
            let (mut i, mut j) = (0, 0);
            for chunk in cancel.ranges(0..len) {
                for _ in chunk {
                    let from_a = j == b.len || (i < a.len && a_keys[i] <= b_keys[j]);
                    let (key, item) = if from_a { (a_keys[i], a_items[i]) } else { (b_keys[j], b_items[j]) };
                    keys.push(key);
                    items.push(item);
                    i += usize::from(from_a);
                    j += usize::from(!from_a);
                }
            }
            cancel.check()?;
            let starts = directory(&keys)?;
            Ok((keys, items, starts))
        });
        Self::joined(len, merged.collect::<Result<_>>()?, cancel)
    }

    fn keys(&self, band: usize) -> &[u32] {
        &self.keys[band * self.len..][..self.len]
    }

    /// Return the items with a key of a band.
    #[inline]
    pub(super) fn with_key(&self, band: usize, key: u32) -> &[u32] {
        let bits = directory_bits(self.len);
        let prefix = ((u64::from(key) << bits) >> 32) as usize;
        let starts = &self.starts[band * ((1 << bits) + 1)..];
        let (from, to) = (starts[prefix] as usize, starts[prefix + 1] as usize);
        let keys = &self.keys(band)[from..to];
        let first = keys.partition_point(|&other| other < key);
        let count = keys[first..].iter().take_while(|&&other| other == key).count();
        &self.items[band * self.len + from + first..][..count]
    }

    /// Return true if each band holds every item once, ascending by key and item; keys are those of the values; and the
    /// directory leads to them.
    ///
    /// # Errors
    /// Memory runs out to find out.
    pub(super) fn is_sound<V: Plain + Sync>(
        &self,
        signatures: &[V],
        num_perm: usize,
        bands: usize,
        rows: usize,
    ) -> Result<bool> {
        let starts = (1 << directory_bits(self.len)) + 1;
        for band in 0..bands {
            let keys = self.keys(band);
            let items = &self.items[band * self.len..][..self.len];
            // Entries that ascend are distinct, and each item has one key.
            let sound = keys.iter().zip(items).is_sorted_by(|a, b| a < b)
                && directory(keys)? == self.starts[band * starts..][..starts]
                && keys.iter().zip(items).all(|(&expected, &item)| {
                    let at = item as usize * num_perm + band * rows;
                    signatures.get(at..at + rows).is_some_and(|values| key(values, band) == expected)
                });
            if !sound {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
