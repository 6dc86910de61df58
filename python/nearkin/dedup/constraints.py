"""Pairs that a person labelled different: neither document is removed for the other.

*Rejected* pairs are labels of ids; what is kept apart are contents, since copies share the fate of their original. So a
label of a copy holds for its original, and for all other copies. Two ids of one content can't be kept apart: one of
them is a copy of the other, and such labels are counted in a warning. An id names every document, new or older, that
has it.

**Keep, then absorb.** A rejected candidate is no match; a document goes to its next match, if it has one. No batch
holds both documents of a rejected pair, so that they meet as a document and its candidates alone.

**Connected components.** No component holds both documents of a rejected pair. A component that would is made anew from
its verified links, the most similar first (ties in keep order): a link joins two components unless the pair is
rejected, or a document of one is rejected with a document of the other. This is single linkage with constraints.

Cost: a pass over the ids, a batch more for each rejected pair at most, and for components that are made anew a
verification of all candidates within them.

Source: I. Davidson, S. S. Ravi (2005), Agglomerative hierarchical clustering with constraints: theoretical and
empirical results (cannot-link constraints).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateLists, Places
from nearkin.dedup.candidates.base import offsets_of
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.labels import GivenLabels, PairLabels, pair_labels
from nearkin.dedup.reference import HeldOlder, HoldsOlderDocuments, OlderDocuments
from nearkin.errors import bad_parameter
from nearkin.index.bands import BandIndex
from nearkin.index.digests import DigestIndex
from nearkin.index.hamming import HammingIndex

_IDS = 1 << 16
"""Ids that are looked at, as Python objects, at once."""


def checked_labels(labels: GivenLabels, store: object, against: object) -> PairLabels:
    """Labels as pairs, for documents that are held in memory.

    Raises
    ------
    ParameterError
        Labels beside a store or an index, or something that is none.
    InputError
        A table that can't be read, or an invalid label.
    """
    if store is not None or isinstance(against, (HoldsOlderDocuments, HammingIndex, BandIndex, DigestIndex)):
        found = "beside a store" if store is not None else f"beside {against!r}"
        raise bad_parameter("labels", found, "no store and no index with labels; older texts or files may be given")
    return pair_labels(labels, "labels")


@dataclass(frozen=True)
class Apart:
    """Rejected pairs by place.

    Attributes
    ----------
    left, right : (n,) int64
        Places, left before right; each pair once, sorted by left, then right.
    """

    left: Places
    right: Places
    _keys: NDArray[np.int64] = field(init=False, repr=False)
    _later: Places = field(init=False, repr=False)
    _before: Places = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Places are less than 2**32, as the core has them.
        object.__setattr__(self, "_keys", (self.left << 32) | self.right)
        order = np.lexsort((self.left, self.right))
        right, left = self.right[order], self.left[order]
        last = np.append(right[1:] != right[:-1], True) if len(right) else np.zeros(0, bool)
        # For each later document of a pair the last one before it that it is rejected with.
        object.__setattr__(self, "_later", right[last])
        object.__setattr__(self, "_before", left[last])

    @classmethod
    def of(cls, pairs: set[tuple[int, int]]) -> Apart:
        """Pairs of places, left before right."""
        table = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1])

    def __len__(self) -> int:
        return len(self.left)

    def hold(self, left: Places, right: Places) -> NDArray[np.bool_]:
        """Which of these pairs, in any order, are rejected."""
        found: NDArray[np.bool_] = np.isin((np.minimum(left, right) << 32) | np.maximum(left, right), self._keys)
        return found

    def end(self, start: int, end: int) -> int:
        """Where a batch from place `start` has to end, `end` or before, to hold no rejected pair."""
        first, last = np.searchsorted(self._later, [start, end])
        within = np.flatnonzero(self._before[first:last] >= start)
        return int(self._later[first + within[0]]) if len(within) else end

    def without(self, hits: CandidateLists, places: Places) -> tuple[CandidateLists, Places, Places]:
        """Candidates of documents at these places without the rejected ones; the documents and candidates left out."""
        owners = hits.owners()
        rejected = self.hold(hits.places, places[owners])
        if not rejected.any():
            return hits, hits.places[:0], hits.places[:0]
        stays = ~rejected
        offsets = offsets_of(np.bincount(owners[stays], minlength=len(places)))
        similarity = None if hits.similarity is None else hits.similarity[stays]
        left = CandidateLists(offsets, hits.places[stays], similarity, hits.skipped)
        return left, places[owners[rejected]], hits.places[rejected]

    def together(self, labels: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Which rejected pairs are in one component."""
        same: NDArray[np.bool_] = labels[self.left] == labels[self.right]
        return same

    def separate(self, members: Places, left: Places, right: Places, similarity: NDArray[np.float64]) -> Places:
        """Components of some places by links that are visited in order of similarity: for each member the first place
        of its component.
        """
        foes: dict[int, set[int]] = {}
        for one, other in zip(self.left.tolist(), self.right.tolist(), strict=True):
            foes.setdefault(one, set()).add(other)
            foes.setdefault(other, set()).add(one)
        joined = _Components(members.tolist(), foes)
        order = np.lexsort((right, left, -similarity))
        for one, other in zip(left[order].tolist(), right[order].tolist(), strict=True):
            joined.join(one, other)
        return np.array([joined.head(place) for place in members.tolist()], np.int64)


