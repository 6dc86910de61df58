"""The true nearest neighbours of some rows among all, by brute force in blocks: the ground truth of recall.

A block of distances is a matrix product (inner products, cosines, and ‖y‖² − 2 x·y, which orders as the Euclidean
distance does) or, for the Manhattan distance, sums of differences. The distances of the k that remain are summed again
in `float64`, so that they do not depend on the block. Cost: n d steps per query; memory: 2^24 distances at a time.
"""

from __future__ import annotations

import numpy as np

from nearkin.index.lsh.arrays import Metric
from nearkin.vectors.rows import Floats, Ints, Rows

_BLOCK = 1 << 24
"""Distances, or differences of the Manhattan distance, that are held at once."""


def true_neighbours(rows: Rows, queries: Ints, metric: Metric, k: int) -> tuple[Ints, Floats]:
    """The k nearest other rows of some rows, and their distances, by brute force in blocks.

    Returns
    -------
    (n_queries, k) int64, (n_queries, k) float64
        Nearest first. Distances of the k are summed again in float64.
    """
    n = len(rows)
    asked = rows.take(queries)
    best_far = np.full((len(queries), k), np.inf)
    best_row = np.full((len(queries), k), -1, dtype=np.int64)
    norms = rows.norms()
    step = max(1, _BLOCK // max(len(queries), 1) // (rows.d if metric == "l1" else 1))
    for start in range(0, n, step):
        part = rows.part(start, min(start + step, n))
        far = _ordering(part, asked, metric, norms[start : start + len(part)])
        inside = (queries >= start) & (queries < start + len(part))
        far[np.flatnonzero(inside), queries[inside] - start] = np.inf
        # The best of the block, then of both.
        count = min(k, far.shape[1])
        places = np.argpartition(far, count - 1, axis=1)[:, :count]
        far = np.concatenate([best_far, np.take_along_axis(far, places, axis=1)], axis=1)
        row = np.concatenate([best_row, places + start], axis=1)
        order = np.lexsort((row, far), axis=1)[:, :k]
        best_far, best_row = np.take_along_axis(far, order, axis=1), np.take_along_axis(row, order, axis=1)
    distances = np.stack(
        [_distances(rows.take(best), asked.part(query, query + 1), metric) for query, best in enumerate(best_row)]
    )
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(best_row, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _ordering(part: Rows, asked: Rows, metric: Metric, norms: Floats) -> Floats:
    """`(n_queries, n_part)` numbers that order the rows of a block as their distances do."""
    if metric == "l1":
        points, block = asked.dense().astype(np.float64), part.dense().astype(np.float64)
        return np.stack([np.abs(block - q).sum(axis=1) for q in points])
    dot: Floats = part.product(np.ascontiguousarray(asked.dense().T)).T.astype(np.float64)
    if metric == "l2":
        return norms**2 - 2 * dot
    if metric == "cosine":
        return -dot / np.maximum(norms, 1e-300)
    return -dot


def _distances(rows: Rows, query: Rows, metric: Metric) -> Floats:
    """Distances of rows to one query, in `float64`."""
    near: Floats = rows.dense().astype(np.float64)
    q: Floats = query.dense().astype(np.float64)[0]
    if metric == "l2":
        far = np.sqrt(((near - q) ** 2).sum(axis=1))
    elif metric == "l1":
        far = np.abs(near - q).sum(axis=1)
    elif metric == "cosine":
        far = 1 - near @ q / (np.sqrt((near**2).sum(axis=1)) * float(query.norms()[0]))
    else:
        far = -(near @ q)
    return np.asarray(far)
