//! Codes of a few rows, without an external matrix product: products in `f32` first, in registers, and again in the
//! fixed order if these do not decide.
//!
//! A product here is a sum in sixteen lanes, joined by a tree: at most ⌈d/16⌉ + 5 roundings on the path of a term,
//! fused or not, and one more if the row is narrowed from `f64`. So it differs from the exact one by at most
//! ```text
//! τ = 2 γ ‖x‖ ‖a‖ + slack        γ = n u / (1 − n u), n = ⌈d/16⌉ + 16, u = 2^-24
//! ```
//! with the factor 2 for the error of the fixed order, as in the header of `projection`. Values closer to their
//! boundary are computed by [`exact`]: a share of about 2 γ √d of Gaussian functions, so less than one per row.
//!
//! Cost: d m multiplications in `f32`, sixteen at a time with AVX-512: about the time to read the matrix from the
//! cache. Tests: against the exact path for every type here; against batches in `tests/families/test_same_bits.py`.

use super::decide::{Affine, BAND, Bound, FLOOR, SIGN, run};
use super::{Quantity, Real, dots, exact, norm_bounds};
#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx512;
use crate::cpu::features::Instructions;
use crate::{Result, alloc};

/// Parameters of the rows aⱼ of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct Functions<'a> {
    /// Added to each product.
    pub offset: &'a [f64],
    /// ‖aⱼ‖.
    pub norms: &'a [f64],
    /// Further uncertainty: the rounding of the offset, products that vanish in `f32`.
    pub slack: &'a [f64],
}

/// Dimensions from which on γ is no longer small.
const MAX_DIMENSION: usize = 1 << 20;

/// A few rows to be hashed.
#[derive(Debug, Clone, Copy)]
pub struct FewRows<'a, X, A> {
    /// The rows x.
    pub x: &'a [X],
    /// The rows aⱼ of the matrix.
    pub a: &'a [A],
    /// Length of a row.
    pub dimension: usize,
    /// Number of the first row in messages.
    pub first: usize,
    /// Parameters of the functions.
    pub functions: Functions<'a>,
}

impl<X: Real, A: Real> FewRows<'_, X, A> {
    /// Write packed bits x·aⱼ + offset[j] > 0 of the rows into `codes`; return bounds of their norms, as
    /// [`norm_bounds`].
    ///
    /// # Errors
    /// As [`norm_bounds`]; memory runs out.
    pub fn signs(self, codes: &mut [u64]) -> Result<Vec<f64>> {
        self.write::<SIGN>((&[], 1.0), codes, &mut [])
    }

    /// Write packed bits |v − nearest integer| <= half[j], v = x·aⱼ + offset[j], of the rows into `codes`.
    ///
    /// # Errors
    /// As [`Self::signs`].
    pub fn bands(self, half: &[f64], codes: &mut [u64]) -> Result<Vec<f64>> {
        self.write::<BAND>((half, 1.0), codes, &mut [])
    }

    /// Write keys ⌊(x·aⱼ + offset[j]) / width⌋ of the rows into `keys`; out-of-range keys become the ends of `i64`.
    ///
    /// # Errors
    /// As [`Self::signs`].
    pub fn floors(self, width: f64, keys: &mut [i64]) -> Result<Vec<f64>> {
        self.write::<FLOOR>((&[], width), &mut [], keys)
    }

    fn write<const KIND: u8>(
        self,
        (half, width): (&[f64], f64),
        codes: &mut [u64],
        keys: &mut [i64],
    ) -> Result<Vec<f64>> {
        let Self { x, a, dimension: d, first, functions } = self;
        let norms = norm_bounds(x, d, first)?;
        let (d, m) = (d.max(1), functions.offset.len());
        let rule = Rule { offset: functions.offset, half, width };
        let Some(single) = A::single(a).filter(|_| d < MAX_DIMENSION && m > 0) else {
            let mut products: Vec<f64> = alloc::try_zeroed(m)?;
            codes.fill(0);
            for (row, x) in x.chunks_exact(d).enumerate() {
                dots(x, a, &mut products);
                for (j, &product) in products.iter().enumerate() {
                    put::<KIND>(rule, (row, j), product, codes, keys);
                }
            }
            return Ok(norms);
        };
        let mut products: Vec<f32> = alloc::try_zeroed(norms.len().saturating_mul(m))?;
        let mut narrow: Vec<f32> = Vec::new();
        for (x, out) in x.chunks_exact(d).zip(products.chunks_exact_mut(m)) {
            let x = if let Some(x) = X::single(x) {
                x
            } else {
                narrow.clear();
                narrow.extend(x.iter().map(|value| value.wide() as f32));
                &narrow
            };
            products_single(x, single, out);
        }
        let relative = (d.div_ceil(16) + 16) as f64 / f64::from(1 << 24);
        let rows: Vec<f64> = norms.iter().map(|norm| 2.0 * relative / (1.0 - relative) * norm).collect();
        let bound = Bound { rows: &rows, columns: functions.norms, row_slack: &[], column_slack: functions.slack };
        let affine = Affine { factor: 1.0, row_offset: &[], offset: functions.offset, bound };
        let (rows, columns) = run::<f32, KIND>(&products, affine, (half, width), codes, keys);
        let again = exact(x, a, d, (&rows, &columns), Quantity::Product);
        for ((&row, &column), product) in rows.iter().zip(&columns).zip(again) {
            put::<KIND>(rule, (row as usize, column as usize), product, codes, keys);
        }
        Ok(norms)
    }
}

