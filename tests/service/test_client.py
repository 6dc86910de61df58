"""The client: requests, retries and errors."""

from __future__ import annotations

import errno
import json
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from fake import FakeService, Fault, broken, problem, same_answers
from hypothesis import given

import nearkin as nk
from nearkin.errors import (
    CorruptStoreError,
    InputError,
    MismatchError,
    MissingExtraError,
    NearkinError,
    ParameterError,
    ServiceError,
    StoreLockedError,
)
from nearkin.service import client as client_module
from nearkin.service.client import split_values
from nearkin.service.models import encode, end_line

WORDS = [f"word{number}" for number in range(40)]
QUIET = {"retries": 0}


def texts_of(count: int, seed: int = 1) -> list[str]:
    """Return texts; every third is a copy or near-duplicate of another one."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 30)) for _ in range(count)]
    return [
        texts[number // 3] + (" more" if number % 2 else "") if number % 3 == 2 else text
        for number, text in enumerate(texts)
    ]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the delays before retries, without waiting."""
    delays: list[float] = []

    class Clock(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            delays.append(timeout or 0.0)
            return self.is_set()

    monkeypatch.setattr(client_module, "Event", Clock)
    return delays


@pytest.fixture
def service(tmp_path: Path) -> Iterator[FakeService]:
    """A service with an empty store of texts."""
    with nk.Store.create(tmp_path / "store", threshold=0.7) as store:
        yield FakeService(store)


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[nk.Store]:
    """A store that gets the same calls as the service."""
    with nk.Store.create(tmp_path / "mirror", threshold=0.7) as store:
        yield store


# Results


@pytest.mark.parametrize("count", [0, 1, 5, 300])
@pytest.mark.parametrize("numbered", [False, True])
def test_results_are_those_of_the_store(service: FakeService, mirror: nk.Store, count: int, numbered: bool) -> None:
    """Results are those of the store, with or without ids and columns."""
    texts = texts_of(count)
    ids = None if numbered else [f"d{number}" for number in range(count)]
    columns: dict[str, Any] = {
        "n": list(range(count)),
        "name": ["ä" if number % 2 else None for number in range(count)],
        "share": [number / 7 for number in range(count)],
        "is": [number % 2 == 0 for number in range(count)],
    }
    with service.client() as client:
        assert same_answers(mirror.check(texts), client.check(texts))
        for call, expected in ((client.check_and_add, mirror.check_and_add), (client.add, mirror.add)):
            if not numbered or call == client.check_and_add:
                assert same_answers(expected(texts, ids, columns=columns), call(texts, ids, columns=columns))
        assert same_answers(mirror.check(texts, k=2), client.check(texts, k=2))
        names = list(range(count)) if numbered else ids
        assert repr(mirror.get(names or [])) == repr(client.get(names or []))
        assert (len(mirror), mirror.id_kind) == (len(client), client.id_kind)
        assert mirror.stats().settings == client.stats().settings == client.settings
        assert mirror.recipe == client.recipe


def test_texts_of_any_type_are_accepted(service: FakeService, mirror: nk.Store) -> None:
    """The client accepts Arrow, NumPy, generators and missing texts."""
    texts = texts_of(100)
    kinds: list[Callable[[], Any]] = [
        lambda: pa.array(texts),
        lambda: pa.chunked_array([texts[:30], texts[30:]]),
        lambda: np.array(texts),
        lambda: (text for text in texts),
        lambda: [*texts, None, ""],
    ]
    with service.client() as client:
        for made in kinds:
            assert same_answers(mirror.check(made()), client.check(made()))


def test_columns_keep_their_values_and_types(service: FakeService) -> None:
    """Columns keep mixed types, large integers, and names like those of members."""
    texts = texts_of(100)
    kinds: dict[str, list[Any]] = {
        "mixed": [number if number % 2 else float(number) for number in range(100)],
        "large": [(1 << 64) - 1] * 100,
        "text": ["x"] * 100,
        "empty": [None] * 100,
    }
    with service.client() as client:
        for name, cells in kinds.items():
            ids = [f"{name}{number}" for number in range(100)]
            client.add(texts, ids, columns={name: cells})
            stored = [document.columns[name] for document in client.get(ids) if document is not None]
            assert (cells, list(map(type, cells))) == (stored, list(map(type, stored)))


def test_removal_and_lookup(service: FakeService) -> None:
    """Removal and lookup work as in a store; an id of another kind does not exist."""
    with service.client() as client:
        client.add(["one", "two", "three"], ["a", "b", "c"])
        assert "a" in client
        assert [False] * 4 == [key in client for key in (1, True, None, "\ud800")]
        assert 2 == client.remove(["a", "b", "a"])
        assert (1, "a" in client) == (len(client), False)
        assert [None] == client.get(["a"], missing_ok=True)
        assert 0 == client.remove([])
        assert [] == client.get([])


def test_progress_is_reported_after_each_request(service: FakeService) -> None:
    """A function gets the progress after each request."""
    service.batch = 4
    events: list[tuple[str, int, int | None]] = []
    with service.client() as client:
        client.check(texts_of(10), progress=lambda *event: events.append(event))
    assert [("send", 4, 10), ("send", 8, 10), ("send", 10, 10)] == events


# Requests


@pytest.mark.parametrize(("body", "batch"), [(2000, 10_000), (1 << 20, 7), (1 << 20, 90), (40_000, 10_000)])
def test_large_calls_are_split(service: FakeService, mirror: nk.Store, body: int, batch: int) -> None:
    """Split calls have the result of one call."""
    service.body, service.batch = body, batch
    texts = texts_of(400)
    ids = [f"d{number}" for number in range(400)]
    with service.client() as client:
        assert same_answers(mirror.check_and_add(texts, ids), client.check_and_add(texts, ids))
        assert same_answers(mirror.check(texts, k=1), client.check(texts, k=1))
        assert repr(mirror.get(ids)) == repr(client.get(ids))
        assert 400 == client.remove(ids)
    assert len(service.requests) > 4


@given(sizes=st.lists(st.integers(0, 60), max_size=30), space=st.integers(61, 200), max_count=st.integers(1, 9))
def test_payloads_hold_every_value_within_the_limits(sizes: list[int], space: int, max_count: int) -> None:
    """Every value is in one run, in order; no two consecutive runs fit into one."""
    values = [b"x" * size for size in sizes]
    runs = list(split_values(iter(values), space, max_count))
    assert values == [value for _, run in runs for value in run]
    assert [sum(len(run) for _, run in runs[:number]) for number in range(len(runs))] == [start for start, _ in runs]
    taken = [[len(value) + 1 for value in run] for _, run in runs]
    assert all(len(run) <= max_count and sum(run) <= space for run in taken)
    for run, following in pairwise(taken):
        assert len(run) == max_count or sum(run) + following[0] > space


def test_a_document_larger_than_a_body_is_refused(service: FakeService) -> None:
    """A document larger than a body is refused with its row and the limit, before anything is sent."""
    service.body = 2000
    with (
        service.client() as client,
        pytest.raises(ServiceError, match=r"row 2 takes .* bodies of up to 2,000") as caught,
    ):
        client.check_and_add(["a", "b", "c" * 3000], ["a", "b", "c"])
    assert ([], "too-large") == (service.requests, caught.value.slug)


def test_an_error_of_a_later_request_counts_processed_documents(service: FakeService) -> None:
    """Rows are counted from the first document of the call."""
    service.batch = 4
    said = problem("other-content", 409, "row 1: id 'd5' is that of another text in row 0 of the batch", place="row 1")
    service.faults = [None, said]
    texts = texts_of(10)
    with service.client() as client, pytest.raises(InputError, match=r"row 5: .* in row 4 of the batch") as caught:
        client.check_and_add(texts, [f"d{number}" for number in range(10)])
    assert "the first 4 of 10 documents are done" in str(caught.value)
    assert (4, "row 5") == (caught.value.done, caught.value.place)
    assert 4 == len(service.store)
    service.faults = [None, problem("disk-full", 507, "no space left")]
    with service.client() as client, pytest.raises(ServiceError, match="first 4 of 10") as full:
        client.add(texts, [f"e{number}" for number in range(10)])
    for error in (full.value, pickle.loads(pickle.dumps(full.value))):  # noqa: S301
        assert (errno.ENOSPC, 4, False) == (error.errno, error.done, error.unknown)


def test_changes_with_ids_have_a_key(service: FakeService) -> None:
    """Each change with ids has its own key; queries and changes without ids have none."""
    service.batch = 4
    with service.client() as client:
        client.check_and_add(texts_of(8), list(range(8)))
        client.add(["more"], [100])
        client.check(["more"])
    keys = [request.headers.get("Idempotency-Key") for request in service.requests]
    assert 3 == len(set(keys[:3]) - {None})
    assert [None] == keys[3:]


def test_tokens_are_sent_and_hidden(service: FakeService) -> None:
    """The token is sent in the header of RFC 6750, and repr hides it."""
    with service.client(token="secret-of-ours") as client:  # noqa: S106
        client.check(["a"])
        assert "secret" not in repr(client)
    assert "Bearer secret-of-ours" == service.requests[0].headers["Authorization"]


def test_invalid_arguments_are_refused_by_the_client(service: FakeService) -> None:
    """Invalid arguments raise the errors of the store, and nothing is sent."""
    wrong: list[tuple[type[Exception], str, Callable[[nk.Client], object]]] = [
        (ParameterError, "iterable of texts", lambda client: client.check("a text")),
        (TypeError, "text 1 is of type int", lambda client: client.check(["a", 1])),  # type: ignore[arg-type]
        (InputError, "lone surrogate", lambda client: client.check(["a\ud800"])),
        (ParameterError, "ids, one per text", lambda client: client.add(["a"], ["a", "b"])),
        (ParameterError, "one kind", lambda client: client.add(["a", "b"], ["a", 1])),
        (ParameterError, "columns", lambda client: client.add(["a"], ["a"], columns={"x": [float("nan")]})),
        (ParameterError, "1 values", lambda client: client.add(["a", "b"], columns={"x": [1]})),
        (ParameterError, "kind", lambda client: client.check(["a"], kind="bytes")),
        (ParameterError, "k=0", lambda client: client.check(["a"], k=0)),
        (ParameterError, "limit of the service", lambda client: client.check(["a"], k=1001)),
        (ParameterError, "conflicts", lambda client: client.add(["a"], conflicts="ignore")),  # type: ignore[arg-type]
        (ParameterError, "sources", lambda client: client.check(["a"], sources=["a.org"])),
        (ParameterError, "shape", lambda client: client.search(np.zeros((2, 5), np.uint64))),
        (ParameterError, "progress", lambda client: client.check(["a"], progress=3)),  # type: ignore[arg-type]
    ]
    with service.client() as client:
        for kind, words, call in wrong:
            with pytest.raises(kind, match=words):
                call(client)
    assert [] == service.requests


# Retries


@pytest.mark.parametrize("slug", ["busy", "not-ready", "too-slow"])
def test_refused_requests_are_repeated(service: FakeService, waits: list[float], slug: str) -> None:
    """Refused requests are repeated with delays that double, minus a random part of up to a half."""
    refused = problem(slug, {"busy": 429, "not-ready": 503, "too-slow": 408}[slug])
    service.faults = [refused] * 3
    with service.client() as client:
        assert ["new"] == client.check_and_add(["a text"]).status
    assert 4 == len(service.requests)
    assert all(0.1 * 2**number <= wait <= 0.2 * 2**number for number, wait in enumerate(waits))


def test_retry_after_is_followed(service: FakeService, waits: list[float]) -> None:
    """The client follows `Retry-After`, in seconds or as a date; more than a minute is an error at once."""
    date = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=20), usegmt=True)
    busy = [problem("busy", 429, headers={"Retry-After": text}) for text in ("7", date, "soon")]
    service.faults = [*busy]
    with service.client() as client:
        client.check(["a"])
        assert 7 <= waits[0] <= 8.75
        assert 15 <= waits[1] <= 25
        assert waits[2] <= 0.8
        service.faults = [problem("busy", 429, "much to do", headers={"Retry-After": "61"})]
        with pytest.raises(ServiceError, match=r"much to do; with more retries.* asks for a retry in 61 seconds"):
            client.check(["a"])


