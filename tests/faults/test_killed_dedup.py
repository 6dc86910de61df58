"""A deduplication with a checkpoint that is killed anywhere goes on and has the output of an undisturbed run.

A driver process loads the package once and forks a child for each run. The child saves after every batch, and batches
are small. It counts its steps: files that it saves, batches that it hashes, compares and verifies, the rename of the
output, and calls that touch the checkpoint. SIGKILL arrives before one step of each kind, or before every step.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = r"""
import importlib, json, os, shutil, signal, sys
from collections import Counter
from pathlib import Path
import filelock
import nearkin as nk
from nearkin.cli.app import app
from nearkin.dedup import checkpoint, cluster, documents, stages
from nearkin.dedup.candidates import minhash
from nearkin.io import atomic_write, records

root, every, options = Path(sys.argv[1]), sys.argv[2] == "every", sys.argv[3:]
out, point, report = root / "out", root / "point", root / "report"
LAZY = {"nearkin", "pydantic", "pyarrow", "rich", "typer"}
EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.scandir"}
steps = [
    (checkpoint.JobCheckpoint, "save"), (checkpoint.JobCheckpoint, "check_job"), (checkpoint, "remove_checkpoint"),
    (documents._BatchHasher, "append"), (documents._BatchHasher, "finish"),
    (stages, "collapse"), (stages, "cluster"), (stages, "make_result"),
    (cluster.Clusterer, "_absorb_into_kept"), (cluster.Clusterer, "_absorb_within"), (cluster.Clusterer, "_join"),
    (cluster.Clusterer, "_load"), (atomic_write.StagedOutput, "commit_folder"),
]


def kill_before(number, seen):
    calls = 0

    def step(name):
        nonlocal calls
        calls += 1
        seen.append(name)
        if calls == number:
            report.write_text(name)
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(call, name):
        def run(*arguments, **named):
            step(name)
            return call(*arguments, **named)
        return run

    for owner, name in steps:
        setattr(owner, name, counted(getattr(owner, name), name))

    def hook(event, arguments):
        if event in EVENTS and str(arguments[0]).startswith(str(point)):
            step(event)

    sys.addaudithook(hook)


def run(kill=0, saved=True):
    "One run in a process of its own: the names of its steps, or that of the step before which it was killed."
    report.unlink(missing_ok=True)
    shutil.rmtree(out, ignore_errors=True)
    child = os.fork()
    if child == 0:
        try:
            records.BLOCK, documents._MAX_TEXTS, cluster._BATCH, minhash._MIN_STATIC = 4096, 16, 24, 64
            cluster._BATCH_CHARACTERS = 2000
            checkpoint.SAVE_SECONDS = 0.0
            # A killed process does not lose data in the page cache, so syncing is not needed.
            os.fsync = lambda file: None
            seen = []
            kill_before(kill, seen)
            extra = ["--checkpoint", str(point)] if saved else []
            app(args=["dedup", *options, "--out", str(out), "--quiet", *extra], standalone_mode=False)
            report.write_text(json.dumps(seen))
            (root / "modules").write_text(json.dumps([name for name in sys.modules if name.split(".")[0] in LAZY]))
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return report.read_text() if code else json.loads(report.read_text())


def state():
    files = {path.name: path.read_bytes() for path in out.iterdir() if path.name != "summary.json"}
    summary = json.loads((out / "summary.json").read_bytes())
    summary.pop("timings"), summary.pop("peak_memory_bytes")
    return files, {name: value for name, value in summary.items() if name != "resumed"}, summary.get("resumed", {})


run(saved=False)
# Later children find what the first one imported and built.
for name in json.loads((root / "modules").read_text()):
    importlib.import_module(name)
