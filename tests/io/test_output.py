"""Output that is whole or absent, and side tables."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from nearkin.errors import ParameterError
from nearkin.io import Column, OutputDir, open_corpus, write_table
from nearkin.io import output as output_module


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(target: Path, *names: str, overwrite: bool = False, content: bytes = b"new") -> None:
    with OutputDir(target, overwrite=overwrite) as out:
        for name in names:
            with out.open(name) as file:
                file.write(content)


@pytest.mark.parametrize("exists", [False, True])
def test_output_appears_at_the_end_and_nothing_else_does(tmp_path: Path, exists: bool) -> None:
    """Until the context ends the target has nothing that a reader would see; afterwards only the files."""
    target = tmp_path / "a" / "out"
    if exists:
        target.mkdir(parents=True)
    with OutputDir(target) as out:
        with out.open("kept.txt") as file:
            file.write(b"x")
        out.write_json("summary.json", {"rows": 1})
        assert not (target / "kept.txt").exists()
        assert not (target / "summary.json").exists()
    assert {"a/out/kept.txt": b"x", "a/out/summary.json": b'{\n  "rows": 1\n}\n'} == files(tmp_path)
    assert ["out"] == [path.name for path in (tmp_path / "a").iterdir()]


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_nothing(tmp_path: Path, exists: bool, error: type[BaseException]) -> None:
    """Neither files nor folders that were begun remain, whatever ended the run."""
    target = tmp_path / "a" / "out"
    if exists:
        target.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))

    def run() -> None:
        with OutputDir(target) as out, out.open("kept.txt") as file:
            file.write(b"x")
            raise error

    with pytest.raises(error):
        run()
    assert before == sorted(tmp_path.rglob("*"))


def test_a_target_with_something_in_it_is_refused(tmp_path: Path) -> None:
    """Without overwrite any file is in the way; with it only the output of an earlier run may be replaced."""
    target = tmp_path / "out"
    write(target, "kept.jsonl", "clusters.jsonl", "summary.json", content=b"old")
    with pytest.raises(
        ParameterError, match=r"empty or does not exist, or overwrite=True \(--overwrite\); it holds cl"
    ):
        write(target, "kept.csv")
    write(target, "kept.csv", "summary.json", overwrite=True)
    assert {"kept.csv": b"new", "summary.json": b"new"} == files(target)
    (target / "thesis.doc").write_bytes(b"mine")
    with pytest.raises(ParameterError, match=r"nothing but the output of an earlier run; it holds thesis.doc"):
        write(target, "kept.csv", overwrite=True)
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(ParameterError, match="this is a file"):
        write(tmp_path / "file", "kept.csv")
    assert b"mine" == (tmp_path / "file").read_bytes()


def test_a_failing_rename_brings_the_old_output_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever rename fails, the target holds the old output whole."""
    target = tmp_path / "out"
    write(target, "kept.txt", "clusters.jsonl", "summary.json", content=b"old")
    before = files(target)
    rename = Path.rename
    for failing in range(1, 7):
        calls = 0

        def fail(self: Path, other: Path, failing: int = failing) -> Path:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise OSError(errno.EIO, "broken disk")
            return rename(self, other)

        monkeypatch.setattr(Path, "rename", fail)
        with pytest.raises(OSError, match="broken disk"):
            write(target, "kept.txt", "clusters.jsonl", "summary.json", overwrite=True)
        assert before == files(target)
    assert 3 == len(list(target.iterdir()))


def failure_of_a_run(source: Path, target: Path) -> OSError | None:
    """Read a corpus and write half of it with a table; the error that ended the run."""
    try:
        with open_corpus(source) as corpus, OutputDir(target) as out:
            rows = sum(len(batch) for batch in corpus.batches())
            corpus.write_kept(range(0, rows, 2), out)
            write_table(out, "clusters", {"id": list(range(rows))}, "jsonl")
            out.write_json("summary.json", {"rows": rows})
    except OSError as error:
        return error
    return None


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever write fails, the error names the file and the target does not exist."""
    source = tmp_path / "in.jsonl"
    source.write_bytes(b"".join(b'{"text": "%d"}\n' % i for i in range(1000)))
    monkeypatch.setattr(output_module, "_BUFFER", 512)
    write_now = os.write
    for failing in range(1, 200):
        calls = 0

        def fail(descriptor: int, data: bytes, failing: int = failing) -> int:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write_now(descriptor, bytes(data)[:3000])

        monkeypatch.setattr(output_module.os, "write", fail)  # type: ignore[attr-defined]
        error = failure_of_a_run(source, tmp_path / "out")
        if error is None:
            break
        assert errno.ENOSPC == error.errno
        assert error.filename in ("kept.jsonl", "clusters.jsonl", "summary.json")
        assert [source] == list(tmp_path.iterdir())
    assert error is None
    assert failing > 5


def test_inputs_are_never_written_over(tmp_path: Path) -> None:
    """A target that holds an input, or lies in a folder that is one, is refused even with overwrite."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "kept.jsonl").write_text('{"text": "a"}\n')
    with (
        pytest.raises(ParameterError, match=r"kept.jsonl lies in it and is never written over"),
        OutputDir(folder, overwrite=True, inputs=[folder / "kept.jsonl"]),
    ):
        pass
    with pytest.raises(ParameterError, match="a folder outside of"), OutputDir(folder / "out", inputs=[folder]):
        pass
    assert {"kept.jsonl": b'{"text": "a"}\n'} == files(folder)


