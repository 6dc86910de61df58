"""Every family with a law: how often independent functions agree on planted pairs, against the formula.

Each case draws 131,072 functions. The share of agreement p^ of n independent functions has standard deviation sqrt(p
(1 - p) / n); it exceeds five of them with probability below 6e-7 for each pair (normal tails). Where p is so near 0 or
1 that fewer than about 30 events are expected, five deviations of a Poisson number with one event added are allowed,
whose tail is below 1e-6 too. Seeds are fixed here and used by no benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from nearkin import theory
from nearkin.families import (
    BitSampling,
    CrossPolytope,
    Family,
    Hyperplane,
    PStable,
    ShiftInvariant,
    SparseSimHash,
)

FUNCTIONS = 1 << 17
D = 24


def pairs(seed: int) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Draw pairs that are near, middling, far, translated by 100, and mirrored at the origin, fixed for a seed."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(D)
    x *= 3.0 / np.linalg.norm(x)
    step = rng.standard_normal(D)
    step /= np.linalg.norm(step)
    for name, length in (("near", 0.4), ("middle", 2.0), ("far", 12.0)):
        yield name, x, x + length * step
    yield "translated", x + 100.0, x + 100.0 + 2.0 * step
    yield "mirrored", x, -x


def cosine(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def l2(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(x - y))


def l1(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(np.abs(x - y).sum())


@dataclass(frozen=True)
class Case:
    """A family with `count` functions and a seed, the argument of its law, and the tolerance of its approximation."""

    make: Callable[[int, int], Family]
    value: Callable[[NDArray[np.float64], NDArray[np.float64]], float]
    off: float = 0.0
    shifted: float = 0.0
    """What the translated pair may be off by: random signs of nearly equal coordinates have few distinct sums."""
    seed: int = 7001


CASES = {
    "hyperplane": Case(lambda count, seed: Hyperplane(count, seed=seed), cosine),
    "pstable-l2": Case(lambda count, seed: PStable("l2", 4.0, count, seed=seed), l2),
    "pstable-l1": Case(lambda count, seed: PStable("l1", 6.0, count, seed=seed), l1),
    "cross-polytope": Case(lambda count, seed: CrossPolytope(count, dims=6, rotation="gaussian", seed=seed), cosine),
    "cross-polytope-hadamard": Case(
        lambda count, seed: CrossPolytope(count, seed=seed), cosine, off=0.006, shifted=0.06
    ),
    "hyperplane-orthogonal": Case(lambda count, seed: Hyperplane(count, orthogonal=True, seed=seed), cosine),
    "hyperplane-hadamard": Case(
        lambda count, seed: Hyperplane(count, orthogonal="hadamard", seed=seed), cosine, off=0.004, shifted=0.02
    ),
    "hyperplane-dense": Case(lambda count, seed: Hyperplane(count, orthogonal="dense", seed=seed), cosine),
    "bit-sampling-l1": Case(lambda count, seed: BitSampling(count, limits=(-300.0, 300.0), seed=seed), l1),
    "shift-invariant": Case(lambda count, seed: ShiftInvariant(count, gamma=0.2, seed=seed), l2),
    "shift-invariant-laplacian": Case(
        lambda count, seed: ShiftInvariant(count, kernel="laplacian", gamma=0.05, seed=seed), l1
    ),
    "shift-invariant-sign": Case(lambda count, seed: ShiftInvariant(count, gamma=0.2, dither=False, seed=seed), l2),
    "sparse-gaussian": Case(lambda count, seed: SparseSimHash(count, projection="gaussian", seed=seed), cosine),
    # With 24 Gaussian coordinates, sums of random signs are not quite Gaussian.
    "sparse-signs": Case(lambda count, seed: SparseSimHash(count, seed=seed), cosine, off=0.01, shifted=0.04),
}


def agreement(case: Case, vectors: NDArray[np.float64], functions: int) -> NDArray[np.float64]:
    """Return the share of functions that give vectors 2 i and 2 i + 1 the same value, for each i."""
    block = 1 << 14
    equal = np.zeros(len(vectors) // 2)
    for part in range(functions // block):
        values = case.make(block, case.seed + part).fit(vectors).hash_values(vectors)
        equal += (values[::2] == values[1::2]).sum(axis=1)
    return equal / functions


def allowed(p: float, functions: int) -> float:
    """Return five standard deviations, but at least those of one expected event."""
    rare = max(min(p, 1.0 - p), 1.0 / functions)
    return 5.0 * math.sqrt(rare * (1.0 - rare) / functions)


@pytest.mark.parametrize("name", CASES)
def test_functions_agree_as_often_as_the_law_says(name: str) -> None:
    """Every planted pair agrees within five standard errors."""
    case = CASES[name]
    planted = list(pairs(case.seed))
    vectors = np.concatenate([np.stack([x, y]) for _, x, y in planted])
    law = case.make(8, 0).fit(vectors).collision_probability
    for (pair, x, y), result in zip(planted, agreement(case, vectors, FUNCTIONS), strict=True):
        expected = float(law(case.value(x, y)))
        off = case.shifted if pair == "translated" else case.off
        assert abs(expected - result) <= allowed(expected, FUNCTIONS) + off, (pair, expected, result)


def test_bit_sampling_of_bits_agrees_with_its_law() -> None:
    """The pairs are 0/1 vectors at Hamming distances 1, 5, 12 and all of 24."""
    rng = np.random.default_rng(7100)
    for distance in (1, 5, 12, 24):
        x = rng.integers(0, 2, D).astype(np.float64)
        y = x.copy()
        y[:distance] = 1 - y[:distance]
        case = Case(lambda count, seed: BitSampling(count, seed=seed), l1)
        (result,) = agreement(case, np.stack([x, y]), FUNCTIONS)
        expected = 1 - distance / D
        assert abs(expected - result) <= allowed(expected, FUNCTIONS)


@pytest.mark.parametrize(
    ("x", "y"),
    [([1, 0], [1, 1]), ([3, 1], [1, 3]), ([5, 1, 1, 1], [5, -1, -1, -1]), ([1] * 8 + [0] * 4, [0] * 4 + [1] * 8)],
)
def test_hashed_signs_agree_with_enumeration(x: list[int], y: list[int]) -> None:
    """If coordinates dominate, the exact law of random signs holds rather than the angle's; ties are 0."""
    vectors = np.array([x, y], np.float64)
    (result,) = agreement(Case(lambda count, seed: SparseSimHash(count, seed=seed), cosine), vectors, FUNCTIONS)
    expected = theory.hashed_signs(x, y)
    assert abs(expected - result) <= allowed(expected, FUNCTIONS)


