"""One request: what its head says, and its body within the limits."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa

from nearkin.service.errors import Problem, bad_request
from nearkin.service.executor import Busy
from nearkin.service.settings import Limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGE = 1 << 16
"""Bytes of a body from which on it is read and answered beside the event loop."""
_PIECE = 1 << 20
_MOST_KEY = 200


class Gone(Exception):  # noqa: N818  # No error of ours: nobody waits for the answer.
    """The client has gone."""


class Call:
    """One request.

    Parameters
    ----------
    scope : dict
        As ASGI gives it.
    receive : function
    limits : Limits
    busy : Busy
    instance : str
        Id of the request, for its answer and the log.
    """

    __slots__ = ("_taken", "busy", "deadline", "headers", "instance", "limits", "receive", "scope", "task", "too_slow")

    def __init__(self, scope: Any, receive: Receive, limits: Limits, busy: Busy, instance: str) -> None:
        self.scope, self.receive, self.limits, self.busy, self.instance = scope, receive, limits, busy, instance
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.deadline = 0.0
        self.task: asyncio.Task[Any] | None = None
        self.too_slow = False
        self._taken = 0

    # Its head

    def query(self, allowed: tuple[str, ...]) -> dict[str, str]:
        """Query parameters.

        Raises
        ------
        Problem
            One that the route has not, or twice.
        """
        raw = self.scope["query_string"]
        if not raw:
            return {}
        try:
            pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict")
        except ValueError:
            raise bad_request("a query string that is none", "use name=value&name=value, percent-encoded") from None
        found: dict[str, str] = {}
        for name, value in pairs:
            if name not in allowed:
                names = f"this route takes {', '.join(allowed)}" if allowed else "this route takes none"
                raise bad_request(f"the query parameter {name[:40]!r}", names)
            if name in found:
                raise bad_request(f"the query parameter {name!r} twice", "give it once")
            found[name] = value
        return found

    @property
    def media_type(self) -> str:
        """The content type without its parameters, in lower case."""
        return self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")

    @property
    def key(self) -> str | None:
        """The idempotency key.

        Raises
        ------
        Problem
            One that is too long, or not printable.
        """
        raw = self.headers.get(b"idempotency-key")
        if raw is None:
            return None
        key = raw.decode("latin-1").strip()
        if not 0 < len(key) <= _MOST_KEY or not key.isprintable() or not key.isascii():
            raise bad_request("the idempotency key", f"use 1 to {_MOST_KEY} printable characters of ASCII")
        return key

    # Its body

    async def body(self) -> bytes:
        """The whole body, decompressed.

        Raises
        ------
        Problem
            too-large, busy, too-slow, media-type.
        """
        limit = self.limits.body
        length = self.headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length) > limit:
            raise too_large(int(length), limit)
        until = time.monotonic() + self.limits.seconds
        data, more = await self._next(until)
        self._take_within(len(data), limit)
        if more:
            chunks = [data]
            while more:
                chunk, more = await self._next(until)
                self._take_within(len(chunk), limit)
                chunks.append(chunk)
            data = b"".join(chunks)
        coding = self.headers.get(b"content-encoding", b"identity").strip().lower()
        if coding in (b"", b"identity"):
            return data
        found = await asyncio.to_thread(decompressed, data, coding.decode("latin-1"), limit)
        self._take(len(found))
        return found

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes; each piece within the time that is allowed.

        Raises
        ------
        Gone
            The client has gone.
        """
        more = True
        while more:
            chunk, more = await self._next(time.monotonic() + self.limits.seconds)
            if chunk:
                yield chunk

    async def _next(self, until: float) -> tuple[bytes, bool]:
        """What comes next of the body until a time, and whether there is more."""
        self.deadline = until
        message = await self.receive()
        self.deadline = 0.0
        if message["type"] != "http.request":
            raise Gone
        return message.get("body", b""), message.get("more_body", False)

    def _take_within(self, count: int, limit: int) -> None:
        """Take another part of a body, up to the limit of the whole."""
        if self._taken + count > limit:
            raise too_large(self._taken + count, limit)
        self._take(count)

    def _take(self, count: int) -> None:
        self.busy.take_bytes(count)
        self._taken += count

    def hold(self, size: int) -> None:
        """Hold this much of a body, and no more.

        Raises
        ------
        Problem
            busy.
        """
        if size > self._taken:
            self.busy.take_bytes(size - self._taken)
        else:
            self.busy.bytes -= self._taken - size
        self._taken = size

    def release(self) -> None:
        """The body is no longer held."""
        self.hold(0)


def too_large(found: int, limit: int) -> Problem:
    """The problem of a body beyond the limit; the connection ends, for the rest of it is not read."""
    allowed = f"send at most {limit:,} bytes at once, or NDJSON, which is answered while it comes"
    detail = f"a body of {found:,} bytes and more; {allowed}"
    return Problem("too-large", detail, headers={b"connection": b"close"}, found=found, allowed=allowed)


def decompressed(data: bytes, coding: str, limit: int) -> bytes:
    """A body as it was before it was compressed.

    Raises
    ------
    Problem
        media-type, too-large; bad-request for damaged data.
    """
    if coding not in ("gzip", "zstd"):
        raise Problem("media-type", f"content encoding {coding[:40]!r}; use gzip, zstd or none", found=coding[:40])
    found = _ungzip(data, limit) if coding == "gzip" else _unzstd(data, limit)
    if len(found) > limit:
        raise too_large(len(found), limit)
    return found


def _ungzip(data: bytes, limit: int) -> bytes:
    """All members; at most one byte beyond the limit."""
    parts, size = [], 0
    try:
        while data:
            member = zlib.decompressobj(wbits=31)
            part = member.decompress(data, limit + 1 - size)
            parts.append(part)
            size += len(part)
            if size > limit:
                break
            if not member.eof:
                raise bad_request("a gzip body that ends early", "send it whole")
            data = member.unused_data
    except zlib.error as error:
        raise bad_request(f"a damaged gzip body: {error}", "send it whole") from None
    return b"".join(parts)


def _unzstd(data: bytes, limit: int) -> bytes:
    parts, size = [], 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            while size <= limit and (part := stream.read(min(_PIECE, limit + 1 - size))):
                parts.append(part)
                size += len(part)
    except (OSError, pa.ArrowException) as error:
        raise bad_request(f"a damaged zstd body: {error}", "send it whole") from None
    return b"".join(parts)


def flag(query: dict[str, str], name: str) -> bool:
    """Whether a query parameter is set.

    Raises
    ------
    Problem
        bad-request: neither 0 nor 1.
    """
    value = query.get(name, "0")
    if value not in ("0", "1"):
        raise bad_request(f"{name}={value[:40]}", "use 1 or 0")
    return value == "1"


def count(query: dict[str, str], name: str, most: int, least: int = 1) -> int | None:
    """A number among the query parameters; None where it is not given.

    Raises
    ------
    Problem
        bad-request: no number, or one out of range.
    """
    value = query.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
        raise bad_request(f"{name}={value[:40]}", f"use {least} to {most:,}")
    return int(value)
