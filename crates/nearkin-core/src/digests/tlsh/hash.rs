//! Digests of bytes, files and streams.
//!
//! For a window of the bytes a (the newest) to e, the reference hashes six triplets, each by four steps of Pearson's
//! permutation P, the first of which is a constant:
//!
//! ```text
//! salt  2: a b c    3: a b d    5: a c d    7: a c e    11: a b e    13: a d e    checksum, salt 0: a b (checksum)
//! ```
//!
//! The first two bytes of a triplet are looked up together, in a table for each pair of positions: (a, b) gives four
//! hashes at once, (a, c) two and (a, d) one. That leaves three loads from tables of 448 KB, which the second cache
//! holds, and one step of P for each triplet. The checksum is a chain of one step of P for each byte, which costs about
//! as long as the counts beside it. Salts count separately, so that a byte that repeats does not wait for its last
//! count six times.

use std::path::Path;
use std::sync::OnceLock;

use super::length::{MAX_INPUT, class};
use super::{Digest, Form, PEARSON};
use crate::cancel::CancelToken;
use crate::digests::input::{DigestInput, FileInput, Hashed, hash_with_content};
use crate::error::{Error, Result};

/// The shortest input that has a digest.
pub const MIN_INPUT: u64 = 50;
/// The shortest input of the reference's conservative rule.
pub const MIN_CONSERVATIVE: u64 = 256;
/// Bytes of a window.
const WINDOW: usize = 5;
/// Triplets of a window.
const TRIPLETS: usize = 6;
/// Bytes whose counts fit in 32 bits, and after which the call may be cancelled.
const PART: usize = if cfg!(test) { 1000 } else { 1 << 24 };

/// P of P of a constant XOR a, XOR another byte, for all pairs of bytes, at index 256 a + other.
struct Pairs {
    /// Of a and b: salts 2, 3, 11 and 0.
    near: Box<[[u8; 4]; 1 << 16]>,
    /// Of a and c: salts 5 and 7.
    middle: Box<[[u8; 2]; 1 << 16]>,
    /// Of a and d: salt 13.
    far: Box<[u8; 1 << 16]>,
}

impl Pairs {
    fn get() -> &'static Self {
        static PAIRS: OnceLock<Pairs> = OnceLock::new();
        PAIRS.get_or_init(|| {
            let mut pairs = Self {
                near: Box::new([[0; 4]; 1 << 16]),
                middle: Box::new([[0; 2]; 1 << 16]),
                far: Box::new([0; 1 << 16]),
            };
            for index in 0..1_usize << 16 {
                let (a, other) = ((index >> 8) as u8, index as u8);
                let hash = |salt: u8| step(step(step(salt, 0), a), other);
                pairs.near[index] = [hash(2), hash(3), hash(11), hash(0)];
                pairs.middle[index] = [hash(5), hash(7)];
                pairs.far[index] = hash(13);
            }
            pairs
        })
    }
}

/// Return P(hash XOR byte).
#[inline(always)]
fn step(hash: u8, byte: u8) -> u8 {
    PEARSON[usize::from(hash ^ byte)]
}

/// Rules for inputs that have no digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Form of the digest.
    pub form: Form,
    /// Require [`MIN_CONSERVATIVE`] bytes instead of [`MIN_INPUT`].
    pub conservative: bool,
}

/// An incremental hasher.
///
/// # Examples
/// ```
/// use nearkin_core::digests::tlsh::{Hasher, hash, hash::Options};
/// let text = b"The quick brown fox jumps over the lazy dog, and the dog sleeps on. ".repeat(2);
/// let mut hasher = Hasher::new(Options::default());
/// hasher.update(&text[..70]);
/// hasher.update(&text[70..]);
/// assert_eq!(hash(&text, Options::default()).unwrap(), hasher.digest().unwrap());
/// ```
#[derive(Clone, Debug)]
pub struct Hasher {
    options: Options,
    total: u64,
    /// The last bytes, at most four.
    tail: [u8; WINDOW - 1],
    checksum: [u8; 3],
    counts: [u64; 256],
}

impl Hasher {
    /// Create a hasher of an empty input.
    pub fn new(options: Options) -> Self {
        Self { options, total: 0, tail: [0; 4], checksum: [0; 3], counts: [0; 256] }
    }

    /// Number of bytes so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Add data, however long.
    pub fn update(&mut self, data: &[u8]) {
        for part in data.chunks(PART) {
            self.update_part(part);
        }
    }

    /// Add data; return false, having added a part of it, if the call is cancelled.
    ///
    /// # Errors
    /// The call is cancelled; the hasher is as before.
    pub fn update_all(&mut self, data: &[u8]) -> Result<()> {
        let cancel = CancelToken::current();
        let mut changed = self.clone();
        for part in data.chunks(PART) {
            cancel.check()?;
            changed.update_part(part);
        }
        *self = changed;
        Ok(())
    }

