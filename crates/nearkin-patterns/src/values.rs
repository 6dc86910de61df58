//! Distinct values of a variable: a sample of bounded size, and an estimate of their number.
//!
//! The sample contains the k values with the smallest hashes (XXH3-64), with their bytes. It depends on the set of
//! values alone, so the samples of two sets merge into the sample of their union. The largest hash h of k values
//! determines the density of hashes:
//! ```text
//! distinct ≈ (k − 1) · 2^64 / h          relative standard error 1 / sqrt(k − 2); exact below k values
//! ```
//! Sources: Bar-Yossef et al. (RANDOM 2002), section 4; Beyer et al. (SIGMOD 2007), the unbiased form.
//!
//! Cost: a value that does not enter a full sample costs one comparison of numbers. At most [`MAX_BYTES`] bytes of a
//! value are stored; its hash covers all its bytes.

use nearkin_core::hash::xxh3;
use nearkin_core::{Result, alloc};

/// Maximum number of bytes of a value.
pub const MAX_BYTES: usize = 256;

/// A sample of distinct values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// Hashes, ascending.
    hashes: Vec<u64>,
    texts: Vec<Box<[u8]>>,
}

/// Return the hash of a value.
#[inline]
pub fn hash(value: &[u8]) -> u64 {
    xxh3::hash(value, 0)
}

impl Values {
    /// Add a value by its hash, to a sample of at most `max_values` values.
    ///
    /// # Errors
    /// Memory allocation fails.
    #[inline]
    pub fn add(&mut self, hash: u64, value: &[u8], max_values: usize) -> Result<()> {
        self.add_long(hash, value, max_values, MAX_BYTES)
    }

    /// Add a value like `add`, with at most `max_bytes` of its bytes.
    ///
    /// # Errors
    /// As for `add`.
    #[inline]
    pub fn add_long(&mut self, hash: u64, value: &[u8], max_values: usize, max_bytes: usize) -> Result<()> {
        if self.hashes.len() >= max_values && self.hashes.last().is_none_or(|&last| hash >= last) {
            return Ok(());
        }
        let Err(position) = self.hashes.binary_search(&hash) else { return Ok(()) };
        let text = alloc::try_copy(&value[..value.len().min(max_bytes)])?.into_boxed_slice();
        alloc::try_reserve(&mut self.hashes, 1)?;
        alloc::try_reserve(&mut self.texts, 1)?;
        self.hashes.insert(position, hash);
        self.texts.insert(position, text);
        self.hashes.truncate(max_values);
        self.texts.truncate(max_values);
        Ok(())
    }

    /// Add the values of another sample.
    ///
    /// # Errors
    /// Memory allocation fails.
    pub fn merge(&mut self, other: &Self, max_values: usize) -> Result<()> {
        other.iter().try_for_each(|(hash, text)| self.add_long(hash, text, max_values, usize::MAX))
    }

    /// Return the sample with these hashes and values; None if the hashes do not ascend or the lengths differ.
    pub(crate) fn restored(hashes: Vec<u64>, texts: Vec<Box<[u8]>>) -> Option<Self> {
        let ascending = hashes.windows(2).all(|pair| pair[0] < pair[1]);
        (ascending && hashes.len() == texts.len()).then_some(Self { hashes, texts })
    }

    /// Return the number of distinct values of a sample of at most `max_values`: exact below that, otherwise an
    /// estimate.
    pub fn distinct(&self, max_values: usize) -> u64 {
        match self.hashes.last() {
            Some(&last) if self.hashes.len() >= max_values && max_values > 1 => {
                let estimate = (max_values - 1) as f64 * 2_f64.powi(64) / (last as f64).max(1.0);
                (estimate.round() as u64).max(max_values as u64)
            }
            _ => self.hashes.len() as u64,
        }
    }

    /// Iterate over the hashes and values, ascending by hash.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, &[u8])> {
        self.hashes.iter().zip(&self.texts).map(|(&hash, text)| (hash, &**text))
    }

    /// Return the number of values.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Return true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Return the size in bytes without the struct itself.
    pub fn memory(&self) -> usize {
        let texts: usize = self.texts.iter().map(|text| text.len()).sum();
        self.hashes.capacity() * 8 + self.texts.capacity() * size_of::<Box<[u8]>>() + texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn sample(values: &[String], max_values: usize) -> Values {
        let mut sample = Values::default();
        for value in values {
            sample.add(hash(value.as_bytes()), value.as_bytes(), max_values).expect("memory");
        }
        sample
    }

    proptest! {
        #[test]
        fn a_sample_is_the_smallest_hashes(values in prop::collection::vec("[a-c]{0,3}", 0..80), max_values in 1_usize..9, cut in 0_usize..80) {
            let mut all = BTreeMap::new();
            for value in &values {
                all.insert(hash(value.as_bytes()), value.as_bytes());
            }
            let whole = sample(&values, max_values);
            let expected: Vec<(u64, &[u8])> = all.into_iter().take(max_values).collect();
            prop_assert_eq!(expected, whole.iter().collect::<Vec<_>>());
            let (left, right) = values.split_at(cut.min(values.len()));
            let mut merged = sample(right, max_values);
            merged.merge(&sample(left, max_values), max_values).expect("memory");
            prop_assert_eq!(&whole, &merged);
        }
    }

    #[test]
    fn few_values_are_counted_and_many_estimated() {
        let values: Vec<String> = (0..100_000).map(|i| format!("value {i}")).collect();
        assert_eq!(0, Values::default().distinct(64));
        assert_eq!(63, sample(&values[..63], 64).distinct(64));
        for count in [1_000, 100_000] {
            let result = sample(&values[..count], 64).distinct(64) as f64;
            // Four standard errors.
            assert!((result / count as f64 - 1.0).abs() < 4.0 / 62_f64.sqrt(), "{result}");
        }
        // One value does not determine the density.
        assert_eq!(1, sample(&values, 1).distinct(1));
    }

    #[test]
    fn long_values_are_kept_in_part() {
        let (long, longer) = ("x".repeat(MAX_BYTES), "x".repeat(MAX_BYTES + 1));
        let result = sample(&[long, longer], 4);
        assert_eq!((2, 2), (result.len(), result.distinct(4)));
        assert!(result.iter().all(|(_, text)| text.len() == MAX_BYTES));
        assert!(result.memory() >= 2 * MAX_BYTES + 32);
        assert!(!result.is_empty());
    }
}
