//! What a store keeps on disk: `StoreSegment`, a file of documents, and single compressed texts for its log.
//!
//! A file does not change while it is open, so there is no lock: readers share it, in a forked child too.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned by the call")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use nearkin_core::segment::caught;
use nearkin_core::store::{self, Documents, Id, IdColumn};
use nearkin_core::text::tokenizer::TextSource;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString};

use crate::convert::texts::Texts;
use crate::errors::IntoPython;
use crate::threads::detached;

type Array<T> = Py<PyArray1<T>>;

/// Questions, or texts, that the calling thread answers by itself: waking the pool takes as long.
const FEW: usize = 256;
/// Texts among them that the calling thread decompresses by itself.
const FEW_TEXTS: usize = 4;

/// Ids as Python gives them.
#[derive(FromPyObject)]
enum Ids<'py> {
    Ints(PyReadonlyArray1<'py, i64>),
    Names(Vec<PyBackedStr>),
    Mixed(Vec<Key>),
}

#[derive(FromPyObject)]
enum Key {
    Int(i64),
    Name(PyBackedStr),
}

/// The same without Python.
enum IdView<'a> {
    Ints(&'a [i64]),
    Names(Vec<&'a str>),
    Mixed(Vec<Id<'a>>),
}

impl Ids<'_> {
    fn view(&self) -> PyResult<IdView<'_>> {
        Ok(match self {
            Self::Ints(ids) => IdView::Ints(ids.as_slice()?),
            Self::Names(ids) => IdView::Names(ids.iter().map(|id| &**id).collect()),
            Self::Mixed(ids) => IdView::Mixed(
                ids.iter()
                    .map(|id| match id {
                        Key::Int(id) => Id::Int(*id),
                        Key::Name(id) => Id::Name(id),
                    })
                    .collect(),
            ),
        })
    }
}

impl IdView<'_> {
    fn column(&self) -> IdColumn<'_> {
        match self {
            Self::Ints(ids) => IdColumn::Ints(ids),
            Self::Names(ids) => IdColumn::Names(ids),
            Self::Mixed(ids) => IdColumn::Mixed(ids),
        }
    }
}

/// An id that is given back.
#[derive(IntoPyObject)]
enum Given {
    Int(i64),
    Name(String),
}

/// Documents of a store in a file.
#[pyclass(frozen, module = "nearkin._core")]
struct StoreSegment(store::StoreSegment);

impl StoreSegment {
    /// Calls `work` with the file: in the pool where that is `worth` it, by the calling thread otherwise.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        worth: bool,
        work: impl FnOnce(&store::StoreSegment) -> nearkin_core::Result<T> + Send,
    ) -> PyResult<T> {
        let work = || caught(Some(self.0.segment()), || work(&self.0));
        let found = if worth { detached(py, work)? } else { py.detach(work) };
        found.into_python()
    }
}

#[pymethods]
impl StoreSegment {
    /// Writes documents, in order of their rows.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "one for each part of the file")]
    fn write(
        py: Python<'_>,
        path: PathBuf,
        rows: PyReadonlyArray1<'_, i64>,
        ids: Ids<'_>,
        contents: PyReadonlyArray1<'_, u64>,
        records: PyReadonlyArray1<'_, u8>,
        width: usize,
        extras: Option<Vec<PyBackedBytes>>,
        texts: Option<&Bound<'_, PyAny>>,
        note: &[u8],
        level: i32,
    ) -> PyResult<()> {
        let ids = ids.view()?;
        let extras: Option<Vec<&[u8]>> = extras.as_ref().map(|extras| extras.iter().map(|extra| &**extra).collect());
        let texts = texts.map(Texts::new).transpose()?;
        let documents = Documents {
            rows: rows.as_slice()?,
            ids: ids.column(),
            contents: contents.as_slice()?,
            records: records.as_slice()?,
            width,
            extras: extras.as_deref(),
            texts: texts.as_ref().map(|texts| texts as &dyn TextSource),
        };
        detached(py, || store::write(&path, &documents, note, level))?.into_python()
    }

