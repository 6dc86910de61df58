"""What an index of vectors does for a query: the given parameters, checked, and values chosen from the data for the
others.

Three values, all frozen: `Given` is what the constructor got, and no fit changes it; `Settings` is what a fitted index
works with, with the names of what was chosen for it; `Tuning` is what `tune` wished, expected and measured. A fit or a
tuning begins from `Given` alone, so that nothing learned from other vectors stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias

import numpy as np

from nearkin.errors import ForgottenTuningWarning, LongVectorsWarning, bad_parameter, check_count, warn_caller
from nearkin.families.base import Family
from nearkin.families.hyperplane import Hyperplane, rotation_size
from nearkin.index.lsh.arrays import Hashed, Metric
from nearkin.notebook import short
from nearkin.vectors.rows import Floats, Rows

Filter: TypeAlias = Literal["auto", "buckets", "codes", "cells"]
CodeRank: TypeAlias = Literal["hamming", "spherical", "estimate"]

METRICS = ("l2", "l1", "cosine", "inner_product")
_NATURAL: dict[str, Metric] = {"cosine": "cosine", "l2": "l2", "l1": "l1", "hamming": "l1", "kernel": "l2"}
"""The true distance that goes with what a family's hashes approximate."""
_SAMPLE = 1000
"""Rows whose hashes are compared to learn how often any two rows agree."""
_SCAN_WORDS = 1 << 22
"""Words of codes up to which `filter="auto"` scans them: about a millisecond per query."""
_CODES_BITS = 1024
"""Widest code that is scanned."""
_FAR = 4.0
"""Largest norm over the median one above which inner products are warned of: with codes of 256 bits, 400 of 8,000 rows
ranked, the recall on `20news_lsa96` is 0.98 at 2, 0.90 at 4, 0.77 at 8 and 0.59 at 64."""
_NUM_TABLES, _NUM_PROBES, _NUM_CANDIDATES = 16, 16, 200
"""What is chosen without data."""
_RECALL = 0.95
"""The recall of estimates where none is given."""
_FLAT_ROWS = 1 << 16
"""Rows up to which `filter="auto"` scans all rotation codes."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the constructor of an index was given; None is open. `LSHIndex` describes each.

    Attributes
    ----------
    family : Family
    num_tables, hashes_per_table, num_probes, num_candidates : int or None
    num_cells : int or None
    filter : {"auto", "buckets", "codes", "cells"}
        "auto" is open.
    rank : {"hamming", "spherical", "estimate"}
    recall : float or None
    metric : {"l2", "l1", "cosine", "inner_product"} or None
    max_norm : float or None
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
    num_cells: int | None = None

    @property
    def has_tables(self) -> bool:
        """Whether any parameter of tables was given."""
        return (self.num_tables, self.hashes_per_table, self.num_probes) != (None, None, None)

    def of_dimension(self, dimension: int) -> Given:
        """The same, with a number of functions that follows from the dimension, where that is open."""
        family = self.family
        if isinstance(family, Hyperplane) and family.bits is None:
            return replace(self, family=family.resized(rotation_size(dimension, family.orthogonal)))
        return self


@dataclass(frozen=True)
class Tuning:
    """What `LSHIndex.tune` was asked for, and what it expected and measured.

    Attributes
    ----------
    recall : float
        The wanted share of the true k nearest.
    k : int
    expected_recall : float
        Estimated from the sample on which the choice was made; of estimates, what the codes promise.
    measured_recall : float
        Of the index that was made, on rows of its own.
    least_recall : float
        The measured one less two of its standard errors; below `recall` only where nothing within the limits reached
        it.
    expected_candidates : float
        Rows that are ranked per query; of estimates, rows whose bounds are computed.
    expected_microseconds : float or None
        Per query, on one thread of the machine of the benchmarks; None for estimates.
    choices : int
        How many choices reached the recall by the sample.
    """

    recall: float
    k: int
    expected_recall: float
    measured_recall: float
    least_recall: float
    expected_candidates: float
    expected_microseconds: float | None
    choices: int


@dataclass(frozen=True, repr=False)
class Settings:
    """What a fitted index works with: what was given, and what was chosen for the rest.

    Attributes
    ----------
    filter : {"buckets", "codes", "cells"}
    num_tables, hashes_per_table : int
        L and k; 0 without tables.
    num_probes : int
        T, buckets of a table that a query visits, or cells, at most; 0 for codes.
    num_candidates : int
        Rows with the nearest codes that are ranked; 0 for buckets and estimates.
    rank : {"hamming", "spherical", "estimate"}
        What makes codes near.
    recall : float or None
        What the bound of estimates promises of the codes; None for other ranks.
    num_cells : int
        Cells; 0 without them.
    metric : {"l2", "l1", "cosine", "inner_product"}
        The true distance.
    max_norm : float or None
        The largest norm that fits; None except for "inner_product".
    width : float or None
        Width of a cell, in units of the distance, of a family that has one; else None.
    chosen : tuple of str
        Names of the above that `fit` or `tune` chose; all others were given. The next fit chooses them again.
    tuning : Tuning or None
        What `tune` expected and measured; None after `fit`.
    """

    filter: Literal["buckets", "codes", "cells"]
    num_tables: int = 0
    hashes_per_table: int = 0
    num_probes: int = 0
    num_candidates: int = 0
    rank: CodeRank = "hamming"
    metric: Metric = "l2"
    max_norm: float | None = None
    width: float | None = None
    recall: float | None = None
    num_cells: int = 0
    chosen: tuple[str, ...] = ()
    tuning: Tuning | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """Names of settings in force that were given."""
        shown = [name for name in self._shown() if name not in ("chosen", "tuning")]
        return tuple(name for name in shown if name not in self.chosen)

    def _shown(self) -> list[str]:
        """Names of settings that apply to the filter, the metric and the family."""
        tables, codes = ["num_tables", "hashes_per_table", "num_probes"], ["num_candidates", "rank"]
        cells = ["num_cells"]
        if self.filter == "buckets":
            other = codes + cells
        elif self.filter == "cells":
            other = ["num_tables", "hashes_per_table", "num_candidates"]
        else:
            other = tables + cells + (["num_candidates"] if self.rank == "estimate" else [])
        values = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [name for name, value in values if name not in other and value is not None]

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={getattr(self, name)!r}' for name in self._shown())})"


def check(given: Given) -> Metric:
    """Check what was given; the metric."""
    family = given.family
    if not isinstance(family, Family):
        raise bad_parameter("family", repr(family), "a family of nearkin.families, such as Hyperplane()")
    if family.kind == "features":
        raise bad_parameter("family", family.name, "a family of bits or keys; features have no buckets")
    if given.filter not in ("auto", "buckets", "codes", "cells"):
        raise bad_parameter("filter", repr(given.filter), '"auto", "buckets", "codes" or "cells"')
    if given.filter == "codes" and family.kind != "bits":
        raise bad_parameter("filter", '"codes"', f'"buckets": {family.name} gives integers, not bits')
    if given.rank not in ("hamming", "spherical", "estimate"):
        raise bad_parameter("rank", repr(given.rank), '"hamming", "spherical" or "estimate"')
    if given.rank == "estimate":
        _check_estimate(given)
    else:
        for name in ("recall", "num_cells"):
            if getattr(given, name) is not None:
                raise bad_parameter(name, getattr(given, name), f'None without rank="estimate"; it is {given.rank!r}')
        if given.filter == "cells":
            raise bad_parameter("filter", '"cells"', '"buckets" or "codes" without rank="estimate"')
    _check_counts(given)
    if given.rank == "spherical" and (given.filter == "buckets" or family.kind != "bits"):
        raise bad_parameter("rank", '"spherical"', '"hamming" for an index of buckets, which ranks no codes')
    metric = given.metric
    if metric is None:
        return _NATURAL[family.distance]
    if metric not in METRICS:
        raise bad_parameter("metric", repr(metric), '"l2", "l1", "cosine" or "inner_product"')
    if metric == "inner_product" and family.distance != "cosine":
        raise bad_parameter("metric", '"inner_product"', "it with a family of the cosine, such as Hyperplane()")
    return metric


def _check_estimate(given: Given) -> None:
    """Check what an index that ranks by estimates was given."""
    family = given.family
    if not (isinstance(family, Hyperplane) and family.is_structured):
        allowed = '"hamming", or "estimate" with the family Hyperplane(bits=None, orthogonal="hadamard") or "dense"'
        raise bad_parameter("rank", '"estimate"', allowed)
    if given.filter == "buckets":
        raise bad_parameter("filter", '"buckets"', '"codes" or "cells" with rank="estimate"')
    if given.num_candidates is not None:
        allowed = 'None with rank="estimate": how many are ranked follows from the bound; give recall='
        raise bad_parameter("num_candidates", given.num_candidates, allowed)
    for name in ("num_tables", "hashes_per_table", "max_norm"):
        if getattr(given, name) is not None:
            raise bad_parameter(name, getattr(given, name), 'None with rank="estimate"')
    if given.filter != "cells":
        for name in ("num_cells", "num_probes"):
            if getattr(given, name) is not None:
                raise bad_parameter(name, getattr(given, name), 'None without filter="cells"')
    if given.num_cells is not None:
        check_count("num_cells", given.num_cells, 1, 1 << 24, f"1 to {1 << 24}")
    if given.recall is not None:
        check_recall(given.recall)
    if given.metric == "l1":
        raise bad_parameter("metric", '"l1"', '"l2", "cosine" or "inner_product" with rank="estimate"')


def check_recall(recall: float) -> float:
    """What a bound may promise."""
    try:
        number = float(recall)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.5 <= number < 1:
        raise bad_parameter("recall", recall, "a number from 0.5 to below 1")
    return number


def _check_counts(given: Given) -> None:
    """Check that counts are within their ranges, and only those of the filter are given."""
    for name, most in (("num_tables", 1 << 14), ("hashes_per_table", 1 << 16), ("num_probes", 1 << 20)):
        value = getattr(given, name)
        if value is not None:
            check_count(name, value, 1, most, f"1 to {most}")
            if given.filter == "codes":
                raise bad_parameter(name, value, 'None with filter="codes", which has no tables')
    if given.num_candidates is not None:
        check_count("num_candidates", given.num_candidates, 1, 1 << 32, "1 or more")
        if given.filter == "buckets":
            raise bad_parameter("num_candidates", given.num_candidates, 'None with filter="buckets"')


def longest(given: Given, metric: Metric, rows: Rows) -> float | None:
    """The M of inner products, given or the norm of the longest row; None for other metrics."""
    norms = rows.norms()
    if metric != "inner_product" or given.rank == "estimate":
        return None
    if given.max_norm is None:
        length = float(norms.max()) or 1.0
        _warn_of_long(given, norms, length)
        return length
    try:
        number = float(given.max_norm)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise bad_parameter("max_norm", repr(given.max_norm), "a number above 0")
    _warn_of_long(given, norms, number)
    return number


def _warn_of_long(given: Given, norms: Floats, max_norm: float) -> None:
    """Warn where the largest norm is far above that of most rows, which then look alike to every query."""
    # Few rows are all ranked.
    if len(norms) <= _NUM_CANDIDATES:
        return
    middle = float(np.median(norms[norms > 0])) if norms.any() else max_norm
    if max_norm <= _FAR * middle or given.rank not in ("hamming", "spherical"):
        return
    name = "the longest vector has the norm" if given.max_norm is None else "max_norm is"
    above = int((norms > _FAR * middle).sum())
    warn_caller(
        f"{name} {short(max_norm, 6)}, {short(max_norm / middle)} times the median norm {short(middle, 6)}: "
        "hashes tell little of inner products of shorter vectors, and few of their neighbours are found; use "
        "rank='estimate', normalise vectors, or leave out those longer than "
        f"{_FAR:g} times the median ({above} of {len(norms)})",
        LongVectorsWarning,
    )


def _in_words(value: object) -> str:
    """A setting for a message: numbers to four digits."""
    return short(value, 4) if isinstance(value, float) else repr(value)


def warn_of_forgotten(before: Settings | None, now: Settings) -> None:
    """Warn where a fit replaces what `tune` chose."""
    if before is None or before.tuning is None:
        return
    tuned = [name for name in before.chosen if name not in ("metric", "max_norm")]
    pairs = [(name, getattr(before, name), getattr(now, name)) for name in tuned]
    changed = [
        f"{name}={_in_words(was)} becomes {_in_words(becomes)}" for name, was, becomes in pairs if was != becomes
    ]
    if changed:
        warn_caller(
            f"fit replaces what tune chose: {', '.join(changed)}; tune leaves the index fitted, so call tune alone, "
            "or give these settings to LSHIndex and the width to its family",
            ForgottenTuningWarning,
        )


def settle(given: Given, metric: Metric, max_norm: float | None, hashed: Hashed) -> Settings:
    """The settings: what was given, and values from the data for the rest."""
    n = hashed.shape[0]
    family = given.family
    if given.rank == "estimate":
        return of_estimates(given, metric, n)
    few = n * -(-family.num_hashes // 64) <= _SCAN_WORDS and family.num_hashes <= _CODES_BITS
    scan = family.kind == "bits" and not given.has_tables and few
    if given.filter == "codes" or (given.filter == "auto" and scan):
        if family.num_hashes > _CODES_BITS:
            raise bad_parameter("bits", family.num_hashes, f'1 to {_CODES_BITS} with filter="codes"')
        return of_codes(given, metric, max_norm, given.num_candidates or _NUM_CANDIDATES)
    if given.num_candidates is not None:
        raise bad_parameter("num_candidates", given.num_candidates, "None where tables are built")
    if given.rank != "hamming":
        raise bad_parameter("rank", repr(given.rank), '"hamming" where tables are built; filter="codes" scans codes')
    return of_tables(
        given,
        metric,
        max_norm,
        given.num_tables or _NUM_TABLES,
        given.hashes_per_table or _selective(family, hashed),
        given.num_probes or (_NUM_PROBES if family.alternatives_of(hashed.shape[1]) else 1),
    )


def of_codes(given: Given, metric: Metric, max_norm: float | None, num_candidates: int) -> Settings:
    """Settings of a scan of codes."""
    chosen = _chosen(given, metric, ("filter", "num_candidates"))
    return Settings(
        "codes", num_candidates=num_candidates, rank=given.rank, metric=metric, max_norm=max_norm, chosen=chosen
    )


def of_estimates(given: Given, metric: Metric, n: int) -> Settings:
    """Settings of rotation codes, of n rows."""
    recall = _RECALL if given.recall is None else check_recall(given.recall)
    cells = given.filter == "cells" or (given.filter == "auto" and n > _FLAT_ROWS and metric != "inner_product")
    if not cells:
        chosen = _chosen(given, metric, ("filter", "recall"))
        return Settings("codes", rank="estimate", metric=metric, recall=recall, chosen=chosen)
    num_cells = given.num_cells or _cells(n)
    num_probes = given.num_probes or max(16, num_cells // 16)
    return Settings(
        "cells",
        num_probes=num_probes,
        rank="estimate",
        metric=metric,
        recall=recall,
        num_cells=num_cells,
        chosen=_chosen(given, metric, ("filter", "num_probes", "recall", "num_cells")),
    )


def _cells(n: int) -> int:
    """Cells of n rows: n / 128 of few, n / 256 of a million and more."""
    return max(1, round(n / min(256, max(128, 128 * math.sqrt(math.sqrt(n / (1 << 16)))))))


def of_tables(
    given: Given, metric: Metric, max_norm: float | None, num_tables: int, hashes_per_table: int, num_probes: int
) -> Settings:
    """Settings of bucket tables."""
    chosen = _chosen(given, metric, ("filter", "num_tables", "hashes_per_table", "num_probes"))
    return Settings(
        "buckets", num_tables, hashes_per_table, num_probes, metric=metric, max_norm=max_norm, chosen=chosen
    )


def _chosen(given: Given, metric: Metric, names: tuple[str, ...]) -> tuple[str, ...]:
    """Which of these, and of metric, largest norm and width, were not given."""
    if metric == "inner_product":
        names = names if given.rank == "estimate" else (*names, "max_norm")
    open_names = [name for name in (*names, "metric") if getattr(given, name) in (None, "auto")]
    if getattr(given.family, "width", None) == "auto":
        open_names.append("width")
    return tuple(open_names)


def of_family(settings: Settings, family: Family) -> Settings:
    """The settings with the width of the fitted family."""
    width = getattr(family, "width_", None)
    return replace(settings, width=None if width is None else float(width))


def _selective(family: Family, hashed: Hashed) -> int:
    """The k for which about one random row shares a bucket: ln n / -ln p, p the share of equal hashes between
    rows.
    """
    n = hashed.shape[0]
    if n < 3:
        return 1
    rng = np.random.default_rng(family.seed)
    sample = hashed[np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))]
    values = family.resized(64).fit(hashed).hash_values(sample)
    # Neighbours in a random order are random pairs.
    values = values[rng.permutation(len(values))]
    equal = float(np.mean(values[1:] == values[:-1]))
    if equal >= 1:
        return 1
    most = 64 if family.kind == "bits" else 256
    return min(most, max(1, math.ceil(math.log(n) / -math.log(max(equal, 1e-9)))))


def check_probes(num_probes: int) -> int:
    """How many probes a query makes, or cells it visits."""
    return check_count("num_probes", num_probes, 1, 1 << 20, f"1 to {1 << 20}")


def with_effort(
    settings: Settings, num_probes: int | None, num_candidates: int | None, recall: float | None = None
) -> Settings:
    """The settings with other values for one call."""
    if num_probes is not None:
        if settings.filter == "codes":
            raise bad_parameter("num_probes", num_probes, "None for an index of codes")
        settings = replace(settings, num_probes=check_probes(num_probes))
    if num_candidates is not None:
        if settings.filter == "buckets":
            raise bad_parameter("num_candidates", num_candidates, "None for an index of buckets")
        if settings.rank == "estimate":
            raise bad_parameter("num_candidates", num_candidates, 'None with rank="estimate"; give recall=')
        settings = replace(
            settings, num_candidates=check_count("num_candidates", num_candidates, 1, 1 << 32, "1 or more")
        )
    if recall is not None:
        if settings.rank != "estimate":
            raise bad_parameter("recall", recall, 'None without rank="estimate"; give num_probes= or num_candidates=')
        settings = replace(settings, recall=check_recall(recall))
    return settings


def why(given: Given, settings: Settings, words: int) -> str:
    """The reason for the filter; `words` of 64 bits would be scanned."""
    if given.filter != "auto":
        return f'filter="{given.filter}" was given'
    if settings.rank == "estimate":
        if settings.filter == "cells":
            return f"more than {_FLAT_ROWS:,} rows, of which cells leave most out"
        if settings.metric == "inner_product":
            return (
                'for inner products all codes are scanned, whose recall is promised; filter="cells" visits the nearest'
            )
        return f"{_FLAT_ROWS:,} rows or fewer are scanned faster than cells are chosen"
    if settings.tuning is not None:
        return f"the shortest expected time of {settings.tuning.choices} choices that reach the recall"
    if settings.filter == "codes":
        return f"the family gives bits, and {words:,} words are scanned faster than enough tables are looked up"
    if given.family.kind != "bits":
        return "the family gives integers, which have no codes to scan"
    if given.has_tables:
        return "parameters of tables were given"
    return f"codes would have more than {_SCAN_WORDS:,} words, or more than {_CODES_BITS} bits"
