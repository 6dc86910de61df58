"""Backups in one folder share their segments, and one is restored by time."""

from __future__ import annotations

import json
import os
import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from test_store import texts_of

import nearkin as nk
from corpora import flip
from nearkin.errors import CorruptStoreError, InputError, ParameterError
from nearkin.store.backups import RECORD_NAME, list_backups


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    """Return a folder with three backups of a growing store; the second one shares the segment of the first."""
    folder = tmp_path / "backups"
    folder.mkdir()
    texts = texts_of(90, 1)
    with nk.Store.create(tmp_path / "store") as store:
        store.add(texts[:40], [f"d{n}" for n in range(40)])
        store.merge()
        store.backup(folder / "one")
        store.add(texts[40:60], [f"d{n}" for n in range(40, 60)])
        store.remove(["d0"])
        store.backup(folder / "two")
        store.add(texts[60:], [f"d{n}" for n in range(60, 90)])
        store.merge()
        store.backup(folder / "three")
    return folder


def segments(backup: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in (backup / "segments").iterdir()}


def test_backups_share_segments(backups: Path, tmp_path: Path) -> None:
    """Equal segments are one file, and a merge in one backup, or in the store, changes no other."""
    assert segments(backups / "one") == segments(backups / "two")
    assert not set(segments(backups / "three").values()) & set(segments(backups / "one").values())
    assert not set(segments(tmp_path / "store").values()) & set(segments(backups / "three").values())
    with nk.Store.open(backups / "two") as store:
        store.merge()
    for name, count in (("one", 40), ("two", 59), ("three", 89)):
        with nk.Store.open(backups / name, "r") as store:
            store.verify()
            assert count == len(store)


@pytest.mark.parametrize("ahead", [timedelta(days=400), timedelta.max], ids=["a clock ahead", "the last year"])
def test_the_last_backup_is_the_last_one_that_was_made(backups: Path, tmp_path: Path, ahead: timedelta) -> None:
    """It is restored even if an earlier one was made before the clock was set back."""
    record = json.loads((backups / "three" / RECORD_NAME).read_bytes())
    end = datetime.max.replace(tzinfo=timezone.utc)
    made = datetime.fromisoformat(record["time"])
    record["time"] = (made + min(ahead, end - made)).isoformat()
    (backups / "three" / RECORD_NAME).write_text(json.dumps(record))
    with nk.Store.open(tmp_path / "store") as store:
        store.add(["one more text that no other backup has"], ["last"])
        for name in ("z", "a"):
            store.backup(backups / name)
    if ahead != timedelta.max:
        assert ["z", "a"] == [backup.path.name for backup in list_backups(backups)[-2:]]
    nk.Store.restore(backups, tmp_path / "restored")
    with nk.Store.open(tmp_path / "restored", "r") as restored:
        assert "last" in restored


