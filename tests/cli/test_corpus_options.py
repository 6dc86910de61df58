"""Tests of file lists in nearkin.cli.corpus."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from nearkin.cli.console import Failures
from nearkin.cli.corpus import list_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Create the files b/2, a, b/1 and c, in this order."""
    (tmp_path / "b").mkdir()
    for name in ("b/2", "a", "b/1", "c"):
        (tmp_path / name).write_text(name)
    return tmp_path


def test_a_directory_stands_for_what_is_below_it(tree: Path) -> None:
    """Files are sorted, those of a folder before those of its subfolders; arguments keep their order."""
    failures = Failures()
    result = list_files([tree / "c", tree], failures)
    assert [tree / "c", tree / "a", tree / "c", tree / "b" / "1", tree / "b" / "2"] == result
    assert not failures.failed


def test_a_glob_stands_for_the_files_that_match(tree: Path) -> None:
    """Files are sorted and folders left out; a name that exists is itself, and a glob without a match is missing."""
    (tree / "[a]").write_text("named like a glob")
    for pattern, expected in {"**": ["[a]", "a", "b/1", "b/2", "c"], "b*": ["b*"], "[a]": ["[a]"]}.items():
        assert [tree / name for name in expected] == list_files([tree / pattern], Failures())


def test_what_is_missing_is_named_all_the_same(tree: Path) -> None:
    """A missing file is listed, and reported when it is hashed."""
    assert [tree / "none"] == list_files([tree / "none"], Failures())


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a right there")
def test_links_below_a_directory_are_left_out(tree: Path) -> None:
    """Links below a directory are skipped; a link in an argument is followed."""
    (tree / "b" / "up").symlink_to(tree)
    (tree / "b" / "file").symlink_to(tree / "a")
    assert [tree / "b" / "1", tree / "b" / "2"] == list_files([tree / "b"], Failures())
    assert [tree / "b" / "file"] == list_files([tree / "b" / "file"], Failures())


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs a folder that can't be read")
def test_a_folder_that_can_not_be_read_is_refused(tree: Path) -> None:
    """An unreadable folder is a failure; the walk continues."""
    (tree / "b").chmod(0)
    failures = Failures()
    assert [tree / "a", tree / "c"] == list_files([tree], failures)
    (tree / "b").chmod(0o700)
    assert failures.failed
