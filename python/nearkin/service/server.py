"""The process of a service: granian in this process, signals, and graceful shutdown."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearkin.errors import OutputError, require_extra
from nearkin.service.settings import ServiceSettings

if TYPE_CHECKING:
    from fastapi import FastAPI
    from granian.server.embed import Server

SWITCH_INTERVAL = 0.0005
"""Seconds after which the thread of the store lets the event loop run."""
_GRACE = 2.0
"""Seconds after the drain in which the store is closed."""
_BACKLOG = 1024
_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3
"""The numbers of these options of mallopt(3)."""
_READ_AHEAD = 1 << 16
"""Bytes of a connection that the server buffers; the head of a request can't be longer."""


def serve(folder: Path | str | None, settings: ServiceSettings) -> None:
    """Serve a store, patterns or both until SIGTERM or SIGINT; return when the store is closed.

    If work still runs after the drain, the process ends with status 1: what was acknowledged is durable.

    Raises
    ------
    MissingExtraError
        `nearkin[service]` is not installed.
    OSError
        The port is taken.
    NearkinError
        The store can't be opened.
    """
    with require_extra("service", "a service"):
        import fastapi  # noqa: F401
        import granian  # noqa: F401
        import msgspec  # noqa: F401
        import prometheus_client  # noqa: F401
    sys.setswitchinterval(SWITCH_INTERVAL)
    _keep_pandas_out()
    _use_one_arena()
    watchdog = threading.Timer(settings.limits.drain_timeout + _GRACE, _end_process)
    watchdog.daemon = True
    try:
        _runner()(_serve(folder, settings, watchdog))
    finally:
        watchdog.cancel()


def _end_process() -> None:
    """End the process with the work of its threads, which cannot be interrupted in every call."""
    from nearkin.service.telemetry import log

    log("error", "drain", detail="the process was ended with work still running")
    os._exit(1)


class _PandasBlocker(MetaPathFinder):
    """A finder that finds no pandas."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Raise ImportError for pandas."""
        if fullname == "pandas":
            raise ImportError(fullname)


def _keep_pandas_out() -> None:
    """Let pyarrow's one attempt to import pandas fail.

    pyarrow imports pandas when it builds its first array. In a service that is in the middle of a request, and takes
    .3 s and 60 to 100 MB for nothing: a service gets and gives no objects of pandas.
    """
    import pyarrow as pa

    blocker = _PandasBlocker()
    sys.meta_path.insert(0, blocker)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(blocker)


def _use_one_arena() -> None:
    """Let all threads of the service allocate from one arena of glibc; other C libraries have none.

    By default each thread has its own, and memory that one thread freed does not serve another: under a mixed load they
    grew to 120 MB, of which 35 MB were in use.
    """
    from nearkin.service.telemetry import call_glibc

    call_glibc("mallopt", _M_ARENA_MAX, 1)
    # By default the bound above which memory is mapped, and returned when it is freed, rises with use.
    call_glibc("mallopt", _M_MMAP_THRESHOLD, 1 << 17)


def _runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """Return `run` of uvloop if it is installed, which is a sixth faster here, or of asyncio."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    run: Callable[[Coroutine[Any, Any, None]], None] = uvloop.run
    return run


def make_server(app: FastAPI, port: int, settings: ServiceSettings) -> Server:
    """Return the HTTP server of an application."""
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.server.embed import Server

    header_timeout = int(settings.limits.timeout * 1000)
    return Server(
        app,
        address=settings.host,
        port=port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.auto,
        websockets=False,
        backlog=_BACKLOG,
        log_enabled=False,
        http1_settings=HTTP1Settings(header_read_timeout=header_timeout, max_buffer_size=_READ_AHEAD),
        ssl_cert=settings.certificate,
        ssl_key=settings.key,
    )


async def _serve(folder: Path | str | None, settings: ServiceSettings, watchdog: threading.Timer) -> None:
    from nearkin.service.app import Service
    from nearkin.service.telemetry import log

    port = free_port(settings.host, settings.port)
    app = Service(folder, settings)
    state, server = app.app_state, make_server(app, port, settings)
    logging.getLogger("_granian").setLevel(logging.CRITICAL + 1)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopped.set)
    if app.access.needs_tokens:
        loop.add_signal_handler(signal.SIGHUP, app.access.reload)
    opening = state.start()
    running = asyncio.ensure_future(server.serve())
    await wait_listening(settings.host, port, running)
    _freeze()
    opening.add_done_callback(_freeze)
    scheme = "https" if settings.certificate is not None else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    log("info", "listening", url=f"{scheme}://{host}:{port}", store=app.app_state.place, readonly=settings.readonly)
    try:
        await _wait(stopped, running, opening)
    finally:
        log("info", "ending")
        watchdog.start()
        await state.close()
        # This also wakes up the loop of the server.
        server.stop()  # type: ignore[no-untyped-call]
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(running, settings.limits.drain_timeout)


def _freeze(opened: asyncio.Future[None] | None = None) -> None:
    """Exclude the objects that exist now from garbage collection, which would stop requests for tens of ms."""
    gc.collect()
    gc.freeze()


async def _wait(stopped: asyncio.Event, running: asyncio.Future[None], opening: asyncio.Future[None]) -> None:
    """Wait for a signal; raise an error of the server, or of opening the store."""
    pending: set[asyncio.Future[Any]] = {asyncio.ensure_future(stopped.wait()), running, opening}
    while True:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for future in done:
            future.result()
        if stopped.is_set() or running in done:
            for future in pending - {running}:
                future.cancel()
            return


async def wait_listening(host: str, port: int, running: asyncio.Future[None]) -> None:
    """Wait until the server accepts connections, or has ended."""
    while not running.done():
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.01)
            continue
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return


def free_port(host: str, port: int) -> int:
    """Return the port if it is free, or a free one for 0.

    The server shares its port with processes that allow it: a second service would get half of the first one's
    requests.

    Raises
    ------
    OutputError
        The port is taken, or the address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            message = f"can't listen on {host}:{port}: {error}; use another --port or --host"
            code = getattr(error, "errno", None)
            raise OutputError(message, place=f"{host}:{port}", in_place="other", errno=code) from None
        return int(probe.getsockname()[1])
