"""The estimators: scikit-learn's own checks, pipelines, and graphs that others take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
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


@parametrize_with_checks(ESTIMATORS)  # type: ignore[untyped-decorator]
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


def test_every_estimator_is_checked() -> None:
    """None of the module is left out of scikit-learn's checks."""
    assert set(nearkin.sklearn.__all__) == {type(estimator).__name__ for estimator in ESTIMATORS}


def blobs() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(place, 0.6, size=(60, 6)) for place in (0, 4, 8)])
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
    found = LSHTransformer(7, num_candidates=180, random_state=0).fit_transform(X)
    assert expected.shape == found.shape
    assert np.allclose(expected.sum(axis=1), found.sum(axis=1))
    assert expected.nnz == found.nnz
    assert np.allclose(np.sort(expected.data), np.sort(found.data), atol=1e-7)


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
    found = SpectralClustering(3, affinity="precomputed", random_state=0).fit(symmetric).labels_
    for label in range(3):
        assert 1 == len(set(found[y == label].tolist()))


def test_hashes_are_features_of_a_pipeline() -> None:
    """Ten digits from 512 bits of hyperplanes, half for the test: far above one in ten."""
    X, y = load_digits(return_X_y=True)
    model = make_pipeline(HyperplaneTransformer(512, random_state=0), LogisticRegression(max_iter=2000, C=0.05))
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    assert HyperplaneTransformer(8).get_params() == clone(HyperplaneTransformer(8)).get_params()
    names = CrossPolytopeTransformer(3, random_state=0).fit(X).get_feature_names_out()
    assert ["crosspolytopetransformer0", "crosspolytopetransformer1", "crosspolytopetransformer2"] == names.tolist()


def test_bad_options_are_refused() -> None:
    X, _ = blobs()
    for estimator in (HyperplaneTransformer(output="words"), LSHTransformer(mode="both"), LSHTransformer(metric="ip")):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="not allowed"):
            estimator.fit(X)
