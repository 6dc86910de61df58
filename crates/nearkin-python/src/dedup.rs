//! Verification and absorption: prepared candidate texts, and absorption in keep order. Hashing and similarity are
//! implemented in the core.

use std::path::PathBuf;

use nearkin_core::dedup::absorb::{self, Fingerprints};
use nearkin_core::dedup::contained;
use nearkin_core::dedup::repeats;
use nearkin_core::dedup::suites::{self, Limits, SuiteIndex};
use nearkin_core::dedup::verify::{self, Cache, Measure};
use nearkin_core::segment::{with_sigbus_guard, with_verified};
use nearkin_core::text::contents;
use nearkin_core::text::distinguishers::Distinguishers;
use nearkin_core::text::tokenizer::TextSource;
use nearkin_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::texts::{FEW, FEW_BYTES, Texts};
use crate::convert::{Array, Slice, check_length, check_offsets, check_places, pair};
use crate::errors::IntoPython;
use crate::locks::Lock;
use crate::recipe::RecipeCore;
use crate::threads::{detached, detached_unless, reading, reading_unless, writing};

/// A cache of a recipe's texts prepared for comparison, by row number.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct TextCache {
    recipe: Py<RecipeCore>,
    cache: Lock<Cache>,
}

impl TextCache {
    /// Call `work` with a cache that has these rows; the calling thread runs it if their texts are few.
    fn compare<T: Send>(
        &self,
        py: Python<'_>,
        left: &[u32],
        right: &[u32],
        work: impl FnOnce(&Cache) -> Result<T> + Send,
    ) -> PyResult<T> {
        let few = |cache: &Cache| {
            check_added(cache, left)?;
            check_added(cache, right)?;
            Ok(cache.are_few(left) && cache.are_few(right))
        };
        reading_unless(py, &self.cache, few, work)
    }
}

#[pymethods]
impl TextCache {
    #[new]
    #[pyo3(signature = (recipe, measure, budget, differ=Vec::new()))]
    fn new(recipe: Py<RecipeCore>, measure: &str, budget: usize, differ: Vec<String>) -> PyResult<Self> {
        let _ = recipe.get().reader()?;
        let particulars = if differ.is_empty() { None } else { Some(Distinguishers::new(&differ).into_python()?) };
        let cache = Cache::new(Measure::new(measure).into_python()?, particulars, budget);
        Ok(Self { recipe, cache: Lock::new(cache) })
    }

    /// Return the number of pairs that were similar enough but differ in their distinguishers.
    #[getter]
    fn differing(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| Ok(self.cache.read()?.differing())).into_python()
    }

    /// Return whether rows `left[i]` and `right[i]` differ in their distinguishers.
    fn which_differ(&self, py: Python<'_>, left: Slice<u32>, right: Slice<u32>) -> PyResult<Array<bool>> {
        check_length("right", right.len(), left.len())?;
        let result = py.detach(|| {
            let cache = self.cache.read()?;
            check_added(&cache, &left)?;
            check_added(&cache, &right)?;
            cache.which_differ(&left, &right)
        });
        Ok(Array(result.into_python()?))
    }

    /// Return the rows whose texts must be added before they can be compared.
    fn missing(&self, py: Python<'_>, rows: Slice<u32>) -> PyResult<Array<u32>> {
        py.detach(|| self.cache.write()?.missing(&rows)).into_python().map(Array)
    }

    /// Prepare text i as row `rows[i]`.
    fn add(&self, py: Python<'_>, rows: Slice<u32>, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        let texts = Texts::new(texts)?;
        check_length("texts", texts.len(), rows.len())?;
        let reader = self.recipe.get().reader()?;
        writing(py, &self.cache, texts.are_few(), |cache| cache.add_texts(reader, &rows, &texts))
    }

    /// Prepare the features `hashes[offsets[i]..offsets[i + 1]]` as row `rows[i]`.
    fn add_sets(&self, py: Python<'_>, rows: Slice<u32>, offsets: Slice<i64>, hashes: Slice<u64>) -> PyResult<()> {
        let _ = self.recipe.get().tokenizer()?;
        py.detach(|| self.cache.write()?.add_sets(&rows, &offsets, &hashes)).into_python()
    }

    /// Evict the least recently used texts until the cache is within its budget.
    fn shrink(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.cache.write()?.shrink()).into_python()
    }

    /// Return the similarities of rows `left[i]` and `right[i]`, 0 for those below `threshold`; texts too long for Indel
    /// are an error, or NaN with `left_out`.
    #[pyo3(signature = (left, right, *, left_out=false, threshold=0.0))]
    fn similarities(
        &self,
        py: Python<'_>,
        left: Slice<u32>,
        right: Slice<u32>,
        left_out: bool,
        threshold: f64,
    ) -> PyResult<Array<f64>> {
        check_length("right", right.len(), left.len())?;
        self.compare(py, &left, &right, |cache| cache.similarities(&left, &right, left_out, threshold)).map(Array)
    }

    /// Return the first match of each document among its candidates: see `first_matches` in the core.
    #[pyo3(signature = (*, documents, offsets, candidates, threshold, most))]
    fn first_matches(
        &self,
        py: Python<'_>,
        documents: Slice<u32>,
        offsets: Slice<i64>,
        candidates: Slice<u32>,
        threshold: f64,
        most: usize,
    ) -> PyResult<Decision> {
        check_length("offsets", offsets.len(), documents.len() + 1)?;
        check_offsets(&offsets, candidates.len())?;
        let work = |cache: &Cache| absorb::first_matches(cache, threshold, &documents, &offsets, &candidates, most);
        self.compare(py, &documents, &candidates, work).map(decision)
    }
}

