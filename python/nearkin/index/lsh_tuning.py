"""Tuning of `LSHIndex`: settings that reach a recall within a memory limit in the shortest expected time.

The theory needs the distances of neighbours and of random pairs. They are sampled from the data: 200 rows serve as
queries, their k true neighbours are found by brute force, and as many random rows are drawn. For h hashes per table and
T probes, sampled tables give the rate s_i at which neighbour i of its query is in one of the T probed buckets. L
independent tables find it with probability

    1 − (1 − s_i)^L        recall(L) = mean over all neighbours        candidates(L) = n · mean over random rows

At T = 1 this is the law 1 − (1 − p^h)^L with p^h measured instead of assumed (Slaney, Lifshits and He 2012 take p from
the histogram of distances and a law; families without a law have none). The smallest L that reaches the recall follows
for each (h, T). Among the candidates whose tables fit the memory, the one with the shortest expected time wins. If the
family gives bits, a scan of codes competes: the ranks of neighbours among the sampled codes give the number m of codes
to rank.

Finally the index is built and its recall measured on up to 1,000 queries. If the recall minus two standard errors of
the mean over queries is too low, m, T or L grow until it is not: the recall of other queries varies around the same
mean. Then L (with up to three more indexes) and m or T (which needs none) are bisected down to the smallest value that
still reaches the recall.

Ranking by estimates works without a law of candidates: a guaranteed recall sets the bound, and the index finds more.
Partitions have no law. So both are tuned by measured recall alone, by bisection, since recall grows with both:

1. the smallest guarantee whose codes reach the recall in all partitions (half the remaining misses if partitions are
   tuned);
2. the fewest partitions that reach the recall with that guarantee;
3. the smallest guarantee that reaches the recall in that many partitions.

`fit` decides without tuning if the filter is "auto": it takes the precision of codes from the requested recall, builds
the partitions, and finds the 10 nearest neighbours of at least 128 rows, and the 100 of 64 of them, without the rows
themselves, by a scan of all codes whose bound misses one in 10,000. How many partitions are nearer to a row than that
of its neighbour is the number of probes that find it. So the probes for 10 and for 100 neighbours are known at once.
Searches measure the recall of 10, hence the share that is lost in visited partitions, and the ranks give the probes
that make up for it, until the interval of the measured recall lies above the target. If that takes more than two fifths
of the partitions, all codes are scanned instead, with the smallest bound whose measured recall reaches the target.
Neighbours of one query are missed together, so the interval is Wilson's for m k / D neighbours of m queries, where D is
the design effect: the variance of the queries' recall relative to that of k independent neighbours, at least 2.

Expected times are sums of the constants below, measured on one machine; on other machines they cost time, never recall.
Nothing is timed during tuning, so the same data give the same settings on every machine.

Sources: Slaney, Lifshits, He, "Optimal Parameters for Locality-Sensitive Hashing", Proc. IEEE 100 (2012), section III;
Dong, Wang, Josephson, Charikar, Li, "Modeling LSH for Performance Tuning", CIKM 2008, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from nearkin._core import LshCore
from nearkin.errors import bad_parameter, check_count, input_error
from nearkin.families.base import Family, row_distances
from nearkin.index.lsh_params import (
    MAX_MEASURED_K,
    MEASURED_K,
    MIN_PROBES,
    IndexParams,
    Settings,
    TuneReport,
    choose_settings,
    estimate_settings,
    first_settings,
    prefers_codes,
    resolve_max_norm,
    selective_hashes,
)
from nearkin.index.results import SearchResult
from nearkin.progress import Progress, ticker
from nearkin.theory.amplification import collision_in_any_table, min_tables, smallest
from nearkin.theory.intervals import wilson
from nearkin.vectors.arrays import Floats, HashInput, Ints, Metric, Rows, Vectors, hash_input

_NUM_QUERIES = 200
"""Rows that serve as queries of the sampled tables and codes."""
_MAX_MEASURED = 1000
"""Maximum number of rows that serve as queries of the built index, including the above."""
_MAX_COORDINATES = 1 << 33
"""Coordinates compared at most to find the neighbours of more than 200 queries: a few seconds."""
_MAX_REBUILDS = 3
"""Maximum number of further indexes built to find the smallest number of tables."""
_RESOLUTION = 0.02
"""Relative resolution of the bisection of m or T."""
_NUM_RANDOM = 2000
"""Random rows that represent all rows."""
_STANDARD_ERRORS = 2.0
"""Standard errors that the measured recall must exceed the target by."""
_SAMPLED_TABLES = 16
"""The rate s at which tables find a neighbour is then known to within 0.1."""
_PROBES = (1, 8, 32, 128)
_TABLE_ENTRY = 12.0
"""Bytes of a row in a table."""
_MARGIN = 0.02
"""Required excess of the expected recall over the target, because the sample is finite."""
_GUARANTEES = [1 - 0.5 * 0.98**step for step in range(512)]
"""Guaranteed recalls that are tried: each misses 0.98 times as much as the one before, the last 2 of 100,000."""
_FIT_QUERIES = (128, 2048)
"""Minimum and maximum number of rows that serve as queries of a fit."""
_FIT_QUERIES_OF_MANY = 64
"""Those of them whose `MAX_MEASURED_K` neighbours are found, which takes twice as long as for `MEASURED_K`."""
_FIT_NEIGHBOURS = 11.5
"""Neighbours that a fit measures, relative to the misses that the recall allows: three times z² = 3.84, so that the
interval of a recall of 1 is a third of these misses."""
_DESIGN_EFFECT = 2.0
"""Smallest design effect: the four sets of the benchmark have 1.5 to 3."""
_FIT_TRUTH = 0.9999
"""Recall of the scan of codes that yields the true neighbours of a fit."""
_PROBE_GROWTH = 1.1
"""Factor by which probes grow at least if their measured recall is too low."""
_CODE_MISSES = [2.0 ** (step / 2) for step in range(10, 1, -1)]
"""Misses that the bound of codes allows, relative to those that the recall allows, from the most."""
_BLOCK = 1 << 24
"""Distances (or differences of the Manhattan distance) in memory during brute force."""

# Nanoseconds per query on one thread of a server core of 2024, fitted on sift, mnist, gist and lsa.
_NS_HASH = 0.1
"""One coordinate of a projection that decides a code."""
_NS_EXACT = 0.3
"""One coordinate of a projection whose margin is needed, with more than one probe."""
_NS_MARGIN = 60.0
"""Margin and alternatives of one function, with more than one probe."""
_NS_PROBING = 25_000.0
"""Preparation of the probes of a query."""
_NS_PROBE = 120.0
"""Creation and lookup of one probe."""
_NS_CANDIDATE = 25.0
"""Fetching a candidate from a bucket or from the nearest codes."""
_NS_STEP = 0.25
"""One coordinate of a dense candidate that is ranked."""
_NS_SPARSE = 2.0
"""One value of a sparse candidate that is ranked."""
_NS_WORD = 0.1
"""One word of a scanned code."""
_NS_CODE = 0.3
"""Selection among the codes, per row."""


@dataclass(frozen=True, kw_only=True)
class TuneTarget:
    """Arguments of `LSHIndex.tune`, where they are described."""

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

    def fits(self, size: float) -> bool:
        """Return True if tables or codes of this many bytes are within the memory limit."""
        return self.memory is None or size <= self.memory


@dataclass(frozen=True)
class Candidate:
    """Settings that reach the recall on the sample, with their expected cost."""

    family: Family
    settings: Settings
    recall: float
    candidates: float
    nanoseconds: float

    def with_settings(self, **changes: int) -> Candidate:
        """Return a copy with other settings and the same expectations."""
        return replace(self, settings=replace(self.settings, **changes))  # type: ignore[arg-type]  # Counts are int.


@dataclass
class TrialCount:
    """The number of measurements of recall so far, reported as the stage "measure"; the total is known at the end."""

    report: Progress
    done: int = 0

    def add(self) -> None:
        """Count a measurement."""
        self.done += 1
        self.report("measure", self.done, None)

    def finish(self) -> None:
        """Report that no measurement follows."""
        self.report("measure", self.done, self.done)


@dataclass(frozen=True)
class TuneSample:
    """Data of the choice: rows that serve as queries, their true neighbours, and random rows."""

    params: IndexParams
    target: TuneTarget
    metric: Metric
    max_norm: float | None
    rows: Rows
    queries: Ints
    """`(n_queries,)` positions."""
    nearest: Ints
    """`(n_queries, k)` positions of the true neighbours."""
    random: Ints
    """Positions of random rows."""
    measured: Ints
    """Positions of all queries that the recall is measured with, including `queries`."""
    limits: Floats
    """Distance of the k-th true neighbour of each of `measured`, with a tolerance."""
    trials: TrialCount

    @cached_property
    def hashed(self) -> HashInput:
        """All rows as a family receives them."""
        return hash_input(self.rows, self.max_norm)

    def take(self, positions: Ints, *, query: bool = False) -> HashInput:
        """Return rows as a family receives them."""
        return hash_input(self.rows.take(positions), self.max_norm, query=query)

    def measure(self, index: TunableIndex) -> tuple[float, float]:
        """Return the recall of queries that are rows of the index, and its lower bound."""
        k, queries = self.target.k, self.rows.take(self.measured)
        # An exact scan would hide that there are too few candidates.
        hits = index.nearest(queries.matrix, k + 1, complete=False)
        # Each row finds itself or an equal row; by inner product only if it is long enough.
        own = -(queries.norms() ** 2) if self.metric == "inner_product" else np.zeros(len(queries))
        shares = _found_shares(hits, self.limits, own <= self.limits, k)
        mean = float(shares.mean())
        self.trials.add()
        return mean, mean - _STANDARD_ERRORS * float(shares.std(ddof=1)) / math.sqrt(len(shares))


class TunableIndex(Protocol):
    """An `LSHIndex`; its module imports this one."""

    settings_: Settings
    family_: Family

    def nearest(
        self,
        Q: Vectors,
        k: int = 10,
        *,
        num_probes: int | None = None,
        recall: float | None = None,
        complete: bool = True,
    ) -> SearchResult:
        """Return the k nearest rows of each query, or the k nearest candidates."""

    @property
    def filter_nbytes(self) -> int:
        """Bytes of tables or codes."""


Tuned = TypeVar("Tuned", bound=TunableIndex)
Build: TypeAlias = Callable[[Family, Settings, HashInput], Tuned]
"""Creates an index with a family and settings."""
RanksOf: TypeAlias = Callable[[Rows, npt.NDArray[Any]], tuple[Ints, Ints]]
"""Returns the rows of ids, and how many partitions are nearer to their query than their own."""


def tune(
    params: IndexParams, metric: Metric, rows: Rows, target: TuneTarget, build: Build[Tuned], report: Progress
) -> Tuned:
    """Return the index that reaches the recall; `build` creates an index from a family, settings and hash input."""
    sample = draw_sample(params, metric, rows, target, report)
    if params.rank == "estimate":
        return _tune_estimates(sample, build)
    candidates: list[Candidate] = []
    scannable = params.family.kind == "bits" and params.family.num_hashes <= 1024
    if scannable and params.filter != "buckets" and not params.has_tables:
        candidates += _code_candidates(sample)
    if params.filter != "codes" and params.rank == "hamming" and params.num_candidates is None:
        candidates += _table_candidates(sample, report)
    if not candidates:
        limits = f"max_tables={target.max_tables}, memory={target.memory} and the given parameters"
        allowed = f"less: no choice within {limits} reaches it on a sample of the data"
        raise bad_parameter("recall", target.recall, allowed)
    tuner = _SettingsTuner(sample, build, min(candidates, key=lambda candidate: candidate.nanoseconds))
    if tuner.reach_recall():
        tuner.reduce_tables()
        tuner.reduce_effort()
    best, index = tuner.best, tuner.index
    expected = best.candidates, best.nanoseconds / 1000
    tuning = TuneReport(target.recall, target.k, best.recall, *tuner.measured, *expected, len(candidates))
    index.settings_ = replace(index.settings_, tuning=tuning)
    sample.trials.finish()
    return index


def draw_sample(params: IndexParams, metric: Metric, rows: Rows, target: TuneTarget, report: Progress) -> TuneSample:
    """Draw queries and random rows, and find the true neighbours of the queries."""
    n, k = len(rows), target.k
    if n < 2 * k + 2:
        raise input_error(
            "X", f"{n} rows are too few to sample {k} neighbours; give {2 * k + 2} or more, or set the parameters"
        )
    max_norm = resolve_max_norm(params, metric, rows)
    # A row of zeros can't be a query for inner products: they are all zero.
    eligible = np.flatnonzero(rows.norms() > 0) if metric == "inner_product" else np.arange(n)
    if len(eligible) < 2:
        raise input_error("X", "fewer than two rows are not zero, so there are no queries to measure with")
    rng = np.random.default_rng(target.seed)
    # Differences of the Manhattan distance take several times as long as products.
    affordable = _MAX_COORDINATES // (n * rows.d) // (8 if metric == "l1" else 1)
    count = min(max(_NUM_QUERIES, min(_MAX_MEASURED, affordable)), n // 2, len(eligible))
    drawn = rng.choice(eligible, count, replace=False).astype(np.int64)
    random = np.sort(rng.choice(n, min(_NUM_RANDOM, n), replace=False)).astype(np.int64)
    queries, measured = np.sort(drawn[:_NUM_QUERIES]), np.sort(drawn)
    nearest, distances = true_neighbours(rows, measured, metric, k, ticker(report, "neighbours", n))
    nearest, limits = nearest[np.searchsorted(measured, queries)], _with_tolerance(distances[:, -1])
    trials = TrialCount(report)
    return TuneSample(params, target, metric, max_norm, rows, queries, nearest, random, measured, limits, trials)


def _with_tolerance(distances: Floats) -> Floats:
    """Return the distances up to which a row counts as one of the true neighbours: rounding must not exclude it."""
    limits: Floats = distances + 1e-5 * np.abs(distances) + 1e-12
    return limits


def _found_shares(hits: SearchResult, limits: Floats, is_found: npt.NDArray[np.bool_] | bool, k: int) -> Floats:
    """Return the share of the k neighbours of each query that were found, without the query if it is a hit."""
    good = np.bincount(hits.queries[hits.distances <= limits[hits.queries]], minlength=len(limits))
    shares: Floats = np.clip(good - is_found, 0, k) / k
    return shares


class _SettingsTuner(Generic[Tuned]):
    """The best choice so far, the index built with it, and its recall with the lower bound."""

    def __init__(self, sample: TuneSample, build: Build[Tuned], choice: Candidate) -> None:
        self.sample, self.target, self.build = sample, sample.target, build
        self.best, self.index, self.measured = self._try(choice)

    def _try(self, choice: Candidate) -> tuple[Candidate, Tuned, tuple[float, float]]:
        index = self.build(choice.family, choice.settings, self.sample.hashed)
        return choice, index, self.sample.measure(index)

    def reach_recall(self) -> bool:
        """Increase the effort until the recall is reached; return False if no larger choice is within the limits."""
        while self.measured[1] < self.target.recall:
            larger = self._larger_choice()
            if larger is None:
                return False
            if larger.settings.filter == "codes":
                # The codes are the same; only more of them are ranked.
                self.index.settings_ = replace(self.index.settings_, num_candidates=larger.settings.num_candidates)
                self.best, self.measured = larger, self.sample.measure(self.index)
            else:
                self.best, self.index, self.measured = self._try(larger)
        return True

    def _larger_choice(self) -> Candidate | None:
        """Return the next larger choice within the limits, or None; parameters that were set do not grow."""
        params, settings, n = self.sample.params, self.best.settings, len(self.sample.rows)
        if settings.filter == "codes":
            if params.num_candidates is not None or settings.num_candidates >= n:
                return None
            return self.best.with_settings(num_candidates=min(n, math.ceil(settings.num_candidates * 1.25) + 1))
        tables = min(self.target.max_tables, math.ceil(settings.num_tables * 1.15))
        if params.num_tables is None and tables > settings.num_tables and self.target.fits(n * _TABLE_ENTRY * tables):
            return self.best.with_settings(num_tables=tables)
        if params.num_probes is None and self.index.family_.num_alternatives and settings.num_probes < 1 << 16:
            return self.best.with_settings(num_probes=settings.num_probes * 2)
        return None

    def reduce_tables(self) -> None:
        """Use fewer tables that still reach the recall, unless their number was set."""
        high, low = self.best.settings.num_tables, 0
        if self.best.settings.filter == "codes" or self.sample.params.num_tables is not None:
            return
        # Each table reduces the misses by the same factor.
        middle = math.ceil(high * math.log(1 - self.target.recall) / math.log(max(1 - self.measured[1], 1e-6)))
        for _ in range(_MAX_REBUILDS):
            middle = min(max(middle, low + 1), high - 1)
            if high - low < 2:
                break
            trial = self._try(self.best.with_settings(num_tables=middle))
            if trial[2][1] >= self.target.recall:
                (self.best, self.index, self.measured), high = trial, middle
            else:
                low = middle
            middle = (low + high) // 2

    def reduce_effort(self) -> None:
        """Bisect the candidates of codes, or the probes of tables, down to the recall, unless their number was set."""
        sample, settings = self.sample, self.best.settings
        name = "num_candidates" if settings.filter == "codes" else "num_probes"
        if getattr(sample.params, name) is not None:
            return
        recalls = {getattr(settings, name): self.measured}

        def reaches(effort: int) -> bool:
            self.index.settings_ = replace(self.index.settings_, **{name: effort})  # type: ignore[arg-type]
            recalls[effort] = sample.measure(self.index)
            return recalls[effort][1] >= self.target.recall

        # A query is a row of the index, and itself a candidate.
        low = self.target.k if name == "num_candidates" else 0
        effort = _least_effort(low, getattr(settings, name), reaches, _RESOLUTION)
        self.index.settings_ = replace(self.index.settings_, **{name: effort})  # type: ignore[arg-type]
        self.best, self.measured = self.best.with_settings(**{name: effort}), recalls[effort]
        if name == "num_candidates":
            cost = _codes_cost(self.best.family.num_hashes, sample.rows, effort)
            self.best = replace(self.best, candidates=float(effort), nanoseconds=cost)


def _least_effort(low: int, high: int, reaches: Callable[[int], bool], resolution: float = 0.0) -> int:
    """Return the smallest number above `low` that reaches the recall, up to the resolution; `high` if none does."""
    while high - low > max(1, int(resolution * high)):
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _code_candidates(sample: TuneSample) -> list[Candidate]:
    """Return the scan that ranks enough codes to include the required share of neighbours, if it fits the memory."""
    params, target, nearest, n = sample.params, sample.target, sample.nearest, len(sample.rows)
    bits = params.family.num_hashes
    size = 8 * -(-bits // 64) * n
    if not target.fits(size):
        return []
    family = params.family.resized(bits).fit(sample.hashed)

    def codes(positions: Ints, *, query: bool = False) -> npt.NDArray[np.bool_]:
        return family.hash_values(sample.take(positions, query=query)).astype(bool)

    own, near, random = codes(sample.queries, query=True), codes(nearest.ravel()), codes(sample.random)
    near = near.reshape(*nearest.shape, -1)
    # Distances of all queries to all random rows, by products of 0 and 1.
    a, b = own.astype(np.float32), random.astype(np.float32)
    common_random = a @ b.T
    random_gaps: Floats = (a.sum(axis=1)[:, None] + b.sum(axis=1)[None, :] - 2 * common_random).astype(np.float64)
    near_gaps: Floats = (own[:, None, :] != near).sum(axis=2).astype(np.float64)
    if params.rank == "spherical":
        common_near = (own[:, None, :] & near).sum(axis=2)
        random_gaps = _spherical_distances(random_gaps, common_random)
        near_gaps = _spherical_distances(near_gaps, common_near)
    # The rank of a neighbour's code: the number of nearer rows, plus half of the rows at the same distance.
    before = [
        np.searchsorted(far, gaps, side="left") + np.searchsorted(far, gaps, side="right")
        for far, gaps in zip(np.sort(random_gaps, axis=1), near_gaps, strict=True)
    ]
    ranks = np.stack(before) / 2 / len(sample.random) * n
    count = int(np.ceil(np.quantile(ranks, min(1.0, target.recall + _MARGIN)))) + nearest.shape[1]
    count = min(n, max(count, 2 * nearest.shape[1]))
    if params.num_candidates is not None:
        if params.num_candidates < count:
            return []
        count = params.num_candidates
    recall = float(np.mean(ranks <= count))
    settings = choose_settings(params, sample.metric, "codes", sample.max_norm, num_candidates=count)
    return [Candidate(params.family, settings, recall, float(count), _codes_cost(bits, sample.rows, count))]


def _codes_cost(bits: int, rows: Rows, ranked: int) -> float:
    """Return the expected nanoseconds of a query that scans all codes."""
    scan = len(rows) * (-(-bits // 64) * _NS_WORD + _NS_CODE)
    return bits * _values_per_row(rows) * _NS_HASH + scan + ranked * _candidate_cost(rows)


def _tables_cost(tables: int, h: int, probes: int, rows: Rows, candidates: float) -> float:
    """Return the expected nanoseconds of a query that looks up hash tables."""
    functions = tables * h
    exact = functions * (_values_per_row(rows) * _NS_EXACT + _NS_MARGIN) + _NS_PROBING
    hashing = exact if probes > 1 else functions * _values_per_row(rows) * _NS_HASH
    return hashing + tables * probes * _NS_PROBE + candidates * _candidate_cost(rows)


def _candidate_cost(rows: Rows) -> float:
    """Return the expected nanoseconds of one candidate."""
    return _NS_CANDIDATE + _values_per_row(rows) * (_NS_STEP if rows.csr is None else _NS_SPARSE)


def _values_per_row(rows: Rows) -> float:
    """Return the dimension of dense rows, or the mean number of non-zeros of sparse ones."""
    return float(rows.d) if rows.csr is None else rows.csr.nnz / len(rows)


def _spherical_distances(differ: Floats, common: npt.NDArray[np.float32] | Ints) -> Floats:
    """Return spherical Hamming distances; two empty codes are equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(differ == 0, 0.0, differ / common)


