"""nearkin.vectors.sampling: samples without repetition, reproducible for a seed, and fair."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from nearkin.vectors.arrays import as_rows
from nearkin.vectors.sampling import neighbour_distances, random_subsets, sample_positions, sample_rows

SEEDS = st.integers(0, 2**64 - 1)


@given(total=st.integers(0, 50), count=st.integers(0, 60), seed=SEEDS, stream=st.integers(0, 99))
def test_places_ascend_without_repetition(total: int, count: int, seed: int, stream: int) -> None:
    """The sample has the requested size if possible, and the same seed and stream give it again."""
    result = sample_positions(total, count, seed, stream).tolist()
    assert min(total, count) == len(result)
    assert sorted(set(result)) == result
    assert set(result) <= set(range(total))
    assert result == sample_positions(total, count, seed, stream).tolist()


def test_every_place_is_as_likely_as_the_others() -> None:
    """3 of 10 positions for 2,000 seeds: each is chosen Binomial(2000, 0.3) times, 600 ± 20.5.

    The bound of 123 is 6 standard deviations: by the normal tail below 2e-9 for one place, 2e-8 for the ten.
    """
    taken = np.bincount(np.concatenate([sample_positions(10, 3, seed, 1) for seed in range(2_000)]), minlength=10)
    assert 6_000 == taken.sum()
    assert (np.abs(taken - 600) < 123).all()


def test_seeds_and_streams_draw_other_places() -> None:
    """Two samples of 20 of 1,000 agree with probability below 1e-40."""
    assert sample_positions(1_000, 20, 1, 1).tolist() != sample_positions(1_000, 20, 2, 1).tolist()
    assert sample_positions(1_000, 20, 1, 1).tolist() != sample_positions(1_000, 20, 1, 2).tolist()


@given(total=st.integers(1, 30), size=st.integers(0, 30), count=st.integers(0, 5), seed=SEEDS)
def test_subsets_are_sets_of_their_size(total: int, size: int, count: int, seed: int) -> None:
    """Each is drawn without repetition from the numbers below the total."""
    result = random_subsets(total, size, count, seed, 3)
    assert (count, min(size, total)) == result.shape
    for row in result.tolist():
        assert (len(row), True) == (len(set(row)), set(row) <= set(range(total)))


@given(n=st.integers(1, 20), count=st.integers(1, 25), seed=SEEDS, sparse=st.booleans())
def test_samples_are_rows_in_their_order(n: int, count: int, seed: int, sparse: bool) -> None:
    """Samples are dense float64 for any input."""
    array = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
    result = sample_rows(as_rows(csr_array(array) if sparse else array), count, seed, 4)
    assert ("float64", True) == (str(result.dtype), result.flags.c_contiguous)
    assert array[sample_positions(n, count, seed, 4)].tolist() == result.tolist()


@settings(deadline=None)
@given(
    values=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=12),
    rank=st.integers(1, 5),
    queries=st.integers(0, 15),
    metric=st.sampled_from(["l1", "l2"]),
)
def test_neighbour_distances_are_those_of_brute_force(
    values: list[tuple[int, int]], rank: int, queries: int, metric: str
) -> None:
    """The rank-th smallest distance above zero, or the largest if there are fewer; rows without one are omitted."""
    expected = []
    for x, y in values[:queries]:
        apart = [(abs(x - a), abs(y - b)) for a, b in values if (a, b) != (x, y)]
        distances = sorted(float(dx + dy) if metric == "l1" else (dx * dx + dy * dy) ** 0.5 for dx, dy in apart)
        expected += distances[min(rank, len(distances)) - 1 :][:1] if distances else []
    result = neighbour_distances(np.array(values, np.float64), metric, rank, queries)
    np.testing.assert_allclose(result, expected, rtol=1e-15)
