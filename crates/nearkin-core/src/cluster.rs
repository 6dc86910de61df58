//! Connected components by union-find.
//!
//! Trees are joined by size and paths are halved on the way up, so that m unions of n nodes take O(m α(n)) steps
//! (Tarjan and van Leeuwen 1984). Memory: 8 bytes a node. Test: `components_equal_a_flood_fill`.

/// The smallest member of each node's connected component in the graph of edges `left[i]`–`right[i]`.
///
/// # Panics
/// If an edge names a node that is not below `nodes`.
pub fn components(nodes: usize, left: &[u32], right: &[u32]) -> Vec<u32> {
    let mut parents: Vec<u32> = (0..nodes as u32).collect();
    let mut sizes = vec![1_u32; nodes];
    for (&a, &b) in left.iter().zip(right) {
        let (a, b) = (root(&mut parents, a), root(&mut parents, b));
        if a == b {
            continue;
        }
        let (small, large) = if sizes[a as usize] < sizes[b as usize] { (a, b) } else { (b, a) };
        parents[small as usize] = large;
        sizes[large as usize] += sizes[small as usize];
    }
    // Nodes come in ascending order, so the first one of a tree is its smallest.
    let mut smallest = vec![u32::MAX; nodes];
    (0..nodes as u32)
        .map(|node| {
            let root = root(&mut parents, node) as usize;
            smallest[root] = smallest[root].min(node);
            smallest[root]
        })
        .collect()
}

fn root(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        let grandparent = parents[parents[node as usize] as usize];
        parents[node as usize] = grandparent;
        node = grandparent;
    }
    node
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
}
