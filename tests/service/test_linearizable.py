"""Results of concurrent clients are those of a store that executes one call at a time."""

from __future__ import annotations

import asyncio
import itertools
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import linearizable
import numpy as np
import pytest
from forked import ForkedServices
from linearizable import (
    FOREVER,
    NEW,
    Answer,
    Likeness,
    Model,
    Operation,
    State,
    named_family,
    read_history,
    violation_of,
    write_history,
)
from live import Reply, Service, serving
from wire import Connection, request

import nearkin as nk
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.errors import InputError
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.texts import TextSettings

LIKE: Likeness = {("f a", "f b"): (7, 0.9), ("f b", "f a"): (7, 0.9)}
NEAR_A, EXACT_A = Answer("near", "f-1", 7, 0.9), Answer("exact", "f-1", 0, 1.0)


def op(
    client: int, call: str, name: str, content: str, times: tuple[int, int | None], seen: Answer | str | None = None
) -> Operation:
    """Return an operation on one document; without an end it has no result."""
    begin, end = times
    return Operation(client, call, ((name, content),), begin, end or FOREVER, None if seen is None else (seen,))


def add(client: int, name: str, content: str, times: tuple[int, int | None], seen: Answer | str | None) -> Operation:
    """Return a `check-and-add`."""
    return op(client, "check-and-add", name, content, times, seen)


def fault(*history: Operation) -> linearizable.Violation | None:
    """Return the violation in a history of one family."""
    return violation_of(history, LIKE, named_family)


def test_a_sequential_history_is_linearizable() -> None:
    """A sequential history with every kind of call and result is linearizable."""
    assert None is fault(
        op(0, "check", "", "f a", (0, 1), NEW),
        op(0, "get", "f-1", "", (2, 3), "absent"),
        add(0, "f-1", "f a", (4, 5), NEW),
        add(0, "f-1", "f a", (6, 7), Answer("known", None, -1, None)),
        add(0, "f-1", "f b", (8, 9), "other-content"),
        add(0, "f-2", "f b", (10, 11), NEAR_A),
        op(0, "check", "", "f a", (12, 13), EXACT_A),
        op(0, "get", "f-2", "", (14, 15), NEAR_A),
        op(0, "remove", "f-1", "", (16, 17), "removed"),
        op(0, "remove", "f-1", "", (18, 19), "absent"),
        # No text represents the near-duplicate, so the store forgets it.
        op(0, "get", "f-2", "", (20, 21), "absent"),
        op(0, "check", "", "f b", (22, 23), NEW),
        # A copy takes the place of a removed document.
        add(0, "f-1", "f a", (24, 25), NEW),
        add(0, "f-2", "f b", (26, 27), NEAR_A),
        add(0, "f-3", "f a", (28, 29), EXACT_A),
        op(0, "remove", "f-1", "", (30, 31), "removed"),
        op(0, "get", "f-3", "", (32, 33), NEW),
        op(0, "get", "f-2", "", (34, 35), NEAR_A._replace(match="f-3")),
    )


def test_two_new_near_duplicates_are_a_violation() -> None:
    """Of two concurrent near-duplicates only one can be new."""
    assert None is fault(add(0, "f-1", "f a", (0, 10), NEW), add(1, "f-2", "f b", (0, 10), NEAR_A))
    violation = fault(add(0, "f-1", "f a", (0, 10), NEW), add(1, "f-2", "f b", (0, 10), NEW))
    assert violation is not None
    assert "must be near f-" in str(violation)


def test_a_stale_read_is_a_violation() -> None:
    """A read may miss a change only while the change is in progress."""
    write = add(0, "f-1", "f a", (10, 20), NEW)
    assert None is fault(write, op(1, "get", "f-1", "", (15, 30), "absent"))
    assert None is fault(write, op(1, "get", "f-1", "", (20, 30), "absent"))
    assert None is not fault(write, op(1, "get", "f-1", "", (21, 30), "absent"))


