"""Nearest neighbours of real vectors: nearkin's index beside brute force, LSH libraries and a graph, one thread, CPU
time.

Recall@10 counts a row whose distance is at most the tenth true one. Every index is asked one query at a time and in
one batch; microseconds are CPU time of the process a query. Parts: `real` (the shared vectors), `million` (SIFT rows
plus noise, 1,000,000 x 128, and its first tenths: the growth), `probes` (tables that one and many probes need). The
figures go to `bench/runs/`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import gc
import importlib.metadata
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import nearkin as nk
from common import arguments, save

SETS = {"sift": "vec_sift_bsds", "gist": "vec_cifar10_gist512", "mnist": "vec_mnist10k", "lsa": "vec_20news_lsa96"}
K = 10


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds, and what the call gave."""
    gc.collect()
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def measured(name: str, build: float, size: float | None, ask: Callable[[Any], Any], Q: Any, X: Any, true: Any) -> Any:
    """One line: recall, microseconds one by one and in a batch, queries a second."""
    ask(Q[:1])
    count = min(len(Q), 200)
    best = min(seconds(lambda: [ask(Q[i : i + 1]) for i in range(count)])[0] for _ in range(3)) / count
    batch, found = min((seconds(lambda: ask(Q)) for _ in range(2)), key=lambda item: item[0])
    good = 0
    for query, ids in enumerate(found):
        rows = np.asarray([row for row in ids if row >= 0][:K], dtype=np.int64)
        far = np.sqrt(((X[rows].astype(np.float64) - Q[query]) ** 2).sum(axis=1))
        good += int((far <= true[query, K - 1] * (1 + 1e-5) + 1e-6).sum())
    line = {
        "name": name,
        "recall": round(good / (K * len(Q)), 4),
        "single_us": round(best * 1e6, 1),
        "batch_us": round(batch / len(Q) * 1e6, 1),
        "qps_single": round(1 / best),
        "build_s": round(build, 3),
        "mb": None if size is None else round(size / 1e6, 2),
    }
    print(line, flush=True)
    return line


def rows_of(hits: Any) -> list[Any]:
    """Ids by query."""
    return np.split(hits.ids, hits.offsets[1:-1])


def brute(X: Any) -> Callable[[Any], Any]:
    """Squared distances by a matrix product, the ten least."""
    norms = np.einsum("ij,ij->i", X, X)

    def ask(Q: Any) -> Any:
        if len(Q) == 1:
            far = norms - 2 * (X @ Q[0])
            near = np.argpartition(far, K)[:K]
            return near[np.argsort(far[near])][None]
        out = []
        for at in range(0, len(Q), 100):
            far = norms - 2 * (Q[at : at + 100] @ X.T)
            out.append(np.argpartition(far, K, axis=1)[:, :K])
        return np.concatenate(out)

    return ask


def nearkins(X: Any, wide: int) -> list[tuple[str, float, float, Any]]:
    """The indexes of nearkin, tuned on the base vectors alone for recall 0.9 with a little to spare."""
    out = []
    for name, index in (
        ("nearkin codes", nk.LSHIndex(nk.families.Hyperplane(wide, center=True, orthogonal=True), metric="l2")),
        ("nearkin hyperplane tables", nk.LSHIndex(nk.families.Hyperplane(center=True), filter="buckets", metric="l2")),
        ("nearkin p-stable tables", nk.LSHIndex(nk.families.PStable(), num_probes=32)),
    ):
        build, _ = seconds(lambda index=index: index.tune(X, recall=0.92))
        explained = index.explain()
        out.append((f"{name} {index.settings_}", build, explained["bytes_filter"], index))
    return out


def peers(X: Any, name: str) -> list[tuple[str, float, float | None, Any]]:
    """Peers with parameters that reach recall 0.9."""
    import faiss
    from sklearn.neighbors import NearestNeighbors

    faiss.omp_set_num_threads(1)
    n, d = X.shape
    out: list[tuple[str, float, float | None, Any]] = []
    for bits, factor in ((512, 20), (1024, 40)) if name != "gist" else ((1024, 60),):

        def lsh(bits: int = bits, factor: int = factor) -> Any:
            mean = X.mean(axis=0)
            codes = faiss.IndexLSH(d, bits, True)
            refine = faiss.IndexRefineFlat(codes)
            refine.k_factor = factor
            refine.train(X - mean)
            refine.add(X - mean)
            return lambda Q: refine.search(Q - mean, K)[1]

        build, ask = seconds(lsh)
        out.append((f"faiss IndexLSH {bits} + refine {factor}x", build, n * bits / 8, ask))

    def graph() -> Any:
        index = faiss.IndexHNSWFlat(d, 16)
        index.hnsw.efConstruction = 80
        index.add(X)
        index.hnsw.efSearch = 48
        return lambda Q: index.search(Q, K)[1]

    build, ask = seconds(graph)
    out.append(("faiss HNSW 16, ef 48", build, n * 16 * 2 * 4.0, ask))
    build, model = seconds(lambda: NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X))
    out.append(("scikit-learn brute", build, 0, lambda Q: model.kneighbors(Q, return_distance=False)))
    return out


