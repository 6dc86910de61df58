"""Groups of payloads: equal and different attacks, matching, queues, and hostile payloads."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import urllib.parse
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from corpora import flip
from nearkin.errors import CorruptStoreError, MismatchError, ParameterError

BENCH = Path(__file__).resolve().parents[2] / "bench"

UNION = ["1' UNION ALL SELECT NULL,NULL-- ", "-7%')) union/**/all/**/select 4,4,4#", "1%22+union+all+select+null%23"]
SCRIPT = ["<script>alert(1)</script>", "\"><ScRiPt>prompt('x')</script>", "&lt;script&gt;confirm(2)&lt;/script&gt;"]
PATH = ["../../../etc/passwd", "..%252f..%252fetc%252fpasswd%2500.jpg"]
ALL = [*UNION, *SCRIPT, *PATH]


def counts_by_pattern(groups: nk.PayloadGroups) -> dict[str, int]:
    """Return the number of payloads by pattern."""
    return {row["pattern"]: row["count"] for row in groups.table().to_pylist()}


def test_variants_of_an_attack_are_one_group() -> None:
    """Encodings, case, comments, values, brackets and the number of columns do not matter."""
    groups = nk.PayloadGroups().fit(ALL)
    assert {"union all select null": 3, "<script>alert()": 3, "../etc/passwd": 2} == counts_by_pattern(groups)
    assert (3, 8, {}, 0) == (len(groups), groups.count, groups.skipped, groups.unmatched.count)
    assert "<PayloadGroups(threshold=0.59): 3 patterns of 8 items>" == repr(groups)
    ids = groups.labels(ALL).to_pylist()
    assert [3, 3, 2] == [len(set(part)) and len(part) for part in (ids[:3], ids[3:6], ids[6:])]
    assert [1, 1, 1] == [len(set(part)) for part in (ids[:3], ids[3:6], ids[6:])]
    assert 3 == len(set(ids))


def test_a_row_describes_its_group() -> None:
    """Layers, times, sources, days, examples, and the variables: layers, head, tail and values."""
    times = np.array(["2024-05-01", "2024-05-02", "2024-05-02"], "datetime64[D]")
    (row,) = nk.PayloadGroups().fit(UNION, times, ["a", "b", "a"]).table().to_pylist()
    assert ["case", "comment", "url"] == row["layers"]
    assert (3, 1.0, 2, 2) == (row["count"], row["share"], row["sources"], len(row["days"]))
    assert ("2024-05-01", "2024-05-02") == (str(row["first_seen"])[:10], str(row["last_seen"])[:10])
    assert set(UNION) == set(row["examples"])
    variables = {variable["name"]: variable for variable in row["variables"]}
    assert ["layers", "head", "tail"] == list(variables)
    assert {"1'", "-7%'))", '1"'} == set(variables["head"]["samples"])
    assert {",null--", "#"} == set(variables["tail"]["samples"]) or variables["tail"]["distinct"] > 1
    (sleep,) = nk.PayloadGroups().fit(["1 and sleep(5)", "1 and sleep(7)#"]).table().to_pylist()
    assert ("sleep({int})", {"5", "7"}) == (sleep["pattern"], set(sleep["variables"][3]["samples"]))


def test_match_returns_group_and_values() -> None:
    """A new payload belongs to the group with its template or the nearest centre, or to none."""
    groups = nk.PayloadGroups().fit([*ALL, "1 and sleep(5)"])
    match = groups.match("%31')/**/or/**/sleep(77)--")
    assert match is not None
    assert ("sleep({int})", "77", "1') or", "--") == (
        match.pattern,
        match.variables["int"],
        match.variables["head"],
        match.variables["tail"],
    )
    assert "url,comment" == match.variables["layers"]
    near = groups.match("1' union all select null from x where y")
    assert near is None or "union all select null" == near.pattern
    assert groups.match("${jndi:ldap://x.y/z}") is None
    assert groups.match("") is None
    many = groups.match_many(["sleep(1)", "", b"\xff\x00"])
    assert [match.id, None, None] == many["id"].to_pylist()
    assert ["", "", "", "1"] == many["variables"].to_pylist()[0]


SAMPLES = [*ALL, "1 and sleep(5)", "1 or sleep(6)", "x'", "", "<svg onload=alert(1)>"]


@given(st.lists(st.sampled_from(SAMPLES), max_size=30), st.integers(0, 30), st.randoms())
def test_order_batches_and_merges_do_not_matter(payloads: list[str], cut: int, random: Any) -> None:
    """One fit, batches, another order, and merged states give the same table."""
    whole = nk.PayloadGroups(sample=4).fit(payloads)
    batches = nk.PayloadGroups(sample=4).partial_fit(payloads[cut:]).partial_fit(payloads[:cut])
    merged = nk.PayloadGroups(sample=4).fit(payloads[:cut]).merge(nk.PayloadGroups(sample=4).fit(payloads[cut:]))
    turned = random.sample(payloads, len(payloads))
    for other in (batches, merged, nk.PayloadGroups(sample=4).fit(turned)):
        assert whole.table() == other.table()
        assert whole.skipped == other.skipped


def test_patterns_of_patterns_are_the_patterns() -> None:
    """Fitting the texts of groups gives the same texts and ids."""
    groups = nk.PayloadGroups().fit([*ALL, "1 and sleep(5)", "' or 1=1--", ";cat /etc/passwd", "hello, world", "'"])
    texts = groups.table()["pattern"].to_pylist()
    again = nk.PayloadGroups().fit(texts).table()
    assert sorted(texts) == sorted(again["pattern"].to_pylist())
    assert set(groups.table()["id"].to_pylist()) == set(again["id"].to_pylist())


def test_a_state_is_saved_and_opened(tmp_path: Path) -> None:
    """The file has the state, the threshold and the overrides; a damaged file is an error."""
    path = tmp_path / "groups"
    groups = nk.PayloadGroups(threshold=0.7).fit([*ALL, ""], sources=["a"] * 9)
    groups.pin("1 and sleep(5)").save(path)
    again = nk.PayloadGroups.open(path)
    assert groups.table() == again.table()
    assert (repr(groups), {"empty": 1}) == (repr(again), again.skipped)
    with pytest.raises(MismatchError, match="threshold"):
        again.merge(nk.PayloadGroups())
    flip(path)
    with pytest.raises(CorruptStoreError):
        nk.PayloadGroups.open(path)


def test_split_and_pin_undo_merges() -> None:
    """`split` separates the templates of a group, `pin` one template; both are merged with the state."""
    near = ["1 union all select null", "1 union all select 5", "1 union all select 5,null"]
    groups = nk.PayloadGroups().fit(near)
    assert 1 == len(groups)
    (row,) = groups.table().to_pylist()
    other = nk.PayloadGroups().fit(near).split(row["id"])
    assert 3 == len(other)
    assert 3 == len(groups.merge(other))
    pinned = nk.PayloadGroups().fit(near).pin("7 union all select 8")
    assert 2 == len(pinned)
    assert 3 == pinned.table()["count"].to_numpy().sum()
    with pytest.raises(ParameterError, match="pattern_id"):
        groups.split("0" * 16)


def test_explanations_name_the_evidence() -> None:
    """Templates, layers, heads and tails, the similarity, and the groups."""
    groups = nk.PayloadGroups().fit(ALL)
    same = groups.explain(UNION[0], UNION[2])
    assert same.together
    assert all(text in str(same) for text in ("after case", "they have the same template", "head"))
    near = groups.explain(UNION[0], UNION[1])
    assert near.together
    assert "both are in the group of 'union all select null'" in str(near)
    separate = groups.explain(UNION[0], SCRIPT[0])
    assert not separate.together
    assert all(
        text in str(separate)
        for text in ("similarity of their templates is 0.0", "b is in the group of '<script>alert()'")
    )
    strange = groups.explain("id", "1 union all select 1,2")
    assert not strange.together
    assert "no fitted group contains a" in str(strange)
    assert not groups.explain("", "x").together


def test_a_queue_has_one_alert_per_group() -> None:
    """Rows have the first payload of each group, its count, and whether the group is new; the state is unchanged."""
    groups = nk.PayloadGroups().fit(UNION)
    queue = [SCRIPT[0], UNION[1], SCRIPT[1], "", UNION[0], PATH[0], "", PATH[1], PATH[0]]
    rows = groups.queue(queue).to_pylist()
    assert [0, 1, 3, 5, 6] == [row["row"] for row in rows]
    assert [2, 2, 1, 3, 1] == [row["count"] for row in rows]
    assert [True, False, True, True, True] == [row["new"] for row in rows]
    assert [None, None] == [row["id"] for row in rows if row["pattern"] is None]
    assert (3, 1) == (groups.count, len(groups))
    assert 0 == groups.queue([]).num_rows


def test_states_are_compared() -> None:
    """New and gone groups are listed."""
    old = nk.PayloadGroups().fit([*UNION, *SCRIPT] * 9)
    new = nk.PayloadGroups().fit([*UNION, *PATH] * 9)
    rows = new.compare(old).to_pylist()
    assert [("new", "../etc/passwd"), ("gone", "<script>alert()")] == [(row["kind"], row["pattern"]) for row in rows]


def test_unmatched_payloads_are_counted() -> None:
    """Payloads alone in their group are listed, and evicted ones are counted."""
    groups = nk.PayloadGroups().fit([*UNION, "${jndi:ldap://a.b/c}"])
    assert (1, ("${jndi:ldap://a.b/c}",), 0) == (
        groups.unmatched.count,
        groups.unmatched.examples,
        groups.unmatched.evicted,
    )
    few = nk.PayloadGroups(max_templates=1)
    with pytest.warns(RuntimeWarning, match="max_templates=1"):
        few.fit([*UNION, *UNION, SCRIPT[0]])
    assert few.unmatched.evicted > 0
    assert 7 == few.count


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
def test_arrow_columns_equal_lists(kind: pa.DataType) -> None:
    """Chunked columns of each type give the same groups as a list."""
    column = pa.chunked_array([pa.array(ALL[:3], kind), pa.array(ALL[3:], kind)])
    assert nk.PayloadGroups().fit(ALL).table() == nk.PayloadGroups().fit(column).table()
    assert nk.PayloadGroups().fit(ALL).labels(ALL) == nk.PayloadGroups().fit(ALL).labels(column)


def test_invalid_arguments_are_errors() -> None:
    """Thresholds out of range and missing payloads are errors, and the state is unchanged."""
    for threshold in (0, -1, 1.5, True, "x", float("nan")):
        with pytest.raises(ParameterError, match="threshold"):
            nk.PayloadGroups(threshold=threshold)  # type: ignore[arg-type]
    groups = nk.PayloadGroups().fit(UNION)
    with pytest.raises(ParameterError, match=r"payloads\[1\] is missing"):
        groups.partial_fit(["x", None])
    assert 3 == groups.count


def _nested(times: int) -> str:
    text = "<script>alert(1)</script>"
    for _ in range(times):
        text = urllib.parse.quote(text, safe="")
    return text


HOSTILE = [
    b"\x00",
    b"\x00" * 100_000,
    bytes(range(256)) * 50,
    b"A" * 1_000_000,
    b"%" * 1_000_000,
    b"%25" * 300_000,
    b"&#" * 400_000,
    b"&" * 1_000_000,
    b"\\u" * 400_000,
    b"/*" * 500_000,
    b"<!--" * 200_000,
    b"/*!" * 200_000,
    b"(" * 1_000_000,
    b"select(" * 100_000,
    b"fromcharcode(" * 60_000,
    b"String.fromCharCode(" + b"65," * 200_000 + b"65)",
    b"' or 1=1 " * 100_000,
    b"../" * 300_000 + b"etc/passwd",
    b"{int}" * 100_000,
    b"\xff" * 100_000,
    b"\xff\x01\xff\x16",
    "\uff1c".encode() * 100_000,
    base64.b64encode(base64.b64encode(base64.b64encode(b"<script>alert(1)</script>" * 900))),
    _nested(9).encode(),
    b"=" * 100_000,
    b"a.b-c." * 100_000,
    b"//" * 300_000,
    b"//a." * 100_000,
    b"0x" * 100_000,
    b"1e1." * 100_000,
]


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_payloads_are_read_within_bounds(payload: bytes) -> None:
    """Each payload has a bounded template or is empty, matches its group, and joins no other group."""
    groups = nk.PayloadGroups().fit([payload, *UNION])
    assert 4 == groups.count
    assert 3 == sum(count for pattern, count in counts_by_pattern(groups).items() if pattern == "union all select null")
    assert all(len(pattern) < 20_000 for pattern in counts_by_pattern(groups))
    found = groups.match(payload)
    assert (found is None) == bool(groups.skipped)
    assert str(groups.explain(payload, UNION[0]))


def test_layers_are_bounded_and_named() -> None:
    """Decoding stops after eight rounds and at 65,536 bytes; the layer `cut` marks it."""
    groups = nk.PayloadGroups()
    for times, shown in ((8, "<script>alert()"), (12, None)):
        match = groups.fit([_nested(times)]).match(_nested(times))
        assert match is not None
        layers = match.variables["layers"].split(",")
        assert layers.count("url") <= 9
        assert (shown is None) == ("cut" in layers)
        assert shown is None or shown == match.pattern
    match = groups.fit(["x" * 65_537]).match("x" * 65_537)
    assert match is not None
    assert "cut" == match.variables["layers"]


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_any_bytes_are_grouped(payloads: list[bytes]) -> None:
    """Every payload that is not empty has a group, and counts add up."""
    groups = nk.PayloadGroups().fit(payloads)
    labels = groups.labels(payloads).to_pylist()
    assert len(payloads) == sum(groups.table()["count"].to_pylist()) + sum(groups.skipped.values())
    assert sum(label is None for label in labels) == groups.skipped.get("empty", 0)
    assert set(groups.table()["id"].to_pylist()) == {label for label in labels if label}


def _run_benchmark(shared: Path, each: int) -> dict[str, Any]:
    """Group public strings and mutations with the functions of the benchmark, in another process."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
        "import common, patterns_payloads as bench\n"
        "rows = common.records(Path(sys.argv[2]), 'url_httpparams_train')\n"
        "strings = [row['text'] for row in rows if row['label'] == 'anom']\n"
        "payloads, labels = bench.labelled(strings, int(sys.argv[3]), seed=7)\n"
        "scores = bench.group_quality(bench.group(payloads), labels)\n"
        "print(json.dumps([bench.count_groups(bench.group(strings)), scores]))"
    )
    arguments = [sys.executable, "-c", code, str(BENCH), str(shared / "data"), str(each)]
    public, mutations = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
    return {"public": public, "mutations": mutations}


def test_public_attacks_and_mutations_are_grouped(shared: Path) -> None:
    """At least 40 public strings per group, 98% of strings in groups, and a purity of mutations of at least 99.8%."""
    found = _run_benchmark(shared, 30)
    assert found["public"]["strings_a_group"] >= 40
    assert found["public"]["grouped"] >= 0.98
    assert found["mutations"]["purity"] >= 0.998
    assert found["mutations"]["wholeness"] >= 0.995
