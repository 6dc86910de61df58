//! Bit-sliced states of pieces, for blocks of 64 bytes.
//!
//! 19 h = h + 2 h + 16 h, so that bit i of the next state is bit i of this one, changed by lower bits alone:
//!
//! ```text
//! h0' = h0 ^ c0                      h3' = h3 ^ h2 ^ k3 ^ c3             k3 = h1 & (h2 | h0)
//! h1' = h1 ^ h0 ^ c1                 h4' = h4 ^ m ^ c4, m = h3 ^ k4 ^ h0   k4 = majority(h3, h2, k3)
//! h2' = h2 ^ (h1 & !h0) ^ c2         h5' = h5 ^ h4 ^ k5 ^ h1 ^ k ^ c5     k5 = majority(h4, h3, k4)
//! ```
//!
//! with k = (h4 ^ h3 ^ k4) & h0, the carry of h0 into bit 5. Bit i after each of the 64 bytes is therefore a prefix xor
//! of a word that the lower bits determine, and a prefix xor takes six shifts. The prefix xor restarts where a piece
//! ends. No step waits for a single byte, and the states of several levels or pieces run in parallel lanes.

#[cfg(target_arch = "x86_64")]
use super::words::Four;
use super::words::Word;
use super::{INITIAL_STATE, MAX_PART, PIECES, character};
#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx2;
use crate::cpu::simd::Simd;

/// Bytes per block.
pub(super) const BLOCK: usize = 64;

/// Number of states in lanes: two registers of four, because each step of one depends on the previous step.
pub(super) const SIDE: usize = 8;

/// Number of blocks processed together.
pub(super) const AHEAD: usize = 8;

/// Number of bits of a state.
pub(super) const BITS: usize = 6;

/// Bit i of all bytes of a block in word i.
pub(super) type Planes = [u64; BITS];

/// Return the lowest six bits of 64 bytes.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
pub(super) unsafe fn planes<S: Simd>(bytes: &[u8; BLOCK]) -> Planes {
    // SAFETY: as for this function; the array has 64 bytes.
    unsafe { S::low_bits(S::load(bytes.as_ptr())) }
}

/// States in lanes: bit i of each in row i. A step depends only on lower bits, so the next block starts before this one
/// is finished.
pub(super) type States<const LANES: usize> = [[u64; LANES]; BITS];

/// Return the same state in all lanes.
pub(super) fn all_at<const LANES: usize>(state: u8) -> States<LANES> {
    std::array::from_fn(|bit| [u64::from(state >> bit) & 1; LANES])
}

/// Return one of the states.
pub(super) fn state_of<const LANES: usize>(states: &States<LANES>, lane: usize) -> u8 {
    states.iter().rev().fold(0, |state, row| (state << 1) | row[lane] as u8)
}

/// Advance `count` states from `first` on (and up to three more) by a block without restarts.
#[inline(always)]
pub(super) fn pass<const LANES: usize>(states: &mut States<LANES>, first: usize, count: usize, planes: &Planes) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = Avx2::detect() {
        return pass_words::<Four, LANES>(proof, states, first, count, planes);
    }
    pass_words::<u64, LANES>((), states, first, count, planes);
}

#[inline(always)]
fn pass_words<W: Word, const LANES: usize>(
    proof: W::Proof,
    states: &mut States<LANES>,
    first: usize,
    count: usize,
    planes: &Planes,
) {
    let mut all = [W::all(proof, 0); BITS];
    for bit in 0..BITS {
        all[bit] = W::all(proof, planes[bit]);
    }
    let end = W::all(proof, BLOCK as u64 - 1);
    for first in (first..first + count).step_by(W::LANES) {
        let mut bits = [W::all(proof, 0); BITS];
        for bit in 0..BITS {
            bits[bit] = W::read(proof, &states[bit][first..]);
        }
        bits = lane_bits::<W, false>(proof, &all, bits, W::all(proof, 0));
        for bit in 0..BITS {
            bits[bit].right(end).write(&mut states[bit][first..]);
        }
    }
}

