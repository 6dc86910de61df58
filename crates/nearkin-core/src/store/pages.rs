//! Arrays whose pages are verified when they are first read.
//!
//! Section `SUMS`.t contains an XXH3-64 of every `PAGE` bytes of section t.0. The checksums themselves are verified
//! against the section's checksum before their first use: 2 bytes of them per KiB. A reader only sets one bit per
//! verified page, without a lock: two threads may verify the same page, with the same result.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use super::tags::SUMS;
use crate::cancel::CancelToken;
use crate::segment::{Column, Plain, Segment, Stream, Writer, as_bytes};
use crate::{Error, Result, alloc};

/// Page size in bytes, the minimum that the system reads. Hashing a page takes .4 µs.
pub(super) const PAGE: usize = 4096;

/// Writes sections and the checksums of their pages.
pub(super) struct PageWriter {
    writer: Writer,
    sums: Vec<(u32, Vec<u64>)>,
    cancel: CancelToken,
}

/// A section that is being written.
pub(super) struct Pages<'s, 'w> {
    stream: &'s mut Stream<'w>,
    page: Vec<u8>,
    sums: Vec<u64>,
    cancel: &'s CancelToken,
}

impl Pages<'_, '_> {
    /// Append bytes.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PAGE - self.page.len()));
            self.page.extend_from_slice(now);
            bytes = later;
            if self.page.len() == PAGE {
                self.cancel.check()?;
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.page.is_empty() {
            alloc::try_reserve(&mut self.sums, 1)?;
            self.sums.push(xxh3_64(&self.page));
            self.stream.append(&self.page)?;
            self.page.clear();
        }
        Ok(())
    }
}

impl PageWriter {
    pub(super) fn new(writer: Writer) -> Self {
        Self { writer, sums: Vec::new(), cancel: CancelToken::current() }
    }

    /// Return the writer, for sections without pages.
    pub(super) fn plain(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Append a section, written in pieces by `fill`; return the result of `fill`.
    pub(super) fn stream<R>(&mut self, tag: u32, fill: impl FnOnce(&mut Pages<'_, '_>) -> Result<R>) -> Result<R> {
        let cancel = &self.cancel;
        let (sums, made) = self.writer.stream(tag, 0, |stream| {
            let mut pages = Pages { stream, page: Vec::with_capacity(PAGE), sums: Vec::new(), cancel };
            let made = fill(&mut pages)?;
            pages.flush()?;
            Ok((pages.sums, made))
        })?;
        self.sums.push((tag, sums));
        Ok(made)
    }

    /// Append a section.
    pub(super) fn array<T: Plain>(&mut self, tag: u32, values: &[T]) -> Result<()> {
        self.stream(tag, |pages| pages.append(as_bytes(values)))
    }

    /// Append the checksums of all sections, and finish the file.
    pub(super) fn finish(mut self) -> Result<()> {
        for (tag, sums) in &self.sums {
            self.writer.section(SUMS, *tag, sums)?;
        }
        self.cancel.check()?;
        self.writer.finish()
    }
}

/// An array of a file whose pages are verified before they are read.
#[derive(Debug)]
pub(super) struct Paged<T: Plain> {
    segment: Segment,
    tag: u32,
    name: &'static str,
    values: Column<T>,
    sums: Column<u64>,
    sums_compared: AtomicBool,
    /// A bit per page, set once it is verified.
    compared: Vec<AtomicU64>,
}

impl<T: Plain> Paged<T> {
    /// Open the section of a tag, called `name` in messages.
    pub(super) fn open(segment: &Segment, tag: u32, name: &'static str) -> Result<Self> {
        let values = segment.column::<T>(tag, 0)?;
        let sums = segment.column::<u64>(SUMS, tag)?;
        let pages = size_of_val(&*values).div_ceil(PAGE);
        if sums.len() != pages {
            let found = sums.len();
            return Err(segment.corrupt(format!("section {tag}.0 ({name}) has {pages} pages and {found} sums")));
        }
        let compared = alloc::try_collect((0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)))?;
        let sums_compared = AtomicBool::new(false);
        Ok(Self { segment: segment.clone(), tag, name, values, sums, sums_compared, compared })
    }

