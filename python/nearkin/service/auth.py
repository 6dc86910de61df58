"""Access to a service: the Host and Origin of a request, its token, and the rate of its requests.

Without tokens a service listens on loopback only. There any website that a user of the machine visits could send
requests: those that name another host (DNS rebinding) or come from another origin are refused.

The token file is read again when it changes. Each token has a bucket that holds `burst` requests and gains `rate` per
second; a request that finds it empty gets status 429 (Turner 1986, New directions in communications; "token bucket" in
RFC 2697).
"""

from __future__ import annotations

import hashlib
import hmac
import math
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from nearkin.errors import InputError, require_extra
from nearkin.service.errors import Problem, bad_request, retry_after
from nearkin.service.request import HttpRequest
from nearkin.service.settings import LOOPBACK, ServiceSettings
from nearkin.service.telemetry import log

with require_extra("service", "a service"):
    from fastapi import Depends
    from starlette.requests import HTTPConnection

Right = Literal["read", "write"]
MIN_TOKEN = 16
"""Minimum number of characters of a token."""


RELOAD_SECONDS = 1.0
"""Seconds after which a request looks whether the token file has changed."""
Stamp = tuple[int, int, int, int]
"""Device, inode, modification time and size of a file."""


class TokenFile:
    """The tokens of a file, which is read again when it changes. A broken file keeps the tokens of the last good one.

    Parameters
    ----------
    path : Path
    clock : callable, optional
        Returns seconds.

    Raises
    ------
    InputError
        The file has an invalid line.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path, self._clock = path, clock
        self._stamp = _stamp(path)
        self.tokens = read_tokens(path)
        self.error: str | None = None
        """Why the current file can't be used; None if it is in use."""
        self._next_look = clock() + RELOAD_SECONDS

    def refresh(self) -> None:
        """Read the file again if it has changed since the last look, which is repeated every `RELOAD_SECONDS`."""
        if (now := self._clock()) < self._next_look:
            return
        self._next_look = now + RELOAD_SECONDS
        if _stamp(self.path) != self._stamp:
            self.reload()

    def reload(self) -> None:
        """Read the file again. An error is logged and leaves the tokens as they are."""
        # The stamp comes first: a file that changes while it is read is read once more.
        self._stamp = _stamp(self.path)
        try:
            self.tokens = read_tokens(self.path)
        except (InputError, OSError, UnicodeDecodeError) as error:
            self.error = str(error)
            log("error", "token-file", detail=f"{self.error}; the earlier tokens remain valid", file=str(self.path))
            return
        self.error = None
        log("info", "tokens-reloaded", file=str(self.path), tokens=len(self.tokens))


def _stamp(path: Path) -> Stamp | None:
    """Return what changes when a file is written or replaced; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


class TokenBucket:
    """A rate limit: `burst` requests at once, then `rate` per second.

    Parameters
    ----------
    rate : float
        Requests per second.
    burst : int
        Requests that a full bucket allows at once.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._level, self._time = float(burst), clock()

    def take(self) -> float:
        """Count a request and return 0; or count nothing and return the seconds until the next one is allowed."""
        now = self._clock()
        self._level = min(self._level + (now - self._time) * self._rate, self._burst)
        self._time = now
        if self._level < 1:
            return (1 - self._level) / self._rate
        self._level -= 1
        return 0.0


class AccessControl:
    """Checks of the Host, Origin and Authorization headers, and of the rate of requests.

    Parameters
    ----------
    settings : ServiceSettings

    Raises
    ------
    InputError
        The token file has an invalid line.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._token_file = None if settings.token_file is None else TokenFile(settings.token_file)
        names = {*LOOPBACK, settings.host, *settings.allowed_hosts}
        # With tokens any host name is safe, unless the names are restricted.
        is_restricted = self._token_file is None or settings.allowed_hosts
        self._hosts = {name.lower() for name in names} if is_restricted else None
        self._buckets: dict[bytes, TokenBucket] = {}

    @property
    def needs_tokens(self) -> bool:
        """True if requests need a token."""
        return self._token_file is not None

    @property
    def token_error(self) -> str | None:
        """Why the token file can't be used since it changed; None if it is in use."""
        return None if self._token_file is None else self._token_file.error

    def reload(self) -> None:
        """Read the token file again."""
        if self._token_file is not None:
            self._token_file.reload()

    def check_target(self, scope: Any) -> None:
        """Refuse requests without exactly one Host header, and those whose target is not a path.

        A target in absolute form (`GET http://host/path`) names a host that overrides the Host header (RFC 9112,
        sections 3.2 and 3.2.2). Only proxies need that form, so it is refused. granian passes on only the path of such
        a target; then the Host header decides, which browsers always send equal to the host of the target.

        Raises
        ------
        Problem
            bad-request.
        """
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) > 1 or (scope.get("http_version") == "1.1" and not any(hosts)):
            raise bad_request(f"{len(hosts) if any(hosts) else 'no'} Host headers", "send one, the host of the service")
        target: bytes = scope.get("raw_path") or scope["path"].encode()
        if not target.startswith(b"/"):
            found = f"the request target {target[:80].decode('latin-1')!r}"
            raise bad_request(found, "send a path, such as /v1/info, and a Host header")

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
        """Refuse requests without the token that they need, and those beyond its rate.

        Raises
        ------
        Problem
            no-token, not-allowed or rate-limited.
        """
        if self._token_file is None:
            self._check_rate(b"")
            return
        self._token_file.refresh()
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        digest = hashlib.sha256(token.strip()).digest() if scheme.lower() == b"bearer" else b""
        # Every token is compared, each in constant time.
        tokens = self._token_file.tokens
        rights = {name for name, expected in tokens if hmac.compare_digest(expected, digest)}
        if not rights:
            raise Problem(
                "no-token",
                "send the header `Authorization: Bearer TOKEN` with a token of this service",
                headers={"www-authenticate": 'Bearer realm="nearkin"'},
            )
        if right == "write" and "write" not in rights:
            raise Problem("not-allowed", "this is a read token; changes need a write token")
        self._check_rate(digest)

    def _check_rate(self, digest: bytes) -> None:
        """Count a request of a token, by its digest; without tokens all requests share a bucket."""
        settings = self._settings
        if settings.rate is None:
            return
        bucket = self._buckets.get(digest)
        if bucket is None:
            bucket = self._buckets[digest] = TokenBucket(settings.rate, settings.max_burst)
        if (seconds := bucket.take()) > 0:
            found = f"more than {settings.rate:g} requests per second"
            headers = retry_after(math.ceil(seconds))
            raise Problem("rate-limited", f"{found}; try again later, or send batches", headers=headers, found=found)


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
