"""The command line in general: commands, help, exit codes, pipes, terminals, and interrupts."""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import typer.main

import nearkin as nk
from command import ENVIRONMENT, TEXTS, call, run
from nearkin.cli import app as door
from nearkin.cli.app import app, command_names

# Options of one name that do different things in different commands, each declared where it is used.
DIFFERENT = {
    "--sample": "of quality, documents; of urls, URLs of each pattern",
    "--out": "a folder, an index, a table, a store",
    "--radius": "of candidates; of matches",
    "--kind": "of decontaminate, of items; of others, of texts",
    "--dry-run": "of dedup, what would be read; of a store, what would change",
    "--length": "of recipe show, characters of a text; of others, another unit",
    "--ledger": "of a job, what is recorded; of a store, what is shown",
    "--create": "of an agent, of short texts; of a service, of the default recipe",
    "--recipe": "of texts, of digests; of tune, what is tried",
    "--bits": "of tune, what is tried",
    "--known": "of contains, known texts; of ssdeep search, a list of digests",
    "--column": "of a store, what is remembered; of search, what is shown",
    "--threshold": "a similarity, or a score",
    "--id-column": "of evaluate, in the table of the truth",
    "--text": "of search, a query; of compare, whether the arguments are texts; of store create, what is kept",
    "--token-file": "of a service, its tokens; of those who ask it, theirs",
    "--format": "of a corpus; of urls, of logs and lists of requests",
    "--source-column": "of dedup, whose removals are counted; of payloads, who sent them",
    "--truth": "of evaluate, also the folder of a run; of tune, may be left out",
    "--against": "of dedup, an older corpus; of report, labels",
    "--store": "of dedup, the store that is added to; of check, stores that are queried",
    "--report": "of dedup, whether its folder has one; of others, the file of one",
    "--labels": "of decontaminate, judged hits; of leaks, judged pairs; of dedup, judged documents",
    "--readonly": "of serve, changes are refused; of mcp, a tool is left out",
    "--explain": "of dedup, the cost of a job before it runs; of ssdeep and tlsh, why a result is what it is",
    "--verify": "of dedup and pairs, a measure; of index info, whether the file is read",
}


def commands(group: Any = None, name: str = "") -> Iterator[tuple[str, Any]]:
    """Return every command of the program with its full name."""
    group = typer.main.get_command(app) if group is None else group
    for part, command in group.commands.items():
        full = f"{name} {part}".strip()
        if hasattr(command, "commands"):
            yield from commands(command, full)
        else:
            yield full, command


def options(command: Any) -> Iterator[Any]:
    return (parameter for parameter in command.params if parameter.param_type_name == "option")


def test_an_option_is_the_same_in_every_command() -> None:
    """An option has one short form and one help text, except those in DIFFERENT."""
    seen: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for name, command in commands():
        for parameter in options(command):
            kind = (*sorted(parameter.opts), *parameter.secondary_opts, parameter.help or "")
            seen.setdefault(parameter.opts[0], {}).setdefault(kind, []).append(name)
    assert set(DIFFERENT) == {option for option, kinds in seen.items() if len(kinds) > 1}


def test_no_command_gives_one_short_form_to_two_options() -> None:
    """All forms of the options of a command are distinct."""
    for name, command in commands():
        forms = [form for parameter in options(command) for form in (*parameter.opts, *parameter.secondary_opts)]
        assert len(forms) == len(set(forms)), name


def test_without_a_command_the_help_is_shown() -> None:
    """The help of the program and of a group lists the commands with their purpose."""
    for arguments, listed in (((), ("dedup", "search", "ssdeep", "recipe")), (("index",), ("build", "add", "remove"))):
        done = call(*arguments)
        shown = done.out + done.err
        assert all(re.search(rf"^  {name} +[A-Z]", shown, re.MULTILINE) for name in listed)


