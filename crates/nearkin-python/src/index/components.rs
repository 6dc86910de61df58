//! Connected components of a graph.

use nearkin_core::index::components as graph;
use pyo3::prelude::*;

use crate::convert::{Array, Slice, check_length, check_places};
use crate::threads::detached;

/// Return the smallest member of each node's connected component in the graph of edges `left[i]`–`right[i]`.
#[pyfunction]
fn components(py: Python<'_>, nodes: usize, left: Slice<u32>, right: Slice<u32>) -> PyResult<Array<u32>> {
    check_length("right", right.len(), left.len())?;
    check_places("left", &left, nodes)?;
    check_places("right", &right, nodes)?;
    detached(py, || graph::components(nodes, &left, &right)).map(Array)
}

/// Return for each node the one that absorbs it in order of nodes, or the node itself: keep, then absorb.
#[pyfunction]
fn centred(py: Python<'_>, nodes: usize, left: Slice<u32>, right: Slice<u32>) -> PyResult<Array<u32>> {
    check_length("right", right.len(), left.len())?;
    check_places("left", &left, nodes)?;
    check_places("right", &right, nodes)?;
    detached(py, || graph::centred(nodes, &left, &right)).map(Array)
}

register! {
    components, centred
}
