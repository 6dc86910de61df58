"""Parameters of `LSHIndex`: as passed, as resolved from the data, and as tuned.

All three are frozen. `IndexParams` are the constructor's arguments, which no fit changes. `Settings` are the parameters
in force after `fit` or `tune`, with the names of those that were chosen automatically. `TuneReport` is what `tune` was
asked for, expected and measured. Every fit and every tuning starts from `IndexParams`, so that nothing learned from
other vectors remains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from nearkin.errors import (
    ForgottenTuningWarning,
    LongVectorsWarning,
    UnmeasuredRecallWarning,
    bad_parameter,
    check_choice,
    check_count,
    warn_caller,
)
from nearkin.families.base import Family
from nearkin.families.hyperplane import Hyperplane, rotation_size
from nearkin.notebook import short
from nearkin.vectors.arrays import Floats, HashInput, Ints, Metric, Rows

Filter: TypeAlias = Literal["auto", "buckets", "codes", "partitions"]
CodeRank: TypeAlias = Literal["hamming", "spherical", "estimate"]

METRICS = ("l2", "l1", "cosine", "inner_product")
_SERVED_METRICS: dict[str, tuple[Metric, ...]] = {
    "cosine": ("cosine", "l2", "l1", "inner_product"),
    "l2": ("l2",),
    "l1": ("l1",),
    "hamming": ("l1", "l2"),
    "kernel": ("l2", "l1", "cosine"),
}
"""Metrics that rank candidates of a family, by what its hash values approximate; the first is the default. Near vectors
around a common mean have near directions, so hashes of angles also serve differences; of 0/1 vectors L1 and L2 have one
order; a kernel may depend on any of three. Keys of differences say nothing about angles."""
_RANGES = {
    "num_tables": 1 << 14,
    "hashes_per_table": 1 << 16,
    "num_probes": 1 << 20,
    "num_candidates": 1 << 32,
    "num_partitions": 1 << 24,
}
"""Upper bounds of the counts; the lower bound is 1."""
COUNT_NAMES = tuple(_RANGES)
_TABLE_PARAMS = ("num_tables", "hashes_per_table", "num_probes")
_COUNTS: dict[str, tuple[str, ...]] = {
    "buckets": _TABLE_PARAMS,
    "codes": ("num_candidates",),
    "partitions": ("num_probes", "num_partitions"),
}
"""Counts that a filter uses; ranking by estimates uses no number of candidates."""
_SAMPLE_ROWS = 1000
"""Rows whose hashes are compared to estimate how often two rows agree."""
_MAX_SCAN_WORDS = 1 << 22
"""Words of codes up to which `filter="auto"` scans them: about a millisecond per query."""
_MAX_CODE_BITS = 1024
"""Widest code that can be scanned."""
_LONG_NORM_RATIO = 4.0
"""Ratio of the largest norm to the median norm above which a fit for inner products warns. With codes of 256 bits and
400 of 8,000 rows ranked, recall on `20news_lsa96` is 0.98 at 2, 0.90 at 4, 0.77 at 8 and 0.59 at 64."""
_NUM_TABLES, _NUM_PROBES, _NUM_CANDIDATES = 16, 16, 200
"""Defaults that do not depend on data."""
_CODE_RECALL = 0.95
"""Default recall of estimates."""
MAX_FLAT_ROWS = 1 << 12
"""Rows up to which `filter="auto"` scans all rotation codes. On parts of SIFT and LSA with 1,000 to 16,000 rows, the
scan takes 0.8 to 1.2 times as long as partitions at 4,000 rows and up to 1.5 times at 8,000."""
_MISSES_OF_CODES = 3.0
"""Misses that the bound of codes in partitions allows, relative to those of the requested recall. The bound is loose:
codes miss a sixth of what it allows, half of the allowed misses, and partitions miss the rest."""
MIN_PROBES = 4
"""Fewest partitions that a fit tries first."""
_MAX_VISITED = 0.4
"""Largest share of partitions that a query visits; otherwise codes are scanned. On LSA at recall .99, visiting 0.44 of
the partitions takes as long as the scan; on SIFT, 0.2 takes 0.6 times as long."""
MEASURED_K, MAX_MEASURED_K = 10, 100
"""Numbers of neighbours whose recall `fit` measures."""


@dataclass(frozen=True)
class IndexParams:
    """Arguments of the `LSHIndex` constructor, where each is described; None means chosen automatically.

    Attributes
    ----------
    family : Family
    num_tables, hashes_per_table, num_probes, num_candidates : int or None
    num_partitions : int or None
    filter : {"auto", "buckets", "codes", "partitions"}
    rank : {"hamming", "spherical", "estimate"}
    recall : float or None
    metric : {"l2", "l1", "cosine", "inner_product"} or None
    max_norm : float or None
    guarantee : bool
    """

    family: Family
    num_tables: int | None = None
    hashes_per_table: int | None = None
    num_probes: int | None = None
    filter: Filter = "auto"
    num_candidates: int | None = None
    rank: CodeRank = "hamming"
    metric: Metric | None = None
    max_norm: float | None = None
    recall: float | None = None
    num_partitions: int | None = None
    guarantee: bool = False

    @property
    def has_tables(self) -> bool:
        """True if any parameter of hash tables is set."""
        return any(getattr(self, name) is not None for name in _TABLE_PARAMS)

    def for_dimension(self, dimension: int) -> IndexParams:
        """Return a copy whose family has the number of functions that follows from the dimension, if it is open."""
        family = self.family
        if isinstance(family, Hyperplane) and family.bits is None:
            return replace(self, family=family.resized(rotation_size(dimension, family.orthogonal)))
        return self

    def check(self) -> Metric:
        """Check the parameters and return the metric.

        Raises
        ------
        ParameterError
            A parameter out of range, or one that does not apply to the family, rank or filter.
        """
        family = self.family
        if not isinstance(family, Family):
            raise bad_parameter("family", repr(family), "a family of nearkin.families, such as Hyperplane()")
        if family.kind == "features":
            raise bad_parameter("family", family.name, "a family of bits or keys; features have no buckets")
        check_choice("filter", self.filter, "auto", "buckets", "codes", "partitions")
        if self.filter == "codes" and family.kind != "bits":
            raise bad_parameter("filter", '"codes"', f'"buckets": {family.name} gives integers, not bits')
        check_choice("rank", self.rank, "hamming", "spherical", "estimate")
        if self.rank == "estimate":
            if not (isinstance(family, Hyperplane) and family.is_structured):
                families = 'the family Hyperplane(bits=None, orthogonal="hadamard") or "dense"'
                raise bad_parameter("rank", '"estimate"', f'"hamming", or "estimate" with {families}')
            if self.filter == "buckets":
                raise bad_parameter("filter", '"buckets"', '"codes" or "partitions" with rank="estimate"')
            if self.metric == "l1":
                raise bad_parameter("metric", '"l1"', '"l2", "cosine" or "inner_product" with rank="estimate"')
        elif self.filter == "partitions":
            raise bad_parameter("filter", '"partitions"', '"buckets" or "codes" without rank="estimate"')
        for name, allowed in self._inapplicable():
            if getattr(self, name) is not None:
                raise bad_parameter(name, getattr(self, name), allowed)
        for name in _RANGES:
            if getattr(self, name) is not None:
                check_param(name, getattr(self, name))
        if self.recall is not None:
            check_recall(self.recall)
        if type(self.guarantee) is not bool:
            raise bad_parameter("guarantee", repr(self.guarantee), "True or False")
        if self.guarantee and (self.rank != "estimate" or self.filter == "partitions"):
            allowed = 'False, or the default family with filter="auto" or "codes": only a scan of codes has a guarantee'
            raise bad_parameter("guarantee", True, allowed)
        if self.rank == "spherical" and (self.filter == "buckets" or family.kind != "bits"):
            raise bad_parameter("rank", '"spherical"', '"hamming" for an index of buckets, which ranks no codes')
        served = _SERVED_METRICS[family.distance]
        if self.metric is None:
            return served[0]
        check_choice("metric", self.metric, *METRICS)
        if self.metric not in served:
            names = " or ".join(f'"{name}"' for name in served)
            other = "PStable('l1')" if self.metric == "l1" else "PStable()" if self.metric == "l2" else "Hyperplane()"
            allowed = f"{names} with {type(family).__name__}, or another family, such as {other}"
            raise bad_parameter("metric", f'"{self.metric}"', allowed)
        return self.metric

    def _inapplicable(self) -> Iterator[tuple[str, str]]:
        """Yield parameters that do not apply to the rank and filter, each with what to use instead."""
        if self.rank == "estimate":
            yield "num_candidates", 'None with rank="estimate": the bound decides how many are ranked; give recall='
            yield from ((name, 'None with rank="estimate"') for name in ("num_tables", "hashes_per_table", "max_norm"))
            if self.filter != "partitions":
                yield from ((name, 'None without filter="partitions"') for name in ("num_partitions", "num_probes"))
            return
        yield from (
            (name, f'None without rank="estimate"; it is {self.rank!r}') for name in ("recall", "num_partitions")
        )
        if self.filter == "codes":
            yield from ((name, 'None with filter="codes", which has no tables') for name in _TABLE_PARAMS)
        elif self.filter == "buckets":
            yield "num_candidates", 'None with filter="buckets"'


@dataclass(frozen=True)
class TuneReport:
    """Required recall, and the recall and cost that `tune`, or `fit` for partitions, expected and measured.

    Attributes
    ----------
    recall : float
        Required share of the true k nearest neighbours.
    k : int
    expected_recall : float
        Estimated from the sample that the choice is based on; for estimates, the recall that the bound guarantees.
    measured_recall : float
        Measured on the built index with rows of its own as queries.
    recall_lower_bound : float
        The measured recall minus two standard errors, or after `fit` the lower end of its interval of 95%; below
        `recall` only if nothing within the limits reached it.
    expected_candidates : float
        Rows ranked per query; for estimates, rows whose bounds are computed.
    expected_microseconds : float or None
        Per query, on one thread of the benchmark machine; None for estimates.
    choices : int
        Number of choices that reached the recall on the sample; 0 after `fit`, which follows a rule.
    recall_upper_bound : float or None
        Upper end of the interval that `fit` measured; None after `tune`.
    num_probes_100 : int or None
        Partitions that a query for 100 neighbours visits, as `fit` measured; None without partitions and after `tune`.
    """

    recall: float
    k: int
    expected_recall: float
    measured_recall: float
    recall_lower_bound: float
    expected_candidates: float
    expected_microseconds: float | None
    choices: int
    recall_upper_bound: float | None = None
    num_probes_100: int | None = None


@dataclass(frozen=True, repr=False)
class Settings:
    """Parameters in force in a fitted index: those passed to the constructor, and those chosen for the rest.

    Attributes
    ----------
    filter : {"buckets", "codes", "partitions"}
    num_tables, hashes_per_table : int
        L and k; 0 without tables.
    num_probes : int
        T, the maximum number of buckets per table, or of partitions, that a query visits; 0 for codes.
    num_candidates : int
        Number of nearest codes that are ranked; 0 for buckets and estimates.
    rank : {"hamming", "spherical", "estimate"}
        Distance between codes.
    recall : float or None
        Recall of codes that the bound of estimates guarantees; None for other ranks.
    num_partitions : int
        0 without partitions.
    metric : {"l2", "l1", "cosine", "inner_product"}
        The true distance.
    max_norm : float or None
        Largest allowed norm; None except for "inner_product".
    width : float or None
        Cell width of a family that has one, in units of the distance; otherwise None.
    chosen : tuple of str
        Names of the settings that `fit` or `tune` chose. The next fit chooses them again.
    tuning : TuneReport or None
        What `tune` expected and measured, or what `fit` measured for the partitions that it chose; otherwise None.
    """

    filter: Literal["buckets", "codes", "partitions"]
    num_tables: int = 0
    hashes_per_table: int = 0
    num_probes: int = 0
    num_candidates: int = 0
    rank: CodeRank = "hamming"
    metric: Metric = "l2"
    max_norm: float | None = None
    width: float | None = None
    recall: float | None = None
    num_partitions: int = 0
    chosen: tuple[str, ...] = ()
    tuning: TuneReport | None = None

    @property
    def used_counts(self) -> tuple[str, ...]:
        """Names of the counts that the filter uses; the others are 0."""
        return () if (self.filter, self.rank) == ("codes", "estimate") else _COUNTS[self.filter]

    @property
    def explicit(self) -> tuple[str, ...]:
        """Names of the settings that were passed to the constructor."""
        return tuple(name for name in self._applicable() if name not in ("chosen", "tuning", *self.chosen))

    def _applicable(self) -> list[str]:
        """Return the names of the settings that apply to the filter, metric and family."""
        hidden = {*COUNT_NAMES}.difference(self.used_counts)
        if self.filter == "buckets":
            hidden.add("rank")
        names = (field.name for field in fields(self))
        return [name for name in names if name not in hidden and getattr(self, name) is not None]

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={getattr(self, name)!r}' for name in self._applicable())})"


def as_number(value: object) -> float:
    """Return a value as a float; NaN if it is not a number."""
    try:
        return float(value)  # type: ignore[arg-type]  # A TypeError is the answer.
    except (TypeError, ValueError):
        return math.nan


def check_recall(recall: float) -> float:
    """Return the recall that a bound of estimates guarantees, after checking it."""
    number = as_number(recall)
    if not 0.5 <= number < 1:
        raise bad_parameter("recall", recall, "a number from 0.5 to below 1")
    return number


def check_param(name: str, value: int) -> int:
    """Return a count for one call after checking its range."""
    return check_count(name, value, 1, _RANGES[name], f"1 to {_RANGES[name]}")


def resolve_max_norm(params: IndexParams, metric: Metric, rows: Rows) -> float | None:
    """Return M of inner products, as passed or the norm of the longest row; None for other metrics."""
    norms = rows.norms()
    if metric != "inner_product" or params.rank == "estimate":
        return None
    max_norm = (float(norms.max()) or 1.0) if params.max_norm is None else as_number(params.max_norm)
    if not 0 < max_norm < math.inf:
        raise bad_parameter("max_norm", repr(params.max_norm), "a number above 0")
    _warn_of_long_vectors(params, norms, max_norm)
    return max_norm


def _warn_of_long_vectors(params: IndexParams, norms: Floats, max_norm: float) -> None:
    """Warn if the largest norm is far above the median: hashes then hardly distinguish the shorter vectors."""
    # With few rows all are ranked.
    if len(norms) <= _NUM_CANDIDATES:
        return
    median = float(np.median(norms[norms > 0])) if norms.any() else max_norm
    if max_norm <= _LONG_NORM_RATIO * median or params.rank not in ("hamming", "spherical"):
        return
    name = "the longest vector has the norm" if params.max_norm is None else "max_norm is"
    above = int((norms > _LONG_NORM_RATIO * median).sum())
    warn_caller(
        f"{name} {short(max_norm, 6)}, {short(max_norm / median)} times the median norm {short(median, 6)}: "
        "hashes then say little about inner products of shorter vectors, and recall is low; use "
        "rank='estimate', normalise vectors, or leave out those longer than "
        f"{_LONG_NORM_RATIO:g} times the median ({above} of {len(norms)})",
        LongVectorsWarning,
    )


def warn_of_forgotten_tuning(before: Settings | None, after: Settings) -> None:
    """Warn if a fit replaces settings that `tune` chose."""
    if before is None or before.tuning is None or not before.tuning.choices:
        return

    def show(value: object) -> str:
        return short(value, 4) if isinstance(value, float) else repr(value)

    names = [name for name in before.chosen if name not in ("metric", "max_norm")]
    values = [(name, getattr(before, name), getattr(after, name)) for name in names]
    changes = [f"{name}={show(old)} becomes {show(new)}" for name, old, new in values if old != new]
    if changes:
        warn_caller(
            f"fit replaces what tune chose: {', '.join(changes)}; tune leaves the index fitted, so call tune alone, "
            "or pass these settings to LSHIndex and the width to its family",
            ForgottenTuningWarning,
        )


def warn_of_radius(call: str, settings: Settings) -> bool:
    """Warn of a search within a radius in partitions that `fit` chose; return True if it was necessary."""
    if settings.filter != "partitions" or not {"filter", "num_partitions", "num_probes"} <= set(settings.chosen):
        return False
    tuning = settings.tuning
    recall = _CODE_RECALL if tuning is None else tuning.recall
    measured = ""
    if tuning is not None:
        measured = f" The measured recall {tuning.measured_recall:.3f} is that of the {tuning.k} nearest."
    warn_caller(
        f"{call} visits {settings.num_probes} of {settings.num_partitions} partitions, which fit chose over codes, "
        f"and does not find rows of the other partitions: no recall is guaranteed within a radius.{measured} "
        f"LSHIndex(guarantee=True, recall={short(recall, 4)}) scans all codes, which guarantees the recall of any "
        "radius; num_probes= or reach= sets the partitions of a call (pair_effort measures them for pairs and "
        'clusters), and filter="partitions" accepts them',
        UnmeasuredRecallWarning,
    )
    return True


def resolve_settings(params: IndexParams, metric: Metric, max_norm: float | None, hashed: HashInput) -> Settings:
    """Return the settings of a fit: the parameters, and values chosen from the data for the rest."""
    n = hashed.shape[0]
    family = params.family
    if params.rank == "estimate":
        return estimate_settings(params, metric, n)
    fits_scan = n * -(-family.num_hashes // 64) <= _MAX_SCAN_WORDS and family.num_hashes <= _MAX_CODE_BITS
    scan = family.kind == "bits" and not params.has_tables and fits_scan
    if params.filter == "codes" or (params.filter == "auto" and scan):
        if family.num_hashes > _MAX_CODE_BITS:
            raise bad_parameter("bits", family.num_hashes, f'1 to {_MAX_CODE_BITS} with filter="codes"')
        return choose_settings(
            params, metric, "codes", max_norm, num_candidates=params.num_candidates or _NUM_CANDIDATES
        )
    if params.num_candidates is not None:
        raise bad_parameter("num_candidates", params.num_candidates, "None if tables are built")
    if params.rank != "hamming":
        raise bad_parameter("rank", repr(params.rank), '"hamming" if tables are built; filter="codes" scans codes')
    return choose_settings(
        params,
        metric,
        "buckets",
        max_norm,
        num_tables=params.num_tables or _NUM_TABLES,
        hashes_per_table=params.hashes_per_table or _hashes_of_sample(family, hashed),
        num_probes=params.num_probes or (_NUM_PROBES if family.count_alternatives(hashed.shape[1]) else 1),
    )


def choose_settings(
    params: IndexParams,
    metric: Metric,
    filter: Literal["buckets", "codes", "partitions"],
    max_norm: float | None = None,
    **values: Any,
) -> Settings:
    """Return the settings of a filter with these values; `chosen` names those that the parameters leave open."""
    names = ["filter", *values]
    if metric == "inner_product" and params.rank != "estimate":
        names.append("max_norm")
    chosen = [name for name in (*names, "metric") if getattr(params, name) in (None, "auto")]
    if getattr(params.family, "width", None) == "auto":
        chosen.append("width")
    return Settings(filter, rank=params.rank, metric=metric, max_norm=max_norm, chosen=tuple(chosen), **values)


def estimate_settings(params: IndexParams, metric: Metric, n: int) -> Settings:
    """Return the settings of rotation codes of n rows."""
    recall = _CODE_RECALL if params.recall is None else check_recall(params.recall)
    if not (params.filter == "partitions" or chooses_partitions(params, metric, n)):
        return choose_settings(params, metric, "codes", recall=recall)
    # n / 128 partitions for few rows, n / 256 for a million and more.
    rows_per_partition = min(256, max(128, 128 * math.sqrt(math.sqrt(n / (1 << 16)))))
    num_partitions = params.num_partitions or max(1, round(n / rows_per_partition))
    num_probes = params.num_probes or max(16, num_partitions // 16)
    return choose_settings(
        params, metric, "partitions", num_probes=num_probes, recall=recall, num_partitions=num_partitions
    )


def chooses_partitions(params: IndexParams, metric: Metric, n: int) -> bool:
    """Return True if "auto" partitions n rows; not for inner products, whose queries are seldom like the rows."""
    can_measure = params.rank == "estimate" and params.filter == "auto" and metric != "inner_product"
    return can_measure and not params.guarantee and n > MAX_FLAT_ROWS


def prefers_codes(settings: Settings) -> bool:
    """Return True if a query visits so many partitions that a scan of all codes is faster."""
    return settings.num_probes > _MAX_VISITED * settings.num_partitions


def first_settings(settings: Settings) -> Settings:
    """Return the settings that a fit measures first; codes may miss `_MISSES_OF_CODES` times what the recall allows."""
    misses = 1 - (_CODE_RECALL if settings.recall is None else settings.recall)
    return replace(
        settings,
        recall=max(0.5, round(1 - _MISSES_OF_CODES * misses, 9)),
        chosen=tuple(dict.fromkeys((*settings.chosen, "recall"))),
    )


def with_width(settings: Settings, family: Family) -> Settings:
    """Return the settings with the cell width of the fitted family."""
    width = getattr(family, "width_", None)
    return replace(settings, width=None if width is None else float(width))


def _hashes_of_sample(family: Family, hashed: HashInput) -> int:
    """Return the number of hashes per table that leaves about one random row per bucket."""
    n = hashed.shape[0]
    if n < 3:
        return 1
    rng = np.random.default_rng(family.seed)
    sample = hashed[np.sort(rng.choice(n, min(n, _SAMPLE_ROWS), replace=False))]
    values = family.resized(64).fit(hashed).hash_values(sample)
    # Adjacent rows in a random order are random pairs.
    hashes = selective_hashes(values[rng.permutation(len(values))], n)
    maximum = 64 if family.kind == "bits" else 256
    return 1 if hashes is None else min(maximum, max(1, math.ceil(hashes)))


def selective_hashes(values: Ints, n: int) -> float | None:
    """Return k = ln n / -ln p, with p the share of equal hashes of adjacent rows; None if all are equal."""
    equal = float(np.mean(values[1:] == values[:-1]))
    return None if equal >= 1 else math.log(n) / -math.log(max(equal, 1e-9))


def _explain_measured(settings: Settings) -> str:
    """Return how many partitions a query visits, and the recall that was measured."""
    visits = f"a query visits at most {settings.num_probes} of {settings.num_partitions} partitions"
    return visits if settings.tuning is None else f"{visits}; {_explain_recall(settings.tuning)}"


def _explain_recall(report: TuneReport) -> str:
    upper = "" if report.recall_upper_bound is None else f" to {short(report.recall_upper_bound, 4)}"
    return (
        f"rows as queries have a recall@{report.k} of {short(report.measured_recall, 4)} "
        f"({short(report.recall_lower_bound, 4)}{upper}), required {short(report.recall, 4)}"
    )


def explain_filter(params: IndexParams, settings: Settings, words: int, n: int = 0) -> str:
    """Return the reason for the filter of n rows; a scan would read `words` words of 64 bits."""
    if params.filter != "auto":
        return f'filter="{params.filter}" was given'
    if settings.rank == "estimate":
        if settings.filter == "partitions":
            return f"more than {MAX_FLAT_ROWS:,} rows: {_explain_measured(settings)}"
        if params.guarantee:
            return "guarantee=True: a scan of all codes guarantees the recall for any vectors and queries"
        if settings.metric == "inner_product":
            return (
                'a scan of all codes guarantees the recall of inner products; filter="partitions" is faster without it'
            )
        if n > MAX_FLAT_ROWS:
            why = f"all codes are scanned faster than the partitions that the recall takes, over {_MAX_VISITED:.0%}"
            return why if settings.tuning is None else f"{why}; {_explain_recall(settings.tuning)}"
        return f"{MAX_FLAT_ROWS:,} rows or fewer are scanned faster than partitions are chosen"
    if settings.tuning is not None:
        return f"the shortest expected time of {settings.tuning.choices} choices that reach the recall"
    if settings.filter == "codes":
        return f"the family gives bits, and {words:,} words are scanned faster than enough tables are looked up"
    if params.family.kind != "bits":
        return "the family gives integers, which have no codes to scan"
    if params.has_tables:
        return "parameters of tables were given"
    return f"codes would have more than {_MAX_SCAN_WORDS:,} words, or more than {_MAX_CODE_BITS} bits"
