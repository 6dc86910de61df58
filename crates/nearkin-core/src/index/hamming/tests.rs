//! The index against brute force: every method, kernel, width and radius, with duplicates, skew, adds and removes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::cpu::popcount::{distance, last_mask};
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
    range.map(|i| (u32::from(hits.distances[i]), index.rows().int(hits.rows[i]))).collect()
}

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
        for &method in Method::ALL {
            for kernel in Kernel::available() {
                let mut index = Index::new(bits, method, None, None).unwrap().with_kernel(kernel);
                index.add(NewIds::Ints(&ids), &fps, Existing::Error).unwrap();
                index.prepare(radius, queries.len()).unwrap();
                let hits = index.search(&queries, radius, None).unwrap();
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
                let result: Vec<(i64, i64, u32)> = (0..pairs.left.len())
                    .map(|i| (index.rows().int(pairs.left[i]), index.rows().int(pairs.right[i]), u32::from(pairs.distances[i])))
                    .collect();
                prop_assert_eq!(expected, result);
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
        for &method in Method::ALL {
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
                    index.flush().expect("nothing stops it");
                }
                let removed_ids: Vec<i64> = (0..20).map(|i| (i * 7 + step as i64) % 97).collect();
                index.remove(Keys::Ints(&removed_ids), true).unwrap();
                for id in &removed_ids {
                    model.remove(id);
                }
                if step % 5 == 4 {
                    index.compact().expect("nothing stops it");
                }
                index.prepare(radius, 1).unwrap();
                prop_assert_eq!(model.len(), index.len());
                let ids: Vec<i64> = model.keys().copied().collect();
                let fps: Vec<u64> = model.values().flatten().copied().collect();
                let queries = fingerprints(bits, 5, state ^ 3);
                let hits = index.search(&queries, radius, None).unwrap();
                for (q, query) in queries.chunks_exact(words).enumerate() {
                    prop_assert_eq!(brute(words, &fps, &ids, query, radius), hits_of(&index, &hits, q));
                }
                for id in 0..97 {
                    prop_assert_eq!(model.contains_key(&id), index.rows().find_int(id).is_some());
                }
            }
        }
    }
}

/// (left, right, distance) as ids.
fn ids_of(left: &Index, right: &Index, pairs: &Pairs) -> Vec<(i64, i64, u32)> {
    let triple = |i| (left.rows().int(pairs.left[i]), right.rows().int(pairs.right[i]), u32::from(pairs.distances[i]));
    (0..pairs.left.len()).map(triple).collect()
}

