"""Ranking by estimates: the guaranteed recall, exact cases against brute force, every entry point, every error."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, NotFittedError, ParameterError, UnmeasuredRecallWarning
from nearkin.families import CrossPolytope, Hyperplane

METRICS = ("l2", "cosine", "inner_product")


def hadamard(seed: int = 0, bits: int | None = None) -> Hyperplane:
    return Hyperplane(bits, orthogonal="hadamard", seed=seed)


def index(**options: Any) -> nk.LSHIndex:
    return nk.LSHIndex(hadamard(options.pop("seed", 0)), rank="estimate", **options)


def grouped(seed: int, n: int, d: int) -> Any:
    """Draw rows around twelve points away from the origin."""
    rng = np.random.default_rng(seed)
    centres = 2 * rng.standard_normal((12, d)) + 3
    return (centres[rng.integers(0, 12, n)] + 0.6 * rng.standard_normal((n, d))).astype(np.float32)


def apart(X: Any, Q: Any, metric: str) -> Any:
    """Distances of all queries to all rows."""
    X, Q = np.asarray(X, np.float64), np.asarray(Q, np.float64)
    if metric == "inner_product":
        return -Q @ X.T
    if metric == "cosine":
        X, Q = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, Q))
        return np.maximum(1 - Q @ X.T, 0)
    return np.sqrt(np.maximum(((Q[:, None] - X[None]) ** 2).sum(axis=2), 0))


def share(result: nk.LSHIndex, X: Any, Q: Any, k: int, metric: str, **options: Any) -> float:
    return result.recall(Q, np.sort(apart(X, Q, metric), axis=1)[:, :k], tolerance=1e-4, **options)


@pytest.mark.parametrize("rotation", ["hadamard", "dense"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("target", [0.5, 0.9, 0.99])
def test_codes_deliver_what_their_law_promises_on_any_data(metric: Any, target: float, rotation: Any) -> None:
    rng = np.random.default_rng(3)
    sets = {
        "grouped": (grouped(1, 3000, 40), grouped(1, 3030, 40)[3000:]),
        "gaussian": (rng.standard_normal((3000, 48)), rng.standard_normal((30, 48))),
        "signs": (rng.choice([-1.0, 1.0], (3000, 24)), rng.choice([-1.0, 1.0], (30, 24))),
        "one-hots": (np.eye(64)[rng.integers(0, 64, 3000)] + 1e-3 * rng.random((3000, 64)), np.eye(64)[:30] + 0.01),
    }
    for name, (X, Q) in sets.items():
        families = [Hyperplane(None, orthogonal=rotation, seed=seed) for seed in range(4)]
        built = [nk.LSHIndex(family, rank="estimate", metric=metric, recall=target).fit(X) for family in families]
        recalls = [share(result, X, Q, 10, metric) for result in built]
        assert target <= np.mean(recalls), name


@pytest.mark.parametrize("filter", ["codes", "partitions"])
@pytest.mark.parametrize("metric", METRICS)
def test_with_a_low_bound_and_all_cells_nothing_is_lost(metric: Any, filter: Any) -> None:
    X, Q = grouped(2, 900, 20), grouped(5, 20, 20)
    options = {"num_partitions": 9, "num_probes": 9} if filter == "partitions" else {}
    built = index(metric=metric, filter=filter, recall=1 - 1e-12, **options).fit(X)
    truth = apart(X, Q, metric)
    hits = built.nearest(Q, k=7)
    np.testing.assert_allclose(hits.distances.reshape(20, 7), np.sort(truth, axis=1)[:, :7], rtol=1e-3, atol=2e-5)
    radius = float(np.quantile(truth, 0.02))
    within = built.search(Q, radius)
    assert (truth <= radius - 1e-4).sum() <= len(within.ids) <= (truth <= radius + 1e-4).sum()


def test_answers_depend_on_no_batch_and_survive_a_file_and_a_pickle(tmp_path: Path) -> None:
    X, Q = grouped(1, 2000, 70), grouped(7, 40, 70)
    for options in ({"filter": "codes"}, {"filter": "partitions", "num_partitions": 20, "num_probes": 3}):
        built = index(metric="l2", recall=0.8, **options).fit(X)
        hits = built.nearest(Q, k=5)
        singles = [built.nearest(Q[i : i + 1], k=5) for i in range(len(Q))]
        assert hits.ids.tolist() == [i for single in singles for i in single.ids]
        built.save(tmp_path / "index", overwrite=True)
        opened = nk.LSHIndex.open(tmp_path / "index")
        opened.verify()
        assert built.settings_ == opened.settings_
        assert repr(built.params) == repr(opened.params)
        for other in (opened, pickle.loads(pickle.dumps(built))):  # noqa: S301 it is our own
            assert hits.ids.tolist() == other.nearest(Q, k=5).ids.tolist()
            other.add(None, Q)
            assert list(range(2000, 2040)) == other.nearest(Q, k=1).ids.tolist()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=30), st.sampled_from(["codes", "partitions"]))
def test_additions_and_removals_are_seen_at_once(steps: list[tuple[int, bool]], filter: Any) -> None:
    X = grouped(4, 200, 12)
    options = {"num_partitions": 5, "num_probes": 5} if filter == "partitions" else {}
    built = index(metric="l2", filter=filter, recall=1 - 1e-12, **options).fit(
        X[:50], [f"first-{i}" for i in range(50)]
    )
    stored = {f"first-{i}": X[i] for i in range(50)}
    for number, (amount, removes) in enumerate(steps):
        if removes:
            names = list(stored)[: amount // 3]
            built.remove(names)
            for name in names:
                del stored[name]
        else:
            rows = X[(np.arange(amount) + number * 7) % 200]
            names = [f"{number}-{i}" for i in range(amount)]
            built.add(names, rows)
            stored |= dict(zip(names, rows, strict=True))
        assert len(stored) == len(built)
    if stored:
        truth = np.sort(apart(np.array(list(stored.values())), X[:3], "l2"), axis=1)[:, :4]
        np.testing.assert_allclose(built.nearest(X[:3], k=4).distances.reshape(3, -1), truth, rtol=1e-3, atol=1e-4)


def test_pairs_and_clusters_are_those_of_the_distances() -> None:
    X = grouped(6, 300, 10)
    truth = apart(X, X, "l2")
    radius = float(np.quantile(truth, 0.01))
    built = index(metric="l2", recall=1 - 1e-12).fit(X)
    pairs = built.pairs(radius)
    expected = np.argwhere(np.triu(truth <= radius, 1))
    assert len(expected) == len(pairs.left)
    assert expected.tolist() == np.column_stack([pairs.left, pairs.right]).tolist()
    assert sum(len(cluster) for cluster in built.clusters(radius, linkage="connected")) == len(np.unique(expected))


def test_auto_scans_codes_of_few_rows_and_visits_cells_of_many() -> None:
    few = index(metric="l2").fit(grouped(1, 100, 8))
    assert ("codes", 0, 0.95) == (few.settings_.filter, few.settings_.num_partitions, few.settings_.recall)
    assert "4,096 rows or fewer" in few.explain()["why"]
    X = grouped(1, 6000, 4)
    many = index(metric="l2").fit(X)
    assert "partitions" == many.settings_.filter
    explained = many.explain()
    assert many.settings_.num_partitions == explained["num_partitions"] == 47
    assert "rows as queries have a recall@10 of" in explained["why"]
    products = index(metric="inner_product").fit(X)
    assert "codes" == products.settings_.filter
    assert "a scan of all codes guarantees the recall" in products.explain()["why"]
    assert "recall=0.95" in repr(few.settings_)
    assert "num_tables" not in repr(many.settings_)


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
def test_a_fit_adds_probes_until_the_measured_recall_suffices(metric: Any, recall: float, tmp_path: Path) -> None:
    """The interval lies above the target, other queries reach it, and a file contains the measurement."""
    X = grouped(1, 6500, 24)
    X, Q = X[:6000], X[6000:]
    built = nk.LSHIndex(metric=metric, recall=recall).fit(X)
    report = built.settings_.tuning
    assert report is not None
    assert recall == report.recall
    assert recall <= report.recall_lower_bound < report.measured_recall <= (report.recall_upper_bound or 0)
    assert 0 == report.choices
    assert built.settings_.num_probes < built.settings_.num_partitions
    # The standard error of 500 queries is at most 0.007.
    assert recall - 0.02 <= share(built, X, Q, 10, metric)
    assert f"measured_recall={report.measured_recall}" in repr(built)
    assert built.settings_ == nk.LSHIndex(metric=metric, recall=recall).fit(X).settings_
    built.save(tmp_path / "index")
    opened = nk.LSHIndex.open(tmp_path / "index")
    assert (built.settings_, repr(built.params)) == (opened.settings_, repr(opened.params))
    assert built.fit(X[:5000]).settings_.tuning != report  # No warning about what fit itself chose.


def test_a_fit_scans_codes_if_too_many_partitions_would_be_visited() -> None:
    """Two thousand queries can't show a recall of .9999, and neighbours of normal vectors are in most partitions."""
    X = grouped(1, 4500, 8)
    built = nk.LSHIndex(recall=0.9999).fit(X, (str(row) for row in range(4500)))
    assert ("codes", 0.9999, None) == (built.settings_.filter, built.settings_.recall, built.settings_.tuning)
    assert "over 40%" in built.explain()["why"]
    assert "7" == built.nearest(X[7:8], k=1).ids[0]


