"""Interfaces of candidate sources: a family hashes documents and proposes candidates among them.

A `CandidateSource` has the parameters of a family for one run. Each document has a row of values. `search` returns a
`CandidateSearch` over these rows, in which a document is named by its *ordinal*, its rank in keep order.
`nearkin.dedup.cluster` calls three methods and is independent of the family:

1. `find`, or `find_at`: the added documents that may match these (the kept ones of earlier batches);
2. `within`: the documents of one batch that may match each other;
3. `pairs`: all candidate pairs among the added documents.

Candidates are verified by their texts, unless the family itself computes the similarity. Then every candidate is a
match and comes with its similarity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache, absorb_listed
from nearkin.dedup.summary import FamilySummary

if TYPE_CHECKING:
    from nearkin.dedup.spill import SpillPolicy

TextBatch: TypeAlias = Sequence[str | None]
"""Texts of one batch in a form that the kernels read: a list, packed texts, or any object with Arrow strings."""
Ordinals: TypeAlias = NDArray[np.int64]
"""Ranks of documents in keep order, from 0."""
Values: TypeAlias = NDArray[Any]
"""Hashed documents, one per row: fingerprints, signatures, or digests as objects."""
Absorption = tuple[NDArray[np.int64], NDArray[np.float64], int, int, int]
"""The document that absorbed each one (a number within the batch, -1 for none), its similarity; numbers of verified
pairs, of candidates, and of comparisons or look-ups that were left out."""


@dataclass(frozen=True)
class CandidateLists:
    """Candidates of several documents.

    Attributes
    ----------
    offsets : (n + 1,) int64
        Document i owns entries `offsets[i]` to `offsets[i + 1]` (exclusive) of the other arrays.
    ordinals : (m,) int64
        Ascending for each document.
    similarity : (m,) float64, or None
        If the family itself verifies.
    skipped : int
        Look-ups that the family left out, so that candidates may be missing.
    """

    offsets: NDArray[np.int64]
    ordinals: Ordinals
    similarity: NDArray[np.float64] | None = None
    skipped: int = 0

    def followed_by(self, other: CandidateLists) -> CandidateLists:
        """Return for each document its candidates in this object, then those in `other`."""
        counts = np.diff(self.offsets) + np.diff(other.offsets)
        # The sort is stable, so candidates of this object come first.
        order = np.argsort(np.concatenate([self.owners(), other.owners()]), kind="stable")
        similarity = None
        if self.similarity is not None and other.similarity is not None:
            similarity = np.concatenate([self.similarity, other.similarity])[order]
        ordinals = np.concatenate([self.ordinals, other.ordinals])[order]
        return CandidateLists(list_offsets(counts), ordinals, similarity, self.skipped + other.skipped)

    def owners(self) -> NDArray[np.int64]:
        """Return the number of the document of each candidate."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def select(self, kept: NDArray[np.bool_]) -> CandidateLists:
        """Return the lists without the candidates for which `kept` is False."""
        offsets = list_offsets(np.bincount(self.owners()[kept], minlength=len(self.offsets) - 1))
        similarity = None if self.similarity is None else self.similarity[kept]
        return CandidateLists(offsets, self.ordinals[kept], similarity, self.skipped)

    @classmethod
    def of_hits(
        cls,
        offsets: NDArray[np.int64],
        ids: NDArray[Any],
        similarity: NDArray[np.float64] | None = None,
        skipped: int = 0,
    ) -> CandidateLists:
        """Build the lists from the hits of an index, whose ids are ordinals in any order."""
        ordinals = np.asarray(ids, np.int64)
        order = np.lexsort((ordinals, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))
        return cls(offsets, ordinals[order], None if similarity is None else similarity[order], skipped)

    @classmethod
    def of_pairs(cls, owners: NDArray[np.int64], ordinals: Ordinals, count: int) -> CandidateLists:
        """Build the lists of `count` documents from pairs in any order."""
        order = np.lexsort((ordinals, owners))
        return cls(list_offsets(np.bincount(owners, minlength=count)), ordinals[order])


