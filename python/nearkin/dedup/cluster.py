"""Clustering rules: keep-then-absorb, and connected components.

**Keep, then absorb.** Documents are visited in keep order. One that no other has absorbed is kept and absorbs every
later candidate whose verified similarity reaches the threshold. So no chain forms, no two kept documents match, and a
second run removes nothing. The order is split into batches. Each document of a batch is first compared with its
candidates among the reference documents and the kept ones of earlier batches, in keep order until the first match; the
remaining ones absorb each other within the batch. Kernel: `crates/nearkin-core/src/dedup/absorb.rs`. With `best`, each
removed document then joins the most similar of the kept ones before it: among reference documents, if one matches, and
ties in keep order. The kept documents are the same.

**Connected components.** Every candidate that verifies joins two documents; the first of a component in keep order is
kept. A chain of small changes is one component. Candidates that are already connected are not verified.

Both rules separate pairs that a person labelled different; `join` merges the clusters of pairs labelled same
(`nearkin.dedup.constraints`).

**Lossless.** With `lossless` a kept document absorbs a match only if it is not shorter and has all its features. Each
document visits its candidates in keep order until the first such match, so the result is that of a visit one by one.

Candidates come from the family's `CandidateSearch` (`nearkin.dedup.candidates`) and from the `ReferenceCorpus`, whose
documents are visited first. Before texts are read, the family may drop pairs by its values
(`FilteredCandidateSource`). *Ordinals* number both in the order of visits: reference documents by their row, then the
new ones.

Cost: one search per document and, if it has candidates, at least one verification. Memory: the index of the kept
documents, the texts compared at once (at most `_BATCH_CHARACTERS`, or one longer text), and `_CACHE_BYTES` of feature
sets for later batches. Components also need the candidates of a batch, whose number grows with the size of a cluster,
and 4 bytes for each reference document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache, feature_sets
from nearkin._core import components as _components
from nearkin.dedup.candidates import (
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    CandidateSource,
    DocumentSearch,
    FilteredCandidateSource,
    ListedBatch,
    OrderedValues,
    Ordinals,
    StaticCandidateSource,
    StaticSearch,
    TextBatch,
    TextSearch,
    Values,
)
from nearkin.dedup.candidates.base import chunk_ranges, distinct
from nearkin.dedup.checkpoint import Arrays, StageLog
from nearkin.dedup.constraints import CannotLink, Components
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.reference import PrecedingReference, ReferenceCorpus
from nearkin.dedup.verify import TEXT_MEASURES, FeatureSets, TextMeasure

MAX_COMPARISONS = 10_000
"""Default maximum number of candidates compared with one document, about ten milliseconds."""
_BATCH = 4096
"""Documents of a batch b: b / 2 distances per document within it, against better batches for the index."""
_BATCH_CHARACTERS = 1 << 24
"""Characters of different texts that are compared at once; their feature sets take up to eight bytes per character."""
_CACHE_BYTES = 64 << 20
"""Bytes of feature sets that are kept for later batches."""
_CANDIDATES = 1 << 22
"""Candidates verified by one call: about a second, after which progress is reported."""
_MAX_NEAR_MISSES = 64
"""Maximum number of near misses of one sampled document."""
_PAIRS = 1 << 16
"""Pairs that are verified, or whose values are copied, at once."""

_COUNTS = ("candidates", "verified", "skipped", "differing", "kept_for_text")
"""Counts of an `Assignment` that grow with every batch."""

Batch = NDArray[np.int64]
"""Documents by their position in `Clusterer.rows`; an ordinal is this plus the number of reference documents."""


@dataclass(frozen=True)
class NearMisses:
    """Candidates among the kept documents that are no matches, for a random sample of the kept ones.

    Attributes
    ----------
    left, right : (m,) int64
        Ordinals, left before right; each pair once, sorted.
    similarity : (m,) float64
        Below the threshold, or of texts that differ by a rule or that labels separate.
    sampled, kept : int
        Size of the sample, and number of kept new documents. A pair is in the sample with probability
        1 − (1 − p)(1 − p'), p = sampled / kept and p' = sampled / (kept − 1). No pair has a reference document.
    """

    left: Ordinals
    right: Ordinals
    similarity: NDArray[np.float64]
    sampled: int
    kept: int


@dataclass
class Assignment:
    """The result of a `Clusterer`, by position in its rows.

    Attributes
    ----------
    by : (n,) int64
        Ordinal of the document that absorbed this one; -1 for a kept one.
    similarity : (n,) float64
        Verified similarity to it; NaN for kept documents and without verification.
    candidates, verified : int
        Numbers of proposed pairs that the rule considered, and of pairs verified by their texts.
    skipped : int
        Number of comparisons beyond the limit of a document, and of look-ups that the family left out.
    differing : int
        Number of pairs that were similar enough but differ by a rule.
    kept_for_text : int
        With `lossless` the number of kept documents that match an earlier kept one, which lacks some of their text.
    near : NearMisses or None
        If requested.
    kept_apart : int
        Number of rejected pairs that would have been a removed document and its representative, or in one component.
    joined, not_joined : int
        Numbers of pairs labelled same whose clusters were merged, and of those that had to stay apart.
    labelled : (n,) bool or None
        True for documents that a label alone merged with their document: their similarity is below the threshold. None
        if there are no such documents.
    """

    by: Ordinals
    similarity: NDArray[np.float64]
    candidates: int = 0
    verified: int = 0
    skipped: int = 0
    differing: int = 0
    kept_for_text: int = 0
    near: NearMisses | None = None
    kept_apart: int = 0
    joined: int = 0
    not_joined: int = 0
    labelled: NDArray[np.bool_] | None = None

    @classmethod
    def all_kept(cls, count: int) -> Assignment:
        """Return the result that keeps all documents."""
        return cls(np.full(count, -1, np.int64), np.full(count, np.nan))


@dataclass
class Clusterer:
    """Documents and parameters of both rules.

    Parameters
    ----------
    candidate_source : CandidateSource
        Proposes candidates.
    comparison : TextMeasure or None
        Verifies candidates; with None every candidate is a match.
    threshold : float
        Smallest similarity of a match, inclusive.
    documents : HashedDocuments
    rows : (n,) int64
        Rows of the documents to cluster, in keep order.
    reference : ReferenceCorpus, optional
        Visited before them, and always kept.
    tick : function
        Called with the number of documents that were compared, also within a batch.
    cache : TextCache, optional
        Of `comparison`, to share between instances that number the same texts by the same ordinals.
    max_comparisons : int
        Maximum number of candidates compared with one document; the rest are no matches, and counted.
    near_misses : int
        Number of kept documents to search for near misses.
    constraints : CannotLink, optional
        Rejected pairs, which the rule separates.
    lossless : bool
        Remove a document only for one that is not shorter and has all its features. Needs a comparison and `absorb`.
    best : bool
        A removed document joins its most similar match, not its first one. Needs a family that computes similarities,
        no comparison, and `absorb`.
    log : function, optional
        Returns the log of a kind of results, from which those of an earlier run are taken and to which new ones go.
    """

    candidate_source: CandidateSource
    comparison: TextMeasure | None
    threshold: float
    documents: HashedDocuments
    rows: Ordinals
    reference: ReferenceCorpus | None = None
    tick: Callable[[int], None] = field(default=lambda _: None)
    cache: TextCache | None = None
    max_comparisons: int = MAX_COMPARISONS
    near_misses: int = 0
    constraints: CannotLink | None = None
    lossless: bool = False
    best: bool = False
    log: Callable[[str], StageLog] | None = None

    def __post_init__(self) -> None:
        self._values = OrderedValues(self.documents.values, self.rows)
        self._lengths = OrderedValues(self.documents.lengths, self.rows)
        # Ordinal of the first new document.
        self._first = 0 if self.reference is None else len(self.reference)
        self._sizes: NDArray[np.int64] | None = None
        self._contained: Clusterer | None = None

    # Rules

    def absorb(self) -> Assignment:
        """Keep, then absorb."""
        result = Assignment.all_kept(len(self.rows))
        rejected: list[tuple[Ordinals, Ordinals]] = []
        log, decided = self._open_log("decisions"), 0
        for part, saved in self._restore(log, result):
            result.by[part], result.similarity[part], decided = saved["by"], saved["similarity"], part.stop
            rejected.append((saved["documents"], saved["candidates"]))
        if decided == len(self.rows) and not self.near_misses:
            self.tick(decided)
            result.kept_apart = self._count_kept_apart(rejected, result)
            return result
        search, cache = self._search(), self._cache()
        if self.lossless:
            self.cache = cache
        # Pairs that differ in this run and in earlier ones are counted together.
        differing = (0 if cache is None else cache.differing) - result.differing

        def decisions(part: slice) -> Arrays:
            sides = [np.concatenate([np.zeros(0, np.int64), *side]) for side in zip(*rejected, strict=True)]
            documents, candidates = sides or [np.zeros(0, np.int64)] * 2
            new = (documents >= self._first + part.start) & (documents < self._first + part.stop)
            own = {"documents": documents[new], "candidates": candidates[new]}
            return {"by": result.by[part], "similarity": result.similarity[part], **own}

        for batch in self._batches(search, self.constraints):
            self._read(search, batch)
            remaining, ticked = batch, 0
            if batch[0] < decided:
                remaining = batch[result.by[batch] < 0]
            elif self.lossless:
                remaining = self._absorb_lossless(search, batch, result)
            else:
                if self._first or len(search):
                    remaining, ticked = self._absorb_into_kept(search, cache, batch, result, rejected)
                remaining = self._absorb_within(search, cache, remaining, result)
            # No later batch searches what the last one keeps.
            if batch[-1] + 1 < len(self.rows) or self.near_misses or self.best:
                search.add(self._search_first(search) + remaining)
            self.tick(len(batch) - ticked)
            if not self.lossless:
                result.differing = 0 if cache is None else cache.differing - differing
            self._save(log, result, int(batch[-1]) + 1, decisions)
        result.kept_apart = self._count_kept_apart(rejected, result)
        if self.best:
            self._join_best(search, result)
        if self.near_misses and self.comparison is not None and not isinstance(search, TextSearch):
            result.near = self._find_near_misses(search, result)
        return result

    def match_reference(self) -> Assignment:
        """Assign each document to its first match among the reference documents: the first half of `absorb`."""
        result = Assignment.all_kept(len(self.rows))
        cache = self._cache()
        differing = 0 if cache is None else cache.differing
        for batch in self._batches():
            _, ticked = self._absorb_into_kept(None, cache, batch, result)
            self.tick(len(batch) - ticked)
        result.differing = 0 if cache is None else cache.differing - differing
        return result

    def components(self) -> Assignment:
        """Find connected components; the similarity is that to the kept document, possibly below the threshold."""
        result = Assignment.all_kept(len(self.rows))
        n = self._first + len(self.rows)
        labels = np.arange(n, dtype=np.uint32)
        log, decided = self._open_log("decisions"), 0
        for part, saved in self._restore(log, result):
            labels[saved["changed"]], decided = saved["labels"], part.stop
        search = self._search()
        before = labels

        def changes(part: slice) -> Arrays:
            nonlocal before
            changed = np.flatnonzero(labels != before)
            before = labels
            return {"changed": changed, "labels": labels[changed]}

        for batch in self._batches(search):
            self._read(search, batch)
            search.add(self._search_first(search) + batch)
            if batch[0] < decided:
                self.tick(len(batch))
                continue
            lists = self._likely_candidates(search, batch)
            result.skipped += lists.skipped
            owners = lists.owners()
            left, right = lists.ordinals, (self._first + batch)[owners]
            earlier = left < right
            if self.comparison is not None:
                # Candidates ascend, so the first ones of each document are earlier documents.
                within = np.arange(len(left)) - lists.offsets[owners] < self.max_comparisons
                result.skipped += int((earlier & ~within).sum())
                earlier &= within
            labels = self._join(labels, left[earlier], right[earlier], result)
            self.tick(len(batch))
            self._save(log, result, int(batch[-1]) + 1, changes)
        if self.constraints is not None:
            labels = self._split_components(labels, self.constraints, result)
        members = np.flatnonzero(labels != np.arange(n))
        members = members[members >= self._first]
        heads = labels[members].astype(np.int64)
        result.by[members - self._first] = heads
        result.similarity[members - self._first] = self._similarities(heads, members, "heads")
        return result

    def join(self, pairs: NDArray[np.int64], result: Assignment) -> None:
        """Merge the clusters of pairs of ordinals, left before right; their first kept document stays.

        Two reference documents, and clusters that have both documents of a rejected pair, are not merged.
        """
        heads = np.arange(self._first + len(self.rows))
        removed = np.flatnonzero(result.by >= 0)
        heads[self._first + removed] = result.by[removed]
        apart = heads[pairs[heads[pairs[:, 0]] != heads[pairs[:, 1]]]]
        if not len(apart):
            return
        rejected: dict[int, set[int]] = {}
        constraints = () if self.constraints is None else (self.constraints.left, self.constraints.right)
        for a, b in zip(*(heads[side].tolist() for side in constraints), strict=True):
            rejected.setdefault(a, set()).add(b)
            rejected.setdefault(b, set()).add(a)
        members = np.unique(apart)
        components = Components([*members.tolist(), *(rejected.keys() - set(members.tolist()))], rejected)
        for a, b in apart.tolist():
            if max(components.head(a), components.head(b)) >= self._first:
                components.join(a, b)
        merged = heads.copy()
        merged[members] = [components.head(member) for member in members.tolist()]
        merged = merged[heads]
        changed = np.flatnonzero(merged != heads)
        result.by[changed - self._first] = merged[changed]
        similarity = self._similarities(merged[changed], changed)
        result.similarity[changed - self._first] = similarity
        # NaN, without verification, is no evidence either.
        result.labelled = np.zeros(len(result.by), bool)
        result.labelled[changed - self._first] = ~(similarity >= self.threshold)
        result.joined = int((merged[apart[:, 0]] == merged[apart[:, 1]]).sum())
        result.not_joined = len(apart) - result.joined
        if result.near is not None:
            near = result.near
            others = merged[near.left] != merged[near.right]
            result.near = replace(
                near, left=near.left[others], right=near.right[others], similarity=near.similarity[others]
            )

    def links(self) -> tuple[Ordinals, Ordinals, NDArray[np.float64], int]:
        """Return every verified link: left, right (left before right), similarity, number of skipped look-ups.

        It leaves out links between reference documents and rejected pairs. Links are sorted by left, then right. The
        similarity is NaN without verification. If look-ups were skipped, links may be missing.
        """
        search = self._search()
        if isinstance(search, TextSearch):
            pairs = self._batch_pairs(search)
        else:
            search.add(np.arange(len(self.rows)))
            pairs = self._with_reference_pairs(search.pairs())
        if pairs.similarity is not None:
            similarity, matched = pairs.similarity, np.ones(len(pairs.left), bool)
        else:
            likely = self._are_likely(pairs.left, pairs.right)
            pairs = CandidatePairs(pairs.left[likely], pairs.right[likely], skipped=pairs.skipped)
            similarity, matched = self.verify_pairs(pairs.left, pairs.right, "links")
        if self.constraints is not None:
            matched &= ~self.constraints.contains(pairs.left, pairs.right)
        if self.lossless:
            matched[matched] = ~self._loses_text(pairs.left[matched], pairs.right[matched], similarity[matched])
        return pairs.left[matched], pairs.right[matched], similarity[matched], pairs.skipped

    # Candidates

    def _search(self) -> CandidateSearch | StaticSearch:
        """Return an empty search among the new documents; a `TextSearch` already has the reference documents."""
        if not isinstance(self.reference, PrecedingReference):
            static = None
            if isinstance(self.candidate_source, StaticCandidateSource):
                static = self.candidate_source.static_search(self._values, self.documents.spill)
            return self.candidate_source.search(self._values) if static is None else static
        search = self.candidate_source.search(np.concatenate([self.reference.search_values(), self._values[:]]))
        rows = self.reference.searched
        ends = np.cumsum(self.reference.lengths(rows).astype(np.int64))
        for start, end in chunk_ranges(ends, _BATCH_CHARACTERS):
            for first in range(start, end, _max_batch(search)):
                chunk = rows[first : min(first + _max_batch(search), end)]
                if isinstance(search, TextSearch):
                    search.read(chunk, self.reference.texts(chunk))
                search.add(chunk)
        return search

    def _search_first(self, search: DocumentSearch) -> int:
        """Return the ordinal of the first new document in a search."""
        return self._first if isinstance(search, TextSearch) else 0

    def _read(self, search: DocumentSearch, batch: Batch) -> None:
        """Pass the texts of a batch to a `TextSearch`."""
        if isinstance(search, TextSearch) and len(batch):
            rows = self.rows[batch]
            order = np.argsort(rows, kind="stable")
            search.read(self._first + batch[order], self.documents.look_up(rows[order]))

    def _batch_pairs(self, search: TextSearch) -> CandidatePairs:
        """Return all pairs, including those with reference documents, sorted; the later document finds each."""
        left, right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for batch in self._batches(search):
            self._read(search, batch)
            search.add(self._first + batch)
            lists = self._find(search, batch)
            owners = (self._first + batch)[lists.owners()]
            left.append(lists.ordinals[lists.ordinals < owners])
            right.append(owners[lists.ordinals < owners])
        return _sorted_pairs(left, right)

    def _batches(self, search: DocumentSearch | None = None, constraints: CannotLink | None = None) -> Iterator[Batch]:
        """Yield the documents in batches of limited numbers of documents and characters.

        With `constraints` no batch has both documents of a rejected pair.
        """
        start, size = 0, _max_batch(search)
        while start < len(self.rows):
            ends = np.cumsum(self._lengths[start : start + size].astype(np.int64))
            end = start + max(int(np.searchsorted(ends, _BATCH_CHARACTERS, side="right")), 1)
            if constraints is not None:
                end = constraints.batch_end(self._first + start, self._first + end) - self._first
            yield np.arange(start, end)
            start = end

    def _find(
        self, search: CandidateSearch | StaticSearch | None, batch: Batch, *, likely: bool = False
    ) -> CandidateLists:
        """Return the candidates of each document of the batch, ascending: reference documents, then the search's.

        With `likely` a static search leaves out those whose values exclude a match.
        """
        lists = CandidateLists(np.zeros(len(batch) + 1, np.int64), np.zeros(0, np.int64))
        if search is not None:
            if isinstance(search, StaticSearch):
                lists = search.find_at(batch, likely=likely)
            else:
                lists = search.find(self._values[batch])
            if isinstance(search, TextSearch):
                return lists
            lists = replace(lists, ordinals=lists.ordinals + self._first)
        if self.reference is None:
            return lists
        candidates = self.reference.candidates(self._values[batch])
        return candidates if search is None else candidates.followed_by(lists)

    def _likely_candidates(self, search: CandidateSearch | StaticSearch | None, batch: Batch) -> CandidateLists:
        """Return the candidates of each document of the batch that are worth a verification."""
        lists = self._find(search, batch, likely=True)
        is_filtered = isinstance(search, StaticSearch) and self.reference is None
        if is_filtered or not isinstance(self.candidate_source, FilteredCandidateSource):
            return lists
        return lists.select(self._are_likely(lists.ordinals, (self._first + batch)[lists.owners()]))

    def _are_likely(self, left: Ordinals, right: Ordinals) -> NDArray[np.bool_]:
        """Return False for pairs that the values of the family exclude."""
        likely = np.ones(len(left), bool)
        if isinstance(self.candidate_source, FilteredCandidateSource):
            for start in range(0, len(left), _PAIRS):
                chunk = slice(start, start + _PAIRS)
                sides = self._values_of(left[chunk]), self._values_of(right[chunk])
                likely[chunk] = self.candidate_source.are_likely(*sides)
        return likely

    def _with_reference_pairs(self, pairs: CandidatePairs) -> CandidatePairs:
        """Return pairs of new documents as ordinals, with those of reference documents, sorted."""
        left = [np.minimum(pairs.left, pairs.right) + self._first]
        right = [np.maximum(pairs.left, pairs.right) + self._first]
        similarity, skipped = [pairs.similarity], pairs.skipped
        if self.reference is not None:
            for batch in self._batches():
                lists = self.reference.candidates(self._values[batch])
                left.append(lists.ordinals)
                right.append((self._first + batch)[lists.owners()])
                similarity.append(lists.similarity)
                skipped += lists.skipped
        return _sorted_pairs(left, right, similarity, skipped)

    def _find_near_misses(self, search: CandidateSearch | StaticSearch, result: Assignment) -> NearMisses:
        """Return candidates of a sample of the kept documents; all kept ones are in the search, and none matches."""
        kept = np.flatnonzero(result.by < 0)
        sample = np.sort(kept[sample_numbers(len(kept), self.near_misses)])
        pairs = []
        for start in range(0, len(sample), _max_batch(search)):
            batch = sample[start : start + _max_batch(search)]
            lists = self._find(search, batch)
            owners = lists.owners()
            ordinals = (self._first + batch)[owners]
            # Pairs with reference documents are no pairs of this run.
            other = (lists.ordinals != ordinals) & (lists.ordinals >= self._first)
            before = np.concatenate([[0], np.cumsum(other)])
            other &= before[:-1] - before[lists.offsets[owners]] < _MAX_NEAR_MISSES
            pairs.append(np.sort(np.stack([lists.ordinals[other], ordinals[other]], axis=1), axis=1))
        left, right = np.unique(np.concatenate([np.zeros((0, 2), np.int64), *pairs]), axis=0).T
        similarity = self._similarities(left, right)
        compared = ~np.isnan(similarity)
        return NearMisses(left[compared], right[compared], similarity[compared], len(sample), len(kept))

    # Keep, then absorb

    def _absorb_into_kept(
        self,
        search: CandidateSearch | StaticSearch | None,
        cache: TextCache | None,
        batch: Batch,
        result: Assignment,
        rejected: list[tuple[Ordinals, Ordinals]] | None = None,
    ) -> tuple[Batch, int]:
        """Assign each document of the batch to its first match among the kept ones.

        Append pairs that constraints reject to `rejected`. Return the documents without a match, and the number of
        documents already passed to `tick`.
        """
        lists = self._likely_candidates(search, batch)
        if self.constraints is not None and rejected is not None:
            lists, documents, candidates = self.constraints.filter(lists, self._first + batch)
            rejected.append((documents, candidates))
        result.candidates += int(lists.offsets[-1])
        result.skipped += lists.skipped
        matched = np.flatnonzero(np.diff(lists.offsets))
        ticked = 0
        if cache is None:
            result.by[batch[matched]] = lists.ordinals[lists.offsets[matched]]
            if lists.similarity is not None:
                result.similarity[batch[matched]] = lists.similarity[lists.offsets[matched]]
        elif len(matched):
            offsets = lists.offsets[np.append(matched, len(batch))]
            for chunk in self._verification_chunks(batch[matched], offsets, lists.ordinals):
                self._match_first(cache, *chunk, result)
                self.tick(len(chunk[0]))
                ticked += len(chunk[0])
        return batch[result.by[batch] < 0], ticked

    def _verification_chunks(
        self, batch: Batch, offsets: NDArray[np.int64], candidates: Ordinals, whole: float = np.inf
    ) -> Iterator[tuple[Batch, NDArray[np.int64], Ordinals, Ordinals]]:
        """Halve a list of documents with their candidates until each part has few and short ones.

        A half that needs most of the texts of the `whole`, counted in characters, is not halved for their length: each
        part would read them again. Yield documents, offsets, candidates, and these each once.
        """
        texts = distinct(candidates)
        characters = int(self._lengths_of(texts).sum() + self._lengths[batch].sum(dtype=np.int64))
        is_short = characters <= _BATCH_CHARACTERS or characters > 0.75 * whole
        if len(batch) == 1 or (len(candidates) <= _CANDIDATES and is_short):
            yield batch, offsets, candidates, texts
            return
        half = len(batch) // 2
        for part, bounds in ((batch[:half], offsets[: half + 1]), (batch[half:], offsets[half:])):
            own = candidates[bounds[0] : bounds[-1]]
            yield from self._verification_chunks(part, bounds - bounds[0], own, characters)

    def _match_first(
        self,
        cache: TextCache,
        batch: Batch,
        offsets: NDArray[np.int64],
        candidates: Ordinals,
        texts: Ordinals,
        result: Assignment,
    ) -> None:
        """Assign each document to its first candidate that matches; `texts` are the candidates, each once."""
        ordinals = self._first + batch
        self._load(cache, np.concatenate([ordinals, texts]))
        by, similarity, verified, _, skipped = cache.first_matches(
            documents=ordinals.astype(np.uint32),
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
        self, search: DocumentSearch, cache: TextCache | None, batch: Batch, result: Assignment
    ) -> Batch:
        """Visit documents in order, each kept one absorbing later ones; return the kept ones."""
        if len(batch):
            candidates = search.within(self._search_first(search) + batch)
            is_filtered = isinstance(search, StaticSearch)
            is_filtered |= not isinstance(self.candidate_source, FilteredCandidateSource)
            if isinstance(candidates, ListedBatch) and not is_filtered:
                left, right = candidates.pairs()
                ordinals = self._first + batch
                candidates = candidates.select(self._are_likely(ordinals[left], ordinals[right]))
            close = batch[candidates.close]
            ordinals = self._first + close
            if cache is not None:
                self._load(cache, ordinals)
            by, similarity, *counts = candidates.absorb(cache, ordinals, self.threshold, self.max_comparisons)
            result.verified += counts[0]
            result.candidates += counts[1]
            result.skipped += counts[2]
            matched = by >= 0
            result.by[close[matched]] = ordinals[by[matched]]
            result.similarity[close[matched]] = similarity[matched]
        return batch[result.by[batch] < 0]

    def _join_best(self, search: CandidateSearch | StaticSearch, result: Assignment) -> None:
        """Assign each removed document to the most similar of its candidates before it; all kept ones are searched."""
        for batch in self._batches():
            removed = batch[result.by[batch] >= 0]
            lists = self._find(search, removed)
            if self.constraints is not None:
                lists, _, _ = self.constraints.filter(lists, self._first + removed)
            owners, ordinals = lists.owners(), lists.ordinals
            similarity = np.zeros(0) if lists.similarity is None else lists.similarity
            order = np.lexsort((ordinals, -similarity, ordinals >= self._first, owners))
            order = order[ordinals[order] < (self._first + removed)[owners[order]]]
            best = order[np.unique(owners[order], return_index=True)[1]]
            result.by[removed[owners[best]]] = ordinals[best]
            result.similarity[removed[owners[best]]] = similarity[best]

    # Keep, then absorb without a loss of text

    def _absorb_lossless(self, search: CandidateSearch | StaticSearch, batch: Batch, result: Assignment) -> Batch:
        """Assign each document to its first match that has all its text; return the kept ones."""
        lists = CandidateLists(np.zeros(len(batch) + 1, np.int64), np.zeros(0, np.int64))
        if self._first or len(search):
            lists = self._likely_candidates(search, batch)
            result.candidates += len(lists.ordinals)
        skipped, lists = lists.skipped, lists.followed_by(self._candidates_within(search, batch))
        result.skipped += skipped
        ordinals, ends = self._first + batch, lists.offsets[1:]
        at, compared = lists.offsets[:-1].copy(), np.zeros(len(batch), np.int64)
        loses = np.zeros(len(batch), bool)
        undecided = at < ends
        # In each round every document whose next candidate is decided visits it. The first one always can.
        while len(open_ := np.flatnonzero(undecided)):
            candidates = lists.ordinals[at[open_]]
            own = np.searchsorted(ordinals, candidates)
            within = candidates >= ordinals[0]
            waits, absorbed = np.zeros((2, len(open_)), bool)
            waits[within] = undecided[own[within]]
            absorbed[within] = result.by[batch[own[within]]] >= 0
            visits = ~waits & ~absorbed
            result.candidates += int((visits & within).sum())
            documents, candidates = open_[visits], candidates[visits]
            result.by[batch[documents]], similarity, lost = self._match_lossless(
                candidates, ordinals[documents], result
            )
            matched = result.by[batch[documents]] >= 0
            result.similarity[batch[documents[matched]]] = similarity[matched]
            loses[documents] |= lost
            compared[documents] += 1
            at[open_[~waits]] += 1
            full = documents[~matched & (compared[documents] == self.max_comparisons)]
            result.skipped += int((ends - at)[full].sum())
            at[full] = ends[full]
            undecided = (at < ends) & (result.by[batch] < 0)
        kept = result.by[batch] < 0
        result.kept_for_text += int((kept & loses).sum())
        return batch[kept]

    def _candidates_within(self, search: DocumentSearch, batch: Batch) -> CandidateLists:
        """Return for each document of the batch the earlier ones of the batch that may match it."""
        candidates = search.within(self._search_first(search) + batch)
        if not isinstance(candidates, ListedBatch):
            pairs = self.candidate_source.search(self._values[batch])
            pairs.add(np.arange(len(batch)))
            candidates = ListedBatch.of(pairs.pairs())
        ordinals = self._first + batch
        left, right = candidates.pairs()
        likely = self._are_likely(ordinals[left], ordinals[right])
        lists = CandidateLists.of_pairs(right[likely], ordinals[left[likely]], len(batch))
        return replace(lists, skipped=candidates.skipped)

    def _match_lossless(
        self, candidates: Ordinals, documents: Ordinals, result: Assignment
    ) -> tuple[Ordinals, NDArray[np.float64], NDArray[np.bool_]]:
        """Compare each document with one candidate.

        Return the candidate if it matches and has all its text, or -1; the similarity; True for a match without it.
        """
        similarity, matched = np.zeros(len(documents)), np.zeros(len(documents), bool)
        if self.comparison is not None and len(documents):
            similarity, differ = self._verify(candidates, documents, self.comparison)
            result.verified += len(documents)
            result.skipped += int(np.isnan(similarity).sum())
            matched = similarity >= self.threshold
            result.differing += int((matched & differ).sum())
            matched &= ~differ
        lost = matched.copy()
        lost[matched] = self._loses_text(candidates[matched], documents[matched], similarity[matched])
        return np.where(matched & ~lost, candidates, -1), similarity, lost

    def _loses_text(self, kept: Ordinals, removed: Ordinals, similarity: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return True for pairs whose first document is shorter, or lacks a feature of the second.

        A has all features of B if their containment is 1 and |B| <= |A|, or their Jaccard similarity is |B| / |A|:
        both are exact for fewer than 2**26 features.
        """
        lost = self._lengths_of(kept) < self._lengths_of(removed)
        if self.comparison is None or lost.all():
            return lost
        larger, smaller = self._count_features(kept, self.comparison), self._count_features(removed, self.comparison)
        if self.comparison.measure == "jaccard":
            lost |= similarity != smaller / np.maximum(larger, 1)
            return lost
        if self.comparison.measure in TEXT_MEASURES:
            if self._contained is None:
                measure = replace(self.comparison, measure="containment", differ=())
                self._contained = replace(self, comparison=measure, cache=measure.cache(_CACHE_BYTES), log=None)
            similarity = self._contained._similarities(kept, removed)
        lost |= (similarity < 1) | (smaller > larger)
        return lost

    def _count_features(self, ordinals: Ordinals, comparison: TextMeasure) -> NDArray[np.int64]:
        """Return the numbers of distinct features of documents; their texts are read once."""
        if self._sizes is None:
            self._sizes = np.full(self._first + len(self.rows), -1, np.int64)
        missing = distinct(ordinals[self._sizes[ordinals] < 0])
        for start, end in chunk_ranges(np.cumsum(self._lengths_of(missing)), _BATCH_CHARACTERS):
            chunk = missing[start:end]
            for side in (chunk[chunk < self._first], chunk[chunk >= self._first]):
                if not len(side):
                    continue
                if side[0] < self._first and self.reference is not None:
                    texts = self.reference.texts(side)
                else:
                    rows = self.rows[side - self._first]
                    order = np.argsort(rows, kind="stable")
                    side, texts = side[order], self._read_rows(rows[order])
                if isinstance(texts, FeatureSets):
                    self._sizes[side] = np.diff(texts.offsets)
                else:
                    self._sizes[side] = np.diff(feature_sets(comparison.recipe.core, texts)[0])
        return self._sizes[ordinals]

    # Components

    def _join(
        self, labels: NDArray[np.uint32], left: Ordinals, right: Ordinals, result: Assignment
    ) -> NDArray[np.uint32]:
        """Return labels after the links among these candidates; pairs within a component are not verified."""
        result.candidates += len(left)
        order = np.lexsort((right, left))
        left, right = left[order], right[order]
        while len(left):
            separate = labels[left] != labels[right]
            left, right = left[separate], right[separate]
            a, left = left[:_PAIRS], left[_PAIRS:]
            b, right = right[:_PAIRS], right[_PAIRS:]
            if self.comparison is not None and len(a):
                result.verified += len(a)
                similarity, differ = self._verify(a, b, self.comparison)
                result.skipped += int(np.isnan(similarity).sum())
                matched = similarity >= self.threshold
                result.differing += int((matched & differ).sum())
                matched &= ~differ
                a, b = a[matched], b[matched]
            labels = _components(
                len(labels),
                np.concatenate([labels, a.astype(np.uint32)]),
                np.concatenate([np.arange(len(labels), dtype=np.uint32), b.astype(np.uint32)]),
            )
        return labels

    # Results of earlier runs

    def _open_log(self, kind: str) -> StageLog | None:
        return None if self.log is None else self.log(kind)

    def _restore(self, log: StageLog | None, result: Assignment) -> Iterator[tuple[slice, Arrays]]:
        """Yield ranges of documents and the decisions on them; set the counts of `result` to those after them."""
        if log is not None:
            for part, counts, arrays in log.restore():
                for name in _COUNTS:
                    setattr(result, name, counts[name])
                yield part, arrays

    def _save(self, log: StageLog | None, result: Assignment, end: int, arrays: Callable[[slice], Arrays]) -> None:
        """Offer decisions on the documents before `end` to the log."""
        if log is not None:
            counts = {name: getattr(result, name) for name in _COUNTS}
            log.save(end, counts, arrays, last=end == len(self.rows))

    # Constraints

    def _count_kept_apart(self, rejected: list[tuple[Ordinals, Ordinals]], result: Assignment) -> int:
        """Count documents that match a rejected candidate before the document they are removed for."""
        if not rejected:
            return 0
        ordinals, candidates = (np.concatenate(side) for side in zip(*rejected, strict=True))
        by = result.by[ordinals - self._first]
        earlier = (by < 0) | (candidates < by)
        return int(self.verify_pairs(candidates[earlier], ordinals[earlier])[1].sum())

    def _split_components(
        self, labels: NDArray[np.uint32], constraints: CannotLink, result: Assignment
    ) -> NDArray[np.uint32]:
        """Rebuild the components that have both documents of a rejected pair."""
        violated = constraints.violations(labels)
        result.kept_apart = int(violated.sum())
        if not result.kept_apart:
            return labels
        members = np.flatnonzero(np.isin(labels, labels[constraints.left[violated]]))
        new = members[members >= self._first] - self._first
        subset = replace(
            self, rows=self.rows[new], tick=lambda _: None, cache=None, near_misses=0, constraints=None, log=None
        )
        left, right, similarity, skipped = subset.links()
        result.skipped += skipped
        # Ordinals of the subset: reference documents as here, then its own.
        ordinals = np.concatenate([np.arange(self._first), self._first + new])
        left, right = ordinals[left], ordinals[right]
        inside = labels[left] == labels[right]
        labels = labels.copy()
        labels[members] = constraints.separate(members, left[inside], right[inside], similarity[inside])
        return labels

    # Similarities, texts, values and lengths by ordinal

    def verify_pairs(
        self, left: Ordinals, right: Ordinals, kind: str | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the similarities of pairs, and True for matches; without a comparison all match.

        With `kind` the log keeps the similarities by texts.
        """
        if self.comparison is None:
            return self._similarities(left, right), np.ones(len(left), bool)
        similarity, differ = self._verify(left, right, self.comparison, kind)
        return similarity, (similarity >= self.threshold) & ~differ

    def _similarities(self, left: Ordinals, right: Ordinals, kind: str | None = None) -> NDArray[np.float64]:
        """Return similarities by texts, or by the family without a comparison."""
        if self.comparison is not None:
            return self._verify(left, right, self.comparison, kind)[0]
        chunks = [np.zeros(0)]
        for start in range(0, len(left), _PAIRS):
            sides = (self._values_of(side[start : start + _PAIRS]) for side in (left, right))
            chunks.append(self.candidate_source.similarities(*sides))
        return np.concatenate(chunks)

    def _verify(
        self, left: Ordinals, right: Ordinals, comparison: TextMeasure, kind: str | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return similarities by texts, and True for texts that differ by a rule."""
        cache = self.cache if self.cache is not None else comparison.cache(_CACHE_BYTES)
        similarity, differ = np.zeros(len(left)), np.zeros(len(left), bool)

        def verified(part: slice) -> Arrays:
            return {"similarity": similarity[part], "differ": differ[part]}

        log, done = None if kind is None else self._open_log(kind), 0
        for part, _, saved in () if log is None else log.restore():
            similarity[part], differ[part], done = saved["similarity"], saved["differ"], part.stop
        for start, end in chunk_ranges(np.cumsum(self._lengths_of(left) + self._lengths_of(right)), _BATCH_CHARACTERS):
            if start < done:
                continue
            a, b = left[start:end].astype(np.uint32), right[start:end].astype(np.uint32)
            self._load(cache, np.concatenate([a, b]))
            similarity[start:end] = cache.similarities(a, b, left_out=True)
            if comparison.differ:
                differ[start:end] = cache.which_differ(a, b)
            if log is not None:
                log.save(end, {}, verified, last=end == len(left))
        return similarity, differ

    def _cache(self) -> TextCache | None:
        if self.cache is not None or self.comparison is None:
            return self.cache
        return self.comparison.cache(_CACHE_BYTES)

    def _load(self, cache: TextCache, ordinals: Ordinals) -> None:
        """Load texts into the cache."""
        missing = distinct(cache.missing(ordinals.astype(np.uint32)))
        if len(missing):
            cache.shrink()
        old, new = missing[missing < self._first], missing[missing >= self._first]
        if self.reference is not None and len(old):
            old = np.sort(old)
            self._add(cache, old, self.reference.texts(old.astype(np.int64)))
        if len(new):
            rows = self.rows[new.astype(np.int64) - self._first]
            order = np.argsort(rows, kind="stable")
            self._add(cache, new[order], self._read_rows(rows[order]))

    @staticmethod
    def _add(cache: TextCache, ordinals: NDArray[np.uint32], texts: TextBatch | FeatureSets) -> None:
        if isinstance(texts, FeatureSets):
            cache.add_sets(ordinals, texts.offsets, texts.hashes)
        else:
            cache.add(ordinals, texts)

    def _read_rows(self, rows: NDArray[np.int64]) -> TextBatch | FeatureSets:
        """Return the texts of ascending rows, or their features."""
        sets = self.documents.feature_sets
        return self.documents.look_up(rows) if sets is None else sets(rows)

    def _values_of(self, ordinals: Ordinals) -> Values:
        return self._by_ordinal(ordinals, self._values, None if self.reference is None else self.reference.values)

    def _lengths_of(self, ordinals: Ordinals) -> NDArray[np.int64]:
        reference = None if self.reference is None else self.reference.lengths
        return self._by_ordinal(ordinals, self._lengths, reference).astype(np.int64)

    def _by_ordinal(
        self, ordinals: Ordinals, new: OrderedValues, reference: Callable[[Ordinals], Values] | None
    ) -> Values:
        """Return values of new documents, and of reference documents by their row."""
        is_new = ordinals >= self._first
        # Start with the first new document for all; every pair has a new document, so there is one.
        values = new[np.where(is_new, ordinals - self._first, 0)]
        if reference is not None and not is_new.all():
            values[~is_new] = reference(ordinals[~is_new])
        return values


def sample_numbers(count: int, size: int) -> NDArray[np.int64]:
    """Return the `size` numbers below `count` with the smallest hashes: a reproducible random sample."""
    mixed = np.arange(count, dtype=np.uint64) + np.uint64(1)
    # SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")[:size]


def _sorted_pairs(
    left: list[Ordinals],
    right: list[Ordinals],
    similarity: list[NDArray[np.float64] | None] | None = None,
    skipped: int = 0,
) -> CandidatePairs:
    """Concatenate pairs, sorted by left, then right; with similarities if all chunks have them."""
    sides = np.concatenate(left), np.concatenate(right)
    order = np.lexsort(sides[::-1])
    chunks = [chunk for chunk in similarity or [None] if chunk is not None]
    verified = np.concatenate(chunks)[order] if similarity and len(chunks) == len(similarity) else None
    return CandidatePairs(sides[0][order], sides[1][order], verified, skipped)


def _max_batch(search: DocumentSearch | None) -> int:
    """Return the maximum number of documents of a batch."""
    return min(_BATCH, search.max_batch) if isinstance(search, TextSearch) else _BATCH
