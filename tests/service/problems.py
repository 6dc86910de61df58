"""Documented problems of the service, and the health check after each attack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from live import PROBLEM, Reply, Service

PREFIX = "urn:nearkin:problem:"
DOCUMENTED = {
    "bad-request": 400,
    "no-token": 401,
    "not-allowed": 403,
    "read-only": 403,
    "no-backups": 403,
    "no-such-document": 404,
    "no-such-route": 404,
    "wrong-method": 405,
    "too-slow": 408,
    "other-content": 409,
    "other-recipe": 409,
    "other-kind": 409,
    "locked": 409,
    "exists": 409,
    "too-large": 413,
    "media-type": 415,
    "busy": 429,
    "rate-limited": 429,
    "internal": 500,
    "not-ready": 503,
    "store-replaced": 503,
    "disk-full": 507,
}
"""Status of each problem, by slug."""
SLACK = 96 << 20
"""Bytes by which a service may grow during an attack, because allocators keep freed memory."""


def slug_of(problem: dict[str, Any]) -> str:
    """Return the slug of a problem, and check its members (RFC 9457)."""
    assert {"type", "title", "status", "detail", "instance"} <= problem.keys(), problem
    name = str(problem["type"])
    assert name.startswith(PREFIX), problem
    slug = name.removeprefix(PREFIX)
    assert DOCUMENTED.get(slug) == problem["status"], problem
    assert problem["title"], problem
    assert problem["detail"], problem
    assert problem["instance"], problem
    return slug


def client_error_slug(reply: Reply) -> str:
    """Return the slug of a response that is a problem caused by the client.

    Raises
    ------
    AssertionError
        The response is not a documented problem, or is a fault of the service.
    """
    assert PROBLEM == reply.type, (reply.status, reply.headers, reply.body[:500])
    problem = reply.json()
    slug = slug_of(problem)
    assert reply.status == problem["status"], problem
    assert 400 <= reply.status < 500, problem
    return slug


@contextmanager
def still_healthy(service: Service, slack: int = SLACK) -> Iterator[None]:
    """Check that the service still works after the block, in the same process and without growing."""
    before = service.memory()
    yield
    assert None is service.process.poll(), service.output()
    assert (200, b"ok") == ((reply := service.call("GET", "/healthz")).status, reply.body.strip())
    reply = service.post("/v1/check", {"text": "a text that is asked for after an attack"})
    assert 200 == reply.status, reply
    assert service.memory() < before + slack, f"{before / 1e6:.0f} MB before, {service.memory() / 1e6:.0f} MB after"
    assert [] == service.rest, "lines of the log that are no JSON"
