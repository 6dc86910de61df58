//! Words as lists of Python strings, one object for all occurrences of a short word.
//!
//! Creating a string takes about 80 nanoseconds, more than finding the word in the text. Words of up to 15 bytes, five
//! ideographs, are therefore looked up in a table of recent ones, at the slot of their hash; longer ones are created
//! every time. The table has a slot for every second word of a call, at most 2^14 of 32 bytes, so that it fits the
//! cache.

use nearkin_core::text::words::{ROOM, Words};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// Bytes of a key: the word, zeros, its length in the last byte.
const KEY: usize = ROOM;
const PLACES: usize = 1 << 14;
const FEWEST: usize = 1 << 6;

/// Words consist of complete characters of normalized UTF-8.
fn text_of(word: &[u8]) -> &str {
    std::str::from_utf8(word).unwrap_or_default()
}

/// The strings created last in a call.
pub(crate) struct StringCache<'py> {
    places: Vec<(u128, Option<Bound<'py, PyString>>)>,
    /// Shift from a hash to a slot.
    shift: u32,
}

impl StringCache<'_> {
    /// Create an empty table for this many words.
    pub(crate) fn new(words: usize) -> Self {
        let places = (words / 2).clamp(FEWEST, PLACES).next_power_of_two();
        Self { places: (0..places).map(|_| (0, None)).collect(), shift: u64::BITS - places.trailing_zeros() }
    }
}

impl<'py> StringCache<'py> {
    /// Return the words of a text as Python strings.
    pub(crate) fn list(&mut self, py: Python<'py>, words: Words) -> PyResult<Bound<'py, PyList>> {
        let (text, spans) = words.into_padded();
        PyList::new(py, spans.iter().map(|&(start, end)| self.string(py, &text, start, end)))
    }

    /// Return the string from `start` to `end`, followed by at least `KEY` more bytes.
    #[inline]
    fn string(&mut self, py: Python<'py>, text: &[u8], start: usize, end: usize) -> Bound<'py, PyString> {
        let length = end - start;
        let Some(bytes) = text[start..].first_chunk::<KEY>().filter(|_| length < KEY) else {
            return PyString::new(py, text_of(&text[start..end]));
        };
        let key = u128::from_le_bytes(*bytes) & ((1 << (8 * length)) - 1) | (length as u128) << 120;
        let mixed = (key as u64 ^ ((key >> 64) as u64).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = &mut self.places[(mixed >> self.shift) as usize];
        match &place.1 {
            Some(string) if place.0 == key => string.clone(),
            _ => {
                let string = PyString::new(py, text_of(&text[start..end]));
                *place = (key, Some(string.clone()));
                string
            }
        }
    }
}
