//! The 6-bit hash of one piece.
//!
//! ```text
//! h = 0x27 before the first byte;   h <- (19 h xor c) mod 64 for each byte c
//! ```
//!
//! Bits above the sixth never influence lower ones (multiplication and xor only carry upwards), so a state can use any
//! wider integer and be masked once at the end. Byte by byte this takes 4 cycles per byte; [`super::blocks`] processes
//! 64 bytes of several pieces at once.

use super::blocks::{AHEAD, BLOCK, States, all_at, pass_own, planes, state_of};
use crate::cpu::simd::{Simd, with_simd};

/// Number of pieces processed in parallel.
const LANES: usize = 8;
/// A piece, or the section of it in one buffer.
pub(super) struct PieceJob<'a> {
    /// Bytes to hash.
    pub(super) bytes: &'a [u8],
    /// State before them, then after them.
    pub(super) state: u8,
    /// Number of the piece, for the caller.
    pub(super) piece: usize,
}

/// Hash the bytes of all jobs. The states do not depend on the order; the longest come first to keep the lanes full.
pub(super) fn run(jobs: &mut [PieceJob<'_>]) {
    jobs.sort_unstable_by_key(|job| std::cmp::Reverse(job.bytes.len()));
    // SAFETY: the form is compiled for the instructions of `S`.
    with_simd!(S => unsafe { run_sorted::<S>(jobs) });
}

/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn run_sorted<S: Simd>(jobs: &mut [PieceJob<'_>]) {
    let mut lanes: [Option<usize>; LANES] = [None; LANES];
    let mut rest: [&[u8]; LANES] = [&[]; LANES];
    let (mut states, mut last): (States<LANES>, _) = (all_at(0), [0; LANES]);
    let mut words: [States<LANES>; AHEAD] = [all_at(0); AHEAD];
    let mut next = 0;
    loop {
        for lane in 0..LANES {
            if rest[lane].is_empty() {
                if let Some(done) = lanes[lane].take() {
                    jobs[done].state = state_of(&states, lane);
                }
                if let Some(job) = jobs.get(next).filter(|job| !job.bytes.is_empty()) {
                    (lanes[lane], rest[lane]) = (Some(next), job.bytes);
                    states.iter_mut().zip(all_at::<1>(job.state)).for_each(|(row, bit)| row[lane] = bit[0]);
                    next += 1;
                }
            }
        }
        let Some(busy) = lanes.iter().rposition(Option::is_some) else { return };
        // A lane without a job processes zeros, and its state is discarded. All bits of some blocks are gathered first,
        // because a vector load right after a store to one of its lanes would stall.
        let left = rest[..=busy].iter().map(|rest| rest.len() / BLOCK).min().unwrap_or(0);
        for words in &mut words[..left.clamp(1, AHEAD)] {
            for lane in 0..=busy {
                let bits = if let Some((block, after)) = rest[lane].split_first_chunk() {
                    (rest[lane], last[lane]) = (after, BLOCK as u64 - 1);
                    // SAFETY: as for this function.
                    unsafe { planes::<S>(block) }
                } else {
                    let mut block = [0; BLOCK];
                    block[..rest[lane].len()].copy_from_slice(rest[lane]);
                    (last[lane], rest[lane]) = ((rest[lane].len() as u64).saturating_sub(1), &[]);
                    // SAFETY: as for this function.
                    unsafe { planes::<S>(&block) }
                };
                for (words, bits) in words.iter_mut().zip(bits) {
                    words[lane] = bits;
                }
            }
        }
        for words in &words[..left.clamp(1, AHEAD)] {
            pass_own(&mut states, busy + 1, words, &last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::INITIAL_STATE;
    use super::*;
    use proptest::prelude::*;

    fn one(bytes: &[u8]) -> u8 {
        bytes.iter().fold(INITIAL_STATE, |h, &c| h.wrapping_mul(19) ^ c) & 63
    }

    #[test]
    fn the_hash_is_fnv_1_cut_to_six_bits() {
        let fnv = b"Hello, World!\n".iter().fold(0x28021967u32, |h, &c| h.wrapping_mul(0x01000193) ^ u32::from(c));
        assert_eq!((fnv & 63) as u8, one(b"Hello, World!\n"));
    }

    proptest! {
        #[test]
        fn interleaved_pieces_hash_as_one_by_one(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..90), 0..40)) {
            let mut jobs: Vec<PieceJob<'_>> = pieces.iter().map(|p| PieceJob { bytes: p, state: INITIAL_STATE, piece: 0 }).collect();
            run(&mut jobs);
            for job in &jobs {
                prop_assert_eq!(one(job.bytes), job.state & 63);
            }
        }
    }
}
