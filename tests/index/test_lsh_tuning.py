"""LSHIndex.tune: the target recall, within the limits, and the ground truth that it measures with."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import nearkin as nk
import reference
from nearkin.errors import ForgottenTuningWarning, InputError, ParameterError
from nearkin.families import CrossPolytope, Hyperplane, PStable, SparseSimHash, SphericalHash
from nearkin.index import lsh_tuning
from nearkin.index.lsh_params import Settings
from nearkin.index.lsh_tuning import FitSample, TrialCount, true_neighbours
from nearkin.vectors.arrays import Metric, as_rows


def clustered(seed: int, n: int, d: int = 16) -> Any:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, d)) * 2
    return centres[rng.integers(0, 40, n)] + rng.normal(size=(n, d)) * 0.5


@pytest.mark.parametrize(
    ("family", "options"),
    [
        (Hyperplane(bits=128, center=True), {"metric": "l2"}),
        (Hyperplane(bits=64), {"filter": "buckets", "num_probes": 8}),
        (PStable(), {"num_probes": 1}),
        pytest.param(Hyperplane(bits=64), {"metric": "inner_product"}, marks=pytest.mark.slow),
        pytest.param(PStable(), {}, marks=pytest.mark.slow),
        pytest.param(PStable(metric="l1"), {}, marks=pytest.mark.slow),
        pytest.param(CrossPolytope(), {}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_wanted_recall_is_reached_on_other_queries(family: Any, options: dict[str, Any]) -> None:
    """100 new vectors of the same distribution: the recall of their 1,000 neighbours varies by less than 0.05."""
    whole = clustered(1, 1100)
    whole += 0.3 - whole.mean(axis=0)
    X, Q = whole[:1000], whole[1000:]
    index = nk.LSHIndex(family, **options)
    tuning = index.tune(X, recall=0.9, k=10).tuning
    assert tuning is not None
    assert tuning.measured_recall >= tuning.recall_lower_bound >= 0.9
    true = [[far for _, far in reference.nearest(index.settings_.metric, q, X, range(len(X)), 10)] for q in Q]
    assert index.recall(Q, true) >= 0.87, tuning
    assert asdict(tuning) == index.explain()["tuning"]
    if "num_probes" in options:
        assert options["num_probes"] == index.settings_.num_probes


@pytest.mark.parametrize("target", [0.8, 0.9, 0.97])
def test_no_more_is_ranked_than_the_recall_needs(target: float) -> None:
    """The lower bound of the measured recall is just above the target."""
    X = clustered(11, 3000) + 0.3
    settings = nk.LSHIndex(Hyperplane(128, center=True), filter="codes", metric="l2").tune(X, recall=target)
    assert settings.tuning is not None
    # 31 rows are re-ranked at 0.8, and each is one step.
    assert target <= settings.tuning.recall_lower_bound < target + 0.015
    assert settings.num_candidates == settings.tuning.expected_candidates


def test_sparse_rows_cost_their_values_and_not_their_dimensions() -> None:
    """Adding empty columns hardly changes the expected time; only the sample differs."""
    rng = np.random.default_rng(13)
    narrow = csr_array(np.where(rng.random((600, 200)) < 0.1, rng.random((600, 200)), 0.0) + np.eye(600, 200))
    wide = csr_array((narrow.data, narrow.indices, narrow.indptr), shape=(600, 20_000))
    times = []
    for X in (narrow, wide):
        tuning = nk.LSHIndex(SparseSimHash(256)).tune(X, recall=0.8).tuning
        assert tuning is not None
        times.append(tuning.expected_microseconds)
    assert times[1] == pytest.approx(times[0], rel=0.1)


def test_no_more_tables_or_probes_are_taken_than_the_recall_needs() -> None:
    """The lower bound of the measured recall is within one table's contribution of the target."""
    X = clustered(12, 2000) + 0.3
    index = nk.LSHIndex(PStable(), hashes_per_table=6)
    tuning = index.tune(X, recall=0.9).tuning
    assert tuning is not None
    assert 0.9 <= tuning.recall_lower_bound < 0.94


