"""Batches of requests from files, for `UrlPatterns.partial_fit`.

| format | content | recognized by |
|---|---|---|
| `log` | common or combined log format (`crates/nearkin-patterns`) | a time in brackets before a string in quotes |
| `jsonl` | one JSON object per line, with the URL in a field | the suffix, or a leading `{` |
| `txt` | one URL, path or request line per line | none of the others |

Lines that are not requests are counted by reason. Memory is bounded by the size of a block.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from nearkin._core import read_requests
from nearkin.errors import InputError, bad_parameter, excerpt
from nearkin.io.arrow import to_values
from nearkin.io.decompress import MAGIC, decompressed
from nearkin.io.encoding import ByteStream
from nearkin.io.inputs import Compression
from nearkin.patterns.inputs import NO_TIME, parse_time, to_binary

if TYPE_CHECKING:
    from nearkin.io.base import OtherColumns

RequestFormat: TypeAlias = Literal["log", "jsonl", "txt"]
_Row: TypeAlias = "tuple[str, str | None, int, str | None, dict[str, Any]]"
"""URL, method, time and client of a request, and its record."""
_BLOCK = 1 << 22
_MAX_MALFORMED = 10
"""Maximum length of `first_malformed`."""
_MAX_BYTES = 1 << 28
"""Maximum size of a line."""


@dataclass(frozen=True)
class Requests:
    """A batch of requests, for `UrlPatterns.partial_fit`.

    Attributes
    ----------
    urls : pyarrow array of binary values
    methods : list of str or None, or None
        None if request lines have them.
    times : (n,) datetime64[us] or None
    clients : pyarrow array of binary values or list, or None
    others : list of dict, pyarrow.RecordBatch or None
        With `keep_columns`: JSON records without the URL; `client` and `time` of a log; None for lines of URLs.
    """

    urls: Any
    methods: list[str | None] | None
    times: npt.NDArray[np.datetime64] | None
    clients: Any
    others: OtherColumns | None = None


@dataclass(frozen=True)
class Fields:
    """Names of the fields of JSON records; dots separate the names of nested objects.

    Attributes
    ----------
    url, method, time, client : str or None
        None if records do not have the field. Times are seconds since 1970, or texts in ISO 8601 or in the format of
        logs.
    """

    url: str = "url"
    method: str | None = None
    time: str | None = None
    client: str | None = None


class RequestReader:
    """Reader of requests from files, in batches.

    Parameters
    ----------
    inputs : path, or iterable of paths
        Files, compressed or not; `-` for standard input.
    format : {"log", "jsonl", "txt"}, optional
        None recognizes each file by its name and first bytes.
    fields : Fields, optional
        Fields of JSON records.
    keep_columns : bool, default False
        Return all other columns of the requests, too.

    Attributes
    ----------
    malformed : dict of str to int
        Number of lines that are not requests, by reason; complete at the end of the iteration.
    first_malformed : list of (str, int, str)
        File, line from 1, and reason of the first of them.
    seen : set of str
        Named fields, except that of the URL, that occur in records.
    formats : set of str
        Formats of the files.

    Examples
    --------
    >>> import os, tempfile
    >>> from nearkin.patterns.requests import RequestReader
    >>> path = os.path.join(tempfile.mkdtemp(), "access.log")
    >>> line = '10.0.0.7 - - [17/May/2015:10:05:03 +0000] "GET /a?b=1 HTTP/1.1" 200 17' + chr(10)
    >>> with open(path, "w") as file:
    ...     _ = file.write(line + "broken" + chr(10))
    >>> reader = RequestReader(path)
    >>> [batch.urls.to_pylist() for batch in reader]
    [[b'GET /a?b=1 HTTP/1.1']]
    >>> reader.malformed
    {'no time in brackets': 1}
    """

    def __init__(
        self,
        inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        format: RequestFormat | None = None,
        fields: Fields | None = None,
        keep_columns: bool = False,
    ) -> None:
        if format is not None and format not in get_args(RequestFormat):
            raise bad_parameter("format", repr(format), "one of " + ", ".join(get_args(RequestFormat)))
        paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
        if not paths:
            raise bad_parameter("inputs", "[]", "at least one path, or - for standard input")
        self.paths = [os.fspath(path) for path in paths]
        self._format = format
        self._fields = fields or Fields()
        self._keep_columns = keep_columns
        self.malformed: dict[str, int] = {}
        self.first_malformed: list[tuple[str, int, str]] = []
        self.seen: set[str] = set()
        self.formats: set[str] = set()
        self.on_read: Callable[[int], None] | None = None

    def __iter__(self) -> Iterator[Requests]:
        self.malformed, self.first_malformed, self.seen = {}, [], set()
        for path in self.paths:
            with _open_stream(path) as (raw, stream):
                block = _read(stream, path)
                kind = self._format or detect_format(path, block)
                self.formats.add(kind)
                reported = 0
                for requests in self._read_lines(path, block, stream, kind):
                    if self.on_read is not None and path != "-":
                        self.on_read(raw.tell() - reported)
                        reported = raw.tell()
                    yield requests

    def _skip(self, path: str, line: int, reason: str, detail: str = "") -> None:
        self.malformed[reason] = self.malformed.get(reason, 0) + 1
        self._record(path, line, reason + detail)

    def _record(self, path: str, line: int, reason: str) -> None:
        if len(self.first_malformed) < _MAX_MALFORMED:
            self.first_malformed.append((path, line, reason))

    def _read_lines(self, path: str, block: bytes, stream: ByteStream, kind: RequestFormat) -> Iterator[Requests]:
        """Read the requests of a file of lines."""
        parse = self._parse_json if kind == "jsonl" else partial(self._parse_text, log=kind == "log")
        line = 1
        while True:
            following = _read(stream, path)
            requests, num_bytes, num_lines = parse(path, line, block, end=not following)
            if requests is not None:
                yield requests
            if not following:
                return
            line += num_lines
            block = block[num_bytes:] + following
            if len(block) > _MAX_BYTES:
                message = f"{path}, line {line} has more than {_MAX_BYTES:,} bytes; is it a text file?"
                raise InputError(message, file=path, line=line)

    def _parse_text(
        self, path: str, line: int, block: bytes, *, log: bool, end: bool
    ) -> tuple[Requests | None, int, int]:
        """Return the requests of a block of a log or of URLs, and the numbers of parsed bytes and lines."""
        ends, urls, times, client_ends, clients, malformed, counts, num_bytes, num_lines = read_requests(
            np.frombuffer(block, np.uint8), log=log, end=end
        )
        for offset, reason in malformed:
            self._record(path, line + offset, reason)
        for reason, count in counts:
            self.malformed[reason] = self.malformed.get(reason, 0) + count
        if not len(ends):
            return None, num_bytes, num_lines
        if not log:
            return Requests(to_binary(ends, urls), None, None, None), num_bytes, num_lines
        known, senders = times.view("datetime64[us]"), to_binary(client_ends, clients)
        others = _log_columns(known, senders) if self._keep_columns else None
        return Requests(to_binary(ends, urls), None, known, senders, others), num_bytes, num_lines

    def _parse_json(self, path: str, line: int, block: bytes, *, end: bool) -> tuple[Requests | None, int, int]:
        """Return the requests of a block of JSON lines, and the numbers of parsed bytes and lines."""
        num_bytes = len(block) if end else block.rfind(b"\n") + 1
        lines = block[:num_bytes].split(b"\n")[: None if end else -1]
        parsed = (self._parse_record(path, number, text) for number, text in enumerate(lines, line) if text.strip())
        rows = [row for row in parsed if row is not None]
        return _build_batch(rows, self._others(rows)) if rows else None, num_bytes, len(lines)

    def _others(self, rows: Sequence[_Row]) -> list[dict[str, Any]] | None:
        """Return records without their URLs."""
        if not self._keep_columns:
            return None
        return [{key: value for key, value in row[4].items() if key != self._fields.url} for row in rows]

    def _parse_record(self, path: str, line: int, text: bytes) -> _Row | None:
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            self._skip(path, line, "invalid JSON")
            return None
        fields = self._fields
        url, method, time, client = (_get_field(record, name) for name in vars(fields).values())
        ticks = parse_time(time)
        if not isinstance(url, str) or ticks is None:
            field = f"text in {fields.url!r}" if not isinstance(url, str) else f"valid time in {fields.time!r}"
            others = ", ".join(map(repr, record)) if url is None and isinstance(record, dict) else ""
            self._skip(path, line, f"no {field}", f"; the record has {excerpt(others, 200)}" if others else "")
            return None
        named = {fields.method: method, fields.time: time, fields.client: client}
        self.seen.update(name for name, value in named.items() if name is not None and value is not None)
        return url, None if method is None else str(method), ticks, None if client is None else str(client), record


def _log_columns(times: npt.NDArray[np.datetime64], clients: Any) -> Any:
    """Return the client and the time of each line of a log as columns."""
    import pyarrow as pa

    names = [client.decode("utf-8", "backslashreplace") for client in to_values(clients)]
    columns = {
        "client": pa.array(names, pa.string()),
        "time": pa.array(times, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
    }
    return pa.RecordBatch.from_pydict(columns)


def _build_batch(rows: Sequence[_Row], others: list[dict[str, Any]] | None) -> Requests:
    import pyarrow as pa

    urls, methods, times, clients, _ = zip(*rows, strict=True)
    encoded = [url.encode("utf-8", "surrogatepass") for url in urls]
    return Requests(
        pa.array(encoded, pa.large_binary()),
        list(methods) if any(method is not None for method in methods) else None,
        np.array(times, np.int64).view("datetime64[us]") if any(time != NO_TIME for time in times) else None,
        list(clients) if any(client is not None for client in clients) else None,
        others,
    )


def _get_field(record: Any, name: str | None) -> Any:
    """Return the value of a field; dots in the name separate those of nested objects."""
    if name is None or not isinstance(record, dict):
        return None
    if name in record:
        return record[name]
    head, _, rest = name.partition(".")
    return _get_field(record.get(head), rest) if rest else None


def detect_format(name: str, block: bytes) -> RequestFormat:
    """Return the format of a file, from its name and first bytes.

    Examples
    --------
    >>> from nearkin.patterns.requests import detect_format
    >>> detect_format("a.gz", b'{"url": "/a"}'), detect_format("urls", b"/a")
    ('jsonl', 'txt')
    """
    path = Path(name)
    suffix = (path.with_suffix("") if path.suffix in (".gz", ".zst", ".bz2", ".xz", ".lz4") else path).suffix.lower()
    head = block[: 1 << 16].removeprefix(b"\xef\xbb\xbf").lstrip()
    if suffix in (".jsonl", ".ndjson") or head.startswith(b"{"):
        return "jsonl"
    first = head.split(b"\n", 1)[0]
    bracket = first.find(b"[")
    return "log" if 0 <= bracket < first.find(b"]") < first.find(b'"', max(bracket, 0)) else "txt"


def _read(stream: ByteStream, path: str) -> bytes:
    """Read a block; it is shorter than `_BLOCK` only at the end of the file."""
    buffer = bytearray(_BLOCK)
    view, size = memoryview(buffer), 0
    try:
        while size < _BLOCK and (count := stream.readinto(view[size:])):
            size += count
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path} can't be read: {error}", file=path) from error
    return bytes(view[:size])


@contextmanager
def _open_stream(path: str) -> Iterator[tuple[IO[bytes], ByteStream]]:
    """Open a file or standard input, and its decompressed bytes."""
    try:
        raw: Any = sys.stdin.buffer if path == "-" else Path(path).open("rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}", file=path) from error
    try:
        head = raw.peek(6)[:6]
        names: list[Compression] = [name for magic, name in MAGIC.items() if head.startswith(magic)]
        yield raw, decompressed(raw, names[0] if names else "")
    finally:
        if path != "-":
            raw.close()


__all__ = ["Fields", "RequestFormat", "RequestReader", "Requests", "detect_format"]
