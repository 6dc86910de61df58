//! The error type of the core: each message says what was found, what is allowed and how to fix it.
//!
//! Every message has that order, and every variant stores the values that it mentions so that the binding can expose
//! them as Python attributes. Nothing in this crate panics on input.

use std::fmt;

/// Result of a fallible operation of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// The Python argument that enables lenient parsing of digests.
pub const LENIENT: &str = "strict=False";

/// An error of the core.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument outside its range.
    Parameter {
        /// Name of the parameter in Python.
        name: &'static str,
        /// The rejected value.
        found: String,
        /// The allowed values.
        allowed: String,
    },
    /// Two objects with different parameters (bits, family, seed, recipe) that can't be combined.
    Mismatch {
        /// The first property that differs.
        what: String,
        /// Its value on the left side.
        left: String,
        /// Its value on the right side.
        right: String,
    },
    /// An input record that can't be read.
    Input {
        /// Location: a file and line, a row, or a byte offset.
        place: String,
        /// Why it can't be read and how to fix it.
        reason: String,
    },
    /// A digest that does not have the form that ssdeep prints. Lenient parsing, with [`LENIENT`], may accept it.
    Digest {
        /// The digest and its location.
        place: String,
        /// Why it can't be read, and the expected form.
        reason: String,
    },
    /// An input that has no digest because it is too short or varies too little.
    NoDigest {
        /// The input.
        place: String,
        /// What it lacks.
        reason: String,
    },
    /// A file whose contents contradict its header.
    Corrupt {
        /// The file or section.
        place: String,
        /// The violated property.
        reason: String,
    },
    /// A file of a format version that this build can't read.
    FormatVersion {
        /// The version of the file.
        found: u32,
        /// The newest version that this build can read.
        newest: u32,
    },
    /// The caller cancelled the computation; nothing changed.
    Cancelled,
    /// An object that another thread was using when this process was forked.
    Forked,
    /// An allocation failed; nothing changed.
    Memory {
        /// Size of the refused allocation in bytes.
        bytes: usize,
    },
    /// The operating system returned an error.
    Io {
        /// The operation, with the file's name.
        action: String,
        /// The system's own error.
        source: std::io::Error,
    },
}

impl Error {
    /// Build the error for an argument `name` with value `found` outside `allowed`.
    pub fn parameter(name: &'static str, found: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self::Parameter { name, found: found.to_string(), allowed: allowed.into() }
    }

    /// Build the error for two sides that differ in `what`.
    pub fn mismatch(what: impl Into<String>, left: impl fmt::Display, right: impl fmt::Display) -> Self {
        Self::Mismatch { what: what.into(), left: left.to_string(), right: right.to_string() }
    }

    /// Build the error for a record at `place` that can't be read for `reason`.
    pub fn input(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Input { place: place.into(), reason: reason.into() }
    }
}

/// Check that an argument has as many values as another argument requires.
///
/// # Errors
/// [`Error::Parameter`] with both numbers.
pub fn check_length(name: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::parameter(name, format!("{found} values"), format!("{expected} values")))
}

/// Check that offsets start at 0, ascend, and end at `total`.
///
/// # Errors
/// [`Error::Parameter`] with the number of offsets and the required end.
pub fn check_offsets(offsets: &[i64], total: usize) -> Result<()> {
    let ends = offsets.first() == Some(&0) && offsets.last() == Some(&(total as i64));
    if ends && offsets.is_sorted() {
        return Ok(());
    }
    let found = format!("{} numbers", offsets.len());
    Err(Error::parameter("offsets", found, format!("ascending numbers from 0 to {total}")))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { name, found, allowed } => write!(f, "{name}={found} is not allowed; use {allowed}"),
            Self::Mismatch { what, left, right } => {
                write!(f, "{what} differs: {left} against {right}; compare only values that share it")
            }
            Self::Input { place, reason } | Self::NoDigest { place, reason } => write!(f, "{place}: {reason}"),
            Self::Digest { place, reason } => write!(f, "{place}: {reason}, or pass {LENIENT} for old data"),
            Self::Corrupt { place, reason } => write!(f, "{place} is damaged: {reason}"),
            Self::FormatVersion { found, newest } => {
                write!(
                    f,
                    "format version {found} is newer than {newest}, the newest that this build reads; upgrade nearkin"
                )
            }
            Self::Cancelled => write!(f, "stopped by the caller; nothing changed"),
            Self::Forked => write!(
                f,
                "this object was in use in another thread when the process forked; open or build it again in the child"
            ),
            Self::Memory { bytes } => write!(
                f,
                "there is no memory for {bytes} bytes; nothing changed: use smaller batches, a smaller radius or a limit"
            ),
            Self::Io { action, source } => write!(f, "{action}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_found_and_allowed() {
        let error = Error::parameter("radius", 70, "0 to bits=64");
        assert_eq!("radius=70 is not allowed; use 0 to bits=64", error.to_string());
    }

    #[test]
    fn lengths_and_offsets_are_checked() {
        assert!(check_length("weights", 3, 3).is_ok());
        let error = check_length("weights", 2, 3).expect_err("too few");
        assert_eq!("weights=2 values is not allowed; use 3 values", error.to_string());
        for (offsets, total) in [(vec![0], 0), (vec![0, 0], 0), (vec![0, 2, 2, 5], 5)] {
            assert!(check_offsets(&offsets, total).is_ok(), "{offsets:?}");
        }
        for (offsets, total) in [(vec![], 0), (vec![1], 1), (vec![0, 3, 2, 4], 4), (vec![0, 2], 3), (vec![-1, 2], 2)] {
            let error = check_offsets(&offsets, total).expect_err("not ascending from 0 to the total");
            let expected =
                format!("offsets={} numbers is not allowed; use ascending numbers from 0 to {total}", offsets.len());
            assert_eq!(expected, error.to_string());
        }
    }
}
