"""Invalid bodies and queries: each gets a documented problem, and the service keeps working."""

from __future__ import annotations

import functools
import gzip
import io
import json
import urllib.parse
import zlib
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from live import JSON, PROBLEM, Reply, Service, serving
from problems import client_error_slug, still_healthy

from nearkin.service.bodies import make_decoder
from nearkin.service.errors import Problem
from nearkin.service.models import DocumentsInput

NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
BODY = 1_000_000
BATCH = 200
LIMITS = ("--max-body", "1M", "--max-batch", str(BATCH), "--max-pending", "16M", "--timeout", "5")
ASKING, CHANGING = ("/v1/check",), ("/v1/add", "/v1/check-and-add")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with small limits and string ids."""
    with serving(tmp_path_factory.mktemp("abuse") / "pages.store", *LIMITS) as running:
        assert 200 == running.post("/v1/add", {"id": "first", "text": "the first text of the store"}).status
        with still_healthy(running):
            yield running


BAD_JSON: dict[str, bytes] = {
    "nothing": b"",
    "a word": b"nul",
    "cut short": b'{"text": "a',
    "two values": b'{"text": "a"} {"text": "b"}',
    "not UTF-8": b'{"text": "\xff\xfe"}',
    "overlong UTF-8": b'{"text": "\xc0\xaf"}',
    "UTF-16": '{"text": "a"}'.encode("utf-16"),
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"columns":' * 50_000,
    "deep and closed": b'{"text":"a","columns":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}}",
    "NaN": b'{"text": NaN}',
    "NaN as a column": b'{"text": "a", "columns": {"n": NaN}}',
    "Infinity as a column": b'{"text": "a", "columns": {"n": -Infinity}}',
    "a number beyond float64": b'{"text": "a", "columns": {"n": 1e999}}',
    "a lone surrogate": b'{"text": "\\ud800"}',
    "a comment": b'{"text": "a" /* why */}',
    "a trailing comma": b'{"text": "a",}',
    "a control character": b'{"text": "a\x01"}',
}


@pytest.mark.parametrize(
    ("body", "repeated"),
    [
        ('{"text":"a","text":"b"}', "text"),
        ('{"text" :"a","text":"b"}', "text"),
        ('{"text":"a","te\\u0078t":"b"}', "text"),
        ('{"text":"\\u0022:","text":"\\":"}', "text"),
        ('{"documents":[{"text":"a","columns":{"n":1,"n":1}}]}', "n"),
        ('{"text" : "he said \\": \\u0022: no\\""}', None),
    ],
)
def test_a_repeated_member_is_a_bad_request(body: str, repeated: str | None) -> None:
    """JSON allows it, but which one is meant is unknown."""
    decode = make_decoder(DocumentsInput)
    if repeated is None:
        assert json.loads(body)["text"] == decode(body.encode()).text
    else:
        with pytest.raises(Problem, match=f"two members '{repeated}' in one object"):
            decode(body.encode())


@pytest.mark.parametrize("name", BAD_JSON)
@pytest.mark.parametrize("route", ["check", "check-and-add", "search", "remove", "documents"])
def test_invalid_json_is_a_bad_request(service: Service, name: str, route: str) -> None:
    """Every route with a body reports invalid JSON as a bad request."""
    assert "bad-request" == client_error_slug(service.post(f"/v1/{route}", BAD_JSON[name]))


WRONG: dict[str, Any] = {
    "a list": [],
    "a number": 5,
    "a string": "text",
    "null": None,
    "no text": {},
    "an id alone": {"id": "a"},
    "an unknown field": {"id": "a", "text": "a", "txt": "b"},
    "a text that is a number": {"id": "a", "text": 5},
    "a text that is a list": {"id": "a", "text": ["a"]},
    "a text that is an object": {"id": "a", "text": {}},
    "a fraction as id": {"id": 1.5, "text": "a"},
    "a whole fraction as id": {"id": 1e300, "text": "a"},
    "true as id": {"id": True, "text": "a"},
    "a list as id": {"id": ["a"], "text": "a"},
    "an object as id": {"id": {}, "text": "a"},
    "an id of 65 bits": {"id": 1 << 64, "text": "a"},
    "an id above int64": {"id": 1 << 63, "text": "a"},
    "an id below int64": {"id": -(1 << 63) - 1, "text": "a"},
    "an id of 400 digits": {"id": 10**400, "text": "a"},
    "an id that is a lone surrogate": {"id": "\ud800", "text": "a"},
    "columns that are a list": {"id": "a", "text": "a", "columns": ["a"]},
    "columns that are a string": {"id": "a", "text": "a", "columns": "a"},
    "a column that is a list": {"id": "a", "text": "a", "columns": {"a": [1]}},
    "a column that is an object": {"id": "a", "text": "a", "columns": {"a": {"b": 1}}},
    "a digest in a store of texts": {"id": "a", "digest": "3:abc:abc"},
    "a vector in a store of texts": {"id": "a", "vector": [1.0, 2.0]},
    "bytes in a store of texts": {"id": "a", "bytes": "YWJj"},
    "text and digest": {"id": "a", "text": "a", "digest": "3:abc:abc"},
    "documents that are an object": {"documents": {}},
    "documents that are a string": {"documents": "abc"},
    "documents that are null": {"documents": None},
    "a document that is a number": {"documents": [1]},
    "a document that is null": {"documents": [None]},
    "a document that is a list": {"documents": [["a", "b"]]},
    "documents beside a text": {"documents": [], "text": "a"},
    "batches in batches": {"documents": [{"documents": [{"id": "a", "text": "a"}]}]},
    "ids of two kinds": {"documents": [{"id": "a", "text": "a"}, {"id": 1, "text": "b"}]},
    "an id and none": {"documents": [{"id": "a", "text": "a"}, {"text": "b"}]},
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("route", ["check", "add", "check-and-add"])
def test_documents_of_a_wrong_shape_are_refused(service: Service, name: str, route: str) -> None:
    """Documents of a wrong shape are refused, and none is added."""
    before = service.call("GET", "/v1/info").json()["documents"]
    body = json.dumps(WRONG[name]).encode()
    assert client_error_slug(service.post(f"/v1/{route}", body)) in ("bad-request", "other-kind")
    assert before == service.call("GET", "/v1/info").json()["documents"]
    # The same document as a line gets an error of its own.
    if not (isinstance(WRONG[name], dict) and "documents" in WRONG[name]):
        reply = service.post(f"/v1/{route}", body + b"\n", type=NDJSON)
        assert (200, NDJSON) == (reply.status, reply.type)
        (line,) = reply.lines()
        assert 1 == line["line"]
        assert line["error"]["status"] in (400, 409)


def test_a_bad_document_of_a_batch_is_named(service: Service) -> None:
    """The problem names the position of the bad document in its batch."""
    documents: list[Any] = [{"id": f"named{i}", "text": "a text"} for i in range(5)]
    documents[3] = {"id": "named3", "text": 7}
    problem = service.post("/v1/check-and-add", {"documents": documents}).json()
    assert "documents[3]" in problem["place"]
    # The batch is all or nothing.
    assert 404 == service.call("GET", "/v1/documents/named0").status


EDGES = {
    "an empty id": "",
    "a NUL": "a\0b",
    "a newline": "a\nb",
    "a slash": "a/b",
    "two dots": "../../etc/passwd",
    "a percent sign": "%2F%00",
    "a question mark": "a?b=c#d",
    "right to left": "\u202eabc",
    "an emoji": "\U0001f600",
    "a thousand characters": "x" * 1000,
    "a space": " ",
    "a BOM": "\ufeffa",
}


@pytest.mark.parametrize("name", EDGES)
def test_an_unusual_id_is_kept_or_refused(service: Service, name: str) -> None:
    """An unusual id is returned unchanged by every route, or refused."""
    reply = service.post("/v1/add", {"id": EDGES[name], "text": f"a text whose id has {name}"})
    if reply.status != 200:
        client_error_slug(reply)
        return
    reply = service.post("/v1/documents", {"ids": [EDGES[name]]})
    assert EDGES[name] == reply.json()["documents"][0]["id"]
    if EDGES[name]:
        quoted = urllib.parse.quote(EDGES[name], safe="")
        reply = service.call("GET", f"/v1/documents/{quoted}")
        assert (200, EDGES[name]) == (reply.status, reply.json().get("id"))
    assert {"removed": 1} == service.post("/v1/remove", {"id": EDGES[name]}).json()


@pytest.mark.parametrize("path", ["%00", "%ff", "%", "%zz", "a%2", "..", "%2e%2e%2fetc", "x" * 8000])
def test_an_invalid_id_in_a_path_is_not_found(service: Service, path: str) -> None:
    """An invalid id in a path gets 404, or 400 if it can't be decoded."""
    reply = service.call("GET", f"/v1/documents/{path}")
    assert client_error_slug(reply) in ("no-such-document", "no-such-route", "bad-request")


