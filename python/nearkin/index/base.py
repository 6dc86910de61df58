"""The contract of every index, as types: what `HammingIndex`, `BandIndex`, `DigestIndex` and `LSHIndex` have in common.

An index holds *values* (fingerprints, signatures, digests or vectors) under ids. Whatever the values are,

- a change is whole or absent: a call that fails, in whatever way, leaves the index as it was, and other threads see
  all of it or nothing;
- what was added is found at once, what was removed is not; `add` then `remove` changes nothing;
- results come nearest first, ties by id, and pairs have the smaller id left, sorted by both;
- `save` then `open` is identity, and so are `pickle`, `copy.copy` and `copy.deepcopy`: a copy answers exactly alike and
  goes its own way.

What counts as near is set by a *limit*, the second argument of `search` and the first of `pairs` and `clusters`: a
radius (Hamming distance or distance of vectors), or a threshold (share of equal values, or score). Further keyword
arguments differ between indexes. Types are checked in `tests/typing`, behaviour in `tests/index/test_contract.py`.

Examples
--------
>>> from nearkin.index.base import Index
>>> from nearkin import HammingIndex
>>> isinstance(HammingIndex(), Index)
True
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from nearkin.index.ids import Existing, Id, IdArray, Ids

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ClusterList", "Index", "Matches", "PairList"]

_Values = TypeVar("_Values", contravariant=True)
_Limit = TypeVar("_Limit", contravariant=True)


class Matches(Protocol):
    """What searches return: matches of a batch of queries, nearest first, ties by id."""

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """int64 of shape (n_queries + 1,): query i owns `offsets[i]` to `offsets[i + 1]` (exclusive) of `ids`."""

    @property
    def ids(self) -> IdArray:
        """Ids of the matches, of shape (n_matches,)."""

    def __len__(self) -> int:
        """How many queries were asked."""


class PairList(Protocol):
    """Pairs of ids, each once, the smaller id left, sorted by both."""

    @property
    def left(self) -> IdArray:
        """The smaller ids, of shape (n_pairs,)."""

    @property
    def right(self) -> IdArray:
        """The larger ids, of shape (n_pairs,)."""

    def __len__(self) -> int:
        """How many pairs there are."""


ClusterList = Sequence[list[Id]]
"""Clusters of two and more ids, in order of their first members; members in order of addition."""


@runtime_checkable
class Index(Protocol[_Values, _Limit]):
    """Values under ids that are searched by nearness."""

    def add(self, ids: Ids | None, values: _Values, /, *, existing: Existing = "error") -> int:
        """Adds values; returns how many were added.

        One id for each value, integers of 64 bits or strings, of one kind in an index; None stands for row numbers,
        counted from the first value ever added. `existing` says what happens to an id that is already there, or occurs
        twice in the call: the call is refused, the value replaced (the last one wins), or the first one kept.
        """

    def remove(self, ids: Ids, /, *, missing_ok: bool = False) -> int:
        """Removes ids (or row numbers); returns how many were removed. One that is not there is an error by default."""

    def search(self, queries: _Values, limit: _Limit, /) -> Matches:
        """Everything within the limit of each query."""

    def nearest(self, queries: _Values, k: int = 10, /) -> Matches:
        """The k nearest of each query; of those at the last distance, the smallest ids."""

    def pairs(self, limit: _Limit, /) -> PairList:
        """All pairs within the limit."""

    def clusters(self, limit: _Limit, /) -> ClusterList:
        """Groups that the pairs make: in order of addition a free id opens one and takes in its free neighbours."""

    def save(self, path: str | os.PathLike[str], /, *, overwrite: bool = False) -> None:
        """Saves the index as one file with a checksum for every part, written aside, synced and renamed.

        A file that has changed since this index was opened from it is refused unless `overwrite` is set.
        """

    @classmethod
    def open(cls, path: str | os.PathLike[str], /) -> Self:
        """Opens a saved index; it may be added to, and the file stays as it is."""

    def verify(self) -> None:
        """Reads the whole file of an opened index and checks every part of it; does nothing for one made in memory."""

    def explain(self) -> dict[str, Any]:
        """What the index holds and how it searches; `ids` is their kind: "row numbers", "integers" or "strings"."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""

    def iter_ids(self, *, batch_size: int = 65_536) -> Iterator[IdArray]:
        """All ids in order of addition, `batch_size` at a time."""

    def __len__(self) -> int:
        """How many ids there are."""

    def __contains__(self, key: object, /) -> bool:
        """Whether an id is there."""
