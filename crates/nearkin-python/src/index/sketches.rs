//! Sketches of texts, and the index that finds texts contained in others.

use nearkin_core::families::sketch::{self, HashedTexts};
use nearkin_core::index::sketches::{Index, Part};
use pyo3::prelude::*;

use crate::convert::texts::Texts;
use crate::convert::{Array, Slice, check_places, pair};
use crate::errors::IntoPython;
use crate::locks::Lock;
use crate::recipe::RecipeCore;
use crate::threads::{detached, reading};

/// Return the sketches of texts as rows of `size + 1` numbers, flat, and the number of distinct features of each text.
#[pyfunction]
fn text_sketches(
    recipe: &Bound<'_, RecipeCore>,
    texts: &Bound<'_, PyAny>,
    size: usize,
    seed: u64,
) -> PyResult<(Array<u32>, Array<u64>)> {
    let tokenizer = recipe.get().tokenizer()?;
    Texts::process(texts, |texts| sketch::sketches(tokenizer, texts, size, seed)).map(pair)
}

/// All hashes of the texts that an index of sketches scans.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct HashedFeatures {
    texts: HashedTexts,
}

#[pymethods]
impl HashedFeatures {
    #[new]
    fn new(recipe: &Bound<'_, RecipeCore>, texts: &Bound<'_, PyAny>, seed: u64) -> PyResult<Self> {
        let tokenizer = recipe.get().tokenizer()?;
        Ok(Self { texts: Texts::process(texts, |texts| HashedTexts::new(tokenizer, texts, seed))? })
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
    fn new(py: Python<'_>, rows: Slice<u32>, size: usize, least: Slice<u16>) -> PyResult<Self> {
        let index = detached(py, || Index::new(&rows, size, &least))?;
        Ok(Self { index: Lock::new(index) })
    }

    /// Mark the next documents as visited, in order; `kept` selects those that searches find from now on.
    fn settle(&self, py: Python<'_>, places: Slice<u32>, kept: Slice<bool>) -> PyResult<()> {
        py.detach(|| self.index.write()?.settle(&places, &kept)).into_python()
    }

    /// Return for each of `documents`, indices of `texts`, the documents whose sketches it contains: kept ones, and
    /// those not visited.
    #[pyo3(signature = (texts, documents, *, kept, any_size=false))]
    fn scan(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, HashedFeatures>,
        documents: Slice<u32>,
        kept: bool,
        any_size: bool,
    ) -> PyResult<(Array<i64>, Array<u32>)> {
        let texts = &texts.get().texts;
        check_places("documents", &documents, texts.len())?;
        let part = if kept { Part::Kept } else { Part::Later };
        reading(py, &self.index, |index| index.scan(texts, &documents, part, any_size)).map(pair)
    }
}

register! {
    [HashedFeatures, SketchIndex] text_sketches
}
