//! Projections x·a of vectors, and codes from them that do not depend on who multiplied.
//!
//! A code is *defined* by the projection in `f64`, summed in one fixed order: eight sums, column c added to sum c mod
//! 8 in ascending order, joined as ((s0+s4)+(s2+s6)) + ((s1+s5)+(s3+s7)). Absent columns of a sparse row add zeros, so
//! dense and sparse rows agree; products of two `f32` are exact in `f64`, so `f32` rows and the same values as `f64`
//! agree.
//!
//! A matrix product from elsewhere (BLAS, `f32` or `f64`, any order, any threads, fused or not) differs from that by
//! at most ```text τ = 2 γ ‖x‖ ‖a‖ + slack        γ = n u / (1 − n u), n = d + 8, u = 2^-24 or 2^-53 ``` (Higham,
//! Accuracy and Stability of Numerical Algorithms, 2002, section 3.1, with Cauchy–Schwarz for Σ|xₖ aₖ|; twice, for the
//! fixed order's own error). Each kernel here turns products into codes and returns the places whose decision lies
//! within τ of a boundary, or whose product is not finite; the caller computes those anew with [`exact`]. The kernels:
//!
//! | kernel | value v of product P | code | boundary |
//! |---|---|---|---|
//! | [`signs`] | rᵢ + cⱼ + f P | bit: v > 0 | 0 |
//! | [`floors`] | (P + cⱼ) / w | ⌊v⌋, `i64`, saturating | whole numbers |
//! | [`bands`] | P + cⱼ, less the nearest whole number | bit: \|v\| <= αⱼ | ±αⱼ |
//!
//! Cost: one pass over the products, about 1 ns each; d operations for each place computed anew. Tests: against the
//! exact path for every value here; batch sizes, types, orders and sparse rows in `tests/families/test_same_bits.py`.

use rayon::prelude::*;

use crate::{Error, Result};

/// `f32` or `f64`.
pub trait Real: Copy + Send + Sync + 'static {
    /// The same value as `f64`.
    fn wide(self) -> f64;
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

/// x·aⱼ for every row aⱼ of a matrix, in the fixed order; wider registers do the same operations.
pub fn dots<X: Real, A: Real>(x: &[X], a: &[A], out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { dots_avx2(x, a, out) };
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
    let norm = |(row, x): (usize, &[X])| checked(first + row, square_norm(x));
    let found: Vec<Result<f64>> = x.par_chunks(d.max(1)).with_min_len(64).enumerate().map(norm).collect();
    found.into_iter().collect()
}

