"""Corpora of consecutive records: JSON lines, CSV and TSV, plain lines. WARC extends them in `nearkin.io.warc`.

The core parses blocks and returns the span of each record. Records are looked up by reading these bytes again and
written by copying them, so the output is byte for byte the input (in UTF-8, and as lines for a JSON array). If the last
record of a file has no line end and another record follows in the output, one is added.

A record with a replaced text is an exception. In CSV, its other fields remain byte for byte. A JSON record is
serialised by Python's `json`, which keeps the order of its values but may change spacing and escapes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from typing import IO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearkin._core import Records, read_csv, read_csv_header, read_jsonl, read_lines
from nearkin.errors import InputError
from nearkin.io.arrow import find_keys, join_texts, to_texts
from nearkin.io.base import BLOCK, MAX_RECORD, BatchSpans, Corpus, OtherColumns, check_distinct
from nearkin.io.decompress import CHANGED, MAGIC, PROGRAMS, Reader, check_stamp, read_at
from nearkin.io.encoding import BOM, ENCODING_REMEDY, UTF16
from nearkin.io.inputs import FileStamp, InputFile, describe_difference, file_error
from nearkin.io.values import NULL, TEXT, BadRecord, Batch, Column, PackedTexts

_PIECE = 1 << 20
"""Bytes of the input that are copied at once: they stay in the cache of a core."""
_UTF8_REMEDY = "convert the file to UTF-8"


class ParsedRecords(NamedTuple):
    """The records of a block in the form of the core's `Records`, for formats that Python parses.

    Parameters
    ----------
    offsets, data, nulls : arrays
        Texts, as in `PackedTexts`.
    starts, lengths : (n,) uint32
        Span of each row in the block.
    columns : list of tuple of arrays
        Arguments of `Column`.
    malformed : list of (int, str)
        Malformed records by their number in the block, from 0, with the reason.
    malformed_count : int
        Number of malformed records.
    consumed : int
        Bytes of the block that were parsed; the next block starts with the rest.
    lines : int
        Number of lines, or records, that were parsed.
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
    """Base class of JSON lines, CSV, plain lines and WARC."""

    unit: Literal["line", "record"] = "line"

    def _reset(self) -> None:
        super()._reset()
        self._stamps: dict[int, FileStamp | None] = {}
        self._spooled: set[int] = set()

    def _parse(
        self, block: NDArray[np.uint8], *, end: bool = True, lengths: NDArray[np.uint32] | None = None
    ) -> Records | ParsedRecords:
        """Parse the records of a block, or concatenated records of known lengths."""
        raise NotImplementedError

    def _skip_header(self, source: InputFile, block: NDArray[np.uint8], *, end: bool) -> tuple[int, int] | None:
        """Return the bytes and lines before the first record; None if the block is too short."""
        return 0, 0

    def _read(self) -> Iterator[Batch]:
        for number, source in enumerate(self._sources):
            with Reader(source, self._spool, json=self.format == "jsonl") as reader:
                if self.unit == "record":
                    reader.unit = self.unit
                if reader.spooled_at is not None:
                    self._spooled.add(number)
                bytes_before = self.bytes_read
                for batch in self._read_source(number, reader):
                    self.bytes_read = bytes_before + reader.bytes_read
                    yield batch
                self.bytes_read = bytes_before + reader.bytes_read
                reader.check_unchanged()
            self._stamps[number] = reader.stamp

    def _read_source(self, number: int, reader: Reader) -> Iterator[Batch]:
        """Iterate over the batches of one source.

        `base` is the position of the buffer in the source, `filled` the number of bytes in it. The part of the buffer
        that was not parsed moves to the start of the next one. A record that fills the buffer doubles its size. Beyond
        the longest record it is skipped: up to its first line end if it has one, since a quote may never be closed.
        """
        source = reader.source
        buffer = np.empty(BLOCK, np.uint8)
        filled, line, base, end = 0, 1, reader.spooled_at or 0, False
        started, skipping = False, False
        while not end:
            filled += reader.fill(buffer.data[filled:])
            end = filled < len(buffer)
            begin = 0
            if not started:
                begin = _check_first_bytes(source, buffer[:filled])
                header = self._skip_header(source, buffer[begin:filled], end=end)
                if header is None:
                    buffer = _grow(source, buffer, filled, "header")
                    continue
                begin += header[0]
                line += header[1]
                started = True
            if skipping:
                line_end = bytes(buffer[:filled]).find(b"\n")
                if line_end < 0:
                    base, filled = base + filled, 0
                    continue
                begin, line, skipping = line_end + 1, line + 1, False
            records = self._parse(buffer[begin:filled], end=end)
            if records.malformed_count:
                self._add_malformed(reader, line, records)
            if len(records.starts):
                yield self._to_batch(number, base + begin, records)
            line += records.lines
            consumed = begin + records.consumed
            rest = filled - consumed
            if not end and consumed == 0 and rest == len(buffer):
                if len(buffer) < MAX_RECORD:
                    buffer = _grow(source, buffer, filled, "record")
                    continue
                reason = f"the record is longer than {MAX_RECORD >> 20} MiB"
                self.malformed.add(BadRecord(source.name, line, reason, reader.unit))
                line_end = buffer[:filled].tobytes().find(b"\n")
                consumed, skipping = (filled, True) if line_end < 0 else (line_end + 1, False)
                line += not skipping
                rest = filled - consumed
            target = buffer
            if rest > len(buffer) // 2 or len(buffer) != BLOCK:
                # Space for the rest and as much again, in whole blocks.
                target = np.empty(max(BLOCK, min(-(-2 * rest // BLOCK) * BLOCK, MAX_RECORD)), np.uint8)
            target[:rest] = buffer[consumed:filled]
            buffer, base, filled = target, base + consumed, rest

    def _to_batch(self, number: int, base: int, records: Records | ParsedRecords) -> Batch:
        self._spans.append(BatchSpans(number, self.rows, base, records.starts.copy(), records.lengths.copy()))
        columns = {name: Column(*arrays) for name, arrays in zip(self.columns, records.columns, strict=True)}
        return self._build_batch(PackedTexts(records.offsets, records.data, records.nulls), columns)

    def _add_malformed(self, reader: Reader, line: int, records: Records | ParsedRecords) -> None:
        """Add the malformed records of a block; the core lists only the first of them."""
        name = reader.source.name
        *others, last = [
            BadRecord(name, line + at, _with_remedy(reason), reader.unit) for at, reason in records.malformed
        ]
        for record in others:
            self.malformed.add(record)
        self.malformed.add(last, records.malformed_count - len(others))

    @contextmanager
    def _open_rows(self, number: int) -> Iterator[int]:
        """Open a source, or the spool, to read its rows again, and yield the file descriptor."""
        source, stamp = self._sources[number], self._stamps.get(number)
        if number in self._spooled or source.path is None:
            yield self._spool.descriptor()
            return
        # While the first pass is inside the file, there is no stamp yet.
        with source.path.open("rb", 0) as file:
            check_stamp(source, stamp, os.fstat(file.fileno()))
            yield file.fileno()
            check_stamp(source, stamp, os.fstat(file.fileno()))

    def _read_records(self, spans: BatchSpans) -> NDArray[np.uint8]:
        """Read the records of a batch again, concatenated."""
        with self._open_rows(spans.source) as descriptor:
            starts = spans.starts.astype(np.int64) + spans.base
            return read_at(descriptor, starts, spans.lengths, self._sources[spans.source].name)

    def _split_records(self, spans: BatchSpans) -> Iterator[bytes]:
        """Read the records of a batch again, one by one."""
        block = self._read_records(spans).tobytes()
        for start, stop in pairwise([0, *np.cumsum(spans.lengths, dtype=np.int64).tolist()]):
            yield block[start:stop]

    def _look_up(self, number: int, starts: NDArray[np.int64], lengths: NDArray[np.uint32]) -> PackedTexts:
        name = self._sources[number].name
        with self._open_rows(number) as descriptor:
            block = read_at(descriptor, starts, lengths, name)
        records = self._parse(block, lengths=lengths)
        if len(records.starts) != len(lengths):
            raise file_error(name, CHANGED)
        return PackedTexts(records.offsets, records.data, records.nulls)

    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        self._write_header(stream)
        open_line = False
        for number, of_source in groupby(self._spans, key=lambda spans: spans.source):
            if number in sources:
                with self._open_rows(number) as descriptor:
                    for spans in of_source:
                        open_line = self._copy_kept(spans, mask, descriptor, stream, open_line=open_line)

    def _write_header(self, stream: IO[bytes]) -> None:
        """Write the bytes before the first record."""

    def _copy_kept(
        self, spans: BatchSpans, mask: NDArray[np.bool_], descriptor: int, stream: IO[bytes], *, open_line: bool
    ) -> bool:
        """Copy the kept rows of a batch; return True if the last one has no line end."""
        kept = np.flatnonzero(mask[spans.first_row : spans.end_row])
        pieces = np.searchsorted(spans.starts[kept], np.arange(0, int(spans.starts[-1]) + 1, _PIECE))
        for begin, end in pairwise([*pieces.tolist(), len(kept)]):
            if begin < end:
                open_line = self._copy_piece(spans, kept[begin:end], descriptor, stream, open_line=open_line)
        return open_line

    def _copy_piece(
        self, spans: BatchSpans, kept: NDArray[np.int64], descriptor: int, stream: IO[bytes], *, open_line: bool
    ) -> bool:
        """Copy rows of a batch by one read from the first to the last; return True if the last one has no line end."""
        texts = {} if self._replacements is None else self._replacements.select(kept + spans.first_row)
        start = int(spans.starts[kept[0]])
        starts = spans.starts[kept].astype(np.int64) - start
        ends = starts + spans.lengths[kept]
        position, length = np.array([spans.base + start]), ends[-1:].astype(np.uint32)
        block = read_at(descriptor, position, length, self._sources[spans.source].name)
        view = block.data
        if open_line:
            stream.write(b"\n")
        if texts or self._added is not None:
            for at, (begin, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
                record = bytes(view[begin:end])
                record = self._replace_text(record, texts[at]) if at in texts else record
                if self._added is not None:
                    value = int(self._added.values[kept[at] + spans.first_row])
                    record = self._append_value(record, self._added.name, value)
                stream.write(record)
        else:
            breaks = np.flatnonzero(starts[1:] != ends[:-1])
            runs = zip(starts[np.r_[0, breaks + 1]].tolist(), ends[np.r_[breaks, len(ends) - 1]].tolist(), strict=True)
            stream.write(view if not len(breaks) else b"".join([view[begin:end] for begin, end in runs]))
        return bool(block[-1] != 0x0A)

    def _join_texts(self, records: Records, block: NDArray[np.uint8]) -> ParsedRecords:
        """Join the texts with the last columns; reject records in which one of these is neither string nor null."""
        columns = [Column(*arrays) for arrays in records.columns]
        joined = columns[len(self.columns) :]
        # CSV has no null.
        empty = self.format != "jsonl"
        texts = [PackedTexts(records.offsets, records.data, records.nulls)]
        texts += [PackedTexts(column.offsets, column.data, np.flatnonzero(column.kinds == NULL)) for column in joined]
        if empty:
            texts = [each.with_nulls(np.flatnonzero(np.diff(each.offsets) == 0)) for each in texts]
        text = join_texts(texts)
        self._joined.update(name for name, at in zip(self.joined_columns, joined, strict=True) if at.kinds.any())
        good = np.ones(len(text), bool)
        malformed = records.malformed
        for name, column in zip(self.joined_columns, joined, strict=True):
            for row in np.flatnonzero(good & (column.kinds != NULL) & (column.kinds != TEXT)).tolist():
                good[row] = False
                line = int(np.count_nonzero(block[: records.starts[row]] == 0x0A))
                malformed.append((line, f"column {name!r} is {column[row]!r}; a text is a string"))
        columns = columns[: len(self.columns)]
        if not good.all():
            rows = np.flatnonzero(good)
            text = to_texts(text.to_arrow().take(rows))
            columns = [Column.of(column.take(rows)) for column in columns]
        arrays = [(column.kinds, column.values, column.offsets, column.data) for column in columns]
        count = records.malformed_count + int((~good).sum())
        spans = records.starts[good], records.lengths[good]
        ends = count, records.consumed, records.lines
        return ParsedRecords(text.offsets, text.data, text.nulls, *spans, arrays, sorted(malformed), *ends)

    def _replace_text(self, record: bytes, text: str) -> bytes:
        """Return a record with another text."""
        raise NotImplementedError

    def _append_value(self, record: bytes, name: str, value: int) -> bytes:
        """Return a record with another column."""
        raise NotImplementedError


class JsonlCorpus(RecordCorpus):
    """JSON lines.

    A record without the text column is a document without text, from the first block on in which a record has the
    column; before, it is malformed, because the name of the column is most likely wrong.
    """

    def _reset(self) -> None:
        super()._reset()
        self._has_text = False

    def has_text_column(self) -> bool:
        """Return True if a record in the first block has the text column."""
        block = np.empty(BLOCK, np.uint8)
        with Reader(self._sources[0], json=True) as reader:
            block = block[: reader.fill(block.data)]
        begin = _check_first_bytes(self._sources[0], block)
        return len(read_jsonl(block[begin:], self.text_column).starts) > 0

    def _replace_text(self, record: bytes, text: str) -> bytes:
        return replace_json_text(record, self.text_column, text)

    def _append_value(self, record: bytes, name: str, value: int) -> bytes:
        key = json.dumps(name, ensure_ascii=False).encode()
        # A key may be written with escapes.
        if (key[1:-1] in record or b"\\u" in record or "/" in name) and name in json.loads(record):
            raise self._added_name_error("a record", name)
        body = record.rstrip()
        fields = body[:-1].rstrip()
        separator = b"" if fields == b"{" else b", "
        return fields + separator + b"%s: %d}" % (key, value) + record[len(body) :]

    def _parse(
        self, block: NDArray[np.uint8], *, end: bool = True, lengths: NDArray[np.uint32] | None = None
    ) -> Records | ParsedRecords:
        extra = [name for name in (*self.columns, *self.joined_columns) if name != self.id_column]
        columns = (self.text_column, self.id_column, extra)
        # Records of known lengths are rows.
        optional = self._has_text or lengths is not None
        records = read_jsonl(block, *columns, text_optional=optional, end=end, lengths=lengths)
        if not optional and len(records.starts):
            self._has_text = True
            if records.malformed_count:
                records = read_jsonl(block, *columns, text_optional=True, end=end)
        return self._join_texts(records, block) if self.joined_columns else records

    def other_columns(self, batch: Batch) -> OtherColumns:
        """Return the values of all records of the last batch, without their texts."""
        spans, records = self._spans[-1], []
        for row, line in enumerate(self._split_records(spans), batch.first_row):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                place = f"{self._sources[spans.source].name}, record {row}"
                raise file_error(place, f"Python's json cannot read it ({error})") from error
            record.pop(self.text_column, None)
            records.append(record)
        return records

    def _columns_without(self, name: str) -> list[str] | None:
        columns: list[str] = []
        for spans in self._spans:
            for record in map(json.loads, self._split_records(spans)):
                if find_keys(record, name) is not None:
                    return None
                columns = columns or list(record)
        return columns


class LineCorpus(RecordCorpus):
    """One document per line."""

    def _replace_text(self, record: bytes, text: str) -> bytes:
        return text.encode() + _line_end(record)

    def _parse(
        self, block: NDArray[np.uint8], *, end: bool = True, lengths: NDArray[np.uint32] | None = None
    ) -> Records:
        return read_lines(block, end=end, lengths=lengths)


class CsvCorpus(RecordCorpus):
    """CSV or TSV with the same header in every file.

    Unless a delimiter was given, the delimiter of CSV is the first of comma, semicolon, tab and bar with which the
    header of the first file contains every column that is read.
    """

    def _reset(self) -> None:
        super()._reset()
        self._delimiter = self._candidates()[0]
        self._header = b""
        self._header_file = ""
        self._names: list[str] = []

    def select_columns(self, names: list[str]) -> list[str]:
        """Return the names that the header of the first file has exactly once."""
        self._reset()
        next(self._read(), None)
        return [name for name in names if self._names.count(name) == 1]

    def _replace_text(self, record: bytes, text: str) -> bytes:
        return replace_csv_field(record, self._names.index(self.text_column), self._delimiter, text)

    def _append_value(self, record: bytes, name: str, value: int) -> bytes:
        line_end = _line_end(record)
        return record[: len(record) - len(line_end)] + b"%c%d" % (self._delimiter, value) + line_end

    def _candidates(self) -> bytes:
        """Return the delimiters to try, in this order."""
        if self.delimiter is not None:
            return self.delimiter.encode()
        return b"\t" if self.format == "tsv" else b",;\t|"

    def _parse(
        self, block: NDArray[np.uint8], *, end: bool = True, lengths: NDArray[np.uint32] | None = None
    ) -> Records | ParsedRecords:
        names = (self.text_column, *self.columns, *self.joined_columns)
        text, *fields = [self._names.index(name) for name in names]
        records = read_csv(block, self._delimiter, len(self._names), text, fields, end=end, lengths=lengths)
        return self._join_texts(records, block) if self.joined_columns else records

    def other_columns(self, batch: Batch) -> OtherColumns | None:
        """Return the fields of the records of the last batch as strings, without their texts."""
        check_distinct(self._names, self._header_file)
        spans = self._spans[-1]
        text = self._names.index(self.text_column)
        others = [number for number in range(len(self._names)) if number != text]
        if not others:
            return None
        block = self._read_records(spans)
        records = read_csv(block, self._delimiter, len(self._names), text, others, end=True, lengths=spans.lengths)
        columns = [Column(*arrays).to_list() for arrays in records.columns]
        names = [self._names[number] for number in others]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    def has_text_column(self) -> bool:
        """Return True if the header of the first file has the text column."""
        self._reset()
        next(self._read(), None)
        return True

    def _skip_header(self, source: InputFile, block: NDArray[np.uint8], *, end: bool) -> tuple[int, int] | None:
        if end and not len(block):
            raise file_error(source.name, "the file is empty; its first line must name the columns")
        place = f"{source.name}, line 1"
        required = [self.text_column, *self.columns, *self.joined_columns]
        headers: list[tuple[list[str], int]] = []
        reason = ""
        for delimiter in self._candidates() if not self._names else bytes([self._delimiter]):
            try:
                header = read_csv_header(block, delimiter, end=end)
            except InputError as error:
                # With the wrong delimiter, quoted names are not fields.
                reason = reason or error.reason
                continue
            if header is None:
                return None
            headers.append(header)
            if all(header[0].count(name) == 1 for name in required):
                self._delimiter = delimiter
                break
        else:
            if not headers:
                raise file_error(place, f"the header: {_with_remedy(reason)}")
            # The message lists the columns of the header with the most columns.
            headers.append(max(headers, key=lambda header: len(header[0])))
        names, length = headers[-1]
        if not self._names:
            for name in required:
                if names.count(name) != 1:
                    problem = "no column" if name not in names else "more than one column"
                    raise file_error(place, f"{problem} {name!r}; the header has {', '.join(names)}")
            self._names, self._header_file = names, source.name
            self._header = block[:length].tobytes()
        elif names != self._names:
            raise file_error(place, describe_difference(map(repr, names), map(repr, self._names), self._header_file))
        return length, int(np.count_nonzero(block[:length] == 0x0A))

    def _write_header(self, stream: IO[bytes]) -> None:
        header = self._header
        if self._added is not None:
            if self._added.name in self._names:
                raise self._added_name_error(self._header_file, self._added.name)
            line_end = _line_end(header)
            name = _csv_value(self._added.name, self._delimiter)
            header = header[: len(header) - len(line_end)] + bytes([self._delimiter]) + name + line_end
        stream.write(header)
        if not self._header.endswith(b"\n"):
            stream.write(b"\n")


def _check_first_bytes(source: InputFile, block: NDArray[np.uint8]) -> int:
    """Return the length of a UTF-8 byte order mark; refuse first bytes of another format."""
    head = block[:8].tobytes()
    if head.startswith(BOM):
        return len(BOM)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise file_error(source.name, UTF16)
    for magic, compression in MAGIC.items():
        if head.startswith(magic):
            program = PROGRAMS[compression]
            raise file_error(source.name, f"the file is compressed with {program}; end its name in .{compression}")
    if head.startswith(b"PAR1"):
        raise file_error(source.name, "the file is Parquet; end its name in .parquet or give format='parquet'")
    return 0


def _with_remedy(reason: str) -> str:
    """Add the option `encoding` to a reason of the core, which reads UTF-8 only."""
    return f"{reason}, {ENCODING_REMEDY}" if reason.endswith(_UTF8_REMEDY) else reason


def _grow(source: InputFile, buffer: NDArray[np.uint8], filled: int, noun: str) -> NDArray[np.uint8]:
    """Return a buffer of twice the size with the same bytes."""
    if len(buffer) >= MAX_RECORD:
        raise file_error(source.name, f"the {noun} is longer than {MAX_RECORD >> 20} MiB")
    larger: NDArray[np.uint8] = np.empty(min(2 * len(buffer), MAX_RECORD), np.uint8)
    larger[:filled] = buffer[:filled]
    return larger


def _line_end(record: bytes) -> bytes:
    """Return the line end of a record, if it has one."""
    return b"\r\n" if record.endswith(b"\r\n") else b"\n" if record.endswith(b"\n") else b""


def replace_json_text(record: bytes, column: str, text: str) -> bytes:
    r"""Return a JSON record with another text.

    Parameters
    ----------
    record : bytes
        Record with its line end.
    column : str
        Name or path of the text column, which the record must have.
    text : str
        New text.

    Examples
    --------
    >>> from nearkin.io.records import replace_json_text
    >>> replace_json_text(b'{"id":1, "meta":{"body":"a b"}}\n', "meta.body", "b")
    b'{"id": 1, "meta": {"body": "b"}}\n'
    """
    value = json.loads(record)
    *parents, key = find_keys(value, column) or [column]
    inner = value
    for parent in parents:
        inner = inner[parent]
    inner[key] = text
    try:
        line = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Another value has a lone surrogate, which only an escape can represent.
        line = json.dumps(value).encode()
    return line + _line_end(record)


def replace_csv_field(record: bytes, field: int, delimiter: int, text: str) -> bytes:
    r"""Return a CSV record with another value in one field.

    Parameters
    ----------
    record : bytes
        Record with its line end.
    field : int
        Number of the field, from 0.
    delimiter : int
        Delimiter byte.
    text : str
        New value.

    Examples
    --------
    >>> from nearkin.io.records import replace_csv_field
    >>> replace_csv_field(b'1,"a, b",c\r\n', 1, ord(","), "b, c")
    b'1,"b, c",c\r\n'
    """
    line_end = _line_end(record)
    sign = re.escape(bytes([delimiter]))
    pattern = re.compile(rb'("(?:[^"]|"")*"|[^%s]*)(%s|$)' % (sign, sign), re.DOTALL)
    body = record[: len(record) - len(line_end)]
    at, match = 0, None
    for _ in range(field + 1):
        at = match.end() if match else at
        match = pattern.match(body, at)
    end = match.end(1) if match else len(body)
    return body[:at] + _csv_value(text, delimiter) + body[end:] + line_end


def _csv_value(text: str, delimiter: int) -> bytes:
    """Return a value of CSV, in quotes if it needs them."""
    value = text.encode()
    if value.startswith(b'"') or any(byte in value for byte in (bytes([delimiter]), b"\n", b"\r")):
        value = b'"' + value.replace(b'"', b'""') + b'"'
    return value
