//! A random rotation of vectors: structured, without a stored matrix, or uniformly random.
//!
//! | stream | rotation | cost of a vector | law |
//! |---|---|---|---|
//! | 3 | three rounds of signs and Hadamard (`hadamard`) | 3 D (1 + log2 D) additions | measured |
//! | 4 | uniformly random ([`Dense`]) | 2 D² operations | proved |
//!
//! Both pad vectors with zeros from d to D, the smallest power of two that is at least d and 64.

use crate::parallel::prelude::*;

use super::hadamard::{Hadamard, Number, size_of_rotation};
use super::random;
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::{Error, Result, alloc};

/// Stream of the seed that draws structured rotations.
pub const STRUCTURED: u64 = 3;
/// Stream of the seed that draws uniformly random ones.
pub const DENSE: u64 = 4;
/// Coordinates of the largest uniformly random rotation, of 32 MB.
pub const MAX_DENSE: usize = 1 << 12;
/// Rows that one task rotates.
const CHUNK: usize = 64;
/// Number of partial sums of a product.
const LANES: usize = 32;

/// A uniformly random rotation or reflection: D - 1 reflections and a sign.
///
/// ```text
/// Q_1 = ±1        Q_n = H(g_n) diag(1, Q_(n-1))        g_n Gaussian in n dimensions, H(g) the reflection of e_1 to g / ‖g‖
/// ```
/// The first column of `Q_n` is uniform on the sphere and the others are a uniform rotation of its orthogonal
/// complement, so that `Q_D` is uniform among all orthogonal matrices (Haar). `H(g) x = x - u (u·x)` with u the
/// multiple of `e_1 - g / ‖g‖` of length √2.
///
/// **Order.** Products are summed as in `index::lsh::kernels`, in 32 sums folded in halves: every machine has the same bits.
/// Source: G. W. Stewart, "The Efficient Generation of Random Orthogonal Matrices with an Application to Condition Estimators", SIAM J.
/// Numer. Anal. 17 (1980), section 3.
#[derive(Debug, Clone)]
pub struct Dense {
    size: usize,
    /// u of 2, 3, … D values, each padded with zeros in front to full lanes.
    reflections: Vec<f32>,
    sign: f32,
}

/// Return the number of values of u, padding included.
fn padded(values: usize) -> usize {
    values.next_multiple_of(LANES)
}

impl Dense {
    /// Create rotation `number` of a seed for vectors of `dim` values.
    ///
    /// # Errors
    /// `dim` is 0 or above [`MAX_DENSE`]; memory runs out.
    pub fn new(seed: u64, number: usize, dim: usize) -> Result<Self> {
        let size = size_of_rotation(dim)?;
        if size > MAX_DENSE {
            let allowed = format!("1 to {MAX_DENSE} for a dense rotation; a structured one takes more");
            return Err(Error::parameter("dimension", dim, allowed));
        }
        let total = (2..=size).map(padded).sum();
        let mut reflections: Vec<f32> = alloc::try_with_capacity(total)?;
        let mut drawn: Vec<f64> = alloc::try_with_capacity(size)?;
        let first = number as u64 * size as u64;
        for values in 2..=size {
            let base = random::base(seed, DENSE, first + values as u64 - 1);
            drawn.clear();
            drawn.extend((0..values).map(|column| random::gaussian(random::word(base, column as u64))));
            let length = drawn.iter().map(|value| value * value).sum::<f64>().sqrt();
            for value in &mut drawn {
                *value = -*value / length;
            }
            drawn[0] += 1.0;
            let norm = drawn.iter().map(|value| value * value).sum::<f64>().sqrt();
            let factor = if norm > 0.0 { std::f64::consts::SQRT_2 / norm } else { 0.0 };
            reflections.resize(reflections.len() + padded(values) - values, 0.0);
            reflections.extend(drawn.iter().map(|value| (value * factor) as f32));
        }
        let sign = if random::word(random::base(seed, DENSE, first), 0) >> 63 == 1 { -1.0 } else { 1.0 };
        Ok(Self { size, reflections, sign })
    }

