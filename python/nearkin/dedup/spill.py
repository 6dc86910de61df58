"""Arrays that arrive batch by batch, kept in memory or, if they are too large, in a temporary file.

The file has no name; the system frees it with the array, or when the process ends for any reason. It is mapped, so the
array is used like any other, and the system can drop its pages when memory is short. The contents of an array do not
depend on where it is stored: up to `SHARE` of the memory that the process may use (`nearkin.index.memory`) it stays in
memory, above that it is spilled to the folder of temporary files.
"""

from __future__ import annotations

import mmap
import os
import weakref
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.index.memory import memory_budget
from nearkin.io import Column
from nearkin.io.tempspool import Spool
from nearkin.io.values import NULL, TEXT

SHARE = 1 / 32
"""Share of memory above which an array is spilled."""


@dataclass(frozen=True)
class SpillPolicy:
    """Where arrays are stored that are too large for memory.

    Attributes
    ----------
    folder : path or None
        Folder of the files; None for the system's.
    max_bytes : int or None
        Largest array that stays in memory; None for no limit.
    """

    folder: str | os.PathLike[str] | None
    max_bytes: int | None

    @classmethod
    def into(cls, folder: str | os.PathLike[str] | None) -> SpillPolicy:
        """Return the policy that spills arrays above `SHARE` of memory into this folder."""
        return cls(folder, memory_budget(None, SHARE))

    def spills(self, size: int) -> bool:
        """Return True if an array of this many bytes is spilled."""
        return self.max_bytes is not None and size > self.max_bytes

    def zeros(self, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
        """Return a writable array of zeros.

        Raises
        ------
        OSError
            The disk is full.
        """
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if not self.spills(size):
            return np.zeros(shape, dtype)
        with closing(Spool(self.folder)) as spool:
            file = spool.descriptor()
            if hasattr(os, "posix_fallocate"):
                # Writing to a mapped page without space on the disk would kill the process.
                os.posix_fallocate(file, 0, size)
            else:
                os.ftruncate(file, size)
            return np.frombuffer(mmap.mmap(file, size, access=mmap.ACCESS_WRITE), dtype).reshape(shape)


IN_MEMORY = SpillPolicy(None, None)
"""Spill nothing."""


def release(*arrays: NDArray[Any]) -> None:
    """Return the memory of spilled arrays to the system; their contents, and other arrays, stay as they are.

    The system does the same when memory is short. A caller that is done with a part of a large array should say so, so
    that the system drops this one and no other.
    """
    for array in arrays:
        base: object = array
        while isinstance(base, (np.ndarray, memoryview)):
            base = base.base if isinstance(base, np.ndarray) else base.obj
        if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


class SpillBuffer:
    """Rows that arrive batch by batch, in one array that grows by a quarter, or in a file.

    A list of batches that are joined at the end would need twice the memory, and would fragment it.

    Parameters
    ----------
    policy : SpillPolicy
    """

    def __init__(self, policy: SpillPolicy = IN_MEMORY) -> None:
        self._policy = policy
        self._spool: Spool | None = None
        self._rows: NDArray[Any] = np.zeros(0, np.uint8)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, rows: NDArray[Any]) -> None:
        """Copy these rows behind the others."""
        if not self._count:
            self._rows = np.zeros((0, *rows.shape[1:]), rows.dtype)
        end = self._count + len(rows)
        row_bytes = self._rows.dtype.itemsize * int(np.prod(self._rows.shape[1:]))
        if self._spool is None and self._policy.spills(end * row_bytes):
            self._spool = Spool(self._policy.folder)
            weakref.finalize(self, self._spool.close)
            self._write(self._spool, self._rows[: self._count])
            self._rows = self._rows[:0].copy()
        if self._spool is not None:
            self._write(self._spool, rows)
        else:
            if end > len(self._rows):
                self._resize(max(end, len(self._rows) * 5 // 4))
            self._rows[self._count : end] = rows
        self._count = end

    def _write(self, spool: Spool, rows: NDArray[Any]) -> None:
        if rows.size:
            spool.write(np.ascontiguousarray(rows, self._rows.dtype).reshape(-1).view(np.uint8).data)

    def _resize(self, count: int) -> None:
        # No other reference to the array exists before `finish`.
        self._rows.resize((count, *self._rows.shape[1:]), refcheck=False)

    def finish(self) -> NDArray[Any]:
        """Return all rows, after which none may be appended; those of a file are read-only."""
        if self._spool is None:
            if self._count < len(self._rows):
                self._resize(self._count)
            return self._rows
        with closing(self._spool) as spool:
            mapped = mmap.mmap(spool.descriptor(), spool.size, access=mmap.ACCESS_READ)
        self._spool = None
        self._rows = np.frombuffer(mapped, self._rows.dtype).reshape((self._count, *self._rows.shape[1:]))
        return self._rows


class SpillColumn:
    """A `Column` that arrives batch by batch; numbers or strings that no row has take no memory.

    Parameters
    ----------
    policy : SpillPolicy
    """

    def __init__(self, policy: SpillPolicy = IN_MEMORY) -> None:
        self._kinds, self._values, self._offsets, self._data = (SpillBuffer(policy) for _ in range(4))

    def append(self, column: Column) -> None:
        """Copy these values behind the others."""
        before, first, last = len(self._kinds), int(column.offsets[0]), int(column.offsets[-1])
        self._kinds.append(column.kinds)
        if len(self._values) or not np.isin(column.kinds, (TEXT, NULL)).all():
            self._values.append(np.zeros(before - len(self._values), np.int64))
            self._values.append(column.values)
        if len(self._offsets) or last > first:
            # All strings before the first one are empty.
            self._offsets.append(np.zeros(before + 1 - len(self._offsets), np.int64))
            self._offsets.append(column.offsets[1:] + (len(self._data) - first))
            self._data.append(column.data[first:last])

    def finish(self) -> Column:
        """Return all values."""
        kinds, zero = self._kinds.finish(), np.int64(0)
        values = self._values.finish() if len(self._values) else np.broadcast_to(zero, len(kinds))
        offsets = self._offsets.finish() if len(self._offsets) else np.broadcast_to(zero, len(kinds) + 1)
        return Column(kinds, values, offsets, self._data.finish())