def test_a_fit_measures_the_bound_of_codes_that_it_chooses(tmp_path: Path) -> None:
    """Ten neighbours are found with a bound that promises less; one neighbour and a radius keep the guarantee."""
    X = np.random.default_rng(0).standard_normal((5000, 20)).astype(np.float32)
    X, Q = X[:4500], X[4500:]
    built = nk.LSHIndex(recall=0.95).fit(X)
    report = built.settings_.tuning
    assert "codes" == built.settings_.filter
    assert report is not None
    assert (built.settings_.recall or 1) < 0.95 <= report.recall_lower_bound
    # The standard error of 500 queries is at most 0.007.
    assert 0.93 <= share(built, X, Q, 10, "l2")
    assert 0.93 <= share(built, X, Q, 100, "l2")
    assert 0.95 <= share(built, X, Q, 1, "l2")
    sure = built._search_params(None, None, 0.95).deviations
    for k, expected in ((1, True), (9, True), (10, False), (100, False), (None, True)):
        assert expected == (sure == built._search_params(None, None, None, k).deviations), k
    assert "rows as queries have a recall@10" in built.explain()["why"]
    built.save(tmp_path / "index")
    assert built.settings_ == nk.LSHIndex.open(tmp_path / "index").settings_


def test_the_measurement_of_a_fit_leaves_the_queries_own_rows_out() -> None:
    """The measured recall is that of brute force over the other rows, for the same partitions and probes."""
    X = grouped(1, 6000, 24)
    built = nk.LSHIndex(recall=0.6).fit(X)
    report = built.settings_.tuning
    assert report is not None
    hits = built.nearest(X[:400], 11, num_probes=built.settings_.num_probes).distances.reshape(400, 11)
    truth = np.sort(apart(X, X[:400], "l2"), axis=1)[:, 10:11]
    others = (hits[:, 1:] <= truth * (1 + 1e-4)).mean()
    assert abs(others - report.measured_recall) < 0.04


