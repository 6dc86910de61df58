//! Rows: the ids, row numbers and tombstones of an index, written once for all of them.
//!
//! A *row* is the ordinal of an added value; it is never reused, so an index has at most 2^32 - 2 rows over its life. A
//! row has an id (`ids`): its own number, an integer or a string. A removed row is *dead*: its bit is set and its id
//! may be used again, for another row; the index drops its data at the next merge. Ties in results are broken by
//! [`Rows::compare`].
//!
//! A change is atomic. [`Rows::prepare`] checks a batch and does everything that may take long, without changing
//! anything; the index then prepares its own part; [`Rows::commit`] and the commit of the index are short and cannot
//! fail.
//!
//! In a segment the rows are four sections, whatever the kind of the index: 2 dead rows, 3 integer ids, 4 bytes and 5 ends of
//! string ids; and three numbers of the index's description: rows ever added, kind of ids, whether integers only grow.

mod ids;

use std::borrow::Cow;
use std::cmp::Ordering;

pub use ids::{Existing, Keys, NewIds};
use ids::{Ids, Kept, Lookup, choose, rows_of, show_name};

use crate::Result;
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::segment::{Segment, Writer};

/// Rows that are checked between two cancellation points.
const CHECKED: usize = 1 << 20;
const DEAD: u32 = 2;
const INTS: u32 = 3;
const NAMES: u32 = 4;
const ENDS: u32 = 5;

/// Ids, row numbers and tombstones.
#[derive(Debug, Default)]
pub struct Rows {
    ids: Ids,
    total: usize,
    /// Bit of each dead row; may be shorter than the rows.
    dead: Vec<u64>,
    num_dead: usize,
}

/// Return the size of the last run after `count` entries are added to runs of these sizes: it takes in each run before it
/// that is not twice as large.
pub(crate) fn merged_size(count: usize, sizes: impl DoubleEndedIterator<Item = usize>) -> usize {
    let merged = |merged: usize, size| if size < 2 * merged { Ok(merged + size) } else { Err(merged) };
    sizes.rev().try_fold(count, merged).unwrap_or_else(|merged| merged)
}

/// A batch that will become rows.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    /// Row of the first new value.
    pub(crate) first: usize,
    /// Number of new rows.
    pub(crate) count: usize,
    /// Their positions in the batch, ascending; None if all are new.
    pub(crate) chosen: Option<Vec<usize>>,
    ids: Kept<'a>,
    /// The rows that are replaced, ascending.
    replaced: Vec<u32>,
    /// The table of all ids, if a new one was built.
    table: Option<Lookup>,
    /// New ids that replace the present ones, for a first batch of another kind.
    fresh: Option<Ids>,
}

impl Batch<'_> {
    /// Return true if this batch replaces a row.
    pub(crate) fn replaces(&self, row: u32) -> bool {
        !self.replaced.is_empty() && self.replaced.binary_search(&row).is_ok()
    }

    /// Return the values of the new rows: all of `values`, `width` per row, or those of the chosen.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(crate) fn of<'a, T: Copy>(&self, values: &'a [T], width: usize) -> Result<Cow<'a, [T]>> {
        let Some(chosen) = &self.chosen else { return Ok(values.into()) };
        let cancel = CancelToken::current();
        let mut selected = alloc::try_with_capacity(chosen.len() * width)?;
        for &i in cancel.blocks(chosen).flatten() {
            selected.extend_from_slice(&values[i * width..][..width]);
        }
        cancel.check()?;
        Ok(selected.into())
    }
}

#[inline]
fn is_alive(dead: &[u64], row: u32) -> bool {
    dead.get(row as usize / 64).is_none_or(|word| word >> (row % 64) & 1 == 0)
}

impl Rows {
    /// Number of rows ever added: the number of the next one.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Number of live rows.
    pub fn len(&self) -> usize {
        self.total - self.num_dead
    }

    /// Return true if no row is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of removed rows.
    pub fn num_dead(&self) -> usize {
        self.num_dead
    }

    /// Return true if a row was not removed.
    #[inline]
    pub fn is_alive(&self, row: u32) -> bool {
        is_alive(&self.dead, row)
    }