@pytest.mark.parametrize(
    "query",
    ["k=0", "k=-1", "k=abc", "k=", "k=1001", "k=1e3", "k=99999999999999999999", "k=1&k=2", "K=3", "unknown=1", "k=%00"],
)
def test_an_invalid_parameter_is_a_bad_request(service: Service, query: str) -> None:
    """An invalid or unknown query parameter is a bad request, because it may be a typo."""
    reply = service.post(f"/v1/check?{query}", {"text": "a"})
    assert "bad-request" == client_error_slug(reply)


def test_an_unknown_parameter_lists_the_allowed_ones(service: Service) -> None:
    """The problem of an unknown parameter lists the allowed ones."""
    for path, allowed in (("/v1/check", "k"), ("/v1/search", "radius"), ("/v1/remove", "missing_ok")):
        assert allowed in service.post(f"{path}?unknown=1", {"text": "a"}).body.decode()
    assert "bad-request" == client_error_slug(service.call("GET", "/v1/info?unknown=1"))
    assert "text" in service.call("GET", "/v1/documents/first?unknown=1").body.decode()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/search", {}),
        ("/v1/search", {"fingerprint": "xyz"}),
        ("/v1/search", {"fingerprint": 5}),
        ("/v1/search", {"fingerprint": "f" * 10_000}),
        ("/v1/search", {"signature": [1, 2, 3]}),
        ("/v1/search", {"digest": "3:abc:abc"}),
        ("/v1/search", {"vector": [1.0]}),
        ("/v1/search", {"text": "a", "fingerprint": "00"}),
        ("/v1/search", {"queries": {}}),
        ("/v1/search", {"queries": [{}]}),
        ("/v1/search", {"text": "a", "k": 5}),
        ("/v1/search?radius=-1", {"text": "a"}),
        ("/v1/search?radius=1.5", {"text": "a"}),
        ("/v1/search?radius=999", {"text": "a"}),
        ("/v1/search?k=0", {"text": "a"}),
        ("/v1/remove", {}),
        ("/v1/remove", {"ids": "abc"}),
        ("/v1/remove", {"ids": [1.5]}),
        ("/v1/remove", {"ids": [None]}),
        ("/v1/remove", {"id": "a", "ids": ["a"]}),
        ("/v1/remove", {"id": {"a": 1}}),
        ("/v1/remove?erase=maybe", {"id": "a"}),
        ("/v1/documents", {}),
        ("/v1/documents", {"ids": None}),
        ("/v1/documents", {"ids": [[]]}),
        ("/v1/documents?text=2", {"ids": []}),
        ("/v1/check?recipe=unknown", {"text": "a"}),
        ("/v1/add?strict=perhaps", {"id": "a", "text": "a"}),
    ],
)
def test_other_invalid_requests_are_refused(service: Service, path: str, body: Any) -> None:
    """Other invalid requests are bad requests, or conflicts with the kind of the store."""
    assert client_error_slug(service.post(path, body)) in (
        "bad-request",
        "other-kind",
        "other-recipe",
        "no-such-document",
    )


