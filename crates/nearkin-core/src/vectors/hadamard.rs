//! A random rotation without a stored matrix: three rounds of random signs and a Hadamard transform.
//!
//! ```text
//! P = (H S₃ H S₂ H S₁) / D^(3/2)        D = the least power of two >= d, 64 at least; H_ij = (-1)^popcount(i & j)
//! ```
//! x is padded with zeros from d to D, and `S_r` multiplies by signs: bit 63 of the word of (seed, stream, row = 3 m +
//! r, column) for rotation m, set for -1. P is orthogonal for any signs, so it preserves lengths and angles.
//! Coordinates of Px vary as those of a uniformly random rotation; with fewer rounds the axes of x are visible.
//!
//! **Order.** The transform adds and subtracts values at distances 1, 2, 4, … D/2, and multiplies once at the end:
//! every machine has the same bits. In 512-bit registers three or seven steps take place between a load and a store.
//!
//! Cost: 3 D (1 + log2 D) additions. Source: N. Ailon and B. Chazelle, "The Fast Johnson-Lindenstrauss Transform", SIAM J.
//! Comput. 39 (2009); three rounds as in A. Andoni et al., "Practical and Optimal LSH for Angular Distance", NIPS 2015,
//! section 5.

use std::ops::{Add, Mul, Sub};

use super::random;
use crate::cpu::features::{Avx512, Instructions};
use crate::{Error, Result, alloc};

/// Coordinates of the smallest rotation.
pub const MIN_SIZE: usize = 64;
/// Coordinates of the largest.
pub const MAX_SIZE: usize = 1 << 16;
/// Rounds of signs and transform.
const ROUNDS: usize = 3;
/// Values that are transformed in registers.
const WIDTH: usize = 16;

/// A number that is rotated.
pub trait Number: Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// Round a number of double precision.
    fn of(value: f64) -> Self;
    /// Rotate in 512-bit registers, without the factor, if there is such a form; return true if there is.
    #[inline(always)]
    fn rotated_512(_: Avx512, _signs: &[f32], _values: &mut [Self]) -> bool {
        false
    }
}

impl Number for f32 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as Self
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn rotated_512(_: Avx512, signs: &[f32], values: &mut [Self]) -> bool {
        // SAFETY: the match has the proof.
        unsafe { x86::rotate(signs, values) };
        true
    }
}

impl Number for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
}

/// Return the number of coordinates of a rotation of vectors of `dim` values.
///
/// # Errors
/// `dim` is 0 or above [`MAX_SIZE`].
pub fn size_of_rotation(dim: usize) -> Result<usize> {
    if dim == 0 || dim > MAX_SIZE {
        return Err(Error::parameter("dimension", dim, format!("1 to {MAX_SIZE} for a rotation")));
    }
    Ok(dim.next_power_of_two().max(MIN_SIZE))
}

/// Signs of one rotation.
#[derive(Debug, Clone)]
pub struct Hadamard {
    size: usize,
    /// 1 or -1, round after round.
    signs: Vec<f32>,
}

/// Add and subtract values at distance `H`.
#[inline(always)]
fn step_within<const H: usize, T: Number>(values: [T; WIDTH]) -> [T; WIDTH] {
    let mut out = values;
    for i in 0..WIDTH {
        out[i] = if i & H == 0 { values[i] + values[i ^ H] } else { values[i ^ H] - values[i] };
    }
    out
}

