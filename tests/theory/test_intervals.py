"""nearkin.theory.intervals: the bootstrap over clusters equals a plain implementation; few clusters give wide
intervals.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin.theory.intervals import NUM_RESAMPLES, RecallIntervals, wilson

PAIRS = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14), st.integers(0, 9)), max_size=25)


def intervals_of(
    left: list[int], right: list[int], seed: int = 0, weight: list[float] | None = None
) -> RecallIntervals:
    weights = None if weight is None else np.array(weight, np.float64)
    return RecallIntervals(np.array(left, np.int64), np.array(right, np.int64), seed, weights)


def clusters_of(pairs: list[tuple[int, int]]) -> list[int]:
    """Return the smallest document of the component of each pair, by repeated relabelling."""
    label = {document: document for pair in pairs for document in pair}
    changed = True
    while changed:
        changed = False
        for a, b in pairs:
            least = min(label[a], label[b])
            changed |= (label[a], label[b]) != (least, least)
            label[a] = label[b] = least
    return [label[a] for a, _ in pairs]


def plain(
    pairs: list[tuple[int, int]], hits: list[bool], seed: int, weight: list[float] | None = None
) -> tuple[float, float]:
    """Return the interval by its definition; without weights each pair counts 1, and each cluster is one case."""
    sums: dict[int, float] = defaultdict(float)
    right: dict[int, float] = defaultdict(float)
    weights = [1.0] * len(pairs) if weight is None else weight
    for cluster, hit, number in zip(clusters_of(pairs), hits, weights, strict=True):
        sums[cluster] += number
        right[cluster] += number * hit
    if not sums:
        return 0.0, 1.0
    count: float = len(sums)
    if weight is not None:
        count = sum(sums.values()) ** 2 / sum(number**2 for number in sums.values())
    low, high = wilson(min(sum(right.values()) / sum(sums.values()), 1.0) * count, count)
    shares = []
    for draw in np.random.default_rng(seed).poisson(1.0, (NUM_RESAMPLES, len(sums))).tolist():
        total = sum(times * sums[name] for times, name in zip(draw, sorted(sums), strict=True))
        found = sum(times * right[name] for times, name in zip(draw, sorted(sums), strict=True))
        if total:
            shares.append(found / total)
    if shares:
        least, most = np.quantile(shares, [0.025, 0.975])
        low, high = min(low, least), max(high, most)
    return low, high


@given(PAIRS, st.integers(0, 50))
@settings(deadline=None)
def test_intervals_equal_a_plain_bootstrap_over_clusters(rows: list[tuple[int, int, int]], seed: int) -> None:
    """Both for a list of hits and for each radius."""
    pairs = [(a, b) for a, b, _ in rows]
    made = intervals_of([a for a, _ in pairs], [b for _, b in pairs], seed)
    assert len(set(clusters_of(pairs))) == made.num_clusters
    distances = np.array([distance for _, _, distance in rows], np.int64)
    low, high = made.by_radius(distances, 7)
    for radius in range(8):
        hits = [distance <= radius for distance in distances.tolist()]
        expected = plain(pairs, hits, seed)
        assert expected == pytest.approx((low[radius], high[radius]))
        assert expected == pytest.approx(made.of_hits(np.array(hits, bool)))


@given(PAIRS, st.lists(st.floats(0.5, 50), min_size=25, max_size=25), st.integers(0, 50))
@settings(deadline=None)
def test_weights_count_pairs_and_clusters(rows: list[tuple[int, int, int]], weights: list[float], seed: int) -> None:
    """Proportions are those of the weights, and the n of Wilson's interval is the effective number of clusters."""
    pairs, weight = [(a, b) for a, b, _ in rows], weights[: len(rows)]
    made = intervals_of([a for a, _ in pairs], [b for _, b in pairs], seed, weight)
    distances = np.array([distance for _, _, distance in rows], np.int64)
    low, high = made.by_radius(distances, 7)
    for radius in range(8):
        hits = [distance <= radius for distance in distances.tolist()]
        expected = plain(pairs, hits, seed, weight)
        assert expected == pytest.approx((low[radius], high[radius]), abs=1e-6)
        assert expected == pytest.approx(made.of_hits(np.array(hits, bool)), abs=1e-6)


def test_pairs_of_one_cluster_are_less_certain_than_independent_ones() -> None:
    """With the same counts, pairs around two hubs, one of them found, have a wide interval."""
    count = 200
    hits = np.arange(count) < count // 2
    apart = intervals_of(list(range(count)), list(range(count, 2 * count))).of_hits(hits)
    assert wilson(100, 200) == pytest.approx(apart, abs=0.06)
    hubs = intervals_of([0] * (count // 2) + [1] * (count // 2), list(range(2, count + 2))).of_hits(hits)
    assert (0.0, 1.0) == hubs
    assert (0.0, 1.0) == intervals_of([], []).of_hits(np.zeros(0, bool))


def test_one_cluster_is_one_case() -> None:
    """A thousand pairs of one cluster count as one case."""
    low, high = intervals_of([0] * 1000, list(range(1, 1001))).of_hits(np.ones(1000, bool))
    assert (wilson(1, 1)[0], 1.0) == (low, high)


def test_the_interval_covers_the_recall_of_clusters() -> None:
    """200 trials of 60 clusters, each found with probability 0.9: at least 180 of the intervals contain 0.9.

    If an interval covered it with probability 0.95, fewer than 180 of 200 would have probability 1.6e-3; seeds are
    fixed.
    """
    rng = np.random.default_rng(1)
    held = 0
    for trial in range(200):
        sizes = rng.integers(1, 8, 60)
        starts = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
        left = np.repeat(starts, sizes)
        right = left + 1 + np.concatenate([np.arange(size) for size in sizes])
        low, high = RecallIntervals(left, right, trial).of_hits(np.repeat(rng.random(60) < 0.9, sizes))
        held += low <= 0.9 <= high
    assert held >= 180
