"""Parts of documents, hashed and compared by the engine of deduplication.

`PartReader` takes the place of a family where documents are hashed: it splits each batch and hashes the parts. `match`
then visits the parts in keep order, those of one document in the order of its text: equal ones collapse, and
keep-then-absorb (`nearkin.dedup.cluster`) finds for each other one the first part before it that is similar.

Memory: 72 bytes per part and its fingerprint or signature, and what the search of kept ones holds. Texts are split
again where parts are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.dedup.boilerplate import LineCounts
from nearkin.dedup.candidates import TextBatch, TextCandidateSource, Values
from nearkin.dedup.cluster import Clusterer
from nearkin.dedup.documents import HashedDocuments, first_with_same_content
from nearkin.dedup.keep import keep_order
from nearkin.dedup.length_filter import sized
from nearkin.dedup.spill import GrowingRows
from nearkin.dedup.stages import RunOptions
from nearkin.dedup.verify import LookUp
from nearkin.io import Column
from nearkin.text.chunking import Unit, split

_CHARACTERS = 1 << 24
"""Characters of documents that are read again at once."""
_DOCUMENTS = 1 << 14
"""Documents that are read again at once."""


@dataclass(frozen=True)
class Found:
    """Passages of documents, and where the same stands before.

    Attributes
    ----------
    rows, others : (n,) int64
        Rows of the document of each passage, and of the other one.
    spans, other_spans : (n, 2) int64
        Begin and end (exclusive) in both, in characters.
    similarity : (n,) float64
    visible : (n,) int64
        Characters that are no white space, of which no two passages of a document share one.
    keys : (n, 2) uint64
        Hash of the passage's text; equal ones have the same.
    equal : (n,) bool
        Whether both are the same, character by character.
    units : (n,) int64
        The number of the unit of each.
    """

    rows: NDArray[np.int64]
    others: NDArray[np.int64]
    spans: NDArray[np.int64]
    other_spans: NDArray[np.int64]
    similarity: NDArray[np.float64]
    visible: NDArray[np.int64]
    keys: NDArray[np.uint64]
    equal: NDArray[np.bool_]
    units: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Found:
        """Some of them."""
        return Found(*(array[chosen] for array in vars(self).values()))

    @classmethod
    def together(cls, parts: Sequence[Found]) -> Found:
        """All of several."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))


class UnitParts:
    """The parts of one unit, batch by batch."""

    def __init__(self, unit: Unit, source: TextCandidateSource, least: int, frequent: NDArray[np.uint64]) -> None:
        self.unit = unit
        self._source, self._least = source, least
        self.begin_again(frequent)

    def begin_again(self, frequent: NDArray[np.uint64]) -> None:
        """Forget all parts; those that come are without these lines, given by their hashes."""
        self._frequent = frequent
        self._hashed = tuple(GrowingRows() for _ in range(4))
        self._spans, self._counts = GrowingRows(), GrowingRows()

    def append(self, texts: TextBatch) -> NDArray[np.int64]:
        """Split and hash the next documents; how many visible characters each of these has."""
        parts = split(texts, self.unit.name, 1, self._frequent)
        values, counts = self._source.hash(parts.texts)
        if self.unit.kind != "document":
            # What has no features is never compared.
            counts = np.where(parts.spans[:, 1] - parts.spans[:, 0] < self._least, 0, counts).astype(np.uint64)
        contents = content_hashes(parts.texts)[0].reshape(-1, 2)
        for grown, new in zip(self._hashed, (values, counts, contents, parts.visible), strict=True):
            grown.append(new)
        self._spans.append(parts.spans)
        self._counts.append(np.diff(parts.ends))
        return parts.sizes[:, 1]

    def hashed(self, look_up: LookUp) -> HashedParts:
        """All of them; `look_up` gives the texts of documents again."""
        values, counts, contents, visible = (grown.joined() for grown in self._hashed)
        ends = np.concatenate([[0], np.cumsum(self._counts.joined())]).astype(np.int64)
        spans = self._spans.joined()

        def part_texts(rows: NDArray[np.int64]) -> TextBatch:
            owners = np.searchsorted(ends, rows, side="right") - 1
            documents, numbers = np.unique(owners, return_inverse=True)
            before = np.concatenate([[0], np.cumsum(np.diff(ends)[documents])])
            chosen = before[numbers] + rows - ends[owners]
            return split(look_up(documents), self.unit.name, 1, self._frequent, chosen).texts

        lengths = (spans[:, 1] - spans[:, 0]).astype(np.uint64)
        documents = HashedDocuments(values, counts, contents, lengths, Column.of([]), {}, part_texts)
        return HashedParts(documents, ends, spans, visible)


