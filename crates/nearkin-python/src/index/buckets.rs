//! `BucketCore`: documents by the keys of their bands.

use nearkin_core::index::buckets::Buckets;
use pyo3::prelude::*;

use crate::convert::{Array, Slice, check_places, pair};
use crate::locks::Lock;
use crate::threads::{detached, reading, writing};

/// Buckets of documents that share the key of a band; documents have numbers from 0.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct BucketCore {
    count: usize,
    buckets: Lock<Buckets>,
}

type Lists = (Array<i64>, Array<i64>);

#[pymethods]
impl BucketCore {
    #[new]
    fn new(py: Python<'_>, keys: Slice<u64>, width: usize, bands: usize, rows: Slice<i64>) -> PyResult<Self> {
        let buckets = detached(py, || Buckets::new(&keys, width, bands, &rows))?;
        Ok(Self { count: buckets.len(), buckets: Lock::new(buckets) })
    }

    /// Add these documents, each of them once.
    fn add(&self, py: Python<'_>, documents: Slice<u32>) -> PyResult<()> {
        check_places("documents", &documents, self.count)?;
        writing(py, &self.buckets, true, |buckets| {
            buckets.add(&documents);
            Ok(())
        })
    }

    /// Return offsets, and the added documents that share a bucket with each of `documents`, and whose bits differ in at
    /// most `max_distance` places.
    #[pyo3(signature = (documents, max_distance=None))]
    fn find(&self, py: Python<'_>, documents: Slice<u32>, max_distance: Option<u32>) -> PyResult<Lists> {
        check_places("documents", &documents, self.count)?;
        reading(py, &self.buckets, |buckets| buckets.find(&documents, max_distance)).map(pair)
    }

    /// Return offsets, and the positions of such documents after each of `documents`.
    #[pyo3(signature = (documents, max_distance=None))]
    fn within(&self, py: Python<'_>, documents: Slice<u32>, max_distance: Option<u32>) -> PyResult<Lists> {
        check_places("documents", &documents, self.count)?;
        reading(py, &self.buckets, |buckets| buckets.within(&documents, max_distance)).map(pair)
    }
}

register! {
    [BucketCore]
}
