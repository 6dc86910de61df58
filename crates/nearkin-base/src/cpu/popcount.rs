//! Hamming distance of packed fingerprints: `d(a, b) = sum over words j of popcount(a_j XOR b_j)`.
//!
//! A fingerprint of `bits` bits is `ceil(bits / 64)` words; bit i is bit `i % 64` of word `i // 64`, and bits at or
//! above `bits` are zero, so they never count. Distances are at most 1024 and are stored in `u32`.
//!
//! **Kernels.** The lanes of one vector contain the same word of neighbouring rows. AVX-512 VPOPCNTDQ counts eight
//! 64-bit lanes in one instruction; AVX2 looks up the count of each nibble by `pshufb` and sums bytes by `psadbw` (W.
//! Muła, N. Kurz, D. Lemire, "Faster Population Counts Using AVX2 Instructions", The Computer Journal 61 (2018),
//! section 3); NEON counts bytes by `cnt` and adds neighbours; the scalar form is `u64::count_ones`. [`Kernel::best`]
//! queries the processor at run time, so one portable build is fast everywhere, and every kernel gives the same numbers
//! (`kernels_equal_the_definition`).

use super::features::{Avx2, Avx512Bits, Neon, Popcnt};
use crate::cancel::CancelToken;
use crate::{Error, Result};

/// Widest fingerprint.
pub const MAX_BITS: usize = 1024;

/// Return the number of words that store `bits` bits.
pub const fn words_of(bits: usize) -> usize {
    bits.div_ceil(64)
}

/// Return the bits of the last word that may be set.
pub const fn last_mask(bits: usize) -> u64 {
    if bits.is_multiple_of(64) { u64::MAX } else { (1 << (bits % 64)) - 1 }
}

/// Check that a width is from 1 to 1024.
///
/// # Errors
/// `bits` is 0 or above 1024.
pub fn check_bits(bits: usize) -> Result<()> {
    if (1..=MAX_BITS).contains(&bits) { Ok(()) } else { Err(Error::parameter("bits", bits, "1 to 1024")) }
}

/// Check that no fingerprint has a bit at or above `bits`.
///
/// # Errors
/// The first row with such a bit.
pub fn check_fingerprints(fps: &[u64], bits: usize) -> Result<()> {
    let mask = last_mask(bits);
    if mask == u64::MAX {
        return Ok(());
    }
    let words = words_of(bits);
    match fps.iter().skip(words - 1).step_by(words).position(|&last| last & !mask != 0) {
        None => Ok(()),
        Some(row) => Err(Error::parameter(
            "fingerprints",
            format!("a row ({row}) with a bit at or above bits={bits}"),
            format!("fingerprints below 2**{bits}, or a wider index"),
        )),
    }
}

/// Return the distance of two fingerprints of the same number of words. This is a plain loop, because functions that an
/// iterator calls may be compiled without the instructions of this function's caller.
#[inline(always)]
pub fn distance(a: &[u64], b: &[u64]) -> u32 {
    let mut sum = 0;
    for (x, y) in a.iter().zip(b) {
        sum += (x ^ y).count_ones();
    }
    sum
}

/// Run work, an inlined closure, as compiled for processors that count bits in one instruction, where this is one.
#[inline(always)]
pub fn counting<T>(work: impl FnOnce() -> T) -> T {
    match Popcnt::detect() {
        Some(popcnt) => popcnt.run(work),
        None => work(),
    }
}

/// Return the distance of row i of `a` to row i of `b`; an argument of one row is compared with every row of the other.
///
/// # Panics
/// Unless both sides have full rows and the same number of them, or one row.
pub fn distances(a: &[u64], b: &[u64], words: usize) -> Vec<u16> {
    let (rows_a, rows_b) = (a.len() / words, b.len() / words);
    assert!(rows_a * words == a.len() && rows_b * words == b.len(), "whole rows");
    assert!(rows_a == rows_b || rows_a == 1 || rows_b == 1, "equally many rows, or one");
    let rows = if rows_a == 1 { rows_b } else { rows_a };
    // The step is 0 for a side of one row.
    let (step_a, step_b) = (usize::from(rows_a > 1) * words, usize::from(rows_b > 1) * words);
    let mut out = vec![0; rows];
    let cancel = CancelToken::current();
    for (block, out) in out.chunks_mut(BLOCK).enumerate().take_while(|_| !cancel.is_set()) {
        let (a, b) = (&a[block * BLOCK * step_a..], &b[block * BLOCK * step_b..]);
        counting(
            #[inline(always)]
            || {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = distance(&a[i * step_a..][..words], &b[i * step_b..][..words]) as u16;
                }
            },
        );
    }
    out
}

