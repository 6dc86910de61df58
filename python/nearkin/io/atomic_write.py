"""Atomic output: write into a hidden folder next to the target, then rename it into place.

While the target `out` is being written, its folder contains `.out.nearkin-` followed by 16 random hexadecimal digits:

```
lock    locked (`io.locks`) by the writing process; if the lock can be acquired, that process is gone
new     the new file or folder, synced before it is renamed
old     the previous folder, on systems that cannot exchange two folders in one step
promise a `PreparedOutput`: a database decides whether `new` is published
```

The order is: write, sync every file, sync the folder, rename, sync the parent folder. An existing folder is exchanged
with the new one in one step (Linux `renameat2`, macOS `renamex_np`). Other systems rename the old folder to `old` and
the new one to the target. Only a process that dies between these two renames leaves no `out`; `recover`, which the
next writer calls, moves the old folder back before it removes the hidden one.

Hidden folders are created exclusively and readable by their owner only. Only folders of the same user are ever
removed, and symbolic links are never followed.

**Two-phase commit with a database.** A folder and a database cannot change in one step. `StagedOutput.prepare` writes
the file `promise`, which names the SQLite database. The transaction that changes the database inserts the path of the
hidden folder into its table `outputs`. After that commit, the folder belongs in its place, and whoever finds it
publishes it: this process, the next one that opens the database, or the next one that writes to the target. Without
such a row, the folder is removed like any other output of an interrupted run. After a crash, SHA-256 sums of
`summary.json` show which folder is which.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nearkin.errors import OutputError
from nearkin.io import locks

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK, NEW, OLD, PREPARED = "lock", "new", "old", "promise"
"""Names of the entries of a hidden folder."""
SUMMARY = "summary.json"
"""The file that identifies an output folder."""
DATABASE_TIMEOUT = 60.0
"""Seconds to wait for a database that another process is recovering."""
_RANDOM_BYTES = 8
# Longest target name, in bytes, that the hidden folder repeats. Names are limited to 255 bytes.
_MAX_NAME = 200
# Errors of file systems without hard links, or without an exchange of two names.
_UNSUPPORTED = {errno.EPERM, errno.EMLINK, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
# Errors of network file systems that cannot sync a folder.
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}

Exchange = Callable[[bytes, bytes], int]


@dataclass(frozen=True)
class PreparedOutput:
    """The record that lets a database decide whether a hidden folder is published.

    Attributes
    ----------
    database : str
        Path of the SQLite database whose table `outputs` may contain the hidden folder.
    summary : str
        SHA-256 of the summary of the new folder.
    replaced : str or None
        SHA-256 of the summary of the folder that it replaces, if there is one.
    files : list of str
        Names that are not moved over from the replaced folder: the files of its run, and those of the new one.
    """

    database: str
    summary: str
    replaced: str | None
    files: list[str]

    @classmethod
    def read(cls, folder: Path) -> PreparedOutput | None:
        """Read the record of a hidden folder; None if the folder has no complete record.

        Raises
        ------
        OSError
            The file cannot be read.
        """
        try:
            return cls(**json.loads((folder / PREPARED).read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def save(self, folder: Path) -> None:
        """Write the record into the hidden folder and sync it; the caller syncs the folder."""
        with (folder / PREPARED).open("xb") as file:
            file.write(json.dumps(asdict(self)).encode())
            file.flush()
            os.fsync(file.fileno())

    def is_published(self, target: Path) -> bool:
        """Return True if the new folder is in its place."""
        return summary_digest(target) == self.summary

    def may_replace(self, target: Path) -> bool:
        """Return True if the target is still the folder that the new one was prepared to replace."""
        return self.replaced is not None and summary_digest(target) == self.replaced

    def is_committed(self, folder: Path) -> bool:
        """Return True if the database contains the hidden folder.

        Raises
        ------
        OutputError
            The database is missing or cannot be queried.
        """
        import sqlite3

        path = Path(self.database)
        try:
            if not path.is_file():
                raise FileNotFoundError(os.strerror(2))
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=DATABASE_TIMEOUT)) as connection:
                query = "SELECT count(*) FROM outputs WHERE prepared = ?"
                return bool(connection.execute(query, (str(folder),)).fetchone()[0])
        except (OSError, sqlite3.Error) as error:
            message = (
                f"{folder}: {path.parent} decides whether this output of an interrupted run is published, but cannot "
                f"be queried ({error}); restore it, or remove this folder"
            )
            raise OutputError(message, place=str(folder), in_place="old") from None


class StagedOutput:
    """A file or folder that is written next to its target and then renamed into place.

    Parameters
    ----------
    target : Path
        Absolute path in an existing folder.

    Attributes
    ----------
    new : Path
        Path at which to write; initially nothing exists there.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._folder: Path | None = None
        self._lock: BaseFileLock | None = None
        self._prepared: PreparedOutput | None = None

    @property
    def new(self) -> Path:
        """Path at which the new file or folder is written."""
        if self._folder is None:
            raise OutputError(f"{self.target}: nothing is being written here", place=str(self.target), in_place="old")
        return self._folder / NEW

    def begin(self) -> None:
        """Create the hidden folder and lock it.

        Raises
        ------
        OSError
            The parent folder is not writable, or its file system has no locks.
        """
        while self._folder is None:
            folder = self.target.parent / (_prefix(self.target) + os.urandom(_RANDOM_BYTES).hex())
            try:
                self._make(folder)
                lock = locks.acquire_or_none(folder / LOCK)
                # Before it is locked, another process may take the folder for an abandoned one and remove it.
                if lock is not None:
                    self._folder, self._lock = folder, lock
            except FileExistsError:
                continue
            except FileNotFoundError:
                # The other process removed it between `mkdir` and the lock: take another name.
                if folder.exists() or not self.target.parent.is_dir():
                    raise
            except BaseException:
                # An interrupt may arrive after the folder or the lock file was created.
                shutil.rmtree(folder, ignore_errors=True)
                raise

    def _make(self, folder: Path) -> None:
        """Create the hidden folder; an error names the target, which the user knows."""
        try:
            folder.mkdir(0o700)
        except FileExistsError:
            raise
        except OSError as error:
            parent, place = self.target.parent, str(self.target)
            if not parent.exists():
                message = f"the folder {parent} does not exist; create it, or choose another"
                raise FileNotFoundError(errno.ENOENT, message, place) from error
            if not parent.is_dir():
                message = f"{parent} is a file, not a folder; choose another folder"
                raise NotADirectoryError(errno.ENOTDIR, message, place) from error
            # Folders of the system, such as /proc, say ENOENT although they exist.
            reason = error.strerror if error.errno != errno.ENOENT else "it takes no files"
            message = f"cannot write into the folder {parent} ({reason}); choose one in which you may create files"
            raise PermissionError(errno.EACCES, message, place) from error

    def commit_file(self) -> None:
        """Rename the new file to the target, replacing an existing file.

        Raises
        ------
        OutputError
            The rename or a sync failed.
        """
        _rename(self.target, lambda: self.new.replace(self.target))
        sync_parent(self.target)

    def commit_folder(self) -> Path | None:
        """Rename the new folder to the target and return the current path of the folder that it replaced, if any.

        The caller syncs the parent folder (`sync_parent`) after it has finished with the replaced folder.

        Raises
        ------
        OutputError
            A rename failed. The previous output is back in place, or the message names its path.
        """
        new, target, old = self.new, self.target, self.new.with_name(OLD)
        if not os.path.lexists(target):
            _rename(target, lambda: new.rename(target))
            return None
        if _rename(target, lambda: exchange(new, target)):
            return new
        _rename(target, lambda: target.rename(old))
        try:
            _rename(target, lambda: new.rename(target))
        except BaseException:
            try:
                old.rename(target)
            except OSError as error:
                self._release()
                state = f"the previous output is complete in {old}, and the next run restores it"
                raise output_error(target, "renaming failed", error, state, in_place="other") from error
            raise
        return old

    def commit_new_folder(self) -> None:
        """Rename the new folder, which is not empty, to a target that must not exist.

        Raises
        ------
        FileExistsError
            Something was created at the target in the meantime. It is not changed.
        OutputError
            The rename failed.
        """
        try:
            # If two processes rename at once, the second one fails: a rename replaces only an empty folder.
            _rename(self.target, lambda: self.new.rename(self.target))
        except OutputError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise FileExistsError(f"{self.target}: something was created here in the meantime") from error
            raise

    def prepare(self, database: Path, files: Iterable[str]) -> Path:
        """Let a database decide whether the new, synced folder is published; return the hidden folder.

        Parameters
        ----------
        database : Path
            SQLite database. The commit that inserts the hidden folder into its table `outputs` decides.
        files : iterable of str
            Names that are not moved over from the replaced folder.

        Raises
        ------
        OSError
            Writing or syncing failed.
        """
        new = self.new
        summary = summary_digest(new) or ""
        self._prepared = PreparedOutput(str(database), summary, summary_digest(self.target), sorted(files))
        self._prepared.save(new.parent)
        sync_folder(new.parent)
        sync_folder(self.target.parent)
        return new.parent

    def publish(self) -> None:
        """Move a prepared folder into place, unless it already is there.

        Raises
        ------
        OutputError
            Something else was created there in the meantime, or a rename failed.
        OSError
            A summary cannot be read.
        """
        prepared = self._prepared
        if prepared is None:
            raise OutputError(f"{self.target}: no output is prepared", place=str(self.target), in_place="old")
        if not prepared.is_published(self.target):
            if _has_content(self.target) and not prepared.may_replace(self.target):
                state = f"the output of an interrupted run is complete in {self.new}; move one of them away"
                message = f"{self.target}: something else was created here; {state}, and open the store again"
                raise OutputError(message, place=str(self.target), in_place="other")
            self.commit_folder()
        replaced = next((path for path in (self.new, self.new.with_name(OLD)) if path.is_dir()), None)
        if replaced is not None:
            move_late_entries(replaced, self.target, prepared.files)
        sync_parent(self.target)

    def end(self) -> None:
        """Remove the hidden folder, unless it is prepared and still has to be published."""
        if self._folder is not None and self._lock is not None:
            if is_pending(self._folder, self.target):
                self._release()
                return
            _remove_hidden(self._folder, self._lock)
            self._folder = self._lock = None

    def _release(self) -> None:
        """Leave the hidden folder to the next run, as a killed process does."""
        if self._lock is not None:
            self._lock.release()
        self._folder = self._lock = None


