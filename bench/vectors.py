"""Nearest neighbours of real vectors: recall against time, compared with graphs, quantized codes and brute force.

    python bench/vectors.py --data ../shared/data [--part PART] [--quick] [--report]

- `curves` is what users get: recall against wall time, single queries from Python and batches, all peers in one run, as
  installed and with one thread. Each set and thread setting runs in a child process, which builds all indexes and then
  goes through all of them and all settings in rounds; the minimum of the rounds is kept. "As installed" leaves the
  number of threads to each package; "one thread" sets the environment (`OMP_NUM_THREADS=1` and so on) for all of them.
- `million` is the same for a million descriptors of pictures and runs only on request. They are SIFT descriptors of
  pictures that are rotated, scaled and mirrored: a neighbour is the same corner in another view, and equal rows are
  removed. The queries come from views that no row comes from. Pictures are those in `NEARKIN_PICTURES`, or the two of
  scikit-learn; needs opencv-python-headless.
- `queries` uses queries that are rows, near rows, new, and far from rows. Each index is set for recall 0.95 without
  them.
- `sparse` compares codes of bags of words with exact products by SciPy.
- `growth` uses SIFT rows plus noise, 10,000 to 1,000,000 x 128; one thread, CPU time.
- `crossover` measures from how many vectors on tables are faster than a scan of codes (docs/theory/tables-or-codes.md).

Recall@k counts a row whose distance is at most the true k-th one. Each part is saved when it ends, with what the last
run has of the others. `--quick` uses small parts of the data and saves nothing.
"""

from __future__ import annotations

import os
import sys

if "--child" not in sys.argv:  # A child has the threads that its parent set.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import gc
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

import common
import nearkin as nk

SETS = {"sift": "vec_sift_bsds", "gist": "vec_cifar10_gist512", "mnist": "vec_mnist10k", "lsa": "vec_20news_lsa96"}
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)
GRAPH = 100_000


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def measure_index(
    name: str, build: float, size: float | None, ask: Callable[[Any], Any], Q: Any, X: Any, true: Any
) -> Any:
    """Return one row: recall, microseconds one by one and in a batch, queries per second."""
    ask(Q[:1])
    once = max(seconds(lambda: ask(Q[1:2]))[0], 1e-6)
    count = int(min(len(Q), 200, max(20, 1 / once)))
    best = min(seconds(lambda: [ask(Q[i : i + 1]) for i in range(count)])[0] for _ in range(3)) / count
    batch, result = min((seconds(lambda: ask(Q)) for _ in range(2)), key=lambda item: item[0])
    line = {
        "name": name,
        "recall": round(recall_at(result, Q, X, true, K), 4),
        "single_us": round(best * 1e6, 1),
        "batch_us": round(batch / len(Q) * 1e6, 1),
        "qps_single": round(1 / best),
        "build_s": round(build, 3),
        "mb": None if size is None else round(size / 1e6, 2),
    }
    print(line, flush=True)
    return line


