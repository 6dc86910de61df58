//! Log lines: scanned into a table, templates of a table, and the templates of lines.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned by the call")]

use nearkin_core::{Result, alloc};
use nearkin_patterns::batch::{self, Batch};
use nearkin_patterns::columns::Columns;
use nearkin_patterns::matching::{Matcher, Piece, Plans};
use nearkin_patterns::merging::{self, ENOUGH, Orders};
use nearkin_patterns::{forms, lines};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::IntoPython;
use crate::patterns::table::{FormTable, arrays_of};
use crate::patterns::{Strings, add_scanned, packed};
use crate::threads::{detached, detached_with};

type Array<T> = Py<PyArray1<T>>;
type Rows = (Array<i32>, Array<i64>, Array<i64>, Array<u8>);

/// Scan lines and add them to a table; return the number of skipped ones by the scanner's reasons.
#[pyfunction]
#[pyo3(signature = (table, items, times=None, sources=None))]
fn add_lines(
    py: Python<'_>,
    table: &Bound<'_, FormTable>,
    items: Strings<'_>,
    times: Option<PyReadonlyArray1<'_, i64>>,
    sources: Option<Strings<'_>>,
) -> PyResult<Vec<u64>> {
    let found = add_scanned(py, table.get(), &items, times.as_ref(), sources.as_ref(), lines::scan)?;
    Ok(found[..lines::REASONS.len()].to_vec())
}

/// Return the forms of lines; empty for a skipped one.
#[pyfunction]
fn line_forms(py: Python<'_>, given: Vec<Vec<u8>>) -> Vec<Bound<'_, PyBytes>> {
    let form = |line: &Vec<u8>| {
        let mut batch = Batch::default();
        lines::scan(&mut batch, 0, line);
        let form = batch.iter().next().map(|(_, _, form, _)| form.to_vec()).unwrap_or_default();
        PyBytes::new(py, &form)
    };
    given.iter().map(form).collect()
}

fn orders(pinned: Vec<Vec<u8>>, split: Vec<Vec<u8>>, enough: u32) -> Orders {
    Orders { pinned: pinned.into_iter().collect(), split: split.into_iter().collect(), enough }
}

/// Replace the forms of a table by their templates.
#[pyfunction]
fn compact_lines(
    py: Python<'_>,
    table: &Bound<'_, FormTable>,
    pinned: Vec<Vec<u8>>,
    split: Vec<Vec<u8>>,
) -> PyResult<()> {
    let (table, orders) = (table.get(), orders(pinned, split, ENOUGH));
    detached_with(
        py,
        || table.table.write(),
        |pool, mut table| {
            let table: &mut forms::FormTable = &mut table;
            pool.install(|| merging::compact(table, &orders))
        },
    )
}

/// The templates of a table of line forms.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct LineTemplates {
    table: forms::FormTable,
    matcher: Matcher,
    /// Row of each template in the order of its bytes.
    rows: Vec<i32>,
}

#[pymethods]
impl LineTemplates {
    /// Mine the templates, with forms of lines that join no other and forms of templates to split; `enough` evidence
    /// makes a word a variable.
    #[new]
    #[pyo3(signature = (table, pinned, split, enough=ENOUGH))]
    fn new(
        py: Python<'_>,
        table: &Bound<'_, FormTable>,
        pinned: Vec<Vec<u8>>,
        split: Vec<Vec<u8>>,
        enough: u32,
    ) -> PyResult<Self> {
        let (table, orders) = (table.get(), orders(pinned, split, enough));
        detached_with(
            py,
            || table.table.read(),
            |pool, table| {
                let table: &forms::FormTable = &table;
                pool.install(|| Self::of(table, &orders))
            },
        )
    }

    /// Return the table of templates as arrays, as `FormTable.arrays` does.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = detached(py, || Columns::of(&self.table))?.into_python()?;
        arrays_of(py, columns)
    }

    /// Return for each line the row of its template (-1 for none), the end of its values, and the values by their ends.
    fn find(&self, py: Python<'_>, items: Strings<'_>) -> PyResult<Rows> {
        let items = packed(&items)?;
        let found = detached(py, || self.found(items))?.into_python()?;
        Ok((
            found.rows.into_pyarray(py).unbind(),
            found.ends.into_pyarray(py).unbind(),
            found.text_ends.into_pyarray(py).unbind(),
            found.text.into_pyarray(py).unbind(),
        ))
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }
}

/// Number of rows scanned before their templates are looked up.
const ROWS: usize = 1 << 13;

#[derive(Default)]
struct Found {
    rows: Vec<i32>,
    ends: Vec<i64>,
    text_ends: Vec<i64>,
    text: Vec<u8>,
}

impl LineTemplates {
    fn of(table: &forms::FormTable, orders: &Orders) -> Result<Self> {
        let found = merging::templates(table, orders)?.table;
        let mut rows = alloc::try_filled(0, found.len())?;
        for (row, place) in found.sorted()?.into_iter().enumerate() {
            rows[place as usize] = row as i32;
        }
        Ok(Self { matcher: Matcher::new(&found)?, table: found, rows })
    }

    /// Append the templates and values of scanned lines.
    fn find_batch(&self, batch: &Batch, plans: &mut Plans, found: &mut Found) {
        for (row, hash, form, values) in batch.iter() {
            found.ends.resize(row, found.text_ends.len() as i64);
            if let Some(plan) = plans.get(&self.matcher, form, hash) {
                found.rows[row] = self.rows[plan.template as usize];
                for variable in &plan.variables {
                    for piece in variable {
                        found.text.extend_from_slice(match piece {
                            Piece::Literal(bytes) => bytes,
                            Piece::Value(number) => batch.value(values.start + number).1,
                        });
                    }
                    found.text_ends.push(found.text.len() as i64);
                }
            }
            found.ends.push(found.text_ends.len() as i64);
        }
    }

    fn found(&self, items: batch::Packed<'_>) -> Result<Found> {
        let mut found = Found { rows: alloc::try_filled(-1, items.len())?, ..Found::default() };
        found.ends = alloc::try_with_capacity(items.len())?;
        let mut plans = Plans::default();
        // A few rows at a time, so that the scanned data is still in the cache.
        for start in (0..items.len()).step_by(ROWS) {
            let rows = start..(start + ROWS).min(items.len());
            for batch in batch::scan_rows(items, rows, true, lines::scan)? {
                self.find_batch(&batch, &mut plans, &mut found);
            }
        }
        found.ends.resize(items.len(), found.text_ends.len() as i64);
        Ok(found)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LineTemplates>()?;
    module.add_function(wrap_pyfunction!(add_lines, module)?)?;
    module.add_function(wrap_pyfunction!(compact_lines, module)?)?;
    module.add_function(wrap_pyfunction!(line_forms, module)?)
}
