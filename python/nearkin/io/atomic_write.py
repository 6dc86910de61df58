"""Writing aside: a hidden folder beside a target, from which one rename puts a file or folder in its place.

Beside the target `out` lies `.out.nearkin-` and 16 random hexadecimal digits while it is written:

```
lock    held (`io.locks`) by the process that writes; a lock that can be acquired shows that it is gone
new     what will be `out`: a file or a folder, synced before it takes the place
old     what `out` was, on systems that can't exchange two folders in one step
promise whether `new` takes the place is decided by a database (`io.promises`)
```

The order is: write, sync every file, sync the folder, rename, sync the folder above. Where a folder is already
there, the two are exchanged in one step (Linux `renameat2`, macOS `renamex_np`); elsewhere the old one is renamed to
`old` and the new one to the target. Only a process that dies between these two renames leaves no `out`; the next to
write there (`recover`) brings the old one back before it removes the hidden folder.

Hidden folders are made exclusively, for their owner alone, and only those of the same user are ever removed; a symbolic
link is never followed.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nearkin.errors import OutputError
from nearkin.io import locks, outbox

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK, NEW, OLD = "lock", "new", "old"
_RANDOM_BYTES = 8
# Bytes of a target's name that its hidden folder repeats: what is added stays within the 255 of a name.
_LONGEST_NAME = 200
# What a file system answers that has no links or no exchange.
_UNSUPPORTED = {errno.EPERM, errno.EMLINK, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}

Exchange = Callable[[bytes, bytes], int]


class Aside:
    """The hidden folder of one target, from `begin` to `end`.

    Parameters
    ----------
    target : Path
        Absolute, its folder exists.

    Attributes
    ----------
    new : Path
        Where to write; nothing lies there at first.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._folder: Path | None = None
        self._lock: BaseFileLock | None = None
        self._promise: outbox.Promise | None = None

    @property
    def new(self) -> Path:
        """Where the new file or folder is written."""
        if self._folder is None:
            raise OutputError(f"{self.target}: nothing is being written here", place=str(self.target), in_place="old")
        return self._folder / NEW

    def begin(self) -> None:
        """Make the hidden folder and lock it.

        Raises
        ------
        OSError
            No permission to write beside the target, or a file system without locks.
        """
        while self._folder is None:
            folder = self.target.parent / (_prefix(self.target) + secrets.token_hex(_RANDOM_BYTES))
            try:
                folder.mkdir(0o700)
                lock = locks.hold(folder / LOCK)
                # Between its making and its locking another process may have taken the folder for an abandoned one.
                if lock is not None:
                    self._folder, self._lock = folder, lock
            except FileExistsError:
                continue
            except BaseException:
                # An interrupt may come when the folder or the lock's file is there already.
                shutil.rmtree(folder, ignore_errors=True)
                raise

    def put_file(self) -> None:
        """Rename the new file to the target, over what is there.

        Raises
        ------
        OutputError
            The rename or a sync failed.
        """
        _renamed(self.target, lambda: self.new.replace(self.target))
        sync_parent(self.target)

    def put_folder(self) -> Path | None:
        """Rename the new folder to the target; where the folder is now that was there before, if there was one.

        The caller syncs the folder above (`sync_parent`) when it is done with what was replaced.

        Raises
        ------
        OutputError
            A rename failed; the previous output is back in place, or the message says where it is.
        """
        new, target, old = self.new, self.target, self.new.with_name(OLD)
        if not os.path.lexists(target):
            _renamed(target, lambda: new.rename(target))
            return None
        if _renamed(target, lambda: exchange(new, target)):
            return new
        _renamed(target, lambda: target.rename(old))
        try:
            _renamed(target, lambda: new.rename(target))
        except BaseException:
            try:
                old.rename(target)
            except OSError as error:
                self._leave()
                state = f"what was there before is whole in {old}, and the next run brings it back"
                raise output_error(target, "renaming failed", error, state, in_place="other") from error
            raise
        return old

    def put_new_folder(self) -> None:
        """Rename the new folder, which is not empty, to the target, where nothing may be.

        Raises
        ------
        FileExistsError
            Somebody has put something there meanwhile; it stays as it is.
        OutputError
            The rename failed.
        """
        try:
            # Of two that rename at once the second one fails: the system replaces no folder but an empty one.
            _renamed(self.target, lambda: self.new.rename(self.target))
        except OutputError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise FileExistsError(f"{self.target}: something was put here meanwhile") from error
            raise

    def promise(self, database: Path, files: Collection[str]) -> Path:
        """Let a database decide whether the new folder, which is synced, takes its place; the hidden folder.

        Parameters
        ----------
        database : Path
            SQLite; a row of its table `outputs` names the hidden folder once the transaction is committed.
        files : collection of str
            Names that the replaced folder does not hand over.

        Raises
        ------
        OSError
            Writing or syncing failed.
        """
        new = self.new
        self._promise = outbox.made(database, new, self.target, files)
        self._promise.save(new.parent)
        sync_folder(new.parent)
        sync_folder(self.target.parent)
        return new.parent

    def keep_promise(self) -> None:
        """Put a promised folder in its place, unless it is there.

        Raises
        ------
        OutputError
            Something else was made there meanwhile, or a rename failed.
        OSError
            A summary can't be read.
        """
        promise = self._promise
        if promise is None:
            raise OutputError(f"{self.target}: no output is promised", place=str(self.target), in_place="old")
        if not promise.is_kept(self.target):
            if _holds(self.target) and not promise.may_replace(self.target):
                state = f"the output of an interrupted run is whole in {self.new}; move one of them away"
                message = f"{self.target}: something else was put here meanwhile; {state}, and open the store again"
                raise OutputError(message, place=str(self.target), in_place="other")
            self.put_folder()
        if (
            replaced := next((path for path in (self.new, self.new.with_name(OLD)) if path.is_dir()), None)
        ) is not None:
            carry_late(replaced, self.target, promise.files)
        sync_parent(self.target)

    def end(self) -> None:
        """Remove the hidden folder with what is left in it; one that is promised, and not in its place, stays."""
        if self._folder is not None and self._lock is not None:
            if is_owed(self._folder, self.target):
                self._leave()
                return
            _remove(self._folder, self._lock)
            self._folder = self._lock = None

    def _leave(self) -> None:
        """Leave the hidden folder to the next run, as a dead process does."""
        if self._lock is not None:
            self._lock.release()
        self._folder = self._lock = None


