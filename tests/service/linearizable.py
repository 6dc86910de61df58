"""Tells whether a history is linearizable: each call took effect at one moment between its begin and its answer.

A history is what clients saw: for each operation when it was called, when its answer came, and the answer. It is
linearizable if there is an order of all operations that

1. keeps real time: what was answered before another was called stands before it;
2. is what a store does that gets one operation after the other (`Model`, by definition, from docs/store.md).

**Parts.** Linearizability is local (Herlihy and Wing 1990, theorem 1): a history is linearizable if, and only if, for
each object the operations on it are. An object here is a *family*: documents whose contents may match one another, and
their ids. Contents of different families never match, and ids are of one family only, so that no answer about one
depends on another.

**Search.** Wing and Gong (1993): take any operation that may be the next, that is, one that was called before the first
answer among those that are left; if the model, in its state, gives the answer that the client saw, go on from there;
else try another, and step back where none is left. Lowe (2017): two ways that took the same set of operations and came
to the same state need not both be followed, so that each pair of set and state is visited once. A set is written as the
number of the first operation that is not in it, and a mask of those behind; it is no wider than operations overlap.
An operation that may be next, fits, and changes nothing is taken at once, without another try: whether an operation
changes the store follows from its answer, so that in any order that goes on from here it can be moved to this place.
Time is linear in the operations where few overlap, and exponential in their overlap at worst.

**No answer.** An operation whose answer never came (the service was killed) may have taken effect at any time after its
call, or never: it may stand anywhere behind its call in the order, with any answer, or be left out.

Run on a file: `python tests/service/linearizable.py HISTORY.jsonl`, a line per operation (`write_history`) and one per
pair of contents that match. Exit code 1, and the operations around the fault, where the history is not linearizable.

References
----------
M. P. Herlihy, J. M. Wing, "Linearizability: A Correctness Condition for Concurrent Objects", TOPLAS 12 (1990); J. M.
Wing, C. Gong, "Testing and Verifying Concurrent Objects", JPDC 17 (1993), section 4; G. Lowe, "Testing for
linearizability", Concurrency and Computation 29 (2017), section 4.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

CALLS = ("check", "check-and-add", "remove", "get")
FOREVER = 1 << 63
"""The moment of an answer that never came."""


class Answer(NamedTuple):
    """What is said of a document: NaN and null are None, so that equal answers are equal."""

    status: str
    match: str | None
    distance: float
    similarity: float | None


class Operation(NamedTuple):
    """One call as its client saw it.

    `seen` has one entry per document: an `Answer`; "other-content" where the id is that of another content (then of
    every document, since a batch is all or none); "absent" and "removed" of `get` and `remove`.
    """

    client: int
    call: str
    documents: tuple[tuple[str, str], ...]
    """Ids and contents, in order; a `check` has no id, `get` and `remove` no content: an empty string stands there."""
    begin: int
    end: int
    seen: tuple[Answer | str, ...] | None
    """None where no answer came; then `end` is FOREVER."""


class Stored(NamedTuple):
    """A document of the model."""

    id: str
    content: str
    answer: Answer


State = tuple[Stored, ...]
"""Documents in the order of their coming."""
NEW = Answer("new", None, -1, None)
Likeness = Mapping[tuple[str, str], tuple[float, float]]
"""Distance and similarity of two different contents that match, in both orders."""


class Model:
    """What a store does, one operation after the other: `docs/store.md` by definition.

    Parameters
    ----------
    likeness : mapping of pairs of contents to distance and similarity
        Of all that match.
    """

    def __init__(self, likeness: Likeness) -> None:
        self._likeness = likeness

    def decide(self, state: State, content: str) -> Answer:
        """What a document would be if it came now: a copy of one that stays, near the first that matches, or new."""
        near = NEW
        for one in state:
            if one.answer.status != "new":
                continue
            if one.content == content:
                return Answer("exact", one.id, 0, 1.0)
            like = self._likeness.get((content, one.content))
            if like is not None and near is NEW:
                near = Answer("near", one.id, *like)
        return near

    def step(self, state: State, operation: Operation) -> tuple[State, tuple[Answer | str, ...]]:
        """The state after an operation, and its answer."""
        call, documents = operation.call, operation.documents
        if call == "check":
            return state, tuple(self.decide(state, content) for _, content in documents)
        if call == "get":
            known = {one.id: one.answer for one in state}
            return state, tuple(known.get(name, "absent") for name, _ in documents)
        if call == "remove":
            return self._remove(state, [name for name, _ in documents])
        return self._add(state, documents)

    def _add(self, state: State, documents: Sequence[tuple[str, str]]) -> tuple[State, tuple[Answer | str, ...]]:
        """All of a batch in order, or none where an id is that of another content."""
        after, seen = state, []
        for name, content in documents:
            old = next((one for one in after if one.id == name), None)
            if old is not None and old.content != content:
                return state, ("other-content",) * len(documents)
            if old is None:
                answer = self.decide(after, content)
                after = (*after, Stored(name, content, answer))
            else:
                answer = old.answer._replace(status="known")
            seen.append(answer)
        return after, tuple(seen)

    def _remove(self, state: State, names: Sequence[str]) -> tuple[State, tuple[Answer | str, ...]]:
        """Documents go, all or none; who matched one of them keeps all of the answer but its name."""
        there = {one.id for one in state}
        if not there.issuperset(names):
            return state, ("absent",) * len(names)
        left = [one for one in state if one.id not in names]
        after = (
            one._replace(answer=one.answer._replace(match=None)) if one.answer.match in names else one for one in left
        )
        return tuple(after), ("removed",) * len(names)


@dataclass(frozen=True)
class Violation:
    """Why a part of a history is not linearizable: the longest order that was found, and what could not follow it."""

    family: Hashable
    order: list[Operation]
    state: State
    stuck: list[tuple[Operation, tuple[Answer | str, ...]]]
    """The operations of which one had to be next, each with the answer that the model gives."""

    def __str__(self) -> str:
        lines = [f"family {self.family!r} is not linearizable: {len(self.order)} operations have an order, of which"]
        lines += [f"  {described(one)}" for one in self.order[-12:]]
        lines += ["are the last; then the store holds", *(f"  {one}" for one in self.state)]
        lines += ["and none of these can be next:"]
        lines += [f"  {described(one)}\n    must be {', '.join(map(shown, seen))}" for one, seen in self.stuck]
        return "\n".join(lines)


def shown(seen: Answer | str) -> str:
    """An answer on one line."""
    return seen if isinstance(seen, str) else " ".join(map(str, seen))


def described(one: Operation) -> str:
    """An operation on one line."""
    asked = ", ".join(f"{name}:{content[:24]!r}" for name, content in one.documents)
    end, seen = ("", "no answer") if one.seen is None else (str(one.end), ", ".join(map(shown, one.seen)))
    return f"[{one.begin}, {end}] client {one.client} {one.call} {asked} -> {seen}"


class _Place(NamedTuple):
    """Where a search stands: the operations that are in order, and the state after them."""

    base: int
    """The first operation that is not in order."""
    mask: int
    """Bit i tells whether operation `base + i` is."""
    state: int

    def with_operation(self, number: int, state: int) -> _Place:
        """The place after one more; the base moves behind all that are in order."""
        mask = self.mask | 1 << (number - self.base)
        ones = (mask ^ (mask + 1)).bit_length() - 1
        return _Place(self.base + ones, mask >> ones, state)


class _Search:
    """The search in one part: operations by the time of their call."""

    def __init__(self, operations: Iterable[Operation], model: Model) -> None:
        self._operations = sorted(operations, key=lambda one: (one.begin, one.end))
        self._model = model
        self._numbers: dict[State, int] = {(): 0}
        self._states: list[State] = [()]
        # What follows from a state by an operation, whoever called it and when.
        self._steps: dict[tuple[int, str, tuple[tuple[str, str], ...]], tuple[int, tuple[Answer | str, ...]]] = {}
        self._visited: set[_Place] = set()

    def _step(self, state: int, one: Operation) -> tuple[int, tuple[Answer | str, ...]]:
        key = (state, one.call, one.documents)
        found = self._steps.get(key)
        if found is None:
            after, seen = self._model.step(self._states[state], one)
            number = self._numbers.setdefault(after, len(self._states))
            if number == len(self._states):
                self._states.append(after)
            found = self._steps[key] = (number, seen)
        return found

    def _open(self, place: _Place) -> list[int]:
        """The operations that may be next, the last of the list to be tried first.

        They were called before the first answer among those that are left. Those stand in the order of their call, so
        that the first answer is one of an operation before the place where this ends. What never was answered is tried
        last.
        """
        operations, found, first = self._operations, [], FOREVER
        for number in range(place.base, len(operations)):
            one = operations[number]
            if one.begin > first:
                break
            if not place.mask >> (number - place.base) & 1:
                found.append(number)
                first = min(first, one.end)
        return sorted(found, key=lambda number: (operations[number].seen is not None, -number))

    def _that_change_nothing(self, place: _Place, opened: list[int]) -> list[int]:
        """One of the operations that fits and leaves the state as it is; none if there is none."""
        for number in reversed(opened):
            one = self._operations[number]
            if one.seen is not None and (place.state, one.seen) == self._step(place.state, one):
                return [number]
        return []

    def _follow(self, place: _Place, left: list[int]) -> tuple[int, _Place] | None:
        """The next operation of `left` that the model answers as its client saw, to a place that is not visited."""
        while left:
            number = left.pop()
            one = self._operations[number]
            state, seen = self._step(place.state, one)
            if one.seen is None or one.seen == seen:
                after = place.with_operation(number, state)
                if after not in self._visited:
                    self._visited.add(after)
                    return number, after
        return None

    def run(self, family: Hashable) -> Violation | None:
        """None where an order is there."""
        place = _Place(0, 0, 0)
        order: list[int] = []
        path: list[tuple[_Place, list[int]]] = []
        longest: tuple[list[int], _Place] = ([], place)
        while True:
            opened = self._open(place)
            if all(self._operations[number].seen is None for number in opened):
                return None
            path.append((place, self._that_change_nothing(place, opened) or opened))
            found = None
            while path and (found := self._follow(*path[-1])) is None:
                if len(order) > len(longest[0]):
                    longest = (list(order), path[-1][0])
                path.pop()
                del order[-1:]
            if found is None:
                return self._violation(family, *longest)
            order.append(found[0])
            place = found[1]

    def _violation(self, family: Hashable, order: list[int], place: _Place) -> Violation:
        operations, state = self._operations, self._states[place.state]
        stuck = [operations[number] for number in reversed(self._open(place))]
        reasons = [(one, self._model.step(state, one)[1]) for one in stuck]
        return Violation(family, [operations[number] for number in order], state, reasons)


def violation_of(
    history: Iterable[Operation], likeness: Likeness, family_of: Callable[[Operation], Hashable]
) -> Violation | None:
    """The first family whose operations have no order, or None: the history is linearizable.

    Parameters
    ----------
    history : iterable of Operation
        In any order. Times are of one clock that does not go back.
    likeness : mapping
        See `Model`.
    family_of : function
        The family of an operation. Families share no ids, and no contents that match.
    """
    parts: dict[Hashable, list[Operation]] = defaultdict(list)
    for one in history:
        parts[family_of(one)].append(one)
    model = Model(likeness)
    for family, operations in parts.items():
        found = _Search(operations, model).run(family)
        if found is not None:
            return found
    return None


def write_history(path: Path, history: Iterable[Operation], likeness: Likeness) -> None:
    """Write what `main` reads."""
    with path.open("w", encoding="utf-8") as file:
        for (one, other), (distance, similarity) in likeness.items():
            file.write(json.dumps({"one": one, "other": other, "like": [distance, similarity]}) + "\n")
        for operation in history:
            file.write(json.dumps(operation._asdict()) + "\n")


def read_history(path: Path) -> tuple[list[Operation], dict[tuple[str, str], tuple[float, float]]]:
    """What `write_history` wrote."""
    history, likeness = [], {}
    with path.open(encoding="utf-8") as file:
        for line in map(json.loads, file):
            if "like" in line:
                likeness[line["one"], line["other"]] = (line["like"][0], line["like"][1])
                continue
            seen: list[Any] | None = line["seen"]
            line["documents"] = tuple((name, content) for name, content in line["documents"])
            line["seen"] = (
                None if seen is None else tuple(one if isinstance(one, str) else Answer(*one) for one in seen)
            )
            history.append(Operation(**line))
    return history, likeness


def main() -> int:
    """Check a file; families are told by what stands before the first "-" of ids and the first space of contents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("history", type=Path)
    history, likeness = read_history(parser.parse_args().history)
    found = violation_of(history, likeness, named_family)
    print(found or f"{len(history)} operations are linearizable")
    return int(found is not None)


def named_family(one: Operation) -> str:
    """The family that stands in the id, before "-", or in the content, before the first space."""
    name, content = one.documents[0]
    return name.partition("-")[0] if name else content.partition(" ")[0]


if __name__ == "__main__":
    sys.exit(main())
