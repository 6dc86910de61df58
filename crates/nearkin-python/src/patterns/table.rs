//! `FormTable` and saved states.

use std::path::PathBuf;

use nearkin_core::{Error, alloc};
use nearkin_patterns::columns::{Columns, STATE_KIND, SampleColumns};
use nearkin_patterns::kinds::Kind;
use nearkin_patterns::templates;
use numpy::Element;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::convert::{Array, Slice, read_arrays, write_arrays};
use crate::errors::{IntoPython, to_python};
use crate::locks::Lock;
use crate::threads::{detached, detached_with, reading};

/// Templates with wildcards, and their statistics: see `FormTable` in the core.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct FormTable {
    pub(crate) table: Lock<templates::TemplateTable>,
}

#[pymethods]
impl FormTable {
    /// Create an empty table: samples of `sample` values, at most `max_forms` templates.
    #[new]
    fn new(sample: usize, max_forms: usize) -> PyResult<Self> {
        Ok(Self { table: Lock::new(templates::TemplateTable::new(sample, max_forms).into_python()?) })
    }

    /// Create the table from arrays of `arrays`; `gone` are the counts of evicted templates.
    #[staticmethod]
    fn from_arrays(
        py: Python<'_>,
        arrays: &Bound<'_, PyDict>,
        sample: usize,
        max_forms: usize,
        gone: (u64, u64),
    ) -> PyResult<Self> {
        let columns = columns(arrays)?;
        let table = detached(py, || columns.table(sample, max_forms, gone))?;
        Ok(Self { table: Lock::new(table) })
    }

    /// Return the table as arrays, by name, in the order of the templates' bytes.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_arrays(py, reading(py, &self.table, Columns::from_table)?)
    }

    /// Add all templates of another table.
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        // A copy, so that a table can be added to itself and no call waits for two locks.
        let other = other.get();
        let other = detached_with(py, || other.table.read(), |_, table| Ok(table.clone()))?;
        py.detach(|| self.table.write()?.merge(&other)).into_python()
    }

    /// Create another table of the same templates.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let table = detached_with(py, || self.table.read(), |_, table| Ok(table.clone()))?;
        Ok(Self { table: Lock::new(table) })
    }

    /// Number of items of the stored templates.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| Ok(self.table.read()?.count())).into_python()
    }

    /// Number of evicted templates, and of their items.
    fn gone(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        py.detach(|| Ok(self.table.read()?.evicted())).into_python()
    }

    /// Bytes of memory.
    fn memory(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| Ok(self.table.read()?.memory())).into_python()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| Ok(self.table.read()?.len())).into_python()
    }
}

/// Extract the values of an array of a dictionary for the core.
fn array<T: Element + Copy>(arrays: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<T>> {
    let missing =
        || to_python(Error::Corrupt { place: "the table of templates".to_owned(), reason: format!("no {name}") });
    let result: Slice<T> = arrays.get_item(name)?.ok_or_else(missing)?.extract()?;
    alloc::try_copy(&result).into_python()
}

fn samples(arrays: &Bound<'_, PyDict>, name: &str) -> PyResult<SampleColumns> {
    Ok(SampleColumns {
        ends: array(arrays, &format!("{name}_ends"))?,
        hashes: array(arrays, &format!("{name}_hashes"))?,
        text_ends: array(arrays, &format!("{name}_text_ends"))?,
        text: array(arrays, &format!("{name}_text"))?,
    })
}

fn set_samples(arrays: &Bound<'_, PyDict>, name: &str, samples: SampleColumns) -> PyResult<()> {
    arrays.set_item(format!("{name}_ends"), Array(samples.ends))?;
    arrays.set_item(format!("{name}_hashes"), Array(samples.hashes))?;
    arrays.set_item(format!("{name}_text_ends"), Array(samples.text_ends))?;
    arrays.set_item(format!("{name}_text"), Array(samples.text))
}

/// Define the conversions of a table from these arrays by name, and to them.
macro_rules! define_conversions {
    ($($column:ident = $name:literal),+; $($samples:ident = $prefix:literal),+) => {
        fn columns(arrays: &Bound<'_, PyDict>) -> PyResult<Columns> {
            // Files of the first format have no profiles.
            let profiles = arrays.contains("profile_ends")?;
            Ok(Columns {
                $($column: array(arrays, $name)?,)+
                $($samples: samples(arrays, $prefix)?,)+
                profile_ends: if profiles { array(arrays, "profile_ends")? } else { Vec::new() },
                profile_keys: if profiles { array(arrays, "profile_keys")? } else { Vec::new() },
                profile_counts: if profiles { array(arrays, "profile_counts")? } else { Vec::new() },
            })
        }

        /// Return a table's arrays by name.
        pub(crate) fn to_arrays(py: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
            let arrays = PyDict::new(py);
            $(arrays.set_item($name, Array(columns.$column))?;)+
            $(set_samples(&arrays, $prefix, columns.$samples)?;)+
            arrays.set_item("profile_ends", Array(columns.profile_ends))?;
            arrays.set_item("profile_keys", Array(columns.profile_keys))?;
            arrays.set_item("profile_counts", Array(columns.profile_counts))?;
            Ok(arrays)
        }
    };
}

define_conversions! {
    template_ends = "form_ends", templates = "forms", counts = "counts", first = "first", last = "last",
    day_ends = "day_ends", days = "days", day_counts = "day_counts", wildcard_ends = "hole_ends";
    examples = "examples", sources = "sources", wildcards = "holes"
}

/// Return the names of all types by the numbers in wildcards.
#[pyfunction]
fn kind_names() -> Vec<(u8, &'static str)> {
    Kind::ALL.map(|kind| (kind as u8, kind.name())).to_vec()
}

/// Write a state's description and arrays to a file, replacing it atomically.
#[pyfunction]
fn write_patterns(py: Python<'_>, path: PathBuf, text: &str, values: Vec<Slice<u8>>) -> PyResult<()> {
    write_arrays(py, &path, STATE_KIND, text, &values)
}

/// Read a file that `write_patterns` wrote.
#[pyfunction]
fn read_patterns(py: Python<'_>, path: PathBuf) -> PyResult<(String, Vec<Py<PyBytes>>)> {
    read_arrays(py, &path, STATE_KIND)
}

register! {
    [FormTable] kind_names, read_patterns, write_patterns
}
