"""A service of a few lines in the place of the network: it answers from a store, or as it is told to fail.

What it does not do, `nearkin serve` does: the tests of the client that need more run against that.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

import nearkin as nk

Fault = Callable[[httpx.Request], httpx.Response | None]
"""What happens to a request: an answer, an exception, or None for what the store says."""


def problem(slug: str, status: int, detail: str = "no", headers: dict[str, str] | None = None, **more: Any) -> Fault:
    """The answer with a problem."""
    body = {"type": f"urn:nearkin:problem:{slug}", "title": slug, "status": status, "detail": detail, **more}
    given = {"Content-Type": "application/problem+json", **(headers or {})}
    return lambda request: httpx.Response(status, headers=given, content=json.dumps(body).encode())


def broken(kind: type[httpx.TransportError]) -> Fault:
    """A connection that breaks before anything is done."""

    def fail(request: httpx.Request) -> httpx.Response:
        raise kind("broken", request=request)

    return fail


@dataclass
class FakeService:
    """Answers from a store; the faults come first, one for each request that is no question for `/v1/info`."""

    store: nk.Store
    faults: list[Fault | None] = field(default_factory=list)
    body: int = 1 << 20
    batch: int = 10_000
    lose: bool = False
    """Whether the answers to changes are lost, after they were made, as long as there are faults."""
    requests: list[httpx.Request] = field(default_factory=list)

    def client(self, **options: Any) -> nk.Client:
        """A client of this service."""
        return nk.Client("http://service", transport=httpx.MockTransport(self), **options)

    @property
    def paths(self) -> list[str]:
        """What was asked for, without `/v1/info`."""
        return [request.url.path for request in self.requests]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """The answer to a request."""
        request.read()
        if request.url.path == "/v1/info":
            return httpx.Response(200, json=self.info())
        self.requests.append(request)
        fault = self.faults.pop(0) if self.faults else None
        answer = None if fault is None else fault(request)
        return self.answer(request) if answer is None else answer

    def info(self) -> dict[str, Any]:
        """What the store holds."""
        stats = self.store.stats()
        noun = self.store.settings.noun
        limits = {"body": self.body, "batch": self.batch, "line": self.body, "k": 1000}
        return {**vars(stats), "kind": f"{noun}s", "id_kind": self.store.id_kind, "limits": limits, "version": "1"}

    def answer(self, request: httpx.Request) -> httpx.Response:
        """What the store says."""
        assert len(request.content) <= self.body
        path, query = request.url.path, request.url.params
        if path in ("/v1/check", "/v1/add", "/v1/check-and-add"):
            result = self.decide(path, json.loads(request.content)["documents"], query.get("k"))
            return httpx.Response(200, json={"answers": rows_of(result), "verified": result.verified})
        asked = json.loads(request.content)
        assert len(asked.get("ids", ())) <= self.batch
        if path == "/v1/remove":
            return httpx.Response(200, json={"removed": self.store.remove(asked["ids"])})
        found = [None if one is None else vars(one) for one in self.store.get(asked["ids"], missing_ok=True)]
        listed = [None if one is None else {**one, "similarity": number(one["similarity"])} for one in found]
        return httpx.Response(200, json={"documents": listed})

    def decide(self, path: str, documents: list[dict[str, Any]], k: str | None) -> nk.CheckResult:
        """Ask the store."""
        assert len(documents) <= self.batch
        texts = [document["text"] for document in documents]
        if path == "/v1/check":
            return self.store.check(texts, k=None if k is None else int(k))
        ids = [document["id"] for document in documents] if documents and "id" in documents[0] else None
        call = self.store.add if path == "/v1/add" else self.store.check_and_add
        names = list(documents[0].get("columns", {}))
        columns = {name: [document["columns"][name] for document in documents] for name in names}
        return call(texts, ids, columns=columns or None)


def number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if value != value else value


def rows_of(answers: nk.CheckResult) -> list[dict[str, Any]]:
    """Answers as JSON."""
    found: list[dict[str, Any]] = []
    for at, row in enumerate(answers.rows()):
        own = {} if answers.own_ids is None else {"id": answers.own_ids[at]}
        found.append({**own, **row, "similarity": number(row["similarity"])})
        if answers.matches is not None:
            found[-1]["matches"] = [{**vars(one), "similarity": number(one.similarity)} for one in answers.matches[at]]
    return found


def same_answers(left: nk.CheckResult, right: nk.CheckResult) -> bool:
    """Whether two answers are equal bit for bit, NaN to NaN."""
    arrays = ((left.distances, right.distances), (left.similarities, right.similarities))
    equal = all(one.dtype == other.dtype and one.tobytes() == other.tobytes() for one, other in arrays)
    names = ("status", "ids", "verified", "own_ids")
    # NaN differs from itself: matches are compared by what they look like.
    return (
        equal
        and repr(left.matches) == repr(right.matches)
        and all(getattr(left, name) == getattr(right, name) for name in names)
    )
