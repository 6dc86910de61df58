"""Tests of `nearkin decontaminate` and `nearkin leaks`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command import call, json_lines, succeed, write_jsonl

ITEM = "Which of the rivers that rise in the Black Forest flows through ten countries before it reaches the sea?"
PAGE = "The harvest was late that year, and most of the farmers had sold their machines in winter."
TEXTS = {"a": PAGE, "b": f"{PAGE} {ITEM.lower()} And so on.", "c": "Another page of its own."}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Write a corpus of three documents; one holds an item."""
    return write_jsonl(tmp_path / "corpus.jsonl", TEXTS)


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    """Write a folder with one suite of two items."""
    folder = tmp_path / "evals"
    folder.mkdir()
    rows = [{"question": "How long is a piece of string that nobody has cut?"}, {"question": ITEM}]
    (folder / "quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_contaminated_documents_are_dropped(corpus: Path, suites: Path, tmp_path: Path) -> None:
    """The others are kept byte for byte; hits have both places and both texts."""
    out = tmp_path / "clean"
    done = succeed("decontaminate", corpus, "--suites", suites, "--out", out, "--id-column", "id")
    lines = corpus.read_text().splitlines()
    assert [lines[0], lines[2]] == (out / "kept.jsonl").read_text().splitlines()
    (hit,) = json_lines(out / "hits.jsonl")
    assert ("b", "quiz", 1, ITEM) == (hit["id"], hit["suite"], hit["item"], hit["item_text"])
    assert ITEM.lower().rstrip("?") == hit["passage"] == TEXTS["b"][hit["start"] : hit["end"]]
    counts = {"suite": "quiz", "items": 2, "too_short": 0, "all_template": 0, "met": 1, "share": 0.5}
    assert [counts] == json_lines(out / "suites.jsonl")
    summary = json.loads((out / "summary.json").read_text())
    assert (3, 1, 1) == (summary["documents"], summary["contaminated"], summary["met"])
    assert "1 contaminated" in done.message
    assert "1 of 2 items of quiz" in done.message


def test_levels_are_chosen_and_texts_ignored(suites: Path, tmp_path: Path) -> None:
    """A part and a quotation are listed in tables, messages and the report, and removed on demand."""
    pytest.importorskip("jinja2")
    verse = "In the beginning there was a river that ran from the mountains to the sea without a single bend or bridge."
    part = f"{PAGE} {' '.join(ITEM.split()[:13])} the old bridge."
    corpus = write_jsonl(tmp_path / "corpus.jsonl", {"a": PAGE, "b": part, "c": f"{PAGE} {verse}"})
    (suites / "quotes.jsonl").write_text(json.dumps({"text": f"{verse} Who wrote this?"}) + "\n")
    known = write_jsonl(tmp_path / "known.jsonl", {"x": verse})
    options = ("decontaminate", corpus, "--suites", suites, "--id-column", "id", "--ignore", known, "--report")
    first = succeed(*options, "--out", tmp_path / "first")
    assert [("b", "part"), ("c", "quotation")] == [
        (row["id"], row["level"]) for row in json_lines(tmp_path / "first" / "hits.jsonl")
    ]
    assert "1 hits of level part, listed only" in first.message
    page = (tmp_path / "first" / "report.html").read_text()
    assert "part: 1 hit" in page
    assert "quotation: 1 hit" in page
    assert 3 == len(json_lines(tmp_path / "first" / "kept.jsonl"))
    succeed(*options, "--out", tmp_path / "second", "--levels", "item, part")
    assert ["a", "c"] == [row["id"] for row in json_lines(tmp_path / "second" / "kept.jsonl")]
    summary = json.loads((tmp_path / "second" / "summary.json").read_text())
    assert (1, 1, 1) == (summary["hits"], summary["levels"]["part"], summary["levels"]["quotation"])


def test_hits_are_cut_out(corpus: Path, suites: Path, tmp_path: Path) -> None:
    """All documents are kept; a second run finds nothing."""
    out = tmp_path / "clean"
    assert 0 == call("decontaminate", corpus, "--suites", suites, "--out", out, "--action", "cut").code
    kept = json_lines(out / "kept.jsonl")
    assert [TEXTS["a"], f"{PAGE} ? And so on.", TEXTS["c"]] == [row["text"] for row in kept]
    again = call("decontaminate", out / "kept.jsonl", "--suites", suites, "--out", tmp_path / "again", "--json")
    assert 0 == again.json()["hits"]


def test_documents_are_flagged_or_reported(corpus: Path, suites: Path, tmp_path: Path) -> None:
    """Flags are a row per document; a report has no documents."""
    flagged, reported = tmp_path / "flagged", tmp_path / "reported"
    assert 0 == call("decontaminate", corpus, "--suites", suites, "--out", flagged, "--action", "flag").code
    kept = [(row["id"], row["text"], row["benchmark_hits"]) for row in json_lines(flagged / "kept.jsonl")]
    assert [("a", TEXTS["a"], 0), ("b", TEXTS["b"], 1), ("c", TEXTS["c"], 0)] == kept
    rows = [(row["id"], row["contaminated"], row["hits"]) for row in json_lines(flagged / "flags.jsonl")]
    assert [("a", False, 0), ("b", True, 1), ("c", False, 0)] == rows
    assert 0 == call("decontaminate", corpus, "--suites", suites, "--out", reported, "--action", "report").code
    assert {"hits.jsonl", "suites.jsonl", "summary.json"} <= {path.name for path in reported.iterdir()}
    assert not list(reported.glob("kept*"))


def test_text_files_are_flagged_in_a_table(suites: Path, tmp_path: Path) -> None:
    """A text file has no columns: flags are a table of their own, and a column is refused."""
    path = tmp_path / "pages.txt"
    path.write_text(f"{PAGE}\n{ITEM}\n")
    succeed("decontaminate", path, "--suites", suites, "--out", tmp_path / "out", "--action", "flag")
    assert [0, 1] == [row["hits"] for row in json_lines(tmp_path / "out" / "flags.jsonl")]
    refused = call(
        "decontaminate", path, "--suites", suites, "--out", tmp_path / "o", "--action", "flag", "--flag-column", "n"
    )
    assert (2, True) == (refused.code, "no column for txt" in refused.err)


def test_labels_of_a_report_come_back(corpus: Path, suites: Path, tmp_path: Path) -> None:
    """The queue of the page has each hit; a hit labelled different stays, and the page starts with the labels."""
    pytest.importorskip("jinja2")
    labels = tmp_path / "labels.tsv"
    labels.write_text("left\tright\tmatch\tsimilarity\tstratum\tweight\tremoved\nquiz:1\tb\t0\t1\t0.98-1.00\t1\t1\n")
    options = ("decontaminate", corpus, "--suites", suites, "--id-column", "id", "--report")
    first = call(*options, "--out", tmp_path / "a")
    second = call(*options, "--out", tmp_path / "b", "--labels", labels)
    assert (0, 0) == (first.code, second.code), second.err
    assert list(TEXTS) == [row["id"] for row in json_lines(tmp_path / "b" / "kept.jsonl")]
    assert "precision by 1 labels" in second.message
    summary = json.loads((tmp_path / "b" / "summary.json").read_text())
    assert (0, 0, 1) == (summary["hits"], summary["contaminated"], summary["labels"]["rejected"])
    pages = [(tmp_path / name / "report.html").read_text() for name in "ab"]
    runs = [json.loads(re.search(r'id="run">(.*?)</script>', page)[1]) for page in pages]  # type: ignore[index]
    assert [[], [["b", "quiz:1", False]]] == [run["labels"] for run in runs]
    assert [1, 1] == [len(run["queue"]) for run in runs]
    assert runs[0]["key"] == runs[1]["key"]
    assert "Precision of the search by 1 label: 0.000 (0.000 to" in pages[1]


def test_an_index_is_saved_and_used_again(corpus: Path, suites: Path, tmp_path: Path) -> None:
    """A saved index gives the same hits as the files."""
    index = tmp_path / "evals.suites"
    first = call("decontaminate", corpus, "--suites", suites, "--out", tmp_path / "a", "--save-suites", index)
    second = call("decontaminate", corpus, "--suites", index, "--out", tmp_path / "b", "--source-column", "id")
    assert (0, 0) == (first.code, second.code)
    assert (tmp_path / "a" / "hits.jsonl").read_bytes() == (tmp_path / "b" / "hits.jsonl").read_bytes()
    sources = json_lines(tmp_path / "b" / "sources.jsonl")
    assert [("a", 0), ("b", 1), ("c", 0)] == [(row["source"], row["contaminated"]) for row in sources]


def test_reports_show_hits_and_leaks(corpus: Path, suites: Path, tmp_path: Path) -> None:
    """The page of a run has both texts, that of leaks the matrix; values are escaped."""
    pytest.importorskip("jinja2")
    out, page = tmp_path / "out", tmp_path / "leaks.html"
    succeed("decontaminate", corpus, "--suites", suites, "--out", out, "--report", "--source-column", "id")
    text = (out / "report.html").read_text()
    assert "corpus.jsonl: 1 of 3 documents contaminated" in text
    assert ITEM in text
    other = tmp_path / "<b>.jsonl"
    other.write_bytes(corpus.read_bytes())
    assert 0 == call("leaks", corpus, other, "--report", page).code
    assert "3 leaked documents" in page.read_text()
    assert "<b>" not in page.read_text()


def test_a_column_that_no_suite_has_is_refused(corpus: Path, suites: Path, tmp_path: Path) -> None:
    """The message names what is allowed, and nothing is written."""
    done = call("decontaminate", corpus, "--suites", suites, "--out", tmp_path / "out", "--suite-column", "stem")
    assert 2 == done.code
    assert "question" in done.message
    assert not (tmp_path / "out").exists()


def test_leaks_are_judged(tmp_path: Path) -> None:
    """The page has a queue of leaks that are no exact copies, and its labels come back."""
    pytest.importorskip("jinja2")
    train = write_jsonl(tmp_path / "train.jsonl", {"a": f"{PAGE} {ITEM}", "b": "Something else of its own."})
    test = write_jsonl(
        tmp_path / "test.jsonl", {"x": f"{PAGE} {ITEM} Indeed.", "y": "Another thing altogether, at last."}
    )
    options = ("leaks", train, test, "--id-column", "id", "--json")
    assert 1 == call(*options, "--report", tmp_path / "leaks.html").json()["near"]
    page = (tmp_path / "leaks.html").read_text()
    run = json.loads(re.search(r'id="run">(.*?)</script>', page)[1])  # type: ignore[index]
    assert (1, "hits") == (len(run["queue"]), run["kind"])
    labels = tmp_path / "labels.tsv"
    labels.write_text(f"left\tright\tmatch\n{train}:a\t{test}:x\t0\n")
    done = call(*options, "--labels", labels)
    assert (0, 0) == (done.code, done.json()["leaked"]), done.err


def test_leaks_are_printed_as_a_matrix(tmp_path: Path) -> None:
    """A row for each pair of splits, or for each leaked document."""
    train = write_jsonl(tmp_path / "train.jsonl", TEXTS)
    test = write_jsonl(tmp_path / "test.jsonl", {"x": TEXTS["b"], "y": "Nothing that the training set has."})
    done = succeed("leaks", train, test, "--id-column", "id", "--json")
    row = done.json()
    assert (str(test), str(train), 2, 1, 0, 0, 0, 1, 0.5) == tuple(row.values())
    pairs = call("leaks", train, test, "--id-column", "id", "--pairs").out.split("\t")
    assert [str(test), "x", str(train), "b", "exact", "1.0000\n"] == pairs
