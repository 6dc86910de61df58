"""Candidates of one family that a second family confirms.

Henzinger (SIGIR 2006) found that MinHash and SimHash err on different pairs, and that pairs on which both agree are far
more often right than those of either. The first family searches, and each of its candidates must also be within the
reach of the second: a radius of fingerprints, or a share of equal values of signatures. Confirmation reads two hashes;
verification reads two texts.
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
    OrderedValues,
    Ordinals,
    ReferenceIndex,
    TextBatch,
    Values,
)
from nearkin.dedup.candidates.minhash import MinHashCandidates
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.summary import Summary
from nearkin.errors import bad_parameter
from nearkin.index.bands import BandIndex
from nearkin.index.hamming import HammingIndex

_PAIRS = 1 << 16
"""Pairs whose second hashes are copied at once: 64 MB of the widest fingerprints or of 128 values."""


class ConfirmedCandidates:
    """Candidates of one family that another one confirms.

    Parameters
    ----------
    first : SimHashCandidates or MinHashCandidates
        Proposes candidates; the run reports its distance.
    second : SimHashCandidates or MinHashCandidates
        Confirms those within its radius, or with its smallest number of equal values.
    """

    equal: ClassVar[float] = 1.0

    def __init__(
        self, first: SimHashCandidates | MinHashCandidates, second: SimHashCandidates | MinHashCandidates
    ) -> None:
        self.first, self.second = first, second
        if isinstance(second, SimHashCandidates):
            self.max_distance = second.radius
        else:
            self.max_distance = second.recipe.num_perm - second.banding.min_matches

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return both hashes as one record per text, and the feature counts of the first family."""
        first, counts = self.first.hash(texts)
        second, _ = self.second.hash(texts)
        fields = [("first", first.dtype, first.shape[1:]), ("second", second.dtype, second.shape[1:])]
        records = np.empty(len(first), fields)
        records["first"], records["second"] = first, second
        return records, counts

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return a search of the first family whose candidates are confirmed."""
        return ConfirmedSearch(self, values)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return the distances of the first family."""
        return self.first.distances(left["first"], right["first"])

    def confirms(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Return True for rows that the second family finds similar."""
        return self.second.distances(left, right) <= self.max_distance

    def are_candidates(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Return True for rows that the first family proposes and the second confirms."""
        proposed = self.first.are_candidates(left["first"], right["first"])
        proposed[proposed] = self.confirms(left["second"][proposed], right["second"][proposed])
        return proposed

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the similarities of the first family."""
        return self.first.similarities(left["first"], right["first"])

    def reference_index(self, against: object) -> ReferenceIndex | None:
        """Refuse an index, which has the hashes of one family."""
        if isinstance(against, (HammingIndex, BandIndex)):
            raise bad_parameter("against", against, "texts with confirm, since an index has the hashes of one family")
        return None

    @property
    def recall(self) -> float | None:
        """Probability that both families find a pair at the threshold; their hashes are independent."""
        first, second = self.first.recall, self.second.recall
        return None if first is None or second is None else first * second

    def summary(self) -> Summary:
        """Return the parameters of both."""
        second: Summary = {"confirm": str(self.second.recipe), "confirm_distance": self.max_distance}
        return {**self.first.summary(), **second, "expected_recall": self.recall}


class ConfirmedSearch:
    """The first family's search over confirmed candidates."""

    def __init__(self, source: ConfirmedCandidates, values: Values | OrderedValues) -> None:
        self._source = source
        ordered = OrderedValues.of(values)
        self._first, self._second = ordered.field("first"), ordered.field("second")
        self._search = source.first.search(self._first)

    def _confirm(self, values: Values | OrderedValues, left: Ordinals, right: Ordinals) -> NDArray[np.bool_]:
        """Return True for rows `left` of `values` and documents `right` that the second family finds similar."""
        chunks = [np.zeros(0, bool)]
        for start in range(0, len(left), _PAIRS):
            chunk = slice(start, start + _PAIRS)
            chunks.append(self._source.confirms(values[left[chunk]], self._second[right[chunk]]))
        return np.concatenate(chunks)

    def __len__(self) -> int:
        return len(self._search)

    def add(self, ordinals: Ordinals) -> None:
        """Add these documents."""
        self._search.add(ordinals)

    def find(self, values: Values) -> CandidateLists:
        """Return the confirmed candidates."""
        lists = self._search.find(np.ascontiguousarray(values["first"]))
        return lists.select(self._confirm(values["second"], lists.owners(), lists.ordinals))

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the confirmed pairs of the batch."""
        batch = self._source.first.search(self._first[ordinals])
        batch.add(np.arange(len(ordinals)))
        return ListedBatch.of(self._confirm_pairs(batch.pairs(), ordinals))

    def pairs(self) -> CandidatePairs:
        """Return the confirmed pairs."""
        return self._confirm_pairs(self._search.pairs(), np.arange(len(self._second)))

    def _confirm_pairs(self, pairs: CandidatePairs, ordinals: Ordinals) -> CandidatePairs:
        """Return the confirmed ones of pairs that number these documents."""
        return pairs.select(self._confirm(self._second, ordinals[pairs.left], ordinals[pairs.right]))
