"""A folder of output that appears whole or not at all.

Everything is written into a hidden folder on the same file system and renamed when all of it is written and synced:

- where the target does not exist, the hidden folder is its neighbour and becomes the target by one rename;
- where it exists (empty, or with `overwrite` the output of an earlier run), the hidden folder lies inside of it, and
  its files are renamed one after another, `summary.json` last: a folder without that file is not whole. What an earlier
  run left is set aside before and brought back if a rename fails.

An error or an interrupt removes all that was begun. A killed process leaves a hidden folder, which nothing reads and
which the next run into the same target removes: the process that writes it holds a lock (flock) on it while it lives.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from nearkin.errors import NearkinError, bad_parameter

SUMMARY = "summary.json"
_LOCK = ".lock"
_BUFFER = 1 << 20


class OutputFile(io.RawIOBase):
    """A new file; a write that fails names it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)

    def writable(self) -> bool:
        """True."""
        return True

    def fileno(self) -> int:
        """The open file's number."""
        return self._descriptor

    def write(self, data: Any) -> int:
        """Write the start of `data`; how many bytes."""
        try:
            return os.write(self._descriptor, data)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror} while writing", str(self.path.name)) from error

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            super().close()
            os.close(self._descriptor)


class OutputDir:
    r"""A context in which files are written that appear in `target` together, at its end, or not at all.

    Parameters
    ----------
    target : path
        A folder that does not exist or is empty.
    overwrite : bool, default False
        Whether a folder with the output of an earlier run may be replaced. Other files in it are never touched.
    inputs : iterable of paths
        What is being read: none of it may lie in `target`, nor `target` in one of the folders.

    Raises
    ------
    ParameterError
        The target is a file, is not empty, or would touch an input.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from nearkin.io import OutputDir
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "out"
    >>> with OutputDir(target) as out:
    ...     with out.open("kept.txt") as file:
    ...         _ = file.write(b"one\n")
    ...     target.exists()
    False
    >>> target.joinpath("kept.txt").read_text()
    'one\n'
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        inputs: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        self.target = Path(target)
        self._overwrite = overwrite
        self._inputs = [Path(path) for path in inputs]
        self._names: list[str] = []
        self._made: list[Path] = []
        self._staging: Path | None = None
        self._lock = -1
        self._inside = False

    def __enter__(self) -> OutputDir:
        self._check_inputs()
        target = self.target
        if target.is_symlink() and not target.exists():
            raise bad_parameter("out", str(target), "a folder; this is a symbolic link to nothing")
        self._inside = target.exists()
        if self._inside and not target.is_dir():
            raise bad_parameter("out", str(target), "a folder; this is a file")
        _remove_abandoned(target, inside=self._inside)
        if self._inside:
            self._check_target()
        try:
            parent = target if self._inside else target.absolute().parent
            self._make(parent)
            staging = parent / (_prefix(target, inside=self._inside) + secrets.token_hex(8))
            staging.mkdir()
            self._staging = staging
            self._lock = os.open(self._staging / _LOCK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            self._discard()

    def open(self, name: str) -> IO[bytes]:
        """A new buffered file of this name, to be closed before the context ends."""
        if self._staging is None:
            raise NearkinError("the output is not open; use `with OutputDir(...) as out`")
        if name in self._names or name == _LOCK or Path(name).name != name:
            raise bad_parameter("name", repr(name), "a plain file name that was not used yet")
        file = io.BufferedWriter(OutputFile(self._staging / name), _BUFFER)
        self._names.append(name)
        return file

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a mapping as indented JSON; `summary.json` for the summary of the run."""
        with self.open(name) as file:
            text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
            file.write(text.encode() + b"\n")

    def _check_inputs(self) -> None:
        target = Path(os.path.realpath(self.target))
        for path in self._inputs:
            real = Path(os.path.realpath(path))
            if real == target or target in real.parents:
                allowed = f"a folder that holds no input; {path} lies in it and is never written over"
                raise bad_parameter("out", str(self.target), allowed)
            if real in target.parents and real.is_dir():
                allowed = f"a folder outside of {path}, which is an input and would be read with the output in it"
                raise bad_parameter("out", str(self.target), allowed)

    def _check_target(self) -> None:
        """Refuse a folder with anything in it, or with `overwrite` anything but the output of an earlier run."""
        entries = sorted(
            path.name for path in self.target.iterdir() if not path.name.startswith(_prefix(self.target, inside=True))
        )
        if entries and not self._overwrite:
            allowed = (
                f"a folder that is empty or does not exist, or overwrite=True (--overwrite); it holds {entries[0]}"
            )
            raise bad_parameter("out", str(self.target), allowed)
        foreign = [name for name in entries if not _is_ours(name) or not (self.target / name).is_file()]
        if foreign:
            allowed = f"a folder that holds nothing but the output of an earlier run; it holds {foreign[0]}"
            raise bad_parameter("out", str(self.target), allowed)

    def _make(self, folder: Path) -> None:
        missing = []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            path.mkdir()
            self._made.append(path)

    def _commit(self) -> None:
        staging = self._staging
        if staging is None:
            return
        for name in self._names:
            _sync(staging / name)
        if self._inside:
            self._commit_files(staging)
        else:
            (staging / _LOCK).unlink()
            _sync(staging)
            staging.rename(self.target)
            _sync(self.target.absolute().parent)
        self._staging = None
        self._made = []
        if self._inside:
            shutil.rmtree(staging, ignore_errors=True)

    def _commit_files(self, staging: Path) -> None:
        aside = staging / ".old"
        aside.mkdir()
        old = [path.name for path in self.target.iterdir() if _is_ours(path.name)]
        placed: list[str] = []
        moved: list[str] = []
        # The summary goes first and comes last: while it is missing the folder is known not to be whole.
        try:
            for name in sorted(old, key=lambda name: name != SUMMARY):
                (self.target / name).rename(aside / name)
                moved.append(name)
            for name in sorted(self._names, key=lambda name: name == SUMMARY):
                (staging / name).rename(self.target / name)
                placed.append(name)
            _sync(self.target)
        except BaseException:
            for name in placed:
                (self.target / name).unlink()
            for name in reversed(moved):
                (aside / name).rename(self.target / name)
            raise

    def _discard(self) -> None:
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        for path in reversed(self._made):
            if any(path.iterdir()):
                break
            path.rmdir()
        self._made = []


def _is_ours(name: str) -> bool:
    return name == SUMMARY or name.split(".", 1)[0] in ("kept", "clusters", "pairs", "removed", "malformed")


def _prefix(target: Path, *, inside: bool) -> str:
    return ".nearkin-" if inside else f".{target.name}.nearkin-"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_abandoned(target: Path, *, inside: bool) -> None:
    """Remove hidden folders whose process is gone."""
    parent = target if inside else target.absolute().parent
    if not parent.is_dir():
        return
    for path in [path for path in parent.iterdir() if path.name.startswith(_prefix(target, inside=inside))]:
        try:
            lock = os.open(path / _LOCK, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:
            # Another process is writing it.
            continue
        finally:
            os.close(lock)
