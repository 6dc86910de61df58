//! Results of searches, pairs and clusters, for every index.

use super::components::Groups;
use super::rows::Rows;
use crate::cancel::CancelToken;
use crate::{Result, alloc};

/// Hits of a batch of queries: query q owns `offsets[q]..offsets[q + 1]`, nearest first, ties by id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hits<D> {
    /// One more than the number of queries.
    pub offsets: Vec<i64>,
    /// Row of each hit.
    pub rows: Vec<u32>,
    /// Distance of each hit, or its score.
    pub distances: Vec<D>,
    /// For a search with a limit: true for each query that had more hits; otherwise empty.
    pub truncated: Vec<bool>,
}

impl<D: Copy> Hits<D> {
    /// Create an empty result with capacity for `hits` hits of `queries` queries.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn with_capacity(queries: usize, hits: usize) -> Result<Self> {
        let mut offsets = alloc::try_with_capacity(queries + 1)?;
        offsets.push(0);
        Ok(Self {
            offsets,
            rows: alloc::try_with_capacity(hits)?,
            distances: alloc::try_with_capacity(hits)?,
            truncated: Vec::new(),
        })
    }

    /// Append the hits of the next query; there must be capacity.
    pub(crate) fn push(&mut self, hits: impl Iterator<Item = (D, u32)>) {
        for (distance, row) in hits {
            self.distances.push(distance);
            self.rows.push(row);
        }
        self.offsets.push(self.rows.len() as i64);
    }

    /// Join the hits of all queries.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn new(queries: &[Vec<(D, u32)>]) -> Result<Self> {
        let mut hits = Self::with_capacity(queries.len(), queries.iter().map(Vec::len).sum())?;
        for query in queries {
            hits.push(query.iter().copied());
        }
        Ok(hits)
    }
}

/// Matching pairs of rows, sorted by ids.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pairs<D> {
    /// The row of the smaller id, or in a join that of the other index.
    pub left: Vec<u32>,
    /// The row of the larger id, or in a join that of this index.
    pub right: Vec<u32>,
    /// Their distance, or their score.
    pub distances: Vec<D>,
}

impl<D: Copy + Send> Pairs<D> {
    /// Create the pairs in this order.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn new(pairs: impl ExactSizeIterator<Item = (u32, u32, D)> + Clone) -> Result<Self> {
        Ok(Self {
            left: alloc::try_collect(pairs.clone().map(|pair| pair.0))?,
            right: alloc::try_collect(pairs.clone().map(|pair| pair.1))?,
            distances: alloc::try_collect(pairs.map(|pair| pair.2))?,
        })
    }

    /// Put the smaller id of each pair on the left, and sort the pairs by ids.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(crate) fn sorted(mut pairs: Vec<(u32, u32, D)>, rows: &Rows, cancel: &CancelToken) -> Result<Self> {
        for pair in &mut pairs {
            if rows.compare(pair.0, pair.1).is_gt() {
                *pair = (pair.1, pair.0, pair.2);
            }
        }
        let by_ids = |a: &(u32, u32, D), b: &(u32, u32, D)| rows.compare(a.0, b.0).then_with(|| rows.compare(a.1, b.1));
        // Pairs in order of rows are often in order of ids.
        if !pairs.is_sorted_by(|a, b| by_ids(a, b).is_le()) {
            cancel.sort_by(&mut pairs, by_ids);
        }
        cancel.check()?;
        Self::new(pairs.iter().copied())
    }
}

/// Clusters of two and more rows, in order of their first rows; cluster c owns `offsets[c]..offsets[c + 1]`.
#[derive(Debug, PartialEq, Eq)]
pub struct Clusters<D> {
    /// One more than the number of clusters.
    pub offsets: Vec<i64>,
    /// Members in order of addition; the first is the representative.
    pub rows: Vec<u32>,
    /// Distance of each member to the first one of its cluster, or their score.
    pub distances: Vec<D>,
}

impl<D> Default for Clusters<D> {
    fn default() -> Self {
        Self { offsets: vec![0], rows: Vec::new(), distances: Vec::new() }
    }
}

impl<D> Clusters<D> {
    /// Reserve capacity for one more cluster of this many members.
    pub(crate) fn make_room(&mut self, members: usize) -> Result<()> {
        alloc::try_reserve(&mut self.offsets, 1)?;
        alloc::try_reserve(&mut self.rows, members)?;
        alloc::try_reserve(&mut self.distances, members)
    }

    /// Build the clusters of rows with the same first row. `own` is the distance of a row to itself, and `measure` appends
    /// the distances of rows to a first row, for which there is capacity.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(crate) fn of_firsts(
        firsts: &[u32],
        own: D,
        cancel: &CancelToken,
        mut measure: impl FnMut(u32, &[u32], &mut Vec<D>),
    ) -> Result<Self>
    where
        D: Copy,
    {
        let groups = Groups::new(firsts, cancel)?;
        let mut clusters = Self::default();
        clusters.make_room(groups.nodes())?;
        for rows in groups.each() {
            let begin = clusters.rows.len();
            clusters.rows.extend(rows);
            let [first, others @ ..] = &clusters.rows[begin..] else { continue };
            clusters.distances.push(own);
            measure(*first, others, &mut clusters.distances);
            cancel.check()?;
            alloc::try_reserve(&mut clusters.offsets, 1)?;
            clusters.offsets.push(clusters.rows.len() as i64);
        }
        Ok(clusters)
    }
}