def _table_candidates(sample: TuneSample, report: Progress) -> list[Candidate]:
    """Return for each number of hashes and probes the tables that reach the recall within the limits."""
    params = sample.params
    can_probe = params.family.count_alternatives(sample.hashed.shape[1]) > 0
    probes = [params.num_probes] if params.num_probes else list(_PROBES if can_probe else _PROBES[:1])
    candidates = []
    choices = [(family, h) for family in _width_variants(sample) for h in _hashes_per_table(sample, family)]
    tick = ticker(report, "choose", len(choices))
    for family, h in choices:
        for count, (near, random) in _hit_rates(sample, family, h, probes).items():
            candidate = _table_candidate(sample, family, h, count, near, random)
            if candidate is not None:
                candidates.append(candidate)
        tick(1)
    return candidates


def _hashes_per_table(sample: TuneSample, family: Family) -> list[int]:
    """Return numbers of hashes per table to try: around one random row per bucket."""
    values = family.resized(64).fit(sample.hashed).hash_values(sample.take(sample.random))
    if (middle := selective_hashes(values, len(sample.rows))) is None:
        return []
    counts = sorted({max(1, round(middle * factor)) for factor in (0.35, 0.6, 0.8, 1.0)})
    if sample.params.hashes_per_table:
        counts = [sample.params.hashes_per_table]
    return [h for h in counts if family.kind == "keys" or h <= 64]


