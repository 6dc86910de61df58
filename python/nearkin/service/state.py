"""The state of a running service: the store, the threads that hold it, and what is bounded."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from nearkin.service.bodies import Documents
from nearkin.service.errors import Problem, disk_full, problem_of
from nearkin.service.executor import Busy, Job, Verb, Worker
from nearkin.service.logs import log
from nearkin.service.metrics import Metrics
from nearkin.service.settings import ServiceSettings
from nearkin.service.store_work import Changes, do_questions
from nearkin.store.kinds import StoreSettings
from nearkin.store.store import Store

T = TypeVar("T")


class Hall:
    """One service.

    Parameters
    ----------
    folder : Path
        The store.
    settings : ServiceSettings
    """

    def __init__(self, folder: Path, settings: ServiceSettings) -> None:
        self.folder, self.settings = folder, settings
        self.metrics, self.busy = Metrics(), Busy(settings.limits)
        self._changes = Changes(folder)
        self._reader = Worker("reader", self._open_reader, do_questions, self.metrics)
        self._writer = None if settings.readonly else Worker("writer", self._open_writer, self._changes, self.metrics)
        self._merging = asyncio.Lock()
        self.is_ready = self.is_ending = False
        self._store_settings: StoreSettings | None = None
        self.running = 0
        """Requests that were begun and are not answered."""

    def _open_reader(self) -> Store:
        return Store.open(self.folder, "r", memory=_half(self.settings.memory))

    def _open_writer(self) -> Store:
        sync: Any = self.settings.sync
        return Store.open(self.folder, "w", sync=sync, memory=_half(self.settings.memory))

    # Its life

    async def open(self) -> None:
        """Open the store, which recovers it; then the service is ready.

        Raises
        ------
        NearkinError, OSError
            It can't be opened.
        """
        begun = time.perf_counter()
        # The writer first: it recovers what an interrupted process owed.
        for worker in (self._writer, self._reader):
            if worker is not None:
                await worker.start()
        self._store_settings = self._reader.store.settings
        self.is_ready = True
        log("info", "ready", store=str(self.folder), seconds=round(time.perf_counter() - begun, 3))

    async def close(self) -> None:
        """Take nothing more, answer what was taken, close the store."""
        self.is_ready, self.is_ending = False, True
        until = time.monotonic() + self.settings.limits.drain
        while self.running and time.monotonic() < until:
            await asyncio.sleep(0.01)
        if self.running:
            log("warning", "drain", detail="requests were cut off", requests=self.running)
        for worker in (self._writer, self._reader):
            if worker is not None:
                await worker.stop()
        log("info", "closed")

    @property
    def store_settings(self) -> StoreSettings:
        """What the store is made for."""
        if self._store_settings is None:
            raise self.not_ready()
        return self._store_settings

    def not_ready(self) -> Problem:
        """The problem of a request before the store is open, or after the service was told to end."""
        state = "ending" if self.is_ending else "opening its store"
        return Problem("not-ready", f"the service is {state}; send this again later", headers={b"retry-after": b"1"})

    # What it may do

    @property
    def full(self) -> str | None:
        """What the disk said when it was full, until there is room again."""
        return self._changes.full

    @property
    def is_readonly(self) -> bool:
        """Whether changes are refused."""
        return self._writer is None or self.full is not None

    def check_writable(self) -> None:
        """Refuse changes of a service that only reads.

        Raises
        ------
        Problem
            read-only.
        """
        if self._writer is None:
            raise Problem("read-only", "the service was started with --readonly")

    # The store

    async def ask(
        self, verb: Verb, documents: Documents, *, k: int | None = None, key: str | None = None, whole: bool = True
    ) -> Any:
        """The outcome of documents.

        Raises
        ------
        Problem
        """
        worker = self._reader if verb == "check" else self._writer
        future = asyncio.get_running_loop().create_future()
        return await self._queued(worker, Job(verb, future, documents, k, key, whole), len(documents))

    async def read(self, call: Callable[[Store], T]) -> T:
        """What a function of the store gives, asked by the thread of questions."""
        return await self._call(self._reader, call)

    async def write(self, call: Callable[[Store], T]) -> T:
        """What a function of the store gives, done by the thread of changes."""
        return await self._call(self._writer, call)

    async def merge(self) -> None:
        """Merge the store, while others read and write."""
        if self.full is not None and shutil.disk_usage(self.folder).free < 1 << 24:
            raise disk_full(self.full)
        if self._merging.locked():
            raise Problem("locked", "a merge is going on; wait for it", headers={b"retry-after": b"5"})
        async with self._merging:
            store: Store | None = None if self._writer is None else self._writer.store
            if store is None:
                self.check_writable()
                return
            try:
                await asyncio.to_thread(store.merge)
            except Exception as error:
                raise problem_of(error) from error

    async def _call(self, worker: Worker | None, call: Callable[[Store], T]) -> T:
        future = asyncio.get_running_loop().create_future()
        found: T = await self._queued(worker, Job("call", future, call=call), 1)
        return found

    async def _queued(self, worker: Worker | None, job: Job, documents: int) -> Any:
        if worker is None:
            self.check_writable()
            raise self.not_ready()
        self.busy.take_documents(documents)
        try:
            worker.put(job)
            return await job.future
        finally:
            self.busy.documents -= documents


def _half(memory: float | None) -> float:
    """What each of the two handles may hold, in bytes or as a share of the machine; together a quarter for None."""
    share = 0.25 if memory is None else memory
    # An int is bytes, a float a share of the machine.
    return max(share // 2, 1 << 20) if isinstance(share, int) else share / 2
