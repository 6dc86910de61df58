"""Corpora whose files are records one after another: JSON lines, CSV and TSV, plain lines; WARC in `io.warc`.

The core reads blocks and says where each record lies; a record is looked up by reading these bytes again, and kept by
copying them, so what is written is what came, byte for byte (in UTF-8, and of a JSON array as lines). A record that
ends its file without a line end gets one when another follows it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import IO, Literal

import numpy as np
from numpy.typing import NDArray

from nearkin._core import Records, read_csv, read_csv_header, read_jsonl, read_lines
from nearkin.errors import InputError
from nearkin.io.base import BLOCK, LONGEST, Corpus
from nearkin.io.changes import csv_record, json_record, line_record
from nearkin.io.decompress import MAGIC, PROGRAMS, Reader, check_stamp, decompressed, read_at
from nearkin.io.encoding import ENCODING_REMEDY, ByteStream
from nearkin.io.inputs import Compression, FileStamp, InputFile, unreadable
from nearkin.io.values import BadRecord, Batch, Column, PackedTexts

_BOM = b"\xef\xbb\xbf"
_CONVERT = "convert the file to UTF-8"


@dataclass(frozen=True)
class Places:
    """Where the rows of one batch lie: `base + starts[i]`, `lengths[i]` bytes, in the source's file or in the spool."""

    source: int
    first_row: int
    base: int
    starts: NDArray[np.uint32]
    lengths: NDArray[np.uint32]

    @property
    def end_row(self) -> int:
        """The row after the last one."""
        return self.first_row + len(self.starts)


@dataclass(frozen=True)
class Parsed:
    """The records of a block as the core's `Records`, of a format that Python reads.

    Parameters
    ----------
    offsets, data, nulls : arrays
        Texts, as `PackedTexts` has them.
    starts, lengths : (n,) uint32
        Where in the block each row lies.
    columns : list of tuple of arrays
        As `Column` takes them.
    malformed : list of (int, str)
        Which records of the block can't be read, from 0, and why.
    malformed_count : int
        How many they are.
    consumed : int
        Bytes of the block that were read; the next block begins with the rest.
    lines : int
        Lines, or records, that were read.
    """

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]
    nulls: NDArray[np.int64]
    starts: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    columns: list[tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]]
    malformed: list[tuple[int, str]]
    malformed_count: int
    consumed: int
    lines: int


