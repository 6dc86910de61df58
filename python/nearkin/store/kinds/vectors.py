"""Stores of vectors: settings, candidates by the hashes of a family, verification by exact distances.

**Bits.** A code has b bits, each equal with probability p for vectors at the limit (the family's law). Candidates are
the codes within the Hamming radius R, the smallest with

    P[Bin(b, 1 - p) <= R] = Σ_{i <= R} C(b, i) (1 - p)^i p^(b - i)  >=  recall

The search returns all of them. With recall 1, R is b and every vector is compared. The bits of a family are
independent, except for `Hyperplane(orthogonal=True)`, whose distances vary less.

**Keys.** H keys form L tables of k keys. Candidates share all keys of a table, with probability 1 - (1 - p^k)^L. k is
the largest number for which L = H // k tables reach the recall.

Whether two vectors are candidates depends on these two alone, and not on other vectors or on segments. Distances are
sums of `float64` in the fixed order of `nearkin.vectors`, computed from vectors stored as `float32`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin import theory
from nearkin._core import byte_hashes, exact_values
from nearkin.dedup.candidates import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    CandidateSource,
    ListedBatch,
    OrderedValues,
    Ordinals,
    Values,
)
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.files import no_texts
from nearkin.dedup.summary import FamilySummary
from nearkin.errors import (
    CorruptStoreError,
    FormatVersionError,
    NearkinError,
    NotFittedError,
    bad_parameter,
    check_number,
    check_share,
    input_error,
)
from nearkin.families.base import Family, family_from_description, load
from nearkin.index.bands import BandIndex
from nearkin.index.hamming import HammingIndex
from nearkin.io import Column
from nearkin.progress import Progress, ignore_progress
from nearkin.store.kinds.base import (
    FAMILY_FILE,
    VERSION,
    CandidateRows,
    Kind,
    RowIndex,
    StoreConfig,
    WithoutTexts,
    corrupt_file,
    encode_settings,
    kind_error,
)
from nearkin.store.kinds.texts import skipped_comparisons
from nearkin.vectors.arrays import Rows, as_rows

VectorMetric: TypeAlias = Literal["cosine", "l2", "l1"]

"""The hash functions of a store of vectors."""
RECALL = 0.95
"""Default probability that a pair at the limit is a candidate."""
MAX_DIMENSION = 1 << 16
MAX_BITS = 1024
"""Widest code of an index."""
MAX_TABLES = 512
_MAX_NUMBERS = 1 << 24
"""Numbers of stored vectors that are read at a time to verify candidates: 64 MB."""
_FAMILIES = ("hyperplane", "bit_sampling", "shift_invariant", "pstable", "cross_polytope")
"""Families with a law of the cosine or a distance of vectors."""
_METRICS: dict[str, VectorMetric] = {"cosine": "cosine", "l2": "l2", "l1": "l1", "hamming": "l1"}


def choose_radius(bits: int, p: float, recall: float) -> tuple[int, float]:
    """Return the smallest Hamming radius that reaches a recall if a bit is equal with probability p, and its recall."""
    radius = theory.codes_radius(1 - p, bits, recall)
    return radius, theory.codes_recall(1 - p, bits, radius)


def choose_tables(hashes: int, p: float, recall: float) -> tuple[int, int, float]:
    """Return number of tables, keys per table and recall of the most selective tables that reach a recall.

    Raises
    ------
    ParameterError
        No tables reach it.
    """
    for k in range(hashes, 0, -1):
        tables = min(hashes // k, MAX_TABLES)
        reached = float(theory.amplify(p, k, tables))
        if reached >= recall:
            return tables, k, reached
    best = float(theory.amplify(p, 1, min(hashes, MAX_TABLES)))
    allowed = (
        f"up to {best:.3g} with {hashes} hashes, which are equal with probability {p:.3g} at the limit; or more hashes"
    )
    raise bad_parameter("recall", recall, allowed)


@dataclass(frozen=True, eq=False)
class VectorSettings(WithoutTexts):
    """Settings of a store of vectors.

    Parameters
    ----------
    family : Family
        Fitted hash functions, of bits or keys.
    limit : float
        Smallest cosine of a match for a family of the cosine, otherwise the largest distance. Inclusive.
    recall : float
        Required probability that a pair at the limit is found.
    shape : tuple of int, optional
        The Hamming radius of codes; or the number of tables and keys per table. None chooses it.

    Raises
    ------
    ParameterError
        A family without a law, or with the law of another metric; values out of range; a recall that the family's
        functions cannot reach.
    NotFittedError
        The family is not fitted.
    """

    family: Family
    limit: float
    recall: float = RECALL
    shape: tuple[int, ...] | None = None
    source: VectorSource = field(init=False, repr=False)
    expected_recall: float = field(init=False)
    kind: ClassVar[str] = "vector"
    distance_type: ClassVar[type] = np.float64
    radius: ClassVar[None] = None
    verify: ClassVar[str] = "distance"

    def __post_init__(self) -> None:
        metric = _check_family(self.family)
        _check_limit(metric, self.limit)
        check_share("recall", self.recall, "a probability above 0 and up to 1", lambda share: 0 < share <= 1)
        p = float(self.family.collision_probability(float(self.limit)))
        hashes = self.family.num_hashes
        shape, reached = self.shape, 0.0
        if self.family.kind == "bits":
            radius, reached = choose_radius(hashes, p, self.recall)
            shape = (radius,) if shape is None else shape
        else:
            tables, keys, reached = choose_tables(hashes, p, self.recall)
            shape = (tables, keys) if shape is None else shape
        object.__setattr__(self, "limit", float(self.limit))
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "expected_recall", reached)
        object.__setattr__(self, "source", VectorSource(self.family, metric, self.limit, shape))

    @classmethod
    def from_config(cls, family: Family, config: StoreConfig) -> VectorSettings:
        """Build settings from a caller's arguments."""
        if config.verify is not None:
            found = repr(config.verify)
            raise bad_parameter("verify", found, "None with a family of vectors, which are compared themselves")
        limit, other, names = config.threshold, config.radius, ("radius", "threshold, a cosine")
        if family.distance != "cosine":
            limit, other, names = config.radius, config.threshold, ("threshold", "radius, a distance")
        if other is not None:
            raise bad_parameter(names[0], repr(other), f"{names[1]}, with the family {family.name}")
        return cls(family, limit, RECALL if config.recall is None else config.recall)  # type: ignore[arg-type]  # Checked.

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
        """How candidates are verified, in words."""
        names = {"cosine": "the cosine", "l2": "the Euclidean distance", "l1": "the Manhattan distance"}
        return f"{names[self.source.metric]} of the vectors"

    def hash(self, items: Any, kind: Kind | None, report: Progress = ignore_progress) -> HashedDocuments:
        """Return vectors as float32 with the hashes of their bytes.

        Raises
        ------
        InputError
            NaN, infinite values, zero vectors with the cosine, or vectors that the family cannot hash.
        MismatchError
            Another dimension.
        """
        values, norms = read_vectors(items, kind, self.family.dimension_)
        if self.source.metric == "cosine" and not norms.all():
            place = f"row {int(np.argmin(norms != 0))}"
            raise input_error(place, "is a vector of zeros in float32, which has no direction; leave it out")
        self.source.codes(values)
        n, d = values.shape
        contents = byte_hashes(values.view(np.uint8).reshape(-1), 4 * d).reshape(-1, 2)[:, ::-1].copy()
        sizes = np.full(n, d, np.uint64)
        return HashedDocuments(values, np.ones(n, np.uint64), contents, sizes, Column.of([]), {}, no_texts)

    def skipped_message(self, skipped: int) -> str:
        """Return the warning about skipped comparisons."""
        return skipped_comparisons(skipped)

    # Values and index

    @property
    def value_shape(self) -> tuple[np.dtype[np.generic], int]:
        """The vector in float32."""
        return np.dtype("<f4"), self.source.dimension

    def new_index(self) -> VectorStoreIndex:
        """Return an empty index in memory."""
        return VectorStoreIndex.empty(self.source)

    def open_index(self, path: Path) -> VectorStoreIndex:
        """Open the index of a segment."""
        return VectorStoreIndex.open(self.source, path)

    # Serialisation

    def to_dict(self) -> dict[str, Any]:
        """Return all settings by name."""
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
        """Return all settings as JSON with sorted keys."""
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
        return encode_settings(settings)

    @classmethod
    def from_json(cls, settings: dict[str, Any], place: str) -> VectorSettings:
        """Read settings from their JSON form, and the family from its file in the same folder.

        Raises
        ------
        CorruptStoreError
            The file of the family is missing or damaged, or belongs to another family.
        """
        path = Path(place).parent / FAMILY_FILE
        try:
            family = load(path)
        except FileNotFoundError:
            reason = "the hash functions are missing; repair the store, or restore it from a backup"
            raise corrupt_file(path, reason) from None
        if family.digest != settings["family_digest"]:
            raise corrupt_file(path, f"its family has the digest {family.digest} and not {settings['family_digest']}")
        return cls(family, settings["limit"], settings["recall"], tuple(settings["shape"]))

    def save_files(self, folder: Path) -> None:
        """Write the hash functions into a new store."""
        self.family.save(folder / FAMILY_FILE)


