"""`nearkin search`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from command import brute_force_distances, call, near_texts
from nearkin.index.fingerprints import from_hex, hamming, to_hex


def run(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one call, in this process."""
    done = call(*arguments, stdin=stdin)
    return done.code, done.out, done.err


def test_search_of_a_corpus_equals_brute_force_distances(many: Path, tmp_path: Path) -> None:
    """Every document of a corpus asked of its own index: what a comparison with all fingerprints gives."""
    index = tmp_path / "c.nks"
    code, out, err = run("index", "build", many, "-o", index, "--id-column", "id", "--radius", 30)
    assert (0, "") == (code, out), err
    assert "60 added, 1 without any letter" in err
    code, out, err = run("search", index, many, "--id-column", "id")
    assert 0 == code
    assert "d60: a text without any letter has no fingerprint" in err
    found: dict[str, list[tuple[int, str]]] = {}
    for line in out.splitlines():
        query, key, distance = line.split("\t")
        found.setdefault(query, []).append((int(distance), key))
    fps = nk.fingerprint(near_texts())
    names = [f"d{i}" for i in range(60)]
    # Ties go by row, which is the order in which ids were added.
    for name, fp in zip(names, fps, strict=True):
        assert brute_force_distances(fps, fp, 30, names) == sorted(found[name])
        assert [far for far, _ in found[name]] == sorted(far for far, _ in found[name])


def test_a_text_a_file_and_standard_input_find_the_same(many: Path, tmp_path: Path) -> None:
    """The three ways to ask for one text; --json has one object per query."""
    index, letter = tmp_path / "c.nks", tmp_path / "letter.txt"
    assert 0 == run("index", "build", many, "-o", index, "--id-column", "id", "-q")[0]
    text = near_texts()[20]
    letter.write_text(text)
    answers = [
        run("search", index, "--text", text, "-k", 3, "--json"),
        run("search", index, "--file", letter, "-k", 3, "--json"),
        run("search", index, "-k", 3, "--json", stdin=text.encode()),
        run("search", index, "--file", "-", "-k", 3, "--json", stdin=text.encode()),
    ]
    found = [json.loads(out) for _, out, _ in answers]
    assert ["text 1", str(letter), "-", "-"] == [one["query"] for one in found]
    assert {"id": "d20", "distance": 0} == found[0]["matches"][0]
    assert {"d0", "d20", "d40"} == {match["id"] for match in found[0]["matches"]}
    assert all(one["matches"] == found[0]["matches"] for one in found)
    # Without a radius and -k: the ten nearest, as the index announces no radius.
    assert 10 == len(run("search", index, "--text", text)[1].splitlines())
    both = run("search", index, "--text", text, "-k", 3, "--radius", 0)[1]
    assert "text 1\td20\t0\n" == both


def test_exit_codes_say_whether_something_was_found(many: Path, tmp_path: Path) -> None:
    """0 found, 1 failure, 2 usage, 3 nothing."""
    index = tmp_path / "c.nks"
    assert 0 == run("index", "build", many, "-o", index, "--id-column", "id", "-q")[0]
    assert 3 == run("search", index, "--text", "nothing like it", "--radius", 0)[0]
    assert (3, '{"query": "text 1", "matches": null}\n') == run("search", index, "--text", "...", "--json")[:2]
    assert 2 == run("search", index, "--text", "a", "--radius", 129)[0]
    assert 2 == run("search", index, "--text", "a", "-k", 0)[0]
    assert 2 == run("search", index, "--no-such-option")[0]
    assert 1 == run("search", tmp_path / "none.nks", "--text", "a")[0]
    assert 1 == run("search", index, "--file", tmp_path / "none.txt")[0]
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    code, _, err = run("search", index, "--file", tmp_path / "latin.txt")
    assert (1, True) == (code, "is not UTF-8 at byte 3" in err)
    assert 1 == run("search", many, "--text", "a")[0]


