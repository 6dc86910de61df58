"""Access to a service: the Host and Origin of a request, and its token.

Without tokens a service listens on loopback only. There any website that a user of the machine visits could send
requests: those that name another host (DNS rebinding) or come from another origin are refused.
"""

from __future__ import annotations

import hashlib
import hmac
import stat
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import Depends
from starlette.requests import HTTPConnection

from nearkin.errors import InputError
from nearkin.service.errors import Problem
from nearkin.service.request import HttpRequest
from nearkin.service.settings import LOOPBACK, ServiceSettings
from nearkin.service.telemetry import log

Right = Literal["read", "write"]
MIN_TOKEN = 16
"""Minimum number of characters of a token."""


class AccessControl:
    """Checks of the Host, Origin and Authorization headers.

    Parameters
    ----------
    settings : ServiceSettings

    Raises
    ------
    InputError
        The token file has an invalid line.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._tokens = [] if settings.token_file is None else read_tokens(settings.token_file)
        names = {*LOOPBACK, settings.host, *settings.allowed_hosts}
        # With tokens any host name is safe, unless the names are restricted.
        self._hosts = {name.lower() for name in names} if not self._tokens or settings.allowed_hosts else None

    @property
    def needs_tokens(self) -> bool:
        """True if requests need a token."""
        return bool(self._tokens)

    def check_source(self, headers: dict[bytes, bytes]) -> None:
        """Refuse requests to another host name, and those of another website's page.

        Raises
        ------
        Problem
            not-allowed.
        """
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._hosts is not None and host and host_name(host) not in self._hosts:
            allowed = "use the address of the service, or start it with --allow-host NAME"
            raise Problem("not-allowed", f"host {host[:80]!r} is not this service; {allowed}", allowed=allowed)
        if (header := headers.get(b"origin")) is not None:
            origin = header.decode("latin-1")
            if urlsplit(origin).netloc.lower() != host:
                found = origin[:80]
                raise Problem("not-allowed", f"origin {found!r} is not this service; use its own page", found=found)

    def check_right(self, headers: dict[bytes, bytes], right: Right) -> None:
        """Refuse requests without the token that they need.

        Raises
        ------
        Problem
            no-token or not-allowed.
        """
        if not self._tokens:
            return
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        digest = hashlib.sha256(token.strip()).digest() if scheme.lower() == b"bearer" else b""
        # Every token is compared, each in constant time.
        rights = {name for name, expected in self._tokens if hmac.compare_digest(expected, digest)}
        if not rights:
            raise Problem(
                "no-token",
                "send the header `Authorization: Bearer TOKEN` with a token of this service",
                headers={"www-authenticate": 'Bearer realm="nearkin"'},
            )
        if right == "write" and "write" not in rights:
            raise Problem("not-allowed", "this is a read token; changes need a write token")


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def read_tokens(path: Path) -> list[tuple[Right, bytes]]:
    """Read the token file: lines `read TOKEN` or `write TOKEN`, and comments after #.

    Returns
    -------
    list of tuple
        Right and SHA-256 of each token.

    Raises
    ------
    InputError
        An invalid line, a short token, or no token.
    """
    tokens: list[tuple[Right, bytes]] = []
    lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        match line.partition("#")[0].split():
            case []:
                continue
            case ["read" | "write" as right, token] if len(token) >= MIN_TOKEN:
                tokens.append((right, hashlib.sha256(token.encode()).digest()))
            case ["read" | "write", token]:
                raise _invalid_line(path, number, f"has a token of {len(token)} characters; use {MIN_TOKEN} or more")
            case _:
                raise _invalid_line(path, number, "is not a token; write `read TOKEN` or `write TOKEN`")
    if not tokens:
        raise _invalid_line(path, len(lines), "is the last one and there is no token; write `write TOKEN`")
    if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        log("warning", "token-file", detail="others can read the token file; chmod 600 it", file=str(path))
    return tokens


def _invalid_line(path: Path, number: int, reason: str) -> InputError:
    return InputError(f"{path}: line {number} {reason}", place=f"{path}: line {number}", reason=reason)


# Dependencies


def get_request(connection: HTTPConnection) -> HttpRequest:
    """Return the request that the middleware of the application has created."""
    request: HttpRequest = connection.scope["nearkin.request"]
    return request


async def check_parameters(connection: HTTPConnection) -> None:
    """Refuse unknown and repeated query parameters, which FastAPI ignores."""
    get_request(connection).check_query([field.alias for field in connection.scope["route"].dependant.query_params])


class Authorization:
    """Dependency that returns the request if its token has a right and the store is open."""

    def __init__(self, right: Right) -> None:
        self.right = right

    async def __call__(self, connection: HTTPConnection) -> HttpRequest:
        """Check the request of a route."""
        return self.check(get_request(connection))

    def check(self, request: HttpRequest) -> HttpRequest:
        """Return the request, or raise no-token, not-allowed or not-ready."""
        request.scope["app"].access.check_right(request.headers, self.right)
        request.state.check_ready()
        return request


ReadRequest = Annotated[HttpRequest, Depends(Authorization("read"))]
WriteRequest = Annotated[HttpRequest, Depends(Authorization("write"))]