def read_vectors(items: Any, kind: Kind | None, dimension: int | None) -> tuple[Values, Values]:
    """Return vectors as float32, and their norms.

    Raises
    ------
    InputError
        NaN, or values that are infinite in double or in single precision.
    MismatchError
        Another dimension.
    """
    if kind not in (None, "vectors"):
        raise kind_error(kind, ("vectors",), "vector")
    rows = as_rows(items, dimension=dimension)
    # The norms are computed for their checks.
    rows.norms()
    # Adding 0 turns -0 into 0, so that equal vectors have equal bytes.
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(rows.dense(), np.float32) + np.float32(0)
    return values, Rows(values, None).norms()


def repair_family(settings: dict[str, Any], place: str) -> CorruptStoreError | None:
    """Rebuild damaged hash functions that depend on their seed alone; return the damage, or None if there is none.

    Raises
    ------
    CorruptStoreError
        The functions were learned from vectors.
    """
    try:
        VectorSettings.from_json(settings, place)
    except (CorruptStoreError, FormatVersionError) as damage:
        try:
            family = family_from_description(settings["family"]).fit(np.ones((1, settings["dimension"])))
        except NearkinError:
            raise damage from None
        if family.digest != settings["family_digest"]:
            raise
        path = Path(place).parent / FAMILY_FILE
        family.save(path)
        return CorruptStoreError(str(damage), place=str(path), reason=str(damage))
    return None


