"""Tasks of `test_spark.py` on Spark itself, in a process of its own, because pyspark has one kind of session in each.

`python on_spark.py MASTER TASK FOLDER` with a master such as `local[2]`, or `connect` for Spark Connect; the last line
of its output is JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from engines import MINHASH, SIMHASH, VOCABULARY, DocumentSet, Engine, chain_texts, mixed_texts, star_texts

import nearkin as nk
from nearkin import errors
from nearkin.distributed import decision, links
from nearkin.distributed import plan as plans
from nearkin.distributed import tables as results
from nearkin.spark import dedup, fingerprint, signature


def build_session(master: str, folder: str) -> Any:
    """Build a small session on loopback, with many batches in a task."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.local.dir": f"{folder}/local",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
        "spark.shuffle.io.retryWait": "1s",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        # Compiling small jobs would take longer than running them.
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    if master == "connect":
        # Use any free port for the server.
        os.environ["SPARK_TESTING"] = "1"
        return builder.remote("local[2]").getOrCreate()
    return builder.master(master).getOrCreate()


def equal(session: Any, folder: str) -> dict[str, Any]:
    """Compare results with those of one machine."""
    engine = Engine(session)
    texts = chain_texts(14) + star_texts(6, 3) + mixed_texts(30)
    documents = DocumentSet.of(texts, score=[float(at * 7919 % 101) for at in range(len(texts))])
    result = engine.check_equal(documents, recipe=MINHASH, parts=3, keep="max:score")
    return {name: result[name] for name in ("documents", "removed", "clusters", "without_features")}


def more(session: Any, folder: str) -> dict[str, Any]:
    """Compare other options, shapes that need rounds, and reference documents."""
    engine = Engine(session)
    counts = {}
    shapes: list[str | None] = chain_texts(40) + star_texts(40, 8) + mixed_texts(120)
    cases: list[tuple[str, dict[str, Any]]] = [
        (MINHASH, {"keep": "last"}),
        (MINHASH, {"cluster": "components", "links": "all"}),
        (SIMHASH, {}),
        (SIMHASH, {"threshold": 0.5, "verify": "indel"}),
    ]
    for recipe, options in cases:
        result = engine.check_equal(
            DocumentSet.of(shapes), DocumentSet.of(shapes[:30]), recipe=recipe, parts=4, **options
        )
        counts[f"{recipe} {options}"] = result["removed"]
    names = [f"é{at % 7}{at}" for at in range(len(shapes))]
    counts["strings"] = engine.check_equal(DocumentSet.of(shapes, names), parts=2, keep="longest,last")["removed"]
    return counts


def skew(session: Any, folder: str) -> dict[str, Any]:
    """Compare results if tasks have so few rows that buckets, texts, decisions and numbers of clusters are split."""
    engine, rng = Engine(session), random.Random(5)
    head = " ".join(rng.choices(VOCABULARY, k=90))
    boilerplate = [f"{head} {' '.join(str(rng.randrange(10**6)) for _ in range(60))}" for _ in range(120)]
    texts: list[str | None] = [*boilerplate, *star_texts(120, 3), *mixed_texts(60)]
    small: list[tuple[Any, str, int]] = [
        *((module, "TASK_BYTES", 1 << 13) for module in (plans, links)),
        *((module, "LONG", 1_000) for module in (plans, links)),
        (plans, "MAX_BUCKET", 64),
        (plans, "_BUCKET_SAMPLE", 64),
        (decision, "MAX_DRIVER_LINKS", 0),
        (results, "MAX_DRIVER_CLUSTERS", 0),
    ]
    counts = {}
    with ExitStack() as patches:
        for module, name, value in small:
            patches.enter_context(mock.patch.object(module, name, value))
        for cluster in ("absorb", "components"):
            options: dict[str, Any] = {"cluster": cluster, "checkpoint": f"{folder}/{cluster}"}
            counts[cluster] = engine.check_equal(DocumentSet.of(texts), parts=3, **options)["removed"]
            counts[f"{cluster} buckets"] = Path(f"{folder}/{cluster}/large-buckets").exists()
    return counts


