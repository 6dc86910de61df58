//! Projections x·a of vectors, and codes from them that do not depend on who multiplied.
//!
//! A code is *defined* by the projection in `f64`, summed in one fixed order: eight sums, column c added to sum c mod 8 in
//! ascending order, joined as ((s0+s4)+(s2+s6)) + ((s1+s5)+(s3+s7)). Absent columns of a sparse row add zeros, so dense and
//! sparse rows agree; products of two `f32` are exact in `f64`, so `f32` rows and the same values as `f64` agree.
//!
//! A matrix product from elsewhere (BLAS, `f32` or `f64`, any order, any threads, fused or not) differs from that by at most
//! ```text
//! τ = 2 γ ‖x‖ ‖a‖ + slack        γ = n u / (1 − n u), n = d + 8, u = 2^-24 or 2^-53
//! ```
//! (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1, with Cauchy–Schwarz for Σ|xₖ aₖ|; twice, for
//! the fixed order's own error). Each kernel here turns products into codes and returns the places whose decision lies
//! within τ of a boundary, or whose product is not finite; the caller computes those anew with [`exact`]. The kernels:
//!
//! | kernel | value v of product P | code | boundary |
//! |---|---|---|---|
//! | [`signs`] | rᵢ + cⱼ + f P | bit: v > 0 | 0 |
//! | [`floors`] | (P + cⱼ) / w | ⌊v⌋, `i64` | whole numbers |
//! | [`bands`] | P + cⱼ, less the nearest whole number | bit: \|v\| <= αⱼ | ±αⱼ |
//!
//! Cost: one pass over the products, about 1 ns each; d operations for each place computed anew. Tests: against the exact
//! path for every value here; batch sizes, types, orders and sparse rows in `tests/families/test_same_bits.py`.

use rayon::prelude::*;

use crate::{Error, Result};

/// `f32` or `f64`.
pub trait Real: Copy + Send + Sync + 'static + sealed::Sealed {
    /// The same value as `f64`.
    fn wide(self) -> f64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Real for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

/// Rows of a sparse matrix: row i has the columns `indices[indptr[i]..indptr[i + 1]]`, ascending and distinct.
#[derive(Debug, Clone, Copy)]
pub struct Sparse<'a> {
    indptr: &'a [i64],
    indices: &'a [i64],
    data: &'a [f64],
    columns: usize,
}

impl<'a> Sparse<'a> {
    /// Checks that the three arrays fit each other.
    ///
    /// # Errors
    /// Row ends that fall or reach behind the values; columns outside of the matrix, not ascending or repeated.
    pub fn new(indptr: &'a [i64], indices: &'a [i64], data: &'a [f64], columns: usize) -> Result<Self> {
        let ends = indptr.first() == Some(&0)
            && indptr.windows(2).all(|pair| pair[0] <= pair[1])
            && indptr.last() == Some(&(data.len() as i64))
            && indices.len() == data.len();
        if !ends {
            return Err(Error::parameter("indptr", "row ends that do not fit", "those of a SciPy CSR matrix"));
        }
        let sparse = Self { indptr, indices, data, columns };
        for row in 0..sparse.rows() {
            let (indices, _) = sparse.row(row);
            let ascending = indices.windows(2).all(|pair| pair[0] < pair[1]);
            let inside = indices.first().is_none_or(|&c| c >= 0) && indices.last().is_none_or(|&c| c < columns as i64);
            if !(ascending && inside) {
                return Err(Error::parameter("indices", format!("row {row}"), format!("0 to {columns} ascending")));
            }
        }
        Ok(sparse)
    }

    fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    fn row(&self, row: usize) -> (&'a [i64], &'a [f64]) {
        let range = self.indptr[row] as usize..self.indptr[row + 1] as usize;
        (&self.indices[range.clone()], &self.data[range])
    }

    fn dense(&self, row: usize, out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.columns, 0.0);
        let (indices, data) = self.row(row);
        for (&column, &value) in indices.iter().zip(data) {
            out[column as usize] = value;
        }
    }
}

