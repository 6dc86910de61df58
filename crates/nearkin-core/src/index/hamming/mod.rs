//! Exact search by Hamming distance: radius, nearest, all pairs; add and remove at any time.
//!
//! **Guarantee.** Whatever method the planner picks, results are those of brute force: every row within the radius (inclusive)
//! is found, for widths 1 to 1024 and every radius, nearest first, ties by id.
//!
//! **Parts.** Rows have ids (`rows`); their fingerprints live in sorted runs of distinct values and an unsorted tail
//! (`runs`); a run is searched (`search`) by the tiled scan (`scan`), by tables (`blocks`) or by inverted lists (`bits`);
//! `plan` chooses by a cost model. `links` finds pairs (all of one index, a join of two, a stream), `groups` clusters, and
//! `rank` ranks by common bits. Removal marks a row dead; dead rows are filtered from results and leave at the next merge.
//!
//! **Limits.** 2^32 - 2 rows over the life of an index; 2^32 slots per run.

mod bits;
mod blocks;
mod file;
mod groups;
mod links;
mod plan;
pub(crate) mod rank;
mod runs;
pub(crate) mod scan;
mod search;

use crate::alloc;
use crate::cancel::CancelToken;
use crate::cpu::popcount::{Kernel, check_bits, check_fingerprints, words_of};
use crate::index::rows::{Existing, Keys, NewIds, Rows};
use crate::segment::Segment;
use crate::{Error, Result};
pub use groups::{Clusters, Linkage};
pub use links::{PairStream, Pairs};
pub use plan::Method;
pub use rank::Ranking;
use runs::SortedRun;
pub use search::PartPlan;

/// Hits with Hamming distances.
pub type Hits = crate::index::hits::Hits<u16>;

/// Rows that wait unsorted: scanned in about a microsecond per query.
const TAIL: usize = 8192;
/// Rows that one thread has added before it wakes another.
const FEW: usize = 256;
/// Exact Hamming index.
#[derive(Debug)]
pub struct Index {
    bits: usize,
    words: usize,
    method: Method,
    radius: Option<u32>,
    memory: Option<usize>,
    /// Maximum bytes of the index if the caller set no limit.
    share: Option<usize>,
    kernel: Kernel,
    rows: Rows,
    runs: Vec<SortedRun>,
    tail: Vec<u64>,
    tail_rows: Vec<u32>,
    /// Nanoseconds that scans have cost more than tables would have, by the model.
    overspent: f64,
    /// Number of changes: additions and removals.
    version: u64,
    /// The file that the index was opened from.
    segment: Option<Segment>,
    /// Opaque to the index: how its fingerprints were computed.
    note: Option<String>,
}

impl Index {
    /// Create an empty index.
    ///
    /// `radius` announces the radius of searches, so that tables for it are built at the first one; `memory` bounds the bytes
    /// of tables.
    ///
    /// # Errors
    /// `bits` outside 1 to 1024, `radius` above `bits`.
    pub fn new(bits: usize, method: Method, radius: Option<u32>, memory: Option<usize>) -> Result<Self> {
        check_bits(bits)?;
        let index = Self {
            bits,
            words: words_of(bits),
            method,
            radius,
            memory,
            share: None,
            kernel: Kernel::best(),
            rows: Rows::default(),
            runs: Vec::new(),
            tail: Vec::new(),
            tail_rows: Vec::new(),
            overspent: 0.0,
            version: 0,
            segment: None,
            note: None,
        };
        if let Some(radius) = radius {
            index.check_radius(radius)?;
        }
        Ok(index)
    }

    /// Use another kernel.
    #[cfg(test)]
    fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Return the width of the fingerprints.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Return the width, method, announced radius and memory limit.
    pub fn settings(&self) -> (usize, Method, Option<u32>, Option<usize>) {
        (self.bits, self.method, self.radius, self.memory)
    }

    /// Limit the bytes of an index without a limit of its own (`Method::Auto`) to a share of the machine; not saved.
    pub fn set_share(&mut self, share: Option<usize>) {
        self.share = share;
    }

    /// Return the metadata that the caller has attached.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Attach metadata, which is saved with the index.
    pub fn set_note(&mut self, note: Option<String>) {
        self.note = note;
    }

    /// Return the ids, row numbers and tombstones.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Number of live fingerprints.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no fingerprints.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Return the bytes of fingerprints and tables, and bytes of rows.
    pub fn bytes(&self) -> (usize, usize) {
        let runs: usize = self.runs.iter().map(SortedRun::bytes).sum();
        let tail = self.tail.capacity() * 8 + self.tail_rows.capacity() * 4;
        (runs + tail, self.rows.bytes())
    }

    fn check_radius(&self, radius: u32) -> Result<()> {
        if radius as usize <= self.bits {
            Ok(())
        } else {
            Err(Error::parameter("radius", radius, format!("0 to bits={}", self.bits)))
        }
    }

    fn check_rows(&self, fps: &[u64]) -> Result<usize> {
        if !fps.len().is_multiple_of(self.words) {
            let allowed = format!("{} words per row for bits={}", self.words, self.bits);
            return Err(Error::parameter("fingerprints", format!("{} words", fps.len()), allowed));
        }
        check_fingerprints(fps, self.bits)?;
        Ok(fps.len() / self.words)
    }

