//! Words that the dictionary does not have: hidden Markov models over characters.
//!
//! A state is the position of a character in its word, B(egin), E(nd), M(iddle) or S(ingle); with tags it is a position
//! and a part of speech, 256 states in total. Viterbi finds the most probable states, with sums of logarithms:
//! ```text
//! v_0(y) = start(y) + emit(y, c_0)        v_t(y) = max over x of v_{t−1}(x) + move(x, y) + emit(y, c_t)
//! ```
//! Sums are taken in this order and ties are resolved in favour of the greater state (by letter, then tag), as in jieba
//! 0.42.1; missing emissions are −3.14e100, which absorbs values added to it, as there. Numbers:
//! `data/jieba-models.bin`, unpacked on first use. With tags, states without a possible predecessor in the run are
//! skipped, as in jieba.
//!
//! Only 5,218 of the 65,536 transitions between states with tags exist, so a state visits only its predecessors. The
//! traceback computes the winning predecessor only for states on the path. A character without an emission absorbs the
//! values before it: from then on states have few values, which no transition changes ([`SWALLOWS`]), and only sets of
//! states are compared.
//!
//! Cost: a few nanoseconds per character without tags, tens with them. Memory with tags: up to 2 kB per character of a
//! run. Tests: against every state compared with every other, and against jieba in `tests/text/test_words.py`.

use crate::alloc::TryOnce;
use crate::{Result, alloc};

static PACKED: &[u8] = include_bytes!("../../../data/jieba-models.bin");

/// The logarithm of a zero probability.
const MIN_FLOAT: f64 = -3.14e100;
/// From this magnitude on a sum absorbs transition and start values, which are above −100 if finite and possible; below
/// its inverse in significance, 2^−53 of `MIN_FLOAT`, a sum is absorbed.
const SWALLOWS: f64 = -1e90;
const SWALLOWED: f64 = -1e80;
/// Maximum number of values by which absorbing states are grouped.
const LEVELS: usize = 4;
/// First and last character that the models cover, the bounds of the dictionary's rule.
pub(super) const FIRST: u32 = 0x4e00;
pub(super) const LAST: u32 = 0x9fd5;
/// The ratio sign, the only character outside them that cppjieba's model has.
const RATIO: u32 = 0x2236;
const CHARACTERS: usize = (LAST - FIRST + 1) as usize;
const STATES: usize = 256;
/// In the packed states of a character: index of an emission, none, and a flag that the character lists the state.
const EMISSION: u16 = 0x7fff;
const LISTED: u16 = 0x8000;

/// Position of a character in a word, in tie-breaking order.
const B: usize = 0;
const E: usize = 1;
const M: usize = 2;
const S: usize = 3;

/// A bit set of states.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct States([u64; STATES / 64]);

impl States {
    fn insert(&mut self, state: u8) {
        self.0[usize::from(state) / 64] |= 1 << (state % 64);
    }

    #[inline]
    fn contains(self, state: u8) -> bool {
        self.0[usize::from(state) / 64] >> (state % 64) & 1 == 1
    }

    fn is_empty(self) -> bool {
        self == Self::default()
    }

    #[inline]
    fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    #[inline]
    fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    /// Return this set, or the other one if it is empty.
    #[inline]
    fn or_else(self, other: Self) -> Self {
        if self.is_empty() { other } else { self }
    }

    /// Return the number of states less than `state`.
    fn rank(self, state: u8) -> usize {
        let word = usize::from(state) / 64;
        let below = self.0[word] & ((1 << (state % 64)) - 1);
        self.0[..word].iter().map(|word| word.count_ones()).sum::<u32>() as usize + below.count_ones() as usize
    }

    fn last(self) -> Option<u8> {
        let word = self.0.iter().rposition(|&word| word != 0)?;
        Some((64 * word) as u8 + self.0[word].ilog2() as u8)
    }

    /// Ascending.
    #[inline]
    fn each(self, mut each: impl FnMut(u8)) {
        for (i, mut word) in self.0.into_iter().enumerate() {
            while word != 0 {
                each((64 * i) as u8 + word.trailing_zeros() as u8);
                word &= word - 1;
            }
        }
    }
}

/// Positions in a word.
pub(super) struct Places {
    start: [f64; 4],
    moves: [[f64; 4]; 4],
    /// For each character from `FIRST`.
    emissions: Vec<[f64; 4]>,
}

