"""Peers of the deduplication benchmarks: each reads files, removes near-duplicates, and writes the kept documents.

    python bench/dedup_peers.py PEER CORPUS FOLDER [--grams 3] [--workers 1]

CORPUS is a file of JSON lines, or for datatrove, text-dedup and Daft a folder with `documents/*.parquet`. The kept
documents go to `FOLDER/out`, temporary files to `FOLDER/work`. Nothing of nearkin is imported, because a peer may need
its own environment. All peers compare word n-grams at a threshold of 0.8, and none verifies its candidates:

- `datasketch`, `rensa`, `gaoya`: greedy loops over all texts in memory, 128 values; a document is kept if the index of
  kept documents has no match. `FOLDER/loop.json` has the CPU seconds of the loop alone.
- `fastsketchlsh`: a loop as well, with sketches of 128 values in 16 bands, as its README has them; all documents are
  inserted, and a document is kept if it shares no band with an earlier one.
- `datatrove`: its four MinHash stages with its default of 14 bands of 8 64-bit values; a pair of similarity 0.8 shares
  a band with probability 0.924. It keeps one document of each connected component.
- `text-dedup`: its command `minhash` with its faster hash and its default of 250 values, in 16 bands of 15; a pair of
  similarity 0.8 shares a band with probability 0.436. Connected components.
- `daft`: its expression `minhash` over normalised words with datatrove's bands (values of 32 bits), grouped by band;
  components by a loop on the driver.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

THRESHOLD, VALUES = 0.8, 128
# The defaults of datatrove.
BANDS, ROWS = 14, 8


def word_grams(text: str, size: int) -> set[str]:
    """Return word n-grams, as the READMEs of rensa and datasketch build them."""
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + size]) for i in range(max(len(words) - size + 1, 1))}


def loop_datasketch(texts: list[str], size: int) -> Iterator[int]:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=THRESHOLD, num_perm=VALUES)
    for start in range(0, len(texts), 1000):
        grams = [[gram.encode() for gram in word_grams(text, size)] for text in texts[start : start + 1000]]
        for row, minhash in enumerate(MinHash.bulk(grams, num_perm=VALUES), start):
            if not index.query(minhash):
                index.insert(row, minhash, check_duplication=False)
                yield row


def loop_rensa(texts: list[str], size: int) -> Iterator[int]:
    from rensa import RMinHash, RMinHashDeduplicator

    deduplicator = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=VALUES, use_lsh=True, num_bands=16)
    for row, text in enumerate(texts):
        minhash = RMinHash(num_perm=VALUES, seed=42)
        minhash.update(list(word_grams(text, size)))
        if deduplicator.add(str(row), minhash):
            yield row


def loop_gaoya(texts: list[str], size: int) -> Iterator[int]:
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(32, THRESHOLD, None, None, VALUES, "word", True, (size, size), "smallvec")
    for row, text in enumerate(texts):
        if not index.query(text):
            index.insert_document(row, text)
            yield row


def loop_fastsketchlsh(texts: list[str], size: int) -> Iterator[int]:
    import numpy as np
    from FastSketchLSH import LSH, FastSimilaritySketch

    sketcher, index = FastSimilaritySketch(size=VALUES, seed=42), LSH(num_perm=VALUES, num_bands=16, num_threads=1)
    batches = (texts[start : start + 1000] for start in range(0, len(texts), 1000))
    grams = ([list(word_grams(text, size)) for text in batch] for batch in batches)
    sketches = np.vstack([sketcher.batch(batch, num_threads=1) for batch in grams])
    index.insert(sketches)
    matches, bounds = index.query(sketches, format="csr")
    first = np.minimum.reduceat(matches, bounds[:-1].astype(np.int64))  # each document matches itself
    yield from np.flatnonzero(first == np.arange(len(texts))).tolist()


LOOPS: dict[str, Callable[[list[str], int], Iterator[int]]] = {
    "datasketch": loop_datasketch,
    "rensa": loop_rensa,
    "gaoya": loop_gaoya,
    "fastsketchlsh": loop_fastsketchlsh,
}


def run_loop(name: str, corpus: Path, folder: Path, size: int) -> None:
    """Read the texts, time the loop, and write the lines of the documents that it keeps."""
    with corpus.open("rb") as file:
        lines = list(file)
    texts = [json.loads(line)["text"] for line in lines]
    next(LOOPS[name](texts[:1], size))  # imports
    start = time.process_time()
    kept = list(LOOPS[name](texts, size))
    (folder / "loop.json").write_text(json.dumps({"loop_cpu": time.process_time() - start}))
    with (folder / "out" / "kept.jsonl").open("wb") as file:
        file.writelines(lines[row] for row in kept)


def run_datatrove(corpus: Path, folder: Path, size: int, workers: int) -> None:
    """Run its four stages with a task per file, and per band in the second stage."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline import readers, writers
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig

    config = MinhashConfig(n_grams=size)
    if (config.num_buckets, config.hashes_per_bucket) != (BANDS, ROWS):
        raise SystemExit(f"the defaults of datatrove are {config}, not those that this benchmark states")
    signatures, buckets, removed_ids = (str(folder / "work" / name) for name in ("signatures", "buckets", "removed"))

    def adapter(_: Any, row: dict[str, Any], *place: Any) -> dict[str, Any]:
        # Its writer drops an id of 0, and expects strings.
        return {**row, "id": str(row["id"])}

    if corpus.is_file():
        reader, files = readers.JsonlReader(str(corpus.parent), glob_pattern=corpus.name, adapter=adapter), 1
        writer = writers.JsonlWriter(str(folder / "out"), compression=None)
    else:
        files = len(list((corpus / "documents").iterdir()))
        reader = readers.ParquetReader(str(corpus / "documents"), adapter=adapter)
        writer = writers.ParquetWriter(str(folder / "out"))
    stages: list[tuple[int, list[Any]]] = [
        (files, [reader, MinhashDedupSignature(signatures, config)]),
        (BANDS, [MinhashDedupBuckets(signatures, buckets, config=config)]),
        (1, [MinhashDedupCluster(buckets, removed_ids, config)]),
        (files, [reader, MinhashDedupFilter(removed_ids), writer]),
    ]
    for number, (tasks, steps) in enumerate(stages):
        logs = str(folder / "work" / f"logs{number}")
        LocalPipelineExecutor(steps, tasks, min(tasks, workers), logging_dir=logs).run()


