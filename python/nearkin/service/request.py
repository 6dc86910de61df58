"""An HTTP request of a service: its headers, and its body within the limits."""

from __future__ import annotations

import asyncio
import re
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa

from nearkin.errors import require_extra
from nearkin.service.errors import Problem, bad_request
from nearkin.service.state import AppState

with require_extra("service", "a service"):
    import anyio
    from starlette.requests import ClientDisconnect

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BATCH_LINES, BATCH_BYTES = 1000, 1 << 20
"""Lines and bytes of a stream that are processed together."""
_CHUNK = 1 << 20
_MAX_KEY = 200
_CHARSET = re.compile(rb"""(?:^|;)\s*charset\s*=\s*["']?([^\s;"']*)""", re.IGNORECASE)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,100}")


class HttpRequest:
    """One HTTP request.

    Parameters
    ----------
    scope : dict
        ASGI scope.
    receive : callable
        ASGI channel of the body.
    state : AppState
    request_id : str
        Id for the response and the log, unless the client sent one.
    """

    __slots__ = ("_receive", "_reserved", "headers", "id", "scope", "started", "state")

    def __init__(self, scope: Any, receive: Receive, state: AppState, request_id: str) -> None:
        self.started = time.perf_counter()
        self.scope, self._receive, self.state = scope, receive, state
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        sent_id = self.headers.get(b"x-request-id", b"")
        self.id = sent_id.decode() if _REQUEST_ID.fullmatch(sent_id) else request_id
        self._reserved = 0

    @property
    def media_type(self) -> str:
        """Content type without its parameters, in lower case; a charset other than UTF-8 raises media-type."""
        name, _, parameters = self.headers.get(b"content-type", b"").partition(b";")
        if parameters:
            # JSON is UTF-8 and has no charset (RFC 8259, sections 8.1 and 11). One that says otherwise is no JSON.
            charset = _CHARSET.search(parameters)
            if charset is not None and charset[1].lower() not in (b"utf-8", b"utf8", b"us-ascii"):
                found = charset[1][:40].decode("latin-1")
                raise Problem("media-type", f"charset {found!r}; send UTF-8", found=found, allowed="utf-8")
        return name.strip().lower().decode("latin-1")

    @property
    def encoding(self) -> str:
        """Content encoding; empty if the body is not compressed."""
        coding = self.headers.get(b"content-encoding", b"").strip().lower().decode("latin-1")
        return "" if coding == "identity" else coding

    @property
    def idempotency_key(self) -> str | None:
        """Idempotency key; a malformed one raises a bad-request."""
        header = self.headers.get(b"idempotency-key")
        if header is None:
            return None
        key = header.decode("latin-1").strip()
        if not 0 < len(key) <= _MAX_KEY or not key.isprintable() or not key.isascii():
            raise bad_request("the idempotency key", f"use 1 to {_MAX_KEY} printable characters of ASCII")
        return key

    def check_query(self, allowed: list[str]) -> None:
        """Raise a bad-request if the query string has an unknown or a repeated parameter."""
        names = [name for name, _ in parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)]
        for number, name in enumerate(names):
            if name not in allowed:
                message = f"this route takes {', '.join(allowed)}" if allowed else "this route takes no parameters"
                raise bad_request(f"the query parameter {name[:40]!r}", message)
            if name in names[:number]:
                raise bad_request(f"the query parameter {name!r} twice", "send it once")

    async def body(self) -> bytes:
        """Return the complete body, decompressed; raises too-large, busy, too-slow or media-type."""
        limits, chunks, more = self.state.limits, [], True
        length = self.headers.get(b"content-length", b"")
        if length.isdigit():
            _check_size(int(length), limits.max_body)
        with _deadline(limits.timeout, f"the body did not arrive within {limits.timeout:g} seconds"):
            while more:
                chunk, more = await self._next_chunk()
                _check_size(self._reserved + len(chunk), limits.max_body)
                self.reserve(self._reserved + len(chunk))
                chunks.append(chunk)
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if self.encoding:
            data = await asyncio.to_thread(decompress, data, self.encoding, limits.max_body)
            self.reserve(self._reserved + len(data))
        return data

    async def lines(self) -> AsyncIterator[list[bytes]]:
        """Yield the lines of the body in batches, as they arrive; a compressed body is decompressed first.

        Raises
        ------
        Problem
            too-large: a line beyond the limit. too-slow: no data arrived in time. busy: too many bytes are pending.
        """
        rest, limit = b"", self.state.limits.max_line
        async for chunk in self._chunks():
            self.reserve(len(rest) + len(chunk))
            *lines, rest = (rest + chunk).split(b"\n")
            too_long = next((line for line in (*lines, rest) if len(line) > limit), None)
            if too_long is not None:
                lines = lines[: lines.index(too_long)] if too_long in lines else lines
            start = size = 0
            for stop, line in enumerate(lines, 1):
                size += len(line)
                if stop - start == BATCH_LINES or size >= BATCH_BYTES or stop == len(lines):
                    yield lines[start:stop]
                    start, size = stop, 0
            if too_long is not None:
                allowed, length = f"a line of NDJSON has at most {limit:,} bytes", len(too_long)
                detail = f"a line of {length:,} bytes or more; {allowed}"
                raise Problem("too-large", detail, found=length, allowed=allowed)
            self.reserve(len(rest))
        if rest:
            yield [rest]

    async def _chunks(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the body; a compressed body is one chunk."""
        more, timeout = True, self.state.limits.timeout
        if self.encoding:
            yield await self.body()
            return
        while more:
            with _deadline(timeout, f"no data arrived for {timeout:g} seconds; send the rest again"):
                chunk, more = await self._next_chunk()
            yield chunk

    async def _next_chunk(self) -> tuple[bytes, bool]:
        """Return the next chunk of the body, and True if more follow."""
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        return message.get("body", b""), message.get("more_body", False)

    def reserve(self, size: int) -> None:
        """Set the number of pending bytes of this request; raises busy if the service has too many."""
        self.state.admission.reserve_bytes(size - self._reserved)
        self._reserved = size


@contextmanager
def _deadline(seconds: float, detail: str) -> Iterator[None]:
    """Cancel a block and raise too-slow if it takes longer."""
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        raise Problem("too-slow", detail, headers={"connection": "close"}) from None


def _check_size(size: int, limit: int) -> None:
    """Raise too-large for a body beyond the limit; the connection is closed, because the rest is not read."""
    if size > limit:
        allowed = f"send at most {limit:,} bytes at once, or a stream of NDJSON"
        detail = f"a body of {size:,} bytes or more; {allowed}"
        raise Problem("too-large", detail, headers={"connection": "close"}, found=size, allowed=allowed)


def decompress(data: bytes, coding: str, limit: int) -> bytes:
    """Decompress a body; raises media-type for an unknown encoding, bad-request for damaged data, or too-large."""
    if coding not in ("gzip", "zstd"):
        raise Problem("media-type", f"content encoding {coding[:40]!r}; use gzip, zstd or none", found=coding[:40])
    chunks, size = [], 0
    try:
        for chunk in (_gunzip if coding == "gzip" else _unzstd)(data, limit + 1):
            chunks.append(chunk)
            size += len(chunk)
            _check_size(size, limit)
    except (zlib.error, EOFError, OSError, pa.ArrowException) as error:
        raise bad_request(f"a damaged {coding} body: {error}", "send it complete") from None
    return b"".join(chunks)


def _gunzip(data: bytes, max_chunk: int) -> Iterator[bytes]:
    """Yield the members of a gzip file, each up to `max_chunk` bytes."""
    while data:
        member = zlib.decompressobj(wbits=31)
        yield member.decompress(data, max_chunk)
        if not member.eof:
            raise EOFError("it ends early")
        data = member.unused_data


def _unzstd(data: bytes, max_chunk: int) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while chunk := stream.read(min(_CHUNK, max_chunk)):
            yield chunk