def test_the_version_is_that_of_the_package() -> None:
    """--version prints one line, without importing typer."""
    assert f"nearkin {nk.__version__}\n" == call("--version").out
    code = (
        "import sys; sys.argv = ['', '--version']; from nearkin.cli import main; main(); print('typer' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (f"nearkin {nk.__version__}\nFalse\n", "", 0) == (done.stdout, done.stderr, done.returncode)


@pytest.mark.parametrize(
    ("words", "threads"), [("nearkin dedup", "1"), ("nearkin serve", "None"), ("a.py dedup", "None")]
)
def test_only_the_command_starts_without_threads_of_blas(words: str, threads: str) -> None:
    code = f"import sys, os; sys.argv = {words.split()}; import nearkin; print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert threads == done.stdout.strip()


def test_the_module_runs_as_the_command() -> None:
    """`python -m nearkin` has the same arguments, output and exit codes."""
    done = run("--version")
    assert (0, f"nearkin {nk.__version__}", b"") == (done.returncode, done.stdout.decode().strip(), done.stderr)
    wrong = run("text", "hash", "--bits", "many", "x")
    assert (2, b"") == (wrong.returncode, wrong.stdout)


def test_debug_shows_where_a_failure_came_from() -> None:
    """--debug prints the traceback; without it there is only a message."""
    with pytest.raises(FileNotFoundError):
        call("--debug", "text", "compare", "--files", "/no/such/a", "/no/such/b")
    shown = run("--debug", "recipe", "show", "nonsense")
    assert (1, True) == (shown.returncode, b"nearkin.errors.ParameterError" in shown.stderr)
    assert "Traceback" not in call("recipe", "show", "nonsense").err


def test_a_message_is_safe_for_a_terminal(tmp_path: Path) -> None:
    """Control characters of a file's name are escaped."""
    done = call("text", "compare", "--files", tmp_path / "a\x1b[31mred", tmp_path / "b")
    assert (1, False, True) == (done.code, "\x1b" in done.err, r"\x1b[31mred" in done.err)


def test_an_error_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception propagates with its traceback."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of nearkin")

    monkeypatch.setattr(door, "root_command", lambda: broken)
    with pytest.raises(RuntimeError, match="a fault of nearkin"):
        door.run(["recipe", "show"])


def test_an_interrupt_ends_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt returns exit code 130 and prints a message."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(door, "root_command", lambda: interrupted)
    done = call("recipe", "show")
    assert (130, "nearkin: interrupted\n") == (done.code, done.err)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a POSIX system")
