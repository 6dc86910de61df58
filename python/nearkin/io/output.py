"""Output that appears whole or not at all: a folder of files (`OutputDir`) or one file (`replace_file`).

Everything is written into a hidden folder beside the target, synced, and put in its place by one rename (`io.aside`
says how). An error or an interrupt removes all that was begun. A killed process leaves a hidden folder, which nothing
reads and which the next run into the same target removes.

A folder of output owns the files that its `summary.json` lists under "files". A run that replaces it (`overwrite`)
replaces these, and gives everything else in the folder to the new one as it is.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal

from nearkin.errors import NearkinError, OutputError, ParameterError, bad_parameter, check_name
from nearkin.io import atomic_write, outbox
from nearkin.io.atomic_write import Aside

if TYPE_CHECKING:
    from typing_extensions import Buffer

SUMMARY = outbox.SUMMARY
_BUFFER = 1 << 20
# A summary is read to its end only up to this size; those of runs have a few kilobytes.
_LONGEST_SUMMARY = 64 << 20


class OutputFile(io.RawIOBase):
    """A new file; a write that fails names it. Its owner syncs it, after `close`, by `finish`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._descriptor = os.open(path, flags, 0o666)

    def writable(self) -> bool:
        """True."""
        return True

    def fileno(self) -> int:
        """The open file's number."""
        return self._descriptor

    def write(self, data: Buffer) -> int:
        """Write the start of `data`; how many bytes."""
        try:
            return os.write(self._descriptor, data)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror} while writing", str(self.path.name)) from error

    def finish(self, *, sync: bool) -> None:
        """Free the descriptor, synced if asked for."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            try:
                if sync:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)


class OutputDir:
    r"""A context in which files are written that appear in `target` together, at its end, or not at all.

    Parameters
    ----------
    target : path
        A folder that does not exist or is empty.
    overwrite : bool, default False
        Whether a folder with the output of an earlier run may be replaced: one whose `summary.json` was written by
        `write_json`. The files that the summary lists go; everything else in the folder stays as it is.
    inputs : iterable of paths
        What is being read: none of it may lie in `target`, nor `target` in one of the folders.
    names : iterable of str
        Files that will be written, as far as they are known: one that would replace a file of the user is refused at
        once, not at the end.

    Raises
    ------
    InputError
        The target's name has a NUL byte.
    ParameterError
        The target is a file, is not empty, would touch an input, or can't be replaced as a whole: a mount point, or the
        folder that the process works in.
    OutputError
        The output could not be put in its place; the message says what is there.

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
        names: Iterable[str] = (),
    ) -> None:
        check_name(target)
        self.target = Path(target)
        self._overwrite = overwrite
        self._inputs = [Path(path) for path in inputs]
        self._expected = list(names)
        self._files: dict[str, tuple[OutputFile, IO[bytes]]] = {}
        self._folders: list[str] = []
        self._made: list[Path] = []
        self._place = self.target
        self._aside: Aside | None = None
        self._foreign: list[str] = []
        self._listed = False
        self._owned: set[str] = set()
        self._state: Literal["open", "sealed", "promised", "put"] = "open"

    def __enter__(self) -> OutputDir:
        if self.target.is_symlink() and not self.target.exists():
            raise bad_parameter("out", str(self.target), "a folder; this is a symbolic link to nothing")
        # What a link names is replaced, not the link.
        self._place = Path(os.path.realpath(self.target))
        self._check_inputs()
        atomic_write.recover(self._place)
        self._foreign = self._entries_to_keep()
        for name in self._expected:
            self._check_free(name)
        try:
            self._make(self._place.parent)
            self._aside = Aside(self._place)
            self._aside.begin()
            self._aside.new.mkdir()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._aside is not None:
                self.put()
        finally:
            self._discard()

    def open(self, name: str) -> IO[bytes]:
        """A new buffered file of this name; it is closed at the end of the context at the latest.

        Parameters
        ----------
        name : str
            A plain file name.

        Raises
        ------
        ParameterError
            Not a plain file name, one that was used already, or that of a file in the target that no earlier run wrote.
        """
        self._check_name(name)
        raw = OutputFile(self._hidden().new / name)
        file = io.BufferedWriter(raw, _BUFFER)
        self._files[name] = raw, file
        return file

    def folder(self, name: str) -> Path:
        """Where somebody else, such as an engine, writes a folder of this name; it is not made here.

        What lies in it at the end of the context is synced, and is part of the output.

        Parameters
        ----------
        name : str
            A plain name, as `open` takes it.
        """
        self._check_name(name)
        self._folders.append(name)
        return self._hidden().new / name

    def write_json(self, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Write a mapping as indented JSON and return what was written.

        `summary.json`, the summary of the run, comes last: it gets the list of all files under "files", by which a
        later run knows what it may replace.

        Parameters
        ----------
        name : str
            The file's name.
        value : mapping
            Values that JSON has.
        """
        written = dict(value)
        if name == SUMMARY:
            written["files"] = sorted([*self._files, SUMMARY])
        with self.open(name) as file:
            text = json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False)
            file.write(text.encode() + b"\n")
        self._listed = name == SUMMARY
        return written

    def _check_name(self, name: str) -> None:
        self._hidden()
        if self._listed:
            raise NearkinError(f"{SUMMARY} lists all files and comes last; write {name} before it")
        used = name in self._files or name in self._folders
        if used or name in ("", ".", "..") or Path(name).name != name or "\0" in name:
            raise bad_parameter("name", repr(name), "a plain file name that was not used yet")
        self._check_free(name)

    def _hidden(self) -> Aside:
        if self._aside is None:
            raise NearkinError("the output is not open; use `with OutputDir(...) as out`")
        return self._aside

    def _check_inputs(self) -> None:
        target = self._place
        for path in self._inputs:
            real = Path(os.path.realpath(path))
            if real == target or target in real.parents:
                allowed = f"a folder that holds no input; {path} lies in it and is never written over"
                raise bad_parameter("out", str(self.target), allowed)
            if real in target.parents and real.is_dir():
                allowed = f"a folder outside {path}, which is an input and would be read with the output in it"
                raise bad_parameter("out", str(self.target), allowed)

    def _entries_to_keep(self) -> list[str]:
        """The entries of the target that are not an earlier run's; a target that may not be replaced is refused."""
        place = self._place
        if not place.exists():
            return []
        if not place.is_dir():
            raise self._refused("a folder; this is a file")
        if os.path.ismount(place):
            raise self._refused("a folder in it: this one is a mount point, which can't be replaced as a whole")
        working = Path(os.path.realpath(Path.cwd()))
        if place == working or place in working.parents:
            raise self._refused(
                "a folder that this process does not work in, since it is replaced as a whole; run from another folder"
            )
        entries = sorted(path.name for path in place.iterdir())
        if not entries:
            return []
        if not self._overwrite:
            raise self._refused(
                f"a folder that is empty or does not exist, or overwrite=True (--overwrite); it holds {entries[0]}"
            )
        owned = files_of_run(place)
        foreign = [name for name in entries if name not in owned or not (place / name).is_file()]
        if not owned:
            raise self._refused(
                f"a folder with the output of an earlier run; it holds {foreign[0]} and no {SUMMARY} of a run"
            )
        for name in foreign:
            if os.path.ismount(place / name):
                raise self._refused(f"a folder without mount points in it; {name} is one")
        return foreign

    def _refused(self, allowed: str) -> ParameterError:
        return bad_parameter("out", str(self.target), allowed)

    def _check_free(self, name: str) -> None:
        if name in self._foreign:
            raise self._refused(
                f"a folder whose {name} may be replaced; {SUMMARY} does not list it as a file of the earlier run, so "
                f"move or rename it"
            )

    def _make(self, folder: Path) -> None:
        missing = []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            path.mkdir()
            self._made.append(path)

    def restart(self) -> None:
        """Forget what was written, and begin again; not once the output is in place."""
        hidden = self._hidden().new
        if self._state == "put":
            raise NearkinError("the output is in place already; open a new one")
        self._abandon()
        # A promise that nobody made good goes before what it speaks of.
        (hidden.parent / outbox.NAME).unlink(missing_ok=True)
        shutil.rmtree(hidden)
        hidden.mkdir()
        self._files, self._folders, self._listed, self._state = {}, [], False, "open"

    def promise(self, database: Path) -> tuple[Path, Path]:
        """Finish the output, synced, and let a database decide whether it takes its place (`nearkin.io.outbox`).

        Returns
        -------
        target, prepared : Path
            What the database's table `outputs` has to name. Once that is committed, `put`.

        Raises
        ------
        OutputError
            Writing failed; nothing was changed.
        """
        if not self._listed:
            raise NearkinError(f"a promised output has a {SUMMARY}; write it first")
        self._seal()
        try:
            prepared = self._hidden().promise(database, {*self._owned, *self._files})
        except OSError as error:
            raise self._failed(error) from error
        self._state = "promised"
        return self._place, prepared

    def put(self) -> None:
        """Put the output in its place; the end of the context does the same.

        Raises
        ------
        OutputError
            A rename or a sync failed; the message says what is there.
        """
        hidden = self._hidden()
        if self._state == "open":
            self._seal()
        if self._state == "promised":
            hidden.keep_promise()
            # The database forgets it when nothing hidden is left.
            hidden.end()
            self._aside = None
        elif self._state == "sealed":
            replaced = hidden.put_folder()
            if replaced is not None:
                self._keep_late(replaced, {*self._owned, *self._files})
            atomic_write.sync_parent(self._place)
        self._made, self._state = [], "put"

    def _seal(self) -> None:
        """Finish and sync everything beside the target."""
        new, place = self._hidden().new, self._place
        try:
            for raw, file in self._files.values():
                file.close()
                raw.finish(sync=True)
            for name in self._folders:
                _sync_below(new / name)
            # Files may have come since the start.
            self._foreign = self._entries_to_keep()
            for name in (*self._files, *self._folders):
                self._check_free(name)
            if place.exists():
                self._owned = set(os.listdir(place)).difference(self._foreign)  # noqa: PTH208 - names, not paths
                atomic_write.carry(place, new, self._owned)
                _take_permissions(place, new)
            atomic_write.sync_folder(new)
            for folder in self._made:
                atomic_write.sync_folder(folder.parent)
        except OSError as error:
            if isinstance(error, NearkinError):
                raise
            raise self._failed(error) from error
        self._state = "sealed"

    def _failed(self, error: OSError) -> OutputError:
        state = "nothing was changed there; mend the cause and run again"
        return atomic_write.output_error(self.target, "writing its staged copy failed", error, state, in_place="old")

    def _keep_late(self, replaced: Path, without: set[str]) -> None:
        """Give the new output what came to the replaced folder after the last look at it."""
        try:
            atomic_write.carry_late(replaced, self._place, without)
        except OSError as error:
            saved = self._place.with_name(f"{self._place.name}.before-{secrets.token_hex(4)}")
            replaced.rename(saved)
            state = f"the new output is in place, and the folder that it replaced is {saved}"
            what = "moving files that came meanwhile failed"
            raise atomic_write.output_error(self.target, what, error, state, in_place="new") from error

    def _abandon(self) -> None:
        for raw, file in self._files.values():
            # What can't be flushed does not matter.
            with suppress(OSError):
                file.close()
            raw.finish(sync=False)

    def _discard(self) -> None:
        try:
            self._clear()
        except KeyboardInterrupt:
            # What an interrupt cuts short here would lie there until the next run.
            self._clear()
            raise

    def _clear(self) -> None:
        self._abandon()
        self._files = {}
        if self._aside is not None:
            self._aside.end()
            self._aside = None
        for path in reversed([path for path in self._made if path.exists()]):
            if any(path.iterdir()):
                break
            path.rmdir()
        self._made = []


def _sync_below(folder: Path) -> None:
    """Sync all files of a folder, and the names in it."""
    for parent, _, names in os.walk(folder):
        for name in names:
            # One system syncs only what is opened for writing; others let everybody sync what he may read.
            with Path(parent, name).open("r+b" if sys.platform == "win32" else "rb") as file:
                os.fsync(file.fileno())
        atomic_write.sync_folder(Path(parent))


def files_of_run(folder: Path) -> set[str]:
    """The names of the files that a run wrote into a folder, according to its `summary.json`; empty if it has none.

    Summaries of earlier versions list no files; their files follow from what they say about the run.
    """
    path = folder / SUMMARY
    try:
        if path.is_symlink() or path.stat().st_size > _LONGEST_SUMMARY:
            return set()
        summary = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return set()
    if not isinstance(summary, dict):
        return set()
    files = summary.get("files")
    if isinstance(files, list):
        return {name for name in files if isinstance(name, str)} | {SUMMARY}
    if not {"recipe", "version", "documents", "kept"} <= summary.keys():
        return set()
    kept, form = summary.get("kept_file"), summary.get("format")
    if isinstance(kept, str) and isinstance(form, str):
        ending = "jsonl" if form in ("txt", "files", "warc") else form
        return {kept, f"clusters.{ending}", f"pairs.{ending}", SUMMARY}
    return {"kept.nul", "removed.nul", "clusters.jsonl", "pairs.jsonl", SUMMARY}


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    r"""A new file that replaces `path` when the block ends, whole and synced; after an error nothing has changed.

    Where `path` is a symbolic link, the file that it names is replaced, and keeps its permissions.

    Parameters
    ----------
    path : str or os.PathLike
        The file, whose folder exists.

    Raises
    ------
    InputError
        The name has a NUL byte.
    OutputError
        The file could not be put in its place; the message says what is there.
    OSError
        A write failed, or the folder does not exist.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from nearkin.io import replace_file
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "table"
    >>> with replace_file(target) as file:
    ...     _ = file.write(b"one\n")
    ...     target.exists()
    False
    >>> target.read_bytes()
    b'one\n'
    """
    check_name(path)
    place = Path(os.path.realpath(path))
    atomic_write.recover(place)
    hidden = Aside(place)
    hidden.begin()
    try:
        raw = OutputFile(hidden.new)
        try:
            with io.BufferedWriter(raw, _BUFFER) as file:
                yield file
            if place.exists():
                _take_permissions(place, hidden.new)
            raw.finish(sync=True)
        finally:
            raw.finish(sync=False)
        hidden.put_file()
    finally:
        hidden.end()


def _take_permissions(old: Path, new: Path) -> None:
    """Give `new` the owner and the permissions of `old`, as far as the process may."""
    status = old.stat()
    if hasattr(os, "chown"):
        # Ownership goes first: changing it clears some permissions.
        with suppress(PermissionError):
            os.chown(new, status.st_uid, status.st_gid)
    shutil.copymode(old, new)
