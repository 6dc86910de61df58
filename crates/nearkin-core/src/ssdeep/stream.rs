//! Digests of streams whose length is not known: every block size that may still be chosen is kept.
//!
//! Live levels `lo..hi`, each with its count of reset points, its characters, and two piece hashes: h, which restarts
//! at every counted reset point, and g, which stops restarting once 31 are counted, for a part 2 that is cut there. A
//! level begins when the one below meets its first reset point: up to then the two have the same state. The lowest
//! level ends when it has 63 pieces, the input is already too long for it, and the next level has enough.
//!
//! Between two reset points all states take in the same bytes, so they run as the byte lanes of one SIMD word: time per
//! byte is that of one state. Memory: 5 KB. Any split of the input gives the same digest.

use super::piece::{START, character, run_along};
use super::rolling::Window;
use super::{ENOUGH_PIECES, HALF_PIECES, LEVELS, Options, PIECES, block_size, check_length, write};
use crate::error::Result;
use crate::stop::Stop;

/// Bytes that are searched with one choice of the lowest level.
const STRIDE: usize = 4096;
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
    window: Window,
    total: u64,
    lo: usize,
    hi: usize,
    /// h of each level: the hash since its last counted reset point.
    full: [u8; SLOTS],
    /// g of the levels below `divided`: the same, but not restarted once 31 reset points are counted.
    half: [u8; SLOTS],
    /// The first level with fewer than 32 counted reset points, where g is still h. A higher level never has more.
    divided: usize,
    levels: Box<[Level; SLOTS]>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    count: usize,
    characters: [u8; PIECES],
    /// The character of h at the last reset point beyond the counted ones.
    pending: Option<u8>,
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
        let level = Level { count: 0, characters: [0; PIECES], pending: None, half_pending: None };
        Self {
            window: Window::default(),
            total: 0,
            lo: 0,
            hi: 1,
            full: [START; SLOTS],
            half: [START; SLOTS],
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
        for stride in data.chunks(STRIDE) {
            let window = self.window;
            let (mut done, before) = (0, self.total);
            window.scan(stride, self.lo as u32, |at, level| {
                // The lowest level may have ended within this stride.
                if level as usize >= self.lo {
                    self.advance(&stride[done..=at]);
                    done = at + 1;
                    self.total = before + done as u64;
                    self.reset(level as usize);
                }
            });
            self.advance(&stride[done..]);
            self.total = before + stride.len() as u64;
            self.window.extend(stride);
        }
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

    fn advance(&mut self, bytes: &[u8]) {
        let (lo, hi, divided) = (self.lo, self.hi, self.divided);
        let (fulls, halves) = (hi - lo, divided - lo);
        let mut words = [[0u8; 8]; 8];
        let states = words.as_flattened_mut();
        states[..fulls].copy_from_slice(&self.full[lo..hi]);
        states[fulls..fulls + halves].copy_from_slice(&self.half[lo..divided]);
        if let (true, [first, second, ..]) = (fulls + halves <= 16, &mut words) {
            let mut few = [*first, *second];
            run_along(&mut few, bytes);
            [*first, *second] = few;
        } else {
            run_along(&mut words, bytes);
        }
        let states = words.as_flattened();
        self.full[lo..hi].copy_from_slice(&states[..fulls]);
        self.half[lo..divided].copy_from_slice(&states[fulls..fulls + halves]);
    }

    /// The last byte ended a piece of all levels up to `level`.
    fn reset(&mut self, level: usize) {
        let mut i = self.lo;
        while i <= level && i < self.hi {
            if self.levels[i].count == 0 && self.hi == i + 1 && self.hi < SLOTS {
                self.full[self.hi] = self.full[i];
                self.hi += 1;
            }
            let this = &mut self.levels[i];
            if i >= self.divided {
                self.half[i] = self.full[i];
            }
            let (full, half) = (character(self.full[i]), character(self.half[i]));
            this.half_pending = Some(half);
            if this.count < PIECES {
                this.characters[this.count] = full;
                this.count += 1;
                self.full[i] = START;
                if this.count < ENOUGH_PIECES {
                    this.half_pending = None;
                } else {
                    self.divided = self.divided.max(i + 1);
                }
            } else {
                this.pending = Some(full);
                let outgrown = 64 * block_size(self.lo as u32) < self.total;
                if outgrown && self.hi - self.lo >= 2 && self.levels[self.lo + 1].count >= ENOUGH_PIECES {
                    self.lo += 1;
                }
            }
            i += 1;
        }
    }

    /// The digest of what was taken in so far; more may follow.
    ///
    /// # Errors
    /// If that is longer than [`super::MAX_INPUT`].
    pub fn digest(&self, options: Options) -> Result<String> {
        check_length(self.total)?;
        let highest = (self.hi - 1).min(LEVELS as usize - 1);
        let mut i = self.lo;
        while i < highest && 64 * block_size(i as u32) < self.total {
            i += 1;
        }
        while i > self.lo && self.levels[i].count < ENOUGH_PIECES {
            i -= 1;
        }
        let more = self.window.sum() != 0;
        let tail = |state: u8, pending: Option<u8>| if more { Some(character(state)) } else { pending };
        let level = &self.levels[i];
        let part1: Vec<u8> =
            level.characters[..level.count].iter().copied().chain(tail(self.full[i], level.pending)).collect();
        // A level that has not begun has met no reset point: its state is that of the level below.
        let twice = if i + 1 < self.hi { i + 1 } else { i };
        let level = &self.levels[twice];
        let part2: Vec<u8> = if options.no_truncation {
            level.characters[..level.count].iter().copied().chain(tail(self.full[twice], level.pending)).collect()
        } else {
            let count = level.count.min(HALF_PIECES);
            let state = if twice < self.divided { self.half[twice] } else { self.full[twice] };
            level.characters[..count].iter().copied().chain(tail(state, level.half_pending)).collect()
        };
        Ok(write(i as u32, &part1, &part2, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssdeep::hash::hash;
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
