//! Fuzzy digests of files: TLSH, bit for bit as the reference implementation 5.0.0 computes it.
//!
//! # The idea
//!
//! Count short patterns instead of cutting the file. A window of five bytes moves over the input; six triplets of its
//! bytes are hashed to one of 256 buckets each, and the digest says of each bucket in which quarter of all counts it
//! falls. A changed byte changes at most 30 counts, few of them across a quartile, so most of the digest stays.
//!
//! ```text
//! bucket = P(P(P(P(salt) ^ a) ^ b) ^ c)       P: Pearson's permutation; a, b, c: three of the last five bytes
//! symbol = 0, 1, 2, 3                         count <= q1, <= q2, <= q3, above; q1, q2, q3: quartiles of all counts
//! digest = "T1" checksum length ratios body   in hexadecimal digits
//! ```
//!
//! The *checksum* is one byte or three, hashed over all pairs of neighbours. The *length* is a logarithm of the number
//! of bytes, the *ratios* are `100 q1 / q3` and `100 q2 / q3` modulo 16, and the *body* has two bits for each of 128 or
//! 256 buckets. These are the four forms ([`Form`]); the one of 128 buckets and a checksum of one byte is the default.
//!
//! # Comparing
//!
//! The distance ([`Digest::distance`]) is 0 for equal digests and has no upper end that matters; unrelated files are
//! more than 100 apart. It is the sum of a *header* and of a *body*:
//!
//! ```text
//! header = cost(length) + cost(ratio 1) + cost(ratio 2) + (1 if the checksums differ)
//! body   = sum over buckets of |a - b|, and 6 instead of 3
//! ```
//!
//! Symbols are stored in Gray code (00, 01, 11, 10), whose Hamming distance is at most the distance of the symbols:
//!
//! ```text
//! body = hamming + 5 * (buckets that are 0 on one side and 3 on the other)
//! ```
//!
//! # Cost
//!
//! Hashing takes six counts and a step of the checksum's chain a byte ([`hash`]), a comparison three counts of set
//! bits for 64 buckets ([`compare`]), for 32 digests at once by SIMD ([`tiles`]).
//!
//! # Limits
//!
//! An input of less than 50 bytes, or one that fills at most half of the buckets, has no digest. The digest says
//! nothing about the order of distant parts. It is not robust against an adversary.
//!
//! # Sources
//!
//! J. Oliver, C. Cheng, Y. Chen, "TLSH: A Locality Sensitive Hash", 4th Cybercrime and Trustworthy Computing Workshop,
//! 2013: the method, the window, the quartiles and the costs. P. K. Pearson, "Fast Hashing of Variable-Length Text
//! Strings", Communications of the ACM 33 (6), 1990: the permutation. Written from these and from the documented format.
//! Salts, order of the digits and costs are checked against the digests and distances that py-tlsh 5.0.0 gave for 3,000
//! inputs (`tests/fixtures/tlsh-golden.txt.gz`), of which 2,546 have a digest.

pub mod compare;
pub mod hash;
mod length;
mod parse;
pub mod tiles;

pub use hash::{Hasher, hash, hash_file, hash_file_and_content};

use crate::error::{Error, Result};

/// Maximum number of bytes of a digest.
pub const MAX_BYTES: usize = 3 + 2 + 64;

/// Pearson's permutation (1990, table 1).
static PEARSON: [u8; 256] = [
    1, 87, 49, 12, 176, 178, 102, 166, 121, 193, 6, 84, 249, 230, 44, 163, 14, 197, 213, 181, 161, 85, 218, 80, 64,
    239, 24, 226, 236, 142, 38, 200, 110, 177, 104, 103, 141, 253, 255, 50, 77, 101, 81, 18, 45, 96, 31, 222, 25, 107,
    190, 70, 86, 237, 240, 34, 72, 242, 20, 214, 244, 227, 149, 235, 97, 234, 57, 22, 60, 250, 82, 175, 208, 5, 127,
    199, 111, 62, 135, 248, 174, 169, 211, 58, 66, 154, 106, 195, 245, 171, 17, 187, 182, 179, 0, 243, 132, 56, 148,
    75, 128, 133, 158, 100, 130, 126, 91, 13, 153, 246, 216, 219, 119, 68, 223, 78, 83, 88, 201, 99, 122, 11, 92, 32,
    136, 114, 52, 10, 138, 30, 48, 183, 156, 35, 61, 26, 143, 74, 251, 94, 129, 162, 63, 152, 170, 7, 115, 167, 241,
    206, 3, 150, 55, 59, 151, 220, 90, 53, 23, 131, 125, 173, 15, 238, 79, 95, 89, 16, 105, 137, 225, 224, 217, 160,
    37, 123, 118, 73, 2, 157, 46, 116, 9, 145, 134, 228, 207, 212, 202, 215, 69, 229, 27, 188, 67, 124, 168, 252, 42,
    4, 29, 108, 21, 247, 19, 205, 39, 203, 233, 40, 186, 147, 198, 192, 155, 33, 164, 191, 98, 204, 165, 180, 117, 76,
    140, 36, 210, 172, 41, 54, 159, 8, 185, 232, 113, 196, 231, 47, 146, 120, 51, 65, 28, 144, 254, 221, 93, 189, 194,
    139, 112, 43, 71, 109, 184, 209,
];

/// The sizes of a digest's parts. Only digests of one form can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    buckets: usize,
    checksum: usize,
}

impl Default for Form {
    fn default() -> Self {
        Self { buckets: 128, checksum: 1 }
    }
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 4] = [
        Self { buckets: 128, checksum: 1 },
        Self { buckets: 128, checksum: 3 },
        Self { buckets: 256, checksum: 1 },
        Self { buckets: 256, checksum: 3 },
    ];

    /// Return the form with this many buckets and bytes of checksum.
    ///
    /// # Errors
    /// There is none.
    pub fn new(buckets: usize, checksum: usize) -> Result<Self> {
        if !matches!(buckets, 128 | 256) {
            return Err(Error::parameter("buckets", buckets, "128 or 256"));
        }
        if !matches!(checksum, 1 | 3) {
            return Err(Error::parameter("checksum", checksum, "1 or 3 bytes"));
        }
        Ok(Self { buckets, checksum })
    }

    /// Number of buckets, 128 or 256.
    pub fn buckets(self) -> usize {
        self.buckets
    }

    /// Bytes of the checksum, 1 or 3.
    pub fn checksum(self) -> usize {
        self.checksum
    }

    /// Number of bytes, two hexadecimal digits each.
    pub fn bytes(self) -> usize {
        self.checksum + 2 + self.buckets / 4
    }

    /// Words of 64 buckets.
    fn words(self) -> usize {
        self.buckets / 64
    }

    /// Return an error if digests of this form can't be compared with those of another.
    ///
    /// # Errors
    /// The forms differ.
    pub fn check_same(self, other: Self) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let describe = |form: Self| format!("{} buckets and {} bytes of checksum", form.buckets, form.checksum);
        Err(Error::Mismatch { what: "form of the digests".to_owned(), left: describe(self), right: describe(other) })
    }
}

/// A digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    form: Form,
    /// Unused bytes are 0.
    checksum: [u8; 3],
    length: u8,
    /// `100 q1 / q3` and `100 q2 / q3`, modulo 16.
    ratios: [u8; 2],
    /// The upper bit of the Gray code of each bucket; unused words are 0.
    high: [u64; 4],
    /// The lower bit.
    low: [u64; 4],
}
