"""nearkin.progress: values of `progress=`, and bars in terminals and notebooks."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.progress import bars, reporting

TEXTS = [f"text number {i} of some words" for i in range(50)]


def output(console: Console) -> str:
    """Return the output of a console."""
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def terminal(**options: Any) -> Console:
    """Return a terminal that writes to memory."""
    return Console(file=io.StringIO(), force_terminal=True, width=160, **options)


def test_bars_have_share_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage has one bar, and its total may be unknown at first."""
    clock = iter(range(0, 10_000, 2))
    console = terminal()
    monkeypatch.setattr(console, "get_time", lambda: float(next(clock)))
    with bars(console) as report:
        for done in range(0, 1001, 250):
            report("[hash]", 4 * done, 8000)
        report("read", 1234567, None)
        report("late", 1, None)
        report("late", 30, 30)
    text = output(console)
    for part in ("[hash]", "4,000 of 8,000", "50%", "/s", "read", "1,234,567", "late", "30 of 30", "100%"):
        assert part in text, part
    assert "0:00:" in text


def test_nothing_is_shown_outside_of_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    """Calls are accepted in a pipe, and for None and False."""
    pipe = Console(file=io.StringIO(), force_terminal=False)
    with bars(pipe) as report:
        report("hash", 1, 2)
    assert "" == output(pipe)
    for value in (None, False, True):
        with reporting(value) as report:
            report("hash", 1, 2)
    assert ("", "") == tuple(capsys.readouterr())


class Cell:
    """The output of a cell of a notebook: what IPython's display put there, one after another."""

    def __init__(self) -> None:
        self.contents: list[str] = []

    def update(self, content: str) -> None:
        """Record the content, as the handle of a display."""
        self.contents.append(content)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A notebook without ipywidgets: rich recognizes its shell, and IPython has a display."""
    cell = Cell()

    def display(content: str, *, display_id: bool) -> Cell:
        assert display_id
        cell.update(content)
        return cell

    for name, members in (("IPython", {}), ("IPython.display", {"display": display, "HTML": str})):
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr("builtins.get_ipython", lambda: shell, raising=False)
    return cell


def test_a_notebook_shows_bars_without_a_terminal(cell: Cell, capsys: pytest.CaptureFixture[str]) -> None:
    """They are below the cell, one for each stage, and removed at the end; the result is the same."""
    result = nk.dedup(TEXTS, progress=True)
    assert nk.dedup(TEXTS).kept == result.kept
    bar = '<progress aria-label="hash" max="50" value="50"></progress>'
    assert any(f"<td>hash</td><td>{bar}</td><td>50 of 50</td><td>100%</td>" in content for content in cell.contents)
    assert any("<td>cluster</td>" in content for content in cell.contents)
    assert ("", "") == (cell.contents[0], cell.contents[-1])
    assert ("", "") == tuple(capsys.readouterr())


def test_bars_of_a_notebook_have_share_rate_and_time_left(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are escaped, and bars are updated ten times a second at most."""
    now = [100.0]
    monkeypatch.setattr("nearkin.progress.time.monotonic", lambda: now[0])
    with reporting(True) as report:
        for done in range(0, 4001, 10):
            report("<hash>", done, 8000)
            now[0] += 0.01
        assert 42 >= len(cell.contents)
        now[0] += 1
        report("read", 1_234_567, None)
        now[0] += 3600
        report("read", 1_234_567, None)
        report("late", 1, None)
        report("late", 30, 30)
    before_last = cell.contents[-2]
    for part in (
        "<td>&lt;hash&gt;</td>",
        '<progress aria-label="&lt;hash&gt;" max="8000" value="4000"></progress>',
        "<td>4,000 of 8,000</td><td>50%</td><td>1,000/s</td><td>0:00:04 left</td>",
        '<td>read</td><td><progress aria-label="read"></progress></td><td>1,234,567</td><td>343/s</td>',
        "<td>30 of 30</td><td>100%</td>",
    ):
        assert part in before_last, before_last
    assert "" == cell.contents[-1]


def test_an_error_ends_the_bars_of_a_notebook(cell: Cell) -> None:
    """The error is raised."""

    def fail() -> None:
        with reporting(True) as report:
            report("hash", 1, 2)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert "" == cell.contents[-1]


@pytest.mark.parametrize("value", ["yes", 1, 0, [], 0.5])
def test_other_values_are_errors(value: Any) -> None:
    """The message lists the allowed values."""
    with pytest.raises(ParameterError, match=r"progress=.* is not allowed; use True, False, None or a function"):
        nk.dedup(TEXTS, progress=value)


def test_an_error_ends_the_bars() -> None:
    """The terminal is reset, and the error is raised."""
    console = terminal()

    def fail(stage: str) -> None:
        with bars(console) as report:
            report(stage, 1, 2)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail("hash")
    assert "\x1b[?25h" in output(console)


def call_with_store(call: Callable[[nk.Store], Any], recipe: str | None = None) -> None:
    """Call a function with a new store that contains a few of the texts."""
    with tempfile.TemporaryDirectory() as folder, nk.Store.create(Path(folder, "store"), recipe) as store:
        if recipe is None:
            store.add(TEXTS[:5])
        call(store)


