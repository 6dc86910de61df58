"""The patterns of a service: in memory, with the file that they came from.

Readers take no lock: published patterns never change. One thread at a time adds items, to a copy, and writes the file
before it publishes the copy, so that a restart loses nothing. The file is locked for that, and read again if another
process has written it, such as `nearkin patterns --state`, so that neither loses what the other added.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from nearkin.errors import MismatchError
from nearkin.io.locks import lock_file
from nearkin.patterns import LogTemplates, Patterns, PayloadGroups, UrlPatterns

T = TypeVar("T")
_LOCK_SECONDS = 5.0
"""Seconds to wait for another process that writes the file."""


class ServedPatterns:
    """Patterns in memory, and their file.

    Parameters
    ----------
    path : Path
        A state of URL patterns, log templates or payload groups, as `save` or `--state` writes it.

    Raises
    ------
    InputError
        The file is no state of patterns.
    CorruptStoreError, FormatVersionError, OSError
        The file is damaged, was written by a newer version, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._read()

    def _read(self) -> None:
        # Before the content: a file that is replaced in between is read again.
        self._stamp = _stamp(self.path)
        self._patterns = _open(self.path)

    async def call(self, function: Callable[[Patterns], T]) -> T:
        """Call a function of the patterns, which must not change them, in a thread."""
        return await asyncio.to_thread(function, self._patterns)

    async def add(self, items: list[str], times: list[str] | None) -> Patterns:
        """Add items to a copy, write the file, and return the copy; if that fails, nothing is added.

        Raises
        ------
        StoreLockedError
            Another process is changing the file.
        """
        return await asyncio.to_thread(self._add, items, times)

    def _add(self, items: list[str], times: list[str] | None) -> Patterns:
        with self._lock, lock_file(self.path, "state", timeout=_LOCK_SECONDS):
            if _stamp(self.path) != self._stamp:
                self._read()
            patterns = self._patterns.unfitted().merge(self._patterns).partial_fit(items, times=times)
            len(patterns)  # Builds them, so that no reader has to.
            patterns.save(self.path)
            self._stamp = _stamp(self.path)
            self._patterns = patterns
            return patterns


def _stamp(path: Path) -> tuple[int, int, int]:
    """Return what changes when a file is written or replaced."""
    about = path.stat()
    return about.st_ino, about.st_mtime_ns, about.st_size


def _open(path: Path) -> Patterns:
    """Open the patterns of a file, of any class."""
    kinds: tuple[type[Patterns], ...] = (UrlPatterns, LogTemplates, PayloadGroups)
    for kind in kinds[:-1]:
        with suppress(MismatchError):
            return kind.open(path)
    return kinds[-1].open(path)
