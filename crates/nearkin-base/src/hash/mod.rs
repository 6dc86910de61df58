//! Feature hashes: bytes of one feature → 64 bits, fixed by published specifications.
//!
//! A fingerprint of more than 64 bits needs more than one hash word per feature. A hash of more than 64 bits supplies
//! them from its own value, lowest first: `md5` of 128 bits is the complete digest as one big-endian number. Further
//! words come from further values, which are appended at the top: value m (0, 1, …) of a feature x is
//!
//! - `H(x; seed + m)` for a seeded hash (addition modulo 2^32 or 2^64, the width of its seed);
//! - `H(x)` for m = 0 and `H(byte m ‖ x)` for m ≥ 1 for an unseeded hash.
//!
//! So word j is bits 64 j to 64 j + 63 of all values, one above the other; of a hash of 64 bits it is value j.
//!
//! | name | bits | seed | value taken | source |
//! |---|---|---|---|---|
//! | `xxh3` | 64 | 64 bits | XXH3-64 | xxHash specification 0.2.0 (Collet) |
//! | `md5` | 128 | – | the digest, big-endian | RFC 1321 |
//! | `sha1` | 160 | – | the digest, big-endian | RFC 3174 |
//! | `sha224`, `sha256`, `sha384`, `sha512` | 224 to 512 | – | the digest, big-endian | FIPS 180-4 |
//! | `fnv1a` | 64 | – | FNV-1a, 64 bits | Fowler, Noll, Vo; RFC 9923 |
//! | `murmur3` | 128 | 32 bits | x64 128: h1 + h2·2^64 | Appleby, MurmurHash3 |
//! | `lookup3` | 64 | 64 bits | `hashlittle2`: c + b·2^32, seeds (low, high) | Jenkins 2006 |
//! | `jenkins64` | 64 | 64 bits | `hashlittle2`: c·2^32 + b, seeds (high, low) | Jenkins 2006, as seomoz/simhash-cpp and yanyiwu/simhash take it |
//! | `one_at_a_time` | 32 | – | one-at-a-time | Jenkins 1997, Dr. Dobb's |
//!
//! The PyPI package `simhash` takes the last bytes of MD5, 8 of them for its default of 64 bits. Tests: `tests` below
//! for the published vectors, `tests/text/test_features.py` against independent implementations.

pub mod grams;
pub mod idset;
pub mod jenkins;
pub mod murmur3;
pub mod xxh3;

use std::hash::{BuildHasherDefault, Hasher};

use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use crate::{Error, Result};

/// Names of all feature hashes, in the order of the table above.
pub const NAMES: [&str; 12] = [
    "xxh3",
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "fnv1a",
    "murmur3",
    "lookup3",
    "jenkins64",
    "one_at_a_time",
];

/// Hash of a number, or a pair of them in one, for tables (not adversarial): the product's upper half, folded.
#[derive(Default)]
pub struct NumberHasher(u64);

/// The state of a table with a [`NumberHasher`].
pub type NumberState = BuildHasherDefault<NumberHasher>;

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

/// A hash function of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureHash {
    /// XXH3-64 with a seed.
    Xxh3(u64),
    /// MD5, 128 bits.
    Md5,
    /// SHA-1, 160 bits.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// FNV-1a of 64 bits.
    Fnv1a,
    /// `MurmurHash3` x64 128, with a seed.
    Murmur3(u32),
    /// Jenkins' lookup3 as 64 bits, with a seed.
    Lookup3(u64),
    /// Jenkins' lookup3 as 64 bits, its halves the other way round, with a seed.
    Jenkins64(u64),
    /// Jenkins' one-at-a-time, 32 bits.
    OneAtATime,
}