def _check_family(family: Family) -> VectorMetric:
    """Return the metric of a family's law, by which vectors are compared."""
    if family.name not in _FAMILIES:
        raise bad_parameter("recipe", str(family), f"a family whose law gives the recall: {', '.join(_FAMILIES)}")
    for name in ("center", "u_functions", "last_dims"):
        if getattr(family, name, None):
            raise bad_parameter(name, getattr(family, name), "a family without it, whose law is that of the distance")
    if not hasattr(family, "dimension_"):
        name = type(family).__name__
        raise NotFittedError(f"this {name} is not fitted; call fit(X) with some vectors first", family=family.name)
    if family.dimension_ > MAX_DIMENSION:
        raise bad_parameter("dimension", family.dimension_, f"vectors of up to {MAX_DIMENSION:,} numbers")
    if family.kind == "bits" and family.num_hashes > MAX_BITS:
        raise bad_parameter("bits", family.num_hashes, f"1 to {MAX_BITS:,} in a store")
    return _METRICS[family.distance]


def _check_limit(metric: VectorMetric, limit: object) -> None:
    if metric == "cosine":
        check_number("threshold", limit, "a cosine above -1 and up to 1", lambda cosine: -1 < cosine <= 1)
    else:
        check_number("radius", limit, "a distance, 0 or more", lambda distance: distance >= 0)


