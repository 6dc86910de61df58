"""Deduplication of a corpus larger than memory: `nearkin dedup` on millions of documents of 1 KB under a memory limit.

    python bench/large.py 10000000 --folder /tmp/large --family simhash --family minhash

**Corpus.** JSON lines with an id of 12 characters and a text of 150 words. SplitMix64 of document and word number draws
the words from 50,000 random words with Zipf frequencies, so that any part of the corpus can be generated alone. 18 of
100 documents are copies of an earlier one, with 0, 1, 2, 4 or 8 words replaced in equal shares. The file is written
once and kept in the folder.

**Limit.** The command runs in its own process under `prlimit --data` (default 2 GiB; 0 for no limit). The kernel then
refuses any further private memory (RLIMIT_DATA: heap, anonymous mappings, thread stacks). Mapped files do not count, so
the peak of the resident set, which includes them, is reported as well.

**Figures.** CPU and wall seconds; peaks of the resident set (VmHWM), of anonymous memory and of data as the limit
counts it, sampled twice a second; the largest size of temporary files and output together; recall, as the share of
removed copies among those with J >= 0.8 to their original (character 4-grams); the number of other removed documents.

`--peaks 100000 200000` measures the peak of the resident set without a limit, with row numbers and with ids as
document names (docs/dedup.md).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
import nearkin as nk

WORDS, LENGTH, SEED = 50_000, 150, 7


COPIES = 0.18


EDITS = (0, 1, 2, 4, 8)


THRESHOLD = 0.8


SLOTS = 1 << 20


BLOCK = 2_000


INTERVAL = 0.5


Numbers = NDArray[np.int64]


def random_bits(numbers: Numbers, use: int) -> NDArray[np.uint64]:
    """Return 64 random bits per number (SplitMix64); each `use` gives other bits."""
    state: NDArray[np.uint64] = numbers.astype(np.uint64) * np.uint64(16) + np.uint64(use)
    state = (state + np.uint64(SEED)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def vocabulary() -> tuple[list[str], NDArray[np.uint16]]:
    """Return the words and a table of 2^20 equally likely word numbers: word i has a share of 1 / (i + 10)."""
    rng = random.Random(SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(WORDS)]
    shares = np.cumsum(1 / (np.arange(WORDS) + 10))
    return words, np.searchsorted(shares, (np.arange(SLOTS) + 0.5) / SLOTS * shares[-1]).astype(np.uint16)


def is_copy(numbers: Numbers) -> NDArray[np.bool_]:
    """Return which documents are copies of an earlier one; the first hundred are originals."""
    return (random_bits(numbers, 0) % np.uint64(100) < np.uint64(round(100 * COPIES))) & (numbers >= 100)


def originals(numbers: Numbers) -> Numbers:
    """Return the number of the original of each document: its own number unless it is a copy."""
    result = numbers.copy()
    while len(copies := np.flatnonzero(is_copy(result))):
        of = result[copies]
        result[copies] = (random_bits(of, 1) % of.astype(np.uint64)).astype(np.int64)
    return result


def word_numbers(numbers: Numbers, slots: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return the words of documents, `(n, LENGTH)`: those of the original with some replaced."""
    of, at = originals(numbers), np.arange(LENGTH)
    result = slots[(random_bits(of[:, None] * LENGTH + at, 2) % np.uint64(SLOTS)).astype(np.int64)]
    edits = np.array(EDITS)[(random_bits(numbers, 3) % np.uint64(len(EDITS))).astype(np.int64)]
    for edit in range(max(EDITS)):
        rows = np.flatnonzero((of != numbers) & (edits > edit))
        position = (random_bits(numbers[rows] * 16 + edit, 4) % np.uint64(LENGTH)).astype(np.int64)
        new = (random_bits(numbers[rows] * 16 + edit, 5) % np.uint64(SLOTS)).astype(np.int64)
        result[rows, position] = slots[new]
    return result


def texts(numbers: Numbers) -> Iterator[str]:
    words, slots = vocabulary()
    for start in range(0, len(numbers), BLOCK):
        for row in word_numbers(numbers[start : start + BLOCK], slots).tolist():
            yield " ".join([words[word] for word in row])


def write_corpus(path: Path, documents: int) -> None:
    """Write JSON lines with ids and texts, unless the file exists."""
    if path.exists():
        return
    part = path.with_suffix(".part")
    with part.open("w", buffering=1 << 20) as file:
        for number, text in enumerate(texts(np.arange(documents))):
            file.write(f'{{"id": "doc-{number:08d}", "text": "{text}"}}\n')
    part.replace(path)


def disk(pid: int, folder: Path) -> tuple[int, int]:
    """Return the bytes on disk of files below a folder, and of unnamed files that the process has open."""
    named = unnamed = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            named += path.lstat().st_blocks * 512
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                stored = path.stat()
                unnamed += stored.st_blocks * 512 if stored.st_nlink == 0 else 0
    return named, unnamed