def recover(target: Path) -> None:
    """Finish what dead processes began: bring back what they had moved away from the target, put in place what was
    promised, and remove their hidden folders.

    Raises
    ------
    OutputError
        The target exists, and beside it a predecessor that was moved away, or promised output: only its owner knows
        which to keep.
    """
    if not target.parent.is_dir():
        return
    pattern = re.compile(re.escape(_prefix(target)) + f"[0-9a-f]{{{2 * _RANDOM_BYTES}}}")
    with os.scandir(target.parent) as entries:
        found = [Path(entry.path) for entry in entries if pattern.fullmatch(entry.name) and _is_own_folder(entry)]
    for folder in found:
        try:
            lock = locks.hold(folder / LOCK)
        except OSError:
            # Not made by nearkin, or not ours to remove.
            continue
        if lock is None:
            continue
        try:
            _restore(folder, target)
            _deliver(folder, lock, target)
        except BaseException:
            lock.release()
            raise
        _remove(folder, lock)


def _deliver(folder: Path, lock: BaseFileLock, target: Path) -> None:
    """Put the output of a dead process in its place, if a database has promised it."""
    promise = outbox.read(folder)
    if promise is not None and (promise.is_kept(target) or promise.is_given(folder)):
        hidden = Aside(target)
        hidden._folder, hidden._lock, hidden._promise = folder, lock, promise
        hidden.keep_promise()


def is_owed(folder: Path, target: Path) -> bool:
    """Whether the new folder is promised and not in its place; what can't be known counts as promised."""
    try:
        promise = outbox.read(folder)
        return promise is not None and not promise.is_kept(target) and promise.is_given(folder)
    except OSError:
        return True


def _holds(target: Path) -> bool:
    """Whether there is something, other than an empty folder."""
    return os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir()))


def _restore(folder: Path, target: Path) -> None:
    old = folder / OLD
    if not old.is_dir() or old.is_symlink():
        return
    if not os.path.lexists(target):
        old.rename(target)
        sync_parent(target)
    elif os.path.lexists(folder / NEW):
        message = (
            f"{target}: an interrupted run left what this folder held before in {old}, and another folder was made "
            f"since; move one of them away"
        )
        raise OutputError(message, place=str(target), in_place="other")


