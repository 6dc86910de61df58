"""What a store asks of a family: how its values are stored, and an index that finds them, in memory and in a file.

Ids of these indexes are the rows of documents. An index holds the documents that stay: those that a new one is compared
with. Values are fixed-width bytes of a document's record.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateLists, CandidateSource, Places, Values
from nearkin.index.bands import BandIndex
from nearkin.index.digests import DigestIndex
from nearkin.index.hamming import HammingIndex

Held = TypeVar("Held", bound="HammingIndex | BandIndex | DigestIndex")


class Found(NamedTuple):
    """Candidates of several queries.

    Attributes
    ----------
    owners : (n,) int64
        The number of the query of each.
    rows : (n,) int64
    similarity : (n,) float64, or None
        Where the family itself verifies.
    skipped : int
        Look-ups that the family left out, so that candidates may be missing.
    """

    owners: NDArray[np.int64]
    rows: Places
    similarity: NDArray[np.float64] | None = None
    skipped: int = 0


class StoreIndex(Protocol):
    """An index of documents by row."""

    def __len__(self) -> int:
        """How many documents it holds."""

    def add(self, rows: Places, values: Values) -> None:
        """Let these be found; rows ascend from call to call."""

    def find(self, values: Values, source: CandidateSource | None = None) -> Found:
        """The rows that may match each of these values; what is skipped is said by `source`, for None by the store."""

    def save(self, path: Path) -> None:
        """Write it as one file, whole or absent."""

    def verify(self) -> None:
        """Read every byte and compare checksums."""

    @property
    def nbytes(self) -> int:
        """Bytes it takes, in memory or in the map of its file."""


class StoreFamily(Protocol):
    """A family with the parameters of one store."""

    @property
    def shape(self) -> tuple[np.dtype[np.generic], int]:
        """Type of a value, and how many a document has."""

    def searched(self, values: Values) -> NDArray[np.bool_]:
        """Which of these can be found by a search; all others match by equal content alone."""

    def shown(self, values: Values) -> Values:
        """Values as a caller has them."""

    def confirm(self, values: Values, lists: CandidateLists, stored: Callable[[Places], Values]) -> CandidateLists:
        """The candidates that what is stored confirms, where that is for the family to say."""

    def empty(self) -> StoreIndex:
        """An index in memory."""

    def open(self, path: Path) -> StoreIndex:
        """The index of a file."""


class RowIndex(Generic[Held]):
    """An index of `nearkin.index` whose ids are rows; how values are added and found is said by each family."""

    def __init__(self, index: Held) -> None:
        self._index = index

    def __len__(self) -> int:
        return len(self._index)

    def save(self, path: Path) -> None:
        """Write it as one file, whole or absent."""
        self._index.save(path)

    def verify(self) -> None:
        """Read every byte and compare checksums."""
        self._index.verify()

    @property
    def nbytes(self) -> int:
        """Bytes of values, of what finds them, and of ids."""
        return self._index.nbytes


class VerifiedFamily:
    """A family of which all values are searched, and whose candidates are matches, or are verified by their texts."""

    def searched(self, values: Values) -> NDArray[np.bool_]:
        """All."""
        return np.ones(len(values), bool)

    def confirm(self, values: Values, lists: CandidateLists, stored: Callable[[Places], Values]) -> CandidateLists:
        """All of them."""
        return lists