def recover(target: Path) -> None:
    """Finish what killed processes began at a target.

    Folders that were moved away are moved back, committed outputs are published, and hidden folders are removed.

    Raises
    ------
    OutputError
        Both the target and either its predecessor or a committed output exist. Only the user can tell which to keep.
    """
    for folder, lock in _interrupted(target.parent, re.escape(_prefix(target))):
        try:
            _restore_old(folder, target)
            prepared = PreparedOutput.read(folder)
            if prepared is not None and (prepared.is_published(target) or prepared.is_committed(folder)):
                staged = StagedOutput(target)
                staged._folder, staged._lock, staged._prepared = folder, lock, prepared
                staged.publish()
        except BaseException:
            lock.release()
            raise
        _remove_hidden(folder, lock)


def remove_abandoned(parent: Path) -> None:
    """Remove what killed processes left in a folder, for any target, unless something must be moved or published."""
    for folder, lock in _interrupted(parent, r"\..+\.nearkin-"):
        if (folder / OLD).exists() or (folder / PREPARED).exists():
            lock.release()
        else:
            _remove_hidden(folder, lock)


def _interrupted(parent: Path, prefix: str) -> Iterator[tuple[Path, BaseFileLock]]:
    """Yield the hidden folders of processes that are gone, with their locks; the prefix of names is a pattern."""
    if not parent.is_dir():
        return
    pattern = re.compile(prefix + f"[0-9a-f]{{{2 * _RANDOM_BYTES}}}")
    with os.scandir(parent) as entries:
        folders = [Path(entry.path) for entry in entries if pattern.fullmatch(entry.name) and _is_own_folder(entry)]
    for folder in folders:
        try:
            lock = locks.acquire_or_none(folder / LOCK)
        except OSError:
            # Not created by nearkin, or not ours to remove.
            continue
        if lock is not None:
            yield folder, lock