def test_retries_are_limited(service: FakeService, waits: list[float]) -> None:
    """After the last retry the error is raised."""
    service.faults = [problem("busy", 429)] * 9
    with service.client(retries=2) as client, pytest.raises(ServiceError, match=r"\(3 tries\)") as caught:
        client.check(["a"])
    assert (3, 2, 429, "busy") == (len(service.requests), len(waits), caught.value.status, caught.value.slug)
    service.faults, service.requests = [problem("busy", 429)] * 2, []
    with service.client(retries=0) as client, pytest.raises(ServiceError, match="no; with more retries"):
        client.check(["a"])
    assert 1 == len(service.requests)


LOST = [httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.WriteError]


@pytest.mark.parametrize("kind", LOST)
def test_queries_and_changes_with_a_key_are_repeated(service: FakeService, waits: list[float], kind: type[Any]) -> None:
    """If the response is lost, queries and changes with a key are repeated with the same key."""
    with service.client() as client:
        for call in (
            lambda: client.check(["a text"]),
            lambda: client.check_and_add(["a text"], ["a"]),
            lambda: client.get(["a"]),
        ):
            service.requests, service.faults = [], [broken(kind), broken(kind)]
            call()
            assert 3 == len(service.requests)
            assert 1 == len({request.headers.get("Idempotency-Key") for request in service.requests})


