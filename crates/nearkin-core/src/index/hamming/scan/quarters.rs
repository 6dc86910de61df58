//! The prefix test of the scan in 16-bit lanes, 32 rows per vector, for processors with AVX-512 BITALG.
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

use std::arch::x86_64::{
    __m512i, _mm512_add_epi16, _mm512_cmple_epu16_mask, _mm512_loadu_si512, _mm512_min_epu16, _mm512_popcnt_epi16,
    _mm512_set1_epi16, _mm512_xor_si512,
};

use super::tile::{MAX_PIECES, Sink, TILE_WORDS, emit};
use crate::cancel::CancelToken;
use crate::cpu::features::Avx512Bits;

/// Rows of a vector, and of a branch.
const LANES: usize = 32;
const BRANCH: usize = 2 * LANES;

/// Run [`super::scan`] with the first `pieces` pieces as the prefix, on a processor with the proof.
///
/// # Panics
/// If `pieces` is not from [`enough_pieces`](super::tile::enough_pieces).
#[allow(clippy::too_many_arguments, reason = "those of `super::scan`")]
pub(crate) fn scan<S: Sink>(
    (_proof, pieces): (Avx512Bits, usize),
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
        // SAFETY: the caller has the proof.
        unsafe {
            match pieces {
                3 => tile.meet::<3, S>(queries, limits, sink),
                4 => tile.meet::<4, S>(queries, limits, sink),
                5 => tile.meet::<5, S>(queries, limits, sink),
                6 => tile.meet::<6, S>(queries, limits, sink),
                7 => tile.meet::<7, S>(queries, limits, sink),
                8 => tile.meet::<8, S>(queries, limits, sink),
                9 => tile.meet::<9, S>(queries, limits, sink),
                10 => tile.meet::<10, S>(queries, limits, sink),
                11 => tile.meet::<11, S>(queries, limits, sink),
                12 => tile.meet::<12, S>(queries, limits, sink),
                other => panic!("{other} pieces, 3 to {MAX_PIECES} are compiled"),
            }
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
    /// Every query against the tile.
    ///
    /// # Panics
    /// Unless `columns` holds `PIECES * stride` pieces, and `stride` is a multiple of `BRANCH`.
    #[target_feature(
        enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi1,bmi2,popcnt"
    )]
    fn meet<const PIECES: usize, S: Sink>(&self, queries: &[u64], limits: &mut [u32], sink: &mut S) {
        assert!(self.columns.len() >= PIECES * self.stride && self.stride.is_multiple_of(BRANCH), "whole columns");
        let count = |from: *const u16, piece: __m512i| {
            // SAFETY: the callers below own 32 pieces from there.
            _mm512_popcnt_epi16(_mm512_xor_si512(unsafe { _mm512_loadu_si512(from.cast()) }, piece))
        };
        for (number, query) in queries.chunks_exact(self.words).enumerate() {
            let limit = &mut limits[number];
            let value: [__m512i; PIECES] =
                std::array::from_fn(|j| _mm512_set1_epi16((query[j / 4] >> (16 * (j % 4))) as i16));
            // At most 192 bits are counted, so a larger limit excludes nothing.
            let mut bound = _mm512_set1_epi16((*limit).min(1024) as i16);
            for at in (0..self.stride).step_by(BRANCH) {
                let mut sums = [bound; 2];
                for (j, &value) in value.iter().enumerate() {
                    // SAFETY: column j has `stride` pieces; `BRANCH` from `at` are read.
                    let column = unsafe { self.columns.as_ptr().add(j * self.stride + at) };
                    // SAFETY: as above.
                    let counts = [count(column, value), count(unsafe { column.add(LANES) }, value)];
                    sums = match j {
                        0 => counts,
                        _ => [_mm512_add_epi16(sums[0], counts[0]), _mm512_add_epi16(sums[1], counts[1])],
                    };
                }
                if _mm512_cmple_epu16_mask(_mm512_min_epu16(sums[0], sums[1]), bound) == 0 {
                    continue;
                }
                let masks = [_mm512_cmple_epu16_mask(sums[0], bound), _mm512_cmple_epu16_mask(sums[1], bound), 0, 0];
                *limit = emit::<S>(&masks, LANES, at, self.rows, self.words, query, number, self.first, *limit, sink);
                bound = _mm512_set1_epi16((*limit).min(1024) as i16);
            }
        }
    }
}
