//! Byte strings of variable length.
//!
//! Three sections: the bytes; the end of each string relative to the start of its group of `GROUP` strings (`u32`); and
//! the start of each group (`u64`). A string costs 4 bytes besides its contents, and a file can contain any number of
//! them.

use super::pages::{PageWriter, Paged};
use crate::cancel::CancelToken;
use crate::segment::Segment;
use crate::{Error, Result, alloc};

/// Number of strings per group; a group has at most 2^32 - 1 bytes.
const GROUP: usize = 256;

/// Write `count` strings, which `get` appends to its argument, as the three sections `tags`; messages call them `name`.
pub(super) fn write(
    pages: &mut PageWriter,
    tags: [u32; 3],
    name: &'static str,
    count: usize,
    mut get: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let (mut ends, mut bases) = (alloc::try_with_capacity(count)?, alloc::try_with_capacity(count.div_ceil(GROUP))?);
    pages.stream(tags[0], |out| {
        let (mut string, mut at, mut base) = (Vec::new(), 0_u64, 0);
        for position in 0..count {
            if position.is_multiple_of(GROUP) {
                base = at;
                bases.push(base);
            }
            string.clear();
            get(position, &mut string)?;
            at += string.len() as u64;
            let Ok(end) = u32::try_from(at - base) else {
                let allowed = format!("less than 2**32 bytes for {GROUP} in a row");
                return Err(Error::parameter(name, format!("{} bytes", at - base), allowed));
            };
            ends.push(end);
            out.append(&string)?;
        }
        Ok(())
    })?;
    pages.array(tags[1], &ends)?;
    pages.array(tags[2], &bases)
}

/// The byte strings of a file.
#[derive(Debug)]
pub(super) struct Spans {
    bytes: Paged<u8>,
    ends: Paged<u32>,
    bases: Paged<u64>,
}

impl Spans {
    pub(super) fn open(segment: &Segment, tags: [u32; 3], name: &'static str, count: usize) -> Result<Self> {
        let bytes = Paged::open(segment, tags[0], name)?;
        let ends = Paged::open(segment, tags[1], name)?;
        let bases = Paged::open(segment, tags[2], name)?;
        if ends.len() != count || bases.len() != count.div_ceil(GROUP) {
            return Err(ends.corrupt(&format!("has {} ends for {count} documents", ends.len())));
        }
        Ok(Self { bytes, ends, bases })
    }

    /// Return the string at a position.
    pub(super) fn get(&self, position: usize) -> Result<&[u8]> {
        let base = self.bases.get(position / GROUP)?;
        let begin = if position.is_multiple_of(GROUP) { 0 } else { self.ends.get(position - 1)? };
        let end = self.ends.get(position)?;
        let ends = [begin, end].map(|end| base.checked_add(u64::from(end)).and_then(|end| usize::try_from(end).ok()));
        let ([Some(begin), Some(end)], true) = (ends, begin <= end) else {
            return Err(self.ends.corrupt("does not ascend"));
        };
        self.bytes.slice(begin..end)
    }

    /// Verify all checksums, and that the strings are contiguous up to the last byte.
    pub(super) fn verify(&self, cancel: &CancelToken) -> Result<()> {
        self.bytes.verify(cancel)?;
        self.ends.verify(cancel)?;
        self.bases.verify(cancel)?;
        let mut at = 0_u64;
        for group in 0..self.bases.len() {
            cancel.check()?;
            let first = group * GROUP;
            let ends = self.ends.slice(first..self.ends.len().min(first + GROUP))?;
            if self.bases.get(group)? != at || !ends.is_sorted() {
                return Err(self.ends.corrupt("does not ascend"));
            }
            at = at.saturating_add(ends.last().map_or(0, |&end| u64::from(end)));
        }
        if at == self.bytes.len() as u64 { Ok(()) } else { Err(self.ends.corrupt("does not end with the bytes")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Writer;

    const TAGS: [u32; 3] = [1, 2, 3];

    #[test]
    fn strings_of_several_groups_come_back() {
        let path = std::env::temp_dir().join(format!("nearkin-store-spans-{}", std::process::id()));
        let strings: Vec<Vec<u8>> = (0..2 * GROUP + 1).map(|position| vec![position as u8; position % 5]).collect();
        let mut pages = PageWriter::new(Writer::create(&path, 11, 32).expect("writable"));
        let get = |position: usize, out: &mut Vec<u8>| alloc::try_extend(out, &strings[position]);
        write(&mut pages, TAGS, "strings", strings.len(), get).expect("writable");
        pages.finish().expect("writable");
        let segment = Segment::open(&path).expect("whole");
        let spans = Spans::open(&segment, TAGS, "strings", strings.len()).expect("whole");
        spans.verify(&CancelToken::default()).expect("whole");
        for position in [0, 1, 4, GROUP - 1, GROUP, 2 * GROUP - 1, 2 * GROUP] {
            assert_eq!(strings[position], spans.get(position).expect("whole"), "{position}");
        }
        // Groups begin where the previous ones end.
        let bytes = |count: usize| strings[..count].iter().map(|string| string.len() as u64).sum::<u64>();
        let bases: Vec<u64> = (0..3).map(|group| spans.bases.get(group).expect("whole")).collect();
        assert_eq!(vec![0, bytes(GROUP), bytes(2 * GROUP)], bases);
        assert!(matches!(Spans::open(&segment, TAGS, "strings", GROUP), Err(Error::Corrupt { .. })));
        std::fs::remove_file(&path).expect("there");
    }
}
