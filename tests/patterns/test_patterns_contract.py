"""The contract of `Patterns`, on a subclass whose words are literal and whose numbers are variables."""

from __future__ import annotations

import json
import re
import warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
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
from nearkin.patterns import inputs
from nearkin.patterns.base import PatternExplanation, PatternMatch, Patterns, Unmatched
from nearkin.patterns.inputs import NO_TIME, ItemBatch, Strings
from nearkin.patterns.lines import LogTemplates
from nearkin.patterns.payloads import PayloadGroups
from nearkin.patterns.tables import build_table, compare_tables, join_changes, pattern_id, split_bytes
from nearkin.patterns.urls import UrlPatterns


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
    def unmatched(self) -> Unmatched:
        """None."""
        return Unmatched(0, ())

    def match(self, item: str | bytes, /) -> PatternMatch | None:
        """None."""
        return None

    def match_many(self, items: Any) -> pa.Table:
        """Match an item by its text with numbers as variables."""
        known = {row["pattern"]: row["id"] for row in self.table().to_pylist()}
        return pa.table({"id": pa.array([known.get(re.sub(r"\d+", "{int}", item)) for item in items], pa.string())})

    def _params(self) -> dict[str, Any]:
        return {}

    def _scan(
        self,
        table: FormTable,
        batch: ItemBatch,
        times: npt.NDArray[np.int64] | None,
        sources: Strings | None,
    ) -> list[int]:
        items = [item.decode() for item in split_bytes(batch.items[0][1:], batch.items[1])]
        senders = (
            [""] * len(items) if sources is None else [s.decode() for s in split_bytes(sources[0][1:], sources[1])]
        )
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
        table.merge(FormTable.from_arrays(arrays, self._sample, self._max_templates, (0, 0)))
        return [sum(not item for item in items)]

    def _build(self) -> pa.Table:
        return build_table(self._table.arrays(), self.count, self._sample)

    def __len__(self) -> int:
        return int(self.table().num_rows)

    def table(self) -> pa.Table:
        """Return the result of `_build`."""
        found: pa.Table = self._patterns()
        return found


ITEMS = ["took 5 ms", "took 7 ms", "took 7 ms", "user 1 of 2", "done", ""]
TIMES = ["2024-05-01T10:00", "2024-05-02T10:00", "2024-05-02T11:00", "2024-05-01T09:00", "NaT", "2024-05-09"]


def test_a_table_describes_its_patterns() -> None:
    """Counts, shares, times, days, sources, examples and variables of each pattern, by decreasing number of items."""
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
    assert pattern_id("done") == rows[1]["id"]


@given(st.lists(st.text("ab1 ", max_size=5), max_size=30), st.integers(0, 30), st.randoms())
def test_order_batches_and_merges_do_not_matter(items: list[str], cut: int, random: Any) -> None:
    """One fit, batches, another order, and merged states give the same table."""
    whole = Numbers(sample=4).fit(items)
    batches = Numbers(sample=4).fit(items[:cut]).partial_fit(items[cut:])
    merged = Numbers(sample=4).fit(items[cut:]).merge(Numbers(sample=4).fit(items[:cut]))
    turned = random.sample(items, len(items))
    assert whole.table() == batches.table() == merged.table() == Numbers(sample=4).fit(turned).table()
    assert whole.count == merged.count == len(items)
    assert whole.skipped == merged.skipped


_WORD = st.sampled_from(
    ["user", "took", "5", "17", "ann", "x-1", "(", ")", "k=", "select", "union", "1'", "--", "\xe9"]
)
_ITEM = st.one_of(st.lists(_WORD, max_size=6).map(" ".join), st.binary(max_size=9), st.just("\udcff 5"))


