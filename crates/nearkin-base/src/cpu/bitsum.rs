//! Count how often each of 64 bits is set in a stream of hashes, without a counter per bit.
//!
//! The counts are bit-sliced: plane k stores bit k of 64 counters per lane, in eight lanes. Sixteen vectors of eight
//! hashes go through a tree of carry-save adders (Harley–Seal; Muła, Kurz and Lemire 2018, "Faster population counts
//! using AVX2 instructions", section 5, applied by position), so that only one carry in sixteen reaches the upper
//! planes. A majority is also decided on the planes: `count >= t` for all 64 bits at once takes one operation per
//! plane.
//!
//! Cost: two operations per vector of eight hashes, and about 35 per plane at the end. Counters hold up to 2^47 hashes.
//! Tests: `planes_equal_plain_counters`, every form of the vectors.

use super::simd::{Simd, with_simd};

/// Hashes in one lane vector.
const LANES: usize = 8;
/// Hashes in one block: sixteen vectors.
pub const BLOCK: usize = 16 * LANES;
/// Planes of a counter; a lane counts to 2^44 - 1, eight lanes to 2^47.
const PLANES: usize = 44;

type Vector = [u64; LANES];

/// Counters of 64 bit positions.
#[derive(Clone)]
pub struct BitSum {
    planes: [Vector; PLANES],
    /// Planes that may be non-zero.
    used: usize,
    total: u64,
}

impl Default for BitSum {
    fn default() -> Self {
        Self { planes: [[0; LANES]; PLANES], used: 4, total: 0 }
    }
}

impl BitSum {
    /// Set all counters to 0.
    pub fn clear(&mut self) {
        self.planes[..self.used].fill([0; LANES]);
        self.used = 4;
        self.total = 0;
    }

    /// Number of hashes that were added.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Add each hash once.
    #[inline]
    pub fn add(&mut self, hashes: &[u64]) {
        // SAFETY: the form is compiled for the instructions of `S`.
        with_simd!(S => unsafe { self.add_in_lanes::<S>(hashes) });
    }

    /// As [`BitSum::add`]; the planes of weight 1, 2, 4 and 8 are kept in registers over all blocks.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the caller enables them.
    #[inline(always)]
    unsafe fn add_in_lanes<S: Simd>(&mut self, hashes: &[u64]) {
        self.total += hashes.len() as u64;
        let (blocks, rest) = hashes.as_chunks::<BLOCK>();
        // SAFETY: the caller guarantees the instructions; a plane and a vector of a block are 64 bytes.
        unsafe {
            let [a, b, c, d, ..] = &self.planes;
            let mut low = [
                S::load(a.as_ptr().cast()),
                S::load(b.as_ptr().cast()),
                S::load(c.as_ptr().cast()),
                S::load(d.as_ptr().cast()),
            ];
            for block in blocks {
                let carry = fold::<S>(&mut low, block);
                self.carry_up::<S>(carry);
            }
            if !rest.is_empty() {
                // Zeros set no bit, so a short block may be filled up with them.
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                let carry = fold::<S>(&mut low, &block);
                self.carry_up::<S>(carry);
            }
            for (value, plane) in low.into_iter().zip(&mut self.planes) {
                S::store(plane.as_mut_ptr().cast(), value);
            }
        }
    }

    /// Add a vector of weight 16 to the planes from the fourth on.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the caller enables them.
    #[inline(always)]
    unsafe fn carry_up<S: Simd>(&mut self, mut carry: S::V) {
        let mut plane = 4;
        // SAFETY: as above; a plane is 64 bytes.
        unsafe {
            while !S::is_zero(carry) {
                debug_assert!(plane < PLANES, "a lane counts to 2^44 - 1");
                let place = self.planes[plane].as_mut_ptr().cast();
                let value = S::load(place);
                S::store(place, S::xor(value, carry));
                carry = S::and(value, carry);
                plane += 1;
            }
        }
        self.used = self.used.max(plane);
    }

    /// Call `each(k, plane)` with the planes of the sums over lanes, the lowest first: bit b of plane k is bit k of the
    /// count of bit b. Return the number of planes.
    #[inline]
    fn sums(&self, mut each: impl FnMut(usize, u64)) -> usize {
        let used = self.used + 3;
        // Eight lanes are added to four, these to two, these to one, each with its carries from the plane below.
        let mut carries = [[0_u64; 4]; 3];
        for k in 0..used {
            let mut plane = if k < self.used { self.planes[k] } else { [0; LANES] };
            for (half, carry) in [4, 2, 1].into_iter().zip(&mut carries) {
                for lane in 0..half {
                    let (a, b) = (plane[lane], plane[lane + half]);
                    plane[lane] = a ^ b ^ carry[lane];
                    carry[lane] = a & b | carry[lane] & (a | b);
                }
            }
            each(k, plane[0]);
        }
        used
    }

