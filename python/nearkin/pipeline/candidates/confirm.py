"""One family proposes, another confirms: candidates of the first that the second finds alike as well.

Henzinger (SIGIR 2006) found that MinHash and SimHash err on different pairs, and that pairs on which both agree are far
more often right than those of either. Here the first family searches, and each of its candidates must also lie within
the second one's reach: a radius of fingerprints, or a share of equal values of signatures. Confirmation costs a look at
two hashes, verification by texts a look at two texts.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import bad_parameter
from nearkin.pipeline.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    ListedBatch,
    Places,
    Values,
)
from nearkin.pipeline.candidates.minhash import MinHashCandidates
from nearkin.pipeline.candidates.simhash import SimHashCandidates


class Nothing:
    """No index of older documents holds the hashes of two families."""


class ConfirmedCandidates:
    """Candidates of one family that another one confirms.

    Parameters
    ----------
    first : SimHashCandidates or MinHashCandidates
        Proposes candidates; its distance is reported.
    second : SimHashCandidates or MinHashCandidates
        Confirms those within its radius, or with its least number of equal values.
    """

    index_type: ClassVar[type] = Nothing
    equal: ClassVar[float] = 1.0

    def __init__(
        self, first: SimHashCandidates | MinHashCandidates, second: SimHashCandidates | MinHashCandidates
    ) -> None:
        self.first, self.second = first, second
        if isinstance(second, SimHashCandidates):
            self.most = second.radius
        else:
            self.most = second.recipe.num_perm - second.banding.least

    def hash(self, texts: Any) -> tuple[Values, NDArray[np.uint64]]:
        """Both hashes side by side, one record per text; the feature counts of the first family."""
        one, counts = self.first.hash(texts)
        other, _ = self.second.hash(texts)
        both = np.empty(len(one), [("first", one.dtype, one.shape[1:]), ("second", other.dtype, other.shape[1:])])
        both["first"], both["second"] = one, other
        return both, counts

    def search(self, values: Values) -> CandidateSearch:
        """A search of the first family whose candidates are confirmed."""
        return ConfirmedSearch(self, values)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Distances of the first family."""
        return self.first.distances(left["first"], right["first"])

    def confirms(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Whether the second family finds rows alike."""
        return self.second.distances(left, right) <= self.most

    def check_index(self, index: Any) -> None:
        """No index is taken."""
        raise bad_parameter("against", index, "texts, with two families")

    def nearest(self, index: Any, values: Values) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
        """No index is taken."""
        raise bad_parameter("against", index, "texts, with two families")

    def summary(self) -> dict[str, Any]:
        """Parameters of both."""
        return {**self.first.summary(), "confirm": str(self.second.recipe), "confirm_distance": self.most}


class ConfirmedSearch:
    """The first family's search over confirmed candidates."""

    def __init__(self, candidate_source: ConfirmedCandidates, values: Values) -> None:
        self._proposer = candidate_source
        self._first = np.ascontiguousarray(values["first"])
        self._second = np.ascontiguousarray(values["second"])
        self._search = candidate_source.first.search(self._first)

    def _confirmed(self, left: Places, right: Places) -> NDArray[np.bool_]:
        parts = [np.zeros(0, bool)]
        # So many at a time that copies of rows stay small.
        for start in range(0, len(left), 1 << 16):
            part = slice(start, start + (1 << 16))
            parts.append(self._proposer.confirms(self._second[left[part]], self._second[right[part]]))
        return np.concatenate(parts)

    def __len__(self) -> int:
        return len(self._search)

    def add(self, places: Places) -> None:
        """Let these be found."""
        self._search.add(places)

    def find(self, places: Places) -> CandidateLists:
        """Candidates of the first family that the second one confirms."""
        found = self._search.find(places)
        owners = np.repeat(np.arange(len(places)), np.diff(found.offsets))
        kept = self._confirmed(places[owners], found.places)
        counts = np.bincount(owners[kept], minlength=len(places))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return CandidateLists(offsets, found.places[kept], None if found.similarity is None else found.similarity[kept])

    def within(self, places: Places) -> CandidateBatch:
        """Confirmed pairs of the batch."""
        batch = self._proposer.first.search(self._first[places])
        batch.add(np.arange(len(places)))
        links = batch.pairs()
        kept = self._confirmed(places[links.left], places[links.right])
        similarity = None if links.similarity is None else links.similarity[kept]
        return ListedBatch.of(links.left[kept], links.right[kept], similarity)

    def pairs(self) -> CandidatePairs:
        """Confirmed pairs."""
        links = self._search.pairs()
        kept = self._confirmed(links.left, links.right)
        similarity = None if links.similarity is None else links.similarity[kept]
        return CandidatePairs(links.left[kept], links.right[kept], similarity)

    def similarities(self, left: Places, right: Places) -> NDArray[np.float64]:
        """As the first family says."""
        return self._search.similarities(left, right)
