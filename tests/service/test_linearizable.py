"""The service answers concurrent clients as a store does that gets one call after the other."""

from __future__ import annotations

import asyncio
import itertools
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import linearizable
import numpy as np
import pytest
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
from nearkin.dedup.candidates import SimHashCandidates
from nearkin.errors import InputError
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.texts import TextSettings

LIKE: Likeness = {("f a", "f b"): (7, 0.9), ("f b", "f a"): (7, 0.9)}
NEAR_A, EXACT_A = Answer("near", "f-1", 7, 0.9), Answer("exact", "f-1", 0, 1.0)


def op(
    client: int, call: str, name: str, content: str, times: tuple[int, int | None], seen: Answer | str | None = None
) -> Operation:
    """An operation on one document; without an end nothing was seen."""
    begin, end = times
    return Operation(client, call, ((name, content),), begin, end or FOREVER, None if seen is None else (seen,))


def add(client: int, name: str, content: str, times: tuple[int, int | None], seen: Answer | str | None) -> Operation:
    """A `check-and-add`."""
    return op(client, "check-and-add", name, content, times, seen)


def fault(*history: Operation) -> linearizable.Violation | None:
    """What the checker finds in one family."""
    return violation_of(history, LIKE, named_family)


def test_what_one_client_sees_of_a_store_is_linearizable() -> None:
    """Every kind of call and answer, one after the other."""
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
        # The one that decided is gone; what was said of it stays.
        op(0, "get", "f-2", "", (20, 21), NEAR_A._replace(match=None)),
        op(0, "check", "", "f b", (22, 23), NEW),
    )


def test_two_that_are_both_told_new_are_a_fault() -> None:
    """Near one another and at once: only one of them can be the first."""
    assert None is fault(add(0, "f-1", "f a", (0, 10), NEW), add(1, "f-2", "f b", (0, 10), NEAR_A))
    found = fault(add(0, "f-1", "f a", (0, 10), NEW), add(1, "f-2", "f b", (0, 10), NEW))
    assert found is not None
    assert "must be near f-" in str(found)


def test_an_answer_that_forgets_what_was_acknowledged_is_a_fault() -> None:
    """A read may be old only while the change is under way."""
    write = add(0, "f-1", "f a", (10, 20), NEW)
    assert None is fault(write, op(1, "get", "f-1", "", (15, 30), "absent"))
    assert None is fault(write, op(1, "get", "f-1", "", (20, 30), "absent"))
    assert None is not fault(write, op(1, "get", "f-1", "", (21, 30), "absent"))


def test_what_is_seen_once_is_not_unseen_later() -> None:
    """A second reader, called after the first one's answer, sees no older state, though the change goes on."""
    write = add(0, "f-1", "f a", (0, 100), NEW)
    first, second = op(1, "check", "", "f a", (10, 20), EXACT_A), op(2, "check", "", "f a", (30, 40), NEW)
    assert None is not fault(write, first, second)
    assert None is fault(write, first._replace(begin=30, end=40), second._replace(begin=10, end=20))


def test_an_answer_from_the_future_is_a_fault() -> None:
    """Nothing is seen before it was asked for."""
    early = op(1, "check", "", "f a", (0, 5), EXACT_A)
    assert None is not fault(early, add(0, "f-1", "f a", (6, 9), NEW))
    assert None is fault(early, add(0, "f-1", "f a", (5, 9), NEW))


def test_a_lost_update_is_a_fault() -> None:
    """Of two removals at once one finds the document."""
    write = add(0, "f-1", "f a", (0, 1), NEW)
    removals = [op(client, "remove", "f-1", "", (2, 9), "removed") for client in (1, 2)]
    assert None is not fault(write, *removals)
    assert None is fault(write, removals[0], removals[1]._replace(seen=("absent",)))


def test_wrong_match_distance_and_similarity_are_faults() -> None:
    """Answers are compared whole."""
    write = add(0, "f-1", "f a", (0, 1), NEW)
    assert None is fault(write, op(1, "check", "", "f b", (2, 3), NEAR_A))
    for wrong in (
        NEAR_A._replace(match="f-2"),
        NEAR_A._replace(distance=8),
        NEAR_A._replace(similarity=0.89),
        NEAR_A._replace(status="exact"),
    ):
        assert None is not fault(write, op(1, "check", "", "f b", (2, 3), wrong))


