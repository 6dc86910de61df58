//! The index against models: rows by key, distances by the definition.

use proptest::prelude::*;

use super::*;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
}

fn ints_layout(hashes: usize, per_table: usize) -> TableLayout {
    let columns = (0..(hashes / per_table * per_table) as u32).collect();
    TableLayout::new(HashKind::Ints, hashes, per_table, columns).expect("a layout")
}

/// Rows that share all integers of some table with the query.
fn sharing(values: &[i64], query: &[i64], per_table: usize) -> Vec<u32> {
    let hashes = query.len();
    (0..values.len() / hashes)
        .filter(|row| {
            let row = &values[row * hashes..(row + 1) * hashes];
            row.chunks_exact(per_table).zip(query.chunks_exact(per_table)).any(|(a, b)| a == b)
        })
        .map(|row| row as u32)
        .collect()
}

proptest! {
    #[test]
    fn candidates_share_a_key_and_results_are_their_nearest(
        seed: u64, rows in 0usize..200, per_table in 1usize..4, tables in 1usize..4, k in 1usize..12, dead in 0usize..40,
        parts in 1usize..5,
    ) {
        let mut rng = Rng(seed);
        let (dim, hashes) = (3, per_table * tables);
        let vectors: Vec<f32> = (0..rows * dim).map(|_| (rng.next() % 7) as f32).collect();
        let values: Vec<i64> = (0..rows * hashes).map(|_| (rng.next() % 3) as i64 - 1).collect();
        let mut index = Index::with_buckets(Metric::L2, ints_layout(hashes, per_table), VectorStore::new("float32", dim).expect("a store"));
        for part in 0..parts {
            let range = part * rows / parts..(part + 1) * rows / parts;
            let added = index.add(
                NewIds::Rows,
                Hashes::Ints(&values[range.start * hashes..range.end * hashes]),
                Vectors::F32(&vectors[range.start * dim..range.end * dim]),
                Existing::Error,
            );
            prop_assert_eq!(range.len(), added.expect("added"));
        }
        let removed_ids: Vec<i64> = (0..dead.min(rows)).map(|_| (rng.next() % rows as u64) as i64).collect();
        index.remove(Keys::Ints(&removed_ids), true).expect("removed");
        let query: Vec<i64> = (0..hashes).map(|_| (rng.next() % 3) as i64 - 1).collect();
        let point: Vec<f32> = (0..dim).map(|_| (rng.next() % 7) as f32).collect();
        let expected: Vec<u32> =
            sharing(&values, &query, per_table).into_iter().filter(|&row| !removed_ids.contains(&i64::from(row))).collect();
        let queries = Queries { hashes: Hashes::Ints(&query), alternatives: None, params: SearchParams::Probes(1) };
        let folder = std::env::temp_dir().join(format!("nearkin-lsh-{}-{:?}", std::process::id(), std::thread::current().id()));
        for saved in [false, true] {
            if saved {
                index.set_metadata(vec![1, 2, 3]);
                index.save(&folder).expect("saved");
                index = Index::open(&folder).expect("opened");
                index.verify().expect("sound");
                prop_assert_eq!(&[1, 2, 3], index.metadata());
            }
            prop_assert_eq!(rows - { let mut removed_ids = removed_ids.clone(); removed_ids.sort_unstable(); removed_ids.dedup(); removed_ids.len() }, index.len());
            let result = index.candidates(&queries).expect("candidates");
            prop_assert_eq!(&expected, &result.rows);
            let mut ranked: Vec<(f64, u32)> = expected.iter().map(|&row| {
                let other = &vectors[row as usize * dim..(row as usize + 1) * dim];
                (f64::from(point.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()), row)
            }).collect();
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let hits = index.query(&queries, Vectors::F32(&point), Query::Knn(k)).expect("hits");
            let pairs: Vec<(f64, u32)> = hits.distances.iter().copied().zip(hits.rows.iter().copied()).collect();
            prop_assert_eq!(&ranked[..k.min(ranked.len())], &pairs[..]);
            let hits = index.query(&queries, Vectors::F32(&point), Query::Radius(4.0)).expect("hits");
            let within: Vec<u32> = ranked.iter().filter(|(distance, _)| *distance <= 4.0).map(|&(_, row)| row).collect();
            prop_assert_eq!(within, hits.rows);
        }
        std::fs::remove_file(&folder).expect("removed");
    }

    #[test]
    fn the_nearest_codes_are_those_of_sorting(
        seed: u64, rows in 0usize..300, bits in 1usize..200, num_candidates in 1usize..50, queries in 1usize..5, dead in 0usize..20,
    ) {
        let mut rng = Rng(seed);
        let words = bits.div_ceil(64);
        let mask = crate::cpu::popcount::last_mask(bits);
        let mut fps = |count: usize| -> Vec<u64> {
            (0..count * words)
                .map(|i| {
                    // Few set bits, so that there are ties.
                    let word = rng.next() & rng.next() & rng.next() & rng.next();
                    if (i + 1) % words == 0 { word & mask } else { word }
                })
                .collect()
        };
        let (codes, query_codes) = (fps(rows), fps(queries));
        let vectors: Vec<f64> = (0..rows).map(|row| row as f64).collect();
        let mut index = Index::with_codes(Metric::L1, bits, VectorStore::new("float64", 1).expect("a store")).expect("an index");
        index.add(NewIds::Rows, Hashes::Bits(&codes), Vectors::F64(&vectors), Existing::Error).expect("added");
        let removed_ids: Vec<i64> = (0..dead.min(rows)).map(|_| (rng.next() % rows as u64) as i64).collect();
        index.remove(Keys::Ints(&removed_ids), true).expect("removed");
        let batch = Queries { hashes: Hashes::Bits(&query_codes), alternatives: None, params: SearchParams::Codes(num_candidates) };
        let result = index.candidates(&batch).expect("candidates");
        for (number, query) in query_codes.chunks_exact(words).enumerate() {
            let mut all: Vec<(u32, u32)> = codes.chunks_exact(words).enumerate()
                .map(|(row, code)| (crate::cpu::popcount::distance(code, query), row as u32))
                .filter(|(_, row)| !removed_ids.contains(&i64::from(*row))).collect();
            all.sort_unstable();
            let mut expected: Vec<u32> = all.iter().take(num_candidates).map(|&(_, row)| row).collect();
            expected.sort_unstable();
            let (begin, end) = (result.offsets[number] as usize, result.offsets[number + 1] as usize);
            prop_assert_eq!(&expected[..], &result.rows[begin..end]);
        }
    }
}

