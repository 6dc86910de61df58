//! A section of numbers, read one by one and checked against what each may be.

use crate::segment::Segment;
use crate::{Error, Result};

/// Reads numbers of a section one by one.
pub(crate) struct Reader<'a> {
    segment: &'a Segment,
    values: &'a [u64],
}

impl<'a> Reader<'a> {
    /// The numbers `values`, read from `segment`.
    pub(crate) fn new(segment: &'a Segment, values: &'a [u64]) -> Self {
        Self { segment, values }
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> Result<u64> {
        let Some((&first, rest)) = self.values.split_first() else {
            return Err(self.corrupt("its description ends early"));
        };
        self.values = rest;
        Ok(first)
    }

    /// The next number, at most `most`.
    pub(crate) fn up_to(&mut self, most: u64) -> Result<u64> {
        let value = self.next()?;
        if value <= most { Ok(value) } else { Err(self.corrupt(format!("its description holds {value} above {most}"))) }
    }

    /// The next number, stored plus one; None was stored as 0.
    pub(crate) fn optional(&mut self, most: u64) -> Result<Option<u64>> {
        Ok(self.up_to(most.saturating_add(1))?.checked_sub(1))
    }

    /// The error of a file whose numbers do not hold together.
    pub(crate) fn corrupt(&self, reason: impl Into<String>) -> Error {
        self.segment.corrupt(reason)
    }
}
