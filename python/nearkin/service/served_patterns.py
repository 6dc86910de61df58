"""The patterns of a service: in memory, with the file that they came from.

One thread at a time uses them. Whoever adds items writes the file before the answer, so that a restart loses nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from nearkin.errors import MismatchError
from nearkin.patterns import LogTemplates, Patterns, PayloadGroups, UrlPatterns

T = TypeVar("T")


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
        self._patterns = _open(path)
        self._lock = threading.Lock()

    async def call(self, function: Callable[[Patterns], T]) -> T:
        """Call a function of the patterns in a thread."""
        return await asyncio.to_thread(self._call, function)

    def _call(self, function: Callable[[Patterns], T]) -> T:
        with self._lock:
            return function(self._patterns)

    def add(self, items: list[str], times: list[str] | None, patterns: Patterns) -> None:
        """Add items, and write the file; if that fails, nothing is added."""
        patterns.partial_fit(items, times)
        try:
            patterns.save(self.path)
        except OSError:
            self._patterns = _open(self.path)
            raise


def _open(path: Path) -> Patterns:
    """Open the patterns of a file, of any class."""
    kinds: tuple[type[Patterns], ...] = (UrlPatterns, LogTemplates, PayloadGroups)
    for kind in kinds[:-1]:
        with suppress(MismatchError):
            return kind.open(path)
    return kinds[-1].open(path)
