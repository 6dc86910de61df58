"""Operating-system locks: `lock_file` guards a file that is replaced as a whole, `acquire_or_none` a hidden folder.

The locks end with the process, however it ends.

The lock of a file is an empty hidden file next to it, `.NAME.lock`. The file itself cannot carry the lock because it is
replaced by a rename, which some systems refuse while the file is open. The hidden file is never removed. Readers do not
lock.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nearkin.errors import StoreLockedError

if TYPE_CHECKING:
    from filelock import BaseFileLock


@contextmanager
def lock_file(path: str | os.PathLike[str], noun: str = "file", *, timeout: float = 0) -> Iterator[None]:
    """Hold the lock of an existing file, so that nobody else changes it.

    Parameters
    ----------
    path : str or os.PathLike
        The file. For a symbolic link, the file that it points to is locked.
    noun : str, default "file"
        Noun for the file in the message.
    timeout : float, default 0
        Seconds to wait for the lock.

    Raises
    ------
    StoreLockedError
        Another process, or another thread of this process, is changing the file.
    OSError
        The file does not exist, or its folder is not writable.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.io.locks import lock_file
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "index"
    >>> path.touch()
    >>> with lock_file(path), lock_file(path, "index"):  # doctest: +ELLIPSIS
    ...     pass
    Traceback (most recent call last):
        ...
    nearkin.errors.StoreLockedError: ...index: another process is changing the index; run again when it has ended
    """
    from filelock import FileLock, Timeout

    Path(path).stat()
    target = Path(os.path.realpath(path))
    hidden = target.with_name(f".{target.name}.lock")
    # The umask decides who may take the lock, as for every new file; FileLock would set the mode after it.
    descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    os.close(descriptor)
    lock = FileLock(hidden, timeout=timeout, mode=mode)
    try:
        lock.acquire()
    except Timeout:
        message = f"{path}: another process is changing the {noun}; run again when it has ended"
        raise StoreLockedError(message, place=str(path)) from None
    try:
        yield
    finally:
        lock.release()


def acquire_or_none(path: Path) -> BaseFileLock | None:
    """Acquire the lock of a file, which is created if it does not exist; None if another process has it or removed it.

    A lock that can be acquired proves that the creator of the file is gone.

    Raises
    ------
    OSError
        The file cannot be created or opened, for instance because it is a symbolic link.
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
