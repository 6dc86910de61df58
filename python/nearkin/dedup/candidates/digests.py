"""Candidates among files: digests that score at least the threshold, and optionally features of text.

**Digests.** Every digest that scores at least the threshold is a candidate, and no other; the score is the similarity.

**Digests and texts** (`FileCandidates`). A digest carries no information about a file of a few hundred bytes, and
little about one whose variables were renamed; features of text carry none about a binary file. So a pair is a candidate
if its digests score at least `threshold`, or if the Jaccard similarity J of its features (core:
`patterns/payloads/scripts.rs`) is at least `text_threshold`. The similarity of a pair is the larger of the score and
100 J among those that reach their threshold. Features are searched by MinHash with `NUM_PERM` values in bands of
`NUM_ROWS`: P[missed] = (1 - J^2)^32, below 10^-5 from J = 0.55; candidates are verified exactly.
"""

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
    OrderedValues,
    Ordinals,
    Values,
    list_offsets,
)
from nearkin.dedup.summary import Summary
from nearkin.digests.ssdeep import DigestRecipe, compare_many
from nearkin.errors import bad_parameter
from nearkin.families.minhash import MinHash
from nearkin.index.digests import DigestIndex

GRAM = 7
"""Length of the substring that two digests must share; a digest with shorter parts matches nothing."""
NUM_PERM, NUM_ROWS = 64, 2

_MINHASH = MinHash(NUM_PERM, scheme="classic")

Features = NDArray[np.uint64]


def is_comparable(digest: str) -> bool:
    """Return True if a digest can be compared: files of zeros share `3::`, and tiny files a character or two."""
    return any(len(part) >= GRAM for part in digest.split(":")[1:])


class DigestCandidates:
    """Digests of a recipe, and those that score at least a threshold. The similarity is the score, 1 to 100.

    Parameters
    ----------
    recipe : DigestRecipe
    threshold : int
        Smallest score of a match, inclusive, 1 to 100.
    skip_hubs : int, optional
        Skip and count 7-grams that more digests share; None skips none.

    Raises
    ------
    ParameterError
        For a threshold out of range, or a recipe without an index.
    """

    equal: ClassVar[float] = 100.0

    def __init__(self, recipe: DigestRecipe, threshold: float, skip_hubs: int | None = None) -> None:
        number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
        if not number or not 1 <= threshold <= 100 or threshold != int(threshold):
            raise bad_parameter("threshold", repr(threshold), "a whole score from 1 to 100, inclusive")
        recipe.check_searchable()
        self.recipe, self.threshold, self.skip_hubs = recipe, int(threshold), skip_hubs

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over digests."""
        return DigestSearch(self.threshold, values, self.skip_hubs)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return 100 minus the score of each row."""
        return np.asarray(100 - _scores(left, right), np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the scores of rows."""
        return _scores(left, right)

    def summary(self) -> Summary:
        """Return nothing: the run reports the threshold."""
        return {}


class DigestSearch:
    """Digests by ordinal, and an index of the added ones.

    A digest without seven characters in a part is never added: it would match others by equality alone.
    """

    def __init__(self, threshold: int, values: Values | OrderedValues, skip_hubs: int | None = None) -> None:
        self._threshold, self._values, self._skip_hubs = threshold, values, skip_hubs
        self._index = DigestIndex(strict=False)
        self._comparable = are_comparable(values[:])
        self._added = 0

    def __len__(self) -> int:
        return self._added

    def add(self, ordinals: Ordinals) -> None:
        """Add these digests to the index."""
        self._added += len(ordinals)
        ordinals = ordinals[self._comparable[ordinals]]
        self._index.add(ordinals, decode_digests(self._values[ordinals]))

    def find(self, values: Values) -> CandidateLists:
        """Return all added digests that score at least the threshold, except those behind skipped hubs."""
        able = are_comparable(values)
        hits = self._index.search(decode_digests(values[able]), self._threshold, skip_hubs=self._skip_hubs)
        counts = np.zeros(len(values), np.int64)
        counts[able] = np.diff(hits.offsets)
        return CandidateLists.of_hits(list_offsets(counts), hits.ids, hits.scores.astype(np.float64), hits.skipped)

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the digests that score at least the threshold with another one of the batch."""
        return _batch_of(DigestSearch(self._threshold, self._values[ordinals], self._skip_hubs), len(ordinals))

    def pairs(self) -> CandidatePairs:
        """Return all pairs that score at least the threshold."""
        pairs = self._index.pairs(self._threshold, skip_hubs=self._skip_hubs)
        left, right = np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)
        return CandidatePairs(left, right, pairs.scores.astype(np.float64), pairs.skipped)


