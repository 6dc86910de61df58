//! `HammingCore`: the index of `nearkin_core::index::hamming` behind a lock, arrays in and out.
//!
//! Methods that modify the index take the write lock. Searches first let the index prepare itself (a write), then take
//! the read lock, so that several Python threads can search at once.

use std::path::PathBuf;
use std::sync::Arc;

use nearkin_core::Error;
use nearkin_core::cpu::popcount;
use nearkin_core::index::hamming::{Hits, Index, Linkage, Method, PairStream, PartPlan, Ranking};
use nearkin_core::segment::with_verified;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::{FoundIds, FoundPairs, IdView, Ids, IndexCore, Lists, Locked, lists, pairs_of, parse_existing};
use crate::convert::{Array, Slice};
use crate::errors::{IntoPython, to_python};
use crate::locks::Lock;
use crate::threads::{detached, detached_with};

/// Exact Hamming index; `nearkin.HammingIndex` is the public class.
#[pyclass(frozen, extends = IndexCore, module = "nearkin._core")]
pub(crate) struct HammingCore {
    index: Arc<Locked<Index>>,
}

/// Minimum number of words for which distances are computed in the pool, so that signals are handled in time.
const LARGE: usize = 1 << 22;

type FoundHits = (Array<i64>, FoundIds, Array<u16>, Array<bool>);

/// An opened index with its bits, method, radius and memory limit.
type Opened = (Py<HammingCore>, usize, &'static str, Option<u32>, Option<usize>);

impl HammingCore {
    /// Call `work` with read access to this index and another, in the pool. Locks are taken in order of address, so
    /// that two calls with the sides exchanged do not deadlock.
    fn ask_both<T: Send>(
        &self,
        py: Python<'_>,
        other: &Self,
        work: impl FnOnce(&Index, &Index) -> nearkin_core::Result<T> + Send,
    ) -> PyResult<T> {
        if std::ptr::eq(self, other) {
            return self.index.query(py, |index| work(index, index));
        }
        let locks = || {
            if std::ptr::from_ref(self) < std::ptr::from_ref(other) {
                let first = self.index.0.read()?;
                Ok((first, other.index.0.read()?))
            } else {
                let first = other.index.0.read()?;
                Ok((self.index.0.read()?, first))
            }
        };
        detached_with(py, locks, |pool, (index, other)| {
            let (index, other): (&Index, &Index) = (&index, &other);
            pool.install(|| with_verified(index.segment(), || with_verified(other.segment(), || work(index, other))))
        })
    }
}

/// Convert hits for Python.
fn hits_of(index: &Index, hits: Hits) -> FoundHits {
    (Array(hits.offsets), FoundIds::of(index.rows(), &hits.rows), Array(hits.distances), Array(hits.truncated))
}

/// Iterator over all pairs of an index, one batch at a time.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct HammingPairs {
    core: Py<HammingCore>,
    stream: Lock<PairStream>,
}

#[pymethods]
impl HammingPairs {
    /// Return left, right, distances; empty at the end.
    fn next_batch(&self, py: Python<'_>) -> PyResult<FoundPairs<u16>> {
        let core = self.core.get();
        let locks = || Ok((self.stream.write()?, core.index.0.read()?));
        detached_with(py, locks, |pool, (mut stream, index)| {
            let (stream, index): (&mut PairStream, &Index) = (&mut stream, &index);
            pool.install(|| {
                with_verified(index.segment(), || Ok(pairs_of(index.rows(), index.rows(), stream.next_batch(index)?)))
            })
        })
    }
}

#[pymethods]
impl HammingCore {
    #[new]
    fn new(
        bits: usize,
        method: &str,
        radius: Option<u32>,
        memory_limit: Option<usize>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let method = Method::parse(method).into_python()?;
        Ok(IndexCore::of(Index::new(bits, method, radius, memory_limit).into_python()?, |index| Self { index }))
    }

