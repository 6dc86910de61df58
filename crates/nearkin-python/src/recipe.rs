//! `RecipeCore`: a recipe compiled for use, and the batch functions that it determines.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned by the call")]

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nearkin_core::Error;
use nearkin_core::families::simhash::{SimHash, Weight};
use nearkin_core::hash::FeatureHash;
use nearkin_core::text::cut::Cut;
use nearkin_core::text::idf::DocumentFrequencies;
use nearkin_core::text::jieba::parse_user_words;
use nearkin_core::text::keywords::{KeywordScratch, Keywords, Top, Weighting};
use nearkin_core::text::stopwords;
use nearkin_core::text::tokenizer::{Kind, Scratch, TextSource, Tokenizer};
use nearkin_core::text::unicode::{Case, Form, Letters};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use rayon::prelude::*;

use crate::convert::texts::Texts;
use crate::convert::{check_offsets, same_length};
use crate::errors::{IntoPython, to_python};
use crate::text::idf::IdfCore;
use crate::text::words::{self, Made, Words};
use crate::threads::{detached, detached_with};

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

#[pymethods]
impl RecipeCore {
    #[new]
    #[pyo3(signature = (*, features, n, norm, case, letters, cut, user_words, stop, stop_words, min_length, tags, weight, idf, top, hash, seed, bits))]
    #[allow(clippy::too_many_arguments, reason = "one argument per slot of the recipe, all by keyword")]
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

    /// Fingerprints, `words` values per text, and feature counts.
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

/// Document frequencies of a recipe's features, while they are counted.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct IdfCounter {
    recipe: Py<RecipeCore>,
    counted: Mutex<DocumentFrequencies>,
}

#[pymethods]
impl IdfCounter {
    #[new]
    fn new(recipe: Py<RecipeCore>) -> PyResult<Self> {
        let _ = recipe.get().tokenizer()?;
        Ok(Self { recipe, counted: Mutex::new(DocumentFrequencies::default()) })
    }

    /// Counts the features of more texts; a null is no document.
    fn add(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        let texts = Texts::new(texts)?;
        let tokenizer = self.recipe.get().tokenizer()?;
        detached_with(
            py,
            || self.counted.lock().unwrap_or_else(PoisonError::into_inner),
            |pool, mut counted| {
                let counted: &mut DocumentFrequencies = &mut counted;
                pool.install(|| counted.add(tokenizer, &texts));
            },
        )
    }

    /// Documents, features of at least `min_df` of them sorted by their bytes, and their document frequencies.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        min_df: u32,
    ) -> PyResult<(u64, Bound<'py, PyList>, Bound<'py, PyArray1<u32>>)> {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let features = counted.features(min_df).into_python()?;
        let names = PyList::new(py, features.iter().map(|(name, _)| PyBytes::new(py, name)))?;
        let counts: Vec<u32> = features.iter().map(|&(_, count)| count).collect();
        Ok((counted.documents(), names, counts.into_pyarray(py)))
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RecipeCore>()?;
    module.add_class::<IdfCounter>()?;
    module.add_function(wrap_pyfunction!(feature_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(feature_hash_names, module)?)?;
    Ok(())
}
