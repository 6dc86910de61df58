//! Searches over all runs and the tail, by the method that the plan of each prefers.

use crate::parallel::prelude::*;

use super::bits::Lists;
use super::blocks::{Aim, Layout, Probing, Search, Spec};
use super::plan::{self, Wish};
use super::runs::SortedRun;
use super::scan::{scan, tile::Sink};
use super::{Index, Method, TAIL};
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::cpu::prefetch::prefetch_at;
use crate::index::hits::Hits;
use crate::{Error, Result};

/// Batch size that a plan assumes by default.
pub(crate) const BATCH: usize = 1024;
/// Queries of one task: few enough to share, many enough that a tile of rows is read for many.
pub(super) const CHUNK: usize = 2048;
/// Word comparisons of a scan that are worth a task of their own.
const SHARD: usize = 1 << 22;
/// Nanoseconds of a search that the calling thread does by itself: sharing would not pay, and a signal can wait that
/// long.
const QUICK: f64 = 500_000.0;
/// Minimum number of limited matches to gather before they are cut; few in tests, which must reach it.
const MIN_GATHERED: usize = if cfg!(test) { 64 } else { 1 << 16 };
/// Rows beyond twice `k` at which a list of the nearest so far is cut; one in tests, which must reach it.
const SPARE: usize = if cfg!(test) { 1 } else { 64 };
/// Queries whose nearest rows are found by scan to learn the radius that tables need.
const PROBED: usize = 32;
/// Bytes for each fingerprint in which any tables fit: 24 of 36 bytes and a directory, or combinations of blocks.
const ANY_TABLES: usize = if cfg!(test) { 512 } else { 4096 };

/// How one part of an index would be searched.
#[derive(Debug, Clone)]
pub struct PartPlan {
    /// Distinct fingerprints.
    pub slots: usize,
    /// `scan`, `blocks` or `multi`.
    pub method: &'static str,
    /// True if its tables are built.
    pub built: bool,
    /// Tables.
    pub tables: usize,
    /// Radius of each table's block; -1 if a table is not probed.
    pub radii: Vec<i32>,
    /// Expected buckets a query looks into.
    pub probes: f64,
    /// Expected entries a query counts.
    pub candidates: f64,
    /// The same if all bits were fair and independent.
    pub fair_candidates: f64,
    /// Expected nanoseconds per query.
    pub cost: f64,
    /// Expected nanoseconds per query by scan.
    pub scan_cost: f64,
    /// Bytes of this part.
    pub bytes: usize,
    /// Cost of each method: its name, nanoseconds per query, bytes of this part.
    pub methods: Vec<(&'static str, f64, usize)>,
}

/// A run or the tail, as the searches see it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) fps: &'a [u64],
    pub(super) run: Option<&'a SortedRun>,
    /// Rows, slot after slot.
    rows: &'a [u32],
    /// The first row of each slot, and the end; empty if each slot has one.
    starts: &'a [u32],
}

impl<'a> Source<'a> {
    #[inline]
    pub(super) fn rows_of(&self, slot: u32) -> &'a [u32] {
        let slot = slot as usize;
        if self.starts.is_empty() {
            &self.rows[slot..=slot]
        } else {
            &self.rows[self.starts[slot] as usize..self.starts[slot + 1] as usize]
        }
    }

    /// Prefetch what `rows_of` reads first.
    #[inline]
    pub(super) fn prefetch_rows(&self, slot: u32) {
        if self.starts.is_empty() {
            prefetch_at(self.rows, slot as usize);
        } else {
            prefetch_at(self.starts, slot as usize);
        }
    }
}

/// The gain from other tables.
struct Gain {
    /// Nanoseconds that they would save in a batch of queries.
    saved: f64,
    /// True if the present tables are nearly as good, so that no number of queries would change them.
    settled: bool,
    /// True if that is worth their building.
    build: bool,
}

