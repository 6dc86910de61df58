"""The ground truth of tuning: a sample of documents, its true pairs, and their distances.

**Sample.** Every document gets a random key, and the documents with the smallest keys are sampled, so the sample
depends only on the seed and the order of documents. A pair is in the sample with probability (sample / documents)²,
whatever its similarity. So recall and precision of a radius estimate those of the corpus; candidates per document grow
with the corpus and are scaled.

**True pairs** without labels are those whose features have at least the threshold's Jaccard similarity. Up to
`_MAX_BRUTE_FORCE` pairs of documents, all are compared. Above that, candidates come from a 256-bit fingerprint of
distinct features with another seed, within four standard deviations of the expected distance at the threshold, and are
verified. This misses a true pair at the threshold with probability `missed` (1e-4 at 0.8), and pairs above it less
often. It overstates recall by at most that probability, because a missed pair may be distant in other fingerprints.

Copies are collapsed before a search and always found, so without labels the sample contains every text once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.verify import similarity, texts_by_row
from nearkin.errors import bad_parameter
from nearkin.families.simhash import fingerprint
from nearkin.index.fingerprints import hamming
from nearkin.index.hamming import HammingIndex
from nearkin.index.ids import Ids
from nearkin.io import Corpus
from nearkin.io.arrow import is_arrow, to_cells, to_values
from nearkin.progress import Progress, ignore_progress
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts
from nearkin.theory import simhash_difference

_MAX_BRUTE_FORCE = 1 << 21
"""Maximum number of pairs that are all compared: 1 to 7 microseconds each, 2 to 15 seconds in all."""
_WIDE_SEED = 0x6E6B
"""Seed of the wide fingerprint, which differs from those of the measured recipes."""
_WIDE_BITS = 256
_CHUNK = 1024

SampleRows = NDArray[np.int64]
"""Rows of a sample."""


@dataclass
class Sample:
    """A sample of documents.

    Attributes
    ----------
    texts, names : lists
        Texts, and their ids as text.
    documents : int
        Number of documents in the corpus, without missing texts.
    copies : int
        Number of excluded copies.
    """

    texts: list[str]
    names: list[str]
    documents: int
    copies: int = 0

    def without_copies(self) -> Sample:
        """Return the first document of each content."""
        first = dict(zip(reversed(self.texts), reversed(range(len(self.texts))), strict=True))
        rows = sorted(first.values())
        texts, names = [self.texts[row] for row in rows], [self.names[row] for row in rows]
        return Sample(texts, names, self.documents, len(self.texts) - len(rows))


def take_sample(
    texts: Texts | Corpus,
    ids: Ids | None,
    size: int,
    seed: int,
    priority: set[str] | None = None,
    report: Progress = ignore_progress,
) -> Sample:
    """Return at most `size` random documents in the corpus's order; documents named in `priority` come first."""
    rng = np.random.default_rng(seed)
    keys, kept, names, documents = np.zeros(0), list[str](), list[str](), 0

    def truncate() -> None:
        nonlocal keys
        num_rows = max(size, int((keys < 0).sum()))
        rows = np.sort(np.argsort(keys, kind="stable")[:num_rows])
        keys = keys[rows]
        kept[:], names[:] = [kept[row] for row in rows], [names[row] for row in rows]

    for batch, batch_names in _read_batches(texts, ids):
        batch_keys = rng.random(len(batch))
        rows = [row for row, text in enumerate(batch) if text is not None]
        documents += len(rows)
        report("sample", documents, None)
        if priority is not None:
            batch_keys[[row for row in rows if batch_names[row] in priority]] = -1.0
        keys = np.concatenate([keys, batch_keys[rows]])
        kept += [text for text in batch if text is not None]
        names += [batch_names[row] for row in rows]
        if len(keys) > 2 * size:
            truncate()
    truncate()
    return Sample(kept, names, documents)


def _read_batches(texts: Texts | Corpus, ids: Ids | None) -> Iterator[tuple[list[str | None], list[str]]]:
    """Yield batches of texts and their ids as text."""
    if isinstance(texts, Corpus):
        for batch in texts.batches():
            nulls = set(batch.texts.nulls.tolist())
            values = [None if row in nulls else text for row, text in enumerate(batch.texts)]
            yield values, [str(name) for name in batch.ids.to_list()]
        return
    get_rows, n = texts_by_row(texts)
    names = [str(name) for name in (range(n) if ids is None else to_cells(ids, "ids"))]
    if len(names) != n:
        raise bad_parameter("ids", f"{len(names)} values", f"{n} values, one per text")
    for start in range(0, n, 1 << 14):
        rows = np.arange(start, min(start + (1 << 14), n))
        chunk = get_rows(rows)
        yield to_values(chunk, "texts") if is_arrow(chunk) else list(chunk), names[start : start + len(rows)]


