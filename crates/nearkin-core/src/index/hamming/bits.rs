//! One inverted list per bit: the simplest index, for teaching. It shows what the others save.
//!
//! List i has the slots whose bit i is set. `|q and x|` is counted by walking the lists of the query's set bits, and
//! `d(q, x) = |q| + |x| - 2 |q and x|`, for any radius and width. Cost: every query touches about a quarter of all `n *
//! bits` bits (half of its bits are set, and half of the slots are in each list), 4 bytes each, compared with `n * bits
//! / 8` bytes that a scan reads: about a hundred times slower. Memory: `n * bits / 2 * 4` bytes.

use super::scan::tile::Sink;
use crate::Result;
use crate::alloc;
use crate::cancel::CancelToken;

/// The lists of a run.
#[derive(Debug)]
pub(crate) struct Lists {
    /// First position of each bit's list in `slots`, and the end.
    starts: Vec<usize>,
    slots: Vec<u32>,
    /// Set bits of each slot.
    weights: Vec<u16>,
}

/// Iterate over the set bits of a fingerprint, ascending.
fn set_bits(fp: &[u64]) -> impl Iterator<Item = usize> + '_ {
    fp.iter()
        .enumerate()
        .flat_map(|(word, &value)| (0..64).filter(move |bit| value >> bit & 1 == 1).map(move |bit| 64 * word + bit))
}

impl Lists {
    /// Build the lists of `fps`.
    ///
    /// # Errors
    /// The call is cancelled.
    pub(crate) fn build(words: usize, fps: &[u64], cancel: &CancelToken) -> Result<Self> {
        let mut starts = vec![0; 64 * words + 1];
        for fp in fps.chunks_exact(words) {
            cancel.check()?;
            for bit in set_bits(fp) {
                starts[bit + 1] += 1;
            }
        }
        alloc::prefix_sums(&mut starts);
        let mut next = starts.clone();
        let mut slots = alloc::try_zeroed::<u32>(starts[64 * words])?;
        let mut weights = alloc::try_with_capacity(fps.len() / words)?;
        for (slot, fp) in fps.chunks_exact(words).enumerate() {
            cancel.check()?;
            weights.push(fp.iter().map(|word| word.count_ones() as u16).sum());
            for bit in set_bits(fp) {
                slots[next[bit]] = slot as u32;
                next[bit] += 1;
            }
        }
        Ok(Self { starts, slots, weights })
    }

    /// Call `sink` with every (query, slot, distance) within `radius`, until `cancel` is set.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn search(
        &self,
        words: usize,
        queries: &[u64],
        radius: u32,
        cancel: &CancelToken,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut common = alloc::try_zeroed::<u16>(self.weights.len())?;
        for (number, query) in queries.chunks_exact(words).enumerate() {
            common.fill(0);
            for bit in set_bits(query) {
                if cancel.is_set() {
                    return Ok(());
                }
                for &slot in &self.slots[self.starts[bit]..self.starts[bit + 1]] {
                    common[slot as usize] += 1;
                }
            }
            let weight: u32 = query.iter().map(|word| word.count_ones()).sum();
            for (slot, (&common, &other)) in common.iter().zip(&self.weights).enumerate() {
                let distance = weight + u32::from(other) - 2 * u32::from(common);
                if distance <= radius {
                    sink.hit(number as u32, slot as u32, distance);
                }
            }
        }
        Ok(())
    }

    /// Bytes that the lists of `fps` would take.
    pub(crate) fn expected_bytes(words: usize, fps: &[u64]) -> usize {
        let ones: usize = fps.iter().map(|word| word.count_ones() as usize).sum();
        8 * (64 * words + 1) + 4 * ones + 2 * (fps.len() / words)
    }

    /// Return the bytes of the lists.
    pub(crate) fn bytes(&self) -> usize {
        self.starts.capacity() * 8 + self.slots.capacity() * 4 + self.weights.capacity() * 2
    }
}
