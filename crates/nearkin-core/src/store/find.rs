//! Interpolation search in ascending keys.
//!
//! If keys are uniformly distributed between 0 and 2^64, key x of n has a position near n x / 2^64, at a distance of
//! about √n. Each probe tightens the interval for the next interpolation, and the distance shrinks to about its root:
//! log log n probes. After `GUESSES` probes the search bisects, so that no distribution takes more than `GUESSES` + 64
//! probes.

use std::ops::Range;

use crate::Result;

/// Number of interpolation probes before bisection; ten million uniform keys take six.
const GUESSES: usize = 12;

/// Return the first position of `positions` whose key is not below `target`, or the end. Keys are within `keys`; `probe`
/// returns for a position whether its key is below the target, and the key (the highest word of longer keys). If keys
/// do not ascend, any position may be returned.
///
/// # Errors
/// Errors of `probe`.
pub(super) fn lower_bound(
    positions: Range<usize>,
    keys: (u64, u64),
    target: u64,
    mut probe: impl FnMut(usize) -> Result<(bool, u64)>,
) -> Result<usize> {
    let Range { start: mut low, end: mut high } = positions;
    let (mut low_key, mut high_key) = keys;
    for guesses in 0.. {
        if low >= high {
            break;
        }
        let half = low + (high - low) / 2;
        let middle = if guesses < GUESSES && low_key <= target && target <= high_key {
            let share = u128::from(target - low_key) * (high - low) as u128 / (u128::from(high_key - low_key) + 1);
            (low + share as usize).min(high - 1)
        } else {
            half
        };
        let (below, key) = probe(middle)?;
        if below {
            (low, low_key) = (middle + 1, key);
        } else {
            (high, high_key) = (middle, key);
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bound(keys: &[u64], target: u64) -> (usize, usize) {
        let mut probes = 0;
        let found = lower_bound(0..keys.len(), (0, u64::MAX), target, |position| {
            probes += 1;
            Ok((keys[position] < target, keys[position]))
        });
        (found.expect("no probe fails"), probes)
    }

    proptest! {
        #[test]
        fn it_is_the_partition_point(
            mut keys in prop::collection::vec(prop_oneof![any::<u64>(), 0..5_u64, (u64::MAX - 5)..=u64::MAX], 0..200),
            targets in prop::collection::vec(prop_oneof![any::<u64>(), 0..5_u64, (u64::MAX - 5)..=u64::MAX], 1..20),
        ) {
            keys.sort_unstable();
            for target in targets.into_iter().chain(keys.clone()) {
                prop_assert_eq!(keys.partition_point(|&key| key < target), bound(&keys, target).0);
            }
        }

        #[test]
        fn keys_in_disorder_end_too(keys in prop::collection::vec(any::<u64>(), 0..200), target: u64) {
            let (found, probes) = bound(&keys, target);
            prop_assert!(found <= keys.len() && probes <= GUESSES + 64);
        }
    }

    #[test]
    fn evenly_spread_keys_take_few_probes() {
        let mut state = 1_u64;
        let mut keys: Vec<u64> = (0..1_000_000)
            .map(|_| {
                // splitmix64
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            })
            .collect();
        keys.sort_unstable();
        let probes: usize = keys.iter().step_by(1000).map(|&key| bound(&keys, key).1).sum();
        // Bisection takes 20.
        assert!(probes < 9 * 1000, "{probes}");
    }
}
