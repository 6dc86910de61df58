//! Cells around random rows: codes of what is left behind the nearest centre, and the search of the nearest cells.
//!
//! C rows are drawn by the seed, and each moves to the mean of the rows nearest to it, of 64 C drawn ones. A row x of cell j has the code of `P(x - c_j)`. One
//! table per query serves all cells: with y = P(q - c) and the signs of the row,
//!
//! ```text
//! Σ ± P(q - c_j) = Σ ± y - Σ ± P(c_j - c)        offset = n² + 2 f Σ ± P(c_j - c)        added per cell: ‖q - c_j‖²
//! ```
//! Centres have rotation codes themselves: estimates to all, distances to the nearest by estimate, of which the nearest
//! are visited. Rows are assigned by the same search, so a row may be in a cell that is not the nearest, but almost.
//!
//! Rows of a cell lie behind each other in whole blocks. What is added later lies in blocks of its own beside those of its cell, until
//! that is as much as what was there; then both are laid out anew, without removed rows.
//!
//! Cost: C D / 4 + (rows of the visited cells) D / 4 look-ups. Memory: D/8 + 13 bytes a row, 4 D + D/8 + 9 bytes a cell, and a block of D/8 + 9 bytes times 32 that is half full on average.

use rayon::prelude::*;

use super::super::kernels::summed;
use super::super::rerank::Vectors;
use super::codes::{Ask, Encoded, Numbers, RotationCodes, Tables, factor_and_width, rounded_down, sign};
use super::hunt::{FIRST_ROUND, Hunt, Scratch, first_ranked};
use super::kernels::{BLOCK, Kernel};
use super::space::{Placed, Space, far};
use super::{Effort, Want};
use crate::cpu::features::Instructions;
use crate::segment::Column;
use crate::stop::Stop;
use crate::vectors::random;
use crate::{Result, room};

/// The row of a place that has none.
pub(super) const NONE: u32 = u32::MAX;
/// Streams of the seed: rows that centres begin at, rows that move them.
const DRAWS: u64 = 0x63_656c_6c73;
const MOVES: u64 = 0x6d_6f76_6573;
/// Rows that move centres, for each of them: more change a mean little.
const MOVING: usize = 64;
/// Centres whose distance is computed for each that is wanted, in fourths, and besides.
const ASSURED: (usize, usize) = (5, 4);
/// Rows that one task assigns.
const CHUNK: usize = 512;

/// Rows of a cell that came later.
#[derive(Debug, Default)]
pub(super) struct Later {
    pub(super) codes: RotationCodes,
    pub(super) rows: Vec<u32>,
}

/// Cells and the codes of their rows.
#[derive(Debug)]
pub(crate) struct Cells {
    /// `P(c_j - c)`, one after the other.
    pub(super) centres: Column<f32>,
    pub(super) centre_codes: RotationCodes,
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

/// Memory of queries that visit cells together.
#[derive(Debug, Default)]
pub(super) struct Together {
    waiting: Vec<Waiting>,
    /// Cell, query, and which of its cells that is.
    visits: Vec<(u32, u32, u32)>,
}

impl Together {
    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> usize {
        self.waiting.iter().map(|own| 12 * own.found.capacity() + own.tables.bytes()).sum()
    }
}

/// A query behind its first round.
#[derive(Debug, Default)]
struct Waiting {
    tables: Tables,
    near: Vec<(f32, u32)>,
    scored: Vec<(f64, u32)>,
    next: usize,
    round: usize,
    limit: f32,
    /// Of the cells that it visits later: which, a bound below the limit, its row.
    found: Vec<(u32, f32, u32)>,
}

/// ‖a - b‖².
#[inline(always)]
fn apart(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 32];
    for (a, b) in a.as_chunks::<32>().0.iter().zip(b.as_chunks::<32>().0) {
        for i in 0..32 {
            let difference = a[i] - b[i];
            sums[i] += difference * difference;
        }
    }
    summed(&sums)
}

/// `wanted` different numbers below `count`, or all there are, ascending.
fn drawn(seed: u64, stream: u64, wanted: usize, count: usize) -> Result<Vec<u32>> {
    let base = random::base(seed, stream, 0);
    let mut keys: Vec<(u64, u32)> =
        room::collected((0..count).map(|row| (random::word(base, row as u64), row as u32)))?;
    if wanted < keys.len() {
        keys.select_nth_unstable(wanted);
        keys.truncate(wanted);
    }
    let mut rows: Vec<u32> = room::collected(keys.into_iter().map(|(_, row)| row))?;
    rows.sort_unstable();
    Ok(rows)
}

