"""What the threads of a service do with groups of jobs: calls of `nearkin.store.Store`, and nothing else.

Documents of several requests are given to the store in one call, which answers as if they had come one by one. Where
one of them is refused, the requests are done one by one, so that each has its own error.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.service.bodies import Documents
from nearkin.service.errors import FULL, Problem, disk_full, problem_of
from nearkin.service.executor import Job
from nearkin.service.logs import log
from nearkin.service.responses import Outcome
from nearkin.store.results import CheckResult
from nearkin.store.store import Store

BACKUP = 0.12
"""Share of the time that a backup takes of the disk."""
KEY = "idempotency_key"
"""The column that remembers an idempotency key."""
_OF_ONE = (InputError, ParameterError, MismatchError)
"""Errors that a document or a request has by itself."""
_FEW = 3
"""Documents that are asked one by one sooner than together."""
_ROOM = 16 << 20
"""Bytes that must be free before changes are tried again after the disk was full."""


def do_questions(store: Store, group: Sequence[Job]) -> list[Any]:
    """Answer questions."""
    if group[0].call is not None:
        return [_called(store, job) for job in group]
    joined = _joined(group)
    k = group[0].k
    try:
        if 1 < len(joined) <= _FEW and len(group) == len(joined):
            return [
                Outcome(store.check(job.documents.items, k=k, kind=job.documents.kind), {})
                for job in group
                if job.documents
            ]
        answers = store.check(joined.items, k=k, kind=joined.kind)
    except _OF_ONE as error:
        if len(group) > 1:
            return [one for job in group for one in do_questions(store, [job])]
        return [_one_by_one(group[0], lambda part: store.check(part.items, k=k, kind=part.kind), error)]
    return [Outcome(part, {}) for part in _parts(answers, group)]


class Changes:
    """Does changes; while the disk is full it refuses them without trying."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.full: str | None = None
        """What the disk said, until there is room again."""

    def __call__(self, store: Store, group: Sequence[Job]) -> list[Any]:
        """Do a group of changes."""
        self._check_room()
        try:
            if group[0].call is not None:
                return [_called(store, job) for job in group]
            return self._change(store, group)
        except OSError as error:
            if error.errno in FULL:
                self.full = str(error)
                log("error", "disk-full", detail=self.full)
            raise

    def _check_room(self) -> None:
        if self.full is None:
            return
        if shutil.disk_usage(self._folder).free < _ROOM:
            raise disk_full(self.full)
        log("info", "disk-has-room")
        self.full = None

    def _change(self, store: Store, group: Sequence[Job]) -> list[Any]:
        joined, verb = _joined(group), group[0].verb
        method = store.check_and_add if verb == "check-and-add" else store.add
        strict = any(job.whole and len(job.documents or ()) > 1 for job in group)

        def change(some: Documents, *, raises: bool) -> CheckResult:
            how = "raise" if raises else "report"
            return method(some.items, some.ids, columns=some.columns, kind=some.kind, conflicts=how)  # type: ignore[arg-type]

        try:
            answers = change(joined, raises=strict)
        except _OF_ONE as error:
            if len(group) > 1:
                return [one for job in group for one in self._alone(store, job)]
            outcome = _one_by_one(group[0], lambda part: change(part, raises=False), error, self._failed)
            if isinstance(outcome, Outcome) and group[0].key is not None and "known" in outcome.answers.status:
                _repeat_first(store, joined, outcome.answers, group[0].key)
            return [outcome]
        return [_finished(store, job, part) for job, part in zip(group, _parts(answers, group), strict=True)]

    def _alone(self, store: Store, job: Job) -> list[Any]:
        try:
            return self._change(store, [job])
        except Exception as error:
            # Others of the group may be committed: this one alone has failed.
            return [self._failed(error)]

    def _failed(self, error: Exception) -> Problem:
        """The problem of one request among several."""
        if isinstance(error, OSError) and error.errno in FULL:
            self.full = str(error)
            log("error", "disk-full", detail=self.full)
        return problem_of(error)


def _called(store: Store, job: Job) -> Any:
    """The result of a call, or its problem."""
    try:
        return job.call(store) if job.call is not None else None
    except _OF_ONE as error:
        return problem_of(error)


def _one_by_one(job: Job, call: Any, error: Exception, failed: Callable[[Exception], Problem] = problem_of) -> Any:
    """The documents of a request that need not be whole, each by itself; else the error that all share.

    `failed` makes a problem of the error of one.
    """
    documents = _with_key(job)
    if job.documents is None or job.whole or len(documents) < 2:
        return problem_of(error)
    found: list[CheckResult] = []
    problems: dict[int, Problem] = {}
    for number in range(len(documents)):
        try:
            answers = call(documents.part(number))
        except Exception as one:
            problems[number] = failed(one)
            answers = _no_answer(job)
        _tell_conflicts(answers, documents, number, problems)
        found.append(answers)
    return Outcome(_joined_answers(found, documents), problems)