@pytest.mark.parametrize("name", ["", ".", "..", "../out", "/etc/out", "a/b", "a\0b", "x" * 300, "con\n", 5, None])
def test_a_backup_without_a_folder_for_them_is_not_allowed(service: Service, name: Any) -> None:
    """Without a folder for backups every name is refused."""
    assert client_error_slug(service.post("/v1/backup", {"name": name})) in ("no-backups", "bad-request")


@pytest.mark.parametrize(
    ("type", "encoding", "slug"),
    [
        ("", None, "media-type"),
        ("text/plain", None, "media-type"),
        ("application/xml", None, "media-type"),
        ("multipart/form-data; boundary=x", None, "media-type"),
        ("application/x-www-form-urlencoded", None, "media-type"),
        ("json", None, "media-type"),
        ("application/json,application/json", None, "media-type"),
        (JSON, "br", "media-type"),
        (JSON, "deflate", "media-type"),
        (JSON, "gzip, gzip", "media-type"),
        (JSON, "zstd, gzip", "media-type"),
        (JSON, "unknown", "media-type"),
        (JSON, "gzip", "bad-request"),
        (JSON, "zstd", "bad-request"),
    ],
)
def test_unsupported_types_and_encodings_are_refused(
    service: Service, type: str, encoding: str | None, slug: str
) -> None:
    """Unsupported media types and encodings are refused, and bodies that do not match their encoding."""
    headers = {} if encoding is None else {"Content-Encoding": encoding}
    assert slug == client_error_slug(service.post("/v1/check", {"text": "a"}, headers, type=type))


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "BREW"])
def test_other_methods_are_not_allowed(service: Service, method: str) -> None:
    """Other methods get 405 with the allowed methods."""
    reply = service.call(method, "/v1/check")
    assert 405 == reply.status
    assert "POST" in reply.headers["allow"]
    if method != "HEAD":
        client_error_slug(reply)
    assert 405 == service.call("POST", "/v1/info", {}).status