    fn update_part(&mut self, data: &[u8]) {
        let before = (self.total as usize).min(4);
        let mut joined = [0; 8];
        joined[..before].copy_from_slice(&self.tail[4 - before..]);
        let head = data.len().min(4);
        joined[before..before + head].copy_from_slice(&data[..head]);
        if self.options.form.checksum() == 1 {
            self.count::<1>(&joined[..before + head]);
            self.count::<1>(data);
        } else {
            self.count::<3>(&joined[..before + head]);
            self.count::<3>(data);
        }
        self.total += data.len() as u64;
        if let Some(tail) = data.last_chunk() {
            self.tail = *tail;
        } else {
            self.tail.copy_within(head.., 0);
            self.tail[4 - head..].copy_from_slice(data);
        }
    }

    /// Count the windows inside `data`, which has at most [`PART`] bytes.
    fn count<const CHECKSUM: usize>(&mut self, data: &[u8]) {
        if data.len() < WINDOW {
            return;
        }
        let pairs = Pairs::get();
        let mut counts = [[0_u32; 256]; TRIPLETS];
        let mut checksum = self.checksum;
        for &[e, d, c, b, a] in data.array_windows() {
            let pair = |other: u8| usize::from(u16::from(a) << 8 | u16::from(other));
            let near = pairs.near[pair(b)];
            let middle = pairs.middle[pair(c)];
            let far = pairs.far[pair(d)];
            let hashes = [
                step(near[0], c),
                step(near[1], d),
                step(near[2], e),
                step(middle[0], d),
                step(middle[1], e),
                step(far, e),
            ];
            for (counts, hash) in counts.iter_mut().zip(hashes) {
                counts[usize::from(hash)] += 1;
            }
            checksum[0] = step(near[3], checksum[0]);
            if CHECKSUM == 3 {
                // The salt of each further byte is the one before it.
                for k in 1..3 {
                    checksum[k] = step(step(step(step(checksum[k - 1], 0), a), b), checksum[k]);
                }
            }
        }
        self.checksum = checksum;
        for counts in &counts {
            for (sum, &count) in self.counts.iter_mut().zip(counts) {
                *sum += u64::from(count);
            }
        }
    }

    /// Return the digest of all bytes so far.
    ///
    /// # Errors
    /// [`Error::NoDigest`] for inputs without one; [`Error::Parameter`] for one of more than 4 GB.
    pub fn digest(&self) -> Result<Digest> {
        self.digest_of("data")
    }

    /// As [`Hasher::digest`]; `place` names the input in errors.
    fn digest_of(&self, place: &str) -> Result<Digest> {
        let Options { form, conservative } = self.options;
        check_length(self.total)?;
        let missing = |reason: String| Err(Error::NoDigest { place: place.to_owned(), reason });
        let shortest = if conservative { MIN_CONSERVATIVE } else { MIN_INPUT };
        if self.total < shortest {
            return missing(format!(
                "{} bytes are too short for a TLSH digest, which takes {shortest}; compare such inputs as texts",
                self.total
            ));
        }
        let counts = &self.counts[..form.buckets()];
        let used = counts.iter().filter(|&&count| count > 0).count();
        if used <= form.buckets() / 2 {
            return missing(format!(
                "too little variation for a TLSH digest: its patterns fall in {used} of {} buckets, and more than half is \
                 needed",
                form.buckets()
            ));
        }
        let mut sorted = [0; 256];
        let sorted = &mut sorted[..counts.len()];
        sorted.copy_from_slice(counts);
        sorted.sort_unstable();
        let [q1, q2, q3] = [1, 2, 3].map(|quarter| sorted[quarter * counts.len() / 4 - 1]);
        let mut symbols = [0; 256];
        for (symbol, &count) in symbols.iter_mut().zip(counts) {
            *symbol = u8::from(count > q1) + u8::from(count > q2) + u8::from(count > q3);
        }
        let ratios = [ratio(q1, q3), ratio(q2, q3)];
        Ok(Digest::new(form, self.checksum, class(self.total), ratios, &symbols[..counts.len()]))
    }
}

/// Return `100 q / q3` modulo 16. The third quartile is not 0, because more than half of the counts are not.
fn ratio(q: u64, q3: u64) -> u8 {
    (100 * q / q3 % 16) as u8
}

fn check_length(length: u64) -> Result<()> {
    if length > MAX_INPUT {
        return Err(Error::parameter(
            "length",
            length,
            format!("at most {MAX_INPUT} bytes, the most a digest can span"),
        ));
    }
    Ok(())
}