@pytest.mark.parametrize(
    "lost", [broken(httpx.ReadError), broken(httpx.ReadTimeout), problem("x", 502), problem("x", 504)]
)
def test_a_change_without_a_key_is_not_repeated(service: FakeService, lost: Fault) -> None:
    """If the response is lost, a change without a key raises an error whose `unknown` is True."""
    with service.client() as client:
        client.add(["a text"], ["a"])
        for call in (lambda: client.add(["more"]), lambda: client.remove(["a"]), lambda: client.backup("x")):
            service.requests, service.faults = [], [lost]
            with pytest.raises(ServiceError, match="not known whether it was applied") as caught:
                call()
            assert (1, True) == (len(service.requests), caught.value.unknown)


def test_a_change_stays_unknown_after_failed_retries(service: FakeService, waits: list[float]) -> None:
    """`unknown` stays True if the last retry only failed to connect."""
    service.faults = [broken(httpx.ReadError), broken(httpx.ConnectError), broken(httpx.ConnectError)]
    with service.client(retries=2) as client, pytest.raises(ServiceError, match="not known") as caught:
        client.add(["a"], ["a"])
    assert caught.value.unknown
    service.faults = [broken(httpx.ConnectError)] * 3
    with service.client(retries=2) as client, pytest.raises(ServiceError, match="can't connect") as caught:
        client.add(["a"])
    assert not caught.value.unknown


