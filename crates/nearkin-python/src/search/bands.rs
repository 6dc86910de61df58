//! `BandCore`: the banding index over values of 32 or 64 bits.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned by the call")]

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use nearkin_core::Error;
use nearkin_core::search::bands::{self, Index};
use nearkin_core::search::hamming::{Existing, Hits, NewIds, Pairs};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::{guarded, parse_existing};
use crate::errors::IntoPython;
use crate::threads::detached_with;

/// One of the two widths.
enum Either {
    Narrow(Index<u32>),
    Wide(Index<u64>),
}

/// Calls the same code on the index of either width.
macro_rules! with {
    ($index:expr, $name:ident => $code:expr) => {
        match $index {
            Either::Narrow($name) => $code,
            Either::Wide($name) => $code,
        }
    };
}

/// Banding index; `nearkin.BandIndex` is its face.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct BandCore {
    index: RwLock<Either>,
}

type Int64s = Py<PyArray1<i64>>;
type Found = (Int64s, Int64s, Py<PyArray1<u16>>);

/// Signatures of one of two widths.
enum Signatures<'py> {
    Narrow(PyReadonlyArray1<'py, u32>),
    Wide(PyReadonlyArray1<'py, u64>),
}

impl<'py> Signatures<'py> {
    fn new(values: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(match values.extract() {
            Ok(narrow) => Self::Narrow(narrow),
            Err(_) => Self::Wide(values.extract()?),
        })
    }

    fn slices(&self) -> PyResult<Slices<'_>> {
        Ok(match self {
            Self::Narrow(values) => Slices::Narrow(values.as_slice()?),
            Self::Wide(values) => Slices::Wide(values.as_slice()?),
        })
    }
}

#[derive(Clone, Copy)]
enum Slices<'a> {
    Narrow(&'a [u32]),
    Wide(&'a [u64]),
}

fn other_width() -> Error {
    Error::mismatch("bits of a value", "index", "signatures")
}

impl BandCore {
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Either) -> nearkin_core::Result<T> + Send,
    ) -> PyResult<T> {
        detached_with(
            py,
            || self.index.write().unwrap_or_else(PoisonError::into_inner),
            |pool, mut index| {
                let index: &mut Either = &mut index;
                let mapped = with!(&*index, index => index.is_mapped());
                pool.install(|| guarded(mapped, || work(index)))
            },
        )?
        .into_python()
    }

    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Either) -> nearkin_core::Result<T> + Send,
    ) -> PyResult<T> {
        detached_with(
            py,
            || self.index.read().unwrap_or_else(PoisonError::into_inner),
            |pool, index| {
                let index: &Either = &index;
                pool.install(|| guarded(with!(index, index => index.is_mapped()), || work(index)))
            },
        )?
        .into_python()
    }

    fn add(
        &self,
        py: Python<'_>,
        ids: NewIds<'_>,
        signatures: &Bound<'_, PyAny>,
        existing: Existing,
    ) -> PyResult<usize> {
        let signatures = Signatures::new(signatures)?;
        let slices = signatures.slices()?;
        self.change(py, |index| match (index, slices) {
            (Either::Narrow(index), Slices::Narrow(values)) => index.add(ids, values, existing),
            (Either::Wide(index), Slices::Wide(values)) => index.add(ids, values, existing),
            _ => Err(other_width()),
        })
    }
}

#[pymethods]
impl BandCore {
    #[new]
    fn new(num_perm: usize, num_bands: usize, num_rows: usize, value_bits: u32) -> PyResult<Self> {
        let index = if value_bits == 64 {
            Either::Wide(Index::new(num_perm, num_bands, num_rows).into_python()?)
        } else {
            Either::Narrow(Index::new(num_perm, num_bands, num_rows).into_python()?)
        };
        Ok(Self { index: RwLock::new(index) })
    }

