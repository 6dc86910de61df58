//! Searches over all runs and the tail, by the method that the plan of each prefers.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::bits::Lists;
use super::blocks::{Layout, Probing, Search};
use super::plan::{self, Wish};
use super::runs::Run;
use super::scan::{Sink, scan};
use super::{Index, Method, TAIL};
use crate::{Error, Result};

/// Queries of the batch that a plan assumes where it is not told.
pub(crate) const BATCH: usize = 1024;
/// Queries of one task: few enough to share, many enough that a tile of rows is read for many.
const CHUNK: usize = 2048;
/// Word comparisons of a scan that are worth a task of their own.
const SHARD: usize = 1 << 22;
/// Entries of the buckets that one task joins.
const JOIN: usize = 1 << 16;
/// Queries whose nearest rows are found by scan to learn the radius that tables should have.
const PROBED: usize = 32;

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

/// How a source is searched.
enum Way<'a> {
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
            self.flush();
        }
        self.build(radius, queries, false);
        Ok(())
    }

    /// Brings the index into one run without dead rows, with the tables in which all pairs within `radius` cost least.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn prepare_pairs(&mut self, radius: u32) -> Result<()> {
        self.check_radius(radius)?;
        if !self.tail_rows.is_empty() || self.runs.len() > 1 {
            self.compact();
        }
        // A join compares each pair once.
        self.build(radius, self.len() / 2, true);
        Ok(())
    }

    /// Brings the index into the shape in which the `k` nearest of these queries cost least: the radius that they need is
    /// learnt from a few of them.
    ///
    /// # Errors
    /// `k` of 0; queries of another width.
    pub fn prepare_nearest(&mut self, queries: &[u64], k: usize) -> Result<()> {
        let count = self.check_rows(queries)?;
        if self.tail_rows.len() > TAIL || self.runs.is_empty() {
            self.flush();
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
            self.build(u32::from(radius), count, false);
        }
        Ok(())
    }

    /// Builds the tables that pay.
    fn build(&mut self, radius: u32, queries: usize, join: bool) {
        let (words, bits, method) = (self.words, self.bits, self.method);
        let mut used = self.bytes().0;
        for run in &mut self.runs {
            if method == Method::Bits {
                let fps = &run.fps;
                run.lists.get_or_insert_with(|| Lists::build(words, fps));
            }
            if matches!(method, Method::Scan | Method::Bits) {
                continue;
            }
            let slots = run.len();
            let own = run.layout.as_ref().map_or(0, Layout::bytes);
            let memory = self.memory.map(|limit| (limit + own).saturating_sub(used));
            let wish = Wish { radius, memory, join };
            let best = if let Some((_, best)) = run.planned.iter().find(|(old, _)| *old == wish) {
                best.clone()
            } else {
                let best = plan::best_tables(method, bits, &run.fps, wish);
                // A handful of radii is in use at a time.
                run.planned.truncate(7);
                run.planned.insert(0, (wish, best.clone()));
                best
            };
            let Some((spec, probing)) = best else { continue };
            let built = run.layout.as_ref();
            let answer = built.and_then(|layout| layout.spec().plan(slots, words, radius, join));
            let build = if method == Method::Auto {
                let scan = plan::scan_cost(slots, words, radius, queries);
                let now = answer.map_or(scan, |answer| answer.cost.min(scan));
                let saved = (now - probing.cost).max(0.0) * queries as f64;
                let announced = self.radius == Some(radius) && built.is_none() && saved > 0.0;
                let pays = saved + self.overspent > plan::build_cost(slots, words, spec.len());
                // Tables that are nearly as good stay.
                let worth = now > 1.5 * probing.cost && (pays || announced);
                self.overspent = if worth { 0.0 } else { self.overspent + saved };
                worth
            } else {
                answer.is_none()
                    || built.is_none_or(|layout| {
                        layout.spec().len() != spec.len() || layout.spec().is_combined() != spec.is_combined()
                    })
            };
            if build {
                run.layout = None;
                let layout = Layout::build(spec, words, &run.fps);
                used = used - own + layout.bytes();
                run.layout = Some(layout);
            }
        }
    }

    fn sources(&self) -> Vec<Source<'_>> {
        let mut sources: Vec<Source<'_>> =
            self.runs.iter().map(|run| Source { fps: &run.fps, run: Some(run), rows: &[] }).collect();
        sources.push(Source { fps: &self.tail, run: None, rows: &self.tail_rows });
        sources
    }

    /// How a source is best searched as it is, and what that is expected to cost.
    fn way<'a>(&self, source: &Source<'a>, radius: u32, queries: usize, join: bool) -> (Way<'a>, f64) {
        let slots = source.fps.len() / self.words;
        let scan = plan::scan_cost(slots, self.words, radius, queries);
        if let Some(lists) = source.run.and_then(|run| run.lists.as_ref()) {
            return (Way::Lists(lists), slots as f64 * self.bits as f64);
        }
        let tables = source
            .run
            .and_then(|run| run.layout.as_ref())
            .and_then(|layout| layout.spec().plan(slots, self.words, radius, join).map(|probing| (layout, probing)));
        match tables {
            Some((layout, probing)) if self.method != Method::Auto || probing.cost < scan => {
                let cost = probing.cost;
                (Way::Tables(layout, probing), cost)
            }
            _ => (Way::Scan, scan),
        }
    }

    /// The parts of a source that are scanned as tasks of their own: one for many queries, several for few.
    fn shards(&self, source: &Source<'_>, queries: usize) -> Vec<(u32, usize)> {
        let slots = source.fps.len() / self.words;
        let most = if queries < CHUNK { 4 * rayon::current_num_threads() } else { 1 };
        let wanted = (slots * self.words * queries / SHARD + 1).min(most);
        let length = slots.div_ceil(wanted).max(1);
        (0..slots).step_by(length).map(|start| (start as u32, length.min(slots - start))).collect()
    }

    /// Every live row within `radius` of a chunk of queries, packed, in no order.
    fn find(&self, sources: &[Source<'_>], queries: &[u64], radius: u32) -> Vec<u64> {
        let count = queries.len() / self.words;
        let mut found: Vec<u64> = Vec::new();
        for source in sources {
            let mut sink = Collect { index: self, source, radius, found: Vec::new() };
            match self.way(source, radius, count, false).0 {
                Way::Tables(layout, Probing { radii, .. }) => {
                    let search = Search { words: self.words, fps: source.fps, queries, radius, radii: &radii };
                    layout.search(self.kernel, search, &mut sink);
                    found.append(&mut sink.found);
                }
                Way::Lists(lists) => {
                    lists.search(self.words, queries, radius, &mut sink);
                    found.append(&mut sink.found);
                }
                Way::Scan => {
                    let shards = self.shards(source, count).into_par_iter().map(|(first, length)| {
                        let mut sink = Collect { index: self, source, radius, found: Vec::new() };
                        let fps = &source.fps[first as usize * self.words..][..length * self.words];
                        let mut limits = vec![radius; count];
                        scan(self.kernel, self.words, fps, first, queries, &mut limits, &mut sink);
                        sink.found
                    });
                    for mut list in shards.collect::<Vec<_>>() {
                        found.append(&mut list);
                    }
                }
            }
        }
        found
    }

    /// Every row within `radius` (inclusive) of each query.
    ///
    /// # Errors
    /// `radius` above `bits`; queries of another width.
    pub fn search(&self, queries: &[u64], radius: u32) -> Result<Hits> {
        self.check_radius(radius)?;
        let count = self.check_rows(queries)?;
        let sources = self.sources();
        let parts: Vec<(Vec<u64>, usize)> = queries
            .par_chunks(chunk_of(count) * self.words)
            .map(|queries| {
                let mut found = self.find(&sources, queries, radius);
                self.order(&mut found);
                (found, queries.len() / self.words)
            })
            .collect();
        Ok(gather(&parts, count))
    }

    /// The `k` nearest rows of each query, or all where there are fewer; of rows at the last distance those of least id.
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
        let parts: Vec<(Vec<u64>, usize)> = queries
            .par_chunks(chunk_of(count) * self.words)
            .map(|queries| {
                let mut found = self.nearest_of(&sources, queries, k, &radii);
                self.order(&mut found);
                (found, queries.len() / self.words)
            })
            .collect();
        Ok(gather(&parts, count))
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

    fn nearest_of(&self, sources: &[Source<'_>], queries: &[u64], k: usize, radii: &[u32]) -> Vec<u64> {
        let mut found = Vec::new();
        let mut open: Vec<u32> = (0..(queries.len() / self.words) as u32).collect();
        for &radius in radii {
            let asked: Vec<u64> = self.rows_at(queries, &open);
            let mut hits = self.find(sources, &asked, radius);
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
                return found;
            }
        }
        let asked: Vec<u64> = self.rows_at(queries, &open);
        for (list, &query) in self.nearest_by_scan(sources, &asked, k).iter().zip(&open) {
            found.extend(list.iter().map(|&(distance, row)| pack(query, distance, row)));
        }
        found
    }

    fn rows_at(&self, fps: &[u64], rows: &[u32]) -> Vec<u64> {
        rows.iter().flat_map(|&row| &fps[row as usize * self.words..][..self.words]).copied().collect()
    }

    fn nearest_by_scan(&self, sources: &[Source<'_>], queries: &[u64], k: usize) -> Vec<Vec<(u32, u32)>> {
        let count = queries.len() / self.words;
        let mut best: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
        for source in sources {
            let limits: Vec<u32> = best.iter_mut().map(|best| self.prune(best, k)).collect();
            let shards = self.shards(source, count).into_par_iter().map(|(first, length)| {
                let mut sink = Top { index: self, source, k, limits: limits.clone(), best: vec![Vec::new(); count] };
                let fps = &source.fps[first as usize * self.words..][..length * self.words];
                scan(self.kernel, self.words, fps, first, queries, &mut limits.clone(), &mut sink);
                sink.best
            });
            for list in shards.collect::<Vec<_>>() {
                for (best, list) in best.iter_mut().zip(list) {
                    best.extend_from_slice(&list);
                }
            }
        }
        for best in &mut best {
            self.prune(best, k);
        }
        best
    }

    /// Cuts a list of (distance, row) to the `k` least by distance and id; returns the distance beyond which nothing helps.
    fn prune(&self, best: &mut Vec<(u32, u32)>, k: usize) -> u32 {
        if best.len() < k {
            return self.bits as u32;
        }
        let order = |a: &(u32, u32), b: &(u32, u32)| a.0.cmp(&b.0).then_with(|| self.ids.compare(a.1, b.1));
        let limit = best.select_nth_unstable_by(k - 1, order).1.0;
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
        let mut all: Vec<(u64, u16)> = Vec::new();
        for (i, left) in sources.iter().enumerate() {
            let slots = left.fps.len() / self.words;
            all.par_extend((0..slots).into_par_iter().flat_map_iter(|slot| self.copies(left.rows_of(slot as u32))));
            for (j, right) in sources.iter().enumerate().skip(i) {
                let lists: Vec<Vec<(u64, u16)>> =
                    if i == j { self.join_self(left, radius) } else { self.join_with(left, right, radius) };
                all.reserve(lists.iter().map(Vec::len).sum());
                for mut list in lists {
                    all.append(&mut list);
                }
            }
        }
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

    /// The pairs of different slots of one source.
    fn join_self(&self, source: &Source<'_>, radius: u32) -> Vec<Vec<(u64, u16)>> {
        let slots = source.fps.len() / self.words;
        let sink = |start: usize| PairSink {
            index: self,
            left: source,
            start,
            right: source,
            later: true,
            radius,
            pairs: Vec::new(),
        };
        if let (Way::Tables(layout, Probing { radii, .. }), _) = self.way(source, radius, slots, true) {
            let search = Search { words: self.words, fps: source.fps, queries: &[], radius, radii: &radii };
            let ranges = layout.bucket_ranges(&radii, JOIN);
            return ranges
                .into_par_iter()
                .map(|buckets| {
                    let mut sink = PairSink { later: false, ..sink(0) };
                    layout.join(self.kernel, search, buckets, &mut sink);
                    sink.pairs
                })
                .collect();
        }
        (0..slots)
            .into_par_iter()
            .step_by(CHUNK)
            .map(|start| {
                let count = CHUNK.min(slots - start);
                let mut sink = sink(start);
                let queries = &source.fps[start * self.words..][..count * self.words];
                let fps = &source.fps[start * self.words..];
                scan(self.kernel, self.words, fps, start as u32, queries, &mut vec![radius; count], &mut sink);
                sink.pairs
            })
            .collect()
    }

    /// The pairs of a slot of `left` and a slot of `right`.
    fn join_with(&self, left: &Source<'_>, right: &Source<'_>, radius: u32) -> Vec<Vec<(u64, u16)>> {
        let slots = left.fps.len() / self.words;
        (0..slots)
            .into_par_iter()
            .step_by(CHUNK)
            .map(|start| {
                let count = CHUNK.min(slots - start);
                let queries = &left.fps[start * self.words..][..count * self.words];
                let mut sink = PairSink { index: self, left, start, right, later: false, radius, pairs: Vec::new() };
                match self.way(right, radius, count, false).0 {
                    Way::Tables(layout, Probing { radii, .. }) => {
                        let search = Search { words: self.words, fps: right.fps, queries, radius, radii: &radii };
                        layout.search(self.kernel, search, &mut sink);
                    }
                    Way::Lists(_) | Way::Scan => {
                        let mut limits = vec![radius; count];
                        scan(self.kernel, self.words, right.fps, 0, queries, &mut limits, &mut sink);
                    }
                }
                sink.pairs
            })
            .collect()
    }

    fn pair(&self, a: u32, b: u32, distance: u32) -> (u64, u16) {
        let (a, b) = if self.ids.compare(a, b) == Ordering::Greater { (b, a) } else { (a, b) };
        (u64::from(a) << 32 | u64::from(b), distance as u16)
    }

    /// The pairs among the rows of one slot.
    fn copies<'a>(&'a self, rows: &'a [u32]) -> impl Iterator<Item = (u64, u16)> + 'a {
        let alive = |row: &&u32| self.alive(**row);
        rows.iter()
            .enumerate()
            .filter(move |(_, row)| alive(row))
            .flat_map(move |(i, &a)| rows[i + 1..].iter().filter(alive).map(move |&b| self.pair(a, b, 0)))
    }

    /// How each part of the index would answer a radius search, tables not yet built included.
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
            let mut part = Part {
                slots,
                method: "scan",
                built: true,
                tables: 0,
                radii: Vec::new(),
                probes: 0.0,
                candidates: slots as f64,
                cost: scan_cost,
                scan_cost,
                bytes: source.run.map_or(source.fps.len() * 8 + slots * 4, Run::bytes),
            };
            let (way, cost) = self.way(&source, radius, BATCH, false);
            let (chosen, built) = match way {
                Way::Tables(layout, probing) => (Some((layout.spec().clone(), probing)), true),
                Way::Lists(_) => {
                    (part.method, part.tables, part.cost) = ("bits", self.bits, cost);
                    (None, true)
                }
                Way::Scan => {
                    let wish = Wish { radius, memory: self.memory, join: false };
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

/// Takes pairs of a slot on the left and a slot on the right.
struct PairSink<'a> {
    index: &'a Index,
    left: &'a Source<'a>,
    /// The slot of query 0.
    start: usize,
    right: &'a Source<'a>,
    /// Whether only slots behind the left one count, as both sides are the same source and each pair is met twice.
    later: bool,
    radius: u32,
    pairs: Vec<(u64, u16)>,
}

impl Sink for PairSink<'_> {
    fn hit(&mut self, query: u32, slot: u32, distance: u32) -> u32 {
        let left = self.start as u32 + query;
        if !self.later || slot > left {
            for &a in self.left.rows_of(left).iter().filter(|&&row| self.index.alive(row)) {
                let rows = self.right.rows_of(slot).iter().filter(|&&row| self.index.alive(row));
                self.pairs.extend(rows.map(|&b| self.index.pair(a, b, distance)));
            }
        }
        self.radius
    }
}
