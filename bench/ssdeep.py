"""Fuzzy digests: hashing, comparing and searching, compared with the ssdeep program and other packages.

    python bench/ssdeep.py [--digests FILE.gz] [--parts hashing comparing searching] [--report [FILE]]

One thread, CPU time. The program `ssdeep` (a Debian package) reads files on memory-backed storage; its CPU time has its
start. Packages that are not installed are left out with a message. Every digest and score is compared with
nearkin's, and a peer with other values is marked. A partial run keeps the other parts of the last run; `carried` in the
file names that run. The tables are in docs/benchmarks.md.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.metadata
import os
import platform
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import common
import nearkin as nk

ROUNDS = 3


PARTS = ("hashing", "comparing", "searching")


NAMES = {"python-ssdeep": "python-ssdeep 3.4", "pydeep2": "pydeep2 0.5.1", "ppdeep": "ppdeep"}


WAYS = {"program": "ssdeep 2.14.1 (program)", "Hasher": "nearkin `Hasher`", "path": "nearkin, a path"}


def peers() -> dict[str, tuple[Callable[[bytes], str], Callable[[str, str], int]]]:
    # This file has the name of a peer's module, and its folder comes first on the path.
    sys.path[:] = [
        position for position in sys.path if Path(position or ".").resolve() != Path(__file__).resolve().parent
    ]
    sys.modules.pop("ssdeep", None)
    results: dict[str, tuple[Any, Any]] = {"nearkin": (nk.ssdeep.hash, nk.ssdeep.compare)}
    for name, module, hash_name in (
        ("python-ssdeep", "ssdeep", "hash"),
        ("pydeep2", "pydeep", "hash_buf"),
        ("ppdeep", "ppdeep", "hash"),
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                package = importlib.import_module(module)
        except ImportError:
            print(f"{name}: not installed, left out")
            continue
        results[name] = (getattr(package, hash_name), package.compare)
    return results


def best(work: Callable[[], Any], repeats: int = 1) -> float:
    lowest = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(repeats):
            work()
        lowest = min(lowest, (time.process_time() - start) / repeats)
    return lowest


def program_seconds(folder: Path, data: bytes, repeats: int) -> tuple[float, str]:
    paths = [folder / f"{i}" for i in range(repeats)]
    for path in paths:
        path.write_bytes(data)
    lowest, digest = float("inf"), ""
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(["ssdeep", "-b", *map(str, paths)], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        lowest = min(lowest, spent / repeats)
        digest = done.stdout.splitlines()[1].rsplit(",", 1)[0]
    for path in paths:
        path.unlink()
    return lowest, digest


def text(size: int) -> bytes:
    generator = np.random.default_rng(0)
    letters = np.frombuffer(b"etaoinshrdlucmfwygpbvk", dtype=np.uint8)
    words = [bytes(generator.choice(letters, n)) for n in generator.integers(2, 10, 5000)]
    picks = (5000 * generator.random(size // 4) ** 3).astype(int)
    joined = b"".join(words[i] + (b"\n" if i % 11 == 0 else b" ") for i in picks)
    assert len(joined) >= size
    return joined[:size]


def hashing() -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    print("\n## Hashing, MB/s of CPU time\n")
    packages = peers()
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - storage in memory, if there is one
    program = shutil.which("ssdeep")
    print("| input | " + " | ".join(packages) + " | ssdeep (program) | nearkin Hasher | nearkin path |")
    print("|---" * (len(packages) + 4) + "|")
    with tempfile.TemporaryDirectory(dir=folder) as position:
        for size, repeats in ((1_000, 3000), (10_000, 300), (1_000_000, 10), (100_000_000, 1)):
            for kind, data in (
                ("random", np.random.default_rng(1).bytes(size)),
                ("text", text(size)),
                ("zeros", bytes(size)),
            ):
                digest = nk.ssdeep.hash(data)
                row: dict[str, Any] = {"input": kind, "bytes": size}
                cells = []
                for name, (hash_one, _) in packages.items():
                    if name == "ppdeep" and size > 1_000_000:
                        cells.append("-")
                        continue
                    options = hash_one(data)
                    options = options.decode() if isinstance(options, bytes) else options
                    note = "" if options == digest else " (other digest)"
                    times = best(lambda h=hash_one, d=data: h(d), 1 if name == "ppdeep" else repeats)
                    row[name] = size / times / 1e6
                    row[f"{name} agrees"] = options == digest
                    cells.append(f"{size / times / 1e6:.0f}{note}")
                if program:
                    seconds, options = program_seconds(Path(position), data, repeats)
                    assert digest == options, (kind, size)
                    row["program"] = size / seconds / 1e6
                    cells.append(f"{size / seconds / 1e6:.0f}")
                else:
                    cells.append("not installed")

                def stream(data: bytes = data) -> str:
                    hasher = nk.ssdeep.Hasher()
                    hasher.update(data)
                    return hasher.digest()

                assert digest == stream()
                row["Hasher"] = size / best(stream, repeats) / 1e6
                cells.append(f"{row['Hasher']:.0f}")
                path = Path(position) / "input"
                path.write_bytes(data)
                assert digest == nk.ssdeep.hash(path)
                row["path"] = size / best(lambda p=path: nk.ssdeep.hash(p), repeats) / 1e6
                cells.append(f"{row['path']:.0f}")
                path.unlink()
                results.append(row)
                print(f"| {kind} {size:,} | " + " | ".join(cells) + " |", flush=True)
    return results


def pairs(near: bool, count: int) -> list[tuple[str, str]]:
    generator = random.Random(3)
    results = []
    while len(results) < count:
        data = bytearray(generator.randbytes(40_000))
        a = nk.ssdeep.hash(bytes(data))
        if near:
            for _ in range(5):
                data[generator.randrange(len(data))] ^= 1
        else:
            data = bytearray(generator.randbytes(40_000))
        b = nk.ssdeep.hash(bytes(data))
        if a.split(":")[0] == b.split(":")[0] and (nk.ssdeep.compare(a, b) > 0) == near:
            results.append((a, b))
    return results


def comparing() -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    print("\n## Comparing, million pairs per second of CPU time\n")
    packages = peers()
    print("| call by call from Python | " + " | ".join(packages) + " |")
    print("|---" * (len(packages) + 1) + "|")
    for kind, near in (("unrelated", False), ("near", True)):
        chosen = pairs(near, 500)
        row: dict[str, Any] = {"pairs": kind, "by": "call"}
        cells = []
        for name, (_, compare) in packages.items():
            same = all(nk.ssdeep.compare(a, b) == compare(a, b) for a, b in chosen[:100])

            def work(compare: Callable[[str, str], int] = compare, chosen: list[tuple[str, str]] = chosen) -> None:
                for a, b in chosen:
                    compare(a, b)

            rate = len(chosen) / best(work, 1 if name == "ppdeep" else 200) / 1e6
            row[name], row[f"{name} agrees"] = rate, same
            cells.append(f"{rate:.3f}{'' if same else ' (other scores)'}")
        results.append(row)
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    print("\n| in a batch, nearkin | compare_many, list | compare_many, Arrow | matrix |\n|---|---|---|---|")
    for kind, near in (("unrelated", False), ("near", True)):
        # Near: all copies of one input, each edited on its own.
        generator = random.Random(4)
        base = generator.randbytes(40_000)
        digests = []
        for _ in range(3000):
            data = bytearray(base if near else generator.randbytes(40_000))
            for _ in range(5):
                data[generator.randrange(len(data))] ^= 1
            digests.append(nk.ssdeep.hash(bytes(data)))
        sizes = [digest.split(":")[0] for digest in digests]
        usual = max(set(sizes), key=sizes.count)
        digests = [digest for digest, size in zip(digests, sizes, strict=True) if size == usual]
        many = best(lambda d=digests: nk.ssdeep.compare_many(d[0], d), 50)
        column = pa.array(digests)
        assert np.array_equal(nk.ssdeep.compare_many(digests[0], column), nk.ssdeep.compare_many(digests[0], digests))
        in_place = best(lambda d=digests, c=column: nk.ssdeep.compare_many(d[0], c), 50)
        whole = best(lambda d=digests: nk.ssdeep.matrix(d))
        positive = np.count_nonzero(nk.ssdeep.matrix(digests)) / len(digests) ** 2
        print(
            f"| {kind} ({positive:.0%} above 0) | {len(digests) / many / 1e6:.1f} "
            f"| {len(digests) / in_place / 1e6:.1f} | {len(digests) ** 2 / whole / 1e6:.1f} |",
            flush=True,
        )
        results.append(
            {
                "pairs": kind,
                "by": "batch",
                "above 0": positive,
                "compare_many list": len(digests) / many / 1e6,
                "compare_many Arrow": len(digests) / in_place / 1e6,
                "matrix": len(digests) ** 2 / whole / 1e6,
            }
        )
    return results


def searching(path: Path) -> dict[str, Any]:
    results: dict[str, Any] = {}
    print("\n## Searching real digests, seconds of CPU time\n")
    with gzip.open(path, "rt") as file:
        digests = file.read().split()
    sample = random.Random(5).sample(digests, 2000)

    def timed(name: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        results[name] = {"seconds": time.process_time() - start, "result": repr(result)}
        print(f"| {name} | {results[name]['seconds']:.3f} | {result!r} |", flush=True)
        return result

    print("| what | seconds | result |\n|---|---|---|")
    index = nk.DigestIndex()
    timed("add", lambda: index.add(None, digests))
    for threshold in (1, 50, 90):
        timed(f"all pairs from {threshold}", lambda t=threshold: index.pairs(t))
        timed(f"centred clusters from {threshold}", lambda t=threshold: index.clusters(t))
        timed(f"connected clusters from {threshold}", lambda t=threshold: index.clusters(t, linkage="connected"))
    times = []
    for query in sample:
        start = time.perf_counter()
        index.search([query])
        times.append(time.perf_counter() - start)
    for query in sample[:50]:
        scores = nk.ssdeep.compare_many(query, digests)
        hits = index.search([query])
        assert np.array_equal(np.flatnonzero(scores), np.sort(hits.ids))
        assert np.array_equal(scores[hits.ids], hits.scores)
    low, middle, high = 1000 * np.percentile(times, [50, 99, 100])
    print(f"\nOne search, wall: median {low:.3f} ms, 99% {middle:.3f} ms, longest {high:.3f} ms")
    print(f"Memory: {index.nbytes / len(digests):.0f} bytes per digest")
    results["search"] = {"median ms": low, "99% ms": middle, "longest ms": high, "queries checked by brute force": 50}
    results["bytes a digest"] = index.nbytes / len(digests)
    return results


def main() -> None:
    shared = common.ROOT.parent / "shared" / "data" / "ssdeep_digests.txt.gz"
    options = common.arguments(
        __doc__,
        ("--digests", {"type": Path, "default": shared, "help": "gzip of digests, one per line"}),
        ("--parts", {"nargs": "+", "choices": PARTS, "default": PARTS}),
    )
    if options.report is not None:
        publish(common.latest("ssdeep", options.report))
        return
    nk.set_num_threads(1)
    print(f"nearkin {nk.__version__}, Python {platform.python_version()}, {platform.machine()}")
    run: dict[str, Any] = {}
    if "hashing" in options.parts:
        run["hashing"] = hashing()
    if "comparing" in options.parts:
        run["comparing"] = comparing()
    if "searching" in options.parts:
        if options.digests.is_file():
            run["searching"] = searching(options.digests)
        else:
            print(f"\n{options.digests} is missing: searching is left out")
    if set(run) != set(PARTS) and common.runs("ssdeep"):
        last = common.latest("ssdeep")
        kept = [part for part in PARTS if part in last and part not in run]
        common.carry("ssdeep", last, kept)
        run = {part: last[part] for part in kept} | run
    publish(run)
    print(f"\n{common.save('ssdeep', run, versions=common.versions('ssdeep', 'pydeep2', 'ppdeep'), threads=1)}")


def publish(run: dict[str, Any]) -> None:
    page = "benchmarks.md"
    if "hashing" in run:
        names = [name for name in ("nearkin", *NAMES, "program", "Hasher", "path") if name in run["hashing"][0]]
        rows = [
            [f"{row['input']}, {_size(row['bytes'])}", *(_figure(row.get(name), 0) for name in names)]
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
        rows = [[f"call by call, {row['pairs']}", *(_figure(row[name], 3) for name in names)] for row in calls]
        head = ["million pairs per CPU second, one thread", *(NAMES.get(name, name) for name in names)]
        for row in run["comparing"]:
            if row["by"] == "batch":
                for way in ("compare_many list", "compare_many Arrow", "matrix"):
                    rows.append([f"{way}, {row['pairs']}", _figure(row[way], 1), *("" for _ in names[1:])])
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


def _size(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB"


def _figure(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}" if value >= 10 or digits else f"{value:.1f}"


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
