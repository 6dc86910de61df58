//! Query-directed multi-probe: the buckets of a table in order of how likely they hold near vectors.
//!
//! Each of the k hashes of a key has *alternatives*: other values it could have had, each with a cost >= 0. A probe takes
//! alternatives of different hashes; its score is the sum of their costs, and probes come by ascending score, the key
//! itself first (score 0).
//!
//! - p-stable (Lv et al. 2007, section 4): x(-1) = f - W h, x(+1) = W - x(-1) are the distances to the two boundaries;
//!   the alternatives are h - 1 and h + 1 with costs x(-1)^2 and x(+1)^2.
//! - bits: the flipped bit, with the squared margin.
//! - cross-polytope (Andoni et al. 2015, section 5 and FALCONN): the runner-up coordinates, (largest - other)^2.
//!
//! **Enumeration** (Lv et al., section 4.4). With all alternatives sorted by cost, `z_0 <= z_1 <= ...`, sets of indices
//! grow from {0} by `shift` (the largest index m becomes m + 1) and `expand` (m + 1 joins). A heap returns sets by
//! score; each set is reached in one way only, and both steps only raise the score, so the order is that of sorting all
//! sets. A set with two alternatives of one hash is invalid: it is neither returned nor counted. All sets that `expand`
//! derives from it are also invalid and are left out; `shift` may lead to a valid one.
//!
//! Cost: O(T log T) heap steps for T probes, and sorting the T cheapest alternatives: no set among the first T can
//! contain another one, because each cheaper alternative alone comes before it. Equal scores come in the order in which
//! sets are created, which depends on the costs only.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Result, alloc};

/// How a change acts on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Exclusive or: bits flip.
    Flip,
    /// Addition modulo 2^64: integers move.
    Add,
}

impl Change {
    #[inline]
    fn apply(self, key: u64, delta: u64) -> u64 {
        match self {
            Self::Flip => key ^ delta,
            Self::Add => key.wrapping_add(delta),
        }
    }
}

/// Another value that one hash of a key could have had.
#[derive(Debug, Clone, Copy)]
pub struct Alternative {
    /// Cost of choosing it, 0 or more; infinite for never.
    pub cost: f64,
    /// Position of the hash in the key.
    pub position: u32,
    /// How it changes the key.
    pub delta: u64,
}

#[derive(Debug, Clone, Copy)]
struct Set {
    /// The set without its largest index; `NONE` if it is alone.
    rest: u32,
    /// The largest index.
    last: u32,
    score: f64,
    key: u64,
}

const NONE: u32 = u32::MAX;

/// Makes probes; holds the memory that queries share.
#[derive(Debug, Default)]
pub struct Prober {
    alternatives: Vec<Alternative>,
    sets: Vec<Set>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Prober {
    /// Forget the alternatives of the previous key.
    pub fn clear(&mut self) {
        self.alternatives.clear();
    }

    /// Reserve capacity for this many alternatives of a key.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn reserve(&mut self, alternatives: usize) -> Result<()> {
        alloc::try_reserve(&mut self.alternatives, alternatives)
    }

    /// Add an alternative of the key.
    #[inline]
    pub fn offer(&mut self, alternative: Alternative) {
        if alternative.cost.is_finite() {
            self.alternatives.push(alternative);
        }
    }

    fn push(&mut self, rest: u32, last: u32, change: Change, base: u64) -> Result<()> {
        let (score, key) = match rest {
            NONE => (0.0, base),
            rest => (self.sets[rest as usize].score, self.sets[rest as usize].key),
        };
        let alternative = self.alternatives[last as usize];
        let set = Set { rest, last, score: score + alternative.cost, key: change.apply(key, alternative.delta) };
        alloc::try_reserve(&mut self.sets, 1)?;
        alloc::try_reserve_heap(&mut self.heap, 1)?;
        // Scores are not negative, so they are ordered like their bits.
        self.heap.push(Reverse((set.score.to_bits(), self.sets.len() as u32)));
        self.sets.push(set);
        Ok(())
    }

    fn is_valid(&self, set: Set) -> bool {
        let position = self.alternatives[set.last as usize].position;
        let mut rest = set.rest;
        while rest != NONE {
            let other = self.sets[rest as usize];
            if self.alternatives[other.last as usize].position == position {
                return false;
            }
            rest = other.rest;
        }
        true
    }

