"""Where a method cuts: the pairs that it finds at every radius or threshold, and the cut of the best F1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.quality.ground_truth import SampleFingerprints, find_similar_pairs
from nearkin.theory import Banding
from quality_sets import Rows, Set

REACH = 0.42
STEPS = np.round(np.arange(0.05, 1.0001, 0.05), 2)
BANDS, ROWS = 42, 3

Cut = tuple[float, int, int]
"""Where pairs are cut (radius, threshold), true pairs found there, and all pairs found there."""


def cuts_of_hits(at: Any, hits: Rows, found: Rows) -> list[Cut]:
    return [(float(cut), int(h), int(f)) for cut, h, f in zip(at, hits, found, strict=True)]


def cuts_of_distances(corpus: Set, recipe: Any) -> list[Cut]:
    """Every radius of a fingerprint."""
    prints = SampleFingerprints.of(corpus.texts, recipe)
    reach = int(REACH * recipe.bits)
    distances = prints.distances(corpus.left, corpus.right)

    def within(values: Rows) -> Rows:
        return np.bincount(values[values <= reach], minlength=reach + 1).cumsum()

    if corpus.match is not None:
        return cuts_of_hits(range(reach + 1), within(distances[corpus.match]), within(distances))
    found = np.zeros(reach + 1, np.int64)
    for left, right, near in prints.pairs(reach):
        found += np.bincount(near[corpus.judged(left, right)], minlength=reach + 1)
    return cuts_of_hits(range(reach + 1), within(distances), found.cumsum())


def cuts_of_similarities(corpus: Set, similarity: NDArray[np.float64], pairs: tuple[Rows, Rows] | None) -> list[Cut]:
    """Every threshold: of the listed pairs, or of all pairs that were found beside the true ones."""
    if corpus.match is not None:
        hits = [(similarity[corpus.match] >= step - 1e-9).sum() for step in STEPS]
        return cuts_of_hits(STEPS, np.array(hits), np.array([(similarity >= step - 1e-9).sum() for step in STEPS]))
    left, right = pairs or (np.zeros(0, np.int64),) * 2
    judged = corpus.judged(left, right)
    n = len(corpus.texts)
    true = np.isin(left * n + right, corpus.left * n + corpus.right)
    found = [(judged & (similarity >= step - 1e-9)).sum() for step in STEPS]
    return cuts_of_hits(
        STEPS, np.array([(true & (similarity >= step - 1e-9)).sum() for step in STEPS]), np.array(found)
    )


def exact(corpus: Set, recipe: Any) -> tuple[list[Cut], Any]:
    """Jaccard similarity of the recipe's features; the pairs and their similarity too."""
    import nearkin as nk

    if corpus.match is not None:
        similarity = nk.similarity(corpus.texts, corpus.left, corpus.right, recipe=recipe)
        return cuts_of_similarities(corpus, similarity, None), (corpus.left, corpus.right, similarity)
    least = 0.35
    found = find_similar_pairs(corpus.texts, recipe, least, lambda done: None, deviations=2.0)
    cuts = cuts_of_similarities(corpus, found.similarity, (found.left, found.right))
    return [cut for cut in cuts if cut[0] >= least], (found.left, found.right, found.similarity)


def pairs_in_bands(signatures: NDArray[Any], counts: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Pairs that share all values of a band, of signatures that have features."""
    n = len(signatures)
    keys = [np.zeros(0, np.int64)]
    for band in range(BANDS):
        part = np.ascontiguousarray(signatures[:, band * ROWS : (band + 1) * ROWS])
        groups = np.unique(part.view([("", part.dtype)] * ROWS).reshape(-1), return_inverse=True)[1].reshape(-1)
        groups = np.where(counts > 0, groups, -1)
        order = np.argsort(groups, kind="stable")
        bounds = np.flatnonzero(np.diff(groups[order], prepend=-2))
        for rows in np.split(order, bounds[1:]):
            if len(rows) > 1 and groups[rows[0]] >= 0:
                rows = np.sort(rows)
                left, right = np.triu_indices(len(rows), 1)
                keys.append(rows[left] * n + rows[right])
        keys = [np.unique(np.concatenate(keys))]
    left, right = np.divmod(keys[0], n)
    return left, right


def of_signatures(corpus: Set, signatures: NDArray[Any], pairs: tuple[Rows, Rows] | None) -> list[Cut]:
    """The share of equal values of signatures: of the listed pairs, or of those found in bands."""
    if pairs is None:
        return cuts_of_similarities(corpus, share(signatures, corpus.left, corpus.right), None)
    cuts = cuts_of_similarities(corpus, share(signatures, *pairs), pairs)
    return [cut for cut in cuts if cut[0] >= 0.4]


def banded(signatures: NDArray[Any], left: Rows, right: Rows, banding: Banding) -> NDArray[np.bool_]:
    """Which pairs share a band and agree in the least number of values, as candidates of `BandIndex` do."""
    b, r = banding.num_bands, banding.num_rows
    parts = [np.zeros(0, bool)]
    for start in range(0, len(left), 1 << 16):
        part = slice(start, start + (1 << 16))
        equal = signatures[left[part]] == signatures[right[part]]
        shared = equal[:, : b * r].reshape(-1, b, r).all(axis=2).any(axis=1)
        parts.append(shared & (equal.sum(axis=1) >= banding.min_matches))
    return np.concatenate(parts)


def share(signatures: NDArray[Any], left: Rows, right: Rows) -> NDArray[np.float64]:
    parts = [np.zeros(0)]
    for start in range(0, len(left), 1 << 16):
        part = slice(start, start + (1 << 16))
        parts.append((signatures[left[part]] == signatures[right[part]]).mean(axis=1))
    return np.concatenate(parts)


def of_clusters(corpus: Set, labels: NDArray[np.int64]) -> Cut:
    """Pairs of one cluster, counted without listing them."""
    together = labels[corpus.left] == labels[corpus.right]
    if corpus.match is not None:
        return 0.0, int((together & corpus.match).sum()), int(together.sum())

    def pairs(values: NDArray[np.int64]) -> int:
        sizes = np.unique(values, return_counts=True)[1]
        return int((sizes * (sizes - 1) // 2).sum())

    found = pairs(labels)
    if corpus.side is not None:
        found -= sum(pairs(labels[corpus.side == side]) for side in (0, 1))
    return 0.0, int(together.sum()), found


def of_found(corpus: Set, left: Rows, right: Rows) -> Cut:
    """Pairs that a method lists."""
    n = len(corpus.texts)
    found = np.unique(np.minimum(left, right) * n + np.maximum(left, right))
    known = corpus.left * n + corpus.right
    if corpus.match is not None:
        listed = np.isin(known, found)
        return 0.0, int((listed & corpus.match).sum()), int(listed.sum())
    judged = corpus.judged(*np.divmod(found, n))
    return 0.0, int(np.isin(found[judged], known).sum()), int(judged.sum())


def best(cuts: list[Cut], true: int) -> dict[str, float]:
    """The cut of the best F1."""
    at, hits, found = max(cuts, key=lambda cut: 2 * cut[1] / (cut[2] + true))
    return {
        "at": at,
        "precision": hits / found if found else 0.0,
        "recall": hits / true,
        "f1": 2 * hits / (found + true),
        "found": found,
    }