def test_a_signal_leaves_no_output(tmp_path: Path) -> None:
    """SIGINT during a read of standard input returns exit code 130 and leaves no folder."""
    command = [sys.executable, "-m", "nearkin", "dedup", "-", "--format", "txt", "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"one text\n")
        process.stdin.flush()
        # The folder of the output is begun, so the corpus is being read.
        deadline = time.monotonic() + 300
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert (130, False, True) == (process.returncode, b"Traceback" in err, b"nearkin: interrupted\n" in err)
    assert [] == list(tmp_path.iterdir())


# Runs the command and raises an interrupt before the n-th line of Python from the output folder's beginning on.
TRACED = r"""
import os, sys
import nearkin.cli.app as app
wanted, lines, made = int(sys.argv[1]), 0, os.mkdir

def trace(frame, event, _):
    global lines
    if "line" == event and os.mkdir is made:
        lines += 1
        if lines == wanted:
            sys.settrace(None)
            raise KeyboardInterrupt
    return trace

def mkdir(*given, **named):
    os.mkdir = made
    return made(*given, **named)

os.mkdir = mkdir
sys.argv[:2] = ["nearkin"]
sys.settrace(trace)
app.main()
"""

#: Lines of a run with a corpus of two texts, about.
LINES = 250_000


@pytest.mark.parametrize(
    "attempt", [*range(5), *(pytest.param(number, marks=pytest.mark.slow) for number in range(5, 200))]
)
def test_an_interrupt_at_any_line_leaves_all_or_nothing(tmp_path: Path, attempt: int) -> None:
    """After an interrupt there is either no output folder or a complete one."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("one text\ntwo texts\n")
    # Half of them among the first lines, where modules are imported.
    line = random.randrange(1, LINES if attempt % 2 else LINES // 10)
    command = [sys.executable, "-c", TRACED, str(line), "dedup", str(corpus), "-o", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    left = sorted(path.name for path in tmp_path.iterdir())
    if 0 == done.returncode:
        assert ["corpus.txt", "out"] == left, line
        return
    assert (130, False, True) == (done.returncode, "Traceback" in done.stderr, "interrupted" in done.stderr), line
    assert left in (["corpus.txt"], ["corpus.txt", "out"]), line
    if "out" in left:
        assert (tmp_path / "out" / "summary.json").exists(), line


@pytest.mark.skipif(sys.platform == "win32", reason="closes a pipe of a POSIX system")
@pytest.mark.parametrize("lines", [2, 20_000])
def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path, lines: int) -> None:
    """A closed pipe returns exit code 0 without a message, for short and long output."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"text number {i}\n" for i in range(lines)))
    for command in (
        [["recipe", "show"]]
        if lines < 10
        else [["text", "hash", corpus], ["text", "pairs", corpus, "-q", "--threshold", "1"]]
    ):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [sys.executable, "-m", "nearkin", *map(str, command)], stdout=write, stderr=subprocess.PIPE, check=False
        )
        os.close(write)
        assert (0, b"") == (done.returncode, done.stderr), command


