"""How the values of each family are stored, and the index that finds them (`nearkin.store.indexes`)."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import (
    CandidateLists,
    CandidateSource,
    DigestCandidates,
    MinHashCandidates,
    Places,
    SimHashCandidates,
    Values,
)
from nearkin.dedup.candidates.ssdeep import comparable, digest_rows, digests_of
from nearkin.index.bands import BandIndex
from nearkin.index.digests import DigestIndex
from nearkin.index.hamming import HammingIndex
from nearkin.store.indexes import Found, RowIndex, StoreFamily, StoreIndex, VerifiedFamily
from nearkin.store.vector_search import VectorSource, VectorStoreFamily

LONGEST_DIGEST = 140
"""Characters of the longest digest: a block size of ten digits, two parts of 64, two colons."""


class HammingStoreIndex(RowIndex[HammingIndex]):
    """Fingerprints within the radius."""

    def __init__(self, source: SimHashCandidates, index: HammingIndex) -> None:
        super().__init__(index)
        self._radius, self._words = source.radius, source.recipe.words

    def add(self, rows: Places, values: Values) -> None:
        """Add fingerprints, `(n, words)`."""
        self._index.add(rows, self._shaped(values))

    def find(self, values: Values, source: CandidateSource | None = None) -> Found:
        """Everything within the radius."""
        hits = self._index.search(self._shaped(values), self._radius)
        return Found(_owners(hits.offsets), np.asarray(hits.ids, np.int64))

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


class BandStoreIndex(RowIndex[BandIndex]):
    """Signatures that share a band and enough values."""

    def __init__(self, source: MinHashCandidates, index: BandIndex) -> None:
        super().__init__(index)
        self._source = source

    def add(self, rows: Places, values: Values) -> None:
        """Add signatures, `(n, num_perm)`."""
        self._index.add(rows, np.ascontiguousarray(values))

    def find(self, values: Values, source: CandidateSource | None = None) -> Found:
        """What shares a band and enough values."""
        hits = self._index.search(np.ascontiguousarray(values), self._source.share)
        owners = _owners(hits.offsets)
        similarity = 1 - hits.distances / self._source.recipe.num_perm if self._source.by_share else None
        return Found(owners, np.asarray(hits.ids, np.int64), similarity)


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


class DigestStoreIndex(RowIndex[DigestIndex]):
    """Digests that score at least the threshold, which are matches."""

    def __init__(self, source: DigestCandidates, index: DigestIndex) -> None:
        super().__init__(index)
        self._source = source

    def add(self, rows: Places, values: Values) -> None:
        """Add digests, `(n, 1)`."""
        self._index.add(rows, digests_of(values))

    def find(self, values: Values, source: CandidateSource | None = None) -> Found:
        """What scores at least the threshold, and its score, but for what only hubs of this index lead to."""
        able = np.flatnonzero(comparable(values))
        skip_hubs = source.skip_hubs if isinstance(source, DigestCandidates) else self._source.skip_hubs
        hits = self._index.search(digests_of(values[able]), self._source.threshold, skip_hubs=skip_hubs)
        owners = np.repeat(able, np.diff(hits.offsets))
        return Found(owners, np.asarray(hits.ids, np.int64), hits.scores.astype(np.float64), hits.skipped)


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


def _owners(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the query of each match."""
    if 2 == len(offsets):
        return np.zeros(offsets[1], np.int64)
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def lists_of(count: int, found: list[Found]) -> CandidateLists:
    """Candidates of several indexes as lists for each of `count` queries, rows ascending."""
    owners = np.concatenate([part.owners for part in found] or [np.zeros(0, np.int64)])
    rows = np.concatenate([part.rows for part in found] or [np.zeros(0, np.int64)])
    shares = [part.similarity for part in found if part.similarity is not None]
    skipped = sum(part.skipped for part in found)
    if not len(rows) and not shares:
        return CandidateLists(np.zeros(count + 1, np.int64), rows, skipped=skipped)
    order = rows.argsort(kind="stable") if 1 == count else np.lexsort((rows, owners))
    similarity = np.concatenate(shares)[order] if shares and len(shares) == len(found) else None
    if 1 == count:
        return CandidateLists(np.array([0, len(rows)]), rows[order], similarity, skipped)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))]).astype(np.int64)
    return CandidateLists(offsets, rows[order], similarity, skipped)
