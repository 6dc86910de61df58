//! Python bindings of `nearkin_core::digests::ssdeep`.

use std::path::PathBuf;

use nearkin_core::Error;
use nearkin_core::cancel::CancelToken;
use nearkin_core::digests::input::read_file;
use nearkin_core::digests::ssdeep::{
    Digest, GRAM, Hasher, Options, Query, check_gram, compare, compare_lenient, compare_with, explain, hash, hash_file,
    hash_file_and_content, list, trace,
};
use nearkin_core::parallel::prelude::*;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{
    HashedFile, Outcome, PARSED_TOGETHER, Spelled, digest_bytes, each_file, hash_bytes, hashed, name_row, update_hasher,
};
use crate::errors::{IntoPython, to_python};
use crate::locks::Lock;
use crate::threads::detached;

/// Whether runs are eliminated, and whether the second part is truncated.
type Rules = (bool, bool);

fn options((eliminate_runs, truncate): Rules) -> Options {
    Options { eliminate_runs, no_truncation: !truncate }
}

pub(crate) fn parse(text: &[u8], strict: bool) -> nearkin_core::Result<Digest> {
    if strict { Digest::parse(text) } else { Digest::parse_lenient(text) }
}

/// Parse the digests of an iterable, or of an Arrow column of strings.
pub(crate) fn parse_all(texts: &Bound<'_, PyAny>, strict: bool) -> PyResult<Vec<Digest>> {
    Spelled::new(texts)?.parse(texts.py(), |text| parse(text, strict))
}

#[pyfunction]
fn ssdeep_hash(data: &Bound<'_, PyAny>, rules: Rules) -> PyResult<String> {
    hash_bytes(data, |bytes| hash(bytes, options(rules)))
}

#[pyfunction]
fn ssdeep_hash_file(py: Python<'_>, path: PathBuf, rules: Rules) -> PyResult<String> {
    detached(py, || hash_file(&path, options(rules)))
}

/// Return the digest, upper and lower half of the content hash, and length of each file, or its exception, in order.
#[pyfunction]
fn ssdeep_hash_contents(py: Python<'_>, paths: Vec<PathBuf>, rules: Rules) -> PyResult<Vec<HashedFile>> {
    each_file(py, &paths, |path| hash_file_and_content(path, options(rules)).map(hashed))
}

/// Return the bytes of a regular file; other kinds are refused without being opened.
#[pyfunction]
fn digest_read_file(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = detached(py, || read_file(&path))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Return one digest or exception per path, in order.
#[pyfunction]
fn ssdeep_hash_files(py: Python<'_>, paths: Vec<PathBuf>, rules: Rules) -> PyResult<Vec<Outcome<String>>> {
    each_file(py, &paths, |path| hash_file(path, options(rules)))
}

#[pyclass(frozen, name = "SsdeepHasher", module = "nearkin._core")]
struct PyHasher {
    // The GIL must be released while waiting, because its owner handles signals.
    hasher: Lock<Hasher>,
}

#[pymethods]
impl PyHasher {
    #[new]
    fn new() -> Self {
        Self { hasher: Lock::new(Hasher::new()) }
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

    fn digest(&self, py: Python<'_>, rules: Rules) -> PyResult<String> {
        py.detach(|| self.hasher.read()?.digest(options(rules))).into_python()
    }
}

#[pyfunction]
fn ssdeep_compare(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>, strict: bool, gram: usize) -> PyResult<u32> {
    let (left, right) = (digest_bytes(left)?, digest_bytes(right)?);
    if !strict {
        return compare_lenient(&left, &right, gram).into_python();
    }
    let (left, right) = (Digest::parse(&left).into_python()?, Digest::parse(&right).into_python()?);
    if gram == GRAM { Ok(compare(&left, &right)) } else { compare_with(&left, &right, gram).into_python() }
}

/// Return the scores of `query` with the digests in `texts`; only [`GRAM`] is measured in lanes.
fn scores_of_texts(query: &Query, texts: &[&[u8]], strict: bool, gram: usize) -> Result<Vec<u8>, (usize, Error)> {
    if gram == GRAM {
        return query.scores_of_texts(texts, strict);
    }
    let score = |text: &[u8]| Ok(compare_with(query.digest(), &parse(text, strict)?, gram)? as u8);
    texts.iter().enumerate().map(|(at, text)| score(text).map_err(|error| (at, error))).collect()
}

#[pyfunction]
fn ssdeep_compare_many<'py>(
    py: Python<'py>,
    query: &Bound<'py, PyAny>,
    digests: &Bound<'py, PyAny>,
    strict: bool,
    gram: usize,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    check_gram(gram).into_python()?;
    let query = Query::new(&parse(&digest_bytes(query)?, strict).into_python()?);
    let spelled = Spelled::new(digests)?;
    let texts = &spelled.texts;
    let score = |some: &[&[u8]]| scores_of_texts(&query, some, strict, gram);
    let result: Vec<Result<Vec<u8>, (usize, Error)>> = if texts.len() <= PARSED_TOGETHER {
        // One task: passing it to the pool would take too long in comparison.
        vec![py.detach(|| score(texts))]
    } else {
        detached(py, || {
            let stop = CancelToken::current();
            let score = |some: &[&[u8]]| if stop.is_set() { Ok(Vec::new()) } else { score(some) };
            Ok(texts.par_chunks(PARSED_TOGETHER).map(score).collect())
        })?
    };
    let mut scores = Vec::with_capacity(texts.len());
    for part in result {
        let first = scores.len();
        scores.append(&mut part.map_err(|(row, error)| to_python(name_row(first + row, error)))?);
    }
    Ok(PyArray1::from_vec(py, scores))
}

#[pyfunction]
fn ssdeep_matrix<'py>(
    py: Python<'py>,
    left: &Bound<'py, PyAny>,
    right: Option<&Bound<'py, PyAny>>,
    strict: bool,
    gram: usize,
) -> PyResult<Bound<'py, PyArray2<u8>>> {
    check_gram(gram).into_python()?;
    let left = parse_all(left, strict)?;
    let right = right.map(|right| parse_all(right, strict)).transpose()?;
    let right = right.as_ref().unwrap_or(&left);
    let (rows, columns) = (left.len(), right.len());
    let scores = detached(py, || {
        let stop = CancelToken::current();
        let mut scores = vec![0u8; rows * columns];
        if columns > 0 {
            scores.par_chunks_mut(columns).zip(&left).for_each(|(row, digest)| {
                if stop.is_set() {
                    return;
                }
                if gram == GRAM {
                    row.copy_from_slice(&Query::new(digest).scores(right.iter()));
                } else {
                    for (score, other) in row.iter_mut().zip(right) {
                        // The length was checked above.
                        *score = compare_with(digest, other, gram).map_or(0, |score| score as u8);
                    }
                }
            });
        }
        Ok(scores)
    })?;
    PyArray1::from_vec(py, scores).reshape([rows, columns])
}

