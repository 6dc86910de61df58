//! The permutations of the `PyPI` package datasketch: sets of features → signatures with its values.
//!
//! The hash h of a feature is the first 4 bytes (8 for `affine64`) of the SHA-1 of its bytes, little-endian, or any
//! number that the caller passes. Value i of a set is the minimum over its features:
//!
//! | scheme | value i of h | type |
//! |---|---|---|
//! | `affine32` | aᵢ fmix32(h) + bᵢ mod 2^32 | 32 bits |
//! | `affine64` | aᵢ fmix64(h) + bᵢ mod 2^64 | 64 bits |
//! | `legacy` | ((aᵢ h + bᵢ mod 2^64) mod (2^61 − 1)) mod 2^32 | 64 bits, 32 of them used |
//!
//! where fmix is the finaliser of `MurmurHash3` (Appleby). The caller passes aᵢ and bᵢ, because NumPy draws them
//! (`python/nearkin/families/datasketch.py`). A set without features has the largest value everywhere.
//!
//! Cost: |A| · k for a set A and k values; the minima of 32 functions are in registers at once. Tests: the formulas in plain
//! integers, and the package itself, in `tests/families/test_datasketch.py`.

use crate::parallel::prelude::*;
use sha1::{Digest, Sha1};

use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::hash::murmur3;
use crate::{Error, Result, alloc};

/// Number of functions whose minima are in registers at once.
const LANES: usize = 32;

/// Features that are hashed at once.
const CHUNK: usize = 256;

/// 2^61 − 1, a Mersenne prime.
const PRIME: u64 = (1 << 61) - 1;

/// How a hash becomes value i.
trait Scheme {
    type Value: Copy + Ord + Default + Send + Sync;
    const LARGEST: Self::Value;
    /// Truncate a hash.
    fn truncate(hash: u64) -> Self::Value;
    /// Return the argument of the functions.
    fn mix(hash: Self::Value) -> Self::Value;
    /// Return the value of a function.
    fn value(mixed: Self::Value, a: Self::Value, b: Self::Value) -> Self::Value;
}

struct Affine32;

impl Scheme for Affine32 {
    type Value = u32;
    const LARGEST: u32 = u32::MAX;

    #[inline(always)]
    fn truncate(hash: u64) -> u32 {
        hash as u32
    }

    #[inline(always)]
    fn mix(mut h: u32) -> u32 {
        h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
        h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
        h ^ h >> 16
    }

    #[inline(always)]
    fn value(mixed: u32, a: u32, b: u32) -> u32 {
        a.wrapping_mul(mixed).wrapping_add(b)
    }
}

struct Affine64;

impl Scheme for Affine64 {
    type Value = u64;
    const LARGEST: u64 = u64::MAX;

    #[inline(always)]
    fn truncate(hash: u64) -> u64 {
        hash
    }

    #[inline(always)]
    fn mix(h: u64) -> u64 {
        murmur3::avalanche(h)
    }

    #[inline(always)]
    fn value(mixed: u64, a: u64, b: u64) -> u64 {
        a.wrapping_mul(mixed).wrapping_add(b)
    }
}

struct Legacy;

impl Scheme for Legacy {
    type Value = u64;
    const LARGEST: u64 = u32::MAX as u64;

    #[inline(always)]
    fn truncate(hash: u64) -> u64 {
        hash
    }

    #[inline(always)]
    fn mix(hash: u64) -> u64 {
        hash
    }

    #[inline(always)]
    fn value(mixed: u64, a: u64, b: u64) -> u64 {
        let product = a.wrapping_mul(mixed).wrapping_add(b);
        // 2^61 is 1 modulo the prime; the sum is below 2^61 + 7.
        let folded = (product & PRIME) + (product >> 61);
        let rest = if folded >= PRIME { folded - PRIME } else { folded };
        rest & u64::from(u32::MAX)
    }
}

/// aᵢ and bᵢ of k functions.
struct Functions<S: Scheme> {
    num_perm: usize,
    /// Padded to full registers, like the terms.
    factors: Vec<S::Value>,
    terms: Vec<S::Value>,
    instructions: Instructions,
}

