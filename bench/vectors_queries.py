"""Queries that are rows, near rows, new, and far from rows, for `bench/vectors.py --part queries`.

An index is set for recall 0.95 without these queries: of nearkin codes by their law and cells by `tune` on the rows,
of the graph by the least `efSearch` that reaches it on the set's own queries. Then each kind of query is asked with
those settings, and what is delivered is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import nearkin as nk
from vectors_curves import clock, nearest_distances, recall_of, rows_of
from vectors_peers import EF, graphs, ids_of

K = 10
WANTED = 0.95
COUNT, SINGLE = 500, 100
"""Queries of a kind, and how many of them are asked one by one."""
ROUNDS = 3


def kinds(X: Any, Q: Any) -> Iterator[tuple[str, Any]]:
    """Rows; rows moved by .3 of the distance to the nearest other row; the set's own; and three deviations away from
    the mean, with the coordinates of the deviation in another order.
    """
    rng = np.random.default_rng(20)
    rows = X[rng.choice(len(X), min(COUNT, len(X)), replace=False)]
    yield "rows", rows
    noise = rng.standard_normal(rows.shape)
    noise *= 0.3 * nearest_distances(X, rows, 2)[:, 1:] / np.linalg.norm(noise, axis=1, keepdims=True)
    yield "near rows", (rows + noise).astype(np.float32)
    yield "new", Q[:COUNT]
    mean = X.mean(axis=0)
    yield "far from rows", (mean + 3 * rng.permuted(Q[:COUNT] - mean, axis=1)).astype(np.float32)


def indexes(X: Any, Q: Any, true: Any) -> Iterator[tuple[str, Any]]:
    """Each with the function that answers queries."""
    for kind in ("codes", "partitions"):
        family = nk.families.Hyperplane(None, orthogonal="hadamard")
        index = nk.LSHIndex(family, rank="estimate", filter=kind, metric="l2", recall=WANTED)
        if kind == "partitions":
            index.tune(X, recall=WANTED)
        else:
            index.fit(X)
        yield f"nearkin estimate, {kind}", lambda Q, index=index: ids_of(index.nearest(Q, K))
    name, build = next(graphs(X))
    graph = build()
    for ef in EF:
        if recall_of(graph.ask(ef, Q, K), Q, X, true, K) >= WANTED:
            yield f"{name}, efSearch {ef}", lambda Q, ef=ef: graph.ask(ef, Q, K)
            return
    raise SystemExit(f"{name} does not reach recall {WANTED}")


def measured(data: Path, name: str, quick: bool) -> list[dict[str, Any]]:
    """A line for each kind of query and each index: what is delivered, and microseconds one by one and in a batch."""
    X, Q, true, _ = rows_of(data, name, quick)
    asked = [(kind, each, nearest_distances(X, each, K)) for kind, each in kinds(X, Q)]
    lines = []
    for index, ask in indexes(X, Q, true):
        for kind, each, distances in asked:
            found = ask(each)
            parts = each[:SINGLE, None]
            single = min(clock(lambda ask=ask, parts=parts: [ask(q) for q in parts]) for _ in range(ROUNDS))
            batch = min(clock(lambda ask=ask, each=each: ask(each)) for _ in range(ROUNDS))
            line = {
                "set": name,
                "queries": kind,
                "index": index,
                "recall": round(recall_of(found, each, X, distances, K), 4),
                "single_us": round(1e6 * single / len(parts), 1),
                "batch_us": round(1e6 * batch / len(each), 1),
            }
            print(line, flush=True)
            lines.append(line)
    return lines