def columns(session: Any, folder: str) -> dict[str, Any]:
    """Compare fingerprints and signatures of columns with any names."""
    texts = mixed_texts(300, seed=2)
    documents = session.createDataFrame(
        pa.table({"a.b `n`": range(300), "text": texts, "t": [[at] for at in range(300)]})
    )
    reported = {}
    for bits in (32, 64, 128):
        recipe = f"char:4|count|xxh3|simhash:{bits}"
        rows = fingerprint(documents.repartition(3), recipe=recipe).toArrow().sort_by("a.b `n`")
        values, counts = nk.fingerprint(texts, recipe, return_counts=True)
        cells = [
            None if not count else value.tobytes() if bits > 64 else int(value.view(np.int64))
            for value, count in zip(values, counts, strict=True)
        ]
        reported[f"{bits}"] = rows.column("fingerprint").to_pylist() == cells
        reported[f"{bits} columns"] = rows.schema.names == ["a.b `n`", "text", "t", "fingerprint"]
    signatures, counts = nk.signature(texts, MINHASH, return_counts=True)
    cells = [None if not count else value.tobytes() for value, count in zip(signatures, counts, strict=True)]
    rows = signature(documents, recipe=MINHASH).toArrow().sort_by("a.b `n`")
    reported["signature"] = rows.column("signature").to_pylist() == cells
    return reported


def _error(call: Callable[[], object]) -> str:
    try:
        call()
    except errors.NearkinError as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def mistakes(session: Any, folder: str) -> dict[str, Any]:
    """Return the errors of workers and the engine."""

    def frame(**cells: Any) -> Any:
        return session.createDataFrame(pa.table(cells))

    good = frame(id=[1, 2], text=["some words of a text", "other ones"])
    Path(f"{folder}/file").write_text("x")
    dedup(good, checkpoint=f"{folder}/run")
    texts = ["a", "b"]
    return {
        "null": _error(lambda: dedup(frame(id=pa.array([1, None]), text=texts))),
        "twice": _error(lambda: dedup(frame(id=[7, 7], text=texts))),
        "wide": _error(lambda: dedup(frame(id=[7, 2**61], text=texts))),
        "value": _error(lambda: dedup(frame(id=[7, 8], text=texts, n=["1", "x"]), keep="max:n")),
        "missing": _error(lambda: dedup(good, "body")),
        "twice named": _error(lambda: dedup(good.select("id", "text", good["text"]))),
        "file": _error(lambda: dedup(good, checkpoint=f"{folder}/file/x")),
        "scheme": _error(lambda: dedup(good, checkpoint="nosuch://x/y")),
        "other job": _error(lambda: dedup(good, checkpoint=f"{folder}/run", threshold=0.5)),
        "other rows": _error(lambda: dedup(good.where("id = 1"), checkpoint=f"{folder}/run")),
        "same": _error(lambda: dedup(good, checkpoint=f"{folder}/run")),
        "engine": _error(lambda: dedup(good.selectExpr("id", "text || raise_error('no page') as text"))),
    }


def workers(session: Any, folder: str) -> dict[str, Any]:
    """Return the error of a job for workers that differ from the driver."""
    good = session.createDataFrame(pa.table({"id": [1], "text": ["a"]}))
    return {"error": _error(lambda: dedup(good)), "column": _error(lambda: fingerprint(good))}


def unshared(session: Any, folder: str) -> dict[str, Any]:
    """Return the error for a folder that a worker does not share."""
    good = session.createDataFrame(pa.table({"id": [1], "text": ["a"]}))
    return {
        "error": _error(lambda: dedup(good, checkpoint=f"{folder}/run/1")),
        "written": [path.name for path in Path(f"{folder}/run/1").iterdir()],
    }


def long(session: Any, folder: str) -> dict[str, Any]:
    """Run a job that reports its stages and is disturbed from outside."""
    engine = Engine(session)
    texts = mixed_texts(8000, seed=11)
    documents = DocumentSet.of(texts)

    def tell(stage: str, done: int, total: int | None) -> None:
        print(f"stage {stage}", flush=True)

    result = dedup(engine.frame(documents, 8), recipe=MINHASH, checkpoint=f"{folder}/run", progress=tell)
    print("stage end", flush=True)
    local = nk.dedup(texts, documents.ids, recipe=MINHASH)
    clusters = result.clusters.toArrow().to_pylist()
    clusters.sort(key=lambda row: (row["cluster"], row["reason"] != "kept", row["id"]))
    links = sorted(map(repr, result.pairs.toArrow().to_pylist()))
    return {
        "kept": sorted(result.kept.toArrow().column("id").to_pylist()) == sorted(local.kept),
        "clusters": clusters == local.clusters.to_arrow().to_pylist(),
        "pairs": links == sorted(map(repr, local.pairs.to_arrow().to_pylist())),
        "removed": result.summary["removed"],
    }


TASKS = {task.__name__: task for task in (equal, more, skew, columns, mistakes, workers, unshared, long)}


def main() -> None:
    """Run tasks, and print their results."""
    master, names, folder = sys.argv[1:]
    with warnings.catch_warnings():
        # pyspark warns that other packages are too new for it.
        warnings.simplefilter("ignore")
        session = build_session(master, folder)
        reported = {name: TASKS[name](session, folder) for name in names.split(",")}
        print(json.dumps(reported), flush=True)
        session.stop()


if __name__ == "__main__":
    main()
