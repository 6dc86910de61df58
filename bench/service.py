"""The service under load: request rates and latency, compared with the store, FastAPI and Redis.

    python bench/service.py --folder FOLDER [--parts check add batches]

`nearkin serve` runs a store of a million documents of about 1 KB with their texts on the loopback interface; the loader
runs on the same machine, and the CPU seconds of both are reported. Every part starts from a copy of the merged store.

- *check*: half copies, a quarter with one word changed, a quarter new; 16 connections.
- *add*: durable `check-and-add` of single new documents; 16 connections, so that commits are grouped.
- *batches*: `check-and-add` of 1,000 new documents as JSON and Arrow, and the same documents through `Store`.

Alternatives: `bare` is a FastAPI application under granian with a fixed response. `redis` is what users build:
`MinHashLSH` of datasketch with its tables in Redis (a Unix socket, nothing on disk), behind FastAPI and granian. It
verifies nothing; its features are the distinct 4-grams of the folded text, as in our recipe.

The loader keeps one request in flight per connection and sends the next one after the response. Needs Linux.

Stores are kept in `--folder`, since building them takes minutes. The tables are in docs/service.md.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import os
import random
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from fastapi import FastAPI
from pydantic import BaseModel

import common
import nearkin as nk
import store


def post_request(path: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def json_request(path: str, content: dict[str, object]) -> bytes:
    return post_request(path, json.dumps(content, ensure_ascii=False).encode())


@dataclass
class Connection:
    """A connection with the start of its request and what arrived of the response."""

    socket: socket.socket
    begin: int = 0
    response: bytes = b""

    def send(self, request: bytes) -> None:
        """Send a request."""
        self.begin, self.response = time.perf_counter_ns(), b""
        self.socket.sendall(request)

    def receive(self) -> int | None:
        """Read what arrived; return the nanoseconds since the request if the response is complete."""
        part = self.socket.recv(1 << 18)
        self.response += part
        head, end, body = self.response.partition(b"\r\n\r\n")
        if not part or (end and not head.startswith(b"HTTP/1.1 200 ")):
            raise SystemExit(f"the service answers {self.response[:500]!r}")
        if not end or len(body) < content_length(head):
            return None
        return time.perf_counter_ns() - self.begin


def content_length(head: bytes) -> int:
    return int(head.lower().partition(b"\r\ncontent-length:")[2].split(b"\r\n", 1)[0])


def load_service(
    address: tuple[str, int], requests: Iterator[bytes], connections: int, seconds: float
) -> dict[str, float]:
    """Send requests until they or the seconds end, one at a time per connection; any status but 200 is an error."""
    cpu, begin, latencies = time.process_time(), time.perf_counter(), []
    with selectors.DefaultSelector() as poll, ExitStack() as stack:
        for request in itertools.islice(requests, connections):
            item = Connection(stack.enter_context(socket.create_connection(address)))
            item.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            poll.register(item.socket, selectors.EVENT_READ, item)
            item.send(request)
        while poll.get_map():
            for key, _ in poll.select():
                if (latency := key.data.receive()) is not None:
                    latencies.append(latency / 1e6)
                    request = next(requests, b"") if time.perf_counter() < begin + seconds else b""
                    if request:
                        key.data.send(request)
                    else:
                        poll.unregister(key.fileobj)
    wall = time.perf_counter() - begin
    return {
        "seconds": wall,
        "requests": len(latencies),
        "per_second": len(latencies) / wall,
        "loader_cpu_seconds": time.process_time() - cpu,
        **{f"p{q:g}_ms": float(np.percentile(latencies, q)) for q in (50, 90, 99, 99.9)},
        "max_ms": max(latencies),
    }


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(int(fields[at]) for at in (11, 12, 13, 14)) / common.TICKS
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(cpu_seconds(int(child)) for child in children)


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(text.split("VmRSS:")[1].split()[0])


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
        wait_until(lambda: urllib.request.urlopen(f"http://127.0.0.1:{server.address[1]}/readyz").close())
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
PARTS = ("check", "add", "batches")


def build_store(folder: Path, recipe: str, count: int, data: Path) -> Path:
    """Return a compacted store of `count` documents; build it if it is missing."""
    path = folder / f"{recipe}-{count}"
    if path.exists():
        return path
    aside = path.with_suffix(".part")
    shutil.rmtree(aside, ignore_errors=True)
    source, begin = store.documents(data), time.perf_counter()
    with nk.Store.create(aside, "default" if recipe == "simhash" else recipe, threshold=store.THRESHOLD) as opened:
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


def run_load(
    server: Server, requests: Iterable[bytes], connections: int = CONNECTIONS, seconds: float = 10.0
) -> dict[str, Any]:
    """Run a load, and add the CPU time of the processes that answered."""
    begin = sum(map(cpu_seconds, server.pids))
    load = load_service(server.address, iter(requests), connections, seconds)
    cpu = sum(map(cpu_seconds, server.pids)) - begin
    load |= {"service_cpu_seconds": cpu, "service_cpu_ms": 1000 * cpu / load["requests"]}
    return {**load, "loader_cpu_ms": 1000 * load["loader_cpu_seconds"] / load["requests"]}


class Documents:
    """The documents of a run, the same for all candidates: stored ones, and new ones without end."""

    def __init__(self, existing: list[str], data: Path) -> None:
        self.existing = existing
        self.source = store.replaced_texts(list(itertools.islice(store.documents(data), 30_000)), 29, "n")

    def mixed(self, count: int) -> list[str]:
        """Return half copies, a quarter near-duplicates and a quarter new documents."""
        existing = itertools.cycle(self.existing)
        draws: dict[str, Callable[[], str]] = {
            "copy": lambda: next(existing),
            "near": lambda: store.one_word_changed(next(existing)),
            "new": lambda: next(self.source),
        }
        return [draws[kind]() for kind in random.Random(5).choices(["copy", "copy", "near", "new"], k=count)]

    def new(self, count: int) -> list[str]:
        """Return new documents."""
        return list(itertools.islice(self.source, count))


def existing_texts(path: Path, count: int) -> list[str]:
    with nk.Store.open(path, "r") as opened:
        rows = random.Random(3).sample(range(len(opened)), min(count, len(opened)))
        names = [f"http://example.org/news/{row:010d}" for row in rows]
        parts = [opened.texts(names[start : start + 1000]) for start in range(0, len(names), 1000)]
        return [text for part in parts for text in part if text is not None]


def check_requests(texts: list[str]) -> list[bytes]:
    return [json_request("/v1/check", {"text": text}) for text in texts]


def add_requests(texts: list[str], name: str) -> list[bytes]:
    return [
        json_request("/v1/check-and-add", {"id": f"http://example.org/{name}/{i:010d}", "text": text})
        for i, text in enumerate(texts)
    ]


def batch_requests(texts: list[str], name: str, form: str) -> list[bytes]:
    results = []
    for start in range(0, len(texts), BATCH):
        chunk = texts[start : start + BATCH]
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


def measure_check(base: Path, documents: Documents, seconds: float) -> dict[str, Any]:
    texts = documents.mixed(int(10_000 * seconds))
    requests = check_requests(texts)
    with copy_store(base) as path:
        with serve_store(path) as service:
            run_load(service, itertools.islice(requests, 2000))
            results = {"http": run_load(service, itertools.cycle(requests), seconds=seconds)}
        with nk.Store.open(path) as opened:
            opened.check(texts[:100])
            results["store"] = common.time_each(lambda text: opened.check([text]), texts[:3000])
    return results


def measure_add(base: Path, documents: Documents, seconds: float) -> dict[str, Any]:
    requests = add_requests(documents.new(int(6000 * seconds)), "add")
    texts = documents.new(2000)
    with copy_store(base) as path:
        results: dict[str, Any] = {"sync_ms": 1000 * store.sync_time(path.parent)}
        with serve_store(path) as service:
            run_load(service, add_requests(documents.new(500), "warm"))
            results["http"] = run_load(service, requests, seconds=seconds)
    with copy_store(base) as path, nk.Store.open(path) as opened:
        results["store"] = common.time_each(lambda text: opened.check_and_add([text], [text[:30]]), texts)
    return results


def measure_batches(base: Path, documents: Documents, count: int) -> dict[str, Any]:
    texts = documents.new(count * BATCH)
    names = [f"http://example.org/batch/{number:010d}" for number in range(len(texts))]
    results: dict[str, Any] = {}
    with copy_store(base) as path, nk.Store.open(path) as opened:

        def add(number: int) -> None:
            start, end = BATCH * number, BATCH * (number + 1)
            opened.check_and_add(texts[start:end], names[start:end])

        results["store"] = common.time_each(add, range(count))
    for form, connections in (("json", 2), ("arrow", 2), ("json", 4)):
        requests = batch_requests(texts, "batch", form)
        with copy_store(base) as path, serve_store(path) as service:
            chunk = run_load(service, requests, connections=connections, seconds=300)
        chunk["documents_per_second"] = BATCH * chunk["per_second"]
        chunk["of_store"] = chunk["per_second"] / results["store"]["per_second"]
        results[f"{form}-{connections}"] = chunk
    return results


def measure_rivals(documents: Documents, seconds: float, redis_documents: int) -> dict[str, Any]:
    """Measure the bare framework, and datasketch on Redis with a smaller collection."""
    results: dict[str, Any] = {}
    requests = check_requests(documents.mixed(20_000))
    with serve_rival("bare") as item:
        run_load(item, requests[:2000])
        results["bare"] = run_load(item, itertools.cycle(requests), seconds=seconds)
    texts = documents.new(redis_documents)
    documents.existing = texts
    with serve_rival("redis") as item:
        added = run_load(item, add_requests(texts, "r"), seconds=3600)
        requests = check_requests(documents.mixed(5000))
        results["redis"] = run_load(item, itertools.cycle(requests), seconds=seconds)
        results["redis"] |= {"documents": redis_documents, "add": added, "redis_mb": resident(item.pids[1]) / 1e6}
    return results


def rate_and_time(results: dict[str, Any]) -> str:
    return f"{common.ratio(results['per_second'])}, {results['p99_ms']:.1f} ms"


def format_batch(item: dict[str, Any]) -> str:
    rate = common.ratio(item["documents_per_second"])
    return f"{rate} documents, {100 * item['of_store']:.0f}% of the store, {item['p99_ms']:.0f} ms"


MAIN_ROWS: dict[str, tuple[str, str, Callable[[Any], str]]] = {
    "`check`: requests per second, 99%": ("8,000, 5 ms", "check", lambda part: rate_and_time(part["http"])),
    "CPU per `check`, service and loader": (
        "",
        "check",
        lambda part: ", ".join(f"{1000 * part['http'][f'{side}_cpu_ms']:.0f} µs" for side in ("service", "loader")),
    ),
    "durable `check-and-add`, 99%": ("4,000, 10 ms", "add", lambda part: rate_and_time(part["http"])),
    "one sync of the disk": ("", "add", lambda part: f"{part['sync_ms']:.2f} ms"),
    "batches of 1,000, JSON: per second, 99%": ("60%, 200 ms", "batches", lambda part: format_batch(part["json-2"])),
    "batches of 1,000, Arrow: per second, 99%": ("60%, 200 ms", "batches", lambda part: format_batch(part["arrow-2"])),
}
"""Rows of the main table: the goal, the part, and its cell."""


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
    rows = [
        [name, *(cell(result[part]) if part in result else "–" for result in run["results"].values()), goal]
        for name, (goal, part, cell) in MAIN_ROWS.items()
    ]
    text = common.table([f"{run['documents']:,} documents", *run["results"], "goal"], rows)
    rivals = common.table(["`check`", "per second", "99%", "the service is"], rival_rows(run))
    common.splice("service.md", "service", f"{text}\n\n{rivals}\n\n{common.source(run)}")


def measure(options: Any, recipe: str) -> dict[str, Any]:
    """Run the chosen parts on a store of one recipe."""
    base = build_store(options.folder, recipe, options.documents, options.data)
    documents = Documents(existing_texts(base, 40_000), options.data)
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "check": lambda: measure_check(base, documents, options.seconds),
        "add": lambda: measure_add(base, documents, options.seconds),
        "batches": lambda: measure_batches(base, documents, options.batches),
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
        documents = Documents(existing_texts(base, 20_000), options.data)
        run["rivals"] = measure_rivals(documents, options.seconds, options.redis)
        common.save("service", run, versions=versions)
    report(common.latest("service"))


if __name__ == "__main__":
    main()
