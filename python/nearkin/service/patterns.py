"""Routes for patterns: items are matched with a saved state, added to it, and compared with it.

The state is that of `nearkin patterns`, in the file of `--patterns` (`served_patterns`).
"""

from __future__ import annotations

import asyncio
from datetime import date, datetime
from functools import partial
from typing import Annotated, Any

from nearkin.errors import require_extra
from nearkin.io.arrow import to_values
from nearkin.patterns import Patterns, UrlPatterns
from nearkin.service.auth import ReadRequest, WriteRequest, check_parameters
from nearkin.service.bodies import check_batch, make_decoder
from nearkin.service.errors import Problem, bad_request
from nearkin.service.models import (
    JSON,
    ChangesOutput,
    ItemsInput,
    PatternMatchesOutput,
    PatternsFitOutput,
    PatternsOutput,
)
from nearkin.service.openapi import problems, request_body, success
from nearkin.service.request import HttpRequest
from nearkin.service.responses import JsonResponse
from nearkin.service.served_patterns import ServedPatterns

with require_extra("service", "a service"):
    from fastapi import APIRouter, Depends, Query, Response

_MATCH = {
    "id": "4a5c0b2d9e7f1a36",
    "pattern": "/api/users/{int}?page={int}",
    "variables": ["7", "2"],
    "verdict": "known",
    "unusual": [],
}
_CHANGE = {"kind": "new", "id": "4a5c0b2d9e7f1a36", "pattern": "/login", "was": None, "before": None, "after": 0.1}
_LISTED = ("id", "pattern", "decoded", "count", "share", "first_seen", "last_seen", "examples", "variables", "days")
_MAX_LISTED = 10_000

Limit = Annotated[int, Query(ge=1, le=_MAX_LISTED, description="Number of patterns, the most frequent ones.")]
_ITEMS = request_body(ItemsInput, urls={"items": ["/api/users/7?page=2"]})

patterns_router = APIRouter(tags=["patterns"], dependencies=[Depends(check_parameters)], responses=problems())


def _served(request: HttpRequest) -> ServedPatterns:
    patterns = request.state.patterns
    if patterns is None:
        raise Problem("no-patterns", "start the service with --patterns FILE")
    return patterns


_decode = make_decoder(ItemsInput)


async def _read_items(request: HttpRequest) -> ItemsInput:
    """Read a body of items."""
    if request.media_type != JSON:
        found = request.media_type[:60] or "none"
        raise Problem("media-type", f"content type {found}; use {JSON}", found=found)
    body = _decode(await request.body())
    check_batch(len(body.items), request.state.limits)
    if isinstance(body.times, list) and len(body.times) != len(body.items):
        raise bad_request(f"{len(body.times):,} times for {len(body.items):,} items", "send one for each item, or none")
    return body


@patterns_router.get("/v1/patterns", responses=success(PatternsOutput))
async def list_patterns(request: ReadRequest, limit: Limit = 100) -> Response:
    """Return the patterns, the most frequent first, with examples, variables and counts per day."""

    def read(patterns: Patterns) -> PatternsOutput:
        table = patterns.table()
        columns = [name for name in _LISTED if name in table.column_names]
        rows = [_to_json(row) for row in to_values(table.select(columns).slice(0, limit))]
        return PatternsOutput(patterns.name, patterns.count, table.num_rows, patterns.unmatched.count, rows)

    return JsonResponse(await request.run(partial(read, _served(request).patterns)))


@patterns_router.post(
    "/v1/patterns/match", responses=success(PatternMatchesOutput, urls={"results": [_MATCH]}), openapi_extra=_ITEMS
)
async def match(request: ReadRequest) -> Response:
    """Return the pattern of each item, null without one, and the values of its variables; for URLs also the verdict."""
    served, body = _served(request), await _read_items(request)
    if isinstance(body.times, list):
        raise bad_request("times", "a match does not depend on them; omit them")

    def read(patterns: Patterns) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = to_values(patterns.match_many(body.items))
        if not isinstance(patterns, UrlPatterns):
            return rows
        verdicts = to_values(patterns.judge_many(body.items).select(["verdict", "unusual"]))
        return [{**row, **verdict} for row, verdict in zip(rows, verdicts, strict=True)]

    return JsonResponse(PatternMatchesOutput(await request.run(partial(read, served.patterns))))


@patterns_router.post(
    "/v1/patterns/fit",
    responses=success(PatternsFitOutput, urls={"items": 41, "num_patterns": 1}),
    openapi_extra=_ITEMS,
)
async def fit(request: WriteRequest) -> Response:
    """Add items to the patterns, and write their file; the result does not depend on the order of requests."""
    if request.state.settings.readonly:
        raise Problem("read-only", "the service was started with --readonly")
    served, body = _served(request), await _read_items(request)
    times = body.times if isinstance(body.times, list) else None
    async with served.changing():
        patterns = await request.run(partial(served.fitted, body.items, times))
        await asyncio.to_thread(served.save, patterns)
    return JsonResponse(PatternsFitOutput(patterns.count, len(patterns)))


@patterns_router.post(
    "/v1/patterns/compare", responses=success(ChangesOutput, urls={"changes": [_CHANGE]}), openapi_extra=_ITEMS
)
async def compare(request: ReadRequest) -> Response:
    """Return how items differ from the patterns: new patterns, gone ones, changed types and shares."""
    served, body = _served(request), await _read_items(request)
    times = body.times if isinstance(body.times, list) else None

    def read(patterns: Patterns) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = to_values(patterns.unfitted().fit(body.items, times=times).compare(patterns))
        return rows

    return JsonResponse(ChangesOutput(await request.run(partial(read, served.patterns))))


def _to_json(value: Any) -> Any:
    """Convert dates, in lists and dicts too, to ISO 8601."""
    if isinstance(value, dict):
        return {name: _to_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_to_json(each) for each in value]
    return value.isoformat() if isinstance(value, datetime | date) else value
