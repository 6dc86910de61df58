"""Check whether a history is linearizable: each call takes effect at one time between its start and its response.

A history has the start, end and result of each operation, as clients recorded them. It is linearizable if an order of
all operations exists that

1. respects real time: an operation that ended before another one started precedes it;
2. gives the recorded results when a store executes one operation at a time (`Model`, as docs/store.md defines it).

**Families.** Linearizability is local (Herlihy and Wing 1990, theorem 1): a history is linearizable if and only if the
operations on each object are. An object is a *family*: documents whose contents may match, and their ids. Contents of
different families never match, and an id belongs to one family, so that no result of one family depends on another.

**Search.** Wing and Gong (1993): choose an operation that may be next, that is, one that started before the first
remaining response. If the model gives the recorded result, continue from its state; otherwise try another one, and
backtrack if none is left. Lowe (2017): two paths with the same set of operations and the same state are equivalent, so
each pair of set and state is visited once. A set is stored as the number of the first missing operation and a mask of
the following ones; the mask is as wide as operations overlap. An operation that may be next, has the recorded result,
and changes nothing is chosen without backtracking: its result implies that it changes nothing, so it can be moved here
in any valid order. Time is linear in the operations if few overlap, and exponential in the overlap at worst.

**No response.** An operation without a response (the service was killed) may have taken effect at any time after its
start, or never: it may be anywhere after its start in the order, with any result, or be omitted.

Usage: `python tests/service/linearizable.py HISTORY.jsonl`, with a line per operation (`write_history`) and one per
pair of contents that match. If the history is not linearizable, it prints the operations around the violation and exits
with code 1.

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
"""End of an operation without a response."""


class Answer(NamedTuple):
    """Result of a document: NaN and null are None, so that equal results compare equal."""

    status: str
    match: str | None
    distance: float
    similarity: float | None


class Operation(NamedTuple):
    """A call as its client recorded it.

    `seen` has one entry per document: an `Answer`; "other-content" if an id belongs to other content (for every
    document, because a batch is all or nothing); "absent" and "removed" for `get` and `remove`.
    """

    client: int
    call: str
    documents: tuple[tuple[str, str], ...]
    """Ids and contents, in order; empty strings for the ids of `check` and the contents of `get` and `remove`."""
    begin: int
    end: int
    seen: tuple[Answer | str, ...] | None
    """None without a response; then `end` is FOREVER."""


class Stored(NamedTuple):
    """A document of the model."""

    id: str
    content: str
    answer: Answer


State = tuple[Stored, ...]
"""Documents in the order of addition."""
NEW = Answer("new", None, -1, None)
Likeness = Mapping[tuple[str, str], tuple[float, float]]
"""Distance and similarity of each pair of matching contents, in both orders."""


class Model:
    """Sequential model of a store, as `docs/store.md` defines it.

    Parameters
    ----------
    likeness : mapping of pairs of contents to distance and similarity
        All matching pairs.
    """

    def __init__(self, likeness: Likeness) -> None:
        self._likeness = likeness

    def decide(self, state: State, content: str) -> Answer:
        """Return the result of a document: a copy of a kept one, near the first match, or new."""
        near = NEW
        for stored in state:
            if stored.answer.status != "new":
                continue
            if stored.content == content:
                return Answer("exact", stored.id, 0, 1.0)
            like = self._likeness.get((content, stored.content))
            if like is not None and near is NEW:
                near = Answer("same-letters" if like[1] == 1 else "near", stored.id, *like)
        return near

    def step(self, state: State, operation: Operation) -> tuple[State, tuple[Answer | str, ...]]:
        """Return the state after an operation, and its result."""
        call, documents = operation.call, operation.documents
        if call == "check":
            return state, tuple(self.decide(state, content) for _, content in documents)
        if call == "get":
            answers = {stored.id: stored.answer for stored in state}
            return state, tuple(answers.get(name, "absent") for name, _ in documents)
        if call == "remove":
            return self._remove(state, [name for name, _ in documents])
        return self._add(state, documents)

    def _add(self, state: State, documents: Sequence[tuple[str, str]]) -> tuple[State, tuple[Answer | str, ...]]:
        """Add a batch in order, or nothing if an id belongs to other content."""
        after, seen = state, []
        for name, content in documents:
            old = next((stored for stored in after if stored.id == name), None)
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
        """Remove documents, all or none; a copy takes the place of one, and without a copy those that matched it go."""
        contents = {stored.id: stored.content for stored in state}
        if not contents.keys() >= set(names):
            return state, ("absent",) * len(names)
        left = [stored for stored in state if stored.id not in names]
        members = [stored for stored in left if stored.answer.match in names]
        heirs: dict[str | None, Stored] = {}
        for stored in members:
            if stored.content == contents[str(stored.answer.match)]:
                heirs.setdefault(stored.answer.match, stored)
        after = [stored for stored in left if stored not in members]
        after += [stored._replace(answer=NEW) for stored in heirs.values()]
        for stored in members:
            heir = heirs.get(stored.answer.match)
            if heir is not None and heir is not stored:
                after.append(stored._replace(answer=stored.answer._replace(match=heir.id)))
        return tuple(after), ("removed",) * len(names)


@dataclass(frozen=True)
class Violation:
    """A violation in a family: the longest valid order, and the operations that can't follow it."""

    family: Hashable
    order: list[Operation]
    state: State
    stuck: list[tuple[Operation, tuple[Answer | str, ...]]]
    """Operations that may be next, each with the result of the model."""

    def __str__(self) -> str:
        lines = [f"family {self.family!r} is not linearizable: {len(self.order)} operations have an order, of which"]
        lines += [f"  {described(operation)}" for operation in self.order[-12:]]
        lines += ["are the last; then the store holds", *(f"  {operation}" for operation in self.state)]
        lines += ["and none of these can be next:"]
        lines += [
            f"  {described(operation)}\n    must be {', '.join(map(shown, seen))}" for operation, seen in self.stuck
        ]
        return "\n".join(lines)


