//! Reading a segment: the header on opening, arrays on use.
//!
//! **Verified once.** An opened index is used through [`with_verified`]: before the first use it verifies every checksum of
//! the file, in parallel and once for all clones of the segment (XXH3 reads about ten gigabytes per second), so that a
//! flipped bit causes an error and never a wrong result. A panic over inconsistent arrays, and a file that is truncated
//! while open, become errors that name the file.

use std::fs::{File, Metadata};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::parallel::prelude::*;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::column::Column;
use super::memory::Memory;
use super::{ALIGN, ENTRY, HEADER, MAGIC, SUM_AT, VERSION, io};
use crate::alloc::{self, Plain};
use crate::cancel::CancelToken;
use crate::{Error, Result};

/// Number of bytes hashed between two cancellation points.
const SUMMED: usize = if cfg!(test) { 32 } else { 1 << 22 };

#[derive(Debug, Clone, Copy)]
struct Section {
    tag: u32,
    number: u32,
    offset: usize,
    bytes: usize,
    sum: u64,
}

/// An open segment; clones share it.
#[derive(Debug, Clone)]
pub struct Segment(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    place: String,
    memory: Arc<Memory>,
    kind: u32,
    sections: Vec<Section>,
    /// The first section that differs from its checksum, once all were verified.
    compared: OnceLock<Option<(u32, u32)>>,
}

/// Open a regular file for reading. Anything else is refused before it is opened: a named pipe would block until a
/// writer comes, and a device may never end.
///
/// # Errors
/// An I/O operation fails; a pipe, socket, device or folder.
pub fn open_regular(path: &Path) -> Result<File> {
    check_regular(path, &std::fs::metadata(path).map_err(io("open", path))?)?;
    let mut options = File::options();
    options.read(true);
    // Another kind of file may have replaced it since; O_NONBLOCK keeps opening it from blocking, and it is refused
    // below.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).map_err(io("open", path))?;
    check_regular(path, &file.metadata().map_err(io("open", path))?)?;
    Ok(file)
}

fn check_regular(path: &Path, about: &Metadata) -> Result<()> {
    if about.is_file() {
        return Ok(());
    }
    #[cfg(unix)]
    let (is_pipe, is_socket) = {
        use std::os::unix::fs::FileTypeExt;
        (about.file_type().is_fifo(), about.file_type().is_socket())
    };
    #[cfg(not(unix))]
    let (is_pipe, is_socket) = (false, false);
    let kind = match (about.is_dir(), is_pipe, is_socket) {
        (true, ..) => "a folder",
        (_, true, _) => "a named pipe",
        (_, _, true) => "a socket",
        _ => "a device",
    };
    Err(Error::input(path.display().to_string(), format!("is {kind}; give a file that `save` has written")))
}