/// Parameters of the codes of a row.
#[derive(Clone, Copy)]
struct Rule<'a> {
    offset: &'a [f64],
    half: &'a [f64],
    width: f64,
}

/// Write the code of the exact product of a row and function j.
#[inline]
fn put<const KIND: u8>(rule: Rule<'_>, (row, j): (usize, usize), product: f64, codes: &mut [u64], keys: &mut [i64]) {
    let (value, m) = (product + rule.offset[j], rule.offset.len());
    let bit = match KIND {
        SIGN => value > 0.0,
        BAND => (value - value.round_ties_even()).abs() <= rule.half[j],
        _ => {
            keys[row * m + j] = (value / rule.width).floor() as i64;
            return;
        }
    };
    let word = &mut codes[row * m.div_ceil(64) + j / 64];
    *word = *word & !(1 << (j % 64)) | u64::from(bit) << (j % 64);
}

/// Compute the products of `N` rows with x, in sixteen lanes.
#[inline(always)]
fn lanes_body<const N: usize>(x: &[f32], a: [&[f32]; N]) -> [f32; N] {
    let mut sums = [[0.0_f32; 16]; N];
    let vectorised = x.len() / 16 * 16;
    for at in (0..vectorised).step_by(16) {
        let x = &x[at..at + 16];
        for (sums, a) in sums.iter_mut().zip(&a) {
            for ((sum, x), a) in sums.iter_mut().zip(x).zip(&a[at..at + 16]) {
                *sum += x * a;
            }
        }
    }
    for (sums, a) in sums.iter_mut().zip(&a) {
        for ((sum, x), a) in sums.iter_mut().zip(&x[vectorised..]).zip(&a[vectorised..]) {
            *sum += x * a;
        }
    }
    sums.map(|mut sums| {
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                sums[lane] += sums[lane + half];
            }
        }
        sums[0]
    })
}