def test_a_batch_that_is_seen_in_part_is_a_fault() -> None:
    """A batch takes effect at one moment."""
    documents = (("f-1", "f a"), ("f-2", "f b"))
    write = Operation(0, "check-and-add", documents, 0, 100, (NEW, NEAR_A))
    first, second = op(1, "get", "f-1", "", (10, 20), NEW), op(1, "get", "f-2", "", (30, 40), "absent")
    assert None is not fault(write, first, second)
    assert None is fault(write, first._replace(seen=("absent",)), second)
    # All or none: one bad document, and nothing of the batch is there.
    before = add(1, "f-2", "f a", (-9, -8), NEW)
    refused = write._replace(seen=("other-content",) * 2)
    assert None is fault(before, refused, op(1, "get", "f-1", "", (101, 102), "absent"))
    assert None is not fault(before, refused, op(1, "get", "f-1", "", (101, 102), NEW))


def test_what_was_never_answered_may_have_happened_at_any_time_or_never() -> None:
    """But not before its call."""
    lost = add(0, "f-1", "f a", (10, None), None)
    seen, unseen = op(1, "check", "", "f a", (20, 30), EXACT_A), op(1, "check", "", "f a", (20, 30), NEW)
    assert None is fault(lost)
    assert None is fault(lost, seen)
    assert None is fault(lost, unseen)
    assert None is fault(lost, unseen, seen._replace(begin=40, end=50))
    assert None is not fault(lost, seen, unseen._replace(begin=40, end=50))
    assert None is not fault(lost, seen._replace(begin=0, end=9))


def test_a_fault_in_one_family_of_many_is_found(tmp_path: Path) -> None:
    """And named, also by the program."""
    history = [add(0, f"f{i}-1", f"f{i} a", (i, i + 1), NEW) for i in range(50)]
    assert None is violation_of(history, {}, named_family)
    wrong = [*history, op(1, "get", "f7-1", "", (60, 61), "absent")]
    found = violation_of(wrong, {}, named_family)
    assert found is not None
    assert "f7" == found.family
    for name, some, code in (("right", history, 0), ("wrong", wrong, 1)):
        write_history(tmp_path / name, some, LIKE)
        assert (some, LIKE) == read_history(tmp_path / name)
        done = subprocess.run(
            [sys.executable, linearizable.__file__, str(tmp_path / name)], capture_output=True, text=True, check=False
        )
        assert (code, "") == (done.returncode, done.stderr)
        assert ("family 'f7' is not linearizable" in done.stdout) == (name == "wrong")


def by_brute_force(history: Sequence[Operation], likeness: Likeness) -> bool:
    """Whether any order of all operations fits: every one is tried. Unanswered ones may be left out."""
    model = Model(likeness)
    answered = [one for one in history if one.seen is not None]
    unanswered = [one for one in history if one.seen is None]
    for count in range(len(unanswered) + 1):
        for some in itertools.combinations(unanswered, count):
            if any(fits(order, model) for order in itertools.permutations([*answered, *some])):
                return True
    return False


def fits(order: Sequence[Operation], model: Model) -> bool:
    """Whether one order keeps real time and is what the model answers."""
    if any(later.end < one.begin for one, later in itertools.combinations(order, 2)):
        return False
    state: State = ()
    for one in order:
        state, seen = model.step(state, one)
        if one.seen is not None and one.seen != seen:
            return False
    return True


def random_history(choose: random.Random, count: int) -> list[Operation]:
    """Operations at random times, answered by the model at a moment between; mostly one is falsified."""
    model = Model(LIKE)
    timed = []
    for client in range(count):
        moment, name = choose.randrange(40), f"f-{choose.randrange(2)}"
        content = choose.choice(["f a", "f b"])
        call = choose.choice(["check", "check-and-add", "check-and-add", "remove", "get"])
        asked = {"check": ("", content), "check-and-add": (name, content)}.get(call, (name, ""))
        begin, end = moment - choose.randrange(12), moment + choose.randrange(12)
        timed.append((moment, Operation(client, call, (asked,), begin, end, None)))
    state: State = ()
    history = []
    for _, one in sorted(timed, key=lambda pair: pair[0]):
        state, seen = model.step(state, one)
        history.append(one._replace(end=FOREVER) if choose.random() < 0.1 else one._replace(seen=seen))
    if choose.random() < 0.6:
        number = choose.randrange(count)
        other = choose.choice([one.seen for one in history])
        history[number] = history[number]._replace(seen=other, end=min(history[number].end, 60))
    return history


def test_the_checker_equals_brute_force() -> None:
    """Over random histories of up to six operations, right ones and wrong ones."""
    choose = random.Random(5)
    verdicts = []
    for _ in range(600):
        history = random_history(choose, choose.randrange(1, 7))
        if any(one.seen is None and one.end != FOREVER for one in history):
            continue
        expected = by_brute_force(history, LIKE)
        assert expected == (fault(*history) is None), history
        verdicts.append(expected)
    assert 100 < verdicts.count(False)
    assert 100 < verdicts.count(True)


