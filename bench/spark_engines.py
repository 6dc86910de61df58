"""Deduplication on engines: Sail and Spark, compared with one machine and with other packages, file to file.

    python bench/spark_engines.py --folder FOLDER [--documents 100000 1000000] [--engines local sail spark] [--peers]

FOLDER gets a corpus of each size, unless it exists. Each engine runs in its own process from the Parquet files to
Parquet files of the kept documents; everything is measured, imports included:

- `local`: `nearkin dedup` with the default recipe of engines; `--limit` refuses it more private memory (`prlimit
  --data`: heap, anonymous mappings, thread stacks);
- `sail`: `nearkin.spark.dedup` on Sail, in the same process;
- `spark`: the same on Spark `local[2]`. Wall time starts when the session is up; CPU seconds include the session.

All three must keep the same documents. For Spark, which logs its shuffles, the bytes written before verification are
reported per document.

**Peers**, on the smallest corpus, each in its own environment (`make .venv-spark-rivals/.built` and
`.venv-text-dedup/.built`). They take the connected components of their candidates and verify nothing:

- `datatrove`: its four MinHash stages at its defaults: word 5-grams (spaCy's words), 14 bands of 8 64-bit values; a
  pair of similarity 0.8 shares a band with probability 0.924.
- `text-dedup`: its command `minhash` at threshold 0.8 with its faster hash, otherwise its defaults: word 5-grams, 250
  values, in 16 bands of 15; a pair of similarity 0.8 shares a band with probability 0.436.
- `daft`: its expression `minhash` over normalised words with datatrove's grams and bands (values of 32 bits), grouped
  by band; components by a loop on the driver.

**Corpus.** N documents of about 1 KB in `documents/part-0.parquet` to `part-7.parquet` (`id` int64, `text` string),
`truth.parquet`, and `corpus.json`, written last. 10% of the documents are near-duplicates of another one, with 1 to 20
words replaced, removed or inserted; 2% are exact copies; the others are ten random parts of about 100 characters of
Usenet messages and verses, 5% of them with a shared boilerplate of four parts. The truth has every pair of a family
with J >= 0.8 of character 4-grams: `left` < `right`, `similarity`, and `words`, the similarity of word 5-grams that the
peers estimate. A text follows from the seed and its number, so memory holds only the document order and the parts.

A pair counts as found unless both of its documents are kept. `recall_near` leaves out pairs with equal 4-grams,
`recall_words` is over pairs with J >= 0.8 of word 5-grams, `removed_alone` counts removed documents in no true pair.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import common
import dedup

NEAR, COPIES, BOILERPLATE = 0.10, 0.02, 0.05
EDITS = (1, 2, 3, 5, 8, 12, 20)
FILES, ROW_GROUP = 8, 10_000
THRESHOLD = 0.8
RECIPES = {"similarity": "char:4|binary|xxh3|simhash:64", "words": "word:5|binary|xxh3|simhash:64"}


class Corpus:
    """Documents by number (originals, near-duplicates, copies) and their order in the files."""

    def __init__(self, documents: int, seed: int, data: Path) -> None:
        self.documents, self.seed, self.data = documents, seed, data
        self.near, self.copies = round(NEAR * documents), round(COPIES * documents)
        self.originals = documents - self.near - self.copies
        rng = np.random.default_rng(seed)
        # Which original each near-duplicate or copy has, and the id of every number.
        self.original = rng.integers(0, self.originals, self.near + self.copies)
        self.ids = rng.permutation(documents)

    @cached_property
    def parts(self) -> list[str]:
        """The parts that originals consist of."""
        verses = [item["text"] for item in common.records(self.data, "en_bible_ot") if item["version"] == "KJVPCE"]
        return list(common.pieces([*common.texts(self.data, "en_20news"), " ".join(verses)], 100))

    @cached_property
    def vocabulary(self) -> list[str]:
        """Words that edits insert."""
        return sorted({word for part in self.parts[:20_000] for word in part.split()})

    @cached_property
    def boilerplate(self) -> str:
        """Four parts that some originals share."""
        return " ".join(random.Random(self.seed).sample(self.parts, 4))

    def text(self, number: int) -> str:
        """Return the text of a document."""
        rng = random.Random((self.seed << 40) + number)
        if number >= self.originals:
            source = self.text(int(self.original[number - self.originals]))
            if number >= self.originals + self.near:
                return source
            return dedup.edited(source, rng.choice(EDITS), rng, self.vocabulary)
        if rng.random() < BOILERPLATE:
            return " ".join([*rng.choices(self.parts, k=6), self.boilerplate])
        return " ".join(rng.choices(self.parts, k=10))

    def in_order(self) -> Iterator[str]:
        """Return every text, by id."""
        return (self.text(int(number)) for number in np.argsort(self.ids))

    def families(self) -> Iterator[NDArray[np.int64]]:
        """Yield pairs of numbers within families, some thousand families at a time."""
        members = np.arange(self.originals, self.documents)[order := np.argsort(self.original, kind="stable")]
        originals, starts = np.unique(self.original[order], return_index=True)
        pairs: list[tuple[int, int]] = []
        for original, rest in zip(originals.tolist(), np.split(members, starts[1:]), strict=True):
            family = [original, *rest.tolist()]
            pairs += [(item, other) for at, item in enumerate(family) for other in family[at + 1 :]]
            if len(pairs) >= ROW_GROUP:
                yield np.array(pairs)
                pairs = []
        if pairs:
            yield np.array(pairs)


def write_corpus(folder: Path, documents: int, seed: int, data: Path) -> dict[str, Any]:
    """Write a corpus unless the folder has it; return the content of `corpus.json`."""
    about = folder / "corpus.json"
    target = {"documents": documents, "seed": seed}
    if about.exists():
        results: dict[str, Any] = json.loads(about.read_text())
        if target.items() <= results.items():
            return results
        raise SystemExit(f"{folder} has another corpus, {results}; name another folder, or remove it")
    corpus = Corpus(documents, seed, data)
    (folder / "documents").mkdir(parents=True)
    characters = write_documents(corpus, folder / "documents")
    results = {
        **target,
        "near": corpus.near,
        "copies": corpus.copies,
        "text_bytes": characters,
        "parquet_bytes": sum(path.stat().st_size for path in (folder / "documents").iterdir()),
        **write_truth(corpus, folder / "truth.parquet"),
    }
    about.write_text(json.dumps(results) + "\n")
    return results


def write_documents(corpus: Corpus, folder: Path) -> int:
    """Write the documents; return the bytes of their texts."""
    schema = pa.schema({"id": pa.int64(), "text": pa.string()})
    texts, total = corpus.in_order(), 0
    bounds = [corpus.documents * number // FILES for number in range(FILES + 1)]
    for number, (first, end) in enumerate(pairwise(bounds)):
        with pq.ParquetWriter(folder / f"part-{number}.parquet", schema) as file:
            for start in range(first, end, ROW_GROUP):
                ids = range(start, min(start + ROW_GROUP, end))
                column = pa.array([next(texts) for _ in ids], pa.string())
                total += column.nbytes
                file.write_table(pa.table([pa.array(ids, pa.int64()), column], schema), row_group_size=ROW_GROUP)
    return total


def write_truth(corpus: Corpus, path: Path) -> dict[str, int]:
    """Write the true pairs; return their number, and the number of pairs of families below the threshold."""
    import nearkin as nk

    names = ("left", "right", *RECIPES)
    schema = pa.schema([(name, pa.int64() if name in names[:2] else pa.float64()) for name in names])
    true = copies = below = 0
    with pq.ParquetWriter(path, schema) as file:
        for pairs in corpus.families():
            numbers, positions = np.unique(pairs, return_inverse=True)
            texts = [corpus.text(number) for number in numbers.tolist()]
            positions = positions.reshape(pairs.shape)
            measured = [nk.similarity(texts, *positions.T, recipe=recipe) for recipe in RECIPES.values()]
            match = measured[0] >= THRESHOLD
            ids = np.sort(corpus.ids[pairs[match]], axis=1)
            file.write_table(pa.table([*ids.T, *(values[match] for values in measured)], schema))
            true, below = true + int(match.sum()), below + int((~match).sum())
            copies += sum(texts[item] == texts[other] for item, other in positions[match].tolist())
    return {"true_pairs": true, "equal_pairs": copies, "pairs_below": below}


GRAMS, BANDS, ROWS = 5, 14, 8


def run_datatrove(corpus: Path, work: Path, out: Path, workers: int) -> None:
    """Run its four stages with a task per file, and per band in the second stage."""
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
    signatures, buckets, removed_ids = (str(work / name) for name in ("signatures", "buckets", "removed_ids"))
    # Its writer drops an id of 0, and expects strings.
    reader = ParquetReader(str(corpus / "documents"), adapter=lambda _, row, *place: {**row, "id": str(row["id"])})
    stages: list[tuple[int, list[Any]]] = [
        (FILES, [reader, MinhashDedupSignature(signatures, config)]),
        (BANDS, [MinhashDedupBuckets(signatures, buckets, config=config)]),
        (1, [MinhashDedupCluster(buckets, removed_ids, config)]),
        (FILES, [reader, MinhashDedupFilter(removed_ids), ParquetWriter(str(out))]),
    ]
    for number, (tasks, steps) in enumerate(stages):
        LocalPipelineExecutor(steps, tasks, min(tasks, workers), logging_dir=str(work / f"logs{number}")).run()


def run_daft(corpus: Path, work: Path, out: Path, workers: int) -> None:
    """Compute signatures, buckets and files with Daft, and components with a loop."""
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
    removed_ids = absorbed_ids(shared.select("ids").to_arrow()["ids"])
    removed = engine.from_arrow(pa.table({"id": pa.array(removed_ids, pa.int64())}))
    pages.join(removed, on="id", how="anti").write_parquet(str(out))


def absorbed_ids(buckets: pa.ChunkedArray) -> list[int]:
    """Return all ids but the smallest of each component of documents that share a bucket."""
    parent: dict[int, int] = {}

    def root(item: int) -> int:
        while (above := parent.setdefault(item, item)) != item:
            parent[item] = item = parent[above]
        return item

    for bucket in buckets.to_pylist():
        first = root(min(bucket))
        for other in bucket:
            low, high = sorted((first, root(other)))
            parent[high] = first = low
    return [item for item in parent if root(item) != item]


def text_dedup_command(corpus: Path, work: Path, out: Path, workers: int) -> list[Any]:
    command = ["-m", "text_dedup.minhash", "--path", "parquet", "--split", "train", "--column", "text"]
    command += ["--data_files", str(corpus / "documents" / "*.parquet"), "--cache_dir", str(work / "cache")]
    command += ["--threshold", str(THRESHOLD), "--hash_func", "xxh3", "--num_proc", str(workers)]
    return [*command, "--output", str(out)]


def peer_settings(bands: int, rows: int, size: int) -> dict[str, Any]:
    """Describe the settings of a MinHash; `size` are the bytes of its values as stored or grouped."""
    return {
        "features": f"word {GRAMS}-grams",
        "bands": bands,
        "rows": rows,
        "probability_at_threshold": 1 - (1 - THRESHOLD**rows) ** bands,
        "bytes_of_a_signature": size,
    }


def run_peer(name: str, corpus: Path, workers: int) -> dict[str, Any]:
    """Run one peer; `missing` says why it did not run."""
    python = common.PEERS[name].python
    if not python.exists():
        return {"missing": f"{python} is not there; `make {python.parents[1].name}/.built`"}
    with tempfile.TemporaryDirectory(prefix="nearkin-peer-", dir=corpus) as temporary:
        folder = Path(temporary)
        (work := folder / "work").mkdir()
        (out := folder / "out").mkdir()
        arguments: list[Any] = [__file__, "--child", name, "--corpus", corpus, "--work", folder]
        if name == "text-dedup":
            arguments = text_dedup_command(corpus, work, out, workers)
        offline = {"HF_HOME": str(work / "home"), "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
        offline |= {"DAFT_ANALYTICS_ENABLED": "0", "POLARS_MAX_THREADS": str(workers)}
        used = common.measure_command([python, *arguments], work, offline)
        kept = kept_ids(out)
    result = accuracy(corpus, kept)
    rate = result["documents"] / used["cpu"]
    version = {"version": common.versions(name).get(name), "settings": SETTINGS[name]}
    return {**version, **used, "documents_per_cpu_second": rate, **result}


def kept_ids(out: Path) -> NDArray[np.int64]:
    """Read the ids in the output of a peer: Parquet, or streams of Arrow."""
    columns = [pq.read_table(path, columns=["id"])["id"] for path in sorted(out.rglob("*.parquet"))]
    columns += [pa.ipc.open_stream(pa.memory_map(str(path))).read_all()["id"] for path in sorted(out.rglob("*.arrow"))]
    return np.concatenate([column.cast(pa.int64()).to_numpy() for column in columns])


def accuracy(corpus: Path, kept: NDArray[np.int64]) -> dict[str, Any]:
    """Return recall of the planted pairs, from the ids of the kept documents."""
    count = json.loads((corpus / "corpus.json").read_text())["documents"]
    is_kept = np.zeros(count, bool)
    is_kept[kept] = True
    if is_kept.sum() != len(kept):
        raise RuntimeError("a document was written twice")
    truth = pq.read_table(corpus / "truth.parquet")
    left, right, similarity, words = (truth[name].to_numpy() for name in ("left", "right", "similarity", "words"))
    result = ~(is_kept[left] & is_kept[right])
    alone = ~is_kept
    alone[left] = alone[right] = False
    return {
        "documents": count,
        "kept": len(kept),
        "removed_alone": int(alone.sum()),
        "recall": float(result.mean()),
        "recall_near": float(result[similarity < 1].mean()),
        "recall_words": float(result[words >= THRESHOLD].mean()),
    }


CORES = 2
ENGINES = ("local", "sail", "spark")
_servers: list[Any] = []


def recipe() -> str:
    import nearkin as nk

    return str(nk.Recipe.of(None).with_family("minhash"))


def start_session(engine: str, work: Path) -> Any:
    """Start a session and wait until it is up."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("RUST_LOG", "error")
    if engine == "sail":
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        # It ends with its last reference.
        _servers.append(server)
        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").create()
    else:
        (work / "log").mkdir()
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": str(work / "log"),
            "spark.eventLog.enabled": "true",
            "spark.local.dir": str(work),
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
        }
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(f"local[{CORES}]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.range(10).count()
    return session


def child(engine: str, corpus: Path, folder: Path) -> None:
    """Run once, from files to files; seconds and stages go to `folder/result.json`."""
    from nearkin.spark import dedup as dedup_frame

    work = folder / "work"
    session = start_session(engine, work)
    begun: dict[str, float] = {}
    start = time.time()
    result = dedup_frame(
        session.read.parquet(str(corpus / "documents")),
        checkpoint=str(work / "checkpoint"),
        progress=lambda stage, *_: begun.setdefault(stage, time.time()),
    )
    result.kept.write.option("max_row_group_size", 1 << 13).parquet(str(folder / "out" / "kept"))
    outcome = {"seconds": time.time() - start, "begun": begun, "summary": dict(result.summary)}
    session.stop()
    (folder / "result.json").write_text(json.dumps(outcome))


def run_engine(engine: str, corpus: Path, limit: int) -> dict[str, Any]:
    """Run an engine in its own process; return what it used and what it keeps."""
    with tempfile.TemporaryDirectory(prefix="nearkin-engine-", dir=corpus) as temporary:
        folder = Path(temporary)
        (folder / "work").mkdir()
        (folder / "out").mkdir()
        command: list[Any] = [sys.executable, __file__, "--child", engine, "--corpus", corpus, "--work", folder]
        if engine == "local":
            out = folder / "out" / "o"
            command = [sys.executable, "-m", "nearkin", "dedup", corpus / "documents", "--out", out, "--quiet"]
            command += ["--id-column", "id", "--recipe", recipe()]
            command = ["prlimit", f"--data={limit}", *command] if limit else command
        used = common.measure_command(command, folder / "work")
        # One machine also writes tables with ids next to the kept documents.
        for path in [*(folder / "out").rglob("clusters.*"), *(folder / "out").rglob("pairs.*")]:
            path.unlink()
        kept = np.sort(kept_ids(folder / "out"))
        outcome = json.loads((folder / "result.json").read_text()) if engine != "local" else {}
        shuffled = shuffled_before(folder / "work" / "log", outcome["begun"]["links"]) if engine == "spark" else None
    result = accuracy(corpus, kept)
    seconds = outcome.get("seconds", used["wall"])
    n = result["documents"]
    return {
        **used,
        "seconds": seconds,
        "documents_per_cpu_second": n / used["cpu"],
        "documents_per_second_and_core": n / seconds / CORES,
        "shuffled_bytes_per_document": None if shuffled is None else shuffled / n,
        "kept_sha256": hashlib.sha256(kept.tobytes()).hexdigest(),
        **result,
        "candidates": outcome.get("summary", {}).get("candidates"),
        "timings": outcome.get("summary", {}).get("timings"),
    }


def shuffled_before(log: Path, moment: float) -> int:
    """Return the bytes written to shuffles by tasks of stages that began before a moment."""
    begun: dict[int, float] = {}
    total = 0
    for path in log.rglob("events_*"):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerStageSubmitted":
                begun[event["Stage Info"]["Stage ID"]] = event["Stage Info"].get("Submission Time", 0) / 1000
            if event["Event"] == "SparkListenerTaskEnd" and begun.get(event["Stage ID"], moment) < moment:
                total += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return total


def report(run: dict[str, Any]) -> None:
    """Write the table of docs/spark.md."""

    def shuffled(row: dict[str, Any]) -> str:
        size = row.get("shuffled_bytes_per_document")
        return "" if size is None else f"{size:.0f}"

    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "documents": lambda row: f"{row['documents']:,}",
        "seconds": lambda row: f"{row.get('seconds', row['wall']):.0f}",
        "CPU s": lambda row: f"{row['cpu']:.0f}",
        "documents per CPU s": lambda row: f"{row['documents_per_cpu_second']:,.0f}",
        "peak MB": lambda row: f"{row['peak_mb']:,.0f}",
        "shuffled bytes each": shuffled,
        "recall": lambda row: f"{row['recall']:.3f}",
    }
    groups = [group for name, group in run["results"].items() if name.isdecimal()]
    groups.append({name: row for name, row in run["results"].get("peers", {}).items() if "cpu" in row})
    lines = ([name, *(cell(row) for cell in columns.values())] for group in groups for name, row in group.items())
    common.splice("spark.md", "spark", f"{common.source(run)}\n\n{common.table(['', *columns], lines)}")


