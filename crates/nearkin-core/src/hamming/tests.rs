//! The index against brute force: every method, kernel, width and radius, with duplicates, skew, adds and removes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::popcount::{distance, last_mask};
use proptest::prelude::*;

/// A generator of fingerprints with near neighbours, copies and skewed bits.
fn fingerprints(bits: usize, rows: usize, seed: u64) -> Vec<u64> {
    let words = words_of(bits);
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let mut fps: Vec<u64> = Vec::new();
    for row in 0..rows {
        let kind = next() % 8;
        if row > 0 && kind < 5 {
            // A copy of an earlier row with a few bits flipped (kind 0: none).
            let from = next() as usize % row;
            let mut fp = fps[from * words..(from + 1) * words].to_vec();
            for _ in 0..kind * (1 + bits as u64 / 32) {
                let bit = next() as usize % bits;
                fp[bit / 64] ^= 1 << (bit % 64);
            }
            fps.extend(fp);
        } else {
            // Kind 7 has the same leading bits for all.
            for word in 0..words {
                let mut value = if kind == 7 { next() & 0xff } else { next() };
                if word == words - 1 {
                    value &= last_mask(bits);
                }
                fps.push(value);
            }
        }
    }
    fps
}

fn brute(words: usize, fps: &[u64], ids: &[i64], query: &[u64], radius: u32) -> Vec<(u32, i64)> {
    let mut hits: Vec<(u32, i64)> = fps
        .chunks_exact(words)
        .zip(ids)
        .map(|(fp, &id)| (distance(fp, query), id))
        .filter(|hit| hit.0 <= radius)
        .collect();
    hits.sort_unstable();
    hits
}

fn hits_of(index: &Index, hits: &Hits, query: usize) -> Vec<(u32, i64)> {
    let range = hits.offsets[query] as usize..hits.offsets[query + 1] as usize;
    range.map(|i| (u32::from(hits.distances[i]), index.int_id(hits.rows[i]))).collect()
}

const METHODS: [Method; 6] = [Method::Auto, Method::Scan, Method::Blocks, Method::Multi, Method::Tables, Method::Bits];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_method_equals_brute_force(
        bits in 1usize..=1024,
        narrow in any::<bool>(),
        rows in 0usize..300,
        seed in any::<u64>(),
        radius in 0u32..1024,
        small in any::<bool>(),
        k in 1usize..40,
        shuffled in any::<bool>(),
    ) {
        let bits = if narrow { bits % 130 + 1 } else { bits };
        let radius = if small { radius % 8 } else { radius }.min(bits as u32);
        let words = words_of(bits);
        let fps = fingerprints(bits, rows, seed);
        let factor = if shuffled { -7 } else { 3 };
        let ids: Vec<i64> = (0..rows as i64).map(|i| i * factor).collect();
        let queries = fingerprints(bits, 9, seed ^ 0x55);
        let queries = [&queries[..], &fps[..fps.len().min(4 * words)]].concat();
        for method in METHODS {
            for kernel in Kernel::available() {
                let mut index = Index::new(bits, method, None, None).unwrap().with_kernel(kernel).unwrap();
                index.add(NewIds::Ints(&ids), &fps, Existing::Error).unwrap();
                index.prepare(radius, queries.len()).unwrap();
                let hits = index.search(&queries, radius).unwrap();
                index.prepare_nearest(&queries, k).unwrap();
                let nearest = index.nearest(&queries, k).unwrap();
                for (q, query) in queries.chunks_exact(words).enumerate() {
                    prop_assert_eq!(brute(words, &fps, &ids, query, radius), hits_of(&index, &hits, q));
                    let mut all = brute(words, &fps, &ids, query, bits as u32);
                    all.truncate(k);
                    prop_assert_eq!(all, hits_of(&index, &nearest, q));
                }
                index.prepare_pairs(radius).unwrap();
                let pairs = index.pairs(radius).unwrap();
                let mut expected = Vec::new();
                for (a, id) in fps.chunks_exact(words).zip(&ids) {
                    expected.extend(brute(words, &fps, &ids, a, radius).into_iter()
                        .filter(|hit| *id < hit.1).map(|(d, other)| (*id, other, d)));
                }
                expected.sort_unstable();
                let found: Vec<(i64, i64, u32)> = (0..pairs.left.len())
                    .map(|i| (index.int_id(pairs.left[i]), index.int_id(pairs.right[i]), u32::from(pairs.distances[i])))
                    .collect();
                prop_assert_eq!(expected, found);
            }
        }
    }

    #[test]
    fn adds_and_removes_in_any_order_equal_a_fresh_index(
        seed in any::<u64>(),
        steps in 1usize..12,
        bits in prop::sample::select(vec![7usize, 64, 100, 128, 300]),
        radius in 0u32..12,
    ) {
        let words = words_of(bits);
        let radius = radius.min(bits as u32);
        for method in METHODS {
            let mut index = Index::new(bits, method, Some(radius), None).unwrap();
            let mut model: std::collections::BTreeMap<i64, Vec<u64>> = std::collections::BTreeMap::new();
            let mut state = seed;
            for step in 0..steps {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let count = (state >> 33) as usize % 80;
                let fps = fingerprints(bits, count, state);
                let ids: Vec<i64> = (0..count as i64).map(|i| (i * 13 + (state >> 50) as i64) % 97).collect();
                let existing = if step % 2 == 0 { Existing::Update } else { Existing::Skip };
                index.add(NewIds::Ints(&ids), &fps, existing).unwrap();
                for (id, fp) in ids.iter().zip(fps.chunks_exact(words)) {
                    if existing == Existing::Update || !model.contains_key(id) {
                        model.insert(*id, fp.to_vec());
                    }
                }
                if step % 3 == 0 {
                    index.flush();
                }
                let gone: Vec<i64> = (0..20).map(|i| (i * 7 + step as i64) % 97).collect();
                index.remove_ints(&gone, true).unwrap();
                for id in &gone {
                    model.remove(id);
                }
                if step % 5 == 4 {
                    index.compact();
                }
                index.prepare(radius, 1).unwrap();
                prop_assert_eq!(model.len(), index.len());
                let ids: Vec<i64> = model.keys().copied().collect();
                let fps: Vec<u64> = model.values().flatten().copied().collect();
                let queries = fingerprints(bits, 5, state ^ 3);
                let hits = index.search(&queries, radius).unwrap();
                for (q, query) in queries.chunks_exact(words).enumerate() {
                    prop_assert_eq!(brute(words, &fps, &ids, query, radius), hits_of(&index, &hits, q));
                }
                for id in 0..97 {
                    prop_assert_eq!(model.contains_key(&id), index.contains_int(id));
                }
            }
        }
    }
}

