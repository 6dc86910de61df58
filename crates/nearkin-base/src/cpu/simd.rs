//! Vectors of 64 bytes, so that a kernel is written once and compiled for each instruction set.
//!
//! A [`Simd`] type is a set of instructions; its [`Simd::V`] is 64 bytes in as many registers as the set needs: one with
//! AVX-512, two with AVX2, four with NEON, an array without any. A kernel is an `#[inline(always)]` function generic over
//! `S: Simd`, and [`with_simd!`](crate::cpu::simd::with_simd) compiles it for every set and calls the form of the fastest
//! that the processor has:
//!
//! | set | type | lanes come from |
//! |---|---|---|
//! | [`Avx512Bits`](super::features::Avx512Bits) | [`Avx512`] | masks, compression and byte tables in hardware |
//! | [`Avx2`](super::features::Avx2) | [`Avx2`] | `pshufb`, `movemask`, a table of 256 permutations for compression |
//! | [`Neon`](super::features::Neon) | [`Neon`] | `tbl`, bits gathered by pairwise additions |
//! | any | [`Scalar`] | loops |
//!
//! All give the same bits; `operations_equal_their_definition` compares every operation of every set with its
//! definition. Sources: W. Muła, D. Lemire, "Faster Base64 Encoding and Decoding Using AVX2 Instructions" (2018), on
//! tables by `pshufb`; G. Langdale, D. Lemire, "Parsing Gigabytes of JSON per Second" (2019), section 3, on compression
//! by a table.

/// Bytes of a vector.
pub const BYTES: usize = 64;

/// Up to eight classes of ASCII characters, one bit each: a character is in the classes that the entries of its lower
/// and of its upper half share.
pub struct Classes {
    low: [u8; 16],
    high: [u8; 16],
    /// The classes of each character.
    pub of: [u8; 128],
}

impl Classes {
    /// Build the tables; class i consists of the characters whose upper half is one of the first bits of entry i, and
    /// whose lower half is one of the second.
    pub const fn new(classes: [(u16, u16); 8]) -> Self {
        let (mut low, mut high, mut of) = ([0; 16], [0; 16], [0; 128]);
        let mut half = 0;
        while half < 16 {
            let mut class = 0;
            while class < 8 {
                low[half] |= ((classes[class].1 >> half & 1) as u8) << class;
                high[half] |= ((classes[class].0 >> half & 1) as u8) << class;
                class += 1;
            }
            half += 1;
        }
        let mut byte = 0;
        while byte < 128 {
            of[byte] = low[byte & 15] & high[byte >> 4];
            byte += 1;
        }
        Self { low, high, of }
    }
}

/// Operations on vectors of 64 bytes, seen as lanes of 8, 16, 32 or 64 bits. Masks have bit i for lane i.
///
/// # Safety
/// Methods may be called only on a processor that has the instructions of the set, inlined into a function that enables
/// them. Pointers must be valid for what a method says it reads or writes.
#[allow(clippy::missing_safety_doc, reason = "the trait states it once")]
pub unsafe trait Simd {
    /// The vector.
    type V: Copy;

    /// Load 64 bytes.
    unsafe fn load(from: *const u8) -> Self::V;
    /// Store 64 bytes.
    unsafe fn store(to: *mut u8, v: Self::V);
    /// Load the first `count` bytes, at most 64; the others are 0.
    #[inline(always)]
    unsafe fn load_first(from: *const u8, count: usize) -> Self::V {
        let mut bytes = [0; BYTES];
        // SAFETY: the caller guarantees `count` readable bytes, and the array has 64.
        unsafe {
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), count);
            Self::load(bytes.as_ptr())
        }
    }
    /// Set every 16-bit lane.
    unsafe fn splat16(value: u16) -> Self::V;
    /// Set every 32-bit lane.
    unsafe fn splat32(value: u32) -> Self::V;
    /// Set every 64-bit lane.
    unsafe fn splat64(value: u64) -> Self::V;
    /// a XOR b.
    unsafe fn xor(a: Self::V, b: Self::V) -> Self::V;
    /// a AND b.
    unsafe fn and(a: Self::V, b: Self::V) -> Self::V;
    /// a OR b.
    unsafe fn or(a: Self::V, b: Self::V) -> Self::V;
    /// a XOR b XOR c.
    #[inline(always)]
    unsafe fn xor3(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // SAFETY: as for the trait.
        unsafe { Self::xor(Self::xor(a, b), c) }
    }
    /// The bits that at least two of a, b, c have.
    #[inline(always)]
    unsafe fn majority(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // SAFETY: as for the trait.
        unsafe { Self::or(Self::and(a, b), Self::and(c, Self::xor(a, b))) }
    }
    /// True if no bit is set.
    unsafe fn is_zero(v: Self::V) -> bool;

    /// The top bit of each byte.
    unsafe fn top_bits(v: Self::V) -> u64;
    /// Bit `BIT` of each byte.
    unsafe fn bits<const BIT: i32>(v: Self::V) -> u64;
    /// The lowest `WORDS` bits of each byte: bit i of all bytes in word i.
    #[inline(always)]
    unsafe fn low_bits<const WORDS: usize>(v: Self::V) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        for (bit, word) in words.iter_mut().enumerate() {
            // SAFETY: as for the trait.
            *word = unsafe { Self::any_of(v, 1 << bit) };
        }
        words
    }
    /// The entry of each byte below 128; for others any byte.
    unsafe fn lookup128(table: &[u8; 128], v: Self::V) -> Self::V;
    /// The classes of each byte below 128; for others any byte.
    unsafe fn classes(classes: &Classes, v: Self::V) -> Self::V;
    /// The bytes that have one of the bits of `bits`.
    unsafe fn any_of(v: Self::V, bits: u8) -> u64;
    /// The bytes whose bit in `mask` is set become `byte`.
    unsafe fn fill(v: Self::V, mask: u64, byte: u8) -> Self::V;
    /// Write the bytes whose bit in `mask` is set one after another; up to 64 bytes are written.
    unsafe fn compress(to: *mut u8, v: Self::V, mask: u64);
    /// Write, for each bit of `bits`, `base` plus the number of bits of `among` below it, in order; return their number.
    /// `bits` is a part of `among`; up to 15 more numbers are written.
    #[inline(always)]
    unsafe fn ranks(to: *mut u32, bits: u64, among: u64, base: u32) -> usize {
        let (mut rest, mut count) = (bits, 0);
        while rest != 0 {
            let below = (rest & rest.wrapping_neg()) - 1;
            // SAFETY: the caller guarantees room for each bit.
            unsafe { to.add(count).write(base + (among & below).count_ones()) };
            count += 1;
            rest &= rest - 1;
        }
        count
    }

    /// Count the set bits of each 16-bit lane.
    unsafe fn popcount16(v: Self::V) -> Self::V;
    /// Add 16-bit lanes.
    unsafe fn add16(a: Self::V, b: Self::V) -> Self::V;
    /// The smaller of unsigned 16-bit lanes.
    unsafe fn min16(a: Self::V, b: Self::V) -> Self::V;
    /// The unsigned 16-bit lanes in which a is at most b.
    unsafe fn at_most16(a: Self::V, b: Self::V) -> u32;
    /// All bits of the 16-bit lanes in which a is b.
    unsafe fn equal16(a: Self::V, b: Self::V) -> Self::V;
    /// Multiply 16-bit lanes modulo 2^16.
    unsafe fn mul16(a: Self::V, b: Self::V) -> Self::V;
    /// For each 16-bit lane, `LOW` times its lower byte plus `HIGH` times its upper byte; both factors are below 64.
    unsafe fn weighted16<const LOW: i32, const HIGH: i32>(v: Self::V) -> Self::V;
    /// Shift 16-bit lanes to the left.
    unsafe fn left16<const BITS: i32>(v: Self::V) -> Self::V;
    /// Shift 16-bit lanes to the right.
    unsafe fn right16<const BITS: i32>(v: Self::V) -> Self::V;

    /// The 16 windows of four bytes that begin at consecutive bytes; 64 bytes must be readable.
    unsafe fn windows32(from: *const u8) -> Self::V;
    /// Multiply 32-bit lanes modulo 2^32.
    unsafe fn mul32(a: Self::V, b: Self::V) -> Self::V;
    /// The unsigned 32-bit lanes in which a is below b.
    unsafe fn below32(a: Self::V, b: Self::V) -> u16;
    /// The 32-bit lanes in which a is b.
    unsafe fn equal32(a: Self::V, b: Self::V) -> u16;
    /// Write the 32-bit lanes whose bit in `mask` is set one after another; up to 16 are written.
    unsafe fn compress32(to: *mut u32, v: Self::V, mask: u16);

    /// True if multiplying 64-bit lanes is faster than multiplying words one by one.
    const MULTIPLIES: bool;
    /// The eight windows of `n` bytes, 4 to 8, that begin at consecutive bytes: the last four bytes of each plus 2^32
    /// times its first four; 64 bytes must be readable.
    unsafe fn windows64(from: *const u8, n: usize) -> Self::V;
    /// Add 64-bit lanes.
    unsafe fn add64(a: Self::V, b: Self::V) -> Self::V;
    /// Multiply 64-bit lanes modulo 2^64.
    unsafe fn mul64(a: Self::V, b: Self::V) -> Self::V;
    /// Shift 64-bit lanes to the right.
    unsafe fn right64<const BITS: i32>(v: Self::V) -> Self::V;
    /// Rotate 64-bit lanes to the left; `REST` is 64 - `BITS`.
    unsafe fn rotate64<const BITS: i32, const REST: i32>(v: Self::V) -> Self::V;
}

