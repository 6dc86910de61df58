"""The ground truth of tuning: a sample of documents, their true pairs, and distances.

**Sample.** Every document gets a random key; the smallest ones are taken, so that the sample depends on the seed and
the order of documents alone. A pair is in the sample with probability (sample / documents)², whatever its similarity,
so recall and precision of a radius estimate those of the corpus; candidates per document grow with the corpus and are
scaled.

**True pairs** without labels are those whose features have at least the threshold's Jaccard similarity. Up to
`_BRUTE_FORCE` pairs of documents all are compared. Above that, candidates come from a fingerprint of 256 bits of
distinct features under another seed, within four standard deviations of the expected distance at the threshold, and are
verified. A true pair exactly at the threshold is missed with probability `missed` (1e-4 at 0.8), those above it less
often. Recall is overstated by at most that share, since pairs missed there may lie far apart in other fingerprints,
too.

Copies are collapsed before a search and found in any case, so the sample holds every text once where there are no
labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.verify import similarity, texts_by_row
from nearkin.errors import bad_parameter
from nearkin.families.simhash import fingerprint
from nearkin.index.hamming import HammingIndex, hamming
from nearkin.index.ids import Ids
from nearkin.io import Corpus
from nearkin.progress import Progress, unreported
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts
from nearkin.theory import simhash_difference

_BRUTE_FORCE = 1 << 21
"""Pairs that are compared one by one: 1 to 7 microseconds each, 2 to 15 seconds in all."""
_SEED = 0x6E6B
"""Seed of the wide fingerprint: any but those of the recipes that are measured."""
_WIDE = 256
_CHUNK = 1024

SampleRows = NDArray[np.int64]
"""Rows of a sample."""


class AboutTruth(TypedDict):
    """How true pairs were found, and in which sample.

    Documents of the corpus and of its sample, copies that the sample left out, true pairs, by which method, with which
    probability one at the threshold is missed, and the seed.
    """

    documents: int
    sample: int
    copies: int
    pairs: int
    method: str
    missed: float
    seed: int


@dataclass
class Sample:
    """Documents that are measured.

    Attributes
    ----------
    texts, names : lists
        Texts, and their ids as text.
    documents : int
        Documents of the corpus without missing texts.
    copies : int
        Texts left out because the sample already has their content.
    """

    texts: list[str]
    names: list[str]
    documents: int
    copies: int = 0

    def without_copies(self) -> Sample:
        """The first of each content."""
        first = dict(zip(reversed(self.texts), reversed(range(len(self.texts))), strict=True))
        rows = sorted(first.values())
        texts, names = [self.texts[row] for row in rows], [self.names[row] for row in rows]
        return Sample(texts, names, self.documents, len(self.texts) - len(rows))


def take_sample(
    texts: Texts | Corpus,
    ids: Ids | None,
    size: int,
    seed: int,
    wanted: set[str] | None = None,
    report: Progress = unreported,
) -> Sample:
    """At most `size` documents by random keys, those named in `wanted` first, in the corpus's order."""
    rng = np.random.default_rng(seed)
    keys, held, names, documents = np.zeros(0), list[str](), list[str](), 0
    for batch, batch_names in _batches(texts, ids):
        drawn = rng.random(len(batch))
        rows = [row for row, text in enumerate(batch) if text is not None]
        documents += len(rows)
        report("sample", documents, None)
        if wanted is not None:
            drawn[[row for row in rows if batch_names[row] in wanted]] = -1.0
        keys = np.concatenate([keys, drawn[rows]])
        held += [text for text in batch if text is not None]
        names += [batch_names[row] for row in rows]
        if len(keys) > 2 * size:
            keys, held, names = _least(keys, held, names, size)
    keys, held, names = _least(keys, held, names, size)
    return Sample(held, names, documents)


def _least(
    keys: NDArray[np.float64], held: list[str], names: list[str], size: int
) -> tuple[NDArray[np.float64], list[str], list[str]]:
    kept = np.sort(np.argsort(keys, kind="stable")[: max(size, int((keys < 0).sum()))]).tolist()
    return keys[kept], [held[row] for row in kept], [names[row] for row in kept]


def _batches(texts: Texts | Corpus, ids: Ids | None) -> Iterator[tuple[list[str | None], list[str]]]:
    if isinstance(texts, Corpus):
        for batch in texts.batches():
            nulls = set(batch.texts.nulls.tolist())
            found = [None if row in nulls else text for row, text in enumerate(batch.texts)]
            yield found, [str(name) for name in batch.ids.to_list()]
        return
    look_up, n = texts_by_row(texts)
    names = [str(name) for name in (range(n) if ids is None else ids)]
    if len(names) != n:
        raise bad_parameter("ids", f"{len(names)} values", f"{n} values, one per text")
    for start in range(0, n, 1 << 14):
        rows = np.arange(start, min(start + (1 << 14), n))
        some = look_up(rows)
        found = some.to_pylist() if hasattr(some, "to_pylist") else list(some)
        yield found, names[start : start + len(rows)]


