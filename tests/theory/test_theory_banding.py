"""Bands of signatures and the variance of MinHash: definitions, integration and enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from nearkin import errors, theory
from nearkin.theory.banding import Scheme, _occupied_bins


@given(s=st.floats(0, 1), bands=st.integers(1, 60), rows=st.integers(1, 20))
def test_bands_lead_to_a_pair_by_and_then_or(s: float, bands: int, rows: int) -> None:
    """1 − (1 − s^r)^b holds even for tiny probabilities."""
    result = theory.banding_probability(s, bands, rows)
    assert result == pytest.approx(1 - (1 - s**rows) ** bands, abs=1e-12)
    assert result >= s**rows * (1 - 1e-12)


@given(threshold=st.floats(0.01, 1), num_bits=st.integers(1, 300), missed=st.floats(0, 0.5))
def test_the_least_number_of_equal_bits_is_missed_as_rarely_as_allowed(
    threshold: float, num_bits: int, missed: float
) -> None:
    """It is the largest such number by the binomial distribution; a pair above the threshold is missed more rarely."""
    least, lost = theory.min_equal_bits(threshold, num_bits, missed)
    assert lost == pytest.approx(binom.cdf(least - 1, num_bits, (1 + threshold) / 2), abs=1e-12)
    assert lost <= missed
    if (1 + threshold) / 2 < 1:
        assert binom.cdf(least, num_bits, (1 + threshold) / 2) > missed - 1e-12
    assert binom.cdf(least - 1, num_bits, 1 - (1 - threshold) / 4) <= lost + 1e-12


@pytest.mark.parametrize(("threshold", "recall", "num_perm"), [(0.5, 0.9, 128), (0.8, 0.95, 64), (0.3, 0.5, 32)])
def test_the_chosen_bands_waste_the_least_of_all_that_reach_the_recall(
    threshold: float, recall: float, num_perm: int
) -> None:
    """All bandings that fit are compared; waste is the mean below the threshold over 20,000 midpoints."""
    chosen = theory.choose_bands(threshold, recall, num_perm)
    at = (np.arange(20_000) + 0.5) / 20_000 * threshold

    def waste(bands: int, rows: int) -> float:
        return float((1 - (1 - at**rows) ** bands).mean())

    assert chosen.waste == pytest.approx(waste(chosen.num_bands, chosen.num_rows), abs=1e-4)
    assert chosen.num_bands * chosen.num_rows <= num_perm
    for rows in range(1, num_perm + 1):
        fewest = next(
            (b for b in range(1, num_perm // rows + 1) if theory.banding_probability(threshold, b, rows) >= recall),
            None,
        )
        assert fewest is None or waste(fewest, rows) >= chosen.waste - 1e-4


@pytest.mark.parametrize(("threshold", "recall", "num_perm"), [(0.5, 0.9, 20), (0.8, 0.95, 30), (1.0, 0.5, 8)])
def test_what_the_recall_exceeds_the_wanted_one_by_is_spent_on_least(
    threshold: float, recall: float, num_perm: int
) -> None:
    """A pair at the threshold agrees in fewer than `least` values with at most the surplus, by the binomial sum; one
    more would be too much.
    """
    chosen = theory.choose_bands(threshold, recall, num_perm)
    reached = theory.banding_probability(threshold, chosen.num_bands, chosen.num_rows)

    def below(minimum: int) -> float:
        return sum(
            math.comb(num_perm, equal) * threshold**equal * (1 - threshold) ** (num_perm - equal)
            for equal in range(minimum)
        )

    assert below(chosen.min_matches) <= reached - recall + 1e-12
    assert chosen.min_matches == num_perm or below(chosen.min_matches + 1) > reached - recall - 1e-12
    assert chosen.recall == pytest.approx(reached - below(chosen.min_matches), abs=1e-12)


@pytest.mark.parametrize(("balls", "bins"), [(1, 3), (3, 2), (4, 4), (6, 3)])
def test_occupied_bins_are_those_of_enumeration(balls: int, bins: int) -> None:
    """The test enumerates all ways to throw the balls."""
    counts = [0] * (bins + 1)
    for thrown in itertools.product(range(bins), repeat=balls):
        counts[len(set(thrown))] += 1
    expected = [float(Fraction(count, bins**balls)) for count in counts]
    assert np.allclose(expected, _occupied_bins(balls, bins))


def test_variance_of_one_value_is_that_of_a_coin_in_every_scheme() -> None:
    """It is J (1 - J) for one value; one feature has none, and large sets approach independent values."""
    schemes: tuple[Scheme, ...] = ("classic", "one", "fast")
    for scheme in schemes:
        assert theory.minhash_variance(0.3, 1, scheme=scheme, union=50) == pytest.approx(0.21)
    assert 0.0 == theory.minhash_variance(1.0, 64) == theory.minhash_variance(0.0, 64)
    assert 0.0 == theory.minhash_variance(0.5, 64, scheme="fast", union=1)
    for scheme in schemes[1:]:
        large = theory.minhash_variance(0.5, 64, scheme=scheme, union=1_000_000)
        assert large == pytest.approx(0.25 / 64, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: theory.minhash_variance(1.1, 64), "similarity"),
        (lambda: theory.minhash_variance(0.5, 0), "num_perm"),
        (lambda: theory.minhash_variance(0.5, 64, scheme="two"), "scheme"),  # type: ignore[arg-type]
        (lambda: theory.minhash_variance(0.5, 64, scheme="one"), "union"),
        (lambda: theory.minhash_variance(0.5, 64, scheme="fast", union=0), "union"),
        (lambda: theory.banding_probability(-0.1, 3, 3), "similarity"),
        (lambda: theory.banding_probability(0.5, 0, 3), "num_bands"),
        (lambda: theory.banding_probability(0.5, 3, 1.5), "num_rows"),  # type: ignore[arg-type]
        (lambda: theory.min_equal_bits(0.0, 64, 0.1), "threshold"),
        (lambda: theory.min_equal_bits(0.5, 0, 0.1), "num_bits"),
        (lambda: theory.min_equal_bits(0.5, 64, 1.0), "missed"),
        (lambda: theory.choose_bands(0.0, 0.9, 64), "threshold"),
        (lambda: theory.choose_bands(True, 0.9, 64), "threshold"),
        (lambda: theory.choose_bands(0.5, 1.0, 64), "recall"),
        (lambda: theory.choose_bands(0.5, "most", 64), "recall"),  # type: ignore[arg-type]
        (lambda: theory.choose_bands(0.5, 0.9, 0), "num_perm"),
        (lambda: theory.choose_bands(0.1, 0.99, 16), "num_perm"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(call: Callable[[], object], name: str) -> None:
    with pytest.raises(errors.ParameterError, match="is not allowed; use") as error:
        call()
    assert name == error.value.name
