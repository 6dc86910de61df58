"""Older documents, which new ones are compared with: they are visited first and stay.

A collection of older documents offers them as `OlderDocuments`: candidates among them for the hashes of new ones, and
what is compared and reported of the candidates. Nothing here asks for all of them at once, so that they may lie on
disk. `HashedOlder` holds them in memory. An index of hashes alone, which has no texts, is an `OlderIndex`
(`nearkin.dedup.candidates`).
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateLists, CandidateSource, Places, TextBatch, Values
from nearkin.dedup.documents import HashedDocuments, first_with_same_content
from nearkin.dedup.verify import FeatureSets


class OlderDocuments(Protocol):
    """Older documents by row: whole numbers from 0 in the order in which the documents are visited.

    They were hashed as the new ones are. A row without features has no candidates, and copies where equal documents
    without features are copies.
    """

    def __len__(self) -> int:
        """How many rows there are; every row is less."""

    def copies(self, contents: NDArray[np.uint64]) -> Places:
        """For each content hash, `(n, 2)`, the first row with this content; -1 for none."""

    def candidates(self, values: Values) -> CandidateLists:
        """For each row of values the older documents that may match, ascending.

        Of older documents with the same content only the first one is named.
        """

    def values(self, rows: Places) -> Values:
        """The values of these rows."""

    def lengths(self, rows: Places) -> NDArray[np.uint64]:
        """How many characters their texts have."""

    def texts(self, rows: Places) -> TextBatch | FeatureSets:
        """Their texts, or the features by which texts are compared; the rows are ascending."""

    def ids(self, rows: Places) -> list[Any]:
        """Their ids, as they were given."""


@runtime_checkable
class HoldsOlderDocuments(Protocol):
    """A collection that `against` may be, beside texts and indexes."""

    def older_documents(self, candidate_source: CandidateSource) -> OlderDocuments:
        """Its documents.

        Raises MismatchError unless they were hashed as `candidate_source` hashes.
        """


class HeldOlder:
    """Older documents in memory; those without features alone have `copies`.

    Attributes
    ----------
    documents : HashedDocuments
    searched : (n,) int64
        Rows that have features and are no copies of an earlier one.
    """

    def __init__(self, documents: HashedDocuments) -> None:
        self.documents = documents
        original = first_with_same_content(documents.contents)
        distinct = np.flatnonzero(original == np.arange(len(documents)))
        self._distinct = distinct
        self.searched = distinct[documents.counts[distinct] > 0]

    def __len__(self) -> int:
        return len(self.documents)

    def copies(self, contents: NDArray[np.uint64]) -> Places:
        """By sorting both sides."""
        held = len(self._distinct)
        first = first_with_same_content(np.concatenate([self.documents.contents[self._distinct], contents]))[held:]
        copies = np.full(len(contents), -1, np.int64)
        copies[first < held] = self._distinct[first[first < held]]
        return copies

    def values(self, rows: Places) -> Values:
        """The values of these rows."""
        return self.documents.values[rows]

    def lengths(self, rows: Places) -> NDArray[np.uint64]:
        """How many characters their texts have."""
        return self.documents.lengths[rows]

    def texts(self, rows: Places) -> TextBatch:
        """Their texts, looked up again."""
        return self.documents.look_up(rows)

    def ids(self, rows: Places) -> list[Any]:
        """Their ids."""
        return self.documents.ids.take(rows)


class HashedOlder(HeldOlder):
    """Older documents in memory, with a search among them."""

    def __init__(self, documents: HashedDocuments, candidate_source: CandidateSource) -> None:
        super().__init__(documents)
        self._search = candidate_source.search(documents.values)
        self._search.add(self.searched)

    def candidates(self, values: Values) -> CandidateLists:
        """Those that the family names."""
        return self._search.find(values)


class PrecedingOlder(HeldOlder):
    """Older documents in memory for a search that reads texts, among whose places they come first."""

    def candidates(self, values: Values) -> CandidateLists:
        """None: the search of the new documents has these, too."""
        return CandidateLists(np.zeros(len(values) + 1, np.int64), np.zeros(0, np.int64))

    def values_by_place(self) -> Values:
        """Their values; zeros, as of a text without features, where no document is looked for."""
        values = np.zeros_like(self.documents.values)
        values[self.searched] = self.documents.values[self.searched]
        return values
