//! The index against brute force.

use proptest::prelude::*;

use super::*;
use crate::digests::tlsh::MAX_BYTES;

/// Digests whose headers and bodies are near and far, so that every distance occurs.
pub(super) fn digests(form: Form, seed: u64, count: usize) -> Vec<Digest> {
    let mut state = seed | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let centres: Vec<[u8; MAX_BYTES]> = (0..4).map(|_| std::array::from_fn(|_| next() as u8)).collect();
    (0..count)
        .map(|_| {
            let mut bytes = centres[next() as usize % 4];
            for _ in 0..next() % 12 {
                bytes[next() as usize % form.bytes()] ^= 1 << (next() % 8);
            }
            // The length's lowest bits are in its first digit.
            bytes[form.checksum()] = ((next() % 7) as u8 * 16) | 3;
            Digest::from_bytes(form, &bytes[..form.bytes()])
        })
        .collect()
}

fn brute(index: &Index, query: &Digest, limit: u16, from: u32) -> Vec<Hit> {
    let rows = (from..index.total() as u32).filter_map(|row| Some((row, index.get(row)?)));
    let mut hits: Vec<Hit> = rows
        .map(|(row, digest)| Hit { row, score: query.distance(&digest, true) })
        .filter(|hit| hit.score <= limit)
        .collect();
    hits.sort_by_key(|hit| (hit.score, hit.row));
    hits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn results_equal_brute_force(
        seed in any::<u64>(),
        form in 0..4_usize,
        counts in prop::collection::vec(1..400_usize, 1..6),
        limit in prop::sample::select(vec![0_u16, 5, 13, 25, 40, 70, 130, 3000]),
        removed in prop::collection::vec(0..50_i64, 0..60),
        k in 1..20_usize,
    ) {
        let form = Form::ALL[form];
        let mut index = Index::new(form);
        let all = digests(form, seed, counts.iter().sum());
        let mut rest = &all[..];
        for count in counts {
            let (batch, after) = rest.split_at(count);
            index.add(NewIds::Rows, batch, Existing::Error).unwrap();
            rest = after;
        }
        index.remove(Keys::Ints(&removed), true).unwrap();
        let mut queries = digests(form, seed, 50);
        queries.extend(digests(form, seed ^ 0x77, 5));
        let found = index.search_many(&queries, limit).unwrap();
        let nearest = index.nearest_many(&queries, k, limit).unwrap();
        for ((query, found), nearest) in queries.iter().zip(&found).zip(nearest) {
            let mut expected = brute(&index, query, limit, 0);
            prop_assert_eq!(&expected, found);
            expected.truncate(k);
            prop_assert_eq!(expected, nearest);
        }
        let limit = limit.min(40);
        let pairs = index.pairs(limit).unwrap();
        let expected: Vec<Pair> = (0..index.total() as u32)
            .filter_map(|left| Some((left, index.get(left)?)))
            .flat_map(|(left, digest)| {
                let mut hits = brute(&index, &digest, limit, left + 1);
                hits.sort_by_key(|hit| hit.row);
                hits.into_iter().map(move |hit| Pair { left, right: hit.row, score: hit.score })
            })
            .collect();
        prop_assert_eq!(&expected, &pairs);
        let (left, right): (Vec<u32>, Vec<u32>) = pairs.iter().map(|pair| (pair.left, pair.right)).unzip();
        for (linkage, firsts) in [
            (Linkage::Connected, crate::index::components::components(index.total(), &left, &right).unwrap()),
            (Linkage::Centred, centred(index.total(), &left, &right).unwrap()),
        ] {
            let clusters = index.clusters(limit, linkage).unwrap();
            let members: usize = (0..firsts.len()).filter(|&row| firsts.iter().filter(|&&f| f == firsts[row]).count() > 1).count();
            prop_assert_eq!(members, clusters.rows.len());
            for bounds in clusters.offsets.windows(2) {
                let rows = &clusters.rows[bounds[0] as usize..bounds[1] as usize];
                prop_assert!(rows.iter().all(|&row| firsts[row as usize] == rows[0]));
                let first = index.get(rows[0]).unwrap();
                for (&row, &score) in rows.iter().zip(&clusters.scores[bounds[0] as usize..]) {
                    prop_assert_eq!(first.distance(&index.get(row).unwrap(), true), score);
                }
            }
        }
    }
}

#[test]
fn digests_of_another_form_are_refused() {
    let mut index = Index::new(Form::default());
    let other = digests(Form::ALL[3], 1, 1);
    assert!(matches!(index.add(NewIds::Rows, &other, Existing::Error), Err(Error::Mismatch { .. })));
    assert!(matches!(index.search_many(&other, 10), Err(Error::Mismatch { .. })));
    assert_eq!(0, index.len());
}
