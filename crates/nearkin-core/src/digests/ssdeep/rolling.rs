//! The rolling sum of the last seven bytes, and the search for reset points.
//!
//! For the window b0 (oldest) to b6 (newest), zeros before the start of the input:
//!
//! ```text
//! S = sum_{j=0..6} (j + 2) b_j  +  xor_{j=0..6} (b_j << 5 (6 - j))                        mod 2^32
//! reset point of B = 3 * 2^i:  S mod B == B - 1, that is B divides S + 1, and S + 1 != 0 mod 2^32
//! ```
//!
//! The *level* of a position is the largest i with 3 * 2^i dividing S + 1: a reset point of level i is one of every
//! smaller block size. The search tests the low bits of S for all positions at once: `B | S + 1` requires the low i
//! bits of S to be ones, and the low 16 bits of S come from the last four bytes and a sum below 2^14, so 16-bit lanes
//! suffice. Positions that pass (one in `2^min(i, 16)` of random bytes) get the full test.

use super::blocks::{BLOCK, words_of_bits};
use crate::cpu::features::Instructions;

/// Number of preceding bytes that a position's sum depends on.
pub(super) const BEFORE: usize = 6;

/// Return S of one window, oldest byte first.
#[inline]
pub(super) fn sum(window: [u8; 7]) -> u32 {
    let (mut weighted, mut mixed) = (0u32, 0u32);
    for (weight, byte) in (2..).zip(window) {
        weighted += weight * u32::from(byte);
        mixed = (mixed << 5) ^ u32::from(byte);
    }
    weighted.wrapping_add(mixed)
}

/// Return the level of a position, or None if it is not a reset point of any block size.
#[inline]
pub(super) fn level(sum: u32) -> Option<u32> {
    let next = sum.wrapping_add(1);
    (next != 0 && next.is_multiple_of(3)).then(|| next.trailing_zeros())
}

/// The last seven bytes of an input that arrives in buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window([u8; 7]);

impl Window {
    /// Return the window after appending `bytes`.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last_chunk::<7>() {
            self.0 = *last;
        } else {
            self.0.rotate_left(bytes.len());
            self.0[7 - bytes.len()..].copy_from_slice(bytes);
        }
    }

    /// Return S of the last position.
    pub(super) fn sum(self) -> u32 {
        sum(self.0)
    }

    /// Call `visit(offset, level)` for each reset point of level `low` or higher in `bytes`, which follow this window.
    #[inline]
    pub(super) fn scan(self, bytes: &[u8], low: u32, mut visit: impl FnMut(usize, u32)) {
        let head = bytes.len().min(BEFORE);
        let mut edge = [0u8; 2 * BEFORE];
        edge[..BEFORE].copy_from_slice(&self.0[1..]);
        edge[BEFORE..BEFORE + head].copy_from_slice(&bytes[..head]);
        scan_whole(&edge[..BEFORE + head], low, &mut |at, level| visit(at, level));
        scan_whole(bytes, low, &mut |at, level| visit(at + BEFORE, level));
    }
}

/// Number of levels that [`marks`] distinguishes.
pub(super) const MARKED: usize = 4;

/// Return the reset points of a block, preceded by six bytes: those of level `low + i` and higher in word i.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it must be compiled with the instruction set of its caller")]
pub(super) fn marks(block: &[u8; BEFORE + BLOCK], low: u32) -> [u64; MARKED] {
    if low < FEW {
        return all_marks(block, low);
    }
    let ones = if low >= 16 { u16::MAX } else { (1 << low) - 1 };
    let [mut passed] = words_of_bits(&passing(block, ones));
    if passed.count_ones() > 16 {
        return all_marks(block, low);
    }
    let mut marks = [0; MARKED];
    while passed != 0 {
        let at = passed.trailing_zeros();
        passed &= passed - 1;
        let window = std::array::from_fn(|i| block[at as usize + i]);
        if let Some(above) = level(sum(window)).and_then(|level| level.checked_sub(low)) {
            for mark in marks.iter_mut().take(above as usize + 1) {
                *mark |= 1 << at;
            }
        }
    }
    marks
}