/// Advance each of the first `count` states, and up to three more, by its own block, given as bit i of all bytes in row
/// i, up to byte `last`.
#[inline(always)]
pub(super) fn pass_own<const LANES: usize>(
    states: &mut States<LANES>,
    count: usize,
    planes: &States<LANES>,
    last: &[u64; LANES],
) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = Avx2::detect() {
        return pass_own_words::<Four, LANES>(proof, states, count, planes, last);
    }
    pass_own_words::<u64, LANES>((), states, count, planes, last);
}

#[inline(always)]
fn pass_own_words<W: Word, const LANES: usize>(
    proof: W::Proof,
    states: &mut States<LANES>,
    count: usize,
    planes: &States<LANES>,
    last: &[u64; LANES],
) {
    for first in (0..count).step_by(W::LANES) {
        let (mut own, mut bits) = ([W::all(proof, 0); BITS], [W::all(proof, 0); BITS]);
        for bit in 0..BITS {
            own[bit] = W::read(proof, &planes[bit][first..]);
            bits[bit] = W::read(proof, &states[bit][first..]);
        }
        bits = lane_bits::<W, false>(proof, &own, bits, W::all(proof, 0));
        let last = W::read(proof, &last[first..]);
        for bit in 0..BITS {
            bits[bit].right(last).and(W::all(proof, 1)).write(&mut states[bit][first..]);
        }
    }
}

/// States in lanes, advanced through blocks with restarts. All lanes read what one lane writes only some blocks later,
/// because reading it at once would stall.
pub(super) struct Side {
    /// Restarts of each lane in each block: after the bytes whose bit is set.
    pub(super) restarts: [[u64; SIDE]; AHEAD],
    /// State bits after each byte of each block, before a restart.
    bits: [States<SIDE>; AHEAD],
}

impl Side {
    pub(super) fn new() -> Self {
        Self { restarts: [[0; SIDE]; AHEAD], bits: [[[0; SIDE]; BITS]; AHEAD] }
    }

    /// Set the restarts of a lane: the first `remaining` reset points of all blocks. Clear the other reset points.
    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, mut remaining: usize, marks: impl Iterator<Item = u64>) {
        for (restarts, marks) in self.restarts.iter_mut().zip(marks) {
            let found = marks.count_ones() as usize;
            restarts[lane] = if found <= remaining { marks } else { lowest(marks, remaining) };
            remaining -= remaining.min(found);
        }
    }

    /// Advance `count` states from `first` on (and possibly some more) by the blocks; the last block ends at byte
    /// `last`.
    #[inline(always)]
    pub(super) fn advance<const LANES: usize>(
        &mut self,
        states: &mut States<LANES>,
        (first, count): (usize, usize),
        planes: &[Planes],
        last: u32,
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = Avx2::detect() {
            return self.advance_words::<Four, LANES>(proof, states, (first, count), planes, last);
        }
        self.advance_words::<u64, LANES>((), states, (first, count), planes, last);
    }

    #[inline(always)]
    fn advance_words<W: Word, const LANES: usize>(
        &mut self,
        proof: W::Proof,
        states: &mut States<LANES>,
        (first, count): (usize, usize),
        planes: &[Planes],
        last: u32,
    ) {
        let one = W::all(proof, 1);
        let mut bits_of_block = [W::all(proof, 0); BITS];
        for block in 0..planes.len() {
            for bit in 0..BITS {
                bits_of_block[bit] = W::all(proof, planes[block][bit]);
            }
            let end = if block + 1 == planes.len() { last.into() } else { BLOCK as u64 - 1 };
            let end = W::all(proof, end);
            for lane in (0..count).step_by(W::LANES) {
                let mut before = [one; BITS];
                for bit in 0..BITS {
                    before[bit] = W::read(proof, &states[bit][first + lane..]);
                }
                let restarts = W::read(proof, &self.restarts[block][lane..]);
                let bits = lane_bits::<W, true>(proof, &bits_of_block, before, restarts);
                let restart = restarts.right(end).and(one);
                for bit in 0..BITS {
                    bits[bit].write(&mut self.bits[block][bit][lane..]);
                    let kept = restart.not_and(bits[bit].right(end).and(one));
                    let after = if (INITIAL_STATE >> bit) & 1 == 1 { kept.or(restart) } else { kept };
                    after.write(&mut states[bit][first + lane..]);
                }
            }
        }
    }

    /// Return the character of a lane after the byte at a position of a block.
    pub(super) fn character(&self, block: usize, lane: usize, position: u32) -> u8 {
        let bits = self.bits[block].iter().rev();
        character(bits.fold(0, |state, words| (state << 1) | ((words[lane] >> position) & 1) as u8))
    }
}

