"""A corpus whose documents are files: each file's text is a document, its path the id.

Files are read one after another into batches of a block's size. Of each only its path and stamp stay in memory; a
text is looked up by reading its file again. What is kept is a list of paths, `kept.txt`, one per line, relative to the
folder that was named (under several folders: with the folder's name before it). The files stay where they are.

A byte order mark at a file's start is not part of its text. A file that is not UTF-8 or has a NUL byte is a record that
can't be read; so is a file that the system refuses to open or read, or whose name can't be an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np
from numpy.typing import NDArray

from nearkin._core import invalid_utf8
from nearkin.errors import InputError
from nearkin.io.base import BLOCK, LONGEST, Corpus
from nearkin.io.decompress import Reader, check_stamp
from nearkin.io.encoding import ENCODING_REMEDY, RecodeError
from nearkin.io.inputs import FileStamp, InputFile, unreadable
from nearkin.io.tempspool import Spool
from nearkin.io.values import BadRecord, Batch, Column, PackedTexts, offsets_of

_BOM = b"\xef\xbb\xbf"


class _Forget(Spool):
    """A spool that keeps nothing: a file that is a document is decompressed again when it is needed."""

    def write(self, data: object) -> None:
        """Drop."""


class FileCorpus(Corpus):
    """A file per document."""

    def _reset(self) -> None:
        super()._reset()
        self._rows_sources: list[int] = []
        self._stamps: list[FileStamp | None] = []

    def _read(self) -> Iterator[Batch]:
        parts: list[bytes] = []
        numbers: list[int] = []
        stamps: list[FileStamp | None] = []
        waiting = 0
        for number, source in enumerate(self._sources):
            text, stamp = self._content(source)
            if text is None:
                continue
            parts.append(text)
            numbers.append(number)
            stamps.append(stamp)
            waiting += len(text)
            if waiting >= BLOCK:
                yield from self._batch(parts, numbers, stamps)
                parts, numbers, stamps, waiting = [], [], [], 0
        yield from self._batch(parts, numbers, stamps)

    def _content(self, source: InputFile) -> tuple[bytes | None, FileStamp | None]:
        """The bytes of a file, or None when it is malformed."""
        if source.refused:
            self.malformed.add(BadRecord(source.name, 1, source.refused))
            return None, None
        try:
            with Reader(source, _Forget()) as reader:
                text = _whole(reader)
                reader.check_unchanged()
        except InputError as error:
            if not isinstance(error.__cause__, RecodeError):
                raise
            self.malformed.add(BadRecord(source.name, 1, error.reason))
            return None, None
        except OSError as error:
            reason = f"can't be read: {error.strerror or error}; change its permissions or leave it out"
            self.malformed.add(BadRecord(source.name, 1, reason))
            return None, None
        self.bytes_read += reader.bytes_read
        reason = f"the file is longer than {LONGEST >> 20} MiB" if text is None else _fault(text)
        if reason:
            line = 1 if text is None else _line_of_fault(text)
            self.malformed.add(BadRecord(source.name, line, reason))
            return None, None
        return text, reader.stamp

    def _batch(self, parts: list[bytes], numbers: list[int], stamps: list[FileStamp | None]) -> Iterator[Batch]:
        if not parts:
            return
        first = self.rows
        self._rows_sources += numbers
        self._stamps += stamps
        self.rows += len(parts)
        texts = PackedTexts(offsets_of(parts), np.frombuffer(b"".join(parts), np.uint8))
        yield Batch(first, texts, Column.of([self._sources[number].document for number in numbers]))

    def _texts(self, rows: NDArray[np.int64]) -> PackedTexts:
        parts = []
        for row in rows.tolist():
            source, stamp = self._sources[self._rows_sources[row]], self._stamps[row]
            with Reader(source, _Forget()) as reader:
                if stamp is not None and reader.stamp != stamp:
                    raise unreadable(
                        source.name, "the file changed since it was read; run again when nothing writes to it"
                    )
                text = _whole(reader)
                reader.check_unchanged()
            parts.append(text or b"")
        return PackedTexts(offsets_of(parts), np.frombuffer(b"".join(parts), np.uint8))

    @property
    def compression(self) -> str:  # type: ignore[override]
        """None: a list of paths is not compressed."""
        return ""

    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        for row in np.flatnonzero(mask).tolist():
            source, stamp = self._sources[self._rows_sources[row]], self._stamps[row]
            if stamp is not None and source.path is not None:
                check_stamp(source, stamp, source.path.stat())
            stream.write(source.document.encode() + b"\n")


def _whole(reader: Reader) -> bytes | None:
    """All bytes of a file without its mark, or None when there are too many."""
    parts: list[bytes] = []
    size = 0
    expected = reader.stamp.size + 1 if reader.stamp is not None and not reader.source.compression else 1 << 16
    buffer = bytearray(max(1 << 10, min(expected, BLOCK)))
    while count := reader.fill(memoryview(buffer)):
        parts.append(bytes(memoryview(buffer)[:count]))
        size += count
        if size > LONGEST:
            return None
        if count < len(buffer):
            break
        if len(buffer) < BLOCK:
            buffer = bytearray(min(BLOCK, 4 * len(buffer)))
    return b"".join(parts).removeprefix(_BOM)


def _fault(text: bytes) -> str:
    """Why these bytes are not a text; empty if they are."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "the file is UTF-16; convert it to UTF-8, or give encoding='utf-16'"
    if b"\0" in text:
        return "a NUL byte; this is not a text file"
    data = np.frombuffer(text, np.uint8)
    if len(invalid_utf8(np.array([0, len(data)], np.int64), data)):
        return f"not UTF-8; convert the file to UTF-8, {ENCODING_REMEDY}"
    return ""


def _line_of_fault(text: bytes) -> int:
    at = text.find(b"\0")
    if at < 0:
        try:
            text.decode()
        except UnicodeDecodeError as error:
            at = error.start
    return text.count(b"\n", 0, max(at, 0)) + 1
