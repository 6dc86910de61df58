"""Sections of `bench/hamming.py`: radius searches, the scan, the nearest, all pairs, beside peers."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import common
import hamming_data as made
import nearkin as nk
from hamming_base import Section, check_scan, cpu, filled, indexed, plan_of, rss, same_distances
from nearkin.index.fingerprints import to_bytes

PYBIND = common.ROOT / ".venv-pybind" / "bin" / "python"


def radius_3(section: Section) -> None:
    """10M x 64 bits, radius 3: nearkin, faiss, pynear, usearch."""
    n, radius, count = section.size(10_000_000), 3, section.size(10_000)
    task = f"radius {radius} of 64, n = {n:,}"
    codes = made.random_codes(64, n, 1)
    asked = made.queries_near(codes, 64, count, radius, 2)
    _, scan = indexed(codes, 64, None, "scan")
    expected = scan.search(asked, radius=radius)
    check_scan(codes, asked, radius, expected)
    matches = len(expected.ids)
    for who, limit in (("nearkin", None), ("nearkin, memory_limit of 16 bytes each", 16 * n)):
        build, index = indexed(codes, 64, radius, memory_limit=limit)
        seconds, hits = cpu(lambda index=index: index.search(asked, radius=radius))
        if not (np.array_equal(hits.ids, expected.ids) and np.array_equal(hits.distances, expected.distances)):
            raise SystemExit(f"{who} differs from its scan")
        figures = {"qps": count / seconds, "build": build, "bytes_each": index.nbytes / n, "recall": 1.0}
        section.put(task, who, **figures, **plan_of(index, radius))
    few = asked[: max(50, count // 100)]
    seconds, _ = cpu(lambda: scan.search(asked[:1000], radius=radius), 1)
    section.put(
        task,
        "nearkin, scan of batches",
        qps=min(1000, count) / seconds,
        build=0.0,
        bytes_each=scan.nbytes / n,
        recall=1.0,
    )
    seconds, _ = cpu(lambda: [scan.search(few[i : i + 1], radius=radius) for i in range(len(few))], 1)
    section.put(
        task, "nearkin, scan of one query", qps=len(few) / seconds, build=0.0, bytes_each=scan.nbytes / n, recall=1.0
    )
    scan = index = None
    packed, packed_asked = to_bytes(codes), to_bytes(asked)
    peers_radius(section, task, packed, packed_asked, radius, expected, matches)


def peers_radius(section: Section, task: str, codes: Any, asked: Any, radius: int, expected: Any, matches: int) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    count, n = len(asked), len(codes)
    part = asked[: max(200, count // 5)]
    within = int(expected.offsets[len(part)])
    before = rss()
    build, multi = cpu(lambda: filled(faiss.IndexBinaryMultiHash(64, 4, 16), codes), 1)
    multi.nflip = 0
    held = rss() - before
    seconds, found = cpu(lambda: multi.range_search(part, radius + 1))
    recall = float(found[0][-1]) / max(1, within)
    section.put(
        task,
        "faiss IndexBinaryMultiHash 4x16",
        qps=len(part) / seconds,
        build=build,
        bytes_each=held / n,
        recall=recall,
    )
    multi = None
    flat = filled(faiss.IndexBinaryFlat(64), codes)
    some = asked[:64]
    seconds, found = cpu(lambda: flat.range_search(some, radius + 1))
    recall = float(found[0][-1]) / max(1, int(expected.offsets[len(some)]))
    section.put(task, "faiss IndexBinaryFlat", qps=len(some) / seconds, build=0.0, bytes_each=8.0, recall=recall)
    flat = None
    import pynear

    before = rss()
    mih = pynear.MIHBinaryIndex(m=4)
    build, _ = cpu(lambda: mih.set(codes), 1)
    held = rss() - before
    # It returns the k nearest of its candidates, whatever their distance; k is the most matches that a query has.
    most = int(np.diff(expected.offsets).max())
    for k in sorted({most, 10}):
        seconds, answer = cpu(lambda k=k: mih.searchKNN_arrays(asked, k, radius), 1)
        recall = float(((answer[0] >= 0) & (answer[1] <= radius)).sum()) / max(1, matches)
        name = f"pynear MIHBinaryIndex m=4, k={k}"
        section.put(task, name, qps=count / seconds, build=build, bytes_each=held / n, recall=recall)


def wide(section: Section) -> None:
    """Radius 8 and 10 of 64, 20 of 128, 40 of 256: tables against the scan of one query and of batches."""
    tasks = {
        "8of64": (64, 10_000_000, 8),
        "10of64": (64, 10_000_000, 10),
        "20of128": (128, 10_000_000, 20),
        "40of256": (256, 1_000_000, 40),
    }
    for name, (bits, full, radius) in tasks.items():
        if section.options.only not in ("", name):
            continue
        wide_of(section, bits, section.size(full), radius)


def wide_of(section: Section, bits: int, n: int, radius: int) -> None:
    count = 2000
    task = f"radius {radius} of {bits}, n = {n:,}"
    codes = made.random_codes(bits, n, 1)
    asked = made.queries_near(codes, bits, count, radius, 2)
    _, scan = indexed(codes, bits, None, "scan")
    batch, expected = cpu(lambda: scan.search(asked, radius=radius), 1)
    check_scan(codes, asked, radius, expected)
    few = asked[:50]
    one, _ = cpu(lambda: [scan.search(few[i : i + 1], radius=radius) for i in range(50)], 1)
    section.put(task, "nearkin, scan of one query", qps=50 / one, build=0.0, bytes_each=scan.nbytes / n, recall=1.0)
    section.put(task, "nearkin, scan of batches", qps=count / batch, build=0.0, bytes_each=scan.nbytes / n, recall=1.0)
    scan = None
    build, index = indexed(codes, bits, radius)
    seconds, hits = cpu(lambda: index.search(asked, radius=radius))
    if not (np.array_equal(hits.ids, expected.ids) and np.array_equal(hits.distances, expected.distances)):
        raise SystemExit("the tables differ from the scan")
    figures = {"qps": count / seconds, "build": build, "bytes_each": index.nbytes / n, "recall": 1.0}
    section.put(task, "nearkin", **figures, **plan_of(index, radius))


def scan(section: Section) -> None:
    """The scan against faiss's and the machine's limits."""
    import faiss

    faiss.omp_set_num_threads(1)
    n = section.size(10_000_000)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "popcount_limit"
        source = common.ROOT / "bench" / "popcount_limit.c"
        subprocess.run(["gcc", "-O3", "-march=native", "-o", program, source], check=True)
        limits = json.loads(subprocess.run([program, str(n), "3"], capture_output=True, check=True).stdout)
    section.put("limits", "popcount_limit.c", **limits)
    codes = made.random_codes(64, n, 1)
    asked = made.queries_near(codes, 64, 1000, 3, 2)
    _, index = indexed(codes, 64, None, "scan")
    flat = filled(faiss.IndexBinaryFlat(64), to_bytes(codes))
    packed = to_bytes(asked)
    for radius in (3, 10, 14):
        task = f"scan, radius {radius} of 64, n = {n:,}"
        seconds, hits = cpu(lambda radius=radius: index.search(asked, radius=radius))
        section.put(
            task,
            "nearkin, batches of 1,000",
            per_s=n * 1000 / seconds,
            of_limit=n * 1000 / seconds / max(limits["batch"], limits["distances"]),
        )
        one, _ = cpu(lambda radius=radius: [index.search(asked[i : i + 1], radius=radius) for i in range(30)])
        section.put(
            task,
            "nearkin, one query",
            per_s=30 * n / one,
            bytes_per_s=8 * 30 * n / one,
            of_limit=8 * 30 * n / one / limits["read_bytes"],
        )
        seconds, found = cpu(lambda radius=radius: flat.range_search(packed[:200], radius + 1), 1)
        equal = int(found[0][-1]) == int(hits.offsets[200])
        section.put(task, "faiss IndexBinaryFlat, batches of 200", per_s=n * 200 / seconds, equal=equal)


def top(section: Section) -> None:
    """The ten nearest, with random codes and codes of real data."""
    data = section.options.data
    tasks: dict[str, tuple[str, int, Callable[[int], Any]]] = {
        "random64": ("64 bits, random", 10_000_000, lambda n: made.random_codes(64, n, 3)),
        "text64": ("64 bits, SimHash of text windows", 10_000_000, lambda n: made.text_codes(data, n, 64)),
        "random256": ("256 bits, random", 1_000_000, lambda n: made.random_codes(256, n, 3)),
        "text256": ("256 bits, SimHash of text windows", 1_000_000, lambda n: made.text_codes(data, n, 256)),
        "sift256": (
            "256 bits, hyperplanes over SIFT and averages",
            1_000_000,
            lambda n: made.hyperplane_codes(data, "sift_bsds", 256, n),
        ),
        "gist256": (
            "256 bits, hyperplanes over GIST",
            20_000,
            lambda n: made.hyperplane_codes(data, "cifar10_gist512", 256),
        ),
    }
    for name, (title, full, make) in tasks.items():
        if section.options.only in ("", name):
            top_of(section, title, make(section.size(full)))


def top_of(section: Section, title: str, codes: Any) -> None:
    import faiss
    import pynear
    from usearch.index import MetricKind
    from usearch.index import search as usearch_search

    faiss.omp_set_num_threads(1)
    bits = 64 * (1 if codes.ndim == 1 else codes.shape[1])
    # Real queries are rows that are taken out, random ones planted or random.
    if "random" in title:
        asked = made.queries_near(codes, bits, 500, bits // 16, 4)
    else:
        asked, codes = codes[:500].copy(), codes[500:]
    n = len(codes)
    task = f"top 10, {title}, n = {n:,}"
    _, index = indexed(codes, bits, None)
    _, plain = indexed(codes, bits, None, "scan")
    first, hits = cpu(lambda: index.nearest(asked, k=10), 1)
    seconds, hits = cpu(lambda: index.nearest(asked, k=10))
    scanned, same = cpu(lambda: plain.nearest(asked, k=10), 1)
    if not (np.array_equal(hits.ids, same.ids) and np.array_equal(hits.distances, same.distances)):
        raise SystemExit("the tables differ from the scan")
    distances = hits.distances.reshape(500, 10).astype(int)
    last = float(distances[:, -1].mean())
    section.put(
        task,
        "nearkin",
        qps=500 / seconds,
        first=500 / first,
        recall=1.0,
        tenth_distance=last,
        bytes_each=index.nbytes / n,
    )
    section.put(task, "nearkin, scan", qps=500 / scanned, recall=1.0)
    packed, packed_asked = to_bytes(codes, bits), to_bytes(asked, bits)
    flat = filled(faiss.IndexBinaryFlat(bits), packed)
    few = 200 if n > 2_000_000 else 500
    seconds, found = cpu(lambda: flat.search(packed_asked[:few], 10), 1)
    section.put(task, "faiss IndexBinaryFlat", qps=few / seconds, recall=same_distances(found[0], distances[:few]))
    flat = None
    few = 30 if n > 2_000_000 else 200
    call = lambda: usearch_search(packed, packed_asked[:few], 10, MetricKind.Hamming, exact=True, threads=1)  # noqa: E731
    seconds, answer = cpu(call, 1)
    section.put(
        task, "usearch, exact", qps=few / seconds, recall=same_distances(np.asarray(answer.distances), distances[:few])
    )
    mih = pynear.MIHBinaryIndex(m=4 if bits == 64 else 16)
    build, _ = cpu(lambda: mih.set(packed), 1)
    radius = int(np.ceil(last))
    few = 100
    seconds, answer = cpu(lambda: mih.searchKNN_arrays(packed_asked[:few], 10, radius), 1)
    recall = same_distances(answer[1], distances[:few])
    section.put(task, f"pynear MIHBinaryIndex, radius {radius}", qps=few / seconds, build=build, recall=recall)


def pairs(section: Section) -> None:
    """All pairs: random with planted ones, and real fingerprints, beside simhash-pybind and faiss."""
    data = section.options.data
    tasks: dict[str, tuple[str, int, int, Callable[[int], Any]]] = {
        "1m": ("random and planted", 1_000_000, 3, lambda n: made.with_planted_pairs(n, 3)),
        "10m": ("random and planted", 10_000_000, 3, lambda n: made.with_planted_pairs(n, 3)),
        "text": ("SimHash of text windows", 1_000_000, 3, lambda n: made.text_codes(data, n, 64)),
        "distinct": ("distinct SimHash of text windows", 1_000_000, 3, lambda n: made.distinct_text_codes(data, n)),
        "1m10": ("random and planted", 1_000_000, 10, lambda n: made.with_planted_pairs(n, 3)),
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

        seconds, found = cpu(join)
        section.put(task, "nearkin, build and join", seconds=seconds, pairs=len(found))
        count = len(found)
        del found
        if radius > 3:
            continue
        if PYBIND.exists():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "codes.npy"
                np.save(path, codes)
                command = [PYBIND, common.ROOT / "bench" / "peer_find_all.py", path, "4", str(radius)]
                answer = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            # It joins distinct values: of copies, which "text" has, it names no pair.
            section.put(task, "simhash-pybind find_all, 4 blocks", seconds=answer["seconds"], pairs=answer["pairs"])
        print(f"{count} pairs")
