"""The FastAPI application of a service."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nearkin._core import __version__
from nearkin.errors import NearkinError, require_extra
from nearkin.service.auth import AccessControl, Authorization, get_request
from nearkin.service.errors import Problem, bad_request, problem_from, truncated_body
from nearkin.service.openapi import DESCRIPTION, complete_schema, problems
from nearkin.service.patterns import patterns_router
from nearkin.service.request import HttpRequest, Message, Receive, Send
from nearkin.service.responses import BrokenStreamError, JsonResponse, ProblemResponse
from nearkin.service.routes import store_router
from nearkin.service.settings import ServiceSettings
from nearkin.service.state import AppState
from nearkin.service.telemetry import log
from nearkin.web_assets import assets

with require_extra("service", "a service"):
    from fastapi import APIRouter, FastAPI, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import PlainTextResponse
    from fastapi.routing import APIRoute
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, HTTPConnection

PAGE = Path(__file__).parent / "page"
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-cache",
}


class Service(FastAPI):
    """The application of one store, of patterns, or of both.

    The store is opened in the background when the application starts; until then requests get status 503.

    Parameters
    ----------
    folder : Path or str, optional
        The folder of the store; None for patterns alone.
    settings : ServiceSettings

    Raises
    ------
    InputError
        The token file has an invalid line.
    """

    def __init__(self, folder: Path | str | None, settings: ServiceSettings) -> None:
        self.settings, self.access = settings, AccessControl(settings)
        self.app_state = AppState(folder, settings)
        self._prefix = f"{os.getpid():x}-{time.time_ns() // 1_000_000:x}-"
        self._numbers = itertools.count(1)
        super().__init__(
            title="nearkin",
            version=__version__,
            description=DESCRIPTION,
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            redirect_slashes=False,
            lifespan=_lifespan,
            exception_handlers=dict.fromkeys(_HANDLED, send_problem),
        )
        self.include_router(store_router)
        self.include_router(patterns_router)
        self.include_router(public_router)
        self._endpoints = {
            (method, route.path): (route.endpoint, dependency.call.check)
            for route in (*store_router.routes, *patterns_router.routes)
            if isinstance(route, APIRoute) and not route.dependant.path_params
            for method in route.methods or ()
            for dependency in route.dependant.dependencies
            if isinstance(dependency.call, Authorization)
        }

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            self.openapi_schema = complete_schema(super().openapi(), needs_tokens=self.access.needs_tokens)
        return self.openapi_schema

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Process a request: id, source check, routing, unexpected errors, metrics and access log."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        state = self.app_state
        scope["app"] = self
        scope["nearkin.request"] = request = HttpRequest(
            scope, receive, state, f"{self._prefix}{next(self._numbers):x}"
        )
        status, is_started = 500, False

        async def respond(message: Message) -> None:
            nonlocal status, is_started
            if message["type"] == "http.response.start":
                status, is_started = message["status"], True
                message["headers"] = [*message["headers"], (b"x-request-id", request.id.encode())]
            await send(message)

        state.num_requests += 1
        try:
            await self._route(request, scope, receive, respond)
        except ClientDisconnect:
            # The client is gone, or its body is malformed and it waits for a response.
            await ProblemResponse(truncated_body(), request.id)(scope, receive, respond)
            status = 499
        except Exception as error:
            problem = problem_from(error)
            if problem.slug == "internal" and not isinstance(error, (Problem, BrokenStreamError)):
                text = f"{type(error).__name__}: {error}"
                log("error", "failed", id=request.id, route=route_path(scope), error=text)
            if is_started:
                raise
            # The traceback leads to this frame, and from it to the body, which would stay until the cycle is collected.
            problem.__traceback__ = None
            await ProblemResponse(problem, request.id)(scope, receive, respond)
        finally:
            request.reserve(0)
            state.num_requests -= 1
            seconds, route = time.perf_counter() - request.started, route_path(scope)
            state.metrics.record_request(route, status, seconds)
            if self.settings.access_log:
                client = scope.get("client")
                fields = {"status": status, "ms": round(seconds * 1000, 3), "client": client and client[0]}
                log("info", "request", id=request.id, route=route, **fields)

    async def _route(self, request: HttpRequest, scope: Any, receive: Receive, send: Send) -> None:
        """Call the endpoint of a request.

        All query parameters are optional. A request without any needs only the access check, so that its endpoint is
        called directly: the layers of FastAPI take 60 µs, a third of the time of a check.
        """
        self.access.check_target(scope)
        self.access.check_source(request.headers)
        # Routes see the path as it was sent: a decoded id may have slashes and newlines.
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        scope["path"] = path = raw.partition(b"?")[0].decode("latin-1")
        if not scope["query_string"] and (scope["method"], path) in self._endpoints:
            endpoint, authorize = self._endpoints[scope["method"], path]
            scope["nearkin.route"] = path
            response: Response = await endpoint(authorize(request))
            await response(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


@asynccontextmanager
async def _lifespan(app: Service) -> AsyncIterator[None]:
    app.app_state.start()
    yield
    await app.app_state.close()


def route_path(scope: Any) -> str:
    """Return the path of the route of a request."""
    path: str = scope.get("nearkin.route") or getattr(scope.get("route"), "path_format", "other")
    return path


def problem_from_http(connection: HTTPConnection, error: Exception) -> Problem:
    """Translate an exception of a route, of FastAPI or of its router into a problem."""
    path, method = connection.scope["path"], connection.scope["method"]
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        found = f"{first['loc'][-1]}={str(first.get('input'))[:40]}"
        return bad_request(found, first["msg"][:1].lower() + first["msg"][1:])
    if isinstance(error, HTTPException):
        if error.status_code != 405:
            return Problem("no-such-route", f"{path[:80]!r} is not a route; see /docs")
        allowed = (error.headers or {}).get("Allow", "")
        message = f"{path} takes {allowed}, not {method[:20]}"
        return Problem("wrong-method", message, headers=error.headers, found=method[:20], allowed=allowed)
    return problem_from(error)


async def send_problem(connection: HTTPConnection, error: Exception) -> Response:
    """Return the response to an exception."""
    return ProblemResponse(problem_from_http(connection, error), get_request(connection).id)


_HANDLED = (Problem, NearkinError, OSError, MemoryError, RequestValidationError, HTTPException, Exception)


# Routes that need no token: health, documentation and the page

public_router = APIRouter(tags=["health"], responses=problems())
_FILES = {path.name: path for path in (*sorted(PAGE.iterdir()), *assets().values())}


@public_router.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> Response:
    """Return 200 while the process runs."""
    return PlainTextResponse("ok\n")


@public_router.get("/readyz", response_class=PlainTextResponse)
async def readyz(connection: HTTPConnection) -> Response:
    """Return 200 if the store is open, 503 before that, during shutdown, and if its folder was replaced or removed."""
    get_request(connection).state.check_ready()
    return PlainTextResponse("ready\n")


@public_router.get("/openapi.json", include_in_schema=False)
async def openapi_json(connection: HTTPConnection) -> Response:
    """Return the OpenAPI document."""
    return JsonResponse(connection.app.openapi())


@public_router.get("/", include_in_schema=False)
@public_router.get("/docs", include_in_schema=False)
@public_router.get("/page/{name}", include_in_schema=False)
async def page(connection: HTTPConnection, name: str = "") -> Response:
    """Return a file of the page."""
    start = "index.html" if get_request(connection).state.has_store else "patterns.html"
    name = name or ("docs.html" if connection.scope["path"] == "/docs" else start)
    if name not in _FILES:
        raise HTTPException(404)
    return Response(_FILES[name].read_bytes(), headers=_PAGE_HEADERS, media_type=_MEDIA_TYPES[_FILES[name].suffix])
