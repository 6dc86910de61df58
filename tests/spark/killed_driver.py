"""A job on Sail whose process, driver and workers at once, is killed again and again, for `test_killed_jobs.py`.

`python killed_driver.py FOLDER all|STAGE,STAGE…`: the job runs undisturbed with the checkpoint `FOLDER/whole`, and then
with `FOLDER/run`, where each of the stages is killed at every moment of `MOMENTS`. The results are `FOLDER/whole.json`
and `FOLDER/run.json`. Each run is a fork of this process, which has no threads, so that imports are paid once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from engines import MINHASH, DocumentSet, Engine, chain_texts, mixed_texts, star_texts

from nearkin.distributed import decision
from nearkin.distributed import plan as plans
from nearkin.distributed import tables as results
from nearkin.spark import dedup, engine
from nearkin.spark.engine import Checkpoint

MOMENTS = ("begun", "inside", "written", "listed")
"""Before a stage, when its folder has a file, when it is written but not listed, and when it is listed."""


def documents() -> DocumentSet:
    """Return documents whose ids need numbers, and whose links need rounds."""
    texts = chain_texts(24) + star_texts(24, 8) + mixed_texts(80)
    return DocumentSet.of(texts, [f"page {at * 7919 % 1009}" for at in range(len(texts))])


def kill() -> None:
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def killing(stage: str, moment: str) -> Iterator[None]:
    """Kill this process at a moment of a stage."""
    write, enlist = Checkpoint._write, Checkpoint._list

    def watch(folder: Path) -> None:
        while not any(path.is_file() for path in folder.rglob("*")):
            time.sleep(0.0005)
        kill()

    def written(point: Checkpoint, writer: Any, folder: str) -> None:
        here = folder.startswith(f"{point.path}/{stage}/")
        if here and moment == "inside":
            threading.Thread(target=watch, args=[Path(folder)], daemon=True).start()
        write(point, writer, folder)
        if here and moment == "inside":
            kill()

    def listed(point: Checkpoint, name: str, rows: int, files: Any) -> None:
        if name == stage and moment == "written":
            kill()
        enlist(point, name, rows, files)
        if name == stage and moment == "listed":
            kill()

    with mock.patch.object(Checkpoint, "_write", written), mock.patch.object(Checkpoint, "_list", listed):
        yield


def run(folder: Path, name: str, stage: str = "", moment: str = "") -> None:
    """Run the job once; write its result and stages unless it is killed."""
    from sessions import start_sail

    session, _ = start_sail()
    reported: list[str] = []

    def report(name: str, done: int, total: int | None) -> None:
        reported.append(name)
        if (name, moment) == (stage, "begun"):
            kill()

    frame = Engine(session).frame(documents(), 3)
    limits = [(decision, "MAX_DRIVER_LINKS"), (results, "MAX_DRIVER_CLUSTERS")]
    with warnings.catch_warnings(), killing(stage, moment):
        warnings.simplefilter("ignore")
        for module, limit in limits:
            setattr(module, limit, 0)
        vars(plans).update(MAX_FIRST=1, MAX_BUCKET=20)
        engine._MAX_SENT = 16
        result = dedup(frame, recipe=MINHASH, checkpoint=str(folder / name), progress=report)
        rows = {
            "kept": result.kept.select("id").toArrow().column("id").to_pylist(),
            "clusters": result.clusters.toArrow().to_pylist(),
            "pairs": result.pairs.toArrow().to_pylist(),
            "stages": reported,
        }
    (folder / f"{name}.json").write_text(json.dumps(rows))


def fork(*arguments: Any) -> int:
    """Run the job in a fork; return its exit code, negative for a signal."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 1
    try:
        run(*arguments)
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Kill the job at every moment of stages, and let it end."""
    folder, chosen = Path(sys.argv[1]), sys.argv[2]
    assert 0 == fork(folder, "whole")
    stages = json.loads((folder / "whole.json").read_text())["stages"]
    for stage in stages if chosen == "all" else chosen.split(","):
        assert stage in stages, f"{stage} is none of {stages}"
        for moment in MOMENTS:
            code = fork(folder, "run", stage, moment)
            assert -signal.SIGKILL == code, f"{stage} {moment}: {code}"
    assert 0 == fork(folder, "run")


if __name__ == "__main__":
    main()
