"""Operation of a service: access, limits, full disks, and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import gzip
import io
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from asgi import NDJSON, AsgiClient, asgi_client
from hypothesis import given
from hypothesis import strategies as st
from live import SECONDS, serving, start
from live import Service as LiveService
from threaded import serve_in_thread

import nearkin as nk
from command import call, run
from nearkin.cli.options import parse_rate
from nearkin.errors import InputError, OutputError, ParameterError, ServiceError, check_cancelled
from nearkin.service import responses
from nearkin.service.app import Service
from nearkin.service.auth import RELOAD_SECONDS, TokenBucket, TokenFile, read_tokens
from nearkin.service.errors import PROBLEMS, Problem, problem_from
from nearkin.service.server import free_port
from nearkin.service.settings import Limits, ServiceSettings
from nearkin.store.store import Store

READ, WRITE = "r" * 20, "w" * 20


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# Access


async def test_tokens(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# comment\nread {READ}\n\nwrite {WRITE} # mine\n", "utf-8")
    file.chmod(0o600)
    async with asgi_client(tmp_path / "s", ServiceSettings(host="0.0.0.0", token_file=file)) as service:  # noqa: S104
        reply = await service.post("/v1/check", {"text": "x"})
        assert (401, "no-token") == (reply.status, reply.slug)
        assert reply.headers["www-authenticate"].startswith("Bearer")
        for wrong in ({"Authorization": READ}, bearer("x" * 20), bearer(""), {"Authorization": f"Basic {READ}"}):
            assert 401 == (await service.post("/v1/check", {"text": "x"}, wrong)).status
        assert 200 == (await service.post("/v1/check", {"text": "x"}, bearer(READ))).status
        assert 200 == (await service.post("/v1/check", {"text": "x"}, {"authorization": f"bearer {WRITE}"})).status
        assert "not-allowed" == (await service.post("/v1/add", {"text": "x"}, bearer(READ))).slug
        assert 200 == (await service.post("/v1/add", {"text": "x"}, bearer(WRITE))).status
        for path in ("/healthz", "/readyz", "/docs", "/openapi.json", "/"):
            assert 200 == (await service.get(path)).status, path
        for path in ("/metrics", "/v1/info", "/v1/documents/0"):
            assert 401 == (await service.get(path)).status, path
            assert 200 == (await service.get(path, bearer(READ))).status, path
        # With tokens any Host is accepted.
        assert 200 == (await service.get("/healthz", {"Host": "nearkin.example"})).status


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no token"),
        ("write short", "has a token of 5 characters"),
        ("admin " + "x" * 20, "is not a token"),
        (f"read {READ} more", "is not a token"),
    ],
)
def test_invalid_token_files(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "tokens").write_text(text, "utf-8")
    with pytest.raises(InputError, match=said):
        read_tokens(tmp_path / "tokens")


def test_other_hosts_need_tokens() -> None:
    with pytest.raises(ParameterError, match="--token-file"):
        ServiceSettings(host="0.0.0.0")  # noqa: S104
    with pytest.raises(ParameterError, match="both, in PEM"):
        ServiceSettings(key=Path("key.pem"))
    assert ServiceSettings(host="127.0.0.2").is_local


async def test_other_hosts_and_origins_are_refused(tmp_path: Path) -> None:
    """Requests that another website sends through a browser are refused by their Host or Origin."""
    async with asgi_client(tmp_path / "s", ServiceSettings(allowed_hosts=("lsh.example",))) as service:
        for host in ("127.0.0.1:8470", "localhost", "[::1]:99", "LSH.example:80"):
            assert 200 == (await service.get("/v1/info", {"Host": host})).status, host
        for host in ("evil.example", "127.0.0.1.evil.example", "[::2]"):
            assert "not-allowed" == (await service.get("/v1/info", {"Host": host})).slug
        own = {"Host": "localhost:8470", "Origin": "http://localhost:8470"}
        assert 200 == (await service.get("/v1/info", own)).status
        for origin in ("http://evil.example", "null", "http://localhost:1", ""):
            reply = await service.post("/v1/add", {"text": "x"}, {**own, "Origin": origin})
            assert "not-allowed" == reply.slug, origin
        # Media types that a form can send are refused.
        assert "media-type" == (await service.post("/v1/add", {"text": "x"}, type="text/plain")).slug


# Tokens that change, rates


def write_tokens(file: Path, text: str) -> None:
    """Replace a token file as editors do: a new file takes its name."""
    new = file.with_suffix(".new")
    new.write_text(text, "utf-8")
    new.chmod(0o600)
    new.replace(file)


def test_tokens_are_read_again_when_the_file_changes(tmp_path: Path) -> None:
    """New tokens are valid and removed ones are not, once the file was looked at again; in place or replaced."""
    now = [0.0]
    file = tmp_path / "tokens"
    write_tokens(file, f"read {READ}\n")
    tokens = TokenFile(file, lambda: now[0])
    old = tokens.tokens
    write_tokens(file, f"write {WRITE}\n")
    tokens.refresh()
    assert old == tokens.tokens, "the file is not looked at for every request"
    now[0] += RELOAD_SECONDS
    tokens.refresh()
    assert ["write"] == [right for right, _ in tokens.tokens]
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"read {READ}\n")
    now[0] += RELOAD_SECONDS
    tokens.refresh()
    assert ["write", "read"] == [right for right, _ in tokens.tokens]
    assert tokens.error is None


@pytest.mark.parametrize("fault", ["invalid", "empty", "missing", "binary", "folder"])
def test_a_broken_token_file_keeps_the_earlier_tokens(
    tmp_path: Path, fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The error is in the log, once, and in the metrics, until the file is good again."""
    now = [0.0]
    file = tmp_path / "tokens"
    write_tokens(file, f"read {READ}\n")
    tokens = TokenFile(file, lambda: now[0])
    old = tokens.tokens
    if fault in ("invalid", "empty"):
        write_tokens(file, "read short\n" if fault == "invalid" else "")
    elif fault == "binary":
        file.write_bytes(b"read \xff\xfe")
    else:
        file.unlink()
        if fault == "folder":
            file.mkdir()
    for _ in range(3):
        now[0] += RELOAD_SECONDS
        tokens.refresh()
    assert old == tokens.tokens
    assert tokens.error
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert ["error"] == [line["level"] for line in lines if line["event"] == "token-file"]
    assert READ not in json.dumps(lines)
    if fault == "folder":
        file.rmdir()
    write_tokens(file, f"write {WRITE}\n")
    now[0] += RELOAD_SECONDS
    tokens.refresh()
    refreshed: Any = tokens
    assert (None, ["write"]) == (refreshed.error, [right for right, _ in refreshed.tokens])