@pytest.mark.parametrize("clients", [4, 16])
def test_long_histories_with_much_overlap_are_checked_in_linear_time(clients: int) -> None:
    """A right history of 3,000 operations on one family; with a stale read at its end it is wrong."""
    choose = random.Random(clients)
    model, history = Model(LIKE), []
    state: State = ()
    free = [0] * clients
    for moment in range(3000):
        # Each client's call ends before its next one begins.
        client = moment % clients
        name = f"f-{choose.randrange(4)}"
        call = choose.choice(["check", "check-and-add", "check-and-add", "remove", "get"])
        content = choose.choice(["f a", "f b"])
        asked = {"check": ("", content), "check-and-add": (name, content)}.get(call, (name, ""))
        begin = max(free[client] + 1, 10 * moment - choose.randrange(5 * clients))
        end = 10 * moment + choose.randrange(5 * clients)
        one = Operation(client, call, (asked,), begin, end, None)
        state, seen = model.step(state, one)
        history.append(one._replace(seen=seen))
        free[client] = end
    assert None is fault(*history)
    name = state[0].id if state else "f-0"
    wrong: Answer | str = "absent" if state else NEW
    assert None is not fault(*history, op(0, "get", name, "", (100_000, 100_001), wrong))


CLIENTS = 16
VARIANTS = 4
"""Contents of a family: three near one another, one like none of them."""
NAMES = 5
"""Ids of a family."""
LENGTH = 60
"""Operations of a family, before another one takes its place."""


def text_of(content: str) -> str:
    """The text of a content: forty words of its family, of which one is the variant's; all other ones of the last."""
    family, variant = content.split(" ")
    choose = random.Random(content if int(variant) == VARIANTS - 1 else family)
    words = [f"w{choose.randrange(1 << 30):x}" for _ in range(40)]
    words[7 * int(variant)] = f"variant{variant}"
    return " ".join(words)


def likeness_of(families: int, settings: StoreSettings) -> Likeness:
    """Which contents match, by definition: fingerprints within the radius, Jaccard similarity at the threshold."""
    assert isinstance(settings, TextSettings)
    assert isinstance(settings.source, SimHashCandidates)
    contents = [f"f{family} {variant}" for family in range(families) for variant in range(VARIANTS)]
    texts = [text_of(content) for content in contents]
    pairs = [
        (VARIANTS * family + one, VARIANTS * family + other)
        for family in range(families)
        for one, other in itertools.permutations(range(VARIANTS), 2)
    ]
    left, right = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    values = nk.fingerprint(texts, settings.recipe)
    distances = np.asarray(nk.hamming(values[left], values[right])).tolist()
    similarities = nk.similarity(texts, left, right, recipe=settings.recipe).tolist()
    return {
        (contents[one], contents[other]): (distance, similarity)
        for one, other, distance, similarity in zip(left, right, distances, similarities, strict=True)
        if distance <= settings.source.radius and similarity >= settings.threshold
    }


class Script:
    """What clients ask, at random: a few families at once, so that calls on each of them overlap."""

    def __init__(self, seed: int, count: int) -> None:
        self._choose = random.Random(seed)
        self._left = count
        self._hot = list(range(4))
        self._asked = [0] * 4
        self._next = 4

    @staticmethod
    def families(count: int) -> int:
        """How many families a script of `count` operations may need."""
        return count // LENGTH + 5

    def __bool__(self) -> bool:
        return self._left > 0

    def operation(self, client: int) -> Operation:
        """The next call, without times and answer."""
        self._left -= 1
        choose = self._choose
        # One family gets half of the calls.
        place = choose.choice([0, 0, 0, 1, 2, 3])
        family = self._hot[place]
        self._asked[place] += 1
        if self._asked[place] >= LENGTH:
            self._hot[place], self._asked[place], self._next = self._next, 0, self._next + 1
        call = choose.choice(["check", "check-and-add", "check-and-add", "check-and-add", "remove", "get"])
        names = choose.sample(range(NAMES), choose.choice([1, 1, 1, 2, 3]) if call != "get" else 1)
        documents = []
        for name in names:
            # Sometimes the content of another id: an error, and of a batch nothing is done.
            variant = choose.randrange(VARIANTS) if call == "check" or choose.random() < 0.05 else name % VARIANTS
            asked = "" if call == "check" else f"f{family}-{name}"
            documents.append((asked, f"f{family} {variant}" if call in ("check", "check-and-add") else ""))
        return Operation(client, call, tuple(documents), 0, FOREVER, None)


