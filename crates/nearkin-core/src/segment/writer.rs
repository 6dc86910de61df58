//! Writing a segment: arrays one after another, the header last.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::replace::Replacement;
use super::{ALIGN, ENTRY, HEADER, MAGIC, SUM_AT, VERSION, io};
use crate::alloc::{self, Plain, as_bytes};
use crate::cancel::CancelToken;
use crate::{Error, Result};

/// Number of bytes hashed and written between two cancellation points.
const WRITTEN: usize = if cfg!(test) { 1 << 16 } else { 1 << 22 };
/// Number of bytes buffered before a write.
const BUFFER: usize = 1 << 20;

/// Writes a segment to a temporary file and renames it at the end.
#[derive(Debug)]
pub struct Writer {
    file: Replacement,
    /// Bytes that are not written yet.
    buffer: Vec<u8>,
    kind: u32,
    at: u64,
    /// Capacity of the section table.
    sections: usize,
    table: Vec<u8>,
    /// True between the start and the end of an array; it remains true if writing the array fails.
    open: bool,
}

/// An array that is being written in pieces.
pub struct Stream<'w> {
    writer: &'w mut Writer,
    sum: Xxh3,
}

impl Stream<'_> {
    /// Append bytes.
    ///
    /// # Errors
    /// An I/O operation fails.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.sum.update(bytes);
        self.writer.append(bytes)
    }
}

impl Writer {
    /// Begin a segment of `kind` for `path` with at most this many sections.
    ///
    /// # Errors
    /// An I/O operation fails; memory runs out; the machine is not little-endian.
    pub fn create(path: &Path, kind: u32, sections: usize) -> Result<Self> {
        if cfg!(target_endian = "big") {
            return Err(Error::parameter("byte order", "big-endian", "a little-endian machine"));
        }
        let at = ((HEADER + sections * ENTRY) as u64).next_multiple_of(ALIGN);
        let (buffer, table) = (alloc::try_with_capacity(BUFFER)?, alloc::try_with_capacity(sections * ENTRY)?);
        let file = Replacement::begin(path)?;
        let mut writer = Self { file, buffer, kind, at, sections, table, open: false };
        writer.zeros(at)?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        if bytes.len() >= BUFFER {
            return self.file.write_all(bytes).map_err(io("write", self.file.target()));
        }
        // The buffer has capacity for it.
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all(&self.buffer).map_err(io("write", self.file.target()))?;
        self.buffer.clear();
        Ok(())
    }

    fn zeros(&mut self, mut count: u64) -> Result<()> {
        let zeros = [0; 1 << 10];
        while count > 0 {
            let chunk = count.min(zeros.len() as u64);
            self.put(&zeros[..chunk as usize])?;
            count -= chunk;
        }
        Ok(())
    }

    /// Append an array under a tag and number.
    ///
    /// # Errors
    /// An I/O operation fails; the section table is full; the call is cancelled.
    pub fn section<T: Plain>(&mut self, tag: u32, number: u32, values: &[T]) -> Result<()> {
        let cancel = CancelToken::current();
        self.stream(tag, number, |stream| {
            for chunk in as_bytes(values).chunks(WRITTEN) {
                cancel.check()?;
                stream.append(chunk)?;
            }
            Ok(())
        })
    }

    /// Append an array under a tag and number, written in pieces by `fill`; return the result of `fill`.
    ///
    /// # Errors
    /// Errors of `fill`; as [`Self::section`]. The file can't be finished afterwards.
    pub fn stream<T>(&mut self, tag: u32, number: u32, fill: impl FnOnce(&mut Stream<'_>) -> Result<T>) -> Result<T> {
        let begin = self.begin()?;
        let mut stream = Stream { writer: self, sum: Xxh3::new() };
        let made = fill(&mut stream)?;
        let sum = stream.sum.digest();
        self.end(tag, number, begin, sum)?;
        Ok(made)
    }

    /// Return the offset of the next array.
    fn begin(&mut self) -> Result<u64> {
        if self.open || self.table.len() >= self.sections * ENTRY {
            return Err(Error::parameter("sections", self.sections + 1, format!("at most {}", self.sections)));
        }
        self.open = true;
        Ok(self.at)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.put(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Record the array that began at `begin` and ends here.
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

    /// Write the header, sync, and rename the file to its path.
    ///
    /// # Errors
    /// An I/O operation fails, the call is cancelled, or an array is incomplete; the old file is then unchanged.
    pub fn finish(mut self) -> Result<()> {
        if self.open {
            return Err(Error::parameter("sections", "one that was not written to its end", "whole ones"));
        }
        let mut head = alloc::try_with_capacity(HEADER + self.table.len())?;
        head.extend(MAGIC);
        for part in [VERSION, self.kind, (self.table.len() / ENTRY) as u32, 0] {
            head.extend(part.to_le_bytes());
        }
        head.extend(self.at.to_le_bytes());
        head.resize(HEADER, 0);
        head.extend(&self.table);
        let sum = xxh3_64(&head);
        head[SUM_AT..HEADER].copy_from_slice(&sum.to_le_bytes());
        self.flush()?;
        self.file.seek(SeekFrom::Start(0)).map_err(io("write", self.file.target()))?;
        self.put(&head)?;
        self.flush()?;
        self.file.commit()
    }
}
