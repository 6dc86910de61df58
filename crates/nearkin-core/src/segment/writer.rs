//! Writing a segment: arrays one after another, the header last.

use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::column::{Plain, bytes_of};
use super::replace::Replacement;
use super::{ALIGN, ENTRY, HEADER, MAGIC, SUM_AT, VERSION, io};
use crate::stop::Stop;
use crate::{Error, Result};

/// Bytes that are summed and written between two looks at the stop.
const WRITTEN: usize = if cfg!(test) { 1 << 16 } else { 1 << 22 };

/// Writes a segment beside its place, and moves it there at the end.
#[derive(Debug)]
pub struct Writer {
    file: BufWriter<Replacement>,
    kind: u32,
    at: u64,
    /// Room for this many sections is kept after the header.
    room: usize,
    table: Vec<u8>,
    /// Whether an array has begun and not ended, for ever so if writing it has failed.
    open: bool,
}

/// An array that is being written, piece by piece.
pub struct Stream<'w> {
    writer: &'w mut Writer,
    sum: Xxh3,
}

impl Stream<'_> {
    /// Appends bytes.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.sum.update(bytes);
        self.writer.append(bytes)
    }
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
        let file = Replacement::begin(path)?;
        let at = ((HEADER + room * ENTRY) as u64).next_multiple_of(ALIGN);
        let mut writer =
            Self { file: BufWriter::with_capacity(1 << 20, file), kind, at, room, table: Vec::new(), open: false };
        writer.zeros(at)?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(io("write", self.file.get_ref().aside()))
    }

    fn zeros(&mut self, count: u64) -> Result<()> {
        self.put(&vec![0; count as usize])
    }

    /// Appends an array under a tag and number.
    ///
    /// # Errors
    /// The file system refuses; there is no room for another section; the call is stopped.
    pub fn section<T: Plain>(&mut self, tag: u32, number: u32, values: &[T]) -> Result<()> {
        let stop = Stop::current();
        self.stream(tag, number, |stream| {
            for some in bytes_of(values).chunks(WRITTEN) {
                stop.check()?;
                stream.append(some)?;
            }
            Ok(())
        })
    }

    /// Appends an array under a tag and number, of which `fill` gives one piece after another; returns what that returns.
    ///
    /// # Errors
    /// Those of `fill`; as [`Self::section`]. The file can't be finished then.
    pub fn stream<T>(&mut self, tag: u32, number: u32, fill: impl FnOnce(&mut Stream<'_>) -> Result<T>) -> Result<T> {
        let begin = self.begin()?;
        let mut stream = Stream { writer: self, sum: Xxh3::new() };
        let made = fill(&mut stream)?;
        let sum = stream.sum.digest();
        self.end(tag, number, begin, sum)?;
        Ok(made)
    }

    /// Where the next array begins.
    fn begin(&mut self) -> Result<u64> {
        if self.open || self.table.len() >= self.room * ENTRY {
            return Err(Error::parameter("sections", self.room + 1, format!("at most {}", self.room)));
        }
        self.open = true;
        Ok(self.at)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.put(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Names the array that began at `begin` and ends here.
    fn end(&mut self, tag: u32, number: u32, begin: u64, sum: u64) -> Result<()> {
        for part in [tag, number] {
            self.table.extend(part.to_le_bytes());
        }
        for part in [begin, self.at - begin, sum, 0] {
            self.table.extend(part.to_le_bytes());
        }
        let next = self.at.next_multiple_of(ALIGN);
        self.zeros(next - self.at)?;
        self.at = next;
        self.open = false;
        Ok(())
    }

    /// Writes the header, syncs, and moves the file to its place.
    ///
    /// # Errors
    /// The file system refuses, the call is stopped, or an array was not written to its end; the old file is then as it was.
    pub fn finish(mut self) -> Result<()> {
        if self.open {
            return Err(Error::parameter("sections", "one that was not written to its end", "whole ones"));
        }
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
        self.file.seek(SeekFrom::Start(0)).map_err(io("write", self.file.get_ref().aside()))?;
        self.put(&head)?;
        self.file.flush().map_err(io("write", self.file.get_ref().aside()))?;
        // Nothing is left in the buffer, so that taking it apart can't fail.
        let (file, _) = self.file.into_parts();
        file.commit()
    }
}
