//! Digests of inputs of known length, in two passes.
//!
//! 1. *Find the reset points.* Start from level g, the smallest with `64 B >= n`; search for levels g - 2 and higher
//!    ([`super::rolling`]). Store, for each level, the first 63 positions, the count and the last position: constant
//!    memory. The level is the highest one up to g with at least 32 reset points (level 0 needs none). If no level
//!    qualifies, search again eight levels lower: at most five searches for any input.
//! 2. *Hash the pieces* of the two levels ([`super::piece`]). They are independent because each starts from the same
//!    state.
//!
//! Short inputs take both steps in blocks of 64 bytes, in one buffer ([`super::blocks`]).
//!
//! The tail, the character after the last piece, depends on the end of the input:
//!
//! ```text
//! final S != 0:  the hash of what follows the last counted reset point, even if nothing does (then 'n')
//! final S == 0:  nothing, or, when reset points beyond the counted ones exist, the hash up to the last of them
//! ```

use super::blocks::{AHEAD, BITS, BLOCK, Pieces, SIDE, Side, all_at, planes, state_of};
use super::piece::{PieceJob, run};
use super::rolling::{BEFORE, MARKED, Window, marks, sum};
use super::{
    ENOUGH_PIECES, INITIAL_STATE, LEVELS, MAX_INPUT, Options, PIECES, character, check_length, first_level, write,
};
use crate::cpu::simd::{Simd, with_simd};
use crate::digests::input::{DigestInput, FileInput, Hashed, hash_with_content};
use crate::error::Result;

/// Return the digest of `data`.
///
/// # Errors
/// If it is longer than [`super::MAX_INPUT`].
pub fn hash(data: &[u8], options: Options) -> Result<String> {
    let mut data = data;
    hash_input(&mut data, options)
}

/// Return the digest of the regular file at `path`.
///
/// # Errors
/// As [`FileInput::open`], and if it can't be read or changes while it is read.
pub fn hash_file(path: &std::path::Path, options: Options) -> Result<String> {
    hash_input(&mut FileInput::open(path)?, options)
}

/// Return the digest, content hash and length of the regular file at `path`; it is read as often as for its digest
/// alone.
///
/// # Errors
/// As [`FileInput::open`], and if it can't be read or changes while it is read.
pub fn hash_file_and_content(path: &std::path::Path, options: Options) -> Result<Hashed> {
    hash_with_content(path, |source| hash_input(source, options))
}

/// Return the digest of `source`.
///
/// # Errors
/// If it is longer than [`super::MAX_INPUT`] or can't be read.
pub fn hash_input(source: &mut dyn DigestInput, options: Options) -> Result<String> {
    let length = source.length();
    check_length(length, MAX_INPUT)?;
    if length <= SHORT as u64 {
        return hash_short(source, options);
    }
    let top = first_level(length);
    let mut low = top.saturating_sub(2);
    let (resets, level, end) = loop {
        let (resets, end) = find(source, low, top + 1)?;
        let enough = |level: &u32| *level == 0 || resets.count(*level) >= ENOUGH_PIECES as u64;
        if let Some(level) = (low..=top).rev().find(enough) {
            break (resets, level, end);
        }
        low = low.saturating_sub(8);
    };
    let mut pieces = resets.pieces(level, PIECES, length, end);
    let of_part1 = pieces.len();
    pieces.extend(resets.pieces(level + 1, options.half_pieces(), length, end));
    hash_pieces(source, &mut pieces)?;
    let characters: Vec<u8> = pieces.iter().map(|piece| character(piece.state)).collect();
    let (part1, part2) = characters.split_at(of_part1);
    Ok(write(level, part1, part2, options))
}

/// Maximum length of an input that is hashed in one buffer.
const SHORT: usize = 1 << 14;

/// Return the digest of a short input.
fn hash_short(source: &mut dyn DigestInput, options: Options) -> Result<String> {
    // Zeros before it, and after it to the end of its last block.
    let stated = source.length() as usize;
    let mut bytes = Vec::with_capacity(BEFORE + stated.next_multiple_of(BLOCK));
    bytes.extend_from_slice(&[0; BEFORE]);
    source.pass(&mut |chunk| bytes.extend_from_slice(chunk))?;
    let length = bytes.len() - BEFORE;
    bytes.resize(BEFORE + stated.next_multiple_of(BLOCK), 0);
    // SAFETY: the form is compiled for the instructions of `S`.
    let (level, part1, part2) = with_simd!(S => unsafe { short_parts::<S>(&bytes, length.min(stated), options) });
    Ok(write(level, &part1, &part2, options))
}

