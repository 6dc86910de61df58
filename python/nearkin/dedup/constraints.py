"""Constraints by labels: pairs labelled different are never merged, pairs labelled same always are.

*Rejected* pairs are labels of ids, but constraints separate contents, because copies share the fate of their original.
So a label of a copy holds for its original and for all other copies. Two ids with one content can't be separated: one
of them is a copy of the other, and a warning counts such labels. An id names every document, new or reference, that has
it.

**Keep, then absorb.** A rejected candidate is no match; a document is removed for its next match, if it has one. No
batch has both documents of a rejected pair, so they can only be a document and its candidate.

**Connected components.** No component has both documents of a rejected pair. A component that would is rebuilt from its
verified links, the most similar first (ties in keep order): a link joins two components unless the pair is rejected, or
a document of one is rejected with a document of the other. This is single linkage with constraints.

**Must-link.** After either rule, the clusters of two documents that are labelled same are merged, whatever their
similarity: the kept document that comes first in keep order stays. Labels are transitive. A merge that would put a
rejected pair into one cluster does not take place, nor does one of two reference documents.

Cost: a pass over the ids, at most one additional batch for each rejected pair, and for rebuilt components a
verification of all candidates within them.

Source: I. Davidson, S. S. Ravi (2005), Agglomerative hierarchical clustering with constraints: theoretical and
empirical results (must-link and cannot-link constraints).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateLists, Ordinals
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.labels import LabelsInput, PairLabels, read_pair_labels
from nearkin.dedup.reference import MemoryReference, ReferenceCorpus, ReferenceProvider
from nearkin.errors import bad_parameter

_ALLOWED = "no store with labels; older texts or files may be given"
_IDS = 1 << 16
"""Ids that are Python objects at once."""


def read_constraints(labels: LabelsInput, store: object, against: object) -> PairLabels:
    """Convert labels of documents in memory.

    Raises
    ------
    ParameterError
        Labels together with a store, or another kind of value.
    InputError
        A table that can't be read, or an invalid label.
    """
    if store is not None or isinstance(against, ReferenceProvider):
        raise bad_parameter("labels", "labels with a store", _ALLOWED)
    return read_pair_labels(labels, "labels")


@dataclass(frozen=True)
class CannotLink:
    """Rejected pairs by ordinal.

    Attributes
    ----------
    left, right : (n,) int64
        Ordinals, left before right; each pair once, sorted by left, then right.
    """

    left: Ordinals
    right: Ordinals
    _keys: NDArray[np.int64] = field(init=False, repr=False)
    _later: Ordinals = field(init=False, repr=False)
    _before: Ordinals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Ordinals are below 2**32, as in the core.
        object.__setattr__(self, "_keys", (self.left << 32) | self.right)
        order = np.lexsort((self.left, self.right))
        right, left = self.right[order], self.left[order]
        last = np.append(right[1:] != right[:-1], True) if len(right) else np.zeros(0, bool)
        # For each later document of a pair the last earlier one that it is rejected with.
        object.__setattr__(self, "_later", right[last])
        object.__setattr__(self, "_before", left[last])

    @classmethod
    def of(cls, pairs: set[tuple[int, int]]) -> CannotLink:
        """Build the constraints from pairs of ordinals, left before right."""
        table = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1])

    def __len__(self) -> int:
        return len(self.left)

    def contains(self, left: Ordinals, right: Ordinals) -> NDArray[np.bool_]:
        """Return True for pairs, in any order, that are rejected."""
        keys = (np.minimum(left, right) << 32) | np.maximum(left, right)
        return np.asarray(np.isin(keys, self._keys))

    def batch_end(self, start: int, end: int) -> int:
        """Return the largest end, up to `end`, of a batch from ordinal `start` without a rejected pair."""
        first, last = np.searchsorted(self._later, [start, end])
        within = np.flatnonzero(self._before[first:last] >= start)
        return int(self._later[first + within[0]]) if len(within) else end

    def filter(self, lists: CandidateLists, ordinals: Ordinals) -> tuple[CandidateLists, Ordinals, Ordinals]:
        """Return candidates of documents without rejected ones; and documents and candidates that it removed."""
        owners = lists.owners()
        rejected = self.contains(lists.ordinals, ordinals[owners])
        if not rejected.any():
            return lists, lists.ordinals[:0], lists.ordinals[:0]
        return lists.select(~rejected), ordinals[owners[rejected]], lists.ordinals[rejected]

    def violations(self, labels: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return True for rejected pairs in one component."""
        return np.asarray(labels[self.left] == labels[self.right])

    def separate(self, members: Ordinals, left: Ordinals, right: Ordinals, similarity: NDArray[np.float64]) -> Ordinals:
        """Rebuild components from links in order of similarity; return for each member the first of its component."""
        rejected: dict[int, set[int]] = {}
        for a, b in zip(self.left.tolist(), self.right.tolist(), strict=True):
            rejected.setdefault(a, set()).add(b)
            rejected.setdefault(b, set()).add(a)
        components = Components(members.tolist(), rejected)
        order = np.lexsort((right, left, -similarity))
        for a, b in zip(left[order].tolist(), right[order].tolist(), strict=True):
            components.join(a, b)
        return np.array([components.head(member) for member in members.tolist()], np.int64)


