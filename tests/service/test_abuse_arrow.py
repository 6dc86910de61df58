"""Damaged, invalid and hostile Arrow streams get a documented problem, and the service keeps working."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from live import Reply, Service, serving
from problems import client_error_slug, still_healthy

ARROW = "application/vnd.apache.arrow.stream"
BODY, BATCH = 4 << 20, 500


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with small limits."""
    path = tmp_path_factory.mktemp("arrow") / "pages.store"
    options = ("--max-body", "4M", "--max-batch", str(BATCH), "--max-pending", "32M")
    with serving(path, *options) as running, still_healthy(running):
        yield running


def stream_of(table: pa.Table, **options: Any) -> bytes:
    """Return a table as an Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def table_of(count: int, **columns: Any) -> pa.Table:
    """Return a table of texts with ids and other columns."""
    texts = [f"the text of row {i} with some words" for i in range(count)]
    return pa.table({"id": [f"r{i}" for i in range(count)], "text": texts, **columns})


def send(service: Service, content: bytes, route: str = "check") -> Reply:
    """Send a stream."""
    return service.post(f"/v1/{route}", content, type=ARROW)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_valid_stream_gets_a_stream(service: Service, kind: pa.DataType) -> None:
    """A valid stream of one or several batches gets a stream of results."""
    table = table_of(20, n=pa.array(range(20)))
    table = table.set_column(1, "text", table.column("text").cast(kind))
    for batch in (table, pa.concat_tables([table.slice(0, 7), table.slice(7, 0), table.slice(7)])):
        reply = send(service, stream_of(batch))
        assert (200, ARROW) == (reply.status, reply.type)
        answers = pa.ipc.open_stream(reply.body).read_all()
        assert {"status", "match", "distance", "similarity"} <= set(answers.schema.names)
        assert b"jaccard" in answers.schema.metadata[b"verified"]
        assert ["new"] * 20 == answers.column("status").to_pylist()


@pytest.mark.parametrize("name", ["dictionary", "lz4", "zstd"])
def test_expandable_arrow_types_are_refused(service: Service, name: str) -> None:
    """Dictionaries and compressed buffers are refused; `test_routes` covers string views."""
    table, options = table_of(20), {}
    texts = table.column("text")
    if name in ("lz4", "zstd"):
        options = {"compression": name}
    else:
        table = table.set_column(1, "text", texts.dictionary_encode())
    assert "bad-request" == client_error_slug(send(service, stream_of(table, **options)))


def test_a_truncated_stream_is_refused(service: Service) -> None:
    """A stream truncated at any byte is refused."""
    content = stream_of(table_of(5))
    for cut in [*range(0, len(content), 7)]:
        reply = send(service, content[:cut])
        assert "bad-request" == client_error_slug(reply), cut


def test_a_stream_with_a_changed_byte_gets_a_response(service: Service) -> None:
    """A stream with a changed byte gets a problem, or the result of other texts."""
    content = stream_of(table_of(3))
    choose = random.Random(4)
    with still_healthy(service):
        for position in range(0, len(content), 3):
            broken = bytearray(content)
            broken[position] = choose.choice([0, 0xFF, 0x7F, broken[position] ^ 1 << choose.randrange(8)])
            reply = send(service, bytes(broken))
            assert 200 == reply.status or client_error_slug(reply) in ("bad-request", "too-large"), position


def test_random_bytes_are_refused(service: Service) -> None:
    """Random bytes are refused, even after a valid schema."""
    rng = np.random.default_rng(1)
    head = stream_of(table_of(0))
    for count in (0, 1, 4, 8, 100, 5000):
        assert "bad-request" == client_error_slug(send(service, rng.bytes(count)))
        assert client_error_slug(send(service, b"\xff\xff\xff\xff" + rng.bytes(count + 4))) in (
            "bad-request",
            "too-large",
        )
        if count:
            reply = send(service, head[:-8] + rng.bytes(count))
            assert client_error_slug(reply) in ("bad-request", "too-large")


HUGE = (b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f", b"\x00\x00\x00\x80", b"\x00\x00\x00\x40")
"""Huge words of 32 and 64 bits, little-endian."""


def with_huge_words(content: bytes) -> list[bytes]:
    """Return streams in which one word is huge."""
    positions = range(0, len(content) - 8, 4)
    return [content[:position] + word + content[position + len(word) :] for position in positions for word in HUGE]


def test_huge_declared_lengths_take_no_memory(service: Service) -> None:
    """Declared lengths and offsets of gigabytes take no memory."""
    content = stream_of(table_of(2))
    choose = random.Random(3)
    with still_healthy(service):
        peak = service.peak()
        for broken in choose.sample(with_huge_words(content), 250):
            reply = send(service, broken)
            assert 200 == reply.status or client_error_slug(reply) in ("bad-request", "too-large")
        assert service.peak() < peak + (128 << 20)


WRONG: dict[str, Callable[[], pa.Table]] = {
    "no columns": lambda: pa.table({}),
    "no text": lambda: pa.table({"id": ["a"]}),
    "texts that are numbers": lambda: pa.table({"id": ["a"], "text": [1]}),
    "texts that are lists": lambda: pa.table({"id": ["a"], "text": [["a"]]}),
    "texts that are bytes": lambda: pa.table({"id": ["a"], "text": [b"\xff\xfe"]}),
    "ids that are fractions": lambda: pa.table({"id": [1.5], "text": ["a"]}),
    "ids that are null": lambda: pa.table({"id": pa.array([None], pa.string()), "text": ["a"]}),
    "ids of 64 bits without a sign": lambda: pa.table({"id": pa.array([2**64 - 1], pa.uint64()), "text": ["a"]}),
    "a column of structs": lambda: table_of(1, more=pa.array([{"a": 1}])),
    "a column of lists": lambda: table_of(1, more=pa.array([[1]])),
    "two columns of a name": lambda: pa.Table.from_arrays([pa.array(["a"])] * 3, ["id", "text", "text"]),
    "too many rows": lambda: table_of(BATCH + 1),
    "a union": lambda: table_of(1, more=pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])),
}


@pytest.mark.parametrize("name", WRONG)
def test_tables_of_a_wrong_shape_are_refused(service: Service, name: str) -> None:
    """Tables of a wrong shape are refused, and no row is added."""
    before = service.call("GET", "/v1/info").json()["documents"]
    slug = client_error_slug(send(service, stream_of(WRONG[name]()), "check-and-add"))
    assert slug == "too-large" if name == "too many rows" else slug in ("bad-request", "other-kind")
    assert before == service.call("GET", "/v1/info").json()["documents"]


def test_invalid_utf8_in_a_column_of_strings_is_refused(service: Service) -> None:
    """A string column with invalid UTF-8 is refused."""
    texts = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 2, 4], np.int32)), pa.py_buffer(b"ab\xff\xfe"))
    assert "bad-request" == client_error_slug(send(service, stream_of(pa.table({"id": ["a", "b"], "text": texts}))))


@pytest.mark.parametrize("offsets", [[0, 1 << 30, 4], [4, 2, 0], [-5, 2, 4], [0, 2, 1 << 30]])
def test_offsets_outside_the_buffer_are_refused(service: Service, offsets: list[int]) -> None:
    """Offsets outside the buffer are refused and disclose no memory of the process."""
    right, wrong = (np.array(values, np.int32).tobytes() for values in ([0, 2, 4], offsets))
    content = stream_of(pa.table({"text": ["ab", "cd"]}))
    assert 1 == content.count(right)
    with still_healthy(service):
        assert "bad-request" == client_error_slug(send(service, content.replace(right, wrong)))


def test_compressed_buffers_take_no_memory(service: Service) -> None:
    """Compressed buffers that expand to 250 MB are refused without decompressing them."""
    table = pa.table({"id": ["bomb"], "text": ["a" * (400 << 20)]})
    with still_healthy(service):
        peak = service.peak()
        for compression in ("zstd", "lz4"):
            content = stream_of(table, compression=compression)
            if len(content) < BODY:
                assert "bad-request" == client_error_slug(send(service, content))
        assert service.peak() < peak + (128 << 20)


def test_arrow_does_not_support_k(service: Service) -> None:
    """Arrow has no column for a list of matches, so `k` is refused."""
    reply = service.post("/v1/check?k=3", stream_of(table_of(1)), type=ARROW)
    assert client_error_slug(reply) in ("bad-request", "media-type")


def test_a_batch_is_all_or_nothing(service: Service) -> None:
    """If one id exists with another text, no row of the batch is added."""
    assert 200 == send(service, stream_of(table_of(3)), "check-and-add").status
    table = pa.table({"id": ["fresh", "r1"], "text": ["a fresh one", "another text for an id that is there"]})
    reply = send(service, stream_of(table), "check-and-add")
    assert "other-content" == client_error_slug(reply)
    assert "r1" in json.dumps(reply.json())
    assert 404 == service.call("GET", "/v1/documents/fresh").status
