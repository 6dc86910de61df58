"""Samples of training vectors, drawn by counter: they depend only on the seed and the number of rows."""

from __future__ import annotations

import numpy as np

from nearkin._core import draw_matrix
from nearkin.vectors.arrays import Floats, Ints, Rows


def sample_rows(rows: Rows, count: int, seed: int, stream: int) -> Floats:
    """Return at most `count` distinct rows in their order, as dense `float64`."""
    return np.require(rows.take(sample_positions(len(rows), count, seed, stream)).as_float64().dense(), np.float64)


def sample_positions(total: int, count: int, seed: int, stream: int) -> Ints:
    """Return at most `count` distinct numbers from 0 to total - 1, ascending."""
    if count >= total:
        return np.arange(total, dtype=np.int64)
    order = np.argsort(draw_matrix("word", seed, stream, 0, 1, total), kind="stable")
    return np.sort(order[:count]).astype(np.int64)


def random_subsets(total: int, size: int, count: int, seed: int, stream: int) -> Ints:
    """Return `count` sets of `size` distinct numbers from 0 to total - 1: `(count, size)`."""
    words = draw_matrix("word", seed, stream, 0, count, total).reshape(count, total)
    return np.argsort(words, axis=1, kind="stable")[:, :size].astype(np.int64)


def neighbour_distances(base: Floats, metric: str, rank: int, queries: int) -> Floats:
    """Return the distances of the first rows to their `rank`-th nearest among the rows that differ from them."""
    nearest = []
    for query in base[:queries]:
        difference = np.abs(base - query)
        distances = difference.sum(1) if metric == "l1" else np.sqrt((difference**2).sum(1))
        above = np.sort(distances[distances > 0])
        if len(above):
            nearest.append(above[min(rank, len(above)) - 1])
    return np.array(nearest)
