//! Where codes see vectors: scaled, centred and rotated, so that one bound serves every metric.
//!
//! | metric | point p | what is bounded | offset of a row | added for a query |
//! |---|---|---|---|---|
//! | `L2` | x scaled | ‖p - q‖² | n² | ‖y‖² |
//! | `Cosine` | x / ‖x‖ | ‖p - q‖² = 2 (1 - cos) | n² | ‖y‖² |
//! | `InnerProduct` | x scaled | -p·q | -(p - c)·c | -q·c |
//!
//! c is the mean of the points that the index was fitted to, n² = ‖p - c‖², y = P(q - c). The scale is the power of two that brings the
//! root mean square distance from c near 1, so that squares of single precision neither overflow nor vanish.

use rayon::prelude::*;

use super::super::kernels::summed;
use super::super::rerank::{Metric, Vectors};
use super::quantizer::{rounded_down, square};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::vectors::rotation::Rotation;
use crate::{Error, Result, alloc};

/// Longest distance from the centre, in typical ones: its square is far from overflow.
const FARTHEST: f32 = 1e15;
/// Rows whose sums are made one after the other.
const CHUNK: usize = 1024;
/// By how much a limit is raised for rounding.
const SLACK: f64 = 2e-6;

/// The space of the codes.
#[derive(Debug)]
pub(crate) struct Space {
    pub(super) metric: Metric,
    pub(super) dim: usize,
    pub(super) rotation: Rotation,
    pub(super) scale: f32,
    /// c, padded to D.
    pub(super) centre: Vec<f32>,
    /// ‖c‖².
    centre_square: f32,
}

/// Numbers of a point whose rotated form lies in a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// ‖p - c‖².
    pub(super) square: f32,
    /// (p - c)·c.
    pub(super) along: f32,
}

/// a·b.
#[inline(always)]
pub(super) fn product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 32];
    for (a, b) in a.as_chunks::<32>().0.iter().zip(b.as_chunks::<32>().0) {
        for i in 0..32 {
            sums[i] += a[i] * b[i];
        }
    }
    summed(&sums)
}

impl Space {
    /// The space of the vectors that an index is fitted to.
    ///
    /// # Errors
    /// A vector out of the range of single precision; the call is stopped, or there is no memory.
    pub(super) fn of(
        metric: Metric,
        rotation: Rotation,
        dim: usize,
        vectors: Vectors<'_>,
        count: usize,
    ) -> Result<Self> {
        let size = rotation.size();
        let mut space =
            Self { metric, dim, rotation, scale: 1.0, centre: alloc::try_zeroed(size)?, centre_square: 0.0 };
        if count == 0 {
            return Ok(space);
        }
        let (sums, squares) = space.sums(vectors, count)?;
        let mean: Vec<f64> = alloc::try_collect(sums.iter().map(|sum| sum / count as f64))?;
        if metric != Metric::Cosine {
            let about_zero = squares / count as f64;
            let about_mean = about_zero - mean.iter().map(|m| m * m).sum::<f64>();
            let typical = if about_mean > 1e-12 * about_zero { about_mean } else { about_zero };
            let exponent = if typical > 0.0 { (typical.to_bits() >> 52) as i32 - 1023 } else { 0 };
            space.scale = 2.0_f32.powi((-exponent / 2).clamp(-100, 100));
        }
        for (centre, mean) in space.centre.iter_mut().zip(mean) {
            *centre = (mean * f64::from(space.scale)) as f32;
        }
        space.set_centre_square();
        if !space.centre_square.is_finite() || space.centre_square > FARTHEST * FARTHEST {
            return Err(far("the mean of the vectors".to_string()));
        }
        Ok(space)
    }

    /// The space of a file.
    pub(super) fn opened(metric: Metric, rotation: Rotation, dim: usize, scale: f32, centre: Vec<f32>) -> Self {
        let mut space = Self { metric, dim, rotation, scale, centre, centre_square: 0.0 };
        space.set_centre_square();
        space
    }

    fn set_centre_square(&mut self) {
        self.centre_square = product(&self.centre, &self.centre);
    }

    /// The sums of all points before they are scaled, and the sum of their squares.
    fn sums(&self, vectors: Vectors<'_>, count: usize) -> Result<(Vec<f64>, f64)> {
        let stop = &CancelToken::current();
        let instructions = Instructions::best();
        let parts = alloc::try_map_parallel((0..count.div_ceil(CHUNK)).into_par_iter().map(|chunk| {
            stop.check()?;
            let (mut sums, mut squares, mut point) = (alloc::try_zeroed::<f64>(self.dim)?, 0.0, Vec::new());
            for row in chunk * CHUNK..((chunk + 1) * CHUNK).min(count) {
                vectors.widen(self.dim, row, &mut point);
                self.point(instructions, &mut point).ok_or_else(|| far(format!("row {row}")))?;
                for (sum, &value) in sums.iter_mut().zip(&point) {
                    *sum += f64::from(value);
                    squares += f64::from(value) * f64::from(value);
                }
            }
            Ok((sums, squares))
        }))?;
        let (mut sums, mut squares) = (alloc::try_zeroed::<f64>(self.dim)?, 0.0);
        for (some, square) in parts {
            sums.iter_mut().zip(some).for_each(|(sum, some)| *sum += some);
            squares += square;
        }
        Ok((sums, squares))
    }

    /// A vector as a point, padded to D; None where a value is out of range.
    fn point(&self, instructions: Instructions, values: &mut Vec<f32>) -> Option<()> {
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

    /// Makes of a vector, `values`, its rotated form; None where a value is out of range.
    #[inline]
    pub(super) fn place(&self, instructions: Instructions, values: &mut Vec<f32>) -> Option<Placed> {
        self.point(instructions, values)?;
        let placed = instructions.run(
            #[inline(always)]
            || {
                for (value, &centre) in values.iter_mut().zip(&self.centre) {
                    *value -= centre;
                }
                let along = if self.metric == Metric::InnerProduct { product(values, &self.centre) } else { 0.0 };
                Placed { square: square(values), along }
            },
        );
        if placed.square > FARTHEST * FARTHEST || !placed.square.is_finite() || !placed.along.is_finite() {
            return None;
        }
        self.rotation.rotate(instructions, values);
        Some(placed)
    }

    /// What every bound of a query is increased by, where it is seen from the mean.
    pub(super) fn base(&self, query: Placed) -> f32 {
        if self.metric == Metric::InnerProduct {
            rounded_down(-(query.along + self.centre_square), query.along.abs() + self.centre_square)
        } else {
            query.square
        }
    }

    /// Rows with a bound above this are farther than `distance`.
    pub(super) fn limit(&self, distance: f64) -> f32 {
        let scale = f64::from(self.scale) * f64::from(self.scale);
        let bound = match self.metric {
            Metric::L2 if distance < 0.0 => return f32::NEG_INFINITY,
            Metric::L2 | Metric::L1 => distance * distance * scale * (1.0 + SLACK),
            Metric::Cosine => 2.0 * distance + SLACK,
            Metric::InnerProduct => distance * scale + SLACK * (distance * scale).abs(),
        };
        (bound as f32).next_up()
    }
}

/// A vector that codes can't see.
pub(super) fn far(place: String) -> Error {
    let reason =
        "its length is out of the range of single precision, or 1e15 times that of typical vectors; scale or drop it";
    Error::input(place, reason)
}
