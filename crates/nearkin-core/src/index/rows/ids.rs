//! The caller's ids: none (row numbers), 64-bit integers, or strings.
//!
//! Row numbers cost nothing. Integers cost 8 bytes each; while they only grow, a binary search finds them, otherwise a
//! hash table of 4-byte rows at a load of at most 3/4. Strings cost their UTF-8 bytes, an 8-byte offset and the table.
//! Ties in results are broken by id: integers by value, strings by code points.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Range;

use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::segment::Column;
use crate::{Error, Result};

/// Ids that are inserted or removed in place, in about ten milliseconds; for more, a new table is built.
const FEW: usize = if cfg!(test) { 8 } else { 1 << 16 };

/// How `add` treats an id that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Refuse the entire batch.
    Error,
    /// Replace the row; the last id of a batch wins.
    Update,
    /// Keep the old one; the first of a batch wins.
    Skip,
}

/// Ids of all rows.
#[derive(Debug, Default)]
pub(super) enum Ids {
    /// The id is the row number.
    #[default]
    Rows,
    /// One integer a row.
    Ints {
        /// Id of each row.
        values: Column<i64>,
        /// Rows by id; None while the ids only grow.
        lookup: Option<Lookup>,
    },
    /// One string per row.
    Names {
        /// UTF-8 bytes of all strings.
        bytes: Column<u8>,
        /// End of each string.
        ends: Column<u64>,
        /// Rows by string.
        lookup: Lookup,
    },
}

/// Ids of a batch.
#[derive(Debug, Clone, Copy)]
pub enum NewIds<'a> {
    /// The next row numbers.
    Rows,
    /// Integers.
    Ints(&'a [i64]),
    /// Strings.
    Names(&'a [&'a str]),
}

/// Those ids of a batch that go in.
#[derive(Debug)]
pub(super) enum Kept<'a> {
    Rows,
    Ints(Cow<'a, [i64]>),
    Names(Cow<'a, [&'a str]>),
}

impl<'a> Kept<'a> {
    /// Select the ids at the `chosen` positions; None for all.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn new(ids: NewIds<'a>, chosen: Option<&[usize]>) -> Result<Self> {
        fn select<'b, T: Copy>(all: &'b [T], chosen: Option<&[usize]>) -> Result<Cow<'b, [T]>> {
            let Some(chosen) = chosen else { return Ok(Cow::Borrowed(all)) };
            Ok(Cow::Owned(alloc::try_collect(chosen.iter().map(|&i| all[i]))?))
        }
        Ok(match ids {
            NewIds::Rows => Self::Rows,
            NewIds::Ints(all) => Self::Ints(select(all, chosen)?),
            NewIds::Names(all) => Self::Names(select(all, chosen)?),
        })
    }
}

/// Ids that name rows.
#[derive(Debug, Clone, Copy)]
pub enum Keys<'a> {
    /// Integers, or row numbers.
    Ints(&'a [i64]),
    /// Strings.
    Names(&'a [&'a str]),
}

impl NewIds<'_> {
    /// Return the word for this kind in messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Rows => "row numbers",
            Self::Ints(_) => "integers",
            Self::Names(_) => "strings",
        }
    }
}

/// Format a string id for messages.
pub(super) fn show_name(id: &&str) -> String {
    format!("{id:?}")
}