def test_a_running_service_takes_new_tokens(tmp_path: Path) -> None:
    """SIGHUP reads the file at once; a broken file shows in the metrics and keeps the tokens."""
    file = tmp_path / "tokens"
    write_tokens(file, f"read {READ}\n")
    with serving(tmp_path / "s", "--token-file", str(file)) as service:
        assert 401 == service.call("GET", "/v1/info", headers=bearer(WRITE)).status
        write_tokens(file, f"read {READ}\nwrite {WRITE}\n")
        service.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + SECONDS
        while service.call("GET", "/v1/info", headers=bearer(WRITE)).status != 200:
            assert time.monotonic() < deadline
        write_tokens(file, "nonsense\n")
        while b"nearkin_token_file_error 1.0" not in service.call("GET", "/metrics", headers=bearer(READ)).body:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert 200 == service.call("GET", "/v1/info", headers=bearer(WRITE)).status
        assert ["tokens-reloaded"] == [line["event"] for line in service.log if line["event"].startswith("tokens")]


@given(
    rate=st.floats(0.1, 1000),
    burst=st.integers(1, 50),
    waits=st.lists(st.floats(0, 0.5), min_size=1, max_size=200),
)
def test_a_bucket_allows_its_burst_and_its_rate(rate: float, burst: int, waits: list[float]) -> None:
    """In any interval at most burst + rate * seconds requests pass; a refused one passes after the stated time."""
    now = [0.0]
    bucket = TokenBucket(rate, burst, lambda: now[0])
    passed: list[float] = []
    for wait in waits:
        now[0] += wait
        seconds = bucket.take()
        if seconds > 0:
            before = now[0]
            now[0] += seconds * (1 + 1e-9) + 1e-9
            assert 0 == bucket.take(), "it passes after the time that was stated"
            assert seconds <= 1 / rate * (1 + 1e-9)
            assert before < now[0]
        passed.append(now[0])
        for number, time_passed in enumerate(passed):
            allowed = burst + rate * (now[0] - time_passed) * (1 + 1e-6) + 1e-3
            assert len(passed) - number <= allowed


async def test_each_token_has_its_own_rate(tmp_path: Path) -> None:
    """Beyond the burst a token gets 429 with Retry-After, another one does not; health needs no token and no rate."""
    file = tmp_path / "tokens"
    write_tokens(file, f"read {READ}\nwrite {WRITE}\n")
    settings = ServiceSettings(token_file=file, rate=0.01, burst=3)
    async with asgi_client(tmp_path / "s", settings) as service:
        for _ in range(3):
            assert 200 == (await service.get("/v1/info", bearer(READ))).status
        reply = await service.get("/v1/info", bearer(READ))
        assert (429, "rate-limited") == (reply.status, reply.slug)
        assert 99 <= int(reply.headers["retry-after"]) <= 100
        assert 401 == (await service.get("/v1/info", bearer("x" * 20))).status
        assert 200 == (await service.get("/v1/info", bearer(WRITE))).status
        assert 200 == (await service.get("/healthz")).status
        # A refused change changes nothing.
        for _ in range(2):
            assert 200 == (await service.get("/v1/info", bearer(WRITE))).status
        assert 429 == (await service.post("/v1/add", {"text": "x"}, bearer(WRITE))).status
        with nk.Store.open(tmp_path / "s", "r") as store:
            assert 0 == len(store)


async def test_without_tokens_all_clients_share_the_rate(tmp_path: Path) -> None:
    async with asgi_client(tmp_path / "s", ServiceSettings(rate=2 / 60)) as service:
        assert [200, 429] == [(await service.get("/v1/info")).status for _ in range(2)]


