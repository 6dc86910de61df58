"""The contract of patterns, on a class whose scanner is written here: words are literal, numbers are variables."""

from __future__ import annotations

import json
import re
import warnings
from collections import defaultdict
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin._core import FormTable, read_patterns, write_patterns
from nearkin.errors import CorruptStoreError, FormatVersionError, InputError, MismatchError, ParameterError
from nearkin.patterns import inputs as given_items
from nearkin.patterns.base import Explanation, Patterns, Unexplained, open_patterns
from nearkin.patterns.inputs import NO_TIME, Batch, Strings
from nearkin.patterns.lines import LogTemplates
from nearkin.patterns.tables import compared, id_of, pieces, reshaped, table_of


def _sample(values: set[str]) -> list[tuple[int, bytes]]:
    return sorted(
        (int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big"), text.encode()) for text in values
    )


def _column(samples: list[list[tuple[int, bytes]]], name: str) -> dict[str, npt.NDArray[Any]]:
    flat = [pair for sample in samples for pair in sample]
    return {
        f"{name}_ends": np.cumsum([len(sample) for sample in samples], dtype=np.int64),
        f"{name}_hashes": np.array([pair[0] for pair in flat], np.uint64),
        f"{name}_text_ends": np.cumsum([len(pair[1]) for pair in flat], dtype=np.int64),
        f"{name}_text": np.frombuffer(b"".join(pair[1] for pair in flat), np.uint8),
    }


class Numbers(Patterns):
    """Items whose numbers are variables."""

    name = "numbers"
    REASONS = ("empty",)

    @property
    def unexplained(self) -> Unexplained:
        """Nothing."""
        return Unexplained(0, ())

    def match_many(self, items: Any) -> pa.Table:
        """By the text that an item has when its numbers are variables."""
        known = {row["pattern"]: row["id"] for row in self.table().to_pylist()}
        return pa.table({"id": pa.array([known.get(re.sub(r"\d+", "{int}", item)) for item in items], pa.string())})

    def _params(self) -> dict[str, Any]:
        return {}

    def _scan(
        self,
        tables: Mapping[str, FormTable],
        batch: Batch,
        times: npt.NDArray[np.int64] | None,
        sources: Strings | None,
    ) -> list[int]:
        items = [item.decode() for item in pieces(batch.items[0][1:], batch.items[1])]
        senders = [""] * len(items) if sources is None else [s.decode() for s in pieces(sources[0][1:], sources[1])]
        forms: dict[bytes, list[int]] = defaultdict(list)
        for row, item in enumerate(items):
            if item:
                forms[re.sub(r"\d+", "\xff\x01", item).encode("latin-1")].append(row)
        ordered = sorted(forms)
        numbers = [[re.findall(r"\d+", items[row]) for row in forms[form]] for form in ordered]
        known = [
            [t for row in forms[form] if times is not None and (t := int(times[row])) != NO_TIME] for form in ordered
        ]
        days = [sorted({time // 86_400_000_000 for time in some}) for some in known]
        holes = [[set(values) for values in zip(*found, strict=True)] for found in numbers]
        arrays: dict[str, npt.NDArray[Any]] = {
            "form_ends": np.cumsum([len(form) for form in ordered], dtype=np.int64),
            "forms": np.frombuffer(b"".join(ordered), np.uint8),
            "counts": np.array([len(forms[form]) for form in ordered], np.uint64),
            "first": np.array([min(some, default=NO_TIME) for some in known], np.int64),
            "last": np.array([max(some, default=NO_TIME) for some in known], np.int64),
            "day_ends": np.cumsum([len(some) for some in days], dtype=np.int64),
            "days": np.array([day for some in days for day in some], np.int32),
            "day_counts": np.array(
                [sum(t // 86_400_000_000 == d for t in ts) for ts, ds in zip(known, days, strict=True) for d in ds],
                np.uint64,
            ),
            "hole_ends": np.cumsum([len(some) for some in holes], dtype=np.int64),
            **_column([_sample({items[row] for row in forms[form]})[:3] for form in ordered], "examples"),
            **_column([_sample({senders[row] for row in forms[form]} - {""}) for form in ordered], "sources"),
            **_column([_sample(values)[: self._sample] for some in holes for values in some], "holes"),
        }
        tables["forms"].merge(FormTable.from_arrays(arrays, self._sample, self._max_forms, (0, 0)))
        return [sum(not item for item in items)]

    def _make(self) -> pa.Table:
        return table_of(self._tables["forms"].arrays(), self.count, self._sample)

    def __len__(self) -> int:
        return int(self.table().num_rows)

    def table(self) -> pa.Table:
        """As it was made."""
        found: pa.Table = self._patterns()
        return found


ITEMS = ["took 5 ms", "took 7 ms", "took 7 ms", "user 1 of 2", "done", ""]
TIMES = ["2024-05-01T10:00", "2024-05-02T10:00", "2024-05-02T11:00", "2024-05-01T09:00", "NaT", "2024-05-09"]


def test_a_table_says_what_items_have_in_common() -> None:
    """Counts, shares, times, days, sources, examples and variables of each pattern, most items first."""
    times = np.array(TIMES, "datetime64[s]")
    found = Numbers().fit(ITEMS, times, ["a", "b", "b", None, "a", "c"])
    assert (3, 6, {"empty": 1}) == (len(found), found.count, found.skipped)
    assert "<Numbers(): 3 patterns of 6 items>" == repr(found)
    assert found.memory > 0
    rows = found.table().to_pylist()
    assert ["took {int} ms", "done", "user {int} of {int}"] == [row["pattern"] for row in rows]
    took = rows[0]
    assert (3, 0.5, 2, 2) == (took["count"], took["share"], took["sources"], len(took["days"]))
    assert "2024-05-01 10:00:00+00:00" == str(took["first_seen"])
    assert [1, 2] == [day["count"] for day in took["days"]]
    assert {"took 5 ms", "took 7 ms"} == set(took["examples"])
    assert [("int", "int", 2, {"5", "7"})] == [
        (v["name"], v["type"], v["distinct"], set(v["samples"])) for v in took["variables"]
    ]
    assert ["int", "int_2"] == [v["name"] for v in rows[2]["variables"]]
    assert (None, []) == (rows[1]["first_seen"], rows[1]["days"])
    assert id_of("done") == rows[1]["id"]


@given(st.lists(st.text("ab1 ", max_size=5), max_size=30), st.integers(0, 30), st.randoms())
def test_neither_order_nor_batches_nor_merges_matter(items: list[str], cut: int, random: Any) -> None:
    """One fit, batches, another order, and merged states give the same table."""
    whole = Numbers(sample=4).fit(items)
    batches = Numbers(sample=4).fit(items[:cut]).partial_fit(items[cut:])
    merged = Numbers(sample=4).fit(items[cut:]).merge(Numbers(sample=4).fit(items[:cut]))
    turned = random.sample(items, len(items))
    assert whole.table() == batches.table() == merged.table() == Numbers(sample=4).fit(turned).table()
    assert whole.count == merged.count == len(items)
    assert whole.skipped == merged.skipped


@pytest.mark.parametrize(
    "items",
    [
        [text.encode() for text in ITEMS],
        iter(ITEMS),
        [ITEMS[0].encode(), *ITEMS[1:]],
        np.array(ITEMS),
        np.array(ITEMS, object),
        pa.array(ITEMS),
        pa.array(ITEMS, pa.large_string())[0:],
        pa.array(["x", *ITEMS])[1:],
        pa.chunked_array([ITEMS[:2], ITEMS[2:]]),
        pa.array(ITEMS).dictionary_encode(),
        pa.array([text.encode() for text in ITEMS], pa.binary()),
    ],
    ids=lambda items: type(items).__name__,
)
def test_items_come_in_many_forms(items: Any) -> None:
    """Each gives what the list of strings gives."""
    assert Numbers().fit(ITEMS).table() == Numbers().fit(items).table()


def test_frames_of_others_are_taken() -> None:
    """So are columns of pandas and polars."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    times = np.array(TIMES, "datetime64[us]")
    expected = Numbers().fit(ITEMS, times).table()
    assert expected == Numbers().fit(pandas.Series(ITEMS), pandas.Series(times)).table()
    assert expected == Numbers().fit(pandas.Series(ITEMS, dtype=object), times.tolist()).table()
    assert expected == Numbers().fit(polars.Series(ITEMS), polars.Series(times)).table()


def test_times_are_seconds_or_dates() -> None:
    """Numbers are seconds since 1970; what is no time is refused by name."""
    whole = Numbers().fit(ITEMS[:2], [1_714_557_600, 1_714_557_600.5]).table()
    assert whole == Numbers().fit(ITEMS[:2], np.array([1_714_557_600, 1_714_557_600.5])).table()
    assert whole == Numbers().fit(ITEMS[:2], pa.array([1_714_557_600, 1_714_557_600.5])).table()
    assert ["2024-05-01"] == [str(day["day"]) for day in whole["days"][0].as_py()]
    for times in (["yesterday"], [1e18], np.array([1e18]), pa.array(["x"])):
        with pytest.raises(ParameterError, match="times"):
            Numbers().fit(ITEMS[:1], times)


def test_what_is_wrong_changes_nothing() -> None:
    """Missing items, and times or sources of another length, are errors that name the place."""
    found = Numbers().fit(ITEMS)
    before = found.table()
    with pytest.raises(ParameterError, match=r"items\[1\] is missing"):
        found.fit(["a", None])
    with pytest.raises(ParameterError, match=r"items\[2\] is of type int"):
        found.partial_fit(["a", "b", 3])
    with pytest.raises(ParameterError, match=r"items\[1\] is missing"):
        found.partial_fit(pa.array(["a", None]))
    with pytest.raises(ParameterError, match="a column of int64"):
        found.partial_fit(pa.array([1]))
    with pytest.raises(ParameterError, match=r"use \[item\]"):
        found.fit("one")
    for times, sources in (([1], None), ([1, 2, 3], None), (None, ["a"]), (None, ["a", "b", "c"])):
        with pytest.raises(ParameterError, match="one for each item"):
            found.partial_fit(["a", "b"], times, sources)
    assert before == found.table()
    assert 0 == Numbers().fit([]).count


def test_only_what_was_made_alike_is_merged() -> None:
    """Other classes and other parameters are named."""
    with pytest.raises(MismatchError, match="sample differs: 64 against 4"):
        Numbers().merge(Numbers(sample=4))
    with pytest.raises(MismatchError, match="class differs"):
        Numbers().merge(object())  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="class differs"):
        Numbers().compare(object())
    bad: dict[str, Any]
    for bad in ({"sample": 1}, {"sample": True}, {"max_forms": 0}):
        with pytest.raises(ParameterError):
            Numbers(**bad)


def test_rare_forms_go_at_the_limit_and_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning says how many items went; the count stays that of all."""
    monkeypatch.setattr(given_items, "_ROWS", 5)
    items = ["a", "a", "b", "b", *(f"x{'y' * n}" for n in range(20))]
    with pytest.warns(RuntimeWarning, match="let 1[0-9] items go.*max_forms=10"):
        found = Numbers(max_forms=10).fit(items)
    assert 9 <= len(found) <= 10
    assert len(items) == found.count
    assert {"a", "b"} < set(found.table()["pattern"].to_pylist())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.partial_fit(["a"])


def test_a_state_is_saved_whole(tmp_path: Path) -> None:
    """What is opened is what was saved, orders and counts among it; equal states are equal files."""
    found = Numbers(sample=4).fit(ITEMS, np.array(TIMES, "datetime64[s]"), list("abcabc"))
    found.split(found.table()["id"][0].as_py()).pin("done")
    found.save(tmp_path / "state")
    again = Numbers.open(tmp_path / "state")
    assert (found.table(), found.count, found.skipped) == (again.table(), again.count, again.skipped)
    assert {("split", "took {int} ms"), ("pin", "done")} == again._orders
    Numbers(sample=4).merge(again).save(tmp_path / "other")
    assert (tmp_path / "state").read_bytes() == (tmp_path / "other").read_bytes()
    assert "numbers" == open_patterns(tmp_path / "state")
    assert 3 == len(again.partial_fit(["took 9 ms"]))


def test_files_that_are_no_states_are_refused(tmp_path: Path) -> None:
    """Another class, a newer format, arrays that are missing, and damage."""
    path = tmp_path / "state"
    Numbers().fit(ITEMS).save(path)
    text, values = read_patterns(str(path))
    arrays = [np.frombuffer(value, np.uint8) for value in values]
    head = json.loads(text)
    change: dict[str, Any]
    write_patterns(str(path), json.dumps({**head, "class": "other"}), arrays)
    with pytest.raises(MismatchError, match="other against numbers"):
        Numbers.open(path)
    for change in ({"params": {"sample": 1}}, {"tables": {}}, {"orders": 3}, {"params": {"x": 1}}):
        write_patterns(str(path), json.dumps({**head, **change}), arrays)
        with pytest.raises(CorruptStoreError, match="Numbers"):
            Numbers.open(path)
    write_patterns(str(path), text, arrays[:3])
    with pytest.raises(CorruptStoreError):
        Numbers.open(path)
    write_patterns(str(path), json.dumps({**head, "format": 2}), arrays)
    with pytest.raises(FormatVersionError, match="update nearkin"):
        Numbers.open(path)
    write_patterns(str(path), "[]", [])
    for opened in (Numbers.open, open_patterns):
        with pytest.raises(CorruptStoreError):
            opened(path)
    path.write_text("plain text")
    with pytest.raises(InputError, match="is no state of patterns; give what save or --state wrote"):
        Numbers.open(path)
    with pytest.raises(InputError, match="folder"):
        Numbers.open(tmp_path)


def test_orders_name_what_is_there() -> None:
    """`split` takes the id of a pattern, `pin` a text."""
    with pytest.raises(ParameterError, match="pattern_id"):
        Numbers().fit(ITEMS).split("0")
    with pytest.raises(ParameterError, match="literal"):
        Numbers().pin("")
    assert "together\n  one\n  two" == str(Explanation(True, ("one", "two")))


def test_what_is_new_is_found() -> None:
    """New and gone patterns, changed types, and shares that moved by more than chance."""
    old = Numbers().fit(["a 1"] * 500 + ["b 1"] * 500 + ["gone"] * 3 + ["same"] * 50)
    new = Numbers().fit(["a 1"] * 900 + ["b 1"] * 100 + ["new"] * 2 + ["same"] * 51)
    found = new.compare(old).to_pylist()
    assert [("new", "new"), ("gone", "gone"), ("share", "a {int}"), ("share", "b {int}")] == [
        (row["kind"], row["pattern"]) for row in found
    ]
    assert found[2]["after"] > found[2]["before"] > 0
    assert [] == new.compare(new).to_pylist()
    rows = {"id": ["1"], "pattern": ["a {int}"], "count": [9], "share": [1.0]}
    typed = compared(pa.table(rows), pa.table({**rows, "id": ["2"], "pattern": ["a {word}"]})).to_pylist()
    assert [("type", "a {word}", "a {int}")] == [(row["kind"], row["pattern"], row["was"]) for row in typed]


def test_every_lost_pattern_is_told_of() -> None:
    """Two that differ in types of variables only: the larger one changed its type, the other one is gone."""
    old = {"id": ["1", "2"], "pattern": ["a {int}", "a {hex}"], "count": [4, 1], "share": [0.8, 0.2]}
    new = {"id": ["3"], "pattern": ["a {word}"], "count": [5], "share": [1.0]}
    found = compared(pa.table(old), pa.table(new)).to_pylist()
    assert [("gone", "2"), ("type", "3")] == [(row["kind"], row["id"]) for row in found]
    assert "a {int}" == found[1]["was"]


def test_patterns_that_became_wider_or_narrower_changed_their_type() -> None:
    """One explains the other: neither is new, and none is gone."""
    old = {"id": ["1", "2", "3"], "pattern": ["a x", "a y", "b {int}"], "count": [4, 1, 5], "share": [0.4, 0.1, 0.5]}
    new = {"id": ["4", "5", "6"], "pattern": ["a {word}", "b 7", "c"], "count": [5, 4, 1], "share": [0.5, 0.4, 0.1]}
    changes = compared(pa.table(old), pa.table(new))
    wider = {"a x": "4", "a y": "4", "b {int}": None}
    narrower = {"a {word}": None, "b 7": "3", "c": None}
    found = reshaped(changes, wider, narrower).to_pylist()
    assert [("new", "c", None), ("type", "a {word}", "a x"), ("type", "b 7", "b {int}")] == [
        (row["kind"], row["pattern"], row["was"]) for row in found
    ]
    assert [0.0, 0.5, 0.5] == [row["before"] for row in found]
    assert changes.equals(reshaped(changes, dict.fromkeys(wider), dict.fromkeys(narrower)))


def test_a_table_is_compared_as_its_state_is() -> None:
    """Templates of a log, against an older object and against its table."""
    old = LogTemplates().fit([f"job {n} took {n} ms" for n in range(9)] + ["shutting down"])
    new = LogTemplates().fit([f"job {n} took {n} ms" for n in range(9)] + ["starting up"])
    expected = [("new", "starting up"), ("gone", "shutting down")]
    for older in (old, old.table()):
        assert expected == [(row["kind"], row["pattern"]) for row in new.compare(older).to_pylist()]
