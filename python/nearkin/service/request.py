"""An HTTP request of a service: its headers, and its body within the limits."""

from __future__ import annotations

import asyncio
import io
import re
import threading
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

import pyarrow as pa

from nearkin.errors import CancelledWorkError, cancelled_threads, check_cancelled, require_extra
from nearkin.io.decompress import decompressed
from nearkin.io.inputs import Compression
from nearkin.service.errors import Problem, bad_request
from nearkin.service.state import AppState

with require_extra("service", "a service"):
    import anyio
    from starlette.requests import ClientDisconnect

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

T = TypeVar("T")
BATCH_LINES, BATCH_BYTES = 1000, 1 << 20
"""Lines and bytes of a stream that are processed together."""
_CHUNK = 1 << 20
_COMPRESSIONS: dict[str, Compression] = {"gzip": "gz", "zstd": "zst"}
_MAX_MEMBERS = 1000
"""Members of a gzip body. One takes microseconds to set up, and an empty one 20 bytes of the body."""
_LATE = 1.0
"""Seconds by which a timer is late if the process was suspended."""
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

    __slots__ = ("_is_read", "_receive", "_reserved", "headers", "id", "scope", "started", "state")

    def __init__(self, scope: Any, receive: Receive, state: AppState, request_id: str) -> None:
        self.started = time.perf_counter()
        self.scope, self._receive, self.state = scope, receive, state
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        sent_id = self.headers.get(b"x-request-id", b"")
        self.id = sent_id.decode() if _REQUEST_ID.fullmatch(sent_id) else request_id
        self._reserved, self._is_read = 0, False

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
        with _deadline(limits.timeout, "too-slow", f"the body did not arrive within {limits.timeout:g} seconds"):
            while more:
                chunk, more = await self._next_chunk()
                _check_size(self._reserved + len(chunk), limits.max_body)
                self.reserve(self._reserved + len(chunk))
                chunks.append(chunk)
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if self.encoding:
            data = await self.run(partial(decompress, data, self.encoding, limits.max_body))
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
            with _deadline(timeout, "too-slow", f"no data arrived for {timeout:g} seconds; send the rest again"):
                chunk, more = await self._next_chunk()
            yield chunk

    async def _next_chunk(self) -> tuple[bytes, bool]:
        """Return the next chunk of the body, and True if more follow."""
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        self._is_read = not message.get("more_body", False)
        return message.get("body", b""), not self._is_read

    async def run(self, work: Callable[[], T]) -> T:
        """Call a function in a thread; cancel it if it takes too long, or if the client leaves after the body.

        Parameters
        ----------
        work : callable
            It is cancelled within calls of the core, and where it calls `check_cancelled`.

        Raises
        ------
        Problem
            too-large: it took longer than the time limit.
        ClientDisconnect
            The client left.
        """
        seconds, call = self.state.limits.timeout, _Work(work)
        result = asyncio.ensure_future(asyncio.to_thread(call))
        # What is left of the channel is the end of the connection.
        left = asyncio.ensure_future(self._receive()) if self._is_read else None
        try:
            with _deadline(seconds, "too-large", f"the request takes more than {seconds:g} seconds; send less at once"):
                await asyncio.wait({result} if left is None else {result, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if left is not None:
                left.cancel()
            call.cancel()
        if not result.done():
            raise ClientDisconnect
        return result.result()

    def reserve(self, size: int) -> None:
        """Set the number of pending bytes of this request; raises busy if the service has too many."""
        self.state.admission.reserve_bytes(size - self._reserved)
        self._reserved = size


class _Work(Generic[T]):
    """A function that is called in another thread, and can be cancelled there."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work, self._lock = work, threading.Lock()
        self._thread: int | None = None
        self._is_cancelled = False

    def __call__(self) -> T:
        """Call the function; raises `CancelledWorkError` if it is cancelled first."""
        thread = threading.get_ident()
        with self._lock:
            if self._is_cancelled:
                raise CancelledWorkError
            self._thread = thread
        try:
            return self._work()
        finally:
            with self._lock:
                self._thread = None
                cancelled_threads.discard(thread)

    def cancel(self) -> None:
        """Let `check_cancelled` raise in the thread if it still runs the function."""
        with self._lock:
            self._is_cancelled = True
            if self._thread is not None:
                cancelled_threads.add(self._thread)


@contextmanager
def _deadline(seconds: float, slug: str, detail: str) -> Iterator[None]:
    """Cancel a block and raise a problem if it takes longer; time in which the process was suspended does not count."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def expire(due: float) -> None:
        nonlocal timer
        if loop.time() < due + _LATE:
            scope.cancel()
        else:
            timer = loop.call_later(seconds, expire, loop.time() + seconds)

    timer = loop.call_later(seconds, expire, loop.time() + seconds)
    with anyio.CancelScope() as scope:
        try:
            yield
        finally:
            timer.cancel()
    if scope.cancelled_caught:
        raise Problem(slug, detail, headers={"connection": "close"})


def _check_size(size: int, limit: int) -> None:
    """Raise too-large for a body beyond the limit; the connection is closed, because the rest is not read."""
    if size > limit:
        allowed = f"send at most {limit:,} bytes at once, or a stream of NDJSON"
        detail = f"a body of {size:,} bytes or more; {allowed}"
        raise Problem("too-large", detail, headers={"connection": "close"}, found=size, allowed=allowed)


def decompress(data: bytes, coding: str, limit: int) -> bytes:
    """Decompress a body; raises media-type for an unknown encoding, bad-request for damaged data, or too-large."""
    if coding not in _COMPRESSIONS:
        raise Problem("media-type", f"content encoding {coding[:40]!r}; use gzip, zstd or none", found=coding[:40])
    stream, chunks, size = decompressed(io.BytesIO(data), _COMPRESSIONS[coding], _MAX_MEMBERS), [], 0
    try:
        while chunk := stream.read(_CHUNK):
            check_cancelled()
            chunks.append(chunk)
            size += len(chunk)
            _check_size(size, limit)
    except (zlib.error, EOFError, OSError, pa.ArrowException) as error:
        raise bad_request(f"a damaged {coding} body: {error}", "send it complete, as one member") from None
    return b"".join(chunks)
