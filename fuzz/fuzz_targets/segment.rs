//! Any bytes as a saved Hamming index: opening or the first search fails, or the index is searchable; never a panic,
//! verified or not.
//!
//! Checksums are corrected first, because hardly any input would pass them; an input whose first byte is odd keeps its
//! own.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::index::hamming::{Index, Linkage};
use nearkin_core::segment::with_verified;
use nearkin_fuzz::{alone, file};

fuzz_target!(init: alone(), |input: &[u8]| {
    let path = file(input, "hamming", 1);
    let Ok(mut index) = Index::open(&path) else { return };
    let words = index.bits().div_ceil(64);
    let segment = index.segment().cloned();
    for radius in [0, 3.min(index.bits() as u32)] {
        let _ = with_verified(segment.as_ref(), || {
            index.prepare(radius, 1)?;
            index.search(&vec![0; words], radius, Some(5))?;
            index.prepare_pairs(radius)?;
            // All pairs of a small file can be too many to list.
            if index.len() <= 1 << 10 {
                index.pairs(radius)?;
                index.clusters(radius, Linkage::Connected)?;
                index.clusters(radius, Linkage::Centred)?;
            }
            Ok(())
        });
    }
    let _ = with_verified(None, || index.verify());
});
