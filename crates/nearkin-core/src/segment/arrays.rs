//! A segment of a text and any number of byte arrays, every checksum compared on reading: small files of parameters.
//!
//! Section 1.0 is the text (JSON, which says what the arrays are), section 2.i array i. `docs/format-families.md` says
//! what a hash family puts there. Unlike an index, such a file is read whole, so damage is always found.

use std::path::Path;

use crate::Result;
use crate::alloc;
use crate::segment::{Segment, Writer};

const TEXT: u32 = 1;
const ARRAY: u32 = 2;
/// The kind of a segment that holds a hash family.
pub const FAMILY: u32 = 10;

/// Writes a text and arrays; the old file stays until the new one is whole.
///
/// # Errors
/// The file system refuses.
pub fn write(path: &Path, kind: u32, text: &str, arrays: &[&[u8]]) -> Result<()> {
    let mut writer = Writer::create(path, kind, 1 + arrays.len())?;
    writer.section(TEXT, 0, text.as_bytes())?;
    for (number, array) in arrays.iter().enumerate() {
        writer.section(ARRAY, number as u32, array)?;
    }
    writer.finish()
}

/// Reads what [`write`] wrote.
///
/// # Errors
/// The file system refuses; a newer version; a file of another kind, or one that changed since it was written.
pub fn read(path: &Path, kind: u32) -> Result<(String, Vec<Vec<u8>>)> {
    let segment = Segment::open(path)?;
    if segment.kind() != kind {
        return Err(segment.corrupt(format!("it holds kind {}, not {kind}", segment.kind())));
    }
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
            // Bytes between sections are zero and never read: only they may change without a word.
            if let Ok(found) = read(&path, FAMILY) {
                assert_eq!(("{}".to_owned(), vec![b"abc".to_vec(), Vec::new()]), found);
            }
            bytes[at] ^= 1;
        }
        std::fs::remove_file(&path).expect("there");
    }
}
