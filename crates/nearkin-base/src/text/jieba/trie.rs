//! A double-array trie: finds the words that start at a position, with one memory access per character.
//!
//! Characters are numbered by their frequency in the dictionary, from 1. The child of node s by character c is node
//! `base(s) + c`, if that node stores c as its incoming character. No two nodes have the same base, so the character
//! alone identifies the parent.
//!
//! Eight bytes per node. A walk touches one cache line per character. Source: Aoe (1989), "An efficient digital search
//! algorithm by using a double-array structure".

use crate::cpu::prefetch::prefetch_at;
use crate::{Error, Result, alloc};

/// Number of characters that are in no word of the dictionary.
pub(super) const UNKNOWN: u16 = u16::MAX;
/// Base of a node without children: no sum with a character is a node.
const LEAF: u32 = 1 << 31;
/// The root, where every walk starts.
pub(super) const ROOT: u32 = 0;

#[derive(Clone, Copy)]
struct Node {
    base: u32,
    /// The incoming character; 0 in a free slot.
    check: u16,
    /// Class of the word that ends here: an index in the caller's table, 0 if none ends.
    class: u16,
}

/// A set of words with a class each.
pub(super) struct Trie {
    nodes: Vec<Node>,
}

/// Words as character numbers, sorted so that those with a common prefix are adjacent.
#[derive(Default)]
pub(super) struct WordList {
    characters: Vec<u16>,
    ends: Vec<u32>,
    classes: Vec<u16>,
}

impl WordList {
    /// Append a word.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn push(&mut self, characters: impl ExactSizeIterator<Item = u16>, class: u16) -> Result<()> {
        alloc::try_reserve(&mut self.characters, characters.len())?;
        alloc::try_reserve(&mut self.ends, 1)?;
        alloc::try_reserve(&mut self.classes, 1)?;
        self.characters.extend(characters);
        self.ends.push(self.characters.len() as u32);
        self.classes.push(class);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, i: usize) -> &[u16] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.characters[start as usize..self.ends[i] as usize]
    }
}

/// Slots and bases in use while a trie is built.
struct Builder {
    nodes: Vec<Node>,
    /// For `base + BIAS`, true if a node has that base.
    bases: Vec<u64>,
    /// Start of the search for a slot, by the number of children.
    cursors: [usize; 8],
}

/// Bases may be as small as one minus the greatest character.
const BIAS: usize = 1 << 16;

impl Builder {
    fn grow(&mut self, slots: usize) -> Result<()> {
        if self.nodes.len() < slots {
            let slots = slots.next_multiple_of(1 << 12);
            alloc::try_resize(&mut self.nodes, slots, Node { base: LEAF, check: 0, class: 0 })?;
            alloc::try_resize(&mut self.bases, (slots + BIAS) / 64 + 1, 0)?;
        }
        Ok(())
    }

