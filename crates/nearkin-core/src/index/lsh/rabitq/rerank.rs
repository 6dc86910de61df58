//! Ranking that stops by the bound: which rows are ranked, and what is left of them.
//!
//! The rows with the least bounds are ranked first: the k-th of their distances is the limit. From then on a row is ranked where its
//! bound is not above the limit, which is renewed after 8, 16, 32, … blocks and fixed in between, so that what is ranked depends on
//! no batch, width of register or thread.

use super::super::Want;
use super::super::rerank::{Metric, Store, Vectors};
use super::centroids::{Aim, Near};
use super::ivf::{Part, Together};
use super::kernels::{BLOCK, Kernel};
use super::quantizer::Tables;
use super::space::{Placed, Space};
use crate::cpu::features::Instructions;
use crate::index::rows::Rows;
use crate::{Result, alloc};

/// Groups that a block is divided into where there are few blocks.
const PARTS: usize = 8;

/// Blocks before the limit is renewed for the first time.
pub(super) const FIRST_ROUND: usize = 8;

/// Neighbours that are kept in order while rows are ranked; more of them are selected after each round.
const IN_ORDER: usize = 256;

/// Rows that are ranked first.
pub(super) fn first_ranked(k: usize) -> usize {
    k.saturating_mul(2).saturating_add(4)
}

/// Memory that queries use one after another.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) point: Vec<f32>,
    pub(super) tables: Tables,
    pub(super) bounds: Vec<f32>,
    pub(super) least: Vec<f32>,
    pub(super) chosen: Chosen,
    pub(super) near: Vec<Near>,
    pub(super) visited: Vec<Near>,
    pub(super) picked: Vec<u32>,
    /// The blocks of a round.
    pub(super) parts: Vec<Part>,
    /// The next cell, and the blocks of the next round.
    pub(super) next: usize,
    pub(super) round: usize,
    pub(super) scored: Vec<(f64, u32)>,
    pub(super) together: Together,
}

impl Scratch {
    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.bounds.capacity() + self.least.capacity() + self.point.capacity()) + self.together.bytes()
    }
}

#[inline(always)]
fn lesser(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

/// Whole numbers in the order of numbers: that of `f32::total_cmp`.
#[inline(always)]
fn ordered(value: f32) -> i32 {
    let bits = value.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

/// A number and a place as one number: in the order of both.
#[inline(always)]
pub(super) fn key(value: f32, place: u32) -> i64 {
    i64::from(ordered(value)) << 32 | i64::from(place)
}

/// Places of the least bounds.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    groups: Vec<f32>,
    keys: Vec<i32>,
    below: Vec<u32>,
    pub(super) places: Vec<(f32, u32)>,
}

impl Chosen {
    /// Finds the places of the `wanted` least bounds that count, or of all there are, in any order; ties by place.
    pub(super) fn find(
        &mut self,
        kernel: Kernel,
        bounds: &[f32],
        least: &[f32],
        wanted: usize,
        counts: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let mut asked = wanted.max(1);
        loop {
            // Groups of bounds, some times as many as are wanted: the wanted-th of their minima is no less than the wanted-th bound.
            self.groups.clear();
            if asked.saturating_mul(2) < least.len() {
                let count = asked.saturating_mul(8).min(least.len());
                alloc::try_resize(&mut self.groups, count, f32::INFINITY)?;
                for some in least.chunks(count) {
                    self.groups.iter_mut().zip(some).for_each(|(group, &low)| *group = lesser(*group, low));
                }
            } else {
                alloc::try_reserve(&mut self.groups, least.len() * PARTS)?;
                for block in bounds.as_chunks::<BLOCK>().0 {
                    let mut group = [f32::INFINITY; PARTS];
                    for some in block.as_chunks::<PARTS>().0 {
                        for i in 0..PARTS {
                            group[i] = lesser(group[i], some[i]);
                        }
                    }
                    self.groups.extend_from_slice(&group);
                }
            }
            let limit = if asked < self.groups.len() {
                self.keys.clear();
                alloc::try_reserve(&mut self.keys, self.groups.len())?;
                self.keys.extend(self.groups.iter().map(|&low| ordered(low)));
                let key = *self.keys.select_nth_unstable(asked - 1).1;
                f32::from_bits((key ^ ((key >> 31) as u32 >> 1) as i32) as u32)
            } else {
                f32::INFINITY
            };
            self.below.clear();
            kernel.below(bounds, least, limit, 0, &mut self.below)?;
            self.places.clear();
            alloc::try_reserve(&mut self.places, self.below.len())?;
            let counted = self.below.iter().filter(|&&place| counts(place as usize));
            self.places.extend(counted.map(|&place| (bounds[place as usize], place)));
            if self.places.len() >= wanted || limit == f32::INFINITY {
                break;
            }
            asked = asked.saturating_mul(4);
        }
        if self.places.len() > wanted && wanted > 0 {
            self.places.select_nth_unstable_by_key(wanted - 1, |&(bound, place)| key(bound, place));
            self.places.truncate(wanted);
        }
        Ok(())
    }
}

/// One query among the rows of an index.
pub(super) struct Hunt<'a> {
    pub(super) space: &'a Space,
    pub(super) store: &'a Store,
    pub(super) rows: &'a Rows,
    pub(super) metric: Metric,
    pub(super) vectors: Vectors<'a>,
    pub(super) number: usize,
    pub(super) want: Want,
    pub(super) instructions: Instructions,
    pub(super) kernel: Kernel,
}

