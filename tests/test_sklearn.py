"""The estimators: scikit-learn's own checks, pipelines, and graphs for other estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cluster import DBSCAN, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import nearkin.sklearn
from nearkin.families import PStable
from nearkin.sklearn import CrossPolytopeTransformer, HyperplaneTransformer, LSHTransformer, PStableTransformer

ESTIMATORS = [
    HyperplaneTransformer(8, random_state=0),
    HyperplaneTransformer(8, output="packed", random_state=0),
    PStableTransformer(4, width=1.0, random_state=0),
    CrossPolytopeTransformer(3, random_state=0),
    LSHTransformer(3, random_state=0),
    LSHTransformer(3, family=PStable(width=2.0), num_tables=4, hashes_per_table=2),
]

TEXTS = {"MinHashVectorizer", "SimHashVectorizer"}


@parametrize_with_checks(ESTIMATORS)  # type: ignore[untyped-decorator]
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [getattr(nearkin.sklearn, name)() for name in nearkin.sklearn.__all__ if name not in TEXTS]
)
def test_scikit_learns_checks_pass_with_defaults(estimator: Any, check: Any) -> None:
    """`check_estimator` passes; a check that needs a switch of another package skips itself."""
    check(estimator)


def test_every_estimator_is_checked() -> None:
    """Every estimator of the module is in scikit-learn's checks; text estimators are in test_sklearn_texts."""
    assert set(nearkin.sklearn.__all__) - TEXTS == {type(estimator).__name__ for estimator in ESTIMATORS}


def blobs() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(position, 0.6, size=(60, 6)) for position in (0, 4, 8)])
    return X, np.repeat([0, 1, 2], 60)


def test_packed_output_is_the_bits_packed() -> None:
    X, _ = blobs()
    bits = HyperplaneTransformer(21, random_state=1).fit_transform(X)
    packed = HyperplaneTransformer(21, output="packed", random_state=1).fit_transform(X)
    assert {0, 1} == set(bits.ravel().tolist())
    assert bits.tolist() == np.unpackbits(packed, axis=1, count=21, bitorder="little").tolist()
    assert (180, 3) == packed.shape


def test_the_graph_is_that_of_the_exact_transformer_where_all_are_ranked() -> None:
    X, _ = blobs()
    expected = KNeighborsTransformer(n_neighbors=7).fit_transform(X)
    result = LSHTransformer(7, num_candidates=180, random_state=0).fit_transform(X)
    assert expected.shape == result.shape
    assert np.allclose(expected.sum(axis=1), result.sum(axis=1))
    assert expected.nnz == result.nnz
    assert np.allclose(np.sort(expected.data), np.sort(result.data), atol=1e-7)


def test_graphs_serve_classifiers_and_clusterings() -> None:
    X, y = blobs()
    model = make_pipeline(LSHTransformer(5, random_state=0), KNeighborsClassifier(5, metric="precomputed"))
    assert 1.0 == model.fit(X, y).score(X, y)
    graph = LSHTransformer(20, radius=2.0, random_state=0).fit_transform(X)
    labels = DBSCAN(eps=2.0, min_samples=4, metric="precomputed").fit(graph).labels_
    assert 3 == len(set(labels[labels >= 0].tolist()))
    # More neighbours than a cluster has, so that the graph is connected.
    ones = LSHTransformer(75, mode="connectivity", random_state=0).fit_transform(X)
    symmetric = 0.5 * (ones + ones.T)
    result = SpectralClustering(3, affinity="precomputed", random_state=0).fit(symmetric).labels_
    for label in range(3):
        assert 1 == len(set(result[y == label].tolist()))


def test_hashes_are_features_of_a_pipeline() -> None:
    """Ten digits from 512 bits of hyperplanes, half of them for testing: far above one in ten."""
    X, y = load_digits(return_X_y=True)
    model = make_pipeline(HyperplaneTransformer(512, random_state=0), RidgeClassifier(alpha=30))
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    assert HyperplaneTransformer(8).get_params() == clone(HyperplaneTransformer(8)).get_params()
    names = CrossPolytopeTransformer(3, random_state=0).fit(X).get_feature_names_out()
    assert ["crosspolytopetransformer0", "crosspolytopetransformer1", "crosspolytopetransformer2"] == names.tolist()