impl Segment {
    /// Open a file and check its header and section table.
    ///
    /// # Errors
    /// An I/O operation fails; a pipe, socket, device or folder; a newer version; a file that is not a complete
    /// segment.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open_regular(path)?;
        let memory = Memory::of(&file).map_err(io("read", path))?;
        Self::of(memory, path.display().to_string())
    }

    /// Open a file that holds one `kind`; `other` ends the error for a file of another.
    ///
    /// # Errors
    /// As [`Segment::open`]; the file holds another kind.
    pub(crate) fn open_kind(path: &Path, kind: u32, other: &str) -> Result<Self> {
        let segment = Self::open(path)?;
        if segment.kind() == kind {
            return Ok(segment);
        }
        Err(segment.corrupt(format!("it holds kind {}{other}", segment.kind())))
    }

    fn of(memory: Memory, place: String) -> Result<Self> {
        let corrupt = |reason: &str| Error::Corrupt { place: place.clone(), reason: reason.to_owned() };
        if cfg!(target_endian = "big") {
            return Err(Error::parameter("byte order", "big-endian", "a little-endian machine"));
        }
        let bytes: &[u8] = &memory;
        if bytes.is_empty() {
            return Err(corrupt("it is empty; give a file that `save` has written"));
        }
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
        let mut head = alloc::try_copy(&bytes[..end])?;
        head[SUM_AT..HEADER].fill(0);
        if xxh3_64(&head) != long(SUM_AT) {
            return Err(corrupt("its header does not match its checksum"));
        }
        let mut sections = alloc::try_with_capacity(count)?;
        for at in (HEADER..end).step_by(ENTRY) {
            let (offset, size) = (long(at + 8), long(at + 16));
            let inside = offset.checked_add(size).is_some_and(|cancel| cancel <= length);
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
        let compared = OnceLock::new();
        Ok(Self(Arc::new(Opened { place, memory: Arc::new(memory), kind, sections, compared })))
    }

    /// Return the kind of the contents.
    pub fn kind(&self) -> u32 {
        self.0.kind
    }

    /// Return the number of arrays.
    #[allow(clippy::len_without_is_empty, reason = "a count of sections; one without any is as good as another")]
    pub fn len(&self) -> usize {
        self.0.sections.len()
    }

    /// Build the error for inconsistent contents.
    pub fn corrupt(&self, reason: impl Into<String>) -> Error {
        Error::Corrupt { place: self.0.place.clone(), reason: reason.into() }
    }

    /// True if there is an array with this tag and number.
    pub fn has(&self, tag: u32, number: u32) -> bool {
        self.0.sections.iter().any(|section| (section.tag, section.number) == (tag, number))
    }

    /// Return the array with this tag and number.
    ///
    /// # Errors
    /// The array is missing, or its length is not a multiple of the size of `T`.
    pub fn column<T: Plain>(&self, tag: u32, number: u32) -> Result<Column<T>> {
        let section = self.0.sections.iter().find(|section| (section.tag, section.number) == (tag, number));
        let Some(section) = section else { return Err(self.corrupt(format!("section {tag}.{number} is missing"))) };
        if !section.bytes.is_multiple_of(size_of::<T>()) {
            return Err(self.corrupt(format!("section {tag}.{number} has {} bytes", section.bytes)));
        }
        // `of` has refused sections outside the file and offsets that are not multiples of 64; maps begin at a page and
        // copies at a word, so the values are aligned for every number type.
        Column::mapped(Arc::clone(&self.0.memory), section.offset, section.bytes)
            .ok_or_else(|| self.corrupt(format!("section {tag}.{number} does not lie in it")))
    }

    /// Read the file and verify all checksums.
    ///
    /// # Errors
    /// A section that differs from its checksum; the call is cancelled.
    pub fn verify(&self) -> Result<()> {
        self.0.sections.iter().try_for_each(|section| self.check(section))
    }

    /// Read one section and verify its checksum.
    ///
    /// # Errors
    /// It differs or is missing; the call is cancelled.
    pub fn verify_one(&self, tag: u32, number: u32) -> Result<()> {
        match self.0.sections.iter().find(|section| (section.tag, section.number) == (tag, number)) {
            Some(section) => self.check(section),
            None => Err(self.corrupt(format!("section {tag}.{number} is missing"))),
        }
    }

    fn check(&self, section: &Section) -> Result<()> {
        let cancel = CancelToken::current();
        let equal = self.is_equal(section, &cancel);
        cancel.check()?;
        self.unbroken()?;
        if equal { Ok(()) } else { Err(self.differs(section.tag, section.number)) }
    }

    /// True if a section matches its checksum; unspecified after cancellation.
    fn is_equal(&self, section: &Section, cancel: &CancelToken) -> bool {
        let bytes = &self.0.memory[section.offset..section.offset + section.bytes];
        if bytes.len() <= SUMMED {
            return xxh3_64(bytes) == section.sum;
        }
        let mut sum = Xxh3::new();
        bytes.chunks(SUMMED).take_while(|_| !cancel.is_set()).for_each(|some| sum.update(some));
        sum.digest() == section.sum
    }

    fn differs(&self, tag: u32, number: u32) -> Error {
        self.corrupt(format!("section {tag}.{number} does not match its checksum; restore the file from a copy"))
    }

    /// Return the first section that differs from its checksum.
    fn differing(&self) -> Result<Option<(u32, u32)>> {
        let (sections, cancel) = (&self.0.sections, &CancelToken::current());
        // Outside a pool the calling thread reads alone: rayon's global pool would not survive a fork.
        let section = if rayon::current_thread_index().is_some() {
            let are_equal: Vec<bool> = sections.par_iter().map(|section| self.is_equal(section, cancel)).collect();
            are_equal.iter().position(|equal| !equal).map(|at| &sections[at])
        } else {
            sections.iter().find(|section| !self.is_equal(section, cancel))
        };
        cancel.check()?;
        Ok(section.map(|section| (section.tag, section.number)))
    }

    /// Verify every checksum at the first call and cache the result.
    fn compared(&self) -> Result<()> {
        let differing = if let Some(differing) = self.0.compared.get() {
            *differing
        } else {
            // No thread waits for another's verification: a waiting rayon worker would take other tasks, which may
            // verify the same file.
            let found = self.differing()?;
            *self.0.compared.get_or_init(|| found)
        };
        self.unbroken()?;
        match differing {
            None => Ok(()),
            Some((tag, number)) => Err(self.differs(tag, number)),
        }
    }

    /// Build the error of a file that was truncated, or became unreadable, since it was opened.
    fn unbroken(&self) -> Result<()> {
        if self.0.memory.is_broken() {
            return Err(
                self.corrupt("it was truncated or could not be read while it was open; open it again from a copy")
            );
        }
        Ok(())
    }
}

/// Call `work`, which uses arrays of `segment`, so that damaged contents neither end the process nor produce a wrong
/// result: see the header. Without a segment, call it directly.
///
/// # Errors
/// Errors of `work`; a checksum that differs; inconsistent arrays; a file that was truncated while open.
pub fn with_verified<T>(segment: Option<&Segment>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(segment) = segment else { return work() };
    segment.compared()?;
    with_sigbus_guard(Some(segment), work)
}

/// Call `work` as [`with_verified`] does, without verifying checksums: for metadata of an index, which was checked on
/// opening.
///
/// # Errors
/// Run `work` with the guard, without verifying checksums.
pub fn with_sigbus_guard<T>(segment: Option<&Segment>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(segment) = segment else { return work() };
    let (mut work, mut result) = (Some(work), None);
    let has_ended = ends(&mut || result = work.take().map(|work| work()));
    let result = result.filter(|_| has_ended).unwrap_or_else(|| {
        Err(segment.corrupt("its arrays do not hold together; run verify() and restore it from a copy"))
    });
    segment.unbroken()?;
    result
}

/// Return true if `work` ends without a panic; compiled once for all kinds of work.
fn ends(work: &mut dyn FnMut()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_ok()
}
