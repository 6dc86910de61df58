"""Locks: who changes a file that is replaced as a whole (`changing`), and who still writes a hidden folder (`hold`).

All are locks of the operating system, so they end with the process, however it ends.

The lock of a file that is changed lies in a hidden, empty file beside it, `.NAME.lock`, since the guarded file itself
is renamed over and, on some systems, can't be while somebody has it open. The hidden file stays. Readers take no lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nearkin.errors import StoreLockedError

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["changing", "hold"]


@contextmanager
def changing(path: str | os.PathLike[str], what: str = "file", *, wait: float = 0) -> Iterator[None]:
    """A context in which nobody else changes an existing file.

    Parameters
    ----------
    path : str or os.PathLike
        The file; a symbolic link stands for what it names.
    what : str, default "file"
        What the message calls it.
    wait : float, default 0
        For how many seconds to wait for another who is changing it.

    Raises
    ------
    StoreLockedError
        Another process, or another thread of this one, is changing the file.
    OSError
        The file is not there, or no file can be made beside it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.io.locks import changing
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "index"
    >>> path.touch()
    >>> with changing(path), changing(path, "index"):  # doctest: +ELLIPSIS
    ...     pass
    Traceback (most recent call last):
        ...
    nearkin.errors.StoreLockedError: ...index: another process is changing the index; run again when it has ended
    """
    from filelock import FileLock, Timeout

    Path(path).stat()
    target = Path(os.path.realpath(path))
    # Every user who may write to the folder may take the lock, regardless of who created its file.
    lock = FileLock(target.with_name(f".{target.name}.lock"), timeout=wait, mode=0o666)
    try:
        lock.acquire()
    except Timeout:
        message = f"{path}: another process is changing the {what}; run again when it has ended"
        raise StoreLockedError(message, place=str(path)) from None
    try:
        yield
    finally:
        lock.release()


def hold(path: Path) -> BaseFileLock | None:
    """The lock of a file, created if need be, held until released; None if another holds it, or removed it meanwhile.

    A lock that can be acquired shows that the file's creator is gone.

    Raises
    ------
    OSError
        The file can't be made or opened: a symbolic link, say, or no right to write there.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        return None
    if not path.is_file():
        lock.release()
        return None
    return lock
