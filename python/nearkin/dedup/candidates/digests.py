"""Candidates among files: digests of one family or of two, and optionally features of text.

**Digests.** Of ssdeep every digest that scores at least the threshold is a candidate, and no other; the score is the
similarity. Of TLSH it is every digest within the radius; the similarity is 100 minus the distance, and 0 beyond 100, so
that the threshold is 100 minus the radius.

**Several kinds of evidence** (`FileCandidates`). A pair is a candidate if it is one of any kind, and its similarity is
the largest. Digests of both families see different changes. A digest carries no information about a file of a few
hundred bytes, and little about one whose variables were renamed; features of text carry none about a binary file. So
the third kind is the Jaccard similarity J of features (core: `patterns/payloads/scripts.rs`), as 100 J. Features are
searched by MinHash with `NUM_PERM` values in bands of `NUM_ROWS`: P[missed] = (1 - J^2)^32, below 10^-5 from J = 0.55;
candidates are verified exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    DocumentSearch,
    ListedBatch,
    OrderedValues,
    Ordinals,
    Values,
    list_offsets,
)
from nearkin.dedup.summary import FamilySummary
from nearkin.digests.recipes import AnyDigestRecipe
from nearkin.digests.ssdeep import DigestRecipe, compare_many
from nearkin.digests.tlsh import TlshRecipe, distance_many
from nearkin.errors import check_number
from nearkin.families.minhash import MinHash
from nearkin.index.digests import MAX_DISTANCE, DigestIndex

GRAM = 7
"""Length of the substring that two digests must share; a digest with shorter parts matches nothing."""
NUM_PERM, NUM_ROWS = 64, 2
MAX_RADIUS = 100
"""The largest radius of TLSH: at more, more unrelated files match than related ones."""

_MINHASH = MinHash(NUM_PERM, scheme="classic")

Features = NDArray[np.uint64]


def _check_whole(name: str, value: float, ends: tuple[int, int], what: str) -> int:
    allowed = f"a whole {what} from {ends[0]} to {ends[1]}, inclusive"
    return int(check_number(name, value, allowed, lambda number: ends[0] <= number <= ends[1] and number.is_integer()))


def is_comparable(digest: str) -> bool:
    """Return True if a digest can be compared.

    Files of zeros share the ssdeep digest `3::`, and tiny files a character or two. A file without a TLSH digest has
    the empty text.
    """
    first, *parts = digest.split(":")
    return any(len(part) >= GRAM for part in parts) if parts else bool(first)


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

    recipe: AnyDigestRecipe

    def __init__(self, recipe: DigestRecipe, threshold: float, skip_hubs: int | None = None) -> None:
        self.threshold = _check_whole("threshold", threshold, (1, 100), "score")
        recipe.check_searchable()
        self.recipe, self.skip_hubs = recipe, skip_hubs

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over digests."""
        return DigestSearch(self, values)

    def search_index(self, index: DigestIndex, digests: list[str], skip_hubs: int | None) -> CandidateLists:
        """Return the matches of each digest in an index, in no order."""
        hits = index.search(digests, self.threshold, skip_hubs=skip_hubs)
        ids = np.asarray(hits.ids, np.int64)
        return CandidateLists(hits.offsets, ids, hits.scores.astype(np.float64), hits.skipped)

    def pairs_of(self, index: DigestIndex) -> CandidatePairs:
        """Return all pairs of an index that match."""
        pairs = index.pairs(self.threshold, skip_hubs=self.skip_hubs)
        left, right = np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)
        return CandidatePairs(left, right, pairs.scores.astype(np.float64), pairs.skipped)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return 100 minus the score of each row."""
        return np.asarray(100 - self.similarities(left, right), np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the scores of rows."""
        return _by_left(left, right, lambda digest, others: compare_many(digest, others, strict=False))

    def evidence(self, left: Values, right: Values) -> list[str]:
        """Return the evidence of each row, `ssdeep 84`, or the empty text below the threshold."""
        scores = self.similarities(left, right).tolist()
        return [f"ssdeep {score:.0f}" if score >= self.threshold else "" for score in scores]

    def summary(self) -> FamilySummary:
        """Return nothing: the run reports the threshold."""
        return {}


