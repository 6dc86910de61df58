//! `BandCore`: the banding index over values of 32 or 64 bits.

use std::path::PathBuf;
use std::sync::Arc;

use nearkin_core::Error;
use nearkin_core::families::minhash::MAX_PERM;
use nearkin_core::index::bands::{self, Index};
use nearkin_core::index::hamming::{Hits, Linkage};
use nearkin_core::index::rows::{Keys, Rows};
use nearkin_core::segment::Segment;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{FEW, FoundPairs, IdView, Ids, IndexCore, Indexed, Lists, Locked, lists, pairs_of, parse_existing};
use crate::convert::Signatures;
use crate::errors::IntoPython;
use crate::threads::detached;

/// One of the two widths.
enum Either {
    Narrow(Index<u32>),
    Wide(Index<u64>),
}

/// Run the same code on the index of either width.
macro_rules! dispatch {
    ($index:expr, $name:ident => $code:expr) => {
        match $index {
            Either::Narrow($name) => $code,
            Either::Wide($name) => $code,
        }
    };
}

impl Indexed for Either {
    fn rows(&self) -> &Rows {
        dispatch!(self, index => index.rows())
    }

    fn segment(&self) -> Option<&Segment> {
        dispatch!(self, index => index.segment())
    }

    fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> nearkin_core::Result<usize> {
        dispatch!(self, index => index.remove(ids, missing_ok))
    }

    fn verify(&self) -> nearkin_core::Result<()> {
        dispatch!(self, index => index.verify())
    }
}

/// Banding index; `nearkin.BandIndex` is the public class.
#[pyclass(frozen, extends = IndexCore, module = "nearkin._core")]
pub(crate) struct BandCore {
    index: Arc<Locked<Either>>,
}

/// Run the same code on the index and values of its width; other values are an error.
macro_rules! dispatch_both {
    ($index:expr, $values:expr, ($name:ident, $slice:ident) => $code:expr) => {
        match ($index, $values) {
            (Either::Narrow($name), Signatures::Narrow($slice)) => $code,
            (Either::Wide($name), Signatures::Wide($slice)) => $code,
            _ => Err(Error::mismatch("bits of a value", "index", "signatures")),
        }
    };
}

#[pymethods]
impl BandCore {
    #[new]
    fn new(num_perm: usize, num_bands: usize, num_rows: usize, value_bits: u32) -> PyResult<PyClassInitializer<Self>> {
        let index = if value_bits == 64 {
            Either::Wide(Index::new(num_perm, num_bands, num_rows).into_python()?)
        } else {
            Either::Narrow(Index::new(num_perm, num_bands, num_rows).into_python()?)
        };
        Ok(IndexCore::of(index, |index| Self { index }))
    }

    /// Open a saved index; also return the bits of a value, values, bands, rows, and the recipe's JSON form.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<(Py<Self>, usize, usize, usize, usize, Py<PyBytes>)> {
        let (index, bits, shape, recipe) = detached(py, || {
            let (bits, _, recipe) = bands::describe(&path)?;
            let index =
                if bits == 64 { Either::Wide(Index::open(&path)?) } else { Either::Narrow(Index::open(&path)?) };
            let shape = dispatch!(&index, index => index.shape());
            Ok((index, bits, shape, recipe))
        })?;
        let recipe = PyBytes::new(py, &recipe).unbind();
        Ok((Py::new(py, IndexCore::of(index, |index| Self { index }))?, bits, shape.0, shape.1, shape.2, recipe))
    }

    fn save(&self, py: Python<'_>, path: PathBuf, recipe: &[u8]) -> PyResult<()> {
        self.index.change(py, |index| dispatch!(index, index => index.save(&path, recipe)))
    }

    /// Kind of ids, number of distinct signatures, bytes in memory.
    fn info(&self, py: Python<'_>) -> PyResult<(&'static str, usize, usize)> {
        self.index
            .about(py, |index| Ok(dispatch!(index, index => (index.rows().kind(), index.num_items(), index.bytes()))))
    }

    /// Add signatures; without ids, row numbers are the ids.
    fn add(&self, py: Python<'_>, ids: Option<Ids<'_>>, signatures: Signatures<'_>, existing: &str) -> PyResult<usize> {
        let (existing, ids) = (parse_existing(existing)?, ids.as_ref().map(Ids::view));
        let new = IdView::new_ids(ids.as_ref());
        let few = |index: &Either| {
            let count = signatures.len() / dispatch!(index, index => index.shape().0);
            count <= FEW && dispatch!(index, index => index.adds_quickly(count))
        };
        self.index.change_unless(
            py,
            few,
            |index| dispatch_both!(index, &signatures, (index, values) => index.add(new, values, existing)),
        )
    }

    /// Return offsets, ids, distances.
    fn search(&self, py: Python<'_>, queries: Signatures<'_>, least: usize) -> PyResult<Lists<u16>> {
        // A single query takes less time than waking another thread.
        let few = |_: &Either| queries.len() <= MAX_PERM;
        self.index.query_unless(py, few, |index| {
            let hits: Hits = dispatch_both!(index, &queries, (index, values) => index.search(values, least))?;
            Ok(lists(index.rows(), hits.offsets, &hits.rows, hits.distances))
        })
    }

    /// Return left, right (ids), distances of the items from `start` to `stop`.
    fn pairs(&self, py: Python<'_>, least: usize, start: usize, stop: usize) -> PyResult<FoundPairs<u16>> {
        self.index.query(py, |index| {
            let pairs = dispatch!(index, index => index.pairs(least, start..stop)?);
            Ok(pairs_of(index.rows(), index.rows(), pairs))
        })
    }

    /// Return offsets of clusters, ids, distances to the first of each.
    fn clusters(&self, py: Python<'_>, least: usize, linkage: &str) -> PyResult<Lists<u16>> {
        let linkage = Linkage::parse(linkage).into_python()?;
        self.index.query(py, |index| {
            let result = dispatch!(index, index => index.clusters(least, linkage)?);
            Ok(lists(index.rows(), result.offsets, &result.rows, result.distances))
        })
    }
}

register! {
    [BandCore]
}
