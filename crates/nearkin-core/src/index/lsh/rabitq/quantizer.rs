//! Quantizer: how a vector becomes a binary code with three correction numbers.
//!
//! **Transform.** Vectors are scaled, centred at the mean c and rotated, so that one bound serves every metric:
//!
//! | metric | point p | bounded quantity | offset of a row | base of a query |
//! |---|---|---|---|---|
//! | `L2` | x scaled | ‖p - q‖² | n² | ‖y‖² |
//! | `Cosine` | x / ‖x‖ | ‖p - q‖² = 2 (1 - cos) | n² | ‖y‖² |
//! | `InnerProduct` | x scaled | -p·q | -(p - c)·c | -q·c |
//!
//! with n = ‖p - c‖ and y = P(q - c). The scale is the power of two that brings the root mean square distance from c near 1,
//! so that squares in single precision neither overflow nor vanish.
//!
//! **Code.** Bit i of a code is the sign of coordinate i of the rotated residual r, of D coordinates. With n² = Σ r² and
//! s = Σ |r|, the correction has the factor f = n²/s and the width w = √((1 - a²) D / (D - 1)), a² = s²/(n² D) (`estimate`).
//!
//! Memory: D/8 + 9 bytes per row.

use std::ops::Range;

use crate::parallel::prelude::*;

use super::kernels::{BLOCK, CodeBlocks, TABLE};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::prefetch::prefetch_at;
use crate::index::lsh::kernels::{Metric, summed};
use crate::index::lsh::vectors::Vectors;
use crate::segment::Column;
use crate::vectors::rotation::Rotation;
use crate::{Error, Result, alloc};

/// Lanes of a sum.
const LANES: usize = 32;
/// Largest distance from the mean, in typical distances: its square is far from overflow.
const MAX_DISTANCE: f32 = 1e15;
/// Rows that one task sums.
const CHUNK: usize = 1024;
/// Relative increase of a limit, to allow for rounding.
const LIMIT_SLACK: f64 = 2e-6;
/// Relative decrease of an offset, to allow for rounding in a sum of squares.
const OFFSET_SLACK: f32 = 1e-5;
/// w₀, the smallest width.
pub(super) const MIN_WIDTH: f32 = 0.25;
/// Steps per unit of a width stored as a byte.
pub(super) const WIDTH_STEPS: f32 = 255.0;
/// Maximum number of blocks to prefetch.
const AHEAD: usize = 16;

/// Sum `step` over the elements of two slices whose length is a multiple of 32.
#[inline(always)]
fn fold(a: &[f32], b: &[f32], step: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for i in 0..LANES {
            sums[i] += step(a[i], b[i]);
        }
    }
    summed(&sums)
}

/// Return a·b.
#[inline(always)]
pub(super) fn product(a: &[f32], b: &[f32]) -> f32 {
    fold(a, b, |x, y| x * y)
}

/// Return Σ v².
#[inline(always)]
pub(super) fn square(values: &[f32]) -> f32 {
    fold(values, values, |x, _| x * x)
}

/// Return ‖a - b‖².
#[inline(always)]
pub(super) fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    fold(a, b, |x, y| (x - y) * (x - y))
}

/// Return a number that is at most the exact value, whatever rounding did.
pub(super) fn rounded_down(value: f32, size_of_terms: f32) -> f32 {
    value - OFFSET_SLACK * size_of_terms
}

/// Return the error for a vector that codes cannot represent.
pub(super) fn out_of_range(place: String) -> Error {
    let reason =
        "its length is out of the range of single precision, or 1e15 times that of typical vectors; scale or drop it";
    Error::input(place, reason)
}

/// The map from vectors to rotated residuals.
#[derive(Debug)]
pub(crate) struct VectorTransform {
    pub(super) metric: Metric,
    pub(super) dim: usize,
    pub(super) rotation: Rotation,
    pub(super) scale: f32,
    /// c, padded to D.
    pub(super) mean: Vec<f32>,
    /// ‖c‖².
    mean_square: f32,
}

/// Numbers of a point whose rotated residual is in a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transformed {
    /// ‖p - c‖².
    pub(super) square: f32,
    /// (p - c)·c.
    pub(super) along: f32,
}