    fn bytes(&self) -> usize {
        4 * self.reflections.capacity()
    }

    #[inline]
    fn rotate<T: Number>(&self, instructions: Instructions, values: &mut [T]) {
        instructions.run(
            #[inline(always)]
            || {
                let last = self.size - 1;
                values[last] = values[last] * T::of(f64::from(self.sign));
                let mut from = 0;
                for count in 2..=self.size {
                    // Values in front of the last `count` meet zeros.
                    let u = &self.reflections[from..from + padded(count)];
                    from += u.len();
                    let values = &mut values[self.size - u.len()..];
                    let mut sums = [T::default(); LANES];
                    for (chunk, u) in values.as_chunks::<LANES>().0.iter().zip(u.as_chunks::<LANES>().0) {
                        for i in 0..LANES {
                            sums[i] = sums[i] + chunk[i] * T::of(f64::from(u[i]));
                        }
                    }
                    let mut half = LANES / 2;
                    while half > 0 {
                        for i in 0..half {
                            sums[i] = sums[i] + sums[i + half];
                        }
                        half /= 2;
                    }
                    for (value, &u) in values.iter_mut().zip(u) {
                        *value = *value - T::of(f64::from(u)) * sums[0];
                    }
                }
            },
        );
    }
}

/// One rotation.
#[derive(Debug, Clone)]
pub enum Rotation {
    /// Three rounds of signs and Hadamard.
    Structured(Hadamard),
    /// Uniformly random.
    Dense(Dense),
}

impl Rotation {
    /// Create rotation `number` of a seed and a stream for vectors of `dim` values.
    ///
    /// # Errors
    /// Another stream; `dim` out of range; memory runs out.
    pub fn new(seed: u64, stream: u64, number: usize, dim: usize) -> Result<Self> {
        match stream {
            STRUCTURED => Hadamard::new(seed, stream, number, dim).map(Self::Structured),
            DENSE => Dense::new(seed, number, dim).map(Self::Dense),
            _ => Err(Error::parameter("stream", stream, "3 of structured rotations, 4 of dense ones")),
        }
    }

    /// Return D.
    pub fn size(&self) -> usize {
        match self {
            Self::Structured(rotation) => rotation.size(),
            Self::Dense(rotation) => rotation.size,
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Structured(rotation) => rotation.bytes(),
            Self::Dense(rotation) => rotation.bytes(),
        }
    }

    /// Rotate `values`, D of them, in place.
    #[inline]
    pub fn rotate<T: Number>(&self, instructions: Instructions, values: &mut [T]) {
        match self {
            Self::Structured(rotation) => rotation.rotate(instructions, values),
            Self::Dense(rotation) => rotation.rotate(instructions, values),
        }
    }
}

/// The first `bits` coordinates of a sequence of rotations.
#[derive(Debug, Clone)]
pub struct Rotations {
    dim: usize,
    bits: usize,
    all: Vec<Rotation>,
}

impl Rotations {
    /// Create enough rotations of a seed and a stream for `bits` coordinates, of vectors of `dim` values.
    ///
    /// # Errors
    /// No bit; another stream; `dim` out of range; memory runs out.
    pub fn new(seed: u64, stream: u64, bits: usize, dim: usize) -> Result<Self> {
        if bits == 0 {
            return Err(Error::parameter("bits", bits, "1 or more"));
        }
        let size = size_of_rotation(dim)?;
        let rotations =
            alloc::try_map((0..bits.div_ceil(size)).map(|number| Rotation::new(seed, stream, number, dim)))?;
        Ok(Self { dim, bits, all: rotations })
    }

    /// Call `put` with all coordinates of x - mean, in double precision.
    fn each<T: Copy + Into<f64>>(
        &self,
        x: &[T],
        mean: &[f64],
        buffer: &mut Vec<f64>,
        mut put: impl FnMut(usize, &[f64]),
    ) {
        let instructions = Instructions::best();
        for (number, rotation) in self.all.iter().enumerate() {
            buffer.clear();
            buffer.extend(x.iter().zip(mean).map(|(&value, &mean)| value.into() - mean));
            buffer.resize(rotation.size(), 0.0);
            rotation.rotate(instructions, buffer);
            put(number * rotation.size(), buffer);
        }
    }

