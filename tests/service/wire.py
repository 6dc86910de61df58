"""HTTP/1.1 by hand: many connections of one thread (asyncio), and requests that no client library would send."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from live import JSON, SECONDS, Reply, Service


def request(
    method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, type: str = JSON
) -> bytes:
    """The bytes of a request. A body that is neither bytes nor None is sent as JSON."""
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"Host": "127.0.0.1"}
    if body is not None:
        given |= {"Content-Type": type, "Content-Length": str(len(content))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in {**given, **(headers or {})}.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + content


def head_of(head: bytes) -> tuple[int, dict[str, str]]:
    """Status and headers, names in lower case."""
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(first.split(" ")[1]), {name.lower(): value.strip() for name, _, value in pairs}


class Connection:
    """A connection that is kept, for one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, service: Service) -> Connection:
        """Connect."""
        return cls(*await asyncio.open_connection(service.host, service.port, limit=1 << 24))

    async def exchange(self, content: bytes) -> Reply:
        """Send a request and read its answer.

        Raises
        ------
        OSError, EOFError
            The service has closed the connection before the answer was whole.
        """
        self._writer.write(content)
        return await self.answer()

    async def answer(self) -> Reply:
        """The next answer."""
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
def plug(service: Service, seconds: float = SECONDS) -> Iterator[socket.socket]:
    """A socket that is connected to a service."""
    with socket.create_connection((service.host, service.port), timeout=seconds) as found:
        yield found


def received(connection: socket.socket) -> bytes:
    """All that comes until the other side closes; a reset is an end, too."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def spoken(connection: socket.socket, seconds: float, quiet: float = 0.3) -> list[Reply]:
    """The answers that come until the other side closes, or is quiet after one.

    Raises
    ------
    TimeoutError
        No answer, and not closed either.
    """
    content, end = b"", time.monotonic() + seconds
    connection.settimeout(quiet)
    while True:
        try:
            part = connection.recv(1 << 16)
        except TimeoutError:
            if found := replies_of(content):
                return found
            if time.monotonic() > end:
                raise
            continue
        except ConnectionError:
            part = b""
        if not part:
            return replies_of(content)
        content += part


def replies_of(content: bytes) -> list[Reply]:
    """The answers in what was received, chunked bodies joined; a rest that is not whole is left out."""
    found = []
    while b"\r\n\r\n" in content:
        head, _, content = content.partition(b"\r\n\r\n")
        status, headers = head_of(head)
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body, content = unchunked(content)
        else:
            length = int(headers.get("content-length", 0))
            body, content = content[:length], content[length:]
        found.append(Reply(status, headers, body))
    return found


def unchunked(content: bytes) -> tuple[bytes, bytes]:
    """A chunked body, and what follows it."""
    body = b""
    while content:
        line, _, content = content.partition(b"\r\n")
        size = int(line.split(b";")[0] or b"0", 16)
        body, content = body + content[:size], content[size + 2 :]
        if not size:
            break
    return body, content
