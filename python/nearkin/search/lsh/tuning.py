"""Parameters of an index of vectors from the data: a wanted recall within a memory, at the least expected time.

Theory needs the distances of neighbours and of any two rows. They are sampled from the data: 200 rows are taken for
queries, their k true neighbours are found, and so are as many random rows. For h hashes per table and T probes, the
share s_i of sampled tables in which neighbour i of its query lies within the T probes is counted; L independent tables
find it with

    1 − (1 − s_i)^L        recall(L) = the mean over all neighbours,        candidates(L) = n · the same mean over
    random rows

which at T = 1 is the law 1 − (1 − p^h)^L with p^h measured instead of assumed (Slaney, Lifshits and He 2012 take p
from the distances' histogram and a law; families without a law have none). The L that reaches the recall follows for
each (h, T); of those whose tables fit the memory the one of least expected time wins. A scan of codes is weighed
beside them where the family gives bits: the m that holds the wanted share of neighbours is read from their ranks among
the sampled codes. At last the index is made and its recall measured on the queries; where that, less two standard
errors of the mean over queries, falls short, m, T or L grow until it does not: the recall of other queries varies about
the same mean.

Expected times are sums of the constants below, measured on one machine; on others they cost time, never recall.

Sources: Slaney, Lifshits, He, "Optimal Parameters for Locality-Sensitive Hashing", Proc. IEEE 100 (2012), section III;
Dong, Wang, Josephson, Charikar, Li, "Modeling LSH for Performance Tuning", CIKM 2008, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin._core import LshCore
from nearkin.errors import InputError, bad_parameter, check_count
from nearkin.families.base import Family
from nearkin.search.lsh.settings import Index, check
from nearkin.vectors.rows import Rows, Vectors, as_rows

Floats = npt.NDArray[np.float64]

_QUERIES = 200
"""Rows that serve as queries."""
_RANDOM = 2000
"""Random rows that stand for all."""
_ERRORS = 2.0
"""Standard errors that the measured recall must lie above the wanted one."""
_TABLES = 16
"""Sampled tables: the share s of tables that find a neighbour is known to 0.1 at most."""
_PROBES = (1, 8, 32, 128)
_MARGIN = 0.02
"""What the expected recall is asked for above the wanted one: the sample is finite."""

# Nanoseconds, one thread of a server core of 2024 (bench/vectors.py).
_NS_PROBE = 120.0
"""Making one probe and looking it up."""
_NS_CANDIDATE = 25.0
"""Fetching a candidate."""
_NS_STEP = 0.12
"""One coordinate of a candidate, or of a projection."""
_NS_WORD = 0.35
"""One word of a scanned code."""


@dataclass(frozen=True)
class Plan:
    """One way to reach the recall, by the sample."""

    family: Family
    filter: str
    num_tables: int
    hashes_per_table: int
    num_probes: int
    num_candidates: int
    recall: float
    candidates: float
    nanoseconds: float
    bytes: float


def true_neighbours(
    rows: Rows, queries: npt.NDArray[np.int64], metric: str, k: int
) -> tuple[npt.NDArray[np.int64], Floats]:
    """The k nearest other rows of some rows, and their distances, by brute force in blocks.

    Returns
    -------
    (n_queries, k) int64, (n_queries, k) float64
        Nearest first. Distances of the k are summed anew in float64.
    """
    n = len(rows)
    asked = rows.take(queries)
    best_far = np.full((len(queries), k), np.inf)
    best_row = np.full((len(queries), k), -1, dtype=np.int64)
    norms = rows.norms()
    own = norms[queries]
    step = max(1, (1 << 24) // max(len(queries), 1) // (rows.d if metric == "l1" else 1)) or 1
    for start in range(0, n, step):
        part = rows.part(start, min(start + step, n))
        if metric == "l1":
            points, block = asked.dense().astype(np.float64), part.dense().astype(np.float64)
            far = np.stack([np.abs(block - q).sum(axis=1) for q in points])
        else:
            dot = part.product(np.ascontiguousarray(asked.dense().T)).T.astype(np.float64)
            if metric == "l2":
                far = norms[start : start + len(part)] ** 2 - 2 * dot
            elif metric == "cosine":
                far = -dot / np.maximum(norms[start : start + len(part)], 1e-300)
            else:
                far = -dot
        inside = (queries >= start) & (queries < start + len(part))
        far[np.flatnonzero(inside), queries[inside] - start] = np.inf
        # The best of the block, then of both.
        count = min(k, far.shape[1])
        places = np.argpartition(far, count - 1, axis=1)[:, :count]
        far = np.concatenate([best_far, np.take_along_axis(far, places, axis=1)], axis=1)
        row = np.concatenate([best_row, places + start], axis=1)
        order = np.lexsort((row, far), axis=1)[:, :k]
        best_far, best_row = np.take_along_axis(far, order, axis=1), np.take_along_axis(row, order, axis=1)
    distances = np.empty(best_far.shape)
    for query in range(len(queries)):
        near = rows.take(best_row[query]).dense().astype(np.float64)
        q = asked.part(query, query + 1).dense().astype(np.float64)[0]
        if metric == "l2":
            distances[query] = np.sqrt(((near - q) ** 2).sum(axis=1))
        elif metric == "l1":
            distances[query] = np.abs(near - q).sum(axis=1)
        elif metric == "cosine":
            distances[query] = 1 - near @ q / (np.sqrt((near**2).sum(axis=1)) * own[query])
        else:
            distances[query] = -(near @ q)
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(best_row, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _tables_for(shares: Floats, recall: float, most: int) -> int | None:
    """The least number of tables whose expected recall is `recall`; None if `most` do not reach it."""
    shares = np.minimum(shares, 1 - 1e-12)

    def expected(tables: int) -> float:
        return float(np.mean(-np.expm1(tables * np.log1p(-shares))))

    if expected(most) < recall:
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if expected(middle) >= recall else (middle + 1, high)
    return low


def tune(
    index: Index, X: Vectors, ids: Any, recall: float, k: int, memory: int | None, max_tables: int, seed: int
) -> Index:
    """What `LSHIndex.tune` does; see there."""
    metric = check(index)
    if not 0 < recall < 1:
        raise bad_parameter("recall", recall, "a number between 0 and 1, both exclusive")
    k = check_count("k", k, 1, 1 << 20, "1 or more")
    max_tables = check_count("max_tables", max_tables, 1, 1 << 14, f"1 to {1 << 14}")
    if memory is not None:
        memory = check_count("memory", memory, 1, 1 << 62, "bytes, 1 or more, or None")
    rows = as_rows(X, least=1)
    n = len(rows)
    if n < 2 * k + 2:
        reason = f"{n} rows are too few to sample {k} neighbours; give {2 * k + 2} or more, or set the parameters"
        raise InputError(f"X: {reason}", place="X", reason=reason)
    rng = np.random.default_rng(seed)
    queries = np.sort(rng.choice(n, min(_QUERIES, n // 2), replace=False)).astype(np.int64)
    nearest, distances = true_neighbours(rows, queries, metric, k)
    others = np.sort(rng.choice(n, min(_RANDOM, n), replace=False)).astype(np.int64)
    plans: list[Plan] = []
    if index.family.kind == "bits" and index.filter != "buckets" and index.family.num_hashes <= 1024:
        plans += _plans_of_codes(index, rows, metric, queries, nearest, others, recall, memory)
    if index.filter != "codes" and index.rank == "hamming":
        plans += _plans_of_tables(index, rows, metric, queries, nearest, others, recall, memory, max_tables)
    if not plans:
        raise bad_parameter(
            "recall",
            recall,
            f"less: no choice within max_tables={max_tables} and memory={memory} reaches it on a sample of the data",
        )
    plan = min(plans, key=lambda plan: plan.nanoseconds)
    made = _fit(index, X, ids, plan)
    while True:
        shares = _measured(made, rows, queries, distances, k)
        measured = float(shares.mean())
        least = measured - _ERRORS * float(shares.std(ddof=1)) / math.sqrt(len(shares))
        longer = None if least >= recall else _longer(plan, n, max_tables, memory, made.family_)
        if longer is None:
            break
        if longer.filter == "codes":
            # The same codes, more of them ranked.
            made.num_candidates = longer.num_candidates
            made.settings_ = replace(made.settings_, num_candidates=longer.num_candidates)
        else:
            made = _fit(index, X, ids, longer)
        plan = longer
    made.tuning_ = {
        "recall": recall,
        "k": k,
        "expected_recall": plan.recall,
        "measured_recall": measured,
        "least_recall": least,
        "expected_candidates": plan.candidates,
        "expected_microseconds": plan.nanoseconds / 1000,
        "choices": len(plans),
    }
    return made


def _fit(index: Index, X: Vectors, ids: Any, plan: Plan) -> Index:
    index.family = plan.family
    if plan.filter == "codes":
        index.num_tables = index.hashes_per_table = index.num_probes = None
        index.num_candidates = plan.num_candidates
        index.filter = "codes"
    else:
        index.num_tables, index.hashes_per_table = plan.num_tables, plan.hashes_per_table
        index.num_probes, index.num_candidates, index.filter = plan.num_probes, None, "buckets"
    return index.fit(X, ids)


def _measured(index: Index, rows: Rows, queries: Any, distances: Floats, k: int) -> Floats:
    """For each of some rows of the index, the share of its true neighbours that is found."""
    asked = rows.take(queries)
    given = asked.values if asked.csr is None else asked.csr
    limit = distances[:, -1] + 1e-5 * np.abs(distances[:, -1]) + 1e-12
    hits = index.nearest(given, k + 1)
    good = np.bincount(hits.queries[hits.distances <= limit[hits.queries]], minlength=len(queries))
    # Each row finds itself, or an equal one in its place.
    return np.minimum(np.maximum(good - 1, 0), k) / k


def _longer(plan: Plan, n: int, max_tables: int, memory: int | None, family: Family) -> Plan | None:
    """The next more thorough choice within the limits, or None."""
    if plan.filter == "codes":
        if plan.num_candidates >= n:
            return None
        return replace(plan, num_candidates=min(n, math.ceil(plan.num_candidates * 1.25) + 1))
    tables = min(max_tables, math.ceil(plan.num_tables * 1.15))
    size = plan.bytes / plan.num_tables * tables
    if tables > plan.num_tables and (memory is None or size <= memory):
        return replace(plan, num_tables=tables, bytes=size)
    if family.num_alternatives and plan.num_probes < 1 << 16:
        return replace(plan, num_probes=plan.num_probes * 2)
    return None


def _plans_of_codes(
    index: Index,
    rows: Rows,
    metric: str,
    queries: Any,
    nearest: Any,
    others: Any,
    recall: float,
    memory: int | None,
) -> list[Plan]:
    """The number of codes that holds the wanted share of neighbours."""
    n, bits = len(rows), index.family.num_hashes
    words = -(-bits // 64)
    if memory is not None and 8 * words * n > memory:
        return []
    family, _ = _fitted_sample(index, rows, metric, index.family.resized(bits))
    asked, near, any_row = (
        _bits(family, _form(index, rows, metric, part), bits) for part in (queries, nearest.ravel(), others)
    )
    near = near.reshape(*nearest.shape, -1)
    # Of all pairs of queries and random rows by products of 0 and 1.
    a, b = asked.astype(np.float32), any_row.astype(np.float32)
    common_any = a @ b.T
    gap_any: Floats = (a.sum(axis=1)[:, None] + b.sum(axis=1)[None, :] - 2 * common_any).astype(np.float64)
    gap_near: Floats = (asked[:, None, :] != near).sum(axis=2).astype(np.float64)
    if index.rank == "spherical":
        common_near = (asked[:, None, :] & near).sum(axis=2)
        gap_any, gap_near = _quotients(gap_any, common_any), _quotients(gap_near, common_near)
    # The rank of a neighbour's code: rows that are nearer, and half of those as near.
    before = [
        np.searchsorted(far, gaps, side="left") + np.searchsorted(far, gaps, side="right")
        for far, gaps in zip(np.sort(gap_any, axis=1), gap_near, strict=True)
    ]
    ranks = np.stack(before) / 2 / len(others) * n
    wanted = int(np.ceil(np.quantile(ranks, min(1.0, recall + _MARGIN)))) + nearest.shape[1]
    wanted = min(n, max(wanted, 2 * nearest.shape[1]))
    cost = bits * rows.d * _NS_STEP + n * words * _NS_WORD + wanted * (_NS_CANDIDATE + rows.d * _NS_STEP)
    reached = float(np.mean(ranks <= wanted))
    return [Plan(index.family, "codes", 0, 0, 0, wanted, reached, float(wanted), cost, 8.0 * words * n)]


def _quotients(differ: Floats, common: Any) -> Floats:
    """Spherical Hamming distances; two empty codes are equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(differ == 0, 0.0, differ / common)


