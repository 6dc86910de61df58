//! The prefix test of the scan in 16-bit lanes, 32 rows per vector.
//!
//! A prefix in full words counts more bits than the limit needs: for 25 of 128 bits the first word decides too little
//! and two words are everything, but 96 bits would do. Rows are packed in columns of 16-bit pieces; the first `pieces`
//! columns are counted, two vectors of rows per branch, and rows that pass are counted in full.
//!
//! For random rows the distance of b bits is binomial, mean b/2, deviation sqrt(b)/2; fingerprints of texts of one
//! language share features and are closer, about 0.44 b. The prefix is the shortest with `0.44 b - 2.9 sqrt(b)/2 >
//! limit`, so that a row of that kind passes with probability 0.2% and a random one hardly ever: an unpredictable
//! branch costs more than the bits saved. Cost: three operations per piece and 32 rows, compared with twelve per word
//! in 64-bit lanes; measured on 160,000 fingerprints of 128 bits, limit 25: 21 billion comparisons per second, 14 in
//! 64-bit lanes. The scan is exact for all data, because the distance of a prefix is at most the full distance.

use super::tile::{MAX_PIECES, Sink, TILE_WORDS, emit};
use crate::cancel::CancelToken;
use crate::cpu::popcount::Kernel;
use crate::cpu::simd::{self, Simd};

/// Rows of a vector, and of a branch.
const LANES: usize = 32;
const BRANCH: usize = 2 * LANES;

/// Run [`super::scan`] with the first `pieces` pieces as the prefix.
///
/// # Panics
/// If `pieces` is not from [`enough_pieces`](super::tile::enough_pieces).
#[allow(clippy::too_many_arguments, reason = "those of `super::scan`")]
pub(crate) fn scan<S: Sink>(
    (kernel, pieces): (Kernel, usize),
    words: usize,
    rows: &[u64],
    first_row: u32,
    queries: &[u64],
    limits: &mut [u32],
    cancel: &CancelToken,
    sink: &mut S,
) {
    let tile_rows = (4 * TILE_WORDS / pieces).next_multiple_of(BRANCH);
    let mut tile = vec![0_u16; tile_rows * pieces];
    for (number, rows) in rows.chunks(tile_rows * words).enumerate().take_while(|_| !cancel.is_set()) {
        let stride = (rows.len() / words).next_multiple_of(BRANCH);
        pack(rows, words, stride, &mut tile[..stride * pieces]);
        let tile = Tile { words, rows, first: first_row + (number * tile_rows) as u32, stride, columns: &tile };
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(proof) => proof.run(
                #[inline(always)]
                || tile.compare_all::<simd::Avx512, _>(pieces, queries, limits, sink),
            ),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(proof) => proof.run(
                #[inline(always)]
                || tile.compare_all::<simd::Avx2, _>(pieces, queries, limits, sink),
            ),
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon(_) => tile.compare_all::<simd::Neon, _>(pieces, queries, limits, sink),
            _ => tile.compare_all::<simd::Scalar, _>(pieces, queries, limits, sink),
        }
    }
}

/// Write piece j of row i to `columns[j * stride + i]`; positions after the rows are unchanged.
fn pack(rows: &[u64], words: usize, stride: usize, columns: &mut [u16]) {
    for (j, column) in columns.chunks_exact_mut(stride).enumerate() {
        for (piece, row) in column.iter_mut().zip(rows.chunks_exact(words)) {
            *piece = (row[j / 4] >> (16 * (j % 4))) as u16;
        }
    }
}

struct Tile<'a> {
    words: usize,
    rows: &'a [u64],
    first: u32,
    stride: usize,
    columns: &'a [u16],
}

impl Tile<'_> {
    /// Compare every query with the tile; compiled for the instructions of `S`.
    ///
    /// # Panics
    /// As for [`scan`].
    #[inline(always)]
    fn compare_all<S: Simd, K: Sink>(&self, pieces: usize, queries: &[u64], limits: &mut [u32], sink: &mut K) {
        // SAFETY: the caller is compiled for the instructions of `S`.
        unsafe {
            match pieces {
                3 => self.compare::<S, 3, K>(queries, limits, sink),
                4 => self.compare::<S, 4, K>(queries, limits, sink),
                5 => self.compare::<S, 5, K>(queries, limits, sink),
                6 => self.compare::<S, 6, K>(queries, limits, sink),
                7 => self.compare::<S, 7, K>(queries, limits, sink),
                8 => self.compare::<S, 8, K>(queries, limits, sink),
                9 => self.compare::<S, 9, K>(queries, limits, sink),
                10 => self.compare::<S, 10, K>(queries, limits, sink),
                11 => self.compare::<S, 11, K>(queries, limits, sink),
                12 => self.compare::<S, 12, K>(queries, limits, sink),
                other => panic!("{other} pieces, 3 to {MAX_PIECES} are compiled"),
            }
        }
    }

    /// Compare every query with the tile.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the caller enables them.
    ///
    /// # Panics
    /// Unless `columns` holds `PIECES * stride` pieces, and `stride` is a multiple of `BRANCH`.
    #[inline(always)]
    unsafe fn compare<S: Simd, const PIECES: usize, K: Sink>(&self, queries: &[u64], limits: &mut [u32], sink: &mut K) {
        assert!(self.columns.len() >= PIECES * self.stride && self.stride.is_multiple_of(BRANCH), "whole columns");
        for (number, query) in queries.chunks_exact(self.words).enumerate() {
            let limit = &mut limits[number];
            let piece = |j: usize| (query[j / 4] >> (16 * (j % 4))) as u16;
            // SAFETY: the caller guarantees the instructions; column j has `stride` pieces, of which `BRANCH` from `at`
            // are read.
            unsafe {
                let mut value = [S::splat16(0); PIECES];
                for (j, value) in value.iter_mut().enumerate() {
                    *value = S::splat16(piece(j));
                }
                // At most 192 bits are counted, so a larger limit excludes nothing.
                let mut bound = S::splat16((*limit).min(1024) as u16);
                for at in (0..self.stride).step_by(BRANCH) {
                    let mut sums = [bound; 2];
                    for (j, &value) in value.iter().enumerate() {
                        let column = self.columns.as_ptr().add(j * self.stride + at);
                        for (half, sum) in sums.iter_mut().enumerate() {
                            let rows = S::load(column.add(half * LANES).cast());
                            let count = S::popcount16(S::xor(rows, value));
                            *sum = if j == 0 { count } else { S::add16(*sum, count) };
                        }
                    }
                    if S::at_most16(S::min16(sums[0], sums[1]), bound) == 0 {
                        continue;
                    }
                    let masks = [S::at_most16(sums[0], bound), S::at_most16(sums[1], bound), 0, 0];
                    *limit =
                        emit::<K>(&masks, LANES, at, self.rows, self.words, query, number, self.first, *limit, sink);
                    bound = S::splat16((*limit).min(1024) as u16);
                }
            }
        }
    }
}
