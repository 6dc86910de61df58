"""A loader: many connections of one thread, requests that are ready as bytes, and the exact time of every answer.

Each connection has one request under way. Without `rate` a connection sends its next request when the last one is
answered (a closed loop); with `rate` requests are sent at even times, on whichever connection is free, however fast
answers come (an open loop, as the clients of an overloaded service are), and the time of an answer counts from the
moment when its request was due.

The loop costs some 15 microseconds of CPU per request, so that half of a core is enough for 30,000 requests per second.
Needs Linux (epoll).
"""

from __future__ import annotations

import array
import json
import select
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TICKS = 100
"""Of `/proc/PID/stat` per second."""


def post(path: str, body: bytes, kind: str = "application/json", headers: str = "") -> bytes:
    """The bytes of a request."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def document(path: str, content: dict[str, object]) -> bytes:
    """The request of one JSON object."""
    return post(path, json.dumps(content, ensure_ascii=False).encode())


@dataclass
class Load:
    """What a load found.

    Attributes
    ----------
    seconds, cpu_seconds : float
        Wall time, and CPU time of the loader.
    statuses : Counter
        How many answers had each status.
    latencies : array of int64
        Nanoseconds to each answer of status 200.
    lost : int
        Connections that were closed before an answer was whole; they are opened again.
    bodies : list of bytes
        The bodies of the first answers that are no 200.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    latencies: array.array[int] = field(default_factory=lambda: array.array("q"))
    lost: int = 0
    bodies: list[bytes] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Answers of status 200 per second."""
        return self.statuses[200] / self.seconds

    def figures(self) -> dict[str, object]:
        """What goes into the file of a run."""
        ms = np.frombuffer(self.latencies, np.int64) / 1e6 if self.latencies else np.full(1, np.nan)
        return {
            "seconds": self.seconds,
            "per_second": self.rate,
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "lost": self.lost,
            "loader_cpu_seconds": self.cpu_seconds,
            **{f"p{q:g}_ms": float(np.percentile(ms, q)) for q in (50, 90, 99, 99.9)},
            "max_ms": float(ms.max()),
            **({"refused": [body.decode(errors="replace")[:500] for body in self.bodies]} if self.bodies else {}),
        }


class _Connection:
    """A socket, what is left to send, what has come, and since when the request is due."""

    __slots__ = ("begin", "content", "found", "left", "need", "socket")

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.begin = 0
        self.content: bytes | None = None
        self.left: memoryview | None = None
        self.found = b""
        self.need = 0


class Loader:
    """Sends requests to one address.

    Parameters
    ----------
    address : tuple of str and int
    requests : iterator of bytes
        Whole requests; the load ends when there are no more.
    connections : int
    seconds : float
        The load ends after them, once what is under way is answered.
    rate : float, optional
        Requests per second that are sent, whatever is answered.
    tick : function, optional
        Called ten times per second with the seconds since the begin and what was found; the load ends where it gives
        False.
    """

    def __init__(
        self,
        address: tuple[str, int],
        requests: Iterator[bytes],
        *,
        connections: int = 16,
        seconds: float = 10.0,
        rate: float | None = None,
        tick: Callable[[float, Load], bool] | None = None,
    ) -> None:
        self._address, self._requests, self._seconds, self._rate = address, requests, seconds, rate
        self._tick = tick
        self._poll = select.epoll()
        self._by_number: dict[int, _Connection] = {}
        self._free: deque[_Connection] = deque()
        self._under_way = 0
        self._ended = False
        self.load = Load()
        for _ in range(connections):
            self._connect()

    def _connect(self) -> None:
        one = _Connection(self._address)
        self._by_number[one.socket.fileno()] = one
        self._poll.register(one.socket.fileno(), select.EPOLLIN)
        self._free.append(one)

    def _send(self, one: _Connection, begin: int) -> bool:
        """Send the next request; whether there was one."""
        content = next(self._requests, None)
        if content is None:
            self._ended = True
            return False
        one.begin, one.found, one.need = begin, b"", 0
        self._under_way += 1
        try:
            sent = one.socket.send(content)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._lose(one)
            return True
        if sent < len(content):
            one.left = memoryview(content)[sent:]
            self._poll.modify(one.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)
        return True

    def _send_rest(self, one: _Connection) -> None:
        assert one.left is not None
        try:
            one.left = one.left[one.socket.send(one.left) :]
        except BlockingIOError:
            return
        except OSError:
            self._lose(one)
            return
        if not one.left:
            one.left = None
            self._poll.modify(one.socket.fileno(), select.EPOLLIN)

    def _lose(self, one: _Connection) -> None:
        """A connection ended: another one takes its place."""
        self._poll.unregister(one.socket.fileno())
        del self._by_number[one.socket.fileno()]
        one.socket.close()
        self._under_way -= 1
        self.load.lost += 1
        self._connect()

    def _receive(self, one: _Connection) -> bool:
        """Take what has come; whether the answer is whole."""
        try:
            part = one.socket.recv(1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            part = b""
        if not part:
            if one in self._free:
                # An idle connection that the service closed: no answer is lost.
                self._free.remove(one)
                self._under_way += 1
                self.load.lost -= 1
            self._lose(one)
            return False
        found = one.found = one.found + part if one.found else part
        if not one.need:
            end = found.find(b"\r\n\r\n")
            if end < 0:
                return False
            one.need = end + 4 + length_of(found[:end])
        if len(found) < one.need:
            return False
        status = int(found[9:12])
        load = self.load
        load.statuses[status] += 1
        if status == 200:
            load.latencies.append(time.perf_counter_ns() - one.begin)
        elif len(load.bodies) < 2:
            load.bodies.append(found[found.find(b"\r\n\r\n") + 4 :])
        self._under_way -= 1
        return True

    def run(self) -> Load:
        """Send until the time or the requests are over, and wait for what is under way."""
        cpu, begin = time.process_time(), time.perf_counter_ns()
        end = begin + int(self._seconds * 1e9)
        due, step = float(begin), 1e9 / self._rate if self._rate else 0.0
        next_tick = begin
        while True:
            now = time.perf_counter_ns()
            if self._tick is not None and now >= next_tick:
                next_tick = now + 100_000_000
                self._ended |= not self._tick((now - begin) / 1e9, self.load)
            over = self._ended or now >= end
            if over and (not self._under_way or now >= end + 30_000_000_000):
                break
            while not over and self._free and (not step or due <= now):
                if not self._send(self._free.popleft(), int(due) if step else time.perf_counter_ns()):
                    over = True
                due += step
            wait = max((due - now) / 1e9, 0) if step and not over and self._free else 0.1
            for number, event in self._poll.poll(wait):
                one = self._by_number.get(number)
                if one is None:
                    continue
                if event & select.EPOLLOUT and one.left is not None:
                    self._send_rest(one)
                if event & ~select.EPOLLOUT and number in self._by_number and self._receive(one):
                    now = time.perf_counter_ns()
                    if step or self._ended or now >= end or not self._send(one, now):
                        self._free.append(one)
        self.load.seconds = (time.perf_counter_ns() - begin) / 1e9
        self.load.cpu_seconds = time.process_time() - cpu
        self.load.lost += self._under_way
        for one in self._by_number.values():
            one.socket.close()
        self._poll.close()
        return self.load


def length_of(head: bytes) -> int:
    """The length of the body that a head tells."""
    low = head.lower()
    at = low.find(b"\r\ncontent-length:")
    if at < 0:
        raise ValueError(f"an answer without a length: {head!r}")
    return int(low[at + 17 :].split(b"\r\n", 1)[0])


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and of the children it has waited for, and of those that run."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(int(fields[at]) for at in (11, 12, 13, 14)) / TICKS
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(cpu_seconds(int(child)) for child in children)


def resident(pid: int) -> int:
    """Bytes of memory that a process has now."""
    text = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(text.split("VmRSS:")[1].split()[0])


def private(pid: int) -> int:
    """Bytes of memory that are the process's own: mapped files, which the system may drop, are not counted."""
    text = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(text.split("RssAnon:")[1].split()[0])