impl Hunt<'_> {
    /// Which cells it visits, being placed there.
    pub(super) fn aim(&self, placed: Placed) -> Aim {
        if self.metric == Metric::InnerProduct { Aim::Product(self.space.base(placed)) } else { Aim::Distance }
    }

    #[inline]
    pub(super) fn is_alive(&self, row: u32) -> bool {
        self.rows.num_dead() == 0 || self.rows.is_alive(row)
    }

    /// Drops removed rows.
    pub(super) fn keep_alive(&self, rows: &mut Vec<u32>) {
        if self.rows.num_dead() > 0 {
            rows.retain(|&row| self.rows.is_alive(row));
        }
    }

    /// Ranks rows, which are alive and were not ranked; rows that can't be wanted any more go.
    pub(super) fn rank(&self, picked: &[u32], scored: &mut Vec<(f64, u32)>) -> Result<()> {
        let before = scored.len();
        alloc::try_reserve(scored, picked.len())?;
        self.store.distances(self.instructions, self.metric, self.vectors, self.number, picked, scored);
        match self.want {
            Want::Nearest(k) if k <= IN_ORDER => self.insert(scored, before, k),
            Want::Nearest(k) if k < scored.len() => {
                scored.select_nth_unstable_by(k - 1, |a, b| self.order(a, b));
                scored.truncate(k);
            }
            Want::Nearest(_) => {}
            Want::Within(radius) => scored.retain(|&(distance, _)| distance <= radius),
        }
        Ok(())
    }

    /// Puts what follows the first `ordered` hits among them, of whom the k nearest stay.
    fn insert(&self, scored: &mut Vec<(f64, u32)>, ordered: usize, k: usize) {
        let mut kept = ordered;
        for at in ordered..scored.len() {
            let hit = scored[at];
            if kept == k && (hit.0 > scored[k - 1].0 || self.order(&hit, &scored[k - 1]).is_ge()) {
                continue;
            }
            let mut place = kept.min(k - 1);
            kept = place + 1;
            while place > 0 && self.order(&hit, &scored[place - 1]).is_lt() {
                scored[place] = scored[place - 1];
                place -= 1;
            }
            scored[place] = hit;
        }
        scored.truncate(kept);
    }

    fn order(&self, a: &(f64, u32), b: &(f64, u32)) -> std::cmp::Ordering {
        a.0.total_cmp(&b.0).then_with(|| self.rows.compare(a.1, b.1))
    }

    /// The largest bound that a row to be ranked may have.
    pub(super) fn limit(&self, scored: &[(f64, u32)]) -> f32 {
        match self.want {
            Want::Nearest(k) if scored.len() < k => f32::INFINITY,
            // Behind `rank` the last of k is the farthest.
            Want::Nearest(k) => {
                let far = if scored.len() == k {
                    scored.iter().map(|hit| hit.0).fold(f64::NEG_INFINITY, f64::max)
                } else {
                    scored[k - 1].0
                };
                self.space.limit(far)
            }
            Want::Within(radius) => self.space.limit(radius),
        }
    }

    /// What was found, nearest first, ties by id.
    pub(super) fn sorted(&self, scored: &mut [(f64, u32)]) -> Result<Vec<(f64, u32)>> {
        scored.sort_unstable_by(|a, b| self.order(a, b));
        alloc::try_copy(scored)
    }
}