    /// Call `put` with the output of each row, `width` values per row, and its coordinates.
    fn rows<T: Copy + Into<f64> + Sync, U: crate::segment::Plain + Default + Send>(
        &self,
        x: &[T],
        mean: &[f64],
        width: usize,
        put: impl Fn(&mut [U], usize, &[f64]) + Sync,
    ) -> Result<Vec<U>> {
        if !x.len().is_multiple_of(self.dim) || mean.len() != self.dim {
            return Err(Error::mismatch("dimension", mean.len(), self.dim));
        }
        let cancel = CancelToken::current();
        let mut out = alloc::try_filled(U::default(), x.len() / self.dim * width)?;
        let rotate_chunk = |(out, x): (&mut [U], &[T])| {
            cancel.check()?;
            let mut buffer = alloc::try_with_capacity(self.all.first().map_or(0, Rotation::size))?;
            for (out, x) in out.chunks_exact_mut(width).zip(x.chunks_exact(self.dim)) {
                self.each(x, mean, &mut buffer, |from, values| put(out, from, values));
            }
            Ok(())
        };
        if x.len() <= CHUNK * self.dim {
            rotate_chunk((&mut out, x))?;
        } else {
            out.par_chunks_mut(CHUNK * width).zip(x.par_chunks(CHUNK * self.dim)).try_for_each(rotate_chunk)?;
        }
        Ok(out)
    }

    /// Return the coordinates of each row minus the mean, `bits` per row.
    ///
    /// # Errors
    /// Another dimension; the call is cancelled, or memory runs out.
    pub fn products<T: Copy + Into<f64> + Sync>(&self, x: &[T], mean: &[f64]) -> Result<Vec<f64>> {
        self.rows(x, mean, self.bits, |out: &mut [f64], from, values| {
            let count = values.len().min(self.bits - from);
            out[from..from + count].copy_from_slice(&values[..count]);
        })
    }

