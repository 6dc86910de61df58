"""MinHash candidates: documents that share a band of their signatures, with a computed recall.

Bands and rows follow from the threshold and the requested recall (`nearkin.theory.choose_bands`). Of the pairs that
share a band only those whose signatures agree in enough values are verified; the stated recall includes this loss.

`BandSearch` uses a `BandIndex`, which takes signatures as they arrive: it stores each of them and sorts its keys again
and again, about 1,250 bytes per document of 128 values in 13 bands. A deduplication has all of its signatures from the
start, so `BucketSearch` sorts each band once. Documents with an equal key are a *bucket*; most documents are alone in
all their buckets, and are neither added nor looked up. A bucket has space for all its members and contains the added
ones, so a look-up reads as many entries as one in an index. Candidates are those of the index: a key only leads to a
document, and its values are compared.

Memory of buckets, with n documents and b bands: 4 b n bytes for the bucket of each document, 8 b n for keys until they
are sorted, 4 bytes for each member and 12 for each bucket; large arrays are spilled (`nearkin.dedup.spill`).
Signatures are read in place: once for the keys, and for candidates. Cost: one sort of n keys per band.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin._core import byte_hashes, signature_differences
from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    ListedBatch,
    OrderedValues,
    Ordinals,
    StaticSearch,
    TextBatch,
    Values,
    list_offsets,
)
from nearkin.dedup.spill import SpillPolicy, release
from nearkin.dedup.summary import Summary
from nearkin.families.minhash import check_minhash
from nearkin.index.bands import BandIndex
from nearkin.recipe import Recipe
from nearkin.theory import choose_bands

RECALL = 0.95
"""Default recall at the threshold."""
_MIN_STATIC = 1 << 14
"""Number of documents from which buckets pay for their sorting."""
_BATCH = 1 << 14
"""Documents whose keys are computed at once."""
_MAX_MEMBERS = 1 << 20
"""Members of buckets that one step reads, unless one document has more."""
_RELEASE = 1 << 18
"""Documents whose keys are computed before the memory of mapped files is released."""
_PAIRS = 1 << 14
"""Pairs of signatures that are compared at once."""


class MinHashCandidates:
    """Signatures of a recipe, and candidates by bands.

    Parameters
    ----------
    recipe : Recipe
        With the family minhash.
    threshold : float
        Smallest Jaccard similarity of a match.
    recall : float, optional
        Requested probability that a pair at the threshold becomes a candidate; 0.95 for None.
    by_share : bool
        Let the share of equal values verify: candidates are then matches, from the threshold on.

    Raises
    ------
    ParameterError
        If the signatures have too few values for that recall.
    """

    equal: ClassVar[float] = 1.0

    def __init__(
        self, recipe: Recipe, threshold: float, recall: float | None = None, *, by_share: bool = False
    ) -> None:
        check_minhash(recipe)
        self.recipe, self.threshold, self.by_share = recipe, threshold, by_share
        self.banding = choose_bands(threshold, RECALL if recall is None else recall, recipe.num_perm)

    @property
    def share(self) -> float:
        """Smallest share of equal values of a candidate."""
        return self.threshold if self.by_share else self.banding.min_matches / self.recipe.num_perm

    @property
    def min_equal_values(self) -> int:
        """Smallest number of equal values of a candidate."""
        # A share that equals the bound counts, whatever the last bit of the product is.
        return math.ceil(self.share * self.recipe.num_perm - 1e-9)

    @property
    def recall(self) -> float:
        """Probability of finding a pair at the threshold."""
        return self.banding.recall

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return signatures, `(n, num_perm)`, and feature counts."""
        values, counts = self.recipe.core.signatures(texts)
        return values.reshape(-1, self.recipe.num_perm), counts

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over signatures."""
        return BandSearch(self, values)

    def static_search(self, values: OrderedValues, spill: SpillPolicy) -> StaticSearch | None:
        """Return a search by buckets; None for fewer than `_MIN_STATIC` documents."""
        return BucketSearch(self, values, spill) if len(values) >= _MIN_STATIC else None

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return the numbers of values in which signatures differ."""
        if not len(left):
            return np.zeros(0, np.int64)
        a, b = (np.ascontiguousarray(side).reshape(-1) for side in (left, right))
        return signature_differences(a, b, self.recipe.num_perm).astype(np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the shares of equal values, or NaN if they do not verify."""
        if not self.by_share:
            return np.full(len(left), np.nan)
        return 1 - self.distances(left, right) / self.recipe.num_perm

    def match_similarity(self, distances: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the similarities of candidates at these distances; None if the family does not verify."""
        return 1 - distances / self.recipe.num_perm if self.by_share else None

    def are_candidates(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Return True for rows that share a band and agree in enough values."""
        bands, rows = self.banding.num_bands, self.banding.num_rows
        equal = (left[:, : bands * rows] == right[:, : bands * rows]).reshape(-1, bands, rows)
        max_distance = self.recipe.num_perm - self.min_equal_values
        return np.asarray(equal.all(2).any(1)) & (self.distances(left, right) <= max_distance)

    def band_keys(self, values: Values) -> NDArray[np.int64]:
        """Return hashes of the bands of each row, `(n, num_bands)`.

        Those of two rows are equal if the band is equal, and otherwise with probability 2^-64.
        """
        bands, rows = self.banding.num_bands, self.banding.num_rows
        banded = np.ascontiguousarray(values[:, : bands * rows])
        if not len(banded):
            return np.zeros((0, bands), np.int64)
        hashes = byte_hashes(banded.view(np.uint8).reshape(-1), rows * banded.dtype.itemsize)[::2].reshape(-1, bands)
        # Equal values in different bands get different keys.
        salts = np.arange(1, bands + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return np.asarray(hashes ^ salts).view(np.int64)

    def summary(self) -> Summary:
        """Return the bands, and their expected recall and precision."""
        return {
            "num_perm": self.recipe.num_perm,
            "num_bands": self.banding.num_bands,
            "num_rows": self.banding.num_rows,
            "least_equal_values": self.banding.min_matches,
            "expected_recall": self.banding.recall,
            "expected_precision": self.banding.precision,
        }


class BandSearch:
    """Signatures by ordinal, and an index of the added ones."""

    def __init__(self, source: MinHashCandidates, values: Values | OrderedValues) -> None:
        self._source, self._values = source, values
        self._index = BandIndex.from_banding(source.banding, source.recipe)

    def __len__(self) -> int:
        return len(self._index)

    def add(self, ordinals: Ordinals) -> None:
        """Add these signatures to the index."""
        if len(ordinals):
            self._index.add(ordinals, self._values[ordinals])

    def find(self, values: Values) -> CandidateLists:
        """Return the added signatures that share a band and enough values."""
        hits = self._index.search(values, self._source.share)
        return CandidateLists.of_hits(hits.offsets, hits.ids, self._source.match_similarity(hits.distances))

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the pairs of the batch that share a band and enough values."""
        return ListedBatch.of(_band_pairs(self._source, self._values[ordinals]))

    def pairs(self) -> CandidatePairs:
        """Return all pairs that share a band and enough values."""
        return _index_pairs(self._source, self._index)


def _band_pairs(source: MinHashCandidates, values: Values) -> CandidatePairs:
    """Return the candidate pairs among signatures, by row."""
    index = BandIndex.from_banding(source.banding, source.recipe)
    if len(values):
        index.add(None, values)
    return _index_pairs(source, index)


def _index_pairs(source: MinHashCandidates, index: BandIndex) -> CandidatePairs:
    pairs = index.pairs(source.share)
    left, right = np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)
    return CandidatePairs(left, right, source.match_similarity(pairs.distances))


class Buckets:
    """Buckets of documents by ordinal, and their added members.

    Parameters
    ----------
    values : OrderedValues
        Signatures, `(n, num_perm)`.
    source : MinHashCandidates
    spill : SpillPolicy
    """

    def __init__(self, values: OrderedValues, source: MinHashCandidates, spill: SpillPolicy) -> None:
        n, num_bands = len(values), source.banding.num_bands
        keys = spill.zeros((num_bands, n), np.int64)
        for start in range(0, n, _BATCH):
            keys[:, start : start + _BATCH] = source.band_keys(values[start : start + _BATCH]).T
            if start % _RELEASE == 0:
                release(values.values, keys)
        # A bucket has at least two members. Number 0 stands for a document that is alone.
        self._buckets = spill.zeros((num_bands, n), np.uint32 if num_bands * n < 1 << 33 else np.uint64)
        sizes = [np.zeros(1, np.uint32)]
        num_buckets = 1
        for band in range(num_bands):
            shared, bucket = _group_keys(keys[band])
            self._buckets[band, shared] = num_buckets + bucket
            sizes.append(np.bincount(bucket).astype(np.uint32))
            num_buckets += len(sizes[-1])
            release(keys, self._buckets)
        del keys
        # Begin of each bucket among the members, and the number of its added ones.
        self._starts = spill.zeros((num_buckets,), np.int64)
        self._added = spill.zeros((num_buckets,), np.uint32)
        counts = np.concatenate(sizes)
        np.cumsum(counts[:-1], out=self._starts[1:])
        self._members = spill.zeros((int(counts.sum(dtype=np.int64)),), np.uint32)

    def are_shared(self, ordinals: Ordinals) -> NDArray[np.bool_]:
        """Return True for documents that share a bucket with another one."""
        return np.asarray(self._buckets[:, ordinals].any(axis=0))

    def release(self) -> None:
        """Release the memory of what is read in order."""
        release(self._buckets)

    def add(self, ordinals: Ordinals) -> None:
        """Add these documents, each of them once."""
        buckets, numbers = self._shared_buckets(ordinals)
        order = np.argsort(buckets, kind="stable")
        buckets, added = buckets[order], ordinals[numbers[order]]
        starts = np.flatnonzero(np.diff(buckets, prepend=0))
        counts = np.diff(np.append(starts, len(buckets)))
        within = np.arange(len(buckets)) - np.repeat(starts, counts)
        self._members[self._starts[buckets] + self._added[buckets] + within] = added
        self._added[buckets[starts]] += counts.astype(np.uint32)

    def _shared_buckets(self, ordinals: Ordinals) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the shared buckets of documents, and for each the number of its document among `ordinals`."""
        buckets = self._buckets[:, ordinals].T
        numbers, band = np.nonzero(buckets)
        return buckets[numbers, band].astype(np.int64), numbers

    def members(self, ordinals: Ordinals) -> Iterator[tuple[NDArray[np.int64], Ordinals]]:
        """Yield the added documents that share a bucket with each ordinal: numbers among `ordinals`, and members.

        Both are sorted, each pair once, and all pairs of a document are in one chunk.
        """
        buckets, numbers = self._shared_buckets(ordinals)
        counts = self._added[buckets].astype(np.int64)
        filled = counts > 0
        buckets, numbers, counts = buckets[filled], numbers[filled], counts[filled]
        ends = np.cumsum(counts)
        start = 0
        while start < len(buckets):
            end = int(np.searchsorted(ends, (ends[start - 1] if start else 0) + _MAX_MEMBERS, side="right"))
            # The buckets of a document are read together.
            if end < len(numbers):
                end = int(np.searchsorted(numbers, numbers[end], side="left"))
            if end <= start:
                end = int(np.searchsorted(numbers, numbers[start], side="right"))
            chunk = slice(start, end)
            before = np.cumsum(counts[chunk]) - counts[chunk]
            position = np.arange(counts[chunk].sum()) + np.repeat(self._starts[buckets[chunk]] - before, counts[chunk])
            pairs = np.unique(np.repeat(numbers[chunk], counts[chunk]) << 32 | self._members[position])
            yield pairs >> 32, pairs & 0xFFFF_FFFF
            start = end


def _group_keys(keys: NDArray[np.int64]) -> tuple[Ordinals, NDArray[np.int64]]:
    """Return the ordinals that share their key with another one, by key, and the number of the key of each, from 0."""
    order = np.argsort(keys)
    ordered = keys[order]
    equal = ordered[1:] == ordered[:-1]
    shared = np.zeros(len(keys), bool)
    shared[1:] |= equal
    shared[:-1] |= equal
    first = shared
    if len(keys):
        first = shared.copy()
        first[1:] &= ~equal
    return order[shared], np.cumsum(first[shared]) - 1


class BucketSearch(StaticSearch):
    """Candidates of signatures by ordinal.

    Parameters
    ----------
    source : MinHashCandidates
    values : OrderedValues
        Signatures of all documents.
    spill : SpillPolicy
    """

    def __init__(self, source: MinHashCandidates, values: OrderedValues, spill: SpillPolicy) -> None:
        self._source, self._values = source, values
        self._buckets = Buckets(values, source, spill)
        self._added = np.zeros(len(values), bool)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, ordinals: Ordinals) -> None:
        """Add these signatures."""
        self._added[ordinals] = True
        self._count += len(ordinals)
        self._buckets.add(ordinals)

    def find_at(self, ordinals: Ordinals) -> CandidateLists:
        """Return the added signatures that share a band and enough values."""
        owners, others, distances = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for owner, other in self._buckets.members(ordinals):
            for start in range(0, len(owner), _PAIRS):
                chunk = slice(start, start + _PAIRS)
                sides = self._values[ordinals[owner[chunk]]], self._values[other[chunk]]
                near = self._source.are_candidates(*sides)
                owners.append(owner[chunk][near])
                others.append(other[chunk][near])
                if self._source.by_share:
                    distances.append(self._source.distances(*(side[near] for side in sides)))
        # The system maps about 64 KB around each signature that is read.
        release(self._values.values)
        self._buckets.release()
        offsets = list_offsets(np.bincount(np.concatenate(owners), minlength=len(ordinals)))
        similarity = self._source.match_similarity(np.concatenate(distances))
        return CandidateLists(offsets, np.concatenate(others), similarity)

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the pairs of the batch that share a band and enough values."""
        shared = np.flatnonzero(self._buckets.are_shared(ordinals))
        pairs = _band_pairs(self._source, self._values[ordinals[shared]])
        return ListedBatch.of(CandidatePairs(shared[pairs.left], shared[pairs.right], pairs.similarity))

    def pairs(self) -> CandidatePairs:
        """Return all pairs that share a band and enough values."""
        left, right, similarity = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        added = np.flatnonzero(self._added)
        for start in range(0, len(added), _BATCH):
            ordinals = added[start : start + _BATCH]
            lists = self.find_at(ordinals)
            owner = ordinals[lists.owners()]
            later = lists.ordinals > owner
            left.append(owner[later])
            right.append(lists.ordinals[later])
            if lists.similarity is not None:
                similarity.append(lists.similarity[later])
        verified = np.concatenate(similarity) if self._source.by_share else None
        return CandidatePairs(np.concatenate(left), np.concatenate(right), verified)
