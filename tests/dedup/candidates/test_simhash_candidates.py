"""nearkin.dedup.candidates.simhash: all methods, compared with all pairs of fingerprints."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import strategies
from definitions import check_search
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.errors import ParameterError
from nearkin.theory import simhash_radius
from reference import distance


def source(bits: int, radius: int) -> SimHashCandidates:
    return SimHashCandidates(nk.Recipe(f"char:4|binary|xxh3|simhash:{bits}"), 0.8, radius)


def make_fingerprints(bits: int, seed: int, rows: int = 40) -> Any:
    """Return values of a source: (n, words), many near each other, some equal."""
    rng = np.random.default_rng(seed)
    base = strategies.random_fingerprints(rng, bits, 4)
    return strategies.random_fingerprints(rng, bits, rows, near=base).reshape(rows, -1)


@settings(max_examples=30, deadline=None)
@given(bits=st.sampled_from([5, 64, 100, 128, 192]), radius=st.sampled_from([0, 3, 7]), seed=st.integers(0, 99))
def test_candidates_are_all_fingerprints_within_the_radius(bits: int, radius: int, seed: int) -> None:
    """They are found, paired and absorbed within a batch, at any width."""
    values = make_fingerprints(bits, seed)
    radius = min(radius, bits)
    check_search(source(bits, radius), values, lambda i, j: distance(values[i], values[j]) <= radius)


@pytest.mark.parametrize("bits", [64, 128])
def test_distances_are_of_rows_and_similarities_are_unknown(bits: int) -> None:
    """Hamming distances of rows; similarities are NaN, because a distance is no similarity of texts."""
    values, family = make_fingerprints(bits, 3), source(bits, 3)
    expected = [distance(a, b) for a, b in zip(values, values[::-1], strict=True)]
    assert expected == family.distances(values, values[::-1]).tolist()
    assert [] == family.distances(values[:0], values[:0]).tolist()
    assert np.isnan(family.similarities(values, values)).all()
    assert len(values) == len(family.similarities(values, values))


def test_texts_become_rows_of_words_with_their_counts() -> None:
    """Values are those of `nearkin.fingerprint`; the summary has the radius for the threshold."""
    recipe = nk.Recipe("word:1|count|xxh3|simhash:128")
    family = SimHashCandidates(recipe, 0.8, None)
    values, counts = family.hash(["red wine", None, "..."])
    assert nk.fingerprint(["red wine", None, "..."], recipe).tolist() == values.tolist()
    assert [2, 0, 0] == counts.tolist()
    # The law of Jaccard similarity does not hold for counts.
    assert {"radius": simhash_radius(0.8, 128), "expected_recall": None} == family.summary()


@pytest.mark.parametrize("recall", [None, 0.5, 0.95])
def test_the_radius_follows_from_the_recall(recall: float | None) -> None:
    """It is the smallest one with this recall; an explicit radius has the recall of the law."""
    family = SimHashCandidates(nk.Recipe(), 0.7, None, recall)
    required = 0.995 if recall is None else recall
    assert simhash_radius(0.7, 128, required) == family.radius
    assert family.recall is not None
    assert family.recall >= required
    assert family.recall == SimHashCandidates(nk.Recipe(), 0.7, family.radius).recall


@pytest.mark.parametrize("radius", [-1, 65, 1.5, True, "3"])
def test_radii_out_of_range_are_errors(radius: Any) -> None:
    """0 to the width, inclusive."""
    with pytest.raises(ParameterError, match="0 to bits=64"):
        source(64, radius)
    assert (0, 64) == (source(64, 0).radius, source(64, 64).radius)


def test_a_quadratic_search_of_many_documents_is_announced() -> None:
    """The warning has the time, before the search; tables serve a small radius, and few documents are no problem."""
    recipe = nk.Recipe()
    with pytest.warns(RuntimeWarning, match=r"1,000,000 documents .* minutes on .* threads.*minhash"):
        SimHashCandidates(recipe, 0.8).calibrate([], 10**6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SimHashCandidates(recipe, 0.8).calibrate([], 500_000)
        SimHashCandidates(recipe, 0.8, radius=3).calibrate([], 10**6)