@dataclass
class TruePairs:
    """True pairs of a sample, as rows (left before right).

    Attributes
    ----------
    left, right : (n,) int64
    similarity : (n,) float64
        Jaccard similarity of the recipe's features.
    method : str
        Method by which they were found.
    missed : float
        Probability that a pair at the threshold is not among them.
    weight : (n,) float64, or None
        Number of pairs that each represents, for labels of a sample.
    """

    left: SampleRows
    right: SampleRows
    similarity: NDArray[np.float64]
    method: str
    missed: float = 0.0
    weight: NDArray[np.float64] | None = None

    def summarize(self, sample: Sample, seed: int) -> dict[str, Any]:
        """Return their origin.

        Number of documents in the corpus and in the sample, copies excluded from the sample, true pairs, the method,
        the probability that a pair at the threshold is missed, and the seed.
        """
        return {
            "documents": sample.documents,
            "sample": len(sample.texts),
            "copies": sample.copies,
            "pairs": len(self.left),
            "method": self.method,
            "missed": self.missed,
            "seed": seed,
        }


@dataclass
class SampleFingerprints:
    """Fingerprints of the texts with features, and their distances.

    Attributes
    ----------
    rows : (n,) int64
        Rows of the sample that have a fingerprint.
    values : (n_texts,) or (n_texts, words) uint64
    counts : (n_texts,) int64
        Number of features of each text, with repetitions.
    """

    recipe: Recipe
    values: NDArray[np.uint64]
    counts: NDArray[np.int64]
    rows: SampleRows = field(init=False)

    def __post_init__(self) -> None:
        self.rows = np.flatnonzero(self.counts)

    @classmethod
    def of(cls, texts: list[str], recipe: Recipe) -> SampleFingerprints:
        """Return the fingerprints of all texts."""
        values, counts = fingerprint(texts, recipe, return_counts=True)
        return cls(recipe, values, counts.astype(np.int64))

    def distances(self, left: SampleRows, right: SampleRows) -> NDArray[np.int64]:
        """Return the distances of pairs; `bits + 1` for a text without features, which no search finds."""
        if not len(left):
            return np.zeros(0, np.int64)
        distances = np.asarray(hamming(self.values[left], self.values[right], bits=self.recipe.bits), np.int64)
        distances[(self.counts[left] == 0) | (self.counts[right] == 0)] = self.recipe.bits + 1
        return distances

    def pairs(self, radius: int) -> Iterator[tuple[SampleRows, SampleRows, NDArray[np.int64]]]:
        """Yield all pairs within the radius, in chunks: left, right, distance."""
        index = HammingIndex(self.recipe.bits, radius=radius)
        index.add(self.rows, self.values[self.rows])
        for start in range(0, len(self.rows), _CHUNK):
            queries = self.rows[start : start + _CHUNK]
            hits = index.search(self.values[queries], radius)
            left = np.repeat(queries, np.diff(hits.offsets))
            right = np.asarray(hits.ids, np.int64)
            later = right > left
            yield left[later], right[later], np.asarray(hits.distances, np.int64)[later]


def max_distance(threshold: float, bits: int, deviations: float) -> int:
    """Return the expected distance at a similarity plus this many standard deviations."""
    p = simhash_difference(threshold)
    return min(bits, math.floor(bits * p + deviations * math.sqrt(bits * p * (1 - p))))


def miss_probability(threshold: float, bits: int, radius: int) -> float:
    """Return the probability that a pair at the threshold is beyond the radius: the tail of the binomial."""
    p = simhash_difference(threshold)
    return math.fsum(math.comb(bits, d) * p**d * (1 - p) ** (bits - d) for d in range(radius + 1, bits + 1))


def find_similar_pairs(
    texts: list[str],
    recipe: Recipe,
    threshold: float,
    report: Callable[[int, int | None], None],
    *,
    deviations: float = 4.0,
) -> TruePairs:
    """Return all pairs of different rows whose features have at least this Jaccard similarity."""
    wide = SampleFingerprints.of(texts, recipe.with_(weight="binary", hash="xxh3", seed=_WIDE_SEED, bits=_WIDE_BITS))
    n = len(wide.rows)
    brute_force = n * (n - 1) // 2 <= _MAX_BRUTE_FORCE
    radius = _WIDE_BITS if brute_force else max_distance(threshold, _WIDE_BITS, deviations)
    candidates = _all_pairs(wide.rows) if brute_force else (pairs[:2] for pairs in wide.pairs(radius))
    chunks = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    compared = 0
    for left, right in candidates:
        values = similarity(texts, left, right, recipe=recipe)
        match = values >= threshold
        chunks.append((left[match], right[match], values[match]))
        compared += len(left)
        report(compared, n * (n - 1) // 2 if brute_force else None)
    left, right, values = (np.concatenate(column) for column in zip(*chunks, strict=True))
    if brute_force:
        return TruePairs(left, right, values, "every pair of the sample compared")
    method = f"{compared:,} pairs within {radius} of {_WIDE_BITS} bits compared"
    return TruePairs(left, right, values, method, miss_probability(threshold, _WIDE_BITS, radius))


def _all_pairs(rows: SampleRows) -> Iterator[tuple[SampleRows, SampleRows]]:
    step = max(1, (1 << 18) // max(len(rows), 1))
    for start in range(0, len(rows), step):
        left, right = np.nonzero(np.arange(start, min(start + step, len(rows)))[:, None] < np.arange(len(rows)))
        yield rows[left + start], rows[right]
