//! Records of a corpus: common code of the readers of JSON Lines, CSV and plain lines.
//!
//! A reader takes a block of bytes from anywhere in a file and returns the records that end inside it, as columns:
//! concatenated texts with `n + 1` offsets, scalar columns, and each record's position in the block, so that it can be
//! read again or copied byte for byte. `consumed` is the start of the first incomplete record.
//!
//! A malformed record does not fail the call: it adds a line number and a reason to `malformed`, and no row. At most
//! [`REASONS`] reasons are stored, so that a block of garbage costs bounded memory; `malformed_count` counts all.
//!
//! `memchr` finds the lines, which are read in parallel in pieces of [`PIECE`] bytes, split at line ends. The pieces
//! are joined in order, so the result does not depend on the number of threads. Cost: one pass over the bytes, and a
//! copy of the texts. Limits: a block has less than 4 GiB, because positions are `u32`.

pub mod csv;
pub mod jsonl;

use crate::parallel::prelude::*;
use memchr::{memchr, memrchr};

use crate::{Error, Result};

/// Maximum number of reasons stored per block; the rest are only counted. A block of an ordinary corpus has fewer
/// lines.
pub const REASONS: usize = 1 << 20;

/// Number of bytes of a block per task: its texts are still in the second-level cache when they are joined.
const PIECE: usize = 1 << 18;

/// A value that is neither text nor nested.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    /// Null, or a missing key.
    Null,
    /// An integer within 64 bits.
    Int(i64),
    /// An integer beyond 64 bits, as its digits.
    BigInt(&'a str),
    /// A finite number with a fraction or exponent.
    Float(f64),
    /// A string.
    Text(std::borrow::Cow<'a, str>),
    /// True or false.
    Bool(bool),
}

/// A column of scalars: `kinds` has one entry per row, which selects the array with the row's value.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Column {
    /// [`Column::NULL`], [`Column::INT`], ... for each row.
    pub kinds: Vec<u8>,
    /// The integer, the bits of the float, or 0 or 1; 0 for the rest.
    pub values: Vec<i64>,
    /// Range of row i's string or digits in `data`: `offsets[i]..offsets[i + 1]`, empty for other kinds.
    pub offsets: Vec<i64>,
    /// Strings and digits, concatenated.
    pub data: Vec<u8>,
}

impl Column {
    /// No value.
    pub const NULL: u8 = 0;
    /// An integer in `values`.
    pub const INT: u8 = 1;
    /// An integer's digits in `data`.
    pub const BIG_INT: u8 = 2;
    /// A float's bits in `values`.
    pub const FLOAT: u8 = 3;
    /// A string in `data`.
    pub const TEXT: u8 = 4;
    /// 0 or 1 in `values`.
    pub const BOOL: u8 = 5;

    fn new() -> Self {
        Self { offsets: vec![0], ..Self::default() }
    }

    fn push(&mut self, value: &Scalar<'_>) {
        let (kind, number, bytes): (u8, i64, &[u8]) = match value {
            Scalar::Null => (Self::NULL, 0, &[]),
            Scalar::Int(n) => (Self::INT, *n, &[]),
            Scalar::BigInt(digits) => (Self::BIG_INT, 0, digits.as_bytes()),
            Scalar::Float(x) => (Self::FLOAT, x.to_bits() as i64, &[]),
            Scalar::Text(s) => (Self::TEXT, 0, s.as_bytes()),
            Scalar::Bool(b) => (Self::BOOL, i64::from(*b), &[]),
        };
        self.kinds.push(kind);
        self.values.push(number);
        self.data.extend_from_slice(bytes);
        self.offsets.push(self.data.len() as i64);
    }

    fn append(&mut self, other: &Self) {
        let base = self.data.len() as i64;
        self.kinds.extend_from_slice(&other.kinds);
        self.values.extend_from_slice(&other.values);
        self.offsets.extend(other.offsets[1..].iter().map(|offset| base + offset));
        self.data.extend_from_slice(&other.data);
    }
}

/// A malformed record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Its first line, counted from 0 at the start of the block.
    pub line: u64,
    /// Why it can't be read.
    pub reason: String,
}

