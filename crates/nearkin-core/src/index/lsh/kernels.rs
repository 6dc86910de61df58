//! Distances between dense vectors, for each element type that an index stores.
//!
//! | stored as | query | sums | same bits as |
//! |---|---|---|---|
//! | `f32`, `f64` | the same | in that type | |
//! | `u8`, `i8` | the same | integers, exact | |
//! | `u8`, `i8`, float16 | `f32` | in `f32`, coordinates widened in registers | `f32` rows of the same numbers |
//!
//! **Order of floating-point sums.** Element i is added to sum i mod 32; the 32 sums are folded in halves (16, 8, 4, 2, 1).
//! Products are rounded before they are added (no fused multiply-add). So a compiler may use vectors of any width up to
//! 32, and every processor gives the same bits.
//!
//! **Integer sums** need no order. The square of a difference is below 2^16, so 2^14 of them fit into 32 bits; blocks of
//! that length are added in 64 bits. `madd` multiplies pairs of 16-bit numbers and adds both products, which takes 16 or 32
//! coordinates in three instructions; compilers reach a quarter of that speed from the plain loop.
//!
//! A float16 is stored as its bits and widened by integer operations: exponent and fraction move by 13 places, and the
//! bias grows by 112. A subnormal number becomes 2^-14 + f and loses 2^-14 again, so that no step has a subnormal `f32`,
//! which some threads flush to zero.

use std::ops::{Add, Mul, Neg, Sub};

use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::prefetch::prefetch_at;
use crate::segment::{Column, Plain};
use crate::{Result, alloc};

/// Sums that a distance is made of.
const LANES: usize = 32;
/// Products or squares of differences of bytes whose sum is below 2^31.
const BYTE_BLOCK: usize = 1 << 14;
/// Number of candidates to prefetch ahead.
const AHEAD: usize = 6;
/// Cache lines to prefetch of each candidate: 2 KB. Candidates are scattered, so the hardware prefetcher restarts at each.
pub(super) const LINES: usize = 32;

named! {
    /// Distance between two vectors.
    pub enum Metric("metric") {
        /// Euclidean.
        L2 = "l2",
        /// Sum of absolute differences.
        L1 = "l1",
        /// 1 - cosine.
        Cosine = "cosine",
        /// The negative inner product.
        InnerProduct = "inner_product",
    }
}

/// Dense vectors of one type, row-major.
#[derive(Debug)]
pub struct Dense<T: Element> {
    pub(crate) dim: usize,
    pub(crate) values: Column<T>,
    /// Norm of each row, or its square; empty unless the metric is the cosine.
    pub(crate) norms: Column<T::Norm>,
}

impl<T: Element> Dense<T> {
    pub(super) fn new(dim: usize) -> Self {
        Self { dim, values: Column::default(), norms: Column::default() }
    }

    pub(super) fn push(&mut self, metric: Metric, new: &[T], cancel: &CancelToken) -> Result<()> {
        let mut norms = Vec::new();
        if metric == Metric::Cosine {
            norms = alloc::try_with_capacity(new.len() / self.dim)?;
            for rows in cancel.ranges(0..new.len() / self.dim) {
                norms.extend(rows.map(|row| T::norm(&new[row * self.dim..][..self.dim])));
            }
            cancel.check()?;
        }
        self.norms.reserve(norms.len(), cancel)?;
        self.values.append(new, cancel)?;
        self.norms.to_mut().extend_from_slice(&norms);
        Ok(())
    }

    /// Return true if the norms are those of the rows.
    pub(super) fn norms_are_sound(&self) -> bool {
        self.norms.iter().enumerate().all(|(row, norm)| *norm == T::norm(self.row(&self.values, row)))
    }

    pub(super) fn bytes(&self) -> usize {
        self.values.bytes() + self.norms.bytes()
    }

    pub(super) fn row<'a, V>(&self, values: &'a [V], row: usize) -> &'a [V] {
        &values[row * self.dim..(row + 1) * self.dim]
    }

    /// Copy some rows out, in their order.
    pub(super) fn gather(&self, rows: &[u32]) -> Result<Vec<T>> {
        let mut values = alloc::try_with_capacity(rows.len() * self.dim)?;
        for &row in rows {
            values.extend_from_slice(self.row(&self.values, row as usize));
        }
        Ok(values)
    }

    /// Prefetch the first cache lines of a row.
    #[inline(always)]
    pub(super) fn prefetch(&self, row: u32) {
        let line = 64 / size_of::<T>();
        let values: &[T] = &self.values;
        for i in 0..self.dim.div_ceil(line).min(LINES) {
            prefetch_at(values, row as usize * self.dim + i * line);
        }
    }
}