@pytest.mark.parametrize("n", [30, 5000])
@pytest.mark.parametrize("k", [1, 10, 100, 400])
def test_a_query_has_k_neighbours_for_any_k_and_more_probes_for_a_larger_one(n: int, k: int) -> None:
    X = grouped(1, n, 12)
    built = nk.LSHIndex().fit(X)
    hits = built.nearest(X[:20], k)
    assert [min(k, n)] * 20 == np.diff(hits.offsets).tolist()
    assert 0.9 <= share(built, X, X[:20], min(k, n), "l2")
    if n > 4096:
        probes = built.settings_.num_probes
        visited = built._search_params(None, None, None, k).num_probes
        assert visited == probes if k <= 10 else visited >= probes
        assert k <= 100 or visited > built._search_params(None, None, None, 100).num_probes
        assert built.settings_.num_partitions >= built._search_params(None, None, None, 10**9).num_probes


def test_a_guarantee_needs_codes_whatever_the_number_of_rows(tmp_path: Path) -> None:
    X = grouped(1, 5000, 8)
    built = nk.LSHIndex(guarantee=True, recall=0.9).fit(X)
    assert ("codes", 0.9, None) == (built.settings_.filter, built.settings_.recall, built.settings_.tuning)
    assert "guarantee=True" in built.explain()["why"]
    built.save(tmp_path / "index")
    assert nk.LSHIndex.open(tmp_path / "index").params.guarantee
    for options in ({"filter": "partitions"}, {"rank": "hamming"}, {"family": CrossPolytope()}):
        with pytest.raises(ParameterError, match="only a scan of codes has a guarantee"):
            nk.LSHIndex(guarantee=True, **options).fit(X)
    with pytest.raises(ParameterError, match="True or False"):
        nk.LSHIndex(guarantee="yes").fit(X)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"filter": "codes"},
        {"filter": "partitions"},
        {"filter": "partitions", "num_partitions": 30},
        {"metric": "inner_product"},
        {"filter": "partitions", "metric": "inner_product", "num_partitions": 150},
    ],
)
def test_tuning_reaches_the_recall_with_no_more_than_it_needs(options: dict[str, Any], tmp_path: Path) -> None:
    X, Q = grouped(1, 6000, 24), grouped(1, 6300, 24)[6000:]
    options = {"metric": "l2"} | options
    built = index(**options)
    for target in (0.8, 0.95):
        settings_ = built.tune(X, recall=target, k=10)
        tuning = settings_.tuning
        assert tuning is not None
        assert target <= tuning.recall_lower_bound <= tuning.measured_recall
        assert tuning.expected_microseconds is None
        assert target - 0.02 <= share(built, X, Q, 10, options["metric"])
        # The smallest guarantee, or the fewest partitions.
        if (settings_.recall or 0) > 0.5:
            assert tuning.recall_lower_bound <= target + 0.02
        elif options.get("filter") == "partitions":
            assert tuning.recall_lower_bound <= target + 0.06
        assert tuning.measured_recall == built.explain()["tuning"]["measured_recall"]
    built.save(tmp_path / "index")
    opened = nk.LSHIndex.open(tmp_path / "index")
    assert built.settings_ == opened.settings_
    assert "recall" in built.settings_.chosen


