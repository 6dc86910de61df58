//! Rotation codes: one bit per rotated coordinate, an estimate of the distance, and ranking that stops by its bound.
//!
//! `space` places and rotates vectors, `codes` encodes rows and asks for bounds, `kernels` computes them, `hunt` ranks. Codes are
//! scanned flat, all of them, or in *cells* around random rows (`cells`), of which a query visits the nearest.
//!
//! **Law.** A row is lost only where its bound lies above its own distance, since the limit is never below the k-th distance. For a
//! random rotation that has at most the probability P(ε) (`codes`): for any rows and any query a flat search finds each true
//! neighbour with probability 1 - P(ε) at least. Cells have no such law; what they lose is measured.
//!
//! **Cost.** Flat: n D / 4 look-ups, 16 to 64 in one instruction, then d steps per row that is ranked.

mod centroids;
mod file;
mod ivf;
mod kernels;
mod quantizer;
mod rerank;
mod space;

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::rerank::{Metric, Store, Vectors};
use super::{Hits, Want};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::index::rows::Rows;
use crate::vectors::rotation::Rotation;
use crate::{Error, Result, alloc};
use centroids::{Centres, Near};
use ivf::{Cells, LARGE};
use kernels::{BLOCK, Kernel};
use quantizer::{Ask, Encoded, Numbers, RotationCodes, Tables, factor_and_width, rounded_down, sign};
use rerank::{FIRST_ROUND, Hunt, Scratch, first_ranked};
use space::{Space, far};

/// Rows that one task encodes.
const CHUNK: usize = 256;
/// Queries that visit cells together at most, and the bytes of their tables.
const TOGETHER: (usize, usize) = (1024, 1 << 24);
/// Bytes that a query leaves for the next at most.
const KEPT: usize = 1 << 24;

/// Where the rotation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Seed of its signs.
    pub seed: u64,
    /// Stream of its signs.
    pub stream: u64,
}

/// How rows with codes are found.
#[derive(Debug)]
enum Layout {
    /// All of them; a row's place is its number.
    Flat(RotationCodes),
    /// Those of the cells nearest to the query.
    Cells(Box<Cells>),
}

/// Rotation codes of the rows of an index.
#[derive(Debug)]
pub(crate) struct Rotated {
    drawn: Drawn,
    space: Space,
    layout: Layout,
    /// Memory of queries that were answered.
    idle: Mutex<Vec<Scratch>>,
}

/// How much work a query does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// ε.
    pub(super) deviations: f64,
    /// Cells that are visited; nothing where there are none.
    pub(super) probes: usize,
}

impl Effort {
    /// What the codes of a cell are asked, whose centre is near the query.
    fn ask<'a>(self, tables: &'a Tables, near: &Near) -> Ask<'a> {
        Ask { tables, square: near.square, base: near.base, deviations: self.deviations as f32 }
    }
}

/// What becomes rows.
#[derive(Debug)]
pub(crate) struct Prepared {
    encoded: Encoded,
    /// Cells that were merged with what is new.
    merged: Option<Box<Cells>>,
}

/// What queries are asked of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) store: &'a Store,
    pub(super) rows: &'a Rows,
    pub(super) metric: Metric,
    pub(super) vectors: Vectors<'a>,
    pub(super) count: usize,
    pub(super) want: Want,
    pub(super) effort: Effort,
}

impl Rotated {
    /// No rows, in the space of the vectors that are to be added first; `cells` cells around some of them, drawn by the seed, or
    /// none for a flat scan.
    ///
    /// # Errors
    /// A metric without a bound; more than 2^16 dimensions; vectors out of range; the call is stopped, or there is no memory.
    pub(super) fn new(
        metric: Metric,
        drawn: Drawn,
        cells: Option<usize>,
        dim: usize,
        vectors: Vectors<'_>,
        count: usize,
    ) -> Result<Self> {
        check(metric)?;
        let rotation = Rotation::new(drawn.seed, drawn.stream, 0, dim)?;
        let size = rotation.size();
        let space = Space::of(metric, rotation, dim, vectors, count)?;
        let layout = match cells {
            None => Layout::Flat(RotationCodes::new(size)),
            Some(wanted) => {
                let centres = Centres::of(&space, drawn.seed, wanted, vectors, count)?;
                Layout::Cells(Box::new(Cells::around(centres, size)?))
            }
        };
        Ok(Self { drawn, space, layout, idle: Mutex::default() })
    }