def list_calls(folder: Path) -> dict[str, Callable[[Any], Any]]:
    """Return every call with `progress=`, by name."""
    path = folder / "a.jsonl"
    path.write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
    codes = nk.fingerprint(TEXTS, "char:4|count|xxh3|simhash:64")
    index = nk.HammingIndex()
    index.add(None, codes)
    return {
        "dedup": lambda progress: nk.dedup(TEXTS, progress=progress),
        "dedup of files": lambda progress: nk.dedup(path, progress=progress),
        "dedup_files": lambda progress: nk.dedup_files([path], progress=progress),
        "tune": lambda progress: nk.tune(TEXTS, threshold=0.5, bits=[64], progress=progress),
        "tune_bands": lambda progress: nk.tune_bands(TEXTS, threshold=0.5, num_perms=[32], progress=progress),
        "check_and_add": lambda progress: call_with_store(lambda store: store.check_and_add(TEXTS, progress=progress)),
        "add": lambda progress: call_with_store(lambda store: store.add(TEXTS, progress=progress)),
        "check": lambda progress: call_with_store(lambda store: store.check(TEXTS, progress=progress)),
        "merge": lambda progress: call_with_store(lambda store: store.merge(progress=progress)),
        "verify": lambda progress: call_with_store(lambda store: store.verify(progress=progress)),
        "backup": lambda progress: call_with_store(
            lambda store: store.backup(store.path.with_name("copy"), progress=progress)
        ),
        "add files": lambda progress: call_with_store(
            lambda store: store.check_and_add([path], kind="paths", progress=progress), "ssdeep"
        ),
        "search": lambda progress: index.search(codes, 3, progress=progress),
        "hash_files": lambda progress: nk.ssdeep.hash_files([path], progress=progress),
    }


@pytest.mark.parametrize("name", list_calls(Path(tempfile.mkdtemp())))
def test_every_long_call_accepts_progress(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function is called and stages end at their total; True shows bars, None and False nothing; other values are
    errors.
    """
    call = list_calls(tmp_path)[name]
    last_reports: dict[str, tuple[int, int | None]] = {}
    call(lambda stage, done, total: last_reports.update({stage: (done, total)}))
    assert last_reports
    assert all(total is None or done == total for done, total in last_reports.values())
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    for value in (None, False):
        call(value)
        assert "" == stream.getvalue()
    call(True)
    assert next(iter(last_reports)) in stream.getvalue()
    assert "" == capsys.readouterr().out
    with pytest.raises(ParameterError, match="progress='yes'"):
        call("yes")


def test_a_store_reports_progress() -> None:
    """Stages are hashing and two searches; an error in the function adds nothing."""

    def check(store: nk.Store) -> None:
        reports: list[tuple[str, int, int | None]] = []
        # One new text alone is compared with no other.
        new = ["quite another one", "and a third of other words"]
        store.check_and_add([*TEXTS[:3], *new], progress=lambda *event: reports.append(event))
        stages = [(stage, done, 2) for stage in ("search", "absorb") for done in (0, 2)]
        assert [("hash", 5, 5), *stages] == reports
        before = len(store)

        def fail(stage: str, done: int, total: int | None) -> None:
            if stage == "absorb":
                raise KeyError(stage)

        with pytest.raises(KeyError, match="absorb"):
            store.check_and_add(["one more text of some words", "and another of others"], progress=fail)
        assert before == len(store)
        assert ["new"] == store.check_and_add(["one more text of some words"]).status

    call_with_store(check)


def test_compaction_reports_each_segment(tmp_path: Path) -> None:
    """Stages are writing, indexing, merging, verifying and copying; an error in the function changes nothing."""
    events: list[tuple[str, int, int | None]] = []

    def record(stage: str, done: int, total: int | None) -> None:
        events.append((stage, done, total))

    with nk.Store.create(tmp_path / "a.store") as store:
        store.add(TEXTS[:3])
        store.merge(progress=record)
        assert [("write", 0, 3), ("write", 3, 3)] == events
        store.add([f"other words of text {i}" for i in range(2)])
        events.clear()
        store.merge(progress=record)
        assert [("write", 0, 2), ("write", 2, 2), ("merge", 0, 5), ("index", 0, 5)] == events[:4]
        assert [("index", 5, 5), ("merge", 5, 5)] == events[4:]
        size = sum(path.stat().st_size for path in store.path.glob("segments/*.nks"))
        assert 0 < size < 1 << 20
        events.clear()
        store.verify(progress=record)
        store.backup(tmp_path / "b.store", progress=record)
        expected = [(stage, done, 1) for stage in ("copy, MB", "verify, MB") for done in (0, 1)]
        assert expected == sorted(set(events))

        def fail(stage: str, done: int, total: int | None) -> None:
            raise KeyError(stage)

        # An error in `progress` ends the call and leaves the store unchanged.
        store.add(["and some more words of a text"])
        with pytest.raises(KeyError):
            store.merge(progress=fail)
        with pytest.raises(KeyError):
            store.backup(tmp_path / "c.store", progress=fail)
        assert not (tmp_path / "c.store").exists()
        assert (6, 1) == (len(store), store.stats().waiting)
        store.verify()