/// Return the digest of `data`.
///
/// # Errors
/// As [`Hasher::digest`].
pub fn hash(mut data: &[u8], options: Options) -> Result<Digest> {
    hash_input(&mut data, options)
}

/// Return the digest of the regular file at `path`.
///
/// # Errors
/// As [`FileInput::open`] and [`Hasher::digest`], and if it can't be read or changes while it is read.
pub fn hash_file(path: &Path, options: Options) -> Result<Digest> {
    hash_input(&mut FileInput::open(path)?, options)
}

/// Return the digest, content hash and length of the regular file at `path`, which is read once.
///
/// # Errors
/// As [`hash_file`].
pub fn hash_file_and_content(path: &Path, options: Options) -> Result<Hashed> {
    hash_with_content(path, |source| Ok(hash_input(source, options)?.to_text()))
}

/// Return the digest of an input.
///
/// # Errors
/// As [`hash_file`].
pub fn hash_input(source: &mut impl DigestInput, options: Options) -> Result<Digest> {
    check_length(source.length())?;
    let mut hasher = Hasher::new(options);
    let cancel = CancelToken::current();
    source.pass(&mut |bytes| {
        for part in bytes.chunks(PART) {
            if !cancel.is_set() {
                hasher.update_part(part);
            }
        }
    })?;
    cancel.check()?;
    hasher.digest_of(source.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Return the digest as the header defines it, a byte at a time.
    fn by_definition(data: &[u8], form: Form) -> Option<Digest> {
        let hash = |salt: u8, bytes: [u8; 3]| bytes.iter().fold(step(salt, 0), |hash, &byte| step(hash, byte));
        let (mut counts, mut checksum) = ([0_u64; 256], [0; 3]);
        for window in data.windows(5) {
            let at = |i: usize| window[4 - i];
            for k in 0..form.checksum() {
                let salt = if k == 0 { 0 } else { checksum[k - 1] };
                checksum[k] = hash(salt, [at(0), at(1), checksum[k]]);
            }
            for (salt, [i, j, k]) in
                [(2, [0, 1, 2]), (3, [0, 1, 3]), (5, [0, 2, 3]), (7, [0, 2, 4]), (11, [0, 1, 4]), (13, [0, 3, 4])]
            {
                counts[usize::from(hash(salt, [at(i), at(j), at(k)]))] += 1;
            }
        }
        let counts = &counts[..form.buckets()];
        let mut sorted = counts.to_vec();
        sorted.sort_unstable();
        let [q1, q2, q3] = [1, 2, 3].map(|quarter| sorted[quarter * counts.len() / 4 - 1]);
        if data.len() < 50 || sorted[counts.len() / 2 - 1] == 0 {
            return None;
        }
        let symbol = |&count: &u64| {
            if count > q3 {
                3
            } else if count > q2 {
                2
            } else {
                u8::from(count > q1)
            }
        };
        let symbols: Vec<u8> = counts.iter().map(symbol).collect();
        Some(Digest::new(form, checksum, class(data.len() as u64), [ratio(q1, q3), ratio(q2, q3)], &symbols))
    }

    proptest! {
        #[test]
        fn a_digest_equals_its_definition(
            data in prop::collection::vec(any::<u8>(), 0..3000),
            mask in prop::sample::select(vec![255, 63, 7]),
            cuts in prop::collection::vec(0..3000_usize, 0..6),
            form in 0..4_usize,
        ) {
            let form = Form::ALL[form];
            let data: Vec<u8> = data.iter().map(|byte| byte & mask).collect();
            let options = Options { form, conservative: false };
            let expected = by_definition(&data, form);
            prop_assert_eq!(expected, hash(&data, options).ok());
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(data.len())).chain([0, data.len()]).collect();
            cuts.sort_unstable();
            let mut hasher = Hasher::new(options);
            for cut in cuts.windows(2) {
                hasher.update(&data[cut[0]..cut[1]]);
            }
            prop_assert_eq!(data.len() as u64, hasher.total());
            prop_assert_eq!(expected, hasher.digest().ok());
        }
    }

    #[test]
    fn an_input_without_a_digest_is_a_typed_error() {
        let message = |data: &[u8], conservative| {
            let error = hash(data, Options { conservative, ..Options::default() }).unwrap_err();
            assert!(matches!(error, Error::NoDigest { .. }));
            error.to_string()
        };
        let varied: Vec<u8> = (0..255).collect();
        assert!(message(&varied[..49], false).starts_with("data: 49 bytes are too short"));
        assert!(message(&varied, true).contains("which takes 256"));
        assert!(message(&[7; 1000], false).contains("too little variation"));
        assert!(matches!(check_length(1 << 40), Err(Error::Parameter { .. })));
    }
}
