"""The ASGI application of a service.

FastAPI holds the routes and describes them (`/openapi.json`); requests of known paths go to their route without its
layers, which take longer than a check of a document. Both lead to the same functions.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from nearkin._core import __version__
from nearkin.service.auth import Access, Right
from nearkin.service.calls import Call, Gone, Receive, Send
from nearkin.service.errors import Problem, bad_request, problem_of
from nearkin.service.logs import log
from nearkin.service.openapi import INTRODUCTION, Described, described, docs_page
from nearkin.service.responses import Reply, problem_reply
from nearkin.service.routes import Routes
from nearkin.service.settings import ServiceSettings
from nearkin.service.state import Hall
from nearkin.web_assets import assets

Endpoint = Callable[[Call, Send], Awaitable[Reply | int]]
Scope = MutableMapping[str, Any]

PAGE = Path(__file__).parent / "page"
_TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
}
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SAFE = {
    b"content-security-policy": _POLICY,
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cache-control": b"no-cache",
}
_DOCUMENT = "/v1/documents/"
_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,100}")
"""An id of a request that is taken as its client gives it."""


class Service:
    """One service: an ASGI application over one store.

    Parameters
    ----------
    folder : Path
        The store.
    settings : ServiceSettings
    """

    def __init__(self, folder: Path, settings: ServiceSettings) -> None:
        self.settings = settings
        self.hall = Hall(folder, settings)
        self._access = Access(settings)
        self._prefix = f"{os.getpid():x}-{time.time_ns() // 1_000_000:x}-"
        self._numbers = itertools.count(1)
        self._reading: set[Call] = set()
        self._watch: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self._routes = self._table(Routes(self.hall))
        self.api = self._described()

    def _table(self, routes: Routes) -> dict[tuple[str, str], tuple[Endpoint, Right | None]]:
        """Endpoints by method and path, and the right that each needs."""
        table: dict[tuple[str, str], tuple[Endpoint, Right | None]] = {
            ("POST", "/v1/check"): (routes.check, "read"),
            ("POST", "/v1/add"): (routes.add, "write"),
            ("POST", "/v1/check-and-add"): (routes.check_and_add, "write"),
            ("POST", "/v1/search"): (routes.search, "read"),
            ("POST", "/v1/remove"): (routes.remove, "write"),
            ("GET", _DOCUMENT): (routes.document, "read"),
            ("POST", "/v1/documents"): (routes.documents, "read"),
            ("GET", "/v1/info"): (routes.info, "read"),
            ("POST", "/v1/merge"): (routes.merge, "write"),
            ("POST", "/v1/backup"): (routes.backup, "write"),
            ("GET", "/metrics"): (self._metrics, "read"),
            ("GET", "/healthz"): (self._health, None),
            ("GET", "/readyz"): (self._readiness, None),
            ("GET", "/openapi.json"): (self._openapi, None),
            ("GET", "/docs"): (self._docs, None),
            ("GET", "/"): (self._page(PAGE / "index.html"), None),
        }
        for path in (*(sorted(PAGE.iterdir()) if PAGE.is_dir() else ()), *assets().values()):
            table["GET", f"/page/{path.name}"] = (self._page(path), None)
        return table

    # ASGI

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the server."""
        if scope["type"] == "http":
            await self.answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        begun = time.perf_counter()
        call = Call(scope, receive, self.settings.limits, self.hall.busy, f"{self._prefix}{next(self._numbers):x}")
        if (given := call.headers.get(b"x-request-id")) is not None and _ID.fullmatch(given):
            call.instance = given.decode()
        call.task = asyncio.current_task()
        self._reading.add(call)
        self.hall.running += 1
        route, status = "other", 500
        try:
            route, status = await self._routed(call, send)
        except Gone:
            status = 499
        finally:
            self._reading.discard(call)
            call.release()
            self.hall.running -= 1
            seconds = time.perf_counter() - begun
            self.hall.metrics.requested(route, status, seconds)
            if self.settings.access_log:
                self._say(call, route, status, seconds)

    def _say(self, call: Call, route: str, status: int, seconds: float) -> None:
        client = call.scope.get("client")
        milliseconds = round(seconds * 1000, 3)
        log(
            "info",
            "request",
            id=call.instance,
            route=route,
            status=status,
            ms=milliseconds,
            client=client and client[0],
        )

    async def _routed(self, call: Call, send: Send) -> tuple[str, int]:
        """Route and status of the answer."""
        scope = call.scope
        method, path = scope["method"], scope["path"]
        if path.startswith(_DOCUMENT) and len(path) > len(_DOCUMENT):
            path = _DOCUMENT
        found = self._routes.get(("GET" if method == "HEAD" else method, path))
        route = path if found is not None else "other"
        try:
            self._access.check_source(call.headers)
            if found is None:
                raise self._no_route(method, path)
            endpoint, right = found
            if right is not None:
                self._access.check_right(call.headers, right)
                if not self.hall.is_ready:
                    raise self.hall.not_ready()
            reply = await endpoint(call, send)
        except Problem as problem:
            if problem.__cause__ is not None and problem.status == 500:
                log("error", "failed", id=call.instance, route=route, error=_told(problem.__cause__))
            reply = problem_reply(problem, call.instance)
        except asyncio.CancelledError:
            if not call.too_slow:
                raise
            slow = Problem("too-slow", f"the body did not come within {call.limits.seconds:g} seconds")
            slow.headers[b"connection"] = b"close"
            reply = problem_reply(slow, call.instance)
        except Gone:
            # Who has gone gets nothing; a body that is wrongly framed ends so, too, and its client waits.
            cut = bad_request("a body that is cut short or wrongly framed", "send it whole")
            cut.headers[b"connection"] = b"close"
            await _send(problem_reply(cut, call.instance), call, send, head=method == "HEAD")
            raise
        except Exception as error:
            log("error", "failed", id=call.instance, route=route, error=_told(error))
            reply = problem_reply(problem_of(error), call.instance)
        if isinstance(reply, int):
            return route, reply
        await _send(reply, call, send, head=method == "HEAD")
        return route, reply.status

    def _no_route(self, method: str, path: str) -> Problem:
        methods = sorted(known for known, name in self._routes if name == path)
        if methods:
            allowed = ", ".join(methods)
            said = f"{path} takes {allowed}, not {method[:20]}"
            return Problem(
                "wrong-method", said, headers={b"allow": allowed.encode()}, found=method[:20], allowed=allowed
            )
        return Problem("no-such-route", f"{path[:80]!r} is no route; /docs names them")

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.begin()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.end()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def begin(self) -> None:
        """Open the store, beside the event loop, and watch slow requests."""
        if self._opening is None:
            self._opening = asyncio.ensure_future(self.hall.open())
            self._watch = asyncio.ensure_future(self._watch_slow())

    @property
    def opening(self) -> asyncio.Task[None] | None:
        """Done once the store is open; has the error if it can't be."""
        return self._opening

    async def end(self) -> None:
        """Answer what was taken, and close the store. A second call does nothing."""
        if self._watch is None:
            return
        self._watch.cancel()
        self._watch = None
        await self.hall.close()

    async def _watch_slow(self) -> None:
        """End requests whose body does not come."""
        while True:
            await asyncio.sleep(min(1.0, self.settings.limits.seconds / 4))
            now = time.monotonic()
            for call in list(self._reading):
                if call.deadline and now > call.deadline and not call.too_slow and call.task is not None:
                    call.too_slow = True
                    call.task.cancel()

    # Routes of the service itself

    async def _health(self, call: Call, send: Send) -> Reply:
        return Reply(b"ok\n", media_type=b"text/plain; charset=utf-8")

    async def _readiness(self, call: Call, send: Send) -> Reply:
        if not self.hall.is_ready:
            raise self.hall.not_ready()
        return Reply(b"ready\n", media_type=b"text/plain; charset=utf-8")

    async def _metrics(self, call: Call, send: Send) -> Reply:
        stats = await self.hall.read(lambda store: store.stats())
        busy, readonly = self.hall.busy, self.hall.is_readonly
        text = self.hall.metrics.text(stats, busy.bytes, busy.documents, readonly=readonly)
        return Reply(text, media_type=b"text/plain; version=0.0.4; charset=utf-8")

    async def _openapi(self, call: Call, send: Send) -> Reply:
        return Reply(self._openapi_text)

    async def _docs(self, call: Call, send: Send) -> Reply:
        return Reply(self._docs_text, media_type=_TYPES[".html"], headers=_SAFE)

    def _page(self, path: Path) -> Endpoint:
        async def page(call: Call, send: Send) -> Reply:
            data = await asyncio.to_thread(path.read_bytes)
            return Reply(data, media_type=_TYPES.get(path.suffix, b"application/octet-stream"), headers=_SAFE)

        return page

    # FastAPI

    def _described(self) -> FastAPI:
        """The same routes as FastAPI has them, and their description."""
        service = self

        class Direct(APIRoute):
            """A route whose requests are answered by the service."""

            def __init__(self, *arguments: Any, **options: Any) -> None:
                super().__init__(*arguments, **options)
                self.app = service.answer

        api = FastAPI(
            title="nearkin",
            version=__version__,
            description=INTRODUCTION,
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
        )
        api.router.route_class = Direct
        one: Described
        routes = described(with_tokens=self._access.needs_tokens)
        for one in routes:
            api.add_api_route(
                one.path,
                _nothing,
                methods=[one.method],
                name=one.name,
                operation_id=one.name,
                summary=one.summary,
                description=one.description,
                tags=[one.tag],
                responses=one.responses,
                openapi_extra=one.extra,
                response_class=one.response_class,
                status_code=one.status,
                response_model=None,
            )
        schema = api.openapi()
        for one in routes:
            # FastAPI leaves out what is null, also in examples.
            answers = schema["paths"][one.path][one.method.lower()]["responses"]
            answers.update({str(status): answers.get(str(status), {}) | said for status, said in one.responses.items()})
        self._openapi_text, self._docs_text = docs_page(schema)
        return api


def _told(error: BaseException) -> str:
    """An error for the log."""
    return f"{type(error).__name__}: {error}"


async def _nothing() -> None:
    """Stands for an endpoint: `Direct` never calls it."""


async def _send(reply: Reply, call: Call, send: Send, *, head: bool) -> None:
    headers = [
        (b"content-type", reply.media_type),
        (b"content-length", str(len(reply.body)).encode()),
        (b"x-request-id", call.instance.encode()),
    ]
    if reply.headers:
        headers += reply.headers.items()
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else reply.body})
