"""Memory budget of a store, and texts that a merge spills to disk while it compresses them again.

The budget of a store, `memory=`, is divided as follows:

| share | holds |
|---|---|
| half | the memtable; a smaller `max_pending` applies if that many documents do not fit |
| an eighth, at most 64 MiB | features of stored texts, kept between batches |
| an eighth | texts of the segment being written; a merge with more of them spills them to disk |

The budget excludes the batch of a call, the ids and columns of segments that a merge joins (the compactor joins only
segments whose documents need at most half of the budget), and mapped files, which the system drops when it needs
memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.index.memory import share_of_memory

if TYPE_CHECKING:
    import pyarrow as pa

SHARE = 0.25
"""Default share of the machine's memory."""
CACHE_BYTES = 64 << 20
"""Maximum bytes of cached features of stored texts."""
_LOOKUP_BYTES = 400
"""Bytes of a pending document, or of one that a merge joins, in addition to three times its record."""
MAX_BACKLOG = 4
"""A change waits for the compactor once `MAX_BACKLOG * max_pending` documents are pending."""


@dataclass(frozen=True)
class Budget:
    """Bytes of memory that a store may use.

    Attributes
    ----------
    bytes : int
    """

    bytes: int

    @classmethod
    def of(cls, memory: float | None) -> Budget:
        """Return the budget of an option: bytes, a share of the machine's memory, or None for the default share.

        Raises
        ------
        ParameterError
            Not a number of bytes, nor a share.
        """
        size = share_of_memory(memory, SHARE)
        return cls(1 << 62 if size is None else max(size, 1 << 20))

    @property
    def cache(self) -> int:
        """Bytes of features of stored texts."""
        return min(self.bytes // 8, CACHE_BYTES)

    @property
    def texts(self) -> int:
        """Bytes of texts in memory while a segment is written."""
        return self.bytes // 8

    def max_documents(self, width: int) -> int:
        """Return the number of documents with records of this width that a merge may join."""
        return self.bytes // 2 // (_LOOKUP_BYTES + 3 * width)

    def max_pending(self, requested: int, width: int) -> int:
        """Return the number of documents after which the memtable is flushed: the requested one, if that many fit."""
        return max(min(requested, self.max_documents(width) // MAX_BACKLOG), 16)


class SpilledTexts:
    """Texts in an unnamed file, in order; `close` frees it.

    Parameters
    ----------
    folder : Path
        The folder of the file. Where the system requires a name, it is hidden, and the next opening of the store
        removes the file.
    """

    def __init__(self, folder: Path) -> None:
        number, name = tempfile.mkstemp(prefix=".texts-", dir=folder)
        self._file = os.fdopen(number, "w+b")
        self._path: Path | None = Path(name)
        if os.name == "posix":
            self._path.unlink()
            self._path = None
        self._ends: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._valid: list[NDArray[np.bool_]] = []
        self._bytes = 0
        self._data: Any = None

    def append(self, texts: Iterable[str | None]) -> None:
        """Append texts to the file."""
        packed = [None if text is None else text.encode() for text in texts]
        self._valid.append(np.array([text is not None for text in packed], bool))
        sizes = np.array([0 if text is None else len(text) for text in packed], np.int64)
        self._ends.append(self._bytes + np.cumsum(sizes))
        self._bytes += int(sizes.sum())
        self._file.write(b"".join(text for text in packed if text is not None))

    def array(self) -> pa.Array:
        """Return all texts as an Arrow array over the mapped file."""
        import pyarrow as pa

        self._file.flush()
        valid = np.concatenate([np.zeros(0, bool), *self._valid])
        data = pa.py_buffer(b"")
        if self._bytes:
            self._data = np.memmap(self._file, np.uint8, "r", shape=(self._bytes,))
            data = pa.py_buffer(self._data)
        ends = pa.py_buffer(np.concatenate(self._ends))
        bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
        return pa.LargeStringArray.from_buffers(len(valid), ends, data, bits)

    def close(self) -> None:
        """Free the file."""
        self._data = None
        self._file.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