/// Compile an expression for every instruction set, with `$S` as its [`Simd`] type, and evaluate the form of the fastest
/// set that the processor has. Functions in it must be `#[inline(always)]`, and must not call methods of `$S` in closures,
/// which would be compiled without the instructions.
#[macro_export]
macro_rules! with_simd {
    ($S:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        let result = if let Some(proof) = $crate::cpu::features::Avx512Bits::detect() {
            proof.run(
                #[inline(always)]
                || {
                    type $S = $crate::cpu::simd::Avx512;
                    $body
                },
            )
        } else if let Some(proof) = $crate::cpu::features::Avx2::detect() {
            proof.run(
                #[inline(always)]
                || {
                    type $S = $crate::cpu::simd::Avx2;
                    $body
                },
            )
        } else {
            $crate::cpu::simd::without_avx2!($S => $body)
        };
        #[cfg(target_arch = "aarch64")]
        let result = if $crate::cpu::features::Neon::detect().is_some() {
            type $S = $crate::cpu::simd::Neon;
            $body
        } else {
            type $S = $crate::cpu::simd::Scalar;
            $body
        };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let result = {
            type $S = $crate::cpu::simd::Scalar;
            $body
        };
        result
    }};
}
pub use with_simd;

/// Evaluate the scalar form, which is not compiled where every processor of the target has AVX2.
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx2")))]
#[macro_export]
macro_rules! without_avx2 {
    ($S:ident => $body:expr) => {{
        type $S = $crate::cpu::simd::Scalar;
        $body
    }};
}
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[macro_export]
macro_rules! without_avx2 {
    ($S:ident => $body:expr) => {
        unreachable!("the processor has the instructions that the crate was compiled for")
    };
}
#[cfg(target_arch = "x86_64")]
pub use without_avx2;

/// Evaluate an expression in the form of every instruction set that this processor has, for tests.
#[cfg(any(test, feature = "testing"))]
#[macro_export]
macro_rules! with_each_simd {
    ($S:ident => $body:expr) => {{
        {
            type $S = $crate::cpu::simd::Scalar;
            $body;
        }
        #[cfg(target_arch = "x86_64")]
        $crate::cpu::simd::with_each_simd!($S => $body, Avx2: Avx2, Avx512: Avx512Bits);
        #[cfg(target_arch = "aarch64")]
        {
            type $S = $crate::cpu::simd::Neon;
            $body;
        }
    }};
    ($S:ident => $body:expr, $($set:ident: $proof:ident),+) => {
        $(if let Some(proof) = $crate::cpu::features::$proof::detect() {
            proof.run(|| {
                type $S = $crate::cpu::simd::$set;
                $body;
            });
        })+
    };
}
#[cfg(any(test, feature = "testing"))]
pub use with_each_simd;

