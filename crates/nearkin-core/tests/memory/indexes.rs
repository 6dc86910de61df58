//! Indexes: all operations that modify or query one.

use nearkin_core::Result;
use nearkin_core::digests::ssdeep::parse::Digest;
use nearkin_core::index::bands;
use nearkin_core::index::digests::file::Metadata;
use nearkin_core::index::digests::{self, Hits, Limit};
use nearkin_core::index::hamming::{self, Linkage, Method, Ranking};
use nearkin_core::index::lsh::{
    self, Alternatives, HashKind, Hashes, Metric, Queries, Query, SearchParams, VectorStore, Vectors,
};
use nearkin_core::index::rows::{Existing, Keys, NewIds};

use super::{File, attack, numbers};

/// Return integer ids that do not ascend, and names, one per row; each list is larger than `LARGE` when stored.
fn ids(count: usize) -> (Vec<i64>, Vec<String>) {
    let ints: Vec<i64> = (0..count as i64).map(|i| (i * 7919) % 1_000_003).collect();
    let names = ints.iter().map(|id| format!("name {id}")).collect();
    (ints, names)
}

const ROWS: usize = 20_000;

fn hamming(fps: &[u64], method: Method) -> hamming::Index {
    let mut index = hamming::Index::new(64, method, None, None).expect("an index");
    index.add(NewIds::Ints(&ids(fps.len()).0), fps, Existing::Error).expect("new ids");
    index
}

/// Return some equal and many near fingerprints.
fn fingerprints(count: usize) -> Vec<u64> {
    let centres = numbers(count / 10, 1);
    numbers(count, 2).iter().enumerate().map(|(i, n)| centres[i % centres.len()] ^ (1 << (n % 64)) & n).collect()
}

type HammingState = (usize, Vec<i64>, Vec<u32>, bool);

fn hamming_state(index: &hamming::Index) -> HammingState {
    let found = index.search(&fingerprints(50), 2, None).expect("there is memory");
    (index.len(), found.offsets, found.rows, index.rows().find_int(7919).is_some())
}

#[test]
fn hamming_indexes_are_whole() {
    let fps = fingerprints(ROWS);
    let (ints, names) = ids(ROWS);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let empty = || hamming::Index::new(64, Method::Auto, Some(2), None).expect("an index");
    attack("hamming add", empty, hamming_state, |index| index.add(NewIds::Rows, &fps, Existing::Error));
    attack("hamming add names", empty, hamming_state, |index| index.add(NewIds::Names(&names), &fps, Existing::Error));
    let half = || hamming(&fps[..ROWS / 2], Method::Auto);
    let state = |index: &hamming::Index| hamming_state(index);
    attack("hamming update", half, state, |index| index.add(NewIds::Ints(&ints), &fps, Existing::Update));
    attack("hamming skip", half, state, |index| index.add(NewIds::Ints(&ints), &fps, Existing::Skip));
    let whole = || hamming(&fps, Method::Auto);
    attack("hamming remove", whole, state, |index| index.remove(Keys::Ints(&ints[..18_000]), false));
    let queries = fingerprints(3000);
    for method in [Method::Scan, Method::Blocks, Method::Multi, Method::Tables, Method::Bits] {
        let whole = || hamming(&fps, method);
        attack(&format!("hamming {method:?}"), whole, state, |index| {
            index.prepare(2, 3000)?;
            let found = index.search(&queries[..300], 2, None)?;
            Ok((found.offsets, found.rows))
        });
    }
    attack("hamming search", whole, state, |index| Ok(index.search(&queries, 2, Some(3))?.rows));
    attack("hamming nearest", whole, state, |index| {
        index.prepare_nearest(&queries, 20)?;
        Ok(index.nearest(&queries, 20)?.rows)
    });
    attack("hamming ranked", whole, state, |index| Ok(index.ranked(&queries, 20, Ranking::Jaccard)?.rows));
    attack("hamming pairs", whole, state, |index| {
        index.prepare_pairs(2)?;
        Ok(index.pairs(2)?.left)
    });
    attack("hamming stream", whole, state, |index| {
        let mut stream = hamming::PairStream::new(index, 2, 10_000)?;
        Ok(stream.next_batch(index)?.left)
    });
    attack("hamming join", whole, state, |index| Ok(index.join_rows(&queries, 2)?.left));
    for linkage in [Linkage::Centred, Linkage::Connected] {
        attack("hamming clusters", whole, state, |index| {
            index.prepare_clusters(2, linkage)?;
            Ok(index.clusters(2, linkage)?.rows)
        });
    }
}

#[test]
fn hamming_files_are_whole() {
    let fps = fingerprints(ROWS);
    let file = File::new();
    let whole = || hamming(&fps, Method::Multi);
    let saved = |index: &mut hamming::Index| {
        index.prepare(2, 3000)?;
        index.save(&file.0)
    };
    attack("hamming save", whole, hamming_state, saved);
    let mapped = File::new();
    let mut index = hamming(&fingerprints(200_000), Method::Auto);
    index.save(&mapped.0).expect("writable");
    for path in [&file.0, &mapped.0] {
        attack("hamming open", || (), |()| (), |()| Ok(hamming::Index::open(path)?.len()));
        let open = || hamming::Index::open(path).expect("whole");
        let new: Vec<i64> = (2_000_000..2_000_000 + ROWS as i64).collect();
        attack("hamming add to a file", open, hamming_state, |index| {
            index.add(NewIds::Ints(&new), &fps, Existing::Error)
        });
    }
}

