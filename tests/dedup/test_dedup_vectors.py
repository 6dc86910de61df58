"""Deduplication of vectors, compared with brute force over all cosines."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.dedup.vectors import BandPlan
from nearkin.errors import InputError, ParameterError
from nearkin.report import Run, report_page


def rows_with_copies(seed: int, n: int, d: int = 24, noise: float = 0.05) -> Any:
    """Draw n rows: a tenth are near-copies of the first ones, and a few equal ones."""
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


def test_bands_find_the_pairs_and_the_summary_states_their_recall() -> None:
    """Of 600 near-copies, found with probability .99 at least, 582 are removed; 18 misses are 5 deviations."""
    X = rows_with_copies(2, 6000)
    result = nk.dedup(X)
    about = result.summary["vectors"]
    assert "bands" == about["filter"]
    assert 0.999 <= (result.summary["expected_recall"] or 0) < 1
    assert about["verified_pairs"] >= 590
    assert set(brute_force(X, 0.95)) <= set(result.kept)
    assert 582 <= result.summary["removed"] <= 605
    assert {"exact": 5, "near": result.summary["removed"] - 5} == result.summary["removed_by_reason"]


@pytest.mark.parametrize(("threshold", "dtype"), [(0.9, "float32"), (0.95, "float64"), (0.99, "float16")])
@pytest.mark.parametrize("keep", ["first", "last"])
def test_links_of_bands_are_those_of_all_cosines(threshold: float, dtype: str, keep: str) -> None:
    """Of the pairs from the threshold on at least .999 are found, and none below; half are near the threshold."""
    X = rows_with_copies(5, 5000, d=16, noise=math.sqrt(1 / threshold**2 - 1)).astype(dtype)
    result = nk.dedup(X, threshold=threshold, keep=keep, links="all", recall=0.99)
    assert "bands" == result.summary["vectors"]["filter"]
    expected = set(map(tuple, np.argwhere(np.triu(cosines(X.astype(np.float32)) >= threshold, 1)).tolist()))
    found = {(min(row["left"], row["right"]), max(row["left"], row["right"])) for row in result.pairs.with_copies()}
    # A cosine at the threshold may be rounded to either side.
    assert len(found - expected) <= 2
    misses = 0.001 * len(expected)
    assert len(expected - found) <= misses + 5 * math.sqrt(misses) + 2


@pytest.mark.parametrize("cluster", ["absorb", "components"])
def test_large_clusters_take_few_comparisons(cluster: Any) -> None:
    """10,000 near-copies of three vectors, whose pairs are 1.7 10^7, are absorbed after a few comparisons of each."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((3, 32))[rng.integers(0, 3, 10_000)] + 0.02 * rng.standard_normal((10_000, 32))
    result = nk.dedup(X[: 4200 if cluster == "components" else None], threshold=0.9, cluster=cluster)
    assert 3 == len(result.kept)
    assert "bands" == result.summary["vectors"]["filter"]
    if cluster == "absorb":
        assert result.summary["vectors"]["verified_pairs"] < 50 * 10_000
    truth = cosines(np.concatenate([X[result.kept], X[:5000]]))[:3, 3:]
    for row in itertools.islice(result.clusters.rows(), 2000):
        if row["id"] < 5000:
            expected = truth[result.kept.index(row["representative"]), row["id"]]
            assert row["similarity"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("share", [0.9, 1.0])
def test_near_copies_of_one_vector_are_joined_by_bands(share: float) -> None:
    """Most rows of the sample are near-copies, which it absorbs, so that the join is cheap."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((6000, 32))
    near = int(share * len(X))
    X[:near] = X[0] + 0.01 * rng.standard_normal((near, 32))
    result = nk.dedup(rng.permutation(X), threshold=0.95)
    assert len(X) - near + 1 == len(result.kept)
    assert "bands" == result.summary["vectors"]["filter"]
    assert result.summary["vectors"]["verified_pairs"] < 50 * len(X)


def test_the_largest_recall_has_bands() -> None:
    """A tenth of the misses of the last number below 1 would be none."""
    X = np.random.default_rng(8).standard_normal((4200, 16))
    expected = nk.dedup(X, recall=math.nextafter(1, 0)).summary["expected_recall"]
    assert expected is not None
    assert 0.9999 < expected <= 1


def test_low_thresholds_are_searched_in_partitions() -> None:
    X = rows_with_copies(7, 5000, d=64, noise=0.5)
    result = nk.dedup(X, threshold=0.3, recall=0.9)
    about = result.summary["vectors"]
    assert "partitions" == about["filter"]
    assert about["recall_lower_bound"] <= about["measured_recall"] <= about["recall_upper_bound"]
    assert about["measured_recall"] == result.summary["expected_recall"]


@given(st.floats(0.3, 1.0), st.floats(0.5, 0.9999), st.integers(2, 10**9), st.lists(st.integers(0, 10**6), min_size=33))
def test_a_plan_of_bands_reaches_the_recall(threshold: float, recall: float, n: int, counts: list[int]) -> None:
    """The recall is that of the formula, the quantile that of the binomial distribution."""
    collisions = np.array(sorted(counts[:33], reverse=True), np.uint64)
    plan = BandPlan.choose(threshold, recall, n / 2, collisions, 10**6)
    if not plan.bands:
        assert math.inf == plan.cost
        return
    equal = 1 - max(math.acos(threshold) / math.pi, 1e-4)
    above = sum(math.comb(512, k) * (1 - equal) ** k * equal ** (512 - k) for k in range(plan.max_differing + 1, 513))
    assert above <= (1 - recall) / 10 * (1 + 1e-9)
    found = 1 - (1 - equal**plan.bits) ** plan.bands - above
    assert plan.recall == pytest.approx(found, abs=1e-9)
    assert recall - 1e-12 <= found
    assert plan.bits * plan.bands <= 1 << 14


def test_more_similar_rows_of_a_sample_need_longer_bands() -> None:
    """Rows of one direction collide more often, so that a band has more bits."""
    n, pairs = 10**6, 10**6

    def at(equal: float) -> Any:
        return np.array([16 * pairs * equal**bits for bits in range(33)]).astype(np.uint64)

    spread, narrow = (BandPlan.choose(0.95, 0.99, n / 2, at(equal), pairs) for equal in (0.5, 0.7))
    assert spread.bits < narrow.bits
    assert spread.cost < narrow.cost
    assert BandPlan.choose(0.99, 0.99, n / 2, at(0.5), pairs).cost < spread.cost


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


def test_the_report_has_cosines_and_the_texts_or_ids_of_vectors() -> None:
    X = rows_with_copies(8, 200)
    X[150] = 0
    result = nk.dedup(X, threshold=0.9)
    page = report_page(Run.from_texts(result, [f"text {row}" for row in range(200)]))
    for words in ("the cosine of their vectors is at least 0.9", "1 vector of zeros", "is found with probability 99"):
        assert words in page
    assert "<!doctype html>" == report_page(Run.from_texts(result, [None] * 200))[:15]
    with pytest.raises(ParameterError, match="one per row"):
        Run.from_texts(result, ["text"])
