//! An index as a segment file: saved in one sorted run, opened through a memory map.
//!
//! Sections (tag, number): 1 description, 2 dead rows, 3 integer ids, 4 bytes and 5 ends of string ids, 6 metadata, 10
//! fingerprints, 11 rows, 12 starts of the run; 20, 21 and 22 starts, slots and fingerprints of table `number`.
//! `docs/format.md` documents each section. Opening reads the header and, if ids are strings or do not ascend, rebuilds
//! the look-up of ids; fingerprints and tables are read on demand.

use std::path::Path;

use super::blocks::Layout;
use super::runs::SortedRun;
use super::search::BATCH;
use super::{Index, Method};
use crate::Result;
use crate::alloc;
use crate::cpu::popcount::check_fingerprints;
use crate::index::rows::Rows;
use crate::segment::numbers::Reader;
use crate::segment::{Segment, Writer};

/// The kind of a segment that holds a Hamming index.
const KIND: u32 = 1;
const ABOUT: u32 = 1;
const NOTE: u32 = 6;
const FPS: u32 = 10;
const ROWS: u32 = 11;
const STARTS: u32 = 12;

impl Index {
    /// Save the index as one sorted run with its tables; the old file is replaced when the new one is complete.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&mut self, path: &Path) -> Result<()> {
        if !self.tail_rows.is_empty() || self.runs.len() > 1 {
            self.compact()?;
        }
        // The file of an announced radius has its tables, so that whoever opens it need not build them.
        if let Some(radius) = self.radius {
            self.prepare(radius, BATCH)?;
        }
        let empty = SortedRun::default();
        let run = self.runs.first().unwrap_or(&empty);
        let tables = run.layout.as_ref().map_or(0, |layout| layout.spec().len());
        let mut writer = Writer::create(path, KIND, 9 + 3 * tables)?;
        let method = Method::ALL.iter().position(|&method| method == self.method).unwrap_or(0);
        let mut about = vec![
            self.bits as u64,
            method as u64,
            self.radius.map_or(0, |radius| u64::from(radius) + 1),
            self.memory.map_or(0, |memory| memory as u64 + 1),
        ];
        about.extend(self.rows.about());
        match &run.layout {
            None => about.push(0),
            Some(layout) => layout.spec().describe(&mut about),
        }
        writer.section(ABOUT, 0, &about)?;
        self.rows.save_dead(&mut writer)?;
        self.rows.save_ids(&mut writer)?;
        if let Some(note) = &self.note {
            writer.section(NOTE, 0, note.as_bytes())?;
        }
        writer.section(FPS, 0, &run.fps)?;
        writer.section(ROWS, 0, &run.rows)?;
        writer.section(STARTS, 0, run.starts())?;
        if let Some(layout) = &run.layout {
            layout.save(&mut writer)?;
        }
        writer.finish()
    }

    /// Open a saved index; fingerprints and tables are read on demand.
    ///
    /// # Errors
    /// The file cannot be read, has a newer version, or is not a complete index.
    pub fn open(path: &Path) -> Result<Self> {
        let segment = Segment::open_kind(path, KIND, " and no Hamming index")?;
        segment.verify_one(ABOUT, 0)?;
        let note = if segment.has(NOTE, 0) {
            segment.verify_one(NOTE, 0)?;
            let bytes = alloc::try_copy(&segment.column::<u8>(NOTE, 0)?)?;
            Some(String::from_utf8(bytes).map_err(|_| segment.corrupt("its note is not UTF-8"))?)
        } else {
            None
        };
        let about = segment.column::<u64>(ABOUT, 0)?;
        let mut reader = Reader::new(&segment, &about);
        let bits = reader.up_to(1024)? as usize;
        let method = Method::ALL[reader.up_to(Method::ALL.len() as u64 - 1)? as usize];
        let radius = reader.optional(1024)?.map(|radius| radius as u32);
        let memory = reader.optional(u64::MAX - 1)?.map(|memory| memory as usize);
        let total = reader.up_to(u64::from(u32::MAX) - 1)?;
        let rows_about = [total, reader.up_to(2)?, reader.up_to(1)?];
        let mut index = Self::new(bits, method, radius, memory).map_err(|error| segment.corrupt(error.to_string()))?;
        index.rows = Rows::open(&segment, rows_about)?;
        index.note = note;
        let rows = segment.column::<u32>(ROWS, 0)?;
        let mut run = SortedRun::mapped(index.words, segment.column(FPS, 0)?, rows, segment.column(STARTS, 0)?)
            // A file that claims more rows than it has is refused before anything is allocated for them.
            .filter(|run| (index.rows.len()..=index.rows.total()).contains(&run.rows.len()))
            .ok_or_else(|| segment.corrupt("its fingerprints and rows are not equally many"))?;
        let layout = Layout::open(&segment, &mut reader, bits, index.words, run.len())?;
        if run.len() > 0 {
            run.layout = layout;
            index.runs.push(run);
        }
        index.segment = Some(segment);
        Ok(index)
    }

    /// Verify the checksums and the arrays of the file that the index was opened from.
    ///
    /// # Errors
    /// The first inconsistency. An index that was not opened from a file is valid.
    pub fn verify(&self) -> Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        segment.verify()?;
        let rows = self.runs.iter().flat_map(|run| run.rows.iter()).chain(&self.tail_rows).copied();
        let sound = self.rows.is_sound()
            && self.rows.are_each_once(rows)?
            && self.runs.iter().all(|run| {
                run.is_sound(self.words)
                    && check_fingerprints(&run.fps, self.bits).is_ok()
                    && run.copies_are_in_order(|a, b| self.rows.compare(a, b))
                    && run.layout.as_ref().is_none_or(|layout| layout.is_sound(self.bits, &run.fps))
            });
        if sound { Ok(()) } else { Err(segment.corrupt("its ids, runs and tables do not hold together")) }
    }

    /// Return the file that the index was opened from; see [`with_verified`](crate::segment::with_verified).
    pub fn segment(&self) -> Option<&Segment> {
        self.segment.as_ref()
    }
}
