"""Sorted permutations: matches are exact, the recall is as expected, and a full beam misses nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.index.fingerprints import words_per_row
from nearkin.index.permutations import PermutationIndex


def drawn(seed: int, n: int, bits: int) -> Any:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2**64, (n, words_per_row(bits)), dtype=np.uint64)
    if bits % 64:
        rows[:, -1] &= np.uint64((1 << bits % 64) - 1)
    return rows[:, 0] if rows.shape[1] == 1 else rows


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(0, 60),
    bits=st.sampled_from([1, 7, 63, 64, 65, 128, 200]),
    radius=st.integers(0, 7),
    k=st.integers(1, 9),
)
def test_a_beam_over_everything_is_exact(seed: int, n: int, bits: int, radius: int, k: int) -> None:
    fps, queries = drawn(seed, n, bits), drawn(seed + 1, 5, bits)
    if n:
        queries[:3] = fps[:1]
    radius = min(radius, bits)
    exact, lists = nk.HammingIndex(bits=bits), PermutationIndex(fps, bits=bits, num_permutations=2, beam=200)
    exact.add(None, fps)
    for result, true in [
        (lists.search(queries, radius), exact.search(queries, radius)),
        (lists.nearest(queries, k), exact.nearest(queries, k)),
    ]:
        np.testing.assert_array_equal(result.offsets, true.offsets)
        np.testing.assert_array_equal(result.ids, true.ids)
        np.testing.assert_array_equal(result.distances, true.distances)
    found_pairs, true_pairs = lists.pairs(radius), exact.pairs(radius)
    np.testing.assert_array_equal(found_pairs.left, true_pairs.left)
    np.testing.assert_array_equal(found_pairs.right, true_pairs.right)
    np.testing.assert_array_equal(found_pairs.distances, true_pairs.distances)


@pytest.mark.parametrize(("num_permutations", "distance"), [(4, 3), (10, 6), (25, 12)])
def test_what_is_found_is_what_is_expected_at_least(num_permutations: int, distance: int) -> None:
    n, rng = 20_000, np.random.default_rng(distance)
    fps = drawn(1, n, 64)
    rows = rng.choice(n, 400, replace=False)
    flips = [sum(1 << int(bit) for bit in rng.choice(64, distance, replace=False)) for _ in rows]
    queries = fps[rows] ^ np.array(flips, np.uint64)
    index = PermutationIndex(fps, num_permutations=num_permutations, beam=50)
    hits = index.search(queries, distance)
    share = np.mean([row in hits.ids[hits.offsets[at] : hits.offsets[at + 1]] for at, row in enumerate(rows)])
    expected = index.expected_recall(distance)
    assert share >= expected - 3 * (expected * (1 - expected) / len(rows)) ** 0.5
    assert 0.02 < expected <= 1


def test_ids_are_those_that_were_given_and_calls_repeat() -> None:
    fps = drawn(3, 300, 64)
    names = [f"d{row:03}" for row in range(300)]
    result = [PermutationIndex(fps, names, seed=seed, beam=20, num_permutations=3) for seed in (1, 1, 2)]
    queries = [index.nearest(fps[:40] ^ np.uint64(0xFF0F), 5) for index in result]
    assert queries[0].ids.tolist() == queries[1].ids.tolist()
    assert queries[0].ids.tolist() != queries[2].ids.tolist()
    assert set(queries[0].ids) <= set(names)
    assert result[0].search(fps[:2], 0).ids.tolist() == names[:2]
    assert len(result[0]) == 300
    assert result[0].nbytes > 300 * (8 + 3 * 12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_permutations": 0}, "num_permutations"),
        ({"beam": 1}, "beam"),
        ({"seed": -1}, "seed"),
        ({"ids": ["a"]}, "one for each"),
        ({"ids": ["a", "a"]}, "occurs twice"),
        ({"bits": 3}, "at or above bits"),
        ({"bits": 0}, "bits"),
    ],
)
def test_bad_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        PermutationIndex(np.array([1, 9], np.uint64), **options)


def test_bad_questions_are_refused() -> None:
    index = PermutationIndex(np.array([1, 9], np.uint64))
    for call in (
        lambda: index.search([1], 65),
        lambda: index.nearest([1], 0),
        lambda: index.pairs(-1),
        lambda: index.expected_recall(65),
        lambda: index.search(np.zeros((1, 2), np.uint64), 1),
    ):
        with pytest.raises(ParameterError):
            call()
