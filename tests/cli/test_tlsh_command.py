"""Tests of `nearkin tlsh`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import nearkin as nk
from command import call
from nearkin.io import read_table


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with two similar files, another one, and one without a digest."""
    data = bytearray(random.Random(4).randbytes(3000))
    (tmp_path / "a").write_bytes(data)
    data[1000] ^= 1
    (tmp_path / "b").write_bytes(data)
    (tmp_path / "c").write_bytes(random.Random(5).randbytes(900))
    (tmp_path / "zero").write_bytes(bytes(900))
    return tmp_path


def test_a_list_is_written_searched_and_clustered(files: Path) -> None:
    """What `hash` prints, `search` and `cluster` read; an input without a digest is reported."""
    names = [str(files / name) for name in "abc"]
    result = call("tlsh", "hash", *names)
    lines = [line.split("\t") for line in result.out.splitlines()]
    assert [[nk.tlsh.hash(name), name] for name in names] == lines
    known = files / "known.txt"
    known.write_text(result.out)
    result = call("tlsh", "search", "--known", str(known), names[0], "--json")
    found = [json.loads(line) for line in result.out.splitlines()]
    assert [(names[0], 0), (names[1], nk.tlsh.distance(lines[0][0], lines[1][0]))] == [
        (match["known"], match["distance"]) for match in found
    ]
    result = call("tlsh", "cluster", "--list", str(known), "--json")
    assert names[:2] == [json.loads(line)["path"] for line in result.out.splitlines()]
    result = call("tlsh", "hash", str(files / "zero"))
    assert result.code == 1
    assert "too little variation" in result.err


def test_compare_prints_a_distance_and_explains_it(files: Path) -> None:
    """Files and digests are compared; the exit code says whether they are within the distance."""
    a, b, c = (str(files / name) for name in "abc")
    result = call("tlsh", "compare", a, nk.tlsh.hash(b))
    assert result.out.strip() == str(nk.tlsh.distance(nk.tlsh.hash(a), nk.tlsh.hash(b)))
    assert "buckets agree" in call("tlsh", "compare", "--explain", a, b).out
    assert call("tlsh", "compare", a, c, "--distance", "40").code == 3
    assert call("tlsh", "search", a).code == 2
    assert call("tlsh", "hash", a, "--recipe", "ssdeep").code == 2


@pytest.mark.parametrize(
    "command", ["ssdeep cluster", "tlsh cluster", "ssdeep search", "tlsh search", "fuzzy", "fuzzy search"]
)
def test_results_are_grouped_and_written(files: Path, command: str) -> None:
    """--groups has the second column of the rows by the first one; --out has the rows of --json."""
    family, _, how = command.partition(" ")
    base = [family, *([how] if family != "fuzzy" else []), files / "a", str(files / "[bc]")]
    if how == "search":
        listed = files / ("list.jsonl" if family == "fuzzy" else "list")
        done = call(*([family] if family == "fuzzy" else [family, "hash"]), files / "a", files / "b", "--out", listed)
        assert (0, "") == (done.code, done.out), done.err
        base += ["--known", listed]
    rows = call(*base, "--json").objects()
    first, second = list(rows[0])[:2]
    groups: dict[object, list[str]] = {}
    for row in rows:
        if row[first] is not None:
            groups.setdefault(row[first], []).append(row[second])
    assert len(groups) < sum(map(len, groups.values()))
    assert [{first: key, "files": own} for key, own in groups.items()] == call(*base, "--groups", "--json").objects()
    lines = [line.split("\t") for line in call(*base, "--groups").out.splitlines()]
    assert [[str(key), *own] for key, own in groups.items()] == lines
    for name in ("r.jsonl", "r.parquet", "r.csv", "r.tsv"):
        done = call(*base, "--out", files / name)
        assert (0, "") == (done.code, done.out), done.err
        written = [list(row) for row in zip(*read_table(files / name).values(), strict=True)]
        kind = str if name.endswith("sv") else lambda value: value
        assert [[None if value is None else kind(value) for value in row.values()] for row in rows] == written
    assert 0 == call(*base, "--groups", "--out", files / "g.parquet").code
    assert list(groups.values()) == read_table(files / "g.parquet")["files"]
    before = (files / "r.csv").read_bytes()
    assert 2 == call(*base, "--out", files / "r.csv").code
    assert before == (files / "r.csv").read_bytes()
    assert 0 == call(*base, "--out", files / "r.csv", "--overwrite").code


