"""Tests of `nearkin tlsh`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import nearkin as nk
from command import call


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
