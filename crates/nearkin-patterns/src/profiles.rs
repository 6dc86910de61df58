//! Profiles of the values of a variable: how often each length, character, magnitude and member of a small set occurs.
//!
//! A profile is a sparse vector of counts by key, so the profile of two sets of requests is the sum of theirs: order,
//! batches and merges do not change it. At most [`MEMBERS`] distinct values have counts of their own; beyond that, the
//! counts of all members are dropped for good, which also depends only on the set of values.
//!
//! | keys | counted |
//! |---|---|
//! | [`TOTAL`], [`ODD`] | values; values that look like attacks, which have no other counts |
//! | [`LENGTHS`] + bin | values of a length; bins are exact up to 16 bytes, then four for each octave |
//! | [`CHARACTERS`] + class | values with a character of a class ([`classes`]) |
//! | [`NUMBERS`] + bin, [`NEGATIVES`] + bin | whole numbers of a magnitude, in the same bins |
//! | [`MEMBER`] or hash | occurrences of a value |
//!
//! Cost: one pass over the bytes of a value and a binary search for each of its features, some 60 ns. A key and its
//! count have 16 bytes; a profile has at most some 300.

use nearkin_core::{Result, alloc};

/// Key of the number of values, without those of [`ODD`].
pub const TOTAL: u64 = 0;
/// Key of the number of values that look like attacks.
pub const ODD: u64 = 1;
/// Key of a mark: there were more than [`MEMBERS`] distinct values.
pub const OPEN: u64 = 2;
/// First key of lengths.
pub const LENGTHS: u64 = 0x100;
/// First key of characters.
pub const CHARACTERS: u64 = 0x200;
/// First key of numbers from 0.
pub const NUMBERS: u64 = 0x300;
/// First key of negative numbers, by magnitude.
pub const NEGATIVES: u64 = 0x400;
/// Bit of the keys of members; the other bits are those of the hash of the value.
pub const MEMBER: u64 = 1 << 63;
/// Maximum number of distinct values with counts of their own.
pub const MEMBERS: usize = 16;

/// Counts of features, ascending by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    counts: Vec<(u64, u64)>,
}

/// Return the bin of a length or magnitude: itself up to 16, then four bins for each octave.
pub fn bin(number: u64) -> u64 {
    if number <= 16 {
        return number;
    }
    let octave = u64::from(number.ilog2());
    17 + 4 * (octave - 4) + ((number >> (octave - 2)) & 3)
}

/// Return the first number of a bin.
pub fn bin_start(bin: u64) -> u64 {
    if bin <= 16 {
        return bin;
    }
    let (octave, quarter) = (4 + (bin - 17) / 4, (bin - 17) % 4);
    ((4 + quarter) << (octave - 2)).max(17)
}

/// Return the last number of a bin.
pub fn bin_end(bin: u64) -> u64 {
    if bin >= 17 + 4 * 60 - 1 { u64::MAX } else { bin_start(bin + 1) - 1 }
}

/// Return the class of a byte: a digit is `0`, a letter `a` or `A`, a control character 1, a byte that is not ASCII 127,
/// another character itself.
pub const fn class(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => b'0',
        b'a'..=b'z' => b'a',
        b'A'..=b'Z' => b'A',
        0..=31 | 127 => 1,
        128.. => 127,
        byte => byte,
    }
}

/// Class of values with the same punctuation twice in a row: `..`, `--`, `//`.
pub const DOUBLED: u8 = 2;

/// Return the classes of the characters of a value, as a bit for each.
pub fn classes(value: &[u8]) -> u128 {
    let mut classes = 0;
    let mut last = 0;
    for &byte in value {
        classes |= 1 << class(byte);
        classes |= u128::from(byte == last && byte.is_ascii_punctuation()) << DOUBLED;
        last = byte;
    }
    classes
}

/// Return the key of the magnitude of a whole number of at most 18 digits.
pub fn number_key(value: &[u8]) -> Option<u64> {
    let digits = value.strip_prefix(b"-").or_else(|| value.strip_prefix(b"+")).unwrap_or(value);
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    Some(if value[0] == b'-' { NEGATIVES } else { NUMBERS } + bin(number))
}

/// Return the key of a value as a member of a set.
pub const fn member_key(hash: u64) -> u64 {
    MEMBER | hash
}

