//! One bit for each rotated coordinate, and what turns agreeing bits into a distance with a bound.
//!
//! Of a row r, rotated and seen from its centre, of D coordinates: n² = Σ r², s = Σ |r|, f = n²/s, a² = s²/(n² D). Of a query
//! y, rotated as well, S = Σ ±y with the signs of the row. Then r·y is estimated without bias by f S, and
//!
//! ```text
//! ‖r - y‖² >= n² + ‖y‖² - 2 f (S + ε w ‖y‖)        w = √((1 - a²) D / (D - 1))
//! ```
//! but for a share of rotations of at most P(T > ε / √(D - 1)), T a coordinate of a uniform point on the sphere in D - 1
//! dimensions; below the normal tail Φ(-ε).
//!
//! S is summed from tables of entries in steps (`kernels`). What that rounds away has mean zero over all codes of a table, since
//! the mean of its rounding errors is added to the sum; its variance V joins that of the estimate: ‖y‖² becomes
//! ‖y‖² + V / w₀², where no w is below w₀.
//!
//! Memory: D/8 + 9 bytes a row. Source: J. Gao and C. Long, "`RaBitQ`", SIGMOD 2024, lemmas B.1 to B.3; tables by shuffles as in
//! F. André, A.-M. Kermarrec and N. Le Scouarnec, "Quicker ADC", 2019.

use std::ops::Range;

use super::super::kernels::summed;
use super::kernels::{BLOCK, Blocks, Kernel, Question, STEPS, TABLE};
use super::space::product;
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::prefetch::prefetch_at;
use crate::segment::Column;
use crate::{Result, alloc};

/// Lanes of a sum.
const LANES: usize = 32;
/// w₀: widths are no smaller.
const LEAST_WIDTH: f32 = 0.25;
/// A width in steps of a byte.
const WIDTH_STEPS: f32 = 255.0;
/// Adding it to a number of 0 to 2^22 rounds that to an integer, which stands in the low bits.
const ROUND: f32 = 8_388_608.0;
/// Blocks that are asked for ahead at most.
const AHEAD: usize = 16;
/// By how much a sum of squares may be too large, for rounding.
const SLACK: f32 = 1e-5;

/// A row as its signs and its three numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    /// What the bound begins with; rounded down.
    pub(super) offset: f32,
    /// What multiplies the sum.
    pub(super) factor: f32,
    /// w, in steps of 1/255, rounded up.
    pub(super) width: u8,
}

/// Rows that are encoded and have no place yet.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    /// Signs, D / 64 words a row: bit i of word w is set where coordinate 64 w + i is above 0.
    pub(super) signs: Vec<u64>,
    pub(super) numbers: Vec<Numbers>,
    /// Cell of each row; none without cells.
    pub(super) cells: Vec<u32>,
}

#[inline(always)]
fn folded(values: &[f32], step: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for some in values.as_chunks::<LANES>().0 {
        for i in 0..LANES {
            sums[i] += step(some[i]);
        }
    }
    summed(&sums)
}

/// Σ v².
#[inline(always)]
pub(super) fn square(values: &[f32]) -> f32 {
    folded(values, |value| value * value)
}

/// Signs of a rotated row, appended; n², s, and Σ ± of `other` with those signs.
#[inline(always)]
pub(super) fn sign(row: &[f32], other: Option<&[f32]>, signs: &mut [u64]) -> (f32, f32, f32) {
    for (word, some) in signs.iter_mut().zip(row.as_chunks::<64>().0) {
        let mut bits = 0;
        for (i, &value) in some.iter().enumerate() {
            bits |= u64::from(value > 0.0) << i;
        }
        *word = bits;
    }
    let mut along = 0.0;
    if let Some(other) = other {
        let mut sums = [0.0_f32; LANES];
        for (some, other) in row.as_chunks::<LANES>().0.iter().zip(other.as_chunks::<LANES>().0) {
            for i in 0..LANES {
                sums[i] += if some[i] > 0.0 { other[i] } else { -other[i] };
            }
        }
        along = sums.iter().sum();
    }
    (square(row), folded(row, f32::abs), along)
}

