//! Validation and conversion of Python arguments: texts, lengths, positions, offsets.

pub(crate) mod arrow;
mod cdata;
pub(crate) mod texts;

use std::convert::Infallible;

use nearkin_core::{Error, error};
use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::errors::{IntoPython, to_python};

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
