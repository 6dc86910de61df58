//! `DigestCore`: the exact index of digests behind a lock, arrays in and out.

use std::path::PathBuf;
use std::sync::Arc;

use nearkin_core::index::digests::file::{self, Metadata};
use nearkin_core::index::digests::{Hub, Index, Limit};
use nearkin_core::index::hamming::Linkage;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{FEW, FoundIds, IdView, Ids, IndexCore, Key, Locked, pairs_of, parse_existing};
use crate::convert::Array;
use crate::digests::ssdeep::parse_all;
use crate::errors::IntoPython;
use crate::threads::detached;

/// Exact index of digests; `nearkin.DigestIndex` is the public class.
#[pyclass(frozen, extends = IndexCore, module = "nearkin._core")]
struct DigestCore {
    index: Arc<Locked<Index>>,
}

fn limit(threshold: u32, skip_hubs: Option<usize>) -> PyResult<Limit> {
    Limit { threshold, skip_hubs }.checked().into_python()
}

#[pymethods]
impl DigestCore {
    #[new]
    fn new() -> PyClassInitializer<Self> {
        IndexCore::of(Index::new(), |index| Self { index })
    }

    /// True if a file contains a digest index, of any version.
    #[staticmethod]
    fn is_file(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        py.detach(|| file::is_index(&path)).into_python()
    }

    /// Open a saved index; also return whether its digests were parsed leniently, and the recipe's JSON form (None from
    /// version 1).
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<(Py<Self>, bool, Option<Py<PyBytes>>)> {
        let (index, metadata) = detached(py, || Index::open(&path))?;
        let recipe = metadata.recipe.map(|recipe| PyBytes::new(py, &recipe).unbind());
        Ok((Py::new(py, IndexCore::of(index, |index| Self { index }))?, metadata.lenient, recipe))
    }

    fn save(&self, py: Python<'_>, path: PathBuf, lenient: bool, recipe: Vec<u8>) -> PyResult<()> {
        let metadata = Metadata { lenient, recipe: Some(recipe) };
        self.index.query(py, |index| index.save(&path, &metadata))
    }

    /// Kind of ids, number of postings, bytes in memory.
    fn info(&self, py: Python<'_>) -> PyResult<(&'static str, usize, usize)> {
        self.index.about(py, |index| Ok((index.rows().kind(), index.postings(), index.bytes())))
    }

    /// Return the digest of an id, None if the id does not exist.
    fn digest(&self, py: Python<'_>, key: Key) -> PyResult<Option<String>> {
        self.index.peek(py, |index| {
            let digest = key.find(index.rows()).and_then(|row| index.get(row));
            Ok(digest.map(|digest| String::from_utf8_lossy(&digest.to_text()).into_owned()))
        })
    }

    /// Add digests; without ids, row numbers are the ids.
    fn add(
        &self,
        py: Python<'_>,
        ids: Option<Ids<'_>>,
        digests: &Bound<'_, PyAny>,
        strict: bool,
        existing: &str,
    ) -> PyResult<usize> {
        let (ids, existing) = (ids.as_ref().map(Ids::view), parse_existing(existing)?);
        let digests = parse_all(digests, strict)?;
        let few = |index: &Index| digests.len() <= FEW && index.adds_quickly(digests.len());
        self.index.change_unless(py, few, |index| index.add(IdView::new_ids(ids.as_ref()), &digests, existing))
    }

    /// Return offsets, ids, scores, number of skipped keys.
    fn search(
        &self,
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        strict: bool,
        threshold: u32,
        skip_hubs: Option<usize>,
    ) -> PyResult<(Array<i64>, FoundIds, Array<u8>, usize)> {
        let limit = limit(threshold, skip_hubs)?;
        let queries = parse_all(queries, strict)?;
        let few = |index: &Index| index.is_quick(&queries);
        self.index.query_unless(py, few, |index| {
            let (hits, skipped) = index.search_many(&queries, limit)?;
            Ok((Array(hits.offsets), FoundIds::of(index.rows(), &hits.rows), Array(hits.distances), skipped))
        })
    }

    /// Return left, right (ids), scores, number of skipped keys.
    fn pairs(
        &self,
        py: Python<'_>,
        threshold: u32,
        skip_hubs: Option<usize>,
    ) -> PyResult<(FoundIds, FoundIds, Array<u8>, usize)> {
        let limit = limit(threshold, skip_hubs)?;
        self.index.query(py, |index| {
            let (pairs, skipped) = index.pairs(limit)?;
            let (left, right, scores) = pairs_of(index.rows(), index.rows(), pairs);
            Ok((left, right, scores, skipped))
        })
    }

    /// Return offsets of clusters, ids, scores with the first of each, number of skipped keys.
    fn clusters(
        &self,
        py: Python<'_>,
        threshold: u32,
        linkage: &str,
        skip_hubs: Option<usize>,
    ) -> PyResult<(Array<i64>, FoundIds, Array<u8>, usize)> {
        let (limit, linkage) = (limit(threshold, skip_hubs)?, Linkage::parse(linkage).into_python()?);
        self.index.query(py, |index| {
            let (clusters, skipped) = index.clusters(limit, linkage)?;
            let ids = FoundIds::of(index.rows(), &clusters.rows);
            Ok((Array(clusters.offsets), ids, Array(clusters.distances), skipped))
        })
    }

    /// Return block size, seven characters and number of digests, most frequent first.
    fn hubs(&self, py: Python<'_>, least: usize, most: usize) -> PyResult<Vec<(u64, String, usize)>> {
        let hubs = self.index.query(py, |index| index.hubs(least, most))?;
        let convert = |hub: Hub| (hub.block_size, String::from_utf8_lossy(&hub.gram).into_owned(), hub.count);
        Ok(hubs.into_iter().map(convert).collect())
    }
}

register! {
    [DigestCore]
}
