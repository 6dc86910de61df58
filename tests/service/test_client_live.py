"""The client with a running service: exact round trips, and lost responses."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from fake import same_answers
from test_better import DAMAGED, NEWS
from threaded import ThreadedService, serve_in_thread

import nearkin as nk
from nearkin.errors import InputError, MismatchError, ParameterError, ServiceError
from nearkin.service.settings import Limits

WORDS = [f"word{number}" for number in range(60)]


def texts_of(count: int, seed: int, words: int = 30) -> list[str]:
    """Return texts that do not match each other."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, words)) + f" {seed} {number}" for number in range(count)]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """An empty store of texts."""
    nk.Store.create(tmp_path / "store", threshold=0.7).close()
    return tmp_path / "store"


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[nk.Store]:
    """A store that gets the same calls."""
    with nk.Store.create(tmp_path / "mirror", threshold=0.7) as store:
        yield store


class Losing(httpx.BaseTransport):
    """A transport that loses responses after the service has executed the requests."""

    def __init__(self, *lost: int) -> None:
        self.lost, self.count = lost, 0
        self.inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Forward a request."""
        answer = self.inner.handle_request(request)
        if request.method != "POST":
            return answer
        self.count += 1
        if self.count - 1 not in self.lost:
            return answer
        answer.read()
        raise httpx.ReadError("lost", request=request)

    def close(self) -> None:
        """Close the connections."""
        self.inner.close()


@pytest.mark.parametrize("count", [1, 3, 300])
@pytest.mark.parametrize("conflicts", ["raise", "report"])
def test_a_lost_response_is_repeated(store: Path, mirror: nk.Store, count: int, conflicts: Any) -> None:
    """If a response is lost, the retry gets the first result instead of "known"."""
    texts = texts_of(count, 1)
    copies = [f"{text} {count}" for text in texts]
    ids = [f"d{number}" for number in range(count)]
    more = [f"e{number}" for number in range(count)]
    with serve_in_thread(store) as service, nk.Client(service.url, transport=Losing(0, 2, 4)) as client:
        for batch, names in ((texts, ids), (copies, more), (texts, ids)):
            columns = {"n": list(range(count))}
            expected = mirror.check_and_add(batch, names, columns=columns, conflicts=conflicts)
            assert same_answers(expected, client.check_and_add(batch, names, columns=columns, conflicts=conflicts))
        assert repr(mirror.get(ids + more)) == repr(client.get(ids + more))
        assert 2 * count == len(client)


@pytest.mark.parametrize("on_better", ["keep", "replace"])
@pytest.mark.parametrize("conflicts", ["raise", "report"])
def test_a_better_copy_is_told_and_takes_the_place_of_its_match(
    store: Path, mirror: nk.Store, on_better: Any, conflicts: Any
) -> None:
    """As in a store, in JSON and in lines, also if the response is lost; without the option nothing is said."""
    worse = DAMAGED[:-20]
    with serve_in_thread(store) as service, nk.Client(service.url, transport=Losing(3)) as client:
        for target in (mirror, client):
            assert target.check_and_add([worse, texts_of(1, 4)[0]], ["a", "o"], conflicts=conflicts).better is None
        call = [NEWS, DAMAGED, *texts_of(1, 5)], ["n", "d", "p"]
        expected, found = (
            target.check_and_add(*call, conflicts=conflicts, on_better=on_better, copies=True)
            for target in (mirror, client)
        )
        assert ["near", "near", "new"] == found.status
        assert [True, True, False] == found.better.tolist() == expected.better.tolist()  # type: ignore[union-attr]
        assert found.copies.tolist() == expected.copies.tolist()  # type: ignore[union-attr]
        names = ["a", "o", "n", "d", "p"]
        assert repr(mirror.get(names)) == repr(client.get(names))
        assert [on_better == "replace"] == [client.get(["n"])[0].status == "new"]  # type: ignore[union-attr]
        with pytest.raises(ParameterError, match="on_better"):
            client.check_and_add(["a"], ["x"], on_better="drop")  # type: ignore[arg-type]


@pytest.mark.parametrize("lost", [(), (1, 2)])
def test_repeated_ids_are_known_beside_a_conflict(store: Path, mirror: nk.Store, lost: tuple[int, ...]) -> None:
    """A document that a call repeats is "known", although the call has conflicts or is sent a second time."""
    with serve_in_thread(store) as service, nk.Client(service.url, transport=Losing(*lost)) as client:
        for target in (mirror, client):
            target.add(["a stored text about rivers"], ["stored"])
        texts = ["one text about cats", "another text about the sea", "one text about cats", "a text about mountains"]
        ids = ["a", "stored", "a", "b"]
        expected = mirror.check_and_add(texts, ids, conflicts="report")
        assert ["new", "conflict", "known", "new"] == expected.status
        assert same_answers(expected, client.check_and_add(texts, ids, conflicts="report"))
        assert repr(mirror.get(["a", "b", "stored"])) == repr(client.get(["a", "b", "stored"]))


