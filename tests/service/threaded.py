"""A service in a thread of this process, on a free port of loopback: it starts and stops in milliseconds.

    with serve_in_thread(tmp_path / "pages.store") as service, nk.Client(service.url) as client:
        client.check(["a text"])

Tests that need signals, the log or the memory of the service run it in a process: `live.py`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nearkin.service.app import Service
from nearkin.service.server import free_port, make_server, wait_listening
from nearkin.service.settings import ServiceSettings

SECONDS = 120
"""Timeout for starting and stopping the service on a busy machine."""


class ThreadedService:
    """A service of an existing store.

    Parameters
    ----------
    folder : Path or None
        The store; None for patterns alone.
    port : int, default 0
        0 selects a free port.
    **options
        Options of `ServiceSettings`.
    """

    def __init__(self, folder: Path | None, port: int = 0, **options: Any) -> None:
        self.port = free_port("127.0.0.1", port)
        self._folder, self._settings = folder, ServiceSettings(port=self.port, **options)
        self.url = f"http{'' if self._settings.certificate is None else 's'}://127.0.0.1:{self.port}"
        self._begun = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._begun.wait(SECONDS)
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._error = error
        finally:
            self._begun.set()

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        app = Service(self._folder, self._settings)
        state, server = app.app_state, make_server(app, self.port, self._settings)
        await state.start()
        running = asyncio.ensure_future(server.serve())
        await wait_listening("127.0.0.1", self.port, running)
        self._begun.set()
        await self._ended.wait()
        await state.close()
        server.stop()  # type: ignore[no-untyped-call]
        await running

    def end(self) -> None:
        """Drain requests in flight and close the store. A second call does nothing."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error


@contextmanager
def serve_in_thread(folder: Path | None, **options: Any) -> Iterator[ThreadedService]:
    """Start a service, wait until it is ready, and stop it afterwards."""
    service = ThreadedService(folder, **options)
    try:
        yield service
    finally:
        service.end()
