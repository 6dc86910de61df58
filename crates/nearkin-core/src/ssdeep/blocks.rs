//! The states of pieces after each of 64 bytes, bit by bit.
//!
//! 19 h = h + 2 h + 16 h, so that bit i of the next state is bit i of this one, changed by lower bits alone:
//!
//! ```text
//! h0' = h0 ^ c0                      h3' = h3 ^ h2 ^ k3 ^ c3             k3 = h1 & (h2 | h0)
//! h1' = h1 ^ h0 ^ c1                 h4' = h4 ^ m ^ c4, m = h3 ^ k4 ^ h0   k4 = majority(h3, h2, k3)
//! h2' = h2 ^ (h1 & !h0) ^ c2         h5' = h5 ^ h4 ^ k5 ^ h1 ^ k ^ c5     k5 = majority(h4, h3, k4)
//! ```
//!
//! with k = (h4 ^ h3 ^ k4) & h0, what h0 carries into bit 5. So bit i after all 64 bytes is a running xor of a word that the
//! bits below it give, and a running xor takes six shifts. Where a piece ends the running xor begins anew. No step waits
//! for a single byte, and several levels run side by side: one to two cycles per byte for four of them, where the hash
//! itself takes four cycles per byte and piece.

use super::PIECES;
use super::piece::{START, character};

/// Positions of a block.
pub(super) const BLOCK: usize = 64;

/// Levels that run side by side.
pub(super) const SIDE: usize = 4;

/// Bits of a state.
const BITS: usize = 6;

/// Bit i of all bytes of a block in word i.
pub(super) type Planes = [u64; BITS];

/// The lowest six bits of 64 bytes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the loops over blocks")]
pub(super) fn planes(bytes: &[u8; BLOCK]) -> Planes {
    std::array::from_fn(|bit| word_of_bits(bytes, bit as u32))
}

/// Bit `bit` of each byte.
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the loops over blocks")]
pub(super) fn word_of_bits(bytes: &[u8; BLOCK], bit: u32) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_movemask_epi8, _mm_set_epi64x};
        let mut all = 0;
        for (part, sixteen) in bytes.as_chunks::<16>().0.iter().enumerate() {
            let half = |from: usize| {
                let eight = std::array::from_fn(|i| sixteen[from + i]);
                (u64::from_le_bytes(eight) << (7 - bit)).cast_signed()
            };
            // SAFETY: SSE2 is part of every x86-64 processor.
            let mask = unsafe { _mm_movemask_epi8(_mm_set_epi64x(half(8), half(0))) };
            all |= u64::from(mask.cast_unsigned()) << (16 * part);
        }
        all
    }
    #[cfg(not(target_arch = "x86_64"))]
    gathered(bytes, bit)
}

/// The same in plain words: a multiplication brings the eight bits together.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn gathered(bytes: &[u8; BLOCK], bit: u32) -> u64 {
    bytes.as_chunks::<8>().0.iter().rev().fold(0, |all, eight| {
        let bits = (u64::from_le_bytes(*eight) >> bit) & 0x0101_0101_0101_0101;
        (all << 8) | (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56)
    })
}

/// States that run side by side through a block.
pub(super) struct Side {
    /// Each before the first byte, then after the last.
    pub(super) states: [u64; SIDE],
    /// Where each begins anew: after the bytes whose bit is set.
    pub(super) restarts: [u64; SIDE],
    /// Bit i of each after each byte, before it begins anew.
    bits: [[u64; SIDE]; BITS],
}

impl Side {
    pub(super) fn new() -> Self {
        Self { states: [START.into(); SIDE], restarts: [0; SIDE], bits: [[0; SIDE]; BITS] }
    }

