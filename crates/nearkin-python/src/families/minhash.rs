//! Comparison of signatures; recipes compute them ([`crate::recipe`]).

use nearkin_core::families::minhash::{self, Value};
use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::convert::Array;
use crate::threads::detached_unless;

/// Maximum number of values that the calling thread compares: about ten microseconds.
const FEW: usize = 1 << 16;

/// Return for each row the number of `num_perm` values in which two arrays differ; an array of one row is compared with
/// all rows of the other.
#[pyfunction]
fn signature_differences(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    num_perm: usize,
) -> PyResult<Array<u16>> {
    fn of<V: Value + Element>(
        py: Python<'_>,
        a: &PyReadonlyArray1<'_, V>,
        b: &PyReadonlyArray1<'_, V>,
        num_perm: usize,
    ) -> PyResult<Vec<u16>> {
        let (a, b) = (a.as_slice()?, b.as_slice()?);
        let few = a.len().max(b.len()) <= FEW;
        detached_unless(py, few, || minhash::differences(a, b, num_perm))
    }
    let result = match (a.extract(), b.extract()) {
        (Ok(a), Ok(b)) => of::<u32>(py, &a, &b, num_perm)?,
        _ => of::<u64>(py, &a.extract()?, &b.extract()?, num_perm)?,
    };
    Ok(Array(result))
}

register! {
    signature_differences
}