class _Components:
    """Components that grow by links; two that hold a rejected pair are never joined."""

    def __init__(self, members: list[int], foes: dict[int, set[int]]) -> None:
        self._parent = {place: place for place in members}
        # Of each head those of its component that are in rejected pairs, and what these are rejected with.
        self._marked = {place: {place} for place in members if place in foes}
        self._foes = {place: set(foes[place]) for place in self._marked}

    def head(self, place: int) -> int:
        """The first place of a component."""
        parent = self._parent
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    def join(self, one: int, other: int) -> None:
        """Make one component of two, unless a pair between them is rejected."""
        one, other = sorted((self.head(one), self.head(other)))
        if one == other or not self._foes.get(one, set()).isdisjoint(self._marked.get(other, ())):
            return
        self._parent[other] = one
        for held in (self._marked, self._foes):
            if other in held:
                held[one] = _union(held.get(one, set()), held.pop(other))


def _union(one: set[int], other: set[int]) -> set[int]:
    """Both, by adding to the larger one."""
    small, large = sorted((one, other), key=len)
    large |= small
    return large


@dataclass(frozen=True)
class Followed:
    """What became of labels: the places that are kept apart, and what could not be followed.

    Attributes
    ----------
    labels : PairLabels
    apart : Apart
    equal : list of (str, str)
        Rejected pairs of which documents have the same content.
    unknown : list of str
        Ids that no document has, sorted.
    ids : int
        How many ids are labelled.
    """

    labels: PairLabels
    apart: Apart
    equal: list[tuple[str, str]]
    unknown: list[str]
    ids: int

    def warnings(self) -> list[str]:
        """What a caller has to know."""
        told, labels = [], self.labels
        if all(labels.labels.values()):
            told.append("labels: no pair is labelled different, so that nothing is kept apart")
        if self.unknown:
            told.append(
                f"labels: {len(self.unknown):,} of {self.ids:,} labelled ids are those of no document, such as "
                f"{self.unknown[0]!r}; their pairs say nothing here"
            )
        if self.equal:
            told.append(
                f"labels: {len(self.equal):,} pairs that are labelled different have equal contents, such as "
                f"{self.equal[0][0]!r} and {self.equal[0][1]!r}: one is a copy of the other, and goes"
            )
        if labels.contradictory:
            told.append(f"labels: {labels.contradictory:,} pairs have both labels, and are not kept apart by them")
        return told

    def counts(self, kept_apart: int) -> dict[str, int]:
        """For a summary; `kept_apart` pairs would have been a document and what it was removed for."""
        different = sum(not match for match in self.labels.labels.values())
        return {
            "same": len(self.labels.labels) - different,
            "different": different,
            "unsure": self.labels.unsure,
            "contradictory": self.labels.contradictory,
            "kept_apart": kept_apart,
            "equal": len(self.equal),
            "unknown_ids": len(self.unknown),
        }


def follow(
    labels: PairLabels,
    new: HashedDocuments,
    older: OlderDocuments | None,
    *,
    rows: NDArray[np.int64],
    original: Places,
    of_older: NDArray[np.int64],
    searched: Places,
) -> Followed:
    """Labels as places of a `Clusterer`: older documents by row, then the searched ones.

    Parameters
    ----------
    labels : PairLabels
    new : HashedDocuments
    older : HeldOlder, optional
    rows, original, of_older : (n,) int64
        Of the new documents by place in keep order: their rows, the first of the same content, the first older row of
        the same content or -1.
    searched : (m,) int64
        Places in keep order of those that are clustered, ascending.

    Raises
    ------
    ParameterError
        If older documents are not held in memory.
    """
    if older is not None and not isinstance(older, HeldOlder):
        raise bad_parameter("labels", "beside a store", "no store and no index with labels; older texts may be given")
    first = 0 if older is None else len(older)
    wanted = {name for pair in labels.labels for name in pair}
    # Contents as numbers: the older row, or the number of the original after these.
    contents: dict[str, set[int]] = {}
    place_of = np.full(len(new), -1, np.int64)
    place_of[rows] = np.arange(len(rows))
    for name, row in _named(new, wanted):
        contents.setdefault(name, set())
        if (place := place_of[row]) >= 0:
            head = int(original[place])
            contents[name].add(int(of_older[head]) if of_older[head] >= 0 else first + head)
    if older is not None:
        named = _named(older.documents, wanted)
        copies = older.copies(older.documents.contents[np.array([row for _, row in named], np.int64)])
        for (name, _), held in zip(named, copies.tolist(), strict=True):
            contents.setdefault(name, set()).add(held)
    pairs, equal = set[tuple[int, int]](), []
    for (a, b), match in labels.labels.items():
        if match:
            continue
        found = list(product(contents.get(a, ()), contents.get(b, ())))
        if any(one == other for one, other in found):
            equal.append((a, b))
        pairs |= {(min(pair), max(pair)) for pair in found if pair[0] != pair[1]}
    unknown = sorted(wanted - contents.keys())
    return Followed(labels, Apart.of(_placed(pairs, first, searched)), equal, unknown, len(wanted))


def _placed(pairs: set[tuple[int, int]], first: int, searched: Places) -> set[tuple[int, int]]:
    """Places among older and searched documents; pairs with a document that is not searched have no part."""
    numbers = sorted({number for pair in pairs for number in pair if number >= first})
    at = np.searchsorted(searched, np.array(numbers, np.int64) - first).tolist()
    inside = (
        (number, first + place)
        for number, place in zip(numbers, at, strict=True)
        if place < len(searched) and searched[place] == number - first
    )
    place_of = dict(inside) | {number: number for pair in pairs for number in pair if number < first}
    return {(place_of[a], place_of[b]) for a, b in pairs if a in place_of and b in place_of}


def _named(documents: HashedDocuments, wanted: set[str]) -> list[tuple[str, int]]:
    """The rows whose ids are wanted, by their text."""
    found = []
    for start in range(0, len(documents), _IDS):
        rows = np.arange(start, min(start + _IDS, len(documents)))
        names = map(str, documents.ids.take(rows))
        found += [(name, row) for row, name in enumerate(names, start) if name in wanted]
    return found
