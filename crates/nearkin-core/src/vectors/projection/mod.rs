//! Projections x·a of vectors, and codes from them that do not depend on who multiplied.
//!
//! A code is *defined* by the projection in `f64`, summed in one fixed order: eight sums, column c added to sum c mod 8
//! in ascending order, joined as ((s0+s4)+(s2+s6)) + ((s1+s5)+(s3+s7)). Absent columns of a sparse row add zeros, so
//! dense and sparse rows agree; products of two `f32` are exact in `f64`, so `f32` rows and the same values as `f64`
//! agree.
//!
//! An external matrix product (BLAS, `f32` or `f64`, any order, any threads, fused or not) differs from that by at most
//! ```text
//! τ = 2 γ ‖x‖ ‖a‖ + slack        γ = n u / (1 − n u), n = d + 8, u = 2^-24 or 2^-53
//! ```
//! (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1, with Cauchy–Schwarz for Σ|xₖ aₖ|; twice,
//! for the fixed order's own error). Each kernel here turns products into codes and returns the positions whose
//! decision is within τ of a boundary, or whose product is not finite; the caller computes those again with [`exact`].
//! The kernels are in `decide`. A few rows are multiplied here at once, which costs less than BLAS (`few`).
//!
//! Work that is [`worth_threads`] runs in the pool of the caller; the calling thread does the rest.
//!
//! Tests: against the exact path for every value here; batch sizes, types, orders and sparse rows in
//! `tests/families/test_same_bits.py`.

mod decide;
mod few;

use crate::parallel::prelude::*;

use crate::alloc;
use crate::cancel::CancelToken;
#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx512;
use crate::cpu::features::Instructions;
use crate::{Error, Result};
pub use decide::{Affine, Bound, Unsure, bands, floors, signs};
pub use few::{FewRows, Functions};

/// `f32` or `f64`.
pub trait Real: Copy + Send + Sync + 'static + sealed::Sealed {
    /// Convert to `f64`.
    fn wide(self) -> f64;
    /// Return the values, if they are `f32`.
    fn single(values: &[Self]) -> Option<&[f32]>;
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

    #[inline(always)]
    fn single(values: &[Self]) -> Option<&[f32]> {
        Some(values)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn single(_values: &[Self]) -> Option<&[f32]> {
        None
    }
}

/// Number of multiplications, or decisions, that take about the time of waking threads and waiting for them: 0.1 ms.
const SMALL: usize = 1 << 20;

/// Return true if this many operations on this many rows are shared out among threads; one row never is.
pub fn worth_threads(rows: usize, operations: usize) -> bool {
    rows > 1 && operations > SMALL
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
    /// Check that the three arrays match.
    ///
    /// # Errors
    /// Row ends that fall or reach after the values; columns outside the matrix, not ascending or repeated.
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
    let vectorised = x.len() / 8 * 8;
    for at in (0..vectorised).step_by(8) {
        let x = &x[at..at + 8];
        for (sums, a) in sums.iter_mut().zip(&a) {
            let a = &a[at..at + 8];
            // Compilers make vectors of two plain loops, not of one.
            let mut terms = [0.0; 8];
            for lane in 0..8 {
                terms[lane] = term(x[lane].wide(), a[lane].wide());
            }
            for lane in 0..8 {
                sums[lane] += terms[lane];
            }
        }
    }
    for at in vectorised..x.len() {
        for (sums, a) in sums.iter_mut().zip(&a) {
            sums[at - vectorised] += term(x[at].wide(), a[at].wide());
        }
    }
    sums.map(join)
}

/// Load eight values from `at` on as `f64`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
#[inline]
fn load<X: Real>(x: &[X], at: usize) -> std::arch::x86_64::__m512d {
    use std::arch::x86_64::{_mm256_loadu_ps, _mm512_cvtps_pd, _mm512_loadu_pd};
    let eight = x[at..at + 8].as_ptr();
    // SAFETY: eight values, which are f32 or f64 as their size says: the trait is sealed.
    unsafe {
        if size_of::<X>() == 4 { _mm512_cvtps_pd(_mm256_loadu_ps(eight.cast())) } else { _mm512_loadu_pd(eight.cast()) }
    }
}