def _no_answer(job: Job) -> CheckResult:
    return CheckResult(["conflict"], [None], np.full(1, -1), np.full(1, np.nan), None if job.k is None else [[]])


def _joined_answers(found: Sequence[CheckResult], documents: Documents) -> CheckResult:
    own = [one.own_ids for one in found]
    ids = list(documents.ids) if documents.ids is not None else [ids[0] if ids else None for ids in own]
    return CheckResult(
        [one.status[0] for one in found],
        [one.ids[0] for one in found],
        np.concatenate([one.distances for one in found]),
        np.concatenate([one.similarities for one in found]),
        [one.matches[0] for one in found if one.matches] if found[0].matches is not None else None,
        max((one.verified for one in found), default=""),
        ids if any(own) else None,  # type: ignore[arg-type]  # Those that were refused have none.
    )


def _finished(store: Store, job: Job, answers: CheckResult) -> Any:
    """The outcome of a change: conflicts as problems, and first answers again where the request was sent before."""
    documents = job.documents
    if documents is None:
        return Outcome(answers, {})
    if job.key is not None and "known" in answers.status:
        _repeat_first(store, documents, answers, job.key)
    problems: dict[int, Problem] = {}
    if "conflict" in answers.status:
        _tell_conflicts(answers, documents, None, problems)
        if job.whole:
            return next(iter(problems.values()))
    return Outcome(answers, problems)


def _tell_conflicts(answers: CheckResult, documents: Documents, first: int | None, problems: dict[int, Problem]) -> None:
    """Problems of ids that are those of other contents; `first` is the number of the first of the answers."""
    for at, status in enumerate(answers.status):
        number = at if first is None else first + at
        if status == "conflict" and number not in problems:
            name = documents.ids[number]
            said = f"id {name!r} is that of another content; remove the old document first, or give another id"
            problems[number] = Problem("other-content", said, id=name)


def _repeat_first(store: Store, documents: Documents, answers: CheckResult, key: str) -> None:
    """Give documents that this very request has added before their first status again."""
    seen: set[Any] = set()
    places = []
    for at, (name, status) in enumerate(zip(documents.ids, answers.status, strict=True)):
        if status == "known" and name not in seen:
            places.append(at)
        seen.add(name)
    stored = store.get([documents.ids[at] for at in places], missing_ok=True)
    for at, one in zip(places, stored, strict=True):
        if one is not None and one.columns.get(KEY) == key:
            answers.status[at] = one.status


def _joined(group: Sequence[Job]) -> Documents:
    """The documents of all jobs, in order."""
    some = [_with_key(job) for job in group]
    if len(some) == 1:
        return some[0]
    first = some[0]
    items: Any
    if isinstance(first.items, np.ndarray):
        items = np.concatenate([one.items for one in some])
    elif isinstance(first.items, pa.Array):
        items = pa.concat_arrays([one.items for one in some])
    else:
        items = [item for one in some for item in one.items]
    ids = None if first.ids is None else [name for one in some for name in one.ids]
    columns = None
    if any(one.columns is not None for one in some):
        columns = [cells for one in some for cells in _by_row(one)]
    return Documents(items, ids, columns, first.kind)


def _by_row(documents: Documents) -> list[dict[str, Any]]:
    columns = documents.columns
    if columns is None:
        return [{} for _ in range(len(documents))]
    if isinstance(columns, dict):
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return list(columns)


def _with_key(job: Job) -> Documents:
    documents = job.documents
    if documents is None:
        return Documents([])
    if job.key is None:
        return documents
    columns = [{**cells, KEY: job.key} for cells in _by_row(documents)]
    return Documents(documents.items, documents.ids, columns, documents.kind)


def _parts(answers: CheckResult, group: Sequence[Job]) -> list[CheckResult]:
    """The answers of each job."""
    if len(group) == 1:
        return [answers]
    found, start = [], 0
    for job in group:
        some = slice(start, start + len(job.documents or ()))
        found.append(
            CheckResult(
                answers.status[some],
                answers.ids[some],
                answers.distances[some],
                answers.similarities[some],
                None if answers.matches is None else answers.matches[some],
                answers.verified,
                None if answers.own_ids is None else answers.own_ids[some],
            )
        )
        start = some.stop
    return found


_maintenance = threading.Lock()


def backup(folder: Path, target: Path) -> None:
    """Copy a store, through a handle of its own, so that nothing waits."""
    with _maintenance, Store.open(folder, "r") as store:
        store.backup(target, share=BACKUP)