def test_bad_options_are_refused() -> None:
    X, _ = blobs()
    for estimator in (HyperplaneTransformer(output="words"), LSHTransformer(mode="both"), LSHTransformer(metric="ip")):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="not allowed"):
            estimator.fit(X)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: str(estimator).replace("\n", ""))
def test_fitting_changes_no_parameter(estimator: Any) -> None:
    """`get_params` returns the same objects after two fits at different scales; a clone is unfitted."""
    X, _ = blobs()
    model = clone(estimator)
    before = model.get_params()
    family = before.get("family")
    unfitted = repr(family)
    for factor in (1.0, 1000.0):
        model.fit(factor * X)
        after = model.get_params()
        assert before.keys() == after.keys()
        assert all(before[name] is after[name] for name in before)
        assert unfitted == repr(family)
    assert not any(name.endswith("_") for name in vars(clone(model)))


def test_a_second_fit_is_that_of_a_fresh_estimator() -> None:
    """A width learned from the data is learned again."""
    X, _ = blobs()
    used = PStableTransformer(8, random_state=3).fit(X)
    used.fit(1000 * X)
    assert PStableTransformer(8, random_state=3).fit(1000 * X).transform(X).tolist() == used.transform(X).tolist()
    graph = LSHTransformer(4, family=PStable(), num_tables=6, random_state=3).fit(X)
    graph.fit(1000 * X)
    fresh = LSHTransformer(4, family=PStable(), num_tables=6, random_state=3).fit(1000 * X)
    assert fresh.transform(1000 * X).toarray().tolist() == graph.transform(1000 * X).toarray().tolist()


def test_graphs_hold_what_the_index_finds() -> None:
    """Distances or ones, cut at the radius, of the index's own neighbours; new samples have no self-match."""
    X, _ = blobs()
    model = LSHTransformer(4, metric="l1", num_candidates=60, random_state=0).fit(X[:150])
    hits = model.index_.nearest(X[150:], 5)
    graph = model.transform(X[150:])
    assert (30, 150) == graph.shape
    for row, matches in enumerate(hits):
        part = graph[[row]]
        assert sorted(matches.ids.tolist()) == sorted(part.indices.tolist())
        assert np.allclose(np.sort(matches.distances), np.sort(part.data))
    near = LSHTransformer(4, metric="l1", num_candidates=60, radius=3.0, random_state=0).fit(X[:150]).transform(X[150:])
    assert np.allclose(np.sort(graph.data[graph.data <= 3.0]), np.sort(near.data))
    ones = LSHTransformer(4, mode="connectivity", metric="l1", num_candidates=60, random_state=0).fit(X[:150])
    assert 4 * 30 == ones.transform(X[150:]).sum() == ones.transform(X[150:]).nnz


def test_zero_samples_have_the_first_vertex() -> None:
    """As documented; other samples have the values of the family."""
    X, _ = blobs()
    X[5] = 0.0
    model = CrossPolytopeTransformer(3, random_state=0).fit(X)
    values = model.transform(X)
    assert [0, 0, 0] == values[5].tolist()
    others = np.delete(X, 5, axis=0)
    assert model.family_.transform(others).tolist() == np.delete(values, 5, axis=0).tolist()


def test_random_states_are_seeds() -> None:
    """An integer is the family's seed; a generator yields one, the same for the same state."""
    X, _ = blobs()
    assert 7 == HyperplaneTransformer(8, random_state=7).fit(X).family_.seed
    seeds = {HyperplaneTransformer(8, random_state=np.random.RandomState(1)).fit(X).family_.seed for _ in range(2)}
    assert 1 == len(seeds)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_equal_samples_are_neighbours_of_each_other(form: Any) -> None:
    """They have no direction from their mean, so the default family does not centre them."""
    graph = LSHTransformer(3, random_state=0).fit_transform(form(np.full((6, 4), 2.0)))
    assert 6 * 4 == graph.nnz
    assert not graph.data.any()
