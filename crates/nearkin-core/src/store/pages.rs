//! Arrays whose pages are compared with their sums when they are first read.
//!
//! Section `SUMS`.t holds an XXH3-64 of every `PAGE` bytes of section t.0. The sums themselves are compared with the section's
//! own checksum before their first use: 2 bytes of them for each KiB. A bit per page, set once it was compared, is all that
//! a reader changes, without a lock: two threads may compare the same page, with the same outcome.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use super::tags::SUMS;
use crate::cancel::CancelToken;
use crate::segment::{Column, Plain, Segment, Stream, Writer, bytes_of};
use crate::{Error, Result, alloc};

/// Bytes of a page: what the system reads at least. Their sum takes .4 µs.
pub(super) const PAGE: usize = 4096;

/// Writes sections and the sums of their pages.
pub(super) struct PageWriter {
    writer: Writer,
    sums: Vec<(u32, Vec<u64>)>,
    stop: CancelToken,
}

/// A section that is being written.
pub(super) struct Pages<'s, 'w> {
    stream: &'s mut Stream<'w>,
    page: Vec<u8>,
    sums: Vec<u64>,
    stop: &'s CancelToken,
}

impl Pages<'_, '_> {
    /// Appends bytes.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PAGE - self.page.len()));
            self.page.extend_from_slice(now);
            bytes = later;
            if self.page.len() == PAGE {
                self.stop.check()?;
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
        Self { writer, sums: Vec::new(), stop: CancelToken::current() }
    }

    /// The writer, for sections without pages.
    pub(super) fn plain(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Appends a section, of which `fill` gives one piece after another; returns what that returns.
    pub(super) fn stream<R>(&mut self, tag: u32, fill: impl FnOnce(&mut Pages<'_, '_>) -> Result<R>) -> Result<R> {
        let stop = &self.stop;
        let (sums, made) = self.writer.stream(tag, 0, |stream| {
            let mut pages = Pages { stream, page: Vec::with_capacity(PAGE), sums: Vec::new(), stop };
            let made = fill(&mut pages)?;
            pages.flush()?;
            Ok((pages.sums, made))
        })?;
        self.sums.push((tag, sums));
        Ok(made)
    }

    /// Appends a section.
    pub(super) fn array<T: Plain>(&mut self, tag: u32, values: &[T]) -> Result<()> {
        self.stream(tag, |pages| pages.append(bytes_of(values)))
    }

    /// Appends the sums of all sections, and ends the file.
    pub(super) fn finish(mut self) -> Result<()> {
        for (tag, sums) in &self.sums {
            self.writer.section(SUMS, *tag, sums)?;
        }
        self.stop.check()?;
        self.writer.finish()
    }
}

/// An array of a file, each page of it compared before it is read.
#[derive(Debug)]
pub(super) struct Paged<T: Plain> {
    segment: Segment,
    tag: u32,
    name: &'static str,
    values: Column<T>,
    sums: Column<u64>,
    sums_compared: AtomicBool,
    /// Bit of each page that was compared.
    compared: Vec<AtomicU64>,
}

impl<T: Plain> Paged<T> {
    /// The section of a tag, called `name` in messages.
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

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The error of contents that do not hold together.
    pub(super) fn corrupt(&self, reason: &str) -> Error {
        self.segment.corrupt(format!("section {}.0 ({}) {reason}; restore the file from a copy", self.tag, self.name))
    }

    /// One value.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Result<T> {
        Ok(self.slice(place..place + 1)?[0])
    }

    /// Some values.
    ///
    /// # Errors
    /// A page of them differs from its sum; they are not all there, which another section said.
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
        let bytes = bytes_of(&self.values);
        let begin = page * PAGE;
        if xxh3_64(&bytes[begin..bytes.len().min(begin + PAGE)]) != self.sums[page] {
            return Err(self.corrupt(&format!("does not match its checksum in page {page}")));
        }
        self.compared[page / 64].fetch_or(1 << (page % 64), Ordering::Relaxed);
        Ok(())
    }

    /// Compares every page, those compared before too.
    ///
    /// # Errors
    /// The first page that differs.
    pub(super) fn verify(&self, stop: &CancelToken) -> Result<()> {
        self.segment.verify_one(SUMS, self.tag)?;
        for page in 0..self.sums.len() {
            stop.check()?;
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
        let first = whole.windows(16).position(|bytes| bytes == bytes_of(&values[..2])).expect("the section");
        let damaged = |place: usize| {
            let mut bytes = whole.clone();
            bytes[first + 8 * place] ^= 1;
            std::fs::write(&path, bytes).expect("writable");
            Paged::<u64>::open(&Segment::open(&path).expect("a header"), 7, "numbers").expect("its sums")
        };
        let paged = damaged(1400);
        // Pages hold 512 values: the third is damaged.
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
