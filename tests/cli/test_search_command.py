"""Tests of `nearkin search`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_console import on_a_terminal

import nearkin as nk
from command import brute_force_distances, call, check_message, near_texts, succeed
from corpora import write_rows
from nearkin.index.fingerprints import from_hex, hamming, to_hex


def run(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command in this process, and return exit code, standard output and standard error."""
    done = call(*arguments, stdin=stdin)
    return done.code, done.out, done.err


@pytest.fixture
def index(many: Path, tmp_path: Path) -> Path:
    """Build an index of 128 bits without an announced radius."""
    path = tmp_path / "many.nks"
    assert 0 == call("index", "build", many, "-o", path, "--id-column", "id", "-q").code
    return path


def test_search_of_a_corpus_equals_brute_force_distances(many: Path, tmp_path: Path) -> None:
    """A search for every document equals a comparison with all fingerprints."""
    index = tmp_path / "c.nks"
    code, out, err = run("index", "build", many, "-o", index, "--id-column", "id", "--radius", 30)
    assert (0, "") == (code, out), err
    assert "60 added, 1 without any letter" in err
    code, out, err = run("search", index, many, "--id-column", "id")
    assert 0 == code
    assert "d60: a text without any letter has no fingerprint" in err
    result: dict[str, list[tuple[int, str]]] = {}
    for line in out.splitlines():
        query, key, distance = line.split("\t")
        result.setdefault(query, []).append((int(distance), key))
    fps = nk.fingerprint(near_texts())
    names = [f"d{i}" for i in range(60)]
    # Ties go by row, which is the order in which ids were added.
    for name, fp in zip(names, fps, strict=True):
        assert brute_force_distances(fps, fp, 30, names) == sorted(result[name])
        assert [far for far, _ in result[name]] == sorted(far for far, _ in result[name])


def test_a_text_a_file_and_standard_input_find_the_same(index: Path, tmp_path: Path) -> None:
    """Three ways to query with one text give equal matches; --json has one object per query."""
    letter = tmp_path / "letter.txt"
    text = near_texts()[20]
    letter.write_text(text)
    queries = [("--text", text), ("--file", letter), (), ("--file", "-")]
    result = [call("search", index, *query, "-k", 3, "--json", stdin=text.encode()).json() for query in queries]
    assert ["text 1", str(letter), "-", "-"] == [item["query"] for item in result]
    assert {"id": "d20", "distance": 0} == result[0]["matches"][0]
    assert {"d0", "d20", "d40"} == {match["id"] for match in result[0]["matches"]}
    assert all(item["matches"] == result[0]["matches"] for item in result)
    # Without a radius and -k: the ten nearest, as the index announces no radius.
    assert 10 == len(run("search", index, "--text", text)[1].splitlines())
    both = run("search", index, "--text", text, "-k", 3, "--radius", 0)[1]
    assert "text 1\td20\t0\n" == both


def test_matches_are_lines_in_a_pipe_and_a_table_on_a_terminal(many: Path, tmp_path: Path) -> None:
    """A pipe gets only lines with tabs; a terminal gets a table."""
    index = tmp_path / "c.nks"
    built = call("index", "build", "-", "-o", index, "--id-column", "id", stdin=many.read_bytes())
    assert (0, "", 1) == (built.code, built.out, len(built.err.splitlines()))
    piped = call("search", index, "-k", "2", stdin=near_texts()[5].encode())
    assert ("-\td5\t0", "") == (piped.lines[0], piped.err)
    code, seen = on_a_terminal("search", index, "--text", near_texts()[5], "-k", "2")
    assert (0, True) == (code, all(part in seen for part in ("query", "distance", "d5", "│")))


def test_hexadecimal_ids_meet_the_fingerprints_of_hash(many: Path) -> None:
    """from_hex reads the output of `nearkin text hash`."""
    rows = [line.split("\t") for line in run("text", "hash", many, "--id-column", "id")[1].splitlines()]
    codes = from_hex([digits for _, digits in rows if digits != "-"], 128)
    assert not np.asarray(hamming(codes, nk.fingerprint(near_texts()))).any()


