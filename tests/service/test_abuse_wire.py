"""Bad connections: slow, silent and closed ones, and malformed HTTP. The service keeps serving others."""

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
from problems import client_error_slug, still_healthy
from wire import open_socket, parse_responses, read_all, read_responses, request

TIMEOUT = 4
"""Seconds for a body to arrive; longer than a busy machine pauses."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with a short timeout."""
    path = tmp_path_factory.mktemp("wire") / "pages.store"
    options = ("--max-body", "1M", "--max-batch", "500", "--max-pending", "16M", "--timeout", str(TIMEOUT))
    with serving(path, *options) as running, still_healthy(running):
        yield running


def send_bytes(service: Service, content: bytes, seconds: float = 20) -> list[Reply]:
    """Send bytes, and return the responses until the service closes the connection or is silent."""
    with open_socket(service, seconds) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(content)
        return read_responses(connection, seconds)


def check_client_errors(replies: list[Reply]) -> None:
    """Check that every response is a client error; none is allowed if the connection was closed."""
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
def test_malformed_http_is_refused(service: Service, name: str) -> None:
    """Malformed HTTP gets a client error, or closes the connection."""
    with still_healthy(service):
        check_client_errors(send_bytes(service, NOT_HTTP[name]))


def test_ten_thousand_headers_are_refused(service: Service) -> None:
    """Ten thousand small headers are refused."""
    lines = b"".join(b"X-%d: a\r\n" % i for i in range(10_000))
    with still_healthy(service):
        check_client_errors(send_bytes(service, b"GET /v1/info HTTP/1.1\r\nHost: 127.0.0.1\r\n" + lines + b"\r\n"))


def test_a_length_that_is_too_large_is_refused_before_the_body(service: Service) -> None:
    """A length beyond the limit is refused from the header alone, before the body arrives."""
    with open_socket(service) as connection:
        connection.sendall(HEAD + b"Content-Length: 999999999999\r\n\r\n{")
        (reply,) = parse_responses(connection.recv(1 << 16))
    assert "too-large" == client_error_slug(reply)


def test_a_chunked_body_without_end_is_too_large(service: Service) -> None:
    """A chunked body is refused as soon as it exceeds the limit."""
    sent = 0
    with still_healthy(service), open_socket(service) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        part = b"10000\r\n" + b" " * 65536 + b"\r\n"
        with contextlib.suppress(OSError):
            while sent < 200 << 20:
                connection.sendall(part)
                sent += len(part)
        replies = parse_responses(read_all(connection))
    assert sent < 32 << 20
    # The response may be lost if the service closes the connection while bytes still arrive.
    for reply in replies:
        assert "too-large" == client_error_slug(reply)


def test_bytes_after_a_body_are_another_request(service: Service) -> None:
    """Bytes after a body are parsed as the next request."""
    first, second = send_bytes(service, CHECK + CHECK)
    assert (200, 200) == (first.status, second.status)
    short = HEAD + b'Content-Length: 13\r\n\r\n{"text": "ab"} and more'
    first, *rest = send_bytes(service, short)
    assert "bad-request" == client_error_slug(first) or first.status == 400
    check_client_errors(rest)


def test_a_length_and_chunks_smuggle_nothing(service: Service) -> None:
    """A body with both a length and chunks can't smuggle in another request."""
    inner = request("POST", "/v1/add", {"id": "smuggled", "text": "a text that came inside another"})
    head = HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    for content in (
        HEAD
        + b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % (len(inner) + 20, len(inner))
        + inner,
        HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n%x\r\n" % len(inner) + inner + b"\r\n0\r\n\r\n",
    ):
        check_client_errors(send_bytes(service, content))
    assert 404 == service.call("GET", "/v1/documents/smuggled").status
    assert all(reply.status < 500 for reply in send_bytes(service, head + CHECK))


