//! Centres of cells: where they come from, and the search for those nearest to a point.
//!
//! C rows are drawn by the seed, and each moves to the mean of the rows nearest to it, of 48 C drawn ones.
//!
//! Many centres lie in *groups*, √C of them, around every √C-th centre, moved to the mean of the centres nearest to it. A centre has the
//! rotation code of what is left behind the centre of its group, as rows have in their cell. Estimates to all centres of the groups
//! nearest to a point, then distances to 1.25 times as many as are wanted. So a centre may be found that is not among the nearest,
//! but almost. Few centres are one group around the mean.
//!
//! For inner products the wanted centres are those of the largest product with the query. With z = P c,
//!
//! ```text
//! 2 c_j·q = const + 2 C_j·(y + z) = const - (‖y - C_j‖² - w_j)        C_j = P(c_j - c), y = P(q - c), w_j = ‖C_j‖² + 2 C_j·z
//! ```
//! so that the same estimates serve, of all groups, less the weights w.
//!
//! Cost: √C + (centres of the visited groups) D / 4 look-ups, and D steps for each distance. Memory: 4 D + D/8 + 13 bytes a centre.

use rayon::prelude::*;

use super::super::kernels::summed;
use super::super::rerank::{Metric, Vectors};
use super::kernels::{BLOCK, Kernel};
use super::quantizer::{Ask, RotationCodes, residual, rounded_down, square};
use super::rerank::{Scratch, key};
use super::space::{Placed, Space, far, product};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::prefetch::prefetch_at;
use crate::segment::Column;
use crate::vectors::random;
use crate::{Result, alloc};

/// The cell of a place that has none.
const NONE: u32 = u32::MAX;
/// Streams of the seed: rows that centres begin at, rows that move them.
const DRAWS: u64 = 0x63_656c_6c73;
const MOVES: u64 = 0x6d_6f76_6573;
/// Rows that move centres, for each of them: more change a mean little.
const MOVING: usize = 48;
/// Centres from which on there are groups: fewer are scanned as fast. Tests have fewer.
const GROUPED: usize = if cfg!(test) { 8 } else { 1024 };
/// Groups that are visited at least, and for as many wanted centres as a group has on average. Measured on a million descriptors: as
/// many neighbours are found as without groups.
const VISITED: (usize, usize) = (8, 16);
/// Groups that are visited for a row that moves a centre: means bear a row at the second nearest.
const VISITED_TO_MOVE: usize = 4;
/// Centres whose distance is computed for each that is wanted, in fourths, and besides.
const ASSURED: (usize, usize) = (5, 4);
/// Cache lines of a centre that are asked for ahead, and how many centres ahead.
const LINES: usize = 64;
const AHEAD: usize = 4;
/// Rows that one task assigns.
const CHUNK: usize = 512;

/// Centres, and their codes in groups.
#[derive(Debug)]
pub(super) struct Centres {
    size: usize,
    /// `P(c_j - c)`, one after the other.
    pub(super) values: Column<f32>,
    /// Centres of the groups; none where all centres are one group around c.
    groups: Option<Box<Self>>,
    /// First block of each group, and the end of the last.
    starts: Vec<u32>,
    codes: RotationCodes,
    /// Centre of each place.
    named: Vec<u32>,
    /// w of each centre, for inner products; else none.
    weights: Vec<f32>,
}

/// A centre near a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Near {
    /// The least is nearest.
    pub(super) order: f32,
    /// The squared distance.
    pub(super) square: f32,
    /// What the bounds of its rows are increased by.
    pub(super) base: f32,
    pub(super) number: u32,
}

impl Near {
    fn key(&self) -> i64 {
        key(self.order, self.number)
    }
}

/// What centres are near to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Aim {
    /// A point: those of the least distances.
    Distance,
    /// A query: those of the largest products. What bounds are increased by for the mean alone.
    Product(f32),
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
        alloc::try_collect((0..count).map(|row| (random::word(base, row as u64), row as u32)))?;
    if wanted < keys.len() {
        keys.select_nth_unstable(wanted);
        keys.truncate(wanted);
    }
    let mut rows: Vec<u32> = alloc::try_collect(keys.into_iter().map(|(_, row)| row))?;
    rows.sort_unstable();
    Ok(rows)
}

