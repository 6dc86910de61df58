//! The distance of two digests, in plain words.
//!
//! ```text
//! cost(length) = 0, 1, then 12 d             d: distance of the classes on a ring of 256
//! cost(ratio)  = 0, 1, then 12 (d - 1)       d: distance on a ring of 16
//! ```
//!
//! Both costs grow with d, so they bound the distance from below ([`length_cost`], [`ratio_cost`]): an index passes over
//! all digests whose header alone is too far.

use super::{Digest, Form};

/// Distance of two numbers on a ring.
#[inline]
fn on_ring(a: u8, b: u8, size: u16) -> u16 {
    let distance = u16::from(a.abs_diff(b));
    distance.min(size - distance)
}

/// Return the cost of two lengths.
#[inline]
pub(crate) fn length_cost(a: u8, b: u8) -> u16 {
    match on_ring(a, b, 256) {
        distance @ 0..=1 => distance,
        distance => 12 * distance,
    }
}

/// Return the cost of two ratios.
#[inline]
pub(crate) fn ratio_cost(a: u8, b: u8) -> u16 {
    match on_ring(a, b, 16) {
        distance @ 0..=1 => distance,
        distance => 12 * (distance - 1),
    }
}

/// Return the largest distance of digests of a form.
pub fn max_distance(form: Form) -> u16 {
    length_cost(0, 128) + 2 * ratio_cost(0, 8) + 1 + 6 * form.buckets() as u16
}

impl Digest {
    /// Return the distance to a digest of the same form; without the cost of the lengths if `length` is false.
    #[inline]
    pub fn distance(&self, other: &Self, length: bool) -> u16 {
        self.header_distance(other, length) + self.body_distance(other)
    }

    /// Return the cost of lengths, ratios and checksums.
    #[inline]
    pub fn header_distance(&self, other: &Self, length: bool) -> u16 {
        let [length, first, second, checksum] = self.header_parts(other, length);
        length + first + second + checksum
    }

    #[inline]
    fn header_parts(&self, other: &Self, length: bool) -> [u16; 4] {
        let length = if length { length_cost(self.length, other.length) } else { 0 };
        let [first, second] = [0, 1].map(|i| ratio_cost(self.ratios[i], other.ratios[i]));
        [length, first, second, u16::from(self.checksum != other.checksum)]
    }

    /// Return the costs of the length, the two ratios, the checksum and the body, whose sum is the distance.
    pub fn parts(&self, other: &Self, length: bool) -> [u16; 5] {
        let [length, first, second, checksum] = self.header_parts(other, length);
        [length, first, second, checksum, self.body_distance(other)]
    }

    /// Return the cost of the buckets.
    #[inline]
    pub fn body_distance(&self, other: &Self) -> u16 {
        (0..self.form.words()).map(|word| self.word_distance(other, word)).sum()
    }

    /// Return the cost of 64 buckets.
    #[inline]
    fn word_distance(&self, other: &Self, word: usize) -> u16 {
        let high = self.high[word] ^ other.high[word];
        let low = self.low[word] ^ other.low[word];
        // 00 and 10: only the upper bit differs, and the lower one is 0. In 01 and 11 it is 1.
        let opposite = high & !low & !self.low[word];
        (high.count_ones() + low.count_ones() + 5 * opposite.count_ones()) as u16
    }

    /// Return the Hamming distance of the bodies in Gray code, which is at most their distance.
    pub fn hamming(&self, other: &Self) -> u16 {
        let differ =
            |a: &[u64; 4], b: &[u64; 4]| a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones() as u16).sum::<u16>();
        differ(&self.high, &other.high) + differ(&self.low, &other.low)
    }

    /// Return the symbol of a bucket, 0 to 3.
    pub fn symbol(&self, bucket: usize) -> u8 {
        let bit = |plane: &[u64; 4]| (plane[bucket / 64] >> (bucket % 64) & 1) as u8;
        let high = bit(&self.high);
        high << 1 | high ^ bit(&self.low)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::MAX_BYTES;
    use super::*;
    use proptest::prelude::*;

    /// Digests of a form that differ in some bits.
    pub(crate) fn related(form: Form, count: usize) -> impl Strategy<Value = Vec<Digest>> {
        let bytes = prop::collection::vec(any::<u8>(), MAX_BYTES);
        let flips = prop::collection::vec(prop::collection::vec((0..form.bytes(), any::<u8>()), 0..40), 1..count);
        (bytes, flips).prop_map(move |(bytes, flips)| {
            let of = |flips: Vec<(usize, u8)>| {
                let mut bytes = bytes.clone();
                for (at, flip) in flips {
                    bytes[at] ^= flip;
                }
                Digest::from_bytes(form, &bytes[..form.bytes()])
            };
            flips.into_iter().map(of).collect()
        })
    }

    fn by_definition(a: &Digest, b: &Digest, length: bool) -> u16 {
        let ring = |x: u8, y: u8, size: i32| {
            let d = (i32::from(x) - i32::from(y)).rem_euclid(size);
            d.min(size - d)
        };
        let of_length = match ring(a.length, b.length, 256) {
            d @ ..=1 => d,
            d => 12 * d,
        };
        let of_ratios: i32 = (0..2).map(|i| ring(a.ratios[i], b.ratios[i], 16)).map(|d| d.max(12 * (d - 1))).sum();
        let body: i32 = (0..a.form.buckets())
            .map(|bucket| match a.symbol(bucket).abs_diff(b.symbol(bucket)) {
                3 => 6,
                d => i32::from(d),
            })
            .sum();
        let of_length = if length { of_length } else { 0 };
        (of_length + of_ratios + body + i32::from(a.checksum != b.checksum)) as u16
    }

    proptest! {
        #[test]
        fn a_distance_equals_its_definition_and_is_at_least_its_bounds(
            digests in (0..4_usize).prop_flat_map(|form| related(Form::ALL[form], 5)),
            length in any::<bool>(),
        ) {
            for a in &digests {
                for b in &digests {
                    let distance = a.distance(b, length);
                    prop_assert_eq!(by_definition(a, b, length), distance);
                    prop_assert_eq!(distance, b.distance(a, length));
                    prop_assert_eq!(a == b, a.distance(b, true) == 0);
                    prop_assert!(a.hamming(b) <= a.body_distance(b));
                    prop_assert!(a.body_distance(b) <= 6 * a.hamming(b));
                    prop_assert!(a.header_distance(b, length) <= distance && distance <= max_distance(a.form));
                }
            }
        }
    }
}
