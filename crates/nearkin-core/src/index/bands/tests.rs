//! Against brute force: search, pairs, removal, files.

use proptest::prelude::*;

use super::*;
use crate::index::components::{self, Groups};

const K: usize = 6;

/// Signatures of few values, so that many agree; now and then one of a set without features.
fn signatures(max_rows: usize) -> impl Strategy<Value = Vec<u32>> {
    let any_signature = prop_oneof![9 => prop::collection::vec(0_u32..3, K), 1 => Just(vec![u32::MAX; K])];
    prop::collection::vec(any_signature, 0..max_rows).prop_map(|rows| rows.concat())
}

fn is_candidate(a: &[u32], b: &[u32], bands: usize, rows: usize, min_equal: usize) -> bool {
    let has_features = a.iter().any(|value| *value != u32::MAX);
    let band = (0..bands).any(|band| a[band * rows..][..rows] == b[band * rows..][..rows]);
    has_features && band && a.iter().zip(b).filter(|(a, b)| a == b).count() >= min_equal
}

/// Rows that are alive, with their signatures.
type Model = Vec<(u32, Vec<u32>)>;

fn hits(model: &Model, query: &[u32], bands: usize, rows: usize, min_equal: usize) -> Vec<(u16, u32)> {
    let candidates = model.iter().filter(|(_, signature)| is_candidate(query, signature, bands, rows, min_equal));
    let mut results: Vec<(u16, u32)> = candidates.map(|(row, signature)| (different(query, signature), *row)).collect();
    results.sort_unstable();
    results
}

fn pairs(model: &Model, bands: usize, rows: usize, min_equal: usize) -> Vec<(u32, u32, u16)> {
    let mut results = Vec::new();
    for (i, (row, signature)) in model.iter().enumerate() {
        let later = model[i + 1..].iter().filter(|(_, other)| is_candidate(signature, other, bands, rows, min_equal));
        results.extend(later.map(|(other, values)| (*row, *other, different(signature, values))));
    }
    results
}

fn same(index: &Index<u32>, model: &Model, queries: &[u32], min_equal: usize) {
    let (_, bands, rows) = index.shape();
    let results = index.search(queries, min_equal).expect("whole signatures");
    for (i, query) in queries.chunks(K).enumerate() {
        let range = results.offsets[i] as usize..results.offsets[i + 1] as usize;
        let got: Vec<_> =
            results.distances[range.clone()].iter().copied().zip(results.rows[range].iter().copied()).collect();
        assert_eq!(hits(model, query, bands, rows, min_equal), got);
    }
    let all = index.pairs(min_equal, 0..usize::MAX).expect("nothing stops it");
    let got: Vec<_> =
        all.left.iter().zip(&all.right).zip(&all.distances).map(|((&left, &right), &d)| (left, right, d)).collect();
    assert_eq!(pairs(model, bands, rows, min_equal), got);
    let total = index.rows().total();
    for (linkage, firsts) in [
        (Linkage::Centred, components::centred(total, &all.left, &all.right)),
        (Linkage::Connected, components::components(total, &all.left, &all.right)),
    ] {
        let results = index.clusters(min_equal, linkage).expect("nothing stops it");
        let listed: Vec<Vec<u32>> =
            results.offsets.windows(2).map(|pair| results.rows[pair[0] as usize..pair[1] as usize].to_vec()).collect();
        let groups = Groups::new(&firsts.expect("room"), &CancelToken::default()).expect("room");
        assert_eq!(groups.each().map(Iterator::collect::<Vec<u32>>).collect::<Vec<_>>(), listed);
    }
}

