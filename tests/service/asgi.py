"""A service in this process, called through ASGI, so that tests can inject faults.

async with asgi_client(tmp_path / "pages.store") as service:
    reply = await service.post("/v1/check", {"text": "some words"})
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from live import JSON, Reply

import nearkin as nk
from nearkin.service.app import Service
from nearkin.service.responses import BrokenStreamError
from nearkin.service.settings import ServiceSettings

NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


class AsgiClient:
    """An ASGI client of a service."""

    def __init__(self, app: Service) -> None:
        self.app, self.state = app, app.app_state

    async def call(
        self,
        method: str,
        path: str,
        body: bytes | Sequence[bytes] = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request; a sequence is a body in several chunks."""
        pieces = [body] if isinstance(body, bytes) else list(body)
        waiting = [
            {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
            for number, piece in enumerate(pieces, 1)
        ]

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            # The client stays until it has the response.
            return waiting.pop(0) if waiting else await asyncio.get_running_loop().create_future()

        return await self.ask(method, path, receive, headers)

    async def ask(self, method: str, path: str, receive: Any, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a request whose body a function provides."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        bare, _, query = path.partition("?")
        sent_headers = {"host": "127.0.0.1", **{name.lower(): value for name, value in (headers or {}).items()}}
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(bare),
            "raw_path": bare.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent_headers.items()],
            "client": ("127.0.0.1", 1),
        }
        with suppress(BrokenStreamError):
            await self.app(scope, receive, send)
        start = sent[0]
        results = {name.decode(): value.decode() for name, value in start["headers"]}
        if sent[-1].get("more_body"):
            results["is-broken"] = "1"
        return Reply(start["status"], results, b"".join(message.get("body", b"") for message in sent[1:]))

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        """Call with GET."""
        return await self.call("GET", path, b"", headers)

    async def post(self, path: str, value: Any, headers: Mapping[str, str] | None = None, *, type: str = JSON) -> Reply:
        """Call with POST; values other than bytes are sent as JSON."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return await self.call("POST", path, body, {"content-type": type, **(headers or {})})


@asynccontextmanager
async def asgi_client(
    store: Path | None, settings: ServiceSettings | None = None, **create: Any
) -> AsyncIterator[AsgiClient]:
    """Start a service, create its store if it does not exist, and stop it afterwards."""
    if store is not None and not store.exists():
        nk.Store.create(store, **create).close()
    app = Service(store, settings or ServiceSettings())
    await app.app_state.start()
    try:
        yield AsgiClient(app)
    finally:
        await app.app_state.close()
