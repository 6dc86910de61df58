//! Document ids: 64-bit integers, strings, or both; 1 and "1" differ.
//!
//! An id may occur more than once: a removed document keeps its id, which may have been reused since.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::find::lower_bound;
use super::pages::{PageWriter, Paged};
use super::spans::{self, Spans};
use super::tags::{BY_ID, HASHES, INTS, MIXED, NAMES};
use crate::cancel::CancelToken;
use crate::segment::Segment;
use crate::{Error, Result, alloc};

/// The id of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id<'a> {
    /// An integer.
    Int(i64),
    /// A string.
    Name(&'a str),
}

impl Id<'_> {
    /// Return the XXH3-64 of the eight bytes of an integer with seed 1, or of the bytes of a string with seed 0.
    pub(super) fn hash(self) -> u64 {
        match self {
            Self::Int(id) => xxh3_64_with_seed(&id.to_le_bytes(), 1),
            Self::Name(id) => xxh3_64_with_seed(id.as_bytes(), 0),
        }
    }

    /// Return the bytes stored in a file.
    fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Int(id) => Cow::Owned(id.to_le_bytes().to_vec()),
            Self::Name(id) => Cow::Borrowed(id.as_bytes()),
        }
    }
}

/// The ids of a batch.
#[derive(Debug, Clone, Copy)]
pub enum IdColumn<'a> {
    /// Integers.
    Ints(&'a [i64]),
    /// Strings.
    Names(&'a [&'a str]),
    /// Integers and strings.
    Mixed(&'a [Id<'a>]),
}

impl<'a> IdColumn<'a> {
    /// Return the number of ids.
    pub fn len(self) -> usize {
        match self {
            Self::Ints(ids) => ids.len(),
            Self::Names(ids) => ids.len(),
            Self::Mixed(ids) => ids.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Return one id.
    pub fn get(self, position: usize) -> Id<'a> {
        match self {
            Self::Ints(ids) => Id::Int(ids[position]),
            Self::Names(ids) => Id::Name(ids[position]),
            Self::Mixed(ids) => ids[position],
        }
    }

    /// Return 0 for integers, 1 for strings, 2 for both: the narrowest kind that fits all of them.
    pub(super) fn kind(self) -> u64 {
        match self {
            Self::Ints(_) => 0,
            Self::Names(_) => 1,
            Self::Mixed(ids) => {
                let ints = ids.iter().filter(|id| matches!(id, Id::Int(_))).count();
                if ints == ids.len() { 0 } else { 1 + u64::from(ints > 0) }
            }
        }
    }

    /// Write the ids and the order of their hashes.
    pub(super) fn write(self, pages: &mut PageWriter) -> Result<()> {
        let kind = self.kind();
        let count = self.len();
        if kind == 0 {
            pages.stream(INTS, |out| (0..count).try_for_each(|position| out.append(&self.get(position).bytes())))?;
        } else {
            spans::write(pages, NAMES, "ids", count, |position, out| {
                alloc::try_extend(out, &self.get(position).bytes())
            })?;
        }
        if kind == 2 {
            let mut bits = alloc::try_zeroed::<u64>(count.div_ceil(64))?;
            for position in (0..count).filter(|&position| matches!(self.get(position), Id::Int(_))) {
                bits[position / 64] |= 1 << (position % 64);
            }
            pages.array(MIXED, &bits)?;
        }
        let order = (0..count).map(|position| (self.get(position).hash(), position as u32));
        let mut order: Vec<(u64, u32)> = alloc::try_collect(order)?;
        let cancel = CancelToken::current();
        cancel.sort(&mut order);
        cancel.check()?;
        pages.stream(HASHES, |out| order.iter().try_for_each(|(hash, _)| out.append(&hash.to_le_bytes())))?;
        pages.stream(BY_ID, |out| order.iter().try_for_each(|(_, position)| out.append(&position.to_le_bytes())))
    }
}

/// Stored ids by position.
#[derive(Debug)]
enum StoredIds {
    Ints(Paged<i64>),
    Names(Spans),
    Mixed(Spans, Paged<u64>),
}

/// The ids of a file.
#[derive(Debug)]
pub(super) struct Ids {
    stored: StoredIds,
    hashes: Paged<u64>,
    by_id: Paged<u32>,
}

impl Ids {
    pub(super) fn open(segment: &Segment, kind: u64, count: usize) -> Result<Self> {
        let stored = match kind {
            0 => StoredIds::Ints(Paged::open(segment, INTS, "ids")?),
            1 => StoredIds::Names(Spans::open(segment, NAMES, "ids", count)?),
            2 => {
                let names = Spans::open(segment, NAMES, "ids", count)?;
                StoredIds::Mixed(names, Paged::open(segment, MIXED, "kinds of ids")?)
            }
            _ => return Err(segment.corrupt(format!("it has ids of kind {kind}"))),
        };
        let hashes = Paged::open(segment, HASHES, "hashes of ids")?;
        let by_id = Paged::open(segment, BY_ID, "places by id")?;
        let lengths = match &stored {
            StoredIds::Ints(ids) => ids.len() == count,
            StoredIds::Names(_) => true,
            StoredIds::Mixed(_, bits) => bits.len() == count.div_ceil(64),
        };
        if !lengths || hashes.len() != count || by_id.len() != count {
            return Err(segment.corrupt(format!("its ids are not those of {count} documents")));
        }
        Ok(Self { stored, hashes, by_id })
    }

