//! `RecipeCore`: a recipe compiled for use, and the batch functions that it determines.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned by the call")]

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nearkin_core::Error;
use nearkin_core::absorb::{self, Fingerprints};
use nearkin_core::cluster;
use nearkin_core::cut::Cut;
use nearkin_core::hash::FeatureHash;
use nearkin_core::jieba::parse_user_words;
use nearkin_core::keywords::{KeywordScratch, Keywords, Top, Weighting};
use nearkin_core::simhash::{SimHash, Weight};
use nearkin_core::stopwords;
use nearkin_core::text::{Kind, Scratch, TextSource, Tokenizer};
use nearkin_core::unicode::{Case, Form, Letters};
use nearkin_core::verify::{Cache, Measure};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rayon::prelude::*;

use crate::errors::{IntoPython, to_python};
use crate::idf::IdfCore;
use crate::texts::Texts;
use crate::threads::{detached, detached_with};
use crate::words::{self, Made, Words};

/// Tokenizer, weight and SimHash of a recipe; `nearkin.Recipe` is its face.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct RecipeCore {
    /// None for features from outside.
    tokenizer: Option<Tokenizer>,
    /// Counts and sets of all features are summed as integers, everything else is weighed.
    plain: Option<Weight>,
    keywords: Keywords,
    hash: FeatureHash,
    /// None for families that take the hashes themselves.
    simhash: Option<SimHash>,
}

type Array<T> = Py<PyArray1<T>>;

impl RecipeCore {
    fn find_words(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<Vec<Words>> {
        let tokenizer = self.tokenizer()?;
        let texts = Texts::new(texts)?;
        detached(py, || {
            let words = |scratch: &mut Scratch, i| {
                let mut found = Words::default();
                tokenizer.words(texts.get(i).unwrap_or_default(), scratch, |text, start, end, kept| {
                    if kept {
                        found.push_part(text, start, end);
                    }
                });
                found
            };
            (0..texts.len()).into_par_iter().with_min_len(16).map_init(Scratch::default, words).collect()
        })
    }

    /// The hash of a feature.
    pub(crate) fn feature_hash(&self) -> FeatureHash {
        self.hash
    }

    fn simhash(&self) -> PyResult<&SimHash> {
        self.simhash
            .as_ref()
            .ok_or_else(|| to_python(Error::parameter("family", "minhash", "simhash for fingerprints")))
    }

    pub(crate) fn tokenizer(&self) -> PyResult<&Tokenizer> {
        self.tokenizer.as_ref().ok_or_else(|| {
            to_python(Error::parameter(
                "features",
                "given",
                "char:n or word:n to read texts; given takes features and weights",
            ))
        })
    }
}

fn same_length(name: &'static str, found: usize, expected: usize) -> PyResult<()> {
    if found == expected {
        return Ok(());
    }
    Err(to_python(Error::parameter(name, format!("{found} values"), format!("{expected} values"))))
}

fn check_places(name: &'static str, places: &[u32], texts: usize) -> PyResult<()> {
    match places.iter().find(|&&place| place as usize >= texts) {
        None => Ok(()),
        Some(place) => {
            Err(to_python(Error::parameter(name, place, format!("0 to {} with {texts} texts", texts as i64 - 1))))
        }
    }
}

/// Checks that offsets start at 0, ascend, and end at `total`.
pub(crate) fn check_offsets(offsets: &[i64], total: usize) -> PyResult<()> {
    let ends = offsets.first() == Some(&0) && offsets.last() == Some(&(total as i64));
    if ends && offsets.is_sorted() {
        return Ok(());
    }
    let found = format!("{} numbers", offsets.len());
    Err(to_python(Error::parameter("offsets", found, format!("ascending numbers from 0 to {total}"))))
}

#[pymethods]
impl RecipeCore {
    #[new]
    #[pyo3(signature = (*, features, n, norm, case, letters, cut, user_words, stop, stop_words, min_length, tags, weight, idf, top, hash, seed, bits))]
    #[allow(clippy::too_many_arguments, reason = "one argument a slot of the recipe, all by keyword")]
    fn new(
        features: &str,
        n: usize,
        norm: &str,
        case: &str,
        letters: &str,
        cut: &str,
        user_words: &str,
        stop: Vec<String>,
        mut stop_words: Vec<String>,
        min_length: usize,
        tags: Vec<String>,
        weight: &str,
        idf: Option<&IdfCore>,
        top: &str,
        hash: &str,
        seed: u64,
        bits: Option<u32>,
    ) -> PyResult<Self> {
        let kind = match features {
            "char" => Some(Kind::Char(n)),
            "word" => Some(Kind::Word(n)),
            "given" => None,
            other => return Err(to_python(Error::parameter("features", other, "char, word or given"))),
        };
        let norm = Form::new(norm).into_python()?;
        let case = Case::new(case).into_python()?;
        let letters = Letters::new(letters).into_python()?;
        for name in stop {
            stop_words.extend(stopwords::list(&name).into_python()?);
        }
        let user_words = parse_user_words(user_words).into_python()?;
        let tokenizer = kind
            .map(|kind| {
                let tokenizer = Tokenizer::new(kind, norm, case, letters, &stop_words)?;
                let user_words = tokenizer.normalise(user_words);
                tokenizer.with_words(Cut::new(cut, &user_words)?, min_length, &tags)
            })
            .transpose()
            .into_python()?;
        let (weighting, plain) = match (weight, idf) {
            ("count" | "given", _) => (Weighting::Count, Some(Weight::Count)),
            ("binary", _) => (Weighting::Binary, Some(Weight::Binary)),
            ("log", _) => (Weighting::Log, None),
            ("idf", Some(idf)) => (Weighting::Idf(idf.table.clone()), None),
            ("textrank", _) if kind == Some(Kind::Word(1)) => (Weighting::TextRank, None),
            ("textrank", _) => {
                return Err(to_python(Error::parameter("weight", "textrank", "textrank with word:1 alone")));
            }
            (other, _) => {
                let allowed = "count, binary, log, idf (with a table), textrank or given";
                return Err(to_python(Error::parameter("weight", other, allowed)));
            }
        };
        let top = Top::new(top).into_python()?;
        let plain = plain.filter(|_| top == Top::All);
        let hash = FeatureHash::new(hash, seed).into_python()?;
        let simhash = bits.map(|bits| SimHash::new(bits, hash)).transpose().into_python()?;
        Ok(Self { tokenizer, plain, keywords: Keywords::new(weighting, top), hash, simhash })
    }

