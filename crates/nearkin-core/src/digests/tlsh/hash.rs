//! Digests of bytes, files and streams.
//!
//! For a window of the bytes a (the newest) to e, the reference hashes six triplets, each by four steps of Pearson's
//! permutation P, the first of which is a constant:
//!
//! ```text
//! salt  2: a b c    3: a b d    5: a c d    7: a c e    11: a b e    13: a d e    checksum, salt 0: a b (checksum)
//! ```
//!
//! The last step is a permutation of the buckets, so it is left out for each window and applied to the counts at the
//! end. The first step is a table for each salt. With AVX-512, 64 windows are hashed at once, because P fits in four
//! registers; six counts and one step of the checksum remain for each byte. The checksum is a chain: no step can start
//! before the last one ends, which bounds the speed on every processor. Eight tables of counts take turns, so that a
//! byte that repeats does not wait for its last count.

use std::path::Path;

use super::length::{MAX_INPUT, class};
use super::{Digest, Form, PEARSON};
use crate::cancel::CancelToken;
#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx512Bits;
use crate::digests::check_length;
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

/// Return P(hash XOR byte).
#[inline(always)]
const fn step(hash: u8, byte: u8) -> u8 {
    PEARSON[(hash ^ byte) as usize]
}

/// Salts of the triplets, and of the checksum.
const SALTS: [u8; TRIPLETS + 1] = [2, 3, 11, 5, 7, 13, 0];

/// P(P(salt) XOR byte), for each of [`SALTS`].
static FIRST: [[u8; 256]; TRIPLETS + 1] = {
    let mut first = [[0; 256]; TRIPLETS + 1];
    let mut index = 0;
    while index < 256 * SALTS.len() {
        let (salt, byte) = (index / 256, index % 256);
        first[salt][byte] = step(step(SALTS[salt], 0), byte as u8);
        index += 1;
    }
    first
};

/// What is known of some windows.
struct Tally {
    /// In tables that take turns, the windows of each hash without its last step.
    counts: [[u32; 256]; 8],
    checksum: [u8; 3],
}

impl Tally {
    /// Add the windows inside `data`, one after another.
    fn add<const CHECKSUM: usize>(&mut self, data: &[u8]) {
        // A local, which stays in a register: the counts that are written can't alias it.
        let mut checksum = self.checksum;
        // Named one by one: an array of hashes would be built in memory.
        let [of_abc, of_abd, of_abe, of_acd, of_ace, of_ade, ..] = &mut self.counts;
        for window in data.windows(WINDOW) {
            let &[e, d, c, b, a] = window else { continue };
            let second = |salt: usize, byte: u8| step(FIRST[salt][usize::from(a)], byte);
            of_abc[usize::from(second(0, b) ^ c)] += 1;
            of_abd[usize::from(second(1, b) ^ d)] += 1;
            of_abe[usize::from(second(2, b) ^ e)] += 1;
            of_acd[usize::from(second(3, c) ^ d)] += 1;
            of_ace[usize::from(second(4, c) ^ e)] += 1;
            of_ade[usize::from(second(5, d) ^ e)] += 1;
            advance::<CHECKSUM>(&mut checksum, second(6, b), a, b);
        }
        self.checksum = checksum;
    }

    /// Add the windows inside `data` in blocks of 64; return the number added.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(
        enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi1,bmi2,popcnt"
    )]
    #[allow(
        clippy::needless_range_loop,
        reason = "the compiler does not unroll these loops over iterators, which take 1.5 times as long"
    )]
    fn add_blocks<const CHECKSUM: usize>(&mut self, data: &[u8]) -> usize {
        use std::arch::x86_64::{
            __m512i, _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_movepi8_mask, _mm512_permutex2var_epi8,
            _mm512_set1_epi8, _mm512_storeu_si512, _mm512_xor_si512,
        };
        const BLOCK: usize = 64;
        // SAFETY: the array has 64 bytes.
        let load = |bytes: &[u8; BLOCK]| unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        let table: [__m512i; 4] = std::array::from_fn(|k| load(&std::array::from_fn(|i| PEARSON[BLOCK * k + i])));
        let salts = SALTS.map(|salt| _mm512_set1_epi8(step(salt, 0).cast_signed()));
        let step_all = |hash: __m512i, bytes: __m512i| {
            let at = _mm512_xor_si512(hash, bytes);
            let low = _mm512_permutex2var_epi8(table[0], at, table[1]);
            let high = _mm512_permutex2var_epi8(table[2], at, table[3]);
            _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high)
        };
        let mut hashes = [[0_u8; BLOCK]; TRIPLETS + 1];
        let (mut checksum, mut done) = (self.checksum, 0);
        while let Some(bytes) = data[done..].first_chunk::<{ BLOCK + WINDOW - 1 }>() {
            // Byte i of each vector belongs to window i.
            let at = |from: usize| {
                let bytes = &bytes[from..from + BLOCK];
                // SAFETY: the slice has 64 bytes.
                unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
            };
            let (a, b, c, d, e) = (at(4), at(3), at(2), at(1), at(0));
            let second = |salt: usize, other: __m512i| step_all(step_all(salts[salt], a), other);
            let vectors = [
                _mm512_xor_si512(second(0, b), c),
                _mm512_xor_si512(second(1, b), d),
                _mm512_xor_si512(second(2, b), e),
                _mm512_xor_si512(second(3, c), d),
                _mm512_xor_si512(second(4, c), e),
                _mm512_xor_si512(second(5, d), e),
                second(6, b),
            ];
            for (hashes, vector) in hashes.iter_mut().zip(&vectors) {
                // SAFETY: the array has 64 bytes.
                unsafe { _mm512_storeu_si512(hashes.as_mut_ptr().cast(), *vector) };
            }
            // The chain of the checksum and the counts of eight windows in turn hide each other's latency.
            let [triplets @ .., marks] = &hashes;
            for eight in (0..BLOCK).step_by(8) {
                for i in eight..eight + 8 {
                    advance::<CHECKSUM>(&mut checksum, marks[i], bytes[i + 4], bytes[i + 3]);
                }
                for triplet in triplets {
                    let word = u64::from_le_bytes(triplet.as_chunks().0[eight / 8]);
                    for i in 0..8 {
                        self.counts[i][usize::from((word >> (8 * i)) as u8)] += 1;
                    }
                }
            }
            done += BLOCK;
        }
        self.checksum = checksum;
        done
    }
}

