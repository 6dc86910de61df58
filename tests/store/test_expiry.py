"""Time to live: documents expire by a column or by the time of addition, durably, and never early."""

from __future__ import annotations

import time
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.store.expiry import cutoff
from nearkin.store.log import ADDITION_SECONDS, Log

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


def texts(count: int) -> list[str]:
    """Return texts that resemble one another in nothing."""
    return [" ".join(f"w{(n * 31 + i * 7) ** 2}" for i in range(12)) for n in range(count)]


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    """Return a store of ten documents, one a day, the last two without a date; half of them in a segment."""
    days = [f"2026-01-{day:02}" for day in range(1, 9)]
    with nk.Store.create(tmp_path / "store") as store:
        store.add(texts(5), list("abcde"), columns={"day": days[:5]})
        store.merge()
        store.add(texts(8)[5:], list("fgh"), columns={"day": days[5:]})
        store.add(texts(10)[8:], list("ij"), columns={"day": ["yesterday", None]})
    return tmp_path / "store"


def ids(store: nk.Store) -> str:
    return "".join(str(doc.id) for batch in store.iter_documents() for doc in batch)


@pytest.mark.parametrize(
    "before", ["2026-01-07", date(2026, 1, 7), datetime(2026, 1, 7), "2026-01-07T01:00+01:00", "2026-01-06T18:00-06:00"]
)
def test_documents_expire_by_a_column(dated: Path, before: Any) -> None:
    """Earlier documents are gone from segments and log, after reopening as well; those without a time remain."""
    with nk.Store.open(dated) as store:
        planned = store.expire(before=before, column="day", dry_run=True)
        assert (6, 2, True) == (planned.documents, planned.undated, planned.dry_run)
        assert "abcdefghij" == ids(store)
        done = store.expire(before=before, column="day")
        assert (6, 2, False, datetime(2026, 1, 7, tzinfo=timezone.utc)) == (
            done.documents,
            done.undated,
            done.dry_run,
            done.before,
        )
        assert 0 == store.expire(before=before, column="day").documents
    with nk.Store.open(dated) as store:
        assert "ghij" == ids(store)
        assert ["new"] == store.check(texts(1)).status
        store.verify()


def test_columns_may_be_unix_seconds(store: nk.Store) -> None:
    """Numbers are Unix seconds; a boolean is no time."""
    store.add(texts(4), list("abcd"), columns={"t": [0, 86400.5, True, 172800]})
    assert (2, 1) == (lambda e: (e.documents, e.undated))(store.expire(before="1970-01-03", column="t"))
    assert "cd" == ids(store)


def test_documents_expire_by_the_time_of_addition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expiry by addition removes what was added before, late by one step of the record at most, and never early."""
    clock = [1_000_000_000]
    with nk.Store.create(tmp_path / "store") as store:
        monkeypatch.setattr(time, "time", lambda: clock[0])
        for number, text in enumerate(texts(12)):
            store.add([text], [f"{number:x}"])
            if number == 5:
                store.merge()
            clock[0] += 250
        added = {f"{number:x}": 1_000_000_000 + 250 * number for number in range(12)}
        monkeypatch.undo()
        for offset in range(-100, 4000, 130):
            limit = 1_000_000_000 + offset
            store.expire(before=datetime.fromtimestamp(limit, timezone.utc))
            left = ids(store)
            assert [name for name in added if added[name] >= limit and name not in left] == []
            assert [name for name in left if added[name] + ADDITION_SECONDS < limit] == []
        assert "" == ids(store)


def test_a_clock_that_was_set_back_expires_nothing_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents added after the clock was set back count as young as the ones before."""
    clock = [2_000_000]
    with nk.Store.create(tmp_path / "store") as store:
        monkeypatch.setattr(time, "time", lambda: clock[0])
        store.add(texts(1), ["a"])
        clock[0] = 1_000_000
        store.add(texts(2)[1:], ["b"])
        monkeypatch.undo()
        assert 0 == store.expire(before=datetime.fromtimestamp(1_900_000, timezone.utc)).documents
        store.verify()
    with nk.Store.open(tmp_path / "store") as store:
        assert 2 == len(store)


def test_documents_of_a_store_without_records_are_undated(tmp_path: Path) -> None:
    """A store written before times were recorded expires none of its documents; new ones have a time."""
    with nk.Store.create(tmp_path / "store") as store:
        log = store._log
        with log.writing():
            log._connection.execute("DROP TABLE added")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Log, "_record_additions", lambda *_: None)
            store.add(texts(2), ["a", "b"])
    with nk.Store.open(tmp_path / "store") as store:
        store.add(texts(3)[2:], ["c"])
        result = store.expire(before=datetime.now(timezone.utc) + timedelta(days=1))
        assert (1, 2) == (result.documents, result.undated)
        store.verify()
        assert "ab" == ids(store)


def test_a_changed_record_of_additions_is_detected(tmp_path: Path) -> None:
    """A flipped time would let documents expire early; opening refuses the log."""
    with nk.Store.create(tmp_path / "store") as store:
        store.add(texts(1), ["a"])
        with store._log.writing():
            store._log._connection.execute("UPDATE added SET time = time - 1000000")
    with pytest.raises(nk.errors.CorruptStoreError):
        nk.Store.open(tmp_path / "store")


def test_wrong_arguments_are_refused(dated: Path) -> None:
    """Neither or both limits, texts that are no time or age, an unknown column, and a store open for reading."""
    with nk.Store.open(dated) as store:
        for arguments in (
            {},
            {"before": "2026-01-01", "max_age": "1d"},
            {"before": "soon"},
            {"before": "2026-02-30"},
            {"before": 7},
            {"max_age": "90"},
            {"max_age": "-1d"},
            {"max_age": 90},
            {"max_age": timedelta(-1)},
            {"max_age": "999999999d"},
            {"before": "2026-01-01", "column": "no such column"},
        ):
            with pytest.raises(ParameterError):
                store.expire(**arguments)
        assert 10 == len(store)
    with nk.Store.open(dated, "r") as store:
        assert 1 == store.expire(before="2026-01-02", column="day", dry_run=True).documents
        with pytest.raises(ParameterError, match="mode"):
            store.expire(before="2026-01-02", column="day")


def test_documents_that_others_remove_meanwhile_are_not_counted(dated: Path) -> None:
    """Between the search and the removal another handle removes a document, and adds a new one under its id."""
    with nk.Store.open(dated) as store, nk.Store.open(dated) as other:

        def race(stage: str, done: int, _total: int | None) -> None:
            if stage == "expire" and done == 10:
                other.remove(["a"])
                other.add([texts(20)[19]], ["a"], columns={"day": ["2026-05-01"]})

        assert 1 == store.expire(before="2026-01-03", column="day", progress=race).documents
        assert "cdefghija" == ids(store)


@given(st.integers(0, 10**6), st.sampled_from("smhdw"))
def test_ages_have_units(count: int, unit: str) -> None:
    """An age is the number of seconds of its unit."""
    seconds = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}[unit] * count
    if seconds < 60_000_000_000:
        assert NOW - timedelta(seconds=seconds) == cutoff(None, f"{count}{unit}", NOW)


@given(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)), st.integers(-14 * 60, 14 * 60))
def test_times_are_those_of_iso_8601(moment: datetime, minutes: int) -> None:
    """A time in ISO 8601 with an offset is read exactly."""
    zone = timezone(timedelta(minutes=minutes))
    aware = moment.replace(tzinfo=zone)
    assert aware == cutoff(aware.isoformat(), None, NOW)
    assert moment.replace(tzinfo=timezone.utc) == cutoff(moment.isoformat(" "), None, NOW)
