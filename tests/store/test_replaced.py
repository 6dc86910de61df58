"""A store whose folder or log was replaced, moved or removed refuses changes: nothing is acknowledged into nowhere."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import nearkin as nk
from nearkin.errors import StoreReplacedError
from nearkin.store.log import LOG_NAME

TEXTS = [f"document {i} about subject {i % 7} and {i * 31}" for i in range(40)]


def restore_backup(path: Path) -> None:
    """Replace the folder by a backup, as a restore does."""
    path.rename(path.with_name("broken"))
    path.with_name("backup").rename(path)


def remove(path: Path) -> None:
    shutil.rmtree(path)


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def replace_log(path: Path) -> None:
    """Copy the log of the backup over that of the store, by renaming."""
    shutil.copy(path.with_name("backup") / LOG_NAME, path / "new")
    (path / "new").replace(path / LOG_NAME)


def overwrite_log(path: Path) -> None:
    """Copy the log of another store over that of the store, into the same file."""
    nk.Store.create(path.with_name("other"), "char:3|binary|xxh3|simhash:64", threshold=0.8).close()
    shutil.copyfile(path.with_name("other") / LOG_NAME, path / LOG_NAME)


def overwrite_log_by_garbage(path: Path) -> None:
    (path / LOG_NAME).write_bytes(b"garbage" * 9999)


def remove_wal(path: Path) -> None:
    (path / f"{LOG_NAME}-wal").unlink()


def replace_while_hot(path: Path) -> None:
    """Replace the folder by a copy of a store in use, which has a write-ahead log of its own."""
    shutil.copytree(path, path.with_name("hot"))
    path.rename(path.with_name("broken"))
    path.with_name("hot").rename(path)


def contents(path: Path) -> dict[Path, bytes]:
    """Return all files of a store, except the shared memory of SQLite, which readers change."""
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and not file.name.endswith("-shm")}


ATTACKS = [
    restore_backup,
    remove,
    move,
    replace_log,
    overwrite_log,
    overwrite_log_by_garbage,
    remove_wal,
    replace_while_hot,
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_replaced_store_refuses_changes(path: Path, tmp_path: Path, attack: Callable[[Path], None]) -> None:
    """Every change is refused for good, and nothing reaches what the path names now."""
    with nk.Store.create(path, "char:3|binary|xxh3|simhash:64", threshold=0.8, max_pending=16) as store:
        store.add(TEXTS[:10], list(range(10)))
        store.backup(tmp_path / "backup")
        store.add(TEXTS[10:12], [10, 11])
        attack(path)
        before = contents(path)
        for change in (
            lambda: store.check_and_add(TEXTS[20:30], list(range(20, 30))),
            lambda: store.add(TEXTS[20:30], list(range(20, 30))),
            lambda: store.remove([1]),
            store.merge,
            store.check_not_replaced,
        ):
            with pytest.raises(StoreReplacedError, match="open the store again") as caught:
                change()
            assert caught.value.place.startswith(str(path))
        if attack is move:
            path.with_name("elsewhere").rename(path)
            before = contents(path)
            with pytest.raises(StoreReplacedError):
                store.add(["one more"], [99])
    # Closing the old handle leaves alone what the path names now.
    assert before == contents(path)
    if attack in (restore_backup, move, replace_while_hot):
        with nk.Store.open(path) as store:
            assert 12 - 2 * (attack is restore_backup) == len(store)
            store.add(["one more"], [99])
            assert 99 in store


def test_a_store_that_is_replaced_during_a_commit_acknowledges_nothing(
    store: nk.Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The identity is compared after the commit, too."""
    append = store._log.append

    def replaced_meanwhile(*arguments: object) -> None:
        append(*arguments)  # type: ignore[arg-type]
        shutil.rmtree(path)

    monkeypatch.setattr(store._log, "append", replaced_meanwhile)
    with pytest.raises(StoreReplacedError):
        store.add(["a text"], [1])


