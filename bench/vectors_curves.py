"""Recall against time as people get it: single queries from Python and batches, all peers beside each other.

`measured` starts a child process for each set and each number of threads. "As installed" is what every package takes
by itself; for "one thread" the environment says so to all of them (`OMP_NUM_THREADS=1` and the like), and those that
read none are told. A child builds all indexes, then goes through all of them and all knobs in rounds, so that a machine
that slows down slows all; the lowest of the rounds is kept, in seconds of the clock. `at` reads from a
curve the time at a recall: of the points that no other beats in both, log time is interpolated linearly.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SETS = {"sift": "vec_sift_bsds", "gist": "vec_cifar10_gist512", "mnist": "vec_mnist10k", "lsa": "vec_20news_lsa96"}
K = (10, 100)
SINGLE, AT_ONCE = 120, 20
"""Queries that are asked one by one in a round, and how many of them are timed together."""
RECALLS = (0.95, 0.99)
ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
THREADS: dict[str, dict[str, str]] = {"as installed": {}, "one thread": ONE}
SLOW = 0.02
"""Seconds for a query beyond which a knob is not asked in later rounds."""


def rows_of(data: Path, name: str, quick: bool) -> tuple[Any, Any, Any, str]:
    """Rows, queries, the true distances of the hundred nearest, and the type that the rows came in."""
    if name not in SETS:
        import vectors_million

        return *vectors_million.rows(int(name), quick), "uint8"
    z = np.load(data / f"{SETS[name]}.npz")
    own = str(z["base"].dtype)
    X, Q, true = (z[key].astype(np.float32) for key in ("base", "queries", "l2_distances"))
    if quick:
        X, Q = X[:4000], Q[:50]
        return X, Q, nearest_distances(X, Q, max(K)), own
    return X, Q, true.astype(np.float64), own


def nearest_distances(X: Any, Q: Any, k: int) -> Any:
    """The true distances of the nearest, by a matrix product for the choice and sums of squares for the value."""
    norms = np.einsum("ij,ij->i", X, X)
    true = np.empty((len(Q), k))
    step = max(1, 50_000_000 // len(X))
    for at in range(0, len(Q), step):
        part = Q[at : at + step]
        near = np.argpartition(norms - 2 * (part @ X.T), 2 * k, axis=1)[:, : 2 * k]
        for query, rows in enumerate(near, at):
            true[query] = np.sort(np.sqrt(((X[rows].astype(np.float64) - Q[query]) ** 2).sum(axis=1)))[:k]
    return true


def recall_of(found: Any, Q: Any, X: Any, true: Any, k: int) -> float:
    """Share of the k that are as near as the true k-th one; distances are computed here for everybody."""
    good = 0
    for query, ids in enumerate(found):
        rows = np.unique(np.asarray([row for row in ids if 0 <= row < len(X)][:k], dtype=np.int64))
        far = np.sqrt(((X[rows].astype(np.float64) - Q[query]) ** 2).sum(axis=1))
        good += int((far <= true[query, k - 1] * (1 + 1e-5) + 1e-6).sum())
    return good / (k * len(found))


def clock(call: Callable[[], Any]) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def curves(X: Any, Q: Any, true: Any, rounds: int, own: str, only: tuple[str, ...]) -> list[dict[str, Any]]:
    """Each index whose name begins with one of `only`, with its build and its points."""
    from vectors_peers import everybody

    lines, indexes, points = [], [], []
    for name, build in everybody(X, own):
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
        for k in K:
            for knob in index.knobs:
                recall = recall_of(index.rows(index.ask(knob, Q.astype(index.dtype), k)), Q, X, true, k)
                point = {"k": k, "knob": knob, "recall": round(recall, 4), "single_us": math.inf, "batch_us": math.inf}
                line["points"].append(point)
                points.append((point, index))
                # More of it changes nothing; of two knobs the other begins anew.
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
            asked = typed[index.dtype]
            ask(knob, asked[:1], k)
            for place in range(len(counts)):
                part = asked[place * AT_ONCE : place * AT_ONCE + counts[place], None]
                each = clock(lambda ask=ask, knob=knob, k=k, part=part: [ask(knob, q, k) for q in part])
                low[place] = min(low[place], each)
            point["single_us"] = round(1e6 * float(low.sum()) / sum(counts), 1)
            batch = clock(lambda ask=ask, knob=knob, k=k, asked=asked: ask(knob, asked, k))
            point["batch_us"] = min(point["batch_us"], round(1e6 * batch / len(Q), 1))
    return lines


def front(points: list[dict[str, Any]], key: str) -> list[tuple[float, float]]:
    """(recall, time) of the points that none beats in both, by rising recall."""
    found: list[tuple[float, float]] = []
    for recall, seconds in sorted(((p["recall"], p[key]) for p in points), key=lambda p: (-p[0], p[1])):
        if not found or seconds < found[-1][1]:
            found.append((recall, seconds))
    return found[::-1]


def at(points: list[dict[str, Any]], wanted: float, key: str, k: int = 10) -> float | None:
    """Microseconds at a recall; None where the curve does not reach it. One that begins above it costs its first."""
    line = front([point for point in points if point["k"] == k], key)
    above = next((place for place, (recall, _) in enumerate(line) if recall >= wanted), None)
    if above is None:
        return None
    (high, slow) = line[above]
    if above == 0 or high == wanted:
        return slow
    low, quick = line[above - 1]
    share = (wanted - low) / (high - low)
    return math.exp((1 - share) * math.log(quick) + share * math.log(slow))


def measured(
    data: Path, name: str, rounds: int, queries: int, threads: list[str], only: list[str], quick: bool
) -> dict[str, Any]:
    """A set with each number of threads, in children."""
    environment = {name: value for name, value in os.environ.items() if name not in ONE}
    out: dict[str, Any] = {}
    for each in threads:
        command = [sys.executable, __file__, str(data), name, "--rounds", str(rounds), "--queries", str(queries)]
        command += [*(["--only", *only] if only else []), *["--quick"] * quick]
        done = subprocess.run(command, env={**environment, **THREADS[each]}, stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout)
        out |= {"n": found["n"], "d": found["d"], "queries": found["queries"], each: found["lines"]}
    return out


def summary(lines: list[dict[str, Any]], k: int = 10) -> list[list[Any]]:
    """Rows of a table: microseconds at both recalls, beside the better graph of faiss; of k = 10 the costs."""

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


def main() -> None:
    """A child: measures one set, and writes it to standard output as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") == "1":
        import nearkin as nk

        nk.set_num_threads(1)
    X, Q, true, own = rows_of(given.data, given.name, given.quick)
    Q, true = Q[: given.queries], true[: given.queries]
    lines = curves(X, Q, true, 1 if given.quick else given.rounds, own, tuple(given.only))
    print(json.dumps({"n": len(X), "d": X.shape[1], "queries": len(Q), "lines": lines}))


if __name__ == "__main__":
    main()