/// Return the positions of the new ids to add, ascending, and the rows that they replace; `find` returns the row of an
/// existing id.
///
/// # Errors
/// With `Existing::Error` an id exists or occurs twice; the call is cancelled.
pub(super) fn choose<T: Eq + Hash>(
    new: &[T],
    existing: Existing,
    cancel: &CancelToken,
    find: impl Fn(&T) -> Option<u32>,
    show: impl Fn(&T) -> String,
) -> Result<(Vec<usize>, Vec<u32>)> {
    let mut seen = HashSet::new();
    alloc::try_reserve_set(&mut seen, new.len())?;
    let mut chosen = alloc::try_with_capacity(new.len())?;
    let mut replaced = BestEffortVec::default();
    let last_wins = existing == Existing::Update;
    for at in cancel.ranges(0..new.len()).flatten() {
        let i = if last_wins { new.len() - 1 - at } else { at };
        let old = find(&new[i]);
        let twice = !seen.insert(&new[i]);
        match existing {
            Existing::Error if old.is_some() || twice => {
                let reason = if twice { "twice in this call" } else { "already there" };
                let allowed = "new ids, or existing=\"update\" or \"skip\"";
                return Err(Error::parameter("ids", format!("{} ({reason})", show(&new[i])), allowed));
            }
            Existing::Skip if old.is_some() || twice => {}
            Existing::Update if twice => {}
            _ => {
                replaced.extend(old);
                chosen.push(i);
            }
        }
    }
    cancel.check()?;
    // They ascend or descend.
    if last_wins {
        chosen.reverse();
    }
    Ok((chosen, replaced.into_vec()?))
}

/// Return the rows of ids to remove, ascending, each once.
///
/// # Errors
/// An id does not exist, unless `missing_ok`; the call is cancelled.
pub(super) fn rows_of<T>(
    ids: &[T],
    missing_ok: bool,
    cancel: &CancelToken,
    find: impl Fn(&T) -> Option<u32>,
    show: impl Fn(&T) -> String,
) -> Result<Vec<u32>> {
    let mut rows = alloc::try_with_capacity(ids.len())?;
    for id in cancel.blocks(ids).flatten() {
        match find(id) {
            Some(row) => rows.push(row),
            None if missing_ok => {}
            None => {
                let reason = format!("{} (not there)", show(id));
                return Err(Error::parameter("ids", reason, "ids of the index, or missing_ok=True"));
            }
        }
    }
    cancel.sort(&mut rows);
    cancel.check()?;
    rows.dedup();
    Ok(rows)
}

/// Open addressing with linear probing over row numbers; the keys live in the caller's array.
#[derive(Debug)]
pub(super) struct Lookup {
    rows: Vec<u32>,
    used: usize,
    hasher: RandomState,
}

const EMPTY: u32 = u32::MAX;
/// Steps of a probe after which equal keys are looked for; at most 3/4 full, a table of distinct keys needs 9 on average.
const LONG_PROBE: usize = 64;

impl Default for Lookup {
    fn default() -> Self {
        Self { rows: vec![EMPTY; 16], used: 0, hasher: RandomState::new() }
    }
}

impl Lookup {
    fn place(hash: u64, mask: usize) -> usize {
        (hash >> 20) as usize & mask
    }