#[inline(always)]
fn products_body(x: &[f32], a: &[f32], out: &mut [f32]) {
    let d = x.len();
    let mut at = 0;
    let mut four = out.chunks_exact_mut(4);
    for out in four.by_ref() {
        out.copy_from_slice(&lanes_body::<4>(x, std::array::from_fn(|row| &a[(at + row) * d..(at + row + 1) * d])));
        at += 4;
    }
    for out in four.into_remainder() {
        [*out] = lanes_body(x, [&a[at * d..(at + 1) * d]]);
        at += 1;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
#[inline]
fn lanes_avx512<const N: usize>(x: &[f32], a: [&[f32]; N]) -> [f32; N] {
    use std::arch::x86_64::{
        _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_reduce_add_ps, _mm512_setzero_ps,
    };
    let vectorised = x.len() / 16 * 16;
    let mut sums = [_mm512_setzero_ps(); N];
    for at in (0..vectorised).step_by(16) {
        // SAFETY: sixteen values, of the row and of all others.
        let load = |values: &[f32]| unsafe { _mm512_loadu_ps(values[at..at + 16].as_ptr()) };
        let part = load(x);
        for row in 0..N {
            sums[row] = _mm512_fmadd_ps(part, load(a[row]), sums[row]);
        }
    }
    if vectorised < x.len() {
        // SAFETY: as many values as the mask has bits.
        let load = |values: &[f32]| unsafe {
            let rest = &values[vectorised..];
            _mm512_maskz_loadu_ps((1 << rest.len()) - 1, rest.as_ptr())
        };
        let part = load(x);
        for row in 0..N {
            sums[row] = _mm512_fmadd_ps(part, load(a[row]), sums[row]);
        }
    }
    std::array::from_fn(|row| _mm512_reduce_add_ps(sums[row]))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn products_avx512(x: &[f32], a: &[f32], out: &mut [f32]) {
    let d = x.len();
    let mut at = 0;
    let mut eight = out.chunks_exact_mut(8);
    for out in eight.by_ref() {
        out.copy_from_slice(&lanes_avx512::<8>(x, std::array::from_fn(|row| &a[(at + row) * d..][..d])));
        at += 8;
    }
    for out in eight.into_remainder() {
        [*out] = lanes_avx512(x, [&a[at * d..][..d]]);
        at += 1;
    }
}

/// Compute x·aⱼ for every row of a matrix, within γ ‖x‖ ‖aⱼ‖; the last digits depend on the processor.
fn products_single(x: &[f32], a: &[f32], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if Avx512::detect().is_some() {
        // SAFETY: `detect` has just returned the proof.
        return unsafe { products_avx512(x, a, out) };
    }
    Instructions::best().run(
        #[inline(always)]
        || products_body(x, a, out),
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{all_products, norms};
    use super::*;
    use crate::vectors::random;

    /// Return the slack for `f32` products that vanish and for offsets, as the caller computes it.
    fn slack(offset: &[f64], norms: &[f64], d: usize) -> Vec<f64> {
        let flushed = |norm: f64| d as f64 * f64::from(f32::MIN_POSITIVE) * (1.0 + norm);
        offset.iter().zip(norms).map(|(offset, &norm)| 4.0 * f64::EPSILON * offset.abs() + flushed(norm)).collect()
    }

    proptest! {
        /// Check that codes and keys of every type are those of exact products, also if values are at a boundary,
        /// vanish or overflow in `f32`.
        #[test]
        fn codes_are_those_of_exact_products(
            (rows, m, d) in (1_usize..4, 1_usize..80, 1_usize..70),
            seed: u64,
            scale in prop::sample::select(vec![1.0_f64, 1e-3, 1e-25, 1e-40, 1e19, 1e60]),
            near in any::<bool>(),
        ) {
            let a: Vec<f32> = random::matrix((seed, 0, 0), m, d, random::gaussian_at).expect("a matrix");
            let x: Vec<f64> = random::matrix((seed, 1, 0), rows, d, |base, column| {
                random::gaussian(random::word(base, column)) * scale
            }).expect("a matrix");
            let single: Vec<f32> = x.iter().map(|&value| value as f32).collect();
            let finite = single.iter().all(|value| value.abs() < 1e30);
            let wide: Vec<f64> = a.iter().map(|&value| f64::from(value)).collect();
            let lengths = norms(&a, d, 0).expect("finite");
            let half = vec![0.2; m];
            let width = 0.7 * scale;
            macro_rules! compare {
                ($x:expr, $a:expr) => {
                    let products = all_products($x, $a, d).expect("products");
                    // Offsets that put the first row next to its boundary.
                    let offset: Vec<f64> = (0..m).map(|j| {
                        if near && j % 3 == 0 { -products[j] * (1.0 + f64::from(j as u32 % 5) * 1e-9) } else { 0.3 * scale }
                    }).collect();
                    let slack = slack(&offset, &lengths, d);
                    let functions = Functions { offset: &offset, norms: &lengths, slack: &slack };
                    let rule = Rule { offset: &offset, half: &half, width };
                    let words = m.div_ceil(64);
                    let mut expected = [vec![0_u64; rows * words], vec![0; rows * words]];
                    let mut keys = vec![0_i64; rows * m];
                    for (at, &product) in products.iter().enumerate() {
                        put::<SIGN>(rule, (at / m, at % m), product, &mut expected[0], &mut []);
                        put::<BAND>(rule, (at / m, at % m), product, &mut expected[1], &mut []);
                        put::<FLOOR>(rule, (at / m, at % m), product, &mut [], &mut keys);
                    }
                    let (mut codes, mut found) = (vec![u64::MAX; rows * words], vec![7; rows * m]);
                    let batch = FewRows { x: $x, a: $a, dimension: d, first: 0, functions };
                    batch.signs(&mut codes).expect("signs");
                    prop_assert_eq!(&expected[0], &codes);
                    batch.bands(&half, &mut codes).expect("bands");
                    prop_assert_eq!(&expected[1], &codes);
                    batch.floors(width, &mut found).expect("floors");
                    prop_assert_eq!(&keys, &found);
                };
            }
            compare!(&x, &a);
            compare!(&x, &wide);
            if finite {
                compare!(&single, &a);
                compare!(&single, &wide);
            }
        }

        /// Check that both forms are within the bound of the header.
        #[test]
        fn products_stay_within_their_bound(m in 1_usize..40, d in 1_usize..400, seed: u64) {
            let a: Vec<f32> = random::matrix((seed, 2, 0), m, d, random::gaussian_at).expect("a matrix");
            let x: Vec<f32> = random::matrix((seed, 3, 0), 1, d, random::gaussian_at).expect("a matrix");
            let (exact, lengths) = (all_products(&x, &a, d).expect("products"), norms(&a, d, 0).expect("finite"));
            let length = norms(&x, d, 0).expect("finite")[0];
            let (mut plain, mut fastest) = (vec![0.0; m], vec![0.0; m]);
            products_body(&x, &a, &mut plain);
            products_single(&x, &a, &mut fastest);
            let relative = (d.div_ceil(16) + 16) as f64 / f64::from(1 << 24);
            for j in 0..m {
                for found in [plain[j], fastest[j]] {
                    prop_assert!((f64::from(found) - exact[j]).abs() <= relative * length * lengths[j]);
                }
            }
        }
    }
}