class TlshCandidates(DigestCandidates):
    """Digests of TLSH within a radius. The similarity is 100 minus the distance, 0 to 100.

    Parameters
    ----------
    recipe : TlshRecipe
    radius : int
        Largest distance of a match, inclusive, 0 to 100.

    Raises
    ------
    ParameterError
        For a radius out of range.
    """

    def __init__(self, recipe: TlshRecipe, radius: float) -> None:
        self.radius = _check_whole("radius", radius, (0, MAX_RADIUS), "TLSH distance")
        self.recipe, self.skip_hubs = recipe, None
        self.threshold = 100 - self.radius

    def search_index(self, index: DigestIndex, digests: list[str], skip_hubs: int | None) -> CandidateLists:
        """Return the matches of each digest in an index, in no order."""
        hits = index.search(digests, distance=self.radius)
        return CandidateLists(hits.offsets, np.asarray(hits.ids, np.int64), 100 - hits.distances.astype(np.float64))

    def pairs_of(self, index: DigestIndex) -> CandidatePairs:
        """Return all pairs of an index that match."""
        pairs = index.pairs(distance=self.radius)
        left, right = np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)
        return CandidatePairs(left, right, 100 - pairs.distances.astype(np.float64))

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return the distance of each row; without a digest 0 if both have none, and else the largest 16-bit number."""
        return np.asarray(_by_left(left, right, _tlsh_distances), np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return 100 minus the distance of each row, and 0 beyond 100."""
        return np.maximum(100 - self.distances(left, right), 0).astype(np.float64)

    def evidence(self, left: Values, right: Values) -> list[str]:
        """Return the evidence of each row, `tlsh 23` with the distance, or the empty text beyond the radius."""
        return [f"tlsh {value}" if value <= self.radius else "" for value in self.distances(left, right).tolist()]

    def summary(self) -> FamilySummary:
        """Return the radius."""
        return {"radius": self.radius}


def _tlsh_distances(digest: str, others: list[str]) -> NDArray[np.float64]:
    """Return the distances of a digest, which is empty for a file without one."""
    distances = np.full(len(others), float(MAX_DISTANCE))
    able = [row for row, other in enumerate(others) if digest and other]
    distances[able] = distance_many(digest, [others[row] for row in able]) if able else 0.0
    distances[[row for row, other in enumerate(others) if not digest and not other]] = 0.0
    return distances


