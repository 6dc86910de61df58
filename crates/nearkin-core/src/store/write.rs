//! Writing documents as a file.

use std::path::Path;

use super::ids::{IdColumn, check_count};
use super::packed::TextColumn;
use super::pages::PageWriter;
use super::tags::{ABOUT, BY_CONTENT, CONTENTS, EXTRAS, NOTE, RECORDS, ROWS};
use super::{KIND, compress, spans};
use crate::cancel::CancelToken;
use crate::error::check_length;
use crate::segment::Writer;
use crate::{Error, Result, alloc};

/// Capacity of a file's section table: 17 sections and the checksums of 14.
const ROOM: usize = 32;

/// Documents of a store, in order of their rows.
pub struct Documents<'a> {
    /// Row of each document, ascending from 0.
    pub rows: &'a [i64],
    /// Id of each document.
    pub ids: IdColumn<'a>,
    /// 128-bit hash of each content, two words.
    pub contents: &'a [u64],
    /// Record of each document, `width` bytes.
    pub records: &'a [u8],
    /// Bytes per record.
    pub width: usize,
    /// A byte string per document; None if all are empty.
    pub extras: Option<&'a [&'a [u8]]>,
    /// Text of each document, if any.
    pub texts: Option<TextColumn<'a>>,
}

impl Documents<'_> {
    fn check(&self) -> Result<()> {
        let count = self.rows.len();
        if count >= u32::MAX as usize {
            return Err(Error::parameter("rows", count, "at most 2**32 - 2 in a file"));
        }
        let ascending = self.rows.windows(2).all(|pair| pair[0] < pair[1]) && self.rows.first() >= Some(&0);
        if count > 0 && !ascending {
            return Err(Error::parameter("rows", format!("{count} numbers"), "ascending numbers from 0, each once"));
        }
        check_count(self.ids, count)?;
        check_length("contents", self.contents.len(), 2 * count)?;
        if self.width.checked_mul(count) != Some(self.records.len()) {
            let allowed = format!("width={} for each of {count} rows", self.width);
            return Err(Error::parameter("records", format!("{} bytes", self.records.len()), allowed));
        }
        if let Some(extras) = self.extras {
            check_length("extras", extras.len(), count)?;
        }
        self.texts.as_ref().map_or(Ok(()), |texts| check_length("texts", texts.len(), count))
    }
}

/// Write documents and a description of the caller's; texts are compressed at `level`, 1 to 19. Equal documents produce
/// an equal file; for precompressed texts, if they are in equal blocks.
///
/// # Errors
/// Arrays of inconsistent lengths, a level out of range, an I/O error, memory runs out, or a cancelled call; the old
/// file is then unchanged.
pub fn write(path: &Path, documents: &Documents<'_>, note: &[u8], level: i32) -> Result<()> {
    documents.check()?;
    compress::check_level(level)?;
    let count = documents.rows.len();
    let mut pages = PageWriter::new(Writer::create(path, KIND, ROOM)?);
    pages.plain().section(NOTE, 0, note)?;
    let first = documents.rows.first().copied().unwrap_or(0);
    if documents.rows.last().is_some_and(|last| last - first >= count as i64) {
        pages.array(ROWS, documents.rows)?;
    }
    pages.array(CONTENTS, documents.contents)?;
    let contents = documents.contents.chunks_exact(2).zip(0..count as u32);
    let mut order: Vec<(u64, u64, u32)> =
        alloc::try_collect(contents.map(|(content, position)| (content[0], content[1], position)))?;
    let cancel = CancelToken::current();
    cancel.sort(&mut order);
    cancel.check()?;
    pages
        .stream(BY_CONTENT, |out| order.iter().try_for_each(|(_, _, position)| out.append(&position.to_le_bytes())))?;
    drop(order);
    pages.array(RECORDS, documents.records)?;
    documents.ids.write(&mut pages)?;
    if let Some(extras) = documents.extras.filter(|extras| extras.iter().any(|extra| !extra.is_empty())) {
        spans::write(&mut pages, EXTRAS, "extras", count, |position, out| alloc::try_extend(out, extras[position]))?;
    }
    let (texts, bytes) = documents.texts.as_ref().map_or(Ok((0, 0)), |texts| texts.write(&mut pages, level))?;
    let about = [count as u64, first as u64, documents.width as u64, documents.ids.kind(), texts, bytes];
    pages.plain().section(ABOUT, 0, &about)?;
    pages.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::xxh3;
    use crate::segment::Segment;
    use crate::store::Id;

    /// Return documents without texts; rows are consecutive from 1 unless there is a gap.
    fn file_of(rows: &[i64], name: &str) -> (Vec<u8>, bool) {
        let path = std::env::temp_dir().join(format!("nearkin-store-write-{name}-{}", std::process::id()));
        let documents = Documents {
            rows,
            ids: IdColumn::Mixed(&[Id::Int(1), Id::Name("1")]),
            contents: &[9, 8, 7, 6],
            records: b"ab",
            width: 1,
            extras: Some(&[b"", b"x"]),
            texts: None,
        };
        write(&path, &documents, b"{}", 3).expect("writable");
        let has_rows = Segment::open(&path).expect("whole").has(ROWS, 0);
        let bytes = std::fs::read(&path).expect("there");
        std::fs::remove_file(&path).expect("there");
        (bytes, has_rows)
    }

    #[test]
    fn a_file_is_the_bytes_of_its_format() {
        let (bytes, has_rows) = file_of(&[1, 2], "bytes");
        assert_eq!((false, file_of(&[1, 2], "again").0), (has_rows, bytes.clone()));
        assert_eq!(
            (3008, 792_063_434_615_691_438),
            (bytes.len(), xxh3::hash(&bytes, 0)),
            "bytes of a file that every version writes"
        );
        assert!(file_of(&[1, 3], "rows").1);
    }
}
