//! Edit scripts between two sequences of symbols ([`nearkin_core::text::edits`]).

use nearkin_core::text::edits::{self, Kind};
use pyo3::prelude::*;

use crate::convert::Slice;
use crate::threads::detached;

type Symbols<'py> = Slice<'py, u32>;
type Step = (&'static str, usize, usize, usize, usize);

/// Return the steps that turn a into b: operation, range in a, and range in b.
#[pyfunction]
fn text_edits(py: Python<'_>, a: Symbols<'_>, b: Symbols<'_>) -> PyResult<Vec<Step>> {
    let steps = detached(py, || edits::edits(&a, &b))?;
    let name = |kind| match kind {
        Kind::Equal => "equal",
        Kind::Delete => "delete",
        Kind::Insert => "insert",
        Kind::Replace => "replace",
    };
    Ok(steps.into_iter().map(|step| (name(step.kind), step.a.0, step.a.1, step.b.0, step.b.1)).collect())
}

/// Return the Levenshtein distance and the length of the longest common subsequence.
#[pyfunction]
fn edit_distance(py: Python<'_>, a: Symbols<'_>, b: Symbols<'_>) -> PyResult<(usize, usize)> {
    detached(py, || Ok((edits::distance(&a, &b)?, edits::common(&a, &b)?)))
}

register! {
    text_edits, edit_distance
}