def test_the_client_waits_for_its_rate(tmp_path: Path) -> None:
    """A client that is refused waits as long as Retry-After says, and completes."""
    with serving(tmp_path / "s", "--rate", "1/s", "--burst", "2") as service:
        with nk.Client(service.url, retries=5) as client:
            client.stats()
            start = time.monotonic()
            for number in range(2):
                assert ["new"] == client.add([f"document {number} of a slow client"], [number]).status
            assert time.monotonic() - start >= 0.9
        with nk.Client(service.url, retries=0) as client:
            with pytest.raises(ServiceError) as refused:
                _ = [client.stats() for _ in range(20)]
            assert ("rate-limited", 429) == (refused.value.slug, refused.value.status)


@pytest.mark.parametrize(
    ("text", "expected"), [("100/s", 100.0), ("30/min", 0.5), ("36 / h", 0.01), ("0.5/s", 0.5), ("1.5/min", 0.025)]
)
def test_rates_are_numbers_with_a_unit(text: str, expected: float) -> None:
    assert expected == parse_rate(text)


@pytest.mark.parametrize("text", ["100", "/s", "-1/s", "nan/s", "1e3/s", "1/day", "1/s/s", ""])
def test_other_rates_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="100/s"):
        parse_rate(text)


def test_rates_have_bounds() -> None:
    with pytest.raises(ParameterError, match="rate from"):
        ServiceSettings(rate=0.0)
    with pytest.raises(ParameterError, match="without a rate"):
        ServiceSettings(burst=5)
    with pytest.raises(ParameterError, match="1 or more"):
        ServiceSettings(rate=1.0, burst=0)
    assert (1, 3, 7) == tuple(
        settings.max_burst
        for settings in (ServiceSettings(rate=0.5), ServiceSettings(rate=2.5), ServiceSettings(rate=0.5, burst=7))
    )


# Metrics


def metric(text: bytes, name: str) -> float:
    """Return the value of a metric without labels."""
    return float(next(line.split()[1] for line in text.decode().splitlines() if line.startswith(name + " ")))


async def test_metrics_of_the_process_merges_and_backups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ServiceSettings(backups=tmp_path)
    began = time.time()
    async with asgi_client(tmp_path / "s", settings) as service:
        text = (await service.get("/metrics")).body
        assert metric(text, "process_resident_memory_bytes") > 1 << 20
        assert metric(text, "process_cpu_seconds_total") > 0
        assert metric(text, "process_open_fds") > 3
        assert 0 < metric(text, "process_start_time_seconds") <= began + 1
        names = ["merge_seconds_count", "merge_failures_total", "merges_running", "backup_seconds_count"]
        names += ["backup_failures_total", "backup_last_timestamp_seconds", "lost_segments", "token_file_error"]
        assert [0.0] * 8 == [metric(text, f"nearkin_{name}") for name in names]
        await service.post("/v1/add", {"text": "some words"})
        assert 200 == (await service.call("POST", "/v1/merge")).status
        assert 201 == (await service.post("/v1/backup", {"name": "monday"})).status
        assert 409 == (await service.post("/v1/backup", {"name": "monday"})).status
        text = (await service.get("/metrics")).body
        assert [1.0, 0.0, 0.0, 1.0, 1.0] == [metric(text, f"nearkin_{name}") for name in names[:5]]
        assert metric(text, "nearkin_merge_seconds_sum") > 0
        assert metric(text, "nearkin_backup_last_seconds") == metric(text, "nearkin_backup_seconds_sum") > 0
        assert began <= metric(text, "nearkin_backup_last_timestamp_seconds") <= time.time()

        def fail(*_: object, **__: object) -> None:
            raise OSError(errno.EIO, "the disk has failed")

        monkeypatch.setattr("nearkin.store.compaction.merge_all", fail)
        assert 500 == (await service.call("POST", "/v1/merge")).status
        text = (await service.get("/metrics")).body
        assert [2.0, 1.0, 0.0] == [metric(text, f"nearkin_{name}") for name in names[:3]]


def test_background_merges_are_counted(tmp_path: Path) -> None:
    with nk.Store.create(tmp_path / "s", max_pending=16) as store:
        assert (0, 0, 0) == (store.merges.count, store.merges.running, store.merges.failures)
        for start in range(0, 48, 16):
            store.add([f"document {start + number}" for number in range(16)])
        store._compactor.join()  # type: ignore[union-attr]
        assert store.merges.count >= 1
        assert (0, 0) == (store.merges.running, store.merges.failures)
        assert store.merges.seconds > 0


async def test_readonly(tmp_path: Path) -> None:
    async with asgi_client(tmp_path / "s", ServiceSettings(readonly=True)) as service:
        assert 200 == (await service.post("/v1/check", {"text": "x"})).status
        for path, body in (("add", {"text": "x"}), ("check-and-add", {"text": "x"}), ("remove", {"id": "a"})):
            assert "read-only" == (await service.post(f"/v1/{path}", body)).slug
        assert "read-only" == (await service.call("POST", "/v1/merge")).slug
        assert (await service.get("/v1/info")).json()["readonly"] is True


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# Limits