/// Return the level and the parts of `length` bytes between six zeros and the padding of the last block.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn short_parts<S: Simd>(bytes: &[u8], length: usize, options: Options) -> (u32, Vec<u8>, Vec<u8>) {
    let blocks = length.div_ceil(BLOCK);
    let top = first_level(length as u64);
    let mut low = top.saturating_sub(2);
    let mut resets = vec![[0u64; MARKED]; blocks];
    let level = loop {
        let mut counts = [0; MARKED];
        for (block, resets) in resets.iter_mut().enumerate() {
            if let Some(with_before) = bytes[BLOCK * block..].first_chunk() {
                let inside = u64::MAX >> BLOCK.saturating_sub(length - BLOCK * block);
                // SAFETY: as for this function.
                *resets = unsafe { marks::<S>(with_before, low) }.map(|marks| marks & inside);
                for (count, marks) in counts.iter_mut().zip(resets) {
                    *count += marks.count_ones() as usize;
                }
            }
        }
        // The level above is marked, too, for part 2.
        let enough = |level: &u32| *level == 0 || counts[(level - low) as usize] >= ENOUGH_PIECES;
        if let Some(level) = (low..=top.min(low + 2)).rev().find(enough) {
            break level;
        }
        low = low.saturating_sub(3);
    };
    let first = (level - low) as usize;
    // The last byte is before BEFORE + length.
    let last = std::array::from_fn(|i| if length == 0 { 0 } else { bytes[length - 1 + i] });
    let has_tail = sum(last) != 0;
    if !has_tail && resets.iter().all(|marks| marks[first] == 0) {
        return (level, Vec::new(), Vec::new());
    }
    let caps = [PIECES, options.half_pieces()];
    let (mut parts, mut states, mut side) = ([Pieces::new(); 2], all_at::<SIDE>(INITIAL_STATE), Side::new());
    for from in (0..blocks).step_by(AHEAD) {
        let chunk = &resets[from..blocks.min(from + AHEAD)];
        let mut all_planes = [[0; BITS]; AHEAD];
        for (block, all_planes) in all_planes[..chunk.len()].iter_mut().enumerate() {
            if let Some(bytes) = bytes[BEFORE + BLOCK * (from + block)..].first_chunk() {
                // SAFETY: as for this function.
                *all_planes = unsafe { planes::<S>(bytes) };
            }
        }
        for (lane, part) in parts.iter().enumerate() {
            side.set(lane, caps[lane] - part.count, chunk.iter().map(|marks| marks[first + lane]));
        }
        // The last byte in the blocks.
        let last = (length - BLOCK * from).min(BLOCK * chunk.len()) - 1;
        side.advance(&mut states, (0, 2), &all_planes[..chunk.len()], (last % BLOCK) as u32);
        for (block, marks) in chunk.iter().enumerate() {
            for (lane, part) in parts.iter_mut().enumerate() {
                part.take(&side, block, lane, marks[first + lane]);
            }
        }
    }
    let tail = |lane: usize| has_tail.then(|| state_of(&states, lane));
    (level, parts[0].part(PIECES, tail(0)), parts[1].part(PIECES, tail(1)))
}

/// Find all reset points of levels `low` to `top` (higher ones counted as `top`), and S at the end.
pub(super) fn find(source: &mut dyn DigestInput, low: u32, top: u32) -> Result<(Resets, u32)> {
    let mut resets = Resets { low, levels: (low..=top).map(|_| LevelResets::default()).collect() };
    let (mut window, mut before) = (Window::default(), 0u64);
    source.pass(&mut |bytes| {
        window.scan(bytes, low, |at, level| resets.add(before + at as u64, level.min(top)));
        window.extend(bytes);
        before += bytes.len() as u64;
    })?;
    Ok((resets, window.sum()))
}

/// The reset points of exactly one level (or of at least the highest level).
#[derive(Default)]
struct LevelResets {
    count: u64,
    first: Vec<u64>,
    last: u64,
}

pub(super) struct Resets {
    low: u32,
    levels: Vec<LevelResets>,
}

impl Resets {
    #[inline]
    fn add(&mut self, position: u64, level: u32) {
        let level = &mut self.levels[(level - self.low) as usize];
        level.count += 1;
        level.last = position;
        if level.first.len() < PIECES {
            level.first.push(position);
        }
    }