class DigestSearch:
    """Digests by ordinal, and an index of the added ones.

    A digest that can't be compared is never added: it would match others by equality alone.
    """

    def __init__(self, source: DigestCandidates, values: Values | OrderedValues) -> None:
        self._source, self._values = source, values
        self._index = DigestIndex(recipe=source.recipe, strict=False)
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
        """Return all added digests that match, except those behind skipped hubs."""
        able = are_comparable(values)
        hits = self._source.search_index(self._index, decode_digests(values[able]), self._source.skip_hubs)
        counts = np.zeros(len(values), np.int64)
        counts[able] = np.diff(hits.offsets)
        return CandidateLists.of_hits(list_offsets(counts), hits.ordinals, hits.similarity, hits.skipped)

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the digests that match another one of the batch."""
        return _batch_of(DigestSearch(self._source, self._values[ordinals]), len(ordinals))

    def pairs(self) -> CandidatePairs:
        """Return all pairs that match."""
        return self._source.pairs_of(self._index)


def _batch_of(search: DocumentSearch, count: int) -> CandidateBatch:
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


def digest_values(*columns: Sequence[Any]) -> Values:
    """Return digests as values, `(n, 1)` objects; with one more column for each further kind of evidence."""
    rows = np.empty((len(columns[0]), len(columns)), object)
    for column, cells in enumerate(columns):
        for row, cell in enumerate(cells):
            rows[row, column] = cell
    return rows


def _by_left(left: Values, right: Values, compare: Callable[[str, list[str]], NDArray[Any]]) -> NDArray[np.float64]:
    """Return the results of pairs of digests; those with the same left digest are computed together."""
    results = np.zeros(len(left))
    others = decode_digests(right)
    groups: dict[str, list[int]] = {}
    for row, digest in enumerate(decode_digests(left)):
        groups.setdefault(digest, []).append(row)
    for digest, group in groups.items():
        results[group] = compare(digest, [others[row] for row in group])
    return results


class FeatureCandidates:
    """Features of text. The similarity is 100 J, of the Jaccard similarity J.

    Parameters
    ----------
    text_threshold : float
        Smallest J of a match, inclusive, above 0 and up to 1.

    Raises
    ------
    ParameterError
        For a threshold out of range.
    """

    def __init__(self, text_threshold: float) -> None:
        allowed = "a number above 0 and up to 1"
        self.text_threshold = check_number("text_threshold", text_threshold, allowed, lambda share: 0 < share <= 1)

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over features."""
        return FeatureSearch(self, values)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return 100 J of each row."""
        sides = zip(left[:, 0].tolist(), right[:, 0].tolist(), strict=True)
        return 100 * np.array([feature_similarity(a, b) for a, b in sides])

    def evidence(self, left: Values, right: Values) -> list[str]:
        """Return the evidence of each row, `text .91`, or the empty text below the threshold."""
        similarities = (self.similarities(left, right) / 100).tolist()
        return [f"text {j:.2f}".replace("0.", ".") if j >= self.text_threshold else "" for j in similarities]

    def summary(self) -> FamilySummary:
        """Return the threshold of features."""
        return {"also": "text", "text_threshold": self.text_threshold}


def feature_similarity(left: Features | None, right: Features | None) -> float:
    """Return the Jaccard similarity of two ascending sets of features; 0 without features."""
    if left is None or right is None:
        return 0.0
    common = len(np.intersect1d(left, right, assume_unique=True))
    return common / (len(left) + len(right) - common)


def _band_keys(features: Features) -> list[tuple[int, int, int]]:
    """Return the bands of a set of features as keys."""
    values = _MINHASH.signature_hashes([features])[0].tolist()
    return [(band, values[band], values[band + 1]) for band in range(0, NUM_PERM, NUM_ROWS)]


class FeatureSearch:
    """Features by ordinal, and the bands of the added ones."""

    def __init__(self, source: FeatureCandidates, values: Values | OrderedValues) -> None:
        self._source, self._values = source, values
        self._buckets: dict[tuple[int, int, int], list[int]] = {}
        self._added = 0

    def __len__(self) -> int:
        return self._added

    def add(self, ordinals: Ordinals) -> None:
        """Add the features of these files."""
        self._added += len(ordinals)
        for ordinal, features in zip(ordinals.tolist(), self._features(ordinals), strict=True):
            for key in () if features is None else _band_keys(features):
                self._buckets.setdefault(key, []).append(ordinal)

    def _features(self, ordinals: Ordinals) -> list[Features | None]:
        return self._values[ordinals][:, 0].tolist() if len(ordinals) else []

    def _near(self, features: Features | None) -> dict[int, float]:
        """Return the added files with similar features, and 100 J."""
        if features is None:
            return {}
        ordinals = sorted({ordinal for key in _band_keys(features) for ordinal in self._buckets.get(key, ())})
        others = self._features(np.array(ordinals, np.int64))
        similarity = {at: feature_similarity(features, other) for at, other in zip(ordinals, others, strict=True)}
        return {at: 100 * value for at, value in similarity.items() if value >= self._source.text_threshold}

    def find(self, values: Values) -> CandidateLists:
        """Return all added files with similar features."""
        near = [self._near(features) for features in values[:, 0].tolist()]
        return _candidate_lists(near, 0)

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the files that are near another one of the batch."""
        return _batch_of(FeatureSearch(self._source, self._values[ordinals]), len(ordinals))

    def pairs(self) -> CandidatePairs:
        """Return all pairs with similar features."""
        added = sorted({ordinal for bucket in self._buckets.values() for ordinal in bucket})
        near: dict[tuple[int, int], float] = {}
        for ordinal, features in zip(added, self._features(np.array(added, np.int64)), strict=True):
            near |= {(ordinal, other): value for other, value in self._near(features).items() if ordinal < other}
        return _candidate_pairs(near, 0)


def _candidate_lists(near: list[dict[int, float]], skipped: int) -> CandidateLists:
    """Return lists of candidates from the similarity of each."""
    offsets = list_offsets(np.array([len(each) for each in near], np.int64))
    ordinals = np.array([ordinal for each in near for ordinal in sorted(each)], np.int64)
    similarity = np.array([each[ordinal] for each in near for ordinal in sorted(each)], np.float64)
    return CandidateLists(offsets, ordinals, similarity, skipped)


