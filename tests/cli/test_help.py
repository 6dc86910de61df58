"""Tests of nearkin.cli.help: the help of every command, and the examples that it ends with."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import command
from command import call, succeed
from nearkin.cli.app import EXPERTS, MODULES, PURPOSES, root_command
from nearkin.cli.help import split_examples


def all_commands(group: Any = None, name: str = "") -> Iterator[tuple[str, Any]]:
    """Return every command and group with its full name."""
    for part, each in (root_command() if group is None else group).commands.items():
        full = f"{name} {part}".strip()
        yield full, each
        if hasattr(each, "commands"):
            yield from all_commands(each, full)


NAMES = [name for name, _ in all_commands()]
EXAMPLES = {name: split_examples(each.examples)[0] for name, each in all_commands() if hasattr(each, "examples")}
"""The example of each command with its output."""
PREPARATIONS = {
    "clean": ["dedup corpus.jsonl --out clean --id-column id --quiet"],
    "pages.store": ["store create pages.store --quiet", "store add pages.store corpus.jsonl --id-column id --quiet"],
    "backups": ["store backup pages.store backups/2026-01-31 --quiet"],
    "corpus.nks": ["index build corpus.jsonl --out corpus.nks --id-column id --quiet"],
}
"""Commands that write what others read."""


def write_example_files(folder: Path, line: str) -> None:
    """Write the files that examples read; stores, indexes and the like only if this command names them."""
    fox, cats = "The quick brown fox jumps over the lazy dog.", "A completely different sentence, about cats."
    files = {
        "corpus.jsonl": [("a", fox), ("b", cats), ("c", fox.lower()), ("d", f"{fox} It then runs away.")],
        "new.jsonl": [("e", fox), ("f", "Nobody has seen this sentence before.")],
        "known.jsonl": [("motto", cats)],
        "pages.jsonl": [("page", f"Welcome to this page. {cats} Goodbye, and see you soon.")],
    }
    for name, rows in files.items():
        (folder / name).write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in rows))
    (folder / "fox.txt").write_text(fox)
    (folder / "old.txt").write_text("how are u?")
    (folder / "new.txt").write_text("how are you?")
    (folder / "labels.tsv").write_text("left\tright\tlabel\na\tc\t1\na\td\t0\n")
    (folder / "app.log").write_text("".join(f"user {i} logged in from 10.0.0.{i}\n" for i in range(1, 9)))
    urls = "".join(f"https://example.com/users/{i}/orders?page={i}\n" for i in range(1, 40))
    (folder / "urls.txt").write_text(urls)
    payloads = [f"id=1%20UNION%20SELECT%20null,{i}--" for i in range(5)]
    (folder / "waf.jsonl").write_text("".join(json.dumps({"payload": each}) + "\n" for each in payloads))
    (folder / "Documents").mkdir()
    (folder / "backups").mkdir()
    many = [f"word{i * i % 997}" for i in range(2000)]
    (folder / "Documents" / "old.bin").write_text(" ".join(many))
    (folder / "Documents" / "new.bin").write_text(" ".join([*many[:900], "changed", *many[901:]]))
    words = shlex.split(line)
    for name, commands in PREPARATIONS.items():
        if name in words or (name == "pages.store" and "backups" in words):
            for each in commands:
                assert 0 == call(*each.split()).code, each
    if "known.txt" in words:
        family = "tlsh" if "tlsh" in words else "ssdeep"
        (folder / "known.txt").write_bytes(call(family, "hash", "Documents").data)


def run_example(line: str) -> list[str]:
    """Return the lines that the command of an example prints, without those that depend on the machine."""
    done = call(*shlex.split(line.removeprefix("$ nearkin ")))
    assert done.code in (0, 3), done.err
    lines = [each.rstrip().expandtabs().replace(f"{Path.cwd()}/", "") for each in [*done.lines, *done.err.splitlines()]]
    return [re.sub(r"\d+\.\d s\b", "0.0 s", re.sub(r"\b20\d\d-[\d:.T+-]+", "DATE", each)) for each in lines]


def matches(expected: list[str], lines: list[str]) -> bool:
    """Return whether lines are those of an example, in which "..." stands for the rest of a line or of the output."""
    if expected and expected[-1] == "...":
        expected, lines = expected[:-1], lines[: len(expected) - 1]
    return len(expected) == len(lines) and all(
        line.startswith(each.removesuffix("...")) if each.endswith("...") else each == line
        for each, line in zip(expected, lines, strict=True)
    )


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_has_forty_lines_of_eighty_columns(name: str) -> None:
    """`-h` of every command and group fits a terminal; no line is wrapped twice, and flags have no placeholder."""
    with mock.patch.dict(command.ENVIRONMENT, {"COLUMNS": "80"}):
        done = call(*name.split(), "-h")
    assert (0, "") == (done.code, done.err)
    assert len(done.lines) <= 40
    assert max(map(len, done.lines)) <= 80
    assert not re.search(r"<\w+>|BOOL", done.out)


def test_the_program_lists_commands_by_job_and_three_groups_for_experts() -> None:
    """`nearkin -h` needs no import of the commands that it lists."""
    shown = call("-h").out
    before, after = shown.split("For experts:")
    jobs = ["dedup", "decontaminate", "leaks", "check", "store", "search", "patterns", "ssdeep", "tlsh", "fuzzy"]
    jobs += ["report", "serve", "mcp"]
    assert jobs == re.findall(r"^  ([a-z]+) ", before, re.MULTILINE)
    assert list(EXPERTS) == re.findall(r"^  ([a-z]+) ", after, re.MULTILINE)
    assert list(MODULES) == list(PURPOSES) == [*jobs, *EXPERTS]


@pytest.mark.parametrize("name", EXAMPLES)
def test_help_ends_with_an_example_and_its_output(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of each command prints what the help shows."""
    first = EXAMPLES[name]
    assert first, "no example with output"
    assert first[0].startswith(f"$ nearkin {name} ")
    assert len(first) > 1 or name == "store backup"
    assert call(*name.split(), "-h").lines[-len(first) :] == [f"  {line}".rstrip() for line in first]
    if name in ("serve", "mcp"):
        return
    monkeypatch.chdir(tmp_path)
    write_example_files(tmp_path, first[0])
    printed = run_example(first[0])
    assert matches(first[1:], printed), printed