def test_tuning_keeps_what_was_given_and_names_what_is_too_small() -> None:
    X = grouped(2, 3000, 16)
    built = index(metric="l2", filter="partitions", num_probes=4, recall=0.9)
    settings_ = built.tune(X, recall=0.99)
    assert (4, 0.9) == (settings_.num_probes, settings_.recall)
    assert settings_.tuning is not None
    assert settings_.tuning.recall_lower_bound < 0.99
    with pytest.raises(ParameterError, match="bytes or more"):
        index(metric="l2").tune(X, memory=1000)
    assert index(metric="l2").tune(X, seed=3) == index(metric="l2").tune(X, seed=3)


def test_the_plan_of_an_index_is_shown() -> None:
    pytest.importorskip("jinja2", reason="jinja2 is not installed (nearkin[report])")
    from nearkin.report.plan import plan_page

    X = grouped(2, 600, 16)
    for filter in ("codes", "partitions"):  # noqa: A001 the name of the parameter
        built = index(metric="l2", filter=filter)
        built.tune(X, recall=0.9)
        page = plan_page(built.explain())
        assert "guaranteed recall" in page
        assert ("num partitions" in page) == ("num_partitions" in built.explain())


def test_inner_products_need_no_longest_vector() -> None:
    X, Q = grouped(3, 2000, 30), grouped(8, 20, 30)
    X[:3] *= 200
    built = index(metric="inner_product", recall=0.99).fit(X)
    assert built.settings_.max_norm is None
    assert 0.99 <= share(built, X, Q, 10, "inner_product")
    built.add(None, 1000 * X[:1])
    assert 2000 in built.nearest(np.abs(Q[:1]), k=5).ids


