"""Tests of `nearkin ssdeep`."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

import nearkin as nk
from command import Done, call


def run(*arguments: object, stdin: bytes = b"") -> Done:
    """Run `nearkin ssdeep` in this process."""
    return call("ssdeep", *arguments, stdin=stdin)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a tree with two similar files, a different one, links and a FIFO."""
    base = random.Random(0).randbytes(20_000)
    (tmp_path / "deep").mkdir()
    (tmp_path / "a").write_bytes(base)
    (tmp_path / "deep" / 'b "2"').write_bytes(base[:15_000] + b"edit" + base[15_000:])
    (tmp_path / "other").write_bytes(random.Random(1).randbytes(20_000))
    (tmp_path / "deep" / "loop").symlink_to(tmp_path)
    (tmp_path / "deep" / "link").symlink_to(tmp_path / "a")
    return tmp_path


def test_hash_writes_the_programs_list(folder: Path) -> None:
    """The output can be read by read_list; links are skipped."""
    done = run("hash", "-r", folder)
    assert 0 == done.code
    paths = [folder / "a", folder / "other", folder / "deep" / 'b "2"']
    assert list(zip(nk.ssdeep.hash_files(paths), map(str, paths), strict=True)) == nk.ssdeep.read_list(done.data)


def test_hash_writes_json(folder: Path) -> None:
    """JSON has one object per line: digest, path and recipe."""
    digest = nk.ssdeep.hash(folder / "a")
    expected = {"digest": digest, "path": str(folder / "a"), "recipe": "ssdeep"}
    assert expected == json.loads(run("hash", "--json", folder / "a").out)


def test_what_can_not_be_hashed_is_named_and_the_rest_is_done(folder: Path) -> None:
    """A FIFO and a missing file are reported with exit code 1."""
    os.mkfifo(folder / "fifo")
    done = run("hash", "--quiet", folder / "fifo", folder / "none", folder / "a")
    assert 1 == done.code
    assert [str(folder / "a")] == [name for _, name in nk.ssdeep.read_list(done.data)]
    for message in ("not a regular file", "no such file or folder"):
        assert message in done.err
    assert 2 == run("hash").code


def test_compare_takes_files_and_digests(folder: Path) -> None:
    """`compare` prints the score, optionally its reasons, and returns 3 below the threshold."""
    a, b, other = folder / "a", folder / "deep" / 'b "2"', folder / "other"
    score = nk.ssdeep.compare(nk.ssdeep.hash(a), nk.ssdeep.hash(b))
    assert (0, f"{score}\n") == ((done := run("compare", a, b)).code, done.out)
    assert (0, f"{score}\n") == ((done := run("compare", a, nk.ssdeep.hash(b))).code, done.out)
    assert (3, "0\n") == ((done := run("compare", a, other)).code, done.out)
    assert 3 == run("compare", "-t", score + 1, a, b).code
    assert "no seven successive characters" in run("compare", "--explain", a, other).out
    assert score == json.loads(run("compare", "--json", a, b).out)["score"]
    assert 1 == run("compare", a, folder / "none").code
    done = run("compare", a, "7:a:b")
    assert (1, True) == (done.code, "add --lenient" in done.err)
    assert (0, "100\n") == ((done := run("compare", "--lenient", "7:a-:b", '7:a-:b,"c:d"')).code, done.out)


def test_search_finds_known_files(folder: Path) -> None:
    """`search` reads lists and bare digests; invalid lines are reported."""
    known = folder / "known"
    known.write_bytes(run("hash", folder / "a", folder / "other").data)
    done = run("search", "--known", known, "--json", folder / "deep" / 'b "2"')
    assert 0 == done.code
    assert str(folder / "a") == json.loads(done.out)["known"]
    bare = folder / "bare"
    bare.write_text(nk.ssdeep.hash(folder / "a") + "\n\nnonsense\n")
    done = run("search", "--known", bare, folder / "a")
    assert [str(folder / "a"), f"{bare}:1", "100"] == done.lines[1].split("\t")
    assert (1, True) == (done.code, f"{bare}:3" in done.err)
    bare.write_text("7:abcdefghij-:b\n")
    for command, code in ((("search", "--known", bare, "--list", bare), 0), (("cluster", "--list", bare), 3)):
        assert code == run(*command, "--lenient").code
        done = run(*command)
        assert (1, True, False) == (done.code, "add --lenient for old data" in done.err, "strict" in done.err)
    stranger = folder / "stranger"
    stranger.write_bytes(random.Random(9).randbytes(9000))
    assert 3 == run("search", "--known", known, stranger).code
    assert 2 == run("search", folder / "a").code
    assert 2 == run("search", "--known", known).code


