"""Hamming search beside its peers: queries a CPU-second, build time and memory, recall checked against brute force.

Run `python bench/hamming.py [--quick] [--out FILE]` (needs the `bench` dependency group). One thread; figures are CPU
time of this process, the median of three. Half of the queries are planted (a stored fingerprint with 0 to radius bits
flipped), half are random. Every peer is given its best known setting; faiss's radius is exclusive and is passed plus
one.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import nearkin as nk
from nearkin.hamming import to_bytes

ROWS: list[dict[str, Any]] = []


def cpu(work: Any, repeat: int = 3) -> tuple[float, Any]:
    """Median CPU seconds of `work()` and its last result."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return statistics.median(times), result


def report(task: str, who: str, **figures: Any) -> None:
    ROWS.append({"task": task, "who": who, **figures})
    shown = "  ".join(
        f"{key}={value:,.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in figures.items()
    )
    print(f"{task:34} {who:28} {shown}", flush=True)


def data(bits: int, n: int, queries: int, radius: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    words = -(-bits // 64)
    fps = rng.integers(0, 2**64, (n, words), dtype=np.uint64)
    asked = rng.integers(0, 2**64, (queries, words), dtype=np.uint64)
    for i in range(0, queries, 2):
        asked[i] = fps[rng.integers(0, n)]
        for bit in rng.choice(bits, rng.integers(0, radius + 1), replace=False):
            asked[i, bit // 64] ^= np.uint64(1 << int(bit % 64))
    return (fps[:, 0].copy(), asked[:, 0].copy()) if words == 1 else (fps, asked)


def radius_search(bits: int, n: int, radius: int, queries: int, peers: bool) -> None:
    task = f"radius {radius} of {bits}, n={n:,}"
    fps, asked = data(bits, n, queries, radius, 1)
    scan = nk.HammingIndex(bits, "scan")
    scan.add(None, fps)
    expected = scan.search(asked, radius=radius)
    few = max(20, queries // 100)
    seconds, _ = cpu(lambda: scan.search(asked, radius=radius), 1)
    report(task, "nearkin scan, batch", qps=queries / seconds, billion_per_s=n * queries / seconds / 1e9)
    seconds, _ = cpu(lambda: [scan.search(asked[i : i + 1], radius=radius) for i in range(few)])
    report(task, "nearkin scan, one by one", qps=few / seconds, billion_per_s=n * few / seconds / 1e9)
    for name, limit in (("nearkin auto", None), ("nearkin auto, low memory", 2 * 8 * -(-bits // 64) * n)):
        start = time.process_time()
        index = nk.HammingIndex(bits, radius=radius, memory_limit=limit)
        index.add(None, fps)
        index.search(asked[:1], radius=radius)
        build = time.process_time() - start
        seconds, hits = cpu(lambda index=index: index.search(asked, radius=radius))
        recall = float(np.array_equal(hits.ids, expected.ids))
        part = max(index.explain(radius)["parts"], key=lambda part: part["slots"])
        report(
            task,
            name,
            qps=queries / seconds,
            build=build,
            bytes_each=index.nbytes / n,
            recall=recall,
            method=part["method"],
            radii=part["radii"],
        )
    if not peers:
        return
    import faiss

    faiss.omp_set_num_threads(1)
    codes, codes_asked = to_bytes(fps, bits), to_bytes(asked, bits)
    flat = faiss.IndexBinaryFlat(bits)
    flat.add(codes)
    some = max(64, queries // 50)
    seconds, _ = cpu(lambda: flat.range_search(codes_asked[:some], radius + 1))
    report(task, "faiss IndexBinaryFlat", qps=some / seconds, billion_per_s=n * some / seconds / 1e9)
    if radius <= 3:
        start = time.process_time()
        multi = faiss.IndexBinaryMultiHash(bits, 4, 16)
        multi.add(codes)
        build = time.process_time() - start
        multi.nflip = 0
        part_asked = codes_asked[: queries // 5]
        seconds, found = cpu(lambda: multi.range_search(part_asked, radius + 1))
        report(
            task,
            "faiss IndexBinaryMultiHash 4x16",
            qps=len(part_asked) / seconds,
            build=build,
            recall=float(found[0][-1] / max(1, expected.offsets[len(part_asked)])),
        )
        import pynear

        start = time.process_time()
        mih = pynear.MIHBinaryIndex(m=4)
        mih.set(codes)
        build = time.process_time() - start
        seconds, found = cpu(lambda: mih.searchKNN_arrays(codes_asked, 10, radius))
        recall = float((found[0] >= 0).sum() / max(1, len(expected.ids)))
        report(task, "pynear MIH m=4, top 10 in radius", qps=queries / seconds, build=build, recall=recall)


def nearest(bits: int, n: int, k: int, queries: int) -> None:
    import faiss

    task = f"top {k} of {bits}, n={n:,}"
    fps, asked = data(bits, n, queries, bits // 16, 2)
    index = nk.HammingIndex(bits)
    index.add(None, fps)
    index.nearest(asked, k=k)
    seconds, hits = cpu(lambda: index.nearest(asked, k=k))
    report(task, "nearkin auto", qps=queries / seconds)
    scan = nk.HammingIndex(bits, "scan")
    scan.add(None, fps)
    seconds, same = cpu(lambda: scan.nearest(asked, k=k))
    report(task, "nearkin scan", qps=queries / seconds, equal=bool(np.array_equal(hits.ids, same.ids)))
    flat = faiss.IndexBinaryFlat(bits)
    flat.add(to_bytes(fps, bits))
    codes = to_bytes(asked, bits)
    seconds, found = cpu(lambda: flat.search(codes, k), 1)
    equal = bool(np.array_equal(found[0].ravel(), hits.distances.astype(np.int32)))
    report(task, "faiss IndexBinaryFlat", qps=queries / seconds, equal_distances=equal)


def all_pairs(n: int, radius: int) -> None:
    task = f"all pairs within {radius} of 64, n={n:,}"
    fps, _ = data(64, n, 2, radius, 3)
    rng = np.random.default_rng(4)
    planted = n // 10
    fps[-planted:] = fps[:planted] ^ (np.uint64(1) << rng.integers(0, 64, planted).astype(np.uint64))
    start = time.process_time()
    index = nk.HammingIndex(64)
    index.add(None, fps)
    pairs = index.pairs(radius)
    report(task, "nearkin, build and join", seconds=time.process_time() - start, pairs=len(pairs))


def pipeline(n: int, batch: int) -> None:
    """Survivors of each batch are added, the next batch is searched: the work of a deduplication."""
    fps, _ = data(128, n, 2, 20, 5)
    start = time.process_time()
    index = nk.HammingIndex(128, radius=20)
    for first in range(0, n, batch):
        if first:
            index.search(fps[first : first + batch], radius=20)
        index.add(np.arange(first, min(first + batch, n)), fps[first : first + batch])
    seconds = time.process_time() - start
    report(
        f"grow by {batch:,} to {n:,}, 20 of 128",
        "nearkin auto",
        seconds=seconds,
        billion_per_s=n * n / 2 / seconds / 1e9,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--only", default="", help="radius, nearest, pairs or pipeline")
    parser.add_argument("--out", type=Path, help="JSON file for the raw figures")
    options = parser.parse_args()
    nk.set_num_threads(1)
    scale = 10 if options.quick else 1
    if options.only in ("", "radius"):
        radius_search(64, 10_000_000 // scale, 3, 10_000, peers=True)
        radius_search(64, 10_000_000 // scale, 8, 1000, peers=False)
        radius_search(64, 10_000_000 // scale, 10, 1000, peers=False)
        radius_search(128, 10_000_000 // scale, 20, 1000, peers=False)
        radius_search(256, 1_000_000 // scale, 40, 1000, peers=False)
    if options.only in ("", "nearest"):
        nearest(64, 10_000_000 // scale, 10, 500)
        nearest(256, 1_000_000 // scale, 10, 500)
    if options.only in ("", "pairs"):
        all_pairs(1_000_000 // scale, 3)
        all_pairs(10_000_000 // scale, 3)
        all_pairs(1_000_000 // scale, 10)
    if options.only in ("", "pipeline"):
        pipeline(200_000, 4096)
        pipeline(200_000, 16384)
    if options.out:
        about = {
            "date": datetime.datetime.now(tz=datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "versions": {name: version(name) for name in ("nearkin", "numpy", "faiss-cpu", "pynear")},
            "command": "python bench/hamming.py" + (" --quick" if options.quick else ""),
        }
        options.out.write_text(json.dumps({"about": about, "rows": ROWS}, indent=1) + "\n")


if __name__ == "__main__":
    main()