impl<S: Scheme> Functions<S> {
    fn new(factors: &[S::Value], terms: &[S::Value]) -> Result<Self> {
        if factors.is_empty() || factors.len() != terms.len() {
            return Err(Error::mismatch("number of factors and of terms", factors.len(), terms.len()));
        }
        let padded = |values: &[S::Value]| {
            let mut all = alloc::try_with_capacity(values.len().next_multiple_of(LANES))?;
            all.extend_from_slice(values);
            all.resize(values.len().next_multiple_of(LANES), S::Value::default());
            Ok(all)
        };
        Ok(Self {
            num_perm: factors.len(),
            factors: padded(factors)?,
            terms: padded(terms)?,
            instructions: Instructions::best(),
        })
    }

    /// Compute signatures of sets: set d has the items from `offsets[d]` to `offsets[d + 1]`, whose hashes `hash`
    /// returns.
    fn signatures(&self, offsets: &[i64], hash: impl Fn(usize) -> u64 + Sync) -> Result<Vec<S::Value>> {
        let mut out = alloc::try_filled(S::LARGEST, (offsets.len() - 1) * self.num_perm)?;
        let cancel = &CancelToken::current();
        out.par_chunks_mut(self.num_perm).enumerate().with_min_len(4).for_each(|(d, out)| {
            let mut mixed = [S::Value::default(); CHUNK];
            let items = offsets[d] as usize..offsets[d + 1] as usize;
            for start in items.clone().step_by(CHUNK) {
                if cancel.is_set() {
                    return;
                }
                let mixed = &mut mixed[..CHUNK.min(items.end - start)];
                for (i, x) in mixed.iter_mut().enumerate() {
                    *x = S::mix(S::truncate(hash(start + i)));
                }
                self.instructions.run(
                    #[inline(always)]
                    || self.minima(mixed, out),
                );
            }
        });
        Ok(out)
    }

    /// Update the minima of one set.
    #[inline(always)]
    fn minima(&self, mixed: &[S::Value], out_minima: &mut [S::Value]) {
        let functions = self.factors.chunks_exact(LANES).zip(self.terms.chunks_exact(LANES));
        for ((a, b), out_minima) in functions.zip(out_minima.chunks_mut(LANES)) {
            let (Ok(a), Ok(b)) = (<&[S::Value; LANES]>::try_from(a), <&[S::Value; LANES]>::try_from(b)) else { return };
            let mut current = [S::LARGEST; LANES];
            current[..out_minima.len()].copy_from_slice(out_minima);
            for &x in mixed {
                for i in 0..LANES {
                    current[i] = current[i].min(S::value(x, a[i], b[i]));
                }
            }
            out_minima.copy_from_slice(&current[..out_minima.len()]);
        }
    }
}

/// Signatures of any scheme, row-major.
pub enum Values {
    /// Those of `affine32`.
    Narrow(Vec<u32>),
    /// Those of the others.
    Wide(Vec<u64>),
}

enum Kind {
    Affine32(Functions<Affine32>),
    Affine64(Functions<Affine64>),
    Legacy(Functions<Legacy>),
}

/// The functions of a scheme.
pub struct Permutations(Kind);

impl Permutations {
    /// Create the functions with these factors aᵢ and terms bᵢ.
    ///
    /// # Errors
    /// An unknown scheme; no numbers, or unequally many; for `affine32` numbers of more than 32 bits; memory runs out.
    pub fn new(scheme: &str, factors: &[u64], terms: &[u64]) -> Result<Self> {
        let narrow = |values: &[u64]| {
            let wide = values.iter().find(|&&value| value > u64::from(u32::MAX));
            match wide {
                Some(value) => Err(Error::parameter("permutations", value, "numbers below 2^32 with affine32")),
                None => alloc::try_collect(values.iter().map(|&value| value as u32)),
            }
        };
        Ok(Self(match scheme {
            "affine32" => Kind::Affine32(Functions::new(&narrow(factors)?, &narrow(terms)?)?),
            "affine64" => Kind::Affine64(Functions::new(factors, terms)?),
            "legacy" => Kind::Legacy(Functions::new(factors, terms)?),
            other => return Err(Error::parameter("scheme", other, "affine32, affine64 or legacy")),
        }))
    }

