//! Payloads: scanned into a table of templates, parsed one by one, grouped by their templates: [`nearkin_patterns::payloads`].

use std::collections::HashMap;
use std::sync::Mutex;

use nearkin_core::cancel::CancelToken;
use nearkin_core::parallel::prelude::*;
use nearkin_core::{Error, Result, alloc, error};
use nearkin_patterns::payloads::{groups, scripts, templates};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::Slice;
use crate::errors::IntoPython;
use crate::patterns::table::FormTable;
use crate::patterns::{Items, Strings, add_scanned, decode, packed};
use crate::threads::detached;

/// Byte strings for Python: offsets and data.
type Texts<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>);

/// Add payloads to a table; return the number of skipped ones by reason.
#[pyfunction]
fn add_payloads(py: Python<'_>, table: &Bound<'_, FormTable>, items: Items<'_>) -> PyResult<Vec<u64>> {
    add_scanned(py, table.get(), &items, false, templates::scan)
}

/// A payload's template, layers, head and tail, values of the template, and the decoded text.
type Reading<'py> =
    (String, String, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>, Bound<'py, PyBytes>);

/// Analyze one payload.
#[pyfunction]
fn read_payload<'py>(py: Python<'py>, item: &[u8]) -> Reading<'py> {
    let result = templates::read(item);
    let values = result.values.iter().map(|value| PyBytes::new(py, value)).collect();
    let (head, tail) = (PyBytes::new(py, &result.head), PyBytes::new(py, &result.tail));
    (result.template, result.layers, head, tail, values, PyBytes::new(py, &result.decoded))
}

/// Return the text of each template of a table in the order of `FormTable.arrays`, and the row of its group's centroid.
#[pyfunction]
fn group_forms<'py>(
    py: Python<'py>,
    forms: Strings<'py>,
    pinned: Slice<'py, bool>,
    threshold: f64,
) -> PyResult<(Texts<'py>, Bound<'py, PyArray1<u32>>)> {
    let forms = packed(&forms)?;
    if pinned.len() != forms.len() {
        return Err(Error::parameter("pinned", pinned.len(), format!("{} values, one per form", forms.len())))
            .into_python();
    }
    let work = || -> Result<_> {
        let texts: Vec<Vec<u8>> =
            (0..forms.len()).map(|row| groups::template_text(forms.get(row))).collect::<Result<_>>()?;
        let centroids = groups::group(&texts, &pinned, threshold)?;
        Ok((texts, centroids))
    };
    let (texts, centroids) = detached(py, work)?;
    Ok((for_python(py, &texts).into_python()?, centroids.into_pyarray(py)))
}

/// Return the template of each payload as text; empty for an empty payload.
#[pyfunction]
fn forms_of<'py>(py: Python<'py>, items: Strings<'py>) -> PyResult<Texts<'py>> {
    let items = packed(&items)?;
    let template = |row| templates::read(items.get(row)).template.into_bytes();
    let texts: Vec<Vec<u8>> = detached(py, || Ok((0..items.len()).into_par_iter().map(template).collect()))?;
    for_python(py, &texts).into_python()
}

/// The groups of a state of payloads.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct PayloadMatcher {
    groups: groups::GroupMatcher,
    /// Groups and working memory of `find_one`.
    cache: Mutex<GroupCache>,
}

/// Groups of templates that the state does not have.
#[derive(Default)]
struct GroupCache {
    probe: groups::Probe,
    groups: HashMap<String, Option<u32>>,
    /// Size of the templates in bytes.
    size: usize,
}

/// Maximum size of the templates in a cache in bytes; a larger cache is emptied.
const MAX_CACHE: usize = 1 << 25;

/// The group of a payload, its template, and the values of its variables: layers, head, tail, and those of the template.
type Found<'py> = (u32, String, Vec<Bound<'py, PyAny>>);

