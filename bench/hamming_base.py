"""What the sections of `bench/hamming.py` share: rows, timing, indexes, checks."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nearkin as nk

Row = dict[str, Any]


class Section:
    """Rows of one section, printed as they come."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.rows: list[Row] = []

    def put(self, task: str, who: str, **figures: Any) -> None:
        """Keep and print a row."""
        self.rows.append({"task": task, "who": who, **figures})
        shown = [
            f"{key}={value:,.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in figures.items()
        ]
        print(f"{task:40} {who:30} {'  '.join(shown)}", flush=True)

    def size(self, n: int) -> int:
        """`n`, or less as `--scale` says."""
        return max(20_000, n // self.options.scale)


def cpu(work: Callable[[], Any], repeat: int = 3) -> tuple[float, Any]:
    """Median CPU seconds of `work()` and its last result; once if it takes long."""
    times = []
    result = None
    for _ in range(repeat):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
        if times[0] > 10:
            break
    return statistics.median(times), result


def check_scan(codes: Any, asked: Any, radius: int, hits: nk.SearchResult) -> None:
    """A comparison in NumPy of the first queries with every fingerprint."""
    rows, questions = codes.reshape(len(codes), -1), asked.reshape(len(asked), -1)
    for i in range(min(10, len(questions))):
        distances = np.bitwise_count(rows ^ questions[i]).sum(axis=1)
        if sorted(np.flatnonzero(distances <= radius).tolist()) != sorted(hits[i].ids.tolist()):
            raise SystemExit(f"query {i}: the scan differs from a comparison with everything")


def indexed(
    codes: Any, bits: int, radius: int | None, method: Any = "auto", **options: Any
) -> tuple[float, nk.HammingIndex]:
    """CPU seconds of adding everything and building tables, and the index."""
    start = time.process_time()
    index = nk.HammingIndex(bits, method, radius=radius, **options)
    index.add(None, codes)
    index.search(codes[:1], radius=0 if radius is None else radius)
    return time.process_time() - start, index


def plan_of(index: nk.HammingIndex, radius: int) -> Row:
    part = max(index.explain(radius)["parts"], key=lambda part: part["slots"])
    return {key: part[key] for key in ("method", "tables", "radii", "probes", "candidates")}


def filled(index: Any, codes: Any) -> Any:
    index.add(codes)
    return index


def rss() -> int:
    """Bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def same_distances(found: Any, expected: Any) -> float:
    """The share of neighbours at the distances that they should have."""
    return float((np.sort(np.asarray(found).astype(np.int64), axis=1) == np.sort(expected, axis=1)).mean())
