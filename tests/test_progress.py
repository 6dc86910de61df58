"""nearkin.progress: what `progress=` takes, and bars where somebody looks."""

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


def told(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def terminal(**options: Any) -> Console:
    """A terminal that writes to memory."""
    return Console(file=io.StringIO(), force_terminal=True, width=160, **options)


def test_bars_have_share_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as the whole is known; a total may come late, and one bar is one stage."""
    clock = iter(range(0, 10_000, 2))
    shown = terminal()
    monkeypatch.setattr(shown, "get_time", lambda: float(next(clock)))
    with bars(shown) as report:
        for done in range(0, 1001, 250):
            report("[hash]", 4 * done, 8000)
        report("read", 1234567, None)
        report("late", 1, None)
        report("late", 30, 30)
    text = told(shown)
    for part in ("[hash]", "4,000 of 8,000", "50%", "/s", "read", "1,234,567", "late", "30 of 30", "100%"):
        assert part in text, part
    assert "0:00:" in text


def test_nobody_looks_and_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe, for None, for False; the calls are taken all the same."""
    pipe = Console(file=io.StringIO(), force_terminal=False)
    with bars(pipe) as report:
        report("hash", 1, 2)
    assert "" == told(pipe)
    for wanted in (None, False, True):
        with reporting(wanted) as report:
            report("hash", 1, 2)
    assert ("", "") == tuple(capsys.readouterr())


def test_true_goes_to_standard_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output stays what programs read; the result is the same."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    shown = nk.dedup(TEXTS, progress=True)
    assert "cluster" in stream.getvalue()
    assert "" == capsys.readouterr().out
    assert nk.dedup(TEXTS).kept == shown.kept


class Cell:
    """The output of a cell of a notebook: what IPython's display put there, one after another."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, content: str) -> None:
        """What a handle of the display does."""
        self.shown.append(content)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A notebook without ipywidgets: rich sees its shell, and IPython has a display."""
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


def test_a_notebook_shows_bars_though_no_terminal_is_there(cell: Cell, capsys: pytest.CaptureFixture[str]) -> None:
    """Below the cell, one for each stage, and gone at the end; the result is the same."""
    shown = nk.dedup(TEXTS, progress=True)
    assert nk.dedup(TEXTS).kept == shown.kept
    bar = '<progress aria-label="hash" max="50" value="50"></progress>'
    assert any(f"<td>hash</td><td>{bar}</td><td>50 of 50</td><td>100%</td>" in each for each in cell.shown)
    assert any("<td>cluster</td>" in each for each in cell.shown)
    assert ("", "") == (cell.shown[0], cell.shown[-1])
    assert ("", "") == tuple(capsys.readouterr())


def test_bars_of_a_notebook_have_share_rate_and_time_left(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as the whole is known; names are text, and bars are drawn ten times a second at most."""
    now = [100.0]
    monkeypatch.setattr("nearkin.progress.time.monotonic", lambda: now[0])
    with reporting(True) as report:
        for done in range(0, 4001, 10):
            report("<hash>", done, 8000)
            now[0] += 0.01
        assert 42 >= len(cell.shown)
        now[0] += 1
        report("read", 1_234_567, None)
        now[0] += 3600
        report("read", 1_234_567, None)
        report("late", 1, None)
        report("late", 30, 30)
    before_last = cell.shown[-2]
    for part in (
        "<td>&lt;hash&gt;</td>",
        '<progress aria-label="&lt;hash&gt;" max="8000" value="4000"></progress>',
        "<td>4,000 of 8,000</td><td>50%</td><td>1,000/s</td><td>0:00:04 left</td>",
        '<td>read</td><td><progress aria-label="read"></progress></td><td>1,234,567</td><td>343/s</td>',
        "<td>30 of 30</td><td>100%</td>",
    ):
        assert part in before_last, before_last
    assert "" == cell.shown[-1]


def test_an_error_ends_the_bars_of_a_notebook(cell: Cell) -> None:
    """And comes through."""

    def fail() -> None:
        with reporting(True) as report:
            report("hash", 1, 2)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert "" == cell.shown[-1]


@pytest.mark.parametrize("wanted", ["yes", 1, 0, [], 0.5])
def test_anything_else_is_refused(wanted: Any) -> None:
    """The message says what is taken."""
    with pytest.raises(ParameterError, match=r"progress=.* is not allowed; use True, False, None or a function"):
        nk.dedup(TEXTS, progress=wanted)


def test_an_error_ends_the_bars() -> None:
    """The terminal is as before, and the error comes through."""
    shown = terminal()

    def fail(stage: str) -> None:
        with bars(shown) as report:
            report(stage, 1, 2)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail("hash")
    assert "\x1b[?25h" in told(shown)


def in_store(call: Callable[[nk.Store], Any], recipe: str | None = None) -> None:
    """With a new store that holds a few of the texts."""
    with tempfile.TemporaryDirectory() as folder, nk.Store.create(Path(folder, "store"), recipe) as store:
        if recipe is None:
            store.add(TEXTS[:5])
        call(store)


def everything(folder: Path) -> dict[str, Callable[[Any], Any]]:
    """Every call that takes progress, by the stage that it ends with."""
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
        "check_and_add": lambda progress: in_store(lambda store: store.check_and_add(TEXTS, progress=progress)),
        "add": lambda progress: in_store(lambda store: store.add(TEXTS, progress=progress)),
        "check": lambda progress: in_store(lambda store: store.check(TEXTS, progress=progress)),
        "merge": lambda progress: in_store(lambda store: store.merge(progress=progress)),
        "verify": lambda progress: in_store(lambda store: store.verify(progress=progress)),
        "backup": lambda progress: in_store(
            lambda store: store.backup(store.path.with_name("copy"), progress=progress)
        ),
        "add files": lambda progress: in_store(
            lambda store: store.check_and_add([path], kind="paths", progress=progress), "ssdeep"
        ),
        "search": lambda progress: index.search(codes, 3, progress=progress),
        "hash_files": lambda progress: nk.ssdeep.hash_files([path], progress=progress),
    }


@pytest.mark.parametrize("name", everything(Path(tempfile.mkdtemp())))
def test_every_long_call_takes_progress_alike(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function is called, stages end at their total, True shows bars, None and False nothing; else an error."""
    call = everything(tmp_path)[name]
    told_last: dict[str, tuple[int, int | None]] = {}
    call(lambda stage, done, total: told_last.update({stage: (done, total)}))
    assert told_last
    assert all(total is None or done == total for done, total in told_last.values())
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    for wanted in (None, False):
        call(wanted)
        assert "" == stream.getvalue()
    call(True)
    assert next(iter(told_last)) in stream.getvalue()
    with pytest.raises(ParameterError, match="progress='yes'"):
        call("yes")


def test_a_store_tells_progress_and_an_error_of_it_adds_nothing() -> None:
    """Hashing, the search among stored documents, then among those of the call."""

    def check(store: nk.Store) -> None:
        told_of: list[tuple[str, int, int | None]] = []
        # One new text alone is compared with no other.
        new = ["quite another one", "and a third of other words"]
        store.check_and_add([*TEXTS[:3], *new], progress=lambda *event: told_of.append(event))
        stages = [(stage, done, 2) for stage in ("search", "absorb") for done in (0, 2)]
        assert [("hash", 5, 5), *stages] == told_of
        before = len(store)

        def fail(stage: str, done: int, total: int | None) -> None:
            if stage == "absorb":
                raise KeyError(stage)

        with pytest.raises(KeyError, match="absorb"):
            store.check_and_add(["one more text of some words", "and another of others"], progress=fail)
        assert before == len(store)
        assert ["new"] == store.check_and_add(["one more text of some words"]).status

    in_store(check)


def test_upkeep_of_a_store_is_told_segment_by_segment(tmp_path: Path) -> None:
    """What waits, what is indexed, what is merged; bytes of files that are verified and copied."""
    events: list[tuple[str, int, int | None]] = []

    def tell(stage: str, done: int, total: int | None) -> None:
        events.append((stage, done, total))

    with nk.Store.create(tmp_path / "a.store") as store:
        store.add(TEXTS[:3])
        store.merge(progress=tell)
        assert [("write", 0, 3), ("write", 3, 3)] == events
        store.add([f"other words of text {i}" for i in range(2)])
        events.clear()
        store.merge(progress=tell)
        assert [("write", 0, 2), ("write", 2, 2), ("merge", 0, 5), ("index", 0, 5)] == events[:4]
        assert [("index", 5, 5), ("merge", 5, 5)] == events[4:]
        size = sum(path.stat().st_size for path in store.path.glob("segments/*.nks"))
        assert 0 < size < 1 << 20
        events.clear()
        store.verify(progress=tell)
        store.backup(tmp_path / "b.store", progress=tell)
        expected = [(stage, done, 1) for stage in ("copy, MB", "verify, MB") for done in (0, 1)]
        assert expected == sorted(set(events))

        def fail(stage: str, done: int, total: int | None) -> None:
            raise KeyError(stage)

        # What `progress` raises ends the call, and leaves the store as it was.
        store.add(["and some more words of a text"])
        with pytest.raises(KeyError):
            store.merge(progress=fail)
        with pytest.raises(KeyError):
            store.backup(tmp_path / "c.store", progress=fail)
        assert not (tmp_path / "c.store").exists()
        assert (6, 1) == (len(store), store.stats().waiting)
        store.verify()
