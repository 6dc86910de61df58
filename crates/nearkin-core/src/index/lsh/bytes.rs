//! Sums over the coordinates of two vectors of bytes: squares of differences, and products, as whole numbers.
//!
//! A processor that multiplies pairs of 16-bit numbers and adds both products takes 16 or 32 coordinates in three instructions; a
//! compiler makes a quarter of that of the plain loop. Whole numbers have the same sum in any order.

use super::kernels::Whole;
use crate::cpu::features::Instructions;

/// Products or squares of differences of bytes whose sum is below 2^31.
pub(super) const SUMMED: usize = 1 << 14;

/// Σ (a - b)².
#[inline]
pub(super) fn squares<T: Whole>(instructions: Instructions, a: &[T], b: &[T]) -> i64 {
    sum::<T, false>(instructions, a, b)
}

/// Σ a b.
#[inline]
pub(super) fn products<T: Whole>(instructions: Instructions, a: &[T], b: &[T]) -> i64 {
    sum::<T, true>(instructions, a, b)
}

#[inline]
fn sum<T: Whole, const PRODUCT: bool>(instructions: Instructions, a: &[T], b: &[T]) -> i64 {
    let size = a.len().min(b.len());
    a[..size].chunks(SUMMED).zip(b[..size].chunks(SUMMED)).fold(0, |total, (a, b)| {
        let part = match instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the proof is held, and the parts are as long as each other.
            Instructions::Avx512(_) => unsafe { x86::sum512::<T, PRODUCT>(a, b) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Instructions::Avx2(_) => unsafe { x86::sum256::<T, PRODUCT>(a, b) },
            _ => plain::<T, PRODUCT>(a, b),
        };
        total + i64::from(part)
    })
}

