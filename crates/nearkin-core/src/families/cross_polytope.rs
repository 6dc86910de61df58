//! Cross-polytope hashing: the vertex ±eᵢ that is nearest to a rotated vector.
//!
//! ```text
//! y = H S_3 H S_2 H S_1 x        S random signs, H the Hadamard matrix of size D, the power of two not below d
//! h(x) = 2 i + [y_i < 0]         i the place of the largest |y_i| among the first `dims`, the lowest of equals
//! ```
//! Or y = G x with a `dims` × d matrix of independent Gaussians, for which the collision law is exact. The norm of x
//! does not matter. All of it is `f64` in one order, so the value depends on x and the seed alone.
//!
//! Runner-up vertices for multi-probe: the other coordinates by |yᵢ|, at the cost (max − |yᵢ|)² / ‖y‖², which is up to
//! a factor the squared norm of the smallest change of y that makes the vertex win.
//!
//! Cost: 3 D log2 D additions per hash, compared with 2 d · dims operations with a matrix. Limits: sparse rows are
//! converted to dense ones. Source: Andoni, Indyk, Laarhoven, Razenshteyn and Schmidt, Practical and Optimal LSH for
//! Angular Distance (NIPS 2015), sections 3 and 5. Three rounds, because one or two do not spread vectors of few
//! non-zeros. Tests: the collision rate against the integral in `tests/families/test_laws.py`.

use crate::parallel::prelude::*;

use crate::alloc;
use crate::cancel::CancelToken;
use crate::cpu::features::Avx2;
use crate::vectors::projection::{self, Real};
use crate::vectors::random;
use crate::{Error, Result};

/// Streams of random signs and of Gaussians; a seed fixes them.
const SIGNS: u64 = 16;
const GAUSSIANS: u64 = 17;

enum Rotation {
    /// Bits of the signs, 1 for minus: `3 · words` a hash.
    Hadamard { words: usize, signs: Vec<u64> },
    /// `max_dims · d` numbers per hash, row-major.
    Matrix { max_dims: usize, values: Vec<f32> },
}

/// Any number of hash functions for vectors of one dimension.
pub struct Polytope {
    d: usize,
    size: usize,
    dims: Vec<usize>,
    rotation: Rotation,
}

