"""Choice of index parameters from data: width, hashes per table, tables and probes for a required recall.

Two samples of distances describe the data: `near`, from queries to the neighbours to find, and `others`, to random
vectors. Let p(c, w) be the probability of an equal hash value at distance c, q(c, w) that of the next cell on the
query's nearer side, and let each table of k hashes be probed with all sets of up to r changed hashes:

    s(c) = Σ_{i<=r} C(k, i) p^(k−i) q^i            found in one table
    recall = mean over near of 1 − (1 − s)^L        checks = n · mean over others of 1 − (1 − s)^L
    cost = hash_cost · L · (k + probes) + check_cost · checks

`choose` returns the cheapest width, k and r whose L tables reach the recall within the memory. `slaney` is the closed
form of Slaney, Lifshits and He, which averages p and q first, probes sets of exactly r changes to one side, and derives
k only from the far collisions.

References
----------
.. [1] M. Slaney, Y. Lifshits, J. He, "Optimal parameters for locality-sensitive hashing", Proceedings of the IEEE 2012.
.. [2] W. Dong, Z. Wang, W. Josephson, M. Charikar, K. Li, "Modeling LSH for performance tuning", CIKM 2008.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, check_choice, check_count
from nearkin.theory.amplification import check_probability, collision_in_any_table, min_tables
from nearkin.theory.laws import (
    Floats,
    check_cell_distances,
    cross_polytope,
    gauss_legendre,
    hyperplane,
    normal_cdf,
    pstable,
)

Law: TypeAlias = Callable[[Floats, float], tuple[Floats, Floats]]
"""(distances or similarities, width) → p and q."""
_NUM_QUANTILES = 64
"""Quantiles that represent a sample of distances."""


@dataclass(frozen=True)
class Choice:
    """Parameters of an index, with expected recall and cost."""

    hashes_per_table: int
    num_tables: int
    num_probes: int
    """Buckets probed in each table, including the query's own."""
    width: float | None
    """Width of a cell; None for families without one."""
    recall: float
    """Expected share of near vectors that the index finds."""
    checks: float
    """Expected candidates per query."""
    cost: float
    memory: int
    """Bytes of the tables' entries."""


def next_cell(distance: npt.ArrayLike, metric: Literal["l2", "l1"] = "l2", *, width: float = 1.0) -> Floats:
    """Return the probability that a vector is in the next cell of a p-stable function, on the query's nearer side.

    Parameters and errors are those of `pstable`.

    Examples
    --------
    >>> from nearkin.theory import next_cell
    >>> float(next_cell(1.0, width=4.0).round(4))
    0.1952
    """
    distance = check_cell_distances(distance, metric, width)
    return np.asarray(np.where(distance == 0, 0.0, _mean_next_cell(distance, metric, width, 0.5)))


def _mean_next_cell(distance: Floats, metric: str, width: float, farthest: float) -> Floats:
    """Return the mean probability of the next cell, from 0 to `farthest` widths before its edge."""
    nodes, weights = gauss_legendre(48)
    edge = (nodes + 1) / 2 * farthest
    scale = np.maximum(distance, width * 1e-12)[..., None] / width
    if metric == "l2":
        inside = normal_cdf((edge + 1) / scale) - normal_cdf(edge / scale)
    else:
        inside = (np.arctan((edge + 1) / scale) - np.arctan(edge / scale)) / math.pi
    return np.asarray((inside * weights).sum(-1) / 2)


def collision_law(distance: Literal["l2", "l1", "cosine"], *, dims: int | None = None) -> Law:
    """Return p and q of p-stable functions, hyperplanes or cross-polytopes as functions of distance and width.

    For cross-polytopes q is 0, because the gain from the second nearest vertex has no closed form.

    Parameters
    ----------
    distance : {"l2", "l1", "cosine"}
        Argument of the law; "cosine" for hyperplanes.
    dims : int, optional
        With "cosine": cross-polytopes of this many coordinates instead of hyperplanes.

    Returns
    -------
    callable
        Takes distances (or similarities) and a width, and returns p and q.

    Raises
    ------
    ParameterError
        An unknown distance.

    Examples
    --------
    >>> from nearkin.theory import collision_law
    >>> p, q = collision_law("l2")(1.0, 4.0)
    >>> float(p.round(4)), float(q.round(4))
    (0.8005, 0.1952)
    """
    if distance in ("l2", "l1"):
        metric: Literal["l2", "l1"] = "l2" if distance == "l2" else "l1"
        return lambda at, width: (pstable(at, metric, width=width), next_cell(at, metric, width=width))
    check_choice("distance", distance, "l2", "l1", "cosine")
    if dims is not None:
        return lambda at, _: (cross_polytope(at, dims), np.zeros_like(at))

    def planes(at: Floats, _: float) -> tuple[Floats, Floats]:
        p = hyperplane(at)
        return p, 1 - p

    return planes


