"""What deduplication asks of a family: it hashes texts, and proposes candidates among them.

A `CandidateSource` holds a family's parameters of one run. Each document has a row of values; `search` gives a
`CandidateSearch` over these rows, in which documents are named by their place in keep order. `nearkin.dedup.cluster`
asks it three questions, and knows nothing of families:

1. `find`, or `find_at`: which of the documents that were added may match these (the kept ones of earlier batches);
2. `within`: which documents of one batch may match one another;
3. `pairs`: all pairs among those added.

Candidates are verified by their texts, unless the family itself says how similar they are: then all candidates are
matches, and come with their similarity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache, absorb_listed
from nearkin.dedup.summary import Summary

if TYPE_CHECKING:
    from nearkin.dedup.spill import Spill

TextBatch: TypeAlias = Sequence[str | None]
"""Texts of one batch in a form that the kernels read: a list, packed texts, or any object with Arrow strings."""
Places: TypeAlias = NDArray[np.int64]
Values: TypeAlias = NDArray[Any]
"""Hashed documents, one per row: fingerprints, signatures, or digests as objects."""


@dataclass(frozen=True)
class CandidateLists:
    """Candidates of several documents.

    Attributes
    ----------
    offsets : (n + 1,) int64
        Document i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of the other two.
    places : (m,) int64
        Ascending within each document.
    similarity : (m,) float64, or None
        Where the family itself verifies.
    skipped : int
        Look-ups that the family left out, so that candidates may be missing.
    """

    offsets: NDArray[np.int64]
    places: Places
    similarity: NDArray[np.float64] | None = None
    skipped: int = 0

    def followed_by(self, other: CandidateLists) -> CandidateLists:
        """For each document its candidates here, then those of `other`."""
        counts = np.diff(self.offsets) + np.diff(other.offsets)
        # The sort is stable: within a document what is here stays in front.
        order = np.argsort(np.concatenate([self.owners(), other.owners()]), kind="stable")
        similarity = None
        if self.similarity is not None and other.similarity is not None:
            similarity = np.concatenate([self.similarity, other.similarity])[order]
        places = np.concatenate([self.places, other.places])[order]
        return CandidateLists(offsets_of(counts), places, similarity, self.skipped + other.skipped)

    def owners(self) -> NDArray[np.int64]:
        """The number of the document of each candidate."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


@dataclass(frozen=True)
class CandidatePairs:
    """Pairs of documents, each once: `left`, `right` and, where the family itself verifies, their similarity.

    `skipped` counts look-ups that the family left out, so that pairs may be missing.
    """

    left: Places
    right: Places
    similarity: NDArray[np.float64] | None = None
    skipped: int = 0


@dataclass(frozen=True)
class PlacedValues:
    """Values of documents by place, gathered from those by row when they are asked for.

    Attributes
    ----------
    values : (n, ...) array
        By row.
    rows : (m,) int64
        The row of each place.
    """

    values: Values
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """As of the array that they would make."""
        return (len(self.rows), *self.values.shape[1:])

    def __getitem__(self, places: Places | slice) -> Values:
        """A copy of the values of these places."""
        return self.values[self.rows[places]]

    def field(self, name: str) -> PlacedValues:
        """One field of values that are records."""
        return PlacedValues(self.values[name], self.rows)

    @classmethod
    def of(cls, values: Values | PlacedValues) -> PlacedValues:
        """Values by place; those of an array are its rows."""
        return values if isinstance(values, PlacedValues) else cls(values, np.arange(len(values)))


Decision = tuple[NDArray[np.int64], NDArray[np.float64], int, int, int]
"""What absorbed each document (a number within the batch, -1 for none), its similarity; pairs verified, candidates, and
comparisons or look-ups that were left out."""


class CandidateBatch(Protocol):
    """Documents of one batch that have candidates within it."""

    @property
    def close(self) -> NDArray[np.int64]:
        """Their numbers within the batch, ascending."""

    def absorb(self, cache: TextCache | None, places: Places, threshold: float, most: int) -> Decision:
        """Visit them in order; each one that has not been absorbed absorbs later ones, by at most `most` comparisons.

        `places` are theirs, and have their texts in `cache`; without it all candidates are matches.
        """


class AddsDocuments(Protocol):
    """What searches among documents, by place, have in common."""

    def __len__(self) -> int:
        """How many documents were added."""

    def add(self, places: Places) -> None:
        """Let these be found."""

    def within(self, places: Places) -> CandidateBatch:
        """The candidates among these alone."""

    def pairs(self) -> CandidatePairs:
        """All pairs among the added documents."""


class CandidateSearch(AddsDocuments, Protocol):
    """Proposes candidates among documents, by place."""

    def find(self, values: Values) -> CandidateLists:
        """The added documents that may match each of these rows of values; a document may find itself."""


class KnowsPlaces(AddsDocuments, ABC):
    """A search that knows the values of all documents from the start, and is asked about these alone."""

    @abstractmethod
    def find_at(self, places: Places) -> CandidateLists:
        """The added documents that may match the one at each of these places; a document may find itself."""


