"""Other packages on the corpora of the quality table: datasketch's MinHash and text-dedup's commands."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
from quality_cuts import Cut, of_clusters
from quality_sets import Rows, Set

TEXT_DEDUP = common.ROOT / ".venv-text-dedup" / "bin" / "python"
TEXT_DEDUP_RUNS = [("minhash", f"--threshold {step}") for step in (0.5, 0.7, 0.9)] + [("simhash", "")]
"""Its families and options: minhash at its default of 0.7 and beside it; simhash at its own, 64 bits and radius 3."""


def grams(text: str, *, chinese: bool) -> list[bytes]:
    """Word 3-grams, or character 4-grams of Chinese, which has no spaces."""
    words = re.findall(r"\w+", text.lower())
    parts, n, join = ("".join(words), 4, "") if chinese else (words, 3, " ")
    return list({join.join(parts[i : i + n]).encode() for i in range(max(len(parts) - n + 1, 1))})


def datasketch_signatures(texts: list[str], *, chinese: bool) -> tuple[list[Any], NDArray[np.int64]]:
    """Its signatures, and how many grams each is of."""
    from datasketch import MinHash

    rows, counts = [], []
    for start in range(0, len(texts), 1000):
        batch = [grams(text, chinese=chinese) for text in texts[start : start + 1000]]
        counts += [0 if part == [b""] else len(part) for part in batch]
        rows += MinHash.bulk(batch, num_perm=128)
    return rows, np.array(counts)


def datasketch_pairs(signatures: list[Any], counts: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """What its index gives at its default threshold, 0.9."""
    from datasketch import MinHashLSH

    index = MinHashLSH(num_perm=128)
    pairs = []
    for row in np.flatnonzero(counts).tolist():
        pairs += [(other, row) for other in index.query(signatures[row])]
        index.insert(row, signatures[row], check_duplication=False)
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def text_dedup(corpus: Set, family: str, options: list[str]) -> tuple[Cut, float]:
    """Pairs of its clusters, and CPU microseconds per document of its command.

    Its simhash stops at a text of fewer than 5 characters; such texts are kept from it and found with nothing.
    """
    rows = [row for row, text in enumerate(corpus.texts) if family != "simhash" or len(text) >= 5]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in map(corpus.texts.__getitem__, rows))
        file.flush()
        command = [TEXT_DEDUP, common.ROOT / "bench" / "text_dedup_clusters.py", file.name, len(rows)]
        given = json.dumps([family, options]) + "\n"
        done = subprocess.run(list(map(str, command)), input=given, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    result = json.loads(line.removeprefix("RESULT "))
    # A cluster is called by one of its rows.
    clusters = np.arange(len(corpus.texts))
    clusters[rows] = np.array(rows)[result["clusters"]]
    return of_clusters(corpus, clusters), result["cpu"] / len(rows) * 1e6
