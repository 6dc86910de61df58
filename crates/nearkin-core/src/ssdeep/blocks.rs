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
#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx512;

/// Positions of a block.
pub(super) const BLOCK: usize = 64;

/// Levels that run side by side.
pub(super) const SIDE: usize = 4;

/// Blocks that are taken in together.
pub(super) const AHEAD: usize = 8;

/// Bits of a state.
pub(super) const BITS: usize = 6;

/// Bit i of all bytes of a block in word i.
pub(super) type Planes = [u64; BITS];

/// The lowest six bits of 64 bytes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the loops over blocks")]
pub(super) fn planes(bytes: &[u8; BLOCK]) -> Planes {
    words_of_bits(bytes)
}

/// The lowest bits of each byte: bit i of all of them in word i.
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the loops over blocks")]
pub(super) fn words_of_bits<const WORDS: usize>(bytes: &[u8; BLOCK]) -> [u64; WORDS] {
    #[cfg(target_arch = "x86_64")]
    if Avx512::detect().is_some() {
        // SAFETY: the proof was found just now.
        return unsafe { words_avx512(bytes) };
    }
    words_of_sixteen(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
#[inline]
fn words_avx512<const WORDS: usize>(bytes: &[u8; BLOCK]) -> [u64; WORDS] {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_set1_epi8, _mm512_test_epi8_mask};
    // SAFETY: the array has 64 bytes.
    let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
    std::array::from_fn(|bit| _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(1 << bit)))
}

/// Sixteen bytes at a time, as every x86-64 processor has them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the loops over blocks")]
fn words_of_sixteen<const WORDS: usize>(bytes: &[u8; BLOCK]) -> [u64; WORDS] {
    use std::arch::x86_64::{_mm_movemask_epi8, _mm_set_epi64x};
    std::array::from_fn(|bit| {
        bytes.as_chunks::<16>().0.iter().rev().fold(0, |all, sixteen| {
            let half = |from: usize| {
                let eight = std::array::from_fn(|i| sixteen[from + i]);
                (u64::from_le_bytes(eight) << (7 - bit)).cast_signed()
            };
            // SAFETY: SSE2 is part of every x86-64 processor.
            let mask = unsafe { _mm_movemask_epi8(_mm_set_epi64x(half(8), half(0))) };
            (all << 16) | u64::from(mask.cast_unsigned())
        })
    })
}

#[cfg(not(target_arch = "x86_64"))]
use gathered as words_of_sixteen;

/// The same in plain words: a multiplication brings the eight bits together.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn gathered<const WORDS: usize>(bytes: &[u8; BLOCK]) -> [u64; WORDS] {
    std::array::from_fn(|bit| {
        bytes.as_chunks::<8>().0.iter().rev().fold(0, |all, eight| {
            let bits = (u64::from_le_bytes(*eight) >> bit) & 0x0101_0101_0101_0101;
            (all << 8) | (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56)
        })
    })
}

/// States that run side by side: bit i of each in row i. A step needs the lower bits alone, so that the next block begins
/// before this one is done.
pub(super) type States<const LANES: usize> = [[u64; LANES]; BITS];

/// The same state in all lanes.
pub(super) fn all_at<const LANES: usize>(state: u8) -> States<LANES> {
    std::array::from_fn(|bit| [u64::from(state >> bit) & 1; LANES])
}

/// One of the states.
pub(super) fn state_of<const LANES: usize>(states: &States<LANES>, lane: usize) -> u8 {
    states.iter().rev().fold(0, |state, row| (state << 1) | row[lane] as u8)
}

/// Takes a block in which nothing begins anew into `count` states from `first` on, and up to three beyond.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it must be compiled with the instruction set of its caller")]
pub(super) fn pass<const LANES: usize>(states: &mut States<LANES>, first: usize, count: usize, planes: &Planes) {
    let lanes = whole_groups(count);
    let rows = states.each_mut().map(|row| &mut row[first..first + lanes]);
    for lane in 0..lanes {
        let bits = lane_bits::<false>(planes, std::array::from_fn(|bit| rows[bit][lane]), 0);
        for bit in 0..BITS {
            rows[bit][lane] = bits[bit] >> (BLOCK - 1);
        }
    }
}