@pytest.mark.filterwarnings("ignore::nearkin.errors.ConvergenceWarning")
def test_codes_by_spherical_distance_are_tuned() -> None:
    """The expected recall counts ranks by the distance in use; it is within 0.1 of the measured one."""
    X = clustered(5, 1500)
    index = nk.LSHIndex(SphericalHash(bits=64), filter="codes", rank="spherical")
    settings = index.tune(X, recall=0.9, k=10)
    assert ("codes", "spherical") == (settings.filter, settings.rank)
    assert settings.tuning is not None
    assert settings.tuning.recall_lower_bound >= 0.9
    assert 200 > settings.num_candidates


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vec_sift_bsds", "vec_cifar10_gist512", "vec_mnist10k", "vec_20news_lsa96"])
def test_new_queries_of_real_vectors_get_the_wanted_recall(shared: Path, name: str) -> None:
    """1,000 queries from other images or messages reach at least the target minus 0.01."""
    z = np.load(shared / "data" / f"{name}.npz")
    X, Q = z["base"].astype(np.float32), z["queries"].astype(np.float32)
    family = Hyperplane(256, center=True, orthogonal=True)
    for target in (0.8, 0.9, 0.95):
        index = nk.LSHIndex(family, metric="l2", filter="codes")
        tuning = index.tune(X, recall=target).tuning
        assert index.recall(Q, z["l2_distances"][:, :10]) >= target - 0.01, (target, tuning)


@pytest.mark.parametrize("name", ["vec_sift_bsds", "vec_cifar10_gist512", "vec_mnist10k", "vec_20news_lsa96"])
def test_cells_out_of_reach_hold_hardly_a_neighbour(shared: Path, name: str) -> None:
    """Skipping unreachable partitions loses at most one neighbour in two hundred.

    A radius search skips only the farthest partition.
    """
    z = np.load(shared / "data" / f"{name}.npz")
    X, Q, true = z["base"].astype(np.float32), z["queries"].astype(np.float32), z["l2_distances"][:, :10]
    family = Hyperplane(None, orthogonal="hadamard")
    index = nk.LSHIndex(family, rank="estimate", filter="partitions", metric="l2", recall=0.99).fit(X)
    cells = index.settings_.num_partitions
    assert cells is not None
    every = index.recall(Q, true, num_probes=cells)
    assert every >= 0.99
    assert every - 0.005 <= index.recall(Q, true, num_probes=cells - 1) <= every
    radius = float(np.median(true[:, -1]))
    within = [len(index.search(Q, radius, num_probes=probes).ids) for probes in (cells, cells - 1)]
    assert 0.999 * within[0] <= within[1] <= within[0]


@pytest.mark.slow
def test_probing_needs_an_eighth_of_the_tables_on_real_vectors(shared: Path) -> None:
    """SIFT, 12 hyperplanes per table: 8 tables with 32 probes, or 3 with 128, reach recall 0.9; 64 with one do not."""
    z = np.load(shared / "data" / "vec_sift_bsds.npz")
    X, Q = z["base"].astype(np.float32), z["queries"][:200].astype(np.float32)
    true = z["l2_distances"][:200, :10]

    def recall(tables: int, probes: int) -> float:
        family = Hyperplane(center=True)
        index = nk.LSHIndex(family, tables, hashes_per_table=12, num_probes=probes, metric="l2")
        return index.fit(X).recall(Q, true)

    assert recall(8, 32) >= 0.9
    assert recall(3, 128) >= 0.9
    assert recall(64, 1) < 0.9


def test_memory_and_tables_limit_the_choice() -> None:
    """Choices respect the limits, and an error is raised if none reaches the recall."""
    X = clustered(2, 600)
    tight = nk.LSHIndex(PStable(), num_probes=32).tune(X, recall=0.9, memory=12 * 600 * 3)
    assert tight.num_tables <= 3
    with pytest.raises(ParameterError, match="recall"):
        nk.LSHIndex(PStable(), num_probes=1, hashes_per_table=30).tune(X, recall=0.99, max_tables=2)


def test_bad_wishes_are_refused() -> None:
    X = clustered(3, 100)
    for wish in ({"recall": 0.0}, {"recall": 1.0}, {"k": 0}, {"memory": 0}, {"max_tables": 0}):
        with pytest.raises(ParameterError):
            nk.LSHIndex(PStable()).tune(X, **wish)
    with pytest.raises(InputError, match="too few"):
        nk.LSHIndex(PStable()).tune(X[:10], k=10)