def median_answer(service: Service, count: int = 30) -> float:
    """Return the median seconds of a `check` on its own connection."""
    seconds = []
    for _ in range(count):
        begin = time.monotonic()
        assert 200 == service.post("/v1/check", {"text": "a text that others ask for meanwhile"}).status
        seconds.append(time.monotonic() - begin)
    return sorted(seconds)[count // 2]


def test_a_slow_body_times_out(service: Service) -> None:
    """A slow body gets 408 after the timeout, and other clients are served in the meantime."""
    with still_healthy(service), open_socket(service) as connection:
        connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        begin = time.monotonic()
        connection.settimeout(0.1)
        content = b""
        other = threading.Thread(target=median_answer, args=(service,))
        other.start()
        # At ten bytes per second the body of 1000 bytes does not arrive within the timeout.
        while time.monotonic() - begin < SECONDS and not content:
            with contextlib.suppress(OSError):
                connection.sendall(b" ")
            with contextlib.suppress(TimeoutError, ConnectionError):
                content = connection.recv(1 << 16)
        assert TIMEOUT - 0.5 < time.monotonic() - begin
        other.join()
    (reply,) = parse_responses(content)
    assert "too-slow" == client_error_slug(reply)


def test_a_body_may_arrive_byte_by_byte(service: Service) -> None:
    """A body that arrives byte by byte within the timeout is accepted."""
    with open_socket(service) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for position in range(len(CHECK)):
            connection.sendall(CHECK[position : position + 1])
        (reply,) = parse_responses(connection.recv(1 << 16))
    assert 200 == reply.status


def test_silent_connections_delay_nobody(service: Service) -> None:
    """300 connections that are silent, or stop in a head or a body, delay nobody."""
    before = median_answer(service)
    with still_healthy(service), contextlib.ExitStack() as stack:
        for number in range(300):
            connection = stack.enter_context(open_socket(service))
            connection.sendall((b"", HEAD[:40], HEAD + b"Content-Length: 100\r\n\r\n{")[number % 3])
        # If the service waited for them, a check would take until their timeout.
        assert median_answer(service) < 10 * before + TIMEOUT / 4


def reset(connection: socket.socket) -> None:
    """Close a connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_disconnects_leave_no_partial_batch(service: Service) -> None:
    """If a client disconnects in a head, a body or a response, its batch is added completely or not at all."""
    before = service.call("GET", "/v1/info").json()["documents"]
    with still_healthy(service):
        for number in range(120):
            documents = [{"id": f"gone{number}-{i}", "text": f"text {i} of number {number}"} for i in range(50)]
            content = request("POST", "/v1/check-and-add", {"documents": documents})
            cut = (10, len(content) // 2, len(content) - 1, len(content))[number % 4]
            with open_socket(service) as connection:
                connection.sendall(content[:cut])
                if number % 3:
                    reset(connection)
        # The last requests may still be running: repeat until the count is stable.
        count, again = -1, 0
        while count != again:
            count = service.call("GET", "/v1/info").json()["documents"] - before
            there = [service.call("GET", f"/v1/documents/gone{number}-49").status == 200 for number in range(120)]
            again = service.call("GET", "/v1/info").json()["documents"] - before
        assert 0 == count % 50, count
        assert count == 50 * sum(there)
        # A batch with a truncated body is not stored.
        assert not any(done for number, done in enumerate(there) if number % 4 != 3)


def test_unread_results_take_no_memory(service: Service) -> None:
    """Results that nobody reads take no memory."""
    lines = b"".join(json.dumps({"text": f"line {i}", "id": f"u{i}"}).encode() + b"\n" for i in range(4000))
    head = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
    with still_healthy(service), contextlib.ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(open_socket(service, 1))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with contextlib.suppress(OSError):
                connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(lines) + lines)
        assert 200 == service.post("/v1/check", {"text": "others go on"}).status


def test_results_arrive_before_the_body_ends(service: Service) -> None:
    """The result of the first line arrives before the second line is sent."""
    head = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
    with open_socket(service) as connection:
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
    (reply,) = parse_responses(content)
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
def test_requests_of_other_websites_are_refused(service: Service, name: str, value: str) -> None:
    """A foreign Host (DNS rebinding) or Origin is refused."""
    content = request("POST", "/v1/check", {"text": "a"}, {name: value})
    (reply,) = send_bytes(service, content)
    assert "not-allowed" == client_error_slug(reply)


@pytest.mark.parametrize("key", ["", "x" * 5000, "\xff\xfe", "a\tb"])
def test_unusual_idempotency_keys_are_accepted_or_refused(service: Service, key: str) -> None:
    """Unusual idempotency keys are accepted or refused, and keys need ids."""
    document = {"id": f"key{len(key)}{key[:1]!r}", "text": "a text that comes with a key"}
    (reply,) = send_bytes(service, request("POST", "/v1/check-and-add", document, {"Idempotency-Key": key}))
    assert 200 == reply.status or "bad-request" == client_error_slug(reply)
    (reply,) = send_bytes(service, request("POST", "/v1/add", {"text": "without an id"}, {"Idempotency-Key": "k"}))
    assert client_error_slug(reply) in ("bad-request", "other-kind")


def test_memory_stays_bounded_under_overload(tmp_path: Path) -> None:
    """Many large bodies at once: pending bytes are bounded, and the other requests get 429."""
    body = request("POST", "/v1/check", {"documents": [{"text": "x y z " * 150_000}]})
    statuses: list[int] = []
    with serving(tmp_path / "pages.store", "--max-body", "1M", "--max-pending", "4M") as service:
        assert 200 == service.post("/v1/check", {"text": "a first text"}).status

        def client() -> None:
            for _ in range(6):
                with open_socket(service) as connection:
                    connection.sendall(body)
                    for reply in read_responses(connection, 60):
                        statuses.append(reply.status)
                        if reply.status == 429:
                            assert "busy" == client_error_slug(reply)
                            assert int(reply.headers["retry-after"]) >= 1

        with still_healthy(service, 200 << 20):
            threads = [threading.Thread(target=client) for _ in range(40)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert {200, 429} == set(statuses)


def head_lines(*lines: str) -> bytes:
    """Return a request without a body."""
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    "hosts",
    [
        ("127.0.0.1", "127.0.0.1"),
        ("evil.example", "127.0.0.1"),
        ("127.0.0.1", "evil.example"),
        ("evil.example", "evil.example"),
        (),
        ("",),
    ],
)
def test_requests_have_one_host(service: Service, hosts: tuple[str, ...]) -> None:
    """A second Host header, equal or not, is refused, and so is a request of HTTP/1.1 without one (RFC 9112, 3.2)."""
    lines = head_lines("GET /v1/info HTTP/1.1", *(f"Host: {host}" for host in hosts))
    (reply,) = send_bytes(service, lines)
    assert (400, "bad-request") == (reply.status, client_error_slug(reply))


def test_old_health_checks_need_no_host(service: Service) -> None:
    """HTTP/1.0 has no Host header."""
    (reply,) = send_bytes(service, head_lines("GET /healthz HTTP/1.0"))
    assert 200 == reply.status


@pytest.mark.parametrize("charset", ["utf-16", "UTF-16LE", '"latin1"', "utf-7", "'shift_jis'"])
@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_other_charsets_are_refused(service: Service, kind: str, charset: str) -> None:
    """JSON is UTF-8 (RFC 8259, section 8.1): a charset that says otherwise is refused, even over UTF-8."""
    for value in (f"{kind}; charset={charset}", f"{kind};x=1;Charset={charset}"):
        (reply,) = send_bytes(service, request("POST", "/v1/check", {"text": "a"}, type=value))
        assert (415, "media-type") == (reply.status, client_error_slug(reply))


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf8"', "us-ascii"])
def test_utf8_may_be_named(service: Service, charset: str) -> None:
    content = request("POST", "/v1/check", {"text": "a"}, type=f"application/json; charset={charset}")
    (reply,) = send_bytes(service, content)
    assert 200 == reply.status


@pytest.mark.parametrize("target", ["http://evil.example/v1/info", "http://evil.example"])
def test_targets_in_absolute_form_pass_no_foreign_host(service: Service, target: str) -> None:
    """A foreign target is refused with a foreign Host, as a browser sends it, and without a Host."""
    for hosts in (["Host: evil.example"], []):
        (reply,) = send_bytes(service, head_lines(f"GET {target} HTTP/1.1", *hosts))
        assert client_error_slug(reply) in ("bad-request", "not-allowed")


@pytest.mark.xfail(strict=True, reason="granian 2.8 passes on only the path of a target in absolute form")
def test_targets_in_absolute_form_are_refused(service: Service) -> None:
    """The host of the target overrides the Host header (RFC 9112, 3.2.2), so that the form is refused."""
    (reply,) = send_bytes(service, head_lines("GET http://evil.example/v1/info HTTP/1.1", "Host: 127.0.0.1"))
    assert (400, "bad-request") == (reply.status, client_error_slug(reply))


@pytest.mark.parametrize("target", ["*", "http:evil"])
def test_targets_are_paths(service: Service, target: str) -> None:
    (reply,) = send_bytes(service, head_lines(f"OPTIONS {target} HTTP/1.1", "Host: 127.0.0.1"))
    assert (400, "bad-request") == (reply.status, client_error_slug(reply))
