//! Cells: codes of what is left behind the nearest centre, and the search of the cells nearest to a query.
//!
//! Around centres (`centres`), a row x of cell j has the code of `P(x - c_j)`. One table per query serves all cells: with
//! y = P(q - c) and the signs of the row,
//!
//! ```text
//! Σ ± P(q - c_j) = Σ ± y - Σ ± P(c_j - c)        offset = n² + 2 f Σ ± P(c_j - c)        added per cell: ‖q - c_j‖²
//! ```
//! For inner products see `residual_product` in `codes`; the cells of a query are then those of the largest products (`centres`).
//!
//! Rows are assigned by the search that finds the cells of a query, so a row may be in a cell that is not the nearest, but almost.
//!
//! Queries of a batch make their first rounds eight abreast, step by step, so that the memory that one needs comes while another is at
//! work. Then each cell is read once for all that visit it. Answers are those of single queries.
//!
//! Rows of a cell lie behind each other in whole blocks. What is added later lies in blocks of its own beside those of its cell, until
//! that is as much as what was there; then both are laid out anew, without removed rows.
//!
//! Cost: the search for the cells, and (rows of the visited cells) D / 4 look-ups. Memory: D/8 + 13 bytes a row, those of a centre a cell,
//! and a block of D/8 + 9 bytes times 32 that is half full on average.

use std::ops::Range;
use std::sync::Arc;

use super::super::rerank::Metric;
use super::centroids::{Centres, Near};
use super::kernels::BLOCK;
use super::quantizer::{Encoded, Numbers, RotationCodes, Tables, residual, residual_product};
use super::rerank::{FIRST_ROUND, Hunt, Scratch, first_ranked};
use super::space::Placed;
use super::{Effort, Want};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::segment::Column;
use crate::{Result, alloc};

/// The row of a place that has none.
pub(super) const NONE: u32 = u32::MAX;
/// Bytes of codes from which on they may be in no cache. Tests are small, and reach both sides.
pub(super) const LARGE: usize = if cfg!(test) { 8 << 10 } else { 4 << 20 };

/// Rows of a cell that came later.
#[derive(Debug, Default)]
pub(super) struct Later {
    pub(super) codes: RotationCodes,
    pub(super) rows: Vec<u32>,
}

/// Cells and the codes of their rows.
#[derive(Debug)]
pub(crate) struct Cells {
    pub(super) centres: Arc<Centres>,
    /// First block of each cell, and the end of the last.
    pub(super) starts: Column<u32>,
    pub(super) codes: RotationCodes,
    /// Row of each place.
    pub(super) rows: Column<u32>,
    /// How many rows have a place, removed ones included.
    pub(super) placed: usize,
    pub(super) later: Vec<Later>,
    /// How many rows came later.
    pub(super) added: usize,
    /// Blocks of the largest cell.
    pub(super) largest: usize,
}

/// Blocks of a cell that are scanned in a round.
#[derive(Debug)]
pub(super) struct Part {
    /// Which of the cells that are visited.
    near: usize,
    is_later: bool,
    from: usize,
    until: usize,
    /// Where its bounds begin, in blocks.
    at: usize,
}

impl Part {
    /// Where its bounds end, in blocks.
    fn end(&self) -> usize {
        self.at + self.until - self.from
    }
}

/// Queries whose first rounds are made together, a step of all after the other: while one is at work, memory comes for the next.
const ABREAST: usize = 8;
/// Visits, and rows to be ranked, that are asked for ahead.
const AHEAD: (usize, usize) = (2, 16);

/// How much farther than the nearest centre that of a visited cell may be, as a share of the distance to the farthest wanted row.
/// Where r is the distance to a centre and d that to a row of the cell, `r_j - r_1 <= 2 d` for rows in the cell of their nearest
/// centre. In many dimensions hardly a neighbour comes near that: measured on descriptors, pictures and texts, a half leaves out
/// one neighbour of a thousand, and of a million descriptors two thirds of the cells.
const REACH: f32 = 0.5;

/// Memory of queries that visit cells together.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// Of those in their first round.
    abreast: Vec<Scratch>,
    waiting: Vec<Waiting>,
    /// Cell, query, and which of its cells that is.
    visits: Vec<(u32, u32, u32)>,
}

impl Together {
    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> usize {
        let abreast: usize = self.abreast.iter().map(Scratch::bytes).sum();
        abreast + self.waiting.iter().map(|own| 12 * own.found.capacity() + own.tables.bytes()).sum::<usize>()
    }
}

