//! Shared parts of all forms of the scan: the tile, the prefix test, and the sink for matches.

use crate::cpu::popcount::{GROUP, distance};

/// Receives the matches of a scan.
pub(crate) trait Sink {
    /// Take a row within the query's limit; return the query's new limit, never above the one before.
    fn hit(&mut self, query: u32, row: u32, distance: u32) -> u32;

    /// Prefetch what a hit of this row will read.
    #[inline]
    fn expect(&self, _row: u32) {}
}

/// A sink that collects hits within a fixed radius.
pub(crate) struct Collector<T, F> {
    /// What was collected.
    pub(crate) value: T,
    radius: u32,
    on_hit: F,
}

impl<T, F: FnMut(&mut T, u32, u32, u32)> Collector<T, F> {
    /// Create a collector that calls `on_hit` with its value, the query, the row and the distance.
    pub(crate) fn new(value: T, radius: u32, on_hit: F) -> Self {
        Self { value, radius, on_hit }
    }
}

impl<T, F: FnMut(&mut T, u32, u32, u32)> Sink for Collector<T, F> {
    fn hit(&mut self, query: u32, row: u32, distance: u32) -> u32 {
        (self.on_hit)(&mut self.value, query, row, distance);
        self.radius
    }
}

/// Words of a tile: 16 KiB, half of the smallest first-level cache in use.
pub(crate) const TILE_WORDS: usize = 2048;
/// Largest limit for which the first 32 bits are tested alone: P(pass) = 0.03% for a random row, 2% for the 64
/// rows of a branch; at 7 and 8 it is 7% and 20%, and the branch costs more than the test saves.
const HALF_LIMIT: u32 = 6;

/// Return true if the first `bits` bits of random rows nearly always exceed `limit`.
fn worth_a_test(bits: usize, limit: u32) -> bool {
    let bits = bits as f64;
    bits / 2.0 - 1.3 * bits.sqrt() > f64::from(limit)
}

/// Return the number of leading words after which the distance so far is first compared with the limit.
pub(crate) fn first_test(words: usize, limit: u32) -> usize {
    (1..words).find(|&word| worth_a_test(64 * word, limit)).unwrap_or(words)
}

/// Maximum number of 16-bit pieces of a prefix: the query's are kept in registers.
pub(crate) const MAX_PIECES: usize = 12;

/// Return the number of 16-bit pieces in a prefix that nearly all rows fail at this limit, if it is below the total;
/// see `quarters.rs`.
pub(crate) fn enough_pieces(words: usize, limit: u32) -> Option<usize> {
    let decides = |&pieces: &usize| {
        let bits = 16.0 * pieces as f64;
        0.44 * bits - 1.45 * bits.sqrt() > f64::from(limit) || (pieces == 2 && limit <= HALF_LIMIT)
    };
    (2..=MAX_PIECES.min(4 * words - 1)).find(decides)
}

/// Count the rows of the set mask bits in full and call the sink for those within the limit; return the new limit.
#[inline(never)]
#[allow(clippy::too_many_arguments, reason = "called from two loops that hold all of it in registers")]
pub(crate) fn emit(
    masks: &[u32; GROUP],
    lanes: usize,
    at: usize,
    rows: &[u64],
    words: usize,
    query: &[u64],
    number: usize,
    first: u32,
    mut limit: u32,
    sink: &mut dyn Sink,
) -> u32 {
    for (vector, &mask) in masks.iter().enumerate() {
        let mut mask = mask;
        while mask != 0 {
            let row = at + vector * lanes + mask.trailing_zeros() as usize;
            mask &= mask - 1;
            // Lanes after the last row are padding.
            if let Some(candidate) = rows.get(row * words..(row + 1) * words) {
                let distance = distance(candidate, query);
                if distance <= limit {
                    limit = sink.hit(number as u32, first + row as u32, distance);
                }
            }
        }
    }
    limit
}

/// Transpose: `tile[j * stride + i] = rows[i * words + j]`; positions after the rows are unchanged.
pub(crate) fn transpose(rows: &[u64], tile: &mut [u64], words: usize, stride: usize) {
    for (i, row) in rows.chunks_exact(words).enumerate() {
        for (j, &word) in row.iter().enumerate() {
            tile[j * stride + i] = word;
        }
    }
}
