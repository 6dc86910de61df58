"""Spark itself: local, behind Spark Connect, and a cluster of two workers, one of which is killed.

Sessions run in processes of their own (`on_spark.py`). Everything binds to loopback, and ends with its test.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk

CHILD = Path(__file__).with_name("on_spark.py")
PATIENCE = 1200
"""Seconds after which a child is ended: machines are busy."""


def environment(**others: str) -> dict[str, str]:
    """Return the environment of child processes of Spark."""
    here = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m"}
    # Workers only get the driver's path.
    paths = [str(CHILD.parent), *here.get("PYTHONPATH", "").split(os.pathsep), str(Path(nk.__file__).parents[1])]
    return {**here, **own, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **others}


@contextmanager
def start_process(command: list[str], log: Path, **others: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process whose errors are written to a file; end it with all its children."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, env=environment(**others), stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
        try:
            yield process
        finally:
            with ExitStack() as all_:
                all_.callback(process.wait)
                all_.callback(_end, process)
            assert process.stdout is not None
            process.stdout.close()


def _end(process: subprocess.Popen[str]) -> None:
    """End the process and its group, which is its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def run_tasks(
    master: str, tasks: str, folder: Path, watch: Callable[[str], None] = lambda line: None, **others: str
) -> dict[str, Any]:
    """Return the results of tasks of `on_spark.py`; call `watch` with each line of output."""
    log = folder / "driver.log"
    command = [sys.executable, str(CHILD), master, tasks, str(folder)]
    lines = []
    with start_process(command, log, **others) as child:
        ending = time.monotonic() + PATIENCE
        assert child.stdout is not None
        for line in child.stdout:
            lines.append(line)
            watch(line)
            assert time.monotonic() < ending, log.read_text()
        assert 0 == child.wait(60), "".join(lines) + log.read_text()[-6000:]
    actual: dict[str, Any] = json.loads(lines[-1])
    return actual


def check_mistakes(reported: dict[str, Any], folder: Path) -> None:
    """Check the errors, which are the same for every engine."""
    expected = {
        "null": "InputError: column 'id': 1 of 1 documents that one task read at once have no id; give each document "
        "one, or leave those without out",
        "twice": "InputError: ids: column 'id' has the id 7 in 2 rows; ids must differ",
        "wide": f"InputError: column 'id': id {2**61} is not between -2**61 and 2**61; make ids strings",
        "value": "InputError: id 8: column 'n' holds 'x', which is neither number nor date; use a column of numbers, "
        "or one of dates",
        "missing": "ParameterError: text='body' is not allowed; use a column of the DataFrame: id, text",
        "twice named": "ParameterError: text='text', the name of 2 columns (text, text), is not allowed; use the name "
        "of one column; rename the others",
        "other job": f"MismatchError: checkpoint='{folder}/run' has the stages of another job; give that one's "
        "arguments and columns again, or a new folder",
        "other rows": f"MismatchError: checkpoint='{folder}/run' has 2 documents, and those of this call are not "
        "the same (1); give the same documents, or a new folder",
        "same": "none",
    }
    assert expected == {name: reported[name] for name in expected}
    for name, position in (("file", f"{folder}/file/x"), ("scheme", "nosuch://x/y")):
        assert reported[name].startswith(f"OutputError: checkpoint='{position}' can't be "), reported[name]
        assert reported[name].endswith("; give a folder that the driver and all workers can write")
        assert "\n" not in reported[name]
    assert re.fullmatch(r"EngineError: the engine ended the job: .*no page.*", reported["engine"]), reported["engine"]


@pytest.mark.usefixtures("java")
def test_classic_spark_gives_the_result_of_one_machine(tmp_path: Path) -> None:
    actual = run_tasks("local[2]", "equal", tmp_path)
    assert 50 == actual["equal"]["documents"]
    assert actual["equal"]["removed"] > 5


@pytest.mark.slow
@pytest.mark.usefixtures("java")
def test_split_buckets_texts_and_decisions(tmp_path: Path) -> None:
    """Spark has arrays in rows, broadcasts and rounds of joins where Sail may have others."""
    actual = run_tasks("local[2]", "skew", tmp_path)["skew"]
    assert {"absorb buckets": True, "components buckets": True}.items() <= actual.items()
    assert min(actual["absorb"], actual["components"]) > 100


@pytest.mark.slow
@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("master", ["local[2]", "connect"])
def test_both_kinds_of_sessions(master: str, tmp_path: Path) -> None:
    """Options, shapes, reference documents, columns, errors."""
    actual = run_tasks(master, "equal,columns,mistakes,more", tmp_path)
    assert {True} == set(actual["columns"].values()), actual["columns"]
    check_mistakes(actual["mistakes"], tmp_path)
    assert all(count > 10 for count in actual["more"].values()), actual["more"]


