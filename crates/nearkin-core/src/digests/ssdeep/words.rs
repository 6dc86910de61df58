//! A word of 64 bits, or four of them in a register, with the same operations.
//!
//! Code that is generic over [`Word`] computes the same bits for both. The four-word type contains the proof that the
//! processor has its instructions, so safe code can use it. All functions must be inlined into a function that is
//! compiled for those instructions.

#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx2;

/// One or more words of 64 bits, processed together.
pub(super) trait Word: Copy {
    /// Number of words.
    const LANES: usize;
    /// Proof that the processor has the instructions.
    type Proof: Copy;

    /// Return the same word in all lanes.
    fn all(proof: Self::Proof, word: u64) -> Self;
    /// Load the first words of a row.
    fn read(proof: Self::Proof, row: &[u64]) -> Self;
    /// Store the words at the start of a row.
    fn write(self, row: &mut [u64]);
    fn xor(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// `!self & other`.
    fn not_and(self, other: Self) -> Self;
    /// Shift left by `BY`.
    fn left<const BY: i32>(self) -> Self;
    /// Shift right, each word by its own number.
    fn right(self, by: Self) -> Self;
}

impl Word for u64 {
    const LANES: usize = 1;
    type Proof = ();

    fn all((): (), word: u64) -> Self {
        word
    }

    fn read((): (), row: &[u64]) -> Self {
        row[0]
    }

    fn write(self, row: &mut [u64]) {
        row[0] = self;
    }

    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    fn and(self, other: Self) -> Self {
        self & other
    }

    fn or(self, other: Self) -> Self {
        self | other
    }

    fn not_and(self, other: Self) -> Self {
        !self & other
    }

    fn left<const BY: i32>(self) -> Self {
        self << BY
    }

    fn right(self, by: Self) -> Self {
        self >> by
    }
}

/// Four words in a register.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Four {
    words: std::arch::x86_64::__m256i,
    proof: Avx2,
}

#[cfg(target_arch = "x86_64")]
macro_rules! with_instructions {
    ($self:ident, $call:expr) => {{
        #[allow(clippy::wildcard_imports, reason = "the instructions of one set")]
        use std::arch::x86_64::*;
        // SAFETY: the token proves the instructions, and each load or store covers four words of the row.
        let words = unsafe { $call };
        Self { words, proof: $self.proof }
    }};
}

#[cfg(target_arch = "x86_64")]
impl Word for Four {
    const LANES: usize = 4;
    type Proof = Avx2;

    #[inline(always)]
    fn all(proof: Avx2, word: u64) -> Self {
        // SAFETY: the token proves the instructions.
        Self { words: unsafe { std::arch::x86_64::_mm256_set1_epi64x(word.cast_signed()) }, proof }
    }

    #[inline(always)]
    fn read(proof: Avx2, row: &[u64]) -> Self {
        let four = &row[..4];
        // SAFETY: the token proves the instructions, and there are four words.
        Self { words: unsafe { std::arch::x86_64::_mm256_loadu_si256(four.as_ptr().cast()) }, proof }
    }

    #[inline(always)]
    fn write(self, row: &mut [u64]) {
        let four = &mut row[..4];
        // SAFETY: the token proves the instructions, and there are four words.
        unsafe { std::arch::x86_64::_mm256_storeu_si256(four.as_mut_ptr().cast(), self.words) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        with_instructions!(self, _mm256_xor_si256(self.words, other.words))
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        with_instructions!(self, _mm256_and_si256(self.words, other.words))
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        with_instructions!(self, _mm256_or_si256(self.words, other.words))
    }

    #[inline(always)]
    fn not_and(self, other: Self) -> Self {
        with_instructions!(self, _mm256_andnot_si256(self.words, other.words))
    }

    #[inline(always)]
    fn left<const BY: i32>(self) -> Self {
        with_instructions!(self, _mm256_slli_epi64::<BY>(self.words))
    }

    #[inline(always)]
    fn right(self, by: Self) -> Self {
        with_instructions!(self, _mm256_srlv_epi64(self.words, by.words))
    }
}
