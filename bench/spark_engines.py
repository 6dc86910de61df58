"""Deduplication on engines: Sail and Spark, compared with one machine and with other packages, file to file.

    python bench/spark_engines.py --folder FOLDER [--documents 100000 1000000] [--engines local sail spark] [--peers]
    python bench/spark_engines.py --folder FOLDER --links 20000000 [--engines local sail spark]
    python bench/spark_engines.py --folder FOLDER --model --documents 30000 100000 300000 1000000

FOLDER gets a corpus of each size, unless it exists. Each engine runs in its own process from the Parquet files to
Parquet files of the kept documents; everything is measured, imports included:

- `local`: `nearkin dedup` with the default recipe of engines; `--limit` refuses it more private memory (`prlimit
  --data`: heap, anonymous mappings, thread stacks);
- `sail`: `nearkin.spark.dedup` on Sail, whose server, with its workers, is a process of its own: the peaks of memory of
  driver and server are measured separately;
- `spark`: the same on Spark `local[2]` with Java's parallel collector, up to a million documents with its fast compiler
  only (`-XX:+UseParallelGC`, `-XX:TieredStopAtLevel=1`), as docs/spark.md recommends. Wall time starts when the session
  is up; CPU seconds include the session.

All three must keep the same documents. For Spark, which logs its shuffles, the bytes written before verification are
reported per document.

**Peers**, on the smallest corpus, with word 5-grams (`bench/dedup_peers.py`), each in its own environment (`make
.venv-spark-rivals/.built` and `.venv-text-dedup/.built`): datatrove, text-dedup and Daft.

**Links.** `--links 20000000` measures the decision alone instead, on synthetic links: `local` is the decision of one
machine, the engines decide in rounds of joins, and all must remove the same documents for the same representatives.

**Model.** `--model` runs Sail alone, with CPU seconds and memory of each stage, without true pairs. It prints the
constants of `nearkin.spark.explain`, fitted on corpora of up to a million documents, which larger ones check, and
writes its tables.

**Corpus.** N documents of about 1 KB of `bench/dedup.py` in `documents/part-0.parquet` to `part-7.parquet` (`id` int64,
`text` string), `corpus.json`, written after them, and `truth.npz` with the true pairs of 10,000 documents by character
4-grams and word 5-grams. Accuracy is that of `bench/dedup.py`.

**Search.** `--search FINGERPRINTS` measures `nearkin.spark.search` instead: random fingerprints of 64 bits in eight
Parquet files, 100,000 and 1,000,000 queries, half of them within 3 bits of a fingerprint, radius 3. `local` is one
`HammingIndex` of all fingerprints in one process. All must find the same matches.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import common
import dedup
import dedup_peers

FILES, ROW_GROUP, SAMPLE = 8, 10_000, 10_000
# The default of datatrove and text-dedup.
GRAMS = 5
FEATURES = ("char:4", f"word:{GRAMS}")
QUERIES = (100_000, 1_000_000)
PEERS = ("datatrove", "text-dedup", "daft")
SMALL = 1_000_000
"""Documents up to which Java's fast compiler alone is faster."""


def write_corpus(folder: Path, documents: int, seed: int, data: Path, *, truth: bool = True) -> None:
    """Write a corpus unless the folder has it, and optionally its true pairs unless it has them."""
    about = folder / "corpus.json"
    target = {"documents": documents, "seed": seed}
    if about.exists() and target != json.loads(about.read_text()):
        raise SystemExit(f"{folder} has another corpus, {about.read_text()}; name another folder, or remove it")
    corpus = dedup.Corpus(data, "en", "1000", seed)
    if not about.exists():
        (folder / "documents").mkdir(parents=True)
        write_documents(corpus, documents, folder / "documents")
        about.write_text(json.dumps(target) + "\n")
    if truth and not (folder / "truth.npz").exists():
        sample = dedup.sampled(documents, SAMPLE, seed)
        pairs = {name: dedup.true_pairs(corpus, documents, sample, name) for name in FEATURES}
        np.savez(folder / "truth.npz", sample=sample, **pairs)