nk.Recipe("char:4")
expected = state()[:2]
whole = run()
assert expected == state()[:2], "with a checkpoint"
killed, resumed = Counter(), Counter()
occurrences = {name: [at + 1 for at, step in enumerate(whole) if step == name] for name in whole}
kills = range(1, len(whole) + 1) if every else sorted(numbers[len(numbers) // 2] for numbers in occurrences.values())
for kill in kills:
    shutil.rmtree(point, ignore_errors=True)
    name = run(kill)
    assert isinstance(name, str), (kill, name)
    killed[name] += 1
    # The second run is killed as well, halfway.
    second = run(max(kill // 2, 1))
    if isinstance(second, str):
        last = run()
        assert isinstance(last, list), kill
    found = state()
    assert expected == found[:2], (kill, name)
    resumed.update(found[2])
    # A run that was killed before its lock leaves an empty folder, as a user may.
    assert not point.exists() or not os.listdir(point), (kill, name)
print(json.dumps({"whole": Counter(whole), "killed": killed, "resumed": resumed}))
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")

WORDS = [first + second for first in ("lo", "mi", "ka", "su") for second in ("ran", "bel", "dor", "fin", "gus")]


def write_corpus(path: Path, count: int, seed: int) -> Path:
    """Write documents, half of them edited copies of earlier ones; some are exact copies, some have no letters."""
    chance = random.Random(seed)
    texts: list[str] = []
    for number in range(count):
        if texts and chance.random() < 0.5:
            words = chance.choice(texts).split()
            for _ in range(chance.randrange(3)):
                words[chance.randrange(len(words))] = str(number)
            texts.append(" ".join(words))
        else:
            texts.append(" ".join(chance.choices(WORDS, k=chance.randrange(14, 40))) if number % 20 else "!!!")
    lines = [json.dumps({"id": f"d{i}", "score": i * 7 % 11, "text": text}) for i, text in enumerate(texts)]
    path.write_text("\n".join(lines) + "\n")
    return path


def kill_runs(tmp_path: Path, steps: str, *options: str) -> dict[str, dict[str, int]]:
    """Kill a run before "one" step of each kind, or "every" one; count steps of a whole run, kills and resumes."""
    root = tmp_path / "root"
    root.mkdir()
    command = [sys.executable, "-c", DRIVER, str(root), steps, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-3000:]
    counts: dict[str, dict[str, int]] = json.loads(done.stdout)
    return counts


SLOW = [
    pytest.param(["--family", "simhash", "--keep", "max:score", "--differ", "numbers"], id="simhash"),
    pytest.param(["--measure", "containment", "--links", "all"], id="containment"),
    pytest.param(["--against", "OLD", "--out-layout", "input"], id="against"),
]
CASES = [
    pytest.param([], id="absorb"),
    pytest.param(["--cluster", "components", "--links", "all"], id="components"),
    *(pytest.param(*case.values, id=case.id, marks=pytest.mark.slow) for case in SLOW),
]
"""Options of jobs; each visits another part of the code."""


@pytest.mark.parametrize("options", CASES)
def test_a_killed_run_goes_on(tmp_path: Path, options: list[str]) -> None:
    """The output equals that of a run without a checkpoint, byte for byte, wherever the first two runs were killed."""
    old = write_corpus(tmp_path / "old.jsonl", 60, 2)
    options = [str(old) if option == "OLD" else option for option in options]
    source = write_corpus(tmp_path / "in.jsonl", 120, 1)
    counts = kill_runs(tmp_path, "one", str(source), "--id-column", "id", *options)
    assert counts["whole"]["save"] > 5
    assert dict.fromkeys(counts["whole"], 1) == counts["killed"]
    assert counts["resumed"]["hashed"] > 100
    assert counts["resumed"]["decided"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("options", CASES)
def test_a_run_killed_before_any_step_goes_on(tmp_path: Path, options: list[str]) -> None:
    """As above, with a kill before every single step."""
    old = write_corpus(tmp_path / "old.jsonl", 60, 2)
    options = [str(old) if option == "OLD" else option for option in options]
    source = write_corpus(tmp_path / "in.jsonl", 90, 1)
    counts = kill_runs(tmp_path, "every", str(source), "--id-column", "id", *options)
    assert set(counts["whole"]) == set(counts["killed"])