/// Run one round without its signs: H y, unscaled.
fn hadamard(y: &mut [f64]) {
    let mut half = 1;
    while half < y.len() {
        for block in y.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

fn flip(y: &mut [f64], signs: &[u64]) {
    for (y, &signs) in y.chunks_mut(64).zip(signs) {
        for (bit, value) in y.iter_mut().enumerate() {
            *value = f64::from_bits(value.to_bits() ^ (signs >> bit & 1) << 63);
        }
    }
}

#[inline(always)]
fn rotate_body(y: &mut [f64], signs: &[u64], words: usize) {
    for signs in signs.chunks_exact(words) {
        flip(y, signs);
        hadamard(y);
    }
}

fn rotate(y: &mut [f64], signs: &[u64], words: usize) {
    match Avx2::detect() {
        Some(avx2) => avx2.run(
            #[inline(always)]
            || rotate_body(y, signs, words),
        ),
        None => rotate_body(y, signs, words),
    }
}

impl Polytope {
    /// Return the number of eight-byte parameters of the functions; None if it overflows.
    pub fn parameters(d: usize, dims: &[usize], matrix: bool) -> Option<usize> {
        let each = if matrix {
            d.checked_mul(dims.iter().copied().max().unwrap_or(0))?
        } else {
            d.max(1).checked_next_power_of_two()?.div_ceil(64).checked_mul(3)?
        };
        each.checked_mul(dims.len())
    }

    /// Create functions for vectors of dimension `d`; `dims` is the number of competing coordinates of each.
    ///
    /// # Errors
    /// A dimension beyond all memory; memory runs out for the functions.
    pub fn new(d: usize, dims: Vec<usize>, seed: u64, matrix: bool) -> Result<Self> {
        let too_large = || Error::parameter("dimension", d, "a dimension whose vectors fit memory");
        let size = d.max(1).checked_next_power_of_two().ok_or_else(too_large)?;
        let words = size.div_ceil(64);
        let rotation = if matrix {
            let max_dims = dims.iter().copied().max().unwrap_or(0);
            let values =
                random::matrix((seed, GAUSSIANS, 0), dims.len(), max_dims.saturating_mul(d), random::gaussian_at)?;
            Rotation::Matrix { max_dims, values }
        } else {
            let signs = random::matrix((seed, SIGNS, 0), dims.len(), 3 * words, random::word)?;
            Rotation::Hadamard { words, signs }
        };
        Ok(Self { d, size, dims, rotation })
    }

    /// Return the dimension of the vectors.
    pub fn dimension(&self) -> usize {
        self.d
    }

    /// Number of functions.
    pub fn hashes(&self) -> usize {
        self.dims.len()
    }

    /// Compute the first `dims` coordinates of x rotated by function `j`.
    fn rotated<X: Real>(&self, x: &[X], j: usize, y: &mut Vec<f64>) {
        y.clear();
        match &self.rotation {
            Rotation::Hadamard { words, signs } => {
                y.extend(x.iter().map(|value| value.wide()));
                y.resize(self.size, 0.0);
                rotate(y, &signs[j * 3 * words..(j + 1) * 3 * words], *words);
                y.truncate(self.dims[j]);
            }
            Rotation::Matrix { max_dims, values } => {
                y.resize(self.dims[j], 0.0);
                projection::dots(x, &values[j * max_dims * self.d..][..self.dims[j] * self.d], y);
            }
        }
    }

    /// Return the value of every function for every row.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn values<X: Real>(&self, x: &[X]) -> Result<Vec<i64>> {
        let (d, m) = (self.d.max(1), self.hashes().max(1));
        let mut out = alloc::try_zeroed((x.len() / d).saturating_mul(self.hashes()))?;
        let cancel = &CancelToken::current();
        let hash_row = |y: &mut Vec<f64>, (out, x): (&mut [i64], &[X])| {
            if cancel.is_set() {
                return;
            }
            for (j, out) in out.iter_mut().enumerate() {
                self.rotated(x, j, y);
                *out = vertex(largest(y), y);
            }
        };
        if x.len() <= d {
            out.chunks_mut(m).zip(x.chunks(d)).for_each(|row| hash_row(&mut Vec::new(), row));
        } else {
            out.par_chunks_mut(m).zip(x.par_chunks(d)).for_each_init(Vec::new, hash_row);
        }
        Ok(out)
    }

    /// Return for every row and function the `count` next vertices, nearest first, with their costs. `count` is below
    /// every `dims`.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn alternatives<X: Real>(&self, x: &[X], count: usize) -> Result<(Vec<i64>, Vec<f64>)> {
        let d = self.d.max(1);
        let total = (x.len() / d * self.hashes()).saturating_mul(count);
        let (mut values, mut costs) = (alloc::try_zeroed(total)?, alloc::try_zeroed(total)?);
        let a_row = (self.hashes() * count).max(1);
        let memory = || (Vec::new(), Vec::new());
        let cancel = &CancelToken::current();
        let hash_row = |memory: &mut (Vec<f64>, Vec<usize>), ((values, costs), x): ((&mut [i64], &mut [f64]), &[X])| {
            if !cancel.is_set() {
                self.row_alternatives(x, count, memory, values, costs);
            }
        };
        if x.len() <= d {
            let rows = values.chunks_mut(a_row).zip(costs.chunks_mut(a_row)).zip(x.chunks(d));
            rows.for_each(|row| hash_row(&mut memory(), row));
        } else {
            let rows = values.par_chunks_mut(a_row).zip(costs.par_chunks_mut(a_row)).zip(x.par_chunks(d));
            rows.for_each_init(memory, hash_row);
        }
        Ok((values, costs))
    }

    fn row_alternatives<X: Real>(
        &self,
        x: &[X],
        count: usize,
        (y, order): &mut (Vec<f64>, Vec<usize>),
        values: &mut [i64],
        costs: &mut [f64],
    ) {
        let slots = values.chunks_exact_mut(count.max(1)).zip(costs.chunks_exact_mut(count.max(1)));
        for (j, (values, costs)) in slots.enumerate() {
            self.rotated(x, j, y);
            let first = largest(y);
            let square = projection::dot(y, y);
            order.clear();
            order.extend((0..y.len()).filter(|&i| i != first));
            let nearer = |&a: &usize, &b: &usize| y[b].abs().total_cmp(&y[a].abs()).then(a.cmp(&b));
            if count < order.len() {
                order.select_nth_unstable_by(count, nearer);
                order.truncate(count);
            }
            order.sort_unstable_by(nearer);
            for ((value, cost), &i) in values.iter_mut().zip(costs).zip(order.iter()) {
                let behind = y[first].abs() - y[i].abs();
                *value = vertex(i, y);
                *cost = if square > 0.0 { behind * behind / square } else { 0.0 };
            }
        }
    }
}