/// f and w of a row of n² and s over D coordinates.
pub(super) fn factor_and_width(square: f32, sum: f32, size: usize) -> (f32, u8) {
    if sum == 0.0 || square == 0.0 {
        return (0.0, (LEAST_WIDTH * WIDTH_STEPS).ceil() as u8);
    }
    let (square, sum, size) = (f64::from(square), f64::from(sum), size as f64);
    let aligned = (sum * sum / (square * size)).min(1.0);
    let width = ((1.0 - aligned) * size / (size - 1.0)).sqrt().max(f64::from(LEAST_WIDTH)).min(1.0);
    ((square / sum) as f32, (width * f64::from(WIDTH_STEPS)).ceil() as u8)
}

/// The signs and the numbers of a point among those around a centre, whose distances are bounded; the point becomes what lies between.
pub(super) fn residual(point: &mut [f32], centre: &[f32], instructions: Instructions, signs: &mut [u64]) -> Numbers {
    let (square, sum, along) = instructions.run(
        #[inline(always)]
        || {
            point.iter_mut().zip(centre).for_each(|(value, &centre)| *value -= centre);
            sign(point, Some(centre), signs)
        },
    );
    let (factor, width) = factor_and_width(square, sum, point.len());
    let shift = 2.0 * factor * along;
    Numbers { offset: rounded_down(square + shift, square + shift.abs()), factor: -2.0 * factor, width }
}

/// As `residual`, of a row whose products are bounded. With y the query, seen from the mean c of all rows, r·y = r·(y - C) + r·C, of
/// which the second is known:
///
/// ```text
/// -p·q >= -(p - c)·c - r·C + f Σ ± C - f (S + ε w ‖y - C‖) - q·c - C·y
/// ```
/// `along` is (p - c)·c; the last two are added per cell.
pub(super) fn residual_product(
    point: &mut [f32],
    along: f32,
    centre: &[f32],
    instructions: Instructions,
    signs: &mut [u64],
) -> Numbers {
    let (square, sum, turned, known) = instructions.run(
        #[inline(always)]
        || {
            point.iter_mut().zip(centre).for_each(|(value, &centre)| *value -= centre);
            let (square, sum, turned) = sign(point, Some(centre), signs);
            (square, sum, turned, product(point, centre))
        },
    );
    let (factor, width) = factor_and_width(square, sum, point.len());
    let shift = factor * turned;
    let terms = along.abs() + known.abs() + shift.abs();
    Numbers { offset: rounded_down(shift - along - known, terms), factor: -factor, width }
}

/// A number that is not above n², whatever rounding did.
pub(super) fn rounded_down(value: f32, size_of_terms: f32) -> f32 {
    value - SLACK * size_of_terms
}

/// Rows by place, in whole blocks; places without a row have an infinite bound.
#[derive(Debug, Default, Clone)]
pub(crate) struct RotationCodes {
    /// D.
    pub(super) size: usize,
    /// Places that were given out.
    pub(super) used: usize,
    pub(super) codes: Column<u8>,
    pub(super) offsets: Column<f32>,
    pub(super) factors: Column<f32>,
    pub(super) widths: Column<u8>,
}

impl RotationCodes {
    pub(super) fn new(size: usize) -> Self {
        Self { size, ..Self::default() }
    }

    /// `blocks` blocks without rows, all their places given out.
    ///
    /// # Errors
    /// There is no memory.
    pub(super) fn empty(size: usize, blocks: usize) -> Result<Self> {
        let rows = blocks * BLOCK;
        Ok(Self {
            size,
            used: rows,
            codes: alloc::try_zeroed::<u8>(blocks * Self::bytes_of_block(size))?.into(),
            offsets: alloc::try_filled(f32::INFINITY, rows)?.into(),
            factors: alloc::try_zeroed::<f32>(rows)?.into(),
            widths: alloc::try_zeroed::<u8>(rows)?.into(),
        })
    }

    /// Bytes of the codes of a block.
    pub(super) fn bytes_of_block(size: usize) -> usize {
        size / 4 * TABLE
    }

    pub(super) fn blocks(&self) -> usize {
        self.offsets.len() / BLOCK
    }

    /// Whether the arrays are as long as each other.
    pub(super) fn is_shaped(&self) -> bool {
        let rows = self.offsets.len();
        rows.is_multiple_of(BLOCK)
            && self.used <= rows
            && rows < self.used + BLOCK
            && self.factors.len() == rows
            && self.widths.len() == rows
            && self.codes.len() == rows / BLOCK * Self::bytes_of_block(self.size)
    }

