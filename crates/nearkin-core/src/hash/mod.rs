//! Feature hashes: bytes of one feature → 64 bits, fixed for ever by published specifications.
//!
//! A fingerprint of more than 64 bits needs more than one hash word per feature. Word j (0, 1, …) of a feature x is
//!
//! - `H(x; seed + j)` for a seeded hash (addition modulo 2^32 or 2^64, the width of its seed);
//! - `H(x)` for j = 0 and `H(byte j ‖ x)` for j ≥ 1 for an unseeded hash.
//!
//! | name | bits | seed | value taken | source |
//! |---|---|---|---|---|
//! | `xxh3` | 64 | 64 bits | XXH3-64 | xxHash specification 0.2.0 (Collet) |
//! | `md5` | 64 | – | last 8 bytes of the digest, big-endian | RFC 1321 |
//! | `sha1` | 64 | – | last 8 bytes of the digest, big-endian | RFC 3174 |
//! | `fnv1a` | 64 | – | FNV-1a, 64 bits | Fowler, Noll, Vo; RFC 9923 |
//! | `murmur3` | 64 | 32 bits | first 64-bit word of x64 128 | Appleby, MurmurHash3 |
//! | `lookup3` | 64 | 64 bits | `hashlittle2`: c + b·2^32, seeds (low, high) | Jenkins 2006 |
//! | `jenkins64` | 64 | 64 bits | `hashlittle2`: c·2^32 + b, seeds (high, low) | Jenkins 2006, as seomoz/simhash-cpp and yanyiwu/simhash take it |
//! | `one_at_a_time` | 32 | – | one-at-a-time | Jenkins 1997, Dr. Dobb's |
//!
//! The last 8 bytes of MD5 are what the PyPI package `simhash` takes. Tests: `tests` below for the published vectors,
//! `tests/text/test_features.py` against independent implementations.

pub mod grams;
pub mod idset;
pub mod jenkins;
pub mod murmur3;
pub mod xxh3;

use md5::{Digest, Md5};
use sha1::Sha1;

use crate::{Error, Result};

/// Names of all feature hashes, in the order of the table above.
pub const NAMES: [&str; 8] = ["xxh3", "md5", "sha1", "fnv1a", "murmur3", "lookup3", "jenkins64", "one_at_a_time"];

/// A hash function of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureHash {
    /// XXH3-64 with a seed.
    Xxh3(u64),
    /// MD5, last 8 bytes big-endian.
    Md5,
    /// SHA-1, last 8 bytes big-endian.
    Sha1,
    /// FNV-1a of 64 bits.
    Fnv1a,
    /// `MurmurHash3` x64 128, first word, with a seed.
    Murmur3(u32),
    /// Jenkins' lookup3 as 64 bits, with a seed.
    Lookup3(u64),
    /// Jenkins' lookup3 as 64 bits, its halves the other way round, with a seed.
    Jenkins64(u64),
    /// Jenkins' one-at-a-time, 32 bits.
    OneAtATime,
}

impl FeatureHash {
    /// The hash called `name`, with `seed` (0 for hashes that take none).
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

    /// How many bits the hash gives: 64, or 32 for one-at-a-time.
    pub fn width(self) -> u32 {
        if self == Self::OneAtATime { 32 } else { 64 }
    }

    /// The hash of word `word` of a fingerprint, to be used with [`FeatureHash::hash`].
    #[must_use]
    pub fn word(self, word: u32) -> WordHash {
        match self {
            Self::Xxh3(seed) => WordHash { hash: Self::Xxh3(seed.wrapping_add(word.into())), prefix: 0 },
            Self::Murmur3(seed) => WordHash { hash: Self::Murmur3(seed.wrapping_add(word)), prefix: 0 },
            Self::Lookup3(seed) => WordHash { hash: Self::Lookup3(seed.wrapping_add(word.into())), prefix: 0 },
            Self::Jenkins64(seed) => WordHash { hash: Self::Jenkins64(seed.wrapping_add(word.into())), prefix: 0 },
            unseeded => WordHash { hash: unseeded, prefix: word as u8 },
        }
    }

    /// The hash of `bytes`.
    #[inline]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Xxh3(seed) => xxh3::hash(bytes, seed),
            Self::Md5 => last_eight(&Md5::digest(bytes)),
            Self::Sha1 => last_eight(&Sha1::digest(bytes)),
            Self::Fnv1a => fnv1a(bytes),
            Self::Murmur3(seed) => murmur3::x64_128(bytes, seed).0,
            Self::Lookup3(seed) => {
                let (c, b) = jenkins::lookup3(bytes, seed as u32, (seed >> 32) as u32);
                u64::from(c) | u64::from(b) << 32
            }
            Self::Jenkins64(seed) => {
                let (c, b) = jenkins::lookup3(bytes, (seed >> 32) as u32, seed as u32);
                u64::from(c) << 32 | u64::from(b)
            }
            Self::OneAtATime => jenkins::one_at_a_time(bytes).into(),
        }
    }
}

/// The hash of one word of a fingerprint: a seed that counts the word, or a byte in front of the feature.
#[derive(Clone, Copy, Debug)]
pub struct WordHash {
    /// The hash, its seed moved on by the word's number.
    pub hash: FeatureHash,
    /// The byte in front of the feature, 0 for none.
    pub prefix: u8,
}

impl WordHash {
    /// The hash word of `bytes`.
    #[inline]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        if self.prefix == 0 {
            return self.hash.hash(bytes);
        }
        match self.hash {
            FeatureHash::Md5 => last_eight(&Md5::new().chain_update([self.prefix]).chain_update(bytes).finalize()),
            FeatureHash::Sha1 => last_eight(&Sha1::new().chain_update([self.prefix]).chain_update(bytes).finalize()),
            hash => {
                let mut prefixed = Vec::with_capacity(bytes.len() + 1);
                prefixed.push(self.prefix);
                prefixed.extend_from_slice(bytes);
                hash.hash(&prefixed)
            }
        }
    }
}

fn last_eight(digest: &[u8]) -> u64 {
    digest[digest.len() - 8..].iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// FNV-1a of 64 bits: h ← (h xor byte) · 1099511628211 from h = 14695981039346656037.
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
        assert_eq!(hash("md5", b"\x01abcd"), FeatureHash::Md5.word(1).hash(b"abcd"));
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
        fn the_word_of_a_fingerprint_is_a_seed_or_a_byte_in_front(
            bytes in prop::collection::vec(any::<u8>(), 0..40), word in 0_u32..16, seed: u64
        ) {
            for name in NAMES {
                let seeded = FeatureHash::new(name, 1).is_ok();
                let seed = if name == "murmur3" { seed & 0xffff_ffff } else { seed };
                let hash = FeatureHash::new(name, if seeded { seed } else { 0 }).expect("within its range");
                let expected = if seeded {
                    let moved = seed.wrapping_add(word.into());
                    let moved = if name == "murmur3" { moved & 0xffff_ffff } else { moved };
                    FeatureHash::new(name, moved).expect("within its range").hash(&bytes)
                } else if word == 0 {
                    hash.hash(&bytes)
                } else {
                    hash.hash(&[&[word as u8], bytes.as_slice()].concat())
                };
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