def test_queries_of_every_kind_come_in_one_call(index: Path, tmp_path: Path) -> None:
    """Texts, files and fingerprints can be combined and repeated."""
    texts = near_texts()
    letter = tmp_path / "letter.txt"
    letter.write_text(texts[1])
    digits = to_hex(nk.fingerprint([texts[2]]), 128)[0]
    done = call("search", index, "--text", texts[0], "--text", texts[3], "-f", letter, "--fingerprint", digits, "-k", 1)
    expected = [("text 1", "d0"), ("text 2", "d3"), (str(letter), "d1"), (digits, "d2")]
    assert [f"{name}\t{key}\t0" for name, key in expected] == done.lines


def test_fingerprints_are_queries(index: Path, tmp_path: Path) -> None:
    """Queries can be hexadecimal lines with ids."""
    fps = nk.fingerprint(near_texts()[:3])
    listed = tmp_path / "codes.txt"
    listed.write_text("".join(f"q{i}\t{digits}\n" for i, digits in enumerate(to_hex(fps, 128))))
    by_lines = call("search", index, listed, "--fingerprints", "hex", "-k", 1)
    assert [f"q{i}\td{i}\t0" for i in range(3)] == by_lines.lines
    for digits in ("f" * 33, "no digits"):
        assert 2 == call("search", index, "--fingerprint", digits).code


def test_radius_and_number_bound_the_answer(index: Path) -> None:
    """-k with --radius returns the nearest within the radius."""
    text = near_texts()[20]
    within = [line.split("\t") for line in call("search", index, "--text", text, "--radius", 30).lines]
    assert ["d20", "0"] == within[0][1:]
    assert all(int(far) <= 30 for _, _, far in within)
    assert within == [line.split("\t") for line in call("search", index, "--text", text, "--radius", 30).lines]
    nearest = call("search", index, "--text", text, "-k", 2, "--radius", 30).lines
    assert ["\t".join(row) for row in within[:2]] == nearest
    assert 60 == len(call("search", index, "--text", text, "--top-k", 100).lines)