    /// Opens a file; what it holds is read when it is asked for.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| store::StoreSegment::open(&path)).map(Self).into_python()
    }

    /// What the writer said of it.
    fn note(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        let note = self.ask(py, false, store::StoreSegment::note)?;
        Ok(PyBytes::new(py, &note).unbind())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Bytes on disk of each part; texts that are kept and their bytes before compression.
    fn sizes(&self) -> BTreeMap<&'static str, u64> {
        self.0.sizes().into_iter().collect()
    }

    /// Rows of the places from `start` to `stop`.
    fn rows(&self, py: Python<'_>, start: usize, stop: usize) -> PyResult<Array<i64>> {
        let rows = self.ask(py, false, |segment| segment.rows(start, stop))?;
        Ok(rows.into_pyarray(py).unbind())
    }

    /// The place of each row, or -1.
    fn places(&self, py: Python<'_>, rows: PyReadonlyArray1<'_, i64>) -> PyResult<Array<i64>> {
        let rows = rows.as_slice()?;
        let places = self.ask(py, false, |segment| segment.places(rows))?;
        Ok(places.into_pyarray(py).unbind())
    }

    /// offsets, and the rows that have each content.
    fn find_contents(&self, py: Python<'_>, contents: PyReadonlyArray1<'_, u64>) -> PyResult<(Array<i64>, Array<i64>)> {
        let contents = contents.as_slice()?;
        let (offsets, rows) = self.ask(py, contents.len() > 2 * FEW, |segment| segment.find_contents(contents))?;
        Ok((offsets.into_pyarray(py).unbind(), rows.into_pyarray(py).unbind()))
    }

    /// offsets, and the rows that have each id.
    fn find_ids(&self, py: Python<'_>, ids: Ids<'_>) -> PyResult<(Array<i64>, Array<i64>)> {
        let ids = ids.view()?;
        let column = ids.column();
        let (offsets, rows) = self.ask(py, column.len() > FEW, |segment| segment.find_ids(column))?;
        Ok((offsets.into_pyarray(py).unbind(), rows.into_pyarray(py).unbind()))
    }

    /// The records at places.
    fn records(&self, py: Python<'_>, places: PyReadonlyArray1<'_, i64>) -> PyResult<Array<u8>> {
        let places = places.as_slice()?;
        let records = self.ask(py, false, |segment| segment.records(places))?;
        Ok(records.into_pyarray(py).unbind())
    }

    /// The contents at places.
    fn contents(&self, py: Python<'_>, places: PyReadonlyArray1<'_, i64>) -> PyResult<Array<u64>> {
        let places = places.as_slice()?;
        let contents = self.ask(py, false, |segment| segment.contents(places))?;
        Ok(contents.into_pyarray(py).unbind())
    }

    /// The ids at places: an array of integers, or of objects.
    fn ids(&self, py: Python<'_>, places: PyReadonlyArray1<'_, i64>) -> PyResult<Py<PyAny>> {
        let places = places.as_slice()?;
        let ids: Vec<Given> = self.ask(py, false, |segment| {
            let given = |id| match id {
                Id::Int(id) => Given::Int(id),
                Id::Name(id) => Given::Name(id.to_owned()),
            };
            Ok(segment.ids(places)?.into_iter().map(given).collect())
        })?;
        if self.0.has_int_ids() {
            let ints = ids.into_iter().filter_map(|id| if let Given::Int(id) = id { Some(id) } else { None });
            return Ok(ints.collect::<Vec<i64>>().into_pyarray(py).into_any().unbind());
        }
        let objects: Vec<Py<PyAny>> =
            ids.into_iter().map(|id| Ok(id.into_pyobject(py)?.unbind())).collect::<PyResult<_>>()?;
        Ok(objects.into_pyarray(py).into_any().unbind())
    }

    /// The byte strings at places.
    fn extras(&self, py: Python<'_>, places: PyReadonlyArray1<'_, i64>) -> PyResult<Py<PyList>> {
        let places = places.as_slice()?;
        let extras: Vec<Vec<u8>> =
            self.ask(py, false, |segment| Ok(segment.extras(places)?.into_iter().map(<[u8]>::to_vec).collect()))?;
        Ok(PyList::new(py, extras.iter().map(|extra| PyBytes::new(py, extra)))?.unbind())
    }

    /// The texts at places.
    fn texts(&self, py: Python<'_>, places: PyReadonlyArray1<'_, i64>) -> PyResult<Py<PyList>> {
        let places = places.as_slice()?;
        let texts = self.ask(py, places.len() > FEW_TEXTS, |segment| segment.texts(places))?;
        list(py, &texts)
    }

    /// Reads everything.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, true, store::StoreSegment::verify)
    }
}

/// Strings and None, as Python has them.
fn list(py: Python<'_>, texts: &[Option<String>]) -> PyResult<Py<PyList>> {
    Ok(PyList::new(py, texts.iter().map(|text| text.as_ref().map(|text| PyString::new(py, text))))?.unbind())
}

/// Every text compressed by itself.
#[pyfunction]
fn store_compress(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    level: i32,
    dictionary: Option<&[u8]>,
) -> PyResult<Py<PyList>> {
    let texts = Texts::new(texts)?;
    let work = || store::compress(&texts, level, dictionary.unwrap_or_default());
    let found = if texts.len() > FEW_TEXTS { detached(py, work)? } else { py.detach(work) };
    let frames = found.into_python()?;
    Ok(PyList::new(py, frames.iter().map(|frame| frame.as_ref().map(|frame| PyBytes::new(py, frame))))?.unbind())
}

/// The texts of what `store_compress` made.
#[pyfunction]
fn store_decompress(
    py: Python<'_>,
    blobs: Vec<Option<PyBackedBytes>>,
    dictionary: Option<&[u8]>,
) -> PyResult<Py<PyList>> {
    let frames: Vec<Option<&[u8]>> = blobs.iter().map(Option::as_deref).collect();
    let work = || store::decompress(&frames, dictionary.unwrap_or_default());
    let found = if frames.len() > FEW_TEXTS { detached(py, work)? } else { py.detach(work) };
    list(py, &found.into_python()?)
}

/// A dictionary learned from texts.
#[pyfunction]
fn store_train(py: Python<'_>, texts: &Bound<'_, PyAny>, size: usize) -> PyResult<Py<PyBytes>> {
    let texts = Texts::new(texts)?;
    let dictionary = detached(py, || store::train(&texts, size))?.into_python()?;
    Ok(PyBytes::new(py, &dictionary).unbind())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<StoreSegment>()?;
    module.add_function(wrap_pyfunction!(store_compress, module)?)?;
    module.add_function(wrap_pyfunction!(store_decompress, module)?)?;
    module.add_function(wrap_pyfunction!(store_train, module)?)
}
