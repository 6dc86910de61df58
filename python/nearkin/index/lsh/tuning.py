"""Parameters of an index of vectors from the data: a wanted recall within a memory, at the shortest expected time.

Theory needs the distances of neighbours and of any two rows. They are sampled from the data: 200 rows serve as
queries, their k true neighbours are found, and so are as many random rows. For h hashes per table and T probes, the
share s_i of sampled tables in which neighbour i of its query lies within the T probes is counted; L independent tables
find it with

    1 − (1 − s_i)^L        recall(L) = the mean over all neighbours,        candidates(L) = n · the same mean over
    random rows

which at T = 1 is the law 1 − (1 − p^h)^L with p^h measured instead of assumed (Slaney, Lifshits and He 2012 take p
from the distances' histogram and a law; families without a law have none). The L that reaches the recall follows for
each (h, T); of those whose tables fit the memory the one of shortest expected time wins. A scan of codes is
compared with them where the family gives bits: the m that holds the wanted share of neighbours is read from their ranks
among the sampled codes. Finally the index is built and its recall measured on up to 1,000 queries; if that, less two
standard errors of the mean over queries, falls short, m, T or L grow until it does not: the recall of other queries
varies about the same mean. Then m or T is bisected down to the least that still holds, which needs no other index, and
before that L, with up to three others.

Expected times are sums of the constants below, measured on one machine; on others they cost time, never recall.

Sources: Slaney, Lifshits, He, "Optimal Parameters for Locality-Sensitive Hashing", Proc. IEEE 100 (2012), section III;
Dong, Wang, Josephson, Charikar, Li, "Modeling LSH for Performance Tuning", CIKM 2008, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from nearkin._core import LshCore
from nearkin.errors import InputError, bad_parameter, check_count
from nearkin.families.base import Family
from nearkin.index.lsh.arrays import Hashed, Metric, hashed_form, plain
from nearkin.index.lsh.ground_truth import true_neighbours
from nearkin.index.lsh.params import Given, Settings, Tuning, check, longest, of_codes, of_tables
from nearkin.index.results import SearchResult
from nearkin.vectors.rows import Floats, Ints, Rows, Vectors

_QUERIES = 200
"""Rows that serve as queries of the sampled tables and codes."""
_MEASURED = 1000
"""The most rows that serve as queries of the index that was made, and more than as many as above."""
_COORDINATES = 1 << 33
"""Coordinates of rows that are compared at most to find the neighbours of more than 200 queries: some seconds."""
_FITS = 3
"""The most further indexes that are made to find the least number of tables."""
_FINE = 0.02
"""Share of the effort to which it is bisected."""
_RANDOM = 2000
"""Random rows that stand for all."""
_ERRORS = 2.0
"""Standard errors that the measured recall must lie above the wanted one."""
_TABLES = 16
"""Sampled tables: the share s of tables that find a neighbour is known to 0.1 at most."""
_PROBES = (1, 8, 32, 128)
_MARGIN = 0.02
"""What the expected recall is asked for above the wanted one: the sample is finite."""

# Nanoseconds of one query alone, one thread of a server core of 2024, of sift, mnist, gist and lsa.
_NS_HASH = 0.1
"""One coordinate of a projection that decides a code."""
_NS_EXACT = 0.3
"""One coordinate of a projection whose margin counts, where there is more than one probe."""
_NS_MARGIN = 60.0
"""Margin and alternatives of one function, where there is more than one probe."""
_NS_PROBING = 25_000.0
"""Preparing probes, once per query."""
_NS_PROBE = 120.0
"""Making one probe and looking it up."""
_NS_CANDIDATE = 25.0
"""Fetching a candidate from a bucket, or from the nearest codes."""
_NS_STEP = 0.25
"""One coordinate of a dense candidate that is ranked."""
_NS_SPARSE = 2.0
"""One value of a sparse candidate that is ranked."""
_NS_WORD = 0.1
"""One word of a scanned code."""
_NS_CODE = 0.3
"""Selecting among the codes, each row."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What `LSHIndex.tune` is asked for; see there."""

    recall: float
    k: int
    memory: int | None
    max_tables: int
    seed: int

    def __post_init__(self) -> None:
        if not 0 < self.recall < 1:
            raise bad_parameter("recall", self.recall, "a number between 0 and 1, both exclusive")
        check_count("k", self.k, 1, 1 << 20, "1 or more")
        check_count("max_tables", self.max_tables, 1, 1 << 14, f"1 to {1 << 14}")
        if self.memory is not None:
            check_count("memory", self.memory, 1, 1 << 62, "bytes, 1 or more, or None")

    def allows(self, size: float) -> bool:
        """Whether tables or codes of this many bytes are within the memory."""
        return self.memory is None or size <= self.memory


