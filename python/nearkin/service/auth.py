"""Who may ask: tokens, and the hosts and origins that requests name.

Without tokens a service listens on loopback alone. There a page of any site that a person visits can send requests,
too: what names another host (DNS rebinding) or comes from another origin is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import stat
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from nearkin.errors import InputError
from nearkin.service.errors import Problem
from nearkin.service.logs import log
from nearkin.service.settings import LOOPBACK, ServiceSettings

Right = Literal["read", "write"]
SHORTEST = 16
"""Characters of a token, at least."""


class Access:
    """What requests are held against before anything else is looked at.

    Parameters
    ----------
    settings : ServiceSettings

    Raises
    ------
    InputError
        A line of the file of tokens is no token.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._tokens = [] if settings.token_file is None else read_tokens(settings.token_file)
        names = {*LOOPBACK, settings.host, *settings.allowed_hosts}
        # Behind tokens any name will do, unless some were named.
        self._hosts = {name.lower() for name in names} if not self._tokens or settings.allowed_hosts else None

    @property
    def needs_tokens(self) -> bool:
        """Whether nothing is answered without one."""
        return bool(self._tokens)

    def check_source(self, headers: dict[bytes, bytes]) -> None:
        """Refuse requests in another host's name, and those that another site's page sends.

        Raises
        ------
        Problem
            not-allowed.
        """
        if self._hosts is not None:
            host = headers.get(b"host", b"").decode("latin-1")
            if host and host_of(host) not in self._hosts:
                allowed = "use the address at which the service listens, or start it with --allow-host NAME"
                raise Problem(
                    "not-allowed", f"the host {host[:80]!r} is not this service's; {allowed}", allowed=allowed
                )
        origin = headers.get(b"origin")
        if (
            origin is not None
            and urlsplit(origin.decode("latin-1")).netloc.lower() != headers.get(b"host", b"").decode("latin-1").lower()
        ):
            found = origin.decode("latin-1")[:80]
            raise Problem("not-allowed", f"a page of {found!r} sent this; only the service's own page may", found=found)

    def check_right(self, headers: dict[bytes, bytes], right: Right) -> None:
        """Refuse requests without the token that they need.

        Raises
        ------
        Problem
            no-token or not-allowed.
        """
        if not self._tokens:
            return
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = hashlib.sha256(token.strip()).digest() if kind.lower() == b"bearer" else b""
        found: set[str] = set()
        for name, digest in self._tokens:
            # Every token is compared, each in the same time.
            if hmac.compare_digest(digest, given):
                found.add(name)
        if not found:
            raise Problem(
                "no-token",
                "send the header `Authorization: Bearer TOKEN` with a token of this service",
                headers={b"www-authenticate": b'Bearer realm="nearkin"'},
            )
        if right == "write" and "write" not in found:
            raise Problem("not-allowed", "this token may read; a change needs a token that may write")


def host_of(text: str) -> str:
    """The name in a Host header, without its port."""
    if text.startswith("["):
        return text[1:].partition("]")[0].lower()
    return text.partition(":")[0].lower()


def read_tokens(path: Path) -> list[tuple[Right, bytes]]:
    """Rights and SHA-256 of the tokens of a file: lines `read TOKEN` or `write TOKEN`; # begins a comment.

    Raises
    ------
    InputError
        Another line, a short token, or none at all.
    """
    found: list[tuple[Right, bytes]] = []
    lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        right = words[0]
        if len(words) != 2 or (right != "read" and right != "write"):
            raise _bad(path, number, "is no token; write `read TOKEN` or `write TOKEN`")
        if len(words[1]) < SHORTEST:
            raise _bad(path, number, f"has a token of {len(words[1])} characters; use {SHORTEST} or more")
        found.append((right, hashlib.sha256(words[1].encode()).digest()))  # type: ignore[arg-type]  # One of the two.
    if not found:
        raise _bad(path, len(lines), "is the last, and there is no token; write `write TOKEN`")
    if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        log("warning", "token-file", detail="others can read the file of tokens; chmod 600 it", file=str(path))
    return found


def _bad(path: Path, number: int, reason: str) -> InputError:
    return InputError(f"{path}: line {number} {reason}", place=f"{path}: line {number}", reason=reason)