/// Return the `count` lowest set bits of a word that has more.
fn lowest(word: u64, count: usize) -> u64 {
    let mut rest = word;
    for _ in 0..count {
        rest &= rest - 1;
    }
    word ^ rest
}

/// Return the state bits after each byte, from the state before the first.
#[inline(always)]
fn lane_bits<W: Word, const CUT: bool>(proof: W::Proof, c: &[W; BITS], before: [W; BITS], restarts: W) -> [W; BITS] {
    let starts = restarts.left::<1>();
    // Bit t of `open[i]`: no piece begins in the 2^i bytes up to t.
    let mut open = [starts.not_and(W::all(proof, u64::MAX)); BITS];
    if CUT {
        open[1] = open[0].and(open[0].left::<1>());
        open[2] = open[1].and(open[1].left::<2>());
        open[3] = open[2].and(open[2].left::<4>());
        open[4] = open[3].and(open[3].left::<8>());
        open[5] = open[4].and(open[4].left::<16>());
    }
    let [b0, b1, b2, b3, b4, b5] = before;
    let (a0, h0) = running::<W, CUT>(c[0], b0, starts, &open, 0);
    let (a1, h1) = running::<W, CUT>(h0.xor(c[1]), b1, starts, &open, 1);
    let (a2, h2) = running::<W, CUT>(h0.not_and(h1).xor(c[2]), b2, starts, &open, 2);
    let k3 = h1.and(h2.or(h0));
    let (a3, h3) = running::<W, CUT>(h2.xor(k3).xor(c[3]), b3, starts, &open, 3);
    let k4 = h3.and(h2).or(k3.and(h3.or(h2)));
    let (a4, h4) = running::<W, CUT>(h3.xor(k4).xor(h0).xor(c[4]), b4, starts, &open, 4);
    let k5 = h4.and(h3).or(k4.and(h4.or(h3)));
    let carry = h4.xor(h3).xor(k4).and(h0);
    let (a5, _) = running::<W, CUT>(h4.xor(k5).xor(h1).xor(carry).xor(c[5]), b5, starts, &open, 5);
    [a0, a1, a2, a3, a4, a5]
}

/// From the change of a bit at each byte, compute the bit after each byte and before it.
#[inline(always)]
fn running<W: Word, const CUT: bool>(changes: W, before: W, starts: W, open: &[W; BITS], bit: usize) -> (W, W) {
    let begins = CUT && (INITIAL_STATE >> bit) & 1 == 1;
    let mut after = changes.xor(before);
    if begins {
        after = after.xor(starts);
    }
    if CUT {
        after = after.xor(after.left::<1>().and(open[0]));
        after = after.xor(after.left::<2>().and(open[1]));
        after = after.xor(after.left::<4>().and(open[2]));
        after = after.xor(after.left::<8>().and(open[3]));
        after = after.xor(after.left::<16>().and(open[4]));
        after = after.xor(after.left::<32>().and(open[5]));
        let shifted = after.left::<1>().or(before).and(open[0]);
        return (after, if begins { shifted.or(starts) } else { shifted });
    }
    after = after.xor(after.left::<1>());
    after = after.xor(after.left::<2>());
    after = after.xor(after.left::<4>());
    after = after.xor(after.left::<8>());
    after = after.xor(after.left::<16>());
    after = after.xor(after.left::<32>());
    (after, after.left::<1>().or(before))
}

