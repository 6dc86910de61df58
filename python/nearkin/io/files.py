"""A corpus whose documents are files: the text of a file is a document, its path the id.

Files are read one after another into batches of about one block. Only the path and the stamp of a file stay in memory;
texts are looked up by reading the file again. The output is a list of paths, `kept.txt`, one per line, relative to the
input folder (with several inputs, including the folder). The files themselves are not copied.

With the format `functions`, each function of a file is a document (`nearkin.text.chunking`), and its id is the path
with its first and last line: `io/files.py:31-40`. The rest of a file is left out.

A byte order mark is not part of the text. A file is a malformed record if it is not UTF-8, contains a NUL byte, cannot
be opened or read, or has a name that cannot be an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import IO

import numpy as np
from numpy.typing import NDArray

from nearkin._core import split_parts
from nearkin.errors import InputError
from nearkin.io.base import BLOCK, MAX_RECORD, Corpus
from nearkin.io.decompress import CHANGED, Reader, check_stamp
from nearkin.io.encoding import BOM, ENCODING_REMEDY, UTF16, StreamError
from nearkin.io.inputs import Compression, FileStamp, InputFile, file_error
from nearkin.io.values import BadRecord, Batch, Column, PackedTexts


class FileCorpus(Corpus):
    """One document per file, or per function."""

    def _reset(self) -> None:
        super()._reset()
        self._row_sources: list[InputFile] = []
        self._stamps: list[FileStamp | None] = []
        self._ids: list[str] = []
        self._parts: list[slice] = []

    def _read(self) -> Iterator[Batch]:
        texts: list[bytes] = []
        size = 0
        for source in self._sources:
            text = self._read_file(source)
            texts += text
            size += sum(map(len, text))
            if size >= BLOCK:
                yield self._to_batch(texts)
                texts, size = [], 0
        if texts:
            yield self._to_batch(texts)

    def _read_file(self, source: InputFile) -> list[bytes]:
        """Read a file and register it, or its functions, as the next rows; none if it is malformed."""
        line, text, reason = 1, b"", source.rejection
        try:
            if not reason:
                with Reader(source) as reader:
                    read = _read_text(reader)
                    reader.check_unchanged()
                self.bytes_read += reader.bytes_read
                text, too_long = read or b"", f"the file is longer than {MAX_RECORD >> 20} MiB"
                line, reason = (1, too_long) if read is None else _find_fault(read)
        except InputError as error:
            if not isinstance(error.__cause__, StreamError):
                raise
            reason = error.reason
        except OSError as error:
            reason = f"can't be read: {error.strerror or error}; change its permissions or leave it out"
        if reason:
            self.malformed.add(BadRecord(source.name, line, reason))
            return []
        parts = [("", slice(None))]
        if self.functions:
            parts = list(_functions(text))
            if not parts:
                self.left_out["files without functions"] = self.left_out.get("files without functions", 0) + 1
        for lines, part in parts:
            self._row_sources.append(source)
            self._stamps.append(reader.stamp)
            self._ids.append(source.document + lines)
            self._parts.append(part)
        return [text[part] for _, part in parts]

    def _to_batch(self, texts: list[bytes]) -> Batch:
        first = self.rows
        self.rows += len(texts)
        return Batch(first, PackedTexts.of_bytes(texts), Column.of(self._ids[first:]))

    def _texts(self, rows: NDArray[np.int64]) -> PackedTexts:
        texts = []
        for source, of_source in groupby(rows.tolist(), self._row_sources.__getitem__):
            chosen = list(of_source)
            stamp = self._stamps[chosen[0]]
            with Reader(source) as reader:
                if stamp is not None and reader.stamp != stamp:
                    raise file_error(source.name, CHANGED)
                text = _read_text(reader) or b""
                texts += [text[self._parts[row]] for row in chosen]
                reader.check_unchanged()
        return PackedTexts.of_bytes(texts)

    @property
    def compression(self) -> Compression:
        """Empty: the list of paths is not compressed."""
        return ""

    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        for row in np.flatnonzero(mask).tolist():
            source, stamp = self._row_sources[row], self._stamps[row]
            if source.path is not None:
                check_stamp(source, stamp, source.path.stat())
            stream.write(self._ids[row].encode() + b"\n")


def _functions(text: bytes) -> Iterator[tuple[str, slice]]:
    """Iterate over the functions of a file: the end of the id, such as `:31-40`, and the part of the file."""
    code, line, at, place = text.decode(), 1, 0, 0
    spans = split_parts([code], "function", 0, np.zeros(0, np.uint64))[2]
    for start, end in spans.reshape(-1, 2).tolist():
        line += code.count("\n", at, start)
        last = line + code.count("\n", start, end)
        first_byte = place + len(code[at:start].encode())
        place = first_byte + len(code[start:end].encode())
        yield f":{line}-{last}", slice(first_byte, place)
        line, at = last, end


def _read_text(reader: Reader) -> bytes | None:
    """Return all bytes of a file without the byte order mark; None if there are too many."""
    text = bytearray()
    for chunk in reader.chunks():
        text += chunk
        if len(text) > MAX_RECORD:
            return None
    return bytes(text).removeprefix(BOM)


def _find_fault(text: bytes) -> tuple[int, str]:
    """Return the reason why bytes are not a text, after its line; empty if they are."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return 1, UTF16
    at, reason = text.find(b"\0"), "a NUL byte; this is not a text file"
    if at < 0:
        try:
            text.decode()
        except UnicodeDecodeError as error:
            at, reason = error.start, f"not UTF-8; convert the file to UTF-8, {ENCODING_REMEDY}"
        else:
            return 1, ""
    return text.count(b"\n", 0, at) + 1, reason
