//! Exact search by Hamming distance: radius, nearest, all pairs; add and remove at any time.
//!
//! **Guarantee.** Whatever method the planner picks, results are those of brute force: every row within the radius (inclusive)
//! is found, for widths 1 to 1024 and every radius, nearest first, ties by id.
//!
//! **Parts.** Rows have ids (`ids`); their fingerprints live in sorted runs of distinct values and an unsorted tail (`runs`);
//! a run is searched by the tiled scan (`scan`) or by block tables (`blocks`); `plan` chooses by a cost model. Removal marks
//! a row dead; dead rows are filtered from results and leave at the next merge.
//!
//! **Limits.** 2^32 - 2 rows over the life of an index; 2^32 slots a run.

mod blocks;
mod ids;
mod plan;
mod runs;
mod scan;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::Hash;

use rayon::prelude::*;

use crate::popcount::{Kernel, check_bits, check_fingerprints, words_of};
use crate::{Error, Result};
use blocks::{Layout, Probing};
use ids::Ids;
pub use ids::NewIds;
pub use plan::Method;
use runs::Run;
use scan::{Sink, scan};

/// Rows that wait unsorted: scanned in about a microsecond a query.
const TAIL: usize = 8192;
/// Queries of the batch that a plan assumes where it is not told.
const BATCH: usize = 1024;
/// Queries of one task: few enough to share, many enough that a tile of rows is read for many.
const CHUNK: usize = 2048;
/// Word comparisons of a scan that are worth a task of their own.
const SHARD: usize = 1 << 22;

/// What `add` does with an id that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Refuse the whole batch.
    Error,
    /// Replace its fingerprint; the last of a batch wins.
    Update,
    /// Keep the old one; the first of a batch wins.
    Skip,
}

/// Matches of a batch of queries: query q owns `offsets[q]..offsets[q + 1]`, nearest first, ties by id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// One more than queries.
    pub offsets: Vec<i64>,
    /// Row of each match.
    pub rows: Vec<u32>,
    /// Distance of each match.
    pub distances: Vec<u16>,
}

/// Pairs of rows within a radius, each once, the smaller id left, sorted by ids.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// The row of the smaller id.
    pub left: Vec<u32>,
    /// The row of the larger id.
    pub right: Vec<u32>,
    /// Their distance.
    pub distances: Vec<u16>,
}

/// How one part of an index would be searched.
#[derive(Debug, Clone)]
pub struct Part {
    /// Distinct fingerprints.
    pub slots: usize,
    /// `scan`, `blocks` or `multi`.
    pub method: &'static str,
    /// Whether its tables are there already.
    pub built: bool,
    /// Tables.
    pub tables: usize,
    /// Radius of each table's block; -1 where a table is not asked.
    pub radii: Vec<i32>,
    /// Expected buckets a query looks into.
    pub probes: f64,
    /// Expected entries a query counts.
    pub candidates: f64,
    /// Expected nanoseconds a query.
    pub cost: f64,
    /// Expected nanoseconds a query by scan.
    pub scan_cost: f64,
    /// Bytes of this part.
    pub bytes: usize,
}

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
}

/// A run or the tail, as the searches see it.
#[derive(Clone, Copy)]
struct Source<'a> {
    fps: &'a [u64],
    run: Option<&'a Run>,
    rows: &'a [u32],
}

