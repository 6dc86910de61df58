"""Candidates among texts of like size alone: a family whose searches leave out what can't reach the threshold.

Two sets of features A and B have a Jaccard similarity of at most min(|A|, |B|) / max(|A|, |B|). With classes of sizes,
each 1 / threshold times as wide as the one before, a match lies in the same class or in one beside it. So each class
has an index of its own, and a search asks three. One index for all compares a fingerprint with those of all other
parts.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    CandidateSource,
    OlderIndex,
    PlacedValues,
    Places,
    SimHashCandidates,
    Values,
)
from nearkin.dedup.candidates.base import ascending, offsets_of
from nearkin.dedup.stages import RunOptions
from nearkin.dedup.summary import Summary

_LEAST = 1 << 14
"""Documents from which classes are worth their indexes."""
_NARROWEST = 0.05
"""Logarithm of the ratio of sizes within a class, at least."""


def sized(options: RunOptions, values: Values, counts: NDArray[np.uint64]) -> tuple[CandidateSource, Values]:
    """The candidate source of a run, by sizes where matches have like ones, and values as it takes them.

    Parameters
    ----------
    options : RunOptions
    values : (n, ...) array
        What the candidate source has hashed.
    counts : (n,) uint64
        Distinct features of each.
    """
    source, comparison = options.candidate_source, options.comparison
    jaccard = comparison is not None and comparison.measure == "jaccard"
    if not (isinstance(source, SimHashCandidates) and source.recipe.weight == "binary" and jaccard):
        return source, values
    if len(values) < _LEAST:
        return source, values
    width = max(math.log(1 / options.threshold) * (1 + 1e-9), _NARROWEST)
    records = np.empty(len(values), [("print", values.dtype, values.shape[1:]), ("class", np.int64)])
    records["print"] = values
    records["class"] = np.log(np.maximum(counts, 1)) / width
    return SizedCandidates(source), records


class SizedCandidates:
    """A family of fingerprints whose values have a class of sizes beside them."""

    equal: ClassVar[float] = 1.0

    def __init__(self, source: SimHashCandidates) -> None:
        self._source = source

    def search(self, values: Values | PlacedValues) -> CandidateSearch:
        """An empty search over fingerprints with their classes."""
        return SizedSearch(self._source, PlacedValues.of(values))

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Hamming distances of rows."""
        return self._source.distances(left["print"], right["print"])

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """As those of the family."""
        return self._source.similarities(left["print"], right["print"])

    def older_index(self, against: object) -> OlderIndex | None:
        """None: an index of older documents has no sizes."""
        return None

    def summary(self) -> Summary:
        """As that of the family."""
        return self._source.summary()


class SizedSearch:
    """A search for each class of sizes."""

    def __init__(self, source: SimHashCandidates, values: PlacedValues) -> None:
        self._source = source
        self._prints, self._classes = values.field("print"), values.field("class")
        self._searches: dict[int, CandidateSearch] = {}

    def __len__(self) -> int:
        return sum(map(len, self._searches.values()))

    def add(self, places: Places) -> None:
        """Add these, each to the search of its class."""
        classes = self._classes[places]
        for one in np.unique(classes).tolist():
            search = self._searches.setdefault(one, self._source.search(self._prints))
            search.add(places[classes == one])

    def find(self, values: Values) -> CandidateLists:
        """What lies within the radius, of the same class or one beside it."""
        owners, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for one in np.unique(values["class"]).tolist():
            rows = np.flatnonzero(values["class"] == one)
            prints = np.ascontiguousarray(values["print"][rows])
            for beside in (one - 1, one, one + 1):
                if beside in self._searches:
                    found = self._searches[beside].find(prints)
                    owners.append(rows[found.owners()])
                    places.append(found.places)
        owner, place = np.concatenate(owners), np.concatenate(places)
        order = np.argsort(owner, kind="stable")
        offsets = offsets_of(np.bincount(owner, minlength=len(values)))
        place = place[order]
        return CandidateLists(offsets, place[ascending(offsets, place)])

    def within(self, places: Places) -> CandidateBatch:
        """The candidates among these alone, of any size."""
        return self._source.search(self._prints).within(places)

    def pairs(self) -> CandidatePairs:
        """All pairs among those added, of any size."""
        search = self._source.search(self._prints)
        search.add(np.arange(len(self._prints)))
        return search.pairs()