async def test_limits_of_bodies_and_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(max_body=20_000, max_batch=5, max_pending=40_000, max_line=3000, max_documents=50)
    async with asgi_client(tmp_path / "s", ServiceSettings(limits=limits)) as service:
        large = {"text": "word " * 5000}
        reply = await service.post("/v1/check", large)
        assert (413, "close") == (reply.status, reply.headers["connection"])
        declared = await service.post("/v1/check", {"text": "x"}, {"content-length": "99999999"})
        assert "too-large" == declared.slug
        for coding, pack in (("gzip", gzip.compress), ("zstd", _zstd)):
            bomb = pack(json.dumps({"text": "a" * 3_000_000}).encode())
            assert len(bomb) < 20_000
            assert "too-large" == (await service.post("/v1/check", bomb, {"content-encoding": coding})).slug
            good = pack(json.dumps({"text": "a few words"}).encode())
            assert 200 == (await service.post("/v1/check", good, {"content-encoding": coding})).status
            cut = await service.post("/v1/check", good[:-9], {"content-encoding": coding})
            assert 400 == cut.status, coding
        assert "media-type" == (await service.post("/v1/check", b"", {"content-encoding": "br"})).slug
        monkeypatch.setattr("nearkin.service.request._MAX_MEMBERS", 100)
        members = [gzip.compress(part.encode()) for part in ('{"text": ', '"a few words"', "}")]
        for count, status in ((0, 200), (97, 200), (98, 400)):
            body = b"".join([*members, *[gzip.compress(b"", 9, mtime=0)] * count])
            assert status == (await service.post("/v1/check", body, {"content-encoding": "gzip"})).status, count
        six = {"documents": [{"text": "x"}] * 6}
        assert "too-large" == (await service.post("/v1/check", six)).slug
        assert "too-large" == (await service.post("/v1/documents", {"ids": list(range(6))})).slug
        lines = (await service.post("/v1/check", b'{"text": "x"}\n{"text": "' + b"y" * 4000, type=NDJSON)).all_lines()
        assert ["new", 413] == [lines[0]["status"], lines[1]["error"]["status"]]
        assert (0, 0) == (service.state.admission.bytes, service.state.admission.documents)


async def test_a_refused_body_is_not_kept(tmp_path: Path) -> None:
    """Nothing leads to the traceback of its error, which would keep it until the next collection of cycles."""
    async with asgi_client(tmp_path / "s") as service:
        gc.collect()
        gc.disable()
        try:
            assert (
                400
                == (await service.post("/v1/check", gzip.compress(b"[" * 1000), {"content-encoding": "gzip"})).status
            )
            assert [] == [kept for kept in gc.get_objects() if isinstance(kept, Problem) and kept.__traceback__]
        finally:
            gc.enable()


def _zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


async def test_a_missing_body_times_out(tmp_path: Path) -> None:
    settings = ServiceSettings(limits=Limits(timeout=0.5))
    async with asgi_client(tmp_path / "s", settings) as service:

        async def silent() -> Any:
            await asyncio.sleep(60)

        begun = time.monotonic()
        reply = await service.ask("POST", "/v1/check", silent, {"content-type": "application/json"})
        assert (408, "close") == (reply.status, reply.headers["connection"])
        first = [{"type": "http.request", "body": b'{"text": "x"}\n', "more_body": True}]

        async def stops() -> Any:
            return first.pop() if first else await silent()

        lines = (await service.ask("POST", "/v1/check", stops, {"content-type": NDJSON})).all_lines()
        assert ["new", 408] == [lines[0]["status"], lines[1]["error"]["status"]]
        assert time.monotonic() - begun < 30


@pytest.mark.parametrize(("leaves", "status"), [(False, 413), (True, 400)])
async def test_work_of_a_request_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves: bool, status: int
) -> None:
    """Work that takes too long, or whose client has left, is cancelled, and others of the thread are not."""
    started, ended = threading.Event(), threading.Event()

    def endless(*_: object, **__: object) -> None:
        started.set()
        try:
            while True:
                check_cancelled()
                time.sleep(0.001)
        finally:
            ended.set()

    async def receive() -> Any:
        if body:
            return body.pop()
        await asyncio.sleep(0.1 if leaves else 60)
        return {"type": "http.disconnect"}

    monkeypatch.setattr("nearkin.service.routes.documents_from_json", endless)
    monkeypatch.setattr("nearkin.service.routes._LARGE", 0)
    async with asgi_client(tmp_path / "s", ServiceSettings(limits=Limits(timeout=0.3))) as service:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        for _ in range(3):
            body = [{"type": "http.request", "body": b"{}", "more_body": False}]
            reply = await service.ask("POST", "/v1/check", receive, {"content-type": "application/json"})
            assert status == reply.status
            assert await asyncio.to_thread(started.is_set)
            assert await asyncio.to_thread(ended.wait, SECONDS)
        assert 0 == service.state.num_requests