class RecordCorpus(Corpus):
    """What JSON lines, CSV, plain lines and WARC have in common."""

    unit: Literal["line", "record"] = "line"

    def _reset(self) -> None:
        super()._reset()
        self._places: list[Places] = []
        self._stamps: dict[int, FileStamp | None] = {}
        self._spooled: set[int] = set()

    def _parse(self, block: NDArray[np.uint8], *, end: bool) -> Records | Parsed:
        """The records of a block."""
        raise NotImplementedError

    def _parse_spans(self, block: NDArray[np.uint8], lengths: NDArray[np.uint32]) -> Records | Parsed:
        """The records that lie back to back."""
        raise NotImplementedError

    def _decompressed(self, raw: ByteStream, compression: Compression) -> ByteStream:
        """The decompressed bytes of a source."""
        return decompressed(raw, compression)

    def _skip_header(self, source: InputFile, block: NDArray[np.uint8], *, end: bool) -> tuple[int, int] | None:
        """Bytes and lines before the first record, or None when the block is too short to tell."""
        return 0, 0

    def _read(self) -> Iterator[Batch]:
        for number, source in enumerate(self._sources):
            with Reader(source, self._spool, json=self.format == "jsonl", opener=self._decompressed) as reader:
                if self.unit == "record":
                    reader.unit = self.unit
                if reader.spooled_at is not None:
                    self._spooled.add(number)
                before = self.bytes_read
                for batch in self._read_source(number, reader):
                    self.bytes_read = before + reader.bytes_read
                    yield batch
                self.bytes_read = before + reader.bytes_read
                reader.check_unchanged()
            self._stamps[number] = reader.stamp

    def _read_source(self, number: int, reader: Reader) -> Iterator[Batch]:
        source = reader.source
        buffer = np.empty(BLOCK, np.uint8)
        filled, line, base, end = 0, 1, reader.spooled_at or 0, False
        started, skipping = False, False
        while not end:
            count = reader.fill(buffer.data[filled:])
            filled += count
            end = filled < len(buffer)
            begin = 0
            if not started:
                begin = _byte_order_mark(source, buffer[:filled])
                header = self._skip_header(source, buffer[begin:filled], end=end)
                if header is None:
                    buffer = _grown(source, buffer, filled, "header")
                    continue
                begin += header[0]
                line += header[1]
                started = True
            if skipping:
                # The rest of a record that is too long: go on after its line end.
                found = bytes(buffer[:filled]).find(b"\n")
                if found < 0:
                    base, filled = base + filled, 0
                    continue
                begin, line, skipping = found + 1, line + 1, False
            records = self._parse(buffer[begin:filled], end=end)
            if records.malformed_count:
                self._reject(reader, line, records)
            if len(records.starts):
                yield self._batch(number, base + begin, records)
            line += records.lines
            consumed = begin + records.consumed
            rest = filled - consumed
            if not end and consumed == 0 and rest == len(buffer):
                if len(buffer) < LONGEST:
                    buffer = _grown(source, buffer, filled, "record")
                    continue
                reason = f"the record is longer than {LONGEST >> 20} MiB"
                self.malformed.add(BadRecord(source.name, line, reason, reader.unit))
                # What was read of it is skipped up to its first line end, if it has one (a quote never closed).
                found = buffer[:filled].tobytes().find(b"\n")
                consumed, skipping = (filled, True) if found < 0 else (found + 1, False)
                line += not skipping
                rest = filled - consumed
            target = (
                buffer
                if rest <= len(buffer) // 2 and len(buffer) == BLOCK
                else np.empty(max(BLOCK, _room(rest)), np.uint8)
            )
            target[:rest] = buffer[consumed:filled]
            buffer, base, filled = target, base + consumed, rest

    def _batch(self, number: int, base: int, records: Records | Parsed) -> Batch:
        first = self.rows
        self._places.append(Places(number, first, base, records.starts.copy(), records.lengths.copy()))
        self.rows += len(records.starts)
        columns = {name: Column(*parts) for name, parts in zip(self.columns, records.columns, strict=True)}
        if self.id_column is None:
            ids = Column.integers(np.arange(first, self.rows, dtype=np.int64))
        else:
            ids = columns[self.id_column]
        extra = {name: columns[name] for name in self.extra_columns}
        return Batch(first, PackedTexts(records.offsets, records.data, records.nulls), ids, extra)

    def _reject(self, reader: Reader, line: int, records: Records | Parsed) -> None:
        name = reader.source.name
        first = [BadRecord(name, line + at, _with_remedy(reason), reader.unit) for at, reason in records.malformed]
        for record in first[:-1]:
            self.malformed.add(record)
        self.malformed.add(first[-1], records.malformed_count - len(first) + 1)

    @contextmanager
    def _file(self, number: int) -> Iterator[int]:
        """The descriptor under which the rows of a source can be read again."""
        source, stamp = self._sources[number], self._stamps.get(number)
        if number in self._spooled or source.path is None:
            yield self._spool.descriptor()
            return
        # There is no stamp yet while the first pass is inside of the file.
        with source.path.open("rb", 0) as file:
            if stamp is not None:
                check_stamp(source, stamp, os.fstat(file.fileno()))
            yield file.fileno()
            if stamp is not None:
                check_stamp(source, stamp, os.fstat(file.fileno()))

    def _texts(self, rows: NDArray[np.int64]) -> PackedTexts:
        parts: list[PackedTexts] = []
        ends = np.array([places.end_row for places in self._places], np.int64)
        wanted = np.searchsorted(ends, rows, side="right")
        at = 0
        while at < len(rows):
            # All wanted rows of one source are read together.
            source = self._places[wanted[at]].source
            starts, lengths = [], []
            while at < len(rows) and self._places[wanted[at]].source == source:
                places = self._places[wanted[at]]
                stop = int(np.searchsorted(rows, places.end_row))
                local = rows[at:stop] - places.first_row
                starts.append(places.starts[local].astype(np.int64) + places.base)
                lengths.append(places.lengths[local])
                at = stop
            parts.append(self._lookup(source, np.concatenate(starts), np.concatenate(lengths)))
        return PackedTexts.concat(parts)

    def _lookup(self, number: int, starts: NDArray[np.int64], lengths: NDArray[np.uint32]) -> PackedTexts:
        name = self._sources[number].name
        with self._file(number) as descriptor:
            block = read_at(descriptor, starts, lengths, name)
        records = self._parse_spans(block, lengths)
        if len(records.starts) != len(lengths):
            raise unreadable(name, "the file changed since it was read; run again when nothing writes to it")
        return PackedTexts(records.offsets, records.data, records.nulls)

    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        self._write_header(stream)
        open_line = False
        for number, of_source in groupby(self._places, key=lambda places: places.source):
            if number in sources:
                with self._file(number) as descriptor:
                    for places in of_source:
                        open_line = self._copy(places, mask, descriptor, stream, open_line=open_line)

    def _write_header(self, stream: IO[bytes]) -> None:
        """Write what comes before the first record."""

    def _copy(
        self, places: Places, mask: NDArray[np.bool_], descriptor: int, stream: IO[bytes], *, open_line: bool
    ) -> bool:
        """Copy the kept rows of one batch; whether the last one lacks a line end."""
        mask = mask[places.first_row : places.end_row]
        kept = np.flatnonzero(mask)
        if not len(kept):
            return open_line
        changed = {} if self._changes is None else self._changes.among(mask, places.first_row)
        starts = places.starts[kept].astype(np.int64)
        ends = starts + places.lengths[kept]
        breaks = np.flatnonzero(starts[1:] != ends[:-1])
        run_starts = starts[np.r_[0, breaks + 1]] - starts[0]
        run_ends = ends[np.r_[breaks, len(ends) - 1]] - starts[0]
        # One read from the first kept row to the last, over what lies between.
        first, length = np.array([places.base + int(starts[0])]), run_ends[-1:].astype(np.uint32)
        block = read_at(descriptor, first, length, self._sources[places.source].name)
        view = block.data
        if open_line:
            stream.write(b"\n")
        if changed:
            ends -= starts[0]
            starts -= starts[0]
            for row, start, end in zip(kept.tolist(), starts.tolist(), ends.tolist(), strict=True):
                record = bytes(view[start:end])
                stream.write(self._changed(record, changed[row]) if row in changed else record)
        elif len(run_starts) == 1:
            stream.write(view)
        else:
            runs = [view[a:b] for a, b in zip(run_starts.tolist(), run_ends.tolist(), strict=True)]
            stream.write(b"".join(runs))
        return bool(block[-1] != 0x0A)

    def _changed(self, record: bytes, text: str) -> bytes:
        """A record with another text."""
        raise NotImplementedError