impl Cells {
    /// About `wanted` cells of these vectors, without rows.
    pub(super) fn of(space: &Space, seed: u64, wanted: usize, vectors: Vectors<'_>, count: usize) -> Result<Self> {
        let size = space.rotation.size();
        let chosen = drawn(seed, DRAWS, wanted.max(1), count)?;
        let instructions = Instructions::best();
        let mut centres = room::of(chosen.len().max(1) * size)?;
        let mut point = Vec::new();
        for &row in &chosen {
            vectors.widen(space.dim, row as usize, &mut point);
            space.place(instructions, &mut point).ok_or_else(|| far(format!("row {row}")))?;
            centres.extend_from_slice(&point);
        }
        if chosen.is_empty() {
            centres.resize(size, 0.0);
        }
        let first = Self::around(space, centres.into())?;
        let moved = first.means(space, vectors, &drawn(seed, MOVES, chosen.len().saturating_mul(MOVING), count)?)?;
        Self::around(space, moved.into())
    }

    /// Cells around rotated centres.
    pub(super) fn around(space: &Space, centres: Column<f32>) -> Result<Self> {
        let size = space.rotation.size();
        let instructions = Instructions::best();
        let mut centre_codes = RotationCodes::new(size);
        let count = centres.len() / size;
        centre_codes.reserve(count, &Stop::default())?;
        let mut signs = room::zeros::<u64>(size / 64)?;
        for centre in centres.chunks_exact(size) {
            let (square, sum, _) = instructions.run(
                #[inline(always)]
                || sign(centre, None, &mut signs),
            );
            let (factor, width) = factor_and_width(square, sum, size);
            centre_codes.push(&signs, Numbers { offset: square, factor: -2.0 * factor, width });
        }
        Ok(Self {
            centres,
            centre_codes,
            starts: room::zeros::<u32>(count + 1)?.into(),
            codes: RotationCodes::new(size),
            rows: Column::default(),
            placed: 0,
            later: later(size, count)?,
            added: 0,
            largest: 0,
        })
    }

    /// The mean of the points nearest to each centre, of these rows; a centre without points stays.
    fn means(&self, space: &Space, vectors: Vectors<'_>, rows: &[u32]) -> Result<Vec<f32>> {
        let (stop, size) = (&Stop::current(), space.rotation.size());
        let (instructions, kernel) = (Instructions::best(), Kernel::best());
        let mut sums = room::zeros::<f64>(self.centres.len())?;
        let mut counts = room::zeros::<u32>(self.len())?;
        // Some rows at a time: their points are summed in their order.
        for some in rows.chunks(64 * CHUNK) {
            let parts = room::tried(some.par_chunks(CHUNK).map(|rows| {
                stop.check()?;
                let mut points = room::of(rows.len() * size)?;
                let mut cells = room::of(rows.len())?;
                let mut scratch = Scratch::default();
                for &row in rows {
                    vectors.widen(space.dim, row as usize, &mut scratch.point);
                    let placed = space.place(instructions, &mut scratch.point);
                    let placed = placed.ok_or_else(|| far(format!("row {row}")))?;
                    cells.push(self.nearest_cell(kernel, instructions, placed, &mut scratch)?);
                    points.extend_from_slice(&scratch.point);
                }
                Ok((points, cells))
            }))?;
            for (points, cells) in parts {
                for (point, cell) in points.chunks_exact(size).zip(cells) {
                    let sum = &mut sums[cell as usize * size..(cell as usize + 1) * size];
                    sum.iter_mut().zip(point).for_each(|(sum, &value)| *sum += f64::from(value));
                    counts[cell as usize] += 1;
                }
            }
        }
        let mut moved = room::copied(&self.centres)?;
        for ((centre, sum), count) in moved.chunks_exact_mut(size).zip(sums.chunks_exact(size)).zip(counts) {
            if count > 0 {
                centre.iter_mut().zip(sum).for_each(|(value, sum)| *value = (sum / f64::from(count)) as f32);
            }
        }
        Ok(moved)
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
        self.centres.bytes() + self.centre_codes.bytes() + self.codes.bytes() + places + later
    }