@pytest.mark.parametrize(
    "path",
    ["/v1", "/v1/", "/v2/check", "/v1/check/", "//v1/check", "/v1/CHECK", "/v1/../v1/check", "/v1/nothing", "/.env"],
)
def test_unknown_routes_are_not_found(service: Service, path: str) -> None:
    """Unknown routes get a problem."""
    assert "no-such-route" == client_error_slug(service.post(path, {"text": "a"}))
    assert client_error_slug(service.call("GET", path)) in ("no-such-route", "wrong-method")


def compressed(content: bytes, encoding: str) -> bytes:
    """Compress bytes."""
    if encoding == "gzip":
        return gzip.compress(content)
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


@functools.cache
def bomb(encoding: str, megabytes: int) -> bytes:
    """Return zeros, compressed more than a thousandfold."""
    part = b"0" * (1 << 20)
    if encoding == "gzip":
        packer = zlib.compressobj(9, wbits=31)
        return b"".join([*(packer.compress(part) for _ in range(megabytes)), packer.flush()])
    sink = io.BytesIO()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(b'{"text": "')
        for _ in range(megabytes):
            stream.write(part)
        stream.flush()
        return sink.getvalue()


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("type", [JSON, NDJSON, ARROW])
def test_a_bomb_is_too_large_and_takes_no_memory(service: Service, encoding: str, type: str) -> None:
    """A body of 600 MB compressed below 1 MB exceeds the limit, and the service does not allocate it."""
    content = bomb(encoding, 600)
    assert len(content) < BODY
    with still_healthy(service):
        peak = service.peak()
        reply = service.post("/v1/check", content, {"Content-Encoding": encoding}, type=type)
        assert_refused_whole_or_by_line(reply, "too-large")
        assert service.peak() < peak + (64 << 20)


