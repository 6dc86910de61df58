"""Jobs, and the threads that hold the store.

Requests become jobs. Changes go to one thread, which takes all that wait (up to `GROUP` documents) and gives them to
the store in one call: one commit, one sync. Questions go to another thread with a handle of its own, so that they wait
for no commit; those that wait are asked together, too. The event loop never calls the store.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from nearkin.service.bodies import Documents
from nearkin.service.logs import log
from nearkin.service.metrics import Metrics
from nearkin.service.problems import Problem, problem_of
from nearkin.service.settings import Limits

GROUP = 2000
"""Documents that are given to the store in one call; a batch may have more."""
LINGER = 0.001
"""Seconds that a group waits for jobs which are likely to come."""

Verb = Literal["check", "add", "check-and-add", "call"]


@dataclass(eq=False)
class Job:
    """What a request asks of the store.

    Attributes
    ----------
    verb : str
        A method that takes documents, or "call".
    future : asyncio.Future
        Of the result, on the event loop.
    documents : Documents, optional
    k : int, optional
        How many of the best matches a check gives.
    key : str, optional
        Idempotency key.
    whole : bool
        Whether a document that is refused refuses all.
    call : function of a store, optional
        For "call".
    """

    verb: Verb
    future: asyncio.Future[Any]
    documents: Documents | None = None
    k: int | None = None
    key: str | None = None
    whole: bool = True
    call: Callable[[Any], Any] | None = None

    def goes_with(self, other: Job) -> bool:
        """Whether the store can be given both in one call."""
        one, two = self.documents, other.documents
        if self.verb != other.verb or one is None or two is None or (self.k, one.kind) != (other.k, two.kind):
            return False
        if not (_joins(one.items, two.items) and (one.ids is None) == (two.ids is None)):
            return False
        return (
            one.ids is None
            or not len(one)
            or not len(two)
            or isinstance(one.ids[0], str) == isinstance(two.ids[0], str)
        )


def _joins(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return bool(one.shape[1:] == two.shape[1:])
    if isinstance(one, pa.Array) and isinstance(two, pa.Array):
        return bool(one.type == two.type)
    return isinstance(one, list) and isinstance(two, list)


class Busy:
    """What is read, or waits for the store: bytes and documents, each bounded. Used on the event loop alone."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.bytes, self.documents = 0, 0

    def take_bytes(self, count: int) -> None:
        """Make room for some of a body.

        Raises
        ------
        Problem
            busy.
        """
        if self.bytes + count > self._limits.pending:
            raise _busy(f"{self.bytes:,} bytes of requests wait")
        self.bytes += count

    def take_documents(self, count: int) -> None:
        """Make room for a job.

        Raises
        ------
        Problem
            busy.
        """
        if self.documents + count > self._limits.documents:
            raise _busy(f"{self.documents:,} documents wait")
        self.documents += count

    def has_room(self, size: int, documents: int) -> bool:
        """Whether both would be taken; what is larger than all there is, once nothing else waits."""
        bytes_fit = not self.bytes or self.bytes + size <= self._limits.pending
        return bytes_fit and (not self.documents or self.documents + documents <= self._limits.documents)


def _busy(found: str) -> Problem:
    return Problem("busy", f"{found}; send this again later", headers={b"retry-after": b"1"}, found=found)


_NONE = Job("call", None)  # type: ignore[arg-type]  # Nobody waits for it.
"""Stands for no job."""

Doer = Callable[[Any, Sequence[Job]], list[Any]]
"""What does a group of jobs with a store: a result or an exception for each."""


class Worker:
    """A thread with a handle on the store, and its queue.

    Parameters
    ----------
    name : str
        For the log.
    open_store : function
        Opens the handle, in the thread.
    do : Doer
    metrics : Metrics
    """

    def __init__(self, name: str, open_store: Callable[[], Any], do: Doer, metrics: Metrics) -> None:
        self.name, self._open, self._do, self._metrics = name, open_store, do, metrics
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._held: Job | None = None
        self._expected = 1
        self.store: Any = None
        self._thread: threading.Thread | None = None

    def start(self) -> asyncio.Future[None]:
        """Begin; the future is done once the store is open, or has the error."""
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()
        self._thread = threading.Thread(target=self._run, args=(loop, opened), name=f"nearkin-{self.name}", daemon=True)
        self._thread.start()
        return opened

    def put(self, job: Job) -> None:
        """Queue a job."""
        self._queue.put(job)

    def stop(self) -> None:
        """End after what is queued, and close the store; waits for the thread."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self, loop: asyncio.AbstractEventLoop, opened: asyncio.Future[None]) -> None:
        try:
            self.store = self._open()
        except BaseException as error:
            loop.call_soon_threadsafe(_settle, [(opened, error)])
            return
        loop.call_soon_threadsafe(_settle, [(opened, None)])
        try:
            while (job := self._next()) is not None:
                group = self._group(job)
                results = self._done(group)
                self._expected = len(group) + self._queue.qsize()
                futures = [one.future for one in group]
                loop.call_soon_threadsafe(_settle, list(zip(futures, results, strict=True)))
        except RuntimeError:
            # The loop is closed: the process ends.
            return
        finally:
            self.store.close()

    def _next(self) -> Job | None:
        held, self._held = self._held, None
        return held if held is not None else self._queue.get()

    def _group(self, first: Job) -> list[Job]:
        """The job and those behind it that go with it.

        Clients that were answered together send again together: as many jobs as there were at once the last time are
        waited for, `LINGER` at most, so that they share a commit.
        """
        group, count = [first], 0 if first.documents is None else len(first.documents)
        until = time.perf_counter() + LINGER
        while first.documents is not None and count < GROUP:
            job = self._another(until if len(group) < self._expected else None)
            if job is _NONE:
                break
            if job is None or not first.goes_with(job) or count + len(job.documents or ()) > GROUP:
                if job is None:
                    self._queue.put(None)
                else:
                    self._held = job
                break
            group.append(job)
            count += len(job.documents or ())
        return group

    def _another(self, until: float | None) -> Job | None:
        """The next job in the queue, waited for until then; `_NONE` where there is none."""
        try:
            left = 0.0 if until is None else until - time.perf_counter()
            return self._queue.get_nowait() if left <= 0 else self._queue.get(timeout=left)
        except queue.Empty:
            return _NONE

    def _done(self, group: list[Job]) -> list[Any]:
        begun = time.perf_counter()
        try:
            results = self._do(self.store, group)
        except BaseException as error:
            problem = problem_of(error)
            if problem.status >= 500 and problem.slug != "disk-full":
                log("error", "store", thread=self.name, error=f"{type(error).__name__}: {error}")
            results = [problem] * len(group)
        documents = sum(len(job.documents or ()) for job in group)
        self._metrics.worked(self.name, documents, results, time.perf_counter() - begun)
        return results


def _settle(results: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in results:
        if future.done():
            continue
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