/// The characters of a part under construction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    /// Number of counted reset points.
    pub(super) count: usize,
    characters: [u8; PIECES],
    /// The character at the last reset point after the counted ones.
    pub(super) pending: Option<u8>,
}

impl Pieces {
    pub(super) const fn new() -> Self {
        Self { count: 0, characters: [0; PIECES], pending: None }
    }

    /// Add a block whose reset points are `marks`; the lane restarted at the counted ones.
    #[inline(always)]
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

    /// Return the part: the first `cap` characters, then the character of the final state or, if there is none (S = 0
    /// at the end), of the last uncounted reset point.
    pub(super) fn part(&self, cap: usize, tail: Option<u8>) -> Vec<u8> {
        let mut part = Vec::with_capacity(MAX_PART);
        part.extend_from_slice(&self.characters[..self.count.min(cap)]);
        part.extend(tail.map(character).or(self.pending));
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::features::Instructions;
    use crate::cpu::simd::Scalar;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn states_of_blocks_are_those_of_their_bytes(
            bytes in prop::collection::vec(any::<[u8; BLOCK]>(), 1..=AHEAD), states: [u8; SIDE],
            bits_of_block: [[u64; SIDE]; AHEAD], fewer: [[u64; SIDE]; AHEAD], cuts: [bool; SIDE], remaining in 0usize..100,
            length in 1usize..=BLOCK,
        ) {
            let mut side = Side::new();
            let marks = |block: usize, lane: usize| if cuts[lane] { bits_of_block[block][lane] & fewer[block][lane] } else { 0 };
            for lane in 0..SIDE {
                side.set(lane, remaining, (0..bytes.len()).map(|block| marks(block, lane)));
            }
            let mut after: States<{ SIDE + 3 }> = all_at(9);
            for (bit, row) in after.iter_mut().enumerate() {
                row[1..=SIDE].copy_from_slice(&states.map(|state| u64::from(state >> bit) & 1));
            }
            let (mut passed, mut plain, mut bits_alone) = (after, after, Side::new());
            bits_alone.restarts = side.restarts;
            // SAFETY: scalar operations need no instructions.
            let all: Vec<Planes> = bytes.iter().map(|bytes| unsafe { planes::<Scalar>(bytes) }).collect();
            Instructions::best().run(
                #[inline(always)]
                || side.advance(&mut after, (1, SIDE), &all, length as u32 - 1),
            );
            bits_alone.advance_words::<u64, _>((), &mut plain, (1, SIDE), &all, length as u32 - 1);
            prop_assert_eq!(after, plain);
            prop_assert_eq!(side.bits, bits_alone.bits);
            let mut plain = passed;
            pass(&mut passed, 1, SIDE, &all[0]);
            pass_words::<u64, _>((), &mut plain, 1, SIDE, &all[0]);
            prop_assert_eq!(passed, plain);
            for (lane, &before) in states.iter().enumerate() {
                let (mut state, mut found) = (before, 0);
                for (block, bytes) in bytes.iter().enumerate() {
                    let end = if block + 1 == all.len() { length } else { BLOCK };
                    for (position, byte) in bytes[..end].iter().enumerate() {
                        state = (state.wrapping_mul(19) ^ byte) & 63;
                        prop_assert_eq!(character(state), side.character(block, lane, position as u32));
                        let marked = (marks(block, lane) >> position) & 1 == 1;
                        let counts = marked && found < remaining;
                        found += usize::from(marked);
                        prop_assert_eq!(counts, (side.restarts[block][lane] >> position) & 1 == 1);
                        if counts {
                            state = INITIAL_STATE;
                        }
                    }
                }
                prop_assert_eq!(state, state_of(&after, lane + 1));
                let expected = bytes[0].iter().fold(before, |state, byte| (state.wrapping_mul(19) ^ byte) & 63);
                prop_assert_eq!(expected, state_of(&passed, lane + 1));
            }
            prop_assert_eq!((9, 9), (state_of(&after, 0), state_of(&after, SIDE + 1)));
        }
    }
}