    /// Puts the cells nearest to a point into `scratch.near`, nearest first, with their squared distances.
    fn nearest_cells(
        &self,
        kernel: Kernel,
        instructions: Instructions,
        placed: Placed,
        wanted: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { point, tables, bounds, least, chosen, near, .. } = scratch;
        let size = self.centre_codes.size;
        let ask = Ask { tables, square: placed.square, base: placed.square, deviations: 0.0 };
        let blocks = self.centre_codes.blocks();
        room::resize(bounds, bounds.len().max(blocks * BLOCK), 0.0)?;
        room::resize(least, least.len().max(blocks), 0.0)?;
        let (bounds, least) = (&mut bounds[..blocks * BLOCK], &mut least[..blocks]);
        self.centre_codes.bounds(kernel, 0..blocks, &ask, bounds, least);
        chosen.find(kernel, bounds, least, wanted * ASSURED.0 / ASSURED.1 + ASSURED.1, |_| true)?;
        near.clear();
        room::more(near, chosen.places.len())?;
        for (place, &(_, cell)) in chosen.places.iter().enumerate() {
            if let Some(&(_, next)) = chosen.places.get(place + 2) {
                for line in (0..size).step_by(16).take(32) {
                    crate::cpu::prefetch::prefetch_at(&self.centres, next as usize * size + line);
                }
            }
            let centre = &self.centres[cell as usize * size..(cell as usize + 1) * size];
            let far = instructions.run(
                #[inline(always)]
                || apart(point, centre),
            );
            near.push((far, cell));
        }
        let order = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if wanted < near.len() {
            near.select_nth_unstable_by(wanted - 1, order);
            near.truncate(wanted);
        }
        near.sort_unstable_by(order);
        Ok(())
    }

    /// The cell of a row whose point is in `scratch.point`.
    pub(super) fn nearest_cell(
        &self,
        kernel: Kernel,
        instructions: Instructions,
        placed: Placed,
        scratch: &mut Scratch,
    ) -> Result<u32> {
        let Scratch { point, tables, .. } = scratch;
        tables.fill(instructions, point)?;
        self.nearest_cells(kernel, instructions, placed, 1, scratch)?;
        Ok(scratch.near.first().map_or(0, |&(_, cell)| cell))
    }

    /// The signs and the numbers of a point in its cell; the point becomes what lies between.
    pub(super) fn numbers(
        &self,
        cell: u32,
        point: &mut [f32],
        instructions: Instructions,
        signs: &mut [u64],
    ) -> Numbers {
        let size = point.len();
        let centre = &self.centres[cell as usize * size..(cell as usize + 1) * size];
        let (square, sum, along) = instructions.run(
            #[inline(always)]
            || {
                point.iter_mut().zip(centre).for_each(|(value, &centre)| *value -= centre);
                sign(point, Some(centre), signs)
            },
        );
        let (factor, width) = factor_and_width(square, sum, size);
        let shift = 2.0 * factor * along;
        Numbers { offset: rounded_down(square + shift, square + shift.abs()), factor: -2.0 * factor, width }
    }

    /// Visits the nearest cells, in rounds of blocks.
    pub(super) fn search(&self, hunt: &Hunt<'_>, placed: Placed, effort: Effort, scratch: &mut Scratch) -> Result<()> {
        let probes = effort.probes.clamp(1, self.len());
        self.nearest_cells(hunt.kernel, hunt.instructions, placed, probes, scratch)?;
        let (mut next, mut round) = (0, FIRST_ROUND);
        while next < scratch.near.len() {
            next = self.visit(hunt, effort, next, round, scratch)?;
            round *= 2;
        }
        Ok(())
    }

