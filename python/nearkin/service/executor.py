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
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from nearkin.service.bodies import Documents
from nearkin.service.errors import Problem, problem_of
from nearkin.service.logs import log
from nearkin.service.metrics import Metrics
from nearkin.service.settings import Limits

GROUP = 2000
"""Documents that are given to the store in one call; a batch may have more."""
LINGER = 0.002
"""Seconds that a group waits for jobs which are likely to come."""
_LARGE = 256
"""Documents of a job that waits for no others."""
_AHEAD = 2
"""Groups that the thread has or finds next, if they are large."""

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


Doer = Callable[[Any, Sequence[Job]], list[Any]]
"""What does a group of jobs with a store: a result or an exception for each."""


class Worker:
    """A thread with a handle on the store, and the jobs that wait for it.

    Jobs wait on the event loop, where groups are made of them, so that the thread is woken once for a group.

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
        self._waiting: deque[Job] = deque()
        self._given: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._running = 0
        self._expected = 1
        self._timer: asyncio.TimerHandle | None = None
        self.store: Any = None
        self._thread: threading.Thread | None = None

    def start(self) -> asyncio.Future[None]:
        """Begin; the future is done once the store is open, or has the error."""
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()
        self._thread = threading.Thread(target=self._run, args=(loop, opened), name=f"nearkin-{self.name}", daemon=True)
        self._thread.start()
        return opened

    async def stop(self) -> None:
        """End after what the thread has, and close the store; what still waits is refused."""
        if self._timer is not None:
            self._timer.cancel()
        refused = Problem("not-ready", "the service has ended; send this again", headers={b"retry-after": b"1"})
        _settle([(job.future, refused) for job in self._waiting])
        self._waiting.clear()
        self._given.put(None)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    # On the event loop

    def put(self, job: Job) -> None:
        """Queue a job."""
        self._waiting.append(job)
        self._give()

    def _give(self) -> None:
        """Give the thread a group, if it is idle and enough wait; a large one also ahead of time.

        Clients that were answered together send again together: as many jobs as there were at once the last time are
        waited for, `LINGER` at most, so that they share a commit.
        """
        while self._waiting and self._running < _AHEAD:
            first = self._waiting[0]
            large = len(first.documents or ()) >= _LARGE
            if self._running and not large:
                return
            if first.call is None and not large and len(self._waiting) < self._expected:
                if self._timer is None:
                    self._timer = asyncio.get_running_loop().call_later(LINGER, self._give_all)
                return
            self._give_group()

    def _give_all(self) -> None:
        """The time is over: what is there is a group."""
        self._timer = None
        if self._waiting and not self._running:
            self._give_group()

    def _give_group(self) -> None:
        """Give the first job and those behind it that go with it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        first = self._waiting.popleft()
        group, count = [first], len(first.documents or ())
        while self._waiting and first.goes_with(self._waiting[0]):
            count += len(self._waiting[0].documents or ())
            if count > GROUP:
                break
            group.append(self._waiting.popleft())
        self._running += 1
        self._given.put(group)

    def _finish(self, group: list[Job], results: list[Any]) -> None:
        """A group was done."""
        self._running -= 1
        self._expected = len(group) + len(self._waiting)
        _settle([(job.future, result) for job, result in zip(group, results, strict=True)])
        self._give()

    # In the thread

    def _run(self, loop: asyncio.AbstractEventLoop, opened: asyncio.Future[None]) -> None:
        try:
            self.store = self._open()
        except BaseException as error:
            loop.call_soon_threadsafe(_settle, [(opened, error)])
            return
        loop.call_soon_threadsafe(_settle, [(opened, None)])
        try:
            while (group := self._given.get()) is not None:
                loop.call_soon_threadsafe(self._finish, group, self._done(group))
        except RuntimeError:
            # The loop is closed: the process ends.
            return
        finally:
            self.store.close()

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
