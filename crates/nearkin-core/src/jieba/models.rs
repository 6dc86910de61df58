//! Words that the dictionary does not have: hidden Markov models over characters.
//!
//! A state is the place of a character in its word, B(egin), E(nd), M(iddle) or S(ingle); with tags it is a place and a part of
//! speech, 256 states in all. Viterbi finds the states of greatest probability, sums of logarithms:
//! ```text
//! v_0(y) = start(y) + emit(y, c_0)        v_t(y) = max over x of v_{t−1}(x) + move(x, y) + emit(y, c_t)
//! ```
//! Sums are taken in this order and ties go to the greater state (by letter, then tag), as jieba 0.42.1 has it; missing
//! emissions are −3.14e100, which swallows what is added to it, as there. Numbers: `data/jieba-models.bin`, unpacked on
//! first use. With tags, states before which nothing may stand in this run are left out, as in jieba.
//!
//! Cost: a few nanoseconds a character without tags, some hundreds with them.

use std::sync::OnceLock;

static PACKED: &[u8] = include_bytes!("../../data/jieba-models.bin");

/// The logarithm of no probability at all.
const MIN_FLOAT: f64 = -3.14e100;
/// First and last character that the models know, as the dictionary's rule bounds them.
pub(super) const FIRST: u32 = 0x4e00;
pub(super) const LAST: u32 = 0x9fd5;
const CHARACTERS: usize = (LAST - FIRST + 1) as usize;
const STATES: usize = 256;
/// In the packed states of a character: the place of an emission, none of them, and that the character lists the state.
const EMISSION: u16 = 0x7fff;
const LISTED: u16 = 0x8000;

/// Place of a character in a word, in the order that decides ties.
const B: usize = 0;
const E: usize = 1;
const M: usize = 2;
const S: usize = 3;

/// Places in a word.
pub(super) struct Places {
    start: [f64; 4],
    moves: [[f64; 4]; 4],
    /// For each character from `FIRST`.
    emissions: Vec<[f64; 4]>,
}

/// Places in a word, with parts of speech.
pub(super) struct Tagged {
    /// Letter and tag of each state, sorted.
    pub(super) names: Vec<(u8, Box<str>)>,
    start: Vec<f64>,
    /// From state x to state y at `y · 256 + x`; −∞ where there is no way.
    moves: Vec<f64>,
    /// States that can follow each state, a bit each.
    next: Vec<[u64; 4]>,
    /// Where the states of each character from `FIRST` begin in `states`.
    offsets: Vec<u32>,
    /// Ascending: state, emission, whether the character lists it.
    states: Vec<(u8, bool, f64)>,
}

/// A reader of little-endian numbers.
struct Reader(&'static [u8]);

impl Reader {
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

fn unpacked() -> &'static (Places, Tagged) {
    static MODELS: OnceLock<(Places, Tagged)> = OnceLock::new();
    MODELS.get_or_init(|| {
        let mut reader = Reader(PACKED);
        let start = std::array::from_fn(|_| reader.f64());
        let moves = std::array::from_fn(|_| std::array::from_fn(|_| reader.f64()));
        let mut emissions = vec![[MIN_FLOAT; 4]; CHARACTERS];
        for _ in 0..reader.u32() {
            let character = u32::from(reader.u16());
            let values = std::array::from_fn(|_| reader.f64());
            if let Some(place) = emissions.get_mut(character.wrapping_sub(FIRST) as usize) {
                *place = values;
            }
        }
        let places = Places { start, moves, emissions };

        let count = reader.u32() as usize;
        let mut names = Vec::with_capacity(count);
        let mut start = Vec::with_capacity(count);
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
        let mut moves = vec![f64::NEG_INFINITY; STATES * STATES];
        let mut next = vec![[0; 4]; STATES];
        for _ in 0..reader.u32() {
            let (from, to) = (usize::from(reader.u8()), usize::from(reader.u8()));
            moves[to * STATES + from] = reader.f64();
            next[from][to / 64] |= 1 << (to % 64);
        }
        let values: Vec<f64> = (0..reader.u32()).map(|_| reader.f64()).collect();
        let mut lists: Vec<Vec<(u8, bool, f64)>> = vec![Vec::new(); CHARACTERS];
        for _ in 0..reader.u32() {
            let character = u32::from(reader.u16());
            let states = (0..reader.u8())
                .map(|_| {
                    let (state, number) = (reader.u8(), reader.u16());
                    let emission = values.get(usize::from(number & EMISSION)).copied().unwrap_or(MIN_FLOAT);
                    (state, number & LISTED != 0, emission)
                })
                .collect();
            if let Some(place) = lists.get_mut(character.wrapping_sub(FIRST) as usize) {
                *place = states;
            }
        }
        let mut offsets = vec![0];
        let mut states = Vec::new();
        for list in lists {
            states.extend(list);
            offsets.push(states.len() as u32);
        }
        (places, Tagged { names, start, moves, next, offsets, states })
    })
}

/// Buffers that one thread uses again.
#[derive(Default)]
pub(super) struct Scratch {
    /// Without tags: for each character a bit a state, whether the greater predecessor won.
    choices: Vec<u8>,
    /// The states found.
    path: Vec<u8>,
    /// With tags: states of all characters with their predecessors.
    steps: Vec<(u8, u8)>,
    ends: Vec<u32>,
}

impl Places {
    pub(super) fn get() -> &'static Self {
        &unpacked().0
    }

    /// Calls `each(start, end)` with every word of `characters` (counted from `FIRST`), none of them empty.
    pub(super) fn cut(&self, characters: &[u16], scratch: &mut Scratch, mut each: impl FnMut(usize, usize)) {
        let Scratch { choices, path, .. } = scratch;
        let n = characters.len();
        let emit = |t: usize| &self.emissions[usize::from(characters[t])];
        choices.clear();
        let first = emit(0);
        let mut v: [f64; 4] = std::array::from_fn(|y| self.start[y] + first[y]);
        choices.push(0);
        for t in 1..n {
            let emission = emit(t);
            let from = |x: usize, y: usize| v[x] + self.moves[x][y] + emission[y];
            // B follows E or S, E follows B or M, M follows B or M, S follows E or S.
            let pairs = [
                (from(E, B), from(S, B)),
                (from(B, E), from(M, E)),
                (from(B, M), from(M, M)),
                (from(E, S), from(S, S)),
            ];
            let mut choice = 0;
            v = std::array::from_fn(|y| {
                let (lower, greater) = pairs[y];
                choice |= u8::from(greater >= lower) << y;
                if greater >= lower { greater } else { lower }
            });
            choices.push(choice);
        }
        path.clear();
        path.resize(n, 0);
        let mut state = if v[S] >= v[E] { S } else { E };
        for t in (0..n).rev() {
            path[t] = state as u8;
            let greater = choices[t] >> state & 1 == 1;
            state = match (state, greater) {
                (B | S, false) => E,
                (B | S, true) => S,
                (_, false) => B,
                (_, true) => M,
            };
        }
        let mut begin = 0;
        for (t, &state) in path.iter().enumerate() {
            match usize::from(state) {
                B => begin = t,
                E => each(begin, t + 1),
                S => each(t, t + 1),
                _ => {}
            }
        }
    }
}

