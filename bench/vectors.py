"""Nearest neighbours of real vectors: nearkin's index beside brute force, graphs, LSH libraries and quantized codes.

    python bench/vectors.py --data ../shared/data [--part PART] [--quick] [--report]

`curves` is what people get: recall against seconds of the clock, single queries from Python and batches, all peers in
one run, as installed and with one thread (`vectors_curves.py`, `vectors_peers.py`; pictures by
`tools/plot_vectors_curves.py`). `million` is the same over a million descriptors of pictures (`vectors_million.py`),
and runs only when it is asked for. `queries` asks queries that are rows, near rows, new, and far from rows
(`vectors_queries.py`), `sparse` asks bags of words beside SciPy (`vectors_sparse.py`), and `padding` compares rotations
of 96 and 784 dimensions (`vectors_padding.py`). The other parts take one thread and CPU time.

Recall@10 counts a row whose distance is at most the tenth true one. Every index is asked one query at a time and in
one batch; microseconds are CPU time of the process per query. Parts: `probes` (tables that one and many probes need),
`tune` (recall wanted, expected, measured on rows, delivered to new queries), `real` (the shared vectors), `growth`
(SIFT rows plus noise, 10,000 to 1,000,000 x 128). Each part is saved into `bench/runs/` when it ends, beside what the
last run has of the rest, and put into docs/benchmarks.md; the growth is drawn by tools/plot_vectors.py. `--quick` takes
small parts of the data and saves nothing; `--report` writes the page from the last run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import gc
import importlib.metadata
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import common
import nearkin as nk
import vectors_curves
import vectors_padding
import vectors_queries
import vectors_sparse
from common import ROOT, arguments, latest, save, splice, table

SETS = {"sift": "vec_sift_bsds", "gist": "vec_cifar10_gist512", "mnist": "vec_mnist10k", "lsa": "vec_20news_lsa96"}
K = 10
RECALL = 0.9
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)
GRAPH = 100_000
"""The most rows that the graph is built for: it takes minutes above."""


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds, and what the call gave."""
    gc.collect()
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def recall_of(found: Any, Q: Any, X: Any, true: Any) -> float:
    """Share of the ten that are as near as the tenth true one; distances are computed here for everybody."""
    good = 0
    for query, ids in enumerate(found):
        rows = np.asarray([row for row in ids if row >= 0][:K], dtype=np.int64)
        far = np.sqrt(((X[rows].astype(np.float64) - Q[query]) ** 2).sum(axis=1))
        good += int((far <= true[query, K - 1] * (1 + 1e-5) + 1e-6).sum())
    return good / (K * len(found))