    /// Fingerprints, `words` values a text, and feature counts.
    fn fingerprints(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<(Array<u64>, Array<u64>)> {
        let (tokenizer, simhash) = (self.tokenizer()?, self.simhash()?);
        let texts = Texts::new(texts)?;
        let (out, counts) = detached(py, || {
            let mut out = vec![0; texts.len() * simhash.words()];
            let mut counts = vec![0; texts.len()];
            match self.plain {
                Some(weight) => simhash.texts(tokenizer, weight, &texts, &mut out, &mut counts),
                None => simhash.keywords(tokenizer, &self.keywords, &texts, &mut out, &mut counts),
            }
            (out, counts)
        })?;
        Ok((out.into_pyarray(py).unbind(), counts.into_pyarray(py).unbind()))
    }

    /// Fingerprints of documents whose features are given: document d has features and weights
    /// `offsets[d]..offsets[d + 1]`; weights are whole numbers or floats.
    fn fingerprints_given(
        &self,
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, i64>,
        features: Vec<Vec<u8>>,
        weights: &Bound<'_, PyAny>,
    ) -> PyResult<Array<u64>> {
        let (simhash, offsets) = (self.simhash()?, offsets.as_slice()?);
        check_offsets(offsets, features.len())?;
        let mut out = vec![0; (offsets.len() - 1) * simhash.words()];
        let range = |d: usize| offsets[d] as usize..offsets[d + 1] as usize;
        let names = |d: usize| features[range(d)].iter().map(Vec::as_slice);
        let documents = || (0..offsets.len() - 1).into_par_iter();
        if let Ok(weights) = weights.extract::<PyReadonlyArray1<'_, i64>>() {
            let weights = weights.as_slice()?;
            same_length("weights", weights.len(), features.len())?;
            detached(py, || {
                out.par_chunks_mut(simhash.words()).zip(documents()).for_each(|(out, d)| {
                    simhash.integers(names(d).zip(weights[range(d)].iter().copied()), out);
                });
            })?;
        } else {
            let weights: PyReadonlyArray1<'_, f64> = weights.extract()?;
            let weights = weights.as_slice()?;
            same_length("weights", weights.len(), features.len())?;
            detached(py, || {
                out.par_chunks_mut(simhash.words()).zip(documents()).for_each(|(out, d)| {
                    simhash.floats(names(d).zip(weights[range(d)].iter().copied()), out);
                });
            })?;
        }
        Ok(out.into_pyarray(py).unbind())
    }