def _table_candidate(
    sample: TuneSample, family: Family, h: int, probes: int, near: Floats, random: Floats
) -> Candidate | None:
    """Return the tables of h hashes and this many probes that reach the recall; None if none do within the limits."""
    params, target, n = sample.params, sample.target, len(sample.rows)
    near, random = np.minimum(near, 1 - 1e-12), np.minimum(random, 1 - 1e-12)
    required = min(target.recall + _MARGIN, (1 + target.recall) / 2)
    tables = min_tables(near, required, params.num_tables or target.max_tables)
    if tables is None:
        return None
    tables = params.num_tables or tables
    if not target.fits(n * _TABLE_ENTRY * tables):
        return None
    recall = float(np.mean(collision_in_any_table(near, tables)))
    candidates = n * float(np.mean(collision_in_any_table(random, tables)))
    cost = _tables_cost(tables, h, probes, sample.rows, candidates)
    counts = {"num_tables": tables, "hashes_per_table": h, "num_probes": probes}
    settings = choose_settings(params, sample.metric, "buckets", sample.max_norm, **counts)
    return Candidate(family, settings, recall, candidates, cost)


def _width_variants(sample: TuneSample) -> list[Family]:
    """Return the family; one that chooses its own cell width also with smaller ones."""
    family = sample.params.family
    if getattr(family, "width", None) != "auto":
        return [family]
    width: float = family.resized(1).fit(sample.hashed).width_  # type: ignore[attr-defined]  # It has one.
    return [type(family)(**{**family.get_params(), "width": factor * width}) for factor in (0.5, 0.75, 1.0)]


