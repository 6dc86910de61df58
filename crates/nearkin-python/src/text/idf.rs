//! `IdfCore`: tables of inverse document frequencies ([`nearkin_core::text`]).

use nearkin_core::alloc;
use nearkin_core::text::idf::smoothed;
use nearkin_core::text::keywords::IdfTable;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::convert::Slice;
use crate::errors::IntoPython;
use crate::threads::detached;

/// A table of a recipe's weights.
#[pyclass(frozen, module = "nearkin._core")]
pub(crate) struct IdfCore {
    pub(crate) table: IdfTable,
}

#[pymethods]
impl IdfCore {
    /// Create the table of `features` and their `values`; others have the weight `unknown`.
    #[new]
    fn new(py: Python<'_>, features: Vec<Vec<u8>>, values: Slice<f64>, unknown: f64) -> PyResult<Self> {
        let table = detached(py, || IdfTable::fitted(&features, &values, unknown))?;
        Ok(Self { table })
    }

    /// Return a built-in table: `jieba` or `cppjieba`.
    #[staticmethod]
    fn named(name: &str) -> PyResult<Self> {
        Ok(Self { table: IdfTable::named(name).into_python()? })
    }

    /// Return the values of features.
    fn values<'py>(&self, py: Python<'py>, features: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let values = || {
            let table = self.table.get()?;
            alloc::try_collect(features.iter().map(|feature| table.get(feature)))
        };
        let result = detached(py, values)?;
        Ok(result.into_pyarray(py))
    }
}

/// Return the smoothed value of each document frequency.
#[pyfunction]
fn idf_values<'py>(
    py: Python<'py>,
    documents: u64,
    frequencies: Slice<'py, u32>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = frequencies.iter().map(|&df| smoothed(documents, df.into()));
    let values: Vec<f64> = alloc::try_collect(values).into_python()?;
    Ok(values.into_pyarray(py))
}

register! {
    [IdfCore] idf_values
}
