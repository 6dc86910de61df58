"""Faults while another thread reads ahead: at each stage of `nearkin dedup`, with 1, 2 and 64 threads."""

from __future__ import annotations

import errno
import gzip
import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nearkin as nk
from command import Done, call
from nearkin.dedup.summary import StageTimer
from nearkin.io import records

STAGES = ("read", "hash", "collapse", "cluster", "result", "write")
LINES = [json.dumps({"text": f"document {i % 700} has {i % 700 * 7919} words, {i % 3} letters"}) for i in range(2000)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Read files in many batches."""
    monkeypatch.setattr(records, "BLOCK", 1 << 14)
    yield
    nk.set_num_threads(None)


def inputs(folder: Path, suffix: str = ".jsonl") -> tuple[Path, Path]:
    """Write two files."""
    paths = folder / f"a{suffix}", folder / f"b{suffix}"
    for path, lines in zip(paths, (LINES[:1000], LINES[1000:]), strict=True):
        data = ("\n".join(lines) + "\n").encode()
        if suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist([json.loads(line) for line in lines]), path, row_group_size=300)
        else:
            path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    return paths


def dedup(folder: Path, threads: int, *arguments: object, stdin: bytes = b"") -> Done:
    """Deduplicate into `folder / "out"`."""
    return call("dedup", *arguments, "--out", folder / "out", "--threads", threads, stdin=stdin)


def interrupt() -> None:
    """Press Ctrl-C: the main thread gets the signal, whichever thread is running."""
    signal.raise_signal(signal.SIGINT)


def fill_disk() -> NoReturn:
    """Raise the error of a full disk."""
    raise OSError(errno.ENOSPC, "No space left on device", "spool")


@pytest.mark.parametrize("threads", [1, 2, 64])
@pytest.mark.parametrize("stage", [*STAGES, "in the reader"])
@pytest.mark.parametrize(("fault", "code", "message"), [(interrupt, 130, "interrupted"), (fill_disk, 1, "no space")])
def test_a_fault_at_any_stage_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    stage: str,
    fault: Callable[[], None],
    code: int,
    message: str,
) -> None:
    """The command ends with its code and message, without output, a temporary file or a thread."""
    enter, each, seen = StageTimer.__call__, StageTimer.each, set()

    def faulty(self: StageTimer, name: str) -> Any:
        seen.add(name)
        if name == stage:
            fault()
        return enter(self, name)

    def faulty_each(self: StageTimer, name: str, items: Iterable[Any], *, threaded: bool) -> Iterator[Any]:
        def read() -> Iterator[Any]:
            for number, item in enumerate(items):
                if number == 2 and stage == "in the reader":
                    fault()
                yield item

        return each(self, name, read(), threaded=threaded)

    monkeypatch.setattr(StageTimer, "__call__", faulty)
    monkeypatch.setattr(StageTimer, "each", faulty_each)
    paths = inputs(tmp_path)
    done = dedup(tmp_path, threads, *paths)
    assert (code, True) == (done.code, message in done.err), (seen, done.err)
    assert {*paths} == {*tmp_path.iterdir()}
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("nearkin-")]


def cut(path: Path) -> None:
    """Cut a file in the middle of its bytes."""
    path.write_bytes(path.read_bytes()[:3000])


@pytest.mark.parametrize("threads", [1, 2, 64])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(cut, "b.jsonl.gz: the compressed stream is damaged or cut off", id="cut off"),
        pytest.param(lambda path: path.unlink(), "b.jsonl.gz: no such file or folder", id="missing"),
    ],
)
def test_an_unreadable_second_file_is_named(
    tmp_path: Path, threads: int, spoil: Callable[[Path], None], message: str
) -> None:
    """Nothing is left."""
    paths = inputs(tmp_path, ".jsonl.gz")
    spoil(paths[1])
    left = {*tmp_path.iterdir()}
    done = dedup(tmp_path, threads, *paths)
    assert (1, True) == (done.code, message in done.err), done.err
    assert left == {*tmp_path.iterdir()}


@pytest.mark.parametrize("threads", [1, 2, 64])
@pytest.mark.parametrize("compress", [True, False])
def test_a_pipe_that_ends_early_is_an_error(tmp_path: Path, threads: int, compress: bool) -> None:
    """A compressed stream says that it is cut off; of plain lines, the last one is malformed."""
    data = "\n".join(LINES).encode()
    data = gzip.compress(data)[:9000] if compress else data[:-5]
    done = dedup(tmp_path, threads, "-", "--max-malformed", 0, stdin=data)
    assert (1, True) == (done.code, ("is damaged or cut off" if compress else "2000") in done.err), done.err
    assert [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_the_number_of_threads_changes_no_byte(tmp_path: Path, suffix: str) -> None:
    """Of any file except the times in the summary."""
    paths, found = inputs(tmp_path, suffix), []
    for threads in (1, 2, 64):
        out = tmp_path / str(threads)
        out.mkdir()
        assert 0 == dedup(out, threads, *paths).code
        found.append({path.name: path.read_bytes() for path in (out / "out").iterdir() if path.name != "summary.json"})
    assert found[0] == found[1] == found[2]
    assert 2 < len(found[0])
