//! Python bindings of `nearkin_core::digests::ssdeep`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use nearkin_core::Error;
use nearkin_core::cancel::CancelToken;
use nearkin_core::digests::ssdeep::{
    Digest, GRAM, Hasher, Options, Query, check_gram, compare, compare_lenient, compare_with, explain, hash, hash_file,
    hash_file_and_content, list, read_file,
};
use nearkin_core::text::tokenizer::TextSource;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use rayon::prelude::*;

use crate::convert::Slice;
use crate::convert::texts::{FEW, HINT, Texts};
use crate::errors::{IntoPython, to_python};
use crate::locks::Lock;
use crate::threads::{detached, detached_unless, writing};

/// Inputs shorter than this are hashed without releasing the GIL, which costs more than the hash.
const SMALL: usize = 2048;
/// Inputs of at least this length are hashed in the pool, so that signals are handled in time.
const LARGE: usize = 1 << 24;

fn options(eliminate_runs: bool, truncate: bool) -> Options {
    Options { eliminate_runs, no_truncation: !truncate }
}

/// Call `work` with the bytes of a bytes object or of a contiguous `uint8` array.
fn with_bytes<T>(data: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> PyResult<T>) -> PyResult<T> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return work(bytes.as_bytes());
    }
    let array: Slice<u8> = data.extract()?;
    work(&array)
}

/// Return the bytes of a digest in str or bytes.
fn digest_bytes<'a>(text: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(text) = text.cast::<PyString>() {
        // A lone surrogate has no UTF-8 form; its replacement is invalid in a digest, too.
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

pub(crate) fn parse(text: &[u8], strict: bool) -> nearkin_core::Result<Digest> {
    if strict { Digest::parse(text) } else { Digest::parse_lenient(text) }
}

pub(crate) fn name_row(row: usize, error: Error) -> Error {
    match error {
        Error::Input { place, reason } => Error::Input { place: format!("row {row}, {place}"), reason },
        Error::Digest { place, reason } => Error::Digest { place: format!("row {row}, {place}"), reason },
        other => other,
    }
}

/// Digest texts, borrowed so that they are read with the GIL released.
#[allow(dead_code, reason = "the owners are held for what is borrowed from them")]
pub(crate) struct Spelled {
    /// Borrowed from the owners below: the lifetime is that of this struct.
    texts: Vec<&'static [u8]>,
    objects: Vec<Py<PyAny>>,
    columns: Option<Texts>,
    owned: Vec<Box<[u8]>>,
}