impl Centres {
    /// About `wanted` centres among these vectors.
    ///
    /// # Errors
    /// A vector out of range; the call is stopped, or there is no memory.
    pub(super) fn of(space: &Space, seed: u64, wanted: usize, vectors: Vectors<'_>, count: usize) -> Result<Self> {
        let size = space.rotation.size();
        let chosen = drawn(seed, DRAWS, wanted.max(1), count)?;
        let point_of = |row: u32, point: &mut Vec<f32>| {
            vectors.widen(space.dim, row as usize, point);
            space.place(Instructions::best(), point).ok_or_else(|| far(format!("row {row}")))
        };
        let mut values = alloc::try_with_capacity(chosen.len().max(1) * size)?;
        let mut point = Vec::new();
        for &row in &chosen {
            point_of(row, &mut point)?;
            values.extend_from_slice(&point);
        }
        if chosen.is_empty() {
            values.resize(size, 0.0);
        }
        let first = Self::around(values.into(), size)?;
        let moving = drawn(seed, MOVES, chosen.len().saturating_mul(MOVING), count)?;
        let moved = first.means(moving.len(), |place, point| point_of(moving[place], point))?;
        drop(first);
        Self::around(moved.into(), size)?.weighted(space)
    }

    /// The centres with their weights, where they are asked for products.
    ///
    /// # Errors
    /// There is no memory.
    pub(super) fn weighted(mut self, space: &Space) -> Result<Self> {
        if space.metric == Metric::InnerProduct {
            let instructions = Instructions::best();
            let mut mean = alloc::try_copy(&space.centre)?;
            space.rotation.rotate(instructions, &mut mean);
            let weights =
                self.values.chunks_exact(self.size).map(|centre| square(centre) + 2.0 * product(centre, &mean));
            self.weights = alloc::try_collect(weights)?;
        }
        Ok(self)
    }

    /// Centres, D values each, with their groups.
    ///
    /// # Errors
    /// The call is stopped, or there is no memory.
    pub(super) fn around(values: Column<f32>, size: usize) -> Result<Self> {
        let count = values.len() / size;
        if count < GROUPED {
            return Self::grouped(values, size, None);
        }
        let groups = count.isqrt();
        let mut first = alloc::try_with_capacity(groups * size)?;
        for group in 0..groups {
            let centre = group * count / groups * size;
            first.extend_from_slice(&values[centre..centre + size]);
        }
        let moved =
            Self::around(first.into(), size)?.means(count, |place, point| placed(&values, size, place, point))?;
        let groups = Box::new(Self::around(moved.into(), size)?);
        Self::grouped(values, size, Some(groups))
    }

    fn grouped(values: Column<f32>, size: usize, groups: Option<Box<Self>>) -> Result<Self> {
        let (count, stop) = (values.len() / size, CancelToken::current());
        let mut assigned = alloc::try_with_capacity(count)?;
        match &groups {
            None => assigned.resize(count, 0),
            Some(groups) => {
                let point_of = |place, point: &mut Vec<f32>| placed(&values, size, place, point);
                groups.assigned(count, VISITED.0, point_of, |_, nearest| assigned.extend_from_slice(nearest))?;
            }
        }
        let mut counts = alloc::try_zeroed::<usize>(groups.as_ref().map_or(1, |groups| groups.len()))?;
        for &group in &assigned {
            counts[group as usize] += 1;
        }
        let mut starts = alloc::try_with_capacity(counts.len() + 1)?;
        let mut ends = alloc::try_with_capacity(counts.len())?;
        starts.push(0);
        for count in counts {
            ends.push(starts[ends.len()] as usize * BLOCK);
            starts.push(starts[starts.len() - 1] + count.div_ceil(BLOCK) as u32);
        }
        let blocks = starts[starts.len() - 1] as usize;
        let mut codes = RotationCodes::empty(size, blocks)?;
        let mut named = alloc::try_filled(NONE, blocks * BLOCK)?;
        let (mut signs, mut point) = (alloc::try_zeroed::<u64>(size / 64)?, Vec::new());
        let (instructions, none) = (Instructions::best(), alloc::try_zeroed::<f32>(size)?);
        for (place, &group) in assigned.iter().enumerate() {
            if place % CHUNK == 0 {
                stop.check()?;
            }
            placed(&values, size, place, &mut point)?;
            let centre = groups.as_ref().map_or(&none[..], |groups| groups.centre(group));
            let numbers = residual(&mut point, centre, instructions, &mut signs);
            let at = &mut ends[group as usize];
            codes.put(*at, &signs, numbers);
            named[*at] = place as u32;
            *at += 1;
        }
        Ok(Self { size, values, groups, starts, codes, named, weights: Vec::new() })
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / self.size
    }

    pub(super) fn bytes(&self) -> usize {
        let places = 4 * (self.starts.capacity() + self.named.capacity() + self.weights.capacity());
        self.values.bytes() + self.codes.bytes() + places + self.groups.as_ref().map_or(0, |groups| groups.bytes())
    }