/// Clusters of two and more places by their definition, in order of the first member.
fn clusters_by_definition(words: usize, fps: &[u64], radius: u32, linkage: Linkage) -> Vec<Vec<usize>> {
    let n = fps.len() / words;
    let near = |a: usize, b: usize| distance(&fps[a * words..][..words], &fps[b * words..][..words]) <= radius;
    let mut of = vec![usize::MAX; n];
    for first in 0..n {
        if of[first] != usize::MAX {
            continue;
        }
        of[first] = first;
        let mut front = vec![first];
        while let Some(row) = front.pop() {
            for (other, label) in of.iter_mut().enumerate() {
                if *label == usize::MAX && near(row, other) {
                    *label = first;
                    if linkage == Linkage::Connected {
                        front.push(other);
                    }
                }
            }
        }
    }
    let members = |first| (0..n).filter(|&row| of[row] == first).collect::<Vec<_>>();
    (0..n).map(members).filter(|cluster| cluster.len() > 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn links_clusters_and_rankings_equal_brute_force(
        bits in prop::sample::select(vec![1usize, 9, 33, 64, 65, 128, 200, 256, 320, 1024]),
        rows in 0usize..160,
        others in 0usize..40,
        removed in 0usize..20,
        seed in any::<u64>(),
        radius in 0u32..40,
        limit in 1usize..9,
        batch in 1usize..200,
        shuffled in any::<bool>(),
    ) {
        let radius = radius.min(bits as u32);
        let words = words_of(bits);
        let mut fps = fingerprints(bits, rows, seed);
        let factor = if shuffled { -7 } else { 3 };
        let mut ids: Vec<i64> = (0..rows as i64).map(|i| i * factor).collect();
        let other_fps = [&fingerprints(bits, others, seed ^ 0x77)[..], &fps[..fps.len().min(5 * words)]].concat();
        let other_ids: Vec<i64> = (0..other_fps.len() as i64 / words as i64).map(|i| i * -factor).collect();
        let removed_ids: Vec<i64> = ids.iter().copied().skip(3).step_by(5).take(removed).collect();
        let all_ids = ids.clone();
        let all_fps = fps.clone();
        let kept: Vec<usize> = (0..rows).filter(|&i| !removed_ids.contains(&ids[i])).collect();
        fps = kept.iter().flat_map(|&i| fps[i * words..(i + 1) * words].to_vec()).collect();
        ids = kept.iter().map(|&i| ids[i]).collect();
        let mut other = Index::new(bits, Method::Auto, None, None).unwrap();
        other.add(NewIds::Ints(&other_ids), &other_fps, Existing::Error).unwrap();
        for &method in Method::ALL {
            let mut index = Index::new(bits, method, None, None).unwrap();
            index.add(NewIds::Ints(&all_ids), &all_fps, Existing::Error).unwrap();
            if seed % 2 == 0 {
                index.flush().expect("nothing stops it");
            }
            index.remove(Keys::Ints(&removed_ids), false).unwrap();
            index.prepare(radius, 1000).unwrap();

            let hits = index.search(&other_fps, radius, Some(limit)).unwrap();
            for (q, query) in other_fps.chunks_exact(words).enumerate() {
                let mut expected = brute(words, &fps, &ids, query, radius);
                prop_assert_eq!(expected.len() > limit, hits.truncated[q]);
                expected.truncate(limit);
                prop_assert_eq!(expected, hits_of(&index, &hits, q));
            }

            let mut expected = Vec::new();
            for (a, id) in other_fps.chunks_exact(words).zip(&other_ids) {
                expected.extend(brute(words, &fps, &ids, a, radius).into_iter().map(|(d, b)| (*id, b, d)));
            }
            expected.sort_unstable();
            prop_assert_eq!(expected, ids_of(&other, &index, &index.join(&other, radius).unwrap()));

            for linkage in [Linkage::Centred, Linkage::Connected] {
                index.prepare_clusters(radius, linkage).unwrap();
                let result = index.clusters(radius, linkage).unwrap();
                let expected = clusters_by_definition(words, &fps, radius, linkage);
                prop_assert_eq!(expected.len() + 1, result.offsets.len());
                for (cluster, range) in expected.iter().zip(result.offsets.windows(2)) {
                    let range = range[0] as usize..range[1] as usize;
                    let members: Vec<i64> = result.rows[range.clone()].iter().map(|&row| index.rows().int(row)).collect();
                    prop_assert_eq!(cluster.iter().map(|&i| ids[i]).collect::<Vec<_>>(), members);
                    let fp = |i: usize| &fps[i * words..(i + 1) * words];
                    let distances: Vec<u16> = cluster.iter().map(|&i| distance(fp(cluster[0]), fp(i)) as u16).collect();
                    prop_assert_eq!(&distances, &result.distances[range]);
                }
            }

            index.prepare_pairs(radius).unwrap();
            let expected = index.pairs(radius).unwrap();
            let mut stream = PairStream::new(&mut index, radius, batch).unwrap();
            let mut result = Pairs::default();
            loop {
                let part = stream.next_batch(&index).unwrap();
                let at = result.left.len();
                result.left.extend(&part.left);
                result.right.extend(&part.right);
                result.distances.extend(&part.distances);
                prop_assert_eq!(batch.min(expected.left.len() - at), part.left.len());
                if part.left.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(expected, result);

            for kernel in Kernel::available() {
                let index = {
                    let mut index = Index::new(bits, method, None, None).unwrap().with_kernel(kernel);
                    index.add(NewIds::Ints(&ids), &fps, Existing::Error).unwrap();
                    index
                };
                for ranking in [Ranking::Jaccard, Ranking::Spherical] {
                    let result = index.ranked(&other_fps, limit, ranking).unwrap();
                    for (q, query) in other_fps.chunks_exact(words).enumerate() {
                        let value = |fp: &[u64]| {
                            let differ = f64::from(distance(fp, query));
                            let common: u32 = fp.iter().zip(query).map(|(x, y)| (x & y).count_ones()).sum();
                            let under = if ranking == Ranking::Jaccard { differ } else { 0.0 } + f64::from(common);
                            if differ == 0.0 { 0.0 } else { differ / under }
                        };
                        let mut expected: Vec<(f64, i64)> =
                            fps.chunks_exact(words).map(value).zip(ids.iter().copied()).collect();
                        expected.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                        expected.truncate(limit);
                        let range = result.offsets[q] as usize..result.offsets[q + 1] as usize;
                        let result: Vec<(f64, i64)> =
                            range.map(|i| (result.distances[i], index.rows().int(result.rows[i]))).collect();
                        prop_assert_eq!(expected, result);
                    }
                }
            }
        }
    }
}

#[test]
fn fingerprints_are_in_order_of_addition() {
    let mut index = Index::new(65, Method::Auto, None, None).unwrap();
    index.add(NewIds::Rows, &[9, 0, 5, 1, 9, 0], Existing::Error).unwrap();
    index.prepare_pairs(0).unwrap();
    index.add(NewIds::Rows, &[3, 1, 4, 0], Existing::Error).unwrap();
    index.remove(Keys::Ints(&[1]), false).unwrap();
    assert_eq!(index.fingerprints().unwrap(), (vec![0, 2, 3, 4], vec![9, 0, 9, 0, 3, 1, 4, 0]));
}

#[test]
fn a_changed_index_ends_its_stream() {
    let mut index = Index::new(8, Method::Auto, None, None).unwrap();
    index.add(NewIds::Rows, &[1, 2, 3], Existing::Error).unwrap();
    let mut stream = PairStream::new(&mut index, 2, 1).unwrap();
    assert_eq!(vec![0], stream.next_batch(&index).unwrap().left);
    index.add(NewIds::Rows, &[4], Existing::Error).unwrap();
    assert!(stream.next_batch(&index).is_err());
    assert!(PairStream::new(&mut index, 9, 1).is_err() && PairStream::new(&mut index, 1, 0).is_err());
    assert!(index.ranked(&[1], 0, Ranking::Jaccard).is_err() && index.search(&[1], 1, Some(0)).is_err());
    assert!(index.join(&Index::new(9, Method::Auto, None, None).unwrap(), 1).is_err());
}

#[test]
fn batches_equal_one_by_one_across_runs_and_the_tail() {
    let fps = fingerprints(64, 40_000, 9);
    let queries = fingerprints(64, 5000, 10);
    let mut merged = Index::new(64, Method::Multi, None, None).unwrap();
    merged.add(NewIds::Rows, &fps, Existing::Error).unwrap();
    merged.prepare(6, 5000).unwrap();
    let expected = merged.search(&queries, 6, None).unwrap();
    let mut grown = Index::new(64, Method::Auto, Some(6), None).unwrap();
    for batch in [&fps[..30_000]].into_iter().chain(fps[30_000..].chunks(3000)) {
        grown.add(NewIds::Rows, batch, Existing::Error).unwrap();
        grown.prepare(6, 64).unwrap();
    }
    assert!(grown.runs.len() > 1 && !grown.tail.is_empty());
    assert_eq!(expected, grown.search(&queries, 6, None).unwrap());
    for q in [0, 77, 4999] {
        let single = grown.search(&queries[q..=q], 6, None).unwrap();
        assert_eq!(expected.offsets[q + 1] - expected.offsets[q], single.offsets[1]);
    }
}

#[test]
fn strings_break_ties_by_code_points() {
    let mut index = Index::new(8, Method::Auto, None, None).unwrap();
    index.add(NewIds::Names(&["é", "b", "a", "z"]), &[1, 1, 1, 0], Existing::Error).unwrap();
    let hits = index.search(&[1], 1, None).unwrap();
    let names: Vec<_> = hits.rows.iter().map(|&row| index.rows().string(row).unwrap()).collect();
    assert_eq!(vec!["a", "b", "é", "z"], names);
    assert_eq!(1, index.remove(Keys::Names(&["b"]), false).unwrap());
    assert!(index.rows().find_name("b").is_none() && index.rows().find_name("a").is_some());
    assert!(index.remove(Keys::Names(&["b"]), false).is_err());
}

#[test]
fn a_failed_call_changes_nothing() {
    let mut index = Index::new(8, Method::Auto, None, None).unwrap();
    index.add(NewIds::Ints(&[5, 6]), &[1, 2], Existing::Error).unwrap();
    assert!(index.add(NewIds::Ints(&[7, 5]), &[1, 2], Existing::Error).is_err());
    assert!(index.add(NewIds::Ints(&[8, 8]), &[1, 2], Existing::Error).is_err());
    assert!(index.add(NewIds::Names(&["a"]), &[1], Existing::Error).is_err());
    assert!(index.add(NewIds::Ints(&[9]), &[256], Existing::Error).is_err());
    assert!(index.remove(Keys::Ints(&[5, 99]), false).is_err());
    assert_eq!((2, true), (index.len(), index.rows().find_int(5).is_some()));
    assert!(Index::new(8, Method::Auto, Some(9), None).is_err());
    assert!(index.search(&[0], 9, None).is_err() && index.nearest(&[0], 0).is_err());
}

/// A place for one test's file.
fn place(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("nearkin-{}-{name}.nks", std::process::id()))
}

#[test]
fn an_opened_index_is_the_saved_one() {
    let path = place("saved");
    for (bits, method) in [(64, Method::Multi), (64, Method::Tables), (100, Method::Scan), (300, Method::Blocks)] {
        let words = words_of(bits);
        let fps = fingerprints(bits, 700, 3);
        let queries = fingerprints(bits, 40, 4);
        for ids in 0..3 {
            let mut index = Index::new(bits, method, Some(5), None).unwrap();
            let names: Vec<String> = (0..700).map(|i| format!("é{}", i * 7 % 701)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let ints: Vec<i64> = (0..700).map(|i| i * 11 % 701 - 300).collect();
            match ids {
                0 => index.add(NewIds::Rows, &fps, Existing::Error).unwrap(),
                1 => index.add(NewIds::Ints(&ints), &fps, Existing::Error).unwrap(),
                _ => index.add(NewIds::Names(&names), &fps, Existing::Error).unwrap(),
            };
            match ids {
                0 => index.remove(Keys::Ints(&[3, 4]), false).unwrap(),
                1 => index.remove(Keys::Ints(&ints[3..5]), false).unwrap(),
                _ => index.remove(Keys::Names(&names[3..5]), false).unwrap(),
            };
            index.prepare(5, 1000).unwrap();
            let expected = index.search(&queries, 5, None).unwrap();
            index.save(&path).unwrap();
            let mut opened = Index::open(&path).unwrap();
            opened.verify().unwrap();
            assert_eq!(698, opened.len());
            assert_eq!(expected, opened.search(&queries, 5, None).unwrap());
            assert_eq!(index.explain(5).unwrap()[0].radii, opened.explain(5).unwrap()[0].radii);
            // An opened index grows and is saved again, over its own file.
            let more = fingerprints(bits, 9, 5);
            match ids {
                0 => opened.add(NewIds::Rows, &more, Existing::Error).unwrap(),
                1 => opened.add(NewIds::Ints(&(1000..1009).collect::<Vec<_>>()), &more, Existing::Error).unwrap(),
                _ => opened.add(NewIds::Names(&names[3..5]), &more[..2 * words], Existing::Error).unwrap(),
            };
            let grown = opened.search(&queries, 5, None).unwrap();
            opened.save(&path).unwrap();
            assert_eq!(grown, Index::open(&path).unwrap().search(&queries, 5, None).unwrap());
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_changed_file_is_found_out() {
    let path = place("changed");
    let mut index = Index::new(64, Method::Multi, Some(3), None).unwrap();
    let ints: Vec<i64> = (0..300).map(|i| i * 11 % 701).collect();
    index.add(NewIds::Ints(&ints), &fingerprints(64, 300, 8), Existing::Error).unwrap();
    index.prepare(3, 10).unwrap();
    index.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let header = 64 + 40 * 15;
    let mut found_by_open = 0;
    for at in (0..bytes.len()).step_by(13).chain(0..header) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        std::fs::write(&path, &changed).unwrap();
        match Index::open(&path) {
            Err(_) => found_by_open += 1,
            // Padding between arrays belongs to no checksum and is never read.
            Ok(opened) => assert!(opened.verify().is_err() || bytes[at] == 0, "byte {at}"),
        }
    }
    assert!(found_by_open >= 64 + 40 * 14, "{found_by_open}");
    for length in [0, 7, 63, 64, 200, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(matches!(Index::open(&path), Err(Error::Corrupt { .. } | Error::Io { .. })), "{length}");
    }
    let mut newer = bytes.clone();
    newer[8] = 9;
    std::fs::write(&path, &newer).unwrap();
    assert!(matches!(Index::open(&path), Err(Error::FormatVersion { found: 9, newest: 1 })));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_save_that_fails_leaves_the_old_file() {
    let path = place("kept");
    let mut index = Index::new(64, Method::Auto, None, None).unwrap();
    index.add(NewIds::Rows, &[1, 2, 3], Existing::Error).unwrap();
    index.save(&path).unwrap();
    let before = std::fs::read(&path).unwrap();
    // A writer that is dropped before it has finished, as by an error or a crash, has not touched the place.
    let mut writer = crate::segment::Writer::create(&path, 1, 4).unwrap();
    writer.section(1, 0, &[1u64, 2, 3]).unwrap();
    drop(writer);
    assert_eq!(before, std::fs::read(&path).unwrap());
    assert!(index.save(&path.join("no folder")).is_err());
    let folder = path.parent().unwrap();
    let own = format!(".{}.", path.file_name().unwrap().to_string_lossy());
    let left = std::fs::read_dir(folder)
        .unwrap()
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(&own)));
    assert_eq!(0, left.count());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_share_of_a_machine_bounds_tables_that_nobody_else_bounds() {
    let fps: Vec<u64> = (0..40_000_u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let tables_of = |share: Option<usize>, memory: Option<usize>| {
        let mut index = Index::new(64, Method::Auto, Some(6), memory).unwrap();
        index.set_share(share);
        let ids: Vec<i64> = (0..fps.len() as i64).collect();
        index.add(NewIds::Ints(&ids), &fps, Existing::Error).unwrap();
        index.prepare(6, 1000).unwrap();
        assert!(index.is_prepared(6, 1000));
        let hits = index.search(&fps[..50], 6, None).unwrap();
        (index.bytes().0, hits.offsets, hits.rows)
    };
    let (free, bare) = (tables_of(None, None), tables_of(Some(0), None));
    assert!(bare.0 < free.0 / 2, "{} of {}", bare.0, free.0);
    // Where they fit, the tables are the same; else less, down to none. The answers never change.
    assert_eq!(free, tables_of(Some(2 * free.0), None));
    for share in [free.0 - 1, free.0 / 2, bare.0, 0] {
        let result = tables_of(Some(share), None);
        assert!(result.0 <= share.max(bare.0), "{} of {share}", result.0);
        assert_eq!((&free.1, &free.2), (&result.1, &result.2));
    }
    // A limit of the caller's comes first.
    assert_eq!(tables_of(None, Some(1 << 40)).0, tables_of(Some(0), Some(1 << 40)).0);
}
