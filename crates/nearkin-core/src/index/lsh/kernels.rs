//! Sums over the coordinates of two dense vectors, for each type that an index keeps.
//!
//! | kept as | query | sums | same bits as |
//! |---|---|---|---|
//! | `f32`, `f64` | the same | in that type | |
//! | `u8`, `i8` | the same | whole numbers, exact | |
//! | `u8`, `i8`, float16 | `f32` | in `f32`, coordinates widened in registers | `f32` rows of the same numbers |
//!
//! **Order of floating-point sums.** Element i is added to sum i mod 32; the 32 sums are folded in halves (16, 8, 4, 2, 1).
//! Products are rounded before they are added (no fused multiply-add). So a compiler may use vectors of any width up to
//! 32, and every processor gives the same bits. Whole numbers need no order: the square of a difference is below 2^16, so that 2^14 of
//! them fit into 32 bits, and blocks of as many are added in 64.
//!
//! A float16 is kept as its bits. They are widened by whole numbers: exponent and fraction move by 13 places, and the bias grows
//! by 112; a subnormal number becomes 2^-14 + f and loses 2^-14 again, so that no step has a subnormal `f32`, which some threads
//! flush to zero.

use std::ops::{Add, Mul, Neg, Sub};

use super::bytes::{self, SUMMED};
use super::rerank::{Dense, Metric};
use crate::cpu::features::Instructions;
use crate::segment::Plain;

/// Sums that a distance is made of.
const LANES: usize = 32;
/// Candidates that are asked for ahead.
const AHEAD: usize = 6;
/// Cache lines of each that are asked for: 2 KB. Rows lie apart, so that the processor's own prefetcher starts again with each.
pub(super) const LINES: usize = 32;

/// A floating-point number of a query.
pub(super) trait Real:
    Plain + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + Send + Sync
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// The correctly rounded square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// The quotient.
    #[must_use]
    fn over(self, divisor: Self) -> Self;
    /// Exactly, in double precision.
    fn wide(self) -> f64;
}

/// A coordinate as an index keeps it.
pub trait Element: Plain + Send + Sync {
    /// What is kept of a row for the cosine: its norm, or the square of it where that is a whole number.
    type Norm: Plain + Send + Sync;
    /// The norm of a row, or its square.
    fn norm(row: &[Self]) -> Self::Norm;
    /// Whether a row of this norm has an angle: it is neither zero nor infinite.
    fn has_angle(norm: Self::Norm) -> bool;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// As `float32`, rounded where it is a `float64`.
    fn single(self) -> f32;
    /// The norm as `float32`.
    fn length(norm: Self::Norm) -> f32;
}

/// A coordinate that is a whole number of eight bits.
pub(super) trait Whole: Element<Norm = u64> {
    /// The product.
    fn times(self, other: Self) -> i32;
    /// The difference.
    fn apart(self, other: Self) -> i32;
    /// Whether it may be below 0.
    #[cfg(target_arch = "x86_64")]
    const SIGNED: bool;
}

macro_rules! real {
    ($type:ty) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn over(self, divisor: Self) -> Self {
                self / divisor
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
        }

        impl Element for $type {
            type Norm = Self;
            #[inline(always)]
            fn norm(row: &[Self]) -> Self {
                fold(
                    row,
                    row,
                    #[inline(always)]
                    |x| x,
                    #[inline(always)]
                    |x| x,
                    #[inline(always)]
                    |a, b| a * b,
                )
                .sqrt()
            }
            fn has_angle(norm: Self) -> bool {
                norm != 0.0 && norm.is_finite()
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn length(norm: Self) -> f32 {
                norm as f32
            }
        }
    };
}
real!(f32);
real!(f64);

macro_rules! whole {
    ($type:ty) => {
        impl Element for $type {
            type Norm = u64;
            #[inline(always)]
            fn norm(row: &[Self]) -> u64 {
                sum(row, row, Whole::times) as u64
            }
            fn has_angle(norm: u64) -> bool {
                norm != 0
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                true
            }
            #[inline(always)]
            fn single(self) -> f32 {
                f32::from(self)
            }
            #[inline(always)]
            fn length(norm: u64) -> f32 {
                (norm as f64).sqrt() as f32
            }
        }

        impl Whole for $type {
            #[cfg(target_arch = "x86_64")]
            const SIGNED: bool = <$type>::MIN != 0;
            #[inline(always)]
            fn times(self, other: Self) -> i32 {
                i32::from(i16::from(self)) * i32::from(i16::from(other))
            }
            #[inline(always)]
            fn apart(self, other: Self) -> i32 {
                i32::from(i16::from(self) - i16::from(other))
            }
        }
    };
}
whole!(u8);
whole!(i8);

