"""Responses: JSON, problems, and streams of NDJSON that are sent while the request still arrives."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from nearkin.errors import require_extra
from nearkin.service.bodies import Row
from nearkin.service.errors import Problem, problem_from, truncated_body
from nearkin.service.models import JSON, NDJSON, encode, end_line
from nearkin.service.request import HttpRequest, Receive, Send
from nearkin.service.telemetry import log

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


class BrokenStreamError(Exception):
    """A response that has begun and cannot be completed: its connection is closed."""


class NdjsonStream(Response):
    """A response of one line per line of the request, sent while the request still arrives.

    Lines are sent by a task of their own. A client that sends everything before it reads anything blocks nobody:
    what it has not read yet is spooled to a temporary file.

    The last line says that it is the end, and how many lines came before it. After an error of the stream itself, such
    as a line that is too long, the error is the last line, and the transfer is broken off.

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
                error = await self._process_lines(spool)
                spool.end()
                await sender
            finally:
                sender.cancel()
            if error is not None:
                raise BrokenStreamError(str(error)) from error
            await send({"type": "http.response.body", "body": b""})

    async def _process_lines(self, spool: _ResponseSpool) -> Exception | None:
        """Spool the results, and the line at the end; return an error that ended the stream early."""
        number = 1
        try:
            async for lines in self._request.lines():
                await spool.write(encode_lines(await self._process(lines, number)))
                number += len(lines)
            await spool.write(end_line(number - 1) + b"\n")
        except Exception as error:
            problem = truncated_body() if isinstance(error, ClientDisconnect) else problem_from(error)
            if not isinstance(error, (Problem, ClientDisconnect)):
                log("error", "stream", id=self._request.id, line=number, error=f"{type(error).__name__}: {error}")
            # What can't be spooled is missing, which the broken transfer says too.
            with suppress(OSError):
                await spool.write(encode_lines([{"line": number, "error": problem.details(self._request.id)}]))
            return error
        return None

    async def _send_lines(self, send: Send, spool: _ResponseSpool) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        while data := await spool.read():
            await send({"type": "http.response.body", "body": data, "more_body": True})


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
