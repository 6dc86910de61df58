"""nearkin.io.locks: locks of files that are replaced, and of hidden folders."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nearkin.errors import StoreLockedError
from nearkin.io.locks import acquire_or_none, lock_file

HOLD = """
import sys
from nearkin.io.locks import lock_file
with lock_file(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "index"
    path.write_bytes(b"content")
    return path


def test_a_second_process_is_told(path: Path) -> None:
    """A second process gets an error until the first one releases the lock or is killed."""
    for kill in (False, True):
        command = [sys.executable, "-c", HOLD, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert b"held" == process.stdout.readline().strip()
            with pytest.raises(StoreLockedError, match="another process is changing the index; run again") as caught:
                lock_file(path, "index").__enter__()
            assert str(path) == caught.value.place
            if kill:
                process.kill()
            process.communicate()
        with lock_file(path):
            assert b"content" == path.read_bytes()


def test_a_second_thread_is_told(path: Path) -> None:
    """A second thread of the same process gets an error."""
    errors: list[Exception] = []

    def other() -> None:
        try:
            lock_file(path).__enter__()
        except StoreLockedError as error:
            errors.append(error)

    with lock_file(path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert 1 == len(errors)


def test_an_error_inside_ends_the_lock(path: Path) -> None:
    """An exception releases the lock."""
    with pytest.raises(KeyError), lock_file(path):
        raise KeyError
    with lock_file(path):
        pass


def test_the_file_may_be_replaced_under_the_lock(path: Path) -> None:
    """The lock belongs to the name, so it still holds after the file is replaced."""
    with lock_file(path):
        (path.parent / "aside").write_bytes(b"new")
        (path.parent / "aside").replace(path)
        with pytest.raises(StoreLockedError):
            lock_file(path).__enter__()
    assert b"new" == path.read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a right there")
def test_a_link_stands_for_its_file(path: Path) -> None:
    """A link and its target share one lock."""
    link = path.parent / "link"
    link.symlink_to(path)
    with lock_file(link), pytest.raises(StoreLockedError):
        lock_file(path).__enter__()


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A missing file raises an error, and no lock file is created."""
    with pytest.raises(FileNotFoundError):
        lock_file(tmp_path / "none").__enter__()
    assert [] == list(tmp_path.iterdir())


def test_the_guarded_file_is_never_written(path: Path) -> None:
    """The lock is a separate empty file."""
    with lock_file(path):
        pass
    assert {"index": b"content", ".index.lock": b""} == {item.name: item.read_bytes() for item in path.parent.iterdir()}


HOLDER = """
import sys
from pathlib import Path
from nearkin.io.locks import acquire_or_none
lock = acquire_or_none(Path(sys.argv[1]))
print("held" if lock else "busy", flush=True)
sys.stdin.read()
"""


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    """A lock can be acquired as soon as its process is dead."""
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert b"held\n" == process.stdout.readline()
        assert acquire_or_none(path) is None
        process.kill()
        process.wait(30)
    lock = acquire_or_none(path)
    assert lock is not None
    assert acquire_or_none(path) is None
    lock.release()


def test_a_symbolic_link_is_no_lock(tmp_path: Path) -> None:
    """The target of a symbolic link is neither created nor opened."""
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="lock"):
        acquire_or_none(tmp_path / "lock")
    assert not (tmp_path / "victim").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_umask_decides_who_may_take_a_lock(path: Path, umask: int, mode: int) -> None:
    """A lock file has the permissions of any new file."""
    script = "import os, sys; from nearkin.io.locks import lock_file; os.umask(int(sys.argv[2]))\n"
    script += "for _ in range(2):\n    with lock_file(sys.argv[1]): pass\n"
    subprocess.run([sys.executable, "-c", script, str(path), str(umask)], check=True)
    assert mode == stat.S_IMODE((path.parent / ".index.lock").stat().st_mode)
