//! Sketches of texts, and the index that finds texts contained in others.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned by the call")]

use nearkin_core::families::sketch::{self, HashedTexts};
use nearkin_core::index::sketches::{Index, Part};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::convert::Array;
use crate::convert::check_places;
use crate::convert::texts::Texts;
use crate::errors::IntoPython;
use crate::locks::Lock;
use crate::recipe::RecipeCore;
use crate::threads::{detached, detached_unless, detached_with};

/// Return the sketches of texts as rows of `size + 1` numbers, flat, and the number of distinct features of each text.
#[pyfunction]
fn text_sketches(
    py: Python<'_>,
    recipe: &Bound<'_, RecipeCore>,
    texts: &Bound<'_, PyAny>,
    size: usize,
    seed: u64,
) -> PyResult<(Array<u32>, Array<u64>)> {
    let texts = Texts::new(texts)?;
    let tokenizer = recipe.get().tokenizer()?;
    let (rows, counts) = detached_unless(py, texts.are_few(), || sketch::sketches(tokenizer, &texts, size, seed))?;
    Ok((Array(rows), Array(counts)))
}

/// All hashes of the texts that an index of sketches scans.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct HashedFeatures {
    texts: HashedTexts,
}

#[pymethods]
impl HashedFeatures {
    #[new]
    fn new(py: Python<'_>, recipe: &Bound<'_, RecipeCore>, texts: &Bound<'_, PyAny>, seed: u64) -> PyResult<Self> {
        let texts = Texts::new(texts)?;
        let tokenizer = recipe.get().tokenizer()?;
        let hash = || HashedTexts::new(tokenizer, &texts, seed);
        Ok(Self { texts: detached_unless(py, texts.are_few(), hash)? })
    }

    fn __len__(&self) -> usize {
        self.texts.len()
    }
}

/// Sketches of documents by position: see `Index` in the core.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct SketchIndex {
    index: Lock<Index>,
}

#[pymethods]
impl SketchIndex {
    #[new]
    fn new(
        py: Python<'_>,
        rows: PyReadonlyArray1<'_, u32>,
        size: usize,
        least: PyReadonlyArray1<'_, u16>,
    ) -> PyResult<Self> {
        let (rows, least) = (rows.as_slice()?, least.as_slice()?);
        let index = detached(py, || Index::new(rows, size, least))?;
        Ok(Self { index: Lock::new(index) })
    }

    /// Mark the next documents as visited, in order; `kept` selects those that searches find from now on.
    fn settle(
        &self,
        py: Python<'_>,
        places: PyReadonlyArray1<'_, u32>,
        kept: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<()> {
        let (places, kept) = (places.as_slice()?, kept.as_slice()?);
        py.detach(|| self.index.write()?.settle(places, kept)).into_python()
    }

    /// Return for each of `documents`, indices of `texts`, the documents whose sketches it contains: kept ones, and
    /// those not visited.
    #[pyo3(signature = (texts, documents, *, kept, any_size=false))]
    fn scan(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, HashedFeatures>,
        documents: PyReadonlyArray1<'_, u32>,
        kept: bool,
        any_size: bool,
    ) -> PyResult<(Array<i64>, Array<u32>)> {
        let (texts, documents) = (&texts.get().texts, documents.as_slice()?);
        check_places("documents", documents, texts.len())?;
        let part = if kept { Part::Kept } else { Part::Later };
        let (offsets, places) = detached_with(
            py,
            || self.index.read(),
            |pool, index| {
                let index: &Index = &index;
                pool.install(|| index.scan(texts, documents, part, any_size))
            },
        )?;
        Ok((Array(offsets), Array(places)))
    }
}

register! {
    [HashedFeatures, SketchIndex] text_sketches
}
