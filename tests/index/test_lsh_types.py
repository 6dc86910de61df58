"""Indexes of uint8, int8 and float16 vectors keep the type and answer with exact sums."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import InputError
from nearkin.families import Hyperplane, PStable

NARROW = ["uint8", "int8", "float16"]
METRICS = ["l2", "l1", "cosine", "inner_product"]
rng = np.random.default_rng(7)


def vectors(dtype: str, n: int, d: int = 40) -> Any:
    """Draw numbers of a type; squares of integers sum to less than 2**24 at this dimension."""
    if dtype == "float16":
        return rng.normal(size=(n, d)).astype(np.float16)
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (n, d), endpoint=True).astype(dtype)


def codes(metric: Any) -> nk.LSHIndex:
    """Return an index that ranks every row."""
    return nk.LSHIndex(Hyperplane(bits=64, seed=1), filter="codes", num_candidates=1000, metric=metric)


def exact(Q: Any, X: Any, metric: str) -> Any:
    """Return distances by definition, in float64."""
    Q, X = Q.astype(np.float64), X.astype(np.float64)
    if metric == "l2":
        return np.sqrt(((Q[:, None] - X) ** 2).sum(2))
    if metric == "l1":
        return np.abs(Q[:, None] - X).sum(2)
    if metric == "cosine":
        return 1 - Q @ X.T / np.linalg.norm(Q, axis=1)[:, None] / np.linalg.norm(X, axis=1)
    return -(Q @ X.T)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", NARROW)
def test_the_nearest_are_those_of_brute_force(dtype: str, metric: str) -> None:
    """Queries of this and other types give the same single and in batches; codes equal those of float32."""
    X, Q = vectors(dtype, 200), vectors(dtype, 20)
    index = codes(metric).fit(X)
    wide = codes(metric).fit(X.astype(np.float32))
    assert (dtype, dtype) == (index.vector_type_, index.explain()["type"])
    assert index.family_.digest == wide.family_.digest
    assert index.explain()["bytes_vectors"] < wide.explain()["bytes_vectors"]
    for queries in (Q, Q.astype(np.float64) + 0.25):
        hits = index.nearest(queries, 5)
        assert np.float32 == hits.distances.dtype
        expected = np.sort(exact(queries, X, metric), axis=1)[:, :5]
        assert np.allclose(expected, hits.distances.reshape(-1, 5), rtol=1e-5, atol=1e-5)
        for position, first in enumerate(queries):
            alone = index.nearest(first.reshape(1, -1), 5)
            assert alone.distances.tolist() == hits.distances[5 * position : 5 * position + 5].tolist()
            assert alone.ids.tolist() == hits.ids[5 * position : 5 * position + 5].tolist()
    same = wide.nearest(Q.astype(np.float32), 5)
    mixed = index.nearest(Q.astype(np.float32), 5)
    assert (same.ids.tolist(), same.distances.tolist()) == (mixed.ids.tolist(), mixed.distances.tolist())


def test_whole_numbers_are_summed_exactly() -> None:
    """float32 sums would round here; a vector has distance 0 from itself by every metric."""
    X = rng.integers(0, 256, (30, 3000)).astype(np.uint8)
    sums = ((X[:1].astype(np.int64) - X) ** 2).sum(1)
    hits = codes("l2").fit(X).nearest(X[:1], 30)
    assert np.sort(np.sqrt(sums).astype(np.float32)).tolist() == hits.distances.tolist()
    hits = codes("cosine").fit(X).nearest(X, 1)
    assert (list(range(30)), [0.0] * 30) == (hits.ids.tolist(), hits.distances.tolist())


@pytest.mark.parametrize("dtype", NARROW)
def test_what_is_added_later_becomes_the_type_of_the_index(dtype: str, tmp_path: Path) -> None:
    """Added and replaced rows have it, also after removals, and in files and copies."""
    X = vectors(dtype, 60)
    index = nk.LSHIndex(PStable(seed=1), num_tables=8, hashes_per_table=2).fit(X[:20], range(20))
    assert 20 == index.add(range(20, 40), X[20:40].astype(np.float64))
    assert 20 == index.add(range(20), X[40:], existing="update")
    with pytest.raises(InputError, match=f"row 0: .* {dtype}"):
        index.add([90], np.full((1, 40), 1e6))
    assert 40 == len(index)
    index.remove([3])
    index.save(tmp_path / "index")
    opened = nk.LSHIndex.open(tmp_path / "index")
    opened.verify()
    expected = index.nearest(X, 3)
    for other in (opened, copy.deepcopy(index), copy.deepcopy(opened)):
        assert dtype == other.vector_type_
        result = other.nearest(X, 3)
        assert (expected.ids.tolist(), expected.distances.tolist()) == (result.ids.tolist(), result.distances.tolist())
        other.add([91], X[:1])
        nearest = other.nearest(X[:1], 1)
        assert ([91], [0.0]) == (nearest.ids.tolist(), nearest.distances.tolist())


@pytest.mark.parametrize("metric", ["l2", "l1", "cosine"])
@pytest.mark.parametrize("dtype", NARROW)
def test_pairs_and_clusters_have_the_distances_of_queries(dtype: str, metric: Any) -> None:
    X = vectors(dtype, 30)
    X[10:20] = X[:10]
    X[10:20, 0] = X[:10, 0] // 2
    index = codes(metric).fit(X)
    pairs = index.pairs(radius=float("inf"))
    assert 30 * 29 // 2 == len(pairs.left)
    far = exact(X, X, metric)[pairs.left, pairs.right]
    assert np.allclose(far, pairs.distances, rtol=1e-5, atol=1e-5)
    near = float(np.sort(pairs.distances)[9])
    assert [[i, i + 10] for i in range(10)] == [sorted(group) for group in index.clusters(radius=near)]


def test_tuning_keeps_the_type() -> None:
    X = vectors("uint8", 300, 12)
    index = nk.LSHIndex(PStable(seed=1))
    settings = index.tune(X, recall=0.8, k=3)
    assert settings.tuning is not None
    assert ("uint8", 300) == (index.vector_type_, len(index))
