"""Amplification: AND within a table, OR over tables, sensitivity and ρ.

The key of a table is k functions of collision probability p; an index has L tables:

    found = 1 − (1 − p^k)^L                              AND, then OR
    AND: p^k        OR: 1 − (1 − p)^k                    steps of a cascade, each applied to the previous one
    found = 1 − (1 − q)^m − m q (1 − q)^(m−1)            u-functions: tables are pairs of m halves, q = p^(k/2)
    ρ = ln p1 / ln p2                                    L grows as n^ρ for k = log_{1/p2} n

References
----------
.. [1] P. Indyk, R. Motwani, "Approximate nearest neighbors: towards removing the curse of dimensionality", STOC 1998.
.. [2] A. Andoni, P. Indyk, "E2LSH 0.1 user manual", 2005, sections 2 and 3.
.. [3] J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.6.3: constructions, cascades.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, check_choice, check_count
from nearkin.theory.laws import (
    Floats,
    bit_sampling,
    cross_polytope,
    hyperplane,
    in_range,
    minhash,
    pstable,
    shift_invariant,
)

_MAX_COUNT = 2**62
_LAWS: dict[str, Callable[..., Floats]] = {
    "bit_sampling": bit_sampling,
    "cross_polytope": cross_polytope,
    "hyperplane": hyperplane,
    "minhash": minhash,
    "pstable": pstable,
    "shift_invariant": shift_invariant,
    "simhash": hyperplane,
}

Step: TypeAlias = tuple[Literal["and", "or"], int]
"""A collision in all of k copies of a construction, or in at least one of them."""


def amplify(p: npt.ArrayLike, hashes_per_table: int, num_tables: int = 1) -> Floats:
    """Return the probability that two vectors share a bucket in at least one table: 1 - (1 - p^k)^L.

    Parameters
    ----------
    p : float or array
        Collision probability of one function, 0 to 1.
    hashes_per_table : int
        k, 1 or more.
    num_tables : int, default 1
        L, 1 or more.

    Raises
    ------
    ParameterError
        A probability outside 0 to 1, or a count below 1.

    Examples
    --------
    >>> from nearkin.theory import amplify
    >>> amplify([0.2, 0.8], 10, 20).round(4).tolist()
    [0.0, 0.8969]
    """
    p = in_range("p", p, 0, 1)
    k = check_count("hashes_per_table", hashes_per_table, 1, _MAX_COUNT, "1 or more")
    tables = check_count("num_tables", num_tables, 1, _MAX_COUNT, "1 or more")
    return collision_in_any_table(p**k, tables)


def collision_in_any_table(p: Floats, num_tables: int) -> Floats:
    """Return 1 - (1 - p)^L for the probability p of a collision in one table."""
    with np.errstate(divide="ignore"):
        collision: Floats = -np.expm1(num_tables * np.log1p(-p))
    return collision


def min_tables(p: Floats, recall: float, max_tables: int) -> int | None:
    """Return the fewest tables that find vectors with a mean probability of `recall`; None if `max_tables` do not.

    Parameters
    ----------
    p : array
        Probability of a collision in one table, for each vector.
    recall : float
    max_tables : int
    """
    if max_tables < 1 or float(collision_in_any_table(p, max_tables).mean()) < recall:
        return None
    return smallest(1, max_tables, lambda tables: float(collision_in_any_table(p, tables).mean()) >= recall)


def smallest(low: int, high: int, suffices: Callable[[int], bool]) -> int:
    """Return by bisection the smallest number from `low` that suffices; `high` if none below does."""
    while low < high:
        middle = (low + high) // 2
        if suffices(middle):
            high = middle
        else:
            low = middle + 1
    return high


def cascade(p: npt.ArrayLike, steps: Iterable[Step]) -> Floats:
    """Return the probability of a collision after a cascade of AND- and OR-constructions.

    Parameters
    ----------
    p : float or array
        Collision probability of one function, 0 to 1.
    steps : iterable of ("and", k) or ("or", k)
        The first step is applied to functions, each other step to copies of the previous construction; k is 1 or more.
        Without steps the result is p.

    Returns
    -------
    array
        0 to 1.

    Raises
    ------
    ParameterError
        A probability outside 0 to 1, an unknown step, or a count below 1.

    Notes
    -----
    The number of functions is the product of the counts. AND of k then OR of L is `amplify(p, k, L)`. OR is AND of the
    complements, so p and 1 - p are both computed, and both are accurate when they are tiny.

    Examples
    --------
    OR of 4, then AND of 4, then AND and OR again: 256 functions.

    >>> from nearkin.theory import cascade
    >>> steps = [("or", 4), ("and", 4), ("and", 4), ("or", 4)]
    >>> cascade([0.8, 0.2], steps).round(7).tolist()
    [0.9999996, 0.0008715]
    """
    collision = in_range("p", p, 0, 1)
    miss: Floats = 1 - collision
    for step in steps:
        if not isinstance(step, tuple) or len(step) != 2 or step[0] not in ("and", "or"):
            raise bad_parameter("steps", repr(step), 'pairs such as ("and", 4) and ("or", 4)')
        name, count = step
        k = check_count("steps", count, 1, _MAX_COUNT, "counts of 1 or more")
        if name == "and":
            collision, miss = _power(collision, miss, k)
        else:
            miss, collision = _power(miss, collision, k)
    return collision


def _power(p: Floats, q: Floats, k: int) -> tuple[Floats, Floats]:
    """Return p^k and 1 − p^k, where q = 1 − p."""
    with np.errstate(divide="ignore"):
        # Near 1 the complement is more precise than p.
        logs = np.where(p < 0.5, np.log(p), np.log1p(-q))
    return np.exp(k * logs), -np.expm1(k * logs)


def u_functions(p: npt.ArrayLike, hashes_per_table: int, m: int) -> Floats:
    """Return the probability of a shared bucket if m (m - 1) / 2 tables are the pairs of m halves of k / 2 functions.

    Parameters
    ----------
    p : float or array
        Collision probability of one function, 0 to 1.
    hashes_per_table : int
        k, even.
    m : int
        Number of halves, 2 or more.

    Raises
    ------
    ParameterError
        A probability outside 0 to 1, an odd k, or fewer than 2 halves.

    Examples
    --------
    >>> from nearkin.theory import u_functions
    >>> float(u_functions(0.8005, 10, 11).round(3))
    0.92
    """
    m = check_count("m", m, 2, _MAX_COUNT, "2 or more")
    return u_tables(p, hashes_per_table, m * (m - 1) // 2)


def u_tables(p: npt.ArrayLike, hashes_per_table: int, num_tables: int) -> Floats:
    """Return the probability of a shared bucket in the first tables of `PStable(u_functions=True)`.

    These tables are pairs of halves of k / 2 functions in the order (0, 1), (0, 2), (1, 2), (0, 3), and so on.

    Parameters
    ----------
    p : float or array
        Collision probability of one function, 0 to 1.
    hashes_per_table : int
        k, even.
    num_tables : int
        L, 1 or more.

    Raises
    ------
    ParameterError
        A probability outside 0 to 1, an odd k, or a count below 1.

    Notes
    -----
    The tables are all pairs of m halves, and r = L - m (m - 1) / 2 pairs of one more half with the first r of them.
    With q = p^(k/2), no bucket is shared if at most one of the m halves agrees, unless that one is among the first r
    and the additional half agrees:

        1 - (1 - q)^m - m q (1 - q)^(m - 1) (1 - q r / m)

    Examples
    --------
    >>> from nearkin.theory import u_functions, u_tables
    >>> [float(u_tables(0.8005, 10, L).round(3)) for L in (1, 40, 55)], float(u_functions(0.8005, 10, 11).round(3))
    ([0.108, 0.868, 0.92], 0.92)
    """
    p = in_range("p", p, 0, 1)
    k = check_count("hashes_per_table", hashes_per_table, 2, _MAX_COUNT, "2 or more, even")
    if k % 2:
        raise bad_parameter("hashes_per_table", k, "an even number")
    tables = check_count("num_tables", num_tables, 1, _MAX_COUNT**2, "1 or more")
    m = (1 + math.isqrt(1 + 8 * tables)) // 2
    rest = tables - m * (m - 1) // 2
    q = p ** (k / 2)
    collision: Floats = 1 - (1 - q) ** m - m * q * (1 - q) ** (m - 1) * (1 - q * rest / m)
    return collision


def tables_needed(p: float, hashes_per_table: int, recall: float) -> int:
    """Return the fewest tables that find a vector of collision probability p with probability `recall`.

    Parameters
    ----------
    p : float
        Collision probability of one function, above 0, at most 1.
    hashes_per_table : int
    recall : float
        Above 0 and below 1.

    Raises
    ------
    ParameterError
        A value out of range.

    Examples
    --------
    >>> from nearkin.theory import pstable, tables_needed
    >>> p = float(pstable(1.0, width=4.0))
    >>> [tables_needed(p, k, 0.9) for k in (10, 14, 18, 20)]
    [21, 51, 126, 196]
    """
    check_probability("recall", recall)
    if not 0 < p <= 1:
        raise bad_parameter("p", p, "above 0, at most 1")
    if p == 1:
        return 1
    return max(1, math.ceil(math.log1p(-recall) / math.log1p(-(p**hashes_per_table)) - 1e-12))


def u_functions_needed(p: float, hashes_per_table: int, recall: float) -> int:
    """Return the fewest halves m whose pairs find a vector of collision probability p with probability `recall`.

    Parameters
    ----------
    p : float
        Collision probability of one function, above 0, at most 1.
    hashes_per_table : int
        k, even.
    recall : float
        Above 0 and below 1.

    Raises
    ------
    ParameterError
        A value out of range, or a p so small that no number of halves reaches the recall.

    Examples
    --------
    >>> from nearkin.theory import u_functions_needed
    >>> [u_functions_needed(0.8005, k, 0.9) for k in (10, 14, 18, 20)]
    [11, 17, 28, 35]
    """
    check_probability("recall", recall)
    high = 2
    while float(u_functions(p, hashes_per_table, high)) < recall:
        high *= 2
        if high > 1 << 60:
            raise bad_parameter("p", p, "a collision probability with which some number of halves reaches the recall")
    return smallest(max(2, high // 2), high, lambda m: float(u_functions(p, hashes_per_table, m)) >= recall)


def rho(p1: float, p2: float) -> float:
    """Return ln p1 / ln p2: an index for near probability p1 and far probability p2 needs about n^rho tables.

    Parameters
    ----------
    p1, p2 : float
        Collision probabilities of near and of far vectors, 0 < p2 < p1 < 1.

    Raises
    ------
    ParameterError
        Probabilities in another order.

    Examples
    --------
    >>> from nearkin.theory import rho
    >>> round(rho(0.8, 0.5), 3)
    0.322
    """
    if not 0 < p2 < p1 < 1:
        raise bad_parameter("p1, p2", f"{p1}, {p2}", "probabilities with 0 < p2 < p1 < 1")
    return math.log(p1) / math.log(p2)


@dataclass(frozen=True)
class Sensitivity:
    """Probabilities that a construction finds vectors within `near` and vectors beyond `far`."""

    near: float
    far: float
    p_near: float
    """Lower bound for distances up to `near` (or similarities from `near`)."""
    p_far: float
    """Upper bound for distances from `far` (or similarities up to `far`)."""

    @property
    def rho(self) -> float:
        """Ln p_near / ln p_far."""
        return rho(self.p_near, self.p_far)

    def amplified(self, hashes_per_table: int, num_tables: int) -> Sensitivity:
        """Return the sensitivity of `num_tables` tables of `hashes_per_table` functions each.

        Parameters
        ----------
        hashes_per_table, num_tables : int
            k and L, 1 or more.
        """
        return self._with(amplify([self.p_near, self.p_far], hashes_per_table, num_tables))

    def cascaded(self, steps: Iterable[Step]) -> Sensitivity:
        """Return the sensitivity after a cascade of AND- and OR-constructions.

        Parameters
        ----------
        steps : iterable of ("and", k) or ("or", k)
            As for `cascade`.

        Examples
        --------
        >>> from nearkin.theory import Sensitivity
        >>> s = Sensitivity(near=0.9, far=0.5, p_near=0.8, p_far=0.2)
        >>> amplified = s.cascaded([("or", 4), ("and", 4)])
        >>> round(amplified.p_near, 4), round(amplified.p_far, 4)
        (0.9936, 0.1215)
        """
        return self._with(cascade([self.p_near, self.p_far], steps))

    def _with(self, probabilities: Floats) -> Sensitivity:
        return Sensitivity(self.near, self.far, *probabilities.tolist())


def sensitivity(law: str | Callable[..., Floats], near: float, far: float, **parameters: Any) -> Sensitivity:
    """Return the sensitivity (d1, d2, p1, p2) of a family at two distances or similarities.

    Parameters
    ----------
    law : str or callable
        "bit_sampling", "cross_polytope", "hyperplane", "minhash", "pstable", "shift_invariant" or "simhash": the law of
        that name in `nearkin.theory`; "simhash" is "hyperplane". Or the collision probability as a function of distance
        or similarity, such as `family.collision_probability`.
    near, far : float
        Distances or similarities at which collisions should be frequent and rare.
    **parameters
        Further arguments of the law, such as the width of "pstable".

    Raises
    ------
    ParameterError
        An unknown name; the law is not larger at `near`.
    TypeError
        The law has no such parameter, or needs another one.

    Examples
    --------
    >>> from nearkin.theory import sensitivity
    >>> s = sensitivity("hyperplane", 0.9, 0.5)
    >>> round(s.p_near, 3), round(s.p_far, 3), round(s.rho, 3)
    (0.856, 0.667, 0.382)
    >>> round(s.amplified(10, 10).p_near, 3), round(s.amplified(10, 10).p_far, 3)
    (0.908, 0.16)
    >>> s = sensitivity("pstable", 1, 2, width=4.0)
    >>> round(s.p_near, 3), round(s.p_far, 3)
    (0.801, 0.61)
    """
    if isinstance(law, str):
        check_choice("law", law, *_LAWS)
        law = _LAWS[law]
    p_near, p_far = (float(p) for p in law(np.array([near, far]), **parameters))
    if not p_near > p_far:
        raise bad_parameter(
            "near, far", f"{near}, {far}", "two distances or similarities, the first with more collisions"
        )
    return Sensitivity(near, far, p_near, p_far)


def ball_regions(balls: int, dimension: int) -> int:
    """Return the maximum number of regions that balls cut space into: C(c - 1, d) + sum of C(c, i) for i = 0 to d.

    Parameters
    ----------
    balls, dimension : int
        c and d, 1 to 100,000.

    Raises
    ------
    ParameterError
        A count out of range.

    Examples
    --------
    >>> from nearkin.theory import ball_regions, plane_regions
    >>> ball_regions(3, 2), plane_regions(3, 2), ball_regions(4, 2)
    (8, 7, 14)
    """
    c = check_count("balls", balls, 1, 10**5, "1 to 100,000")
    d = check_count("dimension", dimension, 1, 10**5, "1 to 100,000")
    return math.comb(c - 1, d) + plane_regions(c, d)


def plane_regions(planes: int, dimension: int) -> int:
    """Return the maximum number of regions that hyperplanes cut space into: the sum of C(c, i) for i = 0 to d.

    Parameters
    ----------
    planes, dimension : int
        c and d, 1 to 100,000.

    Raises
    ------
    ParameterError
        A count out of range.

    Examples
    --------
    >>> from nearkin.theory import plane_regions
    >>> plane_regions(3, 2)
    7
    """
    c = check_count("planes", planes, 1, 10**5, "1 to 100,000")
    d = check_count("dimension", dimension, 1, 10**5, "1 to 100,000")
    return sum(math.comb(c, i) for i in range(min(c, d) + 1))


def check_probability(name: str, value: float) -> None:
    """Check a probability that is neither 0 nor 1."""
    if not 0 < value < 1:
        raise bad_parameter(name, value, "a number between 0 and 1")
