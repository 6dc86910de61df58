//! Codes from products, and the positions that the products do not decide.
//!
//! | kernel | value v of product P | code | boundary |
//! |---|---|---|---|
//! | [`signs`] | rᵢ + cⱼ + f P | bit: v > 0 | 0 |
//! | [`floors`] | (P + cⱼ) / w | ⌊v⌋, `i64` | whole numbers |
//! | [`bands`] | P + cⱼ, less the nearest whole number | bit: \|v\| <= αⱼ | ±αⱼ |
//!
//! **Two steps.** With AVX-512, `f32` products are first compared sixteen at a time in `f32`. With u = 2^-24, r, c, w
//! and α rounded to `f32`, and one fused step v = (1 + δ)(f P + s), the values there differ from those in `f64` by at
//! most 3u (|rᵢ| + max|cⱼ|) + 2u |v| + 2u, which is added to the bound; f is a number of `f32`. A value farther from
//! its boundary is decided; the rest, a share of about 2 γ √d, is examined again in `f64`. So both steps together leave
//! the same positions unsure as `f64` alone.
//!
//! Cost: one pass over the products, about 0.1 ns each in `f32` and 1 ns in `f64`. Tests: here, every form against the
//! plain one, and sure decisions against exact values.

use crate::parallel::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::load as load_eight;
use super::{Real, worth_threads};
use crate::cancel::CancelToken;
#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx512;
use crate::cpu::features::Instructions;

/// Maximum error of a product: `rows[i] * columns[j] + row_slack[i] + column_slack[j]`.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    /// 2 γ ‖xᵢ‖ times the factor of the product.
    pub rows: &'a [f64],
    /// ‖aⱼ‖.
    pub columns: &'a [f64],
    /// Further uncertainty of a row; empty for zeros.
    pub row_slack: &'a [f64],
    /// Further uncertainty of a column.
    pub column_slack: &'a [f64],
}

/// Positions (row, column) that must be computed again.
pub type Unsure = (Vec<i64>, Vec<i64>);

/// The bits of [`signs`], of [`bands`], the keys of [`floors`].
pub(super) const SIGN: u8 = 0;
pub(super) const BAND: u8 = 1;
pub(super) const FLOOR: u8 = 2;

/// Parameters of a row and of all columns.
#[derive(Clone, Copy)]
struct Row<'a> {
    factor: f64,
    base: f64,
    /// Width of a cell, and its inverse.
    width: f64,
    inverse: f64,
    scale: f64,
    slack: f64,
    offset: &'a [f64],
    half: &'a [f64],
    columns: &'a [f64],
    column_slack: &'a [f64],
}

impl Row<'_> {
    /// Return true if the value is above its boundary, its floor, and whether that is sure.
    #[inline(always)]
    fn decide<const KIND: u8>(&self, j: usize, product: f64) -> (bool, f64, bool) {
        let value = self.factor * product + (self.base + self.offset[j]);
        let bound = self.scale * self.columns[j] + (self.slack + self.column_slack[j]);
        let (is_set, floor, margin) = match KIND {
            SIGN => (value > 0.0, 0.0, value.abs()),
            BAND => {
                let beyond = (value - value.round_ties_even()).abs() - self.half[j];
                (beyond <= 0.0, 0.0, beyond.abs())
            }
            _ => {
                let position = value * self.inverse;
                let floor = position.floor();
                (false, floor, (position - floor).min(floor + 1.0 - position) * self.width)
            }
        };
        (is_set, floor, margin > bound && margin <= f64::MAX)
    }
}

/// Parameters of all columns for the step in `f32`: offsets and half widths, norms and uncertainties rounded up.
#[cfg(target_arch = "x86_64")]
struct Columns {
    offset: Vec<f32>,
    half: Vec<f32>,
    norms: Vec<f32>,
    /// The largest uncertainty of a column, and the largest offset.
    slack: f64,
    largest: f64,
    /// Of the instructions of `row_quick`.
    _proof: Avx512,
}

/// What is decided of a row: words of bits or keys, and the columns that are not sure.
type Decided<'a> = (&'a mut [u64], &'a mut [i64], &'a mut Vec<u32>);

/// Return a number that is at least `value`, with a margin for rounding to `f32` and a few operations.
#[cfg(target_arch = "x86_64")]
fn above(value: f64) -> f32 {
    (value * (1.0 + 1e-6) + 1e-37) as f32
}