async def test_a_call_of_the_core_ends_with_its_request(tmp_path: Path) -> None:
    """Patterns of too many items are given up by a kernel that runs for seconds, and nothing is added."""
    nk.UrlPatterns().fit(["/a/1"]).save(tmp_path / "state")
    settings = ServiceSettings(patterns=tmp_path / "state", limits=Limits(timeout=0.5, max_batch=1 << 20))
    items = [f"/{'/'.join(f'{(i * j) % 977:x}q' for j in range(2, 9))}?{i % 31}=a{i}" for i in range(60_000)]
    async with asgi_client(None, settings) as service:
        asyncio.get_running_loop().set_default_executor(threads := ThreadPoolExecutor(1))
        reply = await service.post("/v1/patterns/fit", {"items": items})
        assert (413, "too-large") == (reply.status, reply.slug), reply
        assert "more than 0.5 seconds" in reply.json()["detail"]
        # The next request needs the same thread, and would wait for it no longer than .5 s.
        await asyncio.wait_for(asyncio.wrap_future(threads.submit(int)), SECONDS)
        assert 1 == (await service.get("/v1/patterns")).json()["items"]


async def test_a_suspended_process_blames_no_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What arrived while the process was suspended is read before time runs out."""
    monkeypatch.setattr("nearkin.service.request._LATE", 0.1)
    async with asgi_client(tmp_path / "s", ServiceSettings(limits=Limits(timeout=0.2))) as service:

        async def suspended() -> Any:
            time.sleep(0.5)
            await asyncio.sleep(0.05)
            return {"type": "http.request", "body": b'{"text": "x"}', "more_body": False}

        assert 200 == (await service.ask("POST", "/v1/check", suspended, {"content-type": "application/json"})).status


@pytest.mark.parametrize("fault", ["cut", "malformed", "disk"])
def test_an_incomplete_stream_does_not_look_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], fault: str
) -> None:
    """It ends with an error, without the last chunk of HTTP; a temporary disk that is full is logged."""

    def write(self: Any, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    nk.Store.create(tmp_path / "s").close()
    with serve_in_thread(tmp_path / "s") as service:
        if fault == "disk":
            monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", write)
        with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
            line = b'{"text": "a line of a stream"}\n'
            head = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
            connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(line), line))
            connection.sendall(b"zz\r\n" if fault == "malformed" else b"0\r\n\r\n" if fault == "disk" else b"")
            connection.shutdown(socket.SHUT_WR)
            answer = bytearray()
            while piece := connection.recv(1 << 16):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 200" if fault != "disk" else b"")
    assert not answer.endswith(b"0\r\n\r\n")
    assert b'"end"' not in answer
    assert fault == "disk" or b"truncated or malformed" in answer
    assert fault != "disk" or "No space left" in capfd.readouterr().err


def test_sigterm_ends_the_process_whatever_runs(tmp_path: Path) -> None:
    """Work that no exception interrupts ends with the process, which says so."""
    nk.Store.create(tmp_path / "s").close()
    code = """if True:
        import sys, time
        from nearkin.service import routes, server
        from nearkin.service.settings import Limits, ServiceSettings
        routes._LARGE, server._GRACE = 0, 0.2
        routes.documents_from_json = lambda *_, **__: time.sleep(1000)
        server.serve(sys.argv[1], ServiceSettings(port=0, limits=Limits(drain_timeout=0.2)))
    """
    command = [sys.executable, "-c", code, str(tmp_path / "s")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    with LiveService(process) as service:
        service.begin()
        with socket.create_connection((service.host, service.port)) as connection:
            head = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            connection.sendall(head + b"Content-Length: 2\r\n\r\n{}")
            time.sleep(0.5)
            assert 1 == service.end()
    assert any("work still running" in entry.get("detail", "") for entry in service.log)


async def test_overload_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the store is blocked, requests are queued up to the limit; others get 429 at once, and none is lost."""
    released = asyncio.Event()
    original = Store.check_and_add

    def slow(self: Store, *arguments: Any, **options: Any) -> Any:
        while not released.is_set():
            time.sleep(0.005)
        return original(self, *arguments, **options)

    monkeypatch.setattr(Store, "check_and_add", slow)
    limits = Limits(max_body=2000, max_pending=6000, max_documents=20)
    async with asgi_client(tmp_path / "s", ServiceSettings(limits=limits)) as service:
        calls = [
            asyncio.ensure_future(service.post("/v1/check-and-add", {"id": f"d{at}", "text": f"words {at} " * 20}))
            for at in range(60)
        ]
        while not any(call.done() for call in calls):
            await asyncio.sleep(0.01)
        # A refused request does not wait for the store, which is still blocked.
        assert 429 == next(call for call in calls if call.done()).result().status
        hall = service.state
        assert hall.admission.documents <= 20
        assert hall.admission.bytes <= 6000
        released.set()
        replies = await asyncio.gather(*calls)
        statuses = [reply.status for reply in replies]
        assert {200, 429} == set(statuses)
        busy = next(reply for reply in replies if reply.status == 429)
        assert ("busy", "1") == (busy.slug, busy.headers["retry-after"])
        assert statuses.count(200) == (await service.get("/v1/info")).json()["documents"]


