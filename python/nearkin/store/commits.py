"""The number of the last commit, outside of SQLite, so that commits which SQLite drops are noticed.

SQLite ends its write-ahead log at the first frame that does not match its checksum: after a flipped bit, or without the
file, it drops the commits behind it in silence. The file `commits` has 64 slots of 32 bytes. Commit n writes its
sequence number, the next row, the number of removals and a checksum into slot n mod 64, after SQLite has synced it. The
checksum is the exclusive or of the XXH3-64 of these numbers and of the store's id, so that the file of another store is
not read as this one's. Earlier versions left out the id.
Writers that finish in another order thus never hide a later number. The file is synced when it is closed and not with
each commit: after a power cut it may be older than the log, and never newer, unless commits are synced at intervals and
were lost.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from nearkin._core import store_sums

COMMITS_NAME = "commits"
_SLOTS = 64
_FIELDS = struct.Struct("<QQQ")
_SUM = struct.Struct("<q")
_SIZE = _FIELDS.size + _SUM.size


class CommitMark(NamedTuple):
    """Sequence number of a commit, next row, number of documents ever removed, and id of the store."""

    sequence: int
    next_row: int
    removals: int
    store: str = ""


def _encode(mark: CommitMark) -> bytes:
    fields = _FIELDS.pack(*mark[:3])
    total, of_store = store_sums([fields, mark.store.encode()]).tolist()
    return fields + _SUM.pack(total ^ of_store if mark.store else total)


def read_marks(folder: Path, store: str) -> tuple[CommitMark | None, bool]:
    """Return the mark of the last commit of a store, and True if the file is missing, damaged or another store's."""
    try:
        content = (folder / COMMITS_NAME).read_bytes()
    except FileNotFoundError:
        content = b""
    last, damaged = None, len(content) != _SLOTS * _SIZE
    for at in range(0, len(content) - _SIZE + 1, _SIZE):
        slot = content[at : at + _SIZE]
        sequence, next_row, removals = _FIELDS.unpack_from(slot)
        mark = CommitMark(sequence, next_row, removals, store)
        if slot in {_encode(mark), _encode(mark._replace(store=""))}:
            last = max(last or mark, mark)
        elif any(slot):
            damaged = True
    return last, damaged


class CommitFile:
    """The file `commits` of a store, open for writing.

    Parameters
    ----------
    folder : Path
        The store.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / COMMITS_NAME
        self._descriptor = -1
        with suppress(OSError):
            self._open()

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_RDWR | getattr(os, "O_BINARY", 0))

    def __del__(self) -> None:
        # A store need not be closed.
        self.close()

    @staticmethod
    def create(folder: Path, mark: CommitMark) -> None:
        """Write a file with one mark, and sync it."""
        slots = bytearray(_SLOTS * _SIZE)
        at = mark.sequence % _SLOTS * _SIZE
        slots[at : at + _SIZE] = _encode(mark)
        with (folder / COMMITS_NAME).open("wb") as file:
            file.write(slots)
            file.flush()
            os.fsync(file.fileno())

    def write(self, mark: CommitMark) -> None:
        """Write the mark of a commit that SQLite has synced.

        An error of the disk is ignored, because the commit is complete: without its mark, only its loss would go
        unnoticed. A file that is missing is not created: `verify` reports it, and the next opening records it.
        """
        with suppress(OSError):
            if self._descriptor >= 0 and not os.fstat(self._descriptor).st_nlink:
                # It was removed, and may be there again.
                self.close()
            if self._descriptor < 0:
                self._open()
            os.lseek(self._descriptor, mark.sequence % _SLOTS * _SIZE, os.SEEK_SET)
            content = memoryview(_encode(mark))
            while content:
                content = content[os.write(self._descriptor, content) :]

    def close(self) -> None:
        """Sync and close the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.fsync(descriptor)
            os.close(descriptor)