    /// Return the row whose key `equals` and whose hash is `hash`.
    fn find(&self, hash: u64, equals: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.rows.len() - 1;
        let mut at = Self::place(hash, mask);
        while self.rows[at] != EMPTY {
            if equals(self.rows[at]) {
                return Some(self.rows[at]);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Insert a row that is absent; `is_quick` has checked the capacity.
    fn insert(&mut self, hash: u64, row: u32) {
        self.put(hash, row);
        self.used += 1;
    }

    fn put(&mut self, hash: u64, row: u32) {
        let mask = self.rows.len() - 1;
        let mut at = Self::place(hash, mask);
        while self.rows[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.rows[at] = row;
    }

    /// Insert a row of a file, in which a faulty writer may have repeated keys; return false for some that are present.
    ///
    /// Only long probes look for an equal key, so that equal keys take linear time and distinct ones no comparison.
    fn put_checked(&mut self, hash: u64, row: u32, equals: impl Fn(u32) -> bool) -> bool {
        let mask = self.rows.len() - 1;
        let mut at = Self::place(hash, mask);
        let mut steps = 0;
        while self.rows[at] != EMPTY {
            steps += 1;
            if steps == LONG_PROBE && self.find(hash, &equals).is_some() {
                return false;
            }
            at = (at + 1) & mask;
        }
        self.rows[at] = row;
        true
    }

    /// Remove `row` and close the gap, so that no probe ends early.
    fn remove(&mut self, hash: u64, row: u32, hash_of: impl Fn(&RandomState, u32) -> u64) {
        let mask = self.rows.len() - 1;
        let mut gap = Self::place(hash, mask);
        while self.rows[gap] != row {
            if self.rows[gap] == EMPTY {
                return;
            }
            gap = (gap + 1) & mask;
        }
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            if self.rows[at] == EMPTY {
                break;
            }
            let home = Self::place(hash_of(&self.hasher, self.rows[at]), mask);
            // The entry may move into the gap unless its home is after the gap, cyclically.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.rows[gap] = self.rows[at];
                gap = at;
            }
        }
        self.rows[gap] = EMPTY;
        self.used -= 1;
    }

    fn bytes(&self) -> usize {
        self.rows.len() * 4
    }

    /// Create an empty table for `rows` rows.
    ///
    /// # Errors
    /// Memory runs out.
    fn with_room(rows: usize) -> Result<Self> {
        let mut size = 16;
        while rows * 4 > size * 3 {
            size *= 2;
        }
        Ok(Self { rows: alloc::try_filled(EMPTY, size)?, ..Self::default() })
    }

    /// Return true if adding `more` rows and removing `less` is quick and fits, so that it is done in place.
    fn is_quick(&self, more: usize, less: usize) -> bool {
        more + less <= FEW && (self.used + more) * 4 <= self.rows.len() * 3
    }

    /// Build this table without the rows `removed` and with the rows `new`.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    fn changed(
        &self,
        removed: &[u32],
        new: Range<usize>,
        cancel: &CancelToken,
        hash_of: impl Fn(&RandomState, u32) -> u64,
    ) -> Result<Self> {
        let mut rebuilt = Self { rows: alloc::try_copy(&self.rows)?, used: self.used, hasher: self.hasher.clone() };
        for &row in cancel.blocks(removed).flatten() {
            rebuilt.remove(hash_of(&rebuilt.hasher, row), row, &hash_of);
        }
        cancel.check()?;
        let used = rebuilt.used + new.len();
        if used * 4 > rebuilt.rows.len() * 3 {
            let mut larger = Self { hasher: self.hasher.clone(), ..Self::with_room(used)? };
            for &row in cancel.blocks(&rebuilt.rows).flatten().filter(|&&row| row != EMPTY) {
                larger.put(hash_of(&larger.hasher, row), row);
            }
            rebuilt = larger;
        }
        for row in cancel.ranges(new).flatten() {
            rebuilt.put(hash_of(&rebuilt.hasher, row as u32), row as u32);
        }
        rebuilt.used = used;
        cancel.check()?;
        Ok(rebuilt)
    }
}

fn name<'a>(bytes: &'a [u8], ends: &[u64], row: u32) -> &'a [u8] {
    let row = row as usize;
    let start = if row == 0 { 0 } else { ends[row - 1] as usize };
    &bytes[start..ends[row] as usize]
}

/// Build a table of the live rows, by the hash of each. Of many rows with equal keys it has the first ones.
///
/// # Errors
/// The call is cancelled, or memory runs out.
fn lookup_of(
    rows: usize,
    alive: impl Fn(u32) -> bool,
    cancel: &CancelToken,
    hash_of: impl Fn(&RandomState, u32) -> u64,
    equals: impl Fn(u32, u32) -> bool,
) -> Result<Lookup> {
    let mut rebuilt = Lookup::with_room((0..rows as u32).filter(|&row| alive(row)).count())?;
    for row in cancel.ranges(0..rows).flatten().map(|row| row as u32).filter(|&row| alive(row)) {
        let hash = hash_of(&rebuilt.hasher, row);
        rebuilt.used += usize::from(rebuilt.put_checked(hash, row, |other| equals(row, other)));
    }
    cancel.check()?;
    Ok(rebuilt)
}

