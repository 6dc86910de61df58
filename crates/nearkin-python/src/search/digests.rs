//! `DigestCore`: the exact index of digests behind a lock, arrays in and out.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned by the call")]

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use nearkin_core::Error;
use nearkin_core::search::digests::file::{self, About};
use nearkin_core::search::digests::{Index, Limit, Linkage};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{IntoPython, to_python};
use crate::ssdeep::parse_all;
use crate::threads::{detached, detached_with};

/// Exact index of digests; `nearkin.DigestIndex` is its face and owns the ids.
#[pyclass(frozen, module = "nearkin._core")]
struct DigestCore {
    index: RwLock<Index>,
}

type Decoded<'py> = (DigestCore, u16, bool, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);
type Slots = Py<PyArray1<u32>>;
type Scores = Py<PyArray1<u8>>;

impl DigestCore {
    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` with the index to change, in the pool.
    fn change<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Index) -> T + Send) -> PyResult<T> {
        let lock = || self.index.write().unwrap_or_else(PoisonError::into_inner);
        detached_with(py, lock, |pool, mut index| {
            let index: &mut Index = &mut index;
            pool.install(|| work(index))
        })
    }

    /// Calls `work` with the index to read, in the pool.
    fn ask<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Index) -> T + Send) -> PyResult<T> {
        detached_with(
            py,
            || self.read(),
            |pool, index| {
                let index: &Index = &index;
                pool.install(|| work(index))
            },
        )
    }
}

fn limit(threshold: u32, skip_hubs: Option<usize>) -> PyResult<Limit> {
    Limit { threshold, skip_hubs }.checked().into_python()
}

#[pymethods]
impl DigestCore {
    #[new]
    fn new() -> Self {
        Self { index: RwLock::new(Index::new()) }
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.read().len())
    }

    fn slots(&self, py: Python<'_>) -> usize {
        py.detach(|| self.read().slots())
    }

    fn nbytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.read().bytes())
    }

    fn digest(&self, py: Python<'_>, slot: u32) -> Option<String> {
        py.detach(|| self.read().get(slot).map(|digest| String::from_utf8_lossy(&digest.to_text()).into_owned()))
    }

    /// Adds digests; returns the first one's slot.
    fn add(&self, py: Python<'_>, digests: &Bound<'_, PyAny>, strict: bool) -> PyResult<u32> {
        let digests = parse_all(digests, strict)?;
        self.change(py, |index| index.add(&digests))?.into_python()
    }

    fn remove(&self, py: Python<'_>, slots: PyReadonlyArray1<'_, u32>) -> PyResult<()> {
        let slots = slots.as_slice()?;
        self.change(py, |index| {
            for &slot in slots {
                index.remove(slot);
            }
        })
    }

    fn search(
        &self,
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        strict: bool,
        threshold: u32,
        skip_hubs: Option<usize>,
    ) -> PyResult<(Py<PyArray1<i64>>, Slots, Scores, usize)> {
        let limit = limit(threshold, skip_hubs)?;
        let queries = parse_all(queries, strict)?;
        let found = self.ask(py, |index| index.search_many(&queries, limit))?;
        let mut offsets = vec![0i64];
        let (mut slots, mut scores, mut skipped) = (Vec::new(), Vec::new(), 0);
        for (hits, keys) in found {
            slots.extend(hits.iter().map(|hit| hit.slot));
            scores.extend(hits.iter().map(|hit| hit.score));
            offsets.push(slots.len() as i64);
            skipped += keys;
        }
        Ok((
            offsets.into_pyarray(py).unbind(),
            slots.into_pyarray(py).unbind(),
            scores.into_pyarray(py).unbind(),
            skipped,
        ))
    }

    fn pairs(
        &self,
        py: Python<'_>,
        threshold: u32,
        skip_hubs: Option<usize>,
    ) -> PyResult<(Slots, Slots, Scores, usize)> {
        let limit = limit(threshold, skip_hubs)?;
        let (left, right, scores, skipped) = self.ask(py, |index| {
            let (pairs, skipped) = index.pairs(limit);
            let left: Vec<u32> = pairs.iter().map(|pair| pair.left).collect();
            let right: Vec<u32> = pairs.iter().map(|pair| pair.right).collect();
            let scores: Vec<u8> = pairs.iter().map(|pair| pair.score).collect();
            (left, right, scores, skipped)
        })?;
        Ok((left.into_pyarray(py).unbind(), right.into_pyarray(py).unbind(), scores.into_pyarray(py).unbind(), skipped))
    }

    /// The first slot of each slot's cluster.
    fn clusters(
        &self,
        py: Python<'_>,
        threshold: u32,
        linkage: &str,
        skip_hubs: Option<usize>,
    ) -> PyResult<(Slots, usize)> {
        let limit = limit(threshold, skip_hubs)?;
        let linkage = match linkage {
            "connected" => Linkage::Connected,
            "centred" => Linkage::Centred,
            _ => {
                let found = format!("{linkage:?}");
                return Err(to_python(Error::parameter("linkage", found, "\"connected\" or \"centred\"")));
            }
        };
        let (first, skipped) = self.ask(py, |index| index.clusters(limit, linkage))?;
        Ok((first.into_pyarray(py).unbind(), skipped))
    }

    /// The bytes of a file that holds the index and `ids`.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        kind: u16,
        lenient: bool,
        ids: &[u8],
        recipe: &[u8],
        compact: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let about = About { kind, lenient, ids: ids.to_vec(), recipe: Some(recipe.to_vec()) };
        let bytes = self.ask(py, |index| file::encode(index, &about, compact))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The index that `bytes` hold, kind of ids, whether digests were read leniently, the ids, and the recipe's JSON
    /// form (None from version 1).
    #[staticmethod]
    fn decode<'py>(py: Python<'py>, bytes: &[u8], place: &str) -> PyResult<Decoded<'py>> {
        let (index, about) = detached(py, || file::decode(bytes, place))?.into_python()?;
        let recipe = about.recipe.map(|recipe| PyBytes::new(py, &recipe));
        Ok((Self { index: RwLock::new(index) }, about.kind, about.lenient, PyBytes::new(py, &about.ids), recipe))
    }

    /// Block size, seven characters and count of digests, most frequent first.
    fn hubs(&self, py: Python<'_>, least: usize, most: usize) -> PyResult<Vec<(u64, String, usize)>> {
        let hubs = self.ask(py, |index| index.hubs(least, most))?;
        Ok(hubs
            .into_iter()
            .map(|hub| (hub.block_size, String::from_utf8_lossy(&hub.gram).into_owned(), hub.count))
            .collect())
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DigestCore>()
}