def test_reads_do_not_go_back() -> None:
    """A read after another read does not return an older state, even while the change is in progress."""
    write = add(0, "f-1", "f a", (0, 100), NEW)
    first, second = op(1, "check", "", "f a", (10, 20), EXACT_A), op(2, "check", "", "f a", (30, 40), NEW)
    assert None is not fault(write, first, second)
    assert None is fault(write, first._replace(begin=30, end=40), second._replace(begin=10, end=20))


def test_a_result_from_the_future_is_a_violation() -> None:
    """A result can't depend on a later call."""
    early = op(1, "check", "", "f a", (0, 5), EXACT_A)
    assert None is not fault(early, add(0, "f-1", "f a", (6, 9), NEW))
    assert None is fault(early, add(0, "f-1", "f a", (5, 9), NEW))


def test_a_lost_update_is_a_violation() -> None:
    """Of two concurrent removals only one finds the document."""
    write = add(0, "f-1", "f a", (0, 1), NEW)
    removals = [op(client, "remove", "f-1", "", (2, 9), "removed") for client in (1, 2)]
    assert None is not fault(write, *removals)
    assert None is fault(write, removals[0], removals[1]._replace(seen=("absent",)))


def test_wrong_match_distance_and_similarity_are_violations() -> None:
    """Match, distance and similarity are compared as well."""
    write = add(0, "f-1", "f a", (0, 1), NEW)
    assert None is fault(write, op(1, "check", "", "f b", (2, 3), NEAR_A))
    for wrong in (
        NEAR_A._replace(match="f-2"),
        NEAR_A._replace(distance=8),
        NEAR_A._replace(similarity=0.89),
        NEAR_A._replace(status="exact"),
    ):
        assert None is not fault(write, op(1, "check", "", "f b", (2, 3), wrong))


def test_a_partially_visible_batch_is_a_violation() -> None:
    """A batch takes effect at one time."""
    documents = (("f-1", "f a"), ("f-2", "f b"))
    write = Operation(0, "check-and-add", documents, 0, 100, (NEW, NEAR_A))
    first, second = op(1, "get", "f-1", "", (10, 20), NEW), op(1, "get", "f-2", "", (30, 40), "absent")
    assert None is not fault(write, first, second)
    assert None is fault(write, first._replace(seen=("absent",)), second)
    # One bad document refuses the batch.
    before = add(1, "f-2", "f a", (-9, -8), NEW)
    refused = write._replace(seen=("other-content",) * 2)
    assert None is fault(before, refused, op(1, "get", "f-1", "", (101, 102), "absent"))
    assert None is not fault(before, refused, op(1, "get", "f-1", "", (101, 102), NEW))


def test_operations_without_a_response_are_optional() -> None:
    """An operation without a response may take effect at any time after its call, or never."""
    lost = add(0, "f-1", "f a", (10, None), None)
    seen, unseen = op(1, "check", "", "f a", (20, 30), EXACT_A), op(1, "check", "", "f a", (20, 30), NEW)
    assert None is fault(lost)
    assert None is fault(lost, seen)
    assert None is fault(lost, unseen)
    assert None is fault(lost, unseen, seen._replace(begin=40, end=50))
    assert None is not fault(lost, seen, unseen._replace(begin=40, end=50))
    assert None is not fault(lost, seen._replace(begin=0, end=9))


def test_a_violation_in_one_family_is_found(tmp_path: Path) -> None:
    """A violation in one family of many is found and named, also by the command line."""
    history = [add(0, f"f{i}-1", f"f{i} a", (i, i + 1), NEW) for i in range(50)]
    assert None is violation_of(history, {}, named_family)
    wrong = [*history, op(1, "get", "f7-1", "", (60, 61), "absent")]
    violation = violation_of(wrong, {}, named_family)
    assert violation is not None
    assert "f7" == violation.family
    for name, batch, code in (("right", history, 0), ("wrong", wrong, 1)):
        write_history(tmp_path / name, batch, LIKE)
        assert (batch, LIKE) == read_history(tmp_path / name)
        done = subprocess.run(
            [sys.executable, linearizable.__file__, str(tmp_path / name)], capture_output=True, text=True, check=False
        )
        assert (code, "") == (done.returncode, done.stderr)
        assert ("family 'f7' is not linearizable" in done.stdout) == (name == "wrong")


