//! Comparison of signatures; recipes compute them ([`crate::recipe`]).

use nearkin_core::Error;
use nearkin_core::families::minhash;
use pyo3::prelude::*;

use crate::convert::{Array, Signatures};
use crate::threads::detached_unless;

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
    band_keys, signature_differences
}