    /// Open a saved index; also return its bits, method, radius and memory limit.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Opened> {
        let index = detached(py, || Index::open(&path))?;
        let (bits, method, radius, memory) = index.settings();
        Ok((Py::new(py, IndexCore::of(index, |index| Self { index }))?, bits, method.name(), radius, memory))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.index.change(py, |index| index.save(&path))
    }

    /// Return the default memory limit in bytes.
    fn set_share(&self, py: Python<'_>, share: Option<usize>) -> PyResult<()> {
        py.detach(|| self.index.0.write().map(|mut index| index.set_share(share))).into_python()
    }

    /// Return the metadata stored with the index.
    fn note(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.index.about(py, |index| Ok(index.note().map(str::to_owned)))
    }

    fn set_note(&self, py: Python<'_>, note: Option<String>) -> PyResult<()> {
        py.detach(|| self.index.0.write().map(|mut index| index.set_note(note))).into_python()
    }

    /// Return the number of rows ever added.
    fn total(&self, py: Python<'_>) -> PyResult<usize> {
        self.index.about(py, |index| Ok(index.rows().total()))
    }

    /// Kind of ids, bytes of fingerprints and tables, bytes of ids.
    fn info(&self, py: Python<'_>) -> PyResult<(&'static str, usize, usize)> {
        self.index.about(py, |index| {
            let (bytes, ids) = index.bytes();
            Ok((index.rows().kind(), bytes, ids))
        })
    }

    /// Return the ids in order of addition, and the fingerprints, row after row.
    fn fingerprints(&self, py: Python<'_>) -> PyResult<(FoundIds, Array<u64>)> {
        self.index.query(py, |index| {
            let (rows, fps) = index.fingerprints()?;
            Ok((FoundIds::of(index.rows(), &rows), Array(fps)))
        })
    }

    /// Add fingerprints; without ids, row numbers are the ids.
    fn add(&self, py: Python<'_>, ids: Option<Ids<'_>>, fps: Slice<u64>, existing: &str) -> PyResult<usize> {
        let (ids, fps, existing) = (ids.as_ref().map(Ids::view), &*fps, parse_existing(existing)?);
        let few = |index: &Index| index.adds_quickly(fps.len() / popcount::words_of(index.bits()));
        self.index.change_unless(py, few, |index| index.add(IdView::new_ids(ids.as_ref()), fps, existing))
    }

    /// Return offsets, ids, distances; with a limit also which queries had more.
    fn search(&self, py: Python<'_>, queries: Slice<u64>, radius: u32, limit: Option<usize>) -> PyResult<FoundHits> {
        let search = |index: &Index| Ok(hits_of(index, index.search(&queries, radius, limit)?));
        let count = |index: &Index| queries.len() / popcount::words_of(index.bits());
        // A single query of a prepared index is answered directly, because its work would not be divided.
        let quick = |index: &Index| index.is_quick(radius, count(index));
        let (prepared, result) = self.index.peek(py, |index| {
            let prepared = index.is_prepared(radius, count(index));
            Ok((prepared, if prepared && quick(index) { Some(search(index)?) } else { None }))
        })?;
        if let Some(result) = result {
            return Ok(result);
        }
        if !prepared {
            let few = |index: &Index| index.prepares_quickly(radius, count(index));
            self.index.change_unless(py, few, |index| index.prepare(radius, count(index)))?;
        }
        self.index.query_unless(py, quick, search)
    }

    /// Return offsets, ids, distances; an empty array.
    fn nearest(&self, py: Python<'_>, queries: Slice<u64>, k: usize) -> PyResult<FoundHits> {
        let nearest = |index: &Index| Ok(hits_of(index, index.nearest(&queries, k)?));
        let count = |index: &Index| queries.len() / popcount::words_of(index.bits());
        if !self.index.about(py, |index| Ok(index.is_prepared_nearest(count(index))))? {
            self.index.change(py, |index| index.prepare_nearest(&queries, k))?;
        }
        self.index.query_unless(py, |index| index.is_quick(index.bits() as u32, count(index)), nearest)
    }

    /// Return offsets, ids, distances, by "jaccard" or "spherical" distance.
    fn ranked(&self, py: Python<'_>, queries: Slice<u64>, k: usize, rank: &str) -> PyResult<Lists<f64>> {
        let ranking = Ranking::parse(rank).into_python()?;
        self.index.query(py, |index| {
            let result = index.ranked(&queries, k, ranking)?;
            Ok(lists(index.rows(), result.offsets, &result.rows, result.distances))
        })
    }

    /// Return left, right, distances.
    fn pairs(&self, py: Python<'_>, radius: u32) -> PyResult<FoundPairs<u16>> {
        self.index.change(py, |index| index.prepare_pairs(radius))?;
        self.index.query(py, |index| Ok(pairs_of(index.rows(), index.rows(), index.pairs(radius)?)))
    }

    /// Return an iterator over batches of the pairs.
    fn pair_stream(slf: Bound<'_, Self>, radius: u32, batch: usize) -> PyResult<HammingPairs> {
        let stream = slf.get().index.change(slf.py(), |index| PairStream::new(index, radius, batch))?;
        Ok(HammingPairs { core: slf.unbind(), stream: Lock::new(stream) })
    }

    /// Return left (ids of `other`), right (ids of this index), distances.
    fn join(&self, py: Python<'_>, other: Bound<'_, Self>, radius: u32) -> PyResult<FoundPairs<u16>> {
        let other = other.get();
        let count = other.index.about(py, |index| Ok(index.rows().len()))?;
        self.index.change(py, |index| index.prepare(radius, count))?;
        self.ask_both(py, other, |index, other| Ok(pairs_of(other.rows(), index.rows(), index.join(other, radius)?)))
    }

    /// Return left (rows of `fps`), right (ids), distances.
    fn join_rows(&self, py: Python<'_>, fps: Slice<u64>, radius: u32) -> PyResult<FoundPairs<u16>> {
        self.index.change(py, |index| index.prepare(radius, fps.len() / popcount::words_of(index.bits())))?;
        self.index.query(py, |index| {
            let pairs = index.join_rows(&fps, radius)?;
            let left = FoundIds::Ints(pairs.left.iter().map(|&row| i64::from(row)).collect());
            Ok((left, FoundIds::of(index.rows(), &pairs.right), Array(pairs.distances)))
        })
    }

    /// Return offsets of clusters, ids, distances to the first of each.
    fn clusters(&self, py: Python<'_>, radius: u32, linkage: &str) -> PyResult<Lists<u16>> {
        let linkage = Linkage::parse(linkage).into_python()?;
        self.index.change(py, |index| {
            index.prepare_clusters(radius, linkage)?;
            let result = index.clusters(radius, linkage)?;
            Ok(lists(index.rows(), result.offsets, &result.rows, result.distances))
        })
    }

    /// Return one dict per component of the index.
    fn explain(&self, py: Python<'_>, radius: u32) -> PyResult<Py<PyList>> {
        let parts = self.index.about(py, |index| index.explain(radius))?;
        let list = PyList::empty(py);
        for part in parts {
            let dict = PyDict::new(py);
            let PartPlan { slots, method, built, tables, radii, probes, candidates, fair_candidates, .. } = part;
            set_items!(dict, slots, method, built, tables, radii, probes, candidates, fair_candidates);
            let PartPlan { cost, scan_cost, bytes, methods: costs, .. } = part;
            set_items!(dict, cost, scan_cost, bytes);
            let methods = PyDict::new(py);
            for (name, cost, bytes) in costs {
                let method = PyDict::new(py);
                set_items!(method, cost, bytes);
                methods.set_item(name, method)?;
            }
            set_items!(dict, methods);
            list.append(dict)?;
        }
        Ok(list.unbind())
    }
}

/// Return the distances of the rows of two arrays of `words` words per row; an array of one row is compared with all
/// rows of the other.
#[pyfunction]
fn hamming_distances(py: Python<'_>, a: Slice<u64>, b: Slice<u64>, words: usize) -> PyResult<Array<u16>> {
    if words == 0 || !a.len().is_multiple_of(words) || !b.len().is_multiple_of(words) {
        return Err(to_python(Error::parameter("words", words, "the words of a row")));
    }
    let (rows_a, rows_b) = (a.len() / words, b.len() / words);
    if rows_a != rows_b && rows_a != 1 && rows_b != 1 {
        return Err(to_python(Error::mismatch("number of rows", rows_a, rows_b)));
    }
    let distances = || popcount::distances(&a, &b, words);
    Ok(Array(if a.len().max(b.len()) < LARGE { py.detach(distances) } else { detached(py, || Ok(distances()))? }))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<HammingCore>()?;
    module.add_class::<HammingPairs>()?;
    module.add_function(wrap_pyfunction!(hamming_distances, module)?)?;
    Ok(())
}