#[test]
fn enough_probes_of_bits_reach_every_row() {
    let mut rng = Rng(1);
    let rows = 500;
    let codes: Vec<u64> = (0..rows).map(|_| rng.next() & 0xff).collect();
    let vectors: Vec<f32> = (0..rows).map(|row| row as f32).collect();
    let layout = TableLayout::new(HashKind::Bits, 8, 8, (0..8).collect()).expect("a layout");
    let mut index = Index::with_buckets(Metric::L2, layout, VectorStore::new("float32", 1).expect("a store"));
    index.add(NewIds::Rows, Hashes::Bits(&codes), Vectors::F32(&vectors), Existing::Error).expect("added");
    let costs: Vec<f64> = (0..8).map(f64::from).collect();
    let other = Alternatives { per_hash: 1, values: &[], costs: &costs };
    let ask = |probes| Queries {
        hashes: Hashes::Bits(&[3]),
        alternatives: Some(other),
        params: SearchParams::Probes(probes),
    };
    assert_eq!(rows, index.candidates(&ask(256)).expect("candidates").rows.len());
    let own = codes.iter().filter(|&&code| code == 3).count();
    assert_eq!(own, index.candidates(&ask(1)).expect("candidates").rows.len());
    // The cheapest flip is bit 0.
    let two = codes.iter().filter(|&&code| code == 3 || code == 2).count();
    assert_eq!(two, index.candidates(&ask(2)).expect("candidates").rows.len());
}