/// From this level on, few positions pass the test of the low bits.
const FEW: u32 = 4;

/// Test all 32 bits of S at all positions.
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the above")]
fn all_marks(block: &[u8; BEFORE + BLOCK], low: u32) -> [u64; MARKED] {
    // 3 divides x if x / 3 mod 2^32 is at most (2^32 - 1) / 3.
    const THIRD: u32 = 0xaaaa_aaab;
    let ones: [u32; MARKED] = std::array::from_fn(|i| 1u32.checked_shl(low + i as u32).unwrap_or(0).wrapping_sub(1));
    let mut levels = [0u8; BLOCK];
    for (i, levels) in levels.iter_mut().enumerate() {
        let b = |j: usize| u32::from(block[i + j]);
        let weighted = 2 * b(0) + 3 * b(1) + 4 * b(2) + 5 * b(3) + 6 * b(4) + 7 * b(5) + 8 * b(6);
        let mixed = b(6) ^ (b(5) << 5) ^ (b(4) << 10) ^ (b(3) << 15) ^ (b(2) << 20) ^ (b(1) << 25) ^ (b(0) << 30);
        let next = weighted.wrapping_add(mixed).wrapping_add(1);
        let third = (next != 0) & (next.wrapping_mul(THIRD) <= u32::MAX / 3);
        let of = |i: usize| u32::from(next & ones[i] == 0) << i;
        *levels = ((of(0) | of(1) | of(2) | of(3)) * u32::from(third)) as u8;
    }
    words_of_bits(&levels)
}

/// Positions per step of the SIMD search.
const STEP: usize = BLOCK;

/// Return 1 for each position whose S ends in `ones`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the loops over blocks")]
fn passing(block: &[u8; STEP + BEFORE], ones: u16) -> [u8; STEP] {
    let mut passed = [0; STEP];
    for (i, pass) in passed.iter_mut().enumerate() {
        let b = |j: usize| u16::from(block[i + j]);
        let weighted = 2 * b(0) + 3 * b(1) + 4 * b(2) + 5 * b(3) + 6 * b(4) + 7 * b(5) + 8 * b(6);
        let mixed = b(6) ^ (b(5) << 5) ^ (b(4) << 10) ^ (b(3) << 15);
        *pass = u8::from(weighted.wrapping_add(mixed) & ones == ones);
    }
    passed
}

/// Report the positions `BEFORE..` of `bytes`, numbered from 0.
#[inline]
fn scan_whole(bytes: &[u8], low: u32, visit: &mut impl FnMut(usize, u32)) {
    Instructions::best().run(
        #[inline(always)]
        || scan_steps(bytes, low, visit),
    );
}

/// Search in plain loops over 16-bit lanes, compiled once per instruction set.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it must be compiled with the instruction set of its caller")]
fn scan_steps(bytes: &[u8], low: u32, visit: &mut impl FnMut(usize, u32)) {
    let ones = if low >= 16 { u16::MAX } else { (1 << low) - 1 };
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<{ STEP + BEFORE }>) {
        let passed = passing(block, ones);
        if passed == [1; STEP] && block[1..] == block[..STEP + BEFORE - 1] && skip_constant(block, low) {
            at += STEP;
            continue;
        }
        for (word, eight) in passed.as_chunks::<8>().0.iter().enumerate() {
            let mut eight = u64::from_le_bytes(*eight);
            while eight != 0 {
                let i = 8 * word + (eight.trailing_zeros() / 8) as usize;
                eight &= eight - 1;
                report(block, i, at + i, low, visit);
            }
        }
        at += STEP;
    }
    for i in at..bytes.len().saturating_sub(BEFORE) {
        report(bytes, i, i, low, visit);
    }
}