/// Every row must be added before it is compared.
fn check_added(cache: &Cache, rows: &[u32]) -> Result<()> {
    match cache.first_missing(rows) {
        None => Ok(()),
        Some(row) => Err(Error::parameter("row", row, "rows whose texts were added")),
    }
}

/// Call `work` in the pool with read access to a cache that has the texts of these documents, or without a cache.
fn with_cache(
    py: Python<'_>,
    texts: Option<Py<TextCache>>,
    documents: &[u32],
    work: impl FnOnce(Option<&Cache>) -> Result<absorb::Matches> + Send,
) -> PyResult<Decision> {
    let matches = match texts {
        None => detached(py, || work(None)),
        Some(texts) => reading(py, &texts.get().cache, |cache| {
            check_added(cache, documents)?;
            work(Some(cache))
        }),
    };
    matches.map(decision)
}

/// Keep or absorb documents in keep order: see `absorb` in the core. Without texts distance decides.
#[pyfunction]
#[pyo3(signature = (texts, *, documents, fingerprints, words, radius, threshold, most))]
fn absorb_in_order(
    py: Python<'_>,
    texts: Option<Py<TextCache>>,
    documents: Slice<u32>,
    fingerprints: Slice<u64>,
    words: usize,
    radius: u32,
    threshold: f64,
    most: usize,
) -> PyResult<Decision> {
    let (rows, words) = (&fingerprints, words.max(1));
    check_length("fingerprints", rows.len(), documents.len() * words)?;
    with_cache(py, texts, &documents, |cache| {
        absorb::absorb(cache, threshold, &Fingerprints::new(rows, words)?, radius, &documents, most)
    })
}

/// Keep or absorb documents with precomputed candidates: see `absorb_listed` in the core.
#[pyfunction]
#[pyo3(signature = (texts, *, documents, offsets, later, similarity, threshold, most))]
fn absorb_listed(
    py: Python<'_>,
    texts: Option<Py<TextCache>>,
    documents: Slice<u32>,
    offsets: Slice<i64>,
    later: Slice<u32>,
    similarity: Option<Slice<f64>>,
    threshold: f64,
    most: usize,
) -> PyResult<Decision> {
    let similarity = similarity.as_deref();
    check_length("offsets", offsets.len(), documents.len() + 1)?;
    check_offsets(&offsets, later.len())?;
    check_places("later", &later, documents.len())?;
    check_length("similarity", similarity.map_or(later.len(), <[f64]>::len), later.len())?;
    with_cache(py, texts, &documents, |cache| {
        absorb::absorb_listed(cache, threshold, &documents, &offsets, &later, similarity, most)
    })
}

/// `by`, similarity, number of verified pairs, of candidate pairs, and of skipped pairs.
type Decision = (Array<i64>, Array<f64>, u64, u64, u64);

fn decision(result: absorb::Matches) -> Decision {
    let (by, similarity) = (Array(result.by), Array(result.similarity));
    (by, similarity, result.verified, result.candidates, result.skipped)
}

