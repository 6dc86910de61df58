"""Clusters of text-dedup, run in its own environment: one command line a JSON line of standard input.

Reads the corpus and the options of each run, calls the package's own command in this process, and prints the cluster of
every row and the CPU seconds of the run. Started by `bench/quality_table.py`.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path


def cpu_seconds() -> float:
    """Of this process and of those that it waited for: the package hashes in a process of its own."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    corpus, rows = sys.argv[1], int(sys.argv[2])
    for line in sys.stdin:
        family, options = json.loads(line)
        module = importlib.import_module(f"text_dedup.{family}")
        folder = Path(tempfile.mkdtemp(prefix="text-dedup-"))
        common = ["--path", "json", "--data_files", corpus, "--split", "train", "--cache_dir", str(folder / "cache")]
        common += ["--output", str(folder / "out"), "--column", "text", "--num_proc", "1", "--batch_size", "10000"]
        start = cpu_seconds()
        module.main.main([*common, *options], standalone_mode=False)
        seconds = cpu_seconds() - start
        found = {"family": family, "options": options, "cpu": seconds}
        print(
            "RESULT " + json.dumps({**found, "clusters": [int(module.uf.find(row)) for row in range(rows)]}), flush=True
        )
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
