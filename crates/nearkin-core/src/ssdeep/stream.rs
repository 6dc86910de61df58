//! Digests of streams whose length is not known: every block size that may still be chosen is kept.
//!
//! Live levels `lo..hi`, each with its count of reset points, its characters, and two piece hashes: h, which restarts
//! at every counted reset point, and g, which stops restarting once 31 are counted, for a part 2 that is cut there. A
//! level begins when the one below meets its first reset point: up to then the two have the same state. The lowest
//! level ends when the input is already too long for it and the next level has enough pieces.
//!
//! Bytes are taken in by blocks of 64: the reset points of all levels first, then four states at a time beside each
//! other ([`super::blocks`]). Memory: 5 KB. Any split of the input gives the same digest.

use super::blocks::{BLOCK, Pieces, Planes, SIDE, Side, pass, planes};
use super::piece::{START, character};
use super::rolling::{BEFORE, MARKED, level, marks, sum};
use super::{ENOUGH_PIECES, HALF_PIECES, LEVELS, Options, PIECES, block_size, check_length, write};
use crate::cpu::features::Instructions;
use crate::error::Result;
use crate::stop::Stop;

/// Bytes between two looks at the stop: some ten milliseconds.
const PART: usize = if cfg!(test) { 100 } else { 1 << 23 };

const SLOTS: usize = LEVELS as usize + 1;