/// Positions in a word, with parts of speech.
pub(super) struct Tagged {
    /// Letter and tag of each state, sorted.
    pub(super) names: Vec<(u8, Box<str>)>,
    start: Vec<f64>,
    /// From state x to state y at `y · 256 + x`; −∞ if the transition does not exist.
    moves: Vec<f64>,
    /// States that can follow each state, those that it can follow, and those that can have a predecessor.
    next: Vec<States>,
    previous: Vec<States>,
    lead_on: States,
    all: States,
    /// Start of the states of each character from `FIRST` in `states`.
    offsets: Vec<u32>,
    /// Ascending.
    states: Vec<State>,
}

/// A state of a character, whether the character lists it, and its emission.
type State = (u8, bool, f64);

/// A reader of little-endian numbers.
struct PackedReader(&'static [u8]);

impl PackedReader {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_at(N.min(self.0.len()));
        self.0 = rest;
        taken.try_into().unwrap_or([0; N])
    }
    fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }
    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }
    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }
    fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.take())
    }
}

fn unpacked() -> Result<&'static (Places, Tagged)> {
    static MODELS: TryOnce<(Places, Tagged)> = TryOnce::new();
    MODELS.get_or_init(|| {
        let mut reader = PackedReader(PACKED);
        Ok((Places::unpack(&mut reader)?, Tagged::unpack(&mut reader)?))
    })
}

/// Buffers reused by a thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// Without tags: for each character one bit per state, set if the greater predecessor won.
    choices: Vec<u8>,
    /// The states of the path.
    path: Vec<u8>,
    /// With tags: the states of each character, and their values in order, or one value that all of them have.
    steps: Vec<Step>,
    values: Vec<f64>,
}

/// The possible states of a character, and the start of their values.
#[derive(Clone, Copy)]
struct Step {
    states: States,
    start: u32,
    flat: bool,
}

/// The values of one character's states while they are computed.
struct Front {
    states: States,
    values: [f64; STATES],
    min: f64,
    max: f64,
}

impl Front {
    fn new() -> Self {
        Self { states: States::default(), values: [0.0; STATES], min: f64::INFINITY, max: f64::NEG_INFINITY }
    }

    fn clear(&mut self) {
        self.states = States::default();
        (self.min, self.max) = (f64::INFINITY, f64::NEG_INFINITY);
    }

    #[inline]
    fn set(&mut self, state: u8, value: f64) {
        self.states.insert(state);
        self.values[usize::from(state)] = value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Set all of `states` to this value.
    fn set_all(&mut self, states: States, value: f64) {
        self.states = states;
        (self.min, self.max) = (value, value);
    }

    fn is_flat(&self) -> bool {
        self.min >= self.max
    }

    /// Return the states of each value, the greatest first, if all values absorb additions and are few.
    fn levels(&self) -> Option<[(f64, States); LEVELS]> {
        if self.max > SWALLOWS || self.states.is_empty() {
            return None;
        }
        let mut levels = [(f64::NEG_INFINITY, States::default()); LEVELS];
        if self.is_flat() {
            levels[0] = (self.max, self.states);
            return Some(levels);
        }
        let mut few = true;
        self.states.each(|state| {
            let value = self.values[usize::from(state)];
            match levels.iter_mut().find(|level| level.0 == value || level.1.is_empty()) {
                Some(level) => {
                    level.0 = value;
                    level.1.insert(state);
                }
                None => few = false,
            }
        });
        levels.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        few.then_some(levels)
    }

    /// Write the common value to each state.
    fn spread(&mut self) {
        if self.is_flat() {
            let Self { states, values, max, .. } = self;
            states.each(|state| values[usize::from(state)] = *max);
        }
    }

    /// Store the values for the traceback.
    fn record(&self, steps: &mut Vec<Step>, values: &mut Vec<f64>) -> Result<()> {
        alloc::try_reserve(steps, 1)?;
        alloc::try_reserve(values, STATES)?;
        let (states, start, flat) = (self.states, values.len() as u32, self.is_flat());
        steps.push(Step { states, start, flat });
        if flat {
            values.push(self.max);
        } else {
            states.each(|state| values.push(self.values[usize::from(state)]));
        }
        Ok(())
    }
}

impl Step {
    fn value(&self, values: &[f64], state: u8) -> f64 {
        values[self.start as usize + if self.flat { 0 } else { self.states.rank(state) }]
    }
}

impl Places {
    /// Return the model, unpacked on first use.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn get() -> Result<&'static Self> {
        Ok(&unpacked()?.0)
    }