    /// Append `key` and the next keys by ascending score to `out`, `count` keys in all, or fewer if there are fewer.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn keys(&mut self, key: u64, change: Change, count: usize, out: &mut Vec<u64>) -> Result<()> {
        self.run(key, change, count, |key, _| {
            alloc::try_reserve(out, 1)?;
            out.push(key);
            Ok(())
        })
    }

    fn run(
        &mut self,
        base: u64,
        change: Change,
        count: usize,
        mut emit: impl FnMut(u64, f64) -> Result<()>,
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        emit(base, 0.0)?;
        let mut num_emitted = 1;
        let order = |a: &Alternative, b: &Alternative| {
            a.cost.total_cmp(&b.cost).then(a.position.cmp(&b.position)).then(a.delta.cmp(&b.delta))
        };
        if self.alternatives.len() > count {
            self.alternatives.select_nth_unstable_by(count - 1, order);
            self.alternatives.truncate(count);
        }
        self.alternatives.sort_unstable_by(order);
        self.sets.clear();
        self.heap.clear();
        if num_emitted == count || self.alternatives.is_empty() {
            return Ok(());
        }
        self.push(NONE, 0, change, base)?;
        while num_emitted < count {
            let Some(Reverse((_, number))) = self.heap.pop() else { break };
            let set = self.sets[number as usize];
            let valid = self.is_valid(set);
            if valid {
                emit(set.key, set.score)?;
                num_emitted += 1;
            }
            if (set.last as usize + 1) < self.alternatives.len() {
                self.push(set.rest, set.last + 1, change, base)?;
                if valid {
                    self.push(number, set.last + 1, change, base)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Return the scores and keys of all valid choices, by sorting.
    fn brute(alternatives: &[Alternative], base: u64, change: Change) -> Vec<(f64, u64)> {
        let mut all = Vec::new();
        for set in 0u32..1 << alternatives.len() {
            let chosen: Vec<&Alternative> =
                alternatives.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, a)| a).collect();
            let mut positions: Vec<u32> = chosen.iter().map(|a| a.position).collect();
            positions.sort_unstable();
            positions.dedup();
            if positions.len() == chosen.len() {
                // Costs are small integers: their sum is exact in any order.
                let score = chosen.iter().fold(0.0, |sum, a| sum + a.cost);
                all.push((score, chosen.iter().fold(base, |key, a| change.apply(key, a.delta))));
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all
    }

    proptest! {
        #[test]
        fn probes_come_in_the_order_of_sorting_all_valid_sets(
            costs in prop::collection::vec((0u32..9, 0u32..40), 0..7), bits: bool, base: u64, count in 1usize..200
        ) {
            let change = if bits { Change::Flip } else { Change::Add };
            let mut prober = Prober::default();
            let mut alternatives = Vec::new();
            for (position, &(below, above)) in costs.iter().enumerate() {
                let position = position as u32;
                if bits {
                    alternatives.push(Alternative { cost: f64::from(above), position, delta: 1 << position });
                } else {
                    alternatives.push(Alternative { cost: f64::from(below), position, delta: 1 << (8 * position) });
                    alternatives.push(Alternative { cost: f64::from(above), position, delta: (1u64 << (8 * position)).wrapping_neg() });
                }
            }
            for &alternative in &alternatives {
                prober.offer(alternative);
            }
            let mut emitted = Vec::new();
            let emit = |key, score| {
                emitted.push((score, key));
                Ok(())
            };
            prober.run(base, change, count, emit).expect("room");
            let all = brute(&alternatives, base, change);
            prop_assert_eq!(count.min(all.len()), emitted.len());
            let scores: Vec<f64> = emitted.iter().map(|&(score, _)| score).collect();
            let expected: Vec<f64> = all.iter().take(emitted.len()).map(|&(score, _)| score).collect();
            prop_assert_eq!(expected, scores);
            // Each is a valid set with its score, and none comes twice.
            let mut sorted = emitted.clone();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut rest = all.iter();
            for item in &sorted {
                prop_assert!(rest.any(|other| other == item));
            }
        }
    }

    #[test]
    fn nothing_but_the_base_without_alternatives() {
        let mut prober = Prober::default();
        prober.offer(Alternative { cost: f64::INFINITY, position: 0, delta: 1 });
        let mut out = Vec::new();
        prober.keys(7, Change::Flip, 10, &mut out).expect("room");
        assert_eq!(vec![7], out);
    }

    #[test]
    fn cheap_alternatives_of_one_hash_give_way_to_valid_sets() {
        // Hash 0 has three values below the one of hash 1: no probe takes two of them.
        let mut prober = Prober::default();
        for (cost, position, delta) in [(1.0, 0, 1), (2.0, 0, 2), (3.0, 0, 3), (4.0, 1, 100)] {
            prober.offer(Alternative { cost, position, delta });
        }
        let mut out = Vec::new();
        prober.keys(10, Change::Add, 100, &mut out).expect("room");
        assert_eq!(vec![10, 11, 12, 13, 110, 111, 112, 113], out);
    }

    #[test]
    fn memory_of_the_key_before_does_not_stay() {
        let mut prober = Prober::default();
        for (count, expected) in [(0, vec![]), (1, vec![5]), (2, vec![5, 4]), (9, vec![5, 4, 7, 6])] {
            let mut out = Vec::new();
            prober.clear();
            prober.offer(Alternative { cost: 0.0, position: 0, delta: 1 });
            prober.offer(Alternative { cost: 0.5, position: 1, delta: 2 });
            prober.keys(5, Change::Flip, count, &mut out).expect("room");
            assert_eq!(expected, out);
        }
    }
}