#[cfg(target_arch = "x86_64")]
impl Columns {
    /// Return None if the processor, the type of the products or the factor prevents a decision in `f32`.
    fn of<P: Real>(affine: Affine<'_>, half: &[f64]) -> Option<Self> {
        let exact = f64::from(affine.factor as f32).to_bits() == affine.factor.to_bits();
        P::single(&[]).filter(|_| exact)?;
        Avx512::detect().map(|proof| Self {
            _proof: proof,
            offset: affine.offset.iter().map(|&value| value as f32).collect(),
            half: half.iter().map(|&value| value as f32).collect(),
            norms: affine.bound.columns.iter().map(|&value| above(value)).collect(),
            slack: affine.bound.column_slack.iter().copied().fold(0.0, f64::max),
            largest: affine.offset.iter().map(|value| value.abs()).fold(0.0, f64::max),
        })
    }
}

/// Decide one row: sixteen products at a time in `f32`, and the rest by `Row::decide`. In one function, because bounds
/// and constants are kept in registers for the entire row.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn row_quick<const KIND: u8>(row: &Row<'_>, all: &Columns, products: &[f32], (codes, keys, unsure): Decided<'_>) {
    use std::arch::x86_64::{
        __m512, _CMP_GT_OQ, _CMP_LE_OQ, _mm512_abs_ps, _mm512_add_ps, _mm512_castps512_ps256, _mm512_cmp_ps_mask,
        _mm512_cvtps_epi64, _mm512_extractf32x8_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_min_ps, _mm512_mul_ps,
        _mm512_roundscale_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_si512, _mm512_sub_ps,
    };
    const NEAREST: i32 = 8;
    const DOWN: i32 = 9;
    const UNIT: f64 = 1.0 / (1 << 24) as f64;
    let sixteen = |values: &[f32], at: usize| -> __m512 {
        // SAFETY: sixteen values.
        unsafe { _mm512_loadu_ps(values[at..at + 16].as_ptr()) }
    };
    let all_set = _mm512_set1_ps;
    // Half widths and key positions are also rounded; errors relative to a key position are in units of the width.
    let rounded = 3.0 * UNIT * (row.base.abs() + all.largest) + if KIND == BAND { 2.0 * UNIT } else { 0.0 };
    let scaled = if KIND == FLOOR { row.inverse.abs() } else { 1.0 };
    let slack = all_set(above((row.slack + all.slack + rounded) * scaled));
    let scale = all_set(above(row.scale * scaled));
    let (base, factor, zero) = (all_set(row.base as f32), all_set(row.factor as f32), _mm512_setzero_ps());
    let vectorised = products.len() / 16 * 16;
    for start in (0..products.len()).step_by(64) {
        let end = (start + 64).min(products.len());
        let (mut bits, mut doubts) = (0_u64, 0_u64);
        for at in (start..end.min(vectorised)).step_by(16) {
            let shift = _mm512_add_ps(base, sixteen(&all.offset, at));
            let value = _mm512_fmadd_ps(factor, sixteen(products, at), shift);
            let bound = _mm512_fmadd_ps(scale, sixteen(&all.norms, at), slack);
            let (ones, sure) = match KIND {
                SIGN => {
                    let size = _mm512_abs_ps(value);
                    let sure = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(size, bound)
                        & _mm512_cmp_ps_mask::<_CMP_LE_OQ>(size, all_set(f32::MAX));
                    (_mm512_cmp_ps_mask::<_CMP_GT_OQ>(value, zero), sure)
                }
                BAND => {
                    let offset_from_integer =
                        _mm512_abs_ps(_mm512_sub_ps(value, _mm512_roundscale_ps::<NEAREST>(value)));
                    let beyond = _mm512_sub_ps(offset_from_integer, sixteen(&all.half, at));
                    let bound = _mm512_fmadd_ps(_mm512_abs_ps(value), all_set(above(2.0 * UNIT)), bound);
                    let sure = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(_mm512_abs_ps(beyond), bound);
                    (_mm512_cmp_ps_mask::<_CMP_LE_OQ>(beyond, zero), sure)
                }
                _ => {
                    let position = _mm512_mul_ps(value, all_set(row.inverse as f32));
                    let floor = _mm512_roundscale_ps::<DOWN>(position);
                    let over = _mm512_sub_ps(position, floor);
                    let under = _mm512_sub_ps(all_set(1.0), over);
                    let bound = _mm512_fmadd_ps(_mm512_abs_ps(position), all_set(above(5.0 * UNIT)), bound);
                    let bound = _mm512_add_ps(bound, all_set(above(2.0 * UNIT)));
                    let keys = &mut keys[at..at + 16];
                    let halves = [_mm512_castps512_ps256(floor), _mm512_extractf32x8_ps::<1>(floor)];
                    for (keys, half) in keys.chunks_exact_mut(8).zip(halves) {
                        // SAFETY: eight keys.
                        unsafe { _mm512_storeu_si512(keys.as_mut_ptr().cast(), _mm512_cvtps_epi64(half)) };
                    }
                    (0, _mm512_cmp_ps_mask::<_CMP_GT_OQ>(_mm512_min_ps(over, under), bound))
                }
            };
            bits |= u64::from(ones) << (at - start);
            doubts |= u64::from(!sure) << (at - start);
        }
        for at in vectorised.max(start)..end {
            doubts |= 1 << (at - start);
        }
        while doubts != 0 {
            let position = doubts.trailing_zeros();
            let at = start + position as usize;
            doubts &= doubts - 1;
            let (is_set, floor, sure) = row.decide::<KIND>(at, products[at].wide());
            bits = bits & !(1 << position) | u64::from(is_set) << position;
            if KIND == FLOOR {
                keys[at] = floor as i64;
            }
            if !sure {
                unsure.push(at as u32);
            }
        }
        if KIND != FLOOR {
            codes[start / 64] = bits;
        }
    }
}

