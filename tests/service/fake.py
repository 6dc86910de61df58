"""A minimal service that replaces the network: it answers from a store, or fails as requested.

Tests of the client that need more run against `nearkin serve`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

import nearkin as nk

Fault = Callable[[httpx.Request], httpx.Response | None]
"""A response, an exception, or None for the response of the store."""


def problem(slug: str, status: int, detail: str = "no", headers: dict[str, str] | None = None, **more: Any) -> Fault:
    """Return a fault that responds with a problem."""
    body = {"type": f"urn:nearkin:problem:{slug}", "title": slug, "status": status, "detail": detail, **more}
    all_headers = {"Content-Type": "application/problem+json", **(headers or {})}
    return lambda request: httpx.Response(status, headers=all_headers, content=json.dumps(body).encode())


def broken(kind: type[httpx.TransportError]) -> Fault:
    """Return a fault that breaks the connection before the request has an effect."""

    def fail(request: httpx.Request) -> httpx.Response:
        raise kind("broken", request=request)

    return fail


@dataclass
class FakeService:
    """Answers from a store; each request except `/v1/info` first consumes a fault."""

    store: nk.Store
    faults: list[Fault | None] = field(default_factory=list)
    body: int = 1 << 20
    batch: int = 10_000
    lose: bool = False
    """Lose the responses to changes while there are faults."""
    requests: list[httpx.Request] = field(default_factory=list)

    def client(self, **options: Any) -> nk.Client:
        """Return a client of this service."""
        return nk.Client("http://service", transport=httpx.MockTransport(self), **options)

    @property
    def paths(self) -> list[str]:
        """Paths of the requests, without `/v1/info`."""
        return [request.url.path for request in self.requests]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Return the response to a request."""
        request.read()
        if request.url.path == "/v1/info":
            return httpx.Response(200, json=self.info())
        self.requests.append(request)
        fault = self.faults.pop(0) if self.faults else None
        answer = None if fault is None else fault(request)
        return self.answer(request) if answer is None else answer

    def info(self) -> dict[str, Any]:
        """Return the body of `/v1/info`."""
        stats = self.store.stats()
        noun = self.store.settings.kind
        limits = {"body": self.body, "batch": self.batch, "line": self.body, "k": 1000}
        return {**vars(stats), "kind": f"{noun}s", "id_kind": self.store.id_kind, "limits": limits, "version": "1"}

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Return the response of the store."""
        assert len(request.content) <= self.body
        path, query = request.url.path, request.url.params
        if path in ("/v1/check", "/v1/add", "/v1/check-and-add"):
            result = self.decide(path, json.loads(request.content)["documents"], query.get("k"))
            return httpx.Response(200, json={"answers": rows_of(result), "verified": result.verified})
        body = json.loads(request.content)
        assert len(body.get("ids", ())) <= self.batch
        if path == "/v1/remove":
            return httpx.Response(
                200, json={"removed": self.store.remove(body["ids"], missing_ok="missing_ok" in query)}
            )
        documents = [
            None if document is None else vars(document) for document in self.store.get(body["ids"], missing_ok=True)
        ]
        listed = [
            None if document is None else {**document, "similarity": number(document["similarity"])}
            for document in documents
        ]
        return httpx.Response(200, json={"documents": listed})

    def decide(self, path: str, documents: list[dict[str, Any]], k: str | None) -> nk.CheckResult:
        """Pass documents to the store."""
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
    """Replace NaN, which JSON lacks, by None."""
    return None if value != value else value


def rows_of(answers: nk.CheckResult) -> list[dict[str, Any]]:
    """Return results as JSON objects."""
    rows: list[dict[str, Any]] = []
    for at, row in enumerate(answers.rows()):
        own = {} if answers.own_ids is None else {"id": answers.own_ids[at]}
        rows.append({**own, **row, "similarity": number(row["similarity"])})
        if answers.matches is not None:
            rows[-1]["matches"] = [
                {**vars(match), "similarity": number(match.similarity)} for match in answers.matches[at]
            ]
    return rows


def same_answers(left: nk.CheckResult, right: nk.CheckResult) -> bool:
    """Return True if two results are equal bit for bit; NaN equals NaN."""
    arrays = ((left.distances, right.distances), (left.similarities, right.similarities))
    equal = all(first.dtype == other.dtype and first.tobytes() == other.tobytes() for first, other in arrays)
    names = ("status", "ids", "verified", "own_ids")
    # NaN differs from itself, so matches are compared by their repr.
    return (
        equal
        and repr(left.matches) == repr(right.matches)
        and all(getattr(left, name) == getattr(right, name) for name in names)
    )
