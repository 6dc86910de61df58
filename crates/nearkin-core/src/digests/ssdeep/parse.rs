//! Parsing digests.
//!
//! *Strict*, the default: only the program's output format. A block size 3 * 2^i with i from 0 to 30, in decimal
//! without leading zeros; two parts of at most 64 characters of the base64 alphabet.
//!
//! *Lenient*, for old data: every digest that the original library 2.14.1 accepts. It parses the block size as C does,
//! which accepts white space, a sign and zeros before a number and anything after it; the parts start at the first
//! colon. Any block size and any characters in the parts are accepted; part 2 ends at a comma, and a digest at a NUL. A
//! part of more than 64 characters after the removal of runs is an error.
//!
//! Runs of more than three equal characters are cut to three before a digest is used: they carry little information
//! (padding, blank images) and would match each other everywhere.

use super::{LEVELS, MAX_PART, block_size};
#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx512;
use crate::error::{Error, Result};

/// One part after the removal of runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    bytes: [u8; MAX_PART],
    length: u8,
}

impl Part {
    /// Compare both parts, 8 bytes at a time.
    #[inline]
    pub(super) fn is(&self, other: &Self) -> bool {
        let words = |part: &Self| -> [u64; 8] {
            std::array::from_fn(|k| u64::from_le_bytes(std::array::from_fn(|i| part.bytes[8 * k + i])))
        };
        let differ = words(self).iter().zip(words(other)).fold(0, |differ, (a, b)| differ | (a ^ b));
        differ == 0 && self.length == other.length
    }

    /// True if all characters are ASCII, as in every strictly valid digest.
    #[inline]
    pub(super) fn is_ascii(&self) -> bool {
        self.bytes.is_ascii()
    }

    /// Its characters, padded with zeros.
    #[inline]
    pub(super) fn padded(&self) -> &[u8; MAX_PART] {
        &self.bytes
    }

    /// Return the characters.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length).min(MAX_PART)]
    }

    /// Parse at most 64 characters and remove their runs; None if one is not base64. It works on words of 8 bytes
    /// without branching on characters unless there are runs.
    #[inline]
    fn read_base64(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_PART];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        // 'A' pads the text after its end.
        let wrong = (0..MAX_PART).fold(0, |wrong, i| {
            let c = if i < text.len() { bytes[i] } else { b'A' };
            let letter = (c | 32).wrapping_sub(b'a') < 26;
            // '/' and the digits are contiguous.
            let other = c.wrapping_sub(b'/') < 11 || c == b'+';
            wrong | u8::from(!(letter || other))
        });
        if wrong != 0 {
            return None;
        }
        let runs = (0..MAX_PART - 3).fold(0, |runs, i| {
            let four = bytes[i] == bytes[i + 1] && bytes[i + 1] == bytes[i + 2] && bytes[i + 2] == bytes[i + 3];
            runs | u8::from(four && bytes[i] != 0)
        });
        if runs != 0 {
            return Self::read(text);
        }
        Some(Self { bytes, length: text.len() as u8 })
    }

    /// Remove the runs of a part; None if more than 64 characters remain.
    #[inline]
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let mut part = Self { bytes: [0; MAX_PART], length: 0 };
        let mut run = 0;
        let mut length = 0;
        for (i, &c) in text.iter().enumerate() {
            run = if i > 0 && text[i - 1] == c { run + 1 } else { 1 };
            if run <= 3 {
                *part.bytes.get_mut(length)? = c;
                length += 1;
            }
        }
        part.length = length as u8;
        Some(part)
    }
}

impl Default for Part {
    fn default() -> Self {
        Self { bytes: [0; MAX_PART], length: 0 }
    }
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

/// A parsed digest without runs, the form that comparison and search use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Digest {
    /// Block size of part 1; part 2 has twice this.
    pub block_size: u64,
    /// Part 1.
    pub part1: Part,
    /// Part 2.
    pub part2: Part,
}