/// A query behind its first round.
#[derive(Debug, Default)]
struct Waiting {
    tables: Tables,
    near: Vec<Near>,
    scored: Vec<(f64, u32)>,
    next: usize,
    round: usize,
    limit: f32,
    /// Of the cells that it visits later: which, a bound below the limit, its row.
    found: Vec<(u32, f32, u32)>,
}

impl Cells {
    /// Cells around centres, without rows.
    ///
    /// # Errors
    /// There is no memory.
    pub(super) fn around(centres: Centres, size: usize) -> Result<Self> {
        let count = centres.len();
        Ok(Self {
            centres: Arc::new(centres),
            starts: alloc::try_zeroed::<u32>(count + 1)?.into(),
            codes: RotationCodes::new(size),
            rows: Column::default(),
            placed: 0,
            later: later(size, count)?,
            added: 0,
            largest: 0,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Rows and centres that one query meets at most.
    pub(super) fn most_met(&self, probes: usize) -> usize {
        self.len() + probes.clamp(1, self.len()).saturating_mul(self.largest * BLOCK)
    }

    pub(super) fn bytes(&self) -> usize {
        let later: usize = self.later.iter().map(|later| later.codes.bytes() + 4 * later.rows.capacity()).sum();
        let places = self.starts.bytes() + self.rows.bytes();
        self.centres.bytes() + self.codes.bytes() + places + later
    }

    /// The signs and the numbers of a point in its cell; the point becomes what lies between.
    pub(super) fn numbers(
        &self,
        metric: Metric,
        cell: u32,
        placed: Placed,
        point: &mut [f32],
        instructions: Instructions,
        signs: &mut [u64],
    ) -> Numbers {
        let centre = self.centres.centre(cell);
        if metric == Metric::InnerProduct {
            residual_product(point, placed.along, centre, instructions, signs)
        } else {
            residual(point, centre, instructions, signs)
        }
    }

    /// Visits the nearest cells, in rounds of blocks.
    pub(super) fn search(&self, hunt: &Hunt<'_>, placed: Placed, effort: Effort, scratch: &mut Scratch) -> Result<()> {
        self.approach(hunt, placed, effort, scratch)?;
        if let Want::Nearest(k) = hunt.want {
            self.choose(hunt, effort, first_ranked(k), scratch)?;
            self.rank_chosen(hunt, scratch)?;
            Self::rank_picked(hunt, scratch)?;
        }
        while scratch.next < scratch.near.len() {
            self.visit(hunt, effort, scratch)?;
        }
        Ok(())
    }

    /// Finds the nearest cells, and asks for the blocks of the first round of those who want the nearest.
    fn approach(&self, hunt: &Hunt<'_>, placed: Placed, effort: Effort, scratch: &mut Scratch) -> Result<()> {
        let probes = effort.probes.clamp(1, self.len());
        self.centres.nearest(hunt.kernel, hunt.instructions, placed, hunt.aim(placed), probes, scratch)?;
        (scratch.next, scratch.round) = (0, FIRST_ROUND);
        if matches!(hunt.want, Want::Nearest(_)) {
            self.begin_round(scratch)?;
            scratch.parts.iter().for_each(|part| self.prefetch(Some(part), &scratch.near));
        }
        Ok(())
    }

    /// The first rounds of queries that have approached.
    fn first_rounds(&self, hunts: &[Hunt<'_>], effort: Effort, abreast: &mut [Scratch]) -> Result<()> {
        let each = || hunts.iter().zip(0..);
        for (hunt, at) in each() {
            if let Want::Nearest(k) = hunt.want {
                self.choose(hunt, effort, first_ranked(k), &mut abreast[at])?;
                hunt.store.prefetch(abreast[at].picked.iter().copied());
            }
        }
        for (hunt, at) in each() {
            if let Want::Nearest(_) = hunt.want {
                self.rank_chosen(hunt, &mut abreast[at])?;
                hunt.store.prefetch(abreast[at].picked.iter().copied().take(AHEAD.1));
            }
        }
        for (hunt, at) in each() {
            if let Want::Nearest(_) = hunt.want {
                Self::rank_picked(hunt, &mut abreast[at])?;
            }
        }
        Ok(())
    }

    /// Searches for several queries, as `search` does for each: after its first round a query waits until all have come so far; then
    /// each cell is read once for all that visit it, and what their limits leave is ranked in their rounds.
    pub(super) fn search_all<'a>(
        &self,
        queries: Range<usize>,
        begin: impl Fn(usize, &mut Scratch) -> Result<(Hunt<'a>, Placed)>,
        effort: Effort,
        scratch: &mut Scratch,
    ) -> Result<Vec<Vec<(f64, u32)>>> {
        let mut hunts = alloc::try_with_capacity(queries.len())?;
        let mut together = std::mem::take(&mut scratch.together);
        let Together { abreast, waiting, visits } = &mut together;
        alloc::try_reserve(abreast, ABREAST)?;
        abreast.resize_with(ABREAST, Scratch::default);
        alloc::try_reserve(waiting, queries.len())?;
        waiting.resize_with(waiting.len().max(queries.len()), Waiting::default);
        visits.clear();
        for some in queries.clone().step_by(ABREAST).map(|first| first..(first + ABREAST).min(queries.end)) {
            let (first, abreast) = (hunts.len(), &mut abreast[..some.len()]);
            for (number, scratch) in some.zip(&mut *abreast) {
                let (hunt, placed) = begin(number, scratch)?;
                self.approach(&hunt, placed, effort, scratch)?;
                hunts.push(hunt);
            }
            self.first_rounds(&hunts[first..], effort, abreast)?;
            for (place, scratch) in (first..).zip(abreast) {
                let (hunt, own) = (&hunts[place], &mut waiting[place]);
                own.limit = hunt.limit(&scratch.scored);
                while scratch.next < scratch.near.len() && own.limit == f32::INFINITY {
                    self.visit(hunt, effort, scratch)?;
                    own.limit = hunt.limit(&scratch.scored);
                }
                self.leave(hunt, effort, own.limit, &mut scratch.near, scratch.next);
                (own.next, own.round) = (scratch.next, scratch.round);
                own.found.clear();
                std::mem::swap(&mut own.tables, &mut scratch.tables);
                std::mem::swap(&mut own.near, &mut scratch.near);
                std::mem::swap(&mut own.scored, &mut scratch.scored);
                alloc::try_reserve(visits, own.near.len() - own.next)?;
                visits
                    .extend((own.next..own.near.len()).map(|near| (own.near[near].number, place as u32, near as u32)));
            }
        }
        visits.sort_unstable();
        for (at, &(cell, place, near)) in visits.iter().enumerate() {
            if let Some(&(next, ..)) = visits.get(at + AHEAD.0).filter(|next| next.0 != visits[at + AHEAD.0 - 1].0) {
                self.codes.prefetch(self.starts[next as usize] as usize..self.starts[next as usize + 1] as usize);
            }
            let (own, hunt) = (&mut waiting[place as usize], &hunts[place as usize]);
            let Scratch { bounds, least, picked, .. } = scratch;
            let ask = effort.ask(&own.tables, &own.near[near as usize]);
            let whole = self.starts[cell as usize] as usize..self.starts[cell as usize + 1] as usize;
            let later = &self.later[cell as usize];
            for (codes, rows, range) in
                [(&self.codes, &self.rows[..], whole), (&later.codes, &later.rows[..], 0..later.codes.blocks())]
            {
                let (blocks, first) = (range.len(), range.start * BLOCK);
                if blocks == 0 {
                    continue;
                }
                alloc::try_resize(bounds, bounds.len().max(blocks * BLOCK), 0.0)?;
                alloc::try_resize(least, least.len().max(blocks), 0.0)?;
                let (bounds, least) = (&mut bounds[..blocks * BLOCK], &mut least[..blocks]);
                codes.bounds(hunt.kernel, range, &ask, bounds, least);
                picked.clear();
                hunt.kernel.below(bounds, least, own.limit, 0, picked)?;
                alloc::try_reserve(&mut own.found, picked.len())?;
                let found = picked.iter().map(|&at| (near, bounds[at as usize], rows[first + at as usize]));
                own.found.extend(found.filter(|&(_, _, row)| hunt.is_alive(row)));
            }
        }
        let mut answers = alloc::try_with_capacity(hunts.len())?;
        for (place, hunt) in hunts.iter().enumerate() {
            let (own, rest) = waiting[place..].split_first_mut().expect("one for each");
            own.found.sort_unstable_by_key(|&(near, _, row)| (near, row));
            if let Some(next) = rest.first() {
                hunt.store.prefetch(next.found.iter().take(AHEAD.1).map(|&(_, _, row)| row));
            }
            self.rank_found(hunt, effort, own, scratch)?;
            answers.push(hunt.sorted(&mut own.scored)?);
            own.scored.clear();
        }
        scratch.together = together;
        Ok(answers)
    }

    /// Ranks what cells left to a query, round after round.
    fn rank_found(&self, hunt: &Hunt<'_>, effort: Effort, own: &mut Waiting, scratch: &mut Scratch) -> Result<()> {
        let Scratch { picked, parts, .. } = scratch;
        let mut at = 0;
        while own.next < own.near.len() {
            let limit = hunt.limit(&own.scored);
            self.leave(hunt, effort, limit, &mut own.near, own.next);
            self.parts_of_round(&own.near, &mut own.next, own.round, parts)?;
            own.round *= 2;
            let end = at + own.found[at..].partition_point(|&(near, ..)| (near as usize) < own.next);
            picked.clear();
            alloc::try_reserve(picked, end - at)?;
            picked.extend(own.found[at..end].iter().filter(|hit| hit.1 <= limit).map(|hit| hit.2));
            at = end;
            if !picked.is_empty() {
                hunt.rank(picked, &mut own.scored)?;
            }
        }
        Ok(())
    }

    /// The blocks of a round, of whole cells from `next` on.
    fn parts_of_round(&self, near: &[Near], next: &mut usize, round: usize, parts: &mut Vec<Part>) -> Result<()> {
        let (mut blocks, first) = (0, *next);
        parts.clear();
        while *next < near.len() && (blocks < round || *next == first) {
            let cell = near[*next].number as usize;
            let own = self.starts[cell] as usize..self.starts[cell + 1] as usize;
            let later = if self.added == 0 { 0 } else { self.later[cell].codes.blocks() };
            for (is_later, from, until) in [(false, own.start, own.end), (true, 0, later)] {
                if from < until {
                    alloc::try_reserve(parts, 1)?;
                    parts.push(Part { near: *next, is_later, from, until, at: blocks });
                    blocks += until - from;
                }
            }
            *next += 1;
        }
        Ok(())
    }

    /// Leaves out cells from `next` on that are too far for the limit (`REACH`), unless all are wanted. Those of a product have no
    /// such order, and who asks for all rows within a radius would miss a hundredth.
    fn leave(&self, hunt: &Hunt<'_>, effort: Effort, limit: f32, near: &mut Vec<Near>, next: usize) {
        let may = matches!(hunt.want, Want::Nearest(_)) && hunt.metric != Metric::InnerProduct;
        if may && effort.probes < self.len() && next < near.len() {
            near.truncate(reached(near, limit).max(next));
        }
    }

    /// The parts of the next round of a query.
    fn begin_round(&self, scratch: &mut Scratch) -> Result<()> {
        self.parts_of_round(&scratch.near, &mut scratch.next, scratch.round, &mut scratch.parts)?;
        scratch.round *= 2;
        Ok(())
    }

    /// A round of a query that has a limit: the rows that it leaves are ranked.
    fn visit(&self, hunt: &Hunt<'_>, effort: Effort, scratch: &mut Scratch) -> Result<()> {
        let limit = hunt.limit(&scratch.scored);
        self.leave(hunt, effort, limit, &mut scratch.near, scratch.next);
        self.begin_round(scratch)?;
        let Scratch { tables, near, picked, parts, .. } = scratch;
        picked.clear();
        self.prefetch(parts.first(), near);
        for (place, part) in parts.iter().enumerate() {
            self.prefetch(parts.get(place + 1), near);
            let ((codes, rows), begin) = (self.part(part, near), picked.len());
            let ask = effort.ask(tables, &near[part.near]);
            codes.passing(hunt.kernel, part.from..part.until, &ask, limit, picked)?;
            picked[begin..].iter_mut().for_each(|place| *place = rows[*place as usize]);
        }
        Self::rank_picked(hunt, scratch)
    }

    fn rank_picked(hunt: &Hunt<'_>, scratch: &mut Scratch) -> Result<()> {
        hunt.keep_alive(&mut scratch.picked);
        if !scratch.picked.is_empty() {
            hunt.rank(&scratch.picked, &mut scratch.scored)?;
        }
        Ok(())
    }

    /// The first round: picks the rows with the least bounds.
    fn choose(&self, hunt: &Hunt<'_>, effort: Effort, first_ranked: usize, scratch: &mut Scratch) -> Result<()> {
        let Scratch { tables, bounds, least, chosen, near, picked, parts, .. } = scratch;
        let kernel = hunt.kernel;
        let blocks = parts.last().map_or(0, Part::end);
        alloc::try_resize(bounds, bounds.len().max(blocks * BLOCK), 0.0)?;
        alloc::try_resize(least, least.len().max(blocks), 0.0)?;
        for part in parts.iter() {
            let ask = effort.ask(tables, &near[part.near]);
            let (bounds, least) = (&mut bounds[part.at * BLOCK..part.end() * BLOCK], &mut least[part.at..part.end()]);
            self.part(part, near).0.bounds(kernel, part.from..part.until, &ask, bounds, least);
        }
        let row_at = |place: usize| {
            let part = &parts[parts.partition_point(|part| part.at * BLOCK <= place) - 1];
            self.part(part, near).1[place - part.at * BLOCK + part.from * BLOCK]
        };
        let (bounds, least) = (&mut bounds[..blocks * BLOCK], &least[..blocks]);
        let all_alive = hunt.rows.num_dead() == 0;
        chosen.find(kernel, bounds, least, first_ranked, |place| all_alive || hunt.is_alive(row_at(place)))?;
        picked.clear();
        alloc::try_reserve(picked, chosen.places.len())?;
        for &(_, place) in &chosen.places {
            bounds[place as usize] = f32::INFINITY;
            picked.push(row_at(place as usize));
        }
        Ok(())
    }

    /// Ranks what was chosen, and picks the rows of the first round that its limit leaves.
    fn rank_chosen(&self, hunt: &Hunt<'_>, scratch: &mut Scratch) -> Result<()> {
        let Scratch { bounds, least, near, picked, scored, parts, .. } = scratch;
        hunt.rank(picked, scored)?;
        let limit = hunt.limit(scored);
        picked.clear();
        for part in parts.iter() {
            let (rows, begin) = (self.part(part, near).1, picked.len());
            let first = (part.from * BLOCK) as u32;
            hunt.kernel.below(&bounds[part.at * BLOCK..], &least[part.at..part.end()], limit, first, picked)?;
            picked[begin..].iter_mut().for_each(|place| *place = rows[*place as usize]);
        }
        Ok(())
    }

    /// Asks for the blocks that are scanned next, where they may be in no cache.
    fn prefetch(&self, part: Option<&Part>, near: &[Near]) {
        if let Some(part) = part.filter(|_| self.codes.bytes() >= LARGE) {
            self.part(part, near).0.prefetch(part.from..part.until);
        }
    }

    fn part(&self, part: &Part, near: &[Near]) -> (&RotationCodes, &[u32]) {
        if part.is_later {
            let later = &self.later[near[part.near].number as usize];
            (&later.codes, &later.rows)
        } else {
            (&self.codes, &self.rows)
        }
    }

    /// Room for what `push` appends, or cells with what is new in them where that is much.
    pub(super) fn prepare(
        &mut self,
        encoded: &Encoded,
        first: usize,
        alive: impl Fn(u32) -> bool,
        stop: &CancelToken,
    ) -> Result<Option<Self>> {
        if self.added + encoded.numbers.len() > self.placed {
            return self.merged(encoded, first, alive, stop).map(Some);
        }
        let mut counts = alloc::try_zeroed::<u32>(self.len())?;
        encoded.cells.iter().for_each(|&cell| counts[cell as usize] += 1);
        for (later, count) in self.later.iter_mut().zip(counts).filter(|(_, count)| *count > 0) {
            later.codes.reserve(count as usize, stop)?;
            alloc::try_reserve(&mut later.rows, (count as usize).next_multiple_of(BLOCK) + BLOCK)?;
        }
        Ok(None)
    }

    /// Appends rows from `first` on.
    pub(super) fn push(&mut self, encoded: &Encoded, first: usize) {
        let words = self.codes.size / 64;
        for (place, (&cell, numbers)) in encoded.cells.iter().zip(&encoded.numbers).enumerate() {
            let later = &mut self.later[cell as usize];
            let at = later.codes.used;
            later.codes.push(&encoded.signs[place * words..(place + 1) * words], *numbers);
            if at == later.rows.len() {
                later.rows.resize(at + BLOCK, NONE);
            }
            later.rows[at] = (first + place) as u32;
            let cell = cell as usize;
            let whole = (self.starts[cell + 1] - self.starts[cell]) as usize;
            self.largest = self.largest.max(whole + later.codes.blocks());
        }
        self.added += encoded.numbers.len();
    }

    /// The cells with all their rows that are alive and those of `encoded`, which begin at `first`, in one piece.
    ///
    /// # Errors
    /// The call is stopped, or there is no memory.
    pub(super) fn merged(
        &self,
        encoded: &Encoded,
        first: usize,
        alive: impl Fn(u32) -> bool,
        stop: &CancelToken,
    ) -> Result<Self> {
        let (size, words) = (self.codes.size, self.codes.size / 64);
        // Which rows of a cell stay: places of the codes as they are, later ones, new ones.
        let mut new_of = alloc::try_zeroed::<u32>(self.len() + 1)?;
        encoded.cells.iter().for_each(|&cell| new_of[cell as usize + 1] += 1);
        for cell in 0..self.len() {
            new_of[cell + 1] += new_of[cell];
        }
        let mut news = alloc::try_zeroed::<u32>(encoded.cells.len())?;
        let mut ends = alloc::try_copy(&new_of)?;
        for (place, &cell) in encoded.cells.iter().enumerate() {
            news[ends[cell as usize] as usize] = place as u32;
            ends[cell as usize] += 1;
        }
        let stays = |row: u32| row != NONE && alive(row);
        let mut starts = alloc::try_with_capacity(self.len() + 1)?;
        starts.push(0_u32);
        for cell in stop.ranges(0..self.len()).flatten() {
            let own = self.starts[cell] as usize * BLOCK..self.starts[cell + 1] as usize * BLOCK;
            let count = self.rows[own].iter().filter(|&&row| stays(row)).count()
                + self.later[cell].rows.iter().filter(|&&row| stays(row)).count()
                + (new_of[cell + 1] - new_of[cell]) as usize;
            starts.push(starts[cell] + count.div_ceil(BLOCK) as u32);
        }
        stop.check()?;
        let (blocks, largest) = (starts.last().copied().unwrap_or(0) as usize, largest(&starts));
        let mut codes = RotationCodes::empty(size, blocks)?;
        let mut rows = alloc::try_filled(NONE, blocks * BLOCK)?;
        let (mut signs, mut placed) = (alloc::try_zeroed::<u64>(words)?, 0);
        for cell in stop.ranges(0..self.len()).flatten() {
            let mut at = starts[cell] as usize * BLOCK;
            let own = self.starts[cell] as usize * BLOCK..self.starts[cell + 1] as usize * BLOCK;
            let later = &self.later[cell];
            let old = own.map(|place| (&self.codes, place, self.rows[place]));
            for (from, place, row) in old.chain(later.rows.iter().enumerate().map(|(at, &row)| (&later.codes, at, row)))
            {
                if stays(row) {
                    let numbers = from.get(place, &mut signs);
                    codes.put(at, &signs, numbers);
                    rows[at] = row;
                    at += 1;
                }
            }
            for &place in &news[new_of[cell] as usize..new_of[cell + 1] as usize] {
                let place = place as usize;
                codes.put(at, &encoded.signs[place * words..(place + 1) * words], encoded.numbers[place]);
                rows[at] = (first + place) as u32;
                at += 1;
            }
            placed += at - starts[cell] as usize * BLOCK;
        }
        stop.check()?;
        Ok(Self {
            centres: Arc::clone(&self.centres),
            starts: starts.into(),
            codes,
            rows: rows.into(),
            placed,
            later: later(size, self.len())?,
            added: 0,
            largest,
        })
    }
}

/// How many cells, of the nearest centres first, are within reach of a limit.
fn reached(near: &[Near], limit: f32) -> usize {
    let farthest = near[0].square.sqrt() + REACH * limit.max(0.0).sqrt();
    near.partition_point(|near| near.square.sqrt() <= farthest)
}

/// Blocks of the largest cell.
pub(super) fn largest(starts: &[u32]) -> usize {
    starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
}

/// No later rows, of each cell.
pub(super) fn later(size: usize, count: usize) -> Result<Vec<Later>> {
    alloc::try_collect((0..count).map(|_| Later { codes: RotationCodes::new(size), rows: Vec::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_farther_by_half_the_distance_of_a_row_are_out_of_reach() {
        // Distances 2, 3, 3.5, 4 and 9 to the centres.
        let near = [4.0, 9.0, 12.25, 16.0, 81.0].map(|square| Near { order: square, square, base: square, number: 0 });
        let cases = [
            (f32::INFINITY, 5),
            (196.0, 5),
            (195.0, 4),
            (9.0, 3),
            (4.0, 2),
            (1.0, 1),
            (0.0, 1),
            (f32::NEG_INFINITY, 1),
        ];
        for (limit, count) in cases {
            assert_eq!(count, reached(&near, limit), "{limit}");
        }
    }
}
