"""Reference documents: older documents that new ones are compared with. They are visited first and always kept.

A collection offers its documents as a `ReferenceCorpus`: candidates for the hashes of new documents, and the texts,
values and ids of candidates. No method returns all documents at once, so they may be stored on disk.
`SearchableReference` has them in memory.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateLists, CandidateSource, Ordinals, TextBatch, Values
from nearkin.dedup.documents import HashedDocuments, first_with_same_content
from nearkin.dedup.verify import FeatureSets


class ReferenceCorpus(Protocol):
    """Reference documents by row: whole numbers from 0, in the order in which they are visited.

    They were hashed like the new ones. A row without features has no candidates, and has copies if equal documents
    without features are copies.
    """

    def __len__(self) -> int:
        """Return the number of rows."""

    def copies(self, contents: NDArray[np.uint64]) -> Ordinals:
        """Return for each content hash, `(n, 2)`, the first row with this content; -1 for none."""

    def candidates(self, values: Values) -> CandidateLists:
        """Return for each row of values the documents that may match, ascending.

        Of documents with the same content only the first one is listed.
        """

    def values(self, rows: Ordinals) -> Values:
        """Return values by row."""

    def lengths(self, rows: Ordinals) -> NDArray[np.uint64]:
        """Return the numbers of characters of texts, by row."""

    def texts(self, rows: Ordinals) -> TextBatch | FeatureSets:
        """Return the texts of ascending rows, or the features by which they are compared."""

    def ids(self, rows: Ordinals) -> list[Any]:
        """Return ids by row, as they were passed."""


@runtime_checkable
class ReferenceProvider(Protocol):
    """A collection that may be passed as `against`, like texts."""

    def reference_corpus(self, candidate_source: CandidateSource) -> ReferenceCorpus:
        """Return its documents.

        Raise MismatchError unless they were hashed like those of `candidate_source`.
        """


class MemoryReference:
    """Reference documents in memory.

    Attributes
    ----------
    documents : HashedDocuments
    searched : (n,) int64
        Rows that have features and are no copies of an earlier one.
    """

    def __init__(self, documents: HashedDocuments) -> None:
        self.documents = documents
        original = first_with_same_content(documents.contents)
        self._distinct = np.flatnonzero(original == np.arange(len(documents)))
        self.searched = self._distinct[documents.counts[self._distinct] > 0]

    def __len__(self) -> int:
        return len(self.documents)

    def copies(self, contents: NDArray[np.uint64]) -> Ordinals:
        """Return the first row with each content, by sorting both sides."""
        own = len(self._distinct)
        first = first_with_same_content(np.concatenate([self.documents.contents[self._distinct], contents]))[own:]
        copies = np.full(len(contents), -1, np.int64)
        copies[first < own] = self._distinct[first[first < own]]
        return copies

    def values(self, rows: Ordinals) -> Values:
        """Return values by row."""
        return self.documents.values[rows]

    def lengths(self, rows: Ordinals) -> NDArray[np.uint64]:
        """Return the numbers of characters of texts, by row."""
        return self.documents.lengths[rows]

    def texts(self, rows: Ordinals) -> TextBatch:
        """Look up texts by row."""
        return self.documents.look_up(rows)

    def ids(self, rows: Ordinals) -> list[Any]:
        """Return ids by row."""
        return self.documents.ids.take(rows)


class SearchableReference(MemoryReference):
    """Reference documents in memory, with a search among them."""

    def __init__(self, documents: HashedDocuments, candidate_source: CandidateSource) -> None:
        super().__init__(documents)
        self._search = candidate_source.search(documents.values)
        self._search.add(self.searched)

    def candidates(self, values: Values) -> CandidateLists:
        """Return the candidates that the family proposes."""
        return self._search.find(values)


class PrecedingReference(MemoryReference):
    """Reference documents in memory for a `TextSearch`, in which they have the first ordinals."""

    def candidates(self, values: Values) -> CandidateLists:
        """Return none: the search of the new documents finds them."""
        return CandidateLists(np.zeros(len(values) + 1, np.int64), np.zeros(0, np.int64))

    def search_values(self) -> Values:
        """Return their values; zeros, as for a text without features, for documents that are not searched."""
        values = np.zeros_like(self.documents.values)
        values[self.searched] = self.documents.values[self.searched]
        return values