impl VectorTransform {
    /// Fit the transform to vectors.
    ///
    /// # Errors
    /// A vector is out of the range of single precision; the call is cancelled; memory runs out.
    pub(super) fn fit(
        metric: Metric,
        rotation: Rotation,
        dim: usize,
        vectors: Vectors<'_>,
        count: usize,
    ) -> Result<Self> {
        let size = rotation.size();
        let mut transform =
            Self { metric, dim, rotation, scale: 1.0, mean: alloc::try_zeroed(size)?, mean_square: 0.0 };
        if count == 0 {
            return Ok(transform);
        }
        let (sums, squares) = transform.sums(vectors, count)?;
        let mean: Vec<f64> = alloc::try_collect(sums.iter().map(|sum| sum / count as f64))?;
        if metric != Metric::Cosine {
            let about_zero = squares / count as f64;
            let about_mean = about_zero - mean.iter().map(|m| m * m).sum::<f64>();
            let typical = if about_mean > 1e-12 * about_zero { about_mean } else { about_zero };
            let exponent = if typical > 0.0 { (typical.to_bits() >> 52) as i32 - 1023 } else { 0 };
            transform.scale = 2.0_f32.powi((-exponent / 2).clamp(-100, 100));
        }
        for (value, mean) in transform.mean.iter_mut().zip(mean) {
            *value = (mean * f64::from(transform.scale)) as f32;
        }
        transform.mean_square = square(&transform.mean);
        if !transform.mean_square.is_finite() || transform.mean_square > MAX_DISTANCE * MAX_DISTANCE {
            return Err(out_of_range("the mean of the vectors".to_string()));
        }
        Ok(transform)
    }

    /// Restore the transform of a file.
    pub(super) fn from_parts(metric: Metric, rotation: Rotation, dim: usize, scale: f32, mean: Vec<f32>) -> Self {
        let mean_square = square(&mean);
        Self { metric, dim, rotation, scale, mean, mean_square }
    }

    /// Return the sums of all unscaled points, and the sum of their squares.
    fn sums(&self, vectors: Vectors<'_>, count: usize) -> Result<(Vec<f64>, f64)> {
        let cancel = &CancelToken::current();
        let instructions = Instructions::best();
        let parts = alloc::try_map_parallel((0..count.div_ceil(CHUNK)).into_par_iter().map(|chunk| {
            cancel.check()?;
            let (mut sums, mut squares, mut point) = (alloc::try_zeroed::<f64>(self.dim)?, 0.0, Vec::new());
            for row in chunk * CHUNK..((chunk + 1) * CHUNK).min(count) {
                vectors.widen(self.dim, row, &mut point);
                self.scale_point(instructions, &mut point).ok_or_else(|| out_of_range(format!("row {row}")))?;
                for (sum, &value) in sums.iter_mut().zip(&point) {
                    *sum += f64::from(value);
                    squares += f64::from(value) * f64::from(value);
                }
            }
            Ok((sums, squares))
        }))?;
        let (mut sums, mut squares) = (alloc::try_zeroed::<f64>(self.dim)?, 0.0);
        for (chunk, square) in parts {
            sums.iter_mut().zip(chunk).for_each(|(sum, value)| *sum += value);
            squares += square;
        }
        Ok((sums, squares))
    }

    /// Turn a vector into a point, padded to D; None if a value is out of range.
    fn scale_point(&self, instructions: Instructions, values: &mut Vec<f32>) -> Option<()> {
        values.resize(self.rotation.size(), 0.0);
        let factor = if self.metric == Metric::Cosine {
            let norm = instructions.run(
                #[inline(always)]
                || square(values),
            );
            1.0 / norm.sqrt()
        } else {
            self.scale
        };
        if !(factor.is_finite() && factor > 0.0) {
            return None;
        }
        let finite = instructions.run(
            #[inline(always)]
            || {
                let mut finite = true;
                for value in values.iter_mut() {
                    *value *= factor;
                    finite &= value.is_finite();
                }
                finite
            },
        );
        finite.then_some(())
    }

    /// Turn row `row` of `vectors` into its rotated residual, in `point`.
    ///
    /// # Errors
    /// The vector is out of range.
    #[inline]
    pub(super) fn apply(
        &self,
        instructions: Instructions,
        vectors: Vectors<'_>,
        row: usize,
        point: &mut Vec<f32>,
    ) -> Result<Transformed> {
        vectors.widen(self.dim, row, point);
        self.rotate(instructions, point).ok_or_else(|| out_of_range(format!("row {row}")))
    }