WITHOUT = """#!{python}
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "nearkin":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nowhere())
"""
OTHER = """#!{python}
import nearkin.spark.engine
nearkin.spark.engine.__version__ = "0.0.1"
"""
RUN = """
import runpy, sys
sys.argv = sys.argv[sys.argv.index("-m") + 1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=False)
"""
SHIP = (
    "workers need this nearkin: on one machine set PYSPARK_PYTHON to this Python before the session is made; "
    "on several build an image with it, or pack an environment (venv-pack -o env.tar.gz), start with "
)


@pytest.mark.slow
@pytest.mark.usefixtures("java")
@pytest.mark.parametrize(
    ("program", "message"),
    [
        (WITHOUT, f"EngineError: a worker has no module 'nearkin'; {SHIP}"),
        (OTHER, f"MismatchError: nearkin differs: workers with 0.0.1 against a driver with {nk.__version__}; {SHIP}"),
    ],
    ids=["none", "another"],
)
def test_workers_that_differ_from_the_driver(program: str, message: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(program.format(python=sys.executable) + RUN)
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    actual = run_tasks(
        "local[2]", "workers", tmp_path, PYSPARK_PYTHON=str(python), PYSPARK_DRIVER_PYTHON=sys.executable
    )
    for reported in actual["workers"].values():
        assert reported.startswith(message), reported


# A cluster


def running_children(parent: int) -> list[int]:
    """Return the child processes of a process that still run."""
    try:
        tasks = list(Path(f"/proc/{parent}/task").iterdir())
        return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
    except FileNotFoundError:
        return []


def wait_for(what: str, log: Path, count: int = 1) -> re.Match[str]:
    """Wait for an expression to occur this many times in a log; return the last match."""
    for _ in range(PATIENCE * 5):
        actual = list(re.finditer(what, log.read_text()))
        if len(actual) >= count:
            return actual[-1]
        time.sleep(0.2)
    raise AssertionError(f"{what} is not in {log}:\n{log.read_text()[-3000:]}")


def spark_class() -> str:
    """Return the program that starts parts of Spark; it becomes the Java process."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).with_name("bin") / "spark-class")


@contextmanager
def cluster(folder: Path, *before: list[str]) -> Iterator[tuple[str, list[subprocess.Popen[str]], Path]]:
    """Start a master and two workers of one core each: return the address, the workers, the log of the master.

    A prefix of a worker is the command that runs it.
    """
    log = folder / "master.log"
    common = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    # The REST server would need a port of its own.
    options = {"SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false", "SPARK_WORKER_DIR": str(folder / "work")}
    with ExitStack() as all_:
        master = [spark_class(), "org.apache.spark.deploy.master.Master", *common]
        all_.enter_context(start_process(master, log, **options))
        address = wait_for(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)", log).group(1)
        worker = [spark_class(), "org.apache.spark.deploy.worker.Worker", *common, "--cores", "1", "--memory", "600m"]
        workers = [
            all_.enter_context(start_process([*runs, *worker, address], folder / f"worker-{at}.log", **options))
            for at, runs in enumerate(before or ([], []))
        ]
        wait_for(r"Registering worker", log, 2)
        yield address, workers, log


@pytest.mark.slow
@pytest.mark.usefixtures("java")
def test_an_executor_is_killed_in_the_middle(tmp_path: Path) -> None:
    """Each worker once, in the middle of a stage: the result is the same."""
    killed: list[int] = []
    with cluster(tmp_path) as (address, workers, log):

        def watch(line: str) -> None:
            at = len(killed)
            if line.strip() in ("stage units", "stage links") and at < 2:
                # Kill it in the middle of the stage, not before.
                time.sleep(1)
                executor = running_children(workers[at].pid)
                assert executor, "the worker has no executor"
                os.kill(executor[0], signal.SIGKILL)
                killed.append(executor[0])

        actual = run_tasks(address, "long", tmp_path, watch)["long"]
        wait_for(r"Launching executor app-", log, 4)
    assert 2 == len(killed)
    assert (True, True, True) == (actual["kept"], actual["clusters"], actual["pairs"])
    assert actual["removed"] > 1000


@pytest.mark.slow
@pytest.mark.usefixtures("java")
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root gives a process its own disk"
)
def test_workers_with_disks_of_their_own(tmp_path: Path) -> None:
    """One of two workers has another folder under the path of the checkpoint: the job is refused before it starts."""
    (tmp_path / "run").mkdir()
    own = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(tmp_path / "run")]
    with cluster(tmp_path, [], own) as (address, _, _):
        reported = run_tasks(address, "unshared", tmp_path)["unshared"]
    assert reported["error"].startswith(f"EngineError: checkpoint='{tmp_path}/run/1' is not shared by all workers: ")
    assert reported["error"].endswith("; give a folder that the driver and all workers can write")
    assert "documents" not in reported["written"]
