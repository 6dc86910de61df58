r"""Collision laws: the probability that a random function of a family gives two vectors the same value.

| law | argument | formula |
|---|---|---|
| `hyperplane(c)` | the cosine c; for Simple-LSH the inner product over the largest norm | 1 − arccos(c)/π |
| `pstable(r, "l2")` | distance / width, 1/r below | 1 − 2Φ(−r) − 2/(√(2π) r) (1 − e^(−r²/2)) |
| `pstable(r, "l1")` | distance / width, 1/r below | 2 arctan(r)/π − ln(1 + r²)/(π r) |
| `shift_invariant(δ)` | distance, K the kernel | 1 − (8/π²) Σ_m (1 − K(m δ)) / (4 m² − 1) |
| – without dither | | ½ + (4/π²) Σ_{m odd} K(m δ)/m² |
| `bit_sampling(h, d)` | Hamming distance h | 1 − h/d |
| `bit_sampling(l, d, C)` | L1 distance l, values in a range C | 1 − l/(d C) |
| `minhash(J)`, `minhash(J, b)` | Jaccard similarity J, b bits kept | J;  J + (1 − J) 2^(−b) |
| `hashed_signs(x, y)` | the vectors themselves | by enumeration of all signs |
| `cross_polytope(c, d)` | the cosine c | 2d ∫∫_{x,y>0} φ(x, y; c) P(\|X\| < x, \|Y\| < y)^(d−1) dx dy |

Φ is the normal distribution, φ(x, y; c) the density of two standard normal numbers with correlation c.
`tests/families/test_laws.py` compares each law with random draws, `tests/theory/test_theory_laws.py` with published
values.

References
----------
.. [1] M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, section 3.
.. [2] M. Datar, N. Immorlica, P. Indyk, V. Mirrokni, "Locality-sensitive hashing scheme based on p-stable
   distributions", SoCG 2004, section 3.
.. [3] A. Andoni, P. Indyk, T. Laarhoven, I. Razenshteyn, L. Schmidt, "Practical and optimal LSH for angular distance",
   NIPS 2015, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, check_choice, check_count

Floats: TypeAlias = npt.NDArray[np.float64]

_erf = np.frompyfunc(math.erf, 1, 1)


def normal_cdf(x: npt.ArrayLike) -> Floats:
    """Return Φ(x), elementwise."""
    return 0.5 * (1.0 + np.asarray(_erf(np.asarray(x, np.float64) / math.sqrt(2.0)), np.float64))


def in_range(name: str, values: npt.ArrayLike, low: float, high: float) -> Floats:
    """Return values as float64; raise ParameterError for a value that is NaN or outside [low, high]."""
    array = np.asarray(values, np.float64)
    invalid = ~((array >= low) & (array <= high))
    if invalid.any():
        raise bad_parameter(name, array[invalid].flat[0], f"{low:g} to {high:g}")
    return array


def check_positive(name: str, value: float) -> None:
    """Raise ParameterError unless a number is above 0 and finite."""
    if not 0 < value < math.inf:
        raise bad_parameter(name, value, "a number above 0")


def binomial_probability(n: int, k: int, p: float) -> float:
    """Return the probability of k successes in n trials, each of probability p between 0 and 1, both exclusive."""
    log = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(log + k * math.log(p) + (n - k) * math.log1p(-p))


def cosine(values: npt.ArrayLike) -> Floats:
    """Return cosine similarities clipped to [-1, 1], which rounding may exceed by up to 1e-6."""
    return np.clip(in_range("similarity", values, -1.000001, 1.000001), -1.0, 1.0)


def hyperplane(similarity: npt.ArrayLike) -> Floats:
    """Return the probability that two vectors are on the same side of a hyperplane: 1 - arccos(similarity) / pi.

    Parameters
    ----------
    similarity : float or array
        Cosine, -1 to 1.

    Examples
    --------
    >>> from nearkin.theory import hyperplane
    >>> hyperplane([1.0, 0.0, -1.0]).tolist()
    [1.0, 0.5, 0.0]
    """
    return 1.0 - np.arccos(cosine(similarity)) / math.pi


def pstable(distance: npt.ArrayLike, metric: Literal["l2", "l1"] = "l2", *, width: float = 1.0) -> Floats:
    """Return the probability that two vectors at a distance are in the same cell of a p-stable projection.

    Parameters
    ----------
    distance : float or array
        L2 or L1 distance, 0 or more.
    metric : {"l2", "l1"}, default "l2"
        For Gaussian or Cauchy projections.
    width : float, default 1
        Width of a cell in the same unit, above 0.

    Raises
    ------
    ParameterError
        A negative distance, an unknown metric, or a width that is not above 0.

    Examples
    --------
    >>> from nearkin.theory import pstable
    >>> pstable([0.0, 1.0], width=4.0).round(4).tolist(), float(pstable(1.0, "l1", width=4.0).round(4))
    ([1.0, 0.8005], 0.6186)
    """
    distance = check_cell_distances(distance, metric, width)
    ratio = width / np.maximum(distance, width * 1e-12)
    if metric == "l2":
        tail = -np.expm1(-(ratio**2) / 2)
        value = 1.0 - 2.0 * normal_cdf(-ratio) - 2.0 * tail / (math.sqrt(2.0 * math.pi) * ratio)
    else:
        value = 2.0 * np.arctan(ratio) / math.pi - np.log1p(ratio**2) / (math.pi * ratio)
    # Rounding leaves a few 1e-12 at distance 0, and values below 0 at large distances, where the law is near 0.
    return np.where(distance == 0, 1.0, np.clip(value, 0.0, 1.0))


def check_cell_distances(distance: npt.ArrayLike, metric: str, width: float) -> Floats:
    """Return distances as float64 after checking them, the metric and the cell width.

    Raises
    ------
    ParameterError
        A negative distance, an unknown metric, or a width that is not above 0.
    """
    check_choice("metric", metric, "l2", "l1")
    check_positive("width", width)
    return in_range("distance", distance, 0, math.inf)


def stable(distance: npt.ArrayLike, density: Callable[[Floats], Floats], *, width: float = 1.0) -> Floats:
    """Return the law of any p-stable distribution: the integral over [0, w] of f(t/c)/c (1 - t/w) dt at distance c.

    Parameters
    ----------
    distance : float or array
        0 or more.
    density : callable
        f, the density of the absolute value of the stable number, for arrays of values 0 or more.
    width : float, default 1

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.theory import stable
    >>> normal = lambda t: 2 * np.exp(-t**2 / 2) / np.sqrt(2 * np.pi)
    >>> float(stable(1.0, normal, width=4.0).round(4))
    0.8005
    """
    distance = np.asarray(in_range("distance", distance, 0, math.inf))
    nodes, weights = gauss_legendre(64)
    values = []
    for c in distance.ravel():
        # On intervals that double in length from the density's own scale, the integrand is smooth.
        ends = [0.0, *(c * 2.0**power for power in range(-3, 64) if c * 2.0**power < width), width]
        total = 0.0
        for low, high in pairwise(ends):
            t = low + (high - low) * (nodes + 1) / 2
            total += float((density(t / c) / c * (1 - t / width) * weights).sum() * (high - low) / 2)
        values.append(1.0 if c == 0 else min(1.0, total))
    return np.array(values).reshape(distance.shape)


def shift_invariant(
    distance: npt.ArrayLike,
    kernel: Literal["gaussian", "laplacian"] | Callable[[Floats], Floats] = "gaussian",
    *,
    gamma: float = 1.0,
    dither: bool = True,
) -> Floats:
    """Return the probability that random waves of a kernel's spectrum give two vectors the same bit.

    Parameters
    ----------
    distance : float or array
        L2 (gaussian) or L1 (laplacian), 0 or more.
    kernel : {"gaussian", "laplacian"} or callable, default "gaussian"
        exp(-gamma d²/2), exp(-gamma d), or the kernel as a function of an array of multiples of the distance.
    gamma : float, default 1
        Above 0.
    dither : bool, default True
        Use random levels; otherwise only the sign.

    Raises
    ------
    ParameterError
        A negative distance, an unknown kernel, or a gamma that is not above 0.

    Notes
    -----
    The result is 256 terms of the sum, plus an integral for the rest; the error is below 1e-7.

    Examples
    --------
    >>> from nearkin.theory import shift_invariant
    >>> (1 - shift_invariant([1.0, 2.0, 1e6])).round(6).tolist()
    [0.233831, 0.3687, 0.405285]
    """
    check_positive("gamma", gamma)
    delta = in_range("distance", distance, 0, math.inf)[..., None]
    if not callable(kernel) and kernel not in ("gaussian", "laplacian"):
        raise bad_parameter("kernel", repr(kernel), '"gaussian", "laplacian" or a function')

    def k(x: Floats) -> Floats:
        if callable(kernel):
            return kernel(x)
        values: Floats = np.exp(-gamma * (x**2 / 2 if kernel == "gaussian" else x))
        return values

    terms = 256
    nodes, weights = gauss_legendre(64)
    share, weights = (nodes + 1) / 2, weights / 2
    with np.errstate(over="ignore", invalid="ignore"):
        if dither:
            m = np.arange(1, terms + 1)
            head = ((1 - k(m * delta)) / (4 * m**2 - 1)).sum(-1)
            # Σ_{m > M} g(m) / (4 m² − 1) ≈ ∫_A^∞ g(t) / (4 t²) dt, A = M + ½; t = A / s.
            start = terms + 0.5
            tail = ((1 - k(start / share * delta)) * weights).sum(-1) / (4 * start)
            return np.asarray(1 - 8 / math.pi**2 * (head + tail))
        m = 2 * np.arange(terms) + 1
        head = (k(m * delta) / m**2).sum(-1)
        # Odd m > M: half of ∫_A^∞ K(t δ) / t² dt, A = M + 1.
        start = 2.0 * terms
        tail = (k(start / share * delta) * weights).sum(-1) / (2 * start)
        return np.asarray(np.minimum(1.0, 0.5 + 4 / math.pi**2 * (head + tail)))


def bit_sampling(distance: npt.ArrayLike, d: int, *, spread: float = 1.0) -> Floats:
    """Return the probability that a random coordinate, or its random threshold, agrees: 1 - distance / (d · spread).

    Parameters
    ----------
    distance : float or array
        Hamming distance, or L1 distance of values within a range of length `spread`; 0 to d · spread.
    d : int
        Dimension.
    spread : float, default 1

    Raises
    ------
    ParameterError
        A distance outside 0 to d · spread.

    Examples
    --------
    >>> from nearkin.theory import bit_sampling
    >>> float(bit_sampling(16, 64))
    0.75
    """
    return 1.0 - in_range("distance", distance, 0, d * spread * (1 + 1e-9)) / (d * spread)


def minhash(similarity: npt.ArrayLike, bits: int | None = None) -> Floats:
    """Return the probability that a MinHash value, or its lowest `bits` bits, agrees: J, or J + (1 - J) 2^-bits.

    Parameters
    ----------
    similarity : float or array
        Jaccard similarity J, 0 to 1.
    bits : int, optional
        Number of stored bits, 1 to 64; the law holds for sets that are small compared with their universe.

    Raises
    ------
    ParameterError
        A similarity outside 0 to 1, or bits outside 1 to 64.

    Examples
    --------
    >>> from nearkin.theory import minhash
    >>> float(minhash(0.5)), float(minhash(0.5, 1))
    (0.5, 0.75)
    """
    similarity = in_range("similarity", similarity, 0, 1)
    if bits is None:
        return similarity
    return similarity + (1 - similarity) * 2.0 ** -check_count("bits", bits, 1, 64, "1 to 64")


def hashed_signs(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the probability that the signs of two random sums agree, by enumeration; a sum of 0 counts as negative.

    Parameters
    ----------
    x, y : (n,) array
        Weights of the same features; at most 20 features may have a non-zero weight.

    Raises
    ------
    ParameterError
        More than 20 features, or none.

    Notes
    -----
    It tends to 1 - angle / pi only if no coordinate dominates.

    Examples
    --------
    >>> from nearkin.theory import hashed_signs
    >>> hashed_signs([3, 1], [1, 3]), hashed_signs([5, 1, 1, 1], [5, -1, -1, -1])
    (0.5, 1.0)
    """
    both = np.stack([np.asarray(x, np.float64), np.asarray(y, np.float64)])
    both = both[:, (both != 0).any(axis=0)]
    n = check_count("features", both.shape[1], 1, 20, "1 to 20 features")
    signs = 1 - 2.0 * (np.arange(1 << n)[:, None] >> np.arange(n) & 1)
    above = signs @ both.T > 0
    return float((above[:, 0] == above[:, 1]).mean())