class Components:
    """Components that grow by links; two components with a rejected pair between them are never joined."""

    def __init__(self, members: list[int], rejected: dict[int, set[int]]) -> None:
        self._parent = {member: member for member in members}
        # For each head the constrained members of its component, and the documents they are rejected with.
        self._constrained = {member: {member} for member in members if member in rejected}
        self._rejected = {member: set(rejected[member]) for member in self._constrained}

    def head(self, member: int) -> int:
        """Return the first member of a component."""
        parent = self._parent
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    def join(self, a: int, b: int) -> None:
        """Join two components, unless a pair between them is rejected."""
        a, b = sorted((self.head(a), self.head(b)))
        if a == b or not self._rejected.get(a, set()).isdisjoint(self._constrained.get(b, ())):
            return
        self._parent[b] = a
        for sets in (self._constrained, self._rejected):
            if b in sets:
                # Add the smaller set to the larger one.
                small, large = sorted((sets.get(a, set()), sets.pop(b)), key=len)
                sets[a] = large
                large |= small


@dataclass(frozen=True)
class ResolvedLabels:
    """Labels as constraints on ordinals, and labels that have no effect.

    Attributes
    ----------
    labels : PairLabels
    constraints : CannotLink
    required : (n, 2) int64
        Ordinals of pairs that are labelled same, left before right; each pair once, sorted.
    equal : list of (str, str)
        Rejected pairs of documents with the same content.
    ambiguous : list of (str, str)
        Pairs labelled same with an id of several contents, new and reference ones.
    unknown : list of str
        Ids that no document has, sorted.
    num_ids : int
        Number of labelled ids.
    """

    labels: PairLabels
    constraints: CannotLink
    required: NDArray[np.int64]
    equal: list[tuple[str, str]]
    ambiguous: list[tuple[str, str]]
    unknown: list[str]
    num_ids: int

    def warnings(self) -> list[str]:
        """Return warnings about labels without effect."""
        warnings, labels = [], self.labels
        if not labels.labels:
            warnings.append("labels: no pair is labelled same or different, so the labels change nothing")
        if self.unknown:
            warnings.append(
                f"labels: {len(self.unknown):,} of {self.num_ids:,} labelled ids belong to no document, such as "
                f"{self.unknown[0]!r}; their pairs have no effect"
            )
        if self.equal:
            warnings.append(
                f"labels: {len(self.equal):,} pairs that are labelled different have equal contents, such as "
                f"{self.equal[0][0]!r} and {self.equal[0][1]!r}: one is a copy of the other, and is removed"
            )
        if self.ambiguous:
            warnings.append(
                f"labels: {len(self.ambiguous):,} pairs that are labelled same have an id of both corpora, such as "
                f"{self.ambiguous[0][0]!r} and {self.ambiguous[0][1]!r}; they have no effect: make ids differ"
            )
        if labels.contradictory:
            warnings.append(f"labels: {labels.contradictory:,} pairs have both labels, which have no effect")
        return warnings

    def counts(self, *, kept_apart: int, joined: int, not_joined: int) -> dict[str, Any]:
        """Return the counts for a summary; the arguments are those of the `Assignment`."""
        different = sum(not match for match in self.labels.labels.values())
        return {
            "same": len(self.labels.labels) - different,
            "different": different,
            "unsure": self.labels.unsure,
            "contradictory": self.labels.contradictory,
            "kept_apart": kept_apart,
            "joined": joined,
            "not_joined": not_joined,
            "equal": len(self.equal),
            "unknown_ids": len(self.unknown),
            **({} if self.labels.kept_worse is None else {"kept_worse": self.labels.kept_worse}),
        }


