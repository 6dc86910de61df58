"""WARC files of crawls: the pages among their records (WARC), or the texts that were extracted from them (WET).

A document is a record of type `response` with an HTTP status from 200 to 299, `resource` or `conversion`, whose content
type is text. Of HTML the visible text counts (`io.html`), everything else is its own text. Records of other types,
other statuses and other content types are left out: `WarcCorpus.left_out` counts them by name. The fields of a record
are columns: `url`, `date`, `record_id`, `content_type`, `status`, and each header field by its own name
(`WARC-IP-Address`).

Where a record begins and ends is read here, from its `Content-Length`, so that a damaged one costs itself alone: what
follows it is found by its first line, `WARC/1.x`. What is inside is read by FastWARC: header fields, transfer and
content encodings. In gzip every record is a member of its own, so a damaged member, too, costs itself alone; so in
bzip2, xz and zstd (`io.members`).

The encoding of a text is the one of its byte order mark, of the HTTP header, of the page's `<meta>`, in this order;
without any it is UTF-8, or windows-1252 if it is not UTF-8. What an encoding can't read becomes U+FFFD, as in browsers.
The text of a `conversion` record is UTF-8, unless its content type says otherwise; others can't be read. A page that
the crawler cut off counts as far as it goes.

Sources
-------
1. ISO 28500:2017, WARC 1.1: records, header fields; annex D: compression by record.
2. WHATWG Encoding Standard, section 4.2: what names of encodings mean; HTML Standard, section 13.2.3.2: their order.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import MissingExtraError, bad_parameter
from nearkin.io.base import LONGEST
from nearkin.io.decompress import compressing, decompressed, read_at
from nearkin.io.encoding import ByteStream
from nearkin.io.html import check_parser, visible_text
from nearkin.io.inputs import Compression, InputFile, unreadable
from nearkin.io.records import Parsed, Places, RecordCorpus
from nearkin.io.values import Column, PackedTexts, Scalar
from nearkin.io.warc_repair import DAMAGE_FIELD, MembersReader

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

FIELDS = {"url": "WARC-Target-URI", "date": "WARC-Date", "record_id": "WARC-Record-ID"}
"""Columns that are header fields of a record."""
COLUMNS = (*FIELDS, "content_type", "status")
"""Columns of WARC, besides those by the names of header fields."""

_START = re.compile(rb"WARC/[0-9]+\.[0-9]+\r?\n")
_NEXT = re.compile(rb"\n\r?\n(?=WARC/[0-9]+\.[0-9]+\r?\n)")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"\ncontent-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*\r?\n", re.IGNORECASE)
_RECORD_END = re.compile(rb"(?:\r?\n){2}|(?:\r?\n)?(?=WARC/|\Z)")
_BLANK = re.compile(rb"[\r\n]*")
_INFO = re.compile(rb"\nwarc-type[ \t]*:[ \t]*warcinfo", re.IGNORECASE)
# FastWARC's own limit, and enough for any crawler's fields.
_LONGEST_HEADER = 32 << 10
# What a line `WARC/1.1` and two line ends before it have at most: so much of a block's end may be the start of one.
_START_ROOM = 32
# Names of left out records that are counted apart; content types are whatever servers say.
_MOST_NAMES = 40
_LONGEST_REASON = 200

_HTML = ("text/html", "application/xhtml+xml")
_META = re.compile(rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
# Bytes of a page in which its <meta> is looked for (HTML Standard).
_META_ROOM = 1024
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# The Encoding Standard reads these names as supersets of what they name.
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
}
# Codecs of Python that are no encodings of pages.
_NO_CHARSETS = ("utf-7", "unicode_escape", "raw_unicode_escape", "raw-unicode-escape", "idna", "punycode", "undefined")


def check_reader() -> None:
    """Raise MissingExtraError unless FastWARC, and the parser of HTML, are installed."""
    try:
        import fastwarc.warc  # noqa: F401
    except ImportError:
        message = "WARC needs fastwarc; pip install 'nearkin[warc]'"
        raise MissingExtraError(message, extra="warc", package="fastwarc") from None
    check_parser()


def check_columns(names: Sequence[str]) -> None:
    """Raise ParameterError for a name that is neither a column of WARC nor a header field's."""
    for name in names:
        if name not in COLUMNS and not name.upper().startswith("WARC-"):
            allowed = f"{', '.join(COLUMNS)}, or a header field such as WARC-IP-Address, for warc"
            raise bad_parameter("column", repr(name), allowed)


