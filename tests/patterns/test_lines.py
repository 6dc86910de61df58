"""Templates of log lines: merges, matching, overrides, and independence of order."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import ParameterError

NAMES = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ida"]
LINES = [
    *(f"user {name} took {n} ms" for n, name in enumerate(NAMES)),
    "link went UP",
    "link went DOWN",
    "from 10.0.0.1 (db1.example.org) port=80",
    "from 10.0.0.2 () port=8080",
]
PATTERNS = ["user {word} took {int} ms", "from {ip} ({host}) port={int}", "link went DOWN", "link went UP"]


def test_lines_of_one_template_are_counted_together() -> None:
    """Counts, types, names from keys, times and examples are correct; skipped lines are counted."""
    found = nk.LogTemplates().fit([*LINES, "", "  "], times=[86_400.0 * n for n in range(len(LINES) + 2)])
    table = found.table()
    assert PATTERNS == table["pattern"].to_pylist()
    assert (4, 15, {"empty": 2}) == (len(found), found.count, found.skipped)
    assert "<LogTemplates(): 4 patterns of 15 items>" == repr(found)
    first, second = table.to_pylist()[:2]
    assert (9, 9 / 15, 9) == (first["count"], first["share"], len(first["days"]))
    assert [("word", "word", 9), ("int", "int", 9)] == [
        (v["name"], v["type"], v["distinct"]) for v in first["variables"]
    ]
    assert ["ip", "host", "port"] == [v["name"] for v in second["variables"]]
    assert {"", "db1.example.org"} == set(second["variables"][1]["samples"])
    assert set(first["examples"]) < set(LINES)
    assert 0 == found.unmatched.count


def test_match_returns_template_and_values() -> None:
    """A new line that fits a template matches it; other lines have no match."""
    found = nk.LogTemplates().fit(LINES)
    match = found.match("user zoe took 17 ms")
    assert match is not None
    assert ("user {word} took {int} ms", {"word": "zoe", "int": "17"}) == (match.pattern, match.variables)
    assert match.id in found.table()["id"].to_pylist()
    assert found.match(b"from 10.9.9.9 () port=1") == found.match("from 10.9.9.9 () port=1")
    for line in ("user zoe took x ms", "link went AWAY", "", "user"):
        assert found.match(line) is None
    table = found.match_many(["user zoe took 17 ms", "", "link went UP", "other", b"user \xff took 1 ms"])
    assert [PATTERNS[0], None, PATTERNS[3], None, PATTERNS[0]] == table["pattern"].to_pylist()
    assert [["zoe", "17"], None, [], None, ["\\xff", "1"]] == table["variables"].to_pylist()
    assert 0 == nk.LogTemplates().match_many([]).num_rows
    assert ["id", "pattern", "variables"] == nk.LogTemplates().match_many(["x"]).column_names


def test_ids_are_stable_when_lines_are_added() -> None:
    """The id depends only on the text of the template."""
    found = nk.LogTemplates().fit(LINES)
    before = dict(zip(found.table()["pattern"].to_pylist(), found.table()["id"].to_pylist(), strict=True))
    found.partial_fit([*LINES, "user zoe took 99 ms", "new 5"])
    after = dict(zip(found.table()["pattern"].to_pylist(), found.table()["id"].to_pylist(), strict=True))
    assert before.items() < after.items()
    assert [("new", "new {int}")] == [
        (row["kind"], row["pattern"]) for row in found.compare(nk.LogTemplates().fit(LINES)).to_pylist()
    ]


_LINE = st.builds(
    "{} {} {} {}".format,
    st.sampled_from(["user", "from", "for"]),
    st.one_of(st.text("abcdef", min_size=1, max_size=2), st.sampled_from(["eth0", "eth1", "eth2", "eth3", "UP"])),
    st.sampled_from(
        [
            "in",
            "=",
            "()",
            "1, 2",
            "7",
            "{int}",
            "in (5)",
            "in (b)",
            "of the: a",
            "a=1 b=c",
            "b=d a=2",
            '"a b"',
            "[a, b]",
        ]
    ),
    st.sampled_from(
        ["1", "x.y", "a", "b", "", "LOCAL(0)", "null", "****", "k...7", '"b"', "[c]", "{optional}", "\n at x"]
    ),
)


@given(st.lists(_LINE, max_size=30), st.integers(0, 30), st.randoms(use_true_random=False))
def test_order_batches_and_merges_do_not_matter(lines: list[str], cut: int, order: random.Random) -> None:
    """One fit, batches, another order and merged states give the same table; templates as lines give themselves."""
    whole = nk.LogTemplates(sample=8).fit(lines)
    batches = nk.LogTemplates(sample=8).fit(lines[:cut]).partial_fit(lines[cut:])
    merged = nk.LogTemplates(sample=8).fit(lines[cut:]).merge(nk.LogTemplates(sample=8).fit(lines[:cut]))
    turned = nk.LogTemplates(sample=8).fit(order.sample(lines, len(lines)))
    assert whole.table() == batches.table() == merged.table() == turned.table()
    patterns = whole.table()["pattern"].to_pylist()
    assert sorted(patterns) == sorted(nk.LogTemplates().fit(patterns).table()["pattern"].to_pylist())
    assert all(id is not None for id in whole.match_many(lines)["id"].to_pylist())


def test_a_log_by_days_keeps_its_ids() -> None:
    """Ids stay, new templates are listed on their day, and a part that others lack changes one template."""
    rng = random.Random(5)
    found, ids = nk.LogTemplates(), set[str]()
    for day in range(30):
        before = nk.LogTemplates().merge(found)
        lines = [f"user {rng.choice(NAMES)} took {rng.randrange(999)} ms" for _ in range(200)]
        lines += [f"proxy closed after {rng.randrange(9)} s" for _ in range(9)]
        lines += [f"disk {rng.randrange(9)} is full"] if day == 9 else []
        lines += [f"proxy closed after {rng.randrange(9)} s ({rng.random():.2f} MB)"] if day == 20 else []
        found.partial_fit(lines, times=[86_400.0 * day] * len(lines))
        changes = [(row["kind"], row["pattern"]) for row in found.compare(before).to_pylist() if row["kind"] != "share"]
        if day == 9:
            assert [("new", "disk {int} is full")] == changes
        elif day == 20:
            assert [("type", "proxy closed after {int} s{optional}")] == changes
        elif day > 0:
            assert [] == changes
        current = set(found.table()["id"].to_pylist())
        assert day in (0, 20) or ids <= current
        ids = current
    assert 30 == len(found.table().to_pylist()[0]["days"])


def test_records_with_parts_and_values_match_their_template(tmp_path: Path) -> None:
    """Optional parts, fields, pairs and further lines have values, also after saving and compaction."""
    lines = ["sent 5 bytes in all", "sent 6 bytes (1.5 KB) in all", "lock ws=null, id=1", "lock ws=Work{7}, id=2"]
    lines += ["load cpu=1 mem=2.5", "load mem=3.5 cpu=4", "job failed: 5\n  at x\n  at y", "job failed: 7\n  at z"]
    found = nk.LogTemplates().fit(lines)
    found.save(tmp_path / "state")
    compacted = nk.LogTemplates(max_templates=8)
    for line in lines:
        compacted.partial_fit([line])
    tables = [nk.LogTemplates.from_table(found.table()), nk.LogTemplates.open(tmp_path / "state"), compacted]
    for model in (found, *tables):
        assert {
            "sent {int} bytes{optional} in all": 2,
            "lock ws={text}, id={int}": 2,
            "load cpu={int} mem={float}": 2,
            "job failed: {int}\n{text}": 2,
        } == {row["pattern"]: row["count"] if model is not tables[0] else 2 for row in model.table().to_pylist()}
        values = [match.variables for match in map(model.match, lines) if match is not None]
        assert ["", " (1.5 KB)"] == [value["optional"] for value in values[:2]]
        assert ["null", "Work{7}"] == [value["ws"] for value in values[2:4]]
        assert [{"cpu": "1", "mem": "2.5"}, {"cpu": "4", "mem": "3.5"}] == values[4:6]
        assert "  at x\n  at y" == values[6]["text"]


def test_a_value_that_never_changes_is_a_constant() -> None:
    """It is printed and no variable, also in a table of patterns and a part of the lines; other values still match."""
    lines = [f"job {n} failed with code 113 by {name}" for n, name in enumerate(NAMES)]
    found = nk.LogTemplates().fit(lines)
    pattern = "job {int} failed with code 113 by {word}"
    for model in (found, nk.LogTemplates.from_table(found.table()), nk.LogTemplates().fit(lines[:8]).merge(found)):
        assert [pattern] == model.table()["pattern"].to_pylist()
        match = model.match("job 77 failed with code 114 by zoe")
        assert match is not None
        assert (pattern, {"int": "77", "word": "zoe"}) == (match.pattern, match.variables)
        assert [["77", "zoe"]] == model.match_many(["job 77 failed with code 114 by zoe"])["variables"].to_pylist()
    assert ["int", "word"] == [variable["name"] for variable in found.table().to_pylist()[0]["variables"]]
    other = nk.LogTemplates().merge(found).partial_fit(["job 7 failed with code 114 by ann"])
    assert [pattern.replace("113", "{int}")] == other.table()["pattern"].to_pylist()
    assert len(NAMES) == len(found.split(found.table()["id"][0].as_py()))


def test_exports_match_their_lines() -> None:
    """Each line matches the regular expression and the LIKE of its template, and no line those of another."""
    lines = [*LINES, "100%_a [x] \\ 5", "job failed: 5\n  at x", "sent 6 bytes (1.5 KB) off", "sent 6 bytes off"]
    found = nk.LogTemplates().fit(lines)
    ids = found.table()["id"].to_pylist()
    like = sqlite3.connect(":memory:")
    for line in lines:
        match = found.match(line)
        assert match is not None
        assert [match.id] == [key for key in ids if re.search(found.to_regex(key), line)]
        query = "SELECT ? LIKE ? ESCAPE '\\'"
        assert [match.id] == [key for key in ids if like.execute(query, (line, found.to_like(key))).fetchone()[0]]
        operator, text = found.to_logql(match.id).split(" ", 1)
        assert ("|~", found.to_regex(match.id)) == (operator, json.loads(text))
    with pytest.raises(ParameterError, match="the id of a pattern"):
        found.to_like("x")


def test_overrides_are_saved_and_merged(tmp_path: Path) -> None:
    """`split` undoes a merge and `pin` excludes a line from it; both are saved and merged."""
    found = nk.LogTemplates().fit(LINES)
    found.split(found.table()["id"][0].as_py())
    separate = [f"user {name} took {{int}} ms" for name in NAMES]
    assert sorted([*separate, *PATTERNS[1:]]) == sorted(found.table()["pattern"].to_pylist())
    found.save(tmp_path / "state")
    assert found.table() == nk.LogTemplates.open(tmp_path / "state").table()
    merged = nk.LogTemplates().merge(nk.LogTemplates.open(tmp_path / "state"))
    assert found.table() == merged.table()
    pinned = nk.LogTemplates().fit(LINES).pin("user ann took 0 ms")
    assert {"user ann took {int} ms", PATTERNS[0]} < set(pinned.table()["pattern"].to_pylist())
    match = pinned.match("user ann took 5 ms")
    assert match is not None
    assert "user ann took {int} ms" == match.pattern
    assert len(pinned) == len(pinned.fit(LINES))


def test_explanations_name_differences() -> None:
    """Lines of one template differ in values, other lines in words."""
    found = nk.LogTemplates().fit(LINES)
    together = found.explain("user ann took 1 ms", "user bob took 1 ms")
    assert together.together
    assert "{word}: 'ann' and 'bob' are of type word; 9 distinct values" in str(together)
    assert "nothing differs" in str(found.explain(LINES[0], LINES[0]))
    separate = found.explain("link went UP", "link went DOWN")
    assert not separate.together
    assert "'UP' against 'DOWN'; there are too few distinct words" in str(separate)
    assert "5 and 3 words" in str(found.explain(LINES[0], "link went UP"))
    assert "'other' has no template" in str(found.explain(LINES[0], "other"))


def test_hostile_lines_are_templates_of_their_own() -> None:
    """Long and binary lines are counted, matched and saved, and join no other template."""
    hostile = [b"\x00\x01\x02", b"\xff\xfe" * 40, b"x" * 9000, b"1 " * 9000, b"=" * 9000, b"a b " * 9000, "é" * 99]
    found = nk.LogTemplates().fit(LINES).partial_fit(hostile)
    assert len(LINES) + len(hostile) == found.count
    assert set(PATTERNS) < set(found.table()["pattern"].to_pylist())
    assert len(hostile) == sum(id is not None for id in found.match_many(hostile)["id"].to_pylist())


def test_memory_is_bounded() -> None:
    """Varying words become variables before there are too many templates; no line is lost."""
    rng = np.random.default_rng(5)
    names = ["".join(rng.choice(list("abcdefgh"), 9)) for _ in range(5000)]
    lines = [f"user {name} logged in" for name in names]
    found = nk.LogTemplates(max_templates=1000)
    for start in range(0, len(lines), 400):
        found.partial_fit(lines[start : start + 400])
    assert ["user {word} logged in"] == found.table()["pattern"].to_pylist()
    assert (5000, 0) == (found.count, found.unmatched.count)
    assert 5000 == found.table()["count"][0].as_py()
    distinct = found.table()["variables"][0].as_py()[0]["distinct"]
    assert abs(distinct / len(set(names)) - 1) < 0.5


def test_evicted_lines_are_counted() -> None:
    """Lines whose templates were evicted are unmatched, and a warning is issued."""
    rng = np.random.default_rng(5)
    lines = [" ".join("".join(rng.choice(list("abcdefgh"), 5)) for _ in range(6)) for _ in range(300)]
    with pytest.warns(RuntimeWarning, match="max_templates=100"):
        found = nk.LogTemplates(max_templates=100).fit(lines)
    assert found.unmatched.count == found.unmatched.evicted >= 200
    assert 300 == found.count


def test_an_empty_line_has_no_template() -> None:
    """Its explanation says so, and missing lines are errors."""
    assert not nk.LogTemplates().fit(LINES).explain("", "link went UP").together
    with pytest.raises(ParameterError, match=r"lines\[1\] is missing"):
        nk.LogTemplates().fit(["a", None])
