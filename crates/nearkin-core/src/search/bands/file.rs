//! A banding index as a segment file: saved in one run, opened through a memory map. `docs/format-bands.md` is the document.
//!
//! Sections (tag): 1 what the index is, 2 dead rows, 3 integer ids, 4 bytes and 5 ends of string ids, 6 the recipe, 10 signatures of items,
//! 11 item of each row, 12 row before it, 13 last row of each item, 20 keys, 21 items and 22 starts of the bands.

use std::path::Path;

use super::run::{Run, directory_bits};
use super::{Index, NO_ITEM};
use crate::families::minhash::Value;
use crate::search::rows::{Ids, is_alive};
use crate::segment::{Plain, Segment, Writer};
use crate::{Error, Result};

/// The kind of a segment that holds a banding index.
const KIND: u32 = 6;
const ABOUT: u32 = 1;
const DEAD: u32 = 2;
const INTS: u32 = 3;
const NAMES: u32 = 4;
const ENDS: u32 = 5;
const RECIPE: u32 = 6;
const SIGNATURES: u32 = 10;
const OF: u32 = 11;
const BEFORE: u32 = 12;
const LAST: u32 = 13;
const KEYS: u32 = 20;
const ITEMS: u32 = 21;
const STARTS: u32 = 22;

/// What a file says of itself: bits of a value, values of a signature, and the recipe's JSON form (empty without one).
///
/// # Errors
/// The file system refuses; a newer version; a file that holds no banding index.
pub fn describe(path: &Path) -> Result<(usize, usize, Vec<u8>)> {
    let segment = Segment::open(path)?;
    let about = about(&segment)?;
    segment.verify_one(RECIPE, 0)?;
    Ok((about[0] as usize, about[1] as usize, segment.column::<u8>(RECIPE, 0)?.to_vec()))
}

/// Section 1: bits of a value, values, bands, rows, rows ever added, kind of ids, whether ids only grow, items.
fn about(segment: &Segment) -> Result<[u64; 8]> {
    if segment.kind() != KIND {
        return Err(segment.corrupt(format!("it holds kind {} and no banding index", segment.kind())));
    }
    segment.verify_one(ABOUT, 0)?;
    let about = segment.column::<u64>(ABOUT, 0)?;
    <[u64; 8]>::try_from(&*about).map_err(|_| segment.corrupt("its description does not have 8 numbers"))
}

impl<V: Value + Plain> Index<V> {
    /// Saves the index as one run, with the JSON form of the recipe of its signatures (empty without one); the old file stays until the
    /// new one is whole.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn save(&mut self, path: &Path, recipe: &[u8]) -> Result<()> {
        self.compact();
        let (kind, growing) = match &self.ids {
            Ids::Rows => (0, true),
            Ids::Ints { lookup, .. } => (1, lookup.is_none()),
            Ids::Names { .. } => (2, false),
        };
        let about: [usize; 8] = [
            8 * size_of::<V>(),
            self.num_perm,
            self.bands,
            self.rows,
            self.total,
            kind,
            usize::from(growing),
            self.num_items(),
        ];
        let mut writer = Writer::create(path, KIND, 12)?;
        writer.section(ABOUT, 0, &about.map(|number| number as u64))?;
        writer.section(DEAD, 0, &self.dead)?;
        match &self.ids {
            Ids::Rows => {}
            Ids::Ints { values, .. } => writer.section(INTS, 0, values)?,
            Ids::Names { bytes, ends, .. } => {
                writer.section(NAMES, 0, bytes)?;
                writer.section(ENDS, 0, ends)?;
            }
        }
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

    /// Opens a saved index; signatures and bands stay in the file until they are read.
    ///
    /// # Errors
    /// The file system refuses; a newer version; a file that is not a whole index with values of this width.
    pub fn open(path: &Path) -> Result<Self> {
        let segment = Segment::open(path)?;
        let [width, num_perm, bands, rows, total, kind, growing, items] = about(&segment)?;
        if width as usize != 8 * size_of::<V>() {
            return Err(segment.corrupt(format!("its values have {width} bits")));
        }
        if total >= u64::from(NO_ITEM) || items > total {
            return Err(segment.corrupt(format!("it says that it has {total} rows and {items} items")));
        }
        let mut index = Self::new(num_perm as usize, bands as usize, rows as usize)
            .map_err(|error: Error| segment.corrupt(error.to_string()))?;
        segment.verify_one(DEAD, 0)?;
        index.total = total as usize;
        index.dead = segment.column::<u64>(DEAD, 0)?.to_vec();
        index.num_dead = index.dead.iter().map(|word| word.count_ones() as usize).sum();
        let behind = index.dead.iter().enumerate().skip(index.total / 64).any(|(word, &dead)| {
            let valid = index.total.saturating_sub(64 * word).min(64);
            valid < 64 && dead >> valid != 0
        });
        if behind {
            return Err(segment.corrupt("dead rows lie behind its last row"));
        }
        index.items = segment.column(SIGNATURES, 0)?;
        index.of = segment.column(OF, 0)?;
        index.before = segment.column(BEFORE, 0)?;
        index.last = segment.column(LAST, 0)?;
        index.known = None;
        let items = items as usize;
        let lengths = [index.of.len(), index.before.len(), index.last.len(), index.items.len()];
        if lengths != [index.total, index.total, items, items * index.num_perm] {
            return Err(segment.corrupt("its signatures, rows and items are not equally many"));
        }
        if items > 0 {
            let run = Run {
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
        let dead = &index.dead;
        let alive = |row: u32| is_alive(dead, row);
        index.ids = match kind {
            0 => Ids::Rows,
            1 => Ids::ints(segment.column(INTS, 0)?, growing == 1, alive),
            2 => Ids::names(segment.column(NAMES, 0)?, segment.column(ENDS, 0)?, alive)
                .ok_or_else(|| segment.corrupt("its string ids are not UTF-8 at their ends"))?,
            other => return Err(segment.corrupt(format!("its ids are of kind {other}"))),
        };
        if index.ids.len().is_some_and(|ids| ids != index.total) {
            return Err(segment.corrupt("its ids are not as many as its rows"));
        }
        index.segment = Some(segment);
        Ok(index)
    }

    /// Reads the whole file of an opened index: checksums, and that its arrays hold together.
    ///
    /// # Errors
    /// The first thing that does not hold; nothing for an index that was not opened from a file.
    pub fn verify(&self) -> Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        segment.verify()?;
        let runs = self.runs.iter().all(|run| run.is_sound(&self.items, self.num_perm, self.bands, self.rows));
        let items = self.last.len();
        let rows = self
            .of
            .iter()
            .zip(&*self.before)
            .enumerate()
            .all(|(row, (&item, &before))| before as usize <= row && (item == NO_ITEM || (item as usize) < items));
        if runs && rows && self.last.iter().all(|&row| (row as usize) < self.total) {
            return Ok(());
        }
        Err(segment.corrupt("its rows, items and bands do not hold together"))
    }

    /// Whether the index was opened from a file.
    pub fn is_mapped(&self) -> bool {
        self.segment.is_some()
    }
}