/// Return for each fingerprint whether it is within `radius` of another one.
#[pyfunction]
fn near_in_batch(py: Python<'_>, fingerprints: Slice<u64>, words: usize, radius: u32) -> PyResult<Array<bool>> {
    check_length("fingerprints", fingerprints.len() % words.max(1), 0)?;
    let few = fingerprints.len() <= FEW * words.max(1);
    detached_unless(py, few, || absorb::near(&fingerprints, words.max(1), radius)).map(Array)
}

/// Return the XXH3-128 of each text as two 64-bit words, and its length in characters; a null counts as the empty text.
#[pyfunction]
fn content_hashes(texts: &Bound<'_, PyAny>) -> PyResult<(Array<u64>, Array<u64>)> {
    let (hashes, lengths) = Texts::process(texts, contents::content_hashes)?;
    Ok((Array(hashes.into_flattened()), Array(lengths)))
}

/// Return for each text its words, those that are damaged, noisy, repeated, of a menu and distinct, and its breaks.
#[pyfunction]
fn soundness(texts: &Bound<'_, PyAny>) -> PyResult<Array<u32>> {
    Ok(Array(Texts::process(texts, nearkin_core::text::soundness::soundness)?.into_flattened()))
}

/// Return the XXH3-128 of each piece of `width` bytes as two 64-bit words.
#[pyfunction]
fn byte_hashes(py: Python<'_>, data: Slice<u8>, width: usize) -> PyResult<Array<u64>> {
    let few = data.len() <= FEW_BYTES;
    let hashes = detached_unless(py, few, || contents::byte_hashes(&data, width))?;
    Ok(Array(hashes.into_flattened()))
}

/// Return the distinguishers of each text by these rules, in compared form.
#[pyfunction]
fn particulars(py: Python<'_>, rules: Vec<String>, texts: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<String>>> {
    let texts = Texts::new(texts)?;
    let result = py.detach(|| {
        let particulars = Distinguishers::new(&rules)?;
        let one = |at| particulars.list(texts.get(at).unwrap_or_default());
        nearkin_core::alloc::try_map((0..texts.len()).map(one))
    });
    result.into_python()
}

/// Return offsets, and the hashes of the distinct features of each text, ascending.
#[pyfunction]
fn feature_sets(recipe: &Bound<'_, RecipeCore>, texts: &Bound<'_, PyAny>) -> PyResult<(Array<i64>, Array<u64>)> {
    let tokenizer = recipe.get().tokenizer()?;
    Texts::process(texts, |texts| verify::feature_sets(tokenizer, texts)).map(pair)
}

/// Offsets, and columns of matches.
type Contained = (Array<i64>, Array<u32>, Array<f64>, Array<i64>, Array<i64>);

/// Return offsets, and for the known texts in each query: index, similarity, start and end (exclusive) of the span in
/// characters.
#[pyfunction]
#[pyo3(signature = (recipe, queries, known, *, offsets, candidates, threshold, spans))]
fn contained_texts(
    py: Python<'_>,
    recipe: &Bound<'_, RecipeCore>,
    queries: &Bound<'_, PyAny>,
    known: &Bound<'_, PyAny>,
    offsets: Slice<i64>,
    candidates: Slice<u32>,
    threshold: f64,
    spans: bool,
) -> PyResult<Contained> {
    let (queries, known) = (Texts::new(queries)?, Texts::new(known)?);
    let tokenizer = recipe.get().tokenizer()?;
    let work = || contained::contained(tokenizer, &queries, &known, &offsets, &candidates, threshold, spans)?.columns();
    let contained::Columns { offsets, references, similarity, starts, ends } = detached(py, work)?;
    Ok((Array(offsets), Array(references), Array(similarity), Array(starts), Array(ends)))
}

/// Return the repeats of at least `least` symbols, bytes or numbers that are never all ones: start, end and earlier
/// position of each; the number of anchors with more positions than `most`; the number of stored anchors. `texts` are
/// the start and end of each text, in the order of visits.
#[pyfunction]
fn find_repeats(
    py: Python<'_>,
    symbols: &Bound<'_, PyAny>,
    texts: Slice<u64>,
    least: usize,
    most: usize,
) -> PyResult<(Array<u64>, u64, u64)> {
    let (texts, _) = texts.as_chunks::<2>();
    let result = if let Ok(bytes) = symbols.extract::<Slice<u8>>() {
        detached(py, || repeats::repeats(&bytes, texts, least, most))?
    } else {
        let words: Slice<u64> = symbols.extract()?;
        detached(py, || repeats::repeats(&words, texts, least, most))?
    };
    Ok((Array(result.positions.into_flattened()), result.skipped, result.stored))
}

