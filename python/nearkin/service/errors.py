"""Errors of a service as problem details (RFC 9457): found, allowed, and the document concerned."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from nearkin.errors import (
    CorruptStoreError,
    InputError,
    MismatchError,
    NearkinError,
    ParameterError,
    StoreLockedError,
    StoreReplacedError,
)

TYPE = "urn:nearkin:problem:"
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)

PROBLEMS: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request is not valid"),
    "no-token": (401, "A token is needed"),
    "not-allowed": (403, "This is not allowed"),
    "read-only": (403, "The service is read-only"),
    "no-backups": (403, "The service has no folder for backups"),
    "no-patterns": (403, "The service has no patterns"),
    "no-store": (403, "The service has no store"),
    "no-such-document": (404, "There is no such document"),
    "no-such-route": (404, "There is no such route"),
    "wrong-method": (405, "The route has another method"),
    "too-slow": (408, "The body took too long"),
    "other-content": (409, "The id belongs to other content"),
    "other-recipe": (409, "The store has another recipe"),
    "other-kind": (409, "The store holds another kind of ids or documents"),
    "locked": (409, "Another process has locked the store"),
    "exists": (409, "Something of that name exists"),
    "too-large": (413, "The request is too large"),
    "media-type": (415, "The media type is not supported"),
    "busy": (429, "The service is overloaded"),
    "rate-limited": (429, "The token has sent too many requests"),
    "headers-too-large": (431, "The headers are too large"),
    "internal": (500, "The service failed"),
    "corrupt-store": (500, "The store is damaged"),
    "not-ready": (503, "The service is starting or shutting down"),
    "store-replaced": (503, "The folder of the store was replaced"),
    "no-memory": (503, "There is not enough memory"),
    "disk-full": (507, "The disk is full"),
}
"""Status and title of each problem, by slug: the last part of its type."""


class Problem(Exception):  # noqa: N818  # RFC 9457 calls it so.
    """The reason why a request is refused.

    Parameters
    ----------
    slug : str
        A key of `PROBLEMS`.
    detail : str
        What was found, what is allowed, how to mend it.
    headers : mapping, optional
        Further headers of the response.
    **context
        Members of the problem: found, allowed, place, id. None is omitted.
    """

    def __init__(self, slug: str, detail: str, *, headers: Mapping[str, str] | None = None, **context: Any) -> None:
        super().__init__(detail)
        self.slug, self.detail, self.context = slug, detail, context
        self.status, self.title = PROBLEMS[slug]
        self.headers = dict(headers or {})

    def details(self, instance: str | None = None) -> dict[str, Any]:
        """Return the members of the problem; `instance` is the id of the request."""
        members = {"type": TYPE + self.slug, "title": self.title, "status": self.status, "detail": self.detail}
        members |= {"instance": instance, **self.context}
        return {name: value for name, value in members.items() if value is not None}


def bad_request(found: object, allowed: str, **context: Any) -> Problem:
    """Return the problem of an invalid request."""
    return Problem("bad-request", f"{found}; {allowed}", found=str(found), allowed=allowed, **context)


def truncated_body() -> Problem:
    """Return the problem of a body that ends early or is malformed, after which the connection has no next request."""
    problem = bad_request("a truncated or malformed body", "send it complete")
    problem.headers["connection"] = "close"
    return problem


def retry_after(seconds: int) -> dict[str, str]:
    """Return the header that asks a client to try again later."""
    return {"retry-after": str(seconds)}


def disk_full(detail: str) -> Problem:
    """Return the problem of a change that the disk has no space for."""
    message = f"{detail}; nothing was changed and queries still work; free some space"
    return Problem("disk-full", message, headers=retry_after(30))


def problem_from(error: BaseException) -> Problem:
    """Translate an error of the store into a problem."""
    match error:
        case Problem():
            return error
        case InputError():
            return _translate("other-content" if "id" in error.context else "bad-request", error)
        case ParameterError():
            allowed = str(error.context.get("allowed", ""))
            if allowed.startswith("ids that are in the store"):
                return Problem("no-such-document", f"{error.context.get('found')} is not in the store")
            return _translate("other-kind" if allowed.startswith("ids of the store's kind") else "bad-request", error)
        case MismatchError():
            return _translate("other-recipe" if "recipe" in str(error.context.get("what")) else "other-kind", error)
        case StoreLockedError():
            return Problem("locked", error.message, headers=retry_after(1))
        case StoreReplacedError():
            return Problem("store-replaced", f"{error.reason}; restart the service")
        case CorruptStoreError():
            return Problem("corrupt-store", error.message)
        case FileExistsError():
            return Problem("exists", str(error))
        case MemoryError():
            return Problem("no-memory", "not enough memory; send less at once", headers=retry_after(5))
        case OSError() if error.errno in DISK_FULL:
            return disk_full(str(error))
    return Problem("internal", f"{type(error).__name__}; see the log of the service")


def _translate(slug: str, error: NearkinError) -> Problem:
    """Return a problem with the message of an error, and its context as far as JSON can hold it."""
    context: dict[str, Any] = {}
    for name in ("found", "allowed", "place", "id", "left", "right"):
        value = error.context.get(name)
        context[name] = value if value is None or isinstance(value, (int, str)) else str(value)
    return Problem(slug, error.message, **context)