type ComparedParts = ((u8, u8), u64, (usize, usize), Option<String>, u32, u32, u32, u32);

/// Return the score, whether the block sizes are comparable, whether the digests are equal, and the compared parts.
#[pyfunction]
fn ssdeep_explain(
    left: &Bound<'_, PyAny>,
    right: &Bound<'_, PyAny>,
    strict: bool,
    gram: usize,
) -> PyResult<(u32, bool, bool, Vec<ComparedParts>)> {
    let left = parse(&digest_bytes(left)?, strict).into_python()?;
    let right = parse(&digest_bytes(right)?, strict).into_python()?;
    let why = explain(&left, &right, gram).into_python()?;
    let compared = why
        .compared
        .into_iter()
        .map(|c| {
            let gram = c.gram.map(|gram| String::from_utf8_lossy(&gram).into_owned());
            (c.parts, c.block_size, c.lengths, gram, c.common, c.uncapped, c.cap, c.score)
        })
        .collect();
    Ok((why.score, why.comparable, why.equal, compared))
}

type TracedPart = (u64, u64, usize, Vec<(u64, u64, u32, bool, u8, char)>);

/// Return the digest, the block sizes that are tried with their numbers of reset points, and both parts with their
/// pieces.
#[pyfunction]
fn ssdeep_trace(
    py: Python<'_>,
    data: &[u8],
    eliminate_runs: bool,
    truncate: bool,
) -> PyResult<(String, Vec<(u64, u64)>, Vec<TracedPart>)> {
    let steps = detached(py, || trace(data, options((eliminate_runs, truncate))))?;
    let parts = steps.parts.map(|part| {
        let pieces = part.pieces.iter().map(|p| (p.range.0, p.range.1, p.sum, p.tail, p.state, p.character)).collect();
        (part.block_size, part.points, part.counted, pieces)
    });
    Ok((steps.digest, steps.tried, parts.into()))
}

/// Return the digest and name of each entry of a list file.
#[pyfunction]
fn ssdeep_read_list<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
    let entries = list::read(text).into_python()?;
    Ok(entries.into_iter().map(|entry| (entry.digest, PyBytes::new(py, &entry.name))).collect())
}

#[pyfunction]
fn ssdeep_write_list(py: Python<'_>, entries: Vec<(String, Vec<u8>)>) -> Bound<'_, PyBytes> {
    let entries = entries.iter().map(|(digest, name)| (digest.as_str(), name.as_slice()));
    PyBytes::new(py, &list::write(entries))
}

register! {
    [PyHasher] digest_read_file, ssdeep_explain, ssdeep_hash_contents, ssdeep_read_list, ssdeep_write_list,
    ssdeep_hash, ssdeep_hash_file, ssdeep_hash_files, ssdeep_compare, ssdeep_compare_many, ssdeep_matrix, ssdeep_trace
}
