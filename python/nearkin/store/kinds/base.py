"""Interfaces between a store and its kinds of documents (texts, files, vectors).

`StoreSettings` is everything that a store needs from a kind: how documents are hashed, how their values are stored,
and which index finds them. `StoreIndex` is that index, in memory or in a file. Its ids are the rows of documents, and
it holds new documents alone, because others are never compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateLists, CandidateSource, Places, Values
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.stages import Featureless
from nearkin.dedup.verify import TextComparison
from nearkin.index.bands import BandIndex
from nearkin.index.digests import DigestIndex
from nearkin.index.hamming import HammingIndex
from nearkin.progress import Progress, unreported

if TYPE_CHECKING:
    from nearkin.families.base import Family
    from nearkin.recipe.base import FrozenRecipe

TextRule = Literal["keep", "features", "none"]
"""What a store keeps of the texts of new documents."""
FileKind = Literal["digests", "bytes", "paths"]
"""Type of the items passed to a store of files."""
Kind = Literal["texts", "vectors"] | FileKind
"""Type of the items passed to a store."""
StoreVerify = Literal["jaccard", "containment", "indel", "signature", "none"]
"""How a store verifies candidates."""

VERSION = 1
"""Version of the folder, raised when an older nearkin could misread it."""

_Index = TypeVar("_Index", bound="HammingIndex | BandIndex | DigestIndex")


class CandidateRows(NamedTuple):
    """Candidates of several queries in one index.

    Attributes
    ----------
    queries : (n,) int64
        The number of the query of each candidate.
    rows : (n,) int64
    similarity : (n,) float64, or None
        If the family itself verifies.
    skipped : int
        Lookups that the family skipped, so that candidates may be missing.
    """

    queries: NDArray[np.int64]
    rows: Places
    similarity: NDArray[np.float64] | None = None
    skipped: int = 0


class StoreIndex(Protocol):
    """An index of documents by row."""

    def __len__(self) -> int:
        """Return the number of documents."""

    def add(self, rows: Places, values: Values) -> None:
        """Add documents; rows ascend from call to call."""

    def search(self, values: Values, source: CandidateSource | None = None) -> CandidateRows:
        """Return the candidates of each query; `source` overrides what the store skips."""

    def save(self, path: Path) -> None:
        """Write the index as one file, atomically."""

    def verify(self) -> None:
        """Read every byte and compare checksums."""


class RowIndex(Generic[_Index]):
    """An index of `nearkin.index` whose ids are rows; each kind says how values are added and searched."""

    def __init__(self, index: _Index) -> None:
        self._index = index

    def __len__(self) -> int:
        return len(self._index)

    def save(self, path: Path) -> None:
        """Write the index as one file, atomically."""
        self._index.save(path)

    def verify(self) -> None:
        """Read every byte and compare checksums."""
        self._index.verify()


class StoreSettings(Protocol):
    """Settings of a store: fixed at creation, and written into every file of the store."""

    noun: ClassVar[str]
    """Name of a document: "text", "file" or "vector"."""
    distance_type: ClassVar[type]
    """Type of distances."""

    @property
    def recipe(self) -> FrozenRecipe | Family:
        """How a document is hashed."""

    @property
    def threshold(self) -> float:
        """Smallest similarity of a match, inclusive."""

    @property
    def radius(self) -> int | None:
        """Largest Hamming distance of a candidate, if the family has one."""

    @property
    def recall(self) -> float | None:
        """Required probability that a pair at the threshold is found, if it is below 1."""

    @property
    def text(self) -> TextRule:
        """What the store keeps of texts."""

    @property
    def verify(self) -> str:
        """How candidates are verified."""

    @property
    def verified_by(self) -> str:
        """How candidates are verified, in words."""

    @property
    def differ(self) -> tuple[str, ...]:
        """Rules that make similar documents different."""

    @property
    def featureless(self) -> Featureless:
        """Treatment of equal documents without features: copies or not."""

    @property
    def comparison(self) -> TextComparison | None:
        """How texts verify candidates; None if they do not."""

    @property
    def source(self) -> CandidateSource:
        """The family."""

    @property
    def needs_texts(self) -> bool:
        """True if the caller must provide the texts, which the store does not keep, to verify matches."""

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Raise MismatchError for a measure, or rules of `differ`, that the stored texts do not allow."""

    def skipped_message(self, skipped: int) -> str:
        """Return the warning about skipped comparisons: their number, and the limit that they exceed."""

    def hash(self, items: Any, kind: Kind | None, report: Progress = unreported) -> HashedDocuments:
        """Hash items; the result has ids if the items have."""

    # Values and index

    @property
    def value_shape(self) -> tuple[np.dtype[np.generic], int]:
        """Type of a stored value, and the number of values of a document."""

    def searchable(self, values: Values) -> NDArray[np.bool_]:
        """Return True for each document that a search can find; others match by equal content alone."""

    def public_values(self, values: Values) -> Values:
        """Return stored values in the form that a caller gets."""

    def confirm(self, values: Values, lists: CandidateLists, stored: Callable[[Places], Values]) -> CandidateLists:
        """Return the candidates that their stored values confirm, if the kind compares values."""

    def new_index(self) -> StoreIndex:
        """Return an empty index in memory."""

    def open_index(self, path: Path) -> StoreIndex:
        """Open the index of a segment."""

    # Serialisation

    def to_dict(self) -> dict[str, Any]:
        """Return all settings by name."""

    def to_json(self) -> str:
        """Return all settings as JSON with sorted keys."""

    def save_files(self, folder: Path) -> None:
        """Write the files that a new store needs besides the log."""


class WithoutTexts:
    """Settings of the kinds that have no texts: files and vectors."""

    text: ClassVar[TextRule] = "none"
    comparison: ClassVar[None] = None
    differ: ClassVar[tuple[str, ...]] = ()
    featureless: ClassVar[Featureless] = "keep"
    radius: ClassVar[None] = None
    needs_texts: ClassVar[bool] = False

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Accept everything: the values of a document verify its candidates."""
