//! The segment: an immutable file of named arrays, checksummed, written aside and renamed, read through a memory map.
//!
//! All numbers are little-endian. `docs/format.md` is the document of the format; this module is its one implementation.
//!
//! ```text
//! header   64 bytes   magic "NEARKSEG", version u32, kind u32, sections u32, 0 u32, file length u64, 0 u64 x 3,
//!                     checksum u64 of the header (this field zero) and the section table
//! table    40 bytes per section: tag u32, number u32, offset u64, bytes u64, checksum u64, 0 u64
//! arrays   each at a multiple of 64 bytes
//! ```
//!
//! Checksums are XXH3-64. `open` reads the header and the table alone, so a file of any size opens in milliseconds; every
//! offset and length is checked there, so that no array reaches outside the file. [`Segment::verify`] reads everything.
//!
//! **Crash safety.** A file is written under another name in the same folder, synced, renamed over the old one, and the folder
//! is synced: after a crash at any moment there is the old file or the new one, whole. A file must not be changed in place by
//! others while it is mapped; nearkin never does.

pub mod arrays;
pub(crate) mod numbers;

use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_64;

use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"NEARKSEG";
/// The version that this build writes and the newest that it reads.
pub const VERSION: u32 = 1;
const HEADER: usize = 64;
const ENTRY: usize = 40;
const ALIGN: u64 = 64;
/// Place of the header's checksum.
const SUM_AT: usize = 56;

/// Numbers that a file may hold as they lie in memory: any bits are a value.
///
/// # Safety
/// The type has no padding and every bit pattern is valid.
pub unsafe trait Plain: Copy + 'static {}
// SAFETY: integers.
unsafe impl Plain for u8 {}
// SAFETY: integers.
unsafe impl Plain for u16 {}
// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: integers.
unsafe impl Plain for i64 {}
// SAFETY: every bit pattern is a number, an infinity or a NaN.
unsafe impl Plain for f32 {}
// SAFETY: as for `f32`.
unsafe impl Plain for f64 {}

/// The bytes of numbers.
pub fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: `T` has no padding, and the length is that of the same memory.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// An array in memory or in a mapped file.
#[derive(Debug, Clone)]
pub enum Column<T: Plain> {
    /// In memory.
    Owned(Vec<T>),
    /// `length` values from `offset` of a map.
    Mapped {
        /// The file.
        map: Arc<Mmap>,
        /// Byte at which the values begin, aligned for `T`.
        offset: usize,
        /// How many values.
        length: usize,
    },
}

impl<T: Plain> Default for Column<T> {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl<T: Plain> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Owned(values)
    }
}

impl<T: Plain> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            // SAFETY: `Segment::column` has checked bounds and alignment; the map lives as long as this value.
            Self::Mapped { map, offset, length } => unsafe {
                std::slice::from_raw_parts(map.as_ptr().add(*offset).cast(), *length)
            },
        }
    }
}

impl<T: Plain> Column<T> {
    /// The values to change, copied into memory first if they are mapped.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Self::Mapped { .. } = self {
            *self = Self::Owned(self.to_vec());
        }
        match self {
            Self::Owned(values) => values,
            Self::Mapped { .. } => unreachable!("copied above"),
        }
    }

    /// Bytes in memory; none for what is mapped.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Owned(values) => values.capacity() * size_of::<T>(),
            Self::Mapped { .. } => 0,
        }
    }

    /// Whether the values lie in a file.
    pub fn is_mapped(&self) -> bool {
        matches!(self, Self::Mapped { .. })
    }
}

fn io(action: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let action = format!("{action} {}", path.display());
    |source| Error::Io { action, source }
}

/// Writes a segment beside its place, and moves it there at the end.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    aside: PathBuf,
    file: BufWriter<File>,
    kind: u32,
    at: u64,
    /// Room for this many sections is kept after the header.
    room: usize,
    table: Vec<u8>,
    done: bool,
}

impl Writer {
    /// Begins a segment of `kind` for `path` with at most `room` sections.
    ///
    /// # Errors
    /// The file system refuses; the machine is not little-endian.
    pub fn create(path: &Path, kind: u32, room: usize) -> Result<Self> {
        if cfg!(target_endian = "big") {
            return Err(Error::parameter("byte order", "big-endian", "a little-endian machine"));
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let aside = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let file = File::create(&aside).map_err(io("create", &aside))?;
        let at = ((HEADER + room * ENTRY) as u64).next_multiple_of(ALIGN);
        let mut writer = Self {
            path: path.to_owned(),
            aside,
            file: BufWriter::with_capacity(1 << 20, file),
            kind,
            at,
            room,
            table: Vec::new(),
            done: false,
        };
        writer.zeros(at)?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(io("write", &self.aside))
    }

    fn zeros(&mut self, count: u64) -> Result<()> {
        self.put(&vec![0; count as usize])
    }

    /// Appends an array under a tag and number.
    ///
    /// # Errors
    /// The file system refuses; there is no room for another section.
    pub fn section<T: Plain>(&mut self, tag: u32, number: u32, values: &[T]) -> Result<()> {
        if self.table.len() >= self.room * ENTRY {
            return Err(Error::parameter("sections", self.room + 1, format!("at most {}", self.room)));
        }
        let bytes = bytes_of(values);
        for part in [tag, number] {
            self.table.extend(part.to_le_bytes());
        }
        for part in [self.at, bytes.len() as u64, xxh3_64(bytes), 0] {
            self.table.extend(part.to_le_bytes());
        }
        self.put(bytes)?;
        let end = self.at + bytes.len() as u64;
        self.at = end.next_multiple_of(ALIGN);
        self.zeros(self.at - end)
    }

    /// Writes the header, syncs, and moves the file to its place.
    ///
    /// # Errors
    /// The file system refuses; the old file is then as it was.
    pub fn finish(mut self) -> Result<()> {
        let mut head = Vec::with_capacity(HEADER + self.table.len());
        head.extend(MAGIC);
        for part in [VERSION, self.kind, (self.table.len() / ENTRY) as u32, 0] {
            head.extend(part.to_le_bytes());
        }
        head.extend(self.at.to_le_bytes());
        head.resize(HEADER, 0);
        head.extend(&self.table);
        let sum = xxh3_64(&head);
        head[SUM_AT..HEADER].copy_from_slice(&sum.to_le_bytes());
        self.file.seek(SeekFrom::Start(0)).map_err(io("write", &self.aside))?;
        self.put(&head)?;
        self.file.flush().map_err(io("write", &self.aside))?;
        self.file.get_ref().sync_all().map_err(io("sync", &self.aside))?;
        fs::rename(&self.aside, &self.path).map_err(io("rename to", &self.path))?;
        self.done = true;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        #[cfg(unix)]
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io("sync", folder))?;
        #[cfg(not(unix))]
        let _ = folder;
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.done {
            // Nothing more can be done about a leftover than to try.
            let _ = fs::remove_file(&self.aside);
        }
    }
}

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
