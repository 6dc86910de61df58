"""Tests of `nearkin index`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from command import brute_force_distances, call, check_message, near_texts, succeed
from corpora import flip
from nearkin.index.fingerprints import to_hex
from nearkin.io.locks import lock_file


@pytest.fixture
def index(many: Path, tmp_path: Path) -> Path:
    """Build an index of sixty texts."""
    assert 0 == call("index", "build", many, "-o", tmp_path / "c.nks", "--id-column", "id", "-q").code
    return tmp_path / "c.nks"


def test_another_recipe_is_refused_and_named(many: Path, tmp_path: Path) -> None:
    """`add` and `search` refuse another recipe, and name the first different field."""
    index = tmp_path / "c.nks"
    assert 0 == call("index", "build", many, "-o", index, "--id-column", "id", "-q", "--recipe", "simhash-pypi").code
    before = index.read_bytes()
    assert nk.Recipe.preset("simhash-pypi") == nk.HammingIndex.open(index).recipe
    for command in (("index", "add", index, many, "--id-column", "id"), ("search", index, "--text", "a")):
        check_message(2, "recipe slot norm differs: none against nfkc", *command, "--recipe", "default")
        wide = "norm:none|case:lower|letters:python|char:4|count|md5|simhash:128"
        check_message(2, "recipe slot bits differs: 64 against 128", *command, "--recipe", wide)
    assert 0 == call("search", index, "--text", near_texts()[0], "--recipe", "simhash-pypi", "-k", 1).code
    assert before == index.read_bytes()


def test_build_in_two_parts_equals_build_at_once(many: Path, tmp_path: Path) -> None:
    """Building half and adding the rest gives the same results; removed ids no longer match."""
    lines = many.read_text().splitlines(keepends=True)
    parts = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    parts[0].write_text("".join(lines[:25]))
    parts[1].write_text("".join(lines[25:]))
    whole, grown = tmp_path / "whole.nks", tmp_path / "grown.nks"
    assert 0 == call("index", "build", *parts, "-o", whole, "--id-column", "id", "-q").code
    assert 0 == call("index", "build", parts[0], "-o", grown, "--id-column", "id", "-q").code
    about = call("index", "add", grown, parts[1], "--id-column", "id", "--json").json()
    expected = {"added": 35, "fingerprints": 60, "read": 36, "without_fingerprint": 1, "malformed": 0}
    assert expected == {key: about[key] for key in expected}
    results = [call("search", index, many, "--id-column", "id", "--radius", 40).out for index in (whole, grown)]
    assert results[0] == results[1] != ""
    check_message(2, "already there", "index", "add", grown, parts[1], "--id-column", "id")
    assert "0 added" in call("index", "add", grown, parts[1], "--id-column", "id", "--existing", "skip").err
    assert "2 removed" in call("index", "remove", grown, "d0", "d20").err
    (tmp_path / "gone.txt").write_text("d40\n\nd41\n")
    assert 0 == call("index", "remove", grown, "--ids", tmp_path / "gone.txt").code
    assert 2 == call("index", "remove", grown, "d40").code
    assert 2 == call("index", "remove", grown).code
    assert 0 == call("index", "remove", grown, "d40", "--missing-ok", "-q").code
    assert 56 == len(nk.HammingIndex.open(grown))
    assert "d20" not in call("search", grown, "--text", near_texts()[20], "-k", 60).out


def test_documents_without_ids_are_numbered_over_all_that_is_added(tmp_path: Path) -> None:
    """Numbers are positions in the corpora, including texts without letters."""
    first, second, index = tmp_path / "one.txt", tmp_path / "second.txt", tmp_path / "c.nks"
    first.write_text("first text here\n...\nthird text here\n...\n")
    second.write_text("fifth text here\n")
    assert 0 == call("index", "build", first, "-o", index, "-q").code
    assert 0 == call("index", "add", index, second, "-q").code
    for row, text in {0: "first text here", 2: "third text here", 4: "fifth text here"}.items():
        assert f"text 1\t{row}\t0\n" == call("search", index, "--text", text, "--radius", 0).out
    assert 5 == nk.HammingIndex.open(index).next_row
    assert 0 == call("index", "remove", index, "4", "-q").code
    assert 2 == call("index", "remove", index, "4").code
    check_message(2, "an integer of 64 bits, like the ids of this index", "index", "remove", index, "first")
    assert 3 == call("search", index, "--text", "fifth text here", "--radius", 0).code


def test_a_folder_of_files_has_their_paths_as_ids(tmp_path: Path) -> None:
    """Every file is a document."""
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text(near_texts()[0])
    (folder / "deep" / "b.txt").write_text(near_texts()[1])
    index = tmp_path / "c.nks"
    assert 0 == call("index", "build", folder, "-o", index, "-q").code
    assert "text 1\tdeep/b.txt\t0\n" == call("search", index, "--text", near_texts()[1], "-k", 1).out


def test_fingerprints_come_as_hexadecimal_decimal_and_arrays(tmp_path: Path) -> None:
    """All forms of fingerprints give the same results."""
    rng = np.random.default_rng(4)
    for bits, shape in ((64, (300,)), (100, (300, 2))):
        fps = rng.integers(0, 2**64, shape, dtype=np.uint64)
        if bits == 100:
            fps[:, 1] >>= np.uint64(28)
        query = to_hex(fps[17:18], bits)[0]
        digits = to_hex(fps, bits)
        words = fps.reshape(300, -1).astype(object)
        numbers = [str(sum(int(word) << 64 * i for i, word in enumerate(row))) for row in words]
        inputs = {"hex.txt": "hex", "int.txt": "int", "hex.jsonl": "hex"}
        (tmp_path / "hex.txt").write_text("\n".join(digits) + "\n")
        (tmp_path / "int.txt").write_text("\n".join(numbers))
        (tmp_path / "hex.jsonl").write_text("".join(json.dumps({"fingerprint": text}) + "\n" for text in digits))
        answers = {}
        for name, kind in inputs.items():
            index = tmp_path / "codes.nks"
            options = ("-o", index, "--overwrite", "--fingerprints", kind, "--bits", bits)
            assert 0 == call("index", "build", tmp_path / name, *options).code
            answers[name] = call("search", index, "--fingerprint", query, "-k", 5).out
        assert 1 == len(set(answers.values()))
        nearest = brute_force_distances(fps.reshape(300, -1), fps.reshape(300, -1)[17], bits, list(range(300)))[:5]
        expected = "".join(f"{query}\t{key}\t{far}\n" for far, key in nearest)
        assert expected == answers["hex.txt"]


def test_hash_and_build_work_together(many: Path, index: Path, tmp_path: Path) -> None:
    """The output of `nearkin text hash` builds the same index as the texts."""
    other = tmp_path / "d.nks"
    printed = call("text", "hash", many, "--id-column", "id").out
    listed = tmp_path / "hashed.txt"
    listed.write_text(printed)
    build = ("index", "build", listed, "-o", other, "--fingerprints", "hex", "--recipe", "default")
    assert "60 added, 1 without" in call(*build).err
    assert index.read_bytes() == other.read_bytes()
    assert call("search", index, many, "--radius", 25).out == call("search", other, many, "--radius", 25).out
    bare = tmp_path / "e.nks"
    check_message(1, "no hexadecimal number below 2**64", "index", "build", listed, "-o", bare, "--fingerprints", "hex")
    assert 0 == call("index", "build", listed, "-o", bare, "--fingerprints", "hex", "--bits", 128, "-q").code
    check_message(2, "built from fingerprints without a recipe", "search", bare, "--text", "a")
    add = ("index", "add", bare, listed, "--fingerprints", "hex", "--recipe", "default")
    check_message(2, "an index created without one", *add)


def test_integer_ids_of_lines_match_those_of_the_index(tmp_path: Path) -> None:
    """An index with integer ids keeps them for lines with digits before the tab."""
    index = tmp_path / "c.nks"
    built = nk.HammingIndex(64)
    built.add(np.arange(50) * 10, np.arange(50, dtype=np.uint64))
    built.save(index)
    (tmp_path / "more.txt").write_text("505\tffff\n")
    assert 0 == call("index", "add", index, tmp_path / "more.txt", "--fingerprints", "hex", "-q").code
    assert "ffff\t505\t0\n" == call("search", index, "--fingerprint", "ffff", "--radius", 0).out


def test_lines_that_are_no_fingerprints_are_named(tmp_path: Path) -> None:
    """Invalid lines are skipped and counted, or are an error with --strict."""
    listed, index = tmp_path / "codes.txt", tmp_path / "c.nks"
    listed.write_text("a\tff\nb\t-\nc\t-1\nd\t1_0\ne 10\nf\t0x10\ng\t" + "f" * 17 + "\n")
    build = ("index", "build", listed, "--fingerprints", "hex", "-o")
    done = call(*build, index, "--json", "--max-malformed", "60%")
    assert (0, 2, 4) == (done.code, done.json()["added"], done.json()["malformed"])
    assert "row 3: '-1' is no hexadecimal number below 2**64" in done.err
    assert "row 5: no id, but the first line has one" in done.err
    for key, value in (("a", "ff"), ("f", "10")):
        assert f"{value}\t{key}\t0\n" == call("search", index, "--fingerprint", value, "--radius", 0).out
    assert (1, False) == (call(*build, tmp_path / "x.nks", "--strict").code, (tmp_path / "x.nks").exists())
    assert 2 == call("index", "build", listed, "-o", tmp_path / "x.nks", "--fingerprints", "octal").code


def test_info_explains_and_verifies(many: Path, tmp_path: Path) -> None:
    """`info` prints all of explain() and the recipe; a changed byte returns exit code 1."""
    index = tmp_path / "c.nks"
    assert 0 == call("index", "build", many, "-o", index, "--id-column", "id", "-q", "--radius", 20).code
    about = call("index", "info", index, "--json").json()
    opened = nk.HammingIndex.open(index)
    assert {**about, **opened.explain()} == about
    assert (20, True) == tuple(about[key] for key in ("announced_radius", "verified"))
    assert (nk.Recipe().digest, index.stat().st_size) == (about["recipe_digest"], about["file_bytes"])
    shown = call("index", "info", index, "--radius", 10).out
    parts = ("fingerprints\t60", "bits\t128", "ids\tstrings", nk.Recipe().digest, "radius\t10", "part 1\t")
    assert all(part in shown for part in (*parts, "candidates"))
    flip(index, -70)
    check_message(1, "does not match its checksum", "index", "info", index)
    assert 0 == call("index", "info", index, "--no-verify").code


def test_a_recipe_that_was_changed_in_the_file_is_found(index: Path) -> None:
    """The digest in the file does not match a changed recipe."""
    opened = nk.HammingIndex.open(index)
    note = opened._core.note()
    assert note is not None
    opened._core.set_note(note.replace('"n": 4', '"n": 5'))
    opened.save(index)
    check_message(1, "its recipe has the digest", "search", index, "--text", "a")


def test_what_is_there_is_not_written_over(many: Path, tmp_path: Path) -> None:
    """--overwrite replaces only an index; a failed build changes nothing."""
    index, other = tmp_path / "c.nks", tmp_path / "notes.txt"
    other.write_text("mine")
    build = ("index", "build", many, "--id-column", "id", "-q")
    assert 0 == call(*build, "-o", index).code
    assert 2 == call(*build, "-o", index).code
    assert 0 == call(*build, "-o", index, "--overwrite").code
    assert 1 == call(*build, "-o", other, "--overwrite").code
    assert "mine" == other.read_text()
    before = index.read_bytes()
    assert 2 == call(*build, "-o", index, "--overwrite", "--radius", 500).code
    assert 2 == call(*build, "-o", index, "--overwrite", "--radius", 200).code
    assert before == index.read_bytes()
    # The lock of a replaced file remains.
    assert {"many.jsonl", "c.nks", ".c.nks.lock", "notes.txt"} == {path.name for path in tmp_path.iterdir()}


def test_two_updates_at_a_time_are_refused(index: Path) -> None:
    """A second update is an error; searches continue."""
    with lock_file(index):
        check_message(1, "another process is changing the index", "index", "remove", index, "d1")
        assert 0 == call("search", index, "--text", near_texts()[1], "-k", 1).code
    assert 0 == call("index", "remove", index, "d1").code


def test_an_id_that_is_there_is_an_error_updated_or_skipped(tmp_path: Path) -> None:
    """--existing applies to `build` and `add`."""
    path, index = tmp_path / "codes.txt", tmp_path / "c.nks"
    path.write_text("a\t01\na\t02\n")
    build = ("index", "build", path, "-o", index, "--fingerprints", "hex", "--overwrite")
    assert 2 == call(*build).code
    for existing, digits in (("update", "02"), ("skip", "01")):
        assert 0 == call(*build, "--existing", existing).code
        assert [f"{digits}\ta\t0"] == call("search", index, "--fingerprint", digits, "--radius", 0).lines
    path.write_text("a\t07\n")
    add = ("index", "add", index, path, "--fingerprints", "hex", "--existing")
    assert [0, 0, 2, 2] == [call(*add, existing).code for existing in ("skip", "update", "error", "replace")]
    assert ["07\ta\t0"] == call("search", index, "--fingerprint", "07", "--radius", 0).lines


def test_reports_are_a_line_or_an_object(many: Path, tmp_path: Path) -> None:
    """The report has counts and the size of the index; --quiet prints nothing."""
    index = tmp_path / "c.nks"
    built = call("index", "build", many, "-o", index, "--id-column", "id", "--json")
    expected = {"added": 60, "fingerprints": 60, "bits": 128, "read": 61, "without_fingerprint": 1, "malformed": 0}
    assert expected == {key: built.json()[key] for key in expected}
    assert (str(index), index.stat().st_size) == (built.json()["index"], built.json()["file_bytes"])
    removed = call("index", "remove", index, "d1", "d2")
    assert f"nearkin: 2 removed; {index} holds 58 in {index.stat().st_size:,} bytes\n" == removed.err
    assert 1 == call("index", "remove", index, "d3", "--json").json()["removed"]
    assert 57 == len(nk.HammingIndex.open(index))
    assert ("", "") == ((done := call("index", "remove", index, "d4", "-q")).out, done.err)


def test_ids_to_remove_come_from_standard_input(index: Path, tmp_path: Path) -> None:
    """Ids are one per line, in addition to those in arguments."""
    done = call("index", "remove", index, "d0", "--ids", "-", stdin=b"d1\r\nd2\n\n")
    assert "3 removed" in done.err
    check_message(1, "standard input: is not UTF-8", "index", "remove", index, "--ids", "-", stdin=b"\xff")
    assert 2 == call("index", "remove", index, "--ids", "-", stdin=b"\n").code
    assert 1 == call("index", "remove", index, "--ids", tmp_path / "none").code


def test_the_output_is_no_input_and_no_folder(many: Path, index: Path, tmp_path: Path) -> None:
    """The output must not be an input or a folder; neither is changed."""
    before = index.read_bytes()
    done = call("index", "build", index, "-o", index, "--overwrite", "--format", "txt")
    assert (2, True) == (done.code, "a file that is not an input" in done.err)
    check_message(2, "use a file", "index", "build", many, "-o", tmp_path, "--overwrite")
    assert before == index.read_bytes()


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_id_beyond_64_bits_is_a_bad_record(tmp_path: Path, form: str) -> None:
    """Such a record is skipped and reported; with --strict the index is unchanged."""
    index, corpus, first = tmp_path / "c.nks", tmp_path / f"more.{form}", tmp_path / "first.jsonl"
    first.write_text('{"id": 1, "text": "red wine and cheese"}\n')
    assert 0 == call("index", "build", first, "-o", index, "--id-column", "id").code
    before = index.read_bytes()
    ids = [2, 1 << 63, -(1 << 63), -(1 << 63) - 1, 10**30, (1 << 63) - 1]
    if form == "jsonl":
        corpus.write_text("".join(f'{{"id": {key}, "text": "text {key}"}}\n' for key in ids))
    else:
        corpus.write_text("id,text\n" + "".join(f"{key},text {key}\n" for key in ids))
    add = ("index", "add", index, corpus, "--id-column", "id", "--max-malformed", "3")
    assert (1, before) == (call(*add, "--strict").code, index.read_bytes())
    done = call(*add, "--json")
    about = done.json()
    assert (0, 3, 3, 4) == (done.code, about["added"], about["malformed"], about["fingerprints"])
    assert f"{corpus}, row 2: the id {1 << 63} is not an integer of 64 bits, like the ids of an index" in done.message
    assert {1, 2, -(1 << 63), (1 << 63) - 1} == set(
        np.concatenate(list(nk.HammingIndex.open(index).iter_ids())).tolist()
    )


def test_ids_on_the_command_line_fit_the_index(tmp_path: Path) -> None:
    """Leading zeros and signs are accepted; other ids must be integers of 64 bits."""
    index, corpus = tmp_path / "c.nks", tmp_path / "c.jsonl"
    corpus.write_text("".join(f'{{"id": {key}, "text": "text {key}"}}\n' for key in (7, 0, -(1 << 63))))
    assert 0 == call("index", "build", corpus, "-o", index, "--id-column", "id").code
    for name in (str(1 << 63), "9" * 5000, "7.0", "", "-", "x", "+7", "7_0"):
        check_message(2, "an integer of 64 bits, like the ids of this index", "index", "remove", index, "--", "0", name)
    assert 0 == call("index", "remove", index, "--", "0" * 5000 + "7", " 0 ", str(-(1 << 63))).code
    assert 0 == len(nk.HammingIndex.open(index))


def test_a_page_of_the_plan(tmp_path: Path) -> None:
    """The page has the plan of a query and the cost of each method."""
    pytest.importorskip("jinja2", reason="jinja2 is not installed (nearkin[report])")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"this is the text of line {number}\n" for number in range(50)))
    assert 0 == call("index", "build", corpus, "-o", tmp_path / "index.nks", "--quiet").code
    page = tmp_path / "plan.html"
    succeed("index", "info", tmp_path / "index.nks", "--radius", "4", "--report", page)
    assert "methods: scan" in page.read_text()
    assert 2 == call("index", "info", tmp_path / "index.nks", "--report", tmp_path / "index.nks").code