impl Tagged {
    pub(super) fn get() -> &'static Self {
        &unpacked().1
    }

    fn of_character(&self, character: u16) -> &[(u8, bool, f64)] {
        let place = usize::from(character);
        &self.states[self.offsets[place] as usize..self.offsets[place + 1] as usize]
    }

    fn emission(&self, character: u16, state: u8) -> f64 {
        let states = self.of_character(character);
        states.binary_search_by_key(&state, |entry| entry.0).map_or(MIN_FLOAT, |place| states[place].2)
    }

    /// Calls `each(start, end, tag)` with every word of `characters` (counted from `FIRST`), none of them empty.
    pub(super) fn cut(&self, characters: &[u16], scratch: &mut Scratch, mut each: impl FnMut(usize, usize, &str)) {
        let Scratch { steps, ends, path, .. } = scratch;
        let all = 0..self.names.len() as u16;
        steps.clear();
        ends.clear();
        let mut v = [f64::NEG_INFINITY; STATES];
        let mut before: Vec<u8> = Vec::new();
        let listed = |character: u16, list: &mut Vec<u8>| {
            list.clear();
            list.extend(self.of_character(character).iter().filter(|entry| entry.1).map(|entry| entry.0));
            if list.is_empty() {
                list.extend(all.clone().map(|state| state as u8));
            }
        };
        listed(characters[0], &mut before);
        for &state in &before {
            v[usize::from(state)] = self.start[usize::from(state)] + self.emission(characters[0], state);
            steps.push((state, 0));
        }
        let mut emissions = [MIN_FLOAT; STATES];
        ends.push(steps.len() as u32);
        let mut now: Vec<u8> = Vec::new();
        for &character in &characters[1..] {
            let mut reachable = [0_u64; 4];
            for &x in &before {
                for (word, next) in reachable.iter_mut().zip(&self.next[usize::from(x)]) {
                    *word |= next;
                }
            }
            let can = |y: u8| reachable[usize::from(y) / 64] >> (y % 64) & 1 == 1;
            // Only states that lead on can be left, if there is one.
            if reachable != [0; 4] {
                before.retain(|&x| self.next[usize::from(x)] != [0; 4]);
            }
            listed(character, &mut now);
            now.retain(|&y| can(y));
            if now.is_empty() {
                now.extend(all.clone().map(|state| state as u8).filter(|&y| reachable == [0; 4] || can(y)));
            }
            let states = self.of_character(character);
            for &(state, _, emission) in states {
                emissions[usize::from(state)] = emission;
            }
            let mut w = [f64::NEG_INFINITY; STATES];
            for &y in &now {
                let emission = emissions[usize::from(y)];
                let (mut best, mut from) = (f64::NEG_INFINITY, 0);
                let moves = &self.moves[usize::from(y) * STATES..][..STATES];
                for &x in &before {
                    let value = v[usize::from(x)] + moves[usize::from(x)] + emission;
                    if value >= best {
                        (best, from) = (value, x);
                    }
                }
                w[usize::from(y)] = best;
                steps.push((y, from));
            }
            for &(state, _, _) in states {
                emissions[usize::from(state)] = MIN_FLOAT;
            }
            ends.push(steps.len() as u32);
            v = w;
            std::mem::swap(&mut before, &mut now);
        }
        let (mut best, mut state) = (f64::NEG_INFINITY, 0);
        for &y in &before {
            if v[usize::from(y)] >= best {
                (best, state) = (v[usize::from(y)], y);
            }
        }
        let n = characters.len();
        path.clear();
        path.resize(n, 0);
        for t in (0..n).rev() {
            path[t] = state;
            let start = if t == 0 { 0 } else { ends[t - 1] as usize };
            let step = steps[start..ends[t] as usize].iter().find(|step| step.0 == state);
            state = step.map_or(0, |step| step.1);
        }
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
    }
}
