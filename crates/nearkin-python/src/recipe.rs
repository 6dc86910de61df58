//! `RecipeCore`: a compiled recipe and its batch functions, and `IdfCounter`, which counts a recipe's features.
//!
//! Hashing is implemented in the core: fields are passed to [`nearkin_core::families::recipe`] unchanged. Each function
//! converts its arguments, releases the GIL, calls the function of the same name there, and converts the result.

use nearkin_core::families::recipe::{Family, Recipe, Signatures, Slots, Weights};
use nearkin_core::hash::FeatureHash;
use nearkin_core::text::idf::DocumentFrequencies;
use nearkin_core::text::keywords::Keywords;
use nearkin_core::text::tokenizer::{TextSource, Tokenizer};
use nearkin_core::text::words::{Words, joined};
use nearkin_core::{Error, alloc};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::convert::texts::{FEW, FEW_BYTES, Texts};
use crate::convert::{Array, Slice, pair};
use crate::errors::IntoPython;
use crate::locks::Lock;
use crate::text::idf::IdfCore;
use crate::text::words::StringCache;
use crate::threads::{detached, detached_if, detached_unless, writing};

/// Maximum number of features of a document hashed without releasing the GIL: a few microseconds of work.
const FEW_FEATURES: usize = 1000;

/// A compiled recipe; `nearkin.Recipe` is the public class.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct RecipeCore {
    recipe: Recipe,
}

/// Lists of strings in Arrow's layout: bytes, end of each string, number of strings up to the end of each list.
type Lists = (Array<u8>, Array<i64>, Array<i64>);

impl RecipeCore {
    /// Return the reader of features without weights. A function that does not know weights refuses a weighted recipe here.
    pub(crate) fn tokenizer(&self) -> PyResult<&Tokenizer> {
        if self.recipe.is_weighted() {
            let allowed = "minhash:NUM_PERM:fast with binary, or simhash: this function compares sets without weights";
            return Err(Error::parameter("scheme", "weighted", allowed)).into_python();
        }
        self.recipe.tokenizer().into_python()
    }

    /// Return the reader of features and of their weights, if the recipe has weights.
    pub(crate) fn reader(&self) -> PyResult<(&Tokenizer, Option<&Keywords>)> {
        self.recipe.reader().into_python()
    }

    /// Call `call` with the recipe and the texts, with the GIL released.
    fn of_texts<T: Send>(
        &self,
        texts: &Bound<'_, PyAny>,
        call: impl FnOnce(&Recipe, &dyn TextSource) -> nearkin_core::Result<T> + Send,
    ) -> PyResult<T> {
        Texts::process(texts, |texts| call(&self.recipe, texts))
    }
}

/// Convert signatures to a flat NumPy array of their type.
fn array_of(py: Python<'_>, values: Signatures) -> Py<PyAny> {
    match values {
        Signatures::Narrow(values) => values.into_pyarray(py).into_any().unbind(),
        Signatures::Wide(values) => values.into_pyarray(py).into_any().unbind(),
    }
}

/// Convert a flat NumPy array of either type to signatures.
fn signatures_of(values: &Bound<'_, PyAny>) -> PyResult<Signatures> {
    if let Ok(values) = values.extract::<Slice<u32>>() {
        return Ok(Signatures::Narrow(alloc::try_copy(&values).into_python()?));
    }
    let values: Slice<u64> = values.extract()?;
    Ok(Signatures::Wide(alloc::try_copy(&values).into_python()?))
}

