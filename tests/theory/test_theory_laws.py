"""Collision laws compared with printed values and with plain integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin import errors, theory

CROSS_POLYTOPE = {
    8: (0.7071, 0.5996, 0.3649, 0.2325, 0.0625),
    16: (0.6660, 0.5478, 0.3015, 0.1730, 0.0312),
    64: (0.5977, 0.4645, 0.2106, 0.0982, 0.0078),
    128: (0.5690, 0.4306, 0.1777, 0.0747, 0.0039),
    256: (0.5431, 0.4006, 0.1508, 0.0571, 0.0020),
    512: (0.5194, 0.3737, 0.1285, 0.0439, 0.0010),
    1024: (0.4977, 0.3495, 0.1099, 0.0338, 0.0005),
}


@pytest.mark.parametrize("d", CROSS_POLYTOPE)
def test_cross_polytope_integral_has_the_printed_values(d: int) -> None:
    """The cosines are .95, .9, .7, .5 and 0."""
    result = theory.cross_polytope([0.95, 0.9, 0.7, 0.5, 0.0], d)
    assert np.abs(result - np.array(CROSS_POLYTOPE[d])).max() <= 6e-5


def test_cross_polytope_ends() -> None:
    """Equal vectors always collide, opposite ones never, orthogonal ones once in 2 d; it grows with the cosine."""
    assert [1.0, 0.0] == theory.cross_polytope([1.0, -1.0], 100).tolist()
    for d in (1, 2, 7, 100, 10_000):
        assert float(theory.cross_polytope(0.0, d)) == pytest.approx(1 / (2 * d), rel=1e-5)
    values = theory.cross_polytope(np.linspace(-1, 1, 41), 20)
    assert (np.diff(values) >= 0).all()
    assert float(theory.cross_polytope(0.5, 1)) == pytest.approx(1 - math.acos(0.5) / math.pi, rel=1e-9)


def test_p_stable_laws_have_the_printed_values() -> None:
    """The widths are 4, 2, 1 and half of the distance."""
    distances = 1 / np.array([4, 2, 1, 0.5])
    assert np.allclose([0.800532, 0.609548, 0.368746, 0.195417], theory.pstable(distances), rtol=0, atol=6e-7)
    assert np.allclose([0.618582, 0.448683, 0.279364, 0.153110], theory.pstable(distances, "l1"), rtol=0, atol=6e-7)


@given(distance=st.floats(1e-3, 1e3), width=st.floats(0.1, 10))
def test_p_stable_laws_are_integrals_of_their_densities(distance: float, width: float) -> None:
    """The general formula is evaluated with the densities of |Gaussian| and |Cauchy|."""
    normal = theory.stable(distance, lambda t: 2 * np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi), width=width)
    cauchy = theory.stable(distance, lambda t: 2 / (math.pi * (1 + t**2)), width=width)
    assert float(theory.pstable(distance, width=width)) == pytest.approx(float(normal), abs=1e-9)
    assert float(theory.pstable(distance, "l1", width=width)) == pytest.approx(float(cauchy), abs=1e-9)


def test_shift_invariant_law_is_its_sum() -> None:
    """Two million terms and their remainder agree; the printed values were truncated, hence 2e-5."""
    m = np.arange(1, 2_000_001, dtype=np.float64)
    for delta, printed in ((1.0, 0.233821), (2.0, 0.368690), (0.01, None)):
        kernel = np.exp(-((m * delta) ** 2) / 2)
        differ = 8 / math.pi**2 * (((1 - kernel) / (4 * m**2 - 1)).sum() + 1 / (2 * (2 * 2e6 + 1)))
        assert 1 - float(theory.shift_invariant(delta)) == pytest.approx(differ, abs=1e-7)
        assert printed is None or differ == pytest.approx(printed, abs=2e-5)
    assert 1 - float(theory.shift_invariant(1.0, "laplacian")) == pytest.approx(0.297101, abs=2e-5)
    assert 1 - float(theory.shift_invariant(1.0, dither=False)) == pytest.approx(0.25368, abs=2e-5)


@given(distance=st.floats(0, 100))
def test_shift_invariant_law_keeps_its_bounds(distance: float) -> None:
    """4/π² (1 − u) <= h <= min(½ √(1 − u), 4/π² (1 − ⅔ u)), where u is the kernel."""
    u = math.exp(-(distance**2) / 2)
    differ = 1 - float(theory.shift_invariant(distance))
    assert 4 / math.pi**2 * (1 - u) - 1e-7 <= differ
    assert differ <= min(0.5 * math.sqrt(1 - u), 4 / math.pi**2 * (1 - 2 * u / 3)) + 1e-7


def test_hashed_signs_have_the_printed_values() -> None:
    """Enumeration shows where the angle's law holds and where it does not."""
    assert 0.75 == theory.hashed_signs([1, 0], [1, 1])
    assert 0.50 == theory.hashed_signs([3, 1], [1, 3])
    assert 1.00 == theory.hashed_signs([5, 1, 1, 1], [5, -1, -1, -1])
    nine = theory.hashed_signs([1] * 9 + [0] * 4, [0] * 4 + [1] * 9)
    assert nine == pytest.approx(0.695, abs=6e-4)
    assert float(theory.hyperplane(5 / 9)) == pytest.approx(0.688, abs=6e-4)
    assert theory.hashed_signs([1] * 8 + [0] * 4, [0] * 4 + [1] * 8) == pytest.approx(0.695, abs=6e-4)


def test_simple_laws() -> None:
    """Bit sampling, MinHash, and angle and feature variances at their limits."""
    assert [1.0, 0.75, 0.0] == theory.bit_sampling([0, 2, 8], 8).tolist()
    assert [1.0, 0.5] == theory.minhash([1.0, 0.0], 1).tolist()
    assert 0.0 == float(theory.angle_variance(math.pi, 64))
    assert [0.0, 0.01] == theory.fourier_variance([1.0, 0.0], 100).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.hyperplane(1.1),
        lambda: theory.hyperplane(math.nan),
        lambda: theory.pstable(-1.0),
        lambda: theory.pstable(1.0, "l3"),  # type: ignore[arg-type]
        lambda: theory.pstable(1.0, width=0.0),
        lambda: theory.cross_polytope(0.5, 0),
        lambda: theory.shift_invariant(1.0, "none"),  # type: ignore[arg-type]
        lambda: theory.shift_invariant(1.0, gamma=-1),
        lambda: theory.bit_sampling(9, 8),
        lambda: theory.minhash(2.0),
        lambda: theory.hashed_signs([1] * 30, [1] * 30),
        lambda: theory.fourier_variance(0.5, 8, "none"),  # type: ignore[arg-type]
        lambda: theory.amplify(1.5, 2),
        lambda: theory.u_functions(0.5, 3, 4),
        lambda: theory.rho(0.5, 0.8),
        lambda: theory.tables_needed(0.0, 3, 0.9),
        lambda: theory.tables_needed(0.5, 3, 1.0),
        lambda: theory.sensitivity(theory.hyperplane, 0.1, 0.9),
        lambda: theory.sensitivity("spherical", 1, 2),
    ],
)
def test_arguments_out_of_range_are_errors(call: object) -> None:
    """Errors are typed and state what is allowed."""
    with pytest.raises(errors.ParameterError, match="is not allowed; use"):
        call()  # type: ignore[operator]