const VALUES: usize = 8;
const BANDS: usize = 4;

/// Return signatures, each of which agrees with others in some bands.
fn signatures(count: usize) -> Vec<u32> {
    numbers(count * VALUES, 3).iter().map(|n| (n % 50) as u32).collect()
}

fn bands(signatures: &[u32]) -> bands::Index<u32> {
    let mut index = bands::Index::new(VALUES, BANDS, VALUES / BANDS).expect("an index");
    index.add(NewIds::Rows, signatures, Existing::Error).expect("new rows");
    index
}

fn bands_state(index: &bands::Index<u32>) -> (usize, Vec<i64>, Vec<u32>) {
    let found = index.search(&signatures(50), 2).expect("there is memory");
    (index.rows().len(), found.offsets, found.rows)
}

#[test]
fn band_indexes_are_whole() {
    let signatures = signatures(ROWS);
    let half = || bands(&signatures[..ROWS / 2 * VALUES]);
    let rest = &signatures[ROWS / 2 * VALUES..];
    let empty = || bands(&[]);
    attack("bands add", empty, bands_state, |index| index.add(NewIds::Rows, &signatures, Existing::Error));
    attack("bands add more", half, bands_state, |index| index.add(NewIds::Rows, rest, Existing::Error));
    let whole = || bands(&signatures);
    let (_, queries) = signatures.split_at((ROWS - 10_000) * VALUES);
    attack("bands search", whole, bands_state, |index| {
        let found = index.search(queries, 4)?;
        Ok((found.offsets, found.rows, found.distances))
    });
    attack("bands pairs", whole, bands_state, |index| Ok(index.pairs(2, 0..usize::MAX)?.left));
    for linkage in [Linkage::Centred, Linkage::Connected] {
        attack("bands clusters", whole, bands_state, |index| Ok(index.clusters(6, linkage)?.rows));
    }
    let file = File::new();
    let removed: Vec<i64> = (0..ROWS as i64 / 4).collect();
    let less = || {
        let mut index = half();
        index.remove(Keys::Ints(&removed), false).expect("they are there");
        index.add(NewIds::Rows, rest, Existing::Error).expect("new rows");
        index
    };
    attack("bands save", less, bands_state, |index| index.save(&file.0, b"{}"));
    let open = || bands::Index::<u32>::open(&file.0).expect("whole");
    // A small file is read into memory.
    let small = File::new();
    bands(&signatures[..ROWS / 4 * VALUES]).save(&small.0, b"{}").expect("writable");
    attack(
        "bands open",
        || (),
        |()| (),
        |()| {
            let index = bands::Index::<u32>::open(&small.0)?;
            index.verify()?;
            Ok(index.rows().len())
        },
    );
    attack("bands add to a file", open, bands_state, |index| index.add(NewIds::Rows, rest, Existing::Error));
}

/// Return digests, many of which share characters.
fn parsed(count: usize) -> Vec<Digest> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let words: Vec<String> = numbers(400, 4)
        .iter()
        .map(|n| (0..9).map(|i| char::from(alphabet[(n >> (6 * i)) as usize % 64])).collect())
        .collect();
    let word = |n: u64| &words[(n % 400) as usize];
    let text = |n: &u64| format!("96:{}{}{}:{}", word(*n), word(n >> 9), word(n >> 18), word(n >> 27));
    numbers(count, 5).iter().map(|n| Digest::parse(text(n).as_bytes()).expect("a digest")).collect()
}

fn digests(digests: &[Digest]) -> digests::Index {
    let mut index = digests::Index::new();
    index.add(NewIds::Ints(&ids(digests.len()).0), digests, Existing::Error).expect("new ids");
    index
}

fn limit(threshold: u32) -> Limit {
    Limit::exact(threshold).expect("in range")
}

fn digests_state(index: &digests::Index) -> (usize, Hits, Option<u32>) {
    let (found, _) = index.search_many(&parsed(1), limit(1)).expect("there is memory");
    (index.rows().len(), found, index.rows().find_int(7919))
}

#[test]
fn digest_indexes_are_whole() {
    let all = parsed(6000);
    let new: Vec<i64> = (2_000_000..2_003_000).collect();
    let half = || digests(&all[..3000]);
    attack("digests add", half, digests_state, |index| index.add(NewIds::Ints(&new), &all[3000..], Existing::Error));
    let whole = || digests(&all);
    attack("digests search", whole, digests_state, |index| index.search_many(&all, limit(1)));
    attack("digests pairs", whole, digests_state, |index| index.pairs(limit(1)));
    attack("digests hubs", whole, digests_state, |index| index.hubs(2, 100));
    let large = || digests(&parsed(ROWS));
    for linkage in [Linkage::Centred, Linkage::Connected] {
        attack(
            "digests clusters",
            large,
            |index| index.rows().len(),
            |index| Ok(index.clusters(limit(60), linkage)?.0.rows),
        );
    }
    let file = File::new();
    let metadata = Metadata { lenient: false, recipe: None };
    attack("digests save", whole, digests_state, |index| index.save(&file.0, &metadata));
    attack("digests open", || (), |()| (), |()| Ok(digests::Index::open(&file.0)?.0.rows().len()));
}

