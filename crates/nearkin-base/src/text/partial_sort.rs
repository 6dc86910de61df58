//! Partial sort with the tie order of `std::partial_sort` in GNU's C++ library.
//!
//! C++ does not specify the order of equal entries, nor which of them are among the first: both follow from the moves
//! of a heap (Williams 1964), whose top is the last kept entry. To reproduce fingerprints that a C++ program has
//! stored, this implementation makes the same moves:
//!
//! 1. the first `kept` entries become a heap, from its last inner node to its top;
//! 2. each further entry that precedes the top replaces it;
//! 3. the top is moved to the end of the heap, which shrinks, until all are in order.
//!
//! An entry is inserted at a hole: the hole sinks to a leaf along the later children (Floyd 1964), the right one of
//! equals, and then the entry rises from there.
//!
//! Cost: O(n log kept). Tests: against a sort if no two are equal, and against the C++ library through the keywords of
//! `tests/text/test_cppjieba.py`.

/// Move the first `kept` of `entries` to the front, in order. `before(a, b)` is true if a precedes b.
pub(crate) fn first<T: Copy>(entries: &mut [T], kept: usize, before: impl Fn(&T, &T) -> bool) {
    let kept = kept.min(entries.len());
    if kept == 0 {
        return;
    }
    for hole in (0..kept / 2).rev() {
        let entry = entries[hole];
        enter(&mut entries[..kept], hole, entry, &before);
    }
    for at in kept..entries.len() {
        let entry = entries[at];
        if before(&entry, &entries[0]) {
            entries[at] = entries[0];
            enter(&mut entries[..kept], 0, entry, &before);
        }
    }
    for end in (1..kept).rev() {
        let entry = entries[end];
        entries[end] = entries[0];
        enter(&mut entries[..end], 0, entry, &before);
    }
}

/// Insert `entry` into a heap whose subtree at `start` has lost its top.
fn enter<T: Copy>(heap: &mut [T], start: usize, entry: T, before: impl Fn(&T, &T) -> bool) {
    let mut hole = start;
    while 2 * hole + 1 < heap.len() {
        let (left, right) = (2 * hole + 1, 2 * hole + 2);
        let child = if right < heap.len() && !before(&heap[right], &heap[left]) { right } else { left };
        heap[hole] = heap[child];
        hole = child;
    }
    while hole > start {
        let parent = (hole - 1) / 2;
        if !before(&heap[parent], &entry) {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = entry;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_entries_are_where_gnus_library_leaves_them() {
        // The order produced by a program compiled with GCC 12.
        let found = |weights: &[u32], kept: usize| {
            let mut entries: Vec<(u32, usize)> = weights.iter().copied().zip(0..).collect();
            first(&mut entries, kept, |a, b| a.0 > b.0);
            entries[..kept].iter().map(|entry| entry.1).collect::<Vec<_>>()
        };
        let few = [1, 2, 1, 2, 1, 2, 1, 2];
        assert_eq!(vec![3, 1, 7, 5, 4], found(&few, 5));
        assert_eq!(vec![7, 1, 3, 5, 4, 0, 2, 6], found(&few, 8));
        assert_eq!(vec![3, 1], found(&few, 2));
        let more: Vec<u32> = (0..23).map(|i| 1 + i % 2 + u32::from(i % 7 == 3)).collect();
        assert_eq!(vec![17, 3, 7, 1, 9], found(&more, 5));
        assert_eq!(vec![3, 17, 7, 11, 1, 5, 13, 10], found(&more, 8));
        assert_eq!(vec![3], found(&more, 1));
    }

    proptest! {
        #[test]
        fn distinct_entries_are_sorted(
            entries in prop::collection::hash_set(0_u32..10_000, 0..80),
            kept in 0_usize..90
        ) {
            let mut entries: Vec<u32> = entries.into_iter().collect();
            let mut sorted = entries.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            sorted.truncate(kept);
            first(&mut entries, kept, |a, b| a > b);
            entries.truncate(kept);
            prop_assert_eq!(sorted, entries);
        }

        #[test]
        fn of_equal_entries_none_is_lost(entries in prop::collection::vec(0_u32..4, 0..60), kept in 0_usize..70) {
            let mut pairs: Vec<(u32, usize)> = entries.iter().copied().zip(0..).collect();
            first(&mut pairs, kept, |a, b| a.0 > b.0);
            let kept = kept.min(entries.len());
            let mut sorted = entries.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(&sorted[..kept], pairs[..kept].iter().map(|pair| pair.0).collect::<Vec<_>>());
            let mut positions: Vec<usize> = pairs.into_iter().map(|pair| pair.1).collect();
            positions.sort_unstable();
            prop_assert_eq!((0..entries.len()).collect::<Vec<_>>(), positions);
        }
    }
}