/// A floating-point number of a query.
pub(super) trait Real:
    Plain + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + Send + Sync
{
    /// 0.
    const ZERO: Self;
    /// Return |self|.
    #[must_use]
    fn abs(self) -> Self;
    /// Return the correctly rounded square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// Return 1 - self / divisor, at least 0.
    #[must_use]
    fn one_minus_quotient(self, divisor: Self) -> Self;
    /// Convert to double precision, exactly.
    fn wide(self) -> f64;
}

/// A coordinate as an index stores it.
pub trait Element: Plain + Send + Sync {
    /// Stored per row for the cosine: the norm, or its square where that is an integer.
    type Norm: Plain + PartialEq + Send + Sync;
    /// Return the norm of a row, or its square.
    fn norm(row: &[Self]) -> Self::Norm;
    /// Return true if a row of this norm has an angle: the norm is neither zero nor infinite.
    fn has_angle(norm: Self::Norm) -> bool;
    /// Return true if the number is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// Convert to `float32`; a `float64` is rounded.
    fn single(self) -> f32;
    /// Convert the norm to `float32`.
    fn length(norm: Self::Norm) -> f32;
}

/// A coordinate that is an 8-bit integer.
pub(super) trait Whole: Element<Norm = u64> {
    /// Return the product.
    fn times(self, other: Self) -> i32;
    /// Return the difference.
    fn minus(self, other: Self) -> i32;
    /// True if the type has negative numbers.
    #[cfg(target_arch = "x86_64")]
    const SIGNED: bool;
}

