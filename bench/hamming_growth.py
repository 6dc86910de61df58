"""Sections of `bench/hamming.py`: growth to 100 million, files, skewed bits, two threads."""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import hamming_data as made
import nearkin as nk
from hamming_base import Row, Section, cpu, indexed, plan_of


def growth(section: Section) -> None:
    """Radius 3 of 64 as n grows; each size in a process of its own, so that its memory is its own."""
    for n in (1_000_000, 10_000_000, 100_000_000):
        if section.options.only in ("", str(n)):
            command = [
                sys.executable,
                Path(__file__).with_name("hamming.py"),
                "--grow",
                str(section.size(n)),
                "--limit",
                str(30 * section.size(n)),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr)
            for line in done.stdout.splitlines():
                row = json.loads(line)
                section.put(row.pop("task"), row.pop("who"), **row)


def grow(n: int, limit: int) -> None:
    """One size: methods, build, memory, save, open, verify. Prints a JSON object per line."""
    radius, count = 3, 10_000
    codes = made.random_codes(64, n, 1)
    asked = made.queries_near(codes, 64, count, radius, 2)
    if n <= 10_000_000:
        ways: dict[str, Row] = {
            "auto": {},
            "blocks": {"method": "blocks"},
            "tables": {"method": "tables"},
            "multi": {"method": "multi"},
        }
    else:
        ways = {}
    ways["auto, memory_limit of 30 bytes each"] = {"memory_limit": limit}
    task = f"radius {radius} of 64"
    for who, options in ways.items():
        wall = time.perf_counter()
        build, index = indexed(codes, 64, radius, **options)
        wall = time.perf_counter() - wall
        seconds, hits = cpu(lambda index=index: index.search(asked, radius=radius))
        row = {"n": n, "qps": count / seconds, "build": build, "build_wall": wall, "bytes_each": index.nbytes / n}
        row |= {"matches": len(hits.ids), "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}
        print(json.dumps({"task": task, "who": who, **row, **plan_of(index, radius)}))
        if who.startswith("auto,"):
            print(json.dumps({"task": "file", "who": who, "n": n, **stored(index, asked, radius, hits)}))
        del index
    _, index = indexed(codes, 64, None, "scan")
    few = asked[: 200 if n > 10_000_000 else 2000]
    seconds, found = cpu(lambda: index.search(few, radius=radius), 1)
    same = bool(np.array_equal(found.ids, hits.ids[: len(found.ids)]))
    row = {"n": n, "qps": len(few) / seconds, "build": 0.0, "bytes_each": index.nbytes / n, "equal": same}
    print(json.dumps({"task": task, "who": "scan", **row, "candidates": n, "probes": 0, "tables": 0}))
    if n <= 1_000_000:
        _, index = indexed(codes, 64, None, "bits")
        seconds, _ = cpu(lambda: index.search(asked[:50], radius=radius), 1)
        row = {"n": n, "qps": 50 / seconds, "build": 0.0, "bytes_each": index.nbytes / n}
        print(json.dumps({"task": task, "who": "bits", **row, "candidates": n * 16, "probes": 32, "tables": 64}))


def stored(index: nk.HammingIndex, asked: Any, radius: int, hits: nk.SearchResult) -> Row:
    """Seconds of saving, opening, the first search, and verifying; the file was just written, so it lies in memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.nks"
        clock = [time.perf_counter()]
        index.save(path)
        clock.append(time.perf_counter())
        opened = nk.HammingIndex.open(path)
        clock.append(time.perf_counter())
        one = opened.search(asked[:1], radius=radius)
        clock.append(time.perf_counter())
        opened.verify()
        clock.append(time.perf_counter())
        same = np.array_equal(opened.search(asked, radius=radius).ids, hits.ids) and len(one) == 1
        size = path.stat().st_size
    save, open_, first, verify = np.diff(clock).tolist()
    return {"bytes": size, "save": save, "open": open_, "first_search": first, "verify": verify, "equal": bool(same)}


def skew(section: Section) -> None:
    """Bits that are not fair: the cost should stay near that of the output."""
    radius, count = 3, 2000
    for kind in made.SKEWS:
        # Where nearly every bit is alike there is nothing to look up, and the scan has thousands of matches per query.
        n = section.size(1_000_000 if "probability" in kind else 10_000_000)
        codes = made.skewed(kind, n)
        asked = made.queries_near(codes, 64, count, radius, 5)
        if kind == "a tenth are identical":
            # No query near the copies: each would have a million matches, and finding them is the output's cost.
            values, counts = np.unique(codes[: n // 100], return_counts=True)
            common_one = values[counts.argmax()]
            asked = asked[np.bitwise_count(asked ^ common_one) > radius]
        build, index = indexed(codes, 64, radius)
        seconds, hits = cpu(lambda index=index, asked=asked: index.search(asked, radius=radius))
        _, plain = indexed(codes, 64, None, "scan")
        scanned, same = cpu(lambda plain=plain, asked=asked: plain.search(asked, radius=radius), 1)
        if not np.array_equal(hits.ids, same.ids):
            raise SystemExit("the tables differ from the scan")
        figures = {"qps": len(asked) / seconds, "scan_qps": len(asked) / scanned, "build": build}
        figures |= {"matches_each": len(hits.ids) / len(asked), "bytes_each": index.nbytes / n}
        section.put(f"{kind}, n = {n:,}", "nearkin", **figures, **plan_of(index, radius))
        del index, plain
    n = section.size(10_000_000)
    codes = made.skewed("a tenth are identical", n)
    build, index = indexed(codes, 64, radius)
    values, counts = np.unique(codes[: n // 100], return_counts=True)
    query = values[counts.argmax()]
    seconds, hits = cpu(lambda: index.search(query, radius=radius))
    section.put(
        f"a tenth are identical, n = {n:,}",
        "nearkin, asked for the copies",
        seconds=seconds,
        matches=len(hits.ids),
        ns_a_match=1e9 * seconds / len(hits.ids),
    )


def wall_of(work: Callable[[], Any], count: int) -> float:
    """Wall seconds in which `count` threads have each done `work` once."""
    start = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work) for _ in range(count)]:
            done.result()
    return time.perf_counter() - start


def threads(section: Section) -> None:
    """Wall seconds with one and with two threads, the best of five in turn."""
    n = section.size(10_000_000)
    codes = made.random_codes(64, n, 1)
    asked = made.queries_near(codes, 64, 100_000, 3, 2)
    _, index = indexed(codes, 64, 3)
    _, plain = indexed(codes, 64, None, "scan")
    planted = made.with_planted_pairs(n // 5, 3)

    def join() -> Any:
        fresh = nk.HammingIndex(64)
        fresh.add(None, planted)
        return fresh.pairs(3)

    # More than the last cache holds.
    block = np.ones(40_000_000, dtype=np.uint64)
    # What the machine gives: two threads that share nothing, on loops that only compute or only read.
    halves: dict[str, Callable[[], Any]] = {
        "limit: computing alone (PBKDF2)": lambda: hashlib.pbkdf2_hmac("sha256", b"key", b"salt", 200_000),
        "limit: reading memory alone (sums of 320 MB)": lambda: [block.sum() for _ in range(2)],
    }
    for task, half in halves.items():
        best = {1: float("inf"), 2: float("inf")}
        for _ in range(5):
            for count in best:
                best[count] = min(best[count], wall_of(half, count))
        section.put(task, "the machine", one=2 * best[1], two=best[2], ratio=2 * best[1] / best[2])

    works: dict[str, Callable[[], Any]] = {
        "radius 3 of 64, tables, 100,000 queries": lambda: index.search(asked, radius=3),
        "radius 3 of 64, scan, 1,000 queries": lambda: plain.search(asked[:1000], radius=3),
        "radius 3 of 64, scan, one query": lambda: plain.search(asked[:1], radius=3),
        "top 10 of 64, scan, 300 queries": lambda: plain.nearest(asked[:300], k=10),
        f"build and all pairs within 3, {n // 5:,} of them": join,
    }
    for task, work in works.items():
        best = {1: float("inf"), 2: float("inf")}
        for _ in range(5):
            for count in best:
                nk.set_num_threads(count)
                start = time.perf_counter()
                work()
                best[count] = min(best[count], time.perf_counter() - start)
        section.put(f"{task}, n = {n:,}", "nearkin", one=best[1], two=best[2], ratio=best[1] / best[2])
    nk.set_num_threads(1)
