"""Signatures that are all known before the first is asked about: buckets of equal bands instead of an index.

`nearkin.index.bands` takes signatures as they come: it holds each of them and sorts its keys again and again, some
1,250 bytes per document of 128 values in 13 bands. A deduplication knows all of its signatures first. So each band is
sorted once, and documents with an equal key are a *bucket*; most documents are alone in all their buckets, and are
neither added nor looked up. A bucket has room for all its members, and holds those that were added, so that a look-up
reads as many as an index would. The answers are those of the index: a key only leads to a document, and its values are
compared.

Memory, with n documents and b bands: 4 b n bytes for the bucket of each document, 8 b n for keys until they are
sorted, 4 bytes for each place of a bucket and 12 for each bucket; what is too large for memory lies in files
(`nearkin.dedup.spill`). Signatures are read where they lie: once for the keys, and for candidates. Cost: one sort
of n keys per band.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    KnowsPlaces,
    ListedBatch,
    PlacedValues,
    Places,
    Values,
    offsets_of,
)
from nearkin.dedup.spill import Spill, release
from nearkin.index.bands import BandIndex
from nearkin.recipe import Recipe
from nearkin.theory import Banding

_READ = 1 << 14
"""Documents whose keys are made at once."""
_MEMBERS = 1 << 20
"""Members of buckets that are looked at by one step, or those of one document."""
_RELEASED = 1 << 18
"""Documents whose keys are made before the memory of mapped files is given back."""
_COMPARED = 1 << 14
"""Pairs of signatures that are compared at once."""


class Banded(Protocol):
    """What a family of signatures says of its bands."""

    recipe: Recipe
    banding: Banding
    by_share: bool

    @property
    def share(self) -> float:
        """Share of equal values from which a pair is a candidate."""

    def band_keys(self, values: Values) -> NDArray[np.int64]:
        """Keys of each row, `(n, num_bands)`, which are equal where bands are, and hardly ever elsewhere."""

    def are_candidates(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Whether rows share a band and agree in enough values."""

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """In how many values rows differ."""