    /// `P(c_j - c)`.
    pub(super) fn centre(&self, number: u32) -> &[f32] {
        &self.values[number as usize * self.size..(number as usize + 1) * self.size]
    }

    /// Calls `put` with chunks of points in their order: rotated values, one after the other, and the centre nearest to each.
    fn assigned(
        &self,
        count: usize,
        visited: usize,
        point_of: impl Fn(usize, &mut Vec<f32>) -> Result<Placed> + Sync,
        mut put: impl FnMut(&[f32], &[u32]),
    ) -> Result<()> {
        let stop = &CancelToken::current();
        let (instructions, kernel) = (Instructions::best(), Kernel::best());
        // Some chunks at a time, so that memory does not grow with the points.
        for first in (0..count).step_by(64 * CHUNK) {
            let end = (first + 64 * CHUNK).min(count);
            let parts = alloc::try_map_parallel((0..(end - first).div_ceil(CHUNK)).into_par_iter().map(|chunk| {
                stop.check()?;
                let places = first + chunk * CHUNK..(first + (chunk + 1) * CHUNK).min(end);
                let mut points = alloc::try_with_capacity(places.len() * self.size)?;
                let mut nearest = alloc::try_with_capacity(places.len())?;
                let mut scratch = Scratch::default();
                for place in places {
                    let placed = point_of(place, &mut scratch.point)?;
                    nearest.push(self.nearest_one_in(visited, kernel, instructions, placed, &mut scratch)?);
                    points.extend_from_slice(&scratch.point);
                }
                Ok((points, nearest))
            }))?;
            for (points, nearest) in &parts {
                put(points, nearest);
            }
        }
        stop.check()
    }

    /// The mean of the points nearest to each centre; a centre without points stays.
    fn means(
        &self,
        count: usize,
        point_of: impl Fn(usize, &mut Vec<f32>) -> Result<Placed> + Sync,
    ) -> Result<Vec<f32>> {
        let size = self.size;
        let mut sums = alloc::try_zeroed::<f64>(self.values.len())?;
        let mut counts = alloc::try_zeroed::<u32>(self.len())?;
        self.assigned(count, VISITED_TO_MOVE, point_of, |points, nearest| {
            for (point, &centre) in points.chunks_exact(size).zip(nearest) {
                let sum = &mut sums[centre as usize * size..(centre as usize + 1) * size];
                sum.iter_mut().zip(point).for_each(|(sum, &value)| *sum += f64::from(value));
                counts[centre as usize] += 1;
            }
        })?;
        let mut moved = alloc::try_copy(&self.values)?;
        for ((centre, sum), count) in moved.chunks_exact_mut(size).zip(sums.chunks_exact(size)).zip(counts) {
            if count > 0 {
                centre.iter_mut().zip(sum).for_each(|(value, sum)| *value = (sum / f64::from(count)) as f32);
            }
        }
        Ok(moved)
    }

    /// Puts the centres nearest to a point, whose tables are made, into `scratch.near`, nearest first: as many as are wanted, or all.
    pub(super) fn nearest(
        &self,
        kernel: Kernel,
        instructions: Instructions,
        placed: Placed,
        aim: Aim,
        wanted: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let all = self.groups.as_ref().map_or(1, |groups| groups.len());
        let enough = VISITED.0.saturating_add((VISITED.1 * all).saturating_mul(wanted) / self.len());
        let visited = if aim == Aim::Distance { enough } else { all };
        self.nearest_in(visited, kernel, instructions, placed, aim, wanted, scratch)
    }

    /// As `nearest`, in so many groups, or in all where those have too few centres.
    #[allow(clippy::too_many_arguments, reason = "those of `nearest`")]
    fn nearest_in(
        &self,
        visited: usize,
        kernel: Kernel,
        instructions: Instructions,
        placed: Placed,
        aim: Aim,
        wanted: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let all = self.groups.as_ref().map_or(1, |groups| groups.len());
        self.nearest_of(visited.min(all), kernel, instructions, placed, aim, wanted, scratch)?;
        if visited < all && scratch.near.len() < wanted.min(self.len()) {
            self.nearest_of(all, kernel, instructions, placed, aim, wanted, scratch)?;
        }
        Ok(())
    }