    /// Coordinates of the codes.
    pub(super) fn size(&self) -> usize {
        self.space.rotation.size()
    }

    /// Cells, none of a flat scan.
    pub(super) fn num_cells(&self) -> usize {
        match &self.layout {
            Layout::Flat(_) => 0,
            Layout::Cells(cells) => cells.len(),
        }
    }

    /// Of so many rows, those that one query meets at most.
    pub(super) fn most_met(&self, rows: usize, probes: usize) -> usize {
        match &self.layout {
            Layout::Flat(_) => rows,
            Layout::Cells(cells) => cells.most_met(probes).min(rows + cells.len()),
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let layout = match &self.layout {
            Layout::Flat(codes) => codes.bytes(),
            Layout::Cells(cells) => cells.bytes(),
        };
        layout + self.space.rotation.bytes() + 4 * self.space.centre.len()
    }

    /// What `commit` appends.
    ///
    /// # Errors
    /// A vector out of range; the call is stopped, or there is no memory.
    pub(super) fn prepare(
        &mut self,
        vectors: Vectors<'_>,
        count: usize,
        first: usize,
        alive: impl Fn(u32) -> bool,
        stop: &CancelToken,
    ) -> Result<Prepared> {
        let encoded = self.encode(vectors, count, stop)?;
        let merged = match &mut self.layout {
            Layout::Flat(codes) => {
                codes.reserve(count, stop)?;
                None
            }
            Layout::Cells(cells) => cells.prepare(&encoded, first, alive, stop)?.map(Box::new),
        };
        Ok(Prepared { encoded, merged })
    }

    /// Appends what was prepared, from row `first` on.
    pub(super) fn commit(&mut self, prepared: Prepared, first: usize) {
        let Prepared { encoded, merged } = prepared;
        match (&mut self.layout, merged) {
            (Layout::Flat(codes), _) => {
                let words = codes.size / 64;
                for (signs, numbers) in encoded.signs.chunks_exact(words).zip(&encoded.numbers) {
                    codes.push(signs, *numbers);
                }
            }
            (Layout::Cells(cells), Some(merged)) => *cells = merged,
            (Layout::Cells(cells), None) => cells.push(&encoded, first),
        }
    }

    /// Cells in one piece, without dead rows.
    ///
    /// # Errors
    /// The call is stopped, or there is no memory; nothing has changed.
    pub(super) fn compact(&mut self, alive: impl Fn(u32) -> bool, stop: &CancelToken) -> Result<()> {
        if let Layout::Cells(cells) = &mut self.layout {
            let merged = cells.merged(&Encoded::default(), 0, alive, stop)?;
            **cells = merged;
        }
        Ok(())
    }

    fn encode(&self, vectors: Vectors<'_>, count: usize, stop: &CancelToken) -> Result<Encoded> {
        let words = self.size() / 64;
        let instructions = Instructions::best();
        let kernel = Kernel::best();
        let parts = alloc::try_map_parallel((0..count.div_ceil(CHUNK)).into_par_iter().map(|chunk| {
            stop.check()?;
            let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(count);
            let mut encoded = Encoded {
                signs: alloc::try_zeroed::<u64>(rows.len() * words)?,
                numbers: alloc::try_with_capacity(rows.len())?,
                cells: Vec::new(),
            };
            let mut scratch = Scratch::default();
            for (place, row) in rows.enumerate() {
                vectors.widen(self.space.dim, row, &mut scratch.point);
                let placed = self.space.place(instructions, &mut scratch.point);
                let placed = placed.ok_or_else(|| far(format!("row {row}")))?;
                let signs = &mut encoded.signs[place * words..(place + 1) * words];
                let numbers = match &self.layout {
                    Layout::Flat(_) => flat_numbers(&self.space, placed, &scratch.point, instructions, signs),
                    Layout::Cells(cells) => {
                        let cell = cells.centres.nearest_one(kernel, instructions, placed, &mut scratch)?;
                        if encoded.cells.is_empty() {
                            encoded.cells = alloc::try_with_capacity(CHUNK)?;
                        }
                        encoded.cells.push(cell);
                        cells.numbers(self.space.metric, cell, placed, &mut scratch.point, instructions, signs)
                    }
                };
                encoded.numbers.push(numbers);
            }
            Ok(encoded)
        }))?;
        stop.check()?;
        let mut all = Encoded {
            signs: alloc::try_with_capacity(count * words)?,
            numbers: alloc::try_with_capacity(count)?,
            cells: alloc::try_with_capacity(if self.num_cells() > 0 { count } else { 0 })?,
        };
        for part in parts {
            all.signs.extend(part.signs);
            all.numbers.extend(part.numbers);
            all.cells.extend(part.cells);
        }
        Ok(all)
    }

    /// Answers all queries.
    ///
    /// # Errors
    /// A vector out of range; the call is stopped, or there is no memory.
    pub(super) fn answer(&self, asked: &Asked<'_>) -> Result<Hits> {
        let stop = &CancelToken::current();
        let one = |scratch: &mut Borrowed<'_>, number: usize| {
            stop.check()?;
            self.answer_one(asked, number, &mut scratch.own)
        };
        let found = match &self.layout {
            _ if asked.count == 1 => vec![one(&mut self.borrow(), 0)?],
            Layout::Cells(cells) if cells.bytes() >= LARGE => {
                // The more at once, the more share a cell; answers do not depend on it.
                let threads = rayon::current_num_threads();
                let tasks = if threads > 1 { 2 * threads } else { 1 };
                let most = asked.count.div_ceil(tasks).min(TOGETHER.0).min(TOGETHER.1 / (4 * self.size())).max(1);
                let tasks = (0..asked.count.div_ceil(most)).into_par_iter();
                let parts = alloc::try_map_parallel(tasks.map_init(
                    || self.borrow(),
                    |scratch, task| {
                        let queries = task * most..((task + 1) * most).min(asked.count);
                        let begin = |number: usize, scratch: &mut Scratch| {
                            stop.check()?;
                            self.begin(asked, number, scratch)
                        };
                        cells.search_all(queries, begin, asked.effort, &mut scratch.own)
                    },
                ))?;
                let mut all = alloc::try_with_capacity(asked.count)?;
                for part in parts {
                    all.extend(part);
                }
                all
            }
            _ => alloc::try_map_parallel((0..asked.count).into_par_iter().map_init(|| self.borrow(), one))?,
        };
        stop.check()?;
        Hits::of(found)
    }