def write_documents(corpus: dedup.Corpus, documents: int, folder: Path) -> None:
    """Write the documents to files of Parquet."""
    schema = pa.schema({"id": pa.int64(), "text": pa.string()})
    bounds = [documents * number // FILES for number in range(FILES + 1)]
    for number, (first, end) in enumerate(pairwise(bounds)):
        with pq.ParquetWriter(folder / f"part-{number}.parquet", schema) as file:
            for start in range(first, end, ROW_GROUP):
                ids = range(start, min(start + ROW_GROUP, end))
                column = pa.array(map(corpus.text, ids), pa.string())
                file.write_table(pa.table([pa.array(ids, pa.int64()), column], schema), row_group_size=ROW_GROUP)


def run_peer(name: str, corpus: Path, workers: int) -> dict[str, Any]:
    """Run one peer; `missing` says why it did not run."""
    python = common.PEERS[name].python
    if not python.exists():
        return {"missing": f"{python} is not there; `make {python.parents[1].name}/.built`"}
    with tempfile.TemporaryDirectory(prefix="nearkin-peer-", dir=corpus) as temporary:
        folder = Path(temporary)
        (work := folder / "work").mkdir()
        options = ["--grams", GRAMS, "--workers", workers]
        command: list[Any] = [python, dedup_peers.__file__, name, corpus, folder, *options]
        offline = {"DAFT_ANALYTICS_ENABLED": "0", "POLARS_MAX_THREADS": str(workers)}
        used = common.measure_command(command, work, {**dedup.offline(work), **offline})
        kept = dedup.kept_ids(folder / "out")
    result = accuracy(corpus, kept)
    rate = result["documents"] / used["cpu"]
    return {"version": common.versions(name).get(name), **used, "documents_per_cpu_second": rate, **result}


def accuracy(corpus: Path, ids: NDArray[np.int64]) -> dict[str, Any]:
    """Return recall and precision from the ids of the kept documents, if the true pairs are known."""
    count = json.loads((corpus / "corpus.json").read_text())["documents"]
    kept = np.zeros(count, bool)
    kept[ids] = True
    if kept.sum() != len(ids):
        raise RuntimeError("a document was written twice")
    if not (corpus / "truth.npz").exists():
        return {"documents": count, "kept": len(ids)}
    truth = np.load(corpus / "truth.npz")
    scores = {name: dedup.accuracy(kept, truth["sample"], truth[name]) for name in FEATURES}
    return {"documents": count, "kept": len(ids), "recall": scores["char:4"]["recall"], "accuracy": scores}


CORES = 2
ENGINES = ("local", "sail", "spark")
SERVER = """import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print("sc://{}:{}".format(*server.listening_address), flush=True)
sys.stdin.read()
server.stop()
"""
_servers: list[subprocess.Popen[str]] = []


def recipe() -> str:
    import nearkin as nk

    return str(nk.Recipe.of(None).with_family("minhash"))


def start_session(engine: str, work: Path, java_options: str = "") -> Any:
    """Start a session and wait until it is up."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("RUST_LOG", "error")
    if engine == "sail":
        command = [sys.executable, "-c", SERVER]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        _servers.append(server)
        session = SparkSession.builder.remote(str(server.stdout and server.stdout.readline().strip())).create()
    else:
        (work / "log").mkdir()
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": java_options,
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


def stop_session(session: Any) -> None:
    """Stop a session, and the server that was started for it."""
    session.stop()
    for server in _servers:
        server.communicate()


def child(engine: str, corpus: Path, folder: Path) -> None:
    """Run once, from files to files; seconds and stages go to `folder/result.json`."""
    from nearkin.spark import dedup as dedup_frame
    from nearkin.spark.engine import WRITE_OPTIONS

    work = folder / "work"
    is_small = json.loads((corpus / "corpus.json").read_text())["documents"] <= SMALL
    session = start_session(engine, work, f"-XX:+UseParallelGC{' -XX:TieredStopAtLevel=1' * is_small}")
    begun: dict[str, float] = {}
    stages: list[dict[str, Any]] = []

    def report(stage: str, *_: object) -> None:
        begun.setdefault(stage, time.time())
        end_stage(stages)
        stages.append({"stage": stage, "cpu": cpu_seconds()})
        # The kernel starts a new peak.
        for process in processes():
            Path("/proc", process, "clear_refs").write_text("5")

    start = time.time()
    result = dedup_frame(
        session.read.parquet(str(corpus / "documents")),
        checkpoint=str(work / "checkpoint"),
        progress=report,
    )
    report("kept")
    # As the command line writes.
    result.kept.write.options(**WRITE_OPTIONS).parquet(str(folder / "out" / "kept"))
    end_stage(stages)
    outcome = {"seconds": time.time() - start, "begun": begun, "summary": dict(result.summary), "stages": stages}
    for each in stages:
        if (written := work / "checkpoint" / each["stage"]).exists():
            each["rows"] = sum(pq.read_metadata(path).num_rows for path in written.glob("*.parquet"))
            each["bytes"] = common.folder_size(written)
    stop_session(session)
    (folder / "result.json").write_text(json.dumps(outcome))


def processes() -> list[str]:
    """Return the names in /proc of the driver and of the server of Sail."""
    return ["self", *(str(server.pid) for server in _servers)]


def cpu_seconds() -> float:
    """Return the CPU seconds of the driver and of the server of Sail."""
    fields = [Path("/proc", name, "stat").read_text().rpartition(")")[2].split() for name in processes()]
    return sum(int(field) for each in fields for field in each[11:15]) / common.TICKS


def peak_mb(process: str) -> float:
    """Return the peak of the memory of a process of /proc."""
    lines = Path("/proc", process, "status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024 / 1e6


def end_stage(stages: list[dict[str, Any]]) -> None:
    """Record the CPU seconds of the stage that ends, and the peaks of memory of the driver and the server of Sail."""
    if stages:
        stages[-1]["cpu"] = cpu_seconds() - stages[-1]["cpu"]
        for key, name in zip(("driver_mb", "server_mb"), processes(), strict=False):
            stages[-1][key] = peak_mb(name)


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
        kept = np.sort(dedup.kept_ids(folder / "out"))
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
        "stages": outcome.get("stages"),
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


CLUSTERS = ("absorb", "components")
SHAPE, MAX_CLUSTER, LINKS_EACH = 1.1, 200_000, 4
"""Clusters of near-duplicates: Pareto's shape of their sizes, the largest size, links for each document."""


def write_links(folder: Path, count: int, seed: int) -> int:
    """Write links of random clusters to files of Parquet unless the folder has them; return the number of documents.

    A document is linked to the first one of its cluster and to random earlier ones, about four links for each document.
    Numbers are in random order, so that the first document of a cluster is seldom the one that most are linked to.
    """
    about, target = folder / "links.json", {"links": count, "seed": seed}
    if about.exists():
        written: dict[str, int] = json.loads(about.read_text())
        if target.items() <= written.items():
            return written["documents"]
        raise SystemExit(f"{folder} has other links, {written}; name another folder, or remove it")
    rng, n = np.random.default_rng(seed), count // LINKS_EACH
    sizes = np.minimum((rng.pareto(SHAPE, size=n) + 2).astype(np.int64), MAX_CLUSTER)
    sizes = sizes[np.cumsum(sizes) < n]
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = np.arange(len(first)) - first
    number = rng.permutation(len(first)) + 1
    later = np.flatnonzero(place)
    (folder / "links").mkdir(parents=True)
    done = 0
    while done < count:
        earlier = first[later] + (rng.random(len(later)) * place[later] * bool(done)).astype(np.int64)
        ends = np.stack([number[earlier], number[later]])[:, : count - done]
        ends = ends[:, rng.permutation(ends.shape[1])]
        table = pa.table({"left": ends.min(0), "right": ends.max(0)})
        pq.write_table(table, folder / "links" / f"part-{done}.parquet", row_group_size=1 << 20)
        done += ends.shape[1]
    about.write_text(json.dumps({**target, "documents": len(first), "largest": int(sizes.max())}) + "\n")
    return len(first)


def decide_child(engine: str, cluster: str, links: Path, folder: Path) -> None:
    """Decide once; the removed documents go to `folder/removals`, seconds and rounds to `folder/result.json`."""
    removals = folder / "removals"
    if engine == "local":
        from nearkin.distributed.links import absorb, components

        table = pq.read_table(links)
        ends = table["left"].to_numpy(), table["right"].to_numpy()
        del table
        start = time.time()
        decided = absorb(*ends) if cluster == "absorb" else components(*ends)
        outcome = {"seconds": time.time() - start, "rounds": []}
        removals.mkdir()
        pq.write_table(pa.table({"number": decided.removed, "by": decided.by}), removals / "part.parquet")
    else:
        from nearkin.distributed.decision import Decision
        from nearkin.spark.engine import Checkpoint

        session = start_session(engine, folder / "work")
        checkpoint = Checkpoint(session, str(folder / "checkpoint"), "links", lambda _: None)
        start = time.time()
        Decision(checkpoint, cluster, "d").removals(session.read.parquet(str(links)))
        seconds = time.time() - start
        # Links that each round leaves.
        rounds = [rows for name, rows in checkpoint.done.items() if name.startswith("d-links-")]
        outcome = {"seconds": seconds, "rounds": rounds}
        stop_session(session)
        (folder / "checkpoint" / "d-removals").rename(removals)
    outcome["driver_mb"] = peak_mb("self")
    (folder / "result.json").write_text(json.dumps(outcome))


def run_decision(engine: str, cluster: str, links: Path) -> dict[str, Any]:
    """Decide in a process of its own; return what it used, and a digest of the removed documents."""
    with tempfile.TemporaryDirectory(prefix="nearkin-links-", dir=links) as temporary:
        folder = Path(temporary)
        (folder / "work").mkdir()
        arguments = ["--child", engine, "--cluster", cluster, "--corpus", links / "links", "--work", folder]
        used = common.measure_command([sys.executable, __file__, *arguments], folder / "work")
        removed = pq.read_table(folder / "removals", columns=["number", "by"]).sort_by("number")
        digest = hashlib.sha256(removed["number"].to_numpy())
        digest.update(removed["by"].to_numpy())
        outcome = json.loads((folder / "result.json").read_text())
    return {**used, **outcome, "removed": removed.num_rows, "removals_sha256": digest.hexdigest()}


def measure_links(options: argparse.Namespace) -> None:
    """Decide all sizes by both rules and with all engines, one after another."""
    results: dict[str, Any] = {}
    for count in sorted(options.links):
        folder = (options.folder / f"links-{count}").absolute()
        documents = write_links(folder, count, 1)
        for cluster in options.clusters:
            rows = results.setdefault(f"{count} {cluster}", {"links": count, "documents": documents, "engines": {}})
            for engine in options.engines:
                rows["engines"][engine] = run_decision(engine, cluster, folder)
                print(json.dumps({engine: rows["engines"][engine]}), file=sys.stderr, flush=True)
                common.save("links", {"results": results}, versions=common.versions("pysail", "pyspark"))
            if len({values["removals_sha256"] for values in rows["engines"].values()}) > 1:
                raise SystemExit(f"engines remove other documents than one machine: {rows}")
    report_links(common.latest("links"))


def report_links(run: dict[str, Any]) -> None:
    """Write the table of decisions of docs/spark.md."""
    lines = [
        [
            f"{name.split()[1]}, {engine}",
            f"{rows['links']:,}",
            f"{row['removed']:,}",
            ", ".join(f"{left:,}" for left in row["rounds"]),
            f"{row['seconds']:.0f}",
            f"{row['cpu']:.0f}",
            f"{row['peak_mb']:,.0f}",
            f"{row['driver_mb']:,.0f}",
        ]
        for name, rows in run["results"].items()
        for engine, row in rows["engines"].items()
    ]
    header = ["", "links", "removed", "links that rounds leave", "seconds", "CPU s", "peak MB", "driver MB"]
    common.splice("spark.md", "links", f"{common.source(run)}\n\n{common.table(header, lines)}")


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


def write_fingerprints(folder: Path, count: int) -> None:
    """Write fingerprints and queries, half of them within 3 bits of a fingerprint, unless the folder has them."""
    if (folder / "fingerprints").exists():
        return
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**64, count, np.uint64)
    partial = folder / "partial"
    partial.mkdir(parents=True)
    for number, rows in enumerate(np.array_split(np.arange(count), FILES)):
        table = pa.table({"id": rows, "fingerprint": values[rows].view(np.int64)})
        pq.write_table(table, partial / f"part-{number}.parquet")
    for size in QUERIES:
        queries = rng.integers(0, 2**64, size, np.uint64)
        flips = np.bitwise_or.reduce(np.uint64(1) << rng.integers(0, 64, (3, size // 2), np.uint64))
        queries[: size // 2] = values[rng.integers(0, count, size // 2)] ^ flips
        pq.write_table(
            pa.table({"id": np.arange(size), "fingerprint": queries.view(np.int64)}), folder / f"queries-{size}.parquet"
        )
    partial.rename(folder / "fingerprints")


def search_child(engine: str, folder: Path, work: Path, size: int) -> None:
    """Search once, from files to a file; seconds go to `work/result.json`."""
    queries, out = folder / f"queries-{size}.parquet", work / "out"
    if engine == "local":
        import nearkin as nk

        start = time.time()
        stored, wanted = (pq.read_table(path) for path in (folder / "fingerprints", queries))
        index = nk.HammingIndex(64, radius=3)
        index.add(stored["id"].to_numpy(), stored["fingerprint"].to_numpy().view(np.uint64))
        hits = index.search(wanted["fingerprint"].to_numpy().view(np.uint64), 3)
        rows = np.repeat(wanted["id"].to_numpy(), np.diff(hits.offsets))
        out.mkdir()
        pq.write_table(pa.table({"query": rows, "id": hits.ids, "distance": hits.distances}), out / "matches.parquet")
    else:
        from nearkin.spark import search

        session = start_session(engine, work)
        start = time.time()
        frames = (session.read.parquet(str(path)) for path in (folder / "fingerprints", queries))
        search(*frames, 3).write.parquet(str(out))
        stop_session(session)
    (work / "result.json").write_text(json.dumps({"seconds": time.time() - start}))


def run_search(engine: str, folder: Path, size: int) -> dict[str, Any]:
    """Search on an engine in its own process; return what it used and a hash of the matches."""
    with tempfile.TemporaryDirectory(prefix="nearkin-engine-", dir=folder) as temporary:
        work = Path(temporary)
        command: list[Any] = [sys.executable, __file__, "--child", engine, "--corpus", folder, "--work", work]
        used = common.measure_command([*command, "--search", size], work)
        found = pq.read_table(work / "out", columns=["query", "id", "distance"])
        found = found.sort_by([("query", "ascending"), ("id", "ascending")])
        digest = hashlib.sha256(b"".join(column.to_numpy().astype(np.int64).tobytes() for column in found.columns))
        outcome = json.loads((work / "result.json").read_text())
    return {**used, **outcome, "matches": found.num_rows, "matches_sha256": digest.hexdigest()}


def measure_search(options: argparse.Namespace) -> None:
    """Run all engines and numbers of queries, one after another."""
    folder = (options.folder / f"fingerprints-{options.search}").absolute()
    write_fingerprints(folder, options.search)
    results: dict[str, Any] = {}
    for size in QUERIES:
        run = results.setdefault(str(size), {})
        for engine in options.engines:
            run[engine] = run_search(engine, folder, size)
            print(json.dumps({engine: run[engine]}), file=sys.stderr, flush=True)
        if len({values["matches_sha256"] for values in run.values()}) > 1:
            raise SystemExit(f"engines find other matches than one machine: {run}")
    content = {"fingerprints": options.search, "results": results}
    print(common.save("spark-search", content, versions=common.versions("pysail", "pyspark")))
    report_search(common.latest("spark-search"))


def report_search(run: dict[str, Any]) -> None:
    """Write the table of searches of docs/spark.md."""
    rows = [
        [name, f"{int(size):,}", f"{row['cpu']:.1f}", f"{row['peak_mb']:,.0f}", f"{row['matches']:,}"]
        for size, group in run["results"].items()
        for name, row in group.items()
    ]
    header = [f"{run['fingerprints']:,} fingerprints", "queries", "CPU s", "peak MB", "matches"]
    common.splice("spark.md", "spark-search", f"{common.source(run)}\n\n{common.table(header, rows)}")


GROUPS = {
    "hash": r"documents|older",
    "copies": r"copies",
    "pairs": r"large-buckets|units|candidates|pairs|open|member-documents",
    "scan": r"(member-)?texts|links-\d",
    "verify": r"links",
    "decide": r"first|round|removed",
    "clusters": r"members|cluster",
    "kept": r"kept",
}
"""Costs of `nearkin.spark.explain`, by the names of a job's stages."""


def group_stages(row: dict[str, Any]) -> dict[str, tuple[float, int]]:
    """Return the CPU seconds of each group of a run on Sail, and the units that it reads."""
    cpu = dict.fromkeys(GROUPS, 0.0)
    for stage in row["stages"]:
        group = next(group for group, names in GROUPS.items() if re.match(names, stage["stage"]))
        cpu[group] += stage["cpu"]
    rows = {stage["stage"]: stage.get("rows", 0) for stage in row["stages"]}
    n, members = row["documents"], rows["clusters"]
    units = dict.fromkeys(GROUPS, n) | {"verify": row["candidates"], "decide": members, "clusters": members}
    # Rounds verify few pairs, but read all texts.
    units["scan"] = n * max(sum(bool(re.match(r"links-\d", name)) for name in rows), 1)
    return {group: (cpu[group], units[group]) for group in GROUPS}


def num_passes(row: dict[str, Any]) -> int:
    """Return the number of passes of a run."""
    return max(sum(each["stage"].startswith("links-pass-") for each in row["stages"]), 1)


MAX_FITTED = 1_000_000
"""Documents of the largest run that constants are fitted on."""


def fit_model(run: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the fixed CPU seconds of each group, and those of a unit, by least squares of relative errors.

    Runs of more than a million documents are not used.
    """
    rows = [group["sail"] for _, group in sorted(run["results"].items(), key=lambda item: int(item[0]))]
    rows = [row for row in rows if row["documents"] <= MAX_FITTED]
    measured = [group_stages(row) for row in rows]
    constants: dict[str, tuple[float, float]] = {}
    for group in GROUPS:
        cpu, units = np.array([part[group] for part in measured if part[group][0]]).T
        if group == "verify":
            # The verification reads all texts, as the rounds do, whose cost is known.
            scan = constants["scan"][1] * np.array([row["documents"] for row in rows])
            scaled = np.stack([np.zeros(len(cpu)), units / cpu], axis=1)
            wanted = 1 - scan / cpu
        else:
            scaled, wanted = np.stack([1 / cpu, units / cpu], axis=1), np.ones(len(cpu))
        fixed, each = np.linalg.lstsq(scaled, wanted, rcond=None)[0]
        if fixed < 0 or group == "scan":
            fixed, each = 0.0, (scaled[:, 1] * wanted).sum() / (scaled[:, 1] ** 2).sum()
        constants[group] = (float(fixed), float(each))
    return constants


def report_model(run: dict[str, Any]) -> None:
    """Print the constants of `nearkin.spark.explain`, and write its tables of docs/spark.md."""
    from nearkin.spark.estimate import FITTED_BYTES, explain

    for group, (fixed, each) in fit_model(run).items():
        print(f'    "{group}": StageCost({fixed:.2g}, {each:.3g}),')
    checks = []
    for name, results in sorted(run["results"].items(), key=lambda item: int(item[0])):
        row = results["sail"]
        groups, passes = group_stages(row), num_passes(row)
        measured, pairs = sum(cpu for cpu, _ in groups.values()), groups["verify"][1] / int(name)
        estimate = explain(int(name), FITTED_BYTES, passes=passes)
        checks.append(
            [
                f"{int(name):,}",
                "yes" if int(name) <= MAX_FITTED else "no",
                f"{row['peak_mb']:,.0f}",
                f"{pairs:.3f}",
                f"{measured:.1f}",
                f"{estimate.cpu_seconds:.1f}",
                f"{estimate.cpu_seconds / measured - 1:+.0%}",
            ]
        )
    header = ["documents", "fitted", "peak MB", "pairs each", "CPU s of stages", "estimated", "error"]
    common.splice("spark.md", "model", f"{common.source(run)}\n\n{common.table(header, checks)}")
    large = []
    for n, bands in EXTRAPOLATED:
        estimate = explain(n, bands=bands)
        large.append(
            [
                f"10^{round(np.log10(n))}",
                f"{bands[0]} x {bands[1]}",
                f"{estimate.unrelated:,.1f}",
                common.ratio(estimate.shuffled_bytes / 1e12),
                f"{estimate.cpu_seconds / 3600:,.0f}",
                common.ratio(estimate.hours(100)),
            ]
        )
    header = ["documents", "bands", "unrelated pairs each", "TB shuffled", "core-hours", "hours on 100 cores"]
    common.splice("spark.md", "extrapolated", common.table(header, large))


EXTRAPOLATED = [(10**8, (29, 8)), (10**9, (37, 9)), (10**10, (47, 10)), (10**10, (18, 6))]


def measure_peers(corpus: Path, workers: int) -> dict[str, Any]:
    """Run every peer; one that fails has its error under `failed`."""
    results: dict[str, Any] = {}
    for name in PEERS:
        try:
            results[name] = run_peer(name, corpus, workers)
        except RuntimeError as error:
            results[name] = {"failed": str(error)}
        print(json.dumps({name: results[name]}), file=sys.stderr, flush=True)
    return results


def measure(options: argparse.Namespace) -> None:
    """Run all sizes and engines, one after another."""
    results: dict[str, Any] = {}
    name = "spark-model" if options.model else "spark"
    versions = common.versions("pysail", "pyspark")
    for count in sorted(options.documents):
        corpus = (options.folder / str(count)).absolute()
        write_corpus(corpus, count, 1, options.data, truth=not options.model)
        run = results.setdefault(str(count), {})
        for engine in ["sail"] if options.model else options.engines:
            run[engine] = run_engine(engine, corpus, options.limit)
            print(json.dumps({engine: run[engine]}), file=sys.stderr, flush=True)
            common.save(name, {"results": results}, versions=versions)
        if len({values["kept_sha256"] for values in run.values()}) > 1:
            raise SystemExit(f"engines keep other documents than one machine: {run}")
    if options.peers:
        results["peers"] = measure_peers((options.folder / str(min(options.documents))).absolute(), CORES)
    print(common.save(name, {"results": results}, versions=versions))
    (report_model if options.model else report)(common.latest(name))


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--folder", {"type": Path, "default": Path("bench-spark"), "help": "for corpora, about 1 KB per document"}),
        ("--documents", {"type": int, "nargs": "+", "default": [100_000, 1_000_000]}),
        ("--engines", {"nargs": "+", "choices": ENGINES, "default": list(ENGINES)}),
        ("--limit", {"type": int, "default": 0, "help": "bytes of private memory of `local`"}),
        ("--peers", {"action": "store_true", "help": "run the peers on the smallest corpus"}),
        ("--search", {"type": int, "metavar": "N", "help": "measure the search in N fingerprints instead"}),
        ("--links", {"type": int, "nargs": "+", "help": "decide this number of synthetic links instead"}),
        ("--clusters", {"nargs": "+", "choices": CLUSTERS, "default": list(CLUSTERS), "help": "rules, with --links"}),
        (
            "--model",
            {"action": "store_true", "help": "run Sail, and fit the model of `explain`"},
        ),
        ("--child", {"help": argparse.SUPPRESS}),
        ("--cluster", {"help": argparse.SUPPRESS}),
        ("--corpus", {"type": Path, "help": argparse.SUPPRESS}),
        ("--work", {"type": Path, "help": argparse.SUPPRESS}),
    )
    if options.child and options.search:
        search_child(options.child, options.corpus, options.work, options.search)
    elif options.search:
        measure_search(options)
    elif options.child and options.cluster:
        decide_child(options.child, options.cluster, options.corpus, options.work)
    elif options.child:
        child(options.child, options.corpus, options.work)
    elif options.report is not None and options.model:
        report_model(common.latest("spark-model", options.report))
    elif options.report is not None:
        report_search(common.latest("spark-search"))
        report_links(common.latest("links"))
        report(common.latest("spark", options.report))
    elif options.links:
        measure_links(options)
    else:
        measure(options)


if __name__ == "__main__":
    main()