def test_no_service_listens(waits: list[float]) -> None:
    """If nobody listens, the message has the URL and advice."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with nk.Client(url, retries=1) as client, pytest.raises(ServiceError, match="is the service running") as caught:
            len(client)
    assert (url, None, 1) == (caught.value.url, caught.value.status, len(waits))
    assert isinstance(caught.value, OSError)
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(caught.value), url) == (str(copy), copy.url)


# Problems


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (problem("other-content", 409, "row 0: id 'a' is that of another text", id="a"), InputError, "another text"),
        (problem("bad-request", 400, "row 3: is no digest", place="row 3"), InputError, "is no digest"),
        (problem("bad-request", 400, "k=0 is not allowed", found="0", allowed="1"), ParameterError, "k=0"),
        (problem("bad-request", 400, "dimension differs", left=3, right=4), MismatchError, "dimension"),
        (problem("other-kind", 409, "ids=integers", found="integers", allowed="str"), ParameterError, "ids=integers"),
        (problem("other-kind", 409, "texts differs", left="a", right="b"), MismatchError, "texts differs"),
        (problem("other-recipe", 409, "recipe differs"), MismatchError, "recipe differs"),
        (
            problem(
                "no-such-document", 404, "'a' is not in the store", found="'a'", allowed="ids that are in the store"
            ),
            ParameterError,
            "ids='a' is not allowed; use ids that are in the store",
        ),
        (problem("locked", 409, "another process"), StoreLockedError, "another process"),
        (problem("exists", 409, "something is there"), FileExistsError, "something is there"),
        (problem("corrupt-store", 500, "damaged"), CorruptStoreError, "damaged"),
        (problem("disk-full", 507, "no room"), ServiceError, "no room"),
        (problem("no-token", 401, "a token is needed"), ServiceError, "give the client token="),
        (problem("not-allowed", 403, "may only read"), ServiceError, "may only read; give"),
        (problem("read-only", 403, "started with --readonly"), ServiceError, "--readonly"),
        (problem("no-backups", 403, "no folder"), ServiceError, "no folder"),
        (problem("too-large", 413, "10,001 documents"), ServiceError, "10,001 documents"),
        (problem("internal", 500, "an accident"), ServiceError, "an accident"),
        (problem("of-tomorrow", 418, "news", message="x", self=1, url="y"), ServiceError, "http://service: news"),
        (lambda request: httpx.Response(404, text="<html>"), ServiceError, "404 .* is this its URL"),
        (lambda request: httpx.Response(500, json=[1]), ServiceError, "500 and no problem"),
        (
            lambda request: httpx.Response(301, headers={"Location": "https://there/"}),
            ServiceError,
            "moved to https://th",
        ),
        (lambda request: httpx.Response(200, text="<html>"), ServiceError, "does not understand"),
        (lambda request: httpx.Response(200, json={"answers": []}), ServiceError, "does not understand"),
        (
            lambda request: httpx.Response(200, json={"answers": [], "verified": ""}),
            ServiceError,
            "0 results for 1 doc",
        ),
        (
            lambda request: httpx.Response(200, json={"answers": [{"status": "odd"}], "verified": ""}),
            ServiceError,
            "does not understand",
        ),
    ],
)
def test_problems_become_the_errors_of_the_store(
    service: FakeService, fault: Fault, kind: type[Exception], words: str
) -> None:
    """Problems become errors of the store, or a ServiceError with advice; nothing is repeated."""
    service.faults = [fault]
    with service.client() as client, pytest.raises(kind, match=words) as caught:
        client.check_and_add(["a text"], ["a"])
    assert kind is type(caught.value)
    assert 1 == len(service.requests)
    if isinstance(caught.value, ServiceError):
        assert "http://service" == caught.value.url


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
CELLS: st.SearchStrategy[Any] = st.sampled_from(["new", "known", "a", 1, -1, 2**70, 0.5, None, True, [], {}])
ROWS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("id", "status", "match", "distance", "similarity", "row", "columns", "error"), CELLS),
)
BODIES = st.one_of(
    st.binary(max_size=40),
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries(
        {},
        optional={
            **{name: st.lists(ROWS, max_size=2) for name in ("answers", "documents", "results")},
            **dict.fromkeys(("verified", "removed", "path", "detail", "kind", "limits", "settings"), CELLS),
            "type": st.sampled_from(["urn:nearkin:problem:busy", "urn:nearkin:problem:bad-request", 1, None]),
        },
    ).map(lambda value: json.dumps(value).encode()),
    ROWS.map(lambda value: json.dumps(value).encode()),
)


@given(
    status=st.sampled_from([200, 201, 204, 206, 302, 400, 404, 409, 429, 500, 502, 503, 599]),
    kind=st.sampled_from(["application/json", "application/x-ndjson", "text/html", ""]),
    body=BODIES,
    has_info=st.booleans(),
    again=st.sampled_from(["", "1", "-1", "x", "999999999999", "Mon, 01 Jan 0001 00:00:00 GMT"]),
)
def test_any_response_is_a_result_or_an_error(status: int, kind: str, body: bytes, has_info: bool, again: str) -> None:
    """Any response leads to a result or an error of nearkin."""
    limits = {"body": 10_000, "batch": 10, "k": 5}
    info = {"documents": 0, "waiting": 0, "segments": 0, "removed": 0, "bytes": {}, "id_kind": "", "limits": limits}
    texts = {"settings": {"recipe": "char:4|binary|xxh3|simhash:64", "recipe_digest": "x"}, "kind": "texts"}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/info" and has_info:
            return httpx.Response(200, json={**info, **texts})
        return httpx.Response(status, headers={"Content-Type": kind, "Retry-After": again}, content=body)

    calls: list[Callable[[nk.Client], object]] = [
        lambda client: client.check(["a"]),
        lambda client: client.check(["a"], k=1),
        lambda client: client.check([]),
        lambda client: client.add(["a"], ["a"]),
        lambda client: client.add(["a"], ["a"], conflicts="report"),
        lambda client: client.check_and_add(["a"]),
        lambda client: client.get(["a"], missing_ok=True),
        lambda client: client.texts(["a"]),
        lambda client: client.search(np.zeros(1, np.uint64)),
        lambda client: client.remove(["a"]),
        lambda client: client.merge(),
        lambda client: client.backup("x"),
        len,
        lambda client: client.recipe,
        lambda client: client.settings,
        lambda client: "a" in client,
    ]
    with nk.Client("http://service", retries=0, transport=httpx.MockTransport(answer)) as client:
        for call in calls:
            with suppress(NearkinError, FileExistsError):
                call(client)


def test_changed_limits_are_requested_again(service: FakeService) -> None:
    """After a too-large problem the client requests the limits again."""
    with service.client() as client:
        client.check(["a"])
        service.batch = 2
        service.faults = [problem("too-large", 413, "5 documents")]
        with pytest.raises(ServiceError, match="5 documents"):
            client.check(texts_of(5))
        service.requests = []
        client.check(texts_of(5))
    assert 3 == len(service.requests)


# Conflicts


def lines(*rows: dict[str, Any], end: bool = True) -> Fault:
    """Return a fault that responds with NDJSON, without the line at its end if `end` is False."""
    content = b"".join(encode(row) + b"\n" for row in rows) + (end_line(len(rows)) if end else b"")
    return lambda request: httpx.Response(200, content=content, headers={"Content-Type": "application/x-ndjson"})


def test_conflicts_are_reported(service: FakeService) -> None:
    """Conflicts are reported per line; any other problem of a line is raised."""
    conflict = {"type": "urn:nearkin:problem:other-content", "status": 409, "detail": "id 'b' is that of another text"}
    new = {"id": "a", "status": "new", "match": None, "distance": -1, "similarity": None}
    service.faults = [None, lines(new, {"line": 2, "id": "b", "error": conflict})]
    with service.client() as client:
        answers = client.check_and_add(["one", "two"], ["a", "b"], conflicts="report")
        assert (["new", "conflict"], [None, None], ["a", "b"]) == (answers.status, answers.ids, answers.own_ids)
        assert (-1, "jaccard of the texts' features") == (answers.distances[1], answers.verified)
        sent = service.requests[-1]
        assert ["a", "b"] == [json.loads(line)["id"] for line in sent.content.splitlines()]
        assert "application/x-ndjson" == sent.headers["Content-Type"]
        full = {"type": "urn:nearkin:problem:disk-full", "status": 507, "detail": "full"}
        service.faults = [lines(new, {"line": 2, "error": full})]
        with pytest.raises(ServiceError, match="full"):
            client.check_and_add(["one", "two"], ["a", "b"], conflicts="report")
        service.faults = [lines(new)]
        with pytest.raises(ServiceError, match="1 results for 2"):
            client.check_and_add(["one", "two"], ["a", "b"], conflicts="report")
        service.faults = [lines(new, {**new, "id": "b"}, end=False)]
        with pytest.raises(ServiceError, match="without its last line"):
            client.check_and_add(["one", "two"], ["a", "b"], conflicts="report")


# Options and lifecycle


@pytest.mark.parametrize(
    "url",
    [
        *("", "service", "ftp://service", "http://", "http://:80", "http://a:x", "http://a:0", "http://a b", 3, None),
        *("http://a?x=1", "http://a#x", "http://user@a", "http://user:word@a", "http://ä", "http://a/\n"),
    ],
)
def test_urls_are_checked(url: Any) -> None:
    """Invalid URLs are refused, and the message hides a password."""
    with pytest.raises(ParameterError, match=r"url=.* http://127.0.0.1:8470") as caught:
        nk.Client(url)
    assert "word@" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://a/", "https://a:8470/below/it/", "http://[::1]:80", "http://127.0.0.1"])
def test_urls_may_have_a_path(url: str) -> None:
    """A URL may have a path."""
    assert url.rstrip("/") == nk.Client(url).url


@pytest.mark.parametrize(
    "options",
    [
        *({"token": token} for token in ("", "two words", "a\nb", 3)),
        *({"timeout": timeout} for timeout in (0, True, 1e6, "1", float("nan"))),
        *({"retries": retries} for retries in (-1, 101, 1.0)),
        {"verify": 3},
    ],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    """Invalid options are named, and the message hides a token."""
    with pytest.raises(ParameterError, match=next(iter(options))) as caught:
        nk.Client("http://service", **options)
    assert "two words" not in str(caught.value)


def test_authorities_are_read_from_a_file(tmp_path: Path) -> None:
    """A missing file of authorities, or one without certificates, is an error."""
    with pytest.raises(FileNotFoundError):
        nk.Client("https://service", verify=tmp_path / "ca.pem")
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(ParameterError, match="PEM"):
        nk.Client("https://service", verify=tmp_path / "ca.pem")


def test_a_closed_client_refuses_every_call(service: FakeService) -> None:
    """A closed client refuses every call; a second `close` does nothing."""
    client = service.client()
    client.check(["a"])
    client.close()
    client.close()
    calls: list[Callable[[], object]] = [
        lambda: client.check(["a"]),
        lambda: client.check([]),
        lambda: len(client),
        lambda: "a" in client,
        lambda: client.remove(["a"]),
        lambda: client.settings,
    ]
    for call in calls:
        with pytest.raises(ParameterError, match="closed"):
            call()
    assert "closed" in repr(client)


def test_closing_ends_a_wait(service: FakeService) -> None:
    """A call that waits for a retry raises its error when the client is closed."""
    requested = threading.Event()

    def busy(request: Any) -> Any:
        requested.set()
        return problem("busy", 429, headers={"Retry-After": "50"})(request)

    service.faults = [busy]
    client = service.client()
    errors: list[Exception] = []

    def call() -> None:
        try:
            client.check(["a"])
        except NearkinError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert requested.wait(30)
    client.close()
    thread.join(30)
    assert not thread.is_alive()
    assert [ServiceError] == [type(error) for error in errors]


def test_threads_share_a_client(service: FakeService) -> None:
    """Threads may share a client; each document is new once."""
    texts = texts_of(40, 3)
    statuses: list[str] = []
    with service.client() as client:

        def ask(start: int) -> None:
            for number in range(start, start + 10):
                statuses.extend(client.check_and_add([texts[number]], [number]).status)

        threads = [threading.Thread(target=ask, args=(start,)) for start in range(0, 40, 10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (40, 40) == (len(statuses), len(client))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a missing package says how to install it."""
    monkeypatch.setattr(client_module, "_HAS_EXTRA", False)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[client\]") as caught:
        nk.Client("http://service")
    assert ("client", "httpx") == (caught.value.extra, caught.value.package)


