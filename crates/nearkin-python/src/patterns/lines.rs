//! Log lines: scanned into a table, templates of a table, and the templates of lines.

use std::sync::Mutex;

use nearkin_core::{Result, alloc};
use nearkin_patterns::batch::{self, Batch};
use nearkin_patterns::columns::Columns;
use nearkin_patterns::matching::{Matcher, Plans};
use nearkin_patterns::template_merge::{self, EVIDENCE_THRESHOLD, Overrides};
use nearkin_patterns::{lines, templates};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::convert::Array;
use crate::patterns::table::{FormTable, to_arrays};
use crate::patterns::{Items, Strings, add_scanned, decode, packed};
use crate::threads::{detached, reading, writing};

type Rows = (Array<i32>, Array<i64>, Array<i64>, Array<u8>);

/// Scan lines and add them to a table; return the number of skipped ones by the scanner's reasons.
#[pyfunction]
fn add_lines(py: Python<'_>, table: &Bound<'_, FormTable>, items: Items<'_>) -> PyResult<Vec<u64>> {
    let result = add_scanned(py, table.get(), &items, false, lines::scan)?;
    Ok(result[..lines::REASONS.len()].to_vec())
}

/// Return the templates of lines; empty for a skipped one.
#[pyfunction]
fn line_forms(py: Python<'_>, given: Vec<Vec<u8>>) -> Vec<Bound<'_, PyBytes>> {
    let template = |line: &Vec<u8>| {
        let mut batch = Batch::default();
        lines::scan(&mut batch, 0, line);
        let template = batch.iter().next().map(|(_, _, template, _)| template.to_vec()).unwrap_or_default();
        PyBytes::new(py, &template)
    };
    given.iter().map(template).collect()
}

fn overrides(pinned: Vec<Vec<u8>>, split: Vec<Vec<u8>>, enough: u32) -> Overrides {
    Overrides { pinned: pinned.into_iter().collect(), split: split.into_iter().collect(), threshold: enough }
}

/// Replace the templates of a table by their templates.
#[pyfunction]
fn compact_lines(
    py: Python<'_>,
    table: &Bound<'_, FormTable>,
    pinned: Vec<Vec<u8>>,
    split: Vec<Vec<u8>>,
) -> PyResult<()> {
    let (table, overrides) = (table.get(), overrides(pinned, split, EVIDENCE_THRESHOLD));
    writing(py, &table.table, false, |table| template_merge::compact(table, &overrides))
}

/// The templates of a table of line templates.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct LineTemplates {
    table: templates::TemplateTable,
    matcher: Matcher,
    /// Row of each template in the order of the bytes of the printed ones.
    rows: Vec<i32>,
    /// Plans of `find_one`.
    plans: Mutex<Plans>,
}

#[pymethods]
impl LineTemplates {
    /// Mine the templates, with templates of lines that join no other and templates of templates to split; `enough` evidence
    /// makes a word a variable.
    #[new]
    #[pyo3(signature = (table, pinned, split, enough=EVIDENCE_THRESHOLD))]
    fn new(
        py: Python<'_>,
        table: &Bound<'_, FormTable>,
        pinned: Vec<Vec<u8>>,
        split: Vec<Vec<u8>>,
        enough: u32,
    ) -> PyResult<Self> {
        let (table, overrides) = (table.get(), overrides(pinned, split, enough));
        reading(py, &table.table, |table| Self::build(table, &overrides))
    }

    /// Return the table of templates as arrays, as `FormTable.arrays` does.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = detached(py, || Columns::from_table(&self.table))?;
        to_arrays(py, columns)
    }

    /// Return for each line the row of its template (-1 for none), the end of its values, and the values by their ends.
    fn find(&self, py: Python<'_>, items: Strings<'_>) -> PyResult<Rows> {
        let items = packed(&items)?;
        let result = detached(py, || self.match_lines(items))?;
        Ok((Array(result.rows), Array(result.ends), Array(result.text_ends), Array(result.text)))
    }

    /// Return the row of the template of one line and the values of its variables, as `find` does; None for none.
    fn find_one<'py>(&self, py: Python<'py>, line: &[u8]) -> PyResult<Option<(i32, Vec<Bound<'py, PyAny>>)>> {
        let mut batch = Batch::plain();
        lines::scan(&mut batch, 0, line);
        let Some((_, hash, template, values)) = batch.iter().next() else { return Ok(None) };
        // A cache that is in use, perhaps by a thread that a fork has lost, is neither awaited nor needed.
        let (mut cache, mut other) = (self.plans.try_lock(), Plans::default());
        let plans = cache.as_deref_mut().unwrap_or(&mut other);
        let Some(plan) = plans.get(&self.matcher, template, hash) else { return Ok(None) };
        let mut text = Vec::new();
        let decoded = (0..plan.variables.len()).map(|variable| {
            text.clear();
            plan.write_value(variable, |number| batch.value(values.start + number).1, &mut text);
            decode(py, &text)
        });
        Ok(Some((self.rows[plan.row as usize], decoded.collect::<PyResult<_>>()?)))
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }
}

/// Number of rows scanned before their templates are looked up.
const ROWS: usize = 1 << 13;

#[derive(Default)]
struct LineValues {
    rows: Vec<i32>,
    ends: Vec<i64>,
    text_ends: Vec<i64>,
    text: Vec<u8>,
}

impl LineTemplates {
    fn build(table: &templates::TemplateTable, overrides: &Overrides) -> Result<Self> {
        let result = template_merge::merge_templates(table, overrides)?;
        let (printed, rows) = result.printed()?;
        Ok(Self { matcher: Matcher::new(&result)?, table: printed, rows, plans: Mutex::default() })
    }

    /// Append the templates and values of scanned lines.
    fn find_batch(&self, batch: &Batch, plans: &mut Plans, result: &mut LineValues) {
        for (row, hash, template, values) in batch.iter() {
            result.ends.resize(row, result.text_ends.len() as i64);
            if let Some(plan) = plans.get(&self.matcher, template, hash) {
                result.rows[row] = self.rows[plan.row as usize];
                for variable in 0..plan.variables.len() {
                    plan.write_value(variable, |number| batch.value(values.start + number).1, &mut result.text);
                    result.text_ends.push(result.text.len() as i64);
                }
            }
            result.ends.push(result.text_ends.len() as i64);
        }
    }

    fn match_lines(&self, items: batch::Packed<'_>) -> Result<LineValues> {
        let mut result = LineValues { rows: alloc::try_filled(-1, items.len())?, ..LineValues::default() };
        result.ends = alloc::try_with_capacity(items.len())?;
        let mut plans = Plans::default();
        // A few rows at a time, so that the scanned data is still in the cache.
        for start in (0..items.len()).step_by(ROWS) {
            let rows = start..(start + ROWS).min(items.len());
            for batch in batch::scan_rows(items, rows, true, lines::scan)? {
                self.find_batch(&batch, &mut plans, &mut result);
            }
        }
        result.ends.resize(items.len(), result.text_ends.len() as i64);
        Ok(result)
    }
}

register! {
    [LineTemplates] add_lines, compact_lines, line_forms
}
