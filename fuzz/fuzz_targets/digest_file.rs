//! Any bytes as a saved digest index: opening fails, or the index is searched in every way, changed, saved and
//! reopened; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::index::digests::Index;
use nearkin_fuzz::{alone, digests, file};

fuzz_target!(init: alone(), |input: &[u8]| {
    let path = file(input, "digests", 7);
    if let Ok((index, about)) = Index::open(&path) {
        digests::exercise(index, &about, &path);
    }
});
