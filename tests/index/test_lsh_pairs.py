"""Pairs and clusters of an LSHIndex: against brute force, against the law, and from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import nearkin as nk
import reference
from nearkin.errors import NotFittedError, ParameterError
from nearkin.families import CrossPolytope, Hyperplane, PStable, SphericalHash
from nearkin.index import lsh

FORMS = {"float32": np.float32, "float64": np.float64, "sparse": csr_array}


def numbers(seed: int, n: int, d: int = 6) -> Any:
    """Draw integer vectors, whose L1 distances and squared L2 distances are exact in every type."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, 5, size=(n, d)).astype(np.float64)


def brute(metric: str, X: Any, radius: float) -> dict[tuple[int, int], float]:
    """Return all pairs of rows within a radius."""
    far = {(i, j): reference.true_distance(metric, X[i], X[j]) for i in range(len(X)) for j in range(i + 1, len(X))}
    return {pair: distance for pair, distance in far.items() if distance <= radius}


def found(pairs: nk.Pairs) -> dict[tuple[Any, Any], float]:
    return dict(zip(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True), pairs.distances.tolist(), strict=True))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("family", "metric", "options", "radius"),
    [
        (PStable(width=1e6), "l2", {"num_tables": 20, "hashes_per_table": 1}, 2.5),
        (PStable("l1", width=1e9), "l1", {"num_tables": 20, "hashes_per_table": 1}, 3.5),
        (Hyperplane(seed=1), "cosine", {"num_tables": 1, "hashes_per_table": 5, "num_probes": 32}, 0.051),
        (Hyperplane(bits=64, seed=1), "l2", {"filter": "codes", "num_candidates": 10_000}, 2.5),
    ],
    ids=str,
)
def test_pairs_are_those_of_brute_force_where_everything_is_a_candidate(
    form: str, family: Any, metric: str, options: dict[str, Any], radius: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every vector type and batch size gives the same; removed rows are in no pair."""
    X = numbers(0, 90)
    expected = {pair: far for pair, far in brute(metric, X, radius).items() if not {3, 50} & set(pair)}
    assert len(expected) > 20
    index = nk.LSHIndex(family, metric=metric, **options).fit(FORMS[form](X))  # type: ignore[arg-type]
    index.remove([3, 50])
    for rows in (4096, 7):
        monkeypatch.setattr(lsh, "_MAX_BATCH_ROWS", rows)
        pairs = index.pairs(radius)
        actual = found(pairs)
        assert list(expected) == list(actual)
        assert np.allclose(list(expected.values()), list(actual.values()), rtol=1e-5, atol=1e-6)
        assert (np.float32 if form == "float32" else np.float64) == pairs.distances.dtype


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_pairs_are_those_that_searches_from_both_sides_find(data: st.DataObject) -> None:
    """Pairs are a subset of the true ones with the distances of `search`, for any filter, probes, ids and removals."""
    X = numbers(data.draw(st.integers(0, 9)), 60, d=4)
    options: dict[str, Any] = data.draw(
        st.sampled_from(
            [
                {"num_tables": 3, "hashes_per_table": 4, "num_probes": 1},
                {"num_tables": 2, "hashes_per_table": 6, "num_probes": 5},
                {"filter": "codes", "num_candidates": 6},
            ]
        )
    )
    kind = data.draw(st.sampled_from([None, "ints", "names"]))
    order = data.draw(st.permutations(range(60)))
    ids: Any = {None: None, "ints": [5 * i - 99 for i in order], "names": [f"n{i}" for i in order]}[kind]
    index = nk.LSHIndex(Hyperplane(bits=32, seed=2), metric="l2", **options).fit(X, ids)
    keys = list(range(60)) if ids is None else list(ids)
    gone = data.draw(st.lists(st.sampled_from(keys), max_size=8, unique=True))
    index.remove(gone)
    there = [row for row in range(60) if keys[row] not in gone]
    radius = data.draw(st.sampled_from([0.0, 1.0, 2.1]))
    expected: dict[tuple[Any, Any], float] = {}
    for row, hits in zip(there, index.search(X[there], radius), strict=True):
        for match in hits:
            if match.id != keys[row]:
                pair = (min(keys[row], match.id), max(keys[row], match.id))
                assert expected.setdefault(pair, match.distance) == match.distance
    true = brute("l2", X, radius)
    named = {tuple(sorted((keys[i], keys[j]))): far for (i, j), far in true.items()}
    actual = found(index.pairs(radius))
    assert expected == actual
    assert list(actual) == sorted(actual)
    assert all(named[pair] == pytest.approx(far) for pair, far in actual.items())


@pytest.mark.parametrize(
    ("metric", "tables", "per_table", "distance"), [("l2", 5, 4, 1.0), ("l1", 6, 3, 1.5), ("l2", 1, 2, 2.0)]
)
def test_the_share_of_pairs_found_is_that_of_the_law(metric: Any, tables: int, per_table: int, distance: float) -> None:
    """One pair is planted in each of 1,000 independent indexes: 1 - (1 - p^k)^L of them find it.

    The number found is binomial; it leaves five standard deviations with probability below 6e-7.
    """
    X = np.zeros((2, 3))
    X[1, 1] = distance
    count, expected = 0, 0.0
    for seed in range(1000):
        family = PStable(metric, width=3.0, seed=7100 + seed)
        index = nk.LSHIndex(family, tables, hashes_per_table=per_table, num_probes=1).fit(X)
        count += len(index.pairs(distance))
        expected = float(index.expected_recall([distance])[0])
    assert 0.2 < expected < 0.95
    assert abs(count / 1000 - expected) < 5 * (expected * (1 - expected) / 1000) ** 0.5


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 50), st.sampled_from([0.5, 1.5, 2.3]), st.booleans())
def test_clusters_are_those_of_the_plain_rules_on_the_pairs(seed: int, radius: float, names: bool) -> None:
    """Both kinds are in order of addition, without singletons, with distances to the first member."""
    X = numbers(seed, 40, d=4)
    keys: list[Any] = [f"n{97 * i % 40}" for i in range(40)] if names else [97 * i % 40 for i in range(40)]
    index = nk.LSHIndex(Hyperplane(bits=32), 2, hashes_per_table=5, num_probes=2, metric="l2").fit(X, keys)
    near = set(found(index.pairs(radius)))

    def match(a: int, b: int) -> bool:
        return (min(keys[a], keys[b]), max(keys[a], keys[b])) in near

    for linkage, rule in (("centred", reference.absorb), ("connected", reference.components)):
        heads = rule(list(range(40)), match)
        expected: dict[int, list[int]] = {}
        for row in range(40):
            expected.setdefault(heads[row], []).append(row)
        groups = sorted((sorted(rows) for rows in expected.values() if len(rows) > 1), key=lambda rows: rows[0])
        clusters = index.clusters(radius, linkage=linkage)  # type: ignore[arg-type]
        assert [[keys[row] for row in rows] for rows in groups] == list(clusters)
        far = [reference.true_distance("l2", X[rows[0]], X[row]) for rows in groups for row in rows]
        assert np.allclose(far, clusters.distances)


@pytest.mark.filterwarnings("ignore::nearkin.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("family", "options"),
    [
        (CrossPolytope(seed=3), {"hashes_per_table": 1, "num_probes": 3}),
        (PStable(seed=3), {"num_tables": 4}),
        (SphericalHash(bits=32, seed=3), {"filter": "codes", "rank": "spherical", "num_candidates": 30}),
    ],
    ids=str,
)
def test_an_opened_index_has_the_same_pairs_and_clusters(family: Any, options: dict[str, Any], tmp_path: Path) -> None:
    X = numbers(4, 80)
    index = nk.LSHIndex(family, metric="l2", **options).fit(X, [f"{i:02}" for i in range(80)])
    index.save(tmp_path / "index")
    opened = nk.LSHIndex.open(tmp_path / "index")
    assert found(index.pairs(2.0))
    assert found(index.pairs(2.0)) == found(opened.pairs(2.0))
    assert list(index.clusters(2.0)) == list(opened.clusters(2.0))


def test_pairs_of_nothing_and_bad_calls() -> None:
    """An empty result is not an error, but an invalid distance is."""
    X = numbers(5, 20)
    index = nk.LSHIndex(Hyperplane(bits=32), metric="l2")
    for call in (index.pairs, index.clusters):
        with pytest.raises(NotFittedError):
            call(1.0)
    index.fit(X)
    assert 0 == len(index.pairs(-1.0)) == len(index.clusters(-1.0))
    for call in (index.pairs, index.clusters):
        for radius in (float("nan"), "near", None):
            with pytest.raises(ParameterError, match="radius"):
                call(radius)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="num_probes"):
            call(1.0, num_probes=3)
    with pytest.raises(ParameterError, match="linkage"):
        index.clusters(1.0, linkage="single")  # type: ignore[arg-type]
    index.remove(range(20))
    assert 0 == len(index.pairs(9.0)) == len(index.clusters(9.0))
    products = nk.LSHIndex(Hyperplane(bits=32), metric="inner_product").fit(X)
    with pytest.raises(ParameterError, match="no distances"):
        products.pairs(1.0)
