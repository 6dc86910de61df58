//! What the targets share.

use std::sync::Once;

use xxhash_rust::xxh3::xxh3_64;

const HEADER: usize = 64;
const ENTRY: usize = 40;

/// Lets panics unwind without a word: `guarded` turns those over an opened file into errors, which is what users get.
/// One that nothing catches still ends the target.
pub fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

fn long(bytes: &[u8], at: usize) -> usize {
    bytes[at..at + 8].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
}

/// Makes magic, version, kind, length and every sum of a segment right, as far as the section table lies inside.
pub fn mend(bytes: &mut [u8], kind: u8) {
    if bytes.len() < HEADER {
        return;
    }
    let length = bytes.len() as u64;
    bytes[..8].copy_from_slice(b"NEARKSEG");
    bytes[8..16].copy_from_slice(&[1, 0, 0, 0, kind, 0, 0, 0]);
    bytes[24..32].copy_from_slice(&length.to_le_bytes());
    let end = HEADER + ENTRY * (long(bytes, 16) & 0xff);
    if end > bytes.len() {
        return;
    }
    for at in (HEADER..end).step_by(ENTRY) {
        let (offset, size) = (long(bytes, at + 8), long(bytes, at + 16));
        let section = offset.checked_add(size).and_then(|stop| bytes.get(offset..stop));
        if let Some(sum) = section.map(xxh3_64) {
            bytes[at + 24..at + 32].copy_from_slice(&sum.to_le_bytes());
        }
    }
    bytes[56..64].fill(0);
    let sum = xxh3_64(&bytes[..end]);
    bytes[56..64].copy_from_slice(&sum.to_le_bytes());
}

/// The input in a file of this process, with right sums unless its first byte is odd.
pub fn file(input: &[u8], name: &str, kind: u8) -> std::path::PathBuf {
    quiet();
    let mut bytes = input.to_vec();
    if bytes.first().is_none_or(|first| first & 1 == 0) {
        mend(&mut bytes, kind);
    }
    let path = std::env::temp_dir().join(format!("nearkin-fuzz-{name}-{}.nks", std::process::id()));
    std::fs::write(&path, &bytes).expect("a writable temporary folder");
    path
}
