"""How a store of vectors finds candidates by the hashes of a family, and verifies them by exact distances.

**Bits.** A code has b bits, each equal with probability p(s) for vectors at the limit s (the family's law). Candidates
are the codes within the Hamming radius R, the smallest with

    P[Bin(b, 1 - p) <= R] = Σ_{i <= R} C(b, i) (1 - p)^i p^(b - i)  >=  recall

All of them are found. With recall 1 R is b: every vector is compared. The bits of a family are independent, but for
`Hyperplane(orthogonal=True)`, whose distances vary less.

**Keys.** H keys make L tables of k; candidates share all keys of a table, with probability 1 - (1 - p^k)^L. k is the
largest for which L = H // k tables reach the recall.

Whether two vectors are candidates thus depends on them alone, not on what else is there, nor on segments. Distances are
sums of `float64` in the fixed order of `nearkin.vectors`, of vectors kept as `float32`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
    OlderIndex,
    PlacedValues,
    Places,
    Values,
)
from nearkin.dedup.candidates.base import offsets_of
from nearkin.dedup.summary import Summary
from nearkin.errors import CorruptStoreError, bad_parameter
from nearkin.families.base import Family
from nearkin.index.bands import BandIndex
from nearkin.index.hamming import HammingIndex
from nearkin.store.indexes import Found, RowIndex, VerifiedFamily

VectorMetric: TypeAlias = Literal["cosine", "l2", "l1"]

MOST_BITS = 1024
"""Widest code of an index."""
MOST_TABLES = 512
"""Tables of keys."""
_NUMBERS = 1 << 24
"""Numbers of stored vectors that are read at once to verify candidates: 64 MB."""


def smallest_radius(bits: int, p: float, recall: float) -> tuple[int, float]:
    """The least Hamming radius that reaches a recall at a probability p of equal bits, and the recall it has."""
    radius = theory.codes_radius(1 - p, bits, recall)
    return radius, theory.codes_recall(1 - p, bits, radius)


def largest_tables(hashes: int, p: float, recall: float) -> tuple[int, int, float]:
    """Tables, keys of each and recall of the most selective tables of these hashes that reach a recall.

    Raises
    ------
    ParameterError
        None do.
    """
    for k in range(hashes, 0, -1):
        tables = min(hashes // k, MOST_TABLES)
        reached = float(theory.amplify(p, k, tables))
        if reached >= recall:
            return tables, k, reached
    best = float(theory.amplify(p, 1, min(hashes, MOST_TABLES)))
    allowed = (
        f"up to {best:.3g} with {hashes} hashes, which are equal with probability {p:.3g} at the limit; or more hashes"
    )
    raise bad_parameter("recall", recall, allowed)


class VectorSource:
    """A fitted family with the limit of a store.

    Parameters
    ----------
    family : Family
        Fitted, of bits or keys.
    metric : {"cosine", "l2", "l1"}
    limit : float
        Smallest cosine or largest distance of a match, inclusive.
    shape : tuple of int
        The Hamming radius of codes; or tables, and keys of each.
    """

    equal: ClassVar[float] = 1.0

    def __init__(self, family: Family, metric: VectorMetric, limit: float, shape: tuple[int, ...]) -> None:
        self.family, self.metric, self.limit, self.shape = family, metric, limit, shape
        self.dimension = family.dimension_
        # The copies of a vector have the largest cosine; a distance is no similarity.
        self.equal = 1.0 if metric == "cosine" else math.nan  # type: ignore[misc]  # It depends on the metric.
        self._last: tuple[Values, Values] | None = None

    def codes(self, vectors: Values) -> Values:
        """Codes, `(n, words)`, or one number for the keys of each table, `(n, tables)`."""
        last = self._last
        if last is not None and last[0] is vectors:
            return last[1]
        found: Any = self.family.transform(vectors) if len(vectors) else np.zeros((0, 1), np.int64)
        if self.family.kind == "bits":
            words = -(-self.family.num_hashes // 64)
            codes = (
                np.asarray(found, np.uint64).reshape(len(vectors), -1) if len(vectors) else np.zeros((0, words), "u8")
            )
        else:
            tables, keys = self.shape
            used = np.ascontiguousarray(found[:, : tables * keys], np.int64)
            codes = byte_hashes(used.view(np.uint8).reshape(-1), 8 * keys)[::2].reshape(len(vectors), tables)
        self._last = (vectors, codes)
        return codes

    def measured(self, x: Values, a: Values, rows: Places, columns: Places) -> NDArray[np.float64]:
        """Cosines, or distances, of rows of x with rows of a."""
        if not len(rows):
            return np.zeros(0)
        if self.metric == "l1":
            parts = [np.zeros(0)]
            step = max(1, _NUMBERS // self.dimension // 4)
            for start in range(0, len(rows), step):
                some = slice(start, start + step)
                parts.append(np.abs(x[rows[some]].astype(np.float64) - a[columns[some]]).sum(axis=1))
            return np.concatenate(parts)
        rows, columns = np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(columns, np.int64)
        values: NDArray[np.float64] = exact_values(x, a, rows, columns, self.metric == "l2")
        if self.metric == "l2":
            return np.sqrt(values)
        squares = [exact_values(one, one, np.arange(len(one)), np.arange(len(one)), False) for one in (x, a)]
        # The root of the product: a vector has a cosine of exactly 1 with itself.
        return np.clip(values / np.sqrt(squares[0][rows] * squares[1][columns]), -1.0, 1.0)

    def is_match(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which cosines or distances are within the limit."""
        return measured >= self.limit if self.metric == "cosine" else measured <= self.limit

    def confirm(self, values: Values, lists: CandidateLists, stored: Callable[[Places], Values]) -> CandidateLists:
        """The candidates within the limit, by their vectors."""
        owners, places = lists.owners(), lists.places
        good, similarity = np.zeros(len(places), bool), np.full(len(places), np.nan)
        step = max(1, _NUMBERS // self.dimension)
        for start in range(0, len(places), step):
            some = slice(start, start + step)
            distinct, numbers = np.unique(places[some], return_inverse=True)
            measured = self.measured(values, stored(distinct), owners[some], numbers.reshape(-1))
            good[some] = self.is_match(measured)
            if self.metric == "cosine":
                similarity[some] = measured
        counts = np.bincount(owners[good], minlength=len(values))
        return CandidateLists(offsets_of(counts), places[good], similarity[good])

    # What the stages of a deduplication ask

    def search(self, values: Values | PlacedValues) -> CandidateSearch:
        """An empty search over vectors."""
        return VectorSearch(self, PlacedValues.of(values))

    def distances(self, left: Values, right: Values) -> NDArray[Any]:
        """Distances of the rows of two arrays: 1 - cosine, L2 or L1; float64."""
        rows = np.arange(len(left))
        measured = self.measured(left, right, rows, rows)
        return 1 - measured if self.metric == "cosine" else measured

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Cosines; NaN where a distance is measured."""
        if self.metric != "cosine":
            return np.full(len(left), np.nan)
        return self.measured(left, right, np.arange(len(left)), np.arange(len(left)))

    def older_index(self, against: object) -> OlderIndex | None:
        """Never."""
        return None

    def summary(self) -> Summary:
        """Nothing: `search_settings` has all."""
        return {}

    def search_settings(self) -> dict[str, int]:
        """How candidates are found."""
        if self.family.kind == "bits":
            return {"code_radius": self.shape[0]}
        return {"num_tables": self.shape[0], "hashes_per_table": self.shape[1]}


class VectorSearch:
    """Vectors by place, and the index of those that were added."""

    def __init__(self, source: VectorSource, values: PlacedValues) -> None:
        self._source, self._values = source, values
        self._index = VectorStoreIndex.empty(source)
        self._added: list[Places] = []

    def __len__(self) -> int:
        return len(self._index)

    def add(self, places: Places) -> None:
        """Add the vectors of these places to the index."""
        self._index.add(places, self._values[places])
        self._added.append(places)

    def find(self, values: Values) -> CandidateLists:
        """Everything that is a candidate and within the limit."""
        owners, places = self._index.find(values)[:2]
        order = np.lexsort((places, owners))
        counts = np.bincount(owners, minlength=len(values))
        lists = CandidateLists(offsets_of(counts), places[order])
        return self._source.confirm(values, lists, lambda some: self._values[some])

    def within(self, places: Places) -> CandidateBatch:
        """The matches among these alone."""
        pairs = self._pairs(places)
        return ListedBatch.of(pairs.left, pairs.right, pairs.similarity)

    def pairs(self) -> CandidatePairs:
        """All pairs among the added vectors."""
        places = np.concatenate([np.zeros(0, np.int64), *self._added])
        pairs = self._pairs(places)
        return CandidatePairs(places[pairs.left], places[pairs.right], pairs.similarity)

    def _pairs(self, places: Places) -> CandidatePairs:
        """Pairs of numbers of these places that match, the smaller number left."""
        values = self._values[places]
        index = VectorStoreIndex.empty(self._source)
        index.add(np.arange(len(places)), values)
        owners, found = index.find(values)[:2]
        later = found > owners
        owners, found = owners[later], found[later]
        order = np.lexsort((found, owners))
        lists = CandidateLists(offsets_of(np.bincount(owners, minlength=len(places))), found[order])
        matches = self._source.confirm(values, lists, lambda some: values[some])
        return CandidatePairs(matches.owners(), matches.places, matches.similarity)


class VectorStoreIndex(RowIndex["HammingIndex | BandIndex"]):
    """Codes within the radius, or keys that share a table; ids are rows."""

    def __init__(self, source: VectorSource, index: HammingIndex | BandIndex) -> None:
        super().__init__(index)
        self._source = source

    @classmethod
    def empty(cls, source: VectorSource) -> VectorStoreIndex:
        """An index in memory."""
        if source.family.kind == "bits":
            return cls(source, HammingIndex(source.family.num_hashes, radius=source.shape[0]))
        tables = source.shape[0]
        return cls(source, BandIndex(tables, 0.0, num_bands=tables, num_rows=1, value_bits=64))

    @classmethod
    def open(cls, source: VectorSource, path: Path) -> VectorStoreIndex:
        """The index of a file.

        Raises
        ------
        CorruptStoreError
            Its codes or tables are not those of the store.
        """
        index: HammingIndex | BandIndex
        if source.family.kind == "bits":
            index = HammingIndex.open(path)
            found, wanted = (index.bits,), (source.family.num_hashes,)
        else:
            index = BandIndex.open(path)
            found, wanted = (index.num_bands, index.num_rows), (source.shape[0], 1)  # type: ignore[assignment]
        if found != wanted:
            reason = f"its codes or tables are of {found} and not of {wanted}; repair the store"
            raise CorruptStoreError(f"{path}: {reason}", place=str(path), reason=reason)
        return cls(source, index)

    def add(self, rows: Places, values: Values) -> None:
        """Add vectors, `(n, d)`."""
        self._index.add(rows, self._shaped(values))

    def find(self, values: Values, source: CandidateSource | None = None) -> Found:
        """Candidates, which are not verified."""
        limit = self._source.shape[0] if isinstance(self._index, HammingIndex) else 0
        hits = self._index.search(self._shaped(values), limit)
        owners = np.repeat(np.arange(len(values)), np.diff(hits.offsets))
        return Found(owners, np.asarray(hits.ids, np.int64))

    def _shaped(self, values: Values) -> Values:
        codes = self._source.codes(values)
        narrow = self._source.family.kind == "bits" and codes.shape[1] == 1
        return np.ascontiguousarray(codes[:, 0] if narrow else codes)


class VectorStoreFamily(VerifiedFamily):
    """Vectors as they are, in float32."""

    def __init__(self, source: VectorSource) -> None:
        self._source = source

    @property
    def shape(self) -> tuple[np.dtype[np.generic], int]:
        """Numbers of 32 bits."""
        return np.dtype("<f4"), self._source.dimension

    def shown(self, values: Values) -> Values:
        """Vectors, `(n, d)`."""
        return values

    def confirm(self, values: Values, lists: CandidateLists, stored: Callable[[Places], Values]) -> CandidateLists:
        """Those within the limit."""
        return self._source.confirm(values, lists, stored)

    def empty(self) -> VectorStoreIndex:
        """An index in memory."""
        return VectorStoreIndex.empty(self._source)

    def open(self, path: Path) -> VectorStoreIndex:
        """The index of a file."""
        return VectorStoreIndex.open(self._source, path)