def _hit_rates(sample: TuneSample, family: Family, h: int, probes: list[int]) -> dict[int, tuple[Floats, Floats]]:
    """Return for each number of probes the share of sampled tables that find each neighbour and each random row."""
    # Neighbours first, then random rows; every table is queried separately.
    num_queries, num_near = len(sample.queries), sample.nearest.size
    positions = np.concatenate([sample.nearest.ravel(), sample.random])
    counts = {count: (np.zeros(num_near), np.zeros((num_queries, len(sample.random)))) for count in probes}
    owner = np.repeat(np.arange(num_queries), sample.nearest.shape[1])
    layout = family.hash_layout(_SAMPLED_TABLES, h)
    functions = family.resized(int(layout.max()) + 1, group=h).fit(sample.hashed)
    values = functions.hash_values(sample.take(positions))
    queries = sample.take(sample.queries, query=True)
    max_probes = max(probes)
    probed = functions.probes(queries, min(functions.num_alternatives, max_probes - 1)) if max_probes > 1 else None
    own = functions.hash_values(queries) if probed is None else probed.values
    # Only candidates are read from the tables, never vectors.
    vectors = np.zeros(len(positions), dtype=np.float32)
    for columns in layout:
        core = LshCore.buckets("l2", "float32", 1, True, h, h, np.arange(h, dtype=np.uint32))
        core.add(None, np.ascontiguousarray(values[:, columns]).reshape(-1), vectors, "error")
        hashes = np.ascontiguousarray(own[:, columns]).reshape(-1)
        for count in probes:
            others = None
            if count > 1 and probed is not None:
                size = min(probed.others.shape[2], count - 1)
                others = (
                    size,
                    np.ascontiguousarray(probed.others[:, columns, :size]).reshape(-1),
                    np.ascontiguousarray(probed.costs[:, columns, :size], dtype=np.float64).reshape(-1),
                )
            offsets, row_numbers, _ = core.candidates((hashes, others, count, None))
            ids = np.asarray(row_numbers, dtype=np.int64)
            query = np.repeat(np.arange(num_queries), np.diff(offsets))
            is_near = ids < num_near
            is_own = is_near & (owner[np.minimum(ids, num_near - 1)] == query)
            counts[count][0][ids[is_own]] += 1
            counts[count][1][query[~is_near], ids[~is_near] - num_near] += 1
    return {count: (near / _SAMPLED_TABLES, random / _SAMPLED_TABLES) for count, (near, random) in counts.items()}