    /// As `nearest_in`, in those groups alone.
    #[allow(clippy::too_many_arguments, reason = "those of `nearest`")]
    fn nearest_of(
        &self,
        groups_visited: usize,
        kernel: Kernel,
        instructions: Instructions,
        placed: Placed,
        aim: Aim,
        wanted: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if let Some(groups) = &self.groups {
            groups.nearest(kernel, instructions, placed, Aim::Distance, groups_visited, scratch)?;
            std::mem::swap(&mut scratch.near, &mut scratch.visited);
        } else {
            scratch.visited.clear();
            alloc::try_reserve(&mut scratch.visited, 1)?;
            let square = placed.square;
            scratch.visited.push(Near { order: square, square, base: square, number: 0 });
        }
        let Scratch { point, tables, bounds, least, chosen, near, visited, picked, .. } = scratch;
        let blocks_of = |group: u32| self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize;
        let blocks: usize = visited.iter().map(|group| blocks_of(group.number).len()).sum();
        alloc::try_resize(bounds, bounds.len().max(blocks * BLOCK), 0.0)?;
        alloc::try_resize(least, least.len().max(blocks), 0.0)?;
        let (bounds, least) = (&mut bounds[..blocks * BLOCK], &mut least[..blocks]);
        // The centre of each place that has a bound.
        picked.clear();
        alloc::try_reserve(picked, blocks * BLOCK)?;
        let mut at = 0;
        for &Near { square, number, .. } in visited.iter() {
            let (own, begin) = (blocks_of(number), at);
            at += own.len();
            picked.extend_from_slice(&self.named[own.start * BLOCK..own.end * BLOCK]);
            let ask = Ask { tables, square, base: square, deviations: 0.0 };
            self.codes.bounds(kernel, own, &ask, &mut bounds[begin * BLOCK..at * BLOCK], &mut least[begin..at]);
        }
        if aim != Aim::Distance {
            for (bound, &number) in bounds.iter_mut().zip(&*picked) {
                *bound -= self.weights.get(number as usize).copied().unwrap_or(0.0);
            }
            for (bounds, least) in bounds.as_chunks::<BLOCK>().0.iter().zip(least.iter_mut()) {
                *least = bounds.iter().copied().fold(f32::INFINITY, f32::min);
            }
        }
        chosen.find(kernel, bounds, least, wanted.saturating_mul(ASSURED.0) / ASSURED.1 + ASSURED.1, |_| true)?;
        near.clear();
        alloc::try_reserve(near, chosen.places.len())?;
        let prefetch = |place: u32| {
            let first = picked[place as usize] as usize * self.size;
            (0..self.size).step_by(16).take(LINES).for_each(|line| prefetch_at(&self.values, first + line));
        };
        chosen.places.iter().take(AHEAD).for_each(|&(_, place)| prefetch(place));
        for (order, &(_, place)) in chosen.places.iter().enumerate() {
            if let Some(&(_, next)) = chosen.places.get(order + AHEAD) {
                prefetch(next);
            }
            let number = picked[place as usize];
            let centre = self.centre(number);
            let square = instructions.run(
                #[inline(always)]
                || apart(point, centre),
            );
            near.push(match aim {
                Aim::Distance => Near { order: square, square, base: square, number },
                Aim::Product(of_mean) => {
                    let along = product(point, centre);
                    let base = rounded_down(of_mean - along, of_mean.abs() + along.abs());
                    Near { order: square - self.weights[number as usize], square, base, number }
                }
            });
        }
        if wanted < near.len() {
            near.select_nth_unstable_by_key(wanted - 1, Near::key);
            near.truncate(wanted);
        }
        near.sort_unstable_by_key(Near::key);
        Ok(())
    }

    /// The centre nearest to the point in `scratch.point`, or almost: the cell of a row.
    pub(super) fn nearest_one(
        &self,
        kernel: Kernel,
        instructions: Instructions,
        placed: Placed,
        scratch: &mut Scratch,
    ) -> Result<u32> {
        self.nearest_one_in(VISITED.0, kernel, instructions, placed, scratch)
    }

    /// As `nearest_one`, in so many groups.
    fn nearest_one_in(
        &self,
        visited: usize,
        kernel: Kernel,
        instructions: Instructions,
        placed: Placed,
        scratch: &mut Scratch,
    ) -> Result<u32> {
        let Scratch { point, tables, .. } = scratch;
        tables.fill(instructions, point)?;
        self.nearest_in(visited, kernel, instructions, placed, Aim::Distance, 1, scratch)?;
        Ok(scratch.near.first().map_or(0, |near| near.number))
    }
}