#[inline(always)]
fn transform<T: Number>(values: &mut [T]) {
    for chunk in values.as_chunks_mut::<WIDTH>().0 {
        *chunk = step_within::<8, T>(step_within::<4, T>(step_within::<2, T>(step_within::<1, T>(*chunk))));
    }
    let mut distance = WIDTH;
    while distance < values.len() {
        for pair in values.chunks_exact_mut(2 * distance) {
            let (left, right) = pair.split_at_mut(distance);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        distance *= 2;
    }
}

impl Hadamard {
    /// Create rotation `number` of a seed and a stream for vectors of `dim` values.
    ///
    /// # Errors
    /// `dim` is 0 or above [`MAX_SIZE`]; memory runs out.
    pub fn new(seed: u64, stream: u64, number: usize, dim: usize) -> Result<Self> {
        let size = size_of_rotation(dim)?;
        let mut signs = alloc::try_with_capacity(ROUNDS * size)?;
        for round in 0..ROUNDS {
            let base = random::base(seed, stream, (ROUNDS * number + round) as u64);
            let sign = |column| if random::word(base, column as u64) >> 63 == 1 { -1.0 } else { 1.0 };
            signs.extend((0..size).map(sign));
        }
        Ok(Self { size, signs })
    }

    /// Return D.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.signs.capacity() * size_of::<f32>()
    }

    /// Rotate `values`, D of them, in place.
    ///
    /// # Panics
    /// If the number of values is not D.
    #[inline]
    pub fn rotate<T: Number>(&self, instructions: Instructions, values: &mut [T]) {
        let size = self.size as f64;
        self.apply(instructions, &self.signs, 1.0 / (size * size.sqrt()), values);
    }

    /// Rotate values that another rotation has spread over all coordinates: the first round alone, `H S₁ / √D`.
    ///
    /// # Panics
    /// If the number of values is not D.
    #[inline]
    pub fn rotate_again<T: Number>(&self, instructions: Instructions, values: &mut [T]) {
        self.apply(instructions, &self.signs[..self.size], 1.0 / (self.size as f64).sqrt(), values);
    }

    #[inline(always)]
    fn apply<T: Number>(&self, instructions: Instructions, signs: &[f32], factor: f64, values: &mut [T]) {
        assert_eq!(self.size, values.len(), "as many values as the rotation has");
        let turned = match instructions {
            Instructions::Avx512(proof) => T::rotated_512(proof, signs, values),
            _ => false,
        };
        instructions.run(
            #[inline(always)]
            || {
                let rounds = if turned { &[][..] } else { signs };
                for signs in rounds.chunks_exact(self.size) {
                    for (value, &sign) in values.iter_mut().zip(signs) {
                        *value = *value * T::of(f64::from(sign));
                    }
                    transform(values);
                }
                let factor = T::of(factor);
                for value in values.iter_mut() {
                    *value = *value * factor;
                }
            },
        );
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #[allow(clippy::wildcard_imports, reason = "intrinsics by their names")]
    use std::arch::x86_64::*;

    /// Values of a register.
    const LANES: usize = 16;

    /// Run the rounds of signs and transform; each round has one sign per value.
    ///
    /// # Safety
    /// The processor has the instructions.
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn rotate(signs: &[f32], values: &mut [f32]) {
        let size = values.len();
        for signs in signs.chunks_exact(size) {
            let mut distance = size.min(8 * LANES);
            for at in (0..size).step_by(distance) {
                if distance == 8 * LANES {
                    begin_eight(values, signs, at);
                } else {
                    begin_four(values, signs, at);
                }
            }
            while distance < size {
                let registers = (size / distance).min(8);
                for first in (0..size).step_by(registers * distance) {
                    for at in (first..first + distance).step_by(LANES) {
                        match registers {
                            2 => go_on_two(values, at, distance),
                            4 => go_on_four(values, at, distance),
                            _ => go_on_eight(values, at, distance),
                        }
                    }
                }
                distance *= registers;
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn load(values: &[f32], at: usize) -> __m512 {
        let chunk = &values[at..at + LANES];
        // SAFETY: as many values as are loaded.
        unsafe { _mm512_loadu_ps(chunk.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn store(values: &mut [f32], at: usize, register: __m512) {
        let chunk = &mut values[at..at + LANES];
        // SAFETY: as many values as are stored.
        unsafe { _mm512_storeu_ps(chunk.as_mut_ptr(), register) }
    }

    /// Return the sum and the difference.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn two([a, b]: [__m512; 2]) -> [__m512; 2] {
        [_mm512_add_ps(a, b), _mm512_sub_ps(a, b)]
    }

    /// Run the steps of 1 and 2 registers.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn four([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
        let ([a, b], [c, d]) = (two([a, b]), two([c, d]));
        let ([a, c], [b, d]) = (two([a, c]), two([b, d]));
        [a, b, c, d]
    }

    /// Run the steps of 1, 2 and 4 registers.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn eight([a, b, c, d, e, f, g, h]: [__m512; 8]) -> [__m512; 8] {
        let ([a, b, c, d], [e, f, g, h]) = (four([a, b, c, d]), four([e, f, g, h]));
        let ([a, e], [b, f]) = (two([a, e]), two([b, f]));
        let ([c, g], [d, h]) = (two([c, g]), two([d, h]));
        [a, b, c, d, e, f, g, h]
    }

    /// Run the steps of 1, 2, 4 and 8 values within a register, like `step_within`.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn within(x: __m512) -> __m512 {
        let other = _mm512_permute_ps::<0b10_11_00_01>(x);
        let x = _mm512_mask_sub_ps(_mm512_add_ps(x, other), 0xaaaa, other, x);
        let other = _mm512_permute_ps::<0b01_00_11_10>(x);
        let x = _mm512_mask_sub_ps(_mm512_add_ps(x, other), 0xcccc, other, x);
        let other = _mm512_shuffle_f32x4::<0b10_11_00_01>(x, x);
        let x = _mm512_mask_sub_ps(_mm512_add_ps(x, other), 0xf0f0, other, x);
        let other = _mm512_shuffle_f32x4::<0b01_00_11_10>(x, x);
        _mm512_mask_sub_ps(_mm512_add_ps(x, other), 0xff00, other, x)
    }

    macro_rules! begin {
        ($name:ident, $steps:ident, $($index:literal)+) => {
            /// Run the steps within a group of registers, after multiplying values by signs.
            #[inline]
            #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
            fn $name(values: &mut [f32], signs: &[f32], at: usize) {
                let all = $steps([$({
                    let at = at + $index * LANES;
                    within(_mm512_mul_ps(load(values, at), load(signs, at)))
                }),+]);
                $(store(values, at + $index * LANES, all[$index]);)+
            }
        };
    }
    begin!(begin_four, four, 0 1 2 3);
    begin!(begin_eight, eight, 0 1 2 3 4 5 6 7);

    macro_rules! go_on {
        ($name:ident, $steps:ident, $($index:literal)+) => {
            /// Run the steps between registers of values at distance `distance`.
            #[inline]
            #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
            fn $name(values: &mut [f32], at: usize, distance: usize) {
                let all = $steps([$(load(values, at + $index * distance)),+]);
                $(store(values, at + $index * distance, all[$index]);)+
            }
        };
    }
    go_on!(go_on_two, two, 0 1);
    go_on!(go_on_four, four, 0 1 2 3);
    go_on!(go_on_eight, eight, 0 1 2 3 4 5 6 7);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::vectors) fn vector(seed: u64, size: usize) -> Vec<f64> {
        let base = random::base(seed, 9, 0);
        (0..size).map(|column| random::gaussian(random::word(base, column as u64))).collect()
    }

    #[test]
    fn the_transform_is_the_matrix_of_its_definition() {
        for size in [64, 128, 512] {
            let values = vector(size as u64, size);
            let mut actual = values.clone();
            transform(&mut actual);
            for (i, &actual) in actual.iter().enumerate() {
                let sign = |j: usize| if (i & j).count_ones() % 2 == 1 { -1.0 } else { 1.0 };
                let expected: f64 = values.iter().enumerate().map(|(j, value)| sign(j) * value).sum();
                assert!((expected - actual).abs() < 1e-9 * size as f64, "{size} {i}");
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
                for again in [false, true] {
                    for values in [&mut p, &mut q] {
                        if again {
                            rotation.rotate_again(instructions, values);
                        } else {
                            rotation.rotate(instructions, values);
                        }
                    }
                    assert!((dot(&x, &y) - dot(&p, &q)).abs() < 1e-9 * dim as f64);
                    assert!((dot(&x, &x) - dot(&p, &p)).abs() < 1e-9 * dim as f64);
                }
                let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                let mut rotated = narrow.clone();
                rotation.rotate(instructions, &mut rotated);
                rotation.rotate_again(instructions, &mut rotated);
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
        assert_eq!([64, 64, 128, 1 << 16], [1, 64, 65, MAX_SIZE].map(|dim| size_of_rotation(dim).expect("a size")));
        assert!(size_of_rotation(0).is_err() && size_of_rotation(MAX_SIZE + 1).is_err());
    }
}
