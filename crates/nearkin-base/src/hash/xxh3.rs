//! XXH3-64 of short inputs, one by one and for all windows of a buffer at once.
//!
//! Most n-grams are 1 to 32 bytes long, where XXH3 is a few multiplications; those lengths are written here so that
//! they inline, and in batches those up to 16 run in vector lanes. Longer features go to the `xxhash-rust` crate.
//!
//! For 4 to 8 bytes with first and last four bytes f and l (little-endian), length n and seed s:
//! ```text
//! k = (l + f·2^32) xor ((S8 xor S16) − (s xor byteswap32(s)·2^32))      S8, S16: words of the secret at 8 and 16
//! k = k xor (k <<< 49) xor (k <<< 24);  k = k · 0x9FB21C651E98DF25;  k = k xor ((k >> 35) + n)
//! k = k · 0x9FB21C651E98DF25;  k xor (k >> 28)
//! ```
//! All arithmetic is modulo 2^64. Source: the xxHash specification, XXH3 section (Collet, version 0.2.0). Tests:
//! every length against `xxhash-rust`, every kernel against [`hash`].

use crate::cpu::features::Instructions;
use crate::cpu::simd::{BYTES, Simd, with_simd};

/// Words of XXH3's default secret, at byte offsets 0, 8, 16, …, 64.
const SECRET: [u64; 9] = [
    0xbe4b_a423_396c_feb8,
    0x1cad_21f7_2c81_017c,
    0xdb97_9083_e96d_d4de,
    0x1f67_b3b7_a4a4_4072,
    0x78e5_c0cc_4ee6_79cb,
    0x2172_ffcc_7dd0_5a82,
    0x8e24_43f7_7446_08b8,
    0x4c26_3a81_e690_35e0,
    0xcb00_c391_bb52_283c,
];
const PRIME64_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME64_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME_MX1: u64 = 0x1656_6791_9e37_79f9;
const PRIME_MX2: u64 = 0x9fb2_1c65_1e98_df25;

/// Return the XXH3-64 of `bytes` with `seed`.
#[inline]
pub fn hash(bytes: &[u8], seed: u64) -> u64 {
    match bytes.len() {
        4..=8 => {
            let first = read32(bytes, 0);
            let last = read32(bytes, bytes.len() - 4);
            mix_4_to_8(last.wrapping_add(first << 32), flip_4_to_8(seed), bytes.len() as u64)
        }
        9..=16 => {
            let (flip_low, flip_high) = flip_9_to_16(seed);
            let low = read64(bytes, 0) ^ flip_low;
            let high = read64(bytes, bytes.len() - 8) ^ flip_high;
            mix_9_to_16(low, high, bytes.len() as u64)
        }
        1..=3 => {
            let n = bytes.len();
            let combined =
                u64::from(bytes[0]) << 16 | u64::from(bytes[n >> 1]) << 24 | u64::from(bytes[n - 1]) | (n as u64) << 8;
            avalanche64(combined ^ flip_1_to_3(seed))
        }
        17..=32 => mix_17_to_32(bytes, seed),
        0 => avalanche64(seed ^ SECRET[7] ^ SECRET[8]),
        _ => xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed),
    }
}

#[inline(always)]
fn avalanche64(mut h: u64) -> u64 {
    h = (h ^ h >> 33).wrapping_mul(PRIME64_2);
    h = (h ^ h >> 29).wrapping_mul(PRIME64_3);
    h ^ h >> 32
}

#[inline(always)]
fn flip_1_to_3(seed: u64) -> u64 {
    (SECRET[0] & 0xffff_ffff ^ SECRET[0] >> 32).wrapping_add(seed)
}

#[inline(always)]
fn flip_9_to_16(seed: u64) -> (u64, u64) {
    ((SECRET[3] ^ SECRET[4]).wrapping_add(seed), (SECRET[5] ^ SECRET[6]).wrapping_sub(seed))
}

/// Hash 9 to 16 bytes; the 128-bit product is computed in 32-bit halves, which vector lanes can multiply.
#[inline(always)]
fn mix_9_to_16(low: u64, high: u64, length: u64) -> u64 {
    let (a, b, c, d) = (low & 0xffff_ffff, low >> 32, high & 0xffff_ffff, high >> 32);
    let (ac, bc, ad, bd) = (a * c, b * c, a * d, b * d);
    let cross = (ac >> 32) + (bc & 0xffff_ffff) + ad;
    let upper = (bc >> 32) + (cross >> 32) + bd;
    let lower = cross << 32 | ac & 0xffff_ffff;
    let mut h = length.wrapping_add(low.swap_bytes()).wrapping_add(high).wrapping_add(upper ^ lower);
    h ^= h >> 37;
    h = h.wrapping_mul(PRIME_MX1);
    h ^ h >> 32
}