def test_an_older_log_of_the_same_store_is_noticed(store: nk.Store, path: Path, tmp_path: Path) -> None:
    """The number of the last commit in the file never decreases."""
    store.add(["a text"], ["a"])
    store.backup(tmp_path / "backup")
    for name in "bcd":
        store.add([f"another text {name}"], [name])
    assert store._log.truncate_wal(5)
    store.add(["a last text"], ["e"])
    shutil.copyfile(tmp_path / "backup" / LOG_NAME, path / LOG_NAME)
    with pytest.raises(StoreReplacedError, match="it was overwritten"):
        store.add(["one more text"], ["f"])


def test_garbage_in_the_file_of_the_log_is_noticed(store: nk.Store, path: Path) -> None:
    """A file without a header of SQLite is no half-done checkpoint."""
    store.add(["a text"], ["a"])
    (path / LOG_NAME).write_bytes(bytes(8192))
    with pytest.raises(StoreReplacedError, match="it was overwritten"):
        store.add(["another text"], ["b"])


def test_a_checkpoint_that_a_reader_holds_back_is_no_replacement(path: Path) -> None:
    """It leaves out pages that changed since the reader began, so the file is shorter than its header says."""
    unreadable = 0
    with nk.Store.create(path) as store:
        for number in range(20):
            store.add([f"a text of some length, number {number}"], [number])
            with closing(sqlite3.connect(path / LOG_NAME)) as reader:
                reader.execute("BEGIN")
                reader.execute("SELECT * FROM state").fetchone()
                store.add([f"another text {number}"], [-1 - number])
                store._log._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                unreadable += store._log._read_content() is None
                store.add([f"a third text {number}"], [100 + number])
        assert 60 == len(store)
    assert unreadable > 3


def test_a_write_ahead_log_that_is_truncated_acknowledges_nothing(store: nk.Store, path: Path) -> None:
    """SQLite writes on where it ended, so that a recovery would find nothing."""
    store.add(["a text"], ["a"])
    os.truncate(path / f"{LOG_NAME}-wal", 0)
    with pytest.raises(StoreReplacedError, match="-wal: it was overwritten"):
        store.add(["another text"], ["b"])
    with pytest.raises(StoreReplacedError):
        store.check_not_replaced()


def test_checkpoints_of_others_are_no_replacement(path: Path) -> None:
    """A writer goes on while others commit, checkpoint and rewrite the log."""
    with nk.Store.create(path) as store, nk.Store.open(path) as other:
        for number in range(20):
            other.add([f"text {number}"], [f"other {number}"])
            other.remove([f"other {number}"])
            assert other._log.truncate_wal(5, vacuum=number % 2 == 0)
            store.add([f"text {number}"], [f"own {number}"])
            assert store._log.truncate_wal(5)
        assert 20 == len(store) == len(other)


def test_background_merges_leave_another_store_alone(path: Path, tmp_path: Path) -> None:
    """The compactor works only in the folder of its store."""
    nk.Store.create(tmp_path / "backup", "char:3|binary|xxh3|simhash:128", radius=9).close()
    with nk.Store.create(path, max_pending=16) as store:
        store.add(TEXTS, list(range(40)))
        assert store._compactor is not None
        store._compactor.join()
        restore_backup(path)
        store._compactor.start()
        store._compactor.join()
        assert isinstance(store._compactor.error, StoreReplacedError)
    assert not list((path / "segments").iterdir())


def test_earlier_names_of_methods_warn(store: nk.Store) -> None:
    """`contents` and `check_place` still work, and name the method that replaced them."""
    store.add(["a page about the sea"], ["a"])
    with pytest.warns(DeprecationWarning, match="use content_hashes"):
        assert store.content_hashes(["a"]) == store.contents(["a"])
    with pytest.warns(DeprecationWarning, match="use check_not_replaced"):
        store.check_place()