@dataclass(frozen=True)
class Plan:
    """One way to reach the recall, by the sample."""

    family: Family
    settings: Settings
    recall: float
    candidates: float
    nanoseconds: float
    bytes: float


@dataclass(frozen=True)
class Sample:
    """The data of the choice: some rows as queries, their true neighbours, and random rows."""

    given: Given
    metric: Metric
    max_norm: float | None
    rows: Rows
    queries: Ints
    """`(n_queries,)`: their places."""
    nearest: Ints
    """`(n_queries, k)`: places of the true neighbours of each."""
    others: Ints
    """Places of random rows."""
    measured: Ints
    """Places of all rows that the recall is measured with, among them `queries`."""
    limits: Floats
    """The distance of the k-th true neighbour of each of these."""

    @cached_property
    def hashed(self) -> Hashed:
        """All rows as a family sees them."""
        return self.form(self.rows)

    def form(self, rows: Rows, *, query: bool = False) -> Hashed:
        """Some rows as a family sees them."""
        if self.given.rank == "estimate":
            return plain(rows)
        return hashed_form(rows, self.metric, self.max_norm, query=query)


class Searcher(Protocol):
    """What is tuned: an `LSHIndex`, whose module is below this one."""

    settings_: Settings
    family_: Family

    def nearest(self, Q: Vectors, k: int = 10) -> SearchResult:
        """As for `LSHIndex`."""

    def bytes_of_filter(self) -> int:
        """Bytes of tables or codes."""


Made = TypeVar("Made", bound=Searcher)


def tune(given: Given, rows: Rows, wish: Wish, make: Callable[[Plan, Sample], Made]) -> Made:
    """What `LSHIndex.tune` does: the index that reaches the recall, as `make` makes it of a plan."""
    sample = sampled(given, rows, wish)
    plans: list[Plan] = []
    scannable = given.family.kind == "bits" and given.family.num_hashes <= 1024
    if scannable and given.filter != "buckets" and not given.has_tables:
        plans += _plans_of_codes(sample, wish)
    if given.filter != "codes" and given.rank == "hamming" and given.num_candidates is None:
        plans += _plans_of_tables(sample, wish)
    if not plans:
        limits = f"max_tables={wish.max_tables}, memory={wish.memory} and the given parameters"
        raise bad_parameter(
            "recall", wish.recall, f"less: no choice within {limits} reaches it on a sample of the data"
        )
    plan = min(plans, key=lambda plan: plan.nanoseconds)
    made = make(plan, sample)
    mean, least = measured(made, sample, wish.k)
    while least < wish.recall:
        longer = _longer(plan, len(rows), given, wish, made.family_)
        if longer is None:
            break
        if longer.settings.filter == "codes":
            # The same codes, more of them ranked.
            made.settings_ = replace(made.settings_, num_candidates=longer.settings.num_candidates)
        else:
            made = make(longer, sample)
        plan = longer
        mean, least = measured(made, sample, wish.k)
    else:
        made, plan, mean, least = _of_fewer_tables(make, made, sample, wish, plan, (mean, least))
        plan, mean, least = _lowered(made, sample, wish, plan, (mean, least))
    tuning = Tuning(
        recall=wish.recall,
        k=wish.k,
        expected_recall=plan.recall,
        measured_recall=mean,
        least_recall=least,
        expected_candidates=plan.candidates,
        expected_microseconds=plan.nanoseconds / 1000,
        choices=len(plans),
    )
    made.settings_ = replace(made.settings_, tuning=tuning)
    return made


