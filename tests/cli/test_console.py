"""Tests of nearkin.cli.console with pipes and terminals."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from command import ENVIRONMENT, call, run, standard_input, succeed
from corpora import write_rows
from nearkin.cli import app, console
from nearkin.cli.console import Failures, escape_surrogates, read_text, show_table
from nearkin.cli.corpus import CorpusOptions
from nearkin.cli.errors import format_error
from nearkin.digests import ssdeep
from nearkin.errors import InputError, ParameterError, printable

pty = pytest.importorskip("pty", reason="a terminal of a POSIX system")


def on_a_terminal(*arguments: str | Path, columns: int = 80, own_process: bool = False) -> tuple[int, str]:
    """Run a command on a terminal, and return its exit code and output."""
    main, side = pty.openpty()
    output: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(main, 1 << 16):
                output.append(part)
        except OSError:
            # Linux raises an error when the other side is closed.
            pass

    reader = threading.Thread(target=read)
    reader.start()
    terminal = {**ENVIRONMENT, "COLUMNS": str(columns), "TERM": "xterm"}
    if own_process:
        command = [sys.executable, "-m", "nearkin", *map(str, arguments)]
        environment = {**os.environ, **terminal}
        code = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=side, stderr=side, env=environment, check=False
        ).returncode
        os.close(side)
    else:
        with (
            os.fdopen(side, "w", encoding="utf-8", errors="backslashreplace") as stream,
            mock.patch.dict(os.environ, terminal),
            standard_input(b""),
            redirect_stdout(stream),
            redirect_stderr(stream),
        ):
            code = app.run(list(map(str, arguments)))
    reader.join()
    os.close(main)
    return code, b"".join(output).decode()


def test_bars_are_shown_on_a_terminal_and_taken_away(similar: Path, tmp_path: Path) -> None:
    """Progress bars show the stages of a job and are erased; --quiet shows none."""
    code, seen = on_a_terminal("dedup", similar, "-o", tmp_path / "out", own_process=True)
    assert 0 == code, seen
    assert all(stage in seen for stage in ("hash", "cluster", "documents in"))
    # The cursor is hidden while bars are drawn, and comes back.
    assert seen.index("\x1b[?25l") < seen.index("\x1b[?25h") < seen.index("documents in")
    assert (0, "") == on_a_terminal("dedup", similar, "-o", tmp_path / "quiet", "--quiet")


def test_bars_of_files_are_shown_on_a_terminal(tmp_path: Path) -> None:
    """The bar of `ssdeep hash` shows the number of files."""
    for i in range(3):
        (tmp_path / f"{i}").write_bytes(bytes([i]) * 5000)
    code, seen = on_a_terminal("ssdeep", "hash", "--json", *sorted(tmp_path.iterdir()))
    assert (0, True) == (code, "3 of 3" in seen)


def test_a_table_fits_the_terminal(tmp_path: Path) -> None:
    """A terminal folds long cells."""
    for end in "ab":
        (tmp_path / ("long-name-" * 12 + end)).write_bytes(random.Random(7).randbytes(9000))
    _, seen = on_a_terminal("ssdeep", "cluster", tmp_path, "-t", "1", columns=60)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    lines = [line.rstrip() for line in plain.splitlines() if "│" in line or "┃" in line]
    assert len(lines) > 3
    assert max(map(len, lines)) <= 60


def test_errors_on_a_terminal_are_words(tmp_path: Path) -> None:
    """A terminal shows the same error message as a pipe."""
    code, seen = on_a_terminal("dedup", tmp_path / "none.jsonl", "-o", tmp_path / "out", columns=400)
    assert (1, True) == (code, "nearkin: error: " in seen)


def test_a_table_in_a_pipe_keeps_long_cells(capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe gets complete cells without markup; columns can be right-aligned."""
    cells = ["x" * 5000, "[bold]not markup[/]"]
    show_table(["one", "two"], [cells], right=["two"])
    printed = capsys.readouterr()
    assert all(cell in printed.out for cell in cells)
    show_table(["n", "what"], [["1", "a"], ["100", "b"]], header=False, lines=False, right=["n"], err=True)
    assert ["  1  a", "100  b"] == [line.rstrip() for line in capsys.readouterr().err.splitlines()]


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_printable_can_be_written_anywhere(text: str) -> None:
    """Printable text has no control characters or lone surrogates, and printable input is unchanged."""
    shown = printable(text)
    assert shown.isprintable()
    assert shown == shown.encode("utf-8").decode("utf-8")
    assert (shown == text) == text.isprintable()
    assert escape_surrogates(text) == escape_surrogates(text).encode("utf-8").decode("utf-8")
    assert all("\ud800" <= c <= "\udfff" for c in text if c not in escape_surrogates(text))


