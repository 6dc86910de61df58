"""NDJSON that is answered while it comes: pieces of a stream become jobs, and each line has its own answer.

Answers are sent by a task of their own. A client that sends everything before it reads anything holds up nobody: what
it has not read lies in a file without a name.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import IO, TypeVar

from nearkin.service.calls import Call, Gone, Send
from nearkin.service.errors import Problem
from nearkin.service.responses import Row, encode

PIECE_LINES, PIECE_BYTES = 1000, 1 << 20
"""Lines, and bytes, that become one job."""
_HELD = 1 << 20
"""Bytes of answers in memory before they go to a file."""

T = TypeVar("T")
R = TypeVar("R")
Answer = Callable[[list[bytes], int], Awaitable[list[Row]]]
"""Answers lines; the number of the first."""


async def pieces_of(call: Call) -> AsyncIterator[list[bytes]]:
    """Lines of a body as it comes, some at a time; the end of a line is not part of it.

    Raises
    ------
    Problem
        too-large: a line beyond the limit. busy: no room for what comes.
    """
    rest = b""
    lines: list[bytes] = []
    size = 0
    async for chunk in call.chunks():
        call.hold(size + len(rest) + len(chunk))
        *whole, rest = (rest + chunk).split(b"\n") if b"\n" in chunk else (rest + chunk,)
        for line in whole:
            if len(line) > call.limits.line:
                if lines:
                    yield lines
                raise _too_long(len(line), call.limits.line)
            lines.append(line)
            size += len(line)
            if len(lines) >= PIECE_LINES or size >= PIECE_BYTES:
                yield lines
                lines, size = [], 0
        # What is there is answered before more of it comes.
        if lines:
            yield lines
            lines, size = [], 0
        call.hold(len(rest))
        if len(rest) > call.limits.line:
            raise _too_long(len(rest), call.limits.line)
    if rest:
        yield [rest]


def _too_long(found: int, limit: int) -> Problem:
    allowed = f"a line of NDJSON has at most {limit:,} bytes"
    return Problem("too-large", f"a line of {found:,} bytes and more; {allowed}", found=found, allowed=allowed)


class Spool:
    """Answers that nobody has read yet: in memory, then in a file without a name."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_HELD)  # noqa: SIM115  # `close` ends it.
        self._written = self._read = 0
        self._more = asyncio.Event()
        self._ended = False

    async def put(self, data: bytes) -> None:
        """Add some."""
        await self._do(self._write, data)
        self._more.set()

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        self._more.set()

    async def take(self) -> bytes:
        """What is there, at most 64 KB; nothing at the end."""
        while self._read == self._written:
            if self._ended:
                return b""
            self._more.clear()
            await self._more.wait()
        return await self._do(self._read_some, 1 << 16)

    def close(self) -> None:
        """Forget everything."""
        self._file.close()

    async def _do(self, act: Callable[[T], R], value: T) -> R:
        """In memory at once; in a file beside the event loop."""
        if self._written < _HELD // 2:
            return act(value)
        return await asyncio.to_thread(act, value)

    def _write(self, data: bytes) -> None:
        self._file.seek(self._written)
        self._file.write(data)
        self._written += len(data)

    def _read_some(self, most: int) -> bytes:
        self._file.seek(self._read)
        data = self._file.read(min(most, self._written - self._read))
        self._read += len(data)
        return data


async def answer_stream(call: Call, send: Send, answer: Answer) -> int:
    """Answer a stream line by line; gives the status.

    An error of the stream itself, such as a line that is too long, is its last answer.
    """
    spool = Spool()
    sender = asyncio.ensure_future(_send_all(call, send, spool))
    try:
        await _answer_all(call, spool, answer)
    finally:
        spool.end()
        try:
            await sender
        finally:
            spool.close()
    return 200


async def _answer_all(call: Call, spool: Spool, answer: Answer) -> None:
    number = 1
    try:
        async for lines in pieces_of(call):
            rows = await answer(lines, number)
            number += len(lines)
            await spool.put(b"".join([encode(row) + b"\n" for row in rows]))
    except Gone:
        return
    except Problem as problem:
        await spool.put(encode({"line": number, "error": problem.members(call.instance)}) + b"\n")
    except asyncio.CancelledError:
        if not call.too_slow:
            raise
        slow = Problem("too-slow", f"nothing came for {call.limits.seconds:g} seconds; send the rest again")
        await spool.put(encode({"line": number, "error": slow.members(call.instance)}) + b"\n")


async def _send_all(call: Call, send: Send, spool: Spool) -> None:
    headers = [(b"content-type", b"application/x-ndjson"), (b"x-request-id", call.instance.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while data := await spool.take():
        await send({"type": "http.response.body", "body": data, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
