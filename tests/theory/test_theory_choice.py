"""The choice of parameters from distances: simulation, integration and brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from nearkin import errors, theory
from nearkin.families import PStable
from nearkin.theory.choice import _mean_next_cell


def test_next_cell_is_the_share_of_neighbours_in_it() -> None:
    """100,000 independent functions and one pair: five standard errors (6e-7)."""
    rng = np.random.default_rng(42)
    position, step = rng.random(100_000), rng.standard_normal(100_000) * 0.4
    nearer = np.where(position < 0.5, -1, 1)
    result = (np.floor(position + step) == nearer).mean()
    expected = float(theory.next_cell(0.4, width=1.0))
    assert abs(result - expected) < 5 * math.sqrt(expected * (1 - expected) / 100_000)


def _distance(p: float) -> float:
    """Return the distance at which width 1 collides with probability p."""
    low, high = 0.01, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(theory.pstable(middle)) > p else (low, middle)
    return low


def test_slaney_has_the_printed_example() -> None:
    """N = 100,000, r = 1, p_nn .768, p_any .586 at the width: k = 22 (of 21.54), and about 100 tables.

    Distances that have these probabilities at width 1 stand for the histograms; the optimum over widths is another one.
    """
    near = _distance(0.768)
    k = math.log(100_000) / -math.log(0.586)
    assert (22, 21.54) == (round(k), pytest.approx(k, abs=0.01))  # type: ignore[comparison-overlap]
    side = float(_mean_next_cell(np.array([near]), "l2", 1.0, 1.0)[0])
    tables = 1 / (22 * 0.768**21 * side)
    assert tables == pytest.approx(100, rel=0.03)


@pytest.mark.parametrize("changes", [0, 1])
def test_slaneys_probabilities_are_met(changes: int) -> None:
    """p_near and p_any of the chosen width agree with independent functions on planted distances (five errors)."""
    result = theory.slaney(np.full(5, 1.0), np.full(5, 5.0), 100_000, changes=changes)
    vectors = np.zeros((3, 8))
    vectors[1, 0], vectors[2, 0] = 1.0, 5.0
    keys = PStable(width=result.width, hashes=60_000, seed=43).fit(vectors).transform(vectors)
    for row, p in ((1, result.p_near), (2, result.p_any)):
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
    law = theory.collision_law(distance)  # type: ignore[arg-type]
    p, _ = law(near[:1], choice.width or 1.0)
    rng = np.random.default_rng(44)
    hit = (rng.random((400, choice.num_tables, choice.hashes_per_table)) < p[0]).all(axis=2).any(axis=1).mean()
    assert hit > choice.recall - 0.125


def test_probes_save_tables_and_memory_bounds_them() -> None:
    """More probes need fewer tables; insufficient memory is an error that says so."""
    near, others = np.full(10, 1.0), np.full(10, 4.0)
    plain = theory.choose(near, others, 100_000, max_changes=0)
    memory = plain.memory // 3
    probing = theory.choose(near, others, 100_000, memory=memory)
    assert (True, True) == (probing.num_tables < plain.num_tables, probing.num_probes > 1)
    assert probing.memory <= memory
    with pytest.raises(errors.ParameterError, match="less: no parameters with up to 0 tables"):
        theory.choose(near, others, 100_000, memory=1000)


def test_sampled_distances_leave_out_copies() -> None:
    """Near distances are true nearest distances of other vectors."""
    rng = np.random.default_rng(45)
    X = rng.standard_normal((200, 5))
    X[100:110] = X[0]
    for distance in ("l2", "l1", "cosine"):
        near, others = theory.sample_distances(X, distance=distance, k=3, queries=50)
        assert ((150,), (500,)) == (near.shape, others.shape)
        assert (near > 0).all() if distance != "cosine" else (near <= 1).all()
    with pytest.raises(errors.ParameterError, match="all equal"):
        theory.sample_distances(np.ones((5, 2)))


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("distance", [0.3, 1.0, 4.0])
def test_the_next_cell_is_an_integral_over_the_place_in_the_cell(metric: Literal["l2", "l1"], distance: float) -> None:
    """The query is u below its nearer edge, u uniform up to half a width; the step is the distance times one stable
    number. Midpoints of 20,000 places.
    """
    width = 2.0
    u = (np.arange(20_000) + 0.5) / 20_000 * width / 2
    low, high = u / distance, (u + width) / distance
    if metric == "l2":
        cdf = np.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))))
        inside = cdf(high) - cdf(low)
    else:
        inside = (np.arctan(high) - np.arctan(low)) / math.pi
    assert float(theory.next_cell(distance, metric, width=width)) == pytest.approx(float(inside.mean()), abs=1e-7)
    assert 0.0 == float(theory.next_cell(0.0, metric))
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("distance", {"distance": -1.0, "metric": metric}),
        ("metric", {"distance": 1.0, "metric": "cosine"}),
        ("width", {"distance": 1.0, "metric": metric, "width": 0.0}),
    ]
    for name, arguments in wrong:
        for law in (theory.next_cell, theory.pstable):
            with pytest.raises(errors.ParameterError, match=name):
                law(**arguments)


def test_laws_by_name_are_those_of_the_families() -> None:
    """For a hyperplane the next cell is the other bit, and a cross-polytope has none."""
    at = np.array([0.2, 0.9])
    for metric in ("l2", "l1"):
        p, q = theory.collision_law(metric)(at, 3.0)
        assert theory.pstable(at, metric, width=3.0).tolist() == p.tolist()
        assert theory.next_cell(at, metric, width=3.0).tolist() == q.tolist()
    p, q = theory.collision_law("cosine")(at, 1.0)
    assert (1 - p).tolist() == q.tolist()
    assert theory.hyperplane(at).tolist() == p.tolist()
    p, q = theory.collision_law("cosine", dims=16)(at, 1.0)
    assert theory.cross_polytope(at, 16).tolist() == p.tolist()
    assert not q.any()


@pytest.mark.parametrize("distance", ["l2", "l1", "cosine"])
def test_sampled_distances_are_those_of_brute_force(distance: Literal["l2", "l1", "cosine"]) -> None:
    """With all rows as queries, the nearest distances are those of the definition."""
    X = np.random.default_rng(46).integers(1, 6, size=(40, 4)).astype(float)
    near, others = theory.sample_distances(X, distance=distance, k=2, queries=1000)
    expected = []
    every = set()
    for row in X:
        different = X[(X != row).any(axis=1)]
        if distance == "cosine":
            far = -(different @ row) / np.linalg.norm(different, axis=1) / np.linalg.norm(row)
        else:
            far = np.linalg.norm(different - row, ord=2 if distance == "l2" else 1, axis=1)
        sign = -1 if distance == "cosine" else 1
        expected += (sign * np.sort(far)[:2]).tolist()
        every |= set((sign * far).round(9).tolist())
    assert np.allclose(sorted(expected), np.sort(near))
    assert set(others.round(9).tolist()) <= every


GOOD = (np.full(4, 1.0), np.full(4, 5.0), 1000)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: theory.choose([], [1.0], 10), "near"),
        (lambda: theory.choose([1.0], [math.nan], 10), "others"),
        (lambda: theory.choose(*GOOD[:2], 0), "n"),
        (lambda: theory.choose(*GOOD, distance="l3"), "distance"),  # type: ignore[arg-type]
        (lambda: theory.choose(*GOOD, recall=1.0), "recall"),
        (lambda: theory.choose(*GOOD, memory=0), "memory"),
        (lambda: theory.choose(*GOOD, max_tables=0), "max_tables"),
        (lambda: theory.choose(*GOOD, max_hashes=0), "max_hashes"),
        (lambda: theory.choose(*GOOD, max_changes=-1), "max_changes"),
        (lambda: theory.choose(*GOOD, hash_cost=-1.0), "hash_cost"),
        (lambda: theory.choose(*GOOD, check_cost=math.nan), "check_cost"),
        (lambda: theory.choose(*GOOD, bytes_per_entry=0), "bytes_per_entry"),
        (lambda: theory.slaney(*GOOD, miss=1.0), "miss"),
        (lambda: theory.slaney(*GOOD, changes=-1), "changes"),
        (lambda: theory.slaney(*GOOD, widths=0), "widths"),
        (lambda: theory.slaney(*GOOD, hash_cost=math.inf), "hash_cost"),
        (lambda: theory.slaney(np.zeros(3), np.zeros(3), 10), "near"),
        (lambda: theory.sample_distances(np.ones(4)), "X"),
        (lambda: theory.sample_distances([[1.0, math.nan], [1.0, 2.0]]), "X"),
        (lambda: theory.sample_distances([[1.0], [2.0]], distance="hamming"), "distance"),  # type: ignore[arg-type]
        (lambda: theory.sample_distances([[0.0], [2.0]], distance="cosine"), "X"),
        (lambda: theory.sample_distances([[1.0], [2.0]], k=2), "k"),
        (lambda: theory.sample_distances([[1.0], [2.0]], queries=0), "queries"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(call: Callable[[], object], name: str) -> None:
    with pytest.raises(errors.ParameterError, match="is not allowed; use") as error:
        call()
    assert name == error.value.name