impl FeatureHash {
    /// Return the hash called `name`, with `seed` (0 for hashes without one).
    ///
    /// # Errors
    /// An unknown name, or a seed that the hash does not take.
    pub fn new(name: &str, seed: u64) -> Result<Self> {
        let unseeded = |hash| {
            if seed == 0 { Ok(hash) } else { Err(Error::parameter("seed", seed, format!("0: {name} takes no seed"))) }
        };
        match name {
            "xxh3" => Ok(Self::Xxh3(seed)),
            "md5" => unseeded(Self::Md5),
            "sha1" => unseeded(Self::Sha1),
            "sha224" => unseeded(Self::Sha224),
            "sha256" => unseeded(Self::Sha256),
            "sha384" => unseeded(Self::Sha384),
            "sha512" => unseeded(Self::Sha512),
            "fnv1a" => unseeded(Self::Fnv1a),
            "murmur3" => u32::try_from(seed)
                .map(Self::Murmur3)
                .map_err(|_| Error::parameter("seed", seed, "0 to 2^32 - 1 with murmur3")),
            "lookup3" => Ok(Self::Lookup3(seed)),
            "jenkins64" => Ok(Self::Jenkins64(seed)),
            "one_at_a_time" => unseeded(Self::OneAtATime),
            other => Err(Error::parameter("hash", other, format!("one of {}", NAMES.join(", ")))),
        }
    }

    /// Return the number of bits in a word of the hash: 64, or 32 for one-at-a-time.
    pub fn width(self) -> u32 {
        if self == Self::OneAtATime { 32 } else { 64 }
    }

    /// Return the hash of word `word` of a fingerprint, to be used with [`FeatureHash::hash`].
    #[must_use]
    pub fn word(self, word: u32) -> WordHash {
        match self {
            Self::Xxh3(seed) => WordHash { hash: Self::Xxh3(seed.wrapping_add(word.into())), word: 0 },
            Self::Murmur3(seed) => {
                WordHash { hash: Self::Murmur3(seed.wrapping_add(word / 2)), word: (word % 2) as u8 }
            }
            Self::Lookup3(seed) => WordHash { hash: Self::Lookup3(seed.wrapping_add(word.into())), word: 0 },
            Self::Jenkins64(seed) => WordHash { hash: Self::Jenkins64(seed.wrapping_add(word.into())), word: 0 },
            unseeded => WordHash { hash: unseeded, word: word as u8 },
        }
    }

    /// Return the lowest word of the hash of `bytes`.
    #[inline]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        WordHash { hash: self, word: 0 }.hash(bytes)
    }
}

/// The hash of one word of a fingerprint.
#[derive(Clone, Copy, Debug)]
pub struct WordHash {
    /// The hash; the seed is that of the value which has the word.
    pub hash: FeatureHash,
    /// Which word it is: of the values of an unseeded hash, or of the value of `murmur3`.
    word: u8,
}

impl WordHash {
    /// Return the hash word of `bytes`.
    #[inline]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        match self.hash {
            FeatureHash::Md5 => digest_word::<Md5>(self.word, bytes),
            FeatureHash::Sha1 => digest_word::<Sha1>(self.word, bytes),
            FeatureHash::Sha224 => digest_word::<Sha224>(self.word, bytes),
            FeatureHash::Sha256 => digest_word::<Sha256>(self.word, bytes),
            FeatureHash::Sha384 => digest_word::<Sha384>(self.word, bytes),
            FeatureHash::Sha512 => digest_word::<Sha512>(self.word, bytes),
            FeatureHash::Murmur3(seed) => {
                let (low, high) = murmur3::x64_128(bytes, seed);
                if self.word == 0 { low } else { high }
            }
            hash if self.word > 0 => prefixed(hash, self.word, bytes),
            FeatureHash::Xxh3(seed) => xxh3::hash(bytes, seed),
            FeatureHash::Fnv1a => fnv1a(bytes),
            FeatureHash::Lookup3(seed) => {
                let (c, b) = jenkins::lookup3(bytes, seed as u32, (seed >> 32) as u32);
                u64::from(c) | u64::from(b) << 32
            }
            FeatureHash::Jenkins64(seed) => {
                let (c, b) = jenkins::lookup3(bytes, (seed >> 32) as u32, seed as u32);
                u64::from(c) << 32 | u64::from(b)
            }
            FeatureHash::OneAtATime => jenkins::one_at_a_time(bytes).into(),
        }
    }
}

