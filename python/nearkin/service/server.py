"""The process of a service: granian in this process, signals, and an orderly end."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from nearkin.errors import MissingExtraError, OutputError
from nearkin.service.logs import log
from nearkin.service.settings import ServiceSettings

SWITCH = 0.0005
"""Seconds after which the thread of the store lets the event loop go on."""
_BACKLOG = 1024
_READ_AHEAD = 1 << 16
"""Bytes of a connection that the server holds before they are asked for; a head is no longer."""


def serve(folder: Path, settings: ServiceSettings) -> None:
    """Serve a store until SIGTERM or SIGINT; returns when it is closed.

    Raises
    ------
    MissingExtraError
        `nearkin[service]` is not installed.
    OSError
        The port is taken.
    NearkinError
        The store can't be opened.
    """
    try:
        import fastapi  # noqa: F401
        import granian  # noqa: F401
        import msgspec  # noqa: F401
        import prometheus_client  # noqa: F401
    except ImportError as error:
        message = f"the service needs {error.name}; run `pip install nearkin[service]`"
        raise MissingExtraError(message, extra="service", package=error.name) from None
    sys.setswitchinterval(SWITCH)
    _runner()(_serve(folder, settings))


def _runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """What runs the event loop: uvloop where it is installed, a sixth quicker here."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    found: Callable[[Coroutine[Any, Any, None]], None] = uvloop.run
    return found


async def _serve(folder: Path, settings: ServiceSettings) -> None:
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.server.embed import Server

    from nearkin.service.app import Service

    port = free_port(settings.host, settings.port)
    service = Service(folder, settings)
    server = Server(
        service,
        address=settings.host,
        port=port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.auto,
        websockets=False,
        backlog=_BACKLOG,
        log_enabled=False,
        http1_settings=HTTP1Settings(
            header_read_timeout=int(settings.limits.seconds * 1000), max_buffer_size=_READ_AHEAD
        ),
        ssl_cert=settings.certificate,
        ssl_key=settings.key,
    )
    logging.getLogger("_granian").setLevel(logging.CRITICAL + 1)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, ended.set)
    service.begin()
    running = asyncio.ensure_future(server.serve())
    scheme = "https" if settings.certificate is not None else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    await _listening(settings.host, port, running)
    _freeze()
    if service.opening is not None:
        service.opening.add_done_callback(_freeze)
    log("info", "listening", url=f"{scheme}://{host}:{port}", store=str(folder), readonly=settings.readonly)
    try:
        await _until(ended, running, service.opening)
    finally:
        log("info", "ending")
        await service.end()
        # This wakes its loop, too.
        server.stop()  # type: ignore[no-untyped-call]
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(running, settings.limits.drain)


def _freeze(opened: asyncio.Future[None] | None = None) -> None:
    """What is there now stays: the collector need not look at it while requests wait, for tens of milliseconds."""
    gc.collect()
    gc.freeze()


async def _until(ended: asyncio.Event, running: asyncio.Future[None], opening: asyncio.Future[None] | None) -> None:
    """Wait for a signal; an error of the server, or of opening the store, comes through."""
    waiting: set[asyncio.Future[object]] = {asyncio.ensure_future(ended.wait()), running}  # type: ignore[arg-type]
    if opening is not None:
        waiting.add(opening)  # type: ignore[arg-type]
    while True:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
        if ended.is_set() or running in done:
            for one in waiting - {running}:
                one.cancel()
            return


async def _listening(host: str, port: int, running: asyncio.Future[None]) -> None:
    """Wait until the server takes connections."""
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
    """The port itself if it is free; for 0 any that is.

    The server shares a port with others that do, so that a second service would take half of the requests of a first.

    Raises
    ------
    OutputError
        It is taken, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            number = getattr(error, "errno", None)
            message = f"can't listen on {host}:{port}: {error}; give another --port or --host"
            raise OutputError(message, place=f"{host}:{port}", in_place="other", errno=number) from None
        return int(probe.getsockname()[1])
