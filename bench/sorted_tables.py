"""Sorted permutations of bits beside the exact methods, and the tables of Manku, Jain and Das Sarma beside a directory.

A million fair fingerprints of 64 bits; each query is a stored one with as many flipped bits as its radius, and hardly
anything else is within it. CPU time on one thread, the least of three rounds of 2,000 queries in one call, of 100 for
sorted permutations. The tables of the paper are built by `crates/nearkin-core/examples/manku_tables.rs`.
The tables go into docs/hamming.md and docs/hamming-theory.md. `python bench/sorted_tables.py`
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import common
import nearkin as nk
from nearkin.index.permutations import PermutationIndex

N, QUERIES, FEW, ROUNDS = 1_000_000, 2_000, 100, 3
RADII = (3, 6, 10)
LISTS = ((25, 100), (100, 100), (25, 1000))
PAPER = (1 << 23, 20_000)
PAGE = common.ROOT / "docs" / "hamming.md"
THEORY = common.ROOT / "docs" / "hamming-theory.md"


def made(radius: int) -> tuple[Any, Any]:
    """Fingerprints, and queries at a distance from some of them."""
    rng = np.random.default_rng(radius)
    fps = rng.integers(0, 2**64, N, dtype=np.uint64)
    flips = np.array(
        [sum(1 << int(bit) for bit in rng.choice(64, radius, replace=False)) for _ in range(QUERIES)], object
    )
    return fps, fps[rng.integers(0, N, QUERIES)] ^ flips.astype(np.uint64)


def measured(make: Callable[[], Any], queries: Any, radius: int) -> dict[str, Any]:
    """Seconds to build, microseconds per query, bytes a fingerprint, matches."""
    begin = time.process_time()
    index = make()
    index.search(queries[:1], radius=radius)
    build, best, found = time.process_time() - begin, float("inf"), 0
    for _ in range(ROUNDS):
        begin = time.process_time()
        found = len(index.search(queries, radius=radius).ids)
        best = min(best, time.process_time() - begin)
    return {"build": build, "us": best / len(queries) * 1e6, "bytes": index.nbytes / N, "found": found / len(queries)}


def exact(fps: Any, method: Any, radius: int) -> Any:
    """An index of all fingerprints."""
    index = nk.HammingIndex(radius=radius, method=method)
    index.add(None, fps)
    return index


def row(radius: int) -> dict[str, Any]:
    """One radius."""
    fps, queries = made(radius)
    ways: dict[str, Any] = {}
    for method in ("scan", "multi", "auto"):
        ways[method] = measured(partial(exact, fps, method, radius), queries, radius)
    for lists, beam in LISTS:
        make = partial(PermutationIndex, fps, num_permutations=lists, beam=beam)
        ways[f"{lists} lists, beam {beam}"] = measured(make, queries[:FEW], radius)
    print(radius, ways, flush=True)
    return {"radius": radius, "ways": ways}


def paper() -> list[list[str]]:
    """The lines of the example in Rust: heads, then a line a way."""
    command = ["cargo", "run", "--release", "--quiet", "-p", "nearkin-core", "--example", "manku_tables", "--"]
    # As `make setup` builds.
    built = {**os.environ, "CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    given = [*command, *map(str, PAPER)]
    ran = subprocess.run(given, cwd=common.ROOT, env=built, check=True, capture_output=True, text=True)
    return [line.split("\t") for line in ran.stdout.splitlines()[1:]]


def report(file: str) -> None:
    """Writes the tables of the pages."""
    run = common.latest("sorted-tables", file)
    heads = ["radius", "way", "µs per query", "found per query", "bytes a fingerprint", "build, s"]
    cells = [
        [
            row["radius"],
            way,
            common.ratio(one["us"]),
            f"{one['found']:.2f}",
            f"{one['bytes']:.0f}",
            f"{one['build']:.1f}",
        ]
        for row in run["rows"]
        for way, one in row["ways"].items()
    ]
    common.splice(PAGE, "permutations", common.table(heads, cells) + "\n\n" + common.about(run))
    heads, *lines = run["paper"]
    common.splice(THEORY, "paper-tables", common.table(heads, lines) + "\n\n" + common.about(run))


if __name__ == "__main__":
    given = common.arguments(__doc__)
    if given.report is None:
        nk.set_num_threads(1)
        rows = [row(radius) for radius in RADII]
        versions = common.versions("nearkin", "numpy")
        common.save("sorted-tables", {"rows": rows, "paper": paper(), "versions": versions})
    report(given.report or "")
