//! Any bytes as a saved index of suites: opening or the first search fails, or the index is searchable; never a panic,
//! verified or not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::dedup::suites::{Limits, SuiteIndex};
use nearkin_core::segment::with_verified;
use nearkin_fuzz::{alone, file};

fuzz_target!(init: alone(), |input: &[u8]| {
    let path = file(input, "suites", 13);
    let Ok(index) = SuiteIndex::open(&path) else { return };
    let segment = index.segment().cloned();
    let _ = with_verified(segment.as_ref(), || {
        let documents = ["one two three four five six seven eight nine ten", ""];
        index.scan(&documents.as_slice(), Limits { threshold: 0.1, max_chance: 1.0 })?;
        let _ = index.too_short(1e-6);
        (0..index.len()).for_each(|item| _ = index.text(item));
        Ok(())
    });
    let _ = index.verify();
});