def measured(name: str, build: float, size: float | None, ask: Callable[[Any], Any], Q: Any, X: Any, true: Any) -> Any:
    """One line: recall, microseconds one by one and in a batch, queries per second."""
    ask(Q[:1])
    once = max(seconds(lambda: ask(Q[1:2]))[0], 1e-6)
    count = int(min(len(Q), 200, max(20, 1 / once)))
    best = min(seconds(lambda: [ask(Q[i : i + 1]) for i in range(count)])[0] for _ in range(3)) / count
    batch, found = min((seconds(lambda: ask(Q)) for _ in range(2)), key=lambda item: item[0])
    line = {
        "name": name,
        "recall": round(recall_of(found, Q, X, true), 4),
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
        step = max(1, 4_000_000 // len(X))
        for at in range(0, len(Q), step):
            far = norms - 2 * (Q[at : at + step] @ X.T)
            out.append(np.argpartition(far, K, axis=1)[:, :K])
        return np.concatenate(out)

    return ask


def loaded(data: Path, name: str, quick: bool) -> tuple[Any, Any, Any]:
    """Base rows, queries, true distances (of the part that is taken)."""
    z = np.load(data / f"{SETS[name]}.npz")
    X, Q = z["base"].astype(np.float32), z["queries"].astype(np.float32)
    if not quick:
        return X, Q, z["l2_distances"].astype(np.float64)
    X, Q = X[:4000], Q[:50]
    far = np.sqrt(((X.astype(np.float64)[None] - Q.astype(np.float64)[:, None]) ** 2).sum(axis=2))
    return X, Q, np.sort(far, axis=1)[:, :100]


def nearkins(X: Any, wide: int, balls: bool) -> Iterator[tuple[str, float, float, Any]]:
    """The indexes of nearkin, tuned on the base vectors alone; with balls where the quality table puts them first."""
    made = [
        ("codes", nk.LSHIndex(nk.families.Hyperplane(wide, center=True, orthogonal=True), metric="l2")),
        ("hyperplane tables", nk.LSHIndex(nk.families.Hyperplane(center=True), filter="buckets", metric="l2")),
        ("p-stable tables", nk.LSHIndex(nk.families.PStable(), num_probes=32)),
    ]
    if balls:
        family = nk.families.SphericalHash(wide)
        made.insert(1, ("spherical codes", nk.LSHIndex(family, filter="codes", rank="spherical", metric="l2")))
    for name, index in made:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nk.errors.ConvergenceWarning)
            build, _ = seconds(lambda index=index: index.tune(X, recall=RECALL))
        settings = index.settings_
        what = (
            f"{wide} bits, {settings.num_candidates} ranked"
            if settings.filter == "codes"
            else f"{settings.num_tables} of {settings.hashes_per_table}, {settings.num_probes} probes"
        )
        yield f"nearkin {name} ({what})", build, float(index.explain()["bytes_filter"]), index


def faiss_lsh(X: Any, bits: int) -> Callable[[int], Callable[[Any], Any]]:
    """IndexLSH of faiss on centred vectors: by the factor of ranked candidates, what is asked; 0 ranks none."""
    import faiss

    mean = X.mean(axis=0)
    codes = faiss.IndexLSH(X.shape[1], bits, True)
    refine = faiss.IndexRefineFlat(codes)
    refine.train(X - mean)
    refine.add(X - mean)

    def of(factor: int) -> Callable[[Any], Any]:
        def ask(Q: Any) -> Any:
            refine.k_factor = factor
            return (refine if factor else codes).search(Q - mean, K)[1]

        return ask

    return of


def best_lsh(X: Any, Q: Any, true: Any, quick: bool) -> list[Any]:
    """IndexLSH of faiss with the number of bits whose single query is fastest at recall 0.9, each with the fewest
    ranked that reach it on these very queries; and without ranking.
    """
    lines = []
    for bits in (256, 512) if quick else (256, 512, 1024, 2048):
        build, of = seconds(lambda bits=bits: faiss_lsh(X, bits))
        for factor in (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200):
            ask = of(factor)
            if recall_of(ask(Q), Q, X, true) >= RECALL:
                name = f"faiss IndexLSH {bits} bits, {K * factor} ranked"
                lines.append(measured(name, build, len(X) * bits / 8, ask, Q, X, true))
                break
    best = min(lines, key=lambda line: line["single_us"])
    plain = measured(f"faiss IndexLSH {bits} bits, none ranked", build, len(X) * bits / 8, of(0), Q, X, true)
    return [best, plain]


def faiss_graph(X: Any) -> Callable[[Any], Any]:
    """HNSW of faiss."""
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction = 80
    index.add(X)
    index.hnsw.efSearch = 48
    return lambda Q: index.search(Q, K)[1]


def nearpy(X: Any) -> Callable[[Any], Any]:
    """NearPy: ten tables of five hyperplanes of centred vectors, all of its candidates ranked."""
    from nearpy import Engine
    from nearpy.distances import EuclideanDistance
    from nearpy.filters import NearestFilter
    from nearpy.hashes import RandomBinaryProjections

    mean = X.mean(axis=0)
    hashes = [RandomBinaryProjections(f"t{i}", 5, rand_seed=i) for i in range(10)]
    engine = Engine(X.shape[1], lshashes=hashes, distance=EuclideanDistance(), vector_filters=[NearestFilter(K)])
    for row, vector in enumerate(X - mean):
        engine.store_vector(vector, row)
    return lambda Q: [[row for _, row, _ in engine.neighbours(q)] for q in Q - mean]


def real(data: Path, quick: bool) -> dict[str, Any]:
    """The shared vectors."""
    import faiss
    from sklearn.neighbors import NearestNeighbors

    faiss.omp_set_num_threads(1)
    out = {}
    for name in SETS:
        X, Q, true = loaded(data, name, quick)
        print(name, X.shape)
        lines = [measured("BLAS brute force", 0, 0, brute(X), Q, X, true)]
        for label, build, size, index in nearkins(X, 512 if name == "gist" else 256, name == "gist"):
            lines.append(measured(label, build, size, lambda q, i=index: rows_of(i.nearest(q, K)), Q, X, true))
        lines += best_lsh(X, Q, true, quick)
        if name in ("sift", "mnist"):
            build, ask = seconds(lambda X=X: nearpy(X))
            lines.append(measured("NearPy, 10 tables of 5 bits", build, None, ask, Q[:20], X, true[:20]))
        model = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X)
        ask = lambda q, m=model: m.kneighbors(q, return_distance=False)  # noqa: E731 one of many
        lines.append(measured("scikit-learn brute force", 0, 0, ask, Q[:200], X, true[:200]))
        build, ask = seconds(lambda X=X: faiss_graph(X))
        lines.append(measured("faiss HNSW 16, ef 48", build, len(X) * 16 * 2 * 4.0, ask, Q, X, true))
        out[name] = {"n": len(X), "d": X.shape[1], "lines": lines}
    return out


