"""Samples of the vectors that a family is fitted on, chosen by counters: the same for a seed and a number of rows."""

from __future__ import annotations

import numpy as np

from nearkin._core import draw_matrix
from nearkin.vectors.rows import Floats, Ints, Rows


def sample(rows: Rows, count: int, seed: int, stream: int) -> Floats:
    """At most `count` of the rows without repetition, dense `float64`, in their order."""
    return np.require(rows.take(places(len(rows), count, seed, stream)).wide().dense(), np.float64)


def places(total: int, count: int, seed: int, stream: int) -> Ints:
    """At most `count` of the numbers 0 to total - 1 without repetition, ascending."""
    if count >= total:
        return np.arange(total, dtype=np.int64)
    order = np.argsort(draw_matrix("word", seed, stream, 0, 1, total), kind="stable")
    return np.sort(order[:count]).astype(np.int64)


def subsets(total: int, size: int, count: int, seed: int, stream: int) -> Ints:
    """`count` sets of `size` of the numbers 0 to total - 1, each without repetition: `(count, size)`."""
    words = draw_matrix("word", seed, stream, 0, count, total).reshape(count, total)
    return np.argsort(words, axis=1, kind="stable")[:, :size].astype(np.int64)


def neighbour_distances(base: Floats, metric: str, rank: int, queries: int) -> Floats:
    """Distances of the first rows to their `rank`-th nearest among the rows that differ from them."""
    found = []
    for at in range(min(queries, len(base))):
        difference = np.abs(base - base[at])
        distances = difference.sum(1) if metric == "l1" else np.sqrt((difference**2).sum(1))
        above = np.sort(distances[distances > 0])
        if len(above):
            found.append(above[min(rank, len(above)) - 1])
    return np.array(found)