def is_pending(folder: Path, target: Path) -> bool:
    """Return True if a hidden folder is committed but not published; also if this cannot be determined."""
    try:
        prepared = PreparedOutput.read(folder)
        return prepared is not None and not prepared.is_published(target) and prepared.is_committed(folder)
    except OSError:
        return True


def summary_digest(folder: Path) -> str | None:
    """Return the SHA-256 of the summary of a folder; None if it has no summary.

    Raises
    ------
    OSError
        The summary cannot be read.
    """
    try:
        return hashlib.sha256((folder / SUMMARY).read_bytes()).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _has_content(target: Path) -> bool:
    """Return True if the target exists and is not an empty folder."""
    return os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir()))


def _restore_old(folder: Path, target: Path) -> None:
    """Move the previous output back if a process died between two renames."""
    old = folder / OLD
    if not old.is_dir() or old.is_symlink():
        return
    if not os.path.lexists(target):
        old.rename(target)
        sync_parent(target)
    elif os.path.lexists(folder / NEW):
        message = (
            f"{target}: an interrupted run left the previous content of this folder in {old}, and another folder was "
            f"created since; move one of them away"
        )
        raise OutputError(message, place=str(target), in_place="other")


def exchange(left: Path, right: Path) -> bool:
    """Exchange two names of one file system in one step; False if the system cannot.

    Raises
    ------
    OSError
        The system supports the call, and it failed.
    """
    call = _exchange_call()
    if call is None:
        return False
    if call(os.fsencode(left), os.fsencode(right)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(right))


