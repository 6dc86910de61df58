"""Containment by sketches: the law compared with exact fractions, and its consequences."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin.errors import ParameterError
from nearkin.theory import containment_min_shared, containment_overlap, containment_recall, containment_size

THRESHOLDS = (0.05, 0.3, 0.5, 0.8, 0.9, 1.0)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("features", [1, 2, 5, 31, 32, 33, 40, 100, 999, 20_000])
def test_the_recall_is_hypergeometric(threshold: float, features: int) -> None:
    """Exact fractions agree for sketches smaller and larger than the set."""
    shared = containment_overlap(threshold, features)
    for size in (1, 8, 32, 300):
        drawn = min(features, size)
        ways = [math.comb(shared, x) * math.comb(features - shared, drawn - x) for x in range(drawn + 1)]
        for minimum in range(0, size + 2, max(1, size // 16)):
            expected = float(Fraction(sum(ways[minimum:]), math.comb(features, drawn)))
            assert expected == pytest.approx(containment_recall(threshold, features, size, minimum), abs=1e-9)


@given(threshold=st.floats(0.001, 1), features=st.integers(1, 10**7))
def test_the_least_shared_number_is_what_verification_takes(threshold: float, features: int) -> None:
    """Its quotient reaches the threshold, and that of one less does not."""
    shared = containment_overlap(threshold, features)
    assert shared / features >= threshold
    assert shared == 1 or (shared - 1) / features < threshold


@settings(deadline=None)
@given(threshold=st.floats(0.05, 1), recall=st.floats(0.5, 0.999), features=st.integers(1, 3000))
def test_the_least_number_of_hashes_is_the_largest_with_the_recall(
    threshold: float, recall: float, features: int
) -> None:
    """One more hash would be too many, and a complete set needs everything that it must share."""
    size = containment_size(threshold, recall)
    minimum = int(containment_min_shared(threshold, [features], size, recall)[0])
    assert containment_recall(threshold, features, size, minimum) >= recall - 1e-9
    assert containment_recall(threshold, features, size, minimum + 1) < recall
    if features <= size:
        assert containment_overlap(threshold, features) == minimum


def test_sizes_in_arrays_are_sizes_alone() -> None:
    """Arrays of any shape and order work, including empty sets."""
    features = np.array([[1000, 0, 7], [33, 1000, 10**9]])
    result = containment_min_shared(0.8, features, 32, 0.95)
    assert features.shape == result.shape
    assert result.dtype == np.uint16
    alone = [int(containment_min_shared(0.8, [n], 32, 0.95)[0]) for n in features.ravel().tolist()]
    assert alone == result.ravel().tolist()


def test_sketches_grow_where_thresholds_are_low() -> None:
    """A pair at the threshold must share three hashes with the required recall."""
    for threshold in (0.02, 0.1, 0.3, 0.8, 1.0):
        size = containment_size(threshold, 0.95)
        assert containment_min_shared(threshold, [1 << 40], size, 0.95)[0] >= 3
        assert size == 32 or containment_min_shared(threshold, [1 << 40], size // 2, 0.95)[0] < 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: containment_size(0.8, 1.0), "recall=1.0"),
        (lambda: containment_size(0.8, 0), "recall=0"),
        (lambda: containment_size(0, 0.95), "threshold=0"),
        (lambda: containment_size(1e-5, 0.95), "threshold=1e-05"),
        (lambda: containment_min_shared("x", [1], 32, 0.95), "threshold='x'"),  # type: ignore[arg-type]
        (lambda: containment_min_shared(0.8, [-1], 32, 0.95), "features=-1"),
        (lambda: containment_min_shared(0.8, [1], 0, 0.95), "size=0"),
        (lambda: containment_recall(0.8, 0, 32, 1), "features=0"),
        (lambda: containment_recall(0.8, 10, 32, -1), "min_shared=-1"),
        (lambda: containment_overlap(2.0, 10), "threshold=2.0"),
    ],
)
def test_values_out_of_range_are_refused(call: Any, message: str) -> None:
    """The error shows the value and what is allowed."""
    with pytest.raises(ParameterError, match=message):
        call()