def _form(index: Index, rows: Rows, metric: str, places: Any) -> Vectors:
    """Some rows as the family sees them."""
    index.metric_ = metric
    return index._hashed_form(rows.take(places))


def _fitted_sample(index: Index, rows: Rows, metric: str, family: Family) -> tuple[Family, Vectors]:
    """The family fitted to all rows, and the rows as it sees them."""
    index.metric_ = metric
    if metric == "inner_product":
        index.max_norm_ = float(index.max_norm or rows.norms().max() or 1.0)
    hashed = index._hashed_form(rows)
    return family.fit(hashed), hashed


def _bits(family: Family, X: Vectors, bits: int) -> Any:
    return family.hash_values(X)[:, :bits].astype(bool)


def _plans_of_tables(
    index: Index,
    rows: Rows,
    metric: str,
    queries: Any,
    nearest: Any,
    others: Any,
    recall: float,
    memory: int | None,
    max_tables: int,
) -> list[Plan]:
    """For hashes per table and probes: the tables that reach the recall, and what they cost."""
    n = len(rows)
    plans = []
    bits = index.family.kind == "bits"
    probing = index.family.num_alternatives > 0 or index.family.name == "cross_polytope"
    probes = [index.num_probes] if index.num_probes else list(_PROBES if probing else _PROBES[:1])
    for family in _widths(index, rows, metric):
        base, _ = _fitted_sample(index, rows, metric, family.resized(64))
        values = base.hash_values(_form(index, rows, metric, others))
        equal = float(np.mean(values[1:] == values[:-1]))
        if equal >= 1:
            continue
        # One random row per bucket, and more or fewer.
        middle = math.log(n) / -math.log(max(equal, 1e-9))
        wanted = {max(1, round(middle * factor)) for factor in (0.35, 0.6, 0.8, 1.0)}
        for h in [index.hashes_per_table] if index.hashes_per_table else sorted(wanted):
            if bits and h > 64:
                continue
            found = _shares(index, rows, metric, family, h, probes, queries, nearest, others)
            for count, (shares, random) in found.items():
                tables = _tables_for(shares, min(recall + _MARGIN, (1 + recall) / 2), max_tables)
                size = n * 12.0 * (tables or 0)
                if tables is None or (memory is not None and size > memory):
                    continue
                shares = np.minimum(shares, 1 - 1e-12)
                reached = float(np.mean(-np.expm1(tables * np.log1p(-shares))))
                candidates = n * float(np.mean(-np.expm1(tables * np.log1p(-np.minimum(random, 1 - 1e-12)))))
                cost = (
                    tables * h * rows.d * _NS_STEP
                    + tables * count * _NS_PROBE
                    + candidates * (_NS_CANDIDATE + rows.d * _NS_STEP)
                )
                plans.append(Plan(family, "buckets", tables, h, count, 0, reached, candidates, cost, size))
    return plans


