//! The text of a digest.
//!
//! ```text
//! "T1"          absent in the old form
//! checksum      1 or 3 bytes, the two digits of each swapped
//! length        1 byte, swapped
//! ratios        1 byte: ratio 1 in its first digit, ratio 2 in its second
//! body          1 byte for four buckets, from the last to the first; the lowest bits are those of the first bucket
//! ```

use super::{Digest, Form, MAX_BYTES};
use crate::error::{Error, Result};

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
/// The value of each hexadecimal digit, and 255 of other bytes.
const VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < 16 {
        values[DIGITS[value] as usize] = value as u8;
        values[DIGITS[value].to_ascii_lowercase() as usize] = value as u8;
        value += 1;
    }
    values
};

/// Return the even bits of a word, packed.
fn even_bits(mut word: u64) -> u64 {
    word &= 0x5555_5555_5555_5555;
    word = (word | word >> 1) & 0x3333_3333_3333_3333;
    word = (word | word >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    word = (word | word >> 4) & 0x00ff_00ff_00ff_00ff;
    word = (word | word >> 8) & 0x0000_ffff_0000_ffff;
    (word | word >> 16) & 0x0000_0000_ffff_ffff
}

/// Return the lower half of a word in its even bits.
fn spread(mut word: u64) -> u64 {
    word &= 0x0000_0000_ffff_ffff;
    word = (word | word << 16) & 0x0000_ffff_0000_ffff;
    word = (word | word << 8) & 0x00ff_00ff_00ff_00ff;
    word = (word | word << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    word = (word | word << 2) & 0x3333_3333_3333_3333;
    (word | word << 1) & 0x5555_5555_5555_5555
}

impl Digest {
    /// Create a digest from its parts; `symbols` has a value from 0 to 3 for each bucket.
    pub(super) fn new(form: Form, checksum: [u8; 3], length: u8, ratios: [u8; 2], symbols: &[u8]) -> Self {
        let (mut high, mut low) = ([0; 4], [0; 4]);
        for (bucket, symbol) in symbols.iter().enumerate() {
            let gray = u64::from(symbol ^ symbol >> 1);
            high[bucket / 64] |= (gray >> 1) << (bucket % 64);
            low[bucket / 64] |= (gray & 1) << (bucket % 64);
        }
        Self { form, checksum, length, ratios, high, low }
    }

    /// Parse a digest; its length determines the form. The "T1" may be absent, and digits may have any case.
    ///
    /// # Errors
    /// The text is no digest.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let digits = match text {
            [b'T' | b't', b'1', digits @ ..] if digits.len() % 2 == 0 => digits,
            _ => text,
        };
        let Some(form) = Form::ALL.into_iter().find(|form| 2 * form.bytes() == digits.len()) else {
            let reason = if text == b"TNULL" {
                "stands for an input without a digest; leave it out".to_owned()
            } else {
                format!(
                    "has {} characters; a TLSH digest is T1 and 70 hexadecimal digits, or 74, 134 or 138 for other forms",
                    text.len()
                )
            };
            return Err(invalid(text, &reason));
        };
        let mut bytes = [0; MAX_BYTES];
        let mut wrong = 0;
        for (byte, [first, second]) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
            let values = [VALUES[usize::from(*first)], VALUES[usize::from(*second)]];
            wrong |= values[0] | values[1];
            *byte = values[0] << 4 | values[1] & 15;
        }
        if wrong > 15 {
            let at = digits.iter().position(|&digit| VALUES[usize::from(digit)] > 15).unwrap_or_default();
            let at = at + text.len() - digits.len();
            return Err(invalid(text, &format!("character {at} is no hexadecimal digit, 0 to 9 or A to F")));
        }
        Ok(Self::from_bytes(form, &bytes[..form.bytes()]))
    }

    /// Read a digest from [`Form::bytes`] bytes, those of its hexadecimal digits; any bytes are one.
    ///
    /// # Panics
    /// There are fewer.
    pub fn from_bytes(form: Form, bytes: &[u8]) -> Self {
        let (head, body) = bytes.split_at(form.checksum + 2);
        let mut checksum = [0; 3];
        for (sum, byte) in checksum.iter_mut().zip(&head[..form.checksum]) {
            *sum = byte.rotate_left(4);
        }
        let ratios = head[form.checksum + 1];
        let (mut high, mut low) = ([0; 4], [0; 4]);
        // Eight bytes are 32 buckets, half of a word of each plane.
        for (half, bytes) in body.as_rchunks::<8>().1.iter().rev().enumerate() {
            let symbols = u64::from_be_bytes(*bytes);
            let (upper, lower) = (even_bits(symbols >> 1), even_bits(symbols));
            high[half / 2] |= upper << (32 * (half % 2));
            low[half / 2] |= (upper ^ lower) << (32 * (half % 2));
        }
        let length = head[form.checksum].rotate_left(4);
        Self { form, checksum, length, ratios: [ratios >> 4, ratios & 15], high, low }
    }

    /// Write the digest to [`Form::bytes`] bytes.
    pub fn to_bytes(&self) -> [u8; MAX_BYTES] {
        let mut bytes = [0; MAX_BYTES];
        let checksum = self.form.checksum;
        for (byte, sum) in bytes.iter_mut().zip(&self.checksum[..checksum]) {
            *byte = sum.rotate_left(4);
        }
        bytes[checksum] = self.length.rotate_left(4);
        bytes[checksum + 1] = self.ratios[0] << 4 | self.ratios[1];
        let body = &mut bytes[checksum + 2..self.form.bytes()];
        for (half, bytes) in body.as_rchunks_mut::<8>().1.iter_mut().rev().enumerate() {
            let (upper, gray) = (self.high[half / 2] >> (32 * (half % 2)), self.low[half / 2] >> (32 * (half % 2)));
            *bytes = (spread(upper) << 1 | spread(upper ^ gray)).to_be_bytes();
        }
        bytes
    }

    /// Return the text, which begins with "T1".
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(2 + 2 * MAX_BYTES);
        text.push_str("T1");
        for byte in &self.to_bytes()[..self.form.bytes()] {
            text.push(DIGITS[usize::from(byte >> 4)].into());
            text.push(DIGITS[usize::from(byte & 15)].into());
        }
        text
    }

    /// Return the form.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Return the checksum, whose first [`Form::checksum`] bytes are used.
    pub fn checksum(&self) -> [u8; 3] {
        self.checksum
    }

    /// Return the class of the input's length.
    pub fn length(&self) -> u8 {
        self.length
    }

    /// Return `100 q1 / q3` and `100 q2 / q3`, modulo 16.
    pub fn ratios(&self) -> [u8; 2] {
        self.ratios
    }
}

