//! Saved states of patterns: a text (JSON, which says what the arrays are) and byte arrays, every checksum compared on reading.
//! `docs/format-patterns.md` says what each class puts there.

use std::path::Path;

use nearkin_core::Result;
use nearkin_core::segment::arrays;

/// The kind of a segment that holds a state of patterns.
pub const PATTERNS: u32 = 12;

/// Writes a text and arrays; the old file stays until the new one is whole.
///
/// # Errors
/// The file system refuses.
pub fn write(path: &Path, text: &str, values: &[&[u8]]) -> Result<()> {
    arrays::write(path, PATTERNS, text, values)
}

/// Reads what [`write`] wrote.
///
/// # Errors
/// The file system refuses; a newer version; a file of another kind, or one that changed since it was written.
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