class JsonlCorpus(RecordCorpus):
    """JSON lines."""

    def _changed(self, record: bytes, text: str) -> bytes:
        return json_record(record, self.text_column, text)

    def _wanted(self) -> tuple[str, str | None, list[str]]:
        return self.text_column, self.id_column, [name for name in self.extra_columns if name != self.id_column]

    def _parse(self, block: NDArray[np.uint8], *, end: bool) -> Records:
        return read_jsonl(block, *self._wanted(), end=end)

    def _parse_spans(self, block: NDArray[np.uint8], lengths: NDArray[np.uint32]) -> Records:
        return read_jsonl(block, *self._wanted(), lengths=lengths)

    def _columns_without(self, name: str) -> list[str] | None:
        columns: list[str] = []
        for places in self._places:
            with self._file(places.source) as descriptor:
                starts = places.starts.astype(np.int64) + places.base
                block = read_at(descriptor, starts, places.lengths, self._sources[places.source].name).tobytes()
            at = 0
            for length in places.lengths.tolist():
                record = json.loads(block[at : at + length])
                if _has_column(record, name):
                    return None
                columns = columns or list(record)
                at += length
        return columns


def _has_column(record: dict[str, object], name: str) -> bool:
    """Whether a record has a column, by its name or by the path of names that dots separate."""
    if name in record:
        return True
    head, dot, rest = name.partition(".")
    inner = record.get(head)
    return bool(dot) and isinstance(inner, dict) and _has_column(inner, rest)


class LineCorpus(RecordCorpus):
    """A document per line."""

    def _changed(self, record: bytes, text: str) -> bytes:
        return line_record(record, text)

    def _parse(self, block: NDArray[np.uint8], *, end: bool) -> Records:
        return read_lines(block, end=end)

    def _parse_spans(self, block: NDArray[np.uint8], lengths: NDArray[np.uint32]) -> Records:
        return read_lines(block, lengths=lengths)


