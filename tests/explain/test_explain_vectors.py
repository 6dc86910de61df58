"""`nk.explain` of vectors: for every family the steps lead to the code of `transform`."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import nearkin as nk
from nearkin.errors import InputError, MismatchError, NotFittedError, ParameterError
from nearkin.explain import explain
from nearkin.explain.vectors import VectorSteps
from nearkin.families import (
    BitSampling,
    CrossPolytope,
    Family,
    Hyperplane,
    KernelLSH,
    PStable,
    RandomFourier,
    SparseSimHash,
    SphericalHash,
)
from strategies import FAMILIES

LEARNED = ("spherical", "spherical-kmeans", "itq", "random-fourier", "random-fourier-phase")
"""Families without a law."""


def vectors() -> NDArray[np.float32]:
    """Return vectors that are half zeros; none is a zero vector."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 24)).astype(np.float32)
    X[rng.random(X.shape) < 0.5] = 0
    X[:, 0] = 1
    return X


@pytest.fixture(scope="module", params=FAMILIES)
def fitted(request: pytest.FixtureRequest) -> tuple[str, Family]:
    """A fitted family and its name."""
    return request.param, FAMILIES[request.param].fit(vectors())


def apply_rule(steps: VectorSteps) -> list[float]:
    """Return the value of each function by the stated rule of the family, from its projection alone."""
    projected = zip(steps.projections.tolist(), steps.limits.tolist(), strict=True)
    rule = steps.family.projection_labels.rule
    if rule.startswith("1 above"):
        return [int(value > limit) for value, limit in projected]
    if rule.startswith("1 up to"):
        return [int(value <= limit) for value, limit in projected]
    assert "rounded down" == rule
    return [math.floor(value) for value, _ in projected]


def test_the_steps_lead_to_the_code(fitted: tuple[str, Family]) -> None:
    """Values equal those of `transform` and follow from the projections, for dense and sparse vectors."""
    name, family = fitted
    for x in vectors()[:40]:
        steps = explain(x, family)
        code: Any = family.transform(x.reshape(1, -1))
        if family.kind == "bits":
            words = np.atleast_1d(code[0])
            assert sum(int(word) << 64 * at for at, word in enumerate(words)) == steps.fingerprint
        else:
            assert code[0].tolist() == list(steps.values)
        if "cross" not in name and "fourier" not in name and not np.isnan(steps.projections).any():
            assert apply_rule(steps) == list(steps.values)
        assert str(steps) == str(explain(sp.csr_array(x.reshape(1, -1)), family))
        assert json.loads(json.dumps(steps.to_dict(), allow_nan=False))["values"] == list(steps.values)
        assert f"family       {family!r}" in str(steps)
        assert "<table>" in steps._repr_html_()


def test_margins_are_distances_to_the_next_value() -> None:
    """A step of this length along the normal crosses the plane, the edge or the sphere."""
    X = vectors().astype(np.float64)
    plane = Hyperplane(16, center=True, seed=3).fit(X)
    projected = plane.projections(X[:1])
    for bit in range(16):
        normal = plane.normals_[bit] / np.linalg.norm(plane.normals_[bit])
        side = np.sign(projected.values[0, bit])
        for share, flips in ((0.99, False), (1.01, True)):
            moved = X[:1] - side * share * projected.margins[0, bit] * normal
            assert flips == (plane.hash_values(moved)[0, bit] != plane.hash_values(X[:1])[0, bit])
    ball = SphericalHash(8, mean_tolerance=0.9, std_tolerance=0.9, seed=3).fit(X)
    projected = ball.projections(X[:1])
    for bit in range(8):
        outwards = X[0] - ball.pivots_[bit]
        outwards /= np.linalg.norm(outwards)
        inside = ball.hash_values(X[:1])[0, bit]
        for share, flips in ((0.99, False), (1.01, True)):
            moved = X[:1] + (1 if inside else -1) * share * projected.margins[0, bit] * outwards
            assert flips == (ball.hash_values(moved)[0, bit] != inside)
    cells = PStable("l2", 2.0, 8, seed=3).fit(X)
    projected = cells.projections(X[:1])
    np.testing.assert_allclose(
        projected.values, (X[:1] @ cells.directions_.T.astype(np.float64) + cells.offset_) / 2.0, rtol=1e-9
    )
    np.testing.assert_allclose(projected.margins, np.abs(projected.values - np.rint(projected.values)), rtol=1e-9)


def test_the_largest_coordinate_after_rotation() -> None:
    """Its share of the length and its lead equal those computed from all coordinates."""
    X = vectors().astype(np.float64)
    family = CrossPolytope(3, rotation="gaussian", seed=4).fit(X)
    projected = family.projections(X[:20])
    others = family.probes(X[:20]).costs
    shares = np.concatenate([projected.values[..., None], projected.values[..., None] - np.sqrt(others)], axis=2)
    # All coordinates of a vector of length 1 after rotation.
    np.testing.assert_allclose((shares**2).sum(axis=2), 1.0, rtol=1e-9)
    assert (shares >= -1e-12).all()
    np.testing.assert_allclose(projected.margins, np.sqrt(others[..., 0]))
    last = CrossPolytope(2, last_dims=1, seed=4).fit(X).projections(X[:3])
    assert (last.values[:, 1] == 1.0).all()
    assert np.isnan(last.margins[:, 1]).all()