/// Compute the products of `N` pairs of rows in the fixed order, eight columns at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
#[inline]
fn products_avx512<const N: usize, X: Real, A: Real>(x: [&[X]; N], a: [&[A]; N]) -> [f64; N] {
    use std::arch::x86_64::{_mm512_add_pd, _mm512_mul_pd, _mm512_setzero_pd, _mm512_storeu_pd};
    let d = x[0].len();
    let vectorised = d / 8 * 8;
    let mut lanes = [_mm512_setzero_pd(); N];
    for at in (0..vectorised).step_by(8) {
        for row in 0..N {
            lanes[row] = _mm512_add_pd(lanes[row], _mm512_mul_pd(load(x[row], at), load(a[row], at)));
        }
    }
    std::array::from_fn(|row| {
        let mut sums = [0.0_f64; 8];
        // SAFETY: the array has eight values.
        unsafe { _mm512_storeu_pd(sums.as_mut_ptr(), lanes[row]) };
        for at in vectorised..d {
            sums[at - vectorised] += x[row][at].wide() * a[row][at].wide();
        }
        join(sums)
    })
}

/// Return x·a in the fixed order.
#[inline]
pub fn dot<X: Real, A: Real>(x: &[X], a: &[A]) -> f64 {
    sums(x, [a], |x, a| x * a)[0]
}

/// Return ‖x − a‖² in the fixed order.
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
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
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

/// Compute x·aⱼ for every row aⱼ of a matrix, in the fixed order; wider registers do the same operations.
pub fn dots<X: Real, A: Real>(x: &[X], a: &[A], out: &mut [f64]) {
    match Instructions::best() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the match has the proof.
        Instructions::Avx512(_) => unsafe { dots_avx512(x, a, out) },
        others => others.run(
            #[inline(always)]
            || dots_body(x, a, out),
        ),
    }
}

/// Return every xᵢ·aⱼ in the fixed order, row by row.
///
/// # Errors
/// Memory runs out.
pub fn all_products<X: Real, A: Real>(x: &[X], a: &[A], d: usize) -> Result<Vec<f64>> {
    let (d, m) = (d.max(1), a.len() / d.max(1));
    let mut out = alloc::try_zeroed((x.len() / d).saturating_mul(m))?;
    if worth_threads(x.len() / d, x.len() * m) {
        let cancel = &CancelToken::current();
        let rows = out.par_chunks_mut(m.max(1)).zip(x.par_chunks(d));
        rows.for_each(|(out, x)| {
            if !cancel.is_set() {
                dots(x, a, out);
            }
        });
    } else {
        out.chunks_mut(m.max(1)).zip(x.chunks(d)).for_each(|(out, x)| dots(x, a, out));
    }
    Ok(out)
}

/// Like [`all_products`], for sparse rows.
///
/// # Errors
/// As [`all_products`].
pub fn all_products_sparse<A: Real>(x: &Sparse<'_>, a: &[A]) -> Result<Vec<f64>> {
    let m = a.len() / x.columns.max(1);
    let mut out = alloc::try_zeroed(x.rows().saturating_mul(m))?;
    let cancel = &CancelToken::current();
    out.par_chunks_mut(m.max(1)).enumerate().for_each(|(row, out)| {
        if cancel.is_set() {
            return;
        }
        let (indices, data) = x.row(row);
        for (out, a) in out.iter_mut().zip(a.chunks_exact(x.columns.max(1))) {
            *out = sparse_dot(indices, data, a);
        }
    });
    Ok(out)
}

/// The quantity to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// x·a.
    Product,
    /// ‖x − a‖².
    SquareDistance,
}