/// Rows between two cancellation points.
const BLOCK: usize = if cfg!(test) { 7 } else { 1 << 16 };

/// A form of the kernels for one kind of processor, with the proof that this is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// `u64::count_ones`, everywhere.
    Scalar,
    /// x86-64 with AVX2.
    Avx2(Avx2),
    /// x86-64 with the AVX-512 of bits.
    Avx512(Avx512Bits),
    /// 64-bit ARM.
    Neon(Neon),
}

impl Kernel {
    /// Return the kernels that this processor runs, slowest first.
    pub fn available() -> Vec<Self> {
        let out = [
            Some(Self::Scalar),
            Avx2::detect().map(Self::Avx2),
            Avx512Bits::detect().map(Self::Avx512),
            Neon::detect().map(Self::Neon),
        ];
        out.into_iter().flatten().collect()
    }

    /// Return the fastest kernel that this processor runs.
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self::Scalar)
    }

    /// Return the name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2(_) => "avx2",
            Self::Avx512(_) => "avx512",
            Self::Neon(_) => "neon",
        }
    }

    /// Run `work` in the lanes of this kernel.
    #[inline]
    pub fn run<W: LaneWork>(self, work: W) -> W::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(proof) => proof.run(
                #[inline(always)]
                // SAFETY: `run` enables the instructions of the proof.
                || unsafe { work.run::<x86::Avx2Lanes>() },
            ),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => proof.run(
                #[inline(always)]
                // SAFETY: `run` enables the instructions of the proof.
                || unsafe { work.run::<x86::Avx512Lanes>() },
            ),
            #[cfg(target_arch = "aarch64")]
            // SAFETY: the proof; NEON is enabled in every function of this architecture.
            Self::Neon(_) => unsafe { work.run::<arm::NeonLanes>() },
            // Of the others only the scalar form can be proved here.
            // SAFETY: the scalar lanes need no special instructions.
            _ => unsafe { work.run::<ScalarLanes>() },
        }
    }
}

/// A kernel that is written once, for lanes of any width; [`Kernel::run`] chooses them.
pub trait LaneWork {
    /// The result of the kernel.
    type Output;

    /// Run the kernel; implementations must be `#[inline(always)]`.
    ///
    /// # Safety
    /// The processor has the instructions of `L`, and the caller enables them.
    unsafe fn run<L: Lanes>(self) -> Self::Output;
}

/// Vectors of rows that share one branch of a scan.
pub const GROUP: usize = 4;

/// Lanes of 64-bit words, the operations that the scan kernels are written in.
///
/// # Safety
/// Methods may be called only on a processor that has the kernel's instructions, inlined into a function that enables
/// them; `load` reads `N` words.
#[allow(clippy::missing_safety_doc, reason = "the trait states it once")]
pub unsafe trait Lanes {
    /// Lanes in a vector.
    const N: usize;
    /// The vector.
    type V: Copy;
    /// Load `N` words from `from`.
    unsafe fn load(from: *const u64) -> Self::V;
    /// Set every lane to `value`.
    unsafe fn splat(value: u64) -> Self::V;
    /// Count the bits of a XOR b in each 64-bit lane.
    unsafe fn count_xor(a: Self::V, b: Self::V) -> Self::V;
    /// Count the bits of a AND b in each 64-bit lane.
    unsafe fn count_and(a: Self::V, b: Self::V) -> Self::V;
    /// Multiply lanes below 2^32.
    unsafe fn multiply(a: Self::V, b: Self::V) -> Self::V;
    /// Add lanes.
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    /// Compare: bit i is set if lane i of `a` is at most lane i of `b`; lanes are below 2^31.
    unsafe fn at_most(a: Self::V, b: Self::V) -> u32;
    /// Return the minimum of each half lane, of lanes or half lanes below 2^31.
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V;
    /// Fold: each lane becomes the sum over its aligned neighbourhood of `width` lanes; `width` is 1, 2, 4 or 8, at
    /// most `N`.
    unsafe fn fold(v: Self::V, width: usize) -> Self::V;