def run_text_dedup(corpus: Path, folder: Path, size: int, workers: int) -> None:
    """Run its command."""
    kind, files = ("json", corpus) if corpus.is_file() else ("parquet", corpus / "documents" / "*.parquet")
    command: list[Any] = [sys.executable, "-m", "text_dedup.minhash", "--path", kind, "--data_files", files]
    command += ["--split", "train", "--column", "text", "--cache_dir", folder / "work" / "cache"]
    command += ["--output", folder / "out", "--ngram", size, "--threshold", THRESHOLD, "--hash_func", "xxh3"]
    os.execv(sys.executable, [*map(str, command), "--num_proc", str(workers)])  # noqa: S606


def run_daft(corpus: Path, folder: Path, size: int, workers: int) -> None:
    """Compute signatures, buckets and files with Daft, and components with a loop."""
    import daft as engine
    import pyarrow as pa
    from daft import col

    engine.set_runner_native(num_threads=workers)
    pages = engine.read_parquet(str(corpus / "documents" / "*.parquet"))
    words = col("text").normalize(remove_punct=True, lowercase=True, nfd_unicode=True, white_space=True)
    signature = words.minhash(num_hashes=BANDS * ROWS, ngram_size=size, seed=1, hash_function="xxhash")
    rows = pages.select("id", signature.chunk(ROWS).alias("values"))
    rows = rows.with_column("band", engine.lit(list(range(BANDS)))).explode("values", "band")
    keys = rows.select("id", "band", col("values").hash().alias("key"))
    shared = keys.groupby("band", "key").agg(col("id").list_agg().alias("ids")).where(col("ids").list_count() > 1)
    removed_ids = absorbed_ids(shared.select("ids").to_arrow()["ids"].to_pylist())
    removed = engine.from_arrow(pa.table({"id": pa.array(removed_ids, pa.int64())}))
    pages.join(removed, on="id", how="anti").write_parquet(str(folder / "out"))
    # All files are written; threads of Daft 0.7.26 may abort the exiting interpreter (PyGILState_Release).
    os._exit(0)


def absorbed_ids(buckets: list[list[int]]) -> list[int]:
    """Return all ids but the smallest of each component of documents that share a bucket."""
    parent: dict[int, int] = {}

    def root(item: int) -> int:
        while (above := parent.setdefault(item, item)) != item:
            parent[item] = item = parent[above]
        return item

    for bucket in buckets:
        first = root(min(bucket))
        for other in bucket:
            low, high = sorted((first, root(other)))
            parent[high] = first = low
    return [item for item in parent if root(item) != item]


PROGRAMS = {"datatrove": run_datatrove, "text-dedup": run_text_dedup, "daft": run_daft}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("peer", choices=[*LOOPS, *PROGRAMS])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--grams", type=int, default=3, help="words of a feature")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    # Files of this folder have names of packages.
    sys.path.pop(0)
    for name in ("out", "work"):
        (options.folder / name).mkdir(exist_ok=True)
    if options.peer in LOOPS:
        run_loop(options.peer, options.corpus, options.folder, options.grams)
    else:
        PROGRAMS[options.peer](options.corpus, options.folder, options.grams, options.workers)


if __name__ == "__main__":
    main()