def test_the_same_seed_gives_the_same_index() -> None:
    X = clustered(4, 300)
    left, right = (nk.LSHIndex(PStable(), num_probes=4, hashes_per_table=4).tune(X, seed=3) for _ in range(2))
    assert left == right


def scaled(factor: float) -> tuple[Any, Any, Any]:
    """Return 1,000 rows, 100 new queries, and the distances of their true ten nearest, all multiplied by a factor."""
    whole = clustered(1, 1100)
    X, Q = factor * whole[:1000], factor * whole[1000:]
    return X, Q, [[far for _, far in reference.nearest("l2", q, X, range(1000), 10)] for q in Q]


@pytest.mark.parametrize("again", ["fit", "tune"])
def test_fitting_again_chooses_everything_anew(again: str) -> None:
    """Vectors 1,000 times as long get the settings and the recall of a fresh index."""
    X, Q, true = scaled(1000.0)
    used, fresh = (nk.LSHIndex(PStable(seed=1), num_probes=4) for _ in range(2))
    used.tune(X / 1000, recall=0.9)
    if again == "fit":
        with pytest.warns(ForgottenTuningWarning, match=r"num_tables=\d+ becomes 16, .*width=5\.\d+ becomes 7,?808"):
            used.fit(X)
        fresh.fit(X)
    else:
        for index in (used, fresh):
            index.tune(X, recall=0.9)
    assert fresh.settings_ == used.settings_
    assert fresh.recall(Q, true) == used.recall(Q, true)
    assert used.recall(Q, true) >= 0.85


def test_a_fit_warns_of_tuned_cells_that_it_replaces() -> None:
    """A second fit would silently change the probes; as an error, the warning leaves the index tuned."""
    X = clustered(2, 3000)
    index = nk.LSHIndex(Hyperplane(None, orthogonal="hadamard"), rank="estimate", filter="partitions", metric="l2")
    tuned = index.tune(X, recall=0.99)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ForgottenTuningWarning, match=f"num_probes={tuned.num_probes} becomes "):
            index.fit(X)
    assert index.settings_ is tuned
    with pytest.warns(ForgottenTuningWarning):
        index.fit(X)
    index.fit(X)


@pytest.mark.filterwarnings("ignore::nearkin.errors.ForgottenTuningWarning")
@pytest.mark.parametrize(
    ("family", "options"),
    [
        (PStable(seed=1), {"hashes_per_table": 4}),
        (PStable(width=7.0), {"num_tables": 12, "num_probes": 8}),
        (Hyperplane(bits=64, center=True), {"metric": "l2"}),
        (Hyperplane(bits=64), {"metric": "inner_product"}),
        (Hyperplane(bits=64, center=True), {"metric": "l2", "num_candidates": 300}),
    ],
    ids=str,
)
def test_given_parameters_never_change(family: Any, options: dict[str, Any], tmp_path: Path) -> None:
    """The family is unchanged, and explicit and chosen parameters together form the settings, also in a file."""
    X = clustered(8, 400) + 0.1
    index = nk.LSHIndex(family, **options)
    before, params = index.params, family.get_params()
    for act in (index.fit, index.tune, index.fit):
        act(X)
        settings = index.settings_
        assert before == index.params == nk.LSHIndex(family, **options).params
        assert params == family.get_params()
        for name, value in options.items():
            assert value == getattr(settings, name)
            assert name not in settings.chosen
            assert name in settings.explicit
        index.save(tmp_path / "index")
        opened = nk.LSHIndex.open(tmp_path / "index")
        assert settings == opened.settings_
        assert str(before) == str(opened.params)
        opened.fit(10 * X)
        index.fit(10 * X)
        assert index.settings_ == opened.settings_


def test_a_given_number_of_tables_or_candidates_is_kept_or_refused() -> None:
    """If it is too small for the recall, the error names the target; it is never exceeded."""
    X = clustered(8, 400) + 0.1
    enough = nk.LSHIndex(PStable(), 200, hashes_per_table=2, num_probes=1).tune(X, recall=0.5)
    assert (200, 2, 1) == (enough.num_tables, enough.hashes_per_table, enough.num_probes)
    for index in (nk.LSHIndex(PStable(), 1, hashes_per_table=12), nk.LSHIndex(Hyperplane(), num_candidates=11)):
        with pytest.raises(ParameterError, match="given parameters"):
            index.tune(X, recall=0.99)