fn square_norm<X: Real>(x: &[X]) -> f64 {
    sums(x, [x], |x, y| x * y)[0]
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

/// Codes, and the places (row, column) that must be computed anew.
#[derive(Debug, Default)]
pub struct Decided<T> {
    /// One code a product, or packed words of bits.
    pub codes: Vec<T>,
    /// Rows of the unsure places.
    pub rows: Vec<i64>,
    /// Their columns.
    pub columns: Vec<i64>,
}

const ROWS_A_TASK: usize = 256;

/// Runs `decide(row, products, codes, unsure columns)` over all rows in parallel and joins what they found in order.
fn decide<P: Real, T: Default + Copy + Send>(
    products: &[P],
    m: usize,
    width: usize,
    decide: impl Fn(usize, &[P], &mut [T], &mut Vec<u32>) + Sync,
) -> Decided<T> {
    let mut codes = vec![T::default(); products.len() / m.max(1) * width];
    let places: Vec<Vec<(i64, i64)>> = codes
        .par_chunks_mut((ROWS_A_TASK * width).max(1))
        .zip(products.par_chunks((ROWS_A_TASK * m).max(1)))
        .enumerate()
        .map(|(task, (codes, products))| {
            let (mut unsure, mut places) = (Vec::new(), Vec::new());
            for (row, (codes, products)) in codes.chunks_exact_mut(width).zip(products.chunks_exact(m)).enumerate() {
                let row = task * ROWS_A_TASK + row;
                decide(row, products, codes, &mut unsure);
                places.extend(unsure.drain(..).map(|column| (row as i64, i64::from(column))));
            }
            places
        })
        .collect();
    let (rows, columns) = places.into_iter().flatten().unzip();
    Decided { codes, rows, columns }
}

/// Packs up to 64 decisions `(bit, sure)` a word; a test of all together keeps the search for unsure ones off the way.
#[inline(always)]
fn pack<P: Real>(products: &[P], codes: &mut [u64], unsure: &mut Vec<u32>, value: impl Fn(usize, P) -> (bool, bool)) {
    for (word, (code, products)) in codes.iter_mut().zip(products.chunks(64)).enumerate() {
        let (mut bits, mut doubts) = (0_u64, 0_u64);
        for (bit, &product) in products.iter().enumerate() {
            let (one, sure) = value(word * 64 + bit, product);
            bits |= u64::from(one) << bit;
            doubts |= u64::from(!sure) << bit;
        }
        *code = bits;
        while doubts != 0 {
            unsure.push((word * 64) as u32 + doubts.trailing_zeros());
            doubts &= doubts - 1;
        }
    }
}

/// Bits `row_offset[i] + offset[j] + factor · P > 0`, packed.
pub fn signs<P: Real>(
    products: &[P],
    factor: f64,
    row_offset: &[f64],
    offset: &[f64],
    bound: Bound<'_>,
) -> Decided<u64> {
    let m = offset.len();
    decide(products, m, m.div_ceil(64), |row, products, codes, unsure| {
        let (base, scale, slack) = (row_offset[row], bound.rows[row], bound.row_slack[row]);
        pack(products, codes, unsure, |j, product| {
            let value = factor * product.wide() + (base + offset[j]);
            let off = scale * bound.columns[j] + (slack + bound.column_slack[j]);
            (value > 0.0, value.abs() > off && value.is_finite())
        });
    })
}

/// Keys ⌊(P + offset[j]) / width⌋, saturating at the ends of `i64`.
pub fn floors<P: Real>(products: &[P], width: f64, offset: &[f64], bound: Bound<'_>) -> Decided<i64> {
    let m = offset.len();
    decide(products, m, m, |row, products, codes, unsure| {
        let (scale, slack) = (bound.rows[row], bound.row_slack[row]);
        for (j, (&product, code)) in products.iter().zip(codes).enumerate() {
            let value = (product.wide() + offset[j]) / width;
            let floor = value.floor();
            let apart = (value - floor).min(floor + 1.0 - value) * width;
            let off = scale * bound.columns[j] + (slack + bound.column_slack[j]);
            *code = floor as i64;
            if !(apart > off && value.is_finite()) {
                unsure.push(j as u32);
            }
        }
    })
}

/// Bits |v − the nearest whole number| <= half[j] for v = P + offset[j], packed.
pub fn bands<P: Real>(products: &[P], offset: &[f64], half: &[f64], bound: Bound<'_>) -> Decided<u64> {
    let m = offset.len();
    decide(products, m, m.div_ceil(64), |row, products, codes, unsure| {
        let (scale, slack) = (bound.rows[row], bound.row_slack[row]);
        pack(products, codes, unsure, |j, product| {
            let value = product.wide() + offset[j];
            let beyond = (value - value.round_ties_even()).abs() - half[j];
            let off = scale * bound.columns[j] + (slack + bound.column_slack[j]);
            (beyond <= 0.0, beyond.abs() > off && value.is_finite())
        });
    })
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
        /// Products off by anything up to the bound: every decision that is called sure is the exact one.
        #[test]
        fn sure_decisions_are_the_exact_ones(
            exact in prop::collection::vec(-3.0_f64..3.0, 70),
            off in prop::collection::vec(-1.0_f64..1.0, 70),
            near in prop::collection::vec(any::<bool>(), 70),
        ) {
            let bound = 0.01;
            let bounds = Bound { rows: &[bound], columns: &[1.0; 70], row_slack: &[0.0], column_slack: &[1e-12; 70] };
            // Half of the values lie next to a whole number, the boundary of all three kernels.
            let exact: Vec<f64> = exact.iter().zip(&near).map(|(v, near)| if *near { v.round() + v * 1e-3 } else { *v }).collect();
            let given: Vec<f64> = exact.iter().zip(&off).map(|(value, off)| value + off * bound).collect();
            let zeros = [0.0; 70];
            let found = signs(&given, 1.0, &[0.0], &zeros, bounds);
            for (j, value) in exact.iter().enumerate() {
                if !found.columns.contains(&(j as i64)) {
                    prop_assert_eq!(*value > 0.0, found.codes[j / 64] >> (j % 64) & 1 == 1);
                }
            }
            let found = floors(&given, 1.0, &zeros, bounds);
            for (j, value) in exact.iter().enumerate() {
                if !found.columns.contains(&(j as i64)) {
                    prop_assert_eq!(value.floor() as i64, found.codes[j]);
                }
            }
            prop_assert!(near.iter().all(|near| !near) || !found.columns.is_empty());
            let found = bands(&given, &zeros, &[0.25; 70], bounds);
            for (j, value) in exact.iter().enumerate() {
                if !found.columns.contains(&(j as i64)) {
                    prop_assert_eq!((value - value.round()).abs() <= 0.25, found.codes[j / 64] >> (j % 64) & 1 == 1);
                }
            }
        }
    }
}