def test_a_remedy_is_worded_for_this_door() -> None:
    """Messages replace strict=False by --lenient, and are otherwise unchanged."""
    with pytest.raises(InputError) as result:
        ssdeep.compare("7:a:b", "3::")
    assert "strict=False" == result.value.remedy
    assert str(result.value).endswith("a digest reads `size:part:part`, or pass strict=False for old data")
    assert format_error(result.value).endswith("a digest reads `size:part:part`, or add --lenient for old data")
    assert "strict" not in format_error(result.value)
    with pytest.raises(InputError) as lenient:
        ssdeep.compare("x", "3::", strict=False)
    assert str(lenient.value) == format_error(lenient.value)
    assert "strict" not in str(lenient.value)


def test_errors_of_the_system_are_worded_once() -> None:
    """Messages of the core and of Python name the file once."""
    assert "reading /x: no such file or folder" == format_error(OSError(2, "reading /x: No such file or directory"))
    assert "reading /x: No such file" == format_error(OSError(2, "reading /x: No such file"))
    assert "/x: no such file" == format_error(OSError(2, "No such file", "/x"))
    assert "/x: permission denied" == format_error(OSError(13, "Permission denied", b"/x"))
    assert "/x: no such file or folder" == format_error(OSError(2, "open /x: No such file or directory (os error 2)"))
    assert "plain words" == format_error("plain words")


@pytest.mark.parametrize(
    ("refused", "result", "code"), [(False, True, 0), (False, False, 3), (True, True, 1), (True, False, 1)]
)
def test_the_exit_code_says_what_happened(refused: bool, result: bool, code: int) -> None:
    """A failure takes precedence over a missing match."""
    failures = Failures()
    if refused:
        failures.report(ParameterError("reason"), "name")
    try:
        failures.exit(matched=result)
        ended = 0
    except typer.Exit as error:
        ended = error.exit_code
    assert code == ended


def test_text_comes_from_files_and_standard_input(tmp_path: Path) -> None:
    """The name - reads standard input; text that is not UTF-8 is an error."""
    path = tmp_path / "text"
    path.write_bytes("näher".encode())
    assert "näher" == read_text(str(path))
    with standard_input("näher".encode()):
        assert "näher" == read_text("-")
    with standard_input(b"\xe4"), pytest.raises(InputError, match="standard input: is not UTF-8 at byte 0"):
        read_text("-")


def test_reading_reports_what_was_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Skipped records are reported at the end of the context, except after an error."""
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "a"}\n{\n')
    with CorpusOptions(max_malformed="1").read([str(path)]) as corpus:
        assert 1 == sum(len(batch.texts) for batch in corpus.batches())
        assert "" == capsys.readouterr().err
    assert "line 2" in capsys.readouterr().err
    with pytest.raises(ValueError, match="other"), CorpusOptions().read([str(path)]):
        raise ValueError("other")
    assert "" == capsys.readouterr().err


def test_bars_are_for_terminals_alone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a terminal shows progress bars."""
    for quiet in (False, True):
        with console.progress_bars(quiet=quiet) as progress:
            progress("stage", 1, None)
    assert ("", "") == tuple(capsys.readouterr())
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    with console.progress_bars(quiet=False) as progress:
        progress("one", 1, 2)
        progress("one", 2, 2)
        progress("two", 5, None)
    assert all(part in terminal.getvalue() for part in ("one", "2 of 2", "100%", "two"))


HOSTILE = "a\x1b[2J\x07\r\x9b1m\u202eb\nc\td\x7f"
"""Clears the screen, rings, goes back, colours, turns the direction of writing, ends the line."""

SAFE = r"a\x1b[2J\x07\r\x9b1m\u202eb\nc\td\x7f"
"""The same as it is shown."""


def harmless(seen: str) -> bool:
    """Return True if a terminal gets only text, line ends, colours of tables and control codes of progress bars."""
    return re.sub(r"(\r?\x1b\[(\?25[lh]|2K|1A|[0-9;]*m))+|\r?\n|\t", "", seen).isprintable()


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Write two similar texts with control characters in ids and words."""
    text = " ".join(f"word{i}" for i in range(30)) + f" wo\x1b[31mrd {HOSTILE}"
    rows = [{"id": HOSTILE, "text": text}, {"id": "other", "text": text + " more"}]
    return write_rows(tmp_path / "corpus.jsonl", rows)


@pytest.mark.parametrize(
    "command",
    [
        ["text", "pairs", "--threshold", "0.5"],
        ["text", "pairs", "--threshold", "0.5", "--json"],
        ["text", "hash"],
        ["text", "hash", "--json"],
        ["text", "keywords", "--recipe", "word:1|count|xxh3|simhash:64"],
        ["text", "keywords", "--recipe", "word:1|count|xxh3|simhash:64", "--json"],
        ["dedup", "--threshold", "0.5", "-o", "-"],
        ["dedup", "--threshold", "0.5", "-o", "out"],
    ],
    ids=" ".join,
)
def test_data_sends_a_terminal_nothing_to_act_on(
    command: list[str], hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids and words are printable on a terminal and unchanged in a pipe."""
    monkeypatch.chdir(tmp_path)
    code, seen = on_a_terminal(*command, hostile, "--id-column", "id", columns=4000)
    # Bars are drawn and erased.
    seen = re.sub(r".*\x1b\[\?25h|\x1b\[2K|\x1b\[1A", "", seen, flags=re.DOTALL).lstrip("\r")
    assert (0, True) == (code, harmless(seen)), seen
    piped = succeed(*(part if part != "out" else "again" for part in command), hostile, "--id-column", "id")
    if "--json" in command and "keywords" not in command:
        shown = [json.loads(line) for line in seen.splitlines()]
        assert piped.objects() == shown
        assert HOSTILE in shown[0].values()
    elif command[1] in ("pairs", "hash"):
        assert SAFE in seen
        assert HOSTILE in piped.data.decode()
    elif command[-1] == "-":
        assert hostile.read_bytes().splitlines(keepends=True)[0] == piped.data


