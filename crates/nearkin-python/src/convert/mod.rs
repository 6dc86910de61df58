//! Validation and conversion of Python arguments: texts, lengths, positions, offsets.

pub(crate) mod arrow;
pub(crate) mod cdata;
pub(crate) mod imports;
mod readable;
pub(crate) mod texts;

pub(crate) use imports::register;

use std::convert::Infallible;
use std::ops::Deref;
use std::path::Path;

use nearkin_core::segment::arrays;
use nearkin_core::{Error, error};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{IntoPython, to_python};
use crate::threads::detached;

/// Values that become a flat NumPy array without a copy.
pub(crate) struct Array<T>(pub(crate) Vec<T>);

impl<'py, T: Element> IntoPyObject<'py> for Array<T> {
    type Target = PyArray1<T>;
    type Output = Bound<'py, PyArray1<T>>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(self.0.into_pyarray(py))
    }
}

/// Convert the two vectors of a result.
pub(crate) fn pair<A, B>((first, second): (Vec<A>, Vec<B>)) -> (Array<A>, Array<B>) {
    (Array(first), Array(second))
}

/// The values of a contiguous array, read in place.
pub(crate) struct Slice<'py, T: Element> {
    _array: PyReadonlyArray1<'py, T>,
    /// Borrowed from the array: the lifetime is that of this struct.
    values: &'py [T],
}

// SAFETY: a shared reference gives access to the values only, which the array's borrow protects from changes.
unsafe impl<T: Element + Sync> Sync for Slice<'_, T> {}

impl<'py, T: Element> FromPyObject<'_, 'py> for Slice<'py, T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArray1<'py, T> = value.extract()?;
        // SAFETY: the values don't move, and live as long as the array, which is kept.
        let values = unsafe { std::mem::transmute::<&[T], &'py [T]>(array.as_slice()?) };
        Ok(Self { _array: array, values })
    }
}

impl<T: Element> Deref for Slice<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.values
    }
}

/// Signatures: values of 32 or 64 bits.
#[derive(FromPyObject)]
pub(crate) enum Signatures<'py> {
    Narrow(Slice<'py, u32>),
    Wide(Slice<'py, u64>),
}

impl Signatures<'_> {
    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }
}

/// Write a description and arrays to a file of this kind, replacing it atomically.
pub(crate) fn write_arrays(py: Python<'_>, path: &Path, kind: u32, text: &str, values: &[Slice<u8>]) -> PyResult<()> {
    let values: Vec<&[u8]> = values.iter().map(|value| &**value).collect();
    detached(py, || arrays::write(path, kind, text, &values))
}

/// Read a file that `write_arrays` wrote.
pub(crate) fn read_arrays(py: Python<'_>, path: &Path, kind: u32) -> PyResult<(String, Vec<Py<PyBytes>>)> {
    let (text, values) = detached(py, || arrays::read(path, kind))?;
    Ok((text, values.iter().map(|value| PyBytes::new(py, value).unbind()).collect()))
}

/// Check that an argument has as many values as another argument requires.
pub(crate) fn check_length(name: &'static str, result: usize, expected: usize) -> PyResult<()> {
    error::check_length(name, result, expected).into_python()
}

/// Check that positions are less than the number of texts.
pub(crate) fn check_places(name: &'static str, places: &[u32], texts: usize) -> PyResult<()> {
    match places.iter().find(|&&place| place as usize >= texts) {
        None => Ok(()),
        Some(place) => {
            Err(to_python(Error::parameter(name, place, format!("0 to {} with {texts} texts", texts as i64 - 1))))
        }
    }
}

/// Check that offsets start at 0, ascend, and end at `total`.
pub(crate) fn check_offsets(offsets: &[i64], total: usize) -> PyResult<()> {
    error::check_offsets(offsets, total).into_python()
}