def by_brute_force(history: Sequence[Operation], likeness: Likeness) -> bool:
    """Return True if any order of the operations is valid; those without a response are optional."""
    model = Model(likeness)
    answered = [operation for operation in history if operation.seen is not None]
    unanswered = [operation for operation in history if operation.seen is None]
    for count in range(len(unanswered) + 1):
        for optional in itertools.combinations(unanswered, count):
            if any(fits(order, model) for order in itertools.permutations([*answered, *optional])):
                return True
    return False


def fits(order: Sequence[Operation], model: Model) -> bool:
    """Return True if an order respects real time and the model."""
    if any(later.end < operation.begin for operation, later in itertools.combinations(order, 2)):
        return False
    state: State = ()
    for operation in order:
        state, seen = model.step(state, operation)
        if operation.seen is not None and operation.seen != seen:
            return False
    return True


def random_history(choose: random.Random, count: int) -> list[Operation]:
    """Return random operations with results of the model; most histories have one false result."""
    model = Model(LIKE)
    timed = []
    for client in range(count):
        moment, name = choose.randrange(40), f"f-{choose.randrange(2)}"
        content = choose.choice(["f a", "f b"])
        call = choose.choice(["check", "check-and-add", "check-and-add", "remove", "get"])
        document = {"check": ("", content), "check-and-add": (name, content)}.get(call, (name, ""))
        begin, end = moment - choose.randrange(12), moment + choose.randrange(12)
        timed.append((moment, Operation(client, call, (document,), begin, end, None)))
    state: State = ()
    history = []
    for _, operation in sorted(timed, key=lambda pair: pair[0]):
        state, seen = model.step(state, operation)
        history.append(operation._replace(end=FOREVER) if choose.random() < 0.1 else operation._replace(seen=seen))
    if choose.random() < 0.6:
        number = choose.randrange(count)
        other = choose.choice([operation.seen for operation in history])
        history[number] = history[number]._replace(seen=other, end=min(history[number].end, 60))
    return history


def test_the_checker_equals_brute_force() -> None:
    """The checker agrees with brute force on random histories of up to six operations."""
    choose = random.Random(5)
    verdicts = []
    for _ in range(600):
        history = random_history(choose, choose.randrange(1, 7))
        if any(operation.seen is None and operation.end != FOREVER for operation in history):
            continue
        expected = by_brute_force(history, LIKE)
        assert expected == (fault(*history) is None), history
        verdicts.append(expected)
    assert 100 < verdicts.count(False)
    assert 100 < verdicts.count(True)


@pytest.mark.parametrize("clients", [4, 16])
def test_long_histories_with_much_overlap_are_checked_in_linear_time(clients: int) -> None:
    """A history of 3,000 operations on one family is checked in linear time; a stale read at its end is found."""
    choose = random.Random(clients)
    model, history = Model(LIKE), []
    state: State = ()
    free = [0] * clients
    for moment in range(3000):
        # A client has one call at a time.
        client = moment % clients
        name = f"f-{choose.randrange(4)}"
        call = choose.choice(["check", "check-and-add", "check-and-add", "remove", "get"])
        content = choose.choice(["f a", "f b"])
        document = {"check": ("", content), "check-and-add": (name, content)}.get(call, (name, ""))
        begin = max(free[client] + 1, 10 * moment - choose.randrange(5 * clients))
        end = 10 * moment + choose.randrange(5 * clients)
        operation = Operation(client, call, (document,), begin, end, None)
        state, seen = model.step(state, operation)
        history.append(operation._replace(seen=seen))
        free[client] = end
    assert None is fault(*history)
    name = state[0].id if state else "f-0"
    wrong: Answer | str = "absent" if state else NEW
    assert None is not fault(*history, op(0, "get", name, "", (100_000, 100_001), wrong))