def test_a_failed_fit_or_tuning_leaves_the_index_as_it_was() -> None:
    """Bad ids are detected last, after everything is built."""
    X = clustered(8, 400) + 0.1
    index = nk.LSHIndex(Hyperplane(bits=64, center=True)).fit(X[:100])
    hits, settings = index.nearest(X[:5], 3), index.settings_
    for call in (
        lambda: index.fit(np.float32(X), ["twice"] * 400),
        lambda: index.tune(np.float32(X[:, :4]), ["twice"] * 400),
        lambda: index.tune(X, recall=0.9999, memory=1),
    ):
        with pytest.raises(ParameterError):
            call()
        assert settings == index.settings_
        assert hits.distances.tolist() == index.nearest(X[:5], 3).distances.tolist()


def test_rows_of_zeros_are_no_queries_for_inner_products() -> None:
    """They are indexed, but tuning skips them as queries."""
    X = clustered(9, 300)
    X[::3] = 0.0
    tuning = nk.LSHIndex(Hyperplane(bits=128), metric="inner_product").tune(X, recall=0.8, k=5).tuning
    assert tuning is not None
    assert tuning.recall_lower_bound >= 0.8
    with pytest.raises(InputError, match="not zero"):
        nk.LSHIndex(Hyperplane(bits=128), metric="inner_product").tune(0 * X, recall=0.8, k=5)


def test_ids_that_can_be_read_once_are_read_once() -> None:
    """Tuning may build several indexes; the ids of all come from the same iterator."""
    X = clustered(10, 200)
    index = nk.LSHIndex(PStable(), num_probes=4, hashes_per_table=4)
    index.tune(X, (f"row {i}" for i in range(200)), recall=0.9, k=3)
    assert "row 7" == index.nearest(X[7:8], 1).ids[0]


@pytest.mark.parametrize("metric", ["l2", "l1", "cosine", "inner_product"])
@pytest.mark.parametrize("form", [np.float32, np.float64, csr_array])
def test_true_neighbours_are_those_of_brute_force(metric: Metric, form: Any) -> None:
    """The row itself is excluded; distances agree to the last digits."""
    X = clustered(0, 300).astype(np.float32)
    queries = np.array([0, 7, 299])
    rows, far = true_neighbours(as_rows(form(X)), queries, metric, 5)
    for position, query in enumerate(queries):
        expected = reference.nearest(metric, X[query], X, set(range(300)) - {int(query)}, 5)
        assert [row for row, _ in expected] == rows[position].tolist()
        assert np.allclose([distance for _, distance in expected], far[position], rtol=1e-6)


