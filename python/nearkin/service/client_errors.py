"""The errors that the problems of a service become: those that the store raises, where it is the store that refuses.

A problem (RFC 9457) is a JSON object: `type`, of which the end is its slug; `detail`, the message; and what the message
speaks of, which become attributes of the error.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Mapping
from typing import Any

from nearkin.errors import (
    CorruptStoreError,
    InputError,
    MismatchError,
    NearkinError,
    ParameterError,
    ServiceError,
    StoreLockedError,
    bad_parameter,
)

_OWN = ("type", "title", "status", "detail", "instance", "self", "message")
_RAISED: dict[str, Callable[..., NearkinError]] = {
    "other-content": InputError,
    "other-recipe": MismatchError,
    "locked": StoreLockedError,
    "corrupt-store": CorruptStoreError,
}
"""Errors of the store by slug."""
_ADVICE = {
    "no-token": "give the client token=, one of the service's --token-file",
    "not-allowed": "give the client a token that may do this, or the address by which the service is known",
    "no-such-route": "give the URL of a nearkin service",
    "too-large": "give smaller documents, or raise --max-body of the service",
    "busy": "with more retries=, or from fewer threads",
}
"""What a caller can do beside what the service says."""
_ROW = re.compile(r"(^row |^documents\[|(?<= in )row )(\d+)(?=:|,|\]|$| of the batch)")


def error_of(problem: Mapping[str, Any], status: int, url: str) -> Exception:
    """The error of a problem.

    Parameters
    ----------
    problem : mapping
        The body of the answer.
    status : int
        Its HTTP status.
    url : str
        The service.

    Returns
    -------
    Exception
        An error of `nearkin.errors`, or FileExistsError.
    """
    slug = str(problem.get("type", "")).rpartition(":")[2]
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP status {status}")
    context = {name: value for name, value in problem.items() if name not in _OWN and name.isidentifier()}
    if slug == "exists":
        return FileExistsError(detail)
    if slug == "no-such-document" and "found" in context and "allowed" in context:
        return bad_parameter("ids", context["found"], str(context["allowed"]))
    if slug in ("bad-request", "other-kind", "no-such-document"):
        # What differs has two sides; a record that can't be read has a place, and nothing that is allowed.
        is_record = "place" in context and "allowed" not in context
        return (MismatchError if "left" in context else InputError if is_record else ParameterError)(detail, **context)
    if slug in _RAISED:
        return _RAISED[slug](detail, **context)
    own = {"status": status, "request": problem.get("instance")}
    return service_error(url, detail, slug=slug or None, context=context | own)


def service_error(
    url: str, message: str, *, slug: str | None = None, context: Mapping[str, Any] | None = None
) -> ServiceError:
    """The error of what only a service can say, with what to do about it.

    Parameters
    ----------
    url : str
    message : str
        What happened.
    slug : str, optional
        The kind of the problem.
    context : mapping, optional
        Attributes of the error.
    """
    advice = _ADVICE.get(slug or "")
    number = errno.ENOSPC if slug == "disk-full" else None
    given = {"status": None, "unknown": False, **(context or {}), "url": url, "slug": slug, "errno": number}
    return ServiceError(f"{url}: {message}" + (f"; {advice}" if advice else ""), **given)


def after_pieces(error: Exception, done: int, total: int, noun: str = "documents") -> Exception:
    """The error of a call that was cut, of which the pieces before this one are done.

    Parameters
    ----------
    error : Exception
        That of the piece.
    done : int
        Documents of the pieces before it.
    total : int
        Documents of the call.
    noun : str, default "documents"
        What the call has many of.

    Returns
    -------
    Exception
        The same kind; rows in its message and its place are counted from the first document of the call, and `done` is
        an attribute.
    """
    if not isinstance(error, NearkinError):
        return error

    def moved(text: str) -> str:
        return _ROW.sub(lambda found: f"{found[1]}{int(found[2]) + done}", text)

    context = {**error.context, "done": done}
    for name in ("place", "reason"):
        if isinstance(context.get(name), str):
            context[name] = moved(context[name])
    message = (
        f"{moved(error.message)}; the call was sent in pieces, and the first {done:,} of {total:,} {noun} are done"
    )
    return type(error)(message, **context)
