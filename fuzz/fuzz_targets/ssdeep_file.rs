//! Any bytes as an index file, and those of older versions again with a right head and checksum: an error or an index that saves
//! and opens as itself, never a panic.
#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use nearkin_core::search::digests::Index;
use xxhash_rust::xxh3::xxh3_64;

fn open(path: &PathBuf, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("a writable temporary folder");
    if let Ok((index, about)) = Index::open(path) {
        index.save(path, &about).expect("a writable temporary folder");
        let (again, same) = Index::open(path).expect("a file that was just written");
        assert_eq!((index.rows().total(), index.len()), (again.rows().total(), again.len()));
        assert_eq!(about.lenient, same.lenient);
    }
}

fuzz_target!(|input: &[u8]| {
    let path = std::env::temp_dir().join(format!("nearkin-fuzz-digests-{}", std::process::id()));
    open(&path, input);
    for version in [1, 2] {
        let mut bytes = [b"NKDIGEST", &[version, 0, 0, 0][..], input].concat();
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        open(&path, &bytes);
    }
});
