"""Mean average precision on generated clusters: order and size are within 0.02 of the published figures."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

import nearkin as nk
from nearkin.families import ITQ, Family, Hyperplane, ShiftInvariant, SphericalHash, spherical_hamming

pytestmark = pytest.mark.slow


def clusters() -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Return base rows, queries, and the 100 nearest base rows of each query."""
    rng = np.random.default_rng(12345)
    centres = rng.standard_normal((100, 64))
    X = (centres[rng.integers(0, 100, 21000)] + 0.6 * rng.standard_normal((21000, 64))).astype(np.float32)
    assert float(X.sum(dtype=np.float64)) == pytest.approx(3894.6, abs=0.1)
    base, queries = X[1000:], X[:500]
    squares = (base**2).sum(1) - 2 * queries @ base.T
    return base, queries, np.argpartition(squares, 100, axis=1)[:, :100]


def precision(distances: NDArray[np.float64], near: NDArray[np.int64]) -> float:
    """Return the average precision if all rows at one distance enter together at the precision of the group's end."""
    relevant = np.zeros(len(distances))
    relevant[near] = 1
    _, group = np.unique(distances, return_inverse=True)
    hits = np.bincount(group, weights=relevant)
    return float((hits * np.cumsum(hits) / np.cumsum(np.bincount(group))).sum() / len(near))


def mean_precision(family: Family, *, spherical: bool = False) -> float:
    """Return the mean over all queries."""
    base, queries, truth = clusters()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nk.errors.ConvergenceWarning)
        family.fit(base)
    codes, new_queries = family.transform(base), family.transform(queries)
    result = []
    for query, near in zip(new_queries, truth, strict=True):
        first = np.array([query])
        distances = (
            spherical_hamming(first, codes, bits=family.num_hashes)
            if spherical
            else np.asarray(nk.hamming(first, codes), np.float64)
        )
        result.append(precision(distances, near))
    return float(np.mean(result))


@pytest.mark.parametrize(
    ("make", "bits", "low", "high"),
    [
        (lambda bits: Hyperplane(bits, center=True, seed=51), 32, 0.395, 0.395),
        (lambda bits: Hyperplane(bits, center=True, seed=51), 64, 0.603, 0.603),
        (lambda bits: ITQ(bits, seed=52), 32, 0.567, 0.567),
        (lambda bits: ITQ(bits, seed=52), 64, 0.639, 0.639),
        (lambda bits: ShiftInvariant(bits, seed=53), 32, 0.132, 0.132),
    ],
)
def test_generated_clusters_have_the_published_precision(make: object, bits: int, low: float, high: float) -> None:
    """Random families vary by about 0.01 between seeds; a deviation of 0.02 is allowed."""
    result = mean_precision(make(bits))  # type: ignore[operator]
    assert low - 0.02 <= result <= high + 0.02


@pytest.mark.parametrize(
    ("bits", "plain", "spherical"),
    [(32, (0.324, 0.339), (0.347, 0.368)), (64, (0.504, 0.511), (0.523, 0.527))],
)
def test_spherical_distance_ranks_better_than_hamming(
    bits: int, plain: tuple[float, float], spherical: tuple[float, float]
) -> None:
    """SHD is above HD, and both are within 0.02 of the published range."""
    family = SphericalHash(bits, seed=54)
    hd, shd = mean_precision(family), mean_precision(family, spherical=True)
    assert shd > hd
    assert plain[0] - 0.02 <= hd <= plain[1] + 0.02
    assert spherical[0] - 0.02 <= shd <= spherical[1] + 0.02
