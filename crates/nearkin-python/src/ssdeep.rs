//! Fuzzy digests: `nearkin_core::ssdeep` for Python.

use std::borrow::Cow;
use std::path::PathBuf;

use nearkin_core::Error;
use nearkin_core::ssdeep::hash::FileSource;
use nearkin_core::ssdeep::{Digest, Hasher, Options, Query, compare, compare_lenient, hash, hash_source};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use rayon::prelude::*;

use crate::errors::{IntoPython, to_python};
use crate::threads::detached;

/// Inputs shorter than this are hashed without handing the GIL around, which costs more than the hash.
const SMALL: usize = 2048;

fn options(eliminate_runs: bool, truncate: bool) -> Options {
    Options { eliminate_runs, no_truncation: !truncate }
}

/// Calls `work` with the bytes of a bytes object or of a contiguous `uint8` array.
fn with_bytes<T>(data: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> PyResult<T>) -> PyResult<T> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return work(bytes.as_bytes());
    }
    let array: PyReadonlyArray1<'_, u8> = data.extract()?;
    work(array.as_slice()?)
}

/// The bytes of a digest given as str or bytes.
pub(crate) fn digest_bytes<'a>(text: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(text) = text.cast::<PyString>() {
        // A lone surrogate has no UTF-8 form; its replacement is in no digest either.
        return Ok(match text.to_str() {
            Ok(text) => Cow::Borrowed(text.as_bytes()),
            Err(_) => Cow::Owned(text.to_string_lossy().into_owned().into_bytes()),
        });
    }
    if let Ok(bytes) = text.cast::<PyBytes>() {
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    Err(PyTypeError::new_err(format!("a digest is a str or bytes, not {}", text.get_type().name()?)))
}

fn parse(text: &[u8], strict: bool) -> nearkin_core::Result<Digest> {
    if strict { Digest::parse(text) } else { Digest::parse_lenient(text) }
}

/// All digests of an iterable; an error names the row.
pub(crate) fn parse_all(texts: &Bound<'_, PyAny>, strict: bool) -> PyResult<Vec<Digest>> {
    if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("expected an iterable of digests, found a single one; pass a list"));
    }
    let mut digests = Vec::with_capacity(texts.len().unwrap_or(0));
    for (row, text) in texts.try_iter()?.enumerate() {
        let text = text?;
        let digest = parse(&digest_bytes(&text)?, strict).map_err(|error| match error {
            Error::Input { place, reason } => Error::Input { place: format!("row {row}, {place}"), reason },
            other => other,
        });
        digests.push(digest.into_python()?);
    }
    Ok(digests)
}

#[pyfunction]
fn ssdeep_hash(py: Python<'_>, data: &Bound<'_, PyAny>, eliminate_runs: bool, truncate: bool) -> PyResult<String> {
    let options = options(eliminate_runs, truncate);
    with_bytes(data, |bytes| {
        if bytes.len() < SMALL { hash(bytes, options) } else { py.detach(|| hash(bytes, options)) }.into_python()
    })
}

/// One digest or exception a path, in order.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "arguments that are converted from Python are owned")]
fn ssdeep_hash_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    eliminate_runs: bool,
    truncate: bool,
) -> PyResult<Vec<(Option<String>, Option<PyErr>)>> {
    let options = options(eliminate_runs, truncate);
    let digests: Vec<nearkin_core::Result<String>> =
        detached(py, || paths.par_iter().map(|path| hash_source(&mut FileSource::open(path)?, options)).collect())?;
    Ok(digests
        .into_iter()
        .map(|digest| match digest {
            Ok(digest) => (Some(digest), None),
            Err(error) => (None, Some(to_python(error))),
        })
        .collect())
}

#[pyclass(name = "SsdeepHasher", module = "nearkin._core")]
struct PyHasher {
    hasher: Hasher,
}

#[pymethods]
impl PyHasher {
    #[new]
    fn new() -> Self {
        Self { hasher: Hasher::new() }
    }

    #[getter]
    fn total(&self) -> u64 {
        self.hasher.total()
    }

    fn update(&mut self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let hasher = &mut self.hasher;
        with_bytes(data, |bytes| {
            if bytes.len() < SMALL {
                hasher.update(bytes);
            } else {
                py.detach(|| hasher.update(bytes));
            }
            Ok(())
        })
    }

    fn copy(&self) -> Self {
        Self { hasher: self.hasher.clone() }
    }

    fn digest(&self, eliminate_runs: bool, truncate: bool) -> PyResult<String> {
        self.hasher.digest(options(eliminate_runs, truncate)).into_python()
    }
}

#[pyfunction]
fn ssdeep_compare(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>, strict: bool) -> PyResult<u32> {
    let (left, right) = (digest_bytes(left)?, digest_bytes(right)?);
    if strict {
        Ok(compare(&Digest::parse(&left).into_python()?, &Digest::parse(&right).into_python()?))
    } else {
        compare_lenient(&left, &right).into_python()
    }
}

#[pyfunction]
fn ssdeep_compare_many<'py>(
    py: Python<'py>,
    query: &Bound<'py, PyAny>,
    digests: &Bound<'py, PyAny>,
    strict: bool,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let query = Query::new(&parse(&digest_bytes(query)?, strict).into_python()?);
    let digests = parse_all(digests, strict)?;
    let scores =
        detached(py, || digests.par_iter().with_min_len(4096).map(|digest| query.score(digest) as u8).collect())?;
    Ok(PyArray1::from_vec(py, scores))
}

#[pyfunction]
fn ssdeep_matrix<'py>(
    py: Python<'py>,
    left: &Bound<'py, PyAny>,
    right: Option<&Bound<'py, PyAny>>,
    strict: bool,
) -> PyResult<Bound<'py, PyArray2<u8>>> {
    let left = parse_all(left, strict)?;
    let right = right.map(|right| parse_all(right, strict)).transpose()?;
    let right = right.as_ref().unwrap_or(&left);
    let (rows, columns) = (left.len(), right.len());
    let scores = detached(py, || {
        let mut scores = vec![0u8; rows * columns];
        if columns > 0 {
            scores.par_chunks_mut(columns).zip(&left).for_each(|(row, digest)| {
                let query = Query::new(digest);
                for (score, other) in row.iter_mut().zip(right) {
                    *score = query.score(other) as u8;
                }
            });
        }
        scores
    })?;
    PyArray1::from_vec(py, scores).reshape([rows, columns])
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyHasher>()?;
    module.add_function(wrap_pyfunction!(ssdeep_hash, module)?)?;
    module.add_function(wrap_pyfunction!(ssdeep_hash_files, module)?)?;
    module.add_function(wrap_pyfunction!(ssdeep_compare, module)?)?;
    module.add_function(wrap_pyfunction!(ssdeep_compare_many, module)?)?;
    module.add_function(wrap_pyfunction!(ssdeep_matrix, module)?)?;
    Ok(())
}
