"""A running service: `nearkin serve` in a process, on a free port of loopback.

    with serving(tmp_path / "pages.store") as service:
        assert 200 == service.call("GET", "/v1/info").status

The address is read from the first line of the log, `{"event": "listening", "url": ...}`. Every process is stopped by
its handle, even if the test fails.
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

JSON = "application/json"
PROBLEM = "application/problem+json"
SECONDS = 120
"""Timeout for starting, calling and stopping the service on a busy machine."""


@dataclass(frozen=True)
class Reply:
    """A response; header names are in lower case, and the header `is-broken` means that the transfer was broken off."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def type(self) -> str:
        """Content type, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)

    def lines(self) -> list[Any]:
        """Return the results of a complete response of NDJSON, without the last line, which counts them."""
        *results, end = self.all_lines()
        assert {"end": True, "results": len(results)} == end
        return results

    def all_lines(self) -> list[Any]:
        """Return the body as NDJSON. That of a stream that was broken off has an error as its last line."""
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def slug(self) -> str:
        """Last part of the type of a problem."""
        assert PROBLEM == self.type, self
        return str(self.json()["type"]).rpartition(":")[2]


@dataclass
class Service:
    """A process of `nearkin serve`."""

    process: subprocess.Popen[str]
    url: str = ""
    log: list[dict[str, Any]] = field(default_factory=list)
    """Objects of the log, in order."""
    rest: list[str] = field(default_factory=list)
    """Lines of standard error that are not JSON objects; there should be none."""

    def __post_init__(self) -> None:
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                try:
                    entry = json.loads(line)
                except ValueError:
                    entry = None
                if not isinstance(entry, dict):
                    self.rest.append(line)
                    continue
                self.log.append(entry)
                if entry.get("event") == "listening":
                    self.url = entry["url"]
                    self._listening.set()
        self._listening.set()

    @property
    def pid(self) -> int:
        """Process id."""
        return self.process.pid

    @property
    def host(self) -> str:
        """Address without the port."""
        return str(urlsplit(self.url).hostname)

    @property
    def port(self) -> int:
        """Port."""
        return int(urlsplit(self.url).port or 0)

    def begin(self, seconds: float = SECONDS) -> None:
        """Wait until the store is open.

        Raises
        ------
        AssertionError
            The process has ended, or is not ready in time; the message has its output.
        """
        end = time.monotonic() + seconds
        self._listening.wait(seconds)
        assert self.url, f"not listening: {self.output()}"
        while True:
            try:
                if self.call("GET", "/readyz").status == 200:
                    return
            except OSError:
                pass
            assert self.process.poll() is None, f"ended before it was ready: {self.output()}"
            assert time.monotonic() < end, f"not ready: {self.output()}"
            time.sleep(0.02)

    def output(self) -> str:
        """Return the last lines of output, for messages."""
        return "".join([*self.rest[-40:], *(json.dumps(entry) + "\n" for entry in self.log[-20:])])

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection, which the caller closes."""
        return http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)

    def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, type: str = JSON
    ) -> Reply:
        """Send a request on its own connection. A body that is neither bytes nor None is sent as JSON."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent_headers = {} if body is None else {"Content-Type": type}
        connection = self.connect()
        try:
            # A server may answer and close before it has read a body that is too large; its answer is there to be read.
            with suppress(BrokenPipeError):
                connection.request(method, path, content, {**sent_headers, **(headers or {})})
            with connection.getresponse() as answer:
                received = {name.lower(): value for name, value in answer.getheaders()}
                try:
                    content = answer.read()
                except http.client.IncompleteRead as cut:
                    received["is-broken"], content = "1", cut.partial
                return Reply(answer.status, received, content)
        finally:
            connection.close()

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None, *, type: str = JSON) -> Reply:
        """Call with POST."""
        return self.call("POST", path, body, headers, type=type)

    def memory(self) -> int:
        """Return the bytes of memory of the process (Linux)."""
        return self._status("VmRSS")

    def peak(self) -> int:
        """Return the peak memory of the process in bytes (Linux)."""
        return self._status("VmHWM")

    def _status(self, name: str) -> int:
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        match = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
        assert match is not None
        return 1024 * int(match[1])

    def end(self, seconds: float = SECONDS) -> int:
        """Send SIGTERM, wait, and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._wait(seconds)

    def kill(self) -> int:
        """Kill the process, and return the exit code."""
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


def start(store: Path | None, *options: str, before: Callable[[], None] | None = None) -> Service:
    """Start a service, which may not listen yet; its process calls `before` first."""
    places = [] if store is None else [str(store)]
    command = [sys.executable, "-m", "nearkin", "serve", *places, "--port", "0", *options]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(
        command, stdin=null, stdout=null, stderr=pipe, text=True, encoding="utf-8", preexec_fn=before
    )
    return Service(process)


@contextmanager
def serving(
    store: Path | None, *options: str, create: bool = True, before: Callable[[], None] | None = None
) -> Iterator[Service]:
    """Start a service, create its store if it does not exist, wait until it is ready, and stop it afterwards."""
    arguments = (
        options if store is None or not create or store.exists() or "--create" in options else ("--create", *options)
    )
    with start(store, *arguments, before=before) as service:
        service.begin()
        yield service
