"""Settings of an LSHIndex: rejected values, automatic choices, and `settings_`."""

from __future__ import annotations

import dataclasses
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import LongVectorsWarning, ParameterError
from nearkin.families import (
    ITQ,
    BitSampling,
    CrossPolytope,
    Hyperplane,
    KernelLSH,
    PStable,
    RandomFourier,
    ShiftInvariant,
    SphericalHash,
)
from nearkin.index.lsh_params import (
    METRICS,
    IndexParams,
    Settings,
    choose_settings,
    explain_filter,
    resolve_max_norm,
    resolve_settings,
)
from nearkin.vectors.arrays import as_rows

X = np.random.default_rng(0).standard_normal((300, 8))


@pytest.mark.parametrize(
    ("family", "metric"),
    [
        (Hyperplane(), "cosine"),
        (CrossPolytope(), "cosine"),
        (PStable(), "l2"),
        (PStable("l1"), "l1"),
        (BitSampling(), "l1"),
        (SphericalHash(), "l2"),
        (ITQ(), "l2"),
        (ShiftInvariant(), "l2"),
        (KernelLSH(), "l2"),
    ],
    ids=str,
)
def test_the_metric_is_the_one_that_goes_with_the_family(family: Any, metric: str) -> None:
    assert metric == IndexParams(family=family).check()


