//! An index as a segment file: saved in one sorted run, opened through a memory map.
//!
//! Sections (tag, number): 1 what the index is, 2 dead rows, 3 integer ids, 4 bytes and 5 ends of string ids, 6 the note, 10
//! fingerprints, 11 rows, 12 starts of the run; 20, 21 and 22 starts, slots and fingerprints of table `number`.
//! `docs/format.md` says what each holds. Opening costs the header and, where ids are strings or do not grow, the look-up of
//! ids, which is made anew; fingerprints and tables stay in the file until they are read.

use std::path::Path;

use super::blocks::Layout;
use super::runs::Run;
use super::search::BATCH;
use super::{Index, Method};
use crate::Result;
use crate::search::rows::Ids;
use crate::segment::numbers::Reader;
use crate::segment::{Segment, Writer};

/// The kind of a segment that holds a Hamming index.
const KIND: u32 = 1;
const ABOUT: u32 = 1;
const DEAD: u32 = 2;
const INTS: u32 = 3;
const NAMES: u32 = 4;
const ENDS: u32 = 5;
const NOTE: u32 = 6;
const FPS: u32 = 10;
const ROWS: u32 = 11;
const STARTS: u32 = 12;

const METHODS: [Method; 6] = [Method::Auto, Method::Scan, Method::Blocks, Method::Multi, Method::Tables, Method::Bits];

impl Index {
    /// Saves the index as one sorted run with its tables; the old file stays until the new one is whole.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn save(&mut self, path: &Path) -> Result<()> {
        if !self.tail_rows.is_empty() || self.runs.len() > 1 {
            self.compact();
        }
        // The file of an announced radius has its tables, so that whoever opens it need not build them.
        if let Some(radius) = self.radius {
            self.prepare(radius, BATCH)?;
        }
        let empty = Run::default();
        let run = self.runs.first().unwrap_or(&empty);
        let tables = run.layout.as_ref().map_or(0, |layout| layout.spec().len());
        let mut writer = Writer::create(path, KIND, 9 + 3 * tables)?;
        let method = METHODS.iter().position(|&method| method == self.method).unwrap_or(0);
        let (kind, growing) = match &self.ids {
            Ids::Rows => (0, true),
            Ids::Ints { lookup, .. } => (1, lookup.is_none()),
            Ids::Names { .. } => (2, false),
        };
        let mut about = vec![
            self.bits as u64,
            method as u64,
            self.radius.map_or(0, |radius| u64::from(radius) + 1),
            self.memory.map_or(0, |memory| memory as u64 + 1),
            self.total as u64,
            kind,
            u64::from(growing),
        ];
        match &run.layout {
            None => about.push(0),
            Some(layout) => layout.spec().describe(&mut about),
        }
        writer.section(ABOUT, 0, &about)?;
        writer.section(DEAD, 0, &self.dead)?;
        match &self.ids {
            Ids::Rows => {}
            Ids::Ints { values, .. } => writer.section(INTS, 0, values)?,
            Ids::Names { bytes, ends, .. } => {
                writer.section(NAMES, 0, bytes)?;
                writer.section(ENDS, 0, ends)?;
            }
        }
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

    /// Opens a saved index; fingerprints and tables stay in the file until they are read.
    ///
    /// # Errors
    /// The file system refuses; a newer version; a file that is not a whole index.
    pub fn open(path: &Path) -> Result<Self> {
        let segment = Segment::open(path)?;
        if segment.kind() != KIND {
            return Err(segment.corrupt(format!("it holds kind {} and no Hamming index", segment.kind())));
        }
        segment.verify_one(ABOUT, 0)?;
        segment.verify_one(DEAD, 0)?;
        let note = if segment.has(NOTE, 0) {
            segment.verify_one(NOTE, 0)?;
            let bytes = segment.column::<u8>(NOTE, 0)?.to_vec();
            Some(String::from_utf8(bytes).map_err(|_| segment.corrupt("its note is not UTF-8"))?)
        } else {
            None
        };
        let about = segment.column::<u64>(ABOUT, 0)?;
        let mut reader = Reader::new(&segment, &about);
        let bits = reader.up_to(1024)? as usize;
        let method = METHODS[reader.up_to(METHODS.len() as u64 - 1)? as usize];
        let radius = reader.optional(1024)?.map(|radius| radius as u32);
        let memory = reader.optional(u64::MAX - 1)?.map(|memory| memory as usize);
        let total = reader.up_to(u64::from(u32::MAX) - 1)? as usize;
        let kind = reader.up_to(2)?;
        let growing = reader.up_to(1)? == 1;
        let mut index = Self::new(bits, method, radius, memory).map_err(|error| segment.corrupt(error.to_string()))?;
        index.total = total;
        index.note = note;
        index.dead = segment.column::<u64>(DEAD, 0)?.to_vec();
        index.num_dead = index.dead.iter().map(|word| word.count_ones() as usize).sum();
        let behind = index.dead.iter().enumerate().skip(total / 64).any(|(word, &dead)| {
            let valid = total.saturating_sub(64 * word).min(64);
            valid < 64 && dead >> valid != 0
        });
        if behind {
            return Err(segment.corrupt("dead rows lie behind its last row"));
        }
        let rows = segment.column::<u32>(ROWS, 0)?;
        let mut run = Run::mapped(index.words, segment.column(FPS, 0)?, rows, segment.column(STARTS, 0)?)
            .filter(|run| run.rows.len() <= total)
            .ok_or_else(|| segment.corrupt("its fingerprints and rows are not equally many"))?;
        let layout = Layout::open(&segment, &mut reader, bits, index.words, run.len())?;
        if run.len() > 0 {
            run.layout = layout;
            index.runs.push(run);
        }
        let dead = &index.dead;
        let alive = |row: u32| dead.get(row as usize / 64).is_none_or(|word| word >> (row % 64) & 1 == 0);
        index.ids = match kind {
            0 => Ids::Rows,
            1 => Ids::ints(segment.column(INTS, 0)?, growing, alive),
            _ => Ids::names(segment.column(NAMES, 0)?, segment.column(ENDS, 0)?, alive)
                .ok_or_else(|| segment.corrupt("its string ids are not UTF-8 at their ends"))?,
        };
        if index.ids.len().is_some_and(|ids| ids != total) {
            return Err(segment.corrupt("its ids are not as many as its rows"));
        }
        index.segment = Some(segment);
        Ok(index)
    }

    /// Reads the whole file of an opened index: checksums, and that its arrays hold together.
    ///
    /// # Errors
    /// The first thing that does not hold; nothing for an index that was not opened from a file.
    pub fn verify(&self) -> Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        segment.verify()?;
        for run in &self.runs {
            let sound = run.is_sound(self.words, self.total)
                && run.copies_are_in_order(|a, b| self.ids.compare(a, b))
                && run.layout.as_ref().is_none_or(|layout| layout.is_sound(self.words, &run.fps));
            if !sound {
                return Err(segment.corrupt("its runs and tables do not hold together"));
            }
        }
        Ok(())
    }

    /// Whether the index was opened from a file.
    pub fn is_mapped(&self) -> bool {
        self.segment.is_some()
    }
}
