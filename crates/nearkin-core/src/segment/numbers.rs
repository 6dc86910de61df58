//! A section of single numbers, each checked against its range as it is read.

use crate::segment::Segment;
use crate::{Error, Result};

/// Reads the numbers of a section in order.
pub(crate) struct Reader<'a> {
    segment: &'a Segment,
    values: &'a [u64],
}

impl<'a> Reader<'a> {
    /// Create a reader of `values`, a section of `segment`.
    pub(crate) fn new(segment: &'a Segment, values: &'a [u64]) -> Self {
        Self { segment, values }
    }

    /// Return the next number.
    pub(crate) fn next(&mut self) -> Result<u64> {
        let Some((&first, rest)) = self.values.split_first() else {
            return Err(self.corrupt("its description ends early"));
        };
        self.values = rest;
        Ok(first)
    }

    /// Return the next number, at most `max`.
    pub(crate) fn up_to(&mut self, max: u64) -> Result<u64> {
        let value = self.next()?;
        if value <= max { Ok(value) } else { Err(self.corrupt(format!("its description holds {value} above {max}"))) }
    }

    /// Return the next optional number; it is stored plus one, None as 0.
    pub(crate) fn optional(&mut self, max: u64) -> Result<Option<u64>> {
        Ok(self.up_to(max.saturating_add(1))?.checked_sub(1))
    }

    /// Build the error of a file whose numbers are inconsistent.
    pub(crate) fn corrupt(&self, reason: impl Into<String>) -> Error {
        self.segment.corrupt(reason)
    }
}