def test_cells_of_inner_products_are_those_of_the_largest_products() -> None:
    """A tenth of the partitions contains nearly all of the largest products, whatever the mean and the norms."""
    X, Q = grouped(3, 20_000, 30) + 2, grouped(8, 100, 30)
    X *= np.random.default_rng(4).lognormal(0, 0.5, (len(X), 1))
    built = index(metric="inner_product", filter="partitions", num_partitions=150, num_probes=15, recall=0.99).fit(X)
    assert 0.95 <= share(built, X, Q, 10, "inner_product")
    distances = built.nearest(Q, k=10).distances.reshape(100, 10)
    np.testing.assert_allclose(distances[:, 0], (-(Q @ X.T)).min(axis=1), rtol=1e-4)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"family": Hyperplane(64)}, "orthogonal"),
        ({"family": CrossPolytope()}, "orthogonal"),
        ({"filter": "buckets"}, '"codes" or "partitions"'),
        ({"num_candidates": 100}, "give recall="),
        ({"num_tables": 3}, "None with rank"),
        ({"max_norm": 3.0}, "None with rank"),
        ({"num_partitions": 3}, 'filter="partitions"'),
        ({"num_probes": 3}, 'filter="partitions"'),
        ({"metric": "l1"}, "inner_product"),
        ({"recall": 0.3}, "0.5 to below 1"),
        ({"recall": 1.0}, "0.5 to below 1"),
        ({"recall": "much"}, "0.5 to below 1"),
        ({"filter": "partitions", "num_partitions": 0}, "1 to"),
        ({"rank": "hamming", "recall": 0.9}, 'rank="estimate"'),
        ({"rank": "hamming", "filter": "partitions"}, 'rank="estimate"'),
        ({"rank": "estimates"}, '"estimate"'),
        ({"family": hadamard(bits=128)}, "64 for vectors of 8"),
    ],
)
def test_what_does_not_go_together_is_refused(params: dict[str, Any], words: str) -> None:
    X = grouped(1, 50, 8)
    options: dict[str, Any] = {"family": hadamard(), "rank": "estimate"} | params
    with pytest.raises(ParameterError, match=words):
        nk.LSHIndex(**options).fit(X)


def test_calls_that_have_no_answer_say_which_has() -> None:
    X = grouped(1, 50, 8)
    built = index(metric="l2").fit(X)
    for call, words in (
        (lambda: built.candidates(X), "nearest or search"),
        (lambda: built.expected_recall([0.9]), r"recall\(\), which measures"),
        (lambda: built.nearest(X, num_candidates=3), "give recall="),
        (lambda: built.nearest(X, num_probes=3), "codes"),
        (lambda: built.nearest(X, recall=2.0), r"0\.5 to below 1"),
        (lambda: nk.LSHIndex(Hyperplane(64)).fit(X).nearest(X, recall=0.9), "num_probes="),
        (lambda: built.search(X, 1.0, reach=0.5), "None unless an index has partitions"),
        (lambda: built.pair_effort(1.0), "'codes' for l2"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()
    cells = index(metric="cosine", filter="partitions").fit(X)
    for reach in (-0.1, float("nan"), "far"):
        with pytest.raises(ParameterError, match="a number"):
            cells.pairs(0.1, reach=reach)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a number"):
        cells.pair_effort(float("nan"))
    with pytest.raises(ParameterError, match=r"0\.5 to below 1"):
        cells.pair_effort(0.1, recall=1.0)
    with pytest.raises(NotFittedError):
        nk.LSHIndex(filter="partitions").pair_effort(0.1)
    with pytest.raises(InputError, match="single precision"):
        built.add(None, np.full((1, 8), 1e30, np.float32))
    assert 50 == len(built)
    more = built.nearest(X, k=3, recall=0.999)
    assert more.distances.sum() <= built.nearest(X, k=3, recall=0.5).distances.sum()


def test_a_radius_in_partitions_that_fit_chose_warns_once() -> None:
    """Whoever chose partitions, their number, or the effort of the call knows what they miss."""
    rng = np.random.default_rng(0)
    X = (4 * rng.standard_normal((40, 16)))[rng.integers(0, 40, 5000)] + rng.standard_normal((5000, 16))
    built = nk.LSHIndex(recall=0.9).fit(X)
    assert "partitions" == built.settings_.filter
    calls: list[Callable[..., Any]] = [partial(built.search, X[:2]), built.pairs, built.clusters]
    for call, name in zip(calls, (r"search\(radius\)", "pairs", "clusters"), strict=True):
        built.fit(X)
        built.nearest(X[:2])
        call(0.5, num_probes=3)
        call(0.5, reach=0.3)
        words = rf"^{name} visits \d+ of 39 partitions.*measured recall 0\.9\d+ .*guarantee=True, recall=0\.9\)"
        with pytest.warns(UnmeasuredRecallWarning, match=words) as record:
            call(0.5)
        assert [__file__] == [each.filename for each in record]
        # Another warning would be an error.
        call(0.5)
        built.search(X[:2], 0.5)
    for options in ({"filter": "partitions"}, {"guarantee": True}):
        nk.LSHIndex(recall=0.9, **options).fit(X).search(X[:2], 0.5)
    nk.LSHIndex().fit(X[:4000]).pairs(0.5)