#[inline(always)]
fn join(s: [f64; 8]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// Sum of `term(xₖ, aₖ)` over k for `N` rows of a matrix at once, each in the fixed order.
#[inline(always)]
fn sums<const N: usize, X: Real, A: Real>(x: &[X], a: [&[A]; N], term: impl Fn(f64, f64) -> f64) -> [f64; N] {
    let mut sums = [[0.0_f64; 8]; N];
    let whole = x.len() / 8 * 8;
    for at in (0..whole).step_by(8) {
        let x = &x[at..at + 8];
        for (sums, a) in sums.iter_mut().zip(&a) {
            let a = &a[at..at + 8];
            for lane in 0..8 {
                sums[lane] += term(x[lane].wide(), a[lane].wide());
            }
        }
    }
    for at in whole..x.len() {
        for (sums, a) in sums.iter_mut().zip(&a) {
            sums[at - whole] += term(x[at].wide(), a[at].wide());
        }
    }
    sums.map(join)
}

/// Eight values from `at` on as `f64`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn load<X: Real>(x: &[X], at: usize) -> std::arch::x86_64::__m512d {
    use std::arch::x86_64::{_mm256_loadu_ps, _mm512_cvtps_pd, _mm512_loadu_pd};
    let eight = x[at..at + 8].as_ptr();
    // SAFETY: eight values, which are f32 or f64 as their size says: the trait is sealed.
    unsafe {
        if size_of::<X>() == 4 { _mm512_cvtps_pd(_mm256_loadu_ps(eight.cast())) } else { _mm512_loadu_pd(eight.cast()) }
    }
}

/// Products of `N` pairs of rows in the fixed order, eight columns at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn products_avx512<const N: usize, X: Real, A: Real>(x: [&[X]; N], a: [&[A]; N]) -> [f64; N] {
    use std::arch::x86_64::{_mm512_add_pd, _mm512_mul_pd, _mm512_setzero_pd, _mm512_storeu_pd};
    let d = x[0].len();
    let whole = d / 8 * 8;
    let mut lanes = [_mm512_setzero_pd(); N];
    for at in (0..whole).step_by(8) {
        for row in 0..N {
            lanes[row] = _mm512_add_pd(lanes[row], _mm512_mul_pd(load(x[row], at), load(a[row], at)));
        }
    }
    std::array::from_fn(|row| {
        let mut sums = [0.0_f64; 8];
        // SAFETY: room for eight.
        unsafe { _mm512_storeu_pd(sums.as_mut_ptr(), lanes[row]) };
        for at in whole..d {
            sums[at - whole] += x[row][at].wide() * a[row][at].wide();
        }
        join(sums)
    })
}

/// x·a in the fixed order.
#[inline]
pub fn dot<X: Real, A: Real>(x: &[X], a: &[A]) -> f64 {
    sums(x, [a], |x, a| x * a)[0]
}

/// ‖x − a‖² in the fixed order.
#[inline]
pub fn square_distance<X: Real, A: Real>(x: &[X], a: &[A]) -> f64 {
    sums(x, [a], |x, a| (x - a) * (x - a))[0]
}

fn sparse_dot<A: Real>(indices: &[i64], data: &[f64], a: &[A]) -> f64 {
    let mut sums = [0.0_f64; 8];
    for (&column, &value) in indices.iter().zip(data) {
        sums[column as usize % 8] += value * a[column as usize].wide();
    }
    join(sums)
}

