//! A segment of one text and any number of byte arrays, for small files of parameters. Reading verifies every checksum.
//!
//! Section 1.0 is the text (JSON that describes the arrays), section 2.i is array i. `docs/format-families.md`
//! documents the contents for hash families. Unlike an index, such a file is read completely, so damage is always
//! found.

use std::path::Path;

use crate::Result;
use crate::alloc;
use crate::segment::{Segment, Writer};

const TEXT: u32 = 1;
const ARRAY: u32 = 2;
/// Segment kind of a hash family.
pub const FAMILY: u32 = 10;

/// Write a text and arrays, replacing the file atomically.
///
/// # Errors
/// An I/O operation fails.
pub fn write(path: &Path, kind: u32, text: &str, arrays: &[&[u8]]) -> Result<()> {
    let mut writer = Writer::create(path, kind, 1 + arrays.len())?;
    writer.section(TEXT, 0, text.as_bytes())?;
    for (number, array) in arrays.iter().enumerate() {
        writer.section(ARRAY, number as u32, array)?;
    }
    writer.finish()
}

/// Read a file that [`write`] wrote.
///
/// # Errors
/// An I/O operation fails; a newer version; a file of another kind, or one that changed since it was written.
pub fn read(path: &Path, kind: u32) -> Result<(String, Vec<Vec<u8>>)> {
    let segment = Segment::open_kind(path, kind, &format!(", not {kind}"))?;
    segment.verify()?;
    let text = String::from_utf8(alloc::try_copy(&segment.column::<u8>(TEXT, 0)?)?)
        .map_err(|_| segment.corrupt("its description is not UTF-8"))?;
    let count = segment.len().saturating_sub(1) as u32;
    let arrays = (0..count).map(|number| alloc::try_copy(&segment.column::<u8>(ARRAY, number)?));
    Ok((text, arrays.collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn what_was_written_is_read() {
        let path = std::env::temp_dir().join(format!("nearkin-arrays-{}", std::process::id()));
        write(&path, FAMILY, "{}", &[b"abc", b""]).expect("writable");
        assert_eq!(("{}".to_owned(), vec![b"abc".to_vec(), Vec::new()]), read(&path, FAMILY).expect("whole"));
        assert!(matches!(read(&path, FAMILY + 1), Err(Error::Corrupt { .. })));
        let mut bytes = std::fs::read(&path).expect("there");
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).expect("writable");
            // Padding between sections is zero and never read: only it may change undetected.
            if let Ok(read_back) = read(&path, FAMILY) {
                assert_eq!(("{}".to_owned(), vec![b"abc".to_vec(), Vec::new()]), read_back);
            }
            bytes[at] ^= 1;
        }
        std::fs::remove_file(&path).expect("there");
    }
}
