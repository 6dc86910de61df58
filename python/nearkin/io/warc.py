"""WARC files of crawls: the pages among their records (WARC), or the extracted texts (WET).

A document is a record of type `response` with an HTTP status from 200 to 299, `resource` or `conversion`, whose content
type is text. The text of HTML is its visible text (`nearkin.io.html`); other text is used as it is. Records with other
types, statuses or content types are skipped, and `WarcCorpus.left_out` counts them by description. The columns are
`url`, `date`, `record_id`, `content_type`, `status`, and each header field by its name (`WARC-IP-Address`).

The start and end of records are parsed here, from their `Content-Length`, so that a damaged record costs only itself:
the next record is found by its first line, `WARC/1.x`. FastWARC parses the content: header fields, transfer and content
encodings. Damaged compressed bytes end the run.

The encoding of a page follows from its byte order mark, the HTTP header or its `<meta>`, in this order. Without any of
these it is UTF-8, or windows-1252 if the bytes are not UTF-8. Invalid bytes become U+FFFD, as in browsers. The text of
a `conversion` record is UTF-8 unless its content type says otherwise; invalid bytes make it malformed. Pages that the
crawler truncated are read as far as they go.

Sources
-------
1. ISO 28500:2017, WARC 1.1: records, header fields; annex D: compression by record.
2. WHATWG Encoding Standard, section 4.2: names of encodings; HTML Standard, section 13.2.3.2: their order.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import bad_parameter, require_extra
from nearkin.io.base import MAX_RECORD, BatchSpans, OtherColumns
from nearkin.io.decompress import compressing, read_at
from nearkin.io.html import check_parser, visible_text
from nearkin.io.inputs import Compression, InputFile, file_error
from nearkin.io.records import ParsedRecords, RecordCorpus
from nearkin.io.values import Batch, Column, PackedTexts, Scalar

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

FIELDS = {"url": "WARC-Target-URI", "date": "WARC-Date", "record_id": "WARC-Record-ID"}
"""Columns that are header fields of a record."""
COLUMNS = (*FIELDS, "content_type", "status")
"""Columns of WARC, in addition to those named after header fields."""

_START = re.compile(rb"WARC/[0-9]+\.[0-9]+\r?\n")
_NEXT = re.compile(rb"\n\r?\n(?=WARC/[0-9]+\.[0-9]+\r?\n)")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"\ncontent-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*\r?\n", re.IGNORECASE)
_RECORD_END = re.compile(rb"(?:\r?\n){2}|(?:\r?\n)?(?=WARC/|\Z)")
_BLANK = re.compile(rb"[\r\n]*")
_INFO = re.compile(rb"\nwarc-type[ \t]*:[ \t]*warcinfo", re.IGNORECASE)
# FastWARC's limit, which suffices for the header of any crawler.
_MAX_HEADER = 32 << 10
# Maximum length of a line `WARC/1.1` with two line ends before it: the end of a block may be the start of such a line.
_MAX_START = 32
# Descriptions of skipped records that are counted separately; servers send arbitrary content types.
_MAX_DESCRIPTIONS = 40
_MAX_REASON = 200

_HTML = ("text/html", "application/xhtml+xml")
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_META = re.compile(rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
# Bytes of a page in which its <meta> is searched (HTML Standard).
_META_BYTES = 1024
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# The Encoding Standard maps these names to supersets of the encodings that they name.
_SUPERSETS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932", "big5": "big5hkscs",
}  # fmt: skip
# Codecs of Python that are not encodings of pages.
_NO_CHARSETS = ("utf-7", "unicode_escape", "raw_unicode_escape", "raw-unicode-escape", "idna", "punycode", "undefined")


def check_reader() -> None:
    """Raise MissingExtraError if FastWARC or the HTML parser is not installed."""
    with require_extra("warc", "WARC"):
        import fastwarc.warc  # noqa: F401
    check_parser()


def check_columns(names: Sequence[str]) -> None:
    """Raise ParameterError for a name that is neither a column of WARC nor a header field."""
    for name in names:
        if name not in COLUMNS and not name.upper().startswith("WARC-"):
            allowed = f"{', '.join(COLUMNS)}, or a header field such as WARC-IP-Address, for warc"
            raise bad_parameter("column", repr(name), allowed)


@dataclass(frozen=True)
class Document:
    """A parsed document: text, header fields with names in lower case, content type and status."""

    text: str
    fields: dict[str, str]
    content_type: str
    status: int | None

    def value(self, column: str) -> Scalar:
        """Return the value of a column; None if the record does not have it."""
        if column == "content_type":
            return self.content_type
        if column == "status":
            return self.status
        value = self.fields.get(FIELDS.get(column, column).lower())
        # The grammar of WARC 1.0 has angle brackets around URLs, and some crawlers write them.
        return value.removeprefix("<").removesuffix(">") if column == "url" and value is not None else value


@dataclass(frozen=True)
class SkippedRecord:
    """A well-formed record that is not a document."""

    description: str


def read_record(record: bytes, *, main: bool = False) -> Document | SkippedRecord:
    r"""Parse a record.

    Parameters
    ----------
    record : bytes
        One decompressed record, starting with its line `WARC/1.x`.
    main : bool, default False
        Read the main text of a page (`nearkin.io.html`).

    Raises
    ------
    OSError, ValueError
        The header, or an encoding of the content, is damaged.

    Examples
    --------
    >>> from nearkin.io.warc import read_record
    >>> head = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n"
    >>> read_record(head + b"one\r\n\r\n").text
    'one'
    """
    from fastwarc.warc import ArchiveIterator

    # The quirks mode accepts line feeds as line ends.
    for parsed in ArchiveIterator(io.BytesIO(record), auto_decode="all", stream_detect=False, quirks_mode=True):
        return _to_document(parsed, main)
    raise ValueError("the record is empty")


def _to_document(record: WarcRecord, main: bool) -> Document | SkippedRecord:
    fields = {name.lower(): value.strip() for name, value in record.headers.to_tuples()}
    kind = fields.get("warc-type", "").lower()
    if kind not in ("response", "resource", "conversion"):
        return SkippedRecord(f"records of type {kind}" if kind else "records without a type")
    status, header = None, fields.get("content-type", "")
    if record.is_http and kind == "response":
        status = record.http_headers.status_code
        if status is None or not 200 <= status <= 299:
            return SkippedRecord("responses without a status" if status is None else f"responses of status {status}")
        header = record.http_headers.get("Content-Type") or fields.get("warc-identified-payload-type", "")
    elif kind == "response":
        return SkippedRecord("responses that are not HTTP")
    content_type = header.partition(";")[0].strip().lower()
    if not (content_type.startswith("text/") or content_type in _HTML):
        return SkippedRecord(
            f"records of content type {content_type}" if content_type else "records without a content type"
        )
    payload = _read_payload(record)
    match = _CHARSET.search(header)
    charset = match[1] if match else ""
    if kind == "conversion":
        return Document(_decode_strictly(payload, charset), fields, content_type, status)
    html = content_type in _HTML
    text = decode(payload, charset, html=html)
    return Document(visible_text(text, main=main) if html else text, fields, content_type, status)


def _read_payload(record: WarcRecord) -> bytes:
    payload = bytearray()
    while chunk := record.reader.read(1 << 20):
        payload += chunk
        if len(payload) > MAX_RECORD:
            raise ValueError(f"the content is longer than {MAX_RECORD >> 20} MiB, decompressed")
    return bytes(payload)


def _find_codec(charset: str) -> str:
    """Return the codec for the charset of a page; empty if it is unknown or not a text encoding for browsers."""
    try:
        codec = codecs.lookup(charset).name
        # Codecs that do not decode text fail here.
        b" ".decode(codec, "ignore")
    except (LookupError, ValueError):
        return ""
    return "" if codec in _NO_CHARSETS else _SUPERSETS.get(codec, codec)


def decode(payload: bytes, charset: str = "", *, html: bool = False) -> str:
    r"""Decode the bytes of a page as a browser does.

    Parameters
    ----------
    payload : bytes
        Content without transfer and content encodings.
    charset : str, default ""
        Charset in the HTTP header.
    html : bool, default False
        If True, a `<meta>` in the first 1,024 bytes is used.

    Examples
    --------
    >>> from nearkin.io.warc import decode
    >>> decode(b"caf\xe9", "latin-1"), decode(b"caf\xe9"), decode(b"<meta charset=koi8-r>\xe4\xc1", html=True)[-2:]
    ('café', 'café', 'Да')
    """
    for mark, name in _MARKS:
        if payload.startswith(mark):
            return payload[len(mark) :].decode(name, "replace")
    codec = _find_codec(charset)
    if not codec and html and (match := _META.search(payload, 0, _META_BYTES)):
        codec = _find_codec(match[1].decode())
        # A page whose <meta> is readable as ASCII is not UTF-16.
        codec = "utf-8" if codec.startswith("utf-16") else codec
    if codec:
        return payload.decode(codec, "replace")
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return payload.decode("cp1252", "replace")


def _decode_strictly(payload: bytes, charset: str) -> str:
    try:
        return payload.decode(_find_codec(charset) or "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"the text is not {error.encoding.upper()} at byte {error.start}") from None


class _MemberWriter:
    """A writer that compresses each call as a separate member, so that readers can seek to a record."""

    def __init__(self, raw: IO[bytes], compression: Compression) -> None:
        self._raw = raw
        self._compression = compression

    def write(self, data: bytes) -> int:
        with compressing(self._raw, self._compression) as stream:
            stream.write(data)
        return len(data)


class _Frame(NamedTuple):
    """The span of a record in a block, or of bytes that are not a record, with the reason."""

    start: int
    stop: int
    fault: str = ""


def _find_frame(data: bytes, at: int, *, end: bool) -> _Frame | None:
    """Return the next frame of a block; None if more bytes are needed."""

    def skip(after: int, fault: str) -> _Frame | None:
        """Return the frame up to the next record that begins after `after`."""
        following = _NEXT.search(data, after)
        if following is None and not end:
            return None
        return _Frame(start, len(data) if following is None else following.end(), fault)

    start = _BLANK.match(data, at).end()  # type: ignore[union-attr]
    if start == len(data):
        return _Frame(start, start)
    if len(data) - start < _MAX_START and not end:
        return None
    if not _START.match(data, start):
        return skip(start, "no record begins here")
    header = _HEADER_END.search(data, start, start + _MAX_HEADER)
    if header is None:
        is_short = len(data) - start < _MAX_HEADER and not end
        return None if is_short else skip(start + 1, "the record's header has no end")
    length = _LENGTH.search(data, start, header.end())
    if length is None:
        return skip(header.end() - 2, "the record's header has no Content-Length")
    size = int(length[1])
    stop = header.end() + size
    if stop - start > MAX_RECORD - _MAX_START:
        return _Frame(start, stop, f"the record is longer than {MAX_RECORD >> 20} MiB")
    if stop + _MAX_START > len(data) and not end:
        return None
    if stop > len(data):
        fault = f"the record is cut off: it has {len(data) - header.end()} of {size} bytes"
        return skip(header.end() - 2, fault)
    tail = _RECORD_END.match(data, stop)
    if tail is None:
        return skip(header.end() - 2, f"Content-Length is {size}, and the record does not end there")
    return _Frame(start, tail.end())


class WarcCorpus(RecordCorpus):
    """WARC and WET files."""

    unit: Literal["line", "record"] = "record"

    def _reset(self) -> None:
        super()._reset()
        self._infos: dict[int, bytes] = {}
        self._infos_written: set[int] = set()

    def _skip_header(self, source: InputFile, block: NDArray[np.uint8], *, end: bool) -> tuple[int, int] | None:
        """Return the length of the first record if its type is warcinfo; it is copied to the output."""
        self._bytes_to_skip = 0
        """Bytes left to skip of a record that is too long."""
        data = block[: 1 << 20].tobytes()
        begin = _BLANK.match(data).end()  # type: ignore[union-attr]
        if begin < len(data) and not _START.match(data, begin):
            raise file_error(source.name, "does not begin with a WARC record; give the format that it has")
        frame = _find_frame(data, 0, end=end and len(data) == len(block))
        if frame is None or frame.fault or not _INFO.search(data, frame.start, frame.stop):
            return 0, 0
        record = data[frame.start : frame.stop]
        parsed = self._read_record(record)
        if not isinstance(parsed, SkippedRecord):
            return 0, 0
        self._infos[self._sources.index(source)] = record
        self._count_skipped(parsed)
        return frame.stop, 1

    def _parse(
        self, block: NDArray[np.uint8], *, end: bool = True, lengths: NDArray[np.uint32] | None = None
    ) -> ParsedRecords:
        data = block.tobytes()
        if lengths is not None:
            spans = pairwise([0, *np.cumsum(lengths, dtype=np.int64).tolist()])
            parsed_spans = [(start, stop, self._read_record(data[start:stop])) for start, stop in spans]
            documents = [(start, stop, each) for start, stop, each in parsed_spans if isinstance(each, Document)]
            return self._to_parsed(documents, [], len(data), len(documents))
        at = min(self._bytes_to_skip, len(data))
        self._bytes_to_skip -= at
        rows: list[tuple[int, int, Document]] = []
        malformed: list[tuple[int, str]] = []
        records = 0
        while at < len(data) and (frame := _find_frame(data, at, end=end)) is not None:
            if frame.stop > frame.start:
                parsed = frame.fault or self._read_record(data[frame.start : frame.stop])
                if isinstance(parsed, Document):
                    rows.append((frame.start, frame.stop, parsed))
                elif isinstance(parsed, SkippedRecord):
                    self._count_skipped(parsed)
                else:
                    malformed.append((records, parsed))
                records += 1
            at = min(frame.stop, len(data))
            self._bytes_to_skip = frame.stop - at
        return self._to_parsed(rows, malformed, at, records)

    def _read_record(self, record: bytes) -> Document | SkippedRecord | str:
        """Parse a record, or return the reason why it is malformed."""
        try:
            parsed = read_record(record, main=self.html == "main")
        except (OSError, ValueError, EOFError) as error:
            # FastWARC quotes the complete faulty line.
            reason = " ".join(str(error).split())
            return reason if len(reason) <= _MAX_REASON else f"{reason[:_MAX_REASON]}..."
        if isinstance(parsed, Document) and self.id_column is not None and parsed.value(self.id_column) is None:
            return f"no {FIELDS.get(self.id_column, self.id_column)}, which is the id"
        return parsed

    def _read_html(self, texts: PackedTexts) -> PackedTexts:
        """Return texts as they are: records were read as pages by their content type."""
        return texts

    def _count_skipped(self, record: SkippedRecord) -> None:
        name = record.description
        if name not in self.left_out and len(self.left_out) >= _MAX_DESCRIPTIONS:
            name = "other records"
        self.left_out[name] = self.left_out.get(name, 0) + 1

    def _to_parsed(
        self, rows: list[tuple[int, int, Document]], malformed: list[tuple[int, str]], consumed: int, lines: int
    ) -> ParsedRecords:
        texts = PackedTexts.of([row.text for _, _, row in rows])
        columns = [Column.of([row.value(name) for _, _, row in rows]) for name in self.columns]
        starts = np.array([start for start, _, _ in rows], np.uint32)
        lengths = np.array([stop - start for start, stop, _ in rows], np.uint32)
        arrays = [(column.kinds, column.values, column.offsets, column.data) for column in columns]
        counts = (len(malformed), consumed, lines)
        return ParsedRecords(texts.offsets, texts.data, texts.nulls, starts, lengths, arrays, malformed, *counts)

    def other_columns(self, batch: Batch) -> OtherColumns:
        """Return the columns of `COLUMNS` of the last batch."""
        documents = map(self._read_record, self._split_records(self._spans[-1]))
        return [{name: each.value(name) for name in COLUMNS} for each in documents if isinstance(each, Document)]

    def _columns_without(self, name: str) -> list[str] | None:
        return list(COLUMNS)

    @contextmanager
    def _compress(self, file: IO[bytes], compression: Compression) -> Iterator[IO[bytes]]:
        yield cast("IO[bytes]", _MemberWriter(file, compression)) if compression else file

    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        self._infos_written.clear()
        super()._write(mask, stream, sources)

    def _copy_kept(
        self, spans: BatchSpans, mask: NDArray[np.bool_], descriptor: int, stream: IO[bytes], *, open_line: bool
    ) -> bool:
        """Copy the kept records of a batch one by one, after the warcinfo record of their file."""
        kept = np.flatnonzero(mask[spans.first_row : spans.end_row])
        if len(kept) and spans.source not in self._infos_written:
            self._infos_written.add(spans.source)
            if spans.source in self._infos:
                stream.write(_with_end(self._infos[spans.source]))
        name = self._sources[spans.source].name
        for row in kept.tolist():
            start = np.array([spans.base + int(spans.starts[row])], np.int64)
            stream.write(_with_end(read_at(descriptor, start, spans.lengths[row : row + 1], name).tobytes()))
        return False


def _with_end(record: bytes) -> bytes:
    """Add the two line ends of a record if they are missing, as at the end of a file."""
    if record.endswith((b"\n\r\n", b"\n\n")):
        return record
    return record + (b"\r\n" if record.endswith(b"\n") else b"\r\n\r\n")
