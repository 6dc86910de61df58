//! An open file of documents.

use std::ops::Range;
use std::path::Path;

use crate::parallel::prelude::*;

use super::KIND;
use super::blocks::Blocks;
use super::find::lower_bound;
use super::ids::{Id, IdColumn, Ids};
use super::pages::Paged;
use super::spans::Spans;
use super::tags::{
    ABOUT, BLOCKS, BY_CONTENT, BY_ID, CONTENTS, DICTIONARY, EXTRAS, HASHES, INTS, MIXED, NAMES, NOTE, RECORDS, ROWS,
    SUMS, TEXTS,
};
use crate::cancel::CancelToken;
use crate::segment::Segment;
use crate::{Error, Result, alloc};

/// Number of queries per parallel task.
const TASK: usize = 1 << 10;

/// Offsets of each query's results, and the results.
type RowsByQuery = (Vec<i64>, Vec<i64>);

/// Documents of a store in a file, with lookup by row, id and content.
///
/// Calls must be made within [`with_sigbus_guard`](crate::segment::with_sigbus_guard) with [`StoreSegment::segment`], which detects a file
/// that is truncated while open.
pub struct StoreSegment {
    segment: Segment,
    len: usize,
    /// Row of the first document.
    first: u64,
    /// None if rows are consecutive.
    rows: Option<Paged<i64>>,
    contents: Paged<u64>,
    by_content: Paged<u32>,
    width: usize,
    records: Paged<u8>,
    ids: Ids,
    /// None if all are empty.
    extras: Option<Spans>,
    /// None if no document has a text.
    texts: Option<Blocks>,
    /// Number of texts, and their bytes.
    num_texts: u64,
    text_bytes: u64,
}

impl StoreSegment {
    /// Open a file: read its header, table, description and dictionary. The time does not depend on its size.
    ///
    /// # Errors
    /// An I/O operation fails; a newer version; a file that is not a complete segment of documents.
    pub fn open(path: &Path) -> Result<Self> {
        let segment = Segment::open_kind(path, KIND, " and no documents of a store")?;
        segment.verify_one(ABOUT, 0)?;
        let about = segment.column::<u64>(ABOUT, 0)?;
        let Ok([len, first, width, kind, num_texts, text_bytes]) = <[u64; 6]>::try_from(&*about) else {
            return Err(segment.corrupt("its description does not have 6 numbers"));
        };
        let last = first.checked_add(len).filter(|&last| i64::try_from(last).is_ok());
        if len >= u64::from(u32::MAX) || last.is_none() {
            return Err(segment.corrupt("the rows that it says it has are out of range"));
        }
        let len = len as usize;
        let rows = if segment.has(ROWS, 0) { Some(Paged::<i64>::open(&segment, ROWS, "rows")?) } else { None };
        let contents = Paged::open(&segment, CONTENTS, "contents")?;
        let by_content = Paged::open(&segment, BY_CONTENT, "places by content")?;
        let records = Paged::open(&segment, RECORDS, "records")?;
        let width = usize::try_from(width).unwrap_or(usize::MAX);
        if rows.as_ref().is_some_and(|rows| rows.len() != len)
            || [contents.len(), by_content.len()] != [2 * len, len]
            || width.checked_mul(len) != Some(records.len())
        {
            return Err(segment.corrupt(format!("its arrays are not those of {len} documents")));
        }
        let ids = Ids::open(&segment, kind, len)?;
        let has_extras = segment.has(EXTRAS[0], 0);
        let extras = if has_extras { Some(Spans::open(&segment, EXTRAS, "extras", len)?) } else { None };
        let texts = if num_texts > 0 { Some(Blocks::open(&segment, len)?) } else { None };
        Ok(Self {
            segment,
            len,
            first,
            rows,
            contents,
            by_content,
            width,
            records,
            ids,
            extras,
            texts,
            num_texts,
            text_bytes,
        })
    }

    /// Return the file.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Return the number of documents.
    #[allow(clippy::len_without_is_empty, reason = "a count of documents; a file without any is as good as another")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Return the bytes of a record.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Return the number of texts.
    pub(super) fn num_texts(&self) -> u64 {
        self.num_texts
    }

    /// Return their uncompressed size in bytes.
    pub(super) fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// Return the texts, if any.
    pub(super) fn blocks(&self) -> Option<&Blocks> {
        self.texts.as_ref()
    }