/// Compute the quantity of the pairs (row of `x`, row of `a`), in the fixed order.
pub fn exact<X: Real, A: Real>(x: &[X], a: &[A], d: usize, pairs: (&[i64], &[i64]), measure: Quantity) -> Vec<f64> {
    let mut out = vec![0.0; pairs.0.len()];
    let cancel = &CancelToken::current();
    let compute = |((out, rows), columns): ((&mut [f64], &[i64]), &[i64])| {
        if !cancel.is_set() {
            exact_chunk(x, a, d, (rows, columns), measure, out);
        }
    };
    if worth_threads(pairs.0.len(), pairs.0.len() * d) {
        let tasks = out.par_chunks_mut(64).zip(pairs.0.par_chunks(64)).zip(pairs.1.par_chunks(64));
        tasks.for_each(compute);
    } else {
        compute(((&mut out, pairs.0), pairs.1));
    }
    out
}

fn exact_chunk<X: Real, A: Real>(
    x: &[X],
    a: &[A],
    d: usize,
    (rows, columns): (&[i64], &[i64]),
    measure: Quantity,
    out: &mut [f64],
) {
    #[cfg(target_arch = "x86_64")]
    if Avx512::detect().is_some() {
        // SAFETY: `detect` has just returned the proof.
        return unsafe { exact_chunk_avx512(x, a, d, (rows, columns), measure, out) };
    }
    for ((out, &i), &j) in out.iter_mut().zip(rows).zip(columns) {
        *out = exact_pair(&x[i as usize * d..][..d], &a[j as usize * d..][..d], measure);
    }
}

