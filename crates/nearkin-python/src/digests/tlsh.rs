//! Python bindings of `nearkin_core::digests::tlsh`.

use std::path::PathBuf;

use nearkin_core::cancel::CancelToken;
use nearkin_core::digests::tlsh::hash::Options;
use nearkin_core::digests::tlsh::tiles::{Body, Tiles};
use nearkin_core::digests::tlsh::{Digest, Form, Hasher, hash, hash_file, hash_file_and_content};
use nearkin_core::parallel::prelude::*;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use super::{
    HashedFile, Outcome, PARSED_TOGETHER, Spelled, digest_bytes, each_file, hash_bytes, hashed, name_row, update_hasher,
};
use crate::errors::{IntoPython, to_python};
use crate::locks::Lock;
use crate::threads::detached;

/// Buckets, bytes of the checksum, and whether the conservative rule applies.
type Rules = (usize, usize, bool);

fn options((buckets, checksum, conservative): Rules) -> PyResult<Options> {
    Ok(Options { form: Form::new(buckets, checksum).into_python()?, conservative })
}

/// Parse the digests of an iterable, or of an Arrow column of strings.
pub(crate) fn parse_all(texts: &Bound<'_, PyAny>) -> PyResult<Vec<Digest>> {
    Spelled::new(texts)?.parse(texts.py(), Digest::parse)
}

#[pyfunction]
fn tlsh_hash(data: &Bound<'_, PyAny>, rules: Rules) -> PyResult<String> {
    let options = options(rules)?;
    hash_bytes(data, |bytes| Ok(hash(bytes, options)?.to_text()))
}

#[pyfunction]
fn tlsh_hash_file(py: Python<'_>, path: PathBuf, rules: Rules) -> PyResult<String> {
    let options = options(rules)?;
    Ok(detached(py, || hash_file(&path, options))?.to_text())
}

/// Return one digest or exception per path, in order.
#[pyfunction]
fn tlsh_hash_files(py: Python<'_>, paths: Vec<PathBuf>, rules: Rules) -> PyResult<Vec<Outcome<String>>> {
    let options = options(rules)?;
    each_file(py, &paths, |path| Ok(hash_file(path, options)?.to_text()))
}

/// Return the digest, upper and lower half of the content hash, and length of each file, or its exception, in order.
#[pyfunction]
fn tlsh_hash_contents(py: Python<'_>, paths: Vec<PathBuf>, rules: Rules) -> PyResult<Vec<HashedFile>> {
    let options = options(rules)?;
    each_file(py, &paths, |path| hash_file_and_content(path, options).map(hashed))
}

#[pyclass(frozen, name = "TlshHasher", module = "nearkin._core")]
struct PyHasher {
    // The GIL must be released while waiting, because its owner handles signals.
    hasher: Lock<Hasher>,
}

#[pymethods]
impl PyHasher {
    #[new]
    fn new(rules: Rules) -> PyResult<Self> {
        Ok(Self { hasher: Lock::new(Hasher::new(options(rules)?)) })
    }

    #[getter]
    fn total(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| Ok(self.hasher.read()?.total())).into_python()
    }

    fn update(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        update_hasher(py, &self.hasher, data, Hasher::update, Hasher::update_all)
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let hasher = py.detach(|| Ok(self.hasher.read()?.clone())).into_python()?;
        Ok(Self { hasher: Lock::new(hasher) })
    }

    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| self.hasher.read()?.digest()).into_python()?.to_text())
    }
}

/// Parse two digests of one form.
fn parse_two(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<(Digest, Digest)> {
    let left = Digest::parse(&digest_bytes(left)?).into_python()?;
    let right = Digest::parse(&digest_bytes(right)?).into_python()?;
    left.form().check_same(right.form()).into_python()?;
    Ok((left, right))
}

#[pyfunction]
fn tlsh_distance(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>, length: bool) -> PyResult<u16> {
    let (left, right) = parse_two(left, right)?;
    Ok(left.distance(&right, length))
}

#[pyfunction]
fn tlsh_distance_many<'py>(
    py: Python<'py>,
    query: &Bound<'py, PyAny>,
    digests: &Bound<'py, PyAny>,
    length: bool,
) -> PyResult<Bound<'py, PyArray1<u16>>> {
    let query = Digest::parse(&digest_bytes(query)?).into_python()?;
    let spelled = Spelled::new(digests)?;
    let distances = spelled.parse(py, |text| {
        let digest = Digest::parse(text)?;
        query.form().check_same(digest.form())?;
        Ok(query.distance(&digest, length))
    })?;
    Ok(PyArray1::from_vec(py, distances))
}

#[pyfunction]
fn tlsh_matrix<'py>(
    py: Python<'py>,
    left: &Bound<'py, PyAny>,
    right: Option<&Bound<'py, PyAny>>,
    length: bool,
) -> PyResult<Bound<'py, PyArray2<u16>>> {
    let left = parse_all(left)?;
    let right = right.map(parse_all).transpose()?;
    let right = right.as_ref().unwrap_or(&left);
    let (rows, columns) = (left.len(), right.len());
    let form = left.iter().chain(right).next().map(Digest::form).unwrap_or_default();
    for (row, digest) in left.iter().enumerate().chain(right.iter().enumerate()) {
        form.check_same(digest.form()).map_err(|error| to_python(name_row(row, error)))?;
    }
    let distances = detached(py, || {
        let stop = CancelToken::current();
        let tiles = Tiles::new(form, right.iter().copied(), &stop)?;
        let mut distances = nearkin_core::alloc::try_zeroed(rows * columns)?;
        if columns > 0 {
            distances.par_chunks_mut(columns).zip(&left).for_each(|(row, digest)| {
                for (columns, (row, others)) in
                    row.chunks_mut(PARSED_TOGETHER).zip(right.chunks(PARSED_TOGETHER)).enumerate()
                {
                    if !stop.is_set() {
                        tiles.distances(&Body::new(digest), columns * PARSED_TOGETHER, row);
                        for (distance, other) in row.iter_mut().zip(others) {
                            *distance += digest.header_distance(other, length);
                        }
                    }
                }
            });
        }
        stop.check()?;
        Ok(distances)
    })?;
    PyArray1::from_vec(py, distances).reshape([rows, columns])
}

/// The distance, its parts (length, first and second ratio, checksum, body) and the symbols of both digests.
type Explained = (u16, [u16; 5], Vec<u8>, Vec<u8>);

#[pyfunction]
fn tlsh_explain(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>, length: bool) -> PyResult<Explained> {
    let (left, right) = parse_two(left, right)?;
    let parts = left.parts(&right, length);
    let symbols = |digest: &Digest| (0..digest.form().buckets()).map(|bucket| digest.symbol(bucket)).collect();
    Ok((left.distance(&right, length), parts, symbols(&left), symbols(&right)))
}

register! {
    [PyHasher] tlsh_hash, tlsh_hash_file, tlsh_hash_files, tlsh_hash_contents, tlsh_distance, tlsh_distance_many,
    tlsh_matrix, tlsh_explain
}
