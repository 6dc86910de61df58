"""The patterns of a service: in memory, with the file that they came from.

Readers take no lock: published patterns never change. One thread at a time adds items, to a copy, and writes the file
before it publishes the copy, so that a restart loses nothing. The file is locked for that, and read again if another
process has written it, such as `nearkin patterns --state`, so that neither loses what the other added.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

from nearkin.errors import MismatchError
from nearkin.io.locks import lock_file
from nearkin.patterns import LogTemplates, Patterns, PayloadGroups, UrlPatterns

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
        self._lock = asyncio.Lock()
        self._read()

    def _read(self) -> None:
        # Before the content: a file that is replaced in between is read again.
        self._stamp = _stamp(self.path)
        self._patterns = _open(self.path)

    @property
    def patterns(self) -> Patterns:
        """The patterns, which nobody changes."""
        return self._patterns

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Lock the patterns and their file for `fitted` and `save`.

        Raises
        ------
        StoreLockedError
            Another process is changing the file.
        """
        async with self._lock:
            with ExitStack() as stack:
                await asyncio.to_thread(stack.enter_context, lock_file(self.path, "state", timeout=_LOCK_SECONDS))
                yield

    def fitted(self, items: list[str], times: list[str] | None) -> Patterns:
        """Return a copy of the newest patterns with further items; nothing is changed."""
        if _stamp(self.path) != self._stamp:
            self._read()
        patterns = self._patterns.unfitted().merge(self._patterns).partial_fit(items, times=times)
        len(patterns)  # Builds them, so that no reader has to.
        return patterns

    def save(self, patterns: Patterns) -> None:
        """Write the file, then publish the patterns."""
        patterns.save(self.path)
        self._stamp = _stamp(self.path)
        self._patterns = patterns


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
