//! Any bytes as a saved LSH index: opening or the first search fails, or the index is searchable; never a panic,
//! verified or not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::index::lsh::{Hashes, Index, Queries, Query, SearchParams, Vectors};
use nearkin_core::segment::with_verified;
use nearkin_fuzz::{alone, file};

/// Maximum dimension that is searched: a file of a few KB contains no row of a higher one.
const DIM: usize = 1 << 12;

fuzz_target!(init: alone(), |input: &[u8]| {
    let path = file(input, "lsh", 5);
    let Ok(index) = Index::open(&path) else { return };
    if index.store().dim() <= DIM {
        let (bits, ints) = ([0u64; 16], [0i64; 16]);
        let point = vec![1.0f32; index.store().dim()];
        let wide = vec![1.0f64; index.store().dim()];
        for params in [SearchParams::Probes(1), SearchParams::Codes(3), SearchParams::Spherical(3)] {
            for length in 1..=16 {
                for hashes in [Hashes::Bits(&bits[..length]), Hashes::Ints(&ints[..length])] {
                    let queries = Queries { hashes, alternatives: None, params };
                    // Invalid queries are errors; none may panic.
                    if with_verified(index.segment(), || index.candidates(&queries)).is_err() {
                        continue;
                    }
                    for vectors in [Vectors::F32(&point), Vectors::F64(&wide), Vectors::Sparse(&[0, 1], &[0], &[1.0])] {
                        for want in [Query::Knn(2), Query::Radius(1.0)] {
                            let _ = with_verified(index.segment(), || index.query(&queries, vectors, want));
                        }
                    }
                }
            }
        }
    }
    if index.store().dim() <= DIM && index.rabitq_shape().is_some() {
        let point = vec![1.0f32; index.store().dim()];
        let params = SearchParams::Estimate { deviations: 1.0, num_probes: 3, reach: None };
        let queries = Queries { hashes: Hashes::Bits(&[]), alternatives: None, params };
        for want in [Query::Knn(2), Query::Radius(1.0)] {
            let _ = with_verified(index.segment(), || index.query(&queries, Vectors::F32(&point), want));
        }
    }
    let _ = with_verified(index.segment(), || Ok(index.stored(0, 4)));
    let _ = with_verified(index.segment(), || Ok(index.histogram()));
    let _ = with_verified(None, || index.verify());
});