    /// Return the dictionary of the texts; empty if they are compressed without one.
    ///
    /// # Errors
    /// Damage.
    pub fn dictionary(&self) -> Result<Vec<u8>> {
        self.texts.as_ref().map_or_else(|| Ok(Vec::new()), Blocks::dictionary)
    }

    /// Return the caller's description of the file.
    ///
    /// # Errors
    /// It differs from its checksum; memory runs out.
    pub fn note(&self) -> Result<Vec<u8>> {
        self.segment.verify_one(NOTE, 0)?;
        alloc::try_copy(&self.segment.column::<u8>(NOTE, 0)?)
    }

    /// Return the bytes on disk per component, the number of texts (`num_texts`), and their uncompressed size
    /// (`text_bytes`).
    pub fn sizes(&self) -> Vec<(&'static str, u64)> {
        let parts: [(&str, &[u32]); 6] = [
            ("rows", &[ROWS]),
            ("contents", &[CONTENTS, BY_CONTENT]),
            ("records", &[RECORDS]),
            ("ids", &[INTS, NAMES[0], NAMES[1], NAMES[2], MIXED, HASHES, BY_ID]),
            ("extras", &EXTRAS),
            ("texts", &[DICTIONARY, BLOCKS, TEXTS]),
        ];
        let bytes = |tag, number| self.segment.column::<u8>(tag, number).map_or(0, |bytes| bytes.len() as u64);
        let size = |tags: &[u32], of: &dyn Fn(u32) -> u64| tags.iter().map(|&tag| of(tag)).sum::<u64>();
        let mut sizes: Vec<_> = parts.iter().map(|(name, tags)| (*name, size(tags, &|tag| bytes(tag, 0)))).collect();
        let sums = parts.iter().map(|(_, tags)| size(tags, &|tag| bytes(SUMS, tag))).sum();
        sizes.extend([("checksums", sums), ("num_texts", self.num_texts), ("text_bytes", self.text_bytes)]);
        sizes
    }

    /// Convert positions to `usize`.
    fn check(&self, positions: &[i64]) -> Result<Vec<usize>> {
        alloc::try_map(positions.iter().map(|&position| match usize::try_from(position) {
            Ok(position) if position < self.len => Ok(position),
            _ => Err(Error::parameter("places", position, format!("0 to {} of this file", self.len as i64 - 1))),
        }))
    }

    fn row(&self, position: usize) -> Result<i64> {
        self.rows.as_ref().map_or(Ok((self.first + position as u64) as i64), |rows| rows.get(position))
    }

    /// Return the rows of the positions from `start` to `end`, clipped to the last one.
    ///
    /// # Errors
    /// Damage.
    pub fn rows(&self, start: usize, end: usize) -> Result<Vec<i64>> {
        let end = end.min(self.len);
        let start = start.min(end);
        match &self.rows {
            None => alloc::try_map((start..end).map(|position| self.row(position))),
            Some(rows) => alloc::try_copy(rows.slice(start..end)?),
        }
    }

    /// Return the position of each row, or -1 if it is not in this segment.
    ///
    /// # Errors
    /// Damage.
    pub fn positions(&self, rows: &[i64]) -> Result<Vec<i64>> {
        let last = if self.len == 0 { 0 } else { self.row(self.len - 1)? };
        let position = |&row: &i64| {
            let Ok(target) = u64::try_from(row) else { return Ok(-1) };
            let Some(rows) = &self.rows else {
                let position = target.checked_sub(self.first).filter(|&position| position < self.len as u64);
                return Ok(position.map_or(-1, |position| position as i64));
            };
            let probe = |at| rows.get(at).map(|found| (found < row, found as u64));
            let at = lower_bound(0..self.len, (self.first, last as u64), target, probe)?;
            Ok(if at < self.len && rows.get(at)? == row { at as i64 } else { -1 })
        };
        alloc::try_map(rows.iter().map(position))
    }