/// The records that end inside one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    /// Range of row i's text in `data`: `offsets[i]..offsets[i + 1]`; one entry more than rows.
    pub offsets: Vec<i64>,
    /// The texts in UTF-8, concatenated.
    pub data: Vec<u8>,
    /// Rows whose text is null, ascending; their text is empty.
    pub nulls: Vec<u32>,
    /// Offset of each record in the block.
    pub starts: Vec<u32>,
    /// Length of each record in bytes, including its line end.
    pub lengths: Vec<u32>,
    /// The scalar columns, in the requested order.
    pub columns: Vec<Column>,
    /// The first [`REASONS`] malformed records.
    pub malformed: Vec<Malformed>,
    /// Number of malformed records.
    pub malformed_count: u64,
    /// Number of bytes before the first incomplete record.
    pub consumed: usize,
    /// Number of line ends in those bytes.
    pub lines: u64,
}

impl Records {
    pub(crate) fn new(columns: usize) -> Self {
        Self {
            offsets: vec![0],
            data: Vec::new(),
            nulls: Vec::new(),
            starts: Vec::new(),
            lengths: Vec::new(),
            columns: (0..columns).map(|_| Column::new()).collect(),
            malformed: Vec::new(),
            malformed_count: 0,
            consumed: 0,
            lines: 0,
        }
    }

    /// Return the number of rows.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Return the text of row `row`; empty if it is null, None after the last row.
    pub fn text(&self, row: usize) -> Option<&str> {
        let (start, end) = (*self.offsets.get(row)?, *self.offsets.get(row + 1)?);
        std::str::from_utf8(self.data.get(start as usize..end as usize)?).ok()
    }

    /// Finish the row whose text was appended to `data`; `null` if it has none.
    pub(crate) fn end_row(&mut self, start: usize, length: usize, null: bool, scalars: &[Scalar<'_>]) {
        if null {
            self.nulls.push(self.starts.len() as u32);
        }
        self.offsets.push(self.data.len() as i64);
        self.starts.push(start as u32);
        self.lengths.push(length as u32);
        for (column, scalar) in self.columns.iter_mut().zip(scalars) {
            column.push(scalar);
        }
    }

    pub(crate) fn reject(&mut self, line: u64, reason: String) {
        self.malformed_count += 1;
        if self.malformed.len() < REASONS {
            self.malformed.push(Malformed { line, reason });
        }
    }

    /// Read a record with `read`; if it fails, reject the record at the current line and remove what was read of it.
    pub(crate) fn read(&mut self, read: impl FnOnce(&mut Self) -> std::result::Result<(), String>) {
        let before = self.data.len();
        if let Err(reason) = read(self) {
            self.data.truncate(before);
            self.reject(self.lines, reason);
        }
    }

    fn append(&mut self, other: &Self) {
        let (base, rows) = (self.data.len() as i64, self.len() as u32);
        self.data.extend_from_slice(&other.data);
        self.offsets.extend(other.offsets[1..].iter().map(|offset| base + offset));
        self.nulls.extend(other.nulls.iter().map(|row| rows + row));
        self.starts.extend_from_slice(&other.starts);
        self.lengths.extend_from_slice(&other.lengths);
        for (column, piece) in self.columns.iter_mut().zip(&other.columns) {
            column.append(piece);
        }
        let free = REASONS - self.malformed.len();
        self.malformed.extend(
            other
                .malformed
                .iter()
                .take(free)
                .map(|m| Malformed { line: self.lines + m.line, reason: m.reason.clone() }),
        );
        self.malformed_count += other.malformed_count;
        self.lines += other.lines;
    }

    fn join(pieces: &[Self], columns: usize, consumed: usize) -> Self {
        let mut all = Self { consumed, ..Self::new(columns) };
        all.data.reserve_exact(pieces.iter().map(|piece| piece.data.len()).sum());
        let rows = pieces.iter().map(Self::len).sum();
        all.offsets.reserve_exact(rows);
        all.starts.reserve_exact(rows);
        all.lengths.reserve_exact(rows);
        for piece in pieces {
            all.append(piece);
        }
        all
    }
}

/// A line of a block.
pub(crate) struct Line<'a> {
    /// Its bytes without the line end (`\n` or `\r\n`).
    pub(crate) bytes: &'a [u8],
    /// Its offset in the block.
    pub(crate) start: usize,
    /// Its length in bytes including the line end.
    pub(crate) length: usize,
}