macro_rules! real {
    ($($type:ty),+) => {$(
        impl Real for $type {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn one_minus_quotient(self, divisor: Self) -> Self {
                let distance = 1.0 - self / divisor;
                if distance < 0.0 { 0.0 } else { distance }
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
                fold(row, row, identity, identity, product).sqrt()
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
    )+};
}
real!(f32, f64);

macro_rules! whole {
    ($($type:ty),+) => {$(
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
            fn minus(self, other: Self) -> i32 {
                i32::from(i16::from(self) - i16::from(other))
            }
        }
    )+};
}
whole!(u8, i8);

/// The bits of a float16.
impl Element for u16 {
    type Norm = f32;
    #[inline(always)]
    fn norm(row: &[Self]) -> f32 {
        fold(row, row, Self::single, Self::single, product).sqrt()
    }
    fn has_angle(norm: f32) -> bool {
        f32::has_angle(norm)
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self & 0x7c00 != 0x7c00
    }
    /// Exact for finite numbers.
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

#[inline(always)]
pub(super) fn identity<Q>(value: Q) -> Q {
    value
}

#[inline(always)]
fn product<Q: Real>(a: Q, b: Q) -> Q {
    a * b
}

#[inline(always)]
fn squared_difference<Q: Real>(a: Q, b: Q) -> Q {
    (a - b) * (a - b)
}

#[inline(always)]
fn absolute_difference<Q: Real>(a: Q, b: Q) -> Q {
    Real::abs(a - b)
}

/// Sum `step` over the elements as `Q`, in the order of the header.
///
/// The terms of 32 elements are computed before they are added: compilers vectorise two plain loops, not one.
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
    // Without this barrier the compiler mixes the fold of the sums into the loop and shuffles lanes in each iteration.
    let mut sums = std::hint::black_box(sums);
    for (sum, (&a, &b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum = *sum + step(left(a), right(b));
    }
    summed(&sums)
}

/// Sum 32 numbers: the upper half is added to the lower half, five times.
///
/// Each half is an array of its own: compilers keep those in registers, but load and store a single array.
#[inline(always)]
pub(super) fn summed<Q: Real>(all: &[Q; LANES]) -> Q {
    let (mut half, mut quarter, mut eighth) = ([Q::ZERO; 16], [Q::ZERO; 8], [Q::ZERO; 4]);
    for i in 0..16 {
        half[i] = all[i] + all[i + 16];
    }
    // Barriers keep the compiler from folding pairs of sums instead of whole registers.
    let half = std::hint::black_box(half);
    for i in 0..8 {
        quarter[i] = half[i] + half[i + 8];
    }
    let quarter = std::hint::black_box(quarter);
    for i in 0..4 {
        eighth[i] = quarter[i] + quarter[i + 4];
    }
    (eighth[0] + eighth[2]) + (eighth[1] + eighth[3])
}

/// Sum `step`, integers below 2^16 in absolute value.
#[inline(always)]
fn sum<T: Plain>(a: &[T], b: &[T], step: impl Fn(T, T) -> i32) -> i64 {
    let mut total = 0;
    for (a, b) in a.chunks(BYTE_BLOCK).zip(b.chunks(BYTE_BLOCK)) {
        let mut block = 0;
        for (&a, &b) in a.iter().zip(b) {
            block += step(a, b);
        }
        total += i64::from(block);
    }
    total
}

/// Sum (a - b)² over bytes.
#[inline]
fn squares<T: Whole>(instructions: Instructions, a: &[T], b: &[T]) -> i64 {
    byte_sum::<T, false>(instructions, a, b)
}

/// Sum a b over bytes.
#[inline]
fn products<T: Whole>(instructions: Instructions, a: &[T], b: &[T]) -> i64 {
    byte_sum::<T, true>(instructions, a, b)
}

#[inline]
fn byte_sum<T: Whole, const PRODUCT: bool>(instructions: Instructions, a: &[T], b: &[T]) -> i64 {
    let size = a.len().min(b.len());
    a[..size].chunks(BYTE_BLOCK).zip(b[..size].chunks(BYTE_BLOCK)).fold(0, |total, (a, b)| {
        let block = match instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the match has the proof, and both blocks have the same length.
            Instructions::Avx512(_) => unsafe { x86::sum512::<T, PRODUCT>(a, b) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Instructions::Avx2(_) => unsafe { x86::sum256::<T, PRODUCT>(a, b) },
            _ => byte_sum_scalar::<T, PRODUCT>(a, b),
        };
        total + i64::from(block)
    })
}

#[inline(always)]
fn byte_sum_scalar<T: Whole, const PRODUCT: bool>(a: &[T], b: &[T]) -> i32 {
    a.iter().zip(b).fold(0, |sum, (&a, &b)| sum + if PRODUCT { a.times(b) } else { a.minus(b) * a.minus(b) })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #[allow(clippy::wildcard_imports, reason = "intrinsics by their names")]
    use std::arch::x86_64::*;

    use super::{Whole, byte_sum_scalar};

    /// # Safety
    /// The processor has the instructions; both slices have the same length, at most `BYTE_BLOCK`.
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn sum512<T: Whole, const PRODUCT: bool>(a: &[T], b: &[T]) -> i32 {
        const STEP: usize = 32;
        let (a_at, b_at) = (a.as_ptr().cast::<i8>(), b.as_ptr().cast::<i8>());
        let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        let mut at = 0;
        while at + 2 * STEP <= a.len() {
            // SAFETY: at least two full steps remain.
            let (a, b, next_a, next_b) = unsafe {
                (
                    _mm256_loadu_si256(a_at.add(at).cast()),
                    _mm256_loadu_si256(b_at.add(at).cast()),
                    _mm256_loadu_si256(a_at.add(at + STEP).cast()),
                    _mm256_loadu_si256(b_at.add(at + STEP).cast()),
                )
            };
            even = _mm512_add_epi32(even, pairs512::<T, PRODUCT>(a, b));
            odd = _mm512_add_epi32(odd, pairs512::<T, PRODUCT>(next_a, next_b));
            at += 2 * STEP;
        }
        while at < a.len() {
            let mask = u32::MAX >> (STEP - (a.len() - at).min(STEP));
            // SAFETY: the mask reads the remaining bytes only.
            let (a, b) =
                unsafe { (_mm256_maskz_loadu_epi8(mask, a_at.add(at)), _mm256_maskz_loadu_epi8(mask, b_at.add(at))) };
            even = _mm512_add_epi32(even, pairs512::<T, PRODUCT>(a, b));
            at += STEP;
        }
        _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd))
    }

    /// Return sums of two products, or of two squared differences.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn pairs512<T: Whole, const PRODUCT: bool>(a: __m256i, b: __m256i) -> __m512i {
        let (a, b) = if T::SIGNED {
            (_mm512_cvtepi8_epi16(a), _mm512_cvtepi8_epi16(b))
        } else {
            (_mm512_cvtepu8_epi16(a), _mm512_cvtepu8_epi16(b))
        };
        let difference = _mm512_sub_epi16(a, b);
        if PRODUCT { _mm512_madd_epi16(a, b) } else { _mm512_madd_epi16(difference, difference) }
    }

    /// # Safety
    /// The processor has the instructions; both slices have the same length, at most `BYTE_BLOCK`.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn sum256<T: Whole, const PRODUCT: bool>(a: &[T], b: &[T]) -> i32 {
        const STEP: usize = 16;
        let whole = a.len() / STEP * STEP;
        let mut sums = _mm256_setzero_si256();
        for at in (0..whole).step_by(STEP) {
            // SAFETY: a full step remains.
            let (a, b) =
                unsafe { (_mm_loadu_si128(a.as_ptr().add(at).cast()), _mm_loadu_si128(b.as_ptr().add(at).cast())) };
            let (a, b) = if T::SIGNED {
                (_mm256_cvtepi8_epi16(a), _mm256_cvtepi8_epi16(b))
            } else {
                (_mm256_cvtepu8_epi16(a), _mm256_cvtepu8_epi16(b))
            };
            let difference = _mm256_sub_epi16(a, b);
            let pairs = if PRODUCT { _mm256_madd_epi16(a, b) } else { _mm256_madd_epi16(difference, difference) };
            sums = _mm256_add_epi32(sums, pairs);
        }
        let half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b11_10_11_10>(half));
        let all = _mm_add_epi32(quarter, _mm_shuffle_epi32::<0b01>(quarter));
        _mm_cvtsi128_si32(all) + byte_sum_scalar::<T, PRODUCT>(&a[whole..], &b[whole..])
    }
}