/// Decide eight products from `at` on with `KIND`: return the bits that are set and the bits that are sure; floors go
/// to `keys`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn eight<P: Real, const KIND: u8>(row: &Row<'_>, products: &[P], at: usize, keys: &mut [i64]) -> (u8, u8) {
    use std::arch::x86_64::{
        _CMP_GT_OQ, _CMP_LE_OQ, _mm512_abs_pd, _mm512_add_pd, _mm512_cmp_pd_mask, _mm512_cvtpd_epi64, _mm512_min_pd,
        _mm512_mul_pd, _mm512_roundscale_pd, _mm512_set1_pd, _mm512_setzero_pd, _mm512_storeu_si512, _mm512_sub_pd,
    };
    const NEAREST: i32 = 8;
    const DOWN: i32 = 9;
    let load = |values: &[f64]| load_eight(values, at);
    let product = load_eight(products, at);
    let shift = _mm512_add_pd(_mm512_set1_pd(row.base), load(row.offset));
    let value = _mm512_add_pd(_mm512_mul_pd(_mm512_set1_pd(row.factor), product), shift);
    let slack = _mm512_add_pd(_mm512_set1_pd(row.slack), load(row.column_slack));
    let bound = _mm512_add_pd(_mm512_mul_pd(_mm512_set1_pd(row.scale), load(row.columns)), slack);
    let zero = _mm512_setzero_pd();
    let (ones, margin) = match KIND {
        SIGN => (_mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, zero), _mm512_abs_pd(value)),
        BAND => {
            let offset_from_integer = _mm512_abs_pd(_mm512_sub_pd(value, _mm512_roundscale_pd::<NEAREST>(value)));
            let beyond = _mm512_sub_pd(offset_from_integer, load(row.half));
            (_mm512_cmp_pd_mask::<_CMP_LE_OQ>(beyond, zero), _mm512_abs_pd(beyond))
        }
        _ => {
            let position = _mm512_mul_pd(value, _mm512_set1_pd(row.inverse));
            let floor = _mm512_roundscale_pd::<DOWN>(position);
            let above = _mm512_sub_pd(position, floor);
            let below = _mm512_sub_pd(_mm512_add_pd(floor, _mm512_set1_pd(1.0)), position);
            let keys = &mut keys[at..at + 8];
            // SAFETY: eight keys.
            unsafe { _mm512_storeu_si512(keys.as_mut_ptr().cast(), _mm512_cvtpd_epi64(floor)) };
            (0, _mm512_mul_pd(_mm512_min_pd(above, below), _mm512_set1_pd(row.width)))
        }
    };
    let sure = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(margin, bound)
        & _mm512_cmp_pd_mask::<_CMP_LE_OQ>(margin, _mm512_set1_pd(f64::MAX));
    (ones, sure)
}

