"""Shared state of the service: store handles, worker threads, limits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from nearkin.errors import StoreReplacedError, bad_parameter
from nearkin.service.bodies import DocumentBatch
from nearkin.service.errors import Problem, bad_request, problem_from, retry_after
from nearkin.service.executor import Admission, ChangeExecutor, Operation, Request, StoreWorker, execute_checks
from nearkin.service.models import KEY
from nearkin.service.served_patterns import ServedPatterns
from nearkin.service.settings import ServiceSettings
from nearkin.service.telemetry import Metrics, call_glibc, log
from nearkin.store.compaction import MergeStats
from nearkin.store.dedup import OnBetter
from nearkin.store.kinds import StoreSettings
from nearkin.store.log import Mode
from nearkin.store.results import CheckResult, StoreStats
from nearkin.store.store import Store

T = TypeVar("T")
BACKUP_SHARE = 0.12
"""Share of the time for which a backup uses the disk."""


class AppState:
    """State of one service.

    Parameters
    ----------
    folder : Path or str, optional
        The store; None for patterns alone.
    settings : ServiceSettings

    Raises
    ------
    ParameterError
        There is neither a store nor a file of patterns.
    """

    def __init__(self, folder: Path | str | None, settings: ServiceSettings) -> None:
        if folder is None and settings.patterns is None:
            raise bad_parameter("folder", "None", "a store, or settings with patterns")
        self.place = str(settings.patterns if folder is None else folder)
        self.settings, self.limits = settings, settings.limits
        self._path = str(folder)
        self.metrics, self.admission = Metrics(self._merge_stats), Admission(settings.limits)
        self.is_ready = self.is_closing = self._is_replaced = False
        self.num_requests = 0
        """Number of requests in flight."""
        self._changes = ChangeExecutor(Path(self.place))
        self._reader: StoreWorker | None = None
        self._writer: StoreWorker | None = None
        if folder is not None:
            self._reader = StoreWorker("reader", partial(self._open_store, "r"), execute_checks, self.metrics)
        if folder is not None and not settings.readonly:
            self._writer = StoreWorker("writer", partial(self._open_store, "w"), self._changes, self.metrics)
        self.patterns = None if settings.patterns is None else ServedPatterns(settings.patterns)
        self._merge_lock, self._backup_lock = asyncio.Lock(), threading.Lock()
        self._store_settings: StoreSettings | None = None

    def _open_store(self, mode: Mode) -> Store:
        """Open a handle with half of the memory: bytes if it is an int, a share of the machine if it is a float."""
        memory = 0.25 if self.settings.memory is None else self.settings.memory
        half = max(memory // 2, 1 << 20) if isinstance(memory, int) else memory / 2
        sync: Any = self.settings.sync if mode == "w" else "commit"
        return Store.open(self._path, mode, sync=sync, memory=half)

    def _merge_stats(self) -> MergeStats:
        """Return the merges of the writer; none before the store is open."""
        store = None if self._writer is None else self._writer.store
        return MergeStats() if store is None else store.merges

    # Lifecycle

    def start(self) -> asyncio.Task[None]:
        """Open the store in the background; the task is done when the store is open, or has the error."""
        self._opening = asyncio.create_task(self._open())
        return self._opening

    async def _open(self) -> None:
        """Open the store, which recovers it; then the service is ready."""
        start = time.perf_counter()
        # The writer first, because it recovers from an interrupted process.
        for worker in (self._writer, self._reader):
            if worker is not None:
                await worker.start()
        store = None if self._reader is None else self._reader.store
        if store is not None:
            self._store_settings = store.settings
        if store is not None and (lost := store.stats().lost):
            log("error", "lost", store=self.place, records=lost, detail="run `nearkin store verify`")
        self.is_ready = True
        log("info", "ready", store=self.place, seconds=round(time.perf_counter() - start, 3))

    async def close(self) -> None:
        """Stop accepting requests, drain those in flight, then close the store. A second call does nothing."""
        if self.is_closing:
            return
        self.is_ready, self.is_closing = False, True
        deadline = time.monotonic() + self.limits.drain_timeout
        while self.num_requests and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        if self.num_requests:
            log("warning", "drain", detail="requests were aborted", requests=self.num_requests)
        for worker in (self._writer, self._reader):
            if worker is not None:
                await worker.stop()
        log("info", "closed")

    def check_ready(self) -> None:
        """Raise not-ready before the store is open, and during shutdown; store-replaced if its folder is another."""
        if not self.is_ready:
            state = "shutting down" if self.is_closing else "opening its store"
            raise Problem("not-ready", f"the service is {state}; try again later", headers=retry_after(1))
        for worker in (self._writer, self._reader):
            if worker is None or worker.store is None:
                continue
            try:
                worker.store.check_not_replaced()
            except StoreReplacedError as error:
                if not self._is_replaced:
                    self._is_replaced = True
                    log("error", "store-replaced", store=self.place, detail=error.message)
                raise problem_from(error) from None

    @property
    def store_settings(self) -> StoreSettings:
        """Settings of the store."""
        self._check_store()
        if self._store_settings is None:
            raise Problem("not-ready", "the service is opening its store; try again later", headers=retry_after(1))
        return self._store_settings

    # Changes

    @property
    def disk_error(self) -> str | None:
        """Message of the system while the disk is full."""
        return self._changes.disk_error

    @property
    def is_readonly(self) -> bool:
        """True if changes are refused."""
        return self.settings.readonly or self.disk_error is not None

    @property
    def has_store(self) -> bool:
        """False if the service serves patterns alone."""
        return self._reader is not None

    def _check_store(self) -> StoreWorker:
        """Return the worker for reading; raises no-store if there is none."""
        if self._reader is None:
            raise Problem("no-store", "the service was started without a store; start it with STORE")
        return self._reader

    def check_writable(self) -> StoreWorker:
        """Return the worker for changes; raises no-store or read-only if there is none."""
        self._check_store()
        if self._writer is None:
            raise Problem("read-only", "the service was started with --readonly")
        return self._writer

    # Store

    def submit(
        self,
        operation: Operation,
        documents: DocumentBatch,
        *,
        k: int | None = None,
        key: str | None = None,
        line: int | None = None,
        copies: bool = False,
        on_better: OnBetter | None = None,
    ) -> asyncio.Future[CheckResult]:
        """Check or add the documents of a request, all or none; raise busy if the queue is full.

        Parameters
        ----------
        operation : {"check", "add", "check-and-add"}
        documents : DocumentBatch
        k : int, optional
            Number of best matches per document.
        key : str, optional
            Idempotency key.
        line : int, optional
            Number of the first document's line, in a stream of lines.
        copies : bool, default False
            Count the documents that each kept one stands for.
        on_better : {"keep", "replace"}, optional
            Say which near-duplicates are better than their match, or replace it.
        """
        if key is not None and documents.ids is None:
            raise bad_request("an idempotency key for documents without ids", "give each document an id")
        if key is not None and any(KEY in row for row in documents.columns or ()):
            raise bad_request(f"a column {KEY!r} and an idempotency key", "rename the column")
        worker = self._check_store() if operation == "check" else self.check_writable()
        return self._enqueue(worker, Request(operation, documents, k, key, line, copies, on_better), len(documents))

    def read(self, call: Callable[[Store], T]) -> asyncio.Future[T]:
        """Call a function of the store in the reader's thread."""
        return self._enqueue(self._check_store(), Request("call", call=call), 1)

    def write(self, call: Callable[[Store], T]) -> asyncio.Future[T]:
        """Call a function of the store in the writer's thread."""
        return self._enqueue(self.check_writable(), Request("call", call=call), 1)

    def _enqueue(self, worker: StoreWorker, request: Request, documents: int) -> asyncio.Future[Any]:
        self.admission.reserve_documents(documents)
        request.future.add_done_callback(lambda future: self.admission.reserve_documents(-documents))
        worker.submit(request)
        return request.future

    def stats(self, store: Store) -> StoreStats:
        """Return the counts of the store."""
        return store.stats()

    async def merge(self) -> None:
        """Merge the segments of the store, while requests are served."""
        self._changes.check_space()
        if self._merge_lock.locked():
            raise Problem("locked", "a merge is running; wait for it", headers=retry_after(5))
        async with self._merge_lock:
            store = self.check_writable().store
            if store is not None:
                await asyncio.to_thread(store.merge)
                # A merge has the ids of all its documents in memory.
                await asyncio.to_thread(call_glibc, "malloc_trim", 0)

    async def backup(self, target: Path) -> None:
        """Copy the store through a handle of its own, so that no request waits."""
        reader = self._check_store()
        folder = Path(self._path) if reader.store is None else reader.store.path

        def copy() -> None:
            with self._backup_lock, self.metrics.timing_backup(), Store.open(folder, "r") as store:
                store.backup(target, share=BACKUP_SHARE)

        await asyncio.to_thread(copy)
