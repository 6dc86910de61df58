//! Bob Jenkins' hashes: lookup3 (2006, `hashlittle2`) and one-at-a-time (Dr. Dobb's, September 1997).
//!
//! All arithmetic is modulo 2^32; bytes are read little-endian on every platform.

/// Hash with lookup3's `hashlittle2`: (c, b) of `bytes` with seeds `pc` and `pb`; c is the better mixed half.
pub fn lookup3(bytes: &[u8], pc: u32, pb: u32) -> (u32, u32) {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(pc);
    let (mut a, mut b, mut c) = (start, start, start.wrapping_add(pb));
    let mut rest = bytes;
    while rest.len() > 12 {
        let (block, tail) = rest.split_at(12);
        a = a.wrapping_add(little_endian(&block[..4]));
        b = b.wrapping_add(little_endian(&block[4..8]));
        c = c.wrapping_add(little_endian(&block[8..]));
        (a, b, c) = mix(a, b, c);
        rest = tail;
    }
    if rest.is_empty() {
        return (c, b);
    }
    a = a.wrapping_add(little_endian(&rest[..rest.len().min(4)]));
    b = b.wrapping_add(little_endian(&rest[rest.len().min(4)..rest.len().min(8)]));
    c = c.wrapping_add(little_endian(&rest[rest.len().min(8)..]));
    last_mix(a, b, c)
}

/// Read up to four bytes, the first the lowest; missing ones are 0.
fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

fn mix(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32, u32) {
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    (a, b, c)
}

/// Mix finally; return (c, b).
fn last_mix(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32) {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    (c, b)
}

/// Hash with one-at-a-time: 32 bits of `bytes`, from 0.
pub fn one_at_a_time(bytes: &[u8]) -> u32 {
    let mut h = bytes.iter().fold(0_u32, |h, &byte| {
        let h = h.wrapping_add(byte.into());
        let h = h.wrapping_add(h << 10);
        h ^ h >> 6
    });
    h = h.wrapping_add(h << 3);
    h ^= h >> 11;
    h.wrapping_add(h << 15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lookup3_gives_the_values_of_its_authors_driver() {
        let text = b"Four score and seven years ago";
        assert_eq!((0xdead_beef, 0xdead_beef), lookup3(b"", 0, 0));
        assert_eq!((0xbd5b_7dde, 0xdead_beef), lookup3(b"", 0, 0xdead_beef));
        assert_eq!((0x9c09_3ccd, 0xbd5b_7dde), lookup3(b"", 0xdead_beef, 0xdead_beef));
        assert_eq!((0x1777_0551, 0xce72_26e6), lookup3(text, 0, 0));
        assert_eq!((0xe360_7cae, 0xbd37_1de4), lookup3(text, 0, 1));
        assert_eq!((0xcd62_8161, 0x6cbe_a4b3), lookup3(text, 1, 0));
    }

    /// Run the steps of the published macros, each a line of "x -= z; x ^= rot(z, k); z += y" on three words by number.
    fn plain_lookup3(bytes: &[u8], pc: u32, pb: u32) -> (u32, u32) {
        let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(pc);
        let mut state = [start, start, start.wrapping_add(pb)];
        let mut left = bytes.len();
        let mut at = 0;
        let mut take = |state: &mut [u32; 3], count: usize| {
            for i in 0..count {
                state[i / 4] = state[i / 4].wrapping_add(u32::from(bytes[at + i]) << (8 * (i % 4)));
            }
            at += count;
        };
        while left > 12 {
            take(&mut state, 12);
            for (x, z, y, k) in [(0, 2, 1, 4), (1, 0, 2, 6), (2, 1, 0, 8), (0, 2, 1, 16), (1, 0, 2, 19), (2, 1, 0, 4)] {
                state[x] = state[x].wrapping_sub(state[z]);
                state[x] ^= state[z].rotate_left(k);
                state[z] = state[z].wrapping_add(state[y]);
            }
            left -= 12;
        }
        if left > 0 {
            take(&mut state, left);
            for (x, z, k) in [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)] {
                state[x] ^= state[z];
                state[x] = state[x].wrapping_sub(state[z].rotate_left(k));
            }
        }
        (state[2], state[1])
    }

    proptest! {
        #[test]
        fn every_input_has_the_plain_value(bytes in prop::collection::vec(any::<u8>(), 0..70), pc: u32, pb: u32) {
            prop_assert_eq!(plain_lookup3(&bytes, pc, pb), lookup3(&bytes, pc, pb));
            let mut h = 0_u64;
            for &byte in &bytes {
                h = (h + u64::from(byte)) % (1 << 32);
                h = h * 1025 % (1 << 32);
                h ^= h / 64;
            }
            h = h * 9 % (1 << 32);
            h ^= h / 2048;
            h = h * 32769 % (1 << 32);
            prop_assert_eq!(h, u64::from(one_at_a_time(&bytes)));
        }
    }
}