#[inline(always)]
fn plain<T: Whole, const PRODUCT: bool>(a: &[T], b: &[T]) -> i32 {
    a.iter().zip(b).fold(0, |sum, (&a, &b)| sum + if PRODUCT { a.times(b) } else { a.apart(b) * a.apart(b) })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #[allow(clippy::wildcard_imports, reason = "intrinsics by their names")]
    use std::arch::x86_64::*;

    use super::{Whole, plain};

    /// # Safety
    /// The processor has the instructions; both slices are as long, `SUMMED` at most.
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn sum512<T: Whole, const PRODUCT: bool>(a: &[T], b: &[T]) -> i32 {
        const STEP: usize = 32;
        let (a_at, b_at) = (a.as_ptr().cast::<i8>(), b.as_ptr().cast::<i8>());
        let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        let mut at = 0;
        while at + 2 * STEP <= a.len() {
            // SAFETY: two whole steps are left.
            let (a, b, next_a, next_b) = unsafe {
                (
                    _mm256_loadu_si256(a_at.add(at).cast()),
                    _mm256_loadu_si256(b_at.add(at).cast()),
                    _mm256_loadu_si256(a_at.add(at + STEP).cast()),
                    _mm256_loadu_si256(b_at.add(at + STEP).cast()),
                )
            };
            even = _mm512_add_epi32(even, pairs512::<T, PRODUCT>(a, b));
            odd = _mm512_add_epi32(odd, pairs512::<T, PRODUCT>(next_a, next_b));
            at += 2 * STEP;
        }
        while at < a.len() {
            let mask = u32::MAX >> (STEP - (a.len() - at).min(STEP));
            // SAFETY: as many bytes are read as are left.
            let (a, b) =
                unsafe { (_mm256_maskz_loadu_epi8(mask, a_at.add(at)), _mm256_maskz_loadu_epi8(mask, b_at.add(at))) };
            even = _mm512_add_epi32(even, pairs512::<T, PRODUCT>(a, b));
            at += STEP;
        }
        _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd))
    }

    /// Sums of two products or squares of differences each.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn pairs512<T: Whole, const PRODUCT: bool>(a: __m256i, b: __m256i) -> __m512i {
        let (a, b) = if T::SIGNED {
            (_mm512_cvtepi8_epi16(a), _mm512_cvtepi8_epi16(b))
        } else {
            (_mm512_cvtepu8_epi16(a), _mm512_cvtepu8_epi16(b))
        };
        let apart = _mm512_sub_epi16(a, b);
        if PRODUCT { _mm512_madd_epi16(a, b) } else { _mm512_madd_epi16(apart, apart) }
    }

    /// # Safety
    /// The processor has the instructions; both slices are as long, `SUMMED` at most.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) unsafe fn sum256<T: Whole, const PRODUCT: bool>(a: &[T], b: &[T]) -> i32 {
        const STEP: usize = 16;
        let whole = a.len() / STEP * STEP;
        let mut sums = _mm256_setzero_si256();
        for at in (0..whole).step_by(STEP) {
            // SAFETY: a whole step is left.
            let (a, b) =
                unsafe { (_mm_loadu_si128(a.as_ptr().add(at).cast()), _mm_loadu_si128(b.as_ptr().add(at).cast())) };
            let (a, b) = if T::SIGNED {
                (_mm256_cvtepi8_epi16(a), _mm256_cvtepi8_epi16(b))
            } else {
                (_mm256_cvtepu8_epi16(a), _mm256_cvtepu8_epi16(b))
            };
            let apart = _mm256_sub_epi16(a, b);
            let pairs = if PRODUCT { _mm256_madd_epi16(a, b) } else { _mm256_madd_epi16(apart, apart) };
            sums = _mm256_add_epi32(sums, pairs);
        }
        let half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b11_10_11_10>(half));
        let all = _mm_add_epi32(quarter, _mm_shuffle_epi32::<0b01>(quarter));
        _mm_cvtsi128_si32(all) + plain::<T, PRODUCT>(&a[whole..], &b[whole..])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_forms_give_the_exact_sums(a in prop::collection::vec(any::<u8>(), 0..300), b in prop::collection::vec(any::<u8>(), 0..300)) {
            let size = a.len().min(b.len());
            let (a, b) = (&a[..size], &b[..size]);
            let signed = |values: &[u8]| values.iter().map(|&value| value as i8).collect::<Vec<i8>>();
            let (c, d) = (signed(a), signed(b));
            let exact = |step: fn(i64, i64) -> i64, wide: &dyn Fn(usize) -> (i64, i64)| (0..size).map(|i| { let (x, y) = wide(i); step(x, y) }).sum::<i64>();
            let unsigned = |i: usize| (i64::from(a[i]), i64::from(b[i]));
            let with_sign = |i: usize| (i64::from(c[i]), i64::from(d[i]));
            for instructions in Instructions::available() {
                prop_assert_eq!(exact(|x, y| (x - y) * (x - y), &unsigned), squares(instructions, a, b));
                prop_assert_eq!(exact(|x, y| x * y, &unsigned), products(instructions, a, b));
                prop_assert_eq!(exact(|x, y| (x - y) * (x - y), &with_sign), squares(instructions, &c, &d));
                prop_assert_eq!(exact(|x, y| x * y, &with_sign), products(instructions, &c, &d));
            }
        }
    }

    #[test]
    fn long_vectors_of_the_largest_numbers_do_not_overflow() {
        for instructions in Instructions::available() {
            for length in [SUMMED - 1, SUMMED, 65_536] {
                let (none, most) = (vec![0_u8; length], vec![u8::MAX; length]);
                assert_eq!(65025 * length as i64, squares(instructions, &none, &most));
                assert_eq!(65025 * length as i64, products(instructions, &most, &most));
                let (low, high) = (vec![i8::MIN; length], vec![i8::MAX; length]);
                assert_eq!(65025 * length as i64, squares(instructions, &low, &high));
                assert_eq!(-16256 * length as i64, products(instructions, &low, &high));
            }
        }
    }
}
