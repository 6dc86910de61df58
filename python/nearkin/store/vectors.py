"""A store of vectors: what it is made for, and the file of its hash functions.

A family is random: a pair at the limit is found with the recall that its law gives, nearer pairs more often. Every
match is verified by the exact distance of vectors, which are kept as `float32`. Candidates: `vector_search`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nearkin._core import byte_hashes
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.files import no_texts
from nearkin.dedup.stages import Featureless
from nearkin.errors import (
    CorruptStoreError,
    FormatVersionError,
    InputError,
    NearkinError,
    NotFittedError,
    bad_parameter,
)
from nearkin.families.base import Family, load, unfitted
from nearkin.io import Column
from nearkin.progress import Progress, unreported
from nearkin.store.settings import FAMILY_FILE, VERSION, Kind, TextRule, comparisons_left_out
from nearkin.store.vector_search import MOST_BITS, VectorMetric, VectorSource, largest_tables, smallest_radius
from nearkin.vectors.rows import Rows, as_rows

RECALL = 0.95
"""Probability that a pair at the limit is a candidate when the caller says nothing."""
MOST_NUMBERS = 1 << 16
"""Largest dimension of vectors."""
_FAMILIES = ("hyperplane", "bit_sampling", "shift_invariant", "pstable", "cross_polytope")
"""Families with a law of the cosine or a distance of vectors."""
_METRICS: dict[str, VectorMetric] = {"cosine": "cosine", "l2": "l2", "l1": "l1", "hamming": "l1"}


@dataclass(frozen=True, eq=False)
class VectorSettings:
    """What a store of vectors is made for.

    Parameters
    ----------
    family : Family
        Fitted hash functions, of bits or keys.
    limit : float
        Smallest cosine of a match, for a family of the cosine; else the largest distance. Inclusive.
    recall : float
        Wanted probability that a pair at the limit is found.
    shape : tuple of int, optional
        The Hamming radius of codes; or tables, and keys of each. None chooses it.

    Raises
    ------
    ParameterError
        A family without a law, or with another one than that of the metric; values out of range; a recall that the
        family's functions can't reach.
    NotFittedError
        The family is not fitted.
    """

    family: Family
    limit: float
    recall: float = RECALL
    shape: tuple[int, ...] | None = None
    source: VectorSource = field(init=False, repr=False)
    expected_recall: float = field(init=False)
    noun: ClassVar[str] = "vector"
    distance_type: ClassVar[type] = np.float64
    text: ClassVar[TextRule] = "none"
    verify: ClassVar[str] = "distance"
    comparison: ClassVar[None] = None
    differ: ClassVar[tuple[str, ...]] = ()
    featureless: ClassVar[Featureless] = "keep"
    radius: ClassVar[None] = None
    needs_texts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        metric = _metric(self.family)
        _check_limit(metric, self.limit)
        number = isinstance(self.recall, (int, float)) and not isinstance(self.recall, bool)
        if not number or not 0 < self.recall <= 1:
            raise bad_parameter("recall", repr(self.recall), "a probability above 0 and up to 1")
        p = float(self.family.collision_probability(float(self.limit)))
        hashes = self.family.num_hashes
        shape, reached = self.shape, 0.0
        if self.family.kind == "bits":
            radius, reached = smallest_radius(hashes, p, self.recall)
            shape = (radius,) if shape is None else shape
        else:
            tables, keys, reached = largest_tables(hashes, p, self.recall)
            shape = (tables, keys) if shape is None else shape
        object.__setattr__(self, "limit", float(self.limit))
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "expected_recall", reached)
        object.__setattr__(self, "source", VectorSource(self.family, metric, self.limit, shape))

    @property
    def recipe(self) -> Family:
        """The hash functions."""
        return self.family

    @property
    def threshold(self) -> float:
        """The limit."""
        return self.limit

    @property
    def verified_by(self) -> str:
        """In words."""
        names = {"cosine": "the cosine", "l2": "the Euclidean distance", "l1": "the Manhattan distance"}
        return f"{names[self.source.metric]} of the vectors"

    def hash(self, items: Any, kind: Kind | None, report: Progress = unreported) -> HashedDocuments:
        """Vectors as float32, and the hashes of their bytes.

        Raises
        ------
        InputError
            NaN, infinite values, vectors of zeros where angles count, or what the family can't hash.
        MismatchError
            Another dimension.
        """
        if kind not in (None, "vectors"):
            raise bad_parameter("kind", repr(kind), '"vectors" or None for a store of vectors')
        rows = as_rows(items, dimension=self.family.dimension_)
        rows.norms()
        # Adding 0 turns -0 into 0, so that equal vectors have equal bytes.
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(rows.dense(), np.float32) + np.float32(0)
        norms = Rows(values, None).norms()
        if self.source.metric == "cosine" and not norms.all():
            place = f"row {int(np.argmin(norms != 0))}"
            reason = "is a vector of zeros in float32, which has no direction; leave it out"
            raise InputError(f"{place}: {reason}", place=place, reason=reason)
        self.source.codes(values)
        n, d = values.shape
        contents = byte_hashes(values.view(np.uint8).reshape(-1), 4 * d).reshape(-1, 2)[:, ::-1].copy()
        sizes = np.full(n, d, np.uint64)
        return HashedDocuments(values, np.ones(n, np.uint64), contents, sizes, Column.of([]), {}, no_texts)

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Nothing: vectors are compared themselves."""

    def tell_skipped(self, skipped: int) -> str:
        """That comparisons were left out."""
        return comparisons_left_out(skipped)

    def about(self) -> dict[str, Any]:
        """All settings by name."""
        limit = "threshold" if self.source.metric == "cosine" else "radius"
        return {
            "family": str(self.family),
            "family_digest": self.family.digest,
            "dimension": self.family.dimension_,
            "metric": self.source.metric,
            limit: self.limit,
            "recall": self.recall,
            "expected_recall": self.expected_recall,
            "verify": self.verify,
            **self.source.search_settings(),
        }

    def to_json(self) -> str:
        """All settings, as JSON with sorted keys."""
        settings = {
            "version": VERSION,
            "kind": "vectors",
            "family": self.family.description(),
            "family_digest": self.family.digest,
            "dimension": self.family.dimension_,
            "limit": self.limit,
            "recall": self.recall,
            "shape": self.shape,
        }
        return json.dumps(settings, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of_json(cls, found: dict[str, Any], place: str) -> VectorSettings:
        """The settings of a JSON form, with the family of the file beside it.

        Raises
        ------
        CorruptStoreError
            The file of the family is missing, damaged, or another one.
        """
        path = Path(place).parent / FAMILY_FILE
        try:
            family = load(path)
        except FileNotFoundError:
            reason = "the hash functions are not there; repair the store, or restore it from a backup"
            raise CorruptStoreError(f"{path}: {reason}", place=str(path), reason=reason) from None
        if family.digest != found["family_digest"]:
            reason = f"its family has the digest {family.digest} and not {found['family_digest']}"
            raise CorruptStoreError(f"{path}: {reason}", place=str(path), reason=reason)
        return cls(family, found["limit"], found["recall"], tuple(found["shape"]))

    def save_files(self, folder: Path) -> None:
        """Write the hash functions into a new store."""
        self.family.save(folder / FAMILY_FILE)


def mend_family(found: dict[str, Any], place: str) -> CorruptStoreError | None:
    """Write damaged hash functions again that follow from their seed alone; the damage, None if there is none.

    Raises
    ------
    CorruptStoreError
        They were learned from vectors.
    """
    try:
        VectorSettings.of_json(found, place)
    except (CorruptStoreError, FormatVersionError) as damage:
        try:
            family = unfitted(found["family"]).fit(np.ones((1, found["dimension"])))
        except NearkinError:
            raise damage from None
        if family.digest != found["family_digest"]:
            raise
        path = Path(place).parent / FAMILY_FILE
        family.save(path)
        return CorruptStoreError(str(damage), place=str(path), reason=str(damage))
    return None


def _metric(family: Family) -> VectorMetric:
    """What a family's law is of, and what vectors are compared by."""
    if family.name not in _FAMILIES:
        raise bad_parameter("recipe", str(family), f"a family whose law gives the recall: {', '.join(_FAMILIES)}")
    for name in ("center", "u_functions", "last_dims"):
        if getattr(family, name, None):
            raise bad_parameter(name, getattr(family, name), "a family without it, whose law is that of the distance")
    if not hasattr(family, "dimension_"):
        name = type(family).__name__
        raise NotFittedError(f"this {name} is not fitted; call fit(X) with some vectors first", family=family.name)
    if family.dimension_ > MOST_NUMBERS:
        raise bad_parameter("dimension", family.dimension_, f"vectors of up to {MOST_NUMBERS:,} numbers")
    if family.kind == "bits" and family.num_hashes > MOST_BITS:
        raise bad_parameter("bits", family.num_hashes, f"1 to {MOST_BITS:,} in a store")
    return _METRICS[family.distance]


def _check_limit(metric: VectorMetric, limit: object) -> None:
    number = isinstance(limit, (int, float, np.number)) and not isinstance(limit, bool)
    if metric == "cosine" and not (number and -1 < float(limit) <= 1):  # type: ignore[arg-type]
        raise bad_parameter("threshold", repr(limit), "a cosine above -1 and up to 1")
    if metric != "cosine" and not (number and 0 <= float(limit) < np.inf):  # type: ignore[arg-type]
        raise bad_parameter("radius", repr(limit), "a distance, 0 or more")