#[inline(always)]
fn dots_body<X: Real, A: Real>(x: &[X], a: &[A], out: &mut [f64]) {
    let d = x.len();
    let mut j = 0;
    while j + 4 <= out.len() {
        let row = |k: usize| &a[(j + k) * d..(j + k + 1) * d];
        out[j..j + 4].copy_from_slice(&sums(x, [row(0), row(1), row(2), row(3)], |x, a| x * a));
        j += 4;
    }
    while j < out.len() {
        out[j] = dot(x, &a[j * d..(j + 1) * d]);
        j += 1;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_avx2<X: Real, A: Real>(x: &[X], a: &[A], out: &mut [f64]) {
    dots_body(x, a, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn dots_avx512<X: Real, A: Real>(x: &[X], a: &[A], out: &mut [f64]) {
    let d = x.len();
    let mut four = out.chunks_exact_mut(4);
    let mut at = 0;
    for out in four.by_ref() {
        out.copy_from_slice(&products_avx512(
            [x; 4],
            std::array::from_fn(|row| &a[(at + row) * d..(at + row + 1) * d]),
        ));
        at += 4;
    }
    dots_body(x, &a[at * d..], four.into_remainder());
}

/// x·aⱼ for every row aⱼ of a matrix, in the fixed order; wider registers do the same operations.
pub fn dots<X: Real, A: Real>(x: &[X], a: &[A], out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { dots_avx512(x, a, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { dots_avx2(x, a, out) };
        }
    }
    dots_body(x, a, out);
}

/// Every xᵢ·aⱼ in the fixed order, row by row.
pub fn all_products<X: Real, A: Real>(x: &[X], a: &[A], d: usize) -> Vec<f64> {
    let (d, m) = (d.max(1), a.len() / d.max(1));
    let mut out = vec![0.0; x.len() / d * m];
    out.par_chunks_mut(m.max(1)).zip(x.par_chunks(d)).for_each(|(out, x)| dots(x, a, out));
    out
}

/// As [`all_products`], of sparse rows.
pub fn all_products_sparse<A: Real>(x: &Sparse<'_>, a: &[A]) -> Vec<f64> {
    let m = a.len() / x.columns.max(1);
    let mut out = vec![0.0; x.rows() * m];
    out.par_chunks_mut(m.max(1)).enumerate().for_each(|(row, out)| {
        let (indices, data) = x.row(row);
        for (out, a) in out.iter_mut().zip(a.chunks_exact(x.columns.max(1))) {
            *out = sparse_dot(indices, data, a);
        }
    });
    out
}

/// What is computed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// x·a.
    Product,
    /// ‖x − a‖².
    SquareDistance,
}

/// The measure of the pairs (row of `x`, row of `a`), in the fixed order.
pub fn exact<A: Real>(x: &[f64], a: &[A], d: usize, pairs: (&[i64], &[i64]), measure: Measure) -> Vec<f64> {
    let of = |(&i, &j): (&i64, &i64)| {
        let (i, j) = (i as usize, j as usize);
        let (x, a) = (&x[i * d..(i + 1) * d], &a[j * d..(j + 1) * d]);
        match measure {
            Measure::Product => dot(x, a),
            Measure::SquareDistance => square_distance(x, a),
        }
    };
    pairs.0.par_iter().with_min_len(64).zip(pairs.1).map(of).collect()
}

/// As [`exact`], of sparse rows.
pub fn exact_sparse<A: Real>(x: &Sparse<'_>, a: &[A], pairs: (&[i64], &[i64]), measure: Measure) -> Vec<f64> {
    let d = x.columns;
    let of = |row: &mut Vec<f64>, (&i, &j): (&i64, &i64)| {
        let (i, a) = (i as usize, &a[j as usize * d..(j as usize + 1) * d]);
        match measure {
            Measure::Product => {
                let (indices, data) = x.row(i);
                sparse_dot(indices, data, a)
            }
            Measure::SquareDistance => {
                x.dense(i, row);
                square_distance(row, a)
            }
        }
    };
    pairs.0.par_iter().with_min_len(16).zip(pairs.1).map_init(Vec::new, of).collect()
}

/// Largest norm of a row: squares of sums of such rows stay far below the end of `f64`.
pub const MAX_NORM: f64 = 1e150;

fn checked(row: usize, square: f64) -> Result<f64> {
    if square <= MAX_NORM * MAX_NORM {
        return Ok(square.sqrt());
    }
    let what = if square.is_nan() { "NaN or infinite" } else { "infinite, or so large that their norm exceeds 1e150" };
    Err(Error::input(format!("row {row}"), format!("has values that are {what}; remove it or replace them")))
}

/// The norm of each row; `first` is the number of the first one in messages.
///
/// # Errors
/// The first row with a value that is no finite number, or with a norm above [`MAX_NORM`].
pub fn norms<X: Real>(x: &[X], d: usize, first: usize) -> Result<Vec<f64>> {
    let (d, tile) = (d.max(1), 64);
    let mut found = vec![0.0; x.len() / d];
    found.par_chunks_mut(tile).zip(x.par_chunks(tile * d)).for_each(|(out, x)| square_norms(x, d, out));
    for (row, square) in found.iter_mut().enumerate() {
        *square = checked(first + row, *square)?;
    }
    Ok(found)
}

#[inline(always)]
fn square_norms_body<X: Real>(x: &[X], d: usize, out: &mut [f64]) {
    for (out, x) in out.iter_mut().zip(x.chunks_exact(d)) {
        *out = sums(x, [x], |x, y| x * y)[0];
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn square_norms_avx512<X: Real>(x: &[X], d: usize, out: &mut [f64]) {
    let mut four = out.chunks_exact_mut(4);
    for (out, x) in four.by_ref().zip(x.chunks_exact(4 * d)) {
        let rows: [&[X]; 4] = std::array::from_fn(|row| &x[row * d..(row + 1) * d]);
        out.copy_from_slice(&products_avx512(rows, rows));
    }
    let rest = four.into_remainder();
    square_norms_body(&x[x.len() - rest.len() * d..], d, rest);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn square_norms_avx2<X: Real>(x: &[X], d: usize, out: &mut [f64]) {
    square_norms_body(x, d, out);
}

/// Squared norms of rows, in the fixed order; wider registers do the same operations.
fn square_norms<X: Real>(x: &[X], d: usize, out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { square_norms_avx512(x, d, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { square_norms_avx2(x, d, out) };
        }
    }
    square_norms_body(x, d, out);
}

/// As [`norms`], of sparse rows.
///
/// # Errors
/// As [`norms`].
pub fn norms_sparse(x: &Sparse<'_>, first: usize) -> Result<Vec<f64>> {
    let norm = |row: usize| {
        let (indices, data) = x.row(row);
        let mut sums = [0.0_f64; 8];
        for (&column, &value) in indices.iter().zip(data) {
            sums[column as usize % 8] += value * value;
        }
        checked(first + row, join(sums))
    };
    let found: Vec<Result<f64>> = (0..x.rows()).into_par_iter().with_min_len(64).map(norm).collect();
    found.into_iter().collect()
}

/// The mean of each column, summed row by row.
pub fn means<X: Real>(x: &[X], d: usize) -> Vec<f64> {
    let mut sums = vec![0.0; d];
    for row in x.chunks_exact(d.max(1)) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value.wide();
        }
    }
    let count = (x.len() / d.max(1)) as f64;
    sums.into_iter().map(|sum| sum / count).collect()
}

/// As [`means`], of sparse rows.
pub fn means_sparse(x: &Sparse<'_>) -> Vec<f64> {
    let mut sums = vec![0.0; x.columns];
    for (&column, &value) in x.indices.iter().zip(x.data) {
        sums[column as usize] += value;
    }
    sums.into_iter().map(|sum| sum / x.rows() as f64).collect()
}

/// Makes the rows of each block of d rows orthonormal, by Gram and Schmidt, twice for accuracy.
pub fn orthonormalise(rows: &mut [f64], d: usize) {
    rows.par_chunks_mut(d * d).for_each(|block| {
        for at in 0..block.len() / d {
            let (before, rest) = block.split_at_mut(at * d);
            let row = &mut rest[..d];
            for _ in 0..2 {
                for other in before.chunks_exact(d) {
                    let along = dot(row, other);
                    for (value, other) in row.iter_mut().zip(other) {
                        *value -= along * other;
                    }
                }
            }
            let norm = dot(row, row).sqrt();
            for value in row.iter_mut() {
                *value /= norm;
            }
        }
    });
}

/// How far a product may be off: `rows[i] * columns[j] + row_slack[i] + column_slack[j]`.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    /// 2 γ ‖xᵢ‖ times the factor of the product.
    pub rows: &'a [f64],
    /// ‖aⱼ‖.
    pub columns: &'a [f64],
    /// What else is uncertain in a row.
    pub row_slack: &'a [f64],
    /// What else is uncertain in a column.
    pub column_slack: &'a [f64],
}

/// Places (row, column) that must be computed anew.
pub type Unsure = (Vec<i64>, Vec<i64>);

/// The bits of [`signs`], of [`bands`], the keys of [`floors`].
const SIGN: u8 = 0;
const BAND: u8 = 1;
const FLOOR: u8 = 2;

/// What the kernels know of a row and of all columns.
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
    /// Whether the value is above its boundary, its floor, and whether that is sure.
    #[inline(always)]
    fn decide<const KIND: u8>(&self, j: usize, product: f64) -> (bool, f64, bool) {
        let value = self.factor * product + (self.base + self.offset[j]);
        let bound = self.scale * self.columns[j] + (self.slack + self.column_slack[j]);
        let (one, floor, margin) = match KIND {
            SIGN => (value > 0.0, 0.0, value.abs()),
            BAND => {
                let beyond = (value - value.round_ties_even()).abs() - self.half[j];
                (beyond <= 0.0, 0.0, beyond.abs())
            }
            _ => {
                let place = value * self.inverse;
                let floor = place.floor();
                (false, floor, (place - floor).min(floor + 1.0 - place) * self.width)
            }
        };
        (one, floor, margin > bound && margin <= f64::MAX)
    }
}

/// Decides eight products from `at` on with `KIND`: bits that are set, bits that are sure; floors go to `keys`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn eight<P: Real, const KIND: u8>(row: &Row<'_>, products: &[P], at: usize, keys: &mut [i64]) -> (u8, u8) {
    use std::arch::x86_64::{
        _CMP_GT_OQ, _CMP_LE_OQ, _mm512_abs_pd, _mm512_add_pd, _mm512_cmp_pd_mask, _mm512_cvtpd_epi64, _mm512_min_pd,
        _mm512_mul_pd, _mm512_roundscale_pd, _mm512_set1_pd, _mm512_setzero_pd, _mm512_storeu_si512, _mm512_sub_pd,
    };
    const NEAREST: i32 = 8;
    const DOWN: i32 = 9;
    let load = |values: &[f64]| load(values, at);
    let product = crate::project::load(products, at);
    let shift = _mm512_add_pd(_mm512_set1_pd(row.base), load(row.offset));
    let value = _mm512_add_pd(_mm512_mul_pd(_mm512_set1_pd(row.factor), product), shift);
    let slack = _mm512_add_pd(_mm512_set1_pd(row.slack), load(row.column_slack));
    let bound = _mm512_add_pd(_mm512_mul_pd(_mm512_set1_pd(row.scale), load(row.columns)), slack);
    let zero = _mm512_setzero_pd();
    let (ones, margin) = match KIND {
        SIGN => (_mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, zero), _mm512_abs_pd(value)),
        BAND => {
            let apart = _mm512_abs_pd(_mm512_sub_pd(value, _mm512_roundscale_pd::<NEAREST>(value)));
            let beyond = _mm512_sub_pd(apart, load(row.half));
            (_mm512_cmp_pd_mask::<_CMP_LE_OQ>(beyond, zero), _mm512_abs_pd(beyond))
        }
        _ => {
            let place = _mm512_mul_pd(value, _mm512_set1_pd(row.inverse));
            let floor = _mm512_roundscale_pd::<DOWN>(place);
            let above = _mm512_sub_pd(place, floor);
            let below = _mm512_sub_pd(_mm512_add_pd(floor, _mm512_set1_pd(1.0)), place);
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

/// One row: words of bits or keys, and the columns that are not sure.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn row_avx512<P: Real, const KIND: u8>(
    row: &Row<'_>,
    products: &[P],
    codes: &mut [u64],
    keys: &mut [i64],
    unsure: &mut Vec<u32>,
) {
    let whole = products.len() / 8 * 8;
    for start in (0..products.len()).step_by(64) {
        let end = (start + 64).min(products.len());
        let (mut bits, mut doubts) = (0_u64, 0_u64);
        for at in (start..end.min(whole)).step_by(8) {
            let (ones, sure) = eight::<P, KIND>(row, products, at, keys);
            bits |= u64::from(ones) << (at - start);
            doubts |= u64::from(!sure) << (at - start);
        }
        for at in whole.max(start)..end {
            let (one, floor, sure) = row.decide::<KIND>(at, products[at].wide());
            if KIND == FLOOR {
                keys[at] = floor as i64;
            }
            bits |= u64::from(one) << (at - start);
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
fn row_body<P: Real, const KIND: u8>(
    row: &Row<'_>,
    products: &[P],
    codes: &mut [u64],
    keys: &mut [i64],
    unsure: &mut Vec<u32>,
) {
    if KIND != FLOOR {
        codes.fill(0);
    }
    for (j, &product) in products.iter().enumerate() {
        let (one, floor, sure) = row.decide::<KIND>(j, product.wide());
        if KIND == FLOOR {
            keys[j] = floor as i64;
        } else {
            codes[j / 64] |= u64::from(one) << (j % 64);
        }
        if !sure {
            unsure.push(j as u32);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn row_avx2<P: Real, const KIND: u8>(
    row: &Row<'_>,
    products: &[P],
    codes: &mut [u64],
    keys: &mut [i64],
    unsure: &mut Vec<u32>,
) {
    row_body::<P, KIND>(row, products, codes, keys, unsure);
}

fn one_row<P: Real, const KIND: u8>(
    row: &Row<'_>,
    products: &[P],
    codes: &mut [u64],
    keys: &mut [i64],
    unsure: &mut Vec<u32>,
) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has AVX-512F and DQ.
            return unsafe { row_avx512::<P, KIND>(row, products, codes, keys, unsure) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { row_avx2::<P, KIND>(row, products, codes, keys, unsure) };
        }
    }
    row_body::<P, KIND>(row, products, codes, keys, unsure);
}

const ROWS_A_TASK: usize = 256;

/// What the kernels share: factor and offsets of the value, and the bound of its error.
#[derive(Debug, Clone, Copy)]
pub struct Affine<'a> {
    /// f.
    pub factor: f64,
    /// One number a row, or nothing for zeros.
    pub row_offset: &'a [f64],
    /// One number a column.
    pub offset: &'a [f64],
    /// How far products may be off.
    pub bound: Bound<'a>,
}

fn run<P: Real, const KIND: u8>(
    products: &[P],
    affine: Affine<'_>,
    (half, width): (&[f64], f64),
    codes: &mut [u64],
    keys: &mut [i64],
) -> Unsure {
    let m = affine.offset.len().max(1);
    let words = if KIND == FLOOR { 0 } else { m.div_ceil(64) };
    let a_row = if KIND == FLOOR { m } else { 0 };
    let task = |number: usize, products: &[P], codes: &mut [u64], keys: &mut [i64]| {
        let (mut unsure, mut places) = (Vec::new(), Vec::new());
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
            one_row::<P, KIND>(&row, products, codes, keys, &mut unsure);
            places.extend(unsure.drain(..).map(|column| (at as i64, i64::from(column))));
        }
        places
    };
    let tasks = products.par_chunks(ROWS_A_TASK * m).enumerate();
    let places: Vec<Vec<(i64, i64)>> = if KIND == FLOOR {
        tasks.zip(keys.par_chunks_mut(ROWS_A_TASK * m)).map(|((i, p), keys)| task(i, p, &mut [], keys)).collect()
    } else {
        tasks.zip(codes.par_chunks_mut(ROWS_A_TASK * words)).map(|((i, p), codes)| task(i, p, codes, &mut [])).collect()
    };
    places.into_iter().flatten().unzip()
}

/// Bits `row_offset[i] + offset[j] + factor · P > 0`, packed into `codes`; returns the places that are not sure.
pub fn signs<P: Real>(products: &[P], affine: Affine<'_>, codes: &mut [u64]) -> Unsure {
    run::<P, SIGN>(products, affine, (&[], 1.0), codes, &mut [])
}

/// Bits |v − the nearest whole number| <= half[j], v as for [`signs`], packed into `codes`.
pub fn bands<P: Real>(products: &[P], affine: Affine<'_>, half: &[f64], codes: &mut [u64]) -> Unsure {
    run::<P, BAND>(products, affine, (half, 1.0), codes, &mut [])
}

/// Keys ⌊v / width⌋, v as for [`signs`], into `keys`; what does not fit `i64` is not sure.
pub fn floors<P: Real>(products: &[P], affine: Affine<'_>, width: f64, keys: &mut [i64]) -> Unsure {
    run::<P, FLOOR>(products, affine, (&[], width), &mut [], keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use proptest::prelude::*;

    fn gaussians(seed: u64, rows: usize, columns: usize) -> Vec<f32> {
        random::matrix((seed, 0, 0), rows, columns, random::gaussian_at)
    }

    #[test]
    fn the_fixed_order_is_the_one_stated() {
        let (x, a) = (gaussians(1, 1, 21), gaussians(2, 1, 21));
        let mut sums = [0.0_f64; 8];
        for k in 0..21 {
            sums[k % 8] += f64::from(x[k]) * f64::from(a[k]);
        }
        let expected = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
        assert_eq!(expected, dot(&x, &a));
    }

    #[test]
    fn all_products_equal_one_by_one_in_every_form() {
        for d in [1, 7, 8, 33] {
            let (x, a) = (gaussians(3, 5, d), gaussians(4, 9, d));
            let wide: Vec<f64> = x.iter().map(|&value| f64::from(value)).collect();
            let indices: Vec<i64> = (0..5).flat_map(|_| 0..d as i64).collect();
            let indptr: Vec<i64> = (0..=5).map(|row| row * d as i64).collect();
            let sparse = Sparse::new(&indptr, &indices, &wide, d).expect("valid");
            let expected: Vec<f64> = (0..45).map(|at| dot(&x[at / 9 * d..][..d], &a[at % 9 * d..][..d])).collect();
            assert_eq!(expected, all_products(&x, &a, d));
            assert_eq!(expected, all_products(&wide, &a, d));
            assert_eq!(expected, all_products_sparse(&sparse, &a));
            let rows: Vec<i64> = (0..45).map(|at| at / 9).collect();
            let columns: Vec<i64> = (0..45).map(|at| at % 9).collect();
            assert_eq!(expected, exact(&wide, &a, d, (&rows, &columns), Measure::Product));
            assert_eq!(expected, exact_sparse(&sparse, &a, (&rows, &columns), Measure::Product));
            assert_eq!(
                exact(&wide, &a, d, (&rows, &columns), Measure::SquareDistance),
                exact_sparse(&sparse, &a, (&rows, &columns), Measure::SquareDistance)
            );
            assert_eq!(norms(&x, d, 0).expect("finite"), norms_sparse(&sparse, 0).expect("finite"));
            assert_eq!(means(&x, d), means_sparse(&sparse));
        }
    }

    #[test]
    fn rows_that_are_no_numbers_are_named() {
        for bad in [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e200] {
            let error = norms(&[0.0, 1.0, bad, 2.0], 2, 6).expect_err("not finite").to_string();
            assert!(error.starts_with("row 7: "), "{error}");
        }
    }

    #[test]
    fn blocks_become_orthonormal() {
        let d = 12;
        let mut rows = random::matrix((5, 0, 0), 30, d, |base, column| random::gaussian(random::word(base, column)));
        orthonormalise(&mut rows, d);
        for i in 0..30 {
            for j in 0..30 {
                if i / d == j / d {
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!((dot(&rows[i * d..][..d], &rows[j * d..][..d]) - expected).abs() < 1e-15);
                }
            }
        }
    }

    proptest! {
        /// Products off by anything up to the bound: every decision that is called sure is the exact one, in every form.
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
            // Half of the values lie next to a whole number, the boundary of signs and floors; one may be infinite.
            let exact: Vec<f64> = exact.iter().zip(&near).map(|(v, near)| if *near { v.round() + v * 1e-3 } else { *v }).collect();
            let mut given: Vec<f64> = exact.iter().zip(&off).map(|(value, off)| value + off * size).collect();
            if wild < 70 {
                given[wild] = f64::INFINITY;
            }
            let (mut codes, mut keys) = ([0_u64; 2], [0_i64; 70]);
            let bit = |codes: &[u64; 2], j: usize| codes[j / 64] >> (j % 64) & 1 == 1;
            let (_, unsure) = signs(&given, affine, &mut codes);
            prop_assert!(wild >= 70 || unsure.contains(&(wild as i64)));
            prop_assert!(near.iter().all(|near| !near) || !unsure.is_empty() || exact.iter().all(|v| v.abs() > 2.0 * size));
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

        /// The plain form and the widest one of this processor: the same bits, keys and doubts.
        #[test]
        fn every_form_decides_the_same(values in prop::collection::vec(-3.0_f32..3.0, 1..150)) {
            let m = values.len();
            let (columns, slack, offset, half) = (vec![1.0; m], vec![1e-9; m], vec![0.125; m], vec![0.2; m]);
            let row = Row {
                factor: 2.0, base: 0.25, width: 0.7, inverse: 1.0 / 0.7, scale: 0.01, slack: 0.001,
                offset: &offset, half: &half, columns: &columns, column_slack: &slack,
            };
            let words = m.div_ceil(64);
            macro_rules! same {
                ($kind:expr) => {
                    let (mut codes, mut others) = (vec![0; words], vec![0; words]);
                    let (mut keys, mut other_keys) = (vec![0; m], vec![0; m]);
                    let (mut unsure, mut other_unsure) = (Vec::new(), Vec::new());
                    row_body::<f32, { $kind }>(&row, &values, &mut codes, &mut keys, &mut unsure);
                    one_row::<f32, { $kind }>(&row, &values, &mut others, &mut other_keys, &mut other_unsure);
                    prop_assert_eq!((codes, keys, unsure), (others, other_keys, other_unsure));
                };
            }
            same!(SIGN);
            same!(BAND);
            same!(FLOOR);
        }
    }
}