/// Hash 17 to 32 bytes: the sum of the folded products of the first and of the last 16.
#[inline(always)]
fn mix_17_to_32(bytes: &[u8], seed: u64) -> u64 {
    let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) else { return 0 };
    let fold = |half: &[u8; 16], low: u64, high: u64| {
        let product = u128::from(read64(half, 0) ^ low.wrapping_add(seed))
            * u128::from(read64(half, 8) ^ high.wrapping_sub(seed));
        (product >> 64) as u64 ^ product as u64
    };
    let mut h = (bytes.len() as u64).wrapping_mul(PRIME64_1);
    h = h.wrapping_add(fold(first, SECRET[0], SECRET[1])).wrapping_add(fold(last, SECRET[2], SECRET[3]));
    h = (h ^ h >> 37).wrapping_mul(PRIME_MX1);
    h ^ h >> 32
}

#[inline(always)]
fn flip_4_to_8(seed: u64) -> u64 {
    let seed = seed ^ u64::from((seed as u32).swap_bytes()) << 32;
    (SECRET[1] ^ SECRET[2]).wrapping_sub(seed)
}

#[inline(always)]
fn mix_4_to_8(input: u64, flip: u64, n: u64) -> u64 {
    let k = input ^ flip;
    finish_4_to_8(k ^ k.rotate_left(49) ^ k.rotate_left(24), n)
}

/// Run the steps after the rotations.
#[inline(always)]
fn finish_4_to_8(k: u64, n: u64) -> u64 {
    let k = k.wrapping_mul(PRIME_MX2);
    let k = (k ^ (k >> 35).wrapping_add(n)).wrapping_mul(PRIME_MX2);
    k ^ k >> 28
}

#[inline(always)]
fn read32(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
}

#[inline(always)]
fn read64(bytes: &[u8], at: usize) -> u64 {
    read32(bytes, at) | read32(bytes, at + 4) << 32
}

/// Hash the windows `bytes[i..i + n]`, i = 0 … `out.len() - 1`, each of `n` bytes.
///
/// # Panics
/// If `bytes` does not contain the windows: `out.len() + n - 1 > bytes.len()`.
pub fn hash_windows(bytes: &[u8], n: usize, seed: u64, out: &mut [u64]) {
    assert!(n > 0 && out.len() + n - 1 <= bytes.len(), "windows lie inside of the buffer");
    let done = match n {
        // SAFETY: the form is compiled for the instructions of `S`, and the assertion bounds the windows.
        4..=8 => with_simd!(S => unsafe { windows_in_lanes::<S>(bytes, n, seed, out) }),
        _ => 0,
    };
    for (i, h) in out.iter_mut().enumerate().skip(done) {
        *h = hash(&bytes[i..i + n], seed);
    }
}

/// Fill `out` from the front, eight windows per step, while full loads fit into `bytes`; return the number of windows.
///
/// # Safety
/// The processor has the instructions of `S`, and the caller enables them; `bytes` contains the windows.
#[inline(always)]
unsafe fn windows_in_lanes<S: Simd>(bytes: &[u8], n: usize, seed: u64, out: &mut [u64]) -> usize {
    if !S::MULTIPLIES {
        return 0;
    }
    let steps = (bytes.len().saturating_sub(BYTES - LANES) / LANES).min(out.len() / LANES);
    // SAFETY: the caller guarantees the instructions; each step begins 64 bytes before the end of `bytes` or earlier,
    // and eight places before the end of `out`.
    unsafe {
        let (flip, prime) = (S::splat64(flip_4_to_8(seed)), S::splat64(PRIME_MX2));
        let length = S::splat64(n as u64);
        for step in 0..steps {
            let k = S::xor(S::windows64(bytes.as_ptr().add(LANES * step), n), flip);
            let k = S::xor3(k, S::rotate64::<49, 15>(k), S::rotate64::<24, 40>(k));
            let k = S::mul64(k, prime);
            let k = S::xor(k, S::add64(S::right64::<35>(k), length));
            let k = S::mul64(k, prime);
            let k = S::xor(k, S::right64::<28>(k));
            S::store(out.as_mut_ptr().add(LANES * step).cast(), k);
        }
    }
    LANES * steps
}

/// Windows of a step.
const LANES: usize = 8;

/// Hash many inputs of 1 to 8 bytes: `values` are their bytes, little-endian (bytes above the length are ignored),
/// `lengths` their lengths.
///
/// # Panics
/// If the slices differ in length.
pub fn hash_short(values: &[u64], lengths: &[u64], seed: u64, out: &mut [u64]) {
    Instructions::best().run(
        #[inline(always)]
        || short(values, lengths, seed, out),
    );
}

#[inline(always)]
fn short(values: &[u64], lengths: &[u64], seed: u64, out: &mut [u64]) {
    assert!(values.len() == out.len() && lengths.len() == out.len(), "one place an input");
    let (flip, flip_tiny) = (flip_4_to_8(seed), flip_1_to_3(seed));
    for ((h, &value), &length) in out.iter_mut().zip(values).zip(lengths) {
        let last = (value >> (8 * (length.max(4) - 4))) & 0xffff_ffff;
        let four = mix_4_to_8(last | value << 32, flip, length);
        let middle = value >> (8 * (length >> 1)) & 0xff;
        let end = value >> (8 * (length - 1)) & 0xff;
        let tiny = avalanche64(((value & 0xff) << 16 | middle << 24 | end | length << 8) ^ flip_tiny);
        *h = if length < 4 { tiny } else { four };
    }
}

