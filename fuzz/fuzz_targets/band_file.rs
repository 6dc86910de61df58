//! Any bytes as a saved banding index: opening or the first search fails, or the index is searchable; never a panic,
//! verified or not.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use nearkin_core::families::minhash::Value;
use nearkin_core::index::bands::{self, Index};
use nearkin_core::index::hamming::Linkage;
use nearkin_core::segment::{Plain, with_verified};
use nearkin_fuzz::{alone, file};

fn search<V: Value + Plain>(path: &Path, num_perm: usize) {
    let Ok(index) = Index::<V>::open(path) else { return };
    let queries = [vec![V::of(0); num_perm], vec![V::NONE; num_perm]].concat();
    let segment = index.segment().cloned();
    let _ = with_verified(segment.as_ref(), || {
        index.search(&queries, 0)?;
        index.search(&queries, num_perm)?;
        // All pairs of a small file can be too many to list.
        if index.rows().len() <= 1 << 10 {
            let _ = index.pairs(0, 0..usize::MAX);
            for linkage in [Linkage::Connected, Linkage::Centred] {
                let _ = index.clusters(0, linkage);
            }
        }
        Ok(())
    });
    let _ = index.verify();
}

fuzz_target!(init: alone(), |input: &[u8]| {
    let path = file(input, "bands", 6);
    match bands::describe(&path) {
        Ok((32, num_perm, _)) if num_perm <= 512 => search::<u32>(&path, num_perm),
        Ok((64, num_perm, _)) if num_perm <= 512 => search::<u64>(&path, num_perm),
        _ => {}
    }
});
