"""How the values of each family are stored, and the index that finds them, in memory and in a file.

Ids of these indexes are the rows of documents. An index holds the documents that stay: those that a new one is compared
with. Values are fixed-width bytes of a document's record.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from nearkin.pipeline.candidates import (
    CandidateLists,
    CandidateSource,
    DigestCandidates,
    MinHashCandidates,
    Places,
    SimHashCandidates,
    Values,
)
from nearkin.pipeline.candidates.ssdeep import comparable, digest_rows, digests_of
from nearkin.search.bands import BandIndex
from nearkin.search.digests import DigestIndex
from nearkin.search.hamming import HammingIndex
from nearkin.store.vector_search import VectorSource, VectorStoreFamily

Found = tuple[NDArray[np.int64], Places, "NDArray[np.float64] | None"]
"""For each candidate the number of the query and its row; its similarity where the family itself verifies."""


LONGEST_DIGEST = 140
"""Characters of the longest digest: a block size of ten digits, two parts of 64, two colons."""


class StoreIndex(Protocol):
    """An index of documents by row."""

    def __len__(self) -> int:
        """How many documents it holds."""

    def add(self, rows: Places, values: Values) -> None:
        """Let these be found; rows ascend from call to call."""

    def find(self, values: Values) -> Found:
        """The rows that may match each of these values."""

    def save(self, path: Path) -> None:
        """Write it as one file, whole or absent."""

    def verify(self) -> None:
        """Read every byte and compare checksums."""

    @property
    def nbytes(self) -> int:
        """Bytes it takes, in memory or in the map of its file."""


class StoreFamily(Protocol):
    """A family with the parameters of one store."""

    @property
    def shape(self) -> tuple[np.dtype[np.generic], int]:
        """Type of a value, and how many a document has."""

    def searched(self, values: Values) -> NDArray[np.bool_]:
        """Which of these can be found by a search; all others match by equal content alone."""

    def shown(self, values: Values) -> Values:
        """Values as a caller has them."""

    def confirm(self, values: Values, lists: CandidateLists, stored: Callable[[Places], Values]) -> CandidateLists:
        """The candidates that what is stored confirms, where that is for the family to say."""

    def empty(self) -> StoreIndex:
        """An index in memory."""

    def open(self, path: Path) -> StoreIndex:
        """The index of a file."""


class VerifiedFamily:
    """A family whose candidates are matches, or are verified by their texts."""

    def searched(self, values: Values) -> NDArray[np.bool_]:
        """All."""
        return np.ones(len(values), bool)

    def confirm(self, values: Values, lists: CandidateLists, stored: Callable[[Places], Values]) -> CandidateLists:
        """All of them."""
        return lists


class HammingStoreIndex:
    """Fingerprints within the radius."""

    def __init__(self, source: SimHashCandidates, index: HammingIndex) -> None:
        self._radius, self._words, self._index = source.radius, source.recipe.words, index

    def __len__(self) -> int:
        return len(self._index)

    def add(self, rows: Places, values: Values) -> None:
        """Add fingerprints, `(n, words)`."""
        self._index.add(rows, self._shaped(values))

    def find(self, values: Values) -> Found:
        """Everything within the radius."""
        hits = self._index.search(self._shaped(values), self._radius)
        return np.repeat(np.arange(len(values)), np.diff(hits.offsets)), np.asarray(hits.ids, np.int64), None

    def save(self, path: Path) -> None:
        """Write the index."""
        self._index.save(path)

    def verify(self) -> None:
        """Compare its checksums."""
        self._index.verify()

    @property
    def nbytes(self) -> int:
        """Bytes of fingerprints, tables and ids."""
        return self._index.nbytes

    def _shaped(self, rows: Values) -> Values:
        return np.ascontiguousarray(rows[:, 0] if self._words == 1 else rows)


class SimHashStoreFamily(VerifiedFamily):
    """Fingerprints of a recipe."""

    def __init__(self, source: SimHashCandidates) -> None:
        self._source = source

    @property
    def shape(self) -> tuple[np.dtype[np.generic], int]:
        """Words of 64 bits."""
        return np.dtype("<u8"), self._source.recipe.words

    def shown(self, values: Values) -> Values:
        """Fingerprints, `(n,)` up to 64 bits, `(n, words)` above."""
        return values[:, 0] if values.shape[1] == 1 else values

    def empty(self) -> StoreIndex:
        """An empty HammingIndex that announces its radius."""
        index = HammingIndex(radius=self._source.radius, recipe=self._source.recipe)
        return HammingStoreIndex(self._source, index)

    def open(self, path: Path) -> StoreIndex:
        """A mapped HammingIndex of the same recipe."""
        index = HammingIndex.open(path)
        index.check_recipe(self._source.recipe)
        return HammingStoreIndex(self._source, index)


class BandStoreIndex:
    """Signatures that share a band and enough values."""

    def __init__(self, source: MinHashCandidates, index: BandIndex) -> None:
        self._source, self._index = source, index

    def __len__(self) -> int:
        return len(self._index)

    def add(self, rows: Places, values: Values) -> None:
        """Add signatures, `(n, num_perm)`."""
        self._index.add(rows, np.ascontiguousarray(values))

    def find(self, values: Values) -> Found:
        """What shares a band and enough values."""
        hits = self._index.search(np.ascontiguousarray(values), self._source.share)
        owners = np.repeat(np.arange(len(values)), np.diff(hits.offsets))
        similarity = 1 - hits.distances / self._source.recipe.num_perm if self._source.by_share else None
        return owners, np.asarray(hits.ids, np.int64), similarity

    def save(self, path: Path) -> None:
        """Write the index."""
        self._index.save(path)

    def verify(self) -> None:
        """Compare its checksums."""
        self._index.verify()

    @property
    def nbytes(self) -> int:
        """Bytes of signatures, bands and ids."""
        return self._index.nbytes


class MinHashStoreFamily(VerifiedFamily):
    """Signatures of a recipe."""

    def __init__(self, source: MinHashCandidates) -> None:
        self._source = source

    @property
    def shape(self) -> tuple[np.dtype[np.generic], int]:
        """Values of 32 or 64 bits."""
        return np.dtype(f"<u{self._source.recipe.value_bits // 8}"), self._source.recipe.num_perm

    def shown(self, values: Values) -> Values:
        """Signatures, `(n, num_perm)`."""
        return values

    def empty(self) -> StoreIndex:
        """An empty BandIndex of the store's bands."""
        return BandStoreIndex(self._source, BandIndex.of(self._source.banding, self._source.recipe))

    def open(self, path: Path) -> StoreIndex:
        """A mapped BandIndex of the same recipe."""
        index = BandIndex.open(path)
        index.check_recipe(self._source.recipe)
        return BandStoreIndex(self._source, index)


