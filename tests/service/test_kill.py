"""A service that is killed under load: nothing acknowledged is lost, and what is sent again is told the same."""

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
from live import Service, start

import nearkin as nk

CLIENTS = 4
DECIDED = ("status", "match", "distance", "similarity")
NDJSON = "application/x-ndjson"


def member(family: int, client: int) -> dict[str, Any]:
    """The document that a client offers of a family: any two of one family match."""
    choose = random.Random(family)
    words = [f"{choose.getrandbits(24):x}" for _ in range(40)]
    words[client] = f"client{client}"
    return {"id": f"{family}-{client}", "text": " ".join(words), "columns": {"client": client}}


@dataclass(frozen=True)
class Request:
    """What a client sends, and sends again until it is answered."""

    key: str
    families: list[int]
    form: str
    """"one", "batch" or "lines"."""


@dataclass
class Client:
    """One of those that offer their member of each family, in an order of their own."""

    number: int
    families: int
    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What was said of each document, by its id."""
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
            some, order = order[:count], order[count:]
            self.waiting.append(Request(f"{self.number}-{len(self.waiting)}", some, form))
        self.waiting.reverse()

    def send(self, connection: http.client.HTTPConnection, one: Request) -> list[dict[str, Any]]:
        """The answers to a request, in order; fewer where the connection ended between two of them."""
        documents = [member(family, self.number) for family in one.families]
        content: Any = documents[0] if one.form == "one" else {"documents": documents}
        lines = "".join(json.dumps(document) + "\n" for document in documents)
        body = lines if one.form == "lines" else json.dumps(content)
        kind = NDJSON if one.form == "lines" else "application/json"
        headers = {"Content-Type": kind, "Idempotency-Key": one.key}
        connection.request("POST", "/v1/check-and-add", body.encode(), headers)
        answer = connection.getresponse()
        try:
            told = answer.read()
        except http.client.IncompleteRead as cut:
            told = cut.partial
        if answer.status in (429, 503):
            raise ConnectionError(answer.status)
        assert 200 == answer.status, told
        if one.form == "lines":
            # What came is acknowledged, but for a line that is cut.
            found = [json.loads(line) for line in told.splitlines(keepends=True) if line.endswith(b"\n")]
        else:
            found = [json.loads(told)] if one.form == "one" else json.loads(told)["answers"]
        assert [document["id"] for document in documents][: len(found)] == [row.get("id") for row in found], found
        assert not any("error" in row for row in found), found
        return found

    def run(self, service: Service) -> None:
        """Send until all is answered or the service is gone."""
        connection = service.connect()
        try:
            while self.waiting:
                one = self.waiting[-1]
                rows = self.send(connection, one)
                for row in rows:
                    told = {name: row[name] for name in DECIDED}
                    first = self.acknowledged.setdefault(row["id"], told)
                    assert first == told, row["id"]
                if len(rows) < len(one.families):
                    raise ConnectionError("cut short")
                self.answered.append(self.waiting.pop())
        except (OSError, http.client.HTTPException, ValueError):
            # It may have been done or not: it is sent again, by the same key.
            self.sent_again += 1
        except Exception as fault:
            self.faults.append(repr(fault))
            raise
        finally:
            connection.close()

    def ask_again(self, service: Service, count: int) -> list[tuple[Any, Any]]:
        """Requests that were answered before, sent once more by their key: first and second answers that differ."""
        connection = service.connect()
        try:
            again = random.Random(self.number).sample(self.answered, min(count, len(self.answered)))
            rows = [row for one in again for row in self.send(connection, one)]
        finally:
            connection.close()
        told = [(self.acknowledged[row["id"]], {name: row[name] for name in DECIDED}) for row in rows]
        return [(first, second) for first, second in told if first != second]


def run_all(clients: list[Client], service: Service) -> list[threading.Thread]:
    """A thread per client."""
    threads = [threading.Thread(target=client.run, args=(service,)) for client in clients]
    for thread in threads:
        thread.start()
    return threads


def check_answers(store: Path, clients: list[Client], families: int) -> None:
    """What was acknowledged is there, as it was told; of each family exactly one document is new."""
    with nk.Store.open(store) as opened:
        opened.verify()
        found = {one.id: one for some in opened.iter_documents() for one in some}
    told = {name: answer for client in clients for name, answer in client.acknowledged.items()}
    assert CLIENTS * families == len(told) == len(found)
    for name, answer in told.items():
        one = found[name]
        assert (answer["status"], answer["match"]) == (one.status, one.match), name
        assert answer["distance"] == one.distance
        assert int(name.split("-")[1]) == one.columns["client"]
    new = Counter(str(name).split("-")[0] for name, one in found.items() if one.status == "new")
    assert {str(family): 1 for family in range(families)} == new


def kill_under_load(path: Path, kills: int, families: int, longest: float) -> None:
    """Kill the service at random moments, start it again on the same store, and send again what was not answered.

    Families are so many that clients are not done before the last kill, and the radius so wide that no two members of
    one are beyond: a word of forty is other, which are 12 bits of 128 on average.
    """
    choose = random.Random(kills)
    nk.Store.create(path, threshold=0.5, radius=40).close()
    clients = [Client(number, families) for number in range(CLIENTS)]
    under_load = 0
    for _ in range(kills):
        with start(path) as service:
            service.begin()
            threads = run_all(clients, service)
            time.sleep(longest * choose.random())
            under_load += all(client.waiting for client in clients)
            service.kill()
            for thread in threads:
                thread.join()
        assert [] == [fault for client in clients for fault in client.faults]
    assert under_load >= kills - 1
    with start(path) as service:
        service.begin()
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
    """And after sending again no family has two that were told "new"."""
    kill_under_load(tmp_path / "pages.store", 3, 600, 0.25)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_a_hundred_kills(tmp_path: Path) -> None:
    """The same for long."""
    kill_under_load(tmp_path / "pages.store", 100, 12_000, 0.25)