def test_known_digests_of_either_family_are_searched(files: Path) -> None:
    """Lists, JSON lines and indexes of both families are searched within the limits; each fault is named once."""
    a, b, c, zero = (files / name for name in ("a", "b", "c", "zero"))
    (files / "half").write_bytes(a.read_bytes()[:1500])
    for family in ("ssdeep", "tlsh"):
        assert 0 == call(family, "hash", a, c, "--out", files / f"{family}.list").code
    index = nk.DigestIndex("tlsh")
    index.add(["indexed"], [nk.tlsh.hash(a)])
    index.save(files / "index")
    score = nk.ssdeep.compare(nk.ssdeep.hash(a), nk.ssdeep.hash(b))
    distance = nk.tlsh.distance(nk.tlsh.hash(a), nk.tlsh.hash(b))

    def search(*words: object) -> list[tuple[str, bool, bool]]:
        rows = call("fuzzy", b, zero, *words, "--json").objects()
        assert all(str(b) == row["input"] for row in rows)
        return [(row["known"], "ssdeep " in row["evidence"], "tlsh " in row["evidence"]) for row in rows]

    limits = ["--threshold", score, "--distance", distance]
    assert [(str(a), True, True)] == search(*limits, "--known", files / "ssdeep.list", "--known", files / "tlsh.list")
    assert [(str(a), True, False)] == search(*limits, "--known", files / "ssdeep.list")
    assert [("indexed", False, True)] == search(*limits, "--known", files / "index")
    tight = ["--threshold", min(score + 1, 100), "--distance", distance - 1]
    done = call("fuzzy", b, zero, *tight, "--known", files / "ssdeep.list", "--known", files / "tlsh.list")
    assert (3, "input\tknown\tevidence\n", "") == (done.code, done.out, done.err)
    assert 3 == call("fuzzy", a, c, zero, "--out", files / "both.jsonl", *limits).code
    done = call("fuzzy", b, files / "none", "--known", files / "both.jsonl", "--known", files / "no.list", *limits)
    assert (1, 1, 1) == (done.code, done.err.count("none: no such file"), done.err.count("no.list: no such file"))
    assert str(a) in done.out
    for family in ("ssdeep", "tlsh"):
        assert str(a) in call(family, "search", "--known", files / "both.jsonl", b).out


def test_both_digests_group_files_with_their_evidence(files: Path) -> None:
    """Each file has both digests; members of a group have the evidence of either, others none."""
    (files / "copy").write_bytes((files / "c").read_bytes())
    paths = [str(files / name) for name in ("a", "b", "c", "copy", "zero")]
    done = call("fuzzy", *paths, "--json", "--threshold", "50")
    rows = {Path(row["path"]).name: row for row in map(json.loads, done.out.splitlines())}
    assert ([1, 1, 2, 2, None], 0) == ([rows[name]["group"] for name in ("a", "b", "c", "copy", "zero")], done.code)
    for name in ("a", "b", "c"):
        data = (files / name).read_bytes()
        assert (nk.ssdeep.hash(data), nk.tlsh.hash(data)) == (rows[name]["ssdeep"], rows[name]["tlsh"])
    assert (None, None, "equal bytes") == (rows["zero"]["tlsh"], rows["a"]["evidence"], rows["copy"]["evidence"])
    score = nk.ssdeep.compare(rows["a"]["ssdeep"], rows["b"]["ssdeep"])
    distance = nk.tlsh.distance(rows["a"]["tlsh"], rows["b"]["tlsh"])
    assert rows["b"]["evidence"].startswith(f"ssdeep {score} (7-gram ")
    assert f"tlsh {distance} (" in rows["b"]["evidence"]
    assert 3 == call("fuzzy", files / "a", files / "c").code
    assert 1 == call("fuzzy", files / "a", files / "none").code
