"""Results of a digest index: matches by query, pairs, clusters and hubs; highest score first, ties by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin.search.ids import IdArray
from nearkin.search.results import IdMatches, IdPairs, QueryMatches

__all__ = ["DigestClusters", "DigestPairs", "DigestResult", "Hub", "ScoredMatch", "ScoredMatches"]


@dataclass(frozen=True)
class ScoredMatch:
    """One match: the id and its score."""

    id: Any
    score: int


@dataclass(frozen=True, eq=False, repr=False)
class ScoredMatches(IdMatches):
    """The matches of one query, highest score first, ties by id.

    Attributes
    ----------
    ids : int64 array, or object array of str
    scores : uint8 array
    """

    _measure = "score"

    ids: IdArray
    scores: npt.NDArray[np.uint8]

    def _match(self, found: Any, value: Any) -> ScoredMatch:
        return ScoredMatch(found, value)


@dataclass(frozen=True, eq=False, repr=False)
class DigestResult(QueryMatches[ScoredMatches]):
    """Matches of a batch of queries, highest score first, ties by id.

    Attributes
    ----------
    offsets : int64 array of shape (n_queries + 1,)
        Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of the other two.
    ids : int64 array, or object array of str, of shape (n_matches,)
    scores : uint8 array of shape (n_matches,)
        1 to 100.
    skipped : int
        How many look-ups were left out because of `skip_hubs`; the result is exact if 0.
    """

    _measure = "score"

    offsets: npt.NDArray[np.int64]
    ids: IdArray
    scores: npt.NDArray[np.uint8]
    skipped: int

    def _row(self, ids: IdArray, values: Any) -> ScoredMatches:
        return ScoredMatches(ids, values)


@dataclass(frozen=True, eq=False, repr=False)
class DigestPairs(IdPairs):
    """Pairs at or above a threshold: each once, `left < right`, sorted by left and right.

    Attributes
    ----------
    left, right : int64 arrays, or object arrays of str, of shape (n_pairs,)
        Ids.
    scores : uint8 array of shape (n_pairs,)
        1 to 100.
    skipped : int
        How many look-ups were left out because of `skip_hubs`; the result is exact if 0.
    """

    _measure = "score"

    left: IdArray
    right: IdArray
    scores: npt.NDArray[np.uint8]
    skipped: int


@dataclass(frozen=True, eq=False)
class DigestClusters(Sequence[list[Any]]):
    """Clusters of two and more digests, as lists of ids, in order of their first member.

    Attributes
    ----------
    members : list of list
        The ids of each cluster in order of addition; the first one is the representative.
    skipped : int
        How many look-ups were left out because of `skip_hubs`; the result is exact if 0.
    """

    members: list[list[Any]]
    skipped: int

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, place: Any) -> Any:
        return self.members[place]

    def __repr__(self) -> str:
        return f"DigestClusters({len(self)} clusters, {sum(map(len, self.members))} members)"


@dataclass(frozen=True)
class Hub:
    """Seven characters that many digests share at one block size."""

    block_size: int
    gram: str
    count: int
