//! Writing a segment: arrays one after another, the header last.

use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::column::{Plain, bytes_of};
use super::replace::Replacement;
use super::{ALIGN, ENTRY, HEADER, MAGIC, SUM_AT, VERSION, io};
use crate::{Error, Result};

/// Writes a segment beside its place, and moves it there at the end.
#[derive(Debug)]
pub struct Writer {
    file: BufWriter<Replacement>,
    kind: u32,
    at: u64,
    /// Room for this many sections is kept after the header.
    room: usize,
    table: Vec<u8>,
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
        let mut writer = Self { file: BufWriter::with_capacity(1 << 20, file), kind, at, room, table: Vec::new() };
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
        self.file.seek(SeekFrom::Start(0)).map_err(io("write", self.file.get_ref().aside()))?;
        self.put(&head)?;
        self.file.flush().map_err(io("write", self.file.get_ref().aside()))?;
        // Nothing is left in the buffer, so that taking it apart can't fail.
        let (file, _) = self.file.into_parts();
        file.commit()
    }
}