def _tune_estimates(sample: TuneSample, build: Build[Tuned]) -> Tuned:
    """Return the index with `rank="estimate"` that reaches the recall."""
    params, target, n = sample.params, sample.target, len(sample.rows)
    index = build(params.family, estimate_settings(params, sample.metric, n), sample.hashed)
    if not target.fits(index.filter_nbytes):
        allowed = f"{index.filter_nbytes} bytes or more: rotation codes have one bit per coordinate of the rotation"
        raise bad_parameter("memory", target.memory, allowed)
    settings = index.settings_
    measurements: dict[tuple[float, int], tuple[float, float]] = {}

    def measure(guarantee: float, probes: int) -> tuple[float, float]:
        if (guarantee, probes) not in measurements:
            index.settings_ = replace(settings, recall=guarantee, num_probes=probes)
            measurements[guarantee, probes] = sample.measure(index)
        return measurements[guarantee, probes]

    def min_guarantee(probes: int, recall: float) -> float:
        """Return the smallest guarantee that reaches a recall in this many partitions; the largest if none does."""
        if params.recall is not None:
            return float(params.recall)
        last = len(_GUARANTEES) - 1
        return _GUARANTEES[smallest(0, last, lambda i: measure(_GUARANTEES[i], probes)[1] >= recall)]

    def min_probes(guarantee: float) -> int:
        """Return the fewest partitions that reach the recall; all if none do."""
        return _least_effort(0, settings.num_partitions, lambda n: measure(guarantee, n)[1] >= target.recall)

    probes = settings.num_probes
    if settings.filter == "partitions" and params.num_probes is None:
        probes = min_probes(min_guarantee(settings.num_partitions, (1 + target.recall) / 2))
    guarantee = min_guarantee(probes, target.recall)
    measured = measure(guarantee, probes)
    scanned = float(n * (probes / settings.num_partitions if settings.num_partitions else 1))
    report = TuneReport(target.recall, target.k, guarantee, *measured, scanned, None, len(measurements))
    index.settings_ = replace(settings, recall=guarantee, num_probes=probes, tuning=report)
    sample.trials.finish()
    return index


