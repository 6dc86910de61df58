//! A random rotation without a stored matrix: three rounds of random signs and a Hadamard transform.
//!
//! ```text
//! P = (H S₃ H S₂ H S₁) / D^(3/2)        D = the least power of two >= d, 64 at least; H_ij = (-1)^popcount(i & j)
//! ```
//! x is padded with zeros from d to D, and `S_r` multiplies by signs: bit 63 of the word of (seed, stream, row = 3 m + r, column) for
//! rotation m, set for -1. P is orthogonal for any signs, so lengths and angles stay. Coordinates of Px vary as those of a
//! uniformly random rotation do; fewer rounds show the axes of x.
//!
//! **Order.** The transform adds and subtracts values that lie 1, 2, 4, … D/2 apart, and multiplies once at the end: every
//! machine has the same bits.
//!
//! Cost: 3 D (1 + log2 D) additions. Source: N. Ailon and B. Chazelle, "The Fast Johnson-Lindenstrauss Transform", SIAM J.
//! Comput. 39 (2009); three rounds as in A. Andoni et al., "Practical and Optimal LSH for Angular Distance", NIPS 2015,
//! section 5.

use std::ops::{Add, Mul, Sub};

use super::random;
use crate::cpu::features::Instructions;
use crate::{Error, Result, room};

/// Coordinates of the smallest rotation.
pub const LEAST: usize = 64;
/// Coordinates of the largest.
pub const MOST: usize = 1 << 16;
/// Rounds of signs and transform.
const ROUNDS: usize = 3;
/// Values that are transformed in registers.
const NEAR: usize = 16;

/// A number that is rotated.
pub trait Number: Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// The nearest to a number of double precision.
    fn of(value: f64) -> Self;
}

impl Number for f32 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as Self
    }
}

impl Number for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
}

/// Coordinates of a rotation of vectors of `dim` values.
///
/// # Errors
/// `dim` is 0 or above [`MOST`].
pub fn size_of_rotation(dim: usize) -> Result<usize> {
    if dim == 0 || dim > MOST {
        return Err(Error::parameter("dimension", dim, format!("1 to {MOST} for a rotation")));
    }
    Ok(dim.next_power_of_two().max(LEAST))
}

/// Signs of one rotation.
#[derive(Debug, Clone)]
pub struct Hadamard {
    size: usize,
    /// 1 or -1, round after round.
    signs: Vec<f32>,
}

/// Sums and differences of values that lie `H` apart.
#[inline(always)]
fn near<const H: usize, T: Number>(values: [T; NEAR]) -> [T; NEAR] {
    let mut out = values;
    for i in 0..NEAR {
        out[i] = if i & H == 0 { values[i] + values[i ^ H] } else { values[i ^ H] - values[i] };
    }
    out
}

#[inline(always)]
fn transform<T: Number>(values: &mut [T]) {
    for some in values.as_chunks_mut::<NEAR>().0 {
        *some = near::<8, T>(near::<4, T>(near::<2, T>(near::<1, T>(*some))));
    }
    let mut apart = NEAR;
    while apart < values.len() {
        for pair in values.chunks_exact_mut(2 * apart) {
            let (left, right) = pair.split_at_mut(apart);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        apart *= 2;
    }
}

impl Hadamard {
    /// Rotation `number` of a seed and a stream for vectors of `dim` values.
    ///
    /// # Errors
    /// `dim` is 0 or above [`MOST`]; there is no memory.
    pub fn new(seed: u64, stream: u64, number: usize, dim: usize) -> Result<Self> {
        let size = size_of_rotation(dim)?;
        let mut signs = room::of(ROUNDS * size)?;
        for round in 0..ROUNDS {
            let base = random::base(seed, stream, (ROUNDS * number + round) as u64);
            let sign = |column| if random::word(base, column as u64) >> 63 == 1 { -1.0 } else { 1.0 };
            signs.extend((0..size).map(sign));
        }
        Ok(Self { size, signs })
    }

    /// D.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.signs.capacity() * size_of::<f32>()
    }

    /// Rotates `values`, D of them, in place.
    #[inline]
    pub fn rotate<T: Number>(&self, instructions: Instructions, values: &mut [T]) {
        instructions.run(
            #[inline(always)]
            || {
                for signs in self.signs.chunks_exact(self.size) {
                    for (value, &sign) in values.iter_mut().zip(signs) {
                        *value = *value * T::of(f64::from(sign));
                    }
                    transform(values);
                }
                let size = self.size as f64;
                let factor = T::of(1.0 / (size * size.sqrt()));
                for value in values.iter_mut() {
                    *value = *value * factor;
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(seed: u64, size: usize) -> Vec<f64> {
        let base = random::base(seed, 9, 0);
        (0..size).map(|column| random::gaussian(random::word(base, column as u64))).collect()
    }

    #[test]
    fn the_transform_is_the_matrix_of_its_definition() {
        for size in [64, 128, 512] {
            let values = vector(size as u64, size);
            let mut found = values.clone();
            transform(&mut found);
            for (i, &found) in found.iter().enumerate() {
                let sign = |j: usize| if (i & j).count_ones() % 2 == 1 { -1.0 } else { 1.0 };
                let expected: f64 = values.iter().enumerate().map(|(j, value)| sign(j) * value).sum();
                assert!((expected - found).abs() < 1e-9 * size as f64, "{size} {i}");
            }
        }
    }

    #[test]
    fn a_rotation_keeps_products_and_all_instructions_give_the_same_bits() {
        for dim in [1, 63, 64, 65, 96, 300, 5000] {
            let rotation = Hadamard::new(7, 3, 0, dim).expect("a rotation");
            let padded = |seed| {
                let mut values = vector(seed, dim);
                values.resize(rotation.size(), 0.0);
                values
            };
            let (x, y) = (padded(1), padded(2));
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let mut first: Option<Vec<f64>> = None;
            for instructions in Instructions::available() {
                let (mut p, mut q) = (x.clone(), y.clone());
                rotation.rotate(instructions, &mut p);
                rotation.rotate(instructions, &mut q);
                assert!((dot(&x, &y) - dot(&p, &q)).abs() < 1e-9 * dim as f64);
                assert!((dot(&x, &x) - dot(&p, &p)).abs() < 1e-9 * dim as f64);
                let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                let mut rotated = narrow.clone();
                rotation.rotate(instructions, &mut rotated);
                for (wide, narrow) in p.iter().zip(&rotated) {
                    assert!((wide - f64::from(*narrow)).abs() < 1e-4);
                }
                p.extend(rotated.iter().map(|&x| f64::from(x)));
                assert_eq!(&p, first.get_or_insert_with(|| p.clone()));
            }
        }
    }

    #[test]
    fn rotations_of_a_seed_differ_and_sizes_have_limits() {
        let signs = |seed, number| Hadamard::new(seed, 3, number, 100).expect("a rotation").signs;
        assert_eq!(signs(1, 0), signs(1, 0));
        assert_ne!(signs(1, 0), signs(1, 1));
        assert_ne!(signs(1, 0), signs(2, 0));
        assert_eq!([64, 64, 128, 1 << 16], [1, 64, 65, MOST].map(|dim| size_of_rotation(dim).expect("a size")));
        assert!(size_of_rotation(0).is_err() && size_of_rotation(MOST + 1).is_err());
    }
}
