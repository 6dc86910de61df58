"""Deduplication of vectors, compared with brute force over all cosines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, ParameterError


def rows_with_copies(seed: int, n: int, d: int = 24, noise: float = 0.05) -> Any:
    """Draw n rows, a tenth of which are near-copies of the first ones, and a few equal ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    m = n // 10
    X[n - m :] = X[:m] + noise * rng.standard_normal((m, d))
    X[n // 2 : n // 2 + 5] = X[:5]
    return X


def cosines(X: Any) -> Any:
    Y = np.asarray(X, np.float64)
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
    return Y @ Y.T


def brute_force(X: Any, threshold: float) -> list[int]:
    """Keep, then absorb, over all cosines."""
    close, kept = cosines(X) >= threshold, []
    free = np.ones(len(X), bool)
    for row in range(len(X)):
        if free[row]:
            kept.append(row)
            free &= ~close[row]
    return kept


@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_kept_rows_are_those_of_all_cosines(threshold: float, dtype: str) -> None:
    X = rows_with_copies(1, 800).astype(dtype)
    result = nk.dedup(X, threshold=threshold, recall=0.9999)
    assert brute_force(X, threshold) == result.kept
    assert len(result.kept) == result.summary["kept"] < len(X)
    assert int(result.weights.sum()) == len(X)


def test_partitions_find_the_pairs_and_the_summary_states_their_recall() -> None:
    """Of 600 near-copies at a measured recall of .99 at least 582 are removed; 18 misses are 5 deviations."""
    X = rows_with_copies(2, 6000)
    result = nk.dedup(X)
    about = result.summary["vectors"]
    assert "partitions" == about["filter"]
    assert about["reach"] < 1
    assert about["recall_lower_bound"] <= about["measured_recall"] <= about["recall_upper_bound"]
    assert about["measured_pairs"] > 50
    assert set(brute_force(X, 0.95)) <= set(result.kept)
    assert 582 <= result.summary["removed"] <= 605
    assert {"exact": 5, "near": result.summary["removed"] - 5} == result.summary["removed_by_reason"]


def test_reach_and_probes_grow_until_the_pairs_are_found() -> None:
    """Neighbours at a low cosine are spread over partitions, so that more are visited than for near-copies."""
    X = rows_with_copies(3, 6000, d=8)
    index = nk.LSHIndex(metric="cosine", filter="partitions", recall=0.9).fit(X)
    near = index.pair_effort(0.001, 0.9)
    assert 0.9 <= near.recall <= 1
    far = index.pair_effort(0.3, 0.9)
    assert near.num_probes <= far.num_probes <= index.settings_.num_partitions
    assert near.reach < far.reach <= 2
    assert far.recall >= 0.9
    assert far.recall_lower_bound < far.recall < far.recall_upper_bound
    assert near.num_pairs < far.num_pairs
    none = index.pair_effort(-1.0, 0.9)
    assert (1.0, 0.0, 1.0, 0) == (none.recall, none.recall_lower_bound, none.recall_upper_bound, none.num_pairs)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.3, 1.0), st.sampled_from(["absorb", "components"]))
def test_a_removed_row_matches_its_representative(seed: int, threshold: float, cluster: Any) -> None:
    X = rows_with_copies(seed % 1000, 60, d=6, noise=0.2)
    result = nk.dedup(X, threshold=threshold, cluster=cluster, recall=0.99)
    truth = cosines(X)
    assert set(result.kept) | set(result.clusters["id"]) == set(range(60))
    for row in result.clusters.rows():
        assert row["similarity"] == pytest.approx(truth[row["id"], row["representative"]], abs=1e-5)
        if cluster == "absorb":
            assert row["similarity"] >= threshold - 1e-6
    assert len(result.pairs) == result.summary["removed"]
    again = nk.dedup(X[result.kept], threshold=threshold, recall=0.9999)
    assert len(again.kept) >= 0.9 * len(result.kept)


def test_all_links_have_every_pair_and_every_copy() -> None:
    X = rows_with_copies(4, 300)
    result = nk.dedup(X, threshold=0.9, links="all", recall=0.9999)
    expected = np.argwhere(np.triu(cosines(X) >= 0.9, 1))
    assert expected.tolist() == sorted([row["left"], row["right"]] for row in result.pairs.with_copies())


def test_zero_vectors_are_kept_and_ids_and_rules_are_those_of_texts() -> None:
    X = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 3.0], [1.0, 0.0]])
    ids = list("abcdef")
    assert ["a", "b", "d", "e"] == nk.dedup(X, ids).kept
    assert 2 == nk.dedup(X, ids).summary["without_features"]
    assert ["b", "d", "e", "f"] == nk.dedup(X, ids, keep="last").kept
    assert ["b", "c", "d", "e"] == nk.dedup(X, ids, keep="max", values=[1, 9, 5, 9, 0, 2]).kept
    assert ["b", "d", "e"] == nk.dedup(X, ids, keep="none").kept
    reasons = {row["id"]: row["reason"] for row in nk.dedup(X, ids).clusters.rows()}
    assert {"a": "kept", "c": "near", "f": "exact"} == reasons
    assert ["a", "b", "d", "e"] == nk.dedup(X, ids).filter(ids)
    assert [] == nk.dedup(np.zeros((0, 3))).kept
    assert [0] == nk.dedup(np.ones((1, 3))).kept


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"recipe": "simhash"}, "no recipe for vectors"),
        ({"measure": "indel"}, "no measure for vectors"),
        ({"differ": "numbers"}, "no differ for vectors"),
        ({"against": ["text"]}, "no against for vectors"),
        ({"text": "body"}, "no text for vectors"),
        ({"threshold": 0.0}, "a cosine above 0"),
        ({"threshold": 1.5}, "a cosine above 0"),
        ({"recall": 1.0}, "below 1"),
        ({"cluster": "chains"}, "absorb"),
        ({"links": "some"}, "representatives"),
        ({"keep": "longest"}, "max:COLUMN"),
        ({"keep": "max:score"}, "values"),
        ({"keep": "max", "values": [1]}, "one per vector"),
        ({"ids": ["a"]}, "one per vector"),
    ],
)
def test_what_only_texts_have_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        nk.dedup(rows_with_copies(1, 20), **options)


def test_rows_without_a_cosine_are_named() -> None:
    X = rows_with_copies(1, 20)
    X[7, 1] = np.nan
    with pytest.raises(InputError, match="row 7: has values that are NaN or infinite"):
        nk.dedup(X)
    with pytest.raises(InputError, match="occurs in rows"):
        nk.dedup(X[:2], ids=["a", "a"])
