//! CSV and TSV: records of quoted or bare fields; one text column and some string columns are read.
//!
//! A field is quoted if its first byte is `"`; inside, `""` is a quote and line ends are text. A bare field ends at the
//! delimiter or line end (`\n` or `\r\n`), and a quote inside it is literal. Records are found and parsed in one
//! sequential pass, because quotes determine where a record ends.
//!
//! A record is malformed if it has another number of fields than the header, invalid UTF-8 or a NUL in a requested
//! field, anything but a delimiter or line end after a closing quote, or an unclosed quote. After an unclosed quote,
//! which may have swallowed the rest of the file, parsing resumes at the line after the record's first one; after other
//! faults at the line after the fault. Blank lines are not records. Values are strings; an empty field is an empty
//! string, never null.
//!
//! Source: RFC 4180, section 2. We differ by accepting `\n` alone and quotes inside bare fields.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr2};

use crate::records::{Records, Scalar, check_block, check_lengths};
use crate::{Error, Result};

/// The layout of records and the requested fields, numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLayout {
    /// Delimiter: `,` or a tab, or any other ASCII byte except a quote or line end.
    pub delimiter: u8,
    /// Number of fields in each record.
    pub fields: usize,
    /// The field of the text.
    pub text: usize,
    /// The fields of the scalar columns.
    pub scalars: Vec<usize>,
}

impl RecordLayout {
    fn check(&self) -> Result<()> {
        if !self.delimiter.is_ascii() || matches!(self.delimiter, b'"' | b'\n' | b'\r' | 0) {
            return Err(Error::parameter("delimiter", self.delimiter, "an ASCII character but a quote or line end"));
        }
        match std::iter::once(&self.text).chain(&self.scalars).find(|&&field| field >= self.fields) {
            Some(field) => Err(Error::parameter("field", field, format!("0 to {}", self.fields.saturating_sub(1)))),
            None => Ok(()),
        }
    }
}

/// The end of a record.
enum Ended {
    /// At the line end before this byte.
    At(usize),
    /// Incomplete: the block ends inside the record.
    Open,
    /// A fault, detected at this byte.
    Wrong(usize),
}

/// Parse the fields of the record that starts at `at`, and return how it ended. With `end` the block's end ends a
/// record.
fn record<'a>(block: &'a [u8], at: usize, end: bool, delimiter: u8, fields: &mut Vec<Cow<'a, [u8]>>) -> Ended {
    fields.clear();
    let mut at = at;
    loop {
        if block.get(at) == Some(&b'"') {
            let mut owned: Option<Vec<u8>> = None;
            let mut from = at + 1;
            loop {
                let Some(quote) = memchr(b'"', &block[from..]).map(|found| from + found) else { return Ended::Open };
                match block.get(quote + 1) {
                    None if !end => return Ended::Open,
                    Some(b'"') => {
                        owned.get_or_insert_default().extend_from_slice(&block[from..=quote]);
                        from = quote + 2;
                    }
                    _ => {
                        let part = &block[from..quote];
                        fields.push(match owned {
                            None => Cow::Borrowed(part),
                            Some(mut bytes) => {
                                bytes.extend_from_slice(part);
                                Cow::Owned(bytes)
                            }
                        });
                        at = quote + 1;
                        break;
                    }
                }
            }
            match (block.get(at), block.get(at + 1)) {
                (Some(&byte), _) if byte == delimiter => at += 1,
                (Some(b'\r'), Some(b'\n')) => return Ended::At(at + 2),
                (Some(b'\r'), None) if !end => return Ended::Open,
                (Some(b'\n'), _) | (Some(b'\r'), None) => return Ended::At(at + 1),
                (None, _) => return Ended::At(at),
                _ => return Ended::Wrong(at),
            }
        } else {
            let Some(stop) = memchr2(delimiter, b'\n', &block[at..]).map(|found| at + found) else {
                if !end {
                    return Ended::Open;
                }
                fields.push(Cow::Borrowed(block[at..].strip_suffix(b"\r").unwrap_or(&block[at..])));
                return Ended::At(block.len());
            };
            let part = &block[at..stop];
            if block[stop] == b'\n' {
                fields.push(Cow::Borrowed(part.strip_suffix(b"\r").unwrap_or(part)));
                return Ended::At(stop + 1);
            }
            fields.push(Cow::Borrowed(part));
            at = stop + 1;
        }
    }
}