    /// Opens a saved index; also bits of a value, values, bands, rows, and the recipe's JSON form.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<(Self, usize, usize, usize, usize, Py<PyBytes>)> {
        let (index, bits, shape, recipe) = py
            .detach(|| {
                let (bits, _, recipe) = bands::describe(&path)?;
                let index =
                    if bits == 64 { Either::Wide(Index::open(&path)?) } else { Either::Narrow(Index::open(&path)?) };
                let shape = with!(&index, index => index.shape());
                Ok((index, bits, shape, recipe))
            })
            .into_python()?;
        let recipe = PyBytes::new(py, &recipe).unbind();
        Ok((Self { index: RwLock::new(index) }, bits, shape.0, shape.1, shape.2, recipe))
    }

    fn save(&self, py: Python<'_>, path: PathBuf, recipe: &[u8]) -> PyResult<()> {
        self.change(py, |index| with!(index, index => index.save(&path, recipe)))
    }

    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |index| with!(index, index => index.verify()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, |index| Ok(with!(index, index => index.len())))
    }

    /// Kind of ids, different signatures, bytes in memory.
    fn info(&self, py: Python<'_>) -> PyResult<(&'static str, usize, usize)> {
        self.ask(py, |index| Ok(with!(index, index => (index.id_kind(), index.num_items(), index.bytes()))))
    }

    fn contains_int(&self, py: Python<'_>, key: i64) -> PyResult<bool> {
        self.ask(py, |index| Ok(with!(index, index => index.contains_int(key))))
    }

    fn contains_name(&self, py: Python<'_>, key: &str) -> PyResult<bool> {
        self.ask(py, |index| Ok(with!(index, index => index.contains_name(key))))
    }

    fn add_rows(&self, py: Python<'_>, signatures: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.add(py, NewIds::Rows, signatures, Existing::Error)
    }

    fn add_ints(
        &self,
        py: Python<'_>,
        ids: PyReadonlyArray1<'_, i64>,
        signatures: &Bound<'_, PyAny>,
        existing: &str,
    ) -> PyResult<usize> {
        self.add(py, NewIds::Ints(ids.as_slice()?), signatures, parse_existing(existing)?)
    }

    fn add_names(
        &self,
        py: Python<'_>,
        ids: Vec<String>,
        signatures: &Bound<'_, PyAny>,
        existing: &str,
    ) -> PyResult<usize> {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.add(py, NewIds::Names(&ids), signatures, parse_existing(existing)?)
    }

    fn remove_ints(&self, py: Python<'_>, ids: PyReadonlyArray1<'_, i64>, missing_ok: bool) -> PyResult<usize> {
        let ids = ids.as_slice()?;
        self.change(py, |index| with!(index, index => index.remove_ints(ids, missing_ok)))
    }

    fn remove_names(&self, py: Python<'_>, ids: Vec<String>, missing_ok: bool) -> PyResult<usize> {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.change(py, |index| with!(index, index => index.remove_names(&ids, missing_ok)))
    }

    /// offsets, ids (or rows where ids are strings), distances.
    fn search(&self, py: Python<'_>, queries: &Bound<'_, PyAny>, least: usize) -> PyResult<Found> {
        let queries = Signatures::new(queries)?;
        let slices = queries.slices()?;
        let (hits, ids) = self.ask(py, |index| {
            let hits: Hits = match (index, slices) {
                (Either::Narrow(index), Slices::Narrow(values)) => index.search(values, least)?,
                (Either::Wide(index), Slices::Wide(values)) => index.search(values, least)?,
                _ => return Err(other_width()),
            };
            let ids: Vec<i64> = with!(index, index => hits.rows.iter().map(|&row| index.int_id(row)).collect());
            Ok((hits, ids))
        })?;
        Ok((
            hits.offsets.into_pyarray(py).unbind(),
            ids.into_pyarray(py).unbind(),
            hits.distances.into_pyarray(py).unbind(),
        ))
    }

    /// left, right (ids, or rows where ids are strings), distances; of the items from `start` to `stop`.
    fn pairs(&self, py: Python<'_>, least: usize, start: usize, stop: usize) -> PyResult<Found> {
        let (left, right, distances) = self.ask(py, |index| {
            let Pairs { left, right, distances } = with!(index, index => index.pairs(least, start..stop));
            let ids = |rows: Vec<u32>| -> Vec<i64> {
                with!(index, index => rows.into_iter().map(|row| index.int_id(row)).collect())
            };
            Ok((ids(left), ids(right), distances))
        })?;
        Ok((left.into_pyarray(py).unbind(), right.into_pyarray(py).unbind(), distances.into_pyarray(py).unbind()))
    }

    /// String ids of rows.
    fn names(&self, py: Python<'_>, rows: PyReadonlyArray1<'_, i64>) -> PyResult<Py<PyList>> {
        let rows = rows.as_slice()?;
        let names: Vec<String> = self.ask(py, |index| {
            let name = |&row: &i64| with!(index, index => index.string_id(row as u32).unwrap_or_default().to_owned());
            Ok(rows.iter().map(name).collect())
        })?;
        Ok(PyList::new(py, names)?.unbind())
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<BandCore>()?;
    Ok(())
}