class Buckets:
    """The buckets of documents by place, and those of their members that were added.

    Parameters
    ----------
    values : PlacedValues
        Signatures, `(n, num_perm)`.
    source : Banded
    spill : Spill
        Where arrays go that are too large for memory.
    """

    def __init__(self, values: PlacedValues, source: Banded, spill: Spill) -> None:
        n, num_bands = len(values), source.banding.num_bands
        keys = spill.zeros((num_bands, n), np.int64)
        for start in range(0, n, _READ):
            keys[:, start : start + _READ] = source.band_keys(values[start : start + _READ]).T
            if start % _RELEASED == 0:
                release(values.values, keys)
        # A bucket has two members at least. Number 0 stands for a document alone.
        self._of = spill.zeros((num_bands, n), np.uint32 if num_bands * n < 1 << 33 else np.uint64)
        sizes = [np.zeros(1, np.uint32)]
        numbered = 1
        for band in range(num_bands):
            shared, bucket = _buckets(keys[band])
            self._of[band, shared] = numbered + bucket
            sizes.append(np.bincount(bucket).astype(np.uint32))
            numbered += len(sizes[-1])
            release(keys, self._of)
        del keys
        # Where each bucket begins among members, and how many it holds.
        self._starts = spill.zeros((numbered,), np.int64)
        self._held = spill.zeros((numbered,), np.uint32)
        counts = np.concatenate(sizes)
        np.cumsum(counts[:-1], out=self._starts[1:])
        self._members = spill.zeros((int(counts.sum(dtype=np.int64)),), np.uint32)

    def are_shared(self, places: Places) -> NDArray[np.bool_]:
        """Which of these documents are not alone in all their buckets."""
        return np.asarray(self._of[:, places].any(axis=0))

    def release(self) -> None:
        """Give the system back the memory of what is read in order."""
        release(self._of)

    def add(self, places: Places) -> None:
        """Let these be found; none of them twice."""
        buckets, which = self._shared(places)
        order = np.argsort(buckets, kind="stable")
        buckets, added = buckets[order], places[which[order]]
        opens = np.flatnonzero(np.diff(buckets, prepend=0))
        counts = np.diff(np.append(opens, len(buckets)))
        within = np.arange(len(buckets)) - np.repeat(opens, counts)
        self._members[self._starts[buckets] + self._held[buckets] + within] = added
        self._held[buckets[opens]] += counts.astype(np.uint32)

    def _shared(self, places: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Buckets of documents that are not alone there, and the number of each of these among `places`."""
        buckets = self._of[:, places].T
        which, band = np.nonzero(buckets)
        return buckets[which, band].astype(np.int64), which

    def members(self, places: Places) -> Iterator[tuple[NDArray[np.int64], Places]]:
        """Added documents that share a bucket with each of these, in parts: numbers among `places`, and members.

        Both are sorted, each pair once, and no document is in two parts.
        """
        buckets, which = self._shared(places)
        counts = self._held[buckets].astype(np.int64)
        some = counts > 0
        buckets, which, counts = buckets[some], which[some], counts[some]
        ends = np.cumsum(counts)
        start = 0
        while start < len(buckets):
            fit = int(np.searchsorted(ends, (ends[start - 1] if start else 0) + _MEMBERS, side="right"))
            # A document's buckets stay together.
            end = fit if fit == len(which) else int(np.searchsorted(which, which[fit], side="left"))
            if end <= start:
                end = int(np.searchsorted(which, which[start], side="right"))
            part = slice(start, end)
            before = np.cumsum(counts[part]) - counts[part]
            at = np.arange(counts[part].sum()) + np.repeat(self._starts[buckets[part]] - before, counts[part])
            pairs = np.unique(np.repeat(which[part], counts[part]) << 32 | self._members[at])
            yield pairs >> 32, pairs & 0xFFFF_FFFF
            start = end


def _buckets(keys: NDArray[np.int64]) -> tuple[Places, NDArray[np.int64]]:
    """Places whose key another one has, by key, and for each the number of its key among these, from 0."""
    order = np.argsort(keys)
    arranged = keys[order]
    equal = arranged[1:] == arranged[:-1]
    shared = np.zeros(len(keys), bool)
    shared[1:] |= equal
    shared[:-1] |= equal
    opens = shared
    if len(keys):
        opens = shared.copy()
        opens[1:] &= ~equal
    return order[shared], np.cumsum(opens[shared]) - 1


class BucketSearch(KnowsPlaces):
    """Candidates of signatures by place.

    Parameters
    ----------
    source : Banded
        The family.
    values : PlacedValues
        Signatures of all documents.
    spill : Spill
        Where arrays go that are too large for memory.
    """

    def __init__(self, source: Banded, values: PlacedValues, spill: Spill) -> None:
        self._source, self._values = source, values
        self._buckets = Buckets(values, source, spill)
        self._added = np.zeros(len(values), bool)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, places: Places) -> None:
        """Let these be found."""
        self._added[places] = True
        self._count += len(places)
        self._buckets.add(places)

    def find_at(self, places: Places) -> CandidateLists:
        """What shares a band and enough values."""
        owners, found, distances = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for owner, other in self._buckets.members(places):
            for start in range(0, len(owner), _COMPARED):
                part = slice(start, start + _COMPARED)
                ends = self._values[places[owner[part]]], self._values[other[part]]
                near = self._source.are_candidates(*ends)
                owners.append(owner[part][near])
                found.append(other[part][near])
                if self._source.by_share:
                    distances.append(self._source.distances(*(end[near] for end in ends)))
        # The system maps some 64 KB around each signature that is read.
        release(self._values.values)
        self._buckets.release()
        offsets = offsets_of(np.bincount(np.concatenate(owners), minlength=len(places)))
        return CandidateLists(offsets, np.concatenate(found), self._similarity(np.concatenate(distances)))

    def _similarity(self, distances: NDArray[np.int64]) -> NDArray[np.float64] | None:
        return 1 - distances / self._source.recipe.num_perm if self._source.by_share else None

    def within(self, places: Places) -> CandidateBatch:
        """The pairs of these that share a band and enough values."""
        some = np.flatnonzero(self._buckets.are_shared(places))
        index = BandIndex.from_banding(self._source.banding, self._source.recipe)
        if len(some):
            index.add(None, self._values[places[some]])
        pairs = index.pairs(self._source.share)
        left, right = some[np.asarray(pairs.left, np.int64)], some[np.asarray(pairs.right, np.int64)]
        return ListedBatch.of(left, right, self._similarity(pairs.distances.astype(np.int64)))

    def pairs(self) -> CandidatePairs:
        """All pairs that share a band and enough values."""
        left, right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        similarity = [np.zeros(0)]
        added = np.flatnonzero(self._added)
        for start in range(0, len(added), _READ):
            places = added[start : start + _READ]
            found = self.find_at(places)
            owner = places[found.owners()]
            later = found.places > owner
            left.append(owner[later])
            right.append(found.places[later])
            if found.similarity is not None:
                similarity.append(found.similarity[later])
        given = np.concatenate(similarity) if self._source.by_share else None
        return CandidatePairs(np.concatenate(left), np.concatenate(right), given)
