//! Any bytes as an index file of an older version, with a valid head and checksum unless the input begins as such a
//! file: opening fails, or the index is searched in every way, saved and reopened; never a panic.
//!
//! The first byte selects the version.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::index::digests::Index;
use nearkin_fuzz::{alone, digests, place, quiet};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8] = b"NKDIGEST";

fuzz_target!(init: alone(), |input: &[u8]| {
    quiet();
    let mut bytes = input.to_vec();
    if !input.starts_with(MAGIC) {
        let Some((&version, rest)) = input.split_first() else { return };
        bytes = [MAGIC, &[version % 4, 0, 0, 0], rest].concat();
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
    }
    let path = place("older");
    std::fs::write(&path, &bytes).expect("a writable temporary folder");
    if let Ok((index, about)) = Index::open(&path) {
        digests::exercise(index, &about, &path);
    }
});
