//! Reading a segment through a memory map: the header at once, arrays as they are used.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_64;

use super::column::{Column, Plain};
use super::{ALIGN, ENTRY, HEADER, MAGIC, SUM_AT, VERSION, io};
use crate::{Error, Result};

#[derive(Debug, Clone, Copy)]
struct Section {
    tag: u32,
    number: u32,
    offset: usize,
    bytes: usize,
    sum: u64,
}

/// An open segment.
#[derive(Debug)]
pub struct Segment {
    place: String,
    map: Arc<Mmap>,
    kind: u32,
    sections: Vec<Section>,
}

impl Segment {
    /// Maps a file and checks its header and section table.
    ///
    /// # Errors
    /// The file system refuses; a newer version; a file that is not a whole segment.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(io("open", path))?;
        // SAFETY: the map is read-only; that the file is not changed in place by others is the documented condition.
        let map = unsafe { Mmap::map(&file) }.map_err(io("map", path))?;
        Self::of(map, path.display().to_string())
    }

    fn of(map: Mmap, place: String) -> Result<Self> {
        let corrupt = |reason: &str| Error::Corrupt { place: place.clone(), reason: reason.to_owned() };
        if cfg!(target_endian = "big") {
            return Err(Error::parameter("byte order", "big-endian", "a little-endian machine"));
        }
        let bytes: &[u8] = &map;
        if bytes.len() < HEADER || &bytes[..8] != MAGIC {
            return Err(corrupt("it does not begin as a segment; give a file that `save` has written"));
        }
        let int = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(int(at)) | u64::from(int(at + 4)) << 32;
        let version = int(8);
        if version != VERSION {
            return Err(Error::FormatVersion { found: version, newest: VERSION });
        }
        let (kind, count, length) = (int(12), int(16) as usize, long(24));
        if length != bytes.len() as u64 {
            return Err(corrupt(&format!("it has {} bytes of {length}; copy it again", bytes.len())));
        }
        let end =
            count.checked_mul(ENTRY).and_then(|table| table.checked_add(HEADER)).filter(|&end| end <= bytes.len());
        let Some(end) = end else { return Err(corrupt("its section table reaches behind its end")) };
        let mut head = bytes[..end].to_vec();
        head[SUM_AT..HEADER].fill(0);
        if xxh3_64(&head) != long(SUM_AT) {
            return Err(corrupt("its header does not match its checksum"));
        }
        let mut sections = Vec::with_capacity(count);
        for at in (HEADER..end).step_by(ENTRY) {
            let (offset, size) = (long(at + 8), long(at + 16));
            let inside = offset.checked_add(size).is_some_and(|stop| stop <= length);
            if !inside || !offset.is_multiple_of(ALIGN) || offset < end as u64 {
                return Err(corrupt("a section lies outside of it"));
            }
            sections.push(Section {
                tag: int(at),
                number: int(at + 4),
                offset: offset as usize,
                bytes: size as usize,
                sum: long(at + 24),
            });
        }
        Ok(Self { place, map: Arc::new(map), kind, sections })
    }

    /// What the segment holds.
    pub fn kind(&self) -> u32 {
        self.kind
    }

    /// How many arrays it holds.
    #[allow(clippy::len_without_is_empty, reason = "a count of sections; one without any is as good as another")]
    pub fn len(&self) -> usize {
        self.sections.len()
    }

    /// The error for contents that do not hold together.
    pub fn corrupt(&self, reason: impl Into<String>) -> Error {
        Error::Corrupt { place: self.place.clone(), reason: reason.into() }
    }

    /// Whether there is an array of a tag and number.
    pub fn has(&self, tag: u32, number: u32) -> bool {
        self.sections.iter().any(|section| (section.tag, section.number) == (tag, number))
    }

    /// The array of a tag and number.
    ///
    /// # Errors
    /// There is none, or its length is not a multiple of the size of `T`.
    pub fn column<T: Plain>(&self, tag: u32, number: u32) -> Result<Column<T>> {
        let section = self.sections.iter().find(|section| (section.tag, section.number) == (tag, number));
        let Some(section) = section else { return Err(self.corrupt(format!("section {tag}.{number} is missing"))) };
        if !section.bytes.is_multiple_of(size_of::<T>()) {
            return Err(self.corrupt(format!("section {tag}.{number} has {} bytes", section.bytes)));
        }
        // Offsets are multiples of 64 and maps begin at a page: aligned for every number.
        Ok(Column::Mapped {
            map: Arc::clone(&self.map),
            offset: section.offset,
            length: section.bytes / size_of::<T>(),
        })
    }

    /// Reads everything and compares checksums.
    ///
    /// # Errors
    /// The first section that differs.
    pub fn verify(&self) -> Result<()> {
        self.sections.iter().try_for_each(|section| self.check(section))
    }

    /// Reads one section and compares its checksum.
    ///
    /// # Errors
    /// It differs, or there is none.
    pub fn verify_one(&self, tag: u32, number: u32) -> Result<()> {
        match self.sections.iter().find(|section| (section.tag, section.number) == (tag, number)) {
            Some(section) => self.check(section),
            None => Err(self.corrupt(format!("section {tag}.{number} is missing"))),
        }
    }

    fn check(&self, section: &Section) -> Result<()> {
        if xxh3_64(&self.map[section.offset..section.offset + section.bytes]) == section.sum {
            return Ok(());
        }
        Err(self.corrupt(format!("section {}.{} does not match its checksum", section.tag, section.number)))
    }
}
