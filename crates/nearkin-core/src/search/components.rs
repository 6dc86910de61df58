//! Connected components by union-find.
//!
//! The root of a tree is its smallest node: a root is linked below a smaller one, and paths are halved on the way up
//! (Tarjan and van Leeuwen 1984: O(log n) amortised steps an operation without ranks). Both writes are compare-and-swap
//! of one parent, so several threads may join at once (Anderson and Woll 1991), and since the smallest node of a component
//! does not depend on the order of the joins, neither does the result. Memory: 4 bytes per node.
//! Test: `components_equal_a_flood_fill`.

use std::sync::atomic::{AtomicU32, Ordering};

/// Disjoint sets of the nodes `0..n`, joined by any number of threads.
#[derive(Debug)]
pub struct Forest {
    /// Parent of each node, at most the node itself; a root is its own.
    parents: Vec<AtomicU32>,
}

impl Forest {
    /// `nodes` sets of one node.
    pub fn new(nodes: usize) -> Self {
        Self { parents: (0..nodes as u32).map(AtomicU32::new).collect() }
    }

    /// The smallest node of a set.
    ///
    /// # Panics
    /// If `node` is not below `nodes`.
    pub fn root(&self, mut node: u32) -> u32 {
        loop {
            let parent = self.parents[node as usize].load(Ordering::Relaxed);
            if parent == node {
                return node;
            }
            let above = self.parents[parent as usize].load(Ordering::Relaxed);
            if above != parent {
                // Another thread may have moved the node further up; then that is as good.
                let swap = self.parents[node as usize].compare_exchange_weak(
                    parent,
                    above,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                let _ = swap;
            }
            node = above;
        }
    }

    /// Joins the sets of two nodes.
    ///
    /// # Panics
    /// If a node is not below `nodes`.
    pub fn join(&self, mut a: u32, mut b: u32) {
        loop {
            (a, b) = (self.root(a), self.root(b));
            let (low, high) = (a.min(b), a.max(b));
            let parent = &self.parents[high as usize];
            if low == high || parent.compare_exchange(high, low, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }
}

/// The smallest member of each node's connected component in the graph of edges `left[i]`–`right[i]`.
///
/// # Panics
/// If an edge names a node that is not below `nodes`.
pub fn components(nodes: usize, left: &[u32], right: &[u32]) -> Vec<u32> {
    let forest = Forest::new(nodes);
    for (&a, &b) in left.iter().zip(right) {
        forest.join(a, b);
    }
    (0..nodes as u32).map(|node| forest.root(node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn components_equal_a_flood_fill(edges in prop::collection::vec((0_u32..30, 0_u32..30), 0..40)) {
            let (left, right): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
            let mut expected: Vec<u32> = (0..30).collect();
            for _ in 0..30 {
                for &(a, b) in &edges {
                    let least = expected[a as usize].min(expected[b as usize]);
                    expected[a as usize] = least;
                    expected[b as usize] = least;
                }
            }
            prop_assert_eq!(expected, components(30, &left, &right));
        }
    }

    #[test]
    fn threads_that_join_at_once_make_the_same_sets() {
        use rayon::prelude::*;
        let nodes = 20_000_u32;
        // A path in an order that makes long chains of parents, and every thousandth edge left out.
        let edges: Vec<u32> = (0..nodes - 1).map(|i| i * 7919 % (nodes - 1)).filter(|i| i % 1000 != 999).collect();
        let forest = Forest::new(nodes as usize);
        edges.par_iter().for_each(|&i| forest.join(i + 1, i));
        for node in 0..nodes {
            assert_eq!(node / 1000 * 1000, forest.root(node));
        }
    }
}