def _batch_of(search: DigestSearch | FileSearch, count: int) -> CandidateBatch:
    """Return all pairs of a search over `count` documents as a batch."""
    search.add(np.arange(count))
    return ListedBatch.of(search.pairs())


def are_comparable(values: Values) -> NDArray[np.bool_]:
    """Return True for digests that can be compared."""
    return np.array([is_comparable(digest) for digest in decode_digests(values)], bool)


def decode_digests(values: Values) -> list[str]:
    """Return the digests of values: `(n, 1)` objects, or bytes of a fixed width, as in a store."""
    digests: list[Any] = values[:, 0].tolist()
    return [digest.decode("ascii") for digest in digests] if values.dtype.kind == "S" else digests


def digest_values(digests: list[str], features: list[Features | None] | None = None) -> Values:
    """Return digests as values, `(n, 1)` objects; `(n, 2)` with features of text."""
    columns: list[list[Any]] = [digests] if features is None else [digests, features]
    rows = np.empty((len(digests), len(columns)), object)
    for column, cells in enumerate(columns):
        for row, cell in enumerate(cells):
            rows[row, column] = cell
    return rows


def _scores(left: Values, right: Values) -> NDArray[np.float64]:
    """Return the scores of pairs of digests; those with the same left digest are computed together."""
    scores = np.zeros(len(left))
    others = decode_digests(right)
    groups: dict[str, list[int]] = {}
    for row, digest in enumerate(decode_digests(left)):
        groups.setdefault(digest, []).append(row)
    for digest, group in groups.items():
        scores[group] = compare_many(digest, [others[row] for row in group], strict=False)
    return scores


