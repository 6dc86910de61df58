//! An LSH index as a segment file: its tables or codes, its vectors, its ids, and a note of the caller's.
//!
//! `docs/format-lsh.md` documents each section. Opening costs the header and, if ids are strings or do not grow, the
//! look-up of ids, which is rebuilt; everything after that is read on demand.

use std::path::Path;

use super::buckets::BucketRun;
use super::codes::Codes;
use super::kernels::{Dense, Element};
use super::keys::mix;
use super::rabitq::RaBitQIndex;
use super::vectors::{KINDS, Sparse, match_store};
use super::{Filter, HashKind, Hashes, Index, Metric, TableLayout, VectorStore};
use crate::alloc;
use crate::index::rows::Rows;
use crate::segment::{Segment, Writer};
use crate::{Error, Result};

/// The kind of a segment that holds an LSH index.
const KIND: u32 = 5;
const ABOUT: u32 = 1;
const NOTE: u32 = 6;
const COLUMNS: u32 = 10;
const BASES: u32 = 11;
const DIRECTORY: u32 = 12;
const KEYS: u32 = 13;
const STARTS: u32 = 14;
const ROWS: u32 = 15;
const CODES: u32 = 16;
const VALUES: u32 = 20;
const NORMS: u32 = 21;
const ROW_ENDS: u32 = 22;
const COORDINATES: u32 = 23;

impl Index {
    /// Save the index with its tables as one run; the old file is replaced when the new one is complete.
    ///
    /// # Errors
    /// The file cannot be written, or the call is cancelled.
    pub fn save(&mut self, path: &Path) -> Result<()> {
        self.compact()?;
        let mut writer = Writer::create(path, KIND, 20)?;
        let position = |name: &str| KINDS.iter().position(|&other| other == name).unwrap_or(0) as u64;
        let metric = Metric::ALL.iter().position(|&metric| metric == self.metric).unwrap_or(0) as u64;
        let [total, kind, growing] = self.rows.about();
        let empty;
        let (filter, hashes, per_table, run) = match &self.filter {
            Filter::Codes(codes) => (2, codes.bits, 0, None),
            Filter::RaBitQ(rabitq) => (3, rabitq.size(), 0, None),
            Filter::Buckets { layout, runs } => {
                let run = if let Some(run) = runs.first() {
                    run
                } else {
                    empty = BucketRun::empty(layout.tables());
                    &empty
                };
                (u64::from(layout.kind() == HashKind::Ints), layout.hashes(), layout.per_table(), Some((layout, run)))
            }
        };
        let about = [
            metric,
            position(self.store.kind()),
            self.store.dim() as u64,
            total,
            kind,
            growing,
            filter,
            hashes as u64,
            per_table as u64,
            run.map_or(0, |(_, run)| run.len as u64),
            run.map_or(0, |(_, run)| u64::from(run.width)),
        ];
        writer.section(ABOUT, 0, &about)?;
        self.rows.save_dead(&mut writer)?;
        writer.section(NOTE, 0, &self.metadata)?;
        self.rows.save_ids(&mut writer)?;
        match (&self.filter, run) {
            (Filter::Codes(codes), _) => writer.section(CODES, 0, &codes.values)?,
            (Filter::RaBitQ(rabitq), _) => rabitq.save(&mut writer)?,
            (Filter::Buckets { .. }, Some((layout, run))) => {
                writer.section(COLUMNS, 0, layout.columns())?;
                writer.section(BASES, 0, &run.bases)?;
                writer.section(DIRECTORY, 0, &run.directory)?;
                writer.section(KEYS, 0, &run.keys)?;
                writer.section(STARTS, 0, &run.starts)?;
                writer.section(ROWS, 0, &run.rows)?;
            }
            (Filter::Buckets { .. }, None) => {}
        }
        match_store!(&self.store, dense => dense.save(&mut writer)?, sparse => sparse.save(&mut writer)?);
        writer.finish()
    }

