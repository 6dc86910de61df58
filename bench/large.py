"""A corpus larger than memory: `nearkin dedup` of millions of documents of 1 KB under a memory limit of the system.

    python bench/large.py 10000000 --folder /tmp/large --family simhash --family minhash

**Corpus.** JSON lines of an id of 12 characters and a text of 150 words, drawn by counter (SplitMix64 of the numbers of
document and word) from 50,000 random words with Zipf's frequencies, so that any part is made without the rest. 18 of
100 documents are copies of an earlier one, as many with 0, 1, 2, 4 and 8 words replaced. The file stays in the folder
and is made once.

**Limit.** The command runs in a process of its own under `prlimit --data` (2 GiB unless `--limit` says otherwise): the
kernel refuses it any private memory beyond that (RLIMIT_DATA: heap, anonymous mappings, stacks of threads). Mapped
files don't count there, so the peak of the resident set, which has them, is told beside it. With `--limit 0` there is
none.

**Figures.** CPU and wall seconds; peaks of the resident set (VmHWM), of anonymous memory and of data as the limit
counts it, sampled twice a second; the most that temporary files and the folder of output took at once; recall, as the
share of the copies with J >= 0.8 to their original (character 4-grams) that are removed; and how many others are.

One JSON file of `bench/runs` has all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
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
_SLOTS = 1 << 20
_BLOCK = 2_000
_EVERY = 0.5

Numbers = NDArray[np.int64]


# The corpus


def drawn(numbers: Numbers, use: int) -> NDArray[np.uint64]:
    """SplitMix64 of numbers: 64 random bits for each, others for each use."""
    state: NDArray[np.uint64] = numbers.astype(np.uint64) * np.uint64(16) + np.uint64(use)
    state = (state + np.uint64(SEED)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def vocabulary() -> tuple[list[str], NDArray[np.uint16]]:
    """The words, and for 2^20 equally likely slots the word of each: of word i in proportion to 1 / (i + 10)."""
    rng = random.Random(SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(WORDS)]
    shares = np.cumsum(1 / (np.arange(WORDS) + 10))
    return words, np.searchsorted(shares, (np.arange(_SLOTS) + 0.5) / _SLOTS * shares[-1]).astype(np.uint16)


def is_copy(numbers: Numbers) -> NDArray[np.bool_]:
    """Which documents are copies of an earlier one; the first hundred are none."""
    return (drawn(numbers, 0) % np.uint64(100) < np.uint64(round(100 * COPIES))) & (numbers >= 100)


def originals(numbers: Numbers) -> Numbers:
    """The number of the document that each is made from: its own, unless it is a copy."""
    found = numbers.copy()
    while len(copies := np.flatnonzero(is_copy(found))):
        of = found[copies]
        found[copies] = (drawn(of, 1) % of.astype(np.uint64)).astype(np.int64)
    return found


def word_numbers(numbers: Numbers, slots: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """The words of documents, `(n, LENGTH)`: those of the original, some of them replaced."""
    of, at = originals(numbers), np.arange(LENGTH)
    found = slots[(drawn(of[:, None] * LENGTH + at, 2) % np.uint64(_SLOTS)).astype(np.int64)]
    edits = np.array(EDITS)[(drawn(numbers, 3) % np.uint64(len(EDITS))).astype(np.int64)]
    for edit in range(max(EDITS)):
        rows = np.flatnonzero((of != numbers) & (edits > edit))
        place = (drawn(numbers[rows] * 16 + edit, 4) % np.uint64(LENGTH)).astype(np.int64)
        new = (drawn(numbers[rows] * 16 + edit, 5) % np.uint64(_SLOTS)).astype(np.int64)
        found[rows, place] = slots[new]
    return found


def texts(numbers: Numbers) -> Iterator[str]:
    """The texts of documents, in order."""
    words, slots = vocabulary()
    for start in range(0, len(numbers), _BLOCK):
        for row in word_numbers(numbers[start : start + _BLOCK], slots).tolist():
            yield " ".join([words[word] for word in row])


def write_corpus(path: Path, documents: int) -> None:
    """JSON lines with ids and texts; a file that is there is whole."""
    if path.exists():
        return
    part = path.with_suffix(".part")
    with part.open("w", buffering=1 << 20) as file:
        for number, text in enumerate(texts(np.arange(documents))):
            file.write(f'{{"id": "doc-{number:08d}", "text": "{text}"}}\n')
    part.replace(path)


# The measured process


def status(pid: int) -> dict[str, int]:
    """Bytes of a process, by the kernel's name."""
    found = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("VmHWM", "RssAnon", "RssFile", "RssShmem", "VmData"):
                found[name] = int(value.split()[0]) << 10
    return found