/// Return why the bytes of a requested field are not text.
fn text(field: &[u8], number: usize) -> std::result::Result<&str, String> {
    let text = std::str::from_utf8(field).map_err(|error| {
        let byte = field[error.valid_up_to()];
        format!("not UTF-8: byte 0x{byte:02x} in field {}; convert the file to UTF-8", number + 1)
    })?;
    if memchr(0, field).is_some() {
        return Err(format!("a NUL byte in field {}; this is not a text file", number + 1));
    }
    Ok(text)
}

fn append(
    fields: &[Cow<'_, [u8]>],
    start: usize,
    length: usize,
    layout: &RecordLayout,
    records: &mut Records,
) -> std::result::Result<(), String> {
    if fields.len() != layout.fields {
        return Err(format!("{} fields, while the header has {}", fields.len(), layout.fields));
    }
    let document = text(&fields[layout.text], layout.text)?;
    let scalars = layout
        .scalars
        .iter()
        .map(|&i| text(&fields[i], i).map(|value| Scalar::Text(Cow::Borrowed(value))))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    records.data.extend_from_slice(document.as_bytes());
    records.end_row(start, length, false, &scalars);
    Ok(())
}

fn count_lines(block: &[u8]) -> u64 {
    memchr_iter(b'\n', block).count() as u64
}

/// Parse the header; return the column names and the bytes consumed. None if the block contains only a part of it.
///
/// # Errors
/// [`Error::Input`] for a header that is not UTF-8 or is quoted wrongly, [`Error::Parameter`] for an invalid delimiter.
pub fn read_header(block: &[u8], end: bool, delimiter: u8) -> Result<Option<(Vec<String>, usize)>> {
    RecordLayout { delimiter, fields: 1, text: 0, scalars: Vec::new() }.check()?;
    let mut fields = Vec::new();
    match record(block, 0, end, delimiter, &mut fields) {
        Ended::Open if end => Err(Error::input("header", "a quote is opened and never closed")),
        Ended::Open => Ok(None),
        Ended::Wrong(_) => {
            Err(Error::input("header", "text after a closing quote; double the quotes inside of a field"))
        }
        Ended::At(length) => {
            let names = fields.iter().enumerate().map(|(i, field)| text(field, i).map(str::to_owned));
            let names = names.collect::<std::result::Result<Vec<_>, _>>();
            names.map(|names| Some((names, length))).map_err(|reason| Error::input("header", reason))
        }
    }
}

/// Read the records of a block that starts at the start of a record; see `records` for the result.
///
/// # Errors
/// [`Error::Parameter`] for a block of 4 GiB or more, or a layout that contradicts itself.
pub fn read(block: &[u8], end: bool, layout: &RecordLayout) -> Result<Records> {
    check_block(block)?;
    layout.check()?;
    let mut records = Records::new(layout.scalars.len());
    let mut fields = Vec::new();
    let mut at = 0;
    while at < block.len() {
        let blank = match &block[at..] {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => 0,
        };
        if blank > 0 {
            at += blank;
            records.lines += 1;
            continue;
        }
        let fault_line = |from: usize| memchr(b'\n', &block[from..]).map(|found| from + found + 1);
        let next = match record(block, at, end, layout.delimiter, &mut fields) {
            Ended::Open if !end => break,
            Ended::Open => {
                let reason = "a quote is opened and never closed; double the quotes inside of a field";
                records.reject(records.lines, reason.to_owned());
                fault_line(at).unwrap_or(block.len())
            }
            Ended::Wrong(fault) => {
                let Some(next) = fault_line(fault).or(end.then_some(block.len())) else { break };
                let reason = "text after a closing quote; double the quotes inside of a field";
                records.reject(records.lines, reason.to_owned());
                next
            }
            Ended::At(next) => {
                records.read(|records| append(&fields, at, next - at, layout, records));
                next
            }
        };
        records.lines += count_lines(&block[at..next]);
        at = next;
    }
    records.consumed = at;
    Ok(records)
}

/// Read again the records that are contiguous in `block` with these `lengths`.
///
/// # Errors
/// As [`read`], and if the lengths do not add up to the block.
pub fn read_spans(block: &[u8], lengths: &[u32], layout: &RecordLayout) -> Result<Records> {
    check_lengths(block, lengths)?;
    layout.check()?;
    let mut records = Records::new(layout.scalars.len());
    let mut fields = Vec::new();
    let mut at = 0;
    for &length in lengths {
        let length = length as usize;
        let ended = record(&block[at..at + length], 0, true, layout.delimiter, &mut fields);
        records.read(|records| match ended {
            Ended::At(stop) if stop == length => append(&fields, at, length, layout, records),
            _ => Err("the record is not as it was".to_owned()),
        });
        records.lines += 1;
        at += length;
    }
    records.consumed = at;
    Ok(records)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layout(fields: usize) -> RecordLayout {
        RecordLayout { delimiter: b',', fields, text: 0, scalars: vec![fields - 1] }
    }

    fn texts(records: &Records) -> Vec<&str> {
        (0..records.len()).map(|row| records.text(row).unwrap()).collect()
    }

    #[test]
    fn quoted_fields_hold_delimiters_quotes_and_line_ends() {
        let block = b"\"a,\r\n\"\"b\"\"\",1\r\n\nplain \"x\",2\n\"\",3";
        let records = read(block, true, &layout(2)).unwrap();
        assert_eq!(vec!["a,\r\n\"b\"", "plain \"x\"", ""], texts(&records));
        assert_eq!((b"123".as_slice(), vec![0, 16, 28]), (&*records.columns[0].data, records.starts.clone()));
        assert_eq!((4, 0), (records.lines, records.malformed_count));
    }

    #[test]
    fn faults_are_named_and_reading_goes_on() {
        let block = b"\"a\"b,1\nc,2\nd\n\xff,3\ne\0,4\nf,5\n\"open,6\ng,7\n";
        let records = read(block, true, &layout(2)).unwrap();
        assert_eq!(vec!["c", "f", "g"], texts(&records));
        let found: Vec<_> = records.malformed.iter().map(|m| (m.line, &m.reason[..m.reason.len().min(14)])).collect();
        let expected = [
            (0, "text after a c"),
            (2, "1 fields, whil"),
            (3, "not UTF-8: byt"),
            (4, "a NUL byte in "),
            (6, "a quote is ope"),
        ];
        assert_eq!(&expected[..], &found[..]);
    }

    #[test]
    fn a_record_that_is_cut_off_waits_for_the_next_block() {
        for cut in [b"a,1\n\"b\nc".as_slice(), b"a,1\n\"b\"", b"a,1\n\"b\",2", b"a,1\nb,\"2\"\r", b"a,1\n\"b\"x"] {
            let records = read(cut, false, &layout(2)).unwrap();
            assert_eq!((4, 1, 0), (records.consumed, records.len(), records.malformed_count));
        }
    }

    #[test]
    fn a_header_names_its_columns() {
        let found = read_header(b"id,\"te\"\"xt\"\r\nrest", false, b',').unwrap();
        assert_eq!(Some((vec!["id".to_owned(), "te\"xt".to_owned()], 13)), found);
        assert_eq!(None, read_header(b"id,te", false, b',').unwrap());
        assert!(read_header(b"\"id", true, b',').is_err());
        assert!(read_header(b"id", true, b'"').is_err());
    }

    fn quote(field: &str, always: bool) -> String {
        if always || field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.to_owned()
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(rows in proptest::collection::vec(("[ab,\"\n\ré]{0,8}", "[ab,\"\n\r]{0,3}", any::<bool>()), 0..30), crlf: bool) {
            let line_end = if crlf { "\r\n" } else { "\n" };
            let lines: Vec<String> = rows
                .iter()
                .map(|(a, b, always)| format!("{},{}{line_end}", quote(a, *always), quote(b, *always)))
                .collect();
            let block = lines.concat();
            let records = read(block.as_bytes(), false, &layout(2)).unwrap();
            let expected: Vec<&str> = rows.iter().map(|(a, _, _)| a.as_str()).collect();
            prop_assert_eq!(&expected, &texts(&records));
            prop_assert_eq!(block.len(), records.consumed);
            let again = read_spans(block.as_bytes(), &records.lengths, &layout(2)).unwrap();
            prop_assert_eq!(&records.data, &again.data);
            prop_assert_eq!(&records.columns, &again.columns);
        }

        #[test]
        fn blocks_of_any_size_give_the_same_records(block in "[a,\"\n\r]{0,60}", cut in 0_usize..60) {
            let block = block.as_bytes();
            let whole = read(block, true, &layout(2)).unwrap();
            let cut = cut.min(block.len());
            let first = read(&block[..cut], false, &layout(2)).unwrap();
            let second = read(&block[first.consumed..], true, &layout(2)).unwrap();
            prop_assert_eq!(whole.malformed_count, first.malformed_count + second.malformed_count);
            prop_assert_eq!(whole.lines, first.lines + second.lines);
            prop_assert_eq!(whole.data, [first.data, second.data].concat());
        }
    }
}