/// Offsets, items, starts, ends, similarities, chances and levels of matches, and the number of words of each document.
type Occurrences = (Array<i64>, Array<u32>, Array<i64>, Array<i64>, Array<f64>, Array<f64>, Array<u8>, Array<i64>);

/// Items of suites, to be found in documents: see `SuiteIndex` in the core.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct SuitesCore {
    index: Lock<SuiteIndex>,
}

impl SuitesCore {
    fn query<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&SuiteIndex) -> Result<T> + Send) -> PyResult<T> {
        reading(py, &self.index, |index| with_verified(index.segment(), || work(index)))
    }
}

#[pymethods]
impl SuitesCore {
    /// Build the index; suite s has the texts `suites[s]..suites[s + 1]`.
    #[new]
    fn new(
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        suites: Slice<u64>,
        n: usize,
        window: usize,
        code: bool,
        about: &[u8],
    ) -> PyResult<Self> {
        let texts = Texts::new(texts)?;
        let index = detached(py, || SuiteIndex::build(&texts, &suites, (n, window, code), about))?;
        Ok(Self { index: Lock::new(index) })
    }

    /// Open a saved index; also return the description that it was built with.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<(Self, Py<PyBytes>)> {
        let (index, about) = detached(py, || {
            let index = SuiteIndex::open(&path)?;
            let about = with_sigbus_guard(index.segment(), || nearkin_core::alloc::try_copy(index.about()))?;
            Ok((index, about))
        })?;
        Ok((Self { index: Lock::new(index) }, PyBytes::new(py, &about).unbind()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.query(py, |index| index.save(&path))
    }

    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.query(py, SuiteIndex::verify)
    }

    /// Return the numbers of items, of words of different items, and of bytes without the texts, the words of a gram, and
    /// the grams of a window.
    fn sizes(&self, py: Python<'_>) -> PyResult<(usize, usize, usize, usize, usize)> {
        py.detach(|| {
            let index = self.index.read()?;
            let (n, window) = index.shape();
            Ok((index.len(), index.num_words(), index.num_bytes(), n, window))
        })
        .into_python()
    }

    /// Return for each item whether it is too short to be told from chance.
    fn too_short(&self, py: Python<'_>, max_chance: f64) -> PyResult<Array<bool>> {
        self.query(py, |index| Ok(index.too_short(max_chance))).map(Array)
    }

    /// Return for each item whether it is nothing but template.
    fn all_template(&self, py: Python<'_>) -> PyResult<Array<bool>> {
        self.query(py, |index| Ok(index.all_template())).map(Array)
    }

    /// Return the texts of items.
    fn texts(&self, py: Python<'_>, items: Slice<u32>) -> PyResult<Vec<String>> {
        self.query(py, |index| {
            let one = |&item: &u32| {
                if item as usize >= index.len() {
                    return Err(Error::parameter("items", item, format!("below {}", index.len())));
                }
                // The texts were strings when the index was built.
                Ok(String::from_utf8_lossy(index.text(item as usize)).into_owned())
            };
            nearkin_core::alloc::try_map(items.iter().map(one))
        })
    }

    /// Return the items in each document: see `scan` in the core.
    #[pyo3(signature = (documents, *, threshold, max_chance))]
    fn scan(
        &self,
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        threshold: f64,
        max_chance: f64,
    ) -> PyResult<Occurrences> {
        let documents = Texts::new(documents)?;
        let columns = self.query(py, |index| index.scan(&documents, Limits { threshold, max_chance }))?;
        let suites::Columns { offsets, items, starts, ends, similarity, chance, levels, words } = columns;
        let [starts, ends] = [starts, ends].map(Array);
        let [similarity, chance] = [similarity, chance].map(Array);
        Ok((Array(offsets), Array(items), starts, ends, similarity, chance, Array(levels), Array(words)))
    }
}

register! {
    [TextCache, SuitesCore] absorb_in_order, absorb_listed, near_in_batch, byte_hashes, contained_texts, content_hashes,
    feature_sets, particulars, find_repeats, soundness
}
