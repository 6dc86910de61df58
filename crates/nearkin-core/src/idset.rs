//! A set of 64-bit feature identifiers that many texts fill one after another.
//!
//! Open addressing with linear probing at a load of at most one half; 0 marks an empty slot, and the identifier 0 is a flag of
//! its own. Identifiers are hashes already, so their low bits choose the slot. Emptying writes as many slots as the next text
//! needs, 16 bytes a feature. An insertion takes the same path whether the identifier is new or not, since processors can't
//! guess which it will be.

/// A set of identifiers.
#[derive(Default)]
pub struct IdSet {
    slots: Vec<u64>,
    /// Slots in use, minus one: a small set after a large one stays in the first cache lines.
    mask: usize,
    len: usize,
    has_zero: bool,
}

impl IdSet {
    /// Empties the set and makes room for `capacity` identifiers.
    pub fn clear(&mut self, capacity: usize) {
        let wanted = (2 * capacity).next_power_of_two().max(64);
        if wanted > self.slots.len() {
            self.slots = vec![0; wanted];
        } else {
            self.slots[..wanted].fill(0);
        }
        self.mask = wanted - 1;
        self.len = 0;
        self.has_zero = false;
    }

    /// Adds `id`; tells whether it is new.
    #[inline]
    pub fn insert(&mut self, id: u64) -> bool {
        if 2 * self.len >= self.mask {
            self.grow();
        }
        if id == 0 {
            self.len += usize::from(!self.has_zero);
            return !std::mem::replace(&mut self.has_zero, true);
        }
        let mut slot = id as usize & self.mask;
        loop {
            let held = self.slots[slot];
            if held == 0 || held == id {
                self.slots[slot] = id;
                self.len += usize::from(held == 0);
                return held == 0;
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
        if id == 0 {
            return self.has_zero;
        }
        let mut slot = id as usize & self.mask;
        loop {
            let held = self.slots[slot];
            if held == 0 || held == id {
                return held == id;
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
        let held: Vec<u64> = self.slots.iter().take(self.mask + 1).copied().filter(|&id| id != 0).collect();
        let has_zero = self.has_zero;
        self.clear(held.len().max(32) * 2);
        for id in held {
            self.insert(id);
        }
        if has_zero {
            self.insert(0);
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