CLIENTS = 16
VARIANTS = 4
"""Contents of a family: three near-duplicates, and one that matches none."""
NAMES = 5
"""Ids per family."""
LENGTH = 60
"""Operations of a family before it is replaced by another one."""


def text_of(content: str) -> str:
    """Return forty words of a family with one of the variant; the last variant has other words."""
    family, variant = content.split(" ")
    choose = random.Random(content if int(variant) == VARIANTS - 1 else family)
    words = [f"w{choose.randrange(1 << 30):x}" for _ in range(40)]
    words[7 * int(variant)] = f"variant{variant}"
    return " ".join(words)


def likeness_of(families: int, settings: StoreSettings) -> Likeness:
    """Return the pairs of contents that match: candidates of the family, Jaccard similarity at the threshold."""
    assert isinstance(settings, TextSettings)
    contents = [f"f{family} {variant}" for family in range(families) for variant in range(VARIANTS)]
    texts = [text_of(content) for content in contents]
    pairs = [
        (VARIANTS * family + first, VARIANTS * family + other)
        for family in range(families)
        for first, other in itertools.permutations(range(VARIANTS), 2)
    ]
    left, right = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    source = settings.source
    if isinstance(source, SimHashCandidates):
        values = nk.fingerprint(texts, settings.recipe)
        distances, limit = np.asarray(nk.hamming(values[left], values[right])).tolist(), source.radius
    else:
        signatures, bands, rows = (
            nk.signature(texts, settings.recipe),
            source.banding.num_bands,
            source.banding.num_rows,
        )
        differ = (signatures[left] != signatures[right])[:, : bands * rows].reshape(-1, bands, rows).any(axis=2)
        distances, limit = differ.sum(axis=1).tolist(), bands - 1
    similarities = nk.similarity(texts, left, right, recipe=settings.recipe).tolist()
    return {
        (contents[first], contents[other]): (distance, similarity)
        for first, other, distance, similarity in zip(left, right, distances, similarities, strict=True)
        if distance <= limit and similarity >= settings.threshold
    }


class Script:
    """Random calls on a few families at a time, so that calls on a family overlap."""

    def __init__(self, seed: int, count: int) -> None:
        self._choose = random.Random(seed)
        self._left = count
        self._hot = list(range(4))
        self._asked = [0] * 4
        self._next = 4

    @staticmethod
    def families(count: int) -> int:
        """Return the number of families that a script of `count` operations may need."""
        return count // LENGTH + 5

    def __bool__(self) -> bool:
        return self._left > 0

    def operation(self, client: int) -> Operation:
        """Return the next call, without times and result."""
        self._left -= 1
        choose = self._choose
        # Half of the calls are on one family.
        position = choose.choice([0, 0, 0, 1, 2, 3])
        family = self._hot[position]
        self._asked[position] += 1
        if self._asked[position] >= LENGTH:
            self._hot[position], self._asked[position], self._next = self._next, 0, self._next + 1
        call = choose.choice(["check", "check-and-add", "check-and-add", "check-and-add", "remove", "get"])
        names = choose.sample(range(NAMES), choose.choice([1, 1, 1, 2, 3]) if call != "get" else 1)
        documents = []
        for name in names:
            # Sometimes use the content of another id: an error that refuses the batch.
            variant = choose.randrange(VARIANTS) if call == "check" or choose.random() < 0.05 else name % VARIANTS
            id = "" if call == "check" else f"f{family}-{name}"
            documents.append((id, f"f{family} {variant}" if call in ("check", "check-and-add") else ""))
        return Operation(client, call, tuple(documents), 0, FOREVER, None)


def request_of(operation: Operation) -> bytes:
    """Return the HTTP request of an operation."""
    names = [name for name, _ in operation.documents]
    if operation.call == "get":
        return request("GET", f"/v1/documents/{names[0]}")
    if operation.call == "remove":
        return request("POST", "/v1/remove", {"id": names[0]} if len(names) == 1 else {"ids": names})
    documents = [{**({"id": name} if name else {}), "text": text_of(content)} for name, content in operation.documents]
    return request("POST", f"/v1/{operation.call}", documents[0] if len(documents) == 1 else {"documents": documents})