impl<'a> Source<'a> {
    fn rows_of(&self, slot: u32) -> &'a [u32] {
        match self.run {
            Some(run) => run.rows_of(slot as usize),
            None => &self.rows[slot as usize..=slot as usize],
        }
    }
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
            let allowed = format!("{} words a row for bits={}", self.words, self.bits);
            return Err(Error::parameter("fingerprints", format!("{} words", fps.len()), allowed));
        }
        check_fingerprints(fps, self.bits)?;
        Ok(fps.len() / self.words)
    }

    #[inline]
    fn alive(&self, row: u32) -> bool {
        self.dead.get(row as usize / 64).is_none_or(|word| word >> (row % 64) & 1 == 0)
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
        let named = match ids {
            NewIds::Rows => count,
            NewIds::Ints(ids) => ids.len(),
            NewIds::Names(ids) => ids.len(),
        };
        if named != count {
            return Err(Error::parameter(
                "ids",
                format!("{named} ids"),
                format!("one for each of {count} fingerprints"),
            ));
        }
        if self.total > 0 && self.ids.kind() != ids.kind() {
            let allowed = format!("{}, as this index began", self.ids.kind());
            return Err(Error::parameter("ids", ids.kind(), allowed));
        }
        if self.total + count >= u32::MAX as usize {
            return Err(Error::parameter("rows", self.total + count, "at most 2**32 - 2 over the life of an index"));
        }
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
                self.ids
                    .push_ints(new, |row| dead.get(row as usize / 64).is_none_or(|word| word >> (row % 64) & 1 == 0));
                self.append(fps, count);
            }
            NewIds::Names(new) => {
                let chosen = self.choose(new, existing, |index, id| index.find_name(id), |id| format!("{id:?}"))?;
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
    fn choose<T: Eq + Hash>(
        &mut self,
        new: &[T],
        existing: Existing,
        find: impl Fn(&Self, &T) -> Option<u32>,
        show: impl Fn(&T) -> String,
    ) -> Result<Option<Vec<usize>>> {
        let mut seen = HashSet::with_capacity(new.len());
        let mut chosen = Vec::with_capacity(new.len());
        let mut replaced = Vec::new();
        let order: Box<dyn Iterator<Item = usize>> =
            if existing == Existing::Update { Box::new((0..new.len()).rev()) } else { Box::new(0..new.len()) };
        for i in order {
            let old = find(self, &new[i]);
            let twice = !seen.insert(&new[i]);
            match existing {
                Existing::Error if old.is_some() || twice => {
                    let found = if twice { "twice in this call" } else { "already there" };
                    let allowed = "new ids, or existing=\"update\" or \"skip\"";
                    return Err(Error::parameter("ids", format!("{} ({found})", show(&new[i])), allowed));
                }
                Existing::Skip if old.is_some() || twice => {}
                Existing::Update if twice => {}
                _ => {
                    replaced.extend(old);
                    chosen.push(i);
                }
            }
        }
        for row in replaced {
            self.kill(row);
        }
        chosen.sort_unstable();
        Ok(if chosen.len() == new.len() { None } else { Some(chosen) })
    }

    fn append_chosen(&mut self, ids: NewIds<'_>, fps: &[u64], chosen: &[usize]) -> usize {
        let kept: Vec<u64> = chosen.iter().flat_map(|&i| &fps[i * self.words..(i + 1) * self.words]).copied().collect();
        match ids {
            NewIds::Rows => {}
            NewIds::Ints(new) => {
                let dead = &self.dead;
                self.ids
                    .push_ints(new, |row| dead.get(row as usize / 64).is_none_or(|word| word >> (row % 64) & 1 == 0));
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
    }

    fn kill(&mut self, row: u32) {
        self.ids.forget(row);
        let word = row as usize / 64;
        if self.dead.len() <= word {
            self.dead.resize(word + 1, 0);
        }
        self.dead[word] |= 1 << (row % 64);
        self.num_dead += 1;
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
        self.remove(ids, missing_ok, |index, id| index.find_name(id), |id| format!("{id:?}"))
    }

    fn remove<T>(
        &mut self,
        ids: &[T],
        missing_ok: bool,
        find: impl Fn(&Self, &T) -> Option<u32>,
        show: impl Fn(&T) -> String,
    ) -> Result<usize> {
        let mut rows = Vec::with_capacity(ids.len());
        for id in ids {
            match find(self, id) {
                Some(row) => rows.push(row),
                None if missing_ok => {}
                None => {
                    return Err(Error::parameter(
                        "ids",
                        format!("{} (not there)", show(id)),
                        "ids of this index, or missing_ok=True",
                    ));
                }
            }
        }
        rows.sort_unstable();
        rows.dedup();
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
            let run = Run::merge(self.words, &run, &Run::default(), |row| self.alive(row));
            if run.len() > 0 {
                self.runs.push(run);
            }
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
            let run = Run::new(self.words, &self.tail, &self.tail_rows);
            self.runs.push(run);
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
            let run = Run::merge(self.words, &a, &b, |row| self.alive(row));
            if run.len() > 0 {
                self.runs.push(run);
            }
        }
    }

    /// Brings the index into the shape in which `queries` searches of `radius` cost least; searches are right without it.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn prepare(&mut self, radius: u32, queries: usize) -> Result<()> {
        self.check_radius(radius)?;
        if self.tail_rows.len() > TAIL || self.runs.is_empty() {
            self.flush();
        }
        if self.method == Method::Scan {
            return Ok(());
        }
        let mut memory = self.memory.map(|limit| limit.saturating_sub(self.bytes().0));
        for run in &mut self.runs {
            let slots = run.len();
            let own = run.layout.as_ref().map_or(0, Layout::bytes);
            let allowed = memory.map(|limit| limit + own);
            let Some((blocks, probing)) = plan::best_tables(self.method, self.bits, slots, radius, allowed) else {
                continue;
            };
            let now = current(run, self.words, radius, self.method)
                .map_or_else(|| plan::scan_cost(slots, self.words, radius, queries), |probing| probing.cost);
            let forced = matches!(self.method, Method::Blocks | Method::Multi);
            let wrong = run.layout.as_ref().is_none_or(|layout| layout.len() != blocks.len());
            let saved = (now - probing.cost).max(0.0) * queries as f64;
            let build = plan::build_cost(slots, self.words, blocks.len());
            let announced = self.radius == Some(radius) && saved > 0.0;
            if wrong && (forced || announced || saved + self.overspent > build) {
                run.layout = None;
                run.layout = Some(Layout::build(&blocks, self.words, &run.fps));
                self.overspent = 0.0;
                memory = allowed.map(|limit| limit.saturating_sub(run.layout.as_ref().map_or(0, Layout::bytes)));
            } else {
                self.overspent += saved;
            }
        }
        Ok(())
    }

    fn sources(&self) -> Vec<Source<'_>> {
        let mut sources: Vec<Source<'_>> =
            self.runs.iter().map(|run| Source { fps: &run.fps, run: Some(run), rows: &[] }).collect();
        sources.push(Source { fps: &self.tail, run: None, rows: &self.tail_rows });
        sources
    }

    fn probing(&self, source: &Source<'_>, radius: u32) -> Option<Probing> {
        source.run.and_then(|run| current(run, self.words, radius, self.method))
    }

    /// Runs `find` on every shard of the scan of a source: one for many queries, several for few.
    fn shards(&self, source: &Source<'_>, queries: usize) -> Vec<(u32, usize)> {
        let slots = source.fps.len() / self.words;
        let threads = rayon::current_num_threads();
        let wanted = (slots * self.words * queries / SHARD + 1).min(if queries < CHUNK { 4 * threads } else { 1 });
        let length = slots.div_ceil(wanted).max(1);
        (0..slots).step_by(length).map(|start| (start as u32, length.min(slots - start))).collect()
    }

    /// Every row within `radius` (inclusive) of each query.
    ///
    /// # Errors
    /// `radius` above `bits`; queries of another width.
    pub fn search(&self, queries: &[u64], radius: u32) -> Result<Hits> {
        self.check_radius(radius)?;
        let count = self.check_rows(queries)?;
        let sources = self.sources();
        let plans: Vec<Option<Probing>> = sources.iter().map(|source| self.probing(source, radius)).collect();
        let chunk = chunk_of(count);
        let parts: Vec<(Vec<u64>, usize)> = queries
            .par_chunks(chunk * self.words)
            .map(|queries| {
                let count = queries.len() / self.words;
                let mut found: Vec<u64> = Vec::new();
                for (source, plan) in sources.iter().zip(&plans) {
                    if let (Some(Probing { radii, .. }), Some(Run { layout: Some(layout), .. })) = (plan, source.run) {
                        let mut sink = Collect { index: self, source, radius, found: std::mem::take(&mut found) };
                        layout.search(self.kernel, self.words, source.fps, queries, radius, radii, &mut sink);
                        found = sink.found;
                    } else {
                        let shards = self.shards(source, count);
                        let lists: Vec<Vec<u64>> = shards
                            .into_par_iter()
                            .map(|(first, length)| {
                                let mut sink = Collect { index: self, source, radius, found: Vec::new() };
                                let fps = &source.fps[first as usize * self.words..][..length * self.words];
                                let mut limits = vec![radius; count];
                                scan(self.kernel, self.words, fps, first, queries, &mut limits, &mut sink);
                                sink.found
                            })
                            .collect();
                        for list in lists {
                            found.extend_from_slice(&list);
                        }
                    }
                }
                self.order(&mut found);
                (found, count)
            })
            .collect();
        Ok(gather(&parts, count))
    }

    /// The `k` nearest rows of each query, or all where there are fewer; of rows at the last distance those of least id.
    ///
    /// # Errors
    /// `k` of 0; queries of another width.
    pub fn nearest(&self, queries: &[u64], k: usize) -> Result<Hits> {
        let count = self.check_rows(queries)?;
        if k == 0 {
            return Err(Error::parameter("k", k, "1 or more"));
        }
        let k = k.min(self.len().max(1));
        let sources = self.sources();
        let parts: Vec<(Vec<u64>, usize)> = queries
            .par_chunks(chunk_of(count) * self.words)
            .map(|queries| {
                let count = queries.len() / self.words;
                let mut best: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
                for source in &sources {
                    let limits: Vec<u32> = best.iter_mut().map(|best| self.prune(best, k)).collect();
                    let shards = self.shards(source, count);
                    let lists: Vec<Vec<Vec<(u32, u32)>>> = shards
                        .into_par_iter()
                        .map(|(first, length)| {
                            let mut limits = limits.clone();
                            let mut sink =
                                Top { index: self, source, k, limits: limits.clone(), best: vec![Vec::new(); count] };
                            let fps = &source.fps[first as usize * self.words..][..length * self.words];
                            scan(self.kernel, self.words, fps, first, queries, &mut limits, &mut sink);
                            sink.best
                        })
                        .collect();
                    for list in lists {
                        best.iter_mut().zip(list).for_each(|(best, list)| best.extend_from_slice(&list));
                    }
                }
                let mut found = Vec::with_capacity(count * k);
                for (query, best) in best.iter_mut().enumerate() {
                    self.prune(best, k);
                    found.extend(best.iter().map(|&(distance, row)| pack(query as u32, distance, row)));
                }
                self.order(&mut found);
                (found, count)
            })
            .collect();
        Ok(gather(&parts, count))
    }

    /// Cuts a list of (distance, row) to the `k` least by distance and id; returns the distance beyond which nothing helps.
    fn prune(&self, best: &mut Vec<(u32, u32)>, k: usize) -> u32 {
        if best.len() < k {
            return self.bits as u32;
        }
        let (_, last, _) =
            best.select_nth_unstable_by(k - 1, |a, b| a.0.cmp(&b.0).then_with(|| self.ids.compare(a.1, b.1)));
        let limit = last.0;
        best.truncate(k);
        limit
    }

    /// Sorts packed matches by query, distance and id.
    fn order(&self, found: &mut [u64]) {
        found.sort_unstable();
        if self.ids.ascending() {
            return;
        }
        for ties in found.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
            ties.sort_unstable_by(|&a, &b| self.ids.compare(a as u32, b as u32));
        }
    }

    /// All pairs of rows within `radius` (inclusive), each once.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn pairs(&self, radius: u32) -> Result<Pairs> {
        self.check_radius(radius)?;
        let sources = self.sources();
        let mut tasks = Vec::new();
        for (i, source) in sources.iter().enumerate() {
            let slots = source.fps.len() / self.words;
            tasks.extend((0..slots).step_by(CHUNK).map(|start| (i, start, CHUNK.min(slots - start))));
        }
        let lists: Vec<Vec<(u64, u16)>> = tasks
            .into_par_iter()
            .map(|(i, start, count)| {
                let source = &sources[i];
                let mut pairs = Vec::new();
                for slot in start..start + count {
                    self.copies(source.rows_of(slot as u32), &mut pairs);
                }
                let queries = &source.fps[start * self.words..(start + count) * self.words];
                for (j, other) in sources.iter().enumerate().skip(i) {
                    let mut sink =
                        PairSink { index: self, left: source, start, right: other, same: i == j, radius, pairs };
                    if let (Some(Probing { radii, .. }), Some(Run { layout: Some(layout), .. })) =
                        (self.probing(other, radius), other.run)
                    {
                        layout.search(self.kernel, self.words, other.fps, queries, radius, &radii, &mut sink);
                    } else {
                        let first = if i == j { start } else { 0 };
                        let fps = &other.fps[first * self.words..];
                        let mut limits = vec![radius; count];
                        scan(self.kernel, self.words, fps, first as u32, queries, &mut limits, &mut sink);
                    }
                    pairs = sink.pairs;
                }
                pairs
            })
            .collect();
        let mut all = lists.concat();
        let (left, right) = (|pair: u64| (pair >> 32) as u32, |pair: u64| pair as u32);
        if self.ids.ascending() {
            all.par_sort_unstable();
        } else {
            all.par_sort_unstable_by(|a, b| {
                self.ids.compare(left(a.0), left(b.0)).then_with(|| self.ids.compare(right(a.0), right(b.0)))
            });
        }
        Ok(Pairs {
            left: all.iter().map(|pair| left(pair.0)).collect(),
            right: all.iter().map(|pair| right(pair.0)).collect(),
            distances: all.iter().map(|pair| pair.1).collect(),
        })
    }

    fn pair(&self, a: u32, b: u32, distance: u32) -> (u64, u16) {
        let (a, b) = if self.ids.compare(a, b) == Ordering::Greater { (b, a) } else { (a, b) };
        (u64::from(a) << 32 | u64::from(b), distance as u16)
    }

    /// The pairs among the rows of one slot.
    fn copies(&self, rows: &[u32], pairs: &mut Vec<(u64, u16)>) {
        for (i, &a) in rows.iter().enumerate().filter(|(_, row)| self.alive(**row)) {
            pairs.extend(rows[i + 1..].iter().filter(|&&b| self.alive(b)).map(|&b| self.pair(a, b, 0)));
        }
    }

    /// How each part of the index would answer a radius search of `queries` queries, tables not yet built included.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn explain(&self, radius: u32) -> Result<Vec<Part>> {
        self.check_radius(radius)?;
        let mut parts = Vec::new();
        for source in self.sources() {
            let slots = source.fps.len() / self.words;
            if slots == 0 {
                continue;
            }
            let scan_cost = plan::scan_cost(slots, self.words, radius, BATCH);
            let bytes = source.run.map_or(source.fps.len() * 8 + slots * 4, Run::bytes);
            let now = self.probing(&source, radius);
            let built = now.is_some();
            let tables = source.run.and_then(|run| run.layout.as_ref()).map_or(0, Layout::len);
            let best = source.run.and_then(|_| {
                plan::best_tables(self.method, self.bits, slots, radius, self.memory)
                    .filter(|(_, probing)| self.method != Method::Auto || probing.cost < scan_cost)
                    .map(|(blocks, probing)| (probing, blocks.len()))
            });
            let chosen = now.map(|probing| (probing, tables)).or(best);
            parts.push(match chosen {
                Some((probing, tables)) => Part {
                    slots,
                    method: if probing.radii.iter().all(|&r| r <= 0) { "blocks" } else { "multi" },
                    built,
                    tables,
                    radii: probing.radii,
                    probes: probing.probes,
                    candidates: probing.candidates,
                    cost: probing.cost,
                    scan_cost,
                    bytes,
                },
                None => Part {
                    slots,
                    method: "scan",
                    built: true,
                    tables: 0,
                    radii: Vec::new(),
                    probes: 0.0,
                    candidates: slots as f64,
                    cost: scan_cost,
                    scan_cost,
                    bytes,
                },
            });
        }
        Ok(parts)
    }
}

