"""The service under load: request rates, latency and memory, compared with the store, FastAPI and Redis.

    python bench/service.py --folder FOLDER [--parts check add batches overload backup]

`nearkin serve` runs a store of a million documents of about 1 KB with their texts on the loopback interface; the loader
runs on the same machine, and the CPU seconds of both are reported. Every part starts from a copy of the merged store.

- *check*: half copies, a quarter with one word changed, a quarter new; 16 connections.
- *add*: durable `check-and-add` of single new documents; 16 connections, so that commits are grouped.
- *batches*: `check-and-add` of 1,000 new documents as JSON and Arrow, and the same documents through `Store`.
- *overload*: batches of 200 at twice the rate that the service sustains, on 600 connections, and its memory growth.
- *backup*: `check` and `add` while the store is copied.

Alternatives: `bare` is a FastAPI application under granian with a fixed response. `redis` is what users build:
`MinHashLSH` of datasketch with its tables in Redis (a Unix socket, nothing on disk), behind FastAPI and granian. It
verifies nothing; its features are the distinct 4-grams of the folded text, as in our recipe.

The loader keeps one request in flight per connection. Without `rate` a connection sends its next request after the
response (closed loop). With `rate` requests are sent at even intervals on any free connection (open loop, like the
clients of an overloaded service), and latency counts from the moment at which the request was due. Needs Linux.

Stores are kept in `--folder`, since building them takes minutes. The tables are in docs/service.md.
"""

from __future__ import annotations

import array
import asyncio
import io
import itertools
import json
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from fastapi import FastAPI
from pydantic import BaseModel

import common
import nearkin as nk
import store

TICKS = 100