#[pymethods]
impl RecipeCore {
    #[new]
    #[pyo3(signature = (*, features, n, min_n, norm, fold, case, letters, numbers, cut, user_words, stop, stop_words, min_length, tags, weight, idf, top, hash, seed, family, bits=128, num_perm=128, scheme="one", value_bits=32))]
    fn new(
        features: &str,
        n: usize,
        min_n: usize,
        norm: &str,
        fold: Vec<String>,
        case: &str,
        letters: &str,
        numbers: &str,
        cut: &str,
        user_words: &str,
        stop: Vec<String>,
        stop_words: Vec<String>,
        min_length: usize,
        tags: Vec<String>,
        weight: &str,
        idf: Option<&IdfCore>,
        top: &str,
        hash: &str,
        seed: u64,
        family: &str,
        bits: u32,
        num_perm: usize,
        scheme: &str,
        value_bits: u32,
    ) -> PyResult<Self> {
        let (fold, stop, stop_words, tags) = (&fold, &stop, &stop_words, &tags);
        let idf = idf.map(|idf| idf.table.clone());
        let family = Family::named(family, bits, num_perm, scheme, value_bits).into_python()?;
        let slots = Slots {
            norm,
            fold,
            case,
            letters,
            numbers,
            cut,
            user_words,
            stop,
            stop_words,
            min_length,
            tags,
            features,
            n,
            min_n,
            weight,
            idf,
            top,
            hash,
            seed,
            family,
        };
        Ok(Self { recipe: Recipe::new(&slots).into_python()? })
    }

    /// Return fingerprints, one array of words, and feature counts.
    fn fingerprints(&self, texts: &Bound<'_, PyAny>) -> PyResult<(Array<u64>, Array<u64>)> {
        self.of_texts(texts, Recipe::fingerprints).map(pair)
    }

    /// Return the fingerprints of documents from their features; weights are integers or floats.
    fn fingerprints_given(
        &self,
        py: Python<'_>,
        offsets: Slice<i64>,
        features: Vec<Vec<u8>>,
        weights: &Bound<'_, PyAny>,
    ) -> PyResult<Array<u64>> {
        let worth = offsets.len() > 2 || features.len() > FEW_FEATURES;
        let hashed = |weights| detached_if(py, worth, || self.recipe.fingerprints_given(&offsets, &features, weights));
        let result = if let Ok(weights) = weights.extract::<Slice<i64>>() {
            hashed(Weights::Integers(&weights))
        } else {
            let weights: Slice<f64> = weights.extract()?;
            hashed(Weights::Floats(&weights))
        };
        result.map(Array)
    }

    /// Return the fingerprints of CSR rows.
    fn fingerprints_csr(
        &self,
        py: Python<'_>,
        offsets: Slice<i64>,
        columns: Slice<i64>,
        weights: Slice<f64>,
    ) -> PyResult<Array<u64>> {
        detached(py, || self.recipe.fingerprints_csr(&offsets, &columns, &weights)).map(Array)
    }

    /// Return signatures, one array of values, and feature counts.
    fn signatures(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<(Py<PyAny>, Array<u64>)> {
        let (values, counts) = self.of_texts(texts, Recipe::signatures)?;
        Ok((array_of(py, values), Array(counts)))
    }

    /// Return the signatures of documents from their features, with weights for a weighted recipe.
    #[pyo3(signature = (offsets, features, weights=None))]
    fn signatures_given(
        &self,
        py: Python<'_>,
        offsets: Slice<i64>,
        features: Vec<Vec<u8>>,
        weights: Option<Slice<f64>>,
    ) -> PyResult<Py<PyAny>> {
        detached(py, || self.recipe.signatures_given(&offsets, &features, weights.as_deref()))
            .map(|values| array_of(py, values))
    }

    /// Return the signatures of sets of hashes, with weights for a weighted recipe.
    #[pyo3(signature = (offsets, hashes, weights=None))]
    fn signatures_hashed(
        &self,
        py: Python<'_>,
        offsets: Slice<i64>,
        hashes: Slice<u64>,
        weights: Option<Slice<f64>>,
    ) -> PyResult<Py<PyAny>> {
        detached(py, || self.recipe.signatures_hashed(&offsets, &hashes, weights.as_deref()))
            .map(|values| array_of(py, values))
    }

    /// Return the signatures of the unions of the sets of two arrays, row by row.
    fn merge(&self, py: Python<'_>, left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (left, right) = (signatures_of(left)?, signatures_of(right)?);
        detached(py, || self.recipe.merge(left, &right)).map(|values| array_of(py, values))
    }

    /// Return the kept words of each text, in order.
    fn words<'py>(&self, py: Python<'py>, texts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let result = self.of_texts(texts, Recipe::words)?;
        let mut strings = StringCache::new(result.iter().map(Words::len).sum());
        let lists = result.into_iter().map(|words| strings.list(py, words));
        PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
    }

