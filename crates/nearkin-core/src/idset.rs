//! A set of 64-bit feature identifiers that is emptied in constant time.
//!
//! Open addressing with linear probing at a load of at most one half. Identifiers are hashes already, so their low bits
//! choose the slot. Each slot carries the epoch in which it was filled; raising the epoch empties the set.

/// A set of identifiers.
#[derive(Default)]
pub struct IdSet {
    slots: Vec<(u64, u32)>,
    /// Slots in use, minus one: a small set after a large one stays in the first cache lines.
    mask: usize,
    epoch: u32,
    len: usize,
}

impl IdSet {
    /// Empties the set and makes room for `capacity` identifiers.
    pub fn clear(&mut self, capacity: usize) {
        let wanted = (2 * capacity).next_power_of_two().max(64);
        if wanted > self.slots.len() || self.epoch == u32::MAX {
            self.slots = vec![(0, 0); wanted];
            self.epoch = 0;
        }
        self.mask = wanted - 1;
        self.len = 0;
        self.epoch += 1;
    }

    /// Adds `id`; tells whether it is new.
    #[inline]
    pub fn insert(&mut self, id: u64) -> bool {
        if 2 * self.len > self.mask {
            self.grow();
        }
        let mut slot = id as usize & self.mask;
        loop {
            let (held, epoch) = self.slots[slot];
            if epoch != self.epoch {
                self.slots[slot] = (id, self.epoch);
                self.len += 1;
                return true;
            }
            if held == id {
                return false;
            }
            slot = (slot + 1) & self.mask;
        }
    }

    /// Whether `id` is in the set.
    #[inline]
    pub fn contains(&self, id: u64) -> bool {
        if self.len == 0 {
            return false;
        }
        let mut slot = id as usize & self.mask;
        loop {
            let (held, epoch) = self.slots[slot];
            if epoch != self.epoch {
                return false;
            }
            if held == id {
                return true;
            }
            slot = (slot + 1) & self.mask;
        }
    }

    /// How many identifiers are in the set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the set holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn grow(&mut self) {
        let held: Vec<u64> = match self.slots.get(..=self.mask) {
            Some(slots) if self.len > 0 => {
                slots.iter().filter(|slot| slot.1 == self.epoch).map(|slot| slot.0).collect()
            }
            _ => Vec::new(),
        };
        self.clear(held.len().max(32) * 2);
        for id in held {
            self.insert(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_set(rounds in prop::collection::vec(prop::collection::vec(0_u64..300, 0..300), 1..5), capacity in 0_usize..400) {
            let mut set = IdSet::default();
            for ids in rounds {
                set.clear(capacity);
                let mut expected = std::collections::HashSet::new();
                for &id in &ids {
                    prop_assert_eq!(expected.insert(id), set.insert(id));
                }
                prop_assert_eq!(expected.len(), set.len());
                for id in 0..300 {
                    prop_assert_eq!(expected.contains(&id), set.contains(id));
                }
            }
        }
    }
}
