"""Responses: JSON, problems, and streams of NDJSON that are sent while the request still arrives."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any

from nearkin.errors import require_extra
from nearkin.service.bodies import Row
from nearkin.service.errors import Problem
from nearkin.service.models import JSON, NDJSON, encode
from nearkin.service.request import HttpRequest, Receive, Send

with require_extra("service", "a service"):
    from fastapi import Response
    from starlette.requests import ClientDisconnect

PROBLEM_JSON = "application/problem+json"
_MEMORY = 1 << 20
"""Bytes of unread responses in memory; more are stored in a temporary file."""
_CHUNK = 1 << 16


class JsonResponse(Response):
    """A response of JSON, encoded by msgspec."""

    media_type = JSON

    def render(self, content: Any) -> bytes:
        """Encode the content."""
        return encode(content)


class ProblemResponse(JsonResponse):
    """A response of problem details (RFC 9457)."""

    media_type = PROBLEM_JSON

    def __init__(self, problem: Problem, request_id: str) -> None:
        super().__init__(problem.details(request_id), problem.status, problem.headers)


def encode_lines(rows: list[Row]) -> bytes:
    """Encode rows as NDJSON."""
    return b"".join([encode(row) + b"\n" for row in rows])


class NdjsonStream(Response):
    """A response of one line per line of the request, sent while the request still arrives.

    Lines are sent by a task of their own. A client that sends everything before it reads anything blocks nobody:
    what it has not read yet is spooled to a temporary file. An error of the stream itself, such as a line that is too
    long, is its last line.

    Parameters
    ----------
    request : HttpRequest
    process : callable
        Returns the rows for consecutive lines; the second argument is the number of the first line.
    """

    media_type = NDJSON

    def __init__(self, request: HttpRequest, process: Callable[[list[bytes], int], Awaitable[list[Row]]]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._request, self._process = request, process

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Process the request and send the response."""
        with tempfile.SpooledTemporaryFile(max_size=_MEMORY) as file:
            spool = _ResponseSpool(file)
            sender = asyncio.ensure_future(self._send_lines(send, spool))
            try:
                await self._process_lines(spool)
            finally:
                spool.end()
                await sender

    async def _process_lines(self, spool: _ResponseSpool) -> None:
        number = 1
        try:
            async for lines in self._request.lines():
                await spool.write(encode_lines(await self._process(lines, number)))
                number += len(lines)
        except ClientDisconnect:
            return
        except Problem as problem:
            await spool.write(encode_lines([{"line": number, "error": problem.details(self._request.id)}]))

    async def _send_lines(self, send: Send, spool: _ResponseSpool) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        while data := await spool.read():
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class _ResponseSpool:
    """A queue of bytes in a file, which is in memory up to a limit."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._written = self._read = 0
        self._changed = asyncio.Event()
        self._access_lock = asyncio.Lock()
        self._ended = False

    async def write(self, data: bytes) -> None:
        """Append bytes."""
        await self._access(self._written, self._file.write, data)
        self._written += len(data)
        self._changed.set()

    async def read(self) -> bytes:
        """Return up to 64 KB as soon as there are any; nothing at the end."""
        while self._read == self._written and not self._ended:
            self._changed.clear()
            await self._changed.wait()
        data: bytes = await self._access(self._read, self._file.read, min(_CHUNK, self._written - self._read))
        self._read += len(data)
        return data

    async def _access(self, position: int, method: Callable[[Any], Any], argument: Any) -> Any:
        """Call a method of the file at a position, in a thread if the file may be on disk."""

        def access() -> Any:
            self._file.seek(position)
            return method(argument)

        # The file has one position, so that reading and writing take turns.
        async with self._access_lock:
            return access() if self._written < _MEMORY // 2 else await asyncio.to_thread(access)

    def end(self) -> None:
        """Mark the end of the queue."""
        self._ended = True
        self._changed.set()