def test_names_of_files_send_a_terminal_nothing_to_act_on(tmp_path: Path) -> None:
    """File names are printable in lists, JSON and messages."""
    path = tmp_path / HOSTILE.replace("/", "")
    path.write_bytes(bytes(range(256)) * 40)
    for form in ([], ["--json"]):
        code, seen = on_a_terminal("ssdeep", "hash", *form, path, columns=4000)
        assert (0, True) == (code, harmless(seen)), (form, seen)
        assert SAFE in seen.replace("\\\\", "\\") or form == ["--json"], form
    assert str(path) == json.loads(run("ssdeep", "hash", "--json", path).stdout)["path"]
    for command in (["ssdeep", "hash"], ["dedup", "-o", tmp_path / "out"], ["index", "info"]):
        for seen in (on_a_terminal(*command, f"{path} absent", columns=4000)[1], call(*command, f"{path} absent").err):
            assert harmless(seen), (command, seen)
            assert SAFE in seen, (command, seen)


def test_a_usage_error_and_a_traceback_are_printable(tmp_path: Path) -> None:
    """A file name that looks like an option is printable in messages and in a traceback."""
    for arguments in ([f"--{HOSTILE}"], ["dedup", tmp_path, f"--{HOSTILE}"], ["ssdeep", f"x{HOSTILE}"]):
        done = call(*arguments)
        assert (2, True) == (done.code, harmless(done.err)), done.err
    result = run("--debug", "dedup", tmp_path / HOSTILE, "-o", tmp_path / "out")
    assert (1, True) == (result.returncode, harmless(result.stderr.decode())), result.stderr
    assert b"Traceback" in result.stderr


def test_a_table_in_a_pipe_is_lines_with_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe gets a line per row, after the column names; tabs in cells are escaped."""
    show_table(["n", "what"], [["1", "a b"], ["2", "c\td\ne"]], right=["n"])
    assert "n\twhat\n1\ta b\n2\tc\\td\\ne\n" == capsys.readouterr().out
    show_table(["", ""], [["documents", "3"]], header=False, lines=False)
    assert "documents\t3\n" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        ("text hash large.jsonl", "read, MB"),
        ("text keywords large.jsonl --recipe word:1", "read, MB"),
        ("text contains large.jsonl --known known.jsonl", "read, MB"),
        ("text contains known.jsonl --known large.jsonl", "read, MB older"),
        ("recipe idf large.jsonl --out large.idf --recipe word:1", "read, MB"),
        ("patterns lines large.jsonl", "read, MB"),
        ("patterns urls large.log", "read, MB"),
        ("patterns payloads large.jsonl", "read, MB"),
        ("store add texts.store large.jsonl", "read, MB"),
        ("check large.jsonl --store texts.store", "read, MB"),
        ("store add files.store folder", "read"),
    ],
)
def test_what_reads_a_corpus_reports_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, stage: str
) -> None:
    """The total is known, so that bars show the share and the time left; the last report is all of it."""
    events: list[tuple[str, int, int | None]] = []

    @contextmanager
    def record(_: object) -> Iterator[Any]:
        yield lambda *event: events.append(event)

    monkeypatch.chdir(tmp_path)
    text = " ".join(f"word{number}" for number in range(400))
    Path("large.jsonl").write_text("".join(json.dumps({"text": f"{row} {text}"}) + "\n" for row in range(450)))
    Path("large.log").write_text("".join(f"https://host/item/{row}/{text[:50]}\n" for row in range(20_000)))
    Path("known.jsonl").write_text(json.dumps({"text": text}) + "\n")
    Path("folder").mkdir()
    Path("folder", "a.bin").write_text(text)
    for words in ("store create texts.store", "store create files.store --recipe ssdeep"):
        if words.split()[2] in line:
            assert 0 == call(*words.split()).code
    monkeypatch.setattr(console, "reporting", record)
    succeed(*line.split(), *(["--quiet"] if line.startswith("store add") else []))
    reported = [(count, total) for name, count, total in events if name == stage]
    assert reported, events
    count, total = reported[-1]
    assert count == total
    assert total