def test_sums_of_signs() -> None:
    """Each column adds or subtracts its value, with the sign of the unit vector."""
    X = vectors()
    family = SparseSimHash(40, seed=5).fit(X)
    signs = family.hash_values(np.eye(24)) * 2.0 - 1.0
    np.testing.assert_allclose(family.projections(X[:9]).values, X[:9].astype(np.float64) @ signs, rtol=1e-6)
    heavy = SparseSimHash(40, projection="mixed", seed=5).fit(np.eye(24))
    assert np.isnan(heavy.projections(X[:1]).values).all()
    assert " ? " in str(explain(X[0], heavy))


def test_pair_values_are_in_the_measure_of_the_law(fitted: tuple[str, Family]) -> None:
    """They equal cosines and distances by NumPy, for dense, sparse and mixed pairs."""
    name, family = fitted
    X, Y = vectors()[:30].astype(np.float64), vectors()[30:60].astype(np.float64)
    values = family.pair_values(X, Y)
    centre = family.mean_ if isinstance(family, Hyperplane) and family.center else 0.0
    a, b = X - centre, Y - centre
    expected = {
        "cosine": (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1),
        "l2": np.linalg.norm(X - Y, axis=1),
        "l1": np.abs(X - Y).sum(1),
    }
    if isinstance(family, KernelLSH):
        u, v = family.embed(X), family.embed(Y)
        np.testing.assert_allclose(values, (u * v).sum(1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1))
    elif isinstance(family, RandomFourier):
        kernel = np.exp(-family.gamma_ * (expected["l1"] if "phase" in name else expected["l2"] ** 2 / 2))
        np.testing.assert_allclose(values, kernel)
    else:
        np.testing.assert_allclose(values, expected[family.distance])
    np.testing.assert_allclose(values, family.pair_values(sp.csr_array(X), sp.csr_array(Y)), rtol=1e-9)
    np.testing.assert_allclose(values, family.pair_values(sp.csr_array(X), Y), rtol=1e-9)
    with pytest.raises(MismatchError, match="number of vectors"):
        family.pair_values(X, Y[:3])


def test_two_vectors_differ_as_the_law_says(fitted: tuple[str, Family]) -> None:
    name, family = fitted
    x, y = vectors()[:2]
    comparison = explain(x, family, other=y)
    values = [np.asarray(steps.values) for steps in (comparison.a, comparison.b)]
    assert np.flatnonzero(values[0] != values[1]).tolist() == list(comparison.differing)
    assert json.loads(json.dumps(comparison.to_dict(), allow_nan=False))["distance"] == comparison.distance
    assert "<li>measured" in comparison._repr_html_()
    if name in LEARNED:
        assert (None, None, None) == (comparison.agreement, comparison.expected, comparison.deviation)
        assert ("law          none" in str(comparison)) == (family.kind != "features")
        if family.kind == "features":
            assert float(values[0] @ values[1]) == pytest.approx(comparison.product)
            assert "estimates the kernel" in str(comparison)
        return
    p = float(family.collision_probability(family.pair_values(x.reshape(1, -1), y.reshape(1, -1)))[0])
    assert p == comparison.agreement
    assert len(values[0]) * (1 - p) == comparison.expected
    assert f"probability {p:.4f}" in str(comparison)
    same = explain(x, family, other=x)
    assert 0 == same.distance
    assert same.agreement == pytest.approx(1.0)
    assert "they differ" not in str(same)


def test_hamming_distances_of_zeros_and_ones() -> None:
    X = np.array([[0, 1, 0, 1], [0, 1, 1, 1]])
    family = BitSampling(64, seed=1).fit(X)
    comparison = explain(X[0], family, other=X[1])
    assert (1.0, 0.75, 16.0) == (comparison.value, comparison.agreement, comparison.expected)
    assert "Hamming distance 1" in str(comparison)
    assert all(2 == family.columns_[bit] for bit in comparison.differing)


def test_values_beyond_the_limits_count_as_the_limits() -> None:
    family = BitSampling(8, limits=(0.0, 1.0), seed=1).fit(np.eye(3))
    assert 1.0 == family.pair_values([[5.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]])[0]
    assert 2 / 3 == pytest.approx(explain([5.0, 0.0, 0.0], family, other=[0.0, 0.0, 0.0]).agreement)


def test_the_functions_that_change_first() -> None:
    X = vectors()
    steps = explain(X[0], Hyperplane(100, seed=1).fit(X))
    assert sorted(range(100), key=lambda bit: steps.margins[bit]) == list(steps.nearest)
    assert "… and 76 more" in str(steps)


def test_a_vector_of_a_billion_columns() -> None:
    x = sp.csr_array((np.array([1.0, 2.0]), [5, 900_000_000], [0, 2]), shape=(1, 10**9))
    family = SparseSimHash(32, seed=1).fit(x)
    assert {abs(value) for value in explain(x, family).projections.tolist()} <= {1.0, 3.0}
    assert 1.0 == pytest.approx(family.pair_values(x, x)[0])


def test_bad_input() -> None:
    X = vectors()
    family = Hyperplane(8).fit(X)
    with pytest.raises(ParameterError, match=r"one vector: of shape \(d,\) or \(1, d\)"):
        explain(X, family)
    with pytest.raises(MismatchError, match="dimension"):
        explain(X[0, :3], family)
    with pytest.raises(InputError, match="zero vector"):
        explain(np.zeros(24), family)
    with pytest.raises(InputError, match="row 0"):
        explain(np.full(24, np.nan), family)
    with pytest.raises(NotFittedError):
        explain(X[0], Hyperplane(8))
    assert math.isnan(family.pair_values(np.zeros((1, 24)), X[:1])[0])
    # A scaled vector has the same bits.
    assert nk.explain(X[0], family, other=X[0] * 2).distance == 0
