//! `TlshCore`: the exact index of TLSH digests behind a lock, arrays in and out.

use std::path::PathBuf;

use nearkin_core::digests::tlsh::Form;
use nearkin_core::index::hamming::Linkage;
use nearkin_core::index::tlsh::{Hit, Index, Pair, file};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{FEW, FoundIds, IdView, Ids, Key, Lists, Locked, lists, parse_existing};
use crate::convert::Array;
use crate::digests::tlsh::parse_all;
use crate::errors::IntoPython;
use crate::threads::detached;

/// Exact index of TLSH digests; `nearkin.DigestIndex` is the public class.
#[pyclass(frozen, module = "nearkin._core")]
struct TlshCore {
    index: Locked<Index>,
}

fn found(index: &Index, results: &[Vec<Hit>]) -> Lists<u16> {
    let mut offsets = vec![0];
    let (mut rows, mut distances) = (Vec::new(), Vec::new());
    for hits in results {
        rows.extend(hits.iter().map(|hit| hit.row));
        distances.extend(hits.iter().map(|hit| hit.score));
        offsets.push(rows.len() as i64);
    }
    lists(index.rows(), offsets, &rows, distances)
}

#[pymethods]
impl TlshCore {
    #[new]
    fn new(buckets: usize, checksum: usize) -> PyResult<Self> {
        Ok(Self { index: Locked::new(Index::new(Form::new(buckets, checksum).into_python()?)) })
    }

    /// True if a file contains an index of TLSH digests.
    #[staticmethod]
    fn is_file(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        py.detach(|| file::is_index(&path)).into_python()
    }

    /// Open a saved index; also return the recipe's JSON form.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<(Self, Py<PyBytes>)> {
        let (index, recipe) = detached(py, || Index::open(&path))?;
        Ok((Self { index: Locked::new(index) }, PyBytes::new(py, &recipe).unbind()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf, recipe: Vec<u8>) -> PyResult<()> {
        self.index.query(py, |index| index.save(&path, &recipe))
    }

    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.index.query(py, Index::verify)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.index.len(py)
    }

    /// Kind of ids, number of rows, bytes in memory.
    fn info(&self, py: Python<'_>) -> PyResult<(&'static str, usize, usize)> {
        self.index.about(py, |index| Ok((index.rows().kind(), index.rows().total(), index.bytes())))
    }

    fn contains(&self, py: Python<'_>, key: Key) -> PyResult<bool> {
        self.index.contains(py, &key)
    }

    /// Return the digest of an id, None if the id does not exist.
    fn digest(&self, py: Python<'_>, key: Key) -> PyResult<Option<String>> {
        self.index.peek(py, |index| {
            let digest = key.find(index.rows()).and_then(|row| index.get(row));
            Ok(digest.map(|digest| digest.to_text()))
        })
    }

    /// Add digests; without ids, row numbers are the ids.
    fn add(&self, py: Python<'_>, ids: Option<Ids<'_>>, digests: &Bound<'_, PyAny>, existing: &str) -> PyResult<usize> {
        let (ids, existing) = (ids.as_ref().map(Ids::view), parse_existing(existing)?);
        let digests = parse_all(digests)?;
        let few = |index: &Index| digests.len() <= FEW && index.adds_quickly(digests.len());
        self.index.change_unless(py, few, |index| index.add(IdView::new_ids(ids.as_ref()), &digests, existing))
    }

    fn remove(&self, py: Python<'_>, ids: Ids<'_>, missing_ok: bool) -> PyResult<usize> {
        self.index.remove(py, &ids, missing_ok)
    }

    /// Return at most `most` ids of the rows from `start` on, and the row after the last of them.
    fn ids(&self, py: Python<'_>, start: usize, most: usize) -> PyResult<(FoundIds, usize)> {
        self.index.ids(py, start, most)
    }

    /// Return offsets, ids and distances, nearest first; with `k` at most that many for each query.
    fn search(
        &self,
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        distance: u16,
        k: Option<usize>,
    ) -> PyResult<Lists<u16>> {
        let queries = parse_all(queries)?;
        let few = |index: &Index| index.is_quick(&queries);
        self.index.query_unless(py, few, |index| {
            let results = match k {
                None => index.search_many(&queries, distance)?,
                Some(k) => index.nearest_many(&queries, k, distance)?,
            };
            Ok(found(index, &results))
        })
    }

    /// Return left, right (ids) and distances.
    fn pairs(&self, py: Python<'_>, distance: u16) -> PyResult<(FoundIds, FoundIds, Array<u16>)> {
        self.index.query(py, |index| {
            let pairs = index.pairs(distance)?;
            let ids =
                |side: fn(&Pair) -> u32| FoundIds::of(index.rows(), &pairs.iter().map(side).collect::<Vec<u32>>());
            let distances = pairs.iter().map(|pair| pair.score).collect();
            Ok((ids(|pair| pair.left), ids(|pair| pair.right), Array(distances)))
        })
    }

    /// Return offsets of clusters, ids, and distances to the first of each.
    fn clusters(&self, py: Python<'_>, distance: u16, linkage: &str) -> PyResult<Lists<u16>> {
        let linkage = Linkage::parse(linkage).into_python()?;
        self.index.query(py, |index| {
            let result = index.clusters(distance, linkage)?;
            Ok(lists(index.rows(), result.offsets, &result.rows, result.scores))
        })
    }
}

register! {
    [TlshCore]
}
