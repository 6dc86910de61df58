//! Any bytes as a saved digest index: an error when it is opened, or an index that is searched in every way, changed, saved
//! and opened as itself; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::search::digests::{Index, Limit, Scratch};
use nearkin_core::search::hamming::Linkage;
use nearkin_core::search::rows::{Existing, Keys, NewIds};
use nearkin_core::segment::guarded;
use nearkin_core::ssdeep::Digest;
use nearkin_fuzz::file;

fuzz_target!(|input: &[u8]| {
    let path = file(input, "digests", 7);
    let Ok((mut index, about)) = Index::open(&path) else { return };
    let query = Digest::parse(b"96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U").expect("a digest");
    let limit = Limit::exact(1).expect("a threshold");
    let few = Limit { threshold: 1, skip_hubs: Some(1) };
    let segment = index.segment().cloned();
    let found = guarded(segment.as_ref(), || {
        let mut scratch = Scratch::default();
        let mut queries: Vec<Digest> =
            (0..index.rows().total() as u32).filter_map(|row| index.get(row).copied()).collect();
        queries.truncate(64);
        queries.push(query);
        for (query, batch) in queries.iter().zip(index.search_many(&queries, limit)) {
            assert_eq!(batch.0, index.search(query, limit, &mut scratch).0);
            index.search(query, few, &mut scratch);
        }
        if index.len() <= 1 << 10 {
            index.pairs(limit);
            index.clusters(few, Linkage::Connected);
            index.hubs(1, 8);
        }
        Ok(())
    });
    found.expect("an index that was opened is whole: opening reads and checks all of it");

    let _ = index.add(NewIds::Rows, &[query, query], Existing::Error);
    let _ = index.remove(Keys::Ints(&[0]), true);
    index.save(&path, &about).expect("a writable temporary folder");
    let (again, same) = Index::open(&path).expect("a file that was just written");
    assert_eq!((index.rows().total(), index.len(), about.lenient), (again.rows().total(), again.len(), same.lenient));
    assert_eq!(index.pairs(few).0, again.pairs(few).0);
});