def results_of_response(operation: Operation, reply: Reply) -> tuple[Answer | str, ...]:
    """Return the result of each document in a response."""
    count = len(operation.documents)
    if reply.status == 409 and operation.call == "check-and-add":
        assert reply.json()["type"].endswith(":other-content")
        return ("other-content",) * count
    if reply.status == 404 and operation.call in ("get", "remove"):
        assert reply.json()["type"].endswith(":no-such-document")
        return ("absent",) * count
    assert 200 == reply.status, (operation, reply)
    results = reply.json()
    if operation.call == "remove":
        # Documents that the store forgets count as well.
        assert count <= results["removed"]
        return ("removed",) * count
    answers = results.get("answers", [results])
    assert count == len(answers)
    return tuple(Answer(row["status"], row["match"], row["distance"], row["similarity"]) for row in answers)


async def history_of(services: Sequence[Service | ForkedServices], script: Script) -> list[Operation]:
    """Return the history of sixteen clients, each with its own connection, which connect again to a killed service."""
    history: list[Operation] = []

    async def client(number: int) -> None:
        while script:
            try:
                connection = await Connection.open(services[number % len(services)])
            except ConnectionError:
                await asyncio.sleep(0.02)
                continue
            while script:
                operation = script.operation(number)._replace(begin=time.monotonic_ns())
                try:
                    reply = await connection.exchange(request_of(operation))
                except (OSError, EOFError):
                    history.append(operation)
                    break
                end = time.monotonic_ns()
                # A refused request has no effect.
                if reply.status in (429, 503):
                    await asyncio.sleep(0.02)
                else:
                    history.append(operation._replace(end=end, seen=results_of_response(operation, reply)))
            await connection.close()

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return history


async def history_with_kills(
    services: Sequence[ForkedServices], script: Script, longest: float
) -> tuple[list[Operation], int, int]:
    """Return the history of clients of services that merge all the time and are killed within `longest` seconds each.

    It ends with a read of every id. The numbers are those of kills and of finished merges.
    """
    choose, kills, merges = random.Random(0), 0, 0
    for service in services:
        await asyncio.to_thread(service.start)

    async def merge(service: ForkedServices) -> None:
        nonlocal merges
        while script:
            await asyncio.sleep(0.02)
            with suppress(ConnectionError):
                connection = await Connection.open(service)
                with suppress(OSError, EOFError):
                    merges += (await connection.exchange(request("POST", "/v1/merge"))).status == 200
                await connection.close()

    async def kill() -> None:
        nonlocal kills
        while script:
            await asyncio.sleep(choose.random() * longest)
            service = choose.choice(services)
            await asyncio.to_thread(service.kill)
            await asyncio.to_thread(service.start)
            kills += 1

    task = asyncio.ensure_future(history_of(services, script))
    await asyncio.gather(task, kill(), *map(merge, services))
    history = task.result()
    names = sorted({name for operation in history for name, _ in operation.documents if name})
    connection = await Connection.open(services[-1])
    for name in names:
        operation = Operation(0, "get", ((name, ""),), time.monotonic_ns(), FOREVER, None)
        reply = await connection.exchange(request_of(operation))
        history.append(operation._replace(end=time.monotonic_ns(), seen=results_of_response(operation, reply)))
    await connection.close()
    return history, kills, merges


def overlap_of(history: list[Operation]) -> float:
    """Return the mean number of other calls on the same family in progress at the time of a call."""
    families: dict[str, list[Operation]] = defaultdict(list)
    for operation in history:
        families[named_family(operation)].append(operation)
    others = sum(
        sum(other.begin <= operation.begin < other.end for other in operations) - 1
        for operations in families.values()
        for operation in operations
    )
    return others / len(history)


