"""What others take to deduplicate a corpus larger than one loop: datatrove, text-dedup, Daft, Polars; file to file.

    python bench/spark_rivals.py CORPUS [--only datatrove daft] [--workers 2]

CORPUS is a folder that `bench/spark_corpus.py` has made. Each peer runs in a process of its own, in an environment of
its own (`make .venv-spark-rivals/.built .venv-text-dedup/.built`), from the Parquet files to files of what is kept; all
of it is counted (`bench/processes.py`), imports, too.

- `datatrove`: the four stages of its MinHash at its defaults: word 5-grams (spaCy's words), 14 bands of 8 values of 64
  bits, so that a pair of similarity 0.8 shares a band with probability 0.924; components of pairs, nothing verified.
- `text-dedup`: its command `minhash` at threshold 0.8, else at its defaults, but with its faster hash: word 5-grams,
  250 values, of which it takes 16 bands of 15 (it weighs false positives and negatives alike), so that a pair of
  similarity 0.8 shares a band with probability 0.436; components, nothing verified.
- `daft`: its expression `minhash` over normalised words, with datatrove's grams and bands (values of 32 bits), grouped
  by band; components of what shares a bucket by a loop on the driver, nothing verified.
- `polars`: `unique` of the texts: exact copies alone. What a corpus takes to be read, compared and written at all.

A pair is found if not both of its documents are kept. `recall` is that of the planted pairs of J >= 0.8 by character
4-grams, `recall_near` without texts of equal 4-grams, `recall_words` of the pairs of J >= 0.8 by word 5-grams, which is
what these peers estimate; `removed_alone` are removed documents that are in no planted pair of J >= 0.8.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import common
import processes
from dedup import TEXT_DEDUP

PEERS = common.ROOT / ".venv-spark-rivals" / "bin" / "python"
THRESHOLD = 0.8
GRAMS, BANDS, ROWS = 5, 14, 8
FILES = 8


# The peers: each takes the corpus, a folder for its intermediate files, the folder of what is kept, and workers.


def datatrove(corpus: Path, work: Path, out: Path, workers: int) -> None:
    """Its four stages, a task per file, and per band in the second."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import ParquetReader
    from datatrove.pipeline.writers import ParquetWriter

    config = MinhashConfig()
    if (config.n_grams, config.num_buckets, config.hashes_per_bucket) != (GRAMS, BANDS, ROWS):
        raise SystemExit(f"the defaults of datatrove are {config}, not those that this benchmark states")
    signatures, buckets, gone = (str(work / name) for name in ("signatures", "buckets", "gone"))
    # Its writer drops an id of 0, and expects strings.
    reader = ParquetReader(str(corpus / "documents"), adapter=lambda _, row, *place: {**row, "id": str(row["id"])})
    stages: list[tuple[int, list[Any]]] = [
        (FILES, [reader, MinhashDedupSignature(signatures, config)]),
        (BANDS, [MinhashDedupBuckets(signatures, buckets, config=config)]),
        (1, [MinhashDedupCluster(buckets, gone, config)]),
        (FILES, [reader, MinhashDedupFilter(gone), ParquetWriter(str(out))]),
    ]
    for number, (tasks, steps) in enumerate(stages):
        LocalPipelineExecutor(steps, tasks, min(tasks, workers), logging_dir=str(work / f"logs{number}")).run()


def daft(corpus: Path, work: Path, out: Path, workers: int) -> None:
    """Signatures, buckets and files by Daft; components by a loop."""
    import daft as engine
    from daft import col

    engine.set_runner_native(num_threads=workers)
    pages = engine.read_parquet(str(corpus / "documents" / "*.parquet"))
    words = col("text").normalize(remove_punct=True, lowercase=True, nfd_unicode=True, white_space=True)
    signature = words.minhash(num_hashes=BANDS * ROWS, ngram_size=GRAMS, seed=1, hash_function="xxhash")
    rows = pages.select("id", signature.chunk(ROWS).alias("values"))
    rows = rows.with_column("band", engine.lit(list(range(BANDS)))).explode("values", "band")
    keys = rows.select("id", "band", col("values").hash().alias("key"))
    shared = keys.groupby("band", "key").agg(col("id").list_agg().alias("ids")).where(col("ids").list_count() > 1)
    gone = absorbed(shared.select("ids").to_arrow()["ids"])
    removed = engine.from_arrow(pa.table({"id": pa.array(gone, pa.int64())}))
    pages.join(removed, on="id", how="anti").write_parquet(str(out))