    /// Return true if each coordinate is above 0, in words of 64 bits.
    ///
    /// # Errors
    /// As for [`Rotations::products`].
    pub fn codes<T: Copy + Into<f64> + Sync>(&self, x: &[T], mean: &[f64]) -> Result<Vec<u64>> {
        // A rotation has full words.
        self.rows(x, mean, self.bits.div_ceil(64), |out: &mut [u64], from, values| {
            let count = values.len().min(self.bits - from);
            for (word, values) in out[from / 64..].iter_mut().zip(values[..count].chunks(64)) {
                *word = values.iter().enumerate().fold(0, |word, (bit, &value)| word | u64::from(value > 0.0) << bit);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::hadamard::tests::vector;

    #[test]
    fn coordinates_of_many_rows_are_those_of_each() {
        for (stream, dim, bits, rows) in
            [(3, 5, 40, 3), (4, 5, 40, 3), (3, 70, 300, 150), (4, 70, 300, 150), (3, 64, 64, 65)]
        {
            let rotations = Rotations::new(3, stream, bits, dim).expect("rotations");
            let (x, mean) = (vector(1, rows * dim), vector(2, dim));
            let products = rotations.products(&x, &mean).expect("room");
            let codes = rotations.codes(&x, &mean).expect("room");
            assert_eq!((rows * bits, rows * bits.div_ceil(64)), (products.len(), codes.len()));
            for (row, products) in products.chunks_exact(bits).enumerate() {
                for (bit, &product) in products.iter().enumerate() {
                    let rotation = Rotation::new(3, stream, bit / rotations.all[0].size(), dim).expect("a rotation");
                    let mut values: Vec<f64> = x[row * dim..][..dim].iter().zip(&mean).map(|(x, m)| x - m).collect();
                    values.resize(rotation.size(), 0.0);
                    rotation.rotate(Instructions::best(), &mut values);
                    assert_eq!(values[bit % rotation.size()], product);
                    assert_eq!(u64::from(product > 0.0), codes[row * bits.div_ceil(64) + bit / 64] >> (bit % 64) & 1);
                }
            }
        }
        assert!(Rotations::new(0, 3, 0, 5).is_err());
        assert!(Rotations::new(0, 3, 8, 5).expect("one").codes(&[1.0; 6], &[0.0; 5]).is_err());
    }

    #[test]
    fn a_dense_rotation_keeps_products_and_all_instructions_give_the_same_bits() {
        for dim in [1, 63, 64, 65, 200] {
            let rotation = Rotation::new(7, DENSE, 0, dim).expect("a rotation");
            let chunk = |seed| {
                let mut values = vector(seed, dim);
                values.resize(rotation.size(), 0.0);
                values
            };
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (x, y) = (chunk(1), chunk(2));
            let mut first: Option<Vec<f64>> = None;
            for instructions in Instructions::available() {
                let (mut p, mut q) = (x.clone(), y.clone());
                rotation.rotate(instructions, &mut p);
                rotation.rotate(instructions, &mut q);
                // Reflections are kept in single precision.
                assert!((dot(&x, &y) - dot(&p, &q)).abs() < 1e-5 * dim as f64);
                assert!((dot(&x, &x) - dot(&p, &p)).abs() < 1e-5 * dim as f64);
                let mut rotated: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                rotation.rotate(instructions, &mut rotated);
                assert!(p.iter().zip(&rotated).all(|(wide, narrow)| (wide - f64::from(*narrow)).abs() < 1e-4));
                p.extend(rotated.iter().map(|&x| f64::from(x)));
                assert_eq!(&p, first.get_or_insert_with(|| p.clone()));
            }
        }
    }

    #[test]
    fn columns_of_dense_rotations_are_uniform_on_the_sphere() {
        // Of a uniform point each coordinate has mean 0, mean square 1 / D and mean fourth power 3 / (D (D + 2)); columns are orthogonal.
        let (size, trials) = (64, 3000);
        for (column, other) in [(0, 63), (31, 32), (63, 0)] {
            let (mut mean, mut square, mut fourth) = ([0.0; 64], [0.0; 64], [0.0; 64]);
            for seed in 0..trials {
                let rotation = Rotation::new(seed, DENSE, 0, size).expect("a rotation");
                let image = |at: usize| {
                    let mut hot = vec![0.0_f64; size];
                    hot[at] = 1.0;
                    rotation.rotate(Instructions::best(), &mut hot);
                    hot
                };
                let (values, others) = (image(column), image(other));
                let product: f64 = values.iter().zip(&others).map(|(a, b)| a * b).sum();
                assert!(product.abs() < 1e-5);
                for (i, value) in values.iter().enumerate() {
                    mean[i] += value / trials as f64;
                    square[i] += value * value / trials as f64;
                    fourth[i] += value.powi(4) / trials as f64;
                }
            }
            let d = size as f64;
            // Standard errors of 3,000 trials, five of them: 64 coordinates are looked at.
            let error = 5.0 / (trials as f64).sqrt();
            for i in 0..size {
                assert!(mean[i].abs() < error / d.sqrt(), "{column} {i} {}", mean[i]);
                assert!((square[i] - 1.0 / d).abs() < error * 1.42 / d, "{column} {i} {}", square[i]);
                assert!(
                    (fourth[i] - 3.0 / (d * (d + 2.0))).abs() < error * 9.8 / (d * d),
                    "{column} {i} {}",
                    fourth[i]
                );
            }
        }
    }

    #[test]
    fn streams_and_sizes_have_limits() {
        assert!(Rotation::new(0, 5, 0, 8).is_err());
        assert!(Rotation::new(0, DENSE, 0, MAX_DENSE + 1).is_err());
        assert!(Rotation::new(0, DENSE, 0, 0).is_err());
    }
}
