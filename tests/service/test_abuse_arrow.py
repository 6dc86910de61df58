"""Arrow streams that are damaged, wrong or hostile: a documented problem, and the service goes on."""

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
from problems import refused, unharmed

ARROW = "application/vnd.apache.arrow.stream"
BODY, BATCH = 4 << 20, 500


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with small limits."""
    path = tmp_path_factory.mktemp("arrow") / "pages.store"
    options = ("--max-body", "4M", "--max-batch", str(BATCH), "--max-pending", "32M")
    with serving(path, *options) as found, unharmed(found):
        yield found


def stream_of(table: pa.Table, **options: Any) -> bytes:
    """A table as an Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def table_of(count: int, **columns: Any) -> pa.Table:
    """Texts with ids, and other columns."""
    texts = [f"the text of row {i} with some words" for i in range(count)]
    return pa.table({"id": [f"r{i}" for i in range(count)], "text": texts, **columns})


def send(service: Service, content: bytes, route: str = "check") -> Reply:
    """Post a stream."""
    return service.post(f"/v1/{route}", content, type=ARROW)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_good_stream_is_answered_by_one(service: Service, kind: pa.DataType) -> None:
    """In one batch or several."""
    table = table_of(20, n=pa.array(range(20)))
    table = table.set_column(1, "text", table.column("text").cast(kind))
    for some in (table, pa.concat_tables([table.slice(0, 7), table.slice(7, 0), table.slice(7)])):
        reply = send(service, stream_of(some))
        assert (200, ARROW) == (reply.status, reply.type)
        answers = pa.ipc.open_stream(reply.body).read_all()
        assert {"status", "match", "distance", "similarity"} <= set(answers.schema.names)
        assert b"jaccard" in answers.schema.metadata[b"verified"]
        assert ["new"] * 20 == answers.column("status").to_pylist()


@pytest.mark.parametrize("name", ["dictionary", "lz4", "zstd"])
def test_what_can_be_larger_than_it_looks_is_refused(service: Service, name: str) -> None:
    """Dictionaries, compressed buffers: a bad request that says so; views are counted (`test_routes`)."""
    table, options = table_of(20), {}
    texts = table.column("text")
    if name in ("lz4", "zstd"):
        options = {"compression": name}
    else:
        table = table.set_column(1, "text", texts.dictionary_encode())
    assert "bad-request" == refused(send(service, stream_of(table, **options)))


def test_a_stream_that_is_cut_is_refused(service: Service) -> None:
    """At any byte before its end."""
    content = stream_of(table_of(5))
    for cut in [*range(0, len(content), 7)]:
        reply = send(service, content[:cut])
        assert "bad-request" == refused(reply), cut


def test_a_stream_with_any_byte_changed_is_answered(service: Service) -> None:
    """A problem, or the answer to other texts."""
    content = stream_of(table_of(3))
    choose = random.Random(4)
    with unharmed(service):
        for place in range(0, len(content), 3):
            broken = bytearray(content)
            broken[place] = choose.choice([0, 0xFF, 0x7F, broken[place] ^ 1 << choose.randrange(8)])
            reply = send(service, bytes(broken))
            assert 200 == reply.status or refused(reply) in ("bad-request", "too-large"), place


def test_random_bytes_are_no_stream(service: Service) -> None:
    """Also behind a right beginning."""
    rng = np.random.default_rng(1)
    head = stream_of(table_of(0))
    for count in (0, 1, 4, 8, 100, 5000):
        assert "bad-request" == refused(send(service, rng.bytes(count)))
        assert refused(send(service, b"\xff\xff\xff\xff" + rng.bytes(count + 4))) in ("bad-request", "too-large")
        if count:
            reply = send(service, head[:-8] + rng.bytes(count))
            assert refused(reply) in ("bad-request", "too-large")


HUGE = (b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f", b"\x00\x00\x00\x80", b"\x00\x00\x00\x40")
"""Words of 32 and 64 bits, little-endian."""


def with_huge_words(content: bytes) -> list[bytes]:
    """A stream with one of its words huge."""
    places = range(0, len(content) - 8, 4)
    return [content[:place] + word + content[place + len(word) :] for place in places for word in HUGE]


def test_huge_declared_lengths_take_no_memory(service: Service) -> None:
    """Lengths of messages, buffers and arrays, and offsets of strings, that say gigabytes."""
    content = stream_of(table_of(2))
    choose = random.Random(3)
    with unharmed(service):
        peak = service.peak()
        for broken in choose.sample(with_huge_words(content), 250):
            reply = send(service, broken)
            assert 200 == reply.status or refused(reply) in ("bad-request", "too-large")
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
    """And nothing of them is added."""
    before = service.call("GET", "/v1/info").json()["documents"]
    slug = refused(send(service, stream_of(WRONG[name]()), "check-and-add"))
    assert slug == "too-large" if name == "too many rows" else slug in ("bad-request", "other-kind")
    assert before == service.call("GET", "/v1/info").json()["documents"]


def test_invalid_utf8_in_a_column_of_strings_is_refused(service: Service) -> None:
    """The stream claims that its bytes are UTF-8."""
    texts = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 2, 4], np.int32)), pa.py_buffer(b"ab\xff\xfe"))
    assert "bad-request" == refused(send(service, stream_of(pa.table({"id": ["a", "b"], "text": texts}))))


@pytest.mark.parametrize("offsets", [[0, 1 << 30, 4], [4, 2, 0], [-5, 2, 4], [0, 2, 1 << 30]])
def test_offsets_that_lead_elsewhere_are_refused(service: Service, offsets: list[int]) -> None:
    """Behind the buffer, backwards, before its beginning: nothing of the process's memory is told."""
    right, wrong = (np.array(values, np.int32).tobytes() for values in ([0, 2, 4], offsets))
    content = stream_of(pa.table({"text": ["ab", "cd"]}))
    assert 1 == content.count(right)
    with unharmed(service):
        assert "bad-request" == refused(send(service, content.replace(right, wrong)))


def test_buffers_that_are_bombs_take_no_memory(service: Service) -> None:
    """Texts of 400 MB whose buffers are compressed to a few kilobytes: they are refused as they are."""
    table = pa.table({"id": ["bomb"], "text": ["a" * (400 << 20)]})
    with unharmed(service):
        peak = service.peak()
        for compression in ("zstd", "lz4"):
            content = stream_of(table, compression=compression)
            if len(content) < BODY:
                assert "bad-request" == refused(send(service, content))
        assert service.peak() < peak + (128 << 20)


def test_answers_in_arrow_are_not_with_k(service: Service) -> None:
    """A list of matches has no place in their columns."""
    reply = service.post("/v1/check?k=3", stream_of(table_of(1)), type=ARROW)
    assert refused(reply) in ("bad-request", "media-type")


def test_a_batch_is_all_or_none(service: Service) -> None:
    """One id that is there with another text: nothing is added."""
    assert 200 == send(service, stream_of(table_of(3)), "check-and-add").status
    table = pa.table({"id": ["fresh", "r1"], "text": ["a fresh one", "another text for an id that is there"]})
    reply = send(service, stream_of(table), "check-and-add")
    assert "other-content" == refused(reply)
    assert "r1" in json.dumps(reply.json())
    assert 404 == service.call("GET", "/v1/documents/fresh").status
