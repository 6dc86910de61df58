use proptest::prelude::*;

use super::super::{
    Existing, Hashes, Hits, Index, Keys, Metric, NewIds, Queries, Query, SearchParams, VectorStore, Vectors,
};
use super::RotationSeed;
use crate::vectors::random;

const METRICS: [Metric; 3] = [Metric::L2, Metric::Cosine, Metric::InnerProduct];
const SURE: f64 = 40.0;

fn gaussian(seed: u64, count: usize) -> Vec<f32> {
    let base = random::base(seed, 17, 0);
    (0..count).map(|column| random::gaussian(random::word(base, column as u64)) as f32).collect()
}

/// Rows around eight points, all different from the origin.
fn grouped(seed: u64, rows: usize, dim: usize) -> Vec<f32> {
    let (points, noise) = (gaussian(seed, 8 * dim), gaussian(seed + 1, rows * dim));
    (0..rows * dim).map(|i| 2.0 * points[(i / dim % 8) * dim + i % dim] + 0.5 * noise[i] + 3.0).collect()
}

fn index(metric: Metric, partitions: Option<usize>, dim: usize, rows: &[f32]) -> Index {
    let store = VectorStore::new("float32", dim).expect("a store");
    let seed = RotationSeed { seed: 5, stream: if dim.is_multiple_of(3) { 4 } else { 3 } };
    let mut index = Index::with_rabitq(metric, seed, partitions, store, Vectors::F32(rows)).expect("an index");
    index.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(rows), Existing::Error).expect("added");
    index
}

fn search(index: &Index, queries: &[f32], deviations: f64, probes: usize, query_kind: Query) -> Hits {
    let params = SearchParams::Estimate { deviations, num_probes: probes, reach: None };
    let batch = Queries { hashes: Hashes::Bits(&[]), alternatives: None, params };
    index.query(&batch, Vectors::F32(queries), query_kind).expect("an answer")
}

/// Answer a query from the distances of all rows.
fn brute_force(index: &Index, query: &[f32], query_kind: Query) -> Vec<(u32, f64)> {
    let alive: Vec<u32> = (0..index.rows().total() as u32).filter(|&row| index.rows().is_alive(row)).collect();
    let mut scored = Vec::new();
    let instructions = crate::cpu::features::Instructions::best();
    index.store().distances(instructions, index.metric(), Vectors::F32(query), 0, &alive, &mut scored);
    scored.sort_by(|a, b| a.0.total_cmp(&b.0).then(index.rows().compare(a.1, b.1)));
    match query_kind {
        Query::Knn(k) => scored.truncate(k),
        Query::Radius(radius) => scored.retain(|hit| hit.0 <= radius),
    }
    scored.into_iter().map(|(distance, row)| (row, distance)).collect()
}

