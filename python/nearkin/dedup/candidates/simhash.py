"""SimHash candidates: every fingerprint within a Hamming radius, and no other.

For short texts the sizes of their feature sets narrow the search. Sets of a and b features have a Jaccard similarity of
at most min(a, b) / max(a, b), so a pair at the threshold t has sizes within a factor of 1 / t. `SizedCandidates` puts
the logarithms of sizes into classes of width ln(1 / t): a match of a document is in its own class or in an adjacent
one. Each class has an index of its own, and a search queries three. Without the classes, a fingerprint would be
compared with those of all other texts.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache, absorb_in_order, hamming_distances, instructions, near_in_batch, num_threads
from nearkin.dedup.candidates.base import (
    Absorption,
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    CandidateSource,
    OrderedValues,
    Ordinals,
    TextBatch,
    Values,
)
from nearkin.dedup.summary import FamilySummary
from nearkin.errors import bad_parameter, check_count
from nearkin.index.hamming import HammingIndex
from nearkin.recipe import Recipe
from nearkin.theory import SIMHASH_RECALL, simhash_radius, simhash_recall

_MIN_SIZED = 1 << 14
"""Number of documents from which classes of sizes pay for their indexes."""
_MIN_WIDTH = 0.05
"""Smallest width of a class of sizes, as a logarithm."""

_radius_of = lru_cache(typed=True)(simhash_radius)
_MANY = 500_000
"""Number of documents from which a warning states the time of the search."""
_MIN_QUADRATIC = 8
"""Smallest radius that no tables serve."""
_COMPARISONS_PER_SECOND = {"avx512": 5e9}
"""Fingerprints of 128 bits that a thread compares, by instruction set."""
_COMPARISONS_WITH_OTHERS = 2e9
_recall_of = lru_cache(typed=True)(simhash_recall)


class SimHashCandidates:
    """Fingerprints of a recipe, and candidates within a radius.

    Parameters
    ----------
    recipe : Recipe
    threshold : float
        Similarity that determines the radius if `radius` is None (`nearkin.theory.simhash_radius`).
    radius : int, optional
        Largest distance of a candidate, inclusive.
    recall : float, optional
        If `radius` is None, the requested probability that a pair at the threshold is within it; 0.995 for None.

    Raises
    ------
    ParameterError
        For a radius that is negative or exceeds the width, a recall out of range, or both.
    """

    equal: ClassVar[float] = 1.0

    def __init__(
        self, recipe: Recipe, threshold: float, radius: int | None = None, recall: float | None = None
    ) -> None:
        if radius is not None and recall is not None:
            raise bad_parameter("recall", recall, f"either a recall or radius={radius}, which determines the recall")
        if recall is not None and recall == 1:
            raise bad_parameter("recall", recall, f"a share below 1; radius={recipe.bits} compares every pair")
        if radius is None:
            radius = _radius_of(threshold, recipe.bits, SIMHASH_RECALL if recall is None else recall)
        self.recipe, self.threshold = recipe, threshold
        self.radius = check_count("radius", radius, 0, recipe.bits, f"a whole number from 0 to bits={recipe.bits}")

    def calibrate(self, texts: TextBatch, num_documents: int) -> None:
        """Warn of a quadratic search of many documents before it starts, with its expected time."""
        if num_documents <= _MANY or self.radius < _MIN_QUADRATIC:
            return
        per_second = _COMPARISONS_PER_SECOND.get(instructions(), _COMPARISONS_WITH_OTHERS)
        minutes = num_documents**2 / 2 / per_second / num_threads() / 60
        warnings.warn(
            f"simhash compares about {num_documents:,} documents with all kept ones: the search may take "
            f"{minutes:,.0f} minutes on {num_threads()} threads, and four times as long for twice as many documents; "
            "the default, minhash, grows in proportion to them",
            RuntimeWarning,
            stacklevel=2,
        )

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return fingerprints, `(n, words)`, and feature counts."""
        values, counts = self.recipe.core.fingerprints(texts)
        return values.reshape(-1, self.recipe.words), counts

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over fingerprints."""
        return HammingSearch(self.recipe.bits, self.radius, values)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return the Hamming distances of rows."""
        a, b = (np.ascontiguousarray(side).reshape(-1) for side in (left, right))
        return hamming_distances(a, b, left.shape[1]).astype(np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return NaN: a distance is not a similarity of texts."""
        return np.full(len(left), np.nan)

    def are_candidates(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Return True for rows within the radius."""
        return self.distances(left, right) <= self.radius

    @property
    def recall(self) -> float | None:
        """Probability of finding a pair at the threshold; None for weighted features, which have no such law."""
        if self.recipe.weight != "binary":
            return None
        return _recall_of(self.threshold, self.recipe.bits, self.radius)

    def summary(self) -> FamilySummary:
        """Return the radius and its expected recall."""
        return {"radius": self.radius, "expected_recall": self.recall}


class HammingSearch:
    """Fingerprints by ordinal, and an index of the added ones."""

    def __init__(self, bits: int, radius: int, values: Values | OrderedValues) -> None:
        self._bits, self._radius, self._values = bits, radius, values

    @cached_property
    def _index(self) -> HammingIndex:
        """Built on first use, because a single batch does not need it."""
        return HammingIndex(self._bits, radius=self._radius)

    def __len__(self) -> int:
        return len(self._index) if "_index" in self.__dict__ else 0

    def add(self, ordinals: Ordinals) -> None:
        """Add these fingerprints to the index."""
        self._index.add(ordinals, flatten(self._values[ordinals]))

    def find(self, values: Values) -> CandidateLists:
        """Return all added fingerprints within the radius."""
        hits = self._index.search(flatten(values), self._radius)
        return CandidateLists.of_hits(hits.offsets, hits.ids)

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the fingerprints that are within the radius of another one of the batch."""
        return self._close_rows(ordinals)

    def _close_rows(self, ordinals: Ordinals) -> HammingBatch:
        words = np.ascontiguousarray(self._values[ordinals]).reshape(-1)
        close = np.flatnonzero(near_in_batch(words, self._values.shape[1], self._radius))
        return HammingBatch(close, self._values[ordinals[close]], self._radius)

    def pairs(self) -> CandidatePairs:
        """Return all pairs within the radius."""
        pairs = self._index.pairs(self._radius)
        return CandidatePairs(np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64))


@dataclass(frozen=True)
class HammingBatch:
    """Fingerprints that are compared with each other while the batch is visited."""

    close: NDArray[np.int64]
    values: Values
    radius: int

    def absorb(self, cache: TextCache | None, ordinals: Ordinals, threshold: float, max_comparisons: int) -> Absorption:
        """Let each kept document scan the rest of the batch."""
        return absorb_in_order(
            cache,
            documents=ordinals.astype(np.uint32),
            fingerprints=np.ascontiguousarray(self.values).reshape(-1),
            words=self.values.shape[1],
            radius=self.radius,
            threshold=threshold,
            most=max_comparisons,
        )


def flatten(rows: Values) -> Values:
    """Return fingerprints of one word as one-dimensional, as an index takes them."""
    return np.ascontiguousarray(rows[:, 0] if rows.shape[1] == 1 else rows)


def split_by_size(
    source: CandidateSource, values: Values, counts: NDArray[np.uint64], threshold: float
) -> tuple[CandidateSource, Values]:
    """Return the source that searches by classes of sizes, and its values; or both unchanged if classes do not pay.

    The caller must verify by Jaccard similarity.

    Parameters
    ----------
    source : CandidateSource
    values : (n, ...) array
        Hashed documents.
    counts : (n,) uint64
        Numbers of distinct features.
    threshold : float
        Smallest Jaccard similarity of a match.
    """
    if not isinstance(source, SimHashCandidates) or source.recipe.weight != "binary" or len(values) < _MIN_SIZED:
        return source, values
    width = max(math.log(1 / threshold) * (1 + 1e-9), _MIN_WIDTH)
    records = np.empty(len(values), [("print", values.dtype, values.shape[1:]), ("class", np.int64)])
    records["print"] = values
    records["class"] = np.log(np.maximum(counts, 1)) / width
    return SizedCandidates(source), records


class SizedCandidates:
    """Fingerprints with the class of their size: records with the fields `print` and `class`."""

    equal: ClassVar[float] = 1.0

    def __init__(self, source: SimHashCandidates) -> None:
        self._source = source

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over fingerprints with their classes."""
        return SizedSearch(self._source, OrderedValues.of(values))

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return the Hamming distances of rows."""
        return self._source.distances(left["print"], right["print"])

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return NaN, as the family does."""
        return self._source.similarities(left["print"], right["print"])

    def summary(self) -> FamilySummary:
        """Return the summary of the family."""
        return self._source.summary()


class SizedSearch:
    """One search for each class of sizes."""

    def __init__(self, source: SimHashCandidates, values: OrderedValues) -> None:
        self._source = source
        self._prints, self._classes = values.field("print"), values.field("class")
        self._searches: dict[int, CandidateSearch] = {}

    def __len__(self) -> int:
        return sum(map(len, self._searches.values()))

    def add(self, ordinals: Ordinals) -> None:
        """Add each fingerprint to the search of its class."""
        classes = self._classes[ordinals]
        for size_class in np.unique(classes).tolist():
            search = self._searches.setdefault(size_class, self._source.search(self._prints))
            search.add(ordinals[classes == size_class])

    def find(self, values: Values) -> CandidateLists:
        """Return all within the radius whose class is the same or adjacent."""
        owners, ordinals = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for size_class in np.unique(values["class"]).tolist():
            rows = np.flatnonzero(values["class"] == size_class)
            prints = np.ascontiguousarray(values["print"][rows])
            for adjacent in (size_class - 1, size_class, size_class + 1):
                if adjacent in self._searches:
                    lists = self._searches[adjacent].find(prints)
                    owners.append(rows[lists.owners()])
                    ordinals.append(lists.ordinals)
        return CandidateLists.of_pairs(np.concatenate(owners), np.concatenate(ordinals), len(values))

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the candidates among these alone, of any size."""
        return self._source.search(self._prints).within(ordinals)

    def pairs(self) -> CandidatePairs:
        """Return all pairs among the added fingerprints, of any size."""
        search = self._source.search(self._prints)
        search.add(np.arange(len(self._prints)))
        return search.pairs()