@pytest.mark.parametrize(
    ("family", "served"),
    [
        (Hyperplane(), {"cosine", "l2", "l1", "inner_product"}),
        (CrossPolytope(), {"cosine", "l2", "l1", "inner_product"}),
        (PStable(), {"l2"}),
        (PStable("l1"), {"l1"}),
        (BitSampling(limits="auto"), {"l1"}),
        (BitSampling(), {"l1", "l2"}),
        (SphericalHash(), {"l2"}),
        (ITQ(), {"l2"}),
        (ShiftInvariant(), {"l2"}),
        (KernelLSH(), {"l2", "l1", "cosine"}),
    ],
    ids=lambda value: ",".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_metrics_that_the_family_does_not_serve_are_refused(family: Any, served: set[Any]) -> None:
    """The error names the metrics that it serves."""
    for metric in METRICS:
        params = IndexParams(family=family, metric=metric)  # type: ignore[arg-type]
        if metric in served:
            assert metric == params.check()
            continue
        with pytest.raises(ParameterError, match=type(family).__name__) as error:
            params.check()
        assert "metric" == error.value.name
        assert all(f'"{name}"' in error.value.allowed for name in served)


@pytest.mark.parametrize(
    ("family", "probes"),
    [
        (Hyperplane(), 16),
        (PStable(), 16),
        (CrossPolytope(), 16),
        (CrossPolytope(last_dims=1), 1),
    ],
    ids=str,
)
def test_tables_are_probed_wherever_the_family_has_margins(family: Any, probes: int) -> None:
    """It does not matter whether the index was fitted before."""
    for variant in (family, family.resized(2).fit(X)):
        index = nk.LSHIndex(variant, filter="buckets").fit(X)
        assert probes == index.settings_.num_probes
        assert 5 == len(index.nearest(X[:5], 1))


@pytest.mark.parametrize(
    ("params", "name"),
    [
        (IndexParams(family="hyperplane"), "family"),  # type: ignore[arg-type]
        (IndexParams(family=RandomFourier()), "family"),
        (IndexParams(family=Hyperplane(), filter="trees"), "filter"),  # type: ignore[arg-type]
        (IndexParams(family=PStable(), filter="codes"), "filter"),
        (IndexParams(family=Hyperplane(), num_tables=0), "num_tables"),
        (IndexParams(family=Hyperplane(), num_tables=True), "num_tables"),
        (IndexParams(family=Hyperplane(), hashes_per_table=(1 << 16) + 1), "hashes_per_table"),
        (IndexParams(family=Hyperplane(), num_probes=(1 << 20) + 1), "num_probes"),
        (IndexParams(family=Hyperplane(), filter="codes", num_probes=2), "num_probes"),
        (IndexParams(family=Hyperplane(), num_candidates=-1), "num_candidates"),
        (IndexParams(family=Hyperplane(), filter="buckets", num_candidates=5), "num_candidates"),
        (IndexParams(family=Hyperplane(), rank="cosine"), "rank"),  # type: ignore[arg-type]
        (IndexParams(family=PStable(), rank="spherical"), "rank"),
        (IndexParams(family=Hyperplane(), metric="l3"), "metric"),  # type: ignore[arg-type]
        (IndexParams(family=PStable(), metric="inner_product"), "metric"),
    ],
    ids=str,
)
def test_what_can_not_be_is_refused_by_name(params: IndexParams, name: str) -> None:
    with pytest.raises(ParameterError, match="is not allowed; use") as error:
        params.check()
    assert name == error.value.name


def test_codes_are_scanned_where_bits_are_few_and_nothing_is_said_of_tables() -> None:
    """Otherwise tables are built; the reason is reported."""
    rows = as_rows(X)
    for params, expected, reason in (
        (IndexParams(family=Hyperplane(64)), "codes", "scanned faster"),
        (IndexParams(family=Hyperplane(64), filter="codes"), "codes", "was given"),
        (IndexParams(family=Hyperplane(64), filter="buckets"), "buckets", "was given"),
        (IndexParams(family=Hyperplane(64), num_probes=2), "buckets", "parameters of tables"),
        (IndexParams(family=Hyperplane(1025)), "buckets", "more than"),
        (IndexParams(family=PStable(width=1.0)), "buckets", "integers"),
    ):
        settings = resolve_settings(params, params.check(), None, rows.dense())
        assert expected == settings.filter
        assert reason in explain_filter(params, settings, 300)
    with pytest.raises(ParameterError, match="bits"):
        resolve_settings(IndexParams(family=Hyperplane(1025), filter="codes"), "cosine", None, X)
    with pytest.raises(ParameterError, match="num_candidates"):
        resolve_settings(IndexParams(family=Hyperplane(1025), num_candidates=5), "cosine", None, X)


@pytest.mark.parametrize("n", [1, 2, 3, 300])
def test_hashes_per_table_leave_about_one_random_row_per_bucket(n: int) -> None:
    """The number is ln n / -ln p, rounded up, where p is the law's for random rows; 1 if p is unknown."""
    settings = resolve_settings(IndexParams(family=Hyperplane(64), num_tables=4), "cosine", None, X[:n])
    assert (4, 16) == (settings.num_tables, settings.num_probes)
    if n < 3:
        assert 1 == settings.hashes_per_table
    elif n == 300:
        # Random directions agree on half of the bits: log2 300 = 8.2. The share of 300 x 64 bits varies by 0.02.
        assert settings.hashes_per_table in (8, 9)
    equal = resolve_settings(IndexParams(family=PStable(width=1.0)), "l2", None, np.ones((50, 3)))
    assert 1 == equal.hashes_per_table


def test_what_was_left_open_is_what_was_chosen() -> None:
    """`chosen` names the settings of the filter in use, the metric, the maximum norm and the width."""
    counts = {"num_tables": 7, "hashes_per_table": 5, "num_probes": 3}
    tables = choose_settings(IndexParams(family=PStable(), num_probes=3), "l2", "buckets", **counts)
    assert ("filter", "num_tables", "hashes_per_table", "metric", "width") == tables.chosen
    params = IndexParams(family=PStable(width=2.0), num_tables=7, metric="l2", filter="buckets")
    assert ("hashes_per_table", "num_probes") == choose_settings(params, "l2", "buckets", **counts).chosen
    params = IndexParams(family=Hyperplane(), metric="inner_product", rank="spherical")
    codes = choose_settings(params, "inner_product", "codes", 2.0, num_candidates=9)
    assert ("filter", "num_candidates", "max_norm") == codes.chosen
    assert ("rank", "metric") == codes.explicit
    params = IndexParams(family=Hyperplane(), metric="inner_product", max_norm=2.0)
    codes = choose_settings(params, "inner_product", "codes", 2.0, num_candidates=9)
    assert ("filter", "num_candidates") == codes.chosen


def test_settings_show_what_applies_and_can_not_be_changed() -> None:
    assert "Settings(filter='codes', num_candidates=9, rank='hamming', metric='l2', chosen=())" == repr(
        Settings("codes", num_candidates=9)
    )
    assert (
        "Settings(filter='buckets', num_tables=3, hashes_per_table=2, num_probes=1, metric='l1', width=0.5, "
        "chosen=('width',))"
    ) == repr(Settings("buckets", 3, 2, 1, metric="l1", width=0.5, chosen=("width",)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings("codes").num_candidates = 3  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        nk.LSHIndex(Hyperplane()).params.num_tables = 3  # type: ignore[misc]


def test_the_longest_vector_is_learned_or_given() -> None:
    """Only inner products use it; it is 1 for rows of zeros."""
    rows = as_rows(np.array([[3.0, 4.0], [1.0, 0.0]]))
    open_one = IndexParams(family=Hyperplane(), metric="inner_product")
    assert 5.0 == resolve_max_norm(open_one, "inner_product", rows)
    assert resolve_max_norm(open_one, "cosine", rows) is None
    assert 1.0 == resolve_max_norm(open_one, "inner_product", as_rows(np.zeros((3, 2))))
    assert 9.0 == resolve_max_norm(dataclasses.replace(open_one, max_norm=9), "inner_product", rows)
    for bad in (0.0, -1.0, float("inf"), float("nan"), "long"):
        with pytest.raises(ParameterError, match="max_norm"):
            resolve_max_norm(dataclasses.replace(open_one, max_norm=bad), "inner_product", rows)  # type: ignore[arg-type]


def test_parameters_of_one_call_apply_to_the_filter() -> None:
    """They override the settings of that call only; parameters that the filter does not use are rejected."""
    codes = nk.LSHIndex(Hyperplane(64), filter="codes", num_candidates=9).fit(X)
    tables = nk.LSHIndex(Hyperplane(64), 3, hashes_per_table=2, num_probes=1).fit(X)
    assert (0, 9, 0.0, None) == codes._search_params(None, None, None)
    assert (0, 20, 0.0, None) == codes._search_params(None, 20, None)
    assert (5, 0, 0.0, None) == tables._search_params(5, None, None)
    for index, probes, candidates in ((codes, 5, None), (tables, None, 5), (codes, None, 0), (tables, 0, None)):
        with pytest.raises(ParameterError):
            index._search_params(probes, candidates, None)


@pytest.mark.parametrize("tuned", [False, True])
def test_a_few_very_long_vectors_are_told_once_for_inner_products(tuned: bool) -> None:
    """The warning appears above four times the median norm, for learned and explicit norms; other metrics have none."""
    long = X / np.linalg.norm(X, axis=1, keepdims=True)

    def make(**options: Any) -> nk.LSHIndex:
        return nk.LSHIndex(Hyperplane(64), metric="inner_product", **options)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(long)
        make(max_norm=4.0).fit(long)
        make(max_norm=4.0).fit(np.vstack([long, np.zeros((500, 8))]))
        make().fit(np.zeros((3, 8)))
        long[0] *= 5
        nk.LSHIndex(Hyperplane(64)).fit(long)
    for options, result in (
        ({}, "the longest vector has the norm 5, 5 times"),
        ({"max_norm": 7.0}, "max_norm is 7, 7 ti"),
    ):
        index = make(**options)
        act = partial(index.tune, recall=0.5, k=2) if tuned else index.fit
        with pytest.warns(LongVectorsWarning, match=result) as record:
            act(long)
        assert 1 == len(record)
        assert __file__ == record[0].filename
        assert "1 of 300" in str(record[0].message)
