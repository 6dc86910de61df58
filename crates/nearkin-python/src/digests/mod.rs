//! Fuzzy digests of files, one module per kind, and what the kinds share: inputs, lists of digests, and hashers.

pub(crate) mod ssdeep;
pub(crate) mod tlsh;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use nearkin_core::cancel::CancelToken;
use nearkin_core::digests::input::Hashed;
use nearkin_core::parallel::prelude::*;
use nearkin_core::text::tokenizer::TextSource;
use nearkin_core::{Error, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::convert::Slice;
use crate::convert::texts::{FEW, HINT, Texts};
use crate::errors::{IntoPython, to_python};
use crate::locks::Lock;
use crate::threads::{detached, detached_unless, writing};

/// Inputs shorter than this are hashed without releasing the GIL, which costs more than the hash.
const SMALL: usize = 2048;
/// Inputs of at least this length are hashed in the pool, so that signals are handled in time.
const LARGE: usize = 1 << 24;

/// Call `work` with the bytes of a bytes object or of a contiguous `uint8` array.
fn with_bytes<T>(data: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> PyResult<T>) -> PyResult<T> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return work(bytes.as_bytes());
    }
    let array: Slice<u8> = data.extract()?;
    work(&array)
}

/// Return the bytes of a digest in str or bytes.
pub(crate) fn digest_bytes<'a>(text: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
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
    pub(crate) texts: Vec<&'static [u8]>,
    objects: Vec<Py<PyAny>>,
    columns: Option<Texts>,
    owned: Vec<Box<[u8]>>,
}

impl Spelled {
    /// Return the texts of an iterable of str and bytes, or of an Arrow column of strings.
    pub(crate) fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
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
    pub(crate) fn parse<D: Send>(
        &self,
        py: Python<'_>,
        parse: impl Fn(&[u8]) -> Result<D> + Sync + Send,
    ) -> PyResult<Vec<D>> {
        let texts = &self.texts;
        let result: Vec<std::result::Result<Vec<D>, (usize, Error)>> = detached_unless(py, texts.len() <= FEW, || {
            let read = |(number, texts): (usize, &[&[u8]])| {
                let row = |at: usize| number * PARSED_TOGETHER + at;
                texts.iter().enumerate().map(|(at, text)| parse(text).map_err(|e| (row(at), e))).collect()
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
pub(crate) const PARSED_TOGETHER: usize = 4096;

/// Return the result of `work` for each file, or its exception, in order.
pub(crate) fn each_file<T: Send>(
    py: Python<'_>,
    paths: &[PathBuf],
    work: impl Fn(&Path) -> Result<T> + Sync + Send,
) -> PyResult<Vec<Outcome<T>>> {
    let results: Vec<Result<T>> = detached(py, || {
        let stop = CancelToken::current();
        let one = |path: &PathBuf| stop.check().and_then(|()| stop.within(|| work(path)));
        Ok(paths.par_iter().map(one).collect())
    })?;
    let convert = |result: Result<T>| match result {
        Ok(value) => (Some(value), None),
        Err(error) => (None, Some(to_python(error))),
    };
    Ok(results.into_iter().map(convert).collect())
}

/// What was computed of a file, or its exception.
pub(crate) type Outcome<T> = (Option<T>, Option<PyErr>);

/// Digest, upper and lower half of the content hash, and length of a file, or its exception.
pub(crate) type HashedFile = Outcome<(String, u64, u64, u64)>;

/// Convert what the core returns for a file.
pub(crate) fn hashed(file: Hashed) -> (String, u64, u64, u64) {
    (file.digest, (file.content >> 64) as u64, file.content as u64, file.length)
}

/// Hash bytes, without the GIL if it takes long.
pub(crate) fn hash_bytes<T: Send>(data: &Bound<'_, PyAny>, hash: impl Fn(&[u8]) -> Result<T> + Sync) -> PyResult<T> {
    with_bytes(data, |bytes| match bytes.len() {
        0..SMALL => hash(bytes).into_python(),
        SMALL..LARGE => data.py().detach(|| hash(bytes)).into_python(),
        _ => detached(data.py(), || hash(bytes)),
    })
}

/// Add data to a hasher by `update`, without the GIL if it takes long; or by `update_all`, which adds nothing if the call is
/// cancelled.
pub(crate) fn update_hasher<H: Send + Sync>(
    py: Python<'_>,
    hasher: &Lock<H>,
    data: &Bound<'_, PyAny>,
    update: fn(&mut H, &[u8]),
    update_all: fn(&mut H, &[u8]) -> Result<()>,
) -> PyResult<()> {
    let wait = |bytes: &[u8]| hasher.write().map(|mut hasher| update(&mut hasher, bytes));
    with_bytes(data, |bytes| match bytes.len() {
        0..SMALL => match hasher.try_write().into_python()? {
            Some(mut hasher) => {
                update(&mut hasher, bytes);
                Ok(())
            }
            None => py.detach(|| wait(bytes)).into_python(),
        },
        SMALL..LARGE => py.detach(|| wait(bytes)).into_python(),
        _ => writing(py, hasher, false, |hasher| update_all(hasher, bytes)),
    })
}

register! {
    mod ssdeep, tlsh
}
