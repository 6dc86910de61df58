"""Which documents are kept: keep-then-absorb, and connected components.

**Keep, then absorb.** Documents are visited in keep order; one that nothing has absorbed is kept and absorbs every
later candidate whose verified similarity reaches the threshold. No chain forms, no two survivors
match, a second run removes nothing. The order is cut into batches: a batch is searched among the kept documents of
earlier batches, each document is verified against these in keep order until the first match, and the rest of the batch
is absorbed within itself. Kernel: `crates/nearkin-core/src/absorb.rs`.

**Connected components.** Every candidate that verifies joins two documents; the first of a component in
keep order is kept. A chain of small changes is one component. Candidates that are connected already are not verified.

Candidates come from the family's `CandidateSearch` (`nearkin.pipeline.candidates`).

Cost: one search per document and, where it has candidates, at least one verification. Memory: the index of the
kept documents, the texts compared at once (at most `_BATCH_CHARACTERS`, or one longer text), and `_CACHE_BYTES` of
feature sets for later batches. Components hold the candidates of a batch, too, which grow with the size of a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache
from nearkin._core import components as _components
from nearkin.pipeline.candidates import CandidateLists, CandidateSearch, CandidateSource, Values
from nearkin.recipe import Recipe

_BATCH = 4096
"""Documents of a batch: b/2 distances per document within it against better batches for the index."""
_BATCH_CHARACTERS = 1 << 24
"""Characters of different texts that are compared at once; their feature sets take up to eight bytes per character."""
_CACHE_BYTES = 64 << 20
"""Bytes of feature sets that are kept for later batches."""


class TextLookup(Protocol):
    """Where texts are looked up again."""

    def texts(self, rows: NDArray[np.int64]) -> Any:
        """The texts of ascending rows, in a form that the kernels read."""


@dataclass
class Absorbed:
    """What became of the documents, by their place in keep order.

    Attributes
    ----------
    by : (n,) int64
        Place of the document that absorbed this one; -1 for a kept one.
    similarity : (n,) float64
        Verified similarity to it; NaN for kept documents and without verification.
    candidates, verified : int
        Pairs that the family proposed and that were looked at, and those verified by their texts.
    """

    by: NDArray[np.int64]
    similarity: NDArray[np.float64]
    candidates: int = 0
    verified: int = 0


@dataclass
class Clustering:
    """The inputs of both rules.

    Parameters
    ----------
    recipe, threshold
        Of the run; the threshold is inclusive.
    measure : str or None
        How matches are verified; None takes every candidate as a match.
    candidate_source : CandidateSource
        The family, which proposes candidates.
    values : (n, ...) array
        Hashed documents in keep order; the first `old` ones are older documents, which are kept whatever they are like.
    rows : (n,) int64
        Row of each document, for `documents.texts`.
    lengths : (n,) uint64
        Characters of each text.
    documents : TextLookup
    old : int
    tick : function
        Called with the number of documents that were decided.
    """

    recipe: Recipe
    threshold: float
    measure: str | None
    candidate_source: CandidateSource
    values: Values
    rows: NDArray[np.int64]
    lengths: NDArray[np.uint64]
    documents: TextLookup
    old: int = 0
    tick: Callable[[int], None] = field(default=lambda _: None)

    def _search(self) -> CandidateSearch:
        search = self.candidate_source.search(self.values)
        if self.old:
            search.add(np.arange(self.old))
        return search

    def _load(self, cache: TextCache, places: NDArray[np.int64]) -> None:
        """Make the texts of some places ready to be compared, by place."""
        missing = cache.missing(np.unique(places).astype(np.uint32))
        if len(missing):
            cache.shrink()
            rows = self.rows[missing]
            order = np.argsort(rows, kind="stable")
            cache.add(missing[order], self.documents.texts(rows[order]))

    def _cache(self) -> TextCache | None:
        return None if self.measure is None else TextCache(self.recipe.core, self.measure, _CACHE_BYTES)

    def absorb(self) -> Absorbed:
        """Keep, then absorb."""
        n = len(self.rows)
        result = Absorbed(np.full(n, -1, np.int64), np.full(n, np.nan))
        search, cache = self._search(), self._cache()
        for batch in self._batches():
            left = batch
            if len(search):
                left = self._absorb_into_kept(search, cache, batch, result)
            left = self._absorb_within(search, cache, left, result)
            search.add(left)
            self.tick(len(batch))
        return result

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        """Places of documents in order, in batches of limited size, by documents and by characters."""
        ends = np.cumsum(self.lengths[self.old :].astype(np.int64))
        start = 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            end = int(np.searchsorted(ends, before + _BATCH_CHARACTERS, side="right"))
            end = min(max(end, start + 1), start + _BATCH)
            yield np.arange(self.old + start, self.old + end)
            start = end

    def _absorb_into_kept(
        self, search: CandidateSearch, cache: TextCache | None, batch: NDArray[np.int64], result: Absorbed
    ) -> NDArray[np.int64]:
        """Give each document of the batch to its first match among the kept; the documents that have none."""
        hits = search.find(batch)
        result.candidates += int(hits.offsets[-1])
        found = np.flatnonzero(np.diff(hits.offsets))
        if cache is None:
            result.by[batch[found]] = hits.places[hits.offsets[found]]
            if hits.similarity is not None:
                result.similarity[batch[found]] = hits.similarity[hits.offsets[found]]
        else:
            offsets = hits.offsets[np.append(found, len(batch))]
            for part in self._parts(batch[found], offsets, hits.places):
                self._first_matches(cache, *part, result)
        return batch[result.by[batch] < 0]

    def _parts(
        self, places: NDArray[np.int64], offsets: NDArray[np.int64], candidates: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """Documents with their candidates, in parts whose different texts have a limited number of characters."""
        lengths = self.lengths[candidates].astype(np.int64)
        # A candidate counts where it comes up first; a part that starts later may count it again, which is rare.
        firsts = np.zeros(len(candidates), bool)
        firsts[np.unique(candidates, return_index=True)[1]] = True
        sums = np.concatenate([[0], np.cumsum(lengths * firsts)])
        ends = sums[offsets[1:]] + np.cumsum(self.lengths[places].astype(np.int64))
        start = 0
        while start < len(places):
            before = int(ends[start - 1]) if start else 0
            end = max(int(np.searchsorted(ends, before + _BATCH_CHARACTERS, side="right")), start + 1)
            part = offsets[start : end + 1]
            yield places[start:end], part - part[0], candidates[part[0] : part[-1]]
            start = end

    def _first_matches(
        self,
        cache: TextCache,
        places: NDArray[np.int64],
        offsets: NDArray[np.int64],
        candidates: NDArray[np.int64],
        result: Absorbed,
    ) -> None:
        self._load(cache, np.concatenate([places, candidates]))
        by, similarity, verified, _ = cache.first_matches(
            documents=places.astype(np.uint32),
            offsets=np.ascontiguousarray(offsets),
            candidates=candidates.astype(np.uint32),
            threshold=self.threshold,
        )
        result.verified += verified
        result.by[places] = by
        result.similarity[places] = similarity

    def _absorb_within(
        self, search: CandidateSearch, cache: TextCache | None, places: NDArray[np.int64], result: Absorbed
    ) -> NDArray[np.int64]:
        """Visit documents in order, each kept one absorbing later ones; the kept documents."""
        if len(places):
            batch = search.within(places)
            close = places[batch.close]
            if cache is not None:
                self._load(cache, close)
            by, similarity, verified, candidates = batch.absorb(cache, close, self.threshold)
            result.verified += verified
            result.candidates += candidates
            matched = by >= 0
            result.by[close[matched]] = close[by[matched]]
            result.similarity[close[matched]] = similarity[matched]
        return places[result.by[places] < 0]

    def components(self) -> Absorbed:
        """Connected components; similarity is that to the kept document, which may lie below the threshold."""
        n = len(self.rows)
        result = Absorbed(np.full(n, -1, np.int64), np.full(n, np.nan))
        labels = np.arange(n, dtype=np.uint32)
        search = self._search()
        for batch in self._batches():
            search.add(batch)
            hits: CandidateLists = search.find(batch)
            right = np.repeat(batch, np.diff(hits.offsets))
            left = hits.places
            earlier = left < right
            labels = self._join(labels, left[earlier], right[earlier], result)
            self.tick(len(batch))
        members = np.flatnonzero(labels != np.arange(n))
        members = members[members >= self.old]
        result.by[members] = labels[members]
        result.similarity[members] = self._similarities(search, result.by[members], members)
        return result

    def links(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Every verified link as places (left before right) with its similarity, NaN without verification."""
        search = self.candidate_source.search(self.values)
        search.add(np.arange(len(self.rows)))
        pairs = search.pairs()
        left, right = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
        new = right >= self.old
        left, right = left[new], right[new]
        if pairs.similarity is not None:
            return left, right, pairs.similarity[new]
        similarity = self._similarities(search, left, right)
        if self.measure is None:
            return left, right, similarity
        matched = similarity >= self.threshold
        return left[matched], right[matched], similarity[matched]

    def _join(
        self, labels: NDArray[np.uint32], left: NDArray[np.int64], right: NDArray[np.int64], result: Absorbed
    ) -> NDArray[np.uint32]:
        """Labels after the links among these candidates; pairs of one component are not verified."""
        result.candidates += len(left)
        order = np.lexsort((right, left))
        left, right = left[order], right[order]
        while len(left):
            open_pairs = labels[left] != labels[right]
            left, right = left[open_pairs], right[open_pairs]
            count = min(len(left), 1 << 16)
            now, left = np.split(left, [count])
            other, right = np.split(right, [count])
            if self.measure is not None and len(now):
                result.verified += len(now)
                matched = self._verified(now, other, self.measure) >= self.threshold
                now, other = now[matched], other[matched]
            labels = _components(
                len(labels),
                np.concatenate([labels, now.astype(np.uint32)]),
                np.concatenate([np.arange(len(labels), dtype=np.uint32), other.astype(np.uint32)]),
            )
        return labels

    def _similarities(
        self, search: CandidateSearch, left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """By texts, or by the family where texts are not compared."""
        if self.measure is None:
            return search.similarities(left, right)
        return self._verified(left, right, self.measure)

    def _verified(self, left: NDArray[np.int64], right: NDArray[np.int64], measure: str) -> NDArray[np.float64]:
        cache = TextCache(self.recipe.core, measure, _CACHE_BYTES)
        ends = np.cumsum((self.lengths[left] + self.lengths[right]).astype(np.int64))
        parts = [np.zeros(0)]
        start = 0
        while start < len(left):
            before = int(ends[start - 1]) if start else 0
            end = max(int(np.searchsorted(ends, before + _BATCH_CHARACTERS, side="right")), start + 1)
            now, other = left[start:end], right[start:end]
            self._load(cache, np.concatenate([now, other]))
            parts.append(cache.similarities(now.astype(np.uint32), other.astype(np.uint32)))
            start = end
        return np.concatenate(parts)
