"""A service that is killed under load: nothing acknowledged is lost, and a repeated request gets the same result."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from document_families import SETTINGS, member
from forked import ForkedServices

import nearkin as nk

CLIENTS = 4
DECIDED = ("status", "match", "distance", "similarity")
NDJSON = "application/x-ndjson"


@dataclass(frozen=True)
class Request:
    """A request that a client repeats until it has the response."""

    key: str
    families: list[int]
    form: str
    """"one", "batch" or "lines"."""


@dataclass
class Client:
    """A client that adds its document of each family, in its own order."""

    number: int
    families: int
    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    """First result of each document, by id."""
    sent_again: int = 0
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        choose = random.Random(self.number)
        order = list(range(self.families))
        choose.shuffle(order)
        self.answered: list[Request] = []
        self.waiting: list[Request] = []
        while order:
            form = choose.choice(["one", "one", "batch", "lines"])
            count = 1 if form == "one" else 5
            batch, order = order[:count], order[count:]
            self.waiting.append(Request(f"{self.number}-{len(self.waiting)}", batch, form))
        self.waiting.reverse()

    def send(self, connection: http.client.HTTPConnection, request: Request) -> list[dict[str, Any]]:
        """Return the results of a request, in order; fewer if the connection was lost between two of them."""
        documents = [member(family, self.number) for family in request.families]
        content: Any = documents[0] if request.form == "one" else {"documents": documents}
        lines = "".join(json.dumps(document) + "\n" for document in documents)
        body = lines if request.form == "lines" else json.dumps(content)
        kind = NDJSON if request.form == "lines" else "application/json"
        headers = {"Content-Type": kind, "Idempotency-Key": request.key}
        connection.request("POST", "/v1/check-and-add", body.encode(), headers)
        answer = connection.getresponse()
        try:
            told = answer.read()
        except http.client.IncompleteRead as cut:
            told = cut.partial
        if answer.status in (429, 503):
            raise ConnectionError(answer.status)
        assert 200 == answer.status, told
        if request.form == "lines":
            # Complete lines are acknowledged; the last one counts them.
            rows = [json.loads(line) for line in told.splitlines(keepends=True) if line.endswith(b"\n")]
            if rows and "end" in rows[-1]:
                assert {"end": True, "results": len(documents)} == rows.pop()
        else:
            rows = [json.loads(told)] if request.form == "one" else json.loads(told)["answers"]
        assert [document["id"] for document in documents][: len(rows)] == [row.get("id") for row in rows], rows
        assert not any("error" in row for row in rows), rows
        return rows

    def run(self, service: ForkedServices) -> None:
        """Send requests until all have responses, or the service is gone."""
        connection = service.connect()
        try:
            while self.waiting:
                request = self.waiting[-1]
                rows = self.send(connection, request)
                for row in rows:
                    result = {name: row[name] for name in DECIDED}
                    first = self.acknowledged.setdefault(row["id"], result)
                    assert first == result, row["id"]
                if len(rows) < len(request.families):
                    raise ConnectionError("cut short")
                self.answered.append(self.waiting.pop())
        except (OSError, http.client.HTTPException, ValueError):
            # The request may have been executed: repeat it with the same key.
            self.sent_again += 1
        except Exception as fault:
            self.faults.append(repr(fault))
            raise
        finally:
            connection.close()

    def ask_again(self, service: ForkedServices, count: int) -> list[tuple[Any, Any]]:
        """Repeat completed requests with their keys, and return pairs of first and second results that differ."""
        connection = service.connect()
        try:
            again = random.Random(self.number).sample(self.answered, min(count, len(self.answered)))
            rows = [row for request in again for row in self.send(connection, request)]
        finally:
            connection.close()
        pairs = [(self.acknowledged[row["id"]], {name: row[name] for name in DECIDED}) for row in rows]
        return [(first, second) for first, second in pairs if first != second]


def run_all(clients: list[Client], service: ForkedServices) -> list[threading.Thread]:
    """Start a thread per client."""
    threads = [threading.Thread(target=client.run, args=(service,)) for client in clients]
    for thread in threads:
        thread.start()
    return threads


def check_answers(store: Path, clients: list[Client], families: int) -> None:
    """Check that acknowledged documents are stored with their results, and that each family has one new document."""
    with nk.Store.open(store) as opened:
        opened.verify()
        stored = {document.id: document for batch in opened.iter_documents() for document in batch}
    acknowledged = {name: answer for client in clients for name, answer in client.acknowledged.items()}
    assert CLIENTS * families == len(acknowledged) == len(stored)
    for name, answer in acknowledged.items():
        document = stored[name]
        assert (answer["status"], answer["match"]) == (document.status, document.match), name
        assert answer["distance"] == document.distance
        assert int(name.split("-")[1]) == document.columns["client"]
    new = Counter(str(name).split("-")[0] for name, document in stored.items() if document.status == "new")
    assert {str(family): 1 for family in range(families)} == new


def kill_under_load(path: Path, kills: int, families: int, longest: float) -> None:
    """Kill the service at random times, restart it on the same store, and repeat requests without a response.

    The families outlast the last kill.
    """
    choose = random.Random(kills)
    nk.Store.create(path, **SETTINGS).close()
    clients = [Client(number, families) for number in range(CLIENTS)]
    under_load = 0
    with ForkedServices(path) as service:
        for _ in range(kills):
            service.start()
            threads = run_all(clients, service)
            time.sleep(longest * choose.random())
            under_load += all(client.waiting for client in clients)
            service.kill()
            for thread in threads:
                thread.join()
            assert [] == [fault for client in clients for fault in client.faults]
        assert under_load >= kills - 1
        service.start()
        for thread in run_all(clients, service):
            thread.join()
        assert [] == [fault for client in clients for fault in client.faults]
        assert [0] * CLIENTS == [len(client.waiting) for client in clients]
        assert kills // 2 < sum(client.sent_again for client in clients)
        differing = [pair for client in clients for pair in client.ask_again(service, 40)]
        assert [] == differing
        assert 0 == service.end()
    check_answers(path, clients, families)


def test_nothing_acknowledged_is_lost_when_the_service_is_killed(tmp_path: Path) -> None:
    """After retries no acknowledged document is lost, and no family has two new documents."""
    kill_under_load(tmp_path / "pages.store", 10, 300, 0.08)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_five_hundred_kills(tmp_path: Path) -> None:
    """The same with five hundred kills."""
    kill_under_load(tmp_path / "pages.store", 500, 10_000, 0.1)