class CsvCorpus(RecordCorpus):
    """CSV or TSV with a header, the same one in every file.

    The delimiter of CSV is the first of comma, semicolon, tab and bar with which the first header has every column that
    is read, unless one was given.
    """

    def _reset(self) -> None:
        super()._reset()
        self._delimiter = self._delimiters()[0]
        self._header = b""
        self._header_of = ""
        self._names: list[str] = []

    def _changed(self, record: bytes, text: str) -> bytes:
        return csv_record(record, self._names.index(self.text_column), self._delimiter, text)

    def _delimiters(self) -> bytes:
        """Those that the header is read with, in this order."""
        if self.delimiter is not None:
            return self.delimiter.encode()
        return b"\t" if self.format == "tsv" else b",;\t|"

    def _layout(self) -> tuple[int, int, int, list[int]]:
        fields = [self._names.index(name) for name in self.columns]
        return self._delimiter, len(self._names), self._names.index(self.text_column), fields

    def _parse(self, block: NDArray[np.uint8], *, end: bool) -> Records:
        return read_csv(block, *self._layout(), end=end)

    def _parse_spans(self, block: NDArray[np.uint8], lengths: NDArray[np.uint32]) -> Records:
        return read_csv(block, *self._layout(), lengths=lengths)

    def _skip_header(self, source: InputFile, block: NDArray[np.uint8], *, end: bool) -> tuple[int, int] | None:
        if end and not len(block):
            raise unreadable(source.name, "the file is empty; its first line must name the columns")
        wanted = [self.text_column, *self.columns]
        headers: list[tuple[list[str], int]] = []
        faults: list[InputError] = []
        for delimiter in self._delimiters() if not self._names else bytes([self._delimiter]):
            try:
                header = self._read_header(source, block, delimiter, end=end)
            except InputError as error:
                # Quoted names that another delimiter separates are no fields with this one.
                faults.append(error)
                continue
            if header is None:
                return None
            headers.append(header)
            if all(header[0].count(name) == 1 for name in wanted):
                self._delimiter = delimiter
                break
        else:
            if not headers:
                raise faults[0]
            # The one with the most columns is what the message lists.
            headers.append(max(headers, key=lambda header: len(header[0])))
        names, length = headers[-1]
        if not self._names:
            for name in wanted:
                if names.count(name) != 1:
                    found = "no column" if name not in names else "more than one column"
                    raise unreadable(f"{source.name}, line 1", f"{found} {name!r}; the header has {', '.join(names)}")
            self._names, self._header_of = names, source.name
            self._header = block[:length].tobytes()
        elif names != self._names:
            raise unreadable(f"{source.name}, line 1", _first_difference(names, self._names, self._header_of))
        return length, int(np.count_nonzero(block[:length] == 0x0A))

    def _read_header(
        self, source: InputFile, block: NDArray[np.uint8], delimiter: int, *, end: bool
    ) -> tuple[list[str], int] | None:
        try:
            return read_csv_header(block, delimiter, end=end)
        except InputError as error:
            raise unreadable(f"{source.name}, line 1", f"the header: {_with_remedy(error.reason)}") from None

    def _write_header(self, stream: IO[bytes]) -> None:
        stream.write(self._header)
        if not self._header.endswith(b"\n"):
            stream.write(b"\n")


def _first_difference(found: list[str], expected: list[str], where: str) -> str:
    for i, (left, right) in enumerate(zip(found, expected, strict=False), 1):
        if left != right:
            return f"column {i} is {left!r}, while it is {right!r} in {where}; give files with the same columns"
    counts = f"the header has {len(found)} columns, while that of {where} has {len(expected)}"
    return f"{counts}; give files with the same columns"


def _byte_order_mark(source: InputFile, block: NDArray[np.uint8]) -> int:
    """Bytes of a UTF-8 mark. Other first bytes that can't be text of this format are an error."""
    head = block[:4].tobytes()
    if head.startswith(_BOM):
        return len(_BOM)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise unreadable(source.name, "the file is UTF-16; convert it to UTF-8, or give encoding='utf-16'")
    for magic, compression in MAGIC.items():
        if block[: len(magic)].tobytes() == magic:
            what = PROGRAMS[compression]
            raise unreadable(source.name, f"the file is compressed with {what}; end its name in .{compression}")
    if head == b"PAR1":
        raise unreadable(source.name, "the file is Parquet; end its name in .parquet or give format='parquet'")
    return 0


def _with_remedy(reason: str) -> str:
    """A reason of the core, which knows of no encoding but one."""
    return f"{reason}, {ENCODING_REMEDY}" if reason.endswith(_CONVERT) else reason


def _room(rest: int) -> int:
    """Room for `rest` bytes and as many again, in whole blocks, but no more than one record may take."""
    return min(-(-2 * rest // BLOCK) * BLOCK, LONGEST)


def _grown(source: InputFile, buffer: NDArray[np.uint8], filled: int, what: str) -> NDArray[np.uint8]:
    """A buffer of twice the size with the same bytes."""
    if len(buffer) >= LONGEST:
        raise unreadable(source.name, f"the {what} is longer than {LONGEST >> 20} MiB")
    grown: NDArray[np.uint8] = np.empty(min(2 * len(buffer), LONGEST), np.uint8)
    grown[:filled] = buffer[:filled]
    return grown


__all__ = ["CsvCorpus", "JsonlCorpus", "LineCorpus", "Parsed", "Places", "RecordCorpus"]
