"""The files that an index was opened from or saved to: what somebody else has saved there meanwhile is not overwritten.

A file is known by its stamp (device, inode, size, time of change). `updating` keeps others from saving over a file for
as long as it takes to change what it holds.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nearkin.errors import OutputError, StoreLockedError, check_name
from nearkin.io.inputs import FileStamp
from nearkin.io.locks import lock_file

__all__ = ["KnowsItsFiles", "Origin", "updating"]

# Seconds that a save waits for another one, which is what it takes to write a file.
_WAIT = 60.0

# Files that a thread has locked by `updating`: thread and path.
_held: set[tuple[int, str]] = set()


# Threads of this process that save to one path come one after another; a child that is forked has none of them.
_alone: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone.clear)


@contextmanager
def _alone_here(path: str | os.PathLike[str], place: str) -> Iterator[None]:
    """A context in which no other thread of this process saves to a path."""
    lock = _alone[place]
    if not lock.acquire(timeout=_WAIT):
        raise StoreLockedError(
            f"{path}: another thread is saving the index; run again when it has ended", place=str(path)
        )
    try:
        yield
    finally:
        lock.release()


@contextmanager
def updating(path: str | os.PathLike[str]) -> Iterator[None]:
    """A context in which nobody else saves over the file of an index; this thread may.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Raises
    ------
    StoreLockedError
        Somebody else is changing the file.
    OSError
        It is not there.
    """
    key = threading.get_ident(), os.path.realpath(path)
    with lock_file(path, "index"):
        _held.add(key)
        try:
            yield
        finally:
            _held.discard(key)


@dataclass(frozen=True)
class Origin:
    """A file as it was before it was opened."""

    place: str
    stamp: FileStamp | None

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Origin:
        """A file as it is; opening it says what is wrong with it, if anything is."""
        check_name(path)
        place = os.path.realpath(path)
        try:
            return cls(place, FileStamp.of(Path(place).stat()))
        except OSError:
            return cls(place, None)


class KnowsItsFiles:
    """An index that remembers as what it has left each of its files."""

    def _files(self) -> dict[str, FileStamp]:
        files: dict[str, FileStamp] = vars(self).setdefault("_stamps", {})
        return files

    def _remember(self, origin: Origin) -> None:
        """Take this state of a file for what this index holds."""
        if origin.stamp is not None:
            self._files()[origin.place] = origin.stamp

    def _forget(self, path: str | os.PathLike[str]) -> None:
        """The file is not one of this index's, and nobody else's: a temporary one."""
        files, place = self._files(), os.path.realpath(path)
        files.pop(place, None)
        _alone.pop(place, None)
        if not files:
            del vars(self)["_stamps"]

    @contextmanager
    def _replacing(self, path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[str]:
        """A context in which this index saves to a file, alone; the file's name.

        Raises
        ------
        OutputError
            The file has changed since this index was opened from it, or saved to it, and `overwrite` is not set.
        StoreLockedError
            Somebody else is changing the file.
        """
        check_name(path)
        place = os.path.realpath(path)
        with ExitStack() as stack:
            stack.enter_context(_alone_here(path, place))
            if Path(place).is_file() and (threading.get_ident(), place) not in _held:
                stack.enter_context(lock_file(path, "index", timeout=_WAIT))
            known, found = self._files().get(place), Origin.of(path).stamp
            if not overwrite and known is not None and found not in (None, known):
                message = (
                    f"{path}: the file has changed since this index was opened from it, or saved to it; "
                    "open it and add to what is there, or give overwrite=True to lose that"
                )
                raise OutputError(message, place=str(path), in_place="other", errno=None)
            yield os.fspath(path)
            self._remember(Origin.of(path))