    /// Return the id at a position.
    pub(super) fn get(&self, position: usize) -> Result<Id<'_>> {
        let (names, int) = match &self.stored {
            StoredIds::Ints(ids) => return Ok(Id::Int(ids.get(position)?)),
            StoredIds::Names(names) => (names, false),
            StoredIds::Mixed(names, bits) => (names, bits.get(position / 64)? >> (position % 64) & 1 == 1),
        };
        let bytes = names.get(position)?;
        if int {
            let bytes = bytes.try_into().map_err(|_| self.by_id.corrupt("leads to an integer that has not 8 bytes"))?;
            return Ok(Id::Int(i64::from_le_bytes(bytes)));
        }
        let name = std::str::from_utf8(bytes);
        Ok(Id::Name(name.map_err(|_| self.by_id.corrupt("leads to a string that is not UTF-8"))?))
    }

    /// True if all ids are integers.
    pub(super) fn is_ints(&self) -> bool {
        matches!(self.stored, StoredIds::Ints(_))
    }

    /// Append the positions of an id, ascending, to `found`.
    pub(super) fn find(&self, id: Id<'_>, found: &mut Vec<usize>) -> Result<()> {
        let hash = id.hash();
        let probe = |at| self.hashes.get(at).map(|key| (key < hash, key));
        let first = lower_bound(0..self.hashes.len(), (0, u64::MAX), hash, probe)?;
        for at in first..self.hashes.len() {
            if self.hashes.get(at)? != hash {
                break;
            }
            let position = self.by_id.get(at)? as usize;
            if self.get(position)? == id {
                alloc::try_reserve(found, 1)?;
                found.push(position);
            }
        }
        Ok(())
    }

    /// Verify all checksums and that the hash order matches the ids.
    pub(super) fn verify(&self, cancel: &CancelToken) -> Result<()> {
        match &self.stored {
            StoredIds::Ints(ids) => ids.verify(cancel)?,
            StoredIds::Names(names) => names.verify(cancel)?,
            StoredIds::Mixed(names, bits) => {
                names.verify(cancel)?;
                bits.verify(cancel)?;
            }
        }
        self.hashes.verify(cancel)?;
        self.by_id.verify(cancel)?;
        let mut before = None;
        for at in 0..self.hashes.len() {
            if at.is_multiple_of(1 << 10) {
                cancel.check()?;
            }
            let (hash, position) = (self.hashes.get(at)?, self.by_id.get(at)?);
            // Pairs ascend strictly, so every position occurs exactly once.
            if before >= Some((hash, position)) || self.get(position as usize)?.hash() != hash {
                return Err(self.by_id.corrupt("is not the order of the ids"));
            }
            before = Some((hash, position));
        }
        Ok(())
    }
}

/// Check that there are as many ids as rows.
pub(super) fn check_count(ids: IdColumn<'_>, count: usize) -> Result<()> {
    if ids.len() == count {
        return Ok(());
    }
    Err(Error::parameter("ids", format!("{} ids", ids.len()), format!("one for each of {count} rows")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Writer;

    #[test]
    fn ids_of_a_file_are_found_and_told_apart() {
        let path = std::env::temp_dir().join(format!("nearkin-store-ids-{}", std::process::id()));
        let column = [Id::Name("1"), Id::Int(1), Id::Name(""), Id::Int(1), Id::Name("8 bytes.")];
        let mut pages = PageWriter::new(Writer::create(&path, 11, 32).expect("writable"));
        IdColumn::Mixed(&column).write(&mut pages).expect("writable");
        pages.finish().expect("writable");
        let segment = Segment::open(&path).expect("whole");
        let ids = Ids::open(&segment, 2, column.len()).expect("whole");
        ids.verify(&CancelToken::default()).expect("whole");
        assert_eq!(
            column.to_vec(),
            (0..column.len()).map(|position| ids.get(position).expect("whole")).collect::<Vec<_>>()
        );
        let find = |id| {
            let mut found = Vec::new();
            ids.find(id, &mut found).map(|()| found).expect("whole")
        };
        assert_eq!(
            [vec![1, 3], vec![0], vec![2], vec![]],
            [Id::Int(1), Id::Name("1"), Id::Name(""), Id::Int(8)].map(find)
        );
        assert!(matches!(Ids::open(&segment, 2, 4), Err(Error::Corrupt { .. })));
        assert!(matches!(Ids::open(&segment, 3, column.len()), Err(Error::Corrupt { .. })));
        std::fs::remove_file(&path).expect("there");
    }

    #[test]
    fn the_kind_is_the_narrowest_that_holds_all() {
        let (int, name) = (Id::Int(7), Id::Name("7"));
        let kind = |ids: &[Id<'_>]| IdColumn::Mixed(ids).kind();
        assert_eq!([0, 0, 1, 2], [kind(&[]), kind(&[int]), kind(&[name]), kind(&[int, name])]);
        assert_eq!((0, 1), (IdColumn::Ints(&[7]).kind(), IdColumn::Names(&["7"]).kind()));
        // XXH3-64 of the empty string, as published by its authors.
        assert_eq!(0x2d06_8005_38d3_94c2, Id::Name("").hash());
        assert_ne!(Id::Int(7).hash(), Id::Name("\u{7}\0\0\0\0\0\0\0").hash());
    }
}