const DIM: usize = 4;

/// Return points on a coarse grid, and their hashes: three integers, or 64 bits.
fn points(count: usize) -> (Vec<f32>, Vec<i64>, Vec<u64>) {
    let points: Vec<f32> = numbers(count * DIM, 6).iter().map(|n| (n % 16) as f32 + 1.0).collect();
    let hashes = points.chunks_exact(DIM).flat_map(|x| [x[0] as i64 / 4, x[1] as i64 / 4, x[2] as i64 / 4]).collect();
    let codes =
        points.chunks_exact(DIM).map(|x| x.iter().fold(0, |code, &x| (code << 16) | ((1 << x as u64) - 1))).collect();
    (points, hashes, codes)
}

fn with_buckets(count: usize) -> lsh::Index {
    let layout = lsh::TableLayout::new(HashKind::Ints, 3, 1, vec![0, 1, 2]).expect("a layout");
    let mut index =
        lsh::Index::with_buckets(Metric::Cosine, layout, VectorStore::new("float32", DIM).expect("a store"));
    let (points, hashes, _) = points(count);
    index.add(NewIds::Rows, Hashes::Ints(&hashes), Vectors::F32(&points), Existing::Error).expect("new rows");
    index
}

fn with_codes(count: usize) -> lsh::Index {
    let mut index =
        lsh::Index::with_codes(Metric::L2, 64, VectorStore::new("float32", DIM).expect("a store")).expect("valid");
    let (points, _, codes) = points(count);
    index.add(NewIds::Rows, Hashes::Bits(&codes), Vectors::F32(&points), Existing::Error).expect("new rows");
    index
}

/// Return the number of candidates of some queries, and their results.
fn asked(index: &lsh::Index, count: usize, params: SearchParams) -> Result<(Vec<i64>, Vec<u32>)> {
    let (points, hashes, codes) = points(count);
    let (values, costs): (Vec<i64>, Vec<f64>) = hashes.iter().map(|&hash| (hash + 1, 1.0)).unzip();
    let alternatives = Some(Alternatives { per_hash: 1, values: &values, costs: &costs });
    let queries = match params {
        SearchParams::Probes(_) => Queries { hashes: Hashes::Ints(&hashes), alternatives, params },
        _ => Queries { hashes: Hashes::Bits(&codes), alternatives: None, params },
    };
    let found = index.query(&queries, Vectors::F32(&points), Query::Knn(20))?;
    let proposed = index.candidates(&queries)?;
    Ok((proposed.offsets, found.rows))
}

#[test]
fn vector_indexes_are_whole() {
    let (points, hashes, codes) = points(ROWS);
    let count = 8000;
    let buckets =
        |index: &lsh::Index| (index.len(), asked(index, 5, SearchParams::Probes(2)).expect("there is memory"));
    let scanned = |index: &lsh::Index| (index.len(), asked(index, 5, SearchParams::Codes(9)).expect("there is memory"));
    attack(
        "buckets add",
        || with_buckets(count),
        buckets,
        |index| index.add(NewIds::Rows, Hashes::Ints(&hashes), Vectors::F32(&points), Existing::Error),
    );
    attack(
        "codes add",
        || with_codes(count),
        scanned,
        |index| index.add(NewIds::Rows, Hashes::Bits(&codes), Vectors::F32(&points), Existing::Error),
    );
    // The lists of the test itself are smaller than `LARGE`.
    let some = 300;
    attack("buckets query", || with_buckets(ROWS), buckets, |index| asked(index, some, SearchParams::Probes(2)));
    for params in [SearchParams::Codes(9000), SearchParams::Spherical(9000)] {
        attack("codes query", || with_codes(ROWS), scanned, |index| asked(index, 20, params));
    }
    attack("stored vectors", || with_codes(ROWS), scanned, |index| index.stored(0, ROWS));
    let file = File::new();
    let two_runs = || {
        let mut index = with_buckets(ROWS);
        let (points, hashes) = (&points[..200 * DIM], &hashes[..200 * 3]);
        index.add(NewIds::Rows, Hashes::Ints(hashes), Vectors::F32(points), Existing::Error).expect("new rows");
        index
    };
    attack("buckets save", two_runs, buckets, |index| index.save(&file.0));
    attack("buckets open", || (), |()| (), |()| Ok(lsh::Index::open(&file.0)?.len()));
    let open = || lsh::Index::open(&file.0).expect("whole");
    attack("buckets add to a file", open, buckets, |index| {
        index.add(NewIds::Rows, Hashes::Ints(&hashes), Vectors::F32(&points), Existing::Error)
    });
}