#[pymethods]
impl PayloadMatcher {
    /// Index the texts of centroids; `texts` are all templates of the state and `members` their groups, by the number of
    /// the centroid; templates in `pinned` join no group.
    #[new]
    fn new(
        py: Python<'_>,
        centroids: Strings<'_>,
        texts: Strings<'_>,
        members: Slice<u32>,
        pinned: Strings<'_>,
        threshold: f64,
    ) -> PyResult<Self> {
        let (centroids, texts, pinned) = (packed(&centroids)?, packed(&texts)?, packed(&pinned)?);
        error::check_length("members", members.len(), texts.len()).into_python()?;
        let work = || -> Result<_> {
            let centroids: Vec<Vec<u8>> =
                alloc::try_collect((0..centroids.len()).map(|row| centroids.get(row).to_vec()))?;
            let pinned = (0..pinned.len()).map(|row| (pinned.get(row).into(), None));
            let members = (0..texts.len()).map(|row| (texts.get(row).into(), Some(members[row])));
            groups::GroupMatcher::new(&centroids, pinned.chain(members), threshold)
        };
        Ok(Self { groups: detached(py, work)?, cache: Mutex::default() })
    }

    /// Return the group of each template, by its text; -1 for none.
    fn find<'py>(&self, py: Python<'py>, texts: Strings<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let texts = packed(&texts)?;
        let work = || -> Result<Vec<i64>> {
            let (cancel, mut probe) = (CancelToken::current(), groups::Probe::default());
            let group = |row| {
                cancel.check()?;
                Ok(self.groups.find(texts.get(row), &mut probe).map_or(-1, i64::from))
            };
            (0..texts.len()).map(group).collect()
        };
        Ok(detached(py, work)?.into_pyarray(py))
    }

    /// Return the group of one payload, its template and the values of its variables; None without a group.
    fn find_one<'py>(&self, py: Python<'py>, item: &[u8]) -> PyResult<Option<Found<'py>>> {
        let templates::Reading { template, layers, head, tail, values, .. } = templates::read(item);
        // A cache that is in use, perhaps by a thread that a fork has lost, is neither awaited nor needed.
        let (mut cache, mut other) = (self.cache.try_lock(), GroupCache::default());
        let group = cache.as_deref_mut().unwrap_or(&mut other).find(&self.groups, &template);
        let Some(group) = group else { return Ok(None) };
        let hidden = [layers.into_bytes(), head, tail];
        let values = hidden.iter().chain(&values).map(|value| decode(py, value)).collect::<PyResult<_>>()?;
        Ok(Some((group, template, values)))
    }
}

impl GroupCache {
    fn find(&mut self, groups: &groups::GroupMatcher, template: &str) -> Option<u32> {
        if let Some(&group) = self.groups.get(template) {
            return group;
        }
        let group = groups.find(template.as_bytes(), &mut self.probe);
        self.size += template.len() + size_of::<(String, Option<u32>)>();
        if self.size > MAX_CACHE {
            *self = Self::default();
        }
        self.groups.insert(template.to_owned(), group);
        group
    }
}

/// Return the similarity of two templates from their texts.
#[pyfunction]
fn form_similarity(left: &str, right: &str) -> f64 {
    groups::similarity(left.as_bytes(), right.as_bytes())
}

/// Return the features of each file that is a short text, ascending; None for any other.
#[pyfunction]
fn script_features<'py>(py: Python<'py>, files: Strings<'py>) -> PyResult<Vec<Option<Bound<'py, PyArray1<u64>>>>> {
    let files = packed(&files)?;
    let result: Vec<Option<Vec<u64>>> =
        detached(py, || Ok((0..files.len()).into_par_iter().map(|row| scripts::features(files.get(row))).collect()))?;
    Ok(result.into_iter().map(|features| Some(features?.into_pyarray(py))).collect())
}

fn for_python<'py>(py: Python<'py>, texts: &[Vec<u8>]) -> Result<Texts<'py>> {
    let mut offsets = alloc::try_with_capacity(texts.len() + 1)?;
    let mut data = alloc::try_with_capacity(texts.iter().map(Vec::len).sum())?;
    offsets.push(0);
    for text in texts {
        data.extend_from_slice(text);
        offsets.push(data.len() as i64);
    }
    Ok((offsets.into_pyarray(py), data.into_pyarray(py)))
}

register! {
    [PayloadMatcher] add_payloads, form_similarity, forms_of, group_forms, read_payload, script_features
}
