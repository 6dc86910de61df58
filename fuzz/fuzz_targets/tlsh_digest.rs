//! Two lines as TLSH digests: no panic, text round trips, distances are symmetric and at least their bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::digests::tlsh::Digest;

fuzz_target!(|input: &[u8]| {
    let mut lines = input.splitn(2, |&c| c == b'\n');
    let (left, right) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if let (Ok(a), Ok(b)) = (Digest::parse(left), Digest::parse(right)) {
        assert_eq!(a, Digest::parse(a.to_text().as_bytes()).unwrap());
        if a.form() == b.form() {
            assert_eq!(a.distance(&b, true), b.distance(&a, true));
            assert!(a.hamming(&b) <= a.body_distance(&b));
        }
    }
});