/// The positions of the set bits of each byte, in order, followed by zeros.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code, reason = "vectors use it"))]
const SET_BITS: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut count, mut bit) = (0, 0);
        while bit < 8 {
            if mask >> bit & 1 == 1 {
                table[mask][count] = bit as u8;
                count += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    table
};

/// The bytes that each of eight windows of `n` bytes takes: table `n - 4`, byte 8 w + j of window w.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code, reason = "vectors use it"))]
const WINDOWS: [[u8; 64]; 5] = {
    let mut tables = [[0; 64]; 5];
    let mut extra = 0;
    while extra < 5 {
        let mut at = 0;
        while at < 64 {
            let (window, j) = (at / 8, at % 8);
            tables[extra][at] = (if j < 4 { window + extra + j } else { window + j - 4 }) as u8;
            at += 1;
        }
        extra += 1;
    }
    tables
};

/// Implement [`Simd`], one expression per method.
macro_rules! simd {
    ($set:ident, $vector:ty, multiplies: $multiplies:literal $(, low_bits: $low_bits:ident)?;
        $(fn $name:ident$(<const $N:ident: i32 $(, const $M:ident: i32)?>)?($($arg:ident: $type:ty),*) $(-> $result:ty)? { $body:expr })+) => {
        // SAFETY: each method uses the instructions of the set alone.
        unsafe impl Simd for $set {
            type V = $vector;
            const MULTIPLIES: bool = $multiplies;
            $(
                #[inline(always)]
                unsafe fn low_bits<const WORDS: usize>(v: $vector) -> [u64; WORDS] {
                    // SAFETY: the caller guarantees the instructions.
                    unsafe { Self::$low_bits(v) }
                }
            )?
            $(
                #[inline(always)]
                #[allow(unused_unsafe, reason = "scalar operations are safe")]
                unsafe fn $name$(<const $N: i32 $(, const $M: i32)?>)?($($arg: $type),*) $(-> $result)? {
                    // SAFETY: the caller guarantees the instructions and the bytes that pointers reach.
                    unsafe { $body }
                }
            )+
        }
    };
}

/// Loops, for any processor.
pub struct Scalar;

/// Lanes of 16, 32 or 64 bits of an array of bytes.
macro_rules! lanes_of_bytes {
    ($name:ident, $lane:ty, $count:literal) => {
        impl Scalar {
            #[inline(always)]
            fn $name(a: [u8; BYTES], b: [u8; BYTES], lane: impl Fn($lane, $lane) -> $lane) -> [u8; BYTES] {
                const SIZE: usize = size_of::<$lane>();
                let mut out = [0; BYTES];
                for ((out, a), b) in
                    out.as_chunks_mut::<SIZE>().0.iter_mut().zip(a.as_chunks::<SIZE>().0).zip(b.as_chunks::<SIZE>().0)
                {
                    *out = lane(<$lane>::from_le_bytes(*a), <$lane>::from_le_bytes(*b)).to_le_bytes();
                }
                out
            }
        }
    };
}
lanes_of_bytes!(each16, u16, 32);
lanes_of_bytes!(each32, u32, 16);
lanes_of_bytes!(each64, u64, 8);

impl Scalar {
    /// The mask of the lanes of `SIZE` bytes that are not zero.
    #[inline(always)]
    fn nonzero<const SIZE: usize>(v: [u8; BYTES]) -> u64 {
        v.as_chunks::<SIZE>().0.iter().rev().fold(0, |mask, lane| mask << 1 | u64::from(lane.iter().any(|&b| b != 0)))
    }
}

simd! { Scalar, [u8; BYTES], multiplies: false;
    fn load(from: *const u8) -> [u8; BYTES] { from.cast::<[u8; BYTES]>().read_unaligned() }
    fn store(to: *mut u8, v: [u8; BYTES]) { to.cast::<[u8; BYTES]>().write_unaligned(v) }
    fn splat16(value: u16) -> [u8; BYTES] { Self::each16([0; BYTES], [0; BYTES], |_, _| value) }
    fn splat32(value: u32) -> [u8; BYTES] { Self::each32([0; BYTES], [0; BYTES], |_, _| value) }
    fn splat64(value: u64) -> [u8; BYTES] { Self::each64([0; BYTES], [0; BYTES], |_, _| value) }
    fn xor(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each64(a, b, |a, b| a ^ b) }
    fn and(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each64(a, b, |a, b| a & b) }
    fn or(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each64(a, b, |a, b| a | b) }
    fn is_zero(v: [u8; BYTES]) -> bool { v == [0; BYTES] }
    fn top_bits(v: [u8; BYTES]) -> u64 { Self::bits::<7>(v) }
    fn bits<const BIT: i32>(v: [u8; BYTES]) -> u64 {
        v.as_chunks::<8>().0.iter().rev().fold(0, |all, eight| {
            // The products put bit i of the eight bytes at bit 56 + i.
            let bits = (u64::from_le_bytes(*eight) >> BIT) & 0x0101_0101_0101_0101;
            all << 8 | bits.wrapping_mul(0x0102_0408_1020_4080) >> 56
        })
    }
    fn lookup128(table: &[u8; 128], v: [u8; BYTES]) -> [u8; BYTES] { v.map(|byte| table[usize::from(byte & 127)]) }
    fn classes(classes: &Classes, v: [u8; BYTES]) -> [u8; BYTES] { Self::lookup128(&classes.of, v) }
    fn any_of(v: [u8; BYTES], bits: u8) -> u64 { Self::nonzero::<1>(v.map(|byte| byte & bits)) }
    fn fill(v: [u8; BYTES], mask: u64, byte: u8) -> [u8; BYTES] {
        std::array::from_fn(|i| if mask >> i & 1 == 1 { byte } else { v[i] })
    }
    fn compress(to: *mut u8, v: [u8; BYTES], mask: u64) {{
        let mut count = 0;
        for (i, byte) in v.into_iter().enumerate() {
            to.add(count).write(byte);
            count += (mask >> i & 1) as usize;
        }
    }}
    fn popcount16(v: [u8; BYTES]) -> [u8; BYTES] { Self::each16(v, v, |a, _| a.count_ones() as u16) }
    fn add16(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each16(a, b, u16::wrapping_add) }
    fn min16(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each16(a, b, u16::min) }
    fn at_most16(a: [u8; BYTES], b: [u8; BYTES]) -> u32 {
        Self::nonzero::<2>(Self::each16(a, b, |a, b| u16::from(a <= b))) as u32
    }
    fn equal16(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each16(a, b, |a, b| if a == b { u16::MAX } else { 0 }) }
    fn mul16(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each16(a, b, u16::wrapping_mul) }
    fn weighted16<const LOW: i32, const HIGH: i32>(v: [u8; BYTES]) -> [u8; BYTES] {
        Self::each16(v, v, |v, _| LOW as u16 * (v & 0xff) + HIGH as u16 * (v >> 8))
    }
    fn left16<const BITS: i32>(v: [u8; BYTES]) -> [u8; BYTES] { Self::each16(v, v, |v, _| v << BITS) }
    fn right16<const BITS: i32>(v: [u8; BYTES]) -> [u8; BYTES] { Self::each16(v, v, |v, _| v >> BITS) }
    fn windows32(from: *const u8) -> [u8; BYTES] {{
        let mut out = [0; BYTES];
        for (i, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *out = from.add(i).cast::<[u8; 4]>().read();
        }
        out
    }}
    fn mul32(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each32(a, b, u32::wrapping_mul) }
    fn below32(a: [u8; BYTES], b: [u8; BYTES]) -> u16 {
        Self::nonzero::<4>(Self::each32(a, b, |a, b| u32::from(a < b))) as u16
    }
    fn equal32(a: [u8; BYTES], b: [u8; BYTES]) -> u16 {
        Self::nonzero::<4>(Self::each32(a, b, |a, b| u32::from(a == b))) as u16
    }
    fn compress32(to: *mut u32, v: [u8; BYTES], mask: u16) {{
        let mut count = 0;
        for (i, lane) in v.as_chunks::<4>().0.iter().enumerate() {
            to.add(count).write_unaligned(u32::from_le_bytes(*lane));
            count += usize::from(mask >> i & 1);
        }
    }}
    fn windows64(from: *const u8, n: usize) -> [u8; BYTES] {{
        let mut out = [0; BYTES];
        for (i, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let first = from.add(i).cast::<[u8; 4]>().read();
            let last = from.add(i + n - 4).cast::<[u8; 4]>().read();
            *out = [last[0], last[1], last[2], last[3], first[0], first[1], first[2], first[3]];
        }
        out
    }}
    fn add64(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each64(a, b, u64::wrapping_add) }
    fn mul64(a: [u8; BYTES], b: [u8; BYTES]) -> [u8; BYTES] { Self::each64(a, b, u64::wrapping_mul) }
    fn right64<const BITS: i32>(v: [u8; BYTES]) -> [u8; BYTES] { Self::each64(v, v, |a, _| a >> BITS) }
    fn rotate64<const BITS: i32, const REST: i32>(v: [u8; BYTES]) -> [u8; BYTES] {
        Self::each64(v, v, |a, _| a.rotate_left(BITS as u32))
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![allow(clippy::wildcard_imports, reason = "intrinsics are named by prefix")]
    use super::{BYTES, Classes, SET_BITS, Simd, WINDOWS};
    use std::arch::x86_64::*;

    /// One register; needs [`Avx512Bits`](crate::cpu::features::Avx512Bits).
    pub struct Avx512;

    simd! { Avx512, __m512i, multiplies: true;
        fn load(from: *const u8) -> __m512i { _mm512_loadu_si512(from.cast()) }
        fn store(to: *mut u8, v: __m512i) { _mm512_storeu_si512(to.cast(), v) }
        fn load_first(from: *const u8, count: usize) -> __m512i {
            _mm512_maskz_loadu_epi8(_bzhi_u64(u64::MAX, count.min(BYTES) as u32), from.cast())
        }
        fn splat16(value: u16) -> __m512i { _mm512_set1_epi16(value.cast_signed()) }
        fn splat32(value: u32) -> __m512i { _mm512_set1_epi32(value.cast_signed()) }
        fn splat64(value: u64) -> __m512i { _mm512_set1_epi64(value.cast_signed()) }
        fn xor(a: __m512i, b: __m512i) -> __m512i { _mm512_xor_si512(a, b) }
        fn and(a: __m512i, b: __m512i) -> __m512i { _mm512_and_si512(a, b) }
        fn or(a: __m512i, b: __m512i) -> __m512i { _mm512_or_si512(a, b) }
        fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i { _mm512_ternarylogic_epi64::<0x96>(a, b, c) }
        fn majority(a: __m512i, b: __m512i, c: __m512i) -> __m512i { _mm512_ternarylogic_epi64::<0xe8>(a, b, c) }
        fn is_zero(v: __m512i) -> bool { _mm512_test_epi64_mask(v, v) == 0 }
        fn top_bits(v: __m512i) -> u64 { _mm512_movepi8_mask(v) }
        fn bits<const BIT: i32>(v: __m512i) -> u64 { _mm512_test_epi8_mask(v, _mm512_set1_epi8((1_u8 << BIT) as i8)) }
        fn lookup128(table: &[u8; 128], v: __m512i) -> __m512i {
            _mm512_permutex2var_epi8(Self::load(table.as_ptr()), v, Self::load(table.as_ptr().add(BYTES)))
        }
        fn classes(classes: &Classes, v: __m512i) -> __m512i { Self::lookup128(&classes.of, v) }
        fn any_of(v: __m512i, bits: u8) -> u64 { _mm512_test_epi8_mask(v, _mm512_set1_epi8(bits.cast_signed())) }
        fn fill(v: __m512i, mask: u64, byte: u8) -> __m512i {
            _mm512_mask_blend_epi8(mask, v, _mm512_set1_epi8(byte.cast_signed()))
        }
        fn compress(to: *mut u8, v: __m512i, mask: u64) { Self::store(to, _mm512_maskz_compress_epi8(mask, v)) }
        fn ranks(to: *mut u32, bits: u64, among: u64, base: u32) -> usize {{
            const POSITIONS: [u8; BYTES] = {
                let mut positions = [0; BYTES];
                let mut i = 0;
                while i < BYTES {
                    positions[i] = i as u8;
                    i += 1;
                }
                positions
            };
            let mut ranks = _mm512_maskz_compress_epi8(_pext_u64(bits, among), Self::load(POSITIONS.as_ptr()));
            let count = bits.count_ones() as usize;
            for done in (0..count).step_by(16) {
                let wide = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(ranks));
                let wide = _mm512_add_epi32(wide, _mm512_set1_epi32(base.cast_signed()));
                Self::store(to.add(done).cast(), wide);
                ranks = _mm512_shuffle_i32x4::<0b11_11_10_01>(ranks, ranks);
            }
            count
        }}
        fn popcount16(v: __m512i) -> __m512i { _mm512_popcnt_epi16(v) }
        fn add16(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi16(a, b) }
        fn min16(a: __m512i, b: __m512i) -> __m512i { _mm512_min_epu16(a, b) }
        fn at_most16(a: __m512i, b: __m512i) -> u32 { _mm512_cmple_epu16_mask(a, b) }
        fn equal16(a: __m512i, b: __m512i) -> __m512i { _mm512_movm_epi16(_mm512_cmpeq_epi16_mask(a, b)) }
        fn mul16(a: __m512i, b: __m512i) -> __m512i { _mm512_mullo_epi16(a, b) }
        fn weighted16<const LOW: i32, const HIGH: i32>(v: __m512i) -> __m512i {
            _mm512_maddubs_epi16(v, _mm512_set1_epi16((LOW | HIGH << 8) as i16))
        }
        fn left16<const BITS: i32>(v: __m512i) -> __m512i { _mm512_sll_epi16(v, _mm_cvtsi32_si128(BITS)) }
        fn right16<const BITS: i32>(v: __m512i) -> __m512i { _mm512_srl_epi16(v, _mm_cvtsi32_si128(BITS)) }
        fn windows32(from: *const u8) -> __m512i {{
            // Lane w takes bytes w … w + 3.
            const PICK: [u8; BYTES] = {
                let mut pick = [0; BYTES];
                let mut at = 0;
                while at < BYTES {
                    pick[at] = (at / 4 + at % 4) as u8;
                    at += 1;
                }
                pick
            };
            _mm512_permutexvar_epi8(Self::load(PICK.as_ptr()), Self::load(from))
        }}
        fn mul32(a: __m512i, b: __m512i) -> __m512i { _mm512_mullo_epi32(a, b) }
        fn below32(a: __m512i, b: __m512i) -> u16 { _mm512_cmplt_epu32_mask(a, b) }
        fn equal32(a: __m512i, b: __m512i) -> u16 { _mm512_cmpeq_epi32_mask(a, b) }
        fn compress32(to: *mut u32, v: __m512i, mask: u16) {
            Self::store(to.cast(), _mm512_maskz_compress_epi32(mask, v))
        }
        fn windows64(from: *const u8, n: usize) -> __m512i {
            _mm512_permutexvar_epi8(Self::load(WINDOWS[n - 4].as_ptr()), Self::load(from))
        }
        fn add64(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi64(a, b) }
        fn mul64(a: __m512i, b: __m512i) -> __m512i { _mm512_mullo_epi64(a, b) }
        fn right64<const BITS: i32>(v: __m512i) -> __m512i { _mm512_srl_epi64(v, _mm_cvtsi32_si128(BITS)) }
        fn rotate64<const BITS: i32, const REST: i32>(v: __m512i) -> __m512i { _mm512_rol_epi64::<BITS>(v) }
    }

    /// Two registers; needs AVX2.
    pub struct Avx2;

    type Two = [__m256i; 2];

    /// Evaluate an expression for both registers. A closure would be compiled without the instructions of its caller.
    macro_rules! two {
        ($v:ident => $one:expr) => {
            [
                {
                    let $v = $v[0];
                    $one
                },
                {
                    let $v = $v[1];
                    $one
                },
            ]
        };
        ($a:ident, $b:ident => $one:expr) => {
            [
                {
                    let ($a, $b) = ($a[0], $b[0]);
                    $one
                },
                {
                    let ($a, $b) = ($a[1], $b[1]);
                    $one
                },
            ]
        };
    }

    impl Avx2 {
        /// Load 16 bytes into both halves.
        #[inline(always)]
        unsafe fn repeat(from: *const u8) -> __m256i {
            // SAFETY: the caller has AVX2, and 16 readable bytes.
            unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(from.cast())) }
        }

        /// The lowest bits of each byte, the highest of them first: adding a byte to itself shifts it.
        #[inline(always)]
        unsafe fn shifted_bits<const WORDS: usize>(v: Two) -> [u64; WORDS] {
            // SAFETY: the caller has AVX2. A shift of 16-bit lanes moves bits into a byte that are shifted out again.
            unsafe {
                let count = _mm_cvtsi32_si128(8 - WORDS as i32);
                let mut v = two!(v => _mm256_sll_epi16(v, count));
                let mut words = [0; WORDS];
                for word in words.iter_mut().rev() {
                    *word = Self::top_bits(v);
                    v = two!(v => _mm256_add_epi8(v, v));
                }
                words
            }
        }

        /// The masks of 32 bytes in which each bit i of `mask` is spread over byte i.
        #[inline(always)]
        unsafe fn spread(mask: u32) -> __m256i {
            // SAFETY: the caller has AVX2.
            unsafe {
                let bytes = _mm256_shuffle_epi8(
                    _mm256_set1_epi32(mask.cast_signed()),
                    _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303),
                );
                let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
                _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit)
            }
        }

        /// Look up bytes below 128: of eight tables of 16, the one of a byte's upper half answers, the others give 0.
        #[inline(always)]
        unsafe fn lookup(table: &[u8; 128], v: __m256i) -> __m256i {
            // SAFETY: the caller has AVX2; each load reads 16 of 128 bytes.
            unsafe {
                let mut out = _mm256_setzero_si256();
                for k in 0..8 {
                    // 0x70 to 0x7f for the bytes of this table, 0x80 and above for others, for which pshufb gives 0.
                    let own = _mm256_xor_si256(v, _mm256_set1_epi8((k as i8) << 4));
                    let index = _mm256_adds_epu8(own, _mm256_set1_epi8(0x70));
                    out = _mm256_or_si256(out, _mm256_shuffle_epi8(Self::repeat(table.as_ptr().add(16 * k)), index));
                }
                out
            }
        }

        #[inline(always)]
        unsafe fn popcount_bytes(v: __m256i) -> __m256i {
            // SAFETY: the caller has AVX2.
            unsafe {
                let table = _mm256_setr_epi8(
                    0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
                );
                let low = _mm256_set1_epi8(0x0f);
                let lower = _mm256_shuffle_epi8(table, _mm256_and_si256(v, low));
                let upper = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(v), low));
                _mm256_add_epi8(lower, upper)
            }
        }

        #[inline(always)]
        unsafe fn mul64_one(a: __m256i, b: __m256i) -> __m256i {
            // SAFETY: the caller has AVX2.
            unsafe {
                let upper = _mm256_add_epi64(
                    _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), b),
                    _mm256_mul_epu32(a, _mm256_srli_epi64::<32>(b)),
                );
                _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64::<32>(upper))
            }
        }
    }

    simd! { Avx2, Two, multiplies: true, low_bits: shifted_bits;
        fn load(from: *const u8) -> Two {
            [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())]
        }
        fn store(to: *mut u8, v: Two) {{
            _mm256_storeu_si256(to.cast(), v[0]);
            _mm256_storeu_si256(to.add(32).cast(), v[1]);
        }}
        fn splat16(value: u16) -> Two { [_mm256_set1_epi16(value.cast_signed()); 2] }
        fn splat32(value: u32) -> Two { [_mm256_set1_epi32(value.cast_signed()); 2] }
        fn splat64(value: u64) -> Two { [_mm256_set1_epi64x(value.cast_signed()); 2] }
        fn xor(a: Two, b: Two) -> Two { two!(a, b => _mm256_xor_si256(a, b)) }
        fn and(a: Two, b: Two) -> Two { two!(a, b => _mm256_and_si256(a, b)) }
        fn or(a: Two, b: Two) -> Two { two!(a, b => _mm256_or_si256(a, b)) }
        fn is_zero(v: Two) -> bool {{
            let any = _mm256_or_si256(v[0], v[1]);
            _mm256_testz_si256(any, any) == 1
        }}
        fn top_bits(v: Two) -> u64 {
            u64::from(_mm256_movemask_epi8(v[0]).cast_unsigned())
                | u64::from(_mm256_movemask_epi8(v[1]).cast_unsigned()) << 32
        }
        fn bits<const BIT: i32>(v: Two) -> u64 {
            Self::top_bits(two!(v => _mm256_sll_epi16(v, _mm_cvtsi32_si128(7 - BIT))))
        }
        fn lookup128(table: &[u8; 128], v: Two) -> Two { [Self::lookup(table, v[0]), Self::lookup(table, v[1])] }
        fn classes(classes: &Classes, v: Two) -> Two {{
            let (low, high) = (Self::repeat(classes.low.as_ptr()), Self::repeat(classes.high.as_ptr()));
            let half = _mm256_set1_epi8(0x0f);
            two!(v => {
                let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(v), half);
                _mm256_and_si256(
                    _mm256_shuffle_epi8(low, _mm256_and_si256(v, half)),
                    _mm256_shuffle_epi8(high, upper),
                )
            })
        }}
        fn any_of(v: Two, bits: u8) -> u64 {{
            let (bits, zero) = (_mm256_set1_epi8(bits.cast_signed()), _mm256_setzero_si256());
            !Self::top_bits(two!(v => _mm256_cmpeq_epi8(_mm256_and_si256(v, bits), zero)))
        }}
        fn fill(v: Two, mask: u64, byte: u8) -> Two {{
            let byte = _mm256_set1_epi8(byte.cast_signed());
            [
                _mm256_blendv_epi8(v[0], byte, Self::spread(mask as u32)),
                _mm256_blendv_epi8(v[1], byte, Self::spread((mask >> 32) as u32)),
            ]
        }}
        fn compress(to: *mut u8, v: Two, mask: u64) {{
            let (mut to, mut mask) = (to, mask);
            let quarters = [
                _mm256_castsi256_si128(v[0]),
                _mm256_extracti128_si256::<1>(v[0]),
                _mm256_castsi256_si128(v[1]),
                _mm256_extracti128_si256::<1>(v[1]),
            ];
            for quarter in quarters {
                let (low, high) = ((mask & 0xff) as usize, (mask >> 8 & 0xff) as usize);
                let (a, b) = (u64::from_le_bytes(SET_BITS[low]), u64::from_le_bytes(SET_BITS[high]));
                // The upper half takes bytes 8 to 15.
                let pick = _mm_set_epi64x((b | 0x0808_0808_0808_0808).cast_signed(), a.cast_signed());
                let packed = _mm_shuffle_epi8(quarter, pick);
                _mm_storel_epi64(to.cast(), packed);
                to = to.add(low.count_ones() as usize);
                _mm_storeh_pd(to.cast(), _mm_castsi128_pd(packed));
                to = to.add(high.count_ones() as usize);
                mask >>= 16;
            }
        }}
        // Bytes are added in pairs.
        fn popcount16(v: Two) -> Two {
            two!(v => _mm256_maddubs_epi16(Self::popcount_bytes(v), _mm256_set1_epi8(1)))
        }
        fn add16(a: Two, b: Two) -> Two { two!(a, b => _mm256_add_epi16(a, b)) }
        fn min16(a: Two, b: Two) -> Two { two!(a, b => _mm256_min_epu16(a, b)) }
        fn at_most16(a: Two, b: Two) -> u32 {{
            let [low, high] = two!(a, b => _mm256_cmpeq_epi16(_mm256_min_epu16(a, b), a));
            // Packing takes halves of both in turn.
            let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
            _mm256_movemask_epi8(packed).cast_unsigned()
        }}
        fn equal16(a: Two, b: Two) -> Two { two!(a, b => _mm256_cmpeq_epi16(a, b)) }
        fn mul16(a: Two, b: Two) -> Two { two!(a, b => _mm256_mullo_epi16(a, b)) }
        fn weighted16<const LOW: i32, const HIGH: i32>(v: Two) -> Two {
            two!(v => _mm256_maddubs_epi16(v, _mm256_set1_epi16((LOW | HIGH << 8) as i16)))
        }
        fn left16<const BITS: i32>(v: Two) -> Two { two!(v => _mm256_slli_epi16::<BITS>(v)) }
        fn right16<const BITS: i32>(v: Two) -> Two { two!(v => _mm256_srli_epi16::<BITS>(v)) }
        fn windows32(from: *const u8) -> Two {{
            let pick = _mm256_setr_epi8(
                0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7, 5, 6, 7, 8, 6, 7, 8, 9, 7, 8, 9, 10,
            );
            [_mm256_shuffle_epi8(Self::repeat(from), pick), _mm256_shuffle_epi8(Self::repeat(from.add(8)), pick)]
        }}
        fn mul32(a: Two, b: Two) -> Two { two!(a, b => _mm256_mullo_epi32(a, b)) }
        fn below32(a: Two, b: Two) -> u16 { !Self::equal32(two!(a, b => _mm256_max_epu32(a, b)), a) }
        fn equal32(a: Two, b: Two) -> u16 {{
            let [low, high] = two!(a, b => _mm256_cmpeq_epi32(a, b));
            let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
            (_mm256_movemask_ps(low) | _mm256_movemask_ps(high) << 8) as u16
        }}
        fn compress32(to: *mut u32, v: Two, mask: u16) {{
            let mut to = to;
            for (half, mask) in v.into_iter().zip(mask.to_le_bytes()) {
                let pick = _mm_loadl_epi64(SET_BITS[usize::from(mask)].as_ptr().cast());
                let packed = _mm256_permutevar8x32_epi32(half, _mm256_cvtepu8_epi32(pick));
                _mm256_storeu_si256(to.cast(), packed);
                to = to.add(mask.count_ones() as usize);
            }
        }}
        fn windows64(from: *const u8, n: usize) -> Two {{
            let pick = _mm256_loadu_si256(WINDOWS[n - 4].as_ptr().cast());
            [_mm256_shuffle_epi8(Self::repeat(from), pick), _mm256_shuffle_epi8(Self::repeat(from.add(4)), pick)]
        }}
        fn add64(a: Two, b: Two) -> Two { two!(a, b => _mm256_add_epi64(a, b)) }
        fn mul64(a: Two, b: Two) -> Two { [Self::mul64_one(a[0], b[0]), Self::mul64_one(a[1], b[1])] }
        fn right64<const BITS: i32>(v: Two) -> Two { two!(v => _mm256_srl_epi64(v, _mm_cvtsi32_si128(BITS))) }
        fn rotate64<const BITS: i32, const REST: i32>(v: Two) -> Two {
            two!(v => _mm256_or_si256(_mm256_slli_epi64::<BITS>(v), _mm256_srli_epi64::<REST>(v)))
        }
    }
}

