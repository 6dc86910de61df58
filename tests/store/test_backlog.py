"""The number of pending documents is bounded while backups and merges run, and killed backups leave nothing behind."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from nearkin.errors import StoreLockedError
from nearkin.store import check, compaction, lost
from nearkin.store.memory import MAX_BACKLOG
from nearkin.store.results import StoreStats
from nearkin.store.segment import write_segment
from nearkin.store.snapshot import Snapshot

PENDING, BATCH = 50, 25
LIMIT = MAX_BACKLOG * PENDING + BATCH


def texts(start: int) -> list[str]:
    return [f"document {number} is about subject {number * 7919 % 10007}" for number in range(start, start + BATCH)]


def fill(store: nk.Store, start: int, stop: int) -> int:
    """Add documents in batches, and return the largest number that was pending."""
    most = 0
    for first in range(start, stop, BATCH):
        store.add(texts(first), range(first, first + BATCH))
        most = max(most, store.stats().waiting)
    return most


@contextmanager
def paused(monkeypatch: pytest.MonkeyPatch, name: str, call: Any) -> Iterator[None]:
    """Run a call in a thread, and hold it in a function of `compaction`."""
    reached, released, original = threading.Event(), threading.Event(), getattr(compaction, name)

    def wait(*arguments: Any, **options: Any) -> Any:
        if threading.current_thread() is thread:
            reached.set()
            assert released.wait(60)
        return original(*arguments, **options)

    monkeypatch.setattr(compaction, name, wait)
    thread = threading.Thread(target=call)
    thread.start()
    try:
        assert reached.wait(60)
        yield
    finally:
        released.set()
        thread.join()


@pytest.mark.parametrize("same_handle", [True, False])
def test_pending_documents_are_bounded_during_a_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same_handle: bool
) -> None:
    """Segments are written and merged while a backup copies, and the backup is the store of the moment it began."""
    with nk.Store.create(tmp_path / "s", max_pending=PENDING) as store, nk.Store.open(tmp_path / "s", "r") as other:
        fill(store, 0, 4 * PENDING)
        store.merge()
        fill(store, 4 * PENDING, 4 * PENDING + BATCH)
        backup = (store if same_handle else other).backup
        with paused(monkeypatch, "_copy_file", lambda: backup(tmp_path / "copy")):
            assert fill(store, 5 * PENDING, 25 * PENDING) <= LIMIT
            store.merge()
            assert 25 * PENDING - BATCH == len(store)
    with nk.Store.open(tmp_path / "copy") as copy:
        copy.verify()
        assert 4 * PENDING + BATCH == len(copy)


def test_pending_documents_are_bounded_during_a_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are written while a merge runs, and the merge loses none of them."""
    with nk.Store.create(tmp_path / "s", max_pending=PENDING) as store:
        fill(store, 0, 4 * PENDING)
        # A merge has something to do if a segment has a removed document.
        store.merge()
        store.remove([3])
        with paused(monkeypatch, "_open_texts", store.merge):
            assert fill(store, 4 * PENDING, 20 * PENDING) <= LIMIT
        assert 20 * PENDING - 1 == len(store)
    with nk.Store.open(tmp_path / "s") as store:
        store.verify()
        assert list(range(3)) + list(range(4, 20 * PENDING)) == [
            document.id for batch in store.iter_documents() for document in batch
        ]
        store.merge()
        assert 1 == store.stats().segments
        assert 2 == len([*(tmp_path / "s" / "segments").iterdir()])


def test_writers_queue_if_another_process_prevents_the_flush(tmp_path: Path) -> None:
    """At the bound a writer waits, then fails and adds nothing; readers go on, and a flush lets it continue."""
    nk.Store.create(tmp_path / "s").close()
    with nk.Store.open(tmp_path / "s", max_pending=PENDING, wait=0.3) as store:
        with compaction.flushing(tmp_path / "s"):
            fill(store, 0, MAX_BACKLOG * PENDING)
            began = time.monotonic()
            with pytest.raises(StoreLockedError, match="200 documents are pending"):
                store.add(["one more"], [10_000])
            assert 0.3 <= time.monotonic() - began
            assert MAX_BACKLOG * PENDING == store.stats().waiting
            assert 10_000 not in store
        store.add(["one more"], [10_000])
        assert MAX_BACKLOG * PENDING > store.stats().waiting


def test_a_flush_that_fails_stops_writers_at_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is added beyond the bound if no segment can be written, and the error is that of the system."""
    with nk.Store.create(tmp_path / "s", max_pending=PENDING) as store:

        def fail(*arguments: Any, **options: Any) -> None:
            raise OSError(28, "No space left on device")

        def fill_until_it_fails() -> None:
            with pytest.raises(OSError, match="No space left"):
                fill(store, 0, 20 * PENDING)

        with monkeypatch.context() as context:
            context.setattr(compaction, "write_segment", fail)
            with pytest.warns(RuntimeWarning, match="no segment could be written"):
                fill_until_it_fails()
        assert MAX_BACKLOG * PENDING == len(store) == store.stats().waiting
        fill(store, 20 * PENDING, 21 * PENDING)
        assert (MAX_BACKLOG + 1) * PENDING == len(store)


def test_two_flushes_of_the_same_documents_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that flushes without the lock can't store documents twice."""
    with nk.Store.create(tmp_path / "s") as store:
        fill(store, 0, PENDING)
        original = write_segment

        def twice(*arguments: Any, **options: Any) -> Any:
            monkeypatch.setattr(compaction, "write_segment", original)
            with compaction.exclusive(tmp_path / "s") as log:
                compaction._flush_segment(tmp_path / "s", log, store.settings, store._budget)
            return original(*arguments, **options)

        monkeypatch.setattr(compaction, "write_segment", twice)
        with pytest.raises(nk.errors.CorruptStoreError, match="flushed row 0"):
            compaction.flush(tmp_path / "s", store.settings, store._budget)
        assert PENDING == len(store)
        store.verify()


