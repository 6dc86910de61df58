//! Connected components by union-find.
//!
//! The root of a tree is its smallest node: a root is linked below a smaller one, and paths are halved on the way up
//! (Tarjan and van Leeuwen 1984: O(log n) amortised steps per operation, without ranks). Both writes are
//! compare-and-swap of one parent, so several threads may join at once (Anderson and Woll 1991), and since the smallest
//! node of a component does not depend on the order of the joins, neither does the result. Memory: 4 bytes per node.
//! Test: `components_equal_a_flood_fill`.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::Result;
use crate::alloc;
use crate::cancel::CancelToken;

/// Disjoint sets of the nodes `0..n`, joined by any number of threads.
#[derive(Debug)]
pub struct Forest {
    /// Parent of each node, at most the node itself; a root is its own parent.
    parents: Vec<AtomicU32>,
}

impl Forest {
    /// Create `nodes` sets of one node.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn new(nodes: usize) -> Result<Self> {
        Ok(Self { parents: alloc::try_collect((0..nodes as u32).map(AtomicU32::new))? })
    }

    /// Return the smallest node of each node's set.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn roots(&self) -> Result<Vec<u32>> {
        alloc::try_collect((0..self.parents.len() as u32).map(|node| self.root(node)))
    }

    /// Return the smallest node of a set.
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

    /// Join the sets of two nodes.
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

/// Return the smallest member of each node's connected component in the graph of edges `left[i]`–`right[i]`.
///
/// # Errors
/// Memory runs out.
///
/// # Panics
/// If an edge names a node that is not below `nodes`.
pub fn components(nodes: usize, left: &[u32], right: &[u32]) -> Result<Vec<u32>> {
    let forest = Forest::new(nodes)?;
    for (&a, &b) in left.iter().zip(right) {
        forest.join(a, b);
    }
    forest.roots()
}

/// Cluster the graph of edges `left[i]`–`right[i]` by keep-then-absorb: nodes are visited in order, and a node that no
/// earlier one has absorbed absorbs its free neighbours. Return for each node the one that absorbed it, or itself.
///
/// # Errors
/// Memory runs out.
///
/// # Panics
/// If an edge names a node that is not below `nodes`.
pub fn centred(nodes: usize, left: &[u32], right: &[u32]) -> Result<Vec<u32>> {
    let mut starts = alloc::try_zeroed::<usize>(nodes + 1)?;
    let edges = || left.iter().zip(right).flat_map(|(&a, &b)| [(a, b), (b, a)]);
    for (a, _) in edges() {
        starts[a as usize + 1] += 1;
    }
    alloc::prefix_sums(&mut starts);
    let mut neighbours = alloc::try_zeroed(starts[nodes])?;
    let mut ends = alloc::try_copy(&starts)?;
    for (a, b) in edges() {
        neighbours[ends[a as usize]] = b;
        ends[a as usize] += 1;
    }
    let free = u32::MAX;
    let mut centres = alloc::try_filled(free, nodes)?;
    for node in 0..nodes {
        if centres[node] == free {
            centres[node] = node as u32;
            for &other in &neighbours[starts[node]..starts[node + 1]] {
                if centres[other as usize] == free {
                    centres[other as usize] = node as u32;
                }
            }
        }
    }
    Ok(centres)
}

/// Groups of two and more nodes with the same first node.
pub(crate) struct Groups {
    /// First and member, ascending: the members of a group stand together.
    members: Vec<(u32, u32)>,
}

impl Groups {
    /// Group nodes by their first node; a group's first node is its smallest.
    ///
    /// # Errors
    /// Memory runs out; the call is cancelled.
    pub(crate) fn new(firsts: &[u32], cancel: &CancelToken) -> Result<Self> {
        let joined = || firsts.iter().enumerate().filter(|&(node, &first)| node as u32 != first);
        let mut members = alloc::try_with_capacity(joined().count())?;
        for (node, &first) in joined() {
            members.push((first, node as u32));
        }
        // In the order of nodes a sort by the first node would suffice; this one requires no memory.
        cancel.sort(&mut members);
        cancel.check()?;
        Ok(Self { members })
    }

    /// Number of nodes in all groups.
    pub(crate) fn nodes(&self) -> usize {
        self.members.len() + self.members.chunk_by(|a, b| a.0 == b.0).count()
    }

    /// Iterate over the nodes of each group in order, in order of first nodes.
    pub(crate) fn each(&self) -> impl Iterator<Item = impl Iterator<Item = u32> + Clone + '_> + '_ {
        self.members
            .chunk_by(|a, b| a.0 == b.0)
            .map(|group| group.first().map(|member| member.0).into_iter().chain(group.iter().map(|member| member.1)))
    }
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
            prop_assert_eq!(expected, components(30, &left, &right).expect("room"));
        }

        #[test]
        fn centres_absorb_free_neighbours_in_order(edges in prop::collection::vec((0_u32..12, 0_u32..12), 0..20)) {
            let (left, right): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
            let near = |a: u32, b: u32| edges.contains(&(a, b)) || edges.contains(&(b, a));
            let mut expected: Vec<Option<u32>> = vec![None; 12];
            for node in 0..12 {
                if expected[node as usize].is_none() {
                    for other in node..12 {
                        let free = expected[other as usize].is_none();
                        if free && (other == node || near(node, other)) {
                            expected[other as usize] = Some(node);
                        }
                    }
                }
            }
            let found = centred(12, &left, &right).expect("room");
            prop_assert_eq!(expected.into_iter().flatten().collect::<Vec<_>>(), found.clone());
            let groups = Groups::new(&found, &CancelToken::default()).expect("room");
            let listed: Vec<Vec<u32>> = groups.each().map(Iterator::collect).collect();
            prop_assert_eq!(listed.iter().map(Vec::len).sum::<usize>(), groups.nodes());
            let plain: Vec<Vec<u32>> = (0..12)
                .map(|first| (0..12).filter(|&node| found[node as usize] == first).collect::<Vec<u32>>())
                .filter(|group| group.len() > 1)
                .collect();
            prop_assert_eq!(plain, listed);
        }
    }

    #[test]
    fn threads_that_join_at_once_make_the_same_sets() {
        use crate::parallel::prelude::*;
        let nodes = 20_000_u32;
        // A path in an order that makes long chains of parents, and every thousandth edge left out.
        let edges: Vec<u32> = (0..nodes - 1).map(|i| i * 7919 % (nodes - 1)).filter(|i| i % 1000 != 999).collect();
        let forest = Forest::new(nodes as usize).expect("room");
        edges.par_iter().for_each(|&i| forest.join(i + 1, i));
        for node in 0..nodes {
            assert_eq!(node / 1000 * 1000, forest.root(node));
        }
    }
}
