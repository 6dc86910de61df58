//! What a search keeps of a signature: a key for each band, and one bit for each value.
//!
//! **Keys.** Band j has rows `r j` to `r (j + 1)`, exclusive. Its key is the lower half of the XXH3-128 of these values in
//! little-endian order, exclusive or `(j + 1) · 0x9e37_79b9_7f4a_7c15`, so that equal values in different bands get
//! different keys. Two keys of a band are equal if the band is, and otherwise with probability 2^-64.
//!
//! **Bits.** Bit i is the highest bit of a mixture of the upper half of value i. The bits of equal values are equal, those
//! of different values with probability 1/2, so that of m bits
//!
//! ```text
//! equal ~ Binomial(m, (1 + J) / 2)
//! ```
//!
//! agree (b-bit minwise hashing with b = 1). Values are mixed because those of `fast` are multiples of a power of two.
//! Law: `nearkin.theory.min_equal_bits`.
//!
//! A row has the keys, then the bits in words of 64. Cost: O(values). Source: P. Li and A. C. König, "b-Bit minwise
//! hashing", WWW 2010. Tests: `rows_are_keys_and_bits`; the law in `tests/dedup/candidates/test_minhash_candidates.py`.

use crate::parallel::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

use super::{MAX_PERM, Value};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::{Error, Result, alloc};

/// Return for each signature of `num_perm` values the keys of `bands` bands of `rows` values, and the first `bits` bits:
/// `bands + bits.div_ceil(64)` words. Unused bits are zero. In parallel.
///
/// # Errors
/// Signatures are incomplete or have fewer values than the bands or the bits; the call is cancelled; memory runs out.
pub fn keys<V: Value>(signatures: &[V], num_perm: usize, bands: usize, rows: usize, bits: usize) -> Result<Vec<u64>> {
    if !(1..=MAX_PERM).contains(&num_perm) || !signatures.len().is_multiple_of(num_perm) {
        return Err(Error::parameter("num_perm", num_perm, "the number of values of each signature"));
    }
    if bands.saturating_mul(rows) > num_perm || (rows == 0 && bands > 0) {
        return Err(Error::parameter("bands", format!("{bands}x{rows}"), format!("at most {num_perm} values in all")));
    }
    if bits > num_perm {
        return Err(Error::parameter("bits", bits, format!("0 to {num_perm}")));
    }
    let width = bands + bits.div_ceil(64);
    let mut words = alloc::try_zeroed(signatures.len() / num_perm * width)?;
    if width == 0 {
        return Ok(words);
    }
    let (cancel, instructions) = (&CancelToken::current(), Instructions::best());
    words.par_chunks_mut(width).zip(signatures.par_chunks(num_perm)).with_min_len(64).try_for_each(
        |(row, values)| {
            let (keys, packed) = row.split_at_mut(bands);
            let mut bytes = [0; 8 * MAX_PERM];
            for ((key, band), number) in keys.iter_mut().zip(values.chunks_exact(rows.max(1))).zip(1..) {
                *key = xxh3_128(V::write(band, &mut bytes)) as u64 ^ 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number);
            }
            for (word, values) in packed.iter_mut().zip(values[..bits].chunks(64)) {
                *word = instructions.run(
                    #[inline(always)]
                    || pack(values),
                );
            }
            cancel.check()
        },
    )?;
    Ok(words)
}

/// Return the bits of up to 64 values.
#[inline(always)]
fn pack<V: Value>(values: &[V]) -> u64 {
    let bit = |value: V| {
        // The first steps of the finaliser of MurmurHash3 for 32 bits.
        let mut mixed = (value.bits() >> 32) as u32;
        mixed = (mixed ^ mixed >> 16).wrapping_mul(0x85eb_ca6b);
        (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35) >> 31
    };
    values.iter().enumerate().fold(0, |word, (i, &value)| word | u64::from(bit(value)) << i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_keys_and_bits(
            values in prop::collection::vec(prop::sample::select(vec![0, 64, 128, 7 << 40, u64::MAX, 3]), 0..400),
            num_perm in 1_usize..140, rows in 1_usize..9, share in 0.0_f64..1.0,
        ) {
            let n = values.len() / num_perm;
            let (wide, bands, bits) = (&values[..n * num_perm], num_perm / rows, (share * num_perm as f64) as usize);
            let narrow: Vec<u32> = wide.iter().map(|&value| u32::of(value)).collect();
            let width = bands + bits.div_ceil(64);
            let result = keys(wide, num_perm, bands, rows, bits).expect("room");
            prop_assert_eq!(n * width, result.len());
            // Bits come from the upper half, which both widths have.
            let of_narrow = keys(&narrow, num_perm, bands, rows, bits).expect("room");
            for i in 0..n {
                let (row, signature) = (&result[i * width..][..width], &wide[i * num_perm..][..num_perm]);
                for (band, &key) in row[..bands].iter().enumerate() {
                    let bytes: Vec<u8> = signature[band * rows..][..rows].iter().flat_map(|v| v.to_le_bytes()).collect();
                    let salt = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(band as u64 + 1);
                    prop_assert_eq!(xxh3_128(&bytes) as u64 ^ salt, key);
                }
                for (word, packed) in row[bands..].iter().enumerate() {
                    prop_assert_eq!(of_narrow[i * width + bands + word], *packed);
                    for bit in 0..64 {
                        let at = 64 * word + bit;
                        let expected = if at < bits { pack(&signature[at..=at]) } else { 0 };
                        prop_assert_eq!(expected, packed >> bit & 1);
                    }
                }
            }
        }
    }

    #[test]
    fn signatures_that_do_not_fit_are_refused() {
        for (num_perm, bands, rows, bits) in [(0, 0, 1, 0), (3, 1, 1, 1), (4, 5, 1, 0), (4, 1, 0, 0), (4, 0, 1, 5)] {
            assert!(keys(&[0_u32; 8], num_perm, bands, rows, bits).is_err(), "{num_perm} {bands} {rows} {bits}");
        }
        assert!(keys(&[0_u32; 8], 4, 0, 1, 0).expect("room").is_empty());
    }
}
