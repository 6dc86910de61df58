"""Tests of `nearkin dedup --family ssdeep`."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pytest

import nearkin as nk
from command import Done, call, json_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a tree with a file, a copy of it, a similar file and a different one."""
    folder = tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    data = random.Random(0).randbytes(20_000)
    (folder / "a").write_bytes(data)
    (folder / "deep" / "copy").write_bytes(data)
    (folder / "deep" / "near").write_bytes(data[:15_000] + b"edit" + data[15_000:])
    (folder / "other").write_bytes(random.Random(1).randbytes(20_000))
    return folder


def dedup(*arguments: object, stdin: bytes = b"") -> Done:
    return call("dedup", "--family", "ssdeep", *arguments, stdin=stdin)


def names(path: Path) -> list[str]:
    return [Path(os.fsdecode(name)).name for name in path.read_bytes().split(b"\0") if name]


def test_the_output_lists_what_stays_and_what_goes(folder: Path, tmp_path: Path) -> None:
    """The output has NUL-separated paths, tables with reasons and scores, and a summary; links are no files."""
    out = tmp_path / "out"
    (folder / "link").symlink_to(folder / "a")
    (folder / "loop").symlink_to(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = dedup(folder, "-o", out)
    assert (0, "") == (done.code, done.out), done.err
    assert (["a", "other"], ["copy", "near"]) == (names(out / "kept.nul"), names(out / "removed.nul"))
    rows = {Path(row["id"]).name: row for row in json_lines(out / "clusters.jsonl")}
    assert {"a": "kept", "copy": "exact", "near": "near"} == {name: row["reason"] for name, row in rows.items()}
    digests = nk.ssdeep.hash_files([folder / "a", folder / "deep" / "near"])
    assert nk.ssdeep.compare(*digests) == rows["near"]["similarity"]
    assert 2 == len(json_lines(out / "pairs.jsonl"))
    summary = json.loads((out / "summary.json").read_text())
    expected = {"documents": 4, "kept": 2, "removed": 2, "threshold": 80, "recipe": "ssdeep", "inputs": [str(folder)]}
    assert expected == {key: summary[key] for key in expected}
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_summary_is_words_or_json(folder: Path, tmp_path: Path) -> None:
    """The summary is text on standard error, JSON on standard output, or is not printed."""
    done = dedup(folder, "-o", tmp_path / "out")
    assert "4 files in " in done.message
    assert f"2 kept, listed in {tmp_path / 'out' / 'kept.nul'}" in done.message
    assert "2 removed (50.0%) in 1 cluster, the largest of 3 1 of them exact copies" in done.message
    assert "1 of them near-duplicates: a score of at least 80" in done.message
    assert "is removed as a duplicate of" in done.err
    done = dedup(folder, "-o", tmp_path / "json", "--json")
    assert (json.loads((tmp_path / "json" / "summary.json").read_text()), "") == (done.json(), done.err)
    assert ("", "") == ((done := dedup(folder, "-o", tmp_path / "quiet", "-q")).out, done.err)


def test_standard_output_is_the_list_of_what_stays(folder: Path) -> None:
    """Standard output is a list for `xargs -0`; the summary is printed to standard error."""
    done = dedup(folder, "-o", "-")
    assert [folder / "a", folder / "other"] == [Path(os.fsdecode(name)) for name in done.data.split(b"\0") if name]
    assert "2 kept 2 removed" in done.message


def test_options_change_what_stays(folder: Path, tmp_path: Path) -> None:
    """Threshold, keep rule, cluster rule, links and recipe change the result."""
    out = tmp_path / "out"
    assert 0 == dedup(folder, "-o", out, "--threshold", 100).code
    assert ["copy"] == names(out / "removed.nul")
    assert 0 == dedup(folder, "-o", out, "--overwrite", "--keep", "longest").code
    assert ["other", "near"] == sorted(names(out / "kept.nul"), reverse=True)
    os.utime(folder / "deep" / "copy", (1, 1))
    assert 0 == dedup(folder, "-o", out, "--overwrite", "--keep", "oldest").code
    assert "copy" in names(out / "kept.nul")
    assert 0 == dedup(folder, "-o", out, "--overwrite", "--links", "all", "--cluster", "components").code
    assert {"left", "right"} <= set(json_lines(out / "pairs.jsonl")[0])
    done = dedup(folder, "-o", out, "--overwrite", "--recipe", "space|ssdeep", "--json")
    assert "space|ssdeep" == done.json()["recipe"]
    done = dedup(folder, "-o", tmp_path / "other", "--recipe", "xml|ssdeep")
    assert (2, True) == (done.code, "any of 'html', 'lines' and 'space'" in done.err)
    assert not (tmp_path / "other").exists()


def test_older_files_remove_new_ones(folder: Path, tmp_path: Path) -> None:
    """Files that match an older file are removed, and its name is in the tables."""
    new = tmp_path / "new"
    new.mkdir()
    (new / "again").write_bytes((folder / "a").read_bytes())
    (new / "fresh").write_bytes(random.Random(5).randbytes(20_000))
    out = tmp_path / "out"
    assert 0 == dedup(new, "-o", out, "--against", folder).code
    assert ["fresh"] == names(out / "kept.nul")
    assert str(folder / "a") == json_lines(out / "clusters.jsonl")[0]["representative"]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of a POSIX system")
def test_files_that_can_not_be_read_are_named(folder: Path, tmp_path: Path) -> None:
    """Unreadable files are skipped with exit code 1; with --strict the first ends the run."""
    os.mkfifo(folder / "fifo")
    out = tmp_path / "out"
    done = dedup(folder, folder / "none", "-o", out)
    assert (1, True) == (done.code, "could not be read" in done.err)
    assert all(name in done.err for name in ("fifo", "none"))
    summary = json.loads((out / "summary.json").read_text())
    assert (2, 2) == (summary["unreadable"], len(summary["unreadable_first"]))
    assert ["a", "other"] == names(out / "kept.nul")
    strict = dedup(folder, "-o", tmp_path / "strict", "--strict")
    assert (1, False) == (strict.code, (tmp_path / "strict").exists())


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_names_of_any_bytes_stand_exactly_in_the_lists(folder: Path, tmp_path: Path) -> None:
    """Lists have the exact bytes of names; tables and messages escape those that are not UTF-8."""
    odd = Path(os.fsdecode(os.fsencode(folder) + b"/odd\n\xff"))
    odd.write_bytes((folder / "other").read_bytes())
    out = tmp_path / "out"
    done = dedup(folder, "-o", out, "--keep", "last")
    assert 0 == done.code, done.err
    kept, removed = ((out / f"{name}.nul").read_bytes().split(b"\0") for name in ("kept", "removed"))
    assert (os.fsencode(odd) in kept) != (os.fsencode(odd) in removed)
    assert any("odd\n\\udcff" in row["id"] for row in json_lines(out / "clusters.jsonl"))
    assert "odd\n" not in done.err


def test_the_output_lies_outside_of_the_inputs(folder: Path, tmp_path: Path) -> None:
    """The output folder must be outside the inputs; only --overwrite replaces an earlier output."""
    done = dedup(folder, "-o", folder / "out")
    assert (2, False) == (done.code, (folder / "out").exists())
    assert [0, 2, 0] == [dedup(folder, "-o", tmp_path / "out", *options).code for options in ((), (), ("--overwrite",))]


def test_short_texts_are_compared_too(tmp_path: Path) -> None:
    """`--also text` matches files with a renamed variable."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    lines = [f"$a_{i} = work_{i}($b_{i}, 'x');\n" for i in range(20)]
    (folder / "a.php").write_text("<?php\n" + "".join(lines))
    (folder / "b.php").write_text("<?php\n" + "".join(lines).replace("$a_", "$other").replace("$b_", "$q"))
    (folder / "c.php").write_text("<?php\n" + "".join(lines))
    done = dedup(folder, "-o", tmp_path / "out", "--also", "text", "--text-threshold", "0.5")
    assert (0, "") == (done.code, done.out), done.err
    assert "or a text similar to at least 0.5" in done.err
    rows = {Path(row["id"]).name: row["evidence"] for row in json_lines(tmp_path / "out" / "clusters.jsonl")}
    assert {"a.php": "", "b.php": "text 1.00", "c.php": "bytes"} == rows
    assert ["text 1.00", "bytes"] == [row["evidence"] for row in json_lines(tmp_path / "out" / "pairs.jsonl")]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert ("text", 0.5) == (summary["also"], summary["text_threshold"])


def test_files_that_a_person_rejected_stay(folder: Path, tmp_path: Path) -> None:
    """Labels refer to files by path; the summary counts them."""
    labels = tmp_path / "labels.tsv"
    labels.write_text(f"left\tright\tmatch\n{folder / 'a'}\t{folder / 'deep' / 'near'}\t0\n")
    done = dedup(folder, "-o", tmp_path / "out", "--labels", labels)
    assert 0 == done.code
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["kept"] == 3
    assert "1 pair not merged, of 1 labelled different" in done.message
