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
//! suffice. Positions that pass (one in `2^min(i, 16)` of random bytes) get the full test. On the lowest levels, where
//! many pass, it runs in lanes, too: the upper 16 bits follow from the carry, and 3 divides S + 1 if it divides the sum
//! of its bytes, because 256 = 1 mod 3 (`marks_are_the_levels_of_all_positions` tests both).

use super::blocks::BLOCK;
use crate::cpu::simd::{Simd, with_simd};

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
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
pub(super) unsafe fn marks<S: Simd>(block: &[u8; BEFORE + BLOCK], low: u32) -> [u64; MARKED] {
    if low + MARKED as u32 <= BYTE_LEVELS {
        // SAFETY: as for this function.
        return unsafe { all_marks::<S>(block, low) };
    }
    // SAFETY: as for this function.
    let mut passed = unsafe { passing::<S>(block, low) };
    let mut marks = [0; MARKED];
    // A run of equal bytes has the same level everywhere.
    let all = if passed == u64::MAX && block[1..] == block[..STEP + BEFORE - 1] { u64::MAX } else { 1 };
    while passed != 0 {
        let at = passed.trailing_zeros();
        passed &= !(all << at);
        let window = std::array::from_fn(|i| block[at as usize + i]);
        if let Some(above) = level(sum(window)).and_then(|level| level.checked_sub(low)) {
            for mark in marks.iter_mut().take(above as usize + 1) {
                *mark |= all << at;
            }
        }
    }
    marks
}

/// Number of levels that the lowest seven bits of S determine.
const BYTE_LEVELS: u32 = 8;

/// Vectors of 16-bit lanes: one of the even positions of a block, one of the odd ones.
type Halves<V> = [V; 2];

/// For each position of a block, return the sum of weighted bytes plus 1, and the low 16 bits of S + 1.
///
/// A load from byte k of the block has `b_k` and `b_{k+1}` in each lane of the even positions, and `b_{k-1}` and
/// `b_k` in those of the odd positions before; so one load serves both.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn low_sums<S: Simd>(block: &[u8; BEFORE + BLOCK]) -> (Halves<S::V>, Halves<S::V>) {
    let from = block.as_ptr();
    // SAFETY: as for this function; each load reads 64 bytes from one of the first seven.
    unsafe {
        let (l0, l1, l2, l3) = (S::load(from), S::load(from.add(1)), S::load(from.add(2)), S::load(from.add(3)));
        let (l4, l5, l6) = (S::load(from.add(4)), S::load(from.add(5)), S::load(from.add(6)));
        let (byte, one) = (S::splat16(0xff), S::splat16(1));
        let weighted = [
            S::add16(
                S::add16(S::weighted16::<2, 3>(l0), S::weighted16::<4, 5>(l2)),
                S::add16(S::add16(S::weighted16::<6, 7>(l4), S::weighted16::<8, 0>(l6)), one),
            ),
            S::add16(
                S::add16(S::weighted16::<2, 3>(l1), S::weighted16::<4, 5>(l3)),
                S::add16(S::add16(S::weighted16::<6, 7>(l5), S::weighted16::<0, 8>(l6)), one),
            ),
        ];
        // b6 ^ b5 << 5 ^ b4 << 10 ^ b3 << 15
        let (b5, b6, b7) = (S::and(l5, byte), S::and(l6, byte), S::right16::<8>(l6));
        let mixed = [
            S::xor(S::xor3(b6, S::left16::<5>(b5), S::left16::<10>(l4)), S::left16::<15>(l3)),
            S::xor(S::xor3(b7, S::left16::<5>(b6), S::left16::<10>(l5)), S::left16::<15>(l4)),
        ];
        (weighted, [S::add16(weighted[0], mixed[0]), S::add16(weighted[1], mixed[1])])
    }
}