def test_backups_are_complete_where_nothing_can_be_linked(
    backups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without hard links, and with a shared file that is gone, the backup copies."""

    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    with nk.Store.open(tmp_path / "store") as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "link", refuse)
            store.backup(backups / "four")
        assert not set(segments(backups / "three").values()) & set(segments(backups / "four").values())
        for name in ("three", "four"):
            for path in (backups / name / "segments").iterdir():
                path.unlink()
        store.backup(backups / "five")
    with nk.Store.open(backups / "five", "r") as store:
        store.verify()


def test_a_store_in_the_same_folder_shares_nothing(tmp_path: Path) -> None:
    """Segments of two stores have the same names; their identity tells them apart."""
    for name in ("a", "b"):
        with nk.Store.create(tmp_path / name) as store:
            store.add(texts_of(20, ord(name)), [f"{name}{n}" for n in range(20)])
            store.merge()
            (tmp_path / "backups").mkdir(exist_ok=True)
            store.backup(tmp_path / "backups" / name)
    with nk.Store.open(tmp_path / "backups" / "b", "r") as store:
        assert "b3" in store
        store.verify()


def test_the_last_backup_not_later_is_restored(backups: Path, tmp_path: Path) -> None:
    """At, before and after the time of each backup."""
    found = list_backups(backups)
    assert [("one", 40), ("two", 59), ("three", 89)] == [(backup.path.name, backup.documents) for backup in found]
    tick = timedelta(microseconds=1)
    cases: list[tuple[datetime | str | None, str]] = [
        (found[0].time, "one"),
        (found[1].time - tick, "one"),
        (found[1].time, "two"),
        (found[2].time.isoformat(), "three"),
    ]
    for number, (at, name) in enumerate([*cases, (None, "three"), ("2999-01-01", "three")]):
        target = tmp_path / f"restored{number}"
        assert name == nk.Store.restore(backups, target, at=at).path.name
        with nk.Store.open(target) as store, nk.Store.open(backups / name, "r") as backup:
            assert list(map(repr, backup.iter_documents())) == list(map(repr, store.iter_documents()))
            store.check_and_add(["A new text after the restoration."], ["new"])
            store.verify()
        assert not (target / RECORD_NAME).exists()
        assert not set(segments(target).values()) & set(segments(backups / name).values())


def test_what_is_there_is_listed_if_nothing_fits(backups: Path, tmp_path: Path) -> None:
    """All backups later, none at all, no time, an existing target."""
    with pytest.raises(ParameterError) as raised:
        nk.Store.restore(backups, tmp_path / "r", at="2020-01-01")
    for backup in list_backups(backups):
        assert f"{backup.path.name} of {backup.time.isoformat()}" in str(raised.value)
    with pytest.raises(ParameterError, match="at="):
        nk.Store.restore(backups, tmp_path / "r", at="soon")
    with pytest.raises(InputError, match="has no backups"):
        nk.Store.restore(tmp_path / "store", tmp_path / "r")
    with pytest.raises(FileExistsError):
        nk.Store.restore(backups, tmp_path / "store")
    assert not (tmp_path / "r").exists()


def test_changed_and_damaged_backups_are_not_restored(backups: Path, tmp_path: Path) -> None:
    """A backup that was written to is none of its time; damage is found before anything appears."""
    with nk.Store.open(backups / "three") as store:
        store.add(["Another text, added to the backup itself."], ["x"])
    with pytest.raises(CorruptStoreError, match="was changed after it was made"):
        nk.Store.restore(backups, tmp_path / "r")
    path = next((backups / "two" / "segments").glob("*.documents.nks"))
    flip(path)
    with pytest.raises(CorruptStoreError):
        nk.Store.restore(backups, tmp_path / "r", at=list_backups(backups)[1].time)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"time": "x"}', b'{"time": 1, "documents": 1, "counters": [], "files": {"a": 7}}']
)
def test_a_damaged_record_prevents_no_backup(backups: Path, tmp_path: Path, content: bytes) -> None:
    """A backup with a damaged record is not listed; the next backup does not need it."""
    (backups / "two" / RECORD_NAME).write_bytes(content)
    assert ["one", "three"] == [backup.path.name for backup in list_backups(backups)]
    with nk.Store.open(tmp_path / "store") as store:
        store.backup(backups / "four")
    assert 4 == len(json.loads((backups / "four" / RECORD_NAME).read_text()))


def test_backups_are_complete_while_others_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy has the mark of its own last commit, and not that of commits just after it was made."""
    with nk.Store.create(tmp_path / "store") as store, nk.Store.open(tmp_path / "store") as other:
        store.add(["a text"], ["a"])
        connect = sqlite3.connect

        class Copy(sqlite3.Connection):
            def execute(self, *arguments: Any) -> sqlite3.Cursor:
                if "journal_mode" in arguments[0]:
                    for name in "bcd":
                        other.add([f"another text {name}"], [name])
                return super().execute(*arguments)

        def connect_copy(path: Any, **options: Any) -> sqlite3.Connection:
            return connect(path, **options) if options else connect(path, factory=Copy)

        monkeypatch.setattr("nearkin.store.log.sqlite3.connect", connect_copy)
        store.backup(tmp_path / "backup")
        monkeypatch.undo()
        assert "b" in store
    with nk.Store.open(tmp_path / "backup", "r") as backup:
        assert "b" not in backup
        backup.verify()