    /// Fingerprints of CSR rows: column c is the feature of its eight little-endian bytes.
    fn fingerprints_csr(
        &self,
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, i64>,
        columns: PyReadonlyArray1<'_, i64>,
        weights: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Array<u64>> {
        let (offsets, columns, weights) = (offsets.as_slice()?, columns.as_slice()?, weights.as_slice()?);
        let simhash = self.simhash()?;
        check_offsets(offsets, columns.len())?;
        same_length("weights", weights.len(), columns.len())?;
        let mut out = vec![0; (offsets.len() - 1) * simhash.words()];
        detached(py, || {
            out.par_chunks_mut(simhash.words()).enumerate().for_each(|(d, out)| {
                let range = offsets[d] as usize..offsets[d + 1] as usize;
                let names: Vec<[u8; 8]> = columns[range.clone()].iter().map(|column| column.to_le_bytes()).collect();
                simhash.floats(names.iter().map(<[u8; 8]>::as_slice).zip(weights[range].iter().copied()), out);
            });
        })?;
        Ok(out.into_pyarray(py).unbind())
    }

    /// The words of each text that are kept, in order.
    fn words<'py>(&self, py: Python<'py>, texts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let found = self.find_words(py, texts)?;
        let mut made = Made::new(found.iter().map(Words::len).sum());
        let lists = found.into_iter().map(|words| words.into_list(py, &mut made));
        PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
    }

    /// The same as the arrays of a list of strings: bytes, where each word ends, how many words end with each text.
    fn words_joined(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<(Array<u8>, Array<i64>, Array<i64>)> {
        let found = self.find_words(py, texts)?;
        let (bytes, ends, lists) = detached(py, || words::joined(&found))?;
        Ok((bytes.into_pyarray(py).unbind(), ends.into_pyarray(py).unbind(), lists.into_pyarray(py).unbind()))
    }

    /// The features of each text that are kept, with their weights, the heaviest first.
    fn keywords<'py>(&self, py: Python<'py>, texts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let tokenizer = self.tokenizer()?;
        let texts = Texts::new(texts)?;
        let found: Vec<(Words, Vec<f64>)> = detached(py, || {
            let find = |scratch: &mut KeywordScratch, i| {
                self.keywords.find(tokenizer, texts.get(i).unwrap_or_default(), scratch);
                let mut names = Words::default();
                scratch.features().for_each(|(name, _)| names.push(name));
                (names, scratch.features().map(|(_, weight)| weight).collect())
            };
            (0..texts.len()).into_par_iter().with_min_len(16).map_init(KeywordScratch::default, find).collect()
        })?;
        let lists = found.iter().map(|(names, weights)| {
            let names = names.strings().map(|name| PyString::new(py, name));
            PyList::new(py, names.zip(weights.iter().copied()))
        });
        PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
    }

    /// The features of one text and how often each occurs, in order of first occurrence.
    fn features(&self, py: Python<'_>, text: &str) -> PyResult<Vec<(String, u64)>> {
        let tokenizer = self.tokenizer()?;
        detached(py, || {
            let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
            let mut found: Vec<(String, u64)> = Vec::new();
            tokenizer.features(text, &mut Scratch::default(), |feature| {
                if let Some(&place) = places.get(feature) {
                    found[place].1 += 1;
                } else {
                    places.insert(feature.to_vec(), found.len());
                    found.push((String::from_utf8_lossy(feature).into_owned(), 1));
                }
            });
            found
        })
    }
}

/// Texts of a recipe that are ready to be compared, by row number.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct TextCache {
    recipe: Py<RecipeCore>,
    cache: RwLock<Cache>,
}

