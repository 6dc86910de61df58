"""Raw HTTP/1.1: many connections in one thread (asyncio), and requests that no client library would send."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from forked import ForkedServices
from live import JSON, SECONDS, Reply, Service


def request(
    method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, type: str = JSON
) -> bytes:
    """Return the bytes of a request. A body that is neither bytes nor None is sent as JSON."""
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    sent_headers = {"Host": "127.0.0.1"}
    if body is not None:
        sent_headers |= {"Content-Type": type, "Content-Length": str(len(content))}
    lines = [
        f"{method} {path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in {**sent_headers, **(headers or {})}.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + content


def head_of(head: bytes) -> tuple[int, dict[str, str]]:
    """Return status and headers; header names are in lower case."""
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(first.split(" ")[1]), {name.lower(): value.strip() for name, _, value in pairs}


class Connection:
    """A persistent connection for consecutive requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, service: Service | ForkedServices) -> Connection:
        """Connect."""
        return cls(*await asyncio.open_connection(service.host, service.port, limit=1 << 24))

    async def exchange(self, content: bytes) -> Reply:
        """Send a request and return its response.

        Raises
        ------
        OSError, EOFError
            The service has closed the connection before the response was complete.
        """
        self._writer.write(content)
        return await self.answer()

    async def answer(self) -> Reply:
        """Return the next response."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        status, headers = head_of(head[:-4])
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return Reply(status, headers, await self._reader.readexactly(int(headers.get("content-length", 0))))
        body = b""
        while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return Reply(status, headers, body)

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


@contextmanager
def open_socket(service: Service, seconds: float = SECONDS) -> Iterator[socket.socket]:
    """Open a socket that is connected to a service."""
    with socket.create_connection((service.host, service.port), timeout=seconds) as connection:
        yield connection


def read_all(connection: socket.socket) -> bytes:
    """Return everything that is received until the other side closes or resets the connection."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def read_responses(connection: socket.socket, seconds: float, quiet: float = 0.3) -> list[Reply]:
    """Return the responses until the other side closes the connection, or is silent after one.

    Raises
    ------
    TimeoutError
        No response, and the connection is still open.
    """
    content, end = b"", time.monotonic() + seconds
    connection.settimeout(quiet)
    while True:
        try:
            part = connection.recv(1 << 16)
        except TimeoutError:
            if replies := parse_responses(content):
                return replies
            if time.monotonic() > end:
                raise
            continue
        except ConnectionError:
            part = b""
        if not part:
            return parse_responses(content)
        content += part


def parse_responses(content: bytes) -> list[Reply]:
    """Return the complete responses in received bytes, with chunked bodies joined."""
    replies = []
    while b"\r\n\r\n" in content:
        head, _, content = content.partition(b"\r\n\r\n")
        status, headers = head_of(head)
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body, content = unchunked(content)
        else:
            length = int(headers.get("content-length", 0))
            body, content = content[:length], content[length:]
        replies.append(Reply(status, headers, body))
    return replies


def unchunked(content: bytes) -> tuple[bytes, bytes]:
    """Return a chunked body, and the bytes after it."""
    body = b""
    while content:
        line, _, content = content.partition(b"\r\n")
        size = int(line.split(b";")[0] or b"0", 16)
        body, content = body + content[:size], content[size + 2 :]
        if not size:
            break
    return body, content
