"""Results of a digest index: matches by query, pairs, clusters and hubs; highest score first, ties by id."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearkin.index.ids import Id, IdArray
from nearkin.index.results import Column, IdClusters, IdMatches, IdPairs, QueryMatches

__all__ = ["DigestClusters", "DigestPairs", "DigestResult", "Hub", "ScoredMatch", "ScoredMatches"]


@dataclass(frozen=True)
class ScoredMatch:
    """One match: the id and its score."""

    id: Id
    score: int


@dataclass(frozen=True, eq=False, repr=False)
class ScoredMatches(IdMatches[ScoredMatch]):
    """The matches of one query, highest score first, ties by id.

    Attributes
    ----------
    ids : int64 array, or object array of str
    scores : uint8 array
    """

    _measure = "score"

    ids: IdArray
    scores: npt.NDArray[np.uint8]

    def _match(self, found: Id, value: int) -> ScoredMatch:
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

    def _row(self, ids: IdArray, values: Column) -> ScoredMatches:
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


@dataclass(frozen=True, eq=False, repr=False)
class DigestClusters(IdClusters):
    """Clusters of two and more digests, in order of their first members; each is a list of ids in order of addition.

    Attributes
    ----------
    offsets : int64 array of shape (n_clusters + 1,)
        Cluster c owns positions `offsets[c]` to `offsets[c + 1]` (exclusive) of the other two.
    ids : int64 array, or object array of str, of shape (n_members,)
        The first of each cluster is its representative.
    scores : uint8 array of shape (n_members,)
        Score of each member with the representative; 0 is possible where chains connect them.
    skipped : int
        How many look-ups were left out because of `skip_hubs`; the result is exact if 0.
    """

    _measure = "score"

    offsets: npt.NDArray[np.int64]
    ids: IdArray
    scores: npt.NDArray[np.uint8]
    skipped: int


@dataclass(frozen=True)
class Hub:
    """Seven characters that many digests share at one block size."""

    block_size: int
    gram: str
    count: int