impl Digest {
    /// Parse a digest in the program's format.
    ///
    /// # Errors
    /// [`Error::Digest`], which quotes the digest and the fault.
    #[inline]
    pub fn parse(text: &[u8]) -> Result<Self> {
        let mut digest = Self::default();
        digest.read(text)?;
        Ok(digest)
    }

    /// Parse into this digest; after an error its value is unspecified.
    ///
    /// # Errors
    /// As [`Self::parse`].
    #[inline]
    pub fn read(&mut self, text: &[u8]) -> Result<()> {
        #[cfg(target_arch = "x86_64")]
        if Avx512::detect().is_some() {
            // SAFETY: the token proves that the processor has the instructions.
            if unsafe { read_avx512(text, self) }.is_some() {
                return Ok(());
            }
        }
        *self = Self::parse_any(text)?;
        Ok(())
    }

    /// Implement [`Self::parse`] for every digest, with its errors.
    fn parse_any(text: &[u8]) -> Result<Self> {
        let (size, parts) = split_at_colon(text).ok_or_else(|| strict_fault(text, NO_COLON))?;
        let (part1, part2) = split_at_colon(parts).ok_or_else(|| strict_fault(text, NO_COLON))?;
        let block_size = strict_block_size(size).ok_or_else(|| strict_fault(text, BAD_SIZE))?;
        let read = |part: &[u8]| {
            if part.len() > MAX_PART {
                return Err(strict_fault(text, "a part has more than 64 characters"));
            }
            Part::read_base64(part).ok_or_else(|| strict_fault(text, BAD_CHARACTER))
        };
        Ok(Self { block_size, part1: read(part1)?, part2: read(part2)? })
    }

    /// Parse a digest as the original library does.
    ///
    /// # Errors
    /// [`Error::Input`], which quotes the digest and the fault.
    pub fn parse_lenient(text: &[u8]) -> Result<Self> {
        let block_size = lenient_block_size(text)?;
        let (_, parts) = split_at_colon(before_nul(text)).ok_or_else(|| fault(text, NO_COLON))?;
        let (part1, part2) = split_at_colon(parts).ok_or_else(|| fault(text, NO_COLON))?;
        let end = part2.iter().position(|&c| c == b',').unwrap_or(part2.len());
        let read = |part| {
            Part::read(part).ok_or_else(|| fault(text, "a part has more than 64 characters after the removal of runs"))
        };
        Ok(Self { block_size, part1: read(part1)?, part2: read(&part2[..end])? })
    }

    /// Return the text of the digest without its runs.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = self.block_size.to_string().into_bytes();
        for part in [&self.part1, &self.part2] {
            text.push(b':');
            text.extend_from_slice(part.as_bytes());
        }
        text
    }
}

