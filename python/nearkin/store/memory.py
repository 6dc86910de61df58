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

import mmap
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nearkin.index.memory import memory_budget

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
        size = memory_budget(memory, SHARE)
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


@contextmanager
def spill_texts(folder: Path, batches: Iterable[list[str | None]]) -> Iterator[pa.ChunkedArray]:
    """Write texts to an unnamed file in a folder, and open them as an Arrow array over the mapped file.

    Where the system requires a name, it is hidden, and the next opening of the store removes the file.
    """
    import pyarrow as pa

    schema = pa.schema([("text", pa.large_string())])
    with tempfile.TemporaryFile(prefix=".texts-", dir=folder) as file:
        with pa.ipc.new_stream(file, schema) as writer:
            for texts in batches:
                writer.write_batch(pa.record_batch([pa.array(texts, pa.large_string())], schema=schema))
        file.flush()
        # The map is freed with the last array over it.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        yield pa.ipc.open_stream(pa.py_buffer(mapped)).read_all().column("text")