@dataclass(frozen=True)
class HashedParts:
    """Parts of one unit: as documents of their own, and where they are.

    Attributes
    ----------
    documents : HashedDocuments
        The parts; no ids, no columns.
    ends : (n_documents + 1,) int64
        How many parts there are up to the end of each document, from 0.
    spans : (n, 2) int64
        Begin and end (exclusive) of each in its document, in characters.
    visible : (n,) int64
        Characters of each that are no white space.
    """

    documents: HashedDocuments
    ends: NDArray[np.int64]
    spans: NDArray[np.int64]
    visible: NDArray[np.int64]

    def owners(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the documents of some parts."""
        return np.asarray(np.searchsorted(self.ends, parts, side="right") - 1, np.int64)

    def with_neighbours(
        self,
        mine: NDArray[np.int64],
        its: NDArray[np.int64],
        similarity: NDArray[np.float64],
        taken: NDArray[np.bool_],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Passages, and the parts beside them that are not compared and stand beside the other part as well.

        Parameters
        ----------
        mine, its : (n,) int64
            Parts that are passages, and those that they are similar to.
        similarity : (n,) float64
        taken : (n_parts,) bool
            Which parts lie in a passage of another kind; those of `mine` are added.
        """
        contents, compared = self.documents.contents, self.documents.counts > 0
        taken[mine] = True
        found, others = [mine], [its]
        for step in (1, -1):
            front, there = mine, its
            while len(front):
                beside, other = front + step, there + step
                inside = (np.minimum(beside, other) >= 0) & (np.maximum(beside, other) < len(self.spans))
                front, there, beside, other = front[inside], there[inside], beside[inside], other[inside]
                same = (self.owners(beside) == self.owners(front)) & (self.owners(other) == self.owners(there))
                same &= ~taken[beside] & ~compared[beside] & (contents[beside] == contents[other]).all(axis=1)
                front, there = beside[same], other[same]
                taken[front] = True
                found.append(front)
                others.append(there)
        parts = np.concatenate(found)
        near = np.concatenate([similarity, np.ones(len(parts) - len(mine))])
        return parts, np.concatenate(others), near

    def in_order(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """All parts, in an order of documents."""
        counts = np.diff(self.ends)[rows]
        firsts = self.ends[rows] - (np.cumsum(counts) - counts)
        return np.asarray(np.repeat(firsts, counts) + np.arange(counts.sum()), np.int64)


class PartReader:
    """What hashes batches of documents: their parts by each unit, and their lines where these are counted."""

    def __init__(self, units: Sequence[UnitParts], lines: LineCounts | None) -> None:
        self.units, self.lines = units, lines

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """No values; the visible characters of each document as what it has of features."""
        takers: list[UnitParts | LineCounts] = [*self.units, *([] if self.lines is None else [self.lines])]
        visible, *_ = [taker.append(texts) for taker in takers]
        return np.zeros((len(visible), 0), np.uint64), visible.astype(np.uint64)


def document_batches(
    documents: HashedDocuments, rows: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], TextBatch]]:
    """Ascending rows with the texts of their documents, read again in batches."""
    ends, start = np.cumsum(documents.lengths[rows].astype(np.int64)), 0
    while start < len(rows):
        before = int(ends[start - 1]) if start else 0
        most = int(np.searchsorted(ends, before + _CHARACTERS, side="right"))
        end = min(max(most, start + 1), start + _DOCUMENTS)
        yield rows[start:end], documents.look_up(rows[start:end])
        start = end


@dataclass(frozen=True)
class Counts:
    """What the search of one unit did.

    Attributes
    ----------
    parts, compared, distinct : int
        Parts; those of them that are long enough and in no passage yet; those of different contents among these.
    candidates, verified, skipped : int
        As `nearkin.dedup.cluster.Assignment` has them.
    """

    parts: int
    compared: int
    distinct: int
    candidates: int
    verified: int
    skipped: int