def test_a_corpus_of_queries_is_read_as_its_options_say(index: Path, tmp_path: Path) -> None:
    """Reading options apply to queries; unreadable records are reported or are an error."""
    path = tmp_path / "queries"
    rows = [{"key": f"q{i}", "body": text} for i, text in enumerate(near_texts()[:2])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n")
    reading = ("--format", "jsonl", "--text-column", "body", "--id-column", "key")
    options = (*reading, "-k", 1, "--threads", 1, "--max-malformed", 1)
    done = call("search", index, path, *options)
    assert (0, ["q0\td0\t0", "q1\td1\t0"]) == (done.code, done.lines)
    assert "line 3" in done.err
    assert 1 == call("search", index, path, *options, "--strict").code
    printed = call("search", index, path, *options, "--json").objects()
    assert [{"query": "q0", "matches": [{"id": "d0", "distance": 0}]}] == printed[:1]


def test_nothing_found_is_said_unless_quiet(index: Path) -> None:
    """Without a match the exit code is 3, and a message is printed unless --quiet or --json is given."""
    ask = ("search", index, "--text", "nothing like it at all", "--radius", 0)
    assert (3, "", "nearkin: nothing found\n") == ((done := call(*ask)).code, done.out, done.err)
    assert (3, "", "") == ((done := call(*ask, "--quiet")).code, done.out, done.err)
    assert (3, [], "") == ((done := call(*ask, "--json")).code, done.json()["matches"], done.err)
    done = call("search", index, "--text", "...", "--json")
    assert (3, {"query": "text 1", "matches": None}) == (done.code, done.json())


def test_an_index_that_is_damaged_is_refused(index: Path) -> None:
    """A damaged file is an error with its name."""
    index.write_bytes(index.read_bytes()[:-20])
    done = call("search", index, "--text", "a")
    assert (1, "", True) == (done.code, done.out, str(index) in done.err)
    index.write_bytes(b"")
    assert 1 == call("search", index, "--text", "a").code


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Create a store of similar texts with a column."""
    path, folder = tmp_path / "corpus.jsonl", tmp_path / "pages.store"
    rows = [{"id": f"d{i}", "text": text, "n": i} for i, text in enumerate(near_texts())]
    write_rows(path, rows)
    assert 0 == call("store", "create", folder, "--threshold", "0.5").code
    succeed("store", "add", folder, path, "--id-column", "id", "--column", "n", "--all", "-q")
    return folder


def test_a_store_shows_text_similarity_and_columns(store: Path) -> None:
    """Matches equal those of `store check`, with texts; lines show only selected columns."""
    texts = near_texts()
    with nk.Store.open(store, "r") as opened:
        (expected,) = opened.check([texts[0]], k=3).matches or []
    assert len(expected) == 3
    query = ("search", store, "--text", texts[0], "-k", 3)
    matches = call(*query, "--json").json()["matches"]
    rows = [(item.id, item.distance, item.similarity, item.columns["n"]) for item in expected]
    assert rows == [(row["id"], row["distance"], row["similarity"], row["n"]) for row in matches]
    assert [texts[int(str(item.id)[1:])] for item in expected] == [row["text"] for row in matches]
    assert {"id": "d0", "distance": 0, "similarity": 1.0, "n": 0, "text": texts[0]} == matches[0]
    lines = [line.split("\t") for line in call(*query, "--column", "n").lines]
    assert [["text 1", key, str(far), f"{alike:.4f}", str(n)] for key, far, alike, n in rows] == [
        line[:5] for line in lines
    ]
    assert texts[0].startswith(lines[0][5].removesuffix("..."))
    assert 5 == len(call(*query).lines[0].split("\t"))


def test_a_corpus_is_asked_of_a_store(store: Path, tmp_path: Path) -> None:
    """There is a line per match of each document; without a match the exit code is 3."""
    texts = [near_texts()[7], "Wholly other words, which nobody has said of anything.", None]
    path = write_rows(tmp_path / "query.jsonl", ({"id": f"q{i}", "text": text} for i, text in enumerate(texts)))
    done = call("search", store, path, "--id-column", "id", "-k", 1)
    assert (0, [["q0", "d7", "0", "1.0000"]]) == (done.code, [line.split("\t")[:4] for line in done.lines])
    listed = call("search", store, path, "--id-column", "id", "-k", 1, "--json").objects()
    assert [1, 0, 0] == [len(row["matches"]) for row in listed]
    done = call("search", store, "--text", texts[1] or "")
    assert (3, "", True) == (done.code, done.out, "nothing found" in done.err)


def test_what_a_store_has_not_is_said(store: Path, tmp_path: Path) -> None:
    """A missing column, and a store without texts, are reported."""
    text = near_texts()[0]
    done = call("search", store, "--text", text, "-k", 1, "--column", "m")
    assert (0, True) == (done.code, "no match has a column 'm'; the matches have the columns: 'n'" in done.message)
    assert "-" == done.lines[0].split("\t")[4]
    bare = tmp_path / "bare.store"
    assert 0 == call("store", "create", bare, "--text", "features").code
    assert 0 == call("store", "add", bare, "-", "--format", "txt", stdin=text.encode()).code
    done = call("search", bare, "--text", text, "--json")
    assert (0, True) == (done.code, "keeps no texts" in done.message)
    (match,) = done.json()["matches"]
    assert (1.0, None) == (match["similarity"], match["text"])


def test_a_folder_that_is_no_store_and_a_store_of_files(tmp_path: Path) -> None:
    """Another folder and a store of files are errors."""
    folder = tmp_path / "folder"
    folder.mkdir()
    check_message(1, str(folder), "search", folder, "--text", "a")
    files = tmp_path / "files.store"
    assert 0 == call("store", "create", files, "--recipe", "ssdeep").code
    check_message(2, "nearkin check", "search", files, "--text", "a")