impl Profile {
    fn count(&mut self, key: u64, weight: u64) -> Result<()> {
        match self.counts.binary_search_by_key(&key, |count| count.0) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(weight),
            Err(at) => {
                alloc::try_reserve(&mut self.counts, 1)?;
                self.counts.insert(at, (key, weight));
            }
        }
        Ok(())
    }

    /// Add a decoded value with its hash, `weight` times.
    ///
    /// # Errors
    /// Memory allocation fails.
    pub fn add(&mut self, hash: u64, value: &[u8], weight: u64) -> Result<()> {
        self.count(TOTAL, weight)?;
        self.count(LENGTHS + bin(value.len() as u64), weight)?;
        let mut rest = classes(value);
        while rest != 0 {
            self.count(CHARACTERS + u64::from(rest.trailing_zeros()), weight)?;
            rest &= rest - 1;
        }
        if let Some(key) = number_key(value) {
            self.count(key, weight)?;
        }
        if !self.is_open() {
            self.count(member_key(hash), weight)?;
            self.close_members();
        }
        Ok(())
    }

    /// Add values that look like attacks.
    ///
    /// # Errors
    /// Memory allocation fails.
    pub fn add_odd(&mut self, weight: u64) -> Result<()> {
        self.count(ODD, weight)
    }

    /// Add the counts of another profile.
    ///
    /// # Errors
    /// Memory allocation fails.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        for &(key, weight) in &other.counts {
            self.count(key, weight)?;
        }
        self.close_members();
        Ok(())
    }

    /// Drop the members if there are too many.
    fn close_members(&mut self) {
        let first = self.counts.partition_point(|count| count.0 < MEMBER);
        let open = self.is_open();
        if self.counts.len() - first <= MEMBERS && !open {
            return;
        }
        self.counts.truncate(first);
        match self.counts.binary_search_by_key(&OPEN, |count| count.0) {
            Ok(at) => self.counts[at].1 = 1,
            Err(at) => self.counts.insert(at, (OPEN, 1)),
        }
    }

    /// Return true if there were more than [`MEMBERS`] distinct values.
    pub fn is_open(&self) -> bool {
        // The keys below are the only smaller ones.
        self.counts.iter().take(3).any(|count| count.0 == OPEN)
    }

    /// Return the count of a key.
    pub fn get(&self, key: u64) -> u64 {
        self.counts.binary_search_by_key(&key, |count| count.0).map_or(0, |at| self.counts[at].1)
    }

    /// Iterate over the counts of the keys from `first` on that are less than `end`, ascending by key.
    pub fn range(&self, first: u64, end: u64) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        let (start, end) = (self.counts.partition_point(|c| c.0 < first), self.counts.partition_point(|c| c.0 < end));
        self.counts[start..end].iter().copied()
    }

    /// Return all counts, ascending by key.
    pub fn counts(&self) -> &[(u64, u64)] {
        &self.counts
    }

    /// Return the profile with these counts; None if the keys do not ascend, or there are too many members.
    pub(crate) fn restored(counts: Vec<(u64, u64)>) -> Option<Self> {
        let members = counts.iter().filter(|count| count.0 >= MEMBER).count();
        (counts.windows(2).all(|pair| pair[0].0 < pair[1].0) && members <= MEMBERS).then_some(Self { counts })
    }

    /// Return the size in bytes without the struct itself.
    pub fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values;
    use proptest::prelude::*;

    fn profile(values: &[String]) -> Profile {
        let mut profile = Profile::default();
        for value in values {
            profile.add(values::hash(value.as_bytes()), value.as_bytes(), 1).expect("memory");
        }
        profile
    }

    proptest! {
        #[test]
        fn a_profile_is_a_sum(values in prop::collection::vec("[a-f0-9 ']{0,2}", 0..60), cut in 0_usize..60) {
            let whole = profile(&values);
            let (left, right) = values.split_at(cut.min(values.len()));
            let mut merged = profile(right);
            merged.merge(&profile(left)).expect("memory");
            prop_assert_eq!(&whole, &merged);
            let distinct: std::collections::BTreeSet<&String> = values.iter().collect();
            prop_assert_eq!(distinct.len() > MEMBERS, whole.is_open());
            let members = whole.range(MEMBER, u64::MAX).count();
            prop_assert_eq!(if whole.is_open() { 0 } else { distinct.len() }, members);
            prop_assert_eq!(values.len() as u64, whole.get(TOTAL));
            prop_assert_eq!(Some(whole.clone()), Profile::restored(whole.counts().to_vec()));
        }

        #[test]
        fn bins_partition_numbers(number in 0_u64..1 << 63) {
            let bin = bin(number);
            prop_assert!(bin_start(bin) <= number && number <= bin_end(bin));
            prop_assert!(bin < 0x100);
        }
    }

    #[test]
    fn characters_have_classes() {
        assert_eq!(1 << b'a' | 1 << b'0' | 1 << b'\'' | 1 << 127 | 1 << 1, classes("b7'é\n".as_bytes()));
        assert_eq!(1 << b'.' | 1 << DOUBLED, classes(b".."));
        assert_eq!(Some(NEGATIVES + 12), number_key(b"-12"));
        assert_eq!((None, None), (number_key(b"-"), number_key(b"1234567890123456789")));
    }
}