KILLED = """
import sys, time
from nearkin.io import OutputDir
with OutputDir(sys.argv[1]) as out:
    with out.open("kept.txt") as file:
        file.write(b"half")
        file.flush()
        print("writing", flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_leaves_no_half_output(tmp_path: Path, exists: bool, sign: signal.Signals) -> None:
    """The target has no file after a kill, and the next run removes what lies hidden; a living run's is left alone."""
    target = tmp_path / "out"
    if exists:
        target.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert b"writing\n" == process.stdout.readline()
        hidden = target if exists else tmp_path
        (staging,) = [path for path in hidden.iterdir() if ".nearkin-" in path.name]
        write(tmp_path / "out2", "kept.txt")
        with OutputDir(target):
            assert staging.exists()
        process.send_signal(sign)
        process.wait(30)
    if sign == signal.SIGINT:
        assert not staging.exists()
    assert not (target / "kept.txt").exists()
    if not exists:
        target.rmdir()
    write(target, "kept.txt")
    assert {"kept.txt": b"new"} == files(target)
    assert not staging.exists()


@pytest.mark.parametrize("kind", ["jsonl", "txt", "files", "csv", "tsv", "parquet"])
def test_side_tables_are_written_in_the_corpus_format(tmp_path: Path, kind: str) -> None:
    """Integers, floats, strings, missing values and mixed ids arrive in each format."""
    columns = {
        "id": Column.of(["a,b", 7, 'quote " 中', 2**70]),
        "cluster": np.array([1, 1, 2, 3]),
        "100% similar": np.array([0.5, np.nan, 1.0, 0.25]),
        "reason": ["x", None, "line\nbreak", ""],
    }
    with OutputDir(tmp_path / "out") as out:
        name = write_table(out, "clusters", columns, kind)  # type: ignore[arg-type]
    path = tmp_path / "out" / name
    if kind == "parquet":
        table = pq.read_table(path).to_pydict()
        assert ["a,b", "7", 'quote " 中', str(2**70)] == table["id"]
        assert [0.5, None, 1.0, 0.25] == table["100% similar"]
    elif kind in ("csv", "tsv"):
        with path.open(newline="") as file:
            rows = list(csv.reader(file, delimiter="\t" if kind == "tsv" else ","))
        assert list(columns) == rows[0]
        assert ["7", "1", "", ""] == rows[2]
        assert 'quote " 中' == rows[3][0]
        assert "line\nbreak" == rows[3][3]
    else:
        assert "clusters.jsonl" == name
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert {"id": 7, "cluster": 1, "100% similar": None, "reason": None} == lines[1]
        assert [2**70, 3, 0.25, ""] == list(lines[3].values())
    with pytest.raises(ParameterError, match="columns of one length"), OutputDir(tmp_path / "b") as out:
        write_table(out, "clusters", {"a": [1], "b": []}, "jsonl")


def test_tables_longer_than_a_piece_keep_every_row(tmp_path: Path) -> None:
    """Pieces join without loss."""
    rows = np.arange(40_000)
    with OutputDir(tmp_path / "out") as out:
        for kind in ("jsonl", "csv"):
            write_table(out, "clusters", {"id": rows}, kind)
    lines = (tmp_path / "out" / "clusters.jsonl").read_text().splitlines()
    assert rows.tolist() == [json.loads(line)["id"] for line in lines]
    assert rows.tolist() == [int(line) for line in (tmp_path / "out" / "clusters.csv").read_text().splitlines()[1:]]
