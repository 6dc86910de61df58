"""The service conforms to /openapi.json: schemathesis sends valid and invalid requests.

Requests are generated from examples and schemas. Status, headers, content type and body of each response must be
described, and none may be a fault of the service.
"""

from __future__ import annotations

import io
import json
import string
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from live import Service, serving
from problems import still_healthy

import nearkin as nk

pytest.importorskip("schemathesis", reason="schemathesis is not installed; it is in the `peers` group")
import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OPERATIONS = [
    "POST /v1/check",
    "POST /v1/check-and-add",
    "POST /v1/add",
    "POST /v1/search",
    "POST /v1/remove",
    "GET /v1/documents/{id}",
    "POST /v1/documents",
    "GET /v1/info",
    "POST /v1/merge",
    "POST /v1/backup",
    "GET /v1/patterns",
    "POST /v1/patterns/match",
    "POST /v1/patterns/fit",
    "POST /v1/patterns/compare",
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
]
PLAIN = ("GET /v1/info", "POST /v1/merge", "GET /healthz", "GET /readyz", "GET /metrics")
"""Operations without a body."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with all features enabled."""
    folder = tmp_path_factory.mktemp("schema")
    (folder / "backups").mkdir()
    nk.UrlPatterns().fit([f"/api/users/{n}?page=2" for n in range(40)]).save(folder / "patterns")
    files = ("--backups", str(folder / "backups"), "--patterns", str(folder / "patterns"))
    options = (*files, "--max-body", "1M", "--max-batch", "1000")
    with serving(folder / "pages.store", *options) as running, still_healthy(running):
        # Ids that are likely to be generated.
        documents = [
            {"id": id, "text": f"the text of {id} and no other"} for id in [*string.printable[:62], "http://a"]
        ]
        assert 200 == running.post("/v1/add", {"documents": documents}).status
        yield running


@pytest.fixture(scope="module")
def schema(service: Service) -> Any:
    """The OpenAPI document of the service."""
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


def lines(value: Any) -> bytes:
    """Return a generated value as a body of NDJSON."""
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "replace") if isinstance(value, str) else json.dumps(value).encode() + b"\n"


@schemathesis.serializer("application/x-ndjson")  # type: ignore[untyped-decorator, unused-ignore]
def as_lines(context: Any, value: Any) -> bytes:
    return lines(value)


@schemathesis.serializer("application/vnd.apache.arrow.stream")  # type: ignore[untyped-decorator, unused-ignore]
def as_arrow(context: Any, value: Any) -> bytes:
    """Return a valid stream for half of the values."""
    content = lines(value)
    if len(content) % 2:
        return content
    sink = io.BytesIO()
    table = pa.table({"id": [f"arrow{len(content)}"], "text": [content.decode("utf-8", "replace")]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def attack(schema: Any, name: str, examples: int) -> Counter[int]:
    """Send valid and invalid requests to an operation, and return the number of responses by status."""
    method, path = name.split(" ")
    operation = schema[path][method]
    session, statuses = requests.Session(), Counter[int]()
    modes = [operation.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)]

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=examples < 100,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(case=st.one_of(modes))
    def run(case: Any) -> None:
        statuses[case.call_and_validate(session=session, checks=CHECKS).status_code] += 1

    with session:
        run()
    return statuses


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_response_is_described(schema: Any, name: str) -> None:
    """Status, headers, content type and body of every response are described."""
    statuses = attack(schema, name, 10 if name in PLAIN else 60)
    # Some requests were valid, and some invalid unless the operation takes nothing.
    assert min(statuses) < 300, statuses
    assert (max(statuses) >= 400) == (name not in PLAIN), statuses


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_response_is_described_for_long(schema: Any, name: str) -> None:
    """The same with more requests."""
    attack(schema, name, 3000)


def test_every_route_is_described(service: Service) -> None:
    """Every route is described."""
    paths = service.call("GET", "/openapi.json").json()["paths"]
    assert set(OPERATIONS) == {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def contents(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the described bodies of requests and responses, with their place in the document."""
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            bodies = [("body", route.get("requestBody", {})), *route["responses"].items()]
            for part, body in bodies:
                for kind, content in body.get("content", {}).items():
                    yield f"{method} {path} {part} {kind}", content


def test_examples_conform_to_their_schemas(service: Service) -> None:
    """Examples of requests, responses and problems conform to their schemas."""
    described = service.call("GET", "/openapi.json").json()
    count = 0
    for location, content in contents(described):
        whole = {**content.get("schema", {}), "components": described["components"]}
        validator = Draft202012Validator(whole)
        for name, example in content.get("examples", {}).items():
            faults = [fault.message for fault in validator.iter_errors(example["value"])]
            assert [] == faults, (location, name)
            count += 1
    assert count > 50


def test_examples_of_requests_are_accepted(service: Service) -> None:
    """The service accepts the examples of requests."""
    described = service.call("GET", "/openapi.json").json()
    for path, methods in described["paths"].items():
        for name, example in (
            methods.get("post", {})
            .get("requestBody", {})
            .get("content", {})
            .get("application/json", {})
            .get("examples", {})
            .items()
        ):
            reply = service.post(path, example["value"])
            assert reply.status in (200, 201, 404, 409), (path, name, reply)