def test_repeated_ids_of_a_stream_are_known_in_a_later_part(store: Path) -> None:
    """A stream is processed in parts; a line that repeats an id of an earlier part is "known", also at a retry."""
    line = json.dumps({"id": "a", "text": "one text about cats"}).encode() + b"\n"

    def parts() -> Iterator[bytes]:
        yield line
        time.sleep(0.3)
        yield line

    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": "k"}
    with serve_in_thread(store) as service:
        for _ in range(2):
            response = httpx.post(f"{service.url}/v1/check-and-add", content=parts(), headers=headers)
            *rows, end = [json.loads(row) for row in response.content.splitlines()]
            assert {"end": True, "results": 2} == end
            assert ["new", "known"] == [row["status"] for row in rows]


def test_a_change_is_not_applied_twice(store: Path) -> None:
    """Without ids, and for `remove`, a lost response is an error, and the change was applied once."""
    with serve_in_thread(store) as service, nk.Client(service.url, transport=Losing(0, 1)) as client:
        with pytest.raises(ServiceError, match="not known") as caught:
            client.add(["a text", "another one"])
        assert caught.value.unknown
        assert 2 == len(client)
        with pytest.raises(ServiceError, match="not known"):
            client.remove([0])
        assert [False, True] == [number in client for number in range(2)]


def test_a_service_may_restart_under_load(store: Path) -> None:
    """If the service restarts under load, each document is new once, and acknowledged documents are stored."""
    texts, service = texts_of(160, 3), ThreadedService(store)
    statuses: dict[int, str] = {}
    faults: list[Exception] = []

    def add(start: int) -> None:
        try:
            for number in range(start, start + 40):
                statuses[number] = client.check_and_add([texts[number]], [f"d{number}"]).status[0]
        except Exception as error:
            faults.append(error)

    try:
        with nk.Client(service.url, retries=20) as client:
            threads = [threading.Thread(target=add, args=(start,)) for start in range(0, 160, 40)]
            for thread in threads:
                thread.start()
            for _ in range(3):
                while len(statuses) < 20 and any(thread.is_alive() for thread in threads):
                    threads[0].join(0.01)
                service.end()
                service = ThreadedService(store, service.port)
            for thread in threads:
                thread.join()
            assert [] == faults
            assert {"new"} == set(statuses.values())
            assert (160, 160) == (len(statuses), len(client))
    finally:
        service.end()


def test_calls_are_split_by_the_limits_of_the_service(store: Path, mirror: nk.Store) -> None:
    """With small limits split calls have the result of one call."""
    texts = [*texts_of(150, 4), *texts_of(150, 4)]
    ids = [f"d{number}" for number in range(300)]
    for limits in (Limits(max_body=4096), Limits(max_batch=7), Limits(max_body=80_000)):
        with serve_in_thread(store, limits=limits) as service, nk.Client(service.url) as client:
            for conflicts in ("raise", "report"):
                expected = mirror.check_and_add(texts, ids, conflicts=conflicts)
                result = client.check_and_add(texts, ids, conflicts=conflicts)
                assert same_answers(expected, result)
            assert same_answers(mirror.check(texts, k=1), client.check(texts, k=1))
            assert same_answers(mirror.check(texts), client.check(texts))
            assert repr(mirror.get(ids)) == repr(client.get(ids))
            assert mirror.texts(ids) == client.texts(ids)
            with pytest.raises(InputError) as caught:
                client.add(["other"] * 300, [*(f"x{limits.max_body}-{limits.max_batch}-{n}" for n in range(299)), "d0"])
            done = caught.value.context.get("done", 0)
            assert done == len(client) - 300
            client.remove([f"x{limits.max_body}-{limits.max_batch}-{number}" for number in range(done)])


def test_texts_are_requested_in_parts(store: Path) -> None:
    """Texts are requested in parts, because the service buffers a response; their order is that of the ids."""
    transport = Losing()
    with serve_in_thread(store) as service, nk.Client(service.url, transport=transport) as client:
        texts = texts_of(1100, 8)
        client.add(texts, range(1100))
        transport.count = 0
        assert texts[::-1] == client.texts(range(1099, -1, -1))
        assert 3 == transport.count