/// Hash `bytes` with a byte in front: a further value of an unseeded hash.
#[inline(never)]
fn prefixed(hash: FeatureHash, byte: u8, bytes: &[u8]) -> u64 {
    let mut prefixed = Vec::with_capacity(bytes.len() + 1);
    prefixed.push(byte);
    prefixed.extend_from_slice(bytes);
    hash.hash(&prefixed)
}

/// Return word `word` of the concatenated digests of a feature, as big-endian numbers; digest m ≥ 1 has the byte m in
/// front.
fn digest_word<D: Digest>(word: u8, bytes: &[u8]) -> u64 {
    let size = <D as Digest>::output_size();
    let first = usize::from(word) * 8;
    let (mut value, mut taken) = (0, 0);
    while taken < 8 {
        let (number, at) = ((first + taken) / size, (first + taken) % size);
        let mut digest = D::new();
        if number > 0 {
            digest.update([number as u8]);
        }
        digest.update(bytes);
        let low = digest.finalize();
        for &byte in low.iter().rev().skip(at).take(8 - taken) {
            value |= u64::from(byte) << (8 * taken);
            taken += 1;
        }
    }
    value
}

/// Hash with FNV-1a of 64 bits: h ← (h xor byte) · 1099511628211 from h = 14695981039346656037.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PANGRAM: &[u8] = b"The quick brown fox jumps over the lazy dog";

    fn hash(name: &str, bytes: &[u8]) -> u64 {
        FeatureHash::new(name, 0).expect("a known name").hash(bytes)
    }

    #[test]
    fn published_vectors_hold() {
        assert_eq!(0x2d06_8005_38d3_94c2, hash("xxh3", b""));
        assert_eq!(0xe6c6_32b6_1e96_4e1f, hash("xxh3", b"a"));
        assert_eq!(0x78af_5f94_892f_3950, hash("xxh3", b"abc"));
        // RFC 1321, appendix A.5: MD5("abc") = 900150983cd24fb0d6963f7d28e17f72.
        assert_eq!(0xd696_3f7d_28e1_7f72, hash("md5", b"abc"));
        // RFC 3174, section 7.3: SHA1("abc") = a9993e36 4706816a ba3e2571 7850c26c 9cd0d89d.
        assert_eq!(0x7850_c26c_9cd0_d89d, hash("sha1", b"abc"));
        // The ends of NIST's examples for FIPS 180-4.
        assert_eq!(0xe36c_9da7, hash("sha224", b"abc") & 0xffff_ffff);
        assert_eq!(0xf200_15ad, hash("sha256", b"abc") & 0xffff_ffff);
        assert_eq!(0x58ba_eca1_34c8_25a7, hash("sha384", b"abc"));
        assert_eq!(0x2a9a_c94f_a54c_a49f, hash("sha512", b"abc"));
        assert_eq!(0xcbf2_9ce4_8422_2325, hash("fnv1a", b""));
        assert_eq!(0xaf63_dc4c_8601_ec8c, hash("fnv1a", b"a"));
        assert_eq!(0x8594_4171_f739_67e8, hash("fnv1a", b"foobar"));
        assert_eq!(0xe34b_bc7b_bc07_1b6c, hash("murmur3", PANGRAM));
        assert_eq!(0xce72_26e6_1777_0551, hash("lookup3", b"Four score and seven years ago"));
        assert_eq!(0x1777_0551_ce72_26e6, hash("jenkins64", b"Four score and seven years ago"));
        assert_eq!(0xca2e_9442, hash("one_at_a_time", b"a"));
        assert_eq!(0x519e_91f5, hash("one_at_a_time", PANGRAM));
    }

    #[test]
    fn words_of_a_wide_fingerprint_use_other_functions() {
        for name in NAMES {
            let hash = FeatureHash::new(name, 0).expect("a known name");
            assert_eq!(hash.hash(b"abcd"), hash.word(0).hash(b"abcd"));
            assert_ne!(hash.word(0).hash(b"abcd"), hash.word(1).hash(b"abcd"), "{name}");
            assert_ne!(hash.word(1).hash(b"abcd"), hash.word(2).hash(b"abcd"), "{name}");
        }
        // MD5("abc") = 900150983cd24fb0 d6963f7d28e17f72.
        assert_eq!(0x9001_5098_3cd2_4fb0, FeatureHash::Md5.word(1).hash(b"abc"));
        assert_eq!(hash("md5", b"\x01abcd"), FeatureHash::Md5.word(2).hash(b"abcd"));
        assert_eq!(murmur3::x64_128(b"abcd", 9).1, FeatureHash::Murmur3(9).word(1).hash(b"abcd"));
        assert_eq!(hash("sha1", b"\x01abcd") << 32 >> 32, FeatureHash::Sha1.word(2).hash(b"abcd") >> 32);
        assert_eq!(hash("fnv1a", b"\x02abcd"), FeatureHash::Fnv1a.word(2).hash(b"abcd"));
        assert_eq!(FeatureHash::Xxh3(8).hash(b"abcd"), FeatureHash::Xxh3(7).word(1).hash(b"abcd"));
    }

    #[test]
    fn unknown_names_and_seeds_are_errors() {
        assert!(FeatureHash::new("crc", 0).is_err());
        assert!(FeatureHash::new("md5", 1).is_err());
        assert!(FeatureHash::new("murmur3", 1 << 32).is_err());
    }

    proptest! {
        #[test]
        fn words_are_parts_of_the_values_one_above_the_other(
            bytes in prop::collection::vec(any::<u8>(), 0..40), word in 0_u32..16, seed: u64
        ) {
            for (name, width) in NAMES.into_iter().zip([64, 128, 160, 224, 256, 384, 512, 64, 128, 64, 64, 64]) {
                let seeded = FeatureHash::new(name, 1).is_ok();
                let seed = if name == "murmur3" { seed & 0xffff_ffff } else { seed };
                let hash = FeatureHash::new(name, if seeded { seed } else { 0 }).expect("within its range");
                // Value m, byte for byte from the lowest.
                let value = |number: usize| -> Vec<u8> {
                    let with = [&[number as u8][usize::from(number == 0)..], bytes.as_slice()].concat();
                    let mut digest = match name {
                        "md5" => Md5::digest(&with).to_vec(),
                        "sha1" => Sha1::digest(&with).to_vec(),
                        "sha224" => Sha224::digest(&with).to_vec(),
                        "sha256" => Sha256::digest(&with).to_vec(),
                        "sha384" => Sha384::digest(&with).to_vec(),
                        "sha512" => Sha512::digest(&with).to_vec(),
                        "murmur3" => {
                            let (low, high) = murmur3::x64_128(&bytes, (seed as u32).wrapping_add(number as u32));
                            (u128::from(low) | u128::from(high) << 64).to_be_bytes().to_vec()
                        }
                        _ if seeded => {
                            let moved = FeatureHash::new(name, seed.wrapping_add(number as u64)).expect("a seed");
                            moved.hash(&bytes).to_be_bytes().to_vec()
                        }
                        _ => hash.hash(&with).to_be_bytes().to_vec(),
                    };
                    digest.reverse();
                    digest
                };
                prop_assert_eq!(width / 8, value(0).len());
                let all: Vec<u8> = (0..16 * 64 / width + 1).flat_map(value).collect();
                let at = 8 * word as usize;
                let expected = u64::from_le_bytes(all[at..at + 8].try_into().expect("eight bytes"));
                prop_assert_eq!(expected, hash.word(word).hash(&bytes), "{}", name);
                prop_assert!(hash.width() == 64 || expected >> hash.width() == 0);
            }
        }

        #[test]
        fn fnv_is_the_product_over_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            // Modulo 2^64 in 128 bits: 1099511628211 = 2^40 + 2^8 + 0xb3.
            let expected = bytes.iter().fold(14_695_981_039_346_656_037_u128, |h, &byte| {
                let h = h ^ u128::from(byte);
                ((h << 40) + (h << 8) + h * 0xb3) % (1 << 64)
            });
            prop_assert_eq!(expected, u128::from(FeatureHash::Fnv1a.hash(&bytes)));
        }
    }
}