    /// Places a query and makes its tables.
    fn begin<'a>(
        &'a self,
        asked: &Asked<'a>,
        number: usize,
        scratch: &mut Scratch,
    ) -> Result<(Hunt<'a>, space::Placed)> {
        let instructions = Instructions::best();
        asked.vectors.widen(self.space.dim, number, &mut scratch.point);
        let placed = self.space.place(instructions, &mut scratch.point).ok_or_else(|| far(format!("row {number}")))?;
        scratch.tables.fill(instructions, &scratch.point)?;
        scratch.scored.clear();
        let hunt = Hunt {
            space: &self.space,
            store: asked.store,
            rows: asked.rows,
            metric: asked.metric,
            vectors: asked.vectors,
            number,
            want: asked.want,
            instructions,
            kernel: Kernel::best(),
        };
        Ok((hunt, placed))
    }

    fn answer_one(&self, asked: &Asked<'_>, number: usize, scratch: &mut Scratch) -> Result<Vec<(f64, u32)>> {
        let (hunt, placed) = self.begin(asked, number, scratch)?;
        match &self.layout {
            Layout::Flat(codes) => {
                let (base, square) = (self.space.base(placed), placed.square);
                scan(codes, &hunt, (base, square, asked.effort.deviations as f32), scratch)?;
            }
            Layout::Cells(cells) => cells.search(&hunt, placed, asked.effort, scratch)?,
        }
        hunt.sorted(&mut scratch.scored)
    }

    fn borrow(&self) -> Borrowed<'_> {
        let own = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        Borrowed { own, idle: &self.idle }
    }
}