/// Decide one row: words of bits or keys, and the columns that are not sure.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn row_avx512<P: Real, const KIND: u8>(row: &Row<'_>, products: &[P], (codes, keys, unsure): Decided<'_>) {
    let vectorised = products.len() / 8 * 8;
    for start in (0..products.len()).step_by(64) {
        let end = (start + 64).min(products.len());
        let (mut bits, mut doubts) = (0_u64, 0_u64);
        for at in (start..end.min(vectorised)).step_by(8) {
            let (ones, sure) = eight::<P, KIND>(row, products, at, keys);
            bits |= u64::from(ones) << (at - start);
            doubts |= u64::from(!sure) << (at - start);
        }
        for at in vectorised.max(start)..end {
            let (is_set, floor, sure) = row.decide::<KIND>(at, products[at].wide());
            if KIND == FLOOR {
                keys[at] = floor as i64;
            }
            bits |= u64::from(is_set) << (at - start);
            doubts |= u64::from(!sure) << (at - start);
        }
        if KIND != FLOOR {
            codes[start / 64] = bits;
        }
        while doubts != 0 {
            unsure.push(start as u32 + doubts.trailing_zeros());
            doubts &= doubts - 1;
        }
    }
}

#[inline(always)]
fn row_body<P: Real, const KIND: u8>(row: &Row<'_>, products: &[P], (codes, keys, unsure): Decided<'_>) {
    if KIND != FLOOR {
        codes.fill(0);
    }
    for (j, &product) in products.iter().enumerate() {
        let (is_set, floor, sure) = row.decide::<KIND>(j, product.wide());
        if KIND == FLOOR {
            keys[j] = floor as i64;
        } else {
            codes[j / 64] |= u64::from(is_set) << (j % 64);
        }
        if !sure {
            unsure.push(j as u32);
        }
    }
}

fn one_row<P: Real, const KIND: u8>(row: &Row<'_>, products: &[P], decided: Decided<'_>) {
    match Instructions::best() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the match has the proof.
        Instructions::Avx512(_) => unsafe { row_avx512::<P, KIND>(row, products, decided) },
        others => others.run(
            #[inline(always)]
            || row_body::<P, KIND>(row, products, decided),
        ),
    }
}

const ROWS_A_TASK: usize = 256;

/// Rows from which on preparing [`Columns`] pays.
#[cfg(target_arch = "x86_64")]
const QUICK_ROWS: usize = 4;

/// Parameters shared by the kernels: factor and offsets of the value, and the bound of its error.
#[derive(Debug, Clone, Copy)]
pub struct Affine<'a> {
    /// f.
    pub factor: f64,
    /// One number per row, or empty for zeros.
    pub row_offset: &'a [f64],
    /// One number per column.
    pub offset: &'a [f64],
    /// Maximum error of the products.
    pub bound: Bound<'a>,
}