    /// Return the kept words as the arrays of a list of strings.
    fn words_joined(&self, texts: &Bound<'_, PyAny>) -> PyResult<Lists> {
        let (bytes, ends, lists) =
            self.of_texts(texts, |recipe, texts| recipe.words(texts).and_then(|result| joined(&result)))?;
        Ok((Array(bytes), Array(ends), Array(lists)))
    }

    /// Return the kept features of each text with their weights, the heaviest first.
    fn keywords<'py>(&self, py: Python<'py>, texts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let result = self.of_texts(texts, Recipe::keywords)?;
        let lists = result.iter().map(|(names, weights)| {
            let names = names.strings().map(|name| PyString::new(py, name));
            PyList::new(py, names.zip(weights.iter().copied()))
        });
        PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
    }

    /// Return the text that features are taken from, and its words in order with whether each is kept; no words for
    /// character n-grams.
    fn reading(&self, py: Python<'_>, text: &str) -> PyResult<(String, Vec<(String, bool)>)> {
        detached(py, || self.recipe.reading(text))
    }

    /// Return the features of one text and their counts, in order of first occurrence.
    fn features(&self, py: Python<'_>, text: &str) -> PyResult<Vec<(String, u64)>> {
        detached(py, || self.recipe.features(text))
    }
}

/// Return the hash `name` with `seed` of each byte string, word `word` of a fingerprint.
#[pyfunction]
#[pyo3(signature = (name, values, seed=0, word=0))]
fn feature_hashes(py: Python<'_>, name: &str, values: Vec<Vec<u8>>, seed: u64, word: u32) -> PyResult<Array<u64>> {
    let hash = FeatureHash::new(name, seed).into_python()?.word(word);
    let few = values.len() <= FEW && values.iter().map(Vec::len).sum::<usize>() <= FEW_BYTES;
    let hashes = || alloc::try_collect(values.iter().map(|value| hash.hash(value)));
    detached_unless(py, few, hashes).map(Array)
}

/// Return the names of all feature hashes.
#[pyfunction]
fn feature_hash_names() -> Vec<&'static str> {
    nearkin_core::hash::NAMES.to_vec()
}

/// A counter of document frequencies for a recipe's features.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct IdfCounter {
    recipe: Py<RecipeCore>,
    counted: Lock<DocumentFrequencies>,
}

#[pymethods]
impl IdfCounter {
    #[new]
    #[pyo3(signature = (recipe, max_features=None))]
    fn new(recipe: Py<RecipeCore>, max_features: Option<usize>) -> PyResult<Self> {
        let _ = recipe.get().reader()?;
        let counted = DocumentFrequencies::new(max_features).into_python()?;
        Ok(Self { recipe, counted: Lock::new(counted) })
    }

    /// Count the features of more texts; a null is not a document.
    fn add(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        let texts = Texts::new(texts)?;
        let recipe = &self.recipe.get().recipe;
        writing(py, &self.counted, false, |counted| recipe.count_documents(counted, &texts))
    }

    /// Return the number of documents, the features of at least `min_df` of them sorted by their bytes, their document
    /// frequencies, and by how much one may be too low.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        min_df: u32,
    ) -> PyResult<(u64, Bound<'py, PyList>, Bound<'py, PyArray1<u32>>, u32)> {
        writing(py, &self.counted, false, DocumentFrequencies::drop_rare)?;
        let (documents, features, max_error) = py
            .detach(|| {
                let counted = self.counted.read()?;
                let result = counted.features(min_df)?;
                let mut features = alloc::try_with_capacity(result.len())?;
                for (name, count) in result {
                    features.push((alloc::try_copy(name)?, count));
                }
                Ok((counted.documents(), features, counted.max_error()))
            })
            .into_python()?;
        let names = PyList::new(py, features.iter().map(|(name, _)| PyBytes::new(py, name)))?;
        let counts: Vec<u32> = alloc::try_collect(features.iter().map(|&(_, count)| count)).into_python()?;
        Ok((documents, names, counts.into_pyarray(py), max_error))
    }
}

register! {
    [RecipeCore, IdfCounter] feature_hashes, feature_hash_names
}