class ReadsTexts(CandidateSearch, ABC):
    """A search that needs the features of the documents that it is asked about, and not their values alone.

    Older documents come first among its places. It gives pairs by `add` and then `find`, batch by batch.
    """

    most: ClassVar[int]
    """Documents that are best read at once: what they have in common is listed in pairs."""

    @abstractmethod
    def read(self, places: Places, texts: TextBatch) -> None:
        """The texts of the next documents in order, which `find`, `within` and `add` are called for next."""


class NearestEntries(NamedTuple):
    """For each row of values the entry of an index that counts as a match.

    Attributes
    ----------
    ids : (n,) object
        Id of the nearest entry, None for none.
    distances : (n,) int64
        Distance to it.
    skipped : int
        Look-ups that the family left out, so that entries may be missing.
    """

    ids: NDArray[np.object_]
    distances: NDArray[np.int64]
    skipped: int = 0


@dataclass(frozen=True)
class OlderIndex:
    """An index of older documents, which has their hashes and ids, and no texts.

    Attributes
    ----------
    nearest : function
        For each row of values the nearest entry that counts as a match.
    similarity : function, optional
        The similarities of matches at these distances, where the family itself verifies.
    """

    nearest: Callable[[Values], NearestEntries]
    similarity: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None


class CandidateSource(Protocol):
    """A family with the parameters of one run."""

    equal: ClassVar[float]
    """Similarity of equal documents: the largest."""

    def search(self, values: Values | PlacedValues) -> CandidateSearch:
        """A search over rows of values, in which none is added yet."""

    def distances(self, left: Values, right: Values) -> NDArray[Any]:
        """Distances of the rows of two arrays of equal length: int64, float64 of vectors."""

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Similarities of the rows of two arrays by the family itself; NaN where it says nothing."""

    def older_index(self, against: object) -> OlderIndex | None:
        """`against`, if it is an index of this family, else None.

        Raises MismatchError unless it holds what this source hashes.
        """

    def summary(self) -> Summary:
        """The family's part of the summary of a run: its parameters."""


@runtime_checkable
class SearchesKnown(Protocol):
    """A family that searches better among documents that it knows all of."""

    def search_known(self, values: PlacedValues, spill: Spill) -> KnowsPlaces | None:
        """A search over all rows of values, in which none is added yet; None where `search` is as good."""


class TextCandidateSource(CandidateSource, Protocol):
    """A family that hashes texts."""

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Values, one row per text, and how many features each has; 0 means that it has none and is never compared."""


@dataclass(frozen=True)
class ListedBatch:
    """A batch whose candidates are listed: document i has the later documents `later[offsets[i]:offsets[i + 1]]`."""

    close: NDArray[np.int64]
    offsets: NDArray[np.int64]
    later: NDArray[np.uint32]
    similarity: NDArray[np.float64] | None = None
    skipped: int = 0

    @classmethod
    def of(
        cls,
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        similarity: NDArray[np.float64] | None = None,
        skipped: int = 0,
    ) -> ListedBatch:
        """The batch with these pairs of numbers, each once, in any order; `skipped` look-ups were left out."""
        left, right = np.minimum(left, right), np.maximum(left, right)
        close, numbers = np.unique(np.concatenate([left, right]), return_inverse=True)
        first, second = np.split(numbers, 2)
        order = np.lexsort((second, first))
        offsets = offsets_of(np.bincount(first, minlength=len(close)))
        ordered = None if similarity is None else np.ascontiguousarray(similarity[order])
        return cls(close, offsets, second[order].astype(np.uint32), ordered, skipped)

    def absorb(self, cache: TextCache | None, places: Places, threshold: float, most: int) -> Decision:
        """Visit the documents in order."""
        by, similarity, verified, candidates, skipped = absorb_listed(
            cache,
            documents=places.astype(np.uint32),
            offsets=self.offsets,
            later=self.later,
            similarity=self.similarity,
            threshold=threshold,
            most=most,
        )
        return by, similarity, verified, candidates, skipped + self.skipped


class Hits(Protocol):
    """Matches of queries, nearest first: what the results of searches have in common."""

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of the other two."""

    @property
    def ids(self) -> NDArray[Any]:
        """Ids of matches."""

    @property
    def distances(self) -> NDArray[Any]:
        """Their distances."""


def nearest_hits(hits: Hits, count: int) -> NearestEntries:
    """The first hit of each of `count` queries."""
    some = np.diff(hits.offsets) > 0
    ids = np.full(count, None, object)
    distances = np.zeros(count, np.int64)
    places = hits.offsets[:-1][some]
    ids[some] = [hits.ids[int(place)] for place in places]
    distances[some] = np.asarray(hits.distances)[places]
    return NearestEntries(ids, distances)


def offsets_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each list of these lengths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def ascending(offsets: NDArray[np.int64], places: Places) -> NDArray[np.int64]:
    """The order that sorts the places of each document."""
    return np.asarray(np.lexsort((places, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)))), np.int64)
