//! A banding index as a segment file: saved in one run, opened through a memory map. `docs/format-bands.md` is the document.
//!
//! Sections (tag): 1 description, 2 dead rows, 3 integer ids, 4 bytes and 5 ends of string ids, 6 recipe, 10 signatures
//! of items, 11 item of each row, 12 previous row of the item, 13 last row of each item, 20 keys, 21 items and 22
//! starts of the bands.

use std::path::Path;

use super::run::{BandRun, directory_bits};
use super::{Index, NO_ITEM};
use crate::alloc;
use crate::families::minhash::Value;
use crate::index::rows::Rows;
use crate::segment::{Plain, Segment, Writer};
use crate::{Error, Result};

/// The kind of a segment that holds a banding index.
const KIND: u32 = 6;
const ABOUT: u32 = 1;
const RECIPE: u32 = 6;
const SIGNATURES: u32 = 10;
const OF: u32 = 11;
const BEFORE: u32 = 12;
const LAST: u32 = 13;
const KEYS: u32 = 20;
const ITEMS: u32 = 21;
const STARTS: u32 = 22;

/// Return the description of a file: bits of a value, values of a signature, and the recipe's JSON form (empty without
/// one).
///
/// # Errors
/// The file cannot be read, has a newer version, or is not a banding index.
pub fn describe(path: &Path) -> Result<(usize, usize, Vec<u8>)> {
    let (segment, about) = open(path)?;
    segment.verify_one(RECIPE, 0)?;
    Ok((about[0] as usize, about[1] as usize, alloc::try_copy(&segment.column::<u8>(RECIPE, 0)?)?))
}

/// Open a file and read section 1: bits of a value, values, bands, rows, rows ever added, kind of ids, 1 if ids only grow, items.
fn open(path: &Path) -> Result<(Segment, [u64; 8])> {
    let segment = Segment::open_kind(path, KIND, " and no banding index")?;
    segment.verify_one(ABOUT, 0)?;
    let about = <[u64; 8]>::try_from(&*segment.column::<u64>(ABOUT, 0)?)
        .map_err(|_| segment.corrupt("its description does not have 8 numbers"))?;
    Ok((segment, about))
}

impl<V: Value + Plain> Index<V> {
    /// Save the index as one run, with the JSON form of the recipe of its signatures (empty without one); the old file
    /// is replaced when the new one is complete.
    ///
    /// # Errors
    /// The file cannot be written, or the call is cancelled.
    pub fn save(&mut self, path: &Path, recipe: &[u8]) -> Result<()> {
        self.compact()?;
        let [total, kind, growing] = self.rows.about();
        let shape = [8 * size_of::<V>(), self.num_perm, self.bands, self.num_rows].map(|number| number as u64);
        let [width, num_perm, bands, num_rows] = shape;
        let about = [width, num_perm, bands, num_rows, total, kind, growing, self.num_items() as u64];
        let mut writer = Writer::create(path, KIND, 12)?;
        writer.section(ABOUT, 0, &about)?;
        self.rows.save_dead(&mut writer)?;
        self.rows.save_ids(&mut writer)?;
        writer.section(RECIPE, 0, recipe)?;
        writer.section(SIGNATURES, 0, &self.items)?;
        writer.section(OF, 0, &self.of)?;
        writer.section(BEFORE, 0, &self.before)?;
        writer.section(LAST, 0, &self.last)?;
        if let Some(run) = self.runs.first() {
            writer.section(KEYS, 0, &run.keys)?;
            writer.section(ITEMS, 0, &run.items)?;
            writer.section(STARTS, 0, &run.starts)?;
        }
        writer.finish()
    }

    /// Open a saved index; signatures and bands are read on demand.
    ///
    /// # Errors
    /// The file cannot be read, has a newer version, or is not a complete index with values of this width.
    pub fn open(path: &Path) -> Result<Self> {
        let (segment, [width, num_perm, bands, num_rows, total, kind, growing, items]) = open(path)?;
        if width as usize != 8 * size_of::<V>() {
            return Err(segment.corrupt(format!("its values have {width} bits")));
        }
        if items > total {
            return Err(segment.corrupt(format!("it says that it has {total} rows and {items} items")));
        }
        let mut index = Self::new(num_perm as usize, bands as usize, num_rows as usize)
            .map_err(|error: Error| segment.corrupt(error.to_string()))?;
        index.rows = Rows::open(&segment, [total, kind, growing])?;
        index.items = segment.column(SIGNATURES, 0)?;
        index.of = segment.column(OF, 0)?;
        index.before = segment.column(BEFORE, 0)?;
        index.last = segment.column(LAST, 0)?;
        index.by_hash = None;
        let items = items as usize;
        let lengths = [index.of.len(), index.before.len(), index.last.len(), index.items.len()];
        if lengths != [index.rows.total(), index.rows.total(), items, items * index.num_perm] {
            return Err(segment.corrupt("its signatures, rows and items are not equally many"));
        }
        if items > 0 {
            let run = BandRun {
                len: items,
                keys: segment.column(KEYS, 0)?,
                items: segment.column(ITEMS, 0)?,
                starts: segment.column(STARTS, 0)?,
            };
            let starts = index.bands * ((1 << directory_bits(items)) + 1);
            if [run.keys.len(), run.items.len(), run.starts.len()] != [items * index.bands, items * index.bands, starts]
            {
                return Err(segment.corrupt("its bands do not hold each item once"));
            }
            index.runs.push(run);
        }
        index.segment = Some(segment);
        Ok(index)
    }

    /// Verify the checksums and the arrays of the file that the index was opened from.
    ///
    /// # Errors
    /// The first inconsistency. An index that was not opened from a file is valid.
    pub fn verify(&self) -> Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        segment.verify()?;
        let mut sound = self.rows.is_sound() && self.chains_are_sound()?;
        // A signature without features is no item: it would match itself.
        sound &= self.items.chunks_exact(self.num_perm).all(|item| item.iter().any(|value| *value != V::NONE));
        for run in &self.runs {
            sound = sound && run.is_sound(&self.items, self.num_perm, self.bands, self.num_rows)?;
        }
        if sound {
            return Ok(());
        }
        Err(segment.corrupt("its rows, items and bands do not hold together"))
    }

    /// Return true if each item has a row, and is followed from its last row through all of its rows.
    fn chains_are_sound(&self) -> Result<bool> {
        let mut last = alloc::try_filled(NO_ITEM, self.last.len())?;
        for (row, (&item, &before)) in (0..).zip(self.of.iter().zip(&*self.before)) {
            if item == NO_ITEM {
                continue;
            }
            let Some(last) = last.get_mut(item as usize) else { return Ok(false) };
            if before != if *last == NO_ITEM { row } else { *last } {
                return Ok(false);
            }
            *last = row;
        }
        Ok(*last == *self.last && !last.contains(&NO_ITEM))
    }

    /// Return the file that the index was opened from; see [`with_verified`](crate::segment::with_verified).
    pub fn segment(&self) -> Option<&Segment> {
        self.segment.as_ref()
    }
}
