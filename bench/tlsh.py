"""TLSH beside py-tlsh: hashing, comparing, and exact search beside brute force.

    pip install py-tlsh==5.0.0
    python bench/tlsh.py --digests 1000000

CPU time of one process, alternating between the two; the best of the rounds. Results are compared first.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# This file is named like the package.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]
import nearkin as nk  # noqa: E402
import tlsh as peer  # noqa: E402

ROUNDS = 5
CANDIDATES = 20


def best(*calls: Callable[[], Any]) -> list[float]:
    """Return the best CPU time of each call, in turn."""
    times = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for number, call in enumerate(calls):
            start = time.process_time()
            call()
            times[number] = min(times[number], time.process_time() - start)
    return times


def measure_hashes(rng: random.Random) -> None:
    """Print bytes per second for inputs of 10 KB and 1 MB."""
    for size in (10_000, 1_000_000):
        data, count = rng.randbytes(size), 2_000_000 // size
        assert nk.tlsh.hash(data) == peer.hash(data)
        ours, theirs = best(
            lambda data=data, count=count: [nk.tlsh.hash(data) for _ in range(count)],
            lambda data=data, count=count: [peer.hash(data) for _ in range(count)],
        )
        speed = size * count / 1e6
        print(f"hash {size:>9,} B: {speed / ours:6.0f} MB/s, py-tlsh {speed / theirs:6.0f}, {theirs / ours:.1f} x")


def make_digests(rng: random.Random, count: int) -> list[str]:
    """Return digests of random bodies; lengths as of files, ratios spread, and one in ten near another one."""
    digests = []
    for number in range(count):
        if number % 10 == 9:
            digits = list(digests[rng.randrange(number)])
            for at in rng.sample(range(8, 72), 3):
                digits[at] = rng.choice("0123456789ABCDEF")
            digests.append("".join(digits))
            continue
        length = min(max(int(rng.gauss(75, 14)), 20), 160)
        digests.append(f"T1{rng.randrange(256):02X}{length % 16:X}{length // 16:X}{rng.randbytes(33).hex().upper()}")
    return digests


def measure_distances(rng: random.Random) -> None:
    """Print nanoseconds per pair: one by one, one to many, and all pairs."""
    digests = make_digests(rng, 2000)
    query = digests[0]
    expected = [peer.diff(query, digest) for digest in digests]
    assert nk.tlsh.distance_many(query, digests).tolist() == expected
    times = best(
        lambda: [nk.tlsh.distance(query, digest) for digest in digests],
        lambda: nk.tlsh.distance_many(query, digests),
        lambda: nk.tlsh.matrix(digests),
        lambda: [peer.diff(query, digest) for digest in digests],
    )
    # Nanoseconds a pair.
    per_pair = [1e9 * seconds / pairs for seconds, pairs in zip(times, (2000, 2000, 2000 * 2000, 2000), strict=True)]
    for what, time_of_pair in zip(("distance", "one to many", "matrix"), per_pair[:3], strict=True):
        print(f"{what}: {time_of_pair:.2f} ns, py-tlsh {per_pair[3]:.0f}, {per_pair[3] / time_of_pair:,.1f} x")


def measure_search(rng: random.Random, count: int, distance: int) -> None:
    """Print CPU milliseconds per query, beside all distances by SIMD."""
    digests = make_digests(rng, count)
    start = time.process_time()
    index = nk.DigestIndex("tlsh")
    index.add(None, digests)
    print(f"index of {count:,}: {time.process_time() - start:.2f} s, {index.nbytes / count:.0f} bytes a digest")
    queries = rng.sample(digests, 500)
    found = index.search(queries, distance=distance)
    for start in range(0, 8, 2):
        for query, matches in zip(queries[start : start + 2], list(found)[start : start + 2], strict=True):
            assert np.flatnonzero(nk.tlsh.distance_many(query, digests) <= distance).tolist() == sorted(matches.ids)
    batch, single, brute = best(
        lambda: index.search(queries, distance=distance),
        lambda: [index.search([query], distance=distance) for query in queries[:50]],
        lambda: nk.tlsh.matrix(queries[:2], digests[:200_000]),
    )
    brute *= count / 400_000
    start = time.perf_counter()
    index.search(queries, distance=distance)
    wall = time.perf_counter() - start
    print(f"search within {distance}: {batch * 2:.3f} ms a query in batches (wall {wall * 2:.3f}), ", end="")
    print(f"{single * 20:.3f} alone, ", end="")
    print(f"all distances {1000 * brute:.1f} (parsing included); {len(found.ids) / 500:.1f} matches")


def measure_graph(rng: random.Random, count: int, distance: int) -> None:
    """Print time and recall of an approximate graph: faiss's HNSW over the bodies in Gray code, scored by TLSH.

    A graph finds nearest neighbours by the Hamming distance, of which `CANDIDATES` are scored; what is within the
    distance and not among them is missed.
    """
    import faiss

    digests = make_digests(rng, count)
    # Bits of Gray code of each bucket: a digit has two buckets.
    nibbles = np.array([[int(digit, 16) for digit in digest[8:]] for digest in digests], np.uint8)
    symbols = np.stack([nibbles >> 2, nibbles & 3], axis=2).reshape(count, -1)
    gray = symbols ^ (symbols >> 1)
    codes = np.packbits(np.stack([gray >> 1, gray & 1], axis=2).reshape(count, -1), axis=1)
    faiss.omp_set_num_threads(1)
    graph = faiss.IndexBinaryHNSW(256, 16)
    start = time.process_time()
    graph.add(codes)
    print(f"graph of {count:,}: {time.process_time() - start:.0f} s")
    index = nk.DigestIndex("tlsh")
    index.add(None, digests)
    rows = rng.sample(range(count), 300)
    queries = [digests[row] for row in rows]
    exact = index.search(queries, distance=distance)
    expected = {(row, int(hit)) for row, hits in zip(rows, exact, strict=True) for hit in hits.ids.tolist()}
    for effort in (16, 64, 256):
        graph.hnsw.efSearch = effort
        ours, theirs = best(
            lambda: [index.search([query], distance=distance) for query in queries],
            lambda: [graph.search(codes[row : row + 1], CANDIDATES) for row in rows],
        )
        hits = graph.search(codes[rows], CANDIDATES)[1].tolist()
        found = {(row, hit) for row, near in zip(rows, hits, strict=True) for hit in near if hit >= 0}
        recall = len(found & expected) / len(expected)
        others = len({pair for pair in expected if pair[0] != pair[1]} & found)
        apart = len([pair for pair in expected if pair[0] != pair[1]])
        print(
            f"graph, effort {effort}: {1000 * theirs / 300:.3f} ms a query, recall {recall:.3f} ({others} of {apart} "
            f"without the query itself); exact {1000 * ours / 300:.3f} ms"
        )


def main() -> None:
    """Measure all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digests", type=int, default=1_000_000)
    parser.add_argument("--distance", type=int, default=40)
    parser.add_argument("--graph", type=int, help="compare with a graph of this many digests alone; needs faiss")
    arguments = parser.parse_args()
    rng = random.Random(1)
    if arguments.graph:
        measure_graph(rng, arguments.graph, arguments.distance)
        return
    measure_hashes(rng)
    measure_distances(rng)
    measure_search(rng, arguments.digests, arguments.distance)


if __name__ == "__main__":
    main()
