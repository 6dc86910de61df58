//! Searches over all runs and the tail, by the method that the plan of each prefers.

use rayon::prelude::*;

use super::bits::Lists;
use super::blocks::{Aim, Layout, Probing, Search, Spec};
use super::plan::{self, Wish};
use super::runs::SortedRun;
use super::scan::{scan, tile::Sink};
use super::{Index, Method, TAIL};
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::cpu::prefetch::prefetch_at;
use crate::{Error, Result};

/// Queries of the batch that a plan assumes where it is not told.
pub(crate) const BATCH: usize = 1024;
/// Queries of one task: few enough to share, many enough that a tile of rows is read for many.
pub(super) const CHUNK: usize = 2048;
/// Word comparisons of a scan that are worth a task of their own.
const SHARD: usize = 1 << 22;
/// Nanoseconds of a search that the thread that asks does by itself: nothing of it would be shared out, and a signal can wait as
/// long.
const QUICK: f64 = 500_000.0;
/// Limited matches that are gathered before they are cut, at least; few in tests, which must reach it.
const ROOM: usize = if cfg!(test) { 64 } else { 1 << 16 };
/// Queries whose nearest rows are found by scan to learn the radius that tables should have.
const PROBED: usize = 32;
/// Bytes for each fingerprint in which any tables fit: 24 of 36 bytes and a directory, or combinations of blocks.
const ANY_TABLES: usize = if cfg!(test) { 512 } else { 4096 };

/// Matches of a batch of queries: query q owns `offsets[q]..offsets[q + 1]`, nearest first, ties by id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// One more than queries.
    pub offsets: Vec<i64>,
    /// Row of each match.
    pub rows: Vec<u32>,
    /// Distance of each match.
    pub distances: Vec<u16>,
    /// Where matches were limited: which queries had more; else empty.
    pub truncated: Vec<bool>,
}

/// How one part of an index would be searched.
#[derive(Debug, Clone)]
pub struct PartPlan {
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
    /// The same if all bits were fair and independent.
    pub fair_candidates: f64,
    /// Expected nanoseconds per query.
    pub cost: f64,
    /// Expected nanoseconds per query by scan.
    pub scan_cost: f64,
    /// Bytes of this part.
    pub bytes: usize,
    /// What each method would cost: its name, nanoseconds per query, bytes of this part.
    pub methods: Vec<(&'static str, f64, usize)>,
}

/// A run or the tail, as the searches see it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) fps: &'a [u64],
    pub(super) run: Option<&'a SortedRun>,
    /// Rows, slot after slot.
    rows: &'a [u32],
    /// The first row of each slot, and the end; empty where each slot has one.
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

    /// Prefetches what `rows_of` reads first.
    #[inline]
    pub(super) fn prefetch_rows(&self, slot: u32) {
        if self.starts.is_empty() {
            prefetch_at(self.rows, slot as usize);
        } else {
            prefetch_at(self.starts, slot as usize);
        }
    }
}

/// What other tables would bring.
struct Gain {
    /// Nanoseconds that they would save in a batch of queries.
    saved: f64,
    /// Whether what is there is nearly as good, so that no number of queries would change it.
    settled: bool,
    /// Whether that is worth their building.
    build: bool,
}