@dataclass(frozen=True)
class CandidatePairs:
    """Pairs of documents, each once: `left`, `right` and, if the family itself verifies, their similarity.

    `skipped` counts look-ups that the family left out, so that pairs may be missing.
    """

    left: Ordinals
    right: Ordinals
    similarity: NDArray[np.float64] | None = None
    skipped: int = 0


@dataclass(frozen=True)
class OrderedValues:
    """Values of documents by ordinal, copied from those by row on access.

    Attributes
    ----------
    values : (n, ...) array
        By row.
    rows : (m,) int64
        The row of each ordinal.
    """

    values: Values
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of all values."""
        return (len(self.rows), *self.values.shape[1:])

    def __getitem__(self, ordinals: Ordinals | slice) -> Values:
        """Copy values by ordinal."""
        return self.values[self.rows[ordinals]]

    def field(self, name: str) -> OrderedValues:
        """Return one field of values that are records."""
        return OrderedValues(self.values[name], self.rows)

    @classmethod
    def of(cls, values: Values | OrderedValues) -> OrderedValues:
        """Wrap an array whose rows are in keep order."""
        return values if isinstance(values, OrderedValues) else cls(values, np.arange(len(values)))


class CandidateBatch(Protocol):
    """Documents of one batch that have candidates within it."""

    @property
    def close(self) -> NDArray[np.int64]:
        """Their numbers within the batch, ascending."""

    def absorb(self, cache: TextCache | None, ordinals: Ordinals, threshold: float, max_comparisons: int) -> Absorption:
        """Visit them in order: each one that has not been absorbed absorbs later ones.

        `ordinals` are theirs; `cache` has their texts. Without a cache every candidate is a match.
        """


class DocumentSearch(Protocol):
    """The methods that all searches among documents share."""

    def __len__(self) -> int:
        """Return the number of added documents."""

    def add(self, ordinals: Ordinals) -> None:
        """Add these documents, so that later calls find them."""

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the candidates among these documents alone."""

    def pairs(self) -> CandidatePairs:
        """Return all candidate pairs among the added documents."""


class CandidateSearch(DocumentSearch, Protocol):
    """A search that takes values, of any document."""

    def find(self, values: Values) -> CandidateLists:
        """Return the added documents that may match each row of values; a document may find itself."""


class StaticSearch(DocumentSearch, ABC):
    """A search that gets the values of all documents when it is built, and only searches for these.

    `within` and `pairs` leave out pairs whose values exclude a match (`FilteredCandidateSource`).
    """

    @abstractmethod
    def find_at(self, ordinals: Ordinals, *, likely: bool = False) -> CandidateLists:
        """Return the added documents that may match each ordinal; a document may find itself.

        With `likely` leave out those whose values exclude a match.
        """


class TextSearch(CandidateSearch, ABC):
    """A search that reads the features of documents from their texts, because their values are not enough.

    Reference documents have the first ordinals. It finds pairs by `add` and then `find`, batch by batch.
    """

    max_batch: ClassVar[int]
    """Documents to read at once; the search lists their common candidates in pairs."""

    @abstractmethod
    def read(self, ordinals: Ordinals, texts: TextBatch) -> None:
        """Read the texts of the next documents in order; the next calls of `find`, `within` and `add` are for these."""


class CandidateSource(Protocol):
    """A family with the parameters of one run."""

    equal: ClassVar[float]
    """Similarity of equal documents: the largest."""

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over rows of values."""

    def distances(self, left: Values, right: Values) -> NDArray[Any]:
        """Return the distances of the rows of two arrays of equal length: int64, float64 for vectors."""

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the similarities of rows by the family itself; NaN if it defines none."""

    def summary(self) -> FamilySummary:
        """Return the parameters of the family for the summary of a run."""


@runtime_checkable
class StaticCandidateSource(Protocol):
    """A family with a faster search for documents that are all available from the start."""

    def static_search(self, values: OrderedValues, spill: SpillPolicy) -> StaticSearch | None:
        """Return an empty search over rows of values; None if `search` is as good."""