    /// Turn a vector, in place, into its rotated residual; None if a value is out of range.
    #[inline]
    pub(super) fn rotate(&self, instructions: Instructions, values: &mut Vec<f32>) -> Option<Transformed> {
        self.scale_point(instructions, values)?;
        let transformed = instructions.run(
            #[inline(always)]
            || {
                for (value, &mean) in values.iter_mut().zip(&self.mean) {
                    *value -= mean;
                }
                let along = if self.metric == Metric::InnerProduct { product(values, &self.mean) } else { 0.0 };
                Transformed { square: square(values), along }
            },
        );
        let Transformed { square, along } = transformed;
        if square > MAX_DISTANCE * MAX_DISTANCE || !square.is_finite() || !along.is_finite() {
            return None;
        }
        self.rotation.rotate(instructions, values);
        Some(transformed)
    }

    /// Return the number that a query adds to every bound, for residuals from the mean.
    pub(super) fn base(&self, query: Transformed) -> f32 {
        if self.metric == Metric::InnerProduct {
            rounded_down(-(query.along + self.mean_square), query.along.abs() + self.mean_square)
        } else {
            query.square
        }
    }

    /// Return the limit for bounds: a row with a bound above it is farther than `distance`.
    pub(super) fn limit(&self, distance: f64) -> f32 {
        let scale = f64::from(self.scale) * f64::from(self.scale);
        let bound = match self.metric {
            Metric::L2 if distance < 0.0 => return f32::NEG_INFINITY,
            Metric::L2 | Metric::L1 => distance * distance * scale * (1.0 + LIMIT_SLACK),
            Metric::Cosine => 2.0 * distance + LIMIT_SLACK,
            Metric::InnerProduct => distance * scale + LIMIT_SLACK * (distance * scale).abs(),
        };
        (bound as f32).next_up()
    }
}

/// The correction of a code: what turns the sum of signs into a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Correction {
    /// Constant term of the bound, rounded down.
    pub(super) offset: f32,
    /// Factor of the sum of signs.
    pub(super) factor: f32,
    /// w, in steps of 1/255, rounded up.
    pub(super) width: u8,
}

/// Rows that are encoded but not yet stored.
#[derive(Debug, Default)]
pub(super) struct EncodedRows {
    /// Signs, D / 64 words per row: bit i of word w is set if coordinate 64 w + i is positive.
    pub(super) signs: Vec<u64>,
    pub(super) corrections: Vec<Correction>,
    /// Partition of each row; empty for a flat index.
    pub(super) partitions: Vec<u32>,
}

/// Write the signs of a residual; return n², s, and Σ ± of `other` with those signs.
#[inline(always)]
pub(super) fn encode_signs(residual: &[f32], other: Option<&[f32]>, signs: &mut [u64]) -> (f32, f32, f32) {
    for (word, values) in signs.iter_mut().zip(residual.as_chunks::<64>().0) {
        let mut bits = 0;
        for (i, &value) in values.iter().enumerate() {
            bits |= u64::from(value > 0.0) << i;
        }
        *word = bits;
    }
    let mut signed_sum = 0.0;
    if let Some(other) = other {
        let mut sums = [0.0_f32; LANES];
        for (values, other) in residual.as_chunks::<LANES>().0.iter().zip(other.as_chunks::<LANES>().0) {
            for i in 0..LANES {
                sums[i] += if values[i] > 0.0 { other[i] } else { -other[i] };
            }
        }
        signed_sum = sums.iter().sum();
    }
    (square(residual), fold(residual, residual, |x, _| x.abs()), signed_sum)
}

/// Return f and w of a residual with n² and s over D coordinates.
pub(super) fn factor_and_width(square: f32, sum: f32, size: usize) -> (f32, u8) {
    if sum == 0.0 || square == 0.0 {
        return (0.0, (MIN_WIDTH * WIDTH_STEPS).ceil() as u8);
    }
    let (square, sum, size) = (f64::from(square), f64::from(sum), size as f64);
    let aligned = (sum * sum / (square * size)).min(1.0);
    let width = ((1.0 - aligned) * size / (size - 1.0)).sqrt().max(f64::from(MIN_WIDTH)).min(1.0);
    ((square / sum) as f32, (width * f64::from(WIDTH_STEPS)).ceil() as u8)
}

/// Encode a residual from the mean.
pub(super) fn encode_flat(
    metric: Metric,
    transformed: Transformed,
    residual: &[f32],
    instructions: Instructions,
    signs: &mut [u64],
) -> Correction {
    let (square, sum, _) = instructions.run(
        #[inline(always)]
        || encode_signs(residual, None, signs),
    );
    let (factor, width) = factor_and_width(square, sum, residual.len());
    if metric == Metric::InnerProduct {
        let offset = rounded_down(-transformed.along, transformed.along.abs());
        return Correction { offset, factor: -factor, width };
    }
    Correction { offset: rounded_down(square, square), factor: -2.0 * factor, width }
}