SETTINGS = {
    "datatrove": peer_settings(BANDS, ROWS, BANDS * (8 * ROWS + 4)),
    "text-dedup": peer_settings(16, 15, 16 * 15 * 8),
    "daft": peer_settings(BANDS, ROWS, BANDS * ROWS * 4),
}


def measure_peers(corpus: Path, workers: int) -> dict[str, Any]:
    """Run every peer; one that fails has its error under `failed`."""
    results: dict[str, Any] = {}
    for name in SETTINGS:
        try:
            results[name] = run_peer(name, corpus, workers)
        except RuntimeError as error:
            results[name] = {"failed": str(error)}
        print(json.dumps({name: results[name]}), file=sys.stderr, flush=True)
    return results


def measure(options: argparse.Namespace) -> None:
    """Run all sizes and engines, one after another."""
    results: dict[str, Any] = {}
    versions = common.versions("pysail", "pyspark")
    for count in sorted(options.documents):
        corpus = (options.folder / str(count)).absolute()
        write_corpus(corpus, count, 1, options.data)
        run = results.setdefault(str(count), {})
        for engine in options.engines:
            run[engine] = run_engine(engine, corpus, options.limit)
            print(json.dumps({engine: run[engine]}), file=sys.stderr, flush=True)
            common.save("spark", {"results": results}, versions=versions)
        if len({values["kept_sha256"] for values in run.values()}) > 1:
            raise SystemExit(f"engines keep other documents than one machine: {run}")
    if options.peers:
        results["peers"] = measure_peers((options.folder / str(min(options.documents))).absolute(), CORES)
    print(common.save("spark", {"results": results}, versions=versions))
    report(common.latest("spark"))


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--folder", {"type": Path, "default": Path("bench-spark"), "help": "for corpora, about 1 KB per document"}),
        ("--documents", {"type": int, "nargs": "+", "default": [100_000, 1_000_000]}),
        ("--engines", {"nargs": "+", "choices": ENGINES, "default": list(ENGINES)}),
        ("--limit", {"type": int, "default": 0, "help": "bytes of private memory of `local`"}),
        ("--peers", {"action": "store_true", "help": "run the peers on the smallest corpus"}),
        ("--child", {"help": argparse.SUPPRESS}),
        ("--corpus", {"type": Path, "help": argparse.SUPPRESS}),
        ("--work", {"type": Path, "help": argparse.SUPPRESS}),
    )
    if options.child in ENGINES:
        child(options.child, options.corpus, options.work)
    elif options.child:
        run = {"datatrove": run_datatrove, "daft": run_daft}[options.child]
        run(options.corpus, options.work / "work", options.work / "out", CORES)
        if options.child == "daft":
            # All files are written; threads of Daft 0.7.26 may abort the exiting interpreter (PyGILState_Release).
            os._exit(0)
    elif options.report is not None:
        report(common.latest("spark", options.report))
    else:
        measure(options)


if __name__ == "__main__":
    main()