@dataclass(frozen=True)
class Document:
    """What a record says: its text, its header fields in lower case, and the columns that are no fields."""

    text: str
    fields: dict[str, str]
    content_type: str
    status: int | None

    def value(self, column: str) -> Scalar:
        """The value of a column; None if the record has none."""
        if column == "content_type":
            return self.content_type
        if column == "status":
            return self.status
        found = self.fields.get(FIELDS.get(column, column).lower())
        # WARC 1.0 has angle brackets around URLs in its grammar, and some crawlers write them.
        return found.removeprefix("<").removesuffix(">") if column == "url" and found is not None else found


@dataclass(frozen=True)
class LeftOut:
    """A record that is whole and no document: what it is counted as."""

    name: str


def read_record(record: bytes) -> Document | LeftOut:
    r"""The document that a record holds, or what it is instead.

    Parameters
    ----------
    record : bytes
        One record, decompressed, from its line `WARC/1.x` on.

    Raises
    ------
    OSError, ValueError
        Its header, or an encoding of its content, is damaged.

    Examples
    --------
    >>> from nearkin.io.warc import read_record
    >>> head = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n"
    >>> read_record(head + b"one\r\n\r\n").text
    'one'
    """
    from fastwarc.warc import ArchiveIterator

    # Its quirks mode takes line feeds alone for line ends.
    for found in ArchiveIterator(io.BytesIO(record), auto_decode="all", stream_detect=False, quirks_mode=True):
        return _document(found)
    raise ValueError("the record is empty")


def _document(record: WarcRecord) -> Document | LeftOut:
    fields = {name.lower(): value.strip() for name, value in record.headers.to_tuples()}
    kind = fields.get("warc-type", "").lower()
    if kind not in ("response", "resource", "conversion"):
        return LeftOut(f"records of type {kind}" if kind else "records without a type")
    status, said = None, fields.get("content-type", "")
    if record.is_http and kind == "response":
        status = record.http_headers.status_code
        if status is None or not 200 <= status <= 299:
            return LeftOut("responses without a status" if status is None else f"responses of status {status}")
        said = record.http_headers.get("Content-Type") or fields.get("warc-identified-payload-type", "")
    elif kind == "response":
        return LeftOut("responses that are not HTTP")
    content_type = said.partition(";")[0].strip().lower()
    if not (content_type.startswith("text/") or content_type in _HTML):
        return LeftOut(f"records of content type {content_type}" if content_type else "records without a content type")
    payload = _whole(record)
    charset = _charset_of(said)
    if kind == "conversion":
        return Document(_converted(payload, charset), fields, content_type, status)
    html = content_type in _HTML
    text = decode(payload, charset, html=html)
    return Document(visible_text(text) if html else text, fields, content_type, status)


def _whole(record: WarcRecord) -> bytes:
    parts: list[bytes] = []
    size = 0
    while piece := record.reader.read(1 << 20):
        parts.append(piece)
        size += len(piece)
        if size > LONGEST:
            raise ValueError(f"the content is longer than {LONGEST >> 20} MiB, decompressed")
    return b"".join(parts)


def _charset_of(content_type: str) -> str:
    match = re.search(r"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", content_type, re.IGNORECASE)
    return match[1] if match else ""


def _codec(name: str) -> str:
    """The codec that a page means by a name; empty for an unknown one, and for what no browser reads as text."""
    try:
        found = codecs.lookup(name).name
        # Codecs that are not encodings of text refuse here.
        b" ".decode(found, "ignore")
    except (LookupError, ValueError):
        return ""
    return "" if found in _NO_CHARSETS else _SUPERSETS.get(found, found)


def decode(payload: bytes, charset: str = "", *, html: bool = False) -> str:
    r"""The text of a page's bytes, as a browser reads them.

    Parameters
    ----------
    payload : bytes
        Without transfer and content encodings.
    charset : str, default ""
        What the HTTP header says.
    html : bool, default False
        Whether a `<meta>` in the first 1,024 bytes counts.

    Examples
    --------
    >>> from nearkin.io.warc import decode
    >>> decode(b"caf\xe9", "latin-1"), decode(b"caf\xe9"), decode(b"<meta charset=koi8-r>\xe4\xc1", html=True)[-2:]
    ('café', 'café', 'Да')
    """
    for mark, name in _MARKS:
        if payload.startswith(mark):
            return payload[len(mark) :].decode(name, "replace")
    codec = _codec(charset)
    if not codec and html and (match := _META.search(payload, 0, _META_ROOM)):
        codec = _codec(match[1].decode())
        # A page whose <meta> could be read is not UTF-16, whatever it says.
        codec = "utf-8" if codec.startswith("utf-16") else codec
    if codec:
        return payload.decode(codec, "replace")
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return payload.decode("cp1252", "replace")