@dataclass
class TruePairs:
    """True pairs of a sample, as rows (left before right).

    Attributes
    ----------
    left, right : (n,) int64
    similarity : (n,) float64
        Jaccard similarity of the recipe's features.
    method : str
        How they were found.
    missed : float
        Probability that a pair at the threshold is not among them.
    weight : (n,) float64, or None
        How many pairs each stands for, if labels of a sample say so.
    """

    left: SampleRows
    right: SampleRows
    similarity: NDArray[np.float64]
    method: str
    missed: float = 0.0
    weight: NDArray[np.float64] | None = None

    def about(self, sample: Sample, seed: int) -> AboutTruth:
        """How they were found, and on what."""
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
    """Fingerprints of the texts that have features, and how far apart they are.

    Attributes
    ----------
    rows : (n,) int64
        Rows of the sample that have a fingerprint.
    values : (n_texts,) or (n_texts, words) uint64
    counts : (n_texts,) int64
        Features of each text, counting repetitions.
    """

    recipe: Recipe
    values: NDArray[np.uint64]
    counts: NDArray[np.int64]
    rows: SampleRows = field(init=False)

    def __post_init__(self) -> None:
        self.rows = np.flatnonzero(self.counts)

    @classmethod
    def of(cls, texts: list[str], recipe: Recipe) -> SampleFingerprints:
        """Those of all texts."""
        values, counts = fingerprint(texts, recipe, return_counts=True)
        return cls(recipe, values, counts.astype(np.int64))

    def distances(self, left: SampleRows, right: SampleRows) -> NDArray[np.int64]:
        """Distances of pairs; `bits + 1` for a text without features, which nothing finds."""
        if not len(left):
            return np.zeros(0, np.int64)
        found = np.asarray(hamming(self.values[left], self.values[right], bits=self.recipe.bits), np.int64)
        found[(self.counts[left] == 0) | (self.counts[right] == 0)] = self.recipe.bits + 1
        return found

    def pairs(self, radius: int) -> Iterator[tuple[SampleRows, SampleRows, NDArray[np.int64]]]:
        """All pairs within the radius, in pieces: left, right, distance."""
        index = HammingIndex(self.recipe.bits, radius=radius)
        index.add(self.rows, self.values[self.rows])
        for start in range(0, len(self.rows), _CHUNK):
            queries = self.rows[start : start + _CHUNK]
            hits = index.search(self.values[queries], radius)
            left = np.repeat(queries, np.diff(hits.offsets))
            right = np.asarray(hits.ids, np.int64)
            later = right > left
            yield left[later], right[later], np.asarray(hits.distances, np.int64)[later]


def widest(threshold: float, bits: int, deviations: float) -> int:
    """The expected distance at a similarity and this many standard deviations more."""
    p = simhash_difference(threshold)
    return min(bits, math.floor(bits * p + deviations * math.sqrt(bits * p * (1 - p))))


def beyond(threshold: float, bits: int, radius: int) -> float:
    """Probability that a pair at the threshold lies beyond the radius: the binomial's tail."""
    p = simhash_difference(threshold)
    return math.fsum(math.comb(bits, d) * p**d * (1 - p) ** (bits - d) for d in range(radius + 1, bits + 1))


def similar_pairs(
    texts: list[str],
    recipe: Recipe,
    threshold: float,
    report: Callable[[int, int | None], None],
    *,
    deviations: float = 4.0,
) -> TruePairs:
    """All pairs of different rows whose features have at least this Jaccard similarity."""
    wide = SampleFingerprints.of(texts, recipe.with_(weight="binary", hash="xxh3", seed=_SEED, bits=_WIDE))
    n = len(wide.rows)
    brute = n * (n - 1) // 2 <= _BRUTE_FORCE
    radius = _WIDE if brute else widest(threshold, _WIDE, deviations)
    pieces = _all_pairs(wide.rows) if brute else (piece[:2] for piece in wide.pairs(radius))
    kept = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    compared = 0
    for left, right in pieces:
        found = similarity(texts, left, right, recipe=recipe)
        match = found >= threshold
        kept.append((left[match], right[match], found[match]))
        compared += len(left)
        report(compared, n * (n - 1) // 2 if brute else None)
    method = "every pair of the sample compared"
    if not brute:
        method = f"{compared:,} pairs within {radius} of {_WIDE} bits compared"
    left, right, found = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return TruePairs(left, right, found, method, 0.0 if brute else beyond(threshold, _WIDE, radius))


def _all_pairs(rows: SampleRows) -> Iterator[tuple[SampleRows, SampleRows]]:
    step = max(1, (1 << 18) // max(len(rows), 1))
    for start in range(0, len(rows), step):
        left, right = np.nonzero(np.arange(start, min(start + step, len(rows)))[:, None] < np.arange(len(rows)))
        yield rows[left + start], rows[right]