def results_of_store(store: nk.Store, operation: Operation) -> tuple[Answer | str, ...]:
    """Return the result of a store in this process."""
    names, texts = (
        [name for name, _ in operation.documents],
        [text_of(content) for _, content in operation.documents if content],
    )
    if operation.call in ("get", "remove") and not all(name in store for name in names):
        return ("absent",) * len(names)
    if operation.call == "remove":
        store.remove(names)
        return ("removed",) * len(names)
    rows: list[Any]
    if operation.call == "get":
        rows = [
            (existing.status, existing.match, existing.distance, existing.similarity)
            for existing in store.get(names)
            if existing
        ]
    else:
        try:
            answers = store.check(texts) if operation.call == "check" else store.check_and_add(texts, names)
        except InputError:
            return ("other-content",) * len(names)
        rows = list(zip(*answers.columns.values(), strict=True))
    return tuple(Answer(name, match, far, None if np.isnan(like) else like) for name, match, far, like in rows)


@pytest.mark.parametrize("recipe", [None, nk.Recipe()], ids=str)
def test_the_model_equals_a_store(tmp_path: Path, recipe: nk.Recipe | None) -> None:
    """The model and a store have equal results for a sequential script."""
    script = Script(2, 2000)
    state: State = ()
    with nk.Store.create(tmp_path / "pages.store", recipe, threshold=0.7, max_pending=100) as store:
        model = Model(likeness_of(Script.families(2000), store.settings))
        while script:
            operation = script.operation(0)
            state, expected = model.step(state, operation)
            assert expected == results_of_store(store, operation), operation


@pytest.mark.parametrize("number", [1, 2], ids=["one service", "two services"])
@pytest.mark.parametrize(("count", "longest"), [(2_500, 1.0), pytest.param(60_000, 1.0, marks=pytest.mark.slow)])
def test_histories_with_removals_merges_and_kills_are_linearizable(
    tmp_path: Path, count: int, longest: float, number: int
) -> None:
    """Everything acknowledged, with its match, is there at the end, or a removal in the history explains why not."""
    path, script = tmp_path / "pages.store", Script(3, count)
    with nk.Store.create(path, threshold=0.7) as store:
        likeness = likeness_of(Script.families(count), store.settings)
    with ExitStack() as stack:
        services = [stack.enter_context(ForkedServices(path)) for _ in range(number)]
        history, kills, merges = asyncio.run(history_with_kills(services, script, longest))
        assert [0] * number == [service.end() for service in services]
    write_history(tmp_path / "history.jsonl", history, likeness)
    unanswered = sum(operation.seen is None for operation in history)
    print(f"{len(history):,} operations, {unanswered:,} without response, {kills} kills, {merges} merges")
    assert min(kills, merges, unanswered) > 2
    violation = violation_of(history, likeness, named_family)
    assert violation is None, f"{violation}\n{tmp_path / 'history.jsonl'}"
    with nk.Store.open(path) as store:
        store.verify()


@pytest.mark.parametrize("count", [5_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_histories_of_sixteen_clients_are_linearizable(tmp_path: Path, count: int) -> None:
    """Checks, additions, removals and reads by sixteen clients, single and in batches, are linearizable."""
    path, script = tmp_path / "pages.store", Script(1, count)
    with nk.Store.create(path, threshold=0.7) as store:
        likeness = likeness_of(Script.families(count), store.settings)
    assert likeness
    # A paused machine must not close connections.
    with serving(path, "--timeout", "3600") as service:
        history = asyncio.run(history_of([service], script))
        assert 0 == service.end()
    assert count == len(history)
    assert 1 < overlap_of(history)
    violation = violation_of(history, likeness, named_family)
    if violation is not None:
        write_history(tmp_path / "history.jsonl", history, likeness)
    assert violation is None, f"{violation}\n{tmp_path / 'history.jsonl'}"
    # Every possible result occurred.
    statuses = {
        seen if isinstance(seen, str) else seen.status for operation in history for seen in operation.seen or ()
    }
    assert {"new", "exact", "near", "known", "other-content", "absent", "removed"} == statuses
