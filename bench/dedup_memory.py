"""Memory of a whole deduplication by the number of documents: documents of 1 KB of random words, none near another.

    python bench/dedup_memory.py 100000 200000 400000

For each number the peak of `nearkin dedup` (a process of its own), with row numbers and with ids of 12 characters, and
the bytes per document between one number and the one before it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import common

WORDS, LENGTH, SEED = 50_000, 1_000, 7


def write_corpus(path: Path, documents: int) -> None:
    """JSON lines with ids and texts."""
    rng = random.Random(SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(WORDS)]
    with path.open("w") as file:
        for number in range(documents):
            text = " ".join(rng.choices(words, k=LENGTH * 3 // 20))[:LENGTH]
            file.write(json.dumps({"id": f"doc-{number:08d}", "text": text}) + "\n")


def peak(corpus: Path, out: Path, *options: str) -> int:
    """Peak of the resident set, bytes, of one call."""
    command = [sys.executable, "-m", "nearkin", "dedup", str(corpus), "-o", str(out), "-q", "--overwrite", *options]
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"`{' '.join(command)}` failed")
    return usage.ru_maxrss * 1024


def main() -> None:
    """Measure each number of documents, and print a line for it."""
    before: tuple[int, list[int]] | None = None
    rows: list[dict[str, int]] = []
    print("documents\trow numbers, MB\tids, MB\trow numbers, bytes per document\tids, bytes per document")
    with tempfile.TemporaryDirectory() as folder:
        for documents in map(int, sys.argv[1:]):
            corpus, out = Path(folder, "corpus.jsonl"), Path(folder, "out")
            write_corpus(corpus, documents)
            peaks = [peak(corpus, out), peak(corpus, out, "--id-column", "id")]
            slopes = ["-", "-"]
            if before is not None:
                pairs = zip(peaks, before[1], strict=True)
                slopes = [f"{(now - then) / (documents - before[0]):.0f}" for now, then in pairs]
            print(f"{documents:,}", *(f"{value / 1e6:.0f}" for value in peaks), *slopes, sep="\t", flush=True)
            before = documents, peaks
            rows.append({"documents": documents, "row_numbers_bytes": peaks[0], "ids_bytes": peaks[1]})
    print(common.save("dedup-memory", {"rows": rows, "length": LENGTH}))


if __name__ == "__main__":
    main()
