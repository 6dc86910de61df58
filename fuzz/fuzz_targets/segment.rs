//! Any bytes as a saved index: an error, or, if `verify` passes them, an index that can be searched; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::hamming::Index;

fuzz_target!(|input: &[u8]| {
    let path = std::env::temp_dir().join(format!("nearkin-fuzz-{}.nks", std::process::id()));
    std::fs::write(&path, input).expect("a writable temporary folder");
    let Ok(mut index) = Index::open(&path) else { return };
    if index.verify().is_ok() {
        let words = index.bits().div_ceil(64);
        index.prepare(0, 1).expect("a radius of 0");
        index.search(&vec![0; words], 0, None).expect("one query");
    }
});