def test_a_list_that_never_ends_is_refused(folder: Path) -> None:
    """A FIFO, a device, a directory and a missing file are errors as lists."""
    os.mkfifo(folder / "fifo")
    for path in (folder / "fifo", "/dev/zero", folder):
        done = run("search", "--known", path, folder / "a")
        assert (1, True) == (done.code, "not a regular file" in done.err), done.err
    done = run("search", "--known", folder / "none", folder / "a")
    assert (1, True) == (done.code, "no such file" in done.err)


def test_cluster_groups_what_is_alike(folder: Path) -> None:
    """Similar files are one cluster; without a cluster the exit code is 3."""
    done = run("cluster", "-r", "--json", folder)
    assert 0 == done.code
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(1, "a"), (1, 'b "2"')] == [(row["cluster"], Path(row["path"]).name) for row in rows]
    assert 100 == rows[0]["score with the first"]
    assert 3 == run("cluster", folder / "a", folder / "other").code
    known = folder / "known"
    known.write_bytes(run("hash", "-r", folder).data)
    listed = run("cluster", "--list", known, "--json", "--linkage", "connected")
    assert 2 == len(listed.out.splitlines())


def test_a_recipe_goes_with_digests_and_is_never_mixed(folder: Path) -> None:
    """Inputs are hashed by the recipe of the known digests; another recipe is an error."""
    words = [f"word{i}" for i in range(3000)]
    (folder / "page").write_text("<p>" + "</p>\n<p>".join(words))
    (folder / "text").write_text("  ".join(words))
    assert "0\n" == run("compare", folder / "page", folder / "text").out
    assert "100\n" == run("compare", "--recipe", "html+space|ssdeep", folder / "page", folder / "text").out
    assert 2 == run("hash", "--recipe", "space|ssdeep", folder / "page").code
    done = run("hash", "--recipe", "space+html|ssdeep:notrunc", "--json", folder / "page")
    assert "html+space|ssdeep:notrunc" == json.loads(done.out)["recipe"]
    known = folder / "known.jsonl"
    known.write_bytes(run("hash", "--recipe", "html+space|ssdeep", "--json", folder / "page").data)
    result = json.loads(run("search", "--known", known, "--json", folder / "text").out)
    assert (str(folder / "page"), 100) == (result["known"], result["score"])
    index = nk.DigestIndex(recipe="html+space|ssdeep")
    index.add(["the page"], index.recipe.hash_files([folder / "page"]))
    index.save(folder / "index")
    both = run("search", "--known", known, "--known", folder / "index", "--json", folder / "text")
    assert [str(folder / "page"), "the page"] == [row["known"] for row in both.objects()]
    listed = folder / "list"
    listed.write_bytes(run("hash", folder / "text").data)
    for arguments in (
        ["--known", known, "--known", listed, folder / "text"],
        ["--known", known, "--recipe", "space|ssdeep", folder / "text"],
        ["--known", known, "--list", listed],
    ):
        done = run("search", *arguments)
        assert (2, True) == (done.code, "recipe slot normalize differs" in done.err)
    known.write_text('{"digest": "3::"}\n')
    done = run("search", "--known", known, folder / "text")
    assert (1, True) == (done.code, "line 1: there is no field 'path'; a line has digest, path and recipe" in done.err)
    done = run("hash", "--recipe", "xml|ssdeep", folder / "text")
    assert (2, True) == (done.code, "any of 'html', 'lines' and 'space'" in done.err)


@pytest.fixture
def known(folder: Path) -> Path:
    """Write a list of the two similar files."""
    path = folder.parent / f"{folder.name}.list"
    path.write_bytes(run("hash", folder / "a", folder / "other").data)
    return path