impl Ids {
    /// Create integer ids from a file; `growing` means that they ascend and need no table.
    ///
    /// # Errors
    /// The call is cancelled.
    pub(super) fn ints(values: Column<i64>, growing: bool, alive: impl Fn(u32) -> bool) -> Result<Self> {
        let lookup = if growing {
            None
        } else {
            let hash_of = |hasher: &RandomState, row: u32| hasher.hash_one(values[row as usize]);
            let equals = |a: u32, b: u32| values[a as usize] == values[b as usize];
            Some(lookup_of(values.len(), alive, &CancelToken::current(), hash_of, equals)?)
        };
        Ok(Self::Ints { values, lookup })
    }

    /// Create string ids from a file; None unless the ends ascend to the last byte and every string is UTF-8.
    ///
    /// # Errors
    /// The call is cancelled.
    pub(super) fn names(bytes: Column<u8>, ends: Column<u64>, alive: impl Fn(u32) -> bool) -> Result<Option<Self>> {
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(None) };
        let sound = ends.windows(2).all(|pair| pair[0] <= pair[1])
            && ends.last().copied().unwrap_or(0) == bytes.len() as u64
            && ends.iter().all(|&end| text.is_char_boundary(end as usize));
        if !sound {
            return Ok(None);
        }
        let hash_of = |hasher: &RandomState, row: u32| hasher.hash_one(name(&bytes, &ends, row));
        let equals = |a: u32, b: u32| name(&bytes, &ends, a) == name(&bytes, &ends, b);
        let lookup = lookup_of(ends.len(), alive, &CancelToken::current(), hash_of, equals)?;
        Ok(Some(Self::Names { bytes, ends, lookup }))
    }

    /// Return true if each of the rows that are `alive` has an id of its own, and integers without a table ascend.
    pub(super) fn is_sound(&self, rows: usize, alive: impl Fn(u32) -> bool) -> bool {
        let mut live = (0..rows as u32).filter(|&row| alive(row));
        match self {
            Self::Rows => true,
            Self::Ints { values, lookup: None } => values.is_sorted_by(|a, b| a < b),
            Self::Ints { values, lookup: Some(_) } => {
                live.all(|row| self.row_of_int(values[row as usize], rows) == Some(row))
            }
            Self::Names { .. } => live.all(|row| self.string(row).and_then(|id| self.row_of_name(id)) == Some(row)),
        }
    }

    /// Build the table of these ids once the rows `removed` are forgotten and `new` are appended; None if there is no
    /// table, or if it is changed in place. Copies mapped ids that will be changed.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out; nothing changes.
    pub(super) fn table(
        &mut self,
        removed: &[u32],
        new: &Kept<'_>,
        alive: impl Fn(u32) -> bool,
        cancel: &CancelToken,
    ) -> Result<Option<Lookup>> {
        let grows = matches!(new, Kept::Ints(new) if self.grows_by(new));
        match self {
            Self::Rows => Ok(None),
            Self::Ints { values, lookup } => {
                let new: &[i64] = if let Kept::Ints(new) = new { new } else { &[] };
                if !new.is_empty() {
                    values.reserve(new.len(), cancel)?;
                }
                let first = values.len();
                let all = first..first + new.len();
                let hash_of = |hasher: &RandomState, row: u32| {
                    let row = row as usize;
                    hasher.hash_one(if row < first { values[row] } else { new[row - first] })
                };
                match lookup {
                    None if grows || new.is_empty() => Ok(None),
                    None => {
                        let equals = |a: u32, b: u32| values[a as usize] == values[b as usize];
                        lookup_of(first, alive, cancel, hash_of, equals)?
                            .changed(removed, all, cancel, hash_of)
                            .map(Some)
                    }
                    Some(lookup) if lookup.is_quick(new.len(), removed.len()) => Ok(None),
                    Some(lookup) => lookup.changed(removed, all, cancel, hash_of).map(Some),
                }
            }
            Self::Names { bytes, ends, lookup } => {
                let new: &[&str] = if let Kept::Names(new) = new { new } else { &[] };
                if !new.is_empty() {
                    bytes.reserve(new.iter().map(|id| id.len()).sum(), cancel)?;
                    ends.reserve(new.len(), cancel)?;
                }
                if lookup.is_quick(new.len(), removed.len()) {
                    return Ok(None);
                }
                let first = ends.len();
                let hash_of = |hasher: &RandomState, row: u32| {
                    let at = row as usize;
                    hasher.hash_one(if at < first { name(bytes, ends, row) } else { new[at - first].as_bytes() })
                };
                lookup.changed(removed, first..first + new.len(), cancel, hash_of).map(Some)
            }
        }
    }

    /// Create empty ids, of the kind of `new`.
    pub(super) fn none_of(new: &Kept<'_>) -> Self {
        match new {
            Kept::Rows => Self::Rows,
            Kept::Ints(_) => Self::Ints { values: Column::default(), lookup: None },
            Kept::Names(_) => {
                Self::Names { bytes: Column::default(), ends: Column::default(), lookup: Lookup::default() }
            }
        }
    }

    /// Forget the rows `removed` and append `new`, which are absent, as `table` has prepared it: in a short step.
    pub(super) fn change(&mut self, removed: &[u32], new: &Kept<'_>, table: Option<Lookup>) {
        let rebuilt = table.is_some();
        if let Some(table) = table {
            match self {
                Self::Rows => {}
                Self::Ints { lookup, .. } => *lookup = Some(table),
                Self::Names { lookup, .. } => *lookup = table,
            }
        } else {
            for &row in removed {
                self.forget(row);
            }
        }
        match (self, new) {
            (Self::Ints { values, lookup }, Kept::Ints(new)) => {
                let first = values.len();
                values.to_mut().extend_from_slice(new);
                if let (Some(lookup), false) = (lookup, rebuilt) {
                    for (row, &id) in (first as u32..).zip(new.iter()) {
                        lookup.insert(lookup.hasher.hash_one(id), row);
                    }
                }
            }
            (Self::Names { bytes, ends, lookup }, Kept::Names(new)) => {
                for &id in new.iter() {
                    let row = ends.len() as u32;
                    bytes.to_mut().extend_from_slice(id.as_bytes());
                    ends.to_mut().push(bytes.len() as u64);
                    if !rebuilt {
                        lookup.insert(lookup.hasher.hash_one(id.as_bytes()), row);
                    }
                }
            }
            _ => {}
        }
    }

    /// Check that `new` can name `count` more values, called `what`, after `total` rows.
    ///
    /// # Errors
    /// Counts that differ, another kind than before, more than 2^32 - 2 rows.
    pub(super) fn check(&self, new: NewIds<'_>, count: usize, what: &str, total: usize) -> Result<()> {
        let named = match new {
            NewIds::Rows => count,
            NewIds::Ints(ids) => ids.len(),
            NewIds::Names(ids) => ids.len(),
        };
        if named != count {
            let allowed = format!("one for each of {count} {what}");
            return Err(Error::parameter("ids", format!("{named} ids"), allowed));
        }
        if total > 0 && count > 0 && self.kind() != new.kind() {
            return Err(Error::parameter("ids", new.kind(), format!("{}, as this index began", self.kind())));
        }
        if total + count >= u32::MAX as usize {
            return Err(Error::parameter("rows", total + count, "at most 2**32 - 2 over the life of an index"));
        }
        Ok(())
    }

    /// Return true if integers that follow the present ones only grow, so that none of them exists or occurs twice.
    pub(super) fn grows_by(&self, new: &[i64]) -> bool {
        let last = match self {
            Self::Ints { values, lookup: None } => values.last().copied(),
            Self::Ints { lookup: Some(_), .. } => return false,
            Self::Rows | Self::Names { .. } => None,
        };
        last.is_none_or(|last| new.first().is_none_or(|&first| last < first))
            && new.windows(2).all(|pair| pair[0] < pair[1])
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Rows => 0,
            Self::Ints { values, lookup } => values.bytes() + lookup.as_ref().map_or(0, Lookup::bytes),
            Self::Names { bytes, ends, lookup } => bytes.bytes() + ends.bytes() + lookup.bytes(),
        }
    }

    /// Return the word for this kind in messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Rows => "row numbers",
            Self::Ints { .. } => "integers",
            Self::Names { .. } => "strings",
        }
    }

    /// Return true if rows in order of addition are in order of id.
    pub(super) fn ascending(&self) -> bool {
        match self {
            Self::Rows => true,
            Self::Ints { lookup, .. } => lookup.is_none(),
            Self::Names { .. } => false,
        }
    }

    /// Order of two rows by id, then by row.
    pub(super) fn compare(&self, a: u32, b: u32) -> Ordering {
        match self {
            Self::Rows => a.cmp(&b),
            Self::Ints { values, .. } => values[a as usize].cmp(&values[b as usize]),
            Self::Names { bytes, ends, .. } => name(bytes, ends, a).cmp(name(bytes, ends, b)),
        }
    }

    /// Return the integer that represents a row in results: its id, or its number if ids are strings.
    pub(super) fn int(&self, row: u32) -> i64 {
        match self {
            Self::Ints { values, .. } => values[row as usize],
            Self::Rows | Self::Names { .. } => i64::from(row),
        }
    }

    /// Return the string id of a row, if ids are strings.
    pub(super) fn string(&self, row: u32) -> Option<&str> {
        match self {
            Self::Names { bytes, ends, .. } => {
                (row as usize).lt(&ends.len()).then(|| std::str::from_utf8(name(bytes, ends, row)).unwrap_or_default())
            }
            Self::Rows | Self::Ints { .. } => None,
        }
    }

    /// Return the row of an integer id among `rows` rows, dead ones included.
    pub(super) fn row_of_int(&self, id: i64, rows: usize) -> Option<u32> {
        match self {
            Self::Rows => usize::try_from(id).ok().filter(|&row| row < rows).map(|row| row as u32),
            Self::Ints { values, lookup: None } => values.binary_search(&id).ok().map(|row| row as u32),
            Self::Ints { values, lookup: Some(lookup) } => {
                lookup.find(lookup.hasher.hash_one(id), |row| values[row as usize] == id)
            }
            Self::Names { .. } => None,
        }
    }

    /// Return the row of a string id.
    pub(super) fn row_of_name(&self, id: &str) -> Option<u32> {
        match self {
            Self::Names { bytes, ends, lookup } => {
                lookup.find(lookup.hasher.hash_one(id.as_bytes()), |row| name(bytes, ends, row) == id.as_bytes())
            }
            Self::Rows | Self::Ints { .. } => None,
        }
    }

    /// Forget the id of a row that is removed, so that it can be used again.
    fn forget(&mut self, row: u32) {
        match self {
            // A growing list still holds it; the row is dead, and giving the id again makes the table.
            Self::Rows | Self::Ints { lookup: None, .. } => {}
            Self::Ints { values, lookup: Some(lookup) } => {
                let hash = lookup.hasher.hash_one(values[row as usize]);
                lookup.remove(hash, row, |hasher, row| hasher.hash_one(values[row as usize]));
            }
            Self::Names { bytes, ends, lookup } => {
                let hash = lookup.hasher.hash_one(name(bytes, ends, row));
                lookup.remove(hash, row, |hasher, row| hasher.hash_one(name(bytes, ends, row)));
            }
        }
    }
}
