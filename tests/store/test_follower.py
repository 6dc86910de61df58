"""A follower has exactly the sealed segments of the last complete shipment, and says how far it lags."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from test_store import texts_of

import nearkin as nk
from nearkin.errors import CorruptStoreError, InputError
from nearkin.store import follower
from nearkin.store.follower import MANIFEST_NAME, Follower, is_place, ship

TEXTS = texts_of(120, 4)
NAMES = [f"d{n}" for n in range(120)]


@pytest.fixture(params=["folder", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a folder, and a URL of fsspec."""
    return str(tmp_path / "place") if request.param == "folder" else f"memory://{uuid.uuid4().hex}/place"


def ids(store: nk.Store) -> list[object]:
    return [doc.id for batch in store.iter_documents() for doc in batch]


def test_a_follower_answers_as_the_store_did(tmp_path: Path, place: str) -> None:
    """Sealed documents and removals are there after `refresh`; pending ones are the lag."""
    with nk.Store.create(tmp_path / "store") as store:
        store.add(TEXTS[:50], NAMES[:50])
        store.merge()
        store.remove(["d0"])
        expected = store.check(TEXTS[:60])
        store.add(TEXTS[60:70], NAMES[60:70])
        store.remove(["d69"])
        ship(tmp_path / "store", place)
        with Follower(place) as following:
            assert NAMES[1:50] == ids(following.store)
            assert list(map(repr, expected.rows())) == list(map(repr, following.check(TEXTS[:60]).rows()))
            stats = following.stats()
            assert (49, 0, 9) == (stats.documents, stats.waiting, stats.lag["documents"])
            assert 0 <= stats.lag["seconds"] < 60
            following.store.verify()
            assert not following.refresh()
            store.merge()
            assert not following.refresh()
            ship(tmp_path / "store", place)
            assert following.refresh()
            assert NAMES[1:50] + NAMES[60:69] == ids(following.store)
            assert 0 == following.stats().lag["documents"]
            following.store.verify()
    assert (tmp_path / "store" / "log.sqlite").exists()


def test_a_shipment_copies_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second shipment writes the log and the manifest alone; replaced segments are removed after the manifest."""
    put: list[str] = []
    original = follower._Place.put

    def recorded(self: Any, path: Path, name: str) -> None:
        put.append(name)
        original(self, path, name)

    monkeypatch.setattr(follower._Place, "put", recorded)
    with nk.Store.create(tmp_path / "store") as store:
        store.add(TEXTS[:50], NAMES[:50])
        store.merge()
        ship(tmp_path / "store", tmp_path / "place")
        assert MANIFEST_NAME == put[-1]
        assert 4 == len(put)
        put.clear()
        ship(tmp_path / "store", tmp_path / "place")
        assert [MANIFEST_NAME] == put
        put.clear()
        store.remove(["d3"])
        ship(tmp_path / "store", tmp_path / "place")
        assert 2 == len(put)
        store.merge()
        manifest = ship(tmp_path / "store", tmp_path / "place")
    there = {
        path.relative_to(tmp_path / "place").as_posix() for path in (tmp_path / "place").rglob("*") if path.is_file()
    }
    assert {MANIFEST_NAME, manifest.log, *manifest.files} == there


@pytest.mark.parametrize("failing", range(5))
def test_an_interrupted_shipment_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
    """Whichever file fails, a follower opens the earlier shipment; the next shipment completes it."""
    with nk.Store.create(tmp_path / "store") as store:
        store.add(TEXTS[:50], NAMES[:50])
        store.merge()
        ship(tmp_path / "store", tmp_path / "place")
        store.add(TEXTS[50:], NAMES[50:])
        store.merge()
        calls: list[str] = []
        original = follower._Place.put

        def put(self: follower._Place, path: Path, name: str) -> None:
            calls.append(name)
            if len(calls) > failing:
                raise OSError(28, "No space left on device")
            original(self, path, name)

        with monkeypatch.context() as patch:
            patch.setattr(follower._Place, "put", put)
            if failing < 4:
                with pytest.raises(OSError, match="No space"):
                    ship(tmp_path / "store", tmp_path / "place")
            else:
                ship(tmp_path / "store", tmp_path / "place")
        with Follower(tmp_path / "place") as following:
            assert (50 if failing < 4 else 120) == len(following)
            following.store.verify()
        ship(tmp_path / "store", tmp_path / "place")
        with Follower(tmp_path / "place") as following:
            assert 120 == len(following)


def test_a_follower_reads_while_shipments_replace_files(tmp_path: Path) -> None:
    """An open follower keeps its files; its seconds of lag grow; a closed one refuses calls."""
    with nk.Store.create(tmp_path / "store") as store:
        store.add(TEXTS[:50], NAMES[:50])
        store.merge()
        ship(tmp_path / "store", tmp_path / "place")
        following = Follower(tmp_path / "place")
        store.add(TEXTS[50:], NAMES[50:])
        store.merge()
        ship(tmp_path / "store", tmp_path / "place")
        before = following.stats().lag["seconds"]
        time.sleep(0.02)
        assert before + 0.02 <= following.stats().lag["seconds"]
        assert 50 == len(following)
        following.store.verify()
        following.close()
        with pytest.raises(InputError, match="closed"):
            following.check(["x"])


def test_nothing_shipped_is_an_error(place: str) -> None:
    """A place without a manifest is refused."""
    with pytest.raises(InputError, match="nothing was shipped here"):
        Follower(place)


def test_a_repaired_index_is_shipped_again(tmp_path: Path, place: str) -> None:
    """The name of the file stays; the place and its followers get the repaired content."""
    path = tmp_path / "store"
    with nk.Store.create(path) as store:
        store.add(TEXTS[:50], NAMES[:50])
        store.merge()
    (index,) = (path / "segments").glob("*.index.nks")
    intact = index.read_bytes()
    index.write_bytes(intact[:-1000] + bytes(1000))
    ship(path, place)
    with Follower(place) as following:
        with pytest.raises(CorruptStoreError):
            following.store.verify()
        assert [str(index)] == [finding.place for finding in nk.Store.repair(path)]
        ship(path, place)
        assert following.refresh()
        following.store.verify()
        assert ["exact"] * 50 == following.check(TEXTS[:50]).status
    with Follower(place) as following:
        following.store.verify()


def test_places_are_told_from_stores(tmp_path: Path, place: str) -> None:
    """A store, a folder without a manifest, and a missing one are no places."""
    with nk.Store.create(tmp_path / "store"):
        ship(tmp_path / "store", place)
    assert is_place(place)
    assert not any(map(is_place, (tmp_path / "store", tmp_path, tmp_path / "missing")))