    /// Return the minimum of each half lane of vectors, as `min` does.
    #[inline(always)]
    unsafe fn min_of(v: [Self::V; GROUP]) -> Self::V {
        // SAFETY: as for the trait.
        unsafe { Self::min(Self::min(v[0], v[1]), Self::min(v[2], v[3])) }
    }

    /// Compare vectors of rows of `width` lanes with a query that is repeated in one: the smallest of the lanes of the
    /// result is the smallest distance. `width` as for `fold`.
    #[inline(always)]
    unsafe fn least(rows: [Self::V; GROUP], query: Self::V, width: usize) -> Self::V {
        let mut sums = rows;
        for sum in &mut sums {
            // SAFETY: as for the trait.
            *sum = unsafe { Self::fold(Self::count_xor(*sum, query), width) };
        }
        // SAFETY: as for the trait.
        unsafe { Self::min_of(sums) }
    }
}

/// Implement [`Lanes`], one expression per method.
macro_rules! lanes {
    ($lanes:ident, $n:literal, $vector:ty; $(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty { $body:expr })+) => {
        // SAFETY: each method uses the instructions of these lanes alone.
        unsafe impl Lanes for $lanes {
            const N: usize = $n;
            type V = $vector;
            $(
                #[inline(always)]
                #[allow(unused_unsafe, reason = "scalar operations are safe")]
                unsafe fn $name($($arg: $type),*) -> $result {
                    // SAFETY: the caller of the trait's method has the instructions and the readable words.
                    unsafe { $body }
                }
            )+
        }
    };
}

/// One lane, for any processor.
pub(crate) struct ScalarLanes;

