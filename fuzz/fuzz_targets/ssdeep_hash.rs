//! Any input: the digest of the input equals that of its pieces, under every option, and parses.
//!
//! The first byte is the number of repetitions of the rest.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::digests::ssdeep::{Digest, Hasher, Options, hash};

/// Maximum number of hashed bytes: of six block sizes, and of ten if the first byte is the largest.
const SHORT: usize = 1 << 12;
const LONG: usize = 1 << 16;

fuzz_target!(|input: &[u8]| {
    let Some((&repeats, unit)) = input.split_first() else { return };
    let most = if repeats == u8::MAX { LONG } else { SHORT };
    let unit = &unit[..unit.len().min(most / usize::from(repeats.max(1)))];
    let data = unit.repeat(usize::from(repeats));
    let mut hasher = Hasher::new();
    for piece in data.chunks(usize::from(repeats) + 1) {
        hasher.update(piece);
    }
    for eliminate_runs in [false, true] {
        for no_truncation in [false, true] {
            let options = Options { eliminate_runs, no_truncation };
            let digest = hash(&data, options).expect("a short input");
            assert_eq!(digest, hasher.digest(options).expect("a short input"));
            assert!(Digest::parse(digest.as_bytes()).is_ok());
        }
    }
});