def angle_variance(angle: npt.ArrayLike, bits: int) -> Floats:
    """Return the variance of an angle estimated as pi · distance / bits: angle (pi - angle) / bits.

    Parameters
    ----------
    angle : float or array
        Angle in radians, 0 to pi.
    bits : int
        Width of the fingerprint, 1 or more.

    Raises
    ------
    ParameterError
        An angle or a count out of range.

    Examples
    --------
    >>> import math
    >>> from nearkin.theory import angle_variance
    >>> float(angle_variance(math.pi / 2, 64).round(4))
    0.0386
    """
    angle = in_range("angle", angle, 0, math.pi)
    return angle * (math.pi - angle) / check_count("bits", bits, 1, 2**40, "1 or more")


def fourier_variance(kernel: npt.ArrayLike, features: int, form: Literal["paired", "phase"] = "paired") -> Floats:
    """Return the variance of the estimate of a Gaussian kernel by random Fourier features.

    Parameters
    ----------
    kernel : float or array
        Value K of the kernel, 0 to 1.
    features : int
        Length D of the features.
    form : {"paired", "phase"}, default "paired"
        (1 - K²)² / D, or (1 + K⁴/2 - K²) / D.

    Raises
    ------
    ParameterError
        A value of the kernel outside 0 to 1, a count below 1, or an unknown form.

    Examples
    --------
    >>> from nearkin.theory import fourier_variance
    >>> float(fourier_variance(0.88, 1).round(3)), float(fourier_variance(0.88, 1, "phase").round(3))
    (0.051, 0.525)
    """
    k = in_range("kernel", kernel, 0, 1)
    features = check_count("features", features, 1, 2**40, "1 or more")
    check_choice("form", form, "paired", "phase")
    return ((1 - k**2) ** 2 if form == "paired" else 1 + k**4 / 2 - k**2) / features


