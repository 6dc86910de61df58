"""Fuzzy digests: hashing, comparing and searching, compared with the ssdeep program and other packages.

    python bench/ssdeep.py [--digests FILE.gz] [--parts hashing comparing searching] [--report [FILE]]

One thread, CPU time. The program `ssdeep` (a Debian package) reads files on memory-backed storage; its CPU time has its
start. Packages that are not installed are left out with a message. Every digest and score is compared with
nearkin's, and a peer with other values is marked. A partial run keeps the other parts of the last run; `carried` in the
file names that run. The tables are in docs/benchmarks.md.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import common
import nearkin as nk

ROUNDS = 3


NAMES = {"python-ssdeep": "python-ssdeep 3.4", "pydeep2": "pydeep2 0.5.1", "ppdeep": "ppdeep"}


WAYS = {"program": "ssdeep 2.14.1 (program)", "Hasher": "nearkin `Hasher`", "path": "nearkin, a path"}


def peers() -> dict[str, tuple[Callable[[bytes], str], Callable[[str, str], int]]]:
    results: dict[str, tuple[Any, Any]] = {"nearkin": (nk.ssdeep.hash, nk.ssdeep.compare)}
    for name, peer, hash_name in (
        ("python-ssdeep", "ssdeep", "hash"),
        ("pydeep2", "pydeep2", "hash_buf"),
        ("ppdeep", "ppdeep", "hash"),
    ):
        if package := common.import_peer(peer):
            results[name] = (getattr(package, hash_name), package.compare)
    return results


def program_seconds(folder: Path, data: bytes, repeats: int) -> tuple[float, str]:
    paths = [folder / f"{i}" for i in range(repeats)]
    for path in paths:
        path.write_bytes(data)
    command = ["ssdeep", "-b", *map(str, paths)]
    call = partial(subprocess.run, command, capture_output=True, text=True, check=True)
    lowest = common.min_cpu(call, ROUNDS) / repeats
    digest = call().stdout.splitlines()[1].rsplit(",", 1)[0]
    for path in paths:
        path.unlink()
    return lowest, digest


def text(size: int) -> bytes:
    generator = np.random.default_rng(0)
    letters = np.frombuffer(b"etaoinshrdlucmfwygpbvk", dtype=np.uint8)
    words = [bytes(generator.choice(letters, n)) for n in generator.integers(2, 10, 5000)]
    picks = (5000 * generator.random(size // 4) ** 3).astype(int)
    joined = b"".join(words[i] + (b"\n" if i % 11 == 0 else b" ") for i in picks)
    return joined[:size]


def hashing() -> list[dict[str, Any]]:
    """Measure MB per CPU second of each candidate, by input and size."""
    packages, program, rows = peers(), shutil.which("ssdeep"), []
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - storage in memory
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = Path(name) / "input"
        for size, repeats in ((1_000, 3000), (10_000, 300), (1_000_000, 10), (100_000_000, 1)):
            inputs = {"random": np.random.default_rng(1).bytes(size), "text": text(size), "zeros": bytes(size)}
            for kind, data in inputs.items():
                digest = nk.ssdeep.hash(data)
                row: dict[str, Any] = {"input": kind, "bytes": size}
                for peer, (hash_data, _) in packages.items():
                    if peer == "ppdeep" and size > 1_000_000:
                        continue
                    value = hash_data(data)
                    row[f"{peer} agrees"] = digest == (value.decode() if isinstance(value, bytes) else value)
                    seconds = common.min_cpu(partial(hash_data, data), ROUNDS, 1 if peer == "ppdeep" else repeats)
                    row[peer] = size / seconds / 1e6
                if program:
                    seconds, value = program_seconds(Path(name), data, repeats)
                    check_equal(digest, value)
                    row["program"] = size / seconds / 1e6
                path.write_bytes(data)
                check_equal(digest, stream(data))
                check_equal(digest, nk.ssdeep.hash(path))
                row["Hasher"] = size / common.min_cpu(partial(stream, data), ROUNDS, repeats) / 1e6
                row["path"] = size / common.min_cpu(partial(nk.ssdeep.hash, path), ROUNDS, repeats) / 1e6
                path.unlink()
                rows.append(row)
                print(row, flush=True)
    return rows


def stream(data: bytes) -> str:
    hasher = nk.ssdeep.Hasher()
    hasher.update(data)
    return str(hasher.digest())


def check_equal(expected: object, actual: object) -> None:
    """Stop the benchmark if a candidate gives another result."""
    if not np.array_equal(np.asarray(expected), np.asarray(actual)):
        raise SystemExit(f"a candidate gives {actual!r} instead of {expected!r}")


def pairs(near: bool, count: int) -> list[tuple[str, str]]:
    generator = random.Random(3)
    results = []
    while len(results) < count:
        data = generator.randbytes(40_000)
        a = nk.ssdeep.hash(data)
        b = nk.ssdeep.hash(edit(data, generator) if near else generator.randbytes(40_000))
        if a.split(":")[0] == b.split(":")[0] and (nk.ssdeep.compare(a, b) > 0) == near:
            results.append((a, b))
    return results


def edit(data: bytes, generator: random.Random) -> bytes:
    edited = bytearray(data)
    for _ in range(5):
        edited[generator.randrange(len(edited))] ^= 1
    return bytes(edited)


def comparing() -> list[dict[str, Any]]:
    """Measure million pairs per CPU second: calls one by one, then batches."""
    packages, rows = peers(), []
    for kind, near in (("unrelated", False), ("near", True)):
        chosen = pairs(near, 500)
        row: dict[str, Any] = {"pairs": kind, "by": "call"}
        for name, (_, compare) in packages.items():
            row[f"{name} agrees"] = all(nk.ssdeep.compare(a, b) == compare(a, b) for a, b in chosen[:100])

            def work(compare: Callable[[str, str], int] = compare, chosen: list[tuple[str, str]] = chosen) -> None:
                for a, b in chosen:
                    compare(a, b)

            row[name] = len(chosen) / common.min_cpu(work, ROUNDS, 1 if name == "ppdeep" else 200) / 1e6
        rows.append(row)
        print(row, flush=True)
    for kind, near in (("unrelated", False), ("near", True)):
        # Near: copies of one input, each edited alone.
        generator = random.Random(4)
        base = generator.randbytes(40_000)
        digests = [nk.ssdeep.hash(edit(base if near else generator.randbytes(40_000), generator)) for _ in range(3000)]
        sizes = [digest.split(":")[0] for digest in digests]
        usual = max(set(sizes), key=sizes.count)
        digests = [digest for digest, size in zip(digests, sizes, strict=True) if size == usual]
        first, column = digests[0], pa.array(digests)
        check_equal(nk.ssdeep.compare_many(first, digests), nk.ssdeep.compare_many(first, column))
        count = len(digests)
        row = {"pairs": kind, "by": "batch", "above 0": np.count_nonzero(nk.ssdeep.matrix(digests)) / count**2}
        for way, values in (("compare_many list", digests), ("compare_many Arrow", column)):
            row[way] = count / common.min_cpu(partial(nk.ssdeep.compare_many, first, values), ROUNDS, 50) / 1e6
        row["matrix"] = count**2 / common.min_cpu(partial(nk.ssdeep.matrix, digests), ROUNDS) / 1e6
        rows.append(row)
        print(row, flush=True)
    return rows


def searching(path: Path) -> dict[str, Any]:
    """Measure CPU seconds of adding, pairs and clusters of real digests, and wall time of one search."""
    with gzip.open(path, "rt") as file:
        digests = file.read().split()
    index, results = nk.DigestIndex(), {}
    calls: dict[str, Callable[[], Any]] = {"add": partial(index.add, None, digests)}
    for threshold in (1, 50, 90):
        calls[f"all pairs from {threshold}"] = partial(index.pairs, threshold)
        calls[f"centred clusters from {threshold}"] = partial(index.clusters, threshold)
        calls[f"connected clusters from {threshold}"] = partial(index.clusters, threshold, linkage="connected")
    for name, call in calls.items():
        cpu, _, result = common.timed(call)
        results[name] = {"seconds": cpu, "result": repr(result)}
        print(name, results[name], flush=True)
    sample = random.Random(5).sample(digests, 2000)
    times = [common.timed(partial(index.search, [query]))[1] for query in sample]
    for query in sample[:50]:
        scores, hits = nk.ssdeep.compare_many(query, digests), index.search([query])
        check_equal(np.flatnonzero(scores), np.sort(hits.ids))
        check_equal(scores[hits.ids], hits.scores)
    low, middle, high = 1000 * np.percentile(times, [50, 99, 100])
    results["search"] = {"median ms": low, "99% ms": middle, "longest ms": high, "queries checked by brute force": 50}
    results["bytes a digest"] = index.nbytes / len(digests)
    return results


def main() -> None:
    shared = common.ROOT.parent / "shared" / "data" / "ssdeep_digests.txt.gz"
    options = common.arguments(
        __doc__,
        ("--digests", {"type": Path, "default": shared, "help": "gzip of digests, one per line"}),
        ("--parts", {"nargs": "+", "help": "hashing, comparing, searching (default: all)"}),
    )
    nk.set_num_threads(1)
    parts: dict[str, Callable[[], Any]] = {
        "hashing": hashing,
        "comparing": comparing,
        "searching": lambda: searching(options.digests),
    }

    def measure() -> dict[str, Any]:
        run = common.measure_parts(parts, options.parts)
        last = common.latest("ssdeep") if common.runs("ssdeep") else {}
        kept = [part for part in parts if part in last and part not in run]
        if kept:
            common.carry("ssdeep", last, kept)
        return {part: last[part] for part in kept} | run

    common.run("ssdeep", options, measure, publish, "ssdeep", "pydeep2", "ppdeep")


def publish(run: dict[str, Any]) -> None:
    page = "benchmarks.md"
    if "hashing" in run:
        names = [name for name in ("nearkin", *NAMES, "program", "Hasher", "path") if name in run["hashing"][0]]
        rows = [
            [f"{row['input']}, {format_size(row['bytes'])}", *(format_figure(row.get(name), 0) for name in names)]
            for row in run["hashing"]
        ]
        common.splice(
            page,
            "ssdeep-hashing",
            common.table(["MB per CPU second, one thread", *((NAMES | WAYS).get(n, n) for n in names)], rows),
        )
    if "comparing" in run:
        calls = [row for row in run["comparing"] if row["by"] == "call"]
        names = [name for name in ("nearkin", *NAMES) if name in calls[0]]
        rows = [[f"call by call, {row['pairs']}", *(format_figure(row[name], 3) for name in names)] for row in calls]
        head = ["million pairs per CPU second, one thread", *(NAMES.get(name, name) for name in names)]
        for row in run["comparing"]:
            if row["by"] == "batch":
                for way in ("compare_many list", "compare_many Arrow", "matrix"):
                    rows.append([f"{way}, {row['pairs']}", format_figure(row[way], 1), *("" for _ in names[1:])])
        common.splice(page, "ssdeep-comparing", common.table(head, rows))
    if "searching" in run:
        result = run["searching"]
        rows = [
            [name, f"{row['seconds']:.2f}", row["result"]]
            for name, row in result.items()
            if isinstance(row, dict) and "seconds" in row
        ]
        search = result["search"]
        rows.append(
            ["one search, wall, median", f"{search['median ms']:.3f} ms", f"99% below {search['99% ms']:.2f} ms"]
        )
        rows.append(["memory", f"{result['bytes a digest']:.0f} bytes", "per digest"])
        common.splice(page, "ssdeep-searching", common.table(["82,858 real digests", "CPU seconds", "result"], rows))


def format_size(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB"


def format_figure(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}" if value >= 10 or digits else f"{value:.1f}"


if __name__ == "__main__":
    main()
