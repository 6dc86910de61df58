"""After a merge no file has removed documents, even with concurrent readers, writers and killed merges."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from nearkin._core import store_pack
from nearkin.errors import StoreLockedError
from nearkin.store import compaction

#: An incompressible string.
SECRET = "incompressible-" + "".join(np.random.default_rng(0).permutation([chr(code) for code in range(0x5D, 0x7F)]))
GONE = f"id {SECRET}"


def fill(store: nk.Store) -> None:
    """Add a document that is kept, and one with a secret in its id, text and column."""
    store.add(["a text that stays", f"some {SECRET} text"], ["stays", GONE], columns={"c": ["x", SECRET]})


def test_the_secret_is_incompressible() -> None:
    """The secret is incompressible, so the tests below would detect it in a block."""
    for level in (1, 3):
        assert SECRET.encode() in store_pack(["a text that stays", f"some {SECRET} text"], level, b"")[0][4]


def holding(folder: Path) -> list[str]:
    """Return the names of the files that contain the secret."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if SECRET.encode() in path.read_bytes())


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Hold a read transaction in another handle."""
    with nk.Store.open(path, "r") as reader, reader._reading():
        yield


def test_erased_text_is_in_no_file(tmp_path: Path) -> None:
    """No file has the text while the store is open, nor after it is closed."""
    with nk.Store.create(tmp_path / "store") as store:
        fill(store)
        assert ["log.sqlite-wal"] == holding(tmp_path)
        store.remove([GONE], erase=True)
        assert [] == holding(tmp_path)
        assert 1 == len(store)
    assert [] == holding(tmp_path)


def test_flushed_documents_are_erased_from_the_log_as_well(path: Path) -> None:
    """Free pages of the log still have flushed documents; erasing clears them as well."""
    with nk.Store.create(path) as store:
        fill(store)
    with nk.Store.open(path) as store:
        store.merge()
    assert "log.sqlite" in holding(path)
    with nk.Store.open(path) as store:
        store.remove([GONE], erase=True)
        assert [] == holding(path)
        store.verify()
    assert [] == holding(path)


@pytest.mark.parametrize("erase", [True, False])
def test_a_reader_of_the_write_ahead_log_delays_the_erasure(path: Path, erase: bool) -> None:
    """The error names the write-ahead log; a later merge erases the text, also after a restart."""
    with nk.Store.create(path) as store:
        fill(store)
        store.merge()
        store.add(["another text"], ["another"])
    with nk.Store.open(path, wait=0.1) as store:
        store.add([f"one more {SECRET}"], ["waits"])
        call = partial(store.remove, [GONE, "waits"], erase=True) if erase else store.merge
        if not erase:
            store.remove([GONE, "waits"])
        with reading(path), pytest.raises(StoreLockedError, match=r"still in log\.sqlite-wal.*merge again"):
            call()
        assert 2 == len(store)
        # The write-ahead log has it, and at most the log.
        assert {"log.sqlite-wal"} <= set(holding(path)) <= {"log.sqlite", "log.sqlite-wal"}
        with reading(path), pytest.raises(StoreLockedError, match="merge again"):
            store.merge()
        with nk.Store.open(path) as other:
            other.merge()
            assert [] == holding(path)
        store.verify()
        with reading(path):
            store.merge()


def test_a_merge_without_removed_documents_does_not_wait(store: nk.Store, path: Path) -> None:
    """Without removed documents, a merge does not wait for a reader."""
    fill(store)
    store.remove([GONE], erase=True)
    with reading(path):
        for number in range(3):
            store.add([f"text {number} of some words"], [f"n{number}"])
            before = time.monotonic()
            store.merge()
            # Three waits would take three minutes.
            assert time.monotonic() - before < 30
    assert 1 == store.stats().segments
    assert 4 == len(store)


def test_a_merge_waits_until_readers_have_ended(store: nk.Store, path: Path) -> None:
    """The merge erases the text after the last reader ends."""
    fill(store)
    ended = threading.Event()

    def read() -> None:
        with reading(path):
            began.set()
            time.sleep(0.3)
            ended.set()

    began = threading.Event()
    reader = threading.Thread(target=read)
    reader.start()
    began.wait()
    store.remove([GONE], erase=True)
    assert ended.is_set()
    assert [] == holding(path)
    reader.join()


def test_writers_go_on_while_a_merge_waits(path: Path) -> None:
    """The merge takes the writers' lock only briefly."""
    nk.Store.create(path).close()
    with nk.Store.open(path) as store, nk.Store.open(path, wait=0.5) as writer:
        fill(store)
        with reading(path):
            merge = threading.Thread(target=lambda: store.remove([GONE], erase=True))
            merge.start()
            while GONE in writer or 0 == writer.stats().segments:
                time.sleep(0.01)
            for number in range(20):
                writer.add([f"text {number} of some words"], [f"n{number}"])
                time.sleep(0.02)
            assert merge.is_alive()
        merge.join()
        assert 21 == len(store)
        assert [] == holding(path)


def test_threads_read_a_store_that_is_merged(store: nk.Store, tmp_path: Path) -> None:
    """The merge uses its own connection, so other threads keep reading."""
    fill(store)
    end = threading.Event()

    def read() -> None:
        while not end.is_set():
            with store._reading():
                time.sleep(0.01)
            time.sleep(0.001)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(20):
            store.add([f"text {number} of some words"], [f"n{number}"])
            store.merge()
        store.remove([GONE], erase=True)
    finally:
        end.set()
        reader.join()
    assert [] == holding(tmp_path)


def test_documents_dropped_by_the_compactor_are_erased_by_the_next_merge(store: nk.Store, path: Path) -> None:
    """The tombstone is dropped by then, but its number still requires an erasure."""
    fill(store)
    store.remove([GONE])
    compaction.flush(path, store.settings, store._budget)
    with store._log.reading():
        assert [] == store._log.tombstones()
    assert "log.sqlite-wal" in holding(path)
    store.merge()
    assert [] == holding(path)


def test_files_of_a_killed_merge_are_removed_by_the_next(store: nk.Store, path: Path) -> None:
    """The next merge removes replaced segments and temporary files that a killed merge left behind."""
    fill(store)
    store.merge()
    old = {file: file.read_bytes() for file in (path / "segments").iterdir()}
    assert ["0000000000000001.documents.nks", "log.sqlite"] == holding(path)
    store.remove([GONE], erase=True)
    for file, content in old.items():
        file.write_bytes(content)
        file.with_name(f".{file.name}.aside").write_bytes(content)
    assert 2 == len(holding(path))
    store.merge()
    assert [] == holding(path)
    assert 2 == len(list((path / "segments").iterdir()))
    store.verify()


def test_a_store_without_the_table_erased_can_be_erased(store: nk.Store, path: Path) -> None:
    """Stores of earlier versions get the table with their first erasure."""
    store._log._connection.execute("DROP TABLE erased")
    fill(store)
    store.remove([GONE], erase=True)
    assert [] == holding(path)
    with store._log.reading():
        assert store._log.last_tombstone() == store._log.erased() == 1
