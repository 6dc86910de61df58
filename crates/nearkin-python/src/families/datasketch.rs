//! `DatasketchCore`: the permutations of datasketch ([`nearkin_core::families::datasketch`]). Hashing is implemented in
//! the core.

use nearkin_core::alloc;
use nearkin_core::families::datasketch::{Permutations, Values};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::convert::Slice;
use crate::errors::IntoPython;
use crate::threads::detached_unless;

/// Maximum number of products that the calling thread computes: about ten microseconds.
const FEW: usize = 1 << 18;

/// The functions of a scheme; `nearkin.families.datasketch` draws their numbers.
#[pyclass(frozen, module = "nearkin._core")]
struct DatasketchCore {
    permutations: Permutations,
    num_perm: usize,
}

fn array_of(py: Python<'_>, values: Values) -> Py<PyAny> {
    match values {
        Values::Narrow(values) => values.into_pyarray(py).into_any().unbind(),
        Values::Wide(values) => values.into_pyarray(py).into_any().unbind(),
    }
}

#[pymethods]
impl DatasketchCore {
    #[new]
    fn new(scheme: &str, factors: Slice<u64>, terms: Slice<u64>) -> PyResult<Self> {
        let permutations = Permutations::new(scheme, &factors, &terms).into_python()?;
        Ok(Self { permutations, num_perm: factors.len() })
    }

    /// Return the signatures of sets of features.
    fn signatures_given(
        &self,
        py: Python<'_>,
        offsets: Slice<i64>,
        features: &Bound<'_, PyList>,
    ) -> PyResult<Py<PyAny>> {
        let (mut ends, mut bytes) = (alloc::try_with_capacity(features.len() + 1).into_python()?, Vec::new());
        ends.push(0);
        for feature in features {
            alloc::try_extend(&mut bytes, feature.cast::<PyBytes>()?.as_bytes()).into_python()?;
            ends.push(bytes.len());
        }
        let few = features.len().saturating_mul(self.num_perm) <= FEW && bytes.len() <= FEW;
        let result = detached_unless(py, few, || self.permutations.features(&offsets, &ends, &bytes))?;
        Ok(array_of(py, result))
    }

    /// Return the signatures of sets of hashes.
    fn signatures_hashed(&self, py: Python<'_>, offsets: Slice<i64>, hashes: Slice<u64>) -> PyResult<Py<PyAny>> {
        let few = hashes.len().saturating_mul(self.num_perm) <= FEW;
        let result = detached_unless(py, few, || self.permutations.hashes(&offsets, &hashes))?;
        Ok(array_of(py, result))
    }
}

register! {
    [DatasketchCore]
}
