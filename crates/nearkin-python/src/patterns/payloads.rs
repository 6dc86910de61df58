//! Payloads: scanned into a table of templates, parsed one by one, grouped by their templates: [`nearkin_patterns::payloads`].

use nearkin_core::{Error, Result, alloc};
use nearkin_patterns::batch::Packed;
use nearkin_patterns::payloads::{groups, scripts, templates};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;

use crate::convert::Slice;
use crate::errors::IntoPython;
use crate::patterns::table::FormTable;
use crate::patterns::{Strings, add_scanned, packed};
use crate::threads::detached;

/// Byte strings for Python: offsets and data.
type Texts<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>);

/// Add payloads to a table; return the number of skipped ones by reason.
#[pyfunction]
#[pyo3(signature = (table, items, times, sources))]
fn add_payloads(
    py: Python<'_>,
    table: &Bound<'_, FormTable>,
    items: Strings<'_>,
    times: Option<Slice<i64>>,
    sources: Option<Strings<'_>>,
) -> PyResult<Vec<u64>> {
    add_scanned(py, table.get(), &items, times.as_ref(), sources.as_ref(), false, templates::scan)
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

/// Return for each template text the index of the nearest centroid that reaches the threshold, or -1.
#[pyfunction]
fn nearest_forms<'py>(
    py: Python<'py>,
    centres: Strings<'py>,
    texts: Strings<'py>,
    threshold: f64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let all =
        |strings: Packed<'_>| -> Vec<Vec<u8>> { (0..strings.len()).map(|row| strings.get(row).to_vec()).collect() };
    let (centres, texts) = (all(packed(&centres)?), all(packed(&texts)?));
    let result = detached(py, || groups::nearest(&centres, &texts, threshold))?;
    let indices: Vec<i64> = result.into_iter().map(|index| index.map_or(-1, i64::from)).collect();
    Ok(indices.into_pyarray(py))
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
    add_payloads, form_similarity, forms_of, group_forms, nearest_forms, read_payload, script_features
}
