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

    /// Return offsets, and the added documents that share a bucket with each of `documents`.
    fn find(&self, py: Python<'_>, documents: Slice<u32>) -> PyResult<(Array<i64>, Array<i64>)> {
        check_places("documents", &documents, self.count)?;
        reading(py, &self.buckets, |buckets| buckets.find(&documents)).map(pair)
    }

    /// Return offsets, and the positions of later documents that share a bucket with each of `documents`.
    fn within(&self, py: Python<'_>, documents: Slice<u32>) -> PyResult<(Array<i64>, Array<i64>)> {
        check_places("documents", &documents, self.count)?;
        reading(py, &self.buckets, |buckets| buckets.within(&documents)).map(pair)
    }
}

register! {
    [BucketCore]
}