def test_importing_nearkin_imports_no_httpx() -> None:
    """Importing nearkin does not import httpx."""
    code = "import nearkin as nk, sys; print({'httpx', 'msgspec'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "set()" == done.stdout.strip()


# Files and vectors


def test_files_are_sent_as_digests_or_bytes(tmp_path: Path) -> None:
    """Files are sent as digests or bytes; paths are read by the client, with the errors of the store."""
    (tmp_path / "a").write_bytes(b"some bytes")
    with nk.Store.create(tmp_path / "store", "ssdeep") as store:
        service = FakeService(store)
        service.faults = [lines()] * 9
        with service.client() as client:
            with pytest.raises(ServiceError, match="0 results for 1"):
                client.check([b"some bytes"], kind="bytes")
            with pytest.raises(ServiceError, match="0 results for 1"):
                client.check([tmp_path / "a"], kind="paths")
            with pytest.raises(ServiceError, match="0 results for 1"):
                client.check_and_add([tmp_path / "a"], kind="paths")
            with pytest.raises(ServiceError, match="0 results for 1"):
                client.check([nk.ssdeep.hash(b"x" * 5000)])
            sent = [json.loads(request.content)["documents"][0] for request in service.requests]
            assert ["bytes", "bytes", "bytes", "digest"] == [next(iter(document)) for document in sent]
            assert "c29tZSBieXRlcw==" == sent[0]["bytes"] == sent[1]["bytes"]
            assert str(tmp_path / "a") == sent[2]["id"]
            wrong: list[tuple[type[Exception], Any, Any]] = [
                (InputError, ["no digest"], None),
                (InputError, [tmp_path], "paths"),
                (FileNotFoundError, [tmp_path / "none"], "paths"),
                (ParameterError, ["text"], "bytes"),
                (ParameterError, ["text"], "texts"),
            ]
            for expected, items, kind in wrong:
                with pytest.raises(expected):
                    client.check(items, kind=kind)


def test_vectors_are_sent_in_single_precision(tmp_path: Path) -> None:
    """Vectors are sent in single precision; invalid ones are refused."""
    family = nk.families.Hyperplane(bits=16).fit(np.ones((1, 4)))
    vectors = np.arange(400, dtype=np.float64).reshape(100, 4) / 7 + 1
    with nk.Store.create(tmp_path / "store", family, threshold=0.9) as store:
        service = FakeService(store)
        service.faults = [lines()] * 2
        with service.client() as client:
            with pytest.raises(ServiceError, match="0 results for 100"):
                client.check(vectors)
            sent = json.loads(service.requests[0].content)["documents"]
            assert vectors.astype(np.float32).tolist() == [document["vector"] for document in sent]
            wrong = [np.ones((2, 5)), np.ones(4), [[1, 2, 3, np.nan]], [[1e300] * 4]]
            for values, kind in zip(wrong, (MismatchError, ParameterError, InputError, InputError), strict=True):
                with pytest.raises(kind):
                    client.check(values)  # type: ignore[arg-type]
            assert client.recipe == str(family)