/// True if a run of equal bytes contains no reset point of level `low`: such runs (holes, padding) are long, and one
/// test skips them.
#[cold]
fn skip_constant(block: &[u8; STEP + BEFORE], low: u32) -> bool {
    block.first_chunk::<7>().and_then(|window| level(sum(*window))).is_none_or(|level| level < low)
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the loop above")]
fn report(bytes: &[u8], i: usize, offset: usize, low: u32, visit: &mut impl FnMut(usize, u32)) {
    if let Some(window) = bytes[i..].first_chunk::<7>()
        && let Some(level) = level(sum(*window))
        && level >= low
    {
        visit(offset, level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compute the sum as three running words, byte by byte.
    fn running(bytes: &[u8]) -> Vec<u32> {
        let (mut ring, mut h1, mut h2, mut h3) = ([0u32; 7], 0u32, 0u32, 0u32);
        let mut sums = Vec::new();
        for (i, &c) in bytes.iter().enumerate() {
            let c = u32::from(c);
            h2 = h2.wrapping_sub(h1).wrapping_add(7 * c);
            h1 = h1.wrapping_add(c).wrapping_sub(ring[i % 7]);
            ring[i % 7] = c;
            h3 = (h3 << 5) ^ c;
            sums.push(h1.wrapping_add(h2).wrapping_add(h3));
        }
        sums
    }

    #[test]
    fn a_sum_of_all_ones_is_no_reset_point() {
        assert_eq!(None, level(u32::MAX));
        assert_eq!(Some(30), level(3221225471));
        assert_eq!(Some(0), level(2));
    }

    proptest! {
        #[test]
        fn marks_are_the_levels_of_all_positions(
            some in prop::collection::vec(prop_oneof![any::<u8>(), Just(7u8), Just(0u8)], BEFORE + BLOCK),
            constant in any::<u8>(), equal in 0usize..BEFORE + BLOCK, low in 0u32..34,
        ) {
            let block = std::array::from_fn(|i| if i < equal { constant } else { some[i] });
            let mut expected = [0u64; MARKED];
            for at in 0..BLOCK {
                let level = level(sum(std::array::from_fn(|i| block[at + i])));
                for (i, expected) in expected.iter_mut().enumerate() {
                    *expected |= u64::from(level.is_some_and(|level| level >= low + i as u32)) << at;
                }
            }
            for instructions in Instructions::available() {
                prop_assert_eq!(expected, instructions.run(#[inline(always)] || marks(&block, low)));
                prop_assert_eq!(expected, instructions.run(#[inline(always)] || all_marks(&block, low)));
            }
        }

        #[test]
        fn the_closed_form_is_the_running_sum(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut window = Window::default();
            for (byte, expected) in bytes.iter().zip(running(&bytes)) {
                window.extend(&[*byte]);
                prop_assert_eq!(expected, window.sum());
            }
        }

        #[test]
        fn the_search_finds_what_the_running_sum_finds(
            runs in prop::collection::vec(
                (prop::collection::vec(prop_oneof![any::<u8>(), Just(7u8), Just(0u8)], 0..200), any::<u8>(), 0usize..200),
                0..4,
            ),
            cut in 0usize..700,
            low in 0u32..8,
        ) {
            let bytes: Vec<u8> = runs.into_iter().flat_map(|(mut run, byte, n)| { run.resize(run.len() + n, byte); run }).collect();
            let expected: Vec<(usize, u32)> = running(&bytes)
                .into_iter()
                .enumerate()
                .filter_map(|(i, s)| level(s).filter(|&l| l >= low).map(|l| (i, l)))
                .collect();
            let (left, right) = bytes.split_at(cut.min(bytes.len()));
            let mut window = Window::default();
            let mut found = Vec::new();
            window.scan(left, low, |at, l| found.push((at, l)));
            window.extend(left);
            window.scan(right, low, |at, l| found.push((at + left.len(), l)));
            prop_assert_eq!(&expected, &found);
            let mut plain = Vec::new();
            scan_steps(&bytes, low, &mut |at, l| plain.push((at + BEFORE, l)));
            prop_assert_eq!(expected.into_iter().filter(|&(at, _)| at >= BEFORE).collect::<Vec<_>>(), plain);
        }
    }
}