/// The bits of a float16.
impl Element for u16 {
    type Norm = f32;
    #[inline(always)]
    fn norm(row: &[Self]) -> f32 {
        fold(
            row,
            row,
            Self::single,
            Self::single,
            #[inline(always)]
            |a, b| a * b,
        )
        .sqrt()
    }
    fn has_angle(norm: f32) -> bool {
        f32::has_angle(norm)
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self & 0x7c00 != 0x7c00
    }
    /// Exact for numbers that are finite.
    #[inline(always)]
    fn single(self) -> f32 {
        const LEAST: u32 = 113 << 23;
        let (rest, sign) = (u32::from(self & 0x7fff) << 13, u32::from(self & 0x8000) << 16);
        let subnormal = f32::from_bits(rest | LEAST) - f32::from_bits(LEAST);
        let normal = f32::from_bits(rest + (112 << 23));
        let value = if self & 0x7c00 == 0 { subnormal } else { normal };
        f32::from_bits(value.to_bits() | sign)
    }
    #[inline(always)]
    fn length(norm: f32) -> f32 {
        norm
    }
}

/// Sum of `step` over the elements as `Q`, in the order of the header.
///
/// The terms of 32 elements are made before they are added: compilers make vectors of two plain loops, not of one.
#[inline(always)]
fn fold<A: Plain, B: Plain, Q: Real>(
    a: &[A],
    b: &[B],
    left: impl Fn(A) -> Q,
    right: impl Fn(B) -> Q,
    step: impl Fn(Q, Q) -> Q,
) -> Q {
    let mut sums = [Q::ZERO; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        let mut terms = [Q::ZERO; LANES];
        for i in 0..LANES {
            terms[i] = step(left(a[i]), right(b[i]));
        }
        for i in 0..LANES {
            sums[i] = sums[i] + terms[i];
        }
    }
    for (sum, (&a, &b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum = *sum + step(left(a), right(b));
    }
    summed(&sums)
}

/// The sum of 32 numbers: the upper half is added to the lower, five times.
///
/// Each half is an array of its own: compilers keep those in registers, where of one array they make stores and loads.
#[inline(always)]
pub(super) fn summed<Q: Real>(all: &[Q; LANES]) -> Q {
    let (mut half, mut quarter, mut eighth) = ([Q::ZERO; 16], [Q::ZERO; 8], [Q::ZERO; 4]);
    for i in 0..16 {
        half[i] = all[i] + all[i + 16];
    }
    for i in 0..8 {
        quarter[i] = half[i] + half[i + 8];
    }
    for i in 0..4 {
        eighth[i] = quarter[i] + quarter[i + 4];
    }
    (eighth[0] + eighth[2]) + (eighth[1] + eighth[3])
}

/// Sum of `step`, whole numbers below 2^16 in amount.
#[inline(always)]
fn sum<T: Plain>(a: &[T], b: &[T], step: impl Fn(T, T) -> i32) -> i64 {
    let mut total = 0;
    for (a, b) in a.chunks(SUMMED).zip(b.chunks(SUMMED)) {
        let mut part = 0;
        for (&a, &b) in a.iter().zip(b) {
            part += step(a, b);
        }
        total += i64::from(part);
    }
    total
}

/// 1 - dot / norms, within 0 to 2.
#[inline(always)]
pub(super) fn cosine<Q: Real>(dot: Q, norms: Q) -> Q {
    let distance = Q::ONE - dot.over(norms);
    if distance < Q::ZERO { Q::ZERO } else { distance }
}

/// Appends what `distance` says of each row: the next ones are asked for meanwhile.
#[inline(always)]
fn each_row<T: Element, Q: Real>(
    kept: &Dense<T>,
    rows: &[u32],
    out: &mut Vec<(f64, u32)>,
    distance: impl Fn(&[T], usize) -> Q,
) {
    let dim = kept.dim;
    let values: &[T] = &kept.values;
    rows.iter().take(AHEAD).for_each(|&row| kept.prefetch(row));
    for (place, &row) in rows.iter().enumerate() {
        if let Some(&next) = rows.get(place + AHEAD) {
            kept.prefetch(next);
        }
        let row_values = &values[row as usize * dim..(row as usize + 1) * dim];
        // -0 and 0 are one distance.
        out.push((distance(row_values, row as usize).wide() + 0.0, row));
    }
}

/// Distances of a query to some rows, whose coordinates `wide` makes those of the query's type, and whose norms `length`.
///
/// A loop for each metric: compilers make no vectors of sums that are chosen within a loop.
#[inline(always)]
pub(super) fn floating<T: Element, Q: Real + Element<Norm = Q>>(
    metric: Metric,
    query: &[Q],
    kept: &Dense<T>,
    wide: impl Fn(T) -> Q + Copy,
    length: impl Fn(T::Norm) -> Q,
    rows: &[u32],
    out: &mut Vec<(f64, u32)>,
) {
    match metric {
        Metric::L2 => each_row(
            kept,
            rows,
            out,
            #[inline(always)]
            |row, _| {
                fold(
                    query,
                    row,
                    #[inline(always)]
                    |x| x,
                    wide,
                    #[inline(always)]
                    |a, b| (a - b) * (a - b),
                )
                .sqrt()
            },
        ),
        Metric::L1 => each_row(
            kept,
            rows,
            out,
            #[inline(always)]
            |row, _| {
                fold(
                    query,
                    row,
                    #[inline(always)]
                    |x| x,
                    wide,
                    #[inline(always)]
                    |a, b| Real::abs(a - b),
                )
            },
        ),
        Metric::Cosine => {
            let norms: &[T::Norm] = &kept.norms;
            let norm = Q::norm(query);
            each_row(
                kept,
                rows,
                out,
                #[inline(always)]
                |row, number| {
                    cosine(
                        fold(
                            query,
                            row,
                            #[inline(always)]
                            |x| x,
                            wide,
                            #[inline(always)]
                            |a, b| a * b,
                        ),
                        norm * length(norms[number]),
                    )
                },
            );
        }
        Metric::InnerProduct => each_row(
            kept,
            rows,
            out,
            #[inline(always)]
            |row, _| {
                -fold(
                    query,
                    row,
                    #[inline(always)]
                    |x| x,
                    wide,
                    #[inline(always)]
                    |a, b| a * b,
                )
            },
        ),
    }
}

/// Distances of a query of whole numbers to some rows, rounded to `f32` once at the end.
pub(super) fn whole<T: Whole>(
    instructions: Instructions,
    metric: Metric,
    query: &[T],
    kept: &Dense<T>,
    rows: &[u32],
    out: &mut Vec<(f64, u32)>,
) {
    match metric {
        Metric::L2 => {
            each_row(kept, rows, out, |row, _| (bytes::squares(instructions, query, row) as f64).sqrt() as f32);
        }
        Metric::L1 => instructions.run(
            #[inline(always)]
            || {
                each_row(
                    kept,
                    rows,
                    out,
                    #[inline(always)]
                    |row, _| {
                        sum(
                            query,
                            row,
                            #[inline(always)]
                            |a, b| a.apart(b).abs(),
                        ) as f32
                    },
                );
            },
        ),
        Metric::Cosine => {
            let norms: &[u64] = &kept.norms;
            let square = bytes::products(instructions, query, query) as f64;
            // The root of the product of squares: a vector is at no distance from itself.
            each_row(kept, rows, out, |row, number| {
                let dot = bytes::products(instructions, query, row) as f64;
                cosine(dot, (square * norms[number] as f64).sqrt()) as f32
            });
        }
        Metric::InnerProduct => {
            each_row(kept, rows, out, |row, _| -bytes::products(instructions, query, row) as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition of IEEE 754 binary16.
    fn half(bits: u16) -> f64 {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        let value = if exponent == 0 {
            fraction * 2.0_f64.powi(-24)
        } else {
            (1024.0 + fraction) * 2.0_f64.powi(exponent - 25)
        };
        if bits >> 15 == 1 { -value } else { value }
    }

    #[test]
    fn every_finite_float16_is_widened_exactly() {
        for bits in 0..=u16::MAX {
            assert_eq!(bits >> 10 & 31 != 31, bits.is_finite());
            if bits.is_finite() {
                assert_eq!(half(bits).to_bits(), f64::from(bits.single()).to_bits(), "{bits:#x}");
            }
        }
    }

    #[test]
    fn sums_of_whole_numbers_are_exact_at_any_length() {
        for length in [0, 1, SUMMED - 1, SUMMED, 3 * SUMMED + 5] {
            let (none, most) = (vec![0_u8; length], vec![u8::MAX; length]);
            assert_eq!(65025 * length as i64, sum(&none, &most, |a, b| a.apart(b) * a.apart(b)));
            let (low, high) = (vec![i8::MIN; length], vec![i8::MAX; length]);
            assert_eq!(65025 * length as i64, sum(&low, &high, |a, b| a.apart(b) * a.apart(b)));
            assert_eq!(-16256 * length as i64, sum(&low, &high, Whole::times));
            assert_eq!(16384 * length as u64, i8::norm(&low));
        }
    }
}
