"""Sixteen writers through threads, processes and HTTP at once: the result is that of a sequential run, as a set."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from document_families import SETTINGS, add_families, outcome
from forked import PRELOAD, ForkedServices

import nearkin as nk

THREADS, OTHERS = range(6), range(6, 8)
"""Writers in threads that share a handle, and in threads with a handle each."""
PROCESSES, CLIENTS = range(8, 12), range(12, 16)
WRITERS = 16
MAX_PENDING = 64


def write_from_process(path: Path, writer: int, families: int) -> None:
    """Write through a handle of its own, in another process."""
    with nk.Store.open(path, max_pending=MAX_PENDING) as store:
        add_families(store, writer, families)


def write_over_http(url: str, writer: int, families: int) -> None:
    """Write through the service."""
    with nk.Client(url) as client:
        add_families(client, writer, families)


def write_at_once(path: Path, families: int) -> None:
    """Run all writers at once, and raise the first error."""
    errors: list[BaseException] = []

    def thread(work: Callable[..., None], *arguments: object) -> threading.Thread:
        def run() -> None:
            try:
                work(*arguments)
            except BaseException as error:
                errors.append(error)

        return threading.Thread(target=run)

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    with ForkedServices(path) as service, nk.Store.open(path, max_pending=MAX_PENDING) as shared:
        service.start()
        processes = [context.Process(target=write_from_process, args=(path, writer, families)) for writer in PROCESSES]
        threads = [thread(add_families, shared, writer, families) for writer in THREADS]
        threads += [thread(write_from_process, path, writer, families) for writer in OTHERS]
        threads += [thread(write_over_http, service.url, writer, families) for writer in CLIENTS]
        workers: list[Any] = [*processes, *threads]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [] == errors
        assert [0] * len(processes) == [process.exitcode for process in processes]
        assert 0 == service.end()


def check_writers(folder: Path, families: int) -> None:
    """Compare a store of sixteen writers at once with one of the same writers one after the other."""
    path, sequential = folder / "pages.store", folder / "sequential.store"
    nk.Store.create(path, **SETTINGS).close()
    write_at_once(path, families)
    with nk.Store.create(sequential, **SETTINGS) as store:
        for writer in range(WRITERS):
            add_families(store, writer, families)
        expected = outcome(store)
    with nk.Store.open(path) as store:
        store.verify()
        assert expected == outcome(store)
        assert WRITERS * families == len(store) == store.next_row
    documents, statuses = expected
    assert WRITERS * families == len(documents)
    assert all(values == ["near"] * (WRITERS - 1) + ["new"] for values in statuses.values())


def test_sixteen_writers_at_once_equal_a_sequential_run(tmp_path: Path) -> None:
    """Documents and the number of new and near ones of each family are the same."""
    check_writers(tmp_path, 8)


@pytest.mark.slow
def test_sixteen_writers_with_many_documents_equal_a_sequential_run(tmp_path: Path) -> None:
    """The same with 16,000 documents and many merges."""
    check_writers(tmp_path, 1000)