fn pairs(hits: &Hits, query: usize) -> Vec<(u32, f64)> {
    let part = hits.offsets[query] as usize..hits.offsets[query + 1] as usize;
    hits.rows[part.clone()].iter().copied().zip(hits.distances[part].iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn with_a_sure_bound_results_equal_brute_force(
        seed in 0u64..1 << 40, rows in 1usize..400, more in 0usize..300, dim in 1usize..150, k in 1usize..30,
        removed in proptest::collection::vec(0i64..400, 0..60), partitions in 0usize..20,
    ) {
        for metric in METRICS {
            let partitions = (partitions > 0).then_some(partitions);
            let mut index = index(metric, partitions, dim, &grouped(seed, rows, dim));
            index.remove(Keys::Ints(&removed), true).expect("removed");
            // A few rows first, then the rest.
            let added = grouped(seed + 9, more, dim);
            for chunk in [&added[..more.min(3) * dim / 3 * 3 / dim * dim], &added[more.min(3) * dim / 3 * 3 / dim * dim..]] {
                index.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(chunk), Existing::Error).expect("added");
            }
            let mut queries = grouped(seed, 3, dim);
            queries.extend(gaussian(seed + 4, 2 * dim));
            let radius = brute_force(&index, &queries[..dim], Query::Knn(k)).last().map_or(1.0, |hit| hit.1);
            for query_kind in [Query::Knn(k), Query::Radius(radius)] {
                let hits = search(&index, &queries, SURE, usize::MAX, query_kind);
                for query in 0..5 {
                    let query_vector = &queries[query * dim..(query + 1) * dim];
                    prop_assert_eq!(brute_force(&index, query_vector, query_kind), pairs(&hits, query), "{:?} {:?}", metric, partitions);
                    let single = search(&index, query_vector, SURE, usize::MAX, query_kind);
                    prop_assert_eq!(pairs(&hits, query), pairs(&single, 0));
                }
            }
        }
    }

    #[test]
    fn searches_of_own_rows_equal_brute_force_and_lose_only_what_is_beyond_reach(
        seed in 0u64..1 << 40, rows in 10usize..400, dim in 1usize..90, partitions in 0usize..20, probes in 1usize..6,
        reach in 0.0f32..2.0,
    ) {
        for metric in [Metric::L2, Metric::Cosine] {
            let partitions = (partitions > 0).then_some(partitions);
            let values = grouped(seed, rows, dim);
            let mut index = index(metric, partitions, dim, &values);
            index.remove(Keys::Ints(&[0, 7, 9]), true).expect("removed");
            index.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(&values[..9 * dim]), Existing::Error).expect("added");
            let radius = brute_force(&index, &values[..dim], Query::Knn(5)).last().map_or(1.0, |hit| hit.1);
            // Rows in another order than that of their partitions.
            let mut own = index.live_rows().expect("rows");
            own.reverse();
            let near = |probes, reach| {
                let params = SearchParams::Estimate { deviations: SURE, num_probes: probes, reach };
                index.near_rows(&own, radius, &params).expect("an answer")
            };
            let (all, some) = (near(usize::MAX, None), near(probes, Some(reach)));
            for (number, &row) in own.iter().enumerate() {
                let query = index.store().gather(&[row]).expect("a vector");
                let Vectors::F32(query) = query.view() else { unreachable!() };
                let expected = brute_force(&index, query, Query::Radius(radius));
                prop_assert_eq!(&expected, &pairs(&all, number), "{:?} {:?}", metric, partitions);
                let found = pairs(&some, number);
                prop_assert!(found.iter().all(|hit| expected.contains(hit)));
                if partitions.is_none() {
                    prop_assert_eq!(expected, found);
                }
            }
        }
    }

    #[test]
    fn batches_files_and_appended_rows_give_the_same_results(
        seed in 0u64..1 << 40, rows in 40usize..600, dim in 2usize..90, partitions in 0usize..12, probes in 1usize..12,
    ) {
        let path = std::env::temp_dir().join(format!("nearkin-rotation-{}-{seed}-{rows}-{dim}", std::process::id()));
        for metric in METRICS {
            let partitions = (partitions > 0).then_some(partitions);
            let values = grouped(seed, rows, dim);
            let mut index = index(metric, partitions, dim, &values);
            index.remove(Keys::Ints(&[0, 7, 9]), true).expect("removed");
            index.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(&values[..10 * dim]), Existing::Error).expect("added");
            let queries = grouped(seed + 3, 7, dim);
            let radius = brute_force(&index, &queries[..dim], Query::Knn(5)).last().map_or(1.0, |hit| hit.1);
            for query_kind in [Query::Knn(5), Query::Radius(radius)] {
                let hits = search(&index, &queries, 1.0, probes, query_kind);
                for query in 0..7 {
                    let single = search(&index, &queries[query * dim..(query + 1) * dim], 1.0, probes, query_kind);
                    prop_assert_eq!(pairs(&hits, query), pairs(&single, 0));
                }
            }
            index.save(&path).expect("saved");
            let mut opened = Index::open(&path).expect("opened");
            opened.verify().expect("sound");
            prop_assert_eq!(index.rabitq_shape(), opened.rabitq_shape());
            let saved = search(&index, &queries, 1.0, 3, Query::Knn(5));
            prop_assert_eq!(&saved, &search(&opened, &queries, 1.0, 3, Query::Knn(5)));
            for index in [&mut index, &mut opened] {
                index.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(&queries), Existing::Error).expect("added");
            }
            let hits = search(&index, &queries, SURE, usize::MAX, Query::Knn(9));
            prop_assert_eq!(&hits, &search(&opened, &queries, SURE, usize::MAX, Query::Knn(9)));
        }
        std::fs::remove_file(&path).expect("there");
    }
}