/// Encode a point of a partition, for bounds of distances; the point becomes its residual from the centroid.
pub(super) fn encode_residual(
    point: &mut [f32],
    centroid: &[f32],
    instructions: Instructions,
    signs: &mut [u64],
) -> Correction {
    let (square, sum, signed_sum) = instructions.run(
        #[inline(always)]
        || {
            point.iter_mut().zip(centroid).for_each(|(value, &centroid)| *value -= centroid);
            encode_signs(point, Some(centroid), signs)
        },
    );
    let (factor, width) = factor_and_width(square, sum, point.len());
    let shift = 2.0 * factor * signed_sum;
    Correction { offset: rounded_down(square + shift, square + shift.abs()), factor: -2.0 * factor, width }
}

/// Encode a point of a partition, for bounds of inner products. With y the query minus the mean c of all rows, and C the
/// centroid, r·y = r·(y - C) + r·C, where r·C is known:
///
/// ```text
/// -p·q >= -(p - c)·c - r·C + f Σ ± C - f (S + ε w ‖y - C‖) - q·c - C·y
/// ```
/// `along` is (p - c)·c; each partition adds the last two terms.
pub(super) fn encode_residual_product(
    point: &mut [f32],
    along: f32,
    centroid: &[f32],
    instructions: Instructions,
    signs: &mut [u64],
) -> Correction {
    let (square, sum, signed_sum, exact) = instructions.run(
        #[inline(always)]
        || {
            point.iter_mut().zip(centroid).for_each(|(value, &centroid)| *value -= centroid);
            let (square, sum, signed_sum) = encode_signs(point, Some(centroid), signs);
            (square, sum, signed_sum, product(point, centroid))
        },
    );
    let (factor, width) = factor_and_width(square, sum, point.len());
    let shift = factor * signed_sum;
    let terms = along.abs() + exact.abs() + shift.abs();
    Correction { offset: rounded_down(shift - along - exact, terms), factor: -factor, width }
}

/// Codes by position, in blocks of 32; positions without a row have an infinite bound.
#[derive(Debug, Default, Clone)]
pub(crate) struct CodeTable {
    /// D.
    pub(super) size: usize,
    /// Number of positions in use.
    pub(super) used: usize,
    pub(super) codes: Column<u8>,
    pub(super) offsets: Column<f32>,
    pub(super) factors: Column<f32>,
    pub(super) widths: Column<u8>,
}

impl CodeTable {
    pub(super) fn new(size: usize) -> Self {
        Self { size, ..Self::default() }
    }

    /// Create `blocks` blocks without rows, all positions in use.
    ///
    /// # Errors
    /// Memory runs out.
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

    /// Return the bytes of the codes of a block.
    pub(super) fn bytes_of_block(size: usize) -> usize {
        size / 4 * TABLE
    }

    pub(super) fn blocks(&self) -> usize {
        self.offsets.len() / BLOCK
    }

    /// True if the lengths of the arrays agree.
    pub(super) fn is_shaped(&self) -> bool {
        let rows = self.offsets.len();
        rows.is_multiple_of(BLOCK)
            && self.used <= rows
            && rows < self.used + BLOCK
            && self.factors.len() == rows
            && self.widths.len() == rows
            && self.codes.len() == rows / BLOCK * Self::bytes_of_block(self.size)
    }

    pub(super) fn bytes(&self) -> usize {
        self.codes.bytes() + self.offsets.bytes() + self.factors.bytes() + self.widths.bytes()
    }

