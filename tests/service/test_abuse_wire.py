"""Connections that are wrong: slow, silent, gone, and bytes that are no HTTP. Others are served meanwhile."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from live import SECONDS, Reply, Service, serving
from problems import refused, unharmed
from wire import plug, received, replies_of, request, spoken

TIMEOUT = 4
"""Seconds for a body to arrive: more than a busy machine stands still."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that waits for some seconds."""
    path = tmp_path_factory.mktemp("wire") / "pages.store"
    options = ("--max-body", "1M", "--max-batch", "500", "--max-pending", "16M", "--timeout", str(TIMEOUT))
    with serving(path, *options) as found, unharmed(found):
        yield found


def answers_to(service: Service, content: bytes, seconds: float = 20) -> list[Reply]:
    """What comes back for bytes, until the service closes the connection or is silent."""
    with plug(service, seconds) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(content)
        return spoken(connection, seconds)


def client_errors(replies: list[Reply]) -> None:
    """No answer at all (the connection was closed), or one that blames the client."""
    assert all(400 <= reply.status < 500 or reply.status == 505 for reply in replies), replies


CHECK = request("POST", "/v1/check", {"text": "a"})
HEAD = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"

NOT_HTTP = {
    "random bytes": bytes(range(256)) * 8,
    "a TLS hello": bytes.fromhex("16030100c8010000c403035f") + bytes(200),
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "HTTP/3.7": b"GET /healthz HTTP/3.7\r\nHost: 127.0.0.1\r\n\r\n",
    "no version": b"GET / \r\n\r\n",
    "a space in the path": b"GET /a b c HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a header without a colon": b"GET /healthz HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
    "a header with a space": b"GET /healthz HTTP/1.1\r\nHo st: 127.0.0.1\r\n\r\n",
    "a NUL in a header": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\0b\r\n\r\n",
    "a path of 100 KB": b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a header of 2 MB": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * (2 << 20) + b"\r\n\r\n",
    "a method of 100 KB": b"G" * 100_000 + b" /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a length that is no number": HEAD + b"Content-Length: abc\r\n\r\n{}",
    "a negative length": HEAD + b"Content-Length: -5\r\n\r\n{}",
    "a length of 30 digits": HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n{}",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 12\r\n\r\n" + b"{}" * 6,
    "a chunk without a size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n\r\n{}\r\n0\r\n\r\n",
    "a chunk of a size that is no number": HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n",
    "a chunk of a huge size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"F" * 15 + b"\r\n{}\r\n0\r\n\r\n",
    "a chunk of a size beyond 64 bits": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + b"F" * 40
    + b"\r\n{}\r\n0\r\n\r\n",
    "an unknown transfer encoding": HEAD + b"Transfer-Encoding: gzip\r\n\r\n{}",
}


@pytest.mark.parametrize("name", NOT_HTTP)
def test_what_is_no_http_is_refused(service: Service, name: str) -> None:
    """By an answer that blames the client, or by closing the connection."""
    with unharmed(service):
        client_errors(answers_to(service, NOT_HTTP[name]))


def test_ten_thousand_headers_are_refused(service: Service) -> None:
    """Also those that are small."""
    lines = b"".join(b"X-%d: a\r\n" % i for i in range(10_000))
    with unharmed(service):
        client_errors(answers_to(service, b"GET /v1/info HTTP/1.1\r\nHost: 127.0.0.1\r\n" + lines + b"\r\n"))


def test_a_length_that_is_too_large_is_refused_before_the_body(service: Service) -> None:
    """From the header alone, at once: what is waited for is told to be too slow."""
    with plug(service) as connection:
        connection.sendall(HEAD + b"Content-Length: 999999999999\r\n\r\n{")
        (reply,) = replies_of(connection.recv(1 << 16))
    assert "too-large" == refused(reply)


def test_a_chunked_body_without_end_is_too_large(service: Service) -> None:
    """It is refused when the limit is reached."""
    sent = 0
    with unharmed(service), plug(service) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        part = b"10000\r\n" + b" " * 65536 + b"\r\n"
        with contextlib.suppress(OSError):
            while sent < 200 << 20:
                connection.sendall(part)
                sent += len(part)
        replies = replies_of(received(connection))
    assert sent < 32 << 20
    # The answer may be lost where the service closes while bytes are still coming.
    for reply in replies:
        assert "too-large" == refused(reply)


