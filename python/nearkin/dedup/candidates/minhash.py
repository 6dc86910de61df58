"""MinHash proposes documents that share a band of their signatures, with a recall that is computed.

Bands and rows follow from threshold and wanted recall (`nearkin.theory.choose_bands`). Of the pairs that share
a band only those whose signatures agree in `least` values are verified: what this loses is part of the stated recall.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin._core import byte_hashes, signature_differences
from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    KnowsPlaces,
    ListedBatch,
    OlderIndex,
    PlacedValues,
    Places,
    TextBatch,
    Values,
    ascending,
    nearest_hits,
)
from nearkin.dedup.candidates.buckets import BucketSearch
from nearkin.dedup.spill import Spill
from nearkin.dedup.summary import Summary
from nearkin.families.minhash import check_minhash
from nearkin.index.bands import BandIndex
from nearkin.recipe import Recipe
from nearkin.theory import choose_bands

RECALL = 0.95
"""Recall at the threshold when the caller says nothing."""
_KNOWN = 1 << 14
"""Documents from which buckets of all of them are worth their sorting."""


class MinHashCandidates:
    """Signatures of a recipe, and candidates by bands.

    Parameters
    ----------
    recipe : Recipe
        With the family minhash.
    threshold : float
        Jaccard similarity from which pairs are wanted.
    recall : float, optional
        Wanted probability that a pair at the threshold becomes a candidate; 0.95 for None.
    by_share : bool
        Whether the share of equal values itself verifies: candidates are then matches, from the threshold on.

    Raises
    ------
    ParameterError
        If the signatures have too few values for that recall.
    """

    equal: ClassVar[float] = 1.0

    def __init__(
        self, recipe: Recipe, threshold: float, recall: float | None = None, *, by_share: bool = False
    ) -> None:
        check_minhash(recipe)
        self.recipe = recipe
        self.threshold = threshold
        self.by_share = by_share
        self.banding = choose_bands(threshold, RECALL if recall is None else recall, recipe.num_perm)

    @property
    def share(self) -> float:
        """Share of equal values from which a pair is a candidate."""
        return self.threshold if self.by_share else self.banding.min_matches / self.recipe.num_perm

    @property
    def least(self) -> int:
        """Equal values from which a pair is a candidate."""
        # A share that is exactly wanted counts, whatever the last bit of the product says.
        return math.ceil(self.share * self.recipe.num_perm - 1e-9)

    @property
    def recall(self) -> float:
        """Probability that a pair at the threshold is found."""
        return self.banding.recall

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Signatures, `(n, num_perm)`, and feature counts."""
        values, counts = self.recipe.core.signatures(texts)
        return values.reshape(-1, self.recipe.num_perm), counts

    def search(self, values: Values | PlacedValues) -> CandidateSearch:
        """An empty search over signatures."""
        return BandSearch(self, values)

    def search_known(self, values: PlacedValues, spill: Spill) -> KnowsPlaces | None:
        """By buckets, from `_KNOWN` documents on."""
        return BucketSearch(self, values, spill) if len(values) >= _KNOWN else None

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """In how many values signatures differ."""
        if not len(left):
            return np.zeros(0, np.int64)
        one, other = (np.ascontiguousarray(side).reshape(-1) for side in (left, right))
        return signature_differences(one, other, self.recipe.num_perm).astype(np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """The share of equal values, or NaN where it does not verify."""
        if not self.by_share:
            return np.full(len(left), np.nan)
        return 1 - self.distances(left, right) / self.recipe.num_perm

    def are_candidates(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Whether rows share a band and agree in enough values."""
        bands, rows = self.banding.num_bands, self.banding.num_rows
        equal = (left[:, : bands * rows] == right[:, : bands * rows]).reshape(-1, bands, rows)
        return np.asarray(equal.all(2).any(1)) & (self.distances(left, right) <= self.recipe.num_perm - self.least)

    def band_keys(self, values: Values) -> NDArray[np.int64]:
        """Hashes of the bands of each row, `(n, num_bands)`: those of two rows are equal where the band is equal, and
        else with probability 2^-64.
        """
        bands, rows = self.banding.num_bands, self.banding.num_rows
        cut = np.ascontiguousarray(values[:, : bands * rows])
        if not len(cut):
            return np.zeros((0, bands), np.int64)
        width = rows * cut.dtype.itemsize
        hashes = byte_hashes(cut.view(np.uint8).reshape(-1), width)[::2].reshape(-1, bands)
        # Equal values in different bands have different keys.
        salts = np.arange(1, bands + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return np.asarray(hashes ^ salts).view(np.int64)

    def older_index(self, against: object) -> OlderIndex | None:
        """A BandIndex of the recipe's signatures: the nearest entry with the wanted share of values counts."""
        if not isinstance(against, BandIndex):
            return None
        against.check_recipe(self.recipe)
        return OlderIndex(lambda values: nearest_hits(against.search(values, self.share), len(values)))

    def summary(self) -> Summary:
        """Bands, and what is expected of them."""
        return {
            "num_perm": self.recipe.num_perm,
            "num_bands": self.banding.num_bands,
            "num_rows": self.banding.num_rows,
            "least_equal_values": self.banding.min_matches,
            "expected_recall": self.banding.recall,
            "expected_precision": self.banding.precision,
        }


class BandSearch:
    """Signatures by place, and the index of those that were added."""

    def __init__(self, candidate_source: MinHashCandidates, values: Values | PlacedValues) -> None:
        self._source, self._values = candidate_source, values
        self._index = self._empty()

    def _empty(self) -> BandIndex:
        return BandIndex.from_banding(self._source.banding, self._source.recipe)

    def _similarity(self, distances: NDArray[Any]) -> NDArray[np.float64] | None:
        return 1 - distances / self._source.recipe.num_perm if self._source.by_share else None

    def __len__(self) -> int:
        return len(self._index)

    def add(self, places: Places) -> None:
        """Add the signatures of these places to the index."""
        if len(places):
            self._index.add(places, self._values[places])

    def find(self, values: Values) -> CandidateLists:
        """What shares a band and enough values."""
        hits = self._index.search(values, self._source.share)
        found = np.asarray(hits.ids, np.int64)
        order = ascending(hits.offsets, found)
        return CandidateLists(hits.offsets, found[order], self._similarity(hits.distances[order]))

    def within(self, places: Places) -> CandidateBatch:
        """The pairs of the batch that share a band and enough values."""
        index = self._empty()
        index.add(None, self._values[places])
        pairs = index.pairs(self._source.share)
        left, right = np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)
        return ListedBatch.of(left, right, self._similarity(pairs.distances))

    def pairs(self) -> CandidatePairs:
        """All pairs that share a band and enough values."""
        pairs = self._index.pairs(self._source.share)
        left, right = np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)
        return CandidatePairs(left, right, self._similarity(pairs.distances))
