"""The routes as OpenAPI: what each takes and gives, with examples and every error. `/docs` shows it as plain HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import msgspec
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from nearkin.service.bodies import (
    ARROW,
    JSON,
    NDJSON,
    BackupName,
    IdOrIds,
    Item,
    ItemOrBatch,
    QueryOrBatch,
)
from nearkin.service.errors import TITLES, TYPE

Json = dict[str, Any]
INTRODUCTION = (
    "A store of documents that says of each one that comes whether it is new, an exact copy, or near one that is "
    "there, and remembers it. Bodies may be compressed (`Content-Encoding: gzip` or `zstd`). Errors are problem "
    "details (RFC 9457); every answer has an `X-Request-ID`."
)
_ANYWHERE = ("not-allowed", "too-large", "too-slow", "busy", "internal", "corrupt-store", "not-ready", "no-memory")
_PROBLEM_TYPE = "application/problem+json"


@dataclass
class Described:
    """One route."""

    method: str
    path: str
    name: str
    summary: str
    description: str
    tag: str
    responses: dict[int | str, Json]
    extra: Json = field(default_factory=dict)
    response_class: type[Response] = JSONResponse
    status: int = 200


_ID: Json = {"anyOf": [{"type": "integer", "format": "int64"}, {"type": "string"}]}
_NUMBER_OR_NULL: Json = {"anyOf": [{"type": "number"}, {"type": "null"}]}
_MATCH: Json = {
    "type": "object",
    "properties": {
        "id": _ID,
        "distance": {"type": "number"},
        "similarity": _NUMBER_OR_NULL,
        "columns": {"type": "object"},
    },
    "required": ["id", "distance", "similarity", "columns"],
}
_ANSWER: Json = {
    "type": "object",
    "properties": {
        "id": _ID,
        "status": {"type": "string", "enum": ["new", "exact", "near", "known"]},
        "match": {"anyOf": [*_ID["anyOf"], {"type": "null"}]},
        "distance": {"type": "number", "description": "To the match; -1 for a new document."},
        "similarity": {**_NUMBER_OR_NULL, "description": "Verified; null for a new document."},
        "matches": {"type": "array", "items": _MATCH, "description": "With k: the best, most similar first."},
    },
    "required": ["status", "match", "distance", "similarity"],
}
_DOCUMENT: Json = {
    "type": "object",
    "properties": {
        "id": _ID,
        "row": {"type": "integer"},
        "status": {"type": "string", "enum": ["new", "exact", "near"]},
        "match": {"anyOf": [*_ID["anyOf"], {"type": "null"}]},
        "distance": {"type": "number"},
        "similarity": _NUMBER_OR_NULL,
        "features": {"type": "integer"},
        "length": {"type": "integer"},
        "columns": {"type": "object"},
        "text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["id", "row", "status", "match", "distance", "similarity", "features", "length", "columns"],
}
_PROBLEM: Json = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "place": {"type": "string"},
        "found": {},
        "allowed": {},
        "id": _ID,
    },
    "required": ["type", "title", "status", "detail"],
}
_INFO: Json = {
    "type": "object",
    "properties": {
        "documents": {"type": "integer"},
        "waiting": {"type": "integer"},
        "segments": {"type": "integer"},
        "removed": {"type": "integer"},
        "bytes": {"type": "object"},
        "settings": {"type": "object"},
        "kind": {"type": "string", "enum": ["texts", "files", "vectors"]},
        "id_kind": {"type": "string", "enum": ["int", "str", ""]},
        "version": {"type": "string"},
        "readonly": {"type": "boolean"},
        "reason_readonly": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "limits": {"type": "object"},
    },
    "required": ["documents", "settings", "kind", "readonly", "limits"],
}
_FOX: Json = {"id": "http://a", "text": "The quick brown fox jumps over the lazy dog.", "columns": {"source": "web"}}
_NEW: Json = {"id": "http://a", "status": "new", "match": None, "distance": -1, "similarity": None}


def described(*, with_tokens: bool) -> list[Described]:
    """All routes."""
    routes = [*_documents(), *_by_id(), *_upkeep(), *_health()]
    for one in routes:
        if with_tokens and one.tag != "health":
            one.extra["security"] = [{"token": []}]
            one.responses.update(_problems(["no-token"]))
    return routes


def _documents() -> list[Described]:
    answers = _ok(
        {"anyOf": [_ANSWER, _batch("answers", _ANSWER, verified={"type": "string"})]},
        {"one": _NEW, "batch": {"answers": [_NEW], "verified": "jaccard of the texts' features"}},
        lines=True,
        arrow=True,
    )
    errors = ("bad-request", "media-type", "other-recipe", "other-kind", "locked")
    changes = (*errors, "other-content", "read-only", "disk-full")
    body = _body("ItemOrBatch", {"one": _FOX, "batch": {"documents": [_FOX]}}, lines="A document", arrow=True)
    recipe = _query("recipe", "Refuse the request unless this is the store's recipe.", {"type": "string"})
    strict = _query("strict", "Of NDJSON: the first bad line refuses all.", {"type": "string", "enum": ["0", "1"]})
    key = _header("Idempotency-Key", "Sent again with the same key, a document gets its first answer again.")
    best = _query("k", "Give this many of the best matches.", {"type": "integer", "minimum": 1, "maximum": 1000})
    tell = "A document, a batch (whole or not at all), NDJSON (each line for itself, answered while it comes) or Arrow."
    search_body = _body("QueryOrBatch", {"text": {"text": _FOX["text"]}}, lines="A query", arrow=True)
    matches: Json = {"type": "object", "properties": {"matches": {"type": "array", "items": _MATCH}}}
    results = _ok({"anyOf": [matches, _batch("results", matches)]}, {"one": {"matches": []}}, lines=True, arrow=True)
    radius = _query("radius", "Largest Hamming distance.", {"type": "integer", "minimum": 0, "maximum": 1024})
    return [
        Described("POST", "/v1/check", "check", "What would it be?", f"{tell} Nothing is remembered.", "documents",
                  answers | _problems(errors), _extra([best, recipe, strict], body)),
        Described("POST", "/v1/check-and-add", "check_and_add", "Is it new? Remember it.",
                  f"{tell} Durable when it is answered.", "documents",
                  answers | _problems(changes), _extra([recipe, strict, key], body)),
        Described("POST", "/v1/add", "add", "Remember it, whatever it is like.", tell, "documents",
                  answers | _problems(changes), _extra([recipe, strict, key], body)),
        Described("POST", "/v1/search", "search", "What is nearest?",
                  "Fingerprints (hexadecimal), signatures, digests, vectors or texts.", "documents",
                  results | _problems(errors), _extra([best, radius, recipe], search_body)),
    ]  # fmt: skip


def _by_id() -> list[Described]:
    examples = {"one": {"id": "http://a"}, "batch": {"ids": ["http://a", "http://b"]}}
    ids = _body("IdOrIds", examples, lines='`{"id": …}`', arrow=True)
    missing = _query("missing_ok", "Pass over ids that are not there.", {"type": "string", "enum": ["0", "1"]})
    text = _query("text", "Give the text, too.", {"type": "string", "enum": ["0", "1"]})
    erase = _query("erase", "Erase it from every file now, by a merge.", {"type": "string", "enum": ["0", "1"]})
    path: Json = {
        "name": "id",
        "in": "path",
        "required": True,
        "schema": {"type": "string"},
        "example": "http%3A%2F%2Fa",
    }
    errors = ("bad-request", "no-such-document", "other-kind")
    removed: Json = {"type": "object", "properties": {"removed": {"type": "integer"}}, "required": ["removed"]}
    rows: Json = {"type": "array", "items": {"anyOf": [_DOCUMENT, {"type": "null"}]}}
    several: Json = {"type": "object", "properties": {"documents": rows}, "required": ["documents"]}
    return [
        Described("POST", "/v1/remove", "remove", "Hide documents.", "At once, from every answer.", "documents",
                  _ok(removed, {"one": {"removed": 1}}, lines=True)
                  | _problems([*errors, "media-type", "read-only", "disk-full", "locked"]),
                  _extra([missing, erase], ids)),
        Described("GET", "/v1/documents/{id}", "document", "One document.", "The id is percent-encoded.", "documents",
                  _ok(_DOCUMENT, {}) | _problems(errors), _extra([path, text], None)),
        Described("POST", "/v1/documents", "documents", "Several documents.", "In the order of their ids.", "documents",
                  _ok(several, {}, lines=True) | _problems([*errors, "media-type"]), _extra([text, missing], ids)),
    ]  # fmt: skip


def _upkeep() -> list[Described]:
    name = _body("BackupName", {"one": {"name": "2026-11-22"}})
    made = _ok({"type": "object", "properties": {"path": {"type": "string"}}}, {}, status=201)
    return [
        Described("GET", "/v1/info", "info", "What the store holds.", "And what the service allows.", "upkeep",
                  _ok(_INFO, {}) | _problems(["bad-request"])),
        Described("POST", "/v1/merge", "merge", "One segment of everything.",
                  "Removed documents are gone from every file afterwards.", "upkeep",
                  _ok(_INFO, {}) | _problems(["bad-request", "read-only", "locked", "disk-full"])),
        Described("POST", "/v1/backup", "backup", "Copy the store.", "Into the folder of --backups.", "upkeep",
                  made | _problems(["bad-request", "no-backups", "exists", "media-type", "disk-full"]),
                  _extra([], name), status=201),
    ]  # fmt: skip


def _health() -> list[Described]:
    def text(said: str) -> dict[int | str, Json]:
        return {200: {"description": said, "content": {"text/plain": {"schema": {"type": "string"}}}}}

    said = "Request rates, latencies, commits, answers, sizes."
    return [
        Described("GET", "/healthz", "healthz", "The process lives.", "", "health", text("ok") | _problems(()),
                  response_class=PlainTextResponse),
        Described("GET", "/readyz", "readyz", "The store is open.", "503 while it opens, and while the service ends.",
                  "health", text("ready") | _problems(()), response_class=PlainTextResponse),
        Described("GET", "/metrics", "metrics", "For Prometheus.", said, "upkeep", text(said) | _problems(()),
                  response_class=PlainTextResponse),
    ]  # fmt: skip


# Pieces of OpenAPI


def _query(name: str, said: str, schema: Json) -> Json:
    return {"name": name, "in": "query", "required": False, "description": said, "schema": schema}


def _header(name: str, said: str) -> Json:
    schema = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"}
    return {"name": name, "in": "header", "required": False, "description": said, "schema": schema}


def _batch(name: str, items: Json, **more: Json) -> Json:
    return {"type": "object", "properties": {name: {"type": "array", "items": items}, **more}, "required": [name]}


def _body(name: str, examples: Json, *, lines: str | None = None, arrow: bool = False) -> Json:
    shown = {key: {"value": value} for key, value in examples.items()}
    content: Json = {JSON: {"schema": {"$ref": f"#/components/schemas/{name}"}, "examples": shown}}
    if lines is not None:
        content[NDJSON] = {"schema": {"type": "string", "description": f"{lines} per line."}}
    if arrow:
        content[ARROW] = {"schema": {"type": "string", "format": "binary"}}
    return {"required": True, "content": content}


def _extra(parameters: list[Json], body: Json | None) -> Json:
    found: Json = {"parameters": parameters}
    return found if body is None else found | {"requestBody": body}


def _ok(
    schema: Json, examples: Json, *, lines: bool = False, arrow: bool = False, status: int = 200
) -> dict[int | str, Json]:
    shown = {key: {"value": value} for key, value in examples.items()}
    content: Json = {JSON: {"schema": schema} | ({"examples": shown} if shown else {})}
    if lines:
        content[NDJSON] = {"schema": {"type": "string"}}
    if arrow:
        content[ARROW] = {"schema": {"type": "string", "format": "binary"}}
    return {status: {"description": "Done.", "content": content}}


def _problems(slugs: Sequence[str]) -> dict[int | str, Json]:
    """Responses of problems, those of every route among them, by status."""
    by_status: dict[int, list[str]] = {}
    for slug in (*slugs, *_ANYWHERE):
        by_status.setdefault(TITLES[slug][0], []).append(slug)
    return {
        status: {
            "description": "; ".join(f"{TITLES[name][1]} (`{name}`)" for name in dict.fromkeys(names)),
            "content": {
                _PROBLEM_TYPE: {
                    "schema": _PROBLEM,
                    "examples": {name: {"value": _example(name)} for name in dict.fromkeys(names)},
                }
            },
        }
        for status, names in sorted(by_status.items())
    }


def _example(slug: str) -> Json:
    status, title = TITLES[slug]
    return {"type": TYPE + slug, "title": title, "status": status, "detail": "What was found; what is allowed."}


# The page


def docs_page(schema: Json) -> tuple[bytes, bytes]:
    """OpenAPI as JSON, and as a page of plain HTML."""
    _, components = msgspec.json.schema_components(
        [Item, ItemOrBatch, QueryOrBatch, IdOrIds, BackupName], ref_template="#/components/schemas/{name}"
    )
    found = schema.setdefault("components", {})
    found.setdefault("schemas", {}).update(components)
    found["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    parts = [
        _route_html(path, method, one) for path, methods in schema["paths"].items() for method, one in methods.items()
    ]
    page = _PAGE.format(
        title=escape(f"nearkin {schema['info']['version']}"), text=_marked(INTRODUCTION), routes="".join(parts)
    )
    return msgspec.json.encode(schema), page.encode()


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: routes</title><link rel="stylesheet" href="/page/page.css"></head>
<body class="docs"><main><h1>{title}: routes</h1><p>{text} The same for programs:
<a href="/openapi.json">openapi.json</a>. People use <a href="/">the page</a>.</p>{routes}</main></body></html>
"""