/// Parse a digest without long runs as [`Digest::parse_any`] does; None for all others, including invalid ones.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn read_avx512(text: &[u8], digest: &mut Digest) -> Option<()> {
    use std::arch::x86_64::{
        _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_maskz_loadu_epi8, _mm512_or_si512, _mm512_set1_epi8,
        _mm512_storeu_si512, _mm512_sub_epi8,
    };
    let first = |count: usize| if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    let set = |c: u8| _mm512_set1_epi8(c as i8);
    let load = |from: &[u8]| {
        // SAFETY: only bytes of the slice are read.
        unsafe { _mm512_maskz_loadu_epi8(first(from.len()), from.as_ptr().cast()) }
    };
    let colons = |from: &[u8]| _mm512_cmpeq_epi8_mask(load(from), set(b':'));
    // Block size, part 1 and two colons are at most 76 characters.
    let head = colons(text);
    let one = head.trailing_zeros() as usize;
    let after = head & head.wrapping_sub(1);
    let two = if after == 0 {
        64 + colons(text.get(64..)?).trailing_zeros() as usize
    } else {
        after.trailing_zeros() as usize
    };
    if head == 0 || two >= text.len() || two == 128 {
        return None;
    }
    let read = |text: &[u8], part: &mut Part| {
        if text.len() > MAX_PART {
            return None;
        }
        let c = load(text);
        let letter = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(_mm512_or_si512(c, set(32)), set(b'a')), set(26));
        // '/' and the digits are contiguous.
        let other =
            _mm512_cmplt_epu8_mask(_mm512_sub_epi8(c, set(b'/')), set(11)) | _mm512_cmpeq_epi8_mask(c, set(b'+'));
        if (letter | other) & first(text.len()) != first(text.len()) {
            return None;
        }
        part.length = text.len() as u8;
        // SAFETY: the array has 64 bytes.
        unsafe { _mm512_storeu_si512(part.bytes.as_mut_ptr().cast(), c) };
        // Bit i: characters i and i + 1 are equal.
        let next = load(text.get(1..).unwrap_or(&[]));
        let twins = _mm512_cmpeq_epi8_mask(c, next) & first(text.len().saturating_sub(1));
        (twins & (twins >> 1) & (twins >> 2) == 0).then_some(())
    };
    digest.block_size = strict_block_size(&text[..one])?;
    read(&text[one + 1..two], &mut digest.part1)?;
    read(&text[two + 1..], &mut digest.part2)
}

const NO_COLON: &str = "fewer than two colons";
const BAD_SIZE: &str = "the block size is not 3 * 2^i with i from 0 to 30";
const BAD_CHARACTER: &str = "a part has a character outside of A-Z a-z 0-9 + /";

#[cold]
fn fault(text: &[u8], reason: &str) -> Error {
    Error::input(quoted(text), mended(reason))
}

/// Build the error of a digest that lenient parsing may accept.
#[cold]
fn strict_fault(text: &[u8], reason: &str) -> Error {
    Error::Digest { place: quoted(text), reason: mended(reason) }
}

fn quoted(text: &[u8]) -> String {
    format!("digest {:?}", String::from_utf8_lossy(&text[..text.len().min(200)]))
}

fn mended(reason: &str) -> String {
    format!("{reason}; a digest reads `size:part:part`")
}

#[inline]
fn split_at_colon(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&c| c == b':')?;
    Some((&text[..at], &text[at + 1..]))
}

#[inline]
fn strict_block_size(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 10 || digits[0] == b'0' {
        return None;
    }
    let mut value = 0u64;
    for &c in digits {
        if !c.is_ascii_digit() {
            return None;
        }
        value = 10 * value + u64::from(c - b'0');
    }
    (value.is_multiple_of(3) && (value / 3).is_power_of_two() && value <= block_size(LEVELS - 1)).then_some(value)
}

/// Return the digest as C sees it: everything before the first NUL.
fn before_nul(text: &[u8]) -> &[u8] {
    &text[..text.iter().position(|&c| c == 0).unwrap_or(text.len())]
}

/// Parse the number at the start like C's `strtoul`. Characters between it and the first colon are ignored; the caller
/// searches the colon.
pub(super) fn lenient_block_size(text: &[u8]) -> Result<u64> {
    let space = text.iter().take_while(|c| matches!(c, b' ' | b'\t'..=b'\r')).count();
    let mut rest = &text[space..];
    let negative = rest.first() == Some(&b'-');
    if matches!(rest.first(), Some(b'+' | b'-')) {
        rest = &rest[1..];
    }
    let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
    if digits == 0 {
        return Err(fault(text, "no number at its start"));
    }
    let value = rest[..digits]
        .iter()
        .try_fold(0u64, |value, c| value.checked_mul(10)?.checked_add(u64::from(c - b'0')))
        .map_or(u64::MAX, |value| if negative { value.wrapping_neg() } else { value });
    Ok(value)
}

