//! `MinHashCore`: signatures of texts, features and ready hashes, of 32 or 64 bits per value.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned by the call")]

use nearkin_core::Error;
use nearkin_core::families::minhash::{self, MinHash, Scheme, Value};
use nearkin_core::text::tokenizer::TextSource;
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::convert::check_offsets;
use crate::convert::texts::Texts;
use crate::errors::{IntoPython, to_python};
use crate::recipe::RecipeCore;
use crate::threads::detached;

/// A family of signatures; `nearkin.MinHash` is its face.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct MinHashCore {
    family: MinHash,
    wide: bool,
}

/// Values of one of two types, as a NumPy array.
fn array<V: Element>(py: Python<'_>, values: Vec<V>) -> Py<PyAny> {
    values.into_pyarray(py).into_any().unbind()
}

impl MinHashCore {
    fn hashed<V: Value + Element>(&self, py: Python<'_>, offsets: &[i64], hashes: &[u64]) -> PyResult<Py<PyAny>> {
        let out = detached(py, || {
            let mut out = vec![V::NONE; (offsets.len() - 1) * self.family.num_perm()];
            self.family.sets(offsets, hashes, &mut out);
            out
        })?;
        Ok(array(py, out))
    }

    fn of_texts<V: Value + Element>(
        &self,
        py: Python<'_>,
        recipe: &RecipeCore,
        texts: &Texts,
    ) -> PyResult<(Py<PyAny>, Py<PyArray1<u64>>)> {
        let tokenizer = recipe.tokenizer()?;
        let hash = recipe.feature_hash().word(0);
        let (out, counts) = detached(py, || {
            let mut out = vec![V::NONE; texts.len() * self.family.num_perm()];
            let mut counts = vec![0; texts.len()];
            self.family.texts(tokenizer, hash, texts, &mut out, &mut counts);
            (out, counts)
        })?;
        Ok((array(py, out), counts.into_pyarray(py).unbind()))
    }

    fn merged<V: Value + Element>(
        &self,
        py: Python<'_>,
        left: &Bound<'_, PyAny>,
        right: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (left, right): (PyReadonlyArray1<'_, V>, PyReadonlyArray1<'_, V>) = (left.extract()?, right.extract()?);
        let (mut out, right) = (left.as_slice()?.to_vec(), right.as_slice()?);
        whole_rows(out.len(), right.len(), self.family.num_perm())?;
        detached(py, || self.family.merge(&mut out, right))?;
        Ok(array(py, out))
    }
}

/// Two arrays of equally many whole rows.
fn whole_rows(left: usize, right: usize, num_perm: usize) -> PyResult<()> {
    if left == right && left.is_multiple_of(num_perm) {
        return Ok(());
    }
    Err(to_python(Error::mismatch("number of values", left, right)))
}

#[pymethods]
impl MinHashCore {
    #[new]
    fn new(num_perm: usize, scheme: &str, value_bits: u32) -> PyResult<Self> {
        let wide = match value_bits {
            32 => false,
            64 => true,
            other => return Err(to_python(Error::parameter("value_bits", other, "32 or 64"))),
        };
        let family = MinHash::new(num_perm, Scheme::new(scheme).into_python()?).into_python()?;
        Ok(Self { family, wide })
    }

    /// Signatures of texts, `num_perm` values each, and feature counts.
    fn signatures(
        &self,
        py: Python<'_>,
        recipe: &RecipeCore,
        texts: &Bound<'_, PyAny>,
    ) -> PyResult<(Py<PyAny>, Py<PyArray1<u64>>)> {
        let texts = Texts::new(texts)?;
        if self.wide { self.of_texts::<u64>(py, recipe, &texts) } else { self.of_texts::<u32>(py, recipe, &texts) }
    }

    /// Signatures of documents whose features are given: document d has features `offsets[d]..offsets[d + 1]`.
    fn signatures_given(
        &self,
        py: Python<'_>,
        recipe: &RecipeCore,
        offsets: PyReadonlyArray1<'_, i64>,
        features: Vec<Vec<u8>>,
    ) -> PyResult<Py<PyAny>> {
        let offsets = offsets.as_slice()?;
        check_offsets(offsets, features.len())?;
        let hash = recipe.feature_hash().word(0);
        let hashes: Vec<u64> = detached(py, || features.iter().map(|feature| hash.hash(feature)).collect())?;
        if self.wide { self.hashed::<u64>(py, offsets, &hashes) } else { self.hashed::<u32>(py, offsets, &hashes) }
    }

    /// Signatures of sets of ready hashes.
    fn signatures_hashed(
        &self,
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, i64>,
        hashes: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<Py<PyAny>> {
        let (offsets, hashes) = (offsets.as_slice()?, hashes.as_slice()?);
        check_offsets(offsets, hashes.len())?;
        if self.wide { self.hashed::<u64>(py, offsets, hashes) } else { self.hashed::<u32>(py, offsets, hashes) }
    }

    /// Signatures of the unions of the sets of two arrays, row by row.
    fn merge(&self, py: Python<'_>, left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if self.wide { self.merged::<u64>(py, left, right) } else { self.merged::<u32>(py, left, right) }
    }
}

/// In how many of `num_perm` values the rows of two arrays differ; an array of one row is compared with all of the other.
#[pyfunction]
fn signature_differences(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    num_perm: usize,
) -> PyResult<Py<PyArray1<u16>>> {
    fn of<V: Value + Element>(
        py: Python<'_>,
        a: &PyReadonlyArray1<'_, V>,
        b: &PyReadonlyArray1<'_, V>,
        num_perm: usize,
    ) -> PyResult<Vec<u16>> {
        let (a, b) = (a.as_slice()?, b.as_slice()?);
        let (rows_a, rows_b) = (a.len() / num_perm.max(1), b.len() / num_perm.max(1));
        if rows_a != rows_b && rows_a != 1 && rows_b != 1 {
            return Err(to_python(Error::mismatch("number of rows", rows_a, rows_b)));
        }
        if num_perm == 0 || rows_a * num_perm != a.len() || rows_b * num_perm != b.len() {
            return Err(to_python(Error::parameter("num_perm", num_perm, "the values of a signature")));
        }
        detached(py, || minhash::differences(a, b, num_perm))
    }
    let found = match (a.extract(), b.extract()) {
        (Ok(a), Ok(b)) => of::<u32>(py, &a, &b, num_perm)?,
        _ => of::<u64>(py, &a.extract()?, &b.extract()?, num_perm)?,
    };
    Ok(found.into_pyarray(py).unbind())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<MinHashCore>()?;
    module.add_function(wrap_pyfunction!(signature_differences, module)?)?;
    Ok(())
}