@pytest.mark.parametrize("name", EXAMPLES)
def test_complete_help_lists_every_option_with_its_meaning(name: str) -> None:
    """`--help-all`, or `-h` of a command without it, begins with the purpose and lists options in order by group."""
    each = dict(all_commands())[name]
    options = [every for every in each.params if every.param_type_name == "option"]
    has_more = any(every.name == "help_all" for every in options)
    done = call(*name.split(), "--help-all" if has_more else "--help")
    assert (0, "") == (done.code, done.err)
    shown = " ".join(done.out.split())
    assert " ".join(each.help.split()) in shown
    listed = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", done.out, re.MULTILINE)
    declared = [max(every.opts, key=len) for every in options if every.name != "help_all"]
    assert sorted([*declared, "--help"]) == sorted(listed)
    for every in options:
        assert every.help, every.opts
        assert every.name == "help_all" or " ".join(every.help.split()) in shown, every.opts
    if not has_more:
        assert done == call(*name.split(), "-h")


def test_dedup_shows_about_twelve_options() -> None:
    """`--help-all` shows the others, in groups."""
    short, long = call("dedup", "-h").out, call("dedup", "--help-all").out
    count = len(re.findall(r"^  (?:-\w, )?--", short, re.MULTILINE))
    assert 11 <= count <= 14
    assert len(re.findall(r"^  (?:-\w, )?--", long, re.MULTILINE)) > 45
    headings = ["Options", "Output", "Reading", "Matching", "Keeping", "Older documents", "Parts", "Many machines"]
    assert headings == [each for each in re.findall(r"^([A-Z][a-z ]+):$", long, re.MULTILINE) if "xample" not in each]


def test_dedup_ends_with_commands_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next commands are written as a shell takes them, and each succeeds."""
    monkeypatch.chdir(tmp_path)
    words = ["dedup", "corpus.jsonl", "--out", "my clean", "--id-column", "id"]
    write_example_files(tmp_path, shlex.join(words))
    shown = call(*words).err.split("\nnext:\n")[1]
    lines = [line.split("  # ")[0].strip() for line in shown.splitlines()]
    assert 3 == len(lines)
    for each in (part for line in lines for part in line.split(" && ")):
        succeed(*shlex.split(each.removeprefix("nearkin ")))