/// Append `part` to `kept`, with runs of more than three equal characters cut to three.
pub(super) fn push_without_runs(part: &[u8], kept: &mut Vec<u8>) {
    let start = kept.len();
    for &c in part {
        if !(kept.len() >= start + 3 && kept[kept.len() - 3..].iter().all(|&k| k == c)) {
            kept.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_are_cut_to_three() {
        let digest = Digest::parse(b"3:AAAAAB:aaaabbbb").unwrap();
        assert_eq!(b"3:AAAB:aaabbb".to_vec(), digest.to_text());
    }

    #[test]
    fn the_strict_parser_refuses_what_the_program_never_prints() {
        for text in [
            "",
            ":",
            "3",
            "3:",
            "3:a",
            "0:a:b",
            "03:a:b",
            "+3:a:b",
            " 3:a:b",
            "9:a:b",
            "6442450944:a:b",
            "3:a:b:c",
            "3:a-:b",
            "3:a:b,\"x\"",
            "3:a:b\n",
        ] {
            assert!(Digest::parse(text.as_bytes()).is_err(), "{text:?}");
        }
        let long = format!("3:{}:", "ab".repeat(33));
        assert!(Digest::parse(long.as_bytes()).is_err());
        assert!(Digest::parse(format!("3221225472:{}:{}", "ab".repeat(32), "ab".repeat(32)).as_bytes()).is_ok());
    }

    #[test]
    fn an_error_quotes_the_digest_and_says_how_to_mend_it() {
        let error = Digest::parse(b"7:a:b").unwrap_err().to_string();
        assert!(error.starts_with("digest \"7:a:b\": the block size is not 3 * 2^i"), "{error}");
        assert!(error.ends_with("a digest reads `size:part:part`, or pass strict=False for old data"), "{error}");
        let error = Digest::parse_lenient(b"7").unwrap_err().to_string();
        assert!(error.ends_with("a digest reads `size:part:part`"), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_crash_the_parsers(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Digest::parse(&text);
            let _ = Digest::parse_lenient(&text);
        }

        #[test]
        fn the_wide_form_reads_as_the_plain_one(
            text in prop_oneof![
                "(3|6|12|96|768|3221225472|7|0|)(:[A-Za-z0-9+/]{0,66}){1,3}",
                "(3|48):[a-b:]{0,70}:[a-b]{0,70}",
                "[0-9:a,/+ -]{0,140}",
            ],
        ) {
            let plain = Digest::parse_any(text.as_bytes());
            let read = Digest::parse(text.as_bytes());
            prop_assert_eq!(plain.as_ref().map_err(ToString::to_string), read.as_ref().map_err(ToString::to_string));
        }

        #[test]
        fn exactly_base64_is_read_strictly(part in prop::collection::vec(any::<u8>(), 0..64)) {
            let base64 = |&c: &u8| c.is_ascii_alphanumeric() || c == b'+' || c == b'/';
            prop_assert_eq!(part.iter().all(base64), Part::read_base64(&part).is_some());
            let kept: Vec<u8> = part.into_iter().filter(base64).collect();
            prop_assert_eq!(Part::read(&kept), Part::read_base64(&kept));
        }

        #[test]
        fn every_character_is_judged_alone(c in any::<u8>(), at in 0usize..64) {
            let mut part = [b'A'; 64];
            part[at] = c;
            prop_assert_eq!(c.is_ascii_alphanumeric() || c == b'+' || c == b'/', Part::read_base64(&part).is_some());
        }

        #[test]
        fn what_is_strict_reads_the_same_leniently(level in 0u32..31, a in "[A-Za-c0-9+/]{0,64}", b in "[A-Zab]{0,64}") {
            let text = format!("{}:{a}:{b}", block_size(level));
            let digest = Digest::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(digest, Digest::parse_lenient(text.as_bytes()).unwrap());
            prop_assert_eq!(digest, Digest::parse(&digest.to_text()).unwrap());
        }
    }
}
