"""Requests from files: access logs, JSON lines, a URL a line, HAR; in batches for `UrlPatterns.partial_fit`.

| format | what it is | told by |
|---|---|---|
| `log` | common or combined log format (core: `patterns/urls/logs.rs`) | a time in brackets, a string in quotes |
| `jsonl` | a JSON object a line, with a URL in one field | `{` first, or the name |
| `txt` | a URL, path or request line each | anything else |
| `har` | a recording of a browser: one JSON object with `log.entries` | the name `.har` |

Lines that are no request are counted by reason, the first of them with file and line. Memory is that of a block.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from nearkin._core import read_requests
from nearkin.errors import InputError, bad_parameter
from nearkin.io.decompress import MAGIC, decompressed
from nearkin.io.encoding import ByteStream
from nearkin.io.inputs import Compression
from nearkin.patterns.inputs import NO_TIME, ticks_of

if TYPE_CHECKING:
    import pyarrow as pa

RequestFormat: TypeAlias = Literal["log", "jsonl", "txt", "har"]
_BLOCK = 1 << 22
_TOLD = 10
"""Malformed lines that are told with their places."""
_LONGEST = 1 << 28
"""Bytes of the longest line, and of a recording."""


@dataclass(frozen=True)
class Requests:
    """A batch of requests, as `UrlPatterns.partial_fit` takes them.

    Attributes
    ----------
    urls : pyarrow array of binary values
    methods : list of str or None, or None
        None where request lines have them.
    times : (n,) datetime64[us] or None
    clients : pyarrow array of binary values or list, or None
    """

    urls: Any
    methods: list[str | None] | None
    times: npt.NDArray[np.datetime64] | None
    clients: Any


@dataclass(frozen=True)
class Fields:
    """Where a record of JSON lines has what; a name with dots is a place in nested objects.

    Attributes
    ----------
    url, method, time, client : str or None
        None for what the records have not. Times are numbers of seconds, or texts as ISO 8601 or a log write them.
    """

    url: str = "url"
    method: str | None = None
    time: str | None = None
    client: str | None = None


class RequestReader:
    """Requests of files, in batches.

    Parameters
    ----------
    inputs : path, or iterable of paths
        Files, compressed or not; `-` for standard input.
    format : {"log", "jsonl", "txt", "har"}, optional
        None to tell by name and first bytes, file by file.
    fields : Fields, optional
        Of JSON lines.

    Attributes
    ----------
    malformed : dict of str to int
        Lines that are no request, by reason; complete when the iteration has ended.
    first_malformed : list of (str, int, str)
        File, line from 1, and reason of the first ones.
    seen : set of str
        Which of the named fields, beside that of the URL, a record of JSON lines had.
    formats : set of str
        Formats that were read.

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
    ) -> None:
        if format is not None and format not in get_args(RequestFormat):
            raise bad_parameter("format", repr(format), "one of " + ", ".join(get_args(RequestFormat)))
        paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
        if not paths:
            raise bad_parameter("inputs", "[]", "at least one path, or - for standard input")
        self._paths = [os.fspath(path) for path in paths]
        self._format = format
        self._fields = fields or Fields()
        self.malformed: dict[str, int] = {}
        self.first_malformed: list[tuple[str, int, str]] = []
        self.seen: set[str] = set()
        self.formats: set[str] = set()

    def __iter__(self) -> Iterator[Requests]:
        self.malformed, self.first_malformed, self.seen = {}, [], set()
        for path in self._paths:
            with _opened(path) as stream:
                block = _read(stream, _BLOCK, path)
                kind = self._format or format_of(path, block)
                self.formats.add(kind)
                if kind == "har":
                    yield from self._recording(path, block, stream)
                elif kind == "jsonl":
                    yield from self._json_lines(path, block, stream)
                else:
                    yield from self._lines(path, block, stream, log=kind == "log")

    def _refuse(self, path: str, line: int, reason: str, count: int = 1) -> None:
        self.malformed[reason] = self.malformed.get(reason, 0) + count
        if count and len(self.first_malformed) < _TOLD:
            self.first_malformed.append((path, line, reason))

    def _lines(self, path: str, block: bytes, stream: ByteStream, *, log: bool) -> Iterator[Requests]:
        """Requests of a log, or of plain lines."""
        line, rest = 0, block
        while True:
            more = _read(stream, _BLOCK, path)
            found = read_requests(np.frombuffer(rest, np.uint8), log=log, end=not more)
            ends, data, times, client_ends, clients, malformed, counts, consumed, lines = found
            for place, reason in malformed:
                if len(self.first_malformed) < _TOLD:
                    self.first_malformed.append((path, line + place + 1, reason))
            for reason, count in counts:
                self.malformed[reason] = self.malformed.get(reason, 0) + count
            line += lines
            if len(ends):
                yield Requests(
                    _binary(ends, data),
                    None,
                    times.view("datetime64[us]") if log else None,
                    _binary(client_ends, clients) if log else None,
                )
            if not more:
                return
            rest = rest[consumed:] + more
            if len(rest) > _LONGEST:
                raise InputError(
                    f"{path}, line {line + 1} has more than {_LONGEST:,} bytes; is it a text file?",
                    file=path,
                    line=line + 1,
                )

    def _json_lines(self, path: str, block: bytes, stream: ByteStream) -> Iterator[Requests]:
        """Requests of JSON lines."""
        line, rest = 0, block
        while True:
            more = _read(stream, _BLOCK, path)
            cut = rest.rfind(b"\n") + 1 if more else len(rest)
            rows = []
            for text in rest[:cut].split(b"\n")[: None if not more else -1]:
                line += 1
                if text.strip():
                    row = self._json_row(path, line, text)
                    rows += [row] if row else []
            if rows:
                yield self._batch(rows)
            if not more:
                return
            rest = rest[cut:] + more
            if len(rest) > _LONGEST:
                raise InputError(
                    f"{path}, line {line + 1} has more than {_LONGEST:,} bytes; is it a text file?",
                    file=path,
                    line=line + 1,
                )

    def _json_row(self, path: str, line: int, text: bytes) -> tuple[Any, ...] | None:
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            self._refuse(path, line, "no JSON")
            return None
        url = _at(record, self._fields.url)
        if not isinstance(url, str):
            self._refuse(path, line, f"no text in {self._fields.url!r}")
            return None
        time = _at(record, self._fields.time)
        ticks = ticks_of(time)
        if ticks is None:
            self._refuse(path, line, f"a time in {self._fields.time!r} that is none")
            return None
        method, client = _at(record, self._fields.method), _at(record, self._fields.client)
        named = {self._fields.method: method, self._fields.time: time, self._fields.client: client}
        self.seen.update(name for name, value in named.items() if name is not None and value is not None)
        return url, None if method is None else str(method), ticks, None if client is None else str(client)

    def _batch(self, rows: list[tuple[Any, ...]]) -> Requests:
        import pyarrow as pa

        urls, methods, times, clients = zip(*rows, strict=True)
        encoded = [url.encode("utf-8", "surrogatepass") for url in urls]
        return Requests(
            pa.array(encoded, pa.large_binary()),
            list(methods) if any(method is not None for method in methods) else None,
            np.array(times, np.int64).view("datetime64[us]") if any(time != NO_TIME for time in times) else None,
            list(clients) if any(client is not None for client in clients) else None,
        )

    def _recording(self, path: str, block: bytes, stream: ByteStream) -> Iterator[Requests]:
        """Requests of a HAR file."""
        text = block
        while more := _read(stream, _BLOCK, path):
            text += more
            if len(text) > _LONGEST:
                raise InputError(f"{path} has more than {_LONGEST:,} bytes, which no recording has", file=path)
        try:
            entries = json.loads(text.removeprefix(b"\xef\xbb\xbf"))["log"]["entries"]
            found = [(entry.get("request") or {}, entry.get("startedDateTime")) for entry in entries]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{path} is no HAR file: it has no log.entries ({error})", file=path) from error
        rows = []
        for number, (request, time) in enumerate(found, 1):
            url = request.get("url") if isinstance(request, dict) else None
            if not isinstance(url, str):
                self._refuse(path, number, "an entry without the URL of a request")
                continue
            ticks = ticks_of(time)
            rows.append((url, request.get("method"), NO_TIME if ticks is None else ticks, None))
        if rows:
            yield self._batch(rows)