    /// Return signatures of sets of features: set d has `features[offsets[d]..offsets[d + 1]]`, feature j the bytes
    /// `bytes[ends[j]..ends[j + 1]]`.
    ///
    /// # Errors
    /// Offsets that do not belong to the features; memory runs out.
    ///
    /// # Panics
    /// If `ends` do not belong to `bytes`.
    pub fn features(&self, offsets: &[i64], ends: &[usize], bytes: &[u8]) -> Result<Values> {
        check(offsets, ends.len() - 1)?;
        let mask = if matches!(self.0, Kind::Affine64(_)) { u64::MAX } else { u64::from(u32::MAX) };
        self.signatures(offsets, |j| {
            let digest = <[u8; 20]>::from(Sha1::digest(&bytes[ends[j]..ends[j + 1]]));
            u64::from_le_bytes(std::array::from_fn(|i| digest[i])) & mask
        })
    }

    /// Return signatures of sets of hashes: set d has `hashes[offsets[d]..offsets[d + 1]]`; `affine32` uses the lower
    /// 32 bits.
    ///
    /// # Errors
    /// Offsets that do not belong to the hashes; memory runs out.
    pub fn hashes(&self, offsets: &[i64], hashes: &[u64]) -> Result<Values> {
        check(offsets, hashes.len())?;
        self.signatures(offsets, |j| hashes[j])
    }

    fn signatures(&self, offsets: &[i64], hash: impl Fn(usize) -> u64 + Sync) -> Result<Values> {
        Ok(match &self.0 {
            Kind::Affine32(functions) => Values::Narrow(functions.signatures(offsets, hash)?),
            Kind::Affine64(functions) => Values::Wide(functions.signatures(offsets, hash)?),
            Kind::Legacy(functions) => Values::Wide(functions.signatures(offsets, hash)?),
        })
    }
}

/// Check that offsets begin at 0, never decrease, and end with the items.
fn check(offsets: &[i64], items: usize) -> Result<()> {
    let whole = offsets.first() == Some(&0) && offsets.last() == Some(&(items as i64));
    if whole && offsets.windows(2).all(|pair| pair[0] <= pair[1]) {
        return Ok(());
    }
    Err(Error::parameter("offsets", format!("{} numbers", offsets.len()), "where each set begins, and the end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(values: Values) -> Vec<u64> {
        match values {
            Values::Narrow(values) => values.into_iter().map(u64::from).collect(),
            Values::Wide(values) => values,
        }
    }

    #[test]
    fn legacy_values_are_those_of_plain_division() {
        let numbers = [0, 1, PRIME - 1, PRIME, PRIME + 1, 2 * PRIME, u64::MAX - 7, u64::MAX];
        for &a in &numbers {
            for &b in &numbers {
                for &h in &numbers {
                    let expected = (a.wrapping_mul(h).wrapping_add(b) % PRIME) & 0xffff_ffff;
                    assert_eq!(expected, Legacy::value(h, a, b));
                }
            }
        }
    }

    #[test]
    fn every_count_of_functions_gives_the_first_ones() {
        let factors: Vec<u64> = (0..70).map(|i| 2 * i + 1).collect();
        let terms: Vec<u64> = (0..70).map(|i| i * i).collect();
        for scheme in ["affine32", "affine64", "legacy"] {
            let of = |k: usize| {
                let family = Permutations::new(scheme, &factors[..k], &terms[..k]).unwrap();
                wide(family.features(&[0, 2, 2, 3], &[0, 1, 3, 3], b"abc").unwrap())
            };
            let all = of(70);
            for k in [1, 31, 32, 33, 64] {
                let found = of(k);
                for d in 0..3 {
                    assert_eq!(all[70 * d..70 * d + k], found[k * d..k * d + k]);
                }
            }
        }
    }

    #[test]
    fn a_set_without_features_has_the_largest_values() {
        for (scheme, largest) in [("affine32", 0xffff_ffff_u64), ("affine64", u64::MAX), ("legacy", 0xffff_ffff)] {
            let family = Permutations::new(scheme, &[1, 3], &[5, 7]).unwrap();
            assert_eq!(vec![largest; 2], wide(family.hashes(&[0, 0], &[]).unwrap()));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Permutations::new("other", &[1], &[1]).is_err());
        assert!(Permutations::new("affine32", &[1 << 32], &[1]).is_err());
        assert!(Permutations::new("affine64", &[1], &[]).is_err());
        assert!(Permutations::new("affine64", &[], &[]).is_err());
        let family = Permutations::new("affine64", &[1], &[1]).unwrap();
        for offsets in [&[][..], &[0], &[1, 2], &[0, 2, 1, 3], &[0, 2]] {
            assert!(family.hashes(offsets, &[1, 2, 3]).is_err());
        }
    }
}