/// Reject a block whose positions do not fit `u32`.
pub(crate) fn check_block(block: &[u8]) -> Result<()> {
    if u32::try_from(block.len()).is_err() {
        return Err(Error::parameter("block", format!("{} bytes", block.len()), "less than 4 GiB at a time"));
    }
    Ok(())
}

/// Check that records of these lengths are the block.
pub(crate) fn check_lengths(block: &[u8], lengths: &[u32]) -> Result<()> {
    check_block(block)?;
    let total: usize = lengths.iter().map(|&length| length as usize).sum();
    if total != block.len() {
        return Err(Error::parameter("lengths", format!("a sum of {total}"), format!("a sum of {}", block.len())));
    }
    Ok(())
}

fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Read every complete line of `block` with `read`, in parallel. With `end` the last line needs no line end.
///
/// `read` appends at most one row to the records, or returns why it can't.
pub(crate) fn over_lines(
    block: &[u8],
    end: bool,
    columns: usize,
    read: impl Fn(&Line<'_>, &mut Records) -> std::result::Result<(), String> + Sync,
) -> Result<Records> {
    check_block(block)?;
    let consumed = if end { block.len() } else { memrchr(b'\n', block).map_or(0, |at| at + 1) };
    let mut cuts = vec![0];
    let mut at = 0;
    while at < consumed {
        let target = (at + PIECE).min(consumed);
        at = memchr(b'\n', &block[target - 1..consumed]).map_or(consumed, |found| target + found);
        cuts.push(at);
    }
    let pieces: Vec<Records> = cuts
        .par_windows(2)
        .map(|cut| {
            let mut records = Records::new(columns);
            records.data.reserve(cut[1] - cut[0]);
            let mut start = cut[0];
            while start < cut[1] {
                let found = memchr(b'\n', &block[start..cut[1]]);
                let length = found.map_or(cut[1] - start, |at| at + 1);
                let line = Line { bytes: trim_end(&block[start..start + length]), start, length };
                records.read(|records| read(&line, records));
                records.lines += u64::from(found.is_some());
                start += length;
            }
            records
        })
        .collect();
    Ok(Records::join(&pieces, columns, consumed))
}

/// Read with `read` the contiguous records of `block` with these `lengths`.
///
/// Unlike in [`over_lines`], the lengths define the records; `Malformed::line` is the record's index.
pub(crate) fn over_spans(
    block: &[u8],
    lengths: &[u32],
    columns: usize,
    read: impl Fn(&Line<'_>, &mut Records) -> std::result::Result<(), String> + Sync,
) -> Result<Records> {
    check_lengths(block, lengths)?;
    let mut end = 0;
    let span = |&length: &u32| {
        end += length as usize;
        (end - length as usize, length as usize)
    };
    let spans: Vec<(usize, usize)> = lengths.iter().map(span).collect();
    let pieces: Vec<Records> = spans
        .par_chunks(256)
        .map(|spans| {
            let mut records = Records::new(columns);
            for &(start, length) in spans {
                let line = Line { bytes: trim_end(&block[start..start + length]), start, length };
                records.read(|records| read(&line, records));
                records.lines += 1;
            }
            records
        })
        .collect();
    Ok(Records::join(&pieces, columns, block.len()))
}

/// Return the bytes as a string, or the offset of the first byte that is not UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> std::result::Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        format!("not UTF-8: byte 0x{:02x} at byte {} of the record; convert the file to UTF-8", bytes[at], at + 1)
    })
}

/// Return the rows of `offsets` over `data` that are not UTF-8, ascending.
///
/// # Errors
/// [`Error::Parameter`] if the offsets are not ascending or exceed `data`.
pub fn invalid_utf8(offsets: &[i64], data: &[u8]) -> Result<Vec<u32>> {
    let fits = offsets.first().is_none_or(|&first| first >= 0)
        && offsets.windows(2).all(|pair| pair[0] <= pair[1])
        && offsets.last().is_none_or(|&last| last as usize <= data.len());
    if !fits {
        return Err(Error::parameter("offsets", "a row outside of the data", "ascending offsets within the data"));
    }
    let is_invalid = |pair: &[i64]| std::str::from_utf8(&data[pair[0] as usize..pair[1] as usize]).is_err();
    let invalid: Vec<bool> = offsets.par_windows(2).with_min_len(64).map(is_invalid).collect();
    Ok((0..).zip(invalid).filter(|(_, invalid)| *invalid).map(|(row, _)| row).collect())
}