    /// Takes in the first `length` bytes of a block, 1 to 64.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it must be compiled with the instruction set of its caller")]
    pub(super) fn advance(&mut self, planes: &Planes, length: usize) {
        if self.restarts == [0; SIDE] {
            self.lanes::<false>(planes, length);
        } else {
            self.lanes::<true>(planes, length);
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the above")]
    fn lanes<const CUT: bool>(&mut self, planes: &Planes, length: usize) {
        let last = length as u32 - 1;
        for lane in 0..SIDE {
            let (state, restarts) = (self.states[lane], self.restarts[lane]);
            let bits = lane_bits::<CUT>(planes, state, restarts);
            let mut after = 0;
            for (i, word) in bits.iter().enumerate() {
                self.bits[i][lane] = *word;
                after |= ((word >> last) & 1) << i;
            }
            self.states[lane] = if CUT && (restarts >> last) & 1 == 1 { START.into() } else { after };
        }
    }

    /// The state of a lane after the byte at a position.
    pub(super) fn state(&self, lane: usize, position: u32) -> u8 {
        self.bits.iter().rev().fold(0, |state, words| (state << 1) | ((words[lane] >> position) & 1) as u8)
    }
}

/// Takes a whole block in which nothing begins anew into states that run side by side.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it must be compiled with the instruction set of its caller")]
pub(super) fn pass(states: &mut [u64; SIDE], planes: &Planes) {
    for state in states {
        let bits = lane_bits::<false>(planes, *state, 0);
        *state = bits.iter().rev().fold(0, |state, word| (state << 1) | (word >> 63));
    }
}

/// Bits of the states after each byte.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the loop over lanes becomes one of vectors")]
fn lane_bits<const CUT: bool>(c: &Planes, state: u64, restarts: u64) -> Planes {
    let starts = if CUT { restarts << 1 } else { 0 };
    // Bit t of `open[i]`: no piece begins in the 2^i bytes up to t.
    let mut open = [!starts; BITS];
    for i in 1..BITS {
        open[i] = open[i - 1] & (open[i - 1] << (1 << (i - 1)));
    }
    // From what changes a bit at each byte to the bit after each byte, and before it.
    let run = |changes: u64, bit: usize| {
        let first = (state >> bit) & 1;
        let begin = if (START >> bit) & 1 == 1 { starts } else { 0 };
        let mut after = changes ^ first ^ begin;
        for (i, open) in open.iter().enumerate() {
            let before = after << (1 << i);
            after ^= if CUT { before & open } else { before };
        }
        let before = (after << 1) | first;
        (after, if CUT { (before & open[0]) | begin } else { before })
    };
    let (a0, h0) = run(c[0], 0);
    let (a1, h1) = run(h0 ^ c[1], 1);
    let (a2, h2) = run((h1 & !h0) ^ c[2], 2);
    let k3 = h1 & (h2 | h0);
    let (a3, h3) = run(h2 ^ k3 ^ c[3], 3);
    let k4 = (h3 & h2) | (k3 & (h3 | h2));
    let (a4, h4) = run(h3 ^ k4 ^ h0 ^ c[4], 4);
    let k5 = (h4 & h3) | (k4 & (h4 | h3));
    let carry = (h4 ^ h3 ^ k4) & h0;
    let (a5, _) = run(h4 ^ k5 ^ h1 ^ carry ^ c[5], 5);
    [a0, a1, a2, a3, a4, a5]
}

/// The characters of a part in the making.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    /// Reset points that were counted.
    pub(super) count: usize,
    characters: [u8; PIECES],
    /// The character at the last reset point beyond the counted ones.
    pub(super) pending: Option<u8>,
}

impl Pieces {
    pub(super) const fn new() -> Self {
        Self { count: 0, characters: [0; PIECES], pending: None }
    }

    /// Those of the next reset points that count if `cap` of all do: the first ones.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the loops over blocks")]
    pub(super) fn counted(&self, marks: u64, cap: usize) -> u64 {
        let room = cap.saturating_sub(self.count);
        if marks.count_ones() as usize <= room {
            return marks;
        }
        let mut rest = marks;
        for _ in 0..room {
            rest &= rest - 1;
        }
        marks ^ rest
    }

    /// Takes in a block whose reset points are `marks`, of which the counted ones made the lane begin anew.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the loops over blocks")]
    pub(super) fn take(&mut self, side: &Side, lane: usize, marks: u64) {
        let mut counted = side.restarts[lane];
        let beyond = marks ^ counted;
        while counted != 0 {
            self.characters[self.count] = character(side.state(lane, counted.trailing_zeros()));
            self.count += 1;
            counted &= counted - 1;
        }
        if beyond != 0 {
            self.pending = Some(character(side.state(lane, beyond.ilog2())));
        }
    }

    /// The part: the first `cap` characters, then that of the state after the last byte, or where there is none (S = 0 at
    /// the end), of the last reset point beyond them.
    pub(super) fn part(&self, cap: usize, tail: Option<u8>) -> Vec<u8> {
        let mut part = self.characters[..self.count.min(cap)].to_vec();
        part.extend(tail.map(character).or(self.pending));
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::features::Instructions;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn states_of_a_block_are_those_of_its_bytes(
            bytes: [u8; BLOCK], states: [u8; SIDE], some: [u64; SIDE], fewer: [u64; SIDE], cuts: [bool; SIDE],
            length in 1usize..=BLOCK,
        ) {
            let mut side = Side::new();
            side.states = states.map(|state| u64::from(state & 63));
            side.restarts = std::array::from_fn(|lane| if cuts[lane] { some[lane] & fewer[lane] } else { 0 });
            let restarts = side.restarts;
            Instructions::best().run(
                #[inline(always)]
                || side.advance(&planes(&bytes), length),
            );
            for lane in 0..SIDE {
                let mut state = states[lane];
                for (position, byte) in bytes[..length].iter().enumerate() {
                    state = (state.wrapping_mul(19) ^ byte) & 63;
                    prop_assert_eq!(state, side.state(lane, position as u32));
                    if (restarts[lane] >> position) & 1 == 1 {
                        state = START;
                    }
                }
                prop_assert_eq!(u64::from(state), side.states[lane]);
            }
            let mut passed = states.map(|state| u64::from(state & 63));
            pass(&mut passed, &planes(&bytes));
            for (state, passed) in states.into_iter().zip(passed) {
                let expected = bytes.iter().fold(state, |state, byte| (state.wrapping_mul(19) ^ byte) & 63);
                prop_assert_eq!(u64::from(expected), passed);
            }
        }

        #[test]
        fn bits_are_gathered_in_order(bytes: [u8; BLOCK], bit in 0u32..8) {
            let expected = bytes.iter().enumerate().fold(0, |all, (i, byte)| all | u64::from((byte >> bit) & 1) << i);
            prop_assert_eq!(expected, word_of_bits(&bytes, bit));
            prop_assert_eq!(expected, gathered(&bytes, bit));
        }
    }
}