/// How the tables of a run would answer; None where it has none or a scan costs less and the method is open.
fn current(run: &Run, words: usize, radius: u32, method: Method) -> Option<Probing> {
    let probing = run.layout.as_ref()?.plan(run.len(), words, radius)?;
    (method != Method::Auto || probing.cost < plan::scan_cost(run.len(), words, radius, BATCH)).then_some(probing)
}

/// Queries of one task: an even share of a large batch, at most `CHUNK`.
fn chunk_of(queries: usize) -> usize {
    queries.div_ceil(4 * rayon::current_num_threads()).clamp(64, CHUNK)
}

/// A match in one word that sorts by query, distance, row: 20, 12 and 32 bits.
fn pack(query: u32, distance: u32, row: u32) -> u64 {
    u64::from(query) << 44 | u64::from(distance) << 32 | u64::from(row)
}

/// Sorted packed matches of consecutive chunks of queries as one result.
fn gather(parts: &[(Vec<u64>, usize)], queries: usize) -> Hits {
    let total = parts.iter().map(|(found, _)| found.len()).sum();
    let mut hits = Hits {
        offsets: Vec::with_capacity(queries + 1),
        rows: Vec::with_capacity(total),
        distances: Vec::with_capacity(total),
    };
    hits.offsets.push(0);
    for (found, count) in parts {
        let base = hits.rows.len();
        let mut at = 0;
        for query in 0..*count as u64 {
            while at < found.len() && found[at] >> 44 == query {
                at += 1;
            }
            hits.offsets.push((base + at) as i64);
        }
        hits.rows.extend(found.iter().map(|&hit| hit as u32));
        hits.distances.extend(found.iter().map(|&hit| (hit >> 32 & 0xfff) as u16));
    }
    hits
}

