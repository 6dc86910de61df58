"""A service that runs: `nearkin serve` in a process of its own, on a free port of the loopback interface.

    with serving(tmp_path / "pages.store") as service:
        assert 200 == service.call("GET", "/v1/info").status

The address is read from the first line of the log, `{"event": "listening", "url": ...}`. Every process is ended by its
handle, whatever happens to the test.
"""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

JSON = "application/json"
PROBLEM = "application/problem+json"
SECONDS = 120
"""For the service to start, to answer and to end, on a machine that is busy."""


@dataclass(frozen=True)
class Reply:
    """What a service answered; names of headers in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def type(self) -> str:
        """The content type, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    def lines(self) -> list[Any]:
        """The body as NDJSON."""
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass
class Service:
    """One process of `nearkin serve`."""

    process: subprocess.Popen[str]
    url: str = ""
    log: list[dict[str, Any]] = field(default_factory=list)
    """The objects of standard error, in order."""
    rest: list[str] = field(default_factory=list)
    """Lines of standard error that are no JSON object: there must be none."""

    def __post_init__(self) -> None:
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                try:
                    found = json.loads(line)
                except ValueError:
                    found = None
                if not isinstance(found, dict):
                    self.rest.append(line)
                    continue
                self.log.append(found)
                if found.get("event") == "listening":
                    self.url = found["url"]
                    self._listening.set()
        self._listening.set()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self.process.pid

    @property
    def host(self) -> str:
        """The address without the port."""
        return str(urlsplit(self.url).hostname)

    @property
    def port(self) -> int:
        """The port."""
        return int(urlsplit(self.url).port or 0)

    def begin(self, seconds: float = SECONDS) -> None:
        """Wait until the store is open.

        Raises
        ------
        AssertionError
            The process ended before, or the time is over; with what it said.
        """
        end = time.monotonic() + seconds
        self._listening.wait(seconds)
        assert self.url, f"not listening: {self.told()}"
        while True:
            try:
                if self.call("GET", "/readyz").status == 200:
                    return
            except OSError:
                pass
            assert self.process.poll() is None, f"ended before it was ready: {self.told()}"
            assert time.monotonic() < end, f"not ready: {self.told()}"
            time.sleep(0.02)

    def told(self) -> str:
        """The end of what the process said, for messages."""
        return "".join([*self.rest[-40:], *(json.dumps(one) + "\n" for one in self.log[-20:])])

    def connect(self) -> http.client.HTTPConnection:
        """A connection, which the caller closes."""
        return http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)

    def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, type: str = JSON
    ) -> Reply:
        """One request on a connection of its own. A body that is neither bytes nor None is sent as JSON."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {} if body is None else {"Content-Type": type}
        connection = self.connect()
        try:
            connection.request(method, path, content, {**given, **(headers or {})})
            with connection.getresponse() as answer:
                found = {name.lower(): value for name, value in answer.getheaders()}
                return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None, *, type: str = JSON) -> Reply:
        """`call` with POST."""
        return self.call("POST", path, body, headers, type=type)

    def memory(self) -> int:
        """Bytes of memory that the process has now (Linux)."""
        return self._status("VmRSS")

    def peak(self) -> int:
        """Bytes of memory that the process has had at most (Linux)."""
        return self._status("VmHWM")

    def _status(self, name: str) -> int:
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
        assert found is not None
        return 1024 * int(found[1])

    def end(self, seconds: float = SECONDS) -> int:
        """Ask the process to end, as an operator does, and wait; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._wait(seconds)

    def kill(self) -> int:
        """End the process at once, as a power cut does; its exit code."""
        self.process.kill()
        return self._wait(SECONDS)

    def _wait(self, seconds: float) -> int:
        code = self.process.wait(seconds)
        self._reader.join(seconds)
        return code

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.end()
        except subprocess.TimeoutExpired:
            self.kill()
            if error is None:
                raise


def start(store: Path, *options: str) -> Service:
    """A service of a store, which may not listen yet."""
    command = [sys.executable, "-m", "nearkin", "serve", str(store), "--port", "0", *options]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    return Service(subprocess.Popen(command, stdin=null, stdout=null, stderr=pipe, text=True, encoding="utf-8"))


@contextmanager
def serving(store: Path, *options: str, create: bool = True) -> Iterator[Service]:
    """A service that is ready, on a store that is made if it is not there; ended afterwards."""
    given = options if not create or store.exists() or "--create" in options else ("--create", *options)
    with start(store, *given) as service:
        service.begin()
        yield service