def growth(data: Path, quick: bool) -> list[Any]:
    """SIFT rows plus noise of deviation 4 a coordinate, so that each of 1,000,000 has neighbours."""
    import faiss

    faiss.omp_set_num_threads(1)
    base = np.load(data / f"{SETS['sift']}.npz")["base"].astype(np.float32)
    rng = np.random.default_rng(0)
    sizes = GROWTH[:2] if quick else GROWTH
    X = base[rng.integers(0, len(base), sizes[-1])]
    X += rng.normal(0, 4, X.shape).astype(np.float32)
    Q = base[rng.integers(0, len(base), 200)] + rng.normal(0, 4, (200, 128)).astype(np.float32)
    out = []
    for n in sizes:
        part = X[:n]
        exact = brute(part)
        near = exact(Q)
        true = np.empty((len(Q), K))
        for query, rows in enumerate(near):
            true[query] = np.sort(np.sqrt(((part[rows].astype(np.float64) - Q[query]) ** 2).sum(axis=1)))
        lines = [measured("BLAS brute force", 0, 0, exact, Q, part, true)]
        plane = nk.families.Hyperplane(center=True, orthogonal=True)
        wide = nk.families.Hyperplane(256, center=True, orthogonal=True)
        for label, index in (
            ("nearkin tables", nk.LSHIndex(plane, 2, hashes_per_table=24, num_probes=8, metric="l2")),
            ("nearkin codes", nk.LSHIndex(wide, metric="l2", num_candidates=100, filter="codes")),
        ):
            build, _ = seconds(lambda index=index, part=part: index.fit(part))
            size = index.explain()["bytes_filter"]
            lines.append(measured(label, build, size, lambda q, i=index: rows_of(i.nearest(q, K)), Q, part, true))
        cells = nk.LSHIndex(
            nk.families.Hyperplane(None, orthogonal="hadamard"), rank="estimate", filter="partitions", metric="l2"
        )
        build, _ = seconds(lambda index=cells, part=part: index.fit(part))
        cells.tune(part, recall=0.95)
        size = cells.explain()["bytes_filter"]
        ask = lambda q, i=cells: rows_of(i.nearest(q, K))  # noqa: E731
        lines.append(measured("nearkin cells, tuned to .95", build, size, ask, Q, part, true))
        build, of = seconds(lambda part=part: faiss_lsh(part, 256))
        lines.append(measured("faiss IndexLSH", build, n * 32.0, of(10), Q, part, true))
        if n <= GRAPH:
            build, ask = seconds(lambda part=part: faiss_graph(part))
            lines.append(measured("faiss HNSW", build, n * 16 * 2 * 4.0, ask, Q, part, true))
        out.append({"n": n, "lines": lines})
    return out


def reached(family: Any, X: Any, Q: Any, true: Any, tables: int, k: int, count: int) -> float:
    """Recall of this many tables."""
    index = nk.LSHIndex(family, tables, hashes_per_table=k, num_probes=count, metric="l2")
    return index.fit(X).recall(Q, true)