def exchange(left: Path, right: Path) -> bool:
    """Exchange what two names of one file system mean, in one step; False where the system can't.

    Raises
    ------
    OSError
        It can, and it failed.
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
    """The system's call; it returns 0, or sets errno."""
    if sys.platform == "win32":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        swap = getattr(library, "renamex_np", None)
        if swap is None:
            return None
        swap.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint)
        # RENAME_SWAP of <sys/stdio.h>.
        return lambda left, right: int(swap(left, right, 2))
    rename = getattr(library, "renameat2", None)
    if rename is None:
        return None
    rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    # AT_FDCWD and RENAME_EXCHANGE of <linux/fs.h>.
    return lambda left, right: int(rename(-100, left, -100, right, 2))


def carry(old: Path, new: Path, without: Collection[str]) -> None:
    """Give `new` every entry of `old` except some names: files as hard links, folders created anew with such links.

    A file system without hard links gets synced copies. Cost: one system call per entry.

    Raises
    ------
    OSError
        An entry that can be neither linked nor copied; a name that `new` has already.
    """
    with os.scandir(old) as entries:
        for entry in entries:
            if entry.name in without:
                continue
            place = new / entry.name
            if entry.is_dir(follow_symlinks=False):
                place.mkdir(0o700)
                carry(Path(entry.path), place, ())
                shutil.copystat(entry.path, place, follow_symlinks=False)
                sync_folder(place)
            else:
                _link(entry, place)


def _link(entry: os.DirEntry[str], place: Path) -> None:
    try:
        os.link(entry.path, place, follow_symlinks=os.link not in os.supports_follow_symlinks)
        return
    except OSError as error:
        copied = entry.is_symlink() or entry.is_file(follow_symlinks=False)
        if error.errno not in _UNSUPPORTED or not copied:
            raise
    shutil.copy2(entry.path, place, follow_symlinks=False)
    if not entry.is_symlink():
        with place.open("r+b") as file:
            os.fsync(file.fileno())


def carry_late(old: Path, new: Path, without: Collection[str]) -> None:
    """Move to `new` what came to `old` after `carry`: new entries, and files that an editor replaced meanwhile."""
    with os.scandir(old) as entries:
        late = [entry for entry in entries if entry.name not in without]
    for entry in late:
        place = new / entry.name
        if not os.path.lexists(place):
            Path(entry.path).rename(place)
        elif entry.is_dir(follow_symlinks=False):
            if place.is_dir() and not place.is_symlink():
                carry_late(Path(entry.path), place, ())
        elif not os.path.samestat(entry.stat(follow_symlinks=False), place.lstat()):
            Path(entry.path).replace(place)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a loss of power, where the system has a call for that."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems have no such call for folders.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def sync_parent(target: Path) -> None:
    """Make the name `target` survive a loss of power.

    Raises
    ------
    OutputError
        It failed; the new output is in place nevertheless.
    """
    try:
        sync_folder(target.parent)
    except OSError as error:
        state = "the new output is in place and whole, but may not survive a loss of power; run again to be sure"
        raise output_error(target, "syncing its folder failed", error, state, in_place="new") from error


def output_error(target: Path, what: str, error: OSError, state: str, *, in_place: str) -> OutputError:
    """The OutputError for a failed system call."""
    made = OutputError(f"{target}: {what} ({error.strerror or error}); {state}", place=str(target), in_place=in_place)
    made.errno = error.errno
    return made


def _renamed(target: Path, rename: Callable[[], object]) -> object:
    try:
        return rename()
    except OSError as error:
        state = f"what was there before is unchanged; see what holds {target} and run again"
        raise output_error(target, "putting the output in place failed", error, state, in_place="old") from error


def _prefix(target: Path) -> str:
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}.nearkin-"


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder, no link, of this user."""
    try:
        if not entry.is_dir(follow_symlinks=False):
            return False
        return sys.platform == "win32" or entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except FileNotFoundError:
        # Its owner has removed it meanwhile.
        return False


def _remove(folder: Path, lock: BaseFileLock) -> None:
    """Remove a hidden folder whose lock is held, the lock last; what can't be removed now is left to the next run."""
    try:
        with suppress(OSError):
            for name in (NEW, OLD):
                _remove_any(folder / name)
            if sys.platform == "win32":
                # An open file can't be removed there.
                lock.release()
            (folder / outbox.NAME).unlink(missing_ok=True)
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()
    finally:
        lock.release()


def _remove_any(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        # Folders that their owner may not write in.
        for parent, _, _ in os.walk(path):
            Path(parent).chmod(0o700)
        shutil.rmtree(path)