/// Takes into each of the first `count` states, and up to three more, the block of its own whose bit i of all bytes is in
/// row i, up to byte `last`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it must be compiled with the instruction set of its caller")]
pub(super) fn pass_own<const LANES: usize>(
    states: &mut States<LANES>,
    count: usize,
    planes: &States<LANES>,
    last: &[u64; LANES],
) {
    let lanes = whole_groups(count);
    let (planes, last) = (planes.each_ref().map(|row| &row[..lanes]), &last[..lanes]);
    let rows = states.each_mut().map(|row| &mut row[..lanes]);
    for lane in 0..lanes {
        let bits = lane_bits::<false>(&planes.map(|row| row[lane]), std::array::from_fn(|bit| rows[bit][lane]), 0);
        for bit in 0..BITS {
            rows[bit][lane] = (bits[bit] >> last[lane]) & 1;
        }
    }
}

/// Lanes for so many states. The compiler sees a number that it does not know, of whole groups, and makes one vector of
/// each group; known numbers it unrolls, and finds no vectors then.
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the above")]
fn whole_groups(count: usize) -> usize {
    std::hint::black_box(count).div_ceil(SIDE) * SIDE
}

/// States that run side by side through blocks in which they begin anew. What one lane writes is read by all of them some
/// blocks later: at once it would have to wait.
pub(super) struct Side {
    /// Where each begins anew in each block: after the bytes whose bit is set.
    pub(super) restarts: [[u64; SIDE]; AHEAD],
    /// Bits after each byte of each block, before it begins anew.
    bits: [States<SIDE>; AHEAD],
}

impl Side {
    pub(super) fn new() -> Self {
        Self { restarts: [[0; SIDE]; AHEAD], bits: [[[0; SIDE]; BITS]; AHEAD] }
    }

    /// Sets the restarts of a lane: at the first `room` reset points of all blocks. The others are marked in none.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the loops over blocks")]
    pub(super) fn set(&mut self, lane: usize, mut room: usize, marks: impl Iterator<Item = u64>) {
        for (restarts, marks) in self.restarts.iter_mut().zip(marks) {
            let found = marks.count_ones() as usize;
            restarts[lane] = if found <= room { marks } else { lowest(marks, room) };
            room -= room.min(found);
        }
    }

    /// Takes the blocks, of the last one the bytes up to `last`, into the states from `first` on.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it must be compiled with the instruction set of its caller")]
    pub(super) fn advance<const LANES: usize>(
        &mut self,
        states: &mut States<LANES>,
        first: usize,
        planes: &[Planes],
        last: u32,
    ) {
        let lanes = whole_groups(1);
        let rows = states.each_mut().map(|row| &mut row[first..first + lanes]);
        for (block, some) in planes.iter().enumerate() {
            let last = if block + 1 == planes.len() { last } else { BLOCK as u32 - 1 };
            let restarts = &self.restarts[block][..lanes];
            let after = self.bits[block].each_mut().map(|row| &mut row[..lanes]);
            for lane in 0..lanes {
                let bits = lane_bits::<true>(some, std::array::from_fn(|bit| rows[bit][lane]), restarts[lane]);
                // All ones where it begins anew.
                let anew = 0u64.wrapping_sub((restarts[lane] >> last) & 1);
                for bit in 0..BITS {
                    after[bit][lane] = bits[bit];
                    let start = u64::from(START >> bit) & 1;
                    rows[bit][lane] = (((bits[bit] >> last) & 1) & !anew) | (start & anew);
                }
            }
        }
    }

    /// The character of a lane after the byte at a position of a block.
    pub(super) fn character(&self, block: usize, lane: usize, position: u32) -> u8 {
        let bits = self.bits[block].iter().rev();
        character(bits.fold(0, |state, words| (state << 1) | ((words[lane] >> position) & 1) as u8))
    }
}

/// The `count` lowest set bits of a word that has more.
fn lowest(word: u64, count: usize) -> u64 {
    let mut rest = word;
    for _ in 0..count {
        rest &= rest - 1;
    }
    word ^ rest
}