def test_results_are_streamed(tmp_path: Path) -> None:
    """Results arrive while the stream is sent, and an entire stream may be sent before any result is read."""
    nk.Store.create(tmp_path / "s").close()
    with serve_in_thread(tmp_path / "s") as service:
        head = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
        with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
            connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
            seen = b""
            for number in range(3):
                line = b'{"text": "line %d of a stream"}\n' % number
                connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
                while seen.count(b'"status"') <= number:
                    seen += connection.recv(4096)
            connection.sendall(b"0\r\n\r\n")
        count = 120_000
        body = b"".join(b'{"text": "%d"}\n' % number for number in range(count))
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
            connection.sendall(head + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            answer = bytearray()
            while piece := connection.recv(1 << 16):
                answer += piece
        assert (count, 0) == (answer.count(b'"status": "new"'.replace(b" ", b"")), answer.count(b'"error"'))
        assert b'{"end":true,"results":%d}' % count in answer


def test_a_spool_is_read_while_it_is_written() -> None:
    """Reading and writing move the same file, each to a place of its own, in threads."""

    class SlowFile(io.BytesIO):
        def seek(self, *place: int) -> int:
            at = super().seek(*place)
            time.sleep(0.001)
            return at

    async def main() -> bytes:
        spool, parts = responses._ResponseSpool(SlowFile()), []

        async def read() -> None:
            while part := await spool.read():
                parts.append(part)

        reader = asyncio.ensure_future(read())
        for piece in pieces:
            await spool.write(piece)
        spool.end()
        await reader
        return b"".join(parts)

    pieces = [b"%08d" % number * 1024 for number in range(200)]
    assert b"".join(pieces) == asyncio.run(main())


# Failures


async def test_a_full_disk_refuses_changes_until_space_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Store.check_and_add
    full, free = True, 0

    def failing(self: Store, *arguments: Any, **options: Any) -> Any:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(self, *arguments, **options)

    class Usage:
        @property
        def free(self) -> int:
            return free

    monkeypatch.setattr(Store, "check_and_add", failing)
    monkeypatch.setattr("nearkin.service.executor.shutil.disk_usage", lambda path: Usage())
    async with asgi_client(tmp_path / "s") as service:
        replies = await asyncio.gather(
            *[service.post("/v1/check-and-add", {"id": f"d{at}", "text": f"words {at}"}) for at in range(5)]
        )
        assert {(507, "disk-full")} == {(reply.status, reply.slug) for reply in replies}
        info = (await service.get("/v1/info")).json()
        assert info["readonly"]
        assert "No space left" in info["reason_readonly"]
        assert b"nearkin_readonly 1.0" in (await service.get("/metrics")).body
        assert 200 == (await service.post("/v1/check", {"text": "x"})).status
        full = False
        assert 507 == (await service.post("/v1/check-and-add", {"id": "a", "text": "x"})).status
        free = 1 << 30
        assert 200 == (await service.post("/v1/check-and-add", {"id": "a", "text": "x"})).status
        assert (await service.get("/v1/info")).json()["readonly"] is False


@pytest.mark.parametrize(
    ("error", "slug"),
    [
        (nk.errors.StoreLockedError("s: another process is changing the store", place="s"), "locked"),
        (nk.errors.CorruptStoreError("s: damaged", place="s", reason="damaged"), "corrupt-store"),
        (MemoryError(), "no-memory"),
        (OSError(errno.EIO, "I/O error"), "internal"),
        (ZeroDivisionError("secret"), "internal"),
        (nk.errors.OutputError("full", place="s", in_place="old", errno=errno.ENOSPC), "disk-full"),
    ],
)
async def test_errors_of_the_store_are_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, slug: str
) -> None:
    """Each error has a status; internal ones disclose nothing, and the service keeps working."""

    def failing(self: Store, *arguments: Any, **options: Any) -> Any:
        raise error

    async with asgi_client(tmp_path / "s") as service:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "check", failing)
            reply = await service.post("/v1/check", {"text": "x"})
            assert (PROBLEMS[slug][0], slug) == (reply.status, reply.slug)
            assert "secret" not in reply.body.decode()
        assert 200 == (await service.post("/v1/check", {"text": "x"})).status


def test_every_problem_has_a_status_and_a_title() -> None:
    for slug, (status, title) in PROBLEMS.items():
        members = Problem(slug, "detail", found=1).details("7")
        assert (status, title, "detail", "7", 1) == tuple(
            members[name] for name in ("status", "title", "detail", "instance", "found")
        )
    assert problem_from(Problem("busy", "x")).slug == "busy"