    /// Reserve capacity for `count` more rows, so that `push` cannot fail.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(super) fn reserve(&mut self, count: usize, cancel: &CancelToken) -> Result<()> {
        let blocks = (self.used + count).div_ceil(BLOCK) - self.blocks();
        self.codes.reserve(blocks * Self::bytes_of_block(self.size), cancel)?;
        self.offsets.reserve(blocks * BLOCK, cancel)?;
        self.factors.reserve(blocks * BLOCK, cancel)?;
        self.widths.reserve(blocks * BLOCK, cancel)
    }

    /// Append a row.
    pub(super) fn push(&mut self, signs: &[u64], correction: Correction) {
        let position = self.used;
        if position == self.offsets.len() {
            let bytes = self.codes.len() + Self::bytes_of_block(self.size);
            self.codes.to_mut().resize(bytes, 0);
            self.offsets.to_mut().resize(position + BLOCK, f32::INFINITY);
            self.factors.to_mut().resize(position + BLOCK, 0.0);
            self.widths.to_mut().resize(position + BLOCK, 0);
        }
        self.used += 1;
        self.put(position, signs, correction);
    }

    /// Write a row at a position that has none.
    pub(super) fn put(&mut self, position: usize, signs: &[u64], correction: Correction) {
        let (block, row) = (position / BLOCK, position % BLOCK);
        let bytes = Self::bytes_of_block(self.size);
        let codes = &mut self.codes.to_mut()[block * bytes..(block + 1) * bytes];
        let shift = 4 * (row / TABLE);
        for (tables, &word) in codes.chunks_exact_mut(16 * TABLE).zip(signs) {
            for table in 0..16 {
                tables[table * TABLE + row % TABLE] |= ((word >> (4 * table) & 15) as u8) << shift;
            }
        }
        self.offsets.to_mut()[position] = correction.offset;
        self.factors.to_mut()[position] = correction.factor;
        self.widths.to_mut()[position] = correction.width;
    }

    /// Read the row at a position.
    pub(super) fn get(&self, position: usize, signs: &mut [u64]) -> Correction {
        let (block, row) = (position / BLOCK, position % BLOCK);
        let bytes = Self::bytes_of_block(self.size);
        let codes = &self.codes[block * bytes..(block + 1) * bytes];
        let shift = 4 * (row / TABLE);
        for (tables, word) in codes.chunks_exact(16 * TABLE).zip(signs) {
            *word = (0..16).fold(0, |word, table| {
                word | u64::from(tables[table * TABLE + row % TABLE] >> shift & 15) << (4 * table)
            });
        }
        Correction { offset: self.offsets[position], factor: self.factors[position], width: self.widths[position] }
    }

    /// Borrow a range of blocks.
    pub(super) fn view(&self, blocks: Range<usize>) -> CodeBlocks<'_> {
        let bytes = Self::bytes_of_block(self.size);
        let rows = blocks.start * BLOCK..blocks.end * BLOCK;
        CodeBlocks {
            codes: &self.codes[blocks.start * bytes..blocks.end * bytes],
            offsets: &self.offsets[rows.clone()],
            factors: &self.factors[rows.clone()],
            widths: &self.widths[rows],
        }
    }

    /// Prefetch the first of a range of blocks.
    #[inline]
    pub(super) fn prefetch(&self, blocks: Range<usize>) {
        let bytes = Self::bytes_of_block(self.size);
        for block in blocks.take(AHEAD) {
            let row = block * BLOCK;
            let codes: &[u8] = &self.codes;
            (0..bytes).step_by(64).for_each(|line| prefetch_at(codes, block * bytes + line));
            for line in (0..BLOCK).step_by(16) {
                prefetch_at(&self.offsets, row + line);
                prefetch_at(&self.factors, row + line);
            }
            prefetch_at(&self.widths, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::random;

    #[test]
    fn rows_are_read_back_from_their_positions() {
        let size = 192;
        let mut codes = CodeTable::new(size);
        let mut model = Vec::new();
        for row in 0..77_u64 {
            let base = random::base(row, 5, 0);
            let residual: Vec<f32> =
                (0..size).map(|column| random::gaussian(random::word(base, column as u64)) as f32).collect();
            let mut signs = vec![0; size / 64];
            let (square, sum, _) = encode_signs(&residual, None, &mut signs);
            let (factor, width) = factor_and_width(square, sum, size);
            let correction = Correction { offset: square, factor, width };
            codes.reserve(1, &CancelToken::default()).expect("memory");
            codes.push(&signs, correction);
            model.push((signs, correction));
        }
        assert!(codes.is_shaped());
        assert_eq!((3, 77), (codes.blocks(), codes.used));
        for (position, (signs, correction)) in model.iter().enumerate() {
            let mut stored = vec![0; size / 64];
            assert_eq!(*correction, codes.get(position, &mut stored));
            assert_eq!(signs, &stored);
        }
        assert!(codes.offsets[77..].iter().all(|offset| offset.is_infinite()));
        let mut other = CodeTable::empty(size, 3).expect("memory");
        for (position, (signs, correction)) in model.iter().enumerate() {
            other.put(position, signs, *correction);
        }
        assert_eq!(codes.codes[..], other.codes[..]);
    }
}