@pytest.mark.parametrize("metric", ["l2", "l1", "cosine", "inner_product"])
@pytest.mark.parametrize("block", [1, 50, 10_000])
def test_blocks_change_nothing(metric: Metric, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks may have fewer rows than neighbours, and queries may be at the ends of blocks."""
    rows = as_rows(clustered(1, 60))
    queries = np.array([0, 9, 10, 59])
    positions, far = true_neighbours(rows, queries, metric, 7)
    monkeypatch.setattr(lsh_tuning, "_BLOCK", block)
    again, other = true_neighbours(rows, queries, metric, 7)
    assert positions.tolist() == again.tolist()
    assert far.tolist() == other.tolist()
    assert not (positions == queries[:, None]).any()


def test_copies_are_neighbours_at_no_distance() -> None:
    """A row is excluded by its position, not its values; equal rows are sorted by position."""
    X = np.ones((6, 3))
    positions, far = true_neighbours(as_rows(X), np.array([2]), "l2", 3)
    assert [[0, 1, 3]] == positions.tolist()
    assert [[0.0, 0.0, 0.0]] == far.tolist()


@pytest.mark.parametrize("filter_", ["buckets", "partitions"])
def test_progress_of_tune_names_each_stage(filter_: str) -> None:
    """Every stage ends at its total, trials last, and the settings are those of a call without progress."""
    X = np.random.default_rng(3).standard_normal((400, 8)).astype(np.float32)
    last: dict[str, tuple[int, int | None]] = {}

    def report(stage: str, done: int, total: int | None) -> None:
        last.pop(stage, None)
        last[stage] = (done, total)

    def new_index() -> nk.LSHIndex:
        if filter_ == "buckets":
            return nk.LSHIndex(PStable(width=4.0), num_probes=8, hashes_per_table=4)
        return nk.LSHIndex(metric="cosine", filter="partitions")

    assert new_index().tune(X, k=5) == new_index().tune(X, k=5, progress=report)
    assert all(done == total for done, total in last.values())
    assert ["neighbours", *(["choose"] if filter_ == "buckets" else []), "index", "measure"] == list(last)


@pytest.mark.parametrize("chosen", [False, True])
def test_progress_of_fit_names_each_stage(chosen: bool) -> None:
    """Rows are counted, and measurements if partitions are chosen; the last event reports completion."""
    X = np.random.default_rng(3).standard_normal((6000 if chosen else 50, 8)).astype(np.float32)
    events: list[tuple[str, int, int | None]] = []
    index = nk.LSHIndex(metric="cosine").fit(X, progress=lambda *event: events.append(event))
    assert nk.LSHIndex(metric="cosine").fit(X).settings_ == index.settings_
    assert [("index", 0, len(X)), ("index", len(X), len(X))] == events[:2]
    assert events[-1][1] == events[-1][2]
    assert ({"index", "neighbours", "measure"} if chosen else {"index"}) == {stage for stage, _, _ in events}


def fit_sample(target: float, ranks: Any) -> FitSample:
    """Return a sample whose neighbours have these ranks."""
    limits = np.zeros(len(ranks))
    return FitSample(target, limits, limits, ranks[:, :10], ranks[:64], 6000, TrialCount(lambda *_: None))


def test_probes_of_a_fit_make_up_for_what_searches_miss() -> None:
    """The fewest partitions have the target's share of neighbours, minus the share that is lost in them."""
    ranks = np.random.default_rng(1).geometric(0.1, (4000, 100)) - 1
    sample = fit_sample(0.9, ranks)
    for k, lost in ((10, 0.0), (10, 0.05), (10, 0.09), (100, 0.0)):
        probes = sample.min_probes(k, 200, lost)
        # The share of the first p partitions is 1 - 0.9^p; the interval of the sample is less than 0.02 wide.
        assert 1 - 0.9 ** (probes - 2) < 0.9 + lost + 0.01, (k, lost)
        assert 1 - 0.9**probes > 0.9 + lost, (k, lost)
    assert 200 == sample.min_probes(10, 200, 0.2)
    few = Settings("partitions", num_probes=20, num_partitions=200)
    assert 1 - 0.9**20 == pytest.approx(sample.lost(few), abs=0.01)  # Nothing was measured.


@pytest.mark.parametrize("needed", [0.5, 0.75, 0.81, 0.9, 0.905, 0.95, 0.99])
def test_a_fit_finds_the_smallest_bound_of_codes_with_few_measurements(
    needed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds allow 2 to 32 times the misses in steps of the square root of 2, or keep the guarantee."""
    tried: list[float] = []

    def measure(self: FitSample, index: Any, trial: Settings) -> Settings:
        tried.append(float(trial.recall or 0))
        return trial

    monkeypatch.setattr(FitSample, "measure", measure)
    monkeypatch.setattr(FitSample, "reaches", lambda self, trial: trial.recall >= needed)
    built = nk.LSHIndex(guarantee=True, recall=0.95).fit(np.eye(50))
    chosen = lsh_tuning.measured_codes(built, fit_sample(0.95, np.zeros((64, 100), dtype=np.int64)))
    bounds = [max(0.5, 1 - 0.05 * 2 ** (step / 2)) for step in range(10, 1, -1)]
    assert chosen.recall == pytest.approx(next((bound for bound in bounds if bound >= needed), 0.95))
    assert len(tried) <= 4


def test_a_fit_measures_few_numbers_of_probes() -> None:
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((60, 24))[rng.integers(0, 60, 6000)] + 0.5 * rng.standard_normal((6000, 24))).astype("f4")
    measured: list[int] = []
    nk.LSHIndex(recall=0.95).fit(
        X, progress=lambda stage, done, _: measured.append(done) if stage == "measure" else None
    )
    assert 1 <= max(measured) <= 3