    /// Answer `count` queries, in parallel if they are many; `answer` appends the rows of one.
    fn find(&self, count: usize, answer: impl Fn(usize, &mut Vec<usize>) -> Result<()> + Sync) -> Result<RowsByQuery> {
        let cancel = CancelToken::current();
        let answer_range = |queries: Range<usize>| -> Result<RowsByQuery> {
            cancel.check()?;
            let (mut counts, mut rows, mut positions) =
                (alloc::try_with_capacity(queries.len())?, Vec::new(), Vec::new());
            for query in queries {
                positions.clear();
                answer(query, &mut positions)?;
                alloc::try_reserve(&mut rows, positions.len())?;
                for &position in &positions {
                    rows.push(self.row(position)?);
                }
                counts.push(positions.len() as i64);
            }
            Ok((counts, rows))
        };
        let tasks = count.div_ceil(TASK);
        let task = |number: usize| answer_range(TASK * number..count.min(TASK * (number + 1)));
        let found: Vec<RowsByQuery> = if tasks > 1 && rayon::current_thread_index().is_some() {
            alloc::try_map_parallel((0..tasks).into_par_iter().map(task))?
        } else {
            alloc::try_map((0..tasks).map(task))?
        };
        let mut offsets = alloc::try_with_capacity(count + 1)?;
        let mut rows = alloc::try_with_capacity(found.iter().map(|(_, rows)| rows.len()).sum())?;
        offsets.push(0);
        let mut end = 0;
        for (counts, answer_range) in found {
            for count in counts {
                end += count;
                offsets.push(end);
            }
            rows.extend(answer_range);
        }
        Ok((offsets, rows))
    }

    /// Return for each content (two words) the rows that have it, ascending.
    ///
    /// # Errors
    /// An odd number of words; damage.
    pub fn find_contents(&self, contents: &[u64]) -> Result<(Vec<i64>, Vec<i64>)> {
        if !contents.len().is_multiple_of(2) {
            return Err(Error::parameter("contents", format!("{} words", contents.len()), "two for each content"));
        }
        self.find(contents.len() / 2, |query, found| {
            let target = &contents[2 * query..2 * query + 2];
            let at = |at: usize| -> Result<(usize, &[u64])> {
                let position = self.by_content.get(at)? as usize;
                Ok((position, self.contents.slice(2 * position..2 * position + 2)?))
            };
            let probe = |position| at(position).map(|(_, content)| (content < target, content[0]));
            let first = lower_bound(0..self.len, (0, u64::MAX), target[0], probe)?;
            for next in first..self.len {
                let (position, content) = at(next)?;
                if content != target {
                    break;
                }
                alloc::try_reserve(found, 1)?;
                found.push(position);
            }
            Ok(())
        })
    }

    /// Return for each id the rows that have it, ascending.
    ///
    /// # Errors
    /// Damage.
    pub fn find_ids(&self, ids: IdColumn<'_>) -> Result<RowsByQuery> {
        self.find(ids.len(), |query, found| self.ids.find(ids.get(query), found))
    }

    /// Return the records at positions, concatenated.
    ///
    /// # Errors
    /// A position out of range; damage; memory runs out.
    pub fn records(&self, positions: &[i64]) -> Result<Vec<u8>> {
        let positions = self.check(positions)?;
        let mut records = alloc::try_with_capacity(self.width.saturating_mul(positions.len()))?;
        for position in positions {
            records.extend_from_slice(self.records.slice(self.width * position..self.width * (position + 1))?);
        }
        Ok(records)
    }

    /// Return the contents at positions, two words each.
    ///
    /// # Errors
    /// A position out of range; damage; memory runs out.
    pub fn contents(&self, positions: &[i64]) -> Result<Vec<u64>> {
        let mut contents = alloc::try_with_capacity(2 * positions.len())?;
        for position in self.check(positions)? {
            contents.extend_from_slice(self.contents.slice(2 * position..2 * position + 2)?);
        }
        Ok(contents)
    }

    /// True if all ids are integers.
    pub fn has_int_ids(&self) -> bool {
        self.ids.is_ints()
    }

