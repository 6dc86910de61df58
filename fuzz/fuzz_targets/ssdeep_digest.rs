//! Two lines as digests: no panic, strict is a subset of lenient, scores are symmetric and the same in a batch.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::digests::ssdeep::{Digest, GRAM, Query, compare, compare_lenient, explain};

fuzz_target!(|input: &[u8]| {
    let mut lines = input.splitn(2, |&c| c == b'\n');
    let (left, right) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let lenient = compare_lenient(left, right, GRAM).ok();
    assert_eq!(lenient, compare_lenient(right, left, GRAM).ok());
    if let (Ok(a), Ok(b)) = (Digest::parse_lenient(left), Digest::parse_lenient(right)) {
        let score = compare(&a, &b);
        assert_eq!(Some(score), lenient);
        assert!(score <= 100);
        assert_eq!(score, compare(&b, &a));
        assert_eq!(vec![score as u8], Query::new(&a).scores([&b].into_iter()));
        assert_eq!(score, explain(&a, &b, GRAM).unwrap().score);
        if let Ok(strict) = Digest::parse(left) {
            assert_eq!(a, strict);
        }
    }
});