pub(super) fn run<P: Real, const KIND: u8>(
    products: &[P],
    affine: Affine<'_>,
    (half, width): (&[f64], f64),
    codes: &mut [u64],
    keys: &mut [i64],
) -> Unsure {
    let m = affine.offset.len().max(1);
    let words = if KIND == FLOOR { 0 } else { m.div_ceil(64) };
    let a_row = if KIND == FLOOR { m } else { 0 };
    #[cfg(target_arch = "x86_64")]
    let quick = if products.len() / m < QUICK_ROWS { None } else { Columns::of::<P>(affine, half) };
    let task = |number: usize, products: &[P], codes: &mut [u64], keys: &mut [i64]| {
        let (mut unsure, mut positions) = (Vec::new(), Vec::new());
        for (i, products) in products.chunks_exact(m).enumerate() {
            let at = number * ROWS_A_TASK + i;
            let row = Row {
                factor: affine.factor,
                base: affine.row_offset.get(at).copied().unwrap_or(0.0),
                width,
                inverse: 1.0 / width,
                scale: affine.bound.rows[at],
                slack: affine.bound.row_slack.get(at).copied().unwrap_or(0.0),
                offset: affine.offset,
                half,
                columns: affine.bound.columns,
                column_slack: affine.bound.column_slack,
            };
            let (codes, keys) = (&mut codes[i * words..(i + 1) * words], &mut keys[i * a_row..(i + 1) * a_row]);
            let decided = (codes, keys, &mut unsure);
            #[cfg(target_arch = "x86_64")]
            match quick.as_ref().zip(P::single(products)) {
                // SAFETY: `Columns` holds the proof.
                Some((all, products)) => unsafe { row_quick::<KIND>(&row, all, products, decided) },
                None => one_row::<P, KIND>(&row, products, decided),
            }
            #[cfg(not(target_arch = "x86_64"))]
            one_row::<P, KIND>(&row, products, decided);
            positions.extend(unsure.drain(..).map(|column| (at as i64, i64::from(column))));
        }
        positions
    };
    if !worth_threads(products.len() / m, products.len()) {
        let size = (ROWS_A_TASK * m, ROWS_A_TASK * words.max(1), ROWS_A_TASK * a_row.max(1));
        let mut positions = Vec::new();
        for (number, products) in products.chunks(size.0).enumerate() {
            let codes = codes.chunks_mut(size.1).nth(number).unwrap_or_default();
            let keys = keys.chunks_mut(size.2).nth(number).unwrap_or_default();
            positions.extend(task(number, products, codes, keys));
        }
        return positions.into_iter().unzip();
    }
    let cancel = &CancelToken::current();
    let tasks = products.par_chunks(ROWS_A_TASK * m).enumerate();
    let positions: Vec<Vec<(i64, i64)>> = if KIND == FLOOR {
        let tasks = tasks.zip(keys.par_chunks_mut(ROWS_A_TASK * m));
        tasks.map(|((i, p), keys)| if cancel.is_set() { Vec::new() } else { task(i, p, &mut [], keys) }).collect()
    } else {
        let tasks = tasks.zip(codes.par_chunks_mut(ROWS_A_TASK * words));
        tasks.map(|((i, p), codes)| if cancel.is_set() { Vec::new() } else { task(i, p, codes, &mut []) }).collect()
    };
    positions.into_iter().flatten().unzip()
}

/// Decide bits `row_offset[i] + offset[j] + factor · P > 0`, packed into `codes`; return the positions that are not
/// sure.
pub fn signs<P: Real>(products: &[P], affine: Affine<'_>, codes: &mut [u64]) -> Unsure {
    run::<P, SIGN>(products, affine, (&[], 1.0), codes, &mut [])
}

/// Decide bits |v − nearest integer| <= half[j], v as for [`signs`], packed into `codes`.
pub fn bands<P: Real>(products: &[P], affine: Affine<'_>, half: &[f64], codes: &mut [u64]) -> Unsure {
    run::<P, BAND>(products, affine, (half, 1.0), codes, &mut [])
}

