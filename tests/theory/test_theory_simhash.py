"""nearkin.theory: collision probabilities compared with their formula, radii with their definition."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin import errors
from nearkin.theory import (
    codes_radius,
    codes_recall,
    expected_distance,
    simhash_difference,
    simhash_difference_of_sets,
    simhash_radius,
    simhash_recall,
)


@given(shared=st.integers(0, 300), alone=st.integers(1, 300))
def test_difference_is_the_angle_of_the_sets(shared: int, alone: int) -> None:
    """Two sets of equal size are 0/1 vectors: angle / pi follows from their Jaccard similarity."""
    angle = math.acos(shared / (shared + alone))
    assert angle / math.pi == pytest.approx(simhash_difference(shared / (shared + 2 * alone)), abs=1e-12)


def test_difference_falls_from_a_half_to_nothing() -> None:
    """The more similar, the fewer bits differ."""
    values = [simhash_difference(i / 100) for i in range(101)]
    assert (0.5, 0.0) == (values[0], values[-1])
    assert values == sorted(values, reverse=True)


@given(threshold=st.floats(0, 1), bits=st.integers(1, 300), recall=st.floats(0.01, 0.9999))
def test_radius_is_the_least_that_reaches_the_recall(threshold: float, bits: int, recall: float) -> None:
    """The binomial distribution of the distance is summed here from binomial coefficients."""
    p = simhash_difference(threshold)
    shares = [math.comb(bits, k) * p**k * (1 - p) ** (bits - k) for k in range(bits + 1)]
    reached = [math.fsum(shares[: k + 1]) for k in range(bits + 1)]
    radius = simhash_radius(threshold, bits, recall)
    assert 0 <= radius <= bits
    assert reached[radius] == pytest.approx(simhash_recall(threshold, bits, radius), abs=1e-9)
    assert reached[radius] >= recall - 1e-9
    assert radius == 0 or reached[radius - 1] < recall + 1e-9


def test_edges_of_radius_and_recall() -> None:
    """Certainty needs all bits, equal sets none; a radius out of range finds nothing or everything."""
    assert (64, 0, 0) == (simhash_radius(0.5, 64, 1.0), simhash_radius(1.0, 64, 1.0), simhash_radius(1.0, 64))
    assert (0.0, 1.0, 1.0) == tuple(codes_recall(0.3, 64, radius) for radius in (-1, 64, 99))
    assert (1.0, 0.0) == (codes_recall(1.0, 8, 8), codes_recall(1.0, 8, 7))
    assert (64, 0) == (codes_radius(1.0, 64, 0.5), codes_radius(0.0, 64, 0.5))


@pytest.mark.parametrize("recall", [0, -0.5, 1.1, math.nan, True, "0.9"])
def test_recalls_out_of_range_are_errors(recall: Any) -> None:
    """Recalls are above 0 and at most 1."""
    with pytest.raises(errors.ParameterError, match="probability"):
        simhash_radius(0.8, 128, recall)


@pytest.mark.parametrize("recall", [0.5, 0.9, 0.995])
def test_pairs_at_the_threshold_lie_within_the_radius_as_often_as_is_said(recall: float) -> None:
    """2,000 pairs of sets of 450 features with Jaccard 0.8, each with features of its own.

    The share within the radius is that of the exact law of these sets to 4.5 standard deviations, two-sided 7e-6.
    """
    shared, alone, pairs = 400, 50, 2000
    assert shared / (shared + 2 * alone) == pytest.approx(0.8)
    radius = simhash_radius(0.8, 128, recall)
    names = [[f"{pair} {i}" for i in range(shared + 2 * alone)] for pair in range(pairs)]
    left = nk.SimHash(128).fingerprint([subset[: shared + alone] for subset in names])
    right = nk.SimHash(128).fingerprint([subset[:shared] + subset[shared + alone :] for subset in names])
    result = float((np.asarray(nk.hamming(left, right)) <= radius).mean())
    expected = codes_recall(simhash_difference_of_sets(shared, alone, alone), 128, radius)
    assert abs(result - expected) < 4.5 * math.sqrt(expected * (1 - expected) / pairs) + 1e-3
    assert expected >= recall - 0.01


def test_texts_at_a_similarity_differ_in_the_bits_that_theory_says() -> None:
    """Sets of 500 equal features with Jaccard 0.8: the mean share of differing bits over 300 pairs of 128 bits.

    n = 38,400 trials. Hoeffding: P[|share - p| >= 0.015] <= 2 exp(-2 * 38400 * 0.015^2) = 6e-8. Sums of 500 equal
    weights tie with probability about 0.036, and a tie is 0 whatever the other side is: 0.012 is allowed for that.
    """
    shared, alone = 445, 55
    assert shared / (shared + 2 * alone) == pytest.approx(0.8, abs=0.002)
    distances = []
    for pair in range(300):
        names = [f"{pair} {i}" for i in range(shared + 2 * alone)]
        fps = nk.SimHash(128).fingerprint([names[: shared + alone], names[:shared] + names[shared + alone :]])
        distances.append(int(nk.hamming(fps[:1], fps[1:])[0]))
    expected = simhash_difference(shared / (shared + 2 * alone))
    assert abs(np.mean(distances) / 128 - expected) < 0.015 + 0.012


@pytest.mark.parametrize(("length", "edits", "ngram"), [(4, 1, 4), (20, 1, 4), (50, 5, 3), (100, 30, 4), (2000, 3, 5)])
def test_an_edited_text_moves_as_far_as_is_expected(length: int, edits: int, ngram: int) -> None:
    """2,000 random texts, each with characters replaced at random places.

    A mean of 2,000 distances of 64 bits is within 5 standard errors, two-sided 6e-7; 2% are for the mean count.
    """
    rng = np.random.default_rng(length)
    before = rng.integers(0x4E00, 0x9FA5, (2000, length), np.uint32)
    after, places = before.copy(), rng.random(before.shape).argsort(axis=1)[:, :edits]
    np.put_along_axis(after, places, rng.integers(0x3400, 0x4DB5, places.shape, np.uint32), axis=1)
    recipe = f"char:{ngram}|count|xxh3|simhash:64"
    texts = ([row.tobytes().decode("utf-32-le") for row in rows] for rows in (before, after))
    distances = nk.hamming(*(nk.fingerprint(each, recipe) for each in texts))
    expected = expected_distance(length, edits, ngram=ngram)
    assert abs(distances.mean() - expected) < 5 * distances.std() / math.sqrt(2000) + 0.02 * expected


def test_expected_distances_have_their_edges() -> None:
    """No edit moves nothing, edits everywhere half of the bits; the number of bits is a factor."""
    assert (0.0, 0.0) == (expected_distance(100, 0), expected_distance(4, 0))
    assert expected_distance(500, 500) == pytest.approx(32, abs=0.1)
    assert expected_distance(50, 2, 128) == 2 * expected_distance(50, 2)
    for wrong in ({"length": 3}, {"edits": 51}, {"edits": -1}, {"bits": 0}, {"ngram": 0}):
        with pytest.raises(errors.ParameterError, match=next(iter(wrong))):
            expected_distance(**{"length": 50, "edits": 1, **wrong})


@pytest.mark.parametrize("similarity", [-0.1, 1.1, math.nan, math.inf])
def test_similarities_out_of_range_are_errors(similarity: float) -> None:
    """Similarities are between 0 and 1."""
    with pytest.raises(errors.ParameterError, match="a Jaccard similarity from 0 to 1"):
        simhash_difference(similarity)


@given(shared=st.integers(0, 4), left=st.integers(0, 3), right=st.integers(0, 3))
@settings(deadline=None)
def test_differences_of_small_sets_equal_enumeration(shared: int, left: int, right: int) -> None:
    """The test enumerates all signs of the features of two small sets; a sum of 0 is a bit of 0."""
    if not shared + left or not shared + right:
        return
    differ = 0
    for signs in itertools.product((-1, 1), repeat=shared + left + right):
        both = sum(signs[:shared])
        first, two = both + sum(signs[shared : shared + left]), both + sum(signs[shared + left :])
        differ += (first > 0) != (two > 0)
    expected = differ / 2 ** (shared + left + right)
    assert expected == pytest.approx(simhash_difference_of_sets(shared, left, right), abs=1e-12)


def test_differences_of_large_sets_tend_to_the_angle() -> None:
    """With more features it approaches arccos(2J / (1 + J)) / pi; unequal sizes are below."""
    for similarity, shared, alone in ((0.8, 8, 1), (0.5, 2, 1)):
        gaps = [
            abs(simhash_difference_of_sets(shared * n, alone * n, alone * n) - simhash_difference(similarity))
            for n in (10, 100, 1000)
        ]
        assert gaps == sorted(gaps, reverse=True)
        assert gaps[-1] < 1e-3
    assert simhash_difference_of_sets(8000, 2000, 0) < simhash_difference(0.8)


def test_short_texts_differ_as_the_exact_probability_says() -> None:
    """400 pairs of sets of 4 and 5 features, 256 bits each: the mean share of differing bits.

    n = 102,400 trials of independent bits. Hoeffding: P[|share - p| >= 0.01] <= 2 exp(-2 * 102400 * 0.01^2) = 3e-9. The
    law of the angle would say 0.1515, or 0.1476 for these sizes; 0.1875 is far from it.
    """
    expected = simhash_difference_of_sets(4, 0, 1)
    assert 0.1875 == pytest.approx(expected)
    names = [[f"{pair} {i}" for i in range(5)] for pair in range(400)]
    fps = nk.SimHash(256).fingerprint([[*row] for row in names] + [row[:4] for row in names])
    assert abs(float(np.mean(nk.hamming(fps[:400], fps[400:]))) / 256 - expected) < 0.01


@pytest.mark.parametrize("sizes", [(-1, 1, 1), (0, 0, 1), (0, 1, 0), (2, -1, 0)])
def test_sets_without_features_are_errors(sizes: tuple[int, int, int]) -> None:
    """Each set has at least one feature."""
    with pytest.raises(errors.ParameterError, match="at least one feature"):
        simhash_difference_of_sets(*sizes)
