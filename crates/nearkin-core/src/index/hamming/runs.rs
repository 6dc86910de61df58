//! Runs: distinct fingerprints in ascending order, each with the rows that hold it.
//!
//! New rows go to an unsorted tail that is scanned. When it has grown, it is sorted into a run, and a run that is at
//! least half as long as the one before is merged with it. So there are at most log2(n) runs, each row is merged at
//! most log2(n / tail) times, and the longest pause is one merge of everything, linear in n. Equal fingerprints of one
//! run are one slot with a list of rows: a million copies cost one comparison. Memory: 8 * words + 4 bytes per slot, 4
//! bytes more if a run has copies.

use std::cmp::Ordering;

use crate::parallel::prelude::*;

use super::bits::Lists;
use super::blocks::{Layout, Probing, Spec};
use super::plan::Wish;
use crate::Result;
use crate::alloc;
use crate::cancel::CancelToken;
use crate::segment::Column;

/// Slots that are sorted or merged between two cancellation points.
const BLOCK: usize = 1 << 16;
/// Copies of one fingerprint that are sorted with extra memory.
const STABLE: usize = if cfg!(test) { 8 } else { 1 << 12 };
/// Pairs of a part that are sorted by one thread.
const SORTED: usize = 1 << 20;

/// Order of two fingerprints as numbers.
fn numeric(a: &[u64], b: &[u64]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// Sort (fingerprint, row) ascending: split by the highest bits, so that each part is sorted within the cache.
fn sorted_pairs(fps: &[u64], rows: &[u32], cancel: &CancelToken) -> Result<Vec<(u64, u32)>> {
    let highest = fps.iter().fold(0, |all, fp| all | fp);
    let shift = (64 - highest.leading_zeros()).saturating_sub(8);
    let mut starts = [0usize; 257];
    for fp in fps {
        starts[(fp >> shift) as usize + 1] += 1;
    }
    alloc::prefix_sums(&mut starts);
    let mut pairs = alloc::try_filled((0, 0), fps.len())?;
    let mut next = starts;
    for (fps, rows) in fps.chunks(BLOCK).zip(rows.chunks(BLOCK)) {
        cancel.check()?;
        for (&fp, &row) in fps.iter().zip(rows) {
            let at = &mut next[(fp >> shift) as usize];
            pairs[*at] = (fp, row);
            *at += 1;
        }
    }
    let mut rest = pairs.as_mut_slice();
    let parts: Vec<&mut [(u64, u32)]> =
        starts.windows(2).filter_map(|part| rest.split_off_mut(..part[1] - part[0])).collect();
    parts.into_par_iter().for_each(|part| {
        if part.len() > SORTED {
            cancel.sort(part);
        } else if !cancel.is_set() {
            part.sort_unstable();
        }
    });
    cancel.check()?;
    Ok(pairs)
}

/// A sorted run of distinct fingerprints.
#[derive(Debug, Default)]
pub(crate) struct SortedRun {
    /// Fingerprints, row-major, ascending as numbers (the last word is the most significant).
    pub(crate) fps: Column<u64>,
    /// Rows of slot 0, then of slot 1, ...; in order of id within a slot, so that the first of them are the first results.
    pub(crate) rows: Column<u32>,
    /// First position of each slot in `rows`, and the end; empty if slot i is `rows[i]`.
    pub(super) starts: Column<u32>,
    /// Tables, once built.
    pub(crate) layout: Option<Layout>,
    /// Inverted lists, once built.
    pub(crate) lists: Option<Lists>,
    /// The tables that the planner would build, by purpose.
    pub(crate) planned: Vec<(Wish, Option<(Spec, Probing)>)>,
}

impl SortedRun {
    /// Sort and deduplicate rows `rows` with fingerprints `fps`.
    ///
    /// # Errors
    /// The call is cancelled.
    pub(crate) fn new(words: usize, fps: &[u64], rows: &[u32], cancel: &CancelToken) -> Result<Self> {
        let mut run = Self::default();
        if words == 1 {
            run.reserve(words, rows.len())?;
            for pairs in sorted_pairs(fps, rows, cancel)?.chunks(BLOCK) {
                cancel.check()?;
                for &(fp, row) in pairs {
                    run.push(&[fp], &[row])?;
                }
            }
        } else {
            let last = fps.iter().skip(words - 1).step_by(words).copied();
            let mut order: Vec<(u64, u32)> = alloc::try_collect(last.zip(0..rows.len() as u32))?;
            let full = |i: u32| (&fps[i as usize * words..(i as usize + 1) * words], rows[i as usize]);
            cancel.sort_by(&mut order, |a, b| {
                let (x, y) = (full(a.1), full(b.1));
                a.0.cmp(&b.0).then_with(|| numeric(x.0, y.0)).then(x.1.cmp(&y.1))
            });
            run.reserve(words, order.len())?;
            for order in order.chunks(BLOCK) {
                cancel.check()?;
                for &(_, i) in order {
                    let (fp, row) = full(i);
                    run.push(fp, &[row])?;
                }
            }
        }
        run.shrink();
        Ok(run)
    }

    /// Merge the live rows of two runs.
    ///
    /// # Errors
    /// The call is cancelled.
    pub(crate) fn merge(
        words: usize,
        a: &Self,
        b: &Self,
        alive: impl Fn(u32) -> bool,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let mut run = Self::default();
        run.reserve(words, a.rows.len() + b.rows.len())?;
        let (mut i, mut j, mut steps) = (0, 0, 0_usize);
        let mut list = Vec::new();
        while i < a.len() || j < b.len() {
            steps += 1;
            if steps.is_multiple_of(BLOCK) {
                cancel.check()?;
            }
            let left = (i < a.len()).then(|| a.fp(words, i));
            let right = (j < b.len()).then(|| b.fp(words, j));
            let order = match (left, right) {
                (Some(left), Some(right)) => numeric(left, right),
                (None, _) => Ordering::Greater,
                (_, None) => Ordering::Less,
            };
            let (take_left, take_right) = (order.is_le(), order.is_ge());
            let fp = if take_left { a.fp(words, i) } else { b.fp(words, j) };
            list.clear();
            alloc::try_reserve(&mut list, if take_left { a.rows_of(i).len() } else { 0 })?;
            if take_left {
                list.extend(a.rows_of(i).iter().copied().filter(|&row| alive(row)));
                i += 1;
            }
            alloc::try_reserve(&mut list, if take_right { b.rows_of(j).len() } else { 0 })?;
            if take_right {
                list.extend(b.rows_of(j).iter().copied().filter(|&row| alive(row)));
                j += 1;
            }
            if take_left && take_right && list.windows(2).any(|pair| pair[0] > pair[1]) {
                list.sort_unstable();
            }
            if !list.is_empty() {
                run.push(fp, &list)?;
            }
        }
        run.shrink();
        Ok(run)
    }

    /// Reserve capacity for this many rows, of as many slots.
    fn reserve(&mut self, words: usize, rows: usize) -> Result<()> {
        self.fps = alloc::try_with_capacity(rows * words)?.into();
        self.rows = alloc::try_with_capacity(rows)?.into();
        Ok(())
    }

    fn shrink(&mut self) {
        self.fps.to_mut().shrink_to_fit();
        self.rows.to_mut().shrink_to_fit();
        self.starts.to_mut().shrink_to_fit();
    }

    /// Create a run whose arrays are mapped from a file; None unless their lengths agree.
    pub(crate) fn mapped(words: usize, fps: Column<u64>, rows: Column<u32>, starts: Column<u32>) -> Option<Self> {
        let run = Self { fps, rows, starts, ..Self::default() };
        let ends =
            run.starts.is_empty() || (run.starts.len() > 1 && run.starts.last() == Some(&(run.rows.len() as u32)));
        (ends && run.len().checked_mul(words) == Some(run.fps.len())).then_some(run)
    }

    /// Return the first position of each slot in the rows, and the end; empty if every slot has one row.
    pub(crate) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Return true if fingerprints ascend and every slot has rows.
    pub(crate) fn is_sound(&self, words: usize) -> bool {
        let fps = (1..self.len()).all(|slot| numeric(self.fp(words, slot - 1), self.fp(words, slot)).is_lt());
        let starts = self.starts.first().is_none_or(|&first| first == 0) && self.starts.windows(2).all(|w| w[0] < w[1]);
        fps && starts
    }

    /// Append rows of `fp`, which is at or above the last fingerprint; there is capacity for both.
    fn push(&mut self, fp: &[u64], rows: &[u32]) -> Result<()> {
        let words = fp.len();
        let slots = self.fps.len() / words;
        let same = self.fps.len() >= words && &self.fps[self.fps.len() - words..] == fp;
        if (same || rows.len() > 1) && self.starts.is_empty() {
            let mut starts = alloc::try_with_capacity(self.rows.to_mut().capacity() + 1)?;
            starts.extend(0..=self.rows.len() as u32);
            self.starts = starts.into();
        }
        if !same {
            self.fps.to_mut().extend_from_slice(fp);
        }
        self.rows.to_mut().extend_from_slice(rows);
        if !self.starts.is_empty() {
            let end = self.rows.len() as u32;
            if same {
                self.starts.to_mut()[slots] = end;
            } else {
                self.starts.to_mut().push(end);
            }
        }
        Ok(())
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        if self.starts.is_empty() { self.rows.len() } else { self.starts.len() - 1 }
    }

    /// Return the fingerprint of a slot.
    pub(crate) fn fp(&self, words: usize, slot: usize) -> &[u64] {
        &self.fps[slot * words..(slot + 1) * words]
    }

    /// Sort the rows of each slot.
    ///
    /// # Errors
    /// The call is cancelled.
    pub(crate) fn order_copies(
        &mut self,
        compare: impl Fn(u32, u32) -> Ordering + Sync,
        cancel: &CancelToken,
    ) -> Result<()> {
        let rows = self.rows.to_mut();
        for slot in self.starts.windows(2).filter(|slot| slot[1] - slot[0] > 1) {
            cancel.check()?;
            let rows = &mut rows[slot[0] as usize..slot[1] as usize];
            if rows.len() < STABLE {
                // Two ordered lists follow each other after a merge, which this sort makes use of.
                rows.sort_by(|&a, &b| compare(a, b));
            } else {
                // That one takes memory, half as much as the rows.
                cancel.sort_by(rows, |&a, &b| compare(a, b).then(a.cmp(&b)));
            }
        }
        Ok(())
    }

    /// Return true if the rows of each slot are in order.
    pub(crate) fn copies_are_in_order(&self, compare: impl Fn(u32, u32) -> Ordering) -> bool {
        (0..self.len()).all(|slot| self.rows_of(slot).windows(2).all(|pair| compare(pair[0], pair[1]).is_le()))
    }

    /// Return the rows of a slot, in order of id.
    pub(crate) fn rows_of(&self, slot: usize) -> &[u32] {
        if self.starts.is_empty() {
            &self.rows[slot..=slot]
        } else {
            &self.rows[self.starts[slot] as usize..self.starts[slot + 1] as usize]
        }
    }

    /// Return the bytes of fingerprints and rows.
    pub(crate) fn bare_bytes(&self) -> usize {
        self.fps.bytes() + self.rows.bytes() + self.starts.bytes()
    }

    /// Return the bytes of fingerprints, rows and tables.
    pub(crate) fn bytes(&self) -> usize {
        self.bare_bytes() + self.layout.as_ref().map_or(0, Layout::bytes) + self.lists.as_ref().map_or(0, Lists::bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_fingerprints_are_one_slot() {
        let run = SortedRun::new(1, &[5, 3, 5, 9, 3], &[0, 1, 2, 3, 4], &CancelToken::default()).expect("a run");
        assert_eq!([3, 5, 9], *run.fps);
        assert_eq!((&[1, 4][..], &[0, 2][..], &[3][..]), (run.rows_of(0), run.rows_of(1), run.rows_of(2)));
        let other = SortedRun::new(1, &[4, 5], &[5, 6], &CancelToken::default()).expect("a run");
        let both =
            SortedRun::merge(1, &run, &other, |row| row != 0 && row != 3, &CancelToken::default()).expect("a run");
        assert_eq!([3, 4, 5], *both.fps);
        assert_eq!((&[1, 4][..], &[5][..], &[2, 6][..]), (both.rows_of(0), both.rows_of(1), both.rows_of(2)));
    }

    #[test]
    fn wide_fingerprints_are_ordered_as_numbers() {
        let run = SortedRun::new(2, &[9, 1, 2, 1, 7, 0, 9, 1], &[0, 1, 2, 3], &CancelToken::default()).expect("a run");
        assert_eq!([7, 0, 2, 1, 9, 1], *run.fps);
        assert_eq!(&[0, 3][..], run.rows_of(2));
    }
}
