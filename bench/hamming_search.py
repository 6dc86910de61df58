"""Hamming search: queries per CPU second, build time, memory and recall, compared with other packages.

    python bench/hamming_search.py [radius wide pdq top pairs growth]

Without a name all sections run. `--scale 10` divides all sizes.

One thread, CPU seconds of the process, the median of three if a figure takes less than ten seconds. Half of the queries
are planted (a stored fingerprint with 0 to radius bits flipped), half are random. nearkin must return what its scan
returns, and for some queries the scan is checked against a comparison in NumPy with every fingerprint. Recall of a peer
is the share of matches that it returns. Every peer has the settings that suit the task best; faiss's radius is
exclusive, so it gets the radius plus one.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import datetime
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
import nearkin as nk
from nearkin.index.fingerprints import to_bytes

Row = dict[str, Any]


class Section:
    """Rows of one section, printed when they are added."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.rows: list[Row] = []

    def add(self, task: str, who: str, **figures: Any) -> None:
        """Add and print a row."""
        self.rows.append({"task": task, "who": who, **figures})
        shown = [
            f"{key}={value:,.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in figures.items()
        ]
        print(f"{task:40} {who:30} {'  '.join(shown)}", flush=True)

    def size(self, n: int) -> int:
        """Return `n`, divided by `--scale`."""
        return max(20_000, n // self.options.scale)


def median_cpu(work: Callable[[], Any], repeat: int = 3) -> tuple[float, Any]:
    """Return the median CPU seconds of `work()` and its last result; it runs once if it takes long."""
    cpu, _, result = common.timed(work)
    times = [cpu]
    for _ in range(repeat - 1 if cpu <= 10 else 0):
        cpu, _, result = common.timed(work)
        times.append(cpu)
    return statistics.median(times), result


def check_scan(codes: Any, queries: Any, radius: int, hits: nk.SearchResult) -> None:
    """Compare the first results with a comparison in NumPy with every fingerprint."""
    rows, questions = codes.reshape(len(codes), -1), queries.reshape(len(queries), -1)
    for i in range(min(10, len(questions))):
        distances = np.bitwise_count(rows ^ questions[i]).sum(axis=1)
        if sorted(np.flatnonzero(distances <= radius).tolist()) != sorted(hits[i].ids.tolist()):
            raise SystemExit(f"query {i}: the scan differs from a comparison with everything")


def build_index(
    codes: Any, bits: int, radius: int | None, method: Any = "auto", **options: Any
) -> tuple[float, nk.HammingIndex]:
    """Return the CPU seconds of adding everything and building tables, and the index."""

    def build() -> nk.HammingIndex:
        index = nk.HammingIndex(bits, method, radius=radius, **options)
        index.add(None, codes)
        index.search(codes[:1], radius=0 if radius is None else radius)
        return index

    cpu, _, index = common.timed(build)
    return cpu, index


def plan_figures(index: nk.HammingIndex, radius: int) -> Row:
    part = max(index.explain(radius)["parts"], key=lambda part: part["slots"])
    return {key: part[key] for key in ("method", "tables", "radii", "probes", "candidates")}


def add_all(index: Any, codes: Any) -> Any:
    index.add(codes)
    return index


def rss() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def same_distances(result: Any, expected: Any) -> float:
    """Return the share of neighbours at the correct distances."""
    return float((np.sort(np.asarray(result).astype(np.int64), axis=1) == np.sort(expected, axis=1)).mean())


Codes = NDArray[np.uint64]
CORPORA = ("en_20news", "en_licences", "zh_laws", "zh_news_sogou", "zh_song_poems", "en_bible_ot")
WINDOW = 200


def random_codes(bits: int, n: int, seed: int) -> Codes:
    words = -(-bits // 64)
    codes = np.random.default_rng(seed).integers(0, 2**64, (n, words), dtype=np.uint64)
    return codes[:, 0].copy() if words == 1 else codes


def queries_near(codes: Codes, bits: int, count: int, radius: int, seed: int) -> Codes:
    """Build queries: every second one a stored fingerprint with 0 to `radius` bits flipped, the others random."""
    rng = np.random.default_rng(seed)
    queries = random_codes(bits, count, seed + 1).reshape(count, -1)
    rows = codes.reshape(len(codes), -1)
    for i in range(0, count, 2):
        queries[i] = rows[rng.integers(0, len(rows))]
        for bit in rng.choice(bits, rng.integers(0, radius + 1), replace=False):
            queries[i, bit // 64] ^= np.uint64(1 << int(bit % 64))
    return queries[:, 0].copy() if codes.ndim == 1 else queries


def with_planted_pairs(n: int, seed: int) -> Codes:
    """Return random fingerprints; the last tenth are copies of the first, with one bit flipped."""
    codes = random_codes(64, n, seed)
    planted = n // 10
    flips = np.random.default_rng(seed + 1).integers(0, 64, planted).astype(np.uint64)
    codes[-planted:] = codes[:planted] ^ (np.uint64(1) << flips)
    return codes


def text_windows(data: Path, n: int) -> Iterator[list[str]]:
    """Yield about n windows of 200 characters over all corpora, in lists of 100,000."""
    sources = [text for name in CORPORA for text in common.texts(data, name)]
    room = sum(max(len(text) - WINDOW, 0) for text in sources)
    step = max(1, room // n)
    windows = (text[at : at + WINDOW] for text in sources for at in range(0, max(len(text) - WINDOW, 0), step))
    windows = itertools.islice(windows, n)
    while batch := list(itertools.islice(windows, 100_000)):
        yield batch


def text_codes(data: Path, n: int, bits: int) -> Codes:
    """Return SimHash fingerprints of n overlapping windows of real texts, in random order."""
    recipe = nk.Recipe(f"char:4|count|xxh3|simhash:{bits}")
    parts = [np.asarray(nk.fingerprint(batch, recipe)) for batch in text_windows(data, n)]
    codes = np.concatenate(parts)
    return np.ascontiguousarray(codes[np.random.default_rng(6).permutation(len(codes))])


def distinct_text_codes(data: Path, n: int) -> Codes:
    codes = np.unique(text_codes(data, n, 64))
    return np.ascontiguousarray(codes[np.random.default_rng(8).permutation(len(codes))])


def hyperplane_codes(data: Path, name: str, bits: int, n: int | None = None) -> Codes:
    """Return signs of random projections of real vectors; averages of two random vectors fill up to n rows."""
    with np.load(data / f"vec_{name}.npz") as file:
        vectors = file["base"].astype(np.float32)
    vectors -= vectors.mean(axis=0)
    rng = np.random.default_rng(7)
    planes = rng.standard_normal((vectors.shape[1], bits)).astype(np.float32)
    parts = [np.packbits(vectors @ planes > 0, axis=1, bitorder="little")]
    missing = 0 if n is None else n - len(vectors)
    while missing > 0:
        count = min(missing, 100_000)
        left, right = rng.integers(0, len(vectors), (2, count))
        parts.append(np.packbits((vectors[left] + vectors[right]) @ planes > 0, axis=1, bitorder="little"))
        missing -= count
    return np.concatenate(parts).view(np.uint64)


def check_equal(hits: nk.SearchResult, expected: nk.SearchResult, candidate: str = "the index") -> None:
    """Stop the benchmark if an index does not return what the scan returns."""
    if not (np.array_equal(hits.ids, expected.ids) and np.array_equal(hits.distances, expected.distances)):
        raise SystemExit(f"{candidate} differs from its scan")


def add_scans(section: Section, task: str, codes: Any, queries: Any, bits: int, radius: int) -> nk.SearchResult:
    """Measure the scan of batches and of one query; return its result for all queries."""
    _, scan = build_index(codes, bits, None, "scan")
    expected = scan.search(queries, radius=radius)
    check_scan(codes, queries, radius, expected)
    figures = {"build": 0.0, "bytes_each": scan.nbytes / len(codes), "recall": 1.0}
    few = queries[: max(50, len(queries) // 100)]
    batch, _ = median_cpu(lambda: scan.search(queries[:1000], radius=radius), 1)
    section.add(task, "nearkin, scan of batches", qps=len(queries[:1000]) / batch, **figures)
    single, _ = median_cpu(lambda: [scan.search(few[i : i + 1], radius=radius) for i in range(len(few))], 1)
    section.add(task, "nearkin, scan of one query", qps=len(few) / single, **figures)
    return expected


def add_index(section: Section, task: str, who: str, index: nk.HammingIndex, build: float, queries: Any, radius: int,
              expected: nk.SearchResult) -> None:  # fmt: skip
    """Measure radius searches of an index, and compare them with the scan."""
    seconds, hits = median_cpu(lambda: index.search(queries, radius=radius))
    check_equal(hits, expected, who)
    figures = {"build": build, "bytes_each": index.nbytes / len(index), "recall": 1.0}
    section.add(task, who, qps=len(queries) / seconds, **figures, **plan_figures(index, radius))


def measure_radius_3(section: Section) -> None:
    """Measure radius 3 of 64 bits among 10 million fingerprints."""
    n, radius, count = section.size(10_000_000), 3, section.size(10_000)
    task = f"radius {radius} of 64, n = {n:,}"
    codes = random_codes(64, n, 1)
    queries = queries_near(codes, 64, count, radius, 2)
    expected = add_scans(section, task, codes, queries, 64, radius)
    for who, limit in (("nearkin", None), ("nearkin, memory_limit of 16 bytes each", 16 * n)):
        build, index = build_index(codes, 64, radius, memory_limit=limit)
        add_index(section, task, who, index, build, queries, radius, expected)
    index = None
    measure_peers_radius(section, task, to_bytes(codes), to_bytes(queries), radius, expected)


def measure_peers_radius(section: Section, task: str, codes: Any, queries: Any, radius: int, expected: Any) -> None:
    import faiss
    import pynear

    faiss.omp_set_num_threads(1)
    n = len(codes)
    before = rss()
    build, multi = median_cpu(lambda: add_all(faiss.IndexBinaryMultiHash(64, 4, 16), codes), 1)
    multi.nflip = 0
    few = queries[: max(200, len(queries) // 5)]
    candidates = {
        "faiss IndexBinaryMultiHash 4x16": (multi, few, build, (rss() - before) / n),
        "faiss IndexBinaryFlat": (add_all(faiss.IndexBinaryFlat(64), codes), queries[:64], 0.0, 8.0),
    }
    for who, (index, part, build, size) in candidates.items():
        seconds, hits = median_cpu(lambda index=index, part=part: index.range_search(part, radius + 1))
        recall = float(hits[0][-1]) / max(1, int(expected.offsets[len(part)]))
        section.add(task, who, qps=len(part) / seconds, build=build, bytes_each=size, recall=recall)
    before = rss()
    mih = pynear.MIHBinaryIndex(m=4)
    build, _ = median_cpu(lambda: mih.set(codes), 1)
    size = (rss() - before) / n
    # It returns the k nearest of its candidates at any distance; the larger k is the maximum number of matches.
    for k in sorted({int(np.diff(expected.offsets).max()), 10}):
        seconds, hits = median_cpu(lambda k=k: mih.searchKNN_arrays(queries, k, radius), 1)
        recall = float(((hits[0] >= 0) & (hits[1] <= radius)).sum()) / max(1, len(expected.ids))
        who = f"pynear MIHBinaryIndex m=4, k={k}"
        section.add(task, who, qps=len(queries) / seconds, build=build, bytes_each=size, recall=recall)


def measure_wide(section: Section) -> None:
    """Measure tables for larger radii and wider fingerprints against the scan of one query and of batches."""
    tasks = {
        "8of64": (64, 10_000_000, 8),
        "10of64": (64, 10_000_000, 10),
        "20of128": (128, 10_000_000, 20),
        "40of256": (256, 1_000_000, 40),
    }
    for name, (bits, full, radius) in tasks.items():
        if section.options.only not in ("", name):
            continue
        codes = random_codes(bits, section.size(full), 1)
        queries = queries_near(codes, bits, 2000, radius, 2)
        task = f"radius {radius} of {bits}, n = {len(codes):,}"
        expected = add_scans(section, task, codes, queries, bits, radius)
        build, index = build_index(codes, bits, radius)
        add_index(section, task, "nearkin", index, build, queries, radius, expected)


def measure_pdq(section: Section) -> None:
    """Measure radius 31 of 256 bits, as for PDQ, in batches, against the binary indexes of faiss.

    At 10 million, faiss scans (`IndexBinaryFlat`). At a million it also has `IndexBinaryMultiHash` with 16 hashes of 16
    bits and one flip, which is exact at this radius, and `IndexBinaryIVF` with 32 of 1024 lists, which is not.
    """
    radius = 31
    for full in (1_000_000, 10_000_000):
        n = section.size(full)
        task = f"radius {radius} of 256, n = {n:,}"
        codes, count = random_codes(256, n, 1), section.size(20_000)
        queries = queries_near(codes, 256, count, radius, 2)
        few = queries[:: len(queries) // 200][:200]
        _, scan = build_index(codes, 256, None, "scan")
        expected = scan.search(few, radius=radius)
        check_scan(codes, few[:3], radius, expected)
        seconds, _ = median_cpu(lambda scan=scan, few=few: scan.search(few, radius=radius), 1)
        figures = {"build": 0.0, "bytes_each": scan.nbytes / n, "recall": 1.0}
        section.add(task, "nearkin, scan of batches", qps=len(few) / seconds, **figures)
        del scan
        build, index = build_index(codes, 256, radius)
        check_equal(index.search(few, radius=radius), expected)
        seconds, _ = median_cpu(lambda index=index, queries=queries: index.search(queries, radius=radius))
        figures = {"build": build, "bytes_each": index.nbytes / n, "recall": 1.0, **plan_figures(index, radius)}
        section.add(task, "nearkin", qps=len(queries) / seconds, **figures)
        del index
        measure_peers_pdq(section, task, to_bytes(codes, 256), to_bytes(few, 256), radius, expected, full == 1_000_000)


def measure_peers_pdq(section: Section, task: str, codes: Any, queries: Any, radius: int, expected: Any,
                      tables: bool) -> None:  # fmt: skip
    import faiss

    faiss.omp_set_num_threads(1)
    candidates: dict[str, tuple[Any, Callable[[Any], None]]] = {
        "faiss IndexBinaryFlat": (faiss.IndexBinaryFlat(256), lambda index: None)
    }
    if tables:
        multi = faiss.IndexBinaryMultiHash(256, 16, 16)
        multi.nflip = 1
        candidates["faiss IndexBinaryMultiHash 16x16"] = multi, lambda index: None
        lists = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(256), 256, 1024)
        lists.nprobe = 32
        candidates["faiss IndexBinaryIVF, 32 of 1024 lists"] = lists, lambda index: index.train(codes[:50_000])
    for who, (index, train) in candidates.items():
        before = rss()

        def fill(index: Any = index, train: Any = train) -> None:
            train(index)
            index.add(codes)

        build, _ = median_cpu(fill, 1)
        size = (rss() - before) / len(codes)
        seconds, hits = median_cpu(lambda index=index: index.range_search(queries, radius + 1), 1)
        recall = float(hits[0][-1]) / max(1, len(expected.ids))
        section.add(task, who, qps=len(queries) / seconds, build=build, bytes_each=size, recall=recall)


def measure_top(section: Section) -> None:
    """Measure the ten nearest, with random codes and codes of real data."""
    data, million = section.options.data, 1_000_000
    tasks: dict[str, tuple[str, int, Callable[[int], Any]]] = {
        "random64": ("64 bits, random", 10 * million, lambda n: random_codes(64, n, 3)),
        "text64": ("64 bits, SimHash of text windows", 10 * million, lambda n: text_codes(data, n, 64)),
        "random128": ("128 bits, random", million, lambda n: random_codes(128, n, 3)),
        "random256": ("256 bits, random", million, lambda n: random_codes(256, n, 3)),
        "text256": ("256 bits, SimHash of text windows", million, lambda n: text_codes(data, n, 256)),
    }
    sift = lambda n: hyperplane_codes(data, "sift_bsds", 256, n)  # noqa: E731
    tasks["sift256"] = ("256 bits, hyperplanes over SIFT and averages", million, sift)
    gist = lambda n: hyperplane_codes(data, "cifar10_gist512", 256)  # noqa: E731
    tasks["gist256"] = ("256 bits, hyperplanes over GIST", 20_000, gist)
    for name, (title, full, make) in tasks.items():
        if section.options.only in ("", name):
            measure_top_task(section, title, make(section.size(full)))


def measure_top_task(section: Section, title: str, codes: Any) -> None:
    import faiss
    import pynear
    from usearch.index import MetricKind
    from usearch.index import search as usearch_search

    faiss.omp_set_num_threads(1)
    bits = 64 * (1 if codes.ndim == 1 else codes.shape[1])
    # Real queries are rows that are removed; random ones are planted or random.
    if "random" in title:
        queries = queries_near(codes, bits, 500, bits // 16, 4)
    else:
        queries, codes = codes[:500].copy(), codes[500:]
    n = len(codes)
    task = f"top 10, {title}, n = {n:,}"
    _, index = build_index(codes, bits, None)
    _, scan = build_index(codes, bits, None, "scan")
    seconds, hits = median_cpu(lambda: index.nearest(queries, k=10))
    scanned, expected = median_cpu(lambda: scan.nearest(queries, k=10), 1)
    check_equal(hits, expected)
    distances = hits.distances.reshape(500, 10).astype(int)
    last = float(distances[:, -1].mean())
    figures = {"recall": 1.0, "tenth_distance": last, "bytes_each": index.nbytes / n}
    section.add(task, "nearkin", qps=500 / seconds, **figures)
    section.add(task, "nearkin, scan", qps=500 / scanned, recall=1.0)
    packed, batch = to_bytes(codes, bits), to_bytes(queries, bits)
    flat, mih = add_all(faiss.IndexBinaryFlat(bits), packed), pynear.MIHBinaryIndex(m=bits // 16)
    build, _ = median_cpu(lambda: mih.set(packed), 1)
    radius, hamming = int(np.ceil(last)), MetricKind.Hamming
    peers: dict[str, tuple[int, Callable[[Any], Any]]] = {
        "faiss IndexBinaryFlat": (200 if n > 2_000_000 else 500, lambda part: flat.search(part, 10)[0]),
        "usearch, exact": (
            30 if n > 2_000_000 else 200,
            lambda part: usearch_search(packed, part, 10, hamming, exact=True, threads=1).distances,
        ),
        f"pynear MIHBinaryIndex, radius {radius}": (100, lambda part: mih.searchKNN_arrays(part, 10, radius)[1]),
    }
    for who, (count, search) in peers.items():
        seconds, values = median_cpu(lambda search=search, count=count: search(batch[:count]), 1)
        recall = same_distances(values, distances[:count])
        section.add(task, who, qps=count / seconds, recall=recall, **({"build": build} if "pynear" in who else {}))


def measure_pairs(section: Section) -> None:
    """Measure all pairs within a radius."""
    data = section.options.data
    tasks: dict[str, tuple[str, int, int, Callable[[int], Any]]] = {
        "1m": ("random and planted", 1_000_000, 3, lambda n: with_planted_pairs(n, 3)),
        "10m": ("random and planted", 10_000_000, 3, lambda n: with_planted_pairs(n, 3)),
        "text": ("SimHash of text windows", 1_000_000, 3, lambda n: text_codes(data, n, 64)),
        "distinct": ("distinct SimHash of text windows", 1_000_000, 3, lambda n: distinct_text_codes(data, n)),
        "1m10": ("random and planted", 1_000_000, 10, lambda n: with_planted_pairs(n, 3)),
    }
    for name, (title, full, radius, make) in tasks.items():
        if section.options.only not in ("", name):
            continue
        codes = make(section.size(full))
        n = len(codes)
        task = f"all pairs within {radius} of 64, {title}, n = {n:,}"

        def join(codes: Any = codes, radius: int = radius) -> nk.Pairs:
            index = nk.HammingIndex(64)
            index.add(None, codes)
            return index.pairs(radius)

        seconds, result = median_cpu(join)
        section.add(task, "nearkin, build and join", seconds=seconds, pairs=len(result))
        count = len(result)
        del result
        if radius > 3:
            continue
        if common.PEERS["simhash-pybind"].installed:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "codes.bin"
                codes.tofile(path)
                command = [common.PEERS["simhash-pybind"].python, "-c", PYBIND_WORKER, path, "4", str(radius)]
                answer = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            # It joins distinct values: of copies, which "text" has, it names no pair.
            section.add(task, "simhash-pybind find_all, 4 blocks", seconds=answer["seconds"], pairs=answer["pairs"])
        print(f"{count} pairs")


def measure_growth(section: Section) -> None:
    """Measure radius 3 of 64 as n grows; each size runs in its own process, so that its peak is its own."""
    for n in (1_000_000, 10_000_000, 100_000_000):
        if section.options.only in ("", str(n)):
            command = [sys.executable, __file__, "--grow", str(section.size(n))]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr)
            for line in done.stdout.splitlines():
                row = json.loads(line)
                section.add(row.pop("task"), row.pop("who"), **row)


def grow(n: int) -> None:
    """Measure one size: methods, build, memory, save, open, verify. Print a JSON object per line."""
    radius, count = 3, 10_000
    codes = random_codes(64, n, 1)
    queries = queries_near(codes, 64, count, radius, 2)
    ways: dict[str, Row] = {method: {"method": method} for method in ("auto", "blocks", "tables", "multi")}
    ways = {**(ways if n <= 10_000_000 else {}), "auto, memory_limit of 30 bytes each": {"memory_limit": 30 * n}}
    task = f"radius {radius} of 64"
    for who, options in ways.items():
        _, wall, (build, index) = common.timed(lambda options=options: build_index(codes, 64, radius, **options))
        seconds, hits = median_cpu(lambda index=index: index.search(queries, radius=radius))
        row = {"n": n, "qps": count / seconds, "build": build, "build_wall": wall, "bytes_each": index.nbytes / n}
        row |= {"matches": len(hits.ids), "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}
        print(json.dumps({"task": task, "who": who, **row, **plan_figures(index, radius)}))
        if who.startswith("auto,"):
            print(json.dumps({"task": "file", "who": who, "n": n, **stored(index, queries, radius, hits)}))
        del index
    _, index = build_index(codes, 64, None, "scan")
    few = queries[: 200 if n > 10_000_000 else 2000]
    seconds, result = median_cpu(lambda: index.search(few, radius=radius), 1)
    same = bool(np.array_equal(result.ids, hits.ids[: len(result.ids)]))
    row = {"n": n, "qps": len(few) / seconds, "build": 0.0, "bytes_each": index.nbytes / n, "equal": same}
    print(json.dumps({"task": task, "who": "scan", **row, "candidates": n, "probes": 0, "tables": 0}))


def stored(index: nk.HammingIndex, queries: Any, radius: int, hits: nk.SearchResult) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.nks"
        _, save, _ = common.timed(lambda: index.save(path))
        _, open_, opened = common.timed(lambda: nk.HammingIndex.open(path))
        _, first, item = common.timed(lambda: opened.search(queries[:1], radius=radius))
        _, verify, _ = common.timed(opened.verify)
        same = np.array_equal(opened.search(queries, radius=radius).ids, hits.ids) and len(item) == 1
        size = path.stat().st_size
    return {"bytes": size, "save": save, "open": open_, "first_search": first, "verify": verify, "equal": bool(same)}


def format_number(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table_growth(rows: list[Row]) -> str:
    searches = sorted((row for row in rows if row["task"] != "file"), key=lambda row: (row["who"], row["n"]))
    names = ("bytes_each", "build", "peak_gb", "tables", "candidates")
    lines = [
        [row["who"], format_number(row["n"]), format_number(1e6 / row["qps"]), *format_cells(row, names)]
        for row in searches
    ]
    header = ["method", "n", "µs per query", "bytes each", "build, s", "peak GB", "tables", "candidates"]
    files: dict[str, Callable[[Row], str]] = {
        "GB": lambda row: format_number(row["bytes"] / 1e9),
        "save, s": lambda row: format_number(row["save"]),
        "open, ms": lambda row: format_number(1000 * row["open"]),
        "first query, ms": lambda row: format_number(1000 * row["first_search"]),
        "verify, s": lambda row: format_number(row["verify"]),
    }
    by_size = {format_number(row["n"]): row for row in rows if row["task"] == "file"}
    return common.table(header, lines) + "\n\n" + common.table_of("n", files, by_size)


def table_summary(sections: dict[str, list[Row]]) -> str:
    """Summarise nearkin's figure of each task and its ratio to the others, for docs/hamming.md."""
    lines = []
    for name, figure in (("radius", "qps"), ("wide", "qps"), ("pdq", "qps"), ("top", "qps"), ("pairs", "seconds")):
        unit = "queries per CPU second" if figure == "qps" else "CPU s"
        rows = sections.get(name, [])
        for task in dict.fromkeys(row["task"] for row in rows):
            group = [row for row in rows if row["task"] == task]
            mine = next((row for row in group if row["who"] in ("nearkin", "nearkin, build and join")), None)
            if mine is not None:
                power = 1 if figure == "qps" else -1
                others = [(row["who"].removeprefix("nearkin, "), row[figure]) for row in group if row is not mine]
                times = "; ".join(f"{who} {common.ratio((mine[figure] / value) ** power)}" for who, value in others)
                lines.append([task, f"{format_number(mine[figure])} {unit}", times])
    searches = [row for row in sections.get("growth", []) if row["task"] != "file" and row["who"].startswith("auto")]
    if searches:
        row = max(searches, key=lambda row: row["n"])
        figures = f"{format_number(1e6 / row['qps'])} µs per query, {format_number(row['bytes_each'])} bytes each"
        lines.append([f"{row['task']}, n = {row['n']:,}", figures, ""])
    return common.table(["task", "nearkin", "times the others"], lines)


PYBIND_WORKER = """
import array, json, sys, time
import simhash
hashes = array.array("Q", open(sys.argv[1], "rb").read()).tolist()
start = time.process_time()
pairs = simhash.find_all(hashes, int(sys.argv[2]), int(sys.argv[3]))
print(json.dumps({"seconds": time.process_time() - start, "pairs": len(pairs)}))
"""


def format_cells(row: Row, names: Iterable[str]) -> list[str]:
    return [format_number(row.get(name)) for name in names]


def task_table(rows: list[Row], columns: dict[str, str]) -> str:
    """Build a table whose first column names a task where it changes."""
    lines, last = [], None
    for row in rows:
        lines.append([row["task"] if row["task"] != last else "", row["who"], *format_cells(row, columns)])
        last = row["task"]
    return common.table(["task", "candidate", *columns.values()], lines)


SECTIONS: dict[str, Callable[[Section], None]] = {
    "radius": measure_radius_3,
    "wide": measure_wide,
    "pdq": measure_pdq,
    "top": measure_top,
    "pairs": measure_pairs,
    "growth": measure_growth,
}
RADIUS_COLUMNS = {
    "qps": "queries per CPU second",
    "build": "build, s",
    "bytes_each": "bytes each",
    "recall": "recall",
    "tables": "tables",
}
COLUMNS: dict[str, dict[str, str]] = {
    "radius": RADIUS_COLUMNS,
    "wide": RADIUS_COLUMNS,
    "pdq": RADIUS_COLUMNS,
    "top": {"qps": "queries per CPU second", "recall": "recall", "tenth_distance": "mean distance of the tenth"},
    "pairs": {"seconds": "CPU s", "pairs": "pairs"},
}


def report(run: dict[str, Any]) -> None:
    """Write the tables of docs/benchmarks.md and docs/hamming.md."""
    sections = run["sections"]
    for name, columns in COLUMNS.items():
        if sections.get(name):
            common.splice("benchmarks.md", f"hamming-{name}", task_table(sections[name], columns))
    if sections.get("growth"):
        common.splice("benchmarks.md", "hamming-growth", table_growth(sections["growth"]))
    common.splice("hamming.md", "hamming-summary", table_summary(sections))


def save_section(name: str, rows: list[Row], only: str) -> None:
    """Save rows with the other sections and tasks of the last run; each row names its own command."""
    versions = common.versions("numpy", "faiss-cpu", "pynear", "usearch", "simhash-pybind")
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    command = f"python bench/hamming_search.py {name}" + (f" --only {only}" if only else "")
    rows = [{**row, "date": now, "commit": versions["commit"], "command": command} for row in rows]
    last = common.latest("hamming")["sections"] if common.runs("hamming") else {}
    tasks = {(row["task"], row.get("n")) for row in rows}
    old = [row for row in last.get(name, []) if only and (row["task"], row.get("n")) not in tasks]
    common.save("hamming", {"sections": {**last, name: old + rows}}, versions=versions)


def main() -> None:
    options = common.arguments(
        __doc__,
        ("sections", {"nargs": "*", "help": f"{', '.join(SECTIONS)} (default: all)"}),
        ("--scale", {"type": int, "default": 1, "help": "divides every size; such a run is not saved"}),
        ("--only", {"default": "", "help": "one task of a section: 8of64, text256, 10m, 100000000, ..."}),
        ("--grow", {"type": int, "help": "one size of the growth section, in this process"}),
    )
    if options.report is not None:
        report(common.latest("hamming", options.report))
        return
    nk.set_num_threads(1)
    if options.grow:
        grow(options.grow)
        return
    if unknown := set(options.sections) - SECTIONS.keys():
        raise SystemExit(f"no section {unknown.pop()}; use {', '.join(SECTIONS)}")
    for name in options.sections or SECTIONS:
        section = Section(options)
        SECTIONS[name](section)
        if options.scale == 1:
            save_section(name, section.rows, options.only)
            report(common.latest("hamming"))


if __name__ == "__main__":
    main()
