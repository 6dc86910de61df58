//! Any bytes as an index file, and again with a right head and checksum: an error or an index, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::search::digests::file::{decode, encode};
use xxhash_rust::xxh3::xxh3_64;

fuzz_target!(|input: &[u8]| {
    let _ = decode(input, "input");
    for version in [1, 2] {
        let mut bytes = [b"NKDIGEST", &[version, 0, 0, 0][..], input].concat();
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        if let Ok((index, about)) = decode(&bytes, "input") {
            let (again, same) = decode(&encode(&index, &about, false), "again").expect("a file that was just written");
            assert_eq!((index.slots(), index.len()), (again.slots(), again.len()));
            assert_eq!(about, same);
        }
    }
});