@pytest.mark.parametrize("kind", [LogTemplates, PayloadGroups])
@given(items=st.lists(_ITEM, max_size=20), more=st.lists(_ITEM, max_size=5), pin=st.booleans())
def test_match_equals_match_many(
    kind: type[LogTemplates | PayloadGroups], items: list[Any], more: list[Any], pin: bool
) -> None:
    """The match of one item equals its row of `match_many`, at the first call and later, also after a new batch."""
    patterns = kind().fit(items)
    if pin:
        patterns.pin("user 5 union")
    for batch in ([], more):
        patterns.partial_fit(batch)
        every = [*items, *more, "user 5 union", "union 17", ""]
        rows = patterns.match_many(every).to_pylist()
        for _ in range(2):
            matches = [patterns.match(item) for item in every]
            assert [match and match.id for match in matches] == [row["id"] for row in rows]
            assert [match and match.pattern for match in matches] == [row["pattern"] for row in rows]
            values = [None if match is None else [*match.variables.values()] for match in matches]
            assert values == [row["variables"] for row in rows]


@pytest.mark.parametrize("kind", [LogTemplates, PayloadGroups])
def test_threads_match_at_once(kind: type[LogTemplates | PayloadGroups]) -> None:
    """Threads that share an object, and its cache, get the matches of one thread."""
    items = [f"user {n % 7} union select {word} took {n}" for n in range(40) for word in ("ann", "x-1", "null", "from")]
    patterns = kind().fit(items[::3])
    other = kind().fit(items[::3])
    expected = [other.match(item) for item in items]
    with ThreadPoolExecutor(4) as threads:
        assert [expected] * 8 == [*threads.map(lambda _: list(map(patterns.match, items)), range(8))]


@pytest.mark.parametrize("kind", [LogTemplates, PayloadGroups, UrlPatterns])
def test_match_refuses_what_is_no_text(kind: type[LogTemplates | PayloadGroups | UrlPatterns]) -> None:
    """The message names the argument and what it is; every type of bytes is allowed."""
    patterns = kind().fit(["/a/1 or 1=1"])
    assert patterns.match(bytearray(b"/a/1 or 1=1")) == patterns.match("/a/1 or 1=1")  # type: ignore[arg-type]
    for item, problem in ((None, "missing"), (5, "of type int")):
        with pytest.raises(ParameterError, match=f"^(line|payload|url) is {problem}; use a str or bytes$"):
            patterns.match(item)  # type: ignore[arg-type]


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
def test_all_types_of_items_are_equal(items: Any) -> None:
    """Lists, iterators, NumPy and Arrow columns give the same table."""
    assert Numbers().fit(ITEMS).table() == Numbers().fit(items).table()