/// Check the law for natural and adverse pairs of a row and a query, under many rotations of a stream: the share of bounds above
/// the true distance, at three ε with known normal tails.
fn check_law(stream: u64, trials: u64) {
    const TAILS: [(f32, f64); 3] = [(0.674_489_75, 0.25), (1.281_551_6, 0.1), (2.326_347_8, 0.01)];
    let dim = 64;
    let one_hot = |at: usize| (0..dim).map(|i| if i == at { 1.0 } else { 0.0 }).collect::<Vec<f32>>();
    let signs: Vec<f32> = (0..dim).map(|i| [1.0, -1.0, 1.0][i % 3]).collect();
    let point = gaussian(1, dim);
    let near: Vec<f32> = point.iter().zip(gaussian(2, dim)).map(|(a, b)| a + 0.3 * b).collect();
    let pair = [one_hot(0), one_hot(1)].map(|one_hot| one_hot.iter().map(|value| 3.0 * value).collect::<Vec<f32>>());
    let cases = [
        (gaussian(3, dim), gaussian(4, dim)),
        (one_hot(0), one_hot(1)),
        (one_hot(3), signs.clone()),
        (point, near),
        (signs, one_hot(0)),
        (pair[0].iter().zip(&pair[1]).map(|(a, b)| a - b).collect(), one_hot(0)),
    ];
    let mut lost = [[0_u32; TAILS.len()]; 6];
    let instructions = crate::cpu::features::Instructions::best();
    for seed in 0..trials {
        let rotation = crate::vectors::rotation::Rotation::new(seed, stream, 0, dim).expect("a rotation");
        let transform = super::VectorTransform::from_parts(Metric::L2, rotation, dim, 1.0, vec![0.0; dim]);
        for ((row, query), lost) in cases.iter().zip(&mut lost) {
            let (mut r, mut y) = (row.clone(), query.clone());
            let transformed = transform.rotate(instructions, &mut r).expect("in range");
            let mut signs = [0];
            let correction = super::encode_flat(Metric::L2, transformed, &r, instructions, &mut signs);
            let mut codes = super::CodeTable::new(64);
            codes.push(&signs, correction);
            let transformed = transform.rotate(instructions, &mut y).expect("in range");
            let mut tables = super::estimate::LookupTables::default();
            tables.fill(instructions, &y).expect("memory");
            let truth: f64 = row.iter().zip(query).map(|(a, b)| f64::from(a - b).powi(2)).sum();
            for ((deviations, _), lost) in TAILS.iter().zip(lost) {
                let (mut bounds, mut minima) = ([0.0; 32], [0.0]);
                let (square, base) = (transformed.square, transform.base(transformed));
                let query = super::estimate::PartitionQuery { tables: &tables, square, base, deviations: *deviations };
                codes.bounds(super::Kernel::best(), 0..1, &query, &mut bounds, &mut minima);
                *lost += u32::from(f64::from(bounds[0]) > truth * (1.0 + 1e-5));
            }
        }
    }
    for (case, lost) in lost.iter().enumerate() {
        for (&(deviations, share), &lost) in TAILS.iter().zip(lost) {
            let (lost, trials) = (f64::from(lost) / trials as f64, trials as f64);
            let allowed = share + 3.0 * (share * (1.0 - share) / trials).sqrt();
            println!("stream {stream}, case {case}, {deviations} deviations: {lost:.5} of {share} lost");
            assert!(lost <= allowed, "case {case}, {deviations} deviations: {lost} lost, {allowed} allowed");
        }
    }
}

#[test]
fn the_law_holds_for_many_structured_rotations() {
    check_law(3, 4000);
}

#[test]
fn the_law_holds_for_many_dense_rotations() {
    check_law(4, 2000);
}

/// `cargo test --release -p nearkin-core --lib hundred_thousand -- --ignored --nocapture` shows the shares.
#[test]
#[ignore = "takes a minute"]
fn the_law_holds_for_a_hundred_thousand_rotations_of_each_kind() {
    check_law(3, 100_000);
    check_law(4, 100_000);
}

/// A row is found with as many probes as its rank says, and not with fewer.
#[test]
fn a_row_is_in_the_partition_of_its_rank() {
    let (dim, rows) = (24, 600);
    let values = grouped(4, rows, dim);
    for metric in METRICS {
        let index = index(metric, Some(20), dim, &values);
        let queries = grouped(6, 3, dim);
        let near: Vec<u32> = (0..3 * 40).map(|at| at * 5).collect();
        let ranks = index.partition_ranks(Vectors::F32(&queries), &near).expect("ranks");
        for (number, (rows, ranks)) in near.chunks(40).zip(ranks.chunks(40)).enumerate() {
            let query = &queries[number * dim..(number + 1) * dim];
            for probes in [1, 2, 5, 20] {
                let found = pairs(&search(&index, query, SURE, probes, Query::Radius(f64::INFINITY)), 0);
                for (row, &rank) in rows.iter().zip(ranks) {
                    assert_eq!((rank as usize) < probes, found.iter().any(|hit| hit.0 == *row), "{metric:?}");
                }
            }
        }
        assert!(index.partition_ranks(Vectors::F32(&queries), &near[1..]).is_err());
        assert!(index.partition_ranks(Vectors::F32(&queries), &[0, 1, 600]).is_err());
    }
    let flat = index(Metric::L2, None, dim, &values);
    assert_eq!(vec![0; 2], flat.partition_ranks(Vectors::F32(&values[..dim]), &[3, 4]).expect("ranks"));
}

