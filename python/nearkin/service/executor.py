"""Execution of store requests: admission, batching, and the threads that own the handles on the store.

Changes are executed by one thread, which passes all queued ones (up to `MAX_GROUP` documents) to the store in one
call: one commit, one sync. Queries are executed by another thread with its own handle, so that they never wait for a
commit; queued checks share a call too. The event loop never calls the store.

Documents of several requests in one call get the results that one call each would give; only numbers of copies, and
frequent lines of pages, count those of the others too. If one of them is refused, the
requests are executed one by one, so that each gets its own error.
"""

from __future__ import annotations

import asyncio
import queue
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.service.bodies import DocumentBatch
from nearkin.service.errors import DISK_FULL, Problem, disk_full, problem_from, retry_after
from nearkin.service.models import KEY
from nearkin.service.settings import Limits
from nearkin.service.telemetry import Metrics, log
from nearkin.store.dedup import OnBetter
from nearkin.store.lines import site_names
from nearkin.store.results import CheckResult
from nearkin.store.store import Conflicts, Store

MAX_GROUP = 2000
"""Maximum number of documents of several requests in one call; a single batch may have more."""
LINGER = 0.002
"""Seconds that a group waits for requests that are likely to arrive."""
MIN_FREE = 16 << 20
"""Bytes that must be free before changes are tried again after the disk was full."""
_LARGE = 256
"""Documents from which a request is passed on without waiting for others."""
_MAX_AHEAD = 2
"""Groups of large requests that are handed to the thread at once."""
_SMALL_GROUP = 3
"""Documents up to which separate checks are faster than one call."""
_INPUT_ERRORS = (InputError, ParameterError, MismatchError)
"""Errors that a single document or request causes."""

Operation = Literal["check", "add", "check-and-add", "call"]


@dataclass(eq=False)
class Request:
    """A request to the store.

    Attributes
    ----------
    operation : str
        A method that takes documents, or "call".
    documents : DocumentBatch
    k : int, optional
        Number of best matches that a check returns.
    key : str, optional
        Idempotency key.
    line : int, optional
        Number of the first document's line, in a stream of lines.
    copies : bool
        True to count the documents that each kept one stands for.
    on_better : {"keep", "replace"}, optional
        As of `Store.check_and_add`.
    call : function of a store, optional
        For "call".
    future : asyncio.Future
        Result, on the event loop.
    """

    operation: Operation
    documents: DocumentBatch = field(default_factory=lambda: DocumentBatch([]))
    k: int | None = None
    key: str | None = None
    line: int | None = None
    copies: bool = False
    on_better: OnBetter | None = None
    call: Callable[[Store], Any] | None = None
    future: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def can_join(self, other: Request) -> bool:
        """Return True if one call of the store can execute both requests."""
        left, right = self.documents, other.documents
        own, others = ((it.operation, it.k, it.copies, it.on_better, it.documents.kind) for it in (self, other))
        if self.call is not None or own != others:
            return False
        if type(left.items) is not type(right.items) or (left.ids is None) != (right.ids is None):
            return False
        if left.ids and right.ids and type(left.ids[0]) is not type(right.ids[0]):
            return False
        return not isinstance(left.items, np.ndarray) or bool(left.items.shape[1:] == right.items.shape[1:])

    def column_rows(self) -> list[dict[str, Any]] | None:
        """Return the columns of the documents, with the idempotency key as one of them."""
        columns = self.documents.columns
        if self.key is None:
            return columns
        rows = columns or [{}] * len(self.documents)
        return [{**row, KEY: self.document_key(number)} for number, row in enumerate(rows)]

    def document_key(self, number: int) -> str | None:
        """Return the key of a document. In a stream it has the line, because a later line may repeat the id."""
        return self.key if self.key is None or self.line is None else f"{self.key}:{self.line + number}"


