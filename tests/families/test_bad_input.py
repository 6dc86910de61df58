"""Inputs that every family rejects: values, shapes, parameters, files, and families that differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import nearkin as nk
from nearkin import errors
from nearkin.families import (
    ITQ,
    BitSampling,
    CrossPolytope,
    Family,
    Hyperplane,
    KernelLSH,
    PStable,
    RandomFourier,
    ShiftInvariant,
    SparseSimHash,
    SphericalHash,
)

X = np.random.default_rng(0).standard_normal((60, 9))


def families() -> list[Family]:
    """Return one unfitted family of each kind."""
    return [
        Hyperplane(8),
        Hyperplane(8, center=True),
        PStable(hashes=4),
        CrossPolytope(2),
        SphericalHash(4, std_tolerance=9.0, mean_tolerance=9.0),
        KernelLSH(8, anchors=30),
        ShiftInvariant(8),
        RandomFourier(8),
        BitSampling(8, limits=(-9.0, 9.0)),
        ITQ(4),
        SparseSimHash(8),
    ]


EACH = pytest.mark.parametrize("family", families(), ids=repr)


@EACH
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_no_numbers_are_named(family: Family, bad: float) -> None:
    """The error names the row, in fit and transform, for dense and sparse input."""
    broken = X.copy()
    broken[41, 3] = bad
    for given_rows in (broken, broken.astype(np.float32), sp.csr_array(broken)):
        with pytest.raises(errors.InputError, match=r"^row 41: has values that are"):
            family.fit(given_rows)
    family.fit(X)
    for given_rows in (broken, sp.csr_array(broken)):
        with pytest.raises(errors.InputError, match=r"^row 41: has values that are"):
            family.transform(given_rows)


@EACH
def test_shapes_are_checked(family: Family) -> None:
    """A single vector, three dimensions, no columns or rows, another dimension, text, and an unfitted family fail."""
    with pytest.raises(errors.NotFittedError, match=r"call fit\(X\) first"):
        type(family)(**family.get_params()).transform(X)
    with pytest.raises(errors.ParameterError, match=r"x.reshape\(1, -1\)"):
        family.fit(X[0])
    with pytest.raises(errors.ParameterError, match="shape"):
        family.fit(X[None])
    with pytest.raises(errors.ParameterError, match="without columns"):
        family.fit(np.zeros((3, 0)))
    with pytest.raises(errors.InputError, match="one vector or more"):
        family.fit(X[:0])
    with pytest.raises(errors.ParameterError, match="float32, float64 or integers"):
        family.fit(np.array([["a", "b"]]))
    family.fit(X)
    with pytest.raises(errors.MismatchError, match="dimension differs: 9 against 8"):
        family.transform(X[:, :8])
    assert 0 == len(family.transform(X[:0]))


ANGLES = [Hyperplane(8), CrossPolytope(2), SparseSimHash(8), KernelLSH(8, kernel="cosine")]


@pytest.mark.parametrize("family", ANGLES, ids=repr)
def test_zero_vectors_have_no_direction(family: Family) -> None:
    """Families of angles name the row."""
    family.fit(X)
    hard = X.copy()
    hard[17] = 0
    for given_rows in (hard, sp.csr_array(hard)):
        with pytest.raises(errors.InputError, match="row 17: is a zero vector"):
            family.transform(given_rows)


@pytest.mark.parametrize(
    "family",
    [
        Hyperplane(8, center=True),
        PStable(),
        ShiftInvariant(),
        RandomFourier(),
        KernelLSH(),
        BitSampling(limits="auto"),
        ITQ(4),
    ],
    ids=repr,
)
def test_equal_vectors_are_refused_where_nothing_can_be_learned(family: Family) -> None:
    """Constant data have no width, scale, range or direction."""
    with pytest.raises(errors.InputError):
        family.fit(np.full((50, 9), 3.0))


@pytest.mark.parametrize(
    "family",
    [
        Hyperplane(0),
        Hyperplane(1 << 17),
        Hyperplane(8.5),  # type: ignore[arg-type]
        Hyperplane(8, seed=-1),
        Hyperplane(8, center=1),  # type: ignore[arg-type]
        Hyperplane(None),
        Hyperplane(8, orthogonal="hadamar"),  # type: ignore[arg-type]
        PStable("l3"),  # type: ignore[arg-type]
        PStable(width=0.0),
        PStable(width=float("nan")),
        CrossPolytope(2, dims=17),
        CrossPolytope(2, dims=4, last_dims=5),
        CrossPolytope(2, group=3),
        CrossPolytope(2, rotation="none"),  # type: ignore[arg-type]
        SphericalHash(1),
        SphericalHash(8, stop="never"),  # type: ignore[arg-type]
        SphericalHash(8, start="here"),  # type: ignore[arg-type]
        SphericalHash(8, max_iter=-1),
        KernelLSH(8, kernel="no"),  # type: ignore[arg-type]
        KernelLSH(8, anchors=1),
        KernelLSH(8, anchors=20, subset=21),
        ShiftInvariant(8, kernel="no"),  # type: ignore[arg-type]
        ShiftInvariant(8, gamma=-1.0),
        RandomFourier(7),
        RandomFourier(8, form="no"),  # type: ignore[arg-type]
        BitSampling(8, limits=(1.0, 1.0)),
        SparseSimHash(8, projection="no"),  # type: ignore[arg-type]
        SparseSimHash(8, heavy=1.0),
    ],
    ids=repr,
)
def test_parameters_out_of_range_are_errors(family: Family) -> None:
    """The error is raised by fit rather than by the constructor, and states what is allowed."""
    with pytest.raises(errors.ParameterError, match="is not allowed; use"):
        family.fit(X)


def test_bit_sampling_refuses_numbers_without_limits() -> None:
    """Numbers other than 0 and 1 have no Hamming distance."""
    with pytest.raises(errors.InputError, match="row 0: has values other than 0 and 1"):
        BitSampling(8).fit(X).transform(X)


def test_families_made_differently_refuse_to_meet() -> None:
    """The error names the first difference; equal families pass."""
    base = Hyperplane(8, seed=1).fit(X)
    base.check_same(Hyperplane(8, seed=1).fit(X[:5]))
    for other, what in (
        (Hyperplane(8, seed=2).fit(X), "seed differs"),
        (Hyperplane(9, seed=1).fit(X), "bits differs"),
        (Hyperplane(8, seed=1).fit(X[:, :4]), "dimension differs"),
        (PStable(width=1.0).fit(X), "family differs"),
    ):
        with pytest.raises(errors.MismatchError, match=what):
            base.check_same(other)
    with pytest.raises(errors.MismatchError, match="mean_ differs"):
        Hyperplane(8, center=True).fit(X).check_same(Hyperplane(8, center=True).fit(X + 1))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16])
def test_integers_are_taken_as_numbers(dtype: Any) -> None:
    """Small integers are hashed as float32, others as float64, with the same codes."""
    given_rows = np.floor(np.abs(X) * 3).astype(dtype)
    family = Hyperplane(64, center=True).fit(given_rows.astype(np.float64))
    assert np.array_equal(family.transform(given_rows.astype(np.float64)), family.transform(given_rows))


def test_far_vectors_saturate() -> None:
    """Keys beyond 64 bits are clipped, also if float32 products overflow."""
    family = PStable("l1", 1e-3, 50, seed=1).fit(X)
    keys = family.transform(np.full((1, 9), 3e38, np.float32))
    assert set(np.unique(keys)) <= {np.iinfo(np.int64).min, np.iinfo(np.int64).max}
    with pytest.raises(errors.InputError, match="norm exceeds 1e150"):
        family.transform(np.full((1, 9), 1e160))


def test_descriptions_that_lie_are_errors(tmp_path: Path) -> None:
    """Files with valid checksums but a wrong description are rejected: unknown family, shapes, newer version."""
    from nearkin import _core

    path = tmp_path / "family"
    Hyperplane(8).fit(X).save(path)
    text, arrays = _core.read_family(str(path))
    given_arrays = [np.frombuffer(array, np.uint8) for array in arrays]
    for old, new, error in (
        ('"hyperplane"', '"unknown"', errors.CorruptStoreError),
        ('"bits":8', '"bits":9', errors.CorruptStoreError),
        ('"bits":8', '"bytes":8', errors.CorruptStoreError),
        ('"dimension":9', '"dimension":10', errors.CorruptStoreError),
        ('"<f4"', '"|O8"', errors.CorruptStoreError),
        ('"version":1', '"version":2', errors.FormatVersionError),
        ("{", "[", errors.CorruptStoreError),
    ):
        assert old in text
        _core.write_family(str(path), text.replace(old, new, 1), given_arrays)
        with pytest.raises(error):
            nk.families.load(path)
