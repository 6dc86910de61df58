"""Console blocks of a page, run as one session of a shell in a temporary folder and compared with what the page shows.

A block is ```console; a line that begins with `$ ` is a command, and a backslash at its end continues it. The lines
below a command are its output: standard output and standard error, as a terminal shows them. A command without shown
output must succeed. `...` stands for any text, in a line or for whole lines: what depends on the machine; seconds (`in
0.3 s`) may differ. The port 8470 becomes a free one.

A block with a title, as in ```console title="Needs a cluster", is not run. The title is one of `NEEDS`, and shown.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDS = {
    "Needs a package registry": "installs packages",
    "Needs a cluster": "Spark, buckets, or hosts of other names",
    "Needs root": "changes the system",
    "Needs another program": "a program of others, which nothing here installs",
    "Takes minutes": "builds, measures or attacks everything, in a checkout",
}
"""Titles of blocks that are not run, with the reason."""
# Unbuffered, so that both streams of output are in the order in which they are written.
FIXED = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUNBUFFERED": "1", "TZ": "UTC"}
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BLOCK = re.compile(r'^ *```console(?: title="([^"\n]*)")?\n(.*?)^ *```', re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def pages() -> list[str]:
    """Return the pages with console blocks, by their path below the root; of those with the same blocks, the first."""
    unique: dict[object, str] = {}
    for path in [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        unique.setdefault(tuple(_BLOCK.findall(path.read_text(encoding="utf-8"))), path.relative_to(ROOT).as_posix())
    return [name for blocks, name in unique.items() if blocks]


def steps(page: str, *, run: bool = True) -> list[tuple[str, str]]:
    """Return the commands of a page that are run, or those that are not, each with its output or with its title."""
    blocks = [(title, step) for title, block in _BLOCK.findall(page) for step in _STEP.findall(block)]
    return [step if run else (step[0], title) for title, step in blocks if bool(title) != run]


def session(folder: Path, python: str, environment: Mapping[str, str], warm: Path | None = None) -> dict[str, str]:
    """Prepare a folder for a session: the samples, and the commands `nearkin` and `python` in `folder`/bin.

    With the address of a process of `tests/warm.py`, commands are its forks.

    Returns
    -------
    dict
        The environment of the session, for `differences`.
    """
    tool = folder / "bin" / "nearkin"
    tool.parent.mkdir()
    quoted = shlex.quote(python)
    # What serves until it is stopped is a process of its own.
    forks = f'case $1 in serve|mcp) ;; *) exec {quoted} -IS {ROOT}/tests/warm.py {warm} "$@" ;; esac\n' if warm else ""
    tool.write_text(f'#!/bin/sh\n{forks}exec {quoted} -m nearkin "$@"\n', encoding="utf-8")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    (folder / "bin" / "python").symlink_to(python)
    shutil.copytree(ROOT / "samples", folder / "samples")
    return {**environment, **FIXED, "PATH": f"{tool.parent}{os.pathsep}{environment['PATH']}"}


def differences(page: str, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run the commands of a page in one shell in `folder`; return a message for each that fails or differs."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    todo = [
        (command.replace("nearkin serve", f"nearkin serve --port {port}").replace(":8470", f":{port}"), printed)
        for command, printed in steps(page)
    ]
    results = folder / ".results"
    results.mkdir()
    lines = [f"{{ {command}\n}} >.results/{n} 2>&1; echo $? >>.results/codes\n" for n, (command, _) in enumerate(todo)]
    (results / "script").write_text("".join(lines), encoding="utf-8")
    with subprocess.Popen(
        ["sh", ".results/script"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, start_new_session=True
    ) as shell:
        shell.wait()
        if sys.platform != "win32":
            # Servers that run in the background.
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGTERM)
    codes = (results / "codes").read_text().split()
    checker, messages = doctest.OutputChecker(), []
    for number, ((command, printed), code) in enumerate(zip(todo, codes, strict=True)):
        output = (results / str(number)).read_text(encoding="utf-8")
        is_equal = checker.check_output(_timeless(printed), _timeless(output), _FLAGS) or not printed.strip()
        if code != "0" or not is_equal:
            messages.append(f"$ {command}\nexit code {code}; expected:\n{printed}\ngot:\n{output}")
    return messages


def _timeless(text: str) -> str:
    """Return output without its seconds."""
    return re.sub(r"\bin [\d.]+ s\b", "in T s", text)
