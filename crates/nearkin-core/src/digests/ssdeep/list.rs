//! The program's list files, read and written exactly.
//!
//! ```text
//! ssdeep,1.1--blocksize:hash:hash,filename
//! 24:1gIO...:TOxd...,"path/to/file"
//! ```
//!
//! A quotation mark in a name is written `\"`. Nothing else is escaped, neither backslashes nor line ends. A name may
//! therefore span several lines, and a line ends a name only if the next one begins a record (a digest and `,"`) or the
//! file ends. Reading therefore returns the names that were written, except names that themselves contain a line end
//! followed by a complete record.

use super::parse::Digest;
use crate::error::{Error, Result};

/// The first line of a list.
pub const HEADER: &str = "ssdeep,1.1--blocksize:hash:hash,filename";

/// A file's digest and name. Names are bytes, as in the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The digest as written.
    pub digest: String,
    /// The name, with quotation marks unescaped.
    pub name: Vec<u8>,
}

/// True if `text` begins with the header of a list.
pub fn is_list(text: &[u8]) -> bool {
    text.starts_with(b"ssdeep,1.")
}

/// Return the entries of a list. Both line ends of the header are accepted; an empty line at the end is not part of a
/// name.
///
/// # Errors
/// With the line number: if the header is missing, or a line neither begins a record nor continues a name.
pub fn read(text: &[u8]) -> Result<Vec<Entry>> {
    let fault = |line: usize, reason: &str| Error::input(format!("line {line}"), reason.to_owned());
    if !is_list(text) {
        return Err(fault(1, "no header; a list begins with `ssdeep,1.1--blocksize:hash:hash,filename`"));
    }
    let mut entries = Vec::new();
    // The record being read: its line, digest, and name from the first quotation mark on.
    let mut open: Option<(usize, String, Vec<u8>)> = None;
    let body = text.iter().position(|&c| c == b'\n').map_or(&[][..], |end| &text[end + 1..]);
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    if body.is_empty() {
        return Ok(entries);
    }
    for (number, line) in (2..).zip(body.split(|&c| c == b'\n')) {
        if let Some((digest, name)) = begin(line) {
            if let Some(record) = open.take() {
                entries.push(close(record)?);
            }
            open = Some((number, digest, name.to_vec()));
        } else if let Some((_, _, name)) = &mut open {
            name.push(b'\n');
            name.extend_from_slice(line);
        } else {
            return Err(fault(number, "no record; one reads `size:part:part,\"name\"`"));
        }
    }
    if let Some(record) = open {
        entries.push(close(record)?);
    }
    Ok(entries)
}

/// Split a line into its digest and the text after the opening quotation mark.
fn begin(line: &[u8]) -> Option<(String, &[u8])> {
    let comma = line.iter().position(|&c| c == b',')?;
    let name = line[comma + 1..].strip_prefix(b"\"")?;
    Digest::parse(&line[..comma]).ok()?;
    Some((String::from_utf8(line[..comma].to_vec()).ok()?, name))
}

fn close((line, digest, quoted): (usize, String, Vec<u8>)) -> Result<Entry> {
    let quoted = quoted.strip_suffix(b"\r").unwrap_or(&quoted);
    let Some(quoted) = quoted.strip_suffix(b"\"") else {
        return Err(Error::input(
            format!("line {line}"),
            "the name has no closing quotation mark; the list is cut off or was edited",
        ));
    };
    let mut name = Vec::with_capacity(quoted.len());
    for (i, &c) in quoted.iter().enumerate() {
        if !(c == b'\\' && quoted.get(i + 1) == Some(&b'"')) {
            name.push(c);
        }
    }
    Ok(Entry { digest, name })
}

/// Return a list in the program's format.
pub fn write<'a>(entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut text = HEADER.as_bytes().to_vec();
    text.push(b'\n');
    for (digest, name) in entries {
        text.extend_from_slice(digest.as_bytes());
        text.extend_from_slice(b",\"");
        for &c in name {
            if c == b'"' {
                text.push(b'\\');
            }
            text.push(c);
        }
        text.extend_from_slice(b"\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(names in prop::collection::vec("[a\\\\\"\n, :]{0,12}", 0..6)) {
            let entries: Vec<Entry> =
                names.iter().map(|name| Entry { digest: "3:aaX8v:aV".into(), name: name.as_bytes().to_vec() }).collect();
            let text = write(entries.iter().map(|e| (e.digest.as_str(), e.name.as_slice())));
            prop_assert_eq!(entries, read(&text).unwrap());
        }

        #[test]
        fn no_bytes_crash_the_reader(tail in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&[HEADER.as_bytes(), b"\n3::,\"x", &tail].concat());
            let _ = read(&tail);
        }
    }

    #[test]
    fn an_error_names_the_line() {
        let text = format!("{HEADER}\nnonsense\n");
        assert!(read(text.as_bytes()).unwrap_err().to_string().starts_with("line 2: no record"));
        let text = format!("{HEADER}\n3::,\"cut");
        assert!(read(text.as_bytes()).unwrap_err().to_string().starts_with("line 2: the name has no closing"));
        assert!(read(b"3::,\"x\"\n").unwrap_err().to_string().starts_with("line 1: no header"));
        assert_eq!(Vec::<Entry>::new(), read(HEADER.as_bytes()).unwrap());
    }
}