def test_output_in_pipes_is_utf8(tmp_path: Path) -> None:
    """Output in a pipe is UTF-8 in any locale; characters that cannot be encoded are escaped."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("线程池 и пул\n", "utf-8")
    command = [sys.executable, "-m", "nearkin", "text", "keywords", str(corpus), "--recipe", "word:1|count|top:all"]
    environment = {**os.environ, **ENVIRONMENT, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert "пул" in done.stdout.decode("utf-8")


def test_standard_output_of_another_kind_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream without `reconfigure`, as in notebooks, works."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "argv", ["nearkin", "--version"])
    with pytest.raises(SystemExit) as ended:
        door.main()
    assert (0, f"nearkin {nk.__version__}\n") == (ended.value.code, out.getvalue())


def test_the_command_line_imports_neither_rich_nor_the_doors_it_does_not_need() -> None:
    """Starting the command line does not import packages for tables, plots or file locks."""
    code = (
        "import sys, subprocess; import nearkin; base = set(sys.modules); import nearkin.cli.app; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - base}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set() == {"rich", "filelock", "fcntl", "resource", "matplotlib", "sklearn"} & set(loaded)


def test_nothing_is_written_where_nobody_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that print do not change the working directory or their inputs."""
    monkeypatch.chdir(tmp_path)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(TEXTS.values()))
    before = corpus.read_bytes()
    for command in (
        ["text", "hash", corpus],
        ["text", "pairs", corpus],
        ["text", "keywords", corpus],
        ["dedup", corpus, "-o", "-"],
    ):
        assert 0 == call(*command).code
    assert ([corpus], before) == (list(tmp_path.iterdir()), corpus.read_bytes())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nearkin dedup x --verify ", ["jaccard", "containment", "indel", "words", "signature", "none"]),
        ("nearkin dedup x --keep ma", ["max:"]),
        ("nearkin text hash x --format t", ["tsv", "txt"]),
        ("nearkin text hash x --recipe zh", ["zh-keywords", "zh-textrank"]),
        ("nearkin dedup x --out-layout ", ["single", "input"]),
        ("nearkin dedup x --encoding utf", ["utf-8", "utf-16"]),
    ],
)
def test_a_shell_completes_values(line: str, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell completes the values of options with choices."""
    monkeypatch.setenv("_NEARKIN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit):
        door.run([])
    assert sorted(expected) == sorted(out.getvalue().split())


def test_a_letter_means_one_thing_in_every_command() -> None:
    """A short form has the same meaning in all commands, such as -k for a number and -o for the output."""
    seen: dict[str, set[str]] = {}
    for _, command in commands():
        for parameter in options(command):
            for form in parameter.opts[1:]:
                seen.setdefault(form, set()).add(parameter.opts[0])
    expected = {
        "-f": {"--file"},
        "-k": {"--top-k", "--best", "--limit"},
        "-o": {"--out"},
        "-q": {"--quiet"},
        "-r": {"--recursive"},
        "-t": {"--threshold"},
    }
    assert expected == {form: names for form, names in seen.items() if form != "-h"}


@pytest.mark.parametrize("command", ["hash", "pairs", "keywords"])
def test_an_input_without_documents_is_told(tmp_path: Path, command: str) -> None:
    """An empty file is reported."""
    path = tmp_path / "a.jsonl"
    path.write_text("")
    done = call("text", command, path)
    assert (0, "", f"nearkin: no documents in {path}") == (done.code, done.out, done.message)


def test_help_and_version_are_also_commands() -> None:
    """Before or after a command; `--help-all` of the program and of a group lists all commands below it."""
    assert call("-h").out == call("help").out
    assert call("dedup", "-h").out == call("help", "dedup").out == call("-h", "dedup").out
    assert call("store", "create", "-h").out == call("help", "store", "create").out
    assert call("dedup", "--help-all").out == call("--help-all", "dedup").out != call("dedup", "-h").out
    assert call("recipe", "show", "-h").out.splitlines()[0] == call("recipe", "show", "--help-all").lines[0]
    assert call("--version").out == call("version").out
    lines = call("--help-all").lines
    assert [] == [name for name in command_names() if not any(line.startswith(f"  {name}") for line in lines)]
    assert "  store create" not in call("-h").out


def test_options_of_a_command_are_those_of_a_file(corpus: Path, tmp_path: Path) -> None:
    """As printed, by hand, and of an earlier run; the command line wins, and misspelt names have a hint."""
    words = ("dedup", corpus, "--out", tmp_path / "a", "--id-column", "id", "--threshold", 0.5, "--report", "-q")
    job = tmp_path / "job.toml"
    job.write_text(call(*words, "--print-config").out)
    assert not (tmp_path / "a").exists()
    assert 0 == call(*words).code
    for at, again in enumerate((("dedup", "--config", job), ("--config", job, "dedup"), ("dedup", f"--config={job}"))):
        out = tmp_path / f"b{at}"
        done = call(*again, "--out", out)
        assert (0, "") == (done.code, done.err)
        names = sorted(path.name for path in out.iterdir())
        assert names == sorted(path.name for path in (tmp_path / "a").iterdir())
        assert (tmp_path / "a" / "clusters.jsonl").read_bytes() == (out / "clusters.jsonl").read_bytes()
    assert 0 == call("dedup", "--config", job, "--out", tmp_path / "c", "--threshold", 0.9).code
    assert 0.9 == json.loads((tmp_path / "c" / "summary.json").read_text())["threshold"]
    done = call("dedup", "--config", tmp_path / "c" / "summary.json", "--out", tmp_path / "d", "-q")
    assert (0, 0.9) == (done.code, json.loads((tmp_path / "d" / "summary.json").read_text())["threshold"]), done.err
    job.write_text('treshold = 0.5\nid_column = "id"\n')
    done = call("dedup", corpus, "--config", job, "--out", tmp_path / "e")
    assert (2, True) == (done.code, "job.toml: there is no option treshold; did you mean threshold?" in done.message)
    job.write_text("threshold = ")
    assert (1, True) == ((done := call("dedup", corpus, "--config", job)).code, "neither TOML nor JSON" in done.message)
    assert 2 == call("dedup", corpus, "--config").code