def brute(X: Any) -> Callable[[Any], Any]:
    norms = np.einsum("ij,ij->i", X, X)

    def ask(Q: Any) -> Any:
        if len(Q) == 1:
            far = norms - 2 * (X @ Q[0])
            near = np.argpartition(far, K)[:K]
            return near[np.argsort(far[near])][None]
        out = []
        step = max(1, 4_000_000 // len(X))
        for at in range(0, len(Q), step):
            far = norms - 2 * (Q[at : at + step] @ X.T)
            out.append(np.argpartition(far, K, axis=1)[:, :K])
        return np.concatenate(out)

    return ask


def exponents(growth: list[Any]) -> str:
    rows = []
    for name in dict.fromkeys(line["name"] for results in growth for line in results["lines"]):
        points = [
            (results["n"], line["single_us"]) for results in growth for line in results["lines"] if line["name"] == name
        ]
        if len(points) > 2:
            sizes, times = np.log(np.array(points)).T
            rows.append([name, f"{np.polyfit(sizes, times, 1)[0]:.2f}", f"{min(points)[0]:,} to {max(points)[0]:,}"])
    return "The exponent b of n; one query takes about n^b:\n\n" + common.table(["", "b", "rows"], rows)


K = 10
KS = (10, 100)
SINGLE, AT_ONCE = 120, 20
RECALLS = (0.95, 0.99)
ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
THREADS: dict[str, dict[str, str]] = {"as installed": {}, "one thread": ONE}
SLOW = 0.02


def load_set(data: Path, name: str, quick: bool) -> tuple[Any, Any, Any, str]:
    """Return rows, queries, the true distances of the hundred nearest, and the dtype of the stored rows."""
    if name not in SETS:
        return *picture_descriptors(int(name), quick), "uint8"
    z = np.load(data / f"{SETS[name]}.npz")
    own = str(z["base"].dtype)
    X, Q, true = (z[key].astype(np.float32) for key in ("base", "queries", "l2_distances"))
    if quick:
        X, Q = X[:4000], Q[:50]
        return X, Q, nearest_distances(X, Q, max(KS)), own
    return X, Q, true.astype(np.float64), own


def nearest_distances(X: Any, Q: Any, k: int) -> Any:
    """Return the true distances of the nearest: a matrix product selects, sums of squares give the value."""
    norms = np.einsum("ij,ij->i", X, X)
    true = np.empty((len(Q), k))
    step = max(1, 50_000_000 // len(X))
    for at in range(0, len(Q), step):
        part = Q[at : at + step]
        near = np.argpartition(norms - 2 * (part @ X.T), 2 * k, axis=1)[:, : 2 * k]
        for query, rows in enumerate(near, at):
            true[query] = np.sort(np.sqrt(((X[rows].astype(np.float64) - Q[query]) ** 2).sum(axis=1)))[:k]
    return true


def recall_at(result: Any, Q: Any, X: Any, true: Any, k: int) -> float:
    """Return the share of the k results that are as near as the true k-th one."""
    good = 0
    for query, ids in enumerate(result):
        rows = np.unique(np.asarray([row for row in ids if 0 <= row < len(X)][:k], dtype=np.int64))
        far = np.sqrt(((X[rows].astype(np.float64) - Q[query]) ** 2).sum(axis=1))
        good += int((far <= true[query, k - 1] * (1 + 1e-5) + 1e-6).sum())
    return good / (k * len(result))


def clock(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def pareto_front(points: list[dict[str, Any]], key: str) -> list[tuple[float, float]]:
    """Return (recall, time) of the points that none beats in both, by rising recall."""
    results: list[tuple[float, float]] = []
    for recall, seconds in sorted(((p["recall"], p[key]) for p in points), key=lambda p: (-p[0], p[1])):
        if not results or seconds < results[-1][1]:
            results.append((recall, seconds))
    return results[::-1]


def at(points: list[dict[str, Any]], target: float, key: str, k: int = 10) -> float | None:
    """Return the microseconds at a recall, or None if the curve does not reach it.

    Log time is interpolated linearly between two points of the front. If the curve begins above the recall, the time
    is that of its first point.
    """
    line = pareto_front([point for point in points if point["k"] == k], key)
    above = next((position for position, (recall, _) in enumerate(line) if recall >= target), None)
    if above is None:
        return None
    (high, slow) = line[above]
    if above == 0 or high == target:
        return slow
    low, quick = line[above - 1]
    share = (target - low) / (high - low)
    return math.exp((1 - share) * math.log(quick) + share * math.log(slow))


def measure_set(
    data: Path, name: str, rounds: int, queries: int, threads: list[str], only: list[str], quick: bool
) -> dict[str, Any]:
    """Measure a set with each number of threads, in child processes."""
    environment = {name: value for name, value in os.environ.items() if name not in ONE}
    out: dict[str, Any] = {}
    for each in threads:
        command = [sys.executable, __file__, "--child", name, "--data", str(data), "--rounds", str(rounds)]
        command += ["--queries", str(queries), *(["--only", *only] if only else []), *["--quick"] * quick]
        done = subprocess.run(command, env={**environment, **THREADS[each]}, stdout=subprocess.PIPE, check=True)
        result = json.loads(done.stdout)
        out |= {"n": result["n"], "d": result["d"], "queries": result["queries"], each: result["lines"]}
    return out


def summary(lines: list[dict[str, Any]], k: int = 10) -> list[list[Any]]:
    """Build table rows: microseconds at both recalls, relative to the better HNSW of faiss."""

    def graph(recall: float, key: str) -> float | None:
        times = [at(line["points"], recall, key, k) for line in lines if line["name"].startswith("faiss HNSW")]
        return min((each for each in times if each is not None), default=None)

    rows = []
    for line in lines:
        row: list[Any] = [line["name"]]
        for key in ("single_us", "batch_us"):
            for recall in RECALLS:
                own, best = at(line["points"], recall, key, k), graph(recall, key)
                ratio = "" if own is None or best is None else f" ({own / best:.2f})"
                row.append("–" if own is None else f"{own:,.0f}{ratio}")
        if k == 10:
            row += [f"{line['build_s']:,.1f}", f"{line['mb']:,.1f}"]
        if any(cell != "–" for cell in row[1:]):
            rows.append(row)
    return rows


HEAD = ["", "one, .95", "one, .99", "batch, .95", "batch, .99", "build, s", "MB"]
SUFFIXES = {".jpg", ".jpeg", ".png"}


def pictures() -> list[Any]:
    import cv2

    if folder := os.environ.get("NEARKIN_PICTURES"):
        paths = sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() in SUFFIXES)
        return [cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) for path in paths]
    from sklearn.datasets import load_sample_images

    return [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in load_sample_images().images]


def random_view(image: Any, rng: Any) -> Any:
    """Rotate, scale, shear, mirror, brighten and crop a picture."""
    import cv2

    height, width = image.shape
    angle, scale, shear = rng.uniform(0, 2 * np.pi), rng.uniform(0.6, 1.5), rng.uniform(-0.2, 0.2)
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turn = turn @ np.array([[rng.choice([-1, 1]), shear], [0, 1]])
    middle = np.array([width, height]) / 2 + rng.uniform(-0.2, 0.2, 2) * (width, height)
    moved = np.column_stack([turn, np.array([width, height]) / 2 - turn @ middle])
    result = cv2.warpAffine(image, moved, (width, height), borderMode=cv2.BORDER_REFLECT)
    return np.clip(result * rng.uniform(0.7, 1.3), 0, 255).astype(np.uint8)


def descriptors(seed: int) -> Iterator[Any]:
    import cv2

    images, rng, sift = pictures(), np.random.default_rng(seed), cv2.SIFT_create()
    while True:
        for image in images:
            _, result = sift.detectAndCompute(random_view(image, rng), None)
            if result is not None:
                yield result.astype(np.uint8)


def draw_descriptors(seed: int, count: int) -> Any:
    """Return `count` distinct descriptors."""
    parts: list[Any] = []
    stored = 0
    for part in descriptors(seed):
        parts.append(part)
        stored += len(part)
        if stored >= count:
            rows = np.unique(np.concatenate(parts), axis=0)
            if len(rows) >= count:
                return np.random.default_rng(seed).permutation(rows)[:count].astype(np.float32)
            parts, stored = [rows], len(rows)
    raise AssertionError("views end")


def picture_descriptors(count: int, quick: bool) -> tuple[Any, Any, Any]:
    X, Q = draw_descriptors(1, 20_000 if quick else count), draw_descriptors(2, 50 if quick else 1000)
    return X, Q, nearest_distances(X, Q, 100)


EF = (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
FACTORS = (1, 2, 4, 8, 16, 32, 64, 128)
LISTS = (1, 2, 4, 8, 16, 32, 64, 128)
RANKED = (10, 40)
TUNED = (0.9, 0.95, 0.99)
TARGETS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
PROBES = (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512)


@dataclass
class Index:
    """A built index: its settings from low to high recall, its query function, and the size of its file with vectors.

    `ask` is what is timed and returns what users get; `rows` converts that to row numbers by query.
    """

    knobs: Sequence[Any]
    ask: Callable[[Any, Any, int], Any]
    size: int
    dtype: str = "float32"
    """The type of the queries."""
    rows: Callable[[Any], Any] = np.asarray


Maker = Iterator[tuple[str, Callable[[], Index]]]


def saved_size(save: Callable[[str], object]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        save(str(path))
        return path.stat().st_size


def ids_by_query(hits: Any) -> list[Any]:
    return np.split(hits.ids, hits.offsets[1:-1])


def nearkins(X: Any, own: str) -> Maker:
    """Yield the indexes of nearkin.

    Codes and tables are tuned to a recall, each setting a separate index. Estimates are swept by the recall that the
    bound guarantees and, with partitions, by the number visited; queries are float32 and the dtype of the stored rows.
    """

    def sweep(make: Callable[[], Any]) -> Index:
        indexes = {recall: make() for recall in TUNED}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nk.errors.ConvergenceWarning)
            for recall, index in indexes.items():
                index.tune(X, recall=recall)
        size = saved_size(indexes[0.95].save)
        return Index(TUNED, lambda recall, Q, k: indexes[recall].nearest(Q, k), size, rows=ids_by_query)

    bits, plane = 512 if X.shape[1] >= 512 else 256, nk.families.Hyperplane
    wide = lambda: plane(bits, center=True, orthogonal=True)  # noqa: E731
    yield "nearkin codes", lambda: sweep(lambda: nk.LSHIndex(wide(), metric="l2", filter="codes"))
    yield "nearkin tables", lambda: sweep(lambda: nk.LSHIndex(plane(center=True), metric="l2", filter="buckets"))
    for kind in ("codes", "partitions"):
        for dtype in dict.fromkeys(("float32", own)):
            yield f"nearkin estimate, {kind}, {dtype}", lambda kind=kind, dtype=dtype: estimate(kind, X.astype(dtype))


def estimate(kind: str, X: Any) -> Index:
    index = nk.LSHIndex(
        nk.families.Hyperplane(None, orthogonal="hadamard"), rank="estimate", filter=kind, metric="l2"
    ).fit(X)
    size, knobs = saved_size(index.save), [(target, None) for target in TARGETS]
    if kind == "partitions":
        knobs = [
            (target, probes)
            for target in TARGETS[1::2]
            for probes in PROBES
            if probes <= index.settings_.num_partitions
        ]

    def ask(knob: Any, Q: Any, k: int) -> Any:
        return index.nearest(Q, k, recall=knob[0], num_probes=knob[1])

    return Index(knobs, ask, size, str(X.dtype), ids_by_query)


def faiss_size(index: Any) -> int:
    import faiss

    return int(faiss.serialize_index(index).nbytes)


def graphs(X: Any) -> Maker:
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

        return Index(EF, ask, saved_size(index.save_index))

    yield "hnswlib", build


def usearches(X: Any) -> Maker:
    from usearch.index import Index as Graph

    threads = 1 if os.environ.get("OMP_NUM_THREADS") == "1" else 0

    def build() -> Index:
        index = Graph(ndim=X.shape[1], metric="l2sq", dtype="f32")
        index.add(np.arange(len(X)), X, threads=threads)

        def ask(ef: int, Q: Any, k: int) -> Any:
            index.expansion_search = ef
            return np.atleast_2d(index.search(Q, k, threads=threads).keys).astype(np.int64)

        return Index(EF, ask, saved_size(index.save))

    yield "USearch", build


def scans(X: Any) -> Maker:
    """Yield codes of faiss that are scanned with re-ranking by the exact distance, and brute force."""
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
    yield f"faiss IVF{lists} PQ fast scan", lambda: refined(faiss_index(f"IVF{lists},PQ{dim // 2}x4fs", dim), True)
    for name in ("RaBitQfs", "RaBitQ"):
        with_lists = f"IVF{lists},{name}"
        try:
            faiss.index_factory(dim, with_lists)
        except RuntimeError:
            continue
        yield f"faiss IVF{lists} {name}", lambda with_lists=with_lists: refined(faiss_index(with_lists, dim), True)
        break


def faiss_index(description: str, dim: int) -> Any:
    import faiss

    return faiss.index_factory(dim, description)


def curves(X: Any, Q: Any, true: Any, rounds: int, own: str, only: tuple[str, ...]) -> list[dict[str, Any]]:
    """Measure each index whose name begins with one of `only`: its build and its points."""
    lines, indexes, points = [], [], []
    for name, build in all_indexes(X, own):
        if not name.startswith(only):
            continue
        start, cpu = time.perf_counter(), time.process_time()
        index = build()
        line = {
            "name": name,
            "build_s": round(time.perf_counter() - start, 3),
            "build_cpu_s": round(time.process_time() - cpu, 3),
            "mb": round(index.size / 1e6, 2),
            "points": [],
        }
        if name.startswith(("nearkin codes", "nearkin tables")):
            # A build for each knob.
            line["build_s"], line["build_cpu_s"] = (
                round(line[key] / len(index.knobs), 3) for key in ("build_s", "build_cpu_s")
            )
        print({key: line[key] for key in ("name", "build_s", "mb")}, file=sys.stderr, flush=True)
        lines.append(line)
        indexes.append(index)
    if not lines:
        raise SystemExit(f"no index has a name that begins with {' or '.join(only)}")
    for line, index in zip(lines, indexes, strict=True):
        for k in KS:
            for knob in index.knobs:
                recall = recall_at(index.rows(index.ask(knob, Q.astype(index.dtype), k)), Q, X, true, k)
                point = {"k": k, "knob": knob, "recall": round(recall, 4), "single_us": math.inf, "batch_us": math.inf}
                line["points"].append(point)
                points.append((point, index))
                # A higher setting changes nothing; with two settings the second one restarts.
                if recall > 0.9995 and not isinstance(knob, tuple):
                    break
    typed = {dtype: Q.astype(dtype) for dtype in {index.dtype for index in indexes}}
    counts = [min(AT_ONCE, SINGLE - at, len(Q) - at) for at in range(0, min(SINGLE, len(Q)), AT_ONCE)]
    lowest = [np.full(len(counts), np.inf) for _ in points]
    for _ in range(rounds):
        gc.collect()
        for (point, index), low in zip(points, lowest, strict=True):
            if math.inf > low[0] > SLOW * AT_ONCE:
                continue
            k, knob, ask = point["k"], point["knob"], index.ask
            queries = typed[index.dtype]
            ask(knob, queries[:1], k)
            for position in range(len(counts)):
                part = queries[position * AT_ONCE : position * AT_ONCE + counts[position], None]
                each = clock(lambda ask=ask, knob=knob, k=k, part=part: [ask(knob, q, k) for q in part])
                low[position] = min(low[position], each)
            point["single_us"] = round(1e6 * float(low.sum()) / sum(counts), 1)
            batch = clock(lambda ask=ask, knob=knob, k=k, queries=queries: ask(knob, queries, k))
            point["batch_us"] = min(point["batch_us"], round(1e6 * batch / len(Q), 1))
    return lines


def query_kinds(X: Any, Q: Any) -> Iterator[tuple[str, Any]]:
    """Yield rows; rows moved by 0.3 of the distance to the nearest other row; the set's own queries; and points three
    deviations from the mean, with shuffled coordinates.
    """
    rng = np.random.default_rng(20)
    rows = X[rng.choice(len(X), min(500, len(X)), replace=False)]
    yield "rows", rows
    noise = rng.standard_normal(rows.shape)
    noise *= 0.3 * nearest_distances(X, rows, 2)[:, 1:] / np.linalg.norm(noise, axis=1, keepdims=True)
    yield "near rows", (rows + noise).astype(np.float32)
    yield "new", Q[:500]
    mean = X.mean(axis=0)
    yield "far from rows", (mean + 3 * rng.permuted(Q[:500] - mean, axis=1)).astype(np.float32)


def query_indexes(X: Any, Q: Any, true: Any) -> Iterator[tuple[str, Any]]:
    """Yield each index with the function that answers queries."""
    for kind in ("codes", "partitions"):
        family = nk.families.Hyperplane(None, orthogonal="hadamard")
        index = nk.LSHIndex(family, rank="estimate", filter=kind, metric="l2", recall=TARGET)
        if kind == "partitions":
            index.tune(X, recall=TARGET)
        else:
            index.fit(X)
        yield f"nearkin estimate, {kind}", lambda Q, index=index: ids_by_query(index.nearest(Q, K))
    name, build = next(graphs(X))
    graph = build()
    for ef in EF:
        if recall_at(graph.ask(ef, Q, K), Q, X, true, K) >= TARGET:
            yield f"{name}, efSearch {ef}", lambda Q, ef=ef: graph.ask(ef, Q, K)
            return
    raise SystemExit(f"{name} does not reach recall {TARGET}")


BITS = 1024
CANDIDATES = (500, 1000, 2000)


def bag_of_words(data: Path) -> tuple[Any, Any, Any]:
    """Return unit rows, the row numbers of the queries, and their true neighbours among all others."""
    z = np.load(data / "sparse_20news_bow.npz")
    X = csr_matrix((z["counts"].astype(np.float64), z["indices"], z["indptr"]), shape=tuple(z["shape"]))
    rows, terms = X.shape
    weights = np.log(rows / np.bincount(X.indices, minlength=terms))
    X.data = (1 + np.log(X.data)) * weights[X.indices]
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    X.sort_indices()
    return X, z["query_rows"], z["cos_neighbors"][:, :K]


def largest(values: Any, ids: Any = None) -> Any:
    near = np.argpartition(values, -K - 1)[-K - 1 :]
    near = near[np.argsort(-values[near])]
    return near if ids is None else ids[near]


def products(X: Any, requested: Any) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Yield SciPy's forms of the exact search: one query at a time, and as a batch."""
    for kind in (csr_matrix, csr_array):
        for dtype in (np.float64, np.float32):
            rows = kind(X, dtype=dtype)
            across = kind(rows.T)
            batch = rows[requested]
            queries = [batch[[i]] for i in range(len(requested))]

            def ask(queries: Any = queries, across: Any = across) -> Any:
                return [largest((query @ across).toarray().ravel()) for query in queries]

            def ask_sparse(queries: Any = queries, across: Any = across) -> Any:
                result = [query @ across for query in queries]
                return [largest(item.data, item.indices) for item in result]

            def ask_all(batch: Any = batch, across: Any = across) -> Any:
                result = batch @ across
                parts = [slice(*ends) for ends in zip(result.indptr, result.indptr[1:], strict=False)]
                return [largest(result.data[part], result.indices[part]) for part in parts]

            name = f"{kind.__name__}, {np.dtype(dtype).name}"
            yield f"{name}, dense sums", ask, ask_all
            yield f"{name}, sparse sums", ask_sparse, ask_all


def codes(X: Any, requested: Any) -> Iterator[tuple[str, float, Callable[[], Any], Callable[[], Any]]]:
    index = nk.LSHIndex(nk.families.SparseSimHash(BITS), filter="codes")
    build = clock(lambda: index.fit(X))
    batch = X[requested]
    queries = [batch[[i]] for i in range(len(requested))]
    index.tune(X, recall=0.9)
    for count in sorted((*CANDIDATES, index.settings_.num_candidates)):
        name = f"{count} candidates" if count in CANDIDATES else f"{count} candidates (`tune`, recall=0.9)"

        def ask(count: int = count) -> Any:
            return [index.nearest(query, K + 1, num_candidates=count).ids for query in queries]

        def ask_all(count: int = count) -> Any:
            hits = index.nearest(batch, K + 1, num_candidates=count)
            return np.split(hits.ids, hits.offsets[1:-1])

        yield f"nearkin, {BITS} bits, {name}", build, ask, ask_all


def twins(n: int, share: float) -> tuple[Any, Any]:
    """Return vectors with twins, and queries. Random vectors have a distance of sqrt(2 d), twins a `share` of it."""
    rng = np.random.default_rng(n)
    half = rng.standard_normal((n // 2, 64)).astype(np.float32)
    noise = share * np.sqrt(2, dtype=np.float32)
    twins = half + noise * rng.standard_normal(half.shape).astype(np.float32)
    picked = half[rng.integers(0, n // 2, 1000)]
    return np.concatenate([half, twins]), picked + noise * rng.standard_normal(picked.shape).astype(np.float32)


def nearest_row(X: Any, Q: Any) -> Any:
    norms = (X * X).sum(1)
    return np.concatenate([(norms - 2 * Q[at : at + 50] @ X.T).argmin(1) for at in range(0, len(Q), 50)])


def measure_crossover(n: int, share: float) -> dict[str, Any]:
    """Measure one size and one share of the distance of random pairs."""
    X, Q = twins(n, share)
    truth = nearest_row(X, Q)
    results: dict[str, Any] = {"n": n, "share": share, "all": {"us": query_us(lambda: nearest_row(X, Q))}}
    ways: dict[str, dict[str, Any]] = {"tables": {"num_probes": 8}, "codes": {"filter": "codes"}}
    for way, options in ways.items():
        family = nk.families.Hyperplane(bits=256, seed=1, orthogonal=True)
        index = nk.LSHIndex(family, metric="l2", **options)
        settings = index.tune(X, recall=0.9, k=1)
        hits = index.nearest(Q, k=1)
        first = np.full(1000, -1)
        there = np.diff(hits.offsets) > 0
        first[there] = hits.ids[hits.offsets[:-1][there]]
        results[way] = {
            "us": query_us(lambda index=index: index.nearest(Q, k=1)),
            "recall": float((first == truth).mean()),
            "bytes": index.explain()["bytes_filter"] / n,
            "num_tables": settings.num_tables,
            "hashes_per_table": settings.hashes_per_table,
        }
    print(results, flush=True)
    return results


MAKERS: dict[str, Callable[[Any], Maker]] = {
    "faiss-cpu": graphs,
    "hnswlib": hnswlibs,
    "usearch": usearches,
    "faiss-cpu codes": scans,
}


def all_indexes(X: Any, own: str) -> Maker:
    """Yield every index, nearkin's first; `own` is the dtype of the stored rows."""
    yield from nearkins(X, own)
    for name, maker in MAKERS.items():
        if common.PEERS[name.split()[0]].installed:
            yield from maker(X)
        else:
            print(f"{name} is not installed: left out", flush=True, file=sys.stderr)


TARGET = 0.95


def query_us(call: Callable[[], Any]) -> float:
    return 1e6 * common.min_cpu(call) / 1000


def measure_queries(data: Path, quick: bool) -> list[dict[str, Any]]:
    """Measure each kind of query on each index: recall, and microseconds one by one and in a batch."""
    lines = []
    for name in SETS:
        X, Q, true, _ = load_set(data, name, quick)
        batches = [(kind, batch, nearest_distances(X, batch, K)) for kind, batch in query_kinds(X, Q)]
        for index, ask in query_indexes(X, Q, true):
            for kind, batch, distances in batches:
                hits, queries = ask(batch), batch[:100, None]
                single = min(clock(lambda ask=ask, queries=queries: [ask(q) for q in queries]) for _ in range(3))
                seconds = min(clock(lambda ask=ask, batch=batch: ask(batch)) for _ in range(3))
                line = {"set": name, "queries": kind, "index": index}
                line |= {"recall": round(recall_at(hits, batch, X, distances, K), 4)}
                line |= {"single_us": round(1e6 * single / len(queries), 1)}
                line |= {"batch_us": round(1e6 * seconds / len(batch), 1)}
                print(line, flush=True)
                lines.append(line)
    return lines


def measure_sparse(data: Path, quick: bool) -> list[dict[str, Any]]:
    """Measure SciPy's fastest form, then nearkin: recall, and microseconds of wall time per query."""
    X, queries, true = bag_of_words(data)
    count = 50 if quick else len(queries)
    queries, true = queries[:count], true[:count]

    def recall(hits: Any) -> float:
        own = [[int(row) for row in ids if row != self][:K] for self, ids in zip(queries, hits, strict=True)]
        return float(np.mean([len(set(ids) & set(near)) / K for ids, near in zip(own, true.tolist(), strict=True)]))

    def line(name: str, build: float, ask: Callable[[], Any], ask_all: Callable[[], Any]) -> dict[str, Any]:
        single, batch = (min(clock(call) for _ in range(5)) for call in (ask, ask_all))
        row = {"name": name, "recall": round(recall(ask()), 4), "recall_batch": round(recall(ask_all()), 4)}
        row |= {"single_us": round(1e6 * single / count, 1), "batch_us": round(1e6 * batch / count, 1)}
        return {**row, "build_s": round(build, 3)}

    # The transposed rows are built once, which is not measured.
    exact = [line(f"SciPy, {name}", 0.0, ask, ask_all) for name, ask, ask_all in products(X, queries)]
    best = min(exact, key=lambda row: row["single_us"])
    best["batch_us"] = min(row["batch_us"] for row in exact)
    best["name"] = "SciPy, exact products, fastest form"
    return [best, *(line(*row) for row in codes(X, queries))]


def faiss_lsh(X: Any) -> Callable[[Any], Any]:
    """Build IndexLSH of faiss with 256 bits on centred vectors, 100 candidates ranked."""
    import faiss

    mean = X.mean(axis=0)
    index = faiss.IndexRefineFlat(faiss.IndexLSH(X.shape[1], 256, True))
    index.train(X - mean)
    index.add(X - mean)
    index.k_factor = 10
    return lambda Q: index.search(Q - mean, K)[1]


def measure_growth(data: Path, quick: bool) -> list[Any]:
    """Measure SIFT rows plus noise of deviation 4 per coordinate, so that each of 1,000,000 rows has neighbours."""
    base = np.load(data / f"{SETS['sift']}.npz")["base"].astype(np.float32)
    rng = np.random.default_rng(0)
    sizes = GROWTH[:2] if quick else GROWTH
    X = base[rng.integers(0, len(base), sizes[-1])]
    X += rng.normal(0, 4, X.shape).astype(np.float32)
    Q = base[rng.integers(0, len(base), 200)] + rng.normal(0, 4, (200, 128)).astype(np.float32)
    out = []
    for n in sizes:
        part = X[:n]
        true = nearest_distances(part, Q, K)
        lines = [measure_index("BLAS brute force", 0, 0, brute(part), Q, part, true)]
        plane, wide, whole = (
            nk.families.Hyperplane(center=True, orthogonal=True),
            nk.families.Hyperplane(256, center=True, orthogonal=True),
            nk.families.Hyperplane(None, orthogonal="hadamard"),
        )
        for label, index in (
            ("nearkin tables", nk.LSHIndex(plane, 2, hashes_per_table=24, num_probes=8, metric="l2")),
            ("nearkin codes", nk.LSHIndex(wide, metric="l2", num_candidates=100, filter="codes")),
            ("nearkin partitions", nk.LSHIndex(whole, rank="estimate", filter="partitions", metric="l2")),
        ):
            build, _ = seconds(lambda index=index, part=part: index.fit(part))
            if label == "nearkin partitions":
                index.tune(part, recall=0.95)
            ask = lambda q, index=index: ids_by_query(index.nearest(q, K))  # noqa: E731
            lines.append(measure_index(label, build, index.explain()["bytes_filter"], ask, Q, part, true))
        build, ask = seconds(lambda part=part: faiss_lsh(part))
        lines.append(measure_index("faiss IndexLSH", build, n * 32.0, ask, Q, part, true))
        if n <= GRAPH:
            build, graph = seconds(lambda part=part: next(graphs(part))[1]())
            ask = lambda q, graph=graph: graph.ask(48, q, K)  # noqa: E731
            lines.append(measure_index("faiss HNSW", build, n * 16 * 2 * 4.0, ask, Q, part, true))
        out.append({"n": n, "lines": lines})
    return out


def crossover(data: Path, quick: bool) -> list[Any]:
    """Measure all sizes and shares."""
    sizes = (3_000, 10_000) if quick else (3_000, 10_000, 30_000, 100_000, 300_000)
    return [measure_crossover(n, share) for share in (0.2, 0.4, 0.6) for n in sizes]


PARTS: dict[str, Callable[[Path, bool], Any]] = {
    "queries": measure_queries,
    "sparse": measure_sparse,
    "growth": measure_growth,
    "crossover": crossover,
}


def save_part(part: str, results: Any) -> None:
    """Save a part with what the last run has of the others, and write the pages."""
    versions = common.versions("numpy", "faiss-cpu", "hnswlib", "usearch", "scikit-learn", "scipy")
    merged = common.merge_last("vectors", "results", {part: results})
    print(common.save("vectors", {"results": merged}, versions=versions))
    report(common.latest("vectors"))


def draw(tool: str, *arguments: str) -> None:
    subprocess.run([sys.executable, common.ROOT / "tools" / tool, *arguments], cwd=common.ROOT, check=True)


def report_curves(results: dict[str, Any], file: str) -> None:
    """Draw the pictures, and write a table for each set and each number of threads."""
    draw("plot_vectors_curves.py", "docs/img", file)
    parts = []
    for name, run in results.items():
        title = "descriptors of pictures" if name.isdigit() else name
        parts.append(f"**{title}**, {run['n']:,} × {run['d']}\n\n![Recall against time](img/vectors-{name}.svg)")
        for threads in THREADS:
            if threads in run:
                rows = common.table(HEAD, summary(run[threads]))
                parts.append(f"{threads.capitalize()}:\n\n{rows}")
    common.splice("benchmarks.md", "vectors-curves", "\n\n".join(parts))


def report_growth(results: list[Any], file: str) -> None:
    """Draw the picture, and write a table of microseconds of one query and recall by size."""
    draw("plot_vectors.py", "docs/img/vectors.svg", file)
    names = [line["name"] for line in results[0]["lines"]]
    rows = []
    for name in names:
        lines = [next((line for line in size["lines"] if line["name"] == name), None) for size in results]
        rows.append(
            [name, *("" if line is None else f"{line['single_us']:,.0f} ({line['recall']:.3f})" for line in lines)]
        )
    head = ["µs, one query (recall@10)", *(f"{size['n']:,}" for size in results)]
    parts = ["![Time of a query as the number of vectors grows](img/vectors.svg)", common.table(head, rows)]
    common.splice("benchmarks.md", "vectors-growth", "\n\n".join([*parts, exponents(results)]))


def report(run: dict[str, Any]) -> None:
    """Write the tables of docs/benchmarks.md and docs/theory/tables-or-codes.md."""
    results = run["results"]
    if many := {**results.get("curves", {}), **results.get("million", {})}:
        report_curves(many, run["file"])
    if "growth" in results:
        report_growth(results["growth"], run["file"])
    if "queries" in results:
        cells: dict[tuple[str, str], list[str]] = {}
        for row in results["queries"]:
            cells.setdefault((row["set"], row["index"]), []).append(f"{row['recall']:.3f} ({row['single_us']:,.0f})")
        header = ["recall@10 (µs, one query)", "index", *dict.fromkeys(row["queries"] for row in results["queries"])]
        rows = [[*key, *values] for key, values in cells.items()]
        common.splice("benchmarks.md", "vectors-queries", common.table(header, rows))
    if "sparse" in results:
        rows = [
            [row["name"], f"{row['recall']:.3f}", f"{row['single_us']:,.0f}", f"{row['batch_us']:,.0f}"]
            for row in results["sparse"]
        ]
        header = ["", "recall@10", "µs, one query", "µs, batch"]
        common.splice("benchmarks.md", "vectors-sparse", common.table(header, rows))


def report_crossover(run: dict[str, Any]) -> None:
    """Write the table of docs/theory/tables-or-codes.md."""
    heads = ["share", "vectors", "all, µs", "codes, µs", "tables, µs", "recall of codes", "of tables"]
    rows = [
        [
            row["share"],
            f"{row['n']:,}",
            *(common.ratio(row[way]["us"]) for way in ("all", "codes", "tables")),
            *(f"{row[way]['recall']:.2f}" for way in ("codes", "tables")),
            f"{row['tables']['num_tables']} of {row['tables']['hashes_per_table']}",
        ]
        for row in run["rows"]
    ]
    text = common.table([*heads, "tables of hashes"], rows)
    common.splice("theory/tables-or-codes.md", "crossover", f"{text}\n\n{common.source(run)}")


def run_child(options: Any) -> None:
    """Measure one set, and write the result to standard output as JSON."""
    if os.environ.get("OMP_NUM_THREADS") == "1":
        nk.set_num_threads(1)
    X, Q, true, own = load_set(options.data, options.child, options.quick)
    Q, true = Q[: options.queries], true[: options.queries]
    lines = curves(X, Q, true, 1 if options.quick else options.rounds, own, tuple(options.only or [""]))
    print(json.dumps({"n": len(X), "d": X.shape[1], "queries": len(Q), "lines": lines}))


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--part", {"choices": ["curves", "million", *PARTS], "default": None}),
        ("--quick", {"action": "store_true"}),
        ("--sets", {"choices": list(SETS), "nargs": "+", "default": list(SETS), "help": "sets of the curves"}),
        ("--only", {"nargs": "+", "help": "indexes of curves and million, by the beginning of their names"}),
        ("--threads", {"choices": list(THREADS), "nargs": "+", "default": list(THREADS), "help": "of curves"}),
        ("--rows", {"type": int, "default": 1_000_000, "help": "rows of million"}),
        ("--rounds", {"type": int, "default": 5, "help": "rounds of curves"}),
        ("--queries", {"type": int, "default": 1000, "help": "maximum number of queries of curves"}),
        ("--child", {"help": "a set to measure in this process"}),
    )
    if options.report is not None:
        report(common.latest("vectors", options.report))
        return
    if options.child:
        run_child(options)
        return
    names = [str(options.rows)] if options.part == "million" else options.sets
    if options.part in (None, "curves", "million"):
        part = "million" if options.part == "million" else "curves"
        results = dict(common.latest("vectors")["results"].get(part, {})) if common.runs("vectors") else {}
        for name in names:
            arguments = (options.data, name, options.rounds, options.queries, options.threads, options.only or [])
            results[name] = measure_set(*arguments, options.quick)
            if not options.quick:
                save_part(part, results)
    nk.set_num_threads(1)
    for name, measure in PARTS.items():
        if options.part in (None, name):
            results = measure(options.data, options.quick)
            if options.quick:
                continue
            if name == "crossover":
                common.save("crossover", {"rows": results}, versions=common.versions("numpy"))
                report_crossover(common.latest("crossover"))
            else:
                save_part(name, results)


if __name__ == "__main__":
    main()