def absorbed(buckets: pa.ChunkedArray) -> list[int]:
    """All ids but the smallest of each component of what shares a bucket."""
    parent: dict[int, int] = {}

    def root(one: int) -> int:
        while (above := parent.setdefault(one, one)) != one:
            parent[one] = one = parent[above]
        return one

    for bucket in buckets.to_pylist():
        first = root(min(bucket))
        for other in bucket:
            low, high = sorted((first, root(other)))
            parent[high] = first = low
    return [one for one in parent if root(one) != one]


def polars(corpus: Path, work: Path, out: Path, workers: int) -> None:
    """The first document of each text."""
    import polars as engine

    pages = engine.scan_parquet(corpus / "documents" / "*.parquet")
    pages.unique("text", keep="first").sink_parquet(out / "kept.parquet")


CHILDREN: dict[str, Callable[[Path, Path, Path, int], None]] = {
    "datatrove": datatrove,
    "daft": daft,
    "polars": polars,
}


def text_dedup(corpus: Path, work: Path, out: Path, workers: int) -> list[Any]:
    """Its command line."""
    command = ["-m", "text_dedup.minhash", "--path", "parquet", "--split", "train", "--column", "text"]
    command += ["--data_files", str(corpus / "documents" / "*.parquet"), "--cache_dir", str(work / "cache")]
    command += ["--threshold", str(THRESHOLD), "--hash_func", "xxh3", "--num_proc", str(workers)]
    return [*command, "--output", str(out)]


@dataclass(frozen=True)
class Rival:
    """A peer: the name of its package, the Python that has it, and what it was asked to do."""

    package: str
    python: Path
    settings: dict[str, Any]


def rivals(peers: Path = PEERS, text_dedup: Path = TEXT_DEDUP) -> dict[str, Rival]:
    """All of them, by name."""
    return {
        "datatrove": Rival("datatrove", peers, banding(BANDS, ROWS, BANDS * (8 * ROWS + 4))),
        "text-dedup": Rival("text-dedup", text_dedup, banding(16, 15, 16 * 15 * 8)),
        "daft": Rival("daft", peers, banding(BANDS, ROWS, BANDS * ROWS * 4)),
        "polars": Rival("polars", peers, {"features": "the text itself"}),
    }


def banding(bands: int, rows: int, size: int) -> dict[str, Any]:
    """What a MinHash is asked to do; `size` are the bytes of its values, as they are stored or grouped."""
    return {
        "features": f"word {GRAMS}-grams",
        "bands": bands,
        "rows": rows,
        "probability_at_threshold": 1 - (1 - THRESHOLD**rows) ** bands,
        "bytes_of_a_signature": size,
    }


# Measuring