    /// Return the majority: bit b is 1 if more than half of the hashes have bit b set; a tie is 0.
    pub fn majority(&self) -> u64 {
        let threshold = self.total / 2 + 1;
        let mut at_least = u64::MAX;
        let used = self.sums(|k, plane| {
            at_least = if threshold >> k & 1 == 1 { plane & at_least } else { plane | at_least };
        });
        if threshold >> used == 0 { at_least } else { 0 }
    }

    /// Return the count of each bit.
    pub fn counts(&self) -> [u64; 64] {
        let mut counts = [0; 64];
        self.sums(|k, plane| {
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += (plane >> bit & 1) << k;
            }
        });
        counts
    }
}

/// Fold sixteen vectors into the planes of weight 1, 2, 4 and 8; return the carries of weight 16.
///
/// # Safety
/// The processor has the instructions of `S`, and the caller enables them.
#[inline(always)]
unsafe fn fold<S: Simd>(low: &mut [S::V; 4], block: &[u64; BLOCK]) -> S::V {
    let [ones, twos, fours, eights] = low;
    // SAFETY: as above; vector i < 16 of the block is 64 bytes.
    unsafe {
        let from = block.as_ptr();
        let mut eight_carries = [*ones; 2];
        for (half, eight) in eight_carries.iter_mut().enumerate() {
            let mut four_carries = [*ones; 2];
            for (quarter, four) in four_carries.iter_mut().enumerate() {
                let at = 8 * half + 4 * quarter;
                let first = carry_save::<S>(
                    ones,
                    S::load(from.add(LANES * at).cast()),
                    S::load(from.add(LANES * (at + 1)).cast()),
                );
                let second = carry_save::<S>(
                    ones,
                    S::load(from.add(LANES * (at + 2)).cast()),
                    S::load(from.add(LANES * (at + 3)).cast()),
                );
                *four = carry_save::<S>(twos, first, second);
            }
            *eight = carry_save::<S>(fours, four_carries[0], four_carries[1]);
        }
        carry_save::<S>(eights, eight_carries[0], eight_carries[1])
    }
}

/// Add three bits: `sum` becomes their parity; return the carry.
///
/// # Safety
/// The processor has the instructions of `S`, and the caller enables them.
#[inline(always)]
unsafe fn carry_save<S: Simd>(sum: &mut S::V, a: S::V, b: S::V) -> S::V {
    // SAFETY: as above.
    unsafe {
        let carry = S::majority(*sum, a, b);
        *sum = S::xor3(*sum, a, b);
        carry
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::with_each_simd;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn planes_equal_plain_counters(parts in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..400), 0..6)) {
            let mut sum = BitSum::default();
            sum.add(&[u64::MAX; 77]);
            sum.clear();
            let mut expected = [0_u64; 64];
            for hashes in &parts {
                sum.add(hashes);
                for hash in hashes {
                    for (bit, count) in expected.iter_mut().enumerate() {
                        *count += hash >> bit & 1;
                    }
                }
            }
            let total: usize = parts.iter().map(Vec::len).sum();
            prop_assert_eq!(total as u64, sum.total());
            prop_assert_eq!(expected, sum.counts());
            let majority = (0..64).fold(0, |word, bit| word | u64::from(2 * expected[bit] > total as u64) << bit);
            prop_assert_eq!(majority, sum.majority());
        }

        #[test]
        fn every_form_gives_the_same_counts(hashes in prop::collection::vec(any::<u64>(), 0..3 * BLOCK)) {
            let mut counts = Vec::new();
            with_each_simd!(S => {
                let mut sum = BitSum::default();
                for _ in 0..40 {
                    // SAFETY: the form is compiled for the instructions of `S`.
                    unsafe { sum.add_in_lanes::<S>(&hashes) };
                }
                counts.push(sum.counts());
            });
            prop_assert!(counts.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }

    #[test]
    fn a_tie_is_zero_and_large_counts_hold() {
        let mut sum = BitSum::default();
        assert_eq!(0, sum.majority());
        sum.add(&[0b01, 0b10]);
        assert_eq!(0, sum.majority());
        for _ in 0..2000 {
            sum.add(&[u64::MAX; BLOCK]);
        }
        assert_eq!([256_001; 2], sum.counts()[..2]);
        assert_eq!([256_000; 62], sum.counts()[2..]);
        assert_eq!(u64::MAX, sum.majority());
    }
}
