//! Operations on an opened digest index, whatever wrote the file.

use std::path::Path;

use nearkin_core::digests::ssdeep::Digest;
use nearkin_core::index::digests::file::Metadata;
use nearkin_core::index::digests::{Index, Limit};
use nearkin_core::index::hamming::Linkage;
use nearkin_core::index::rows::{Existing, Keys, NewIds};
use nearkin_core::segment::with_verified;

/// Number of rows used as queries, and maximum number of rows for which all pairs are listed.
const QUERIES: usize = 64;
const PAIRS: usize = 1 << 10;

fn search(index: &Index, query: Digest) -> nearkin_core::Result<()> {
    let limit = Limit::exact(1)?;
    let few = Limit { threshold: 1, skip_hubs: Some(1) };
    let rows = index.rows().total() as u32;
    let mut queries: Vec<Digest> = (0..rows).filter_map(|row| index.get(row).copied()).take(QUERIES).collect();
    queries.push(query);
    let (batch, _) = index.search_many(&queries, limit)?;
    for (number, query) in queries.iter().enumerate() {
        let found = batch.offsets[number] as usize..batch.offsets[number + 1] as usize;
        let (alone, _) = index.search_many(&[*query], limit)?;
        assert_eq!((&batch.rows[found.clone()], &batch.distances[found]), (&alone.rows[..], &alone.distances[..]));
    }
    index.search_many(&queries, few)?;
    if index.rows().len() <= PAIRS {
        index.pairs(limit)?;
        for linkage in [Linkage::Connected, Linkage::Centred] {
            index.clusters(few, linkage)?;
        }
        index.hubs(1, 8)?;
    }
    Ok(())
}

/// Search an opened index in every way, change it, save it over `path` and reopen it.
///
/// # Panics
/// The file is inconsistent: opening reads and checks all of it.
pub fn exercise(mut index: Index, metadata: &Metadata, path: &Path) {
    let query = Digest::parse(b"96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U").expect("a digest");
    let segment = index.segment().cloned();
    with_verified(segment.as_ref(), || search(&index, query)).expect("an index that was opened is whole");

    let _ = index.add(NewIds::Rows, &[query, query], Existing::Error);
    let _ = index.remove(Keys::Ints(&[0]), true);
    index.save(path, metadata).expect("a writable temporary folder");
    let (again, same) = Index::open(path).expect("a file that was just written");
    assert_eq!(
        (index.rows().total(), index.rows().len(), metadata.lenient),
        (again.rows().total(), again.rows().len(), same.lenient)
    );
    let limit = Limit { threshold: 1, skip_hubs: None };
    assert_eq!(index.pairs(limit).expect("an index"), again.pairs(limit).expect("the same index"));
}
