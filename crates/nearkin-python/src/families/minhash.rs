//! Comparison of signatures; recipes compute them ([`crate::recipe`]).

use nearkin_core::families::minhash;
use nearkin_core::{Error, alloc};
use pyo3::prelude::*;

use crate::convert::{Array, Signatures, Slice, check_places};
use crate::threads::{detached, detached_unless};

/// Maximum number of values that the calling thread compares: about ten microseconds.
const FEW: usize = 1 << 16;

/// Return for each row the number of `num_perm` values in which two arrays differ; an array of one row is compared with
/// all rows of the other.
#[pyfunction]
fn signature_differences(
    py: Python<'_>,
    a: Signatures<'_>,
    b: Signatures<'_>,
    num_perm: usize,
) -> PyResult<Array<u16>> {
    let few = a.len().max(b.len()) <= FEW;
    let differences = || match (&a, &b) {
        (Signatures::Narrow(a), Signatures::Narrow(b)) => minhash::differences(a, b, num_perm),
        (Signatures::Wide(a), Signatures::Wide(b)) => minhash::differences(a, b, num_perm),
        _ => Err(Error::mismatch("bits of a value", "a", "b")),
    };
    detached_unless(py, few, differences).map(Array)
}

/// Return for each pair of rows the first of their `bands` keys that are equal, or `bands` if none is.
#[pyfunction]
fn first_equal_keys(
    py: Python<'_>,
    keys: Slice<u64>,
    bands: usize,
    left: Slice<u32>,
    right: Slice<u32>,
) -> PyResult<Array<u32>> {
    for (name, rows) in [("left", &left), ("right", &right)] {
        check_places(name, rows, keys.len() / bands.max(1))?;
    }
    let row = |at: u32| keys[at as usize * bands..][..bands].iter();
    let first = |(&a, &b)| row(a).zip(row(b)).position(|(x, y)| x == y).unwrap_or(bands) as u32;
    detached(py, || {
        if left.len() != right.len() {
            return Err(Error::mismatch("number of rows", left.len(), right.len()));
        }
        alloc::try_collect(left.iter().zip(right.iter()).map(first))
    })
    .map(Array)
}

/// Return for each signature the keys of its bands and its first `bits` bits: see `minhash::keys` in the core.
#[pyfunction]
fn band_keys(
    py: Python<'_>,
    signatures: Signatures<'_>,
    num_perm: usize,
    bands: usize,
    rows: usize,
    bits: usize,
) -> PyResult<Array<u64>> {
    let work = || match &signatures {
        Signatures::Narrow(values) => minhash::keys::keys(values, num_perm, bands, rows, bits),
        Signatures::Wide(values) => minhash::keys::keys(values, num_perm, bands, rows, bits),
    };
    detached_unless(py, signatures.len() <= FEW, work).map(Array)
}

register! {
    band_keys, first_equal_keys, signature_differences
}