def _candidate_pairs(near: dict[tuple[int, int], float], skipped: int) -> CandidatePairs:
    """Return pairs from the similarity of each."""
    ends = np.array(sorted(near), np.int64).reshape(-1, 2)
    similarity = np.array([near[pair] for pair in sorted(near)], np.float64)
    return CandidatePairs(ends[:, 0].copy(), ends[:, 1].copy(), similarity, skipped)


class FileCandidates:
    """Several kinds of evidence, one per column of the values. The similarity is 0 to 100.

    Parameters
    ----------
    kinds : sequence of DigestCandidates and FeatureCandidates
        In the order of the columns; digests come first.
    """

    equal: ClassVar[float] = 100.0

    def __init__(self, kinds: Sequence[DigestCandidates | FeatureCandidates]) -> None:
        self.kinds = tuple(kinds)

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over all kinds."""
        return FileSearch(self, values)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return 100 minus the similarity of each row, rounded."""
        return np.asarray(np.rint(100 - self.similarities(left, right)), np.int64)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the largest similarity of each row."""
        sides = ((left[:, [at]], right[:, [at]]) for at in range(len(self.kinds)))
        columns = [kind.similarities(*each) for kind, each in zip(self.kinds, sides, strict=True)]
        return np.asarray(np.max(columns, axis=0), np.float64)

    def evidence(self, left: Values, right: Values) -> list[str]:
        """Return the evidence of each row, such as `ssdeep 84, text .91`; the empty text for none."""
        sides = ((left[:, [at]], right[:, [at]]) for at in range(len(self.kinds)))
        words = [kind.evidence(*each) for kind, each in zip(self.kinds, sides, strict=True)]
        return [", ".join(filter(None, row)) for row in zip(*words, strict=True)]

    def summary(self) -> FamilySummary:
        """Return the thresholds of the kinds."""
        summary: FamilySummary = {}
        for kind in self.kinds:
            summary |= kind.summary()
        return summary


class FileSearch:
    """A search for each kind of evidence."""

    def __init__(self, source: FileCandidates, values: Values | OrderedValues) -> None:
        self._source, self._values = source, OrderedValues.of(values)
        rows = self._values.rows
        columns = (OrderedValues(self._values.values[:, [at]], rows) for at in range(len(source.kinds)))
        self._searches = [kind.search(column) for kind, column in zip(source.kinds, columns, strict=True)]

    def __len__(self) -> int:
        return len(self._searches[0])

    def add(self, ordinals: Ordinals) -> None:
        """Add these files to all searches."""
        for search in self._searches:
            search.add(ordinals)

    def find(self, values: Values) -> CandidateLists:
        """Return all added files that are near by any kind of evidence."""
        near: list[dict[int, float]] = [{} for _ in range(len(values))]
        skipped = 0
        for at, search in enumerate(self._searches):
            hits = search.find(values[:, [at]])
            skipped += hits.skipped
            similarities = np.zeros(0) if hits.similarity is None else hits.similarity
            sides = zip(hits.owners().tolist(), hits.ordinals.tolist(), similarities.tolist(), strict=True)
            for row, ordinal, value in sides:
                near[row][ordinal] = max(near[row].get(ordinal, 0.0), value)
        return _candidate_lists(near, skipped)

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the files that are near another one of the batch."""
        return _batch_of(FileSearch(self._source, self._values[ordinals]), len(ordinals))

    def pairs(self) -> CandidatePairs:
        """Return all pairs that are near by any kind of evidence."""
        near: dict[tuple[int, int], float] = {}
        skipped = 0
        for search in self._searches:
            hits = search.pairs()
            skipped += hits.skipped
            similarities = np.zeros(0) if hits.similarity is None else hits.similarity
            sides = np.sort(np.stack([hits.left, hits.right], axis=1), axis=1).tolist()
            for (left, right), value in zip(sides, similarities.tolist(), strict=True):
                near[left, right] = max(near.get((left, right), 0.0), value)
        return _candidate_pairs(near, skipped)