class VectorSource:
    """A fitted family with the limit of a store: the `CandidateSource` of vectors.

    Parameters
    ----------
    family : Family
        Fitted, of bits or keys.
    metric : {"cosine", "l2", "l1"}
    limit : float
        Smallest cosine or largest distance of a match, inclusive.
    shape : tuple of int
        The Hamming radius of codes; or the number of tables and keys per table.
    """

    equal: ClassVar[float] = 1.0

    def __init__(self, family: Family, metric: VectorMetric, limit: float, shape: tuple[int, ...]) -> None:
        self.family, self.metric, self.limit, self.shape = family, metric, limit, shape
        self.dimension = family.dimension_
        # Copies of a vector have the largest cosine; a distance is not a similarity.
        self.equal = 1.0 if metric == "cosine" else math.nan  # type: ignore[misc]  # It depends on the metric.
        self._last: tuple[Values, Values] | None = None

    def codes(self, vectors: Values) -> Values:
        """Return codes, `(n, words)`, or one number for the keys of each table, `(n, tables)`."""
        if self._last is not None and self._last[0] is vectors:
            return self._last[1]
        tables, is_bits = self.shape[0], self.family.kind == "bits"
        if not len(vectors):
            return np.zeros((0, -(-self.family.num_hashes // 64) if is_bits else tables), np.uint64)
        hashes: Any = self.family.transform(vectors)
        if is_bits:
            codes = np.asarray(hashes, np.uint64).reshape(len(vectors), -1)
        else:
            keys = self.shape[1]
            used = np.ascontiguousarray(hashes[:, : tables * keys], np.int64)
            codes = byte_hashes(used.view(np.uint8).reshape(-1), 8 * keys)[::2].reshape(len(vectors), tables)
        self._last = (vectors, codes)
        return codes

    def measure(self, x: Values, a: Values, rows: Ordinals, columns: Ordinals) -> NDArray[np.float64]:
        """Return the cosines, or distances, between rows of `x` and rows of `a`."""
        if not len(rows):
            return np.zeros(0)
        if self.metric == "l1":
            parts = [np.zeros(0)]
            step = max(1, _MAX_NUMBERS // self.dimension // 4)
            for start in range(0, len(rows), step):
                chunk = slice(start, start + step)
                parts.append(np.abs(x[rows[chunk]].astype(np.float64) - a[columns[chunk]]).sum(axis=1))
            return np.concatenate(parts)
        rows, columns = np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(columns, np.int64)
        values: NDArray[np.float64] = exact_values(x, a, rows, columns, self.metric == "l2")
        if self.metric == "l2":
            return np.sqrt(values)
        squares = [exact_values(v, v, np.arange(len(v)), np.arange(len(v)), False) for v in (x, a)]
        # The root of the product, so that a vector has a cosine of exactly 1 with itself.
        return np.clip(values / np.sqrt(squares[0][rows] * squares[1][columns]), -1.0, 1.0)

    def is_match(self, measures: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return True for each cosine or distance within the limit."""
        return measures >= self.limit if self.metric == "cosine" else measures <= self.limit

    def confirm(self, values: Values, lists: CandidateLists, stored: Callable[[Ordinals], Values]) -> CandidateLists:
        """Return the candidates whose vectors are within the limit."""
        queries, rows = lists.owners(), lists.ordinals
        good, similarity = np.zeros(len(rows), bool), np.full(len(rows), np.nan)
        step = max(1, _MAX_NUMBERS // self.dimension)
        for start in range(0, len(rows), step):
            chunk = slice(start, start + step)
            distinct, inverse = np.unique(rows[chunk], return_inverse=True)
            measures = self.measure(values, stored(distinct), queries[chunk], inverse.reshape(-1))
            good[chunk] = self.is_match(measures)
            if self.metric == "cosine":
                similarity[chunk] = measures
        return CandidateLists(lists.offsets, rows, similarity).select(good)

    # CandidateSource

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over vectors."""
        return VectorSearch(self, OrderedValues.of(values))

    def distances(self, left: Values, right: Values) -> NDArray[Any]:
        """Return the distances between the rows of two arrays: 1 - cosine, L2 or L1; float64."""
        rows = np.arange(len(left))
        measures = self.measure(left, right, rows, rows)
        return 1 - measures if self.metric == "cosine" else measures

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return cosines, or NaN for families of a distance."""
        if self.metric != "cosine":
            return np.full(len(left), np.nan)
        return self.measure(left, right, np.arange(len(left)), np.arange(len(left)))

    def summary(self) -> FamilySummary:
        """Return an empty summary: `search_settings` has all."""
        return {}

    def search_settings(self) -> dict[str, int]:
        """Return the parameters of the candidate search."""
        if self.family.kind == "bits":
            return {"code_radius": self.shape[0]}
        return {"num_tables": self.shape[0], "hashes_per_table": self.shape[1]}


class VectorSearch:
    """Search among vectors by position, with an index of those that were added."""

    def __init__(self, source: VectorSource, values: OrderedValues) -> None:
        self._source, self._values = source, values
        self._index = VectorStoreIndex.empty(source)
        self._added: list[Ordinals] = []

    def __len__(self) -> int:
        return len(self._index)

    def add(self, positions: Ordinals) -> None:
        """Add the vectors at these positions to the index."""
        self._index.add(positions, self._values[positions])
        self._added.append(positions)

    def find(self, values: Values) -> CandidateLists:
        """Return all candidates within the limit."""
        queries, positions = self._index.search(values)[:2]
        lists = CandidateLists.of_pairs(queries, positions, len(values))
        return self._source.confirm(values, lists, lambda stored: self._values[stored])

    def within(self, positions: Ordinals) -> CandidateBatch:
        """Return the matches among these vectors alone."""
        return ListedBatch.of(self._pairs(positions))

    def pairs(self) -> CandidatePairs:
        """Return all pairs among the added vectors."""
        positions = np.concatenate([np.zeros(0, np.int64), *self._added])
        pairs = self._pairs(positions)
        return CandidatePairs(positions[pairs.left], positions[pairs.right], pairs.similarity)

    def _pairs(self, positions: Ordinals) -> CandidatePairs:
        """Return matching pairs as indices into `positions`, the smaller index left."""
        values = self._values[positions]
        index = VectorStoreIndex.empty(self._source)
        index.add(np.arange(len(positions)), values)
        queries, hits = index.search(values)[:2]
        later = hits > queries
        lists = CandidateLists.of_pairs(queries[later], hits[later], len(positions))
        matches = self._source.confirm(values, lists, lambda stored: values[stored])
        return CandidatePairs(matches.owners(), matches.ordinals, matches.similarity)


class VectorStoreIndex(RowIndex["HammingIndex | BandIndex"]):
    """Codes within the radius, or keys that share a table; ids are rows."""

    def __init__(self, source: VectorSource, index: HammingIndex | BandIndex) -> None:
        super().__init__(index)
        self._source = source

    @classmethod
    def empty(cls, source: VectorSource) -> VectorStoreIndex:
        """Return an empty index in memory."""
        if source.family.kind == "bits":
            return cls(source, HammingIndex(source.family.num_hashes, radius=source.shape[0]))
        tables = source.shape[0]
        return cls(source, BandIndex(tables, 0.0, num_bands=tables, num_rows=1, value_bits=64))

    @classmethod
    def open(cls, source: VectorSource, path: Path) -> VectorStoreIndex:
        """Open the index of a segment.

        Raises
        ------
        CorruptStoreError
            Its codes or tables differ from those of the store.
        """
        index: HammingIndex | BandIndex
        actual: tuple[int, ...]
        if source.family.kind == "bits":
            index = HammingIndex.open(path)
            actual, expected = (index.bits,), (source.family.num_hashes,)
        else:
            index = BandIndex.open(path)
            actual, expected = (index.num_bands, index.num_rows), (source.shape[0], 1)  # type: ignore[assignment]
        if actual != expected:
            raise corrupt_file(path, f"its codes or tables are of {actual} and not of {expected}; repair the store")
        return cls(source, index)

    def add(self, rows: Ordinals, values: Values) -> None:
        """Add vectors, `(n, d)`."""
        self._index.add(rows, self._index_values(values))

    def search(self, values: Values, source: CandidateSource | None = None) -> CandidateRows:
        """Return candidates, which are not verified."""
        limit = self._source.shape[0] if isinstance(self._index, HammingIndex) else 0
        hits = self._index.search(self._index_values(values), limit)
        queries = np.repeat(np.arange(len(values)), np.diff(hits.offsets))
        return CandidateRows(queries, np.asarray(hits.ids, np.int64))

    def _index_values(self, values: Values) -> Values:
        return super()._index_values(self._source.codes(values))
