//! Files of saved pattern states: a JSON text that describes the arrays, and byte arrays. Reading verifies every
//! checksum.
//!
//! `docs/format-patterns.md` lists the contents for each class.

use std::path::Path;

use nearkin_core::Result;
use nearkin_core::segment::arrays;

/// Segment kind of a pattern state.
pub const PATTERNS: u32 = 12;

/// Write a text and arrays, replacing the file atomically.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, text: &str, values: &[&[u8]]) -> Result<()> {
    arrays::write(path, PATTERNS, text, values)
}

/// Read a file that [`write`] wrote.
///
/// # Errors
/// The file cannot be read, has a newer version or another kind, or is corrupt.
pub fn read(path: &Path) -> Result<(String, Vec<Vec<u8>>)> {
    arrays::read(path, PATTERNS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin_core::Error;

    #[test]
    fn a_state_is_no_family() {
        let path = std::env::temp_dir().join(format!("nearkin-patterns-{}", std::process::id()));
        write(&path, "{}", &[b"abc"]).expect("writable");
        assert_eq!(("{}".to_owned(), vec![b"abc".to_vec()]), read(&path).expect("whole"));
        assert!(matches!(arrays::read(&path, arrays::FAMILY), Err(Error::Corrupt { .. })));
        std::fs::remove_file(&path).expect("there");
    }
}