/// Add a window that ends with b and a to a checksum; `mark` is P(P(P(0) XOR a) XOR b).
#[inline(always)]
fn advance<const CHECKSUM: usize>(checksum: &mut [u8; 3], mark: u8, a: u8, b: u8) {
    checksum[0] = step(mark, checksum[0]);
    if CHECKSUM == 3 {
        // The salt of each further byte is the one before it.
        for k in 1..3 {
            checksum[k] = step(step(step(step(checksum[k - 1], 0), a), b), checksum[k]);
        }
    }
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
        let mut tally = Tally { counts: [[0; 256]; 8], checksum: self.checksum };
        #[cfg(target_arch = "x86_64")]
        let done = if Avx512Bits::detect().is_some() {
            // SAFETY: the token proves that the processor has the instructions.
            unsafe { tally.add_blocks::<CHECKSUM>(data) }
        } else {
            0
        };
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        tally.add::<CHECKSUM>(&data[done..]);
        self.checksum = tally.checksum;
        for (hash, &last) in PEARSON.iter().enumerate() {
            let sum: u64 = tally.counts.iter().map(|counts| u64::from(counts[hash])).sum();
            self.counts[usize::from(last)] += sum;
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
        check_length(self.total, MAX_INPUT)?;
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

/// Return the digest, content hash and length of the regular file at `path`, which is read once. The digest is empty if
/// the file has none.
///
/// # Errors
/// As [`hash_file`], but for files without a digest.
pub fn hash_file_and_content(path: &Path, options: Options) -> Result<Hashed> {
    hash_with_content(path, |source| match hash_input(source, options) {
        Err(Error::NoDigest { .. }) => Ok(String::new()),
        digest => Ok(digest?.to_text()),
    })
}

/// Return the digest of an input.
///
/// # Errors
/// As [`hash_file`].
pub fn hash_input(source: &mut impl DigestInput, options: Options) -> Result<Digest> {
    check_length(source.length(), MAX_INPUT)?;
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

    #[cfg(target_arch = "x86_64")]
    proptest! {
        #[test]
        fn blocks_of_windows_equal_one_after_another(
            data in prop::collection::vec(any::<u8>(), 0..500), checksum in any::<[u8; 3]>(),
        ) {
            fn check<const CHECKSUM: usize>(data: &[u8], checksum: [u8; 3]) {
                let empty = || Tally { counts: [[0; 256]; 8], checksum };
                let total = |tally: &Tally| -> Vec<u32> {
                    (0..256).map(|hash| tally.counts.iter().map(|counts| counts[hash]).sum()).collect()
                };
                let (mut blocks, mut single) = (empty(), empty());
                // SAFETY: the caller has seen the token.
                let done = unsafe { blocks.add_blocks::<CHECKSUM>(data) };
                assert_eq!(data.len().saturating_sub(4) / 64 * 64, done);
                single.add::<CHECKSUM>(&data[..if done > 0 { done + 4 } else { 0 }]);
                assert_eq!(total(&single), total(&blocks));
                assert_eq!(single.checksum, blocks.checksum);
            }
            if Avx512Bits::detect().is_some() {
                check::<1>(&data, checksum);
                check::<3>(&data, checksum);
            }
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
        assert!(matches!(check_length(1 << 40, MAX_INPUT), Err(Error::Parameter { .. })));
    }
}