#[inline(always)]
fn exact_pair<X: Real, A: Real>(x: &[X], a: &[A], measure: Quantity) -> f64 {
    match measure {
        Quantity::Product => dot(x, a),
        Quantity::SquareDistance => square_distance(x, a),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn exact_chunk_avx512<X: Real, A: Real>(
    x: &[X],
    a: &[A],
    d: usize,
    (rows, columns): (&[i64], &[i64]),
    measure: Quantity,
    out: &mut [f64],
) {
    let vectorised = if measure == Quantity::Product { out.len() / 4 * 4 } else { 0 };
    for at in (0..vectorised).step_by(4) {
        let xs: [&[X]; 4] = std::array::from_fn(|i| &x[rows[at + i] as usize * d..][..d]);
        let ys: [&[A]; 4] = std::array::from_fn(|i| &a[columns[at + i] as usize * d..][..d]);
        out[at..at + 4].copy_from_slice(&products_avx512(xs, ys));
    }
    for at in vectorised..out.len() {
        out[at] = exact_pair(&x[rows[at] as usize * d..][..d], &a[columns[at] as usize * d..][..d], measure);
    }
}

/// Like [`exact`], for sparse rows.
pub fn exact_sparse<A: Real>(x: &Sparse<'_>, a: &[A], pairs: (&[i64], &[i64]), measure: Quantity) -> Vec<f64> {
    let d = x.columns;
    let cancel = &CancelToken::current();
    let of = |row: &mut Vec<f64>, (&i, &j): (&i64, &i64)| {
        if cancel.is_set() {
            return 0.0;
        }
        let (i, a) = (i as usize, &a[j as usize * d..(j as usize + 1) * d]);
        match measure {
            Quantity::Product => {
                let (indices, data) = x.row(i);
                sparse_dot(indices, data, a)
            }
            Quantity::SquareDistance => {
                x.dense(i, row);
                square_distance(row, a)
            }
        }
    };
    pairs.0.par_iter().with_min_len(16).zip(pairs.1).map_init(Vec::new, of).collect()
}

/// Maximum norm of a row: squares of sums of such rows are far below the end of `f64`.
pub const MAX_NORM: f64 = 1e150;

fn checked(row: usize, square: f64) -> Result<f64> {
    if square <= MAX_NORM * MAX_NORM {
        return Ok(square.sqrt());
    }
    let what = if square.is_nan() { "NaN or infinite" } else { "infinite, or so large that their norm exceeds 1e150" };
    Err(Error::input(format!("row {row}"), format!("has values that are {what}; remove it or replace them")))
}

/// Return the norm of each row; `first` is the number of the first one in messages.
///
/// # Errors
/// The first row with a value that is no finite number, or with a norm above [`MAX_NORM`].
pub fn norms<X: Real>(x: &[X], d: usize, first: usize) -> Result<Vec<f64>> {
    let (d, tile) = (d.max(1), 64);
    let mut out = vec![0.0; x.len() / d];
    if worth_threads(x.len() / d, x.len()) {
        let cancel = &CancelToken::current();
        out.par_chunks_mut(tile).zip(x.par_chunks(tile * d)).for_each(|(out, x)| {
            if !cancel.is_set() {
                square_norms(x, d, out);
            }
        });
    } else {
        square_norms(x, d, &mut out);
    }
    for (row, square) in out.iter_mut().enumerate() {
        *square = checked(first + row, *square)?;
    }
    Ok(out)
}

#[inline(always)]
fn square_norms_body<X: Real>(x: &[X], d: usize, out: &mut [f64]) {
    for (out, x) in out.iter_mut().zip(x.chunks_exact(d)) {
        *out = sums(x, [x], |x, y| x * y)[0];
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn square_norms_avx512<X: Real>(x: &[X], d: usize, out: &mut [f64]) {
    let mut four = out.chunks_exact_mut(4);
    for (out, x) in four.by_ref().zip(x.chunks_exact(4 * d)) {
        let rows: [&[X]; 4] = std::array::from_fn(|row| &x[row * d..(row + 1) * d]);
        out.copy_from_slice(&products_avx512(rows, rows));
    }
    let rest = four.into_remainder();
    square_norms_body(&x[x.len() - rest.len() * d..], d, rest);
}

/// Compute squared norms of rows, in the fixed order; wider registers do the same operations.
fn square_norms<X: Real>(x: &[X], d: usize, out: &mut [f64]) {
    match Instructions::best() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the match has the proof.
        Instructions::Avx512(_) => unsafe { square_norms_avx512(x, d, out) },
        others => others.run(
            #[inline(always)]
            || square_norms_body(x, d, out),
        ),
    }
}

/// Return for each row a number from its norm to 1.001 times it, 0 for a row of zeros; `f32` rows in less time than
/// [`norms`].
///
/// # Errors
/// As [`norms`].
pub fn norm_bounds<X: Real>(x: &[X], d: usize, first: usize) -> Result<Vec<f64>> {
    #[cfg(target_arch = "x86_64")]
    if let Some(x) = X::single(x)
        && d > 0
        && d < 1 << 12
        && Avx512::detect().is_some()
    {
        let mut out = vec![0.0; x.len() / d];
        let cancel = &CancelToken::current();
        let compute = |(number, (out, x)): (usize, (&mut [f64], &[f32]))| {
            cancel.check()?;
            // SAFETY: `detect` has returned the proof above.
            unsafe { rough_norms(x, d, out) };
            for (row, (out, x)) in out.iter_mut().zip(x.chunks_exact(d)).enumerate() {
                // Squares that overflow or vanish in `f32` are summed again.
                if !(1e-20..=1e18).contains(out) {
                    *out = norms(x, d, first + number * 64 + row)?[0];
                }
            }
            Ok(())
        };
        if worth_threads(x.len() / d, x.len()) {
            out.par_chunks_mut(64).zip(x.par_chunks(64 * d)).enumerate().try_for_each(compute)?;
        } else {
            out.chunks_mut(64).zip(x.chunks(64 * d)).enumerate().try_for_each(compute)?;
        }
        return Ok(out);
    }
    norms(x, d, first)
}

/// Compute norms of rows in `f32`, increased by more than the error of a sum of 4,096 squares, each within 1 ± 2^-24
/// per step: (4096 + 8) 2^-24 < 0.00025 of the square.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn rough_norms(x: &[f32], d: usize, out: &mut [f64]) {
    use std::arch::x86_64::{
        _mm512_add_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_reduce_add_ps, _mm512_setzero_ps,
    };
    for (out, x) in out.iter_mut().zip(x.chunks_exact(d)) {
        let mut sums = [_mm512_setzero_ps(); 4];
        let mut sixteens = x.chunks_exact(16);
        for (at, part) in sixteens.by_ref().enumerate() {
            // SAFETY: sixteen values.
            let part = unsafe { _mm512_loadu_ps(part.as_ptr()) };
            sums[at % 4] = _mm512_fmadd_ps(part, part, sums[at % 4]);
        }
        let rest = sixteens.remainder();
        // SAFETY: as many values as the mask has bits.
        let part = unsafe { _mm512_maskz_loadu_ps((1 << rest.len()) - 1, rest.as_ptr()) };
        sums[3] = _mm512_fmadd_ps(part, part, sums[3]);
        let sum = _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3]));
        *out = f64::from(_mm512_reduce_add_ps(sum)).sqrt() * 1.0005;
    }
}

