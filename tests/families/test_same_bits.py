"""Hash values depend only on the vector and the fitted family, not on types, order, batches, threads or files."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import nearkin as nk
from nearkin.families import (
    CrossPolytope,
    Family,
    Hyperplane,
    ShiftInvariant,
    SphericalHash,
)
from strategies import FAMILIES


def vectors(seed: int = 1, n: int = 600, d: int = 37) -> NDArray[np.float32]:
    """Draw vectors with half of their values zero, without a zero vector."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    X[rng.random(X.shape) < 0.5] = 0
    X[:, 0] = 1
    return X


def has_alternatives(family: Family) -> bool:
    return isinstance(family, CrossPolytope) or family.num_alternatives > 0


def on_boundaries(family: Family, X: NDArray[np.float32], name: str) -> NDArray[np.float64]:
    """Return vectors whose projections are on a boundary of one function each, exactly or one float64 away."""
    matrix = getattr(family, name).astype(np.float64)
    offset = getattr(family, "offset_", getattr(family, "phase_", np.zeros(len(matrix))))
    width = getattr(family, "width_", None)
    rows = []
    for i, x in enumerate(X[:200].astype(np.float64)):
        j = i % len(matrix)
        a, b = matrix[j], offset[j]
        aim = -b if width is None else width * (i % 7 - 3) - b
        if isinstance(family, ShiftInvariant):
            aim += i % 7 - 3 + family.half_[j] * (1 - 2 * (i % 2))
        if isinstance(family, SphericalHash):
            rows.append(a + (x - a) * np.sqrt(family.squared_radii_[j]) / np.linalg.norm(x - a))
            continue
        rows.append(x + (aim - a @ x) / (a @ a) * a + (i % 3 - 1) * 1e-15 * np.abs(x).max())
    return np.array(rows)


def forms(X: NDArray[Any]) -> Iterator[Any]:
    """Yield the same values in other types and layouts."""
    yield X.astype(np.float64)
    yield np.asfortranarray(X)
    yield X[:, ::-1].copy()[:, ::-1]
    yield sp.csr_array(X)
    yield sp.csr_matrix(X).astype(np.float64)
    yield sp.coo_array(X)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_form_gives_the_same_values(set_threads: Callable[[int], None], name: str) -> None:
    """float32, float64, memory order, views, sparse matrices, batches of 1, 2 and 7, and one thread agree."""
    X = vectors()
    family = FAMILIES[name].fit(X)
    expected = family.transform(X)
    for form in forms(X):
        assert np.array_equal(expected, family.transform(form)), type(form)
    for size in (1, 2, 7):
        parts = [family.transform(X[at : at + size]) for at in range(0, 70, size)]
        assert np.array_equal(expected[: len(np.concatenate(parts))], np.concatenate(parts))
    set_threads(1)
    assert np.array_equal(expected, family.transform(X))


@pytest.mark.parametrize(
    ("name", "matrix"),
    [
        ("hyperplane", "normals_"),
        ("hyperplane-centred", "normals_"),
        ("pstable-l2", "directions_"),
        ("pstable-l1", "directions_"),
        ("spherical", "pivots_"),
        ("shift-invariant", "turns_"),
        ("itq", "components_"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_vectors_on_boundaries_have_the_exact_value(name: str, matrix: str, dtype: Any, shift: float) -> None:
    """If the product of BLAS can't decide, the product in the fixed order does."""
    X = vectors()
    family = FAMILIES[name].fit(X)
    hard = (on_boundaries(family, X, matrix) + shift).astype(dtype)
    values = family.hash_values(hard)
    if has_alternatives(family):
        assert np.array_equal(family.probes(hard).values, values)
    for form in forms(hard):
        assert np.array_equal(values, family.hash_values(form))
    for size in (1, 3):
        for at in range(0, 30, size):
            assert np.array_equal(values[at : at + size], family.hash_values(hard[at : at + size]))


def test_boundaries_are_met_at_all() -> None:
    """Plain products would pass the test above if its vectors were not hard."""
    X = vectors()
    family = Hyperplane(70, seed=1).fit(X)
    hard = on_boundaries(family, X, "normals_").astype(np.float32)
    plain = hard @ family.normals_.T > 0
    assert (plain != family.hash_values(hard)).sum() > 20


@pytest.mark.parametrize("name", FAMILIES)
def test_save_then_load_is_identity(name: str, tmp_path: Path) -> None:
    """Values, digest and parameters are equal."""
    X = vectors()
    family = FAMILIES[name].fit(X)
    family.save(tmp_path / "family")
    again = nk.families.load(tmp_path / "family")
    assert (repr(family), family.digest) == (repr(again), again.digest)
    assert np.array_equal(family.transform(X), again.transform(X))
    family.check_same(again)


LEARNED = ("spherical", "itq", "kernel", "random-fourier-phase")
"""Families whose functions are learned together, or whose count is bounded."""


@pytest.mark.parametrize("name", FAMILIES)
def test_a_pickled_family_is_the_same(name: str) -> None:
    """Fitted and unfitted families keep their parameters and values."""
    X = vectors()
    family = FAMILIES[name]
    assert str(family) == str(pickle.loads(pickle.dumps(family)))  # noqa: S301 our own bytes
    again = pickle.loads(pickle.dumps(family.fit(X)))  # noqa: S301 our own bytes
    assert family.digest == again.digest
    assert family.transform(X).tobytes() == again.transform(X).tobytes()


@pytest.mark.parametrize("name", [name for name in FAMILIES if not name.startswith(LEARNED)])
def test_more_functions_begin_with_the_same_ones(name: str) -> None:
    """Function j depends only on the seed, j and the dimension."""
    X = vectors()
    family = FAMILIES[name].fit(X)
    more = family.resized(2 * family.num_hashes, group=2).fit(X)
    count = 1 if name.startswith("cross") else family.num_hashes
    if family.kind == "features":
        first = more.transform(X)[:, : family.num_hashes] * np.sqrt(2)
        assert np.allclose(family.transform(X), first, rtol=0, atol=1e-15)
        return
    assert np.array_equal(family.hash_values(X)[:, :count], more.hash_values(X)[:, :count])


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if has_alternatives(family)])
def test_alternatives_are_other_values_in_order_of_cost(name: str) -> None:
    """Alternatives are distinct, differ from the value, and are sorted by cost; batches equal single vectors."""
    X = vectors()[:50]
    family = FAMILIES[name].fit(X)
    probes = family.probes(X)
    assert (50, family.num_hashes, family.num_alternatives) == probes.others.shape == probes.costs.shape
    assert np.array_equal(family.hash_values(X), probes.values)
    assert (np.diff(probes.costs, axis=-1) >= 0).all()
    assert (probes.costs >= 0).all()
    whole = np.concatenate([probes.values[..., None], probes.others], axis=-1)
    assert (np.diff(np.sort(whole, axis=-1), axis=-1) > 0).all()
    first = family.probes(X[3:4], 1)
    assert np.array_equal(probes.others[3:4, :, :1], first.others)
    assert np.array_equal(probes.costs[3:4, :, :1], first.costs)