/// Bits of the states after each byte, from those before the first.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the loop over lanes becomes one of vectors")]
fn lane_bits<const CUT: bool>(c: &Planes, before: Planes, restarts: u64) -> Planes {
    let starts = if CUT { restarts << 1 } else { 0 };
    // Bit t of `open[i]`: no piece begins in the 2^i bytes up to t.
    let mut open = [!starts; BITS];
    for i in 1..BITS {
        open[i] = open[i - 1] & (open[i - 1] << (1 << (i - 1)));
    }
    // From what changes a bit at each byte to the bit after each byte, and before it.
    let run = |changes: u64, bit: usize| {
        let begin = if (START >> bit) & 1 == 1 { starts } else { 0 };
        let mut after = changes ^ before[bit] ^ begin;
        for (i, open) in open.iter().enumerate() {
            let shifted = after << (1 << i);
            after ^= if CUT { shifted & open } else { shifted };
        }
        let shifted = (after << 1) | before[bit];
        (after, if CUT { (shifted & open[0]) | begin } else { shifted })
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

    /// Takes in a block whose reset points are `marks`, of which the counted ones made the lane begin anew.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the loops over blocks")]
    pub(super) fn take(&mut self, side: &Side, block: usize, lane: usize, marks: u64) {
        let mut counted = side.restarts[block][lane];
        let beyond = marks ^ counted;
        while counted != 0 {
            self.characters[self.count] = side.character(block, lane, counted.trailing_zeros());
            self.count += 1;
            counted &= counted - 1;
        }
        if beyond != 0 {
            self.pending = Some(side.character(block, lane, beyond.ilog2()));
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
        fn states_of_blocks_are_those_of_their_bytes(
            bytes in prop::collection::vec(any::<[u8; BLOCK]>(), 1..=AHEAD), states: [u8; SIDE],
            some: [[u64; SIDE]; AHEAD], fewer: [[u64; SIDE]; AHEAD], cuts: [bool; SIDE], room in 0usize..100,
            length in 1usize..=BLOCK,
        ) {
            let mut side = Side::new();
            let marks = |block: usize, lane: usize| if cuts[lane] { some[block][lane] & fewer[block][lane] } else { 0 };
            for lane in 0..SIDE {
                side.set(lane, room, (0..bytes.len()).map(|block| marks(block, lane)));
            }
            let mut after: States<{ SIDE + 3 }> = all_at(9);
            for (bit, row) in after.iter_mut().enumerate() {
                row[1..=SIDE].copy_from_slice(&states.map(|state| u64::from(state >> bit) & 1));
            }
            let mut passed = after;
            let all: Vec<Planes> = bytes.iter().map(planes).collect();
            Instructions::best().run(
                #[inline(always)]
                || side.advance(&mut after, 1, &all, length as u32 - 1),
            );
            pass(&mut passed, 1, SIDE, &all[0]);
            for lane in 0..SIDE {
                let (mut state, mut found) = (states[lane], 0);
                for (block, bytes) in bytes.iter().enumerate() {
                    let end = if block + 1 == all.len() { length } else { BLOCK };
                    for (position, byte) in bytes[..end].iter().enumerate() {
                        state = (state.wrapping_mul(19) ^ byte) & 63;
                        prop_assert_eq!(character(state), side.character(block, lane, position as u32));
                        let marked = (marks(block, lane) >> position) & 1 == 1;
                        let counts = marked && found < room;
                        found += usize::from(marked);
                        prop_assert_eq!(counts, (side.restarts[block][lane] >> position) & 1 == 1);
                        if counts {
                            state = START;
                        }
                    }
                }
                prop_assert_eq!(state, state_of(&after, lane + 1));
                let expected = bytes[0].iter().fold(states[lane], |state, byte| (state.wrapping_mul(19) ^ byte) & 63);
                prop_assert_eq!(expected, state_of(&passed, lane + 1));
            }
            prop_assert_eq!((9, 9), (state_of(&after, 0), state_of(&after, SIDE + 1)));
        }

        #[test]
        fn bits_are_gathered_in_order(bytes: [u8; BLOCK]) {
            let expected: [u64; 8] = std::array::from_fn(|bit| {
                bytes.iter().enumerate().fold(0, |all, (i, byte)| all | u64::from((byte >> bit) & 1) << i)
            });
            prop_assert_eq!(expected, words_of_bits(&bytes));
            prop_assert_eq!(expected, words_of_sixteen(&bytes));
            prop_assert_eq!(expected, gathered(&bytes));
        }
    }
}