def probes(data: Path, quick: bool) -> list[Any]:
    """Tables that reach recall 0.9 with one probe and with many, for the same hashes per table."""
    out = []
    for name, family, k in (("sift", nk.families.Hyperplane(center=True), 12), ("lsa", nk.families.Hyperplane(), 12)):
        X, Q, true = loaded(data, name, quick)
        Q, true = Q[:200], true[:200, :K]
        for count in (1, 8, 32, 128):
            low, high = 0, 1
            tried: dict[int, float] = {}
            while (tried.setdefault(high, reached(family, X, Q, true, high, k, count))) < RECALL:
                low, high = high, 2 * high
            while high - low > max(1, high // 32):
                middle = (low + high) // 2
                tried[middle] = reached(family, X, Q, true, middle, k, count)
                low, high = (low, middle) if tried[middle] >= RECALL else (middle, high)
            out.append({"set": name, "k": k, "probes": count, "tables": high, "recall": tried[high]})
            print(out[-1], flush=True)
    return out


def tune(data: Path, quick: bool) -> list[Any]:
    """Recall that was wanted, that the sample lets expect, that rows of the index measure, and that new queries get."""
    out = []
    for name in ("mnist", "lsa") if quick else SETS:
        X, Q, true = loaded(data, name, quick)
        for label, make in (
            ("codes", lambda: nk.LSHIndex(nk.families.Hyperplane(256, center=True), metric="l2", filter="codes")),
            (
                "hyperplane tables",
                lambda: nk.LSHIndex(nk.families.Hyperplane(center=True), filter="buckets", metric="l2"),
            ),
            ("p-stable tables", lambda: nk.LSHIndex(nk.families.PStable(), num_probes=32)),
        ):
            for wanted in (0.8, 0.9, 0.95) if label == "codes" else (0.9,):
                index = make()
                tuning = asdict(index.tune(X, recall=wanted).tuning)
                found = {key: tuning[key] for key in ("expected_recall", "measured_recall")}
                found["least_recall"] = tuning["recall_lower_bound"]
                got = index.recall(Q, true[:, :K])
                out.append({"set": name, "index": label, "wanted": wanted, **found, "delivered": got})
                print({k: round(v, 4) if isinstance(v, float) else v for k, v in out[-1].items()}, flush=True)
    return out


def queries(data: Path, quick: bool) -> list[Any]:
    """Queries that are rows, near rows, new, and far from rows."""
    return [line for name in SETS for line in vectors_queries.measured(data, name, quick)]


def padding(data: Path, quick: bool) -> list[Any]:
    """Codes of dimensions that are no power of two: padded, and by several smaller rotations."""
    return list(vectors_padding.measured(data, quick))


PARTS: dict[str, Callable[[Path, bool], Any]] = {
    "probes": probes,
    "tune": tune,
    "queries": queries,
    "sparse": vectors_sparse.measured,
    "padding": padding,
    "real": real,
    "growth": growth,
}
MANY = 1_000_000
"""Rows of the part `million`, unless others are asked for."""


def curves(given: Any, names: list[str]) -> None:
    """Recall against time, as users run it; a set that is measured is saved, beside those of the last run."""
    part = "million" if names[0].isdigit() else "curves"
    found: dict[str, Any] = dict(latest("vectors")["results"].get(part, {}))
    for name in names:
        threads = given.threads or list(vectors_curves.THREADS)
        only = given.only or []
        found[name] = vectors_curves.measured(given.data, name, given.rounds, given.queries, threads, only, given.quick)
        if not given.quick:
            keep(part, found)


def keep(part: str, found: Any) -> None:
    """Saves a part beside what the last run has of the rest, and writes the page."""
    packages = ("numpy", "faiss-cpu", "hnswlib", "usearch", "scikit-learn", "nearpy")
    versions = common.versions(*(package for package in packages if installed(package)))
    results = common.with_last("vectors", "results", {part: found})
    order = ["curves", "million", *PARTS]
    print(save("vectors", {"results": {key: results[key] for key in order if key in results}}, versions=versions))
    render(latest("vectors"))


def installed(package: str) -> bool:
    """Whether a package is there."""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def render_curves(results: dict[str, Any], page: Path, file: str) -> None:
    """The pictures, and a table for each set and each number of threads."""
    command = [sys.executable, ROOT / "tools" / "plot_vectors_curves.py", page.parent / "img", file]
    subprocess.run(command, check=True)
    parts = []
    for name, found in results.items():
        title = "descriptors of pictures" if name.isdigit() else name
        parts.append(f"**{title}**, {found['n']:,} × {found['d']}\n\n![Recall against time](img/vectors-{name}.svg)")
        for threads in vectors_curves.THREADS:
            if threads in found:
                rows = table(vectors_curves.HEAD, vectors_curves.summary(found[threads]))
                hundred = table(vectors_curves.HEAD[:5], vectors_curves.summary(found[threads], 100))
                parts.append(f"{threads.capitalize()}:\n\n{rows}\n\nThe 100 nearest, {threads}:\n\n{hundred}")
    splice(page, "vectors-curves", "\n\n".join(parts))


def exponents(growth: list[Any]) -> str:
    """A table of the b with which one query takes about n^b, by least squares over the logarithms."""
    rows = []
    for name in dict.fromkeys(line["name"] for found in growth for line in found["lines"]):
        points = [
            (found["n"], line["single_us"]) for found in growth for line in found["lines"] if line["name"] == name
        ]
        if len(points) > 2:
            sizes, times = np.log(np.array(points)).T
            rows.append([name, f"{np.polyfit(sizes, times, 1)[0]:.2f}", f"{min(points)[0]:,} to {max(points)[0]:,}"])
    return "The exponent b of n, where one query takes about n^b:\n\n" + table(["", "b", "rows"], rows)


def render(run: dict[str, Any]) -> None:
    """Puts the tables into docs/benchmarks.md."""
    results = run["results"]
    page = ROOT / "docs" / "benchmarks.md"
    head = ["", "recall@10", "µs, one query", "× brute force", "µs, batch", "× batch", "build, s", "MB"]

    def body(lines: list[Any]) -> list[list[Any]]:
        base = lines[0]
        return [
            [
                line["name"],
                f"{line['recall']:.3f}",
                f"{line['single_us']:,.0f}",
                f"{base['single_us'] / line['single_us']:.1f}",
                f"{line['batch_us']:,.0f}",
                f"{base['batch_us'] / line['batch_us']:.2f}",
                f"{line['build_s']:.1f}",
                "" if line["mb"] is None else f"{line['mb']:.1f}",
            ]
            for line in lines
        ]

    if many := {**results.get("curves", {}), **results.get("million", {})}:
        render_curves(many, page, run["file"])
    if "real" in results:
        parts = [
            f"**{name}**, {found['n']:,} × {found['d']}\n\n" + table(head, body(found["lines"]))
            for name, found in results["real"].items()
        ]
        splice(page, "vectors-real", "\n\n".join(parts))
    if "growth" in results:
        parts = [f"**{found['n']:,} × 128**\n\n" + table(head, body(found["lines"])) for found in results["growth"]]
        picture = page.parent / "img" / "vectors.svg"
        subprocess.run([sys.executable, ROOT / "tools" / "plot_vectors.py", picture, run["file"]], check=True)
        parts.insert(0, "![Time of a query as the number of vectors grows](img/vectors.svg)")
        parts.append(exponents(results["growth"]))
        splice(page, "vectors-growth", "\n\n".join(parts))
    if "probes" in results:
        rows = [[r["set"], r["probes"], r["tables"], f"{r['recall']:.3f}"] for r in results["probes"]]
        splice(page, "vectors-probes", table(["", "probes", "tables", "recall@10"], rows))
    if "tune" in results:
        rows = [
            [f"{r['set']}, {r['index']}", r["wanted"]]
            + [f"{r[key]:.3f}" for key in ("expected_recall", "measured_recall", "least_recall", "delivered")]
            for r in results["tune"]
        ]
        names = ["", "wanted", "expected", "measured on rows", "less two errors", "new queries"]
        splice(page, "vectors-tune", table(names, rows))
    if "queries" in results:
        rows = [
            [
                r["set"],
                r["queries"],
                r["index"],
                f"{r['recall']:.3f}",
                f"{r['single_us']:,.0f}",
                f"{r['batch_us']:,.0f}",
            ]
            for r in results["queries"]
        ]
        head = ["", "queries", "index", "recall@10", "µs, one query", "µs, batch"]
        splice(page, "vectors-queries", table(head, rows))
    if "sparse" in results:
        rows = [
            [r["name"], f"{r['recall']:.3f}"] + [f"{r[key]:,.0f}" for key in ("single_us", "batch_us")]
            for r in results["sparse"]
        ]
        splice(page, "vectors-sparse", table(["", "recall@10", "µs, one query", "µs, batch"], rows))
    if "padding" in results:
        names = ("set", "dimensions", "rotation", "bits", "error", "rows")
        rows = [[f"{r[name]:,.1f}" if name == "rows" else str(r[name]) for name in names] for r in results["padding"]]
        head = ["", "dimensions", "rotation", "bits", "error of the cosine", "rows to rank"]
        splice(page, "vectors-padding", table(head, rows))


def main() -> None:
    given = arguments(
        __doc__,
        ("--part", {"choices": ["curves", "million", *PARTS], "default": None}),
        ("--quick", {"action": "store_true"}),
        ("--sets", {"choices": list(SETS), "nargs": "+", "default": list(SETS), "help": "of curves"}),
        ("--only", {"nargs": "+", "help": "indexes of curves and the million, by how their names begin"}),
        ("--threads", {"choices": list(vectors_curves.THREADS), "nargs": "+", "help": "of curves"}),
        ("--rows", {"type": int, "default": MANY, "help": "of the million"}),
        ("--rounds", {"type": int, "default": 5, "help": "of curves"}),
        ("--queries", {"type": int, "default": 1000, "help": "of curves: at most so many"}),
    )
    if given.report is not None:
        render(latest("vectors", given.report))
        return
    if given.part in (None, "curves"):
        curves(given, given.sets)
    if given.part == "million":
        curves(given, [str(given.rows)])
    nk.set_num_threads(1)
    for name, part in PARTS.items():
        if given.part in (None, name):
            found = part(given.data, given.quick)
            if not given.quick:
                keep(name, found)


if __name__ == "__main__":
    main()
