"""From how many vectors on tables answer sooner than a scan of codes, and that sooner than comparing with all vectors.

Every vector has a twin at a stated share of the distance of two random ones; a query is another twin. Tables and codes
are tuned to find the twin with a recall of 0.9. CPU time on one thread, the least of three rounds of 1,000 queries in
one call.
The table goes into docs/theory/tables-or-codes.md. `python bench/crossover.py`
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import time
from typing import Any

import numpy as np

import common
import nearkin as nk

DIMENSION, QUERIES, ROUNDS, RECALL = 64, 1000, 3, 0.9
SIZES = (3_000, 10_000, 30_000, 100_000, 300_000)
SHARES = (0.2, 0.4, 0.6)
PAGE = common.ROOT / "docs" / "theory" / "tables-or-codes.md"


def made(n: int, share: float) -> tuple[Any, Any]:
    """Vectors with their twins, and queries. Two random vectors are sqrt(2 d) apart, twins `share` of that."""
    rng = np.random.default_rng(n)
    half = rng.standard_normal((n // 2, DIMENSION)).astype(np.float32)
    noise = share * np.sqrt(2, dtype=np.float32)
    twins = half + noise * rng.standard_normal(half.shape).astype(np.float32)
    picked = half[rng.integers(0, n // 2, QUERIES)]
    return np.concatenate([half, twins]), picked + noise * rng.standard_normal(picked.shape).astype(np.float32)


def nearest(X: Any, Q: Any) -> Any:
    """The row nearest to each query, by a product of matrices in batches that stay in the cache."""
    norms = (X * X).sum(1)
    return np.concatenate([(norms - 2 * Q[at : at + 50] @ X.T).argmin(1) for at in range(0, len(Q), 50)])


def measured(call: Any) -> float:
    """Microseconds of CPU time per query."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return best / QUERIES * 1e6


def row(n: int, share: float) -> dict[str, Any]:
    """One size and one share."""
    X, Q = made(n, share)
    truth = nearest(X, Q)
    found: dict[str, Any] = {"n": n, "share": share, "all": {"us": measured(lambda: nearest(X, Q))}}
    ways: dict[str, dict[str, Any]] = {"tables": {"num_probes": 8}, "codes": {"filter": "codes"}}
    for way, options in ways.items():
        family = nk.families.Hyperplane(bits=256, seed=1, orthogonal=True)
        index = nk.LSHIndex(family, metric="l2", **options)
        settings = index.tune(X, recall=RECALL, k=1)
        hits = index.nearest(Q, k=1)
        first = np.full(QUERIES, -1)
        there = np.diff(hits.offsets) > 0
        first[there] = hits.ids[hits.offsets[:-1][there]]
        found[way] = {
            "us": measured(lambda index=index: index.nearest(Q, k=1)),
            "recall": float((first == truth).mean()),
            "bytes": index.explain()["bytes_filter"] / n,
            "num_tables": settings.num_tables,
            "hashes_per_table": settings.hashes_per_table,
        }
    print(found, flush=True)
    return found


def report(file: str) -> None:
    """Writes the table of the page."""
    run = common.latest("crossover", file)
    heads = [
        "share",
        "vectors",
        "all, µs",
        "codes, µs",
        "tables, µs",
        "recall of codes",
        "of tables",
        "tables of hashes",
    ]
    cells = [
        [
            row["share"],
            f"{row['n']:,}",
            *(common.ratio(row[way]["us"]) for way in ("all", "codes", "tables")),
            *(f"{row[way]['recall']:.2f}" for way in ("codes", "tables")),
            f"{row['tables']['num_tables']} of {row['tables']['hashes_per_table']}",
        ]
        for row in run["rows"]
    ]
    common.splice(PAGE, "crossover", common.table(heads, cells) + "\n\n" + common.about(run))


if __name__ == "__main__":
    given = common.arguments(__doc__)
    if given.report is None:
        nk.set_num_threads(1)
        rows = [row(n, share) for share in SHARES for n in SIZES]
        common.save("crossover", {"rows": rows, "versions": common.versions("nearkin", "numpy")})
    report(given.report or "")
