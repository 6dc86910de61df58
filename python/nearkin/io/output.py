"""Output that appears complete or not at all: a folder of files (`OutputDir`) or one file (`replace_file`).

All files are written into a hidden folder next to the target, synced, and put in place by one rename
(`nearkin.io.atomic_write`). An error or an interrupt removes everything. A killed process leaves a hidden folder, which
nothing reads and which the next run into the same target removes.

An output folder owns the files that its `summary.json` lists under "files". A run that replaces it (`overwrite`)
replaces these files and moves all other entries over to the new folder.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from nearkin.errors import NearkinError, OutputError, ParameterError, bad_parameter, check_name
from nearkin.io import atomic_write
from nearkin.io.atomic_write import PREPARED, SUMMARY, StagedOutput

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["SUMMARY", "OutputDir", "OutputFile", "files_of_run", "replace_file"]

_BUFFER = 1 << 20
# Summaries have a few kilobytes; larger files are not read.
_MAX_SUMMARY = 64 << 20


class OutputFile(io.FileIO):
    """A new file. Its owner syncs it by `finish` after `close`; errors of `write` name the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._descriptor = os.open(path, flags, 0o666)
        super().__init__(self._descriptor, "wb", closefd=False)

    def write(self, data: Buffer) -> int:
        """Write a prefix of `data` and return its length in bytes."""
        try:
            return os.write(self._descriptor, data)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror} while writing", str(self.path.name)) from error

    def finish(self, *, sync: bool) -> None:
        """Close the descriptor, after syncing the file if `sync` is set."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            try:
                if sync:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)


class OutputDir:
    r"""A context whose files appear in `target` together when it ends, or not at all.

    Parameters
    ----------
    target : path
        A folder that does not exist or is empty.
    overwrite : bool, default False
        If True, `target` may also contain the output of an earlier run, which is recognised by its `summary.json`. The
        files that the summary lists are replaced; all other entries are not changed.
    inputs : iterable of paths
        Files and folders that are being read. The target must neither contain nor be inside any of them.
    names : iterable of str
        Names of files that will be written. If one of them would replace a file of the user, the context refuses to
        start instead of failing at its end.

    Raises
    ------
    InputError
        The name of the target contains a NUL byte.
    ParameterError
        The target is a file, is not empty, overlaps an input, or cannot be replaced as a unit because it is a mount
        point or the working directory.
    OutputError
        The output could not be put in place. The message describes the state of the target.

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
        self._expected_names = list(names)
        self._files: dict[str, tuple[OutputFile, IO[bytes]]] = {}
        self._folders: list[str] = []
        self._created_parents: list[Path] = []
        self._real_target = self.target
        self._staged: StagedOutput | None = None
        self._foreign: list[str] = []
        self._has_summary = False
        self._owned: set[str] = set()
        self._state: Literal["open", "sealed", "prepared", "committed"] = "open"

    def __enter__(self) -> OutputDir:
        if self.target.is_symlink() and not self.target.exists():
            raise bad_parameter("out", str(self.target), "a folder; this is a symbolic link to nothing")
        # Replace the target of a symbolic link, not the link.
        self._real_target = Path(os.path.realpath(self.target))
        self._check_inputs()
        atomic_write.recover(self._real_target)
        self._foreign = self._list_foreign_entries()
        for name in self._expected_names:
            self._check_not_foreign(name)
        try:
            self._create_parents(self._real_target.parent)
            self._staged = StagedOutput(self._real_target)
            self._staged.begin()
            self._staged.new.mkdir()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._staged is not None:
                self.commit()
        finally:
            self._discard()

    def open(self, name: str) -> IO[bytes]:
        """Create a buffered file; it is closed at the end of the context at the latest.

        Parameters
        ----------
        name : str
            A file name without folders.

        Raises
        ------
        ParameterError
            The name contains a folder, was used before, or belongs to a file in the target that no earlier run wrote.
        """
        raw = OutputFile(self._path_for(name))
        file = io.BufferedWriter(raw, _BUFFER)
        self._files[name] = raw, file
        return file

    def folder(self, name: str) -> Path:
        """Return the path at which the caller, for instance an engine, creates and fills a folder of this name.

        Its content at the end of the context is synced and becomes part of the output.

        Parameters
        ----------
        name : str
            A name without folders, as for `open`.
        """
        path = self._path_for(name)
        self._folders.append(name)
        return path

    def write_json(self, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Write a mapping as indented JSON and return the mapping as written.

        `summary.json`, the summary of the run, must come last. It receives the list of all files under "files", by
        which a later run recognises the files that it may replace.

        Parameters
        ----------
        name : str
            Name of the file.
        value : mapping
            JSON-serialisable values.
        """
        content = dict(value)
        if name == SUMMARY:
            content["files"] = sorted([*self._files, SUMMARY])
        with self.open(name) as file:
            text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
            file.write(text.encode() + b"\n")
        self._has_summary = name == SUMMARY
        return content

    def restart(self) -> None:
        """Discard everything written so far and start again; not possible after `commit`."""
        staged = self._get_staged()
        if self._state == "committed":
            raise NearkinError("the output is in place already; open a new one")
        self._abort_files()
        # The record of a prepared output must be removed before the folder that it describes.
        (staged.new.parent / PREPARED).unlink(missing_ok=True)
        shutil.rmtree(staged.new)
        staged.new.mkdir()
        self._files, self._folders, self._has_summary, self._state = {}, [], False, "open"

    def prepare(self, database: Path) -> tuple[Path, Path]:
        """Finish and sync the output, and let a database decide whether it is published (`nearkin.io.atomic_write`).

        Returns
        -------
        target, prepared : Path
            Values of the row to insert into the table `outputs` of the database. Call `commit` after that transaction.

        Raises
        ------
        OutputError
            Writing failed; the target is not changed.
        """
        if not self._has_summary:
            raise NearkinError(f"a prepared output must have a {SUMMARY}; write it first")
        self._seal()
        try:
            prepared = self._get_staged().prepare(database, {*self._owned, *self._files})
        except OSError as error:
            raise self._write_error(error) from error
        self._state = "prepared"
        return self._real_target, prepared

    def commit(self) -> None:
        """Put the output in place; the end of the context does the same.

        Raises
        ------
        OutputError
            A rename or a sync failed. The message describes the state of the target.
        """
        staged = self._get_staged()
        if self._state == "open":
            self._seal()
        if self._state == "prepared":
            staged.publish()
            # The database may forget the output as soon as its hidden folder is removed.
            staged.end()
            self._staged = None
        elif self._state == "sealed":
            replaced = staged.commit_folder()
            if replaced is not None:
                self._move_late_entries(replaced, {*self._owned, *self._files})
            atomic_write.sync_parent(self._real_target)
        self._created_parents, self._state = [], "committed"

    def _get_staged(self) -> StagedOutput:
        if self._staged is None:
            raise NearkinError("the output is not open; use `with OutputDir(...) as out`")
        return self._staged

    def _path_for(self, name: str) -> Path:
        """Check a new name and return its path in the hidden folder."""
        staged = self._get_staged()
        if self._has_summary:
            raise NearkinError(f"{SUMMARY} lists all files and comes last; write {name} before it")
        used = name in self._files or name in self._folders
        if used or name in ("", ".", "..") or Path(name).name != name or "\0" in name:
            raise bad_parameter("name", repr(name), "a plain file name that was not used yet")
        self._check_not_foreign(name)
        return staged.new / name

    def _check_inputs(self) -> None:
        target = self._real_target
        written = [path.stat() for path in target.iterdir() if path.is_file()] if target.is_dir() else []
        replaced = {(status.st_dev, status.st_ino) for status in written if status.st_nlink > 1}
        for path in self._inputs:
            real = Path(os.path.realpath(path))
            if replaced and real.is_file() and (real.stat().st_dev, real.stat().st_ino) in replaced:
                raise self._refuse(f"a folder that contains no input; {path} is a hard link of a file inside")
            if real == target or target in real.parents:
                raise self._refuse(f"a folder that contains no input; {path} is inside and is never overwritten")
            if real in target.parents and real.is_dir():
                raise self._refuse(f"a folder outside {path}, an input whose next run would read the output as well")

    def _list_foreign_entries(self) -> list[str]:
        """Return the entries of the target that no earlier run wrote; refuse a target that must not be replaced."""
        target = self._real_target
        if not target.exists():
            return []
        if not target.is_dir():
            raise self._refuse("a folder; this is a file")
        if os.path.ismount(target):
            raise self._refuse("a folder in it: this one is a mount point, which cannot be replaced")
        working = Path(os.path.realpath(Path.cwd()))
        if target in (working, *working.parents):
            allowed = "a folder other than the working directory, which is replaced as a unit; run from another folder"
            raise self._refuse(allowed)
        entries = sorted(path.name for path in target.iterdir())
        if not entries:
            return []
        if not self._overwrite:
            allowed = "a folder that is empty or does not exist, or overwrite=True (--overwrite)"
            raise self._refuse(f"{allowed}; it contains {entries[0]}")
        owned = files_of_run(target)
        foreign = [name for name in entries if name not in owned or not (target / name).is_file()]
        if not owned:
            allowed = "a folder with the output of an earlier run"
            raise self._refuse(f"{allowed}; it contains {foreign[0]} and no {SUMMARY} of a run")
        for name in foreign:
            if os.path.ismount(target / name):
                raise self._refuse(f"a folder without mount points in it; {name} is one")
        return foreign

    def _refuse(self, allowed: str) -> ParameterError:
        return bad_parameter("out", str(self.target), allowed)

    def _check_not_foreign(self, name: str) -> None:
        if name in self._foreign:
            reason = f"{SUMMARY} does not list it as a file of the earlier run, so move or rename it"
            raise self._refuse(f"a folder whose {name} may be replaced; {reason}")

    def _create_parents(self, folder: Path) -> None:
        for path in [path for path in reversed((folder, *folder.parents)) if not path.exists()]:
            path.mkdir()
            self._created_parents.append(path)

    def _seal(self) -> None:
        """Finish and sync everything in the hidden folder."""
        new, target = self._get_staged().new, self._real_target
        try:
            for raw, file in self._files.values():
                file.close()
                raw.finish(sync=True)
            for name in self._folders:
                _sync_tree(new / name)
            # The user may have added files since the start.
            self._foreign = self._list_foreign_entries()
            for name in (*self._files, *self._folders):
                self._check_not_foreign(name)
            if target.exists():
                self._owned = set(os.listdir(target)).difference(self._foreign)  # noqa: PTH208 - names, not paths
                atomic_write.link_entries(target, new, self._owned)
                _copy_permissions(target, new)
            atomic_write.sync_folder(new)
            for folder in self._created_parents:
                atomic_write.sync_folder(folder.parent)
        except NearkinError:
            raise
        except OSError as error:
            raise self._write_error(error) from error
        self._state = "sealed"

    def _write_error(self, error: OSError) -> OutputError:
        state = "nothing was changed there; fix the cause and run again"
        return atomic_write.output_error(self.target, "writing its staged copy failed", error, state, in_place="old")

    def _move_late_entries(self, replaced: Path, exclude: set[str]) -> None:
        """Move entries that were added to the replaced folder after `_seal` to the new output."""
        try:
            atomic_write.move_late_entries(replaced, self._real_target, exclude)
        except OSError as error:
            saved = self._real_target.with_name(f"{self._real_target.name}.before-{os.urandom(4).hex()}")
            replaced.rename(saved)
            state = f"the new output is in place, and the folder that it replaced is {saved}"
            action = "moving files that were added during the run failed"
            raise atomic_write.output_error(self.target, action, error, state, in_place="new") from error

    def _abort_files(self) -> None:
        for raw, file in self._files.values():
            # Errors of the final flush are irrelevant: the file is removed.
            with suppress(OSError):
                file.close()
            raw.finish(sync=False)

    def _discard(self) -> None:
        try:
            self._clean_up()
        except KeyboardInterrupt:
            # Finish the clean-up: nothing may be left until the next run.
            self._clean_up()
            raise

    def _clean_up(self) -> None:
        self._abort_files()
        self._files = {}
        if self._staged is not None:
            self._staged.end()
            self._staged = None
        for path in reversed([path for path in self._created_parents if path.exists()]):
            if any(path.iterdir()):
                break
            path.rmdir()
        self._created_parents = []


def _sync_tree(folder: Path) -> None:
    """Sync all files and folders below a folder."""
    for parent, _, names in os.walk(folder):
        for name in names:
            # Windows syncs only files that are open for writing; other systems sync any readable file.
            with Path(parent, name).open("r+b" if sys.platform == "win32" else "rb") as file:
                os.fsync(file.fileno())
        atomic_write.sync_folder(Path(parent))


def files_of_run(folder: Path) -> set[str]:
    """Return the files that a run wrote into a folder, according to its `summary.json`; empty without one."""
    path = folder / SUMMARY
    try:
        if path.is_symlink() or path.stat().st_size > _MAX_SUMMARY:
            return set()
        summary = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return set()
    files = summary.get("files") if isinstance(summary, dict) else None
    return {name for name in files if isinstance(name, str)} | {SUMMARY} if isinstance(files, list) else set()


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    r"""Write a file that replaces `path` when the block ends, complete and synced; an error changes nothing.

    If `path` is a symbolic link, the file that it points to is replaced. The new file gets the permissions of the old.

    Parameters
    ----------
    path : str or os.PathLike
        The file; its folder must exist.

    Raises
    ------
    InputError
        The name contains a NUL byte.
    OutputError
        The file could not be put in place. The message describes the state of the target.
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
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; give the path of a file", os.fspath(path))
    atomic_write.recover(target)
    staged = StagedOutput(target)
    staged.begin()
    try:
        raw = OutputFile(staged.new)
        try:
            with io.BufferedWriter(raw, _BUFFER) as file:
                yield file
            if target.exists():
                _copy_permissions(target, staged.new)
            raw.finish(sync=True)
        finally:
            raw.finish(sync=False)
        staged.commit_file()
    finally:
        staged.end()


def _copy_permissions(old: Path, new: Path) -> None:
    """Give `new` the owner and permissions of `old`, as far as the process may."""
    status = old.stat()
    if hasattr(os, "chown"):
        # Change the owner first, because that clears some permission bits.
        with suppress(PermissionError):
            os.chown(new, status.st_uid, status.st_gid)
    shutil.copymode(old, new)