@functools.cache
def _exchange_call() -> Exchange | None:
    """Return the system call, which returns 0 or sets errno."""
    library = None if sys.platform == "win32" else ctypes.CDLL(None, use_errno=True)
    is_mac = sys.platform == "darwin"
    swap = getattr(library, "renamex_np" if is_mac else "renameat2", None)
    if swap is None:
        return None
    if is_mac:
        # RENAME_SWAP of <sys/stdio.h>.
        return lambda left, right: int(swap(left, right, 2))
    # AT_FDCWD and RENAME_EXCHANGE of <linux/fs.h>.
    return lambda left, right: int(swap(-100, left, -100, right, 2))


def link_entries(old: Path, new: Path, exclude: Collection[str]) -> None:
    """Give `new` every entry of `old` except some names: files as hard links, folders recursively.

    File systems without hard links get synced copies. Cost: one system call per entry.

    Raises
    ------
    OSError
        An entry can be neither linked nor copied, or `new` already has an entry of that name.
    """
    with os.scandir(old) as entries:
        for entry in entries:
            if entry.name in exclude:
                continue
            copy = new / entry.name
            if entry.is_dir(follow_symlinks=False):
                copy.mkdir(0o700)
                link_entries(Path(entry.path), copy, ())
                shutil.copystat(entry.path, copy, follow_symlinks=False)
                sync_folder(copy)
            else:
                _link(entry, copy)


def _link(entry: os.DirEntry[str], copy: Path) -> None:
    """Create a hard link to an entry, or a copy where the file system has no hard links."""
    try:
        os.link(entry.path, copy, follow_symlinks=os.link not in os.supports_follow_symlinks)
        return
    except OSError as error:
        can_copy = entry.is_symlink() or entry.is_file(follow_symlinks=False)
        if error.errno not in _UNSUPPORTED or not can_copy:
            raise
    shutil.copy2(entry.path, copy, follow_symlinks=False)
    if not entry.is_symlink():
        with copy.open("r+b") as file:
            os.fsync(file.fileno())


def move_late_entries(old: Path, new: Path, exclude: Collection[str]) -> None:
    """Move to `new` what appeared in `old` after `link_entries`: new entries, and files that an editor replaced."""
    with os.scandir(old) as entries:
        late = [entry for entry in entries if entry.name not in exclude]
    for entry in late:
        target = new / entry.name
        if not os.path.lexists(target):
            Path(entry.path).rename(target)
        elif entry.is_dir(follow_symlinks=False):
            if target.is_dir() and not target.is_symlink():
                move_late_entries(Path(entry.path), target, ())
        elif not os.path.samestat(entry.stat(follow_symlinks=False), target.lstat()):
            Path(entry.path).replace(target)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure.

    Windows has no such call, and some network file systems answer EINVAL or ENOTSUP for folders. Neither is an error:
    nothing more can be done there. Errors of syncing a *file* are never ignored.

    Raises
    ------
    OSError
        The folder cannot be opened, or syncing it failed.
    """
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)


def sync_parent(target: Path) -> None:
    """Make the name of a target survive a power failure.

    Raises
    ------
    OutputError
        Syncing failed; the new output is in place nevertheless.
    """
    try:
        sync_folder(target.parent)
    except OSError as error:
        state = "the new output is in place and complete, but may not survive a power failure; run again to be sure"
        raise output_error(target, "syncing its folder failed", error, state, in_place="new") from error


def output_error(target: Path, action: str, error: OSError, state: str, *, in_place: str) -> OutputError:
    """Return the OutputError for a failed system call."""
    message = f"{target}: {action} ({error.strerror or error}); {state}"
    return OutputError(message, place=str(target), in_place=in_place, errno=error.errno)


def _rename(target: Path, rename: Callable[[], object]) -> object:
    """Call `rename` and turn its OSError into an OutputError."""
    try:
        return rename()
    except OSError as error:
        state = f"the previous output is unchanged; check which process uses {target} and run again"
        raise output_error(target, "putting the output in place failed", error, state, in_place="old") from error


def _prefix(target: Path) -> str:
    name = target.name
    if len(os.fsencode(name)) > _MAX_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}.nearkin-"


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    """Return True if an entry is a folder of this user, and no symbolic link."""
    try:
        if not entry.is_dir(follow_symlinks=False):
            return False
        return sys.platform == "win32" or entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except FileNotFoundError:
        # Its owner removed it after the scan.
        return False


def _remove_hidden(folder: Path, lock: BaseFileLock) -> None:
    """Remove a locked hidden folder, its lock file last; leave to the next run what cannot be removed."""
    try:
        with suppress(OSError):
            for name in (NEW, OLD):
                _remove_tree(folder / name)
            if sys.platform == "win32":
                # Windows cannot remove an open file.
                lock.release()
            (folder / PREPARED).unlink(missing_ok=True)
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()
    finally:
        lock.release()


def _remove_tree(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        # Some folders are not writable by their owner.
        for parent, _, _ in os.walk(path):
            Path(parent).chmod(0o700)
        shutil.rmtree(path)
