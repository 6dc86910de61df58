"""Stores in folders that cannot be written: read-only mounts, and users with read rights only."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from live import serving

import nearkin as nk
from nearkin.errors import OutputError, StoreLockedError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="capabilities and bind mounts of Linux")

TEXTS = ["The quick brown fox jumps over the lazy dog.", "A page about something else.", "A page about the sea."]
READER = """
import os, sys
import nearkin as nk
path = sys.argv[1]
if os.access(path, os.W_OK):
    sys.exit(77)
with nk.Store.open(path, "r") as store:
    result = store.check(["A page about the sea."])
    store.verify()
    print(len(store), result.status, store.get(["b"])[0].columns, store.texts(["a"]))
"""
_PR_CAPBSET_DROP = 24
_CAPABILITIES = 1, 2, 3  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER


def drop_rights() -> None:
    """Make the program started next obey file modes, as for an ordinary user; root is one without capabilities."""
    if 0 == os.getuid():
        for capability in _CAPABILITIES:
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python as an ordinary user."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, preexec_fn=drop_rights, capture_output=True, text=True, check=False)
    if 77 == done.returncode:
        pytest.skip("this user can write everywhere")
    return done


def make_store(path: Path) -> Path:
    with nk.Store.create(path, threshold=0.7) as store:
        store.check_and_add(TEXTS[:2], ["a", "b"], columns={"n": [1, 2]})
        store.merge()
        store.check_and_add(TEXTS[2:], ["c"], columns={"n": [3]})
    return path


def make_hot(path: Path, target: Path) -> Path:
    """Return a copy of a store as a killed process leaves it, with commits in its write-ahead log."""
    with nk.Store.open(path) as store:
        store.check_and_add(["An acknowledged page about lions."], ["d"])
        shutil.copytree(path, target)
    (target / "log.sqlite-shm").unlink()
    return target


def set_writable(path: Path, *, writable: bool) -> None:
    for item in (path, *path.rglob("*")):
        item.chmod((0o755 if item.is_dir() else 0o644) if writable else (0o555 if item.is_dir() else 0o444))


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A closed store that an ordinary user can only read."""
    path = make_store(tmp_path / "pages.store")
    set_writable(path, writable=False)
    yield path
    set_writable(path, writable=True)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """The folder of a closed store on a read-only mount."""
    (tmp_path / "disk").mkdir()
    path, point = make_store(tmp_path / "disk" / "pages.store"), tmp_path / "mounted"
    make_hot(make_store(path.with_name("other.store")), path.with_name("hot.store"))
    point.mkdir()
    commands: tuple[list[str | Path], ...] = (
        ["mount", "--bind", path.parent, point],
        ["mount", "-o", "remount,bind,ro", point],
    )
    try:
        for command in commands:
            if subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip("this user cannot mount")
        yield point / path.name
    finally:
        subprocess.run(["umount", "-l", point], capture_output=True, check=False)


EXPECTED = "3 ['exact'] {'n': 2} ['The quick brown fox jumps over the lazy dog.']\n"


def test_a_user_with_read_rights_opens_a_closed_store(closed: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in closed.rglob("*")}
    done = run("-c", READER, closed)
    assert (EXPECTED, "") == (done.stdout, done.stderr)
    assert before == {path: path.stat().st_mtime_ns for path in closed.rglob("*")}


def test_a_closed_store_opens_on_a_read_only_mount(mounted: Path) -> None:
    done = run("-c", READER, mounted)
    assert (EXPECTED, "") == (done.stdout, done.stderr)
    with nk.Store.open(mounted, "r") as store:
        assert ["exact"] == store.check(TEXTS[:1]).status
        store.backup(mounted.parents[1] / "copy.store")
    with nk.Store.open(mounted.parents[1] / "copy.store") as copy:
        assert 3 == len(copy)


def test_an_empty_write_ahead_log_needs_no_recovery(tmp_path: Path) -> None:
    path = make_store(tmp_path / "pages.store")
    (path / "log.sqlite-wal").touch()
    set_writable(path, writable=False)
    done = run("-c", READER, path)
    set_writable(path, writable=True)
    assert (EXPECTED, "") == (done.stdout, done.stderr)


def test_a_hot_store_that_cannot_be_recovered_says_so(tmp_path: Path) -> None:
    path = make_hot(make_store(tmp_path / "pages.store"), tmp_path / "hot.store")
    set_writable(path, writable=False)
    done = run("-c", READER, path)
    set_writable(path, writable=True)
    assert "" == done.stdout
    assert "OutputError" in done.stderr
    assert "the store was not closed" in done.stderr
    assert "open and close it where it can be written" in done.stderr
    with nk.Store.open(path) as store:
        assert "d" in store


def test_a_hot_store_on_a_read_only_mount_says_so(mounted: Path) -> None:
    with pytest.raises(OutputError, match="the store was not closed"):
        nk.Store.open(mounted.with_name("hot.store"), "r")


def test_opening_for_writing_says_that_files_are_not_writable(closed: Path, mounted: Path) -> None:
    done = run("-c", READER.replace(', "r"', ""), closed)
    assert 'not writable; open it with mode="r"' in done.stderr
    with pytest.raises(OutputError, match="not writable"):
        nk.Store.open(mounted)


def test_an_unreadable_log_is_a_permission_error(closed: Path) -> None:
    (closed / "log.sqlite").chmod(0)
    done = run("-c", READER, closed)
    assert "PermissionError" in done.stderr


def test_a_reader_without_locks_sees_later_commits(mounted: Path) -> None:
    path = mounted.parents[1] / "disk" / mounted.name
    with nk.Store.open(mounted, "r") as reader:
        assert 3 == len(reader)
        with nk.Store.open(path) as writer:
            writer.check_and_add(["Something new about tigers."], ["e"])
            assert 4 == len(reader)
            writer.merge()
            assert 4 == len(reader)
            assert ["exact"] == reader.check(["Something new about tigers."]).status
        writer_closed = len(reader)
        assert 4 == writer_closed


def test_a_change_during_a_lookup_without_locks_is_an_error(mounted: Path) -> None:
    path = mounted.parents[1] / "disk" / mounted.name
    with nk.Store.open(mounted, "r") as reader:
        message = "during this call"
        with pytest.raises(StoreLockedError, match=message), reader._reading(), nk.Store.open(path) as writer:
            writer.check_and_add(["Something new about tigers."], ["e"])
        assert 4 == len(reader)


def test_a_service_reads_a_store_that_it_cannot_write(closed: Path) -> None:
    with serving(closed, "--readonly", before=drop_rights) as service:
        assert "exact" == service.post("/v1/check", {"documents": [{"text": TEXTS[0]}]}).json()["answers"][0]["status"]
        assert 403 == service.post("/v1/add", {"documents": [{"text": TEXTS[0]}]}).status
    assert ["commits", "log.sqlite", "segments"] == sorted(path.name for path in closed.glob("[!.]*"))
