//! Nanoseconds per feature of hashes that could serve fingerprints of 32 bits: n-grams of n bytes in a row, one thread.
//!
//!     cargo run --release -p nearkin-core --example hash_speed

use std::hint::black_box;
use std::time::Instant;

use nearkin_core::hash::{jenkins, xxh3};
use xxhash_rust::xxh32::xxh32;

/// FNV-1a of 32 bits (Fowler, Noll, Vo; RFC 9923).
fn fnv1a_32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// `MurmurHash3_x86_32` (Appleby), seed 0.
fn murmur3_32(bytes: &[u8]) -> u32 {
    let mix = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, tail) = bytes.as_chunks::<4>();
    let mut hash = words.iter().fold(0, |hash: u32, &word| {
        (hash ^ mix(u32::from_le_bytes(word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    if !tail.is_empty() {
        hash ^= mix(tail.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)));
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

/// Nanoseconds per feature of the best of five rounds.
fn best(features: usize, mut round: impl FnMut() -> u64) -> f64 {
    let time = |round: &mut dyn FnMut() -> u64| {
        let start = Instant::now();
        black_box(round());
        start.elapsed().as_nanos() as f64 / features as f64
    };
    (0..5).map(|_| time(&mut round)).fold(f64::INFINITY, f64::min)
}

fn main() {
    // Letters, since n-grams of texts are; what they are changes no time.
    let text: Vec<u8> = (0..1_u32 << 20).map(|i| b'a' + (i.wrapping_mul(2_654_435_761) >> 27) as u8 % 26).collect();
    println!("bytes\txxh3, a row at once\txxh3, one by one\txxh32\tmurmur3 32\tFNV-1a 32\tone_at_a_time\tlookup3");
    for n in [2, 4, 5, 8, 12, 16, 24, 32] {
        let windows = (text.len() - 64 - n) / 56 * 56;
        let mut hashes = vec![0_u64; windows];
        let each = |hash: &dyn Fn(&[u8]) -> u64| text.windows(n).take(windows).map(hash).fold(0, u64::wrapping_add);
        // Called by their types, so that each is compiled into its loop.
        macro_rules! one_by_one {
            ($hash:expr) => {
                best(windows, || {
                    let bytes = black_box(&text);
                    bytes.windows(n).take(windows).fold(0_u64, |sum, feature| sum.wrapping_add($hash(feature)))
                })
            };
        }
        let in_rows = best(windows, || {
            xxh3::hash_windows(black_box(&text), n, 0, &mut hashes);
            hashes[windows - 1]
        });
        assert_eq!(each(&|feature| xxh3::hash(feature, 0)), hashes.iter().copied().fold(0, u64::wrapping_add));
        println!(
            "{n}\t{in_rows:.2}\t{:.2}\t{:.2}\t{:.2}\t{:.2}\t{:.2}\t{:.2}",
            one_by_one!(|feature| xxh3::hash(feature, 0)),
            one_by_one!(|feature| u64::from(xxh32(feature, 0))),
            one_by_one!(|feature| u64::from(murmur3_32(feature))),
            one_by_one!(|feature| u64::from(fnv1a_32(feature))),
            one_by_one!(|feature| u64::from(jenkins::one_at_a_time(feature))),
            one_by_one!(|feature| u64::from(jenkins::lookup3(feature, 0, 0).0)),
        );
    }
}
