"""One family proposes, another confirms: candidates of the first that the second finds similar, too.

Henzinger (SIGIR 2006) found that MinHash and SimHash err on different pairs, and that pairs on which both agree are far
more often right than those of either. Here the first family searches, and each of its candidates must also lie within
the second one's reach: a radius of fingerprints, or a share of equal values of signatures. Confirmation reads two
hashes, verification reads two texts.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    ListedBatch,
    OlderIndex,
    PlacedValues,
    Places,
    TextBatch,
    Values,
    offsets_of,
)
from nearkin.dedup.candidates.minhash import MinHashCandidates
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.summary import Summary
from nearkin.errors import bad_parameter
from nearkin.index.bands import BandIndex
from nearkin.index.hamming import HammingIndex

_AT_ONCE = 1 << 16
"""Pairs whose second hashes are copied at once: 64 MB of the widest fingerprints or of 128 values."""


class ConfirmedCandidates:
    """Candidates of one family that another one confirms.

    Parameters
    ----------
    first : SimHashCandidates or MinHashCandidates
        Proposes candidates; its distance is reported.
    second : SimHashCandidates or MinHashCandidates
        Confirms those within its radius, or with its smallest number of equal values.
    """

    equal: ClassVar[float] = 1.0

    def __init__(
        self, first: SimHashCandidates | MinHashCandidates, second: SimHashCandidates | MinHashCandidates
    ) -> None:
        self.first, self.second = first, second
        if isinstance(second, SimHashCandidates):
            self.most = second.radius
        else:
            self.most = second.recipe.num_perm - second.banding.min_matches

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Both hashes side by side, one record per text; the feature counts of the first family."""
        one, counts = self.first.hash(texts)
        other, _ = self.second.hash(texts)
        both = np.empty(len(one), [("first", one.dtype, one.shape[1:]), ("second", other.dtype, other.shape[1:])])
        both["first"], both["second"] = one, other
        return both, counts

    def search(self, values: Values | PlacedValues) -> CandidateSearch:
        """A search of the first family whose candidates are confirmed."""
        return ConfirmedSearch(self, values)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Distances of the first family."""
        return self.first.distances(left["first"], right["first"])

    def confirms(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Whether the second family finds rows similar."""
        return self.second.distances(left, right) <= self.most

    def are_candidates(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Whether the first family proposes pairs of rows and the second one confirms them."""
        found = self.first.are_candidates(left["first"], right["first"])
        found[found] = self.confirms(left["second"][found], right["second"][found])
        return found

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """As the first family says."""
        return self.first.similarities(left["first"], right["first"])

    def older_index(self, against: object) -> OlderIndex | None:
        """Never: an index of older documents holds the hashes of one family."""
        if isinstance(against, (HammingIndex, BandIndex)):
            raise bad_parameter("against", against, "texts with confirm, since an index has the hashes of one family")
        return None

    @property
    def recall(self) -> float | None:
        """Probability that both families find a pair at the threshold; their hashes are independent."""
        one, other = self.first.recall, self.second.recall
        return None if one is None or other is None else one * other

    def summary(self) -> Summary:
        """Parameters of both."""
        both: Summary = {"confirm": str(self.second.recipe), "confirm_distance": self.most}
        return {**self.first.summary(), **both, "expected_recall": self.recall}


class ConfirmedSearch:
    """The first family's search over confirmed candidates."""

    def __init__(self, candidate_source: ConfirmedCandidates, values: Values | PlacedValues) -> None:
        self._source = candidate_source
        placed = PlacedValues.of(values)
        self._first, self._second = placed.field("first"), placed.field("second")
        self._search = candidate_source.first.search(self._first)

    def _confirmed(self, values: Values | PlacedValues, left: Places, right: Places) -> NDArray[np.bool_]:
        """Whether the second family finds rows `left` of `values` and documents `right` similar."""
        parts = [np.zeros(0, bool)]
        for start in range(0, len(left), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            parts.append(self._source.confirms(values[left[part]], self._second[right[part]]))
        return np.concatenate(parts)

    def __len__(self) -> int:
        return len(self._search)

    def add(self, places: Places) -> None:
        """Let these be found."""
        self._search.add(places)

    def find(self, values: Values) -> CandidateLists:
        """Candidates of the first family that the second one confirms."""
        found = self._search.find(np.ascontiguousarray(values["first"]))
        owners = found.owners()
        kept = self._confirmed(values["second"], owners, found.places)
        offsets = offsets_of(np.bincount(owners[kept], minlength=len(values)))
        return CandidateLists(offsets, found.places[kept], None if found.similarity is None else found.similarity[kept])

    def within(self, places: Places) -> CandidateBatch:
        """Confirmed pairs of the batch."""
        batch = self._source.first.search(self._first[places])
        batch.add(np.arange(len(places)))
        links = batch.pairs()
        kept = self._confirmed(self._second, places[links.left], places[links.right])
        similarity = None if links.similarity is None else links.similarity[kept]
        return ListedBatch.of(links.left[kept], links.right[kept], similarity)

    def pairs(self) -> CandidatePairs:
        """Confirmed pairs."""
        links = self._search.pairs()
        kept = self._confirmed(self._second, links.left, links.right)
        similarity = None if links.similarity is None else links.similarity[kept]
        return CandidatePairs(links.left[kept], links.right[kept], similarity)