fn temporary(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("nearkin-bands-{}-{name}", std::process::id()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn an_index_equals_brute_force(
        batches in prop::collection::vec(signatures(12), 1..5), queries in signatures(6), removed in prop::collection::vec(0_u32..40, 0..12),
        (bands, rows) in prop::sample::select(vec![(1_usize, 6_usize), (6, 1), (3, 2), (2, 3), (2, 2)]), min_equal in 0_usize..=K
    ) {
        let mut index = Index::<u32>::new(K, bands, rows).expect("in range");
        let mut model = Model::new();
        for batch in &batches {
            prop_assert_eq!(batch.len() / K, index.add(NewIds::Rows, batch, Existing::Error).expect("rows"));
            for signature in batch.chunks(K) {
                model.push((model.len() as u32, signature.to_vec()));
            }
        }
        same(&index, &model, &queries, min_equal);
        let removed_ids: Vec<i64> = removed.iter().map(|&row| row.into()).collect();
        index.remove(Keys::Ints(&removed_ids), true).expect("missing ids are allowed");
        model.retain(|(row, _)| !removed.contains(row));
        same(&index, &model, &queries, min_equal);
        prop_assert_eq!(model.len(), index.rows().len());

        let path = temporary("property");
        index.save(&path, b"{}").expect("written");
        same(&index, &model, &queries, min_equal);
        let mut opened = Index::<u32>::open(&path).expect("whole");
        opened.verify().expect("sound");
        prop_assert_eq!((32, K, b"{}".to_vec()), super::file::describe(&path).expect("whole"));
        same(&opened, &model, &queries, min_equal);
        // An opened index accepts additions.
        let more = batches.concat();
        let first = batches.iter().map(|batch| batch.len() / K).sum::<usize>() as u32;
        opened.add(NewIds::Rows, &more, Existing::Error).expect("rows");
        model.extend(more.chunks(K).enumerate().map(|(i, signature)| (first + i as u32, signature.to_vec())));
        same(&opened, &model, &queries, min_equal);
        std::fs::remove_file(path).expect("there");
    }

    #[test]
    fn parts_of_all_pairs_are_all_pairs(batch in signatures(30), cut in 0_usize..30) {
        let mut index = Index::<u32>::new(K, 3, 2).expect("in range");
        index.add(NewIds::Rows, &batch, Existing::Error).expect("rows");
        let list = |pairs: Pairs| -> Vec<(u32, u32)> { pairs.left.into_iter().zip(pairs.right).collect() };
        let mut parts = [list(index.pairs(0, 0..cut).expect("nothing stops it")), list(index.pairs(0, cut..usize::MAX).expect("nothing stops it"))].concat();
        parts.sort_unstable();
        prop_assert_eq!(list(index.pairs(0, 0..usize::MAX).expect("nothing stops it")), parts);
    }

    #[test]
    fn a_file_with_any_byte_changed_is_refused_or_does_no_harm(batch in signatures(20), at in any::<prop::sample::Index>(), value: u8) {
        let mut index = Index::<u32>::new(K, 3, 2).expect("in range");
        index.add(NewIds::Rows, &batch, Existing::Error).expect("rows");
        let path = temporary("damaged");
        index.save(&path, b"").expect("written");
        let mut bytes = std::fs::read(&path).expect("written");
        let at = at.index(bytes.len());
        bytes[at] = value;
        std::fs::write(&path, &bytes).expect("written");
        if let Ok(opened) = Index::<u32>::open(&path) && opened.verify().is_ok() {
            let queries: Vec<u32> = vec![0; K];
            prop_assert_eq!(index.search(&queries, 0).expect("whole"), opened.search(&queries, 0).expect("whole"));
        }
        std::fs::remove_file(path).expect("there");
    }
}

#[test]
fn ids_are_added_updated_and_skipped() {
    let mut index = Index::<u64>::new(2, 1, 2).expect("in range");
    assert_eq!(2, index.add(NewIds::Names(&["b", "a"]), &[1, 1, 2, 2], Existing::Error).expect("new"));
    assert!(index.add(NewIds::Names(&["b"]), &[3, 3], Existing::Error).is_err());
    assert_eq!(0, index.add(NewIds::Names(&["b"]), &[3, 3], Existing::Skip).expect("skipped"));
    assert_eq!(1, index.add(NewIds::Names(&["b"]), &[2, 2], Existing::Update).expect("replaced"));
    let hits = index.search(&[2, 2], 0).expect("whole");
    let names: Vec<_> = hits.rows.iter().filter_map(|&row| index.rows().string(row)).collect();
    assert_eq!((vec!["a", "b"], 2), (names, index.rows().len()));
    assert!(index.remove(Keys::Names(&["c"]), false).is_err());
    assert!(index.add(NewIds::Rows, &[1, 1], Existing::Error).is_err());
}

#[test]
fn an_addition_is_quick_where_it_merges_little() {
    let signatures: Vec<u32> = (0..3000 * K as u32).collect();
    let mut index = Index::<u32>::new(K, 3, 2).unwrap();
    assert!(index.adds_quickly(1));
    index.add(NewIds::Rows, &signatures, Existing::Error).unwrap();
    // An addition of at least half its length is merged with the run: 4,500 items of 3 bands are still few.
    assert!(index.adds_quickly(1) && index.adds_quickly(1499) && index.adds_quickly(1500));
    index
        .add(NewIds::Rows, &signatures.iter().map(|value| value + (1 << 20)).collect::<Vec<_>>(), Existing::Error)
        .unwrap();
    assert!(index.adds_quickly(1) && index.adds_quickly(2999));
    assert!(!index.adds_quickly(5000));
    // The first addition to an opened index reads all of it.
    let path = temporary("quick");
    index.save(&path, b"").unwrap();
    assert!(!Index::<u32>::open(&path).unwrap().adds_quickly(1));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn copies_are_one_item() {
    let mut index = Index::<u32>::new(4, 2, 2).expect("in range");
    let rows: Vec<u32> = [1, 2, 3, 4].repeat(5000);
    index.add(NewIds::Rows, &rows, Existing::Error).expect("rows");
    assert_eq!((5000, 1), (index.rows().len(), index.num_items()));
    assert_eq!(5000, index.search(&[1, 2, 9, 9], 2).expect("whole").rows.len());
}

#[test]
fn shapes_out_of_range_are_refused() {
    for (num_perm, bands, rows) in [(0, 1, 1), (513, 1, 1), (8, 0, 1), (8, 1, 0), (8, 3, 3), (8, usize::MAX, 2)] {
        assert!(Index::<u32>::new(num_perm, bands, rows).is_err());
    }
    assert!(Index::<u32>::new(8, 2, 4).expect("in range").search(&[1, 2, 3], 0).is_err());
}

#[test]
fn an_addition_that_is_stopped_at_any_look_changes_nothing() {
    let signature = |i: u32| -> [u32; K] { std::array::from_fn(|at| (i * 7 + at as u32 * i / 3) % 5) };
    let of = |rows: std::ops::Range<u32>| rows.flat_map(signature).collect::<Vec<u32>>();
    let names: Vec<String> = (0..90).map(|i| format!("name {}", i % 80)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let filled = || {
        let mut index = Index::<u32>::new(K, 3, 2).expect("a shape");
        index.add(NewIds::Names(&names[..40]), &of(0..40), Existing::Error).expect("added");
        index
    };
    let state = |index: &Index<u32>| {
        let results = index.search(&of(0..60), 2).expect("whole signatures");
        (index.rows().len(), index.rows().find_name("name 7"), results.offsets, results.rows, results.distances)
    };
    let before = state(&filled());
    let mut index = filled();
    let add = |index: &mut Index<u32>| index.add(NewIds::Names(&names[20..]), &of(30..100), Existing::Update);
    let added = crate::cancel::at_every_check(&mut index, add, |index| assert_eq!(before, state(index)));
    assert_eq!(70, added);
    let mut other = filled();
    add(&mut other).expect("added");
    assert_eq!(state(&other), state(&index));
    let kept = state(&index);
    let path = temporary("stopped");
    crate::cancel::at_every_check(
        &mut index,
        |index| index.save(&path, b"{}"),
        |index| {
            assert_eq!(kept, state(index));
            assert!(!path.exists());
        },
    );
    let opened = Index::<u32>::open(&path).expect("whole");
    opened.verify().expect("whole");
    assert_eq!(kept, state(&opened));
    std::fs::remove_file(&path).expect("there");
}