def nearpy(X: Any) -> tuple[str, float, None, Any]:
    """NearPy with permuted random binary projections, which reach most."""
    from nearpy import Engine
    from nearpy.distances import EuclideanDistance
    from nearpy.filters import NearestFilter
    from nearpy.hashes import RandomBinaryProjections

    mean = X.mean(axis=0)

    def make() -> Any:
        hashes = [RandomBinaryProjections(f"t{i}", 5, rand_seed=i) for i in range(10)]
        engine = Engine(X.shape[1], lshashes=hashes, distance=EuclideanDistance(), vector_filters=[NearestFilter(K)])
        for row, vector in enumerate(X - mean):
            engine.store_vector(vector, row)
        return engine

    build, engine = seconds(make)

    def ask(Q: Any) -> Any:
        return [[row for _, row, _ in engine.neighbours(q)] for q in Q - mean]

    return "NearPy 10 x 5 bits", build, None, ask


def real(data: Any) -> dict[str, Any]:
    """The shared vectors."""
    out = {}
    for name, file in SETS.items():
        z = np.load(data / f"{file}.npz")
        X, Q = z["base"].astype(np.float32), z["queries"].astype(np.float32)
        true = z["l2_distances"].astype(np.float64)
        print(name, X.shape)
        lines = [measured("BLAS brute force", 0, 0, brute(X), Q, X, true)]
        for label, build, size, index in nearkins(X, 512 if name == "gist" else 256):
            lines.append(measured(label, build, size, lambda q, i=index: rows_of(i.nearest(q, K)), Q, X, true))
        for label, build, size2, ask in peers(X, name):
            lines.append(measured(label, build, size2, ask, Q, X, true))
        if name in ("sift", "mnist"):
            label, build, _, ask = nearpy(X)
            lines.append(measured(label, build, None, ask, Q[:20], X, true[:20]))
        out[name] = lines
    return out


def million(data: Any) -> list[Any]:
    """SIFT rows plus noise of deviation 4 a coordinate, so that each of 1,000,000 has neighbours."""
    import faiss

    faiss.omp_set_num_threads(1)
    base = np.load(data / "vec_sift_bsds.npz")["base"].astype(np.float32)
    rng = np.random.default_rng(0)
    X = base[rng.integers(0, len(base), 1_000_000)]
    X += rng.normal(0, 4, X.shape).astype(np.float32)
    Q = base[rng.integers(0, len(base), 200)] + rng.normal(0, 4, (200, 128)).astype(np.float32)
    out = []
    for n in (10_000, 100_000, 1_000_000):
        part = X[:n]
        exact = brute(part)
        true = np.empty((len(Q), K))
        for query in range(len(Q)):
            rows = exact(Q[query : query + 1])[0]
            true[query] = np.sort(np.sqrt(((part[rows].astype(np.float64) - Q[query]) ** 2).sum(axis=1)))
        lines = [measured("BLAS brute force", 0, 0, exact, Q, part, true)]
        tables = nk.LSHIndex(
            nk.families.Hyperplane(center=True, orthogonal=True), 2, hashes_per_table=24, num_probes=8, metric="l2"
        )
        codes = nk.LSHIndex(
            nk.families.Hyperplane(256, center=True, orthogonal=True), metric="l2", num_candidates=100, filter="codes"
        )
        for label, index in (("nearkin 2 tables x 24 bits, 8 probes", tables), ("nearkin codes", codes)):
            build, _ = seconds(lambda index=index, part=part: index.fit(part))
            size = index.explain()["bytes_filter"]
            lines.append(measured(label, build, size, lambda q, i=index: rows_of(i.nearest(q, K)), Q, part, true))
        out.append({"n": n, "lines": lines})
    return out


def reached(family: Any, X: Any, Q: Any, true: Any, tables: int, k: int, count: int) -> float:
    """Recall of so many tables."""
    index = nk.LSHIndex(family, tables, hashes_per_table=k, num_probes=count, metric="l2")
    return index.fit(X).recall(Q, true)


def probes(data: Any) -> list[Any]:
    """Tables that reach recall 0.9 with one probe and with many, for the same hashes a table."""
    out = []
    for name, family, k in (("sift", nk.families.Hyperplane(center=True), 12), ("lsa", nk.families.Hyperplane(), 12)):
        z = np.load(data / f"{SETS[name]}.npz")
        X, Q = z["base"].astype(np.float32), z["queries"].astype(np.float32)[:200]
        true = z["l2_distances"].astype(np.float64)[:200, :K]
        for count in (1, 8, 32, 128):
            low, high = 0, 1
            tried: dict[int, float] = {}
            while (tried.setdefault(high, reached(family, X, Q, true, high, k, count))) < 0.9:
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                tried[middle] = reached(family, X, Q, true, middle, k, count)
                low, high = (low, middle) if tried[middle] >= 0.9 else (middle, high)
            out.append({"set": name, "k": k, "probes": count, "tables": high, "recall": tried[high]})
            print(out[-1], flush=True)
    return out


def main() -> None:
    given = arguments(__doc__, ("--part", {"choices": ["real", "million", "probes"], "default": None}))
    nk.set_num_threads(1)
    found: dict[str, Any] = {}
    for name, part in (("probes", probes), ("real", real), ("million", million)):
        if given.part in (None, name):
            found[name] = part(given.data)
    packages = ("numpy", "faiss-cpu", "scikit-learn", "nearpy")
    found_versions = {"nearkin": nk.__version__} | {name: importlib.metadata.version(name) for name in packages}
    label = "vectors" if given.part is None else f"vectors-{given.part}"
    print(save(label, found, versions=found_versions))


if __name__ == "__main__":
    main()