lanes! { ScalarLanes, 1, u64;
    fn load(from: *const u64) -> u64 { from.read() }
    fn splat(value: u64) -> u64 { value }
    fn count_xor(a: u64, b: u64) -> u64 { u64::from((a ^ b).count_ones()) }
    fn count_and(a: u64, b: u64) -> u64 { u64::from((a & b).count_ones()) }
    fn multiply(a: u64, b: u64) -> u64 { a * b }
    fn add(a: u64, b: u64) -> u64 { a + b }
    fn at_most(a: u64, b: u64) -> u32 { u32::from(a <= b) }
    fn min(a: u64, b: u64) -> u64 { u64::from((a as u32).min(b as u32)) | (a >> 32).min(b >> 32) << 32 }
    fn fold(v: u64, _width: usize) -> u64 { v }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    //! The x86-64 lanes.
    #![allow(clippy::wildcard_imports, reason = "intrinsics are named by prefix")]
    use super::{GROUP, Lanes};
    use std::arch::x86_64::*;

    /// Eight lanes; needs [`Avx512Bits`](crate::cpu::features::Avx512Bits).
    pub(crate) struct Avx512Lanes;

    lanes! { Avx512Lanes, 8, __m512i;
        fn load(from: *const u64) -> __m512i { _mm512_loadu_si512(from.cast()) }
        fn splat(value: u64) -> __m512i { _mm512_set1_epi64(value as i64) }
        fn count_xor(a: __m512i, b: __m512i) -> __m512i { _mm512_popcnt_epi64(_mm512_xor_si512(a, b)) }
        fn count_and(a: __m512i, b: __m512i) -> __m512i { _mm512_popcnt_epi64(_mm512_and_si512(a, b)) }
        fn multiply(a: __m512i, b: __m512i) -> __m512i { _mm512_mul_epu32(a, b) }
        fn add(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi64(a, b) }
        fn at_most(a: __m512i, b: __m512i) -> u32 { u32::from(_mm512_cmple_epu64_mask(a, b)) }
        fn min(a: __m512i, b: __m512i) -> __m512i { _mm512_min_epi32(a, b) }
        // Neighbours at distance 1, 2 and 4 are added in turn.
        fn fold(v: __m512i, width: usize) -> __m512i {{
            let mut v = v;
            if width > 1 {
                v = _mm512_add_epi64(v, _mm512_permutex_epi64::<0b10_11_00_01>(v));
            }
            if width > 2 {
                v = _mm512_add_epi64(v, _mm512_permutex_epi64::<0b01_00_11_10>(v));
            }
            if width > 4 {
                v = _mm512_add_epi64(v, _mm512_shuffle_i64x2::<0b01_00_11_10>(v, v));
            }
            v
        }}
    }

    /// Four lanes; needs AVX2.
    pub(crate) struct Avx2Lanes;

    /// Sum the bytes of each lane.
    macro_rules! sum_bytes {
        ($v:expr) => {
            _mm256_sad_epu8($v, _mm256_setzero_si256())
        };
    }

    /// Add the bytes of neighbouring lanes of two vectors.
    macro_rules! halves {
        ($a:expr, $b:expr) => {
            _mm256_add_epi8(_mm256_unpacklo_epi64($a, $b), _mm256_unpackhi_epi64($a, $b))
        };
    }

    impl Avx2Lanes {
        /// Count the set bits of each byte of `a XOR b`: two table look-ups of nibbles.
        #[inline(always)]
        unsafe fn count_bytes(a: __m256i, b: __m256i) -> __m256i {
            // SAFETY: the caller has AVX2.
            unsafe {
                let table = _mm256_setr_epi8(
                    0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
                );
                let low = _mm256_set1_epi8(0x0f);
                let x = _mm256_xor_si256(a, b);
                let lower = _mm256_shuffle_epi8(table, _mm256_and_si256(x, low));
                let upper = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(x), low));
                _mm256_add_epi8(lower, upper)
            }
        }
    }

    lanes! { Avx2Lanes, 4, __m256i;
        fn load(from: *const u64) -> __m256i { _mm256_loadu_si256(from.cast()) }
        fn splat(value: u64) -> __m256i { _mm256_set1_epi64x(value as i64) }
        fn count_xor(a: __m256i, b: __m256i) -> __m256i {
            sum_bytes!(Self::count_bytes(a, b))
        }
        fn count_and(a: __m256i, b: __m256i) -> __m256i {
            Self::count_xor(_mm256_and_si256(a, b), _mm256_setzero_si256())
        }
        fn multiply(a: __m256i, b: __m256i) -> __m256i { _mm256_mul_epu32(a, b) }
        fn add(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi64(a, b) }
        fn at_most(a: __m256i, b: __m256i) -> u32 {
            !(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(a, b))) as u32) & 0xf
        }
        fn min(a: __m256i, b: __m256i) -> __m256i { _mm256_min_epi32(a, b) }
        // Neighbours at distance 1 and 2 are added in turn.
        fn fold(v: __m256i, width: usize) -> __m256i {{
            let mut v = v;
            if width > 1 {
                v = _mm256_add_epi64(v, _mm256_permute4x64_epi64::<0b10_11_00_01>(v));
            }
            if width > 2 {
                v = _mm256_add_epi64(v, _mm256_permute4x64_epi64::<0b01_00_11_10>(v));
            }
            v
        }}
        // Counts of bytes are added across the lanes of a row before they are summed: at most 8 for each of four lanes.
        fn least(rows: [__m256i; GROUP], query: __m256i, width: usize) -> __m256i {{
            let mut counts = rows;
            for count in &mut counts {
                *count = Self::count_bytes(*count, query);
            }
            let [a, b, c, d] = counts;
            let (ab, cd) = match width {
                1 => (_mm256_min_epi32(sum_bytes!(a), sum_bytes!(b)), _mm256_min_epi32(sum_bytes!(c), sum_bytes!(d))),
                2 => (sum_bytes!(halves!(a, b)), sum_bytes!(halves!(c, d))),
                _ => {
                    let (ab, cd) = (halves!(a, b), halves!(c, d));
                    let (low, high) = (_mm256_permute2x128_si256::<0x20>(ab, cd), _mm256_permute2x128_si256::<0x31>(ab, cd));
                    return sum_bytes!(_mm256_add_epi8(low, high));
                }
            };
            _mm256_min_epi32(ab, cd)
        }}
    }
}

#[cfg(target_arch = "aarch64")]
pub(crate) mod arm {
    //! The ARM lanes.
    #![allow(clippy::wildcard_imports, reason = "intrinsics are named by prefix")]
    use super::Lanes;
    use std::arch::aarch64::*;

    /// Two lanes; NEON is part of every 64-bit ARM.
    pub(crate) struct NeonLanes;