/// Read plain lines, each a document; an empty line is a document without text.
///
/// # Errors
/// [`Error::Parameter`] for a block of 4 GiB or more.
pub fn read_lines(block: &[u8], end: bool) -> Result<Records> {
    over_lines(block, end, 0, plain)
}

/// Read again the contiguous lines of `block` with these `lengths`.
///
/// # Errors
/// [`Error::Parameter`] if the lengths do not add up to the block.
pub fn read_line_spans(block: &[u8], lengths: &[u32]) -> Result<Records> {
    over_spans(block, lengths, 0, plain)
}

fn plain(line: &Line<'_>, records: &mut Records) -> std::result::Result<(), String> {
    if let Some(at) = memchr(0, line.bytes) {
        return Err(format!("a NUL byte at byte {} of the line; this is not a text file", at + 1));
    }
    records.data.extend_from_slice(utf8(line.bytes)?.as_bytes());
    records.end_row(line.start, line.length, false, &[]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_end_with_or_without_a_carriage_return() {
        let records = read_lines(b"one\r\ntwo\n\nfour", true).unwrap();
        let texts: Vec<_> = (0..records.len()).map(|row| records.text(row).unwrap()).collect();
        assert_eq!(vec!["one", "two", "", "four"], texts);
        assert_eq!(vec![5, 4, 1, 4], records.lengths);
        assert_eq!((14, 3), (records.consumed, records.lines));
    }

    #[test]
    fn a_line_that_is_cut_off_waits_for_the_next_block() {
        let records = read_lines(b"one\ntw", false).unwrap();
        assert_eq!((4, 1), (records.consumed, records.len()));
    }

    #[test]
    fn garbage_keeps_so_many_reasons_and_counts_all() {
        let records = read_lines(&b"\xff\n".repeat(REASONS + 7), true).unwrap();
        assert_eq!((0, REASONS as u64 + 7, REASONS), (records.len(), records.malformed_count, records.malformed.len()));
        assert_eq!(63, records.malformed[63].line);
    }

    proptest! {
        #[test]
        fn lines_equal_those_of_a_naive_split(block in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(0xff), any::<u8>()], 0..400)) {
            let records = read_lines(&block, true).unwrap();
            let mut expected = Vec::new();
            let mut bad = Vec::new();
            for (number, line) in block.split_inclusive(|&byte| byte == b'\n').enumerate() {
                match std::str::from_utf8(trim_end(line)) {
                    Ok(text) if !text.contains('\0') => expected.push(text.to_owned()),
                    _ => bad.push(number as u64),
                }
            }
            let texts: Vec<_> = (0..records.len()).map(|row| records.text(row).unwrap().to_owned()).collect();
            prop_assert_eq!(expected, texts);
            prop_assert_eq!(bad.len() as u64, records.malformed_count);
            let lines: Vec<_> = records.malformed.iter().map(|m| m.line).collect();
            prop_assert_eq!(&bad[..bad.len().min(REASONS)], &lines[..]);
        }

        #[test]
        fn pieces_join_as_if_read_alone(lines in proptest::collection::vec("[a-zé中]{0,9000}", 0..120)) {
            let block = lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
            let records = read_lines(block.as_bytes(), false).unwrap();
            prop_assert_eq!(lines.len(), records.len());
            for (row, line) in lines.iter().enumerate() {
                prop_assert_eq!(Some(line.as_str()), records.text(row));
                prop_assert_eq!(line.len() + 1, records.lengths[row] as usize);
            }
            let again = read_line_spans(block.as_bytes(), &records.lengths).unwrap();
            prop_assert_eq!(records.data, again.data);
            prop_assert_eq!(records.offsets, again.offsets);
        }
    }
}