def test_unusual_values_are_unchanged(store: Path, mirror: nk.Store) -> None:
    """Unusual ids, texts and columns are returned unchanged."""
    ids = ["", "a/b", "a%2Fb", "?x=1#y", "ü\u0301", "\0", "..", "x" * 500]
    texts = ["a\0b", "ü" * 40, "一段短的文字", "🙂 " * 9, "", "!!", "line\nline\r\n", "\u2028 x"]
    columns: dict[str, Any] = {
        "": [1] * 8,
        "large": [2**63 - 1, -(2**63), 2**64 - 1, 2**63, 2**53 + 1, 0, 1, -1],
        "numbers": [0.1, 1e300, 5e-324, -0.0, 1.0, 1e16, 123456789.123456789, 1 / 3],
        "mixed": [None, True, False, "", "\0", 1, 1.5, "x" * 999],
    }
    with serve_in_thread(store) as service, nk.Client(service.url) as client:
        assert same_answers(
            mirror.check_and_add(texts, ids, columns=columns), client.check_and_add(texts, ids, columns=columns)
        )
        assert repr(mirror.get(ids)) == repr(client.get(ids))
        assert mirror.texts(ids) == client.texts(ids)
        assert [True] * 8 == [name in client for name in ids]
        assert [False] * 3 == [name in client for name in (0, "a", 2**70)]
        assert mirror.remove(ids[:3], erase=True) == client.remove(ids[:3], erase=True)
        assert mirror.stats().settings == client.merge().settings
        assert (5, 0, 1) == (client.stats().documents, client.stats().removed, client.stats().segments)


def test_columns_may_differ_between_documents(store: Path, mirror: nk.Store) -> None:
    """Documents may have different columns."""
    for count in (3, 300):
        columns: list[dict[str, Any]] = [
            {"n": number} if number % 3 else {"name": "x", "n": 1.5} for number in range(count)
        ]
        ids = [f"{count}-{number}" for number in range(count)]
        with serve_in_thread(store) as service, nk.Client(service.url) as client:
            texts = texts_of(count, count)
            assert same_answers(mirror.add(texts, ids, columns=columns), client.add(texts, ids, columns=columns))
            assert repr(mirror.get(ids)) == repr(client.get(ids))


def test_ids_may_be_any_integers(store: Path, mirror: nk.Store) -> None:
    """Ids may be any 64-bit integers; row numbers are refused if one of them exists."""
    ids = [2**63 - 1, -(2**63), 0, 7]
    with serve_in_thread(store) as service, nk.Client(service.url) as client:
        assert "" == client.id_kind
        assert same_answers(mirror.add(texts_of(4, 1), np.array(ids)), client.add(texts_of(4, 1), np.array(ids)))
        handles: list[Any] = [client, mirror]
        for handle in handles:
            with pytest.raises(ParameterError, match="is the id of another document"):
                handle.add(texts_of(4, 2))
        assert repr(mirror.get(ids)) == repr(client.get(ids))
        assert "int" == client.id_kind
        for handle in handles:
            with pytest.raises(ParameterError, match="ids of the store's kind"):
                handle.add(["x"], ["x"])


@pytest.mark.parametrize(("text", "verify"), [("features", "jaccard"), ("none", "none")])
def test_stores_without_texts_raise_the_same_errors(tmp_path: Path, text: Any, verify: Any) -> None:
    """A store without texts raises the same errors through the client."""
    with nk.Store.create(tmp_path / "store", text=text, verify=verify) as own:
        own.add(["a text"], ["a"])
        with serve_in_thread(tmp_path / "store") as service, nk.Client(service.url) as client:
            for handle in (own, client):
                with pytest.raises(MismatchError, match="texts differs"):
                    handle.texts(["a"])
            assert same_answers(own.check(["a text"]), client.check(["a text"]))
            assert own.recipe == client.recipe


def _ask_in_child(client: nk.Client, results: Any) -> None:
    results.put(client.check_and_add(["a text of the child"], [f"child{os.getpid()}"]).status)


def test_a_forked_child_opens_its_own_connections(store: Path) -> None:
    """After a fork the client works in parent and child at the same time."""
    context = multiprocessing.get_context("fork")
    with serve_in_thread(store) as service, nk.Client(service.url) as client:
        client.check(["a text"])
        results: Any = context.Queue()
        child = context.Process(target=_ask_in_child, args=(client, results))
        child.start()
        for number in range(20):
            client.check_and_add([f"text {number} of the parent"], [number_name(number)])
        assert ["new"] == results.get(timeout=60)
        child.join(60)
        assert 0 == child.exitcode
        assert 21 == len(client)


def number_name(number: int) -> str:
    """Return an id."""
    return f"parent{number}"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the program openssl is not installed")
def test_a_certificate_is_verified(tmp_path: Path, store: Path) -> None:
    """A certificate is verified by the given authority, or not at all."""
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files],
        check=True,
        capture_output=True,
    )
    with serve_in_thread(store, certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem") as service:
        with nk.Client(service.url, verify=tmp_path / "cert.pem") as client:
            assert ["new"] == client.check(["a text"]).status
        context = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        with nk.Client(service.url, verify=context) as client:
            assert 0 == len(client)
        with nk.Client(service.url, verify=False) as client:
            assert 0 == len(client)
        with nk.Client(service.url) as client, pytest.raises(ServiceError, match="give verify="):
            len(client)