#[test]
fn batches_equal_one_by_one_across_runs_and_the_tail() {
    let fps = fingerprints(64, 40_000, 9);
    let queries = fingerprints(64, 5000, 10);
    let mut whole = Index::new(64, Method::Multi, None, None).unwrap();
    whole.add(NewIds::Rows, &fps, Existing::Error).unwrap();
    whole.prepare(6, 5000).unwrap();
    let expected = whole.search(&queries, 6).unwrap();
    let mut grown = Index::new(64, Method::Auto, Some(6), None).unwrap();
    for batch in [&fps[..30_000]].into_iter().chain(fps[30_000..].chunks(3000)) {
        grown.add(NewIds::Rows, batch, Existing::Error).unwrap();
        grown.prepare(6, 64).unwrap();
    }
    assert!(grown.runs.len() > 1 && !grown.tail.is_empty());
    assert_eq!(expected, grown.search(&queries, 6).unwrap());
    for q in [0, 77, 4999] {
        let one = grown.search(&queries[q..=q], 6).unwrap();
        assert_eq!(expected.offsets[q + 1] - expected.offsets[q], one.offsets[1]);
    }
}

#[test]
fn strings_break_ties_by_code_points() {
    let mut index = Index::new(8, Method::Auto, None, None).unwrap();
    index.add(NewIds::Names(&["é", "b", "a", "z"]), &[1, 1, 1, 0], Existing::Error).unwrap();
    let hits = index.search(&[1], 1).unwrap();
    let names: Vec<_> = hits.rows.iter().map(|&row| index.string_id(row).unwrap()).collect();
    assert_eq!(vec!["a", "b", "é", "z"], names);
    assert_eq!(1, index.remove_names(&["b"], false).unwrap());
    assert!(!index.contains_name("b") && index.contains_name("a"));
    assert!(index.remove_names(&["b"], false).is_err());
}

#[test]
fn a_failed_call_changes_nothing() {
    let mut index = Index::new(8, Method::Auto, None, None).unwrap();
    index.add(NewIds::Ints(&[5, 6]), &[1, 2], Existing::Error).unwrap();
    assert!(index.add(NewIds::Ints(&[7, 5]), &[1, 2], Existing::Error).is_err());
    assert!(index.add(NewIds::Ints(&[8, 8]), &[1, 2], Existing::Error).is_err());
    assert!(index.add(NewIds::Names(&["a"]), &[1], Existing::Error).is_err());
    assert!(index.add(NewIds::Ints(&[9]), &[256], Existing::Error).is_err());
    assert!(index.remove_ints(&[5, 99], false).is_err());
    assert_eq!((2, true), (index.len(), index.contains_int(5)));
    assert!(Index::new(8, Method::Auto, Some(9), None).is_err());
    assert!(index.search(&[0], 9).is_err() && index.nearest(&[0], 0).is_err());
}