    /// Return the ids at positions.
    ///
    /// # Errors
    /// A position out of range; damage; memory runs out.
    pub fn ids(&self, positions: &[i64]) -> Result<Vec<Id<'_>>> {
        alloc::try_map(self.check(positions)?.into_iter().map(|position| self.ids.get(position)))
    }

    /// Return the byte strings at positions.
    ///
    /// # Errors
    /// A position out of range; damage; memory runs out.
    pub fn extras(&self, positions: &[i64]) -> Result<Vec<&[u8]>> {
        let positions = self.check(positions)?;
        let Some(extras) = &self.extras else { return alloc::try_filled(&[][..], positions.len()) };
        alloc::try_map(positions.into_iter().map(|position| extras.get(position)))
    }

    /// Return the texts at positions; None for documents without text.
    ///
    /// # Errors
    /// A position out of range; damage; memory runs out.
    pub fn texts(&self, positions: &[i64]) -> Result<Vec<Option<String>>> {
        let positions = self.check(positions)?;
        self.texts.as_ref().map_or_else(|| alloc::try_filled(None, positions.len()), |texts| texts.texts(&positions))
    }

    /// Verify the file: every checksum, and that its arrays are consistent.
    ///
    /// # Errors
    /// The first inconsistency.
    pub fn verify(&self) -> Result<()> {
        let cancel = CancelToken::current();
        self.segment.verify_one(ABOUT, 0)?;
        self.segment.verify_one(NOTE, 0)?;
        if let Some(rows) = &self.rows {
            rows.verify(&cancel)?;
            let all = rows.slice(0..self.len)?;
            if !all.windows(2).all(|pair| pair[0] < pair[1]) || all.first().is_some_and(|&row| row as u64 != self.first)
            {
                return Err(rows.corrupt("does not ascend"));
            }
        }
        self.contents.verify(&cancel)?;
        self.by_content.verify(&cancel)?;
        self.records.verify(&cancel)?;
        let mut before: Option<(&[u64], usize)> = None;
        for at in 0..self.len {
            if at.is_multiple_of(1 << 10) {
                cancel.check()?;
            }
            let position = self.by_content.get(at)? as usize;
            let next = Some((self.contents.slice(2 * position..2 * position + 2)?, position));
            // Pairs ascend strictly, so every position occurs exactly once.
            if before >= next {
                return Err(self.by_content.corrupt("is not the order of the contents"));
            }
            before = next;
        }
        self.ids.verify(&cancel)?;
        if let Some(extras) = &self.extras {
            extras.verify(&cancel)?;
        }
        let Some(texts) = &self.texts else { return Ok(()) };
        if self.segment.has(DICTIONARY, 0) {
            self.segment.verify_one(DICTIONARY, 0)?;
        }
        if texts.verify(&cancel)? == (self.num_texts, self.text_bytes) {
            return Ok(());
        }
        Err(self.segment.corrupt("its texts are not as many or as long as it says"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::Texts;
    use crate::store::{Documents, TextColumn, write};

    #[test]
    fn three_documents_answer_by_row_content_and_id() {
        let path = std::env::temp_dir().join(format!("nearkin-store-segment-{}", std::process::id()));
        let texts = Texts::of(&["one", "two", "one"]);
        let documents = Documents {
            rows: &[4, 7, 9],
            ids: IdColumn::Names(&["a", "b", "c"]),
            contents: &[5, 1, 6, 2, 5, 1],
            records: b"uvwxyz",
            width: 2,
            extras: Some(&[b"", b"more", b""]),
            texts: Some(TextColumn::Plain(&texts)),
        };
        write(&path, &documents, b"a note", 1).expect("writable");
        let file = StoreSegment::open(&path).expect("whole");
        assert_eq!(
            (3, 2, false, 3, 9),
            (file.len(), file.width(), file.has_int_ids(), file.num_texts(), file.text_bytes())
        );
        assert_eq!(b"a note".to_vec(), file.note().expect("whole"));
        assert_eq!((vec![7, 9], vec![4]), (file.rows(1, 99).expect("whole"), file.rows(0, 1).expect("whole")));
        assert_eq!(vec![1, -1, 0], file.positions(&[7, 8, 4]).expect("whole"));
        let contents = file.find_contents(&[5, 1, 5, 2, 6, 2]).expect("whole");
        assert_eq!((vec![0, 2, 2, 3], vec![4, 9, 7]), contents);
        let ids = file.find_ids(IdColumn::Names(&["c", "d"])).expect("whole");
        assert_eq!((vec![0, 1, 1], vec![9]), ids);
        assert_eq!(b"yzuv".to_vec(), file.records(&[2, 0]).expect("whole"));
        assert_eq!(vec![6, 2], file.contents(&[1]).expect("whole"));
        assert_eq!(vec![Id::Name("b")], file.ids(&[1]).expect("whole"));
        assert_eq!(vec![b"more".as_slice(), b""], file.extras(&[1, 2]).expect("whole"));
        let found = file.texts(&[2, 1, 2]).expect("whole");
        assert_eq!(vec![Some("one".to_owned()), Some("two".to_owned()), Some("one".to_owned())], found);
        assert!(file.dictionary().expect("whole").is_empty());
        let error = file.records(&[3]).expect_err("no such place").to_string();
        assert_eq!("places=3 is not allowed; use 0 to 2 of this file", error);
        std::fs::remove_file(&path).expect("there");
    }
}
