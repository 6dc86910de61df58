"""What was removed is gone from every file after a merge, whoever reads, writes or was killed meanwhile."""

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

#: What no compression shortens.
SECRET = "incompressible-" + "".join(np.random.default_rng(0).permutation([chr(code) for code in range(0x5D, 0x7F)]))
GONE = f"id {SECRET}"


def fill(store: nk.Store) -> None:
    """A document that stays, and one with a secret in its id, its text and a column."""
    store.add(["a text that stays", f"some {SECRET} text"], ["stays", GONE], columns={"c": ["x", SECRET]})


def test_compression_leaves_the_secret_as_it_is() -> None:
    """So that the tests here would find its text in a block."""
    for level in (1, 3):
        assert SECRET.encode() in store_pack(["a text that stays", f"some {SECRET} text"], level, b"")[0][4]


def holding(folder: Path) -> list[str]:
    """Names of the files that hold the secret."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if SECRET.encode() in path.read_bytes())


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """A context in which another handle reads the store as it stood at one commit."""
    with nk.Store.open(path, "r") as reader, reader.snapshot(0):
        yield


def test_erased_text_is_in_no_file(tmp_path: Path) -> None:
    """Neither while the store is open, nor after it was closed."""
    with nk.Store.create(tmp_path / "store") as store:
        fill(store)
        assert ["log.sqlite-wal"] == holding(tmp_path)
        store.remove([GONE], erase=True)
        assert [] == holding(tmp_path)
        assert 1 == len(store)
    assert [] == holding(tmp_path)


def test_what_a_segment_took_from_the_log_is_erased_there_too(tmp_path: Path) -> None:
    """The log only drops it, so that its pages hold it until it is removed."""
    path = tmp_path / "store"
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
def test_a_reader_that_keeps_the_text_in_the_log_is_told(tmp_path: Path, erase: bool) -> None:
    """The error says so; another merge, with nothing to do but this, erases it, also after a restart."""
    path = tmp_path / "store"
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
        # It is there indeed, and nowhere else.
        assert {"log.sqlite-wal"} <= set(holding(path)) <= {"log.sqlite", "log.sqlite-wal"}
        with reading(path), pytest.raises(StoreLockedError, match="merge again"):
            store.merge()
        with nk.Store.open(path) as other:
            other.merge()
            assert [] == holding(path)
        store.verify()
        with reading(path):
            store.merge()


def test_a_merge_of_nothing_that_was_removed_waits_for_nobody(tmp_path: Path) -> None:
    """A reader holds a snapshot, and the store would wait for a minute."""
    path = tmp_path / "store"
    with nk.Store.create(path) as store:
        fill(store)
        store.remove([GONE], erase=True)
        with reading(path):
            for number in range(3):
                store.add([f"text {number} of some words"], [f"n{number}"])
                before = time.monotonic()
                store.merge()
                # Three waits would come to three minutes.
                assert time.monotonic() - before < 30
        assert 1 == store.stats().segments
        assert 4 == len(store)


def test_a_merge_waits_until_readers_have_ended(tmp_path: Path) -> None:
    """And then erases; a reader that comes later sees what is there."""
    path = tmp_path / "store"
    with nk.Store.create(path) as store:
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


def test_writers_go_on_while_a_merge_waits(tmp_path: Path) -> None:
    """It has their lock for moments alone."""
    path = tmp_path / "store"
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


def test_threads_read_a_store_that_is_merged(tmp_path: Path) -> None:
    """The merge has a connection of its own: what another thread reads by that of the store goes on."""
    with nk.Store.create(tmp_path / "store") as store:
        fill(store)
        end = threading.Event()

        def read() -> None:
            while not end.is_set():
                with store.snapshot(0):
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


def test_what_a_merge_in_the_background_dropped_is_erased_by_the_next(tmp_path: Path) -> None:
    """The removal is forgotten by then; that it was there is not."""
    path = tmp_path / "store"
    with nk.Store.create(path) as store:
        fill(store)
        store.remove([GONE])
        compaction.flush(path, store.settings, store._budget)
        with store._log.reading():
            assert [] == store._log.tombstones()
        assert "log.sqlite-wal" in holding(path)
        store.merge()
        assert [] == holding(path)


def test_files_of_a_killed_merge_go_with_the_next(tmp_path: Path) -> None:
    """It was killed between its commit and the removal of what it had replaced, or while it wrote a file aside."""
    path = tmp_path / "store"
    with nk.Store.create(path) as store:
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


def test_a_store_without_the_table_of_erasings_is_erased(tmp_path: Path) -> None:
    """Those of earlier versions had none; it comes with the first erasing."""
    path = tmp_path / "store"
    with nk.Store.create(path) as store:
        store._log._connection.execute("DROP TABLE erased")
        fill(store)
        store.remove([GONE], erase=True)
        assert [] == holding(path)
        with store._log.reading():
            assert store._log.last_tombstone() == store._log.erased() == 1
