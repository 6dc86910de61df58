//! `MurmurHash3` x64 128 (Austin Appleby, public domain description): 16 bytes per round, all arithmetic modulo 2^64.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// Return the two words (h1, h2) of `bytes` with `seed`.
pub fn x64_128(bytes: &[u8], seed: u32) -> (u64, u64) {
    let (mut h1, mut h2) = (u64::from(seed), u64::from(seed));
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        h1 ^= scramble1(little_endian(&block[..8]));
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= scramble2(little_endian(&block[8..]));
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    if tail.len() > 8 {
        h2 ^= scramble2(little_endian(&tail[8..]));
    }
    h1 ^= scramble1(little_endian(&tail[..tail.len().min(8)]));
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = avalanche(h1);
    h2 = avalanche(h2);
    h1 = h1.wrapping_add(h2);
    (h1, h2.wrapping_add(h1))
}

fn scramble1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

/// Read up to eight bytes, the first the lowest; missing ones are 0.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Mix 64 bits with the finaliser, a bijection.
#[inline(always)]
pub fn avalanche(mut k: u64) -> u64 {
    k = (k ^ k >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ k >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ k >> 33
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_pangram_has_its_published_value() {
        let value = x64_128(b"The quick brown fox jumps over the lazy dog", 0);
        assert_eq!((0xe34b_bc7b_bc07_1b6c, 0x7a43_3ca9_c49a_9347), value);
        assert_eq!((0, 0), x64_128(b"", 0));
    }

    /// Hash byte by byte like the published program, its tail as a fall-through from the last byte down.
    fn plain(bytes: &[u8], seed: u32) -> (u64, u64) {
        const FIRST: u64 = 0x87c3_7b91_1142_53d5;
        const SECOND: u64 = 0x4cf5_ad43_2745_937f;
        let (mut h1, mut h2) = (u64::from(seed), u64::from(seed));
        let whole = bytes.len() / 16 * 16;
        for at in (0..whole).step_by(16) {
            let word = |from: usize| (0..8).fold(0_u64, |word, i| word | u64::from(bytes[at + from + i]) << (8 * i));
            let k1 = word(0).wrapping_mul(FIRST);
            h1 ^= k1.rotate_left(31).wrapping_mul(SECOND);
            h1 = h1.rotate_left(27).wrapping_add(h2);
            h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
            let k2 = word(8).wrapping_mul(SECOND);
            h2 ^= k2.rotate_left(33).wrapping_mul(FIRST);
            h2 = h2.rotate_left(31).wrapping_add(h1);
            h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
        }
        let (mut k1, mut k2) = (0_u64, 0_u64);
        for at in (whole..bytes.len()).rev() {
            match at - whole {
                place @ 8.. => k2 ^= u64::from(bytes[at]) << (8 * (place - 8)),
                place => k1 ^= u64::from(bytes[at]) << (8 * place),
            }
        }
        k2 = k2.wrapping_mul(SECOND);
        h2 ^= k2.rotate_left(33).wrapping_mul(FIRST);
        k1 = k1.wrapping_mul(FIRST);
        h1 ^= k1.rotate_left(31).wrapping_mul(SECOND);
        h1 ^= bytes.len() as u64;
        h2 ^= bytes.len() as u64;
        h1 = h1.wrapping_add(h2);
        h2 = h2.wrapping_add(h1);
        for h in [&mut h1, &mut h2] {
            *h ^= *h >> 33;
            *h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
            *h ^= *h >> 33;
            *h = h.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
            *h ^= *h >> 33;
        }
        h1 = h1.wrapping_add(h2);
        (h1, h2.wrapping_add(h1))
    }

    proptest! {
        #[test]
        fn every_input_has_the_plain_value(bytes in prop::collection::vec(any::<u8>(), 0..70), seed: u32) {
            prop_assert_eq!(plain(&bytes, seed), x64_128(&bytes, seed));
        }
    }
}