    /// Open a saved index through a memory map.
    ///
    /// # Errors
    /// The file cannot be read, has a newer version, or is not a complete LSH index.
    pub fn open(path: &Path) -> Result<Self> {
        let segment = Segment::open_kind(path, KIND, ", not an LSH index")?;
        for tag in [ABOUT, NOTE] {
            segment.verify_one(tag, 0)?;
        }
        let about = segment.column::<u64>(ABOUT, 0)?;
        let &[metric, store, dim, total, kind, growing, filter, hashes, per_table, len, width] = &about[..] else {
            return Err(segment.corrupt("its description has another length"));
        };
        let limit = u64::from(u32::MAX);
        let bounded = metric < 4 && store < KINDS.len() as u64 && dim > 0 && dim < limit && filter < 4;
        if !bounded || hashes >= limit || per_table >= limit || len > total || width > 26 {
            return Err(segment.corrupt("its description holds a number out of range"));
        }
        let rows = Rows::open(&segment, [total, kind, growing])?;
        let total = total as usize;
        let metric = Metric::ALL[metric as usize];
        let shape = (total, hashes as usize, per_table as usize, len as usize);
        let filter = if filter == 3 {
            Filter::RaBitQ(Box::new(RaBitQIndex::open(&segment, metric, dim as usize, total)?))
        } else {
            open_filter(&segment, filter, shape, width as u32)?
        };
        if let Filter::Codes(codes) = &filter
            && codes.values.len() != Codes::size(total, codes.words)
        {
            return Err(segment.corrupt("its codes are not as many as its rows"));
        }
        let store = open_store(&segment, store, dim as usize, metric)?;
        if store.len() != total {
            return Err(segment.corrupt("its vectors are not as many as its rows"));
        }
        let metadata = segment.column(NOTE, 0)?;
        Ok(Self { metric, filter, store, rows, metadata, segment: Some(segment) })
    }

    /// Verify the checksums and the arrays of the file that the index was opened from.
    ///
    /// # Errors
    /// The first inconsistency. An index that was not opened from a file is valid.
    pub fn verify(&self) -> Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        segment.verify()?;
        let sound = self.rows.is_sound()
            && self.store.is_sound(self.metric)?
            && match &self.filter {
                Filter::Buckets { layout, runs } => {
                    let mut sound = runs.iter().all(BucketRun::is_sound);
                    for table in 0..layout.tables() {
                        let rows = runs.iter().flat_map(|run| run.table_rows(table)).copied();
                        sound = sound && self.rows.are_each_once(rows)?;
                    }
                    sound
                }
                Filter::Codes(_) => true,
                Filter::RaBitQ(rabitq) => {
                    self.rows.are_each_once(rabitq.rows())? && rabitq.is_sound(self.store.view())?
                }
            };
        if sound {
            return Ok(());
        }
        Err(segment.corrupt("its tables or vectors do not hold together"))
    }

    /// Verify that buckets or codes of live `rows` are those of their hashes, which the caller computes from the vectors;
    /// nothing if the index was not opened from a file.
    ///
    /// # Errors
    /// Hashes that this index does not use, or others than those in the file.
    pub fn verify_hashes(&self, rows: &[u32], hashes: Hashes<'_>) -> Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        let equal = self.count(hashes).is_ok_and(|count| count == rows.len())
            && match (&self.filter, hashes) {
                (Filter::Buckets { layout, runs }, _) => {
                    let (mut probes, mut spans) = (Vec::new(), Vec::new());
                    rows.iter().enumerate().all(|(number, &row)| {
                        let key = |table| (table as u32, mix(layout.key(hashes, number, table)));
                        probes.clear();
                        probes.extend((0..layout.tables()).map(key));
                        let mut buckets = 0;
                        for run in runs {
                            run.look_up(&probes, &mut spans, |rows| {
                                buckets += usize::from(rows.binary_search(&row).is_ok());
                            });
                        }
                        buckets == layout.tables()
                    })
                }
                (Filter::Codes(codes), Hashes::Bits(words)) => {
                    rows.iter().zip(words.chunks_exact(codes.words)).all(|(&row, code)| codes.is_code_of(row, code))
                }
                _ => false,
            };
        if equal { Ok(()) } else { Err(segment.corrupt("its tables or codes are not those of its vectors")) }
    }

    /// Return the file that the index was opened from; see [`with_verified`](crate::segment::with_verified).
    pub fn segment(&self) -> Option<&Segment> {
        self.segment.as_ref()
    }
}