    /// Whether each number is one that a row may have.
    pub(super) fn is_sound(&self) -> bool {
        let numbers = self.offsets.iter().zip(self.factors.iter());
        numbers
            .into_iter()
            .all(|(offset, factor)| !offset.is_nan() && *offset > f32::NEG_INFINITY && factor.is_finite())
    }

    pub(super) fn bytes(&self) -> usize {
        self.codes.bytes() + self.offsets.bytes() + self.factors.bytes() + self.widths.bytes()
    }

    /// Room for `count` rows more, so that `push` does not fail.
    ///
    /// # Errors
    /// The call is stopped, or there is no memory.
    pub(super) fn reserve(&mut self, count: usize, stop: &CancelToken) -> Result<()> {
        let blocks = (self.used + count).div_ceil(BLOCK) - self.blocks();
        self.codes.reserve(blocks * Self::bytes_of_block(self.size), stop)?;
        self.offsets.reserve(blocks * BLOCK, stop)?;
        self.factors.reserve(blocks * BLOCK, stop)?;
        self.widths.reserve(blocks * BLOCK, stop)
    }

    /// Appends a row.
    pub(super) fn push(&mut self, signs: &[u64], numbers: Numbers) {
        let place = self.used;
        if place == self.offsets.len() {
            let bytes = self.codes.len() + Self::bytes_of_block(self.size);
            self.codes.to_mut().resize(bytes, 0);
            self.offsets.to_mut().resize(place + BLOCK, f32::INFINITY);
            self.factors.to_mut().resize(place + BLOCK, 0.0);
            self.widths.to_mut().resize(place + BLOCK, 0);
        }
        self.used += 1;
        self.put(place, signs, numbers);
    }

    /// Puts a row at a place that has none.
    pub(super) fn put(&mut self, place: usize, signs: &[u64], numbers: Numbers) {
        let (block, row) = (place / BLOCK, place % BLOCK);
        let bytes = Self::bytes_of_block(self.size);
        let codes = &mut self.codes.to_mut()[block * bytes..(block + 1) * bytes];
        let shift = 4 * (row / TABLE);
        for (tables, &word) in codes.chunks_exact_mut(16 * TABLE).zip(signs) {
            for table in 0..16 {
                tables[table * TABLE + row % TABLE] |= ((word >> (4 * table) & 15) as u8) << shift;
            }
        }
        self.offsets.to_mut()[place] = numbers.offset;
        self.factors.to_mut()[place] = numbers.factor;
        self.widths.to_mut()[place] = numbers.width;
    }

    /// The row at a place.
    pub(super) fn get(&self, place: usize, signs: &mut [u64]) -> Numbers {
        let (block, row) = (place / BLOCK, place % BLOCK);
        let bytes = Self::bytes_of_block(self.size);
        let codes = &self.codes[block * bytes..(block + 1) * bytes];
        let shift = 4 * (row / TABLE);
        for (tables, word) in codes.chunks_exact(16 * TABLE).zip(signs) {
            *word = (0..16).fold(0, |word, table| {
                word | u64::from(tables[table * TABLE + row % TABLE] >> shift & 15) << (4 * table)
            });
        }
        Numbers { offset: self.offsets[place], factor: self.factors[place], width: self.widths[place] }
    }

    /// Writes the bounds of the rows of some blocks, and the least of each block.
    #[inline]
    pub(super) fn bounds(
        &self,
        kernel: Kernel,
        blocks: Range<usize>,
        ask: &Ask<'_>,
        out: &mut [f32],
        least: &mut [f32],
    ) {
        kernel.bounds(self.some(blocks), ask.question(), out, least);
    }

    /// Appends the places of the rows of some blocks whose bounds are finite and not above a limit.
    ///
    /// # Errors
    /// There is no memory.
    #[inline]
    pub(super) fn passing(
        &self,
        kernel: Kernel,
        blocks: Range<usize>,
        ask: &Ask<'_>,
        limit: f32,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let first = (blocks.start * BLOCK) as u32;
        kernel.passing(self.some(blocks), ask.question(), limit, first, out)
    }