def _converted(payload: bytes, charset: str) -> str:
    try:
        return payload.decode(_codec(charset) or "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"the text is not {error.encoding.upper()} at byte {error.start}") from None


class _Members:
    """Writes each piece as a member of its own, so that a record can be found without reading those before it."""

    def __init__(self, raw: IO[bytes], compression: Compression) -> None:
        self._raw = raw
        self._compression = compression

    def write(self, data: bytes) -> int:
        with compressing(self._raw, self._compression) as stream:
            stream.write(data)
        return len(data)


@dataclass(frozen=True)
class _Frame:
    """A record in a block, or a part of it that is none, and then why.

    `open` says that the next block may go on with what is no record. A record that is too long ends after the block.
    """

    start: int
    stop: int
    fault: str = ""
    open: bool = False


def _frame(data: bytes, at: int, *, end: bool) -> _Frame | None:
    """What begins at a place of a block; None if more bytes are needed to tell."""
    start = _BLANK.match(data, at).end()  # type: ignore[union-attr]
    if start == len(data):
        return _Frame(start, start)
    if len(data) - start < _START_ROOM and not end:
        return None
    if not _START.match(data, start):
        return _up_to_next(data, start, start, "no record begins here", end=end)
    header = _HEADER_END.search(data, start, start + _LONGEST_HEADER)
    if header is None:
        if len(data) - start < _LONGEST_HEADER and not end:
            return None
        return _up_to_next(data, start, start + 1, "the record's header has no end", end=end)
    inside = header.end() - 2
    if (damage := data.find(DAMAGE_FIELD, start, inside)) >= 0:
        reason = data[damage + len(DAMAGE_FIELD) : data.find(b"\r", damage)].decode()
        return _up_to_next(data, start, inside, f"compressed bytes are damaged ({reason})", end=end)
    length = _LENGTH.search(data, start, header.end())
    if length is None:
        return _up_to_next(data, start, inside, "the record's header has no Content-Length", end=end)
    size = int(length[1])
    stop = header.end() + size
    if stop - start > LONGEST - _START_ROOM:
        return _Frame(start, stop, f"the record is longer than {LONGEST >> 20} MiB")
    if stop + _START_ROOM > len(data) and not end:
        return None
    if stop > len(data):
        fault = f"the record is cut off: it has {len(data) - header.end()} of {size} bytes"
        return _up_to_next(data, start, inside, fault, end=end)
    tail = _RECORD_END.match(data, stop)
    if tail is None:
        fault = f"Content-Length is {size}, and the record does not end there"
        return _up_to_next(data, start, inside, fault, end=end)
    return _Frame(start, tail.end())


def _up_to_next(data: bytes, start: int, after: int, fault: str, *, end: bool) -> _Frame | None:
    """The part of a block from `start` to the next record that begins after `after`."""
    following = _NEXT.search(data, after)
    if following is not None:
        return _Frame(start, following.end(), fault)
    if end:
        return _Frame(start, len(data), fault)
    # The last bytes may be the start of the next record.
    stop = len(data) - _START_ROOM
    return _Frame(start, stop, fault, open=True) if stop > start else None


class WarcCorpus(RecordCorpus):
    """WARC and WET files."""

    unit: Literal["line", "record"] = "record"

    def _reset(self) -> None:
        super()._reset()
        self._infos: dict[int, bytes] = {}
        self._informed: set[int] = set()
        self._begin_source()

    def _begin_source(self) -> None:
        # Bytes that are still to be skipped of a record that is too long; whether the block before ended in a part
        # that is no record.
        self._to_skip = 0
        self._lost = False

    def _decompressed(self, raw: ByteStream, compression: Compression) -> ByteStream:
        return MembersReader(raw, compression) if MembersReader.reads(compression) else decompressed(raw, compression)

    def _skip_header(self, source: InputFile, block: NDArray[np.uint8], *, end: bool) -> tuple[int, int] | None:
        """The length of the first record if it is of type warcinfo, which goes to the output as well."""
        self._begin_source()
        data = block[: 1 << 20].tobytes()
        begin = _BLANK.match(data).end()  # type: ignore[union-attr]
        if begin < len(data) and not _START.match(data, begin):
            raise unreadable(source.name, "does not begin with a WARC record; give the format that it has")
        frame = _frame(data, 0, end=end and len(data) == len(block))
        if frame is None or frame.fault or not _INFO.search(data, frame.start, frame.stop):
            return 0, 0
        record = data[frame.start : frame.stop]
        if not isinstance(found := self._read_record(record), LeftOut):
            return 0, 0
        self._infos[self._sources.index(source)] = record
        self._leave_out(found)
        return frame.stop, 1

    def _parse(self, block: NDArray[np.uint8], *, end: bool) -> Parsed:
        data = block.tobytes()
        at = min(self._to_skip, len(data))
        self._to_skip -= at
        rows: list[tuple[int, int, Document]] = []
        malformed: list[tuple[int, str]] = []
        records = 0
        while at < len(data) and (frame := _frame(data, at, end=end)) is not None:
            if frame.stop > frame.start:
                found = frame.fault or self._read_record(data[frame.start : frame.stop])
                if isinstance(found, Document):
                    rows.append((frame.start, frame.stop, found))
                elif isinstance(found, LeftOut):
                    self._leave_out(found)
                elif not self._lost:
                    malformed.append((records, found))
                records += not self._lost
                self._lost = frame.open
            at = min(frame.stop, len(data))
            self._to_skip = frame.stop - at
        return self._parsed(rows, malformed, at, records)

    def _parse_spans(self, block: NDArray[np.uint8], lengths: NDArray[np.uint32]) -> Parsed:
        data, at = block.tobytes(), 0
        rows: list[tuple[int, int, Document]] = []
        for length in lengths.tolist():
            found = self._read_record(data[at : at + length])
            if isinstance(found, Document):
                rows.append((at, at + length, found))
            at += length
        return self._parsed(rows, [], at, len(rows))

    def _read_record(self, record: bytes) -> Document | LeftOut | str:
        """What a record holds, or why it can't be read."""
        try:
            found = read_record(record)
        except (OSError, ValueError, EOFError) as error:
            # FastWARC quotes the whole line at fault.
            reason = " ".join(str(error).split())
            return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}..."
        if isinstance(found, Document) and self.id_column is not None and found.value(self.id_column) is None:
            return f"no {FIELDS.get(self.id_column, self.id_column)}, which is the id"
        return found

    def _leave_out(self, record: LeftOut) -> None:
        name = record.name if record.name in self.left_out or len(self.left_out) < _MOST_NAMES else "other records"
        self.left_out[name] = self.left_out.get(name, 0) + 1

    def _parsed(
        self, rows: list[tuple[int, int, Document]], malformed: list[tuple[int, str]], consumed: int, lines: int
    ) -> Parsed:
        texts = PackedTexts.of([row.text for _, _, row in rows])
        columns = [Column.of([row.value(name) for _, _, row in rows]) for name in self.columns]
        return Parsed(
            offsets=texts.offsets,
            data=texts.data,
            nulls=texts.nulls,
            starts=np.array([start for start, _, _ in rows], np.uint32),
            lengths=np.array([stop - start for start, stop, _ in rows], np.uint32),
            columns=[(column.kinds, column.values, column.offsets, column.data) for column in columns],
            malformed=malformed,
            malformed_count=len(malformed),
            consumed=consumed,
            lines=lines,
        )

    def _columns_without(self, name: str) -> list[str] | None:
        return list(COLUMNS)

    @contextmanager
    def _compressing(self, file: IO[bytes], compression: Compression) -> Iterator[IO[bytes]]:
        yield cast("IO[bytes]", _Members(file, compression)) if compression else file

    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        self._informed.clear()
        super()._write(mask, stream, sources)

    def _copy(
        self, places: Places, mask: NDArray[np.bool_], descriptor: int, stream: IO[bytes], *, open_line: bool
    ) -> bool:
        """Copy the kept records of one batch, each by itself, after the warcinfo of their file."""
        kept = np.flatnonzero(mask[places.first_row : places.end_row])
        if len(kept) and places.source not in self._informed:
            self._informed.add(places.source)
            if places.source in self._infos:
                stream.write(_ended(self._infos[places.source]))
        name = self._sources[places.source].name
        for row in kept.tolist():
            start = np.array([places.base + int(places.starts[row])], np.int64)
            stream.write(_ended(read_at(descriptor, start, places.lengths[row : row + 1], name).tobytes()))
        return False


def _ended(record: bytes) -> bytes:
    """A record with the two line ends that end it, which the last one of a file may lack."""
    if record.endswith((b"\n\r\n", b"\n\n")):
        return record
    return record + (b"\r\n" if record.endswith(b"\n") else b"\r\n\r\n")
