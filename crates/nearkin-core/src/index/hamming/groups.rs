//! Clusters: connected components, and keep-then-absorb, without ever holding all pairs.
//!
//! **Connected.** Every two slots within the radius are joined in a union-find while the tables are joined. Memory: 4
//! bytes per slot.
//!
//! **Centred.** Slots are visited in order of their first row. A slot that no other has absorbed is the centre of a
//! cluster and absorbs every free slot within the radius: no chain forms, and no two centres are within the radius of
//! each other. Free slots are searched in blocks, and a block with more than `BUDGET` matches is halved, so that memory
//! is bounded by the matches of a block. If a slot is absorbed by an earlier one of its block, its search is wasted,
//! for at most `BLOCK` slots at a time.
//!
//! Copies of one fingerprint share a slot and its cluster. Clusters of one row are left out.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::parallel::prelude::*;

use super::Index;
use super::scan::tile::Collector;
use super::search::{Source, chunk_of};
use crate::alloc::{self, BestEffortVec};
use crate::cancel::CancelToken;
use crate::cpu::popcount::distance;
use crate::index::components::Forest;
use crate::{Error, Result};

/// Matches of a block of centres; few in tests, which must reach it.
const BUDGET: usize = if cfg!(test) { 64 } else { 1 << 22 };
/// Maximum number of slots in a block.
const BLOCK: usize = 8192;
/// Not yet in a cluster.
const FREE: u32 = u32::MAX;

named! {
    /// Which rows form a cluster.
    pub enum Linkage("linkage") {
        /// Keep, then absorb: a row that no earlier row has absorbed, and those it absorbs.
        Centred = "centred",
        /// Rows joined by chains of matches.
        Connected = "connected",
    }
}

/// Clusters with Hamming distances.
pub type Clusters = crate::index::hits::Clusters<u16>;

impl Index {
    /// Bring the index into the shape in which its clusters cost least; call this before `clusters`.
    ///
    /// # Errors
    /// `radius` above `bits`.
    pub fn prepare_clusters(&mut self, radius: u32, linkage: Linkage) -> Result<()> {
        match linkage {
            Linkage::Centred => self.prepare_blocks(radius),
            Linkage::Connected => self.prepare_pairs(radius),
        }
    }

    /// Return clusters of rows within `radius` (inclusive); `prepare_clusters` must come first, with no change in
    /// between.
    ///
    /// # Errors
    /// `radius` above `bits`; the index was changed since.
    pub fn clusters(&self, radius: u32, linkage: Linkage) -> Result<Clusters> {
        self.check_radius(radius)?;
        let sources = self.sources();
        let (Some(source), true) = (sources.first(), self.tail_rows.is_empty() && self.runs.len() == 1) else {
            if self.is_empty() {
                return Ok(Clusters::default());
            }
            return Err(Error::parameter("index", "changed while it was clustered", "an index that is left as it is"));
        };
        let cancel = &CancelToken::current();
        let slots = source.fps.len() / self.words;
        let mut firsts = alloc::try_with_capacity(slots)?;
        firsts.extend((0..slots as u32).filter_map(|slot| source.rows_of(slot).iter().min().copied()));
        // The slot that stands for each slot's cluster.
        let of = match linkage {
            Linkage::Connected => {
                let forest = Forest::new(slots)?;
                self.join_slots(source, radius, cancel, |start, later| {
                    let forest = &forest;
                    Collector::new((), radius, move |(), query, slot, _distance| {
                        let left = start as u32 + query;
                        if !later || slot > left {
                            forest.join(left, slot);
                        }
                    })
                })?;
                cancel.check()?;
                let mut of = forest.roots()?;
                earliest(&mut of, &firsts)?;
                of
            }
            Linkage::Centred => self.absorb(source, radius, &firsts, cancel)?,
        };
        // Row of the cluster's first member, row, slot.
        let mut members: Vec<(u32, u32, u32)> = alloc::try_with_capacity(source.run.map_or(0, |run| run.rows.len()))?;
        for slot in 0..slots as u32 {
            let first = firsts[of[slot as usize] as usize];
            members.extend(source.rows_of(slot).iter().map(|&row| (first, row, slot)));
        }
        cancel.sort(&mut members);
        cancel.check()?;
        let mut clusters = Clusters::default();
        let fp = |slot: u32| &source.fps[slot as usize * self.words..][..self.words];
        for cluster in members.chunk_by(|a, b| a.0 == b.0).filter(|cluster| cluster.len() > 1) {
            let centre = fp(cluster[0].2);
            clusters.make_room(cluster.len())?;
            clusters.rows.extend(cluster.iter().map(|member| member.1));
            clusters.distances.extend(cluster.iter().map(|member| distance(centre, fp(member.2)) as u16));
            clusters.offsets.push(clusters.rows.len() as i64);
        }
        Ok(clusters)
    }

