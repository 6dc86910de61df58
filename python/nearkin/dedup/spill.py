"""Arrays whose rows come batch by batch: in memory, or, where they would take too large a share of it, in a file.

A file of rows is temporary and has no name; the system frees it with the array, or when the process ends, however it
ends. It is mapped, so that the array is used as any other, and the system takes its pages out of memory when it needs
the room. What an array holds does not depend on where it lies.

| rows | where |
|---|---|
| up to `SHARE` of the memory that the process may use (`nearkin.index.memory`) | in memory |
| more | in the folder of temporary files: that of the corpus, which the command lays beside the output |
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
"""Share of memory from which on an array lies in a file."""


@dataclass(frozen=True)
class Spill:
    """Where arrays lie that are too large for memory.

    Attributes
    ----------
    folder : path or None
        Folder of their files; None for the system's.
    most : int or None
        Bytes of an array that stays in memory; None for any.
    """

    folder: str | os.PathLike[str] | None
    most: int | None

    @classmethod
    def into(cls, folder: str | os.PathLike[str] | None) -> Spill:
        """Files of this folder, for arrays above `SHARE` of memory."""
        return cls(folder, memory_budget(None, SHARE))

    def takes(self, size: int) -> bool:
        """Whether an array of this many bytes lies in a file."""
        return self.most is not None and size > self.most

    def zeros(self, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
        """An array of zeros that can be written to.

        Raises
        ------
        OSError
            There is no room on the disk.
        """
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if not self.takes(size):
            return np.zeros(shape, dtype)
        with closing(Spool(self.folder)) as spool:
            file = spool.descriptor()
            if hasattr(os, "posix_fallocate"):
                # A mapped page without room on the disk would end the process when it is written.
                os.posix_fallocate(file, 0, size)
            else:
                os.ftruncate(file, size)
            return np.frombuffer(mmap.mmap(file, size, access=mmap.ACCESS_WRITE), dtype).reshape(shape)


IN_MEMORY = Spill(None, None)
"""Everything stays in memory."""


def release(*arrays: NDArray[Any]) -> None:
    """Give the system back the memory of arrays that lie in files, which hold what they held; others stay as they are.

    The system does the same when it needs the room. Who is through with a part of a large array tells it so, that it
    takes this one and no other.
    """
    for array in arrays:
        base: object = array
        while isinstance(base, (np.ndarray, memoryview)):
            base = base.base if isinstance(base, np.ndarray) else base.obj
        if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


class GrowingRows:
    """Rows that come batch by batch, in one array whose room grows by a quarter, or in a file.

    Parts that are joined at the end would be held twice, and would lie between what batches leave behind.

    Parameters
    ----------
    spill : Spill
        Where rows go that are too large for memory.
    """

    def __init__(self, spill: Spill = IN_MEMORY) -> None:
        self._spill = spill
        self._spool: Spool | None = None
        self._rows: NDArray[Any] = np.zeros(0, np.uint8)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, rows: NDArray[Any]) -> None:
        """Copy these behind the others."""
        if not self._count:
            self._rows = np.zeros((0, *rows.shape[1:]), rows.dtype)
        end = self._count + len(rows)
        if self._spool is None and self._spill.takes(end * self._row_bytes()):
            self._spool = Spool(self._spill.folder)
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

    def _row_bytes(self) -> int:
        return self._rows.dtype.itemsize * int(np.prod(self._rows.shape[1:]))

    def _write(self, spool: Spool, rows: NDArray[Any]) -> None:
        if rows.size:
            spool.write(np.ascontiguousarray(rows, self._rows.dtype).reshape(-1).view(np.uint8).data)

    def _resize(self, count: int) -> None:
        # Nobody else sees the array before it is joined.
        self._rows.resize((count, *self._rows.shape[1:]), refcheck=False)

    def joined(self) -> NDArray[Any]:
        """All of them, after which none is appended; those of a file can't be written to."""
        if self._spool is None:
            if self._count < len(self._rows):
                self._resize(self._count)
            return self._rows
        with closing(self._spool) as spool:
            mapped = mmap.mmap(spool.descriptor(), spool.size, access=mmap.ACCESS_READ)
        self._spool = None
        self._rows = np.frombuffer(mapped, self._rows.dtype).reshape((self._count, *self._rows.shape[1:]))
        return self._rows


class GrowingColumn:
    """A column that comes batch by batch; what all of its rows lack, numbers or strings, takes no memory.

    Parameters
    ----------
    spill : Spill
        As for `GrowingRows`.
    """

    def __init__(self, spill: Spill = IN_MEMORY) -> None:
        self._kinds, self._values, self._offsets, self._data = (GrowingRows(spill) for _ in range(4))

    def append(self, column: Column) -> None:
        """Copy these values behind the others."""
        before, first, last = len(self._kinds), int(column.offsets[0]), int(column.offsets[-1])
        self._kinds.append(column.kinds)
        if len(self._values) or not np.isin(column.kinds, (TEXT, NULL)).all():
            self._values.append(np.zeros(before - len(self._values), np.int64))
            self._values.append(column.values)
        if len(self._offsets) or last > first:
            # Before the first string all are empty.
            self._offsets.append(np.zeros(before + 1 - len(self._offsets), np.int64))
            self._offsets.append(column.offsets[1:] + (len(self._data) - first))
            self._data.append(column.data[first:last])

    def joined(self) -> Column:
        """All of them."""
        kinds, none = self._kinds.joined(), np.int64(0)
        values = self._values.joined() if len(self._values) else np.broadcast_to(none, len(kinds))
        offsets = self._offsets.joined() if len(self._offsets) else np.broadcast_to(none, len(kinds) + 1)
        return Column(kinds, values, offsets, self._data.joined())
