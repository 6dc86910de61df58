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
pub(crate) fn scan(
    (kernel, pieces): (Kernel, usize),
    words: usize,
    rows: &[u64],
    first_row: u32,
    queries: &[u64],
    limits: &mut [u32],
    cancel: &CancelToken,
    sink: &mut dyn Sink,
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
                // SAFETY: `run` enables the instructions of the proof.
                || unsafe { tile.compare::<simd::Avx512>(pieces, queries, limits, sink) },
            ),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(proof) => proof.run(
                #[inline(always)]
                // SAFETY: `run` enables the instructions of the proof.
                || unsafe { tile.compare::<simd::Avx2>(pieces, queries, limits, sink) },
            ),
            #[cfg(target_arch = "aarch64")]
            // SAFETY: the proof; NEON is enabled in every function of this architecture.
            Kernel::Neon(_) => unsafe { tile.compare::<simd::Neon>(pieces, queries, limits, sink) },
            // SAFETY: scalar operations need no instructions.
            _ => unsafe { tile.compare::<simd::Scalar>(pieces, queries, limits, sink) },
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
    /// Compare every query with the tile.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the caller enables them.
    ///
    /// # Panics
    /// Unless `columns` holds `pieces * stride` pieces, and `stride` is a multiple of `BRANCH`.
    #[inline(always)]
    unsafe fn compare<S: Simd>(&self, pieces: usize, queries: &[u64], limits: &mut [u32], sink: &mut dyn Sink) {
        assert!(self.columns.len() >= pieces * self.stride && self.stride.is_multiple_of(BRANCH), "whole columns");
        for (number, query) in queries.chunks_exact(self.words).enumerate() {
            let limit = &mut limits[number];
            let piece = |j: usize| (query[j / 4] >> (16 * (j % 4))) as u16;
            // SAFETY: the caller guarantees the instructions; column j has `stride` pieces, of which `BRANCH` from `at`
            // are read.
            unsafe {
                let mut values = [S::splat16(0); MAX_PIECES];
                for (j, value) in values[..pieces].iter_mut().enumerate() {
                    *value = S::splat16(piece(j));
                }
                // At most 192 bits are counted, so a larger limit excludes nothing.
                let mut bound = S::splat16((*limit).min(1024) as u16);
                for at in (0..self.stride).step_by(BRANCH) {
                    let mut sums = [S::splat16(0); 2];
                    for (j, &value) in values[..pieces].iter().enumerate() {
                        let column = self.columns.as_ptr().add(j * self.stride + at);
                        for (half, sum) in sums.iter_mut().enumerate() {
                            let rows = S::load(column.add(half * LANES).cast());
                            *sum = S::add16(*sum, S::popcount16(S::xor(rows, value)));
                        }
                    }
                    if S::at_most16(S::min16(sums[0], sums[1]), bound) == 0 {
                        continue;
                    }
                    let masks = [S::at_most16(sums[0], bound), S::at_most16(sums[1], bound), 0, 0];
                    *limit = emit(&masks, LANES, at, self.rows, self.words, query, number, self.first, *limit, sink);
                    bound = S::splat16((*limit).min(1024) as u16);
                }
            }
        }
    }
}
