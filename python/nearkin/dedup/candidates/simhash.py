"""SimHash proposes every fingerprint within a Hamming radius, and no other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache, absorb_in_order, near_in_batch
from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    Decision,
    OlderIndex,
    PlacedValues,
    Places,
    TextBatch,
    Values,
    ascending,
    nearest_hits,
)
from nearkin.dedup.summary import Summary
from nearkin.errors import bad_parameter, mismatch
from nearkin.index.fingerprints import hamming
from nearkin.index.hamming import HammingIndex
from nearkin.recipe import Recipe
from nearkin.theory import SIMHASH_RECALL, simhash_radius, simhash_recall


class SimHashCandidates:
    """Fingerprints of a recipe, and candidates within a radius.

    Parameters
    ----------
    recipe : Recipe
    threshold : float
        Similarity from which the radius follows where `radius` is None (`nearkin.theory.simhash_radius`).
    radius : int, optional
        Largest distance of a candidate, inclusive.
    recall : float, optional
        Where `radius` is None, the wanted probability that a pair at the threshold lies within it; 0.995 for None.

    Raises
    ------
    ParameterError
        For a radius that is negative or exceeds the width, a recall out of range, or both given.
    """

    equal: ClassVar[float] = 1.0

    def __init__(
        self, recipe: Recipe, threshold: float, radius: int | None = None, recall: float | None = None
    ) -> None:
        if radius is not None and recall is not None:
            raise bad_parameter("recall", recall, f"either a recall or radius={radius}, which says what is found")
        if recall is not None and recall == 1:
            raise bad_parameter("recall", recall, f"a share below 1; radius={recipe.bits} compares every pair")
        wanted = SIMHASH_RECALL if recall is None else recall
        reach = simhash_radius(threshold, recipe.bits, wanted) if radius is None else radius
        if isinstance(reach, bool) or not isinstance(reach, (int, np.integer)) or not 0 <= reach <= recipe.bits:
            raise bad_parameter("radius", repr(reach), f"a whole number from 0 to bits={recipe.bits}")
        self.recipe, self.threshold = recipe, threshold
        self.radius = int(reach)

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Fingerprints, `(n, words)`, and feature counts."""
        values, counts = self.recipe.core.fingerprints(texts)
        return values.reshape(-1, self.recipe.words), counts

    def search(self, values: Values | PlacedValues) -> CandidateSearch:
        """An empty search over fingerprints."""
        return HammingSearch(self.recipe.bits, self.radius, values)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Hamming distances of rows."""
        if not len(left):
            return np.zeros(0, np.int64)
        squeeze = left.shape[1] == 1
        found = hamming(left[:, 0], right[:, 0]) if squeeze else hamming(left, right)
        return np.asarray(found, np.int64).reshape(-1)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """NaN: a distance is not a similarity of texts."""
        return np.full(len(left), np.nan)

    def are_candidates(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Whether rows lie within the radius."""
        return self.distances(left, right) <= self.radius

    def older_index(self, against: object) -> OlderIndex | None:
        """A HammingIndex of the recipe's width: the nearest entry within the radius counts."""
        if not isinstance(against, HammingIndex):
            return None
        if against.bits != self.recipe.bits:
            raise mismatch("bits", f"index of {against.bits}", f"recipe of {self.recipe.bits}")
        return OlderIndex(lambda values: nearest_hits(against.search(_shaped(values), self.radius), len(values)))

    @property
    def recall(self) -> float | None:
        """Probability that a pair at the threshold is found; None for weighted features, which have no such law."""
        if self.recipe.weight != "binary":
            return None
        return simhash_recall(self.threshold, self.recipe.bits, self.radius)

    def summary(self) -> Summary:
        """The radius, and what is expected of it."""
        return {"radius": self.radius, "expected_recall": self.recall}


class HammingSearch:
    """Fingerprints by place, and the index of those that were added."""

    def __init__(self, bits: int, radius: int, values: Values | PlacedValues) -> None:
        self._bits, self._radius, self._values = bits, radius, values

    @cached_property
    def _index(self) -> HammingIndex:
        """Made when it is first needed: a single batch has no use for it."""
        return HammingIndex(self._bits, radius=self._radius)

    def __len__(self) -> int:
        return len(self._index) if "_index" in self.__dict__ else 0

    def add(self, places: Places) -> None:
        """Add the fingerprints of these places to the index."""
        self._index.add(places, _shaped(self._values[places]))

    def find(self, values: Values) -> CandidateLists:
        """Everything within the radius."""
        hits = self._index.search(_shaped(values), self._radius)
        found = np.asarray(hits.ids, np.int64)
        return CandidateLists(hits.offsets, found[ascending(hits.offsets, found)])

    def within(self, places: Places) -> CandidateBatch:
        """The fingerprints that lie within the radius of another one of the batch."""
        flat = np.ascontiguousarray(self._values[places]).reshape(-1)
        close = np.flatnonzero(near_in_batch(flat, self._values.shape[1], self._radius))
        return HammingBatch(close, self._values[places[close]], self._radius)

    def pairs(self) -> CandidatePairs:
        """All pairs within the radius."""
        pairs = self._index.pairs(self._radius)
        return CandidatePairs(np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64))


@dataclass(frozen=True)
class HammingBatch:
    """Fingerprints that are compared with one another as the batch is visited."""

    close: NDArray[np.int64]
    values: Values
    radius: int

    def absorb(self, cache: TextCache | None, places: Places, threshold: float, most: int) -> Decision:
        """Each kept document scans the rest of the batch."""
        return absorb_in_order(
            cache,
            documents=places.astype(np.uint32),
            fingerprints=np.ascontiguousarray(self.values).reshape(-1),
            words=self.values.shape[1],
            radius=self.radius,
            threshold=threshold,
            most=most,
        )


def _shaped(rows: Values) -> Values:
    return rows[:, 0] if rows.shape[1] == 1 else rows