    /// Return cppjieba's model: jieba's with emissions of six decimals, and with [`RATIO`].
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn cppjieba() -> Result<&'static Self> {
        static CPPJIEBA: TryOnce<Places> = TryOnce::new();
        CPPJIEBA.get_or_init(|| {
            let places = Self::get()?;
            let rounded = |value: f64| if value > SWALLOWS { (value * 1e6).round() / 1e6 } else { MIN_FLOAT };
            let mut emissions = alloc::try_with_capacity(CHARACTERS + 2)?;
            emissions.extend(places.emissions.iter().map(|values| values.map(rounded)));
            emissions.extend([[MIN_FLOAT, MIN_FLOAT, MIN_FLOAT, -15.828866], [MIN_FLOAT; 4]]);
            let possible = |value: f64| value.max(MIN_FLOAT);
            let moves = places.moves.map(|moves| moves.map(possible));
            Ok(Self { start: places.start.map(possible), moves, emissions })
        })
    }

    /// Return the index of a character among the emissions of cppjieba's model.
    pub(super) fn cppjieba_place(code_point: u32) -> u16 {
        match code_point {
            FIRST..=LAST => (code_point - FIRST) as u16,
            RATIO => CHARACTERS as u16,
            _ => CHARACTERS as u16 + 1,
        }
    }

    /// Segment as [`Places::cut`], with cppjieba's model and rules: all states are compared with all, ties are resolved
    /// in favour of the first of B, E, M and S, and the last state is E if it is no worse than S. Values do not fall
    /// below `MIN_FLOAT`: such a value would follow E, so that no word continues after an unknown character.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn cut_as_cppjieba(
        &self,
        characters: &[u16],
        scratch: &mut Scratch,
        each: impl FnMut(usize, usize),
    ) -> Result<()> {
        let step = |v: [f64; 4], emission: &[f64; 4]| {
            // Two bits per state.
            let mut choice = 0;
            let v = std::array::from_fn(|y| {
                let mut best = (MIN_FLOAT, E);
                for x in [B, E, M, S] {
                    let value = v[x] + self.moves[x][y] + emission[y];
                    if value > best.0 {
                        best = (value, x);
                    }
                }
                choice |= (best.1 << (2 * y)) as u8;
                best.0
            });
            (v, choice)
        };
        self.decode(characters, scratch, [E, S], step, |state, choice| usize::from(choice >> (2 * state) & 3), each)
    }

    fn unpack(reader: &mut PackedReader) -> Result<Self> {
        let start = std::array::from_fn(|_| reader.f64());
        let moves = std::array::from_fn(|_| std::array::from_fn(|_| reader.f64()));
        let mut emissions = alloc::try_filled([MIN_FLOAT; 4], CHARACTERS)?;
        for _ in 0..reader.u32() {
            let character = u32::from(reader.u16());
            let values = std::array::from_fn(|_| reader.f64());
            if let Some(place) = emissions.get_mut(character.wrapping_sub(FIRST) as usize) {
                *place = values;
            }
        }
        Ok(Self { start, moves, emissions })
    }

    /// Call `each(start, end)` with every word of `characters` (counted from `FIRST`), none of them empty.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn cut(&self, characters: &[u16], scratch: &mut Scratch, each: impl FnMut(usize, usize)) -> Result<()> {
        let step = |v: [f64; 4], emission: &[f64; 4]| {
            let from = |x: usize, y: usize| v[x] + self.moves[x][y] + emission[y];
            // B follows E or S, E follows B or M, M follows B or M, S follows E or S.
            let pairs = [
                (from(E, B), from(S, B)),
                (from(B, E), from(M, E)),
                (from(B, M), from(M, M)),
                (from(E, S), from(S, S)),
            ];
            let mut choice = 0;
            let v = std::array::from_fn(|y| {
                let (lower, greater) = pairs[y];
                choice |= u8::from(greater >= lower) << y;
                if greater >= lower { greater } else { lower }
            });
            (v, choice)
        };
        let before = |state, choice| match (state, choice >> state & 1 == 1) {
            (B | S, false) => E,
            (B | S, true) => S,
            (_, false) => B,
            (_, true) => M,
        };
        self.decode(characters, scratch, [S, E], step, before, each)
    }

    /// Call `each` with the words of the best path. `step` returns the values of the states at a character and a
    /// choice, from which `before` returns the state that precedes one. The first of two equal `ends` wins.
    fn decode(
        &self,
        characters: &[u16],
        Scratch { choices, path, .. }: &mut Scratch,
        ends: [usize; 2],
        step: impl Fn([f64; 4], &[f64; 4]) -> ([f64; 4], u8),
        before: impl Fn(usize, u8) -> usize,
        each: impl FnMut(usize, usize),
    ) -> Result<()> {
        let n = characters.len();
        let emit = |t: usize| &self.emissions[usize::from(characters[t])];
        choices.clear();
        alloc::try_reserve(choices, n)?;
        let first = emit(0);
        let mut v: [f64; 4] = std::array::from_fn(|y| self.start[y] + first[y]);
        choices.push(0);
        for t in 1..n {
            let choice;
            (v, choice) = step(v, emit(t));
            choices.push(choice);
        }
        path.clear();
        alloc::try_resize(path, n, 0)?;
        let mut state = if v[ends[0]] >= v[ends[1]] { ends[0] } else { ends[1] };
        for t in (0..n).rev() {
            path[t] = state as u8;
            state = before(state, choices[t]);
        }
        each_word(path, each);
        Ok(())
    }
}