def post_request(path: str, body: bytes, kind: str = "application/json", headers: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def json_request(path: str, content: dict[str, object]) -> bytes:
    return post_request(path, json.dumps(content, ensure_ascii=False).encode())


@dataclass
class Load:
    """Results of a load: statuses, latencies in nanoseconds of responses with status 200, lost connections."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    latencies: array.array[int] = field(default_factory=lambda: array.array("q"))
    lost: int = 0
    bodies: list[bytes] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Responses of status 200 per second."""
        return self.statuses[200] / self.seconds

    def figures(self) -> dict[str, object]:
        """Return the figures of the run file."""
        ms = np.frombuffer(self.latencies, np.int64) / 1e6 if self.latencies else np.full(1, np.nan)
        return {
            "seconds": self.seconds,
            "per_second": self.rate,
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "lost": self.lost,
            "loader_cpu_seconds": self.cpu_seconds,
            **{f"p{q:g}_ms": float(np.percentile(ms, q)) for q in (50, 90, 99, 99.9)},
            "max_ms": float(ms.max()),
            **({"refused": [body.decode(errors="replace")[:500] for body in self.bodies]} if self.bodies else {}),
        }


class Connection:
    """A socket with its unsent request and its partial response."""

    __slots__ = ("begin", "content", "found", "left", "need", "socket")

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.begin = 0
        self.content: bytes | None = None
        self.left: memoryview | None = None
        self.found = b""
        self.need = 0


class Loader:
    """Load generator for one address.

    The load ends after `seconds`, or when there are no more requests, once those in flight are answered. `tick` is
    called ten times per second with the elapsed time and the load; the load ends if it returns False.
    """

    def __init__(
        self,
        address: tuple[str, int],
        requests: Iterator[bytes],
        *,
        connections: int = 16,
        seconds: float = 10.0,
        rate: float | None = None,
        tick: Callable[[float, Load], bool] | None = None,
    ) -> None:
        self._address, self._requests, self._seconds, self._rate = address, requests, seconds, rate
        self._tick = tick
        self._poll = select.epoll()
        self._by_number: dict[int, Connection] = {}
        self._free: deque[Connection] = deque()
        self._in_flight = 0
        self._ended = False
        self.load = Load()
        for _ in range(connections):
            self._connect()

    def _connect(self) -> None:
        item = Connection(self._address)
        self._by_number[item.socket.fileno()] = item
        self._poll.register(item.socket.fileno(), select.EPOLLIN)
        self._free.append(item)

    def _send(self, item: Connection, begin: int) -> bool:
        content = next(self._requests, None)
        if content is None:
            self._ended = True
            return False
        item.begin, item.found, item.need = begin, b"", 0
        self._in_flight += 1
        try:
            sent = item.socket.send(content)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._lose(item)
            return True
        if sent < len(content):
            item.left = memoryview(content)[sent:]
            self._poll.modify(item.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)
        return True

    def _send_rest(self, item: Connection) -> None:
        assert item.left is not None
        try:
            item.left = item.left[item.socket.send(item.left) :]
        except BlockingIOError:
            return
        except OSError:
            self._lose(item)
            return
        if not item.left:
            item.left = None
            self._poll.modify(item.socket.fileno(), select.EPOLLIN)

    def _lose(self, item: Connection) -> None:
        """Replace a connection that ended."""
        self._poll.unregister(item.socket.fileno())
        del self._by_number[item.socket.fileno()]
        item.socket.close()
        self._in_flight -= 1
        self.load.lost += 1
        self._connect()

    def _receive(self, item: Connection) -> bool:
        """Read what arrived; return True if the response is complete."""
        try:
            part = item.socket.recv(1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            part = b""
        if not part:
            if item in self._free:
                # An idle connection that the service closed: no answer is lost.
                self._free.remove(item)
                self._in_flight += 1
                self.load.lost -= 1
            self._lose(item)
            return False
        result = item.found = item.found + part if item.found else part
        if not item.need:
            end = result.find(b"\r\n\r\n")
            if end < 0:
                return False
            item.need = end + 4 + content_length(result[:end])
        if len(result) < item.need:
            return False
        status = int(result[9:12])
        load = self.load
        load.statuses[status] += 1
        if status == 200:
            load.latencies.append(time.perf_counter_ns() - item.begin)
        elif len(load.bodies) < 2:
            load.bodies.append(result[result.find(b"\r\n\r\n") + 4 :])
        self._in_flight -= 1
        return True

    def run(self) -> Load:
        """Send requests to the end, and wait for those in flight."""
        cpu, begin = time.process_time(), time.perf_counter_ns()
        end = begin + int(self._seconds * 1e9)
        due, step = float(begin), 1e9 / self._rate if self._rate else 0.0
        next_tick = begin
        while True:
            now = time.perf_counter_ns()
            if self._tick is not None and now >= next_tick:
                next_tick = now + 100_000_000
                self._ended |= not self._tick((now - begin) / 1e9, self.load)
            over = self._ended or now >= end
            if over and (not self._in_flight or now >= end + 30_000_000_000):
                break
            while not over and self._free and (not step or due <= now):
                if not self._send(self._free.popleft(), int(due) if step else time.perf_counter_ns()):
                    over = True
                due += step
            wait = max((due - now) / 1e9, 0) if step and not over and self._free else 0.1
            for number, event in self._poll.poll(wait):
                item = self._by_number.get(number)
                if item is None:
                    continue
                if event & select.EPOLLOUT and item.left is not None:
                    self._send_rest(item)
                if event & ~select.EPOLLOUT and number in self._by_number and self._receive(item):
                    now = time.perf_counter_ns()
                    if step or self._ended or now >= end or not self._send(item, now):
                        self._free.append(item)
        self.load.seconds = (time.perf_counter_ns() - begin) / 1e9
        self.load.cpu_seconds = time.process_time() - cpu
        self.load.lost += self._in_flight
        for item in self._by_number.values():
            item.socket.close()
        self._poll.close()
        return self.load


def content_length(head: bytes) -> int:
    low = head.lower()
    at = low.find(b"\r\ncontent-length:")
    if at < 0:
        raise ValueError(f"an answer without a length: {head!r}")
    return int(low[at + 17 :].split(b"\r\n", 1)[0])


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(int(fields[at]) for at in (11, 12, 13, 14)) / TICKS
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(cpu_seconds(int(child)) for child in children)


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(text.split("VmRSS:")[1].split()[0])


def private(pid: int) -> int:
    """Return the private memory of a process in bytes, without mapped files."""
    text = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(text.split("RssAnon:")[1].split()[0])


PERMUTATIONS = 128


def grams(text: str) -> list[bytes]:
    folded = "".join(filter(str.isalnum, text.lower()))
    return [item.encode() for item in {folded[at : at + 4] for at in range(max(len(folded) - 3, 1))}]


class Document(BaseModel):
    """A request body."""

    id: str | None = None
    text: str


class Answer(BaseModel):
    """A response body."""

    id: str | None
    status: str
    match: str | None
    distance: int
    similarity: float | None


def application(kind: str, redis: str) -> Any:
    """Build the FastAPI application of an alternative."""
    app = FastAPI()
    if kind == "bare":

        async def fixed(document: Document) -> Answer:
            return Answer(id=document.id, status="new", match=None, distance=-1, similarity=None)

        app.post("/v1/check")(fixed)
        app.post("/v1/check-and-add")(fixed)
        return app

    from datasketch import MinHash, MinHashLSH

    storage = {"type": "redis", "basename": b"pages", "redis": {"unix_socket_path": redis}}
    tables = MinHashLSH(threshold=store.THRESHOLD, num_perm=PERMUTATIONS, storage_config=storage)

    def found(text: str) -> tuple[Any, list[str]]:
        signature = MinHash(num_perm=PERMUTATIONS)
        signature.update_batch(grams(text))
        return signature, tables.query(signature)

    def answer(document: Document, matches: list[str]) -> Answer:
        status = "near" if matches else "new"
        return Answer(id=document.id, status=status, match=min(matches, default=None), distance=-1, similarity=None)

    def check(document: Document) -> Answer:
        return answer(document, found(document.text)[1])

    def check_and_add(document: Document) -> Answer:
        signature, matches = found(document.text)
        if not matches:
            tables.insert(document.id, signature, check_duplication=False)
        return answer(document, matches)

    app.post("/v1/check")(check)
    app.post("/v1/check-and-add")(check_and_add)
    return app


@dataclass(frozen=True)
class Server:
    """A running server: its address, and the ids of its processes."""

    address: tuple[str, int]
    pids: tuple[int, ...]

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of a response, or its text."""
        content = None if body is None else json.dumps(body).encode()
        url = f"http://{self.address[0]}:{self.address[1]}{path}"
        request = urllib.request.Request(url, content, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=600) as response:  # noqa: S310
            message = response.read().decode()
            return json.loads(message) if "json" in response.headers["content-type"] else message


def wait_until(ready: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until a call succeeds without a connection error and returns no false value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError):
            if ready() is not False:
                return
        time.sleep(0.05)
    raise TimeoutError(f"not ready after {seconds} seconds")


@contextmanager
def run_process(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a process, and terminate it at the end."""
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def serve_store(path: Path, *options: str) -> Iterator[Server]:
    """Run `nearkin serve` on a store."""
    log = path.parent / "service.log"
    command = [sys.executable, "-m", "nearkin", "serve", str(path), "--port", "0", *options]
    with log.open("wb") as file, run_process(command, stderr=file, stdout=subprocess.DEVNULL) as process:
        server = Server(find_address(log, process), (process.pid,))
        wait_until(lambda: server.call("GET", "/readyz"))
        yield server


@contextmanager
def serve_rival(kind: str) -> Iterator[Server]:
    """Run an alternative; `redis` keeps nothing on disk."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path, pids = Path(folder) / "redis.sock", []
        if kind == "redis":
            options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no", "--dir", folder]
            redis = stack.enter_context(run_process(["redis-server", *options], stdout=subprocess.DEVNULL))
            wait_until(path.exists)
            pids = [redis.pid]
        command = [sys.executable, __file__, "--rival", kind, str(path)]
        process = stack.enter_context(run_process(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
        address = ("127.0.0.1", int((process.stdout or sys.stdin).readline()))
        wait_until(lambda: socket.create_connection(address).close())
        yield Server(address, (process.pid, *pids))


def run_rival(kind: str, redis: str) -> None:
    """Serve an alternative on a free port, and print the port (child process)."""
    from granian.constants import Interfaces
    from granian.server.embed import Server as Granian

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    print(port, flush=True)
    asyncio.run(Granian(application(kind, redis), "127.0.0.1", port, interface=Interfaces.ASGI).serve())


ARROW = "application/vnd.apache.arrow.stream"
CONNECTIONS = 16
BATCH = 1000
PARTS = ("check", "add", "batches", "overload", "backup")


def build_store(folder: Path, recipe: str, count: int, data: Path) -> Path:
    """Return a compacted store of `count` documents; build it if it is missing."""
    path = folder / f"{recipe}-{count}"
    if path.exists():
        return path
    aside = path.with_suffix(".part")
    shutil.rmtree(aside, ignore_errors=True)
    source, begin = store.documents(data), time.perf_counter()
    with nk.Store.create(aside, None if recipe == "simhash" else recipe, threshold=store.THRESHOLD) as opened:
        for start in range(0, count, 5000):
            end = min(start + 5000, count)
            names = [f"http://example.org/news/{number:010d}" for number in range(start, end)]
            opened.add(list(itertools.islice(source, end - start)), names)
        opened.merge()
    print(f"built {path} in {time.perf_counter() - begin:.0f} s", flush=True)
    return aside.rename(path)


@contextmanager
def copy_store(path: Path) -> Iterator[Path]:
    """Copy a store; segments never change, so they are linked."""
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        copy = Path(name) / "pages.store"
        shutil.copytree(path, copy, copy_function=link_or_copy)
        yield copy


def link_or_copy(path: str, copy: str) -> None:
    (os.link if Path(path).parent.name == "segments" else shutil.copy2)(path, copy)


def find_address(log: Path, process: subprocess.Popen[str]) -> tuple[str, int]:
    while process.poll() is None:
        for line in log.read_text().splitlines():
            if '"listening"' in line and line.endswith("}"):
                host, port = json.loads(line)["url"].split("//")[1].split(":")
                return host, int(port)
        time.sleep(0.05)
    raise RuntimeError(log.read_text())


def run_load(server: Server, requests: Iterable[bytes], **options: Any) -> dict[str, Any]:
    """Run a load, and add the CPU time of the processes that answered."""
    begin = [cpu_seconds(pid) for pid in server.pids]
    load = Loader(server.address, iter(requests), **options).run()
    cpu = [cpu_seconds(pid) - before for pid, before in zip(server.pids, begin, strict=True)]
    count = max(load.statuses[200], 1)
    more = {"service_cpu_seconds": sum(cpu), "service_cpu_ms": 1000 * sum(cpu) / count}
    return {**load.figures(), **more, "loader_cpu_ms": 1000 * load.cpu_seconds / count}


@dataclass
class Documents:
    """The documents of a run: the same for all candidates."""

    existing: list[str]
    source: Iterator[str]
    """New documents without end."""

    def mixed(self, count: int) -> list[str]:
        """Return half copies, a quarter near-duplicates and a quarter new documents."""
        choose = random.Random(5)
        kinds = choose.choices(["copy", "copy", "near", "new"], k=count)
        existing = itertools.cycle(self.existing)
        return [
            next(self.source)
            if kind == "new"
            else next(existing)
            if kind == "copy"
            else store.one_word_changed(next(existing))
            for kind in kinds
        ]

    def new(self, count: int) -> list[str]:
        """Return new documents."""
        return list(itertools.islice(self.source, count))


def new_documents(data: Path) -> Iterator[str]:
    texts, choose = store.kilobyte_texts(data, 30_000), random.Random(29)
    while True:
        words = choose.choice(texts).split(" ")
        for at in range(0, len(words), 4):
            words[at] = f"n{choose.getrandbits(30):x}"
        yield " ".join(words)


def existing_texts(path: Path, count: int) -> list[str]:
    with nk.Store.open(path, "r") as opened:
        rows = random.Random(3).sample(range(len(opened)), min(count, len(opened)))
        names = [f"http://example.org/news/{row:010d}" for row in rows]
        parts = [opened.texts(names[start : start + 1000]) for start in range(0, len(names), 1000)]
        return [text for part in parts for text in part if text is not None]


def check_requests(texts: list[str]) -> list[bytes]:
    return [json_request("/v1/check", {"text": text}) for text in texts]


def add_requests(texts: list[str], name: str) -> list[bytes]:
    result = enumerate(texts)
    return [
        json_request("/v1/check-and-add", {"id": f"http://example.org/{name}/{i:010d}", "text": text})
        for i, text in result
    ]


def batch_requests(texts: list[str], name: str, form: str, size: int = BATCH) -> list[bytes]:
    results = []
    for start in range(0, len(texts), size):
        chunk = texts[start : start + size]
        names = [f"http://example.org/{name}/{i:010d}" for i in range(start, start + len(chunk))]
        if form == "json":
            rows = [{"id": item, "text": text} for item, text in zip(names, chunk, strict=True)]
            results.append(json_request("/v1/check-and-add", {"documents": rows}))
        else:
            table, sink = pa.table({"id": names, "text": chunk}), io.BytesIO()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            results.append(post_request("/v1/check-and-add", sink.getvalue(), ARROW))
    return results


def timed_calls(call: Callable[[int], object], count: int) -> dict[str, float]:
    times = []
    cpu, begin = time.process_time(), time.perf_counter()
    for number in range(count):
        start = time.perf_counter()
        call(number)
        times.append(time.perf_counter() - start)
    seconds = time.perf_counter() - begin
    ms = 1000 * np.array(times)
    return {
        "seconds": seconds,
        "per_second": count / seconds,
        "cpu_ms": 1000 * (time.process_time() - cpu) / count,
        "p50_ms": float(np.percentile(ms, 50)),
        "p99_ms": float(np.percentile(ms, 99)),
    }


def measure_check(base: Path, documents: Documents, seconds: float) -> dict[str, Any]:
    texts = documents.mixed(int(10_000 * seconds))
    requests = check_requests(texts)
    with copy_store(base) as path:
        with serve_store(path) as service:
            run_load(service, itertools.islice(requests, 2000))
            results = {"http": run_load(service, itertools.cycle(requests), connections=CONNECTIONS, seconds=seconds)}
        with nk.Store.open(path) as opened:
            opened.check(texts[:100])
            results["store"] = timed_calls(lambda number: opened.check([texts[number]]), 3000)
    return results


def measure_add(base: Path, documents: Documents, seconds: float) -> dict[str, Any]:
    requests = add_requests(documents.new(int(6000 * seconds)), "add")
    texts = documents.new(2000)
    with copy_store(base) as path:
        results: dict[str, Any] = {"sync_ms": 1000 * store.sync_time(path.parent)}
        with serve_store(path) as service:
            run_load(service, add_requests(documents.new(500), "warm"))
            results["http"] = run_load(service, requests, connections=CONNECTIONS, seconds=seconds)
    with copy_store(base) as path, nk.Store.open(path) as opened:
        results["store"] = timed_calls(lambda number: opened.check_and_add([texts[number]], [f"s{number}"]), len(texts))
    return results


def measure_batches(base: Path, documents: Documents, count: int) -> dict[str, Any]:
    texts = documents.new(count * BATCH)
    names = [f"http://example.org/batch/{number:010d}" for number in range(len(texts))]
    results: dict[str, Any] = {}
    with copy_store(base) as path, nk.Store.open(path) as opened:

        def add(number: int) -> None:
            start, end = BATCH * number, BATCH * (number + 1)
            opened.check_and_add(texts[start:end], names[start:end])

        results["store"] = timed_calls(add, count)
    for form, connections in (("json", 2), ("arrow", 2), ("json", 4)):
        requests = batch_requests(texts, "batch", form)
        with copy_store(base) as path, serve_store(path) as service:
            chunk = run_load(service, requests, connections=connections, seconds=300)
        chunk["documents_per_second"] = BATCH * chunk["per_second"]
        chunk["of_store"] = chunk["per_second"] / results["store"]["per_second"]
        results[f"{form}-{connections}"] = chunk
    return results


def measure_overload(base: Path, documents: Documents, seconds: float) -> dict[str, Any]:
    """Send batches of 200 on 4 connections, then twice that rate on 600: checks, then additions.

    The memory of checks is that of the service alone; additions also make the store grow.
    """
    size = 200
    texts = documents.mixed(200 * size)
    questions = [
        json_request("/v1/check", {"documents": [{"text": text} for text in texts[start : start + size]]})
        for start in range(0, len(texts), size)
    ]
    results: dict[str, Any] = {"documents_per_request": size}
    for name in ("check", "add"):
        sizes: list[tuple[int, int]] = []
        with copy_store(base) as path, serve_store(path) as service:

            def tick(_: float, __: Load, sizes: list[tuple[int, int]] = sizes, pid: int = service.pids[0]) -> bool:
                sizes.append((resident(pid), private(pid)))
                return True

            requests = itertools.cycle(questions) if name == "check" else endless(documents, size)
            carrying = run_load(service, requests, connections=4, seconds=seconds, tick=tick)
            before = [max(column) for column in zip(*sizes, strict=True)]
            rate = 2 * carrying["per_second"]
            if name == "add":
                requests = iter(list(itertools.islice(requests, int(rate * seconds))))
            over = run_load(service, requests, connections=600, seconds=seconds, rate=rate, tick=tick)
        grown = [max(column) - limit for column, limit in zip(zip(*sizes, strict=True), before, strict=True)]
        memory = {"before_private_mb": before[1] / 1e6, "grown_mb": grown[0] / 1e6, "grown_private_mb": grown[1] / 1e6}
        results[name] = {**over, **memory, "offered_per_second": rate, "carrying": carrying}
    return results


def endless(documents: Documents, size: int) -> Iterator[bytes]:
    for number in itertools.count():
        yield from batch_requests(documents.new(50 * size), f"over{number}", "json", size)


def measure_backup(base: Path, documents: Documents) -> dict[str, Any]:
    """Send checks and single additions, three to one, before and during a backup."""
    questions, changes = check_requests(documents.mixed(180_000)), add_requests(documents.new(60_000), "backup")
    requests = [item for start in range(60_000) for item in (*questions[3 * start : 3 * start + 3], changes[start])]
    marks: list[tuple[float, int]] = []
    span: dict[str, float] = {}
    with copy_store(base) as path, serve_store(path, "--backups", str(path.parent / "backups")) as service:
        (path.parent / "backups").mkdir(exist_ok=True)

        def back_up() -> None:
            span["begin"] = time.perf_counter()
            service.call("POST", "/v1/backup", {"name": "while"})
            span["end"] = time.perf_counter()

        thread = threading.Thread(target=back_up)

        def tick(seconds: float, load: Load) -> bool:
            marks.append((time.perf_counter(), load.statuses[200]))
            if seconds > 8 and thread.ident is None:
                thread.start()
            return "end" not in span or time.perf_counter() < span["end"] + 4

        run_load(service, requests[:2000])
        result = run_load(service, itertools.islice(requests, 2000, None), seconds=120, tick=tick)
        thread.join()
    during = rate_between(marks, span["begin"], span["end"])
    other = rate_between(marks, marks[0][0] + 2, span["begin"])
    more = {"backup_seconds": span["end"] - span["begin"], "rate_during": during, "rate_before": other}
    return {**result, **more, "cost": 1 - during / other}


def rate_between(marks: list[tuple[float, int]], begin: float, end: float) -> float:
    times, counts = (np.array(column, float) for column in zip(*marks, strict=True))
    first, last = np.interp([begin, end], times, counts)
    return float((last - first) / (end - begin))


def measure_rivals(documents: Documents, seconds: float, redis_documents: int) -> dict[str, Any]:
    """Measure the bare framework, and datasketch on Redis with a smaller collection."""
    results: dict[str, Any] = {}
    requests = check_requests(documents.mixed(20_000))
    with serve_rival("bare") as item:
        run_load(item, requests[:2000])
        results["bare"] = run_load(item, itertools.cycle(requests), connections=CONNECTIONS, seconds=seconds)
    texts = documents.new(redis_documents)
    smaller = Documents(texts, documents.source)
    with serve_rival("redis") as item:
        added = run_load(item, add_requests(texts, "r"), connections=CONNECTIONS, seconds=3600)
        requests = check_requests(smaller.mixed(5000))
        results["redis"] = run_load(item, itertools.cycle(requests), connections=CONNECTIONS, seconds=seconds)
        results["redis"] |= {"documents": redis_documents, "add": added, "redis_mb": resident(item.pids[1]) / 1e6}
    return results


def rate_and_time(results: dict[str, Any]) -> str:
    return f"{common.ratio(results['per_second'])}, {results['p99_ms']:.1f} ms"


def main_rows(results: dict[str, dict[str, Any]]) -> Iterator[list[str]]:

    def row(name: str, goal: str, text: Callable[[dict[str, Any]], str], part: str) -> list[str]:
        return [name, *(("–" if result.get(part) is None else text(result[part])) for result in results.values()), goal]

    yield row("`check`: requests per second, 99%", "8,000, 5 ms", lambda row: rate_and_time(row["http"]), "check")
    yield row("CPU per `check`, service and loader", "", lambda row: cpu_per_request(row["http"]), "check")
    yield row("durable `check-and-add`, 99%", "4,000, 10 ms", lambda row: rate_and_time(row["http"]), "add")
    yield row("one sync of the disk", "", lambda row: f"{row['sync_ms']:.2f} ms", "add")
    for form, name in (("json-2", "JSON"), ("arrow-2", "Arrow")):

        def batch(item: dict[str, Any], form: str = form) -> str:
            chunk = item[form]
            rate = common.ratio(chunk["documents_per_second"])
            return f"{rate} documents, {100 * chunk['of_store']:.0f}% of the store, {chunk['p99_ms']:.0f} ms"

        yield row(f"batches of 1,000, {name}: per second, 99%", "60%, 200 ms", batch, "batches")
    for name, said in (("check", "checks"), ("add", "additions")):
        yield row(f"twice the {said} it carries", "200 and 429", lambda row, name=name: refusals(row[name]), "overload")
    yield row("memory that twice the checks take", "200 MB", lambda row: memory_growth(row["check"]), "overload")
    yield row("backup under load: cost", "20%", lambda row: f"{100 * row['cost']:.0f}%", "backup")


def cpu_per_request(item: dict[str, Any]) -> str:
    return f"{1000 * item['service_cpu_ms']:.0f} µs, {1000 * item['loader_cpu_ms']:.0f} µs"


def refusals(item: dict[str, Any]) -> str:
    return ", ".join(f"{count:,} of {status}" for status, count in item["statuses"].items())


def memory_growth(item: dict[str, Any]) -> str:
    return f"{item['grown_private_mb']:.0f} MB"


def rival_rows(run: dict[str, Any]) -> Iterator[list[str]]:
    results, rivals = run["results"], run.get("rivals", {})
    best = next((results[name]["check"] for name in ("minhash", "simhash") if "check" in results.get(name, {})), None)
    if best is None or not rivals:
        return
    base = best["http"]["per_second"]
    redis = rivals["redis"]
    named = {
        "the service": best["http"],
        "`Store.check` in a process, one by one": best["store"],
        "FastAPI under granian, a fixed answer": rivals["bare"],
        f"datasketch on Redis, {redis['documents']:,} documents, nothing verified": redis,
    }
    for name, item in named.items():
        yield [name, *rate_and_time(item).split(", "), common.ratio(base / item["per_second"])]
    rate = next(
        (results[key]["add"]["http"]["per_second"] for key in ("minhash", "simhash") if "add" in results[key]), 0
    )
    if rate:
        yield ["datasketch on Redis, new documents added", *rate_and_time(redis["add"]).split(", "),
               f"{common.ratio(rate / redis['add']['per_second'])} (durable)"]  # fmt: skip


def report(run: dict[str, Any]) -> None:
    """Write the tables of docs/service.md."""
    text = common.table([f"{run['documents']:,} documents", *run["results"], "goal"], main_rows(run["results"]))
    rivals = common.table(["`check`", "per second", "99%", "the service is"], rival_rows(run))
    common.splice("service.md", "service", f"{text}\n\n{rivals}\n\n{common.source(run)}")


def measure(options: Any, recipe: str) -> dict[str, Any]:
    """Run the chosen parts on a store of one recipe."""
    base = build_store(options.folder, recipe, options.documents, options.data)
    documents = Documents(existing_texts(base, 40_000), new_documents(options.data))
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "check": lambda: measure_check(base, documents, options.seconds),
        "add": lambda: measure_add(base, documents, options.seconds),
        "batches": lambda: measure_batches(base, documents, options.batches),
        "overload": lambda: measure_overload(base, documents, options.seconds),
        "backup": lambda: measure_backup(base, documents),
    }
    return {name: parts[name]() for name in options.parts}


def main() -> None:
    if sys.argv[1:2] == ["--rival"]:
        run_rival(sys.argv[2], sys.argv[-1])
        return
    options = common.arguments(
        __doc__,
        ("--folder", {"type": Path, "default": Path(tempfile.gettempdir()) / "nearkin-service", "help": "for stores"}),
        ("--documents", {"type": int, "default": 1_000_000}),
        ("--recipes", {"nargs": "+", "choices": ("minhash", "simhash"), "default": ["minhash", "simhash"]}),
        ("--parts", {"nargs": "*", "choices": PARTS, "default": list(PARTS)}),
        ("--seconds", {"type": float, "default": 15.0, "help": "duration of each load"}),
        ("--batches", {"type": int, "default": 100, "help": "number of batches of 1,000 documents"}),
        ("--redis", {"type": int, "default": 10_000, "help": "documents of Redis; 0 skips the alternatives"}),
    )
    if options.report is not None:
        report(common.latest("service", options.report))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    run: dict[str, Any] = {"documents": options.documents, "results": results}
    versions = common.versions("granian", "fastapi", "datasketch", "redis")
    for recipe in options.recipes:
        results[recipe] = measure(options, recipe)
        print(json.dumps({recipe: results[recipe]}), flush=True)
        common.save("service", run, versions=versions)
    if options.redis:
        base = build_store(options.folder, options.recipes[0], options.documents, options.data)
        documents = Documents(existing_texts(base, 20_000), new_documents(options.data))
        run["rivals"] = measure_rivals(documents, options.seconds, options.redis)
        common.save("service", run, versions=versions)
    report(common.latest("service"))


if __name__ == "__main__":
    main()