class FileCandidates(DigestCandidates):
    """Digests of a recipe and features of text. The similarity is 1 to 100.

    Parameters
    ----------
    recipe, threshold, skip_hubs
        As for `DigestCandidates`.
    text_threshold : float
        Smallest similarity of features of a match, inclusive, above 0 and up to 1.

    Raises
    ------
    ParameterError
        For a threshold out of range.
    """

    def __init__(
        self, recipe: DigestRecipe, threshold: float, text_threshold: float, skip_hubs: int | None = None
    ) -> None:
        super().__init__(recipe, threshold, skip_hubs)
        number = isinstance(text_threshold, (int, float, np.number)) and not isinstance(text_threshold, bool)
        if not number or not 0 < text_threshold <= 1:
            raise bad_parameter("text_threshold", repr(text_threshold), "a number above 0 and up to 1")
        self.text_threshold = float(text_threshold)

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over digests and features."""
        return FileSearch(self, values)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return 100 minus the similarity of each row, rounded."""
        return np.asarray(np.rint(100 - self.similarities(left, right)), np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the larger of score and 100 J."""
        return np.maximum(super().similarities(left, right), 100 * _feature_similarities(left, right))

    def evidence(self, left: Values, right: Values) -> list[str]:
        """Return the evidence of each row: `ssdeep 84`, `text .91`, or both; the empty text for neither."""
        scores, similarities = super().similarities(left, right), _feature_similarities(left, right)
        evidence = []
        for score, similarity in zip(scores.tolist(), similarities.tolist(), strict=True):
            words = [f"ssdeep {score:.0f}"] if score >= self.threshold else []
            words += [f"text {similarity:.2f}".replace("0.", ".")] if similarity >= self.text_threshold else []
            evidence.append(", ".join(words))
        return evidence

    def summary(self) -> Summary:
        """Return the threshold of features."""
        return {"also": "text", "text_threshold": self.text_threshold}


def feature_similarity(left: Features | None, right: Features | None) -> float:
    """Return the Jaccard similarity of two ascending sets of features; 0 without features."""
    if left is None or right is None:
        return 0.0
    common = len(np.intersect1d(left, right, assume_unique=True))
    return common / (len(left) + len(right) - common)


def _feature_similarities(left: Values, right: Values) -> NDArray[np.float64]:
    return np.array([feature_similarity(a, b) for a, b in zip(left[:, 1].tolist(), right[:, 1].tolist(), strict=True)])


def _band_keys(features: Features) -> list[tuple[int, int, int]]:
    """Return the bands of a set of features as keys."""
    values = _MINHASH.signature_hashes([features])[0].tolist()
    return [(band, values[band], values[band + 1]) for band in range(0, NUM_PERM, NUM_ROWS)]


class FileSearch:
    """Digests and features by ordinal, and an index of the added ones."""

    def __init__(self, source: FileCandidates, values: Values | OrderedValues) -> None:
        self._source, self._values = source, OrderedValues.of(values)
        self._digests = DigestSearch(source.threshold, values, source.skip_hubs)
        self._buckets: dict[tuple[int, int, int], list[int]] = {}

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, ordinals: Ordinals) -> None:
        """Add these files, by digest and features."""
        self._digests.add(ordinals)
        for ordinal, features in zip(ordinals.tolist(), self._features(ordinals), strict=True):
            for key in () if features is None else _band_keys(features):
                self._buckets.setdefault(key, []).append(ordinal)

    def _features(self, ordinals: Ordinals) -> list[Features | None]:
        return self._values[ordinals][:, 1].tolist() if len(ordinals) else []

    def _near(self, features: Features | None) -> dict[int, float]:
        """Return the added files with similar features, and 100 J."""
        if features is None:
            return {}
        ordinals = sorted({ordinal for key in _band_keys(features) for ordinal in self._buckets.get(key, ())})
        others = self._features(np.array(ordinals, np.int64))
        similarity = {at: feature_similarity(features, other) for at, other in zip(ordinals, others, strict=True)}
        return {at: 100 * value for at, value in similarity.items() if value >= self._source.text_threshold}

    def find(self, values: Values) -> CandidateLists:
        """Return all added files that are near by their digest or by their text."""
        hits = self._digests.find(values)
        scores = np.zeros(0) if hits.similarity is None else hits.similarity
        counts, ordinals, similarity = [], [], []
        for row, features in enumerate(values[:, 1].tolist()):
            entries = slice(int(hits.offsets[row]), int(hits.offsets[row + 1]))
            near = dict(zip(hits.ordinals[entries].tolist(), scores[entries].tolist(), strict=True))
            for ordinal, value in self._near(features).items():
                near[ordinal] = max(near.get(ordinal, 0.0), value)
            counts.append(len(near))
            ordinals += sorted(near)
            similarity += [near[ordinal] for ordinal in sorted(near)]
        offsets = list_offsets(np.array(counts, np.int64))
        return CandidateLists(offsets, np.array(ordinals, np.int64), np.array(similarity, np.float64), hits.skipped)

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the files that are near another one of the batch."""
        return _batch_of(FileSearch(self._source, self._values[ordinals]), len(ordinals))

    def pairs(self) -> CandidatePairs:
        """Return all pairs that are near by digest or text."""
        hits = self._digests.pairs()
        scores = np.zeros(0) if hits.similarity is None else hits.similarity
        sides = np.sort(np.stack([hits.left, hits.right], axis=1), axis=1).tolist()
        near = {(left, right): score for (left, right), score in zip(sides, scores.tolist(), strict=True)}
        added = sorted({ordinal for bucket in self._buckets.values() for ordinal in bucket})
        for ordinal, features in zip(added, self._features(np.array(added, np.int64)), strict=True):
            for other, value in self._near(features).items():
                if ordinal < other:
                    near[ordinal, other] = max(near.get((ordinal, other), 0.0), value)
        ends = np.array(sorted(near), np.int64).reshape(-1, 2)
        similarity = np.array([near[pair] for pair in sorted(near)], np.float64)
        return CandidatePairs(ends[:, 0].copy(), ends[:, 1].copy(), similarity, hits.skipped)