def _at(record: Any, name: str | None) -> Any:
    """The value at a name, which may be a place in nested objects."""
    if name is None or not isinstance(record, dict):
        return None
    if name in record:
        return record[name]
    head, _, rest = name.partition(".")
    return _at(record.get(head), rest) if rest else None


def format_of(name: str, block: bytes) -> RequestFormat:
    """The format of a file, by its name and first bytes.

    Examples
    --------
    >>> from nearkin.patterns.requests import format_of
    >>> format_of("a.gz", b'{"url": "/a"}'), format_of("urls", b"/a")
    ('jsonl', 'txt')
    """
    path = Path(name)
    suffix = (path.with_suffix("") if path.suffix in (".gz", ".zst", ".bz2", ".xz", ".lz4") else path).suffix.lower()
    if suffix == ".har":
        return "har"
    head = block[: 1 << 16].removeprefix(b"\xef\xbb\xbf").lstrip()
    if suffix in (".jsonl", ".ndjson") or head.startswith(b"{"):
        return "jsonl"
    first = head.split(b"\n", 1)[0]
    opened = first.find(b"[")
    return "log" if 0 <= opened < first.find(b"]") < first.find(b'"', max(opened, 0)) else "txt"


def _binary(ends: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> pa.Array:
    """Byte strings that lie back to back, as Arrow."""
    import pyarrow as pa

    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    return pa.Array.from_buffers(pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _read(stream: ByteStream, most: int, path: str) -> bytes:
    """Up to `most` bytes, fewer at the end alone."""
    buffer = bytearray(most)
    view, filled = memoryview(buffer), 0
    try:
        while filled < most and (count := stream.readinto(view[filled:])):
            filled += count
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path} can't be read: {error}", file=path) from error
    return bytes(view[:filled])


@contextmanager
def _opened(path: str) -> Iterator[ByteStream]:
    """The decompressed bytes of a file, or of standard input."""
    try:
        raw: Any = sys.stdin.buffer if path == "-" else Path(path).open("rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}", file=path) from error
    try:
        head = raw.peek(6)[:6]
        names: list[Compression] = [name for magic, name in MAGIC.items() if head.startswith(magic)]
        yield decompressed(raw, names[0] if names else "")
    finally:
        if path != "-":
            raw.close()


__all__ = ["Fields", "RequestFormat", "RequestReader", "Requests", "format_of"]