/// A digest in the making.
///
/// # Examples
/// ```
/// use nearkin_core::ssdeep::{Hasher, Options};
/// let mut hasher = Hasher::new();
/// hasher.update(b"Hello, ");
/// hasher.update(b"World!\n");
/// assert_eq!("3:aaX8v:aV", hasher.digest(Options::default()).unwrap());
/// ```
#[derive(Clone, Debug)]
pub struct Hasher {
    /// The six bytes before the last block that is not full, and that block.
    block: [u8; BEFORE + BLOCK],
    /// Bytes of that block.
    waiting: usize,
    total: u64,
    lo: usize,
    hi: usize,
    /// h of each level: the hash since its last counted reset point.
    full: [u64; SLOTS + SIDE],
    /// g of the levels below `divided`: the same, but not restarted once 31 reset points are counted.
    half: [u64; SLOTS + SIDE],
    /// The first level with fewer than 32 counted reset points, where g is still h. A higher level never has more.
    divided: usize,
    levels: Box<[Level; SLOTS]>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    pieces: Pieces,
    /// The character of g at the last reset point beyond the first 31.
    half_pending: Option<u8>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher {
    /// The hasher of an empty input.
    pub fn new() -> Self {
        let level = Level { pieces: Pieces::new(), half_pending: None };
        Self {
            block: [0; BEFORE + BLOCK],
            waiting: 0,
            total: 0,
            lo: 0,
            hi: 1,
            full: [START.into(); SLOTS + SIDE],
            half: [START.into(); SLOTS + SIDE],
            divided: 0,
            levels: Box::new([level; SLOTS]),
        }
    }

    /// Bytes taken in so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Takes in `data`.
    pub fn update(&mut self, data: &[u8]) {
        self.total += data.len() as u64;
        Instructions::best().run(
            #[inline(always)]
            || self.take(data),
        );
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it must be compiled with the instruction set of its caller")]
    fn take(&mut self, data: &[u8]) {
        let before = self.total - data.len() as u64;
        let mut at = 0;
        // The last block waits until another byte follows: S at the end needs it.
        while BLOCK - self.waiting < data.len() - at {
            // Once six bytes of `data` are past, the blocks lie in it as they are.
            if let (0, Some(block)) = (self.waiting, at.checked_sub(BEFORE).and_then(|at| data[at..].first_chunk())) {
                at += BLOCK;
                self.advance(block, BLOCK, before + at as u64);
                self.block[..BEFORE].copy_from_slice(&data[at - BEFORE..at]);
                continue;
            }
            let some = BLOCK - self.waiting;
            self.block[BEFORE + self.waiting..].copy_from_slice(&data[at..at + some]);
            at += some;
            self.advance(&self.block.clone(), BLOCK, before + at as u64);
            self.block.copy_within(BLOCK.., 0);
            self.waiting = 0;
        }
        let (begin, rest) = (BEFORE + self.waiting, &data[at..]);
        self.block[begin..begin + rest.len()].copy_from_slice(rest);
        self.waiting += rest.len();
    }

    /// As `update`, looking at the stop now and then.
    ///
    /// # Errors
    /// The call is stopped: nothing is taken in.
    pub fn update_all(&mut self, data: &[u8]) -> Result<()> {
        let stop = Stop::current();
        let mut aside = self.clone();
        for part in data.chunks(PART) {
            stop.check()?;
            aside.update(part);
        }
        *self = aside;
        Ok(())
    }

    /// Takes in the first `length` bytes of a block and the six before it, after which there are `total`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it must be compiled with the instruction set of its caller")]
    fn advance(&mut self, block: &[u8; BEFORE + BLOCK], length: usize, total: u64) {
        let marks = marks(block, self.lo as u32).map(|marks| marks & (u64::MAX >> (BLOCK - length)));
        let planes = planes(block.last_chunk().unwrap_or(&[0; BLOCK]));
        if marks[0] != 0 || length != BLOCK {
            self.cut(block, length, marks, &planes);
            // No lower level can be chosen any more.
            while self.hi - self.lo >= 2
                && 64 * block_size(self.lo as u32) < total
                && self.levels[self.lo + 1].pieces.count >= ENOUGH_PIECES
            {
                self.lo += 1;
            }
            return;
        }
        for (states, end) in [(&mut self.half, self.divided), (&mut self.full, self.hi)] {
            for first in (self.lo..end).step_by(SIDE) {
                if let Some(states) = states[first..].first_chunk_mut() {
                    pass(states, &planes);
                }
            }
        }
    }

    /// Takes in a block with reset points.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the above")]
    fn cut(&mut self, block: &[u8; BEFORE + BLOCK], length: usize, marks: [u64; MARKED], planes: &Planes) {
        let resets = self.resets(block, marks);
        // A level begins when the one below meets its first reset point.
        while self.hi < SLOTS && resets[self.hi - 1] != 0 {
            self.full[self.hi] = self.full[self.hi - 1];
            self.hi += 1;
        }
        let (lo, hi) = (self.lo, self.hi);
        let count = |level: usize| self.levels[level].pieces.count + resets[level].count_ones() as usize;
        while self.divided < hi && count(self.divided) >= ENOUGH_PIECES {
            self.half[self.divided] = self.full[self.divided];
            self.divided += 1;
        }
        let mut side = Side::new();
        for first in (lo..self.divided).step_by(SIDE) {
            let group = first..self.divided.min(first + SIDE);
            side.restarts = [0; SIDE];
            for (lane, level) in group.clone().enumerate() {
                side.states[lane] = self.half[level];
                side.restarts[lane] = self.levels[level].pieces.counted(resets[level], HALF_PIECES);
            }
            side.advance(planes, length);
            for (lane, level) in group.enumerate() {
                self.half[level] = side.states[lane];
                let beyond = resets[level] ^ side.restarts[lane];
                if beyond != 0 {
                    self.levels[level].half_pending = Some(character(side.state(lane, beyond.ilog2())));
                }
            }
        }
        for first in (lo..hi).step_by(SIDE) {
            let group = first..hi.min(first + SIDE);
            side.restarts = [0; SIDE];
            for (lane, level) in group.clone().enumerate() {
                side.states[lane] = self.full[level];
                side.restarts[lane] = self.levels[level].pieces.counted(resets[level], PIECES);
            }
            side.advance(planes, length);
            for (lane, level) in group.enumerate() {
                self.full[level] = side.states[lane];
                if resets[level] != 0 {
                    self.levels[level].pieces.take(&side, lane, resets[level]);
                }
            }
        }
    }

    /// The reset points of each level from `lo` in a block, of which `marks` are known.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the above")]
    fn resets(&self, block: &[u8; BEFORE + BLOCK], marks: [u64; MARKED]) -> [u64; SLOTS] {
        let mut resets = [0; SLOTS];
        resets[self.lo..].iter_mut().zip(marks).for_each(|(reset, marks)| *reset = marks);
        // Few are of still higher levels.
        let highest = self.lo + MARKED - 1;
        let mut rest = marks[MARKED - 1];
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let level = level(sum(std::array::from_fn(|i| block[at + i]))).unwrap_or(0) as usize;
            resets[highest..].iter_mut().take(level + 1 - highest).for_each(|reset| *reset |= 1 << at);
        }
        resets
    }

    /// The digest of what was taken in so far; more may follow.
    ///
    /// # Errors
    /// If that is longer than [`super::MAX_INPUT`].
    pub fn digest(&self, options: Options) -> Result<String> {
        check_length(self.total)?;
        let mut whole = self.clone();
        if self.waiting != 0 {
            Instructions::best().run(
                #[inline(always)]
                || whole.advance(&self.block, self.waiting, self.total),
            );
        }
        Ok(whole.written(options))
    }

    /// The digest of what is in full blocks, or was advanced to.
    fn written(&self, options: Options) -> String {
        let highest = (self.hi - 1).min(LEVELS as usize - 1);
        let mut i = self.lo;
        while i < highest && 64 * block_size(i as u32) < self.total {
            i += 1;
        }
        while i > self.lo && self.levels[i].pieces.count < ENOUGH_PIECES {
            i -= 1;
        }
        // The last byte is before BEFORE + waiting; none waits if none came.
        let last = std::array::from_fn(|i| if self.waiting == 0 { 0 } else { self.block[self.waiting - 1 + i] });
        let more = sum(last) != 0;
        let tail = |state: u64| more.then_some(state as u8);
        let part1 = self.levels[i].pieces.part(PIECES, tail(self.full[i]));
        // A level that has not begun has met no reset point: its state is that of the level below.
        let twice = if i + 1 < self.hi { i + 1 } else { i };
        let level = &self.levels[twice];
        let part2 = if options.no_truncation || twice >= self.divided {
            level.pieces.part(PIECES, tail(self.full[twice]))
        } else {
            let mut pieces = level.pieces;
            pieces.pending = level.half_pending;
            pieces.part(HALF_PIECES, tail(self.half[twice]))
        };
        write(i as u32, &part1, &part2, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssdeep::hash::hash;
    use crate::ssdeep::rolling::Window;
    use proptest::prelude::*;

    /// Section by section the definition, one byte at a time.
    fn definition(data: &[u8], options: Options) -> String {
        let sums: Vec<u32> = data
            .iter()
            .scan(Window::default(), |window, &byte| {
                window.extend(&[byte]);
                Some(window.sum())
            })
            .collect();
        let end = sums.last().copied().unwrap_or(0);
        let is_reset = |sum: u32, level: u32| u64::from(sum) % block_size(level) == block_size(level) - 1;
        let part = |level: u32, cap: usize| {
            let (mut characters, mut h, mut pending) = (Vec::new(), START, None);
            for (&byte, &sum) in data.iter().zip(&sums) {
                h = (h.wrapping_mul(19) ^ byte) & 63;
                if is_reset(sum, level) {
                    if characters.len() < cap {
                        characters.push(character(h));
                        (h, pending) = (START, None);
                    } else {
                        pending = Some(character(h));
                    }
                }
            }
            characters.extend(if end == 0 { pending } else { Some(character(h)) });
            characters
        };
        let mut level = crate::ssdeep::first_level(data.len() as u64);
        while level > 0 && sums.iter().filter(|&&sum| is_reset(sum, level)).count() < 32 {
            level -= 1;
        }
        write(level, &part(level, 63), &part(level + 1, options.half_pieces()), options)
    }

    /// Bytes that cut often, seldom, in turns, or end in zeros.
    fn inputs() -> impl Strategy<Value = Vec<u8>> {
        let run = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..600),
            prop::collection::vec(prop_oneof![Just(b'a'), Just(b'b')], 0..600),
            (any::<u8>(), 0usize..3000).prop_map(|(byte, n)| vec![byte; n]),
            (prop::collection::vec(any::<u8>(), 7..30), 1usize..200).prop_map(|(unit, n)| unit.repeat(n)),
            (0usize..9).prop_map(|n| vec![0; n]),
        ];
        prop::collection::vec(run, 0..6).prop_map(|runs| runs.concat())
    }

    fn every_option() -> impl Iterator<Item = Options> {
        [false, true].into_iter().flat_map(|eliminate_runs| {
            [false, true].into_iter().map(move |no_truncation| Options { eliminate_runs, no_truncation })
        })
    }

    #[test]
    fn printed_digests_are_met() {
        for (data, expected) in
            [(&b""[..], "3::"), (b"a", "3:E:E"), (b"Hello, World!\n", "3:aaX8v:aV"), (&[0; 5000], "3::")]
        {
            assert_eq!(expected, hash(data, Options::default()).unwrap());
            assert_eq!(expected, definition(data, Options::default()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn whole_streamed_and_defined_digests_are_equal(data in inputs(), chunk in 1usize..5000) {
            let mut hasher = Hasher::new();
            for bytes in data.chunks(chunk) {
                hasher.update(bytes);
            }
            for options in every_option() {
                let expected = definition(&data, options);
                prop_assert_eq!(&expected, &hash(&data, options).unwrap());
                prop_assert_eq!(&expected, &hasher.digest(options).unwrap());
            }
        }

        #[test]
        fn a_digest_can_be_asked_for_at_any_time(data in inputs(), cut in any::<prop::sample::Index>()) {
            let cut = cut.index(data.len() + 1);
            let mut hasher = Hasher::new();
            hasher.update(&data[..cut]);
            let copy = hasher.clone();
            hasher.update(&data[cut..]);
            prop_assert_eq!(hash(&data[..cut], Options::default()).unwrap(), copy.digest(Options::default()).unwrap());
            prop_assert_eq!(hash(&data, Options::default()).unwrap(), hasher.digest(Options::default()).unwrap());
        }
    }
}
