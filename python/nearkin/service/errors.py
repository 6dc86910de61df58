"""Errors of a service as problem details (RFC 9457): what was found, what is allowed, which document."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

import msgspec

from nearkin.errors import (
    CorruptStoreError,
    InputError,
    MismatchError,
    NearkinError,
    ParameterError,
    StoreLockedError,
)

TYPE = "urn:nearkin:problem:"
MEDIA_TYPE = b"application/problem+json"
FULL = (errno.ENOSPC, errno.EDQUOT)

TITLES: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request can't be understood"),
    "no-token": (401, "A token is needed"),
    "not-allowed": (403, "This is not allowed"),
    "read-only": (403, "The service only answers questions"),
    "no-backups": (403, "The service has no folder for backups"),
    "no-such-document": (404, "There is no such document"),
    "no-such-route": (404, "There is no such route"),
    "wrong-method": (405, "The route has another method"),
    "too-slow": (408, "The body took too long"),
    "other-content": (409, "The id is that of another content"),
    "other-recipe": (409, "The store has another recipe"),
    "other-kind": (409, "The store holds another kind of ids or documents"),
    "locked": (409, "Another process has the store"),
    "exists": (409, "There is something of that name"),
    "too-large": (413, "The request is too large"),
    "media-type": (415, "The body has another form"),
    "busy": (429, "The service has more work than it can take"),
    "headers-too-large": (431, "The headers are too large"),
    "internal": (500, "The service failed"),
    "corrupt-store": (500, "The store is damaged"),
    "not-ready": (503, "The service is starting or ending"),
    "no-memory": (503, "There is not enough memory"),
    "disk-full": (507, "The disk is full"),
}
"""Status and title of every problem, by the last part of its type."""

_encode = msgspec.json.Encoder().encode


class Problem(Exception):  # noqa: N818  # RFC 9457 calls it so.
    """What a request is refused with.

    Parameters
    ----------
    slug : str
        A key of `TITLES`.
    detail : str
        What was found, what is allowed, how to mend it.
    headers : mapping, optional
        Further headers of the answer.
    **context
        Members of the problem: found, allowed, place, id.
    """

    def __init__(self, slug: str, detail: str, *, headers: Mapping[bytes, bytes] | None = None, **context: Any) -> None:
        super().__init__(detail)
        self.slug, self.detail, self.context = slug, detail, context
        self.status, self.title = TITLES[slug]
        self.headers = dict(headers or {})

    def at(self, place: str, id: int | str | None = None) -> Problem:
        """The same of one document of a request."""
        more = {} if id is None else {"id": id}
        return Problem(self.slug, self.detail, headers=self.headers, **{**self.context, "place": place, **more})

    def members(self, instance: str | None = None) -> dict[str, Any]:
        """All members of the problem."""
        found: dict[str, Any] = {
            "type": TYPE + self.slug,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if instance is not None:
            found["instance"] = instance
        return found | {name: value for name, value in self.context.items() if value is not None}

    def body(self, instance: str | None = None) -> bytes:
        """The problem as JSON."""
        return _encode(self.members(instance))


def bad_request(found: object, allowed: str, **context: Any) -> Problem:
    """The problem of something that is not allowed."""
    return Problem("bad-request", f"{found}; {allowed}", found=str(found), allowed=allowed, **context)


def problem_of(error: BaseException) -> Problem:
    """What an error of the store is to a client."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, InputError):
        slug = "other-content" if "id" in error.context else "bad-request"
        return Problem(slug, error.message, **_said(error))
    if isinstance(error, ParameterError):
        return _of_parameter(error)
    if isinstance(error, MismatchError):
        slug = "other-recipe" if "recipe" in str(error.context.get("what", "")) else "other-kind"
        return Problem(slug, error.message, **_said(error))
    if isinstance(error, StoreLockedError):
        return Problem("locked", error.message, headers={b"retry-after": b"1"})
    if isinstance(error, CorruptStoreError):
        return Problem("corrupt-store", error.message)
    if isinstance(error, FileExistsError):
        return Problem("exists", str(error))
    if isinstance(error, MemoryError):
        return Problem("no-memory", "not enough memory; send less at once", headers={b"retry-after": b"5"})
    if isinstance(error, OSError) and error.errno in FULL:
        return disk_full(str(error))
    return Problem("internal", f"{type(error).__name__}; the log of the service says more")


def disk_full(detail: str) -> Problem:
    """The problem of a change for which there is no room."""
    said = f"{detail}; nothing was changed, and questions are answered; make room"
    return Problem("disk-full", said, headers={b"retry-after": b"30"})


def _of_parameter(error: ParameterError) -> Problem:
    allowed = str(error.context.get("allowed", ""))
    if allowed.startswith("ids that are in the store"):
        return Problem("no-such-document", f"{error.context.get('found')} is not in the store")
    if allowed.startswith("ids of the store's kind"):
        return Problem("other-kind", error.message, **_said(error))
    return Problem("bad-request", error.message, **_said(error))


def _said(error: NearkinError) -> dict[str, Any]:
    """What an error says beside its message, as JSON can hold it."""
    names = ("found", "allowed", "place", "id", "left", "right")
    values = {name: error.context.get(name) for name in names}
    return {
        name: value if isinstance(value, (int, str)) else str(value)
        for name, value in values.items()
        if value is not None
    }