def shown(seen: Answer | str) -> str:
    """Return a result on one line."""
    return seen if isinstance(seen, str) else " ".join(map(str, seen))


def described(operation: Operation) -> str:
    """Return an operation on one line."""
    documents = ", ".join(f"{name}:{content[:24]!r}" for name, content in operation.documents)
    end, seen = (
        ("", "no answer") if operation.seen is None else (str(operation.end), ", ".join(map(shown, operation.seen)))
    )
    return f"[{operation.begin}, {end}] client {operation.client} {operation.call} {documents} -> {seen}"


class _Place(NamedTuple):
    """A node of the search: the set of ordered operations, and the state after them."""

    base: int
    """First operation that is not in the set."""
    mask: int
    """Bit i is set if operation `base + i` is."""
    state: int

    def with_operation(self, number: int, state: int) -> _Place:
        """Return the node after another operation."""
        mask = self.mask | 1 << (number - self.base)
        ones = (mask ^ (mask + 1)).bit_length() - 1
        return _Place(self.base + ones, mask >> ones, state)


class _Search:
    """The search in one family: operations by start time."""

    def __init__(self, operations: Iterable[Operation], model: Model) -> None:
        self._operations = sorted(operations, key=lambda one: (one.begin, one.end))
        self._model = model
        self._numbers: dict[State, int] = {(): 0}
        self._states: list[State] = [()]
        # Transitions by state and operation, for any client and time.
        self._steps: dict[tuple[int, str, tuple[tuple[str, str], ...]], tuple[int, tuple[Answer | str, ...]]] = {}
        self._visited: set[_Place] = set()

    def _step(self, state: int, operation: Operation) -> tuple[int, tuple[Answer | str, ...]]:
        key = (state, operation.call, operation.documents)
        transition = self._steps.get(key)
        if transition is None:
            after, seen = self._model.step(self._states[state], operation)
            number = self._numbers.setdefault(after, len(self._states))
            if number == len(self._states):
                self._states.append(after)
            transition = self._steps[key] = (number, seen)
        return transition

    def _open(self, node: _Place) -> list[int]:
        """Return the operations that may be next; the last one is tried first.

        They were called before the first answer among those that are left. Those stand in the order of their call, so
        that the first answer is one of an operation before the place where this ends. What never was answered is tried
        last.
        """
        operations, candidates, first = self._operations, [], FOREVER
        for number in range(node.base, len(operations)):
            operation = operations[number]
            if operation.begin > first:
                break
            if not node.mask >> (number - node.base) & 1:
                candidates.append(number)
                first = min(first, operation.end)
        return sorted(candidates, key=lambda number: (operations[number].seen is not None, -number))

    def _that_change_nothing(self, node: _Place, opened: list[int]) -> list[int]:
        """Return one valid operation that does not change the state, or none."""
        for number in reversed(opened):
            operation = self._operations[number]
            if operation.seen is not None and (node.state, operation.seen) == self._step(node.state, operation):
                return [number]
        return []

    def _follow(self, node: _Place, left: list[int]) -> tuple[int, _Place] | None:
        """Return the next valid operation of `left` that leads to an unvisited node."""
        while left:
            number = left.pop()
            operation = self._operations[number]
            state, seen = self._step(node.state, operation)
            if operation.seen is None or operation.seen == seen:
                after = node.with_operation(number, state)
                if after not in self._visited:
                    self._visited.add(after)
                    return number, after
        return None

    def run(self, family: Hashable) -> Violation | None:
        """Return a violation, or None if a valid order exists."""
        node = _Place(0, 0, 0)
        order: list[int] = []
        path: list[tuple[_Place, list[int]]] = []
        longest: tuple[list[int], _Place] = ([], node)
        while True:
            opened = self._open(node)
            if all(self._operations[number].seen is None for number in opened):
                return None
            path.append((node, self._that_change_nothing(node, opened) or opened))
            step = None
            while path and (step := self._follow(*path[-1])) is None:
                if len(order) > len(longest[0]):
                    longest = (list(order), path[-1][0])
                path.pop()
                del order[-1:]
            if step is None:
                return self._violation(family, *longest)
            order.append(step[0])
            node = step[1]

    def _violation(self, family: Hashable, order: list[int], node: _Place) -> Violation:
        operations, state = self._operations, self._states[node.state]
        stuck = [operations[number] for number in reversed(self._open(node))]
        reasons = [(operation, self._model.step(state, operation)[1]) for operation in stuck]
        return Violation(family, [operations[number] for number in order], state, reasons)


