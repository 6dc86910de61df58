r"""Collision laws: the probability that a random function of a family gives two vectors the same value.

| law | of | formula |
|---|---|---|
| `hyperplane(c)` | the cosine c | 1 − arccos(c)/π |
| `pstable(r, "l2")` | distance / width, 1/r below | 1 − 2Φ(−r) − 2/(√(2π) r) (1 − e^(−r²/2)) |
| `pstable(r, "l1")` | distance / width, 1/r below | 2 arctan(r)/π − ln(1 + r²)/(π r) |
| `cross_polytope(c, d)` | the cosine c | 2d ∫∫_{x,y>0} φ(x, y; c) P(\|X\| < x, \|Y\| < y)^(d−1) dx dy |

Φ is the normal distribution, φ(x, y; c) the density of two standard normal numbers with correlation c. Each law is held
against independent draws in `tests/families/test_laws.py`, and against printed values in `tests/theory/test_laws.py`.

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
from functools import cache, lru_cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, check_count

Floats: TypeAlias = npt.NDArray[np.float64]

_erf = np.frompyfunc(math.erf, 1, 1)


def normal_cdf(x: npt.ArrayLike) -> Floats:
    """Φ(x), elementwise."""
    return 0.5 * (1.0 + np.asarray(_erf(np.asarray(x, np.float64) / math.sqrt(2.0)), np.float64))


def in_range(name: str, values: npt.ArrayLike, least: float, most: float) -> Floats:
    """`values` as float64, refused if any lies outside of [least, most] or is no number."""
    array = np.asarray(values, np.float64)
    bad = ~((array >= least) & (array <= most))
    if bad.any():
        raise bad_parameter(name, array[bad].flat[0], f"{least:g} to {most:g}")
    return array


def cosine(values: npt.ArrayLike) -> Floats:
    """Cosine similarities; what rounding has pushed over 1 by less than 1e-6 is 1."""
    return np.clip(in_range("similarity", values, -1.000001, 1.000001), -1.0, 1.0)


def hyperplane(similarity: npt.ArrayLike) -> Floats:
    """Probability that the sides of a random hyperplane agree: 1 - arccos(similarity) / pi.

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
    """Probability that two vectors at a distance fall into the same cell of a random p-stable projection.

    Parameters
    ----------
    distance : float or array
        L2 or L1 distance, 0 or more.
    metric : {"l2", "l1"}, default "l2"
        Gaussian or Cauchy projections.
    width : float, default 1
        Width of a cell in the same unit, above 0.

    Examples
    --------
    >>> from nearkin.theory import pstable
    >>> pstable([0.0, 1.0], width=4.0).round(4).tolist(), float(pstable(1.0, "l1", width=4.0).round(4))
    ([1.0, 0.8005], 0.6186)
    """
    if metric not in ("l2", "l1"):
        raise bad_parameter("metric", repr(metric), '"l2" or "l1"')
    if not 0 < width < math.inf:
        raise bad_parameter("width", width, "a number above 0")
    distance = in_range("distance", distance, 0, math.inf)
    ratio = width / np.maximum(distance, width * 1e-12)
    if metric == "l2":
        tail = -np.expm1(-(ratio**2) / 2)
        value = 1.0 - 2.0 * normal_cdf(-ratio) - 2.0 * tail / (math.sqrt(2.0 * math.pi) * ratio)
    else:
        value = 2.0 * np.arctan(ratio) / math.pi - np.log1p(ratio**2) / (math.pi * ratio)
    # Rounding leaves a few 1e-12 at distance 0, and below 0 far out, where the value is about ratio / sqrt(2 pi).
    return np.where(distance == 0, 1.0, np.clip(value, 0.0, 1.0))


def cross_polytope(similarity: npt.ArrayLike, d: int) -> Floats:
    """Probability that the nearest vertices ±e_i of two randomly projected vectors are the same one.

    Parameters
    ----------
    similarity : float or array
        Cosine, -1 to 1.
    d : int
        Number of coordinates that compete, 1 or more.

    Notes
    -----
    Exact for d independent Gaussian projections. A random rotation, and three rounds of random signs and Hadamard
    transforms, come near it: docs/families/cross-polytope.md has the differences. The leading term of the paper,
    ln(1/p) ~ tau^2 / (4 - tau^2) ln d, is not near: at d = 1024 and cosine 0.9 it is 0.36, and the integral 1.05.

    Examples
    --------
    >>> from nearkin.theory import cross_polytope
    >>> cross_polytope([0.9, 0.0], 128).round(4).tolist()
    [0.4306, 0.0039]
    """
    d = check_count("d", d, 1, 2**40, "1 or more")
    values = cosine(similarity)
    found = [_cross_polytope(float(value), d) for value in values.ravel()]
    return np.array(found, np.float64).reshape(values.shape)


@cache
def _nodes(count: int) -> tuple[Floats, Floats]:
    """Nodes in [-1, 1] and weights of Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


@lru_cache(maxsize=4096)
def _cross_polytope(rho: float, d: int) -> float:
    """The integral, with y = rho x + s z, s = sqrt(1 - rho²), so that its scale in z does not depend on rho."""
    if abs(rho) == 1.0:
        return (1.0 + rho) / 2.0
    s = math.sqrt((1.0 - rho) * (1.0 + rho))
    top = 8.0 + math.sqrt(2.0 * math.log(d))
    nodes, weights = _nodes(96)
    x, x_weights = (top * (nodes + 1) / 2)[:, None], (top * weights / 2)[:, None]
    nodes, weights = _nodes(64)
    low = np.clip(-rho * x / s, -9.0, 9.0)
    z, z_weights = low + (9.0 - low) * (nodes + 1) / 2, (9.0 - low) * weights / 2
    y = np.maximum(rho * x + s * z, 0.0)
    density = np.exp(-(x**2 + z**2) / 2) / (2 * math.pi)
    below = _both_below(x, y, abs(rho), s)
    return float(min(1.0, 2.0 * d * (x_weights * z_weights * density * below ** (d - 1)).sum()))


def _both_below(x: Floats, y: Floats, rho: float, s: float) -> Floats:
    """P(|X| < x, |Y| < y) for correlation rho: 2 ∫_0^x φ(t) P(|Y| < y | X = t) dt.

    Given t the second factor falls from 1 to 0 within a few s / rho of y / rho: before that the integral is Φ's.
    """
    if rho < 1e-9:
        return (2 * normal_cdf(x) - 1) * (2 * normal_cdf(y) - 1)
    low = np.clip((y - 9 * s) / rho, 0.0, x)
    high = np.minimum(x, (y + 9 * s) / rho)
    nodes, weights = _nodes(32)
    t = low[..., None] + (high - low)[..., None] * (nodes + 1) / 2
    inside = normal_cdf((y[..., None] - rho * t) / s) - normal_cdf((-y[..., None] - rho * t) / s)
    part = (np.exp(-(t**2) / 2) * inside * weights).sum(-1) * (high - low) / (2 * math.sqrt(2 * math.pi))
    below: Floats = np.clip(2 * normal_cdf(low) - 1 + 2 * part, 0.0, 1.0)
    return below