def test_a_flush_leaves_the_files_of_a_running_merge_alone(tmp_path: Path) -> None:
    """A flush whose name is taken by the leftover of a killed one clears that name, and nothing else."""
    with nk.Store.create(tmp_path / "s") as store:
        fill(store, 0, PENDING)
        store.merge()
        folder = tmp_path / "s" / "segments"
        listed = next(folder.glob("*.documents.nks"))
        with store._log.reading():
            generation = store._log.state().generation
        leftover, merging = (folder / f"{name:016x}.documents.nks" for name in (generation + 1, 1 << 63 | generation))
        shutil.copy(listed, leftover)
        shutil.copy(listed, merging)
        fill(store, PENDING, 2 * PENDING)
        compaction.flush(tmp_path / "s", store.settings, store._budget)
        assert merging.exists()
        assert {listed.name, leftover.name} == {path.name for path in folder.glob("*.documents.nks")} - {merging.name}
        store.verify()
        assert 2 * PENDING == len(store)
    nk.Store.open(tmp_path / "s").close()
    assert not merging.exists()


def test_a_flush_follows_a_merge_that_ends_during_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leftover of a killed flush is compared with files that a merge removes."""
    with nk.Store.create(tmp_path / "s") as store:
        for start in (0, PENDING):
            fill(store, start, start + PENDING)
            compaction.flush(tmp_path / "s", store.settings, store._budget)
        fill(store, 2 * PENDING, 3 * PENDING)
        with store._log.reading():
            entries = store._log.segments()
            leftover = f"{store._log.state().generation + 1:016x}"
        folder = tmp_path / "s" / "segments"
        shutil.copy(folder / f"{entries[0].name}.documents.nks", folder / f"{leftover}.documents.nks")
        calls = []

        def merged(*arguments: Any) -> Snapshot:
            calls.append(arguments)
            if len(calls) == 1:
                with compaction.exclusive(tmp_path / "s") as log:
                    compaction._merge(tmp_path / "s", log, store.settings, entries, store._budget)
            return Snapshot(*arguments)

        monkeypatch.setattr(lost, "Snapshot", merged)
        compaction.flush(tmp_path / "s", store.settings, store._budget)
        assert 2 == len(calls), "the first snapshot is of files that the merge removed"
        store.verify()
        assert 3 * PENDING == len(store)


def test_a_check_follows_a_merge_that_ends_during_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The segment that a merge was writing when files were listed is compared with files that it then removed."""
    with nk.Store.create(tmp_path / "s") as store:
        for start in (0, PENDING):
            fill(store, start, start + PENDING)
            compaction.flush(tmp_path / "s", store.settings, store._budget)
        with store._log.reading():
            entries = store._log.segments()
            merging = f"{1 << 63 | store._log.state().generation + 1:016x}"
        assert len(entries) > 1
        folder = tmp_path / "s" / "segments"
        shutil.copy(folder / f"{entries[0].name}.documents.nks", folder / f"{merging}.documents.nks")
        original, calls = check._check_commit, []

        def merged(*arguments: Any) -> None:
            calls.append(arguments)
            original(*arguments)
            if len(calls) == 1:
                compaction.merge_all(tmp_path / "s", store.settings, store._budget)

        monkeypatch.setattr(check, "_check_commit", merged)
        store.verify()
        assert 2 == len(calls), "the first transaction reads files that the merge removed"
        assert 2 * PENDING == len(store)


BACKUP = """
import sys, time
import nearkin as nk
from nearkin.store import compaction
def wait(*arguments):
    print("copying", flush=True)
    time.sleep(600)
compaction._copy_file = wait
with nk.Store.open(sys.argv[1], "r") as store:
    store.backup(sys.argv[2])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
@pytest.mark.parametrize("by", ["same name", "other name", "open"])
def test_a_killed_backup_leaves_no_hidden_folder(tmp_path: Path, by: str) -> None:
    """The next backup to that folder, or opening the store, removes what a killed backup left."""
    backups = tmp_path / "backups" if by != "open" else tmp_path
    backups.mkdir(exist_ok=True)
    with nk.Store.create(tmp_path / "s") as store:
        fill(store, 0, PENDING)
        store.merge()
        process = subprocess.Popen(
            [sys.executable, "-c", BACKUP, tmp_path / "s", backups / "monday"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert "copying\n" == process.stdout.readline()
        hidden = [path for path in backups.iterdir() if path.name.startswith(".monday")]
        assert 1 == len(hidden)
        if by != "open":
            store.backup(backups / "sunday")
            assert hidden[0].exists(), "the folder of a running backup"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if by != "open":
            store.backup(backups / ("monday" if by == "same name" else "tuesday"))
    nk.Store.open(tmp_path / "s").close()
    assert not hidden[0].exists()


def test_counts_are_those_of_one_commit_while_a_merge_removes_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`stats` begins again if a merge removes a segment whose size it asks for."""
    with nk.Store.create(tmp_path / "s") as store, nk.Store.open(tmp_path / "s") as other:
        fill(store, 0, PENDING)
        other.merge()
        fill(store, PENDING, 2 * PENDING)
        original = Snapshot.stats

        def merge_first(snapshot: Snapshot, *, ledger: bool) -> StoreStats:
            monkeypatch.setattr(Snapshot, "stats", original)
            other.merge()
            return original(snapshot, ledger=ledger)

        monkeypatch.setattr(Snapshot, "stats", merge_first)
        stats = store.stats()
        assert (2 * PENDING, 1, 0) == (stats.documents, stats.segments, stats.waiting)