def match(
    parts: HashedParts,
    documents: HashedDocuments,
    known: Found,
    options: RunOptions,
    tick: Callable[[int], None],
    *,
    within: bool,
) -> tuple[Found, Counts]:
    """The parts that an earlier one is similar to.

    Parameters
    ----------
    parts : HashedParts
    documents : HashedDocuments
        Whose parts they are.
    known : Found
        Passages that were found before; parts that overlap one are left out.
    options : RunOptions
    tick : function
        Called with the number of parts that were compared.
    within : bool
        Whether a part may be found in its own document.
    """
    rows = parts.in_order(keep_order(documents, options.order))
    taken = np.zeros(len(rows), bool)
    taken[rows] = _overlaps(parts, rows, known, documents)
    rows = rows[(parts.documents.counts[rows] > 0) & ~taken[rows]]
    contents = parts.documents.contents[rows]
    original = first_with_same_content(contents)
    distinct = np.flatnonzero(original == np.arange(len(rows)))
    source, values = sized(options, parts.documents.values, parts.documents.counts)
    assignment = Clusterer(
        candidate_source=source,
        comparison=options.comparison,
        threshold=float(options.threshold),
        documents=replace(parts.documents, values=values),
        rows=rows[distinct],
        tick=tick,
        max_comparisons=options.max_comparisons,
    ).absorb()
    by, similarity = np.arange(len(rows)), np.full(len(rows), options.candidate_source.equal)
    absorbed = assignment.by >= 0
    by[distinct[absorbed]] = distinct[assignment.by[absorbed]]
    similarity[distinct[absorbed]] = assignment.similarity[absorbed]
    by, similarity = by[original], similarity[original]
    owners = parts.owners(rows)
    found = np.flatnonzero((by != np.arange(len(rows))) & (within | (owners != owners[by])))
    mine, its, similarity = parts.with_neighbours(rows[found], rows[by[found]], similarity[found], taken)
    passages = Found(
        rows=parts.owners(mine),
        others=parts.owners(its),
        spans=parts.spans[mine],
        other_spans=parts.spans[its],
        similarity=similarity,
        visible=parts.visible[mine],
        keys=parts.documents.contents[mine],
        equal=(parts.documents.contents[mine] == parts.documents.contents[its]).all(axis=1),
        units=np.zeros(len(mine), np.int64),
    )
    assigned = (assignment.candidates, assignment.verified, assignment.skipped)
    return passages, Counts(len(parts.spans), len(rows), len(distinct), *assigned)


def copies(documents: HashedDocuments, order: NDArray[np.int64], unit: int) -> Found:
    """The documents that are exact copies of one before them, whole; texts of white space are none.

    Parameters
    ----------
    documents : HashedDocuments
        Of which `counts` are the characters that are no white space.
    order : (n,) int64
        Their rows in keep order.
    unit : int
        The number that these passages have for their unit.
    """
    rows = order[documents.counts[order] > 0]
    original = first_with_same_content(documents.contents[rows])
    found = np.flatnonzero(original != np.arange(len(rows)))
    mine, its = rows[found], rows[original[found]]
    lengths = documents.lengths[mine].astype(np.int64)
    spans = np.stack([np.zeros(len(found), np.int64), lengths], axis=1)
    return Found(
        rows=mine,
        others=its,
        spans=spans,
        other_spans=spans.copy(),
        similarity=np.ones(len(found)),
        visible=documents.counts[mine].astype(np.int64),
        keys=documents.contents[mine],
        equal=np.ones(len(found), bool),
        units=np.full(len(found), unit),
    )


def _overlaps(
    parts: HashedParts, rows: NDArray[np.int64], known: Found, documents: HashedDocuments
) -> NDArray[np.bool_]:
    """Which parts overlap a passage that is known; passages of a document do not overlap one another."""
    # All documents one behind the other.
    before = np.concatenate([[0], np.cumsum(documents.lengths.astype(np.int64))])
    taken = known.spans + before[known.rows][:, None]
    taken = taken[np.argsort(taken[:, 0], kind="stable")]
    places = parts.spans[rows] + before[parts.owners(rows)][:, None]
    ended = np.searchsorted(taken[:, 1], places[:, 0], side="right")
    begun = np.searchsorted(taken[:, 0], places[:, 1], side="left")
    return np.asarray(ended < begun)
