"""What a store may hold in memory, and texts on disk while a merge compresses them again.

The budget of a store, `memory=`, is shared out so:

| part | holds |
|---|---|
| half | look-ups of documents that wait in the log: of fewer documents, where `waiting=` of them would not fit |
| an eighth, at most 64 MiB | features of stored texts that are kept from batch to batch |
| an eighth | texts of a segment that is written; a merge with more of them puts them on disk meanwhile |

Beside it stand the batch of a call, the ids and columns of the segments that a merge joins (none are joined unasked
whose documents would take more than half), and mapped files, which the system drops when it needs room.
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
"""Share of the machine's memory that a store holds at most unless its caller says otherwise."""
CACHE_BYTES = 64 << 20
"""Bytes of features of stored texts that are kept at most."""
_LOOK_UP = 400
"""Bytes of a waiting document, or of one that a merge joins, beside three times its record."""
_MOST_LATE = 4
"""Times `waiting=` documents wait before a change waits for a segment to be written."""


@dataclass(frozen=True)
class Budget:
    """What a store may hold.

    Attributes
    ----------
    bytes : int
    """

    bytes: int

    @classmethod
    def of(cls, memory: float | None) -> Budget:
        """The budget of an option: bytes, a share of the machine's memory, or None for the default share.

        Raises
        ------
        ParameterError
            Less than 1 MiB, or a share that is none.
        """
        found = share_of_memory(memory, SHARE)
        return cls(1 << 62 if found is None else max(found, 1 << 20))

    @property
    def cache(self) -> int:
        """Bytes of features of stored texts."""
        return min(self.bytes // 8, CACHE_BYTES)

    @property
    def texts(self) -> int:
        """Bytes of texts that are held while a segment is written."""
        return self.bytes // 8

    def documents(self, width: int) -> int:
        """How many documents with records of this width may be joined."""
        return self.bytes // 2 // (_LOOK_UP + 3 * width)

    def waiting(self, asked: int, width: int) -> int:
        """How many documents may wait before they are written into a segment: as many as asked for, if they fit."""
        return max(min(asked, self.documents(width) // _MOST_LATE), 16)


class SpooledTexts:
    """Texts in a file without a name, in order; `close` frees it.

    Parameters
    ----------
    folder : Path
        Where the file lies; where it needs a name, a hidden one, which the next opening of the store removes.
    """

    def __init__(self, folder: Path) -> None:
        number, name = tempfile.mkstemp(prefix=".texts-", dir=folder)
        self._file = os.fdopen(number, "w+b")
        self._path: Path | None = Path(name)
        if os.name == "posix":
            self._path.unlink()
            self._path = None
        self._ends: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._there: list[NDArray[np.bool_]] = []
        self._bytes = 0
        self._data: Any = None

    def append(self, texts: Iterable[str | None]) -> None:
        """Write texts behind the others."""
        packed = [None if text is None else text.encode() for text in texts]
        self._there.append(np.array([text is not None for text in packed], bool))
        sizes = np.array([0 if text is None else len(text) for text in packed], np.int64)
        self._ends.append(self._bytes + np.cumsum(sizes))
        self._bytes += int(sizes.sum())
        self._file.write(b"".join(text for text in packed if text is not None))

    def array(self) -> pa.Array:
        """All of them, over the mapped file."""
        import pyarrow as pa

        self._file.flush()
        there = np.concatenate([np.zeros(0, bool), *self._there])
        data = pa.py_buffer(b"")
        if self._bytes:
            self._data = np.memmap(self._file, np.uint8, "r", shape=(self._bytes,))
            data = pa.py_buffer(self._data)
        ends = pa.py_buffer(np.concatenate(self._ends))
        bits = pa.py_buffer(np.packbits(there, bitorder="little"))
        return pa.LargeStringArray.from_buffers(len(there), ends, data, bits)

    def close(self) -> None:
        """Free the file."""
        self._data = None
        self._file.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
