//! Results of a batch of queries, for every index.

use crate::{Result, alloc};

/// Hits of a batch of queries: query q owns `offsets[q]..offsets[q + 1]`, nearest first, ties by id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hits<D> {
    /// One more than the number of queries.
    pub offsets: Vec<i64>,
    /// Row of each hit.
    pub rows: Vec<u32>,
    /// Distance of each hit.
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
