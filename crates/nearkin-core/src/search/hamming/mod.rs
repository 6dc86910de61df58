//! Exact search by Hamming distance: radius, nearest, all pairs; add and remove at any time.
//!
//! **Guarantee.** Whatever method the planner picks, results are those of brute force: every row within the radius (inclusive)
//! is found, for widths 1 to 1024 and every radius, nearest first, ties by id.
//!
//! **Parts.** Rows have ids (`ids`); their fingerprints live in sorted runs of distinct values and an unsorted tail
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

use crate::cpu::popcount::{Kernel, check_bits, check_fingerprints, words_of};
pub use crate::search::rows::{Existing, NewIds};
use crate::search::rows::{Ids, bury, choose, is_alive, rows_of, show_name};
use crate::segment::Segment;
use crate::{Error, Result};
pub use groups::{Clusters, Linkage};
pub use links::{PairStream, Pairs};
pub use plan::Method;
pub use rank::{Ranked, Ranking};
use runs::Run;
pub use search::{Hits, Part};

/// Rows that wait unsorted: scanned in about a microsecond per query.
const TAIL: usize = 8192;
/// Exact Hamming index.
#[derive(Debug)]
pub struct Index {
    bits: usize,
    words: usize,
    method: Method,
    radius: Option<u32>,
    memory: Option<usize>,
    kernel: Kernel,
    ids: Ids,
    total: usize,
    /// Bit of each dead row; shorter than the rows where none behind is dead.
    dead: Vec<u64>,
    num_dead: usize,
    runs: Vec<Run>,
    tail: Vec<u64>,
    tail_rows: Vec<u32>,
    /// Nanoseconds that scans have cost beyond what tables would have, by the model.
    overspent: f64,
    /// How often rows were added or removed.
    version: u64,
    /// The file that the index was opened from.
    segment: Option<Segment>,
    /// What the caller keeps with the index: how its fingerprints were made.
    note: Option<String>,
}