@runtime_checkable
class FilteredCandidateSource(Protocol):
    """A family that estimates similarities by the values of documents, before their texts are read."""

    def are_likely(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Return False for rows of two arrays whose estimate excludes a match, but for a stated probability."""


class TextCandidateSource(CandidateSource, Protocol):
    """A family that hashes texts."""

    def calibrate(self, texts: TextBatch, num_documents: int) -> None:
        """Adapt to the first texts and the number of all, possibly an estimate; it comes before `hash`."""

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return values, one row per text, and feature counts; a text with 0 features is never compared."""


@dataclass(frozen=True)
class ListedBatch:
    """A batch with explicit candidates: document i has the later documents `later[offsets[i]:offsets[i + 1]]`."""

    close: NDArray[np.int64]
    offsets: NDArray[np.int64]
    later: NDArray[np.uint32]
    similarity: NDArray[np.float64] | None = None
    skipped: int = 0

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the documents of each candidate pair: the earlier and the later ones."""
        return np.repeat(self.close, np.diff(self.offsets)), self.close[self.later]

    def select(self, kept: NDArray[np.bool_]) -> ListedBatch:
        """Return the batch without the pairs for which `kept` is False."""
        left, right = self.pairs()
        similarity = None if self.similarity is None else self.similarity[kept]
        return ListedBatch.of(CandidatePairs(left[kept], right[kept], similarity, self.skipped))

    @classmethod
    def of(cls, pairs: CandidatePairs) -> ListedBatch:
        """Build the batch from pairs of numbers within it."""
        left, right = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
        close, numbers = numbered(np.concatenate([left, right]))
        first, second = np.split(numbers, 2)
        order = np.lexsort((second, first))
        offsets = list_offsets(np.bincount(first, minlength=len(close)))
        similarity = None if pairs.similarity is None else np.ascontiguousarray(pairs.similarity[order])
        return cls(close, offsets, second[order].astype(np.uint32), similarity, pairs.skipped)

    def absorb(self, cache: TextCache | None, ordinals: Ordinals, threshold: float, max_comparisons: int) -> Absorption:
        """Visit the documents in order."""
        by, similarity, verified, candidates, skipped = absorb_listed(
            cache,
            documents=ordinals.astype(np.uint32),
            offsets=self.offsets,
            later=self.later,
            similarity=self.similarity,
            threshold=threshold,
            most=max_comparisons,
        )
        return by, similarity, verified, candidates, skipped + self.skipped


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct integers, sorted. `np.unique`, by a hash table, takes up to 60 times as long."""
    if (size := int(values.max(initial=0)) + 1) <= 8 * len(values) and values.min(initial=0) >= 0:
        # Faster than sorting where the pages of the table are used.
        is_present = np.zeros(size, bool)
        is_present[values] = True
        return np.flatnonzero(is_present).astype(values.dtype)
    ordered: NDArray[Any] = np.sort(values)
    is_first: NDArray[np.bool_] = np.r_[True, ordered[1:] != ordered[:-1]]
    return ordered[is_first[: len(ordered)]]


def numbered(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct integers, sorted, and the position of each value among them."""
    found = distinct(values)
    if len(found) and found[0] >= 0 and (size := int(found[-1]) + 1) <= 8 * len(values):
        positions = np.empty(size, np.int64)
        positions[found] = np.arange(len(found))
        return found, positions[values]
    return found, np.searchsorted(found, values)


def chunk_ranges(ends: NDArray[np.int64], limit: int, max_items: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield begin and end (exclusive) of chunks of items whose sizes add up to at most `limit`, or of one item.

    `ends` is the running sum of the sizes.
    """
    start = 0
    while start < len(ends):
        before = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, before + limit, side="right")), start + 1)
        end = end if max_items is None else min(end, start + max_items)
        yield start, end
        start = end


def list_offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the begin of each list, and the end of the last one, for lists with these lengths."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
