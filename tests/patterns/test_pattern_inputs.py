"""Batches of items: bounded rows and bytes, complete and in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import nearkin as nk
from nearkin._core import add_lines
from nearkin.errors import CorruptStoreError, InputError, ParameterError
from nearkin.patterns import inputs
from nearkin.patterns.inputs import AlignedColumns, read_batches
from nearkin.patterns.tables import read_rows, split_bytes


@pytest.mark.parametrize("make", [list, iter, pa.array, lambda texts: pa.chunked_array([texts[:7], [], texts[7:]])])
def test_batches_are_all_items_in_order(make: Callable[[list[str]], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch exceeds the limits of rows and bytes only if one item does."""
    monkeypatch.setattr(inputs, "_MAX_ROWS", 5)
    monkeypatch.setattr(inputs, "_MAX_BYTES", 40)
    texts = [("é" * (n % 9)) + "x" for n in range(40)] + ["y" * 100]
    columns = AlignedColumns(np.arange(41), [str(n) for n in range(41)])
    found, first = [], 0
    for batch in read_batches(make(texts), "items"):
        items = split_bytes(batch.items[0][1:], batch.items[1])
        assert first == batch.first
        assert len(batch) == len(items) <= 5
        assert len(batch) == 1 or len(batch.items[1]) <= 40
        times, sources = columns.take(batch)
        assert times is not None
        assert sources is not None
        assert [n * 1_000_000 for n in range(first, first + len(batch))] == times.tolist()
        assert [str(n).encode() for n in range(first, first + len(batch))] == split_bytes(sources[0][1:], sources[1])
        found += items
        first += len(batch)
    columns.check_end()
    assert [text.encode() for text in texts] == found


def test_invalid_text_is_preserved() -> None:
    """NUL and invalid UTF-8 are unchanged; lone surrogates stand for invalid bytes."""
    items = [b"\x00\xff", "a\udcffb", "\ud800", bytearray(b"x")]
    (batch,) = read_batches(items, "items")
    assert [b"\x00\xff", b"a\xffb", b"?", b"x"] == split_bytes(batch.items[0][1:], batch.items[1])


@pytest.mark.parametrize(
    ("known", "outside"),
    [
        pytest.param("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-23:59", id="text"),
        pytest.param("01/Jan/0001:00:00:00 +0000", "01/Jan/0001:00:00:00 +0001", id="text of a log"),
        pytest.param(datetime.max, datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), id="datetime"),
        pytest.param(-62_135_596_800, -62_135_596_801, id="int"),
        pytest.param(2.5, float("inf"), id="float"),
        pytest.param(np.datetime64("9999-12-31"), np.datetime64("10000-01-01"), id="datetime64"),
        pytest.param(np.datetime64("0001", "Y"), np.datetime64(1 << 40, "Y"), id="datetime64 of years"),
        pytest.param(np.datetime64(0, "s"), np.datetime64(1 << 62, "s"), id="datetime64 of seconds"),
    ],
)
@pytest.mark.parametrize(
    "convert", [list, np.array, lambda times: pa.array(np.array(times))], ids=["list", "numpy", "arrow"]
)
def test_times_are_in_years_1_to_9999(known: object, outside: object, convert: Callable[..., object]) -> None:
    """A time outside them in UTC is an error that names its row, in any unit."""
    try:
        times, wrong = convert([known, known]), convert([known, outside])
    except (pa.ArrowException, OverflowError, ValueError):
        return  # Arrow has no such time.
    if isinstance(times, np.ndarray) and times.dtype.kind not in "Miuf":
        times, wrong = times.tolist(), wrong.tolist()  # type: ignore[attr-defined]
    model = nk.LogTemplates()
    with pytest.raises(ParameterError, match=r"times\[1\]=.*1 to 9999") as raised:
        model.fit(["a", "b"], wrong)
    assert (1, 0) == (raised.value.context["row"], model.count)
    (row,) = nk.LogTemplates().fit(["a", "a"], times).table().to_pylist()
    assert row["first_seen"] == row["last_seen"]
    assert 1 <= row["days"][0]["day"].year <= 9999


@pytest.mark.parametrize("ticks", [253_402_300_800_000_000, -62_135_596_800_000_001])
def test_a_state_with_a_time_outside_the_years_is_damaged(tmp_path: Path, ticks: int) -> None:
    """A state that an earlier version saved is not opened, because its table cannot be built."""
    model = nk.LogTemplates()
    (batch,) = read_batches(["a"], "items")
    add_lines(model._table, (batch.items, np.array([ticks]), None))
    model.save(tmp_path / "state")
    with pytest.raises(CorruptStoreError, match=r"1 to 9999"):
        nk.LogTemplates.open(tmp_path / "state")


def test_a_time_outside_the_years_in_a_table_is_refused(tmp_path: Path) -> None:
    """The message names the line."""
    row = {"id": "1", "pattern": "a", "count": 1, "share": 1.0, "last_seen": "9999-12-31T23:59:59-23:59"}
    (tmp_path / "old.jsonl").write_text(json.dumps({**row, "last_seen": None}) + "\n" + json.dumps(row))
    with pytest.raises(InputError, match=r"old.jsonl, line 2: .*last_seen is outside the years 1 to 9999"):
        read_rows(tmp_path / "old.jsonl")
