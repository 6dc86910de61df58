"""Parts of the OpenAPI document that FastAPI does not derive: models of msgspec, media types, problems and tokens."""

from __future__ import annotations

from typing import Any

from nearkin.errors import require_extra
from nearkin.service.errors import PROBLEMS, TYPE
from nearkin.service.models import ARROW, JSON, NDJSON, REQUESTS, RESPONSES, ProblemOutput
from nearkin.service.responses import PROBLEM_JSON

with require_extra("service", "a service"):
    import msgspec
    from msgspec import Struct

Json = dict[str, Any]
DESCRIPTION = (
    "A store of documents that decides for each document whether it is new, an exact copy or a near-duplicate of a "
    "stored one, and remembers it. Bodies may be compressed (`Content-Encoding: gzip` or `zstd`). Errors are problem "
    "details (RFC 9457); every response has an `X-Request-ID`."
)
_TEMPLATE = "#/components/schemas/{name}"


def content(*models: type[Struct], line: str | None = None, arrow: bool = False, **examples: Any) -> Json:
    """Return the media types of a body: JSON of one of the models, NDJSON of lines, Arrow."""
    schema = {"anyOf": [{"$ref": _TEMPLATE.format(name=model.__name__)} for model in models]}
    types: Json = {JSON: {"schema": schema, "examples": {name: {"value": examples[name]} for name in examples}}}
    if line is not None:
        types[NDJSON] = {"schema": {"type": "string", "description": f"{line} per line."}}
    if arrow:
        types[ARROW] = {"schema": {"type": "string", "format": "binary"}}
    return types


def request_body(*models: type[Struct], **options: Any) -> Json:
    """Return the `openapi_extra` of a route with a body."""
    return {"requestBody": {"required": True, "content": content(*models, **options)}}


def success(*models: type[Struct], status: int = 200, **options: Any) -> dict[int | str, Json]:
    """Return the `responses` of a route for success."""
    return {status: {"description": "Success.", "content": content(*models, **options)}}


def problems() -> dict[int | str, Json]:
    """Return the `responses` of all routes for problems."""
    responses: dict[int | str, Json] = {}
    for slug, (status, title) in PROBLEMS.items():
        types = content(ProblemOutput)
        response = responses.setdefault(status, {"description": "", "content": {PROBLEM_JSON: types[JSON]}})
        response["description"] = "; ".join(filter(None, [response["description"], f"{title} (`{slug}`)"]))
        example = {"type": TYPE + slug, "title": title, "status": status, "detail": "What was found; what is allowed."}
        response["content"][PROBLEM_JSON]["examples"][slug] = {"value": example}
    return responses


def complete_schema(schema: Json, *, needs_tokens: bool) -> Json:
    """Add models and tokens to the document of FastAPI, and remove its validation error, which no route returns."""
    _, models = msgspec.json.schema_components([*REQUESTS, *RESPONSES], ref_template=_TEMPLATE)
    tokens = {"token": {"type": "http", "scheme": "bearer"}}
    schema["components"] = {"schemas": models, "securitySchemes": tokens}
    for methods in schema["paths"].values():
        for route in methods.values():
            route["responses"].pop("422", None)
            if needs_tokens and route["tags"] != ["health"]:
                route["security"] = [{"token": []}]
    return schema