/// One of the points that are rotated already.
fn placed(values: &[f32], size: usize, place: usize, point: &mut Vec<f32>) -> Result<Placed> {
    point.clear();
    alloc::try_reserve(point, size)?;
    point.extend_from_slice(&values[place * size..(place + 1) * size]);
    Ok(Placed { square: square(point), along: 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::random::{base, gaussian, word};

    const SIZE: usize = 64;

    /// Points near a space of eight dimensions, as neighbours of real vectors are.
    fn grouped(seed: u64, count: usize) -> Vec<f32> {
        let value = |seed: u64, stream: u64, at: usize| gaussian(word(base(seed, stream, 0), at as u64)) as f32;
        let point = |at: usize| {
            let inner: f32 =
                (0..8).map(|i| value(seed, 1, at / SIZE * 8 + i) * value(0, 2, i * SIZE + at % SIZE)).sum();
            inner + 0.3 * value(seed, 3, at)
        };
        (0..count * SIZE).map(point).collect()
    }

    fn nearest(centres: &Centres, point: &[f32], wanted: usize) -> Vec<(f32, u32)> {
        let (mut scratch, placed) = asked(point);
        let (instructions, kernel) = (Instructions::best(), Kernel::best());
        centres.nearest(kernel, instructions, placed, Aim::Distance, wanted, &mut scratch).expect("found");
        scratch.near.iter().map(|near| (near.square, near.number)).collect()
    }

    /// A point whose tables are made.
    fn asked(point: &[f32]) -> (Scratch, Placed) {
        let mut scratch = Scratch { point: point.to_vec(), ..Scratch::default() };
        scratch.tables.fill(Instructions::best(), point).expect("room");
        (scratch, Placed { square: square(point), along: 0.0 })
    }

    fn brute(centres: &Centres, point: &[f32]) -> Vec<(f32, u32)> {
        let mut all: Vec<(f32, u32)> =
            (0..centres.len() as u32).map(|number| (apart(point, centres.centre(number)), number)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all
    }

    #[test]
    fn each_centre_has_a_place_and_all_are_found_in_order() {
        for count in [1, 7, 8, 9, 70, 700] {
            let centres = Centres::around(grouped(count as u64, count).into(), SIZE).expect("centres");
            assert_eq!((count, count >= 8), (centres.len(), centres.groups.is_some()));
            let mut named: Vec<u32> = centres.named.iter().copied().filter(|&number| number != NONE).collect();
            named.sort_unstable();
            assert!(named.iter().copied().eq(0..count as u32), "{named:?}");
            for point in grouped(99, 3).chunks_exact(SIZE) {
                assert_eq!(brute(&centres, point), nearest(&centres, point, count));
            }
        }
    }

    #[test]
    fn groups_miss_few_centres_that_a_scan_finds() {
        let values = grouped(3, 4000);
        let centres = Centres::around(values.clone().into(), SIZE).expect("centres");
        let scanned = Centres::grouped(values.into(), SIZE, None).expect("centres");
        assert_eq!(63, centres.groups.as_ref().expect("groups").len());
        for wanted in [1, 16, 64] {
            let found = |centres: &Centres| -> usize {
                let share = |point: &[f32]| {
                    let limit = brute(centres, point)[wanted - 1].0;
                    nearest(centres, point, wanted).iter().filter(|hit| hit.0 <= limit).count()
                };
                grouped(4, 100).chunks_exact(SIZE).map(share).sum()
            };
            let (own, all) = (found(&centres), found(&scanned));
            // Codes of groups are finer, so that some are found that a scan misses.
            assert!(20 * own >= 19 * all, "{own} beside {all} of {}", 100 * wanted);
        }
    }

    #[test]
    fn as_many_are_found_as_are_wanted_however_they_lie() {
        // Most are one point, which is in one group; the others stand alone.
        let mut values = grouped(6, 900);
        let point = values[..SIZE].to_vec();
        values.chunks_exact_mut(SIZE).filter(|value| value[0] > -4.0).for_each(|value| value.copy_from_slice(&point));
        let centres = Centres::around(values.into(), SIZE).expect("centres");
        for point in grouped(7, 20).chunks_exact(SIZE) {
            for wanted in [1, 5, 40, 200, 899, 900, 2000] {
                assert_eq!(wanted.min(900), nearest(&centres, point, wanted).len());
            }
            // Of one group alone fewer are found.
            let (mut scratch, placed) = asked(point);
            let (instructions, kernel) = (Instructions::best(), Kernel::best());
            centres.nearest_of(1, kernel, instructions, placed, Aim::Distance, 900, &mut scratch).expect("found");
            assert!(scratch.near.len() < 900);
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let values = grouped(5, 1500);
        let of = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| Centres::around(values.clone().into(), SIZE).expect("centres"))
        };
        let (one, other) = (of(1), of(3));
        assert_eq!(
            (&one.starts, &one.named, &one.codes.codes[..]),
            (&other.starts, &other.named, &other.codes.codes[..])
        );
    }
}