/// Hash many inputs of 4 bytes, passed as little-endian numbers.
///
/// # Panics
/// If the slices differ in length.
pub fn hash_fours(values: &[u32], seed: u64, out: &mut [u64]) {
    assert_eq!(values.len(), out.len(), "one place an input");
    Instructions::best().run(
        #[inline(always)]
        || {
            // With x = v + v·2^32, x xor (x <<< 49) xor (x <<< 24) is twice v xor (v <<< 17) xor (v <<< 24), in half of
            // the lanes; the rotations of a xor are the xor of the rotations.
            let flip = flip_4_to_8(seed);
            let flip = flip ^ flip.rotate_left(49) ^ flip.rotate_left(24);
            // An index, since a call of an iterator that is not inlined keeps the loop out of vectors.
            let mut i = 0;
            while i < values.len() {
                let value = values[i];
                let half = u64::from(value ^ value.rotate_left(17) ^ value.rotate_left(24));
                out[i] = finish_4_to_8(half ^ half << 32 ^ flip, 4);
                i += 1;
            }
        },
    );
}

/// Hash many inputs of 9 to 16 bytes, passed as their first eight bytes `low`, their last eight `high` (both
/// little-endian) and `lengths`.
///
/// # Panics
/// If the slices differ in length.
pub fn hash_medium(low: &[u64], high: &[u64], lengths: &[u64], seed: u64, out: &mut [u64]) {
    Instructions::best().run(
        #[inline(always)]
        || medium(low, high, lengths, seed, out),
    );
}

#[inline(always)]
fn medium(low: &[u64], high: &[u64], lengths: &[u64], seed: u64, out: &mut [u64]) {
    assert!(low.len() == out.len() && high.len() == out.len() && lengths.len() == out.len(), "one place an input");
    let (flip_low, flip_high) = flip_9_to_16(seed);
    for (((h, &low), &high), &length) in out.iter_mut().zip(low).zip(high).zip(lengths) {
        *h = mix_9_to_16(low ^ flip_low, high ^ flip_high, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::with_each_simd;
    use proptest::prelude::*;

    #[test]
    fn every_length_equals_the_reference_crate() {
        let bytes: Vec<u8> = (0..300_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for n in 0..300 {
            for seed in [0, 1, 15, 0xdead_beef, u64::MAX] {
                assert_eq!(xxhash_rust::xxh3::xxh3_64_with_seed(&bytes[..n], seed), hash(&bytes[..n], seed), "{n}");
            }
        }
    }

    proptest! {
        #[test]
        fn batches_equal_one_by_one(
            inputs in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..17), 1..40), seed: u64
        ) {
            for (least, most) in [(1, 8), (9, 16)] {
                let inputs: Vec<&Vec<u8>> = inputs.iter().filter(|input| (least..=most).contains(&input.len())).collect();
                let mut low = Vec::new();
                let mut high = Vec::new();
                for input in &inputs {
                    let mut padded = [0xff; 16];
                    padded[..input.len()].copy_from_slice(input);
                    low.push(read64(&padded, 0));
                    high.push(read64(&padded, input.len().saturating_sub(8)));
                }
                let lengths: Vec<u64> = inputs.iter().map(|input| input.len() as u64).collect();
                let mut out = vec![0; inputs.len()];
                if most == 8 {
                    hash_short(&low, &lengths, seed, &mut out);
                } else {
                    hash_medium(&low, &high, &lengths, seed, &mut out);
                }
                let expected: Vec<u64> = inputs.iter().map(|input| hash(input, seed)).collect();
                prop_assert_eq!(expected, out);
            }
        }

        #[test]
        fn fours_equal_one_by_one(values in prop::collection::vec(any::<u32>(), 0..40), seed: u64) {
            let mut out = vec![0; values.len()];
            hash_fours(&values, seed, &mut out);
            let expected: Vec<u64> = values.iter().map(|value| hash(&value.to_le_bytes(), seed)).collect();
            prop_assert_eq!(expected, out);
        }

        #[test]
        fn windows_equal_one_by_one(bytes in prop::collection::vec(any::<u8>(), 1..400), n in 1_usize..12, seed: u64) {
            prop_assume!(n <= bytes.len());
            let mut out = vec![0; bytes.len() - n + 1];
            hash_windows(&bytes, n, seed, &mut out);
            let expected: Vec<u64> = bytes.windows(n).map(|window| hash(window, seed)).collect();
            prop_assert_eq!(&expected, &out);
            if (4..=8).contains(&n) {
                with_each_simd!(S => {
                    out.fill(0);
                    // SAFETY: the form is compiled for the instructions of `S`, and the bytes contain the windows.
                    let done = unsafe { windows_in_lanes::<S>(&bytes, n, seed, &mut out) };
                    assert!(!S::MULTIPLIES || done + BYTES > out.len());
                    assert_eq!(expected[..done], out[..done]);
                });
            }
        }
    }
}
