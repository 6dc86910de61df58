"""The spool: one temporary file without a name, in which bytes are kept that can't be read again from where they came.

The system frees it when the process ends, however it ends.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

_PIECE = 1 << 20


class Spool:
    """A temporary file without a name, made when first written to.

    Parameters
    ----------
    folder : path or None
        Where it lies; the system's folder of temporary files if None.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = folder
        self._file: IO[bytes] | None = None
        self.size = 0

    def write(self, data: Buffer) -> None:
        """Append."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self.folder, prefix="nearkin-", buffering=0)  # noqa: SIM115
        view = memoryview(data).cast("B")
        if sys.platform == "win32":
            # Reading rows again moves the position there.
            self._file.seek(self.size)
        while len(view):
            written = self._file.write(view)
            self.size += written
            view = view[written:]

    def descriptor(self) -> int:
        """The open file's number."""
        if self._file is None:
            self.write(b"")
        return self._file.fileno()  # type: ignore[union-attr]

    def close(self) -> None:
        """Free the room that it takes."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self.size = 0

    def pieces(self) -> Iterator[bytes]:
        """All that was written, in pieces of a megabyte."""
        if self._file is not None:
            self._file.seek(0)
            while piece := self._file.read(_PIECE):
                yield piece
            self._file.seek(self.size)