fn largest(y: &[f64]) -> usize {
    let mut best = 0;
    for (i, value) in y.iter().enumerate() {
        if value.abs() > y[best].abs() {
            best = i;
        }
    }
    best
}

fn vertex(i: usize, y: &[f64]) -> i64 {
    2 * i as i64 + i64::from(y[i] < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matrix_of(polytope: &Polytope, d: usize) -> Vec<Vec<f64>> {
        let columns: Vec<Vec<f64>> = (0..d)
            .map(|k| {
                let mut unit = vec![0.0_f64; d];
                unit[k] = 1.0;
                let mut y = Vec::new();
                polytope.rotated(&unit, 0, &mut y);
                y
            })
            .collect();
        (0..columns[0].len()).map(|i| columns.iter().map(|column| column[i]).collect()).collect()
    }

    proptest! {
        #[test]
        fn the_fast_transform_is_the_hadamard_matrix(power in 0_u32..7, seed: u64) {
            // Entry (i, j) is −1 to the number of common bits of i and j; integers, so that sums are exact.
            let size = 1_usize << power;
            let x: Vec<f64> = (0..size as u64).map(|i| (random::word(seed, i) % 19) as f64 - 9.0).collect();
            let sign = |i: usize, j: usize| if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
            let expected: Vec<f64> = (0..size).map(|i| (0..size).map(|j| sign(i, j) * x[j]).sum()).collect();
            let mut vertices = x;
            hadamard(&mut vertices);
            prop_assert_eq!(expected, vertices);
        }

        #[test]
        fn every_form_of_a_rotation_is_the_plain_one(d in 1_usize..200, seed: u64) {
            let size = d.next_power_of_two();
            let words = size.div_ceil(64);
            let signs: Vec<u64> = (0..3 * words as u64).map(|i| random::word(seed, i)).collect();
            let x: Vec<f64> = (0..size as u64).map(|i| random::gaussian(random::word(!seed, i))).collect();
            let (mut plain, mut best) = (x.clone(), x);
            rotate_body(&mut plain, &signs, words);
            rotate(&mut best, &signs, words);
            prop_assert_eq!(plain, best);
        }
    }

    #[test]
    fn parameters_are_counted_before_they_are_drawn() {
        assert_eq!(Some(2 * 3 * 2), Polytope::parameters(65, &[3, 3], false));
        assert_eq!(Some(2 * 5 * 7), Polytope::parameters(7, &[3, 5], true));
        assert_eq!(Some(0), Polytope::parameters(7, &[], true));
        assert_eq!(None, Polytope::parameters(1 << 40, &[1 << 40], true));
        assert_eq!(None, Polytope::parameters(usize::MAX, &[1], false));
        for (matrix, vertices) in [(false, 3 * 2), (true, 100 * 9)] {
            let count = match Polytope::new(100, vec![9], 1, matrix).expect("there is memory").rotation {
                Rotation::Hadamard { signs, .. } => signs.len(),
                Rotation::Matrix { values, .. } => values.len(),
            };
            assert_eq!((vertices, Some(vertices)), (count, Polytope::parameters(100, &[9], matrix)));
        }
    }

    #[test]
    fn three_rounds_are_an_orthogonal_matrix() {
        let rows = matrix_of(&Polytope::new(16, vec![16], 3, false).expect("a polytope"), 16);
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                let expected = if i == j { 4096.0 } else { 0.0 };
                assert_eq!(expected, projection::dot(a, b));
            }
        }
    }

    #[test]
    fn values_are_the_largest_coordinates_and_alternatives_follow_them() {
        for matrix in [false, true] {
            let d = 11;
            let polytope = Polytope::new(d, vec![11, 11, 5], 9, matrix).expect("a polytope");
            let x = random::matrix((1, 0, 0), 20, d, random::gaussian_at).expect("a matrix");
            let values = polytope.values(&x).expect("values");
            let (others, costs) = polytope.alternatives(&x, 4).expect("alternatives");
            for row in 0..20 {
                for j in 0..3 {
                    let mut y = Vec::new();
                    polytope.rotated(&x[row * d..][..d], j, &mut y);
                    let mut order: Vec<usize> = (0..y.len()).collect();
                    order.sort_by(|&a, &b| y[b].abs().total_cmp(&y[a].abs()));
                    let expected: Vec<i64> = order[..5].iter().map(|&i| vertex(i, &y)).collect();
                    let at = row * 3 + j;
                    assert_eq!(expected[0], values[at]);
                    assert_eq!(expected[1..], others[at * 4..][..4]);
                    assert!(costs[at * 4..][..4].is_sorted() && costs[at * 4] >= 0.0);
                }
            }
        }
    }
}