impl TextCache {
    fn read(&self) -> RwLockReadGuard<'_, Cache> {
        self.cache.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Cache> {
        self.cache.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl TextCache {
    #[new]
    fn new(recipe: Py<RecipeCore>, measure: &str, budget: usize) -> PyResult<Self> {
        let _ = recipe.get().tokenizer()?;
        let cache = Cache::new(Measure::new(measure).into_python()?, budget);
        Ok(Self { recipe, cache: RwLock::new(cache) })
    }

    /// Rows whose texts must be added before they can be compared.
    fn missing(&self, py: Python<'_>, rows: PyReadonlyArray1<'_, u32>) -> PyResult<Array<u32>> {
        let rows = rows.as_slice()?;
        Ok(py.detach(|| self.write().missing(rows)).into_pyarray(py).unbind())
    }

    /// Makes text i ready as row `rows[i]`.
    fn add(&self, py: Python<'_>, rows: PyReadonlyArray1<'_, u32>, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        let (rows, texts) = (rows.as_slice()?, Texts::new(texts)?);
        same_length("texts", texts.len(), rows.len())?;
        let tokenizer = self.recipe.get().tokenizer()?;
        detached_with(
            py,
            || self.write(),
            |pool, mut cache| {
                let cache: &mut Cache = &mut cache;
                pool.install(|| cache.add(tokenizer, rows, &texts));
            },
        )
    }

    /// Drops what was not needed for the longest time until the budget is met.
    fn shrink(&self, py: Python<'_>) {
        py.detach(|| self.write().shrink());
    }

    /// Similarities of rows `left[i]` and `right[i]`.
    fn similarities(
        &self,
        py: Python<'_>,
        left: PyReadonlyArray1<'_, u32>,
        right: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Array<f64>> {
        let (left, right) = (left.as_slice()?, right.as_slice()?);
        same_length("right", right.len(), left.len())?;
        let found = detached_with(
            py,
            || self.read(),
            |pool, cache| {
                let cache: &Cache = &cache;
                check_added(cache, left)?;
                check_added(cache, right)?;
                Ok(pool.install(|| cache.similarities(left, right)))
            },
        )?
        .into_python()?;
        Ok(found.into_pyarray(py).unbind())
    }

    /// First match of each document among its candidates: see `first_matches` in the core.
    #[pyo3(signature = (*, documents, offsets, candidates, threshold))]
    fn first_matches(
        &self,
        py: Python<'_>,
        documents: PyReadonlyArray1<'_, u32>,
        offsets: PyReadonlyArray1<'_, i64>,
        candidates: PyReadonlyArray1<'_, u32>,
        threshold: f64,
    ) -> PyResult<Decision> {
        let (documents, offsets, candidates) = (documents.as_slice()?, offsets.as_slice()?, candidates.as_slice()?);
        same_length("offsets", offsets.len(), documents.len() + 1)?;
        check_offsets(offsets, candidates.len())?;
        let found = detached_with(
            py,
            || self.read(),
            |pool, cache| {
                let cache: &Cache = &cache;
                check_added(cache, documents)?;
                check_added(cache, candidates)?;
                Ok(pool.install(|| absorb::first_matches(cache, threshold, documents, offsets, candidates)))
            },
        )?
        .into_python()?;
        Ok(decision(py, found))
    }
}

/// Every row must have been added before it is compared.
fn check_added(cache: &Cache, rows: &[u32]) -> nearkin_core::Result<()> {
    match cache.first_missing(rows) {
        None => Ok(()),
        Some(row) => Err(Error::parameter("row", row, "rows whose texts were added")),
    }
}

/// Visits documents in keep order, kept ones absorbing later ones: see `absorb` in the core. Without texts distance decides.
#[pyfunction]
#[pyo3(signature = (texts, *, documents, fingerprints, words, radius, threshold))]
fn absorb_in_order(
    py: Python<'_>,
    texts: Option<Py<TextCache>>,
    documents: PyReadonlyArray1<'_, u32>,
    fingerprints: PyReadonlyArray1<'_, u64>,
    words: usize,
    radius: u32,
    threshold: f64,
) -> PyResult<Decision> {
    let (documents, rows, words) = (documents.as_slice()?, fingerprints.as_slice()?, words.max(1));
    same_length("fingerprints", rows.len(), documents.len() * words)?;
    let found = detached_with(
        py,
        || texts.as_ref().map(|texts| texts.get().read()),
        |pool, cache| {
            let cache: Option<&Cache> = cache.as_deref();
            if let Some(cache) = cache {
                check_added(cache, documents)?;
            }
            let rows = Fingerprints::new(rows, words);
            Ok(pool.install(|| absorb::absorb(cache, threshold, &rows, radius, documents)))
        },
    )?
    .into_python()?;
    Ok(decision(py, found))
}

/// As `absorb_in_order` with listed candidates: see `absorb_listed` in the core.
#[pyfunction]
#[pyo3(signature = (texts, *, documents, offsets, later, similarity, threshold))]
fn absorb_listed(
    py: Python<'_>,
    texts: Option<Py<TextCache>>,
    documents: PyReadonlyArray1<'_, u32>,
    offsets: PyReadonlyArray1<'_, i64>,
    later: PyReadonlyArray1<'_, u32>,
    similarity: Option<PyReadonlyArray1<'_, f64>>,
    threshold: f64,
) -> PyResult<Decision> {
    let (documents, offsets, later) = (documents.as_slice()?, offsets.as_slice()?, later.as_slice()?);
    let similarity = similarity.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
    same_length("offsets", offsets.len(), documents.len() + 1)?;
    check_offsets(offsets, later.len())?;
    check_places("later", later, documents.len())?;
    same_length("similarity", similarity.map_or(later.len(), <[f64]>::len), later.len())?;
    let found = detached_with(
        py,
        || texts.as_ref().map(|texts| texts.get().read()),
        |pool, cache| {
            let cache: Option<&Cache> = cache.as_deref();
            if let Some(cache) = cache {
                check_added(cache, documents)?;
            }
            Ok(pool.install(|| absorb::absorb_listed(cache, threshold, documents, offsets, later, similarity)))
        },
    )?
    .into_python()?;
    Ok(decision(py, found))
}

/// By, similarity, verified pairs, candidate pairs.
type Decision = (Array<i64>, Array<f64>, u64, u64);

fn decision(py: Python<'_>, found: absorb::Matches) -> Decision {
    (found.by.into_pyarray(py).unbind(), found.similarity.into_pyarray(py).unbind(), found.verified, found.candidates)
}

/// Which of the fingerprints lie within `radius` of another one.
#[pyfunction]
fn near_in_batch(
    py: Python<'_>,
    fingerprints: PyReadonlyArray1<'_, u64>,
    words: usize,
    radius: u32,
) -> PyResult<Array<bool>> {
    let rows = fingerprints.as_slice()?;
    same_length("fingerprints", rows.len() % words.max(1), 0)?;
    let near = detached(py, || absorb::near(rows, words.max(1), radius))?;
    Ok(near.into_pyarray(py).unbind())
}

/// The smallest member of each node's connected component in the graph of edges `left[i]`–`right[i]`.
#[pyfunction]
fn components(
    py: Python<'_>,
    nodes: usize,
    left: PyReadonlyArray1<'_, u32>,
    right: PyReadonlyArray1<'_, u32>,
) -> PyResult<Array<u32>> {
    let (left, right) = (left.as_slice()?, right.as_slice()?);
    same_length("right", right.len(), left.len())?;
    check_places("left", left, nodes)?;
    check_places("right", right, nodes)?;
    Ok(detached(py, || cluster::components(nodes, left, right))?.into_pyarray(py).unbind())
}

/// XXH3-128 of each text as two 64-bit words, and its length in characters; a null is as the empty text.
#[pyfunction]
fn content_hashes(py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<(Array<u64>, Array<u64>)> {
    let texts = Texts::new(texts)?;
    let (hashes, lengths): (Vec<[u64; 2]>, Vec<u64>) = detached(py, || {
        (0..texts.len())
            .into_par_iter()
            .with_min_len(64)
            .map(|i| {
                texts.prefetch(i + 1);
                let text = texts.get(i).unwrap_or_default();
                let value = xxhash_rust::xxh3::xxh3_128(text.as_bytes());
                ([value as u64, (value >> 64) as u64], text.chars().count() as u64)
            })
            .unzip()
    })?;
    Ok((hashes.into_flattened().into_pyarray(py).unbind(), lengths.into_pyarray(py).unbind()))
}

/// The hash `name` with `seed` of each byte string, word `word` of a fingerprint.
#[pyfunction]
#[pyo3(signature = (name, values, seed=0, word=0))]
fn feature_hashes(py: Python<'_>, name: &str, values: Vec<Vec<u8>>, seed: u64, word: u32) -> PyResult<Array<u64>> {
    let hash = FeatureHash::new(name, seed).into_python()?.word(word);
    let found: Vec<u64> = detached(py, || values.iter().map(|value| hash.hash(value)).collect())?;
    Ok(found.into_pyarray(py).unbind())
}

/// Names of all feature hashes.
#[pyfunction]
fn feature_hash_names() -> Vec<&'static str> {
    nearkin_core::hash::NAMES.to_vec()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RecipeCore>()?;
    module.add_class::<TextCache>()?;
    module.add_function(wrap_pyfunction!(absorb_in_order, module)?)?;
    module.add_function(wrap_pyfunction!(absorb_listed, module)?)?;
    module.add_function(wrap_pyfunction!(near_in_batch, module)?)?;
    module.add_function(wrap_pyfunction!(components, module)?)?;
    module.add_function(wrap_pyfunction!(content_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(feature_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(feature_hash_names, module)?)?;
    Ok(())
}
