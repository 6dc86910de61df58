//! Digests of streams of unknown length: it tracks every block size that can still be chosen.
//!
//! Live levels `lo..hi`, each with its count of reset points, its characters, and two piece hashes: h, which restarts
//! at every counted reset point, and g, which stops restarting after 31, for a truncated part 2. A level becomes live
//! at the first reset point of the level below; until then both have the same state. The lowest level is dropped when
//! the input is too long for it and the next level has enough pieces.
//!
//! Bytes are processed in groups of 512: first the reset points of all levels, then four states at a time in lanes
//! ([`super::blocks`]). Memory: 7 KB. The digest does not depend on how the input is split.

use super::blocks::{AHEAD, BITS, BLOCK, Pieces, Planes, SIDE, Side, States, all_at, pass, planes, state_of};
use super::rolling::{BEFORE, MARKED, level, marks, sum};
use super::{
    ENOUGH_PIECES, HALF_PIECES, INITIAL_STATE, LEVELS, MAX_INPUT, Options, PIECES, block_size, check_length, write,
};
use crate::cancel::CancelToken;
use crate::cpu::simd::{Simd, with_simd};
use crate::error::Result;

/// Number of bytes between two cancellation points: about ten milliseconds.
const PART: usize = if cfg!(test) { 100 } else { 1 << 23 };

/// Number of bytes processed together.
const CHUNK: usize = AHEAD * BLOCK;

const SLOTS: usize = LEVELS as usize + 1;
/// Padding for a group of lanes that begins at the last level.
const ROOM: usize = SLOTS + SIDE;

