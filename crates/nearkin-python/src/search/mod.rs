//! The cores of the indexes, each behind a lock: arrays in and out.

mod bands;
mod components;
mod digests;
mod hamming;
mod lsh;

use std::panic::{AssertUnwindSafe, catch_unwind};

use nearkin_core::Error;
use nearkin_core::search::hamming::Existing;
use pyo3::prelude::*;

use crate::errors::to_python;

/// The rule for ids that are there, by its name.
pub(crate) fn parse_existing(name: &str) -> PyResult<Existing> {
    match name {
        "error" => Ok(Existing::Error),
        "update" => Ok(Existing::Update),
        "skip" => Ok(Existing::Skip),
        _ => {
            let found = format!("{name:?}");
            Err(to_python(Error::parameter("existing", found, "\"error\", \"update\" or \"skip\"")))
        }
    }
}

/// Calls `work`; if it panics over a mapped file, whose contents are checked by `verify` alone, that is an error about the
/// file.
fn guarded<T>(mapped: bool, work: impl FnOnce() -> nearkin_core::Result<T>) -> nearkin_core::Result<T> {
    if !mapped {
        return work();
    }
    // The lock is poisoned by a panic under a write, and taken all the same: the arrays of the file are never written.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let reason = "its arrays do not hold together; run verify() and restore it from a copy";
        Err(Error::Corrupt { place: "the opened index".to_owned(), reason: reason.to_owned() })
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    bands::register(module)?;
    components::register(module)?;
    digests::register(module)?;
    hamming::register(module)?;
    lsh::register(module)
}
