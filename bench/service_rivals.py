"""What stands beside the service: the framework that does nothing, and datasketch on Redis behind the same framework.

`bare`: a FastAPI application under granian that takes a document and gives a fixed answer: what HTTP itself costs.

`redis`: what users build. `MinHashLSH` of datasketch with its tables in Redis (a process of its own, by a Unix socket,
nothing kept on disk), behind FastAPI and granian; calls run in threads, as FastAPI does with functions that block. A
document is new if no key of a band is there; nothing is verified. Features are the distinct 4-grams of the folded text,
those of our recipe.

Each runs in a process: `python bench/service_rivals.py bare|redis [SOCKET]`, which prints the port and serves until its
standard input is closed.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

THRESHOLD = 0.8
PERMUTATIONS = 128


def grams(text: str) -> list[bytes]:
    """The distinct 4-grams of a text, lower case, without what is neither letter nor digit."""
    folded = "".join(filter(str.isalnum, text.lower()))
    return [one.encode() for one in {folded[at : at + 4] for at in range(max(len(folded) - 3, 1))}]


class Document(BaseModel):
    """What is asked, as users of the framework declare it."""

    id: str | None = None
    text: str


class Answer(BaseModel):
    """What is answered."""

    id: str | None
    status: str
    match: str | None
    distance: int
    similarity: float | None


def application(kind: str, redis: str) -> Any:
    """The FastAPI application of a rival."""
    app = FastAPI()
    if kind == "bare":

        async def fixed(document: Document) -> Answer:
            return Answer(id=document.id, status="new", match=None, distance=-1, similarity=None)

        app.post("/v1/check")(fixed)
        app.post("/v1/check-and-add")(fixed)
        return app

    from datasketch import MinHash, MinHashLSH

    storage = {"type": "redis", "basename": b"pages", "redis": {"unix_socket_path": redis}}
    tables = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, storage_config=storage)

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


def main() -> None:
    """Serve on a free port until standard input ends."""
    from granian.constants import Interfaces
    from granian.server.embed import Server

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Server(application(sys.argv[1], sys.argv[-1]), "127.0.0.1", port, interface=Interfaces.ASGI)

    async def run() -> None:
        serving = asyncio.ensure_future(server.serve())
        await asyncio.to_thread(sys.stdin.read)
        server.stop()
        await serving

    print(port, flush=True)
    asyncio.run(run())


@dataclass(frozen=True)
class Rival:
    """One that runs."""

    address: tuple[str, int]
    pids: tuple[int, ...]
    """Of all its processes."""


def answers(address: tuple[str, int]) -> bool:
    """Whether somebody listens."""
    try:
        socket.create_connection(address).close()
    except OSError:
        return False
    return True


def wait_until(there: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not there():
        if time.monotonic() > end:
            raise TimeoutError(f"not there after {seconds} seconds")
        time.sleep(0.05)


@contextmanager
def redis_server(folder: Path) -> Iterator[tuple[str, int]]:
    """A Redis that keeps nothing on disk, and its process id."""
    path = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        wait_until(path.exists)
        yield str(path), process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def rival(kind: str) -> Iterator[Rival]:
    """A rival that listens."""
    with tempfile.TemporaryDirectory() as name:
        if kind == "bare":
            with application_process("bare") as (address, pid):
                yield Rival(address, (pid,))
            return
        with redis_server(Path(name)) as (path, redis), application_process("redis", path) as (address, pid):
            yield Rival(address, (pid, redis))


@contextmanager
def application_process(*arguments: str) -> Iterator[tuple[tuple[str, int], int]]:
    """The process of an application: its address, and its id."""
    command = [sys.executable, __file__, *arguments]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, text=True)
    try:
        assert process.stdout is not None
        address = ("127.0.0.1", int(process.stdout.readline()))
        wait_until(lambda: answers(address))
        yield address, process.pid
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