    fn some(&self, blocks: Range<usize>) -> Blocks<'_> {
        let bytes = Self::bytes_of_block(self.size);
        let rows = blocks.start * BLOCK..blocks.end * BLOCK;
        Blocks {
            codes: &self.codes[blocks.start * bytes..blocks.end * bytes],
            offsets: &self.offsets[rows.clone()],
            factors: &self.factors[rows.clone()],
            widths: &self.widths[rows],
        }
    }

    /// Asks for some blocks ahead, of which the first are read soon.
    #[inline]
    pub(super) fn prefetch(&self, blocks: Range<usize>) {
        let bytes = Self::bytes_of_block(self.size);
        for block in blocks.take(AHEAD) {
            let row = block * BLOCK;
            (0..bytes).step_by(64).for_each(|line| prefetch_at(&self.codes, block * bytes + line));
            for line in (0..BLOCK).step_by(16) {
                prefetch_at(&self.offsets, row + line);
                prefetch_at(&self.factors, row + line);
            }
            prefetch_at(&self.widths, row);
        }
    }
}

/// A query as tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    entries: Vec<u8>,
    step: f32,
    low: f32,
    /// V / w₀².
    spread: f32,
}

/// What is asked of codes: a query, and how far it is from the centre of the codes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) tables: &'a Tables,
    /// ‖y‖².
    pub(super) square: f32,
    /// What every bound is increased by.
    pub(super) base: f32,
    /// ε.
    pub(super) deviations: f32,
}

impl Ask<'_> {
    fn question(&self) -> Question<'_> {
        let Tables { entries, step, low, spread } = self.tables;
        let reach = self.deviations * (self.square + spread).sqrt() / WIDTH_STEPS;
        Question { table: entries, step: *step, low: *low, reach, base: self.base }
    }
}