/// Like [`norms`], for sparse rows.
///
/// # Errors
/// As [`norms`].
pub fn norms_sparse(x: &Sparse<'_>, first: usize) -> Result<Vec<f64>> {
    let cancel = &CancelToken::current();
    let norm = |row: usize| {
        cancel.check()?;
        let (indices, data) = x.row(row);
        let mut sums = [0.0_f64; 8];
        for (&column, &value) in indices.iter().zip(data) {
            sums[column as usize % 8] += value * value;
        }
        checked(first + row, join(sums))
    };
    let out: Vec<Result<f64>> = (0..x.rows()).into_par_iter().with_min_len(64).map(norm).collect();
    out.into_iter().collect()
}

/// Return the mean of each column, summed row by row.
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

/// Like [`means`], for sparse rows.
///
/// # Errors
/// Memory runs out for one number per column; a sparse matrix may have any number of columns.
pub fn means_sparse(x: &Sparse<'_>) -> Result<Vec<f64>> {
    let mut sums: Vec<f64> = alloc::try_zeroed(x.columns)?;
    for (&column, &value) in x.indices.iter().zip(x.data) {
        sums[column as usize] += value;
    }
    for sum in &mut sums {
        *sum /= x.rows() as f64;
    }
    Ok(sums)
}

/// Make the rows of each block of d rows orthonormal, by Gram–Schmidt, twice for accuracy.
pub fn orthonormalise(rows: &mut [f64], d: usize) {
    let cancel = &CancelToken::current();
    rows.par_chunks_mut(d * d).for_each(|block| {
        for at in (0..block.len() / d).take_while(|_| !cancel.is_set()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::random;
    use proptest::prelude::*;

    fn gaussians(seed: u64, rows: usize, columns: usize) -> Vec<f32> {
        random::matrix((seed, 0, 0), rows, columns, random::gaussian_at).expect("a matrix")
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
            assert_eq!(expected, all_products(&x, &a, d).expect("products"));
            assert_eq!(expected, all_products(&wide, &a, d).expect("products"));
            assert_eq!(expected, all_products_sparse(&sparse, &a).expect("products"));
            let rows: Vec<i64> = (0..45).map(|at| at / 9).collect();
            let columns: Vec<i64> = (0..45).map(|at| at % 9).collect();
            assert_eq!(expected, exact(&wide, &a, d, (&rows, &columns), Quantity::Product));
            assert_eq!(expected, exact(&x, &a, d, (&rows, &columns), Quantity::Product));
            assert_eq!(expected, exact_sparse(&sparse, &a, (&rows, &columns), Quantity::Product));
            assert_eq!(
                exact(&wide, &a, d, (&rows, &columns), Quantity::SquareDistance),
                exact_sparse(&sparse, &a, (&rows, &columns), Quantity::SquareDistance)
            );
            assert_eq!(norms(&x, d, 0).expect("finite"), norms_sparse(&sparse, 0).expect("finite"));
            assert_eq!(means(&x, d), means_sparse(&sparse).expect("means"));
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
    fn bounds_of_norms_hold_them_at_every_size() {
        for d in [1, 7, 16, 33, 128, 700] {
            for scale in [0.0, 1e-30, 1e-20, 1e-10, 1.0, 1e10, 1e18, 1e30] {
                let x: Vec<f32> = gaussians(6, 150, d).iter().map(|value| value * scale).collect();
                let (norms, bounds) = (norms(&x, d, 0).expect("finite"), norm_bounds(&x, d, 0).expect("finite"));
                for (norm, bound) in norms.iter().zip(&bounds) {
                    assert!(norm <= bound && *bound <= 1.001 * norm, "{norm} {bound}");
                }
            }
        }
        let mut x = vec![1.0_f32; 300 * 20];
        x[20 * 211 + 3] = f32::NAN;
        let error = norm_bounds(&x, 20, 5).expect_err("not finite").to_string();
        assert!(error.starts_with("row 216: "), "{error}");
    }

    #[test]
    fn blocks_become_orthonormal() {
        let d = 12;
        let mut rows = random::matrix((5, 0, 0), 30, d, |base, column| random::gaussian(random::word(base, column)))
            .expect("a matrix");
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
        /// Generate integers below 2^20 in up to 300 columns: every partial sum is exact, whatever the order.
        #[test]
        fn products_and_distances_are_the_exact_sums(
            d in 1_usize..300, rows in 1_usize..6, seed: u64, keep in 1_u64..9,
        ) {
            let vectorised = |side: u64, at: usize| {
                let word = random::word(random::base(seed, side, 0), at as u64);
                // Zeros, so that sparse rows are sparse.
                if word >> 60 < keep { (word & 0xf_ffff) as i64 - (1 << 19) } else { 0 }
            };
            let x: Vec<i64> = (0..rows * d).map(|at| vectorised(1, at)).collect();
            let a: Vec<i64> = (0..5 * d).map(|at| vectorised(2, at)).collect();
            let narrow = |values: &[i64]| values.iter().map(|&value| value as f32).collect::<Vec<f32>>();
            let wide: Vec<f64> = x.iter().map(|&value| value as f64).collect();
            let pairs: (Vec<i64>, Vec<i64>) = (0..rows as i64).flat_map(|i| (0..5).map(move |j| (i, j))).unzip();
            let exactly = |term: fn(i64, i64) -> i64| -> Vec<f64> {
                let of = |(&i, &j): (&i64, &i64)| (0..d).map(|k| term(x[i as usize * d + k], a[j as usize * d + k])).sum::<i64>();
                pairs.0.iter().zip(&pairs.1).map(|pair| of(pair) as f64).collect()
            };
            let (products, squares) = (exactly(|x, a| x * a), exactly(|x, a| (x - a) * (x - a)));
            let nonzero: Vec<Vec<i64>> =
                x.chunks_exact(d).map(|row| (0..d as i64).filter(|&k| row[k as usize] != 0).collect()).collect();
            let mut indptr = vec![0];
            for row in &nonzero {
                indptr.push(indptr[indptr.len() - 1] + row.len() as i64);
            }
            let indices = nonzero.concat();
            let data: Vec<f64> = wide.iter().copied().filter(|&value| value != 0.0).collect();
            let sparse = Sparse::new(&indptr, &indices, &data, d).expect("valid");
            let (x, a) = (narrow(&x), narrow(&a));
            let pairs = (pairs.0.as_slice(), pairs.1.as_slice());
            prop_assert_eq!(&products, &all_products(&x, &a, d).expect("products"));
            prop_assert_eq!(&products, &all_products(&wide, &a, d).expect("products"));
            prop_assert_eq!(&products, &all_products_sparse(&sparse, &a).expect("products"));
            prop_assert_eq!(&products, &exact(&x, &a, d, pairs, Quantity::Product));
            prop_assert_eq!(&products, &exact_sparse(&sparse, &a, pairs, Quantity::Product));
            prop_assert_eq!(&squares, &exact(&x, &a, d, pairs, Quantity::SquareDistance));
            prop_assert_eq!(&squares, &exact_sparse(&sparse, &a, pairs, Quantity::SquareDistance));
            let squared = |row: &[f64]| row.iter().map(|value| value * value).sum::<f64>();
            let expected: Vec<f64> = wide.chunks_exact(d).map(|row| squared(row).sqrt()).collect();
            prop_assert_eq!(&expected, &norms(&x, d, 0).expect("finite"));
            prop_assert_eq!(&expected, &norms_sparse(&sparse, 0).expect("finite"));
        }
    }
}
