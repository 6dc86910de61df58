"""Which documents are kept: keep-then-absorb, and connected components.

**Keep, then absorb.** Documents are visited in keep order; one that nothing has absorbed is kept and absorbs every
later candidate whose verified similarity reaches the threshold. No chain forms, no two survivors
match, a second run removes nothing. The order is cut into batches: a batch is searched among the older documents and
the kept ones of earlier batches, each document is verified against these in keep order until the first match, and the
rest of the batch is absorbed within itself. Kernel: `crates/nearkin-core/src/pipeline/absorb.rs`.

**Connected components.** Every candidate that verifies joins two documents; the first of a component in
keep order is kept. A chain of small changes is one component. Candidates that are connected already are not verified.

Pairs that a person labelled different are kept apart by both rules (`nearkin.dedup.constraints`).

Candidates come from the family's `CandidateSearch` (`nearkin.dedup.candidates`) and from `OlderDocuments`, which are
visited before all others. *Places* number both in the order of visits: older documents by their row, then the new ones.

Cost: one search per document and, where it has candidates, at least one verification. Memory: the index of the
kept documents, the texts compared at once (at most `_BATCH_CHARACTERS`, or one longer text), and `_CACHE_BYTES` of
feature sets for later batches. Components hold the candidates of a batch, too, which grow with the size of a cluster,
and a number of 4 bytes for each older document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache
from nearkin._core import components as _components
from nearkin.dedup.candidates import (
    AddsDocuments,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    CandidateSource,
    KnowsPlaces,
    PlacedValues,
    Places,
    ReadsTexts,
    SearchesKnown,
    Values,
)
from nearkin.dedup.constraints import Apart
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.reference import OlderDocuments, PrecedingOlder
from nearkin.dedup.verify import FeatureSets, TextComparison

MAX_COMPARISONS = 10_000
"""Candidates that one document is compared with: some ten milliseconds."""
_BATCH = 4096
"""Documents of a batch: b/2 distances per document within it against better batches for the index."""
_BATCH_CHARACTERS = 1 << 24
"""Characters of different texts that are compared at once; their feature sets take up to eight bytes per character."""
_CACHE_BYTES = 64 << 20
"""Bytes of feature sets that are kept for later batches."""
_CANDIDATES = 1 << 22
"""Candidates of documents that are verified by one call: about a second, after which progress is told."""
_NEAR = 64
"""Candidates of a document of the sample of near misses."""
_PAIRS = 1 << 16
"""Pairs that are verified, or whose values are copied, at once."""


@dataclass(frozen=True)
class NearMisses:
    """Candidates among the kept documents that are no matches: those of a random sample of the kept.

    Attributes
    ----------
    left, right : (m,) int64
        Places, left before right; each pair once, sorted.
    similarity : (m,) float64
        Below the threshold, or of texts that differ in what the comparison names, or that labels keep apart.
    sampled, kept : int
        Documents of the sample, of how many new ones that were kept. A pair is in the sample with probability
        1 − (1 − p)(1 − p'), p = sampled/kept and p' = sampled/(kept − 1). Older documents are in none.
    """

    left: Places
    right: Places
    similarity: NDArray[np.float64]
    sampled: int
    kept: int


@dataclass
class Assignment:
    """What became of the documents of a `Clusterer`, in its order.

    Attributes
    ----------
    by : (n,) int64
        Place of the document that absorbed this one; -1 for a kept one.
    similarity : (n,) float64
        Verified similarity to it; NaN for kept documents and without verification.
    candidates, verified : int
        Pairs that the family proposed and that were looked at, and those verified by their texts.
    skipped : int
        Comparisons that were beyond a document's allowance, and look-ups that the family left out.
    differing : int
        Pairs that were similar enough and are no matches, since they differ in what the comparison names.
    near : NearMisses or None
        Candidates below the threshold, where they were asked for.
    kept_apart : int
        Rejected pairs of which one document would have been removed for the other, or both in one component.
    """

    by: Places
    similarity: NDArray[np.float64]
    candidates: int = 0
    verified: int = 0
    skipped: int = 0
    differing: int = 0
    near: NearMisses | None = None
    kept_apart: int = 0

    @classmethod
    def of_none(cls, count: int) -> Assignment:
        """All documents kept, nothing looked at."""
        return cls(np.full(count, -1, np.int64), np.full(count, np.nan))


@dataclass
class Clusterer:
    """The inputs of both rules.

    Parameters
    ----------
    candidate_source : CandidateSource
        The family, which proposes candidates.
    comparison : TextComparison or None
        How candidates are verified; None takes every candidate as a match.
    threshold : float
        Smallest similarity of a match, inclusive.
    documents : HashedDocuments
    rows : (n,) int64
        Rows of the documents that take part, in keep order.
    older : OlderDocuments, optional
        Visited before them, and always kept.
    tick : function
        Called with the number of documents that were compared, also within a batch.
    cache : TextCache, optional
        Of `comparison`, kept from one Clusterer to the next: then no two of them may give one place to different texts.
    max_comparisons : int
        Most candidates that one document is compared with; those beyond are no matches, and counted.
    near : int
        Kept documents whose candidates are told of though they are no matches.
    apart : Apart, optional
        Rejected pairs of places: neither document is removed for the other.
    """

    candidate_source: CandidateSource
    comparison: TextComparison | None
    threshold: float
    documents: HashedDocuments
    rows: Places
    older: OlderDocuments | None = None
    tick: Callable[[int], None] = field(default=lambda _: None)
    cache: TextCache | None = None
    max_comparisons: int = MAX_COMPARISONS
    near: int = 0
    apart: Apart | None = None

    def __post_init__(self) -> None:
        self._values = PlacedValues(self.documents.values, self.rows)
        self._lengths = PlacedValues(self.documents.lengths, self.rows)
        # Place of the first new document.
        self._first = 0 if self.older is None else len(self.older)

    # The rules

    def absorb(self) -> Assignment:
        """Keep, then absorb."""
        result = Assignment.of_none(len(self.rows))
        search, cache = self._search(), self._cache()
        before = 0 if cache is None else cache.differing
        rejected: list[tuple[Places, Places]] = []
        for batch in self._batches(search, self.apart):
            self._read(search, batch)
            left, seen = batch, 0
            if self._first or len(search):
                left, seen = self._absorb_into_kept(search, cache, batch, result, rejected)
            left = self._absorb_within(search, cache, left, result)
            # Nobody looks for what the last batch leaves.
            if batch[-1] + 1 < len(self.rows) or self.near:
                search.add(self._ahead(search) + left)
            self.tick(len(batch) - seen)
        result.differing = 0 if cache is None else cache.differing - before
        result.kept_apart = self._kept_apart(rejected, result)
        if self.near and self.comparison is not None and not isinstance(search, ReadsTexts):
            result.near = self._near_misses(search, result)
        return result

    def match_older(self) -> Assignment:
        """Give each document to its first match among the older ones: the first half of `absorb`."""
        result = Assignment.of_none(len(self.rows))
        cache = self._cache()
        before = 0 if cache is None else cache.differing
        for batch in self._batches():
            _, seen = self._absorb_into_kept(None, cache, batch, result)
            self.tick(len(batch) - seen)
        result.differing = 0 if cache is None else cache.differing - before
        return result

    def components(self) -> Assignment:
        """Connected components; similarity is that to the kept document, which may lie below the threshold."""
        result = Assignment.of_none(len(self.rows))
        n = self._first + len(self.rows)
        labels = np.arange(n, dtype=np.uint32)
        search = self._search()
        for batch in self._batches(search):
            self._read(search, batch)
            search.add(self._ahead(search) + batch)
            hits = self._find(search, batch)
            result.skipped += hits.skipped
            left, right = hits.places, (self._first + batch)[hits.owners()]
            earlier = left < right
            if self.comparison is not None:
                # Candidates ascend, so that the first of each document are earlier ones.
                within = np.arange(len(left)) - hits.offsets[hits.owners()] < self.max_comparisons
                result.skipped += int((earlier & ~within).sum())
                earlier &= within
            labels = self._join(labels, left[earlier], right[earlier], result)
            self.tick(len(batch))
        if self.apart is not None:
            labels = self._part(labels, self.apart, result)
        members = np.flatnonzero(labels != np.arange(n))
        members = members[members >= self._first]
        heads = labels[members].astype(np.int64)
        result.by[members - self._first] = heads
        result.similarity[members - self._first] = self._similarities(heads, members)
        return result

    def links(self) -> tuple[Places, Places, NDArray[np.float64], int]:
        """Every verified link as places (left before right) with its similarity, NaN without verification.

        Links between older documents and rejected pairs are left out. Sorted by left, then right. Last comes how many
        look-ups the family left out, so that links may be missing.
        """
        search = self._search()
        if isinstance(search, ReadsTexts):
            pairs = self._pairs_by_batches(search)
        else:
            search.add(np.arange(len(self.rows)))
            pairs = self._with_older(search.pairs())
        if pairs.similarity is not None:
            similarity, matched = pairs.similarity, np.ones(len(pairs.left), bool)
        else:
            similarity, matched = self.matching(pairs.left, pairs.right)
        if self.apart is not None:
            matched &= ~self.apart.hold(pairs.left, pairs.right)
        return pairs.left[matched], pairs.right[matched], similarity[matched], pairs.skipped

    # Candidates

    def _search(self) -> CandidateSearch | KnowsPlaces:
        """A search among the new documents, with none added; one that reads texts has the older ones before them."""
        if not isinstance(self.older, PrecedingOlder):
            known = None
            if isinstance(self.candidate_source, SearchesKnown):
                known = self.candidate_source.search_known(self._values, self.documents.spill)
            return self.candidate_source.search(self._values) if known is None else known
        values = np.concatenate([self.older.values_by_place(), self._values[:]])
        search = self.candidate_source.search(values)
        rows = self.older.searched
        ends = np.cumsum(self.older.lengths(rows).astype(np.int64))
        for start, end in _cuts(ends, len(rows)):
            for first in range(start, end, _most(search)):
                part = rows[first : min(first + _most(search), end)]
                if isinstance(search, ReadsTexts):
                    search.read(part, self.older.texts(part))
                search.add(part)
        return search

    def _ahead(self, search: AddsDocuments) -> int:
        """The place of the first new document for a search."""
        return self._first if isinstance(search, ReadsTexts) else 0

    def _read(self, search: AddsDocuments, batch: NDArray[np.int64]) -> None:
        """Give a search the texts of a batch, if it reads texts."""
        if isinstance(search, ReadsTexts) and len(batch):
            rows = self.rows[batch]
            order = np.argsort(rows, kind="stable")
            search.read(self._first + batch[order], self.documents.look_up(rows[order]))

    def _pairs_by_batches(self, search: ReadsTexts) -> CandidatePairs:
        """All pairs, those with older documents too, sorted; each is found by the later of its two documents."""
        left, right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for batch in self._batches(search):
            self._read(search, batch)
            search.add(self._first + batch)
            hits = self._find(search, batch)
            places = (self._first + batch)[hits.owners()]
            left.append(hits.places[hits.places < places])
            right.append(places[hits.places < places])
        ends = np.concatenate(left), np.concatenate(right)
        order = np.lexsort(ends[::-1])
        return CandidatePairs(ends[0][order], ends[1][order])

    def _batches(self, search: AddsDocuments | None = None, apart: Apart | None = None) -> Iterator[NDArray[np.int64]]:
        """Numbers of documents in order, in batches of limited size, by documents and by characters; with `apart` none
        holds both of a rejected pair.
        """
        start, most = 0, _most(search)
        while start < len(self.rows):
            ends = np.cumsum(self._lengths[start : start + most].astype(np.int64))
            end = start + max(int(np.searchsorted(ends, _BATCH_CHARACTERS, side="right")), 1)
            if apart is not None:
                end = apart.end(self._first + start, self._first + end) - self._first
            yield np.arange(start, end)
            start = end

    def _find(self, search: CandidateSearch | KnowsPlaces | None, batch: NDArray[np.int64]) -> CandidateLists:
        """Places of candidates for each document of the batch, ascending: older ones, then those of the search."""
        if search is None:
            none = CandidateLists(np.zeros(len(batch) + 1, np.int64), np.zeros(0, np.int64))
            return none if self.older is None else self.older.candidates(self._values[batch])
        found = search.find_at(batch) if isinstance(search, KnowsPlaces) else search.find(self._values[batch])
        if isinstance(search, ReadsTexts):
            return found
        found = CandidateLists(found.offsets, found.places + self._first, found.similarity, found.skipped)
        return found if self.older is None else self.older.candidates(self._values[batch]).followed_by(found)

    def _with_older(self, pairs: CandidatePairs) -> CandidatePairs:
        """Pairs of new documents as places, and those with older ones, sorted."""
        left = [np.minimum(pairs.left, pairs.right) + self._first]
        right = [np.maximum(pairs.left, pairs.right) + self._first]
        similarity, skipped = [pairs.similarity], pairs.skipped
        if self.older is not None:
            for batch in self._batches():
                hits = self.older.candidates(self._values[batch])
                left.append(hits.places)
                right.append((self._first + batch)[hits.owners()])
                similarity.append(hits.similarity)
                skipped += hits.skipped
        ends = np.concatenate(left), np.concatenate(right)
        order = np.lexsort(ends[::-1])
        given = [part for part in similarity if part is not None]
        verified = np.concatenate(given)[order] if len(given) == len(similarity) else None
        return CandidatePairs(ends[0][order], ends[1][order], verified, skipped)

    def _near_misses(self, search: CandidateSearch | KnowsPlaces, result: Assignment) -> NearMisses:
        """Candidates of a sample of the kept documents, which are all in the search; none of them is a match."""
        kept = np.flatnonzero(result.by < 0)
        chosen = np.sort(kept[sample_of(len(kept), self.near)])
        pairs = []
        for start in range(0, len(chosen), _most(search)):
            batch = chosen[start : start + _most(search)]
            hits = self._find(search, batch)
            owners = hits.owners()
            places = (self._first + batch)[owners]
            # Older documents are not of this run: what they remove is in none of its pairs, either.
            other = (hits.places != places) & (hits.places >= self._first)
            before = np.concatenate([[0], np.cumsum(other)])
            other &= before[:-1] - before[hits.offsets[owners]] < _NEAR
            pairs.append(np.sort(np.stack([hits.places[other], places[other]], axis=1), axis=1))
        left, right = np.unique(np.concatenate([np.zeros((0, 2), np.int64), *pairs]), axis=0).T
        similarity = self._similarities(left, right)
        compared = ~np.isnan(similarity)
        return NearMisses(left[compared], right[compared], similarity[compared], len(chosen), len(kept))

    # Absorbing

    def _absorb_into_kept(
        self,
        search: CandidateSearch | KnowsPlaces | None,
        cache: TextCache | None,
        batch: NDArray[np.int64],
        result: Assignment,
        rejected: list[tuple[Places, Places]] | None = None,
    ) -> tuple[NDArray[np.int64], int]:
        """Give each document of the batch to its first match among the kept; `rejected` grows by what labels reject.

        Returns the documents that have none, and how many were ticked already.
        """
        hits = self._find(search, batch)
        if self.apart is not None and rejected is not None:
            hits, *pairs = self.apart.without(hits, self._first + batch)
            rejected.append((pairs[0], pairs[1]))
        result.candidates += int(hits.offsets[-1])
        result.skipped += hits.skipped
        found = np.flatnonzero(np.diff(hits.offsets))
        seen = 0
        if cache is None:
            result.by[batch[found]] = hits.places[hits.offsets[found]]
            if hits.similarity is not None:
                result.similarity[batch[found]] = hits.similarity[hits.offsets[found]]
        elif len(found):
            offsets = hits.offsets[np.append(found, len(batch))]
            for part in self._parts(batch[found], offsets, hits.places):
                self._first_matches(cache, *part, result)
                self.tick(len(part[0]))
                seen += len(part[0])
        return batch[result.by[batch] < 0], seen

    def _parts(
        self, batch: NDArray[np.int64], offsets: NDArray[np.int64], candidates: Places
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Places]]:
        """Documents with their candidates, in parts of limited numbers of candidates and of characters of texts."""
        lengths = self._lengths_of(candidates)
        # A candidate counts where it first appears; a part that starts later may count it again, which is rare.
        firsts = np.zeros(len(candidates), bool)
        firsts[np.unique(candidates, return_index=True)[1]] = True
        sums = np.concatenate([[0], np.cumsum(lengths * firsts)])
        ends = sums[offsets[1:]] + np.cumsum(self._lengths[batch].astype(np.int64))
        for first, last in _cuts(ends, len(batch)):
            start = first
            while start < last:
                most = np.searchsorted(offsets, offsets[start] + _CANDIDATES, side="right") - 1
                end = min(max(int(most), start + 1), last)
                part = offsets[start : end + 1]
                yield batch[start:end], part - part[0], candidates[part[0] : part[-1]]
                start = end

    def _first_matches(
        self,
        cache: TextCache,
        batch: NDArray[np.int64],
        offsets: NDArray[np.int64],
        candidates: Places,
        result: Assignment,
    ) -> None:
        places = self._first + batch
        self._load(cache, np.concatenate([places, candidates]))
        by, similarity, verified, _, skipped = cache.first_matches(
            documents=places.astype(np.uint32),
            offsets=np.ascontiguousarray(offsets),
            candidates=candidates.astype(np.uint32),
            threshold=self.threshold,
            most=self.max_comparisons,
        )
        result.verified += verified
        result.skipped += skipped
        result.by[batch] = by
        result.similarity[batch] = similarity

    def _absorb_within(
        self, search: AddsDocuments, cache: TextCache | None, batch: NDArray[np.int64], result: Assignment
    ) -> NDArray[np.int64]:
        """Visit documents in order, each kept one absorbing later ones; the kept documents."""
        if len(batch):
            proposed = search.within(self._ahead(search) + batch)
            close = batch[proposed.close]
            if cache is not None:
                self._load(cache, self._first + close)
            places, most = self._first + close, self.max_comparisons
            by, similarity, verified, candidates, skipped = proposed.absorb(cache, places, self.threshold, most)
            result.verified += verified
            result.skipped += skipped
            result.candidates += candidates
            matched = by >= 0
            result.by[close[matched]] = self._first + close[by[matched]]
            result.similarity[close[matched]] = similarity[matched]
        return batch[result.by[batch] < 0]

    # Components

    def _join(self, labels: NDArray[np.uint32], left: Places, right: Places, result: Assignment) -> NDArray[np.uint32]:
        """Labels after the links among these candidates; pairs of one component are not verified."""
        result.candidates += len(left)
        order = np.lexsort((right, left))
        left, right = left[order], right[order]
        while len(left):
            open_pairs = labels[left] != labels[right]
            left, right = left[open_pairs], right[open_pairs]
            count = min(len(left), _PAIRS)
            now, left = np.split(left, [count])
            other, right = np.split(right, [count])
            if self.comparison is not None and len(now):
                result.verified += len(now)
                similarity, differ = self._verified(now, other, self.comparison)
                result.skipped += int(np.isnan(similarity).sum())
                matched = similarity >= self.threshold
                result.differing += int((matched & differ).sum())
                matched &= ~differ
                now, other = now[matched], other[matched]
            labels = _components(
                len(labels),
                np.concatenate([labels, now.astype(np.uint32)]),
                np.concatenate([np.arange(len(labels), dtype=np.uint32), other.astype(np.uint32)]),
            )
        return labels

    # Rejected pairs

    def _kept_apart(self, rejected: list[tuple[Places, Places]], result: Assignment) -> int:
        """How many documents match a kept one that labels reject for them, before what they are removed for."""
        if not rejected:
            return 0
        places, candidates = (np.concatenate(side) for side in zip(*rejected, strict=True))
        by = result.by[places - self._first]
        open_ = (by < 0) | (candidates < by)
        return int(self.matching(candidates[open_], places[open_])[1].sum())

    def _part(self, labels: NDArray[np.uint32], apart: Apart, result: Assignment) -> NDArray[np.uint32]:
        """Labels of which no two of a rejected pair are equal: components that hold one are made anew."""
        together = apart.together(labels)
        result.kept_apart = int(together.sum())
        if not result.kept_apart:
            return labels
        members = np.flatnonzero(np.isin(labels, labels[apart.left[together]]))
        new = members[members >= self._first] - self._first
        part = replace(self, rows=self.rows[new], tick=lambda _: None, cache=None, near=0, apart=None)
        left, right, similarity, skipped = part.links()
        result.skipped += skipped
        # Places of the part: older documents as here, then its own.
        here = np.concatenate([np.arange(self._first), self._first + new])
        left, right = here[left], here[right]
        inside = labels[left] == labels[right]
        labels = labels.copy()
        labels[members] = apart.separate(members, left[inside], right[inside], similarity[inside])
        return labels

    # Similarities, and what older and new documents hold, by place

    def matching(self, left: Places, right: Places) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Similarities of pairs of places, and whether they match, by texts; or all by the family."""
        if self.comparison is None:
            return self._similarities(left, right), np.ones(len(left), bool)
        similarity, differ = self._verified(left, right, self.comparison)
        return similarity, (similarity >= self.threshold) & ~differ

    def _similarities(self, left: Places, right: Places) -> NDArray[np.float64]:
        """By texts, or by the family where texts are not compared."""
        if self.comparison is not None:
            return self._verified(left, right, self.comparison)[0]
        parts = [np.zeros(0)]
        for start in range(0, len(left), _PAIRS):
            ends = (self._values_of(side[start : start + _PAIRS]) for side in (left, right))
            parts.append(self.candidate_source.similarities(*ends))
        return np.concatenate(parts)

    def _verified(
        self, left: Places, right: Places, comparison: TextComparison
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Similarities by texts, and whether the texts differ."""
        cache = self.cache if self.cache is not None else comparison.cache(_CACHE_BYTES)
        ends = np.cumsum(self._lengths_of(left) + self._lengths_of(right))
        similarity, differ = np.zeros(len(left)), np.zeros(len(left), bool)
        for start, end in _cuts(ends, len(left)):
            now, other = left[start:end].astype(np.uint32), right[start:end].astype(np.uint32)
            self._load(cache, np.concatenate([now, other]))
            similarity[start:end] = cache.similarities(now, other, left_out=True)
            if comparison.differ:
                differ[start:end] = cache.which_differ(now, other)
        return similarity, differ

    def _cache(self) -> TextCache | None:
        if self.cache is not None:
            return self.cache
        return None if self.comparison is None else self.comparison.cache(_CACHE_BYTES)

    def _load(self, cache: TextCache, places: Places) -> None:
        """Make the texts of some places ready to be compared, by place."""
        missing = cache.missing(np.unique(places).astype(np.uint32))
        if len(missing):
            cache.shrink()
        older, new = missing[missing < self._first], missing[missing >= self._first]
        if self.older is not None and len(older):
            older = np.sort(older)
            held = self.older.texts(older.astype(np.int64))
            if isinstance(held, FeatureSets):
                cache.add_sets(older, held.offsets, held.hashes)
            else:
                cache.add(older, held)
        if len(new):
            rows = self.rows[new.astype(np.int64) - self._first]
            order = np.argsort(rows, kind="stable")
            cache.add(new[order], self.documents.look_up(rows[order]))

    def _values_of(self, places: Places) -> Values:
        new = places >= self._first
        # Copies of the first new document where an older one goes: wherever there is a pair there is a new document.
        values = self._values[np.where(new, places - self._first, 0)]
        if self.older is not None and not new.all():
            values[~new] = self.older.values(places[~new])
        return values

    def _lengths_of(self, places: Places) -> NDArray[np.int64]:
        new = places >= self._first
        lengths = np.zeros(len(places), np.int64)
        lengths[new] = self._lengths[places[new] - self._first]
        if self.older is not None and not new.all():
            lengths[~new] = self.older.lengths(places[~new])
        return lengths


def sample_of(count: int, size: int) -> NDArray[np.int64]:
    """`size` of the numbers below `count`, those with the smallest hashes: a random sample, always the same."""
    mixed = np.arange(count, dtype=np.uint64) + np.uint64(1)
    # SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")[:size]


def _most(search: AddsDocuments | None) -> int:
    """Documents of a batch."""
    return min(_BATCH, search.most) if isinstance(search, ReadsTexts) else _BATCH


def _cuts(ends: NDArray[np.int64], count: int) -> Iterator[tuple[int, int]]:
    """First and last (exclusive) of pieces of `count` items with at most `_BATCH_CHARACTERS`, or one item.

    `ends` is the running sum of the items' characters.
    """
    start = 0
    while start < count:
        before = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, before + _BATCH_CHARACTERS, side="right")), start + 1)
        yield start, end
        start = end