impl Tables {
    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity()
    }

    /// The tables of a rotated query.
    ///
    /// # Errors
    /// There is no memory.
    pub(super) fn fill(&mut self, instructions: Instructions, query: &[f32]) -> Result<()> {
        alloc::try_resize(&mut self.entries, 4 * query.len(), 0)?;
        instructions.run(
            #[inline(always)]
            || self.filled(query),
        );
        Ok(())
    }

    #[inline(always)]
    fn filled(&mut self, query: &[f32]) {
        // Σ |y| of each table: the largest of them, and their sum.
        let (mut widest, mut reach) = ([0.0_f32; TABLE], [0.0_f32; TABLE]);
        for some in query.as_chunks::<{ 4 * TABLE }>().0 {
            let mut sums = [0.0_f32; TABLE];
            for (sum, y) in sums.iter_mut().zip(some.as_chunks::<4>().0) {
                *sum = (y[0].abs() + y[1].abs()) + (y[2].abs() + y[3].abs());
            }
            for i in 0..TABLE {
                widest[i] = if sums[i] > widest[i] { sums[i] } else { widest[i] };
                reach[i] += sums[i];
            }
        }
        let step = 2.0 * widest.into_iter().fold(0.0, f32::max) / STEPS;
        let per_step = 1.0 / step;
        if !per_step.is_finite() {
            // The query is at the centre.
            self.entries.fill(0);
            (self.step, self.low, self.spread) = (0.0, 0.0, 0.0);
            return;
        }
        // An entry is above the least one of its table by 2 |y| for each coordinate whose sign is that of y.
        let (mut missed, mut squares) = ([0.0_f32; TABLE], [0.0_f32; TABLE]);
        for (y, entries) in query.as_chunks::<4>().0.iter().zip(self.entries.as_chunks_mut::<TABLE>().0) {
            let twice = y.map(|y| 2.0 * per_step * y);
            let (with, without) =
                (twice.map(|y| if y > 0.0 { y } else { 0.0 }), twice.map(|y| if y > 0.0 { 0.0 } else { -y }));
            for i in 0..TABLE {
                let part = |bit: usize| if i >> bit & 1 == 1 { with[bit] } else { without[bit] };
                let above = (part(0) + part(1)) + (part(2) + part(3));
                let rounded = above + ROUND;
                entries[i] = rounded.to_bits() as u8;
                let error = above - (rounded - ROUND);
                missed[i] += error;
                squares[i] += error * error;
            }
        }
        let mean = |sums: [f32; TABLE]| sums.iter().sum::<f32>() / TABLE as f32;
        self.step = step;
        self.low = step * mean(missed) - reach.iter().sum::<f32>();
        self.spread = step * step * mean(squares) / (LEAST_WIDTH * LEAST_WIDTH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::random;

    fn gaussian(seed: u64, size: usize) -> Vec<f32> {
        let base = random::base(seed, 5, 0);
        (0..size).map(|column| random::gaussian(random::word(base, column as u64)) as f32).collect()
    }

    #[test]
    fn rows_lie_where_they_were_put() {
        let size = 192;
        let mut codes = RotationCodes::new(size);
        let mut model = Vec::new();
        for row in 0..77_u64 {
            let mut signs = vec![0; size / 64];
            let (square, sum, _) = sign(&gaussian(row, size), None, &mut signs);
            let (factor, width) = factor_and_width(square, sum, size);
            let numbers = Numbers { offset: square, factor, width };
            codes.reserve(1, &CancelToken::default()).expect("room");
            codes.push(&signs, numbers);
            model.push((signs, numbers));
        }
        assert!(codes.is_shaped() && codes.is_sound());
        assert_eq!((3, 77), (codes.blocks(), codes.used));
        for (place, (signs, numbers)) in model.iter().enumerate() {
            let mut found = vec![0; size / 64];
            assert_eq!(*numbers, codes.get(place, &mut found));
            assert_eq!(signs, &found);
        }
        assert!(codes.offsets[77..].iter().all(|offset| offset.is_infinite()));
        let mut other = RotationCodes::empty(size, 3).expect("room");
        for (place, (signs, numbers)) in model.iter().enumerate() {
            other.put(place, signs, *numbers);
        }
        assert_eq!(codes.codes[..], other.codes[..]);
    }

    #[test]
    fn without_deviations_the_bound_is_the_estimate() {
        for size in [64, 128, 1024, 16384] {
            let (row, query) = (gaussian(1, size), gaussian(2, size));
            let mut signs = vec![0; size / 64];
            let other = gaussian(3, size);
            let (n2, sum, along) = sign(&row, Some(&other), &mut signs);
            let expected: f32 = row.iter().zip(&other).map(|(r, o)| if *r > 0.0 { *o } else { -o }).sum();
            assert!((along - expected).abs() < 1e-2);
            let (factor, width) = factor_and_width(n2, sum, size);
            let mut codes = RotationCodes::new(size);
            codes.push(&signs, Numbers { offset: n2, factor: -2.0 * factor, width });
            let mut tables = Tables::default();
            tables.fill(Instructions::best(), &query).expect("room");
            let y2 = square(&query);
            let (mut out, mut least) = ([0.0; BLOCK], [0.0]);
            for kernel in Kernel::available() {
                let ask = |deviations| Ask { tables: &tables, square: y2, base: y2, deviations };
                codes.bounds(kernel, 0..1, &ask(0.0), &mut out, &mut least);
                let along: f32 = row.iter().zip(&query).map(|(r, y)| if *r > 0.0 { *y } else { -y }).sum();
                let estimate = n2 + y2 - 2.0 * factor * along;
                // Rounding to steps: V has a share of the variance of the estimate that is small.
                let deviation = 2.0 * factor * (0.37 * y2).sqrt();
                assert!((estimate - out[0]).abs() < 0.6 * deviation, "{size} {estimate} {} {deviation}", out[0]);
                assert!(out[1..].iter().all(|bound| bound.is_infinite()) && least[0] == out[0]);
                let at_none = out[0];
                codes.bounds(kernel, 0..1, &ask(2.0), &mut out, &mut least);
                let reach = at_none - out[0];
                assert!((1.9 * deviation..2.8 * deviation).contains(&reach), "{size} {reach} {deviation}");
            }
        }
    }

    #[test]
    fn a_query_at_the_centre_and_rows_at_it_have_finite_bounds() {
        let mut tables = Tables::default();
        tables.fill(Instructions::best(), &[0.0; 64]).expect("room");
        let mut codes = RotationCodes::new(64);
        let (factor, width) = factor_and_width(0.0, 0.0, 64);
        codes.push(&[0], Numbers { offset: 0.0, factor: -2.0 * factor, width });
        let (mut out, mut least) = ([0.0; BLOCK], [0.0]);
        let ask = Ask { tables: &tables, square: 0.0, base: 0.0, deviations: 2.0 };
        codes.bounds(Kernel::best(), 0..1, &ask, &mut out, &mut least);
        assert_eq!((0.0, 0.0), (out[0], least[0]));
    }
}