def test_columns_of_pandas_and_polars_are_equal() -> None:
    """They give the same table as lists."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    times = np.array(TIMES, "datetime64[us]")
    expected = Numbers().fit(ITEMS, times).table()
    assert expected == Numbers().fit(pandas.Series(ITEMS), pandas.Series(times)).table()
    assert expected == Numbers().fit(pandas.Series(ITEMS, dtype=object), times.tolist()).table()
    assert expected == Numbers().fit(polars.Series(ITEMS), polars.Series(times)).table()


def test_times_are_seconds_or_dates() -> None:
    """Numbers are seconds since 1970; invalid times are errors that name the parameter."""
    whole = Numbers().fit(ITEMS[:2], [1_714_557_600, 1_714_557_600.5]).table()
    assert whole == Numbers().fit(ITEMS[:2], np.array([1_714_557_600, 1_714_557_600.5])).table()
    assert whole == Numbers().fit(ITEMS[:2], pa.array([1_714_557_600, 1_714_557_600.5])).table()
    assert ["2024-05-01"] == [str(day["day"]) for day in whole["days"][0].as_py()]
    for times in (["yesterday"], [1e18], np.array([1e18]), pa.array(["x"])):
        with pytest.raises(ParameterError, match="times"):
            Numbers().fit(ITEMS[:1], times)


def test_errors_do_not_change_the_state() -> None:
    """Missing items, and times or sources of another length, are errors that name the position."""
    found = Numbers().fit(ITEMS)
    before = found.table()
    with pytest.raises(ParameterError, match=r"numbers\[1\] is missing"):
        found.fit(["a", None])
    with pytest.raises(ParameterError, match=r"numbers\[2\] is of type int"):
        found.partial_fit(["a", "b", 3])
    with pytest.raises(ParameterError, match=r"numbers\[1\] is missing"):
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


def test_merge_requires_equal_class_and_parameters() -> None:
    """The error names the first difference."""
    with pytest.raises(MismatchError, match="sample differs: 64 against 4"):
        Numbers().merge(Numbers(sample=4))
    with pytest.raises(MismatchError, match="class differs"):
        Numbers().merge(object())  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="class differs"):
        Numbers().compare(object())
    bad: dict[str, Any]
    for bad in ({"sample": 1}, {"sample": True}, {"max_templates": 0}):
        with pytest.raises(ParameterError):
            Numbers(**bad)


def test_rare_templates_are_evicted_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning has the number of evicted items; `count` includes them."""
    monkeypatch.setattr(inputs, "_MAX_ROWS", 5)
    items = ["a", "a", "b", "b", *(f"x{'y' * n}" for n in range(20))]
    with pytest.warns(RuntimeWarning, match="evicted 1[0-9] items.*max_templates=10"):
        found = Numbers(max_templates=10).fit(items)
    assert 9 <= len(found) <= 10
    assert len(items) == found.count
    assert {"a", "b"} < set(found.table()["pattern"].to_pylist())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.partial_fit(["a"])


def test_saved_states_are_equal(tmp_path: Path) -> None:
    """The opened object has the same table, overrides and counts; equal states are equal files."""
    found = Numbers(sample=4).fit(ITEMS, np.array(TIMES, "datetime64[s]"), list("abcabc"))
    found.split(found.table()["id"][0].as_py()).pin("done")
    found.save(tmp_path / "state")
    again = Numbers.open(tmp_path / "state")
    assert (found.table(), found.count, found.skipped) == (again.table(), again.count, again.skipped)
    assert {("split", "took {int} ms"), ("pin", "done")} == again._overrides
    Numbers(sample=4).merge(again).save(tmp_path / "other")
    assert (tmp_path / "state").read_bytes() == (tmp_path / "other").read_bytes()
    assert 3 == len(again.partial_fit(["took 9 ms"]))


def test_invalid_files_are_errors(tmp_path: Path) -> None:
    """Another class, a newer format, missing arrays and damage are errors."""
    path = tmp_path / "state"
    Numbers().fit(ITEMS).save(path)
    text, values = read_patterns(str(path))
    arrays = [np.frombuffer(value, np.uint8) for value in values]
    head = json.loads(text)
    change: dict[str, Any]
    write_patterns(str(path), json.dumps({**head, "class": "other"}), arrays)
    with pytest.raises(MismatchError, match="has patterns of other, not of numbers; open it with their class"):
        Numbers.open(path)
    for change in ({"params": {"sample": 1}}, {"tables": {}}, {"orders": 3}, {"params": {"x": 1}}):
        write_patterns(str(path), json.dumps({**head, **change}), arrays)
        with pytest.raises(CorruptStoreError, match="Numbers"):
            Numbers.open(path)
    write_patterns(str(path), text, arrays[:3])
    with pytest.raises(CorruptStoreError):
        Numbers.open(path)
    write_patterns(str(path), json.dumps({**head, "format": 3}), arrays)
    with pytest.raises(FormatVersionError, match="update nearkin"):
        Numbers.open(path)
    write_patterns(str(path), "[]", [])
    with pytest.raises(CorruptStoreError):
        Numbers.open(path)
    path.write_text("plain text")
    with pytest.raises(InputError, match="is no file that nearkin saved; give a file that save or --state wrote"):
        Numbers.open(path)
    with pytest.raises(InputError, match="folder"):
        Numbers.open(tmp_path)