/// Call `each(start, end)` with every word of a path: E and S end one.
fn each_word(path: &[u8], mut each: impl FnMut(usize, usize)) {
    let mut begin = 0;
    for (t, &state) in path.iter().enumerate() {
        if matches!(usize::from(state), E | S) {
            each(begin, t + 1);
            begin = t + 1;
        }
    }
}

impl Tagged {
    /// Return the model, unpacked on first use.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn get() -> Result<&'static Self> {
        Ok(&unpacked()?.1)
    }

    fn unpack(reader: &mut PackedReader) -> Result<Self> {
        let count = reader.u32() as usize;
        let mut names = alloc::try_with_capacity(count)?;
        let mut start = alloc::try_with_capacity(count)?;
        for _ in 0..count {
            let letter = reader.u8();
            let mut name = String::new();
            loop {
                match reader.u8() {
                    b'\n' => break,
                    byte => name.push(char::from(byte)),
                }
            }
            names.push((letter, name.into()));
            start.push(reader.f64());
        }
        let mut moves = alloc::try_filled(f64::NEG_INFINITY, STATES * STATES)?;
        let (mut next, mut previous) =
            (alloc::try_filled(States::default(), STATES)?, alloc::try_filled(States::default(), STATES)?);
        let (mut lead_on, mut all) = (States::default(), States::default());
        (0..count).for_each(|state| all.insert(state as u8));
        for _ in 0..reader.u32() {
            let (from, to) = (reader.u8(), reader.u8());
            moves[usize::from(to) * STATES + usize::from(from)] = reader.f64();
            next[usize::from(from)].insert(to);
            previous[usize::from(to)].insert(from);
            lead_on.insert(from);
        }
        let (offsets, states) = Self::unpack_states(reader)?;
        Ok(Self { names, start, moves, next, previous, lead_on, all, offsets, states })
    }

    /// Start of each character's states, and all states.
    fn unpack_states(reader: &mut PackedReader) -> Result<(Vec<u32>, Vec<State>)> {
        let count = reader.u32();
        let values: Vec<f64> = alloc::try_collect((0..count).map(|_| reader.f64()))?;
        let mut lists: Vec<Vec<State>> = alloc::try_filled(Vec::new(), CHARACTERS)?;
        for _ in 0..reader.u32() {
            let character = u32::from(reader.u16());
            let count = reader.u8();
            let states = alloc::try_collect((0..count).map(|_| {
                let (state, number) = (reader.u8(), reader.u16());
                let emission = values.get(usize::from(number & EMISSION)).copied().unwrap_or(MIN_FLOAT);
                (state, number & LISTED != 0, emission)
            }))?;
            if let Some(place) = lists.get_mut(character.wrapping_sub(FIRST) as usize) {
                *place = states;
            }
        }
        let mut offsets = alloc::try_with_capacity(CHARACTERS + 1)?;
        let mut states = alloc::try_with_capacity(lists.iter().map(Vec::len).sum())?;
        offsets.push(0);
        for list in lists {
            states.extend(list);
            offsets.push(states.len() as u32);
        }
        Ok((offsets, states))
    }

    fn of_character(&self, character: u16) -> &[State] {
        let place = usize::from(character);
        &self.states[self.offsets[place] as usize..self.offsets[place + 1] as usize]
    }

    fn emission(&self, character: u16, state: u8) -> f64 {
        let states = self.of_character(character);
        states.binary_search_by_key(&state, |entry| entry.0).map_or(MIN_FLOAT, |place| states[place].2)
    }

    /// Return the states that can follow one of `states`.
    fn reachable(&self, states: States) -> States {
        let mut found = States::default();
        states.each(|state| found = found.or(self.next[usize::from(state)]));
        found
    }

    /// Compute the values of all states of all characters.
    fn walk(&self, characters: &[u16], steps: &mut Vec<Step>, values: &mut Vec<f64>) -> Result<()> {
        steps.clear();
        values.clear();
        let mut fronts = (Front::new(), Front::new());
        let (mut before, mut now) = (&mut fronts.0, &mut fronts.1);
        let first = self.of_character(characters[0]);
        for &(state, _, emission) in first.iter().filter(|entry| entry.1) {
            before.set(state, self.start[usize::from(state)] + emission);
        }
        if before.states.is_empty() {
            self.all.each(|state| {
                before.set(state, self.start[usize::from(state)] + self.emission(characters[0], state));
            });
        }
        before.record(steps, values)?;
        // The last set of states, and its successors.
        let mut followed = (States::default(), States::default());
        for &character in &characters[1..] {
            if followed.0 != before.states {
                followed = (before.states, self.reachable(before.states));
            }
            let reachable = followed.1;
            let states = self.of_character(character);
            now.clear();
            let levels = before.levels();
            let levels = levels.as_ref().filter(|_| !reachable.is_empty());
            if levels.is_none() {
                before.spread();
            }
            let before_values = &before.values;
            let (states_before, swallowed) = (before.states, before.min > SWALLOWED && !reachable.is_empty());
            let best = |state: u8, emission: f64| {
                let previous = self.previous[usize::from(state)].and(states_before);
                if let Some(levels) = levels {
                    let found = levels.iter().find(|level| !level.1.and(previous).is_empty());
                    return found.map_or(f64::NEG_INFINITY, |level| level.0) + emission;
                }
                if emission <= MIN_FLOAT && swallowed {
                    return emission;
                }
                let moves = &self.moves[usize::from(state) * STATES..][..STATES];
                let mut best = f64::NEG_INFINITY;
                previous.each(|x| best = best.max(before_values[usize::from(x)] + moves[usize::from(x)]));
                best + emission
            };
            for &(state, listed, emission) in states {
                if listed && reachable.contains(state) {
                    now.set(state, best(state, emission));
                }
            }
            if now.states.is_empty() {
                let open = reachable.or_else(self.all);
                if states.is_empty() && before.is_flat() && levels.is_some() {
                    now.set_all(open, before.max + MIN_FLOAT);
                } else if states.is_empty() && swallowed {
                    now.set_all(open, MIN_FLOAT);
                } else {
                    open.each(|state| now.set(state, best(state, self.emission(character, state))));
                }
            }
            now.record(steps, values)?;
            (before, now) = (now, before);
        }
        Ok(())
    }

    /// Return the states of the best path: the greatest value at the last character, then each state's predecessor.
    fn walk_back(&self, characters: &[u16], steps: &[Step], values: &[f64], path: &mut Vec<u8>) -> Result<()> {
        path.clear();
        alloc::try_resize(path, characters.len(), 0)?;
        let (mut state, mut value) = (0, f64::NEG_INFINITY);
        let end = &steps[characters.len() - 1];
        end.states.each(|y| {
            if end.value(values, y) >= value {
                (state, value) = (y, end.value(values, y));
            }
        });
        for (t, before) in (1..characters.len()).zip(steps).rev() {
            path[t] = state;
            let emission = self.emission(characters[t], state);
            let moves = &self.moves[usize::from(state) * STATES..][..STATES];
            // States without successors are skipped, unless there are no others; if no transition exists, the last
            // state won.
            let left = before.states.and(self.lead_on).or_else(before.states);
            let mut found = (left.last().unwrap_or(0), f64::NEG_INFINITY);
            self.previous[usize::from(state)].and(left).each(|x| {
                let from = before.value(values, x);
                if from + moves[usize::from(x)] + emission >= value {
                    found = (x, from);
                }
            });
            if found.1 == f64::NEG_INFINITY {
                found.1 = before.value(values, found.0);
            }
            (state, value) = found;
        }
        path[0] = state;
        Ok(())
    }

    /// Call `each(start, end, tag)` with every word of `characters` (counted from `FIRST`), none of them empty.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn cut(
        &self,
        characters: &[u16],
        scratch: &mut Scratch,
        mut each: impl FnMut(usize, usize, &str),
    ) -> Result<()> {
        let Scratch { steps, values, path, .. } = scratch;
        self.walk(characters, steps, values)?;
        self.walk_back(characters, steps, values, path)?;
        let n = characters.len();
        let (mut begin, mut done) = (0, 0);
        for (t, &state) in path.iter().enumerate() {
            let (letter, tag) = &self.names[usize::from(state)];
            match letter {
                b'B' => begin = t,
                b'E' => {
                    each(begin, t + 1, tag);
                    done = t + 1;
                }
                b'S' => {
                    each(t, t + 1, tag);
                    done = t + 1;
                }
                _ => {}
            }
        }
        if done < n {
            each(done, n, &self.names[usize::from(path[done])].1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Return the states of the best path, every state compared with every other.
    fn plain(model: &Tagged, characters: &[u16]) -> Vec<u8> {
        let listed = |c: u16| -> Vec<u8> {
            let found: Vec<u8> = model.of_character(c).iter().filter(|entry| entry.1).map(|entry| entry.0).collect();
            if found.is_empty() { (0..=255).collect() } else { found }
        };
        let can_follow = |x: u8, y: u8| model.moves[usize::from(y) * STATES + usize::from(x)] > f64::NEG_INFINITY;
        let mut states = listed(characters[0]);
        let mut v: Vec<f64> =
            states.iter().map(|&y| model.start[usize::from(y)] + model.emission(characters[0], y)).collect();
        let mut steps: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for &c in &characters[1..] {
            let reachable: Vec<u8> = (0..=255).filter(|&y| states.iter().any(|&x| can_follow(x, y))).collect();
            let kept: Vec<usize> = (0..states.len())
                .filter(|&i| reachable.is_empty() || (0..=255).any(|y| can_follow(states[i], y)))
                .collect();
            let mut now: Vec<u8> = listed(c).into_iter().filter(|y| reachable.contains(y)).collect();
            if now.is_empty() {
                now = if reachable.is_empty() { (0..=255).collect() } else { reachable };
            }
            let mut from = Vec::new();
            let mut w = Vec::new();
            for &y in &now {
                let mut best = (f64::NEG_INFINITY, 0);
                for &i in &kept {
                    let move_ = model.moves[usize::from(y) * STATES + usize::from(states[i])];
                    let value = v[i] + move_ + model.emission(c, y);
                    if value >= best.0 {
                        best = (value, states[i]);
                    }
                }
                w.push(best.0);
                from.push(best.1);
            }
            steps.push((now.clone(), from));
            (states, v) = (now, w);
        }
        let mut best = (f64::NEG_INFINITY, 0);
        for (&y, &value) in states.iter().zip(&v) {
            if value >= best.0 {
                best = (value, y);
            }
        }
        let mut path = vec![best.1];
        for (now, from) in steps.iter().rev() {
            let place = now.iter().position(|y| Some(y) == path.last());
            path.push(from[place.expect("a state of that character")]);
        }
        path.reverse();
        path
    }

    proptest! {
        /// Common characters, all known to the models, and unknown ones, in runs of both.
        #[test]
        fn the_path_is_that_of_all_comparisons(
            text in "[的一是了我不人在他有这个上们来到时大地为子中你说生]{1,12}|[一-鿕]{1,12}|([这个上们来到时一-鿕]{1,3}[麤龘鱻們來時]{0,3}){1,4}"
        ) {
            let characters: Vec<u16> = text.chars().map(|c| (u32::from(c) - FIRST) as u16).collect();
            let (model, mut scratch) = (Tagged::get().expect("room"), Scratch::default());
            model.cut(&characters, &mut scratch, |_, _, _| {}).expect("room");
            prop_assert_eq!(plain(model, &characters), scratch.path);
        }
    }

    #[test]
    fn sums_are_swallowed_as_the_shortcuts_say() {
        let model = Tagged::get().expect("room");
        let finite = |value: &&f64| value.is_finite();
        assert!(model.moves.iter().filter(finite).all(|&m| SWALLOWS + m == SWALLOWS && MIN_FLOAT + m == MIN_FLOAT));
        assert_eq!(MIN_FLOAT, SWALLOWED + MIN_FLOAT);
    }
}