def disk(pid: int, folder: Path) -> tuple[int, int]:
    """Bytes on disk of the files below a folder, and of files that the process holds open and that have no name."""
    named = unnamed = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            named += path.lstat().st_blocks * 512
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                held = path.stat()
                unnamed += held.st_blocks * 512 if held.st_nlink == 0 else 0
    return named, unnamed


def watched(command: list[str], folder: Path) -> dict[str, Any]:
    """Seconds, peaks and disk of a command that writes below `folder` only; its error if it fails."""
    start, peaks = time.perf_counter(), dict.fromkeys(("rss", "anonymous", "data", "temporary", "disk"), 0)
    errors = folder / "errors.txt"
    with errors.open("wb") as stream:
        process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(folder)}, stderr=stream)
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            now, (named, unnamed) = status(process.pid), disk(process.pid, folder)
            found = (now.get("VmHWM", 0), now.get("RssAnon", 0), now.get("VmData", 0), unnamed, named + unnamed)
            peaks = {name: max(peak, value) for (name, peak), value in zip(peaks.items(), found, strict=True)}
            time.sleep(_EVERY)
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


def found_copies(kept: Path, documents: int) -> dict[str, Any]:
    """How many planted copies with J >= 0.8 are removed, and how many documents that are no copies."""
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


def measured(corpus: Path, documents: int, family: str, given: argparse.Namespace) -> dict[str, Any]:
    """One run of the command, and what it found."""
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder, out = Path(name), Path(name, "out")
        command = [sys.executable, "-m", "nearkin", "dedup", str(corpus), "-o", str(out), "-q", "--id-column", "id"]
        command += ["--family", family]
        limit = ["prlimit", f"--data={given.limit}", *command] if given.limit else command
        found = {"documents": documents, "family": family, **watched(limit, folder)}
        if found["completed"]:
            summary = json.loads((out / "summary.json").read_text())
            names = ("kept", "clusters", "candidates", "verified", "expected_recall", "timings")
            found["summary"] = {name: summary[name] for name in names}
            found.update(found_copies(out / "kept.jsonl", documents))
    return found


def told(run: dict[str, Any]) -> str:
    """A line for a run."""
    end = f"recall {run['recall']:.4f}" if run["completed"] else f"failed: {run['error'][-300:]}"
    sizes = ("peak_resident_bytes", "peak_anonymous_bytes", "peak_data_bytes", "temporary_disk_bytes", "disk_bytes")
    megabytes = (f"{name.removesuffix('_bytes')} {run[name] / 1e6:,.0f} MB" for name in sizes)
    seconds = f"{run['wall_seconds']:,.0f} s wall, {run['cpu_seconds']:,.0f} s CPU"
    return ", ".join([run["family"], f"{run['documents']:,}", seconds, *megabytes, end])


def main() -> None:
    """Make the corpora, run each family on each, and save what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("documents", type=int, nargs="+")
    parser.add_argument("--folder", type=Path, required=True, help="where corpora stay, and temporary files and output")
    parser.add_argument("--family", action="append", help="simhash and minhash if not given")
    parser.add_argument("--limit", type=int, default=2 << 30, help="bytes of private memory; 0 for no limit")
    parser.add_argument("--corpus-only", action="store_true", help="make the corpora, measure nothing")
    given = parser.parse_args()
    rows = []
    for documents in given.documents:
        corpus = given.folder / f"corpus-{documents}.jsonl"
        write_corpus(corpus, documents)
        for family in () if given.corpus_only else given.family or ["simhash", "minhash"]:
            rows.append({**measured(corpus, documents, family, given), "corpus_bytes": corpus.stat().st_size})
            print(told(rows[-1]), flush=True)
            content = {"limit_bytes": given.limit, "limit": "RLIMIT_DATA", "runs": rows}
            print(common.save("large", content, versions=common.versions()), flush=True)


if __name__ == "__main__":
    main()
