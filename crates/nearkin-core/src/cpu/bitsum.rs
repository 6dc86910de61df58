//! Count how often each of 64 bits is set in a stream of hashes, without a counter per bit.
//!
//! The counts are bit-sliced: plane k stores bit k of 64 counters per lane, in eight lanes. Sixteen vectors of eight
//! hashes go through a tree of carry-save adders (Harley–Seal; Muła, Kurz and Lemire 2018, "Faster population counts
//! using AVX2 instructions", section 5, applied by position), so that only one carry in sixteen reaches the upper
//! planes. A majority is also decided on the planes: `count >= t` for all 64 bits at once takes one operation per
//! plane.
//!
//! Cost: two operations per vector of eight hashes, and about 35 per plane at the end. Counters hold up to 2^47 hashes.
//! Tests: `planes_equal_plain_counters`, vector against portable kernel.

#[cfg(target_arch = "x86_64")]
use super::features::Avx512;

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
        self.total += hashes.len() as u64;
        #[cfg(target_arch = "x86_64")]
        if Avx512::detect().is_some() {
            // SAFETY: `detect` has just returned the proof.
            unsafe { self.add_avx512(hashes) };
            return;
        }
        self.add_portable(hashes);
    }

    fn add_portable(&mut self, hashes: &[u64]) {
        let (blocks, rest) = hashes.as_chunks::<BLOCK>();
        for block in blocks {
            let carry = self.fold(block);
            self.carry_up(carry);
        }
        if !rest.is_empty() {
            // Zeros set no bit, so a short block may be filled up with them.
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            let carry = self.fold(&block);
            self.carry_up(carry);
        }
    }

    /// Add a vector of weight 16 to the planes from the fourth on.
    #[inline]
    fn carry_up(&mut self, mut carry: Vector) {
        let mut plane = 4;
        // An OR over the lanes: comparing the arrays would call memcmp.
        while carry.iter().fold(0, |all, lane| all | lane) != 0 {
            debug_assert!(plane < PLANES, "a lane counts to 2^44 - 1");
            for (value, carry) in self.planes[plane].iter_mut().zip(&mut carry) {
                (*value, *carry) = (*value ^ *carry, *value & *carry);
            }
            plane += 1;
        }
        self.used = self.used.max(plane);
    }

    /// Fold sixteen vectors into the planes of weight 1, 2, 4 and 8; return the carries of weight 16.
    fn fold(&mut self, block: &[u64; BLOCK]) -> Vector {
        let vectors: &[Vector] = block.as_chunks::<LANES>().0;
        let [ones, twos, fours, eights, ..] = &mut self.planes;
        let mut eight_carries = [[0; LANES]; 2];
        for (half, eight) in vectors.chunks_exact(8).zip(&mut eight_carries) {
            let mut four_carries = [[0; LANES]; 2];
            for (quarter, four) in half.chunks_exact(4).zip(&mut four_carries) {
                let first = carry_save(ones, &quarter[0], &quarter[1]);
                let second = carry_save(ones, &quarter[2], &quarter[3]);
                *four = carry_save(twos, &first, &second);
            }
            *eight = carry_save(fours, &four_carries[0], &four_carries[1]);
        }
        carry_save(eights, &eight_carries[0], &eight_carries[1])
    }

    /// Add hashes; the planes of weight 1, 2, 4 and 8 are kept in registers over all blocks.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn add_avx512(&mut self, hashes: &[u64]) {
        use std::arch::x86_64::{
            __m512i, _bzhi_u32, _mm512_loadu_si512, _mm512_maskz_loadu_epi64, _mm512_storeu_si512,
            _mm512_ternarylogic_epi64 as ternary,
        };
        #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
        fn carry_save(sum: &mut __m512i, a: __m512i, b: __m512i) -> __m512i {
            let carry = ternary::<0xe8>(*sum, a, b);
            *sum = ternary::<0x96>(*sum, a, b);
            carry
        }
        #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
        fn fold(low: &mut [__m512i; 4], vector: impl Fn(usize) -> __m512i) -> Vector {
            let [ones, twos, fours, eights] = low;
            let mut eight_carries = [*ones; 2];
            for (half, eight) in eight_carries.iter_mut().enumerate() {
                let mut four_carries = [*ones; 2];
                for (quarter, four) in four_carries.iter_mut().enumerate() {
                    let at = 8 * half + 4 * quarter;
                    let first = carry_save(ones, vector(at), vector(at + 1));
                    let second = carry_save(ones, vector(at + 2), vector(at + 3));
                    *four = carry_save(twos, first, second);
                }
                *eight = carry_save(fours, four_carries[0], four_carries[1]);
            }
            let sixteens = carry_save(eights, eight_carries[0], eight_carries[1]);
            let mut carry = [0; LANES];
            // SAFETY: the carry is 64 bytes.
            unsafe { _mm512_storeu_si512(carry.as_mut_ptr().cast(), sixteens) };
            carry
        }
        // SAFETY: a plane is 64 bytes.
        let plane = |i: usize| unsafe { _mm512_loadu_si512(self.planes[i].as_ptr().cast()) };
        let mut low = [plane(0), plane(1), plane(2), plane(3)];
        let (blocks, rest) = hashes.as_chunks::<BLOCK>();
        for block in blocks {
            // SAFETY: vector i < 16 of the block has its 64 bytes inside of it.
            let carry = fold(&mut low, |i| unsafe { _mm512_loadu_si512(block.as_ptr().add(i * LANES).cast()) });
            self.carry_up(carry);
        }
        if !rest.is_empty() {
            let carry = fold(&mut low, |i| {
                // Zeros set no bit, so lanes after the last hash may contain them.
                let present = _bzhi_u32(0xff, rest.len().saturating_sub(i * LANES).min(LANES) as u32) as u8;
                // SAFETY: the mask reads hashes alone.
                unsafe { _mm512_maskz_loadu_epi64(present, rest.as_ptr().wrapping_add(i * LANES).cast()) }
            });
            self.carry_up(carry);
        }
        for (value, plane) in low.into_iter().zip(&mut self.planes) {
            // SAFETY: a plane is 64 bytes.
            unsafe { _mm512_storeu_si512(plane.as_mut_ptr().cast(), value) };
        }
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

/// Add three bits: `sum` becomes their parity; return the carry.
fn carry_save(sum: &mut Vector, a: &Vector, b: &Vector) -> Vector {
    let carry = std::array::from_fn(|i| sum[i] & a[i] | (sum[i] | a[i]) & b[i]);
    *sum = std::array::from_fn(|i| sum[i] ^ a[i] ^ b[i]);
    carry
}

#[cfg(test)]
mod tests {
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
        fn the_vector_kernel_equals_the_portable_one(hashes in prop::collection::vec(any::<u64>(), 0..3 * BLOCK)) {
            let (mut single, mut other) = (BitSum::default(), BitSum::default());
            for _ in 0..40 {
                single.add(&hashes);
                other.add_portable(&hashes);
            }
            prop_assert_eq!(single.counts(), other.counts());
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
