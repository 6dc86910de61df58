"""Files are near by their fuzzy digests, or by features of their text: one family for each, and the evidence named.

A digest says nothing of a file of some hundred bytes, and little of one whose variables were renamed; features of text
say nothing of a binary file. So a pair is a candidate if its digests score at least `threshold`, or if the Jaccard
similarity of its features (core: `patterns/payloads/scripts.rs`) is at least `text_threshold`, and both say how
similar it is: the similarity of a pair is the larger of score and 100 J among those that reach their threshold.

Features are searched by MinHash, `VALUES` values in bands of `ROWS`: P[missed] = (1 - J^2)^32, below 10^-5 from
J = 0.55; what is found is verified exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    Values,
    offsets_of,
)
from nearkin.dedup.candidates.ssdeep import DigestCandidates, DigestSearch
from nearkin.dedup.summary import Summary
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import bad_parameter
from nearkin.families.minhash import MinHash
from nearkin.index.digests import DigestIndex

VALUES = 64
ROWS = 2

_MINHASH = MinHash(VALUES, scheme="classic")

Features = NDArray[np.uint64]


class FileCandidates(DigestCandidates):
    """Digests of a recipe and features of text. Similarity is 1 to 100.

    Parameters
    ----------
    recipe : DigestRecipe
    threshold : int
        Smallest score that counts, inclusive, 1 to 100.
    text_threshold : float
        Smallest similarity of features that counts, inclusive, above 0 to 1.
    skip_hubs : int, optional
        7-grams that more digests share are left out, and counted; None follows all.

    Raises
    ------
    ParameterError
        For a threshold out of its range.
    """

    equal: ClassVar[float] = 100.0

    def __init__(
        self, recipe: DigestRecipe, threshold: float, text_threshold: float, skip_hubs: int | None = None
    ) -> None:
        super().__init__(recipe, threshold, skip_hubs)
        number = isinstance(text_threshold, (int, float, np.number)) and not isinstance(text_threshold, bool)
        if not number or not 0 < text_threshold <= 1:
            raise bad_parameter("text_threshold", repr(text_threshold), "a number above 0, to 1")
        self.text_threshold = float(text_threshold)

    def search(self, values: Values | PlacedValues) -> CandidateSearch:
        """An empty search over digests and features."""
        return FileSearch(self, values)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """100 less the similarity of each row, rounded."""
        return np.asarray(np.rint(100 - self.similarities(left, right)), np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """The larger of score and 100 J."""
        return np.maximum(super().similarities(left, right), 100 * _likenesses(left, right))

    def evidence(self, left: Values, right: Values) -> list[str]:
        """What says that each row is near: `ssdeep 84`, `text .91`, or both; an empty text for neither."""
        scores, likenesses = super().similarities(left, right).tolist(), _likenesses(left, right).tolist()
        named = []
        for score, likeness in zip(scores, likenesses, strict=True):
            parts = [f"ssdeep {score:.0f}"] if score >= self.threshold else []
            parts += [f"text {likeness:.2f}".replace("0.", ".")] if likeness >= self.text_threshold else []
            named.append(", ".join(parts))
        return named

    def older_index(self, against: object) -> OlderIndex | None:
        """None: an index of digests has no features.

        Raises
        ------
        ParameterError
            A DigestIndex.
        """
        if isinstance(against, DigestIndex):
            raise bad_parameter("against", "a DigestIndex", "paths of files with also='text': an index has no texts")
        return None

    def summary(self) -> Summary:
        """The threshold of features."""
        return {"also": "text", "text_threshold": self.text_threshold}


def likeness(left: Features | None, right: Features | None) -> float:
    """The Jaccard similarity of two sets of ascending features; 0 without any."""
    if left is None or right is None:
        return 0.0
    common = len(np.intersect1d(left, right, assume_unique=True))
    return common / (len(left) + len(right) - common)


def _likenesses(left: Values, right: Values) -> NDArray[np.float64]:
    return np.array([likeness(a, b) for a, b in zip(left[:, 1].tolist(), right[:, 1].tolist(), strict=True)])


def file_rows(digests: list[str], features: list[Features | None]) -> Values:
    """Digests and features as values: `(n, 2)` objects."""
    rows = np.empty((len(digests), 2), object)
    rows[:, 0] = digests
    for row, some in enumerate(features):
        rows[row, 1] = some
    return rows


def _keys(features: Features) -> list[tuple[int, int, int]]:
    """The bands of a set of features."""
    values = _MINHASH.signature_hashes([features])[0].tolist()
    return [(band, values[band], values[band + 1]) for band in range(0, VALUES, ROWS)]


class FileSearch:
    """Digests and features by place, and those of them that were added."""

    def __init__(self, source: FileCandidates, values: Values | PlacedValues) -> None:
        self._source, self._values = source, PlacedValues.of(values)
        self._digests = DigestSearch(source.threshold, values, source.skip_hubs)
        self._buckets: dict[tuple[int, int, int], list[int]] = {}

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, places: Places) -> None:
        """Add digests and features of these places."""
        self._digests.add(places)
        for place, features in zip(places.tolist(), self._values[places][:, 1].tolist(), strict=True):
            for key in () if features is None else _keys(features):
                self._buckets.setdefault(key, []).append(place)

    def _near(self, features: Features | None) -> dict[int, float]:
        """Places whose features are near, and 100 J."""
        if features is None:
            return {}
        found = sorted({place for key in _keys(features) for place in self._buckets.get(key, ())})
        others = self._values[np.array(found, np.int64)][:, 1].tolist() if found else []
        near = {place: likeness(features, other) for place, other in zip(found, others, strict=True)}
        return {place: 100 * value for place, value in near.items() if value >= self._source.text_threshold}

    def find(self, values: Values) -> CandidateLists:
        """Everything that is near by its digest or by its text."""
        hits = self._digests.find(values)
        scores = np.zeros(0) if hits.similarity is None else hits.similarity
        counts, places, similarity = [], [], []
        for row, features in enumerate(values[:, 1].tolist()):
            part = slice(int(hits.offsets[row]), int(hits.offsets[row + 1]))
            found = dict(zip(hits.places[part].tolist(), scores[part].tolist(), strict=True))
            for place, value in self._near(features).items():
                found[place] = max(found.get(place, 0.0), value)
            counts.append(len(found))
            places += sorted(found)
            similarity += [found[place] for place in sorted(found)]
        offsets = offsets_of(np.array(counts, np.int64))
        return CandidateLists(offsets, np.array(places, np.int64), np.array(similarity, np.float64), hits.skipped)

    def within(self, places: Places) -> CandidateBatch:
        """Those that are near another one of the batch."""
        batch = FileSearch(self._source, self._values[places])
        batch.add(np.arange(len(places)))
        links = batch.pairs()
        return ListedBatch.of(links.left, links.right, links.similarity, links.skipped)

    def pairs(self) -> CandidatePairs:
        """All pairs that are near by digest or text."""
        hits = self._digests.pairs()
        scores = np.zeros(0) if hits.similarity is None else hits.similarity
        found = _best(zip(hits.left.tolist(), hits.right.tolist(), scores.tolist(), strict=True))
        added = sorted({place for bucket in self._buckets.values() for place in bucket})
        texts = self._values[np.array(added, np.int64)][:, 1].tolist() if added else []
        for place, features in zip(added, texts, strict=True):
            for other, value in self._near(features).items():
                if place < other:
                    found[place, other] = max(found.get((place, other), 0.0), value)
        ends = np.array(sorted(found), np.int64).reshape(-1, 2)
        similarity = np.array([found[pair] for pair in sorted(found)], np.float64)
        return CandidatePairs(ends[:, 0].copy(), ends[:, 1].copy(), similarity, hits.skipped)


def _best(pairs: Iterable[tuple[int, int, float]]) -> dict[tuple[int, int], float]:
    """Pairs of places, the smaller first, and their scores."""
    return {(min(left, right), max(left, right)): score for left, right, score in pairs}