/// How a source is searched.
pub(super) enum Way<'a> {
    Scan,
    Tables(&'a Layout, Probing),
    Lists(&'a Lists),
}

impl Index {
    /// Brings the index into the shape in which `queries` searches of `radius` cost least; searches are right without it.
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

    /// Brings the index into the shape in which the `k` nearest of these queries cost least: the radius that they need is
    /// learnt from a few of them.
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

    /// Whether [`Index::prepare`] would build nothing, now or later: the tables that pay are there, or none would pay.
    pub fn is_prepared(&self, radius: u32, queries: usize) -> bool {
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
            let gain = self.gain(run, spec, probing, wish, queries);
            !gain.build && gain.settled
        })
    }

    /// What is wanted of the tables of a run, where all runs take `used` bytes now.
    fn wish(&self, run: &SortedRun, radius: u32, used: usize, join: bool) -> Wish {
        let own = run.layout.as_ref().map_or(0, Layout::bytes);
        let aim = if join { Aim::Join } else { Aim::Search(BATCH) };
        let (limit, by_machine) = self.limit();
        let mut memory = limit.map(|limit| limit.saturating_add(own).saturating_sub(used));
        if by_machine {
            // Rounded, and nothing where tables of any kind fit: what other runs take plays no part in most plans.
            memory = memory.filter(|&room| room < ANY_TABLES * run.len()).map(|room| {
                let low = room.checked_ilog2().unwrap_or(0).saturating_sub(3);
                room >> low << low
            });
        }
        Wish { radius, memory, by_machine: by_machine && memory.is_some(), aim }
    }

    /// Bytes that the index may take, and whether it is the machine's share and not the caller's limit.
    fn limit(&self) -> (Option<usize>, bool) {
        let by_machine = self.memory.is_none() && self.method == Method::Auto && self.share.is_some();
        (if by_machine { self.share } else { self.memory }, by_machine)
    }

    /// What tables are hoped for that are not built.
    fn hope(&self, radius: u32) -> Wish {
        let (memory, by_machine) = self.limit();
        Wish { radius, memory, by_machine, aim: Aim::Search(BATCH) }
    }

    /// What the best tables would save over those that are there, and whether they are built.
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
        // Tables that are nearly as good stay.
        let settled = now <= 1.5 * probing.cost;
        Gain { saved, settled, build: !settled && (pays || announced) }
    }

    /// Builds the tables that pay. Where it is stopped the index has the tables of some runs.
    pub(super) fn build(&mut self, radius: u32, queries: usize, join: bool) -> Result<()> {
        let stop = CancelToken::current();
        let (words, bits, method) = (self.words, self.bits, self.method);
        let mut used = self.bytes().0;
        for number in 0..self.runs.len() {
            stop.check()?;
            let wish = self.wish(&self.runs[number], radius, used, join);
            let run = &mut self.runs[number];
            if method == Method::Bits && run.lists.is_none() {
                run.lists = Some(Lists::build(words, &run.fps, &stop)?);
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
                let layout = Layout::build(spec, words, &run.fps, &stop)?;
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

    /// How a source is best searched as it is, and what that is expected to cost.
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

    /// The parts of a source that are scanned as tasks of their own: one for many queries, several for few.
    pub(super) fn shards(&self, source: &Source<'_>, queries: usize) -> Vec<(u32, usize)> {
        let slots = source.fps.len() / self.words;
        let wanted = slots * self.words * queries / SHARD + 1;
        // Without a pool there are no threads to ask for; few comparisons are one task anyway.
        let most = if queries < CHUNK && wanted > 1 { 4 * rayon::current_num_threads() } else { 1 };
        let wanted = wanted.min(most);
        let length = slots.div_ceil(wanted).max(1);
        (0..slots).step_by(length).map(|start| (start as u32, length.min(slots - start))).collect()
    }

    /// Gives sinks every (query, slot, distance) within `radius` of a chunk of queries, slots being those of a source; ends
    /// early once `stop` is set.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn each_hit<S: Sink + Send>(
        &self,
        source: &Source<'_>,
        queries: &[u64],
        radius: u32,
        stop: &CancelToken,
        sink: impl Fn() -> S + Sync,
    ) -> Result<Vec<S>> {
        let count = queries.len() / self.words;
        match self.way(source, radius, count, false).0 {
            Way::Tables(layout, Probing { radii, .. }) => {
                let mut sink = sink();
                let search = Search { words: self.words, fps: source.fps, queries, radius, radii: &radii, stop };
                layout.search(self.kernel, search, &mut sink)?;
                Ok(vec![sink])
            }
            Way::Lists(lists) => {
                let mut sink = sink();
                lists.search(self.words, queries, radius, stop, &mut sink)?;
                Ok(vec![sink])
            }
            Way::Scan => {
                let one = |(first, length): (u32, usize)| {
                    let mut sink = sink();
                    let fps = &source.fps[first as usize * self.words..][..length * self.words];
                    let mut limits = vec![radius; count];
                    scan(self.kernel, self.words, fps, first, queries, &mut limits, stop, &mut sink);
                    sink
                };
                let shards = self.shards(source, count);
                Ok(if shards.len() == 1 {
                    shards.into_iter().map(one).collect()
                } else {
                    shards.into_par_iter().map(one).collect()
                })
            }
        }
    }

    /// Every live row within `radius` of a chunk of queries, packed, in no order; with a cap, at least the first `cap` of each
    /// query in the order of results.
    fn find(
        &self,
        sources: &[Source<'_>],
        queries: &[u64],
        radius: u32,
        cap: Option<usize>,
        stop: &CancelToken,
    ) -> Result<Vec<u64>> {
        let room = cap.map_or(usize::MAX, |cap| (2 * cap.saturating_mul(queries.len() / self.words)).max(ROOM));
        let mut found: Vec<u64> = Vec::new();
        for source in sources {
            let sink = || Collect { index: self, source, radius, cap, room, found: BestEffortVec::default() };
            for part in self.each_hit(source, queries, radius, stop, sink)? {
                let mut part = part.found.whole()?;
                alloc::try_reserve(&mut found, part.len())?;
                found.append(&mut part);
            }
        }
        Ok(found)
    }

    /// Sorts packed matches and leaves the first `limit` of each query.
    fn cut(&self, found: &mut Vec<u64>, limit: usize) {
        self.order(found);
        let (mut query, mut place) = (u64::MAX, 0);
        found.retain(|&hit| {
            place = if hit >> 44 == query { place + 1 } else { 0 };
            query = hit >> 44;
            place < limit
        });
    }

    /// Every row within `radius` (inclusive) of each query; with a limit, the first this many of each, and which had
    /// more.
    ///
    /// # Errors
    /// `radius` above `bits`; a limit of 0; queries of another width.
    pub fn search(&self, queries: &[u64], radius: u32, limit: Option<usize>) -> Result<Hits> {
        self.check_radius(radius)?;
        let count = self.check_rows(queries)?;
        if limit == Some(0) {
            return Err(Error::parameter("limit", 0, "1 or more"));
        }
        // No query can have more than all rows.
        let limit = limit.map(|limit| limit.min(self.len().max(1)));
        let sources = self.sources();
        let stop = &CancelToken::current();
        let one = |queries: &[u64]| {
            let count = queries.len() / self.words;
            let mut found = self.find(&sources, queries, radius, limit.map(|limit| limit + 1), stop)?;
            stop.check()?;
            let mut truncated = Vec::new();
            if let Some(limit) = limit {
                self.cut(&mut found, limit + 1);
                truncated.resize(count, false);
                for matches in found.chunk_by(|a, b| a >> 44 == b >> 44).filter(|matches| matches.len() > limit) {
                    truncated[(matches[0] >> 44) as usize] = true;
                }
                self.cut(&mut found, limit);
            } else {
                self.order(&mut found);
            }
            Ok((found, count, truncated))
        };
        // A single chunk is no work to share: the thread that asks does it.
        let parts = if count <= 1 {
            vec![one(queries)?]
        } else {
            queries.par_chunks(chunk_of(count) * self.words).map(one).collect::<Result<Vec<_>>>()?
        };
        gather(&parts, count)
    }

    /// Whether the thread that asks does all of a search of one query in half a millisecond, and shares nothing out.
    pub fn is_quick(&self, radius: u32, queries: usize) -> bool {
        queries == 1
            && radius <= self.bits as u32
            && self.sources().iter().all(|source| {
                let (way, cost) = self.way(source, radius, 1, false);
                cost <= QUICK && (!matches!(way, Way::Scan) || self.shards(source, 1).len() <= 1)
            })
    }

    /// The `k` nearest rows of each query, or all where there are fewer; of rows at the last distance those of smallest
    /// id.
    ///
    /// Tables are asked for growing radii, each about twice the cost of the last, until a query has `k` rows; what is still
    /// open when that would cost a sixth of a scan is scanned.
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
        let radii = self.deepening(&sources, count);
        let stop = &CancelToken::current();
        let parts = queries
            .par_chunks(chunk_of(count) * self.words)
            .map(|queries| {
                let mut found = self.nearest_of(&sources, queries, k, &radii, stop)?;
                self.order(&mut found);
                Ok((found, queries.len() / self.words, Vec::new()))
            })
            .collect::<Result<Vec<_>>>()?;
        gather(&parts, count)
    }

    /// Radii of growing cost at which tables still cost less than half of a scan.
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
        stop: &CancelToken,
    ) -> Result<Vec<u64>> {
        let mut found = BestEffortVec::default();
        let mut open: Vec<u32> = (0..(queries.len() / self.words) as u32).collect();
        for &radius in radii {
            let asked = self.rows_at(queries, &open)?;
            let mut hits = self.find(sources, &asked, radius, Some(k), stop)?;
            stop.check()?;
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
                    found.extend(hits[start..start + k].iter().map(|hit| u64::from(query) << 44 | hit & low));
                }
            }
            open = still;
            if open.is_empty() {
                return found.whole();
            }
        }
        let asked = self.rows_at(queries, &open)?;
        for (list, &query) in self.nearest_by_scan(sources, &asked, k, stop)?.iter().zip(&open) {
            found.extend(list.iter().map(|&(distance, row)| pack(query, distance, row)));
        }
        found.whole()
    }

    /// The fingerprints at some places of `fps`.
    pub(super) fn rows_at(&self, fps: &[u64], rows: &[u32]) -> Result<Vec<u64>> {
        let mut found = alloc::try_with_capacity(rows.len() * self.words)?;
        for &row in rows {
            found.extend_from_slice(&fps[row as usize * self.words..][..self.words]);
        }
        Ok(found)
    }

    fn nearest_by_scan(
        &self,
        sources: &[Source<'_>],
        queries: &[u64],
        k: usize,
        stop: &CancelToken,
    ) -> Result<Vec<Vec<(u32, u32)>>> {
        let count = queries.len() / self.words;
        let mut best: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
        for source in sources {
            let limits: Vec<u32> = best.iter_mut().map(|best| self.prune(best, k)).collect();
            let shards = self.shards(source, count).into_par_iter().map(|(first, length)| {
                let mut lists = alloc::try_with_capacity(count)?;
                lists.resize_with(count, BestEffortVec::default);
                let mut sink = NearestK { index: self, source, k, limits: limits.clone(), best: lists };
                let fps = &source.fps[first as usize * self.words..][..length * self.words];
                scan(self.kernel, self.words, fps, first, queries, &mut limits.clone(), stop, &mut sink);
                Ok(sink.best)
            });
            let lists = shards.collect::<Result<Vec<_>>>()?;
            stop.check()?;
            for list in lists {
                for (best, list) in best.iter_mut().zip(list) {
                    alloc::try_extend(best, &list.whole()?)?;
                }
            }
        }
        for best in &mut best {
            self.prune(best, k);
        }
        Ok(best)
    }

    /// Cuts a list of (distance, row) to the `k` smallest by distance and id; returns the distance beyond which nothing
    /// helps.
    fn prune(&self, best: &mut Vec<(u32, u32)>, k: usize) -> u32 {
        if best.len() < k {
            return self.bits as u32;
        }
        let order = |a: &(u32, u32), b: &(u32, u32)| a.0.cmp(&b.0).then_with(|| self.rows.compare(a.1, b.1));
        let limit = best.select_nth_unstable_by(k - 1, order).1.0;
        best.truncate(k);
        limit
    }

    /// Sorts packed matches by query, distance and id.
    fn order(&self, found: &mut [u64]) {
        found.sort_unstable();
        if self.rows.ascending() {
            return;
        }
        for ties in found.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
            ties.sort_unstable_by(|&a, &b| self.rows.compare(a as u32, b as u32));
        }
    }

    /// How each part of the index would answer a radius search, tables not yet built included.
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
    /// What each method would cost in one source.
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

