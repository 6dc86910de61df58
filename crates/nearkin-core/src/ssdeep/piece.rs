//! The 6-bit hash of one piece.
//!
//! ```text
//! h = 0x27 before the first byte;   h <- (19 h xor c) mod 64 for each byte c
//! ```
//!
//! Bits above the sixth never influence lower ones (multiplication and xor carry upwards only), so states are kept in
//! any wider integer and masked once at the end. Sequential: 4 cycles per byte for one piece; many pieces at a time
//! hide that.

/// State before the first byte of a piece.
pub(super) const START: u8 = 0x27;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The character of a state.
#[inline]
pub(super) fn character(state: u8) -> u8 {
    ALPHABET[usize::from(state & 63)]
}

/// How many pieces run at once: four cycles of latency times one multiplication a cycle, and as many as have registers.
const LANES: usize = 6;

/// A piece, or the part of it that lies in one buffer.
pub(super) struct PieceJob<'a> {
    /// Bytes to take in.
    pub(super) bytes: &'a [u8],
    /// State before them, then after them.
    pub(super) state: u8,
    /// Which piece it is, to its owner.
    pub(super) piece: usize,
}

/// Takes in the bytes of all jobs. Order does not matter to the states; the longest go first so that lanes stay full.
pub(super) fn run(jobs: &mut [PieceJob<'_>]) {
    jobs.sort_unstable_by_key(|job| std::cmp::Reverse(job.bytes.len()));
    let mut lanes: [Option<usize>; LANES] = [None; LANES];
    let mut rest: [&[u8]; LANES] = [&[]; LANES];
    let mut states = [0u32; LANES];
    let mut next = 0;
    loop {
        let mut step = usize::MAX;
        for lane in 0..LANES {
            if rest[lane].is_empty() {
                if let Some(done) = lanes[lane].take() {
                    jobs[done].state = (states[lane] & 63) as u8;
                }
                if next < jobs.len() && !jobs[next].bytes.is_empty() {
                    (lanes[lane], rest[lane], states[lane]) =
                        (Some(next), jobs[next].bytes, u32::from(jobs[next].state));
                    next += 1;
                }
            }
            if lanes[lane].is_some() {
                step = step.min(rest[lane].len());
            }
        }
        if step == usize::MAX {
            return;
        }
        // A lane without a job reads along with a busy one; its state is thrown away.
        let busy = lanes.iter().position(Option::is_some).unwrap_or(0);
        let now: [&[u8]; LANES] =
            std::array::from_fn(|lane| &rest[if lanes[lane].is_some() { lane } else { busy }][..step]);
        #[allow(clippy::needless_range_loop, reason = "six slices advance together")]
        for at in 0..step {
            for lane in 0..LANES {
                states[lane] = states[lane].wrapping_mul(19) ^ u32::from(now[lane][at]);
            }
        }
        for lane in 0..LANES {
            if lanes[lane].is_some() {
                rest[lane] = &rest[lane][step..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(bytes: &[u8]) -> u8 {
        bytes.iter().fold(START, |h, &c| h.wrapping_mul(19) ^ c) & 63
    }

    #[test]
    fn the_hash_is_fnv_1_cut_to_six_bits() {
        let fnv = b"Hello, World!\n".iter().fold(0x28021967u32, |h, &c| h.wrapping_mul(0x01000193) ^ u32::from(c));
        assert_eq!((fnv & 63) as u8, one(b"Hello, World!\n"));
    }

    proptest! {
        #[test]
        fn interleaved_pieces_hash_as_one_by_one(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..90), 0..40)) {
            let mut jobs: Vec<PieceJob<'_>> = pieces.iter().map(|p| PieceJob { bytes: p, state: START, piece: 0 }).collect();
            run(&mut jobs);
            for job in &jobs {
                prop_assert_eq!(one(job.bytes), job.state & 63);
            }
        }
    }
}