    /// Add rows; return the number added. A call that fails changes nothing.
    ///
    /// # Errors
    /// Counts differ; a bit is above the width; ids are of another kind than before; with `Existing::Error` an id
    /// exists or occurs twice; there would be more than 2^32 - 2 rows; the call is cancelled, or memory runs out.
    pub fn add(&mut self, ids: NewIds<'_>, fps: &[u64], existing: Existing) -> Result<usize> {
        let count = self.check_rows(fps)?;
        let batch = self.rows.prepare(ids, count, "fingerprints", existing)?;
        let (first, count) = (batch.first, batch.count);
        if count > 0 {
            let fps = batch.of(fps, self.words)?;
            alloc::try_reserve(&mut self.tail, fps.len())?;
            alloc::try_reserve(&mut self.tail_rows, count)?;
            self.tail.extend_from_slice(&fps);
            self.tail_rows.extend(first as u32..(first + count) as u32);
            self.version += 1;
        }
        self.rows.commit(batch);
        Ok(count)
    }

    /// Return true if the calling thread can add this many rows in a few microseconds: they go to the unsorted tail.
    pub fn adds_quickly(&self, count: usize) -> bool {
        count <= FEW
    }

    /// Remove ids (or row numbers); return the number removed. A call that fails changes nothing.
    ///
    /// # Errors
    /// An id does not exist, unless `missing_ok`.
    pub fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> Result<usize> {
        let removed = self.rows.remove(ids, missing_ok)?;
        self.version += u64::from(removed > 0);
        let stored: usize = self.runs.iter().map(|run| run.rows.len()).sum::<usize>() + self.tail_rows.len();
        if stored > 2 * self.len() + TAIL {
            // The rows are gone whatever becomes of this; a later call tries again.
            match self.compact() {
                Ok(()) | Err(Error::Cancelled | Error::Memory { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }

    /// Return the live rows in order of addition, and their fingerprints, `words` each.
    ///
    /// # Errors
    /// Memory runs out; the call is cancelled.
    pub fn fingerprints(&self) -> Result<(Vec<u32>, Vec<u64>)> {
        let (cancel, sources) = (CancelToken::current(), self.sources());
        let rows = self.rows.live_rows(0, self.len())?;
        // The source and the slot of each row.
        let mut slots = alloc::try_zeroed::<u64>(self.rows.total())?;
        for (number, source) in sources.iter().enumerate() {
            cancel.check()?;
            for slot in 0..source.fps.len() / self.words {
                for &row in source.rows_of(slot as u32) {
                    slots[row as usize] = (number as u64) << 32 | slot as u64;
                }
            }
        }
        let mut fps = alloc::try_with_capacity(rows.len() * self.words)?;
        for &row in &rows {
            let at = slots[row as usize];
            fps.extend_from_slice(&sources[(at >> 32) as usize].fps[(at as u32) as usize * self.words..][..self.words]);
        }
        Ok((rows, fps))
    }

    /// Merge everything into one run without dead rows. If it is cancelled, the rows are the same, in more runs.
    fn compact(&mut self) -> Result<()> {
        self.flush()?;
        while self.runs.len() > 1 {
            self.merge_last()?;
        }
        if let [run] = &self.runs[..] {
            let merged = self.ordered(SortedRun::merge(
                self.words,
                run,
                &SortedRun::default(),
                |row| self.rows.is_alive(row),
                &CancelToken::current(),
            )?)?;
            self.runs.clear();
            self.push_run(merged);
        }
        Ok(())
    }

    /// Sort the tail into a run and merge runs until each is more than twice as long as the next. Each step builds a
    /// run and then replaces its inputs.
    fn flush(&mut self) -> Result<()> {
        if self.rows.num_dead() > 0 {
            let keep = alloc::try_collect(self.tail_rows.iter().map(|&row| self.rows.is_alive(row)))?;
            let mut fps = alloc::try_with_capacity(self.tail.len())?;
            for (fp, _) in self.tail.chunks_exact(self.words).zip(&keep).filter(|(_, keep)| **keep) {
                fps.extend_from_slice(fp);
            }
            let mut keep = keep.into_iter();
            self.tail_rows.retain(|_| keep.next().unwrap_or(true));
            self.tail = fps;
        }
        if !self.tail_rows.is_empty() {
            let run =
                self.ordered(SortedRun::new(self.words, &self.tail, &self.tail_rows, &CancelToken::current())?)?;
            self.push_run(run);
        }
        self.tail = Vec::new();
        self.tail_rows = Vec::new();
        while let [.., a, b] = &self.runs[..] {
            if a.len() > 2 * b.len() {
                break;
            }
            self.merge_last()?;
        }
        Ok(())
    }

    fn merge_last(&mut self) -> Result<()> {
        if let [.., a, b] = &self.runs[..] {
            let merged = SortedRun::merge(self.words, a, b, |row| self.rows.is_alive(row), &CancelToken::current())?;
            let merged = self.ordered(merged)?;
            self.runs.truncate(self.runs.len() - 2);
            self.push_run(merged);
        }
        Ok(())
    }

    /// Create a run with the rows of each slot in order of id.
    fn ordered(&self, mut run: SortedRun) -> Result<SortedRun> {
        if !self.rows.ascending() {
            run.order_copies(|a, b| self.rows.compare(a, b), &CancelToken::current())?;
        }
        Ok(run)
    }

    fn push_run(&mut self, run: SortedRun) {
        if run.len() > 0 {
            self.runs.push(run);
        }
    }
}

#[cfg(test)]
mod tests;