    /// Searches for several queries, as `search` does for each: after its first round a query waits until all have come so far; then
    /// each cell is read once for all that visit it, and what their limits leave is ranked in their rounds.
    pub(super) fn search_all<'a>(
        &self,
        queries: impl ExactSizeIterator<Item = usize>,
        begin: impl Fn(usize, &mut Scratch) -> Result<(Hunt<'a>, Placed)>,
        effort: Effort,
        scratch: &mut Scratch,
    ) -> Result<Vec<Vec<(f64, u32)>>> {
        let probes = effort.probes.clamp(1, self.len());
        let mut hunts = room::of(queries.len())?;
        let mut together = std::mem::take(&mut scratch.together);
        let Together { waiting, visits } = &mut together;
        visits.clear();
        for (place, number) in queries.enumerate() {
            let (hunt, placed) = begin(number, scratch)?;
            self.nearest_cells(hunt.kernel, hunt.instructions, placed, probes, scratch)?;
            let (mut next, mut round) = (0, FIRST_ROUND);
            while next < scratch.near.len() && (next == 0 || hunt.limit(&scratch.scored) == f32::INFINITY) {
                next = self.visit(&hunt, effort, next, round, scratch)?;
                round *= 2;
            }
            if waiting.len() == place {
                room::more(waiting, 1)?;
                waiting.push(Waiting::default());
            }
            let own = &mut waiting[place];
            (own.next, own.round, own.limit) = (next, round, hunt.limit(&scratch.scored));
            own.found.clear();
            std::mem::swap(&mut own.tables, &mut scratch.tables);
            std::mem::swap(&mut own.near, &mut scratch.near);
            std::mem::swap(&mut own.scored, &mut scratch.scored);
            room::more(visits, own.near.len() - next)?;
            visits.extend((next..own.near.len()).map(|near| (own.near[near].1, place as u32, near as u32)));
            hunts.push(hunt);
        }
        visits.sort_unstable();
        for &(cell, place, near) in visits.iter() {
            let (own, hunt) = (&mut waiting[place as usize], &hunts[place as usize]);
            let Scratch { bounds, least, picked, .. } = scratch;
            let square = own.near[near as usize].0;
            let ask = Ask { tables: &own.tables, square, base: square, deviations: effort.deviations as f32 };
            let whole = self.starts[cell as usize] as usize..self.starts[cell as usize + 1] as usize;
            let later = &self.later[cell as usize];
            for (codes, rows, range) in
                [(&self.codes, &self.rows[..], whole), (&later.codes, &later.rows[..], 0..later.codes.blocks())]
            {
                let (blocks, first) = (range.len(), range.start * BLOCK);
                if blocks == 0 {
                    continue;
                }
                room::resize(bounds, bounds.len().max(blocks * BLOCK), 0.0)?;
                room::resize(least, least.len().max(blocks), 0.0)?;
                let (bounds, least) = (&mut bounds[..blocks * BLOCK], &mut least[..blocks]);
                codes.bounds(hunt.kernel, range, &ask, bounds, least);
                picked.clear();
                hunt.kernel.below(bounds, least, own.limit, 0, picked)?;
                room::more(&mut own.found, picked.len())?;
                let found = picked.iter().map(|&at| (near, bounds[at as usize], rows[first + at as usize]));
                own.found.extend(found.filter(|&(_, _, row)| hunt.is_alive(row)));
            }
        }
        let mut answers = room::of(hunts.len())?;
        for (own, hunt) in waiting.iter_mut().zip(&hunts) {
            self.rank_found(hunt, own, scratch)?;
            answers.push(hunt.sorted(&mut own.scored)?);
            own.scored.clear();
        }
        scratch.together = together;
        Ok(answers)
    }

    /// Ranks what cells left to a query, round after round.
    fn rank_found(&self, hunt: &Hunt<'_>, own: &mut Waiting, scratch: &mut Scratch) -> Result<()> {
        let Scratch { picked, parts, .. } = scratch;
        own.found.sort_unstable_by_key(|&(near, _, row)| (near, row));
        let mut at = 0;
        while own.next < own.near.len() {
            self.parts_of_round(&own.near, &mut own.next, own.round, parts)?;
            own.round *= 2;
            let end = at + own.found[at..].partition_point(|&(near, ..)| (near as usize) < own.next);
            let limit = hunt.limit(&own.scored);
            picked.clear();
            room::more(picked, end - at)?;
            picked.extend(own.found[at..end].iter().filter(|hit| hit.1 <= limit).map(|hit| hit.2));
            at = end;
            if !picked.is_empty() {
                hunt.rank(picked, &mut own.scored)?;
            }
        }
        Ok(())
    }

    /// The blocks of a round, of whole cells from `next` on; how many.
    fn parts_of_round(
        &self,
        near: &[(f32, u32)],
        next: &mut usize,
        round: usize,
        parts: &mut Vec<Part>,
    ) -> Result<usize> {
        let (mut blocks, first) = (0, *next);
        parts.clear();
        while *next < near.len() && (blocks < round || *next == first) {
            let cell = near[*next].1 as usize;
            let own = self.starts[cell] as usize..self.starts[cell + 1] as usize;
            let later = &self.later[cell].codes;
            for (is_later, from, until) in [(false, own.start, own.end), (true, 0, later.blocks())] {
                if from < until {
                    room::more(parts, 1)?;
                    parts.push(Part { near: *next, is_later, from, until, at: blocks });
                    blocks += until - from;
                }
            }
            *next += 1;
        }
        Ok(blocks)
    }