def cross_polytope(similarity: npt.ArrayLike, d: int) -> Floats:
    """Return the probability that two randomly projected vectors have the same nearest vertex ±e_i.

    Parameters
    ----------
    similarity : float or array
        Cosine, -1 to 1.
    d : int
        Number of competing coordinates, 1 or more.

    Raises
    ------
    ParameterError
        A similarity outside -1 to 1, or d below 1.

    Notes
    -----
    Exact for d independent Gaussian projections, and approximate for a random rotation and for three rounds of random
    signs and Hadamard transforms; docs/families/cross-polytope.md lists the differences. The leading term in the paper,
    ln(1/p) ~ tau^2 / (4 - tau^2) ln d, is inaccurate: at d = 1024 and cosine 0.9 it is 0.36, the integral 1.05.

    Examples
    --------
    >>> from nearkin.theory import cross_polytope
    >>> cross_polytope([0.9, 0.0], 128).round(4).tolist()
    [0.4306, 0.0039]
    """
    d = check_count("d", d, 1, 2**40, "1 or more")
    values = cosine(similarity)
    laws = [_cross_polytope(float(value), d) for value in values.ravel()]
    return np.array(laws, np.float64).reshape(values.shape)


@cache
def gauss_legendre(count: int) -> tuple[Floats, Floats]:
    """Return the nodes in [-1, 1] and the weights of Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


@lru_cache(maxsize=4096)
def _cross_polytope(rho: float, d: int) -> float:
    """Integrate with y = rho x + s z, s = sqrt(1 - rho²), so that the scale in z does not depend on rho."""
    if abs(rho) == 1.0:
        return (1.0 + rho) / 2.0
    s = math.sqrt((1.0 - rho) * (1.0 + rho))
    bottom, top = _lower_limit(d), 8.0 + math.sqrt(2.0 * math.log(d))
    nodes, weights = gauss_legendre(96)
    x = (bottom + (top - bottom) * (nodes + 1) / 2)[:, None]
    x_weights = ((top - bottom) * weights / 2)[:, None]
    nodes, weights = gauss_legendre(64)
    low = np.clip((bottom - rho * x) / s, -9.0, 9.0)
    z, z_weights = low + (9.0 - low) * (nodes + 1) / 2, (9.0 - low) * weights / 2
    y = np.maximum(rho * x + s * z, 0.0)
    density = np.exp(-(x**2 + z**2) / 2) / (2 * math.pi)
    below = _both_below(x, y, abs(rho), s)
    return float(min(1.0, 2.0 * d * (x_weights * z_weights * density * below ** (d - 1)).sum()))


def _lower_limit(d: int) -> float:
    """Return a number that the largest of d absolute values is below with negligible probability, under e^-40."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (d - 1) * math.erfc(middle / math.sqrt(2)) > 40 else (low, middle)
    return low


def _both_below(x: Floats, y: Floats, rho: float, s: float) -> Floats:
    """Return P(|X| < x, |Y| < y) for correlation rho: 2 ∫_0^x φ(t) P(|Y| < y | X = t) dt.

    The second factor falls from 1 to 0 within a few s / rho of t = y / rho; below that interval the integral is that of
    φ.
    """
    if rho < 1e-9:
        return (2 * normal_cdf(x) - 1) * (2 * normal_cdf(y) - 1)
    low = np.clip((y - 9 * s) / rho, 0.0, x)
    high = np.minimum(x, (y + 9 * s) / rho)
    nodes, weights = gauss_legendre(32)
    t = low[..., None] + (high - low)[..., None] * (nodes + 1) / 2
    inside = normal_cdf((y[..., None] - rho * t) / s) - normal_cdf((-y[..., None] - rho * t) / s)
    part = (np.exp(-(t**2) / 2) * inside * weights).sum(-1) * (high - low) / (2 * math.sqrt(2 * math.pi))
    below: Floats = np.clip(2 * normal_cdf(low) - 1 + 2 * part, 0.0, 1.0)
    return below