/// Scratch memory that goes back when it was used.
struct Borrowed<'a> {
    own: Scratch,
    idle: &'a Mutex<Vec<Scratch>>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if self.own.bytes() <= KEPT {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < idle.capacity() || idle.try_reserve(1).is_ok() {
                idle.push(std::mem::take(&mut self.own));
            }
        }
    }
}

/// Whether a metric has a bound.
pub(super) fn check(metric: Metric) -> Result<()> {
    if metric == Metric::L1 {
        let allowed = "\"l2\", \"cosine\" or \"inner_product\" with rank=\"estimate\"";
        return Err(Error::parameter("metric", "\"l1\"", allowed));
    }
    Ok(())
}

/// The numbers of a row that is seen from the mean.
fn flat_numbers(
    space: &Space,
    placed: space::Placed,
    point: &[f32],
    instructions: Instructions,
    signs: &mut [u64],
) -> Numbers {
    let (square, sum, _) = instructions.run(
        #[inline(always)]
        || sign(point, None, signs),
    );
    let (factor, width) = factor_and_width(square, sum, point.len());
    if space.metric == Metric::InnerProduct {
        let offset = rounded_down(-placed.along, placed.along.abs());
        return Numbers { offset, factor: -factor, width };
    }
    Numbers { offset: rounded_down(square, square), factor: -2.0 * factor, width }
}

/// Searches all codes: bounds of all, the least of them ranked, then what the limit leaves.
fn scan(
    codes: &RotationCodes,
    hunt: &Hunt<'_>,
    (base, square, deviations): (f32, f32, f32),
    scratch: &mut Scratch,
) -> Result<()> {
    let Scratch { tables, bounds, least, chosen, picked, scored, .. } = scratch;
    let ask = Ask { tables, square, base, deviations };
    let blocks = codes.blocks();
    alloc::try_resize(bounds, bounds.len().max(blocks * BLOCK), 0.0)?;
    alloc::try_resize(least, least.len().max(blocks), 0.0)?;
    let (bounds, least) = (&mut bounds[..blocks * BLOCK], &mut least[..blocks]);
    let kernel = hunt.kernel;
    codes.bounds(kernel, 0..blocks, &ask, bounds, least);
    if let Want::Nearest(k) = hunt.want {
        chosen.find(kernel, bounds, least, first_ranked(k), |place| hunt.is_alive(place as u32))?;
        picked.clear();
        alloc::try_reserve(picked, chosen.places.len())?;
        picked.extend(chosen.places.iter().map(|&(_, row)| row));
        for &row in picked.iter() {
            bounds[row as usize] = f32::INFINITY;
        }
        hunt.rank(picked, scored)?;
    }
    let (mut from, mut round) = (0, FIRST_ROUND);
    while from < blocks {
        let until = (from + round).min(blocks);
        let limit = hunt.limit(scored);
        picked.clear();
        kernel.below(&bounds[from * BLOCK..], &least[from..until], limit, (from * BLOCK) as u32, picked)?;
        hunt.keep_alive(picked);
        if !picked.is_empty() {
            hunt.rank(picked, scored)?;
        }
        (from, round) = (until, round * 2);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