fn invalid(text: &[u8], reason: &str) -> Error {
    let shown = String::from_utf8_lossy(&text[..text.len().min(80)]);
    Error::input(format!("{shown:?}"), reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_digest_is_written_as_it_was_read(form in 0..4_usize, bytes in prop::collection::vec(any::<u8>(), MAX_BYTES)) {
            let form = Form::ALL[form];
            let digest = Digest::from_bytes(form, &bytes[..form.bytes()]);
            prop_assert_eq!(&bytes[..form.bytes()], &digest.to_bytes()[..form.bytes()]);
            let text = digest.to_text();
            prop_assert_eq!(digest, Digest::parse(text.as_bytes()).unwrap());
            prop_assert_eq!(digest, Digest::parse(text[2..].to_lowercase().as_bytes()).unwrap());
        }

        #[test]
        fn any_bytes_are_a_digest_or_an_error(text in prop::collection::vec(any::<u8>(), 0..150)) {
            let _ = Digest::parse(&text);
            let _ = Digest::parse(&[b"T1", &text[..text.len().min(70)]].concat());
        }
    }

    #[test]
    fn an_error_says_what_is_wrong() {
        let message = |text: &[u8]| Digest::parse(text).unwrap_err().to_string();
        assert!(message(b"TNULL").contains("an input without a digest"));
        assert!(message(b"T1A").contains("has 3 characters"));
        assert!(message(&[b'G'; 70]).contains("character 0 is no hexadecimal digit"));
        assert!(message(&[b"T1", &[b'0'; 69][..], b"x"].concat()).contains("character 71 is no"));
    }
}
