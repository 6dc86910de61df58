//! `SimHash` of sparse vectors whose projections are hashed, not stored: a row costs its non-zeros, whatever the
//! dimension.
//!
//! ```text
//! bit i = 1 if Σ_f x_f r_i(f) > 0        r_i(f) = ±1 from a hash of f, or a Gaussian number from a hash of (f, i)
//! ```
//! Signs: bits agree with probability 1 − θ/π only if no coordinate dominates (a row of one to a few heavy ones has few
//! sums). Gaussians always have that law, and cost one number per bit and non-zero. Columns of a sorted list take
//! Gaussians while the others take signs, so that heavy columns follow the law and the rest are fast.
//!
//! With signs the sum is stored as p = Σ of x over the columns with r = +1, and compared as 2 p > Σ x; sums run in
//! ascending columns, in `f64`, so a bit depends on the row only. Ties are 0.
//!
//! Cost at 64 bits: about 5 ns per non-zero with signs (AVX-512), 400 ns with Gaussians. Sources: Charikar (STOC 2002),
//! section 3; Manku, Jain and Das Sarma (WWW 2007), section 2; Achlioptas (2003) for signs. Tests: against sums of the
//! implied matrix here, and the law in `tests/families/test_laws.py`.

use crate::parallel::prelude::*;

use crate::Result;
use crate::alloc;
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::vectors::random;

/// Streams of the seed.
const SIGNS: u64 = 32;
const GAUSSIANS: u64 = 33;

/// Which columns take Gaussians.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gaussian {
    /// All.
    All,
    /// Those of an ascending list.
    Columns(Vec<i64>),
}

/// Hash functions for rows of any dimension.
#[derive(Debug, Clone)]
pub struct SparseSimHash {
    bits: usize,
    gaussian: Gaussian,
    /// Start of the signs of each word, and of the Gaussians of each bit.
    words: Vec<u64>,
    bases: Vec<u64>,
}

