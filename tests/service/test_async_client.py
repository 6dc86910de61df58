"""`AsyncClient` gives what `Client` gives, and clients wait for a service that is starting."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from pathlib import Path

import pytest
from fake import same_answers
from threaded import serve_in_thread

import nearkin as nk
from nearkin.errors import ParameterError, ServiceError
from nearkin.service import AsyncClient, Client
from nearkin.service.server import free_port

TEXTS = ["one two three four five", "one two three four five", "some other text entirely", "a third one of words"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    nk.Store.create(tmp_path / "store", threshold=0.7).close()
    return tmp_path / "store"


def test_it_has_the_methods_of_the_client() -> None:
    """Of `Client`, only special methods have other names."""
    names = {name for name in dir(Client) if not name.startswith("_")}
    assert names - set(dir(AsyncClient)) == set()
    for name in names - {"url"}:
        assert inspect.iscoroutinefunction(getattr(AsyncClient, name)), name


async def test_results_are_those_of_the_client(store: Path, tmp_path: Path) -> None:
    with serve_in_thread(store, backups=tmp_path) as service, nk.Client(service.url) as client:
        async with AsyncClient(service.url, max_requests=4) as queries:
            assert repr(queries) == f"AsyncClient({service.url!r})"
            added = await queries.check_and_add(TEXTS, ["a", "b", "c", "d"])
            assert added.status == ["new", "exact", "new", "new"]
            answers = await asyncio.gather(*(queries.check([text], k=2) for text in TEXTS * 5))
            for text, answer in zip(TEXTS * 5, answers, strict=True):
                same_answers(client.check([text], k=2), answer)
            assert await queries.texts(["a"]) == client.texts(["a"])
            assert await queries.get(["a", "z"], missing_ok=True) == client.get(["a", "z"], missing_ok=True)
            assert (await queries.contains("a"), await queries.contains("z")) == (True, False)
            assert await queries.search([nk.signature(TEXTS[:1], await queries.recipe())[0]], k=1)
            assert (await queries.kind(), await queries.id_kind()) == ("texts", "str")
            assert await queries.settings() == client.settings
            assert await queries.remove(["d"]) == 1
            assert (await queries.add(["new text"], ["e"])).status == ["new"]
            assert (await queries.merge()).documents == (await queries.stats()).documents == len(client)
            assert Path(await queries.backup("copy")).name == "copy"
            with pytest.raises(ParameterError):
                await queries.get(["z"])
        with pytest.raises((ParameterError, RuntimeError)):
            await queries.stats()


async def test_the_event_loop_runs_while_a_call_waits() -> None:
    """A call to a service that does not exist waits, and another task makes progress."""
    ticks = 0
    async with AsyncClient(f"http://127.0.0.1:{free_port('127.0.0.1', 0)}", retries=0, wait=1.0) as client:
        task = asyncio.ensure_future(client.stats())
        while not task.done():
            ticks += 1
            await asyncio.sleep(0.05)
        with pytest.raises(ServiceError, match="can't connect"):
            task.result()
    assert ticks >= 3


def test_a_client_waits_for_a_service_that_starts(store: Path) -> None:
    """Without `wait`, and once the wait is over, the first failed attempt of `retries=0` is the last."""
    port = free_port("127.0.0.1", 0)
    url = f"http://127.0.0.1:{port}"
    with nk.Client(url, retries=0) as client, pytest.raises(ServiceError, match="can't connect"):
        client.stats()
    begin = time.monotonic()
    with nk.Client(url, retries=0, wait=0.6) as client, pytest.raises(ServiceError, match="can't connect"):
        client.stats()
    assert 0.3 < time.monotonic() - begin < 30
    done = threading.Event()

    def serve() -> None:
        time.sleep(0.5)
        with serve_in_thread(store, port=port):
            done.wait(100)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with nk.Client(url, retries=0, wait=100) as client:
            assert 0 == len(client)
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("wait", [-1, float("nan"), 86_401, "soon"])
def test_other_waits_are_refused(wait: float) -> None:
    with pytest.raises(ParameterError, match="wait"):
        nk.Client("http://127.0.0.1:1", wait=wait)
