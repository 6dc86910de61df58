"""Console blocks of a page, run as one session of a shell in a temporary folder and compared with what the page shows.

A block is ```console; a line that begins with `$ ` is a command, and a backslash at its end continues it. The lines
below a command are its output: standard output and standard error, as a terminal shows them. A line `...` stands for
any lines. Seconds are not compared. A command without shown output must succeed.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Pages whose commands run.
PAGES = ("README.md", "docs/every-day.md", "docs/threshold.md", "docs/deploy.md")
# They install, need root, or run until someone stops them.
NOT_RUN = ("pip ", "make", "git ", "docker ", "sudo ", "nearkin serve ", "curl ", "nearkin store backup http")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: str) -> list[str]:
    """Return the console blocks of a page."""
    return re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def steps(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page, in order, each with the output that the page shows."""
    pattern = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
    return [(command, printed) for block in blocks(page) for command, printed in pattern.findall(block)]


def session(folder: Path, python: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Prepare a folder for a session: the sample corpus, and the command `nearkin` in `folder`/bin.

    Returns
    -------
    dict
        The environment of the session, for `differences`.
    """
    tool = folder / "bin" / "nearkin"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} -m nearkin "$@"\n', encoding="utf-8")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    shutil.copytree(ROOT / "samples", folder / "samples")
    # Unbuffered, so that both streams of output are in the order in which they are written.
    fixed = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUNBUFFERED": "1", "TZ": "UTC"}
    return {**environment, **fixed, "PATH": f"{tool.parent}{os.pathsep}{environment['PATH']}"}


def differences(page: str, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run the commands of a page in `folder`; return a message for each one that fails or prints something else."""
    checker, messages = doctest.OutputChecker(), []
    for command, printed in steps(page):
        if command.startswith(NOT_RUN):
            continue
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        expected = _timeless(printed)
        if done.returncode or (printed.strip() and not checker.check_output(expected, _timeless(done.stdout), _FLAGS)):
            messages.append(f"$ {command}\nexit code {done.returncode}; expected:\n{printed}\ngot:\n{done.stdout}")
    return messages


def _timeless(text: str) -> str:
    """Return output without its seconds."""
    return re.sub(r"\bin [\d.]+ s\b", "in T s", text)
