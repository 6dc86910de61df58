//! Any bytes as a saved Hamming index: an error when it is opened or first searched, or an index that can be searched; never
//! a panic, verified or not.
//!
//! Sums are mended first, or hardly an input would come behind them; an input whose first byte is odd keeps its own.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::search::hamming::{Index, Linkage};
use xxhash_rust::xxh3::xxh3_64;

const HEADER: usize = 64;
const ENTRY: usize = 40;

fn long(bytes: &[u8], at: usize) -> usize {
    bytes[at..at + 8].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
}

/// Makes magic, version, length and every sum right, as far as the section table lies inside.
fn mend(bytes: &mut [u8]) {
    if bytes.len() < HEADER {
        return;
    }
    let length = bytes.len() as u64;
    bytes[..8].copy_from_slice(b"NEARKSEG");
    bytes[8..16].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0]);
    bytes[24..32].copy_from_slice(&length.to_le_bytes());
    let end = HEADER + ENTRY * (long(bytes, 16) & 0xff);
    if end > bytes.len() {
        return;
    }
    for at in (HEADER..end).step_by(ENTRY) {
        let (offset, size) = (long(bytes, at + 8), long(bytes, at + 16));
        let section = offset.checked_add(size).and_then(|stop| bytes.get(offset..stop));
        if let Some(sum) = section.map(xxh3_64) {
            bytes[at + 24..at + 32].copy_from_slice(&sum.to_le_bytes());
        }
    }
    bytes[56..64].fill(0);
    let sum = xxh3_64(&bytes[..end]);
    bytes[56..64].copy_from_slice(&sum.to_le_bytes());
}

fuzz_target!(|input: &[u8]| {
    let mut input = input.to_vec();
    if input.first().is_none_or(|first| first & 1 == 0) {
        mend(&mut input);
    }
    let path = std::env::temp_dir().join(format!("nearkin-fuzz-{}.nks", std::process::id()));
    std::fs::write(&path, &input).expect("a writable temporary folder");
    let Ok(mut index) = Index::open(&path) else { return };
    let words = index.bits().div_ceil(64);
    for radius in [0, 3.min(index.bits() as u32)] {
        let _ = index.prepare(radius, 1);
        let _ = index.search(&vec![0; words], radius, Some(5));
        let _ = index.prepare_pairs(radius);
        let _ = index.pairs(radius);
        let _ = index.clusters(radius, Linkage::Connected);
    }
    let _ = index.verify();
});
