"""What an index of vectors does for a query: its parameters, checked, and what the data say about those left open."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from nearkin.errors import bad_parameter, check_count
from nearkin.families.base import Family
from nearkin.vectors.rows import Vectors

Index: TypeAlias = Any
"""An `LSHIndex`, whose module stands below this one."""
Metric: TypeAlias = Literal["l2", "l1", "cosine", "inner_product"]
Filter: TypeAlias = Literal["auto", "buckets", "codes"]
CodeRank: TypeAlias = Literal["hamming", "spherical"]

_METRICS = ("l2", "l1", "cosine", "inner_product")
_NATURAL: dict[str, Metric] = {"cosine": "cosine", "l2": "l2", "l1": "l1", "hamming": "l1", "kernel": "l2"}
"""The true distance that goes with what a family's hashes approximate."""
_SAMPLE = 1000
"""Rows whose hashes are compared to learn how often any two rows agree."""
_SCAN_WORDS = 1 << 22
"""Words of codes up to which `filter="auto"` scans them: about a millisecond per query."""
_CODES_BITS = 1024
"""Widest code that is scanned."""


@dataclass(frozen=True)
class Settings:
    """What an index does for a query, after `fit` has replaced what was left open.

    Attributes
    ----------
    filter : {"buckets", "codes"}
    num_tables, hashes_per_table, num_probes : int
        L, k and T; 0 for codes.
    num_candidates : int
        Rows with the nearest codes that are ranked; 0 for buckets.
    rank : {"hamming", "spherical"}
        What makes codes near.
    """

    filter: Literal["buckets", "codes"]
    num_tables: int = 0
    hashes_per_table: int = 0
    num_probes: int = 0
    num_candidates: int = 0
    rank: CodeRank = "hamming"


def check(index: Index) -> Metric:
    """Checks the parameters of an index; its metric."""
    if not isinstance(index.family, Family):
        raise bad_parameter("family", repr(index.family), "a family of nearkin.families, such as Hyperplane()")
    if index.family.kind == "features":
        raise bad_parameter("family", index.family.name, "a family of bits or keys; features have no buckets")
    if index.filter not in ("auto", "buckets", "codes"):
        raise bad_parameter("filter", repr(index.filter), '"auto", "buckets" or "codes"')
    if index.filter == "codes" and index.family.kind != "bits":
        raise bad_parameter("filter", '"codes"', f'"buckets": {index.family.name} gives integers, not bits')
    for name, most in (("num_tables", 1 << 14), ("hashes_per_table", 1 << 16), ("num_probes", 1 << 20)):
        value = getattr(index, name)
        if value is not None:
            check_count(name, value, 1, most, f"1 to {most}")
            if index.filter == "codes":
                raise bad_parameter(name, value, 'None with filter="codes", which has no tables')
    if index.num_candidates is not None:
        check_count("num_candidates", index.num_candidates, 1, 1 << 32, "1 or more")
        if index.filter == "buckets":
            raise bad_parameter("num_candidates", index.num_candidates, 'None with filter="buckets"')
    if index.rank not in ("hamming", "spherical"):
        raise bad_parameter("rank", repr(index.rank), '"hamming" or "spherical"')
    if index.rank == "spherical" and (index.filter == "buckets" or index.family.kind != "bits"):
        raise bad_parameter("rank", '"spherical"', '"hamming" for an index of buckets, which ranks no codes')
    metric: Metric | None = index.metric
    if metric is None:
        return _NATURAL[index.family.distance]
    if metric not in _METRICS:
        raise bad_parameter("metric", repr(metric), '"l2", "l1", "cosine" or "inner_product"')
    if metric == "inner_product" and index.family.distance != "cosine":
        raise bad_parameter("metric", '"inner_product"', "it with a family of the cosine, such as Hyperplane()")
    return metric


def settle(index: Index, hashed: Vectors) -> Settings:
    """The settings: what was given, and what the data say about the rest."""
    n = hashed.shape[0]
    family: Family = index.family
    tables_given = (index.num_tables, index.hashes_per_table, index.num_probes) != (None, None, None)
    few = n * -(-family.num_hashes // 64) <= _SCAN_WORDS and family.num_hashes <= _CODES_BITS
    scan = family.kind == "bits" and not tables_given and few
    if index.filter == "codes" or (index.filter == "auto" and scan):
        if family.num_hashes > _CODES_BITS:
            raise bad_parameter("bits", family.num_hashes, f'1 to {_CODES_BITS} with filter="codes"')
        return Settings("codes", num_candidates=index.num_candidates or 200, rank=index.rank)
    if index.num_candidates is not None:
        raise bad_parameter("num_candidates", index.num_candidates, "None where tables are built")
    if index.rank != "hamming":
        raise bad_parameter("rank", repr(index.rank), '"hamming" where tables are built; filter="codes" scans codes')
    return Settings(
        "buckets",
        index.num_tables or 16,
        index.hashes_per_table or _selective(index.family, hashed),
        index.num_probes or (16 if family.num_alternatives else 1),
    )


def _selective(family: Family, hashed: Vectors) -> int:
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


def with_effort(settings: Settings, num_probes: int | None, num_candidates: int | None) -> Settings:
    """The settings with other values for one call."""
    if num_probes is not None:
        if settings.filter == "codes":
            raise bad_parameter("num_probes", num_probes, "None for an index of codes")
        settings = replace(settings, num_probes=check_count("num_probes", num_probes, 1, 1 << 20, f"1 to {1 << 20}"))
    if num_candidates is not None:
        if settings.filter == "buckets":
            raise bad_parameter("num_candidates", num_candidates, "None for an index of buckets")
        settings = replace(
            settings, num_candidates=check_count("num_candidates", num_candidates, 1, 1 << 32, "1 or more")
        )
    return settings


def why(index: Index, filter: str) -> str:
    """The reason for the filter."""
    words = len(index) * -(-index.family_.num_hashes // 64)
    if index.filter != "auto":
        return f'filter="{index.filter}" was given'
    if filter == "codes":
        return f"the family gives bits, and {words:,} words are scanned faster than enough tables are looked up"
    if index.family.kind != "bits":
        return "the family gives integers, which have no codes to scan"
    if (index.num_tables, index.hashes_per_table, index.num_probes) != (None, None, None):
        return "parameters of tables were given"
    return f"codes would have more than {_SCAN_WORDS:,} words, or more than {_CODES_BITS} bits"