def sampled(given: Given, rows: Rows, wish: Wish) -> Sample:
    """Queries, their true neighbours and random rows."""
    metric = check(given)
    n, k = len(rows), wish.k
    if n < 2 * k + 2:
        reason = f"{n} rows are too few to sample {k} neighbours; give {2 * k + 2} or more, or set the parameters"
        raise InputError(f"X: {reason}", place="X", reason=reason)
    max_norm = longest(given, metric, rows)
    # A row of zeros can't be a query for inner products, which are all zero.
    asking = np.flatnonzero(rows.norms() > 0) if metric == "inner_product" else np.arange(n)
    if len(asking) < 2:
        reason = "fewer than two rows are not zero, so there are no queries to measure with"
        raise InputError(f"X: {reason}", place="X", reason=reason)
    rng = np.random.default_rng(wish.seed)
    # Differences of the Manhattan distance take several times as long as products.
    most = _COORDINATES // (n * rows.d) // (8 if metric == "l1" else 1)
    count = min(max(_QUERIES, min(_MEASURED, most)), n // 2, len(asking))
    drawn = rng.choice(asking, count, replace=False).astype(np.int64)
    others = np.sort(rng.choice(n, min(_RANDOM, n), replace=False)).astype(np.int64)
    queries, measured = np.sort(drawn[:_QUERIES]), np.sort(drawn)
    nearest, distances = true_neighbours(rows, measured, metric, k)
    own = np.searchsorted(measured, queries)
    return Sample(given, metric, max_norm, rows, queries, nearest[own], others, measured, distances[:, -1])


def measured(index: Searcher, sample: Sample, k: int) -> tuple[float, float]:
    """The share of true neighbours that is found of queries, which are rows of the index, and its lower bound."""
    far = sample.limits
    limit = far + 1e-5 * np.abs(far) + 1e-12
    asked = sample.rows.take(sample.measured)
    hits = index.nearest(plain(asked), k + 1)
    good = np.bincount(hits.queries[hits.distances <= limit[hits.queries]], minlength=len(far))
    # Each row finds itself, or an equal one in its place; by inner product only where it is long enough.
    own = -(asked.norms() ** 2) if sample.metric == "inner_product" else np.zeros(len(far))
    shares: Floats = np.minimum(np.maximum(good - (own <= limit), 0), k) / k
    mean = float(shares.mean())
    return mean, mean - _ERRORS * float(shares.std(ddof=1)) / math.sqrt(len(shares))


def _of_fewer_tables(
    make: Callable[[Plan, Sample], Made],
    made: Made,
    sample: Sample,
    wish: Wish,
    plan: Plan,
    reached: tuple[float, float],
) -> tuple[Made, Plan, float, float]:
    """The index, or one of fewer tables whose recall still holds; a given number of tables stays."""
    high, low = plan.settings.num_tables, 0
    if plan.settings.filter == "codes" or sample.given.num_tables is not None:
        return made, plan, *reached
    # What is missed falls by the same factor with each table.
    middle = math.ceil(high * math.log(1 - wish.recall) / math.log(max(1 - reached[1], 1e-6)))
    for _ in range(_FITS):
        middle = min(max(middle, low + 1), high - 1)
        if high - low < 2:
            break
        size = plan.bytes / plan.settings.num_tables * middle
        fewer = replace(plan, settings=replace(plan.settings, num_tables=middle), bytes=size)
        other = make(fewer, sample)
        found = measured(other, sample, wish.k)
        if found[1] >= wish.recall:
            made, plan, reached, high = other, fewer, found, middle
        else:
            low = middle
        middle = (low + high) // 2
    return made, plan, *reached


def _lowered(
    made: Searcher, sample: Sample, wish: Wish, plan: Plan, reached: tuple[float, float]
) -> tuple[Plan, float, float]:
    """The least candidates of codes, or probes of tables, whose recall still holds; the given ones stay."""
    name = "num_candidates" if plan.settings.filter == "codes" else "num_probes"
    if getattr(sample.given, name) is not None:
        return plan, *reached
    high: int = getattr(plan.settings, name)
    # A row that is asked for is a candidate itself.
    low = wish.k if name == "num_candidates" else 0
    while high - low > max(1, int(_FINE * high)):
        middle = (low + high) // 2
        made.settings_ = replace(made.settings_, **{name: middle})  # type: ignore[arg-type]  # A whole number.
        found = measured(made, sample, wish.k)
        if found[1] >= wish.recall:
            high, reached = middle, found
        else:
            low = middle
    made.settings_ = replace(made.settings_, **{name: high})  # type: ignore[arg-type]
    settings = replace(plan.settings, **{name: high})  # type: ignore[arg-type]
    if name == "num_candidates":
        cost = _cost_of_codes(plan.family.num_hashes, sample.rows, len(sample.rows), high)
        plan = replace(plan, candidates=float(high), nanoseconds=cost)
    return replace(plan, settings=settings), *reached


def _longer(plan: Plan, n: int, given: Given, wish: Wish, family: Family) -> Plan | None:
    """The next more thorough choice within the limits, or None; given parameters do not grow."""
    settings = plan.settings
    if settings.filter == "codes":
        if given.num_candidates is not None or settings.num_candidates >= n:
            return None
        more = min(n, math.ceil(settings.num_candidates * 1.25) + 1)
        return replace(plan, settings=replace(settings, num_candidates=more))
    tables = min(wish.max_tables, math.ceil(settings.num_tables * 1.15))
    size = plan.bytes / settings.num_tables * tables
    if given.num_tables is None and tables > settings.num_tables and wish.allows(size):
        return replace(plan, settings=replace(settings, num_tables=tables), bytes=size)
    if given.num_probes is None and family.num_alternatives and settings.num_probes < 1 << 16:
        return replace(plan, settings=replace(settings, num_probes=settings.num_probes * 2))
    return None


def _plans_of_codes(sample: Sample, wish: Wish) -> list[Plan]:
    """The number of codes that holds the wanted share of neighbours."""
    given, rows, nearest = sample.given, sample.rows, sample.nearest
    n, bits = len(rows), given.family.num_hashes
    words = -(-bits // 64)
    if not wish.allows(8 * words * n):
        return []
    family = given.family.resized(bits).fit(sample.hashed)

    def codes(places: Ints, *, query: bool = False) -> npt.NDArray[np.bool_]:
        return family.hash_values(sample.form(rows.take(places), query=query)).astype(bool)

    asked, near, any_row = codes(sample.queries, query=True), codes(nearest.ravel()), codes(sample.others)
    near = near.reshape(*nearest.shape, -1)
    # Of all pairs of queries and random rows by products of 0 and 1.
    a, b = asked.astype(np.float32), any_row.astype(np.float32)
    common_any = a @ b.T
    gap_any: Floats = (a.sum(axis=1)[:, None] + b.sum(axis=1)[None, :] - 2 * common_any).astype(np.float64)
    gap_near: Floats = (asked[:, None, :] != near).sum(axis=2).astype(np.float64)
    if given.rank == "spherical":
        common_near = (asked[:, None, :] & near).sum(axis=2)
        gap_any, gap_near = _quotients(gap_any, common_any), _quotients(gap_near, common_near)
    # The rank of a neighbour's code: rows that are nearer, and half of those as near.
    before = [
        np.searchsorted(far, gaps, side="left") + np.searchsorted(far, gaps, side="right")
        for far, gaps in zip(np.sort(gap_any, axis=1), gap_near, strict=True)
    ]
    ranks = np.stack(before) / 2 / len(sample.others) * n
    wanted = int(np.ceil(np.quantile(ranks, min(1.0, wish.recall + _MARGIN)))) + nearest.shape[1]
    wanted = min(n, max(wanted, 2 * nearest.shape[1]))
    if given.num_candidates is not None:
        if given.num_candidates < wanted:
            return []
        wanted = given.num_candidates
    cost = _cost_of_codes(bits, rows, n, wanted)
    reached = float(np.mean(ranks <= wanted))
    settings = of_codes(given, sample.metric, sample.max_norm, wanted)
    return [Plan(given.family, settings, reached, float(wanted), cost, 8.0 * words * n)]


def _cost_of_codes(bits: int, rows: Rows, n: int, ranked: int) -> float:
    """Expected nanoseconds of a query that scans codes of n rows like these."""
    scan = n * (-(-bits // 64) * _NS_WORD + _NS_CODE)
    return bits * _values(rows) * _NS_HASH + scan + ranked * _cost_of_candidate(rows)


def _cost_of_tables(tables: int, h: int, probes: int, rows: Rows, candidates: float) -> float:
    """Expected nanoseconds of a query that looks into tables."""
    functions = tables * h
    exact = functions * (_values(rows) * _NS_EXACT + _NS_MARGIN) + _NS_PROBING
    hashing = exact if probes > 1 else functions * _values(rows) * _NS_HASH
    return hashing + tables * probes * _NS_PROBE + candidates * _cost_of_candidate(rows)


def _cost_of_candidate(rows: Rows) -> float:
    """Expected nanoseconds of one candidate."""
    return _NS_CANDIDATE + _values(rows) * (_NS_STEP if rows.csr is None else _NS_SPARSE)


def _values(rows: Rows) -> float:
    """Values that a row holds: its dimensions, or its non-zeros on average."""
    return float(rows.d) if rows.csr is None else rows.csr.nnz / len(rows)


def _quotients(differ: Floats, common: npt.NDArray[np.float32] | Ints) -> Floats:
    """Spherical Hamming distances; two empty codes are equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(differ == 0, 0.0, differ / common)


def _plans_of_tables(sample: Sample, wish: Wish) -> list[Plan]:
    """For hashes per table and probes: the tables that reach the recall, and what they cost."""
    given = sample.given
    probing = given.family.alternatives_of(sample.hashed.shape[1]) > 0
    probes = [given.num_probes] if given.num_probes else list(_PROBES if probing else _PROBES[:1])
    plans = []
    for family in _widths(sample):
        for h in _hashes_per_table(sample, family):
            for count, (near, random) in _shares(sample, family, h, probes).items():
                plan = _plan_of_tables(sample, wish, family, h, count, near, random)
                if plan is not None:
                    plans.append(plan)
    return plans


def _hashes_per_table(sample: Sample, family: Family) -> list[int]:
    """Numbers of hashes per table to compare: one random row per bucket, and more or fewer."""
    values = family.resized(64).fit(sample.hashed).hash_values(sample.form(sample.rows.take(sample.others)))
    equal = float(np.mean(values[1:] == values[:-1]))
    if equal >= 1:
        return []
    middle = math.log(len(sample.rows)) / -math.log(max(equal, 1e-9))
    wanted = sorted({max(1, round(middle * factor)) for factor in (0.35, 0.6, 0.8, 1.0)})
    if sample.given.hashes_per_table:
        wanted = [sample.given.hashes_per_table]
    return [h for h in wanted if family.kind == "keys" or h <= 64]


def _plan_of_tables(
    sample: Sample, wish: Wish, family: Family, h: int, probes: int, near: Floats, random: Floats
) -> Plan | None:
    """The tables of h hashes and this many probes that reach the recall; None if none do within the limits."""
    given, rows = sample.given, sample.rows
    n = len(rows)
    near, random = np.minimum(near, 1 - 1e-12), np.minimum(random, 1 - 1e-12)
    wanted = min(wish.recall + _MARGIN, (1 + wish.recall) / 2)
    tables = _tables_for(near, wanted, given.num_tables or wish.max_tables)
    if tables is None:
        return None
    tables = given.num_tables or tables
    size = n * 12.0 * tables
    if not wish.allows(size):
        return None
    reached = float(np.mean(-np.expm1(tables * np.log1p(-near))))
    candidates = n * float(np.mean(-np.expm1(tables * np.log1p(-random))))
    cost = _cost_of_tables(tables, h, probes, rows, candidates)
    settings = of_tables(given, sample.metric, sample.max_norm, tables, h, probes)
    return Plan(family, settings, reached, candidates, cost, size)


def _widths(sample: Sample) -> list[Family]:
    """The family; one that finds its own width also with smaller and larger ones."""
    family = sample.given.family
    if getattr(family, "width", None) != "auto":
        return [family]
    width: float = family.resized(1).fit(sample.hashed).width_  # type: ignore[attr-defined]  # It has one.
    return [type(family)(**{**family.get_params(), "width": factor * width}) for factor in (0.5, 0.75, 1.0)]


def _shares(sample: Sample, family: Family, h: int, probes: list[int]) -> dict[int, tuple[Floats, Floats]]:
    """For each number of probes, the share of sampled tables in which each neighbour, and each random row, is found."""
    # Neighbours first, then random rows; every table is queried separately.
    queries, near = len(sample.queries), sample.nearest.size
    places = np.concatenate([sample.nearest.ravel(), sample.others])
    counts = {count: (np.zeros(near), np.zeros((queries, len(sample.others)))) for count in probes}
    owner = np.repeat(np.arange(queries), sample.nearest.shape[1])
    layout = family.hash_layout(_TABLES, h)
    whole = family.resized(int(layout.max()) + 1, group=h).fit(sample.hashed)
    values = whole.hash_values(sample.form(sample.rows.take(places)))
    asked = sample.form(sample.rows.take(sample.queries), query=True)
    most = max(probes)
    found = whole.probes(asked, min(whole.num_alternatives, most - 1)) if most > 1 else None
    own = whole.hash_values(asked) if found is None else found.values
    # Tables give candidates only: their vectors are never read.
    vectors = np.zeros(len(places), dtype=np.float32)
    for columns in layout:
        core = LshCore.buckets("l2", "float32", 1, True, h, h, np.arange(h, dtype=np.uint32))
        core.add(None, np.ascontiguousarray(values[:, columns]).reshape(-1), vectors, "error")
        hashes = np.ascontiguousarray(own[:, columns]).reshape(-1)
        for count in probes:
            other = None
            if count > 1 and found is not None:
                size = min(found.others.shape[2], count - 1)
                other = (
                    size,
                    np.ascontiguousarray(found.others[:, columns, :size]).reshape(-1),
                    np.ascontiguousarray(found.costs[:, columns, :size], dtype=np.float64).reshape(-1),
                )
            offsets, named, _ = core.candidates(hashes, other, count, None)
            # Row numbers.
            ids = np.asarray(named, dtype=np.int64)
            query = np.repeat(np.arange(queries), np.diff(offsets))
            hit = ids < near
            own_hit = hit & (owner[np.minimum(ids, near - 1)] == query)
            counts[count][0][ids[own_hit]] += 1
            counts[count][1][query[~hit], ids[~hit] - near] += 1
    return {count: (mine / _TABLES, random / _TABLES) for count, (mine, random) in counts.items()}


def _tables_for(shares: Floats, recall: float, most: int) -> int | None:
    """The smallest number of tables whose expected recall is `recall`; None if `most` do not reach it."""
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