@dataclass(frozen=True)
class FitSample:
    """Rows that serve as queries of a fit, and their true neighbours, without the rows themselves."""

    target: float
    """Requested recall."""
    queries: Vectors
    limits: Floats
    """Distance of the last of `MEASURED_K` neighbours of each query."""
    ranks: Ints
    """`(n_queries, MEASURED_K)`: how many partitions are nearer to the query than that of the neighbour."""
    ranks_of_many: Ints
    """`(_FIT_QUERIES_OF_MANY, MAX_MEASURED_K)`: the same for more neighbours of the first queries."""
    num_rows: int
    trials: TrialCount

    @classmethod
    def draw(cls, index: TunableIndex, rows: Rows, ranks_of: RanksOf, report: Progress) -> FitSample:
        """Draw rows; the index has partitions and just these rows."""
        settings, n = index.settings_, len(rows)
        target = float(settings.recall or 0)
        count = math.ceil(_DESIGN_EFFECT * _FIT_NEIGHBOURS / ((1 - target) * MEASURED_K))
        count = min(max(_FIT_QUERIES[0], count), _FIT_QUERIES[1], n // 2)
        drawn = np.random.default_rng(index.family_.seed).choice(n, count, replace=False).astype(np.int64)
        drawn[:_FIT_QUERIES_OF_MANY].sort()
        drawn[_FIT_QUERIES_OF_MANY:].sort()
        tick = ticker(report, "neighbours", count)

        def neighbours(own: Ints, k: int) -> tuple[Floats, Ints]:
            """Return the distance of the last of `MEASURED_K` neighbours of each row, and the ranks of k neighbours."""
            queries = rows.take(own)
            truth = index.nearest(queries.matrix, k + 1, num_probes=settings.num_partitions, recall=_FIT_TRUTH)
            near, ranks = (part.reshape(len(own), k + 1) for part in ranks_of(queries, truth.ids))
            far = truth.distances.reshape(len(own), k + 1)[:, MEASURED_K].astype(np.float64)
            # Without the row itself; a row with more than k copies need not find itself.
            others = near != own[:, None]
            others[others.all(axis=1), k] = False
            tick(len(own))
            return far, ranks[others].reshape(len(own), k)

        far, many = neighbours(drawn[:_FIT_QUERIES_OF_MANY], MAX_MEASURED_K)
        other_far, few = neighbours(drawn[_FIT_QUERIES_OF_MANY:], MEASURED_K)
        far, few = np.concatenate([far, other_far]), np.concatenate([many[:, :MEASURED_K], few])
        return cls(target, rows.take(drawn).matrix, _with_tolerance(far), few, many, n, TrialCount(report))

    def min_probes(self, k: int, num_partitions: int, lost: float = 0.0) -> int:
        """Return the fewest partitions that have the target's share of the k neighbours, by their ranks alone.

        `lost` is the share of neighbours that searches miss in the partitions they visit.
        """
        ranks = self.ranks if k <= MEASURED_K else self.ranks_of_many
        return smallest(
            MIN_PROBES,
            num_partitions,
            lambda probes: self._interval(np.maximum(_visited(ranks, probes) - lost, 0.0), k)[0] >= self.target,
        )

    def lost(self, measured: Settings) -> float:
        """Return the share of neighbours that were missed in visited partitions: by their bounds and the reach."""
        recall = 0.0 if measured.tuning is None else measured.tuning.measured_recall
        return max(0.0, float(_visited(self.ranks, measured.num_probes).mean()) - recall)

    def measure(self, index: TunableIndex, trial: Settings) -> Settings:
        """Return the settings with the recall of the `MEASURED_K` neighbours."""
        k = MEASURED_K
        hits = index.nearest(
            self.queries, k + 1, num_probes=trial.num_probes or None, recall=trial.recall, complete=False
        )
        shares = _found_shares(hits, self.limits, True, k)
        low, high = self._interval(shares, k)
        scanned = self.num_rows * (trial.num_probes / trial.num_partitions if trial.num_probes else 1.0)
        mean = float(shares.mean())
        self.trials.add()
        report = TuneReport(self.target, k, float(trial.recall or 0), mean, low, scanned, None, 0, high)
        return replace(trial, tuning=report)

    def reaches(self, measured: Settings) -> bool:
        """Return True if the interval of the measured recall lies above the target."""
        return measured.tuning is not None and measured.tuning.recall_lower_bound >= self.target

    def _interval(self, shares: Floats, k: int) -> tuple[float, float]:
        """Return Wilson's interval of the mean recall of queries."""
        mean, count = float(shares.mean()), len(shares)
        independent = mean * (1 - mean) / k
        effect = max(_DESIGN_EFFECT, float(shares.var(ddof=1)) / independent if independent else 0.0)
        return wilson(mean * count * k / effect, count * k / effect)


def _visited(ranks: Ints, probes: int) -> Floats:
    """Return the share of the neighbours of each query that are in the visited partitions."""
    shares: Floats = (ranks < probes).mean(axis=1)
    return shares


def measured_settings(index: TunableIndex, sample: FitSample) -> Settings:
    """Return the settings of new partitions whose measured recall reaches the target.

    If it does not, ranks and the measured loss in visited partitions say how many probes reach it. Without a
    measurement if codes are faster.
    """
    first = first_settings(index.settings_)
    expected = sample.min_probes(MEASURED_K, first.num_partitions)
    best = replace(first, num_probes=expected)
    while not prefers_codes(best):
        best = sample.measure(index, best)
        if sample.reaches(best):
            break
        least = math.ceil(best.num_probes * _PROBE_GROWTH)
        more = max(sample.min_probes(MEASURED_K, first.num_partitions, sample.lost(best)), least)
        best = replace(best, num_probes=min(more, first.num_partitions))
    if best.tuning is None:
        return best
    many = sample.min_probes(MAX_MEASURED_K, first.num_partitions) * best.num_probes / expected
    num_probes_100 = min(max(math.ceil(many), best.num_probes), first.num_partitions)
    return replace(best, tuning=replace(best.tuning, num_probes_100=num_probes_100))


def measured_codes(index: TunableIndex, sample: FitSample) -> Settings:
    """Return the settings of a scan of codes with the smallest bound whose measured recall reaches the target.

    The bound guarantees a recall for the neighbour at the limit of a query; nearer ones are found more often.
    """
    settings = index.settings_
    chosen = tuple(dict.fromkeys((*settings.chosen, "recall")))
    measured: dict[int, Settings] = {}

    def reaches(trial: int) -> bool:
        recall = max(0.5, round(1 - _CODE_MISSES[trial] * (1 - sample.target), 9))
        measured[trial] = sample.measure(index, replace(settings, recall=recall, chosen=chosen))
        return sample.reaches(measured[trial])

    best = smallest(0, len(_CODE_MISSES), reaches)
    return measured.get(best, settings)


def true_neighbours(
    rows: Rows, queries: Ints, metric: Metric, k: int, tick: Callable[[int], None] = lambda _: None
) -> tuple[Ints, Floats]:
    """Return the k nearest other rows of some rows, and their distances, by brute force in blocks.

    The distances in a block are a matrix product (inner products, cosines, and ‖y‖² − 2 x·y, which has the same order
    as the Euclidean distance) or, for the Manhattan distance, sums of differences. The k smallest distances are summed
    again in `float64`, so that they do not depend on the blocks. Cost: n d steps per query; memory: 2^24 distances at a
    time. `tick` is called with the number of rows of each block.

    Returns
    -------
    (n_queries, k) int64, (n_queries, k) float64
        Nearest first.
    """
    n = len(rows)
    points = rows.take(queries)
    best_distances = np.full((len(queries), k), np.inf)
    best_rows = np.full((len(queries), k), -1, dtype=np.int64)
    norms = rows.norms()
    step = max(1, _BLOCK // max(len(queries), 1) // (rows.d if metric == "l1" else 1))
    for start in range(0, n, step):
        block = rows.slice(start, min(start + step, n))
        distances = _block_distances(block, points, metric, norms[start : start + len(block)])
        inside = (queries >= start) & (queries < start + len(block))
        distances[np.flatnonzero(inside), queries[inside] - start] = np.inf
        # The nearest of the block, then of all blocks up to here.
        count = min(k, distances.shape[1])
        positions = np.argpartition(distances, count - 1, axis=1)[:, :count]
        distances = np.concatenate([best_distances, np.take_along_axis(distances, positions, axis=1)], axis=1)
        numbers = np.concatenate([best_rows, positions + start], axis=1)
        order = np.lexsort((numbers, distances), axis=1)[:, :k]
        best_distances = np.take_along_axis(distances, order, axis=1)
        best_rows = np.take_along_axis(numbers, order, axis=1)
        tick(len(block))
    exact = np.stack(
        [_exact_distances(rows.take(best), points.slice(i, i + 1), metric) for i, best in enumerate(best_rows)]
    )
    order = np.argsort(exact, axis=1, kind="stable")
    return np.take_along_axis(best_rows, order, axis=1), np.take_along_axis(exact, order, axis=1)


def _block_distances(block: Rows, points: Rows, metric: Metric, norms: Floats) -> Floats:
    """Return `(n_points, n_block)` numbers with the order of the distances."""
    if metric == "l1":
        q, x = points.dense().astype(np.float64), block.dense().astype(np.float64)
        return np.stack([np.abs(x - point).sum(axis=1) for point in q])
    dot: Floats = block.product(np.ascontiguousarray(points.dense().T)).T.astype(np.float64)
    if metric == "l2":
        return norms**2 - 2 * dot
    if metric == "cosine":
        return -dot / np.maximum(norms, 1e-300)
    return -dot


def _exact_distances(rows: Rows, query: Rows, metric: Metric) -> Floats:
    """Return the distances of rows to one query in `float64`."""
    x, q = (Rows(side.dense().astype(np.float64), None) for side in (rows, query))
    if metric in ("l2", "l1"):
        return row_distances(x, q, metric)
    products: Floats = x.dense() @ q.dense()[0]
    if metric == "cosine":
        return np.asarray(1 - products / (np.sqrt((x.dense() ** 2).sum(axis=1)) * float(query.norms()[0])))
    return -products