def assert_refused_whole_or_by_line(reply: Reply, slug: str) -> None:
    """Check for a problem, or for one in the last line if a response of NDJSON has started."""
    if reply.type == PROBLEM:
        assert slug == client_error_slug(reply)
        return
    assert (200, NDJSON) == (reply.status, reply.type), reply
    assert reply.all_lines()[-1]["error"]["type"].endswith(slug)
    assert "is-broken" in reply.headers


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_damaged_compressed_bodies_are_refused(service: Service, encoding: str) -> None:
    """Truncated and corrupted bodies, and those with trailing bytes, are refused; a complete body is accepted."""
    content = json.dumps({"text": "a text of some words " * 20}).encode()
    packed = compressed(content, encoding)
    headers = {"Content-Encoding": encoding}
    assert 200 == service.post("/v1/check", packed, headers).status
    for cut in (1, 5, len(packed) // 2, len(packed) - 1):
        assert "bad-request" == client_error_slug(service.post("/v1/check", packed[:cut], headers))
    assert "bad-request" == client_error_slug(service.post("/v1/check", packed + b"and more", headers))
    for position in range(0, len(packed), 5):
        broken = bytearray(packed)
        broken[position] ^= 0x55
        reply = service.post("/v1/check", bytes(broken), headers)
        assert 200 == reply.status or client_error_slug(reply) in ("bad-request", "too-large")
    # A body is not decompressed twice.
    assert "bad-request" == client_error_slug(service.post("/v1/check", compressed(packed, encoding), headers))


def test_requests_beyond_a_limit_are_too_large(service: Service) -> None:
    """Bodies, batches and lines beyond the limits of `/v1/info` are too large; those within them are accepted."""
    limits = service.call("GET", "/v1/info").json()["limits"]
    assert (BODY, BATCH) == (limits["body"], limits["batch"])
    documents = [{"text": f"text {i}"} for i in range(BATCH)]
    assert 200 == service.post("/v1/check", {"documents": documents}).status
    reply = service.post("/v1/check", {"documents": [*documents, {"text": "one more"}]})
    assert "too-large" == client_error_slug(reply)
    assert {"found", "allowed"} <= reply.json().keys()
    assert "too-large" == client_error_slug(service.post("/v1/check", {"text": "x" * BODY}))
    for path, body in (
        ("/v1/remove?missing_ok=1", {"ids": [f"n{i}" for i in range(BATCH + 1)]}),
        ("/v1/documents?missing_ok=1", {"ids": [f"n{i}" for i in range(BATCH + 1)]}),
        ("/v1/search", {"queries": [{"text": "a"}] * (BATCH + 1)}),
    ):
        assert "too-large" == client_error_slug(service.post(path, body)), path
    assert_refused_whole_or_by_line(
        service.post("/v1/check", json.dumps({"text": "x" * limits["line"]}).encode(), type=NDJSON), "too-large"
    )


def test_bad_lines_do_not_affect_others(service: Service) -> None:
    """Bad lines do not affect good ones; with `strict=1` the first bad line refuses all."""
    lines = [
        b'{"id": "l1", "text": "the first line of all of these"}',
        b"{",
        b'{"id": "l3", "text": "\xff"}',
        b"",
        b"[" * 100_000,
        b'{"id": "l6", "text": "another line, the sixth"}\r',
        b'{"id": 7, "text": "an id of another kind"}',
        b'{"id": "l1", "text": "another text for an id that is there"}',
        b'{"id": "l9", "text": "the last one, without an end of line"}',
    ]
    with still_healthy(service):
        strict = service.post("/v1/check-and-add?strict=1", b"\n".join(lines), type=NDJSON)
        assert "line 2" in client_error_slug(strict) + json.dumps(strict.json())
        assert 404 == service.call("GET", "/v1/documents/l1").status
        rows = service.post("/v1/check-and-add", b"\n".join(lines), type=NDJSON).lines()
    statuses = {row["line"]: row["error"]["status"] for row in rows if "error" in row}
    # An empty line may be ignored or refused.
    statuses.pop(4, None)
    assert {2: 400, 3: 400, 5: 400, 7: 409, 8: 409} == statuses
    assert ["l1", "l6", "l9"] == [row["id"] for row in rows if "error" not in row]
    for row in rows:
        if "error" in row:
            assert {"type", "title", "status", "detail"} <= row["error"].keys()


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    [
        "id",
        "ids",
        "text",
        "columns",
        "documents",
        "queries",
        "fingerprint",
        "signature",
        "digest",
        "vector",
        "bytes",
        "name",
    ]
)
OBJECTS = st.dictionaries(NAMES, VALUES | st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=4), max_size=4)
ROUTES = st.sampled_from(["check", "add", "check-and-add", "search", "remove", "documents", "backup"])
ANY_SPEED = settings(suppress_health_check=list(HealthCheck))


def check_response(reply: Reply) -> None:
    """Check for success, or a problem caused by the client."""
    if reply.status == 200:
        assert reply.type in (JSON, NDJSON, ARROW)
    else:
        client_error_slug(reply)


@ANY_SPEED
@given(route=ROUTES, body=VALUES | OBJECTS)
def test_any_json_gets_a_response(service: Service, route: str, body: Any) -> None:
    """Any JSON gets a result or a problem."""
    check_response(service.post(f"/v1/{route}", json.dumps(body).encode()))


@ANY_SPEED
@given(
    route=ROUTES, lines=st.lists(OBJECTS.map(lambda one: json.dumps(one).encode()) | st.binary(max_size=60), max_size=6)
)
def test_any_lines_get_a_response(service: Service, route: str, lines: list[bytes]) -> None:
    """Any lines get at most one result each, or a problem."""
    reply = service.post(f"/v1/{route}", b"\n".join(lines), type=NDJSON)
    check_response(reply)
    if reply.type == NDJSON:
        results = reply.lines()
        assert len(results) <= len(b"\n".join(lines).split(b"\n"))
        assert all(row["error"]["status"] < 500 for row in results if "error" in row)


@ANY_SPEED
@given(
    route=ROUTES,
    body=st.binary(max_size=400),
    type=st.sampled_from([JSON, NDJSON, ARROW, "text/plain"]),
    encoding=st.sampled_from(["", "gzip", "zstd", "identity"]),
    query=st.sampled_from(["", "?k=3", "?strict=1", "?missing_ok=1", "?text=1", "?radius=3"]),
)
def test_any_bytes_get_a_response(
    service: Service, route: str, body: bytes, type: str, encoding: str, query: str
) -> None:
    """Any bytes of any media type and encoding get a result or a problem."""
    headers = {"Content-Encoding": encoding} if encoding else {}
    check_response(service.post(f"/v1/{route}{query}", body, headers, type=type))