def _widths(index: Index, rows: Rows, metric: str) -> list[Family]:
    """The family; one that finds its own width also with smaller and larger ones."""
    family = index.family
    if getattr(family, "width", None) != "auto":
        return [family]
    width = _fitted_sample(index, rows, metric, family.resized(1))[0].width_  # type: ignore[attr-defined]  # It has one.
    return [type(family)(**{**family.get_params(), "width": factor * width}) for factor in (0.5, 0.75, 1.0)]


def _shares(
    index: Index,
    rows: Rows,
    metric: str,
    family: Family,
    h: int,
    probes: list[int],
    queries: Any,
    nearest: Any,
    others: Any,
) -> dict[int, tuple[Floats, Floats]]:
    """For each number of probes, the share of sampled tables in which each neighbour, and each random row, is found."""
    # Neighbours first, then random rows; every table is asked alone.
    places = np.concatenate([nearest.ravel(), others])
    sample = rows.take(places)
    asked = rows.take(queries)
    near = nearest.size
    counts = {count: (np.zeros(near), np.zeros((len(queries), len(others)))) for count in probes}
    alone = type(index)(family, metric=index.metric, max_norm=getattr(index, "max_norm_", None))
    alone.metric_, alone.dimension_ = index.metric_, rows.d
    alone.vectors_ = "sparse" if rows.csr is not None else "float32" if rows.dtype == np.float32 else "float64"
    if index.metric_ == "inner_product":
        alone.max_norm_ = index.max_norm_
    hashed = alone._hashed_form(sample)
    owner = np.repeat(np.arange(len(queries)), nearest.shape[1])
    layout = family.hash_layout(_TABLES, h)
    whole = family.resized(int(layout.max()) + 1, group=h).fit(alone._hashed_form(rows))
    values = whole.hash_values(hashed)
    given = alone._hashed_form(asked, query=True)
    most = max(probes)
    if most > 1:
        found = whole.probes(given, min(whole.num_alternatives, most - 1))
        own, others_of, costs = found.values, found.others, found.costs
    else:
        own, others_of, costs = whole.hash_values(given), None, None
    # Tables are asked for candidates alone: their vectors are never read.
    vectors = np.zeros(len(places), dtype=np.float32)
    for table in range(_TABLES):
        columns = layout[table]
        core = LshCore.buckets("l2", "float32", 1, True, h, h, np.arange(h, dtype=np.uint32))
        core.add_rows(np.ascontiguousarray(values[:, columns]).reshape(-1), vectors)
        hashes = np.ascontiguousarray(own[:, columns]).reshape(-1)
        for count in probes:
            other = None
            if count > 1 and others_of is not None and costs is not None:
                size = min(others_of.shape[2], count - 1)
                other = (
                    size,
                    np.ascontiguousarray(others_of[:, columns, :size]).reshape(-1),
                    np.ascontiguousarray(costs[:, columns, :size], dtype=np.float64).reshape(-1),
                )
            offsets, ids, _ = core.candidates(hashes, other, count, None)
            query = np.repeat(np.arange(len(queries)), np.diff(offsets))
            hit = ids < near
            own_hit = hit & (owner[np.minimum(ids, near - 1)] == query)
            counts[count][0][ids[own_hit]] += 1
            counts[count][1][query[~hit], ids[~hit] - near] += 1
    return {count: (mine / _TABLES, random / _TABLES) for count, (mine, random) in counts.items()}