/// How a source is searched.
pub(super) enum Way<'a> {
    Scan,
    Tables(&'a Layout, Probing),
    Lists(&'a Lists),
}

impl Index {
    /// Bring the index into the shape in which `queries` searches of `radius` cost least; searches are correct without
    /// it.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn prepare(&mut self, radius: u32, queries: usize) -> Result<()> {
        self.check_radius(radius)?;
        if self.tail_rows.len() > TAIL || self.runs.is_empty() {
            self.flush()?;
        }
        self.build(radius, queries, false)
    }

    /// Bring the index into the shape in which the `k` nearest of these queries cost least: a few of them show the
    /// radius that they need.
    ///
    /// # Errors
    /// `k` of 0; queries of another width.
    pub fn prepare_nearest(&mut self, queries: &[u64], k: usize) -> Result<()> {
        let count = self.check_rows(queries)?;
        if self.tail_rows.len() > TAIL || self.runs.is_empty() {
            self.flush()?;
        }
        if count < 2 * PROBED || matches!(self.method, Method::Scan | Method::Bits) {
            return Ok(());
        }
        let step = count / PROBED;
        let few: Vec<u64> = queries.chunks_exact(self.words).step_by(step).take(PROBED).flatten().copied().collect();
        let hits = self.nearest(&few, k)?;
        let mut last: Vec<u16> = hits
            .offsets
            .windows(2)
            .filter(|pair| pair[0] < pair[1])
            .map(|pair| hits.distances[pair[1] as usize - 1])
            .collect();
        last.sort_unstable();
        if let Some(&radius) = last.get(last.len() * 3 / 4) {
            self.build(u32::from(radius), count, false)?;
        }
        Ok(())
    }

    /// Return true if [`Index::prepare_nearest`] has nothing to do for this number of queries.
    pub fn is_prepared_nearest(&self, queries: usize) -> bool {
        queries < 2 * PROBED && self.tail_rows.len() <= TAIL && !self.runs.is_empty()
    }

    /// Return true if [`Index::prepare`] would build nothing, now or later: the tables that pay exist, or none would
    /// pay.
    pub fn is_prepared(&self, radius: u32, queries: usize) -> bool {
        self.has_shape(radius, queries, |gain| !gain.build && gain.settled)
    }

    /// Return true if [`Index::prepare`] would build nothing now, and only count what these queries cost.
    pub fn prepares_quickly(&self, radius: u32, queries: usize) -> bool {
        self.has_shape(radius, queries, |gain| !gain.build)
    }

    /// Return true if all runs are planned, and other tables would have a gain that is good.
    fn has_shape(&self, radius: u32, queries: usize, is_good: impl Fn(&Gain) -> bool) -> bool {
        if self.tail_rows.len() > TAIL || self.runs.is_empty() || radius > self.bits as u32 {
            return false;
        }
        let used = self.bytes().0;
        self.runs.iter().all(|run| {
            if matches!(self.method, Method::Scan | Method::Bits) {
                return self.method == Method::Scan || run.lists.is_some();
            }
            let wish = self.wish(run, radius, used, false);
            let Some((_, best)) = run.planned.iter().find(|(old, _)| *old == wish) else { return false };
            let Some((spec, probing)) = best else { return true };
            is_good(&self.gain(run, spec, probing, wish, queries))
        })
    }

    /// Return the wish for the tables of a run, if all runs take `used` bytes now.
    fn wish(&self, run: &SortedRun, radius: u32, used: usize, join: bool) -> Wish {
        let own = run.layout.as_ref().map_or(0, Layout::bytes);
        let aim = if join { Aim::Join } else { Aim::Search(BATCH) };
        let (limit, by_machine) = self.limit();
        let mut memory = limit.map(|limit| limit.saturating_add(own).saturating_sub(used));
        if by_machine {
            // Rounded, and None if tables of any kind fit: the bytes of other runs rarely affect a plan.
            memory = memory.filter(|&capacity| capacity < ANY_TABLES * run.len()).map(|capacity| {
                let low = capacity.checked_ilog2().unwrap_or(0).saturating_sub(3);
                capacity >> low << low
            });
        }
        Wish { radius, memory, by_machine: by_machine && memory.is_some(), aim }
    }

    /// Bytes that the index may take, and whether it is the machine's share and not the caller's limit.
    fn limit(&self) -> (Option<usize>, bool) {
        let by_machine = self.memory.is_none() && self.method == Method::Auto && self.share.is_some();
        (if by_machine { self.share } else { self.memory }, by_machine)
    }

    /// Return the wish for tables that are not built.
    fn hope(&self, radius: u32) -> Wish {
        let (memory, by_machine) = self.limit();
        Wish { radius, memory, by_machine, aim: Aim::Search(BATCH) }
    }

    /// Return what the best tables would save over the present ones, and if they are to be built.
    fn gain(&self, run: &SortedRun, spec: &Spec, probing: &Probing, wish: Wish, queries: usize) -> Gain {
        let (slots, words, radius) = (run.len(), self.words, wish.radius);
        let built = run.layout.as_ref();
        let answer = built.and_then(|layout| layout.spec().plan(slots, words, radius, wish.aim));
        if self.method != Method::Auto {
            let other = |layout: &Layout| {
                layout.spec().len() != spec.len() || layout.spec().is_combined() != spec.is_combined()
            };
            return Gain { saved: 0.0, settled: true, build: answer.is_none() || built.is_none_or(other) };
        }
        let scan = plan::scan_cost(slots, words, radius, queries);
        let now = answer.map_or(scan, |answer| answer.cost.min(scan));
        let saved = (now - probing.cost).max(0.0) * queries as f64;
        let announced = self.radius == Some(radius) && built.is_none() && saved > 0.0;
        let pays = saved + self.overspent > spec.build_cost(slots, words);
        // Tables that are nearly as good are kept.
        let settled = now <= 1.5 * probing.cost;
        Gain { saved, settled, build: !settled && (pays || announced) }
    }

    /// Build the tables that pay. If it is cancelled, some runs have their tables.
    pub(super) fn build(&mut self, radius: u32, queries: usize, join: bool) -> Result<()> {
        let cancel = CancelToken::current();
        let (words, bits, method) = (self.words, self.bits, self.method);
        let mut used = self.bytes().0;
        for number in 0..self.runs.len() {
            cancel.check()?;
            let wish = self.wish(&self.runs[number], radius, used, join);
            let run = &mut self.runs[number];
            if method == Method::Bits && run.lists.is_none() {
                run.lists = Some(Lists::build(words, &run.fps, &cancel)?);
            }
            if matches!(method, Method::Scan | Method::Bits) {
                continue;
            }
            let best = if let Some((_, best)) = run.planned.iter().find(|(old, _)| *old == wish) {
                best.clone()
            } else {
                let best = plan::best_tables(method, bits, &run.fps, wish);
                // A handful of radii is in use at a time.
                run.planned.truncate(7);
                run.planned.insert(0, (wish, best.clone()));
                best
            };
            let Some((spec, probing)) = best else {
                continue;
            };
            let gain = self.gain(&self.runs[number], &spec, &probing, wish, queries);
            if method == Method::Auto {
                self.overspent = if gain.build { 0.0 } else { self.overspent + gain.saved };
            }
            if gain.build {
                let run = &mut self.runs[number];
                let own = run.layout.take().map_or(0, |layout| layout.bytes());
                let layout = Layout::build(spec, words, &run.fps, &cancel)?;
                used = used - own + layout.bytes();
                run.layout = Some(layout);
            }
        }
        Ok(())
    }

    pub(super) fn sources<'a>(&'a self) -> Vec<Source<'a>> {
        let of_run =
            |run: &'a SortedRun| Source { fps: &run.fps, run: Some(run), rows: &run.rows, starts: &run.starts };
        let mut sources: Vec<_> = self.runs.iter().map(of_run).collect();
        sources.push(Source { fps: &self.tail, run: None, rows: &self.tail_rows, starts: &[] });
        sources
    }

    /// Return the best way to search a source as it is, and its expected cost.
    pub(super) fn way<'a>(&self, source: &Source<'a>, radius: u32, queries: usize, join: bool) -> (Way<'a>, f64) {
        let slots = source.fps.len() / self.words;
        let scan = plan::scan_cost(slots, self.words, radius, queries);
        if let Some(lists) = source.run.and_then(|run| run.lists.as_ref()) {
            return (Way::Lists(lists), slots as f64 * self.bits as f64);
        }
        let aim = if join { Aim::Join } else { Aim::Search(queries.min(CHUNK)) };
        let tables = source
            .run
            .and_then(|run| run.layout.as_ref())
            .and_then(|layout| layout.spec().plan(slots, self.words, radius, aim).map(|probing| (layout, probing)));
        match tables {
            Some((layout, probing)) if self.method != Method::Auto || probing.cost < scan => {
                let cost = probing.cost;
                (Way::Tables(layout, probing), cost)
            }
            _ => (Way::Scan, scan),
        }
    }

    /// Split a source into ranges that are scanned as separate tasks: one for many queries, several for few.
    pub(super) fn shards(&self, source: &Source<'_>, queries: usize) -> Vec<(u32, usize)> {
        let slots = source.fps.len() / self.words;
        let num_shards = slots * self.words * queries / SHARD + 1;
        // Without a pool there are no threads to count; few comparisons are one task anyway, and so is a single thread's
        // work: each task finds its own limits of the nearest.
        let threads = if queries < CHUNK && num_shards > 1 { rayon::current_num_threads() } else { 1 };
        let max_shards = if threads > 1 { 4 * threads } else { 1 };
        let num_shards = num_shards.min(max_shards);
        let length = slots.div_ceil(num_shards).max(1);
        (0..slots).step_by(length).map(|start| (start as u32, length.min(slots - start))).collect()
    }

    /// Call sinks with every (query, slot, distance) within `radius` of a chunk of queries, for the slots of a source;
    /// end early if `cancel` is set.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn each_hit<S: Sink + Send>(
        &self,
        source: &Source<'_>,
        queries: &[u64],
        radius: u32,
        cancel: &CancelToken,
        sink: impl Fn() -> S + Sync,
    ) -> Result<Vec<S>> {
        let count = queries.len() / self.words;
        match self.way(source, radius, count, false).0 {
            Way::Tables(layout, Probing { radii, .. }) => {
                let mut sink = sink();
                let search = Search { words: self.words, fps: source.fps, queries, radius, radii: &radii, cancel };
                layout.search(self.kernel, search, &mut sink)?;
                Ok(vec![sink])
            }
            Way::Lists(lists) => {
                let mut sink = sink();
                lists.search(self.words, queries, radius, cancel, &mut sink)?;
                Ok(vec![sink])
            }
            Way::Scan => {
                let search_chunk = |(first, length): (u32, usize)| {
                    let mut sink = sink();
                    let fps = &source.fps[first as usize * self.words..][..length * self.words];
                    let mut limits = vec![radius; count];
                    scan(self.kernel, self.words, fps, first, queries, &mut limits, cancel, &mut sink);
                    sink
                };
                let shards = self.shards(source, count);
                Ok(if shards.len() == 1 {
                    shards.into_iter().map(search_chunk).collect()
                } else {
                    shards.into_par_iter().map(search_chunk).collect()
                })
            }
        }
    }

    /// Return every live row within `radius` of a chunk of queries, packed, in no order; with a cap, at least the first
    /// `cap` rows of each query in the order of results.
    fn find(
        &self,
        sources: &[Source<'_>],
        queries: &[u64],
        radius: u32,
        cap: Option<usize>,
        cancel: &CancelToken,
    ) -> Result<Vec<u64>> {
        let capacity =
            cap.map_or(usize::MAX, |cap| (2 * cap.saturating_mul(queries.len() / self.words)).max(MIN_GATHERED));
        let mut packed: Vec<u64> = Vec::new();
        for source in sources {
            let sink = || Collect { index: self, source, radius, cap, capacity, packed: BestEffortVec::default() };
            for part in self.each_hit(source, queries, radius, cancel, sink)? {
                let mut part = part.packed.into_vec()?;
                alloc::try_reserve(&mut packed, part.len())?;
                packed.append(&mut part);
            }
        }
        Ok(packed)
    }

    /// Sort packed matches and keep the first `limit` of each query.
    fn cut(&self, packed: &mut Vec<u64>, limit: usize) {
        self.order(packed);
        let (mut query, mut rank) = (u64::MAX, 0);
        packed.retain(|&hit| {
            rank = if hit >> 44 == query { rank + 1 } else { 0 };
            query = hit >> 44;
            rank < limit
        });
    }

    /// Return every row within `radius` (inclusive) of each query; with a limit, the first rows of each, and which
    /// queries had more.
    ///
    /// # Errors
    /// `radius` above `bits`; a limit of 0; queries of another width.
    pub fn search(&self, queries: &[u64], radius: u32, limit: Option<usize>) -> Result<Hits<u16>> {
        self.check_radius(radius)?;
        let count = self.check_rows(queries)?;
        if limit == Some(0) {
            return Err(Error::parameter("limit", 0, "1 or more"));
        }
        // No query can have more than all rows.
        let limit = limit.map(|limit| limit.min(self.len().max(1)));
        let sources = self.sources();
        let cancel = &CancelToken::current();
        let search_chunk = |queries: &[u64]| {
            let count = queries.len() / self.words;
            let mut packed = self.find(&sources, queries, radius, limit.map(|limit| limit + 1), cancel)?;
            cancel.check()?;
            let mut truncated = Vec::new();
            if let Some(limit) = limit {
                self.cut(&mut packed, limit + 1);
                truncated.resize(count, false);
                for matches in packed.chunk_by(|a, b| a >> 44 == b >> 44).filter(|matches| matches.len() > limit) {
                    truncated[(matches[0] >> 44) as usize] = true;
                }
                self.cut(&mut packed, limit);
            } else {
                self.order(&mut packed);
            }
            Ok((packed, count, truncated))
        };
        gather(&self.in_chunks(queries, search_chunk)?, count)
    }

    /// Return true if the calling thread does all of a search of one query in half a millisecond, without sharing.
    pub fn is_quick(&self, radius: u32, queries: usize) -> bool {
        queries == 1
            && radius <= self.bits as u32
            && self.sources().iter().all(|source| {
                let (way, cost) = self.way(source, radius, 1, false);
                cost <= QUICK && (!matches!(way, Way::Scan) || self.shards(source, 1).len() <= 1)
            })
    }

    /// Return the `k` nearest rows of each query, or all if there are fewer; among rows at the last distance those of
    /// smallest id.
    ///
    /// Tables are searched with growing radii, each about twice the cost of the last, until a query has `k` rows; when
    /// the next radius would cost a sixth of a scan, the remaining queries are scanned.
    ///
    /// # Errors
    /// `k` of 0; queries of another width.
    pub fn nearest(&self, queries: &[u64], k: usize) -> Result<Hits<u16>> {
        let count = self.check_rows(queries)?;
        if k == 0 {
            return Err(Error::parameter("k", k, "1 or more"));
        }
        let k = k.min(self.len().max(1));
        let sources = self.sources();
        let radii = self.deepening(&sources, count);
        let cancel = &CancelToken::current();
        let search_chunk = |queries: &[u64]| {
            let mut packed = self.nearest_of(&sources, queries, k, &radii, cancel)?;
            self.order(&mut packed);
            Ok((packed, queries.len() / self.words, Vec::new()))
        };
        gather(&self.in_chunks(queries, search_chunk)?, count)
    }

    /// Call a function with chunks of queries, in parallel. A single query cannot be shared: the calling thread searches
    /// it.
    fn in_chunks<T: Send>(&self, queries: &[u64], search: impl Fn(&[u64]) -> Result<T> + Sync) -> Result<Vec<T>> {
        let count = queries.len() / self.words;
        if count <= 1 {
            return Ok(vec![search(queries)?]);
        }
        queries.par_chunks(chunk_of(count) * self.words).map(search).collect()
    }

    /// Return radii of growing cost at which tables still cost less than half of a scan.
    fn deepening(&self, sources: &[Source<'_>], queries: usize) -> Vec<u32> {
        let mut radii: Vec<u32> = Vec::new();
        let mut last = 0.0;
        for radius in 0..=self.bits as u32 {
            let (mut tables, mut scans, mut cost) = (false, 0.0, 0.0);
            for source in sources {
                let (way, expected) = self.way(source, radius, queries, false);
                tables |= matches!(way, Way::Tables(..));
                scans += plan::scan_cost(source.fps.len() / self.words, self.words, radius, queries);
                cost += expected;
            }
            if !tables || cost > scans / 6.0 {
                break;
            }
            if cost >= 2.0 * last || radii.is_empty() {
                radii.push(radius);
                last = cost;
            } else if cost < 1.2 * last {
                // Hardly dearer and it finds more.
                radii.pop();
                radii.push(radius);
            }
        }
        radii
    }

    fn nearest_of(
        &self,
        sources: &[Source<'_>],
        queries: &[u64],
        k: usize,
        radii: &[u32],
        cancel: &CancelToken,
    ) -> Result<Vec<u64>> {
        let mut packed = BestEffortVec::default();
        let mut open: Vec<u32> = (0..(queries.len() / self.words) as u32).collect();
        for &radius in radii {
            let open_queries = self.rows_at(queries, &open)?;
            let mut hits = self.find(sources, &open_queries, radius, Some(k), cancel)?;
            cancel.check()?;
            self.order(&mut hits);
            let mut still = Vec::new();
            let mut at = 0;
            for (number, &query) in open.iter().enumerate() {
                let start = at;
                while at < hits.len() && hits[at] >> 44 == number as u64 {
                    at += 1;
                }
                if at - start < k {
                    still.push(query);
                } else {
                    let low = (1u64 << 44) - 1;
                    packed.extend(hits[start..start + k].iter().map(|hit| u64::from(query) << 44 | hit & low));
                }
            }
            open = still;
            if open.is_empty() {
                return packed.into_vec();
            }
        }
        let open_queries = self.rows_at(queries, &open)?;
        for (list, &query) in self.nearest_by_scan(sources, &open_queries, k, cancel)?.iter().zip(&open) {
            packed.extend(list.iter().map(|&(distance, row)| pack(query, distance, row)));
        }
        packed.into_vec()
    }

    /// Copy the fingerprints at some positions of `fps`.
    pub(super) fn rows_at(&self, fps: &[u64], rows: &[u32]) -> Result<Vec<u64>> {
        let mut packed = alloc::try_with_capacity(rows.len() * self.words)?;
        for &row in rows {
            packed.extend_from_slice(&fps[row as usize * self.words..][..self.words]);
        }
        Ok(packed)
    }

    fn nearest_by_scan(
        &self,
        sources: &[Source<'_>],
        queries: &[u64],
        k: usize,
        cancel: &CancelToken,
    ) -> Result<Vec<Vec<(u32, u32)>>> {
        let count = queries.len() / self.words;
        let mut best: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
        for source in sources {
            let limits: Vec<u32> = best.iter_mut().map(|best| self.prune(best, k)).collect();
            let search_shard = |(first, length): (u32, usize)| {
                let mut lists = alloc::try_with_capacity(count)?;
                lists.resize_with(count, BestEffortVec::default);
                let counts = alloc::try_zeroed(count * (self.bits + 1))?;
                let within = vec![0; count];
                let mut sink = NearestK { index: self, source, k, limits: limits.clone(), counts, within, best: lists };
                let fps = &source.fps[first as usize * self.words..][..length * self.words];
                scan(self.kernel, self.words, fps, first, queries, &mut limits.clone(), cancel, &mut sink);
                Ok(sink.best)
            };
            let shards = self.shards(source, count);
            let lists: Result<Vec<_>> = match shards[..] {
                [shard] => search_shard(shard).map(|list| vec![list]),
                _ => shards.into_par_iter().map(search_shard).collect(),
            };
            cancel.check()?;
            for list in lists? {
                for (best, list) in best.iter_mut().zip(list) {
                    alloc::try_extend(best, &list.into_vec()?)?;
                }
            }
        }
        for best in &mut best {
            self.prune(best, k);
        }
        Ok(best)
    }

    /// Cut a list of (distance, row) to the `k` smallest by distance and id; return the distance beyond which rows are
    /// useless.
    fn prune(&self, best: &mut Vec<(u32, u32)>, k: usize) -> u32 {
        if best.len() < k {
            return self.bits as u32;
        }
        let limit = best.select_nth_unstable_by(k - 1, |&a, &b| self.order_of(a, b)).1.0;
        best.truncate(k);
        limit
    }

    /// Compare (distance, row) by distance, ties by id.
    #[inline]
    fn order_of(&self, a: (u32, u32), b: (u32, u32)) -> std::cmp::Ordering {
        a.0.cmp(&b.0).then_with(|| self.rows.compare(a.1, b.1))
    }

    /// Sort packed matches by query, distance and id.
    fn order(&self, packed: &mut [u64]) {
        packed.sort_unstable();
        if self.rows.ascending() {
            return;
        }
        for ties in packed.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
            ties.sort_unstable_by(|&a, &b| self.rows.compare(a as u32, b as u32));
        }
    }

    /// Explain how each part of the index would answer a radius search, including tables that are not built.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn explain(&self, radius: u32) -> Result<Vec<PartPlan>> {
        self.check_radius(radius)?;
        let mut parts = Vec::new();
        for source in self.sources() {
            let slots = source.fps.len() / self.words;
            if slots == 0 {
                continue;
            }
            let scan_cost = plan::scan_cost(slots, self.words, radius, BATCH);
            let mut part = PartPlan {
                slots,
                method: "scan",
                built: true,
                tables: 0,
                radii: Vec::new(),
                probes: 0.0,
                candidates: slots as f64,
                fair_candidates: slots as f64,
                cost: scan_cost,
                scan_cost,
                bytes: source.run.map_or(source.fps.len() * 8 + slots * 4, SortedRun::bytes),
                methods: self.methods(&source, radius),
            };
            let (way, cost) = self.way(&source, radius, BATCH, false);
            let (chosen, built) = match way {
                Way::Tables(layout, probing) => (Some((layout.spec().clone(), probing)), true),
                Way::Lists(_) => {
                    (part.method, part.tables, part.cost) = ("bits", self.bits, cost);
                    (None, true)
                }
                Way::Scan => {
                    let wish = self.hope(radius);
                    let best = source.run.and_then(|run| plan::best_tables(self.method, self.bits, &run.fps, wish));
                    (best.filter(|(_, probing)| self.method != Method::Auto || probing.cost < scan_cost), false)
                }
            };
            if let Some((spec, probing)) = chosen {
                part.method = match (spec.is_combined(), probing.radii.iter().all(|&radius| radius <= 0)) {
                    (true, _) => "tables",
                    (false, true) => "blocks",
                    (false, false) => "multi",
                };
                part.built = built;
                part.tables = spec.len();
                part.probes = probing.probes;
                part.candidates = probing.candidates;
                part.fair_candidates = probing.fair_candidates;
                part.cost = probing.cost;
                part.radii = probing.radii;
                if !built {
                    part.bytes += spec.bytes(slots, self.words);
                }
            }
            parts.push(part);
        }
        Ok(parts)
    }
}

impl Index {
    /// Return the cost of each method in one source.
    fn methods(&self, source: &Source<'_>, radius: u32) -> Vec<(&'static str, f64, usize)> {
        let slots = source.fps.len() / self.words;
        let scan = plan::scan_cost(slots, self.words, radius, BATCH);
        let bare = source.run.map_or(source.fps.len() * 8 + slots * 4, SortedRun::bare_bytes);
        let mut methods = vec![("scan", scan, bare)];
        let Some(run) = source.run else { return methods };
        let lists = bare + Lists::expected_bytes(self.words, &run.fps);
        methods.push(("bits", slots as f64 * self.bits as f64, lists));
        for method in [Method::Blocks, Method::Tables, Method::Multi] {
            let wish = self.hope(radius);
            if let Some((spec, probing)) = plan::best_tables(method, self.bits, &run.fps, wish) {
                methods.push((method.name(), probing.cost, bare + spec.bytes(slots, self.words)));
            }
        }
        methods
    }
}

/// Return the number of queries of one task: an equal share, because queries of one task read the fingerprints
/// together; 64 to `CHUNK`.
pub(super) fn chunk_of(queries: usize) -> usize {
    queries.div_ceil(rayon::current_num_threads()).clamp(64, CHUNK)
}

/// Pack a match into one word that sorts by query, distance, row: 20, 12 and 32 bits.
fn pack(query: u32, distance: u32, row: u32) -> u64 {
    u64::from(query) << 44 | u64::from(distance) << 32 | u64::from(row)
}

/// Unpack sorted matches of consecutive chunks of queries into one result.
fn gather(parts: &[(Vec<u64>, usize, Vec<bool>)], queries: usize) -> Result<Hits<u16>> {
    let mut hits = Hits::with_capacity(queries, parts.iter().map(|(packed, ..)| packed.len()).sum())?;
    for (packed, count, truncated) in parts {
        let mut at = 0;
        for query in 0..*count as u64 {
            let end = at + packed[at..].iter().take_while(|&&hit| hit >> 44 == query).count();
            hits.push(packed[at..end].iter().map(|&hit| ((hit >> 32 & 0xfff) as u16, hit as u32)));
            at = end;
        }
        alloc::try_reserve(&mut hits.truncated, truncated.len())?;
        hits.truncated.extend_from_slice(truncated);
    }
    Ok(hits)
}

/// Collects every live row of a slot, or with a cap at least the rows that the cap allows.
struct Collect<'a> {
    index: &'a Index,
    source: &'a Source<'a>,
    radius: u32,
    cap: Option<usize>,
    /// Matches beyond which they are cut to the cap.
    capacity: usize,
    packed: BestEffortVec<u64>,
}