/// Test all 32 bits of S at all positions; `low + MARKED` is at most [`BYTE_LEVELS`].
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn all_marks<S: Simd>(block: &[u8; BEFORE + BLOCK], low: u32) -> [u64; MARKED] {
    let from = block.as_ptr();
    // SAFETY: as for this function; each load reads 64 bytes from one of the first five.
    unsafe {
        let (weighted, sums) = low_sums::<S>(block);
        let (l0, l1, l2, l3) = (S::load(from), S::load(from.add(1)), S::load(from.add(2)), S::load(from.add(3)));
        let (l4, byte) = (S::load(from.add(4)), S::splat16(0xff));
        // b4 >> 6 ^ b3 >> 1 ^ b2 << 4 ^ b1 << 9 ^ b0 << 14
        let (b2, b3) = (S::and(l2, byte), S::and(l3, byte));
        let mixed = [
            S::xor3(
                S::xor3(S::right16::<14>(l3), S::right16::<9>(l2), S::left16::<4>(b2)),
                S::left16::<9>(l1),
                S::left16::<14>(l0),
            ),
            S::xor3(
                S::xor3(S::right16::<14>(l4), S::right16::<9>(l3), S::left16::<4>(b3)),
                S::left16::<9>(l2),
                S::left16::<14>(l1),
            ),
        ];
        let even = divided::<S>(weighted[0], sums[0], mixed[0]);
        let odd = divided::<S>(weighted[1], sums[1], mixed[1]);
        let low_bytes = S::or(S::and(even, byte), S::left16::<8>(odd));
        let mut marks = [0; MARKED];
        for (i, marks) in marks.iter_mut().enumerate() {
            let bits = (2_u32 << (low + i as u32)) - 1;
            *marks = !S::any_of(low_bytes, bits as u8);
        }
        marks
    }
}

/// Return twice the low bits of S + 1, plus 1 unless 3 divides S + 1 and it is not 0.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn divided<S: Simd>(weighted: S::V, sum: S::V, mixed: S::V) -> S::V {
    // SAFETY: as for this function.
    unsafe {
        // A sum that wraps is below its summand.
        let stays = S::equal16(S::min16(sum, weighted), weighted);
        let upper = S::add16(S::add16(mixed, S::splat16(1)), stays);
        // 256 = 1 mod 3, so that 3 divides S + 1 if it divides the sum t of its bytes; t = 0 for S + 1 = 0 alone. Then
        // t / 3 = 0xaaab t mod 2^16, at most 340; for other t this product is above 0x5555.
        let bytes = S::add16(S::weighted16::<1, 1>(sum), S::weighted16::<1, 1>(upper));
        let third = S::add16(S::mul16(bytes, S::splat16(0xaaab)), S::splat16(u16::MAX));
        let divides = S::equal16(S::min16(third, S::splat16(0x5554)), third);
        S::or(S::add16(sum, sum), S::add16(divides, S::splat16(1)))
    }
}

/// Positions per step of the SIMD search.
const STEP: usize = BLOCK;

/// Return the positions whose S ends in as many ones as `low` needs, as far as 16 bits determine them.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn passing<S: Simd>(block: &[u8; STEP + BEFORE], low: u32) -> u64 {
    // SAFETY: as for this function.
    unsafe {
        let (_, sums) = low_sums::<S>(block);
        let ones = S::splat16(if low >= 16 { u16::MAX } else { (1 << low) - 1 });
        let zero = S::splat16(0);
        let (even, odd) = (S::equal16(S::and(sums[0], ones), zero), S::equal16(S::and(sums[1], ones), zero));
        S::top_bits(S::or(S::right16::<8>(even), S::left16::<8>(odd)))
    }
}

/// Report the positions `BEFORE..` of `bytes`, numbered from 0.
#[inline]
fn scan_whole(bytes: &[u8], low: u32, visit: &mut impl FnMut(usize, u32)) {
    // SAFETY: the form is compiled for the instructions of `S`.
    with_simd!(S => unsafe { scan_steps::<S>(bytes, low, visit) });
}

/// Search block by block.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn scan_steps<S: Simd>(bytes: &[u8], low: u32, visit: &mut impl FnMut(usize, u32)) {
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<{ STEP + BEFORE }>) {
        // SAFETY: as for this function.
        let mut passed = unsafe { passing::<S>(block, low) };
        if passed == u64::MAX && block[1..] == block[..STEP + BEFORE - 1] && skip_constant(block, low) {
            at += STEP;
            continue;
        }
        while passed != 0 {
            let i = passed.trailing_zeros() as usize;
            passed &= passed - 1;
            report(block, i, at + i, low, visit);
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
    use crate::cpu::simd::with_each_simd;
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
            // SAFETY: each form is evaluated only where its instructions exist.
            with_each_simd!(S => assert_eq!(expected, unsafe { marks::<S>(&block, low) }));
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
            let after: Vec<_> = expected.into_iter().filter(|&(at, _)| at >= BEFORE).collect();
            with_each_simd!(S => {
                let mut found = Vec::new();
                // SAFETY: each form is evaluated only where its instructions exist.
                unsafe { scan_steps::<S>(&bytes, low, &mut |at, l| found.push((at + BEFORE, l))) };
                assert_eq!(after, found);
            });
        }
    }
}