/// An incremental hasher.
///
/// # Examples
/// ```
/// use nearkin_core::digests::ssdeep::{Hasher, Options};
/// let mut hasher = Hasher::new();
/// hasher.update(b"Hello, ");
/// hasher.update(b"World!\n");
/// assert_eq!("3:aaX8v:aV", hasher.digest(Options::default()).unwrap());
/// ```
#[derive(Clone, Debug)]
pub struct Hasher {
    /// The last six processed bytes, followed by the pending ones.
    chunk: [u8; BEFORE + CHUNK],
    /// Number of pending bytes.
    waiting: usize,
    total: u64,
    lo: usize,
    hi: usize,
    /// h of each level: the hash since its last counted reset point.
    full: States<ROOM>,
    /// g of the levels below `divided`: the same hash, but not restarted after 31 reset points.
    half: States<ROOM>,
    /// The first level with fewer than 32 counted reset points, where g equals h. A higher level never has more.
    divided: usize,
    levels: Box<[Level; SLOTS]>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    pieces: Pieces,
    /// The character of g at the last reset point after the first 31.
    half_pending: Option<u8>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher {
    /// Create the hasher of an empty input.
    pub fn new() -> Self {
        let level = Level { pieces: Pieces::new(), half_pending: None };
        Self {
            chunk: [0; BEFORE + CHUNK],
            waiting: 0,
            total: 0,
            lo: 0,
            hi: 1,
            full: all_at(INITIAL_STATE),
            half: all_at(INITIAL_STATE),
            divided: 0,
            levels: Box::new([level; SLOTS]),
        }
    }

    /// Return the number of bytes so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Append `data`.
    pub fn update(&mut self, data: &[u8]) {
        self.total += data.len() as u64;
        // SAFETY: the form is compiled for the instructions of `S`.
        with_simd!(S => unsafe { self.take::<S>(data) });
    }

    /// # Safety
    /// As for [`Simd`].
    #[inline(always)]
    unsafe fn take<S: Simd>(&mut self, data: &[u8]) {
        let before = self.total - data.len() as u64;
        let mut at = 0;
        // The last bytes remain pending until another one follows, because the tail depends on S at the end.
        while CHUNK - self.waiting < data.len() - at {
            // After six bytes of `data`, the rest is processed in place.
            if let (0, Some(chunk)) = (self.waiting, at.checked_sub(BEFORE).and_then(|at| data[at..].first_chunk())) {
                at += CHUNK;
                // SAFETY: as for this function.
                unsafe { self.advance::<S>(chunk, CHUNK, before + at as u64) };
                self.chunk[..BEFORE].copy_from_slice(&data[at - BEFORE..at]);
                continue;
            }
            let taken = CHUNK - self.waiting;
            self.chunk[BEFORE + self.waiting..].copy_from_slice(&data[at..at + taken]);
            at += taken;
            // SAFETY: as for this function.
            unsafe { self.advance::<S>(&self.chunk.clone(), CHUNK, before + at as u64) };
            self.chunk.copy_within(CHUNK.., 0);
            self.waiting = 0;
        }
        let (begin, rest) = (BEFORE + self.waiting, &data[at..]);
        self.chunk[begin..begin + rest.len()].copy_from_slice(rest);
        self.waiting += rest.len();
    }

    /// Append `data` with cancellation points.
    ///
    /// # Errors
    /// The call is cancelled: the hasher is unchanged.
    pub fn update_all(&mut self, data: &[u8]) -> Result<()> {
        let cancel = CancelToken::current();
        let mut aside = self.clone();
        for part in data.chunks(PART) {
            cancel.check()?;
            aside.update(part);
        }
        *self = aside;
        Ok(())
    }

    /// Process the first `length` bytes of a chunk that starts with six processed bytes; `total` is the input's length
    /// after them.
    ///
    /// # Safety
    /// As for [`Simd`].
    #[inline(always)]
    unsafe fn advance<S: Simd>(&mut self, chunk: &[u8; BEFORE + CHUNK], length: usize, total: u64) {
        let blocks = length.div_ceil(BLOCK);
        let (mut all_marks, mut all_planes, mut any) = ([[0; MARKED]; AHEAD], [[0; BITS]; AHEAD], false);
        for block in 0..blocks {
            if let (Some(with_before), Some(bytes)) =
                (chunk[BLOCK * block..].first_chunk(), chunk[BEFORE + BLOCK * block..].first_chunk())
            {
                let inside = u64::MAX >> BLOCK.saturating_sub(length - BLOCK * block);
                // SAFETY: as for this function.
                let (marks, planes) = unsafe { (marks::<S>(with_before, self.lo as u32), planes::<S>(bytes)) };
                all_marks[block] = marks.map(|marks| marks & inside);
                all_planes[block] = planes;
                any |= all_marks[block][0] != 0;
            }
        }
        if any || length < CHUNK {
            let last = ((length - 1) % BLOCK) as u32;
            self.cut(chunk, &all_marks[..blocks], &all_planes[..blocks], last);
            // Lower levels can't be chosen.
            while self.hi - self.lo >= 2
                && 64 * block_size(self.lo as u32) < total
                && self.levels[self.lo + 1].pieces.count >= ENOUGH_PIECES
            {
                self.lo += 1;
            }
            return;
        }
        for planes in &all_planes {
            for (states, end) in [(&mut self.half, self.divided), (&mut self.full, self.hi)] {
                if end > self.lo {
                    pass(states, self.lo, end - self.lo, planes);
                }
            }
        }
    }

    /// Process blocks with reset points; the last block ends at byte `last`.
    #[inline(always)]
    fn cut(&mut self, chunk: &[u8; BEFORE + CHUNK], marks: &[[u64; MARKED]], planes: &[Planes], last: u32) {
        let mut resets = [[0; SLOTS]; AHEAD];
        let mut found = [0; SLOTS];
        for (block, (resets, marks)) in resets.iter_mut().zip(marks).enumerate() {
            resets[self.lo..].iter_mut().zip(marks).for_each(|(reset, marks)| *reset = *marks);
            // Still higher levels are rare.
            let highest = self.lo + MARKED - 1;
            let mut rest = marks[MARKED - 1];
            while rest != 0 {
                let at = rest.trailing_zeros();
                rest &= rest - 1;
                let window = std::array::from_fn(|i| chunk[BLOCK * block + at as usize + i]);
                let levels = (level(sum(window)).unwrap_or(0) as usize + 1).saturating_sub(highest);
                resets[highest..].iter_mut().take(levels).for_each(|reset| *reset |= 1 << at);
            }
            found.iter_mut().zip(resets).for_each(|(found, reset)| *found += reset.count_ones() as usize);
        }
        // A level becomes live at the first reset point of the level below.
        while self.hi < SLOTS && found[self.hi - 1] != 0 {
            self.full.iter_mut().for_each(|row| row[self.hi] = row[self.hi - 1]);
            self.hi += 1;
        }
        let (lo, hi) = (self.lo, self.hi);
        while self.divided < hi && self.levels[self.divided].pieces.count + found[self.divided] >= ENOUGH_PIECES {
            (self.half.iter_mut().zip(&self.full)).for_each(|(half, full)| half[self.divided] = full[self.divided]);
            self.divided += 1;
        }
        let of_level = |level: usize| resets[..marks.len()].iter().map(move |resets| resets[level]);
        let mut side = Side::new();
        for first in (lo..self.divided).step_by(SIDE) {
            let group = first..self.divided.min(first + SIDE);
            for (lane, level) in group.clone().enumerate() {
                side.set(lane, HALF_PIECES.saturating_sub(self.levels[level].pieces.count), of_level(level));
            }
            side.advance(&mut self.half, (first, group.len()), planes, last);
            for (lane, level) in group.enumerate() {
                for (block, marks) in of_level(level).enumerate() {
                    let beyond = marks ^ side.restarts[block][lane];
                    if beyond != 0 {
                        self.levels[level].half_pending = Some(side.character(block, lane, beyond.ilog2()));
                    }
                }
            }
        }
        for first in (lo..hi).step_by(SIDE) {
            let group = first..hi.min(first + SIDE);
            for (lane, level) in group.clone().enumerate() {
                side.set(lane, PIECES - self.levels[level].pieces.count, of_level(level));
            }
            side.advance(&mut self.full, (first, group.len()), planes, last);
            for (lane, level) in group.enumerate() {
                for (block, marks) in of_level(level).enumerate() {
                    if marks != 0 {
                        self.levels[level].pieces.take(&side, block, lane, marks);
                    }
                }
            }
        }
    }

    /// Return the digest of the input so far; more may follow.
    ///
    /// # Errors
    /// If it is longer than [`MAX_INPUT`].
    pub fn digest(&self, options: Options) -> Result<String> {
        check_length(self.total, MAX_INPUT)?;
        let mut whole = self.clone();
        if self.waiting != 0 {
            // SAFETY: the form is compiled for the instructions of `S`.
            with_simd!(S => unsafe { whole.advance::<S>(&self.chunk, self.waiting, self.total) });
        }
        Ok(whole.written(options))
    }

    /// Return the digest of the input in full blocks, or up to the advanced position.
    fn written(&self, options: Options) -> String {
        let highest = (self.hi - 1).min(LEVELS as usize - 1);
        let mut i = self.lo;
        while i < highest && 64 * block_size(i as u32) < self.total {
            i += 1;
        }
        while i > self.lo && self.levels[i].pieces.count < ENOUGH_PIECES {
            i -= 1;
        }
        // The last byte is before BEFORE + waiting; it is absent if the input is empty.
        let last = std::array::from_fn(|i| if self.waiting == 0 { 0 } else { self.chunk[self.waiting - 1 + i] });
        let more = sum(last) != 0;
        let tail = |states, level| more.then(|| state_of(states, level));
        let part1 = self.levels[i].pieces.part(PIECES, tail(&self.full, i));
        // A level that is not live has met no reset point: its state is that of the level below.
        let twice = if i + 1 < self.hi { i + 1 } else { i };
        let level = &self.levels[twice];
        let part2 = if options.no_truncation || twice >= self.divided {
            level.pieces.part(PIECES, tail(&self.full, twice))
        } else {
            let mut pieces = level.pieces;
            pieces.pending = level.half_pending;
            pieces.part(HALF_PIECES, tail(&self.half, twice))
        };
        write(i as u32, &part1, &part2, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digests::ssdeep::character;
    use crate::digests::ssdeep::hash::hash;
    use crate::digests::ssdeep::rolling::Window;
    use proptest::prelude::*;

    /// Compute the digest by the definition, section by section, one byte at a time.
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
            let (mut characters, mut h, mut pending) = (Vec::new(), INITIAL_STATE, None);
            for (&byte, &sum) in data.iter().zip(&sums) {
                h = (h.wrapping_mul(19) ^ byte) & 63;
                if is_reset(sum, level) {
                    if characters.len() < cap {
                        characters.push(character(h));
                        (h, pending) = (INITIAL_STATE, None);
                    } else {
                        pending = Some(character(h));
                    }
                }
            }
            characters.extend(if end == 0 { pending } else { Some(character(h)) });
            characters
        };
        let mut level = crate::digests::ssdeep::first_level(data.len() as u64);
        while level > 0 && sums.iter().filter(|&&sum| is_reset(sum, level)).count() < 32 {
            level -= 1;
        }
        write(level, &part(level, 63), &part(level + 1, options.half_pieces()), options)
    }

    /// Bytes with many reset points, with few, alternating, or ending in zeros.
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
