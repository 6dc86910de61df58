"""Bands and rows as datasketch chooses them: the pair (b, r), b r ≤ k, that minimises a weighted sum of two errors.

    error(b, r) = w_p ∫ found(x) dx over what is not wanted + w_n ∫ (1 − found(x)) dx over what is
    found(x) = 1 − (1 − s(x)^r)^b

`MinHashLSH` takes the similarity s(x) = x, wanted from the threshold on. `MinHashLSHEnsemble` takes the containment x
of a query of q features in a set of at most u: s(x) = x / (1 + u/q − x), x up to min(1, u/q). Of equal errors the first
pair counts, by b and then by r.

datasketch integrates by QUADPACK with an error of about 10^-8; here Gauss and Legendre's rule with k/2 + 1 nodes is
exact, since the integrands of a similarity are polynomials up to degree k. The choice is the same unless two pairs are
equal within that error: `tests/compat/test_compat_datasketch.py` compares them. Where false positives weigh nothing the
error falls with every band, until 1 − found(x) is rounded to 0, and the first such pair counts: there QUADPACK's first
step is computed as it does it, with the 21 nodes of Gauss and Kronrod.

Source of the nodes: Piessens, de Doncker-Kapenga, Überhuber, Kahaner, "QUADPACK" (1983), routine QK21.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter

_Floats = npt.NDArray[np.float64]
_NODES = 256
"""Most nodes of the rule."""

_KRONROD = (
    (0.995657163025808080735527280689003, 0.011694638867371874278064396062192),
    (0.973906528517171720077964012084452, 0.032558162307964727478818972459390),
    (0.930157491355708226001207180059508, 0.054755896574351996031381300244580),
    (0.865063366688984510732096688423493, 0.075039674810919952767043140916190),
    (0.780817726586416897063717578345042, 0.093125454583697605535065465083366),
    (0.679409568299024406234327365114874, 0.109387158802297641899210590325805),
    (0.562757134668604683339000099272694, 0.123491976262065851077958109585166),
    (0.433395394129247190799265943165784, 0.134709217311473325928054001771707),
    (0.294392862701460198131126603103866, 0.142775938577060080797094273138717),
    (0.148874338981631210884826001129720, 0.147739104901338491374841515972068),
)
"""Nodes above 0 of QK21 and their weights; those below 0 have the same."""
_KRONROD_MIDDLE = 0.149445554002916905664936468389821
_ROUNDED = 1e-9
"""Integrals below this may be rounded to 0."""


def check_weights(weights: tuple[float, float]) -> tuple[float, float]:
    """The weights of false positives and false negatives.

    Parameters
    ----------
    weights : pair of float
        0 to 1, with the sum 1.

    Raises
    ------
    ParameterError
        Anything else.
    """
    if len(weights) != 2 or not all(0 <= weight <= 1 for weight in weights) or sum(weights) != 1.0:
        raise bad_parameter("weights", repr(weights), "two numbers from 0 to 1 with the sum 1")
    return float(weights[0]), float(weights[1])


def check_threshold(threshold: float) -> float:
    """A threshold from 0 to 1.

    Parameters
    ----------
    threshold : float

    Raises
    ------
    ParameterError
        Anything else.
    """
    if isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise bad_parameter("threshold", repr(threshold), "0 to 1")
    return float(threshold)


@lru_cache(maxsize=256)
def choose(
    threshold: float,
    num_perm: int,
    weights: tuple[float, float],
    most_rows: int | None = None,
    ratio: float | None = None,
) -> tuple[int, int]:
    """The bands and rows with the smallest error.

    Parameters
    ----------
    threshold : float
        0 to 1.
    num_perm : int
        k, 1 or more.
    weights : pair of float
        Of false positives and of false negatives.
    most_rows : int, optional
        Largest r; None for any.
    ratio : float, optional
        u/q, for containment; None for similarity.

    Returns
    -------
    b, r : int
    """
    most = num_perm if most_rows is None else most_rows
    end = 1.0 if ratio is None else min(1.0, ratio)
    rows = np.arange(1, min(num_perm, most) + 1)[:, None]
    wrong = _Integral(0.0, min(threshold, end), ratio, rows)
    missed = _Integral(threshold, max(threshold, end), ratio, rows)
    best, least = (0, 0), math.inf
    for b in range(1, num_perm + 1):
        top = min(num_perm // b, most)
        found = wrong.length - wrong.missed(top)
        errors = weights[0] * found + weights[1] * missed.missed(top)
        if not weights[0]:
            for r in np.flatnonzero(errors < _ROUNDED).tolist():
                errors[r] = weights[1] * _rounded(missed, b, r + 1)
        r = int(np.argmin(errors))
        if errors[r] < least:
            best, least = (b, r + 1), float(errors[r])
    return best


class _Integral:
    """The integrals of 1 − found(x) from low to high for one more band at each call."""

    def __init__(self, low: float, high: float, ratio: float | None, rows: npt.NDArray[np.int64]) -> None:
        self.low, self.high, self.ratio = low, high, ratio
        self.length = high - low
        nodes, self.shares = np.polynomial.legendre.leggauss(
            _NODES if ratio is None and len(rows) > 2 * _NODES else max(64, len(rows) // 2 + 1)
        )
        x = self.length / 2 * nodes + (high + low) / 2
        s = x if ratio is None else x / (1 + ratio - x)
        self.differ: _Floats = 1 - s**rows
        self.product: _Floats = np.ones_like(self.differ)

    def missed(self, top: int) -> _Floats:
        """For r = 1 to top, which never grows."""
        self.product = self.product[:top] * self.differ[:top]
        integrals: _Floats = self.product @ self.shares * (self.length / 2)
        return integrals


def _rounded(integral: _Integral, b: int, r: int) -> float:
    """The integral of 1 − found(x) as QUADPACK's first step has it, roundings included."""

    def missed(x: float) -> float:
        s = x if integral.ratio is None else x / (1 + integral.ratio - x)
        return float(1 - (1 - (1 - s ** float(r)) ** float(b)))

    middle, half = 0.5 * (integral.low + integral.high), 0.5 * (integral.high - integral.low)
    total = _KRONROD_MIDDLE * missed(middle)
    for node, weight in _KRONROD[1::2] + _KRONROD[0::2]:
        total += weight * (missed(middle - half * node) + missed(middle + half * node))
    return total * half