class Admission:
    """Bounds of the bytes and documents that are being read or queued. It is used on the event loop only."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.bytes, self.documents = 0, 0

    def reserve_bytes(self, count: int) -> None:
        """Reserve bytes of a body, or release them if `count` is negative; raises busy."""
        self.bytes = _reserve("bytes of requests", self.bytes, count, self._limits.max_pending)

    def reserve_documents(self, count: int) -> None:
        """Reserve documents of a request, or release them if `count` is negative; raises busy."""
        self.documents = _reserve("documents", self.documents, count, self._limits.max_documents)

    def can_reserve(self, documents: int) -> bool:
        """Return True if this many documents fit; any number does if the queue is empty."""
        return not self.documents or self.documents + documents <= self._limits.max_documents


def _reserve(what: str, used: int, count: int, limit: int) -> int:
    if count > 0 and used + count > limit:
        found = f"{used:,} {what} are queued"
        raise Problem("busy", f"{found}; try again later", headers=retry_after(1), found=found)
    return used + count


Execute = Callable[[Store, Sequence[Request]], list[Any]]
"""Executes a group of requests: a result or an exception for each."""


class StoreWorker:
    """A thread with a handle on the store, and its queue.

    Requests wait on the event loop, where they are grouped, so that the thread wakes up once per group.

    Parameters
    ----------
    name : {"reader", "writer"}
    open_store : callable
        Opens the handle, in the thread.
    execute : Execute
    metrics : Metrics
    """

    def __init__(self, name: str, open_store: Callable[[], Store], execute: Execute, metrics: Metrics) -> None:
        self.name, self._open, self._execute, self._metrics = name, open_store, execute, metrics
        self._pending: deque[Request] = deque()
        self._groups: queue.SimpleQueue[list[Request] | None] = queue.SimpleQueue()
        self._num_running = 0
        self._expected = 1
        self._timer: asyncio.TimerHandle | None = None
        self.store: Store | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> asyncio.Future[None]:
        """Start the thread; the future is done when the store is open, or has the error."""
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()
        self._thread = threading.Thread(target=self._run, args=(loop, opened), name=f"nearkin-{self.name}", daemon=True)
        self._thread.start()
        return opened

    async def stop(self) -> None:
        """Finish what the thread is executing, refuse what is queued, and close the store."""
        if self._timer is not None:
            self._timer.cancel()
        refusal = Problem("not-ready", "the service has shut down; try again", headers=retry_after(1))
        _resolve([(request.future, refusal) for request in self._pending])
        self._pending.clear()
        self._groups.put(None)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    # On the event loop

    def submit(self, request: Request) -> None:
        """Queue a request."""
        self._pending.append(request)
        self._dispatch()

    def _dispatch(self) -> None:
        """Pass a group to the thread if it is idle and enough requests wait; large requests also ahead of time.

        Clients that got their responses together send again together: as many requests as there were at once the last
        time are waited for, `LINGER` at most, so that they share a commit.
        """
        while self._pending and self._num_running < _MAX_AHEAD:
            first = self._pending[0]
            is_large = len(first.documents) >= _LARGE
            if self._num_running and not is_large:
                return
            if first.call is None and not is_large and len(self._pending) < self._expected:
                if self._timer is None:
                    self._timer = asyncio.get_running_loop().call_later(LINGER, self._end_linger)
                return
            self._pass_group()

    def _end_linger(self) -> None:
        self._timer = None
        if self._pending and not self._num_running:
            self._pass_group()

    def _pass_group(self) -> None:
        """Pass the first request, and those after it that can join it, to the thread."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        first = self._pending.popleft()
        group, count = [first], len(first.documents)
        while self._pending and first.can_join(self._pending[0]):
            count += len(self._pending[0].documents)
            if count > MAX_GROUP:
                break
            group.append(self._pending.popleft())
        self._num_running += 1
        self._groups.put(group)

    def _finish(self, group: list[Request], results: list[Any]) -> None:
        self._num_running -= 1
        self._expected = len(group) + len(self._pending)
        _resolve([(request.future, result) for request, result in zip(group, results, strict=True)])
        self._dispatch()

    # In the thread

    def _run(self, loop: asyncio.AbstractEventLoop, opened: asyncio.Future[None]) -> None:
        try:
            self.store = self._open()
        except BaseException as error:
            loop.call_soon_threadsafe(_resolve, [(opened, error)])
            return
        loop.call_soon_threadsafe(_resolve, [(opened, None)])
        try:
            while (group := self._groups.get()) is not None:
                # A call may replace the store.
                loop.call_soon_threadsafe(self._finish, group, self._results(self.store, group))
        except RuntimeError:
            # The loop is closed because the process ends.
            return
        finally:
            self.store.close()

    def _results(self, store: Store, group: list[Request]) -> list[Any]:
        start = time.perf_counter()
        try:
            results = self._execute(store, group)
        except BaseException as error:
            problem = problem_from(error)
            # The readiness check logs that the store was replaced, once.
            if problem.status >= 500 and problem.slug not in ("disk-full", "store-replaced"):
                log("error", "store", thread=self.name, error=f"{type(error).__name__}: {error}")
            results = [problem] * len(group)
        documents = sum(len(request.documents) for request in group if request.call is None)
        self._metrics.record_group(self.name, documents, results, time.perf_counter() - start)
        return results


def _resolve(results: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    """Resolve futures that nobody cancelled."""
    for future, result in results:
        if future.done():
            continue
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)


# Groups of requests


