"""MinHash candidates: documents that share a band of their signatures, with a computed recall.

Bands and rows follow from the threshold, the requested recall, the number of documents and the similarity of unrelated
ones (`nearkin.theory.choose_bands`): more rows leave fewer unrelated candidates, so that the work grows in proportion
to the collection. `MinHashCandidates.calibrate` measures the background similarity on the first documents.

A document is represented by the *keys* of its bands, 8 bytes each: hashes of their values. Signatures are kept only
where they verify (`verify="signature"`), where a store takes them, and on engines; candidates are the same.

Where the Jaccard similarity of texts verifies, pairs are *filtered* before texts are read: a bit of each of up to 128
values, 16 bytes, estimates the similarity (`nearkin.theory.min_equal_bits`). A pair at the threshold is lost with
probability 1e-4, which the stated recall includes; most unrelated pairs of a shared band are dropped. The bits are
those of the signature wherever it is kept, so every entry point drops the same pairs.

`BandSearch` uses a `BandIndex`, which takes documents as they arrive: it stores each of them and sorts its keys again
and again. A deduplication has all documents from the start, so `BucketSearch` sorts each band once and stores only
buckets of at least two documents (`crates/nearkin-core/src/index/buckets.rs`).
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin._core import BandCore, BucketCore, hamming_distances, signature_differences
from nearkin._core import band_keys as _band_keys
from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    ListedBatch,
    OrderedValues,
    Ordinals,
    StaticSearch,
    TextBatch,
    Values,
)
from nearkin.dedup.spill import SpillPolicy, release
from nearkin.dedup.summary import FamilySummary
from nearkin.errors import ParameterError, bad_parameter
from nearkin.families.minhash import check_minhash
from nearkin.recipe import Recipe
from nearkin.text.batches import first_texts
from nearkin.theory import Banding, banding_probability, choose_bands, min_equal_bits
from nearkin.theory.banding import fixed_bands

RECALL = 0.995
"""Default recall at the threshold."""
MAX_BITS = 128
"""Largest number of one-bit values that filter pairs: two words."""
_MISSED = 1e-4
"""Largest probability that the filter drops a pair at the threshold."""
MAX_VALUES = 512
"""Largest number of values of a signature that calibration chooses."""
_FEW = 10_000
"""Number of documents up to which bands follow from the threshold and the recall alone."""
_SAMPLE = 2000
"""Documents whose similarities are measured, and values of their signatures."""
_SAMPLE_VALUES = 256
_SHIFTS = 16
"""Pairs per document of the sample."""
_MIN_STATIC = 1 << 14
"""Number of documents from which buckets pay for their sorting."""
_BATCH = 1 << 14
"""Documents whose keys are computed at once."""
_RELEASE = 1 << 18
"""Documents whose keys are computed before the memory of mapped files is released."""
_PAIRS = 1 << 14
"""Pairs of signatures that are compared at once."""


def feature_threshold(verify: str, threshold: float) -> float:
    """Return the smallest Jaccard similarity of features of pairs that bands look for.

    It is the threshold itself, and three quarters of it for `words`: a typing error in a title of ten letters changes a
    third of its letters and pairs of letters.
    """
    return 0.75 * threshold if verify == "words" else threshold


class MinHashCandidates:
    """Bands of the signatures of a recipe.

    Parameters
    ----------
    recipe : Recipe
        With the family minhash.
    threshold : float
        Smallest Jaccard similarity of a match.
    recall : float, optional
        Requested probability that a pair at the threshold becomes a candidate; 0.995 for None.
    bands : (int, int), optional
        Number of bands and rows, instead of those that follow from threshold and recall.
    by_share : bool
        Let the share of equal values verify: candidates are then matches, from the threshold on.
    filtered : bool
        The Jaccard similarity verifies candidates, so that one-bit values can drop some before.
    keys : bool
        Represent documents by the keys of their bands, and one-bit values if filtered, instead of their signatures.
    adaptive : bool
        Let the number of values follow the bands, and the bands the documents (`calibrate`).

    Raises
    ------
    ParameterError
        If the signatures have too few values for that recall or these bands.
    """

    equal: ClassVar[float] = 1.0

    def __init__(
        self,
        recipe: Recipe,
        threshold: float,
        recall: float | None = None,
        *,
        bands: tuple[int, int] | None = None,
        by_share: bool = False,
        filtered: bool = False,
        keys: bool = False,
        adaptive: bool = False,
    ) -> None:
        if recipe.family != "minhash":
            check_minhash(recipe)
        self.threshold, self.by_share, self.keys = threshold, by_share, keys
        # The law holds for values that are no copies of one another.
        self.filtered = filtered and recipe.scheme != "one"
        self._requested = RECALL if recall is None else recall
        self._adaptive = adaptive and bands is None
        self.background: float | None = None
        if bands is None:
            try:
                banding = _choose_bands(threshold, self._requested, recipe.num_perm)
            except ParameterError:
                if not adaptive:
                    raise
                banding = _choose_bands(threshold, self._requested, MAX_VALUES)
        else:
            values = bands[0] * bands[1]
            if values > (MAX_VALUES if adaptive else recipe.num_perm):
                most = MAX_VALUES if adaptive else recipe.num_perm
                more = "" if adaptive else f", or a recipe with more, such as minhash:{values}"
                allowed = f"at most {most} values in all, bands times rows{more}"
                raise bad_parameter("bands", f"{bands[0]}x{bands[1]}", allowed)
            banding = fixed_bands(threshold, max(values, recipe.num_perm), *bands)
        self._set_banding(recipe, banding)

    def _set_banding(self, recipe: Recipe, banding: Banding) -> None:
        """Use these bands, with as many values as they need; every pair that shares a band is a candidate."""
        bands, rows = banding.num_bands, banding.num_rows
        self.recipe = recipe if bands * rows <= recipe.num_perm else recipe.with_(num_perm=bands * rows)
        self.banding = _without_minimum(self.threshold, banding)
        # Keys are signatures with one row per band.
        self._num_values, self._rows = (bands, 1) if self.keys else (self.recipe.num_perm, rows)
        self.num_bits = min(self.recipe.num_perm, MAX_BITS) if self.filtered else 0
        self.min_equal_bits, self._missed = 0, 0.0
        if self.filtered:
            self.min_equal_bits, self._missed = _min_equal_bits(self.threshold, self.num_bits)

    def calibrate(self, texts: TextBatch, num_documents: int) -> None:
        """Choose the bands for documents like these, unless they were given.

        Parameters
        ----------
        texts : texts
            The first documents.
        num_documents : int
            Number of documents in all, possibly an estimate.
        """
        # The first call decides, so that all documents of a run have the same keys.
        adaptive, self._adaptive = self._adaptive, False
        if not adaptive or num_documents <= _FEW:
            return
        sample = self.recipe.with_(num_perm=_SAMPLE_VALUES)
        values, counts = sample.core.signatures(first_texts(texts, _SAMPLE))
        signatures = values.reshape(-1, _SAMPLE_VALUES)[counts > 0]
        n = len(signatures)
        shares = [
            (signatures == np.roll(signatures, -shift, axis=0)).mean(axis=1)
            for shift in (n * step // (2 * _SHIFTS) + 1 for step in range(_SHIFTS))
        ]
        similarities = np.concatenate(shares) if n > 1 else np.zeros(0)
        # Near-duplicates are what bands must find; the others are the background.
        unrelated = similarities[similarities < self.threshold / 2]
        self.background = float(unrelated.mean()) if len(unrelated) else 0.0
        banding = choose_bands(
            self.threshold, self._requested, MAX_VALUES, num_documents=num_documents, background=unrelated
        )
        if banding.num_rows > self.banding.num_rows:
            self._set_banding(self.recipe, banding)

    def by_keys(self) -> MinHashCandidates:
        """Return the same candidates, with documents represented by keys unless signatures verify."""
        if self.keys or self.by_share:
            return self
        source = copy(self)
        source.keys, source._num_values, source._rows = True, self.banding.num_bands, 1
        return source

    @property
    def share(self) -> float:
        """Smallest share of equal values, or keys, of a candidate."""
        return self.threshold if self.by_share else self._rows / self._num_values

    @property
    def min_equal_values(self) -> int:
        """Smallest number of equal values, or keys, of a candidate."""
        # A share that equals the bound counts, whatever the last bit of the product is.
        return math.ceil(self.share * self._num_values - 1e-9)

    @property
    def recall(self) -> float:
        """Probability of finding a pair at the threshold; at least that, because losses may coincide."""
        return self.banding.recall - self._missed

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return signatures `(n, num_perm)`, or keys and words of bits `(n, num_bands + num_words)`; feature counts."""
        values, counts = self.recipe.core.signatures(texts)
        return self.pack(values), counts

    def hash_sets(self, offsets: NDArray[np.int64], hashes: NDArray[np.uint64]) -> tuple[Values, NDArray[np.uint64]]:
        """Return the same for sets of features, each the XXH3-64 of one with seed 0."""
        return self.pack(self.recipe.core.signatures_hashed(offsets, hashes)), np.diff(offsets).astype(np.uint64)

    def pack(self, values: Values) -> Values:
        """Return what represents documents with these signatures: the signatures, or keys and words of bits."""
        signatures = values.reshape(-1, self.recipe.num_perm)
        return band_keys(signatures, self.banding, self.num_bits) if self.keys else signatures

    def new_index(self) -> BandCore:
        """Return an empty index of keys or signatures, without the checks of `BandIndex`."""
        value_bits = 64 if self.keys else self.recipe.value_bits
        return BandCore(self._num_values, self.banding.num_bands, self._rows, value_bits)

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over signatures."""
        return BandSearch(self, values)

    def static_search(self, values: OrderedValues, spill: SpillPolicy) -> StaticSearch | None:
        """Return a search by buckets; None for fewer than `_MIN_STATIC` documents."""
        return BucketSearch(self, values, spill) if len(values) >= _MIN_STATIC else None

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return the numbers of bands in which rows differ or, if they verify, of values."""
        if not len(left):
            return np.zeros(0, np.int64)
        if not self.by_share:
            return np.asarray(self.banding.num_bands - self._equal_bands(left, right).sum(axis=1))
        return self._different_values(left, right)

    def _different_values(self, left: Values, right: Values) -> NDArray[np.int64]:
        a, b = (np.ascontiguousarray(side).reshape(-1) for side in (left, right))
        return signature_differences(a, b, self.recipe.num_perm).astype(np.int64)

    def equal_shares(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the shares of equal values of signatures, which estimate the Jaccard similarity."""
        if not len(left):
            return np.zeros(0)
        return 1 - self._different_values(left, right) / self.recipe.num_perm

    def _equal_bands(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Return True for each row and band that both sides share, `(n, num_bands)`."""
        bands, rows = self.banding.num_bands, self._rows
        equal = left[:, : bands * rows] == right[:, : bands * rows]
        return np.asarray(equal.reshape(-1, bands, rows).all(axis=2))

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the shares of equal values, or NaN if they do not verify."""
        if not self.by_share:
            return np.full(len(left), np.nan)
        return 1 - self.distances(left, right) / self._num_values

    def match_similarity(self, distances: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the similarities of candidates at these distances; None if the family does not verify."""
        return 1 - distances / self._num_values if self.by_share else None

    def are_candidates(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Return True for rows that share a band and, if they verify, agree in enough values."""
        equal = self._equal_bands(left, right).any(axis=1)
        if self.by_share:
            equal &= self.distances(left, right) <= self.recipe.num_perm - self.min_equal_values
        return np.asarray(equal)

    def are_likely(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Return True for rows that agree in `min_equal_bits` one-bit values or more."""
        if not self.filtered or not len(left):
            return np.ones(len(left), bool)
        a, b = self.bits(left), self.bits(right)
        return hamming_distances(a.reshape(-1), b.reshape(-1), a.shape[1]) <= self.num_bits - self.min_equal_bits

    def bits(self, values: Values) -> NDArray[np.uint64]:
        """Return the one-bit values of each row, `(n, num_words)`."""
        if self.keys:
            return np.ascontiguousarray(values[:, self.banding.num_bands :])
        flat = np.ascontiguousarray(values).reshape(-1)
        return _band_keys(flat, self.recipe.num_perm, 0, 1, self.num_bits).reshape(
            len(values), (self.num_bits + 63) // 64
        )

    def band_keys(self, values: Values) -> NDArray[np.int64]:
        """Return the keys of the bands of each row, `(n, num_bands)`."""
        keys = values[:, : self.banding.num_bands] if self.keys else band_keys(values, self.banding)
        return np.ascontiguousarray(keys).view(np.int64)

    def share_bands(self, values: Values) -> NDArray[np.bool_]:
        """Return True for each row that shares a band with another one."""
        keys, shared = self.band_keys(values), np.zeros(len(values), bool)
        # Equal keys have equal bits at their end, which few others have in a table of this size.
        mask = (1 << (8 * len(keys)).bit_length()) - 1
        for band in keys.T:
            buckets = band & mask
            rows = np.flatnonzero(np.bincount(buckets, minlength=mask + 1)[buckets] > 1)
            rows = rows[np.argsort(band[rows])]
            equal = band[rows[1:]] == band[rows[:-1]]
            shared[rows[1:][equal]] = shared[rows[:-1][equal]] = True
        return shared

    def flat(self, values: Values) -> Values:
        """Return what an index takes of rows, one after another: keys or signatures."""
        return np.ascontiguousarray(values[:, : self.banding.num_bands] if self.keys else values).reshape(-1)

    def summary(self) -> FamilySummary:
        """Return the bands, and their expected recall and precision."""
        summary: FamilySummary = {
            "num_perm": self.recipe.num_perm,
            "num_bands": self.banding.num_bands,
            "num_rows": self.banding.num_rows,
        }
        if self.background is not None:
            summary["background_similarity"] = self.background
        return {**summary, "expected_recall": self.recall, "expected_precision": self.banding.precision}


@lru_cache(typed=True)
def _choose_bands(threshold: float, recall: float, num_perm: int) -> Banding:
    return choose_bands(threshold, recall, num_perm)


@lru_cache(typed=True)
def _min_equal_bits(threshold: float, num_bits: int) -> tuple[int, float]:
    return min_equal_bits(threshold, num_bits, _MISSED)


@lru_cache(typed=True)
def _without_minimum(threshold: float, banding: Banding) -> Banding:
    """Return bands of which every shared one makes a candidate."""
    recall = banding_probability(threshold, banding.num_bands, banding.num_rows)
    return replace(banding, min_matches=banding.num_rows, recall=recall)


def band_keys(signatures: Values, banding: Banding, num_bits: int = 0) -> NDArray[np.uint64]:
    """Return the keys of the bands of each signature, then its one-bit values, `(n, num_bands + num_words)`.

    Keys of two signatures are equal if the band is equal, and otherwise with probability 2^-64.
    """
    bands, rows = banding.num_bands, banding.num_rows
    flat = np.ascontiguousarray(signatures).reshape(-1)
    return _band_keys(flat, signatures.shape[1], bands, rows, num_bits).reshape(
        len(signatures), bands + (num_bits + 63) // 64
    )


class BandSearch:
    """Signatures by ordinal, and an index of the added ones."""

    def __init__(self, source: MinHashCandidates, values: Values | OrderedValues) -> None:
        self._source, self._values = source, values
        self._index = source.new_index()

    def __len__(self) -> int:
        return len(self._index)

    def add(self, ordinals: Ordinals) -> None:
        """Add these signatures to the index."""
        if len(ordinals):
            self._index.add(
                np.ascontiguousarray(ordinals, np.int64), self._source.flat(self._values[ordinals]), "error"
            )

    def find(self, values: Values) -> CandidateLists:
        """Return the added signatures that share a band."""
        offsets, ids, distances = self._index.search(self._source.flat(values), self._source.min_equal_values)
        return CandidateLists.of_hits(offsets, np.asarray(ids, np.int64), self._source.match_similarity(distances))

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the pairs of the batch that share a band."""
        return ListedBatch.of(_band_pairs(self._source, self._values[ordinals]))

    def pairs(self) -> CandidatePairs:
        """Return all pairs that share a band."""
        return _index_pairs(self._source, self._index)


def _band_pairs(source: MinHashCandidates, values: Values) -> CandidatePairs:
    """Return the candidate pairs among signatures, by row."""
    index = source.new_index()
    if len(values):
        index.add(None, source.flat(values), "error")
    return _index_pairs(source, index)


def _index_pairs(source: MinHashCandidates, index: BandCore) -> CandidatePairs:
    left, right, distances = index.pairs(source.min_equal_values, 0, 1 << 32)
    return CandidatePairs(np.asarray(left, np.int64), np.asarray(right, np.int64), source.match_similarity(distances))


class BucketSearch(StaticSearch):
    """Candidates of signatures by ordinal.

    Parameters
    ----------
    source : MinHashCandidates
    values : OrderedValues
        Keys or signatures of all documents.
    spill : SpillPolicy
    """

    def __init__(self, source: MinHashCandidates, values: OrderedValues, spill: SpillPolicy) -> None:
        self._source, self._values = source, values
        keys, rows = values.values, values.rows
        if not source.keys:
            keys, rows = spill.zeros((len(values), source.banding.num_bands), np.uint64), np.arange(len(values))
            for start in range(0, len(values), _BATCH):
                keys[start : start + _BATCH] = source.band_keys(values[start : start + _BATCH]).view(np.uint64)
                if start % _RELEASE == 0:
                    release(values.values, keys)
        rows = np.ascontiguousarray(rows, np.int64)
        self._buckets = BucketCore(keys.reshape(-1), keys.shape[1], source.banding.num_bands, rows)
        # Bits that likely candidates differ in at most, where rows have bits.
        self._max_distance = source.num_bits - source.min_equal_bits if source.keys and source.filtered else None
        release(values.values, keys)
        self._added = np.zeros(len(values), bool)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, ordinals: Ordinals) -> None:
        """Add these documents, each of them once."""
        self._added[ordinals] = True
        self._count += len(ordinals)
        self._buckets.add(ordinals.astype(np.uint32))

    def find_at(self, ordinals: Ordinals, *, likely: bool = False) -> CandidateLists:
        """Return the added documents that share a band."""
        offsets, others = self._buckets.find(ordinals.astype(np.uint32), self._max_distance if likely else None)
        if self._source.keys:
            # A bucket is an equal key.
            return CandidateLists(offsets, others)
        owners = np.repeat(np.arange(len(ordinals)), np.diff(offsets))
        near, similarity = self._confirm(ordinals[owners], others, likely=likely)
        lists = CandidateLists(offsets, others).select(near)
        return replace(lists, similarity=similarity)

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the pairs of the batch that share a band and are likely."""
        offsets, right = self._buckets.within(ordinals.astype(np.uint32), self._max_distance)
        left = np.repeat(np.arange(len(ordinals)), np.diff(offsets))
        if self._source.keys:
            return ListedBatch.of(CandidatePairs(left, right))
        near, similarity = self._confirm(ordinals[left], ordinals[right], likely=True)
        return ListedBatch.of(CandidatePairs(left[near], right[near], similarity))

    def _confirm(
        self, left: Ordinals, right: Ordinals, *, likely: bool
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64] | None]:
        """Return True for (likely) pairs that share a band and not only a key, and their similarity if it verifies."""
        near, distances = np.zeros(len(left), bool), [np.zeros(0, np.int64)]
        for start in range(0, len(left), _PAIRS):
            chunk = slice(start, start + _PAIRS)
            sides = self._values[left[chunk]], self._values[right[chunk]]
            near[chunk] = self._source.are_candidates(*sides)
            if likely:
                near[chunk] &= self._source.are_likely(*sides)
            if self._source.by_share:
                distances.append(self._source.distances(*(side[near[chunk]] for side in sides)))
        # The system maps about 64 KB around each signature that is read.
        release(self._values.values)
        return near, self._source.match_similarity(np.concatenate(distances))

    def pairs(self) -> CandidatePairs:
        """Return all pairs that share a band and are likely."""
        left, right, similarity = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        added = np.flatnonzero(self._added)
        for start in range(0, len(added), _BATCH):
            ordinals = added[start : start + _BATCH]
            lists = self.find_at(ordinals, likely=True)
            owner = ordinals[lists.owners()]
            later = lists.ordinals > owner
            left.append(owner[later])
            right.append(lists.ordinals[later])
            if lists.similarity is not None:
                similarity.append(lists.similarity[later])
        verified = np.concatenate(similarity) if self._source.by_share else None
        return CandidatePairs(np.concatenate(left), np.concatenate(right), verified)