    /// Return the levels whose reset points are all points of at least `level`. Level 31 has none: its block size exceeds
    /// 32 bits.
    fn from(&self, level: u32) -> &[LevelResets] {
        let levels = if level < LEVELS { self.levels.get((level - self.low) as usize..) } else { None };
        levels.unwrap_or_default()
    }

    /// Return the number of reset points of `level`.
    pub(super) fn count(&self, level: u32) -> u64 {
        self.from(level).iter().map(|l| l.count).sum()
    }

    /// Return the pieces of one part with at most `cap` counted reset points, the tail last.
    pub(super) fn pieces(&self, level: u32, cap: usize, length: u64, end: u32) -> Vec<Piece> {
        let levels = self.from(level);
        let mut cuts: Vec<u64> = levels.iter().flat_map(|l| l.first.iter().copied()).collect();
        cuts.sort_unstable();
        cuts.truncate(cap);
        let mut pieces = Vec::with_capacity(cuts.len() + 1);
        let mut start = 0;
        for cut in cuts {
            pieces.push(Piece { start, end: cut + 1, state: INITIAL_STATE });
            start = cut + 1;
        }
        if end != 0 {
            pieces.push(Piece { start, end: length, state: INITIAL_STATE });
        } else if self.count(level) > cap as u64 {
            let last = levels.iter().filter(|l| l.count > 0).map(|l| l.last).max().unwrap_or(0);
            pieces.push(Piece { start, end: last + 1, state: INITIAL_STATE });
        }
        pieces
    }
}

/// Bytes `start..end` of the input.
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) state: u8,
}

pub(super) fn hash_pieces(source: &mut dyn DigestInput, pieces: &mut [Piece]) -> Result<()> {
    let mut before = 0u64;
    source.pass(&mut |bytes| {
        let after = before + bytes.len() as u64;
        let mut jobs = Vec::with_capacity(pieces.len());
        for (i, piece) in pieces.iter().enumerate() {
            let (start, end) = (piece.start.max(before), piece.end.min(after));
            if start < end {
                let bytes = &bytes[(start - before) as usize..(end - before) as usize];
                jobs.push(PieceJob { bytes, state: piece.state, piece: i });
            }
        }
        run(&mut jobs);
        for job in &jobs {
            pieces[job.piece].state = job.state;
        }
        before = after;
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digests::input::{BUFFER, read_file};

    struct Counted<'a> {
        data: &'a [u8],
        length: u64,
        passes: u32,
    }

    impl DigestInput for Counted<'_> {
        fn length(&self) -> u64 {
            self.length
        }

        fn name(&self) -> &'static str {
            "data"
        }

        fn pass(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
            self.passes += 1;
            each(self.data);
            Ok(())
        }
    }

    #[test]
    fn a_file_is_summed_once_whatever_its_length() {
        let path = std::env::temp_dir().join(format!("nearkin-{}-summed", std::process::id()));
        for length in [0, 1, 5000, BUFFER as usize, BUFFER as usize + 1, 3 * BUFFER as usize] {
            let data: Vec<u8> = (0..length).map(|i| ((i * i) >> 7) as u8).collect();
            std::fs::write(&path, &data).unwrap();
            let expected = Hashed {
                digest: hash(&data, Options::default()).unwrap(),
                content: xxhash_rust::xxh3::xxh3_128(&data),
                length: length as u64,
            };
            assert_eq!(expected, hash_file_and_content(&path, Options::default()).unwrap());
            assert_eq!(data, read_file(&path).unwrap());
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn crafted_inputs_are_read_at_most_six_times() {
        // A declared length far above the data makes the search start at a high level, as in a long file with few reset
        // points.
        let everywhere: Vec<u8> = (0..=255u8).flat_map(|byte| [byte; 300]).collect();
        for data in [&[0u8; 5000][..], &[7u8; 5000], &everywhere, b""] {
            for length in [5000, 1 << 20, 1 << 30, super::super::MAX_INPUT] {
                let mut source = Counted { data, length, passes: 0 };
                hash_input(&mut source, Options::default()).unwrap();
                assert!(source.passes <= 6, "{} passes over {length}", source.passes);
            }
        }
        let mut source = Counted { data: &[], length: super::super::MAX_INPUT + 1, passes: 0 };
        assert!(hash_input(&mut source, Options::default()).is_err());
    }
}
