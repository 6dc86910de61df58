//! The measured cost of a scan: nanoseconds to compare a word and a 16-bit piece of one row, in a batch and alone.
//!
//! It depends on the instruction set by a factor of ten. It is measured once per process and set, in less than two
//! milliseconds, on rows of which none passes the prefix test. Costs choose how to search, never what is found.

use std::sync::Mutex;
use std::time::Instant;

use super::{scan, tile};
use crate::cancel::CancelToken;
use crate::cpu::popcount::Kernel;

/// Nanoseconds of comparisons, by the kernel in use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScanCosts {
    /// One word of one row, in a batch.
    pub(crate) word: f64,
    /// One 16-bit piece of one row, in a batch; infinite for kernels without that form.
    pub(crate) piece: f64,
    /// One word of one row of several, for few queries.
    pub(crate) alone: f64,
}

/// Nanoseconds per word with AVX-512, on which the costs of counting entries of tables were fitted.
const FITTED_WORD: f64 = 0.04;

impl ScanCosts {
    /// Return how many times as long as with AVX-512 the kernel in use takes to count words, at least once.
    pub(crate) fn slowdown(self) -> f64 {
        (self.word / FITTED_WORD).clamp(1.0, 50.0)
    }

    /// Return the costs of the kernel in use, which are measured at the first call.
    pub(crate) fn get() -> Self {
        static MEASURED: Mutex<Vec<(Kernel, ScanCosts)>> = Mutex::new(Vec::new());
        let kernel = Kernel::best();
        let mut measured = MEASURED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, costs)) = measured.iter().find(|(other, _)| *other == kernel) {
            return *costs;
        }
        let costs = Self::measure(kernel);
        measured.push((kernel, costs));
        costs
    }

    /// Time scans of random rows, of which none passes the prefix test.
    fn measure(kernel: Kernel) -> Self {
        /// Rows of one tile of two words, and queries.
        const ROWS: usize = 1024;
        const QUERIES: usize = 32;
        let mut state = 1_u64;
        let mut random = |count: usize| -> Vec<u64> {
            let mut next = || {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
            };
            (0..count).map(|_| next()).collect()
        };
        let (rows, queries) = (random(2 * ROWS), random(2 * QUERIES));
        let nanoseconds = |words: usize, limit: u32, batch: usize| {
            let time = |_| {
                let (mut count, mut limits) = (Count { hits: 0, limit }, [limit; QUERIES]);
                let start = Instant::now();
                for queries in queries[..QUERIES * words].chunks(batch * words) {
                    let limits = &mut limits[..batch];
                    scan(kernel, words, &rows[..ROWS * words], 0, queries, limits, &CancelToken::default(), &mut count);
                }
                let time = start.elapsed().as_nanos() as f64;
                std::hint::black_box(count.hits);
                time / (ROWS * QUERIES) as f64
            };
            // The fastest of a few: others were interrupted.
            (0..5).map(time).fold(f64::INFINITY, f64::min)
        };
        let pieces = tile::enough_pieces(2, PIECES_LIMIT).filter(|_| kernel != Kernel::Scalar);
        Self {
            word: nanoseconds(1, WORD_LIMIT, QUERIES),
            piece: pieces.map_or(f64::INFINITY, |pieces| nanoseconds(2, PIECES_LIMIT, QUERIES) / pieces as f64),
            alone: nanoseconds(2, PIECES_LIMIT, 1) / 2.0,
        }
    }
}

/// The limit at which a word is timed: no prefix of it decides.
const WORD_LIMIT: u32 = 12;
/// The limit at which 16-bit pieces are timed: six of them decide about two words.
const PIECES_LIMIT: u32 = 25;

/// Counts hits.
struct Count {
    hits: usize,
    limit: u32,
}

impl tile::Sink for Count {
    fn hit(&mut self, _query: u32, _row: u32, _distance: u32) -> u32 {
        self.hits += 1;
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_costs_are_plausible() {
        for kernel in Kernel::available() {
            let costs = ScanCosts::measure(kernel);
            assert!([costs.word, costs.alone].iter().all(|cost| (1e-9..1000.0).contains(cost)), "{costs:?}");
            assert_eq!(kernel != Kernel::Scalar, costs.piece.is_finite());
        }
        assert_eq!(ScanCosts::get(), ScanCosts::get());
    }
}