#[cfg(target_arch = "aarch64")]
pub use arm::Neon;

#[cfg(target_arch = "aarch64")]
mod arm {
    #![allow(clippy::wildcard_imports, reason = "intrinsics are named by prefix")]
    use super::{BYTES, Classes, SET_BITS, Simd, WINDOWS};
    use std::arch::aarch64::*;

    /// Four registers; NEON is part of every 64-bit ARM.
    pub struct Neon;

    type Four = [uint8x16_t; 4];

    impl Neon {
        #[inline(always)]
        fn each(a: Four, b: Four, one: impl Fn(uint8x16_t, uint8x16_t) -> uint8x16_t) -> Four {
            std::array::from_fn(|i| one(a[i], b[i]))
        }

        /// The mask of bytes that are 0 or 255.
        #[inline(always)]
        unsafe fn mask(v: Four) -> u64 {
            const BIT: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
            // SAFETY: NEON; the table has 16 bytes.
            unsafe {
                let bit = vld1q_u8(BIT.as_ptr());
                let [a, b, c, d] = v.map(|v| vandq_u8(v, bit));
                let all = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
                vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(all, all)))
            }
        }

        /// The 255 bytes of bits that are set.
        #[inline(always)]
        unsafe fn spread(mask: u16) -> uint8x16_t {
            const BIT: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
            // SAFETY: NEON; the table has 16 bytes.
            unsafe {
                vtstq_u8(vcombine_u8(vdup_n_u8(mask as u8), vdup_n_u8((mask >> 8) as u8)), vld1q_u8(BIT.as_ptr()))
            }
        }
    }

    /// Apply an intrinsic of lanes to vectors of bytes.
    macro_rules! as_lanes {
        ($op:ident, $to:ident, $back:ident, $a:expr, $b:expr) => {
            Self::each($a, $b, |a, b| $back($op($to(a), $to(b))))
        };
    }

    simd! { Neon, Four, multiplies: false;
        fn load(from: *const u8) -> Four { std::array::from_fn(|i| vld1q_u8(from.add(16 * i))) }
        fn store(to: *mut u8, v: Four) {
            for (i, v) in v.into_iter().enumerate() {
                vst1q_u8(to.add(16 * i), v);
            }
        }
        fn splat16(value: u16) -> Four { [vreinterpretq_u8_u16(vdupq_n_u16(value)); 4] }
        fn splat32(value: u32) -> Four { [vreinterpretq_u8_u32(vdupq_n_u32(value)); 4] }
        fn splat64(value: u64) -> Four { [vreinterpretq_u8_u64(vdupq_n_u64(value)); 4] }
        fn xor(a: Four, b: Four) -> Four { Self::each(a, b, |a, b| veorq_u8(a, b)) }
        fn and(a: Four, b: Four) -> Four { Self::each(a, b, |a, b| vandq_u8(a, b)) }
        fn or(a: Four, b: Four) -> Four { Self::each(a, b, |a, b| vorrq_u8(a, b)) }
        fn majority(a: Four, b: Four, c: Four) -> Four { std::array::from_fn(|i| vbslq_u8(veorq_u8(a[i], b[i]), c[i], a[i])) }
        fn is_zero(v: Four) -> bool {
            vmaxvq_u8(vorrq_u8(vorrq_u8(v[0], v[1]), vorrq_u8(v[2], v[3]))) == 0
        }
        fn top_bits(v: Four) -> u64 { Self::bits::<7>(v) }
        fn bits<const BIT: i32>(v: Four) -> u64 { Self::mask(v.map(|v| vtstq_u8(v, vdupq_n_u8(1 << BIT)))) }
        fn lookup128(table: &[u8; 128], v: Four) -> Four {{
            let half = |from: usize| {
                let sixteen = |k: usize| vld1q_u8(table.as_ptr().add(from + 16 * k));
                uint8x16x4_t(sixteen(0), sixteen(1), sixteen(2), sixteen(3))
            };
            let (low, high) = (half(0), half(BYTES));
            v.map(|v| vqtbx4q_u8(vqtbl4q_u8(low, v), high, vsubq_u8(v, vdupq_n_u8(64))))
        }}
        fn classes(classes: &Classes, v: Four) -> Four {{
            let (low, high) = (vld1q_u8(classes.low.as_ptr()), vld1q_u8(classes.high.as_ptr()));
            v.map(|v| {
                vandq_u8(vqtbl1q_u8(low, vandq_u8(v, vdupq_n_u8(0x0f))), vqtbl1q_u8(high, vshrq_n_u8::<4>(v)))
            })
        }}
        fn any_of(v: Four, bits: u8) -> u64 { Self::mask(v.map(|v| vtstq_u8(v, vdupq_n_u8(bits)))) }
        fn fill(v: Four, mask: u64, byte: u8) -> Four {
            std::array::from_fn(|i| vbslq_u8(Self::spread((mask >> (16 * i)) as u16), vdupq_n_u8(byte), v[i]))
        }
        fn compress(to: *mut u8, v: Four, mask: u64) {{
            let mut to = to;
            for (i, v) in v.into_iter().enumerate() {
                let [low, high] = ((mask >> (16 * i)) as u16).to_le_bytes();
                let picks = |mask: u8| vld1_u8(SET_BITS[usize::from(mask)].as_ptr());
                vst1_u8(to, vtbl1_u8(vget_low_u8(v), picks(low)));
                to = to.add(low.count_ones() as usize);
                vst1_u8(to, vtbl1_u8(vget_high_u8(v), picks(high)));
                to = to.add(high.count_ones() as usize);
            }
        }}
        fn popcount16(v: Four) -> Four { v.map(|v| vreinterpretq_u8_u16(vpaddlq_u8(vcntq_u8(v)))) }
        fn add16(a: Four, b: Four) -> Four { as_lanes!(vaddq_u16, vreinterpretq_u16_u8, vreinterpretq_u8_u16, a, b) }
        fn min16(a: Four, b: Four) -> Four { as_lanes!(vminq_u16, vreinterpretq_u16_u8, vreinterpretq_u8_u16, a, b) }
        fn at_most16(a: Four, b: Four) -> u32 {{
            let [a, b, c, d]: [uint8x8_t; 4] = std::array::from_fn(|i| {
                vmovn_u16(vcleq_u16(vreinterpretq_u16_u8(a[i]), vreinterpretq_u16_u8(b[i])))
            });
            let zero = vdupq_n_u8(0);
            Self::mask([vcombine_u8(a, b), vcombine_u8(c, d), zero, zero]) as u32
        }}
        fn equal16(a: Four, b: Four) -> Four { as_lanes!(vceqq_u16, vreinterpretq_u16_u8, vreinterpretq_u8_u16, a, b) }
        fn mul16(a: Four, b: Four) -> Four { as_lanes!(vmulq_u16, vreinterpretq_u16_u8, vreinterpretq_u8_u16, a, b) }
        fn weighted16<const LOW: i32, const HIGH: i32>(v: Four) -> Four {
            v.map(|v| {
                let v = vreinterpretq_u16_u8(v);
                let low = vmulq_n_u16(vandq_u16(v, vdupq_n_u16(0xff)), LOW as u16);
                vreinterpretq_u8_u16(vmlaq_n_u16(low, vshrq_n_u16::<8>(v), HIGH as u16))
            })
        }
        fn left16<const BITS: i32>(v: Four) -> Four {
            v.map(|v| vreinterpretq_u8_u16(vshlq_u16(vreinterpretq_u16_u8(v), vdupq_n_s16(BITS as i16))))
        }
        fn right16<const BITS: i32>(v: Four) -> Four {
            v.map(|v| vreinterpretq_u8_u16(vshlq_u16(vreinterpretq_u16_u8(v), vdupq_n_s16(-(BITS as i16)))))
        }
        fn windows32(from: *const u8) -> Four {{
            const PICK: [u8; 16] = [0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6];
            let pick = vld1q_u8(PICK.as_ptr());
            std::array::from_fn(|i| vqtbl1q_u8(vld1q_u8(from.add(4 * i)), pick))
        }}
        fn mul32(a: Four, b: Four) -> Four { as_lanes!(vmulq_u32, vreinterpretq_u32_u8, vreinterpretq_u8_u32, a, b) }
        fn below32(a: Four, b: Four) -> u16 {
            !Self::equal32(as_lanes!(vmaxq_u32, vreinterpretq_u32_u8, vreinterpretq_u8_u32, a, b), a)
        }
        fn equal32(a: Four, b: Four) -> u16 {{
            let [a, b, c, d]: [uint16x4_t; 4] = std::array::from_fn(|i| {
                vmovn_u32(vceqq_u32(vreinterpretq_u32_u8(a[i]), vreinterpretq_u32_u8(b[i])))
            });
            let bytes = vcombine_u8(vmovn_u16(vcombine_u16(a, b)), vmovn_u16(vcombine_u16(c, d)));
            let zero = vdupq_n_u8(0);
            Self::mask([bytes, zero, zero, zero]) as u16
        }}
        fn compress32(to: *mut u32, v: Four, mask: u16) {{
            let mut to = to;
            for (i, v) in v.into_iter().enumerate() {
                let lanes = usize::from(mask >> (4 * i) & 0xf);
                // Lane l is bytes 4 l … 4 l + 3.
                let bits = SET_BITS[lanes];
                let pick: [u8; 16] = std::array::from_fn(|j| 4 * bits[j / 4] + (j % 4) as u8);
                vst1q_u8(to.cast(), vqtbl1q_u8(v, vld1q_u8(pick.as_ptr())));
                to = to.add(lanes.count_ones() as usize);
            }
        }}
        fn windows64(from: *const u8, n: usize) -> Four {{
            let pick = vld1q_u8(WINDOWS[n - 4].as_ptr());
            std::array::from_fn(|i| vqtbl1q_u8(vld1q_u8(from.add(2 * i)), pick))
        }}
        fn add64(a: Four, b: Four) -> Four { as_lanes!(vaddq_u64, vreinterpretq_u64_u8, vreinterpretq_u8_u64, a, b) }
        fn mul64(a: Four, b: Four) -> Four {
            Self::each(a, b, |a, b| {
                let (a, b) = (vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b));
                let upper = vmlal_u32(
                    vmull_u32(vmovn_u64(vshrq_n_u64::<32>(a)), vmovn_u64(b)),
                    vmovn_u64(a),
                    vmovn_u64(vshrq_n_u64::<32>(b)),
                );
                vreinterpretq_u8_u64(vmlal_u32(vshlq_n_u64::<32>(upper), vmovn_u64(a), vmovn_u64(b)))
            })
        }
        fn right64<const BITS: i32>(v: Four) -> Four {
            v.map(|v| vreinterpretq_u8_u64(vshlq_u64(vreinterpretq_u64_u8(v), vdupq_n_s64(-i64::from(BITS)))))
        }
        fn rotate64<const BITS: i32, const REST: i32>(v: Four) -> Four {
            v.map(|v| {
                let v = vreinterpretq_u64_u8(v);
                vreinterpretq_u8_u64(vorrq_u64(vshlq_n_u64::<BITS>(v), vshrq_n_u64::<REST>(v)))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Store a vector.
    #[inline(always)]
    fn bytes<S: Simd>(v: S::V) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        // SAFETY: the caller has the instructions of `S`; the array has 64 bytes.
        unsafe { S::store(out.as_mut_ptr(), v) };
        out
    }

    /// Eight classes with characters in both halves of the table.
    const CLASSES: Classes = Classes::new([
        (0x50, 0xfffe),
        (0xa0, 0x07ff),
        (8, 0x03ff),
        (0x20, 0x8000),
        (4, 0x4080),
        (8, 0x0400),
        (4, 0x1000),
        (8, 0x0800),
    ]);

    /// Compare all operations of a set with those of [`Scalar`], and these with plain code.
    #[inline(always)]
    fn check<S: Simd>(a: [u8; BYTES], b: [u8; BYTES], table: &[u8; 128], mask: u64, n: usize, count: usize) {
        let (p, q) = (a.as_ptr(), b.as_ptr());
        // SAFETY: the caller has the instructions of `S`; arrays have the bytes that are read and written.
        unsafe {
            type R = Scalar;
            let (x, y, r, s) = (S::load(p), S::load(q), R::load(p), R::load(q));
            assert_eq!((a, a, b), (bytes::<S>(x), r, s));
            assert_eq!(R::load_first(p, count), bytes::<S>(S::load_first(p, count)));
            let value = u64::from_le_bytes([a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]]);
            assert_eq!(R::splat16(value as u16), bytes::<S>(S::splat16(value as u16)));
            assert_eq!(R::splat32(value as u32), bytes::<S>(S::splat32(value as u32)));
            assert_eq!(R::splat64(value), bytes::<S>(S::splat64(value)));
            assert_eq!(R::xor(r, s), bytes::<S>(S::xor(x, y)));
            assert_eq!(R::and(r, s), bytes::<S>(S::and(x, y)));
            assert_eq!(R::or(r, s), bytes::<S>(S::or(x, y)));
            let (c, t) = (S::splat64(mask), R::splat64(mask));
            assert_eq!(R::xor3(r, s, t), bytes::<S>(S::xor3(x, y, c)));
            assert_eq!(R::majority(r, s, t), bytes::<S>(S::majority(x, y, c)));
            assert!(S::is_zero(S::xor(x, x)) && S::is_zero(x) == (a == [0; BYTES]));
            assert_eq!(R::top_bits(r), S::top_bits(x));
            assert_eq!(
                [R::bits::<0>(r), R::bits::<3>(r), R::bits::<7>(r)],
                [S::bits::<0>(x), S::bits::<3>(x), S::bits::<7>(x)]
            );
            let low = a.map(|byte| byte & 127);
            assert_eq!(R::lookup128(table, low), bytes::<S>(S::lookup128(table, S::load(low.as_ptr()))));
            assert_eq!(R::classes(&CLASSES, low), bytes::<S>(S::classes(&CLASSES, S::load(low.as_ptr()))));
            assert_eq!(R::any_of(r, table[0]), S::any_of(x, table[0]));
            assert_eq!(R::low_bits::<6>(r), S::low_bits::<6>(x));
            assert_eq!((R::low_bits::<8>(r), R::low_bits::<1>(r)), (S::low_bits::<8>(x), S::low_bits::<1>(x)));
            assert_eq!(R::fill(r, mask, 32), bytes::<S>(S::fill(x, mask, 32)));
            let kept: Vec<u8> = (0..BYTES).filter(|i| mask >> i & 1 == 1).map(|i| a[i]).collect();
            let mut out = [0; BYTES];
            S::compress(out.as_mut_ptr(), x, mask);
            assert_eq!(kept, out[..kept.len()]);
            let (bits, mut ranks, mut expected) = (mask & value, [0; 80], [0; 80]);
            let found = S::ranks(ranks.as_mut_ptr(), bits, mask, 5);
            assert_eq!(R::ranks(expected.as_mut_ptr(), bits, mask, 5), found);
            assert_eq!(expected[..found], ranks[..found]);
            assert_eq!(R::popcount16(r), bytes::<S>(S::popcount16(x)));
            assert_eq!(R::add16(r, s), bytes::<S>(S::add16(x, y)));
            assert_eq!(R::min16(r, s), bytes::<S>(S::min16(x, y)));
            assert_eq!(R::at_most16(r, s), S::at_most16(x, y));
            let (equal, same) = (S::fill(x, mask, 7), R::fill(r, mask, 7));
            assert_eq!(R::at_most16(r, same), S::at_most16(x, equal));
            assert_eq!(R::below32(r, same), S::below32(x, equal));
            assert_eq!(R::equal32(r, same), S::equal32(x, equal));
            assert_eq!(R::equal16(r, same), bytes::<S>(S::equal16(x, equal)));
            assert_eq!(R::mul16(r, s), bytes::<S>(S::mul16(x, y)));
            assert_eq!(R::weighted16::<7, 63>(r), bytes::<S>(S::weighted16::<7, 63>(x)));
            assert_eq!(R::left16::<9>(r), bytes::<S>(S::left16::<9>(x)));
            assert_eq!(R::right16::<6>(r), bytes::<S>(S::right16::<6>(x)));
            assert_eq!(R::windows32(p), bytes::<S>(S::windows32(p)));
            assert_eq!(R::mul32(r, s), bytes::<S>(S::mul32(x, y)));
            assert_eq!(R::below32(r, s), S::below32(x, y));
            let kept: Vec<u8> =
                (0..16).filter(|i| mask >> i & 1 == 1).flat_map(|i| a[4 * i..4 * i + 4].to_vec()).collect();
            let mut out = [0_u32; 16];
            S::compress32(out.as_mut_ptr(), x, mask as u16);
            let out: Vec<u8> = out.iter().flat_map(|lane| lane.to_le_bytes()).collect();
            assert_eq!(kept, out[..kept.len()]);
            assert_eq!(R::windows64(p, n), bytes::<S>(S::windows64(p, n)));
            assert_eq!(R::add64(r, s), bytes::<S>(S::add64(x, y)));
            assert_eq!(R::mul64(r, s), bytes::<S>(S::mul64(x, y)));
            assert_eq!(R::right64::<35>(r), bytes::<S>(S::right64::<35>(x)));
            assert_eq!(R::rotate64::<49, 15>(r), bytes::<S>(S::rotate64::<49, 15>(x)));
        }
    }

    fn block() -> impl Strategy<Value = [u8; BYTES]> {
        prop_oneof![prop::array::uniform(any::<u8>()), prop::array::uniform(0_u8..2), prop::array::uniform(250_u8..)]
    }

    proptest! {
        #[test]
        fn operations_equal_their_definition(
            a in block(), b in block(), table in prop::array::uniform(any::<u8>()), mask: u64, n in 4_usize..=8, count in 0..=BYTES
        ) {
            with_each_simd!(S => check::<S>(a, b, &table, mask, n, count));
        }

        #[test]
        fn scalar_operations_are_plain(a in block(), b in block()) {
            let lanes = |v: [u8; BYTES]| v.as_chunks::<8>().0.iter().map(|lane| u64::from_le_bytes(*lane)).collect::<Vec<_>>();
            // SAFETY: scalar operations need no instructions.
            let (bits, product, halves) = unsafe { (Scalar::bits::<2>(a), Scalar::mul64(a, b), Scalar::at_most16(a, b)) };
            prop_assert!((0..BYTES).all(|i| bits >> i & 1 == u64::from(a[i] >> 2 & 1)));
            let expected: Vec<u64> = lanes(a).into_iter().zip(lanes(b)).map(|(a, b)| a.wrapping_mul(b)).collect();
            prop_assert_eq!(expected, lanes(product));
            let lane = |v: [u8; BYTES], i: usize| u16::from_le_bytes([v[2 * i], v[2 * i + 1]]);
            prop_assert!((0..32).all(|i| halves >> i & 1 == u32::from(lane(a, i) <= lane(b, i))));
            // SAFETY: as above.
            let weighted = unsafe { Scalar::weighted16::<2, 3>(a) };
            prop_assert!((0..32).all(|i| lane(weighted, i) == 2 * u16::from(a[2 * i]) + 3 * u16::from(a[2 * i + 1])));
        }
    }
}
