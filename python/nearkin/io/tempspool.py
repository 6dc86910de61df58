"""A temporary file without a name, for bytes that cannot be read again from their source.

The system frees the file when the process ends, however it ends.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

_CHUNK = 1 << 20


class Spool:
    """An unnamed temporary file, created by the first write.

    Parameters
    ----------
    folder : path or None
        Folder of the file (default: the system's folder for temporary files).
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = folder
        self._file: IO[bytes] | None = None
        self.size = 0

    def write(self, data: Buffer) -> None:
        """Append `data`."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self.folder, prefix="nearkin-", buffering=0)  # noqa: SIM115
        view = memoryview(data).cast("B")
        if sys.platform == "win32":
            # Positional reads move the file position on Windows.
            self._file.seek(self.size)
        while len(view):
            written = self._file.write(view)
            self.size += written
            view = view[written:]

    def descriptor(self) -> int:
        """Return the file descriptor."""
        if self._file is None:
            self.write(b"")
        return self._file.fileno()  # type: ignore[union-attr]

    def close(self) -> None:
        """Free the disk space; a later write starts with an empty file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self.size = 0

    @contextmanager
    def reading(self) -> Iterator[IO[bytes]]:
        """Open the content from its start; it must not be written meanwhile."""
        self.descriptor()
        self._file.seek(0)  # type: ignore[union-attr]
        yield self._file  # type: ignore[misc]
        self._file.seek(self.size)  # type: ignore[union-attr]

    def chunks(self) -> Iterator[bytes]:
        """Iterate over the content in chunks of one megabyte."""
        if self._file is not None:
            self._file.seek(0)
            while chunk := self._file.read(_CHUNK):
                yield chunk
            self._file.seek(self.size)