impl Spelled {
    /// Return the texts of an iterable of str and bytes, or of an Arrow column of strings.
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source.is_instance_of::<PyString>() || source.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("expected an iterable of digests, found a single one; pass a list"));
        }
        let count = source.len().unwrap_or(0).min(HINT);
        let mut spelled =
            Self { texts: Vec::with_capacity(count), objects: Vec::new(), columns: None, owned: Vec::new() };
        if let Ok(list) = source.cast_exact::<PyList>() {
            spelled.objects.reserve(count);
            for object in list.iter() {
                spelled.push(object)?;
            }
        } else if source.hasattr("__arrow_c_stream__")? || source.hasattr("__arrow_c_array__")? {
            let column = Texts::new(source)?;
            for row in 0..column.len() {
                let text = column.get(row).ok_or_else(|| {
                    to_python(Error::input(format!("row {row}"), "is null, not a digest; drop it first"))
                })?;
                // SAFETY: the strings live as long as the column, which is kept.
                spelled.texts.push(unsafe { std::mem::transmute::<&[u8], &'static [u8]>(text.as_bytes()) });
            }
            spelled.columns = Some(column);
        } else {
            for object in source.try_iter()? {
                spelled.push(object?)?;
            }
        }
        Ok(spelled)
    }

    #[inline]
    fn push(&mut self, object: Bound<'_, PyAny>) -> PyResult<()> {
        // SAFETY: str and bytes are immutable and don't move; the object, or the owned copy, is kept.
        let keep = |text: &[u8]| unsafe { std::mem::transmute::<&[u8], &'static [u8]>(text) };
        match digest_bytes(&object)? {
            Cow::Borrowed(text) => self.texts.push(keep(text)),
            Cow::Owned(text) => {
                let text = text.into_boxed_slice();
                self.texts.push(keep(&text));
                self.owned.push(text);
            }
        }
        self.objects.push(object.unbind());
        Ok(())
    }

    /// Parse the digests, in the pool if they are many; the error names the first invalid row whatever the threads.
    fn parse(&self, py: Python<'_>, strict: bool) -> PyResult<Vec<Digest>> {
        let texts = &self.texts;
        let result: Vec<Result<Vec<Digest>, (usize, Error)>> = detached_unless(py, texts.len() <= FEW, || {
            let read = |(number, texts): (usize, &[&[u8]])| {
                let row = |at: usize| number * PARSED_TOGETHER + at;
                texts.iter().enumerate().map(|(at, text)| parse(text, strict).map_err(|e| (row(at), e))).collect()
            };
            Ok(texts.par_chunks(PARSED_TOGETHER).enumerate().map(read).collect())
        })?;
        let mut digests = Vec::with_capacity(texts.len());
        for part in result {
            digests.append(&mut part.map_err(|(row, error)| to_python(name_row(row, error)))?);
        }
        Ok(digests)
    }
}

/// Number of digests per task.
const PARSED_TOGETHER: usize = 4096;

/// Parse the digests of an iterable, or of an Arrow column of strings.
pub(crate) fn parse_all(texts: &Bound<'_, PyAny>, strict: bool) -> PyResult<Vec<Digest>> {
    Spelled::new(texts)?.parse(texts.py(), strict)
}

#[pyfunction]
fn ssdeep_hash(py: Python<'_>, data: &Bound<'_, PyAny>, eliminate_runs: bool, truncate: bool) -> PyResult<String> {
    let options = options(eliminate_runs, truncate);
    with_bytes(data, |bytes| match bytes.len() {
        0..SMALL => hash(bytes, options).into_python(),
        SMALL..LARGE => py.detach(|| hash(bytes, options)).into_python(),
        _ => detached(py, || hash(bytes, options)),
    })
}

#[pyfunction]
fn ssdeep_hash_file(py: Python<'_>, path: PathBuf, eliminate_runs: bool, truncate: bool) -> PyResult<String> {
    let options = options(eliminate_runs, truncate);
    detached(py, || hash_file(&path, options))
}

/// Return the result of `work` for each file, or its exception, in order.
fn each_file<T: Send>(
    py: Python<'_>,
    paths: &[PathBuf],
    work: impl Fn(&Path) -> nearkin_core::Result<T> + Sync + Send,
) -> PyResult<Vec<(Option<T>, Option<PyErr>)>> {
    let results: Vec<nearkin_core::Result<T>> = detached(py, || {
        let stop = CancelToken::current();
        let one = |path: &PathBuf| stop.check().and_then(|()| stop.within(|| work(path)));
        Ok(paths.par_iter().map(one).collect())
    })?;
    let convert = |result: nearkin_core::Result<T>| match result {
        Ok(value) => (Some(value), None),
        Err(error) => (None, Some(to_python(error))),
    };
    Ok(results.into_iter().map(convert).collect())
}

type HashedFile = (Option<(String, u64, u64, u64)>, Option<PyErr>);

/// Return the digest, upper and lower half of the content hash, and length of each file, or its exception, in order.
#[pyfunction]
fn ssdeep_hash_contents(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    eliminate_runs: bool,
    truncate: bool,
) -> PyResult<Vec<HashedFile>> {
    let options = options(eliminate_runs, truncate);
    each_file(py, &paths, |path| {
        let file = hash_file_and_content(path, options)?;
        Ok((file.digest, (file.content >> 64) as u64, file.content as u64, file.length))
    })
}

/// Return the bytes of a regular file; other kinds are refused without being opened.
#[pyfunction]
fn ssdeep_read_file(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = detached(py, || read_file(&path))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Return one digest or exception per path, in order.
#[pyfunction]
fn ssdeep_hash_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    eliminate_runs: bool,
    truncate: bool,
) -> PyResult<Vec<(Option<String>, Option<PyErr>)>> {
    let options = options(eliminate_runs, truncate);
    each_file(py, &paths, |path| hash_file(path, options))
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
        let update = |bytes: &[u8]| {
            self.hasher.write()?.update(bytes);
            Ok(())
        };
        with_bytes(data, |bytes| match bytes.len() {
            0..SMALL => match self.hasher.try_write().into_python()? {
                Some(mut hasher) => {
                    hasher.update(bytes);
                    Ok(())
                }
                None => py.detach(|| update(bytes)).into_python(),
            },
            SMALL..LARGE => py.detach(|| update(bytes)).into_python(),
            _ => writing(py, &self.hasher, false, |hasher| hasher.update_all(bytes)),
        })
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let hasher = py.detach(|| Ok(self.hasher.read()?.clone())).into_python()?;
        Ok(Self { hasher: Lock::new(hasher) })
    }

    fn digest(&self, py: Python<'_>, eliminate_runs: bool, truncate: bool) -> PyResult<String> {
        py.detach(|| self.hasher.read()?.digest(options(eliminate_runs, truncate))).into_python()
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
    [PyHasher] ssdeep_explain, ssdeep_hash_contents, ssdeep_read_file, ssdeep_read_list, ssdeep_write_list,
    ssdeep_hash, ssdeep_hash_file, ssdeep_hash_files, ssdeep_compare, ssdeep_compare_many, ssdeep_matrix
}