/// Append the distance of each row, prefetching the next ones.
#[inline(always)]
fn each_row<T: Element, Q: Real>(
    stored: &Dense<T>,
    rows: &[u32],
    out: &mut Vec<(f64, u32)>,
    distance: impl Fn(&[T], usize) -> Q,
) {
    let values: &[T] = &stored.values;
    rows.iter().take(AHEAD).for_each(|&row| stored.prefetch(row));
    for (position, &row) in rows.iter().enumerate() {
        if let Some(&next) = rows.get(position + AHEAD) {
            stored.prefetch(next);
        }
        // -0 and 0 are one distance.
        out.push((distance(stored.row(values, row as usize), row as usize).wide() + 0.0, row));
    }
}

/// Append the distances of a query to some rows. `wide` converts a stored coordinate to the query's type, `length` a norm.
///
/// There is one loop per metric: compilers do not vectorise sums that are chosen within a loop.
pub(super) fn floating<T: Element, Q: Real + Element<Norm = Q>>(
    instructions: Instructions,
    metric: Metric,
    query: &[Q],
    stored: &Dense<T>,
    (wide, length): (impl Fn(T) -> Q + Copy, impl Fn(T::Norm) -> Q),
    rows: &[u32],
    out: &mut Vec<(f64, u32)>,
) {
    macro_rules! each_row {
        (|$row:ident, $number:ident| $distance:expr) => {
            each_row(
                stored,
                rows,
                out,
                #[inline(always)]
                |$row, $number| $distance,
            )
        };
    }
    instructions.run(
        #[inline(always)]
        || match metric {
            Metric::L2 => each_row!(|row, _number| fold(query, row, identity, wide, squared_difference).sqrt()),
            Metric::L1 => each_row!(|row, _number| fold(query, row, identity, wide, absolute_difference)),
            Metric::Cosine => {
                let (norms, norm): (&[T::Norm], _) = (&stored.norms, Q::norm(query));
                each_row!(|row, number| {
                    fold(query, row, identity, wide, product).one_minus_quotient(norm * length(norms[number]))
                });
            }
            Metric::InnerProduct => each_row!(|row, _number| -fold(query, row, identity, wide, product)),
        },
    );
}