def execute_checks(store: Store, group: Sequence[Request]) -> list[Any]:
    """Execute read-only requests."""
    if group[0].call is not None:
        return [_execute_call(store, request) for request in group]
    k, kind = group[0].k, group[0].documents.kind
    if 1 < len(group) <= _SMALL_GROUP and all(len(request.documents) == 1 for request in group):
        return [result for request in group for result in execute_checks(store, [request])]
    try:
        documents = _join_documents(group)
        sites = None
        if store.settings.pages:
            sites = site_names(documents.ids or [""] * len(documents), documents.columns)
        return _split_result(store.check(documents.items, k=k, kind=kind, sources=sites), group)
    except _INPUT_ERRORS as error:
        if len(group) == 1:
            return [problem_from(error)]
        return [result for request in group for result in execute_checks(store, [request])]


class ChangeExecutor:
    """Executes changes. While the disk is full it refuses them without trying.

    Parameters
    ----------
    folder : Path
        The store, whose disk is watched.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.disk_error: str | None = None
        """Message of the system while the disk is full."""

    def __call__(self, store: Store, group: Sequence[Request]) -> list[Any]:
        """Execute a group of changes."""
        self.check_space()
        try:
            return self._execute(store, group)
        except OSError as error:
            if error.errno in DISK_FULL:
                self.disk_error = str(error)
                log("error", "disk-full", detail=self.disk_error)
            raise

    def _execute(self, store: Store, group: Sequence[Request]) -> list[Any]:
        if group[0].call is not None:
            return [_execute_call(store, request) for request in group]
        method: Callable[..., CheckResult] = store.add
        if group[0].operation == "check-and-add":
            method = partial(store.check_and_add, copies=group[0].copies, on_better=group[0].on_better)
        # A batch is added as a whole or not at all.
        conflicts: Conflicts = "raise" if any(len(request.documents) > 1 for request in group) else "report"
        documents = _join_documents(group)
        items, ids, columns, kind = documents.items, documents.ids, documents.columns, documents.kind
        try:
            result = method(items, ids, columns=columns, kind=kind, conflicts=conflicts)
        except _INPUT_ERRORS as error:
            if len(group) > 1:
                return [self._execute_alone(store, request) for request in group]
            return [problem_from(error)]
        return [_finish_change(store, *pair) for pair in zip(group, _split_result(result, group), strict=True)]

    def check_space(self) -> None:
        """Raise disk-full if the disk was full and still is."""
        if self.disk_error is None:
            return
        if shutil.disk_usage(self._folder).free < MIN_FREE:
            raise disk_full(self.disk_error)
        log("info", "disk-has-space")
        self.disk_error = None

    def _execute_alone(self, store: Store, request: Request) -> Any:
        try:
            return self(store, [request])[0]
        except Exception as error:
            # Other requests of the group may be committed: only this one failed.
            return problem_from(error)


def _execute_call(store: Store, request: Request) -> Any:
    try:
        return None if request.call is None else request.call(store)
    except _INPUT_ERRORS as error:
        return problem_from(error)


def _finish_change(store: Store, request: Request, result: CheckResult) -> CheckResult | Problem:
    """Return the result of a change: a problem for a conflict, and the first result for a repeated request."""
    ids = request.documents.ids or []
    if "conflict" in result.status:
        id = ids[result.status.index("conflict")]
        message = f"id {id!r} is that of another content; remove the old document first, or use another id"
        return Problem("other-content", message, id=id)
    if request.key is not None and "known" in result.status:
        # Only the first occurrence of an id can have added the document.
        first_rows = {id: row for row, id in reversed(list(enumerate(ids)))}
        rows = [row for row in first_rows.values() if result.status[row] == "known"]
        for row, document in zip(rows, store.get([ids[row] for row in rows], missing_ok=True), strict=True):
            if document is not None and document.columns.get(KEY) == request.document_key(row):
                result.status[row] = document.status
    return result


def _join_documents(group: Sequence[Request]) -> DocumentBatch:
    """Concatenate the documents of all requests, in order."""
    first = group[0].documents
    if len(group) == 1:
        return replace(first, columns=group[0].column_rows())
    parts = [request.documents.items for request in group]
    items: Any
    if isinstance(first.items, np.ndarray):
        items = np.concatenate(parts)
    elif isinstance(first.items, pa.Array):
        items = pa.concat_arrays(parts)
    else:
        items = [item for part in parts for item in part]
    ids = None if first.ids is None else [id for request in group for id in request.documents.ids or ()]
    columns = [request.column_rows() for request in group]
    rows = None
    if any(part is not None for part in columns):
        pairs = zip(columns, group, strict=True)
        rows = [row for part, request in pairs for row in part or [{}] * len(request.documents)]
    return DocumentBatch(items, ids, rows, first.kind)


def _split_result(result: CheckResult, group: Sequence[Request]) -> list[CheckResult]:
    """Split a result into those of the requests."""
    if len(group) == 1:
        return [result]
    ends = [*accumulate(len(request.documents) for request in group)]
    return [result.part(start, stop) for start, stop in pairwise([0, *ends])]