/// Decide keys ⌊v / width⌋, v as for [`signs`], into `keys`; values that do not fit `i64` are not sure.
pub fn floors<P: Real>(products: &[P], affine: Affine<'_>, width: f64, keys: &mut [i64]) -> Unsure {
    run::<P, FLOOR>(products, affine, (&[], width), &mut [], keys)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Generate products with errors up to the bound: every sure decision must be the exact one, in every form.
        #[test]
        fn sure_decisions_are_the_exact_ones(
            exact in prop::collection::vec(-3.0_f64..3.0, 70),
            off in prop::collection::vec(-1.0_f64..1.0, 70),
            near in prop::collection::vec(any::<bool>(), 70),
            wild in 0..140_usize,
        ) {
            let size = 0.01;
            let bound = Bound { rows: &[size], columns: &[1.0; 70], row_slack: &[0.0], column_slack: &[1e-12; 70] };
            let affine = Affine { factor: 1.0, row_offset: &[], offset: &[0.0; 70], bound };
            // Half of the values are next to an integer, the boundary of signs and floors; one may be infinite.
            let exact: Vec<f64> = exact.iter().zip(&near).map(|(v, near)| if *near { v.round() + v * 1e-3 } else { *v }).collect();
            let mut given: Vec<f64> = exact.iter().zip(&off).map(|(value, off)| value + off * size).collect();
            if wild < 70 {
                given[wild] = f64::INFINITY;
            }
            let (mut codes, mut keys) = ([0_u64; 2], [0_i64; 70]);
            let bit = |codes: &[u64; 2], j: usize| codes[j / 64] >> (j % 64) & 1 == 1;
            let (_, unsure) = signs(&given, affine, &mut codes);
            prop_assert!(wild >= 70 || unsure.contains(&(wild as i64)));
            // Values within the bound of their boundary may be on either side.
            prop_assert!((0..70).all(|j| given[j].abs() > size || unsure.contains(&(j as i64))));
            for j in (0..70).filter(|j| !unsure.contains(&(*j as i64))) {
                prop_assert_eq!(exact[j] > 0.0, bit(&codes, j));
            }
            let (_, unsure) = floors(&given, affine, 1.0, &mut keys);
            prop_assert!(wild >= 70 || unsure.contains(&(wild as i64)));
            for j in (0..70).filter(|j| !unsure.contains(&(*j as i64))) {
                prop_assert_eq!(exact[j].floor() as i64, keys[j]);
            }
            let half = [0.25; 70];
            let (_, unsure) = bands(&given, affine, &half, &mut codes);
            prop_assert!(wild >= 70 || unsure.contains(&(wild as i64)));
            for j in (0..70).filter(|j| !unsure.contains(&(*j as i64))) {
                prop_assert_eq!((exact[j] - exact[j].round()).abs() <= 0.25, bit(&codes, j));
            }
        }

        /// Return the bits, keys and doubts of the plain form and of the widest one of this processor.
        #[test]
        fn every_form_decides_the_same(
            mut values in prop::collection::vec(-3.0_f32..3.0, 1..150),
            wild in prop::collection::vec((0..150_usize, prop::num::f32::ANY), 0..4),
            near in prop::collection::vec((0..150_usize, -40_i32..40, -9_i32..9), 0..9),
            scale in prop::sample::select(vec![0.01, 1e-6, 1e-12, 0.0]),
        ) {
            let m = values.len();
            for (at, value) in wild {
                values[at % m] = value;
            }
            // Generate values next to boundaries of some of the kinds.
            for (at, vectorised, steps) in near {
                values[at % m] = (vectorised as f32 * 0.35 - 0.1875) * (1.0 + steps as f32 * f32::EPSILON);
            }
            let (columns, slack, offset, half) = (vec![1.0; m], vec![1e-9; m], vec![0.125; m], vec![0.2; m]);
            let row = Row {
                factor: 2.0, base: 0.25, width: 0.7, inverse: 1.0 / 0.7, scale, slack: scale / 10.0,
                offset: &offset, half: &half, columns: &columns, column_slack: &slack,
            };
            let rows = [scale];
            let bound = Bound { rows: &rows, columns: &columns, row_slack: &[], column_slack: &slack };
            #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables, reason = "the form in `f32` is of x86-64"))]
            let affine = Affine { factor: 2.0, row_offset: &[], offset: &offset, bound };
            let words = m.div_ceil(64);
            macro_rules! same {
                ($kind:expr) => {
                    let (mut codes, mut others) = (vec![0; words], vec![0; words]);
                    let (mut keys, mut other_keys) = (vec![0; m], vec![0; m]);
                    let (mut unsure, mut other_unsure) = (Vec::new(), Vec::new());
                    row_body::<f32, { $kind }>(&row, &values, (&mut codes, &mut keys, &mut unsure));
                    one_row::<f32, { $kind }>(&row, &values, (&mut others, &mut other_keys, &mut other_unsure));
                    // Keys that are not sure may differ.
                    for &at in &unsure {
                        (keys[at as usize], other_keys[at as usize]) = (0, 0);
                    }
                    prop_assert_eq!((&codes, &keys, &unsure), (&others, &other_keys, &other_unsure));
                    #[cfg(target_arch = "x86_64")]
                    if let Some(all) = Columns::of::<f32>(affine, &half) {
                        other_unsure.clear();
                        // SAFETY: `Columns` holds the proof.
                        unsafe { row_quick::<{ $kind }>(&row, &all, &values, (&mut others, &mut other_keys, &mut other_unsure)) };
                        for &at in &unsure {
                            other_keys[at as usize] = 0;
                        }
                        prop_assert_eq!((codes, keys, unsure), (others, other_keys, other_unsure));
                    }
                };
            }
            same!(SIGN);
            same!(BAND);
            same!(FLOOR);
        }
    }
}
