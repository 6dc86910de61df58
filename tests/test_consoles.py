"""Console blocks of README and of all pages print what the pages show."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from consoles import FIXED, NEEDS, ROOT, differences, pages, session, steps

QUICK = ("docs/contains.md", "docs/kinds.md")
FIRST = "docs/index.md"
"""Its commands are those of README.md, which run."""
shell = pytest.mark.skipif(not hasattr(os, "fork") or shutil.which("sh") is None, reason="for a POSIX shell")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the address of a process whose forks are the commands."""
    address = tmp_path_factory.mktemp("warm") / "s"
    with subprocess.Popen([sys.executable, ROOT / "tests/warm.py", address], env={**os.environ, **FIXED}) as process:
        while not address.exists() and process.poll() is None:
            time.sleep(0.05)
        yield address
        process.terminate()


def check(name: str, folder: Path, warm: Path | None = None) -> None:
    """A shell runs every command of the page, one after another, with `nearkin` of this package."""
    page = (ROOT / name).read_text(encoding="utf-8")
    commands, others = steps(page), steps(page, run=False)
    assert {title for _, title in others} <= set(NEEDS)
    if not commands:
        pytest.skip(f"none of its commands is run: {', '.join(sorted({title for _, title in others}))}")
    if any("--engine sail" in command for command, _ in commands) and not find_spec("pysail"):
        pytest.skip("needs pysail")
    failed = differences(page, folder, session(folder, sys.executable, os.environ, warm))
    assert not failed, "\n".join(failed)


@shell
@pytest.mark.parametrize("name", QUICK)
def test_light_pages_print_what_they_show(name: str, tmp_path: Path) -> None:
    check(name, tmp_path)


@shell
@pytest.mark.parametrize("name", [name for name in pages() if name not in (*QUICK, FIRST)])
def test_commands_print_what_the_page_shows(name: str, tmp_path: Path, warm: Path) -> None:
    check(name, tmp_path, warm)


def test_the_first_page_of_the_site_shows_what_the_readme_shows() -> None:
    """Each command of docs/index.md is in README.md, with the same output."""
    first, readme = (steps((ROOT / name).read_text(encoding="utf-8")) for name in (FIRST, "README.md"))
    assert [] == [step for step in first if step not in readme]


def test_a_command_that_prints_something_else_is_reported(tmp_path: Path) -> None:
    """Wrong output and a failure are messages; `...` and times are not compared; variables last; titles are not run."""
    page = (
        "```console\n$ printf 'a\\nb\\nc in 3 s\\n'\na\n...\nc in 0.1 s\n$ echo d\ne\n$ false\n$ x=f\n```\n"
        "```console\n$ echo $x\nf\n$ echo f in 7 MB\nf in ... MB\n```\n"
        '```console title="Needs root"\n$ exit 3\n```\n'
    )
    failed = differences(page, tmp_path, os.environ)
    assert ["$ echo d", "$ false"] == [text.splitlines()[0] for text in failed]
    assert [("exit 3", "Needs root")] == steps(page, run=False)


def test_samples_are_those_of_their_tool(tmp_path: Path) -> None:
    """All but Parquet and vectors, whose bytes depend on versions, and at most 2 MB in all."""
    subprocess.run([sys.executable, ROOT / "tools" / "make_samples.py", tmp_path], check=True)
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert sum((tmp_path / path).stat().st_size for path in files) < 2_000_000
    same = [path for path in files if path.suffix not in (".parquet", ".gz", ".npy")]
    assert [] == [path for path in same if (ROOT / "samples" / path).read_bytes() != (tmp_path / path).read_bytes()]
