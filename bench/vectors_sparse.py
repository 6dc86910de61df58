"""Bags of words: codes of sparse vectors beside exact products by SciPy, for `bench/vectors.py --part sparse`.

Rows of the shared bag of words, weighted by (1 + ln tf) ln (N / df) and of unit length, as its true neighbours are.
SciPy's product of a query with the transposed rows is the exact search that its users write; it is measured in each of
its forms, and the fastest stands in the table. nearkin ranks the rows with the nearest codes (`num_candidates`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

import nearkin as nk
from vectors_curves import clock

K = 10
BITS = 1024
CANDIDATES = (500, 1000, 2000)
ROUNDS = 5


def bag_of_words(data: Path) -> tuple[Any, Any, Any]:
    """Unit rows, the numbers of those that are asked, and their true neighbours among all others."""
    z = np.load(data / "sparse_20news_bow.npz")
    X = csr_matrix((z["counts"].astype(np.float64), z["indices"], z["indptr"]), shape=tuple(z["shape"]))
    rows, terms = X.shape
    weights = np.log(rows / np.bincount(X.indices, minlength=terms))
    X.data = (1 + np.log(X.data)) * weights[X.indices]
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    X.sort_indices()
    return X, z["query_rows"], z["cos_neighbors"][:, :K]


def largest(values: Any, ids: Any = None) -> Any:
    """The K + 1 largest products, since a row finds itself."""
    near = np.argpartition(values, -K - 1)[-K - 1 :]
    near = near[np.argsort(-values[near])]
    return near if ids is None else ids[near]


def products(X: Any, asked: Any) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """SciPy's forms: one by one, and in a batch."""
    for kind in (csr_matrix, csr_array):
        for dtype in (np.float64, np.float32):
            rows = kind(X, dtype=dtype)
            across = kind(rows.T)
            batch = rows[asked]
            queries = [batch[[i]] for i in range(len(asked))]

            def ask(queries: Any = queries, across: Any = across) -> Any:
                return [largest((query @ across).toarray().ravel()) for query in queries]

            def ask_sparse(queries: Any = queries, across: Any = across) -> Any:
                found = [query @ across for query in queries]
                return [largest(one.data, one.indices) for one in found]

            def ask_all(batch: Any = batch, across: Any = across) -> Any:
                found = batch @ across
                parts = [slice(*ends) for ends in zip(found.indptr, found.indptr[1:], strict=False)]
                return [largest(found.data[part], found.indices[part]) for part in parts]

            name = f"{kind.__name__}, {np.dtype(dtype).name}"
            yield f"{name}, dense sums", ask, ask_all
            yield f"{name}, sparse sums", ask_sparse, ask_all


def codes(X: Any, asked: Any) -> Iterator[tuple[str, float, Callable[[], Any], Callable[[], Any]]]:
    """Codes with more and more candidates."""
    index = nk.LSHIndex(nk.families.SparseSimHash(BITS), filter="codes")
    build = clock(lambda: index.fit(X))
    batch = X[asked]
    queries = [batch[[i]] for i in range(len(asked))]
    index.tune(X, recall=0.9)
    for count in sorted((*CANDIDATES, index.settings_.num_candidates)):
        name = f"{count} candidates" if count in CANDIDATES else f"{count} candidates (`tune`, recall=0.9)"

        def ask(count: int = count) -> Any:
            return [index.nearest(query, K + 1, num_candidates=count).ids for query in queries]

        def ask_all(count: int = count) -> Any:
            hits = index.nearest(batch, K + 1, num_candidates=count)
            return np.split(hits.ids, hits.offsets[1:-1])

        yield f"nearkin, {BITS} bits, {name}", build, ask, ask_all


def measured(data: Path, quick: bool) -> list[dict[str, Any]]:
    """SciPy's fastest form, then nearkin: recall, and microseconds of the clock per query."""
    X, asked, true = bag_of_words(data)
    count = 50 if quick else len(asked)
    asked, true = asked[:count], true[:count]

    def recall(found: Any) -> float:
        own = [[int(row) for row in ids if row != self][:K] for self, ids in zip(asked, found, strict=True)]
        return float(np.mean([len(set(ids) & set(near)) / K for ids, near in zip(own, true.tolist(), strict=True)]))

    def line(name: str, build: float, ask: Callable[[], Any], ask_all: Callable[[], Any]) -> dict[str, Any]:
        single = min(clock(ask) for _ in range(ROUNDS))
        batch = min(clock(ask_all) for _ in range(ROUNDS))
        found = {
            "name": name,
            "recall": round(recall(ask()), 4),
            "recall_batch": round(recall(ask_all()), 4),
            "single_us": round(1e6 * single / count, 1),
            "batch_us": round(1e6 * batch / count, 1),
            "build_s": round(build, 3),
        }
        print(found, flush=True)
        return found

    # Its transposed rows are made once, which is not measured.
    exact = [line(f"SciPy, {name}", 0.0, ask, ask_all) for name, ask, ask_all in products(X, asked)]
    best = min(exact, key=lambda one: one["single_us"])
    best["batch_us"] = min(one["batch_us"] for one in exact)
    best["name"] = "SciPy, exact products, fastest form"
    return [best, *(line(*found) for found in codes(X, asked))]