#[inline(always)]
fn add_signs(indices: &[i64], data: &[f64], base: u64, sums: &mut [f64; 64]) {
    for (&column, &value) in indices.iter().zip(data) {
        let word = random::word(base, column as u64);
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if word >> bit & 1 == 1 { value } else { 0.0 };
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn add_signs_avx512(indices: &[i64], data: &[f64], base: u64, sums: &mut [f64; 64]) {
    use std::arch::x86_64::{_mm512_loadu_pd, _mm512_mask_add_pd, _mm512_set1_pd, _mm512_storeu_pd};
    // SAFETY: each load and store covers eight of the 64 sums.
    let mut lanes: [_; 8] = std::array::from_fn(|group| unsafe { _mm512_loadu_pd(sums.as_ptr().add(8 * group)) });
    for (&column, &value) in indices.iter().zip(data) {
        let word = random::word(base, column as u64);
        let value = _mm512_set1_pd(value);
        for (group, lane) in lanes.iter_mut().enumerate() {
            *lane = _mm512_mask_add_pd(*lane, (word >> (8 * group)) as u8, *lane, value);
        }
    }
    for (group, lane) in lanes.iter().enumerate() {
        // SAFETY: as above.
        unsafe { _mm512_storeu_pd(sums.as_mut_ptr().add(8 * group), *lane) };
    }
}

/// Add each value to the sums of the bits that are set in its column's word; every form does the same additions.
fn add(indices: &[i64], data: &[f64], base: u64, sums: &mut [f64; 64]) {
    match Instructions::best() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the match has the proof.
        Instructions::Avx512(_) => unsafe { add_signs_avx512(indices, data, base, sums) },
        others => others.run(
            #[inline(always)]
            || add_signs(indices, data, base, sums),
        ),
    }
}

impl SparseSimHash {
    /// Create functions for `bits` bits.
    pub fn new(bits: usize, seed: u64, gaussian: Gaussian) -> Self {
        Self {
            bits,
            gaussian,
            words: (0..bits.div_ceil(64) as u64).map(|word| random::base(seed, SIGNS, word)).collect(),
            bases: (0..bits as u64).map(|bit| random::base(seed, GAUSSIANS, bit)).collect(),
        }
    }

    fn is_gaussian(&self, column: i64) -> bool {
        match &self.gaussian {
            Gaussian::All => true,
            Gaussian::Columns(columns) => columns.binary_search(&column).is_ok(),
        }
    }

    /// Write the packed bits of one row.
    fn row(&self, indices: &[i64], data: &[f64], out: &mut [u64]) {
        let no_gaussians = self.gaussian == Gaussian::Columns(Vec::new());
        let (mut light, mut light_data, mut heavy) = (Vec::new(), Vec::new(), Vec::new());
        let (signs, values): (&[i64], &[f64]) = if no_gaussians {
            (indices, data)
        } else {
            for (&column, &value) in indices.iter().zip(data) {
                if self.is_gaussian(column) {
                    heavy.push((column, value));
                } else {
                    light.push(column);
                    light_data.push(value);
                }
            }
            (&light, &light_data)
        };
        let total: f64 = values.iter().fold(0.0, |sum, value| sum + value);
        for (word, code) in out.iter_mut().enumerate() {
            let mut sums = [0.0; 64];
            add(signs, values, self.words[word], &mut sums);
            let mut bits = 0;
            for (bit, &sum) in sums.iter().enumerate().take(self.bits - 64 * word) {
                let gaussians = heavy.iter().fold(0.0, |sum, &(column, value)| {
                    sum + value * random::gaussian(random::word(self.bases[64 * word + bit], column as u64))
                });
                bits |= u64::from((2.0 * sum - total) + gaussians > 0.0) << bit;
            }
            *code = bits;
        }
    }

    /// Return the packed bits of the rows of a CSR matrix; row ends must be ascending and within the values. If it is
    /// cancelled, the rest is zero.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn codes(&self, indptr: &[i64], indices: &[i64], data: &[f64]) -> Result<Vec<u64>> {
        let cancel = &CancelToken::current();
        let words = self.words.len();
        let mut out = alloc::try_zeroed(indptr.len().saturating_sub(1).saturating_mul(words))?;
        out.par_chunks_mut(words).with_min_len(16).zip(indptr.par_windows(2)).for_each(|(out, ends)| {
            if cancel.is_set() {
                return;
            }
            let range = ends[0] as usize..ends[1] as usize;
            self.row(&indices[range.clone()], &data[range], out);
        });
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_signs_of_the_implied_matrix(
            columns in prop::collection::btree_map(0_i64..1_000_000_000, -9_i32..10, 0..40),
            bits in 1_usize..200,
            kind in 0..3,
        ) {
            // Integers: sums of signs are exact, so that ties occur and are ties in both.
            let indices: Vec<i64> = columns.keys().copied().collect();
            let data: Vec<f64> = columns.values().map(|&value| f64::from(value)).collect();
            let gaussian = match kind {
                0 => Gaussian::Columns(Vec::new()),
                1 => Gaussian::Columns(indices.iter().copied().step_by(2).collect()),
                _ => Gaussian::All,
            };
            let hash = SparseSimHash::new(bits, 9, gaussian);
            let found = hash.codes(&[0, indices.len() as i64], &indices, &data).expect("codes");
            for bit in 0..bits {
                let (mut signs, mut gaussians) = (0.0, 0.0);
                for (&column, &value) in indices.iter().zip(&data) {
                    if hash.is_gaussian(column) {
                        gaussians += value * random::gaussian(random::word(random::base(9, GAUSSIANS, bit as u64), column as u64));
                    } else {
                        let word = random::word(random::base(9, SIGNS, bit as u64 / 64), column as u64);
                        signs += if word >> (bit % 64) & 1 == 1 { value } else { -value };
                    }
                }
                prop_assert_eq!(signs + gaussians > 0.0, found[bit / 64] >> (bit % 64) & 1 == 1);
            }
            prop_assert!(bits % 64 == 0 || found[bits / 64] >> (bits % 64) == 0);
        }

        #[test]
        fn every_form_adds_the_same(
            values in prop::collection::vec(-1e3_f64..1e3, 0..30),
            base: u64,
        ) {
            let indices: Vec<i64> = (0..values.len() as i64).collect();
            let (mut plain, mut best) = ([0.0; 64], [0.0; 64]);
            add_signs(&indices, &values, base, &mut plain);
            add(&indices, &values, base, &mut best);
            prop_assert_eq!(plain, best);
        }
    }
}
