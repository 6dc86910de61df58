//! Any bytes as a saved LSH index: an error when it is opened or first searched, or an index that can be searched; never a
//! panic, verified or not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::search::lsh::{Effort, Hashes, Index, Queries, Vectors, Want};
use nearkin_core::segment::guarded;
use nearkin_fuzz::file;

fuzz_target!(|input: &[u8]| {
    let path = file(input, "lsh", 5);
    let Ok(index) = Index::open(&path) else { return };
    if index.store().dim() <= 1 << 16 {
        let (bits, ints) = (vec![0u64; 16], vec![0i64; 1 << 16]);
        let point = vec![1.0f32; index.store().dim()];
        let wide = vec![1.0f64; index.store().dim()];
        for effort in [Effort::Probes(1), Effort::Codes(3), Effort::Spherical(3)] {
            for length in 1..=16 {
                let hashes = [Hashes::Bits(&bits[..length]), Hashes::Ints(&ints[..length])];
                for hashes in hashes {
                    let queries = Queries { hashes, alternatives: None, effort };
                    for vectors in [Vectors::F32(&point), Vectors::F64(&wide), Vectors::Sparse(&[0, 1], &[0], &[1.0])] {
                        // Queries that do not fit are errors; none may panic.
                        let _ = guarded(index.segment(), || index.query(&queries, vectors, Want::Nearest(2)));
                    }
                }
            }
        }
    }
});