    /// Return the kind of ids: "row numbers", "integers" or "strings".
    pub fn kind(&self) -> &'static str {
        self.ids.kind()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.ids.bytes() + self.dead.capacity() * 8
    }

    /// Return true if rows in order of addition are in order of id.
    pub fn ascending(&self) -> bool {
        self.ids.ascending()
    }

    /// Order of two rows by id.
    #[inline]
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        self.ids.compare(a, b)
    }

    /// Return the integer that represents a row in results: its id, or its number if ids are strings.
    #[inline]
    pub fn int(&self, row: u32) -> i64 {
        self.ids.int(row)
    }

    /// Return the string id of a row, if ids are strings.
    pub fn string(&self, row: u32) -> Option<&str> {
        self.ids.string(row)
    }

    /// Return the row of an integer id, or of a row number.
    pub fn find_int(&self, id: i64) -> Option<u32> {
        self.ids.row_of_int(id, self.total).filter(|&row| self.is_alive(row))
    }

    /// Return the row of a string id.
    pub fn find_name(&self, id: &str) -> Option<u32> {
        self.ids.row_of_name(id).filter(|&row| self.is_alive(row))
    }

    /// Return at most `max_rows` live rows, in order, from the row `start` on.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn live_rows(&self, start: usize, max_rows: usize) -> Result<Vec<u32>> {
        let mut rows = BestEffortVec::default();
        rows.extend((start.min(self.total) as u32..self.total as u32).filter(|&row| self.is_alive(row)).take(max_rows));
        rows.into_vec()
    }

    /// Prepare rows for `count` values, called `what` in messages; with `Existing::Update` the rows of existing ids are
    /// replaced.
    ///
    /// # Errors
    /// Counts differ; ids are of another kind than before; with `Existing::Error` an id exists or occurs twice; there
    /// would be more than 2^32 - 2 rows; the call is cancelled, or memory runs out.
    pub(crate) fn prepare<'a>(
        &mut self,
        ids: NewIds<'a>,
        count: usize,
        what: &str,
        existing: Existing,
    ) -> Result<Batch<'a>> {
        let cancel = &CancelToken::current();
        self.ids.check(ids, count, what, self.total)?;
        let first = self.total;
        if count == 0 {
            let (chosen, ids, replaced) = (None, Kept::Rows, Vec::new());
            return Ok(Batch { first, count, chosen, ids, replaced, table: None, fresh: None });
        }
        let (chosen, mut replaced) = match ids {
            NewIds::Rows => (None, Vec::new()),
            // Ids that grow are new, and need no look-up.
            NewIds::Ints(new) if self.ids.grows_by(new) => (None, Vec::new()),
            NewIds::Ints(new) => {
                let (chosen, replaced) = choose(new, existing, cancel, |id| self.find_int(*id), i64::to_string)?;
                (Some(chosen), replaced)
            }
            NewIds::Names(new) => {
                let (chosen, replaced) = choose(new, existing, cancel, |id| self.find_name(id), show_name)?;
                (Some(chosen), replaced)
            }
        };
        let chosen = chosen.filter(|chosen| chosen.len() < count);
        let count = chosen.as_ref().map_or(count, Vec::len);
        cancel.sort(&mut replaced);
        cancel.check()?;
        let ids = Kept::new(ids, chosen.as_deref())?;
        // A file may have a kind of ids without any id.
        let mut fresh = (first == 0).then(|| Ids::none_of(&ids));
        self.make_room(&replaced)?;
        let dead = &self.dead;
        let table =
            fresh.as_mut().unwrap_or(&mut self.ids).table(&replaced, &ids, |row| is_alive(dead, row), cancel)?;
        Ok(Batch { first, count, chosen, ids, replaced, table, fresh })
    }

    /// Reserve capacity for the bits of ascending rows.
    fn make_room(&mut self, rows: &[u32]) -> Result<()> {
        let words = rows.last().map_or(0, |&row| row as usize / 64 + 1);
        let more = words.saturating_sub(self.dead.len());
        alloc::try_reserve(&mut self.dead, more)
    }

    /// Commit the batch that was prepared last, in a short step.
    pub(crate) fn commit(&mut self, batch: Batch<'_>) {
        if let Some(fresh) = batch.fresh {
            self.ids = fresh;
        }
        self.ids.change(&batch.replaced, &batch.ids, batch.table);
        self.bury(&batch.replaced);
        self.total += batch.count;
    }

    /// Remove ids; return the number removed.
    ///
    /// # Errors
    /// An id does not exist, unless `missing_ok`; the call is cancelled. Nothing changes.
    pub(crate) fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> Result<usize> {
        let cancel = &CancelToken::current();
        let rows = match ids {
            Keys::Ints(ids) => rows_of(ids, missing_ok, cancel, |id| self.find_int(*id), i64::to_string)?,
            Keys::Names(ids) => rows_of(ids, missing_ok, cancel, |id| self.find_name(id), show_name)?,
        };
        self.make_room(&rows)?;
        let dead = &self.dead;
        let table = self.ids.table(&rows, &Kept::Rows, |row| is_alive(dead, row), cancel)?;
        self.ids.change(&rows, &Kept::Rows, table);
        self.bury(&rows);
        Ok(rows.len())
    }

    /// Mark live rows dead.
    fn bury(&mut self, rows: &[u32]) {
        for &row in rows {
            let word = row as usize / 64;
            if self.dead.len() <= word {
                self.dead.resize(word + 1, 0);
            }
            self.dead[word] |= 1 << (row % 64);
        }
        self.num_dead += rows.len();
    }

    /// Return true if no two live rows have the same id, and ids that are said to grow do.
    pub(crate) fn is_sound(&self) -> bool {
        self.ids.is_sound(self.total, |row| self.is_alive(row))
    }

    /// Verify the checksums of the file that the rows come from, and that no two of its digests have the same id.
    ///
    /// # Errors
    /// The first inconsistency; none without a file.
    pub(crate) fn verify_digests(&self, segment: Option<&Segment>) -> Result<()> {
        let Some(segment) = segment else { return Ok(()) };
        segment.verify()?;
        if self.is_sound() { Ok(()) } else { Err(segment.corrupt("two of its digests have the same id")) }
    }

    /// Return true if `rows` holds every live row and no row twice.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(crate) fn are_each_once(&self, rows: impl Iterator<Item = u32>) -> Result<bool> {
        let cancel = CancelToken::current();
        let mut seen = alloc::try_zeroed::<u64>(self.total.div_ceil(64))?;
        let mut num_live = 0;
        for (position, row) in rows.enumerate() {
            if position.is_multiple_of(CHECKED) {
                cancel.check()?;
            }
            let (word, bit) = (row as usize / 64, 1 << (row % 64));
            if row as usize >= self.total || seen[word] & bit != 0 {
                return Ok(false);
            }
            seen[word] |= bit;
            num_live += usize::from(self.is_alive(row));
        }
        Ok(num_live == self.len())
    }

    /// Return the description of the rows in a file: rows ever added, kind of ids, 1 if integers only grow.
    pub(crate) fn about(&self) -> [u64; 3] {
        let kind = match &self.ids {
            Ids::Rows => 0,
            Ids::Ints { .. } => 1,
            Ids::Names { .. } => 2,
        };
        [self.total as u64, kind, u64::from(kind < 2 && self.ids.ascending())]
    }

    /// Write the section of dead rows.
    pub(crate) fn save_dead(&self, writer: &mut Writer) -> Result<()> {
        writer.section(DEAD, 0, &self.dead)
    }

    /// Write the sections of ids, at most two.
    pub(crate) fn save_ids(&self, writer: &mut Writer) -> Result<()> {
        match &self.ids {
            Ids::Rows => Ok(()),
            Ids::Ints { values, .. } => writer.section(INTS, 0, values),
            Ids::Names { bytes, ends, .. } => {
                writer.section(NAMES, 0, bytes)?;
                writer.section(ENDS, 0, ends)
            }
        }
    }

    /// Open the rows of a file with the description `about`; verify the checksum of the dead rows.
    ///
    /// # Errors
    /// Numbers out of range, dead rows or ids that do not go with them.
    pub(crate) fn open(segment: &Segment, about: [u64; 3]) -> Result<Self> {
        let [total, kind, growing] = about;
        if total >= u64::from(u32::MAX) || kind > 2 || growing > 1 {
            return Err(segment.corrupt("what it says of its rows is out of range"));
        }
        if segment.has(INTS, 0) != (kind == 1) || segment.has(NAMES, 0) != (kind == 2) {
            return Err(segment.corrupt("its ids are not of the kind that it says"));
        }
        segment.verify_one(DEAD, 0)?;
        let total = total as usize;
        let dead = alloc::try_copy(&segment.column::<u64>(DEAD, 0)?)?;
        let num_dead = dead.iter().map(|word| word.count_ones() as usize).sum();
        let behind = dead.iter().enumerate().skip(total / 64).any(|(word, &dead)| {
            let valid = total.saturating_sub(64 * word).min(64);
            valid < 64 && dead >> valid != 0
        });
        if behind {
            return Err(segment.corrupt("dead rows lie behind its last row"));
        }
        let alive = |row: u32| is_alive(&dead, row);
        // Lengths come first: the look-up reads the ids of all rows that are alive.
        let equal = |ids: usize| {
            if ids == total { Ok(()) } else { Err(segment.corrupt("its ids are not as many as its rows")) }
        };
        let ids = match kind {
            0 => Ids::Rows,
            1 => {
                let values = segment.column(INTS, 0)?;
                equal(values.len())?;
                Ids::ints(values, growing == 1, alive)?
            }
            _ => {
                let ends = segment.column(ENDS, 0)?;
                equal(ends.len())?;
                Ids::names(segment.column(NAMES, 0)?, ends, alive)?
                    .ok_or_else(|| segment.corrupt("its string ids are not UTF-8 at their ends"))?
            }
        };
        Ok(Self { ids, total, dead, num_dead })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_rows_occur_once_and_dead_ones_at_most_once() {
        let mut rows = Rows::default();
        let batch = rows.prepare(NewIds::Ints(&[9, 4, 7]), 3, "values", Existing::Error).expect("new ids");
        rows.commit(batch);
        rows.remove(Keys::Ints(&[4]), false).expect("an id of it");
        for (listed, expected) in [
            (&[0, 2][..], true),
            (&[2, 1, 0], true),
            (&[0], false),
            (&[0, 1], false),
            (&[0, 2, 2], false),
            (&[0, 1, 1, 2], false),
            (&[0, 2, 3], false),
        ] {
            assert_eq!(expected, rows.are_each_once(listed.iter().copied()).expect("memory"), "{listed:?}");
        }
        assert!(rows.is_sound());
    }
}