impl Index {
    /// An empty index.
    ///
    /// `radius` announces the radius of searches, so that tables for it are built at the first one; `memory` bounds the bytes
    /// of tables.
    ///
    /// # Errors
    /// `bits` outside of 1 to 1024, `radius` above `bits`.
    pub fn new(bits: usize, method: Method, radius: Option<u32>, memory: Option<usize>) -> Result<Self> {
        check_bits(bits)?;
        let index = Self {
            bits,
            words: words_of(bits),
            method,
            radius,
            memory,
            kernel: Kernel::best(),
            ids: Ids::default(),
            total: 0,
            dead: Vec::new(),
            num_dead: 0,
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

    /// The same index with another form of the kernels, for tests and benchmarks.
    ///
    /// # Errors
    /// The processor does not run that form.
    pub fn with_kernel(mut self, kernel: Kernel) -> Result<Self> {
        if !Kernel::available().contains(&kernel) {
            return Err(Error::parameter("kernel", kernel.name(), "a form that this processor runs"));
        }
        self.kernel = kernel;
        Ok(self)
    }

    /// Width of the fingerprints.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Width, method, announced radius and memory limit.
    pub fn settings(&self) -> (usize, Method, Option<u32>, Option<usize>) {
        (self.bits, self.method, self.radius, self.memory)
    }

    /// What the caller keeps with the index; saved and opened with it.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Keeps a text with the index.
    pub fn set_note(&mut self, note: Option<String>) {
        self.note = note;
    }

    /// Rows ever added: the number of the next one.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Rows that are alive.
    pub fn len(&self) -> usize {
        self.total - self.num_dead
    }

    /// Whether no row is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Kind of ids: "row numbers", "integers" or "strings".
    pub fn id_kind(&self) -> &'static str {
        self.ids.kind()
    }

    /// Bytes of fingerprints and tables, and bytes of ids.
    pub fn bytes(&self) -> (usize, usize) {
        let runs: usize = self.runs.iter().map(Run::bytes).sum();
        let tail = self.tail.capacity() * 8 + self.tail_rows.capacity() * 4;
        (runs + tail + self.dead.capacity() * 8, self.ids.bytes())
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

    #[inline]
    fn alive(&self, row: u32) -> bool {
        is_alive(&self.dead, row)
    }

    /// The integer id of a row, or its number where ids are strings.
    pub fn int_id(&self, row: u32) -> i64 {
        self.ids.int(row)
    }

    /// The string id of a row, where ids are strings.
    pub fn string_id(&self, row: u32) -> Option<&str> {
        self.ids.string(row)
    }

    fn find_int(&self, id: i64) -> Option<u32> {
        self.ids.row_of_int(id, self.total).filter(|&row| self.alive(row))
    }

    fn find_name(&self, id: &str) -> Option<u32> {
        self.ids.row_of_name(id).filter(|&row| self.alive(row))
    }

    /// Whether an integer id is there.
    pub fn contains_int(&self, id: i64) -> bool {
        self.find_int(id).is_some()
    }

    /// Whether a string id is there.
    pub fn contains_name(&self, id: &str) -> bool {
        self.find_name(id).is_some()
    }

    /// Adds rows; returns how many were added. Nothing is changed by a call that fails.
    ///
    /// # Errors
    /// Counts that differ, a bit above the width, ids of another kind than before, an id that is there or occurs twice
    /// (with `Existing::Error`), more than 2^32 - 2 rows.
    pub fn add(&mut self, ids: NewIds<'_>, fps: &[u64], existing: Existing) -> Result<usize> {
        let count = self.check_rows(fps)?;
        self.ids.check(ids, count, "fingerprints", self.total)?;
        if count == 0 {
            return Ok(0);
        }
        match ids {
            NewIds::Rows => self.append(fps, count),
            NewIds::Ints(new) => {
                let last = match &self.ids {
                    Ids::Ints { values, lookup: None } => values.last().copied(),
                    Ids::Ints { .. } => Some(i64::MAX),
                    _ => None,
                };
                let fresh = last.is_none_or(|last| last < new[0]) && new.windows(2).all(|pair| pair[0] < pair[1]);
                let chosen = if fresh {
                    None
                } else {
                    self.choose(new, existing, |index, id| index.find_int(*id), i64::to_string)?
                };
                if let Some(chosen) = chosen {
                    let kept: Vec<i64> = chosen.iter().map(|&i| new[i]).collect();
                    return Ok(self.append_chosen(NewIds::Ints(&kept), fps, &chosen));
                }
                let dead = &self.dead;
                self.ids.push_ints(new, |row| is_alive(dead, row));
                self.append(fps, count);
            }
            NewIds::Names(new) => {
                let chosen = self.choose(new, existing, |index, id| index.find_name(id), show_name)?;
                if let Some(chosen) = chosen {
                    let kept: Vec<&str> = chosen.iter().map(|&i| new[i]).collect();
                    return Ok(self.append_chosen(NewIds::Names(&kept), fps, &chosen));
                }
                self.ids.push_names(new);
                self.append(fps, count);
            }
        }
        Ok(count)
    }

    /// Which rows of a batch go in: None for all; rows that they replace are removed.
    fn choose<T: Eq + std::hash::Hash>(
        &mut self,
        new: &[T],
        existing: Existing,
        find: impl Fn(&Self, &T) -> Option<u32>,
        show: impl Fn(&T) -> String,
    ) -> Result<Option<Vec<usize>>> {
        let (chosen, replaced) = choose(new, existing, |id| find(self, id), show)?;
        for row in replaced {
            self.kill(row);
        }
        Ok(if chosen.len() == new.len() { None } else { Some(chosen) })
    }

    fn append_chosen(&mut self, ids: NewIds<'_>, fps: &[u64], chosen: &[usize]) -> usize {
        let kept: Vec<u64> = chosen.iter().flat_map(|&i| &fps[i * self.words..(i + 1) * self.words]).copied().collect();
        match ids {
            NewIds::Rows => {}
            NewIds::Ints(new) => {
                let dead = &self.dead;
                self.ids.push_ints(new, |row| is_alive(dead, row));
            }
            NewIds::Names(new) => self.ids.push_names(new),
        }
        self.append(&kept, chosen.len());
        chosen.len()
    }

    fn append(&mut self, fps: &[u64], count: usize) {
        self.tail.extend_from_slice(fps);
        self.tail_rows.extend(self.total as u32..(self.total + count) as u32);
        self.total += count;
        self.version += 1;
    }

    fn kill(&mut self, row: u32) {
        self.ids.forget(row);
        bury(&mut self.dead, row);
        self.num_dead += 1;
        self.version += 1;
    }

    /// Removes integer ids (or row numbers); nothing is changed by a call that fails.
    ///
    /// # Errors
    /// An id that is not there, unless `missing_ok`.
    pub fn remove_ints(&mut self, ids: &[i64], missing_ok: bool) -> Result<usize> {
        self.remove(ids, missing_ok, |index, id| index.find_int(*id), i64::to_string)
    }

    /// Removes string ids; nothing is changed by a call that fails.
    ///
    /// # Errors
    /// An id that is not there, unless `missing_ok`.
    pub fn remove_names(&mut self, ids: &[&str], missing_ok: bool) -> Result<usize> {
        self.remove(ids, missing_ok, |index, id| index.find_name(id), show_name)
    }

    fn remove<T>(
        &mut self,
        ids: &[T],
        missing_ok: bool,
        find: impl Fn(&Self, &T) -> Option<u32>,
        show: impl Fn(&T) -> String,
    ) -> Result<usize> {
        let rows = rows_of(ids, missing_ok, |id| find(self, id), show)?;
        for &row in &rows {
            self.kill(row);
        }
        let held: usize = self.runs.iter().map(|run| run.rows.len()).sum::<usize>() + self.tail_rows.len();
        if held > 2 * self.len() + TAIL {
            self.compact();
        }
        Ok(rows.len())
    }

    /// Merges everything into one run without dead rows.
    fn compact(&mut self) {
        self.flush();
        while self.runs.len() > 1 {
            self.merge_last();
        }
        if let Some(run) = self.runs.pop() {
            self.push_run(Run::merge(self.words, &run, &Run::default(), |row| self.alive(row)));
        }
    }

    /// Sorts the tail into a run and merges runs until each is more than twice as long as the next.
    fn flush(&mut self) {
        if self.num_dead > 0 {
            let keep: Vec<bool> = self.tail_rows.iter().map(|&row| self.alive(row)).collect();
            let mut fps = Vec::with_capacity(self.tail.len());
            for (fp, _) in self.tail.chunks_exact(self.words).zip(&keep).filter(|(_, keep)| **keep) {
                fps.extend_from_slice(fp);
            }
            let mut keep = keep.into_iter();
            self.tail_rows.retain(|_| keep.next().unwrap_or(true));
            self.tail = fps;
        }
        if !self.tail_rows.is_empty() {
            self.push_run(Run::new(self.words, &self.tail, &self.tail_rows));
        }
        self.tail = Vec::new();
        self.tail_rows = Vec::new();
        while let [.., a, b] = &self.runs[..] {
            if a.len() > 2 * b.len() {
                break;
            }
            self.merge_last();
        }
    }

    fn merge_last(&mut self) {
        if let (Some(b), Some(a)) = (self.runs.pop(), self.runs.pop()) {
            self.push_run(Run::merge(self.words, &a, &b, |row| self.alive(row)));
        }
    }

    fn push_run(&mut self, mut run: Run) {
        if run.len() > 0 {
            if !self.ids.ascending() {
                run.order_copies(|a, b| self.ids.compare(a, b));
            }
            self.runs.push(run);
        }
    }
}

#[cfg(test)]
mod tests;