def test_mixed_projections_have_the_angles_law_where_signs_have_not() -> None:
    """Two heavy columns, hashed to Gaussians, and 200 light ones follow the law."""
    rng = np.random.default_rng(7200)
    light = rng.standard_normal((2, 200))
    vectors = np.concatenate([[[30.0, 10.0], [10.0, 30.0]], light], axis=1)
    expected = float(theory.hyperplane(cosine(*vectors)))
    share = {}
    for kind in ("mixed", "signs"):
        case = Case(lambda count, seed, kind=kind: SparseSimHash(count, projection=kind, seed=seed), cosine)  # type: ignore[misc]
        (share[kind],) = agreement(case, vectors, 1 << 16)
    assert abs(expected - share["mixed"]) <= allowed(expected, 1 << 16) + 0.003
    assert abs(expected - share["signs"]) > 0.03


TABLES: dict[str, tuple[Callable[[int], Family], float, int, int]] = {
    "pstable": (lambda seed: PStable(width=4.0, seed=seed), 1.5, 7, 5),
    "pstable-halves": (lambda seed: PStable(width=4.0, u_functions=True, seed=seed), 1.5, 8, 6),
    "pstable-l1-halves": (lambda seed: PStable("l1", 6.0, u_functions=True, seed=seed), 1.5, 10, 4),
    "cross-polytope-last": (lambda seed: CrossPolytope(dims=4, last_dims=2, rotation="gaussian", seed=seed), 0.8, 3, 2),
    "hyperplane": (lambda seed: Hyperplane(seed=seed), 0.8, 5, 9),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_find_as_often_as_their_probability_says(name: str) -> None:
    """One pair in 2,000 independent sets of tables: a binomial number, five deviations, tails below 6e-7."""
    make, value, num_tables, per_table = TABLES[name]
    pair = np.zeros((2, 6))
    if make(0).distance == "cosine":
        pair[0, 0], pair[1, :2] = 1.0, (value, math.sqrt(1 - value**2))
    else:
        pair[1, 0] = value
    result, expected = 0, 0.0
    for seed in range(2000):
        family = make(9100 + seed)
        layout = family.hash_layout(num_tables, per_table)
        family = family.resized(int(layout.max()) + 1, group=per_table).fit(pair)
        values = family.hash_values(pair)
        result += bool((values[0][layout] == values[1][layout]).all(axis=1).any())
        expected = float(family.table_probability(value, num_tables, per_table))
    assert 0.2 < expected < 0.95
    assert abs(result / 2000 - expected) < 5 * math.sqrt(expected * (1 - expected) / 2000)
