"""Every family on extreme inputs, and the invariants of fitting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin import errors, theory
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
from nearkin.families.base import family_from_description

EASY: dict[str, Family] = {
    "hyperplane": Hyperplane(70, seed=1),
    "hyperplane-orthogonal": Hyperplane(70, orthogonal=True, seed=1),
    "hyperplane-hadamard": Hyperplane(None, orthogonal="hadamard", seed=1),
    "hyperplane-hadamards": Hyperplane(200, orthogonal="hadamard", seed=1),
    "hyperplane-dense": Hyperplane(None, orthogonal="dense", seed=1),
    "pstable-l2": PStable("l2", 2.0, 9, seed=2),
    "pstable-l1": PStable("l1", 2.0, 9, seed=3),
    "cross-polytope": CrossPolytope(5, seed=4),
    "cross-polytope-gaussian": CrossPolytope(5, rotation="gaussian", seed=5),
    "bit-sampling": BitSampling(70, limits=(-4.0, 4.0), seed=6),
    "shift-invariant": ShiftInvariant(70, gamma=0.3, seed=7),
    "shift-invariant-laplacian": ShiftInvariant(70, kernel="laplacian", gamma=0.3, seed=8),
    "random-fourier": RandomFourier(10, gamma=0.3, seed=9),
    "random-fourier-phase": RandomFourier(9, gamma=0.3, form="phase", seed=10),
    "sparse-signs": SparseSimHash(70, seed=11),
    "sparse-gaussian": SparseSimHash(70, projection="gaussian", seed=12),
    "sparse-mixed": SparseSimHash(70, projection="mixed", seed=13),
}
"""Families that need nothing of the data."""

LEARNING: dict[str, Family] = {
    "hyperplane-centred": Hyperplane(70, center=True, seed=21),
    "pstable-auto": PStable(seed=22),
    "bit-sampling-auto": BitSampling(limits="auto", seed=23),
    "shift-invariant-auto": ShiftInvariant(seed=24),
    "random-fourier-auto": RandomFourier(8, seed=25),
    "kernel": KernelLSH(20, anchors=12, subset=3, seed=26),
    "itq": ITQ(1, seed=27),
    "spherical": SphericalHash(4, mean_tolerance=9.0, std_tolerance=9.0, seed=28),
}
"""Families that learn from the data."""

ALL = EASY | LEARNING


def made(name: str, **other: Any) -> Family:
    """Return a new family of the same kind with other parameters."""
    family = ALL[name]
    return type(family)(**{**family.get_params(), **other})


def vectors(n: int, d: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("name", EASY)
def test_one_vector_is_enough_to_draw_functions(name: str) -> None:
    """The functions equal those drawn for many vectors."""
    X = vectors(20, 6)
    first, many = made(name).fit(X[:1]), made(name).fit(X)
    if name != "sparse-mixed":
        assert first.digest == many.digest
        assert first.transform(X).tolist() == many.transform(X).tolist()
    assert 1 == len(first.transform(X[:1]))


@pytest.mark.parametrize("name", LEARNING)
def test_one_vector_teaches_nothing(name: str) -> None:
    """The message says what is missing."""
    with pytest.raises(errors.InputError, match=r"X: |give"):
        made(name).fit(np.full((1, 6), 2.0))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("n", "d"), [(60, 1), (60, 2), (40, 600)])
def test_few_and_many_dimensions(name: str, n: int, d: int) -> None:
    """Single rows, all rows, float32 and sparse input give the same values, with the shape of the kind."""
    X = vectors(n, d).astype(np.float32)
    family = made(name).fit(X)
    assert d == family.dimension_
    values = family.transform(X)
    words = -(-family.num_hashes // 64)
    shape = {"bits": (n,) if words == 1 else (n, words)}.get(family.kind, (n, family.num_hashes))
    dtype = {"bits": np.uint64, "keys": np.int64, "features": np.float64}[family.kind]
    assert shape == values.shape
    assert np.dtype(dtype) == values.dtype
    alone = np.concatenate([family.transform(X[i : i + 1]) for i in range(n)])
    assert values.tolist() == alone.tolist()
    assert values.tolist() == family.transform(X.astype(np.float64)).tolist()
    assert values.tolist() == family.transform(sp.csr_array(X)).tolist()


@pytest.mark.parametrize("name", ALL)
def test_a_constant_column_does_no_harm(name: str) -> None:
    """A column of zeros does no harm either."""
    X = vectors(50, 6)
    X[:, 2], X[:, 4] = 3.0, 0.0
    family = made(name).fit(X)
    assert family.transform(X).tolist() == made(name).fit(X).transform(X).tolist()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [complex, object, "U3", "M8[s]"])
def test_what_is_no_real_number_is_refused(name: str, dtype: Any) -> None:
    """Fit and transform name the argument."""
    X = vectors(30, 4)
    bad = np.zeros((3, 4)).astype(dtype)
    with pytest.raises(errors.ParameterError, match="float32, float64 or integers"):
        made(name).fit(bad)
    family = made(name).fit(X)
    with pytest.raises(errors.ParameterError, match="float32, float64 or integers"):
        family.transform(bad)


@pytest.mark.parametrize("name", ALL)
def test_fit_changes_no_parameter_and_fits_anew(name: str) -> None:
    """A second fit on vectors of another scale and dimension equals that of a new family."""
    family = made(name)
    before, text = family.get_params(), repr(family)
    family.fit(vectors(60, 5))
    family.fit(100 * vectors(50, 7, seed=1))
    assert before == family.get_params()
    assert text == repr(family)
    fresh = made(name).fit(100 * vectors(50, 7, seed=1))
    fresh.check_same(family)
    assert str(fresh.description()) == str(family.description())


@pytest.mark.parametrize("name", LEARNING)
def test_a_failed_fit_leaves_the_family_as_it_was(name: str) -> None:
    X = vectors(60, 6)
    family = made(name).fit(X)
    digest, values = family.digest, family.transform(X).tolist()
    for bad in (np.full((50, 6), 3.0), np.full((1, 2), 3.0), np.full((3, 6), np.nan)):
        if name == "spherical" and len(bad) == 50:
            continue
        with pytest.raises(errors.InputError):
            family.fit(bad)
        assert digest == family.digest
        assert values == family.transform(X).tolist()


@pytest.mark.parametrize("name", ALL)
def test_a_description_gives_the_unfitted_family(name: str) -> None:
    """Only the parameters matter, whether the family was fitted or not."""
    family = made(name)
    again = family_from_description(family.description())
    assert repr(family) == repr(again)
    family.fit(vectors(60, 5))
    assert again.digest == family_from_description(family.description()).digest
    for wrong in ({}, {"family": "none", "params": {}}, {"family": family.name, "params": {"seed": -1}}):
        with pytest.raises((KeyError, ValueError)):
            family_from_description(wrong)
    with pytest.raises(TypeError):
        family_from_description({"family": family.name, "params": {"colour": 1}})


@pytest.mark.parametrize("name", ["pstable-l2", "pstable-l1"])
def test_wider_cells_hold_more_and_bad_widths_are_refused(name: str) -> None:
    """Keys are finite at the limits of the range; beyond it the error names the parameter."""
    X = vectors(40, 5)
    shares = []
    for width in (0.01, 1.0, 100.0):
        keys = made(name, width=width, hashes=200).fit(X).transform(X)
        shares.append(float((keys[1:] == keys[:-1]).mean()))
    assert shares[0] < 0.02 < shares[1] < 0.9 < shares[2]
    for width in (1e-100, 1e100):
        assert 40 == len(made(name, width=width).fit(X).transform(X))
    for bad in (-1.0, 0, float("inf"), 1e101, "wide", None):
        with pytest.raises(errors.ParameterError, match="width"):
            made(name, width=bad).fit(X)
    assert made(name, width=1e100).collision_probability(1.0) == pytest.approx(1.0)
    with pytest.raises(errors.ParameterError, match=r"call fit\(X\) first"):
        made(name, width="auto").collision_probability(1.0)


def test_layouts_of_halves_need_even_numbers() -> None:
    """Surplus pairs are dropped from the last table."""
    family = PStable(u_functions=True)
    assert [[0, 1, 2, 3], [0, 1, 4, 5], [2, 3, 4, 5], [0, 1, 6, 7]] == family.hash_layout(4, 4).tolist()
    with pytest.raises(errors.ParameterError, match="even"):
        family.hash_layout(4, 3)


def test_probes_are_counted_and_belong_to_families_with_margins() -> None:
    X = vectors(10, 6)
    for name in ("random-fourier", "sparse-signs"):
        with pytest.raises(errors.ParameterError, match="margins"):
            made(name).fit(X).probes(X)
    for name, limit in (("pstable-l2", 2), ("hyperplane", 1), ("cross-polytope", 5)):
        family = made(name).fit(X)
        assert (10, family.num_hashes, limit) == family.probes(X).others.shape
        for count in (0, limit + 1, 1.5):
            with pytest.raises(errors.ParameterError, match="count"):
                family.probes(X, count)  # type: ignore[arg-type]


@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_cross_polytopes_of_few_dimensions_have_their_law_for_each_pair(d: int) -> None:
    """By a Gaussian rotation. Hadamard transforms, whose rotations of a plane are few, have it on average alone."""
    rng = np.random.default_rng(d)
    departs = []
    for _ in range(8):
        x, y = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
        pair = np.stack([x, 0.8 * x + 0.6 * y])
        law = float(CrossPolytope().fit(pair).collision_probability(0.8))
        agreement = [
            float(np.equal(*CrossPolytope(8192, rotation=rotation, seed=1).fit(pair).transform(pair)).mean())
            for rotation in ("auto", "gaussian", "hadamard")
        ]
        # Six standard deviations of 8,192 functions: a probability of 2e-9 for each of 32 pairs.
        assert abs(law - agreement[0]) <= 6 * np.sqrt(law * (1 - law) / 8192)
        assert agreement[0] == agreement[1]
        departs.append(abs(agreement[2] - float(theory.cross_polytope(0.8, 1 << (d - 1).bit_length()))))
    assert max(departs) > 0.04


def test_cross_polytopes_of_more_dimensions_rotate_by_hadamard_transforms() -> None:
    X = vectors(20, 9)
    values = [CrossPolytope(9, rotation=rotation).fit(X).transform(X) for rotation in ("auto", "hadamard", "gaussian")]
    assert np.array_equal(values[0], values[1])
    assert not np.array_equal(values[0], values[2])