def request_of(one: Operation) -> bytes:
    """The HTTP request of an operation."""
    names = [name for name, _ in one.documents]
    if one.call == "get":
        return request("GET", f"/v1/documents/{names[0]}")
    if one.call == "remove":
        return request("POST", "/v1/remove", {"id": names[0]} if len(names) == 1 else {"ids": names})
    documents = [{**({"id": name} if name else {}), "text": text_of(content)} for name, content in one.documents]
    return request("POST", f"/v1/{one.call}", documents[0] if len(documents) == 1 else {"documents": documents})


def seen_in(one: Operation, reply: Reply) -> tuple[Answer | str, ...]:
    """What an answer says of each document."""
    count = len(one.documents)
    if reply.status == 409 and one.call == "check-and-add":
        assert reply.json()["type"].endswith(":other-content")
        return ("other-content",) * count
    if reply.status == 404 and one.call in ("get", "remove"):
        assert reply.json()["type"].endswith(":no-such-document")
        return ("absent",) * count
    assert 200 == reply.status, (one, reply)
    found = reply.json()
    if one.call == "remove":
        assert {"removed": count} == found
        return ("removed",) * count
    answers = found.get("answers", [found])
    assert count == len(answers)
    return tuple(Answer(row["status"], row["match"], row["distance"], row["similarity"]) for row in answers)


async def history_of(service: Service, script: Script) -> list[Operation]:
    """What sixteen clients saw, each on a connection of its own."""
    history: list[Operation] = []

    async def client(number: int) -> None:
        connection = await Connection.open(service)
        while script:
            one = script.operation(number)
            content = request_of(one)
            begin = time.monotonic_ns()
            reply = await connection.exchange(content)
            end = time.monotonic_ns()
            # A request that was refused did nothing.
            if reply.status != 429:
                history.append(one._replace(begin=begin, end=end, seen=seen_in(one, reply)))
        await connection.close()

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return history


def overlap_of(history: list[Operation]) -> float:
    """How many calls on its family, its own not counted, were under way when an operation was called; the mean."""
    families: dict[str, list[Operation]] = defaultdict(list)
    for one in history:
        families[named_family(one)].append(one)
    others = sum(
        sum(other.begin <= one.begin < other.end for other in some) - 1 for some in families.values() for one in some
    )
    return others / len(history)


def answered_by(store: nk.Store, one: Operation) -> tuple[Answer | str, ...]:
    """What a store in this process answers."""
    names, texts = [name for name, _ in one.documents], [text_of(content) for _, content in one.documents if content]
    if one.call in ("get", "remove") and not all(name in store for name in names):
        return ("absent",) * len(names)
    if one.call == "remove":
        store.remove(names)
        return ("removed",) * len(names)
    rows: list[Any]
    if one.call == "get":
        rows = [(known.status, known.match, known.distance, known.similarity) for known in store.get(names) if known]
    else:
        try:
            answers = store.check(texts) if one.call == "check" else store.check_and_add(texts, names)
        except InputError:
            return ("other-content",) * len(names)
        rows = list(zip(*answers.columns.values(), strict=True))
    return tuple(Answer(name, match, far, None if np.isnan(like) else like) for name, match, far, like in rows)


def test_the_model_answers_as_a_store_does(tmp_path: Path) -> None:
    """The same script, one call after the other."""
    script = Script(2, 2000)
    state: State = ()
    with nk.Store.create(tmp_path / "pages.store", threshold=0.7, max_pending=200) as store:
        model = Model(likeness_of(Script.families(2000), store.settings))
        while script:
            one = script.operation(0)
            state, expected = model.step(state, one)
            assert expected == answered_by(store, one), one


@pytest.mark.parametrize("count", [5_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_what_sixteen_clients_see_of_the_service_is_linearizable(tmp_path: Path, count: int) -> None:
    """Checks, additions, removals and questions, single and in batches, on families that few documents share."""
    path, script = tmp_path / "pages.store", Script(1, count)
    with nk.Store.create(path, threshold=0.7) as store:
        likeness = likeness_of(Script.families(count), store.settings)
    assert likeness
    # A machine that sleeps for a while closes no connection.
    with serving(path, "--timeout", "3600") as service:
        history = asyncio.run(history_of(service, script))
        assert 0 == service.end()
    assert count == len(history)
    assert 1 < overlap_of(history)
    found = violation_of(history, likeness, named_family)
    if found is not None:
        write_history(tmp_path / "history.jsonl", history, likeness)
    assert found is None, f"{found}\n{tmp_path / 'history.jsonl'}"
    # All that can be said was said.
    told = {one if isinstance(one, str) else one.status for operation in history for one in operation.seen or ()}
    assert {"new", "exact", "near", "known", "other-content", "absent", "removed"} == told
