//! `TlshCore`: the exact index of TLSH digests behind a lock, arrays in and out.

use std::path::PathBuf;
use std::sync::Arc;

use nearkin_core::digests::tlsh::Form;
use nearkin_core::index::hamming::Linkage;
use nearkin_core::index::tlsh::{Index, file};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{FEW, FoundPairs, IdView, Ids, IndexCore, Key, Lists, Locked, lists, pairs_of, parse_existing};
use crate::digests::tlsh::parse_all;
use crate::errors::IntoPython;
use crate::threads::detached;

/// Exact index of TLSH digests; `nearkin.DigestIndex` is the public class.
#[pyclass(frozen, extends = IndexCore, module = "nearkin._core")]
struct TlshCore {
    index: Arc<Locked<Index>>,
}

#[pymethods]
impl TlshCore {
    #[new]
    fn new(buckets: usize, checksum: usize) -> PyResult<PyClassInitializer<Self>> {
        Ok(IndexCore::of(Index::new(Form::new(buckets, checksum).into_python()?), |index| Self { index }))
    }

    /// True if a file contains an index of TLSH digests.
    #[staticmethod]
    fn is_file(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        py.detach(|| file::is_index(&path)).into_python()
    }

    /// Open a saved index; also return the recipe's JSON form.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<(Py<Self>, Py<PyBytes>)> {
        let (index, recipe) = detached(py, || Index::open(&path))?;
        Ok((Py::new(py, IndexCore::of(index, |index| Self { index }))?, PyBytes::new(py, &recipe).unbind()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf, recipe: Vec<u8>) -> PyResult<()> {
        self.index.query(py, |index| index.save(&path, &recipe))
    }

    /// Kind of ids, number of rows, bytes in memory.
    fn info(&self, py: Python<'_>) -> PyResult<(&'static str, usize, usize)> {
        self.index.about(py, |index| Ok((index.rows().kind(), index.rows().total(), index.bytes())))
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
            let hits = match k {
                None => index.search_many(&queries, distance)?,
                Some(k) => index.nearest_many(&queries, k, distance)?,
            };
            Ok(lists(index.rows(), hits.offsets, &hits.rows, hits.distances))
        })
    }

    /// Return left, right (ids) and distances.
    fn pairs(&self, py: Python<'_>, distance: u16) -> PyResult<FoundPairs<u16>> {
        self.index.query(py, |index| Ok(pairs_of(index.rows(), index.rows(), index.pairs(distance)?)))
    }

    /// Return offsets of clusters, ids, and distances to the first of each.
    fn clusters(&self, py: Python<'_>, distance: u16, linkage: &str) -> PyResult<Lists<u16>> {
        let linkage = Linkage::parse(linkage).into_python()?;
        self.index.query(py, |index| {
            let result = index.clusters(distance, linkage)?;
            Ok(lists(index.rows(), result.offsets, &result.rows, result.distances))
        })
    }
}

register! {
    [TlshCore]
}