def resolve_labels(
    labels: PairLabels,
    new: HashedDocuments,
    reference: ReferenceCorpus | None,
    *,
    rows: NDArray[np.int64],
    original: Ordinals,
    reference_rows: NDArray[np.int64],
    searched: Ordinals,
) -> ResolvedLabels:
    """Resolve labels to ordinals of a `Clusterer`: reference documents by row, then the searched ones.

    Parameters
    ----------
    labels : PairLabels
    new : HashedDocuments
    reference : MemoryReference, optional
    rows, original, reference_rows : (n,) int64
        Of the new documents in keep order: their rows, the first document with the same content, the first reference
        row with the same content or -1.
    searched : (m,) int64
        The documents to cluster, ascending, by position in keep order.

    Raises
    ------
    ParameterError
        Reference documents that are not in memory.
    """
    if reference is not None and not isinstance(reference, MemoryReference):
        raise bad_parameter("labels", "labels with a store", _ALLOWED)
    first = 0 if reference is None else len(reference)
    labelled = {name for pair in labels.labels for name in pair}
    # Contents by number: the reference row, or after these the number of the original.
    contents: dict[str, set[int]] = {}
    position = np.full(len(new), -1, np.int64)
    position[rows] = np.arange(len(rows))
    for name, row in _rows_by_id(new, labelled):
        contents.setdefault(name, set())
        if position[row] >= 0:
            head = int(original[position[row]])
            contents[name].add(int(reference_rows[head]) if reference_rows[head] >= 0 else first + head)
    if reference is not None:
        rows_by_id = _rows_by_id(reference.documents, labelled)
        copies = reference.copies(reference.documents.contents[np.array([row for _, row in rows_by_id], np.int64)])
        for (name, _), copy in zip(rows_by_id, copies.tolist(), strict=True):
            contents.setdefault(name, set()).add(copy)
    pairs: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    equal, ambiguous = [], []
    for (a, b), match in labels.labels.items():
        named = list(product(contents.get(a, ()), contents.get(b, ())))
        if not match and any(left == right for left, right in named):
            equal.append((a, b))
        if match and len(named) > 1:
            # To merge all documents of an ambiguous id would lose some.
            ambiguous.append((a, b))
            continue
        pairs[match] |= {(min(pair), max(pair)) for pair in named if pair[0] != pair[1]}
    unknown = sorted(labelled - contents.keys())
    constraints = CannotLink.of(_searched_pairs(pairs[False], first, searched))
    required = np.array(sorted(_searched_pairs(pairs[True], first, searched)), np.int64).reshape(-1, 2)
    return ResolvedLabels(labels, constraints, required, equal, ambiguous, unknown, len(labelled))


def _searched_pairs(pairs: set[tuple[int, int]], first: int, searched: Ordinals) -> set[tuple[int, int]]:
    """Return pairs as ordinals among reference and searched documents, without pairs of other documents."""
    numbers = sorted({number for pair in pairs for number in pair if number >= first})
    positions = np.searchsorted(searched, np.array(numbers, np.int64) - first).tolist()
    ordinals = {number: number for pair in pairs for number in pair if number < first}
    for number, position in zip(numbers, positions, strict=True):
        if position < len(searched) and searched[position] == number - first:
            ordinals[number] = first + position
    return {(ordinals[a], ordinals[b]) for a, b in pairs if a in ordinals and b in ordinals}


def _rows_by_id(documents: HashedDocuments, ids: set[str]) -> list[tuple[str, int]]:
    """Return the text of the id and the row of each document whose id is in the set."""
    rows = []
    for start in range(0, len(documents), _IDS):
        chunk = np.arange(start, min(start + _IDS, len(documents)))
        names = map(str, documents.ids.take(chunk))
        rows += [(name, row) for row, name in enumerate(names, start) if name in ids]
    return rows