    lanes! { NeonLanes, 2, uint64x2_t;
        fn load(from: *const u64) -> uint64x2_t { vld1q_u64(from) }
        fn splat(value: u64) -> uint64x2_t { vdupq_n_u64(value) }
        fn count_xor(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
            vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(veorq_u64(a, b))))))
        }
        fn count_and(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t { Self::count_xor(vandq_u64(a, b), vdupq_n_u64(0)) }
        fn multiply(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t { vmull_u32(vmovn_u64(a), vmovn_u64(b)) }
        fn add(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t { vaddq_u64(a, b) }
        fn at_most(a: uint64x2_t, b: uint64x2_t) -> u32 {{
            let m = vcleq_u64(a, b);
            (vgetq_lane_u64::<0>(m) & 1 | vgetq_lane_u64::<1>(m) & 2) as u32
        }}
        fn min(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
            vreinterpretq_u64_u32(vminq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)))
        }
        fn fold(v: uint64x2_t, width: usize) -> uint64x2_t {
            if width > 1 { vaddq_u64(v, vextq_u64::<1>(v, v)) } else { v }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Return the words in the lanes of a vector.
    fn words<L: Lanes>(v: L::V) -> Vec<u64> {
        assert_eq!(8 * L::N, size_of::<L::V>());
        // SAFETY: a vector is `N` words, and every bit pattern is a word.
        unsafe { std::slice::from_raw_parts((&raw const v).cast::<u64>(), L::N).to_vec() }
    }

    fn halves(word: u64) -> [u32; 2] {
        [word as u32, (word >> 32) as u32]
    }

    /// Checks every operation of lanes against its description in the trait, on eight pairs of words.
    struct EachOperation<'a> {
        a: &'a [u64; 8],
        b: &'a [u64; 8],
        value: u64,
    }

    impl EachOperation<'_> {
        fn operands<L: Lanes>(&self) -> impl Iterator<Item = (&[u64], &[u64])> {
            self.a.chunks_exact(L::N).zip(self.b.chunks_exact(L::N))
        }

        fn each<L: Lanes>(&self, lanes: impl Fn(L::V, L::V) -> L::V, plain: impl Fn(u64, u64) -> u64, name: &str) {
            for (a, b) in self.operands::<L>() {
                let expected: Vec<u64> = a.iter().zip(b).map(|(&a, &b)| plain(a, b)).collect();
                // SAFETY: the caller guarantees the instructions of `L`; both sides hold `N` words.
                let out = unsafe { lanes(L::load(a.as_ptr()), L::load(b.as_ptr())) };
                assert_eq!(expected, words::<L>(out), "{name}");
            }
        }

        /// Check masks of comparisons; the operands are cut to the range that the trait requires.
        fn masks<L: Lanes>(&self) {
            for (a, b) in self.operands::<L>() {
                let below = |word: &u64| word & 0x7fff_ffff;
                let (x, y): (Vec<u64>, Vec<u64>) = (a.iter().map(below).collect(), b.iter().map(below).collect());
                let expected = (0..L::N).fold(0, |mask, lane| mask | u32::from(x[lane] <= y[lane]) << lane);
                // SAFETY: as above.
                assert_eq!(expected, unsafe { L::at_most(L::load(x.as_ptr()), L::load(y.as_ptr())) });
                let below = |word: &u64| word & 0x7fff_ffff_7fff_ffff;
                let (x, y): (Vec<u64>, Vec<u64>) = (a.iter().map(below).collect(), b.iter().map(below).collect());
                let (x32, y32): (Vec<u32>, Vec<u32>) =
                    (x.iter().flat_map(|&x| halves(x)).collect(), y.iter().flat_map(|&y| halves(y)).collect());
                // SAFETY: as above.
                let minimum = unsafe { L::min(L::load(x.as_ptr()), L::load(y.as_ptr())) };
                let smaller: Vec<u32> = x32.iter().zip(&y32).map(|(x, y)| *x.min(y)).collect();
                assert_eq!(smaller, words::<L>(minimum).into_iter().flat_map(halves).collect::<Vec<_>>());
            }
        }

        fn folds<L: Lanes>(&self) {
            for width in [1, 2, 4, 8].into_iter().filter(|&width| width <= L::N) {
                for (a, _) in self.operands::<L>() {
                    // Sums of counts are small; sums of any words wrap like them.
                    let sums =
                        a.chunks(width).map(|part| part.iter().fold(0, |sum: u64, &word| sum.wrapping_add(word)));
                    let expected: Vec<u64> = sums.flat_map(|sum| std::iter::repeat_n(sum, width)).collect();
                    // SAFETY: as above.
                    assert_eq!(expected, words::<L>(unsafe { L::fold(L::load(a.as_ptr()), width) }), "{width}");
                }
            }
        }
    }

    impl LaneWork for EachOperation<'_> {
        type Output = ();

        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            let ones = |word: u64| u64::from(word.count_ones());
            let low = |word: u64| word & 0xffff_ffff;
            // SAFETY: the caller guarantees the instructions of `L`.
            unsafe {
                self.each::<L>(|a, b| L::count_xor(a, b), |a, b| ones(a ^ b), "count_xor");
                self.each::<L>(|a, b| L::count_and(a, b), |a, b| ones(a & b), "count_and");
                self.each::<L>(|_, _| L::splat(self.value), |_, _| self.value, "splat");
                let small = EachOperation { a: &self.a.map(low), b: &self.b.map(low), value: 0 };
                small.each::<L>(|a, b| L::multiply(a, b), |a, b| a * b, "multiply");
                small.each::<L>(|a, b| L::add(a, b), |a, b| a + b, "add");
                small.folds::<L>();
                for width in [1, 2, 4, 8].into_iter().filter(|&width| width <= L::N) {
                    let rows: Vec<u64> = self.a.iter().chain(self.b).copied().cycle().take(GROUP * L::N).collect();
                    let query: Vec<u64> = self.b[..width].iter().copied().cycle().take(L::N).collect();
                    let mut vectors = [L::splat(0); GROUP];
                    for (vector, row) in vectors.iter_mut().zip(rows.chunks_exact(L::N)) {
                        *vector = L::load(row.as_ptr());
                    }
                    let least = words::<L>(L::least(vectors, L::load(query.as_ptr()), width));
                    let expected = rows.chunks_exact(width).map(|row| distance(row, &query[..width])).min();
                    assert_eq!(expected.map(u64::from), least.into_iter().min(), "{width}");
                }
            }
            self.masks::<L>();
        }
    }

    proptest! {
        #[test]
        fn every_operation_of_every_kernel_is_its_definition(a: [u64; 8], b: [u64; 8], equal in 0_usize..9, value: u64) {
            let mut b = b;
            // Equal lanes are the boundary of comparisons.
            b[..equal.min(8)].copy_from_slice(&a[..equal.min(8)]);
            for kernel in Kernel::available() {
                kernel.run(EachOperation { a: &a, b: &b, value });
            }
        }

        #[test]
        fn distances_are_bits_that_differ(words in 1_usize..17, seed: u64, rows in 0_usize..9, one_left: bool, one_right: bool) {
            let random = |side: u64, at: usize| (seed ^ side).wrapping_mul(2 * at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let left: Vec<u64> = (0..words * if one_left { 1 } else { rows }).map(|at| random(1, at)).collect();
            let right: Vec<u64> = (0..words * if one_right { 1 } else { rows }).map(|at| random(2, at)).collect();
            let bit = |row: &[u64], bit: usize| row[bit / 64] >> (bit % 64) & 1;
            let count = if one_left && one_right { 1 } else { rows };
            let expected: Vec<u16> = (0..count)
                .map(|row| {
                    let x = &left[if one_left { 0 } else { row * words }..][..words];
                    let y = &right[if one_right { 0 } else { row * words }..][..words];
                    (0..64 * words).map(|at| u16::from(bit(x, at) != bit(y, at))).sum()
                })
                .collect();
            prop_assert_eq!(expected, distances(&left, &right, words));
        }
    }

    #[test]
    fn a_row_is_compared_with_all_rows() {
        assert_eq!(vec![0, 1, 64], distances(&[0], &[0, 4, u64::MAX], 1));
        assert_eq!(vec![3, 66], distances(&[7, 0, 7, u64::MAX], &[0, 0, 4, 0], 2));
    }

    #[test]
    fn bits_above_the_width_are_refused() {
        assert!(check_fingerprints(&[7, 3], 3).is_ok());
        let error = check_fingerprints(&[7, 8], 3).map_err(|error| error.to_string());
        assert!(error.is_err_and(|message| message.contains("a row (1)")));
        assert!(check_fingerprints(&[u64::MAX, 1, 0, 2], 65).is_err());
        assert!(check_bits(0).is_err() && check_bits(1025).is_err() && check_bits(1024).is_ok());
    }
}