class DigestStoreIndex:
    """Digests that score at least the threshold, which are matches."""

    def __init__(self, source: DigestCandidates, index: DigestIndex) -> None:
        self._threshold, self._index = source.threshold, index

    def __len__(self) -> int:
        return len(self._index)

    def add(self, rows: Places, values: Values) -> None:
        """Add digests, `(n, 1)`."""
        self._index.add(rows, digests_of(values))

    def find(self, values: Values) -> Found:
        """What scores at least the threshold, and its score."""
        able = np.flatnonzero(comparable(values))
        hits = self._index.search(digests_of(values[able]), self._threshold)
        owners = np.repeat(able, np.diff(hits.offsets))
        return owners, np.asarray(hits.ids, np.int64), hits.scores.astype(np.float64)

    def save(self, path: Path) -> None:
        """Write the index."""
        self._index.save(path)

    def verify(self) -> None:
        """Compare its checksums."""
        self._index.verify()

    @property
    def nbytes(self) -> int:
        """Bytes of digests, their lists and ids."""
        return self._index.nbytes


class DigestStoreFamily(VerifiedFamily):
    """Digests of a recipe, as they are printed."""

    def __init__(self, source: DigestCandidates) -> None:
        self._source = source

    @property
    def shape(self) -> tuple[np.dtype[np.generic], int]:
        """ASCII, filled up with zeros."""
        return np.dtype(f"S{LONGEST_DIGEST}"), 1

    def searched(self, values: Values) -> NDArray[np.bool_]:
        """Digests with seven characters in a part."""
        return comparable(values)

    def shown(self, values: Values) -> Values:
        """Digests, `(n,)` objects."""
        return digest_rows(digests_of(values))[:, 0]

    def empty(self) -> StoreIndex:
        """An empty DigestIndex."""
        return DigestStoreIndex(self._source, DigestIndex(recipe=self._source.recipe, strict=False))

    def open(self, path: Path) -> StoreIndex:
        """The DigestIndex of a file, of the same recipe; it is read whole."""
        index = DigestIndex.open(path)
        index.recipe.check_same(self._source.recipe)
        return DigestStoreIndex(self._source, index)


def store_family(source: CandidateSource) -> StoreFamily:
    """How a family stores its values."""
    if isinstance(source, SimHashCandidates):
        return SimHashStoreFamily(source)
    if isinstance(source, DigestCandidates):
        return DigestStoreFamily(source)
    if isinstance(source, VectorSource):
        return VectorStoreFamily(source)
    return MinHashStoreFamily(cast("MinHashCandidates", source))


def lists_of(count: int, found: list[Found]) -> CandidateLists:
    """Candidates of several indexes as lists for each of `count` queries, rows ascending."""
    owners = np.concatenate([part[0] for part in found] or [np.zeros(0, np.int64)])
    rows = np.concatenate([part[1] for part in found] or [np.zeros(0, np.int64)])
    shares = [part[2] for part in found if part[2] is not None]
    if not len(rows) and not shares:
        return CandidateLists(np.zeros(count + 1, np.int64), rows)
    order = np.lexsort((rows, owners))
    similarity = np.concatenate(shares)[order] if shares and len(shares) == len(found) else None
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))]).astype(np.int64)
    return CandidateLists(offsets, rows[order], similarity)