def once(name: str, rival: Rival, corpus: Path, workers: int) -> dict[str, Any]:
    """What one peer takes, and what it finds; under `missing` why it did not run."""
    if not rival.python.exists():
        return {"missing": f"{rival.python} is not there; `make {rival.python.parents[1].name}/.built`"}
    folder = Path(tempfile.mkdtemp(prefix="nearkin-rival-", dir=corpus))
    try:
        (work := folder / "work").mkdir()
        (out := folder / "out").mkdir()
        arguments: list[Any] = [__file__, corpus, "--child", name, "--work", folder, "--workers", workers]
        if name == "text-dedup":
            arguments = text_dedup(corpus, work, out, workers)
        offline = {"HF_HOME": str(work / "home"), "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
        offline |= {"DAFT_ANALYTICS_ENABLED": "0", "POLARS_MAX_THREADS": str(workers)}
        used = processes.measured([rival.python, *arguments], work, offline)
        kept = kept_ids(out)
    finally:
        shutil.rmtree(folder)
    found = accuracy(corpus, kept)
    rate = found["documents"] / used["cpu"]
    version = {"version": version_of(rival), "settings": rival.settings}
    return {**version, **used, "documents_per_cpu_second": rate, **found}


def version_of(rival: Rival) -> str:
    """The version that is installed for it."""
    program = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    done = subprocess.run([rival.python, "-c", program, rival.package], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def kept_ids(out: Path) -> NDArray[np.int64]:
    """The ids in what a peer has written: Parquet, or streams of Arrow."""
    columns = [pq.read_table(path, columns=["id"])["id"] for path in sorted(out.rglob("*.parquet"))]
    columns += [pa.ipc.open_stream(pa.memory_map(str(path))).read_all()["id"] for path in sorted(out.rglob("*.arrow"))]
    return np.concatenate([column.cast(pa.int64()).to_numpy() for column in columns])


def accuracy(corpus: Path, kept: NDArray[np.int64]) -> dict[str, Any]:
    """Recall of the planted pairs, from the ids of the documents that are kept."""
    count = json.loads((corpus / "corpus.json").read_text())["documents"]
    stays = np.zeros(count, bool)
    stays[kept] = True
    if stays.sum() != len(kept):
        raise AssertionError("a document was written twice")
    truth = pq.read_table(corpus / "truth.parquet")
    left, right, similarity, words = (truth[name].to_numpy() for name in ("left", "right", "similarity", "words"))
    found = ~(stays[left] & stays[right])
    alone = ~stays
    alone[left] = alone[right] = False
    return {
        "documents": count,
        "kept": len(kept),
        "removed_alone": int(alone.sum()),
        "recall": float(found.mean()),
        "recall_near": float(found[similarity < 1].mean()),
        "recall_words": float(found[words >= THRESHOLD].mean()),
    }


def measure(corpus: Path, names: list[str] | None = None, workers: int = 2, **pythons: Path) -> dict[str, Any]:
    """Every peer, or those that are named; one that fails says so under `failed`.

    Parameters
    ----------
    corpus : Path
        A folder that `spark_corpus.write` has made; intermediate files go there, too, and are removed.
    names : list of str, optional
        Of `rivals()`.
    workers : int, default 2
        Processes or threads of each.
    **pythons : Path
        As for `rivals`.
    """
    results: dict[str, Any] = {}
    for name, rival in rivals(**pythons).items():
        if names and name not in names:
            continue
        try:
            results[name] = once(name, rival, corpus, workers)
        except AssertionError as error:
            results[name] = {"failed": str(error)}
        print(json.dumps({name: results[name]}), file=sys.stderr, flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", nargs="*", choices=list(rivals()), help="peers to run")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--peers", type=Path, default=PEERS, help="the Python that has datatrove, Daft and Polars")
    parser.add_argument("--text-dedup", type=Path, default=TEXT_DEDUP, help="the Python that has text-dedup")
    parser.add_argument("--child", choices=list(CHILDREN), help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    corpus = options.corpus.absolute()
    if options.child:
        CHILDREN[options.child](corpus, options.work / "work", options.work / "out", options.workers)
        if options.child == "daft":
            # All is written; while the interpreter ends threads of Daft 0.7.26 may abort it (PyGILState_Release).
            os._exit(0)
        return
    pythons = {"peers": options.peers, "text_dedup": options.text_dedup}
    results = measure(corpus, options.only, options.workers, **pythons)
    about = json.loads((corpus / "corpus.json").read_text())
    print(common.save("spark-rivals", {"corpus": about, "workers": options.workers, "results": results}))


if __name__ == "__main__":
    main()