async def test_backups_and_merges(tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    async with asgi_client(tmp_path / "s", ServiceSettings(backups=tmp_path / "backups")) as service:
        await service.post("/v1/add", {"documents": [{"id": f"d{n}", "text": f"words {n}"} for n in range(9)]})
        assert 1 == (await service.call("POST", "/v1/merge")).json()["segments"]
        reply = await service.post("/v1/backup", {"name": "monday"})
        assert (201, str(tmp_path / "backups" / "monday")) == (reply.status, reply.json()["path"])
        assert "exists" == (await service.post("/v1/backup", {"name": "monday"})).slug
        for name in ("../x", "", ".hidden", "a/b", "a" * 101, 5):
            assert 400 == (await service.post("/v1/backup", {"name": name})).status, name
        with nk.Store.open(tmp_path / "backups" / "monday", "r") as copy:
            copy.verify()
            assert 9 == len(copy)
    async with asgi_client(tmp_path / "s") as service:
        assert "no-backups" == (await service.post("/v1/backup", {"name": "x"})).slug


# Lifecycle


def test_shutdown_finishes_requests_in_flight(tmp_path: Path) -> None:
    """After SIGTERM each request gets a response or no connection, and acknowledged documents are stored."""
    import threading

    store, said, refused = tmp_path / "s", [], []
    with serving(store) as service:

        def send(which: int) -> None:
            for number in range(10_000):
                name = f"{which}-{number}"
                try:
                    reply = service.post("/v1/check-and-add", {"id": name, "text": f"document {name} of its own"})
                except OSError:
                    refused.append(name)
                    return
                if reply.status != 200:
                    assert reply.status == 503, reply
                    return
                said.append(name)

        threads = [threading.Thread(target=send, args=(which,)) for which in range(4)]
        for thread in threads:
            thread.start()
        while len(said) < 40 and any(thread.is_alive() for thread in threads):
            time.sleep(0.01)
        assert 0 == service.end()
        for thread in threads:
            thread.join()
        events = [entry["event"] for entry in service.log]
        assert ["ending", "closed"] == events[-2:], events
        assert not service.rest
    with nk.Store.open(store, "r") as there:
        assert all(name in there for name in said)
        there.verify()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    nk.Store.create(tmp_path / "s").close()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(OutputError, match="use another --port"):
            free_port("127.0.0.1", port)
        done = call("serve", tmp_path / "s", "--port", str(port))
        assert (1, True) == (done.code, "can't listen on 127.0.0.1" in done.message), done.err


def test_a_store_that_cannot_be_opened(tmp_path: Path) -> None:
    done = call("serve", tmp_path / "nothing", "--port", "0")
    assert (1, True) == (done.code, "give the folder of a store" in done.message), done.err
    store = tmp_path / "s"
    nk.Store.create(store).close()
    (store / "log.sqlite").write_bytes(b"no database" * 1000)
    completed = run("serve", store, "--port", "0")
    assert (1, True) == (completed.returncode, b"log.sqlite" in completed.stderr), completed.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "--token-file"),  # noqa: S104
        (["--token-file", "nowhere"], "nowhere"),
        (["--max-body", "lots"], "--max-body"),
        (["--max-body", "64M", "--max-pending", "1M"], "--max-pending"),
        (["--max-batch", "0"], "--max-batch"),
        (["--port", "70000"], "--port"),
        (["--timeout", "0"], "--timeout"),
        (["--sync", "never"], "--sync"),
        (["--tls-cert", "cert.pem"], "--tls-cert"),
        (["--readonyl"], "--readonly"),
    ],
)
def test_bad_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str) -> None:
    nk.Store.create(tmp_path / "s").close()
    (tmp_path / "cert.pem").write_text("", "utf-8")
    monkeypatch.chdir(tmp_path)
    done = call("serve", "s", *options)
    assert done.code in (1, 2)
    assert said in done.message, done.err
    assert "Traceback" not in done.err


def test_uvicorn_serves_the_application(tmp_path: Path) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    store = tmp_path / "s"
    nk.Store.create(store).close()
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\nfrom nearkin.service.app import Service\n"
        "from nearkin.service.settings import ServiceSettings\n"
        f"app = Service(Path({str(store)!r}), ServiceSettings())\n",
        "utf-8",
    )
    port = free_port("127.0.0.1", 0)
    command = [sys.executable, "-m", "uvicorn", "mine:app", "--port", str(port), "--log-level", "warning"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        try:
            url = f"http://127.0.0.1:{port}/v1/check"
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                try:
                    request = urllib.request.Request(url, b'{"text": "x"}', {"Content-Type": "application/json"})
                    with urllib.request.urlopen(request, timeout=10) as reply:  # noqa: S310  # On loopback.
                        assert "new" == json.load(reply)["status"]
                    break
                except OSError:
                    time.sleep(0.05)
            else:
                pytest.fail(f"uvicorn {uvicorn.__version__} did not answer")
            # It passes on a target in absolute form, whose host overrides the Host header.
            with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
                connection.sendall(
                    b"GET http://evil.example/v1/info HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
                )
                assert b"400" == connection.makefile("rb").readline().split()[1]
        finally:
            process.terminate()
            process.wait(SECONDS)


def test_tls(tmp_path: Path) -> None:
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
         "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl can't make a certificate here")
    nk.Store.create(tmp_path / "s").close()
    options = ["--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")]
    with start(tmp_path / "s", *options) as service:
        end = time.monotonic() + SECONDS
        while not service.url and time.monotonic() < end:
            time.sleep(0.02)
        assert service.url.startswith("https://"), service.output()
        context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        # The service listens before its store is open.
        while time.monotonic() < end:
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(f"{service.url}/readyz", timeout=SECONDS, context=context).close()  # noqa: S310
                break
            time.sleep(0.02)
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{service.url}/v1/check", b'{"text": "x"}', headers)  # noqa: S310
        with urllib.request.urlopen(request, timeout=SECONDS, context=context) as reply:  # noqa: S310  # On loopback.
            assert "new" == json.load(reply)["status"]