def violation_of(
    history: Iterable[Operation], likeness: Likeness, family_of: Callable[[Operation], Hashable]
) -> Violation | None:
    """Return the violation of the first family without a valid order, or None if the history is linearizable.

    Parameters
    ----------
    history : iterable of Operation
        In any order. All times are of one monotonic clock.
    likeness : mapping
        See `Model`.
    family_of : function
        Returns the family of an operation. Families share no ids and no matching contents.
    """
    parts: dict[Hashable, list[Operation]] = defaultdict(list)
    for operation in history:
        parts[family_of(operation)].append(operation)
    model = Model(likeness)
    for family, operations in parts.items():
        violation = _Search(operations, model).run(family)
        if violation is not None:
            return violation
    return None


def write_history(path: Path, history: Iterable[Operation], likeness: Likeness) -> None:
    """Write what `main` reads."""
    with path.open("w", encoding="utf-8") as file:
        for (first, other), (distance, similarity) in likeness.items():
            file.write(json.dumps({"one": first, "other": other, "like": [distance, similarity]}) + "\n")
        for operation in history:
            file.write(json.dumps(operation._asdict()) + "\n")


def read_history(path: Path) -> tuple[list[Operation], dict[tuple[str, str], tuple[float, float]]]:
    """Read what `write_history` wrote."""
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
    """Check a file. The family is the part of an id before "-", or of a content before the first space."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("history", type=Path)
    history, likeness = read_history(parser.parse_args().history)
    violation = violation_of(history, likeness, named_family)
    print(violation or f"{len(history)} operations are linearizable")
    return int(violation is not None)


def named_family(operation: Operation) -> str:
    """Return the family of an operation: the part of an id before "-", or of a content before the first space."""
    name, content = operation.documents[0]
    return name.partition("-")[0] if name else content.partition(" ")[0]


if __name__ == "__main__":
    sys.exit(main())
