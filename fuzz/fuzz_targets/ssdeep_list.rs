//! Any bytes as a list: no panic, and a parsed list survives writing and parsing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::digests::ssdeep::list::{HEADER, read, write};

fuzz_target!(|input: &[u8]| {
    let _ = read(input);
    let text = [HEADER.as_bytes(), b"\n", input].concat();
    if let Ok(entries) = read(&text) {
        let again = write(entries.iter().map(|entry| (entry.digest.as_str(), entry.name.as_slice())));
        assert_eq!(entries, read(&again).expect("a list that was just written"));
    }
});