def test_what_is_behind_a_body_is_another_request(service: Service) -> None:
    """A length below that of the body: the first is answered, the rest is no HTTP, or a request of its own."""
    first, second = answers_to(service, CHECK + CHECK)
    assert (200, 200) == (first.status, second.status)
    short = HEAD + b'Content-Length: 13\r\n\r\n{"text": "ab"} and more'
    first, *rest = answers_to(service, short)
    assert "bad-request" == refused(first) or first.status == 400
    client_errors(rest)


def test_two_ways_to_tell_a_length_smuggle_nothing(service: Service) -> None:
    """A chunked body with a length: whatever is answered, what stands in the body is not another request."""
    inner = request("POST", "/v1/add", {"id": "smuggled", "text": "a text that came inside another"})
    head = HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    for content in (
        HEAD
        + b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % (len(inner) + 20, len(inner))
        + inner,
        HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n%x\r\n" % len(inner) + inner + b"\r\n0\r\n\r\n",
    ):
        client_errors(answers_to(service, content))
    assert 404 == service.call("GET", "/v1/documents/smuggled").status
    assert all(reply.status < 500 for reply in answers_to(service, head + CHECK))


def median_answer(service: Service, count: int = 30) -> float:
    """Seconds of a `check` on a connection of its own, the median."""
    seconds = []
    for _ in range(count):
        begin = time.monotonic()
        assert 200 == service.post("/v1/check", {"text": "a text that others ask for meanwhile"}).status
        seconds.append(time.monotonic() - begin)
    return sorted(seconds)[count // 2]


def test_a_body_that_comes_too_slowly_is_given_up(service: Service) -> None:
    """A byte now and then: 408 after the time for a body, and others are answered meanwhile."""
    with unharmed(service), plug(service) as connection:
        connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        begin = time.monotonic()
        connection.settimeout(0.1)
        content = b""
        asked = threading.Thread(target=median_answer, args=(service,))
        asked.start()
        # Of a body of 1000 bytes, a byte a tenth of a second: the service gives up long before the last.
        while time.monotonic() - begin < SECONDS and not content:
            with contextlib.suppress(OSError):
                connection.sendall(b" ")
            with contextlib.suppress(TimeoutError, ConnectionError):
                content = connection.recv(1 << 16)
        assert TIMEOUT - 0.5 < time.monotonic() - begin
        asked.join()
    (reply,) = replies_of(content)
    assert "too-slow" == refused(reply)


def test_a_body_that_comes_byte_by_byte_in_time_is_taken(service: Service) -> None:
    """However many pieces it comes in."""
    with plug(service) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for place in range(len(CHECK)):
            connection.sendall(CHECK[place : place + 1])
        (reply,) = replies_of(connection.recv(1 << 16))
    assert 200 == reply.status


def test_silent_connections_keep_nobody_waiting(service: Service) -> None:
    """Three hundred that are connected and say nothing, or half of a head, or half of a body."""
    before = median_answer(service)
    with unharmed(service), contextlib.ExitStack() as stack:
        for number in range(300):
            connection = stack.enter_context(plug(service))
            connection.sendall((b"", HEAD[:40], HEAD + b"Content-Length: 100\r\n\r\n{")[number % 3])
        # One that waited for them would wait until they are given up.
        assert median_answer(service) < 10 * before + TIMEOUT / 4


def reset(connection: socket.socket) -> None:
    """Close so that the other side gets a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_clients_that_vanish_cost_nothing(service: Service) -> None:
    """In the middle of a head, a body, or an answer, by an end or a reset: a batch is done whole or not at all."""
    before = service.call("GET", "/v1/info").json()["documents"]
    with unharmed(service):
        for number in range(120):
            documents = [{"id": f"gone{number}-{i}", "text": f"text {i} of number {number}"} for i in range(50)]
            content = request("POST", "/v1/check-and-add", {"documents": documents})
            cut = (10, len(content) // 2, len(content) - 1, len(content))[number % 4]
            with plug(service) as connection:
                connection.sendall(content[:cut])
                if number % 3:
                    reset(connection)
        # Those that came last may still be read: what is told of them is told of one moment if nothing came meanwhile.
        count, again = -1, 0
        while count != again:
            count = service.call("GET", "/v1/info").json()["documents"] - before
            there = [service.call("GET", f"/v1/documents/gone{number}-49").status == 200 for number in range(120)]
            again = service.call("GET", "/v1/info").json()["documents"] - before
        assert 0 == count % 50, count
        assert count == 50 * sum(there)
        # A batch whose body was cut is not there.
        assert not any(done for number, done in enumerate(there) if number % 4 != 3)


def test_an_answer_that_nobody_reads_takes_no_memory(service: Service) -> None:
    """Lines are sent, and their answers are left lying: the service stops to read, and gives up."""
    lines = b"".join(json.dumps({"text": f"line {i}", "id": f"u{i}"}).encode() + b"\n" for i in range(4000))
    head = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
    with unharmed(service), contextlib.ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(plug(service, 1))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with contextlib.suppress(OSError):
                connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(lines) + lines)
        assert 200 == service.post("/v1/check", {"text": "others go on"}).status


def test_lines_are_answered_while_the_body_still_comes(service: Service) -> None:
    """The answer to the first line is there before the second one is sent."""
    head = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
    with plug(service) as connection:
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        content = b""
        for number in range(3):
            line = json.dumps({"id": f"stream{number}", "text": f"a text, number {number}"}).encode() + b"\n"
            connection.sendall(b"%x\r\n" % len(line) + line + b"\r\n")
            while f'"stream{number}"'.encode() not in content:
                part = connection.recv(1 << 16)
                assert part, content
                content += part
        connection.sendall(b"0\r\n\r\n")
        while not content.endswith(b"0\r\n\r\n"):
            content += connection.recv(1 << 16)
    (reply,) = replies_of(content)
    assert ["new"] * 3 == [row["status"] for row in reply.lines()]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Host", "evil.example"),
        ("Host", "127.0.0.1.evil.example"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
    ],
)
def test_pages_of_others_may_not_ask(service: Service, name: str, value: str) -> None:
    """A foreign Host (a name that was bound anew) or Origin is refused."""
    content = request("POST", "/v1/check", {"text": "a"}, {name: value})
    (reply,) = answers_to(service, content)
    assert "not-allowed" == refused(reply)


@pytest.mark.parametrize("key", ["", "x" * 5000, "\xff\xfe", "a\tb"])
def test_odd_idempotency_keys_are_taken_or_refused(service: Service, key: str) -> None:
    """And need ids."""
    document = {"id": f"key{len(key)}{key[:1]!r}", "text": "a text that comes with a key"}
    (reply,) = answers_to(service, request("POST", "/v1/check-and-add", document, {"Idempotency-Key": key}))
    assert 200 == reply.status or "bad-request" == refused(reply)
    (reply,) = answers_to(service, request("POST", "/v1/add", {"text": "without an id"}, {"Idempotency-Key": "k"}))
    assert refused(reply) in ("bad-request", "other-kind")


def test_memory_stays_bounded_while_bodies_wait(tmp_path: Path) -> None:
    """Many large bodies at once: what waits is bounded, the others are told to come again, later."""
    body = request("POST", "/v1/check", {"documents": [{"text": "x y z " * 150_000}]})
    statuses: list[int] = []
    with serving(tmp_path / "pages.store", "--max-body", "1M", "--max-pending", "4M") as service:
        assert 200 == service.post("/v1/check", {"text": "a first text"}).status

        def client() -> None:
            for _ in range(6):
                with plug(service) as connection:
                    connection.sendall(body)
                    for reply in spoken(connection, 60):
                        statuses.append(reply.status)
                        if reply.status == 429:
                            assert "busy" == refused(reply)
                            assert int(reply.headers["retry-after"]) >= 1

        with unharmed(service, 200 << 20):
            threads = [threading.Thread(target=client) for _ in range(40)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert {200, 429} == set(statuses)
