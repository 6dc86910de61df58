"""A service in a forked process, at an address that stays the same: it starts again in a tenth of a second.

    with ForkedServices(tmp_path / "pages.store") as service:
        service.start()
        service.kill()

A fork server imports the service once, and each start forks it, so that a test can afford hundreds of kills. The child
runs `nearkin.service.server.serve`, as `nearkin serve` does.
"""

from __future__ import annotations

import http.client
import multiprocessing
import os
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

from live import SECONDS

from nearkin.service.server import free_port, serve
from nearkin.service.settings import ServiceSettings

PRELOAD = [
    "nearkin.service.server",
    "nearkin.service.app",
    "granian.server.embed",
    "granian.http",
    "filelock",
    "uvloop",
]
"""Modules that the fork server imports."""


class ForkedServices:
    """Consecutive services of one existing store, at one address.

    Parameters
    ----------
    folder : Path
        The store.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.host, self.port = "127.0.0.1", free_port("127.0.0.1", 0)
        self._settings = ServiceSettings(port=self.port)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOAD)
        self._process: BaseProcess | None = None

    @property
    def url(self) -> str:
        """Address of every service."""
        return f"http://{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """Process id of the running service."""
        assert self._process is not None
        assert self._process.pid is not None
        return self._process.pid

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection, which the caller closes."""
        return http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)

    def start(self) -> None:
        """Start a service and wait until its store is open."""
        self._process = self._context.Process(target=serve, args=(self._folder, self._settings), daemon=True)
        self._process.start()
        deadline = time.monotonic() + SECONDS
        while not self._is_ready():
            assert self._process.is_alive(), self._process.exitcode
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def _is_ready(self) -> bool:
        connection = self.connect()
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        """Kill the service with SIGKILL."""
        self._stop(signal.SIGKILL)

    def end(self) -> int | None:
        """Stop the service with SIGTERM, and return its exit code."""
        return self._stop(signal.SIGTERM)

    def _stop(self, number: signal.Signals) -> int | None:
        process = self._process
        assert process is not None
        os.kill(self.pid, number)
        process.join(SECONDS)
        return process.exitcode

    def __enter__(self) -> ForkedServices:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.is_alive():
            self.kill()