async def test_requests_before_the_store_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the store is open the process runs, and requests get not-ready."""
    nk.Store.create(tmp_path / "s").close()
    client = AsgiClient(Service(tmp_path / "s", ServiceSettings()))
    assert 200 == (await client.get("/healthz")).status
    for path in ("/readyz", "/v1/info", "/metrics"):
        reply = await client.get(path)
        assert ("not-ready", "1") == (reply.slug, reply.headers["retry-after"])
    await client.state.start()
    assert 200 == (await client.get("/readyz")).status
    await client.state.close()
    assert "shutting down" in (await client.get("/readyz")).json()["detail"]


async def test_the_access_log_has_each_request(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    async with asgi_client(tmp_path / "s", ServiceSettings(access_log=True)) as service:
        reply = await service.post("/v1/check", {"text": "x"})
        (line,) = [entry for entry in read_log(capfdbinary) if entry.get("id") == reply.headers["x-request-id"]]
        assert ("request", "/v1/check", 200) == (line["event"], line["route"], line["status"])


def read_log(capture: pytest.CaptureFixture[bytes]) -> list[dict[str, Any]]:
    """Return the objects of the log since the last call."""
    return [json.loads(line) for line in capture.readouterr().err.splitlines()]


def test_errors_precede_the_creation_of_a_store(tmp_path: Path) -> None:
    with serving(tmp_path / "s", "--backups", str(tmp_path / "new" / "backups")) as service:
        assert 201 == service.post("/v1/backup", {"name": "one"}).status
        for options in (["--port", str(service.port)], ["--port", "0", "--sync", "sometimes"]):
            assert call("serve", tmp_path / "never", "--create", *options).code in (1, 2)
            assert not (tmp_path / "never").exists()


async def test_internal_errors_are_logged(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "backups").write_text("no folder", "utf-8")
    async with asgi_client(tmp_path / "s", ServiceSettings(backups=tmp_path / "backups")) as service:
        assert 500 == (await service.post("/v1/backup", {"name": "one"})).status
    assert ["failed"] == [entry["event"] for entry in read_log(capfdbinary) if entry["level"] == "error"]


def test_a_deduplication_into_a_service_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words", "utf-8")
    done = call("dedup", tmp_path / "a.txt", "--store", "http://127.0.0.1:8470", "--out", tmp_path / "out")
    assert (2, True) == (done.code, "nearkin store add URL" in done.message), done.err


async def test_requests_of_a_failed_group_are_executed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a bad digest splits a group, keys still work, and a full disk refuses a single document."""
    data = [b"".join(b"line %d of file %d\n" % (line * at, at) for line in range(200)) for at in range(1, 4)]
    digests = [nk.ssdeep.hash(content) for content in data]
    items = [{"id": "a", "digest": digests[0]}, {"id": "b", "digest": "no digest"}, {"id": "c", "digest": digests[1]}]
    body = b"".join(json.dumps(item).encode() + b"\n" for item in items)
    original = Store.check_and_add

    def failing(self: Store, items: Any, ids: Any, **options: Any) -> Any:
        if ids == ["c"]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(self, items, ids, **options)

    async with asgi_client(tmp_path / "s", recipe="ssdeep", threshold=60) as service:
        key = {"Idempotency-Key": "k"}
        with monkeypatch.context() as patch:
            patch.setattr(Store, "check_and_add", failing)
            results = (await service.post("/v1/check-and-add", body, key, type=NDJSON)).lines()
        assert ["new", 400, 507] == [item.get("status") or item["error"]["status"] for item in results]
        assert 1 == (await service.get("/v1/info")).json()["documents"]
        again = (await service.post("/v1/check-and-add", body, key, type=NDJSON)).lines()
        assert ["new", 400, "new"] == [item.get("status") or item["error"]["status"] for item in again]


@pytest.mark.parametrize("attack", ["removed", "moved", "replaced", "log replaced"])
async def test_a_service_whose_store_is_replaced_is_not_ready(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], attack: str
) -> None:
    """Every request gets 503, `/readyz` too, and the log has one line: nothing is acknowledged into nowhere."""
    path, copy = tmp_path / "store", tmp_path / "copy"
    with nk.Store.create(path) as store:
        store.add(["a text"], ["a"])
        store.backup(copy)

    def replace() -> None:
        if attack == "removed":
            shutil.rmtree(path)
        elif attack == "log replaced":
            (copy / "log.sqlite").replace(path / "log.sqlite")
        else:
            path.rename(tmp_path / "elsewhere")
            if attack == "replaced":
                copy.rename(path)

    async with asgi_client(path) as service:
        assert 200 == (await service.get("/readyz")).status
        assert 200 == (await service.post("/v1/add", {"id": "x", "text": "x y z"})).status
        replace()
        for _ in range(2):
            for reply in (
                await service.get("/readyz"),
                await service.post("/v1/check-and-add", {"id": "n", "text": "n o p"}),
                await service.post("/v1/merge", {}),
            ):
                assert (503, "store-replaced") == (reply.status, reply.slug)
        assert 200 == (await service.get("/healthz")).status
    assert 1 == sum("store-replaced" == line["event"] for line in read_log(capfdbinary))
