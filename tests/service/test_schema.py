"""What /openapi.json says is what the service does: schemathesis sends what it describes, and what it does not.

Requests are made from the examples and the schemas, right ones and wrong ones. An answer must have a status, headers, a
content type and a body that are described; none may be a fault of the service.
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
from problems import unharmed

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed; it is in the `peers` group")
from schemathesis import GenerationMode  # noqa: E402 - after the check
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
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
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
]
PLAIN = ("GET /v1/info", "POST /v1/merge", "GET /healthz", "GET /readyz", "GET /metrics")
"""Those that take nothing."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that may do everything."""
    folder = tmp_path_factory.mktemp("schema")
    (folder / "backups").mkdir()
    options = ("--backups", str(folder / "backups"), "--max-body", "1M", "--max-batch", "1000")
    with serving(folder / "pages.store", *options) as found, unharmed(found):
        # Ids that are likely to be asked for.
        documents = [
            {"id": one, "text": f"the text of {one} and no other"} for one in [*string.printable[:62], "http://a"]
        ]
        assert 200 == found.post("/v1/add", {"documents": documents}).status
        yield found


@pytest.fixture(scope="module")
def schema(service: Service) -> Any:
    """What the service says of itself."""
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


def lines(value: Any) -> bytes:
    """A body of NDJSON: what was generated, a value per line."""
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "replace") if isinstance(value, str) else json.dumps(value).encode() + b"\n"


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    return lines(value)


@schemathesis.serializer("application/vnd.apache.arrow.stream")
def as_arrow(context: Any, value: Any) -> bytes:
    """Half of the time a right stream."""
    content = lines(value)
    if len(content) % 2:
        return content
    sink = io.BytesIO()
    table = pa.table({"id": [f"arrow{len(content)}"], "text": [content.decode("utf-8", "replace")]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def attack(schema: Any, name: str, examples: int) -> Counter[int]:
    """Right and wrong requests of one operation, each of whose answers must be described; how many had each status."""
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
def test_every_answer_is_described(schema: Any, name: str) -> None:
    """Statuses, headers, content types and bodies."""
    statuses = attack(schema, name, 60)
    # Right ones were among them, and, where there is something to be wrong, wrong ones.
    assert min(statuses) < 300, statuses
    assert (max(statuses) >= 400) == (name not in PLAIN), statuses


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_answer_is_described_for_long(schema: Any, name: str) -> None:
    """The same, more often."""
    attack(schema, name, 3000)


def test_every_route_is_described(service: Service) -> None:
    """Under the names that this file has."""
    paths = service.call("GET", "/openapi.json").json()["paths"]
    assert set(OPERATIONS) == {f"{method.upper()} {path}" for path, some in paths.items() for method in some}


def contents(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is described of bodies, of requests and of answers, with its place."""
    for path, some in described["paths"].items():
        for method, one in some.items():
            bodies = [("body", one.get("requestBody", {})), *one["responses"].items()]
            for place, body in bodies:
                for kind, content in body.get("content", {}).items():
                    yield f"{method} {path} {place} {kind}", content


def test_examples_are_what_their_schemas_say(service: Service) -> None:
    """Those of requests and of answers, of every problem."""
    described = service.call("GET", "/openapi.json").json()
    count = 0
    for place, content in contents(described):
        whole = {**content.get("schema", {}), "components": described["components"]}
        validator = Draft202012Validator(whole)
        for name, example in content.get("examples", {}).items():
            faults = [fault.message for fault in validator.iter_errors(example["value"])]
            assert [] == faults, (place, name)
            count += 1
    assert count > 50


def test_examples_of_requests_are_taken(service: Service) -> None:
    """As they stand."""
    described = service.call("GET", "/openapi.json").json()
    for path, some in described["paths"].items():
        for name, example in (
            some.get("post", {})
            .get("requestBody", {})
            .get("content", {})
            .get("application/json", {})
            .get("examples", {})
            .items()
        ):
            reply = service.post(path, example["value"])
            assert reply.status in (200, 201, 404, 409), (path, name, reply)