def test_the_whole_command_on_pipes_and_terminals(many: Path, tmp_path: Path) -> None:
    """In a process of its own: lines on a pipe, a table on a terminal, no progress where nobody looks."""
    command = [sys.executable, "-m", "nearkin"]
    index = tmp_path / "c.nks"
    built = subprocess.run(
        [*command, "index", "build", "-", "-o", index, "--id-column", "id"],
        input=many.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert b"" == built.stdout
    assert 1 == len(built.stderr.splitlines())
    ask = [*command, "search", str(index), "-k", "2"]
    piped = subprocess.run(ask, input=near_texts()[5].encode(), capture_output=True, check=True)
    assert b"-\td5\t0" == piped.stdout.splitlines()[0]
    assert b"" == piped.stderr
    main, side = pty.openpty()
    with subprocess.Popen(ask, stdin=subprocess.PIPE, stdout=side, env={**os.environ, "COLUMNS": "80"}) as process:
        process.communicate(near_texts()[5].encode())
    os.close(side)
    shown = os.read(main, 1 << 16).decode()
    os.close(main)
    assert all(part in shown for part in ("query", "distance", "d5", "│"))


def test_hexadecimal_ids_meet_the_fingerprints_of_hash(many: Path) -> None:
    """What `nearkin hash` prints is what from_hex reads."""
    rows = [line.split("\t") for line in run("hash", many, "--id-column", "id")[1].splitlines()]
    codes = from_hex([digits for _, digits in rows if digits != "-"], 128)
    assert not np.asarray(hamming(codes, nk.fingerprint(near_texts()))).any()


@pytest.fixture
def index(many: Path, tmp_path: Path) -> Path:
    """An index of the texts, 128 bits wide, without an announced radius."""
    path = tmp_path / "many.nks"
    assert 0 == call("index", "build", many, "-o", path, "--id-column", "id", "-q").code
    return path


def test_queries_of_every_kind_come_in_one_call(index: Path, tmp_path: Path) -> None:
    """Texts, files and fingerprints, each with its name; they may be repeated."""
    texts = near_texts()
    letter = tmp_path / "letter.txt"
    letter.write_text(texts[1])
    digits = to_hex(nk.fingerprint([texts[2]]), 128)[0]
    done = call("search", index, "--text", texts[0], "--text", texts[3], "-f", letter, "--fingerprint", digits, "-k", 1)
    expected = [("text 1", "d0"), ("text 2", "d3"), (str(letter), "d1"), (digits, "d2")]
    assert [f"{name}\t{key}\t0" for name, key in expected] == done.lines


def test_fingerprints_are_queries_of_any_form(index: Path, tmp_path: Path) -> None:
    """Lines of hexadecimal digits, and an array with ids beside it."""
    fps = nk.fingerprint(near_texts()[:3])
    listed = tmp_path / "codes.txt"
    listed.write_text("".join(f"q{i}\t{digits}\n" for i, digits in enumerate(to_hex(fps, 128))))
    by_lines = call("search", index, listed, "--fingerprints", "hex", "-k", 1)
    assert [f"q{i}\td{i}\t0" for i in range(3)] == by_lines.lines
    np.save(tmp_path / "codes.npy", fps)
    np.save(tmp_path / "ids.npy", np.array(["x", "y", "z"]))
    by_array = call(
        "search", index, tmp_path / "codes.npy", "--fingerprints", "npy", "--ids", tmp_path / "ids.npy", "-k", 1
    )
    assert [f"{name}\td{i}\t0" for i, name in enumerate("xyz")] == by_array.lines
    for digits in ("f" * 33, "no digits"):
        assert 2 == call("search", index, "--fingerprint", digits).code


def test_radius_and_number_bound_the_answer(index: Path) -> None:
    """Together they are the nearest within the radius; the short forms are the same options."""
    text = near_texts()[20]
    within = [line.split("\t") for line in call("search", index, "--text", text, "--radius", 30).lines]
    assert ["d20", "0"] == within[0][1:]
    assert all(int(far) <= 30 for _, _, far in within)
    assert within == [line.split("\t") for line in call("search", index, "--text", text, "--radius", 30).lines]
    nearest = call("search", index, "--text", text, "-k", 2, "--radius", 30).lines
    assert ["\t".join(row) for row in within[:2]] == nearest
    assert 60 == len(call("search", index, "--text", text, "--top-k", 100).lines)


def test_a_corpus_of_queries_is_read_as_its_options_say(index: Path, tmp_path: Path) -> None:
    """Columns, format, threads; what can't be read is reported or stops the run."""
    path = tmp_path / "queries"
    rows = [{"key": f"q{i}", "body": text} for i, text in enumerate(near_texts()[:2])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n")
    options = (
        "--format",
        "jsonl",
        "--text-column",
        "body",
        "--id-column",
        "key",
        "-k",
        1,
        "--threads",
        1,
        "--max-malformed",
        1,
    )
    done = call("search", index, path, *options)
    assert (0, ["q0\td0\t0", "q1\td1\t0"]) == (done.code, done.lines)
    assert "line 3" in done.err
    assert 1 == call("search", index, path, *options, "--strict").code
    printed = call("search", index, path, *options, "--json").objects()
    assert [{"query": "q0", "matches": [{"id": "d0", "distance": 0}]}] == printed[:1]


def test_nothing_found_is_said_unless_quiet(index: Path) -> None:
    """Exit code 3 all the same; JSON says it by itself."""
    ask = ("search", index, "--text", "nothing like it at all", "--radius", 0)
    assert (3, "", "nearkin: nothing found\n") == ((done := call(*ask)).code, done.out, done.err)
    assert (3, "", "") == ((done := call(*ask, "--quiet")).code, done.out, done.err)
    assert (3, [], "") == ((done := call(*ask, "--json")).code, done.json()["matches"], done.err)


def test_an_index_that_is_damaged_is_refused(index: Path) -> None:
    """With its name; so is what never was one."""
    index.write_bytes(index.read_bytes()[:-20])
    done = call("search", index, "--text", "a")
    assert (1, "", True) == (done.code, done.out, str(index) in done.err)
    index.write_bytes(b"")
    assert 1 == call("search", index, "--text", "a").code


def test_the_corpus_shows_text_similarity_and_columns(tmp_path: Path) -> None:
    """Of each match; what the corpus has not is counted, and a column needs a corpus."""
    path, index = tmp_path / "corpus.jsonl", tmp_path / "c.nks"
    texts = near_texts()
    rows = [{"id": f"d{i}", "text": text, "n": i} for i, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert 0 == call("index", "build", path, "-o", index, "--id-column", "id", "-q").code
    asked = ("search", index, "--text", texts[0], "-k", 2, "--corpus", path, "--id-column", "id", "--column", "n")
    matches = call(*asked, "--json").json()["matches"]
    assert {"id": "d0", "distance": 0, "similarity": 1.0, "n": 0, "text": texts[0]} == matches[0]
    other = int(matches[1]["id"].removeprefix("d"))
    assert float(nk.similarity(texts, [0], [other])[0]) == pytest.approx(matches[1]["similarity"])
    line = call(*asked).lines[0].split("\t")
    assert (["text 1", "d0", "0", "1.0000", "0"], True) == (line[:5], line[5].startswith(texts[0][:20]))
    assert len(line[5]) <= 60
    # A corpus of queries, and fingerprints, which have no text to compare.
    assert [1.0] == [
        row["matches"][0]["similarity"]
        for row in call("search", index, path, "-k", 1, "--corpus", path, "--id-column", "id", "--json").objects()[:1]
    ]
    code = call("hash", path, "--id-column", "id").lines[0].split("\t")[1]
    given = call(
        "search", index, "--fingerprint", code, "-k", 1, "--corpus", path, "--id-column", "id", "--json"
    ).json()
    assert (None, texts[0]) == (given["matches"][0]["similarity"], given["matches"][0]["text"])
    path.write_text(json.dumps(rows[0]) + "\n")
    done = call(*asked)
    assert (0, True) == (done.code, "--corpus does not have 1 of the matches" in done.message)
    assert "\t-\t-\t-" in done.lines[1]
    refused = call("search", index, "--text", "x", "--column", "n")
    assert (2, True) == (refused.code, "together with --corpus" in refused.message)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of near texts, with a column."""
    path, folder = tmp_path / "corpus.jsonl", tmp_path / "pages.store"
    rows = [{"id": f"d{i}", "text": text, "n": i} for i, text in enumerate(near_texts())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert 0 == call("store", "create", folder, "--threshold", "0.5").code
    done = call("store", "add", folder, path, "--id-column", "id", "--column", "n", "--all", "-q")
    assert 0 == done.code, done.err
    return folder


def test_a_store_shows_text_similarity_and_columns(store: Path) -> None:
    """What `store check` says of the matches, with their texts; JSON has all columns, lines those that are named."""
    texts = near_texts()
    with nk.Store.open(store, "r") as held:
        (expected,) = held.check([texts[0]], k=3).matches or []
    assert len(expected) == 3
    asked = ("search", store, "--text", texts[0], "-k", 3)
    matches = call(*asked, "--json").json()["matches"]
    assert [
        {
            "id": one.id,
            "distance": one.distance,
            "similarity": one.similarity,
            "n": one.columns["n"],
            "text": texts[int(str(one.id)[1:])],
        }
        for one in expected
    ] == matches
    assert {"id": "d0", "distance": 0, "similarity": 1.0, "n": 0, "text": texts[0]} == matches[0]
    rows = [line.split("\t") for line in call(*asked, "--column", "n").lines]
    assert [
        ["text 1", one.id, str(one.distance), f"{one.similarity:.4f}", str(one.columns["n"])] for one in expected
    ] == [row[:5] for row in rows]
    assert texts[0].startswith(rows[0][5].removesuffix("..."))
    assert 5 == len(call(*asked).lines[0].split("\t"))


def test_a_corpus_is_asked_of_a_store(store: Path, tmp_path: Path) -> None:
    """A line per match of each document, by their ids; nothing found is exit code 3."""
    path = tmp_path / "asked.jsonl"
    texts = [near_texts()[7], "Wholly other words, which nobody has said of anything.", None]
    path.write_text("".join(json.dumps({"id": f"q{i}", "text": text}) + "\n" for i, text in enumerate(texts)))
    done = call("search", store, path, "--id-column", "id", "-k", 1)
    assert (0, [["q0", "d7", "0", "1.0000"]]) == (done.code, [line.split("\t")[:4] for line in done.lines])
    listed = call("search", store, path, "--id-column", "id", "-k", 1, "--json").objects()
    assert [1, 0, 0] == [len(row["matches"]) for row in listed]
    done = call("search", store, "--text", texts[1] or "")
    assert (3, "", True) == (done.code, done.out, "nothing found" in done.err)


def test_what_a_store_has_not_is_said(store: Path, tmp_path: Path) -> None:
    """A column that no match has; texts of a store that keeps none."""
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


@pytest.mark.parametrize(
    "options",
    [
        ["--radius", 3],
        ["--recipe", "char:4|simhash:64"],
        ["--corpus", "a.jsonl"],
        ["--fingerprint", "00"],
        ["--fingerprints", "hex"],
        ["-k", 0],
    ],
)
def test_options_that_a_store_has_no_use_for(store: Path, options: list[object]) -> None:
    """They are refused, not passed over."""
    done = call("search", store, "--text", "a", *options)
    assert (2, "") == (done.code, done.out)
    assert "not with a store" in done.message or "--top-k 0 is not" in done.message


def test_a_folder_that_is_no_store_and_a_store_of_files(tmp_path: Path) -> None:
    """The error says what is wrong."""
    folder = tmp_path / "folder"
    folder.mkdir()
    done = call("search", folder, "--text", "a")
    assert (1, True) == (done.code, str(folder) in done.message)
    files = tmp_path / "files.store"
    assert 0 == call("store", "create", files, "--recipe", "ssdeep").code
    done = call("search", files, "--text", "a")
    assert (2, True) == (done.code, "nearkin store check" in done.message)