/// Append the distances of a query of bytes to some rows, rounded to `f32` once at the end.
pub(super) fn whole<T: Whole>(
    instructions: Instructions,
    metric: Metric,
    query: &[T],
    stored: &Dense<T>,
    rows: &[u32],
    out: &mut Vec<(f64, u32)>,
) {
    match metric {
        Metric::L2 => {
            each_row(stored, rows, out, |row, _| (squares(instructions, query, row) as f64).sqrt() as f32);
        }
        Metric::L1 => instructions.run(
            #[inline(always)]
            || {
                each_row(
                    stored,
                    rows,
                    out,
                    #[inline(always)]
                    |row, _| sum(query, row, absolute_byte_difference) as f32,
                );
            },
        ),
        Metric::Cosine => {
            let norms: &[u64] = &stored.norms;
            let square = products(instructions, query, query) as f64;
            // The root of the product of squares: the distance of a vector from itself is 0.
            each_row(stored, rows, out, |row, number| {
                let dot = products(instructions, query, row) as f64;
                dot.one_minus_quotient((square * norms[number] as f64).sqrt()) as f32
            });
        }
        Metric::InnerProduct => {
            each_row(stored, rows, out, |row, _| -products(instructions, query, row) as f32);
        }
    }
}

#[inline(always)]
fn absolute_byte_difference<T: Whole>(a: T, b: T) -> i32 {
    a.minus(b).abs()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Return the value of a float16 by the definition of IEEE 754 binary16.
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
        for length in [0, 1, BYTE_BLOCK - 1, BYTE_BLOCK, 3 * BYTE_BLOCK + 5] {
            let (none, largest) = (vec![0_u8; length], vec![u8::MAX; length]);
            assert_eq!(65025 * length as i64, sum(&none, &largest, |a, b| a.minus(b) * a.minus(b)));
            let (low, high) = (vec![i8::MIN; length], vec![i8::MAX; length]);
            assert_eq!(65025 * length as i64, sum(&low, &high, |a, b| a.minus(b) * a.minus(b)));
            assert_eq!(-16256 * length as i64, sum(&low, &high, Whole::times));
            assert_eq!(16384 * length as u64, i8::norm(&low));
        }
    }

    proptest! {
        #[test]
        fn all_forms_give_the_exact_sums(a in prop::collection::vec(any::<u8>(), 0..300), b in prop::collection::vec(any::<u8>(), 0..300)) {
            let size = a.len().min(b.len());
            let (a, b) = (&a[..size], &b[..size]);
            let signed = |values: &[u8]| values.iter().map(|&value| value as i8).collect::<Vec<i8>>();
            let (c, d) = (signed(a), signed(b));
            let exact = |step: fn(i64, i64) -> i64, wide: &dyn Fn(usize) -> (i64, i64)| (0..size).map(|i| { let (x, y) = wide(i); step(x, y) }).sum::<i64>();
            let unsigned = |i: usize| (i64::from(a[i]), i64::from(b[i]));
            let with_sign = |i: usize| (i64::from(c[i]), i64::from(d[i]));
            for instructions in Instructions::available() {
                prop_assert_eq!(exact(|x, y| (x - y) * (x - y), &unsigned), squares(instructions, a, b));
                prop_assert_eq!(exact(|x, y| x * y, &unsigned), products(instructions, a, b));
                prop_assert_eq!(exact(|x, y| (x - y) * (x - y), &with_sign), squares(instructions, &c, &d));
                prop_assert_eq!(exact(|x, y| x * y, &with_sign), products(instructions, &c, &d));
            }
        }
    }

    #[test]
    fn long_vectors_of_the_largest_numbers_do_not_overflow() {
        for instructions in Instructions::available() {
            for length in [BYTE_BLOCK - 1, BYTE_BLOCK, 65_536] {
                let (none, largest) = (vec![0_u8; length], vec![u8::MAX; length]);
                assert_eq!(65025 * length as i64, squares(instructions, &none, &largest));
                assert_eq!(65025 * length as i64, products(instructions, &largest, &largest));
                let (low, high) = (vec![i8::MIN; length], vec![i8::MAX; length]);
                assert_eq!(65025 * length as i64, squares(instructions, &low, &high));
                assert_eq!(-16256 * length as i64, products(instructions, &low, &high));
            }
        }
    }
}
