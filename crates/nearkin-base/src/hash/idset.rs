//! The distinct 64-bit feature identifiers of a text, in the order of first occurrence.
//!
//! Identifiers are in a list. A table of 32-bit positions in that list, open addressing with linear probing at a load
//! of at most a quarter, decides if one is new. Identifiers are hashes already, so their low bits choose the slot.
//! Position 0 means an empty slot. The step for an identifier whose slot is empty or its own is branch-free, because
//! processors cannot predict which it will be; the others, about one in ten, probe on. Emptying writes 16 bytes per
//! feature.
//!
//! Limit: 2^32 - 2 distinct identifiers per text. If memory runs out, the set drops its contents and ignores everything
//! until it is cleared; [`IdSet::check`] returns the error.

use crate::{Error, Result, alloc};

/// A set of identifiers.
#[derive(Default)]
pub struct IdSet {
    /// Positions in `ids`; a power of two of slots; `mask + 1` are in use, so that a small set after a large one uses
    /// the first cache lines.
    table: Vec<u32>,
    mask: usize,
    /// `ids[1..=len]` are the identifiers; the value at 0 and those after them have no meaning.
    ids: Vec<u64>,
    len: usize,
    /// Bytes that could not be allocated.
    refused: Option<usize>,
}

impl IdSet {
    /// Empty the set and reserve capacity for `capacity` identifiers.
    pub fn clear(&mut self, capacity: usize) {
        self.refused = None;
        self.empty(capacity);
    }

    fn empty(&mut self, capacity: usize) {
        let slots = (4 * capacity).next_power_of_two().max(64);
        self.len = 0;
        if slots > self.table.len() {
            match alloc::try_zeroed(slots) {
                Ok(table) => self.table = table,
                Err(_) => return self.refuse(slots * size_of::<u32>()),
            }
        } else {
            self.table[..slots].fill(0);
        }
        self.mask = slots - 1;
    }

    #[cold]
    fn refuse(&mut self, bytes: usize) {
        self.len = 0;
        self.refused = Some(bytes);
    }

    /// Return the error of a set that is incomplete.
    ///
    /// # Errors
    /// There was no memory for it since it was cleared.
    pub fn check(&self) -> Result<()> {
        self.refused.map_or(Ok(()), |bytes| Err(Error::Memory { bytes }))
    }

    /// Add `id`; return true if it is new.
    #[inline]
    pub fn insert(&mut self, id: u64) -> bool {
        self.insert_all(&[id], |_| {}) == 1
    }

    /// Add `hashes` in order, and call `each` in order with true for each new one; return their number.
    #[inline]
    pub fn insert_all(&mut self, hashes: &[u64], mut each: impl FnMut(bool)) -> usize {
        self.make_room(hashes.len());
        if self.refused.is_some() {
            for _ in hashes {
                each(false);
            }
            return 0;
        }
        let before = self.len;
        let (table, ids) = (&mut self.table[..self.mask + 1], self.ids.as_mut_slice());
        let mut len = before;
        for &id in hashes {
            let mut slot = id as usize & self.mask;
            let mut position = table[slot];
            while position != 0 && ids[position as usize] != id {
                slot = (slot + 1) & self.mask;
                position = table[slot];
            }
            let new = position == 0;
            len += usize::from(new);
            // Written in both cases; if the identifier is not new, after the end of the list.
            ids[len + usize::from(!new)] = id;
            table[slot] = if new { len as u32 } else { position };
            each(new);
        }
        self.len = len;
        len - before
    }

    /// Reserve capacity for `more` identifiers at a load of at most a quarter, or refuse everything.
    fn make_room(&mut self, more: usize) {
        let needed = self.len + more + 2;
        assert!(u32::try_from(needed).is_ok(), "at most 2^32 - 2 distinct features per text");
        if self.refused.is_some() {
            return;
        }
        if self.ids.len() < needed {
            let length = needed.next_power_of_two();
            if alloc::try_resize(&mut self.ids, length, 0).is_err() {
                return self.refuse(length * size_of::<u64>());
            }
        }
        // A text with few different features must not request slots over and over.
        if 4 * self.len > self.mask || self.len + more > self.mask {
            let old_len = self.len;
            self.empty((self.len + more).max(2 * self.len));
            if self.refused.is_some() {
                return;
            }
            for at in 1..=old_len {
                let mut slot = self.ids[at] as usize & self.mask;
                while self.table[slot] != 0 {
                    slot = (slot + 1) & self.mask;
                }
                self.table[slot] = at as u32;
            }
            self.len = old_len;
        }
    }

    /// Return true if `id` is in the set.
    #[inline]
    pub fn contains(&self, id: u64) -> bool {
        self.position(id).is_some()
    }

    /// Return the index of `id` in [`IdSet::ids`].
    #[inline]
    pub fn position(&self, id: u64) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let mut slot = id as usize & self.mask;
        loop {
            let position = self.table[slot];
            if position == 0 || self.ids[position as usize] == id {
                return (position as usize).checked_sub(1);
            }
            slot = (slot + 1) & self.mask;
        }
    }

    /// Return the identifiers, in the order of their first occurrence.
    pub fn ids(&self) -> &[u64] {
        self.ids.get(1..=self.len).unwrap_or_default()
    }

    /// Number of identifiers in the set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Return true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_set_in_order(
            rounds in prop::collection::vec(prop::collection::vec(0_u64..300, 0..300), 1..5),
            capacity in 0_usize..400,
            step in 1_usize..100,
            spread: bool,
        ) {
            // Spread over the upper bits, all identifiers want the same slot.
            let spread = if spread { 56 } else { 0 };
            let mut set = IdSet::default();
            for ids in rounds {
                let ids: Vec<u64> = ids.into_iter().map(|id| id << spread).collect();
                set.clear(capacity);
                let mut expected: Vec<u64> = Vec::new();
                for ids in ids.chunks(step) {
                    let mut fresh = Vec::new();
                    let new = set.insert_all(ids, |new| fresh.push(new));
                    prop_assert_eq!(ids.len(), fresh.len());
                    prop_assert_eq!(new, fresh.iter().filter(|&&new| new).count());
                    for (&id, new) in ids.iter().zip(fresh) {
                        prop_assert_eq!(!expected.contains(&id), new);
                        if new {
                            expected.push(id);
                        }
                    }
                }
                prop_assert_eq!(expected.len(), set.len());
                prop_assert_eq!(expected.as_slice(), set.ids());
                for id in 0..300 {
                    prop_assert_eq!(expected.iter().position(|&known| known == id << spread), set.position(id << spread));
                    prop_assert_eq!(expected.contains(&(id << spread)), set.contains(id << spread));
                    if id % 50 == 0 {
                        prop_assert_eq!(!expected.contains(&(id << spread)), set.insert(id << spread));
                        expected.push(id << spread);
                    }
                }
            }
        }
    }
}
