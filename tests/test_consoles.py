"""Console blocks of README and guides print what the pages show."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from consoles import PAGES, ROOT, blocks, differences, session, steps


@pytest.mark.skipif(shutil.which("sh") is None, reason="the commands are for a POSIX shell")
@pytest.mark.parametrize("name", PAGES)
def test_commands_print_what_the_page_shows(name: str, tmp_path: Path) -> None:
    """A shell runs every command of the page, one after another, with `nearkin` of this package."""
    page = (ROOT / name).read_text(encoding="utf-8")
    assert len(steps(page)) > 2
    failed = differences(page, tmp_path, session(tmp_path, sys.executable, os.environ))
    assert not failed, "\n".join(failed)


def test_the_first_page_of_the_site_shows_what_the_readme_shows() -> None:
    """Each command of docs/index.md is in README.md, with the same output."""
    first, readme = (steps((ROOT / name).read_text(encoding="utf-8")) for name in ("docs/index.md", "README.md"))
    assert [] == [step for step in first if step not in readme]


def test_a_command_that_prints_something_else_is_reported(tmp_path: Path) -> None:
    """Wrong output and a failure are messages; `...` and times are not compared."""
    page = "```console\n$ printf 'a\\nb\\nc in 3 s\\n'\na\n...\nc in 0.1 s\n$ echo d\ne\n$ false\n```\n"
    failed = differences(page, tmp_path, os.environ)
    assert ["$ echo d", "$ false"] == [text.splitlines()[0] for text in failed]
    assert 1 == len(blocks(page))
