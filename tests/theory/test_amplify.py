"""Amplification, u-functions, sensitivity and the choice of parameters, against printed values and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin import errors, theory
from nearkin.families import PStable
from nearkin.theory.choice import _one_side


def test_u_functions_have_the_printed_sizes() -> None:
    """W = 4, recall 0.9: tables, halves, tables and functions of both schemes."""
    p = float(theory.pstable(1.0, width=4.0))
    printed = {10: (21, 11, 55, 55), 14: (51, 17, 136, 119), 18: (126, 28, 378, 252), 20: (196, 35, 595, 350)}
    for k, (tables, halves, pairs, functions) in printed.items():
        assert tables == theory.tables_needed(p, k, 0.9)
        m = theory.u_functions_needed(p, k, 0.9)
        assert (halves, pairs, functions) == (m, m * (m - 1) // 2, m * k // 2)


def test_u_functions_lay_out_pairs_of_halves() -> None:
    """M (m - 1) / 2 tables are all pairs; each key is two whole halves."""
    family = PStable(width=1.0, u_functions=True)
    layout = family.hash_layout(10, 6)
    assert ((10, 6), 5 * 3) == (layout.shape, layout.max() + 1)
    pairs = {(int(row[0]) // 3, int(row[3]) // 3) for row in layout}
    assert {(i, j) for j in range(5) for i in range(j)} == pairs
    assert np.array_equal(layout[:, :3] % 3, np.tile(np.arange(3), (10, 1)))
    with pytest.raises(errors.ParameterError, match="an even number"):
        family.hash_layout(3, 5)


@given(p=st.floats(0, 1), k=st.integers(1, 40), tables=st.integers(1, 500))
def test_amplification_is_and_then_or(p: float, k: int, tables: int) -> None:
    """1 − (1 − p^k)^L, also where it is tiny."""
    found = float(theory.amplify(p, k, tables))
    assert found == pytest.approx(1 - (1 - p**k) ** tables, abs=1e-12)


@given(p=st.floats(0.05, 0.99), k=st.integers(1, 12), recall=st.floats(0.01, 0.99))
def test_tables_are_the_fewest(p: float, k: int, recall: float) -> None:
    """One table fewer would miss the recall."""
    tables = theory.tables_needed(p, k, recall)
    assert float(theory.amplify(p, k, tables)) >= recall - 1e-9
    assert tables == 1 or float(theory.amplify(p, k, tables - 1)) < recall


def test_expected_scores_are_those_of_sorted_distances() -> None:
    """The closed form against 20,000 draws of M = 6 uniform places: 12 sorted distances to edges, squared.

    Each square lies in [0, 1]; by Hoeffding a mean of 20,000 is within 0.0275 but for 2 exp(-2 · 20000 · 0.0275²) <
    2e-13.
    """
    rng = np.random.default_rng(41)
    below = rng.random((20_000, 6))
    edges = np.sort(np.concatenate([below, 1 - below], axis=1), axis=1) ** 2
    assert np.abs(edges.mean(axis=0) - theory.probe_scores(6)).max() < 0.0275


def test_next_cell_is_the_share_of_neighbours_in_it() -> None:
    """100,000 independent functions, one pair: five standard errors (6e-7)."""
    rng = np.random.default_rng(42)
    place, step = rng.random(100_000), rng.standard_normal(100_000) * 0.4
    nearer = np.where(place < 0.5, -1, 1)
    found = (np.floor(place + step) == nearer).mean()
    expected = float(theory.next_cell(0.4, width=1.0))
    assert abs(found - expected) < 5 * math.sqrt(expected * (1 - expected) / 100_000)


def test_balls_cut_more_regions_than_planes() -> None:
    """Circles: n² − n + 2; with d + 1 objects balls cut one region more than planes."""
    assert [n * n - n + 2 for n in range(1, 9)] == [theory.ball_regions(n, 2) for n in range(1, 9)]
    assert [1 + n + n * (n - 1) // 2 for n in range(1, 9)] == [theory.plane_regions(n, 2) for n in range(1, 9)]
    for d in (1, 3, 10):
        assert theory.ball_regions(d + 1, d) == theory.plane_regions(d + 1, d) + 1 == 2 ** (d + 1)


def test_slaney_has_the_printed_example() -> None:
    """N = 100,000, r = 1, p_nn .768, p_any .586 at the width: k = 22 (of 21.54), and about 100 tables.

    Distances that have these probabilities at width 1 stand for the histograms; the optimum over widths is another one.
    """
    near = _distance(0.768)
    k = math.log(100_000) / -math.log(0.586)
    assert (22, 21.54) == (round(k), pytest.approx(k, abs=0.01))  # type: ignore[comparison-overlap]
    side = float(_one_side(np.array([near]), 1.0)[0])
    tables = 1 / (22 * 0.768**21 * side)
    assert tables == pytest.approx(100, rel=0.03)


def _distance(p: float) -> float:
    """The distance at which width 1 collides with probability p."""
    low, high = 0.01, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(theory.pstable(middle)) > p else (low, middle)
    return low


@pytest.mark.parametrize("changes", [0, 1])
def test_slaneys_probabilities_are_met(changes: int) -> None:
    """p_near and p_any of the chosen width, measured with independent functions on planted distances (five errors)."""
    found = theory.slaney(np.full(5, 1.0), np.full(5, 5.0), 100_000, changes=changes)
    vectors = np.zeros((3, 8))
    vectors[1, 0], vectors[2, 0] = 1.0, 5.0
    keys = PStable(width=found.width, hashes=60_000, seed=43).fit(vectors).transform(vectors)
    for row, p in ((1, found.p_near), (2, found.p_any)):
        assert abs((keys[0] == keys[row]).mean() - p) < 5 * math.sqrt(p * (1 - p) / 60_000)


@pytest.mark.parametrize("distance", ["l2", "l1", "cosine"])
def test_chosen_parameters_reach_the_recall(distance: str) -> None:
    """Tables with the chosen parameters find planted neighbours as often as expected: simulated with independent
    tables.

    400 pairs in L tables: the share deviates by less than 5 · sqrt(0.25 / 400) = 0.125; the mean must not fall below
    the expected recall by more.
    """
    near = np.full(20, 0.95 if distance == "cosine" else 1.0)
    others = np.full(20, 0.1 if distance == "cosine" else 6.0)
    choice = theory.choose(near, others, 50_000, distance=distance, recall=0.9, max_changes=0)  # type: ignore[arg-type]
    assert (True, 1) == (choice.recall >= 0.9, choice.num_probes)
    law = theory.law_of(distance)  # type: ignore[arg-type]
    p, _ = law(near[:1], choice.width or 1.0)
    rng = np.random.default_rng(44)
    hit = (rng.random((400, choice.num_tables, choice.hashes_per_table)) < p[0]).all(axis=2).any(axis=1).mean()
    assert hit > choice.recall - 0.125


def test_probes_save_tables_and_memory_bounds_them() -> None:
    """Changed hashes need fewer tables; too little memory is an error that says so."""
    near, others = np.full(10, 1.0), np.full(10, 4.0)
    plain = theory.choose(near, others, 100_000, max_changes=0)
    memory = plain.memory // 3
    probing = theory.choose(near, others, 100_000, memory=memory)
    assert (True, True) == (probing.num_tables < plain.num_tables, probing.num_probes > 1)
    assert probing.memory <= memory
    with pytest.raises(errors.ParameterError, match="less: no parameters with up to 0 tables"):
        theory.choose(near, others, 100_000, memory=1000)


def test_sampled_distances_leave_out_copies() -> None:
    """Near ones are true nearest distances of other vectors."""
    rng = np.random.default_rng(45)
    X = rng.standard_normal((200, 5))
    X[100:110] = X[0]
    for distance in ("l2", "l1", "cosine"):
        near, others = theory.sample_distances(X, distance=distance, k=3, queries=50)
        assert ((150,), (500,)) == (near.shape, others.shape)
        assert (near > 0).all() if distance != "cosine" else (near <= 1).all()
    with pytest.raises(errors.ParameterError, match="all equal"):
        theory.sample_distances(np.ones((5, 2)))