#[test]
fn vectors_out_of_range_and_metrics_without_a_bound_are_errors() {
    let seed = RotationSeed { seed: 0, stream: 3 };
    let build = |metric, partitions, rows: &[f32]| {
        Index::with_rabitq(
            metric,
            seed,
            partitions,
            VectorStore::new("float32", 2).expect("a store"),
            Vectors::F32(rows),
        )
    };
    assert!(build(Metric::L1, None, &[1.0, 2.0]).is_err());
    let mut index = index(Metric::L2, None, 2, &[1.0, 2.0, 3.0, 4.0]);
    let params = |deviations, reach| SearchParams::Estimate { deviations, num_probes: 1, reach };
    assert_eq!(vec![0, 1], index.near_rows(&[0], 9.0, &params(1.0, None)).expect("an answer").rows);
    for (rows, radius, params) in [
        (&[2][..], 1.0, params(1.0, None)),
        (&[0], f64::NAN, params(1.0, None)),
        (&[0], 1.0, params(-1.0, None)),
        (&[0], 1.0, params(f64::NAN, None)),
        (&[0], 1.0, params(1.0, Some(-0.5))),
        (&[0], 1.0, params(1.0, Some(f32::NAN))),
        (&[0], 1.0, SearchParams::Codes(1)),
    ] {
        assert!(index.near_rows(rows, radius, &params).is_err(), "{rows:?} {radius} {params:?}");
    }
    let products = build(Metric::InnerProduct, None, &[1.0, 2.0]).expect("an index");
    assert!(products.near_rows(&[], 1.0, &params(1.0, None)).is_err());
    let far = [1e30, 1.0];
    assert!(index.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(&far), Existing::Error).is_err());
    assert_eq!(2, index.len());
    // Tiny and huge numbers, if all have the same magnitude.
    for size in [1e-30_f32, 1e30] {
        let rows: Vec<f32> = gaussian(3, 40 * 5).iter().map(|value| value * size).collect();
        let index = self::index(Metric::Cosine, None, 5, &rows.iter().map(|value| value / size).collect::<Vec<_>>());
        assert_eq!(40, index.len());
        let small = self::index(Metric::L2, None, 5, &rows[..100]);
        let hits = search(&small, &rows[..5], SURE, 1, Query::Knn(1));
        assert_eq!(vec![0], hits.rows);
    }
}

#[test]
fn an_index_without_rows_and_queries_without_matches_are_answered() {
    for partitions in [None, Some(4)] {
        let mut index = index(Metric::L2, partitions, 3, &[]);
        assert_eq!(vec![0, 0], search(&index, &[1.0, 2.0, 3.0], 1.0, 1, Query::Knn(3)).offsets);
        let rows = grouped(1, 50, 3);
        index.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(&rows), Existing::Error).expect("added");
        assert_eq!(vec![0, 0], search(&index, &[1.0, 2.0, 3.0], SURE, 9, Query::Radius(-1.0)).offsets);
        assert_eq!(50, search(&index, &[1.0, 2.0, 3.0], SURE, 9, Query::Knn(99)).rows.len());
    }
}

#[test]
fn no_query_touches_more_than_max_candidates() {
    let path = std::env::temp_dir().join(format!("nearkin-max-candidates-{}", std::process::id()));
    let (rows, few) = (grouped(2, 2_000, 6), grouped(9, 150, 6));
    let mut index = index(Metric::L2, Some(40), 6, &rows);
    let check = |index: &Index, few: bool| {
        for probes in [1, 3, usize::MAX] {
            let max =
                index.max_candidates(&SearchParams::Estimate { deviations: SURE, num_probes: probes, reach: None });
            for query in rows.chunks_exact(6).step_by(100) {
                let count = search(index, query, SURE, probes, Query::Radius(1e9)).rows.len();
                assert!(count <= max && max <= index.len() + 40, "{probes} probes: {count} of at most {max}");
            }
            assert!(!few || probes > 3 || max < index.len(), "{probes} probes: at most {max}");
        }
    };
    check(&index, true);
    // Appended, then from a file, then merged.
    index.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(&few), Existing::Error).expect("added");
    check(&index, true);
    index.save(&path).expect("saved");
    let mut opened = Index::open(&path).expect("opened");
    std::fs::remove_file(&path).expect("there");
    check(&opened, true);
    opened.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(&rows), Existing::Error).expect("added");
    opened.add(NewIds::Rows, Hashes::Bits(&[]), Vectors::F32(&few), Existing::Error).expect("added");
    check(&opened, false);
}