impl Sink for Collect<'_> {
    #[inline]
    fn expect(&self, slot: u32) {
        self.source.prefetch_rows(slot);
    }

    fn hit(&mut self, query: u32, slot: u32, distance: u32) -> u32 {
        let rows = self.source.rows_of(slot).iter().filter(|&&row| self.index.rows.is_alive(row));
        let matches = rows.map(|&row| pack(query, distance, row));
        // Rows of a slot are in order of id.
        self.packed.extend(matches.take(self.cap.unwrap_or(usize::MAX)));
        if let (Some(cap), true) = (self.cap, self.packed.len() > self.capacity) {
            self.index.cut(self.packed.values(), cap);
        }
        self.radius
    }
}

/// Keeps the `k` nearest of each query: the sooner a limit falls, the fewer rows pass it. The limit is read from the number
/// of rows at each distance, so each row lowers it, and lists need no order until they are cut.
struct NearestK<'a> {
    index: &'a Index,
    source: &'a Source<'a>,
    k: usize,
    limits: Vec<u32>,
    /// Rows at each distance from 0 to bits, of each query.
    counts: Vec<u32>,
    /// Rows within the limit, of each query.
    within: Vec<usize>,
    best: Vec<BestEffortVec<(u32, u32)>>,
}

impl Sink for NearestK<'_> {
    fn hit(&mut self, query: u32, slot: u32, distance: u32) -> u32 {
        let (index, k, query) = (self.index, self.k, query as usize);
        let best = &mut self.best[query];
        let (limit, within) = (&mut self.limits[query], &mut self.within[query]);
        let counts = &mut self.counts[query * (index.bits + 1)..][..=index.bits];
        for &row in self.source.rows_of(slot).iter().filter(|&&row| index.rows.is_alive(row)).take(k) {
            best.push((distance, row));
            counts[distance as usize] += 1;
            *within += 1;
            // k rows are nearer than the limit.
            while *within - counts[*limit as usize] as usize >= k {
                *within -= counts[*limit as usize] as usize;
                *limit -= 1;
            }
            if best.len() >= 2 * k + SPARE {
                index.prune(best.values(), k);
                counts[*limit as usize] -= (*within - k) as u32;
                *within = k;
            }
        }
        *limit
    }
}