def _quantiles(name: str, values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, np.float64).ravel()
    if not len(array) or not np.isfinite(array).all():
        raise bad_parameter(name, "no values, or values that are NaN or infinite", "a sample of finite numbers")
    return np.quantile(array, (np.arange(_NUM_QUANTILES) + 0.5) / _NUM_QUANTILES)


def choose(
    near: npt.ArrayLike,
    others: npt.ArrayLike,
    n: int,
    *,
    distance: Literal["l2", "l1", "cosine"] = "l2",
    recall: float = 0.9,
    memory: int | None = None,
    max_tables: int = 1024,
    max_hashes: int = 40,
    max_changes: int = 2,
    dims: int | None = None,
    hash_cost: float = 1.0,
    check_cost: float = 1.0,
    bytes_per_entry: int = 8,
) -> Choice:
    """Return the cheapest parameters that are expected to reach a recall.

    Parameters
    ----------
    near : array
        Distances (cosine similarities with "cosine") from sampled queries to the neighbours to find.
    others : array
        Distances (similarities) of random pairs.
    n : int
        Number of vectors in the index, 1 or more.
    distance : {"l2", "l1", "cosine"}, default "l2"
    recall : float, default 0.9
        Above 0 and below 1.
    memory : int, optional
        Maximum bytes of the tables' entries.
    max_tables, max_hashes, max_changes : int
        Upper bounds of tables, hashes per table, and changed hashes of a probe (r).
    dims : int, optional
        Cross-polytopes of this many coordinates instead of hyperplanes.
    hash_cost, check_cost : float, default 1
        Measured cost of a hash or lookup, and of a candidate, 0 or more, in the same unit.
    bytes_per_entry : int, default 8

    Returns
    -------
    Choice

    Raises
    ------
    ParameterError
        A value out of range; no parameters within the bounds reach the recall.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.theory import choose
    >>> choice = choose(np.full(10, 1.0), np.full(10, 5.0), 100_000, recall=0.9)
    >>> choice.recall >= 0.9, choice.checks < 2000
    (True, True)
    """
    n = check_count("n", n, 1, 2**50, "1 or more")
    check_probability("recall", recall)
    max_tables = check_count("max_tables", max_tables, 1, 1 << 20, "1 to 1,048,576")
    check_count("max_hashes", max_hashes, 1, 1 << 16, "1 to 65,536")
    check_count("max_changes", max_changes, 0, 64, "0 to 64")
    check_count("bytes_per_entry", bytes_per_entry, 1, 1 << 20, "1 or more")
    _check_costs(hash_cost, check_cost)
    if memory is not None:
        size = check_count("memory", memory, 1, 1 << 62, "bytes, 1 or more")
        max_tables = min(max_tables, size // (n * bytes_per_entry))
    law = collision_law(distance, dims=dims)
    close, far = _quantiles("near", near), _quantiles("others", others)
    widths: list[float | None] = [None]
    if distance != "cosine":
        scale = max(float(np.median(close)), float(np.median(far)) * 1e-6)
        widths = [scale * 2.0 ** (step / 4) for step in range(-4, 25)]
    best: Choice | None = None
    for width in widths:
        (p, q), (p_far, q_far) = law(close, width or 1.0), law(far, width or 1.0)
        for k in range(1, max_hashes + 1):
            hit, hit_far, probes = p**k, p_far**k, 1
            for changes in range(min(max_changes, k) + 1):
                if changes:
                    ways = math.comb(k, changes)
                    hit = hit + ways * p ** (k - changes) * q**changes
                    hit_far = hit_far + ways * p_far ** (k - changes) * q_far**changes
                    probes += ways
                    if not q.any():
                        break
                tables = min_tables(np.minimum(hit, 1.0), recall, max_tables)
                if tables is None:
                    continue
                checks = n * float(collision_in_any_table(np.minimum(hit_far, 1.0), tables).mean())
                cost = hash_cost * tables * (k + probes) + check_cost * checks
                if best is None or cost < best.cost:
                    reached = float(collision_in_any_table(np.minimum(hit, 1.0), tables).mean())
                    best = Choice(k, tables, probes, width, reached, checks, cost, tables * n * bytes_per_entry)
    if best is None:
        allowed = f"less: no parameters with up to {max_tables} tables are expected to reach it on these distances"
        raise bad_parameter("recall", recall, allowed)
    return best


def _check_costs(hash_cost: float, check_cost: float) -> None:
    for name, cost in (("hash_cost", hash_cost), ("check_cost", check_cost)):
        if not 0 <= cost < math.inf:
            raise bad_parameter(name, cost, "a number from 0 on")


@dataclass(frozen=True)
class Slaney:
    """Parameters by the closed form of Slaney, Lifshits and He."""

    width: float
    hashes_per_table: int
    num_tables: int
    p_near: float
    p_any: float
    checks: float
    cost: float


def slaney(
    near: npt.ArrayLike,
    others: npt.ArrayLike,
    n: int,
    *,
    miss: float = math.exp(-1),
    changes: int = 0,
    hash_cost: float = 1.0,
    check_cost: float = 1.0,
    widths: int = 500,
) -> Slaney:
    """Return width, hashes per table and tables of an L2 index by the closed form of Slaney, Lifshits and He (2012).

    Parameters
    ----------
    near, others : array
        Distances to nearest neighbours and to random vectors.
    n : int
        Number of vectors in the index.
    miss : float, default 1/e
        Accepted probability of missing the neighbour.
    changes : int, default 0
        r: sets of exactly r hashes are probed in their next cell, to one side.
    hash_cost, check_cost : float, default 1
    widths : int, default 500
        Number of widths that are tried, in a geometric sequence.

    Returns
    -------
    Slaney

    Raises
    ------
    ParameterError
        A value out of range; distances that no width suits.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.theory import slaney
    >>> choice = slaney(np.full(10, 1.0), np.full(10, 5.0), 100_000)
    >>> choice.hashes_per_table > 5, choice.num_tables >= 1
    (True, True)
    """
    check_probability("miss", miss)
    close, far = _quantiles("near", near), _quantiles("others", others)
    n = check_count("n", n, 2, 2**50, "2 or more")
    r = check_count("changes", changes, 0, 64, "0 to 64")
    check_count("widths", widths, 1, 1 << 20, "1 or more")
    _check_costs(hash_cost, check_cost)
    if not 0 < float(np.median(close)) or not 0 < float(np.median(far)):
        raise bad_parameter("near", "distances that are 0", "distances above 0, below the others")
    best: Slaney | None = None
    for width in np.geomspace(float(np.median(close)) / 10, float(np.median(far)) * 10, widths):
        p, p_any = (float(pstable(at, width=width).mean()) for at in (close, far))
        q, q_any = (float(_mean_next_cell(at, "l2", width, 1.0).mean()) for at in (close, far))
        if not 0 < p_any < 1 or p <= 0:
            continue
        k = max(1, r, round(math.log(n) / -math.log(p_any)))
        hit = math.comb(k, r) * p ** (k - r) * q**r
        if hit <= 0 or not math.isfinite(tables := -math.log(miss) / hit):
            continue
        checks = math.ceil(tables) * n * math.comb(k, r) * p_any ** (k - r) * q_any**r
        cost = hash_cost * tables + check_cost * tables * n * math.comb(k, r) * p_any ** (k - r) * q_any**r
        if best is None or cost < best.cost:
            best = Slaney(float(width), k, math.ceil(tables), p, p_any, checks, cost)
    if best is None:
        raise bad_parameter("near", "distances that no width fits", "distances above 0, below the others")
    return best


def sample_distances(
    X: npt.ArrayLike, *, distance: Literal["l2", "l1", "cosine"] = "l2", k: int = 1, queries: int = 100, seed: int = 0
) -> tuple[Floats, Floats]:
    """Return the distances of sampled vectors to their k nearest in X, and to random vectors of X.

    Parameters
    ----------
    X : (n, d) array
        Two rows or more.
    distance : {"l2", "l1", "cosine"}, default "l2"
        Cosine similarities with "cosine".
    k : int, default 1
        Number of neighbours, without the vector itself and its copies.
    queries : int, default 100
        Number of sampled vectors.
    seed : int, default 0

    Returns
    -------
    near : (queries · k,) float64
        Fewer if a vector has fewer than k vectors that differ from it.
    others : (queries · 10,) float64

    Raises
    ------
    ParameterError
        Rows that are not finite, or all equal, or of zeros with "cosine"; a count out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.theory import sample_distances
    >>> near, others = sample_distances(np.random.default_rng(0).standard_normal((300, 8)))
    >>> bool(np.median(near) < np.median(others))
    True
    """
    rows = np.asarray(X, np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise bad_parameter("X", f"an array of shape {rows.shape}", "two rows or more, of shape (n, d)")
    if not np.isfinite(rows).all():
        raise bad_parameter("X", "values that are NaN or infinite", "finite numbers")
    check_choice("distance", distance, "l2", "l1", "cosine")
    if distance == "cosine" and not rows.any(axis=1).all():
        raise bad_parameter("X", "rows of zeros, which have no direction", "vectors with a direction")
    k = check_count("k", k, 1, len(rows) - 1, f"1 to {len(rows) - 1}")
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(rows))[: check_count("queries", queries, 1, 2**40, "1 or more")]
    norms = np.sqrt((rows**2).sum(1))
    near, others = [], []
    for i in chosen:
        if distance == "cosine":
            values = -(rows @ rows[i]) / norms / norms[i]
        elif distance == "l1":
            values = np.abs(rows - rows[i]).sum(1)
        else:
            values = np.sqrt(((rows - rows[i]) ** 2).sum(1))
        rest = values[~(rows == rows[i]).all(axis=1)]
        if not len(rest):
            continue
        near.append(np.sort(rest)[:k])
        others.append(rest[rng.integers(0, len(rest), 10)])
    if not near:
        raise bad_parameter("X", "rows that are all equal", "vectors with some distance between them")
    sign = -1.0 if distance == "cosine" else 1.0
    return sign * np.concatenate(near), sign * np.concatenate(others)