#[test]
fn ids_that_are_there_or_missing_are_errors() {
    let mut index =
        Index::with_codes(Metric::L2, 8, VectorStore::new("float32", 1).expect("a store")).expect("an index");
    let add = |index: &mut Index, ids: &[i64]| {
        let n = ids.len();
        index.add(NewIds::Ints(ids), Hashes::Bits(&vec![0; n]), Vectors::F32(&vec![0.0; n]), Existing::Error)
    };
    assert_eq!(2, add(&mut index, &[5, 3]).expect("added"));
    assert!(add(&mut index, &[3]).is_err());
    assert!(add(&mut index, &[7, 7]).is_err());
    assert!(index.add(NewIds::Rows, Hashes::Bits(&[0]), Vectors::F32(&[0.0]), Existing::Error).is_err());
    assert_eq!(2, index.len());
    assert!(index.remove(Keys::Ints(&[4]), false).is_err());
    assert_eq!(0, index.remove(Keys::Ints(&[4]), true).expect("none"));
    assert_eq!(1, index.remove(Keys::Ints(&[3]), false).expect("one"));
    assert_eq!(1, add(&mut index, &[3]).expect("again"));
    assert_eq!(2, index.len());
}

#[test]
fn an_addition_that_is_stopped_at_any_look_changes_nothing() {
    let (dim, hashes) = (3, 4);
    let numbers = |rows: std::ops::Range<usize>, of: usize| -> Vec<i64> {
        (rows.start * of..rows.end * of).map(|i| (i * i / 5 % 4) as i64).collect()
    };
    let ids: Vec<i64> = (0..90).map(|i| (i * 37) % 80).collect();
    for kind in ["float32", "float64", "sparse"] {
        let add = |index: &mut Index, rows: std::ops::Range<usize>| {
            let values: Vec<f64> = numbers(rows.clone(), dim).iter().map(|&value| value as f64 + 1.0).collect();
            let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            let ends: Vec<u64> = (0..=rows.len() as u64).map(|row| row * dim as u64).collect();
            let columns: Vec<u32> = (0..values.len() as u32).map(|at| at % dim as u32).collect();
            let vectors = match kind {
                "float32" => Vectors::F32(&narrow),
                "float64" => Vectors::F64(&values),
                _ => Vectors::Sparse(&ends, &columns, &values),
            };
            let hashed = numbers(rows.clone(), hashes);
            index.add(NewIds::Ints(&ids[rows]), Hashes::Ints(&hashed), vectors, Existing::Update)
        };
        let filled = || {
            let store = VectorStore::new(kind, dim).expect("a store");
            let mut index = Index::with_buckets(Metric::Cosine, ints_layout(hashes, 2), store);
            add(&mut index, 0..40).expect("added");
            index
        };
        let state = |index: &Index| {
            let hashed = numbers(0..60, hashes);
            let queries =
                Queries { hashes: Hashes::Ints(&hashed), alternatives: None, params: SearchParams::Probes(1) };
            let result = index.candidates(&queries).expect("queries");
            (
                index.len(),
                index.rows().total(),
                index.store().len(),
                index.rows().find_int(37),
                result.offsets,
                result.rows,
            )
        };
        let before = state(&filled());
        let mut index = filled();
        let more = |index: &mut Index| add(index, 20..90);
        let added = crate::cancel::at_every_check(&mut index, more, |index| assert_eq!(before, state(index)));
        assert!(added > 0);
        let mut other = filled();
        more(&mut other).expect("added");
        assert_eq!(state(&other), state(&index));
        let kept = state(&index);
        let path = std::env::temp_dir().join(format!("nearkin-lsh-stopped-{kind}-{}", std::process::id()));
        crate::cancel::at_every_check(
            &mut index,
            |index| index.save(&path),
            |index| {
                assert_eq!(kept, state(index));
                assert!(!path.exists());
            },
        );
        let opened = Index::open(&path).expect("whole");
        opened.verify().expect("whole");
        assert_eq!(kept, state(&opened));
        std::fs::remove_file(&path).expect("there");
    }
}
