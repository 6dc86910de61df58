"""Deduplication on engines: Sail and Spark beside one machine and beside peers, file to file, and how it grows.

    python bench/spark_engines.py --folder FOLDER [--documents 100000 1000000] [--engines local sail spark] [--peers]

FOLDER gets a corpus of `bench/spark_corpus.py` of each size, unless it has it. Each engine runs in a process of its
own, from the Parquet files to Parquet files of what is kept, everything counted (`bench/processes.py`), imports, too:

- `local`: `nearkin dedup` with the recipe that engines have by default;
- `sail`: `nearkin.spark.dedup` on Sail, in the same process;
- `spark`: the same on Spark `local[2]`, whose session is up before the clock runs, as the goal wants it; CPU seconds
  hold the session, too.

The kept documents of all three are compared. Of Spark, which logs what it shuffles, the bytes written to shuffles
before verification are told per document. `--joins` runs SimHash on Sail as well, and tells the seconds of the stage
in which fingerprints meet beside what `nearkin.spark.explain` said of them, and what its constants are measured to be:
seconds of a core to compare two fingerprints of slices, and two of a table, and to sort a row. Peers are those of
`bench/spark_rivals.py`, on the smallest corpus.

Results go to `bench/runs/`, the table into `docs/spark.md`: `python bench/spark_engines.py --page` writes it from the
newest run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import common
import processes
import spark_corpus
import spark_rivals

ENGINES = ("local", "sail", "spark")
CORES = 2
PAGE = common.ROOT / "docs" / "spark.md"


_servers: list[Any] = []


def recipe() -> str:
    """The recipe of engines."""
    import nearkin as nk

    return str(nk.Recipe.of(None).with_family("minhash"))


def session_of(engine: str, work: Path) -> Any:
    """A session that is up."""
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


def child(engine: str, corpus: Path, folder: Path, options: dict[str, Any]) -> None:
    """One run, from files to files; seconds and stages go to `folder/told.json`."""
    from nearkin.spark import dedup

    work = folder / "work"
    session = session_of(engine, work)
    begun: dict[str, float] = {}
    start = time.time()
    result = dedup(
        session.read.parquet(str(corpus / "documents")),
        checkpoint=str(work / "checkpoint"),
        **options,
        progress=lambda stage, *_: begun.setdefault(stage, time.time()),
    )
    result.kept.write.option("max_row_group_size", 1 << 13).parquet(str(folder / "out" / "kept"))
    told = {"seconds": time.time() - start, "begun": begun, "summary": dict(result.summary)}
    session.stop()
    (folder / "told.json").write_text(json.dumps(told))


def once(engine: str, corpus: Path, **asked: Any) -> dict[str, Any]:
    """What a run takes, and what it keeps."""
    folder = Path(tempfile.mkdtemp(prefix="nearkin-engine-", dir=corpus))
    try:
        (folder / "work").mkdir()
        (folder / "out").mkdir()
        command: list[Any] = [sys.executable, __file__, "--child", engine, "--corpus", corpus, "--work", folder]
        command += ["--asked", json.dumps(asked)]
        if engine == "local":
            command = [
                sys.executable,
                "-m",
                "nearkin",
                "dedup",
                str(corpus / "documents"),
                "--out",
                folder / "out" / "o",
            ]
            command += ["--id-column", "id", "--recipe", recipe(), "--quiet"]
        used = processes.measured(command, folder / "work")
        # Beside what is kept lie the tables of one machine, which have ids, too.
        for path in [*(folder / "out").rglob("clusters.*"), *(folder / "out").rglob("pairs.*")]:
            path.unlink()
        kept = np.sort(spark_rivals.kept_ids(folder / "out"))
        told = json.loads((folder / "told.json").read_text()) if engine != "local" else {}
        shuffled = shuffled_before(folder / "work" / "log", told["begun"]["links"]) if engine == "spark" else None
    finally:
        shutil.rmtree(folder)
    found = spark_rivals.accuracy(corpus, kept)
    seconds = told.get("seconds", used["wall"])
    n = found["documents"]
    return {
        **used,
        "seconds": seconds,
        "documents_per_cpu_second": n / used["cpu"],
        "documents_per_second_and_core": n / seconds / CORES,
        "shuffled_bytes_per_document": None if shuffled is None else shuffled / n,
        "kept_sha256": hashlib.sha256(kept.tobytes()).hexdigest(),
        **found,
        "candidates": told.get("summary", {}).get("candidates"),
        "timings": told.get("summary", {}).get("timings"),
    }


def shuffled_before(log: Path, moment: float) -> int:
    """Bytes that tasks of stages begun before a moment have written to shuffles."""
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


JOINS = {
    "slices": {"recipe": "char:4|binary|xxh3|simhash:128"},
    "tables": {"recipe": "char:4|binary|xxh3|simhash:64", "radius": 3},
}


def joins(corpus: Path, count: int) -> dict[str, Any]:
    """The stage in which fingerprints meet, beside the model."""
    from nearkin.spark import explain

    found = {}
    for method, asked in JOINS.items():
        plan = explain(count, **asked)
        if plan["method"] != method:
            raise SystemExit(f"{asked} is done by {plan['method']}")
        run = once("sail", corpus, **asked)
        found[method] = {
            **run,
            "meeting_seconds": run["timings"]["units"]["wall"],
            "core_seconds": plan["core_seconds"],
        }
        print(json.dumps({method: found[method]}), file=sys.stderr, flush=True)
    return found


def rates() -> dict[str, float]:
    """Seconds of a core: of a pair in two slices, of a pair in a table, of a row of a table."""
    import nearkin as nk
    from nearkin.dedup.distributed.documents import pack_values
    from nearkin.dedup.distributed.pairs import MAX_PIECE, MAX_QUERIES, SMALL_UNIT, ProximityPairs, WithinRadius

    nk.set_num_threads(1)
    rng = np.random.default_rng(1)

    def values(rows: int, bits: int) -> Any:
        return rng.integers(0, 1 << 63, (rows, bits // 64), np.uint64)

    held, queries = values(MAX_PIECE, 128), values(MAX_QUERIES, 128)
    scan = min(common.timed(lambda: WithinRadius(128, 30).near(held, queries))[1] for _ in range(5))
    n = 1 << 19

    def meet(members: int) -> float:
        columns = {"unit": np.arange(n) // members, "number": rng.permutation(n)}
        arrays = [*map(pa.array, columns.values()), pack_values(values(n, 64)), pa.nulls(n, pa.bool_())]
        batch = pa.RecordBatch.from_arrays(arrays, [*columns, "values", "is_query"])
        return min(common.timed(lambda: list(ProximityPairs(WithinRadius(64, 3)).rows(iter([batch]))))[1] for _ in range(3))

    alone, together = meet(1), meet(SMALL_UNIT)
    pairs = n * (SMALL_UNIT - 1) / 2
    return {"scan": scan / (MAX_PIECE * MAX_QUERIES), "pair": (together - alone) / pairs, "row": alone / n}


def measure(options: argparse.Namespace) -> None:
    """All sizes and engines, one after another."""
    results: dict[str, Any] = {}
    for count in sorted(options.documents):
        corpus = (options.folder / str(count)).absolute()
        if not (corpus / "corpus.json").exists():
            spark_corpus.write(corpus, count, 1, options.data)
        found = results.setdefault(str(count), {})
        for engine in options.engines:
            found[engine] = once(engine, corpus)
            print(json.dumps({engine: found[engine]}), file=sys.stderr, flush=True)
            common.save("spark", {"results": results}, versions=common.versions("pysail", "pyspark"))
        if len({run["kept_sha256"] for run in found.values()}) > 1:
            raise SystemExit(f"engines keep other documents than one machine: {found}")
    if options.joins:
        count = min(options.documents)
        results["joins"] = {"rates": rates(), **joins((options.folder / str(count)).absolute(), count)}
    if options.peers:
        corpus = (options.folder / str(min(options.documents))).absolute()
        results["peers"] = spark_rivals.measure(
            corpus, workers=CORES, **({"peers": options.python} if options.python else {})
        )
    print(common.save("spark", {"results": results}, versions=common.versions("pysail", "pyspark")))


def page() -> None:
    """The tables of the newest run."""
    run = common.latest("spark")
    header = ["", "documents", "seconds", "CPU s", "documents per CPU s", "peak MB", "shuffled bytes each", "recall"]
    rows = []
    for count, engines in run["results"].items():
        if not count.isdecimal():
            continue
        rows += [
            [
                engine,
                f"{int(count):,}",
                f"{found['seconds']:.0f}",
                f"{found['cpu']:.0f}",
                f"{found['documents_per_cpu_second']:,.0f}",
                f"{found['peak_mb']:,.0f}",
                "" if found["shuffled_bytes_per_document"] is None else f"{found['shuffled_bytes_per_document']:.0f}",
                f"{found['recall']:.3f}",
            ]
            for engine, found in engines.items()
        ]
    for name, found in run["results"].get("peers", {}).items():
        if "cpu" in found:
            cells = [f"{found['documents']:,}", f"{found['wall']:.0f}", f"{found['cpu']:.0f}"]
            cells += [f"{found['documents_per_cpu_second']:,.0f}", f"{found['peak_mb']:,.0f}", ""]
            rows.append([name, *cells, f"{found['recall']:.3f}"])
    common.splice(PAGE, "spark", f"{common.about(run)}\n\n{common.table(header, rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--folder", type=Path, help="for corpora, about 1 KB a document")
    parser.add_argument("--data", type=Path, default=common.ROOT.parent / "shared" / "data")
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--joins", action="store_true", help="run SimHash on the smallest corpus")
    parser.add_argument("--peers", action="store_true", help="run peers on the smallest corpus")
    parser.add_argument("--python", type=Path, help="the Python that has the peers")
    parser.add_argument("--page", action="store_true", help="write the tables of docs/spark.md")
    for name in ("child", "asked", "corpus", "work"):
        parser.add_argument(f"--{name}", type=Path if name in ("corpus", "work") else str, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.corpus, options.work, json.loads(options.asked))
    elif options.page:
        page()
    elif options.folder is None:
        parser.error("--folder is needed")
    else:
        measure(options)


if __name__ == "__main__":
    main()