def test_overrides_are_checked() -> None:
    """`split` needs the id of a pattern, `pin` a text."""
    with pytest.raises(ParameterError, match="pattern_id"):
        Numbers().fit(ITEMS).split("0")
    with pytest.raises(ParameterError, match="literal"):
        Numbers().pin("")
    assert "together\n  one\n  two" == str(PatternExplanation(True, ("one", "two")))


def test_changes_are_found() -> None:
    """New and gone patterns, changed types, and shares that changed by more than chance."""
    old = Numbers().fit(["a 1"] * 500 + ["b 1"] * 500 + ["gone"] * 9 + ["same"] * 50)
    new = Numbers().fit(["a 1"] * 900 + ["b 1"] * 100 + ["new"] * 2 + ["same"] * 51)
    found = new.compare(old).to_pylist()
    assert [("new", "new"), ("gone", "gone"), ("share", "a {int}"), ("share", "b {int}")] == [
        (row["kind"], row["pattern"]) for row in found
    ]
    assert found[2]["after"] > found[2]["before"] > 0
    assert [] == new.compare(new).to_pylist()
    rows = {"id": ["1"], "pattern": ["a {int}"], "count": [9], "share": [1.0]}
    typed = compare_tables(pa.table(rows), pa.table({**rows, "id": ["2"], "pattern": ["a {word}"]})).to_pylist()
    assert [("type", "a {word}", "a {int}")] == [(row["kind"], row["pattern"], row["was"]) for row in typed]


def test_every_lost_pattern_is_listed() -> None:
    """If two old patterns differ only in types, the larger changed its type and the other is gone."""
    old = {"id": ["1", "2"], "pattern": ["a {int}", "a {hex}"], "count": [4, 1], "share": [0.8, 0.2]}
    new = {"id": ["3"], "pattern": ["a {word}"], "count": [5], "share": [1.0]}
    found = compare_tables(pa.table(old), pa.table(new)).to_pylist()
    assert [("gone", "2"), ("type", "3")] == [(row["kind"], row["id"]) for row in found]
    assert "a {int}" == found[1]["was"]


def test_patterns_that_became_wider_or_narrower_changed_their_type() -> None:
    """If one pattern matches the other, neither is new or gone."""
    old = {"id": ["1", "2", "3"], "pattern": ["a x", "a y", "b {int}"], "count": [4, 1, 5], "share": [0.4, 0.1, 0.5]}
    new = {"id": ["4", "5", "6"], "pattern": ["a {word}", "b 7", "c"], "count": [5, 4, 1], "share": [0.5, 0.4, 0.1]}
    changes = compare_tables(pa.table(old), pa.table(new))
    wider = {"a x": "4", "a y": "4", "b {int}": None}
    narrower = {"a {word}": None, "b 7": "3", "c": None}
    found = join_changes(changes, wider, narrower).to_pylist()
    assert [("new", "c", None), ("type", "a {word}", "a x"), ("type", "b 7", "b {int}")] == [
        (row["kind"], row["pattern"], row["was"]) for row in found
    ]
    assert [0.0, 0.5, 0.5] == [row["before"] for row in found]
    assert changes.equals(join_changes(changes, dict.fromkeys(wider), dict.fromkeys(narrower)))


def test_tables_and_states_compare_equally() -> None:
    """Comparing with an object and with its table gives the same changes."""
    old = LogTemplates().fit([f"job {n} took {n} ms" for n in range(9)] + ["shutting down"] * 20)
    new = LogTemplates().fit([f"job {n} took {n} ms" for n in range(9)] + ["starting up"])
    expected = [("new", "starting up"), ("gone", "shutting down")]
    for older in (old, old.table()):
        assert expected == [(row["kind"], row["pattern"]) for row in new.compare(older).to_pylist()]