def _marked(text: str) -> str:
    """A text with its `code` marked."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))


def _route_html(path: str, method: str, one: Json) -> str:
    head = (
        f"<section><h2><code>{method.upper()} {escape(path)}</code></h2><p><strong>{escape(one['summary'])}</strong> "
    )
    parts = [head, _marked(one.get("description", "")), "</p>"]
    if parameters := one.get("parameters"):
        rows = [
            f"<dt><code>{escape(p['name'])}</code> ({p['in']})</dt><dd>{_marked(p.get('description', ''))}</dd>"
            for p in parameters
        ]
        parts += ["<h3>Parameters</h3><dl>", *rows, "</dl>"]
    if body := one.get("requestBody"):
        parts += ["<h3>Body</h3>", *_content_html(body["content"])]
    parts.append("<h3>Answers</h3>")
    for status, answer in sorted(one["responses"].items()):
        parts.append(f"<details><summary><code>{status}</code> {_marked(answer['description'])}</summary>")
        parts += [*_content_html(answer.get("content", {})), "</details>"]
    return "".join([*parts, "</section>"])


def _content_html(content: Json) -> list[str]:
    parts = []
    for kind, said in content.items():
        parts.append(f"<p><code>{escape(kind)}</code> {_marked(said.get('schema', {}).get('description', ''))}</p>")
        for name, example in said.get("examples", {}).items():
            text = msgspec.json.format(msgspec.json.encode(example["value"]), indent=2).decode()
            parts.append(f"<figure><figcaption>{escape(name)}</figcaption><pre>{escape(text)}</pre></figure>")
    return parts
