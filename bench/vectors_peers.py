"""What `bench/vectors.py` asks: each index with one knob, from little recall to much.

Every maker gets the rows and gives (name, build) pairs; `build()` returns an `Index`, whose `ask(knob, Q, k)` gives row
numbers. Settings are those that people take: of the graphs of faiss 16 and 32 links and efConstruction 80, defaults
otherwise; of inverted files a list for every 160 rows or so. What is ranked again is ranked by the exact distance. A
peer that is not installed, or whose version has no such index, is left out and named.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nearkin as nk

EF = (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
FACTORS = (1, 2, 4, 8, 16, 32, 64, 128)
LISTS = (1, 2, 4, 8, 16, 32, 64, 128)
RANKED = (10, 40)
"""Candidates per neighbour that inverted files rank; of each number of lists the better one is on the curve."""
TUNED = (0.9, 0.95, 0.99)
WANTED = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
PROBES = (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512)


@dataclass
class Index:
    """An index that is built: its knob, how it is asked, and the bytes of the file that holds it with its vectors.

    What is timed is `ask`, which gives what its users get; `rows` makes row numbers by query of that.
    """

    knobs: Sequence[Any]
    ask: Callable[[Any, Any, int], Any]
    size: int
    dtype: str = "float32"
    """The type of the queries."""
    rows: Callable[[Any], Any] = np.asarray


Maker = Iterator[tuple[str, Callable[[], Index]]]


def size_of(save: Callable[[str], object]) -> int:
    """Bytes of what is saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        save(str(path))
        return path.stat().st_size


def ids_of(hits: Any) -> list[Any]:
    """Ids by query."""
    return np.split(hits.ids, hits.offsets[1:-1])


def nearkins(X: Any, own: str) -> Maker:
    """Indexes of nearkin.

    Of codes and tables the knob is the recall that is asked for, each an index of its own; of estimates what the bound
    promises, and how many cells are visited. Estimates are asked of float32, as all peers are, and of the type that the
    vectors came in.
    """

    def of(make: Callable[[float], Any], wanted: Sequence[float] = TUNED) -> Callable[[], Index]:
        def build() -> Index:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", nk.errors.ConvergenceWarning)
                made = {recall: make(recall) for recall in wanted}
            size = size_of(lambda path: made[0.95].save(path))
            return Index(wanted, lambda recall, Q, k: made[recall].nearest(Q, k), size, rows=ids_of)

        return build

    wide = 512 if X.shape[1] >= 512 else 256
    yield (
        "nearkin codes",
        of(
            lambda recall: tuned(
                nk.LSHIndex(nk.families.Hyperplane(wide, center=True, orthogonal=True), metric="l2", filter="codes"),
                X,
                recall,
            )
        ),
    )
    yield (
        "nearkin tables",
        of(
            lambda recall: tuned(
                nk.LSHIndex(nk.families.Hyperplane(center=True), metric="l2", filter="buckets"), X, recall
            )
        ),
    )
    for kind in ("codes", "partitions"):
        for dtype in dict.fromkeys(("float32", own)):
            yield f"nearkin estimate, {kind}, {dtype}", lambda kind=kind, dtype=dtype: estimate(kind, X.astype(dtype))


def estimate(kind: str, X: Any) -> Index:
    """Candidates that are ranked by estimated distances: promises, and with cells how many are visited."""
    index = nk.LSHIndex(
        nk.families.Hyperplane(None, orthogonal="hadamard"), rank="estimate", filter=kind, metric="l2"
    ).fit(X)
    size, knobs = size_of(index.save), [(wanted, None) for wanted in WANTED]
    if kind == "partitions":
        knobs = [
            (wanted, probes) for wanted in WANTED[1::2] for probes in PROBES if probes <= index.settings_.num_partitions
        ]

    def ask(knob: Any, Q: Any, k: int) -> Any:
        return index.nearest(Q, k, recall=knob[0], num_probes=knob[1])

    return Index(knobs, ask, size, str(X.dtype), ids_of)


def tuned(index: Any, X: Any, recall: float) -> Any:
    """The index, tuned for the ten nearest."""
    index.tune(X, recall=recall)
    return index


def faiss_size(index: Any) -> int:
    """Bytes of a serialized index."""
    import faiss

    return int(faiss.serialize_index(index).nbytes)