    /// A round of a query: bounds, in the first the rows that are ranked first, then what the limit leaves. Returns the next cell.
    fn visit(
        &self,
        hunt: &Hunt<'_>,
        effort: Effort,
        first: usize,
        round: usize,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let Scratch { tables, bounds, least, chosen, near, picked, scored, parts, .. } = scratch;
        let (kernel, mut next) = (hunt.kernel, first);
        let blocks = self.parts_of_round(near, &mut next, round, parts)?;
        room::resize(bounds, bounds.len().max(blocks * BLOCK), 0.0)?;
        room::resize(least, least.len().max(blocks), 0.0)?;
        for part in parts.iter() {
            let (square, cell) = near[part.near];
            let ask = Ask { tables, square, base: square, deviations: effort.deviations as f32 };
            let end = part.at + part.until - part.from;
            let (bounds, least) = (&mut bounds[part.at * BLOCK..end * BLOCK], &mut least[part.at..end]);
            self.part(part, cell).0.bounds(kernel, part.from..part.until, &ask, bounds, least);
        }
        let row_at = |place: usize| {
            let part = &parts[parts.partition_point(|part| part.at * BLOCK <= place) - 1];
            self.part(part, near[part.near].1).1[place - part.at * BLOCK + part.from * BLOCK]
        };
        let (bounds, least) = (&mut bounds[..blocks * BLOCK], &least[..blocks]);
        if let (Want::Nearest(k), 0) = (hunt.want, first) {
            let all_alive = hunt.rows.num_dead() == 0;
            chosen.find(kernel, bounds, least, first_ranked(k), |place| all_alive || hunt.is_alive(row_at(place)))?;
            picked.clear();
            room::more(picked, chosen.places.len())?;
            for &(_, place) in &chosen.places {
                bounds[place as usize] = f32::INFINITY;
                picked.push(row_at(place as usize));
            }
            hunt.rank(picked, scored)?;
        }
        let limit = hunt.limit(scored);
        picked.clear();
        for part in parts.iter() {
            let rows = self.part(part, near[part.near].1).1;
            let (begin, end) = (picked.len(), part.at + part.until - part.from);
            let first = (part.from * BLOCK) as u32;
            kernel.below(&bounds[part.at * BLOCK..], &least[part.at..end], limit, first, picked)?;
            picked[begin..].iter_mut().for_each(|place| *place = rows[*place as usize]);
        }
        hunt.keep_alive(picked);
        if !picked.is_empty() {
            hunt.rank(picked, scored)?;
        }
        Ok(next)
    }

    fn part(&self, part: &Part, cell: u32) -> (&RotationCodes, &[u32]) {
        if part.is_later {
            let later = &self.later[cell as usize];
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
        stop: &Stop,
    ) -> Result<Option<Self>> {
        if self.added + encoded.numbers.len() > self.placed {
            return self.merged(encoded, first, alive, stop).map(Some);
        }
        let mut counts = room::zeros::<u32>(self.len())?;
        encoded.cells.iter().for_each(|&cell| counts[cell as usize] += 1);
        for (later, count) in self.later.iter_mut().zip(counts).filter(|(_, count)| *count > 0) {
            later.codes.reserve(count as usize, stop)?;
            room::more(&mut later.rows, (count as usize).next_multiple_of(BLOCK) + BLOCK)?;
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
        stop: &Stop,
    ) -> Result<Self> {
        let (size, words) = (self.codes.size, self.codes.size / 64);
        // Which rows of a cell stay: places of the codes as they are, later ones, new ones.
        let mut new_of = room::zeros::<u32>(self.len() + 1)?;
        encoded.cells.iter().for_each(|&cell| new_of[cell as usize + 1] += 1);
        for cell in 0..self.len() {
            new_of[cell + 1] += new_of[cell];
        }
        let mut news = room::zeros::<u32>(encoded.cells.len())?;
        let mut ends = room::copied(&new_of)?;
        for (place, &cell) in encoded.cells.iter().enumerate() {
            news[ends[cell as usize] as usize] = place as u32;
            ends[cell as usize] += 1;
        }
        let stays = |row: u32| row != NONE && alive(row);
        let mut starts = room::of(self.len() + 1)?;
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
        let mut rows = room::filled(NONE, blocks * BLOCK)?;
        let (mut signs, mut placed) = (room::zeros::<u64>(words)?, 0);
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
            centres: room::copied(&self.centres)?.into(),
            centre_codes: self.centre_codes.clone(),
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

/// Blocks of the largest cell.
pub(super) fn largest(starts: &[u32]) -> usize {
    starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
}

/// No later rows, of each cell.
pub(super) fn later(size: usize, count: usize) -> Result<Vec<Later>> {
    room::collected((0..count).map(|_| Later { codes: RotationCodes::new(size), rows: Vec::new() }))
}