    /// Keep, then absorb: the slot that stands for each slot's cluster.
    fn absorb(&self, source: &Source<'_>, radius: u32, firsts: &[u32], cancel: &CancelToken) -> Result<Vec<u32>> {
        let mut order: Vec<u32> = alloc::try_collect(0..firsts.len() as u32)?;
        cancel.sort_by(&mut order, |&a, &b| firsts[a as usize].cmp(&firsts[b as usize]));
        cancel.check()?;
        let mut of = alloc::try_filled(FREE, firsts.len())?;
        let (mut at, mut block) = (0, 1024);
        while at < order.len() {
            let mut end = at;
            let mut open = Vec::with_capacity(block);
            while end < order.len() && open.len() < block {
                if of[order[end] as usize] == FREE {
                    open.push(order[end]);
                }
                end += 1;
            }
            let Some(neighbours) = self.free_neighbours(source, radius, &open, &of, cancel)? else {
                block = (block / 2).max(1);
                continue;
            };
            for (&slot, near) in open.iter().zip(&neighbours) {
                if of[slot as usize] == FREE {
                    of[slot as usize] = slot;
                    for &other in near {
                        if of[other as usize] == FREE {
                            of[other as usize] = slot;
                        }
                    }
                }
            }
            at = end;
            block = (2 * block).min(BLOCK);
        }
        Ok(of)
    }

    /// Return the free slots within `radius` of each of `open`; None if that exceeds the budget and `open` has more
    /// than one slot.
    fn free_neighbours(
        &self,
        source: &Source<'_>,
        radius: u32,
        open: &[u32],
        of: &[u32],
        cancel: &CancelToken,
    ) -> Result<Option<Vec<Vec<u32>>>> {
        let count = AtomicUsize::new(0);
        let max_slots = if open.len() == 1 { usize::MAX } else { BUDGET };
        let parts = open
            .par_chunks(chunk_of(open.len()).min(TASK))
            .map(|open| {
                let queries = self.rows_at(source.fps, open)?;
                let lists = || {
                    let mut neighbours = Vec::new();
                    neighbours.resize_with(open.len(), BestEffortVec::default);
                    neighbours
                };
                // Until all sinks together have one more than `max_slots`.
                let sink = || {
                    Collector::new(lists(), radius, |lists: &mut Vec<BestEffortVec<u32>>, query, slot, _distance| {
                        if of[slot as usize] == FREE && count.fetch_add(1, Ordering::Relaxed) <= max_slots {
                            lists[query as usize].push(slot);
                        }
                    })
                };
                let mut neighbours = vec![Vec::new(); open.len()];
                for sink in self.each_hit(source, &queries, radius, cancel, sink)? {
                    for (all, part) in neighbours.iter_mut().zip(sink.value) {
                        let part = part.into_vec()?;
                        if all.is_empty() { *all = part } else { alloc::try_extend(all, &part)? }
                    }
                }
                Ok(neighbours)
            })
            .collect::<Result<Vec<Vec<Vec<u32>>>>>()?;
        cancel.check()?;
        Ok((count.into_inner() <= max_slots).then(|| parts.into_iter().flatten().collect()))
    }
}

/// Make the representative of each set the slot whose first row is the earliest.
fn earliest(of: &mut [u32], firsts: &[u32]) -> Result<()> {
    let mut best = alloc::try_copy(of)?;
    for (slot, &root) in of.iter().enumerate() {
        let best = &mut best[root as usize];
        if firsts[slot] < firsts[*best as usize] {
            *best = slot as u32;
        }
    }
    for root in of {
        *root = best[*root as usize];
    }
    Ok(())
}

/// Slots of a task that searches neighbours, a list per slot.
const TASK: usize = 1024;