/// Queries of one task: an equal share, since queries of one task read the fingerprints together; 64 to `CHUNK`.
pub(super) fn chunk_of(queries: usize) -> usize {
    queries.div_ceil(rayon::current_num_threads()).clamp(64, CHUNK)
}

/// A match in one word that sorts by query, distance, row: 20, 12 and 32 bits.
fn pack(query: u32, distance: u32, row: u32) -> u64 {
    u64::from(query) << 44 | u64::from(distance) << 32 | u64::from(row)
}

/// Sorted packed matches of consecutive chunks of queries as one result.
fn gather(parts: &[(Vec<u64>, usize, Vec<bool>)], queries: usize) -> Result<Hits> {
    let total = parts.iter().map(|(found, ..)| found.len()).sum();
    let mut hits = Hits {
        offsets: alloc::try_with_capacity(queries + 1)?,
        rows: alloc::try_with_capacity(total)?,
        distances: alloc::try_with_capacity(total)?,
        truncated: Vec::new(),
    };
    hits.offsets.push(0);
    for (found, count, truncated) in parts {
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
        alloc::try_reserve(&mut hits.truncated, truncated.len())?;
        hits.truncated.extend_from_slice(truncated);
    }
    Ok(hits)
}

/// Takes every live row of a slot, or with a cap at least what the cap lets through.
struct Collect<'a> {
    index: &'a Index,
    source: &'a Source<'a>,
    radius: u32,
    cap: Option<usize>,
    /// Matches beyond which they are cut to the cap.
    room: usize,
    found: BestEffortVec<u64>,
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
        self.found.extend(matches.take(self.cap.unwrap_or(usize::MAX)));
        if let (Some(cap), true) = (self.cap, self.found.len() > self.room) {
            self.index.cut(self.found.values(), cap);
        }
        self.radius
    }
}

/// Keeps the `k` nearest of each query, in lists that are cut when they reach half more: the sooner a limit falls, the fewer rows
/// pass it.
struct NearestK<'a> {
    index: &'a Index,
    source: &'a Source<'a>,
    k: usize,
    limits: Vec<u32>,
    best: Vec<BestEffortVec<(u32, u32)>>,
}

impl Sink for NearestK<'_> {
    fn hit(&mut self, query: u32, slot: u32, distance: u32) -> u32 {
        let best = &mut self.best[query as usize];
        let limit = &mut self.limits[query as usize];
        for &row in self.source.rows_of(slot).iter().filter(|&&row| self.index.rows.is_alive(row)).take(self.k) {
            best.push((distance, row));
            if best.len() >= self.k + self.k / 2 + 8 {
                *limit = self.index.prune(best.values(), self.k).min(*limit);
            }
        }
        *limit
    }
}