    fn base_used(&self, slot: usize) -> bool {
        self.bases[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// Return a base for children by `characters`, which ascend.
    fn slot(&mut self, characters: &[u16]) -> Result<u32> {
        let cursor = characters.len().min(self.cursors.len()) - 1;
        let span = usize::from(characters[characters.len() - 1] - characters[0]);
        let mut at = self.cursors[cursor];
        loop {
            self.grow(at + span + 1)?;
            if self.nodes[at].check == 0 {
                let biased = at + BIAS - usize::from(characters[0]);
                let free = |&c: &u16| self.nodes[at + usize::from(c - characters[0])].check == 0;
                if !self.base_used(biased) && characters[1..].iter().all(free) {
                    self.bases[biased / 64] |= 1 << (biased % 64);
                    self.cursors[cursor] = at + 1;
                    return Ok((at as u32).wrapping_sub(characters[0].into()));
                }
            }
            at += 1;
        }
    }
}

impl Trie {
    /// Build the trie of `words`, which have at most 255 characters each.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn new(words: &WordList) -> Result<Self> {
        // Slot 0 is the root; it has no parent.
        let mut builder = Builder { nodes: Vec::new(), bases: Vec::new(), cursors: [1; 8] };
        builder.grow(1)?;
        builder.nodes[0].check = UNKNOWN;
        let mut children: Vec<(u16, usize, usize)> = Vec::new();
        let mut characters: Vec<u16> = Vec::new();
        // Nodes to fill: slot, first and last word below, length of their common prefix.
        let mut open = vec![(0_usize, 0, words.len(), 0_usize)];
        while let Some((slot, mut first, last, depth)) = open.pop() {
            if first < last && words.get(first).len() == depth {
                builder.nodes[slot].class = words.classes[first];
                first += 1;
            }
            children.clear();
            for word in first..last {
                let c = words.get(word)[depth];
                match children.last_mut() {
                    Some(child) if child.0 == c => child.2 = word + 1,
                    _ => {
                        alloc::try_reserve(&mut children, 1)?;
                        children.push((c, word, word + 1));
                    }
                }
            }
            if children.is_empty() {
                continue;
            }
            children.sort_unstable();
            characters.clear();
            alloc::try_reserve(&mut characters, children.len())?;
            alloc::try_reserve(&mut open, children.len())?;
            characters.extend(children.iter().map(|child| child.0));
            let base = builder.slot(&characters)?;
            builder.nodes[slot].base = base;
            // The last one is filled first, which is that of the most frequent character, so that frequently used nodes
            // are adjacent.
            for &(c, first, last) in children.iter().rev() {
                let child = base.wrapping_add(c.into()) as usize;
                builder.nodes[child].check = c;
                open.push((child, first, last, depth + 1));
            }
        }
        Ok(Self { nodes: builder.nodes })
    }

    /// Return the node that `character` leads to.
    #[inline(always)]
    pub(super) fn child(&self, node: u32, character: u16) -> Option<u32> {
        let child = self.nodes[node as usize].base.wrapping_add(character.into());
        match self.nodes.get(child as usize) {
            Some(found) if found.check == character => Some(child),
            _ => None,
        }
    }

    /// Prefetch the node that `character` may lead to.
    #[inline(always)]
    pub(super) fn prefetch(&self, node: u32, character: u16) {
        prefetch_at(&self.nodes, self.nodes[node as usize].base.wrapping_add(character.into()) as usize);
    }

    /// Return the class of the word that ends at `node`, 0 for none.
    #[inline(always)]
    pub(super) fn class(&self, node: u32) -> u16 {
        self.nodes[node as usize].class
    }

    /// Return the number of slots.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Return the node at the end of a walk along `characters`.
    pub(super) fn walk(&self, mut characters: impl Iterator<Item = u16>) -> Option<u32> {
        characters.try_fold(ROOT, |node, c| self.child(node, c))
    }
}

/// Check that the numbers of `what` fit the nodes.
pub(super) fn check_numbers(what: &'static str, count: usize) -> Result<()> {
    if count < usize::from(UNKNOWN) {
        return Ok(());
    }
    Err(Error::parameter("user_words", format!("{count} {what}"), format!("at most {} {what}", UNKNOWN - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn walks_find_the_words_and_no_others(
            words in prop::collection::btree_map(prop::collection::vec(1_u16..40, 1..6), 1_u16..9, 0..60),
            others in prop::collection::vec(prop::collection::vec(1_u16..40, 1..6), 20)
        ) {
            let words: BTreeMap<Vec<u16>, u16> = words;
            let mut list = WordList::default();
            for (word, &class) in &words {
                list.push(word.iter().copied(), class).expect("room");
            }
            let trie = Trie::new(&list).expect("room");
            for word in words.keys().chain(&others) {
                let prefix = words.keys().any(|other| other.starts_with(word));
                let found = trie.walk(word.iter().copied());
                prop_assert_eq!(prefix, found.is_some());
                prop_assert_eq!(words.get(word).copied().unwrap_or(0), found.map_or(0, |node| trie.class(node)));
            }
            prop_assert_eq!(None, trie.walk([UNKNOWN].into_iter()));
        }
    }
}
