"""What all kinds of stores share: the base of their settings and of their indexes.

The settings of a kind say how documents are hashed, how their values are stored, and which index finds them. The index
holds new documents alone, because others are never compared.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateSource, Ordinals, Values
from nearkin.dedup.config import Empty
from nearkin.dedup.kinds import Kind as CorpusKind
from nearkin.dedup.kinds import with_kind
from nearkin.errors import CorruptStoreError, MismatchError, ParameterError, bad_parameter, mismatch
from nearkin.index.bands import BandIndex
from nearkin.index.digests import DigestIndex
from nearkin.index.hamming import HammingIndex

if TYPE_CHECKING:
    from nearkin.digests.recipes import AnyDigestRecipe
    from nearkin.families.base import Family
    from nearkin.recipe import Recipe
    from nearkin.recipe.base import FrozenRecipe

TextRule = Literal["keep", "features", "none"]
"""What a store keeps of the texts of new documents."""
FileKind = Literal["digests", "bytes", "paths"]
"""Type of the items passed to a store of files."""
Kind = Literal["texts", "vectors"] | FileKind
"""Type of the items passed to a store."""
StoreVerify = Literal["jaccard", "containment", "indel", "words", "signature", "none"]
"""How a store verifies candidates."""

VERSION, NEWEST_VERSION = 1, 2
"""Versions of the folder, raised when an older nearkin could misread it: of most stores, and of stores of pages."""

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
    rows: Ordinals
    similarity: NDArray[np.float64] | None = None
    skipped: int = 0


class RowIndex(ABC, Generic[_Index]):
    """An index of documents, whose ids are rows, over an index of `nearkin.index`."""

    def __init__(self, index: _Index) -> None:
        self._index = index

    def __len__(self) -> int:
        return len(self._index)

    @abstractmethod
    def add(self, rows: Ordinals, values: Values) -> None:
        """Add documents; rows ascend from call to call."""

    @abstractmethod
    def search(self, values: Values, source: CandidateSource | None = None) -> CandidateRows:
        """Return the candidates of each query; `source` overrides what the store skips."""

    def rows(self) -> Ordinals:
        """Return the rows of all documents, in order of addition."""
        return np.concatenate([np.zeros(0, np.int64), *self._index.iter_ids()])

    def has(self, rows: Ordinals, values: Values) -> bool:
        """Return True if the index has exactly these values under these rows."""
        # Equal values are one query, so that the hits are at most the rows of the index.
        queries, numbers = np.unique(self._index_values(values), axis=0, return_inverse=True)
        hits = self._index.search(queries, int(isinstance(self._index, BandIndex)))
        owners, wanted = np.repeat(np.arange(len(queries)), np.diff(hits.offsets)), np.isin(hits.ids, rows)
        found = set(zip(hits.ids[wanted].tolist(), owners[wanted].tolist(), strict=True))
        return found.issuperset(zip(rows.tolist(), numbers.reshape(-1).tolist(), strict=True))

    def _index_values(self, values: Values) -> Values:
        """Return documents in the form that the index takes."""
        narrow = isinstance(self._index, HammingIndex) and values.shape[1] == 1
        return np.ascontiguousarray(values[:, 0] if narrow else values)

    def save(self, path: Path) -> None:
        """Write the index as one file, atomically."""
        self._index.save(path)

    def verify(self) -> None:
        """Read every byte and compare checksums."""
        self._index.verify()


StoreIndex: TypeAlias = "RowIndex[Any]"


@dataclass(frozen=True)
class StoreConfig:
    """The arguments of `Store.create` that its settings follow from, as the caller passed them.

    `has_texts` is True if the caller provides texts that the store does not keep.
    """

    recipe: Recipe | AnyDigestRecipe | Family | str | None
    threshold: float | None = None
    radius: float | None = None
    recall: float | None = None
    text: TextRule = "keep"
    verify: StoreVerify | None = None
    differ: str | Iterable[str] | None = None
    empty: Empty | None = None
    has_texts: bool = False
    kind: CorpusKind | None = None

    def __post_init__(self) -> None:
        """Set the options of the kind that the caller does not pass."""
        if self.kind is not None:
            names = ("recipe", "threshold", "verify", "differ")
            args = {name: getattr(self, name) for name in names}
            for name, value in with_kind({**args, "kind": self.kind})["kind_set"]:
                object.__setattr__(self, name, value)


FAMILY_FILE, IDF_FILE = SETTINGS_FILES = ("family.nks", "weights.idf")
"""Files that belong to the settings: hash functions of vectors, a table of weights of texts."""


class KindSettings:
    """Behaviour that most kinds share."""

    kind: ClassVar[str]
    """Name of a document: "text", "file" or "vector"."""

    def public_values(self, values: Values) -> Values:
        """Return stored values in the form that a caller gets."""
        return values

    def save_files(self, folder: Path) -> None:
        """Write the files that a new store needs besides the log."""


def kind_error(kind: object, allowed: tuple[str, ...], noun: str) -> ParameterError:
    """Return the error of a type of items that a store does not take."""
    names = " or ".join(f'"{name}"' for name in allowed)
    return bad_parameter("kind", repr(kind), f"{names} or None for a store of {noun}s")


def encode_settings(settings: dict[str, Any]) -> str:
    """Return settings as JSON with sorted keys."""
    return json.dumps(settings, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def corrupt_file(place: object, reason: str) -> CorruptStoreError:
    """Return the error for a damaged file."""
    return CorruptStoreError(f"{place}: {reason}", place=str(place), reason=reason)


def check_digest(recipe: FrozenRecipe, digest: object, place: str) -> None:
    """Raise CorruptStoreError if a recipe differs from its digest in the settings."""
    if recipe.digest != digest:
        raise corrupt_file(place, f"its recipe has the digest {recipe.digest} and not {digest}, as its settings say")


class WithoutTexts(KindSettings):
    """Settings of the kinds that have no texts: files and vectors."""

    text: ClassVar[TextRule] = "none"
    comparison: ClassVar[None] = None
    needs_texts: ClassVar[bool] = False
    differ: ClassVar[tuple[str, ...]] = ()
    empty: ClassVar[Empty] = "keep"
    pages: ClassVar[bool] = False

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Accept everything: the values of a document verify its candidates."""

    def no_texts_error(self) -> MismatchError:
        """Return the error of a call that needs texts."""
        store = f"a store of {self.kind}s, which keeps only searchable values: values(ids)"
        return mismatch("texts", store, "a call that needs texts")