def graphs(X: Any) -> Maker:
    """HNSW of faiss."""
    import faiss

    def of(links: int) -> Callable[[], Index]:
        def build() -> Index:
            index = faiss.IndexHNSWFlat(X.shape[1], links)
            index.hnsw.efConstruction = 80
            index.add(X)

            def ask(ef: int, Q: Any, k: int) -> Any:
                index.hnsw.efSearch = ef
                return index.search(Q, k)[1]

            return Index(EF, ask, faiss_size(index))

        return build

    for links in (16, 32):
        yield f"faiss HNSW {links}", of(links)


def hnswlibs(X: Any) -> Maker:
    """HNSW of hnswlib with its defaults."""
    import hnswlib

    def build() -> Index:
        index = hnswlib.Index(space="l2", dim=X.shape[1])
        index.init_index(max_elements=len(X))
        if os.environ.get("OMP_NUM_THREADS") == "1":
            index.set_num_threads(1)
        index.add_items(X)

        def ask(ef: int, Q: Any, k: int) -> Any:
            index.set_ef(max(ef, k))
            return index.knn_query(Q, k=k)[0]

        return Index(EF, ask, size_of(index.save_index))

    yield "hnswlib", build


def usearches(X: Any) -> Maker:
    """USearch with its defaults, exact coordinates."""
    from usearch.index import Index as Graph

    threads = 1 if os.environ.get("OMP_NUM_THREADS") == "1" else 0

    def build() -> Index:
        index = Graph(ndim=X.shape[1], metric="l2sq", dtype="f32")
        index.add(np.arange(len(X)), X, threads=threads)

        def ask(ef: int, Q: Any, k: int) -> Any:
            index.expansion_search = ef
            return np.atleast_2d(index.search(Q, k, threads=threads).keys).astype(np.int64)

        return Index(EF, ask, size_of(index.save))

    yield "USearch", build


def scans(X: Any) -> Maker:
    """Codes of faiss that are scanned, what is best ranked by the exact distance; and brute force."""
    import faiss

    n, dim = X.shape
    lists = max(64, min(4096, n // 160))

    def refined(base: Any, of_lists: bool, mean: Any = 0) -> Index:
        rows = X - mean if np.ndim(mean) else X
        index = faiss.IndexRefineFlat(base)
        index.train(rows)
        index.add(rows)

        def ask(knob: Any, Q: Any, k: int) -> Any:
            factor, probes = knob
            index.k_factor = factor
            if of_lists:
                base.nprobe = probes
            return index.search(Q - mean if np.ndim(mean) else Q, k)[1]

        knobs = (
            [(factor, probes) for factor in RANKED for probes in LISTS]
            if of_lists
            else [(factor, 0) for factor in FACTORS]
        )
        return Index(knobs, ask, faiss_size(index))

    def flat() -> Index:
        index = faiss.IndexFlatL2(dim)
        index.add(X)
        return Index([0], lambda _, Q, k: index.search(Q, k)[1], faiss_size(index))

    bits = 512
    yield "faiss brute force", flat
    yield f"faiss IndexLSH {bits}", lambda: refined(faiss.IndexLSH(dim, bits, True), False, X.mean(axis=0))
    yield "faiss PQ fast scan", lambda: refined(faiss.IndexPQFastScan(dim, dim // 2, 4), False)
    yield f"faiss IVF{lists} PQ fast scan", lambda: refined(made(f"IVF{lists},PQ{dim // 2}x4fs", dim), True)
    for name in ("RaBitQfs", "RaBitQ"):
        with_lists = f"IVF{lists},{name}"
        try:
            faiss.index_factory(dim, with_lists)
        except RuntimeError:
            continue
        yield f"faiss IVF{lists} {name}", lambda with_lists=with_lists: refined(made(with_lists, dim), True)
        break


def made(description: str, dim: int) -> Any:
    """An index of faiss."""
    import faiss

    return faiss.index_factory(dim, description)


PEERS: dict[str, Callable[[Any], Maker]] = {
    "faiss": graphs,
    "hnswlib": hnswlibs,
    "usearch": usearches,
    "faiss codes": scans,
}


def everybody(X: Any, own: str) -> Maker:
    """Every index, nearkin's first; `own` is the type that the vectors came in."""
    yield from nearkins(X, own)
    for name, maker in PEERS.items():
        if importlib.util.find_spec(name.split()[0]) is None:
            print(f"{name} is not installed: left out", flush=True, file=sys.stderr)
            continue
        yield from maker(X)