def test_a_search_is_limited_in_number_and_score(folder: Path, known: Path) -> None:
    """There are at most k matches per input, the best first, none below the threshold."""
    near = folder / "deep" / 'b "2"'
    both = nk.ssdeep.write_list([(nk.ssdeep.hash(path), path.name) for path in (near, folder / "a")])
    known.write_bytes(both)
    rows = run("search", "--known", known, "--json", near).objects()
    assert [100, nk.ssdeep.compare(nk.ssdeep.hash(near), nk.ssdeep.hash(folder / "a"))] == [
        row["score"] for row in rows
    ]
    assert rows[:1] == run("search", "--known", known, "--json", "-k", 1, near).objects()
    assert rows[:1] == run("search", "--known", known, "--json", "--threshold", 100, near).objects()
    assert 2 == run("search", "--known", known, "-k", 0, near).code
    assert 2 == run("search", "--known", known, "-t", 0, near).code


def test_search_and_cluster_walk_directories_and_lists(folder: Path, known: Path) -> None:
    """Inputs can be directories and entries of lists."""
    expected = {"a", "other", 'b "2"'}
    for words in ((), ("--recursive",)):
        result = run("search", "--known", known, "--json", *words, folder).objects()
        assert expected == {Path(row["input"]).name for row in result}
    rows = run("cluster", "--json", "--list", known, folder / "a", folder / "other").objects()
    assert [1, 1, 2, 2] == [row["cluster"] for row in rows]


def test_the_linkage_decides_whether_chains_are_clusters(tmp_path: Path) -> None:
    """Connected linkage joins a chain of three files, whose ends do not match."""
    data = random.Random(3).randbytes(60_000)
    for name, start in (("a", 0), ("b", 14_000), ("c", 28_000)):
        (tmp_path / name).write_bytes(data[start : start + 30_000])
    digests = nk.ssdeep.hash_files([tmp_path / name for name in "abc"])
    threshold = min(nk.ssdeep.compare(digests[0], digests[1]), nk.ssdeep.compare(digests[1], digests[2]))
    assert nk.ssdeep.compare(digests[0], digests[2]) < threshold
    options = ("cluster", "-t", threshold, "--json", *(tmp_path / name for name in "abc"))
    assert 2 == len(run(*options, "--linkage", "centred").objects())
    assert 3 == len(run(*options, "--linkage", "connected").objects())
    assert 2 == run(*options, "--linkage", "complete").code


@pytest.mark.skipif(os.name == "nt", reason="names of any bytes")
def test_names_of_any_bytes_can_be_written(folder: Path) -> None:
    """Names that are not UTF-8 are exact in lists and escaped elsewhere."""
    odd = folder / os.fsdecode(b"line\nend\xff")
    odd.write_bytes(random.Random(5).randbytes(9000))
    assert [str(odd)] == [name for _, name in nk.ssdeep.read_list(run("hash", odd).data)]
    assert r"end\udcff" in run("hash", "--json", odd).json()["path"]
    known = folder / "known.jsonl"
    known.write_bytes(run("hash", "--json", odd).data)
    assert r"line\nend\udcff" in run("search", "--known", known, odd).out


def test_compare_speaks_json_of_a_score(folder: Path) -> None:
    """--json has the score, both digests and the reliability."""
    digest = nk.ssdeep.hash(folder / "a")
    result = run("compare", "--json", folder / "a", digest).json()
    assert {"score": 100, "a": digest, "b": digest, "reliability": "good"} == result


def test_a_damaged_index_is_named_and_the_rest_is_searched(folder: Path, known: Path) -> None:
    """A damaged index is reported with exit code 1; other lists are searched."""
    index = nk.DigestIndex()
    index.add(["x"], [nk.ssdeep.hash(folder / "a")])
    index.save(folder / "index")
    (folder / "index").write_bytes((folder / "index").read_bytes()[:-1])
    done = run("search", "--known", folder / "index", "--known", known, "--json", folder / "a")
    assert (1, True) == (done.code, f"nearkin: {folder / 'index'}" in done.err)
    assert [str(folder / "a")] == [row["known"] for row in done.objects()]
