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

fn brute(index: &Index, query: &Digest, limit: u16, from: u32) -> Near {
    let rows = (from..index.total() as u32).filter_map(|row| Some((row, index.get(row)?)));
    let mut hits: Near =
        rows.map(|(row, digest)| (query.distance(&digest, true), row)).filter(|hit| hit.0 <= limit).collect();
    hits.sort_unstable();
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
        let mut expected: Vec<Near> = queries.iter().map(|query| brute(&index, query, limit, 0)).collect();
        prop_assert_eq!(Hits::new(&expected).unwrap(), found);
        for hits in &mut expected {
            hits.truncate(k);
        }
        prop_assert_eq!(Hits::new(&expected).unwrap(), nearest);
        let limit = limit.min(40);
        let pairs = index.pairs(limit).unwrap();
        let expected: Vec<(u32, u32, u16)> = (0..index.total() as u32)
            .filter_map(|left| Some((left, index.get(left)?)))
            .flat_map(|(left, digest)| {
                let mut hits = brute(&index, &digest, limit, left + 1);
                hits.sort_by_key(|hit| hit.1);
                hits.into_iter().map(move |(distance, right)| (left, right, distance))
            })
            .collect();
        prop_assert_eq!(&Pairs::new(expected.into_iter()).unwrap(), &pairs);
        let Pairs { left, right, .. } = pairs;
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
                for (&row, &score) in rows.iter().zip(&clusters.distances[bounds[0] as usize..]) {
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
    assert_eq!(0, index.rows().len());
}