    /// Return the number of values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Build the error for inconsistent contents.
    pub(super) fn corrupt(&self, reason: &str) -> Error {
        self.segment.corrupt(format!("section {}.0 ({}) {reason}; restore the file from a copy", self.tag, self.name))
    }

    /// Return one value.
    #[inline]
    pub(super) fn get(&self, position: usize) -> Result<T> {
        Ok(self.slice(position..position + 1)?[0])
    }

    /// Return a range of values.
    ///
    /// # Errors
    /// A page differs from its checksum; the range exceeds the array, although another section implies it.
    #[inline]
    pub(super) fn slice(&self, range: Range<usize>) -> Result<&[T]> {
        let Some(values) = self.values.get(range.clone()) else {
            return Err(self.corrupt(&format!("has {} values and none at {}", self.values.len(), range.end)));
        };
        if !values.is_empty() {
            let last = (range.end * size_of::<T>() - 1) / PAGE;
            for page in range.start * size_of::<T>() / PAGE..=last {
                if self.compared[page / 64].load(Ordering::Relaxed) >> (page % 64) & 1 == 0 {
                    self.compare(page)?;
                }
            }
        }
        Ok(values)
    }

    #[cold]
    fn compare(&self, page: usize) -> Result<()> {
        if !self.sums_compared.load(Ordering::Relaxed) {
            self.segment.verify_one(SUMS, self.tag)?;
            self.sums_compared.store(true, Ordering::Relaxed);
        }
        let bytes = as_bytes(&self.values);
        let begin = page * PAGE;
        if xxh3_64(&bytes[begin..bytes.len().min(begin + PAGE)]) != self.sums[page] {
            return Err(self.corrupt(&format!("does not match its checksum in page {page}")));
        }
        self.compared[page / 64].fetch_or(1 << (page % 64), Ordering::Relaxed);
        Ok(())
    }

    /// Verify every page again.
    ///
    /// # Errors
    /// The first page that differs.
    pub(super) fn verify(&self, cancel: &CancelToken) -> Result<()> {
        self.segment.verify_one(SUMS, self.tag)?;
        for page in 0..self.sums.len() {
            cancel.check()?;
            self.compare(page)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_compared_when_it_is_read() {
        let path = std::env::temp_dir().join(format!("nearkin-store-pages-{}", std::process::id()));
        let values: Vec<u64> = (0..1500).collect();
        let mut pages = PageWriter::new(Writer::create(&path, 11, 32).expect("writable"));
        pages.array(7, &values).expect("writable");
        pages.array::<u8>(8, &[]).expect("writable");
        pages.finish().expect("writable");
        let whole = std::fs::read(&path).expect("there");
        let first = whole.windows(16).position(|bytes| bytes == as_bytes(&values[..2])).expect("the section");
        let damaged = |position: usize| {
            let mut bytes = whole.clone();
            bytes[first + 8 * position] ^= 1;
            std::fs::write(&path, bytes).expect("writable");
            Paged::<u64>::open(&Segment::open(&path).expect("a header"), 7, "numbers").expect("its sums")
        };
        let paged = damaged(1400);
        // Pages have 512 values: the third is damaged.
        assert_eq!((1500, 1023), (paged.len(), paged.get(1023).expect("the second page")));
        assert_eq!(values[500..1024], *paged.slice(500..1024).expect("two pages"));
        let error = paged.get(1024).expect_err("the third page").to_string();
        assert!(error.contains("section 7.0 (numbers) does not match its checksum in page 2"), "{error}");
        assert!(matches!(paged.verify(&CancelToken::default()), Err(Error::Corrupt { .. })));
        assert!(matches!(paged.slice(1499..1501), Err(Error::Corrupt { .. })));
        std::fs::write(&path, &whole).expect("writable");
        let segment = Segment::open(&path).expect("whole");
        Paged::<u64>::open(&segment, 7, "numbers")
            .and_then(|paged| paged.verify(&CancelToken::default()))
            .expect("whole");
        assert_eq!(0, Paged::<u8>::open(&segment, 8, "nothing").expect("whole").len());
        std::fs::remove_file(&path).expect("there");
    }
}
