"""Fuzzy digests propose every digest that scores at least the threshold, and no other; the score is the similarity."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    ListedBatch,
    NearestEntries,
    OlderIndex,
    PlacedValues,
    Places,
    Values,
    ascending,
    offsets_of,
)
from nearkin.dedup.summary import Summary
from nearkin.digests.ssdeep import DigestRecipe, compare_many
from nearkin.errors import bad_parameter
from nearkin.index.digests import DigestIndex

GRAM = 7
"""Characters that two digests must share; one without as many in a part says nothing of its file."""


def is_comparable(digest: str) -> bool:
    """Whether a digest can be compared: files of zeros share `3::`, and tiny files a character or two."""
    return any(len(part) >= GRAM for part in digest.split(":")[1:])


class DigestCandidates:
    """Digests of a recipe, and those that score at least a threshold. Similarity is the score, 1 to 100.

    Parameters
    ----------
    recipe : DigestRecipe
    threshold : int
        Smallest score that counts, inclusive, 1 to 100.
    skip_hubs : int, optional
        7-grams that more digests share are left out, and counted; None follows all.

    Raises
    ------
    ParameterError
        For a threshold out of its range, or a recipe that no index searches by.
    """

    equal: ClassVar[float] = 100.0

    def __init__(self, recipe: DigestRecipe, threshold: float, skip_hubs: int | None = None) -> None:
        number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
        if not number or not 1 <= threshold <= 100 or threshold != int(threshold):
            raise bad_parameter("threshold", repr(threshold), "a whole score from 1 to 100, inclusive")
        recipe.check_searchable()
        self.recipe = recipe
        self.threshold = int(threshold)
        self.skip_hubs = skip_hubs

    def search(self, values: Values | PlacedValues) -> CandidateSearch:
        """An empty search over digests."""
        return DigestSearch(self.threshold, values, self.skip_hubs)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """100 less the score of the digests of each row."""
        return np.asarray(100 - _scores(left, right), np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Scores."""
        return _scores(left, right)

    def older_index(self, against: object) -> OlderIndex | None:
        """A DigestIndex of the recipe: the entry with the highest score counts, ties by the smallest id."""
        if not isinstance(against, DigestIndex):
            return None
        against.recipe.check_same(self.recipe)
        return OlderIndex(
            lambda values: self._nearest(against, values), lambda distances: (100 - distances).astype(np.float64)
        )

    def _nearest(self, index: DigestIndex, values: Values) -> NearestEntries:
        ids, distances = np.full(len(values), None, object), np.zeros(len(values), np.int64)
        places = np.flatnonzero(comparable(values))
        hits = index.nearest(digests_of(values[places]), 1, threshold=self.threshold, skip_hubs=self.skip_hubs)
        found = np.diff(hits.offsets) > 0
        ids[places[found]] = hits.ids.tolist()
        distances[places[found]] = 100 - hits.scores.astype(np.int64)
        return NearestEntries(ids, distances, hits.skipped)

    def summary(self) -> Summary:
        """Nothing beyond the threshold."""
        return {}


class DigestSearch:
    """Digests by place, and the index of those that were added.

    A digest without seven characters in a part is never added: equality alone would make it match others.
    """

    def __init__(self, threshold: int, values: Values | PlacedValues, skip_hubs: int | None = None) -> None:
        self._threshold, self._values, self._skip_hubs = threshold, values, skip_hubs
        self._index = DigestIndex(strict=False)
        self._comparable = comparable(values[:])
        self._added = 0

    def __len__(self) -> int:
        return self._added

    def add(self, places: Places) -> None:
        """Add the digests of these places to the index."""
        self._added += len(places)
        places = places[self._comparable[places]]
        self._index.add(places, digests_of(self._values[places]))

    def find(self, values: Values) -> CandidateLists:
        """Everything that scores at least the threshold, but for what only hubs lead to."""
        able = comparable(values)
        hits = self._index.search(digests_of(values[able]), self._threshold, skip_hubs=self._skip_hubs)
        counts = np.zeros(len(values), np.int64)
        counts[able] = np.diff(hits.offsets)
        offsets = offsets_of(counts)
        found = np.asarray(hits.ids, np.int64)
        order = ascending(offsets, found)
        return CandidateLists(offsets, found[order], hits.scores[order].astype(np.float64), hits.skipped)

    def within(self, places: Places) -> CandidateBatch:
        """The digests that score at least the threshold with another one of the batch."""
        batch = DigestSearch(self._threshold, self._values[places], self._skip_hubs)
        batch.add(np.arange(len(places)))
        links = batch.pairs()
        return ListedBatch.of(links.left, links.right, links.similarity, links.skipped)

    def pairs(self) -> CandidatePairs:
        """All pairs that score at least the threshold."""
        pairs = self._index.pairs(self._threshold, skip_hubs=self._skip_hubs)
        left, right = np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)
        return CandidatePairs(left, right, pairs.scores.astype(np.float64), pairs.skipped)


def comparable(values: Values) -> NDArray[np.bool_]:
    """Which digests can be compared."""
    return np.array([is_comparable(digest) for digest in digests_of(values)], bool)


def digests_of(values: Values) -> list[str]:
    """The digests of values: `(n, 1)` objects, or bytes of a fixed width, as a store keeps them."""
    digests: list[Any] = values[:, 0].tolist()
    return [digest.decode("ascii") for digest in digests] if values.dtype.kind == "S" else digests


def digest_rows(digests: list[str]) -> Values:
    """Digests as values: `(n, 1)` objects."""
    rows = np.empty((len(digests), 1), object)
    rows[:, 0] = digests
    return rows


def _scores(left: Values, right: Values) -> NDArray[np.float64]:
    """The scores of digests in pairs; those of one left digest are made together."""
    scores = np.zeros(len(left))
    others = digests_of(right)
    groups: dict[str, list[int]] = {}
    for place, digest in enumerate(digests_of(left)):
        groups.setdefault(digest, []).append(place)
    for digest, group in groups.items():
        scores[group] = compare_many(digest, [others[place] for place in group], strict=False)
    return scores
