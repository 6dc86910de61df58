"""A process that is killed before any file-system call of a run: the folder has the old or the new output.

A driver process loads the package once and forks a child for each kill. In the child, an audit hook and wrappers of the
calls without an audit event (`write`, `fsync`, the exchange of two folders) count the calls that touch the test's
folder, and end the process (`os._exit`) before the call with a given number.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = r"""
import json, os, shutil, sys
from pathlib import Path
import filelock, pyarrow.parquet
from nearkin.io import OutputDir, atomic_write, open_corpus, replace_file, write_table

source, root, mode, every = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
target, saved = root / "out", root.with_name("saved")
KILLED = 77
pyarrow.array([])  # The first array imports pandas where it is installed, here once for all children.
EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.listdir", "os.scandir", "os.chmod",
          "os.chown", "os.utime", "shutil.rmtree", "fcntl.flock"}


def kill_before(number):
    calls = 0

    def step():
        nonlocal calls
        calls += 1
        if calls == number:
            os._exit(KILLED)

    def counted(call):
        def run(*arguments):
            step()
            return call(*arguments)
        return run

    def hook(event, arguments):
        if event == "fcntl.flock" or (event in EVENTS and str(arguments[0]).startswith(str(root))):
            step()

    os.write, os.fsync, atomic_write.exchange = map(counted, (os.write, lambda file: None, atomic_write.exchange))
    sys.addaudithook(hook)


def run(step, kill=0):
    "One run in a process of its own; whether it was killed."
    child = os.fork()
    if child == 0:
        try:
            if "renames" in mode:
                atomic_write._exchange_call = lambda: None
            # A killed process does not lose data in the page cache, so syncing is not needed.
            os.fsync = lambda file: None
            if kill:
                kill_before(kill)
            if "file" in mode:
                with replace_file(target) as file:
                    file.write(b"x" * step)
                os._exit(0)
            with open_corpus(source) as corpus:
                rows = sum(map(len, corpus.batches()))
                with OutputDir(target, overwrite="new" not in mode) as out:
                    corpus.write_kept(range(step, rows), out)
                    for name in ("clusters", "pairs"):
                        write_table(out, name, {"id": list(range(step))}, corpus.format)
                    out.write_json("summary.json", {"step": step})
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED), code
    return code == KILLED


def state():
    if target.is_file():
        return target.read_bytes()
    return {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}


def fresh(step):
    if step and saved.exists():
        shutil.rmtree(root)
        shutil.copytree(saved, root)
        return
    shutil.rmtree(root)
    root.mkdir()
    if step:
        assert not run(step)
        if "file" not in mode:
            (target / "mine.csv").write_bytes(b"mine")
            (target / "sub").mkdir()
            (target / "sub" / "kept.jsonl").write_bytes(b"mine")
        shutil.copytree(root, saved)
    elif "empty" in mode:
        target.mkdir()


first = 0 if "new" in mode else 1
fresh(first)
before = state()
run(2)
after = state()
fresh(first)
ends = {"old": 0, "new": 0, "absent": 0}
kill, kills = 1, 0
while True:
    fresh(first)
    killed = run(2, kill)
    if not killed:
        break
    kills += 1
    left = state()
    if not target.exists() and first:
        ends["absent"] += 1
    else:
        assert left in (before, after), (kill, sorted(left))
        ends["old" if left == before else "new"] += 1
    if "new" not in mode or left != after:
        assert not run(2), kill
        assert after == state(), kill
        assert ["out"] == os.listdir(root), (kill, os.listdir(root))
    kill += every
assert after == state()
print(json.dumps({"calls": kills, **ends}))
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")

ROWS = [f"text {i}" for i in range(4)]


def source(folder: Path, kind: str) -> Path:
    """Write a corpus of four rows in this format."""
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"in.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"text": ROWS}), path)
    elif kind.startswith("jsonl"):
        data = "".join(json.dumps({"text": text}) + "\n" for text in ROWS).encode()
        path.write_bytes(gzip.compress(data) if kind.endswith("gz") else data)
    elif kind == "files":
        path.mkdir()
        for text in ROWS:
            (path / text).write_text(text)
    else:
        path.write_text("".join(text + "\n" for text in (["text"] if kind != "txt" else []) + ROWS))
    return path


def killed_everywhere(tmp_path: Path, kind: str, mode: str, every: int = 1) -> dict[str, int]:
    """Kill runs before each of `every` calls; count the runs, and those that left the old and the new output."""
    root = tmp_path / "root"
    root.mkdir()
    command = [sys.executable, "-c", DRIVER, str(source(tmp_path, kind)), str(root), mode, str(every)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    ends: dict[str, int] = json.loads(done.stdout)
    return ends


SLOW = [pytest.param(kind, 1, marks=pytest.mark.slow) for kind in ("parquet", "jsonl.gz", "csv", "tsv", "txt", "files")]


@pytest.mark.parametrize(("kind", "every"), [("jsonl", 1), ("parquet", 5), *SLOW])
def test_a_kill_leaves_the_old_or_the_new_output(tmp_path: Path, kind: str, every: int) -> None:
    """With overwrite, the output is never mixed or missing in any format; the next run works and leaves no temporary
    files.
    """
    ends = killed_everywhere(tmp_path, kind, "exchange", every)
    assert 0 == ends["absent"]
    assert ends["calls"] == ends["old"] + ends["new"]
    assert every * min(ends["old"], ends["new"]) > 5


@pytest.mark.parametrize("mode", ["new", "new empty"])
def test_a_kill_of_a_first_run_leaves_nothing_or_the_output(tmp_path: Path, mode: str) -> None:
    """Without overwrite, the folder did not exist or was empty."""
    ends = killed_everywhere(tmp_path, "jsonl", mode)
    assert min(ends["old"], ends["new"]) > 2
    assert 0 == ends["absent"]


def test_a_kill_between_two_renames_is_mended_by_the_next_run(tmp_path: Path) -> None:
    """If the system cannot exchange folders, one kill leaves no folder, and the next run restores the old one."""
    ends = killed_everywhere(tmp_path, "jsonl", "renames")
    assert ends["calls"] == ends["old"] + ends["new"] + ends["absent"]
    assert 1 <= ends["absent"] <= 2


def test_a_kill_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    """A single file that is replaced is always the old or the new file."""
    ends = killed_everywhere(tmp_path, "jsonl", "file")
    assert 0 == ends["absent"]
    assert min(ends["old"], ends["new"]) > 2