/// Takes every live row of a slot.
struct Collect<'a> {
    index: &'a Index,
    source: &'a Source<'a>,
    radius: u32,
    found: Vec<u64>,
}

impl Sink for Collect<'_> {
    fn hit(&mut self, query: u32, slot: u32, distance: u32) -> u32 {
        let rows = self.source.rows_of(slot).iter().filter(|&&row| self.index.alive(row));
        self.found.extend(rows.map(|&row| pack(query, distance, row)));
        self.radius
    }
}

/// Keeps the `k` nearest of each query, in lists that are cut when they reach twice that.
struct Top<'a> {
    index: &'a Index,
    source: &'a Source<'a>,
    k: usize,
    limits: Vec<u32>,
    best: Vec<Vec<(u32, u32)>>,
}

impl Sink for Top<'_> {
    fn hit(&mut self, query: u32, slot: u32, distance: u32) -> u32 {
        let best = &mut self.best[query as usize];
        let limit = &mut self.limits[query as usize];
        for &row in self.source.rows_of(slot).iter().filter(|&&row| self.index.alive(row)) {
            best.push((distance, row));
            if best.len() >= 2 * self.k + 32 {
                *limit = self.index.prune(best, self.k).min(*limit);
            }
        }
        *limit
    }
}

/// Takes pairs of a slot on the left and a later one on the right.
struct PairSink<'a> {
    index: &'a Index,
    left: &'a Source<'a>,
    start: usize,
    right: &'a Source<'a>,
    same: bool,
    radius: u32,
    pairs: Vec<(u64, u16)>,
}

impl Sink for PairSink<'_> {
    fn hit(&mut self, query: u32, slot: u32, distance: u32) -> u32 {
        let left = self.start as u32 + query;
        if !self.same || slot > left {
            for &a in self.left.rows_of(left).iter().filter(|&&row| self.index.alive(row)) {
                let rows = self.right.rows_of(slot).iter().filter(|&&row| self.index.alive(row));
                self.pairs.extend(rows.map(|&b| self.index.pair(a, b, distance)));
            }
        }
        self.radius
    }
}

#[cfg(test)]
mod tests;
