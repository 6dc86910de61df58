"""Processes of a job that are killed: the job is called again with its checkpoint, and has the same result."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from engines import MINHASH, DocumentSet, Engine, check_result, mixed_texts, run_locally
from killed_driver import documents
from test_spark import CHILD, environment, run_tasks, start_process

from nearkin.errors import EngineError
from nearkin.spark import dedup

KILLED = Path(__file__).with_name("killed_driver.py")


def rows(folder: Path, name: str) -> dict[str, Any]:
    """Return the rows of a result, in one order."""
    tables = json.loads((folder / f"{name}.json").read_text())
    return {table: sorted(map(repr, cells)) for table, cells in tables.items() if table != "stages"}


@pytest.mark.parametrize("stages", ["links", pytest.param("all", marks=pytest.mark.slow)])
def test_a_driver_that_is_killed_at_every_moment_of_a_stage(stages: str, tmp_path: Path) -> None:
    """Before, inside and after a stage, and before the stage is listed; Sail is in the process and ends with it."""
    command = [sys.executable, str(KILLED), str(tmp_path), stages]
    done = subprocess.run(command, env=environment(RUST_LOG="error"), capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr[-3000:]
    assert rows(tmp_path, "whole") == rows(tmp_path, "run")
    result = json.loads((tmp_path / "run.json").read_text())
    texts = documents()
    pairs = pa.Table.from_pylist(result["pairs"])
    check_result(texts, run_locally(texts, None, recipe=MINHASH), result["clusters"], result["kept"], pairs, {})
    whole = json.loads((tmp_path / "whole.json").read_text())["stages"]
    assert {"numbers", "large-buckets", "first-links-1", "cluster-ranks"} <= set(whole)


def start_server(folder: Path, name: str) -> Any:
    """Start Sail in a process of its own; its output is its address."""
    program = (
        "from pysail.spark import SparkConnectServer\nserver = SparkConnectServer('127.0.0.1', 0)\n"
        "server.start(background=True)\nprint(*server.listening_address, flush=True)\nimport time\ntime.sleep(1e6)"
    )
    return start_process([sys.executable, "-c", program], folder / f"{name}.log", RUST_LOG="error")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED")
@pytest.mark.parametrize("stage", ["documents", "units", "links", "first-removals", "clusters"])
def test_a_server_that_is_killed_under_its_driver(stage: str, tmp_path: Path) -> None:
    """The driver gets a typed error, and goes on with another server."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.retries import DefaultPolicy

    texts = DocumentSet.of([text or "" for text in mixed_texts(3_000)])

    def run(server: Any, *, kill: bool) -> list[str]:
        host, port = server.stdout.readline().split()
        session = SparkSession.builder.remote(f"sc://{host}:{port}").create()
        # By default the client tries for ten minutes to reach a server.
        session.client.set_retry_policies([DefaultPolicy(max_retries=1)])
        reported: list[str] = []

        def report(name: str, done: int, total: int | None) -> None:
            reported.append(name)
            if kill and name == stage:
                server.send_signal(signal.SIGKILL)

        result = dedup(Engine(session).frame(texts, 2), recipe=MINHASH, checkpoint=f"{tmp_path}/run", progress=report)
        local = run_locally(texts, None, recipe=MINHASH)
        kept = result.kept.select("id").toArrow().column("id").to_pylist()
        check_result(texts, local, result.clusters.toArrow().to_pylist(), kept, result.pairs.toArrow(), result.summary)
        session.stop()
        return reported

    with start_server(tmp_path, "first") as server, pytest.raises(EngineError, match="the engine ended the job"):
        run(server, kill=True)
    with start_server(tmp_path, "second") as server:
        assert stage == run(server, kill=False)[0]


@pytest.mark.slow
@pytest.mark.usefixtures("java")
def test_a_driver_of_spark_that_is_killed(tmp_path: Path) -> None:
    """In the middle of three stages; tasks of Spark leave files behind."""
    for stage in ("documents", "units", "links"):
        command = [sys.executable, str(CHILD), "local[2]", "long", str(tmp_path)]
        with start_process(command, tmp_path / f"{stage}.log") as driver:
            assert driver.stdout is not None
            for line in driver.stdout:
                if line.strip() == f"stage {stage}":
                    break
            else:
                raise AssertionError((tmp_path / f"{stage}.log").read_text()[-3000:])
            # The group has the driver, Java and the workers.
    reported: list[str] = []
    actual = run_tasks("local[2]", "long", tmp_path, reported.append)["long"]
    assert "stage links" == reported[0].strip()
    assert (True, True, True) == (actual["kept"], actual["clusters"], actual["pairs"])
