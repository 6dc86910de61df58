"""Commands of the README print the output that it shows."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def shown() -> list[tuple[str, str]]:
    """Return commands and their shown output, from blocks in which every command has output."""
    section = README.split("What they print:\n", 1)[1].split("```", 2)[1].removeprefix("console\n")
    blocks = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", section, re.MULTILINE)
    assert 3 <= len(blocks)
    return blocks


@pytest.mark.skipif(shutil.which("sh") is None, reason="the commands are for a POSIX shell")
@pytest.mark.parametrize(("command", "printed"), shown(), ids=lambda value: value[:40])
def test_a_command_prints_what_the_readme_shows(command: str, printed: str, tmp_path: Path) -> None:
    """A shell runs the command with `nearkin` of this package."""
    tools = tmp_path / "bin"
    tools.mkdir()
    tool = tools / "nearkin"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nearkin "$@"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (0, printed) == (done.returncode, done.stdout), done.stderr


def test_commands_and_options_of_the_readme_are_there() -> None:
    """Every line that starts with `nearkin` uses an existing command and existing options."""
    import typer

    from nearkin.cli.app import app

    root = typer.main.get_command(app)
    lines = re.findall(r"^\$ (?:.*\| )?nearkin (.*?)(?: +#.*)?$", README, re.MULTILINE)
    assert len(lines) > 15
    for line in lines:
        words = line.split()
        command: Any = root
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert not hasattr(command, "commands"), line
        options = {form for parameter in command.params for form in parameter.opts}
        for word in words:
            if word.startswith("-") and len(word) > 1:
                assert word.partition("=")[0] in options, line