/// Open the filter; `shape` is rows, hashes, hashes of a table, and rows in tables.
fn open_filter(
    segment: &Segment,
    filter: u64,
    (total, hashes, per_table, len): (usize, usize, usize, usize),
    width: u32,
) -> Result<Filter> {
    if filter == 2 {
        if hashes == 0 || hashes > crate::cpu::popcount::MAX_BITS {
            return Err(segment.corrupt("its codes have no bits, or too many"));
        }
        let words = hashes.div_ceil(64);
        return Ok(Filter::Codes(Codes { bits: hashes, words, rows: total, values: segment.column(CODES, 0)? }));
    }
    let kind = if filter == 1 { HashKind::Ints } else { HashKind::Bits };
    for tag in [COLUMNS, BASES] {
        segment.verify_one(tag, 0)?;
    }
    let columns = alloc::try_copy(&segment.column::<u32>(COLUMNS, 0)?)?;
    let layout = TableLayout::new(kind, hashes, per_table, columns).map_err(|error| match error {
        Error::Memory { .. } => error,
        error => segment.corrupt(error.to_string()),
    })?;
    let run = BucketRun {
        len,
        width,
        bases: alloc::try_copy(&segment.column::<u64>(BASES, 0)?)?,
        directory: segment.column(DIRECTORY, 0)?,
        keys: segment.column(KEYS, 0)?,
        starts: segment.column(STARTS, 0)?,
        rows: segment.column(ROWS, 0)?,
    };
    if !run.is_shaped(layout.tables()) {
        return Err(segment.corrupt("the arrays of its tables have other lengths"));
    }
    let runs = if len == 0 { Vec::new() } else { vec![run] };
    Ok(Filter::Buckets { layout, runs })
}

fn open_store(segment: &Segment, store: u64, dim: usize, metric: Metric) -> Result<VectorStore> {
    match store {
        0 => Ok(VectorStore::F32(Dense::open(segment, dim, metric)?)),
        1 => Ok(VectorStore::F64(Dense::open(segment, dim, metric)?)),
        3 => Ok(VectorStore::U8(Dense::open(segment, dim, metric)?)),
        4 => Ok(VectorStore::I8(Dense::open(segment, dim, metric)?)),
        5 => Ok(VectorStore::F16(Dense::open(segment, dim, metric)?)),
        _ => Ok(VectorStore::Sparse(Sparse::open(segment, dim, metric)?)),
    }
}

impl Sparse {
    fn save(&self, writer: &mut Writer) -> Result<()> {
        writer.section(ROW_ENDS, 0, &self.ends)?;
        writer.section(COORDINATES, 0, &self.columns)?;
        writer.section(VALUES, 0, &self.values)?;
        writer.section(NORMS, 0, &self.norms)
    }

    fn open(segment: &Segment, dim: usize, metric: Metric) -> Result<Self> {
        let sparse = Self {
            dim,
            ends: segment.column(ROW_ENDS, 0)?,
            columns: segment.column(COORDINATES, 0)?,
            values: segment.column(VALUES, 0)?,
            norms: segment.column(NORMS, 0)?,
        };
        let rows = sparse.ends.len().checked_sub(1).ok_or_else(|| segment.corrupt("it has no row ends"))?;
        let norms = if metric == Metric::Cosine { rows } else { 0 };
        if sparse.values.len() != sparse.columns.len() || sparse.norms.len() != norms {
            return Err(segment.corrupt("the arrays of its vectors have other lengths"));
        }
        Ok(sparse)
    }
}

impl<T: Element> Dense<T> {
    fn save(&self, writer: &mut Writer) -> Result<()> {
        writer.section(VALUES, 0, &self.values)?;
        writer.section(NORMS, 0, &self.norms)
    }

    fn open(segment: &Segment, dim: usize, metric: Metric) -> Result<Self> {
        let dense = Self { dim, values: segment.column(VALUES, 0)?, norms: segment.column(NORMS, 0)? };
        let normed = if metric == Metric::Cosine { dense.values.len() / dim } else { 0 };
        if !dense.values.len().is_multiple_of(dim) || dense.norms.len() != normed {
            return Err(segment.corrupt("the arrays of its vectors have other lengths"));
        }
        Ok(dense)
    }
}

impl VectorStore {
    /// Return true if the vectors could have been added, and their norms are theirs.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    fn is_sound(&self, metric: Metric) -> Result<bool> {
        match self.check(metric, self.view()) {
            Err(error @ (Error::Cancelled | Error::Memory { .. })) => Err(error),
            Err(_) => Ok(false),
            Ok(_) => Ok(match_store!(self, dense => dense.norms_are_sound(), sparse => sparse.norms_are_sound())),
        }
    }
}
