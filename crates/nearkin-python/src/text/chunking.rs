//! Chunks of texts and their words with positions ([`nearkin_core::text::chunking`]).

use nearkin_core::text::chunking::{self, Unit};
use pyo3::prelude::*;

use crate::convert::texts::Texts;
use crate::convert::{Array, Slice};
use crate::errors::IntoPython;

type ChunkArrays = (Array<i64>, Array<i64>, Array<i64>, Array<i64>, Array<i64>, Array<u8>);

/// Return the ends of the chunks of each text, sizes, spans and visible characters, and the chunks as offsets and
/// bytes.
#[pyfunction]
#[pyo3(signature = (texts, unit, least, frequent, chosen=None))]
fn split_parts(
    texts: &Bound<'_, PyAny>,
    unit: &str,
    least: usize,
    frequent: Slice<u64>,
    chosen: Option<Slice<i64>>,
) -> PyResult<ChunkArrays> {
    let unit = Unit::new(unit).into_python()?;
    let chosen = chosen.as_deref();
    let result = Texts::process(texts, |texts| chunking::split(texts, unit, least, &frequent, chosen))?;
    Ok((
        Array(result.ends),
        Array(result.sizes.into_flattened()),
        Array(result.spans.into_flattened()),
        Array(result.visible),
        Array(result.offsets),
        Array(result.data),
    ))
}

/// Return for each text the end of its words; for each word its hash, start and end.
#[pyfunction]
fn word_places(texts: &Bound<'_, PyAny>) -> PyResult<(Array<i64>, Array<u64>, Array<i64>)> {
    let result = Texts::process(texts, chunking::word_positions)?;
    Ok((Array(result.ends), Array(result.hashes), Array(result.spans.into_flattened())))
}

register! {
    split_parts, word_places
}