def watch_command(command: list[str], folder: Path) -> dict[str, Any]:
    """Measure a command that writes only below `folder`: seconds, peaks and disk; its error if it fails."""
    start, peaks = time.perf_counter(), dict.fromkeys(("rss", "anonymous", "data", "temporary", "disk"), 0)
    errors = folder / "errors.txt"
    with errors.open("wb") as stream:
        process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(folder)}, stderr=stream)
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            now, (named, unnamed) = memory_status(process.pid), disk(process.pid, folder)
            result = (now.get("VmHWM", 0), now.get("RssAnon", 0), now.get("VmData", 0), unnamed, named + unnamed)
            peaks = {name: max(peak, value) for (name, peak), value in zip(peaks.items(), result, strict=True)}
            time.sleep(INTERVAL)
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
    return {
        "completed": process.returncode == 0,
        "wall_seconds": time.perf_counter() - start,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_resident_bytes": max(peaks["rss"], usage.ru_maxrss << 10),
        "peak_anonymous_bytes": peaks["anonymous"],
        "peak_data_bytes": peaks["data"],
        "temporary_disk_bytes": peaks["temporary"],
        "disk_bytes": peaks["disk"],
        **({} if process.returncode == 0 else {"error": errors.read_text(errors="replace")[-2_000:]}),
    }


def count_copies(kept: Path, documents: int) -> dict[str, Any]:
    """Count the removed copies with J >= 0.8 and the removed documents that are no copies."""
    stays = np.zeros(documents, bool)
    with kept.open("rb") as lines:
        for line in lines:
            stays[int(line[12:20])] = True
    numbers = np.arange(documents)
    planted = np.concatenate([is_copy(numbers[at : at + 1_000_000]) for at in range(0, documents, 1_000_000)])
    missed = np.flatnonzero(planted & stays)
    ends = [*texts(missed), *texts(originals(missed))]
    at = np.arange(len(missed))
    near = int((nk.similarity(ends, at, at + len(missed)) >= THRESHOLD).sum())
    removed = int((planted & ~stays).sum())
    return {
        "planted": int(planted.sum()),
        "planted_removed": removed,
        "planted_missed_at_threshold": near,
        "recall": removed / (removed + near),
        "others_removed": int((~planted & ~stays).sum()),
    }


def measure(corpus: Path, documents: int, family: str, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder, out = Path(name), Path(name, "out")
        command = [sys.executable, "-m", "nearkin", "dedup", str(corpus), "-o", str(out), "-q", "--id-column", "id"]
        command += ["--family", family]
        limit = ["prlimit", f"--data={options.limit}", *command] if options.limit else command
        results = {"documents": documents, "family": family, **watch_command(limit, folder)}
        if results["completed"]:
            summary = json.loads((out / "summary.json").read_text())
            names = ("kept", "clusters", "candidates", "verified", "expected_recall", "timings")
            results["summary"] = {name: summary[name] for name in names}
            results.update(count_copies(out / "kept.jsonl", documents))
    return results


def format_run(run: dict[str, Any]) -> str:
    end = f"recall {run['recall']:.4f}" if run["completed"] else f"failed: {run['error'][-300:]}"
    sizes = ("peak_resident_bytes", "peak_anonymous_bytes", "peak_data_bytes", "temporary_disk_bytes", "disk_bytes")
    megabytes = (f"{name.removesuffix('_bytes')} {run[name] / 1e6:,.0f} MB" for name in sizes)
    seconds = f"{run['wall_seconds']:,.0f} s wall, {run['cpu_seconds']:,.0f} s CPU"
    return ", ".join([run["family"], f"{run['documents']:,}", seconds, *megabytes, end])


def peak(corpus: Path, out: Path, *options: str) -> int:
    """Return the peak of the resident set of one call, in bytes."""
    command = [sys.executable, "-m", "nearkin", "dedup", str(corpus), "-o", str(out), "-q", "--overwrite", *options]
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"`{shlex.join(command)}` failed")
    return usage.ru_maxrss * 1024


def memory_status(pid: int) -> dict[str, int]:
    """Return the memory figures of a process in bytes, by the kernel's name."""
    values = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("VmHWM", "RssAnon", "VmData"):
                values[name] = int(value.split()[0]) << 10
    return values


def measure_peaks(sizes: list[int], folder: Path) -> None:
    """Measure the peak memory without a limit at each size, and print a line for it."""
    rows: list[dict[str, int]] = []
    for documents in sizes:
        corpus = folder / f"corpus-{documents}.jsonl"
        write_corpus(corpus, documents)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            peaks = [peak(corpus, Path(name, "out")), peak(corpus, Path(name, "out"), "--id-column", "id")]
        rows.append({"documents": documents, "row_numbers_bytes": peaks[0], "ids_bytes": peaks[1]})
        print(rows[-1], flush=True)
    print(common.save("dedup-memory", {"rows": rows, "length": LENGTH}, versions=common.versions()))


def main() -> None:
    """Write the corpora, run each family on each, and save the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("documents", type=int, nargs="*")
    parser.add_argument("--folder", type=Path, required=True, help="for corpora, temporary files and output")
    parser.add_argument("--family", action="append", help="default: simhash and minhash")
    parser.add_argument("--limit", type=int, default=2 << 30, help="bytes of private memory; 0 for no limit")
    parser.add_argument("--peaks", type=int, nargs="+", default=[], help="sizes of which to measure the peak memory")
    options = parser.parse_args()
    rows = []
    for documents in options.documents:
        corpus = options.folder / f"corpus-{documents}.jsonl"
        write_corpus(corpus, documents)
        for family in options.family or ["simhash", "minhash"]:
            rows.append({**measure(corpus, documents, family, options), "corpus_bytes": corpus.stat().st_size})
            print(format_run(rows[-1]), flush=True)
            content = {"limit_bytes": options.limit, "limit": "RLIMIT_DATA", "runs": rows}
            print(common.save("large", content, versions=common.versions()), flush=True)
    if options.peaks:
        measure_peaks(options.peaks, options.folder)


if __name__ == "__main__":
    main()
