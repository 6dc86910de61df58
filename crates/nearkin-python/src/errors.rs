//! Conversion of core errors to Python exceptions of `nearkin.errors`.

use std::io::ErrorKind;

use nearkin_core::Error;
use nearkin_core::error::LENIENT;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Return the exception of `nearkin.errors` for `error`, with its values as attributes.
pub(crate) fn to_python(error: Error) -> PyErr {
    Python::attach(|py| build(py, error).unwrap_or_else(|failure| failure))
}

fn build(py: Python<'_>, error: Error) -> PyResult<PyErr> {
    let mut message = error.to_string();
    let context = PyDict::new(py);
    let class = match error {
        Error::Parameter { name, found, allowed } => {
            set_items!(context, name, found, allowed);
            "ParameterError"
        }
        Error::Mismatch { what, left, right } => {
            set_items!(context, what, left, right);
            "MismatchError"
        }
        Error::Input { place, reason } => {
            set_items!(context, place, reason);
            "InputError"
        }
        Error::NoDigest { place, reason } => {
            set_items!(context, place, reason);
            "NoDigestError"
        }
        Error::Digest { place, reason } => {
            let remedy = LENIENT;
            set_items!(context, place, reason, remedy);
            "InputError"
        }
        Error::Corrupt { place, reason } => {
            set_items!(context, place, reason);
            "CorruptStoreError"
        }
        Error::FormatVersion { found, newest } => {
            set_items!(context, found, newest);
            "FormatVersionError"
        }
        Error::Forked => "ForkError",
        Error::Cancelled => return Ok(pyo3::exceptions::PyKeyboardInterrupt::new_err(message)),
        Error::Memory { .. } => return Ok(pyo3::exceptions::PyMemoryError::new_err(message)),
        Error::Io { source, .. } if source.kind() == ErrorKind::OutOfMemory && source.raw_os_error().is_none() => {
            return Ok(pyo3::exceptions::PyMemoryError::new_err(message));
        }
        // An invalid file name, which the standard library refuses before a system call.
        Error::Io { action, source } if source.kind() == ErrorKind::InvalidInput && source.raw_os_error().is_none() => {
            let (place, reason) = (action.replace('\0', "\\x00"), format!("{source}; give the path of a file"));
            message = format!("{place}: {reason}");
            set_items!(context, place, reason);
            "InputError"
        }
        Error::Io { action, source } => {
            if let Some(code) = source.raw_os_error() {
                let class = py.import("builtins")?.getattr("OSError")?;
                // Python's message begins with the number that Rust's ends with.
                let reason = source.to_string();
                let reason = reason.strip_suffix(&format!(" (os error {code})")).unwrap_or(&reason);
                return Ok(PyErr::from_value(class.call1((code, format!("{action}: {reason}")))?));
            }
            "NearkinError"
        }
        _ => "NearkinError",
    };
    let class = py.import("nearkin.errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((message,), Some(&context))?))
}

/// Conversion of a core result to a Python result.
pub(crate) trait IntoPython<T> {
    /// Return the value, or raise the exception.
    fn into_python(self) -> PyResult<T>;
}

impl<T> IntoPython<T> for nearkin_core::Result<T> {
    fn into_python(self) -> PyResult<T> {
        self.map_err(to_python)
    }
}
